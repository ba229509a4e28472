"""TensorPCA against TCAM of mprod-package and TPCA of tred: same answer, time, abilities."""

import os
from importlib import metadata

import numpy as np
import scipy.fft
from threadpoolctl import threadpool_limits

from benchmarks._abilities import adapters, try_all
from benchmarks._data import load, published, read_only, smooth_field
from benchmarks._environment import n_cores
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift.datasets import load_digits

COMPONENTS = 50
ANGLE = 1e-8
GOAL = 2.0
RIVALS = ("mprod-package", "tred")
STEPS = ("fit", "fit_transform", "transform")
GROWTH = {"samples": "n x 32 x 32", "features per slice": "500 x q x 32", "slices": "500 x 32 x p"}


def run(repeats):
    """Compare them with a DCT, centred data, and the 50 largest components of all slices."""
    contestants = {adapter.name: adapter.make for adapter in adapters()}
    busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > n_cores() / 2
    agreement = Table(f"The same decomposition: DCT, centred, {COMPONENTS} components")
    times = Table("Time")
    for name, X, source in _sets():
        with one_thread():
            agreement.rows += _agreement(name, source, X, contestants)
        for threads in (1,) if busy else dict.fromkeys([1, n_cores()]):
            times.rows += _time(name, X, contestants, threads, repeats)
    for row in agreement.rows:
        print(" ", *(f"{key} {value}" for key, value in row.items()), flush=True)
        if row["largest angle"] > ANGLE:
            agreement.failures.append(
                f"{row['data']}: {row['beside']} spans another space: {row['largest angle']:.1e}"
            )
    agreement.notes = [
        f"largest angle: sine of the largest principal angle between the spans of the {COMPONENTS} "
        f"components as tensors; it should be at most {ANGLE:g}",
        "singular values: largest relative difference of these components; all singular values: "
        "largest difference of all components, divided by the largest value",
        "the slice of a component of tred is read from a private attribute; TCAM's components "
        "are its inverse_transform of unit vectors",
    ]
    times.notes = [*_goal_notes(times.rows), "ratio: rival's median divided by ours, in one run"]
    if busy:
        times.notes.append(
            "this machine was busy, so several BLAS threads were not timed: they wait for each "
            "other, and the times mean nothing"
        )
    tables = {"": agreement, "_times": times, "_growth": _growth(contestants, repeats)}
    abilities = Table("What each can do, tried in this run", try_all())
    abilities.notes = [
        "norms and singular values are compared with an explicit loop over slices",
        "TCAM drops one component, so its inverse is not exact",
        "the estimator checks use 2-D rows, which TCAM and TPCA do not accept",
    ]
    agreement.notes.append("; ".join(f"{name}: {_version(name)}" for name in RIVALS))
    return {**tables, "_abilities": abilities}


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _sets():
    rng = np.random.default_rng(0)
    yield "random", read_only(rng.normal(size=(500, 64, 64))), "generated"
    yield "smooth", read_only(smooth_field((500, 64, 64))), "generated"
    yield "digits", read_only(np.array(load_digits().data, dtype=float)), "bundled"
    for name in ("JAFFE", "PIE", "USPS"):
        if published(name) is not None:
            yield name, *load(name)


def _agreement(name, source, X, contestants):
    """Return how far the components and singular values of every rival are from ours."""
    few = {key: make(COMPONENTS).fit(X) for key, make in contestants.items()}
    values = {key: np.linalg.norm(model.transform(X), axis=0) for key, model in few.items()}
    everything = {key: _norms_of_all(make, X) for key, make in contestants.items()}
    ours, *rivals = contestants
    basis = few[ours].components_.reshape(COMPONENTS, -1)
    rows = []
    for rival in rivals:
        other = _components(few[rival], X.shape[1:])
        count = min(len(everything[ours]), len(everything[rival]))
        apart = np.abs(everything[ours][:count] - everything[rival][:count])
        rows.append(
            {
                "data": name,
                "source": source,
                "shape": " x ".join(map(str, X.shape)),
                "beside": rival,
                "largest angle": float(np.linalg.norm(other - (other @ basis.T) @ basis, 2)),
                "singular values": float(np.max(np.abs(values[rival] / values[ours] - 1))),
                "all singular values": float(apart.max() / everything[ours][0]),
                "components": f"{len(everything[ours])} and {len(everything[rival])}",
            }
        )
    return rows


