"""Numerical methods that decide by what they have computed enter the tests here, with inputs.

They are plain Python over NumPy; see `flow_programs.py`, whose list they join.
"""

from __future__ import annotations

import itertools
import math
from collections import namedtuple

import numpy as np
from flow_programs import a, flow


@flow(
    (a(0.3, 0.5), 0.0),
    (a(-0.1, 0.2), 0.0),
    (a(1.1, 0.6), 0.0),
    (a(-2.5, 1.0), 0.0),
    (a(0.4, 0.4), 0.1),
    argnums=(0, 1),
)
def mandelbrot_escape(c, power):
    """A smooth escape time; points inside give their last distance."""
    x = y = 0.0
    for step in range(8):
        x, y = x * x - y * y + c[0], 2.0 * x * y + c[1] + power
        r2 = x * x + y * y
        if r2 > 4.0:
            return step + 1.0 - np.log2(np.log(r2) / math.log(4.0))
    return r2


@flow((a(2.0), 0.0, 2.0), (a(0.5), 0.0, 2.0), (a(3.7), 0.0, 2.0))
def bisection(t, low, high):
    """The cube root, refined by one Newton step so that it depends on t."""
    for _ in range(5):
        middle = 0.5 * (low + high)
        if middle**3 < t[0]:
            low = middle
        else:
            high = middle
    return middle - (middle**3 - t[0]) / (3.0 * middle**2)


@flow((1.5, a(2.0)), (1.5, a(2.25)), (9.0, a(3.0)), (0.4, a(5.0)), argnums=(0, 1))
def newton(x, target):
    while True:
        step = (x * x - target[0]) / (2.0 * x)
        x = x - step
        if abs(step) < 1e-3:
            return x


@flow([1.0, 1.0], [0.1, 0.2], [5.0, -3.0], [-1.2, 1.0])
def line_search(x):
    """One gradient step on Rosenbrock's function with backtracking by Armijo's rule."""

    def f(x):
        return (1.0 - x[0]) ** 2 + 10.0 * (x[1] - x[0] ** 2) ** 2

    inner = x[1] - x[0] ** 2
    slope = np.stack([-2.0 * (1.0 - x[0]) - 40.0 * x[0] * inner, 20.0 * inner])
    t, start, decrease = 1.0, f(x), np.sum(slope * slope)
    while f(x - t * slope) > start - 1e-4 * t * decrease:
        t *= 0.25
    return f(x - t * slope)


SPD = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])


@flow(
    (SPD, a(1.0, 2.0, 3.0)),
    (np.eye(3) * 2.0, a(1.0, 0.0, 0.5)),
    (np.diag([1.0, 1.0, 5.0]), a(1.0, 1.0, 1.0)),
    (SPD, a(0.0, 0.0, 0.0)),
    argnums=(0, 1),
    smooth=False,
)
def conjugate_gradients(A, b):
    x, r = np.zeros_like(b), b
    p, rho = r, r @ r
    for _ in range(len(b)):
        if rho < 1e-20:
            return x @ x
        Ap = A @ p
        alpha = rho / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rho, before = r @ r, rho
        p = r + rho / before * p
    return x @ x + 1e-3 * rho


@flow(
    (0.5, a(0.3, -2.0, 0.1), a(0.5, 0.9, 0.2)),
    (0.5, a(3.0, 2.0, 1.0), a(0.9, 0.9, 0.9)),
    (2.0, a(-1.0, -1.0, -1.0), a(0.1, 0.5, 0.99)),
    argnums=(0, 1),
)
def metropolis(s, proposals, uniforms):
    """Steps of a random walk under a normal density; the random numbers come from outside."""
    energy, path = 0.5 * s * s, 0.0
    for step, u in zip(proposals, uniforms, strict=True):
        candidate = s + step
        new = 0.5 * candidate * candidate
        if u < np.exp(energy - new):
            s, energy = candidate, new
        path = path + s
    return path


@flow(
    [3.0, 1.0, 2.0, 4.0],
    [1.0, 2.0, 3.0, 4.0],
    [4.0, 3.0, 2.0, 1.0],
    [2.0, 2.0, 1.0, 1.0],
    [1.0, 4.0, 2.0, 3.0],
)
def sorting_network(x):
    v = list(x)
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
        if v[j] < v[i]:
            v[i], v[j] = v[j], v[i]
    return sum((k + 1.0) * value**2 for k, value in enumerate(v))


Node = namedtuple("Node", "feature threshold left right")
FOREST = Node(0, 0.0, Node(1, 1.0, -1.0, 2.0), Node(1, -1.0, Node(0, 2.0, 3.0, 4.0), 5.0))


def descend(node, x):
    if isinstance(node, float):
        return node * np.sum(x * x)
    if x[node.feature] < node.threshold:
        return descend(node.left, x)
    return x[node.feature] * descend(node.right, x)


@flow([-1.0, 0.0], [-1.0, 2.0], [1.0, -2.0], [3.0, -2.0], [1.0, 1.0])
def decision_tree(x):
    return descend(FOREST, x)


@flow([1.0], [8.0], [25.0])
def adaptive_simpson(x):
    """The integral of sin(x t) over [0, 1], halved where it is not yet exact: tree recursion."""

    def f(t):
        return np.sin(x[0] * t)

    def simpson(low, high):
        return (high - low) / 6.0 * (f(low) + 4.0 * f(0.5 * (low + high)) + f(high))

    def integral(low, high, whole, depth):
        middle = 0.5 * (low + high)
        left, right = simpson(low, middle), simpson(middle, high)
        if depth == 0 or abs(left + right - whole) < 1e-3:
            return left + right
        return integral(low, middle, left, depth - 1) + integral(middle, high, right, depth - 1)

    return integral(0.0, 1.0, simpson(0.0, 1.0), 3)


