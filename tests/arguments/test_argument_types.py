"""Functions that ask what their arguments are enter; compiled they are told what Python tells.

Each program is called with several arguments, in turn and once more, and each call is compared with
the plain function. What is asked of a differentiated argument and cannot be answered is refused.
"""

from __future__ import annotations

import argparse
import array
import collections
import copy
import enum
import functools
import math
import numbers
import operator
import pickle
import re
import threading
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.errors import ArgumentError, RecompileWarning

X = np.arange(1.0, 5.0)
Z = X.copy()
SHARED = [X]


class Kind(enum.Enum):
    A = 1
    B = 2
    C = 3
    D = 4


def matched(x, a):
    match a:
        case float():
            return x * 2.0
        case int():
            return x * 3.0
    return x * 4.0


@functools.singledispatch
def dispatched(a):
    return -1.0


@dispatched.register
def _(a: float):
    return 1.0


@dispatched.register
def _(a: np.ndarray):
    return 2.0


def caught(x, a):
    try:
        return x * (1.0 / a)
    except ZeroDivisionError:
        return -x


def repeated(x, k):
    for _ in range(k):
        x = x * 2.0
    return x


INTS = {
    "isinstance": lambda x, k: x * k if isinstance(k, int) else -x,
    "type": lambda x, k: x * k if type(k) is int else -x,
    "in a set": lambda x, k: x if k in {1, 3} else -x,
    "key of a dict": lambda x, k: x * {1: 10.0, 2: 20.0}.get(k, -1.0),
    "length of a list": lambda x, k: x * len([0] * k),
    "text": lambda x, k: x * float(str(k)) + float(f"{k}"),
    "enum": lambda x, k: x * Kind(k).value,
    "isscalar": lambda x, k: x * k if np.isscalar(k) else -x,
    "range": repeated,
    "exponent": lambda x, k: x**k + 2**k,
    "whole numbers of any size": lambda x, k: x * float((k + 2**62) * 4 % 1000),
    "division": lambda x, k: x * (7 // k) + 7 % k,
}
NUMBERS = {
    "isinstance": lambda x, a: x * a if isinstance(a, float) else -x,
    "isinstance of several": lambda x, a: x * a if isinstance(a, (float, int)) else -x,
    "number": lambda x, a: x * a if isinstance(a, numbers.Number) else -x,
    "real": lambda x, a: x * a if isinstance(a, numbers.Real) else -x,
    "complex": lambda x, a: x * a if isinstance(a, complex) else -x,
    "generic": lambda x, a: x * a if isinstance(a, np.generic) else -x,
    "floating": lambda x, a: x * a if isinstance(a, np.floating) else -x,
    "integer": lambda x, a: x * a if isinstance(a, (int, np.integer)) else -x,
    "array": lambda x, a: x * a if isinstance(a, np.ndarray) else -x,
    "class": lambda x, a: x * a if a.__class__ is float else -x,
    "type is": lambda x, a: x * a if type(a) is float else -x,
    "type equals": lambda x, a: x * a if type(a) == np.float64 else -x,  # noqa: E721
    "type in": lambda x, a: x * a if type(a) in (float, int) else -x,
    "dtype of type": lambda x, a: x * a if np.issubdtype(type(a), np.integer) else -x,
    "in a set": lambda x, a: x * a if a in {0.1, 0.4, 1} else -x,
    "in a tuple": lambda x, a: x * a if a in (0.1, 0.4, 1) else -x,
    "key of a dict": lambda x, a: x * {0.1: 1.0, 1: 2.0}.get(a, 5.0),
    "new key": lambda x, a: x * {a: 2.0}.get(0.1, 7.0),
    "hash": lambda x, a: x if hash(a) == hash(0.1) else -x,
    "isscalar": lambda x, a: x * a if np.isscalar(a) else -x,
    "ndim": lambda x, a: x * (np.ndim(a) + 1),
    "str": lambda x, a: x * len(str(a)),
    "repr": lambda x, a: x * len(repr(a)),
    "format": lambda x, a: x * len(f"{a:.3f}"),
    "percent": lambda x, a: x * len(f"{a!r}"),
    "hasattr": lambda x, a: x if hasattr(a, "shape") else -x,
    "getattr": lambda x, a: x if getattr(a, "dtype", None) is None else -x,
    "has a length": lambda x, a: x if hasattr(a, "__len__") else -x,
    "callable": lambda x, a: x if callable(a) else -x,
    "match": matched,
    "dispatch": lambda x, a: x * dispatched(a),
    "of what is computed": lambda x, a: x if isinstance(a * 2, (float, np.float64)) else -x,
    "caught": caught,
}
ARRAYS = {
    "isinstance": lambda x: x * 2.0 if isinstance(x, np.ndarray) else -x,
    "type": lambda x: x * 2.0 if type(x) is np.ndarray else -x,
    "containers": lambda x: x * 2.0 if isinstance(x, (list, tuple)) else -x,
    "isscalar": lambda x: x * 2.0 if np.isscalar(x) else -x,
    "of what is computed": lambda x: x * 2.0 if isinstance(np.exp(x), np.ndarray) else -x,
    "of a sum": lambda x: x * 2.0 if isinstance(x.sum(), float) else -x,
    "dispatch": lambda x: x * dispatched(x),
    "text": lambda x: x * len(str(x)),
    "the global": lambda x: x * 2.0 if x is X else -x,
}
PAIRS = {
    "is": lambda x, y: x + y if x is y else x * y * 3.0,
    "is not": lambda x, y: x + y if x is not y else x * y * 3.0,
    "id": lambda x, y: x + y if id(x) == id(y) else x * y * 3.0,
    "ids in a dict": lambda x, y: x * {id(x): 2.0}.get(id(y), 5.0),
    "operator": lambda x, y: x + y if operator.is_(x, y) else x * y * 3.0,
    "in a comprehension": lambda x, y: x + y if any(q is y for q in [x]) else x * y * 3.0,
    "memory": lambda x, y: x + y if np.shares_memory(x, y) else x * y * 3.0,
}
LISTS = {
    "of elements": lambda a, b: a[0] + b[0] if a[0] is b[0] else a[0] * b[0] * 3.0,
    "of lists": lambda a, b: a[0] + b[0] if a is b else a[0] * b[0] * 3.0,
}


def check(f: Any, *calls: tuple[Any, ...]) -> None:
    """Compiled, every call gives what the plain function gives."""
    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        for args in (*calls, *calls):
            assert_same_bits(made(*args), f(*args), repr(args))


@pytest.mark.parametrize("name", INTS)
def test_ints(name):
    check(INTS[name], *((X, k) for k in (1, 2, 3, 4, 3, 1)))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_floats(name, kind):
    values = (0.1, 0.2, 0.3, 0.4, 0.1) if name == "caught" else (0.1, 0.2, 0.4, math.nan, -0.0)
    check(NUMBERS[name], *((X, kind(a)) for a in values))


@pytest.mark.parametrize("name", [n for n in NUMBERS if n != "format"])
@pytest.mark.parametrize("kind", [complex, np.complex128, np.int64, np.bool_])
def test_other_numbers(name, kind):
    check(NUMBERS[name], *((X, kind(a)) for a in (1, 3, 2, 1)))


def test_a_division_by_zero_is_caught_where_the_function_catches_it():
    check(caught, (X, 1.0), (X, 2.0), (X, 0.0), (X, 3.0))
    check(caught, (X, 0.0), (X, 2.0))


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    check(ARRAYS[name], (X,), (X + 1.0,), (Z,), (X,))


@pytest.mark.parametrize("name", PAIRS)
def test_identities(name):
    check(PAIRS[name], (X, X), (X, Z), (X, X), (Z, X), (Z, Z))
    check(PAIRS[name], (X, Z), (X, X))


@pytest.mark.parametrize("name", LISTS)
def test_identities_in_lists(name):
    check(LISTS[name], (SHARED, SHARED), (SHARED, [X]), (SHARED, [Z]), (SHARED, SHARED))


def test_tensors_are_told_to_be_tensors():
    def f(x):
        return x * 2.0 if isinstance(x, np.ndarray) else x * 3.0

    made = tg.compile(f)
    for _ in range(2):
        assert_same_bits(made(X), X * 2.0)
        for grad in (False, True):
            found = made(tg.tensor(X, requires_grad=grad))
            assert_same_bits(found.detach().numpy(), X * 3.0)


def test_tensors_of_the_functions_own_are_tensors():
    weight = tg.tensor(X, requires_grad=True)

    def f(x):
        made = [weight, weight * x, tg.zeros(4), x * 2.0]
        return x * [isinstance(t, np.ndarray) for t in made].index(True)

    made = tg.compile(f)
    for _ in range(2):
        assert_same_bits(made(X), X * 3.0)


@pytest.mark.parametrize("eager", [False, True])
def test_isinstance_in_derivatives(eager):
    def f(x, lr):
        if not isinstance(x, np.ndarray) or not isinstance(lr, float) or lr in {0.25}:
            return np.sum(x)
        return np.sum(x * x) * lr

    made = tg.value_and_grad(f)
    made._given_up = eager
    for lr in (0.5, 0.25, 0.75, 0.5):
        value, gradient = made(X, lr)
        assert_close(value, f(X, lr), 1e-15)
        assert_close(gradient, np.ones(4) if lr == 0.25 else 2.0 * X * lr, 1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sum(x * y) if type(x) is np.ndarray else np.sum(x),
        lambda x, y: np.sum(x * y) if x is y else np.sum(x),
        lambda x, y: np.sum(x * y) if id(x) == id(y) else np.sum(x),
    ],
    ids=["type", "is", "id"],
)
def test_what_is_asked_of_arguments_is_answered_where_they_are_differentiated(f):
    made = tg.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        for given in ((X, Z), (X, X), (Z, Z), (Z, X)) * 2:
            value, gradient = made(*given)
            assert_same_bits(value, f(*given))
            product = f(*given) == np.sum(given[0] * given[1])
            assert_same_bits(gradient, given[1] if product else np.ones(4))


