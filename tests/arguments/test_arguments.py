"""Arguments of every kind enter compiled functions; what leaves is what Python itself would give.

Each call is made three times, so that the general way, a first trace and the entry of a version are
all met, and each result is compared with the plain function on NumPy.
"""

from __future__ import annotations

import array
import enum
import functools
import inspect
import sys
import warnings
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.errors import ArgumentError, NonScalarError
from tracegrad.values.pytree import flatten, register_node

CALLS = 3
X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def check_compiled(f: Any, *args: Any, backend: str = "numpy", **kwargs: Any) -> None:
    """`tg.compile(f)` gives what `f` gives: bits and types on NumPy, values on JAX."""
    made, expected = tg.compile(f, backend=backend), f(*args, **kwargs)
    before = [np.copy(x) for x in flatten((args, kwargs))[0] if isinstance(x, np.ndarray)]
    for _ in range(CALLS):
        found = made(*args, **kwargs)
        if backend == "numpy":
            assert_same_bits(found, expected)
        else:
            assert_close(found, expected, 1e-14)
        assert_own_memory(found, (args, kwargs))
    after = [x for x in flatten((args, kwargs))[0] if isinstance(x, np.ndarray)]
    assert_same_bits(after, before)


def assert_own_memory(found: Any, given: Any) -> None:
    """No array of `found` shares memory with another one or with an array of `given`."""
    results = [x for x in flatten(found)[0] if isinstance(x, np.ndarray)]
    others = [x for x in flatten(given)[0] if isinstance(x, np.ndarray)]
    for i, x in enumerate(results):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in (*results[:i], *others))


