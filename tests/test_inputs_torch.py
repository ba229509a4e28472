"""Datasets and loaders of PyTorch as samples: the same results as the array, in bounded memory."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from tensift import (
    GeometrySelector,
    STPCASelector,
    TensorPCA,
    collect_moments,
    stability_selection,
)
from tensift.rivals import list_selectors
from tensift.sources import Chunks, in_memory, source_of

torch = pytest.importorskip("torch", reason="torch is not installed")

data = torch.utils.data

X = np.random.default_rng(0).normal(size=(60, 4, 3)) + np.repeat([0, 1], 30)[:, None, None]
TENSOR = torch.from_numpy(X)
LABELS = torch.arange(60) % 2


class Items(data.Dataset):
    """Gives `make(place)`, and remembers which places were asked for."""

    def __init__(self, make, count=60):
        self.make, self.count, self.asked = make, count, []

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        self.asked.append(place)
        return self.make(place)


class Fetched(Items):
    """Gives many items at once, as datasets may."""

    def __getitems__(self, places):
        self.asked.append(len(places))
        return [self.make(place) for place in places]


class Stream(data.IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class Upside(data.Sampler):
    def __iter__(self):
        return iter(range(59, -1, -1))

    def __len__(self):
        return 60


def samples_only(batch):
    return torch.stack([sample for sample, _ in batch])


PAIRS = data.TensorDataset(TENSOR, LABELS)
KINDS = {
    "samples": Items(lambda place: TENSOR[place]),
    "samples and labels": Items(lambda place: (TENSOR[place], int(place))),
    "arrays": Items(lambda place: (X[place], "label")),
    "lists": Items(lambda place: X[place].tolist()),
    "many at once": Fetched(lambda place: (TENSOR[place], 1)),
    "tensors": PAIRS,
    "one tensor": data.TensorDataset(TENSOR),
    "subset": data.Subset(data.TensorDataset(torch.cat([TENSOR, TENSOR])), range(60, 120)),
    "concatenated": data.ConcatDataset(
        [data.Subset(PAIRS, range(7)), data.Subset(PAIRS, range(7, 60))]
    ),
    "stream": Stream([(sample, 0) for sample in TENSOR]),
    "loader": data.DataLoader(PAIRS, batch_size=7),
    "loader of samples": data.DataLoader(data.TensorDataset(TENSOR), batch_size=60),
    "loader of a stream": data.DataLoader(Stream(list(TENSOR)), batch_size=8),
    "loader that shuffles": data.DataLoader(PAIRS, batch_size=7, shuffle=True, drop_last=True),
    "loader of a subset": data.DataLoader(
        data.TensorDataset(torch.cat([TENSOR, TENSOR + 9])),
        sampler=data.SubsetRandomSampler(torch.randperm(60)),
        batch_size=4,
    ),
    "loader with two workers": data.DataLoader(
        PAIRS, batch_size=20, num_workers=2, multiprocessing_context="fork"
    ),
    "loader that collates": data.DataLoader(PAIRS, 7, shuffle=True, collate_fn=samples_only),
    "loader of batches": data.DataLoader(list(TENSOR.reshape(12, 5, 4, 3)), batch_size=None),
    "loader of whole lists": data.DataLoader(
        PAIRS, sampler=data.BatchSampler(data.SequentialSampler(PAIRS), 9, False), batch_size=None
    ),
}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_fit_of_the_array(kind):
    given = KINDS[kind]
    found, expected = GeometrySelector(3).fit(given), GeometrySelector(3).fit(X)
    assert_array_equal(found.order_, expected.order_)
    assert_array_equal(found.transform(given), expected.transform(X))
    assert_allclose(
        found.reconstruct(found.transform(given)), expected.reconstruct(expected.transform(X))
    )
    settings = {"lam": 0.1, "eta": 0.1, "basis": "eigen"}  # which reads samples twice
    found = STPCASelector(3, **settings).fit(given)
    expected = STPCASelector(3, **settings).fit(X)
    assert_allclose(found.scores_, expected.scores_, atol=1e-9 * expected.scores_.max())
    assert found.n_samples_seen_ == 60


def test_other_entrances_take_them():
    loader, dataset = KINDS["loader"], KINDS["samples and labels"]
    assert collect_moments(loader).count == 60
    assert_allclose(abs(TensorPCA(2).fit_transform(dataset)), abs(TensorPCA(2).fit_transform(X)))
    half = STPCASelector(3).partial_fit(data.Subset(PAIRS, range(30)))
    half.partial_fit(data.DataLoader(data.Subset(PAIRS, range(30, 60)), batch_size=4))
    assert_allclose(half.scores_, STPCASelector(3).fit(X).scores_, atol=1e-9)
    found = stability_selection(GeometrySelector(3), loader, random_state=0)
    truth = stability_selection(GeometrySelector(3), X, random_state=0)
    assert_array_equal(found.supports, truth.supports)


@pytest.mark.filterwarnings("ignore:X has negative values, and CPUFS")
@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.parametrize("info", list_selectors(), ids=lambda info: info.name)
def test_every_selector_takes_a_loader(info):
    known = {"n_clusters": 2, "n_neighbors": 3, "n_components": 2, "random_state": 0}
    known = {name: value for name, value in known.items() if name in info.parameters}
    found, expected = info.make(2, **known).fit(KINDS["loader"]), info.make(2, **known).fit(X)
    assert_array_equal(found.order_, expected.order_)


def test_iterators_are_read_whole_where_all_samples_are_needed():
    chunks = Chunks(lambda: iter(np.split(X, 6)))
    assert_array_equal(in_memory(chunks), X)
    for kind in ("stream", "loader", "samples"):
        assert_array_equal(in_memory(KINDS[kind]), X)
    assert in_memory(X) is X


# How they are read


def test_samples_are_read_in_chunks_of_bounded_memory():
    count = 3000
    rows = np.random.default_rng(0).normal(size=(count, 10, 8))
    dataset = Fetched(rows.__getitem__, count)
    with sklearn.config_context(working_memory=2):
        source = source_of(dataset)
        assert source.n_samples == count
        most = max(len(chunk.samples) for chunk in source.chunks())
        assert max(dataset.asked[1:]) == most
        assert most * rows[0].nbytes <= 2 * 2**20 / 32
        assert_array_equal(np.concatenate([c.samples.copy() for c in source.chunks()]), rows)


def test_only_the_samples_that_are_looked_at_are_read():
    dataset = Items(lambda place: X[place % 60] + place % 7, 50_000)
    GeometrySelector(3).fit(dataset)
    assert len(dataset.asked) < 10_000


def test_tensors_in_memory_are_not_copied():
    read = source_of(PAIRS).reader.read(10, 20)
    assert np.shares_memory(read, X)
    assert_array_equal(read, X[10:20])
    before = X.copy()
    STPCASelector(3).fit(PAIRS)
    assert_array_equal(X, before)


def test_a_loader_that_shuffles_leaves_the_seeds_alone_and_gives_the_same_every_time():
    loader = data.DataLoader(PAIRS, batch_size=7, shuffle=True)
    first, second = (list(source_of(loader).chunks()) for _ in range(2))
    for chunks in (first, second):
        assert_array_equal(np.concatenate([chunk.samples for chunk in chunks]), X)


def test_a_loader_keeps_what_its_user_left_out():
    last = data.DataLoader(PAIRS, batch_size=7, drop_last=True)
    assert STPCASelector(3).fit(last).n_samples_seen_ == 56
    some = data.DataLoader(PAIRS, batch_size=7, sampler=[5, 3, 59, 0])
    assert_array_equal(in_memory(some), X[[5, 3, 59, 0]])


def test_distributed_loaders_are_read_as_they_are():
    sampler = data.distributed.DistributedSampler(PAIRS, 3, 1, shuffle=False)
    assert_array_equal(in_memory(data.DataLoader(PAIRS, 4, sampler=sampler)), X[1::3])


def test_complex_and_integer_samples():
    values = TENSOR.to(torch.complex128) * (1 + 2j)
    dataset = data.TensorDataset(values.conj())
    assert_allclose(in_memory(dataset), X * (1 - 2j))
    pixels = data.TensorDataset(TENSOR.abs().mul(40).to(torch.uint8))
    assert source_of(pixels).dtype == np.uint8


def test_pictures_are_samples():
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 255, size=(9, 5, 4, 3), dtype=np.uint8)
    folder = Items(lambda place: (image.fromarray(pixels[place]), 0), 9)
    assert_array_equal(in_memory(folder), pixels)


# What cannot be read


def changed(place, *, at, to):
    return to if place == at else TENSOR[place]


REFUSED = {
    "a dict": (
        Items(lambda place: {"x": TENSOR[place], "y": 0}),
        r"^sample 0 of X holds a dict with the keys \['x', 'y'\]; let the dataset return",
    ),
    "dicts in batches": (
        data.DataLoader(Items(lambda place: {"x": TENSOR[place]}), batch_size=5),
        "^batch 0 of X holds a dict with the keys",
    ),
    "several samples": (
        Items(lambda place: ((TENSOR[place], TENSOR[place]), 0)),
        r"^sample 0 of X holds a tuple; .* or tuples \(sample, label\), and",
    ),
    "several samples in batches": (
        data.DataLoader(Items(lambda place: ((TENSOR[place], TENSOR[place]), 0)), batch_size=5),
        "^batch 0 of X holds a list; let the dataset",
    ),
    "lists of samples": (
        data.DataLoader(data.TensorDataset(TENSOR), batch_size=5, collate_fn=list),
        "^batch 0 of X holds a list; .* and collate_fn arrays of samples$",
    ),
    "text": (Items(lambda place: "a"), "^sample 0 of X is a str, not numbers"),
    "nothing": (Items(lambda place: None), "^sample 0 of X is a NoneType, not numbers"),
    "ragged lists": (Items(lambda place: [[1.0], [1.0, 2.0]]), "^sample 0 of X is not an array"),
    "lists of tensors": (Items(lambda place: [TENSOR[place]] * 2), "^sample 0 of X holds a list"),
    "gradients": (
        Items(lambda place: TENSOR[place].clone().requires_grad_()),
        r"^sample 0 of X requires gradients, .*sample.detach\(\)$",
    ),
    "gradients of a tensor": (
        data.TensorDataset(TENSOR.clone().requires_grad_()),
        "^the first tensor of X requires gradients",
    ),
    "a device": (
        Items(lambda place: TENSOR[place].to("meta")),
        r"^sample 0 of X is on meta, but datasets are read on the processor; .*sample.cpu\(\)",
    ),
    "bfloat16": (
        Items(lambda place: TENSOR[place].bfloat16()),
        r"^sample 0 of X is a tensor that NumPy cannot read \(.*BFloat16\); .*sample.float\(\)",
    ),
    "sparse": (
        Items(lambda place: TENSOR[place].to_sparse()),
        r"^sample 0 of X is a tensor that NumPy cannot read .*sample.to_dense\(\)",
    ),
    "another shape": (
        Items(lambda place: changed(place, at=7, to=torch.zeros(4, 2))),
        r"^sample 7 of X has shape \(4, 2\), but sample 0 has shape \(4, 3\)",
    ),
    "another type": (
        Items(lambda place: changed(place, at=7, to=TENSOR[0] * 1j)),
        "^sample 7 of X has dtype complex128, but sample 0 has float64",
    ),
    "single numbers": (Items(lambda place: float(place)), r"^X has shape \(60,\); it needs"),
    "no samples": (Items(TENSOR.__getitem__, 0), "^X is a dataset of PyTorch without samples"),
    "not a number": (
        Items(lambda place: changed(place, at=7, to=TENSOR[0] * torch.nan)),
        r"^Input X contains NaN: sample 7 is the first \(chunk 0, samples 0 to 59\)",
    ),
    "weights": (
        data.DataLoader(PAIRS, sampler=data.WeightedRandomSampler([1.0] * 60, 60)),
        "^X is a DataLoader with a WeightedRandomSampler, which may give other samples",
    ),
    "replacement": (
        data.DataLoader(PAIRS, sampler=data.RandomSampler(PAIRS, replacement=True)),
        "^X is a DataLoader with a RandomSampler, which may give other samples",
    ),
    "a sample of the samples": (
        data.DataLoader(PAIRS, sampler=data.RandomSampler(PAIRS, num_samples=20)),
        "^X is a DataLoader with a RandomSampler, which may give other samples",
    ),
    "a sampler of the user": (
        data.DataLoader(PAIRS, sampler=Upside()),
        r"^X is a DataLoader with a Upside, .*pass X.dataset, .* to read X once$",
    ),
    "batches of the user": (
        data.DataLoader(PAIRS, batch_sampler=[[0, 1], [2, 3]]),
        "^X is a DataLoader with a list, which may give other samples",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(kind):
    given, message = REFUSED[kind]
    with pytest.raises(ValueError, match=message) as caught:
        STPCASelector(3).fit(given)
    assert "\n" not in str(caught.value)


def test_a_dataset_without_a_length():
    class Endless(data.Dataset):
        def __getitem__(self, place):
            return TENSOR[place]

    with pytest.raises(ValueError, match=r"^X is a dataset of PyTorch without a length; define"):
        GeometrySelector(3).fit(Endless())


def test_what_the_error_proposes_reads_the_samples_once():
    loader = data.DataLoader(PAIRS, sampler=Upside(), batch_size=5)
    X_once = (batch.numpy() for batch, label in loader)
    found = STPCASelector(3).fit(X_once)
    assert_allclose(found.scores_, STPCASelector(3).fit(X[::-1]).scores_, atol=1e-9)


def test_nobody_imports_other_libraries_for_their_sake():
    script = (
        "import sys, numpy as np\n"
        "from tensift import STPCASelector\n"
        "chunks = np.random.default_rng(0).normal(size=(3, 9, 4, 3))\n"
        "for X in (chunks[0], iter(chunks)):\n"
        "    STPCASelector(2).fit(X).transform(chunks[0])\n"
        "loaded = {'torch', 'polars', 'aeon', 'sktime', 'xarray'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
