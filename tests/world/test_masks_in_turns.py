"""Turns read and write by masks: each picks as many elements as it does, and the loop stays one."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

LOOPS = {
    "picks": "s = s + np.sum(np.exp(c[c > x[t]]))",
    "writes_a_number": "z[z > 0.5] = x[t]\ns = s + np.sum(z * c)",
    "writes_zeros_for_nan": "y = c / (x[t] - x[t])\ny[np.isnan(y)] = 0.0\ns = s + x[t]",
    "changes_what_it_picks": "z[z > 0] *= 0.9\ns = s + np.sum(z * x[t])",
    "adds_what_it_picks": "m = c > x[t]\nz[m] += c[m]\ns = s + np.sum(z * z)",
    "rows_of_a_matrix": "A = np.outer(c, c)\nA[c > x[t]] *= 2.0\ns = s + A.sum()",
    "two_masks": "m = c > x[t]\ns = s + c[m].sum() * 2.0 - np.exp(c[~m]).sum() * x[t]",
    "sorted": "y = np.sort(c[c > x[t]])\ns = s + np.sum(y * y)",
    "places": "i = np.nonzero(c > x[t])[0]\nz[i] = c[i] * x[t]\ns = s + z.sum()",
    "in_an_arm": "if x[t] > 0:\n    z[z > 0.1] = 0.1\ns = s + np.sum(z * c)",
    "read_behind_an_arm": "y = c[c > x[t]]\nif x[t] > 0:\n    z[z > 0.1] = 0.1\n"
    "s = s + np.sum(np.sort(y)) + z.sum()",
    "mean": "m = c > x[t]\nz[m] *= np.exp(0.2 * c[m])\ns = s + np.mean(z[m])",
    "mask_that_turns_hand_on": "z[last] *= np.exp(0.2 * c[last] - 0.1)\nlast = last & (z > x[t])\n"
    "s = s + np.sum(z[last]) - np.sum(z[~last])",
    "mask_that_turns_change_in_place": "z[last] *= np.exp(0.2 * c[last])\nlast &= z > x[t] - 1.0\n"
    "s = s + np.sum(z)",
    "mean_of_a_mask_that_turns_hand_on": "u = z[last] * c[last]\nz[last] = u - 0.1 * np.mean(u)\n"
    "last = last ^ (z > x[t])\ns = s + np.sum(z)",
    "mask_that_turns_hand_on_in_an_arm": "if x[t] > 0:\n    z[last] = np.sin(z[last])\nelse:\n"
    "    z[last] += c[last] * x[t]\nlast = z < c",
    "what_one_turn_picked_is_handed_on": "m = z > x[t]\nz = np.where(m, z, c)\nz[m] -= 0.1\n"
    "s = s + np.sum(z)",
}
UNROLLED = {
    "looks_at_how_many": "y = c[c > x[t]]\nif len(y) > 1:\n    s = s + y[0] * y.sum()",
    "divides_by_how_many": "y = c[c > x[t]]\ns = s + y.sum() / (y.size + 1.0)",
    "reads_how_many_again": "y = np.concatenate([c[c > x[t]], c])\ns = s + np.sum(y * y)",
    "hands_on_what_it_picked": "s = s + np.sum(last)\nlast = c[c > x[t]]",
    "zeros_behind_an_arm": "u = np.zeros(c[c > x[t]].shape)\nif x[t] > 0:\n    s = s * 0.9\n"
    "s = s + np.sum((u + c[c > x[t]]) ** 2)",
    "meets_another_length": "y = c[c > x[t]]\ns = s + (np.sum(y * c) if len(y) == len(c) else 0.0)",
}


def made(body: str):
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    masks = "[last]" in body
    last = "np.ones(len(c), dtype=bool)" if masks else "c * 2.0"
    behind = " + np.sum(z[last] ** 2) / (z[last].size + 1.0)" if masks else ""
    return function_of(
        f"""
def f(x, c):
    s, z, last = np.sum(c), c * 1.0, {last}
    for t in range(len(x)):
{lines}
    return s{behind}