def test_it_is_said_once():
    made = tg.compile(PAIRS["is"])
    with pytest.warns(RecompileWarning, match=r"which objects its arguments are") as said:
        for _ in range(3):
            made(X, X)
    assert len(said) == 1
    assert made.cache_info().versions == 0


def test_other_questions_do_not_matter():
    class Node:
        def __init__(self, name):
            self.name, self.parent = name, None

        def depth(self):
            return 0 if self.parent is self else 1

    def f(x, node, mode=None):
        if mode is None and type(node) is Node and hasattr(node, "name"):
            x = x * len(type(node).__name__) * (1 + node.depth())
        return x

    made, node = tg.compile(f), Node("a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert_same_bits(made(X, node), f(X, node))
    assert made.cache_info()[:2] == (2, 1)


# -- grad mode ----------------------------------------------------------------------------------

WEIGHT = tg.tensor(X, requires_grad=True)


def by_history(x):
    y = WEIGHT * x
    return y if y.requires_grad else -y


def in_modes(x):
    with tg.no_grad():
        inner = tg.is_grad_enabled()
    with tg.enable_grad():
        outer = tg.is_grad_enabled()
    return x * (inner + 2 * outer + 4 * tg.is_grad_enabled())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("f", [by_history, in_modes, lambda x: x if tg.is_grad_enabled() else -x])
def test_the_grad_mode_is_a_guard(f, first):
    made = tg.compile(f)
    for enabled in (first, not first, first, not first):
        with tg.set_grad_enabled(enabled):
            expected = f(X)
            for _ in range(2):
                assert_same_bits(made(X), getattr(expected, "_array", expected))
    assert made.cache_info().versions == 2


def test_functions_that_do_not_ask_have_one_version():
    made = tg.compile(lambda x: np.sum(x * x))
    with tg.no_grad():
        made(X)
    made(X)
    assert made.cache_info() == (1, 1, 1, 1)


# -- no arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_functions_without_arguments(backend):
    if backend == "jax":
        pytest.importorskip("jax")
    for f in (lambda: X * 2.0, lambda: 1.0, lambda: None, lambda: {"a": np.sum(X)}):
        made = tg.compile(f, backend=backend)
        for _ in range(3):
            assert_same_bits(made(), f())
        assert made.cache_info() == (2, 1, 1, 1)
    assert "def " in tg.compile(lambda: X * 2.0).source()


@pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad])
def test_without_arguments_there_is_no_derivative(transform):
    with pytest.raises(ArgumentError, match="argnums=0: the function has 0 arguments"):
        transform(lambda: 1.0)()


