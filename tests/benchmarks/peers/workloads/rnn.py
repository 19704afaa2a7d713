"""A recurrent network: a sequence of batches in, the mean square of its last state's error out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload

BATCH, WIDTH, HIDDEN = 16, 16, 32


def inputs(random, steps):
    return (
        random.normal(0.0, WIDTH**-0.5, (WIDTH, HIDDEN)),
        random.normal(0.0, HIDDEN**-0.5, (HIDDEN, HIDDEN)),
        random.normal(0.0, 0.1, HIDDEN),
        random.normal(size=(steps, BATCH, WIDTH)),
        random.normal(size=(BATCH, HIDDEN)),
    )


def loss(library):
    np = library.np

    def error(w, u, b, xs, target):
        h = 0.0 * target
        for x in xs:
            h = np.tanh(x @ w + h @ u + b)
        return np.mean((h - target) ** 2)

    return error


def loss_in_jax(library):
    import jax

    np = library.np

    def error(w, u, b, xs, target):
        def step(h, x):
            return np.tanh(x @ w + h @ u + b), None

        h, _ = jax.lax.scan(step, 0.0 * target, xs)
        return np.mean((h - target) ** 2)

    return error


def by_hand(w, u, b, xs, target):
    h = np.zeros_like(target)
    states = [h]
    for x in xs:
        h = np.tanh(x @ w + h @ u + b)
        states.append(h)
    error = h - target
    value = (error * error).sum() / error.size

    h_bar = error * (2.0 / error.size)
    w_bar, u_bar, b_bar = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    for t in range(len(xs) - 1, -1, -1):
        h = states[t + 1]
        z_bar = h_bar * (1.0 - h * h)
        w_bar += xs[t].T @ z_bar
        u_bar += states[t].T @ z_bar
        b_bar += z_bar.sum(axis=0)
        h_bar = z_bar @ u.T
    return value, (w_bar, u_bar, b_bar)


def tuned(w, u, b, xs, target):
    steps, batch, _ = xs.shape
    hidden = len(b)
    states = np.zeros((steps + 1, batch, hidden), xs.dtype)
    slopes, z_bars = np.empty((2, steps, batch, hidden), xs.dtype)
    error, h_bar = np.empty_like(target), np.empty_like(target)
    bars = w_bar, u_bar, b_bar = tuple(np.empty_like(a) for a in (w, u, b))
    rows, drive, sums = (a.reshape(-1, a.shape[2]) for a in (xs, slopes, z_bars))
    before, after = states[:-1], states[1:]
    before_rows = before.reshape(-1, hidden)
    forward = list(zip(before, after, slopes, strict=True))
    backward = list(zip(z_bars, slopes, strict=True))[::-1]
    u_t, scale, one = u.T, 2.0 / error.size, np.ones((), xs.dtype)

    def call():
        # all products with inputs at once, in the buffer that holds the slopes of tanh later
        np.matmul(rows, w, out=drive)
        np.add(drive, b, out=drive)
        for h, new, driven in forward:
            np.matmul(h, u, out=new)
            np.add(new, driven, out=new)
            np.tanh(new, out=new)
        np.subtract(new, target, out=error)
        value = np.vdot(error, error) / error.size

        np.multiply(after, after, out=slopes)
        np.subtract(one, slopes, out=slopes)
        np.multiply(error, scale, out=h_bar)
        for z_bar, slope in backward:
            np.multiply(h_bar, slope, out=z_bar)
            np.matmul(z_bar, u_t, out=h_bar)
        np.matmul(rows.T, sums, out=w_bar)
        np.matmul(before_rows.T, sums, out=u_bar)
        np.add.reduce(sums, axis=0, out=b_bar)
        return value, bars

    return call


RNN = Workload(
    name="RNN",
    about="batch 16, 16 inputs, 32 hidden, tanh, error of the last state",
    sizes={"T=10": dict(steps=10), "T=100": dict(steps=100)},
    inputs=inputs,
    wanted=(0, 1, 2),
    loss=loss,
    own={"jax.jit": loss_in_jax},
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda steps: BATCH * HIDDEN,
    dtypes=("float64",),
)
