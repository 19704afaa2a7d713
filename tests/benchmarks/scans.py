"""Loops, exact, with fast math and as JAX, beside a hand-written ``lax.scan`` under ``jax.jit``.

It prints a table: value and gradient, the least of some calls in turns, float64. Times are the
processor's, so that other work on the machine disturbs them less. On one thread::

    OMP_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false" \\
        python -m tests.benchmarks.scans
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import tracegrad as tg

BATCH, WIDTH, HIDDEN = 16, 16, 32
ROUNDS = 15


def rnn(w, u, b, xs, target):
    h = 0.0 * target
    for x in xs:
        h = np.tanh(x @ w + h @ u + b)
    return np.mean((h - target) ** 2)


def rnn_scan(w, u, b, xs, target):
    def step(h, x):
        return jnp.tanh(x @ w + h @ u + b), None

    h, _ = jax.lax.scan(step, 0.0 * target, xs)
    return jnp.mean((h - target) ** 2)


def cell(np, z, c):
    n = HIDDEN
    i, f = 1 / (1 + np.exp(-z[:, :n])), 1 / (1 + np.exp(-z[:, n : 2 * n]))
    g, o = np.tanh(z[:, 2 * n : 3 * n]), 1 / (1 + np.exp(-z[:, 3 * n :]))
    c = f * c + i * g
    return o * np.tanh(c), c


def lstm(w, u, b, xs):
    h, c, loss = np.zeros((BATCH, HIDDEN)), np.zeros((BATCH, HIDDEN)), 0.0
    for t in range(len(xs)):
        h, c = cell(np, xs[t] @ w + h @ u + b, c)
        loss = loss + (h * h).sum()
    return loss


def lstm_scan(w, u, b, xs):
    def step(state, x):
        h, c, loss = state
        h, c = cell(jnp, x @ w + h @ u + b, c)
        return (h, c, loss + (h * h).sum()), None

    state = jnp.zeros((BATCH, HIDDEN)), jnp.zeros((BATCH, HIDDEN)), 0.0
    return jax.lax.scan(step, state, xs)[0][2]


def garch(p, r):
    s, loss = 1.0, 0.0
    for t in range(1, len(r)):
        s = p[0] + p[1] * s + p[2] * r[t - 1] ** 2
        loss = loss + 0.5 * (np.log(s) + r[t] ** 2 / s)
    return loss


def garch_scan(p, r):
    def step(state, pair):
        s, loss = state
        before, now = pair
        s = p[0] + p[1] * s + p[2] * before**2
        return (s, loss + 0.5 * (jnp.log(s) + now**2 / s)), None

    return jax.lax.scan(step, (1.0, 0.0), (r[:-1], r[1:]))[0][1]


class Loop(NamedTuple):
    """A loop, the same as a scan, its arguments and which of them it is differentiated by."""

    name: str
    loop: Callable[..., Any]
    scan: Callable[..., Any]
    arguments: tuple[Any, ...]
    argnums: tuple[int, ...]


def loops(turns: int) -> Iterator[Loop]:
    draw = np.random.default_rng(0)

    def weights(columns: int) -> tuple[Any, ...]:
        shapes = (WIDTH, columns), (HIDDEN, columns), (columns,)
        return tuple(draw.normal(0.0, 0.2, shape) for shape in shapes)

    xs, target = draw.normal(size=(turns, BATCH, WIDTH)), draw.normal(size=(BATCH, HIDDEN))
    yield Loop("RNN", rnn, rnn_scan, (*weights(HIDDEN), xs, target), (0, 1, 2))
    yield Loop("LSTM", lstm, lstm_scan, (*weights(4 * HIDDEN), xs), (0, 1, 2))
    returns = np.array([0.1, 0.8, 0.1]), draw.normal(size=turns)
    yield Loop("GARCH", garch, garch_scan, returns, (0,))


def timed(call: Callable[[], Any]) -> float:
    """Microseconds of a call, which was made once before: the processor's, of all threads."""
    jax.block_until_ready(call())
    began = time.process_time()
    jax.block_until_ready(call())
    return 1e6 * (time.process_time() - began)


KINDS = ("exact", "fast math", "as JAX")


def measured(loop: Loop) -> dict[str, float]:
    """Microseconds a call of each kind, and of the hand-written scan."""
    numpy, as_jax = (
        tg.value_and_grad(loop.loop, argnums=loop.argnums, backend=backend)
        for backend in ("numpy", "jax")
    )
    fast = tg.value_and_grad(loop.loop, argnums=loop.argnums)
    scan = jax.jit(jax.value_and_grad(loop.scan, argnums=loop.argnums))
    given = [jnp.asarray(x) for x in loop.arguments]
    calls = {
        "exact": lambda: numpy(*loop.arguments),
        "fast math": lambda: fast(*loop.arguments),
        "as JAX": lambda: as_jax(*given),
        "scan": lambda: scan(*given),
    }
    least = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            tg.config.fast_math = name == "fast math"
            least[name] = min(least[name], timed(call))
    tg.config.fast_math = False
    values = [np.asarray(call()[0]) for call in calls.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)
    return least


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print("| | exact, us | fast math | as JAX | scan | exact of the scan | fast math | as JAX |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for turns in (100, 1_000):
        for loop in loops(turns):
            us = measured(loop)
            times = " | ".join(f"{us[name]:,.0f}" for name in (*KINDS, "scan"))
            shares = " | ".join(f"{us[name] / us['scan']:.2f}" for name in KINDS)
            print(f"| {loop.name}, {turns:,} turns | {times} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
