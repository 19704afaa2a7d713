"""A classifier 64-128-128-10 with tanh: images and labels in, the mean cross-entropy out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, batch):
    return (
        random.normal(0.0, 64**-0.5, (64, 128)),
        random.normal(0.0, 0.1, 128),
        random.normal(0.0, 128**-0.5, (128, 128)),
        random.normal(0.0, 0.1, 128),
        random.normal(0.0, 128**-0.5, (128, 10)),
        random.normal(0.0, 0.1, 10),
        random.random((batch, 64)),
        random.integers(0, 10, batch),
        np.arange(batch),
    )


def loss(library):
    np, logsumexp = library.np, library.logsumexp

    def cross_entropy(w1, b1, w2, b2, w3, b3, x, labels, rows):
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        logits = h2 @ w3 + b3
        return np.mean(logsumexp(logits, 1) - logits[rows, labels])

    return cross_entropy


def loss_in_torch(library):
    np = library.np

    def cross_entropy(w1, b1, w2, b2, w3, b3, x, labels, rows):
        h1 = np.tanh(np.addmm(b1, x, w1))
        h2 = np.tanh(np.addmm(b2, h1, w2))
        return np.nn.functional.cross_entropy(np.addmm(b3, h2, w3), labels)

    return cross_entropy


def by_hand(w1, b1, w2, b2, w3, b3, x, labels, rows):
    n = len(labels)
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    logits = h2 @ w3 + b3
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    z = p.sum(axis=1, keepdims=True)
    value = (np.log(z[:, 0]) - logits[rows, labels]).sum() / n

    p /= z
    p[rows, labels] -= 1.0
    p /= n
    h2_bar = (p @ w3.T) * (1.0 - h2 * h2)
    h1_bar = (h2_bar @ w2.T) * (1.0 - h1 * h1)
    return value, (
        x.T @ h1_bar,
        h1_bar.sum(axis=0),
        h1.T @ h2_bar,
        h2_bar.sum(axis=0),
        h2.T @ p,
        p.sum(axis=0),
    )


def tuned(w1, b1, w2, b2, w3, b3, x, labels, rows):
    n = len(labels)
    h1, h2, h1_bar, h2_bar = (np.empty((n, 128), x.dtype) for _ in range(4))
    p, top = np.empty((n, 10), x.dtype), np.empty((n, 1), x.dtype)
    bars = w1_bar, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar = tuple(
        np.empty_like(w) for w in (w1, b1, w2, b2, w3, b3)
    )
    picked = rows * 10 + labels
    flat, one = p.reshape(-1), np.ones((), x.dtype)

    def call():
        np.matmul(x, w1, out=h1)
        np.add(h1, b1, out=h1)
        np.tanh(h1, out=h1)
        np.matmul(h1, w2, out=h2)
        np.add(h2, b2, out=h2)
        np.tanh(h2, out=h2)
        np.matmul(h2, w3, out=p)
        np.add(p, b3, out=p)
        np.maximum.reduce(p, axis=1, keepdims=True, out=top)
        np.subtract(p, top, out=p)
        chosen = np.add.reduce(flat[picked])
        np.exp(p, out=p)
        np.add.reduce(p, axis=1, keepdims=True, out=top)
        np.divide(p, top, out=p)
        np.log(top, out=top)
        value = (np.add.reduce(top, axis=None) - chosen) / n

        flat[picked] -= 1.0
        np.multiply(p, 1.0 / n, out=p)
        np.matmul(p, w3.T, out=h2_bar)
        np.matmul(h2.T, p, out=w3_bar)
        np.add.reduce(p, axis=0, out=b3_bar)
        np.multiply(h2, h2, out=h2)
        np.subtract(one, h2, out=h2)
        np.multiply(h2_bar, h2, out=h2_bar)
        np.matmul(h2_bar, w2.T, out=h1_bar)
        np.matmul(h1.T, h2_bar, out=w2_bar)
        np.add.reduce(h2_bar, axis=0, out=b2_bar)
        np.multiply(h1, h1, out=h1)
        np.subtract(one, h1, out=h1)
        np.multiply(h1_bar, h1, out=h1_bar)
        np.matmul(x.T, h1_bar, out=w1_bar)
        np.add.reduce(h1_bar, axis=0, out=b1_bar)
        return value, bars

    return call


MLP = Workload(
    name="MLP",
    about="64-128-128-10, tanh, cross-entropy, six parameters",
    sizes={"batch 32": dict(batch=32), "batch 256": dict(batch=256)},
    inputs=inputs,
    wanted=(0, 1, 2, 3, 4, 5),
    loss=loss,
    own={"torch": loss_in_torch, "torch.compile": loss_in_torch},
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda batch: batch * 128,
)