class Frame:
    """As the frames of pandas and others: they compare element by element, and have no hash."""

    __hash__ = None

    def to_numpy(self):
        return np.ones(3)


def test_a_data_frame_is_refused_with_what_to_pass():
    with pytest.raises(ArgumentError, match=r"x is a Frame, .* pass x.to_numpy\(\)"):
        tg.grad(lambda w, x: np.sum(w * x))(np.ones(3), Frame())


# -- copies -------------------------------------------------------------------------------------


@tg.grad
def slope(x):
    return np.sum(x * x)


def square(x):
    return np.sum(x * x)


undecorated = tg.grad(square)


class Model:
    def __init__(self):
        self.w = np.array([1.0, 2.0])
        self.step = tg.compile(self.raw)

    def raw(self, x):
        return x * self.w

    @tg.grad(argnums=1)
    def slope(self, x):
        return np.sum(self.w * x * x)


def test_copies_of_functions_are_themselves():
    for made in (slope, undecorated, tg.compile(lambda x: x), Model.slope):
        made(np.ones(2)) if made is slope else None
        assert copy.copy(made) is made
        assert copy.deepcopy(made) is made


def test_pickled_by_name():
    slope(np.ones(2))
    assert pickle.loads(pickle.dumps(slope)) is slope
    assert pickle.loads(pickle.dumps(Model.slope)) is Model.slope
    assert pickle.loads(pickle.dumps(undecorated)) is not undecorated
    assert_same_bits(pickle.loads(pickle.dumps(undecorated))(X), 2.0 * X)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tg.compile(lambda x: x))


