"""Measure convolution and attention, forward and backward, beside PyTorch and JAX on the CPU.

In: the same loss, a weighted sum of a layer's result or that of a network, in tracegrad, PyTorch
and JAX.
Out: a Markdown table of times and of the ratio to the best of the other two.

    python -m tests.benchmarks.nn [--rounds 41] [--dtype float32] [--threads 2]

All run in one process and take turns; a ratio is taken within each round. Values and gradients are
compared before anything is timed. PyTorch and JAX get their own arrays and keep their results;
tracegrad takes NumPy arrays and gives NumPy arrays.
"""

import argparse
import os
import platform
import sys
from statistics import median
from time import perf_counter

THREADS = next((b for a, b in zip(sys.argv, sys.argv[1:]) if a == "--threads"), "2")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = THREADS  # read when NumPy is imported

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

import tracegrad as tg  # noqa: E402

F = torch.nn.functional


def conv_in_tracegrad(x, w, weights):
    return (tg.nn.conv2d(x, w, padding=1) * weights).sum()


def conv_in_torch(x, w, weights):
    return (F.conv2d(x, w, padding=1) * weights).sum()


def conv_in_jax(x, w, weights):
    y = jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))
    return (y * weights).sum()


def network_in_tracegrad(w1, b1, w2, b2, w3, b3, images, labels):
    h = tg.nn.max_pool2d(tg.nn.relu(tg.nn.conv2d(images, w1, b1, padding=1)), 2)
    h = tg.nn.max_pool2d(tg.nn.relu(tg.nn.conv2d(h, w2, b2, padding=1)), 2)
    return tg.nn.cross_entropy(h.reshape(len(images), -1) @ w3 + b3, labels)


def network_in_torch(w1, b1, w2, b2, w3, b3, images, labels):
    h = F.max_pool2d(F.relu(F.conv2d(images, w1, b1, padding=1)), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, w2, b2, padding=1)), 2)
    return F.cross_entropy(h.flatten(1) @ w3 + b3, labels)


def network_in_jax(w1, b1, w2, b2, w3, b3, images, labels):
    def layer(x, w, b):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))) + b[:, None, None]
        size = (1, 1, 2, 2)
        return jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, size, size, "VALID")

    h = layer(layer(images, w1, b1), w2, b2)
    logits = jax.nn.log_softmax(h.reshape(len(images), -1) @ w3 + b3)
    return -jnp.take_along_axis(logits, labels[:, None], 1).mean()


def attention_in_tracegrad(q, k, v, weights):
    return (tg.nn.scaled_dot_product_attention(q, k, v) * weights).sum()


def attention_in_torch(q, k, v, weights):
    return (F.scaled_dot_product_attention(q, k, v) * weights).sum()


def attention_in_jax(q, k, v, weights):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return ((jax.nn.softmax(scores, axis=-1) @ v) * weights).sum()


def norm_in_tracegrad(x, w, b, weights):
    return (tg.nn.layer_norm(x, 256, w, b) * weights).sum()


def norm_in_torch(x, w, b, weights):
    return (F.layer_norm(x, (256,), w, b) * weights).sum()


def norm_in_jax(x, w, b, weights):
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = jnp.square(centred).mean(axis=-1, keepdims=True)
    return ((centred / jnp.sqrt(spread + 1e-5) * w + b) * weights).sum()


