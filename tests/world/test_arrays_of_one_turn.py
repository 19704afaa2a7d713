"""Turns make an array, write to it and read it; no later turn has it: such loops stay loops.

Where something still has it when the next turn begins (a view, a container, a function), what the
program gives is what the eager run gives.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

OF_ONE_TURN = {
    "an_item": """
y = np.zeros(4)
y[0] = x[t]
s = s + np.sum(y * c)
""",
    "as_long_as_another": """
y = np.zeros(len(c))
y[1] = x[t]
y[2] = 2.0 * x[t]
s = s + y @ c
""",
    "all_items": """
y = np.empty(4)
for i in range(4):
    y[i] = x[t] * c[i]
s = s + np.sum(y * c)
""",
    "a_slice": """
y = np.empty(4)
y[:] = x[t] * c
y[1:3] *= 0.5
s = s + np.sum(y)
""",
    "computed": """
y = x[t] * c
y[0] = x[t]
s = s + np.sum(y * c)
""",
    "in_place": """
y = x[t] * c
y += 1.0
y *= c
s = s + np.sum(y)
""",
    "a_copy": """
y = c.copy()
y[0] += x[t]
s = s + np.max(y * c)
""",
    "a_view_of_it": """
y = x[t] * c
v = y[1:]
v += 1.0
s = s + np.sum(y * c)
""",
    "deleted": """
y = x[t] * c
y += 1.0
s = s + np.sum(y * c)
del y
""",
    "in_a_helper": """
s = s + filled(x[t], c)
""",
    "in_both_arms": """
y = x[t] * c
if x[t] > 0:
    y[0] = 0.0
else:
    y += 0.5
s = s + np.sum(y * c)
""",
    "two_of_them": """
y, z = np.zeros(4), np.ones(4)
y[t % 4] = x[t]
z -= y
s = s + np.sum(z * c * y)
""",
    "out": """
y = np.empty(4)
np.multiply(c, x[t], out=y)
s = s + np.sum(np.tanh(y))
""",
    "added_at": """
y = np.zeros(4)
np.add.at(y, [0, 2, 0], x[t])
s = s + np.sum(y * c)
""",
    "a_matrix": """
A = np.eye(4)
A[0, 1] = x[t]
A[1] *= 2.0
s = s + c @ (A @ c)
""",
}
STILL_THERE = {
    "by_a_view": """
y = x[t] * c
v = y[:2]
y += 1.0
s = s + np.sum(last * c[:2])
last = v
""",
    "by_a_view_that_is_written_to": """
y = x[t] * c
y += 1.0
last += 0.5
s = s + np.sum(last)
last = y[:2]
""",
    "in_a_list": """
y = x[t] * c
y += 1.0
held[0] += 0.5
s = s + np.sum(held[0] * c)
held[0] = y
""",
    "by_a_function": """
y = x[t] * c
y += 1.0
s = s + held[1]()
held[1] = lambda y=y: np.sum(y * y)
""",
    "by_another_name": """
y = x[t] * c
y[0] = x[t]
s = s + np.sum(before * c)
before = y
""",
    "twice": """
y = x[t] * c
z = y
z += 1.0
s = s + np.sum(y * before)
before = z
""",
    "read_by_the_next_turn": """
if t > 0:
    y += x[t]
    s = s + np.sum(y * c)
y = x[t] * c
y *= 0.5
""",
}


def made(body: str):
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return function_of(
        f"""
def filled(v, c):
    y = np.zeros(4)
    y[1] = v
    y += c
    return np.sum(y * y)

def f(x, c):
    s = np.sum(c)
    before, last, held = c * 1.0, c[:2] * 1.0, [c * 1.0, lambda: 0.0]
    for t in range(len(x)):
{lines}
    return s
""",
        "f",
    )


def inputs():
    random = np.random.default_rng(0)
    for length in (20, 9, 30, 3, 0):
        yield random.normal(size=length), random.normal(size=4)


@pytest.mark.parametrize("name", [*OF_ONE_TURN, *STILL_THERE])
def test_value_and_gradients_are_those_of_eager_calls(name, monkeypatch):
    f = made({**OF_ONE_TURN, **STILL_THERE}[name])
    compiled, gradient = tg.compile(f), tg.value_and_grad(f, argnums=(0, 1))
    for x, c in inputs():
        found = compiled(x, c), gradient(x, c)
        assert_same_bits(found[0], f(x, c), f"{len(x)} turns")
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            assert_same_bits(found[1], gradient(x, c), f"{len(x)} turns")


@pytest.mark.parametrize("name", OF_ONE_TURN)
def test_they_stay_loops(name):
    gradient = tg.value_and_grad(made(OF_ONE_TURN[name]), argnums=(0, 1))
    (x, c), *others = [(x, c) for x, c in inputs() if len(x) >= 8]
    gradient(x, c)
    lines = len(gradient.source(x, c).splitlines())
    assert "for t in range" in gradient.source(x, c)
    for args in others:
        gradient(*args)
    assert gradient.cache_info().versions == 1, gradient.explain()
    assert lines < 90
