"""Train a classifier of handwritten digits with a gradient that tracegrad wrote.

In: the 1,797 images of scikit-learn's ``load_digits`` (8 x 8 pixels, ten classes).
Out: the generated backward, the test accuracy, the time of a step beside hand-written NumPy, and
the learning curves in ``examples/output/digits_mlp.png``.

    python examples/digits_mlp.py [--backend jax] [--epochs 60] [--quick] [--beside-jax]
"""

from time import perf_counter

import common
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tracegrad as tg

HIDDEN = 128
BATCH = 32
RATE = 8e-3  # of the first step; it falls linearly to zero
NOISE = 0.2  # standard deviation of what is added to each training image; it prevents overfitting
REQUIRED_ACCURACY = 0.97


# The model: plain NumPy, and one decorator.


def forward(params, x):
    """The logits of a two-layer network, shape (len(x), 10)."""
    h = np.tanh(x @ params["w1"] + params["b1"])
    return h @ params["w2"] + params["b2"]


@tg.value_and_grad
def loss(params, x, y):
    """Mean cross-entropy of the integer labels y, and its gradient with respect to params."""
    logits = forward(params, x)
    picked = logits[np.arange(len(y)), y]
    return np.mean(tg.logsumexp(logits, axis=1) - picked)


def loss_by_hand(params, x, y):
    """The same value and gradient, derived on paper."""
    rows = np.arange(len(y))
    h = np.tanh(x @ params["w1"] + params["b1"])
    logits = h @ params["w2"] + params["b2"]
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    z = p.sum(axis=1, keepdims=True)
    value = (np.log(z[:, 0]) - logits[rows, y]).sum() / len(y)

    p /= z
    p[rows, y] -= 1.0
    p /= len(y)
    h_bar = (p @ params["w2"].T) * (1.0 - h * h)
    return value, {
        "w1": x.T @ h_bar,
        "b1": h_bar.sum(axis=0),
        "w2": h.T @ p,
        "b2": p.sum(axis=0),
    }


def in_jax():
    """The same in JAX."""
    import jax
    import jax.numpy as jnp

    def loss(params, x, y):
        h = jnp.tanh(x @ params["w1"] + params["b1"])
        logits = h @ params["w2"] + params["b2"]
        picked = logits[jnp.arange(len(y)), y]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - picked)

    return jax.jit(jax.value_and_grad(loss))


# Training.


def digits():
    """(x_train, x_test, y_train, y_test) with pixels in [0, 1]; 1,440 images are for training."""
    images, labels = load_digits(return_X_y=True)
    return train_test_split(images / 16.0, labels, train_size=1440, stratify=labels, random_state=0)


def initial_params(rng):
    return {
        "w1": rng.normal(0.0, 1 / np.sqrt(64), (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(0.0, 1 / np.sqrt(HIDDEN), (HIDDEN, 10)),
        "b2": np.zeros(10),
    }


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    x, _, y, _ = digits()
    return loss, (initial_params(np.random.default_rng(0)), x[:BATCH], y[:BATCH])


class Adam:
    """Adam (Kingma and Ba, 2015) on a dict of arrays, which it updates in place."""

    def __init__(self, params, decay=(0.9, 0.999), eps=1e-8):
        self.decay, self.eps, self.steps = decay, eps, 0
        self.mean = {name: np.zeros_like(p) for name, p in params.items()}
        self.square = {name: np.zeros_like(p) for name, p in params.items()}

    def step(self, params, grads, rate):
        self.steps += 1
        b1, b2 = self.decay
        rate *= np.sqrt(1 - b2**self.steps) / (1 - b1**self.steps)
        for name, g in grads.items():
            m, v = self.mean[name], self.square[name]
            m += (1 - b1) * (g - m)
            v += (1 - b2) * (g * g - v)
            params[name] -= rate * m / (np.sqrt(v) + self.eps)


def accuracy(params, x, y):
    return np.mean(forward(params, x).argmax(axis=1) == y)


def train(params, data, epochs, rng):
    """Train params in place.

    Returns an array with one row an epoch: train loss, test loss, train accuracy, test accuracy.
    """
    x_train, x_test, y_train, y_test = data
    adam = Adam(params)
    history = []
    bar = trange(epochs, desc="training", unit="epoch")
    for epoch in bar:
        losses = []
        for batch in rng.permutation(len(x_train)).reshape(-1, BATCH):
            x = x_train[batch] + rng.normal(0.0, NOISE, (BATCH, 64))
            value, grads = loss(params, x, y_train[batch])
            adam.step(params, grads, RATE * (1 - epoch / epochs))
            losses.append(value)
        history.append(
            (
                np.mean(losses),
                loss(params, x_test, y_test)[0],
                accuracy(params, x_train, y_train),
                accuracy(params, x_test, y_test),
            )
        )
        bar.set_postfix(loss=f"{history[-1][0]:.4f}", test=f"{history[-1][3]:.1%}", refresh=False)
    return np.array(history)


# What is shown.


def compare_with_hand(params, x, y, rounds, calls=50):
    """Check the gradient against loss_by_hand and time both, alternating; times in microseconds."""
    value, grads = loss(params, x, y)
    value_by_hand, grads_by_hand = loss_by_hand(params, x, y)
    worst = max(
        abs(value - value_by_hand), *(np.abs(grads[k] - g).max() for k, g in grads_by_hand.items())
    )
    assert worst <= 1e-12, f"gradients differ by {worst:.1e}"

    def microseconds(f):
        start = perf_counter()
        for _ in range(calls):
            f(params, x, y)
        return (perf_counter() - start) / calls * 1e6

    times = np.array([(microseconds(loss), microseconds(loss_by_hand)) for _ in range(rounds)])
    ours, by_hand = np.median(times, axis=0)
    ratio = np.median(times[:, 0] / times[:, 1])
    print(f"largest difference from the hand-written gradient: {worst:.1e}")
    print(
        f"value and gradient, batch of {len(y)}: {ours:.0f} us generated, "
        f"{by_hand:.0f} us by hand, median ratio {ratio:.2f}"
    )


def plot(history):
    train_loss, test_loss, train_accuracy, test_accuracy = history.T
    epochs = np.arange(1, len(history) + 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(epochs, train_loss, label="train (images with noise)")
    left.plot(epochs, test_loss, label="test")
    left.set(title="Loss", xlabel="epoch", ylabel="mean cross-entropy", yscale="log")
    right.plot(epochs, 100 * train_accuracy, label="train")
    right.plot(epochs, 100 * test_accuracy, label="test")
    right.axhline(100 * REQUIRED_ACCURACY, color="0.6", linestyle=":", label="required")
    right.set(title="Accuracy", xlabel="epoch", ylabel="accuracy (%)", ylim=(85, 100.5))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    common.save(figure, "digits_mlp")


def main(arguments=None):
    parser = common.options(__doc__, "30 epochs and a short timing")
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])
    epochs, rounds = (min(args.epochs, 30), 5) if args.quick else (args.epochs, 41)

    rng = np.random.default_rng(0)
    data = digits()
    params = initial_params(rng)
    x, y = data[0][:BATCH], data[2][:BATCH]

    print(f"The backward of loss, generated for {args.backend}:\n")
    print(loss.source(params, x, y, part="backward"))
    history = train(params, data, epochs, rng)
    compare_with_hand(params, x, y, rounds)
    plot(history)
    print(f"test accuracy: {history[-1, 3]:.2%} of {len(data[1])} images")
    assert history[-1, 3] >= REQUIRED_ACCURACY, f"below {REQUIRED_ACCURACY:.0%}"


if __name__ == "__main__":
    main()
