"""Measure what control flow and guards cost: Python state, looks at values, paths without end.

In: a training step that reads much Python state, a function with three looks, a loop of 64 looks.
Out: three Markdown tables of times and ratios.

    python -m tests.benchmarks.looks [--rounds 101] [--only guards looks signs]

Both sides run in one process and alternate: A B, B A, A B, ... A ratio is taken within each round,
so a change of the machine's speed between rounds does not enter it. Eager is the same function on
Tensors, then ``backward()``; making the input a Tensor and reading the gradient are part of it.

guards
    A step of gradient descent with momentum on a 3-layer MLP: weights and momenta are lists in the
    arguments; the model, its layers and the configuration are objects. The entry checks all of that
    and then runs the program. Its cost is measured with an empty program in place of the real one,
    because a difference of two long times would be noise. "State" are the guards of globals,
    attributes, functions and elements; the rest are those of arguments, lengths and arrays from
    outside. A second row keeps the momenta in the object, where NumPy multiplies them by itself:
    what it made of them stands while they do not change, so their contents are compared.
looks
    Eight paths, random inputs, all of them seen before. Both sides see the same inputs.
signs
    Random signs in a vector of 64: the turns of a loop go hardly twice the same way. No input comes
    twice, because a tape that is met again is compiled.
"""

import argparse
import platform
import time
from functools import partial
from statistics import median
from timeit import Timer
from types import FunctionType

import numpy as np

import tracegrad as tg
from tests.benchmarks.small_calls import ROUND_SECONDS, alternate

RNG = np.random.default_rng(0)


# -- guards: a training step --------------------------------------------------------------------


class Configuration:
    def __init__(self, **settings):
        self.__dict__.update(settings)


class Dense:
    def __init__(self, n, m, activation, use_bias=True):
        self.scale = 1.0
        self.use_bias = use_bias
        self.activation = activation
        self.shape = n, m

    def __call__(self, w, b, x):
        h = self.scale * (x @ w)
        if self.use_bias:
            h = h + b
        return self.activation(h)


def softplus(h):
    return np.logaddexp(h, 0.0)


def linear(h):
    return h


def cross_entropy(logits, targets, smoothing):
    k = logits.shape[1]
    targets = (1.0 - smoothing) * targets + smoothing / k
    return np.mean(tg.logsumexp(logits, axis=1) - np.sum(targets * logits, axis=1))


class Trainer:
    def __init__(self, config):
        self.config = config
        n, h, k = config.model.inputs, config.model.width, config.model.classes
        self.layers = [Dense(n, h, np.tanh), Dense(h, h, softplus), Dense(h, k, linear)]
        self.mean = RNG.random(n)
        self.deviation = RNG.random(n) + 0.5

    def penalty(self, weights):
        if self.config.decay == 0.0:
            return 0.0
        return self.config.decay * sum(np.sum(w * w) for w in weights)

    def loss(self, weights, biases, x, targets):
        h = (x - self.mean) / self.deviation
        for layer, w, b in zip(self.layers, weights, biases, strict=True):
            h = layer(w, b, h)
        config = self.config
        return cross_entropy(h, targets, config.loss.smoothing) + self.penalty(weights)

    def step(self, weights, biases, momenta, x, targets):
        value, slopes = tg.value_and_grad(self.loss, (0, 1))(weights, biases, x, targets)
        rate, momentum = self.config.rate, self.config.momentum
        slopes = [*slopes[0], *slopes[1]]
        velocities = [momentum * v + d for v, d in zip(momenta, slopes, strict=True)]
        pairs = zip([*weights, *biases], velocities, strict=True)
        return value, [p - rate * v for p, v in pairs], velocities

    def step_from_held(self, weights, biases, x, targets):
        return self.step(weights, biases, self.momenta, x, targets)


def training_steps():
    """Yield (title, function, arguments)."""
    config = Configuration(
        rate=0.1,
        momentum=0.9,
        decay=1e-4,
        loss=Configuration(smoothing=0.1),
        model=Configuration(inputs=64, width=128, classes=10),
    )
    sizes = ((64, 128), (128, 128), (128, 10))
    weights = [RNG.normal(0.0, 0.1, size) for size in sizes]
    biases = [RNG.normal(0.0, 0.1, m) for _, m in sizes]
    targets = np.eye(10)[RNG.integers(0, 10, 32)]
    batch = RNG.random((32, 64)), targets
    trainer = Trainer(config)
    trainer.momenta = [np.zeros_like(p) for p in (*weights, *biases)]
    yield "all arrays in arguments", trainer.step, (weights, biases, trainer.momenta, *batch)
    yield "momenta held", trainer.step_from_held, (weights, biases, *batch)


def nothing(*args, **kwargs):
    return None


def microseconds(call, rounds):
    """The least time of a call without arguments."""
    timer = Timer(call)
    number = max(1, round(ROUND_SECONDS / (min(timer.repeat(5, 20)) / 20)))
    return 1e6 * min(timer.repeat(rounds, number)) / number


