"""Measure what a compiled call costs at small sizes, where the number of Python steps decides.

In: value-and-gradient functions compiled by tracegrad and the same ones derived by hand.
Out: a Markdown table of times and ratios, guards and argument handling included.

    python -m tests.benchmarks.small_calls [--rounds 101] [--backend jax]

Both sides run in one process and alternate: A B, B A, A B, ... A ratio is taken within each round,
so a change of the machine's speed between rounds does not enter it. The hand-written side is
readable NumPy without ``out=``: shared subexpressions are computed once, methods are used where
they are faster than functions, the row index of the labels is made once.
"""

import argparse
import platform
from statistics import median
from timeit import Timer

import numpy as np

import tracegrad as tg

ROUND_SECONDS = 0.002  # one side of one round


# 12 elementwise operations and a sum.


def chain(x, y):
    a = np.tanh(x * y)
    b = np.exp(np.sin(a + x))
    c = b / (np.abs(y) + 1.0)
    d = a - c
    return np.sum(np.sqrt(d * d + 1.0))


def chain_by_hand(x, y):
    a = np.tanh(x * y)
    t = a + x
    s = np.abs(y) + 1.0
    c = np.exp(np.sin(t)) / s
    d = a - c
    r = np.sqrt(d * d + 1.0)

    d_bar = d / r
    u = d_bar * c
    v = u * np.cos(t)
    p_bar = (d_bar - v) * (1.0 - a * a)
    return r.sum(), (p_bar * y - v, p_bar * x + u / s * np.sign(y))


# A training step of a 64-128-10 classifier: cross-entropy of integer labels, four parameters.


BATCH = 32
ROWS = np.arange(BATCH)


def mlp(w1, b1, w2, b2, x, labels):
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    picked = logits[np.arange(len(labels)), labels]
    return np.mean(tg.logsumexp(logits, axis=1) - picked)


def mlp_dict(params, x, labels):
    return mlp(params["w1"], params["b1"], params["w2"], params["b2"], x, labels)


def mlp_by_hand(w1, b1, w2, b2, x, labels):
    n = len(labels)
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    z = p.sum(axis=1, keepdims=True)
    value = (np.log(z[:, 0]) - logits[ROWS, labels]).sum() / n

    p /= z
    p[ROWS, labels] -= 1.0
    p /= n
    h_bar = (p @ w2.T) * (1.0 - h * h)
    return value, (x.T @ h_bar, h_bar.sum(axis=0), h.T @ p, p.sum(axis=0))


def mlp_dict_by_hand(params, x, labels):
    value, grads = mlp_by_hand(params["w1"], params["b1"], params["w2"], params["b2"], x, labels)
    return value, dict(zip(("w1", "b1", "w2", "b2"), grads, strict=True))


def cases():
    """Yield (title, function, argnums, the hand-written value and gradient, arguments)."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    yield "12-op chain, 100 elements", chain, (0, 1), chain_by_hand, (x, y)

    params = {
        "w1": rng.normal(0, 0.125, (64, 128)),
        "b1": rng.normal(0, 0.1, 128),
        "w2": rng.normal(0, 0.1, (128, 10)),
        "b2": rng.normal(0, 0.1, 10),
    }
    batch = (rng.random((BATCH, 64)), rng.integers(0, 10, BATCH))
    positional = (*params.values(), *batch)
    yield "MLP 64-128-10, batch 32, four arrays", mlp, (0, 1, 2, 3), mlp_by_hand, positional
    yield "MLP 64-128-10, batch 32, a dict", mlp_dict, 0, mlp_dict_by_hand, (params, *batch)


def largest_difference(ours, by_hand):
    """The largest absolute difference between two equal structures of arrays."""
    if isinstance(by_hand, dict):
        assert ours.keys() == by_hand.keys()
        return max(largest_difference(ours[k], by_hand[k]) for k in by_hand)
    if isinstance(by_hand, tuple):
        return max(largest_difference(a, b) for a, b in zip(ours, by_hand, strict=True))
    assert np.shape(ours) == np.shape(by_hand)
    return float(np.abs(ours - by_hand).max())


def alternate(f, g, args, rounds):
    """One (seconds a call of f, seconds a call of g) for each round, garbage collector off."""
    timers = [Timer("f(*args)", globals={"f": f, "args": args}) for f in (f, g)]
    calls = [max(1, round(ROUND_SECONDS / (min(t.repeat(5, 20)) / 20))) for t in timers]
    times = []
    for r in range(rounds):
        pair = [0.0, 0.0]
        for side in (0, 1) if r % 2 else (1, 0):
            pair[side] = timers[side].timeit(calls[side]) / calls[side]
        times.append(pair)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--backend", choices=["numpy", "jax"], default="numpy")
    args = parser.parse_args()

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, backend {args.backend},")
    print(f"{args.rounds} rounds; times are medians in microseconds a call.\n")
    print("| value and gradient, float64 | by hand | compiled | median ratio | least ratio |")
    print("| --- | --- | --- | --- | --- |")
    for title, f, argnums, by_hand, inputs in cases():
        compiled = tg.value_and_grad(f, argnums=argnums, backend=args.backend)
        difference = largest_difference(compiled(*inputs), by_hand(*inputs))
        assert difference <= 1e-12, f"{title}: values or gradients differ by {difference:.1e}"

        times = alternate(compiled, by_hand, inputs, args.rounds)
        ours, hand = (1e6 * median(side) for side in zip(*times, strict=True))
        ratios = [a / b for a, b in times]
        print(f"| {title} | {hand:.1f} | {ours:.1f} | {median(ratios):.2f} | {min(ratios):.2f} |")


if __name__ == "__main__":
    main()
