"""Train a small transformer to predict the next character of the Python manual.

In: the help texts that ship with Python (``pydoc_data.topics``, the language reference).
Out: the generated source of an attention block; the cross-entropy on text that was held out, beside
that of a bigram model (which counts pairs of characters); a few lines that the model generates; and
in ``examples/output/attention.png`` the cross-entropy of each character of a page.

    python examples/attention.py [--backend jax] [--steps 800] [--quick] [--beside-jax]
"""

import re
from pydoc_data.topics import topics

import common
import matplotlib.pyplot as plt
import numpy as np
from tqdm import trange

import tracegrad as tg
from tracegrad import nn

LAYERS, HEADS, WIDTH = 2, 4, 64
CONTEXT = 64  # characters that the model sees
BATCH = 16
RATE = 4e-3  # of the first steps; it falls along half a cosine
HELD_OUT = 0.1  # of the text, at its end
TEMPERATURE = 0.7  # of the softmax from which characters are drawn
PROMPT = "If the expression is not a name, the statement raises an error. "  # CONTEXT characters


# The model: a transformer (Vaswani and others, 2017) with norms before its layers.


def attention(p, h):
    """Causal attention on h, shape (batch, CONTEXT, WIDTH): no position sees a later one."""
    q, k, v = (split(nn.linear(h, p[name])) for name in ("query", "key", "value"))
    gathered = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
    return nn.linear(gathered.transpose(0, 2, 1, 3).reshape(h.shape), p["out"])


def split(x):
    """(batch, places, WIDTH) as (batch, HEADS, places, WIDTH // HEADS)."""
    return x.reshape(-1, x.shape[1], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)


def perceptron(p, h):
    return nn.linear(nn.gelu(nn.linear(h, p["up"]), approximate="tanh"), p["down"])


def logits(params, text):
    """At each position of text, shape (batch, positions), the logits of the next character."""
    h = nn.embedding(text, params["characters"]) + params["places"][: text.shape[1]]
    for p in params["layers"]:
        h = h + attention(p, nn.layer_norm(h, WIDTH, p["norm_1"]))
        h = h + perceptron(p, nn.layer_norm(h, WIDTH, p["norm_2"]))
    return nn.linear(nn.layer_norm(h, WIDTH), params["characters"])


def loss(params, text):
    """The mean cross-entropy per character, in nats, of text of shape (batch, CONTEXT + 1)."""
    found = logits(params, text[:, :-1])
    return nn.cross_entropy(found.swapaxes(1, 2), text[:, 1:])


loss_and_gradient = tg.value_and_grad(loss)
loss_alone = tg.compile(loss)
predict = tg.compile(logits)


