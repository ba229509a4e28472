"""Few sensors, the rest by reconstruction: ours beside PySensors, on held-out samples.

Three questions: the same number of sensors, the same budget, the same least distance. PySensors
gets centred samples, and on every set the best of its settings, chosen on the samples that judge
it. Ours has no settings.
"""

import contextlib
import math
import time
import warnings

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks._data import published
from benchmarks._results import Table
from benchmarks._timing import one_thread
from tensift import ColumnSubsetSelector, Constraints
from tensift.datasets import list_paper, load_digits, make_sea_surface

COUNTS = (5, 10, 20, 50)
SHARE = 0.5  # of the cost of the sensors that are best without a budget
DISTANCE = 3.0  # steps of the grid
SEEDS = (0, 1, 2)  # of the halves
MOST = 1000  # samples; PySensors takes a step for each
NOISES = (None, 1e-3)  # of PySensors' regularised reconstruction; None: its default
MODES = (1, 2)  # modes of the SVD basis, as multiples of the number of sensors
COST_WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1, 3)  # of costs beside norms, for CCQR


def run(repeats):
    del repeats  # errors do not depend on time; the seconds are of single fits
    questions = {"count": _by_count, "budget": _by_budget, "distance": _by_distance}
    tables = {name: Table(f"Held-out error at equal {name}") for name in questions}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in _sets():
            for seed in SEEDS:
                halves = _halves(data, seed)
                for question, answer in questions.items():
                    tables[question].rows += answer(name, seed, *halves, data.shape[1:])
    for table in tables.values():
        table.rows = _means(table.rows)
        table.notes = _notes(table.rows)
    return {
        "": _summary(tables),
        "_count": tables["count"],
        "_budget": tables["budget"],
        "_distance": tables["distance"],
        "_abilities": _abilities(),
    }


def _sets():
    """Yield samples as (n, rows, columns), real: every element is a possible sensor."""
    yield "digits", np.asarray(load_digits().data, float)
    yield "Sea surface", make_sea_surface(random_state=0).data
    for name in list_paper():
        dataset = published(name)
        if dataset is not None and np.ndim(dataset.data) == 3:
            yield name, np.asarray(dataset.data, float)


def _halves(data, seed):
    """Return centred rows to learn from and to judge on, without features that never vary."""
    order = np.random.default_rng(seed).permutation(len(data))[:MOST]
    rows = data.reshape(len(data), -1)[order]
    known, new = rows[::2], rows[1::2]
    mean = known.mean(axis=0)
    return known - mean, new - mean


def _by_count(name, seed, known, new, shape):
    del shape
    for count in COUNTS:
        if count > known.shape[1] // 2:
            continue
        ours = _ours(known, new, count)
        yield _row(name, seed, count, ours, _best_of(known, new, count, _qr_orders(known, count)))


def _by_budget(name, seed, known, new, shape):
    del shape
    costs = np.random.default_rng(100 + seed).uniform(0.1, 1, known.shape[1])
    for count in COUNTS:
        if count > known.shape[1] // 2:
            continue
        first = ColumnSubsetSelector(count).fit(known).get_support(indices=True)
        budget = SHARE * costs[first].sum()
        limits = Constraints(costs=costs, budget=budget)
        ours = _ours(known, new, count, limits)
        assert costs[ours["sensors"]].sum() <= budget * (1 + 1e-9)
        orders = [_affordable(o, costs, budget, count) for o in _ccqr_orders(known, count, costs)]
        yield _row(name, seed, count, ours, _best_of(known, new, count, orders))


def _by_distance(name, seed, known, new, shape):
    places = np.stack(np.unravel_index(np.arange(known.shape[1]), shape), axis=1)
    for count in COUNTS:
        if count * 16 > known.shape[1]:
            continue
        ours = _ours(known, new, count, Constraints(min_distance=DISTANCE, positions=places))
        assert pdist(places[ours["sensors"]]).min() >= DISTANCE
        rival = _best_of(known, new, count, _gqr_orders(known, count, shape))
        row = _row(name, seed, count, ours, rival)
        row["PySensors too near"] = int((pdist(places[rival["sensors"]]) < DISTANCE).sum())
        yield row


def _ours(known, new, count, constraints=None):
    started = time.perf_counter()
    selector = ColumnSubsetSelector(count, constraints=constraints).fit(known)
    seconds = time.perf_counter() - started
    estimate = selector.reconstruct(selector.transform(new))
    sensors = selector.get_support(indices=True)
    return {"error": _error(new, estimate), "seconds": seconds, "sensors": sensors}


