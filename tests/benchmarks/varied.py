"""Programs whose control flow depends on data: 200 calls of each, with varied inputs.

``python -m tests.benchmarks.varied [name ...]`` prints a table: seconds of all calls of
`value_and_grad`, compiled here and by HIPS autograd where that is installed, how many versions were
made, and how long a later call of the last input takes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import tracegrad as tg

CALLS = 200


def newton(np, a):
    x = 0.5 * (1.0 + a)
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def fixed_point(np, a):
    x = 0.0 * a
    for _ in range(200):
        new = np.cos(x * a)
        if np.max(np.abs(new - x)) < 1e-8:
            break
        x = new
    return np.sum(x)


def adaptive(np, p):
    """Heun's method with an error estimate, which rejects steps."""
    t, y, h = 0.0, p[0], 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        k1 = -p[1] * y + np.sin(5.0 * t)
        k2 = -p[1] * (y + h * k1) + np.sin(5.0 * (t + h))
        error = abs(0.5 * h * (k2 - k1))
        if error < 1e-3:
            t = t + h
            y = y + 0.5 * h * (k1 + k2)
            h = h * 1.5
        else:
            h = h * 0.5
    return y * y


def cart_pole(np, w):
    x, v, angle, speed = 0.0, 0.0, 0.05, 0.0
    reward = 0.0
    for _ in range(100):
        push = w[0] * x + w[1] * v + w[2] * angle + w[3] * speed
        force = 10.0 * np.tanh(push)
        c, s = np.cos(angle), np.sin(angle)
        temp = (force + 0.05 * speed * speed * s) / 1.1
        turn = (9.8 * s - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        x, v = x + 0.02 * v, v + 0.02 * (temp - 0.05 * turn * c / 1.1)
        angle, speed = angle + 0.02 * speed, speed + 0.02 * turn
        if abs(x) > 2.4 or abs(angle) > 0.2:
            break
        reward = reward + 1.0 - angle * angle
    return reward - x * x


def ray_marching(np, ray):
    t = 0.0
    for _ in range(64):
        p = ray[:3] + t * ray[3:]
        sphere = np.sqrt(np.sum(p * p)) - 1.0
        floor = p[1] + 1.5
        distance = sphere if sphere < floor else floor
        if distance < 1e-4:
            return t + 0.1 * p[0]
        t = t + distance
        if t > 20.0:
            return 20.0 + 0.0 * t
    return t


def conjugate_gradients(np, b, matrix):
    x = 0.0 * b
    r = b
    p = r
    rs = r @ r
    for _ in range(50):
        ap = matrix @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if new < 1e-12:
            break
        p = r + (new / rs) * p
        rs = new
    return np.sum(x)


def line_search(np, x):
    def f(x):
        return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1.0 - x) ** 2)

    for _ in range(20):
        g = 2.0 * (x - 1.0)
        step, value = 1.0, f(x)
        while f(x - step * g) > value - 1e-4 * step * (g @ g):
            step = step * 0.5
            if step < 1e-6:
                break
        x = x - step * g
    return f(x)


def metropolis(np, x, noise, levels):
    energy = 0.5 * x * x
    total = 0.0
    for t in range(100):
        new = x + noise[t]
        other = 0.5 * new * new + 0.1 * new**4
        if np.exp(energy - other) > levels[t]:
            x = new
            energy = other
        total = total + x * x
    return total / 100.0


def signs(np, x):
    total = 0.0
    for v in x:
        if v > 0:
            total = total + v * v
        else:
            total = total - np.sin(v)
    return total


def twelve_ifs(np, x):
    s = np.sum(x)
    if x[0] > 0:
        s = s + np.sin(x[0])
    if x[1] > 0:
        s = s * 1.1
    else:
        s = s - x[1]
    if x[2] > 0:
        s = s + x[2] * x[3]
    if x[3] > 0:
        s = s + np.exp(x[3] * 0.1)
    if x[4] > 0:
        s = s - x[4]
    if x[5] > 0:
        s = s + np.cos(x[5])
    else:
        s = s * 0.9
    if x[6] > 0:
        s = s + x[6] ** 2
    if x[7] > 0:
        s = s - x[7] ** 3
    if x[8] > 0:
        s = s + x[8]
    if x[9] > 0:
        s = s * 1.01
    if x[10] > 0:
        s = s + np.tanh(x[10])
    if x[11] > 0:
        s = s + x[11] * x[0]
    return s * s


def ifs_from_zero(np, x):
    s = 0.0
    if x[0] > 0:
        s = s + np.sin(x[0])
    if x[1] > 0:
        s = s + x[1] * x[0]
    if x[2] > 0:
        s = s + np.cos(x[2])
    if x[3] > 0:
        s = s + np.exp(x[3] * 0.1)
    if x[4] > 0:
        s = s - x[4]
    if x[5] > 0:
        s = s + np.cos(x[5])
    if x[6] > 0:
        s = s + x[6] ** 2
    if x[7] > 0:
        s = s * 1.1
    return s * np.sum(x)


