"""Operators of an array and an object that is neither array nor number: NumPy's answer, or none.

Each program runs as plain Python does, compiled, differentiated and with ``compile = False``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import operator
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import DTypeError

X = np.array([1.0, 0.5, 3.0])


class Mode(enum.Enum):
    ONE = 1
    TWO = 2


@dataclasses.dataclass
class Point:
    """A class with an `__eq__` of its own, in Python."""

    x: float = 1.0


class Plain:
    """A class with the `__eq__` of `object`."""


OBJECTS: dict[str, Any] = {
    "enum": Mode.ONE,
    "bytes": b"a",
    "text": "a",
    "NumPy text": np.str_("a"),
    "dict": {1.0: 2.0},
    "set": {1.0},
    "range": range(3),
    "Decimal": Decimal(1),
    "Decimal that is no float": Decimal("0.1"),
    "Decimal nan": Decimal("nan"),
    "Fraction": Fraction(1, 2),
    "Fraction that is no float": Fraction(1, 3),
    "None": None,
    "object": Plain(),
    "class": int,
    "function": len,
    "dtype": np.dtype("float64"),
    "dataclass": Point(),
    "deque": deque([1.0, 2.0, 3.0]),
    "texts": ["a", "b", "c"],
}
REFUSED = {"dataclass", "deque", "texts"}
"""What NumPy compares element by element as the object's class says, or takes apart."""


@contextlib.contextmanager
def running(compiled: bool) -> Iterator[None]:
    """Runs programs, or everything eagerly."""
    tg.config.compile = compiled
    try:
        yield
    finally:
        tg.config.compile = True


def outcomes(f: Callable[[Any], Any], *args: Any) -> list[Any]:
    """What tracegrad gives in each way; the error's class and text where it raises."""
    found = []
    by = 0 if args[0].dtype.kind == "i" else (0, 1)
    both = tg.value_and_grad(lambda x, y: ((x * 1.0).sum(), f(y)), by, has_aux=True)
    ways: list[tuple[bool, Callable[..., Any]]] = [
        (True, tg.compile(f)),
        *((compiled, lambda y: both(X, y)[0][1]) for compiled in (True, False)),
    ]
    for compiled, ask in ways:
        with running(compiled):
            try:
                found.append(ask(*args))
            except Exception as error:
                found.append((type(error), str(error)))
    return found


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.sampled(5)
def test_comparisons_are_numpys_or_refused(name, dtype):
    other, x = OBJECTS[name], X.astype(dtype)
    for compare in (
        lambda x: x == other,
        lambda x: x != other,
        lambda x: other in x,
        lambda x: bool(np.all((x[0] == other) == (x[2] != other))),
    ):
        expected = compare(x)
        for found in outcomes(compare, x):
            if isinstance(found, tuple):
                assert name in REFUSED
                assert found[0] is DTypeError
                assert "test_unknown_operands.py" in found[1]
                assert "Tensor" not in found[1]
            else:
                assert type(found) is type(expected)
                np.testing.assert_array_equal(found, expected)


def test_a_match_of_an_array_is_ambiguous_as_in_numpy():
    def scaled(x, mode):
        match mode:
            case Mode.ONE:
                return x.sum()
            case "norm":
                return (x * 2.0).sum()
        return (x * mode).sum()

    for mode in (Mode.ONE, "norm", 3.0):
        assert tg.compile(scaled)(X, mode) == scaled(X, mode)
    with pytest.raises(ValueError, match="ambiguous"):
        scaled(X, X)
    with pytest.raises(ValueError, match="ambiguous"):
        tg.compile(scaled)(X, X)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(2)])
def test_a_fraction_on_the_right_of_a_number(name, q):
    op = getattr(operator, name)

    def f(x):
        return op(x[0], q) * x[1]

    def g(x):
        return op(x[0], float(q)) * x[1]

    for compiled in (True, False):
        with running(compiled):
            value, gradient = tg.value_and_grad(f)(X)
            assert value == f(X)
            np.testing.assert_array_equal(gradient, tg.grad(g)(X))
    assert type(tg.compile(lambda x: op(x[0], q))(X)) is type(op(X[0], q))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["add", "mul", "lt", "matmul"])
