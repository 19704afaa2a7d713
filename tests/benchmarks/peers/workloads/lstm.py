"""A sequence of characters in, the mean loss of an LSTM that predicts each from those before out.

As ADBench has it: two layers whose weights are vectors, one number a unit. F. Srajer, Z. Kukelova,
A. Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning" (2018).
"""

import numpy as np

from tests.benchmarks.peers.workload import Workload

UNITS, LAYERS = 14, 2


def inputs(random, characters):
    return (
        random.normal(size=(2 * LAYERS, 4 * UNITS)),
        random.normal(size=(3, UNITS)),
        random.normal(size=(2 * LAYERS, UNITS)),
        1.0 * (random.uniform(size=(characters, UNITS)) < 0.5),
    )


def cell(np, weight, bias, h, c, x):
    """The next hidden state and cell of a layer."""
    n = UNITS
    gates = np.concatenate((x, h, x, h)) * weight + bias
    forget = 1.0 / (1.0 + np.exp(-gates[:n]))
    into = 1.0 / (1.0 + np.exp(-gates[n : 2 * n]))
    out = 1.0 / (1.0 + np.exp(-gates[2 * n : 3 * n]))
    c = c * forget + into * np.tanh(gates[3 * n :])
    return out * np.tanh(c), c


def step(np, weights, extra, states, now, then):
    """The states after a character, and how well the next one was predicted."""
    h1, c1, h2, c2 = states
    h1, c1 = cell(np, weights[0], weights[1], h1, c1, now * extra[0])
    h2, c2 = cell(np, weights[2], weights[3], h2, c2, h1)
    predicted = h2 * extra[1] + extra[2]
    return (h1, c1, h2, c2), np.sum(then * (predicted - np.log(np.sum(np.exp(predicted)) + 2.0)))


def loss(library):
    np = library.np

    def mean_loss(weights, extra, states, text):
        states = (states[0], states[1], states[2], states[3])
        total = 0.0
        for t in range(len(text) - 1):
            states, good = step(np, weights, extra, states, text[t], text[t + 1])
            total = total + good
        return -total / ((len(text) - 1) * UNITS)

    return mean_loss


def loss_in_jax(library):
    import jax

    np = library.np

    def mean_loss(weights, extra, states, text):
        def body(states, characters):
            return step(np, weights, extra, states, *characters)

        _, good = jax.lax.scan(body, tuple(states), (text[:-1], text[1:]))
        return -np.sum(good) / ((len(text) - 1) * UNITS)

    return mean_loss


def by_hand(weights, extra, states, text):
    n, turns = UNITS, len(text) - 1
    h1, c1, h2, c2 = states
    kept, total = [], 0.0
    for t in range(turns):
        turn, x = [], text[t] * extra[0]
        for layer, (h, c) in enumerate(((h1, c1), (h2, c2))):
            beside = np.concatenate((x, h, x, h))
            gates = beside * weights[2 * layer] + weights[2 * layer + 1]
            gates[: 3 * n] = 1.0 / (1.0 + np.exp(-gates[: 3 * n]))
            gates[3 * n :] = np.tanh(gates[3 * n :])
            new = c * gates[:n] + gates[n : 2 * n] * gates[3 * n :]
            shown = np.tanh(new)
            turn.append((beside, gates, c, shown))
            x = gates[2 * n : 3 * n] * shown
            if layer == 0:
                h1, c1 = x, new
            else:
                h2, c2 = x, new
        predicted = x * extra[1] + extra[2]
        e = np.exp(predicted)
        mass = e.sum() + 2.0
        total += (text[t + 1] * (predicted - np.log(mass))).sum()
        kept.append((turn, x, e, mass))

    scale = -1.0 / (turns * n)
    weights_bar, extra_bar = np.zeros_like(weights), np.zeros_like(extra)
    h_bars, c_bars = np.zeros((2, n)), np.zeros((2, n))
    for t in range(turns - 1, -1, -1):
        turn, x, e, mass = kept[t]
        then = text[t + 1]
        predicted_bar = scale * (then - e * (then.sum() / mass))
        extra_bar[1] += predicted_bar * x
        extra_bar[2] += predicted_bar
        x_bar = predicted_bar * extra[1]
        for layer in (1, 0):
            beside, gates, c, shown = turn[layer]
            h_bar = h_bars[layer] + x_bar
            out = gates[2 * n : 3 * n]
            c_bar = c_bars[layer] + h_bar * out * (1.0 - shown * shown)
            gates_bar = np.concatenate(
                (c_bar * c, c_bar * gates[3 * n :], h_bar * shown, c_bar * gates[n : 2 * n])
            )
            gates_bar[: 3 * n] *= gates[: 3 * n] * (1.0 - gates[: 3 * n])
            gates_bar[3 * n :] *= 1.0 - gates[3 * n :] ** 2
            c_bars[layer] = c_bar * gates[:n]
            weights_bar[2 * layer] += gates_bar * beside
            weights_bar[2 * layer + 1] += gates_bar
            beside_bar = gates_bar * weights[2 * layer]
            h_bars[layer] = beside_bar[n : 2 * n] + beside_bar[3 * n :]
            x_bar = beside_bar[:n] + beside_bar[2 * n : 3 * n]
        extra_bar[0] += x_bar * text[t]
    return scale * total, (weights_bar, extra_bar)


