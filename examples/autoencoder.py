"""Generate images of handwritten digits, with a variational autoencoder.

In: the 1,797 images of scikit-learn's ``load_digits`` (8 x 8 pixels, ten classes; the labels are
not used to train).
Out: the generated source of the loss and its gradient; the plane of the two numbers by which the
model describes an image, and the images that it generates for points of this plane, in
``examples/output/autoencoder.png``.

    python examples/autoencoder.py [--backend jax] [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_digits
from tqdm import trange

import tracegrad as tg
from tracegrad import nn

HIDDEN = 128
BATCH = 128
RATE = 3e-3
EPOCHS = 150


# The model: an image as two numbers, its code, and back (Kingma and Welling, 2014).


def encode(params, images):
    """For each image the mean of its code, and the logarithm of the standard deviation."""
    h = np.tanh(nn.linear(images, params["w1"], params["b1"]))
    found = nn.linear(h, params["w2"], params["b2"])
    return found[:, :2], found[:, 2:]


def decode(params, places):
    """For each code the logits of an image's pixels."""
    h = np.tanh(nn.linear(places, params["w3"], params["b3"]))
    return nn.linear(h, params["w4"], params["b4"])


@tg.value_and_grad
def loss(params, images, noise):
    """Minus the evidence lower bound of an image, and its gradient in params."""
    mean, log_deviation = encode(params, images)
    places = mean + np.exp(log_deviation) * noise
    logits = decode(params, places)
    written = nn.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    spread = np.exp(2.0 * log_deviation) + mean**2 - 1.0 - 2.0 * log_deviation
    return (written + 0.5 * np.sum(spread)) / len(images)


def in_jax():
    """The same in JAX."""
    import jax
    import jax.numpy as jnp

    def linear(x, weights, bias):
        return x @ weights.T + bias

    def loss(params, images, noise):
        h = jnp.tanh(linear(images, params["w1"], params["b1"]))
        found = linear(h, params["w2"], params["b2"])
        mean, log_deviation = found[:, :2], found[:, 2:]
        places = mean + jnp.exp(log_deviation) * noise
        h = jnp.tanh(linear(places, params["w3"], params["b3"]))
        logits = linear(h, params["w4"], params["b4"])
        written = (jax.nn.softplus(logits) - images * logits).sum()
        spread = jnp.exp(2.0 * log_deviation) + mean**2 - 1.0 - 2.0 * log_deviation
        return (written + 0.5 * spread.sum()) / len(images)

    return jax.jit(jax.value_and_grad(loss))


# Training.


def initial_params(rng):
    shapes = {"1": (HIDDEN, 64), "2": (4, HIDDEN), "3": (HIDDEN, 2), "4": (64, HIDDEN)}
    params = {}
    for layer, shape in shapes.items():
        params[f"w{layer}"] = nn.init.xavier_normal(shape, generator=rng).astype(np.float32)
        params[f"b{layer}"] = np.zeros(shape[0], np.float32)
    return params


def digits():
    """Images with pixels in [0, 1], and their labels."""
    pixels, labels = load_digits(return_X_y=True)
    return (pixels / 16.0).astype(np.float32), labels


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    rng = np.random.default_rng(0)
    return loss, (initial_params(rng), digits()[0][:BATCH], drawn(rng, BATCH))


def drawn(rng, count):
    """The random numbers of a batch."""
    return rng.standard_normal((count, 2)).astype(np.float32)


def train(params, images, epochs, rng):
    """The trained params, and the mean loss of each epoch."""
    init, update = tg.optim.adam(lr=RATE)
    update, state, history = tg.compile(update), init(params), []
    bar = trange(epochs, desc="training", unit="epoch")
    for _ in bar:
        losses = []
        for batch in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
            value, grads = loss(params, images[batch], drawn(rng, len(batch)))
            params, state = update(params, grads, state)
            losses.append(value)
        history.append(np.mean(losses))
        bar.set_postfix(loss=f"{history[-1]:.3f}", refresh=False)
    return params, np.array(history)


def plot(params, images, labels, across=14):
    """The codes of the images, and what the model generates for points of the plane."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    means, _ = encode(params, images)
    points = left.scatter(*means.T, c=labels, cmap="tab10", s=6, vmin=-0.5, vmax=9.5)
    figure.colorbar(points, ax=left, ticks=range(10), label="digit (unknown to the model)")
    left.set(title="Where the images lie", xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))
    left.spines[["top", "right"]].set_visible(False)

    steps = norm.ppf(np.linspace(0.02, 0.98, across)).astype(np.float32)
    places = np.stack(np.meshgrid(steps, steps[::-1]), axis=-1).reshape(-1, 2)
    pixels = 1.0 / (1.0 + np.exp(-decode(params, places)))
    padded = np.pad(pixels.reshape(-1, 8, 8), [(0, 0), (1, 1), (1, 1)])
    sheet = padded.reshape(across, across, 10, 10).swapaxes(1, 2).reshape(10 * across, -1)
    right.imshow(sheet, cmap="gray_r", vmin=0, vmax=1)
    right.set(title="What the model writes, place by place", xticks=[], yticks=[])
    common.save(figure, "autoencoder")


def main(arguments=None):
    args = common.options(__doc__, "10 epochs").parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    print(f"The loss and its gradient, generated for {args.backend}:\n")
    print(loss.source(*shown()[1]))
    rng = np.random.default_rng(0)
    images, labels = digits()
    epochs = 10 if args.quick else EPOCHS
    params, history = train(initial_params(rng), images, epochs, rng)
    plot(params, images, labels)
    print(f"loss of an image: {history[0]:.2f} in the first epoch, {history[-1]:.2f} in the last")
    assert history[-1] < 0.85 * history[0]


if __name__ == "__main__":
    main()
