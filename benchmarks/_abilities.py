"""What decompositions under the star-M product can do. Every entry is tried.

A trial gets an adapter. It returns a remark ("" for a plain yes) or raises an exception. If a
library does not offer something, that counts as a no.
"""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.fft
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

RNG_SEED = 0
CLOSE = 1e-9


class Absent(Exception):
    """The library does not offer this."""


@dataclass(frozen=True)
class Adapter:
    """How to call one library: for a number of components, or with a pair of transforms."""

    name: str
    make: object
    with_pair: object
    ours: bool = False


def adapters():
    """Return ours and the rivals that are installed."""
    from tensift import TensorPCA

    def ours(n_components=None, **settings):
        settings = {"truncation": "global", "basis": "dct", **settings}
        return TensorPCA(n_components, **settings)

    found = [Adapter("TensorPCA", ours, lambda pair: ours(basis=pair), ours=True)]
    try:
        from mprod.dimensionality_reduction import TCAM

        found.append(
            Adapter(
                "mprod TCAM",
                lambda n_components=None, **s: TCAM(n_components=n_components, **_known(TCAM, s)),
                lambda pair: TCAM(fun_m=pair[0], inv_m=pair[1]),
            )
        )
    except ImportError:
        pass
    try:
        from tred import TPCA

        found.append(
            Adapter(
                "tred TPCA",
                lambda n_components=None, **s: TPCA(n_components, **_known(TPCA, s)),
                lambda pair: TPCA(M=pair[0], Minv=pair[1]),
            )
        )
    except ImportError:
        pass
    return found


def try_all():
    """Return one row per ability, with the outcome for every library."""
    contestants = adapters()
    rows = []
    for title, trial in TRIALS.items():
        row = {"asked for": title}
        for adapter in contestants:
            row[adapter.name] = _outcome(trial, adapter)
        rows.append(row)
    return rows


def _outcome(trial, adapter):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            remark = trial(adapter)
        except Absent as reason:
            return f"no: {reason}"
        except Exception as error:  # any exception of a rival means no
            first = (str(error).strip().splitlines() or [""])[0].replace("|", "/")
            return f"no: {type(error).__name__}: {first[:90]}"
    return f"yes{', ' + remark if remark else ''}"


def _known(estimator, settings):
    accepted = estimator().get_params()
    unknown = [name for name in settings if name not in accepted]
    if unknown:
        raise Absent(f"no parameter `{unknown[0]}`")
    return settings


def _samples(*shape, dtype=float):
    rng = np.random.default_rng(RNG_SEED)
    X = rng.normal(size=shape)
    return X + 1j * rng.normal(size=shape) if dtype is complex else X


def _needs(condition, otherwise):
    if not condition:
        raise Absent(otherwise)


def _singular_values(X, forward):
    """Return the singular values of all slices together, from an explicit loop."""
    slices = forward(X - X.mean(axis=0))
    values = [np.linalg.svd(slices[:, :, j], compute_uv=False) for j in range(slices.shape[2])]
    return np.sort(np.concatenate(values))[::-1]


def _round_trip(model, X):
    coordinates = model.fit(X).transform(X)
    _needs(hasattr(model, "inverse_transform"), "no inverse_transform")
    return coordinates, float(np.abs(model.inverse_transform(coordinates) - X).max())


def _any_matrix(adapter):
    X = _samples(30, 5, 6)
    M = np.linalg.qr(_samples(6, 6))[0]

    def forward(x, axis=-1):
        return np.moveaxis(np.moveaxis(x, axis, -1) @ M.T, -1, axis)

    def inverse(x, axis=-1):
        return np.moveaxis(np.moveaxis(x, axis, -1) @ M, -1, axis)

    return _compare_norms(adapter.with_pair((forward, inverse)), X, forward)


def _skewed_matrix(adapter):
    X = _samples(30, 5, 6)
    M = np.eye(6) + 0.3 * _samples(6, 6)
    back = np.linalg.inv(M)

    def along(matrix):
        return lambda x, axis=-1: np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)

    return _compare_norms(adapter.with_pair((along(M), along(back))), X, along(M))


