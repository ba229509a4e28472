"""How fast a machine does what this library needs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Curve", "Machine", "SolveRates"]


@dataclass(frozen=True)
class Curve:
    """Seconds per unit of work at some sizes, interpolated on log scales.

    Below the first size, the time is that of the first size. Above the last size, it grows like
    the size to the power of `growth`, which follows from counting operations.

    Examples
    --------
    >>> from tensift.plan import Curve
    >>> curve = Curve((10, 100), (1.0, 10.0), growth=3)
    >>> curve(5), round(curve(50), 6), curve(200)
    (1.0, 5.0, 80.0)
    """

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    growth: float

    def __call__(self, size: float) -> float:
        """Return the seconds at a size."""
        if size <= self.sizes[0]:
            return self.seconds[0]
        if size >= self.sizes[-1]:
            return self.seconds[-1] * (size / self.sizes[-1]) ** self.growth
        after = bisect_right(self.sizes, size)
        low, high = self.sizes[after - 1], self.sizes[after]
        share = math.log(size / low) / math.log(high / low)
        below, above = self.seconds[after - 1], self.seconds[after]
        return below * (above / below) ** share


@dataclass(frozen=True)
class SolveRates:
    """Seconds of a solver, per slice and per block of slices that are solved together.

    A block of `s` slices that takes `t` steps costs
    ``block_setup + t * block_step + s * (setup(q) + t * step(q))``.

    Examples
    --------
    >>> from tensift.plan import Curve, SolveRates
    >>> one = Curve((8,), (1.0,), growth=3)
    >>> SolveRates(one, one, block_setup=5.0, block_step=0.5).seconds(8, slices=2, steps=10)
    32.0
    """

    setup: Curve
    step: Curve
    block_setup: float
    block_step: float

    def seconds(self, size: int, slices: float, steps: float, blocks: float = 1.0) -> float:
        """Return the seconds for some slices of `size` features, in a number of blocks."""
        each = self.setup(size) + steps * self.step(size)
        return blocks * (self.block_setup + steps * self.block_step) + slices * each


@dataclass(frozen=True)
class Machine:
    """The rates of one core of a machine.

    Attributes
    ----------
    moments : dict of Curve
        Seconds per stored value that is added to the Gram tensor, by the number of features in
        a slice: "real", "complex", and "dft" for real values with a DFT.
    fast_transform : float
        Seconds per value for a fast transform.
    matrix_transform : Curve
        Seconds per value for a transform by a matrix, by the size of the matrix.
    solve : dict of SolveRates
        Rates for "paper real", "paper complex", "exact real" and "exact complex".
    copy_bandwidth : float
        Bytes per second when one array is added to another.
    read_bandwidth : float or None
        Bytes per second from the disk of temporary files; None if it could not be measured,
        because the system keeps files in memory.
    read_cost : float
        Core seconds per byte read.
    resident : float
        Memory in bytes of a process that has imported the library.
    cores : int
        The number of cores.

    Examples
    --------
    >>> from tensift.plan import example_machine
    >>> machine = example_machine()
    >>> machine.moments["real"](64) < machine.moments["complex"](64)
    True
    """

    moments: Mapping[str, Curve]
    fast_transform: float
    matrix_transform: Curve
    solve: Mapping[str, SolveRates]
    copy_bandwidth: float
    read_bandwidth: float | None
    read_cost: float
    resident: float
    cores: int

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of plain values, for JSON."""
        return {
            "moments": {name: _curve_to(curve) for name, curve in self.moments.items()},
            "fast_transform": self.fast_transform,
            "matrix_transform": _curve_to(self.matrix_transform),
            "solve": {
                name: {
                    "setup": _curve_to(rates.setup),
                    "step": _curve_to(rates.step),
                    "block_setup": rates.block_setup,
                    "block_step": rates.block_step,
                }
                for name, rates in self.solve.items()
            },
            "copy_bandwidth": self.copy_bandwidth,
            "read_bandwidth": self.read_bandwidth,
            "read_cost": self.read_cost,
            "resident": self.resident,
            "cores": self.cores,
        }

    @classmethod
    def from_dict(cls, values: Any) -> Machine:
        """Make a machine from the result of `to_dict`; anything else raises ValueError."""
        try:
            read = values["read_bandwidth"]
            return cls(
                moments={
                    name: _curve_from(values["moments"][name])
                    for name in ("real", "complex", "dft")
                },
                fast_transform=_rate(values["fast_transform"]),
                matrix_transform=_curve_from(values["matrix_transform"]),
                solve={
                    name: SolveRates(
                        _curve_from(rates["setup"]),
                        _curve_from(rates["step"]),
                        _rate(rates["block_setup"]),
                        _rate(rates["block_step"]),
                    )
                    for name, rates in (
                        (name, values["solve"][name])
                        for name in ("paper real", "paper complex", "exact real", "exact complex")
                    )
                },
                copy_bandwidth=_rate(values["copy_bandwidth"]),
                read_bandwidth=None if read is None else _rate(read),
                read_cost=_rate(values["read_cost"]),
                resident=_rate(values["resident"]),
                cores=int(_rate(values["cores"])),
            )
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"these are not the rates of a machine: {error!r}") from None


def _curve_to(curve: Curve) -> dict[str, Any]:
    return {
        "sizes": list(curve.sizes),
        "seconds": list(curve.seconds),
        "growth": curve.growth,
    }


def _curve_from(values: Any) -> Curve:
    sizes = tuple(int(_rate(size)) for size in values["sizes"])
    seconds = tuple(_rate(value) for value in values["seconds"])
    if not sizes or len(sizes) != len(seconds) or list(sizes) != sorted(set(sizes)):
        raise ValueError("sizes of a curve must increase, and each needs one time")
    return Curve(sizes, seconds, _rate(values["growth"]))


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a rate must be a number above 0; got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"a rate must be a number above 0; got {value!r}")
    return float(value)
