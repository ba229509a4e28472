"""The tables of the study, one per question."""

from importlib.metadata import version

import numpy as np

from benchmarks._results import Table
from benchmarks.label_free._contestants import DEFAULT, GEOMETRY
from benchmarks.label_free._outcomes import mean_over_sets
from benchmarks.label_free._subjects import (
    AT_HAND,
    DISTURBED,
    IMAGES,
    PACKAGED,
    SIGNALS,
    SUBJECTS,
    load_subject,
)

NAMES = {
    "acc": "accuracy",
    "nmi": "NMI",
    "nearest": "1-NN accuracy",
    "linear": "linear accuracy",
    "r2": "held-out R²",
}


def headline(study):
    """Who gains most over random features: at hand, on packaged sets, on disturbed ones?"""
    table = Table("Gain over random features, points of k-means accuracy")
    groups = {
        "at hand [95 %]": study.of(AT_HAND),
        "images": study.of(AT_HAND, IMAGES),
        "signals": study.of(AT_HAND, SIGNALS),
        "worst at hand": study.of(AT_HAND),
        "packaged, not tuned on [95 %]": study.of(PACKAGED),
        "worst packaged": study.of(PACKAGED),
        "disturbed [95 %]": study.of(DISTURBED),
    }
    rows = []
    for contestant in study.contestants:
        row = {"contestant": contestant.label}
        for column, sets in groups.items():
            found = study.present(contestant.label, "acc", sets)
            row[column] = _summary(column, found, len(sets), contestant.label)
        gained = [
            one.gain(contestant.label).value for one in study.present(contestant.label, "acc")
        ]
        rows.append((np.mean(gained) if gained else -np.inf, row))
    table.rows = [row for _, row in sorted(rows, key=lambda one: -one[0])]
    return table


def _summary(column, found, wanted, label):
    """Return a cell of the headline; it says of how many sets, if some are missing."""
    if not found:
        return None
    gains = {one.name: one.gain(label) for one in found}
    if column.startswith("worst"):
        worst = min(gains, key=lambda name: gains[name].value)
        return f"{worst} {gains[worst].value:+.1f}"
    text = _mean(gains.values()) if "95" in column else f"{_mean_value(gains.values()):+.1f}"
    return text if len(found) == wanted else f"{text} ({len(found)} of {wanted})"


def gains(study, metric, sets):
    """Is a contestant better than random features, and where?"""
    table = Table(f"Gain over random features, points of {NAMES[metric]}")
    for contestant in study.contestants:
        label = contestant.label
        found = study.present(label, metric, sets)
        if not found:
            continue
        by_set = {one.name: one.gain(label) for one in found}
        worst = min(by_set, key=lambda name: by_set[name].value)
        table.rows.append(
            {
                "contestant": label,
                "mean [95 %]": _mean(by_set.values()),
                "worst set": f"{worst} {by_set[worst].value:+.1f}",
                "sets better / worse": _tally(by_set.values()),
                **{name: _gain_cell(study, contestant, by_set, name) for name in sets},
            }
        )
    table.rows.sort(key=lambda row: -float(row["mean [95 %]"].split()[0]))
    return table


def measures(study, sets):
    """What is each contestant good at: means over the sets that it has."""
    table = Table("Gain over random features in points, and the time of a fit")
    for contestant in study.contestants:
        label = contestant.label
        row = {"contestant": label}
        for metric, name in NAMES.items():
            found = study.present(label, metric, sets)
            row[name] = _mean([one.gain(label) for one in found]) if found else None
        taken = [study.seconds[label, name] for name in sets if (label, name) in study.seconds]
        row["sets"] = f"{len(taken)} of {len(sets)}"
        row["seconds, median"] = f"{np.median(taken):.2f}" if taken else None
        row["seconds, longest"] = f"{max(taken):.2f}" if taken else None
        if taken:
            table.rows.append(row)
    table.rows.sort(key=lambda row: -float(row["accuracy"].split()[0]))
    return table


