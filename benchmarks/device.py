"""Solvers on an accelerator: products against the library's own eigh, and the host's cores.

``python -m benchmarks device`` runs everything on the best device of PyTorch, CuPy and JAX, which
may be the CPU. ``python -m benchmarks.device --help`` lists options for short runs.
"""

import argparse
import gc
import importlib
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from unittest import mock

import numpy as np
from scipy.ndimage import gaussian_filter

from benchmarks._environment import describe_environment, n_cores
from benchmarks._results import Table, write_results
from tensift._utils.namespace import namespace_of, to_numpy
from tensift._utils.stacks import adjoint
from tensift.algebra import make_transforms
from tensift.moments import DeviceMoments, GramTensor, Moments, Orientation
from tensift.solvers import SliceProblems, SliceSolver, solve_exact, solve_paper
from tensift.solvers.on_device import _exact, _paper, _spectrum
from tensift.solvers.on_device._exact import solve_exact_on_device
from tensift.solvers.on_device._paper import solve_paper_on_device
from tensift.stpca.execution import executor_for_gram

SHAPES = ((1024, 64), (4096, 32), (64, 256))
QUICK_SHAPES = ((24, 16), (8, 32))
PENALTIES = ((0.1, 0.1), (1.0, 1.0), (10.0, 1.0), (10.0, 10.0))
FEWER_PENALTIES = ((1.0, 1.0), (10.0, 1.0))  # for all shapes but the first
WITH_EIGH = (10.0, 1.0)  # eigh is tried only for these penalties and the first shape
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
SAMPLES = 400
TOL, RIDGE = 1e-6, 1e-3
PAPER = {"ridge": 1e-3, "tol": 1e-5, "relative": True}


def run(repeats, *, shapes=SHAPES, libraries=None, with_eigh=True, samples=None, save=None):
    """Make every table, for all installed libraries, and pass them to `save` as they grow.

    If real `samples` ``(n, q, p)`` are given, resampled slices of them are solved first.
    """
    places = [place for place in _places() if libraries is None or place.name in libraries]
    if not places:
        raise SystemExit("no library for arrays on a device is installed: install PyTorch")
    tables = {"": Table("Certified solutions"), "_paper": Table("The authors' iteration")}
    tables["_path"] = Table("A certified path of 25 cells")
    tables["_gram"] = Table("Gram matrices from samples")
    notes = [
        f"seconds: medians of up to {repeats} runs after a first run, until all work on the device "
        "is done; own eigh: one run",
        f"host: {n_cores()} cores of the machine, n_jobs=-1, NumPy, up to 3 runs in 6 s",
        f"slices of smooth random images with noise, {SAMPLES} samples in [0, 1], float64; "
        "resampled: slices of real samples, drawn with replacement, with a little noise",
        "/ eigh, / host: how many times as long these take",
    ]
    for table in tables.values():
        table.notes += notes
    if samples is not None:
        gram = resampled_gram(samples, shapes[0][0])
        for lam, eta in PENALTIES:
            _certified(tables[""], gram, lam, eta, places, repeats, False, "resampled")
        _paths(tables["_path"], gram, places, min(repeats, 3), "resampled")
    for p, q in shapes:
        X = smooth_images(SAMPLES, q, p)
        gram = Moments(_orientation(X)).update(X).gram()
        for lam, eta in PENALTIES if (p, q) == shapes[0] else FEWER_PENALTIES:
            try_eigh = with_eigh and (p, q) == shapes[0] and (lam, eta) == WITH_EIGH
            _certified(tables[""], gram, lam, eta, places, repeats, try_eigh)
            _iteration(tables["_paper"], gram, lam, eta, places, repeats, try_eigh)
        _grams(tables["_gram"], X, places, repeats)
        if save is not None:
            save({suffix: table for suffix, table in tables.items() if table.rows})
    _paths(tables["_path"], gram_of(SAMPLES, shapes[0][1], shapes[0][0]), places, min(repeats, 3))
    return tables


def _certified(table, gram, lam, eta, places, repeats, with_eigh, data="smooth images"):
    problems = SliceProblems(gram, lam, eta, RIDGE)
    host, on_host = _on_host(lambda: solve_exact(_anew(problems), tol=TOL, n_jobs=-1))
    for place in places:
        array = place.asarray(gram.array)

        def solve(array=array):
            there = SliceProblems(GramTensor(array, thin=False), lam, eta, RIDGE)
            return solve_exact_on_device(there, tol=TOL)

        seconds, found = _timed(solve, repeats, place.wait)
        own = _with_eigh(solve, place) if with_eigh else None
        operators = np.asarray(to_numpy(found.operators), float)
        value, lowest = problems.value(operators), np.linalg.eigvalsh(operators)[:, 0]
        scale = np.maximum(np.linalg.norm(operators, 2, axis=(1, 2)), 1e-300)
        # Two independent programs: NumPy computes the values, the host's solver the bounds.
        gap = float(((value - on_host.dual) / value).max())
        row = {
            "data": data,
            **_of(gram, place),
            "lam": lam,
            "eta": eta,
            "device s": seconds,
            "own eigh s": own,
            "host s": host,
            "/ eigh": own and own / seconds,
            "/ host": host / seconds,
            "steps": float(np.mean(to_numpy(found.n_iter))),
            "most steps": int(np.max(to_numpy(found.n_iter))),
            "steps on host": float(np.mean(on_host.n_iter)),
            "certified gap": float(np.max(to_numpy(found.dual_gap))),
            "gap by the host": gap,
            "lowest eigenvalue": float((lowest / scale).min()),
            "column norms off by": _difference(found.norms, on_host.norms),
        }
        _add(table, row)
        if row["certified gap"] > TOL or gap > 2 * TOL or row["lowest eigenvalue"] < -1e-7:
            table.failures.append(f"{row['slices']} at lam={lam}, eta={eta} on {place.name}")


