"""Numbers that are inputs of programs: which object one is, is never taken from the first call."""

from __future__ import annotations

import warnings
from collections import UserList, deque
from types import SimpleNamespace as State

import numpy as np
import pytest

import tracegrad as tg

DEFAULT, OTHER, NAN = 0.5, 0.25, float("nan")
COMPLEX, OF_NUMPY, SINGLE = 1 + 2j, np.float64(0.5), np.float32(0.5)
LEVELS = [0.0, 2.5, 1.0]
TUPLE, DEQUE, OWN = tuple(LEVELS), deque([0.0, 2.5, NAN]), UserList(LEVELS)
STATE = State(c=0.5)
OF_LEVELS = [(x,) for x in (*LEVELS, 7.0)]
OF_NAN = [(2.0,), (NAN,), (1.0,), (NAN,)]


def outcome(f, given):
    try:
        return repr(f(*given))
    except ValueError as error:
        return repr(error)


def removed(x):
    left = [*LEVELS]
    left.remove(x)
    return left


def removed_from_deque(x):
    left = deque(DEQUE)
    left.remove(x)
    return left


def by_default(x, rate=DEFAULT):
    return x * 10 if rate is DEFAULT else x * rate


def caught(x):
    try:
        return LEVELS.index(x)
    except ValueError:
        return -1


def of_state(x):
    return x is STATE.c


GIVEN = [(DEFAULT,), (OTHER,), (DEFAULT,)]
CASES = {
    "is": (lambda x: x is DEFAULT, GIVEN),
    "is not": (lambda x: x is not DEFAULT, GIVEN),
    "default": (by_default, [(1.0,), (1.0, 0.25), (1.0, 3.0)]),
    "handed on": (lambda x: max(x, 0.1) is DEFAULT, GIVEN),
    "an item of an argument": (lambda x: [x][0] is DEFAULT, GIVEN),
    "any is": (lambda x: any(x is y for y in LEVELS), OF_LEVELS),
    "of a place": (of_state, GIVEN),
    "complex": (lambda x: x is COMPLEX, [(COMPLEX,), (2j,), (complex("1+2j"),)]),
    "float64": (lambda x: x is OF_NUMPY, [(OF_NUMPY,), (np.float64(0.25),), (np.float64(0.5),)]),
    "float32": (lambda x: x is SINGLE, [(SINGLE,), (np.float32(0.25),), (np.float32(0.5),)]),
    "computed": (lambda x: x * 1.0 is DEFAULT, GIVEN),
    "list.index": (lambda x: LEVELS.index(x), OF_LEVELS),
    "tuple.index": (lambda x: TUPLE.index(x), OF_LEVELS),
    "UserList.index": (lambda x: OWN.index(x), OF_LEVELS),
    "deque.index": (lambda x: DEQUE.index(x), OF_NAN),
    "list.count": (lambda x: LEVELS.count(x), OF_LEVELS),
    "deque.count": (lambda x: DEQUE.count(x), OF_NAN),
    "list.remove": (removed, OF_LEVELS),
    "deque.remove": (removed_from_deque, [(NAN,), (0.0,), (NAN,)]),
    "try": (caught, OF_LEVELS),
    "in": (lambda x: x in LEVELS, OF_LEVELS),
    "in with NaN": (lambda x: x in [1.0, NAN], OF_NAN),
    "in a list with others": (lambda x: x in [None, NAN, "a"], OF_NAN),
    "index of NaN": (lambda x: [1.0, NAN].index(x), OF_NAN),
    "lists": (lambda x: [[x]] == [[NAN]], OF_NAN),
    "dictionaries": (lambda x: {1: x} == {1: NAN}, OF_NAN),
    "tuples in a list": (lambda x: (x, 1) in [(NAN, 1)], OF_NAN),
    "keys": (lambda x: {NAN: 3, 1.0: 4}.get(x), OF_NAN),
}


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_which_object_a_number_is(case, first, compiles, monkeypatch):
    f, calls = CASES[case]
    monkeypatch.setattr(tg.config, "compile", compiles)
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in calls[first:] * 2:
            assert outcome(compiled, given) == outcome(f, given)


def test_items_are_found_by_value():
    """A function that searches a list compiles: it looks at what the number is worth."""
    compiled = tg.compile(lambda x: TUPLE[LEVELS.index(x)] * x)
    for x in LEVELS * 2:
        assert compiled(x) == x * x
    assert compiled.cache_info().hits == len(LEVELS)


def test_gradients_of_what_is_found():
    slope = tg.value_and_grad(lambda x: (LEVELS.index(x) + 1.0) * x)
    for place, x in enumerate(LEVELS * 2):
        place %= len(LEVELS)
        assert slope(x) == ((place + 1.0) * x, place + 1.0)
