"""Functions of arrays that are run many times over, replayed instead of spelled out each time.

A step of a solver is a hundred small operations, and an accelerator finishes each of them sooner
than Python can ask for the next. PyTorch on CUDA can record what a function asks for, and do all
of it again at one request; JAX can compile it as a whole. Arrays of other libraries, and PyTorch's
on processors, take the function as it is.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from array_api_compat import is_jax_array

__all__ = ["Replayed", "forget_recordings", "memory_of"]

Array = Any  # of any namespace of the array API

_AT_MOST = 192  # recordings, and functions that may become one
_SHARE = 0.5  # of a device's memory that recordings hold at most
_recordings: OrderedDict[Hashable, _Recording | None] = OrderedDict()
_compiled: OrderedDict[Hashable, Callable[..., tuple[Array, ...]]] = OrderedDict()


def forget_recordings() -> None:
    """Give back the memory of what solvers have recorded or compiled for speed.

    It is at most half of a device's memory, and made anew when it is needed.

    Examples
    --------
    >>> from tensift.solvers.on_device import forget_recordings
    >>> forget_recordings()
    """
    _recordings.clear()
    _compiled.clear()


def memory_of(array: Array) -> int | None:
    """The bytes of memory that the device of an array has, where its library tells."""
    for name in ("torch", "cupy"):
        library = sys.modules.get(name)
        if name == "torch" and library and isinstance(array, library.Tensor) and array.is_cuda:
            return int(library.cuda.mem_get_info(array.device)[1])
        if name == "cupy" and library and isinstance(array, library.ndarray):
            return int(array.device.mem_info[1])
    return None


class Replayed:
    """A function from arrays to a tuple of arrays, without any decision that depends on values.

    Parameters
    ----------
    function : callable
        The function.
    key : hashable
        Whatever it depends on besides the arrays: functions with equal keys share recordings.
    lasting : bool, default=False
        Whether results are to be kept. Otherwise the next call may overwrite them.
    """

    def __init__(
        self, function: Callable[..., tuple[Array, ...]], key: Hashable, *, lasting: bool = False
    ) -> None:
        self.function = function
        self.key = key
        self.lasting = lasting

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """Call the function: with CUDA, once as it is, then recorded, from then on replayed."""
        if is_jax_array(arrays[0]):
            return self._compiled(arrays)(*arrays)
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(arrays[0], torch.Tensor) or not arrays[0].is_cuda:
            return self.function(*arrays)
        key = (self.key, *((array.shape, array.dtype, array.device) for array in arrays))
        if key not in _recordings:  # worth a recording only if it is called again
            _recordings[key] = None
            if len(_recordings) > _AT_MOST:
                _recordings.popitem(last=False)
            return self.function(*arrays)
        _recordings.move_to_end(key)
        recording = _recordings[key]
        if recording is None:
            recording = _recordings[key] = _Recording(torch, self.function, arrays)
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
    """Forget recordings until those that are left hold no more bytes than `limit`."""
    while sum(made.size for made in _recordings.values() if made is not None) > limit:
        oldest = next(key for key, made in _recordings.items() if made is not None)
        if oldest == next(reversed(_recordings)):
            return
        _recordings[oldest] = None


class _Recording:
    """A function as recorded for arrays in certain places, to which others are copied first."""

    def __init__(self, torch: Any, function: Callable[..., Any], arrays: tuple[Array, ...]) -> None:
        before = torch.cuda.memory_reserved(arrays[0].device)
        self._places = [array.clone() for array in arrays]
        self._held: list[Array] = [None] * len(arrays)
        self._function = function  # with the constants that it reads
        function(*self._places)  # makes constants that are made when first needed
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._results = function(*self._places)
        for result in self._results:
            result._is_rewritten = True
        self.size = torch.cuda.memory_reserved(arrays[0].device) - before

    def __call__(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        for number, (place, array) in enumerate(zip(self._places, arrays, strict=True)):
            # What is there already need not be copied, unless a replay has written it anew.
            if array is not self._held[number] or hasattr(array, "_is_rewritten"):
                place.copy_(array)
                self._held[number] = array
        self._graph.replay()
        return self._results
