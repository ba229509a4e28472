"""A list of all selectors, with what a comparison needs to know about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensift.rivals._column_subset import ColumnSubsetSelector
from tensift.rivals._cpufs import CPUFS, CPUFSnn
from tensift.rivals._cur import CURSelector
from tensift.rivals._even import EvenSelector
from tensift.rivals._facility_location import FacilityLocationSelector
from tensift.rivals._farthest_point import FarthestPointSelector
from tensift.rivals._fastcan import FastCanSelector
from tensift.rivals._feature_clusters import FeatureClusterSelector
from tensift.rivals._laplacian_score import LaplacianScore
from tensift.rivals._mcfs import MCFS
from tensift.rivals._mspca import MSPCA
from tensift.rivals._mvpca import MVPCASelector
from tensift.rivals._ndfs import NDFS
from tensift.rivals._nlgms import NLGMS
from tensift.rivals._opbs import OPBSSelector
from tensift.rivals._pivoted_cholesky import PivotedCholeskySelector
from tensift.rivals._qr_sensors import QRSensorSelector
from tensift.rivals._rne import RNE
from tensift.rivals._simple_baselines import AllFeatures, RandomSelector, VarianceSelector
from tensift.rivals._sogfs import SOGFS
from tensift.rivals._spcafs import SPCAFS
from tensift.rivals._spcapsd import SPCAPSD
from tensift.rivals._udfs import UDFS
from tensift.selection import GeometrySelector, TensorSelector
from tensift.sources import takes_weights
from tensift.stpca import STPCASelector

__all__ = ["SelectorInfo", "list_selectors"]

_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)  # the paper's values of every regularisation parameter
_DATA_DEPENDENT = ("n_clusters", "n_neighbors", "n_components")


@dataclass(frozen=True)
class SelectorInfo:
    """What a comparison needs to know about a selector.

    Attributes
    ----------
    selector : type
        The class.
    paper_name : str
        The name that its authors use.
    paper : str
        Where it was published.
    year : int or None
        The year of publication. None for baselines without an inventor.
    complexity : str
        The operations of a fit with this implementation, without reading the samples. There are
        ``n`` samples of ``d`` elements, ``d_j`` along mode ``j``; ``c`` clusters, ``k`` neighbours,
        ``m`` components, ``s`` selected features, ``t`` iterations.
    tuned : tuple of str
        The regularisation parameters, which `grid` has values for.
    tensor : bool, default=False
        Whether it uses the shape of the samples. Other selectors flatten samples.
    random : bool, default=False
        Whether the scores depend on ``random_state`` with default parameters.
    counted : bool, default=False
        Whether the scores depend on ``n_features_to_select``. Then every number of features needs
        its own fit.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from tensift.rivals import list_selectors
    >>> info = next(info for info in list_selectors() if info.name == "NDFS")
    >>> info.year, info.needs, info.random
    (2012, ('n_clusters', 'n_neighbors'), True)
    >>> len(ParameterGrid(info.grid))
    25
    >>> info.make(50, n_clusters=3, alpha=0.1, random_state=0)
    NDFS(alpha=0.1, n_clusters=3, n_features_to_select=50, random_state=0)
    """

    selector: type[TensorSelector]
    paper_name: str
    paper: str
    year: int | None
    complexity: str
    tuned: tuple[str, ...] = ()
    tensor: bool = False
    random: bool = False
    counted: bool = False

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.selector.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(self.selector._get_param_names())

    @property
    def needs(self) -> tuple[str, ...]:
        """The parameters whose best values depend on the data."""
        return tuple(name for name in _DATA_DEPENDENT if name in self.parameters)

    @property
    def takes_weights(self) -> bool:
        """Whether samples can have weights, that is, whether ``fit`` takes ``sample_weight``."""
        return takes_weights(self.selector)

    @property
    def grid(self) -> dict[str, list[float]]:
        """The paper's values of all regularisation parameters, for grid searches."""
        return {name: list(_GRID) for name in self.tuned}

    def make(self, n_features_to_select: int | float = 100, **settings: Any) -> TensorSelector:
        """Make an estimator, with those settings that are parameters of its class.

        Parameters
        ----------
        n_features_to_select : int or float in (0, 1), default=100
            How many features to keep, or which share of them.
        **settings
            Parameters of any of the selectors. Parameters that this selector does not have are
            ignored, so that one call can make all selectors.

        Returns
        -------
        TensorSelector
        """
        known = {name for info in _ALL for name in info.parameters}
        unknown = sorted(settings.keys() - known)
        if unknown:
            raise TypeError(
                f"no selector has a parameter {', '.join(map(repr, unknown))}; "
                f"use some of {', '.join(sorted(known))}"
            )
        own = {name: value for name, value in settings.items() if name in self.parameters}
        return self.selector(n_features_to_select, **own)