def cases(dtype):
    """Yield (title, functions in the three libraries, arguments to differentiate, others)."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.normal(size=shape).astype(dtype)

    conv = conv_in_tracegrad, conv_in_torch, conv_in_jax
    title = "conv2d 3 x 3, 8 to 16 channels, 28 x 28, batch 32"
    yield title, conv, (normal(32, 8, 28, 28), normal(16, 8, 3, 3)), normal(32, 16, 28, 28)
    title = "conv2d 3 x 3, 32 to 32 channels, 14 x 14, batch 16"
    yield title, conv, (normal(16, 32, 14, 14), normal(32, 32, 3, 3)), normal(16, 32, 14, 14)
    network = network_in_tracegrad, network_in_torch, network_in_jax
    parameters = normal(8, 1, 3, 3), normal(8), normal(16, 8, 3, 3) / 8, normal(16)
    parameters = *parameters, normal(784, 10) / 28, normal(10)
    images, labels = normal(32, 1, 28, 28), rng.integers(0, 10, 32)
    title = "CNN: conv, relu, max_pool, 8 and 16 channels, dense; 28 x 28, batch 32"
    yield title, network, parameters, images, labels
    attention = attention_in_tracegrad, attention_in_torch, attention_in_jax
    qkv = tuple(normal(1, 4, 128, 64) for _ in range(3))
    yield "attention, 4 heads, 128 x 64", attention, qkv, normal(1, 4, 128, 64)
    norm = norm_in_tracegrad, norm_in_torch, norm_in_jax
    args = normal(512, 256), normal(256), normal(256)
    yield "layer_norm, 512 x 256", norm, args, normal(512, 256)


def contestants(functions, args, others):
    """Three calls without arguments that give the value and the gradients."""
    ours, in_torch, in_jax = functions
    positions = tuple(range(len(args)))
    compiled = tg.value_and_grad(ours, argnums=positions)

    leaves = [torch.tensor(a, requires_grad=True) for a in args]
    torch_others = [torch.tensor(a) for a in others]

    def run_torch():
        for leaf in leaves:
            leaf.grad = None
        value = in_torch(*leaves, *torch_others)
        value.backward()
        return value.detach(), [leaf.grad for leaf in leaves]

    jitted = jax.jit(jax.value_and_grad(in_jax, argnums=positions))
    arrays = [jnp.asarray(a) for a in (*args, *others)]
    return (
        lambda: compiled(*args, *others),
        run_torch,
        lambda: jax.block_until_ready(jitted(*arrays)),
    )


def check(results, dtype):
    """Raises where values or gradients differ by more than rounding."""
    tolerance = 1e-3 if dtype == "float32" else 1e-9
    (value, gradients), *others = results
    for other, other_gradients in others:
        assert abs(float(value) - float(other)) <= tolerance * max(1.0, abs(float(value)))
        for a, b in zip(gradients, other_gradients):
            assert np.abs(a - np.asarray(b)).max() <= tolerance * np.abs(a).max()


def alternate(calls, rounds):
    """One row of seconds a round, one column a contestant."""
    times = []
    for r in range(rounds):
        row = [0.0] * len(calls)
        for i in range(len(calls)) if r % 2 else reversed(range(len(calls))):
            start = perf_counter()
            calls[i]()
            row[i] = perf_counter() - start
        times.append(row)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    jax.config.update("jax_enable_x64", True)

    versions = f"NumPy {np.__version__}, PyTorch {torch.__version__}, JAX {jax.__version__}"
    print(f"Python {platform.python_version()}, {versions}, {args.threads} threads,")
    print(f"{args.rounds} rounds; times are medians (least) in milliseconds.\n")
    print(f"| {args.dtype} | tracegrad | PyTorch | JAX | median ratio to the best | of the least |")
    print("| --- | --- | --- | --- | --- | --- |")
    for title, functions, inputs, *others in cases(args.dtype):
        calls = contestants(functions, inputs, others)
        check([call() for call in calls], args.dtype)
        for call in calls:
            call()
        times = alternate(calls, args.rounds)
        columns = list(zip(*times))
        shown = [f"{1e3 * median(c):.2f} ({1e3 * min(c):.2f})" for c in columns]
        best = min(range(1, len(columns)), key=lambda i: min(columns[i]))
        ratio = median(row[0] / row[best] for row in times)
        least = min(columns[0]) / min(columns[best])
        print(f"| {title} | {' | '.join(shown)} | {ratio:.2f} | {least:.2f} |")


if __name__ == "__main__":
    main()