def _compare_norms(model, X, forward):
    norms = np.linalg.norm(model.fit(X).transform(X), axis=0)
    truth = _singular_values(X, forward)
    right = np.allclose(norms, truth[: len(norms)], rtol=1e-8)
    _needs(right, "coordinates do not have the norms that an explicit loop gives")
    return f"{len(norms)} of {len(truth)} components" if len(norms) < len(truth) else ""


def _dft_real(adapter):
    X = _samples(30, 5, 6)

    def forward(x, axis=-1):
        return scipy.fft.fft(x, axis=axis, norm="ortho")

    def inverse(x, axis=-1):
        return scipy.fft.ifft(x, axis=axis, norm="ortho")

    pair = "dft" if adapter.ours else (forward, inverse)
    model = adapter.with_pair(pair)
    coordinates = model.fit(X).transform(X)
    _needs(np.isrealobj(coordinates), "coordinates are complex")
    energy = np.linalg.norm(X - X.mean(axis=0))
    _needs(np.isclose(np.linalg.norm(coordinates), energy), "coordinates lose energy")
    _, error = _round_trip(model, X)
    _needs(error < CLOSE, f"the round trip is off by {error:.1g}")
    return ""


def _order_four(adapter):
    X = _samples(40, 4, 5, 6)
    _, error = _round_trip(adapter.make(), X)
    _needs(error < CLOSE, f"the round trip is off by {error:.1g}")
    return ""


def _basis_per_mode(adapter):
    X = _samples(40, 4, 5, 6)
    model = adapter.make(basis=["dct", "eigen"])
    _, error = _round_trip(model, X)
    _needs(error < CLOSE, f"the round trip is off by {error:.1g}")
    return ""


def _orientation(adapter):
    X = _samples(30, 5, 6)
    turned = adapter.make(10, orientation=1).fit(X).explained_variance_ratio_
    swapped = adapter.make(10).fit(np.ascontiguousarray(X.swapaxes(1, 2)))
    _needs(np.allclose(turned, swapped.explained_variance_ratio_), "not that of turned samples")
    return ""


def _streaming(adapter):
    X = _samples(60, 5, 6)
    model = adapter.make(8)
    _needs(hasattr(model, "partial_fit"), "no partial_fit")
    for chunk in np.array_split(X, 4):
        model.partial_fit(chunk)
    whole = np.abs(adapter.make(8).fit(X).transform(X))
    _needs(np.allclose(np.abs(model.transform(X)), whole), "not the result of fit")
    return ""


def _inverse(adapter):
    X = _samples(40, 5, 6)
    coordinates, error = _round_trip(adapter.make(), X)
    missing = 30 - coordinates.shape[1]
    if missing:
        raise Absent(f"keeps {30 - missing} of 30 components; the round trip is off by {error:.1g}")
    _needs(error < CLOSE, f"the round trip is off by {error:.1g}")
    return ""


def _whitening(adapter):
    X = _samples(60, 5, 6)
    spread = adapter.make(8, whiten=True).fit(X).transform(X).std(axis=0, ddof=1)
    _needs(np.allclose(spread, 1), "standard deviations are not 1")
    return ""


def _share(adapter):
    model = adapter.make(0.8).fit(_samples(60, 5, 6))
    ratio = model.explained_variance_ratio_
    _needs(ratio.sum() >= 0.8 > ratio[:-1].sum(), f"holds {ratio.sum():.3f}")
    return ""


def _largest(adapter):
    X = _samples(60, 5, 6)
    norms = np.linalg.norm(adapter.make(7).fit(X).transform(X), axis=0)
    truth = _singular_values(X, lambda x: scipy.fft.dct(x, axis=-1, norm="ortho"))
    _needs(np.allclose(norms, truth[:7]), "not the seven largest")
    return ""


def _same_rank(adapter):
    X = _samples(60, 5, 6)
    model = adapter.make(2, truncation="slice").fit(X)
    _needs(np.all(np.bincount(model.component_slices_) == 2), "ranks differ")
    return ""


def _sparse(adapter):
    _needs(adapter.ours, "none in the package")
    from tensift import SparseTensorPCA

    forms = []
    for sparsity in ("entries", "features", "components"):
        model = SparseTensorPCA(2, lam=0.8, sparsity=sparsity, random_state=0)
        model.fit(_samples(60, 5, 6))
        _needs(np.any(model.encoder_ == 0), f"no zero with sparsity={sparsity!r}")
        forms.append(sparsity)
    return "of " + ", ".join(forms)


