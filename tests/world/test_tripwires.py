"""Nothing outside is touched past the world: programs run with everything there as a tripwire."""

from __future__ import annotations

import operator
import sys
import warnings
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import stateful
import tripwires
from checks import assert_same_bits
from fragments import FRAGMENTS
from mutations import alone, installed, run
from test_standard_library import PROGRAMS, XS, made, outcome
from tripwires import Tripped, armed

import tracegrad as tg
from tracegrad.errors import RecompileWarning
from tracegrad.machine import iteration
from tracegrad.world.guards import LENGTH
from tracegrad.world.world import RULES

X = np.array([0.5, -1.25, 2.0])


@pytest.fixture(autouse=True)
def restored():
    with installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        yield


@pytest.mark.parametrize("name", stateful.PROGRAMS)
def test_programs_that_read_state(name):
    plain, twin = stateful.PROGRAMS[name](), stateful.PROGRAMS[name]()
    with armed():
        compiled = tg.compile(twin)
        found = [compiled(X) for _ in range(2)]
    for result in found:
        assert_same_bits(result, plain(X))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FRAGMENTS)
def test_programs_that_are_edited(name):
    with armed():
        report = run(alone(name, 0, name), "compile", Random(name))
    assert not report.findings


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_the_standard_library(name):
    setup, body, _ = (f"\n{PROGRAMS[name]}\n".split("\n--\n") + [""])[:3]
    plain, compiled = (made(setup, body.strip("\n"), f"<{name} {i}>") for i in range(2))
    with armed():
        function = tg.compile(compiled["f"])
        found = [outcome(function, x) for x in XS]
    assert found == [outcome(plain["f"], x) for x in XS]


# -- the wires themselves -------------------------------------------------------------------------


def test_the_machine_finds_nothing_past_the_world(monkeypatch):
    held = SimpleNamespace(items=[2.0, 3.0])
    monkeypatch.setattr(iteration, "items", lambda m, x: iter(x))  # not by the world
    with armed(), pytest.raises(IndexError):
        tg.compile(lambda x: x * sorted(held.items)[0])(X)


def test_an_operation_that_leaves_no_guard_is_told(monkeypatch):
    held = [2.0, 3.0]
    monkeypatch.setitem(RULES, id(len), lambda world, operation, operands, keywords: len(*operands))
    with armed(), pytest.raises(Tripped, match=r"len.*held"):
        tg.compile(lambda x: x * len(held))(X)


def test_what_c_code_reaches_is_told():
    held = {"a": [2.0, 3.0]}
    with armed():
        made = tripwires.World([("held", held)])
        made.enter(held["a"], "held['a']")
        made.guard(LENGTH, held, None, 1, "held")
        tripwires.tripped(made, len, [held])
        with pytest.raises(Tripped, match=r"held\['a'\]"):
            tripwires.tripped(made, operator.eq, [held])
