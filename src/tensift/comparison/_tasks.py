"""The single computations of a comparison; the result of each is stored separately."""

from __future__ import annotations

import hashlib
import json
import time
import tracemalloc
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from tensift._version import __version__
from tensift.comparison._limit import OverLimit, time_limit
from tensift.comparison._methods import Method
from tensift.labels import Labelled, Names
from tensift.metrics import Judge, Reconstruction, evaluate_selection, redundancy
from tensift.selection import TensorSelector, held_constraints
from tensift.sources import SampleWeights, kept_samples, takes_weights

__all__ = [
    "LABELLED",
    "LIKENESS",
    "Fit",
    "HalfSample",
    "Judgement",
    "LikenessOfHalf",
    "Memory",
    "Samples",
    "Task",
]

Result = dict[str, Any]
LABELLED = ("acc", "nmi", "silhouette", "poc")
LIKENESS = ("neighbours_kept", "neighbour_agreement")  # the measures that decide the verdict


@dataclass(frozen=True, eq=False)
class Samples:
    """The data, the feature mode, the labels, which only `Judgement` reads, and the names.

    Samples may have weights. If these have groups, whole groups are held out.
    """

    data: np.ndarray
    feature_mode: int | None
    labels: np.ndarray | None = None
    weights: SampleWeights | None = None
    names: Names | None = None

    def compute(self, task: Task) -> Result:
        """Compute one task; `run_cells` calls this, also in other processes."""
        return task.compute(self)

    def named(self, data: np.ndarray) -> Any:
        """Return some of the samples as estimators take them: with the names, if there are any."""
        return data if self.names is None else Labelled(data, self.names)

    def checksum(self) -> str:
        """Return a checksum of what a fit depends on, which excludes the labels."""
        digest = hashlib.sha256(f"{self.data.dtype.str} {self.data.shape}".encode())
        for sample in self.data:
            digest.update(sample.tobytes())
        if self.weights is not None:
            digest.update(self.weights.values.tobytes())
            if self.weights.groups is not None:
                digest.update(self.weights.groups.tobytes())
        if self.names is not None:  # constraints and modes may be given by name
            digest.update(repr(self.names.to_texts()).encode())
        return f"{digest.hexdigest()} {self.feature_mode}"

    def halves(self, shuffle: int, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples to select on and those to judge on."""
        if self.weights is None or self.weights.groups is None:
            return _halves(len(self.data), shuffle, place)
        codes = self.weights.groups
        names = np.unique(codes)
        learning, _ = _halves(len(names), shuffle, place)
        chosen = np.isin(codes, names[learning])
        return np.flatnonzero(chosen), np.flatnonzero(~chosen)

    def weights_of(self, which: np.ndarray | slice) -> np.ndarray | None:
        """Return the weights of some samples; None if samples count alike."""
        return None if self.weights is None else self.weights.values[which]


class Task(Protocol):
    """A cell of `run_cells` that gets the samples when it is computed."""

    @property
    def key(self) -> str: ...

    @property
    def group(self) -> object: ...

    def compute(self, samples: Samples) -> Result: ...


@dataclass(frozen=True)
class _Fitting(ABC):
    """A fit of a method with a seed. A failure is stored as a result too."""

    method: Method
    checksum: str
    seed: int
    limit: float | None
    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """Everything that the result depends on."""
        settings = [*self.method.identity, *self._settings()]
        return json.dumps([self.kind, __version__, self.checksum, *settings])

    def _settings(self) -> list[Any]:
        return [self.seed, self.limit]

    @property
    def group(self) -> object:
        """Tasks of one group take similar time."""
        return self.method.name, self.kind

    def compute(self, samples: Samples) -> Result:
        """Return the result, or why there is none."""
        try:
            return self._compute(samples)
        except OverLimit:
            return {"error": f"stopped after {self.limit:g} s (fit_limit)"}
        except MemoryError:
            return {"error": "not enough memory"}
        except Exception as error:
            lines = str(error).strip().splitlines()
            return {"error": lines[0] if lines else type(error).__name__}

    def _fit(self, data: Any, weights: np.ndarray | None) -> TensorSelector:
        selector: Any = self.method.seeded(self.seed)
        weighs = weights is not None and takes_weights(selector)
        more = {"sample_weight": weights} if weighs else {}
        with time_limit(self.limit):
            selector.fit(data, **more)
        fitted: TensorSelector = selector
        return fitted

    @abstractmethod
    def _compute(self, samples: Samples) -> Result:
        """Return the result; may raise."""


@dataclass(frozen=True)
class Fit(_Fitting):
    """A fit on all samples: which features it selects, and how long it takes.

    If `ranked`, also the scores and the order of all features, and the rule that made it.
    """

    ranked: bool
    kind: ClassVar[str] = "fit"

    def _settings(self) -> list[Any]:
        return [*super()._settings(), "ranked" if self.ranked else "selected"]

    def _compute(self, samples: Samples) -> Result:
        started = time.process_time()
        selector = self._fit(samples.named(samples.data), samples.weights_of(slice(None)))
        result: Result = {"seconds": time.process_time() - started, "features": _kept(selector)}
        if self.ranked:
            result["scores"] = selector.scores_.tolist()
            result["order"] = selector.order_.tolist()
            result["rule"] = selector.selection
            held = held_constraints(selector)
            if held is not None:
                result["held"] = {
                    "included": held.included.tolist(),
                    "excluded": held.excluded.tolist(),
                    "stops": list(held.stops),
                    "words": list(held.words),
                }
        return result


@dataclass(frozen=True)
class Memory(_Fitting):
    """A second fit on all samples, because tracing memory would slow down the timed one."""

    kind: ClassVar[str] = "memory"

    def _compute(self, samples: Samples) -> Result:
        # If the caller already traces memory, go on tracing afterwards; only its peak is reset.
        tracing = tracemalloc.is_tracing()
        if not tracing:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            self._fit(samples.named(samples.data), samples.weights_of(slice(None)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            if not tracing:
                tracemalloc.stop()
        return {"bytes": peak - before}


@dataclass(frozen=True)
class HalfSample(_Fitting):
    """A fit on one half of the samples, judged on the other half."""

    place: int
    shuffle: int
    kind: ClassVar[str] = "half"

    def _settings(self) -> list[Any]:
        return [*super()._settings(), self.place, self.shuffle]

    def _compute(self, samples: Samples) -> Result:
        data, mode = samples.data, samples.feature_mode
        learning, test = samples.halves(self.shuffle, self.place)
        fitted = self._fit(samples.named(data[learning]), samples.weights_of(learning))
        features = np.array(_kept(fitted))
        weights = None if samples.weights is None else samples.weights.values
        missed, total = Reconstruction(data, features, mode, weights).missed(learning, test)
        return {
            "features": features.tolist(),
            "reconstruction_error": missed / total if total > 0 else float("nan"),
            "redundancy": redundancy(
                data[test], features, feature_mode=mode, sample_weight=samples.weights_of(test)
            ),
        }


@dataclass(frozen=True)
class LikenessOfHalf:
    """Judge what all methods selected on one half by how alike samples of the other half look.

    One task for all methods, because components and neighbours of the half are theirs together.
    """

    selections: tuple[tuple[int, ...], ...]  # sorted, so that the order of methods does not matter
    checksum: str
    place: int
    shuffle: int

    @property
    def key(self) -> str:
        """Everything that the result depends on."""
        chosen = hashlib.sha256(json.dumps(self.selections).encode()).hexdigest()
        parts = [self.checksum, self.place, self.shuffle, chosen]
        return json.dumps(["likeness", __version__, *parts])

    @property
    def group(self) -> object:
        """All halves take similar time."""
        return "likeness"

    def compute(self, samples: Samples) -> Result:
        """Return the values of every selection, by measure."""
        _, test = samples.halves(self.shuffle, self.place)
        own = None if samples.weights is None else samples.weights.take(test)
        kept = kept_samples(samples.data[test], own)
        rows = kept.rows
        if (rows == rows[:1]).all():  # nothing to tell samples apart by
            return {measure: [float("nan")] * len(self.selections) for measure in LIKENESS}
        judge = Judge(rows, samples.feature_mode, kept.weights)
        return {
            measure: [getattr(judge, measure)(np.array(one)) for one in self.selections]
            for measure in LIKENESS
        }

    def added_to(self, half: Result, found: Result) -> Result:
        """Return the result of a method's `HalfSample` with the values of its selection."""
        if "features" not in half:
            return half
        place = self.selections.index(tuple(sorted(half["features"])))
        return half | {measure: found[measure][place] for measure in LIKENESS}


@dataclass(frozen=True)
class Judgement:
    """Judge a selection by the labels, which the method has not seen."""

    features: tuple[int, ...]
    checksum: str
    labels: str
    n_repeats: int
    seed: int

    @property
    def key(self) -> str:
        """Everything that the result depends on."""
        return json.dumps(["labels", __version__, *vars(self).values()])

    @property
    def group(self) -> object:
        """All judgements take similar time."""
        return "labels"

    def compute(self, samples: Samples) -> Result:
        """Return means and standard deviations of the metrics that need labels."""
        assert samples.labels is not None
        found = evaluate_selection(
            samples.data,
            samples.labels,
            np.array(self.features),
            counts=[len(self.features)],
            n_repeats=self.n_repeats,
            random_state=self.seed,
            feature_mode=samples.feature_mode,
            metrics=LABELLED,
        )
        return found.to_rows()[0]


def _halves(n_samples: int, shuffle: int, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to select on and those to judge on."""
    order = np.random.default_rng([shuffle, place]).permutation(n_samples)
    return np.sort(order[: n_samples // 2]), np.sort(order[n_samples // 2 :])


def _kept(selector: TensorSelector) -> list[int]:
    """Return the selected features, in the order of selection."""
    count = int(selector.get_support().sum())
    features: list[int] = np.asarray(selector.order_)[:count].tolist()
    return features
