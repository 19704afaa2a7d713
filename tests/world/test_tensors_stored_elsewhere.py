"""Tensors from outside that a function writes to, and leaves in further places, as plain Python.

Each program runs plainly and compiled, several times. What it returns, and what stands outside
after each call, is compared: values, histories, which places hold one object, and which share
memory.
"""

from __future__ import annotations

import operator
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

CALLS = 4
PROGRAMS: dict[str, tuple[Callable[..., Any], bool]] = {}
kept: Any = None


def program(f: Callable[..., Any]) -> Callable[..., Any]:
    """Enters a program that is compiled."""
    PROGRAMS[f.__name__] = f, True
    return f


def eager(f: Callable[..., Any]) -> Callable[..., Any]:
    """Enters a program that runs eagerly, after its first calls at the latest."""
    PROGRAMS[f.__name__] = f, False
    return f


class State:
    """What the programs read and change."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = tg.zeros(2), tg.ones(2)


def state() -> State:
    flat = tg.tensor([1.0, 2.0, 3.0])
    return State(
        buf=tg.zeros(2),
        m=tg.ones(2),
        none=None,
        d={"a": tg.zeros(2), "b": tg.ones(2)},
        items=[tg.zeros(2), tg.ones(2), tg.full((2,), 2.0)],
        recent=deque([tg.zeros(2), tg.ones(2), tg.full((2,), 2.0)]),
        slotted=Slotted(),
        flat=flat,
        part=flat[:2],
        of_numpy=tg.as_tensor(np.ones(2)),
        w=tg.tensor([1.5, -2.5], requires_grad=True),
    )


def add(tensor: Any, x: Any) -> None:
    with tg.no_grad():
        tensor.add_(x)


@program
def under_a_second_name(s, x):
    add(s.buf, x)
    s.m = s.buf
    return x.sum()


@program
def under_a_second_name_before(s, x):
    s.m = s.buf
    add(s.buf, x)
    return (x * s.m).sum()


@program
def under_a_new_name(s, x):
    add(s.buf, x)
    s.new = s.none = s.buf
    return x.sum()


@program
def written_by_the_second_name(s, x):
    add(s.buf, x)
    s.m = s.buf
    add(s.m, x)
    return (x * s.buf).sum()


@program
def by_an_operator(s, x):
    with tg.no_grad():
        s.buf += x
    s.m = s.buf
    return x.sum()


@program
def copied_to(s, x):
    with tg.no_grad():
        s.buf.copy_(x)
    s.m = s.buf
    return x.sum()


@program
def in_turns(s, x):
    with tg.no_grad():
        s.m, s.buf = s.buf, s.m
        s.buf.add_(x)
        s.m.mul_(0.5)
    return (x * s.buf).sum() + s.m.sum()


@program
def swapped_and_returned(s, x):
    add(s.buf, x)
    s.m, s.buf = s.buf, s.m
    add(s.buf, 2 * x)
    return s.m, s.buf, x.sum()


@program
def taken_out_and_put_back(s, x):
    held, s.buf = s.buf, None
    add(held, x)
    s.m = s.buf = held
    return x.sum()


@program
def removed_and_set(s, x):
    add(s.buf, x)
    del s.m
    s.m = s.buf
    return x.sum()


@program
def in_a_dictionary(s, x):
    add(s.d["a"], x)
    s.d["b"] = s.d["new"] = s.d["a"]
    return x.sum()


@program
def swapped_in_a_dictionary(s, x):
    add(s.d["a"], x)
    s.d["a"], s.d["b"] = s.d["b"], s.d["a"]
    return x.sum()


@program
def in_a_list(s, x):
    add(s.buf, x)
    s.items[0] = s.buf
    return x.sum()


@program
def swapped_in_a_list(s, x):
    add(s.items[0], x)
    s.items[0], s.items[1] = s.items[1], s.items[0]
    return x.sum()


@program
def in_slots(s, x):
    add(s.slotted.a, x)
    s.slotted.a, s.slotted.b = s.slotted.b, s.slotted.a
    return (x * s.slotted.a).sum()


@program
def in_containers(s, x):
    add(s.buf, x)
    s.made = {"buf": s.buf, "both": (s.buf, [s.buf])}
    return x.sum()


@program
def in_a_global(s, x):
    global kept
    add(s.buf, x)
    kept = s.buf
    s.m = kept
    return x.sum()


@program
def in_an_arm(s, x):
    add(s.buf, x)
    if x[0] > 2.0:
        s.m = s.buf
    return x.sum()


@program
def in_iterations(s, x):
    for _ in range(10):
        add(s.buf, x)
        s.m = s.buf
    return x.sum()


@program
def swapped_in_iterations(s, x):
    a, b = s.buf, s.m
    for _ in range(9):
        a, b = b, a
        add(a, x)
    s.buf, s.m = a, b
    return x.sum()


@program
def returned_too(s, x):
    before = s.buf.sum()
    add(s.buf, x)
    s.m = s.buf
    return s.buf, {"m": s.m}, before


@program
def of_memory_of_numpy(s, x):
    add(s.of_numpy, x)
    s.m = s.of_numpy
    return x.sum()


@program
def raises_behind_it(s, x):
    add(s.buf, x)
    s.m = s.buf
    if x[0] > 2.0:
        raise ValueError("too large")
    return x.sum()


@eager
def part_of_a_written_one(s, x):
    add(s.buf, x)
    s.m = s.buf[:1]
    return x.sum()


@eager
def detached_from_a_written_one(s, x):
    add(s.buf, x)
    s.m = s.buf.detach()
    return x.sum()


@eager
def detached(s, x):
    s.m = s.buf.detach()
    return x.sum()


@eager
def views(s, x):
    add(s.buf, x)
    s.new, s.m = s.buf.T, s.buf.reshape(1, 2)
    return x.sum()


@eager
def part_of_a_part(s, x):
    s.m = s.part[:1]
    return x.sum()


@eager
def whole_of_a_part(s, x):
    add(s.flat, x.sum())
    return x.sum()


@eager
def whole_that_is_read_by_a_part(s, x):
    before = s.part.sum()
    add(s.flat, x.sum())
    return before + s.part.sum()


@eager
def part_of_a_whole(s, x):
    add(s.part, x)
    return (x * s.flat[:2]).sum()


def changes_between(s: Any) -> None:
    """What the caller does between calls, which shows in all that shares memory."""
    s.buf.add_(1.0)
    s.flat.mul_(1.5)
    with tg.no_grad():
        s.w.mul_(0.9)


def parts(x: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The Tensors and arrays in what an object holds, each with where it stands."""
    if isinstance(x, tg.Tensor | np.ndarray | np.generic):
        yield path, x
        return
    held: Any = {}
    if isinstance(x, dict):
        held = x
    elif isinstance(x, list | tuple | deque):
        held = dict(enumerate(x))
    elif isinstance(x, State):
        held = vars(x)
    elif isinstance(x, Slotted):
        held = {"a": x.a, "b": x.b}
    for name, value in held.items():
        yield from parts(value, f"{path}.{name}")


