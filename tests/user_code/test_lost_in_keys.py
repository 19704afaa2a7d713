"""Numbers in sets and keys of dictionaries: no gradient through them is a silent zero."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import LostGradientError

X = np.array([0.5, 2.0, 3.0])


def added(x):
    found = set()
    for v in x:
        found.add(v * 2)
    return sum(sorted(found))


def in_place(x):
    found = set(x)
    found |= {0.0}
    return sum(found)


def most_frequent(x):
    found = {}
    for v in x:
        found[v] = found.get(v, 0) + 1
    return max(found, key=found.get) * 2


def set_by_name(x):
    found = {}
    for i, v in enumerate(x):
        found.__setitem__(v, i)
    return sum(found)


def key_alone(x):
    (key,) = {x[0]: "a"}
    return key * 5


THROUGH = {
    "set": lambda x: sum(set(x)),
    "sorted": lambda x: sum(sorted(set(x))),
    "comprehension": lambda x: sum({v for v in x}),
    "display": lambda x: sum(sorted({x[0], x[1], x[2]})),
    "max": lambda x: max(set(x)),
    "union": lambda x: sum(set(x) | {0.0}),
    "difference": lambda x: sum(set(x) - {7.0}),
    "frozenset": lambda x: sum(frozenset(x).union([0.0])),
    "fromkeys": lambda x: sum(dict.fromkeys(x)),
    "tuples": lambda x: sum(a * b for a, b in {(v, w) for v, w in zip(x, x[::-1], strict=True)}),
    "added": added,
    "in place": in_place,
    "in order": lambda x: sum(k * i for i, k in enumerate(set(x))),
    "array": lambda x: np.sum(np.array(list(set(x)))),
    "keys": lambda x: sum({v: 1.0 for v in x}),
    "items": lambda x: sum(k * i for k, i in {v: i for i, v in enumerate(x)}.items()),
    "most frequent": most_frequent,
    "keys of pairs": lambda x: sum(dict(zip(x, x, strict=True)).keys()),
    "key alone": key_alone,
    "key in a tuple": lambda x: next(iter({(x[0], 1): 2.0}))[0] * 3,
    "set by name": set_by_name,
    "ordered": lambda x: sum(OrderedDict((v, 2) for v in x)),
    "counted": lambda x: sum(k * c for k, c in Counter(x).items()),
}


def memo(x):
    known = {}
    total = 0.0
    for v in x:
        if v not in known:
            known[v] = v * v
        total = total + known[v]
    return total + sum(known.values())


BESIDE = {
    "memo": memo,
    "values": lambda x: sum({v: v * 2 for v in x}.values()),
    "values of items": lambda x: sum(w for _, w in {v: v * 3 for v in x}.items()),
    "last": lambda x: {v: v * 3 for v in x}.popitem()[1],
    "copies": lambda x: dict({v: v * 3 for v in x})[x[0]] * x[1],
    "members": lambda x: sum(v for v in x if v in set(x)),
    "how many": lambda x: len(set(x)) * x[0],
    "places": lambda x: sum(x[i] for i in {v: i for i, v in enumerate(x)}.values()),
}


def slopes(f, x):
    """Central differences."""
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(len(x)) * 1e-6])


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("given", [X, [*X.tolist()]], ids=["array", "list"])
@pytest.mark.parametrize("name", [*THROUGH, *BESIDE])
def test_right_or_refused(name, given, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    f = THROUGH.get(name) or BESIDE[name]
    slope = tg.value_and_grad(f)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value, found = slope(given)
            except LostGradientError as error:
                assert name in THROUGH
                assert f"{__file__}:" in str(error)
                continue
        assert value == f(X)
        np.testing.assert_allclose(np.array(found, dtype=float), slopes(f, X), rtol=1e-6)


def test_the_line_is_named():
    with pytest.raises(LostGradientError, match=r"found\[v\] = found.get\(v, 0\) \+ 1"):
        tg.grad(most_frequent)(X)


def test_constants_stay():
    """A constant that is equal to a key is none."""
    slope = tg.value_and_grad(lambda x: ({x: 1.0}[x], 0.5)[1] + x)
    assert slope(0.5) == (1.0, 1.0)