def price(np, x):
    rate = 0.01 if x[0] > 0 else 0.02
    side = 1.0 if x[1] > 0 else -1.0
    fee = 0.0
    if x[2] > 0.5:
        fee = 1.5
    elif x[2] > 0:
        fee = 0.5
    years = 2 if x[3] > 0 else 1
    y = side * np.sum(x) * np.exp(-rate * years) - fee
    bonus = 0.0
    if y > 0:
        bonus = 0.1 * y
    return y + bonus * x[5]


def lists(np, rows):
    total = 0.0
    for row in rows:
        total = total + np.sum(row * row)
    return total / len(rows)


def sequences(np, w, x):
    h = 0.0 * w[0]
    for t in range(len(x)):
        h = np.tanh(w @ h + x[t])
    return np.sum(h * h)


def best_seen(np, x):
    best = None
    for v in x:
        if v > 0.5:
            y = np.sin(v) * v
            if best is None or y > best:
                best = y
    return 0.0 * x[0] if best is None else best


def found_late(np, x):
    found = False
    count = 0
    total = 0.0
    for v in x:
        if found:
            total = total + v * v
        elif v > 1.5:
            found = True
        else:
            count += 1
    return total + count * x[0]


def inputs_of(name: str) -> Iterator[tuple[Any, ...]]:
    random = numpy.random.default_rng(0)
    matrix = random.normal(size=(12, 12))
    matrix = matrix @ matrix.T + 0.5 * numpy.eye(12)
    for i in range(CALLS):
        if name == "newton":
            yield (float(random.uniform(0.1, 100.0)),)
        elif name == "fixed_point":
            yield (random.uniform(0.3, 0.95, size=5),)
        elif name == "adaptive":
            yield (random.uniform(0.5, 8.0, size=2),)
        elif name == "cart_pole":
            yield (random.normal(size=4) * numpy.array([0.5, 0.5, 3.0, 1.0]),)
        elif name == "ray_marching":
            way = random.normal(size=3)
            way[2] = -abs(way[2]) - 2.0
            start = numpy.array([0.0, 0.0, 4.0]) + 0.3 * random.normal(size=3)
            yield (numpy.concatenate([start, way / numpy.sqrt(way @ way)]),)
        elif name == "conjugate_gradients":
            yield random.normal(size=12) * 10.0 ** random.uniform(-3, 1), matrix
        elif name == "line_search":
            yield (random.uniform(-1.5, 1.5, size=4),)
        elif name == "metropolis":
            yield float(random.normal()), random.normal(size=100), random.uniform(size=100)
        elif name == "signs":
            yield (random.normal(size=64),)
        elif name in ("twelve_ifs", "ifs_from_zero", "price"):
            yield (random.normal(size=12),)
        elif name == "lists":
            yield ([random.normal(size=3) for _ in range(1 + i % 40)],)
        elif name == "sequences":
            yield random.normal(size=(4, 4)) / 3, random.normal(size=(1 + i % 60, 4))
        else:
            yield (random.normal(size=30),)


PROGRAMS = [
    *(newton, fixed_point, adaptive, cart_pole, ray_marching, conjugate_gradients, line_search),
    *(metropolis, signs, twelve_ifs, ifs_from_zero, price, lists, sequences, best_seen),
    found_late,
]


def timed(
    function: Callable[..., Any], inputs: list[tuple[Any, ...]]
) -> tuple[float, float, list[Any]]:
    """Seconds of all calls, of one more with the last input, and the results."""
    began = time.perf_counter()
    results = [function(*args) for args in inputs]
    whole = time.perf_counter() - began
    last = []
    for _ in range(5):
        began = time.perf_counter()
        function(*inputs[-1])
        last.append(time.perf_counter() - began)
    return whole, min(last), results


def peer_of(program: Callable[..., Any]) -> Callable[..., Any] | None:
    """The same by HIPS autograd; None where it is not installed."""
    try:
        import autograd
        import autograd.numpy as anp
    except ImportError:
        return None
    return autograd.value_and_grad(lambda *args: program(anp, *args))  # type: ignore[no-any-return]


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    tg.value_and_grad(lambda x: x * x)(1.0)
    print("| | here, s | versions | HIPS autograd, s | ratio | later call, us | autograd's, us |")
    print("|---|---|---|---|---|---|---|")
    for program in PROGRAMS:
        name = program.__name__
        if names and name not in names:
            continue
        inputs = [*inputs_of(name)]
        ours = tg.value_and_grad(lambda *args, program=program: program(numpy, *args))
        whole, later, results = timed(ours, inputs)
        cells = [name, f"{whole:.3f}", str(ours.cache_info().traces)]
        peer = peer_of(program)
        if peer is not None:
            other, other_later, others = timed(peer, inputs)
            for one, two in zip(results, others, strict=True):
                numpy.testing.assert_allclose(one[0], two[0], rtol=1e-6)
            cells += [f"{other:.3f}", f"{whole / other:.2f}"]
            cells += [f"{later * 1e6:.0f}", f"{other_later * 1e6:.0f}"]
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
