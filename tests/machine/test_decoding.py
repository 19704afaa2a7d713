"""What the machine makes of the bytes of code before it translates them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tracegrad.machine.decoding import decode
from tracegrad.machine.liveness import following


def ends_with_a_name(p, a):
    if p:
        b = a
    else:
        b = a + 1
    return b


def ends_with_a_sum(p, a):
    b = c = a
    if p > 0:
        b = a * 2
    else:
        b = a - 1
        if p < -1:
            c = b + 1
    return b + c


def ends_in_a_loop(p, a):
    for i in range(3):
        if p == i:
            a = a * 2
        else:
            a = a - 1
    return a


def reached(function: Callable) -> list[str]:
    """The names of the instructions that may run."""
    instructions, handlers = decode(function.__code__)
    found, waiting = set(), [0]
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += following(instructions, handlers, i)
    return [instructions[i].name for i in sorted(found)]


@pytest.mark.parametrize("f", [ends_with_a_name, ends_with_a_sum, ends_in_a_loop])
def test_one_end_of_a_function_is_one(f):
    assert sum(name.startswith("RETURN_") for name in reached(f)) == 1
