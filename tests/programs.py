"""Numeric programs that people write enter the tests here: functions, arguments, what to expect.

Every program is written once, over a namespace ``np`` that is NumPy (on arrays and on Tensors) or
``jax.numpy``, and is a factory: ``make(np)`` gives a new function object each time. `PROGRAMS`
lists them all; `tests/test_programs.py` runs each in every mode.
"""

from __future__ import annotations

import itertools
import math
from collections import deque, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

import tracegrad as tg

Make = Callable[[Any], Callable[..., Any]]


class Draw:
    """Random arguments from a seed: ``draw(3, 2)`` is a (3, 2) array of normal numbers."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)

    def __call__(self, *shape: int) -> numpy.ndarray:
        return self.random.normal(size=shape)

    def positive(self, *shape: int) -> numpy.ndarray:
        return self.random.uniform(0.5, 2.0, size=shape)

    def unit(self, *shape: int) -> numpy.ndarray:
        return self.random.uniform(-0.9, 0.9, size=shape)

    def below(self, high: int, *shape: int) -> numpy.ndarray:
        return self.random.integers(high, size=shape)

    def mask(self, *shape: int) -> numpy.ndarray:
        return self.random.random(shape) < 0.5

    def number(self) -> float:
        return float(self.random.normal())


@dataclass(frozen=True, eq=False)
class Program:
    """One entry of the corpus.

    `sizes` are keyword arguments of `draw` that change lengths; `order` is the highest derivative
    that differences can confirm (0 where float32 hides it); `reference` is the text for JAX where
    the program itself uses what JAX has not (in-place writing).
    """

    name: str
    make: Make
    draw: Callable[..., tuple[Any, ...]]
    sizes: tuple[Mapping[str, int], ...]
    argnums: int | tuple[int, ...]
    has_aux: bool
    order: int
    reference: Make
    static_argnames: tuple[str, ...]

    def new(self) -> Callable[..., Any]:
        """The program as a function that nobody has called yet."""
        return self.make(numpy)

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self.new()

    @property
    def args(self) -> tuple[Any, ...]:
        """Fresh arguments, the same on every call."""
        return self.draw(Draw(0))

    @property
    def other_args(self) -> list[tuple[Any, ...]]:
        """Other values, then other lengths."""
        other_values = [self.draw(Draw(seed)) for seed in (1, 2)]
        return other_values + [self.draw(Draw(3 + i), **s) for i, s in enumerate(self.sizes)]

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else self.argnums

    def __repr__(self) -> str:
        return f"<program {self.name}>"


PROGRAMS: list[Program] = []


def program(
    draw: Callable[..., tuple[Any, ...]],
    *sizes: Mapping[str, int],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    order: int = 2,
    reference: Make | None = None,
    static_argnames: tuple[str, ...] = (),
) -> Callable[[Make], Make]:
    """Enters the decorated factory in `PROGRAMS`."""

    def enter(make: Make) -> Make:
        made = Program(
            make.__name__,
            make,
            draw,
            sizes,
            argnums,
            has_aux,
            order,
            reference or make,
            static_argnames,
        )
        PROGRAMS.append(made)
        return make

    return enter


# -- models -------------------------------------------------------------------------------------


@program(
    lambda draw, n=5, k=3, m=2: (draw(k, m), draw(m), draw(n, k), draw(n, m)),
    dict(n=8),
    dict(n=1, k=2),
    dict(n=3, m=1),
    argnums=(0, 1),
    order=3,
)
def linear_regression(np):
    def loss(w, b, x, y):
        prediction = x @ w + b
        error = prediction - y
        return np.mean(error**2)

    return loss


@program(
    lambda draw, n=6, k=3: (draw(k), draw(), draw(n, k), 2.0 * draw.mask(n) - 1.0),
    dict(n=1),
    dict(n=9, k=1),
    argnums=(0, 1),
    order=3,
)
def logistic_regression(np):
    def loss(w, b, x, y):
        margin = y * (x @ w + b)
        return np.mean(np.log1p(np.exp(-margin))) + 0.01 * np.sum(w * w)

    return loss


@program(
    lambda draw, n=5, k=4, c=3: (draw(k, c), draw(c), draw(n, k), draw.below(c, n)),
    dict(n=2),
    dict(n=7, k=2, c=5),
    argnums=(0, 1),
    order=3,
)
def softmax_regression(np):
    def loss(w, b, x, labels):
        logits = x @ w + b
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        log_normaliser = np.log(np.sum(np.exp(shifted), axis=1))
        chosen = shifted[np.arange(x.shape[0]), labels]
        return np.mean(log_normaliser - chosen)

    return loss


@program(
    lambda draw, n=5: (
        [(draw(3, 4), draw(4)), (draw(4, 4), draw(4)), (draw(4, 1), draw(1))],
        draw(n, 3),
        draw(n, 1),
    ),
    dict(n=1),
    dict(n=11),
)
def mlp(np):
    def loss(layers, x, y):
        h = x
        for w, b in layers[:-1]:
            h = np.tanh(h @ w + b)
        w, b = layers[-1]
        return np.mean((h @ w + b - y) ** 2)

    return loss


@program(
    lambda draw, n=6: (draw(4, 8), draw(8), draw(8, 2), draw(n, 4), draw(n, 2)),
    dict(n=2),
    argnums=(0, 1, 2),
)
def relu_network(np):
    def loss(w1, b1, w2, x, y):
        hidden = np.maximum(x @ w1 + b1, 0.0)
        out = hidden @ w2
        return np.sum((out - y) ** 2) / x.shape[0]

    return loss


@program(
    lambda draw, t=4, k=3, h=5: (
        {"w": draw(h, h), "u": draw(k, h), "b": draw(h), "v": draw(h)},
        draw(t, k),
        draw(t),
    ),
    dict(t=1),
    dict(t=6, k=1, h=2),
)
def rnn(np):
    def loss(parameters, xs, ys):
        state = 0.0 * parameters["b"]
        total = 0.0
        for t in range(len(xs)):
            state = np.tanh(state @ parameters["w"] + xs[t] @ parameters["u"] + parameters["b"])
            total = total + (state @ parameters["v"] - ys[t]) ** 2
        return total / len(xs)

    return loss


@program(
    lambda draw, n=5, d=4: (draw(d, d), draw(d, d), draw(d, d), draw(n, d)),
    dict(n=1),
    dict(n=3, d=2),
    argnums=(0, 1, 2, 3),
)
def attention(np):
    def loss(wq, wk, wv, x):
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = q @ k.T / np.sqrt(float(q.shape[1]))
        scores = scores - np.max(scores, axis=-1, keepdims=True)
        weights = np.exp(scores)
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        return np.sum((weights @ v) ** 2)

    return loss


@program(
    lambda draw, b=2, h=2, n=3, d=4: (draw(b, h, n, d), draw(b, h, n, d), draw(b, h, n, d)),
    dict(b=1),
    dict(n=5, h=1),
    argnums=(0, 1, 2),
)
def multi_head_attention(np):
    def loss(q, k, v):
        scores = np.einsum("bhid,bhjd->bhij", q, k) * 0.5
        weights = np.exp(scores - np.max(scores, axis=3, keepdims=True))
        weights = weights / np.sum(weights, axis=3, keepdims=True)
        mixed = np.einsum("bhij,bhjd->bhid", weights, v)
        merged = np.reshape(np.swapaxes(mixed, 1, 2), (q.shape[0], q.shape[2], -1))
        return np.mean(np.tanh(merged))

    return loss


@program(
    lambda draw, n=3, k=6: (draw(n, k), draw(k), draw(k)),
    dict(n=1),
    dict(n=5, k=2),
    argnums=(0, 1, 2),
)
def layer_norm(np):
    def loss(x, gain, bias):
        mean = np.mean(x, axis=-1, keepdims=True)
        variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
        normal = (x - mean) / np.sqrt(variance + 1e-5)
        return np.sum(np.sin(gain * normal + bias))

    return loss


@program(
    lambda draw, n=6, k=3: (draw(n, k), draw.positive(k), draw(k), draw(n, k)),
    dict(n=2),
    dict(n=4, k=1),
    argnums=(0, 1, 2),
)
def batch_norm(np):
    def loss(x, gain, bias, target):
        mean = np.mean(x, axis=0)
        std = np.sqrt(np.var(x, axis=0) + 1e-5)
        out = gain * (x - mean) / std + bias
        return np.mean((out - target) ** 2)

    return loss


@program(
    lambda draw, n=7, k=3: (draw(k), draw(n)),
    dict(n=5),
    dict(n=9, k=2),
    argnums=(0, 1),
)
def convolution_by_slices(np):
    def loss(kernel, signal):
        width = signal.shape[0] - kernel.shape[0] + 1
        out = sum(kernel[i] * signal[i : i + width] for i in range(kernel.shape[0]))
        return np.sum(np.tanh(out) ** 2)

    return loss


@program(
    lambda draw, h=5, w=6: (draw(3, 3), draw(2, h, w)),
    dict(h=4, w=4),
    argnums=(0, 1),
)
def convolution_2d(np):
    def loss(kernel, images):
        rows, columns = images.shape[1] - 2, images.shape[2] - 2
        out = 0.0
        for i in range(3):
            for j in range(3):
                out = out + kernel[i, j] * images[:, i : i + rows, j : j + columns]
        return np.mean(np.maximum(out, 0.1 * out))

    return loss


@program(
    lambda draw, v=6, n=4, d=3: (draw(v, d), draw(d, v), draw.below(v, n), draw.below(v, n)),
    dict(n=7),
    dict(v=3, n=2, d=2),
    argnums=(0, 1),
)
def embedding_lookup(np):
    def loss(table, decoder, tokens, targets):
        logits = table[tokens] @ decoder
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        log_p = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
        return -np.mean(log_p[np.arange(len(targets)), targets])

    return loss


# -- science and finance ------------------------------------------------------------------------


@program(lambda draw, n=5: (draw(n),), dict(n=2), dict(n=10), order=3)
def rosenbrock(np):
    def loss(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return loss


@program(
    lambda draw, n=4: (
        100.0 * draw.positive(n),
        100.0 * draw.positive(n),
        0.02,
        0.3,
        draw.positive(n),
    ),
    dict(n=1),
    argnums=(0, 2, 3),
)
def black_scholes(np):
    def normal_cdf(z):
        return 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z**3)))

    def price(spot, strike, rate, volatility, time):
        spread = volatility * np.sqrt(time)
        d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        d2 = d1 - spread
        discounted = strike * np.exp(-rate * time)
        return np.sum(spot * normal_cdf(d1) - discounted * normal_cdf(d2))

    return price


@program(
    lambda draw, n=4: (draw(n, 3), draw(n, 3), draw.positive(n)),
    dict(n=2),
    dict(n=6),
    argnums=(0, 1),
)
def n_body_energy(np):
    def energy(position, velocity, mass):
        kinetic = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
        potential = 0.0
        for i in range(len(mass)):
            for j in range(i):
                distance = np.sqrt(np.sum((position[i] - position[j]) ** 2) + 1e-2)
                potential = potential - mass[i] * mass[j] / distance
        return kinetic + potential

    return energy


@program(
    lambda draw, n=6, k=3, d=2: (draw(k), draw(k, d), draw(k, d), draw(n, d)),
    dict(n=1),
    dict(n=4, k=2, d=3),
    argnums=(0, 1, 2),
)
def gaussian_mixture(np):
    def log_sum_exp(x, axis):
        top = np.max(x, axis=axis, keepdims=True)
        return np.squeeze(top + np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)), axis)

    def negative_log_likelihood(logits, means, log_scales, x):
        log_weights = logits - log_sum_exp(logits, 0)
        z = (x[:, None, :] - means) / np.exp(log_scales)
        log_density = -0.5 * np.sum(z**2, axis=2) - np.sum(log_scales, axis=1)
        return -np.mean(log_sum_exp(log_weights + log_density, 1))

    return negative_log_likelihood


@program(
    lambda draw, k=3: (draw(k), draw(k, k), draw(k, k), draw(k), draw(), 0.5),
    dict(k=2),
    argnums=(0, 1, 2),
)
def kalman_step(np):
    def step(mean, root, dynamics, sensor, reading, noise):
        covariance = root @ root.T
        mean = dynamics @ mean
        covariance = dynamics @ covariance @ dynamics.T + 0.1 * np.eye(len(mean))
        innovation = reading - sensor @ mean
        variance = sensor @ covariance @ sensor + noise**2
        gain = covariance @ sensor / variance
        mean = mean + gain * innovation
        covariance = covariance - np.outer(gain, sensor) @ covariance
        return np.sum(mean**2) + np.trace(covariance) + np.log(variance)

    return step


@program(lambda draw, n=5: (draw(n), draw.number()), dict(n=1), argnums=(0, 1), order=3)
def polynomial_by_horner(np):
    def value(coefficients, x):
        total = 0.0
        for c in coefficients[::-1]:
            total = total * x + c
        return np.sin(total)

    return value


@program(lambda draw, n=7: (draw(n), draw(n)), dict(n=1), dict(n=0), argnums=(0, 1))
def huber(np):
    def loss(prediction, target, delta=1.0):
        error = np.abs(prediction - target)
        quadratic = 0.5 * error**2
        linear = delta * (error - 0.5 * delta)
        return np.sum(np.where(error < delta, quadratic, linear))

    return loss


@program(lambda draw, n=6: (draw(n, 3), 4.0 * draw.positive(n)), dict(n=2))
def spring_network(np):
    def energy(x, lengths):
        edges = np.roll(x, -1, axis=0) - x
        stretch = np.sqrt(np.sum(edges * edges, axis=1) + 1e-3) - lengths
        return 0.5 * np.sum(stretch**2)

    return energy


@program(lambda draw, n=8: (draw(n), 0.1), dict(n=3), dict(n=12), argnums=(0, 1))
def heat_equation(np):
    def misfit(u, rate):
        for _ in range(5):
            u = u + rate * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
        return np.sum(u**4)

    return misfit


@program(lambda draw: (draw(2), 0.05), argnums=(0, 1))
def runge_kutta(np):
    def slope(state):
        position, velocity = state[0], state[1]
        return np.stack([velocity, -np.sin(position) - 0.1 * velocity])

    def final_energy(state, dt):
        for _ in range(3):
            k1 = slope(state)
            k2 = slope(state + 0.5 * dt * k1)
            k3 = slope(state + 0.5 * dt * k2)
            k4 = slope(state + dt * k3)
            state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return 0.5 * state[1] ** 2 - np.cos(state[0])

    return final_energy


@program(lambda draw, n=4: (draw(n, n), draw(n)), dict(n=2), argnums=(0, 1))
def power_iteration(np):
    def rayleigh(a, v):
        symmetric = a + a.T
        for _ in range(4):
            v = symmetric @ v
            v = v / np.sqrt(v @ v)
        return v @ symmetric @ v

    return rayleigh


# -- where, masks, branches ---------------------------------------------------------------------


def _where_untaken_sqrt_in_jax(np):
    def loss(x):
        below = np.where(x >= 0.0, -1.0, x)
        return np.sum(np.where(x >= 0.0, x, np.sqrt(-below) * np.exp(-below)))

    return loss


@program(lambda draw, n=6: (draw(n),), dict(n=1), dict(n=0), reference=_where_untaken_sqrt_in_jax)
def where_untaken_sqrt(np):
    def loss(x):
        return np.sum(np.where(x >= 0.0, x, np.sqrt(-x) * np.exp(-x)))

    return loss


def _where_untaken_log_in_jax(np):
    def loss(x, scale):
        above = np.where(x > 0.1, x, 1.0)
        safe = np.where(x > 0.1, np.log(above) / above, scale * x)
        return np.sum(safe**2)

    return loss


@program(
    lambda draw, n=6: (numpy.append(draw(n), 0.0), draw.number()),
    dict(n=2),
    reference=_where_untaken_log_in_jax,
)
def where_untaken_log(np):
    def loss(x, scale):
        safe = np.where(x > 0.1, np.log(x) / x, scale * x)
        return np.sum(safe**2)

    return loss


@program(lambda draw, n=5: (draw(n), draw.number()), dict(n=3), argnums=(0, 1))
def accepted_steps(np):
    """Steps are taken where they are small: what goes back to y is the same either way."""

    def loss(y, w):
        for _ in range(3):
            after = y + 0.1 * w * np.tanh(y)
            y = np.where(np.abs(after) < 0.8, after, y)
        return np.sum(y * y)

    return loss


def _where_of_where_in_jax(np):
    def loss(x, b):
        high = np.log(np.where(x > 0.5, x, 1.0))
        low = np.sqrt(-np.where(x > -0.5, -1.0, x)) + b
        y = np.where(x > 0.5, high, np.where(x > -0.5, x * b, low))
        return np.mean(y * y)

    return loss


@program(
    lambda draw, n=5: (draw(n, 3), draw(3)),
    dict(n=1),
    argnums=(0, 1),
    reference=_where_of_where_in_jax,
)
def where_of_where(np):
    def loss(x, b):
        y = np.where(x > 0.5, np.log(x), np.where(x > -0.5, x * b, np.sqrt(-x) + b))
        return np.mean(y * y)

    return loss


@program(lambda draw, n=6: (draw(n), draw.mask(n)), dict(n=3))
def boolean_mask_given(np):
    def loss(x, mask):
        return np.sum(np.exp(x[mask])) + np.sum(x[~mask] ** 2)

    return loss


@program(lambda draw, n=6: (draw(n),), dict(n=9))
def boolean_mask_of_values(np):
    def loss(x):
        positive = x[x > 0.0]
        return np.sum(positive**3) - np.sum(x)

    return loss


@program(lambda draw, n=4: (draw(n),), dict(n=2))
def branch_on_value(np):
    def loss(x):
        if x[0] > 0:
            y = np.exp(x)
        else:
            y = x**2
        return np.sum(y * x)

    return loss


@program(lambda draw: (draw(3),))
def while_on_value(np):
    def steps(x):
        y = x
        while np.sum(y * y) < 100.0:
            y = y * 2.0 + x
        return np.sum(y)

    return steps


@program(lambda draw, n=4: (draw(n), 0.5), dict(n=1), order=2, argnums=(0, 1))
def early_return(np):
    def loss(x, threshold):
        total = np.sum(x)
        if total > 1.0:
            return total * threshold
        total = total + np.sum(x**2)
        if total > 1.0:
            return np.sqrt(total) * threshold
        return np.exp(total) * threshold

    return loss


@program(lambda draw, n=5: (draw(n),), dict(n=3))
def early_break(np):
    def loss(x):
        total = 0.0 * x[0]
        for item in x:
            if item < -0.5:
                break
            total = total + item**2
        return np.cos(total)

    return loss


@program(lambda draw: (draw(), draw()), argnums=(0, 1))
def larger_of_two(np):
    def larger(a, b):
        return max(a, b) * min(a * a, b * b)

    return larger


@program(lambda draw, n=5: (draw(n),), dict(n=3))
def index_of_largest(np):
    def loss(x):
        i = np.argmax(x)
        return x[i] ** 2 + np.sum(x) * x[0]

    return loss


@program(lambda draw: (draw.positive(), 6))
def recursion(np):
    def power(x, n):
        if n == 0:
            return 1.0
        half = power(x, n // 2)
        return half * half * x if n % 2 else half * half

    def loss(x, n):
        return np.log(power(x, n) + 1.0)

    return loss


# -- broadcasting and shapes --------------------------------------------------------------------


@program(
    lambda draw, n=3, m=4: (draw(n, 1), draw(1, m), draw(m), draw()),
    dict(n=1),
    dict(n=5, m=1),
    dict(n=0),
    argnums=(0, 1, 2, 3),
    order=3,
)
def broadcasting_rows_and_columns(np):
    def loss(column, row, vector, scalar):
        table = column * row + vector / (2.0 + scalar**2)
        return np.sum(np.sin(table)) + np.sum(scalar - column)

    return loss


@program(
    lambda draw, b=2, n=3: (draw(n), draw(b, 1, n), draw(4, 1)),
    dict(b=1),
    dict(n=2, b=5),
    argnums=(0, 1, 2),
    order=3,
)
def broadcasting_ranks(np):
    def loss(a, b, c):
        return np.sum(np.tanh(a + b * c) * c - a)

    return loss


@program(lambda draw, n=3: (draw(n, n),), dict(n=1), dict(n=5), order=3)
def broadcasting_against_itself(np):
    def loss(x):
        return np.sum((x - np.mean(x, axis=0)) * x[:, :1] / (1.0 + np.sum(x**2, axis=1)[:, None]))

    return loss


@program(lambda draw: (draw(1, 3, 1), draw(1), draw(1, 1)), argnums=(0, 1, 2), order=3)
def axes_of_length_one(np):
    def loss(a, b, c):
        return np.sum(np.squeeze(a * b, axis=0) @ c) + np.mean(np.exp(b) * c)

    return loss


@program(lambda draw, n=0: (draw(n, 3), draw(3)), dict(n=2), argnums=(0, 1))
def empty_batch(np):
    def loss(x, w):
        h = np.tanh(x * w)
        return np.sum(h) + np.sum(w**2) + np.sum(h @ w)

    return loss


@program(lambda draw, n=0: (draw(n),), dict(n=3), order=0)
def mean_of_empty(np):
    def loss(x):
        return np.mean(x * x)

    return loss


@program(lambda draw: (draw(), draw(), draw()), argnums=(0, 1, 2), order=3)
def zero_dimensional_arrays(np):
    def loss(a, b, c):
        return a * np.sin(b) + np.exp(c * a) / (1.0 + b**2)

    return loss


@program(lambda draw: (0.7, 1.3, -0.4), argnums=(0, 1, 2), order=3)
def python_floats(np):
    def loss(a, b, c):
        return a**2 * b - np.sin(c) / b + a * 3

    return loss


@program(lambda draw: (numpy.float64(0.7), numpy.float64(-0.4)), argnums=(0, 1), order=3)
def numpy_scalars(np):
    def loss(a, b):
        return np.hypot(a, b) * np.exp(a - b)

    return loss


@program(lambda draw, n=4, m=3: (draw(n, m),), dict(n=2), dict(m=5))
def slices_of_every_kind(np):
    def loss(x):
        return (
            np.sum(x[1:] * x[:-1])
            + np.sum(x[::-1] * x)
            + np.sum(x[..., 0] ** 3)
            + np.sum(x[::2, -1])
            + np.sum(x[:, None, :] * x[None])
            + x[0, 1] * x[-1, -1]
            + np.sum(np.sin(x[0]) * x[:, 1:2])
        )

    return loss


@program(lambda draw, n=3, m=4: (draw(n, m),), dict(m=6), dict(n=2, m=2))
def rows_and_elements_in_a_loop(np):
    def loss(x):
        total = np.sum(x) * x[0, 1]
        for row in x:
            total = (
                total
                + np.sum((row[1:] - row[:-1]) ** 2) * row[0]
                + np.sum(row[np.array([0, 0, 1])])
            )
        return total

    return loss


@program(lambda draw, n=4: (draw(n, 3), draw.below(4, 5), draw.below(3, 5)))
def integer_indexing(np):
    def loss(x, rows, columns):
        return np.sum(x[rows] ** 2) + np.sum(x[rows, columns] * x[0, 0]) + np.sum(x[:, columns])

    return loss


@program(lambda draw, n=6: (draw(n), draw.below(6, 8)), dict(n=7))
def repeated_indices(np):
    def loss(x, i):
        twice = x[i] * x[i[::-1]]
        return np.sum(twice) + np.sum(x[np.array([0, 0, 1, 0])] ** 3)

    return loss


@program(lambda draw, n=3: (draw(n, 4), draw.below(4, n)), dict(n=5))
def take_along(np):
    def loss(x, columns):
        picked = np.take_along_axis(x, columns[:, None], axis=1)
        return np.sum(np.exp(picked)) + np.sum(np.take(x, columns, axis=1) ** 2)

    return loss


@program(lambda draw, n=3: (draw(n, 4),), dict(n=1), dict(n=6), order=3)
def reshapes(np):
    def loss(x):
        flat = np.reshape(x, (-1,))
        pairs = flat.reshape(-1, 2)
        cube = np.transpose(np.reshape(x, (-1, 2, 2)), (2, 0, 1))
        moved = np.moveaxis(cube, 0, -1)
        return np.sum(pairs[:, 0] * pairs[:, 1]) + np.sum(moved**3) + np.sum(np.ravel(x.T) ** 2)

    return loss


@program(lambda draw, n=3: (draw(n), draw(n)), dict(n=1), dict(n=5), argnums=(0, 1))
def joining(np):
    def loss(a, b):
        joined = np.concatenate([a, b * b, a])
        stacked = np.stack([a, b, a * b], axis=1)
        tall = np.vstack([a, b])
        return (
            np.sum(np.sin(joined))
            + np.sum(stacked**2)
            + np.sum(np.hstack([a, b]) ** 3)
            + (np.sum(tall[0] * tall[1]))
        )

    return loss


@program(lambda draw, n=6: (draw(n, 2),), dict(n=9))
def splitting(np):
    def loss(x):
        first, second, third = np.split(x, 3)
        left, right = np.split(x, [1], axis=1)
        return np.sum(first * second * third) + np.sum(left * right)

    return loss


@program(lambda draw, n=3: (draw(n, 2),), dict(n=1), dict(n=4))
def repeating_and_flipping(np):
    def loss(x):
        tiled = np.tile(x, (2, 3))
        repeated = np.repeat(x, 2, axis=0)
        flipped = np.flip(x, axis=1)
        padded = np.pad(x, ((1, 2), (0, 1)))
        return (
            np.sum(tiled**2)
            + np.sum(np.sin(repeated))
            + np.sum(flipped * x)
            + np.sum(np.roll(x, 1, axis=0) * x)
            + np.sum((padded + 1.0) ** 3)
            + np.sum(np.broadcast_to(x[0], (4, 2)) ** 3)
        )

    return loss


@program(lambda draw, n=3: (draw(n, n), draw(n)), dict(n=1), dict(n=4), argnums=(0, 1))
def matrix_functions(np):
    def loss(a, v):
        return (
            np.trace(a @ a)
            + np.sum(np.tril(a) * np.triu(a.T) ** 2)
            + np.sum(np.diagonal(a) * v)
            + np.sum(np.outer(v, v) * a)
            + np.tensordot(a, a, axes=2)
            + np.dot(v, a @ v)
        )

    return loss


@program(
    lambda draw, b=2, n=3, k=2: (draw(b, n, k), draw(k, n), draw(b, k)),
    dict(b=1),
    dict(n=1, k=4),
    argnums=(0, 1, 2),
)
def batched_products(np):
    def loss(a, b, c):
        whole = a @ b
        rows = np.matmul(a, c[:, :, None])
        return np.sum(whole**2) + np.sum(np.sin(rows)) + np.sum(np.einsum("bnk,kn->b", a, b) ** 2)

    return loss


@program(
    lambda draw, n=3, m=2: (draw(n, m), draw(m, n), draw(n)),
    dict(n=2, m=4),
    argnums=(0, 1, 2),
)
def einsum_of_every_kind(np):
    def loss(a, b, v):
        return (
            np.einsum("ij,ji->", a, b)
            + np.sum(np.einsum("ij,jk->ik", a, b) ** 2)
            + np.einsum("i,ij,ji->", v, a, b)
            + np.sum(np.einsum("i,j->ij", v, v) ** 3)
            + np.sum(np.einsum("ij->j", a) ** 2)
            + np.einsum("ii->", a @ b)
        )

    return loss


# -- reductions ---------------------------------------------------------------------------------


@program(lambda draw, n=4, m=3: (draw(n, m),), dict(n=1), dict(m=5))
def reductions_along_axes(np):
    def loss(x):
        return (
            np.sum(np.sum(x, axis=0) ** 2)
            + np.sum(np.mean(x, axis=1) ** 3)
            + np.sum(np.sum(x**2, axis=(0, 1), keepdims=True) * x)
            + np.sum(x.sum(axis=-1, keepdims=True) * x.mean(0))
        )

    return loss


@program(lambda draw, n=4, m=3: (draw(n, m),), dict(n=2), dict(m=1))
def extremes(np):
    def loss(x):
        spread = np.max(x, axis=0) - np.min(x, axis=0)
        return np.sum(spread**2) + np.max(x) * np.min(x) + np.sum(x * np.max(x, axis=1)[:, None])

    return loss


@program(lambda draw, n=5: (draw(n, 2),), dict(n=3))
def spreads(np):
    def loss(x):
        scaled = (x - np.mean(x, axis=0)) / np.std(x, axis=0)
        return np.sum(scaled**3) + np.var(x) + np.linalg.norm(x)

    return loss


@program(lambda draw, n=4: (draw.positive(n), draw(n, 3)), dict(n=1), argnums=(0, 1))
def products(np):
    def loss(x, y):
        return np.prod(x) + np.sum(np.prod(y, axis=1) ** 2) + np.prod(1.0 + y**2)

    return loss


@program(lambda draw, n=5: (draw(n), draw(3, n)), dict(n=1), dict(n=8), argnums=(0, 1))
def running_sums(np):
    def loss(x, y):
        walk = np.cumsum(x)
        return np.sum(np.sin(walk) * x) + np.sum(np.cumsum(y, axis=1) ** 2 * np.cumsum(y, axis=0))

    return loss


# -- order and samples --------------------------------------------------------------------------


@program(lambda draw, n=7: (draw(n), draw.positive(n)), dict(n=1), dict(n=4), argnums=(0, 1))
def earth_movers_distance(np):
    def distance(x, y):
        return np.mean(np.abs(np.sort(x) - np.sort(y)) ** 1.5)

    return distance


@program(lambda draw, n=6, m=3: (draw(n, m),), dict(n=1), dict(n=5, m=2))
def robust_scale(np):
    def loss(x):
        centred = x - np.median(x, axis=0)
        spread = np.quantile(np.abs(centred), 0.7, axis=0)
        return np.sum(np.log(1.0 + centred**2 / (0.1 + spread**2)))

    return loss


@program(
    lambda draw, n=9: (draw(5), 2.0 * draw.unit(n), draw(n)),
    dict(n=1),
    dict(n=4),
    argnums=(0, 1),
    order=1,
)
def fit_of_a_table(np):
    def loss(table, x, y):
        error = np.interp(x, np.array([-2.0, -0.7, 0.1, 0.9, 2.0]), table) - y
        return np.sum(error**2) + 0.1 * np.sum(np.diff(table, 2) ** 2)

    return loss


@program(lambda draw, n=8: (draw(n), draw.positive(n)), dict(n=3), argnums=(0, 1))
def arc_length(np):
    def length(y, steps):
        x = np.cumsum(steps)
        return np.trapezoid(np.sqrt(1.0 + np.gradient(y, x) ** 2), x)

    return length


@program(lambda draw, n=8: (0.1 * draw(n),), dict(n=1), dict(n=5))
def drawdown(np):
    def worst(returns):
        value = np.cumprod(1.0 + returns)
        peak = np.maximum.accumulate(value)
        return np.sum((1.0 - value / peak) ** 2)

    return worst


@program(lambda draw, n=9, m=3: (draw(n), draw(m)), dict(n=4), argnums=(0, 1))
def smoothed(np):
    def energy(signal, kernel):
        return np.sum(np.tanh(np.convolve(signal, kernel)) ** 2)

    return energy


@program(lambda draw, n=3, d=4: (draw(n, d), draw(d, d), draw(d, d), draw(n, d)), dict(n=1))
def bilinear_chain(np):
    def score(x, a, b, y):
        return np.sum(np.tanh(np.einsum("...i,ij,jk,...k->...", x, a, b, y)))

    return score


@program(lambda draw, n=5, m=3: (draw(m, n),), dict(n=4), dict(n=2, m=2))
def decorrelated(np):
    def loss(x):
        c = np.cov(x)
        return np.sum(c**2) - np.sum(np.diagonal(c) ** 2)

    return loss


# -- elementwise --------------------------------------------------------------------------------


@program(lambda draw, n=6: (draw(n), draw.positive(n)), dict(n=1), argnums=(0, 1), order=3)
def elementwise_chain(np):
    def loss(x, y):
        a = np.sin(x) * np.cos(y)
        b = np.exp(-(a**2)) + np.log(y)
        c = np.tanh(b) / (1.0 + np.abs(x))
        return np.sum(np.sqrt(y) * c - np.arctan(a * b))

    return loss


@program(lambda draw, n=4: (draw.unit(n), draw.positive(n)), dict(n=2), argnums=(0, 1))
def function_zoo(np):
    def loss(u, p):
        return np.sum(
            np.arcsin(u)
            + np.arccos(u) * u
            + np.arctanh(u)
            + np.arcsinh(u) * np.sinh(u)
            + np.cosh(u)
            + np.tan(u)
            + np.arccosh(p + 1.0)
            + np.log2(p) * np.log10(p)
            + np.expm1(u) * np.log1p(p)
            + np.cbrt(p)
            + np.exp2(u)
            + np.arctan2(u, p)
            + np.logaddexp(u, p)
            + np.square(u) / np.hypot(u, p)
        )

    return loss


@program(lambda draw, n=4: (draw.positive(n), draw(n)), dict(n=1), argnums=(0, 1))
def powers(np):
    def loss(x, y):
        return np.sum(
            x**2 + x**3 - x**0.5 + x**-1 + x**-1.5 + 2.0**y + x**y + np.power(x, 1) + y**2 + x**0
        )

    return loss


@program(lambda draw, n=8: (2.0 * draw(n), draw(n)), dict(n=1), argnums=(0, 1))
def clipping(np):
    def loss(x, y):
        clipped = np.clip(x, -1.0, 1.0)
        return np.sum(clipped * y + np.maximum(x, y) ** 2 - np.minimum(x, 0.3) + np.sign(x) * x)

    return loss


@program(lambda draw, n=5: (draw(n), draw.positive(n)), dict(n=2), argnums=(0, 1))
def rounding(np):
    def loss(x, y):
        return np.sum(x % y + x * np.floor(3.0 * x) - np.ceil(x) * y + (x // y) * y)

    return loss


@program(lambda draw, n=5: (draw(n), draw.number()), dict(n=1), argnums=(0, 1))
def complex_phase(np):
    def loss(x, shift):
        wave = np.exp(1j * (x + shift))
        total = np.sum(wave * x)
        return np.abs(total) + np.sum(np.real(wave) * np.imag(wave))

    return loss


# -- linear algebra and spectra -----------------------------------------------------------------


@program(
    lambda draw, n=5: (
        0.3 * draw.number(),
        0.3 * draw.number(),
        numpy.sort(3.0 * draw(n)),
        draw(n),
    ),
    dict(n=1),
    dict(n=7),
    argnums=(0, 1),
)
def gaussian_process(np):
    def loss(log_length, log_noise, x, y):
        gap = (x[:, None] - x) / np.exp(log_length)
        k = np.exp(-0.5 * gap**2) + np.exp(log_noise) * np.eye(len(x))
        factor = np.linalg.cholesky(k)
        alpha = np.linalg.solve(factor, y)
        return 0.5 * alpha @ alpha + np.sum(np.log(np.diagonal(factor)))

    return loss


@program(lambda draw, n=4: (draw(3), draw(3, 3), draw(n, 3)), dict(n=1), argnums=(0, 1))
def gaussian_density(np):
    def loss(mean, root, x):
        covariance = root @ root.T + 0.5 * np.eye(3)
        d = x - mean
        distance = np.sum(d * np.linalg.solve(covariance, d.T).T, axis=1)
        sign, log_volume = np.linalg.slogdet(covariance)
        return np.mean(0.5 * distance) + 0.5 * sign * log_volume

    return loss


@program(lambda draw, n=4: (draw(n, n), draw(n)), dict(n=2), dict(n=3), argnums=(0, 1))
def function_of_a_matrix(np):
    def loss(x, v):
        w, q = np.linalg.eigh(x @ x.T + np.diag(np.arange(1.0, len(v) + 1)))
        return v @ ((q * np.sqrt(w)) @ q.T @ v) + np.linalg.det(x) * np.trace(
            np.linalg.inv(x @ x.T)
        )

    return loss


@program(lambda draw, n=5: (draw(n, 3), draw(n)), dict(n=3), argnums=(0, 1))
def main_directions(np):
    def loss(x, y):
        u, s, vh = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
        plane = u[:, :2] @ (u[:, :2].T @ y)
        return np.sum(plane**2) + np.sum(np.log(s[:2])) + np.sum(np.abs(vh[0]))

    return loss


@program(lambda draw, n=8: (draw(n), draw.positive(5)), dict(n=8), argnums=(0, 1))
def spectral_filter(np):
    def loss(signal, gain):
        spectrum = np.fft.rfft(signal) * gain
        smooth = np.fft.irfft(spectrum)
        return np.sum((smooth - signal) ** 2) + np.sum(np.abs(np.fft.fft2(np.outer(smooth, gain))))

    return loss


# -- filling arrays -----------------------------------------------------------------------------


def _fill_recurrence_in_jax(np):
    def loss(x, a):
        y = [x[0]]
        for i in range(1, 4):
            y.append(np.sin(y[-1]) * a + x[i])
        return np.sum(np.stack(y) ** 2)

    return loss


@program(
    lambda draw: (draw(4), draw.number()),
    argnums=(0, 1),
    reference=_fill_recurrence_in_jax,
)
def fill_by_recurrence(np):
    def loss(x, a):
        y = tg.zeros(4)
        y[0] = x[0]
        for i in range(1, 4):
            y[i] = np.sin(y[i - 1]) * a + x[i]
        return np.sum(y**2)

    return loss


def _fill_slices_in_jax(np):
    def loss(x):
        first = np.stack([x * 2.0, np.exp(x), 0.0 * x])
        first = first.at[:, 1].set(x[0])
        return np.sum(first**2) + np.sum(first[1:] * x)

    return loss


@program(lambda draw: (draw(3),), order=2, reference=_fill_slices_in_jax)
def fill_slices(np):
    def loss(x):
        y = tg.zeros((3, 3))
        y[0] = x * 2.0
        y[1, :] = np.exp(x)
        y[:, 1] = x[0]
        return np.sum(y**2) + np.sum(y[1:] * x)

    return loss


def _fill_masked_in_jax(np):
    def loss(x):
        y = x * x
        z = np.where(x > 0.0, 0.0, y)
        return np.sum(z * x) + np.sum(y)

    return loss


@program(lambda draw, n=5: (draw(n),), dict(n=2), order=2, reference=_fill_masked_in_jax)
def fill_masked(np):
    def loss(x):
        y = x * x
        before = np.sum(y)
        y[x > 0.0] = 0.0
        return np.sum(y * x) + before

    return loss


def _augmented_in_jax(np):
    def loss(x, y):
        z = (x * 1.0 + y) * x - 0.5
        z = z / 2.0
        z = z.at[0].add(y[1] ** 2)
        return np.sum(z**3)

    return loss


@program(
    lambda draw, n=4: (draw(n), draw(n)),
    dict(n=2),
    argnums=(0, 1),
    reference=_augmented_in_jax,
)
def augmented_assignment(np):
    def loss(x, y):
        z = x * 1.0
        z += y
        z *= x
        z -= 0.5
        z /= 2.0
        z[0] += y[1] ** 2
        return np.sum(z**3)

    return loss


def _write_after_use_in_jax(np):
    def loss(x):
        y = np.exp(x)
        z = np.sin(y)
        y = y.at[0].set(z[1])
        return np.sum(y * z)

    return loss


@program(lambda draw, n=4: (draw(n),), dict(n=3), order=2, reference=_write_after_use_in_jax)
def write_after_use(np):
    def loss(x):
        y = np.exp(x)  # its derivative needs y as it was
        z = np.sin(y)
        y[0] = z[1]
        return np.sum(y * z)

    return loss


# -- structure of arguments and results ---------------------------------------------------------


@program(lambda draw, n=4: ({"w": draw(3), "b": draw(), "unused": draw(2)}, draw(n, 3)), dict(n=1))
def dict_of_parameters(np):
    def loss(parameters, x):
        return np.sum(np.tanh(x @ parameters["w"] + parameters["b"]))

    return loss


@program(lambda draw: ([draw(2), [draw(2), draw(3)]], (draw(2), {"c": draw(3)})), argnums=(0, 1))
def nested_lists_and_tuples(np):
    def loss(a, b):
        first, (second, third) = a
        d, rest = b
        return np.sum(first * second * d) + np.sum(third * np.exp(rest["c"]))

    return loss


Affine = namedtuple("Affine", ["weight", "bias"])


@program(lambda draw, n=3: (Affine(draw(2, 2), draw(2)), draw(n, 2)), dict(n=1))
def named_tuple(np):
    def loss(layer, x):
        return np.sum((x @ layer.weight + layer.bias) ** 2)

    return loss


@dataclass
class Ellipse:
    """Parameters as a dataclass."""

    center: Any
    radii: Any


@program(lambda draw, n=3: (Ellipse(draw(2), draw.positive(2)), draw(n, 2)), dict(n=5))
def data_class(np):
    def loss(ellipse, points):
        z = (points - ellipse.center) / ellipse.radii
        return np.sum((np.sum(z**2, axis=1) - 1.0) ** 2)

    return loss


@program(lambda draw: (draw(3), {"scale": 2.0, "shift": -0.5}), argnums=(0, 1))
def floats_in_a_dict(np):
    def loss(x, options):
        return np.sum(np.sin(options["scale"] * x + options["shift"]))

    return loss


@program(lambda draw, n=3: (draw(n), draw(n)), dict(n=2), has_aux=True, argnums=(0, 1))
def auxiliary_output(np):
    def loss(x, y):
        prediction = np.tanh(x)
        error = prediction - y
        return np.sum(error**2), {"prediction": prediction, "largest": np.max(np.abs(error))}

    return loss


@program(lambda draw, n=3: (draw(n),), dict(n=1), has_aux=True)
def auxiliary_argument(np):
    def loss(x):
        return np.sum(x**2), (x, 7, "seven")

    return loss


@program(lambda draw, n=3: (draw(n, 2),), dict(n=1), has_aux=True)
def part_of_what_is_compared_is_reported(np):
    def loss(x):
        s = np.sin(x)
        return np.sum(np.maximum(s, 0.5)), (s[0, 1, ...],)

    return loss


@program(lambda draw, n=3: (draw(n), 3), dict(n=1))
def integer_exponent(np):
    def loss(x, n):
        return np.sum(x**n) / n

    return loss


@program(lambda draw, n=3: (draw(n), draw.below(5, n), draw.mask(n)), dict(n=4))
def integers_and_flags_as_data(np):
    def loss(x, counts, flags):
        return np.sum(x**2 * counts) + np.sum(np.sin(x) * flags) + np.sum(counts)

    return loss


@program(lambda draw, n=3: (draw(n), "cubic", True), dict(n=2))
def words_and_switches(np):
    def loss(x, kind, halve):
        power = {"square": 2, "cubic": 3}[kind]
        y = np.sum(x**power)
        return y / 2 if halve else y

    return loss


@program(lambda draw, n=3: (draw(n), 2), dict(n=2), order=2, static_argnames=("repeats",))
def static_repeats(np):
    def loss(x, repeats):
        for _ in range(repeats):
            x = np.sin(x) + x
        return np.sum(x)

    return loss


@program(lambda draw, n=3: (draw(n),), dict(n=2))
def defaults_and_keywords(np):
    def scaled(x, *, scale=2.0, power=2):
        return scale * x**power

    def loss(x, offset=0.5, weights=(1.0, 3.0)):
        return np.sum(weights[0] * scaled(x) + weights[1] * scaled(x, power=3, scale=offset))

    return loss


# -- Python around arrays -----------------------------------------------------------------------


@program(lambda draw, n=3: (draw(3), draw(n, 3)), dict(n=1))
def closure_over_arrays(np):
    target = np.asarray([0.5, -1.0, 2.0])
    weights = np.asarray([[1.0, 2.0, 0.5]])

    def loss(w, x):
        return np.sum(weights * (x * w - target) ** 2)

    return loss


@program(lambda draw, n=4: (draw(n), draw(n)), dict(n=1), argnums=(0, 1))
def helper_functions(np):
    def normalise(v):
        shifted = v - np.mean(v)
        return shifted / np.sqrt(np.mean(shifted**2) + 0.1)

    def correlation(a, b):
        return np.mean(normalise(a) * normalise(b))

    return correlation


@program(lambda draw, n=3: (draw(n, 2),), dict(n=1))
def comprehension(np):
    def loss(x):
        rows = [np.sin(row) * i for i, row in enumerate(x, start=1)]
        return np.sum(np.stack(rows) ** 2) + sum(row[0] * row[1] for row in x)

    return loss


@program(lambda draw, n=4: (draw(n),), dict(n=2))
def value_used_many_times(np):
    def loss(x):
        y = np.exp(0.1 * x)
        z = y * y + y
        return np.sum(z * y) + np.sum(z) + np.sum(y)

    return loss


@program(lambda draw, n=4: (draw(n), draw(n)), dict(n=2), argnums=(0, 1))
def dead_code_and_unused_arguments(np):
    def loss(x, unused):
        forgotten = np.exp(unused) * 3.0
        forgotten = forgotten + x
        return np.sum(x * x)

    return loss


@program(lambda draw: (draw(),))
def returns_its_argument(np):
    def identity(x):
        return x

    return identity


@program(lambda draw, n=3: (draw(n),), dict(n=2))
def constant_result(np):
    def constant(x):
        return np.sum(np.floor(x)) * 2.0

    return constant


@program(lambda draw, n=3: (draw(n),), dict(n=2))
def one_array_twice(np):
    def product(a, b):
        return np.sum(a * np.sin(b))

    def loss(x):
        return product(x, x) + product(x, 2.0 * x)

    return loss


# -- precision ----------------------------------------------------------------------------------


@program(
    lambda draw, n=4: (
        draw(3).astype("float32"),
        draw(n, 3).astype("float32"),
        draw(n).astype("float32"),
    ),
    dict(n=1),
    order=0,
)
def single_precision(np):
    def loss(w, x, y):
        error = np.tanh(x @ w) - y
        return np.mean(error**2) + 0.1 * np.sum(w**2)

    return loss


@program(lambda draw, n=4: (draw(n).astype("float32"), draw(n)), dict(n=1), argnums=(0, 1), order=0)
def mixed_precision(np):
    def loss(x, y):
        return np.sum(x * y + np.sin(x)) + np.sum(x**2 * 0.5)

    return loss


@program(lambda draw, n=4: (draw(n).astype("float32"), 0.5, 3), dict(n=2), order=0)
def numbers_keep_single_precision(np):
    def loss(x, scale, n):
        return np.sum(x * scale / n + np.sqrt(x * x + 1.0) * 2)

    return loss


@program(lambda draw, n=4: (draw.positive(n).astype("float32"), 0.7, 3), dict(n=2), order=0)
def powers_of_numbers_keep_single_precision(np):
    def loss(x, scale, n):
        grown = x * scale**2 + x**n * scale**3 + x * scale**-0.5 / n**2 + x * n**-1
        return np.sum(grown + x * 2**scale + (x + scale**scale) * abs(scale - 1) + x * n**scale)

    return loss


@program(lambda draw, n=4: (draw.positive(n), 0.7), dict(n=1), argnums=(0, 1))
def powers_of_numbers(np):
    def loss(x, r):
        powers = r**2 + r**3 - r**-1 + r**0.5 + 2**r + 0.5**-r + r**r + abs(r - 1) ** 1.5
        return np.sum(x * powers + 3.0**x * r + r ** (x - 1) + x**r)

    return loss


# -- networks -----------------------------------------------------------------------------------


def _conv_net_in_jax(np):
    import jax

    def loss(kernels, bias, weights, images, labels):
        h = jax.lax.conv_general_dilated(images, kernels, (1, 1), ((1, 1), (1, 1)))
        h = jax.nn.silu(h + bias[:, None, None])
        pooled = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        logits = pooled.reshape(len(labels), -1) @ weights.T / 4.0
        log_p = jax.nn.log_softmax(logits, axis=1)
        return -np.mean(log_p[np.arange(len(labels)), labels])

    return loss


@program(
    lambda draw, n=3: (
        draw(2, 1, 3, 3),
        draw(2),
        draw(3, 2 * 2 * 3),
        draw(n, 1, 4, 6),
        draw.below(3, n),
    ),
    dict(n=1),
    argnums=(0, 1, 2, 3),
    reference=_conv_net_in_jax,
)
def conv_net(np):
    nn = tg.nn

    def loss(kernels, bias, weights, images, labels):
        h = nn.silu(nn.conv2d(images, kernels, bias, padding=1))
        h = nn.avg_pool2d(h, 2).reshape(len(labels), -1)
        return nn.cross_entropy(nn.linear(h, weights), labels)

    return loss


def _transformer_in_jax(np):
    import jax

    def norm(x):
        centred = x - np.mean(x, axis=-1, keepdims=True)
        return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    def loss(params, x):
        h = norm(x)
        q, k, v = (h @ params[name].T for name in ("q", "k", "v"))
        scores = np.where(np.tri(x.shape[1], dtype=bool), q @ k.mT / 2.0, -np.inf)
        h = x + jax.nn.softmax(scores, axis=-1) @ v
        h = h + jax.nn.gelu(norm(h) @ params["up"].T, approximate=False) @ params["down"].T
        return np.mean(h * h)

    return loss


@program(
    lambda draw, n=2, places=3: (
        {
            "q": draw(4, 4),
            "k": draw(4, 4),
            "v": draw(4, 4),
            "up": draw(6, 4),
            "down": draw(4, 6),
        },
        draw(n, places, 4),
    ),
    dict(n=1, places=5),
    argnums=(0, 1),
    reference=_transformer_in_jax,
)
def transformer(np):
    nn = tg.nn

    def loss(params, x):
        h = nn.layer_norm(x, 4)
        q, k, v = (nn.linear(h, params[name]) for name in ("q", "k", "v"))
        h = x + nn.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + nn.linear(nn.gelu(nn.linear(nn.layer_norm(h, 4), params["up"])), params["down"])
        return (h * h).mean()

    return loss


# -- what the algebra of programs simplifies ----------------------------------------------------


@program(
    lambda draw, n=3, m=2, k=4: (draw(n, k, m), draw(k, m, m), draw(m, k, k)),
    dict(n=0),
    dict(n=1, k=1),
    argnums=(0, 1, 2),
)
def einsum_of_batches(np):
    def loss(a, b, c):
        turned = np.einsum("nkj,kij->nki", a, b)
        merged = np.einsum("nkj,jkl->nl", turned, c)
        return np.sum(np.tanh(np.einsum("nki,nkj,nl->kijl", turned, a, merged)))

    return loss


@program(
    lambda draw, n=3, m=2, k=4: (draw(n, m, k), draw(k, m), draw(n, k, 3), draw(k)),
    dict(n=1, m=3),
    dict(k=1),
    argnums=(0, 1, 2, 3),
)
def products_of_batches_with_one_matrix(np):
    def loss(x, w, y, v):
        both = np.tanh(x @ w) @ np.tanh(w.T @ y)
        return np.sum(both) + np.sum(np.tanh(x @ v)) + np.sum(np.tanh(v @ y))

    return loss


@program(lambda draw, n=5: (draw(n), draw(n), draw(n, n)), dict(n=2), dict(n=1), argnums=(0, 1, 2))
def slices_added_and_subtracted(np):
    def loss(x, y, m):
        turns = x[:-1] - 2.0 * x[1:] ** 2 - np.cos(x[:-1]) * y[1:]
        rows = m[1:] - y[:-1, None] / (2.0 + m[1:] ** 2) - m[:-1]
        return np.sum(turns**2) - np.sum(rows * y) - x[0] * (y[0] - m[0, 0]) - m[-1, -1] / 3.0

    return loss


@program(lambda draw, n=4, m=3: (draw(n, m), draw(m)), dict(n=1), dict(n=0), argnums=(0, 1))
def signs_through_sums_and_choices(np):
    def loss(x, b):
        z = 1.0 - (x - b) * (b - np.where(x > b, -x, x * b))
        chosen = np.where(z > 0.5, -z, np.where(x > 0.0, z - b, b - z))
        return np.sum(np.tanh(-chosen) - chosen / (2.0 + x * x)) - np.sum(-(b - chosen) * 0.5)

    return loss


def _diffusion_in_jax(np):
    def loss(u, k):
        u = u * 1.0
        for _ in range(2):
            u = u.at[1:-1].add(k * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
            u = u.at[0].add(-u[1] * 0.5)
        return np.sum(u**2)

    return loss


@program(
    lambda draw, n=6: (draw(n), draw.number()),
    dict(n=3),
    dict(n=2),
    argnums=(0, 1),
    reference=_diffusion_in_jax,
)
def diffusion_in_place(np):
    def loss(u, k):
        u = u * 1.0
        for _ in range(2):
            u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u[0] -= u[1] * 0.5
        return np.sum(u**2)

    return loss


@program(lambda draw, n=6: (draw(n), draw(4, n)), dict(n=4), dict(n=5), argnums=(0, 1))
def parameters_and_parts(np):
    def loss(p, m):
        a, b = p[0], p[1]
        left, right = p[:2], p[2:]
        odd, even = m[:, 1::2], m[:, ::2]
        return np.sum(np.exp(-a * left) * b) * np.sum(right**2) - np.sum(odd[0] ** 2) * np.sum(even)

    return loss


def _windows_joined_in_jax(np):
    def loss(x):
        n = len(x) - 4
        windows = np.stack([x[i : i + n] for i in range(5)], axis=1)
        y = np.tanh(windows) * windows
        z = np.concatenate((y[1:], y[:-1])) ** 2
        return np.sum(np.exp(-z) * z)

    return loss


@program(lambda draw, n=8: (draw(n),), dict(n=5), dict(n=12), reference=_windows_joined_in_jax)
def windows_joined(np):
    """Slices of an axis that is shorter by 4 than any that is given."""

    def loss(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, 5)
        y = np.tanh(windows) * windows
        z = np.concatenate((y[1:], y[:-1])) ** 2
        return np.sum(np.exp(-z) * z)

    return loss


# -- views and writes ---------------------------------------------------------------------------


def _rows_are_views_in_jax(np):
    def loss(x):
        y = (x + 1.0) * 2.0
        t = y.T.at[0].set(y.T[1] * 3.0).T
        flat = t.reshape(-1).at[0].set(5.0 * x[0, 0])
        return np.sum(flat.reshape(t.shape) ** 2 * x)

    return loss


@program(
    lambda draw, n=3, m=2: (draw(n, m),),
    dict(n=4),
    dict(n=2, m=3),
    reference=_rows_are_views_in_jax,
)
def rows_are_views(np):
    def loss(x):
        y = x * 1.0
        for row in y:
            row += 1.0
            row *= 2.0
        y.T[0] = y.T[1] * 3.0
        flat = y.reshape(-1)
        flat[0] = 5.0 * x[0, 0]
        return np.sum(y**2 * x)

    return loss


def _overlapping_views_in_jax(np):
    def loss(x, a):
        y = np.sin(x)
        y = y.at[:3].add(a)
        y = y.at[1:4].multiply(y[:3])
        y = y.at[-1].set(y[1])
        y = y.at[2:].set(y[2:][::-1] * 2.0)
        return np.sum(y[:3] * y[1:4]) + np.sum(y**2)

    return loss


@program(
    lambda draw, n=6: (draw(n), draw.number()),
    dict(n=5),
    argnums=(0, 1),
    reference=_overlapping_views_in_jax,
)
def overlapping_views(np):
    def loss(x, a):
        y = np.sin(x)
        left, right = y[:3], y[1:4]
        left += a
        right *= left.copy()
        y[-1] = right[0]
        tail = y[1:][1:]
        tail[...] = tail[::-1].copy() * 2.0
        return np.sum(left * right) + np.sum(y**2)

    return loss


def _written_by_functions_in_jax(np):
    def loss(x):
        y = np.exp(x)
        y = y.at[np.array([0, 1, 0])].add(x[:3] * 2.0)
        y = y.at[2].set(x[0])
        z = np.tanh(y) + x
        return np.sum(z * y)

    return loss


@program(lambda draw, n=5: (draw(n),), dict(n=4), reference=_written_by_functions_in_jax)
def written_by_functions(np):
    def loss(x):
        y = np.exp(x)
        np.add.at(y, numpy.array([0, 1, 0]), x[:3] * 2.0)
        np.put(y, [2], x[0])
        z = np.empty_like(y)
        np.tanh(y, out=z)
        np.add(z, x, out=z)
        return np.sum(z * y)

    return loss


@program(lambda draw, n=5: (draw(n), draw.mask(n)), dict(n=1))
def squares_of_a_mask(np):
    def loss(x, chosen):
        return np.sum(chosen**2 * x**2) + np.sum(chosen**3) * x[0]

    return loss


@program(lambda draw, n=4: (draw(n),), dict(n=2))
def complex_numbers_before_elements(np):
    def loss(x):
        turned = 2j * x[1]
        moved = (1j + x[0]) - (3j - x[1])
        return np.abs(turned + moved) ** 2 + np.real(2j / (x[0] + 1j * x[1]))

    return loss


@program(
    lambda draw, n=3, m=4, t=5: (
        draw.positive(n),
        draw.positive(n, n),
        draw.positive(n, m),
        draw.below(m, t),
    ),
    dict(n=2),
    dict(n=1, m=6),
    argnums=(0, 1, 2),
)
def hidden_markov_forward(np):
    """A column whose number is an element of an array: a view of the argument."""

    def loss(start, A, B, o):
        alpha = start * B[:, o[0]]
        for t in range(1, len(o)):
            alpha = (alpha @ A) * B[:, o[t]]
        return np.log(np.sum(alpha)) + np.sum(A[o[-1] % 2 * 0] * alpha)

    return loss


@program(
    lambda draw, n=4: (draw(n, n), draw(n), draw.below(4, 3), draw.below(4)),
    dict(n=6),
    argnums=(0, 1),
)
def rows_and_columns_by_elements(np):
    """What is worked on next would be done in the memory of a new array."""

    def loss(A, x, o, k):
        row = A[o[-1]]
        row = np.exp(-row * row) + row * x
        column = A[:, o[0]]
        column = column * x
        column = np.tanh(column + row)
        last = A[:, k]
        last = last * column
        last = last - x
        inner = A[1:, o[1]]
        inner = inner * 2.0
        return np.sum(column * last) + last @ A[k] + np.sum(inner**2) + A[o[0], k] * x[k]

    return loss


@program(
    lambda draw, n=3, d=4, t=4: (draw(d, n), draw(n, n), draw.below(d, t)),
    dict(n=5),
    argnums=(0, 1),
)
def recurrent_with_embeddings(np):
    def loss(E, W, words):
        h = E[words[0]]
        h = h * 0.5
        states = []
        for t in range(1, len(words)):
            h = np.tanh(h @ W + E[words[t]])
            states.append(h)
        return np.sum(np.stack(states) ** 2) + h @ E[words[-1]]

    return loss


@program(
    lambda draw, n=3, t=5: (draw.positive(n), draw.positive(n, n), draw.below(n, t)),
    dict(n=4),
    argnums=(0, 1),
)
def best_path(np):
    """The number of a column is computed: the place of a maximum, a choice."""

    def loss(p, A, o):
        for i in range(3):
            j = np.argmax(p)
            p = A[:, j] * p
            k = np.where(p[0] > p[1], o[i], j)
            p = p + A[:, k] * 0.5
        return np.sum(p * p) + A[:, np.max(o)] @ p

    return loss


@program(lambda draw, n=5: (draw(n, 3), draw(n)), dict(n=9), argnums=(0, 1))
def vectors_with_gaps(np):
    """Products add a vector with gaps in another order than a dense one."""

    def loss(A, x):
        column = A[:, 1]
        falling = np.sort(x)[::-1]
        y = falling * column
        return (column * 1.0) @ x + y @ (x[::-1] * 1.0) + (A[:, 2] + 0.0) @ (A @ A[0])

    return loss


@program(lambda draw, n=4: (draw(n),), dict(n=7))
def repeated_number(np):
    """A number that was repeated to a shape has no methods once it stands alone."""

    def loss(x):
        y, ones = np.broadcast_arrays(x, 1.0)
        threes = np.broadcast_to(3, x.shape)
        return np.sum(y * y * ones.astype(float) * threes.astype("float32")) + ones.sum() * x[0]

    return loss


@program(lambda draw, n=6: (draw(n), draw(n)), dict(n=8), argnums=(0, 1))
def windows(np):
    """A loop that begins at the turn of the loop around it, and is left by a distance."""

    def loss(x, w):
        total = 0.0
        for i in range(len(x)):
            for j in range(i, len(x)):
                if j - i > 2:
                    break
                total += x[j] ** 2 * w[i]
        return total

    return loss


@program(lambda draw, n=12: (draw(n), draw.unit(2)), dict(n=30), argnums=(0, 1))
def autoregressive_path(np):
    """Turns read the two items before, all of which are read again behind the loop."""

    def loss(x, w):
        path = [x[0], x[1]]
        for t in range(2, len(x)):
            path.append(w[0] * path[t - 1] - np.sin(path[t - 1]) * w[1] * path[t - 2] + x[t])
        return np.sum(np.stack(path) ** 2)

    return loss


@program(lambda draw, n=12: (draw(2), draw(n)), dict(n=30), argnums=(0, 1))
def verlet_path(np):
    """Two variables are the last two states, and a list holds all of them."""

    def loss(x, force):
        before, now, path = x[0], x[1], []
        for f in force:
            before, now = now, 1.9 * now - 0.9 * before - 0.01 * np.sin(now) * f
            path.append(now)
        return np.sum(np.stack(path) ** 2) + before * now

    return loss


def _class_of_the_function_in_jax(np):
    def class_of_the_function(x):
        total = x * 1.0 + x * 2.0
        return np.sum(np.sin(total) * 2.0)

    return class_of_the_function


@program(lambda draw, n=4: (draw(n),), dict(n=6), reference=_class_of_the_function_in_jax)
def class_of_the_function(np):
    def class_of_the_function(x):
        total = np.zeros_like(x)
        count = 0

        class Running:
            kept = (total,)

            def add(self, v):
                nonlocal count
                count += 1
                self.kept[0][:] += v * count
                return self

        sums = Running()
        sums.add(x).add(x)
        return np.sum(np.sin(Running.kept[0]) * float(count))

    return class_of_the_function


@program(
    lambda draw, n=9: ([draw(3) for _ in range(n)], draw(3), draw(3)),
    *(dict(n=12), dict(n=3), dict(n=20), dict(n=15)),
    argnums=(0, 1),
)
def states_in_a_list(np):
    """A list of any length, which two loops go through and whose ends are read."""

    def loss(rows, w, h):
        total = 0.0
        for row in rows:
            h = np.tanh(h * w + row)
            total = total + np.sum(h * row)
        for k, row in enumerate(rows):
            total = total + np.sum(row * row) * k
        return total / len(rows) + np.sum(rows[0] * rows[-1])

    return loss


def _at_two_places(draw, n=3):
    one = {"w": draw(n), "b": [draw(n)]}
    return one, one if n == 3 else {"w": draw(n), "b": [draw(n)]}


@program(_at_two_places, dict(n=4), dict(n=5), argnums=(0, 1))
def one_container_as_two_arguments(np):
    """What is compiled for one container at two places is called with two."""

    def loss(p, q):
        return np.sum(p["w"] * np.sin(q["w"]) + p["b"][0] * q["b"][0] ** 2)

    return loss


@program(lambda draw, n=9: (draw(n, 3), draw(3)), dict(n=14), argnums=(0, 1))
def list_read_whole_and_by_item(np):
    """What flows to an item, and to the list that has it, is added in a tape's order."""

    def loss(x, w):
        rows = []
        for row in x:
            rows.append(row * 1.5)
        h = w * 0.5
        total = np.sum(np.stack(rows) * 0.3)
        total = total + np.sum(rows[-1] * w)
        for row in rows:
            h = np.tanh(h + row)
        return total + np.sum(h * h) + np.sum(np.stack(rows) * rows[0])

    return loss


