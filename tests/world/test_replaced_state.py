"""State that a function replaces by a copy of it: floats in it are inputs of the program."""

import copy
import dataclasses
import itertools
from collections import deque, namedtuple
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import tracegrad as tg

Pair = namedtuple("Pair", "s t")


class Typed(NamedTuple):
    s: float
    t: float = 2.0


@dataclasses.dataclass
class Data:
    s: float
    t: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    s: float
    t: float

    def with_s(self, value):
        return dataclasses.replace(self, s=value)


PAIR, DATA, FROZEN = Pair(1.0, 2.0), Data(1.0, 2.0), Frozen(1.0, 2.0)
DICT, LIST, TUPLE = {"s": 1.0, "t": 2.0}, [1.0, 2.0, 3.0], (1.0, 2.0, 3.0)
SPACE = SimpleNamespace(s=1.0, t=2.0)
LAST = deque(LIST, 3)


def then(x, method, *given, **named):
    """An object after one of its methods was called."""
    getattr(x, method)(*given, **named)
    return x


def with_s(x, value):
    x.s = value
    return x


def added(a, v):
    a += (v,)
    return a[1:]


def appended(a, v):
    b = a[1:]
    b += [v]
    return b


def merged(a, v):
    b = a.copy()
    b |= {"s": v}
    return b


def stepped(a, v):
    return {"opt": {"m": v, "t": a["opt"]["t"] + 1}}


CASES = {
    "named, starred": (PAIR, lambda a, v: Pair(*[v, a.s])),
    "named, _replace": (PAIR, lambda a, v: a._replace(s=v)),
    "typed, _replace": (Typed(1.0), lambda a, v: a._replace(s=v)),
    "named, _make": (PAIR, lambda a, v: Pair._make([v, a.t])),
    "named, _asdict": (PAIR, lambda a, v: Pair(**{k: x + v for k, x in a._asdict().items()})),
    "named, deepcopy": (PAIR, lambda a, v: copy.deepcopy(a)._replace(s=v)),
    "replace": (DATA, lambda a, v: dataclasses.replace(a, s=v)),
    "replace, frozen": (FROZEN, lambda a, v: dataclasses.replace(a, s=v)),
    "replace in a method": (FROZEN, lambda a, v: a.with_s(v)),
    "replace, inner": ({"d": DATA}, lambda a, v: {"d": dataclasses.replace(a["d"], s=v)}),
    "asdict": (DATA, lambda a, v: Data(**{**dataclasses.asdict(a), "s": v})),
    "astuple": (FROZEN, lambda a, v: Frozen(*[x + v for x in dataclasses.astuple(a)])),
    "dict, |": (DICT, lambda a, v: a | {"s": v}),
    "dict, | from the left": (DICT, lambda a, v: {"u": v} | a | {"s": v}),
    "dict, |=": (DICT, merged),
    "dict(a, s=v)": (DICT, lambda a, v: dict(a, s=v)),
    "dict(pairs)": (DICT, lambda a, v: dict([(k, x + v) for k, x in a.items()])),
    "dict(zip)": (DICT, lambda a, v: dict(zip(a, [x + v for x in a.values()], strict=True))),
    "dict, starred": (DICT, lambda a, v: {**a, "s": v}),
    "dict, copy": (DICT, lambda a, v: then(a.copy(), "update", s=v)),
    "dict, copy.copy": (DICT, lambda a, v: then(copy.copy(a), "update", s=v)),
    "dict, deepcopy": (DICT, lambda a, v: then(copy.deepcopy(a), "update", s=v)),
    "dict, popped": (DICT, lambda a, v: {"s": v, "t": dict(a).pop("t")}),
    "deepcopy, inner": (
        {"s": {"t": [1.0, 2.0]}, "t": DATA},
        lambda a, v: {**copy.deepcopy(a), "s": {"t": [v, a["s"]["t"][0]]}},
    ),
    "tuple, +": (TUPLE, lambda a, v: (*a[1:], v)[:0] + a[1:] + (v,)),
    "tuple, + from the left": (TUPLE, lambda a, v: (v,) + a[:-1]),
    "tuple, +=": (TUPLE, added),
    "tuple, *": (TUPLE, lambda a, v: (v,) * 2 + a[:1]),
    "tuple of a map": (TUPLE, lambda a, v: tuple(map(lambda x: x + v, a))),
    "tuple of a chain": (TUPLE, lambda a, v: (*itertools.chain(a[1:], [v]),)),
    "tuple of a slice": (TUPLE, lambda a, v: (*itertools.islice(a, 1, None), v)),
    "list, +": (LIST, lambda a, v: a[1:] + [v]),
    "list, + from the left": (LIST, lambda a, v: [v] + a[:-1]),
    "list, +=": (LIST, appended),
    "list, *": (LIST, lambda a, v: [v] * 2 + a[:1]),
    "list, starred": (LIST, lambda a, v: [*a[1:], v]),
    "list, popped": (LIST, lambda a, v: [v, a.copy().pop(0), a[1]]),
    "list, deepcopy": (LIST, lambda a, v: [*copy.deepcopy(a)[1:], v]),
    "object, copy": (DATA, lambda a, v: with_s(copy.copy(a), v)),
    "object, deepcopy": (DATA, lambda a, v: with_s(copy.deepcopy(a), v)),
    "namespace": (SPACE, lambda a, v: SimpleNamespace(s=v, t=a.t)),
    "namespace, vars": (SPACE, lambda a, v: SimpleNamespace(**{**vars(a), "s": v})),
    "namespace, dict": (SPACE, lambda a, v: SimpleNamespace(**dict(vars(a), s=v))),
    "namespace, deepcopy": (SPACE, lambda a, v: with_s(copy.deepcopy(a), v)),
    "deque": (deque(LIST), lambda a, v: deque([*a, v][1:])),
    "deque, maxlen": (LAST, lambda a, v: deque([*a, v], maxlen=3)),
    "deque, its maxlen": (LAST, lambda a, v: deque([*a, v], a.maxlen)),
    "deque, +": (LAST, lambda a, v: a + deque([v])),
    "deque, copy": (LAST, lambda a, v: then(a.copy(), "append", v)),
    "deque, copy.copy": (LAST, lambda a, v: then(copy.copy(a), "append", v + a[-1])),
    "an int": ({"s": 1.0, "t": 1}, lambda a, v: {"s": v, "t": a["t"] + 1}),
    "an int, inner": ({"opt": {"m": 1.0, "t": 1}}, stepped),
    "ints": (Pair(1, 2), lambda a, v: Pair(a.s + 1, a.t * 2)),
    "an int, named": (Pair(1.0, 1), lambda a, v: a._replace(s=v, t=a.t + 1)),
    "an int, frozen": (Frozen(1.0, 1), lambda a, v: dataclasses.replace(a, s=v, t=a.t + 1)),
}
CALLS = 12