def test_objects_that_hold_compiled_functions_are_copied():
    model, x = Model(), np.ones(2)
    assert_same_bits(model.step(x), model.w)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.w[:] = 5.0
        assert_same_bits(other.step(x), other.w)
        assert_same_bits(other.slope(x), 2.0 * other.w)
        bound = copy.deepcopy(other.slope)
        assert_same_bits(bound(x), 2.0 * other.w)
    assert_same_bits(model.step(x), np.array([1.0, 2.0]))
    assert_same_bits(pickle.loads(pickle.dumps(model.slope))(x), 2.0 * model.w)


# -- settings among what is differentiated ------------------------------------------------------


@dataclass
class Layer:
    w: Any
    activation: str
    repeats: int
    kind: Kind
    flag: bool
    bias: Any = None


def loss(layer, x):
    y = np.tanh(layer.w * x) if layer.activation == "tanh" else layer.w * x
    if layer.kind is Kind.A and layer.flag and layer.bias is None:
        y = y * layer.repeats
    return np.sum(y * y)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("eager", [False, True])
def test_settings_in_a_dataclass(backend, eager):
    if backend == "jax":
        pytest.importorskip("jax")
    made = tg.value_and_grad(loss, backend=backend)
    made._given_up = eager
    for activation, kind in (("tanh", Kind.A), ("none", Kind.A), ("none", Kind.B)) * 2:
        layer = Layer(X, activation, 3, kind, True)
        value, gradient = made(layer, Z)
        factor = 9.0 if kind is Kind.A else 1.0
        t = np.tanh(X * Z)
        expected = 2.0 * t * (1.0 - t * t) * Z if activation == "tanh" else 2.0 * X * Z * Z
        assert_close(value, loss(layer, Z), 1e-12)
        assert_close(gradient.w, expected * factor, 1e-12)
        assert gradient == Layer(gradient.w, None, None, None, None)
    assert tg.grad(loss).verify(layer, Z)