@program(lambda draw, n=4: (draw(2, n, n),), dict(n=6), order=2)
def channels_mixed_by_a_view(np):
    """The matrix from outside has gaps between its columns, and products read it as it lies."""
    kernel = Draw(7)(3, 2, 3, 3)[:, :, 1, 0]

    def f(x):
        return np.sum(np.tanh(np.einsum("oc,chw->ohw", kernel, x)))

    return f


@program(lambda draw, n=30: (draw(3), draw(n, 3)), dict(n=45), dict(n=30), argnums=(0, 1))
def batches_of_a_generator(np):
    """A training loop over what a generator gives, as people write it."""

    def batches(x, size):
        for start in range(0, len(x) - size + 1, size):
            yield x[start : start + size]

    def loss(w, x):
        total = 0.0
        for batch in batches(x, 3):
            error = batch @ w - 1.0
            w = w - 0.1 * (error @ batch)
            total = total + np.sum(error * error)
        return total + np.sum(w)

    return loss


@program(lambda draw, n=20: (draw(n), draw()), dict(n=31), argnums=(0, 1))
def pipeline_of_iterators(np):
    def states(x, h):
        for v in x:
            h = np.tanh(h + v)
            yield h

    def loss(x, h):
        total = 0.0
        for k, v in enumerate(map(np.sin, states(x, h))):
            total = total * 0.5 + v * (k + 1.0)
        for v in itertools.accumulate(x, lambda a, b: 0.9 * a + b):
            total = total + v * v
        for i, j in itertools.product(range(10), range(3)):
            total = total * 0.9 + x[i] * x[j]
        return total + sum(states(x, h * 0.5))

    return loss