def tuned(weights, extra, states, text):
    n, turns = UNITS, len(text) - 1
    # of each turn and layer: x, h, x, h; the gates; the cell before; the tanh of that after
    gates, besides = np.empty((turns, LAYERS, 4 * n)), np.empty((turns + 1, LAYERS, 4, n))
    cells, shown = np.empty((turns + 1, LAYERS, n)), np.empty((turns, LAYERS, n))
    outputs, exps = np.empty((2, turns, n))
    slopes, bars = np.empty_like(gates), np.empty_like(gates)
    of_shown, row, product = np.empty_like(shown), np.empty(n), np.empty(n)
    h_bar, x_bar, beside_bar = np.empty((LAYERS, n)), np.empty(n), np.empty((4, n))
    flat_bar, c_bar, h_row = beside_bar.reshape(-1), np.empty((LAYERS, n)), np.empty(n)
    results = weights_bar, extra_bar = np.empty_like(weights), np.empty_like(extra)
    one, driven = np.ones(()), text[:-1]
    then_sums = text[1:].sum(axis=1)
    forward, backward = [], []
    for t in range(turns):
        for layer in range(LAYERS):
            gate, beside = gates[t, layer], besides[t, layer]
            parts = [gate[i * n : (i + 1) * n] for i in range(4)]
            after = [besides[t, 1, ::2]] if layer == 0 else [outputs[t][None]]
            after.append(besides[t + 1, layer, 1::2])
            before, new, tanh = cells[t, layer], cells[t + 1, layer], shown[t, layer]
            turn = (layer, beside.reshape(-1), gate, gate[: 3 * n], parts, before, new, tanh, after)
            forward.append(turn)
            bar = bars[t, layer]
            parted = [bar[i * n : (i + 1) * n] for i in range(4)]
            turn = (layer, parts, before, tanh, of_shown[t, layer], slopes[t, layer])
            backward.append((*turn, bar, parted, t))
    backward.reverse()

    def call():
        cells[0] = states[1::2]
        besides[0, :, 1::2] = states[::2, None]
        np.multiply(driven[:, None], extra[0], out=besides[:-1, 0, ::2])
        for layer, beside, gate, sigmoids, parts, before, new, tanh, after in forward:
            np.multiply(beside, weights[2 * layer], out=gate)
            np.add(gate, weights[2 * layer + 1], out=gate)
            np.negative(sigmoids, out=sigmoids)
            np.exp(sigmoids, out=sigmoids)
            np.add(sigmoids, one, out=sigmoids)
            np.divide(one, sigmoids, out=sigmoids)
            forget, into, out, change = parts
            np.tanh(change, out=change)
            np.multiply(before, forget, out=new)
            np.multiply(into, change, out=product)
            np.add(new, product, out=new)
            np.tanh(new, out=tanh)
            np.multiply(out, tanh, out=row)
            for place in after:
                place[...] = row
        predicted = outputs * extra[1] + extra[2]
        np.exp(predicted, out=exps)
        mass = exps.sum(axis=1) + 2.0
        scale = -1.0 / (turns * n)
        value = scale * (np.vdot(text[1:], predicted) - np.vdot(then_sums, np.log(mass)))

        np.multiply(exps, (then_sums / mass)[:, None], out=exps)
        np.subtract(text[1:], exps, out=exps)
        np.multiply(exps, scale, out=exps)
        np.add.reduce(exps * outputs, axis=0, out=extra_bar[1])
        np.add.reduce(exps, axis=0, out=extra_bar[2])
        np.multiply(exps, extra[1], out=exps)
        np.multiply(gates, gates, out=slopes)
        np.subtract(gates[..., : 3 * n], slopes[..., : 3 * n], out=slopes[..., : 3 * n])
        np.subtract(one, slopes[..., 3 * n :], out=slopes[..., 3 * n :])
        np.multiply(shown, shown, out=of_shown)
        np.subtract(one, of_shown, out=of_shown)
        np.multiply(of_shown, gates[..., 2 * n : 3 * n], out=of_shown)
        h_bar[...] = 0.0
        c_bar[...] = 0.0
        for layer, parts, before, tanh, slope_out, slope, bar, parted, t in backward:
            forget, into, _, change = parts
            np.add(h_bar[layer], exps[t] if layer == 1 else x_bar, out=h_row)
            np.multiply(h_row, slope_out, out=product)
            np.add(c_bar[layer], product, out=product)
            np.multiply(product, before, out=parted[0])
            np.multiply(product, change, out=parted[1])
            np.multiply(h_row, tanh, out=parted[2])
            np.multiply(product, into, out=parted[3])
            np.multiply(bar, slope, out=bar)
            np.multiply(product, forget, out=c_bar[layer])
            np.multiply(bar, weights[2 * layer], out=flat_bar)
            np.add(beside_bar[1], beside_bar[3], out=h_bar[layer])
            np.add(beside_bar[0], beside_bar[2], out=x_bar)
        np.add.reduce(bars, axis=0, out=weights_bar[1::2])
        flat = besides[:-1].reshape(turns, LAYERS, -1)
        np.add.reduce(bars * flat, axis=0, out=weights_bar[::2])
        first = (bars[:, 0] * weights[0]).reshape(turns, 4, n)
        np.add.reduce((first[:, 0] + first[:, 2]) * driven, axis=0, out=extra_bar[0])
        return value, results

    return call


LSTM = Workload(
    name="LSTM",
    about="ADBench, 2 layers of 14 units, sequences of c characters",
    sizes={"c=128": dict(characters=128), "c=1024": dict(characters=1024)},
    inputs=inputs,
    wanted=(0, 1),
    loss=loss,
    own={"jax.jit": loss_in_jax},
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda characters: UNITS,
    dtypes=("float64",),
)
