"""Functions as their users write them, with arguments: what the generated source is read for.

`READABLE` maps a name to the function, the positions that it is differentiated in, and its
arguments; `OTHER_PATHS` to arguments that take other branches. A function stands as a user would
write it, so that its names and lines are a user's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracegrad as tg


def mlp(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    error = scores - y
    return np.mean(error**2)


def logistic_regression(w, b, x, labels):
    margin = x @ w + b
    p = 1.0 / (1.0 + np.exp(-margin))
    likelihood = labels * np.log(p) + (1.0 - labels) * np.log(1.0 - p)
    penalty = 0.01 * np.sum(w**2)
    return penalty - np.mean(likelihood)


def mixture(log_weights, means, log_scales, x):
    z = (x[:, None] - means) / np.exp(log_scales)
    log_density = -0.5 * z**2 - log_scales - 0.5 * math.log(2.0 * math.pi)
    log_mix = log_weights - tg.special.logsumexp(log_weights)
    per_point = tg.special.logsumexp(log_density + log_mix, axis=1)
    return -np.mean(per_point)


def n_body(position, velocity, mass):
    offset = position[:, None, :] - position[None, :, :]
    distance = np.sqrt(np.sum(offset**2, axis=-1) + 0.01)
    potential = -0.5 * np.sum(mass[:, None] * mass[None, :] / distance)
    kinetic = 0.5 * np.sum(mass * np.sum(velocity**2, axis=-1))
    return kinetic + potential


def attention(wq, wk, wv, x):
    q = x @ wq
    k = x @ wk
    v = x @ wv
    scores = q @ k.T / math.sqrt(4.0)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    mixed = weights @ v
    return np.sum(mixed * x)


def convolution_step(kernel, bias, image, target):
    features = tg.nn.relu(tg.nn.conv2d(image, kernel, bias, padding=1))
    pooled = tg.nn.max_pool2d(features, 2)
    residual = pooled - target
    return np.mean(residual**2)


def swing(angle, speed, damping):
    return speed, -np.sin(angle) - damping * speed


def runge_kutta(angle, speed, damping):
    h = 0.1
    v1, a1 = swing(angle, speed, damping)
    v2, a2 = swing(angle + 0.5 * h * v1, speed + 0.5 * h * a1, damping)
    v3, a3 = swing(angle + 0.5 * h * v2, speed + 0.5 * h * a2, damping)
    v4, a4 = swing(angle + h * v3, speed + h * a3, damping)
    angle = angle + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
    speed = speed + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return np.sum(angle**2 + speed**2)


def kalman_update(mean, covariance, observation, design, noise):
    innovation = observation - design @ mean
    spread = design @ covariance @ design.T + noise
    gain = covariance @ design.T @ np.linalg.inv(spread)
    mean = mean + gain @ innovation
    covariance = covariance - gain @ design @ covariance
    return np.sum(mean**2) + np.trace(covariance)


def black_scholes(spot, strike, rate, volatility, maturity):
    deviation = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * maturity)
    call = spot * tg.special.ndtr(d1) - discounted * tg.special.ndtr(d2)
    return np.sum(call)


def huber(w, x, y, delta):
    error = y - w @ x
    size = np.abs(error)
    if size < delta:
        loss = 0.5 * error**2
    else:
        loss = delta * (size - 0.5 * delta)
    return loss


def softmax_regression(w, b, x, targets):
    logits = x @ w + b
    log_norm = tg.special.logsumexp(logits, axis=1, keepdims=True)
    log_p = logits - log_norm
    return -np.mean(np.sum(targets * log_p, axis=1))


def layer_norm(gain, bias, x, target):
    center = np.mean(x, axis=-1, keepdims=True)
    deviation = x - center
    variance = np.mean(deviation**2, axis=-1, keepdims=True)
    normed = deviation / np.sqrt(variance + 1e-5)
    y = gain * normed + bias
    return np.mean((y - target) ** 2)


def recurrent(w, u, b, steps):
    h = np.zeros(3)
    for t in range(4):
        x = steps[t]
        h = np.tanh(w @ h + u @ x + b)
    return np.sum(h**2)


def dictionary(params, x, y):
    h = np.tanh(x @ params["w1"] + params["b1"])
    out = h @ params["w2"]
    error = out - y
    return np.sum(error**2)


@dataclass
class Model:
    weight: np.ndarray
    bias: np.ndarray
    scale: float

    def predict(self, x):
        inner = x @ self.weight + self.bias
        return self.scale * np.tanh(inner)

    def loss(self, x, y):
        error = self.predict(x) - y
        return np.mean(error**2)


def model_method(model, x, y):
    return model.loss(x, y)


def scaled(x, factor):
    centered = x - np.mean(x)
    return factor * centered


def helper_twice(x, y, a, b):
    left = scaled(x, a)
    right = scaled(y, b)
    return np.sum(left * right)


def comprehension(w, rows):
    scores = [np.tanh(row @ w) for row in rows]
    total = sum(scores)
    return total**2


def newton(a):
    x = 0.5 * (1.0 + a)
    while abs(x * x - a) > 1e-6:
        x = 0.5 * (x + a / x)
    return x


def early_return(x, limit):
    norm = np.sqrt(np.sum(x**2))
    if norm > limit:
        return limit * np.log(norm)
    return 0.5 * norm**2


def filled(w, x):
    out = np.zeros_like(w)
    for i in range(3):
        out[i] = np.sin(w[i] * x)
    return np.sum(out**2)


def indexing(table, rows, weights):
    chosen = table[rows]
    first = chosen[0]
    rest = chosen[1:]
    gap = rest - first
    return np.sum(weights * gap**2)


def bilinear(a, b, tensor):
    field = np.einsum("i,ijk->jk", a, tensor)
    energy = np.einsum("j,jk,k->", b, field, b)
    return energy


def gaussian_process(log_length, log_noise, x, y):
    gap = x[:, None] - x[None, :]
    kernel = np.exp(-0.5 * (gap / np.exp(log_length)) ** 2)
    kernel = kernel + np.exp(log_noise) * np.eye(5)
    chol = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(kernel, y)
    log_det = np.sum(np.log(np.diagonal(chol)))
    return 0.5 * y @ alpha + log_det


def weighted_statistics(weights, x):
    total = np.sum(weights)
    mean = np.sum(weights * x) / total
    variance = np.sum(weights * (x - mean) ** 2) / total
    return mean / np.sqrt(variance)


def rosenbrock(p):
    x = p[:-1]
    y = p[1:]
    return np.sum(100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2)


def momentum_step(w, velocity, x, y):
    residual = x @ w - y
    gradient = x.T @ residual
    velocity = 0.9 * velocity - 0.1 * gradient
    w = w + velocity
    return np.sum((x @ w - y) ** 2)


def ternary(x, y, flag):
    scale = x * 2.0 if np.sum(x) > 0.0 else y * 3.0
    shifted = scale + flag
    return np.sum(shifted**2)


def lasso(w, x, y, strength):
    fit = x @ w
    misfit = 0.5 * np.sum((fit - y) ** 2)
    size = np.sum(np.abs(w))
    return misfit + strength * size


def cosine_similarity(a, b):
    dot = a @ b
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return dot / norms


def clipped_policy(theta, states, actions, advantage, old):
    logits = states @ theta
    log_p = logits * actions - np.log1p(np.exp(logits))
    ratio = np.exp(log_p - old)
    clipped = np.clip(ratio, 0.8, 1.2)
    objective = np.minimum(ratio * advantage, clipped * advantage)
    return -np.mean(objective)


def polynomial(coefficients, x, y):
    value = np.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    return np.mean((value - y) ** 2)


def _draw(*shapes):
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=shape) for shape in shapes)


def _positive(*shapes):
    return tuple(np.exp(0.3 * array) for array in _draw(*shapes))


_PARAMS = dict(zip(("w1", "b1", "w2"), _draw((3, 4), (4,), (4, 2)), strict=True))
_MODEL = Model(*_draw((3, 2), (2,)), 0.7)
_SPREAD = np.eye(3) + 0.1 * np.ones((3, 3))

READABLE: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]]] = {
    "mlp": (mlp, (0, 1, 2, 3), _draw((3, 4), (4,), (4, 2), (2,), (5, 3), (5, 2))),
    "logistic_regression": (
        logistic_regression,
        (0, 1),
        (*_draw((3,), (), (6, 3)), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])),
    ),
    "mixture": (mixture, (0, 1, 2), _draw((3,), (3,), (3,), (7,))),
    "n_body": (n_body, (0, 1), (*_draw((4, 2), (4, 2)), *_positive((4,)))),
    "attention": (attention, (0, 1, 2), _draw((4, 4), (4, 4), (4, 4), (5, 4))),
    "convolution_step": (
        convolution_step,
        (0, 1),
        _draw((2, 1, 3, 3), (2,), (3, 1, 6, 6), (3, 2, 3, 3)),
    ),
    "runge_kutta": (runge_kutta, (0, 1), (*_draw((4,), (4,)), 0.2)),
    "kalman_update": (
        kalman_update,
        (0, 1),
        (*_draw((3,)), _SPREAD, *_draw((2,), (2, 3)), np.eye(2)),
    ),
    "black_scholes": (black_scholes, (0, 2, 3), _positive((5,), (5,), (), (), ())),
    "huber": (huber, (0,), (*_draw((3,), (3,)), 0.4, 1.0)),
    "softmax_regression": (softmax_regression, (0, 1), _draw((3, 4), (4,), (5, 3), (5, 4))),
    "layer_norm": (layer_norm, (0, 1, 2), _draw((4,), (4,), (5, 4), (5, 4))),
    "recurrent": (recurrent, (0, 1, 2), _draw((3, 3), (3, 2), (3,), (4, 2))),
    "dictionary": (dictionary, (0,), (_PARAMS, *_draw((5, 3), (5, 2)))),
    "model_method": (model_method, (0,), (_MODEL, *_draw((5, 3), (5, 2)))),
    "helper_twice": (helper_twice, (0, 1), (*_draw((4,), (4,)), 2.0, 3.0)),
    "comprehension": (comprehension, (0,), (*_draw((3,)), list(_draw((3,), (3,), (3,))))),
    "newton": (newton, (0,), (2.0,)),
    "early_return": (early_return, (0,), (*_draw((3,)), 10.0)),
    "filled": (filled, (0, 1), _draw((3,), ())),
    "indexing": (indexing, (0,), (_draw((6,))[0], np.array([4, 0, 2, 4]), np.ones(3))),
    "bilinear": (bilinear, (0, 1, 2), _draw((2,), (3,), (2, 3, 3))),
    "gaussian_process": (gaussian_process, (0, 1), (0.1, -1.0, *_draw((5,), (5,)))),
    "weighted_statistics": (weighted_statistics, (0, 1), _positive((6,), (6,))),
    "rosenbrock": (rosenbrock, (0,), _draw((5,))),
    "momentum_step": (momentum_step, (0, 1), _draw((3,), (3,), (5, 3), (5,))),
    "ternary": (ternary, (0, 1), (*_positive((4,), (4,)), 1.0)),
    "lasso": (lasso, (0,), (*_draw((3,), (6, 3), (6,)), 0.1)),
    "cosine_similarity": (cosine_similarity, (0, 1), _draw((4,), (4,))),
    "clipped_policy": (clipped_policy, (0,), _positive((3,), (6, 3), (6,), (6,), (6,))),
    "polynomial": (polynomial, (0,), (list(_draw((), (), ())), *_draw((5,), (5,)))),
}

OTHER_PATHS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "huber": ((*_draw((3,), (3,)), 9.0, 1.0),),
    "early_return": ((*_draw((3,)), 0.1),),
    "ternary": ((-np.ones(4), np.ones(4), 1.0),),
}
