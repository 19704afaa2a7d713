"""Train a convolutional network on handwritten digits, from plain NumPy arrays to a gradient.

In: the 1,797 images of scikit-learn's ``load_digits`` (8 x 8 pixels, ten classes).
Out: the generated source of the loss and its gradient, the accuracy on the test images after every
few epochs, and the kernels that were learned in ``examples/output/convnet.png``.

    python examples/convnet.py [--backend jax] [--epochs 30] [--quick] [--beside-jax]
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tracegrad as tg
from tracegrad import nn

CHANNELS = 16, 32
BATCH = 32
RATE = 4e-3  # of the first step; it falls along half a cosine
DROPPED = 0.5
REQUIRED_ACCURACY = 0.97

noise = tg.random.Generator(0)


# The model: functions of a dict of arrays.


def forward(params, images, training=False):
    """The logits, shape (len(images), 10), of images of shape (n, 1, 8, 8)."""
    h = nn.relu(nn.conv2d(images, params["w1"], params["b1"], padding="same"))
    h = nn.relu(nn.conv2d(h, params["w2"], params["b2"], padding="same"))
    h = nn.max_pool2d(h, 2)
    h = nn.dropout(h, DROPPED, training=training, generator=noise)
    h = h.reshape(len(images), -1)
    return nn.linear(h, params["w3"], params["b3"])


@tg.value_and_grad
def loss(params, images, labels):
    """The mean cross-entropy, and its gradient with respect to params."""
    return nn.cross_entropy(forward(params, images, training=True), labels)


@tg.value_and_grad
def loss_without_noise(params, images, labels):
    """The loss without dropout, for comparisons: JAX draws other random numbers."""
    return nn.cross_entropy(forward(params, images), labels)


def in_jax():
    """Loss and gradient without noise in JAX."""
    import jax
    import jax.numpy as jnp

    def convolved(images, weights, bias):
        found = jax.lax.conv_general_dilated(images, weights, (1, 1), "SAME")
        return jax.nn.relu(found + bias[:, None, None])

    def loss(params, images, labels):
        h = convolved(images, params["w1"], params["b1"])
        h = convolved(h, params["w2"], params["b2"])
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        logits = h.reshape(len(images), -1) @ params["w3"].T + params["b3"]
        picked = jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels]
        return -picked.mean()

    return jax.jit(jax.value_and_grad(loss))


@tg.compile
def predict(params, images):
    """The most likely digit of each image."""
    return np.argmax(forward(params, images), axis=1)


def initial_params(rng):
    first, second = CHANNELS
    shapes = {"1": (first, 1, 3, 3), "2": (second, first, 3, 3), "3": (10, second * 4 * 4)}
    params = {}
    for layer, shape in shapes.items():
        weights = nn.init.kaiming_normal(shape, nonlinearity="relu", generator=rng)
        params[f"w{layer}"] = weights.astype(np.float32)
        params[f"b{layer}"] = np.zeros(shape[0], np.float32)
    return params


# Training.


def digits():
    """(x_train, x_test, y_train, y_test) with pixels in [0, 1]; 1,440 images are for training."""
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    return train_test_split(images, labels, train_size=1440, stratify=labels, random_state=0)


def shown():
    """The function whose source is shown, and the arguments of a call."""
    images, _, labels, _ = digits()
    return loss, (initial_params(np.random.default_rng(0)), images[:BATCH], labels[:BATCH])


def compared():
    """The function that is timed beside another, and the arguments of a call."""
    return loss_without_noise, shown()[1]


def accuracy(params, images, labels):
    return np.mean(predict(params, images) == labels)


def train(params, data, epochs, rng):
    """The trained params."""
    x_train, x_test, y_train, y_test = data
    steps = epochs * (len(x_train) // BATCH)
    decay = tg.optim.schedules.cosine_decay(steps)
    init, update = tg.optim.adam(lr=lambda step: RATE * decay(step))
    update, state = tg.compile(update), init(params)
    bar = trange(1, epochs + 1, desc="training", unit="epoch")
    for epoch in bar:
        losses = []
        for batch in rng.permutation(len(x_train)).reshape(-1, BATCH):
            value, grads = loss(params, x_train[batch], y_train[batch])
            params, state = update(params, grads, state)
            losses.append(value)
        if epoch % 5 == 0 or epoch == epochs:
            found = accuracy(params, x_test, y_test)
            bar.write(f"epoch {epoch:3}: loss {np.mean(losses):.4f}, test {found:.2%}")
    return params


def plot(params):
    """The kernels of the first layer."""
    kernels = params["w1"][:, 0]
    limit = np.abs(kernels).max()
    figure, rows = plt.subplots(2, len(kernels) // 2, figsize=(8, 2.2), layout="constrained")
    for axes, kernel in zip(rows.flat, kernels):
        axes.imshow(kernel, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axes.set(xticks=[], yticks=[])
    figure.suptitle("Kernels of the first layer")
    common.save(figure, "convnet")


def main(arguments=None):
    parser = common.options(__doc__, "6 epochs")
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        function, given = compared()
        return common.beside_jax(function, in_jax(), given)
    epochs = min(args.epochs, 6) if args.quick else args.epochs

    rng = np.random.default_rng(0)
    data = digits()
    params = initial_params(rng)
    print(f"The loss and its gradient, generated for {args.backend}:\n")
    print(loss.source(params, data[0][:BATCH], data[2][:BATCH]))
    params = train(params, data, epochs, rng)
    plot(params)
    found = accuracy(params, data[1], data[3])
    print(f"test accuracy: {found:.2%} of {len(data[1])} images")
    assert found >= REQUIRED_ACCURACY, f"below {REQUIRED_ACCURACY:.0%}"


if __name__ == "__main__":
    main()
