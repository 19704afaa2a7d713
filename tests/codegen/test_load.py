"""Source that is loaded: what tracebacks and warnings show of it."""

from __future__ import annotations

import linecache
import warnings

import numpy as np
import pytest
from checks import function_of

import tracegrad as tg
from codegen.load import load

TEXT = """\
import numpy as np


def f(x):
    # job.py:3  y = np.log(x)
    y = np.log(x)
    # job.py:4
    value = y.sum()
    return value
"""


def test_lines_are_shown_with_the_place_that_they_are_for():
    code = load(TEXT, "f").__code__
    lines = [linecache.getline(code.co_filename, i).rstrip() for i in range(1, 10)]
    assert lines[5:] == [
        "    y = np.log(x)  # job.py:3",
        "    # job.py:4",
        "    value = y.sum()  # job.py:4",
        "    return value  # job.py:4",
    ]
    pairs = zip(lines, TEXT.splitlines(), strict=True)
    assert all(shown.startswith(given) for shown, given in pairs)  # lines and columns stay


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
def test_a_warning_of_numpys_shows_the_line_of_the_user(transform):
    f = function_of("def f(x):\n    y = x * 2.0\n    return np.log(y).sum()\n", "job")
    call = transform(f)
    call(np.ones(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(np.zeros(2))
    shown = [warnings.formatwarning(w.message, w.category, w.filename, w.lineno) for w in caught]
    assert any("np.log(" in text and text.rstrip().endswith(">:3") for text in shown), shown
