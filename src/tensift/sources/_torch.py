"""Datasets and loaders of PyTorch: read in order, in chunks, without their labels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.sources._chunks import ChunkedSource, StoredSource
from tensift.sources._iterators import IteratorSource
from tensift.sources._rows import RowReader

__all__ = ["torch_source"]

_KEPT = (  # what a loader that reads in order has of the one that shuffles
    "batch_size",
    "num_workers",
    "collate_fn",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
)


def torch_source(X: Any) -> ChunkedSource | None:
    """Return a source if `X` is a dataset or a loader of PyTorch, else None.

    If nobody has imported PyTorch, it is neither.
    """
    data = sys.modules.get("torch.utils.data")
    if data is None or not hasattr(data, "DataLoader"):
        return None
    if isinstance(X, data.DataLoader):
        return IteratorSource(_Batches(_in_order(X)))
    if isinstance(X, data.IterableDataset):
        return IteratorSource(_Singles(X))
    if isinstance(X, data.Dataset):
        return StoredSource(_DatasetReader(X))
    return None


class _Batches:
    """The samples in the batches of a loader; can be read again."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        data = sys.modules["torch.utils.data"]
        # PyTorch makes lists of tuples. In lists that others make, samples may lie one by one.
        is_default = loader.collate_fn in (data.default_collate, data.default_convert)
        self._pairs = tuple | list if is_default else tuple

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number, batch in enumerate(self._loader):
            yield _samples_in(batch, f"batch {number}", self._pairs)


class _Singles:
    """The samples of an iterable dataset; can be read again if the dataset can."""

    def __init__(self, dataset: Iterable[Any]) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number, item in enumerate(self._dataset):
            yield _samples_in(item, f"sample {number}")[None]


class _DatasetReader(RowReader):
    """Reads samples of a dataset that can be indexed.

    Parameters
    ----------
    dataset : torch.utils.data.Dataset
        Its items are samples, or tuples that begin with one.
    """

    def __init__(self, dataset: Any) -> None:
        try:
            count = len(dataset)
        except (TypeError, NotImplementedError):
            raise ValueError(
                "X is a dataset of PyTorch without a length; define its __len__, or pass a "
                "DataLoader of it"
            ) from None
        if count == 0:
            raise ValueError("X is a dataset of PyTorch without samples; at least 2 are needed")
        self._dataset = dataset
        self._whole = self._whole_array()
        first = _samples_in(dataset[0], "sample 0")
        self.shape, self.dtype = (count, *first.shape), first.dtype

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Return samples ``start:stop``; of tensors in memory, without copying them."""
        if self._whole is not None:
            return self._whole[start:stop]
        if out is None or out.dtype != self.dtype or len(out) < stop - start:
            out = np.empty((stop - start, *self.shape[1:]), self.dtype)
        for number, item in enumerate(self._items(start, stop), start):
            sample = _samples_in(item, f"sample {number}")
            if sample.shape != self.shape[1:]:
                raise ValueError(
                    f"sample {number} of X has shape {sample.shape}, but sample 0 has shape "
                    f"{self.shape[1:]}; give all the same shape"
                )
            if not np.can_cast(sample.dtype, self.dtype, "safe"):
                raise ValueError(
                    f"sample {number} of X has dtype {sample.dtype}, but sample 0 has "
                    f"{self.dtype}; give all the same type"
                )
            out[number - start] = sample
        return out[: stop - start]

    def _items(self, start: int, stop: int) -> Iterable[Any]:
        places = range(start, stop)
        if hasattr(self._dataset, "__getitems__"):  # as loaders do
            return self._dataset.__getitems__(list(places))
        return (self._dataset[place] for place in places)

    def _whole_array(self) -> NDArray | None:
        """Return all samples if they are one tensor in memory."""
        data = sys.modules["torch.utils.data"]
        if type(self._dataset) is not data.TensorDataset:
            return None
        return _samples_in(self._dataset.tensors[0], "the first tensor")


def _samples_in(item: Any, where: str, pairs: Any = tuple) -> NDArray:
    """Return what an item of a dataset or a loader holds as an array, without its label.

    `pairs` are the types of items that begin with samples and go on with labels.
    """
    torch = sys.modules["torch"]
    if isinstance(item, pairs) and len(item):
        item = item[0]
    several = isinstance(item, tuple | Mapping)
    if isinstance(item, list) and len(item):  # of numbers, perhaps in lists
        several = isinstance(item[0], tuple | Mapping | np.ndarray | torch.Tensor)
    if several:
        held = f" with the keys {list(item)}" if isinstance(item, Mapping) else ""
        raise ValueError(
            f"{where} of X holds a {type(item).__name__}{held}; let the dataset return samples, or "
            "tuples (sample, label), and collate_fn arrays of samples"
        )
    if isinstance(item, torch.Tensor):
        return _from_tensor(item, where)
    try:
        values = np.asarray(item)
    except ValueError as error:
        raise ValueError(f"{where} of X is not an array: {error}") from None
    if values.dtype.kind not in "biufc":
        raise ValueError(
            f"{where} of X is a {type(item).__name__}, not numbers; let the dataset return tensors "
            "or arrays"
        )
    return values


def _from_tensor(tensor: Any, where: str) -> NDArray:
    """Return a tensor as an array that shares its memory."""
    if tensor.requires_grad:
        raise ValueError(
            f"{where} of X requires gradients, which fit does not compute; let the dataset return "
            "sample.detach()"
        )
    if tensor.device.type != "cpu":
        raise ValueError(
            f"{where} of X is on {tensor.device}, but datasets are read on the processor; let the "
            "dataset return sample.cpu(), or pass all samples as one tensor on that device"
        )
    try:
        values: NDArray[Any] = tensor.resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError) as error:
        raise ValueError(
            f"{where} of X is a tensor that NumPy cannot read ({error}); let the dataset return "
            "sample.float(), and sample.to_dense() if it is sparse"
        ) from None
    return values


def _in_order(loader: Any) -> Any:
    """Return a loader whose order is the same in every pass.

    Loaders that shuffle are replaced by ones that read the same samples in the order of their
    dataset, since results must not depend on chance.
    """
    import torch.utils.data as data

    if isinstance(loader.dataset, data.IterableDataset):
        return loader
    sampler, batches = loader.sampler, loader.batch_sampler
    if type(sampler) is data.BatchSampler:
        sampler = sampler.sampler
    if batches is not None and type(batches) is not data.BatchSampler:
        raise _unrepeatable(batches)
    repeatable = data.SequentialSampler | data.DistributedSampler | list | tuple | range
    if isinstance(sampler, repeatable):
        return loader
    if isinstance(sampler, data.SubsetRandomSampler):
        places: Any = sorted(int(place) for place in sampler.indices)
    elif (
        isinstance(sampler, data.RandomSampler)
        and not sampler.replacement
        and sampler.num_samples == len(loader.dataset)
    ):
        places = range(len(loader.dataset))
    else:
        raise _unrepeatable(sampler)
    if loader.batch_size is None:
        raise _unrepeatable(sampler)
    options = {name: getattr(loader, name) for name in _KEPT}
    return data.DataLoader(loader.dataset, sampler=places, **options)


def _unrepeatable(sampler: Any) -> ValueError:
    return ValueError(
        f"X is a DataLoader with a {type(sampler).__name__}, which may give other samples in every "
        "pass; pass X.dataset, a loader without it, or (batch.numpy() for batch, label in X) to "
        "read X once"
    )
