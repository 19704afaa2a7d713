"""Train a classifier of handwritten digits, written as for PyTorch.

In: the 1,797 images of scikit-learn's ``load_digits`` (8 x 8 pixels, ten classes).
Out: the test accuracy, the source of the backward that ran, and a picture of the training and of
the images with the largest loss, ``examples/output/pytorch_style.png``.

    python examples/pytorch_style.py [--epochs 60] [--quick] [--backend jax]

With ``--backend jax`` the Tensors hold JAX arrays, and the numbers are the same. In JAX each eager
operation has a large overhead, so it is better to compile: see ``examples/digits_mlp.py``.
"""

import common
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tracegrad as tg

HIDDEN = 128
BATCH = 32
RATE = 0.2  # of the first step; it falls to zero along half a cosine
NOISE = 0.2  # standard deviation of what is added to each training image; it prevents overfitting
REQUIRED_ACCURACY = 0.96


# The model: leaf Tensors that require grad, and what is computed from them.


class Linear:
    """x -> x @ weight + bias."""

    def __init__(self, inputs, outputs, device):
        weight = tg.randn(inputs, outputs) / np.sqrt(inputs)
        self.weight = weight.to(device).requires_grad_()
        self.bias = tg.zeros(outputs).to(device).requires_grad_()

    def __call__(self, x):
        return x @ self.weight + self.bias


class Net:
    """The logits of ten digits from 64 pixels, by two layers."""

    def __init__(self, device):
        self.first = Linear(64, HIDDEN, device)
        self.second = Linear(HIDDEN, 10, device)

    def __call__(self, x):
        return self.second(tg.tanh(self.first(x)))

    def parameters(self):
        return [p for layer in (self.first, self.second) for p in (layer.weight, layer.bias)]


def cross_entropy(logits, labels):
    """The loss of each image: minus the log-probability of its label."""
    rows = tg.arange(len(labels)).to(labels.device)
    return tg.logsumexp(logits, dim=1) - logits[rows, labels]


# Training.


def digits():
    """(x_train, x_test, y_train, y_test): images with pixels in [0, 1], integer labels."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(
        images / 16.0, labels, train_size=1440, stratify=labels, random_state=0
    )
    return [tg.tensor(part) for part in split]


@tg.no_grad()
def evaluate(net, x, y):
    """Mean loss and accuracy."""
    logits = net(x)
    return cross_entropy(logits, y).mean().item(), (logits.argmax(dim=1) == y).mean().item()


def train(net, data, epochs, device):
    """Train net in place.

    Returns an array with one row an epoch: train loss, test loss, train accuracy, test accuracy.
    """
    x_train, x_test, y_train, y_test = data
    opt = tg.optim.SGD(net.parameters(), lr=RATE, momentum=0.9, nesterov=True)
    schedule = tg.optim.CosineLR(opt, steps=epochs)
    history = []
    bar = trange(epochs, desc="training", unit="epoch")
    for _ in bar:
        losses = []
        for batch in tg.randperm(len(x_train)).reshape(-1, BATCH):
            x = x_train[batch] + NOISE * tg.randn(BATCH, 64)
            loss = cross_entropy(net(x.to(device)), y_train[batch].to(device)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        schedule.step()
        test_loss, test_accuracy = evaluate(net, x_test.to(device), y_test.to(device))
        _, train_accuracy = evaluate(net, x_train.to(device), y_train.to(device))
        history.append((np.mean(losses), test_loss, train_accuracy, test_accuracy))
        bar.set_postfix(loss=f"{history[-1][0]:.4f}", test=f"{test_accuracy:.1%}", refresh=False)
    return np.array(history)


# What is shown.


def plot(history, net, x_test, y_test, count=10):
    """Learning curves above, the test images with the largest loss below."""
    with tg.no_grad():
        logits = net(x_test)
    losses = cross_entropy(logits, y_test).cpu().numpy()
    guesses, labels = logits.argmax(dim=1).cpu().numpy(), y_test.cpu().numpy()
    images = x_test.cpu().numpy().reshape(-1, 8, 8)
    train_loss, test_loss, train_accuracy, test_accuracy = history.T
    epochs = np.arange(1, len(history) + 1)

    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[3, 1.3])
    left, right = top.subplots(1, 2)
    left.plot(epochs, train_loss, label="train (images with noise)")
    left.plot(epochs, test_loss, label="test")
    left.set(title="Loss", xlabel="epoch", ylabel="mean cross-entropy", yscale="log")
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter("{x:g}")
    right.plot(epochs, 100 * train_accuracy, label="train")
    right.plot(epochs, 100 * test_accuracy, label="test")
    right.axhline(100 * REQUIRED_ACCURACY, color="0.6", linestyle=":", label="required")
    right.set(title="Accuracy", xlabel="epoch", ylabel="accuracy (%)", ylim=(85, 100.5))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)

    bottom.suptitle(f"The {count} test images with the largest loss, and what they are read as")
    for axes, i in zip(bottom.subplots(1, count), np.argsort(-losses)[:count]):
        axes.imshow(images[i], cmap="gray_r")
        right_or_wrong = "tab:green" if guesses[i] == labels[i] else "tab:red"
        axes.set_title(f"{labels[i]} as {guesses[i]}", color=right_or_wrong, fontsize=10)
        axes.set(xticks=[], yticks=[])
    common.save(figure, "pytorch_style")


def main(arguments=None):
    parser = common.options(__doc__, "6 epochs", in_jax=False)
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args(arguments)
    epochs = min(args.epochs, 6) if args.quick else args.epochs
    device = "jax" if args.backend == "jax" else "cpu"

    tg.manual_seed(0)
    data = digits()
    net = Net(device)
    history = train(net, data, epochs, device)

    _, x_test, _, y_test = (part.to(device) for part in data)
    loss = cross_entropy(net(x_test), y_test).mean()
    if device == "cpu":
        print("\nWhat loss.backward() runs:\n")
        print(tg.backward_source(loss))
    plot(history, net, x_test, y_test)
    print(f"test accuracy: {history[-1, 3]:.2%} of {len(y_test)} images")
    assert history[-1, 3] >= REQUIRED_ACCURACY, f"below {REQUIRED_ACCURACY:.0%}"


if __name__ == "__main__":
    main()
