"""Effects on objects that are made anew between calls: each goes to what stands at the path then.

Each program is called nine times, plain and compiled, on states of their own; results, states,
what is one object in them and what was printed are compared after every call.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
CALLS = 9
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any], Any, int]] = {}


class State:
    """What a user's object may be: its attributes."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


def run_state() -> State:
    inner = State(k=1.0, h=[], d={"a": 1.0}, w=X.copy(), n=0, none=())
    return State(s=inner, log=[], prev=None, empty={})


def new_inner(o: State, turn: int) -> None:
    if turn % 2:
        s = o.s
        o.s = State(k=s.k + 1, h=[*s.h], d={**s.d}, w=s.w * 2, n=s.n, none=())


def containers() -> State:
    return State(
        h=[X.copy(), X * 2], d={"a": X.copy(), "l": [1.0, 2.0]}, t=(X.copy(), State(v=1.0)), log=[]
    )


def new_containers(o: State, turn: int) -> None:
    if turn % 3 == 1:
        o.h = [np.full(3, float(turn)), np.full(3, turn + 1.0)]
    if turn % 3 == 2:
        o.d = {"a": np.full(3, float(turn)), "l": [float(turn), 2.0]}
    if turn == 6:
        o.t = (o.t[0], State(v=float(turn)))


def program(make: Any, change: Any, traces: int = 2) -> Any:
    def enter(f: Any) -> Any:
        PROGRAMS[f.__name__] = f, make, change, traces
        return f

    return enter


def of_state(f: Any) -> Any:
    return program(run_state, new_inner)(f)


def of_containers(f: Any) -> Any:
    return program(containers, new_containers)(f)


@of_state
def append(o, x):
    o.s.h.append(x.sum())
    return x * o.s.k


@of_state
def set_attribute(o, x):
    o.s.tag = (x * 2, 1)
    return x * o.s.k


@of_state
def attribute_that_goes(o, x):
    o.s.t = 1
    del o.s.t
    return x


@of_state
def keep_the_object(o, x):
    o.prev = o.s
    return x * o.s.k


@of_state
def log_the_object(o, x):
    o.log.append(o.s)
    return x * o.s.k


@of_state
def log_it_in_a_tuple(o, x):
    o.log.append((o.s, x * 2))
    return x * o.s.w


@of_state
def rebind_then_change_the_old(o, x):
    h = o.s.h
    o.s.h = []
    h.append(1.0)
    o.log = h
    return x * 2


@of_state
def rebind_then_set_on_the_old(o, x):
    old = o.s
    o.s = State(k=old.k, h=old.h, d=old.d, w=x, n=0, none=())
    old.mark = x * old.k
    o.prev = old
    return x * old.k


@of_state
def delete_and_pop(o, x):
    o.s.d["b"] = x
    del o.s.d["b"]
    o.s.d.pop("q", None)
    return x * o.s.d["a"]


@of_state
def through_vars(o, x):
    vars(o.s)["z"] = x
    return x * vars(o.s)["k"]


@of_state
def new_dict(o, x):
    o.s.d = {**o.s.d, "a": o.s.d["a"] * 2, "g": x}
    return x * o.s.d["a"]


@of_state
def store(o, x):
    o.s.w = o.s.w + x
    return o.s.w.sum()


@of_state
def write_and_log(o, x):
    o.s.w[0] = x[0]
    o.log.append(o.s.w)
    return o.s.w * 1


@of_state
def ask_who(o, x):
    return x * (2.0 if o.prev is o.s else 3.0)


@of_state
def no_items_beside_no_keys(o, x):
    return x + len([*o.empty.keys()]) + len(o.s.none)


@program(run_state, new_inner, 3)
def on_two_paths(o, x):
    if x.sum() > 20:
        o.s.h.append(x)
        o.log.append(o.s)
    else:
        o.s.d["b"] = x * o.s.k
    return x * o.s.w


@program(run_state, new_inner, 4)
def stores_on_three_paths(o, x):
    if x[0] > 3:
        o.s.w = o.s.w * x
    if x[0] > 5:
        o.log.append((o.s.w, o.s))
    return x + o.s.w


@program(run_state, new_inner, 9)
def identity_matters_on_one_path(o, x):
    if x[0] > 4:
        o.log.append(o.prev is o.s)
        o.prev = o.s
    else:
        o.s.k = o.s.k * 1.5
    return x * o.s.k