@program(lambda draw, n=20: (draw(2), draw(n)), dict(n=31), argnums=(0, 1))
def covariance_of_numbers_alone(np):
    """A Kalman filter: its gains depend on no argument, but on the number of the turn."""

    def loss(m, x):
        step = np.array([[1.0, 0.1], [0.0, 0.9]])
        P, noise, total = np.eye(2), np.eye(2) * 0.01, 0.0
        for v in x:
            P = step @ P @ step.T + noise
            m = step @ m
            S = P[0, 0] + 0.1
            gain = P[:, 0] / S
            error = v - m[0]
            m = m + gain * error
            P = P - np.outer(gain, P[0])
            total = total + error * error / S + np.log(S)
        return total + np.sum(m)

    return loss


@program(lambda draw, n=20: (draw(2), draw(n)), dict(n=31), argnums=(0, 1))
def states_of_a_class(np):
    """A simulation whose state is an instance that each turn makes anew."""

    class Body:
        def __init__(self, at, speed):
            self.at = at
            self.speed = speed

        def moved(self, force, step=0.1):
            speed = self.speed + step * force
            return Body(self.at + step * speed, speed)

    def loss(start, x):
        body, last, p = Body(start[0], start[1]), [0.0, 0.0, 0.0], {"a": start, "b": start[1]}
        for v in x:
            body = body.moved(v - body.at)
            if body.at > 1.0:
                body = Body(2.0 - body.at, -body.speed)
            last = last[1:] + [np.tanh(body.at + last[0])]
            p = {key: value - 0.1 * value * v for key, value in p.items()}
        return body.at * body.speed + sum(last) + np.sum(p["a"] * p["b"])

    return loss


