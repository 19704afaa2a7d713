"""Divide letters into vowels and consonants without labels, with a hidden Markov model.

In: the letters of the help texts that ship with Python (``pydoc_data.topics``), in their order.
Out: the generated gradient of the likelihood, with its loop over letters; the two states of maximum
likelihood, by L-BFGS; how often each state emits each letter, in
``examples/output/hidden_markov.png`` (after Cave and Neuwirth, 1980).

    python examples/hidden_markov.py [--backend jax] [--quick] [--beside-jax]
"""

import re
from pydoc_data.topics import topics

import common
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from tqdm import tqdm

import tracegrad as tg

LETTERS = "abcdefghijklmnopqrstuvwxyz "
KINDS = 2
PLACES, PIECES = 100, 200  # letters in a piece of text, and pieces


# The model: a chain of hidden states, each of which emits a letter.


def chances(theta):
    """Probabilities of the first state, of the transitions, and of the letters of each state."""
    first, steps, letters = theta[:2], theta[2:6], theta[6:]
    return (
        tg.softmax(first),
        tg.softmax(steps.reshape(KINDS, KINDS), axis=1),
        tg.softmax(letters.reshape(KINDS, len(LETTERS)), axis=1),
    )


@tg.value_and_grad
def loss(theta, text):
    """Minus the mean log likelihood of a letter, and its gradient in theta.

    text, of shape (places, pieces), has the indices of letters. The belief, of shape
    (pieces, states), has the probability of each state given the letters before this one.
    """
    belief, steps, letters = chances(theta)
    total = 0.0
    for seen in text:
        joint = belief * letters.T[seen]
        likelihood = np.sum(joint, axis=1, keepdims=True)
        total = total + np.sum(np.log(likelihood))
        belief = joint / likelihood @ steps
    return -total / text.size


def in_jax():
    """The same in JAX, where the loop is a scan."""
    import jax
    import jax.numpy as jnp

    def loss(theta, text):
        first = jax.nn.softmax(theta[:2])
        steps = jax.nn.softmax(theta[2:6].reshape(KINDS, KINDS), axis=1)
        letters = jax.nn.softmax(theta[6:].reshape(KINDS, len(LETTERS)), axis=1)

        def place(belief, seen):
            joint = belief * letters.T[seen]
            likelihood = joint.sum(axis=1, keepdims=True)
            return joint / likelihood @ steps, jnp.log(likelihood).sum()

        belief = jnp.broadcast_to(first, (text.shape[1], KINDS))
        _, parts = jax.lax.scan(place, belief, text)
        return -parts.sum() / text.size

    return jax.jit(jax.value_and_grad(loss))


# The text.


def manual(pieces):
    """Pieces of text, of shape (places, pieces), with letters as indices."""
    text = " ".join(topics[name] for name in sorted(topics)).lower()
    text = re.sub(r"[^a-z]+", " ", text)
    numbers = np.array([LETTERS.index(letter) for letter in text[: pieces * PLACES]])
    return numbers.reshape(pieces, PLACES).T


def initial():
    """Initial theta: states whose letters hardly differ, and that often alternate."""
    theta = 0.1 * np.random.default_rng(0).normal(size=KINDS + KINDS**2 + KINDS * len(LETTERS))
    theta[2:6] = -1.0, 1.0, 1.0, -1.0
    return theta


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    return loss, (initial(), manual(PIECES))


def fit(text, steps):
    """The most likely theta, by L-BFGS."""
    with tqdm(desc="fitting", unit="step") as bar:
        return minimize(
            loss,
            initial(),
            args=(text,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
            callback=lambda _: bar.update(),
        )


def plot(letters, vowels):
    """How often each state emits each letter."""
    order = [vowels, 1 - vowels]
    figure, axes = plt.subplots(2, 1, figsize=(10, 5), sharex=True, layout="constrained")
    names = [letter if letter != " " else "␣" for letter in LETTERS]
    for ax, kind, title in zip(axes, order, ("one kind", "the other kind")):
        colors = ["tab:orange" if letter in "aeiou" else "tab:blue" for letter in LETTERS]
        ax.bar(names, 100 * letters[kind], color=colors)
        ax.set(title=f"The letters of {title}", ylabel="how often (%)")
        ax.spines[["top", "right"]].set_visible(False)
    common.save(figure, "hidden_markov")


def main(arguments=None):
    args = common.options(__doc__, "60 steps").parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    text = manual(PIECES)
    print(f"The likelihood and its gradient, generated for {args.backend}:\n")
    print(loss.source(initial(), text))
    found = fit(text, 60 if args.quick else 200)
    _, steps, letters = chances(found.x)
    vowels = int(letters[1, LETTERS.index("e")] > letters[0, LETTERS.index("e")])
    plot(letters, vowels)
    mostly = letters.argmax(axis=0)
    for kind in (vowels, 1 - vowels):
        written = "".join(letter for letter, of in zip(LETTERS, mostly) if of == kind)
        print(f"a kind that writes {written!r}, and is left with {1 - steps[kind, kind]:.0%}")
    alone = np.bincount(text.ravel(), minlength=27) / text.size
    without = -np.sum(alone[alone > 0] * np.log(alone[alone > 0]))
    print(f"surprise at a letter: {found.fun:.4f} nats, without kinds {without:.4f}")
    assert found.fun < without and all(mostly[LETTERS.index(c)] == vowels for c in "aeiou")


if __name__ == "__main__":
    main()
