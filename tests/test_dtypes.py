"""Every result has the dtype that plain Python gives it, whatever a program writes as a literal.

Gradients of sums are numbers that are repeated, and programs write them as literals. Compiled and
eager calls are compared in kind: the class of each leaf, a number of Python's or of NumPy's, and
its dtype. Where results are NumPy's their bits are compared as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, flatten, map_tree
from programs import PROGRAMS, Program

import tracegrad as tg
from tracegrad import config


def kinds(tree: Any) -> list[Any]:
    """Of each leaf its class, dtype and shape."""
    return [(type(x).__name__, str(getattr(x, "dtype", "")), np.shape(x)) for x in flatten(tree)[0]]


def assert_alike(monkeypatch: Any, make: Callable[[], Any], args: Any, bits: bool = True) -> Any:
    """A first and a second call are of the kind of an eager one; the eager result."""
    made = make()
    found = [made(*args), made(*args)]
    with monkeypatch.context() as context:
        context.setattr(config, "compile", False)
        expected = make()(*args)
    for result in found:
        assert kinds(result) == kinds(expected)
        if bits:
            assert_same_bits(result, expected)
    return expected


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


# -- gradients that are numbers -------------------------------------------------------------------

COUNTS = np.array([1, 0, 2])


def taken_arm(x):
    return np.sum(x) if x[0] > 0 else np.sum(x * x)


def turns(x):
    total = np.float32(0)
    for _ in range(5):
        total = total + np.sum(x)
    return total


def written(x):
    y = np.zeros(4, x.dtype)
    y[1:] = x
    return np.sum(y)


LINEAR: dict[str, Callable[[Any], Any]] = {
    "a sum": lambda x: np.sum(x),
    "twice": lambda x: np.sum(x) * np.float16(2),
    "a whole factor": lambda x: np.sum(x) * 3,
    "reshaped": lambda x: np.sum(x.reshape(-1)),
    "joined": lambda x: np.sum(np.concatenate([x, x])),
    "stacked": lambda x: np.stack([x, x], axis=1).sum(axis=0).sum(),
    "repeated": lambda x: np.sum(np.full(3, np.sum(x))),
    "like another": lambda x: np.sum(np.full_like(x, np.sum(x))),
    "between": lambda x: np.sum(np.linspace(np.sum(x), 2 * np.sum(x), 4)),
    "chosen by whole numbers": lambda x: np.sum(np.where(COUNTS, x, x)),
    "chosen numbers": lambda x: np.sum(np.where(COUNTS, np.sum(x), np.sum(x) * 2)),
    "a taken arm": taken_arm,
    "turns": turns,
    "written to": written,
    "a number alone": lambda x: x[0],
    "the mean": lambda x: x.mean(),
}
WITHIN: dict[str, Callable[[Any], Any]] = {
    "compile": lambda f: tg.compile(lambda x: tg.grad(f)(x)),
    "value": lambda f: tg.compile(lambda x: tg.value_and_grad(f)(x)),
    "grad": lambda f: tg.grad(lambda x: np.sum(tg.grad(f)(x) * x)),
    "value_and_grad": lambda f: tg.value_and_grad(lambda x: np.sum(tg.grad(f)(x) * x)),
    "jacobian": lambda f: tg.jacobian(lambda x: tg.grad(f)(x) * x),
    "jvp": lambda f: lambda x: tg.jvp(tg.grad(f), (x,), (x,)),
    "hvp": lambda f: lambda x: tg.hvp(lambda x: np.sum(tg.grad(f)(x) * x * x), (x,), (x,)),
    "vjp": lambda f: lambda x: tg.vjp(tg.grad(f), x)[1](x),
    "itself": lambda f: tg.value_and_grad(f),
}


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_gradients_that_are_numbers(monkeypatch, f, dtype, few):
    x = np.array([1, 2, 3], dtype)
    for within in few(list(WITHIN.values()), 2):
        assert_alike(monkeypatch, lambda within=within: within(f), (x,))
    result = assert_alike(monkeypatch, lambda: tg.vmap(tg.grad(f)), (np.stack([x, x]),))
    assert result.dtype == dtype


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_gradients_that_are_numbers_in_jax(f):
    x = np.array([1, 2, 3], "float32")
    value, gradient = tg.compile(lambda x: tg.value_and_grad(f)(x), backend="jax")(x)
    assert gradient.dtype == value.dtype == x.dtype
    assert tg.vmap(tg.grad(f), backend="jax")(np.stack([x, x])).dtype == x.dtype


def test_of_several_arguments(monkeypatch):
    x, y = np.ones(3, "float32"), np.ones(3, "float16")
    both = tg.grad(lambda x, y: np.sum(x - y), (0, 1))
    assert_alike(monkeypatch, lambda: tg.compile(lambda x, y: both(x, y)), (x, y))
    tree = tg.grad(lambda p: np.sum(p["w"]) + np.sum(p["b"] * p["b"]))
    assert_alike(monkeypatch, lambda: tg.compile(lambda p: tree(p)), ({"w": x, "b": x},))


@pytest.mark.parametrize(
    "b", [1.0, np.float32(1), np.float64(1), np.array(1, "float32"), np.float16(1)], ids=repr
)
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_of_a_number_that_is_added(monkeypatch, b, argnums):
    taken = tg.grad(lambda x, b: np.sum(x * 2 + b), argnums)
    x = np.ones(3, "float32")
    assert_alike(monkeypatch, lambda: tg.compile(lambda x, b: taken(x, b)), (x, b))
    assert_alike(monkeypatch, lambda: taken, (x, b))


# -- numbers of Python's that are differentiated ---------------------------------------------------

OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda r: r,
    "negative": lambda r: -r,
    "absolute": lambda r: abs(r),
    "absolute, then more": lambda r: abs(r - 1) ** 1.5,
    "absolute, of NumPy": lambda r: np.abs(r),
    "power": lambda r: 2**r + r**2 + r**-0.5 + r**r,
    "quotient": lambda r: 1 / r + r % 1,
}


@pytest.mark.parametrize("g", OF_NUMBERS.values(), ids=OF_NUMBERS)
@pytest.mark.parametrize("r", [0.7, np.float32(0.7), np.float64(0.7)], ids=repr)
def test_numbers_beside_single_precision(monkeypatch, g, r):
    x = np.array([1, 2, 3], "float32")
    taken = tg.value_and_grad(lambda x, r: np.sum(x * g(r)), (0, 1))
    value, _ = assert_alike(monkeypatch, lambda: taken, (x, r))
    assert value.dtype == (x * g(r)).dtype
    assert_alike(monkeypatch, lambda: tg.compile(lambda x, r: taken(x, r)), (x, r))


# -- the corpus -----------------------------------------------------------------------------------


def single(program: Program) -> Any:
    """The arguments in single precision; numbers of Python's stay."""

    def leaf(x: Any) -> Any:
        of_numpy = isinstance(x, np.ndarray | np.generic)
        return x.astype("float32") if of_numpy and x.dtype.kind == "f" else x

    return map_tree(leaf, program.args)


def derived(program: Program) -> Any:
    """The value, the gradient, and that of what is linear besides."""
    f, places = program.new(), program.positions

    def more(*args: Any) -> Any:
        value = f(*args)
        linear = sum(np.sum(leaf) for i in places for leaf in flatten(args[i])[0])
        return (value[0] if program.has_aux else value) + linear

    def both(*args: Any) -> Any:
        plain = tg.value_and_grad(f, places, has_aux=program.has_aux)
        return plain(*args), tg.grad(more, places)(*args)

    return tg.compile(both)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if not p.static_argnames], ids=lambda p: p.name
)
def test_programs_in_single_precision(monkeypatch, program):
    assert_alike(monkeypatch, lambda: derived(program), single(program))