def _best_of(known, new, count, orders):
    """Return the best that PySensors reaches: over placements, bases and regularisations."""
    best = {"error": math.inf}
    for seconds, sensors in orders:
        for estimate in _reconstructions(known, new[:, sensors], sensors, count):
            error = _error(new, estimate)
            if error < best["error"]:
                best = {"error": error, "seconds": seconds, "sensors": np.asarray(sensors)}
    return best


def _bases(known, count):
    from pysensors.basis import SVD, Identity

    most = min(known.shape) - 1
    for factor in MODES:
        yield SVD(n_basis_modes=min(factor * count, most), random_state=0)
    yield Identity(n_basis_modes=len(known))


def _reconstructions(known, values, sensors, count):
    """Yield what SSPOR predicts from given sensors, with each basis and regularisation."""
    from pysensors import SSPOR
    from pysensors.optimizers import QR

    for basis in _bases(known, count):
        model = SSPOR(basis=basis, optimizer=QR(), n_sensors=len(sensors))
        model.fit(known, quiet=True, seed=0)
        model.ranked_sensors_ = np.asarray(sensors)
        for options in ({"method": "unregularized"}, *({"noise": noise} for noise in NOISES)):
            with contextlib.suppress(np.linalg.LinAlgError):  # places that the modes cannot tell
                yield model.predict(values, **options)


def _placed(known, count, optimizer_of, bases=None, options_of=None):
    """Yield the seconds of a fit and the order of all places, for every basis and setting."""
    from pysensors import SSPOR

    for basis in bases or _bases(known, count):
        scale = np.linalg.norm(basis.fit(known).matrix_representation(), axis=1).max()
        for optimizer in optimizer_of(scale):
            started = time.perf_counter()
            model = SSPOR(basis=basis, optimizer=optimizer, n_sensors=count)
            options = {} if options_of is None else options_of(basis)
            model.fit(known, quiet=True, seed=0, **options)
            yield time.perf_counter() - started, model.get_all_sensors()


def _qr_orders(known, count):
    from pysensors.optimizers import QR

    for seconds, order in _placed(known, count, lambda scale: [QR()]):
        yield seconds, order[:count]


def _ccqr_orders(known, count, costs):
    from pysensors.optimizers import CCQR

    # CCQR subtracts costs from norms, so that their scale decides: several are tried. It takes a
    # step for each mode in Python, so the basis of all samples is left out.
    def optimizers(scale):
        return [CCQR(sensor_costs=weight * scale * costs) for weight in COST_WEIGHTS]

    return _placed(known, count, optimizers, list(_bases(known, count))[:-1])


def _gqr_orders(known, count, shape, distance=DISTANCE):
    from pysensors.optimizers import GQR, QR

    def options(basis):  # GQR wants to be told the order without constraints
        (_, plain), *_ = _placed(known, known.shape[1], lambda scale: [QR()], [basis])
        return {
            "constraint_option": "distance", "info": known, "r": distance, "nx": shape[0],
            "ny": shape[1], "all_sensors": plain, "n_sensors": count,
        }  # fmt: skip

    for seconds, order in _placed(known, count, lambda scale: [GQR()], None, options):
        yield seconds, order[:count]


def _affordable(placed, costs, budget, count):
    """Return the first sensors of an order, without those that no longer fit the budget."""
    seconds, order = placed
    kept, spent = [], 0.0
    for sensor in order:
        if len(kept) < count and spent + costs[sensor] <= budget:
            kept.append(sensor)
            spent += costs[sensor]
    return seconds, kept


def _error(new, estimate):
    """The share of the energy of held-out samples that is missed, as a root."""
    return float(np.linalg.norm(new - estimate) / np.linalg.norm(new))


def _row(name, seed, count, ours, rival):
    return {
        "data": name,
        "seed": seed,
        "sensors": count,
        "ours": ours["error"],
        "PySensors": rival["error"],
        "ours (s)": ours["seconds"],
        "PySensors (s)": rival.get("seconds", math.nan),
    }


def _means(rows):
    """Return one row for each set and number of sensors: the means over the halves."""
    groups = {}
    for row in rows:
        groups.setdefault((row["data"], row["sensors"]), []).append(row)
    found = []
    for (name, count), group in groups.items():
        row = {"data": name, "sensors": count}
        for key in group[0]:
            if key not in ("data", "seed", "sensors"):
                row[key] = float(np.mean([one[key] for one in group]))
        row["ours / PySensors"] = row["ours"] / row["PySensors"]
        found.append(row)
    return found


