"""Python state is edited at random between calls; no compiled function says what it was before.

After every edit the compiled functions must say, bit for bit, what the plain Python function says
at that moment, raise what it raises, or refuse by an error of tracegrad's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import stateful
from checks import assert_same_bits
from edits import Editor

import tracegrad as tg
from tracegrad.errors import TracegradError

EDITS = 40  # for each program; `tests/world/mutations.py` edits more and deeper
SEED = 20
X = np.array([0.5, -1.25, 2.0])
WEIGHT = np.array([1.0, 3.0, -0.5])


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """What a call returns, or what it raises."""
    try:
        return "returned", call()
    except TracegradError as error:
        return "refused", error
    except Exception as error:
        return "raised", error


def loss(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: (f(x) * WEIGHT).sum()


def eager_value_and_grad(f: Callable[[Any], Any], x: np.ndarray) -> Any:
    """By a tape that is made and walked for this call."""
    t = tg.tensor(x, requires_grad=True)
    value = loss(f)(t)
    value.backward()
    assert t.grad is not None
    return value.detach().numpy(), t.grad.numpy()


class Watch:
    """A function, its compiled twins, and how often each of them answered."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f
        self.compiled = tg.compile(f)
        self.gradient = tg.value_and_grad(loss(f))
        self.returned = self.refused = 0

    def agree(self, what: str, random: Random) -> bool:
        """Compares at this moment; False where the plain function raises."""
        x = X * random.choice([1.0, -2.0])
        kind, expected = outcome(lambda: np.asarray(self.f(x)))
        if random.random() < 0.5:
            by_name = random.random() < 0.2  # not by the generated entry
            call = (lambda: self.compiled(x=x)) if by_name else (lambda: self.compiled(x))
            self.compare(what, call, kind, expected)
            return kind == "returned"
        if kind == "returned":
            kind, expected = outcome(lambda: eager_value_and_grad(self.f, x))
        else:
            kind, expected = outcome(lambda: loss(self.f)(x))
        self.compare(what, lambda: self.gradient(x), kind, expected)
        return kind == "returned"

    def compare(self, what: str, call: Callable[[], Any], kind: str, expected: Any) -> None:
        found_kind, found = outcome(call)
        self.returned += found_kind == "returned"
        self.refused += found_kind == "refused" and kind == "returned"
        if found_kind == "refused" or kind == "refused":
            return
        assert found_kind == kind, f"{what}: {found_kind} {found!r}, expected {expected!r}"
        if kind == "returned":
            assert_same_bits(found, expected, what)


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    for name in stateful.EDITED_GLOBALS:
        monkeypatch.setattr(stateful, name, getattr(stateful, name))
    monkeypatch.setattr(tg.config, "versions", 1_000_000)
    monkeypatch.setattr(tg.config, "check", False)
    monkeypatch.setattr(stateful, "LIMITS", {"low": -1.0, "high": [1.0, 2.0]})
    monkeypatch.setattr(stateful, "WEIGHTS", np.array([1.0, -2.0, 0.5]))


def fuzz(name: str, seed: int, edits: int) -> Watch:
    random = Random(f"{name} {seed}")
    watch = Watch(stateful.PROGRAMS[name]())
    editor = Editor(watch.f, vars(stateful), stateful.EDITED_GLOBALS, random)
    history: list[str] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert watch.agree(f"{name}: before any edit", random)
        for step in range(edits):
            text, undo = editor.edit()
            history.append(text)
            what = f"{name}, seed {seed}, edit {step}: {'; '.join(history[-4:])}"
            worked = watch.agree(what, random)
            if not worked or random.random() < 0.4:
                undo()
                history.append("taken back")
                watch.agree(f"{what}; taken back", random)
    return watch


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", stateful.PROGRAMS)
def test_random_edits(name):
    watch = fuzz(name, SEED, EDITS)
    assert watch.refused <= EDITS // 10, f"refused {watch.refused} calls that plain Python answers"
    assert watch.returned >= EDITS // 2
    compiled, gradient = watch.compiled.cache_info(), watch.gradient.cache_info()
    assert compiled.versions + gradient.versions > 5, "edits were not seen"
    assert compiled.hits + gradient.hits > 5, "every call was traced: nothing was tested"


def test_there_is_enough_of_it():
    assert len(stateful.PROGRAMS) >= 20
    assert len(stateful.PROGRAMS) * EDITS >= 800
