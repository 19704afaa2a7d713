"""What a compiled call asks of its arguments, a file asks too: it refuses what it is not for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg

X = np.ones(2)


def file_of(function, path, *args, made=None, **options):
    """What the file has that is exported for these arguments."""
    made = tg.compile(function, **options) if made is None else made
    made.export(path, *args)
    space: dict[str, Any] = {"__file__": str(path), "__name__": "exported"}
    exec(path.read_text(), space)
    return space


# -- arrays that are written to -------------------------------------------------------------------


def accumulate(x, out):
    out += 1.0
    y = x * 2.0
    out *= 3.0
    return y.sum() + (x * out).sum()


def in_a_dict(d):
    d["a"] += 2.0
    return d["a"] * d["b"]


def in_a_list(xs):
    total = 0.0
    for i in range(len(xs)):
        xs[i] += 1.0
        total = total + xs[i].sum()
    return total


def views(n=5):
    whole = np.arange(float(n))
    return whole[1:], whole[:-1]


def twice(make):
    x = np.ones(4)
    return make(x, x)


def apart(make):
    return make(np.ones(4), np.full(4, 2.0))


def pair(x, y):
    return x, y


def keyed(x, y):
    return ({"a": x, "b": y},)


def listed(x, y):
    return ([x, y],)


def arrays(tree):
    held = tree.values() if isinstance(tree, dict) else tree
    return [tree] if isinstance(tree, np.ndarray) else [y for x in held for y in arrays(x)]


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("function", "make", "shared"),
    [
        (accumulate, pair, lambda: twice(pair)),
        (accumulate, pair, views),
        (in_a_dict, keyed, lambda: twice(keyed)),
        (in_a_list, listed, lambda: twice(listed)),
    ],
    ids=["twice", "overlapping views", "in a dict", "in a list"],
)
def test_what_is_written_shares_no_memory_with_what_is_read(
    function, make, shared, backend, tmp_path
):
    if backend == "jax":
        pytest.importorskip("jax")
    made = tg.compile(function, backend=backend)
    call = file_of(function, tmp_path / "f.py", *apart(make), made=made)[function.__name__]
    for each in (call, made):
        with pytest.raises(TypeError, match="shares memory with another array that it reads"):
            each(*shared())
    expected, found = apart(make), apart(make)
    np.testing.assert_allclose(call(*found), function(*expected), rtol=1e-6)
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_is_written_is_no_array_of_the_file(tmp_path):
    scale, kept = np.arange(4.0), SimpleNamespace(w=np.ones(4))

    def scaled(x, out):
        out *= 2.0
        return x * scale + out

    def counted(x):
        kept.w[0] += x[0]
        return kept.w * x

    space = file_of(scaled, tmp_path / "a.py", np.ones(4), np.ones(4))
    with pytest.raises(TypeError, match="the function writes to out, which shares memory"):
        space["scaled"](np.ones(4), space["scale"])
    made = tg.compile(counted)
    made(np.ones(4))
    space = file_of(counted, tmp_path / "b.py", np.ones(4), made=made)
    with pytest.raises(TypeError, match="the function writes to w, which shares memory"):
        space["counted"](space["w"])


def test_arrays_of_jax_are_left_as_they_are(tmp_path):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        x, out = jax.numpy.ones(4, "float64"), jax.numpy.zeros(4, "float64")
        space = file_of(accumulate, tmp_path / "f.py", np.ones(4), np.zeros(4), backend="jax")
        assert float(space["accumulate"](x, out)) == 8.0 + 12.0
        assert not out.any()


# -- orders of keys -------------------------------------------------------------------------------


def by_key(d):
    return d["a"] * 2.0 + d.get("b") + (1.0 if "a" in d else 2.0) + len(d)


def over_keys(d):
    return [d[key] for key in d]


def over_items(d):
    return [value for _, value in d.items()]


def over_values(d):
    found = []
    for value in d.values():
        found.append(value * 2.0)
    return found


def first_of(d):
    return d[next(iter(d))]


def as_a_list(d):
    return [d[key] for key in list(d)]


def unpacked(d):
    return [d[key] for key in [*d]]


def as_keywords(d):
    def inner(**more):
        return [value for value in more.values()]

    return inner(**d)


def merged(d):
    return [value for value in {**d}.values()]


def copied(d):
    return [value for value in d.copy().values()]


def given_back(d):
    return {"x": 1.0, "y": [d]}


@pytest.mark.parametrize(
    "function",
    [
        *(over_keys, over_items, over_values, first_of, as_a_list, unpacked, as_keywords, merged),
        *(copied, given_back),
    ],
    ids=lambda f: f.__name__,
)
def test_an_order_of_keys_that_is_read_is_asked(function, tmp_path):
    a, b = np.ones(2), np.zeros(2)
    call = file_of(function, tmp_path / "f.py", {"a": a, "b": b})[function.__name__]
    assert str(call({"a": a, "b": b})) == str(function({"a": a, "b": b}))
    with pytest.raises(ValueError, match=r"must have its keys in the order .*, which is read"):
        call({"b": b, "a": a})


def test_an_order_of_keys_that_is_not_read_is_free(tmp_path):
    a, b = np.ones(2), np.zeros(2)
    call = file_of(by_key, tmp_path / "f.py", {"a": a, "b": b})["by_key"]
    np.testing.assert_array_equal(call({"b": b, "a": a}), by_key({"b": b, "a": a}))


def test_keywords_have_the_order_that_is_read(tmp_path):
    def stacked(x, **more):
        return [more[key] * x for key in more]

    def added(x, **more):
        return more["a"] * x + more["b"]

    for function in (stacked, added):
        path, made = tmp_path / f"{function.__name__}.py", tg.compile(function)
        made.export(path, X, a=2.0, b=3.0)
        space: dict[str, Any] = {}
        exec(path.read_text(), space)
        call = space[function.__name__]
        assert str(call(X, a=2.0, b=3.0)) == str(function(X, a=2.0, b=3.0))
        if function is added:
            assert str(call(X, b=3.0, a=2.0)) == str(function(X, b=3.0, a=2.0))
            continue
        with pytest.raises(TypeError, match=r"\*\*more must take \['a', 'b'\]"):
            call(X, b=3.0, a=2.0)


# -- values and classes ---------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: float


class Couple(NamedTuple):
    a: Any
    b: float


@dataclass
class Record:
    a: Any
    b: float


@dataclass
class Derived(Record):
    pass


def times(x, k):
    return x * (k if isinstance(k, float) else k[0])


def of_kind(x, k):
    return x * (1.0 if type(k) in (Pair, Record) else 2.0)


def kinds_of_keys(x, k):
    return [type(key).__name__ for key in k]


@pytest.mark.parametrize(
    ("function", "first", "other", "static"),
    [
        (times, 0.0, -0.0, True),
        (times, (0.0,), (-0.0,), True),
        (times, (1,), (True,), True),
        (times, (1,), (1.0,), True),
        (of_kind, frozenset([1, 2]), frozenset([1.0, 2]), True),
        (of_kind, Pair(X, 0.5), Couple(X, 0.5), False),
        (of_kind, Pair(X, 0.5), (X, 0.5), False),
        (of_kind, Record(X, 0.5), Derived(X, 0.5), False),
        (kinds_of_keys, {1: 0.5}, {True: 0.5}, False),
        (kinds_of_keys, OrderedDict([(1, 0.5)]), OrderedDict([(True, 0.5)]), False),
    ],
)
def test_equal_values_of_other_kinds_are_refused(function, first, other, static, tmp_path):
    made = tg.compile(function, static_argnames="k" if static else ())
    space = file_of(function, tmp_path / "f.py", X, first, made=made)
    assert str(space[function.__name__](X, first)) == str(function(X, first))
    with pytest.raises((TypeError, ValueError), match=r"must (be|have)"):
        space[function.__name__](X, other)


def test_a_dataclass_with_an_attribute_more_is_refused(tmp_path):
    record = Record(X, 0.5)
    space = file_of(of_kind, tmp_path / "f.py", X, record)
    record.more = 1.0
    with pytest.raises(TypeError, match="k must have 2 attributes"):
        space["of_kind"](X, record)
