"""Random programs of loops within a budget: values, derivatives, draws and generators have the bits
that they have without one.

By hand: ``python tests/differentiation/test_random_loops_within_budgets.py FIRST LAST``, by seeds;
every fifth program is called eagerly, too.
"""

import sys
from functools import partial
from random import Random

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

SCALARS = [
    *("np.sin(s)", "0.9 * s + x[t]", "s * 0.7 + np.sum(h) * 0.1", "np.tanh(s * w[1]) - x[t]"),
    *("bent(s)", "s * (1 + 0.1 * w[0])", "np.cos(s + x[t] * x[t - 1])", "0.5 * s + h[0]", "s"),
    *("0.5 * s + np.sum(x[t - 2 : t] ** 2)", "max(s, x[t]) * 0.8", "s + 0.1 * np.dot(h, p)"),
]
VECTORS = [
    *("np.sin(h) * 1.1", "np.tanh(h * w + x[t])", "h * 0.9 + p * 0.1", "p * s", "h[::-1] * w"),
    *("np.where(h > 0, h, np.sin(p))", "h * 0.5 + w", "p", "np.cos(p) * h + 0.3"),
]
DRAWS = {
    "s": ["s + 0.1 * generator.normal()", "s * generator.uniform(0.5, 1.0)"],
    "h": ["h * (1 + 0.1 * generator.normal(size=3))", "tg.nn.dropout(h, 0.2)"],
    "p": ["p + 0.1 * generator.standard_normal(3)", "p * generator.random(3)"],
}
TESTS = ["s > 0.2", "x[t] > 0", "np.sum(h) < np.sum(p)", "t % 3 == 0"]
LOOPS = [
    *("for t in range(2, len(x)):", "for t in range(3, 40, 2):", "for t in range(2, 20):"),
    *("for t in range(len(x) - 1, 1, -1):", "t = 2\nwhile t < 39 and s * s < 20.0:\n    t += 1"),
]
HEAD = """
def bent(u):
    if u > 0.3:
        return u * 0.5
    return u + 0.25

def f(generator, x, w):
    s, h, p = w[0], w * 0.5, np.ones(3)
    kept = []
"""


def program(seed, draws):
    """The text of a program; its loops hand on a number and two arrays."""
    random = Random(seed)
    any_of, lists = random.choice, random.random() < 0.3
    names = random.sample(["s", "h", "p"], random.randint(1, 3))
    form = any_of(["{}", "({},)", "{{'v': ({},)}}"]) if len(names) > 1 else any_of(["{}", "[{}]"])
    returned = form.format(", ".join(names))
    kinds = 3 if random.random() < 0.2 else 2
    early = form.format(", ".join([f"{names[0]} * 2", *names[1:]]))

    def assigned():
        name = any_of("shp")
        options = SCALARS if name == "s" else VECTORS
        if draws and random.random() < 0.4:
            options = DRAWS[name]
        return [f"{name} = {any_of(options)}"]

    def statements(depth):
        lines = []
        for _ in range(random.randint(1, 3)):
            lines += assigned()
        if random.random() < 0.4:
            lines += [f"if {any_of(TESTS)}:", *indented(assigned())]
            if random.random() < 0.6:
                lines += ["else:", *indented(assigned())]
        if random.random() < 0.1 and not lists:
            lines += ["if s > 1.5:", *indented([any_of(["break", f"return {early}"])])]
        if depth and random.random() < 0.3:
            lines += ["for u in range(9):", *indented(statements(0))]
        if depth and lists:
            lines.append("kept.append(h * s)")
        return lines

    def indented(lines):
        return [f"    {line}" for line in lines]

    lines = []
    for _ in range(kinds - 1):
        heads = LOOPS[:-1] if lists else LOOPS  # no list is as long as data tell
        bent = [any_of(["s = np.sin(s) + 0.1 * h[1]", "h = np.tanh(h * w + x[t])"])]
        lines += [*any_of(heads).split("\n"), *indented([*bent, *statements(1)])]
    if lists and len(names) == 1:
        returned = f"({returned}, np.stack(kept))"
    return HEAD + "\n".join(indented([*lines, f"return {returned}"])) + "\n"


def summed(given):
    """The sum of the squares of all that a program returns."""
    leaves = given
    if isinstance(given, dict):
        leaves = given["v"]
    if not isinstance(leaves, tuple | list):
        leaves = (leaves,)
    total = 0.0
    for leaf in leaves:
        total = total + np.sum(leaf * leaf)
    return total


TRANSFORMS = {
    "jacrev": lambda f: tg.jacrev(f, argnums=(0, 1)),
    "jacobian": lambda f: tg.jacobian(f, argnums=1, mode="reverse"),
    "jacfwd of jacrev": lambda f: tg.jacfwd(tg.jacrev(f, argnums=1), argnums=1),
    "grad": lambda f: tg.value_and_grad(lambda x, w: summed(f(x, w)), argnums=(0, 1)),
    "vjp": lambda f: lambda x, w: tg.vjp(lambda x, w: summed(f(x, w)), x, w)[1](1.0),
    "numba": lambda f: tg.jacrev(f, argnums=(0, 1), backend="numba"),
}


def outcomes(text, seed, transform, budget):
    """What three calls give, and the generators after them; whether the loop is in segments."""
    scope = {"np": np, "tg": tg}
    exec(compile(text, f"<within a budget {seed}>", "exec"), scope)
    generator = tg.random.Generator(seed)
    tg.random.manual_seed(seed)
    function = partial(scope["f"], generator)
    if budget is not None:
        function = tg.checkpoint(function, max_bytes=budget)
    derived, found = TRANSFORMS[transform](function), []
    for k in range(3):
        random = np.random.default_rng([seed, k // 2])
        found.append(derived(random.uniform(-1, 1, 40), random.uniform(-1, 1, 3)))
    return [plain(found), generator.normal(), tg.random.normal()], derived


def plain(found):
    """Numbers in which all zeros have one sign: docs/limits.md tells of them."""
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, tuple | list):
        return [plain(value) for value in found]
    return np.asarray(found) + 0.0


def differs(seed, compare_eager=False):
    """The first difference that a budget makes to a random program, and whether it has one."""
    random = Random(-seed)
    text, transform = program(seed, seed % 2 == 1), random.choice([*TRANSFORMS])
    budget, cut = random.choice([0, 50, 100, 200]), False
    with np.errstate(all="ignore"):
        wanted, _ = outcomes(text, seed, transform, None)
        found, derived = outcomes(text, seed, transform, budget)
        if hasattr(derived, "source"):
            random = np.random.default_rng([seed, 0])
            source = derived.source(random.uniform(-1, 1, 40), random.uniform(-1, 1, 3))
            cut = "turns are made again" in source.replace("\n#    ", "")
        others = [("within a budget", found)]
        if compare_eager:
            before, tg.config.compile = tg.config.compile, False
            try:
                others.append(("eagerly", outcomes(text, seed, transform, None)[0]))
            finally:
                tg.config.compile = before
    for what, other in others:
        try:
            assert_same_bits(other, wanted)
        except AssertionError as error:
            return f"{transform} of {budget} bytes, {what}: {error}\n{text}", cut
    return None, cut


@pytest.mark.sampled(3, 2)
@pytest.mark.parametrize("seed", range(12))
def test_a_budget_changes_nothing(seed):
    fault, _ = differs(seed)
    assert fault is None


if __name__ == "__main__":
    total = 0
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        fault, cut = differs(number, compare_eager=number % 5 == 0)
        total += cut
        print(f"{number}: {fault or 'no difference'}; {total} in segments", flush=True)
