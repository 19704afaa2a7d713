"""Each row of ``docs/limits.md`` that tells of a refusal has a program here that shows its words.

A program is known by words of its row: a row without one, and one without a row, fails.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import config
from tracegrad.errors import (
    ArgumentError,
    ConversionError,
    GradientError,
    LostGradientError,
    RecompileWarning,
    TracegradError,
)

TEXT = (Path(__file__).parent.parent / "docs" / "limits.md").read_text(encoding="utf-8")
X = np.array([0.5, -1.25, 2.0])

EAGER: dict[str, tuple[Callable[[], None], str]] = {}
"""By words of the row: what calls a function that runs eagerly, and words of its one warning."""
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {}
"""By words of the row: what is refused, its error, and words of that."""


def rows(section: str) -> list[str]:
    """The first cells of a section's table."""
    part = TEXT.split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]


def eager(row: str, words: str) -> Callable[..., Any]:
    """Enters a program of "Runs eagerly"."""

    def enter(program: Callable[[], None]) -> None:
        EAGER[row] = program, words

    return enter


def refused(row: str, error: type[Exception], words: str) -> Callable[..., Any]:
    """Enters a program of "Is refused"."""

    def enter(program: Callable[[], Any]) -> None:
        REFUSED[row] = program, error, words

    return enter


def same_as_plain(f: Callable[..., Any], *args: Any, calls: int = 4) -> None:
    """Calls the compiled function some times: it gives what the plain one gives."""
    compiled = tg.compile(f)
    for _ in range(calls):
        assert np.array_equal(compiled(*args), f(*args))