def first(x):
    """The first float in a container."""
    while type(x) is not float:
        items = vars(x) if hasattr(x, "__dict__") else x
        x = next(iter(items.values() if isinstance(items, dict) else items))
        x = 1.0 if type(x) is int else x
    return x


def by_item(box, update, value):
    def step(x):
        a = box["S"]
        box["S"] = update(a, value(a, x))
        return x * 2.0

    return step


def by_attribute(box, update, value):
    holder = box["holder"] = SimpleNamespace(S=box["S"])

    def step(x):
        a = holder.S
        holder.S = box["S"] = update(a, value(a, x))
        return x * 2.0

    return step


@pytest.mark.parametrize("transform", ["compile", "value_and_grad", "tensors"])
@pytest.mark.parametrize("place", [by_item, by_attribute])
@pytest.mark.parametrize("case", CASES)
def test_copies_with_other_values_stay_compiled(case, place, transform):
    start, update = CASES[case]
    x = tg.tensor(1.5, requires_grad=True) if transform == "tensors" else 1.5
    by_argument = place is by_attribute and transform != "tensors"
    value = (lambda a, x: first(a) * 0.9 + x) if by_argument else (lambda a, x: first(a) * 0.9)
    ours, plain = {"S": copy.deepcopy(start)}, {"S": copy.deepcopy(start)}
    made = tg.value_and_grad if transform == "value_and_grad" else tg.compile
    step, in_python = made(place(ours, update, value)), place(plain, update, value)
    for _ in range(CALLS):
        step(x)
        in_python(1.5)
        assert repr(ours["S"]) == repr(plain["S"])
    info = step.cache_info()
    assert info.hits >= CALLS - 4, step.explain()


