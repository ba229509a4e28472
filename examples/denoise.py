"""Remove noise from images without seeing the clean images.

Every method keeps the components whose singular values exceed what noise alone would give. The
noise level is estimated from the finest differences of neighbouring pixels. The threshold for a
matrix of n samples by q features is optimal for hard thresholding in white noise of a known level
(Gavish and Donoho, 2014). For comparison, the script also shows the best possible choice, which
needs the clean images.

    python examples/denoise.py [--data patches|digits|jaffe|pie] [--output FOLDER] [--fast]
"""

from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from _common import load_images, read_arguments, save, show_images
from sklearn.decomposition import PCA

from tensift import SparseTensorPCA, TensorPCA

NOISE = 0.2  # of the largest pixel
SHARES = (0.125, 0.25, 0.5, 1.0, 2.0)  # of the lam that removes pure noise


@dataclass(frozen=True)
class Result:
    """The result of a method on noisy images, and the result with its best size."""

    method: str
    components: int
    psnr: float
    best_components: int
    best_psnr: float
    images: np.ndarray


def psnr(images, clean):
    """Return the peak signal-to-noise ratio in decibels, for images with a peak of 1."""
    return float(-10 * np.log10(np.mean((images - clean) ** 2)))


def noise_level(images):
    """Estimate the standard deviation of white noise from 2 x 2 pixel differences."""
    a, b = images[:, ::2, ::2], images[:, ::2, 1::2]
    c, d = images[:, 1::2, ::2], images[:, 1::2, 1::2]
    return float(np.median(np.abs(a - b - c + d)) / 2 / 0.6745)


def threshold(n, q, sigma):
    """Return the singular value above which a component of an n x q matrix is kept."""
    small, large = sorted((n, q))
    beta = small / large
    root = np.sqrt(beta**2 + 14 * beta + 1)
    return np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + root)) * np.sqrt(large) * sigma


def noise_energy(n, q, sigma):
    """Return about the largest energy of a component of n x q white noise."""
    return (sigma * (np.sqrt(n) + np.sqrt(q))) ** 2


def run(noisy, clean, shares=SHARES, sigma=None):
    """Run all methods."""
    sigma = noise_level(noisy) if sigma is None else sigma
    results = [Result("noisy", noisy[0].size, psnr(noisy, clean), 0, np.nan, noisy)]
    results += _pca(noisy, clean, sigma)
    for basis in ("identity", "dct", "eigen"):
        for mode in (0, 1):
            results.append(_tensor_pca(noisy, clean, sigma, basis, mode))
    results += [
        _sparse(noisy, clean, sigma, sparsity, shares) for sparsity in ("features", "components")
    ]
    return results


def _pca(noisy, clean, sigma):
    """Keep components unchanged, and shrink them like sparse components."""
    rows = noisy.reshape(len(noisy), -1)
    model = PCA(svd_solver="full").fit(rows)
    coordinates, values = model.transform(rows), model.singular_values_
    kept = int(np.sum(values > threshold(*rows.shape, sigma)))

    def images(weights):
        return (coordinates * weights @ model.components_ + model.mean_).reshape(noisy.shape)

    def leading(count):
        return images(np.arange(len(values)) < count)

    best = max(_ladder(len(values)), key=lambda count: psnr(leading(count), clean))
    energy = np.maximum(values**2, np.finfo(float).tiny)
    shrunk = np.maximum(1 - noise_energy(*rows.shape, sigma) / energy, 0)
    soft = images(shrunk)
    return [
        Result(
            "PCA", kept, psnr(leading(kept), clean), best, psnr(leading(best), clean), leading(kept)
        ),
        Result("PCA, shrunk", int(np.sum(shrunk > 0)), psnr(soft, clean), 0, np.nan, soft),
    ]


def _tensor_pca(noisy, clean, sigma, basis, mode):
    model = TensorPCA(truncation="global", basis=basis, orientation=mode).fit(noisy)
    cut = threshold(len(noisy), noisy.shape[mode + 1], sigma)
    kept = int(np.sum(np.sqrt(model.energy_) > cut))

    def images(count):
        if count == 0:
            return np.broadcast_to(model.mean_, noisy.shape)
        model.set_params(n_components=int(count)).fit(noisy)
        return model.inverse_transform(model.transform(noisy))

    best = max(_ladder(model.n_components_), key=lambda count: psnr(images(count), clean))
    name = f"TensorPCA, {basis}, orientation {mode}"
    return Result(
        name, kept, psnr(images(kept), clean), best, psnr(images(best), clean), images(kept)
    )