def _norms_of_all(make, X):
    return np.sort(np.linalg.norm(make().fit(X).transform(X), axis=0))[::-1]


def _components(model, shape):
    """Return the orthonormal components `(K, d)` of a fitted rival, in the original domain."""
    if hasattr(model, "inverse_transform"):
        units = np.eye(COMPONENTS)
        return (model.inverse_transform(units) - model.inverse_transform(0 * units)).reshape(
            COMPONENTS, -1
        )
    components = np.zeros((COMPONENTS, *shape))
    components[np.arange(COMPONENTS), :, model._k_t_flatten_sort[1]] = model.loadings_matrix_
    return scipy.fft.idct(components, axis=-1, norm="ortho").reshape(COMPONENTS, -1)


def _time(name, X, contestants, threads, repeats):
    """Return one row per step: medians, and the ratios to ours."""
    fitted = {key: make(COMPONENTS).fit(X) for key, make in contestants.items()}
    calls = {
        "fit": {k: lambda make=make: make(COMPONENTS).fit(X) for k, make in contestants.items()},
        "fit_transform": {
            k: lambda make=make: make(COMPONENTS).fit_transform(X)
            for k, make in contestants.items()
        },
        "transform": {k: lambda model=model: model.transform(X) for k, model in fitted.items()},
    }
    ours, *rivals = contestants
    rows = []
    for step in STEPS:
        with threadpool_limits(limits=threads):
            timings = interleave(calls[step], repeats, budget=3.0)
        row = {"data": name, "BLAS threads": threads, "step": step}
        row[f"{ours} ms"] = 1e3 * timings.median(ours)
        for rival in rivals:
            ratio, low, high = timings.ratio(rival, ours)
            row[f"{rival} ms"] = 1e3 * timings.median(rival)
            row[f"{rival} ratio"] = ratio
            row[f"{rival} range"] = f"{low:.2g} to {high:.2g}"
        row["rounds"] = timings.rounds
        print(" ", *(f"{key} {value}" for key, value in row.items()), flush=True)
        rows.append(row)
    return rows


def _goal_notes(rows):
    """Say whether every rival takes at least twice our time on 500 x 64 x 64."""
    notes = []
    for step in STEPS:
        for threads in dict.fromkeys(row["BLAS threads"] for row in rows):
            ratios = [
                value
                for row in rows
                if row["step"] == step
                and row["BLAS threads"] == threads
                and row["data"] in ("random", "smooth")
                for key, value in row.items()
                if key.endswith(" ratio")
            ]
            if ratios:
                met = "met" if min(ratios) >= GOAL else "not met"
                notes.append(
                    f"{step}, 500 x 64 x 64, {threads} threads: {min(ratios):.2g} to "
                    f"{max(ratios):.2g} times faster; goal {GOAL:g}: {met}"
                )
    return notes


def _growth(contestants, repeats):
    """Time `fit` as one size grows, and fit the exponents."""
    table = Table("Growth of fit, one BLAS thread")
    rng = np.random.default_rng(0)
    for place, (what, shape) in enumerate(GROWTH.items()):
        sizes = (250, 500, 1000, 2000) if place == 0 else (16, 32, 64, 128)
        medians = {key: [] for key in contestants}
        for size in sizes:
            dimensions = [500, 32, 32]
            dimensions[place] = size
            X = read_only(rng.normal(size=dimensions))
            calls = {
                k: lambda make=make, X=X: make(COMPONENTS).fit(X) for k, make in contestants.items()
            }
            with one_thread():
                timings = interleave(calls, repeats, budget=3.0)
            for key in contestants:
                medians[key].append(1e3 * timings.median(key))
        for key, values in medians.items():
            slope = float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
            table.rows.append(
                {
                    "grows": f"{what} ({shape})",
                    "who": key,
                    "from": sizes[0],
                    "to": sizes[-1],
                    "ms": ", ".join(f"{value:.3g}" for value in values),
                    "exponent": slope,
                }
            )
    return table