def extended(s, x):
    t = s.t
    t += (5.0,)
    return x * t[0]


def repeated(s, x):
    t = s.t
    t *= 2
    return x * t[0]


def joined_in_a_loop(s, x):
    t = ()
    for _ in range(2):
        t += s.t
    return x * t[-2]


class Told:
    """What `copy` makes of it is what its method says."""

    def __init__(self, s=0.0):
        self.s = s

    def __getstate__(self):
        return {"s": self.s * SCALE}


class Reduced(Told):
    def __reduce__(self):
        return Reduced, (self.s + SCALE,)


SCALE = 1.0


def copied(s, x):
    return x * copy.copy(s.o).s


def deeply_copied(s, x):
    return x * copy.deepcopy(s.o).s


def last_of_three(s, x):
    d = s.d.copy()
    d.append(x)
    return d[0] * x


def joined_deques(s, x):
    return (s.d + deque([x]))[0] * x


def appended_deque(s, x):
    s.d.append(s.d[0] * 0.5)
    return x * s.d[0]


def of_one_type(s, x):
    return x * s.v if isinstance(s.v, float) else x


def of_no_number(s, x):
    a, _ = s.t
    return x if type(a) is float else -x


def memo_outside(s, x):
    return x * copy.deepcopy(s.t, s.memo)[0]


def mapped(s, x):
    return x * sum(map(s.table.get, ["a", "b"]))


def tuples(i):
    return {"t": (i * 1.0, 2.0)}


def deques(i):
    return {"d": deque([i * 1.0, 2.0, 3.0][: 1 + i % 3], [3, 2, None, 4][i % 4])}


SEEN = {
    "tuple +=": (extended, tuples),
    "tuple *=": (repeated, tuples),
    "tuple += in a loop": (joined_in_a_loop, tuples),
    "copy, __getstate__": (copied, lambda i: {"o": Told(i * 1.0), "scale": i * 0.5}),
    "deepcopy, __getstate__": (deeply_copied, lambda i: {"o": Told(i * 1.0), "scale": i * 0.5}),
    "copy, __reduce__": (copied, lambda i: {"o": Reduced(i * 1.0), "scale": i * 0.5}),
    "deepcopy, __reduce__": (deeply_copied, lambda i: {"o": Reduced(i * 1.0), "scale": i * 0.5}),
    "deque, copy": (last_of_three, deques),
    "deque, +": (joined_deques, deques),
    "deque, append": (appended_deque, deques),
    "isinstance": (of_one_type, lambda i: {"v": [1.0, 2.0, 3, 4, np.float64(5), 6.0][i % 6]}),
    "type": (of_no_number, lambda i: {"t": ([1.0, 2, np.float64(3.0), "a"][i % 4], 2.0)}),
    "a memo outside": (memo_outside, lambda i: {"t": ([i * 1.0],)[0], "memo": {}}),
    "map": (mapped, lambda i: {"table": {"a": i * 1.0, "b": i * 0.5}}),
}


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("first_call", [0, 1, 2])
@pytest.mark.parametrize("transform", ["compile", "value_and_grad"])
@pytest.mark.parametrize("case", SEEN)
def test_what_is_read_of_state_is_what_stands_there(case, transform, first_call):
    global SCALE
    function, state = SEEN[case]
    ours = SimpleNamespace()
    made = getattr(tg, transform)(lambda x: function(ours, x))
    for i in range(first_call, first_call + 8):
        vars(ours).update(state(i))
        plain = SimpleNamespace(**state(i))
        SCALE = getattr(ours, "scale", 1.0)
        found = made(1.5)
        assert (found if transform == "compile" else found[0]) == function(plain, 1.5)
        assert repr(getattr(ours, "d", 0)) == repr(getattr(plain, "d", 0))


@pytest.mark.parametrize("read", [lambda t: t[:-1], lambda t: (*t,)[:1], lambda t: [*t][:1]])
def test_a_float_that_nobody_uses_is_of_any_value(read):
    state = SimpleNamespace()

    @tg.compile
    def f(x):
        return x * read(state.t)[0]

    for i in range(8):
        state.t = (2.0, i * 1.0)
        assert f(1.5) == 3.0
    assert f.cache_info().versions <= 2
