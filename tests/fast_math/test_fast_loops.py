"""Loops enter, written by hand and drawn; what is done for all their turns at once changes no more
than roundings, whatever the number of turns."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

TURNS = (9, 12, 10, 3, 2, 1, 0)
"""Of the calls of one function, which has one program for most of them."""


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    monkeypatch.setattr(tg.config, "check", True)


def outcomes(monkeypatch, fast: bool, function: Any, calls: list[tuple[Any, ...]]) -> Any:
    """Value and gradients of each call, or what it raised; and the compiled function."""
    monkeypatch.setattr(tg.config, "fast_math", fast)
    f = tg.value_and_grad(function, argnums=tuple(range(len(calls[0]))))
    found = []
    for args in calls:
        try:
            value, gradients = f(*args)
            found.append((value, *gradients))
        except (IndexError, ValueError, NameError) as error:
            found.append(type(error))
    return found, f


def agree(monkeypatch, function: Any, calls: list[tuple[Any, ...]], rtol: float = 1e-9) -> str:
    """The text of the first call's program, after all calls were as without fast math."""
    before = [[np.array(x) for x in args] for args in calls]
    wanted, _ = outcomes(monkeypatch, False, function, calls)
    got, f = outcomes(monkeypatch, True, function, calls)
    for one, other in zip(wanted, got, strict=True):
        assert isinstance(one, tuple) == isinstance(other, tuple), (one, other)
        for a, b in zip(one, other, strict=True) if isinstance(one, tuple) else ():
            size = np.abs(a).max(initial=1.0)
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * size)
    for args, kept in zip(calls, before, strict=True):
        assert all(map(np.array_equal, args, kept)), "an argument was changed"
    return f.source(*calls[0]) if isinstance(got[0], tuple) else ""


def of_lengths(*shapes: Any) -> list[tuple[Any, ...]]:
    """Arguments for each number of turns, which is T in the shapes."""
    draw = np.random.default_rng(0)
    return [
        tuple(draw.normal(0.0, 0.4, [T if n == "T" else n for n in shape]) for shape in shapes)
        for T in TURNS
    ]


