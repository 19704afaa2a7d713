"""Programs that write to arrays outside and to the places of these enter: the order is Python's.

Each runs plainly and compiled, three times; what it returns and all that it leaves, the order of
names included, are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

BODIES = [
    # what an array holds, and which array stands at its place
    "o.b[0] = 1.0; o.b = np.array([7.0, 7.0])",
    "o.b += x; o.b = x * 3; x = x * o.b",
    "o.b += x; o.b = 0.5 * o.b; x = x * o.b",
    "L[0][0] = 1.0; L[0] = x * 1.0",
    "D['k'] += x; D['k'] = x * 2",
    "t = o.b; o.b = x * 2; t += 1",
    "o.a, o.b = o.b, o.a + 1; o.a += 1",
    "o.a, o.b = o.b, o.a; o.a += x",
    "L[0], L[1] = L[1], L[0]; L[0] += x; x = L[1] * x",
    "o.a[:] = x; o.b = o.a; o.b[0] = 9",
    "o.a = o.b; o.a += 1; x = o.b * x",
    "L.append(x * 2); L[0] += 1",
    "L.append(o.a); o.a = x * 2",
    "o.a += 1; L.append(o.a); o.a = o.a * 2",
    "v = o.a; o.a = x * 2; o.c = v; v += 3",
    "o.n += 1; o.b = o.b * 0.5 + o.n; x = o.b * x",
    "o.inner.w += x; o.inner = SimpleNamespace(w=x * 2)",
    # names that are new, in the order in which they came
    "D['first'] = x; D['second'] = x * 2",
    "D['first'] = 3; D['second'] = x * 2",
    "D['second'] = x * 2; D['first'] = 3",
    "D['first'] = o.a; D['second'] = x * 2; D['third'] = None; D['fourth'] = x.sum()",
    "D.update(u=x * 2, v=3); D['z'] = x",
    "D.pop('k', None); D['z'] = x * 1; D['k'] = 5",
    "del D['k']; D['y'] = 1; D['k'] = x * 2",
    "D['k'] = x * 2; D['z'] = 2; D['k'] = x * 3",
    "o.k = 3.0; o.j = x * 2",
    "o.new = x * 2; o.other = 'a'; o.third = x * 3; del o.other",
    "del o.a; o.a = x * 2",
    "del o.n; o.z = x; o.n = 3",
    "del o.n; o.z = x; o.n = 0",
    "o.u = 1; o.v = 2; del o.u; o.u = 1",
    "o.u = 1; o.v = x; del o.u; o.u = x; del o.u",
]


def _shown(x: Any) -> Any:
    if isinstance(x, SimpleNamespace):
        return [(name, _shown(value)) for name, value in vars(x).items()]
    if isinstance(x, dict):
        return [(name, _shown(value)) for name, value in x.items()]
    if isinstance(x, list):
        return list(map(_shown, x))
    return (type(x).__name__, np.asarray(x).tolist())


def _three_calls(body: str, decorate: Callable[[Any], Any]) -> list[Any]:
    o = SimpleNamespace(a=np.zeros(2), b=np.ones(2), n=0, inner=SimpleNamespace(w=np.zeros(2)))
    scope: dict[str, Any] = {"np": np, "SimpleNamespace": SimpleNamespace, "o": o}
    scope |= {"L": [np.zeros(2), np.ones(2)], "D": {"k": np.zeros(2)}}
    exec(f"def f(x): {body}; return np.sum(x * x)", scope)
    f, found = decorate(scope["f"]), []
    for i in range(3):
        found.append(_shown(np.asarray(f(np.array([1.0 + i, 2.0])))))
        found.append([_shown(scope[name]) for name in ("o", "L", "D")])
    return found


def _value(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(x)[0]


DECORATORS: dict[str, Callable[[Any], Any]] = {
    "compile": tg.compile,
    "value_and_grad": lambda f: _value(tg.value_and_grad(f)),
    "jax": lambda f: tg.compile(f, backend="jax"),
}


@pytest.mark.parametrize("how", DECORATORS)
@pytest.mark.parametrize("body", BODIES)
def test_state_is_left_as_python_leaves_it(body: str, how: str) -> None:
    assert _three_calls(body, DECORATORS[how]) == _three_calls(body, lambda f: f)
