"""Code that sees through an iterator how many rows an array has: each length has its answer."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

LENGTHS = (2, 2, 3, 1, 2, 4, 0)
"""Of the calls of one function, the first of which are recorded."""


def first_of_two(*values):
    a, _ = values
    return a * 1.0


def unpacked_backwards(x):
    a, _ = reversed(x)
    return a * 1.0


def unpacked_iterator(x):
    a, _ = iter(x)
    return a * 1.0


def unpacked_pairs(x):
    (_, a), (_, _) = enumerate(x)
    return a * 1.0


def unpacked_numbers(x):
    a, b = reversed(range(len(x)))
    return x[a] * x[b]


def unpacked_number_iterator(x):
    a, _ = iter(range(len(x)))
    return x[a] * 1.0


def unpacked_rest(x):
    (_, a), *rest = enumerate(x)
    return a * len(rest)


def unpacked_after_one(x):
    rows = reversed(x)
    next(rows)
    (a,) = rows
    return a * 1.0


def unpacked_columns(x):
    a, b = zip(x, x, strict=True)
    return a[0] * b[1]


def a_list_filled_anew(x):
    values = [0.0, 0.0]
    values[:] = reversed(x)
    return values[-1] * len(values)


def a_part_of_a_list_replaced(x):
    values = [0.0, 0.0, 0.0, 0.0]
    values[1:3] = iter(x)
    return values[-1] + len(values) + x.sum()


PROGRAMS: list[Callable[[Any], Any]] = [
    unpacked_backwards,
    unpacked_iterator,
    unpacked_pairs,
    unpacked_numbers,
    unpacked_number_iterator,
    unpacked_rest,
    unpacked_after_one,
    unpacked_columns,
    a_list_filled_anew,
    a_part_of_a_list_replaced,
    lambda x: first_of_two(*reversed(x)),
    lambda x: first_of_two(*(v for _, v in enumerate(x))),
    lambda x: (lambda p, q: (p + q + 1) * x[0])(*iter(range(len(x)))),
    lambda x: [*reversed(x)][-1] * len([*reversed(x)]),
    lambda x: dict(enumerate(x))[len(dict(enumerate(x))) - 1] * 1.0,
    lambda x: next(reversed(x), 0.0) * 1.0,
    lambda x: deque(reversed(x), maxlen=1)[0] * 1.0,
    lambda x: np.stack(list(iter(x))),
]


def hints(x):
    it = iter(x)
    next(it)
    counted = operator.length_hint(iter(range(len(x)))) + reversed(range(len(x))).__length_hint__()
    of_rows = (
        operator.length_hint(it) + operator.length_hint(reversed(x)) + iter(x).__length_hint__()
    )
    of_pairs = operator.length_hint(enumerate(x), 7) + operator.length_hint(zip(x, x), 7)
    return x.sum() * counted + x[0] * of_rows * of_pairs


def hint_of_a_list_that_grows(x):
    rows = [v * 2.0 for v in x]
    it = iter(rows)
    next(it)
    rows.append(x[0])
    return sum(rows) * operator.length_hint(it)


PROGRAMS += [
    hints,
    hint_of_a_list_that_grows,
    lambda x: sum(islice(iter(x), 1, None)) * 1.0,
    lambda x: sum(islice(reversed(x), 1, None)) * 1.0,
    lambda x: sum(k * v for k, v in islice(enumerate(x), 1, None)) * 1.0,
    lambda x: sum(k * v for k, v in islice(zip(x, x), 0, None, 2)) * 1.0,
    lambda x: sum(islice(iter(range(len(x))), 1, None)) * x.sum(),
    lambda x: sum(iter(range(len(x)))) * x.sum(),
]


def outcome(function: Callable[[Any], Any], n: int) -> Any:
    try:
        return np.asarray(function(np.arange(n) + 1.0))
    except (ValueError, TypeError, IndexError, KeyError, StopIteration) as error:
        return type(error)


@pytest.mark.parametrize("function", PROGRAMS)
def test_each_length_has_its_own_answer(function):
    compiled = tg.compile(function)
    for n in LENGTHS:
        given, wanted = outcome(compiled, n), outcome(function, n)
        if isinstance(wanted, type):
            assert given is wanted
        else:
            assert np.array_equal(given, wanted), n


# -- ranges and slices that leave the function ----------------------------------------------------


def attribute(x, o):
    o.r = range(len(x))
    return x.sum()


def within_tuples(x, o):
    o.r = (1, range(x.shape[0] + 1), frozenset([range(len(x))]))
    return x.sum()


def within_lists(x, o):
    o.kept.append([range(1, len(x)), {"a": range(len(x) - 1), "b": slice(1, len(x))}])
    return x.sum()


def of_an_object(x, o):
    o.r = SimpleNamespace(r=range(len(x)), s=slice(len(x)))
    return x.sum()


def a_loop_goes_through_it(x, o):
    o.r = range(len(x))
    return sum(x[i] * i for i in o.r)


def in_a_turn(x, o):
    for i in range(len(x)):
        o.r = range(i), range(i, len(x))
    return x.sum()


def returned(x, o):
    return x.sum(), range(len(x)), {"r": [range(1, len(x) + 1), slice(len(x))]}


def returned_behind_a_loop(x, o):
    r, s = range(len(x)), 0.0
    for i in r:
        s = s + x[i] * i
    return s, r


KEEPING = (attribute, within_tuples, within_lists, of_an_object, a_loop_goes_through_it, in_a_turn)
CASES = [(f, tg.value_and_grad) for f in KEEPING]
CASES += [(f, tg.compile) for f in (*KEEPING, returned, returned_behind_a_loop)]


@pytest.mark.parametrize(("function", "transform"), CASES)
def test_what_leaves_the_function_has_the_lengths_of_its_call(function, transform):
    found, wanted = (SimpleNamespace(kept=[]) for _ in range(2))
    compiled = transform(lambda x: function(x, found))
    for n in (4, 4, 3, 9, 4, 12, 3, 9):
        x = np.arange(n) + 1.0
        given, want = compiled(x), function(x, wanted)
        assert found == wanted, n
        assert (given if transform is tg.compile else given[0]) == want, n
    assert compiled.cache_info().versions == 4