def three_times(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What three calls give, which must be the same."""
    results = [f(*args, **kwargs) for _ in range(CALLS)]
    for result in results[1:]:
        assert_same_bits(result, results[0])
    return results[0]


# -- layouts ------------------------------------------------------------------------------------


def unaligned(x: np.ndarray) -> np.ndarray:
    """The same numbers one byte beside where they should be."""
    made = np.ndarray(x.shape, x.dtype, np.zeros(x.nbytes + 1, np.uint8).data, 1)
    made[...] = x
    assert not made.flags.aligned
    return made


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = {
    "C": X,
    "Fortran": np.asfortranarray(X),
    "transposed": X.T,
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1, ::-1],
    "broadcast": np.broadcast_to(X[:1], (3, 4)),
    "read-only": read_only(X),
    "unaligned": unaligned(X),
    "a field of records": np.rec.array(np.zeros((3, 4), "f4,f8"))["f1"].view(np.ndarray) + 0.0,
    "no rows": X[:0],
    "no columns": X[:, :0],
    "no axes": np.array(0.7),
    "one element": np.array([[0.7]]),
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
}


def layout_program(x: Any) -> Any:
    return np.sin(x) * x, x, np.sum(x * x), x.T, np.sum(x, axis=-1) if np.ndim(x) else x


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    check_compiled(layout_program, LAYOUTS[name])


@pytest.mark.parametrize("name", ["Fortran", "reversed", "no rows", "no axes", "read-only"])
def test_layouts_on_jax(name):
    pytest.importorskip("jax")
    check_compiled(layout_program, LAYOUTS[name], backend="jax")


@pytest.mark.parametrize("name", [n for n in LAYOUTS if not n.startswith("float")])
def test_gradients_in_every_layout(name):
    x = LAYOUTS[name]
    value, gradient = three_times(tg.value_and_grad(lambda x: np.sum(np.sin(x) * x)), x)
    assert_close(value, np.sum(np.sin(x) * x), 1e-13)
    assert_close(gradient, np.cos(x) * x + np.sin(x), 1e-13)
    assert_own_memory(gradient, x)


def test_one_version_serves_every_layout():
    made = tg.grad(lambda x: np.sum(x * x))
    for x in (v for v in LAYOUTS.values() if v.dtype == np.float64 and v.ndim == 2):
        assert_close(made(x), 2.0 * x, 1e-15)
    assert made.cache_info().versions <= 2  # lengths that broadcast in the derivative or not


# -- what is refused ----------------------------------------------------------------------------


class Own(np.ndarray):
    """A subclass with nothing of its own."""


REFUSED = {
    "big-endian": (X.astype(">f8"), r"x has dtype >f8.*native byte order"),
    "long double": (X.astype(np.longdouble), r"x has dtype (float128|float96|longdouble)"),
    "object": (np.array([1.0, 2.0], dtype=object), "x has dtype object"),
    "text": (np.array(["a"]), "x has dtype <U1"),
    "a NumPy text": (np.str_("a"), "x has dtype <U1"),
    "times": (np.array(["2020-01-01"], "M8[D]"), r"x has dtype datetime64\[D\]"),
    "a time": (np.datetime64("2020-01-01"), r"x has dtype datetime64\[D\]"),
    "records": (np.zeros(2, [("a", "f8")]), r"x has dtype \[\('a', '<f8'\)\]"),
    "matrix": (np.ones((2, 2)).view(np.matrix), r"x is a matrix.*np\.asarray"),
    "masked": (np.ma.masked_array(X, X > 0), r"x is a MaskedArray.*mask.*filled"),
    "a class of the user's": (X.view(Own), r"x is a Own.*np\.asarray"),
    "array of Python": (array.array("d", [1.0]), "x is a array"),
    "bytearray": (bytearray(b"a"), "x is a bytearray"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad, tg.compile])
def test_refused_by_name(name, transform):
    given, message = REFUSED[name]
    made = transform(lambda x: np.sum(x))
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            made(given)
    assert made.cache_info().versions == 0
    with pytest.raises(ArgumentError, match=message.replace("x ", r"x\['a'\]\[0\] ", 1)):
        transform(lambda x: np.sum(x["a"][0]))({"a": [given]})


def test_memory_mapped_files_go_as_arrays(tmp_path):
    file = np.memmap(tmp_path / "numbers", dtype=float, shape=(3,), mode="w+")
    file[:] = [1.0, 2.0, 3.0]
    with pytest.raises(ArgumentError, match=r"memmap.*np\.asarray"):
        tg.grad(np.sum)(file)
    found = three_times(tg.grad(lambda x: np.sum(x * x)), np.asarray(file))
    assert type(found) is np.ndarray
    assert_close(found, np.array([2.0, 4.0, 6.0]), 0.0)


@pytest.mark.parametrize(
    "given, message",
    [
        (np.arange(3), r"x is to be differentiated but has dtype int64.*x\.astype\(float\)"),
        (np.ones(3, bool), "x is to be differentiated but has dtype bool"),
        (3, r"x is to be differentiated but is 3 of type int.*x=3\.0"),
        (True, "x is to be differentiated but is True of type bool"),
        ("a", "x is to be differentiated but is 'a' of type str"),
        (None, "x holds no array"),
        ([], "x holds no array"),
        ([1.0, 2], r"x\[1\] is to be differentiated but is 2 of type int"),
    ],
)
def test_what_has_no_gradient_is_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        tg.grad(lambda x: 1.0)(given)


def test_complex_results_have_no_gradient():
    with pytest.raises(NonScalarError, match="complex"):
        tg.grad(np.sum)(X + 1j)


@pytest.mark.parametrize("argnums", ["x", 1.0, (0, "y"), None])
def test_argnums_must_be_positions(argnums):
    with pytest.raises(ArgumentError, match=r"argnums=.*positions"):
        tg.grad(np.sum, argnums=argnums)


def test_argnums_of_numpy_and_from_the_end():
    def f(x, y, z):
        return np.sum(x * y * z)

    assert_close(tg.grad(f, argnums=np.int64(1))(X, X + 1.0, X), X * X, 1e-15)
    assert_close(tg.grad(f, argnums=[-1, 0])(X, X + 1.0, 2.0 * X)[0], X * (X + 1.0), 1e-15)
    twice = three_times(tg.grad(f, argnums=(0, 0)), X, X, X)
    assert_close(twice, (X * X, X * X), 1e-15)
    assert_own_memory(twice, X)
    with pytest.raises(ArgumentError, match="argnums=3"):
        tg.grad(f, argnums=3)(X, X, X)


# -- aliases ------------------------------------------------------------------------------------


def test_one_array_passed_twice():
    def f(x, y):
        return np.sum(x * y * y)

    x = X.copy()
    found = three_times(tg.grad(f, argnums=(0, 1)), x, x)
    assert_close(found, (x * x, 2.0 * x * x), 1e-14)
    assert_own_memory(found, x)
    pair = three_times(tg.grad(lambda p: f(*p)), [x, x])
    assert_close(pair, [x * x, 2.0 * x * x], 1e-14)
    check_compiled(lambda a, b: (a, b, a + b), x, x)


def test_views_of_one_array():
    def f(x, y):
        y = y * 1.0
        y += x
        return np.sum(x * y)

    x = X.copy()
    for a, b in [(x[0], x[0, ::-1]), (x[:, 1], x[:, 1]), (x[:2], x[1:]), (x.T[0], x[:, 0])]:
        found = three_times(tg.grad(f, argnums=(0, 1)), a, b)
        assert_close(found, (2.0 * a + b, a), 1e-14)
        assert_own_memory(found, x)
        check_compiled(lambda a, b: (a * b, a[1:], b), a, b)
    assert_same_bits(x, X)


def test_results_do_not_follow_arguments():
    made, x = tg.compile(lambda p: {"same": p["x"], "part": p["x"][0]}), X.copy()
    results = [made({"x": x}) for _ in range(CALLS)]
    x[...] = 0.0
    for result in results:
        assert_same_bits(result, {"same": X, "part": X[0]})


# -- structures ---------------------------------------------------------------------------------


def weighted(tree: Any) -> Any:
    """Depends on the order in which Python iterates."""
    total = 0.0
    for i, value in enumerate(tree.values()):
        total = total + (i + 1) * value
    return total


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_dicts_keep_the_order_of_their_keys(kind, backend):
    if backend == "jax":
        pytest.importorskip("jax")
    one, other = kind(a=1.0, b=10.0), kind(b=10.0, a=1.0)
    made = tg.compile(weighted, backend=backend)
    slope = tg.grad(weighted, backend=backend)
    echo = tg.compile(lambda d: d, backend=backend)
    again = tg.compile(lambda d: {"z": d["a"], "y": d["b"], "x": 1}, backend=backend)
    for _ in range(CALLS):
        assert (made(one), made(other)) == (21.0, 12.0)
        assert list(slope(one).items()) == [("a", 1.0), ("b", 2.0)]
        assert list(slope(other).items()) == [("b", 1.0), ("a", 2.0)]
        assert type(slope(other)) is kind
        assert list(echo(other)) == ["b", "a"]
        assert list(again(one)) == ["z", "y", "x"]
    assert "another order" in made.explain() or kind is OrderedDict


def test_keywords_keep_their_order():
    def f(x, **named):
        return x * weighted(named)

    made = tg.grad(f)
    for _ in range(CALLS):
        assert (made(1.0, a=1.0, b=10.0), made(1.0, b=10.0, a=1.0)) == (21.0, 12.0)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_keys_of_any_kind(backend):
    if backend == "jax":
        pytest.importorskip("jax")
    trees = [
        {Color.RED: 2.0, Color.BLUE: 3.0},
        {"class": 2.0, "np": 3.0},
        {"len": 2.0, "a b": 3.0},
        {(1, "a"): 2.0, (2, "b"): 3.0},
        {1: 2.0, -1: 3.0},
        {"'": 2.0, '"': 3.0},
        {"{0}": 2.0, "\\": 3.0},
        {1.5: 2.0, "mixed": 3.0},
    ]
    for tree in trees:
        a, b = tree
        found = three_times(tg.grad(lambda d: d[a] ** 2 * d[b], backend=backend), tree)  # noqa: B023
        assert found == {a: 12.0, b: 4.0}


Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    w: Any
    b: Any


@dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any = 1.0


class Pair:
    """A container of the user's."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


register_node(Pair, lambda p: ((p.a, p.b), None), lambda aux, c: Pair(*c))


@pytest.mark.parametrize("kind", [Point, Layer, Frozen, Pair, lambda *p: p, lambda *p: list(p)])
def test_containers(kind):
    def f(p):
        a, b = flatten(p)[0]
        return np.sum(a * a * b)

    x = np.array([1.0, 2.0])
    for b in (3.0, np.float64(3.0), np.array(3.0), np.array([3.0, 4.0])):
        found = three_times(tg.grad(f), kind(x, b))
        assert type(found) is type(kind(x, b))
        assert_close(
            flatten(found)[0], [2.0 * x * b, np.sum(x * x) if not np.ndim(b) else x * x], 0.0
        )


def test_nested_and_empty_containers():
    tree = {"a": [], "b": (), "c": {"d": None, "e": [(X, [X[0]]), {}]}, "f": Point(1.0, None)}
    check_compiled(lambda t: t, tree)
    check_compiled(lambda t: (t["c"]["e"][0][0] * t["f"].x, t["a"]), tree)
    assert_same_bits(tg.compile(lambda t: 1.5)({}), 1.5)
    found = tg.grad(lambda x, rest: x * x)(2.0, {"a": [], "b": None})
    assert_close(found, 4.0, 0.0)


def test_structures_change_between_calls():
    def total(tree):
        leaves = flatten(tree)[0]
        return sum(((i + 1) * np.sum(x) for i, x in enumerate(leaves)), 0.0)

    made = tg.value_and_grad(total)
    trees = [[1.0], [1.0, 2.0], (1.0, 2.0), {"a": 1.0}, {"a": [1.0]}, {"b": 1.0}, Point(1.0, [2.0])]
    trees += [[X], [X, 2.0], {"a": X, "b": None}, {"a": X}, [[X], []], [[], [X]], Layer(1.0, X)]
    for _ in range(CALLS):
        for tree in trees:
            value, gradient = made(tree)
            assert_close(value, total(tree), 1e-14)
            leaves = flatten(tree)[0]
            assert_close(gradient, [np.full(np.shape(x), i + 1.0) for i, x in enumerate(leaves)], 0)
            assert flatten(gradient)[1] == flatten(tree)[1]


def test_functions_may_change_the_containers_that_they_are_given():
    """What they change is the caller's own, as in plain Python."""

    def f(p):
        p["new"] = p["x"] * 2.0
        p["list"].append(p["new"])
        return np.sum(p["new"] * p["list"][-1])

    for made in (tg.compile(f), tg.value_and_grad(lambda p: f(p))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(CALLS):
                given = {"x": X, "list": []}
                made(given)
                assert list(given) == ["x", "list", "new"] and given["x"] is X
                assert_close(given["new"], 2.0 * X, 0)
                assert_close(given["list"], [2.0 * X], 0)


# -- numbers ------------------------------------------------------------------------------------

NUMBERS = [3.0, np.float64(3.0), np.array(3.0), np.float32(3.0), 3, np.int64(3), np.array(3), True]
NUMBERS += [np.bool_(True), 3.0 + 1j, np.complex64(1j), np.float16(2.0), -0.0, float("nan")]
NUMBER_PROGRAMS = {
    "double": lambda x: x * 2,
    "third": lambda x: x / 3,
    "sine": np.sin,
    "several": lambda x: (x * x, [x + 1, x == x]),
    "itself": lambda x: x,
    "twice": lambda x: (x, x),
    "with an array": lambda x: x + np.arange(2, dtype=np.float32),
}


@pytest.mark.parametrize("name", NUMBER_PROGRAMS)
def test_numbers_scalars_and_arrays_without_axes_are_told_apart(name):
    f = NUMBER_PROGRAMS[name]
    made = tg.compile(f)
    for _ in range(CALLS):
        for x in NUMBERS:
            found, expected = flatten(made(x))[0], flatten(f(x))[0]
            assert_same_bits(found, expected)
            for a, b in zip(found, expected, strict=True):
                # an array without axes may come back as the scalar that it holds
                assert type(a) is type(b) or (type(b) is np.ndarray and not b.ndim)


def test_ints_that_vary_and_flags():
    def f(x, n, flag):
        if flag is True:
            return x * n
        return x + n if flag else x

    made = tg.compile(f)
    for n in [1, 2, 3, 4, 1, 0, -5, True, False, 10**20]:
        for flag in (True, False, 1, 0):
            assert_same_bits(made(2.0, n, flag), f(2.0, n, flag))


class Meters(float):
    """A number that knows more."""

    unit = "m"


class Size(enum.IntEnum):
    SMALL = 2


class Rate(float, enum.Enum):
    SLOW = 0.5


def test_subclasses_of_numbers_keep_what_they_do():
    check_compiled(lambda x, n: (x * n, n.unit), 3.0, Meters(1.0))
    check_compiled(lambda x, n: x * n, 3.0, Size.SMALL)
    check_compiled(lambda x, n: x * n.value, 3.0, Rate.SLOW)
    with pytest.raises(ArgumentError, match=r"x is to be differentiated but is .* of type Meters"):
        tg.grad(lambda x: x * 2.0)(Meters(1.0))
    check_compiled(lambda x, v: x * v[0], 3.0, sys.version_info)


# -- signatures ---------------------------------------------------------------------------------


def many(a, /, b, c=3.0, *rest, d, e=5.0, **named):
    total = a + 2.0 * b + 4.0 * c + 8.0 * d + 16.0 * e
    for i, x in enumerate(rest):
        total = total + (32.0 + i) * x
    for i, x in enumerate(named.values()):
        total = total + (64.0 + i) * x
    return np.sum(total)


CALLS_OF_MANY: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1.0, 2.0), {"d": 1.0}),
    ((1.0,), {"b": 2.0, "d": 1.0}),
    ((1.0,), {"d": 1.0, "b": 2.0, "c": 7.0}),
    ((1.0, 2.0, 7.0), {"d": 1.0, "e": 0.0}),
    ((1.0, 2.0, 7.0, 8.0, 9.0), {"d": X}),
    ((1.0, 2.0), {"d": 1.0, "z": 1.0, "y": 2.0}),
    ((1.0, 2.0), {"d": 1.0, "y": 2.0, "z": 1.0}),
    ((1.0, 2.0), {"d": 1.0, "a": 9.0}),
    ((1.0, 2.0), {"d": 1.0, "class": 9.0, "not a name": 2.0}),
    ((1.0, 2.0, 3.0, 4.0), {"d": 1.0, "rest_0": 9.0}),
    ((X, X, X, X), {"d": X, "np": X, "len": X}),
]