def test_settings_in_a_dict():
    params = {"w": X, "k": 3, "s": ["a", None, Kind.A], "on": True}
    f = tg.grad(lambda p: np.sum(p["w"] ** 2) * p["k"])
    expected = {"w": 6.0 * X, "k": None, "s": [None, None, None], "on": None}
    for _ in range(3):
        assert_same_bits(f(params), expected)
    assert_same_bits(tg.grad(lambda p, y: f(p)["w"].sum() * y, argnums=1)(params, 2.0), 60.0)
    tensors = f({**params, "w": tg.tensor(X, requires_grad=True)})
    assert_same_bits(tensors["w"].detach().numpy(), 6.0 * X)
    init, update = tg.optim.adam(lr=0.1)
    after, _ = update(params, f(params), init(params))
    assert after == {**params, "w": after["w"]}
    assert np.all(after["w"] < X)


def test_numbers_that_should_be_floats_are_refused():
    for given in ([1.0, 2], {"w": [X, 1]}, {"w": np.arange(3)}, {"k": 3}):
        with pytest.raises(ArgumentError):
            tg.grad(lambda p: 1.0)(given)


# -- one way to make versions -------------------------------------------------------------------


def test_jax_arrays_with_an_int_that_varies():
    jnp = pytest.importorskip("jax.numpy")
    made = tg.grad(lambda x, n: np.sum(x.reshape(n, -1) ** 2) / n, backend="jax")
    for turn in range(3):
        for n in range(1, 7):
            x = np.arange(4.0 * n, dtype=np.float32)
            found = made(jnp.asarray(x) if turn else x, n)
            assert_close(np.asarray(found), 2.0 * x / n, 1e-6)
    assert made.cache_info() == (12, 6, 6, 6)


def test_a_call_beside_a_trace_is_a_miss():
    entered, leave = threading.Event(), threading.Event()

    def f(x):
        entered.set()
        leave.wait()
        return x * 2.0

    made = tg.compile(f)
    thread = threading.Thread(target=made, args=(X,), daemon=True)
    thread.start()
    entered.wait()
    leave.set()
    assert_same_bits(made(X), X * 2.0)
    thread.join()
    assert_same_bits(made(X), X * 2.0)
    assert made.cache_info().misses >= 1


def asks_its_type(x):
    return np.sum(x * x) if type(x) is np.ndarray else np.sum(x)


def asks_who_it_is(x, y):
    return np.sum(x * y) if x is y else np.sum(x)


@pytest.mark.parametrize("f", [asks_its_type, asks_who_it_is], ids=lambda f: f.__name__)
def test_what_is_asked_is_answered_where_nothing_is_traced(f) -> None:
    """Eagerly and in vjp the function runs on Tensors as well."""
    for args in ([X, X], [X, Z]):
        args = args[: f.__code__.co_argcount]
        value, pull = tg.vjp(f, *args)
        assert value == f(*args)
        product = value == np.sum(args[0] * args[-1])
        expected = (args[1] if len(args) > 1 else 2.0 * X) if product else np.ones(4)
        assert_same_bits(pull(1.0)[0], expected)
        before, tg.config.compile = tg.config.compile, False
        try:
            assert_same_bits(tg.grad(f)(*args), expected)
            assert tg.compile(f)(*args) == f(*args)
        finally:
            tg.config.compile = before


