"""What functions write in place to objects of which no program writes: done once, in each call."""

from __future__ import annotations

import operator
import os
import warnings
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class Items(list):
    pass


class Members(set):
    pass


class Ends(deque):
    pass


class Named(dict):
    pass


class Unit(np.ndarray):
    pass


WEIGHTS = np.array([0.5, 2.0])
DAY = np.timedelta64(1, "D")
SHARED = np.zeros(6, [("x", "f8"), ("n", "i4")])


def records():
    return np.array([(1.0, 0), (2.0, 0)], [("x", "f8"), ("n", "i4")])


def part_of_records():
    SHARED["n"] = 0
    return SHARED[1:3]


def objects():
    return np.array([1, 2.0, 3], object)


def dates():
    return np.array(["2020-01-01", "2020-01-02"], "M8[D]")


def texts():
    return np.array(["a", "b"], "U9")


def masked():
    return np.ma.array([1.0, 2.0], mask=[False, True])


def units():
    return np.zeros(2).view(Unit)


def matrix():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix([[1.0, 2.0]])


WRITES: list[tuple[Callable[[], Any], str]] = [
    *[
        (make, text)
        for make in (records, part_of_records)
        for text in (
            "v = d['n']; v += 1",
            "d['n'] += 1",
            "d['n'][0] += 1",
            "d[0]['n'] += 1",
            "for r in d: r['n'] += 1",
            "v = d['n'][::-1]; v += 1",
            "d.reshape(2, 1)['n'][0] += 1",
            "d['n'].flat[0] += 3",
            "d['n'].fill(7 + d['n'][0])",
            "np.add(d['n'], 1, out=d['n'])",
            "np.add(d['n'], 1, d['n'])",
            "np.add.at(d['n'], [0, 0], 1)",
            "np.copyto(d['n'], d['n'] + 1)",
            "np.cumsum(d['n'] + 1, None, None, d['n'])",
            "np.clip(d['n'], d['n'] + 1, 100, d['n'])",
            "v = memoryview(d['n']); v[0] = v[0] + 1",
            "operator.iadd(d['n'], 1)",
            "a, b = d['n'], d['x']; a += 1; b -= 1",
            "d['n'] += 1; x = x * d['n'].sum()",
            "v = d['n']; v += 1; x = x * float(v[0])",
        )
    ],
    (objects, "v = d[1:]; v += 1"),
    (objects, "np.add.at(d, [0], 1)"),
    (dates, "v = d[:1]; v += DAY"),
    (texts, "v = d[:1]; v[0] = v[0] + 'z'"),
    *[
        (make, text)
        for make in (masked, units, matrix)
        for text in ("e = d; e += 1.0", "e = d; e *= 2", "e = d[:1]; e += 1.0")
    ],
    (units, "np.add(d, 1, out=d)"),
    (units, "np.add.at(d, [0], 1)"),
    (units, "e = np.asarray(d); e += 1; x = x * e[0]"),
    (lambda: array("d", [1.0, 2.0]), "e = d; e *= 2"),
    *[
        (make, text)
        for make in (lambda: Items([1]), lambda: Ends([1]), lambda: [1], lambda: deque([1]))
        for text in (
            "e = d; e += [1]",
            "e = d; e += [x[0]]",
            "operator.iadd(d, [x[0], WEIGHTS[0]])",
        )
    ],
    (lambda: Items([1]), "e = d; e *= 2"),
    (lambda: Ends([1]), "e = d; e *= 2"),
    (lambda: Items([1]), "operator.iconcat(d, [x[0]])"),
    (lambda: [1], "operator.iconcat(d, [x[0]])"),
    *[
        (make, text)
        for make in (lambda: Members([1]), lambda: {1})
        for text in (
            "e = d; e ^= {1}",
            "e = d; e |= {x[0]}",
            "e = d; e ^= set(x)",
            "e = d; e -= {1}",
        )
    ],
    *[
        (make, text)
        for make in (lambda: Named(a=1), lambda: {"a": 1}, lambda: OrderedDict(a=1))
        for text in ("e = d; e |= {'b': WEIGHTS[0]}", "e = d; e |= [('b', x[0])]")
    ],
]


def pulled(f: Any) -> Any:
    return lambda x: tg.vjp(f, x)[0]


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad, pulled])
@pytest.mark.parametrize(("make", "text"), WRITES, ids=lambda x: x if type(x) is str else "")
def test_done_once_in_each_call(make, text, transform):
    names = {"np": np, "operator": operator, "DAY": DAY, "WEIGHTS": WEIGHTS, "os": os}
    exec(f"def body(d):\n def f(x):\n  {text}\n  return x.sum()\n return f", names)
    one, other = make(), make()
    if make is part_of_records:
        one = records()
        one["x"] = 0.0
        other["x"] = 0.0
    plain, f = names["body"](one), transform(names["body"](other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (np.array([1.0, 2.0]), np.array([3.0, 2.0]), np.ones(3), np.ones(2)):
            expected, found = plain(x), f(x)
            value = found[0] if transform is tg.value_and_grad else found
            assert value == expected
            assert repr(other) == repr(one)


def test_gradients_read_what_was_written():
    d = records()

    def f(x):
        d["n"] += 1
        return (x * d["n"].sum()).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 6):
            assert (tg.grad(f)(np.ones(2)) == 2.0 * n).all()
    assert (d["n"] == 5).all()


def test_elements_of_a_class_of_arrays_are_never_stale():
    d = units()
    f = tg.compile(lambda x: x.sum() * np.sum(np.asarray(d)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(4):
            assert f(np.ones(2)) == 4.0 * n
            np.asarray(d)[...] += 1
