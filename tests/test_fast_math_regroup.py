"""Float arithmetic enters fast math, the same mathematics in fewer operations leaves.

Values are compared with a reference in long double, within what rounding and inputs that are off by
one rounding explain (`Bounded`); texts with what a careful engineer writes.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from programs import PROGRAMS

import tracegrad as tg
from codegen.ir import Call, Graph, Trait, walk
from tests.benchmarks.peers.contestants import transformed
from tests.benchmarks.peers.workload import Case
from tests.benchmarks.peers.workloads import WORKLOADS
from tracegrad.fast_math.forms import Forms
from tracegrad.fast_math.planning import Plan


@pytest.fixture
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)


def graph_of(compiled, *args) -> Graph:
    return compiled._version_for(args, {}).program.graph


def operations(graph: Graph) -> list[str]:
    """The names of elementwise operations on arrays."""
    return [
        node.op.name
        for node in walk(graph.nodes)
        if isinstance(node, Call)
        and Trait.ELEMENTWISE in node.op.traits
        and Trait.VIEW not in node.op.traits
        and node.results[0].type.shape
    ]


def statements(f, *args) -> str:
    """The statements of the program, without comments, in one line."""
    compiled = tg.compile(f)
    text = compiled.source(*args)
    body = text[text.index("def ") :].splitlines()[1:]
    kept = [line.strip() for line in body if line.strip() and not line.strip().startswith("#")]
    return re.sub(r"([(\[]) | ([)\]])", r"\1\2", " ; ".join(kept))


x, y, z, w = np.random.default_rng(0).uniform(0.5, 1.5, (4, 6))
row, column, matrix = x[:4], y[:3, None], np.random.default_rng(1).normal(size=(3, 4))


def doubled(d, v):
    d = 0.5 / v * d
    return d + d


def horner(x, y):
    return x * 3.0 * y + x


def cubic(z):
    return 0.75 * (z + 0.5 * (z * z * z))


def like_terms(x, y):
    return x * y + 2.0 * (y * x) - 4.0 * (x * y)


def cancelled(x, y, z):
    return x / (x / y) / z


def halves(x, y):
    return 0.5 * (x * 2.0 * y)


def under_a_root(x, y):
    root = np.sqrt(x)
    return y / root / root + root


def gathered(x, y):
    return -(0.5 * x / y) * 3.0


def through_a_view(x, m):
    return (0.5 * (x * x))[None, :] * m * 2.0


def small_first(row, m):
    return row * m * 3.0


def sign_of_a_row(row, m):
    return -(row * m)


def three_shapes(row, column, m):
    return row * m * column * row / column


def over_a_number(x, y):
    return x / 3.0 + y / 4.0


def powers(x):
    return x**3 + x**2


def quotient_of_products(x, y, z):
    return x / (y * z) * 2.0


def kept_as_written(x, y, z):
    return (x - y) * z, x / y / z, (x + y) + z, x - x + y


TEXTS = [
    (doubled, (x, y), "value = d / v"),
    (horner, (x, y), "value = x * 3.0 * y + x"),
    (cubic, (x,), "value = z * (0.75 + 0.375 * (z * z))"),
    (like_terms, (x, y), "value = -(x * y)"),
    (cancelled, (x, y, z), "value = y / z"),
    (halves, (x, y), "value = x * y"),
    (under_a_root, (x, y), "root = np.sqrt(x) ; value = y / x + root"),
    (gathered, (x, y), "value = -1.5 * x / y"),
    (through_a_view, (x[:4], matrix), "value = (x * x)[None] * m"),
    (small_first, (row, matrix), "value = 3.0 * row * m"),
    (sign_of_a_row, (row, matrix), "value = -(row * m)"),
    (three_shapes, (row, column, matrix), "value = row * row * m"),
    (over_a_number, (x, y), "value = 0.3333333333333333 * x + 0.25 * y"),
    (powers, (x,), "value = x * x * (x + 1.0)"),
    (quotient_of_products, (x, y, z), "value = x / (y * z) * 2.0"),
]


@pytest.mark.parametrize(("f", "args", "expected"), TEXTS, ids=[case[0].__name__ for case in TEXTS])
def test_texts(fast_math, f, args, expected) -> None:
    assert statements(f, *args) == f"{expected} ; return value"
    np.testing.assert_allclose(tg.compile(f)(*args), f(*args), rtol=1e-14)


def test_what_gets_no_cheaper_stays(monkeypatch) -> None:
    exact = statements(kept_as_written, x, y, z)
    monkeypatch.setattr(tg.config, "fast_math", True)
    assert statements(kept_as_written, x, y, z) == exact