@pytest.mark.parametrize("compiled", [True, False])
def test_arrays_are_returned_for_arrays_and_tensors_for_tensors(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    made = tg.compile(lambda x: {"sum": tg.zeros(3) + x, "drawn": tg.random.rand(3), "n": 3})
    for x, kind in ((np.ones(3), np.ndarray), (tg.ones(3), tg.Tensor)):
        found = made(x)
        assert type(found["sum"]) is type(found["drawn"]) is kind
        assert found["n"] == 3
    kept = [np.ones(3)]
    assert tg.compile(lambda x: kept)(np.ones(3)) is kept or compiled


@pytest.mark.parametrize(
    "value, instead, static",
    [
        (collections.defaultdict(list), None, "pass tuple(d.items())"),
        (collections.Counter(a=2), None, "pass tuple(d.items())"),
        (collections.ChainMap({}), None, "pass tuple(d.items())"),
        (types.MappingProxyType({}), "pass dict(d)", "pass tuple(d.items())"),
        (collections.deque(), None, "pass tuple(d)"),
        (array.array("d"), "pass list(d)", "pass tuple(d)"),
        (types.SimpleNamespace(), None, "pass tuple(vars(d).items())"),
        ({1}, None, "pass frozenset(d)"),
        (bytearray(), "pass bytes(d)", "pass bytes(d)"),
        (type("Equal", (), {"__eq__": lambda a, b: True})(), None, "give it __hash__"),
        (([],), None, "its items must be hashable"),
        (np.zeros(3), None, "leave it out of the static arguments"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_refused_is_told_what_to_pass_instead(value, instead, static):
    def f(d, x):
        return x

    if instead is not None:
        with pytest.raises(ArgumentError, match=re.escape(f"nor hashable: {instead}")):
            tg.grad(f, argnums=1)(value, 1.0)
        with pytest.raises(ArgumentError, match=re.escape(instead.replace("(d)", "(d[0])"))):
            tg.compile(f)([value], 1.0)
    with pytest.raises(ArgumentError, match=re.escape(f"must be hashable: {static}")):
        tg.compile(f, static_argnames=("d",))(value, 1.0)


class ByValue:
    """An object that is compared, and cannot be hashed."""

    def __init__(self, w, k):
        self.w, self.k = w, k

    def __eq__(self, other):
        return type(other) is ByValue and self.k == other.k


@pytest.mark.parametrize("kind", [types.SimpleNamespace, argparse.Namespace, ByValue])
@pytest.mark.parametrize("nested", [False, True])
def test_objects_without_a_hash_are_known_by_their_class(kind, nested):
    """What the function reads of such an object is read anew; no version keeps one alive."""

    def loss(x, p):
        p = p["a"][0] if nested else p
        return np.sum((x * p.w) ** 2) * p.k

    made, on_tensors = tg.value_and_grad(loss), tg.compile(loss)
    for i in range(5):
        x, p = np.arange(3.0) + i, kind(w=np.arange(3.0) - i, k=0.5 + i)
        given = {"a": [p]} if nested else p
        value, gradient = made(x, given)
        assert_same_bits(value, loss(x, given))
        assert_close(gradient, 2.0 * x * p.w**2 * p.k, 1e-15)
        tensor = tg.tensor(x, requires_grad=True)
        on_tensors(tensor, given).backward()
        assert_same_bits(tensor.grad.numpy(), gradient)
    assert made.cache_info().traces == on_tensors.cache_info().traces == 1


def test_what_a_function_writes_to_a_namespace_is_there():
    def step(x, state):
        state.count += 1
        state.seen.append(float(state.count))
        state.mean = 0.9 * state.mean + 0.1 * np.mean(x)
        return np.sum(x) * state.mean

    made, plain = tg.compile(step), types.SimpleNamespace(count=0, seen=[], mean=0.0)
    state = types.SimpleNamespace(count=0, seen=[], mean=0.0)
    for i in range(5):
        assert_same_bits(made(np.arange(3.0) + i, state), step(np.arange(3.0) + i, plain))
    assert (state.count, state.seen) == (plain.count, plain.seen)
    assert_same_bits(state.mean, plain.mean)
