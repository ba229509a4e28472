"""Does the suggested number of features recognise data whose structure is known?"""

import numpy as np

from benchmarks._results import Table
from tensift import GeometrySelector

SAMPLES, FEATURES, CARRIERS, DRAWS = 200, 100, 12, 20
KINDS = {
    "noise": "no structure",
    "one strong factor": f"{FEATURES} features that follow one number",
    "three groups": f"{CARRIERS} features that carry them",
}
NOTES = [
    f"{DRAWS} draws of {SAMPLES} samples of {FEATURES} features, noise of deviation 1. One strong "
    "factor: a normal number times a normal loading of deviation 2 for every feature. Three "
    f"groups: their means have deviation 3 on {CARRIERS} features and are equal on all others",
]


def planted():
    """Return a table: how many features are kept, and whether they are the right ones."""
    table = Table("The suggested number where the structure is known", notes=NOTES)
    for kind, truth in KINDS.items():
        found = [_suggested(kind, seed) for seed in range(DRAWS)]
        counts = [count for count, _, _ in found]
        table.rows.append(
            {
                "data": kind,
                "truth": truth,
                "said: no structure": f"{sum(nothing for _, nothing, _ in found)} of {DRAWS}",
                "features kept": f"{min(counts)} to {max(counts)}, median {np.median(counts):g}",
                "kept features that carry structure": _share(kind, found),
            }
        )
    return table


def make(kind, seed):
    """Return samples and the features that carry their structure."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    noise = rng.normal(size=(SAMPLES, FEATURES))
    if kind == "noise":
        return noise, []
    if kind == "one strong factor":
        loadings = 2 * rng.normal(size=FEATURES)
        return noise + np.outer(rng.normal(size=SAMPLES), loadings), range(FEATURES)
    carriers = rng.permutation(FEATURES)[:CARRIERS]
    noise[:, carriers] += 3 * rng.normal(size=(3, CARRIERS))[rng.integers(0, 3, SAMPLES)]
    return noise, carriers


def _suggested(kind, seed):
    """Return the count, whether no structure was found, and how many of the kept are right."""
    samples, carriers = make(kind, seed)
    fitted = GeometrySelector("auto").fit(samples)
    kept = np.flatnonzero(fitted.get_support())
    nothing = fitted.suggested_count_.n_structured == 0
    return fitted.n_features_, nothing, int(np.isin(kept, carriers).sum())


def _share(kind, found):
    if kind == "noise":
        return None
    return f"{sum(right for *_, right in found) / sum(count for count, *_ in found):.0%}"