def _sparse(noisy, clean, sigma, sparsity, shares):
    """Fit SparseTensorPCA with as many components per slice as the largest slice needs.

    A column of the encoder is zero if twice its energy is below lam. Otherwise it is multiplied by
    ``1 - lam / (2 energy)``. For sparse components, lam is twice the largest energy of pure noise,
    which removes what noise adds. For sparse features there is no such rule, so lam is the largest
    of a few values that leaves a residual no larger than the noise.
    """
    n, q = len(noisy), noisy.shape[1]
    plain = TensorPCA(basis="dct").fit(noisy)
    rank = int(np.sum(np.sqrt(plain.energy_) > threshold(n, q, sigma), axis=1).max())
    tried = []
    for lam in [2 * noise_energy(n, q, sigma) * share for share in shares]:
        model = SparseTensorPCA(
            max(1, rank),
            lam=lam,
            penalty_units="absolute",
            sparsity=sparsity,
            basis="dct",
            tol=1e-5,
        ).fit(noisy)
        images = model.inverse_transform(model.transform(noisy))
        residual = float(np.sqrt(np.mean((noisy - images) ** 2)))
        tried.append((lam, model.n_components_, residual, images))
    if sparsity == "components":
        chosen = tried[shares.index(1.0)]
    else:
        within = [one for one in tried if one[2] <= sigma]
        chosen = max(within or [min(tried, key=lambda one: one[2])], key=lambda one: one[0])
    best = max(tried, key=lambda one: psnr(one[3], clean))
    name = f"SparseTensorPCA, {sparsity}, dct"
    return Result(name, chosen[1], psnr(chosen[3], clean), best[1], psnr(best[3], clean), chosen[3])


def _ladder(most):
    """List the numbers of components to try: all up to 20, then steps of 10 %."""
    return sorted(
        {*range(1, min(most, 20) + 1), *(int(1.1**k) for k in range(100) if 1.1**k < most)}
    )


def draw(results, clean, data):
    """Draw the PSNR of all methods as bars, and images."""
    count = min(10, len(clean))
    contrast = np.argsort(-clean.var(axis=(1, 2)), kind="stable")[:count]
    rows = ["clean", *(r.method for r in results)]
    figure = plt.figure(figsize=(12.5, 0.62 * len(rows) + 0.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.25))
    axis = left.subplots()
    places = np.arange(len(results))[::-1]
    axis.barh(
        places + 0.2, [r.psnr for r in results], 0.38, label="chosen without the clean images"
    )
    axis.barh(places - 0.2, [r.best_psnr for r in results], 0.38, color="0.8", label="best choice")
    axis.set_yticks(places, [f"{r.method} ({r.components})" for r in results], fontsize=8)
    axis.set_xlim(min(r.psnr for r in results) - 1, None)
    axis.set(xlabel="PSNR, dB")
    axis.set_title(f"{data} with noise of {NOISE:g}; components kept in brackets", fontsize=9)
    axis.legend(fontsize=7, loc="upper right")
    grid = right.subplots(len(rows), count, squeeze=False)
    for line, name, images in zip(grid, rows, [clean, *(r.images for r in results)], strict=True):
        show_images(line, images[contrast], name, 7)
    return figure


def main(argv=None):
    options = read_arguments(__doc__.splitlines()[0], "patches", argv)
    clean, _ = load_images(options.data, options.fast)
    noisy = clean + NOISE * np.random.default_rng(0).normal(size=clean.shape)
    print(f"{options.data}: {clean.shape}, noise {NOISE}, estimated as {noise_level(noisy):.3f}")
    results = run(noisy, clean, SHARES[-2:] if options.fast else SHARES)
    print(f"{'method':38} {'components':>10} {'PSNR':>6} {'best size':>9} {'its PSNR':>8}")
    for r in results:
        print(
            f"{r.method:38} {r.components:10d} {r.psnr:6.2f} "
            f"{r.best_components:9d} {r.best_psnr:8.2f}"
        )
    best = max(results, key=lambda r: r.psnr)
    print(f"highest PSNR: {best.method} ({best.psnr:.2f} dB)")
    save(draw(results, clean, options.data), options.output, "denoising")
    return results


if __name__ == "__main__":
    main()
