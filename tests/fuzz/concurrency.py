"""Fits in threads: the same as fits alone, and BLAS has as many threads afterwards as before."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import threadpoolctl
from sklearn.base import clone

from tensift import SparseTensorPCA, STPCASelector, TensorPCA
from tensift.rivals import list_selectors

from .api import assert_same
from .values import pick, plain_samples


def check_case(rng, folder):
    """Fit some estimators alone, then at the same time."""
    X = plain_samples(rng, tuple(int(d) for d in rng.integers(2, 8, size=2)), n=40)
    makers = [*list_selectors(), STPCASelector, TensorPCA, SparseTensorPCA]
    jobs = []
    for _ in range(int(rng.integers(2, 7))):
        maker = pick(rng, makers)
        n_jobs = pick(rng, (1, 2, -1))
        if isinstance(maker, type):
            number = int(rng.integers(1, 4))
            jobs.append(maker(number))
        else:
            jobs.append(maker.make(3, n_clusters=2, n_neighbors=3, random_state=0, max_iter=20))
        if "n_jobs" in jobs[-1].get_params():
            jobs[-1].set_params(n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [clone(job).fit(X) for job in jobs]
        # A campaign runs with one thread, from which no limit could be seen to stay.
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            before = _blas_threads()
            with ThreadPoolExecutor(len(jobs)) as pool:
                together = list(pool.map(lambda job: clone(job).fit(X), jobs * 2))
            assert _blas_threads() == before, f"BLAS threads: {before} became {_blas_threads()}"
    for one, other in zip(alone * 2, together, strict=True):
        assert_same(one, other, f"in threads, {one!r} beside {jobs!r}")


def _blas_threads():
    return [(pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]
