"""Samples in pieces: the same selection as from one array, however they are cut."""

import warnings

import h5py
import numpy as np
import sklearn
from sklearn.base import clone

from tensift import STPCASelector, TensorPCA, collect_moments
from tensift.sources import Chunks

from .values import pick, plain_samples

CLOSE = 1e-6  # of the largest score; sums in another order differ in their last digits


class Interrupted(Exception):
    """Raised by an iterator in the middle of a pass."""


def check_case(rng, folder):
    """Fit on an array, then on the same samples in pieces."""
    shape = tuple(int(d) for d in rng.integers(2, 7, size=int(rng.integers(1, 4))))
    X = plain_samples(rng, shape, n=int(rng.integers(12, 80))) + pick(rng, (0.0, 5.0))
    if rng.random() < 0.2:
        X = X.astype("f4")
    chunks = _cut(rng, X)
    orientation = int(rng.integers(-len(shape), len(shape)))
    basis = pick(rng, ("identity", "dct", "dft", "haar"))
    settings = {"orientation": orientation, "basis": basis}
    ways = {
        "partial_fit": lambda one: _partial(one, chunks),
        "iterator": lambda one: one.fit(iter(chunks)),
        "Chunks": lambda one: one.fit(Chunks(lambda: iter(chunks))),
        "map": lambda one: one.fit(_mapped(folder, X)),
        "hdf5": lambda one: _from_hdf5(one, folder, X, rng),
        "moments": lambda one: one.fit(_resumed(rng, folder, chunks, settings)),
    }
    way = pick(rng, list(ways))
    told = f"{way}, samples {X.shape}, chunks of {[len(chunk) for chunk in chunks]}, {settings}"
    if rng.random() < 0.25:
        pca = TensorPCA(pick(rng, (1, 2, 0.8)), **settings)
        _compare_pca(*_both(rng, pca, X, ways[way]), told)
        return
    count = pick(rng, (1, max(1, X[0].size // 3), X[0].size, 0.4, "auto"))
    mode = pick(rng, (None, None, 0))
    selector = STPCASelector(count, feature_mode=mode, **settings, **_penalties(rng))
    _compare(*_both(rng, selector, X, ways[way]), f"{selector!r}: {told}")


def _penalties(rng):
    return {
        "lam": pick(rng, ("auto", 0.1, 0.3)),
        "eta": pick(rng, ("auto", 0.1, 0.3)),
        "penalty_units": "relative",
        "selection": pick(rng, ("geometry", "reconstruct", "top")),
    }


def _cut(rng, X):
    n_cuts = int(rng.integers(0, min(len(X) - 1, 8)))
    places = np.sort(rng.choice(np.arange(1, len(X)), size=n_cuts, replace=False))
    return np.split(X, places)


def _both(rng, estimator, X, fit_in_pieces):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = clone(estimator).fit(X)
        with sklearn.config_context(working_memory=pick(rng, (1, 16, 1024))):
            return whole, fit_in_pieces(clone(estimator))


def _partial(estimator, chunks):
    for chunk in chunks[:-1]:
        estimator.partial_fit(chunk, solve=False)
    return estimator.partial_fit(chunks[-1])


def _mapped(folder, X):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def _from_hdf5(estimator, folder, X, rng):
    with h5py.File(folder / "x.h5", "w") as file:
        pieces = (int(rng.integers(1, len(X) + 1)), *X.shape[1:])
        data = file.create_dataset("x", data=X, chunks=pieces if rng.random() < 0.7 else None)
        return estimator.fit(data)


def _resumed(rng, folder, chunks, settings):
    """Moments of a pass that was interrupted and continued; bit by bit those of a whole pass."""
    whole = collect_moments(
        Chunks(lambda: iter(chunks)), checkpoint=folder / "whole.npz", **settings
    )
    stop = int(rng.integers(len(chunks)))

    def broken():
        yield from chunks[:stop]
        raise Interrupted

    try:
        collect_moments(Chunks(broken), checkpoint=folder / "c.npz", **settings)
    except Interrupted:
        pass
    else:
        raise AssertionError("the pass was not interrupted")
    again = collect_moments(Chunks(lambda: iter(chunks)), checkpoint=folder / "c.npz", **settings)
    assert again.count == whole.count
    assert np.array_equal(again.mean, whole.mean), "the mean of a continued pass differs"
    one, other = again.gram(), whole.gram()
    assert np.array_equal(one.array, other.array), "the Gram matrices of a continued pass differ"
    left = {path.name for path in folder.iterdir()}
    assert left <= {"whole.npz", "c.npz"}, f"files that were left: {left}"
    return again


def _compare(whole, pieces, told):
    largest = np.abs(whole.scores_).max()
    error = np.abs(whole.scores_ - pieces.scores_).max()
    assert error <= CLOSE * max(largest, 1e-300), f"scores differ by {error:.1e}: {told}"
    assert pieces.n_features_ == whole.n_features_, f"n_features_ differs: {told}"
    assert pieces.n_samples_seen_ == whole.n_samples_seen_, told
    one, other = whole.get_support(), pieces.get_support()
    assert np.array_equal(one, other), f"the selection differs: {told}"


def _compare_pca(whole, pieces, told):
    assert np.array_equal(whole.ranks_, pieces.ranks_), f"ranks differ: {told}"
    np.testing.assert_allclose(
        pieces.explained_variance_ratio_,
        whole.explained_variance_ratio_,
        atol=1e-6 if whole.mean_.dtype == np.float32 else 1e-9,
        err_msg=told,
    )
