"""Measure the likelihood of a Gaussian process and its gradient beside PyTorch and JAX.

In: places in the plane, heights, and the metric of an RBF kernel, the same for all; one thread.
Out: a Markdown table of milliseconds, and the ratio to the fastest of the others.

    python -m pip install torch jax        # for this measurement only
    OMP_NUM_THREADS=1 python -m tests.benchmarks.gaussian_process [--rounds 31]

All run in one process and take turns; a ratio is taken within each round, so a change of the
machine's speed between rounds does not enter it.
"""

import argparse
import time
from functools import partial
from statistics import median
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import torch

import tracegrad as tg

OURS = SimpleNamespace(
    exp=np.exp,
    log=np.log,
    eye=tg.eye,
    cholesky=np.linalg.cholesky,
    solve=partial(tg.linalg.solve_triangular, lower=True),
    diagonal=np.diagonal,
)
TORCH = SimpleNamespace(
    exp=torch.exp,
    log=torch.log,
    eye=partial(torch.eye, dtype=torch.float64),
    cholesky=torch.linalg.cholesky,
    solve=lambda a, b: torch.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0],
    diagonal=torch.diagonal,
)
JAX = SimpleNamespace(
    exp=jnp.exp,
    log=jnp.log,
    eye=jnp.eye,
    cholesky=jnp.linalg.cholesky,
    solve=partial(jax.scipy.linalg.solve_triangular, lower=True),
    diagonal=jnp.diagonal,
)


def loss(lib, metric, x, y):
    places = x @ metric
    k = lib.exp(-0.5 * ((places[:, None] - places) ** 2).sum(2)) + 0.1 * lib.eye(len(x))
    factor = lib.cholesky(k)
    white = lib.solve(factor, y)
    return 0.5 * (white @ white) + lib.log(lib.diagonal(factor)).sum()


def sides(n):
    """One call of value and gradient for each library; each returns the gradient."""
    random = np.random.default_rng(0)
    metric, x, y = np.eye(2), random.uniform(0.0, 8.0, (n, 2)), random.normal(size=n)
    f = partial(loss, OURS)
    numpy, on_jax = tg.value_and_grad(f), tg.value_and_grad(f, backend="jax")
    jitted = jax.jit(jax.value_and_grad(partial(loss, JAX)))
    given = torch.tensor(metric, requires_grad=True)
    tx, ty = torch.tensor(x), torch.tensor(y)

    def by_torch():
        given.grad = None
        loss(TORCH, given, tx, ty).backward()
        return given.grad.numpy()

    return {
        "tracegrad": lambda: numpy(metric, x, y)[1],
        "tracegrad, jax": lambda: on_jax(metric, x, y)[1],
        "torch": by_torch,
        "JAX": lambda: np.asarray(jitted(metric, x, y)[1]),
    }


def measure(n, rounds):
    run = sides(n)
    reference = run["torch"]()
    for call in run.values():
        for _ in range(3):
            assert np.allclose(call(), reference, rtol=1e-8), "the gradients differ"
    times = {name: [] for name in run}
    for _ in range(rounds):
        for name, call in run.items():
            began = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - began) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    names = ("tracegrad", "tracegrad, jax", "torch", "JAX")
    print(f"| heights | {', ms | '.join(names)}, ms | NumPy of the best | JAX of the best |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n in (30, 100, 300, 1000):
        times = measure(n, rounds if n < 1000 else max(5, rounds // 4))
        best = [min(pair) for pair in zip(times["torch"], times["JAX"], strict=True)]
        ratios = [
            f"{median(a / b for a, b in zip(times[name], best, strict=True)):.2f}"
            for name in names[:2]
        ]
        shown = [f"{median(times[name]):.2f}" for name in names]
        print(f"| {n} | {' | '.join([*shown, *ratios])} |")


if __name__ == "__main__":
    main()
