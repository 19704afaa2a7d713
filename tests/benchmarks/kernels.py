"""Kernels of numba beside NumPy source: loops, also beside scans under ``jax.jit``; elements.

``python tests/benchmarks/kernels.py`` prints a table of loops, value and gradient, best of several
runs; with ``elements`` one of elementwise programs at three sizes, as processor time, in turns.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tracegrad as tg
from tracegrad.backends import numba as numba_backend

jax.config.update("jax_enable_x64", True)


def garch(th, r):
    omega, alpha, beta = th
    s2 = omega / (1 - alpha - beta)
    ll = 0.0
    for t in range(len(r)):
        ll = ll + 0.5 * (np.log(s2) + r[t] * r[t] / s2)
        s2 = omega + alpha * r[t] * r[t] + beta * s2
    return ll


def garch_scan(th, r):
    omega, alpha, beta = th

    def step(carry, x):
        ll, s2 = carry
        ll = ll + 0.5 * (jnp.log(s2) + x * x / s2)
        return (ll, omega + alpha * x * x + beta * s2), None

    (ll, _), _ = jax.lax.scan(step, (0.0, omega / (1 - alpha - beta)), r)
    return ll


def _rk4(p, x, y):
    a, b, c, d = p
    h = 0.01

    def f(x, y):
        return a * x - b * x * y, d * x * y - c * y

    k1, l1 = f(x, y)
    k2, l2 = f(x + h / 2 * k1, y + h / 2 * l1)
    k3, l3 = f(x + h / 2 * k2, y + h / 2 * l2)
    k4, l4 = f(x + h * k3, y + h * l3)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


def lotka_volterra(p, u):
    x, y = u
    for _ in range(1_000):
        x, y = _rk4(p, x, y)
    return (x - 1.0) ** 2 + (y - 2.0) ** 2


def lotka_volterra_scan(p, u):
    def step(state, _):
        return _rk4(p, *state), None

    (x, y), _ = jax.lax.scan(step, (u[0], u[1]), None, length=1_000)
    return (x - 1.0) ** 2 + (y - 2.0) ** 2


def newton(a, x):
    for _ in range(100):
        new = x - (x * x - a) / (2.0 * x)
        if abs(new - x) < 1e-12:
            break
        x = new
    return new


def left(a, x):
    """`newton` for JAX: all its turns, of which those after the end change nothing."""

    def step(carry, _):
        x, done = carry
        new = x - (x * x - a) / (2.0 * x)
        return (jnp.where(done, x, new), done | (abs(new - x) < 1e-12)), None

    (x, _), _ = jax.lax.scan(step, (x, False), None, length=100)
    return x


def van_der_pol(mu, x):
    """Heun's method, whose steps are made again, and smaller, where they err."""
    t, h, v = 0.0, 0.01, 0.0
    while t < 20.0:
        a, b, end, speed = _heun(mu, x, v, h)
        if abs(end - a) + abs(speed - b) < 1e-3:
            t, x, v = t + h, end, speed
            h = h * 1.2
        else:
            h = h * 0.5
    return x * x + v


def _heun(mu, x, v, h):
    """The end of a step by Euler's method, and by Heun's."""
    k, force = v, mu * (1.0 - x * x) * v - x
    a, b = x + h * k, v + h * force
    return a, b, x + 0.5 * h * (k + b), v + 0.5 * h * (force + mu * (1.0 - a * a) * b - a)


TURNS = 1_868  # that `van_der_pol(1.5, 1.0)` makes


def van_der_pol_scan(mu, x):
    def turn(carry):
        t, h, x, v = carry
        a, b, end, speed = _heun(mu, x, v, h)
        fits = jnp.abs(end - a) + jnp.abs(speed - b) < 1e-3
        taken, left = (t + h, h * 1.2, end, speed), (t, h * 0.5, x, v)
        return jax.lax.cond(fits, lambda: taken, lambda: left)

    def step(carry, _):
        return jax.lax.cond(carry[0] < 20.0, turn, lambda carry: carry, carry), None

    start = jnp.zeros_like(x)
    (_, _, x, v), _ = jax.lax.scan(step, (start, start + 0.01, x, start), None, length=TURNS)
    return x * x + v


