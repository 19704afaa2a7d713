"""The functions of the gallery, written by hand in PyTorch, and how long a call of each takes.

    OMP_NUM_THREADS=1 python tests/gallery_in_torch.py NAME [--backend numba]

PyTorch runs them line by line (without ``torch.compile``), as their users write them at first.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any

import gallery_page as gallery
import numpy as np
import torch
from torch.nn import functional as F

import tracegrad as tg


def leaves(tree: Any) -> list[Any]:
    """The arrays of dicts and lists, by sorted keys."""
    match tree:
        case dict():
            return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
        case list() | tuple():
            return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def in_torch(tree: Any) -> Any:
    """Arrays as Tensors."""
    match tree:
        case dict():
            return {key: in_torch(value) for key, value in tree.items()}
        case list() | tuple():
            return [in_torch(part) for part in tree]
    return torch.as_tensor(tree)


def value_and_grad(loss: Callable[..., Any]) -> Callable[..., Any]:
    """The value, and the gradients in the leaves of the first argument."""

    def call(first: Any, *rest: Any) -> list[Any]:
        wanted = [leaf.requires_grad_() for leaf in leaves(first)]
        value = loss(first, *rest)
        return [value.detach(), *torch.autograd.grad(value, wanted)]

    return call


# -- networks -------------------------------------------------------------------------------------


def digits_mlp(params: Any, x: Any, y: Any) -> Any:
    h = torch.tanh(x @ params["w1"] + params["b1"])
    return F.cross_entropy(h @ params["w2"] + params["b2"], y)


def convnet(params: Any, images: Any, labels: Any) -> Any:
    h = F.relu(F.conv2d(images, params["w1"], params["b1"], padding="same"))
    h = F.relu(F.conv2d(h, params["w2"], params["b2"], padding="same"))
    h = F.max_pool2d(h, 2).reshape(len(images), -1)
    return F.cross_entropy(F.linear(h, params["w3"], params["b3"]), labels)


def attention(example: Any, params: Any, text: Any) -> Any:
    width, heads = example.WIDTH, example.HEADS
    h = F.embedding(text[:, :-1], params["characters"]) + params["places"][: text.shape[1] - 1]
    for p in params["layers"]:
        up = F.layer_norm(h, (width,), p["norm_1"])
        q, k, v = (
            F.linear(up, p[name]).reshape(*h.shape[:2], heads, width // heads).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        gathered = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + F.linear(gathered.transpose(1, 2).reshape(h.shape), p["out"])
        up = F.linear(F.layer_norm(h, (width,), p["norm_2"]), p["up"])
        h = h + F.linear(F.gelu(up, approximate="tanh"), p["down"])
    found = F.linear(F.layer_norm(h, (width,)), params["characters"])
    return F.cross_entropy(found.transpose(1, 2), text[:, 1:])


def autoencoder(params: Any, images: Any, noise: Any) -> Any:
    h = torch.tanh(F.linear(images, params["w1"], params["b1"]))
    found = F.linear(h, params["w2"], params["b2"])
    mean, log_deviation = found[:, :2], found[:, 2:]
    places = mean + torch.exp(log_deviation) * noise
    h = torch.tanh(F.linear(places, params["w3"], params["b3"]))
    logits = F.linear(h, params["w4"], params["b4"])
    written = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    spread = torch.exp(2.0 * log_deviation) + mean**2 - 1.0 - 2.0 * log_deviation
    return (written + 0.5 * spread.sum()) / len(images)


# -- likelihoods ----------------------------------------------------------------------------------


def gaussian_process(params: Any, x: Any, y: Any) -> Any:
    p = x @ params["metric"]
    squares = ((p[:, None] - p) ** 2).sum(dim=2)
    k = torch.exp(2.0 * params["log_height"] - 0.5 * squares)
    noise = torch.exp(2.0 * params["log_noise"]) * torch.eye(len(x), dtype=x.dtype)
    factor = torch.linalg.cholesky(k + noise)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)[:, 0]
    fit = 0.5 * (white @ white) + torch.log(factor.diagonal()).sum()
    return fit / len(y) + 0.5 * np.log(2.0 * np.pi)


def garch(theta: Any, returns: Any) -> Any:
    weights = torch.exp(theta[2:4])
    alpha, beta = weights / (0.02 + weights.sum())
    omega = torch.exp(theta[1])
    surprises = (returns - theta[0]) ** 2
    variance = omega / (1.0 - alpha - beta)
    variances = []
    for surprise in surprises:
        variances.append(variance)
        variance = omega + alpha * surprise + beta * variance
    every = torch.stack(variances)
    return 0.5 * (torch.log(every) + surprises / every).mean() + 0.5 * np.log(2.0 * np.pi)


def kalman_filter(example: Any, theta: Any, flow: Any) -> Any:
    noise, step = torch.exp(2.0 * theta)
    level, variance = torch.as_tensor(example.AT_FIRST)
    total = 0.0
    for y in flow:
        if not torch.isnan(y):
            spread = variance + noise
            total = total + torch.log(2.0 * np.pi * spread) + (y - level) ** 2 / spread
            gain = variance / spread
            level, variance = level + gain * (y - level), (1.0 - gain) * variance
        variance = variance + step
    return 0.5 * total


def hidden_markov(example: Any, theta: Any, observations: Any) -> Any:
    states = example.STATES
    belief = torch.softmax(theta[:2], 0)
    transition = torch.softmax(theta[2:6].reshape(states, states), 1)
    emission = torch.softmax(theta[6:].reshape(states, -1), 1).T
    total = 0.0
    for observed in observations:
        joint = belief * emission[observed]
        likelihood = joint.sum(dim=1, keepdim=True)
        total = total + torch.log(likelihood).sum()
        belief = joint / likelihood @ transition
    return -total / observations.numel()


# -- others ---------------------------------------------------------------------------------------


def pharmacokinetics(example: Any, theta: Any, dose: Any, times: Any, measured: Any) -> Any:
    absorbed, eliminated, volume = torch.exp(theta)
    none = torch.zeros_like(absorbed)
    rates = torch.stack([-absorbed, none, absorbed / volume, -eliminated]).reshape(2, 2)
    y, found = torch.tensor([1.0, 0.0], dtype=theta.dtype) * dose, []
    t, *ends = times.tolist()
    h = 0.01 * (ends[-1] - t)
    for begin, end in zip([t, *ends], ends):
        t = begin
        while t < end:
            h = min(h, end - t)
            k1 = rates @ y
            k2 = rates @ (y + 0.5 * h * k1)
            k3 = rates @ (y + 0.75 * h * k2)
            after = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
            error = h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * (rates @ after)) / 72.0
            size = error.detach().abs().max().item() / example.TOLERANCE
            if size <= 1.0:
                y, t = after, t + h
            h = h * min(max(0.9 * (size + 1e-10) ** (-1.0 / 3.0), 0.2), 5.0)
        found.append(y[1])
    return ((torch.stack(found) - measured[1:]) ** 2).mean()


def bundle_adjustment(example: Any) -> Callable[..., Any]:
    """The derivatives of each finding alone, put together by hand."""

    def one(camera: Any, point: Any) -> Any:
        angle = torch.sqrt((camera[:3] ** 2).sum() + 1e-24)
        axis = camera[:3] / angle
        turned = torch.cos(angle) * point + torch.sin(angle) * torch.linalg.cross(axis, point)
        turned = turned + (1.0 - torch.cos(angle)) * (axis @ point) * axis
        from_camera = turned + camera[3:]
        return -example.FOCAL * from_camera[:2] / from_camera[2]

    blocks = torch.func.vmap(torch.func.jacfwd(one, argnums=(0, 1)))

    def jacobian(unknown: Any, camera: Any, point: Any, found: Any) -> list[Any]:
        count = 6 * example.CAMERAS
        cameras, points = unknown[:count].reshape(-1, 6), unknown[count:].reshape(-1, 3)
        values = torch.cat(blocks(cameras[camera], points[point]), dim=2)
        columns = torch.cat(
            [
                6 * camera[:, None] + torch.arange(6),
                count + 3 * point[:, None] + torch.arange(3),
            ],
            dim=1,
        ).repeat_interleave(2, dim=0)
        begins = torch.arange(0, columns.numel() + 1, 9)
        shape = (len(begins) - 1, len(unknown))
        return [torch.sparse_csr_tensor(begins, columns.ravel(), values.ravel(), shape)]

    return jacobian


# -- beside ours ----------------------------------------------------------------------------------


def pair(name: str) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """Our function, the one in PyTorch, and the arguments of a call."""
    example = gallery.module(name)
    ours, arguments = example.compared() if hasattr(example, "compared") else example.shown()
    theirs = globals()[name]
    if name == "bundle_adjustment":
        return ours, theirs(example), arguments
    of_example = theirs.__code__.co_varnames[0] == "example"
    return ours, value_and_grad(partial(theirs, example) if of_example else theirs), arguments


def main(arguments: list[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=gallery.SHOWN)
    parser.add_argument("--backend", default="numpy")
    options = parser.parse_args(arguments)
    tg.config.backend = options.backend
    torch.set_num_threads(1)
    ours, theirs, given = pair(options.name)
    placed = in_torch(given)
    gallery.module("common").beside(
        "PyTorch", lambda: leaves(ours(*given)), lambda: theirs(*placed)
    )


if __name__ == "__main__":
    main()
