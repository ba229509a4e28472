"""Compress images, and compare the error with the number of stored numbers.

Numbers are counted for the whole set: the mean, the components (with the transform, if it is
learned from the data) and the coordinates of every sample. Errors are shares of the energy about
the mean, for fitted samples and for held-out samples.

    python examples/compress.py [--data patches|digits|jaffe|pie] [--output FOLDER] [--fast]
"""

from dataclasses import dataclass
from itertools import product

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.fft
from _common import load_images, read_arguments, save, show_images, split
from sklearn.decomposition import PCA

from tensift import TensorPCA

SHARES = (0.02, 0.05, 0.1, 0.2)  # of the numbers in the fitted samples
SHOWN = 0.05


@dataclass(frozen=True)
class Result:
    """One method at one size: numbers kept, coordinates per sample, errors, held-out images."""

    method: str
    share: float
    numbers: int
    coordinates: int
    fitted: float
    held_out: float
    images: np.ndarray


def run(train, test, shares=SHARES, cp_steps=40):
    """Run every method at every budget that is large enough for it."""
    methods = {"PCA": _pca, "2-D DCT": _fixed_dct}
    for truncation, basis, mode in product(
        ("global", "slice"), ("identity", "dct", "eigen"), (0, 1)
    ):
        name = f"TensorPCA {truncation}, {basis}, orientation {mode}"
        methods[name] = _tensor_pca(truncation, basis, mode)
    try:
        import tensorly  # noqa: F401

        methods |= {"Tucker": _tucker, "CP": _cp(cp_steps)}
    except ImportError:
        print("Tucker and CP are skipped because tensorly is missing: pip install tensorly")
    results = []
    for (name, method), share in product(methods.items(), shares):
        kept = method(train, test, int(share * train.size))
        if kept is not None:
            numbers, coordinates, fitted, held_out = kept
            errors = [
                _error(*pair, train.mean(axis=0)) for pair in ((fitted, train), (held_out, test))
            ]
            results.append(Result(name, share, numbers, coordinates, *errors, held_out))
    return results


def _error(images, truth, mean):
    return float(np.sum((images - truth) ** 2) / np.sum((truth - mean) ** 2))