@pytest.mark.parametrize("number", range(len(CALLS_OF_MANY)))
def test_signatures(number):
    args, kwargs = CALLS_OF_MANY[number]
    check_compiled(many, *args, **kwargs)
    value, gradients = three_times(tg.value_and_grad(many, argnums=(0, 1)), *args, **kwargs)
    assert_same_bits(value, many(*args, **kwargs))
    ones = np.ones(np.shape(args[0]))
    n = 1.0 if np.shape(args[0]) else max(np.size(x) for x in (*args, *kwargs.values()))
    assert_close(gradients[0], ones * n, 0.0)


def test_one_callable_takes_every_call():
    made = tg.compile(many)
    for _ in range(CALLS):
        for args, kwargs in CALLS_OF_MANY:
            assert_same_bits(made(*args, **kwargs), many(*args, **kwargs))
    for args, kwargs in [((), {}), ((1.0,), {}), ((1.0, 2.0), {}), ((), {"a": 1.0, "d": 1.0})]:
        with pytest.raises(TypeError) as expected:
            many(*args, **kwargs)
        with pytest.raises(TypeError) as found:
            made(*args, **kwargs)
        assert type(found.value) is type(expected.value)


def names_of_programs(program, entry, args, MISS, ndarray, dtype_float64, unchanged, type, len):
    return np.sum(program * entry * args * MISS * ndarray * dtype_float64 * unchanged * type * len)


