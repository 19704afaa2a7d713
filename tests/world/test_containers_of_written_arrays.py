"""What a run without a program does to containers of arrays that it writes to stays done.

From the first recorded write to an array on, operations are given a Tensor in its place; the
containers in which it stands are the function's own all the same.
"""

from __future__ import annotations

import collections
import copy
import functools
import operator
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

LIST, DICT, DEQUE, PAIR, NESTED, LAYERS = (
    f"{written}\n"
    for written in (
        *("s.l[0] += x", "s.d['h'] += x", "s.q[0] += x", "s.t[0][:] = x"),
        *("s.n['a']['h'] += x", "s.k[0]['m'] += x"),
    )
)
DONE = [
    LIST + "s.l.append(3.0); r = len(s.l)",
    LIST + "s.l.insert(1, 3.0); r = s.l[1]",
    LIST + "s.l.extend([4.0, 5.0]); r = s.l[-1]",
    LIST + "s.l[1:] = [7.0]; r = s.l[1]",
    LIST + "s.l.append(3.0); del s.l[1]; r = s.l[1]",
    LIST + "operator.setitem(s.l, 1, 7.0); r = s.l[1]",
    LIST + "s.l += [7.0]; r = s.l[-1]",
    LIST + "s.l *= 2; r = len(s.l)",
    LIST + "b = s.l + [1.0]; b[0][0] = 2.0; r = s.l[0][0] + len(s.l)",
    LIST + "s.l.sort(key=lambda v: -np.sum(np.abs(v))); r = len(s.l)",
    LIST + "list(map(s.l.append, [1.0, 2.0])); r = len(s.l)",
    LIST + "s.keep = s.l; s.keep.append(4.0); r = len(s.l) * (s.keep is s.l)",
    LIST + "setattr(s, 'keep', s.l); s.keep.append(4.0); r = len(s.l) * (s.keep is s.l)",
    LIST + "q = vars(s)['l']; q.append(4.0); r = len(s.l)",
    LIST + "q = operator.attrgetter('l')(s); q.append(4.0); r = len(s.l)",
    LIST + "r = sum(np.sum(v) for v in s.l)",
    LIST + "s.l[0] = s.l[0] * 2; r = s.l[0] @ x",
    DICT + "s.d.update(n=5.0); r = s.d['n']",
    DICT + "s.d |= {'n': 5.0}; r = s.d['n']",
    DICT + "b = s.d | {'n': 5.0}; r = s.d['n'] + b['h'] @ x",
    DICT + "s.d.setdefault('z', []).append(5.0); r = len(s.d['z'])",
    DICT + "s.d.pop('n', None); r = len(s.d)",
    DICT + "s.d['n'] = 1.0; del s.d['n']; r = len(s.d)",
    DICT + "s.keep = {'d': s.d}; s.keep['d']['n'] = 9.0; r = s.d['n']",
    DICT + "a, b = [s.d, s.l]; a['n'] = 9.0; b.append(1.0); r = s.d['n'] * len(s.l)",
    DICT + "for q in [s.d]: q['n'] = 9.0\nr = s.d['n']",
    DICT + "q = {'a': s.d}; q['a']['n'] = 9.0; r = s.d['n']",
    DICT + "q = next(iter([s.d])); q['n'] = 9.0; r = s.d['n']",
    DICT + "q = max([s.d], key=len); q['n'] = 9.0; r = s.d['n']",
    DICT + "q = sorted([s.d], key=len)[0]; q['n'] = 9.0; r = s.d['n']",
    DICT + "q = functools.reduce(lambda a, b: b, [s.d, s.d]); q['n'] = 9.0; r = s.d['n']",
    DICT + "q = copy.copy(s.d); q['n'] = 9.0; r = s.d['n'] + np.sum(q['h'])",
    DICT + "s.d['h'], s.d['n'] = s.d['h'] * 2, 4.0; r = s.d['h'] @ x * s.d['n']",
    DICT
    + "match s.d:\n    case {'n': n, **rest}: rest['h'][0] = n; s.keep = rest\nr = s.d['h'] @ x",
    DEQUE + "s.q.append(2.0); r = len(s.q)",
    DEQUE + "s.q.rotate(2); r = len(s.q)",
    PAIR + "s.t[1].append(2.0); r = len(s.t[1])",
    PAIR + "s.keep = s.t; s.keep[1].append(3.0); r = len(s.t[1])",
    PAIR + "a, b = s.t; b.append(3.0); r = len(s.t[1]) * np.sum(a)",
    NESTED + "s.n['a']['i'] += 1; s.n['a']['last'] = x; r = s.n['a']['i']",
    NESTED + "s.n['a']['h'] = s.n['a']['h'] * 2; r = s.n['a']['h'] @ x",
    NESTED + "s.n['a']['g'] = s.n['a']['g'] + x; r = s.n['a']['g'] @ x",
    NESTED + "s.n['a']['j'] = s.n['a'].get('j', 0) + 1; r = s.n['a']['j']",
    NESTED + "top = s.n.pop('a'); top['i'] += 1; s.n['a'] = top; r = s.n['a']['i']",
    NESTED + "for v in s.n.values(): v['i'] += 1\nr = s.n['a']['i']",
    LAYERS + "s.k[0]['t'] += 1; s.k[1]['t'] += 2; r = s.k[0]['t'] * s.k[1]['t']",
    LAYERS + "top = s.k.pop(); top['t'] = 2; s.k.append(top); r = s.k[-1]['t'] * (s.k[-1] is top)",
    LAYERS + "for i, layer in enumerate(s.k): layer['t'] = i + 2\nr = s.k[1]['t']",
    LAYERS + "s.k[:] = s.k[::-1]; s.k[1]['t'] = 3; r = s.k[1]['t'] + np.sum(s.k[1]['m'])",
]
SCOPE = {"np": np, "copy": copy, "operator": operator, "functools": functools, "time": time}


