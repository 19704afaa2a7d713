"""Attention: queries, keys and values of several heads in, a weighted sum of the result out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, heads, length, width):
    return tuple(random.normal(size=(heads, length, width)) for _ in range(4))


def loss(library):
    np, softmax = library.np, library.softmax

    def attention(q, k, v, weights):
        scores = q @ np.swapaxes(k, 1, 2) / 8.0
        return np.sum(softmax(scores) @ v * weights)

    return attention


def by_hand(q, k, v, weights):
    scores = q @ k.swapaxes(1, 2) / 8.0
    scores -= scores.max(axis=2, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=2, keepdims=True)
    value = (p @ v * weights).sum()

    p_bar = weights @ v.swapaxes(1, 2)
    v_bar = p.swapaxes(1, 2) @ weights
    s_bar = p * (p_bar - (p_bar * p).sum(axis=2, keepdims=True)) / 8.0
    return value, (s_bar @ k, s_bar.swapaxes(1, 2) @ q, v_bar)


def tuned(q, k, v, weights):
    heads, length, _ = q.shape
    p, p_bar = np.empty((2, heads, length, length), q.dtype)
    row = np.empty((heads, length, 1), q.dtype)
    o = np.empty_like(q)
    bars = q_bar, k_bar, v_bar = tuple(np.empty_like(x) for x in (q, k, v))
    k_t, v_t, p_t, s_bar_t = (x.swapaxes(1, 2) for x in (k, v, p, p_bar))
    flat_o, flat_weights = o.reshape(-1), weights.reshape(-1)
    column = row[:, :, 0]
    q_scaled = np.empty_like(q)

    def call():
        np.multiply(q, 0.125, out=q_scaled)
        np.matmul(q_scaled, k_t, out=p)
        np.maximum.reduce(p, axis=2, keepdims=True, out=row)
        np.subtract(p, row, out=p)
        np.exp(p, out=p)
        np.add.reduce(p, axis=2, keepdims=True, out=row)
        np.divide(p, row, out=p)
        np.matmul(p, v, out=o)
        value = flat_o.dot(flat_weights)

        np.matmul(weights, v_t, out=p_bar)
        np.matmul(p_t, weights, out=v_bar)
        # the sum over j of p_ij p_bar_ij is the product of the results and their cotangents
        np.multiply(o, weights, out=o)
        np.add.reduce(o, axis=2, out=column)
        np.subtract(p_bar, row, out=p_bar)
        np.multiply(p_bar, p, out=p_bar)
        np.matmul(p_bar, k, out=q_bar)
        np.multiply(q_bar, 0.125, out=q_bar)
        np.matmul(s_bar_t, q_scaled, out=k_bar)
        return value, bars

    return call


ATTENTION = Workload(
    name="attention",
    about="4 heads, 128 x 64",
    sizes={"": dict(heads=4, length=128, width=64)},
    inputs=inputs,
    wanted=(0, 1, 2),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda heads, length, width: heads * length * length,
)