def test_parameters_may_have_any_name():
    """What programs and their guards refer to by name must not be hidden by the user's names."""
    made = tg.grad(names_of_programs, argnums=tuple(range(9)))
    rng = np.random.default_rng(0)
    for shape in [(3,), (3,), (2, 2), (3,)]:
        given = [rng.normal(size=shape) for _ in range(9)]
        for i, found in enumerate(made(*given)):
            rest = [x for k, x in enumerate(given) if k != i]
            assert_close(found, functools.reduce(np.multiply, rest), 1e-13)
    check_compiled(lambda np, jax, range, list, float: np * jax + range - list * float, *[X] * 5)
    check_compiled(lambda args_0, *args: args_0 * args[0], 2.0, 3.0)
    assert "    program, entry, args, MISS, ndarray," in made.source(*given)


def test_defaults():
    table = {"scale": 2.0}

    def f(x, y=X[0], table=table, *, power=2, flag=None):
        return np.sum(x * y) * table["scale"] ** power if flag is None else x

    made = tg.compile(f)
    for _ in range(CALLS):
        assert_same_bits(made(X), f(X))
        assert_same_bits(made(X, power=3), f(X, power=3))
        assert_same_bits(made(X, flag=1), f(X, flag=1))
        assert_same_bits(made(X, None or X[1]), f(X, X[1]))
    table["scale"] = 3.0
    assert_same_bits(made(X), f(X))
    f.__defaults__ = (X[1], {"scale": 5.0})
    for _ in range(CALLS):
        assert_same_bits(made(X), f(X))
    f.__kwdefaults__["power"] = 1
    assert_same_bits(made(X), f(X))