def _pca(train, test, budget):
    n, d = len(train), train[0].size
    count = min((budget - d) // (n + d), min(n, d) - 1)
    if count < 1:
        return None
    model = PCA(count, svd_solver="full").fit(train.reshape(n, d))
    back = [
        model.inverse_transform(model.transform(x.reshape(len(x), d))).reshape(x.shape)
        for x in (train, test)
    ]
    return d + count * (n + d), count, *back


def _fixed_dct(train, test, budget):
    """Keep the 2-D cosines that vary most. Only their positions are stored, no basis."""
    n, mean = len(train), train.mean(axis=0)
    count = min((budget - mean.size) // (n + 1), mean.size)
    if count < 1:
        return None
    kept = np.zeros(mean.size)
    kept[
        np.argsort(-scipy.fft.dctn(train, axes=(1, 2), norm="ortho").var(axis=0).ravel())[:count]
    ] = 1
    back = []
    for x in (train, test):
        coordinates = scipy.fft.dctn(x - mean, axes=(1, 2), norm="ortho") * kept.reshape(mean.shape)
        back.append(scipy.fft.idctn(coordinates, axes=(1, 2), norm="ortho") + mean)
    return mean.size + count * (n + 1), count, *back


def _tensor_pca(truncation, basis, mode):
    def method(train, test, budget):
        n, d, q = len(train), train[0].size, train.shape[mode + 1]
        p = d // q
        fixed = d + (p * p if basis == "eigen" else 0)
        each = n + q + 1  # coordinates, the component, and the number of its slice
        count = min((budget - fixed) // each, d)
        if truncation == "slice":
            count //= p
        if count < 1:
            return None
        model = TensorPCA(count, truncation=truncation, basis=basis, orientation=mode)
        model.fit(train)
        back = [model.inverse_transform(model.transform(x)) for x in (train, test)]
        return fixed + model.n_components_ * each, model.n_components_, *back

    return method


def _tucker(train, test, budget):
    """Use the ranks with the smallest error on the fitted samples among those within the budget."""
    from tensorly.decomposition import tucker

    mean = train.mean(axis=0)
    (n, height, width), best = train.shape, None
    for share in (0.25, 0.35, 0.5, 0.7, 1.0):
        rows, columns = round(share * height), round(share * width)
        left = budget - mean.size - rows * height - columns * width
        count = min(left // (n + rows * columns), n, rows * columns)
        if count < 1:
            continue
        core, (_, left_factor, right_factor) = tucker(
            train - mean, [count, rows, columns], n_iter_max=25, init="svd", tol=1e-5
        )
        basis = np.einsum("krc,hr,wc->khw", core, left_factor, right_factor)
        back = [_on_basis(basis, x - mean) + mean for x in (train, test)]
        error = _error(back[0], train, mean)
        if best is None or error < best[0]:
            fixed = mean.size + rows * height + columns * width
            best = error, fixed + count * (n + rows * columns), count, *back
    return None if best is None else best[1:]


def _cp(steps):
    def method(train, test, budget):
        from tensorly.decomposition import parafac

        mean = train.mean(axis=0)
        n, height, width = train.shape
        count = (budget - mean.size) // (n + height + width)
        if count < 1:
            return None
        _, (_, left, right) = parafac(
            train - mean, int(count), n_iter_max=steps, init="random", random_state=0, tol=1e-6
        )
        basis = np.einsum("hk,wk->khw", left, right)
        back = [_on_basis(basis, x - mean) + mean for x in (train, test)]
        return mean.size + count * (n + height + width), int(count), *back

    return method


def _on_basis(basis, images):
    """Project images onto the span of the basis images."""
    flat = basis.reshape(len(basis), -1)
    weights = np.linalg.lstsq(flat.T, images.reshape(len(images), -1).T, rcond=None)[0]
    return (flat.T @ weights).T.reshape(images.shape)


def draw(results, test, data):
    """Draw errors against numbers and against coordinates, and images at one budget."""
    shown = [r for r in results if "slice" not in r.method]
    names = list(dict.fromkeys(r.method for r in shown))
    rows = [n for n in names if any(_at(r, n, SHOWN) for r in shown)]
    rows = ["original", *(n for n in rows if not n.endswith("orientation 1"))]
    figure = plt.figure(figsize=(11, 4.2 + 0.8 * len(rows)), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(4.2, 0.8 * len(rows)))
    axes = upper.subplots(1, 2, sharey=True)
    colours = {"identity": "tab:blue", "dct": "tab:orange", "eigen": "tab:green"}
    plain = {"PCA": "black", "2-D DCT": "0.6", "Tucker": "tab:red", "CP": "tab:purple"}
    for name in names:
        mine = sorted((r for r in shown if r.method == name), key=lambda r: r.share)
        colour = plain.get(name) or colours[name.split(", ")[1]]
        style = "--" if name.endswith("1") else "-"
        for axis, key in zip(axes, ("numbers", "coordinates"), strict=True):
            axis.plot(
                [getattr(r, key) for r in mine],
                [r.held_out for r in mine],
                style,
                marker="o",
                ms=4,
                color=colour,
                label=name.replace("TensorPCA global", "TensorPCA"),
            )
    for axis, title in zip(axes, ("numbers kept in total", "coordinates per sample"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=title)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share of the energy lost on held-out samples")
    axes[1].legend(fontsize=8)
    upper.suptitle(f"Compressing {data}")
    count = min(12, len(test))
    contrast = np.argsort(-test.var(axis=(1, 2)), kind="stable")[:count]
    grid = lower.subplots(len(rows), count, squeeze=False)
    for line, name in zip(grid, rows, strict=True):
        images = test
        if name != "original":
            images = next(r.images for r in shown if _at(r, name, SHOWN))
        show_images(line, images[contrast], name.replace("TensorPCA global", "TensorPCA"), 8)
    lower.suptitle(
        f"held-out samples with most contrast, {SHOWN:.0%} of the numbers kept", fontsize=10
    )
    return figure


def _at(result, name, share):
    return result.method == name and result.share == share


def main(argv=None):
    options = read_arguments(__doc__.splitlines()[0], "patches", argv)
    images, _ = load_images(options.data, options.fast)
    fitted, held_out = split(len(images))
    train, test = images[fitted], images[held_out]
    print(f"{options.data}: {train.shape} fitted, {test.shape} held out")
    shares = (SHOWN, 0.2) if options.fast else SHARES
    results = run(train, test, shares, cp_steps=5 if options.fast else 40)
    print(
        f"{'method':44} {'share':>6} {'numbers':>8} {'coordinates':>11} "
        f"{'fitted':>7} {'held out':>8}"
    )
    for r in results:
        print(
            f"{r.method:44} {r.share:6.2f} {r.numbers:8d} {r.coordinates:11d} "
            f"{r.fitted:7.4f} {r.held_out:8.4f}"
        )
    for share in shares:
        best = min((r for r in results if r.share == share), key=lambda r: r.held_out)
        print(f"least lost at {share:.0%} of the numbers: {best.method} ({best.held_out:.4f})")
    save(draw(results, test, options.data), options.output, "compression")
    return results


if __name__ == "__main__":
    main()