def leapfrog(k, q, p):
    for _ in range(1_000):
        q, p = _leap(k, q, p, np)
    return np.sum(q * q)


def _leap(k, q, p, np):
    p = p - 0.005 * k * np.sin(q)
    q = q + 0.01 * p
    return q, p - 0.005 * k * np.sin(q)


def leapfrog_scan(k, q, p):
    step = lambda state, _: (_leap(k, *state, jnp), None)
    (q, p), _ = jax.lax.scan(step, (q, p), None, length=1_000)
    return jnp.sum(q * q)


def kalman(transition, noise, observed, z):
    n = len(observed)
    state = np.zeros(n), np.eye(n), 0.0
    for t in range(len(z)):
        state = _observe(transition, noise, observed, *state, z[t], np)
    return state[2]


def _observe(transition, noise, observed, x, spread, loss, z, np):
    """Predict, and correct by what is observed."""
    x = transition @ x
    spread = transition @ spread @ transition.T + noise * np.eye(len(observed))
    deviation = observed @ spread @ observed + 0.5
    gain, error = spread @ observed / deviation, z - observed @ x
    loss = loss + 0.5 * (np.log(deviation) + error * error / deviation)
    return x + gain * error, spread - np.outer(gain, observed @ spread), loss


def kalman_scan(transition, noise, observed, z):
    def step(state, z):
        return _observe(transition, noise, observed, *state, z, jnp), None

    n = len(observed)
    return jax.lax.scan(step, (jnp.zeros(n), jnp.eye(n), 0.0), z)[0][2]


def hidden_markov(moves, emits, first, seen):
    alpha, loss = _scaled(first * emits[:, seen[0]], np)
    for t in range(1, len(seen)):
        alpha, more = _scaled((alpha @ moves) * emits[:, seen[t]], np)
        loss = loss + more
    return -loss


def _scaled(alpha, np):
    total = np.sum(alpha)
    return alpha / total, np.log(total)


def hidden_markov_scan(moves, emits, first, seen):
    def step(carry, o):
        alpha, more = _scaled((carry[0] @ moves) * emits[:, o], jnp)
        return (alpha, carry[1] + more), None

    start = _scaled(first * emits[:, seen[0]], jnp)
    return -jax.lax.scan(step, start, seen[1:])[0][1]


def chain(x, a):
    y = np.sin(x) * a
    y = np.exp(-y) + x
    y = y * y / (1.0 + y)
    y = np.sqrt(np.abs(y)) - 0.5
    return np.tanh(y)


def arithmetic(x, a):
    y = x * a + 0.5
    y = y * y - x
    y = (y + 1.0) * (x - 2.0)
    y = y / (1.0 + x * x)
    return np.sqrt(np.abs(y)) * a


def black_scholes(spot, strike, rate, volatility, maturity):
    deviation = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / deviation
    d2 = d1 - deviation
    value = spot * tg.special.ndtr(d1)
    return np.sum(value - strike * np.exp(-rate * maturity) * tg.special.ndtr(d2))


def adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return p - 0.001 * m / (np.sqrt(v) + 1e-8), m, v


def total(f):
    """The sum of a function, whose gradient is taken."""
    return lambda *args: f(*args).sum()


ELEMENTS = {
    "12 operations, three of them functions": (tg.compile, chain, "xa"),
    "value and gradient": (tg.value_and_grad, total(chain), "xa"),
    "13 operations, arithmetic": (tg.compile, arithmetic, "xa"),
    "its value and gradient": (tg.value_and_grad, total(arithmetic), "xa"),
    "Black-Scholes, value and gradient": (tg.value_and_grad, black_scholes, "xx..."),
    "Adam's update": (tg.compile, adam, "xxxx"),
}
NUMBERS = (0.03, 0.2, 1.5)