def test_static_arguments():
    def f(x, mode, count=2):
        return x * count if mode == "times" else x + count

    made = tg.compile(f, static_argnames=("mode", "count"))
    for count in (1, 2, 3, 4, 5, 2.5):
        for mode in ("times", "plus"):
            assert_same_bits(made(X, mode, count), f(X, mode, count))
            assert_same_bits(made(X, mode=mode, count=count), f(X, mode, count))
    with pytest.raises(ArgumentError, match="mode is a dict, but a static argument"):
        made(X, {"a": 1})
    with pytest.raises(ArgumentError, match=r"names 'moed', but f has the parameters \(x, mode,"):
        tg.compile(f, static_argnames="moed")
    open_ended = tg.compile(lambda x, **named: x * named["n"], static_argnames="n")
    assert open_ended(2.0, n=3) == 6.0


# -- callables ----------------------------------------------------------------------------------


class Model:
    factor = 3.0

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def plain(self, x: Any, power: int = 2) -> Any:
        """Scaled powers."""
        return np.sum(self.scale * x**power)

    def __call__(self, x: Any) -> Any:
        return self.plain(x)

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.factor * x

    @staticmethod
    def static(x: Any) -> Any:
        return 5.0 * x

    @tg.compile
    def compiled(self, x: Any, *, more: float = 0.0) -> Any:
        return self.scale * x + more

    @classmethod
    @tg.compile
    def compiled_of_class(cls, x: Any) -> Any:
        return cls.factor * x

    @staticmethod
    @tg.compile
    def compiled_inside(x: Any) -> Any:
        return 5.0 * x

    @tg.compile
    @staticmethod
    def compiled_outside(x: Any) -> Any:
        return 5.0 * x


