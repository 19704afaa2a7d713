"""Functions with more and more ifs whose arms meet are compiled; the work grows as they do."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import indent

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import config

GROWTH = 1.2
"""Of the calls for each if, from 8 ifs to 32."""

ARMS = {
    "a number": ("total = total + np.sin(x[{i}])", ""),
    "both arms": ("total = total * 1.1", "total = total - x[{i}]"),
    "an array": ("y = y * 2.0", ""),
}


def program(ifs: int, arms: tuple[str, str]) -> Callable[[np.ndarray], np.ndarray]:
    """A function with so many ifs, one behind the other."""
    lines = ["total = np.sum(x)", "y = np.cos(x)"]
    for i in range(ifs):
        taken, other = (arm.format(i=i) for arm in arms)
        lines += [f"if x[{i}] > 0:", indent(taken, "    ")]
        lines += ["else:", indent(other, "    ")] if other else []
    lines.append("return total * np.sum(y)")
    text = "def program(x):\n" + indent("\n".join(lines), "    ")
    filename = f"<{ifs} ifs, {arms}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np}
    exec(compile(text, filename, "exec"), scope)
    return scope["program"]  # type: ignore[return-value]


@contextmanager
def calls_counted() -> Iterator[list[int]]:
    """How many functions are called, those in C too."""
    count = [0]

    def profile(frame: object, event: str, _: object) -> None:
        count[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)


def calls_for_all_arms(ifs: int, arms: tuple[str, str]) -> int:
    """The calls that compile the version with all arms."""
    function = tg.value_and_grad(program(ifs, arms))
    with calls_counted() as count:
        function(np.ones(ifs))
    function(-np.ones(ifs))
    assert function.cache_info()[:4] == (1, 1, 1, 1)
    return count[0]


@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS)
def test_the_work_for_an_if_does_not_grow_with_their_number(monkeypatch, arms):
    monkeypatch.setattr(config, "check", False)
    calls_for_all_arms(2, arms)  # what is made when it is used first
    few, many = (calls_for_all_arms(ifs, arms) / ifs for ifs in (8, 32))
    assert many < GROWTH * few
