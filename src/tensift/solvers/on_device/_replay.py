"""Record functions that run many times, and replay them at a single request.

A step of a solver is a hundred small operations. An accelerator finishes each of them before
Python can ask for the next. PyTorch on CUDA can record all operations of a function and replay
them at one request. JAX can compile the function as a whole. For other libraries, and for PyTorch
on the CPU, the function is called as it is.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from array_api_compat import is_jax_array

__all__ = ["Replayed", "forget_recordings"]

Array = Any  # of any namespace of the array API

_AT_MOST = 192  # entries: recordings, and functions that were called once
_SHARE = 0.5  # of the memory of a device that recordings may take
_recordings: OrderedDict[Hashable, _Recording | None] = OrderedDict()
_compiled: OrderedDict[Hashable, Callable[..., tuple[Array, ...]]] = OrderedDict()


def forget_recordings() -> None:
    """Free the memory of what solvers have recorded or compiled for speed.

    This is at most half of the memory of a device. Recordings are made again when needed.

    Examples
    --------
    >>> from tensift.solvers.on_device import forget_recordings
    >>> forget_recordings()
    """
    _recordings.clear()
    _compiled.clear()


class Replayed:
    """A function from arrays to a tuple of arrays that may be recorded.

    It must not make decisions that depend on the values of arrays.

    Parameters
    ----------
    function : callable
        The function.
    key : hashable or None
        Everything that it depends on besides the arrays. Functions with equal keys share
        recordings. None: it depends on arrays of its own, so its recordings are its own.
    lasting : bool, default=False
        Whether to copy the results. Otherwise the next call may overwrite them.
    """

    def __init__(
        self,
        function: Callable[..., tuple[Array, ...]],
        key: Hashable | None,
        *,
        lasting: bool = False,
    ) -> None:
        self.function = function
        self.key = key
        self.lasting = lasting
        self._own: OrderedDict[Hashable, _Recording | None] = OrderedDict()

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """Call the function; on CUDA, the second call records it, and later calls replay it."""
        if is_jax_array(arrays[0]) and self.key is not None:
            return self._compiled(arrays)(*arrays)
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(arrays[0], torch.Tensor) or not arrays[0].is_cuda:
            return self.function(*arrays)
        key = (self.key, *((array.shape, array.dtype, array.device) for array in arrays))
        known = self._own if self.key is None else _recordings
        if key not in known:  # do not record functions that are called only once
            known[key] = None
            if len(known) > _AT_MOST:
                known.popitem(last=False)
            return self.function(*arrays)
        known.move_to_end(key)
        recording = known[key]
        if recording is None:
            recording = known[key] = _Recording(torch, self.function, arrays)
            _forget_the_oldest(_SHARE * torch.cuda.mem_get_info(arrays[0].device)[1])
        results = recording(arrays)
        return tuple(result.clone() for result in results) if self.lasting else results

    def _compiled(self, arrays: tuple[Array, ...]) -> Callable[..., tuple[Array, ...]]:
        key = (self.key, *((array.shape, str(array.dtype)) for array in arrays))
        if key not in _compiled:
            _compiled[key] = sys.modules["jax"].jit(self.function)
            if len(_compiled) > _AT_MOST:
                _compiled.popitem(last=False)
        return _compiled[key]


def _forget_the_oldest(limit: float) -> None:
    """Drop the oldest recordings until the rest takes at most `limit` bytes."""
    while sum(made.size for made in _recordings.values() if made is not None) > limit:
        oldest = next(key for key, made in _recordings.items() if made is not None)
        if oldest == next(reversed(_recordings)):
            return
        _recordings[oldest] = None


class _Recording:
    """A recorded function; its inputs are copied to where the recording reads them."""

    def __init__(self, torch: Any, function: Callable[..., Any], arrays: tuple[Array, ...]) -> None:
        before = torch.cuda.memory_reserved(arrays[0].device)
        self._places = [array.clone() for array in arrays]
        self._held: list[Array] = [None] * len(arrays)
        self._function = function  # keeps alive the constants that it reads
        function(*self._places)  # creates constants that are created at first use
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._results = function(*self._places)
        for result in self._results:
            result._is_rewritten = True
        self.size = torch.cuda.memory_reserved(arrays[0].device) - before

    def __call__(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        for number, (place, array) in enumerate(zip(self._places, arrays, strict=True)):
            # Skip arrays that are there already, unless a replay has overwritten them since.
            if array is not self._held[number] or hasattr(array, "_is_rewritten"):
                place.copy_(array)
                self._held[number] = array
        self._graph.replay()
        return self._results