def _iteration(table, gram, lam, eta, places, repeats, with_eigh):
    problems = SliceProblems(gram, lam, eta)
    host, on_host = _on_host(lambda: solve_paper(_anew(problems), n_jobs=-1, **PAPER))
    for place in places:
        array = place.asarray(gram.array)

        def solve(array=array):
            there = SliceProblems(GramTensor(array, thin=False), lam, eta)
            return solve_paper_on_device(there, **PAPER)

        seconds, found = _timed(solve, repeats, place.wait)
        own = _with_eigh(solve, place) if with_eigh else None
        row = {
            **_of(gram, place),
            "lam": lam,
            "eta": eta,
            "device s": seconds,
            "own eigh s": own,
            "host s": host,
            "/ eigh": own and own / seconds,
            "/ host": host / seconds,
            "steps": float(np.mean(to_numpy(found.n_iter))),
            "slices with other steps": int(np.sum(to_numpy(found.n_iter) != on_host.n_iter)),
            "column norms off by": _difference(found.norms, on_host.norms),
        }
        _add(table, row)
        if row["column norms off by"] > 1e-6 and not row["slices with other steps"]:
            table.failures.append(f"{row['slices']} at lam={lam}, eta={eta} on {place.name}")


def _paths(table, gram, places, repeats, data="smooth images"):
    solver = SliceSolver("exact", tol=TOL, max_iter=1000, ridge=RIDGE)
    grid = np.array(GRID)
    host, on_host = _on_host(lambda: executor_for_gram(gram).path(solver, grid, grid, n_jobs=-1))
    for place in places:
        array = place.asarray(gram.array)

        def solve(array=array):
            return executor_for_gram(GramTensor(array, thin=False)).path(solver, grid, grid)

        seconds, found = _timed(solve, repeats, place.wait)
        row = {
            "data": data,
            **_of(gram, place),
            "device s": seconds,
            "host s": host,
            "/ host": host / seconds,
            "steps a cell": float(np.mean(to_numpy(found.n_iter))),
            "on host": float(np.mean(on_host.n_iter)),
            "worst gap": float(np.max(to_numpy(found.dual_gap))),
            "column norms off by": _difference(found.norms, on_host.norms),
        }
        _add(table, row)
        if row["worst gap"] > TOL:
            table.failures.append(f"the path of {row['slices']} on {place.name}")


def _grams(table, X, places, repeats):
    orientation = _orientation(X)
    host, on_host = _on_host(lambda: Moments(orientation).update(X).gram())
    for place in places:
        array = place.asarray(X)

        def measure(array=array):
            return DeviceMoments(orientation).update(array).gram()

        seconds, found = _timed(measure, repeats, place.wait)
        size = np.abs(on_host.dense()).max()
        row = {
            **_of(on_host, place),
            "device s": seconds,
            "host, one thread s": host,
            "/ host": host / seconds,
            "off by": float(np.abs(to_numpy(found.dense()) - on_host.dense()).max() / size),
        }
        _add(table, row)
        if row["off by"] > 1e-12:
            table.failures.append(f"Gram matrices of {row['slices']} on {place.name}")


