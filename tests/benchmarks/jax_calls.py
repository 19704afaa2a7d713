"""What a call with `backend="jax"` costs beside a call of the same function under `jax.jit`.

    python -m tests.benchmarks.jax_calls [rounds]

Arrays of ten numbers, 64-bit types, calls in turns, the least of all rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tracegrad as tg

CALLS = 60  # of a round

x, y = jnp.linspace(0.2, 1.4, 10), jnp.linspace(1.0, 2.0, 10)
leaves = {f"p{i}": x + i for i in range(50)}
nested = {"layers": [{"w": x + i, "b": y + i} for i in range(10)]}


def cases() -> Iterator[tuple[str, Any, Any, Callable[[Any], Any]]]:
    """A name, the two functions, and the call of one."""

    def both(f: Any, transform: str = "compile", **how: Any) -> tuple[Any, Any]:
        of_jax = f if transform == "compile" else getattr(jax, transform)(f, **how)
        return getattr(tg, transform)(f, backend="jax", **how), jax.jit(of_jax)

    def product(x: Any, y: Any) -> Any:
        return (x * y).sum()

    def alone(x: Any, *, y: Any) -> Any:
        return (x * y).sum()

    def squares(x: Any) -> Any:
        return (x * x).sum()

    def all_squares(leaves: Any) -> Any:
        return sum((x * x).sum() for x in leaves.values())

    def of_layers(p: Any) -> Any:
        return sum((layer["w"] * layer["b"]).sum() for layer in p["layers"])

    yield "one array", *both(squares), lambda f: lambda: f(x)
    yield "two arrays", *both(product), lambda f: lambda: f(x, y)
    yield "two arrays, by name", *both(product), lambda f: lambda: f(x=x, y=y)
    yield "a keyword-only argument", *both(alone), lambda f: lambda: f(x, y=y)
    yield "a float", *both(lambda x, t: (x * t).sum()), lambda f: lambda: f(x, 2.0)
    yield "an array of a closure", *both(lambda x: (x * y).sum()), lambda f: lambda: f(x)
    slopes = both(product, "grad", argnums=(0, 1))
    yield "gradient of two arrays", *slopes, lambda f: lambda: f(x, y)
    yield (
        "value and gradient of one array",
        *both(squares, "value_and_grad"),
        lambda f: lambda: f(x),
    )
    yield "gradients of 50 leaves", *both(all_squares, "grad"), lambda f: lambda: f(leaves)
    yield "20 leaves in nested containers", *both(of_layers), lambda f: lambda: f(nested)


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Microseconds of a call, the least of rounds in turns."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            began = perf_counter()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (perf_counter() - began) / CALLS * 1e6)
    return found


def main(rounds: int = 300) -> None:
    print("| call with | jax.jit, us | tracegrad, us | ratio |\n| --- | --: | --: | --: |")
    for name, ours, theirs, calling in cases():
        calls = {"jax.jit": calling(theirs), "tracegrad": calling(ours)}
        for _ in range(8):
            results = [jax.tree.leaves(call()) for call in calls.values()]
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        jit, own = least(calls, rounds).values()
        print(f"| {name} | {jit:.2f} | {own:.2f} | {own / jit:.3f} |", flush=True)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    x, y = jnp.linspace(0.2, 1.4, 10), jnp.linspace(1.0, 2.0, 10)
    leaves = {f"p{i}": x + i for i in range(50)}
    nested = {"layers": [{"w": x + i, "b": y + i} for i in range(10)]}
    main(*map(int, sys.argv[1:]))
