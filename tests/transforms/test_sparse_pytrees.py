"""Sparse derivatives of pytrees are the dense blocks, each a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.values.pytree import flatten

sparse = pytest.importorskip("scipy.sparse")

X = np.linspace(-1.0, 1.0, 12)
MODES = ("auto", "forward", "reverse")


def agree(f, *args, kind="jacobian", derivative=None, **given):
    """The sparse blocks are the dense ones in structure, shapes, dtypes and values."""
    own = derivative or getattr(tg, kind)(f, sparse=True, **given)
    found, of_found = flatten(own(*args))
    dense, of_dense = flatten(getattr(tg, kind)(f, **given)(*args))
    assert of_found == of_dense
    for block, expected in zip(found, dense, strict=True):
        assert type(block) is sparse.csr_array and block.has_sorted_indices
        assert block.dtype == np.asarray(expected).dtype
        tolerance = 1e-5 if block.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(
            block.toarray(), np.reshape(expected, block.shape), rtol=tolerance, atol=tolerance
        )
    return own


def first_line(derivative):
    return derivative.explain().splitlines()[0]


@dataclass
class Chain:
    places: Any
    stiffness: Any
    name: str = "chain"


class Both(NamedTuple):
    one: Any
    two: Any


def of_dict(p):
    return {
        "steps": np.diff(p["w"]) ** 2,
        "rest": (p["b"].T * p["b"], np.sum(p["b"] * p["w"][:4].reshape(2, 2))),
    }


def of_chain(chain):
    return [chain.stiffness * np.diff(chain.places), chain.stiffness**2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (of_dict, {"w": X, "b": X[:4].reshape(2, 2) + 1.0}),
        (of_chain, Chain(X, np.exp(X[1:]))),
        (lambda p: Both(p[0] * p[1][::-1], p[1][:3]), [X, X**2]),
        (lambda p: p.one[1:] * p.two[0][:-1] + p.two[1], Both(X, (X + 2.0, 3.0))),
        (lambda x: (x, x, np.ones(3), x[2]), X),
        (lambda p: p["x"] * p["k"], {"x": X, "k": 2, "name": "k", "none": None}),
        (lambda p: [p[0] * 2.0, p[1][:0]], [X, X]),
        (lambda p: {"only": p["only"] ** 2}, {"only": X.reshape(3, 4)}),
    ],
)
def test_jacobians(f, x, mode):
    own = agree(f, x, mode=mode)
    agree(f, x, mode=mode, derivative=own)


@pytest.mark.parametrize("mode", MODES)
def test_several_arguments(mode):
    def f(x, s, y):
        return x[1:] * y[:-1], y * s

    own = agree(f, X, 2.0, X + 3.0, argnums=(0, 2, 1), mode=mode)
    agree(f, -X, 1.0, X * X, argnums=(0, 2, 1), mode=mode, derivative=own)
    agree(f, X, 2.0, X + 3.0, argnums=(-1,), mode=mode)
    agree(f, X.astype("float32"), 2.0, X + 3.0, argnums=(0, 2), mode=mode)


@pytest.mark.parametrize(
    ("f", "args", "argnums"),
    [
        (lambda p: np.sum(np.diff(p["w"]) ** 2) * p["s"], ({"w": X, "s": 2.0},), 0),
        (lambda c: np.sum(c.stiffness * np.diff(c.places) ** 2), (Chain(X, np.exp(X[1:])),), 0),
        (lambda a, b: np.sum(a**2 * b) * b[0] + a[1] * b[2], (X, X + 1.0), (0, 1)),
        (lambda a, b: np.sum(a**2 * b), (X.astype("float32"), X + 1.0), (1, 0)),
        (lambda p: p[0][0] * np.sum(p[1] ** 3), ([X, X + 2.0],), 0),
    ],
)
def test_hessians(f, args, argnums):
    """Entries of one block are read from products of another, by the star colouring."""
    own = agree(f, *args, kind="hessian", argnums=argnums)
    agree(f, *args, kind="hessian", argnums=argnums, derivative=own)


def test_blocks_share_products():
    def f(x, y):
        return np.diff(x) * y[1:], x + np.roll(y, 1)

    own = agree(f, X, X + 1.0, argnums=(0, 1))
    assert first_line(own) == "sparse: 23 x 24, 57 nonzeros, 3 colours, forward mode"
    pattern = [row.split() for row in own.explain().splitlines()[1:24]]
    whole = np.block([[block.toarray() for block in row] for row in own(X, X + 1.0)])
    np.testing.assert_array_equal(np.array(pattern) != ".", whole != 0.0)


CAMERAS, POINTS = np.random.default_rng(1).integers(0, 4, (2, 20))


def sights(scene, camera, point):
    """Two rows a sight, which read a camera, a point and a weight."""
    cameras, points, weights = scene
    seen = points[point] - cameras[camera][:, :3]
    lens = 1.0 + np.sum(cameras[camera], axis=1) * np.sum(points[point], axis=1)
    error = (weights * lens)[:, None] * seen[:, :2] / (3.0 + seen[:, 2:])
    return {"error": error * cameras[camera][:, 3:], "weight": 1.0 - weights**2}


def test_derivatives_in_what_is_gathered_of_several():
    rng = np.random.default_rng(2)
    scene = [0.1 * rng.normal(size=shape) for shape in ((4, 4), (4, 3), (20,))]
    own = agree(sights, scene, CAMERAS, POINTS)
    assert "reverse mode up to where elements are read" in first_line(own)
    assert " 3 colours" in first_line(own)
    for _ in range(2):
        camera, point = rng.integers(0, 4, (2, 20))
        agree(sights, [2.0 * x for x in scene], camera, point, derivative=own)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (of_dict, {"w": X, "b": X[:4].reshape(2, 2) + 1.0}),
        (of_chain, Chain(X, np.exp(X[1:]))),
        (lambda p: Both(p[0][::-1], p[1][:3]), [X, X**2]),
        (lambda x: (x, x, np.ones(3), x[2]), X),
        (lambda p: p["x"][np.argsort(p["x"])] * p["k"], {"x": X, "k": 2.0}),
    ],
)
def test_by_elements_of_every_kind(f, x, monkeypatch):
    monkeypatch.setattr("tracegrad.transforms.sparse_derivatives.MANY_COLOURS", 0)
    monkeypatch.setattr("tracegrad.transforms.sparse_derivatives.DEARER", 0)
    own = agree(f, x)
    agree(f, x, derivative=own)


@pytest.mark.parametrize("mode", MODES)
def test_structures_that_values_decide(mode):
    """A path that returns another structure is another plan."""

    def f(p):
        return {"a": p["x"] * 2.0, "b": p["x"][1:]} if p["x"][0] > 0.0 else [p["x"] ** 2]

    own = tg.jacobian(f, sparse=True, mode=mode)
    for x in (X, -X, X + 3.0, X, -X):
        agree(f, {"x": x}, mode="forward", derivative=own)


@pytest.mark.parametrize("mode", MODES)
def test_other_structures_are_other_plans(mode):
    def f(p):
        values = list(p.values()) if isinstance(p, dict) else list(p)
        return [values[0][1:] * values[-1][:-1], *values]

    own = tg.jacobian(f, sparse=True, mode=mode)
    for p in ([X, X**2], {"a": X, "b": X**2}, (X,), [X, X**2], [X[:5], X[:5]]):
        agree(f, p, mode=mode, derivative=own)


def test_loops_stay_loops():
    def f(p):
        y = np.zeros(len(p["x"]))
        for i in range(1, len(y)):
            y[i] = p["x"][i] * p["k"][i - 1]
        return {"y": y, "last": y[-1]}

    p = {"x": np.linspace(0.0, 1.0, 60), "k": np.linspace(1.0, 2.0, 60)}
    own = agree(f, p)
    assert "\n    for i in range(" in own.source() and len(own.source().splitlines()) < 80
    assert " 2 colours" in first_line(own)


def test_has_aux():
    own = tg.jacobian(lambda p: ((p["x"][1:], p["x"]), p["x"].sum()), has_aux=True, sparse=True)
    (one, two), aux = own({"x": X})
    assert one["x"].shape == (11, 12) and two["x"].nnz == 12
    np.testing.assert_allclose(aux, X.sum(), atol=1e-12)


def test_eager(monkeypatch):
    monkeypatch.setattr(tg.config, "compile", False)
    for mode in MODES:
        agree(of_dict, {"w": X, "b": X[:4].reshape(2, 2) + 1.0}, mode=mode)
    agree(lambda p: np.sum(p["w"] ** 3) * p["s"], {"w": X, "s": 2.0}, kind="hessian")


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    p = {"w": X, "b": X[:4].reshape(2, 2) + 1.0}
    own = tg.jacobian(of_dict, sparse=True, backend="jax")
    for _ in range(2):
        agree(of_dict, p, derivative=own)
    held = {name: jnp.asarray(x) for name, x in p.items()}
    found = tg.jacobian(of_dict, sparse=True)(held)["steps"]["w"]
    assert type(found) is sparse.csr_array and found.nnz == 22


def test_blocks_are_the_callers_own():
    own = tg.jacobian(of_dict, sparse=True)
    p = {"w": X, "b": X[:4].reshape(2, 2) + 1.0}
    first = own(p)["steps"]["w"]
    kept = first.toarray()
    first.data[:], first.indices[:], first.indptr[:] = 0.0, 0, 0
    np.testing.assert_array_equal(own(p)["steps"]["w"].toarray(), kept)


def test_refused_by_name():
    own = tg.jacobian(lambda p: p["x"] * 2.0, sparse=True)
    with pytest.raises(tg.errors.ArgumentError, match=r"p\['x'\].*int64"):
        own({"x": np.arange(3)})
    with pytest.raises(tg.errors.ArgumentError, match="holds no array"):
        own({})
    with pytest.raises(tg.errors.ArgumentError, match=r"p\['x'\].*complex"):
        own({"x": X + 1.0j})
    with pytest.raises(tg.errors.NotDifferentiableError, match=r"result\['n'\]"):
        tg.jacobian(lambda x: {"x": x, "n": np.argsort(x)}, sparse=True)(X)
    with pytest.raises(tg.errors.ArgumentError, match="argnums=2"):
        tg.jacobian(lambda x, y: x, argnums=(0, 2), sparse=True)(X, X)
    with pytest.raises(tg.errors.ArgumentError, match="no part of a program"):
        own({"x": tg.tensor([1.0, 2.0])})
