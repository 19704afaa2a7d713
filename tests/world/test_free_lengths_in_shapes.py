"""Lengths that the function reads stay free in the shapes, numbers and tests that it makes of them.

One program serves all lengths. Values, dtypes and errors are those of the function as it is,
gradients those of the eager tape; so it is for no rows, for one, and for lengths that are equal in
the first call only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

LENGTHS = (6, 4, 9, 2, 1, 0, 6)
"""The weights have 4 rows; the second call has as many."""


def rows_of(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 4))


# -- forms ----------------------------------------------------------------------------------------


def a_batch_and_a_width(x):
    n, d = x.shape
    return np.zeros((n, d)) + x.reshape(n, 2, d // 2).sum(axis=2).repeat(2, axis=1)


def a_shape_with_an_end(x):
    return np.ones((*x.shape[:-1], 4)) + np.zeros(x.shape[:-1] + (4,))


def a_shape_extended(x):
    return x.reshape((*x.shape, 1))[..., 0] * x.reshape((1, *x.shape))[0]


def parts_of_a_length(x):
    n = len(x)
    return x * n**2 + np.zeros(2 * n).sum() + np.ones(n + 1).sum()


FORMS: dict[str, Callable[[Any], Any]] = {
    "tg.zeros, shape": lambda x: tg.zeros((len(x), 4)),
    "tg.zeros, lengths": lambda x: tg.zeros(len(x), 4, dtype=np.float32),
    "tg.zeros, of a shape": lambda x: tg.zeros(x.shape),
    "tg.ones": lambda x: tg.ones(shape=(x.shape[0], 4)),
    "tg.empty": lambda x: tg.empty(len(x), 4) * 0,
    "tg.full": lambda x: tg.full((len(x), 4), 2.0),
    "tg.full, of a length": lambda x: tg.full((len(x), 4), len(x)),
    "np.full, of a length": lambda x: np.full((len(x), 4), len(x)),
    "tg.arange": lambda x: tg.arange(len(x))[:, None],
    "tg.arange, of floats": lambda x: tg.arange(0, len(x), dtype=float)[:, None],
    "tg.eye": lambda x: tg.eye(len(x)) @ x,
    "tg.eye, wide": lambda x: tg.eye(len(x), 4, k=1),
    "tg.tri": lambda x: tg.tri(len(x)) @ x,
    "tg.identity": lambda x: tg.identity(len(x)) @ x,
    "tg.linspace": lambda x: tg.linspace(0.0, 1.0, len(x))[:, None],
    "np.linspace": lambda x: np.linspace(0.0, 1.0, len(x))[:, None],
    "np.linspace, to a length": lambda x: np.linspace(0, len(x), len(x), endpoint=False)[:, None],
    "np.linspace, of values": lambda x: np.linspace(np.sum(x), 1.0, len(x))[:, None],
    "reshape, the same": lambda x: x.reshape(len(x), 4),
    "reshape, apart": lambda x: x.reshape(len(x), 2, 2).sum(axis=1) @ np.ones((2, 4)),
    "reshape, in columns": lambda x: x.reshape((len(x), 4), order="F"),
    "np.reshape": lambda x: np.reshape(x, (len(x) * 2, 2)).reshape(x.shape),
    "tg.reshape": lambda x: tg.reshape(x, (4, len(x))).T,
    "reshape, flat": lambda x: x.ravel().reshape(x.shape[0], x.shape[1]),
    "reshape, by size": lambda x: x.reshape(x.size).reshape(x.shape),
    "reshape, by a product": lambda x: x.reshape(len(x) * x.shape[1]).reshape(-1, 4),
    "np.broadcast_to": lambda x: np.broadcast_to(x.sum(axis=0), (len(x), 4)),
    "tg.broadcast_to": lambda x: tg.broadcast_to(x.sum(axis=0), x.shape),
    "np.tile": lambda x: np.tile(x.sum(axis=0), (len(x), 1)),
    "tg.tile": lambda x: tg.tile(x.sum(axis=0), len(x)).reshape(len(x), 4),
    "np.repeat": lambda x: np.repeat(x.sum(axis=0, keepdims=True), len(x), axis=0),
    "repeat": lambda x: x.sum(axis=0, keepdims=True).repeat(len(x), axis=0),
    "np.shape, np.size": lambda x: np.zeros(np.shape(x)) + np.zeros(np.size(x)).sum(),
    "a product with a length": lambda x: x * len(x) + x * (2.5 * len(x)),
    "a slice": lambda x: x[: len(x)] * 2.0,
    **{
        f.__name__: f
        for f in (a_batch_and_a_width, a_shape_with_an_end, a_shape_extended, parts_of_a_length)
    },
}

FROM_ONE_ON: dict[str, Callable[[Any], Any]] = {
    "reshape, rest": lambda x: x.reshape(len(x), -1),
    "np.reshape, rest": lambda x: np.reshape(x, (x.shape[0], -1)),
    "reshape, rest of several": lambda x: x.reshape(len(x), -1, 2).sum(axis=2) @ np.ones((2, 4)),
    "a mean": lambda x: x - x.sum(axis=0) / len(x),
    "a float": lambda x: x * (1.0 / len(x)) + x / float(len(x)) + x / np.float64(len(x)),
    "roots": lambda x: x / np.sqrt(len(x)) + x / math.sqrt(x.shape[0]) + x * len(x) ** -0.5,
    "a logarithm": lambda x: x * np.log(len(x)) + x * math.log(len(x)),
    "a scale of single precision": lambda x: x.astype(np.float32) * (1.0 / np.sqrt(len(x)) * 2),
}
"""Of no rows they divide by 0, or there is no telling what -1 stands for."""


ALL = {**FORMS, **FROM_ONE_ON}


def weights() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 4))


def program(f: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def program(w: Any, x: Any) -> Any:
        return np.sum(f(x @ w) * (x @ w)) + np.sum(f(x))

    return program


def outcome(function: Callable[..., Any], *given: Any) -> Any:
    """The results as arrays; of an error what it is in Python."""
    try:
        with np.errstate(all="ignore"):
            found = function(*given)
    except (ValueError, ZeroDivisionError) as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def eagerly(function: Callable[..., Any], *given: Any) -> Any:
    tg.config.compile = False
    try:
        return function(*given)
    finally:
        tg.config.compile = True


def assert_alike(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, type):
        assert found is wanted, what
    else:
        assert not isinstance(found, type), what
        assert_same_bits(found, wanted, what)


def most_versions(form: str) -> int:
    """Those that lengths decide: no rows give an error, or another function."""
    return 1 + (form in FROM_ONE_ON)


def numbers_of_rows(form: str) -> list[int]:
    return [n for n in LENGTHS if n or form in FORMS]


# -- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ALL)
def test_values(form: str) -> None:
    for of in (np.array, tg.tensor):
        compiled = tg.compile(ALL[form])
        for n in LENGTHS:
            x = rows_of(n)
            assert_alike(outcome(compiled, of(x)), outcome(ALL[form], x), f"{n} rows")
        assert compiled.cache_info().versions <= most_versions(form)


@pytest.mark.parametrize("form", ALL)
def test_gradients(form: str) -> None:
    function = program(ALL[form])
    compiled = tg.value_and_grad(function, argnums=(0, 1))
    for n in numbers_of_rows(form):
        given = weights(), rows_of(n)
        found = compiled(*given)
        wanted = eagerly(tg.value_and_grad(function, argnums=(0, 1)), *given)
        for a, b in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True):
            assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
            assert np.allclose(a, b, 1e-12, 1e-12), n
    assert compiled.cache_info().versions <= most_versions(form)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ALL)
def test_jacobians_and_batches(form: str) -> None:
    def sums(x: Any) -> Any:
        return np.sum(ALL[form](x) * x, axis=0)

    jacobian, batched = tg.jacobian(sums), tg.compile(tg.vmap(ALL[form]))
    for n in numbers_of_rows(form)[:5]:
        x = rows_of(n)
        wanted = eagerly(tg.jacobian(sums), x)
        assert np.allclose(jacobian(x), wanted, 1e-12, 1e-12), n
        several = np.stack([x, x + 1.0])
        each = np.stack([np.asarray(ALL[form](x)) for x in several])
        assert np.allclose(batched(several), each, 1e-12, 1e-12), n
    assert jacobian.cache_info().versions == batched.cache_info().versions == 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", ALL)
def test_in_jax(form: str) -> None:
    function = program(ALL[form])
    in_jax = tg.value_and_grad(function, backend="jax")
    for n in (6, 3):
        given = weights(), rows_of(n)
        value, gradient = in_jax(*given)
        wanted = eagerly(tg.value_and_grad(function), *given)
        assert np.allclose(value, wanted[0], 1e-5, 1e-5)
        assert np.allclose(gradient, wanted[1], 1e-4, 1e-4)


@pytest.mark.sampled(5, 1)
@pytest.mark.parametrize("form", ALL)
def test_exported(form: str, tmp_path: Path) -> None:
    function = program(ALL[form])
    path = tmp_path / "exported.py"
    tg.compile(function).export(path, weights(), rows_of(6))
    scope: dict[str, Any] = {}
    exec(path.read_text(), scope)
    exported = scope["program"]
    for n in numbers_of_rows(form):
        assert np.allclose(exported(weights(), rows_of(n)), function(weights(), rows_of(n))), n


@pytest.mark.usefixtures("fresh_loops")
def test_loops_read_such_arrays() -> None:
    def f(w, x):
        n, d = x.shape
        pairs, times = x.reshape(n, 2, d // 2), np.linspace(0.0, 1.0, n)
        state, scale = tg.zeros(d), 1.0 / np.sqrt(n)
        out = tg.zeros(n, d)
        for i in range(n):
            state = np.tanh(state @ w + pairs[i].reshape(d) * times[i]) * scale
            out[i] = state
        return np.sum(out.reshape(n, -1) ** 2) / n

    compiled = tg.value_and_grad(f)
    for n in (12, 20, 9, 33):
        given = weights(), rows_of(n)
        value, gradient = compiled(*given)
        wanted = eagerly(tg.value_and_grad(f), *given)
        assert np.allclose(value, wanted[0]) and np.allclose(gradient, wanted[1])
    assert compiled.cache_info().versions == 1


# -- shapes that do not fit, and lengths that are compared ----------------------------------------


def to_that_of_another(x, y):
    return x.reshape(len(y), 4) * 2.0


def to_fewer(x, y):
    return x.reshape(len(x) - 3, 2, -1)


def to_pairs(x, y):
    return x.reshape(len(x) // 2, 2, 4).sum(axis=1) * y[: len(y) // 2]


def spread(x, y):
    return np.broadcast_to(x, (len(y), 4)) + np.zeros(len(y) - 1).sum()


def repeated(x, y):
    return np.repeat(x, len(y) // 2, axis=0) * np.repeat(x, 3 * len(y) // 6, axis=0)


def counted(x, y):
    return x.sum() * np.arange(2, len(y)) + tg.arange(len(y) - 2) + tg.linspace(0, 1, len(y) - 2)


def of_one_shape(x, y):
    if x.shape != y.shape:
        raise ValueError("two shapes")
    assert len(x) == len(y) and x.shape[1] == 4
    return x * y


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize(
    "function",
    [to_that_of_another, to_fewer, to_pairs, spread, repeated, counted, of_one_shape],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("first", [(5, 5), (4, 4), (6, 6), (1, 5)], ids=str)
def test_each_call_has_its_own_outcome(function: Any, first: tuple[int, int]) -> None:
    compiled = tg.compile(function)
    rest = [(4, 4), (6, 6), (5, 6), (1, 6), (1, 1), (0, 0), (6, 4), (3, 3), (2, 2), (1, 0), (7, 7)]
    for n, m in (first, *rest):
        given = rows_of(n), rows_of(m)
        assert_alike(outcome(compiled, *given), outcome(function, *given), f"{n} and {m} rows")


def test_equal_lengths_are_a_guard() -> None:
    compiled = tg.compile(of_one_shape)
    for n in (5, 6, 4, 1, 0):
        compiled(rows_of(n), rows_of(n))
    assert compiled.cache_info().versions == 1


# -- numbers of lengths that Python looks at ------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[: int(len(x) * 0.5)] * 2.0,
        lambda x: x * len(f"{1.0 / len(x)}"),
        lambda x: x if 1.0 / len(x) < 0.2 else -x,
        lambda x: {1.0 / len(x): x}[1.0 / len(x)] * round(len(x) / 3),
        lambda x: (1.0 / len(x), np.sqrt(len(x)), len(x) // 2, x.size, x),
        lambda x: sum([x] * (len(x) // 2), 0.0),
    ],
)
def test_what_is_looked_at_is_that_of_the_call(function: Any) -> None:
    compiled = tg.compile(function)
    for n in (6, 4, 9, 2, 1, 6):
        found, wanted = compiled(rows_of(n)), function(rows_of(n))
        assert_same_bits(found, wanted, f"{n} rows")
        if isinstance(wanted, tuple):
            assert [type(x) for x in found] == [type(x) for x in wanted]


def test_the_source_is_that_of_any_length() -> None:
    def f(w, x):
        h = x.reshape(len(x), -1) @ w
        return tg.zeros(len(x), 4) + h / np.sqrt(len(x)) + np.zeros(2 * len(x)).sum()

    compiled = tg.compile(f)
    compiled(weights(), np.ones((3, 2, 2)))
    source = compiled.source()
    assert "x.reshape((x.shape[0], w.shape[0]))" in source
    assert "np.sqrt(x.shape[0])" in source
    assert "np.zeros(2 * x.shape[0])" in source