class Child(Model):
    factor = 7.0


def test_methods():
    a, b = Model(2.0), Child(3.0)
    for _ in range(CALLS):
        for model in (a, b):
            assert_same_bits(model.compiled(X, more=1.0), model.scale * X + 1.0)
            assert_same_bits(type(model).compiled(model, X), model.scale * X)
            assert_same_bits(model.compiled_of_class(X), type(model).factor * X)
            assert_same_bits(type(model).compiled_of_class(X), type(model).factor * X)
            assert_same_bits(model.compiled_inside(X), 5.0 * X)
            assert_same_bits(model.compiled_outside(X), 5.0 * X)
            assert_same_bits(type(model).compiled_outside(X), 5.0 * X)
    a.scale = 11.0
    assert_same_bits(a.compiled(X), 11.0 * X)


def test_a_classmethod_must_be_outermost():
    with pytest.raises(ArgumentError, match="write @classmethod above"):

        class Wrong:
            @tg.compile
            @classmethod
            def made(cls, x):
                return x


@pytest.mark.parametrize(
    "f",
    [
        Model(2.0).plain,
        Model(2.0),
        Child.of_class,
        Child.static,
        lambda x: x * 2.0,
        functools.partial(lambda a, x, k=1.0: np.sum(a * x * k), 3.0, k=2.0),
        functools.partial(functools.partial(lambda a, b, x: a * b * x, X), X[0]),
        functools.partial(Model(2.0).plain, power=3),
        np.sum,
        np.sin,
        np.transpose,
    ],
    ids=lambda f: getattr(f, "__qualname__", type(f).__name__),
)
def test_callables(f):
    check_compiled(f, X)
    made = tg.compile(f)
    assert isinstance(made.__name__, str)
    assert made.__name__ in repr(made)
    made(X)
    assert made.__name__ in made.explain()