def smooth_images(n, q, p, seed=0):
    """Make images of q times p pixels in [0, 1]: smooth fields with some noise."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, q, p))
    for sample in X:
        field = gaussian_filter(rng.standard_normal((q, p)), 3)
        sample[...] = field / field.std() + 0.1 * rng.standard_normal((q, p))
    X -= X.min()
    X /= X.max()
    return X


def resampled_gram(X, n_slices):
    """Make Gram matrices of samples drawn with replacement, with a little noise."""
    rng = np.random.default_rng(0)
    X = X / np.abs(X).max()
    parts = []
    while sum(map(len, parts)) < n_slices:
        drawn = X[rng.integers(0, len(X), len(X))]
        drawn = drawn + 0.02 * rng.standard_normal(drawn.shape)
        parts.append(Moments(_orientation(drawn)).update(drawn).gram().dense())
    return GramTensor(np.concatenate(parts)[:n_slices], thin=False)


def gram_of(n, q, p):
    X = smooth_images(n, q, p)
    return Moments(_orientation(X)).update(X).gram()


def _orientation(X):
    _, q, p = X.shape
    return Orientation((q, p), 0, make_transforms("identity", [p]))


class _Place:
    """A library, and the best device it has."""

    def __init__(self, name, device, asarray, wait):
        self.name, self.device, self.asarray, self.wait = name, device, asarray, wait


def _places():
    """Yield PyTorch, CuPy and JAX, as far as they are installed."""
    for name, make in (("torch", _torch), ("cupy", _cupy), ("jax", _jax)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        place = make(module)
        if place is not None:
            yield place


def _torch(torch):
    if not torch.cuda.is_available():
        return _Place("torch", "cpu", torch.asarray, nullcontext)
    name = torch.cuda.get_device_name()
    return _Place("torch", name, lambda x: torch.asarray(x, device="cuda"), torch.cuda.synchronize)


def _cupy(cupy):
    try:
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
    return _Place("cupy", name, cupy.asarray, cupy.cuda.Device().synchronize)


def _jax(jax):
    jax.config.update("jax_enable_x64", True)
    device = jax.devices()[0]
    return _Place("jax", device.device_kind, jax.numpy.asarray, lambda: _settle(jax))


def _settle(jax):
    for array in jax.live_arrays():
        array.block_until_ready()


def _timed(function, repeats, wait=nullcontext, *, warm_up=True, budget=20.0):
    """Return the median seconds of some runs after the first, and the last result."""
    seconds, began = [], time.perf_counter()
    for number in range(repeats + warm_up):
        wait()
        gc.collect()
        start = time.perf_counter()
        result = function()
        wait()
        if number or not warm_up:
            seconds.append(time.perf_counter() - start)
        if seconds and time.perf_counter() - began > budget:
            break
    return float(np.median(seconds)), result


def _anew(problems):
    """Copy the problems without the eigenvectors that an earlier run has cached."""
    return replace(problems, gram=GramTensor(problems.gram.array, problems.gram.thin))


def _on_host(function):
    """Time a function with NumPy, which needs no warm-up because nothing is compiled."""
    return _timed(function, 3, warm_up=False, budget=6.0)


def _with_eigh(function, place):
    """Time the same solver with the library's own eigenvectors instead of products."""
    with _eigenvectors():
        return _timed(function, 1, place.wait, warm_up=False)[0]


@contextmanager
def _eigenvectors():
    """Let solvers use the library's own eigh, and record no steps."""

    def eigh(matrices):
        return namespace_of(matrices).linalg.eigh(matrices)

    def with_values(matrices, change):
        values, vectors = eigh(matrices)
        return (vectors * change(namespace_of(values), values)[:, None, :]) @ adjoint(vectors)

    def psd_part(matrices, accuracy):
        return with_values(matrices, lambda xp, values: xp.clip(values, min=0.0))

    def sign_for(like, accuracy):
        return lambda matrices: with_values(matrices, lambda xp, values: 0.5 * xp.sign(values))

    def as_it_comes(function, key, **_):
        return function

    with (
        mock.patch.object(_paper, "psd_part", psd_part),
        mock.patch.object(_spectrum, "eigh", eigh),
        mock.patch.multiple(_exact, eigh=eigh, sign_for=sign_for, Replayed=as_it_comes),
    ):
        yield


def _of(gram, place):
    return {
        "slices": f"{gram.n_slices} of {gram.size}",
        "library": place.name,
        "device": place.device,
    }


def _difference(found, expected):
    """Return the largest difference, divided by the largest value."""
    return float(np.abs(to_numpy(found) - expected).max() / max(expected.max(), 1e-300))


def _add(table, row):
    table.rows.append(row)
    print(f"  {table.title}:", *(f"{key} {value}," for key, value in row.items()), flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small stacks, to check that it runs")
    parser.add_argument("--repeats", type=int, default=5, help="runs per timing (5)")
    parser.add_argument("--libraries", nargs="+", help="torch, cupy, jax; all by default")
    parser.add_argument("--samples", help=".npy file of samples (n, q, p) to resample")
    parser.add_argument("--no-eigh", action="store_true", help="skip the libraries' own eigh")
    parser.add_argument(
        "--output", default="benchmarks/results", help="folder of the tables (benchmarks/results)"
    )
    options = parser.parse_args(arguments)
    environment = describe_environment()

    def save(tables):
        write_results(options.output, "device", tables, environment)

    tables = run(
        options.repeats,
        shapes=QUICK_SHAPES if options.quick else SHAPES,
        libraries=options.libraries,
        with_eigh=not options.no_eigh,
        samples=None if options.samples is None else np.load(options.samples, allow_pickle=False),
        save=save,
    )
    save(tables)
    for table in tables.values():
        print("\n" + table.markdown(), flush=True)
    return 1 if any(table.failures for table in tables.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