def bits(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- runs eagerly ---------------------------------------------------------------------------------


@eager("logs, opens files, reads the clock", "time.perf_counter()")
def reads_the_clock():
    same_as_plain(lambda x: x * (time.perf_counter() > 0.0), X)


@eager("draws from a NumPy or Python generator", "rng")
def draws():
    rng = bits(0)
    compiled, other = tg.compile(lambda x: x + rng.normal()), bits(0)
    for _ in range(4):
        assert np.array_equal(compiled(X), X + other.normal())


@eager("keeps outside what a call cannot have again", "which gets a function")
def keeps_a_function():
    kept: list[Any] = []

    def f(x):
        kept.append(lambda: 1.0)
        return x * 2.0

    same_as_plain(f, X)
    assert len(kept) == 8


@eager("changes what it reads, so that no call finds", "changes what it reads")
def changes_what_it_reads():
    history: list[Any] = []

    def f(x):
        history.append(x.sum())
        return x * len(history)

    compiled = tg.compile(f)
    for turn in range(1, 6):
        assert np.array_equal(compiled(X), X * turn)


@eager("changes a list or dictionary among its arguments", "an argument of type dict")
def changes_an_argument():
    def f(x, kept):
        kept["x"] = x
        return x * 2.0

    compiled = tg.compile(f)
    for _ in range(4):
        kept = {"x": X}
        assert np.array_equal(compiled(X * 2.0, kept), X * 4.0)
        assert np.array_equal(kept["x"], X * 2.0)


@eager("uses up an iterator or generator", "an iterator that is used up")
def uses_up():
    numbers = iter(range(1, 100))
    compiled = tg.compile(lambda x: x * next(numbers))
    for turn in range(1, 6):
        assert np.array_equal(compiled(X), X * turn)


@eager("objects whose class has a `__del__`", "__del__()")
def ends():
    class Ends:
        def __del__(self):
            told.append(1)

    told: list[int] = []

    def f(x):
        Ends()
        return x * 2.0

    same_as_plain(f, X)
    assert len(told) == 8


@eager("asks a weak reference", "a weak reference")
def asks_a_reference():
    class Held:
        scale = 2.0

    held = Held()
    reference = weakref.ref(held)
    same_as_plain(lambda x: x * reference().scale, X)


@eager("returns an object, a function or a set", "which it returns")
def returns_a_set():
    compiled = tg.compile(lambda x: {1, 2} if x[0] > 0.0 else {3})
    for _ in range(4):
        assert compiled(X) == {1, 2}


@eager("asks which object an argument is", "which objects its arguments are")
def asks_who():
    compiled = tg.compile(lambda x, y: x + y if x is y else x - y)
    for _ in range(4):
        assert np.array_equal(compiled(X, X), X + X)
        assert np.array_equal(compiled(X, X + 1.0), X - (X + 1.0))


@eager("calls a helper under `functools.lru_cache`", "which raises")
def helper_raises():
    @functools.lru_cache
    def helper(n):
        raise KeyError(n)

    def f(x):
        try:
            return x * helper(3)
        except KeyError:
            return x * 3.0

    same_as_plain(f, X)


@eager("calls a C function that tracegrad does not know", "get_ident()")
def not_known():
    same_as_plain(lambda x: x * (threading.get_ident() > 0), X)


@eager("holds code that the machine does not execute", "without being compiled")
def executes_text():
    def f(x):
        names: dict[str, Any] = {}
        exec("k = 2.0", names)
        return x * names["k"]

    same_as_plain(f, X)


@eager("runs while a debugger", "a debugger or a coverage tool is active")
def is_traced():
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        same_as_plain(lambda x: x * 2.0, X)
    finally:
        sys.settrace(before)


@eager("has more than 32 versions", "versions were compiled and this call needs another")
def many_versions():
    compiled = tg.compile(lambda x, n: x * n.bit_length(), static_argnames="n")
    for n in range(config.versions + 2):
        assert np.array_equal(compiled(X, n), X * n.bit_length())


@eager("calls functions of `math`", "")
def math_raises():
    compiled = tg.compile(lambda x: x * math.sqrt(x[0]))
    compiled(X)
    with pytest.raises(ValueError, match="math domain error"):
        compiled(-X)


# -- is refused -----------------------------------------------------------------------------------


@refused("`return float(loss)`", LostGradientError, "test_limits.py")
def number_returned():
    return tg.grad(lambda x: float((x * x).sum()))(X)


@refused("a recorded value written into an array", ConversionError, "would lose its gradient")
def written_into_plain():
    outside = np.zeros(3)
    outside[:] = tg.tensor(X, requires_grad=True) * 2.0


@refused("`np.maximum.at(y, index, v)`", TracegradError, "maximum.at")
def maximum_at():
    def f(x, index):
        y = x * 1.0
        np.maximum.at(y, index, x)
        return y.sum()

    return tg.grad(f)(X, np.array([0, 0, 1]))


@refused("a write to a `jax.Array`", ArgumentError, "an array of JAX, which cannot be written to")
def written_to_jax():
    jnp = pytest.importorskip("jax.numpy")
    outside = jnp.zeros(3)

    def f(x):
        outside[0] = x[0]
        return x * 2.0

    return tg.compile(f)(X)


@refused("a look, an effect or a draw in a call with JAX", ArgumentError, "test_limits.py")
def look_in_jax():
    jax = pytest.importorskip("jax")
    compiled = tg.compile(lambda x: x * 2.0 if x[0] > 0.0 else x)
    return jax.jit(compiled)(X)


@refused("a write to an argument that shares memory", ArgumentError, "shares memory")
def written_and_shared():
    def f(x, y):
        x[0] = 3.0
        return (x * y).sum()

    base = np.ones(4)
    return tg.compile(f)(base[:3], base[1:])


@refused("a write to an argument by which is differentiated", GradientError, "in-place")
def written_and_wanted():
    def f(x):
        x[0] = 3.0
        return (x * x).sum()

    return tg.grad(f)(X.copy())


@refused("`tg.jacobian(f, sparse=True)`", ArgumentError, "the sparse jacobian")
def sparse_of_tree():
    return tg.jacobian(lambda p: p["x"] * 2.0, sparse=True)({"x": X})


@refused("other functions of SciPy", ConversionError, "scipy.ndimage.gaussian_filter")
def other_of_scipy():
    ndimage = pytest.importorskip("scipy.ndimage")
    return tg.grad(lambda x: ndimage.gaussian_filter(x, 1.0).sum())(X)


# -- the tests ------------------------------------------------------------------------------------


def of_one_row(programs: Any, section: str) -> None:
    """Every row has a program, and every program a row."""
    found = rows(section)
    assert found
    for row in found:
        assert any(words in row for words in programs), f"no program shows: {row}"
    for words in programs:
        assert sum(words in row for row in found) == 1, f"no row, or several, for {words!r}"


def test_every_row_has_a_program():
    of_one_row(EAGER, "Runs eagerly")
    of_one_row(REFUSED, "Is refused")


@pytest.mark.parametrize("row", EAGER)
def test_runs_eagerly(row):
    program, words = EAGER[row]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    told = [w for w in caught if issubclass(w.category, RecompileWarning)]
    texts = [str(w.message) for w in told] or [str(w.message) for w in caught]
    if words:
        assert len(texts) == 1, texts
        assert words in texts[0]
    else:
        assert not told


@pytest.mark.parametrize("row", REFUSED)
def test_is_refused(row):
    program, error, words = REFUSED[row]
    with pytest.raises(error, match=re.escape(words)):
        program()