@program(
    lambda draw, n=9: (draw(n, n),),
    dict(n=12),
    reference=lambda np: lambda a: np.linalg.det(a),
)
def determinant_by_elimination(np):
    """Columns of a matrix as factors: what `outer` makes of them in memory decides bits."""

    def loss(a):
        a = a.copy()
        for k in range(len(a)):
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return np.prod(np.diag(a))

    return loss


@program(lambda draw, n=8: (draw(n), draw(n)), dict(n=13), argnums=(0, 1))
def split_step_waves(np):
    """A wave in a potential: complex factors, whose order decides the last bit."""

    def loss(psi, potential):
        wave = psi + 0.5j
        turned = np.exp(-0.1j * potential)
        for _ in range(5):
            wave = turned * np.fft.ifft(np.fft.fft(turned * wave) * 0.9)
        return np.sum(np.abs(wave) ** 2 * potential)

    return loss


@program(lambda draw, n=20: (draw(6), draw(n)), dict(n=31), argnums=(0, 1))
def windows_and_histories(np):
    """What iterations keep of the last ones: in lists, in deques and as the two last states."""

    def loss(start, x):
        before, now = start[:3], start[3:]
        last, steps, layers = deque([0.0, 0.0, 0.0], maxlen=3), [], [start[0], start[1]]
        for v in x:
            before, now = now, np.tanh(before * now + v)
            last.append(np.sum(now) + last[0])
            steps.append(now * v)
            if len(steps) > 2:
                steps.pop(0)
            for step, weight in zip(steps, (0.3, 0.7), strict=False):
                now = now + weight * step
            layers = [a * 0.9 + b for a, b in zip(layers, last, strict=False)]
        return np.sum(before * now) + sum(last) * layers[0] + layers[1]

    return loss