@program(run_state, new_inner, 9)
def prints(o, x):
    print(o.s.k, x.sum(), o.s.h)
    return x


@program(run_state, new_inner, 9)
def reads_what_it_appended(o, x):
    o.s.h.append(x)
    return sum(o.s.h) + len(o.s.h)


@program(run_state, new_inner, 9)
def list_that_was_changed_as_an_array(o, x):
    o.s.h.append(2.5)
    return x * np.mean(o.s.h)


@program(run_state, new_inner, 9)
def raises_after(o, x):
    o.s.h.append(1)
    o.s.w, o.s.k = x * 2, o.s.k + 1
    if x[0] > 4:
        raise ValueError
    return x * o.s.k


@of_containers
def set_item(o, x):
    o.h[0] = o.h[1] * x
    return o.h[0] + o.h[1]


@of_containers
def rotate(o, x):
    o.h.append(o.h.pop(0))
    return o.h[0] - o.h[1] * x


@of_containers
def take_from_the_end(o, x):
    last = o.h.pop()
    o.h.insert(0, last * x)
    return last


@of_containers
def clear_and_fill(o, x):
    first = o.h[0]
    o.h.clear()
    o.h.extend([first, x])
    return first * 2


@of_containers
def set_a_slice(o, x):
    o.h[:] = [h * 1.5 for h in o.h]
    return x + o.h[0]


@of_containers
def object_in_a_tuple(o, x):
    o.t[1].v = o.t[1].v * 2
    o.log.append(o.t[1])
    return x * o.t[1].v


@of_containers
def tuple_that_is_kept(o, x):
    o.log.append(o.t)
    o.t = (x, o.t[1])
    return x * o.t[1].v


@of_containers
def old_and_new_list(o, x):
    old = o.h
    o.h = [a + x for a in old]
    old.append(x)
    o.log = old
    return o.h[0]


@program(containers, new_containers, 9)
def numbers_that_were_changed(o, x):
    items = o.d["l"]
    items[0] = items[0] * 2
    return x * np.dot(items, items)


@program(containers, new_containers, 9)
def numbers_before_and_after(o, x):
    items = o.d["l"]
    before = np.sum(items)
    items.append(0.5)
    return x * before + np.sum(items)


def shown(x: Any) -> Any:
    """A value as something that compares."""
    if isinstance(x, np.ndarray):
        return str(x.dtype), x.shape, x.tobytes()
    if isinstance(x, list | tuple | deque):
        return type(x), [*map(shown, x)]
    if isinstance(x, dict):
        return type(x), [(key, shown(item)) for key, item in x.items()]
    return (State, shown(vars(x))) if type(x) is State else (type(x), repr(x))


def aliases(state: State) -> list[tuple[str, str]]:
    """Which places hold one object."""
    found, known = [], dict[int, str]()

    def walk(x: Any, path: str) -> None:
        holds = isinstance(x, list | dict | State | np.ndarray) or (type(x) is tuple and len(x))
        if not holds:
            return
        if id(x) in known:
            found.append((known[id(x)], path))
            return
        known[id(x)] = path
        held = vars(x) if type(x) is State else x
        pairs = held.items() if isinstance(held, dict) else enumerate(held)
        for name, item in pairs if not isinstance(x, np.ndarray) else ():
            walk(item, f"{path}.{name}")

    walk(state, "")
    return found


@pytest.mark.parametrize("renewed", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_by_path(name, renewed, capsys):
    f, make, change, traces = PROGRAMS[name]
    one, other = make(), make()
    compiled = tg.compile(lambda x: f(other, x))

    def seen(call: Any) -> Any:
        try:
            result = shown(call())
        except ValueError as error:
            result = type(error)
        return result, capsys.readouterr().out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(CALLS):
            if renewed:
                change(one, turn), change(other, turn)
            x = X * (turn + 1)
            expected = seen(lambda x=x: f(one, x.copy()))
            assert seen(lambda x=x: compiled(x.copy())) == expected
            assert shown(one) == shown(other)
            assert aliases(one) == aliases(other)
    info = compiled.cache_info()
    assert info.traces <= traces + 2 * (not renewed), compiled.explain()
    assert traces == CALLS or info.hits > 3