@pytest.mark.parametrize("other", [Fraction(1, 2), Decimal(1), None, {}, Mode.ONE], ids=repr)
def test_what_would_be_an_array_of_objects_is_refused(name, other, reverse):
    op = getattr(operator, name)

    def f(x):
        return op(other, x) if reverse else op(x, other)

    for kind, text in outcomes(f, X):
        assert issubclass(kind, TypeError)
        assert "test_unknown_operands.py" in text
        assert "Tensor" not in text
        assert type(other).__name__ in text
        assert "float(...)" in text or not isinstance(other, Fraction | Decimal)


def test_a_range_is_an_array():
    for f in (lambda x: (x * range(3)).sum(), lambda x: (range(3) - x[0] * x).sum()):
        for found in outcomes(f, X):
            assert found == f(X)
        np.testing.assert_allclose(tg.grad(f)(X), tg.jacfwd(f)(X))


def test_operands_that_decide_themselves():
    class Unit:
        """NumPy leaves operators to it."""

        __array_ufunc__ = None

        def __rmul__(self, x):
            return (x, "m")

        def __eq__(self, other):
            return "asked"

    unit = Unit()
    assert tg.compile(lambda x: x == unit)(X) == "asked"
    value, name = tg.compile(lambda x: x * unit)(X)
    np.testing.assert_array_equal(value, X)
    assert name == "m"


def on_right(other: Any) -> Any:
    return lambda operation: lambda x: operation(x, other)


def on_left(other: Any) -> Any:
    return lambda operation: lambda x: operation(other, x)


NUMBERS_BESIDE = {
    "list": on_right([1.0]),
    "list on the left": on_left([1.0]),
    "tuple": on_right((1.0, 2.0)),
    "range": on_right(range(2)),
    "deque": on_right(deque([1.0])),
    "None": on_right(None),
}
OPERATORS_OF_NUMBERS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.iadd, operator.imul, operator.lt, operator.ge, operator.matmul),
    *(operator.eq, operator.ne),
]
READS_OF_NUMBERS = {
    "x[()]": lambda x: x[()],
    "x[...]": lambda x: x[...],
    "x[None]": lambda x: x[None],
    "x[0]": lambda x: x[0],
    "x[:]": lambda x: x[:],
    "len(x)": lambda x: len(x),
    "for _ in x": lambda x: [y for y in x],
    "x.shape": lambda x: x.shape,
    "x[0] = 1.0": lambda x: operator.setitem(x, 0, 1.0),
}


def outcome_beside(f: Callable[[Any], Any], x: Any) -> Any:
    """What plain Python gives, or that it raises."""
    try:
        return f(x)
    except (TypeError, AttributeError) as error:
        return AttributeError if isinstance(error, AttributeError) else TypeError


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("beside", NUMBERS_BESIDE)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_number_of_python_is_none_of_numpy_beside_a_list(beside, compiled):
    for operation in OPERATORS_OF_NUMBERS:
        f = NUMBERS_BESIDE[beside](operation)
        expected = outcome_beside(f, 2.0)
        with running(compiled):
            for call in (
                lambda x, f=f: tg.compile(f)(x),
                lambda x, f=f: tg.value_and_grad(lambda x: (x * x, f(x)), has_aux=True)(x)[0][1],
                lambda x, f=f: tg.grad(lambda y, d: (y, f(d["x"])), has_aux=True)(1.0, {"x": x})[1],
            ):
                for _ in range(2):
                    found = outcome_beside(call, 2.0)
                    assert type(found) is type(expected), operation
                    assert found == expected, operation


@pytest.mark.parametrize("read", READS_OF_NUMBERS)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_number_of_python_has_no_items(read, compiled):
    f = READS_OF_NUMBERS[read]
    expected = outcome_beside(f, 2.0)
    with running(compiled):
        for call in (tg.compile(f), tg.value_and_grad(lambda x: (x * x, f(x)), has_aux=True)):
            assert outcome_beside(call, 2.0) is expected


def test_a_number_of_numpy_computes_with_lists():
    for x in (np.float64(2.0), np.array(2.0), tg.tensor(2.0)):
        value, gradient = tg.value_and_grad(lambda x: (x * np.ones(1) + [1.0]).sum())(x)
        assert float(value) == 3.0
        assert float(gradient) == 1.0
        assert float(tg.compile(lambda x: (x + [1.0])[0])(x)) == 3.0