def elements() -> None:
    """Prints how long elementwise programs take, as a share of NumPy source's time."""
    numba_backend.settings.at_once = True
    lengths = (100, 10_000, 1_000_000)
    print(f"| | {' | '.join(f'{n:,}' for n in lengths)} |\n|---|---|---|---|")
    for name, (transform, f, takes) in ELEMENTS.items():
        shares = []
        for n in lengths:
            x = np.abs(np.random.default_rng(0).normal(size=n)) + 0.5
            numbers = iter(NUMBERS)
            args = [x if t == "x" else 2.0 if t == "a" else next(numbers) for t in takes]
            both = transform(f), transform(f, backend="numba")
            for function in (*both, *both):
                function(*args)
            taken = [[spent(function, args, n) for function in both] for _ in range(9)]
            numpy, numba = map(min, zip(*taken, strict=True))
            shares.append(f"{numba / numpy:.2f}")
        print(f"| {name} | {' | '.join(shares)} |")


def spent(function: Callable[..., Any], args: list[Any], n: int) -> float:
    """Processor time of some calls."""
    began = process_time()
    for _ in range(max(1, 200_000 // n)):
        function(*args)
    return process_time() - began


def finished(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result of a function of JAX's, when it is there."""
    return jax.block_until_ready(function(*args))


def best(call: Callable[[], Any], number: int) -> float:
    """Microseconds a call."""
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def agree(ours: Any, theirs: Any) -> None:
    """Raises where value and gradient are not those of JAX, but for roundings."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)


def main() -> None:
    numba_backend.settings.at_once = True
    rng = np.random.default_rng(0)
    th = np.array([0.1, 0.1, 0.8])
    cases = {
        "GARCH, 1,000": (garch, garch_scan, (th, rng.normal(size=1_000))),
        "GARCH, 10,000": (garch, garch_scan, (th, rng.normal(size=10_000))),
        "Lotka-Volterra, RK4, 1,000": (
            lotka_volterra,
            lotka_volterra_scan,
            (np.array([1.5, 1.0, 3.0, 1.0]), np.ones(2)),
        ),
        "Newton's method, left by `break`": (newton, left, (np.float64(2.0), np.float64(1.0))),
        "Heun's method, steps made again": (
            van_der_pol,
            van_der_pol_scan,
            (np.float64(1.5), np.float64(1.0)),
        ),
        "leapfrog, 1,000, 10 numbers": (leapfrog, leapfrog_scan, tuple(rng.random((3, 10)) + 0.5)),
        "Kalman filter, 200, 4 x 4": (
            kalman,
            kalman_scan,
            (0.9 * np.eye(4) + 0.02, np.float64(0.1), rng.random(4), rng.normal(size=200)),
        ),
        "hidden Markov model, 500, 5 states": (
            hidden_markov,
            hidden_markov_scan,
            (*rng.dirichlet(np.ones(5), (2, 5)), np.full(5, 0.2), rng.integers(0, 5, 500)),
        ),
    }
    print("| | numba, us | NumPy source / numba | numba / jax.jit |\n|---|---|---|---|")
    for name, (f, scan, args) in cases.items():
        plain, compiled = tg.value_and_grad(f), tg.value_and_grad(f, backend="numba")
        jitted, arrays = jax.jit(jax.value_and_grad(scan)), tuple(map(jnp.asarray, args))
        for function in (plain, compiled, compiled):
            function(*args)
        agree(compiled(*args), jax.block_until_ready(jitted(*arrays)))
        numpy = best(partial(plain, *args), 3)
        numba = best(partial(compiled, *args), 50)
        xla = best(partial(finished, jitted, arrays), 50)
        print(f"| {name} | {numba:.1f} | {numpy / numba:.0f} | {numba / xla:.3f} |")


if __name__ == "__main__":
    elements() if "elements" in sys.argv else main()
