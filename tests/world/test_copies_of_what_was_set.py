"""Copies of a model that a call has just changed, stored outside: they hold arrays and numbers.

In the call that is traced, and in the one that is made without a program, as in later ones.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


class Model:
    def __init__(self) -> None:
        self.w = np.ones(3)
        self.n: Any = np.float64(1.0)
        self.params = {"a": np.ones(3)}
        self.parts = [np.ones(3)]


class Slots:
    __slots__ = ("n", "params", "parts", "w")
    __init__ = Model.__init__


@dataclasses.dataclass(init=False)
class Record:
    w: Any
    n: Any
    params: Any
    parts: Any
    __init__ = Model.__init__


def filled(fill: Callable[[dict, Any], None]) -> Callable[[Any], Any]:
    def way(model: Any) -> Any:
        made = object.__new__(type(model))
        fill(vars(made), model)
        return made

    return way


def default(model: Any) -> Any:
    return lambda w=model.w, *, n=model.n: (w, n)


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "within": lambda model: [{"of": (copy.copy(model),)}],
    "vars": lambda model: vars(model).copy(),
    "dict": lambda model: dict(vars(model)),
    "params": lambda model: dict(model.params),
    "update": filled(lambda held, model: held.update(vars(model))),
    "pairs": filled(lambda held, model: held.update(list(vars(model).items()))),
    "generator": filled(lambda held, model: held.update((k, v) for k, v in vars(model).items())),
    "zip": filled(lambda held, model: held.update(zip(vars(model), vars(model).values()))),
    "keywords": filled(lambda held, model: held.update(**vars(model))),
    "default": default,
}


def told(x: Any) -> Any:
    """What stands in an object, with the type of each leaf."""
    if isinstance(x, FunctionType):
        return told([*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()])
    if isinstance(x, Slots):
        return {name: told(getattr(x, name)) for name in x.__slots__}
    if isinstance(x, Model | Record):
        x = vars(x)
    if isinstance(x, dict):
        return {key: told(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [told(value) for value in x]
    return type(x).__name__, np.asarray(x).tolist()


@contextmanager
def compiling(on: bool) -> Iterator[None]:
    tg.config.compile = on
    try:
        yield
    finally:
        tg.config.compile = True


def calls(transform: Any, kind: type, way: Any, given: tuple[bool, bool], first: bool) -> list[Any]:
    """What stands outside after each of three calls."""
    model, state = kind(), {"best": None}

    def f(x, m=None, st=None):
        m, st = m or model, state if st is None else st
        if first:
            st["best"] = way(m)
        m.w = 0.9 * m.w + x[0]
        m.params["a"] = m.params["a"] + x
        m.parts[0] = m.parts[0] * 2.0
        m.n = (m.w * m.params["a"]).sum()
        if not first:
            st["best"] = way(m)
        return (x * x).sum() + m.n

    args = [thing if is_given else None for thing, is_given in zip((model, state), given)]
    call, found = transform(f), []
    for i in range(3):
        call(np.arange(3.0) + i, *args)
        found.append(told([state, model]))
    return found


@pytest.mark.parametrize("kind", [Model, Slots, Record])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", [True, False])
def test_a_copy_that_is_stored_holds_arrays_and_numbers(way, kind, first, few):
    if kind is Slots and way not in ("copy", "deepcopy", "within", "params", "default"):
        return
    given = [(False, False), (True, False), (True, True), (False, True)]
    transforms = [(tg.compile, True), (tg.value_and_grad, True), (tg.value_and_grad, False)]
    cases = [(g, t) for g in given for t in transforms]
    for arguments, (transform, compiled) in few(cases, 6):
        expected = calls(lambda f: f, kind, WAYS[way], arguments, first)
        with compiling(compiled):
            assert calls(transform, kind, WAYS[way], arguments, first) == expected


def test_a_number_in_the_place_of_a_number_is_one_wherever_it_is_stored():
    record, log = Record(), []

    def f(x, record):
        record.n = s = (record.w * x).sum()
        log.append(s)
        return s

    with compiling(False):
        tg.value_and_grad(f)(np.arange(3.0), record)
    assert type(record.n) is type(log[0]) is np.float64
