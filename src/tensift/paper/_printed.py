"""The numbers that the paper prints.

J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for Efficient
Unsupervised Feature Selection, arXiv:2407.16985v3.
"""

from __future__ import annotations

from typing import Any

__all__ = ["DOUBTFUL", "printed_metrics", "printed_orientations"]

# Table "Metrics of the comparative methods on real-world datasets": best accuracy, NMI and
# silhouette over its grid and counts, or the mean POC over its grid; seconds of the best cell.
_CLUSTERED = ("PIE", "COIL20", "JAFFE", "BreastMNIST", "Imm40", "USPS")
_CHANNELS = ("UCIDSA", "UCIHAR", "UMCS", "ASCH")
# Of each method: accuracy and NMI in per cent, silhouette and seconds on the sets of images; then
# POC in per cent and seconds on the sets of channels.
_ROWS: dict[str, tuple[Any, ...]] = {
    "All Features": (
        (26.21, 58.34, 20.16, 58.25, 48.43, 65.29),
        (51.19, 75.74, 4.51, 2.41, 74.21, 61.11),
        (0.0127, 0.2105, -0.0518, 0.0220, 0.0994, 0.1924),
        None,
        None,
        None,
    ),
    "RNE": (
        (18.67, 57.83, 26.96, 60.26, 58.54, 55.51),
        (42.64, 73.81, 12.89, 4.34, 81.11, 50.74),
        (-0.1828, 0.1304, -0.1284, 0.0279, 0.3168, 0.1211),
        (5.56, 18.17, 63.42, 8.16, 15.44, 1.60),
        (40.00, 0.0, 40.00, 66.67),
        (83.57, 170.22, 193.22, 205.33),
    ),
    "SOGFS": (
        (28.22, 57.54, 24.88, 61.45, 57.06, 57.63),
        (53.01, 72.55, 10.01, 4.55, 79.60, 52.21),
        (0.0263, 0.1661, -0.0366, 0.0456, 0.2411, 0.0916),
        (34.28, 55.56, 1794.41, 37.12, 83.77, 391.60),
        (37.33, 1.60, 17.33, 23.33),
        (2409.95, 5569.15, 5274.80, 8986.97),
    ),
    "SPCAFS": (
        (41.55, 58.10, 29.48, 60.90, 62.86, 64.63),
        (65.04, 74.02, 12.07, 5.14, 84.09, 61.13),
        (0.2091, 0.2303, -0.0392, 0.0845, 0.3413, 0.2275),
        (18.37, 3.11, 59.36, 0.61, 15.76, 0.34),
        (70.67, 23.60, 28.00, 70.00),
        (140.61, 274.54, 435.80, 6569.55),
    ),
    "NLGMS": (
        (38.40, 61.30, 30.94, 61.86, 59.51, 66.08),
        (62.69, 76.74, 18.34, 4.29, 82.03, 61.45),
        (0.1439, 0.2449, -0.0137, 0.0493, 0.3245, 0.2035),
        (25.99, 25.71, 498.12, 2.98, 19.08, 511.68),
        (40.53, 17.08, 21.87, 46.00),
        (222.98, 410.78, 782.96, 3114.56),
    ),
    "CPUFS": (
        (31.30, 60.05, 27.82, 61.11, 59.18, 64.99),
        (56.56, 75.48, 13.42, 3.48, 81.41, 59.79),
        (0.0364, 0.2159, -0.0374, 0.0629, 0.2825, 0.1999),
        (290.69, 69.89, 11.20, 6.87, 14.01, 1559.53),
        (34.35, 19.16, 21.49, 34.93),
        (51.01, 71.78, 11.47, 5.91),
    ),
    "CPUFSnn": (
        (32.51, 61.47, 26.15, 61.54, 57.85, 62.79),
        (32.51, 75.85, 11.86, 4.03, 79.18, 58.37),
        (0.0279, 0.2380, -0.0563, 0.0644, 0.2150, 0.1879),
        (101.76, 20.72, 11.68, 7.11, 13.35, 485.50),
        (34.40, 23.41, 23.75, 34.27),
        (48.77, 17.79, 12.66, 6.67),
    ),
    "MSPCA": (
        (30.66, 59.74, 27.51, 63.53, 62.54, 63.37),
        (53.81, 75.84, 10.47, 3.46, 83.40, 59.86),
        (0.0284, 0.2244, -0.0784, 0.0442, 0.3139, 0.1853),
        (0.33, 0.02, 0.01, 0.01, 0.07, 0.05),
        (86.67, 24.20, 30.80, 69.00),
        (0.37, 3.22, 0.02, 0.15),
    ),
    "STPCA-MP": (
        (42.84, 61.64, 34.74, 64.34, 68.92, 66.77),
        (66.80, 76.29, 23.42, 5.20, 87.81, 61.75),
        (0.1812, 0.2494, -0.0244, 0.0811, 0.4400, 0.2141),
        (0.03, 0.04, 0.05, 0.02, 0.02, 0.06),
        (92.27, 35.20, 41.07, 83.33),
        (0.08, 0.17, 0.04, 0.94),
    ),
}
# Numbers that were probably not measured: the paper prints its accuracy again.
DOUBTFUL = {("CPUFSnn", "PIE", "nmi")}


# Table "The best ACC and mean POC of our proposed method with different data orientations and
# transform domains": sets, then by orientation and transform.
_ORIENTED_SETS = ("JAFFE", "BreastMNIST", "USPS", "PIE", "UCIDSA", "UMCS")
_ORIENTED = {
    (0, "identity"): (35.29, 64.34, 63.32, 42.84, 92.27, 41.07),
    (0, "dft"): (31.35, 55.13, 64.13, 28.20, 9.33, 38.67),
    (0, "eigen"): (30.49, 57.56, 63.7, 30.98, 92.8, 44.80),
    (1, "identity"): (30.74, 62.44, 66.77, 36.87, 65.07, 28.8),
    (1, "dft"): (28.48, 62.29, 57.34, 38.39, 24.0, 16.53),
    (1, "eigen"): (22.68, 65.32, 61.55, 33.02, 45.87, 18.13),
}


def printed_metrics(method: str, data: str) -> dict[str, float]:
    """What the paper prints for a method on a dataset: metrics as shares of one, and `seconds`."""
    if method not in _ROWS:
        return {}
    acc, nmi, silhouette, seconds, poc, poc_seconds = _ROWS[method]
    found: dict[str, float] = {}
    if data in _CLUSTERED:
        place = _CLUSTERED.index(data)
        found = {"acc": acc[place] / 100, "nmi": nmi[place] / 100, "silhouette": silhouette[place]}
        if seconds:
            found["seconds"] = seconds[place]
    elif data in _CHANNELS and poc and poc_seconds:
        place = _CHANNELS.index(data)
        found = {"poc": poc[place] / 100, "seconds": poc_seconds[place]}
    return found


def printed_orientations(orientation: int, transform: str, data: str) -> float | None:
    """Best accuracy or mean POC of STPCA-MP that the paper prints, as a share of one."""
    figures = _ORIENTED.get((orientation, transform))
    if figures is None or data not in _ORIENTED_SETS:
        return None
    return figures[_ORIENTED_SETS.index(data)] / 100
