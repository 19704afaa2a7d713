"""Transforms beside ``jax.jit`` of the same, and beside what they are transforms of.

It prints a table: the least wall time of some calls in turns, float64. On one thread::

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false" \\
        python -m tests.benchmarks.transforms

Where PyTorch is installed, the Jacobian of bundle adjustment is made by it row by row as well.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import tracegrad as tg

ROUNDS = 15
DRAW = np.random.default_rng(0)
Call = Callable[[], Any]


class Measured(NamedTuple):
    """A transform's call, the call that it is measured by, and the two together in words."""

    name: str
    own: Call
    by: Call
    of: str


def chain(x, y, np=np):
    """Twelve operations."""
    a, b = np.sin(x), np.exp(-y * y)
    c = np.tanh(a * b + x)
    return np.sqrt(c * c + 1.0) - np.log(b + 2.0)


def chains() -> Iterator[Measured]:
    forward, jvp = tg.compile(chain), tg.jvp(chain)
    for n in (10, 1_000, 100_000):
        x, y, v, w = DRAW.normal(size=(4, n))

        def own(given=(x, y, v, w)):
            return jvp(*given)

        def by(given=(x, y)):
            return forward(*given)

        yield Measured(f"`jvp` of 12 operations, {n:,} elements", own, by, "its forward")


def logistic(w, x, y, np=np):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(w * w)


def logistics() -> Iterator[Measured]:
    own = tg.hessian(logistic)
    by = jax.jit(jax.hessian(lambda w, x, y: logistic(w, x, y, jnp)))
    for n in (50, 200, 1_000, 10_000, 100_000):
        given = (0.1 * DRAW.normal(size=50), DRAW.normal(size=(n, 50)), DRAW.random(n).round())
        name = f"`hessian` of logistic regression, 50 features, {n:,} rows"
        yield beside_jax(name, own, by, given)


def rosenbrock(x, np=np):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrocks() -> Iterator[Measured]:
    whole, sparse = tg.hessian(rosenbrock), tg.hessian(rosenbrock, sparse=True)
    by = jax.jit(jax.hessian(lambda x: rosenbrock(x, jnp)))
    for n in (10, 100, 1_000):
        given = (np.linspace(-1.0, 1.0, n),)
        yield beside_jax(f"`hessian` of Rosenbrock, {n:,}", whole, by, given)
        yield beside_jax(f"the same with `sparse=True`, {n:,}", sparse, by, given)


def mlp(p, x, t, np=np):
    h = np.tanh(x @ p["w1"] + p["b1"])
    h = np.tanh(h @ p["w2"] + p["b2"])
    return np.sum((h @ p["w3"] + p["b3"] - t) ** 2)


def mlps() -> Iterator[Measured]:
    own = tg.vmap(tg.grad(mlp), in_axes=(None, 0, 0))
    by = jax.jit(jax.vmap(jax.grad(lambda p, x, t: mlp(p, x, t, jnp)), in_axes=(None, 0, 0)))
    for sizes, examples in (
        ((8, 16, 16, 4), 16),
        ((64, 128, 128, 10), 32),
        ((64, 128, 128, 10), 128),
    ):
        pairs = list(pairwise(sizes))
        p = {f"w{i}": DRAW.normal(size=pair) / pair[0] for i, pair in enumerate(pairs, 1)}
        p |= {f"b{i}": DRAW.normal(size=pair[1]) for i, pair in enumerate(pairs, 1)}
        given = (p, *(DRAW.normal(size=(examples, n)) for n in (sizes[0], sizes[-1])))
        name = f"`vmap(grad)` of an MLP {'-'.join(map(str, sizes))}, {examples} examples"
        yield beside_jax(name, own, by, given)


def beside_jax(name: str, own: Callable[..., Any], by: Callable[..., Any], given: Any) -> Measured:
    """The call of each with its own arrays; raises where they differ."""
    of_jax = jax.tree.map(jnp.asarray, given)
    ours, theirs = own(*given), by(*of_jax)
    ours = ours.toarray() if hasattr(ours, "toarray") else ours
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-9, 1e-12), ours, theirs)
    return Measured(name, lambda: own(*given), lambda: by(*of_jax), "JAX's")


# -- bundle adjustment --------------------------------------------------------------------------


