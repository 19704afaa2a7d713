"""What the examples share: their options, the time beside JAX, and where pictures go."""

import argparse
from pathlib import Path
from time import process_time

import matplotlib

matplotlib.use("Agg")  # no display is needed to save a picture

import matplotlib.pyplot as plt
import numpy as np

OUTPUT = Path(__file__).parent / "output"


def options(about, quick, backends=("numpy", "jax"), in_jax=True):
    """A parser of the arguments that examples take; ``quick`` says what ``--quick`` shortens."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--backend", choices=backends, default=backends[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    if in_jax:
        parser.add_argument("--beside-jax", action="store_true", help="only time it beside JAX")
    return parser


def beside_jax(ours, theirs, arguments):
    """Check that JAX computes the same, then print the time of a call of both.

    ``ours`` gets arrays of NumPy and ``theirs``, which is jitted, arrays of JAX.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    placed = jax.tree.map(jax.numpy.asarray, arguments)
    beside(
        "JAX",
        lambda: jax.tree.leaves(ours(*arguments)),
        lambda: jax.tree.leaves(jax.block_until_ready(theirs(*placed))),
    )


def beside(library, *calls, rounds=15, least=0.02):
    """Check that two calls give the same arrays, then print their times, taken in turns.

    Times are processor time of all threads: the median of ``rounds``, each at least ``least``
    seconds long.
    """
    for a, b in zip(*([dense(x) for x in call()] for call in calls), strict=True):
        tolerance = 1e-4 if a.dtype == np.float32 else 1e-9
        scale = max(1.0, np.abs(b).max())
        assert np.abs(a - b).max() <= tolerance * scale, f"{library} computes something else"

    def seconds(call):
        begin, count = process_time(), 0
        while (spent := process_time() - begin) < least:
            call()
            count += 1
        return spent / count

    times = np.array([[seconds(call) for call in calls] for _ in range(rounds)])
    mine, other = 1e3 * np.median(times, axis=0)
    ratio = np.median(times[:, 0] / times[:, 1])
    print(f"a call: {mine:.3f} ms generated, {other:.3f} ms {library}, median ratio {ratio:.2f}")


def dense(x):
    """An array of NumPy with the numbers of x, which may be a sparse one, or another library's."""
    for name in ("toarray", "to_dense"):
        x = getattr(x, name, lambda x=x: x)()
    return np.asarray(x)


def save(figure, name):
    """Write a figure to examples/output/, and print its path."""
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{name}.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"picture: {path}")
