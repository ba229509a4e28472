"""Products of JAX are computed in full precision; other libraries are left alone."""

import sys

import numpy as np
import pytest

from tensift import GeometrySelector, STPCASelector, stpca_path
from tensift._utils.full_products import full_products
from tensift.moments import collect_moments
from tensift.solvers import on_device


@full_products
def seen():
    return sys.modules["jax"].config.jax_default_matmul_precision


@pytest.mark.slow
def test_jax_is_asked_for_full_precision_inside_and_not_outside():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    assert seen() == "highest"
    assert jax.config.jax_default_matmul_precision != "highest"


def test_nothing_is_needed_without_jax(monkeypatch):
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert full_products(lambda x, *, y: x + y)(1, y=2) == 3


def test_errors_pass():
    @full_products
    def fails():
        raise ValueError("this")

    with pytest.raises(ValueError, match="this"):
        fails()


@pytest.mark.slow
@pytest.mark.parametrize(
    "compute",
    [
        lambda X: STPCASelector(2, solver="paper", lam=0.1, eta=0.1, selection="top").fit(X),
        lambda X: GeometrySelector(2).fit(X),
        lambda X: collect_moments(X),
        lambda X: stpca_path(X, [0.1], [0.1], solver="paper"),
        lambda X: on_device.psd_part(X),
    ],
    ids=["fit", "geometry", "moments", "path", "psd_part"],
)
def test_everything_that_multiplies_asks(compute, monkeypatch):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    asked = []
    real = jax.default_matmul_precision
    monkeypatch.setattr(
        jax, "default_matmul_precision", lambda name: asked.append(name) or real(name)
    )
    X = np.random.default_rng(0).normal(size=(6, 4, 4))
    compute(jax.numpy.asarray(X + X.swapaxes(1, 2), dtype="float32"))
    assert asked
    assert set(asked) == {"highest"}
