"""SparseTensorPCA on rows against sparsepca, another program for the same criterion.

sparsepca (alternating manifold proximal gradients, by Chen, Ma, Xue and Zou) minimises the
criterion of Zou, Hastie and Tibshirani. For samples with one mode, SparseTensorPCA has the same
criterion.
"""

import time

import numpy as np

from benchmarks._results import Table
from benchmarks._timing import one_thread
from tensift import SparseTensorPCA

COMPONENTS = 3
PENALTIES = ((0.02, 0.01), (0.05, 0.01), (0.1, 0.05), (0.2, 0.1))
SHAPES = ((60, 10), (200, 40))


def run(repeats):
    try:
        from sparsepca import spca
    except ImportError as error:
        raise SystemExit('this benchmark needs sparsepca: pip install "tensift[bench]"') from error
    table = Table(f"The same criterion, {COMPONENTS} components, both from PCA")
    for shape in SHAPES:
        for lam, ridge in PENALTIES:
            for seed in range(3):
                with one_thread():
                    table.rows.append(_compare(spca, shape, lam, ridge, seed))
                print(" ", *(f"{k} {v}" for k, v in table.rows[-1].items()), flush=True)
    apart = np.array([row["theirs - ours"] for row in table.rows])
    equal = np.abs(apart) <= 1e-6
    ratios = [row["time ratio"] for row in table.rows]
    table.notes = [
        "theirs - ours: relative difference of the objectives; above 0 if ours is lower",
        "loadings: largest difference of matched unit loadings, up to sign",
        f"equal to 1e-6 in {equal.sum()} of {len(apart)}, ours lower in {(apart > 1e-6).sum()}, "
        f"theirs lower in {(apart < -1e-6).sum()}: the criterion is not convex",
        f"time ratio, theirs divided by ours: {np.median(ratios):.2g} in the median, "
        f"{min(ratios):.2g} to {max(ratios):.2g}",
    ]
    return {"": table}


def _compare(spca, shape, lam, ridge, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) @ (rng.normal(size=(shape[1],) * 2) * 0.8 ** np.arange(shape[1]))
    X -= X.mean(axis=0)
    start = time.perf_counter()
    ours = SparseTensorPCA(COMPONENTS, lam=lam, ridge=ridge, tol=1e-10, max_iter=10_000).fit(X)
    own = time.perf_counter() - start
    start = time.perf_counter()
    theirs = spca(
        X,
        np.full((COMPONENTS, 1), ours.lam_),
        ours.ridge_,
        k=COMPONENTS,
        normalize=False,
        tol=1e-8,
        maxiter=10_000,
    )
    other = time.perf_counter() - start
    value = theirs["f_manpg"] + np.sum(X**2)  # they omit the constant
    loadings = ours.encoder_[0]
    loadings = loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300)
    match = np.abs(loadings.T @ theirs["loadings"]).argmax(axis=1)
    found = theirs["loadings"][:, match]
    apart = np.abs(loadings - found * np.sign(np.sum(loadings * found, axis=0))).max()
    return {
        "samples x features": f"{shape[0]} x {shape[1]}",
        "lam": lam,
        "ridge": ridge,
        "seed": seed,
        "zeros": f"{np.mean(ours.encoder_ == 0):.0%}",
        "ours": float(ours.objective_[0]),
        "theirs - ours": float(value / ours.objective_[0] - 1),
        "loadings": float(apart),
        "ours s": own,
        "theirs s": other,
        "time ratio": other / own,
    }