def in_jax():
    """Loss and gradient in JAX."""
    import jax
    import jax.numpy as jnp

    def split(x):
        return x.reshape(-1, x.shape[1], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def attention(p, h):
        q, k, v = (split(h @ p[name].T) for name in ("query", "key", "value"))
        scores = q @ k.swapaxes(2, 3) / (WIDTH // HEADS) ** 0.5
        before = jnp.tril(jnp.ones(scores.shape[2:], bool))
        gathered = jax.nn.softmax(jnp.where(before, scores, -jnp.inf)) @ v
        return gathered.transpose(0, 2, 1, 3).reshape(h.shape) @ p["out"].T

    def norm(h, scale=1.0):
        h = h - h.mean(axis=-1, keepdims=True)
        return h / jnp.sqrt((h * h).mean(axis=-1, keepdims=True) + 1e-5) * scale

    def loss(params, text):
        h = params["characters"][text[:, :-1]] + params["places"][: text.shape[1] - 1]
        for p in params["layers"]:
            h = h + attention(p, norm(h, p["norm_1"]))
            up = norm(h, p["norm_2"]) @ p["up"].T
            h = h + jax.nn.gelu(up) @ p["down"].T
        found = jax.nn.log_softmax(norm(h) @ params["characters"].T)
        return -jnp.take_along_axis(found, text[:, 1:, None], axis=2).mean()

    return jax.jit(jax.value_and_grad(loss))


def initial_params(rng, letters):
    def matrix(*shape, scale=1.0):
        return (scale * nn.init.xavier_normal(shape, generator=rng)).astype(np.float32)

    def layer():
        square = {name: matrix(WIDTH, WIDTH) for name in ("query", "key", "value")}
        into = {"up": matrix(4 * WIDTH, WIDTH)}
        back = {"out": matrix(WIDTH, WIDTH, scale=0.5), "down": matrix(WIDTH, 4 * WIDTH, scale=0.5)}
        norms = {name: np.ones(WIDTH, np.float32) for name in ("norm_1", "norm_2")}
        return {**square, **into, **back, **norms}

    return {
        "characters": nn.init.normal((letters, WIDTH), 0.0, 0.1, rng).astype(np.float32),
        "places": nn.init.normal((CONTEXT, WIDTH), 0.0, 0.1, rng).astype(np.float32),
        "layers": [layer() for _ in range(LAYERS)],
    }


# The text.


def manual():
    """(characters, numbers): every character that occurs, and the text as indices of these."""
    text = "\n".join(topics[name] for name in sorted(topics))
    text = re.sub(r"[^\n -~]", "", re.sub(r"\*{3,}|={3,}|-{3,}|\^{3,}", "", text))
    characters, numbers = np.unique(list(text), return_inverse=True)
    return characters, numbers


def windows(text, starts):
    """Pieces of CONTEXT + 1 characters."""
    return text[starts[:, None] + np.arange(CONTEXT + 1)]


def bigram_cross_entropy(train, test, letters):
    """The mean cross-entropy of a bigram model: it counts which character follows which."""
    counts = np.full((letters, letters), 0.1)  # no pair has probability 0
    np.add.at(counts, (train[:-1], train[1:]), 1.0)
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    return -np.mean(np.log(probabilities[test[:-1], test[1:]]))


def write(params, prompt, length, rng):
    """The prompt, continued by characters drawn from the model's predictions."""
    text = list(prompt)
    for _ in range(length):
        found = predict(params, np.array([text[-CONTEXT:]]))[0, -1].astype(float)
        probabilities = tg.softmax(found / TEMPERATURE)
        text.append(rng.choice(len(probabilities), p=probabilities))
    return np.array(text)


# Training.


def train(params, text, test, steps, rng):
    """The trained params, and the mean cross-entropy on the test text."""
    warmup, decay = tg.optim.schedules.linear_warmup(50), tg.optim.schedules.cosine_decay(steps)
    init, update = tg.optim.adam(lr=lambda step: RATE * warmup(step) * decay(step))
    update, state = tg.compile(update), init(params)
    fixed = windows(test, np.linspace(0, len(test) - CONTEXT - 1, 8 * BATCH).astype(int))
    bar = trange(1, steps + 1, desc="training", unit="step")
    for step in bar:
        batch = windows(text, rng.integers(len(text) - CONTEXT, size=BATCH))
        value, grads = loss_and_gradient(params, batch)
        params, state = update(params, grads, state)
        if step % 200 == 0 or step == steps:
            parts = fixed.reshape(8, BATCH, -1)
            found = np.mean([loss_alone(params, part) for part in parts])
            bar.write(f"step {step:4}: train {value:.3f}, test {found:.3f}")
    return params, found


def plot(params, text, characters, lines=6):
    """Text that was held out; the colour of a character shows its cross-entropy."""
    count = lines * CONTEXT
    known = windows(text, np.arange(count))  # the characters before each one
    found = np.concatenate([predict(params, part[:, :-1])[:, -1] for part in np.split(known, 8)])
    cross_entropies = nn.cross_entropy(found, known[:, -1], reduction="none")
    figure, ax = plt.subplots(figsize=(11, 2.6), layout="constrained")
    image = ax.imshow(
        cross_entropies.reshape(lines, CONTEXT), cmap="YlOrRd", vmin=0, vmax=6, aspect="auto"
    )
    for i, character in enumerate(characters[known[:, -1]]):
        shown = "⏎" if character == "\n" else character
        ax.text(i % CONTEXT, i // CONTEXT, shown, ha="center", va="center", family="monospace")
    ax.set(title="Cross-entropy of each character of the manual", xticks=[], yticks=[])
    figure.colorbar(image, ax=ax, label="nats")
    common.save(figure, "attention")


def shown():
    """The function whose source is shown, and the arguments of a call."""
    layer = initial_params(np.random.default_rng(0), 1)["layers"][0]
    return tg.compile(attention), (layer, np.ones((BATCH, CONTEXT, WIDTH), np.float32))


def compared():
    """The function that is timed beside another, and the arguments of a call."""
    characters, text = manual()
    params = initial_params(np.random.default_rng(0), len(characters))
    return loss_and_gradient, (params, windows(text, np.arange(BATCH) * CONTEXT))


def main(arguments=None):
    parser = common.options(__doc__, "40 steps")
    parser.add_argument("--steps", type=int, default=800)
    args = parser.parse_args(arguments)
    tg.config.backend = args.backend
    steps = min(args.steps, 40) if args.quick else args.steps

    if args.beside_jax:
        function, given = compared()
        return common.beside_jax(function, in_jax(), given)

    rng = np.random.default_rng(0)
    characters, text = manual()
    border = int((1 - HELD_OUT) * len(text))
    params = initial_params(rng, len(characters))

    count = sum(a.size for a in [*params["layers"][0].values()]) * LAYERS
    print(f"{len(text):,} characters, {len(characters)} of them different; {count:,} parameters\n")

    block, example = shown()
    print(f"One attention, generated for {args.backend}:\n")
    print(block.source(*example))

    params, found = train(params, text[:border], text[border:], steps, rng)
    bigram = bigram_cross_entropy(text[:border], text[border:], len(characters))
    print(f"\ncross-entropy on held-out text: {found:.3f} nats; of the bigram model: {bigram:.3f}")
    written = write(params, np.searchsorted(characters, list(PROMPT)), 300, rng)
    print(f"\nThe model continues the prompt:\n\n{''.join(characters[written])}")
    plot(params, text[border:], characters)
    assert args.quick or found < bigram, "the transformer should beat the bigram model"


if __name__ == "__main__":
    main()