@flow([6.0], [1.0], [7.5], [3.2])
def collatz(x):
    y, total = x[0], x[0]
    while y > 1.5:
        if y % 2.0 < 1.0:
            y = y / 2.0
        else:
            y = 0.75 * y - 0.25
        total = total + y
    return total * y


@flow(
    (np.array([[2.0, 0.5], [0.5, 1.0]]),),
    (np.array([[5.0, 0.0], [0.0, 0.1]]),),
    (np.array([[1.0, 0.9], [0.9, 1.0]]),),
)
def power_iteration(A):
    v = np.ones(2) / math.sqrt(2.0)
    value = v @ A @ v
    for _ in range(12):
        w = A @ v
        v = w / np.linalg.norm(w)
        before, value = value, v @ A @ v
        if abs(value - before) < 1e-4 * abs(value):
            break
    return value


@flow([0.0, 0.0, 1.0], [0.1, 0.2, 1.0], [0.6, 0.0, 1.0], [2.0, 0.0, 1.0])
def ray_marching(direction):
    """The distance along a ray to a sphere at (0, 0, 3), or where the ray left the scene."""
    d = direction / np.sqrt(np.sum(direction * direction))
    centre = np.array([0.0, 0.0, 3.0])
    t = 0.0
    for _ in range(12):
        offset = t * d - centre
        distance = np.sqrt(np.sum(offset * offset)) - 1.0
        t = t + distance
        if distance < 1e-2:
            break
        if t > 6.0:
            return 0.1 * t
    else:
        return 0.5 * t
    return t


@flow([0.3, 1.0], [0.8, 2.0], [0.55, 0.7])
def golden_section(p):
    """The minimum of a parabola, bracketed by golden sections and then polished."""

    def f(t):
        return p[1] * (t - p[0]) ** 2 + 0.1 * t**4

    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, 1.0
    c, d = high - ratio * (high - low), low + ratio * (high - low)
    for _ in range(4):
        if f(c) < f(d):
            high, d = d, c
            c = high - ratio * (high - low)
        else:
            low, c = c, d
            d = low + ratio * (high - low)
    t = 0.5 * (low + high)
    return f(t - (2.0 * p[1] * (t - p[0]) + 0.4 * t**3) / (2.0 * p[1] + 1.2 * t * t))


@flow(
    (np.array([[2.0, 1.0], [1.0, 3.0]]), a(1.0, 2.0)),
    (np.array([[0.1, 1.0], [-2.0, 3.0]]), a(1.0, 2.0)),
    (np.array([[1e-14, 1.0], [1e-15, 3.0]]), a(1.0, 2.0)),
    argnums=(0, 1),
)
def elimination(A, b):
    """A 2 x 2 system by elimination with pivoting; a singular one falls back to its residual."""
    first, second = [*A[0], b[0]], [*A[1], b[1]]
    if abs(first[0]) < abs(second[0]):
        first, second = second, first
    if abs(first[0]) < 1e-12:
        return np.sum(b * b)
    factor = second[0] / first[0]
    second = [s - factor * f for s, f in zip(second, first, strict=True)]
    y = second[2] / second[1]
    x = (first[2] - first[1] * y) / first[0]
    return x * x + y * y


@flow([1.0, 0.0], [4.0, 0.0], [9.0, 0.5])
def adaptive_euler(x):
    """y' = -k (y - s) from 1, the step halved until two half steps agree with the whole one."""
    k, s = x

    def step(y, h):
        return y - h * k * (y - s)

    y, t, h = 1.0, 0.0, 0.5
    while t < 1.0:
        whole, halves = step(y, h), step(step(y, 0.5 * h), 0.5 * h)
        if abs(whole - halves) > 0.05:
            h = 0.5 * h
            continue
        y, t = halves, t + h
    return y * y


@flow([1.0, 0.0], [0.2, -1.0], [5.0, 2.0])
def bouncing_ball(state):
    height, speed = state
    bounces = 0
    for _ in range(6):
        height, speed = height + 0.2 * speed, speed - 0.2 * 9.81
        if height < 0:
            height, speed = -height, -0.8 * speed
            bounces += 1
    return height + 0.1 * speed + bounces


@flow([0.5, 0.4, 0.9, 0.1], [2.0, 0.0, 0.3, 0.9], [0.1, 0.1, 0.1, 0.1])
def spiking_neuron(currents):
    potential, output = 0.0, 0.0
    for current in currents:
        potential = 0.9 * potential + current
        if not potential < 1.0:
            output = output + potential**2
            potential = 0.0
    return output + 0.5 * potential


@flow(
    (a(1.0, 2.0, 3.0), a(1.1, 2.9)),
    (a(0.0, 4.0, 0.5), a(0.2, 3.0)),
    (a(3.0, 1.0, 1.5), a(0.0, 1.2)),
    argnums=(0, 1),
)
def time_warping(x, y):
    """The cost of the best alignment, by dynamic programming with Python's min."""
    row = list(itertools.accumulate((x[0] - v) ** 2 for v in y))
    for u in x[1:]:
        new = [row[0] + (u - y[0]) ** 2]
        for j in range(1, len(y)):
            new.append(min(row[j - 1], row[j], new[-1]) + (u - y[j]) ** 2)
        row = new
    return row[-1]
