"""Names and keys that a call adds stand in Python's order, whatever was there when it was traced.

A version serves calls that find a key and calls that do not find it, unless the function asks.
Between the calls the caller adds and removes keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

KEYS = [
    # how the function asks for a key, before it stores another one
    "if n not in o.d: o.d[n] = [x]",
    "o.d.setdefault(n, []).append(x)",
    "if o.d.get(n) is None: o.d[n] = x",
    "o.d[n] = o.d.get(n, []) + [x]",
    "v = o.d.get(n, []); v.append(x); o.d[n] = v",
    "if n not in o.d: o.d[n] = {'c': 1}\n    else: o.d[n]['c'] += 1",
    "try: o.d[n].append(x)\n    except KeyError: o.d[n] = [x]",
    # and how it does not ask
    "o.d[n] = [x]",
    "o.d[n] = 3",
    "o.d[n] = None; o.d['c'] = x",
    "for i in (0, 1): o.d[i] = [x]",
]


def _shown(x: Any) -> Any:
    if isinstance(x, SimpleNamespace):
        return [(name, _shown(value)) for name, value in vars(x).items()]
    if isinstance(x, dict):
        return [(name, _shown(value)) for name, value in x.items()]
    if isinstance(x, (list, tuple)):
        return list(map(_shown, x))
    return np.asarray(x).tolist()


Calls = Sequence[tuple[str, float, int]]


def _left(body: str, calls: Calls, decorate: Callable[[Any], Any]) -> list[Any]:
    """What stands outside after each call; before it the caller does something."""
    scope = {"np": np, "o": SimpleNamespace(d={})}
    exec(f"def f(x, n):\n    {body}\n    return np.sum(x)", scope)
    f, found = decorate(scope["f"]), []
    for before, sign, n in calls:
        exec(before, scope)
        try:
            f(np.array([sign, 2.0]), n)
        except Exception as error:
            found.append((type(error), str(error)))
        found.append(_shown(scope["o"]))
    return found


BETWEEN = ["pass", "o.d.clear()", "o.d = {}"]
TURNS = [*itertools.product(BETWEEN, [(0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0)])]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("decorate", [tg.compile, tg.value_and_grad], ids=["compile", "vg"])
def test_a_key_that_was_there_when_the_call_was_traced(decorate, keys, few):
    body = f"{keys}\n    o.d['b'] = x * 2.0"
    for between, numbers in few(TURNS, 3):
        calls = [(between if i == 3 else "pass", 1.0, n) for i, n in enumerate(numbers)]
        calls = [*calls, ("o.d.clear()", 1.0, 1), ("o.d.pop(1)", 1.0, 1)]
        assert _left(body, calls, decorate) == _left(body, calls, lambda f: f)


class Holder:
    def __init__(self) -> None:
        self.d: dict[Any, Any] = {}


def test_an_array_stays_behind_what_is_stored_first():
    @tg.compile
    def keep(o, x, n):
        if n not in o.d:
            o.d[n] = [x]
        o.d["b"] = 2 * x
        return np.sum(x)

    o = Holder()
    for n in (0, 0, 1):
        keep(o, np.ones(2), n)
    assert list(o.d) == [0, "b", 1]
    o = Holder()
    keep(o, np.ones(2), 1)
    assert list(o.d) == [1, "b"]
    assert keep.cache_info().traces == 3


WITHOUT = "vars(o).pop('a', None); vars(o).pop('y', None); o.z = 1"
WITH = "vars(o).pop('a', None); o.a = [1]; vars(o).pop('y', None); o.z = 1"
REMOVALS = [
    "o.a = [x]; del o.a; o.a = [2 * x]",
    "o.a = x; del o.a; o.a = 2 * x",
    "o.a = [x]; del o.a",
    "del o.a; o.y = [x]",
    "o.y = x; del o.a; o.z = [x]",
    "setattr(o, 'a', x); delattr(o, 'a'); o.a = [x]",
    # what is not there, where the function goes on
    "try: del o.a\n    except AttributeError: o.y = [x]",
    "try: del o.a\n    except AttributeError: o.a = x",
    "try: delattr(o, 'a')\n    except AttributeError: pass\n    o.y = 2 * x",
]


@pytest.mark.parametrize("body", REMOVALS)
@pytest.mark.parametrize("first", [WITH, WITHOUT], ids=["with", "without"])
@pytest.mark.parametrize("decorate", [tg.compile, tg.value_and_grad], ids=["compile", "vg"])
def test_an_attribute_that_is_removed(decorate, first, body):
    calls = [(before, 1.0, 0) for before in (first, WITH, WITHOUT, WITHOUT, WITH)]
    assert _left(body, calls, decorate) == _left(body, calls, lambda f: f)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("where", ["slot", "global", "cell", "class"])
@pytest.mark.parametrize("then", ["raises", "sets", "sets first"])
@pytest.mark.parametrize("there", [True, False])
def test_any_other_variable_that_is_removed(where, then, there):
    place = {"slot": "S.a", "global": "a", "cell": "a", "class": "C.a"}[where]
    declared = {"global": "global a\n        ", "cell": "nonlocal a\n        "}.get(where, "")
    removed = {
        "raises": f"del {place}",
        "sets": f"try: del {place}\n        except (AttributeError, NameError): {place} = [x]",
        "sets first": f"{place} = [x]; del {place}; o.y = [x]",
    }[then]
    text = f"""