def _notes(rows):
    lower = sum(row["ours"] <= row["PySensors"] for row in rows)
    return [
        f"ours is lower or equal in {lower} of {len(rows)} rows",
        "error: root of the share of the energy of held-out samples that is missed (about the "
        f"mean of the others); means over {len(SEEDS)} random halves of at most {MOST} samples",
        "PySensors: the best, by the error on the same held-out samples, of SVD bases with as "
        "many modes as sensors and twice as many and (but for CCQR) the basis of all samples, "
        "each reconstructed without regularisation, with its default and with noise 1e-3",
        "seconds: one fit, of the best setting for PySensors",
    ]


def _summary(tables):
    table = Table("How often our held-out error is lower than that of PySensors, or equal")
    for name, one in tables.items():
        ratios = [row["ours / PySensors"] for row in one.rows]
        table.rows.append(
            {
                "at equal": name,
                "lower or equal": f"{sum(r <= 1 for r in ratios)} of {len(ratios)}",
                "median of ours / PySensors": float(np.median(ratios)),
                "worst": max(ratios),
                "our seconds / theirs, median": float(
                    np.median([row["ours (s)"] / row["PySensors (s)"] for row in one.rows])
                ),
            }
        )
    return table


def _abilities():
    """What each can do on twelve samples of a 10 x 10 grid; every entry is tried."""
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(12, 6)) @ rng.normal(size=(6, 100)) + rng.normal(size=(12, 100)) / 10
    samples -= samples.mean(axis=0)
    places = np.stack(np.unravel_index(np.arange(100), (10, 10)), axis=1)
    costs = rng.uniform(0.1, 1, 100)

    def ours(count=20, data=samples, **limits):
        selector = ColumnSubsetSelector(count, constraints=Constraints(**limits)).fit(data)
        return selector, selector.get_support(indices=True)

    def placed(optimizer, data=samples, **options):
        from pysensors import SSPOR

        return SSPOR(optimizer=optimizer, n_sensors=20).fit(data, quiet=True, seed=0, **options)

    def near(sensors):
        pairs = int((pdist(places[sensors]) < 2).sum())
        return f"no: {pairs} pairs too near" if pairs else "yes"

    def theirs_apart():
        (_, found), *_ = _gqr_orders(samples, 20, (10, 10), distance=2.0)
        return near(found)

    def theirs_cheap():
        from pysensors.optimizers import CCQR

        found = placed(CCQR(sensor_costs=costs)).get_selected_sensors()
        return "yes" if costs[found].sum() <= 5 else f"no: they cost {costs[found].sum():.1f} of 5"

    def theirs_of(data):
        from pysensors.optimizers import QR

        placed(QR(), data)
        return "yes"

    waves = samples + 1j * samples[::-1]
    both = {"costs": costs, "budget": 5, "min_distance": 2, "positions": places}
    trials = {
        "20 sensors two steps apart, from 12 samples": (
            lambda: near(ours(min_distance=2, positions=places)[1]), theirs_apart,
        ),
        "20 sensors that cost no more than 5": (
            lambda: "yes" if costs[ours(costs=costs, budget=5)[1]].sum() <= 5 else "no",
            theirs_cheap,
        ),
        "a budget and a distance together": (
            lambda: near(ours(**both)[1]), lambda: "no: one optimiser takes one of them",
        ),
        "tensors": (
            lambda: "yes" * bool(ours(data=samples.reshape(12, 10, 10))),
            lambda: theirs_of(samples.reshape(12, 10, 10)),
        ),
        "complex samples": (
            lambda: "yes" * bool(ours(data=waves.reshape(12, 10, 10))), lambda: theirs_of(waves),
        ),
    }  # fmt: skip
    table = Table("What each can do, tried in this run")
    for name, (us, them) in trials.items():
        table.rows.append({"": name, "ours": _tried(us), "PySensors": _tried(them)})
    table.notes = [
        "only PySensors: sensors for a classification (SSPOC), regions given as shapes, the "
        "interaction of pairs of sensors; ours takes regions as masks",
    ]
    return table


def _tried(trial):
    try:
        return trial()
    except (ValueError, TypeError) as error:
        return f"no: {str(error).splitlines()[0][:80]}"
