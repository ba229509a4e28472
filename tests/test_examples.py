"""The examples run, write their picture, and print what explicit loops over slices give as well."""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.fft

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(monkeypatch):
    """Import an example as a script finds its neighbours."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def run_fast(module, folder, capsys, *options):
    """Results, and what was printed; the picture has to be there, alone."""
    results = module.main(["--fast", "--output", str(folder), *options])
    (picture,) = folder.iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert f"picture: {picture}" in printed
    return results, printed


def slice_bases(train, axes=(2,)):
    """Singular values `(s, slice, number)`, largest first, and bases, from a loop over slices."""
    slices = scipy.fft.dctn(train - train.mean(axis=0), axes=axes, norm="ortho")
    slices = slices.reshape(len(train), train.shape[1], -1)
    bases, order = [], []
    for j in range(slices.shape[2]):
        _, values, directions = np.linalg.svd(slices[:, :, j], full_matrices=False)
        bases.append(directions)
        order += [(value, j, i) for i, value in enumerate(values)]
    return sorted(order, reverse=True), bases


def reconstruct(images, mean, order, bases, weight, axes=(2,)):
    """Keep `weight(s)` of every component with singular value s."""
    slices = scipy.fft.dctn(images - mean, axes=axes, norm="ortho")
    flat = slices.reshape(len(images), slices.shape[1], -1)
    kept = np.zeros_like(flat)
    for value, j, i in order:
        u = bases[j][i]
        kept[:, :, j] += weight(value) * np.outer(flat[:, :, j] @ u, u)
    return scipy.fft.idctn(kept.reshape(slices.shape), axes=axes, norm="ortho") + mean


def lost(images, back, mean):
    return np.sum((images - back) ** 2) / np.sum((images - mean) ** 2)


def psnr(back, clean):
    return 10 * np.log10(1 / np.mean((back - clean) ** 2))


def test_compress(example, tmp_path, capsys):
    module, common = example("compress"), example("_common")
    results, printed = run_fast(module, tmp_path, capsys)
    images, _ = common.load_images("patches", fast=True)
    fitted, held_out = common.split(len(images))
    assert not set(fitted) & set(held_out)
    train, test = images[fitted], images[held_out]
    mean, (n, q, p) = train.mean(axis=0), train.shape
    budget = int(0.2 * train.size)

    count = (budget - q * p) // (n + q * p)
    basis = np.linalg.svd((train - mean).reshape(n, -1), full_matrices=False)[2][:count]
    back = ((test - mean).reshape(len(test), -1) @ basis.T @ basis).reshape(test.shape) + mean
    row = next(r for r in results if r.method == "PCA" and r.share == 0.2)
    assert (row.numbers, row.coordinates) == (q * p + count * (n + q * p), count)
    assert row.held_out == pytest.approx(lost(test, back, mean), rel=1e-8)

    count = (budget - q * p) // (n + q + 1)
    order, bases = slice_bases(train)
    name = "TensorPCA global, dct, orientation 0"
    row = next(r for r in results if r.method == name and r.share == 0.2)
    assert (row.numbers, row.coordinates) == (q * p + count * (n + q + 1), count)
    for images, error in ((train, row.fitted), (test, row.held_out)):
        back = reconstruct(images, mean, order[:count], bases, lambda value: 1)
        assert error == pytest.approx(lost(images, back, mean), rel=1e-8)
    assert f"{name:44}   0.20 {row.numbers:8d} {count:11d} {row.fitted:7.4f}" in printed
    assert all(r.numbers <= r.share * train.size for r in results)
    best = min((r for r in results if r.share == 0.2), key=lambda r: r.held_out)
    assert f"least lost at 20% of the numbers: {best.method} ({best.held_out:.4f})" in printed


def test_compress_says_what_tucker_and_cp_need(example, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorly", None)
    results, printed = run_fast(example("compress"), tmp_path, capsys, "--data", "digits")
    assert "pip install tensorly" in printed
    assert not {"Tucker", "CP"} & {r.method for r in results}


def test_denoise(example, tmp_path, capsys):
    module, common = example("denoise"), example("_common")
    results, printed = run_fast(module, tmp_path, capsys)
    rows = {r.method: r for r in results}
    clean, _ = common.load_images("patches", fast=True)
    noisy = clean + module.NOISE * np.random.default_rng(0).normal(size=clean.shape)
    sigma, mean, (n, q, _) = module.noise_level(noisy), noisy.mean(axis=0), noisy.shape
    assert sigma == pytest.approx(module.NOISE, rel=0.1)
    assert module.threshold(100, 100, 1.0) == pytest.approx(4 / math.sqrt(3) * 10)
    assert rows["noisy"].psnr == pytest.approx(psnr(noisy, clean))

    order, bases = slice_bases(noisy)
    cut = module.threshold(n, q, sigma)
    kept = [one for one in order if one[0] > cut]
    row = rows["TensorPCA, dct, orientation 0"]
    back = reconstruct(noisy, mean, kept, bases, lambda value: 1)
    assert (row.components, row.psnr) == (len(kept), pytest.approx(psnr(back, clean)))
    assert row.psnr <= row.best_psnr + 1e-9 or row.components not in range(1, 21)

    # Norms of components shrink each one by 1 - lam / (2 energy), at most `rank` in a slice.
    rank = max(np.bincount([j for _, j, _ in kept]))
    noise = (sigma * (math.sqrt(n) + math.sqrt(q))) ** 2
    leading = [one for one in order if one[2] < rank]
    back = reconstruct(noisy, mean, leading, bases, lambda value: max(0, 1 - noise / value**2))
    sparse = rows["SparseTensorPCA, components, dct"]
    assert sparse.psnr == pytest.approx(psnr(back, clean), abs=1e-3)
    best = max(results, key=lambda r: r.psnr)
    assert f"highest PSNR: {best.method} ({best.psnr:.2f} dB)" in printed


def test_component_map(example, tmp_path, capsys):
    found, printed = run_fast(example("component_map"), tmp_path, capsys)
    images, _ = example("_common").load_images("digits", fast=True)
    energy = np.sum((images - images.mean(axis=0)) ** 2)
    order, _ = slice_bases(images)
    share = sum(value**2 for value, _, _ in order[:2]) / energy
    assert found["TensorPCA, dct, orientation 0"][0] == pytest.approx(share, rel=1e-8)
    # No two directions hold more energy than those of PCA.
    assert all(ratio <= found["PCA"][0] + 1e-12 for ratio, _ in found.values())
    for name, (ratio, accuracy) in found.items():
        assert f"{name:34} {ratio:7.3f} {accuracy:16.3f}" in printed


def test_higher_order(example, tmp_path, capsys):
    module = example("higher_order")
    (cases, found), printed = run_fast(module, tmp_path, capsys)
    rng = np.random.default_rng(0)
    train, test = module.make_clips(40, rng), module.make_clips(200, rng)
    order, bases = slice_bases(train, axes=(2, 3))
    n, q, *others = train.shape
    mean = train.mean(axis=0)
    for share, value in zip(
        module.SHARES, module.losses(train, test, 0, ("dct", "dct")), strict=False
    ):
        count = int((share * train.size - mean.size) // (n + q + 1))
        back = reconstruct(test, mean, order[:count], bases, lambda value: 1, axes=(2, 3))
        assert value == pytest.approx(lost(test, back, mean), rel=1e-8)

    # Under the identity it does not matter whether the other two modes are two or one.
    merged = [x.reshape(len(x), q, math.prod(others)) for x in (train, test)]
    np.testing.assert_allclose(
        module.losses(*merged, 0, ("identity",)),
        module.losses(train, test, 0, ("identity", "identity")),
        rtol=1e-8,
    )
    (rounds,) = cases.values()
    name, result = next(iter(rounds[0].items()))
    assert name == "three modes"
    assert f"{name:28}{result['chosen'][0]:8.3f} ±" in printed
    assert np.all(found["variance"] == 0)