def test_what_wraps_a_function_keeps_its_face():
    plain = Model(2.0).plain
    made = tg.grad(plain)
    assert (made.__name__, made.__doc__) == ("plain", "Scaled powers.")
    assert inspect.signature(made) == inspect.signature(plain)
    assert tg.grad(functools.partial(plain, power=3)).__name__ == "plain"
    assert tg.grad(Model(2.0)).__name__ == "Model"


def test_transforms_are_no_functions_of_anything_else():
    for wrong in (1.0, "f", None if False else [], X):
        with pytest.raises(ArgumentError, match="expected a function"):
            tg.grad(wrong)


# -- the cost of it -----------------------------------------------------------------------------


def test_positional_calls_are_answered_by_the_entry():
    """The general way of a call is for first calls and keywords."""
    made = tg.grad(lambda p, n, flag=None: np.sum(p["w"] * p["b"][0]) * n)
    given = {"w": X, "b": [X, None], Color.RED: 1.0}
    made(given, 2)
    general, made._call = made._call, None  # type: ignore[method-assign]
    try:
        found = made(given, 2)
    finally:
        made._call = general
    assert_close(found["w"], 2.0 * X, 0.0)
    assert made.cache_info().hits == 1


def test_arguments_that_have_names_alone_are_found_again():
    def f(x, y=2.0, *, z, w=1.0):
        return np.sum(x * y * (z + 10 * w))

    x = np.arange(3.0)
    slope = tg.grad(f)
    for turn in range(1, 5):
        for found in (slope(x, 2.0, z=3.0), slope(x, z=3.0, y=2.0), slope(z=3.0, y=2.0, x=x)):
            assert (found == 26.0).all()
        assert (slope(x, 2.0, w=2.0, z=4.0) == 48.0).all()
        assert (slope(x, 2.0, z=4.0, w=3.0) == 68.0).all()
        assert slope.cache_info().hits == 5 * turn - 1
    keys = [key for key in slope._entries if type(key) is tuple]
    assert sorted(names for _, names in keys) == [("z",), ("z", "w")]
    f.__kwdefaults__["w"] = 5.0
    assert (slope(x, 2.0, z=3.0) == 106.0).all()
    with pytest.raises(TypeError):
        slope(x, 2.0, 3.0)  # as by position after calls by name
    with pytest.raises(TypeError):
        slope(x, 2.0, w=2.0)


def test_arguments_by_name_are_those_by_position():
    """In any order, behind any number of others; what has no place by position goes its own way."""

    def f(x, y=2.0, *, z=3.0):
        return np.sum(x * y * z)

    def g(x, y, w=4.0):
        return np.sum(x * y * w)

    x, y = np.arange(3.0), np.ones(3)
    slope = tg.grad(g)
    for _ in range(2):
        for found in (slope(x, y), slope(x, y=y), slope(y=y, x=x), slope(x=x, y=y, w=4.0)):
            assert (found == 4.0 * y).all()
        assert (slope(x, w=5.0, y=y) == 5.0 * y).all()
    assert slope.cache_info().versions <= 2
    assert (tg.grad(g)(y=y, x=x, w=1.0) == y).all()
    assert (tg.grad(f)(x, z=1.0) == 2.0).all()
    assert (tg.grad(f)(y=1.0, x=x, z=1.0) == 1.0).all()
    for wrong in ({"x": x}, {"x": x, "y": y, "v": 1.0}, {"w": 1.0, "x": x}):
        with pytest.raises(TypeError):
            slope(**wrong)
    with pytest.raises(TypeError):
        slope(x, x=x, y=y)
    with_axes = tg.vmap(g, in_axes=(0,))
    assert with_axes(x, y=y).shape == (3,)  # by name: axis 0
    assert (with_axes(x, y=np.arange(3.0)) == 4.0 * x * x).all()
