"""Comparisons of Python's numbers are Python's bools: ``is True``, and ``&`` with another bool."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg


def all_below(xs):
    found = True
    for x in xs:
        found &= x < 2
    return found, "yes" if found is True else "no"


def matched(x):
    match x > 0:
        case True:
            return x * 2
        case False:
            return -x


NUMBERS = [2.5, -1.0, 0.5]
OF_NUMPY = list(map(np.float64, NUMBERS))
CASES = {
    "is True": (lambda x: (x > 0) is True, NUMBERS),
    "is not False": (lambda x: (x > 0) is not False, NUMBERS),
    "== is True": (lambda x: (x == 2.5) is True, NUMBERS),
    "is another": (lambda x: (x > 0) is (x < 9), NUMBERS),
    "is None": (lambda x: (x > 0) is None, NUMBERS),
    "match": (matched, NUMBERS),
    "NumPy's is True": (lambda x: (x > 0) is True, OF_NUMPY),
    "NumPy's is np.True_": (lambda x: (x > 0) is np.True_, OF_NUMPY),
    "NumPy's is another": (lambda x: (x > 0) is (x < 9), OF_NUMPY),
    "index": (lambda x: [True, False].index(x > 0), NUMBERS),
    "True &": (lambda x: True & (x > 0), NUMBERS),
    "& True": (lambda x: (x > 0) & True, NUMBERS),
    "False |": (lambda x: False | (x > 0), NUMBERS),
    "True ^": (lambda x: True ^ (x > 0), NUMBERS),
    "several": (lambda x: True & (x > 0) & (x < 1), NUMBERS),
    "1 &": (lambda x: (1 & (x > 0), (x > 0) | 2), NUMBERS),
    "class": (
        lambda x: (isinstance(True & (x > 0), bool), type(False | (x > 0)).__name__),
        NUMBERS,
    ),
    "& is True": (lambda x: (True & (x > 0)) is True, NUMBERS),
    "counted": (lambda x: ((True & (x > 0)) + 1, True + (x > 0), -(True & (x > 0))), NUMBERS),
    "times a float": (lambda x: np.float32(2) * ((True & (x > 0)) * x), NUMBERS),
    "in a loop": (all_below, [[1.0] * 3, [1.0, 3.0, 1.0], [3.0] * 3]),
    "in a long loop": (all_below, [[1.0] * 20, [1.0] * 19 + [3.0], [3.0] * 20]),
    "a tuple": (all_below, [(1.0, 1.5), (1.0, 3.0)]),
}


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("case", CASES)
def test_as_in_python(case, compiles, monkeypatch):
    f, calls = CASES[case]
    monkeypatch.setattr(tg.config, "compile", compiles)
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in calls * 2:
            assert repr(compiled(given)) == repr(f(given))
