"""Arms read elements, slices or all of an array: gradients have the bits of a tape.

A tape writes the first cotangent of a place, and adds what comes next: that shows in the sign of a
zero. So a backward that stands for all arms is told what each has met.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg


def last_one_or_all(x, a):
    s = x.sum() / len(x)
    s = s * 2.0 if s > 0.2 else s - x[-1] * -0.0
    if x[0] > 0.3:
        s = s + x[0] * -0.0
    if s < 0.0:
        s = s + a[0] @ x
    return s * x[1]


def slices(x, a):
    s = x[0] * 0.0
    if x[1] > 0.0:
        s = s + x[1:].sum() * -0.0
    else:
        s = s + x[:-1].sum()
    s = s + x[-1] * -0.0
    return s + x[1:3].sum() * s


def rows_and_columns(x, a):
    s = x[0]
    s = s + a[0].sum() * -0.0 if x[0] > 0.0 else s + a[:, 1].sum()
    if x[1] > 0.0:
        s = s + a[-1, -1] * -0.0
    return s * a[1:, 1:].sum()


def places_in_arrays(x, a):
    s = 0.0 * x[0]
    if x[1] > 0.0:
        s = s + x[1:3].sum() * -0.0
    s = s + (x[np.array([0, 2])] * -s).sum()
    return s + x[-2:].sum() * -0.0


def nothing_in_some(x, a):
    s = 1.0
    if x[0] > 0.0:
        if x[1] > 0.0:
            s = s * x[2]
        elif x[2] > 0.0:
            s = s + np.sin(x).sum() * -0.0
    return s * 3.0 + x[::2].sum() * -0.0


PROGRAMS = [last_one_or_all, slices, rows_and_columns, places_in_arrays, nothing_in_some]
NUMBERS = [-1.0, -0.5, 0.0, -0.0, 0.7, 1.0]


def arrays(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.choice(NUMBERS, size=5), rng.choice(NUMBERS, size=(3, 5))


def require_bits(f: Callable[..., Any], calls: int, seed: int) -> Any:
    made, node = tg.value_and_grad(f, (0, 1)), tg.compile(f)
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        given = arrays(rng)
        expected = run_eagerly(f, given, (0, 1))
        assert_same_bits(split(made(*given)), expected)
        assert_same_bits(run_eagerly(node, given, (0, 1)), expected)
    return made.cache_info()


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_backward_is_for_all_arms(f):
    assert require_bits(f, 40, 0).versions == 1


READS = [
    *("x[0]", "x[1]", "x[-1]", "x[-2]", "x[1:]", "x[:-1]", "x[2:4]", "x[::2]", "x", "x[[0, 2]]"),
    *("a[0]", "a[-1]", "a[:, 0]", "a[1, 2]", "a[1:]", "a[0, 1:]", "a", "a[:2, :2]", "a[..., 0]"),
]
LOOKS = ["x[0] > 0", "x[1] > 0", "x[-1] > 0.2", "s > 0", "x.sum() > 0", "t > s"]


def statements(draw: random.Random, deep: int) -> Iterator[str]:
    for _ in range(draw.randrange(1, 3)):
        term = f"(np.sin({draw.choice(READS)}) * {draw.choice(['1.0', '-0.0', 's', '-s'])}).sum()"
        kind = draw.randrange(6)
        if kind < 3 and deep < 2:
            yield f"if {draw.choice(LOOKS)}:"
            yield from (f"    {line}" for line in statements(draw, deep + 1))
            if draw.random() < 0.6:
                yield "else:"
                yield from (f"    {line}" for line in statements(draw, deep + 1))
        elif kind == 3:
            yield f"t = {term}"
        else:
            yield f"s = s {draw.choice('+-')} {term}"


def drawn(seed: int, directory: Any) -> Callable[..., Any]:
    draw = random.Random(seed)
    lines = ["def f(x, a):", "    s = x.sum() * 0.0", "    t = s"]
    for _ in range(3):
        lines += [f"    {line}" for line in statements(draw, 0)]
    text = "\n".join(["import numpy as np", *lines, "    return s + t", ""])
    path = directory / f"reads_{seed}.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(120))
def test_random_arms(seed, tmp_path):
    require_bits(drawn(seed, tmp_path), 14, seed)
