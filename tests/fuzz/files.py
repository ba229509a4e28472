"""Damaged and misnamed files: one clear line, nothing unpickled, nothing half-written."""

import contextlib
import io
import os
import pickle
import warnings

import h5py
import numpy as np
import scipy.io

from tensift.cli import main
from tensift.datasets import TensorDataset, read_tensor

from .values import pick, plain_samples

SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".csv", ".tsv", ".txt", "", ".dat", ".NPY")
_unpickled = []


class Bomb:
    """An object that tells when it is unpickled."""

    def __reduce__(self):
        return _unpickled.append, (1,)


def check_case(rng, folder):
    """Write a file, damage it, and give it to the reader and to the command line."""
    name, content = _written(rng, folder)
    content = pick(rng, _DAMAGES)(rng, content)
    suffix = os.path.splitext(name)[1] if rng.random() < 0.7 else pick(rng, SUFFIXES)
    path = folder / f"input{suffix}"
    path.write_bytes(content)
    del _unpickled[:]
    told = f"{name} as {path.name}, {len(content)} bytes"
    _check_reader(path, told)
    _check_command(path, ["info", str(path)], told)
    out = folder / "out"
    done = _check_command(
        path, ["select", str(path), "-k", "1", "-o", str(out), "--no-figure"], told
    )
    assert out.exists() == done, f"results and exit status differ ({told})"
    left = {one.name for one in folder.rglob("*")}
    expected = {path.name}
    if done:
        expected |= {"out", "scores.npy", "selected.npy", "ranking.csv", "settings.json"}
    assert left == expected, f"files that were left: {left ^ expected} ({told})"
    assert path.read_bytes() == content, f"the input was changed ({told})"
    assert not _unpickled, f"something was unpickled ({told})"


def _written(rng, folder):
    """A name and the content of a file that is right, or would be dangerous to unpickle."""
    X = plain_samples(rng).astype(pick(rng, ("f8", "f4", "i2", "c16", ">f8")))
    labels = np.arange(len(X)) % 2
    write = pick(rng, (_npy, _npz, _mat, _h5, _csv, _csv, _objects, _pickle))
    path = folder / write.__name__
    name = write(rng, path, X, labels)
    content = path.read_bytes()
    path.unlink()
    return name, content


def _npy(rng, path, X, labels):
    with open(path, "wb") as stream:
        np.save(stream, np.asfortranarray(X) if rng.random() < 0.3 else X)
    return "array.npy"


def _npz(rng, path, X, labels):
    save = pick(rng, (np.savez, np.savez_compressed))
    with open(path, "wb") as stream:
        save(stream, data=X, labels=labels, dims=[f"d{i}" for i in range(X.ndim - 1)])
    return "arrays.npz"


def _mat(rng, path, X, labels):
    with open(path, "wb") as stream:
        scipy.io.savemat(stream, {"X": X, "y": labels}, do_compression=bool(rng.integers(2)))
    return "arrays.mat"


def _h5(rng, path, X, labels):
    with h5py.File(path, "w") as file:
        packed = {"chunks": True, "compression": "gzip"} if rng.random() < 0.5 else {}
        file.create_dataset("data", data=X, **packed)
        file["labels"] = labels
    return "arrays.h5"


def _csv(rng, path, X, labels):
    rows = X.reshape(len(X), -1).real
    head = ",".join(f"c{i}" for i in range(rows.shape[1])) if rng.random() < 0.5 else ""
    lines = [",".join(f"{value:.6g}" for value in row) for row in rows]
    path.write_text("\n".join([head, *lines] if head else lines) + "\n")
    return "table.csv"


def _objects(rng, path, X, labels):
    objects = np.array([[Bomb(), Bomb()], [Bomb(), 1.0]], dtype=object)
    with open(path, "wb") as stream:
        if rng.random() < 0.5:
            np.save(stream, objects, allow_pickle=True)
        else:
            np.savez(stream, data=X, labels=objects)
    return "objects.npy"


def _pickle(rng, path, X, labels):
    path.write_bytes(pickle.dumps([Bomb(), X]))
    return "pickle.npy"


def _flipped(rng, content):
    damaged = bytearray(content)
    # Most of the structure of a file is at its beginning or its end.
    for _ in range(int(pick(rng, (1, 1, 3, 20)))):
        if not damaged:
            break
        place = int(rng.integers(min(len(damaged), pick(rng, (16, 128, 2048, 10**9)))))
        place = place if rng.random() < 0.7 else -1 - place
        damaged[place] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def _replaced(rng, content):
    start = int(rng.integers(len(content) + 1))
    fills = (b"", b"\0" * 64, b"\xff" * 64, b"1e999,", b"nan,inf\n", b'"', rng.bytes(64))
    return content[:start] + pick(rng, fills) + content[start + int(rng.integers(200)) :]


_DAMAGES = (
    lambda rng, content: content,
    lambda rng, content: b"",
    lambda rng, content: content[: int(rng.integers(len(content) + 1))],
    lambda rng, content: content[: len(content) - int(rng.integers(1, 9))],
    lambda rng, content: content[int(rng.integers(1, 9)) :],
    lambda rng, content: content + content,
    lambda rng, content: content + rng.bytes(int(rng.integers(1, 100))),
    lambda rng, content: rng.bytes(int(rng.integers(1, 500))),
    _flipped,
    _flipped,
    _flipped,
    _replaced,
    _replaced,
)


def _check_reader(path, told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = read_tensor(path)
        except (ValueError, OSError, ImportError) as error:
            found = str(error).strip()
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} ({told})") from error
    if isinstance(found, str):
        assert len(found.splitlines()) == 1, f"not one line of error: {found!r} ({told})"
        assert path.name in found, f"the file is not named: {found!r} ({told})"
    else:
        assert isinstance(found, TensorDataset), told
    for warning in caught:
        known = issubclass(warning.category, UserWarning)
        assert known, f"{warning.category.__name__}: {warning.message} ({told})"


def _check_command(path, arguments, told):
    """Run in this process; return whether it succeeded."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} ({told})") from error
    lines = err.getvalue().splitlines()
    said = [line for line in lines if not line.startswith("tensift: warning: ")]
    if status == 0:
        assert not said, f"unexpected words: {said} ({told})"
    else:
        assert status == 1, f"exit status {status} of {arguments[0]} ({told})"
        one_line = len(said) == 1 and said[0].startswith("tensift: error: ")
        assert one_line, f"not one line of error: {lines} ({told})"
        assert path.name in said[0], f"the file is not named: {said[0]} ({told})"
        # What is told before the error is found is fine, but results are not.
        assert "written" not in out.getvalue(), told
    return status == 0