def emptied(function, args):
    """A trained step's compiled function, its version, its entry with no program in it."""
    step = tg.compile(function)
    for _ in range(3):
        step(*args)
    (((entry, version),),) = step._entries.values()
    names = {**entry.__globals__, "program": nothing}
    guarded = FunctionType(entry.__code__, names, entry.__name__, entry.__defaults__)
    assert guarded(args) is None and version.unchanged()
    return step, version, guarded


def guards_of(function, args, rounds):
    """Microseconds that a later call spends beside its program."""
    _, version, guarded = emptied(function, args)
    names = version.program.graph.frame.captures
    captured = dict(zip(names, version.captured_arrays(), strict=True))
    guards = microseconds(partial(guarded, args), rounds)
    return guards - microseconds(partial(nothing, *args, **captured), rounds)


def measure_guards(rounds):
    print("| training step, MLP 64-128-128-10 | a call us | all guards us | share | state us |")
    print("| --- | --- | --- | --- | --- |")
    notes = []
    for title, function, args in training_steps():
        step, version, _ = emptied(function, args)
        names = version.program.graph.frame.captures
        captured = dict(zip(names, version.captured_arrays(), strict=True))
        state = microseconds(version.unchanged, rounds)
        guards = guards_of(function, args, rounds)
        pairs = alternate(partial(step, *args), partial(version.run, *args, **captured), (), rounds)
        call = 1e6 * min(pair[0] for pair in pairs)
        ratio = median(a / b for a, b in pairs)
        share = 100 * guards / call
        print(f"| {title} | {call:.1f} | {guards:.2f} | {share:.1f} % | {state:.2f} |")
        notes.append(
            f"{title}: {len(version.world.guards)} guards of state, {len(captured)} arrays "
            f"from outside; a call takes {ratio:.3f} times its program alone"
        )
    print("\n" + "\n".join(notes) + "\n")


# -- looks: three of them -----------------------------------------------------------------------


def three_looks(x):
    y = x * 2.0
    y = y + 1.0 if x[0] > 0 else y * y
    y = np.tanh(y) if x[1] > 0 else y - x
    return np.sum(y) if x[2] > 0 else np.sum(y * y)


def eagerly(function):
    def value_and_grad(x):
        x = tg.tensor(x, requires_grad=True)
        y = function(x)
        y.backward()
        return y.numpy() if not y.requires_grad else y.detach().numpy(), x.grad.numpy()

    return value_and_grad


def agree(f, g, inputs):
    for x in inputs:
        for a, b in zip(f(x), g(x), strict=True):
            assert np.array_equal(a, b), f"value or gradient differs at {x}"


def measure_looks(rounds):
    inputs = [RNG.normal(size=3) for _ in range(16)]  # few: a round is to be short on both sides
    compiled, eager = tg.value_and_grad(three_looks), eagerly(three_looks)
    for _ in range(3):
        agree(compiled, eager, inputs)
    before = compiled.cache_info()

    def over(f):
        def run():
            for x in inputs:
                f(x)

        return run

    pairs = alternate(over(compiled), over(eager), (), rounds)
    assert compiled.cache_info().traces == before.traces
    ours, theirs = (1e6 * min(side) / len(inputs) for side in zip(*pairs, strict=True))
    ratio = median(b / a for a, b in pairs)
    print("| three looks, 8 paths, 3-vectors | compiled us | eager us | ratio | median ratio |")
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| value and gradient, least times | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} | "
        f"{ratio:.2f} |\n"
    )


# -- signs: other turns of a loop in nearly every call ---------------------------------------------


def product_of_positive(x):
    result = 1.0
    for ii in x:
        if ii > 0:
            result = ii * result
    return result


def random_signs(count):
    return [RNG.choice([-1.0, 1.0], 64) * RNG.uniform(0.9, 1.1, 64) for _ in range(count)]


def spent(f, inputs):
    began = time.perf_counter()
    for x in inputs:
        f(x)
    return (time.perf_counter() - began) / len(inputs)


def measure_signs(rounds, calls=1):
    compiled, eager = tg.value_and_grad(product_of_positive), eagerly(product_of_positive)
    agree(compiled, eager, random_signs(10))
    times = []
    for r in range(rounds):
        pair = [0.0, 0.0]
        for side in (0, 1) if r % 2 else (1, 0):
            pair[side] = spent((compiled, eager)[side], random_signs(calls))
        times.append(pair)
    ours, theirs = (1e6 * min(side) for side in zip(*times, strict=True))
    ratio = median(a / b for a, b in times)
    print("| 64 random signs | compiled us | eager us | ratio | median ratio |")
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| value and gradient, least times | {ours:.0f} | {theirs:.0f} | {ours / theirs:.2f} | "
        f"{ratio:.2f} |\n"
    )


MEASURES = {"guards": measure_guards, "looks": measure_looks, "signs": measure_signs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    args = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__},")
    print(f"{args.rounds} rounds; times are the least of all rounds.\n")
    for name in args.only:
        MEASURES[name](args.rounds)


if __name__ == "__main__":
    main()