def list_selectors() -> list[SelectorInfo]:
    """List all selectors; those that use the shape of samples come first.

    Returns
    -------
    list of SelectorInfo

    See Also
    --------
    tensift.decomposition.SelectFromDecomposition : Selects by a decomposition that you pass. It is
        not in the list, because it is not one method.

    Examples
    --------
    >>> from tensift.rivals import list_selectors
    >>> [info.name for info in list_selectors() if info.tensor]
    ['STPCASelector', 'CPUFS', 'CPUFSnn', 'MSPCA']
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data[:100]
    >>> for info in list_selectors()[-3:]:
    ...     print(info.name, info.make(20, n_clusters=10, random_state=0).fit_transform(X).shape)
    VarianceSelector (100, 20)
    RandomSelector (100, 20)
    AllFeatures (100, 64)
    """
    return list(_ALL)


_CPUFS = (
    "B. Chen, J. Guan, Z. Li: Unsupervised Feature Selection via Graph Regularized Nonnegative CP "
    "Decomposition. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2023"
)
_CPUFS_COMPLEXITY = "O(n^2 d + t (n d c + min(d, n) d c))"
_ALL = (
    SelectorInfo(
        STPCASelector,
        "STPCA-MP",
        "J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for "
        "Efficient Unsupervised Feature Selection. arXiv:2407.16985, 2024",
        2024,
        "O(n d d_1 + t d d_1^2); if n < d_1, O(n d d_1 + t n d d_1)",
        tuned=("lam", "eta"),
        tensor=True,
    ),
    SelectorInfo(
        GeometrySelector,
        "geometry",
        "tensift: agreement of neighbours in whitened components, and greedy alignment",
        None,
        "O(n^2 d + n d s) with at most 2048 samples",
    ),
    SelectorInfo(
        CPUFS,
        "CPUFS",
        _CPUFS,
        2023,
        _CPUFS_COMPLEXITY,
        tuned=("mu", "alpha", "beta"),
        tensor=True,
        random=True,
    ),
    SelectorInfo(
        CPUFSnn,
        "CPUFSnn",
        _CPUFS,
        2023,
        _CPUFS_COMPLEXITY,
        tuned=("mu", "alpha", "beta"),
        tensor=True,
        random=True,
    ),
    SelectorInfo(
        MSPCA,
        "MSPCA",
        "Z. Lai, Y. Xu, Q. Chen, J. Yang, D. Zhang: Multilinear Sparse Principal Component "
        "Analysis. IEEE Transactions on Neural Networks and Learning Systems 25(10), 2014",
        2014,
        "O(t (n d m + sum_j (d_j^2 + s^3) m))",
        tuned=("alpha", "beta"),
        tensor=True,
    ),
    SelectorInfo(
        NLGMS,
        "NLGMS",
        "H. Bai, Huang, Zhong: Precise feature selection via non-convex regularized graph "
        "embedding and self-representation for unsupervised learning. Knowledge-Based Systems, "
        "2024",
        2024,
        "O(t (n d min(n, d) + n d min(n, m) + n^2 m))",
        tuned=("lambda1", "lambda2"),
        counted=True,
    ),
    SelectorInfo(
        SPCAPSD,
        "SPCA-PSD",
        "J. Zheng et al.: Fast Sparse PCA via Positive Semidefinite Projection for Unsupervised "
        "Feature Selection. arXiv:2309.06202, 2023",
        2023,
        "O(n d^2 + t d^3); if n < d, O(t n d^2)",
        tuned=("lam", "eta"),
    ),
    SelectorInfo(
        SPCAFS,
        "SPCAFS",
        "Z. Li, F. Nie, J. Bian, D. Wu, X. Li: Sparse PCA via l2,p-Norm Regularization for "
        "Unsupervised Feature Selection. IEEE Transactions on Pattern Analysis and Machine "
        "Intelligence 45(4), 2023",
        2023,
        "O(n d^2 + t d^3); if n < d / 4, O(t n^2 d)",
        tuned=("gamma",),
    ),
    SelectorInfo(
        RNE,
        "RNE",
        "Y. Liu, D. Ye, W. Li, H. Wang, Y. Wang: Robust neighborhood embedding for unsupervised "
        "feature selection. Knowledge-Based Systems, 2020",
        2020,
        "O(n^2 d + t (min(n, d) d s + d s^2))",
        tuned=("alpha",),
        random=True,
        counted=True,
    ),
    SelectorInfo(
        SOGFS,
        "SOGFS",
        "F. Nie, W. Zhu, X. Li: Unsupervised Feature Selection with Structured Graph "
        "Optimization. AAAI 2016",
        2016,
        "O(t (n^2 d + n^3 + d^3)); if n < d / 4, O(t (n^2 d + n^3))",
        tuned=("gamma",),
    ),
    SelectorInfo(
        NDFS,
        "NDFS",
        "Z. Li, Y. Yang, J. Liu, X. Zhou, H. Lu: Unsupervised Feature Selection Using Nonnegative "
        "Spectral Analysis. AAAI 2012",
        2012,
        "O(n^2 d + t (n d min(n, d) + n d c + n k c))",
        tuned=("alpha", "beta"),
        random=True,
    ),
    SelectorInfo(
        UDFS,
        "UDFS",
        "Y. Yang, H. T. Shen, Z. Ma, Z. Huang, X. Zhou: l2,1-Norm Regularized Discriminative "
        "Feature Selection for Unsupervised Learning. IJCAI 2011",
        2011,
        "O(n^2 d + n d^2 + t d^3); if n < d / 2, O(n^3 + t n^2 d)",
        tuned=("gamma", "lam"),
    ),
    SelectorInfo(
        MCFS,
        "MCFS",
        "D. Cai, C. Zhang, X. He: Unsupervised Feature Selection for Multi-Cluster Data. KDD 2010",
        2010,
        "O(n^2 d + c t min(n, d) d)",
        counted=True,
    ),
    SelectorInfo(
        LaplacianScore,
        "Laplacian Score",
        "X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection. NIPS 2005",
        2005,
        "O(n^2 d + n k d)",
    ),
    SelectorInfo(
        PivotedCholeskySelector,
        "pivoted Cholesky",
        "N. J. Higham: Analysis of the Cholesky Decomposition of a Semi-definite Matrix. In "
        "Reliable Numerical Computation, 1990; H. Harbrecht, M. Peters, R. Schneider: On the "
        "low-rank approximation by the pivoted Cholesky decomposition. Applied Numerical "
        "Mathematics 62(4), 2012",
        1990,
        "O(s n d)",
        counted=True,
    ),
    SelectorInfo(
        ColumnSubsetSelector,
        "column subset selection",
        "A. K. Farahat, A. Ghodsi, M. S. Kamel: Efficient greedy feature selection for "
        "unsupervised learning. Knowledge and Information Systems 35, 2013",
        2013,
        "O(s n d + n d min(n, d))",
        counted=True,
    ),
    SelectorInfo(
        QRSensorSelector,
        "QR sensor placement",
        "K. Manohar, B. W. Brunton, J. N. Kutz, S. L. Brunton: Data-Driven Sparse Sensor Placement "
        "for Reconstruction: Demonstrating the Benefits of Exploiting Known Patterns. IEEE Control "
        "Systems Magazine 38(3), 2018",
        2018,
        "O(s^2 d + n d min(n, d))",
        counted=True,
    ),
    SelectorInfo(
        CURSelector,
        "CUR",
        "G. Imbalzano, A. Anelli, D. Giofré, S. Klees, J. Behler, M. Ceriotti: Automatic selection "
        "of atomic fingerprints and reference configurations for machine-learning potentials. "
        "Journal of Chemical Physics 148(24), 2018",
        2018,
        "O(s n d + n d min(n, d))",
        counted=True,
    ),
    SelectorInfo(
        FarthestPointSelector,
        "farthest point sampling",
        "Y. Eldar, M. Lindenbaum, M. Porat, Y. Y. Zeevi: The farthest point strategy for "
        "progressive image sampling. IEEE Transactions on Image Processing 6(9), 1997",
        1997,
        "O(s n d)",
        counted=True,
    ),
    SelectorInfo(
        FeatureClusterSelector,
        "one feature of each cluster",
        "J. H. Ward: Hierarchical Grouping to Optimize an Objective Function. Journal of the "
        "American Statistical Association 58(301), 1963",
        1963,
        "O(n d^2)",
    ),
    SelectorInfo(
        FacilityLocationSelector,
        "facility location",
        "J. Schreiber, J. Bilmes, W. S. Noble: apricot: Submodular selection for data "
        "summarization in Python. Journal of Machine Learning Research 21(161), 2020",
        2020,
        "O(n d^2 + s n d)",
        counted=True,
    ),
    SelectorInfo(
        FastCanSelector,
        "FastCan",
        "S. Zhang, Z.-Q. Lang: Orthogonal least squares based fast feature selection for linear "
        "classification. Pattern Recognition 123, 2022",
        2022,
        "O(s n d + n d min(n, d))",
        counted=True,
    ),
    SelectorInfo(
        OPBSSelector,
        "OPBS",
        "W. Zhang, X. Li, Y. Dou, L. Zhao: A Geometry-Based Band Selection Approach for "
        "Hyperspectral Image Analysis. IEEE Transactions on Geoscience and Remote Sensing 56(8), "
        "2018",
        2018,
        "O(s n d)",
        counted=True,
    ),
    SelectorInfo(
        MVPCASelector,
        "MVPCA",
        "C.-I Chang, Q. Du, T.-L. Sun, M. L. G. Althouse: A joint band prioritization and "
        "band-decorrelation approach to band selection for hyperspectral image classification. "
        "IEEE Transactions on Geoscience and Remote Sensing 37(6), 1999",
        1999,
        "O(n d); O(n d min(n, d)) with fewer components than all",
    ),
    SelectorInfo(
        EvenSelector,
        "evenly spaced features",
        "the baseline of Q. Du, H. Yang: Similarity-Based Unsupervised Band Selection for "
        "Hyperspectral Image Analysis. IEEE Geoscience and Remote Sensing Letters 5(4), 2008",
        None,
        "O(n d)",
        counted=True,
    ),
    SelectorInfo(
        VarianceSelector,
        "maximum variance",
        "the baseline of X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection. "
        "NIPS 2005",
        None,
        "O(n d)",
    ),
    SelectorInfo(
        RandomSelector,
        "random selection",
        "none: a baseline that every method should beat",
        None,
        "O(n d)",
        random=True,
    ),
    SelectorInfo(
        AllFeatures,
        "All-Features",
        "the baseline of J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse "
        "Tensor PCA for Efficient Unsupervised Feature Selection. arXiv:2407.16985",
        None,
        "O(n d)",
    ),
)