def made():
    a = None
    def f(x):
        {declared}{removed}
        return np.sum(x)
    def prepare(there):
        {declared}{place} = 1
        if not there: del {place}
    def asked():
        try: return {place}
        except (AttributeError, NameError): return "nothing"
    return f, prepare, asked
"""
    if where == "global":
        text = text.replace("    a = None\n", "")

    def left(decorate: Callable[[Any], Any]) -> list[Any]:
        slotted, plain = type("S", (), {"__slots__": ("a",)}), type("C", (), {})
        scope = {"np": np, "o": SimpleNamespace(), "S": slotted(), "C": plain}
        exec(text, scope)
        f, prepare, asked = scope["made"]()
        f, found = decorate(f), []
        for now in (there, there, not there, not there, there):
            prepare(now)
            try:
                f(np.ones(2))
            except Exception as error:
                found.append((type(error), str(error)))
            found.append((repr(asked()), _shown(scope["o"])))
        return found

    assert left(tg.compile) == left(lambda f: f)


REFUSED = [
    "try: del o.d['a']\n    except KeyError: pass\n    o.d.pop(n, None)",
    "try: o.l[2] = x\n    except IndexError: o.l.append(x)",
    "try: del o.l[1]\n    except IndexError: o.l.append(x)",
    "try: o.s.remove(n)\n    except KeyError: o.s.add(n)",
    "try: o.l.insert('1', x)\n    except TypeError: o.l.append(2 * x)",
    "try: o.l[::2] = [x]\n    except ValueError: o.l.pop()\n    o.l.append(x)",
]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("body", REFUSED)
@pytest.mark.parametrize("decorate", [tg.compile, tg.value_and_grad], ids=["compile", "vg"])
def test_a_change_that_python_refuses_is_none(decorate, body):
    start = "o.l = []; o.s = set(); o.d = {}"
    calls = [(start, 1.0, 0), ("pass", 1.0, 0), ("o.d['a'] = 1.0", 1.0, 1), ("pass", 1.0, 0)]
    calls += [(start, 1.0, 1), ("o.l.append(5.0)", 1.0, 1)]
    body = f"{body}\n    o.n = sorted(o.s)"
    assert _left(body, calls, decorate) == _left(body, calls, lambda f: f)


@pytest.mark.parametrize(
    "body",
    [
        "o.d['s'] = 3; o.d['x'] = x * 2",
        "o.d['x'] = x * 2; o.d['s'] = 3",
        "o.d['x'] = x * 2",
    ],
)
def test_new_arrays_of_functions_that_ask_which_arrays_are_one(body):
    body = f"x = x * (2.0 if o.a is o.b else 1.0)\n    {body}"
    start = "o.a = np.ones(2); o.b = np.zeros(2)"
    calls = [(start, 1.0, 0), *[("pass", 1.0, 0)] * 3, ("o.b = o.a", 1.0, 0), ("o.d = {}", 1.0, 0)]
    made: list[Any] = []

    def compiled(f: Callable[..., Any]) -> Any:
        made.append(tg.compile(f))
        return made[0]

    assert _left(body, calls[:4], compiled) == _left(body, calls[:4], lambda f: f)
    assert made[0].cache_info().versions == 1
    assert _left(body, calls, tg.compile) == _left(body, calls, lambda f: f)
