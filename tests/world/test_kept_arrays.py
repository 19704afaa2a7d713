"""What a function leaves outside is the very array that plain Python leaves there."""

from __future__ import annotations

from itertools import combinations
from textwrap import dedent, indent
from types import SimpleNamespace

import numpy as np
import pytest
from checks import function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

STORED = {
    "an attribute gets the argument": """
        for k in range(9):
            o.last = x
    """,
    "an attribute gets an array from outside": """
        for k in range(9):
            o.last = o.b
    """,
    "an item gets the argument": """
        for k in range(9):
            o.parts["k"] = x
    """,
    "an array of the function's own is left twice": """
        for k in range(9):
            o.last = y
        o.parts["y"] = y
    """,
    "a variable has the argument behind the loop": """
        h = y
        for k in range(9):
            h, y = x, h * 0.5
        o.last = h
    """,
    "places change their arrays": """
        for k in range(9):
            o.last, o.b = o.b, x
    """,
    "some turns alone": """
        for k in range(9):
            y = y * 0.9
            if y[0] > 0.5:
                o.last = x
    """,
    "the best of some": """
        best = x
        for k in range(9):
            y = y * 0.9
            if y[0] > 2.5:
                best = y * 1.0
        o.last = best
    """,
    "the state stays what it was": """
        best = o.b
        for k in range(9):
            y = y * 0.9
            if y[0] > 2.5:
                best = y * 1.0
        o.b = best
    """,
    "a while without turns": """
        h = x
        while h[0] > 0.5:
            h = h * 0.9
        o.last = h
    """,
    "a break in the first turn": """
        h = x
        for k in range(30):
            if h[0] < 0.5:
                break
            h = h * 0.9
        o.last = h
    """,
    "an inner loop": """
        h = y
        for k in range(9):
            p = x
            for j in range(9):
                h = p
                y = y * 0.9
        o.last = h
    """,
    "variables that change places": """
        a, b, c = x, y, x * 3
        for k in range(9):
            a, b, c = b, c, a
        o.last = a
        o.parts["b"] = b
    """,
    "a list": """
        h = y
        for k in range(9):
            h = x
        o.history.append(h)
        o.last = [h]
    """,
    "a list that turns fill": """
        items = []
        for k in range(9):
            items.append(x)
        o.history = items
        o.last = items[-1]
    """,
    "a view of the argument": """
        h = y
        for k in range(9):
            h = x
        o.last = h[:1]
    """,
    "two parts of one array": """
        h = c = y
        for k in range(9):
            g = np.concatenate([h, c]) * 0.5
            h, c = g[:2], g[2:]
        o.last = h
        o.parts["c"] = c
    """,
}
"""Programs in which turns hand on an array that is kept outside, and that others have, too."""
OWN = {
    "a state": """
        h = o.b
        for k in range(9):
            h = np.tanh(h + x)
        o.b = h
    """,
    "a state and the one before": """
        h = y
        for k in range(9):
            p = h
            h = np.tanh(h + x)
        o.last = h
        o.parts["p"] = p
    """,
    "a state under two names": """
        h = y
        for k in range(9):
            h = np.tanh(h + x)
            o.last = h
        o.parts["h"] = h
    """,
    "a state with its history": """
        items = []
        h = y
        for k in range(9):
            h = np.tanh(h + x)
            items.append(h)
        o.last = h
        o.history = items
    """,
    "two variables in turn": """
        a, b = x, y
        for k in range(9):
            a, b = b, a + b * 0.5
        o.last = a
        o.parts["b"] = b
    """,
    "a stack": """
        items = []
        for k in range(9):
            items.append(x)
        o.last = np.stack(items)
    """,
}
"""Programs in which turns make what is kept."""
TRANSFORMS = {
    "plain": lambda f: f,
    "compile": tg.compile,
    "value_and_grad": lambda f: tg.value_and_grad(lambda x: np.sum(f(x))),
}


def arrays_in(x):
    if isinstance(x, dict):
        return [y for item in x.values() for y in arrays_in(item)]
    if isinstance(x, list):
        return [y for item in x for y in arrays_in(item)]
    return [] if x is None else [x]


def left_by(body, transform, numbers):
    """What calls leave: the numbers, and which of all arrays are one, or share memory."""
    f = function_of(f"def f(x):\n    y = x * 2\n{indent(dedent(body), '    ')}\n    return y\n")
    o = SimpleNamespace(b=np.ones(2), last=None, parts={}, history=[])
    f.__globals__["o"] = o
    called, found = TRANSFORMS[transform](f), []
    for number in numbers:
        x, before = np.array([1.0, 0.5]) * number, o.b
        called(x)
        arrays = [x, before, *arrays_in(vars(o))]
        assert {type(y) for y in arrays} == {np.ndarray}
        pairs = [*combinations(arrays, 2)]
        shared = [(a is b, np.shares_memory(a, b)) for a, b in pairs]
        found.append((shared, [y.tolist() for y in arrays]))
    return found, called


@pytest.mark.parametrize("numbers", [(1, 2, 3, 4, 0.2), (4, 0.2, 3, 0.3, 1)], ids=str)
@pytest.mark.parametrize("transform", ["compile", "value_and_grad"])
@pytest.mark.parametrize("name", [*STORED, *OWN])
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_who_is_who_outside_is_as_in_plain_python(name, transform, numbers):
    body = {**STORED, **OWN}[name]
    expected, _ = left_by(body, "plain", numbers)
    found, _ = left_by(body, transform, numbers)
    assert found == expected


@pytest.mark.parametrize("name", OWN)
def test_loops_stay_loops_where_turns_make_what_is_kept(name):
    _, compiled = left_by(OWN[name], "compile", (1, 2, 3))
    assert "unrolled" not in compiled.explain()
    assert compiled.cache_info().misses == 1


def test_the_reason_is_told():
    _, compiled = left_by(STORED["an attribute gets the argument"], "compile", (1, 2))
    assert "it hands on an array that is kept outside, and that others have, too" in (
        compiled.explain()
    )
    assert compiled.cache_info().hits == 1


VIEWS = {
    "of an array made in the call": "o.b = x * 1.0; v = o.b[:1]",
    "of an array from outside": "v = o.b[:1]",
    "of one that is written": "o.b += x; v = o.b[:1]",
    "of one of which an item is written": "o.b[0] = x[1]; v = o.b[:1]",
    "that is written itself": "v = o.b[:1]; v[0] = x[1]",
}
PUTS = {
    "attribute": "o.last = v",
    "item": "o.parts['k'] = v",
    "append": "o.history.append(v)",
    "new list": "o.last = [v]",
    "new dict": "o.last = {'a': v}",
}


@pytest.mark.parametrize("transform", ["compile", "value_and_grad"])
@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_view_that_is_kept_shares_memory(view, put, transform):
    body = f"\n{VIEWS[view]}\n{PUTS[put]}"
    expected, _ = left_by(body, "plain", (1, 2, 3, 4))
    found, _ = left_by(body, transform, (1, 2, 3, 4))
    assert found == expected
