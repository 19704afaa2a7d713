"""Programs that are made to be told wrong: compiled and eager they are right, or refused by name.

Each is called six times, and what it reads is changed between the calls. Values, what is printed
and all state afterwards are those of the plain function, gradients those of differences. An error
of tracegrad's is a refusal; what else is raised, the plain function raises too.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import adversaries_that_ask  # noqa: F401
import adversaries_that_change  # noqa: F401
import adversaries_that_hand_over  # noqa: F401
import adversaries_that_read  # noqa: F401
import numpy as np
import pytest
from adversaries import ADVERSARIES, Adversary
from jobs import picture

import tracegrad as tg
from tracegrad.errors import TracegradError

XS = [np.array([0.5, -1.25, 2.0]) * k for k in (1.0, 1.0, 0.7, -0.4, 1.1, 1.1)]


@pytest.fixture(autouse=True)
def modules_as_before():
    """Modules that an adversary makes go with it: other tests look at the files of all."""
    yield
    for name in ("mm", "mg"):
        sys.modules.pop(name, None)


@dataclass
class Call:
    raised: str
    value: Any
    printed: str
    state: Any
    refused: bool = False


def calls(adversary: Adversary, transform: Callable[[Any], Any], xs: list[Any]) -> list[Call]:
    """The calls, up to one that is refused."""
    with np.errstate(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f, state, between = adversary.make()
        g, found = transform(f), []
        for turn, x in enumerate(xs):
            if turn:
                between(turn)
            raised, value, refused = "", None, False
            with contextlib.redirect_stdout(io.StringIO()) as text:
                try:
                    value = g(x.copy())
                except TracegradError as error:
                    raised, refused = str(error), True
                except Exception as error:
                    raised = type(error).__name__
            found.append(Call(raised, value, text.getvalue(), picture(state), refused))
            if refused:
                break
        return found


def reading_the_clock(f: Any) -> Any:
    """The function, which is not compiled for that."""

    def g(x: Any) -> Any:
        time.perf_counter()
        return f(x)

    return g


WAYS = {
    "compile": tg.compile,
    "value_and_grad": tg.value_and_grad,
    "eager": lambda f: tg.compile(reading_the_clock(f)),
    "eager value_and_grad": lambda f: tg.value_and_grad(reading_the_clock(f)),
}


def slopes(adversary: Adversary, turn: int) -> np.ndarray:
    """The plain function's gradient in one of the calls, by differences."""
    found = []
    for i in range(3):
        ends = []
        for step in (1e-6, -1e-6):
            x = XS[turn].copy()
            x[i] += step
            ends.append(calls(adversary, lambda f: f, [*XS[:turn], x])[-1].value)
        found.append((ends[0] - ends[1]) / 2e-6)
    return np.array(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES)
def test_right_or_refused(adversary, way):
    expected = calls(adversary, lambda f: f, XS)
    for turn, (got, right) in enumerate(
        zip(calls(adversary, WAYS[way], XS), expected, strict=False)
    ):
        if got.refused:
            assert "\n  at " in got.raised, got.raised  # with the line
            return
        assert got.raised == right.raised, f"call {turn}"
        value = got.value
        if way.endswith("grad") and not right.raised:
            value, gradient = value
            if adversary.smooth:
                np.testing.assert_allclose(
                    gradient, slopes(adversary, turn), 1e-4, 1e-5, err_msg=f"call {turn}"
                )
        if not right.raised:
            assert picture(np.asarray(value)) == picture(np.asarray(right.value)), f"call {turn}"
        assert got.printed == right.printed, f"call {turn}: printed"
        assert got.state == right.state, f"call {turn}: state"