"""
    )


def inputs():
    random = np.random.default_rng(0)
    for length in (20, 9, 3, 0):
        yield random.normal(size=length), random.normal(size=4)


def of_tensors(f):
    """Values and gradients by calls on Tensors."""

    def call(x, c):
        leaves = [tg.tensor(a, requires_grad=True) for a in (x, c)]
        value = f(*leaves)
        value.backward()
        return value.item(), *[np.zeros(0) if a.grad is None else a.grad.numpy() for a in leaves]

    return call


MODES = {
    "gradient": lambda f: tg.value_and_grad(f, argnums=(0, 1)),
    "tangent": lambda f: lambda *args: tg.jvp(f, args, args),
    "pullback": lambda f: lambda *args: tg.vjp(f, *args)[1](np.float64(1.5)),
    "hessian": lambda f: tg.hessian(f, argnums=1),
    "budget": lambda f: tg.value_and_grad(tg.checkpoint(f, max_bytes=200), argnums=(0, 1)),
    "tensors": lambda f: of_tensors(tg.compile(f)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*LOOPS, *UNROLLED])
def test_it_is_what_eager_calls_give(name, mode, monkeypatch):
    f = made({**LOOPS, **UNROLLED}[name])
    compiled = MODES[mode](f)
    for x, c in inputs():
        with np.errstate(all="ignore"):
            found = compiled(x, c)
            with monkeypatch.context() as patch:
                patch.setattr(tg.config, "compile", False)
                expected = MODES[mode](f)(x, c)
        if mode == "hessian":  # the signs of zeros: see docs/limits.md
            np.testing.assert_array_equal(found, expected)
        else:
            assert_same_bits(found, expected, f"{len(x)} turns")


@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_loops(name):
    gradient = tg.value_and_grad(made(LOOPS[name]), argnums=(0, 1))
    for x, c in [(x, c) for x, c in inputs() if len(x) >= 8]:
        with np.errstate(all="ignore"):
            gradient(x, c)
    assert "for t in range" in gradient.source(x, c)
    assert gradient.cache_info().versions <= 2, gradient.explain()  # an arm may come later
    assert len(gradient.source(x, c).splitlines()) < 110


def test_what_picked_one_element_is_not_taken_for_a_number():
    """An array of one element meets any length: that it was one is a look at the data."""

    def f(x, c, w):
        s = 0.0
        for t in range(len(x)):
            y = c[c > x[t]]
            s = s + np.sum(y * w)
        return s

    gradient = tg.value_and_grad(f, argnums=(1, 2))
    c, w = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])
    for x in ([2.5] * 10, [2.5, 2.5, 0.5] * 4, [0.5] * 10, [0.5, 2.5] * 10):
        value, (_, of_w) = gradient(np.array(x), c, w)
        assert value == sum(np.sum(c[c > v] * w) for v in x)
        np.testing.assert_array_equal(
            of_w, np.sum([np.broadcast_to(c[c > v], 3) for v in x], axis=0)
        )


def test_a_number_written_where_a_mask_says_has_one_program_for_all_counts():
    def f(x):
        y = x * 2.0
        y[y > 1.0] = 1.0
        return np.sum(y * y)

    pytest.importorskip("jax")
    for backend in ("numpy", "jax"):
        gradient = tg.grad(f, backend=backend)
        for x in (np.array([0.1, 0.9, 3.0]), np.array([2.0, 0.9, 3.0]), np.zeros(3), np.ones(3)):
            expected = np.where(2.0 * x > 1.0, 0.0, 8.0 * x)
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-6)
        assert gradient.cache_info().versions == 1


def test_kernels_have_no_turn_whose_backward_lacks_a_length():
    """The loop is unrolled; its backward for numba returned nothing once."""
    pytest.importorskip("numba")

    def means(x):
        total = 0.0
        for _ in range(10):
            y = x - total
            total = total * 0.9 + np.mean(y[y < 20.0]) * 0.1
        return total

    x = np.random.default_rng(0).normal(size=5)
    for backend in ("numpy", "numba"):
        value, gradient = tg.value_and_grad(means, backend=backend)(x)
        assert value == means(x)
        step = 1e-6 * np.eye(5)
        slopes = [(means(x + h) - means(x - h)) / 2e-6 for h in step]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-7)
