"""Lists and tuples beside numbers and arrays of the run: ``*`` and ``+=`` do what NumPy does."""

from __future__ import annotations

import warnings
from collections import deque

import numpy as np
import pytest

import tracegrad as tg

LABELS = [np.array([0, 2, 1]), np.array([1, 3, 0]), np.array([2, 0, 5])]
ARRAYS = [np.array([0.5, 2.0, 3.0]), np.array([1.5, -2.0, 4.0])]
NUMBERS = [2.5, -1.0, 0.5]


def counts(labels):
    found = [0] * (labels.max() + 1)
    for i in labels:
        found[i] += 1
    return found


def in_place(labels):
    found = [0.0]
    same = found
    found *= labels[1]
    return found, found is same


def own_integers(labels):
    chosen, found = np.eye(2, dtype=int), []
    for i in range(2):
        found.append([1.0, 2.0] * chosen[labels[0] % 2, i])
    return found


def in_a_loop(labels):
    found = 0.0
    for k in labels:
        found = found + len([1.0] * k)
    return found


def added_in_place(x):
    items = [1.0]
    same = items
    items += x
    return same, items


def added_to_a_traced_item(x):
    items = [x[0]]
    items += x
    return sum(items)


def added_number(x):
    items = [1.0]
    items += x[0]
    return items


def added_own_array(x):
    items = [1.0]
    items += np.ones(3)
    return items * x


def multiplied_in_place(x):
    items = [2.0]
    items *= x
    return items


def extended(x):
    items = []
    for value in x:
        items += [value]
    items += [*x]
    return sum(items)


class Added:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return self.x * 5

    def __iter__(self):
        return iter([1.0])


class NotAdded(Added):
    def __radd__(self, other):
        return NotImplemented


def added_object(x):
    items = [1.0]
    items += Added(x)
    return items


def extended_by_object(x):
    items = [1.0]
    items += NotAdded(x)
    return items, x * 2


def object_added_to_deque(x):
    items = deque([1.0])
    items += Added(x)
    return items


CASES = {
    "the largest": (lambda labels: [0.0] * (labels.max() + 1), LABELS),
    "a length": (lambda labels: len([1.5, 2.5] * labels[1]), LABELS),
    "from the left": (lambda labels: labels[1] * [0.0], LABELS),
    "tuple": (lambda labels: ((1.0, 2.0) * labels[1], labels[1] * (1.0,)), LABELS),
    "empty": (lambda labels: [] * labels[1], LABELS),
    "text": (lambda labels: "ab" * labels[1], LABELS),
    "deque": (lambda labels: list(deque([1.0]) * labels[1]), LABELS),
    "traced items": (lambda labels: [labels[0]] * labels[1], LABELS),
    "counts": (counts, LABELS),
    "*=": (in_place, LABELS),
    "own integers": (own_integers, LABELS),
    "in a loop": (in_a_loop, [np.arange(12), np.arange(12)[::-1].copy(), np.arange(12) + 1]),
    "bool": (lambda x: [1.0] * (x > 0), NUMBERS),
    "text and bool": (lambda x: "ab" * (x > 0), NUMBERS),
    "bool as an index": (lambda x: ("no", "yes")[x > 0], NUMBERS),
    "bool in a slice": (lambda x: [1, 2, 3][(x > 0) :], NUMBERS),
    "float": (lambda x: [1.0] * x[0], ARRAYS),
    "bool of NumPy": (lambda x: [1.0] * (x[0] > 0), ARRAYS),
    "+=": (added_in_place, ARRAYS),
    "+= to a traced item": (added_to_a_traced_item, ARRAYS),
    "+= a number": (added_number, ARRAYS),
    "+= an own array": (added_own_array, ARRAYS),
    "*= an array": (multiplied_in_place, ARRAYS),
    "+= a list": (extended, ARRAYS),
    "+= an object": (added_object, ARRAYS),
    "+= an object that cannot": (extended_by_object, ARRAYS),
    "deque += an object": (object_added_to_deque, ARRAYS),
    "no items": (lambda x: [1.0] * len(x) + x, [np.array([]), np.array([1.0]), np.array([])]),
}


def outcome(f, given):
    try:
        return repr(f(given))
    except TypeError:
        return "TypeError"


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("case", CASES)
def test_as_in_numpy(case, compiles, monkeypatch):
    f, calls = CASES[case]
    monkeypatch.setattr(tg.config, "compile", compiles)
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in calls * 2:
            assert outcome(compiled, given) == outcome(f, given)


def repeated(x, n):
    return sum([x[0], x[1]] * n)


def argument_repeated(x, n):
    return sum(x * np.full(2, 3)[0]) + n * x[0]


def added(x, n):
    items = [x[0]]
    items += x
    return sum(items) * n


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize(
    ("f", "x", "slopes"),
    [
        (repeated, np.array([0.5, 2.0]), lambda n: [n, n]),
        (argument_repeated, [0.5, 2.0], lambda n: [3.0 + n, 3.0]),
        (added, np.array([0.5, 2.0]), lambda n: [3.0 * n, n]),
    ],
)
def test_gradients(f, x, slopes, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    slope = tg.value_and_grad(f)
    for n in np.array([2, 3, 2, 1]):
        value, found = slope(x, n)
        assert value == f(x, n)
        assert list(found) == slopes(n)


def test_the_number_is_looked_at():
    """A number that was seen repeats as often again; another one is another program."""
    compiled = tg.compile(lambda labels: [0.0] * labels.max())
    for labels in (LABELS[0], LABELS[0], LABELS[1], LABELS[0]):
        compiled(labels)
    assert compiled.cache_info().traces == 2
    assert compiled.cache_info().hits == 2