def state() -> SimpleNamespace:
    return SimpleNamespace(
        l=[np.zeros(2), 1.0, 2.0],
        d={"h": np.zeros(2), "n": 1.0},
        q=collections.deque([np.zeros(2), 1.0]),
        t=(np.zeros(2), [1.0]),
        n={"a": {"h": np.zeros(2), "g": np.zeros(2), "i": 0}},
        k=[{"m": np.zeros(2), "t": 0}, {"m": np.zeros(2), "t": 0}],
        keep=None,
    )


def function(text: str, begins: str) -> Any:
    lines = [begins, *text.split("\n"), "return np.sum(x) * r"]
    scope: dict[str, Any] = {**SCOPE}
    exec("def f(x, s):\n" + "".join(f"    {line}\n" for line in lines), scope)
    return scope["f"]


@pytest.mark.parametrize("begins", ["time.time()", "pass"], ids=["without a program", "with one"])
@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("text", DONE)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_containers_are_left_as_by_plain_python(
    text: str, compiles: bool, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tg.config, "compile", compiles)
    plain, f = function(text, begins), function(text, begins)
    mine, others = state(), state()
    g = tg.value_and_grad(lambda x: f(x, mine))
    for k in range(3):
        x = np.array([1.0 + k, 0.5])
        expected = plain(x.copy(), others)
        value, _ = g(x.copy())
        assert value == expected
        assert repr(mine) == repr(others)


class Model:
    """Holds its own compiled gradient, whose guards hold the array that it writes to."""

    def __init__(self) -> None:
        self.buffer, self.gradient = np.zeros(4), tg.value_and_grad(self.loss)

    def loss(self, x: Any) -> Any:
        k = int(np.sum(x > 0))  # each is a path; after some, the call runs eagerly
        self.buffer[0] = x.sum() * k
        return np.sum(x**2) + self.buffer[0]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_an_object_that_holds_its_own_gradient_writes_to_its_array() -> None:
    model, plain, rng = Model(), Model(), np.random.default_rng(0)
    for _ in range(8):
        x = rng.normal(size=12)
        assert model.gradient(x)[0] == plain.loss(x)
        assert type(model.buffer) is np.ndarray
        assert np.array_equal(model.buffer, plain.buffer)