def _thinned_copy_in_jax(np):
    def loss(x):
        y = np.concatenate((np.sin(x[:1]) - 1.5, x))
        z = np.where(y > 0.3, y * 0.5 + y * y[0], y)
        return np.sum(z * z)

    return loss


@program(lambda draw, n=20: (draw(n),), dict(n=31), reference=_thinned_copy_in_jax)
def thinned_copy(np):
    """The first turn writes nothing to the copy, turns after it do."""

    def loss(x):
        y = np.concatenate((np.sin(x[:1]) - 1.5, x))
        z = y.copy()
        for i in range(len(y)):
            if z[i] > 0.3:
                z[i] = z[i] * 0.5 + y[i] * y[0]
        return np.sum(z * z)

    return loss


def _cholesky_in_jax(np):
    def loss(a):
        low = np.linalg.cholesky(a @ a.T + np.eye(len(a)))
        b = np.linalg.solve(low, a[0])
        return np.sum(np.log(np.diag(low))) + np.sum(b**2)

    return loss


def _substitution_in_jax(np):
    def loss(a, b):
        u = np.triu(a) + 4.0 * np.eye(len(b))
        return np.sum(np.linalg.solve(u, b) ** 2)

    return loss


@program(
    lambda draw, n=12: (draw(n, n), draw(n)), dict(n=17), dict(n=3), reference=_substitution_in_jax
)
def back_substitution(np):
    """Slices up to the end of an axis get longer with each turn; the first one is empty."""

    def loss(a, b):
        n = len(b)
        u, x = np.triu(a) + 4.0 * np.eye(n), np.zeros_like(b)
        for i in range(n - 1, -1, -1):
            x[i] = (b[i] - u[i, i + 1 :] @ x[i + 1 :]) / u[i, i]
        return np.sum(x**2)

    return loss


