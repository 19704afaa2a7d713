"""Measure what `tg.config.check_finite` costs while everything is finite.

In: training steps of a classifier (value and gradient of its loss), from small to realistic sizes.
Out: a Markdown table: microseconds a call without checks, and what checks add.

    python -m tests.benchmarks.check_finite [--rounds 101]

Two compiled functions of the same text alternate in one process, one of them with checks. A
difference of two long times would be noise, so what checks add is measured by itself too: the time
of one look at the results of the step.
"""

import argparse
import platform
from statistics import median
from timeit import Timer

import numpy as np

import tracegrad as tg
from tests.benchmarks.small_calls import alternate
from tracegrad.execution.nonfinite import is_finite


def loss(w1, b1, w2, b2, x, labels):
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_normaliser = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_normaliser - shifted[np.arange(x.shape[0]), labels])


def step(batch, inputs, hidden, classes=10):
    random = np.random.default_rng(0)
    return (
        0.1 * random.normal(size=(inputs, hidden)),
        np.zeros(hidden),
        0.1 * random.normal(size=(hidden, classes)),
        np.zeros(classes),
        random.normal(size=(batch, inputs)),
        random.integers(classes, size=batch),
    )


STEPS = [(32, 64, 128), (128, 784, 128), (256, 784, 512), (512, 784, 1024)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101)
    rounds = parser.parse_args().rounds
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, {rounds} rounds; medians.\n"
    )
    print(
        "| batch, inputs, hidden | us a call | with checks | one look at the results, us | share |"
    )
    print("| --- | --- | --- | --- | --- |")
    for sizes in STEPS:
        args = step(*sizes)
        plain = tg.value_and_grad(loss, argnums=(0, 1, 2, 3))
        result = plain(*args)

        def checked(*args, plain=plain):
            tg.config.check_finite = True
            try:
                return plain(*args)
            finally:
                tg.config.check_finite = False

        times = alternate(checked, plain, args, rounds)
        ratio = median(a / b for a, b in times)
        call = 1e6 * median(b for _, b in times)
        look = Timer(lambda result=result: is_finite(result))
        looks = 1e6 * median(t / 20 for t in look.repeat(21, 20))
        print(f"| {sizes} | {call:.0f} | {ratio:.3f} | {looks:.1f} | {looks / call:.1%} |")


if __name__ == "__main__":
    main()
