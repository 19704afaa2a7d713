"""Divide letters into vowels and consonants without labels, with a hidden Markov model.

In: the letters of the help texts that ship with Python (``pydoc_data.topics``), in their order.
Out: the generated gradient of the log-likelihood, with its loop over letters; the model of maximum
likelihood with two hidden states, found by L-BFGS; the emission probabilities of both states, in
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
STATES = 2
LENGTH, SEQUENCES = 100, 200  # the text is cut into sequences of letters


# The model: a Markov chain of hidden states. Each state emits a letter, which is the observation.


def probabilities(theta):
    """The initial, transition and emission probabilities."""
    initial, transition, emission = theta[:2], theta[2:6], theta[6:]
    return (
        tg.softmax(initial),
        tg.softmax(transition.reshape(STATES, STATES), axis=1),
        tg.softmax(emission.reshape(STATES, len(LETTERS)), axis=1),
    )


@tg.value_and_grad
def loss(theta, observations):
    """The mean negative log-likelihood of an observation, and its gradient in theta.

    This is the forward algorithm. observations, of shape (length, sequences), are indices of
    letters. belief, of shape (sequences, states), has the probabilities of the hidden states, given
    all earlier observations.
    """
    belief, transition, emission = probabilities(theta)
    total = 0.0
    for observed in observations:
        joint = belief * emission.T[observed]
        likelihood = np.sum(joint, axis=1, keepdims=True)
        total = total + np.sum(np.log(likelihood))
        belief = joint / likelihood @ transition
    return -total / observations.size


def in_jax():
    """The same in JAX, where the loop is a scan."""
    import jax
    import jax.numpy as jnp

    def loss(theta, observations):
        initial = jax.nn.softmax(theta[:2])
        transition = jax.nn.softmax(theta[2:6].reshape(STATES, STATES), axis=1)
        emission = jax.nn.softmax(theta[6:].reshape(STATES, len(LETTERS)), axis=1)

        def step(belief, observed):
            joint = belief * emission.T[observed]
            likelihood = joint.sum(axis=1, keepdims=True)
            return joint / likelihood @ transition, jnp.log(likelihood).sum()

        belief = jnp.broadcast_to(initial, (observations.shape[1], STATES))
        _, parts = jax.lax.scan(step, belief, observations)
        return -parts.sum() / observations.size

    return jax.jit(jax.value_and_grad(loss))


# The data.


def manual(sequences):
    """Sequences of letters from the manual, of shape (length, sequences), as indices."""
    text = " ".join(topics[name] for name in sorted(topics)).lower()
    text = re.sub(r"[^a-z]+", " ", text)
    numbers = np.array([LETTERS.index(letter) for letter in text[: sequences * LENGTH]])
    return numbers.reshape(sequences, LENGTH).T


def initial():
    """Where L-BFGS begins: states that emit nearly the same letters, and that often alternate."""
    theta = 0.1 * np.random.default_rng(0).normal(size=STATES + STATES**2 + STATES * len(LETTERS))
    theta[2:6] = -1.0, 1.0, 1.0, -1.0
    return theta


def shown():
    """The function whose source and time are shown, and the arguments of a call."""
    return loss, (initial(), manual(SEQUENCES))


def fit(observations, steps):
    """The theta of maximum likelihood, by L-BFGS."""
    with tqdm(desc="fitting", unit="step") as bar:
        return minimize(
            loss,
            initial(),
            args=(observations,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
            callback=lambda _: bar.update(),
        )


def plot(emission, vowels):
    """The emission probabilities of both states."""
    order = [vowels, 1 - vowels]
    figure, axes = plt.subplots(2, 1, figsize=(10, 5), sharex=True, layout="constrained")
    names = [letter if letter != " " else "␣" for letter in LETTERS]
    for ax, state, title in zip(axes, order, ("one hidden state", "the other hidden state")):
        colors = ["tab:orange" if letter in "aeiou" else "tab:blue" for letter in LETTERS]
        ax.bar(names, 100 * emission[state], color=colors)
        ax.set(title=f"Letters emitted by {title}", ylabel="probability (%)")
        ax.spines[["top", "right"]].set_visible(False)
    common.save(figure, "hidden_markov")


def main(arguments=None):
    args = common.options(__doc__, "60 steps").parse_args(arguments)
    tg.config.backend = args.backend
    if args.beside_jax:
        return common.beside_jax(loss, in_jax(), shown()[1])

    observations = manual(SEQUENCES)
    print(f"The loss and its gradient, generated for {args.backend}:\n")
    print(loss.source(initial(), observations))
    found = fit(observations, 60 if args.quick else 200)
    _, transition, emission = probabilities(found.x)
    vowels = int(emission[1, LETTERS.index("e")] > emission[0, LETTERS.index("e")])
    plot(emission, vowels)
    likeliest = emission.argmax(axis=0)
    for state in (vowels, 1 - vowels):
        emitted = "".join(letter for letter, of in zip(LETTERS, likeliest) if of == state)
        left = 1 - transition[state, state]
        print(f"hidden state of {emitted!r}: probability {left:.0%} to change to the other state")
    frequencies = np.bincount(observations.ravel(), minlength=27) / observations.size
    nonzero = frequencies[frequencies > 0]
    independent = -np.sum(nonzero * np.log(nonzero))
    print(
        f"negative log-likelihood per letter: {found.fun:.4f} nats; "
        f"of independent letters: {independent:.4f}"
    )
    assert found.fun < independent and all(likeliest[LETTERS.index(c)] == vowels for c in "aeiou")


if __name__ == "__main__":
    main()
