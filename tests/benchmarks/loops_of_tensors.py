"""Loops in functions of Tensors that require grad: forward and backward, compiling included.

``python tests/benchmarks/loops_of_tensors.py`` prints, for 40 calls with sequences of other
lengths, the processor time and the versions: eagerly, and compiled. Run it in two checkouts, in
turns, to compare them.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import tracegrad as tg

RNG = np.random.default_rng(0)
CALLS = 40


def recurrent(w, u, b, x):
    h = tg.zeros(16)
    for row in x:
        h = tg.tanh(row @ u + h @ w + b)
    return (h * h).mean()


def lstm(w, u, b, x):
    h, c = tg.zeros(4), tg.zeros(4)
    for row in x:
        gates = row @ u[:, :16] + h @ w[:4, :16] + b
        i, f, o = (tg.sigmoid(gates[k * 4 : k * 4 + 4]) for k in range(3))
        c = f * c + i * tg.tanh(gates[12:])
        h = o * tg.tanh(c)
    return (h * h).mean()


def dropped_out(w, u, b, x):
    h = tg.zeros(16)
    for row in x:
        h = tg.tanh(row @ u + h @ w + b) * (tg.rand(16) > 0.1)
    return (h * h).mean()


def pulled(w, u, b, x):
    """The same by `tg.vjp`, on arrays."""
    value, pull = tg.vjp(recurrent, w.detach().numpy(), u.detach().numpy(), b.detach().numpy(), x)
    pull(1.0)
    return value


def main() -> None:
    shapes = [(16, 16), (3, 16), (16,)]
    parameters = [tg.tensor(RNG.normal(size=s) * 0.3, requires_grad=True) for s in shapes]
    warnings.simplefilter("ignore")
    for most in (20, 200):
        lengths = RNG.integers(most // 2, most + 1, CALLS)
        sequences = [RNG.normal(size=(n, 3)) for n in lengths]
        for function in (recurrent, lstm, dropped_out, pulled):
            took = []
            compiled = tg.compile(function) if function is not pulled else function
            for eagerly in (True, False):
                tg.config.compile = not eagerly
                began = time.process_time()
                for x in sequences:
                    value = (function if eagerly else compiled)(*parameters, x)
                    if function is not pulled:
                        value.backward()
                took.append(1e3 * (time.process_time() - began))
            versions = compiled.cache_info().versions if function is not pulled else ""
            eager, made = took
            print(
                f"{function.__name__:12} {most:4} turns  eager {eager:6.0f} ms  "
                f"compiled {made:6.0f} ms  {versions} versions"
            )


if __name__ == "__main__":
    main()