def against(study, metric, sets):
    """Are our two selectors better than every other contestant, on the same sets?"""
    table = Table(f"Ours less another contestant, points of {NAMES[metric]}")
    for contestant in study.contestants:
        row = {"less": contestant.label}
        for ours in (GEOMETRY, DEFAULT):
            found = _paired(study, metric, ours, contestant.label, sets)
            row[f"{ours} [95 %]"] = found and _mean(found.values())
            row[f"{ours}, sets better / worse"] = found and _tally(found.values())
        if contestant.label not in (GEOMETRY, DEFAULT):
            table.rows.append(row)
    return table


def sets(study):
    """Describe the sets."""
    table = Table("The sets")
    for name in study.sets:
        samples, _ = load_subject(name)
        mode = samples.feature_mode
        table.rows.append(
            {
                "data": name,
                "sets": SUBJECTS[name].origin,
                "kind": SUBJECTS[name].kind,
                "samples": len(samples.data),
                "shape": " x ".join(map(str, samples.data.shape[1:])),
                "classes": samples.n_classes,
                "features": f"{samples.n_features} " + ("elements" if mode is None else "channels"),
                "counts": ", ".join(map(str, samples.counts)),
                "from": _package(SUBJECTS[name]),
            }
        )
    return table


def seconds(study):
    """Return the time of the fits."""
    table = Table("Processor time of one fit for the largest count, seconds")
    for contestant in study.contestants:
        taken = {name: study.seconds.get((contestant.label, name)) for name in study.sets}
        taken = {name: value for name, value in taken.items() if value is not None}
        if taken:
            longest = max(taken, key=taken.get)
            row = {"contestant": contestant.label, "sets": len(taken)}
            row |= {"median": f"{np.median(list(taken.values())):.2f}"}
            row |= {"all sets": f"{sum(taken.values()):.1f}"}
            row |= {"longest": f"{longest} {taken[longest]:.1f}"}
            table.rows.append(row)
    return table


def every_value(study):
    """Return levels and gains as numbers, for the figure and for further computations."""
    table = Table("Every contestant on every set", csv_only=True)
    for metric, outcomes in study.outcomes.items():
        for contestant in study.contestants:
            for one in outcomes.values():
                if contestant.label not in one:
                    continue
                gain = one.gain(contestant.label)
                table.rows.append(
                    {
                        "metric": metric,
                        "contestant": contestant.label,
                        "data": one.name,
                        "sets": SUBJECTS[one.name].origin,
                        "kind": SUBJECTS[one.name].kind,
                        "level": one.level(contestant.label).value,
                        "random": one.random.value,
                        "gain": gain.value,
                        "gain ± seeds and draws": gain.error,
                        "seconds": study.seconds.get((contestant.label, one.name)),
                        **study.measures[contestant.label, one.name],
                    }
                )
    return table


def means(study):
    """Return means over the sets as numbers."""
    table = Table("Every contestant's mean", csv_only=True)
    for metric in study.outcomes:
        for contestant in study.contestants:
            for origin in (AT_HAND, PACKAGED, DISTURBED):
                found = study.present(contestant.label, metric, study.of(origin))
                if not found:
                    continue
                mean = mean_over_sets([one.gain(contestant.label) for one in found])
                low, high = mean.interval
                row = {"metric": metric, "contestant": contestant.label, "sets": origin}
                row |= {"number": len(found), "gain": mean.value, "low": low, "high": high}
                table.rows.append(row)
    return table


def _package(subject):
    """Name the package that ships a set, with its version."""
    return f"{subject.package} {version(subject.package)}" if subject.package else None


def _paired(study, metric, label, other, sets):
    """Return the differences of two contestants on the sets that have both, or None."""
    found = [one for one in study.present(label, metric, sets) if other in one]
    return {one.name: one.level(label) - one.level(other) for one in found} or None


def _gain_cell(study, contestant, by_set, name):
    if name in by_set:
        return _signed(by_set[name])
    return study.absent(contestant, name)


def _mean(estimates):
    mean = mean_over_sets(estimates)
    low, high = mean.interval
    return f"{mean.value:+.1f} [{low:+.1f}, {high:+.1f}]"


def _mean_value(estimates):
    return float(np.mean([one.value for one in estimates]))


def _tally(estimates):
    signs = [one.sign for one in estimates]
    return f"{signs.count(1)} / {signs.count(-1)} of {len(signs)}"


def _signed(estimate):
    return f"{estimate.value:+.1f} ± {estimate.error:.1f}"
