"""Memory: what arrays free is used again, what is not needed is freed, what is needed is told."""

from __future__ import annotations

import gc
import platform
import re
import resource
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

LOOP = """
import resource
import numpy as np
import tracegrad as tg

f = tg.value_and_grad(lambda x: tg.sum(tg.exp(-x * x) * tg.tanh(x)))
x = np.linspace(-1.0, 1.0, {elements})
f(x), f(x), f(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    f(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20)
"""


@pytest.mark.parametrize("elements", [10_000, 100_000])
def test_arrays_are_made_of_memory_that_was_freed_before(elements: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOOP.format(elements=elements)],
        capture_output=True,
        text=True,
        check=True,
    )
    faults = float(ran.stdout)
    fresh = elements * 8 / resource.getpagesize()  # of one array, were it made of fresh pages
    if platform.libc_ver()[0] == "glibc":
        assert faults < fresh / 2
    else:
        assert faults < fresh * 20


# -- what the header says ------------------------------------------------------------------------


def peak_of(f: Any, *args: np.ndarray) -> int:
    """The most bytes that a call takes beside its arguments."""
    for _ in range(3):
        f(*args)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = f(*args)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        del kept
        tracemalloc.stop()


def said(f: Any, *args: np.ndarray, **lengths: int) -> float | None:
    """What the header says of that, lengths filled in."""
    found = re.search(r"# Needs (?:at most|about) (.*) beside", str(f.source(*args)))
    if not found:
        return None
    text, unit = found[1].rsplit(" ", 1)
    factor = {"bytes": 1, "B": 1, "KB": 1e3, "MB": 1e6}[unit]
    return float(eval(text, dict(lengths))) * factor


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


def elementwise(x, y):
    a = np.tanh(x * y)
    b = np.exp(np.tanh(a + x))
    c = b / (np.abs(y) + 1.0)
    return np.sum(np.sqrt((a - c) * (a - c) + 1.0))


def looked_at(*shapes):
    """The sum of lengths, each of which Python looks at: a program is for these alone."""
    return sum(float(n | 0) for shape in shapes for n in shape)


def layers(w, v, x, y):
    n, width = looked_at(x.shape[:1]), looked_at(x.shape[1:], w.shape, v.shape)
    h = np.tanh(x @ w)
    error = h @ v - y
    return np.sum(error * error) / (n + width)


def softmaxes(q, k):
    scores = q @ np.swapaxes(k, 1, 2) / looked_at(q.shape, k.shape[1:2])
    return np.sum(tg.special.softmax(scores, axis=-1) ** 2)


def mixture(means, x):
    n, (k, d) = looked_at(x.shape, means.shape), means.shape
    apart = x - means.reshape((k, 1, d))
    terms = np.sum(apart * apart, axis=2) * (0.5 / n)
    return np.sum(tg.logsumexp(terms, axis=0))


def long_expressions(x):
    n, m = map(float, x.shape)
    return (x * 2.0 + 1.0) * x / n - x / m


def slices(x):
    step = x[1:] - x[:-1] ** 2
    rest = 1.0 - x[:-1]
    return np.sum(100.0 * step**2 + rest**2)


@pytest.mark.parametrize(
    "f, positions, shapes",
    [
        (elementwise, (0, 1), [(8000,), (8000,)]),
        (layers, (0, 1), [(150, 170), (170, 160), (700, 150), (700, 160)]),
        (softmaxes, (0, 1), [(3, 190, 40), (3, 210, 40)]),
        (mixture, (0,), [(20, 7), (1500, 7)]),
        (long_expressions, (), [(300, 310)]),
        (slices, (0,), [(8000,)]),
    ],
    ids=lambda p: p.__name__ if callable(p) else None,
)
def test_the_header_says_how_much_memory_a_call_needs(f, positions, shapes) -> None:
    args = [array(*shape) for shape in shapes]
    compiled = tg.value_and_grad(f, positions) if positions else tg.compile(f)
    expected = said(compiled, *args, n0=shapes[0][0])
    assert expected == pytest.approx(peak_of(compiled, *args), rel=0.1)


def test_a_program_with_memory_that_nobody_tells_says_nothing() -> None:
    def convolved(x, w):
        return np.sum(tg.nn.conv2d(x, w) ** 2)

    def sorted_out(x):
        return np.sum(x * x) if np.sum(x) > 0 else np.sum(x)

    assert said(tg.grad(convolved), array(2, 3, 9, 9), array(4, 3, 3, 3)) is None

    def product(x, w):  # whether examples or features are many decides
        h = np.tanh(x @ w)
        return np.mean(h**2)

    assert said(tg.grad(product, 1), array(4, 3), array(3)) is None
    branching = tg.grad(sorted_out)
    for x in (np.ones(9), -np.ones(9)):
        branching(x)
    assert said(branching, np.ones(9)) is None


# -- what is deleted -----------------------------------------------------------------------------


def deleted(text: str) -> list[str]:
    return re.findall(r"^ +del (.*)$", text, re.M)


def test_what_nobody_reads_is_deleted_where_it_makes_the_peak() -> None:
    f, args = tg.value_and_grad(elementwise, (0, 1)), (array(8000), array(8000))
    source = f.source(*args)
    text = str(source)
    assert len(deleted(text)) in (1, 2, 3)
    kept: dict[str, Any] = {}
    exec(re.sub(r"\n +del .*", "", text), kept)
    without = kept["elementwise_value_and_grad"]
    assert peak_of(f, *args) < 0.85 * peak_of(without, *args)
    for a, b in zip(f(*args)[1], without(*args)[1], strict=True):
        assert_same_bits(a, b)


def test_short_functions_delete_nothing() -> None:
    def short(x):
        a = np.exp(x)
        b = np.tanh(a)
        c = np.sin(b)
        return np.sum(np.cos(c))

    assert not deleted(str(tg.compile(short).source(array(9))))


def test_memory_that_a_view_shows_is_freed_with_the_view() -> None:
    """The array and what shows it go together, or not at all."""

    def turned(x, w):
        n, m = map(int, x.shape)  # Python looks at them
        wide = np.exp(x @ w)
        flat = np.reshape(wide, (n * m,))
        a = np.cumsum(flat) * 1e-3
        b = np.cumsum(a) * 1e-3 - a
        c = np.cumsum(b) * 1e-3 - b
        d = np.cumsum(c) * 1e-3 - c
        e = np.cumsum(d) * 1e-3 - d
        return np.cumsum(e) * 1e-3 - e

    f, args = tg.compile(turned), (array(60, 50), array(50, 50) / 50)
    text = str(f.source(*args))
    assert any({"wide", "flat"} <= {*re.findall(r"[a-z]+", line)} for line in deleted(text))
    assert_same_bits(f(*args), turned(*args))