def _selection(adapter):
    _needs(adapter.ours, "none in the package")
    from tensift import SelectFromDecomposition

    X = _samples(60, 5, 6)
    kept = SelectFromDecomposition(adapter.make(4), n_features_to_select=6).fit(X).transform(X)
    _needs(kept.shape == (60, 6), f"shape {kept.shape}")
    return ""


def _complex(adapter):
    X = _samples(40, 5, 6, dtype=complex)
    return _compare_norms(adapter.make(), X, lambda x: scipy.fft.dct(x, axis=-1, norm="ortho"))


def _integers(adapter):
    X = np.random.default_rng(RNG_SEED).integers(0, 255, (40, 5, 6))
    a, b = (np.abs(adapter.make(5).fit(x).transform(x)) for x in (X, X.astype(float)))
    _needs(np.allclose(a, b), "not the result for the same numbers as floats")
    return ""


def _not_a_number(adapter):
    X = _samples(40, 5, 6)
    X[0, 0, 0] = np.nan
    try:
        adapter.make(5).fit(X)
    except np.linalg.LinAlgError as error:
        raise Absent(f"LinAlgError: {error}") from error
    except ValueError:
        return ""
    raise Absent("fitted without an error")


def _fit_again(adapter):
    model = adapter.make(5).fit(_samples(40, 5, 6))
    other = _samples(40, 5, 9)
    again = np.abs(model.fit(other).transform(other))
    fresh = np.abs(adapter.make(5).fit(other).transform(other))
    _needs(np.allclose(again, fresh), "not what a new estimator gives")
    return ""


def _pipeline(adapter):
    X = _samples(60, 5, 6)
    from sklearn.linear_model import LogisticRegression

    labels = (X[:, 0, 0] > 0).astype(int)
    pipe = make_pipeline(clone(adapter.make(5)), LogisticRegression())
    name = pipe.steps[0][0]
    search = GridSearchCV(pipe, {f"{name}__n_components": [2, 5]}, cv=2, error_score="raise")
    search.fit(X, labels)
    return ""


def _scored(adapter):
    X = _samples(60, 5, 6)
    search = GridSearchCV(adapter.make(5), {"n_components": [2, 5]}, cv=2, error_score="raise")
    search.fit(X)
    return ""


def _pickled(adapter):
    X = _samples(40, 5, 6)
    model = adapter.make(5).fit(X)
    again = pickle.loads(pickle.dumps(model))
    _needs(np.array_equal(again.transform(X), model.transform(X)), "other coordinates")
    return ""


def _names_out(adapter):
    X = _samples(40, 5, 6)
    frame = adapter.make(3).set_output(transform="pandas").fit(X).transform(X)
    return f"`{frame.columns[0]}`"


def _estimator_checks(adapter):
    estimator = adapter.make(2)
    settings = {"feature_shape": None} if adapter.ours else {}
    results = check_estimator(
        estimator.set_params(**settings), on_fail=None, on_skip=None, legacy=True
    )
    counts = [result["status"] for result in results]
    passed, tried = counts.count("passed"), len(counts) - counts.count("skipped")
    if passed < tried:
        raise Absent(f"{passed} of {tried}")
    return f"{passed} of {tried}"


TRIALS = {
    "any orthogonal matrix as M": _any_matrix,
    "a matrix M that is not orthogonal": _skewed_matrix,
    "DFT: real coordinates of the right norm, and back": _dft_real,
    "samples with three modes": _order_four,
    "a different basis for each mode": _basis_per_mode,
    "a choice of the mode that is combined": _orientation,
    "samples in chunks": _streaming,
    "an exact inverse from all components": _inverse,
    "whitening": _whitening,
    "the fewest components with 80 % of the energy": _share,
    "the k largest components of all slices": _largest,
    "k components in every slice": _same_rank,
    "sparse components": _sparse,
    "feature selection from the components": _selection,
    "complex samples": _complex,
    "integer samples": _integers,
    "a clear error for NaN": _not_a_number,
    "a second fit, on samples of another shape": _fit_again,
    "in a Pipeline, under GridSearchCV": _pipeline,
    "under GridSearchCV with its own score": _scored,
    "pickled and back": _pickled,
    "names of the output (set_output)": _names_out,
    "scikit-learn's estimator checks": _estimator_checks,
}