def loop_of(text: str, number: int = 0) -> str:
    """The lines of a loop in a text, without those that show the user's."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("for ")]
    start = starts[number]
    depth = len(lines[start]) - len(lines[start].lstrip())
    stop = next(
        i
        for i in range(start + 1, len(lines))
        if lines[i].strip() and len(lines[i]) - len(lines[i].lstrip()) <= depth
    )
    return "\n".join(lines[start:stop])


# -- written by hand ------------------------------------------------------------------------------


def test_a_recurrent_network_has_one_product_for_all_its_inputs(monkeypatch):
    def f(w, u, b, xs):
        h = np.zeros(4)
        for x in xs:
            h = np.tanh(x @ w + h @ u + b)
        return (h * h).sum()

    text = agree(monkeypatch, f, of_lengths((3, 4), (4, 4), (4,), ("T", 3)))
    assert "@ w" not in loop_of(text) and "+= b" not in loop_of(text) and "@ u" in loop_of(text)
    backward = loop_of(text, 1)
    assert backward.count("@") == 1 and "+=" not in backward


def test_gradients_of_rows_are_one_product(monkeypatch):
    def f(w, xs):
        h = np.zeros(4)
        for t in range(len(xs)):
            h = np.tanh(xs[t] @ w + h)
        return h.sum()

    text = agree(monkeypatch, f, of_lengths((3, 4), ("T", 3)))
    assert "@" not in loop_of(text) and "@" not in loop_of(text, 1)


def test_numbers_of_turns_are_vectors_behind_the_loop(monkeypatch):
    def garch(p, r):
        s, loss = 1.0, 0.0
        for t in range(1, len(r)):
            s = p[0] ** 2 + 0.5 * s + p[1] ** 2 * r[t - 1] ** 2
            loss = loss + 0.5 * (np.log(s) + r[t] ** 2 / s)
        return loss

    text = agree(monkeypatch, garch, of_lengths((2,), ("T",))[:-3])
    assert "log" not in loop_of(text) and "log" in text
    assert "[0] +=" not in loop_of(text, 1)


def test_states_that_are_stacked_need_no_list(monkeypatch):
    def f(w, u, b, x):
        h, c, out = np.zeros(2), np.zeros(2), []
        for t in range(len(x)):
            z = x[t] @ w + h @ u + b
            i, f = 1 / (1 + np.exp(-z[:2])), 1 / (1 + np.exp(-z[2:4]))
            c = f * c + i * np.tanh(z[4:6])
            h = np.tanh(c) / (1 + np.exp(-z[6:]))
            out.append(h)
        return (np.stack(out) ** 2).sum()

    text = agree(monkeypatch, f, of_lengths((3, 8), (2, 8), (8,), ("T", 3)))
    assert "append" not in loop_of(text) and " / " not in loop_of(text, 1)


def test_turns_that_count_down_leave_their_lists_in_order(monkeypatch):
    def f(w, x):
        s = 1.0
        for t in range(len(x) - 1, -1, -1):
            s = s * np.cos(x[t] * w[0]) + w[1] * x[t] ** 2
        return s * 1.0

    agree(monkeypatch, f, of_lengths((2,), ("T",)))


def test_an_index_behind_the_end_is_an_error_in_both(monkeypatch):
    def f(w, x):
        s = w[0] * 1.0
        for t in range(len(x)):
            s = s * 0.5 + np.sin(x[t + 1])
        return s

    agree(monkeypatch, f, of_lengths((2,), ("T",)))


def test_second_derivatives(monkeypatch):
    def f(w, x):
        h = w[0] * 0.0
        for t in range(len(x)):
            h = np.tanh(x[t] * w[0] + h * w[1])
        return h

    w, x = np.array([0.3, 0.7]), np.linspace(-1, 1, 11)
    wanted = tg.hessian(f)(w, x)
    monkeypatch.setattr(tg.config, "fast_math", True)
    np.testing.assert_allclose(tg.hessian(f)(w, x), wanted, rtol=1e-10)


# -- drawn ----------------------------------------------------------------------------------------

HEADS = (
    "for t in range(len(x)):",
    "for t in range(1, len(x)):",
    "for t in range(len(x) - 1):",
    "for t in reversed(range(len(x))):",
    "for t in range(len(x) - 1, 0, -1):",
    "for t, (v, q) in enumerate(zip(x, y)):",
    "for t, v in enumerate(x):",
)
VECTORS = (
    "h",
    "x[t]",
    "x[t] @ w",
    "h @ w",
    "w @ np.tanh(x[t])",
    "y[t] * h",
    "x[t] * x[t]",
    "np.sin(h) * x[t]",
    "g",
    "x[t - 1]",
    "(x[t] * s)",
)
NUMBERS = (
    "s",
    "y[t]",
    "x[t].sum()",
    "h @ x[t]",
    "(h * h).sum()",
    "y[t] ** 2",
    "w[0, 1]",
    "x[t, 1]",
)
JOINS = (" + ", " - ", " * ", " + ", " / (1.5 + s * s) * ")


def drawn(seed: int) -> str:
    """The text of a function of arrays (T, 3), (T,), (3, 3)."""
    pick = random.Random(seed)

    def joined(terms: tuple[str, ...]) -> str:
        text = pick.choice(terms)
        for _ in range(pick.randrange(1, 4)):
            text += pick.choice(JOINS) + pick.choice(terms)
        return text

    lines = ["def f(x, y, w):", "    h = w[0] * 0.1", "    g = w[1] * 1.0"]
    lines += ["    s = 0.5", "    total = 0.0", "    out = []", "    p = np.zeros(4)"]
    for _ in range(pick.randrange(1, 3)):
        lines.append("    " + pick.choice(HEADS))
        for _ in range(pick.randrange(1, 4)):
            number, vector = joined(NUMBERS), joined(VECTORS)
            line = pick.choice(
                (
                    f"h = 0.5 * np.tanh({vector})",
                    f"h = h + np.tanh({vector}) * 0.1",
                    f"s = 0.5 * np.tanh({number})",
                    f"s = 0.3 * s + np.cos({number})",
                    f"total = total + {number}",
                    f"total = total - ({vector}).sum()",
                    f"total += ({vector}) @ g",
                    f"g = g - 0.01 * np.tanh({vector})",
                    f"out.append({vector})",
                    f"p[{pick.randrange(4)}] += {number}",
                )
            )
            lines.append("        " + line)
    lines.append("    joined = np.stack(out).sum() if len(out) > 0 else 0.0")
    lines.append("    return total + s + (h * h).sum() + g.sum() + (p * p).sum() + joined")
    return "\n".join(lines) + "\n"


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(32))
def test_drawn_loops(monkeypatch, seed):
    text = drawn(seed)
    file = f"<drawn loop {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    with np.errstate(all="ignore"):
        agree(monkeypatch, scope["f"], of_lengths(("T", 3), ("T",), (3, 3)), rtol=1e-6)
