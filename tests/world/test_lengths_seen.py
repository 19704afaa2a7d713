"""Code that sees through an iterator how many rows an array has: each length has its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
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
