"""Turns write to an array and hand it on to another variable: ``x, new = new, x``."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

LOOPS = {
    "swapped": "for i in range(len(b)):\n    y[i] = b[i] - 0.1 * (A[i] @ x)\nx, y = y, x",
    "swapped_by_name": "y[:] = b - 0.1 * (A @ x)\nu = x\nx = y\ny = u",
    "swapped_whole": "y *= 0.5\ny += np.sin(x)\nx, y = y, x",
    "both_are_written": "y[0] = np.sin(x[1])\nx[1] += 0.1 * y[2]\nx, y = y, x",
    "in_turns_of_three": "z[1:] = 0.5 * x[:-1] - y[1:]\nx, y, z = z, x, y",
    "one_is_made_anew": "y[1] = x[0]\nx, y = y, np.tanh(x)",
    "written_and_made_anew": "x[0] = 0.5 * y[1]\nx = x * 0.9\ny = y - x",
    "in_some_turns": "y[:] = b - 0.1 * (A @ x)\nif np.sum(y * y) > np.sum(x):\n    x, y = y, x",
    "left": "y[:] = b - 0.1 * (A @ x)\nif np.max(np.abs(y - x)) < 1e-3:\n    break\nx, y = y, x",
    "a_masked_part": "y[y > 0] *= 0.5\ny += 0.1 * x\nx, y = y, x",
}
OTHERS_HAVE_IT = {
    "had_before": "y[:] = b - 0.1 * (A @ x)\nx, y = y, x\nz = first * 1.0",
    "had_by_two_names": "z = y\ny[0] = np.sin(x[1])\nx, y = y, x",
    "appended": "y[0] = np.sin(x[1])\nkept.append(y)\nx, y = y, x",
    "in_a_dictionary": "y[0] = np.sin(x[1])\nheld['y'] = x\nx, y = y, x",
    "in_a_tuple": "y[0] = np.sin(x[1])\npair = (x, z)\nx, y = y, x\nz = pair[0] * 0.5",
    "in_a_function": "y[0] = np.sin(x[1])\ng = lambda u=x: u\nx, y = y, x\nz = g() * 0.5",
    "shown": "y[0] = np.sin(x[1])\nz = y[::-1]\nx, y = y, x",
    "kept_in_one_turn": "y[0] = np.sin(x[1])\nif t == 3:\n    first = y\nx, y = y, x",
    "made_one": "y[0] = np.sin(x[1])\nif t == 5:\n    x = y\nx, y = y, x",
}
BEGINS = {
    "copies": "x, y, z = b.copy(), b * 2.0, b * 0.5",
    "zeros": "x, y, z = np.zeros_like(b), np.zeros(len(b)), b * 1.0",
}


def made(body: str, begin: str = BEGINS["copies"], loop: str = "for t in range(n):"):
    body = f"t += 1\n{body}" if loop.startswith("while") else body
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    first = "x" if body in OTHERS_HAVE_IT.values() else "0.0"  # a name that turns do not know
    return function_of(
        f"""
def f(A, b, n):
    {begin}
    first, kept, held, t = {first}, [], {{}}, 0
    {loop}
{lines}
    s = np.sum(x * b) + np.sum(np.sin(y)) - np.sum(z * z) + np.sum(first)
    s = s + sum(np.sum(u * b) for u in kept)
    return s + sum(np.sum(u * b) for u in held.values())
"""
    )


def inputs(lengths: tuple[int, ...] = (12, 9, 0, 1, 10)):
    random = np.random.default_rng(0)
    for n in lengths:
        yield random.normal(size=(5, 5)) / 3.0, random.normal(size=5), n


MODES = {
    "value": lambda f: tg.compile(f),
    "gradient": lambda f: tg.value_and_grad(f, argnums=(0, 1)),
    "hessian": lambda f: tg.hessian(f, argnums=1),
    "tangent": lambda f: lambda A, b, n: tg.jvp(lambda A, b: f(A, b, n), (A, b), (A, b)),
    "budget": lambda f: tg.value_and_grad(tg.checkpoint(f, max_bytes=200), argnums=(0, 1)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*LOOPS, *OTHERS_HAVE_IT])
def test_it_is_what_eager_calls_give(name, mode, monkeypatch):
    f = made({**LOOPS, **OTHERS_HAVE_IT}[name])
    given = MODES[mode](f)
    for args in inputs():
        found = given(*args)
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            expected = MODES[mode](f)(*args)
        if mode == "value":
            assert_same_bits(found, f(*args))
        if mode == "hessian":  # the signs of zeros: see docs/limits.md
            np.testing.assert_array_equal(found, expected)
        else:
            assert_same_bits(found, expected, f"{args[2]} turns")


@pytest.mark.parametrize("begin", BEGINS)
@pytest.mark.parametrize("loop", ["for t in range(n):", "while t < n:"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_loops(name, loop, begin):
    f = made(LOOPS[name], BEGINS[begin], loop)
    for transformed in (tg.compile(f), tg.value_and_grad(f, argnums=(0, 1))):
        for args in inputs((12, 10, 12)):
            found = transformed(*args)
            value = found[0] if isinstance(found, tuple) else found
            assert_same_bits(value, f(*args))
        assert "loops that are unrolled" not in transformed.explain()
