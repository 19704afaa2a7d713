"""A small convolutional classifier: images and labels in, the mean cross-entropy out.

Two 3 x 3 convolutions of 8 and 16 channels, each followed by relu and the mean of 2 x 2 squares,
and a linear layer.
"""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, batch, side=28):
    return (
        random.normal(0.0, 0.3, (8, 1, 3, 3)),
        random.normal(0.0, 0.1, (8, 1, 1)),
        random.normal(0.0, 0.1, (16, 8, 3, 3)),
        random.normal(0.0, 0.1, (16, 1, 1)),
        random.normal(0.0, 0.05, (side * side, 10)),
        random.normal(0.0, 0.1, 10),
        random.random((batch, 1, side, side)),
        random.integers(0, 10, batch),
        np.arange(batch),
    )


def loss(library):
    np, logsumexp, conv2d = library.np, library.logsumexp, library.conv2d

    def halved(x):
        n, channels, height, width = x.shape
        return np.mean(np.reshape(x, (n, channels, height // 2, 2, width // 2, 2)), axis=(3, 5))

    def cross_entropy(w1, b1, w2, b2, w3, b3, x, labels, rows):
        h1 = halved(np.maximum(conv2d(x, w1) + b1, 0.0))
        h2 = halved(np.maximum(conv2d(h1, w2) + b2, 0.0))
        logits = np.reshape(h2, (x.shape[0], -1)) @ w3 + b3
        return np.mean(logsumexp(logits, 1) - logits[rows, labels])

    return cross_entropy


def loss_in_torch(library):
    np, f = library.np, library.np.nn.functional

    def cross_entropy(w1, b1, w2, b2, w3, b3, x, labels, rows):
        h1 = f.avg_pool2d(f.relu(f.conv2d(x, w1, b1.reshape(-1), padding=1)), 2)
        h2 = f.avg_pool2d(f.relu(f.conv2d(h1, w2, b2.reshape(-1), padding=1)), 2)
        return f.cross_entropy(np.addmm(b3, h2.flatten(1), w3), labels)

    return cross_entropy


def windows(x):
    """`(channels, n, height, width)` to `(channels * 9, n * height * width)`, padded by one."""
    channels, _, height, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    shifted = [padded[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.stack(shifted, axis=1).reshape(channels * 9, -1)


def sum_of_windows(w, channels, n, height, width):
    """The transpose of `windows`."""
    w = w.reshape(channels, 3, 3, n, height, width)
    padded = np.zeros((channels, n, height + 2, width + 2), w.dtype)
    for i in range(3):
        for j in range(3):
            padded[:, :, i : i + height, j : j + width] += w[:, i, j]
    return padded[:, :, 1:-1, 1:-1]


def halved_by_hand(x):
    return 0.25 * (x[..., ::2, ::2] + x[..., 1::2, ::2] + x[..., ::2, 1::2] + x[..., 1::2, 1::2])


def doubled(x):
    """The transpose of `halved_by_hand`."""
    return (0.25 * x).repeat(2, axis=-1).repeat(2, axis=-2)


def by_hand(w1, b1, w2, b2, w3, b3, x, labels, rows):
    n, _, height, width = x.shape
    x1 = windows(x.swapaxes(0, 1))
    y1 = np.maximum((w1.reshape(8, 9) @ x1).reshape(8, n, height, width) + b1[:, None], 0.0)
    h1 = halved_by_hand(y1)
    x2 = windows(h1)
    y2 = (w2.reshape(16, 72) @ x2).reshape(16, n, height // 2, width // 2) + b2[:, None]
    y2 = np.maximum(y2, 0.0)
    h2 = halved_by_hand(y2).swapaxes(0, 1)
    flat = h2.reshape(n, -1)
    logits = flat @ w3 + b3
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    z = p.sum(axis=1, keepdims=True)
    value = (np.log(z[:, 0]) - logits[rows, labels]).sum() / n

    p /= z
    p[rows, labels] -= 1.0
    p /= n
    h2_bar = (p @ w3.T).reshape(h2.shape).swapaxes(0, 1)
    y2_bar = (doubled(h2_bar) * (y2 > 0.0)).reshape(16, -1)
    x2_bar = w2.reshape(16, 72).T @ y2_bar
    h1_bar = sum_of_windows(x2_bar, 8, n, height // 2, width // 2)
    y1_bar = (doubled(h1_bar) * (y1 > 0.0)).reshape(8, -1)
    return value, (
        (y1_bar @ x1.T).reshape(w1.shape),
        y1_bar.sum(axis=1).reshape(b1.shape),
        (y2_bar @ x2.T).reshape(w2.shape),
        y2_bar.sum(axis=1).reshape(b2.shape),
        flat.T @ p,
        p.sum(axis=0),
    )


class _Layer:
    """One convolution with relu and halving, channels first, and its transpose, in buffers."""

    def __init__(self, w, b, n, side, dtype):
        out, into = w.shape[:2]
        half = side // 2
        self.w, self.b = w.reshape(out, -1), b.reshape(out, 1)
        self.padded = np.zeros((into, n, side + 2, side + 2), dtype)
        self.padded_bar = np.empty_like(self.padded)
        self.image, self.image_bar = (
            whole[:, :, 1:-1, 1:-1] for whole in (self.padded, self.padded_bar)
        )
        self.windows = np.empty((into, 9, n, side, side), dtype)
        self.columns = self.windows.reshape(into * 9, -1)
        self.y = np.empty((out, n * side * side), dtype)
        self.y_bar = np.empty_like(self.y)
        self.positive = np.empty(self.y.shape, bool)
        self.result = np.empty((out, n, half, half), dtype)
        grid = self.y.reshape(out, n, half, 2, half, 2)
        self.corners = [grid[:, :, :, i, :, j] for i in (0, 1) for j in (0, 1)]
        self.wide = np.empty((out, n, half, half, 2), dtype)  # rows of twice the length
        self.wide_rows = self.wide.reshape(out, n, half, 1, side)
        self.y_bar_rows, self.positive_rows = (
            grid.reshape(out, n, half, 2, side) for grid in (self.y_bar, self.positive)
        )
        self.shifts, self.shifts_bar = (
            [whole[:, :, i : i + side, j : j + side] for i in range(3) for j in range(3)]
            for whole in (self.padded, self.padded_bar)
        )
        self.w_bar, self.b_bar = np.empty_like(self.w), np.empty_like(self.b)
        self.out_bars = self.w_bar.reshape(w.shape), self.b_bar.reshape(b.shape)

    def forward(self):
        for position, shifted in enumerate(self.shifts):
            self.windows[:, position] = shifted
        np.matmul(self.w, self.columns, out=self.y)
        np.add(self.y, self.b, out=self.y)
        np.maximum(self.y, 0.0, out=self.y)
        first, second, third, fourth = self.corners
        np.add(first, second, out=self.result)
        np.add(self.result, third, out=self.result)
        np.add(self.result, fourth, out=self.result)
        np.multiply(self.result, 0.25, out=self.result)

    def backward(self, bar):
        """`bar` is the cotangent of the result, to be overwritten."""
        np.multiply(bar, 0.25, out=bar)
        self.wide[..., 0] = bar
        self.wide[..., 1] = bar
        np.greater(self.y, 0.0, out=self.positive)
        np.multiply(self.wide_rows, self.positive_rows, out=self.y_bar_rows)
        np.matmul(self.y_bar, self.columns.T, out=self.w_bar)
        np.add.reduce(self.y_bar, axis=1, keepdims=True, out=self.b_bar)

    def backward_to_image(self):
        np.matmul(self.w.T, self.y_bar, out=self.columns)
        self.padded_bar[...] = 0.0
        for position, shifted in enumerate(self.shifts_bar):
            np.add(shifted, self.windows[:, position], out=shifted)
        return self.image_bar


def tuned(w1, b1, w2, b2, w3, b3, x, labels, rows):
    n, _, side, _ = x.shape
    first = _Layer(w1, b1, n, side, x.dtype)
    second = _Layer(w2, b2, n, side // 2, x.dtype)
    flat = np.empty((n, w3.shape[0]), x.dtype)
    flat_bar = np.empty_like(flat)
    by_image = (n, 16, side // 4, side // 4)
    h2, h2_bar = (y.reshape(by_image).swapaxes(0, 1) for y in (flat, flat_bar))
    p, top = np.empty((n, 10), x.dtype), np.empty((n, 1), x.dtype)
    w3_bar, b3_bar = np.empty_like(w3), np.empty_like(b3)
    picked, flat_p = rows * 10 + labels, p.reshape(-1)
    images = x.swapaxes(0, 1)
    bars = (*first.out_bars, *second.out_bars, w3_bar, b3_bar)

    def call():
        first.image[...] = images
        first.forward()
        second.image[...] = first.result
        second.forward()
        h2[...] = second.result
        np.matmul(flat, w3, out=p)
        np.add(p, b3, out=p)
        np.maximum.reduce(p, axis=1, keepdims=True, out=top)
        np.subtract(p, top, out=p)
        chosen = np.add.reduce(flat_p[picked])
        np.exp(p, out=p)
        np.add.reduce(p, axis=1, keepdims=True, out=top)
        np.divide(p, top, out=p)
        np.log(top, out=top)
        value = (np.add.reduce(top, axis=None) - chosen) / n

        flat_p[picked] -= 1.0
        np.multiply(p, 1.0 / n, out=p)
        np.matmul(flat.T, p, out=w3_bar)
        np.add.reduce(p, axis=0, out=b3_bar)
        np.matmul(p, w3.T, out=flat_bar)
        second.backward(h2_bar)
        first.backward(second.backward_to_image())
        return value, bars

    return call


CNN = Workload(
    name="CNN",
    about="batch 32, 28 x 28, 3 x 3 convolutions of 8 and 16 channels, relu, halving, linear",
    sizes={"": dict(batch=32)},
    inputs=inputs,
    wanted=(0, 1, 2, 3, 4, 5),
    loss=loss,
    own={"torch": loss_in_torch, "torch.compile": loss_in_torch},
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda batch: batch * 8 * 28 * 28,
)