def told(outside: Any) -> list[Any]:
    """Of each Tensor its value, whether it requires grad, who it is, and whose memory it shares."""
    found: list[Any] = []
    numbers: dict[int, int] = {}
    arrays: list[Any] = []
    for path, x in parts(outside, ""):
        array = getattr(x, "_array", x)
        alike = [i for i, other in enumerate(arrays) if np.shares_memory(other, array)]
        arrays.append(array)
        own = numbers.setdefault(id(x), len(numbers))
        grad = getattr(x, "requires_grad", None)
        found.append((path, type(x).__name__, own, alike, grad, array.tolist()))
    return found


def given(kind: str, k: int) -> Any:
    x = np.array([1.0 + k, 2.0 * k + 0.5])
    return x if kind == "arrays" else tg.tensor(x, requires_grad=kind == "histories")


def session(f: Callable[..., Any], call: Callable[..., Any], kind: str) -> list[Any]:
    """What calls return and leave behind."""
    s, seen = state(), []
    called = call(lambda x: f(s, x))
    for k in range(CALLS):
        x = given(kind, k)
        try:
            result = called(x)
        except ValueError as error:
            result = str(error)
        values = [getattr(y, "_array", y).tolist() for _, y in parts(result, "")]
        gradient = None
        if kind == "histories" and getattr(result, "requires_grad", False):
            result.backward()
            gradient = x.grad.tolist()
        same = [
            [i for i, (_, y) in enumerate(parts(s, "")) if y is z] for _, z in parts(result, "")
        ]
        seen.append((values, gradient, None if kind == "arrays" else same, told([s, x, kept])))
        changes_between(s)
        seen.append(told(s))
    return seen


@pytest.mark.parametrize("kind", ["tensors", "histories", "arrays"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_stands_outside_is_as_without_compiling(name: str, kind: str) -> None:
    global kept
    f, compiled = PROGRAMS[name]
    kept = None
    expected = session(f, lambda f: f, kind)
    made: list[Any] = []

    def call(f: Any) -> Any:
        made.append(tg.compile(f))
        return made[0]

    kept = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        assert session(f, call, kind) == expected
    assert (made[0].cache_info().hits > 0) is compiled
    assert compiled or "runs eagerly" in made[0].explain()


def test_two_names_of_one_tensor_from_the_beginning() -> None:
    """What was one Tensor at a call, and is two at another, and the reverse."""

    def f(s, x):
        add(s.m, x)
        return (x * s.buf).sum()

    def seen(call: Callable[..., Any]) -> list[Any]:
        s, found = state(), []
        called = call(lambda x: f(s, x))
        for k in range(8):
            if k in (2, 6):
                s.m = s.buf
            if k == 4:
                s.m = tg.full((2,), 7.0)
            found.append((called(given("tensors", k)).item(), told(s)))
        return found

    assert seen(tg.compile) == seen(lambda f: f)


PUT: dict[str, Callable[..., Any]] = {
    "an attribute in C": lambda s, x: setattr(s.plain, "m", s.buf),
    "a slot": lambda s, x: setattr(s.slotted, "b", s.buf),
    "a list": lambda s, x: s.items.append(s.buf),
    "a deque": lambda s, x: s.recent.appendleft(s.buf),
    "another Tensor": lambda s, x: operator.setitem(tg.zeros(2), slice(None), s.buf),
}


@pytest.mark.parametrize("where", PUT)
def test_a_tensor_that_is_put_somewhere_is_not_read(where: str) -> None:
    """Its numbers are no guard: another call finds others."""
    s = state()
    s.plain = SimpleNamespace(m=None)

    @tg.compile
    def f(x):
        PUT[where](s, x)
        return x.sum()

    for _ in range(4):
        f(tg.ones(2))
        s.buf.add_(1.0)
    assert f.cache_info() == (3, 1, 1, 1)
