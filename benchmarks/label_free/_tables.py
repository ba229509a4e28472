"""The tables of the study, one per question."""

import numpy as np

from benchmarks._results import Table
from benchmarks.label_free._contestants import (
    ALL,
    ALL_AUTO,
    DEFAULT,
    PIVOTED,
    RAPID,
    SCORE_FREE,
    VARIANCE,
)
from benchmarks.label_free._outcomes import mean_over_sets, ratio_over_sets
from benchmarks.label_free._subjects import SUBJECTS, load_subject

NAMES = {"acc": "accuracy", "nmi": "NMI"}


def gains(study, metric):
    """Question 1: is a contestant better than random features, and where?"""
    table = Table(f"Gain over random features, points of {NAMES[metric]}")
    for contestant in study.contestants:
        label = contestant.label
        found = study.present(label, metric)
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
                **{name: _gain_cell(study, contestant, by_set, name) for name in study.sets},
            }
        )
    table.rows.sort(key=lambda row: -float(row["mean [95 %]"].split()[0]))
    return table


def against(study, metric):
    """Question 2: is the default better than simpler methods?"""
    rivals = [f"{RAPID}, top", VARIANCE, f"{VARIANCE}, top", f"{VARIANCE}, diverse"]
    rivals += [PIVOTED, SCORE_FREE, ALL]
    table = Table(f"The default less what is simpler, points of {NAMES[metric]}")
    for label in rivals:
        row = _paired(study, metric, DEFAULT, label)
        if row:
            table.rows.append({"default less": label, **row})
    return table


def diversity(study, metric):
    """Question 3: what does diverse selection do for the scores of each selector?"""
    table = Table(f"Diverse less top, points of {NAMES[metric]}")
    labels = {contestant.label for contestant in study.contestants}
    for contestant in study.contestants:
        top, diverse = f"{contestant.name}, top", f"{contestant.name}, diverse"
        if contestant.selection == "top":
            if contestant.name == "STPCA, automatic penalties":
                diverse = DEFAULT
            row = _paired(study, metric, diverse, top) if diverse in labels else None
            if row:
                table.rows.append({"scores of": contestant.name, **row})
    return table


def tuning(study, metric):
    """Question 4: how much of the gain of label-based tuning is reached without labels?"""
    table = Table(f"Without labels, and the best setting by the labels: {NAMES[metric]}")
    ours = {"rapid": f"{RAPID}, top", "default": DEFAULT, "all automatic": ALL_AUTO}
    outcomes = [one for one in study.outcomes[metric].values() if one.tuned]
    for one in outcomes:
        lam, eta, orientation = one.tuned
        row = {"data": one.name, "seen in tuning": SUBJECTS[one.name].tuned}
        row["random"] = _level(one.random)
        for name, label in ours.items():
            row[name] = _level(one.level(label)) if label in one else None
        row["best by labels"] = _level(one.best)
        row["at lam, eta, orientation"] = f"{lam:g}, {eta:g}, {orientation}"
        for name, label in ours.items():
            row[f"recovered, {name}"] = _share(one.recovered(label)) if label in one else None
        table.rows.append(row)
    if outcomes:
        row = dict.fromkeys(table.rows[0], None) | {"data": "all sets"}
        row["random"] = _plain_mean(one.random for one in outcomes)
        row["best by labels"] = _plain_mean(one.best for one in outcomes)
        for name, label in ours.items():
            found = [one for one in outcomes if label in one]
            if not found:
                continue
            if len(found) == len(outcomes):
                row[name] = _plain_mean(one.level(label) for one in found)
            gained = [one.gain(label) for one in found]
            most = [one.best - one.random for one in found]
            row[f"recovered, {name}"] = _share(ratio_over_sets(gained, most))
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
                "samples": len(samples.data),
                "shape": " x ".join(map(str, samples.data.shape[1:])),
                "classes": samples.n_classes,
                "features": f"{samples.n_features} " + ("elements" if mode is None else "channels"),
                "counts": ", ".join(map(str, samples.counts)),
                "seen in tuning": SUBJECTS[name].tuned,
            }
        )
    return table


def seconds(study):
    """Return the time of the fits."""
    table = Table("Processor time of all fits of a contestant, seconds")
    for contestant in study.contestants:
        taken = {name: study.seconds.get((contestant.label, name)) for name in study.sets}
        taken = {name: value for name, value in taken.items() if value is not None}
        if taken:
            longest = max(taken, key=taken.get)
            row = {"contestant": contestant.label, "sets": len(taken)}
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
                        "contestant": contestant.name,
                        "selection": contestant.selection,
                        "data": one.name,
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
            found = study.present(contestant.label, metric)
            if found:
                mean = mean_over_sets([one.gain(contestant.label) for one in found])
                low, high = mean.interval
                row = {"metric": metric, "contestant": contestant.name}
                row |= {"selection": contestant.selection, "sets": len(found)}
                row |= {"gain": mean.value, "low": low, "high": high}
                table.rows.append(row)
    return table


def _paired(study, metric, label, other):
    """Return the difference of two contestants over the sets that have both."""
    found = [one for one in study.present(label, metric) if other in one]
    if not found:
        return None
    differences = {one.name: one.level(label) - one.level(other) for one in found}
    worst = min(differences, key=lambda name: differences[name].value)
    row = {
        "mean [95 %]": _mean(differences.values()),
        "worst set": f"{worst} {differences[worst].value:+.1f}",
        "sets better / worse": _tally(differences.values()),
    }
    for name in study.sets:
        row[name] = _signed(differences[name]) if name in differences else None
    return row


def _gain_cell(study, contestant, by_set, name):
    if name in by_set:
        return _signed(by_set[name])
    return study.absent(contestant, name)


def _mean(estimates):
    mean = mean_over_sets(estimates)
    low, high = mean.interval
    return f"{mean.value:+.1f} [{low:+.1f}, {high:+.1f}]"


def _plain_mean(estimates):
    return f"{np.mean([one.value for one in estimates]):.1f}"


def _tally(estimates):
    signs = [one.sign for one in estimates]
    return f"{signs.count(1)} / {signs.count(-1)} of {len(signs)}"


def _signed(estimate):
    return f"{estimate.value:+.1f} ± {estimate.error:.1f}"


def _level(estimate):
    return f"{estimate.value:.1f} ± {estimate.error:.1f}"


def _share(estimate):
    if estimate is None:
        return None
    low, high = estimate.interval
    return f"{estimate.value:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
