"""Functions and arguments of every form enter `grad`, `value_and_grad`, `compile` and `vjp`."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.pytree import flatten

X = np.array([1.0, 2.0, 3.0])
Y = np.array([0.5, -1.0, 2.0])
Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Model:
    w: Any
    b: Any


def quadratic(x, y):
    return np.sum(x * x * y)


# -- which arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [(0, 2.0 * X * Y), (1, X * X), (-1, X * X), (-2, 2.0 * X * Y)],
)
def test_one_argument(argnums, expected):
    found = tg.grad(quadratic, argnums)(X, Y)
    assert type(found) is np.ndarray
    assert_close(found, expected, 1e-15)


@pytest.mark.parametrize("argnums", [(0, 1), (1, 0), [0, 1], (0,), (-1, 0), ()])
def test_several_arguments_give_a_tuple_in_their_order(argnums):
    found = tg.grad(quadratic, argnums=argnums)(X, Y)
    expected = (2.0 * X * Y, X * X)
    assert type(found) is tuple
    assert_close(found, tuple(expected[i] for i in argnums), 1e-15)


def test_the_ways_to_write_it():
    @tg.grad
    def bare(x):
        """Doubles."""
        return np.sum(x * x)

    @tg.grad(argnums=1)
    def called(x, y=1.0):
        return np.sum(x * y)

    @tg.value_and_grad(argnums=(0, 1), has_aux=True)
    def both(x, y):
        return np.sum(x * y), {"x": x}

    @tg.compile
    def forward(x):
        return x + 1.0

    @tg.compile(static_argnames=("n",))
    def repeated(x, n):
        return [x] * n

    assert_close(bare(X), 2.0 * X, 1e-15)
    assert_close(called(X, 2.0), X.sum(), 1e-15)
    (value, aux), gradient = both(X, Y)
    assert_close((value, aux["x"], gradient), (X @ Y, X, (Y, X)), 1e-15)
    assert_close(forward(X), X + 1.0, 0.0)
    assert len(repeated(X, 3)) == 3


def test_a_callable_keeps_name_documentation_and_signature():
    def f(x: float, *, scale: float = 2.0) -> float:
        """A line."""
        return x * scale

    for made in (tg.grad(f), tg.value_and_grad(f), tg.compile(f)):
        assert made.__name__ == "f"
        assert made.__doc__ == "A line."
        assert made.__wrapped__ is f
        assert inspect.signature(made) == inspect.signature(f)


def test_has_aux():
    def f(x):
        y = x * x
        return np.sum(y), (y, "label", 3)

    gradient, aux = tg.grad(f, has_aux=True)(X)
    (value, aux_again), gradient_again = tg.value_and_grad(f, has_aux=True)(X)
    assert_close(gradient, 2.0 * X, 1e-15)
    assert_close((value, aux[0]), (X @ X, X * X), 1e-15)
    assert aux[1:] == ("label", 3) == aux_again[1:]
    assert_same_bits((gradient_again, aux_again[0]), (gradient, aux[0]))


# -- pytrees ------------------------------------------------------------------------------------


def total(tree):
    return sum(np.sum(leaf**2) for leaf in tg_leaves(tree))


def tg_leaves(tree):
    from tracegrad.values.pytree import flatten

    return flatten(tree)[0]


@pytest.mark.parametrize(
    "tree",
    [
        {"w": X, "b": Y},
        {"b": {"inner": X, "n": 2.0}, "a": Y},
        [X, Y],
        (X, (Y, [X, 3.0])),
        Point(X, Y),
        Model(X, {"deep": [Point(Y, 2.0)]}),
        {3: X, 1: Y},
        (X,),
        [X, [], None, {}],
    ],
    ids=lambda t: type(t).__name__,
)
def test_gradients_have_the_structure_of_the_argument(tree):
    from tracegrad.values.pytree import flatten

    def f(tree, x):
        return total(tree) + np.sum(x)

    made = tg.value_and_grad(f, argnums=(0, 1))
    for _ in range(2):
        value, (gradient, _) = made(tree, X)
        leaves, spec = flatten(tree)
        found, found_spec = flatten(gradient)
        assert found_spec == spec
        assert_close(found, [2.0 * np.asarray(leaf) for leaf in leaves], 1e-15)
        assert_close(value, sum((np.sum(np.square(leaf)) for leaf in leaves), X.sum()), 1e-14)


def test_structures_out():
    @tg.compile
    def f(x):
        return {"p": Point(x, 2.0 * x), "m": Model(x + 1.0, None), "l": [x, (x,)], "s": "text"}

    for _ in range(2):
        found = f(X)
        assert isinstance(found["p"], Point)
        assert isinstance(found["m"], Model)
        assert found["m"].b is None
        assert found["s"] == "text"
        assert type(found["l"]) is list and type(found["l"][1]) is tuple
        assert_close(found["p"].y, 2.0 * X, 1e-15)


@pytest.mark.parametrize("result", [None, 3, "text", (), {}, [], (1, None)])
def test_results_without_arrays(result):
    made = tg.compile(lambda x: result)
    assert made(X) == result
    assert made(X) == result


def test_returned_floats_without_a_literal():
    x = np.ones(2)
    result, nan, inf, huge = tg.compile(lambda x: (x * 2, np.nan, {"a": -np.inf}, 1e300))(x)
    assert np.isnan(nan) and inf == {"a": -np.inf} and huge == 1e300
    assert_same_bits(result, x * 2)


def test_one_value_returned_twice_is_two_arrays():
    @tg.compile
    def f(x):
        y = x + 1.0
        return y, y, x, x

    for _ in range(2):
        a, b, c, d = f(X)
        a += 100.0
        c += 100.0
        assert_close(b, X + 1.0, 0.0)
        assert_close(d, X, 0.0)


def test_another_structure_is_another_version():
    f = tg.grad(total)
    assert_close(f([X, Y]), [2.0 * X, 2.0 * Y], 0.0)
    assert_close(f({"a": X}), {"a": 2.0 * X}, 0.0)
    assert_close(f({"b": X})["b"], 2.0 * X, 0.0)
    assert type(f((X, Y))) is tuple
    assert f.cache_info().traces == 4


# -- signatures ---------------------------------------------------------------------------------


def test_defaults_keywords_and_stars():
    def f(x, y=2.0, *rest, scale=1.0, **named):
        extra = sum((np.sum(r) for r in rest), 0.0)
        more = sum((np.sum(v) for v in named.values()), 0.0)
        return scale * np.sum(x * y) + extra * np.sum(x) + more * np.sum(x)

    made = tg.grad(f)
    one = np.ones_like(X)
    for _ in range(2):
        assert_close(made(X), 2.0 * one, 1e-14)
        assert_close(made(X, Y), Y, 1e-14)
        assert_close(made(X, y=Y), Y, 1e-14)
        assert_close(made(x=X, y=Y), Y, 1e-14)
        assert_close(made(X, Y, X, 1.0), Y + 7.0, 1e-14)
        assert_close(made(X, scale=3.0), 6.0 * one, 1e-14)
        assert_close(made(X, scale=3.0, a=Y, b=1.0), (6.0 + Y.sum() + 1.0) * one, 1e-14)
        assert_close(made(X, b=1.0, a=Y), (2.0 + Y.sum() + 1.0) * one, 1e-14)


def test_gradients_of_starred_arguments():
    def f(*xs):
        return sum(np.sum(x * (i + 1)) for i, x in enumerate(xs))

    found = tg.grad(f, argnums=(0, 2))(X, Y, X)
    assert_close(found, (np.ones(3), np.full(3, 3.0)), 1e-15)


def test_positional_only_arguments():
    def f(x, /, y):
        return np.sum(x * y)

    assert_close(tg.grad(f)(X, y=Y), Y, 0.0)


def test_wrong_calls_raise_as_python_does():
    made = tg.grad(quadratic)
    for args, kwargs in [((), {}), ((X,), {}), ((X, Y, X), {}), ((X, Y), {"z": 1.0})]:
        with pytest.raises(TypeError):
            made(*args, **kwargs)
    assert made.cache_info().traces == 0


def test_methods_and_objects():
    class Line:
        def __init__(self, slope):
            self.slope = slope

        @tg.grad
        def outside(self, x):
            raise AssertionError("the gradient in self is not asked for")

        @tg.grad(argnums=1)
        def loss(self, x):
            return np.sum(self.slope * x * x)

        def plain(self, x):
            return np.sum(self.slope * x * x)

        @staticmethod
        @tg.grad
        def static(x):
            return np.sum(x * x)

        @classmethod
        def made(cls, x):
            return np.sum(x * x)

        def __call__(self, x):
            return self.plain(x)

    a, b = Line(1.0), Line(3.0)
    for _ in range(2):
        assert_close(a.loss(X), 2.0 * X, 1e-15)
        assert_close(b.loss(X), 6.0 * X, 1e-15)
    assert "def loss_grad(self, x, *, slope)" in b.loss.source(X)
    assert b.loss.graph(X).name == "loss_grad"
    assert b.loss.__name__ == "loss"
    assert b.loss.cache_info() == Line.loss.cache_info()
    plain = tg.grad(a.plain)
    assert_close(plain(X), 2.0 * X, 1e-15)
    a.slope = 5.0
    assert_close(plain(X), 10.0 * X, 1e-15)
    assert_close(a.loss(X), 10.0 * X, 1e-15)
    assert_close(Line.static(X), 2.0 * X, 1e-15)
    assert_close(tg.grad(Line.made)(X), 2.0 * X, 1e-15)
    assert_close(tg.grad(b)(X), 6.0 * X, 1e-15)


def test_lambdas_partials_and_builtins():
    from functools import partial

    assert_close(tg.grad(lambda x: np.sum(x**3))(X), 3.0 * X * X, 1e-15)
    assert_close(tg.grad(partial(quadratic, y=Y))(X), 2.0 * X * Y, 1e-15)
    assert_close(tg.grad(np.sum)(X), np.ones(3), 0.0)


# -- static values and ints ---------------------------------------------------------------------


def test_static_arguments_are_part_of_the_key():
    def f(x, kind, flag):
        y = np.sin(x) if kind == "sin" else np.cos(x)
        return np.sum(y if flag else -y)

    made = tg.grad(f)
    for _ in range(2):
        assert_close(made(X, "sin", True), np.cos(X), 1e-15)
        assert_close(made(X, "cos", True), -np.sin(X), 1e-15)
        assert_close(made(X, "cos", False), np.sin(X), 1e-15)
    assert made.cache_info().traces == 3


def test_static_argnames():
    def f(x, power):
        return np.sum(x**power)

    made = tg.grad(f, static_argnames="power")
    for power in (2, 3, 4, 5):
        assert_close(made(X, power), power * X ** (power - 1), 1e-14)
        assert_close(made(X, power=power), power * X ** (power - 1), 1e-14)
    assert made.cache_info().traces >= 4
    floats = tg.grad(f, static_argnames=("power",))
    assert_close(floats(X, 2.0), 2.0 * X, 1e-14)
    assert_close(floats(X, 3.0), 3.0 * X**2, 1e-14)


def test_ints_that_vary_are_compiled_once():
    def f(x, n):
        return np.sum(x * n) / (n + 1)

    made = tg.value_and_grad(f)
    for n in (*range(1, 6), *range(1, 6)):
        value, gradient = made(X, n)
        assert_close(value, X.sum() * n / (n + 1), 1e-14)
        assert_close(gradient, np.full(3, n / (n + 1)), 1e-14)
    assert made.cache_info() == (7, 3, 3, 3)  # two values, and a program for all others


def test_past_the_bound_of_versions_ints_run_eagerly():
    made = tg.value_and_grad(lambda x, n: np.sum(x * len(f"{n:b}")))
    with pytest.warns(tg.errors.RecompileWarning, match=r"n was \d+, is \d+.*asks which number"):
        for n in range(1, 20 + tg.config.versions):
            value, gradient = made(X, n)
            assert_same_bits(value, np.sum(X * n.bit_length()))
            assert_same_bits(gradient, np.full(3, float(n.bit_length())))
    assert made.cache_info().versions == tg.config.versions


@pytest.mark.parametrize(("static", "times"), [((), 1), ("n", 0)])
def test_numbers_that_choose_a_program_each_are_told_once(static, times):
    batches = dict(enumerate(np.arange(60.0).reshape(20, 3)))
    made = tg.compile(lambda x, n: np.sum(x * batches[n]), static_argnames=static)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in range(20):
            assert_same_bits(made(X, n), np.sum(X * batches[n]))
    assert sum("values of n came, none of them twice" in str(w.message) for w in told) == times
    assert len(told) == times


def test_numbers_that_come_again_are_not_told():
    made = tg.compile(lambda x, n: np.sum(x * n))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(20):
            made(X, n)
            made(X, n)


def test_ints_that_python_needs_stay_right():
    def f(x, n):
        y = x
        for _ in range(n):
            y = y * x
        return np.sum(y)

    made = tg.grad(f)
    for n in (1, 2, 3, 4, 5, 2, 1, 5):
        assert_close(made(X, n), (n + 1) * X**n, 1e-14)


def test_bools_are_not_ints():
    made = tg.compile(lambda x, n: (x * n, type(n).__name__ if isinstance(n, bool) else "number"))
    assert made(X, True)[1] == "bool"
    assert made(X, 1)[1] == "number"
    assert made(X, False)[1] == "bool"
    assert_close(made(X, 1.0)[0], X, 0.0)


def test_static_objects_are_compared_not_only_hashed():
    class Same:
        def __init__(self, factor):
            self.factor = factor

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, Same) and other.factor == self.factor

    made = tg.grad(lambda x, s: np.sum(x * x) * s.factor)
    assert_close(made(X, Same(1.0)), 2.0 * X, 1e-15)
    assert_close(made(X, Same(2.0)), 4.0 * X, 1e-15)
    assert_close(made(X, Same(1.0)), 2.0 * X, 1e-15)


def test_numbers_keep_what_they_are():
    """-0.0, nan, infinities, numbers of every kind: none is taken for another."""
    made = tg.compile(lambda x, s: x / s)
    with np.errstate(all="ignore"):
        for s in (0.0, -0.0, np.nan, np.inf, -np.inf, 2, True, np.float32(3.0), np.int32(4), 1e300):
            assert_same_bits(made(X, s), X / s, repr(s))


# -- nesting ------------------------------------------------------------------------------------


def test_derivatives_of_every_order_of_a_scalar():
    f, derivatives = (lambda x: np.exp(2.0 * x)), [2.0, 4.0, 8.0, 16.0]
    for expected in derivatives:
        f = tg.grad(f)
        assert_close(f(0.3), expected * np.exp(0.6), 1e-13)


def test_nested_in_any_order():
    inner = tg.grad(lambda x, y: np.sum(np.sin(x) * y), argnums=1)
    outer = tg.grad(lambda x: np.sum(inner(x, Y) * x))
    assert_close(outer(X), np.cos(X) * X + np.sin(X), 1e-14)
    value = tg.value_and_grad(lambda x: tg.value_and_grad(lambda z: np.sum(z**3))(x)[0])
    assert_close(value(X)[1], 3.0 * X**2, 1e-14)
    through = tg.grad(lambda x: np.sum(tg.compile(np.tanh)(x)))
    assert_close(through(X), 1.0 - np.tanh(X) ** 2, 1e-14)
    forward = tg.compile(tg.grad(lambda x: np.sum(x**3)))
    assert_close(forward(X), 3.0 * X**2, 1e-14)
    pulled = tg.grad(lambda x: np.sum(tg.vjp(lambda z: z**3, x)[1](np.ones(3))[0]))
    assert_close(pulled(X), 6.0 * X, 1e-14)


def test_perturbations_are_not_confused():
    """d/dx (x * d/dy (x + y)) is 1."""
    f = tg.grad(lambda x: x * tg.grad(lambda y: x + y)(1.0))
    assert f(1.0) == 1.0
    g = tg.grad(lambda x: x * tg.grad(lambda y: x * y * y)(2.0))
    assert g(3.0) == 24.0
    h = tg.grad(lambda x: x * tg.vjp(lambda y: x * y * y, 2.0)[1](1.0)[0])
    assert h(3.0) == 24.0
    k = tg.grad(lambda x: x * tg.value_and_grad(lambda y: np.sum(x * y * y))(Y)[1][1])
    assert_close(k(3.0), 4.0 * 3.0 * Y[1], 1e-15)


def test_third_order_of_a_program():
    def f(w):
        return np.sum(np.tanh(w * X) ** 2)

    def directional(f, v):
        return lambda w: np.sum(tg.grad(f)(w) * v)

    third = directional(directional(directional(f, Y), Y), Y)
    h = 1e-3
    second = directional(directional(f, Y), Y)
    expected = (second(X + h * Y) - second(X - h * Y)) / (2.0 * h)
    assert_close(third(X), expected, 1e-5)


# -- arrays of other kinds ----------------------------------------------------------------------


def test_what_comes_out_is_what_came_in():
    made = tg.value_and_grad(lambda x: np.sum(x * x))
    for x in (X, 2.0, np.float64(2.0), np.array(2.0), X.astype(np.float32), np.float32(2.0)):
        value, gradient = made(x)
        assert not isinstance(value, tg.Tensor)
        assert np.shape(gradient) == np.shape(x)
        assert np.asarray(gradient).dtype == np.asarray(x).dtype
        assert_close(gradient, 2.0 * np.asarray(x), 1e-6)


def test_tensors_in_tensors_out():
    made = tg.value_and_grad(lambda x: np.sum(x * x))
    value, gradient = made(tg.tensor(X))
    assert isinstance(value, tg.Tensor) and isinstance(gradient, tg.Tensor)
    assert_close(gradient, 2.0 * X, 0.0)
    compiled = tg.compile(lambda p: {"y": p["x"] * 2.0})
    assert isinstance(compiled({"x": tg.tensor(X)})["y"], tg.Tensor)


def test_tensors_with_history_are_differentiated_through():
    x = tg.tensor(X, requires_grad=True)
    y = tg.compile(lambda x: np.sin(x) * 2.0)(x * x)
    y.sum().backward()
    assert_close(x.grad, 2.0 * np.cos(X * X) * 2.0 * X, 1e-14)
    x.grad = None
    tg.grad(lambda x: np.sum(x**3))(x).sum().backward()
    assert_close(x.grad, 6.0 * X, 1e-14)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_jax_arrays_in_jax_arrays_out(backend):
    jax = pytest.importorskip("jax")
    made = tg.value_and_grad(lambda x, n: np.sum(x * x) * n, backend=backend)
    for _ in range(2):
        value, gradient = made(jax.numpy.asarray(X, dtype="float32"), 2.0)
        assert isinstance(value, jax.Array) and isinstance(gradient, jax.Array)
        assert gradient.dtype == np.float32
        assert_close(np.asarray(gradient), 4.0 * X, 1e-6)
    value, gradient = made(X, 2.0)
    assert type(gradient) is np.ndarray and gradient.dtype == np.float64
    assert_close(gradient, 4.0 * X, 1e-14)


def test_lists_of_numbers_are_pytrees():
    assert tg.grad(lambda xs: xs[0] * xs[1])([2.0, 3.0]) == [3.0, 2.0]


def test_complex_arguments():
    z = X + 1j * Y
    value, gradient = tg.value_and_grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    assert_close(value, np.sum(np.abs(z) ** 2), 1e-14)
    assert_close(gradient, 2.0 * np.conj(z), 1e-14)


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "readonly", "broadcast"])
def test_memory_layouts(order):
    x = np.arange(12.0).reshape(3, 4) / 7.0
    given = {
        "C": x,
        "F": np.asfortranarray(x),
        "strided": np.repeat(x, 2, axis=1)[:, ::2],
        "reversed": x[::-1].copy()[::-1],
        "readonly": x.copy(),
        "broadcast": np.broadcast_to(x[:1], (3, 4)),
    }[order]
    if order == "readonly":
        given.flags.writeable = False
    value, gradient = tg.value_and_grad(lambda x: np.sum(np.sin(x) * x))(given)
    assert_close(value, np.sum(np.sin(given) * given), 1e-13)
    assert_close(gradient, np.cos(given) * given + np.sin(given), 1e-13)
    assert gradient.flags.writeable


# -- whose arrays -------------------------------------------------------------------------------

CAPTURED = np.array([1.0, 1.0, 1.0])
WAYS_TO_RETURN_AN_INPUT = {
    "itself": lambda x: x,
    "reshaped": lambda x: x.reshape(3, 1),
    "row": lambda x: x[1:],
    "transposed": lambda x: x.reshape(1, 3).T,
    "captured": lambda x: CAPTURED,
    "part of captured": lambda x: CAPTURED[:2],
    "constant": lambda x: np.zeros(3),
    "broadcast": lambda x: np.broadcast_to(x, (2, 3)),
    "twice": lambda x: (x, x),
    "real": lambda x: np.real(x),
    "with a sum": lambda x: (x, x + 1.0),
    "of a sum": lambda x: ((x + 1.0)[1:], x + 1.0),
}


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("way", WAYS_TO_RETURN_AN_INPUT)
def test_results_belong_to_the_caller(way, backend):
    """Writing into them changes neither arguments nor captured arrays nor later results."""
    if backend == "jax":
        pytest.importorskip("jax")
    f = WAYS_TO_RETURN_AN_INPUT[way]
    made = tg.compile(f, backend=backend)
    x = X.copy()
    for _ in range(3):
        results = tg_leaves(made(x))
        assert_close(results, tg_leaves(f(X)), 0.0)
        for i, result in enumerate(results):
            result[...] = 1000.0 + i
        for i, result in enumerate(results):
            assert np.all(result == 1000.0 + i), "results share memory"
    assert_same_bits(x, X)
    assert_same_bits(CAPTURED, np.ones(3))


def test_gradients_belong_to_the_caller():
    made = tg.grad(lambda x, y, z: np.sum(x * y + z), argnums=(0, 1, 2))
    x, y = X.copy(), Y.copy()
    for _ in range(3):
        gradient = made(x, y, x)
        assert_close(gradient, (Y, X, np.ones(3)), 0.0)
        for g in gradient:
            g[...] = 7.0
    assert_same_bits((x, y), (X, Y))


def test_the_cotangent_of_a_vjp_is_not_handed_back():
    _, pull = tg.vjp(lambda x, y: (x + y, x), X.copy(), Y.copy())
    ct = (np.ones(3), np.zeros(3))
    a, b = pull(ct)
    a += 5.0
    assert_close((b, *ct), (np.ones(3), np.ones(3), np.zeros(3)), 0.0)
    assert_close(pull(ct), (np.ones(3), np.ones(3)), 0.0)


def test_arguments_are_never_written_to():
    def f(x):
        y = x * 1.0
        y += 1.0
        np.multiply(y, 2.0)
        y[0] = 5.0
        x = x + y
        x += 1.0
        return np.sum(x * y)

    x = X.copy()
    x.flags.writeable = False
    for _ in range(3):
        tg.value_and_grad(f)(x)
        tg.compile(f)(x)
    assert_same_bits(x, X)


# -- vjp ----------------------------------------------------------------------------------------


def test_vjp():
    out, pull = tg.vjp(lambda x, p: {"a": x * p["s"], "b": np.sum(x)}, X, {"s": Y})
    assert_close((out["a"], out["b"]), (X * Y, X.sum()), 0.0)
    for scale in (1.0, 2.0):
        x_bar, p_bar = pull({"a": scale * np.ones(3), "b": np.asarray(3.0)})
        assert_close((x_bar, p_bar["s"]), (scale * Y + 3.0, scale * X), 1e-15)


def test_vjp_refuses_another_structure():
    _, pull = tg.vjp(lambda x: (x, x), X)
    with pytest.raises(tg.errors.ArgumentError):
        pull(X)
    _, pull = tg.vjp(lambda x: x * x, X)
    with pytest.raises((tg.errors.TracegradError, ValueError)):
        pull(np.ones(4))


def test_vjp_of_what_does_not_depend_is_zero():
    _, pull = tg.vjp(lambda x, y: x * 2.0, X, Y)
    assert_close(pull(np.ones(3)), (np.full(3, 2.0), np.zeros(3)), 0.0)


# -- looking at it ------------------------------------------------------------------------------


def test_cache_info_and_clear_cache():
    made = tg.grad(quadratic)
    assert made.cache_info() == (0, 0, 0, 0)
    made(X, Y)
    assert made.cache_info() == (0, 1, 1, 1)
    made(X, Y)
    made(Y, X)
    assert made.cache_info() == (2, 1, 1, 1)
    made(X, 2.0)
    made(x=X, y=Y)
    assert made.cache_info()._asdict() == {"hits": 3, "misses": 2, "traces": 2, "versions": 2}
    made.clear_cache()
    assert made.cache_info() == (0, 0, 0, 0)
    assert_close(made(X, Y), 2.0 * X * Y, 0.0)
    assert made.cache_info().traces == 1


def test_source_and_graph_do_not_count_as_calls_and_are_not_traced_twice():
    made = tg.grad(quadratic)
    made.source(X, Y)
    made.graph(X, Y)
    made(X, Y)
    info = made.cache_info()
    assert (info.traces, info.versions) == (1, 1)


def test_parts_of_the_source():
    def f(w, x):
        h = np.tanh(x @ w)
        return np.mean(h)

    made = tg.value_and_grad(f)
    w, x = np.ones(2), np.arange(6.0).reshape(3, 2)
    whole, forward, backward = (made.source(w, x, part=p) for p in ("all", "forward", "backward"))
    assert made.source(w, x) == whole
    assert "def f_value_and_grad(w, x):" in whole
    assert "def f(w, x):" in forward and "backward" not in forward
    assert "def f_backward(" in backward and "np.tanh(h, out=h)" not in backward
    other = tg.grad(f, argnums=1).source(w, x, part="backward")
    assert "return x_bar" in other and "w_bar" not in other
    scope: dict[str, Any] = {}
    exec(forward, scope)
    assert_close(scope["f"](w, x), f(w, x), 1e-15)
    assert "np.tanh" in tg.compile(f).source(w, x)
    with pytest.raises(tg.errors.ArgumentError, match="part"):
        made.source(w, x, part="middle")
    with pytest.raises(tg.errors.ArgumentError, match="stage"):
        made.graph(w, x, stage="late")
    with pytest.raises(tg.errors.ArgumentError):
        tg.compile(f).source(w, x, part="backward")


def test_stages_of_the_graph():
    made = tg.grad(lambda x: np.sum(x * x))
    traced, differentiated, optimized = (
        made.graph(X, stage=s) for s in ("traced", "differentiated", "optimized")
    )
    assert len(traced.nodes) == 2
    assert len(differentiated.nodes) > len(optimized.nodes)
    assert "%x_bar" in str(optimized) and "x_bar" not in str(traced)


# -- state --------------------------------------------------------------------------------------


def many_threads(work, n=8):
    failures: list[BaseException] = []
    start = threading.Barrier(n)

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures


def test_threads_may_share_a_callable_from_the_first_call_on():
    def f(x, y):
        h = np.tanh(x)
        if y > 0:
            return np.sum(h * h) * y
        return np.sum(h)

    made = tg.value_and_grad(f)

    def work(i):
        for k in range(30):
            x = np.full(1 + (i + k) % 4, 0.1 * i)
            y = float((i + k) % 3 - 1)
            value, gradient = made(x, y)
            h = np.tanh(x)
            want = np.sum(h * h) * y if y > 0 else np.sum(h)
            bar = 2.0 * h * (1.0 - h * h) * y if y > 0 else 1.0 - h * h
            assert_close((value, gradient), (want, bar), 1e-13, atol=1e-15)

    many_threads(work)
    info = made.cache_info()
    assert (info.versions, info.traces) == (1, 2)


def test_threads_do_not_mix_eager_and_traced_work():
    def f(x):
        return np.sum(np.sin(x) * x)

    def work(i):
        for k in range(10):
            x = np.arange(1.0, 3.0 + (i + k) % 3)
            expected = np.cos(x) * x + np.sin(x)
            if (i + k) % 2:
                assert_close(tg.grad(f)(x), expected, 1e-13)
            else:
                t = tg.tensor(x, requires_grad=True)
                f(t).backward()
                assert_close(t.grad, expected, 1e-13)

    many_threads(work)


def test_an_exception_while_tracing_leaves_no_state():
    broken = True

    class Sign(Exception):
        pass

    def f(x):
        y = np.sin(x)
        if broken:
            raise Sign
        return np.sum(y * x)

    made = tg.grad(f)
    for _ in range(2):
        with pytest.raises(Sign):
            made(X)
        assert STATE.trace is None and STATE.grad_enabled and not STATE.special
    assert made.cache_info().versions == 0
    t = tg.tensor(X, requires_grad=True)
    np.sum(np.sin(t)).backward()
    assert_close(t.grad, np.cos(X), 1e-15)
    broken = False
    assert_close(made(X), np.cos(X) * X + np.sin(X), 1e-15)


def test_an_exception_in_a_compiled_call_leaves_it_usable():
    def f(x, y):
        return np.sum(x * y)

    made = tg.grad(f)
    assert_close(made(X, Y), Y, 0.0)
    with pytest.raises(ValueError):
        made(X, np.ones(4))
    assert_close(made(X, Y), Y, 0.0)


def test_recursion_of_a_compiled_function():
    @tg.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    @tg.grad
    def slope(x, n):
        return x if n == 1 else x * power(x, n - 1)

    for n in (1, 2, 3, 4, 3, 2):
        assert_close(power(X, n), X**n, 1e-14)
        assert_close(slope(2.0, n), n * 2.0 ** (n - 1), 1e-14)


def test_recursion_on_values():
    @tg.compile
    def halve(x):
        return x if x < 1.0 else halve(x / 2.0)

    for x in (8.0, 0.5, 3.0, 8.0):
        expected = x
        while expected >= 1.0:
            expected /= 2.0
        assert halve(x) == expected
        assert_close(tg.grad(halve)(x), expected / x, 1e-15)


def test_calling_a_callable_inside_its_own_trace_on_plain_arrays():
    inner = tg.compile(lambda x: x * 3.0)

    def f(x):
        return np.sum(x * inner(Y))

    for _ in range(2):
        assert_close(tg.grad(f)(X), 3.0 * Y, 0.0)
    assert_close(inner(Y), 3.0 * Y, 0.0)


def test_too_many_versions_stay_right(monkeypatch):
    monkeypatch.setattr(tg.config, "versions", 4)
    scale = "0"
    made = tg.grad(lambda x: x * float(scale))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(20):
            scale = str(i)
            assert made(2.0) == i
    assert [w.category for w in seen] == [tg.errors.RecompileWarning]
    assert "scale was '3', is '4'" in str(seen[0].message)
    assert made.cache_info().versions <= 4


def test_a_look_that_differs_on_every_call_is_given_up():
    def f(x):
        return x * float(f"{x.item()}")

    made = tg.grad(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(60):
            assert made(float(i)) == float(i)
    assert [w.category for w in seen] == [tg.errors.RecompileWarning]
    assert "return x * float(" in str(seen[0].message)
    assert made.cache_info().traces == 1 + 6  # the misses 1, 2, 4, 8, 16 and 32


def test_a_function_that_was_given_up_takes_what_it_took():
    """Arrays, numbers and structures of them, positions in any order, and the same errors."""

    def made(f, **options):
        derivative = tg.value_and_grad(f, **options)
        derivative._given_up = True
        return derivative

    def f(x, p, n=2.0):
        return np.sum(x * p["w"] ** n) + p["b"] * 3.0 + np.sum(p["i"]) * np.sum(x)

    def p():
        return {"w": np.abs(Y), "b": 0.5, "i": np.arange(3)}

    for argnums, args in (
        (0, (X, p())),
        ((1, 0), (X, {"w": np.abs(Y), "b": 0.5, "i": X})),
        (-1, (X, p(), 3.0)),
    ):
        for _ in range(3):  # interpreted, compiled, matched
            value, gradient = made(f, argnums=argnums)(*args)
            again, expected = tg.value_and_grad(f, argnums=argnums)(*args)
            assert type(value) is type(again) and value == again
            assert_same_bits(flatten(gradient)[0], flatten(expected)[0])
            assert flatten(gradient)[1] == flatten(expected)[1]
    one = made(lambda x: np.abs(x * x * 1j), argnums=0)
    assert one(2.0 + 1j) == tg.value_and_grad(lambda x: np.abs(x * x * 1j))(2.0 + 1j)
    assert_same_bits(made(lambda x: 3.0)(X)[1], np.zeros(3))
    with pytest.raises(tg.errors.ArgumentError, match="need floating point"):
        made(f)(np.arange(3), p())
    with pytest.raises(tg.errors.ArgumentError, match="byte order"):
        made(f)(X.astype(">f8"), p())
    with pytest.raises(tg.errors.NonScalarError):
        made(lambda x: x * 2.0)(X)
    with pytest.raises(TypeError):
        made(f)(X)
    other = tg.tensor(X, requires_grad=True)
    held = made(lambda x: (x * other).sum())
    for _ in range(3):
        assert_close(held(Y)[1], X, 1e-15)
    assert other.grad is None
    with tg.no_grad():
        assert_close(held(Y)[1], X, 1e-15)
    assert_close(tg.grad(lambda x: np.sum(held(x)[1] * x))(Y), X, 1e-15)


def test_changing_the_backend_setting_is_honoured(monkeypatch):
    pytest.importorskip("jax")
    made = tg.grad(lambda x: np.sum(x * x))
    assert "jnp" not in made.source(X)
    monkeypatch.setattr(tg.config, "backend", "jax")
    assert "jnp" in made.source(X)
    assert_close(made(X), 2.0 * X, 1e-15)