def rotated(r, x):
    """Each `x` turned about an axis `r`, by its length: Rodrigues' formula."""
    angle = np.sqrt(np.sum(r * r, axis=1))[:, None]
    axis = r / angle
    along = np.sum(axis * x, axis=1)[:, None]
    c, s = np.cos(angle), np.sin(angle)
    return x * c + np.cross(axis, x) * s + axis * along * (1.0 - c)


def residuals(v, camera, point, seen, cameras, points):
    """Where points are seen and where they would be; `v` has cameras, points and weights."""
    places = 11 * cameras + 3 * points
    of, at = v[: 11 * cameras].reshape(cameras, 11), v[11 * cameras : places].reshape(points, 3)
    weight, of = v[places:], of[camera]
    p = rotated(of[:, :3], at[point] - of[:, 3:6])
    p = p[:, :2] / p[:, 2:]
    square = np.sum(p * p, axis=1)[:, None]
    lens = 1.0 + of[:, 9:10] * square + of[:, 10:11] * square * square
    off = weight[:, None] * (p * lens * of[:, 6:7] + of[:, 7:9] - seen)
    return np.concatenate([off.ravel(), 1.0 - weight * weight])


def bundle(cameras: int = 10, points: int = 1_000, sights: int = 3) -> tuple[Any, ...]:
    """What `residuals` takes: every point is seen so many times."""
    count = points * sights
    of = 0.1 * DRAW.normal(size=(cameras, 11)) + np.eye(11)[6] + 0.1 * np.eye(11)[0]
    at = DRAW.normal(size=(points, 3)) + [0.0, 0.0, 5.0]
    v = np.concatenate([of.ravel(), at.ravel(), 0.5 + DRAW.random(count)])
    camera, point = DRAW.integers(0, cameras, count), np.repeat(np.arange(points), sights)
    return v, camera, point, DRAW.normal(size=(count, 2)), cameras, points


def bundles() -> Iterator[Measured]:
    given = bundle()
    forward, jacobian = tg.compile(residuals), tg.jacobian(residuals, sparse=True)
    name = "sparse `jacobian` of bundle adjustment, 10 cameras, 1,000 points, 3,000 sights"

    def own():
        return jacobian(*given)

    yield Measured(name, own, lambda: forward(*given), "the compiled residuals'")
    yield Measured("the same", own, lambda: residuals(*given), "the residuals' in NumPy")
    if importlib.util.find_spec("torch") is not None:
        yield Measured("the same", own, by_rows_of_torch(given), "PyTorch's for 100 of 9,000 rows")


def by_rows_of_torch(given: tuple[Any, ...]) -> Call:
    """One backward for each of the first 100 rows."""
    import torch

    v = torch.tensor(given[0], requires_grad=True)
    _, camera, point, seen = (torch.as_tensor(x) for x in given[:4])
    cameras, points = given[4:]
    places = 11 * cameras + 3 * points

    def rows():
        of, at = v[: 11 * cameras].reshape(cameras, 11), v[11 * cameras : places].reshape(-1, 3)
        weight, of = v[places:], of[camera]
        r, x = of[:, :3], at[point] - of[:, 3:6]
        angle = r.norm(dim=1)[:, None]
        axis = r / angle
        along = (axis * x).sum(1)[:, None]
        p = x * angle.cos() + torch.linalg.cross(axis, x) * angle.sin()
        p = p + axis * along * (1.0 - angle.cos())
        p = p[:, :2] / p[:, 2:]
        square = (p * p).sum(1)[:, None]
        lens = 1.0 + of[:, 9:10] * square + of[:, 10:11] * square * square
        off = weight[:, None] * (p * lens * of[:, 6:7] + of[:, 7:9] - seen)
        out = torch.cat([off.ravel(), 1.0 - weight * weight])
        return [torch.autograd.grad(out[i], v, retain_graph=True) for i in range(100)]

    return rows


def timed(call: Call) -> float:
    """Microseconds of wall time that a call takes."""
    began = time.perf_counter()
    jax.block_until_ready(call())
    return 1e6 * (time.perf_counter() - began)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print("| | us | beside it, us | ratio | of |")
    print("| --- | --: | --: | --: | --- |")
    for of_kind in (chains, logistics, rosenbrocks, mlps, bundles):
        for measured in of_kind():
            least = [np.inf, np.inf]
            for _ in range(ROUNDS):
                for i, call in enumerate((measured.own, measured.by)):
                    call()
                    least[i] = min(least[i], timed(call), timed(call))
            own, by = least
            print(
                f"| {measured.name} | {own:,.0f} | {by:,.0f} | {own / by:.2f} | {measured.of} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
