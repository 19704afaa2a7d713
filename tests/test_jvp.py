"""Forward mode: tangents of every op, of programs with branches and loops, nested, on both targets.

What tangents should be is told by finite differences and by JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, slope
from samples.sampling import PHASE_FREE, TOGETHER, samples
from test_ops import (
    as_function,
    direction_for,
    floating,
    flows,
    precise,
    separated,
    spread,
    takes,
)

import tracegrad as tg
from tracegrad import config
from tracegrad.ops.record import TABLE
from tracegrad.tree import flatten, map_tree

differentiable = pytest.mark.parametrize(
    "op",
    [op for op in TABLE.values() if op.vjp is not None and op.name not in TOGETHER],
    ids=lambda op: op.name,
)
X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, -2.0, 0.5])


@pytest.fixture(autouse=True)
def verified_graphs(monkeypatch):
    """Every graph is verified between passes."""
    monkeypatch.setattr(config, "check", True)


def flat(tree: Any) -> np.ndarray:
    """All numbers of a pytree."""
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in flatten(tree)[0]])


def moved(primals: Any, tangents: Any, h: float) -> Any:
    return map_tree(lambda x, v: x + h * v, primals, tangents)


def assert_tangent(f: Any, primals: Any, tangents: Any, rtol: float = 1e-6, **settings: Any) -> Any:
    """The value is the function's, and the tangent that of differences; gives the tangent."""
    out, dot = tg.jvp(f, primals, tangents, **settings)
    expected = f(*primals)
    assert flatten(out)[1] == flatten(expected)[1] == flatten(dot)[1]
    assert_close(flat(out), flat(expected), 1e-12)
    for y, t in zip(flatten(out)[0], flatten(dot)[0], strict=True):
        assert np.shape(y) == np.shape(t) and np.asarray(y).dtype == np.asarray(t).dtype
    assert_close(
        flat(dot), slope(lambda h: flat(f(*moved(primals, tangents, h)))), rtol=rtol, atol=1e-7
    )
    return dot


# -- ops ----------------------------------------------------------------------------------------


@differentiable
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tangents_of_ops_against_differences(op, dtype):
    if dtype == "complex128" and op.name in PHASE_FREE:
        dtype = "float64"
    for sample in spread(samples(op, dtype), 6):
        if not takes(op, sample) or not flows(op, sample) or not precise(sample):
            continue
        xs, rest = separated(sample)
        f = as_function(op, sample)
        v = direction_for(op, xs, 5)

        def at(xs: Any, f: Any = f, rest: Any = rest) -> list[Any]:
            y = f(xs, rest)
            several = y if isinstance(y, tuple | list) else [y]
            return [y for y in several if np.asarray(y).dtype.kind in "fc"]

        def along(h: float, xs: Any = xs, v: Any = v, at: Any = at) -> np.ndarray:
            return flat(at(tuple(x + h * d for x, d in zip(xs, v, strict=True))))

        with np.errstate(all="ignore"):
            _, found = tg.jvp(at, (xs,), (v,))
            expected = slope(along)
        if np.all(np.isfinite(expected)):
            assert_close(flat(found), expected, rtol=1e-6, atol=1e-6, what=str(sample))


@differentiable
def test_eager_and_compiled_tangents_have_the_same_bits(op, monkeypatch):
    for sample in spread(samples(op, "float64"), 3):
        if not flows(op, sample) or not floating(sample.operands):
            continue
        xs, rest = separated(sample)
        f = as_function(op, sample)
        v = direction_for(op, xs, 7)

        def at(xs: Any, f: Any = f, rest: Any = rest) -> list[Any]:
            y = f(xs, rest)
            several = y if isinstance(y, tuple | list) else [y]
            return [y for y in several if np.asarray(y).dtype.kind in "fc"]

        with np.errstate(all="ignore"):
            compiled = tg.jvp(at, (xs,), (v,))
            monkeypatch.setattr(config, "compile", False)
            eager = tg.jvp(at, (xs,), (v,))
            monkeypatch.setattr(config, "compile", True)
        assert_same_bits(compiled, eager, str(sample))