def _cholesky_of_rows_in_jax(np):
    def loss(a):
        low = np.linalg.cholesky(a @ a.T + np.eye(len(a)))
        return np.sum(np.log(np.diag(low))) + np.sum(low[-1] ** 3)

    return loss


@program(
    lambda draw, n=12: (draw(n, n),), dict(n=16), dict(n=3), reference=_cholesky_of_rows_in_jax
)
def cholesky_of_rows(np):
    """Products of the first elements of rows that the turns write, one by one."""

    def loss(a):
        n = len(a)
        a = a @ a.T + np.eye(n)
        low = np.zeros_like(a)
        for i in range(n):
            for j in range(i):
                low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
            low[i, i] = np.sqrt(a[i, i] - np.sum(low[i, :i] ** 2))
        return np.sum(np.log(np.diag(low))) + np.sum(low[-1] ** 3)

    return loss


def _elimination_in_jax(np):
    def loss(a, b):
        a = a @ a.T + np.eye(len(b))
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1]

    return loss


@program(
    lambda draw, n=11: (draw(n, n), draw(n)), dict(n=14), dict(n=3), reference=_elimination_in_jax
)
def gauss_elimination(np):
    """Turns write to a part of a matrix that gets smaller, others read parts that get longer."""

    def loss(a, b):
        n = len(b)
        a, b, x = a @ a.T + np.eye(n), b.copy(), np.zeros_like(b)
        for k in range(n - 1):
            factors = a[k + 1 :, k] / a[k, k]
            a[k + 1 :, k:] -= np.outer(factors, a[k, k:])
            b[k + 1 :] -= factors * b[k]
        for k in range(n - 1, -1, -1):
            x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
        return np.sum(x**2) + np.sum(np.log(np.diag(a)))

    return loss


