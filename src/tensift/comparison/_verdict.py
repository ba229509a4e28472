"""What a comparison shows, in sentences: who is first, in what, and what is no better than chance.

Neighbours kept and their agreement decide together. One measure alone would favour the method that
optimises it: column subsets miss the least variance, whatever samples look like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensift.comparison._methods import RANDOM, VARIANCE
from tensift.comparison._tasks import LIKENESS
from tensift.metrics import mean_ranks

if TYPE_CHECKING:
    from tensift.comparison._result import SelectorComparison

__all__ = ["conclusions_of", "ranks_of", "with_spread"]

_NAMED = 3  # methods; more are counted, not named
_CLEARLY = 0.9  # a method is clearly better if it is ahead in this share of the comparisons


def ranks_of(found: SelectorComparison) -> dict[str, float]:
    """Return the mean rank of every method by the measures that decide; 1 is first in all.

    Methods that failed, and those that keep all features, have none.
    """
    names = [name for name, kept in found.features.items() if len(kept) < found.n_features]
    values = {name: [found.mean(measure, name) for measure in LIKENESS] for name in names}
    ranked = [name for name in names if not any(map(math.isnan, values[name]))]
    if not ranked:
        return {}
    ranks = mean_ranks(*zip(*(values[name] for name in ranked), strict=True))
    return dict(zip(ranked, ranks.tolist(), strict=True))


def conclusions_of(found: SelectorComparison) -> list[str]:
    """Return what the measures without labels show."""
    ranks = ranks_of(found)
    if not ranks:
        return []
    return [_who_is_first(found, ranks), *_beside_baselines(found, list(ranks))]


def _who_is_first(found: SelectorComparison, ranks: dict[str, float]) -> str:
    def total(name: str) -> float:
        return sum(found.mean(measure, name) for measure in LIKENESS)

    # Two methods that are each first in one measure have equal ranks; larger values decide.
    best = min(ranks, key=lambda name: (ranks[name], -total(name)))
    first_in: dict[str, list[str]] = {best: []}
    for name, words in _firsts(found, list(ranks)):
        first_in.setdefault(name, []).append(words)
    text = f"By neighbours kept and their agreement together, {best} is first"
    close = [name for name in ranks if found.share_better(best, name) < _CLEARLY]
    if close:
        shown = close if len(close) <= _NAMED else [f"{len(close)} others"]
        text += f" but not clearly ahead of {_listed(shown)}"
    if first_in[best]:
        text += f": it {_listed(first_in.pop(best))}"
    else:
        del first_in[best]
    return "; ".join([text, *(f"{name} {_listed(own)}" for name, own in first_in.items())]) + "."


def _firsts(found: SelectorComparison, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return who is first in each measure, in words with its value."""
    firsts = []
    for measure, words, sign in (
        ("neighbours_kept", "keeps the most neighbours", 1),
        ("neighbour_agreement", "has the features on which neighbours agree most", 1),
        ("reconstruction_error", "misses the least variance", -1),
    ):
        name = _largest({name: sign * found.mean(measure, name) for name in names})
        if name is not None:
            value = with_spread(found.mean(measure, name), found.stds[measure].get(name))
            firsts.append((name, f"{words} ({value})"))
    stability = {name: found.stability[name].value for name in names}
    name = _largest(stability)
    if name is not None:
        firsts.append((name, f"is the most stable ({stability[name]:.2f})"))
    return firsts


def _largest(values: dict[str, float]) -> str | None:
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return max(known, key=known.__getitem__) if known else None


def _beside_baselines(found: SelectorComparison, names: Sequence[str]) -> list[str]:
    said = []
    others = [name for name in names if name not in (VARIANCE, RANDOM)]
    if others and not any(found.share_better(m, VARIANCE) >= _CLEARLY for m in others):
        said.append("No method is clearly better than variance selection by these two measures.")
    shares = {name: found.share_better(name) for name in names if name != RANDOM}
    poor = [name for name, share in shares.items() if share < _CLEARLY]
    if poor:
        said.append(
            "Not clearly better than random selection by these two measures (ahead in fewer than "
            f"{_CLEARLY:.0%} of the comparisons on half-samples): {', '.join(poor)}."
        )
    elif shares:
        said.append("All methods are clearly better than random selection by these two measures.")
    return said


def _listed(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def with_spread(value: float | None, std: float | None) -> str:
    """Return a value with its standard deviation as text."""
    if value is None:
        return "–"
    digits = 3 if abs(value) < 10 else 1
    spread = "" if std is None or math.isnan(std) else f" ± {std:.{digits}f}"
    return f"{value:.{digits}f}{spread}"