def _gram_schmidt_in_jax(np):
    def loss(a):
        r = np.abs(np.linalg.qr(a + 3.0 * np.eye(len(a)))[1])
        return np.sum(np.log(np.diag(r))) + np.sum(r**3)

    return loss


@program(lambda draw, n=10: (draw(n, n),), dict(n=13), dict(n=3), reference=_gram_schmidt_in_jax)
def gram_schmidt(np):
    """The columns behind that of a turn are written to, all at once."""

    def loss(a):
        n = len(a)
        q, r = a + 3.0 * np.eye(n), np.zeros_like(a)
        for k in range(n):
            r[k, k] = np.sqrt(q[:, k] @ q[:, k])
            q[:, k] = q[:, k] / r[k, k]
            r[k, k + 1 :] = q[:, k] @ q[:, k + 1 :]
            q[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
        r = np.abs(r)
        return np.sum(np.log(np.diag(r))) + np.sum(r**3)

    return loss


def _attention_in_jax(np):
    def loss(q, k, v):
        scores = q @ k.T
        scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
        weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        return np.sum((weights / np.sum(weights, axis=1, keepdims=True) @ v) ** 2)

    return loss


@program(
    lambda draw, n=12: (draw(n, 3), draw(n, 3), draw(n, 2)),
    *(dict(n=19), dict(n=4)),
    reference=_attention_in_jax,
)
def causal_attention(np):
    """Each turn attends to the rows up to its own: matrices that get longer."""

    def loss(q, k, v):
        out = np.zeros_like(v)
        for t in range(len(q)):
            scores = k[: t + 1] @ q[t]
            weights = np.exp(scores - np.max(scores))
            out[t] = (weights / np.sum(weights)) @ v[: t + 1]
        return np.sum(out**2)

    return loss


@program(lambda draw, n=12: (draw(n, n),), dict(n=15), dict(n=2), reference=_cholesky_in_jax)
def cholesky_by_hand(np):
    """Inner ranges that depend on outer counters: none, one or many turns."""

    def loss(a):
        n, b = len(a), a[0]
        a = a @ a.T + np.eye(n)
        low, y = a * 0.0, b * 0.0
        for i in range(n):
            for j in range(i + 1):
                s = a[i, j]
                for k in range(j):
                    s = s - low[i, k] * low[j, k]
                if i == j:
                    low[i, j] = np.sqrt(s)
                else:
                    low[i, j] = s / low[j, j]
        for i in range(n):
            s = b[i]
            for j in range(i):
                s = s - low[i, j] * y[j]
            y[i] = s / low[i, i]
        return np.sum(np.log(np.diag(low))) + np.sum(y**2)

    return loss


@program(lambda draw, n=10: (draw(n),), dict(n=13), dict(n=3))
def pairs_of_numbers(np):
    """Pairs, from both ends, and those that a ``while`` counts."""

    def loss(x):
        total, n = 0.0, len(x)
        for i in range(n):
            for j in range(i + 1, n):
                total = total + np.sin(x[i] - x[j])
            for j in reversed(range(i)):
                total = total * 0.9 + x[i] * x[j]
            j = 0
            while j < i:
                total = total + 0.1 * x[j] * x[i - j]
                j += 1
        return total

    return loss


@program(lambda draw, n=9: (draw(n),), dict(n=12))
def counters_read_behind(np):
    """What inner loops counted with is read behind them."""

    def loss(x):
        total, j, k = 0.0, 0, 1
        for i in range(len(x)):
            total = total + x[j]
            for j in range(9):
                total = total * 0.9 + x[j] * x[i]
            for k in range(8, -1, -1):
                total = total * 1.01 + x[k]
            total = total + x[j] * x[k]
        return total * x[k]

    return loss


@program(lambda draw, n=10: (draw(n),), dict(n=12))
def variables_that_turns_set_to_floats(np):
    """Elements of an array at first; arms of the turns read them and set them to plain floats."""

    def loss(x):
        a, b, first, total = x[0], x[1], x[2], 0.0
        for v in x:
            if b > 0.2:
                total = total + b * 0.5
            elif v > first:
                total, b = total + first, 0.1
            b, first = 0.25, 0.0
        for _ in range(len(x)):
            a, b = b, 0.3
            a = total * 0.1 + (a * b if a > b else a - b)
        return total + a * b + first

    return loss


@program(lambda draw, n=6: (draw(n),), dict(n=9))
def adaptive_steps(np):
    """Steps whose size an estimate of the error decides; those that are too large are rejected."""

    def loss(y):
        t, h = 0.0, 0.1
        while t < 1.0:
            h = min(h, 1.0 - t)
            error = np.max(h * np.abs(y))
            if error < 0.4:
                t = t + h
                y = y + h * np.cos(y)
            h = h * min(2.0, max(0.3, 0.3 / error))
        return np.sum(y**2)

    return loss


@program(lambda draw, n=12: (draw(n), draw()), dict(n=15))
def best_so_far(np):
    """A descent that keeps its best point, and the losses in a list; the best is an older point."""

    def loss(target, rate):
        point, lowest, best, losses = target[0], target[1] ** 2, target[1] * 1.0, []
        for wanted in target:
            point = point - 0.3 * np.tanh(rate) * (point - wanted) + 0.2 * np.sin(point)
            value = np.tanh(point - wanted) ** 2
            if value < lowest:
                lowest, best = value, point
            losses.append(value * lowest)
        return best * lowest + np.sum(np.stack(losses))

    return loss


@program(lambda draw, n=12: (draw(n),), dict(n=17))
def highest_price_paid(np):
    """An element becomes a variable in some turns, and each turn fills a list."""

    def loss(prices):
        cost, gains = prices[0], []
        for price in prices[1:]:
            gain = price - cost - 0.1
            if gain > 0.0:
                cost = price
                gains.append(gain)
            else:
                gains.append(0.3 * gain * price)
        return np.sum(np.stack(gains)) * cost

    return loss


@program(lambda draw, n=12: (draw(3), draw(3), draw(n)), dict(n=15))
def states_read_before_and_after_stacking(np):
    """Items of a list are read often before the list is stacked, and gone through behind it."""

    def loss(state, weights, xs):
        states, total = [], 0.0
        for x in xs:
            state = np.sin(weights * state) + 0.1 * x
            states.append(state)
        first = np.sum(states[2] * states[2]) + np.sum(state * 0.3)
        whole = np.sum(np.stack(states)[1:] * 0.7)
        for one in states:
            total = total + np.sum(one * one)
        return first + whole * total + np.sum(np.exp(state))

    return loss


@program(lambda draw: (draw(3) * 0.3, draw(3)), dict())
def losses_until_it_converges(np):
    """A history of losses, of a descent that is left by `break`."""

    def loss(x, w):
        losses = []
        for _ in range(40):
            x = x - 0.2 * (x - np.tanh(w))
            value = np.sum((x - np.tanh(w)) ** 2)
            losses.append(value)
            if value < 1e-3:
                break
        return np.sum(np.stack(losses)) * len(losses) + np.sum(x)

    return loss


@program(lambda draw, n=24: (draw(3) * 0.3, draw(n)), dict(n=31))
def accepted_states(np):
    """What a walk accepts goes on, and is kept in a list."""

    def loss(x, noise):
        kept, total = [x], 0.0
        for e in noise:
            new = x + 0.5 * e * np.cos(x)
            total = total + np.sum(x * new)
            if np.sum(new * new) < 1.5:
                x = new
                kept.append(x)
        return np.sum(np.stack(kept) ** 2) + total

    return loss


@program(lambda draw: (draw(3), draw(3)), dict())
def snapshot_in_rare_turns(np):
    """A variable keeps what another one is in some turns, which goes on to change."""

    def loss(x, w):
        v, kept, k = x * 1.0, w * 0.5, 0
        while True:
            k += 1
            if k > 9:
                break
            v = v * 0.9 + w * 0.15
            if v[1] < 0.6 and v[0] > -0.3:
                kept = v
        return np.sum(kept * v)

    return loss


@program(lambda draw: (draw(3), draw(3)), dict())
def one_array_from_the_first_turn_on(np):
    """Two variables differ before a loop, and are one array after each turn."""

    def loss(x, w):
        v, p, u, q = x * 1.0, x + w, w * 0.5, x * w
        for _ in range(10):
            v = np.sin(v + w * 0.3)
            if u[1] > 0.1 and q[0] < 0.5:
                p = v
            v = p
            q = np.sin(u + p)
        return np.sum(u * v) + np.sum(p * q * x)

    return loss


@program(lambda draw: (draw(3), draw(3)), dict())
def names_that_begin_like_keywords(np):
    """`elbo` and `returns` are names like others, at the end of an arm, too."""

    def loss(x, w):
        elbo, returns, u = x + w, x * 1.0, w * 1.0
        for _ in range(10):
            returns = np.sin(returns + w * 0.3)
            if returns[0] > 0.5:
                u = u * 0.9
            else:
                if returns[1] > 0.2:
                    u = u * 1.1
                elbo = elbo + returns
        if elbo[0] > 0.0:
            returns = returns * u
        else:
            if elbo[1] > 0.0:
                returns = returns - u
            elbo = elbo * 2.0
        return np.sum(u * returns * elbo)

    return loss


@program(lambda draw: (draw(23, 23), draw(23, 6)), dict(), argnums=(0, 1))
def products_before_and_in_turns(np):
    """The cotangent of a sum meets a product in turns and before them, as one array lies."""

    def loss(w, b):
        v = np.einsum("ij,ik->j", w, b)
        u = w @ b[:, 0]
        for _ in range(10):
            v = v + 0.1 * np.einsum("ij,ik->j", w, b)
            u = 0.5 * u
        if u[0] > 0.0:
            s = np.sum(u)
        else:
            s = 2.0 * np.sum(u)
        return np.sum(v) + 0.5 * np.sum(u) + s

    return loss


@program(lambda draw: (draw(7, 6), draw(6)), dict())
def largest_of_columns_in_turns(np):
    """Where a column has no largest element there flows 0.0, and not -0.0."""

    def loss(b, c):
        v = np.max(c)
        for _ in range(10):
            v = v + 0.1 * np.max(b, axis=0) * v
        return np.sum(v)

    return loss


@program(lambda draw: (draw(12),), dict())
def powers_that_begin_with_zero(np):
    """To the power of zero everything is flat: small numbers and negative ones, too."""

    def loss(x):
        s = 0.0
        for i in range(12):
            s = s - x[i] ** (i // 6) + (1e-310 * x[i]) ** (i // 8)
        return s * s

    return loss


@program(lambda draw, n=14: (draw(n),), dict(n=17), dict(n=4))
def pulses_that_are_counted(np):
    """A flag that is looked at in both arms of a look, each of which writes it."""

    def loss(x):
        on, count, total = False, 0, 0.0
        for v in x:
            if v > 0.3:
                if not on:
                    on, count = True, count + 1
                    total = total + v
            elif v < -0.3 and on:
                on = False
                total = total * (1.0 - v)
        return total * total + count * x[0]

    return loss


@program(lambda draw, n=29: (draw(n),), dict(n=32), dict(n=4))
def counted_down_in_steps(np):
    """Numbers and slices in steps, the last ones first: what turns save is read from the end."""

    def loss(x):
        s = 0.0
        for i in range(len(x) - 1, -1, -3):
            s = np.sin(s) + x[i] * s + 0.5 * x[i]
        for i in reversed(range(0, len(x), 4)):
            s = 0.5 * s + np.sum(x[i : i + 4]) ** 2
        return s

    return loss


@program(lambda draw, n=43: (draw(n, 2), draw(2)), dict(n=40), dict(n=9), argnums=(0, 1))
def batches_of_four(np):
    """The last batch is smaller, and it is read behind the loop."""

    def loss(x, w):
        total = 0.0
        for i in range(0, len(x), 4):
            rows = x[i : i + 4]
            total = 0.9 * total + np.mean(np.tanh(rows @ w))
        return total * len(rows) + np.sum(rows)

    return loss
