"""Each row of ``docs/limits.md`` that tells of a limit has a program here that shows its words.

A program is known by words of its row: a row without one, and one without a row, fails. What runs
inside JAX is told in sentences: there a program is known by words of one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import math
import pickle
import re
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import config
from tracegrad.autograd import rule_outcomes
from tracegrad.errors import (
    ArgumentError,
    ConversionError,
    DTypeError,
    GradientError,
    LostGradientError,
    MemoryAccessError,
    RecompileWarning,
    TraceError,
    TracegradError,
)

TEXT = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
X = np.array([0.5, -1.25, 2.0])

OTHERWISE: dict[str, Callable[[], None]] = {}
"""By words of the row: what shows how plain Python does it, and how tracegrad does."""
INSIDE_JAX: dict[str, Callable[[], None]] = {}
"""By words of the text: what shows how a call with JAX tracers goes."""
EAGER: dict[str, tuple[Callable[[], None], str]] = {}
"""By words of the row: what calls a function that runs eagerly, and words of its one warning."""
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {}
"""By words of the row: what is refused, its error, and words of that."""


def rows(section: str) -> list[str]:
    """The first cells of a section's table."""
    part = TEXT.split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]


def otherwise(row: str) -> Callable[..., Any]:
    """Enters a program of "Differs from plain Python"."""
    return lambda program: OTHERWISE.setdefault(row, program)


def inside_jax(words: str) -> Callable[..., Any]:
    """Enters a program of "Inside JAX"."""
    return lambda program: INSIDE_JAX.setdefault(words, program)


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


# -- is done otherwise ----------------------------------------------------------------------------


@otherwise("returns an argument, a view of one")
def returns_memory_of_others():
    kept = np.zeros(3)

    def f(x):
        y = x * 2.0
        return x, x[1:], kept, y, y, y[:2]

    compiled, x = tg.compile(f), X.copy()
    for _ in range(3):
        found, plain = compiled(x), f(x)
        assert np.shares_memory(plain[0], x) and plain[3] is plain[4]
        for i, result in enumerate(found):
            assert np.array_equal(result, plain[i])
            assert not any(np.shares_memory(result, y) for y in (x, kept, *found[:i]))


@otherwise("is called without a Tensor among its arguments")
def tensors_without_a_history():
    w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def f(x):
        return w.detach(), tg.zeros(3), x * w

    assert all(isinstance(result, tg.Tensor) for result in f(X))
    compiled = tg.compile(f)
    assert [type(result) for result in compiled(X)] == [np.ndarray, np.ndarray, tg.Tensor]
    with tg.no_grad():
        assert [type(result) for result in compiled(X)] == [np.ndarray] * 3


@otherwise("runs eagerly on Tensors, changes a list, dictionary or dataclass among its")
def changes_what_it_reads_by_another_way():
    def f(x, kept, model):
        time.perf_counter()
        kept["w"] = x * 2.0
        return model.kept["w"].sum(axis=0)

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            kept = {"w": X.copy()}
            assert compiled(X, kept, SimpleNamespace(kept=kept)) == X.sum()
            assert np.array_equal(kept["w"], X * 2.0)


@otherwise("returns an argument that is a list")
def returns_containers_of_others():
    def f(x, rows):
        made = [x * 2.0]
        return rows, {"first": made, "again": made}

    compiled, given = tg.compile(f), [X]
    plain = f(X, given)
    assert plain[0] is given and plain[1]["first"] is plain[1]["again"]
    for _ in range(3):
        rows, made = compiled(X, given)
        assert rows is not given and np.array_equal(rows[0], X)
        assert made["first"] is not made["again"]
        assert np.array_equal((*made["first"], *made["again"]), [X * 2.0] * 2)


@dataclasses.dataclass
class _Halved:
    v: Any

    def __post_init__(self) -> None:
        self.half = self.v / 2


@otherwise("returns a dataclass with attributes that are no fields")
def returns_fields_alone():
    compiled = tg.compile(lambda x: _Halved(x * 2.0))
    for _ in range(3):
        assert vars(compiled(X)).keys() == {"v"}


@otherwise("is mapped by `tg.vmap`, and multiplies matrices")
def products_of_a_batch():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    mapped = tg.vmap(lambda x: w @ x)
    assert "x @ w.T" in mapped.source(x)
    assert np.array_equal(mapped(x), x @ w.T)
    assert np.allclose(mapped(x), [w @ row for row in x], rtol=1e-14)


@otherwise("takes powers of floats among its arguments")
def powers_of_python():
    compiled = tg.compile(lambda x, base, power: x * base**power, static_argnames="power")
    with np.errstate(all="ignore"):
        assert np.isinf(compiled(X, 0.0, -2)).all()
        assert np.isnan(compiled(X, -4.0, 0.5)).all()
    held = {"base": 2.0}
    for f, error in (
        (lambda x: x * held["base"] ** -2, ZeroDivisionError),
        (lambda x: x * (1.0 / held["base"]), ZeroDivisionError),
        (lambda x: x * math.log(held["base"]), ValueError),
    ):
        held["base"], compiled = 2.0, tg.compile(f)
        assert np.array_equal(compiled(X), f(X))
        held["base"] = 0.0
        with pytest.raises(error):
            compiled(X)


@otherwise("sums along short rows")
def other_sums():
    x = np.random.default_rng(0).normal(size=(300, 40)) * 1e3
    z = x[0] + 1j * x[1]
    for f, of in (
        (lambda x: x.sum(axis=1), x),
        (lambda x: np.einsum("ij,kj->ik", x[:9], x[9:20]), x),
        (np.abs, z),
    ):
        compiled, eager = tg.compile(f)(of), f(tg.tensor(of)).numpy()
        assert np.array_equal(compiled, eager)
        assert np.allclose(compiled, f(of), rtol=1e-12, atol=1e-9)


@otherwise("is differentiated, and its value is a float of Python's on one arm")
def other_numbers():
    def least(x):
        return min(x[0], 0.3)

    for x, kind in ((np.ones(3), float), (np.zeros(3), np.float64)):
        assert type(least(x)) is type(tg.compile(least)(x)) is kind
        assert type(tg.value_and_grad(least)(x)[0]) is np.float64


@otherwise("is differentiated forwards (`tg.jvp`, `tg.hessian`) through a loop")
def other_signs_of_zeros():
    def of_one_place(x):
        z = 0.0
        for _ in x:
            z = np.tanh(x[1] + z)
        return z

    x = np.ones(8)
    tg.config.compile = False
    try:
        expected = tg.hessian(of_one_place)(x)
    finally:
        tg.config.compile = True
    found = tg.hessian(of_one_place)(x)
    assert np.array_equal(found, expected) and found.tobytes() != expected.tobytes()


@otherwise("looks at flags or strides of what `np.einsum`")
def other_layouts():
    random = np.random.default_rng(0)
    x = np.asfortranarray(random.normal(size=(3, 3)))
    v = random.normal(size=5)
    for f, of in (
        (lambda x: np.einsum("ij,jk,kl->il", x, x, x), x),
        (lambda v: np.histogram2d(v, v * v, 3)[0], v),
        (lambda x: np.histogramdd(x, 2)[0], x),
        (lambda x: np.poly(x), x),
        (
            lambda x: np.nanquantile(x, [0.1, 0.6], 1, weights=x * x, method="inverted_cdf"),
            x.copy(),
        ),
    ):
        compiled, eager, plain = tg.compile(f)(of), f(tg.tensor(of)).numpy(), f(of)
        assert np.allclose(compiled, plain) and compiled.strides == eager.strides != plain.strides
        assert np.array_equal(compiled, eager)

    for f in (
        lambda x: np.zeros_like(x),
        lambda x: np.gradient(x, axis=0),
        lambda x: np.polyval([1.0, 2.0, 3.0], x),
        lambda x: np.select([x > 0], [x]),
    ):
        assert tg.compile(f)(x).strides == f(tg.as_tensor(x)).numpy().strides == f(x).strides


@otherwise("asks for `np.linalg.eig`")
def complex_eigenvalues():
    x = np.ones((3, 3)) + np.eye(3)
    zeros = np.array([1.0 + 1.0j, 1.0 - 1.0j])
    for f, of in (
        (lambda x: np.linalg.eig(x)[0], x),
        (np.roots, np.array([1.0, -3.0, 2.0])),
        (np.poly, zeros),
    ):
        assert f(of).dtype == np.float64
        assert tg.compile(lambda x, f=f: f(x))(of).dtype == np.complex128


@otherwise("asks `np.linalg.lstsq` for residuals")
def residuals_of_any_matrix():
    a, b = np.ones((3, 2)), np.array([1.0, 2.0, 3.0])
    assert np.linalg.lstsq(a, b)[1].shape == (0,)
    assert np.allclose(tg.compile(lambda a: np.linalg.lstsq(a, b)[1])(a), [2.0])


@otherwise("is differentiated, and `np.where` does not choose what comes out of a loop")
def not_chosen_behind_a_loop():
    def f(x, p):
        u = x[0]
        for _ in range(len(x)):
            u = u / p[0]
        return np.where(p[0] == 0.0, x[1], u)

    def chosen_before(x, p):
        u, q = x[0], np.where(p[0] == 0.0, 1.0, p[0])
        for _ in range(len(x)):
            u = u / q
        return np.where(p[0] == 0.0, x[1], u)

    x, zero = np.ones(9), np.zeros(1)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        assert np.isnan(tg.grad(f)(x, zero)[0])
        assert np.array_equal(tg.grad(chosen_before)(x, zero), np.eye(9)[1])
        patch.setattr(tg.config, "compile", False)
        assert np.array_equal(tg.grad(f)(x, zero), np.eye(9)[1])


@otherwise("computes with numbers in a loop (NumPy source)")
def quiet_in_loops():
    def f(x):
        total = 1.0
        for v in x:
            total = total * v + 0.5 * v
        return total

    compiled = tg.compile(f)
    compiled(np.ones(9))
    huge = np.full(9, 1e100)
    with warnings.catch_warnings(), np.errstate(over="warn"):
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RuntimeWarning, match="overflow"):
            f(huge)
        assert compiled(huge) == np.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        compiled(huge)


@otherwise('runs loops or elementwise operations with `backend="numba"`')
def quiet_in_kernels():
    pytest.importorskip("numba")

    def f(x):
        total = 0.0
        for i in range(20):
            total = total + 1.0 / (x[0] * i)
        return total

    with warnings.catch_warnings(), np.errstate(divide="warn"):
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            f(X)
    compiled = tg.compile(f, backend="numba")
    for _ in range(3):
        with np.errstate(all="ignore"):
            found = compiled(X)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        assert np.array_equal(found, f(X))


@otherwise("leaves elements out with")
def elements_left_out():
    def f(x):
        return np.divide(1.0, x, where=x != 0, out=np.zeros_like(x))

    x = np.array([1.0, 0.0, 4.0])
    with np.errstate(all="raise"):
        assert f(x).tolist() == [1.0, 0.0, 0.25]
        with pytest.raises(FloatingPointError):
            tg.compile(f)(x)
    with np.errstate(all="ignore"):
        assert tg.compile(f)(x).tolist() == [1.0, 0.0, 0.25]


@otherwise("writes a row or column of an array to another one that crosses it")
def writes_across():
    def f(a):
        a = a * 1.0
        a[1] = a[:, 2]
        return a

    a = np.arange(9.0).reshape(3, 3)
    assert tg.compile(f)(a)[1].tolist() == a[:, 2].tolist()
    assert tg.jacobian(f)(a)[1, 1].tolist() == np.eye(9).reshape(3, 3, 3, 3)[1, 2].tolist()


@otherwise("stands under `tg.checkpoint`, and")
def effects_under_checkpoint():
    seen = []

    @tg.checkpoint
    def part(x):
        seen.append(1)
        return x * x

    def f(x):
        return np.sum(part(x))

    tg.value_and_grad(f)(X)
    assert len(seen) == 1
    tg.config.compile = False
    try:
        tg.value_and_grad(f)(X)
    finally:
        tg.config.compile = True
    assert len(seen) == 3


@otherwise("calls rules of yours")
def rules_with_large_results():
    calls = []

    @tg.custom_vjp
    def rule(x):
        calls.append(1)
        return x * 2.0

    rule.defvjp(lambda x: (rule(x), None), lambda kept, g: (g * 2.0,))
    tg.value_and_grad(lambda x: np.sum(rule(x)))(X)
    assert len(calls) == 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rule_outcomes, "MOST_BYTES", 8)
        tg.value_and_grad(lambda x: np.sum(rule(x * 3.0)))(X)
    assert len(calls) == 3


@otherwise("computes a Python number (`float(x[0])`, `2.0 * lr`) and returns it")
def python_numbers_of_jax():
    jnp = pytest.importorskip("jax.numpy")

    def f(x, lr):
        return x * lr, float(x[0]), 2.0 * lr

    for number in tg.compile(f, backend="jax")(jnp.ones(2), 0.5)[1:]:
        assert isinstance(number, jnp.ndarray)
        assert number == 1.0
    with mock.patch.object(config, "compile", False):
        assert list(map(type, tg.compile(f, backend="jax")(jnp.ones(2), 0.5)[1:])) == [float, float]


@otherwise("reads arrays of JAX from outside and is called with NumPy's")
def jaxs_own_dtypes():
    jnp = pytest.importorskip("jax.numpy")
    w, x = jnp.ones(3, jnp.float32), np.ones(3)
    f = tg.compile(lambda x: np.sum(w * x), backend="jax")
    assert type(f(x)) is np.float64
    with mock.patch.object(config, "compile", False):
        assert type(f(x)) is np.float32


@otherwise("writes to an argument that is an array of JAX")
def writes_to_arrays_of_jax():
    import jax.numpy as jnp

    def f(x):
        x[0] = 5.0
        return np.sum(x)

    x = jnp.zeros(3)
    with pytest.raises(TypeError):
        f(x)
    assert float(tg.compile(f, backend="jax")(x)) == 5.0
    assert x.tolist() == [0.0, 0.0, 0.0]


@otherwise("is called with Tensors, and returns several results")
def results_of_results():
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    @tg.compile
    def f(x):
        h = x * w
        return h, (h**2).sum()

    h, loss = f(tg.tensor([3.0, 4.0]))
    with pytest.raises(tg.errors.GradientError, match="from which another of its results"):
        h.retain_grad()
    with pytest.raises(tg.errors.GradientError, match="from which another of its results"):
        tg.autograd.grad(loss, h)
    assert tg.autograd.grad((h * 3.0).sum(), h)[0].tolist() == [3.0, 3.0]
    h, loss = f(tg.tensor([3.0, 4.0]))
    (loss + h.sum()).backward()
    assert w.grad.tolist() == [21.0, 68.0]


@otherwise("is linearized (`tg.linearize`)")
def linearized_and_read():
    held = {"scale": np.array([2.0])}
    _, linear = tg.linearize(lambda x: x * held["scale"], X)
    _, pullback = tg.vjp(lambda x: x * held["scale"], X)
    held["scale"] = np.array([5.0])
    assert np.array_equal(linear(X), X * 5.0)
    assert np.array_equal(pullback(X)[0], X * 2.0)


@otherwise("writes in place to a Tensor without a history that it made itself")
def own_tensors_that_are_written():
    def own(w):
        m = tg.ones(2)
        z = (w * m).sum()
        m.fill_(0.5)
        return z

    def shown(w, m):
        return (w * m[::-1]).sum()

    given = tg.tensor([1.0, 2.0])
    for f, args, due in ((own, (), [1.0, 1.0]), (shown, (given,), [2.0, 1.0])):
        for run in (f, tg.compile(f)):
            given.copy_(tg.tensor([1.0, 2.0]))
            w = tg.tensor([1.5, -2.0], requires_grad=True)
            z = run(w, *args)
            given.fill_(0.5)
            if run is f:
                with pytest.raises(tg.errors.BackwardError, match="changed after"):
                    z.backward()
            else:
                z.backward()
                assert w.grad.tolist() == due


@otherwise("multiplies vectors as `np.outer`")
def vectors_that_lie_apart():
    differ = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        z = random.normal(size=6) + 1j * random.normal(size=6)
        f = tg.value_and_grad(lambda z: np.outer(z, z.conj()).real @ np.arange(6.0) @ z.real)
        f(z)
        found = f(z[::-1])
        with mock.patch.object(tg.config, "compile", False):
            value, gradient = f(z[::-1])
        assert np.allclose(found[0], value, rtol=1e-12)
        assert np.allclose(found[1], gradient, rtol=1e-12)
        differ.append(not np.array_equal(found[1], gradient))
    assert any(differ)


@otherwise("is compiled, and differentiated twice")
def second_gradients_of_products():
    def f(w):
        return (np.tanh(w) * w * w).sum()

    compiled = tg.compile(f)
    differ = []
    for seed in range(12):
        firsts, seconds = [], []
        for g in (f, compiled, compiled):
            w = tg.tensor(np.random.default_rng(seed).normal(size=5), requires_grad=True)
            (slope,) = tg.autograd.grad(g(w) * g(2.0 * w), [w], create_graph=True)
            (slope * slope).sum().backward()
            firsts.append(slope.detach().numpy())
            seconds.append(w.grad.numpy())
        assert np.array_equal(firsts[0], firsts[2])
        assert np.allclose(seconds[0], seconds[2], rtol=1e-12)
        differ.append(not np.array_equal(seconds[0], seconds[2]))
    assert any(differ)


@otherwise("calls functions of `math` on traced numbers")
def files_that_do_not_raise():
    def uncaught(x):
        return math.sqrt(x[0]) * x

    def caught(x):
        try:
            return uncaught(x)
        except ValueError:
            return -x

    negative = np.array([-1.0, 2.0])
    with tempfile.TemporaryDirectory() as folder, np.errstate(invalid="ignore"):
        for f, expected in ((uncaught, [np.nan, np.nan]), (caught, [1.0, -2.0])):
            compiled = tg.compile(f)
            for x in (X, negative) if f is caught else (X,):
                compiled(x)
            space: dict[str, Any] = {}
            exec(compiled.export(Path(folder) / f"{f.__name__}.py", X).read_text(), space)
            np.testing.assert_array_equal(space[f.__name__](negative), expected)
            pytest.importorskip("jax")
            by_jax = tg.compile(f, backend="jax")
            by_jax(X)
            np.testing.assert_allclose(by_jax(negative), expected, 1e-6)
        with pytest.raises(ValueError):
            tg.compile(uncaught)(negative)


@otherwise("has a Python float in a variable before a loop")
def floats_that_few_turns_make_numpys() -> None:
    def f(x):
        s = 0.0
        for i in range(20):
            if x[i] > 0.0:
                s = s + x[i]
        return s

    compiled, positive = tg.compile(f), np.arange(20.0) - 15.0
    assert compiled(positive) == f(positive) == 10.0
    assert type(f(-(positive**2))) is type(compiled(-(positive**2))) is float
    by_grad = tg.value_and_grad(f)
    assert by_grad(positive)[0] == 10.0
    assert type(by_grad(-(positive**2))[0]) is np.float64

    def clamped(h, x, limit):
        for v in x:
            h = h + v
            if h > limit:
                h = limit
        return h

    compiled, x = tg.compile(clamped), np.ones(20)
    assert compiled(0.0, x, 1.5) == clamped(0.0, x, 1.5) == 1.5
    assert type(clamped(0.0, x, 1.5)) is type(compiled(0.0, x, 1.5)) is float
    assert type(tg.value_and_grad(clamped)(0.0, x, 1.5)[0]) is np.float64

    def divided(h, x, limit):
        return 1.0 / (clamped(h, x, limit) - limit)

    for make in (tg.compile, tg.grad):
        with pytest.raises(ZeroDivisionError):
            make(divided)(0.0, x, 1.5)
    jax = pytest.importorskip("jax")
    found = jax.jit(lambda x: tg.compile(f)(x))(positive.astype(np.float32))
    assert (found.dtype, found) == (np.float32, 10.0)


@otherwise("computes with functions of `math`")
def functions_of_math():
    compiled = tg.compile(lambda x: math.exp(x[0]))
    number = 0.47738693467336685
    assert compiled(np.array([number])) == float(np.exp(number))
    np.testing.assert_allclose(compiled(np.array([number])), math.exp(number), rtol=1e-15)


@otherwise("calls `round(h, 2)` of a Python float")
def rounds_in_jax():
    assert tg.compile(lambda h: round(h, 2))(2.675) == round(2.675, 2) == 2.67
    assert float(tg.compile(lambda h: round(h, 2), backend="jax")(2.675)) == 2.68


@otherwise("calls `math.fsum`")
def sums_one_after_the_other():
    x = np.array([1e16, 1.0, -1e16, *np.ones(7)])
    assert math.fsum(x) == 8.0
    assert tg.compile(lambda x: math.fsum(x))(x) == 7.0


@otherwise("asks `np.isreal`")
def types_of_math():
    assert type(np.isreal(1.5)) is bool
    assert type(tg.compile(lambda a: np.isreal(a))(1.5)) is np.bool_


@otherwise("reads or writes an element (`x[3]`, `y[i] = v`) on which nothing depends")
def reads_that_nothing_depends_on():
    def f(x):
        unused = x[3] * 2.0  # noqa: F841
        return x.sum()

    def caught(x):
        try:
            f(x)
            return x[3]
        except IndexError:
            return -1.0

    def matrix(x):
        np.linalg.inv(x)
        return x.sum()

    compiled = tg.compile(f)
    assert compiled(np.ones(4)) == 4.0
    with pytest.raises(IndexError):
        f(np.ones(2))
    assert compiled(np.ones(2)) == 2.0
    compiled = tg.compile(caught)
    assert [compiled(np.ones(n)) for n in (4, 2, 4)] == [1.0, -1.0, 1.0]
    compiled = tg.compile(matrix)
    assert compiled(np.eye(2)) == 2.0
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.ones((2, 2)))


@otherwise("computes, outside of `try`, what nothing depends on")
def floating_point_errors_that_nothing_depends_on():
    def f(x, a):
        w = 1.0 / a  # noqa: F841
        return x.sum()

    def caught(x, a):
        try:
            return f(x, a)
        except FloatingPointError:
            return -x.sum()

    one, zero = np.float64(1.0), np.float64(0.0)
    compiled, catching = tg.compile(f), tg.compile(caught)
    assert compiled(np.ones(2), one) == catching(np.ones(2), one) == 2.0
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            f(np.ones(2), zero)
        assert compiled(np.ones(2), zero) == 2.0
        assert catching(np.ones(2), zero) == -2.0


# -- runs eagerly ---------------------------------------------------------------------------------


@eager("logs, opens files, reads the clock", "time.perf_counter()")
def reads_the_clock():
    same_as_plain(lambda x: x * (time.perf_counter() > 0.0), X)


@eager("is given a dataclass with attributes that are no fields", "a _Halved with attributes")
def differentiates_by_a_dataclass():
    slope = tg.grad(lambda c, x: np.sum(c.v * x) * c.half)
    assert slope(_Halved(2.0), X).v == np.sum(X)
    same_as_plain(lambda x, c: x * c.half, X, _Halved(2.0))


@eager("draws from a NumPy or Python generator", "rng")
def draws():
    rng = bits(0)
    compiled, other = tg.compile(lambda x: x + rng.normal()), bits(0)
    for _ in range(4):
        assert np.array_equal(compiled(X), X + other.normal())


@eager("stores outside an object that no later call can have again", "which gets a function")
def keeps_a_function():
    kept: list[Any] = []

    def f(x):
        kept.append(lambda: 1.0)
        return x * 2.0

    same_as_plain(f, X)
    assert len(kept) == 8


@eager("a container among its arguments", "which gets a container among the arguments")
def keeps_an_argument():
    kept: list[Any] = []

    def f(x, d):
        kept.append(d)
        return x * 2.0

    compiled, given = tg.compile(f), [[1.0], [1.0]]
    for d in given:
        compiled(X, d)
    assert all(a is b for a, b in zip(kept, given, strict=True))


@eager("writes to a Tensor from outside, while another", "several Tensors from outside share")
def writes_to_what_another_one_shows():
    flat = tg.tensor([1.0, 2.0, 4.0])
    part = flat[:2]

    @tg.compile
    def f(x):
        flat.mul_(0.5)
        return x * part

    for turn in range(1, 5):
        assert f(tg.ones(2)).tolist() == [0.5**turn, 2.0 * 0.5**turn]
        assert np.shares_memory(part.numpy(), flat.numpy())


@eager("changes what it reads, so that each call finds", "changes what it reads")
def changes_what_it_reads():
    history: list[Any] = []

    def f(x):
        history.append(x.sum())
        return x * len(history)

    compiled = tg.compile(f)
    for turn in range(1, 6):
        assert np.array_equal(compiled(X), X * turn)


@eager("has hundreds of loops, one after the other", "nests deeper than Python can")
def has_hundreds_of_loops():
    loop = "    for v in x:\n        total = total * 0.5 + v\n"
    names: dict[str, Any] = {}
    exec(f"def f(x):\n    total = x[0]\n{loop * 330}    return total\n", names)
    same_as_plain(names["f"], np.arange(20.0))


@eager("counts outside in a loop, and changes another object", "nests deeper than Python can")
def counts_outside_in_a_loop():
    def f(state, x):
        for v in x:
            state["n"] += 1
            if state["n"] % 4 == 0:
                state["log"].insert(0, v)
        return x.sum()

    plain, ours = ({"n": 0, "log": []} for _ in range(2))
    compiled = tg.compile(lambda x: f(ours, x))
    for length in (9, 9, 1, 7, 8, 100, 100, 9):
        x = np.arange(float(length))
        assert compiled(x) == f(plain, x)
        assert ours == plain


@eager("changes a list, dictionary or dataclass among its arguments", "an argument of type dict")
def changes_an_argument():
    def f(x, kept):
        kept["x"] = x
        return x * 2.0

    compiled = tg.compile(f)
    for _ in range(4):
        kept = {"x": tg.tensor(X)}
        assert np.array_equal(compiled(tg.tensor(X * 2.0), kept), X * 4.0)
        assert np.array_equal(kept["x"], X * 2.0)


@eager("uses up an iterator or generator", "an iterator that is used up")
def uses_up():
    numbers = iter(range(1, 100))
    compiled = tg.compile(lambda x: x * next(numbers))
    for turn in range(1, 6):
        assert np.array_equal(compiled(X), X * turn)


@eager("writes a recorded value to an array that SciPy made", "which others may hold as well")
def writes_to_an_array_of_scipy():
    linalg = pytest.importorskip("scipy.linalg")

    def f(x):
        matrix = linalg.toeplitz([1.0, 2.0, 3.0])
        matrix[0] = x
        return matrix @ x

    same_as_plain(f, X)


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


@eager("writes outside a value that a rule of yours", "reads, which a program calls")
def writes_what_a_rule_reads():
    held, scaled = Sized(0.0), tg.primitive(lambda x: x * held.w)
    same_as_plain(lambda x: (setattr(held, "w", 2.0), scaled(x))[1], X)


@eager("reads a value that a rule of yours", "stores, which a program calls")
def reads_what_a_rule_stores():
    held = Sized(0.0)
    tripled = tg.primitive(lambda x: (setattr(held, "w", 3.0 * x), x)[1])
    same_as_plain(lambda x: (tripled(x), held.w)[1], X)


@eager("calls a helper under `functools.lru_cache`", "which computes")
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


@dataclasses.dataclass
class Sized:
    w: Any

    def __len__(self) -> int:
        return len(self.w)


@eager("calls a transform, or a function in C, with an object", "which C code reads")
def methods_that_c_code_may_call():
    held = Sized(np.array([2.0, 3.0, 4.0]))
    same_as_plain(lambda x: tg.grad(lambda net: np.sum(net.w * x))(held).w, X)


@eager("makes a frozen distribution of numbers", "st.norm")
def frozen_in_the_function():
    st = pytest.importorskip("scipy.stats")
    outside = st.norm(1.0, 2.0)
    for f in (lambda x: outside.logpdf(x), lambda x: st.norm(x[0], 2.0).logpdf(x)):
        made = tg.compile(f)
        assert np.allclose(made(X), f(X), rtol=1e-12)
        assert made.cache_info().versions == 1
    same_as_plain(lambda x: st.norm(1.0, 2.0).logpdf(x), X)


@eager("calls functions of `np.polynomial`", "numbers of an array")
def coefficients_of_a_polynomial():
    same_as_plain(lambda x: np.polynomial.polynomial.polyval(2.0, x), X)


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


@eager("is called with Tensors, and prints one", "reads or changes print()")
def prints_a_tensor():
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    @tg.compile
    def f(x):
        loss = (x * w).sum()
        print("loss", loss)
        return loss

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for _ in range(4):
            f(tg.tensor([3.0, 4.0]))
    assert printed.getvalue() == "loss tensor(11., grad_fn=<SumBackward0>)\n" * 4


@eager("is called with Tensors, and takes a derivative", "that a hook of the caller's sees")
def derives_by_what_has_a_hook():
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda g: g * 10.0)

    @tg.compile
    def f(x):
        (g,) = tg.autograd.grad((x * w).sum(), w)
        return (g * w).sum()

    for _ in range(3):
        assert f(tg.tensor([3.0, 4.0])).item() == 110.0


@eager(
    "calls `np.maximum.at(y, index, v)`", "calls np.maximum.at with places that each call has anew"
)
def maximum_at():
    def f(x, index):
        y = x * 1.0
        np.maximum.at(y, index, x)
        return y

    same_as_plain(f, X, np.array([0, 0, 1]))


@eager("is called with Tensors, and asks of their histories", "keeps a gradient (retain_grad)")
def keeps_a_gradient_within():
    w, kept = tg.tensor([1.0, 2.0], requires_grad=True), []

    @tg.compile
    def f(x):
        y = x * w
        y.retain_grad()
        kept.append(y)
        return (y**2).sum()

    for _ in range(3):
        f(tg.tensor([3.0, 4.0])).backward()
        assert kept[-1].grad.tolist() == [6.0, 16.0]


@eager("is called with Tensors that require grad, or reads such Tensors, and reads values by", "")
def masks_with_a_history():
    w = tg.tensor([1.0, -2.0], requires_grad=True)

    @tg.compile
    def f(x):
        y = x * w
        return y[y > 0].sum()

    for _ in range(2):
        f(tg.tensor([3.0, 4.0])).backward()
    assert w.grad.tolist() == [6.0, 0.0]
    assert "op by op where Tensors require grad: it has lengths" in f.explain()


@eager("has more than 32 versions", "versions were compiled and this call needs another")
def many_versions():
    assert config.versions == 32
    compiled = tg.compile(lambda x, n: x * n.bit_length(), static_argnames="n")
    for n in range(config.versions + 2):
        assert np.array_equal(compiled(X, n), X * n.bit_length())


@eager("calls functions of `math`", "")
def math_raises():
    compiled = tg.compile(lambda x: x * math.sqrt(x[0]))
    compiled(X)
    with pytest.raises(ValueError, match="math domain error"):
        compiled(-X)


@eager("prints a text that is made of a value", "took paths of their own")
def prints_texts():
    def f(x):
        print(f"{x.sum():.4f}")
        return x * 2.0

    compiled = tg.compile(f)
    with contextlib.redirect_stdout(io.StringIO()):
        for i in range(40):
            assert np.array_equal(compiled(X + i), (X + i) * 2.0)


@eager("asks a class for its `__subclasses__()`", "__subclasses__()")
def asks_for_subclasses():
    class Base:
        pass

    kept: list[type] = []
    compiled = tg.compile(lambda x: x * len(Base.__subclasses__()))
    for count in range(4):
        assert np.array_equal(compiled(X), X * count)
        kept.append(type("Derived", (Base,), {}))


@eager(
    "finds a place in a dictionary from outside by a key that code in Python compares", "compares"
)
def finds_by_dataclasses():
    @dataclasses.dataclass(frozen=True)
    class Layer:
        number: int

    calls: dict[Any, int] = {}

    def f(x):
        calls[Layer(1)] = calls.get(Layer(1), 0) + 1
        return x * 2.0

    compiled = tg.compile(f)
    for count in range(1, 5):
        assert np.array_equal(compiled(X), X * 2.0)
        assert calls == {Layer(1): count}


@eager("writes in place to an array from outside that holds no numbers alone", "rec")
def writes_to_a_structured_array():
    rec = np.zeros(2, [("x", "f8"), ("n", "i4")])

    def f(x):
        rec["n"] += 1
        return x * rec["n"].sum()

    compiled = tg.compile(f)
    for count in range(1, 5):
        assert np.array_equal(compiled(X), X * 2.0 * count)


# -- inside JAX -----------------------------------------------------------------------------------


def jitted(f: Callable[..., Any], *args: Any) -> Any:
    """What `jax.jit` of the compiled function gives."""
    return pytest.importorskip("jax").jit(tg.compile(f))(*args)


def refused_inside(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        jitted(f, X.astype(np.float32))


@inside_jax("`jax.jit`, `jax.grad`, `jax.vmap`, `lax.scan`")
def has_a_program():
    jax = pytest.importorskip("jax")
    x = X.astype(np.float32)
    f = tg.compile(lambda x: np.sin(x) * 2.0)
    expected = np.sin(x) * np.float32(2.0)
    assert np.allclose(jax.jit(f)(x), expected, rtol=1e-6)
    assert np.allclose(jax.vmap(f)(x), expected, rtol=1e-6)
    assert np.allclose(jax.grad(lambda x: f(x).sum())(x), 2.0 * np.cos(x), rtol=1e-6)
    assert np.allclose(jax.lax.scan(lambda c, x: (c, f(x)), 0.0, x)[1], expected, rtol=1e-6)


@inside_jax("runs eagerly")
def never_eagerly():
    refused_inside(lambda x: x * (threading.get_ident() > 0), "get_ident()")


@inside_jax("Python may not show a value")
def reads_a_value():
    refused_inside(lambda x: x * float(f"{x[0]}"), "test_limits.py")


@inside_jax("Both arms become part of the program")
def reads_a_condition():
    jax = pytest.importorskip("jax")
    f = jax.jit(tg.compile(lambda x: x * 2.0 if x[0] > 0.0 else x))
    x = X.astype(np.float32)
    for given in (x, -x):
        assert np.allclose(f(given), given * 2.0 if given[0] > 0.0 else given)


@inside_jax("What is computed of arrays and Tensors from outside alone is known")
def reads_from_outside():
    jax = pytest.importorskip("jax")
    held, x = {"number": tg.tensor(1), "array": np.array(1)}, X.astype(np.float32)
    f = jax.jit(tg.compile(lambda x: x[: held["number"] + 1] * len(tg.zeros(int(held["array"])))))
    assert np.array_equal(f(x), x[:2])


@inside_jax("store anything outside")
def stores():
    held: dict[str, Any] = {}

    def f(x):
        held["x"] = x * 2.0
        return x

    refused_inside(f, "held['x']")
    assert not held


@inside_jax("print,")
def prints():
    def f(x):
        print("here")
        return x * 2.0

    with contextlib.redirect_stdout(io.StringIO()) as out:
        refused_inside(f, "print")
    assert not out.getvalue()


@inside_jax("draw random numbers")
def draws_inside():
    rng = bits(0)
    refused_inside(lambda x: x + rng.normal(), "rng")
    assert rng.normal() == bits(0).normal()


@inside_jax("Values from outside are read while JAX traces")
def read_while_traced():
    jax = pytest.importorskip("jax")
    held, x = {"scale": np.float32(2.0)}, X.astype(np.float32)
    f = jax.jit(tg.compile(lambda x: x * held["scale"]))
    assert np.array_equal(f(x), x * np.float32(2.0))
    held["scale"] = np.float32(3.0)
    assert np.array_equal(f(x), x * np.float32(2.0))


@inside_jax("Where NumPy or Python would raise")
def raises_nothing():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]], np.float32)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(matrix)
    assert np.isnan(jitted(lambda a: np.linalg.cholesky(a), matrix)).all()

    def reciprocal(x):
        return x * (1.0 / float(x[0]))

    x = np.array([0.0, 1.0], np.float32)
    with pytest.raises(ZeroDivisionError):
        reciprocal(x)
    assert np.isnan(jitted(reciprocal, x)).all()


@inside_jax("A division by zero that the function catches takes its handler")
def catches_divisions():
    def reciprocal(x):
        try:
            return x * (1.0 / float(x[0]))
        except ZeroDivisionError:
            return -x

    for x in (np.array([0.0, 1.0], np.float32), np.array([2.0, 1.0], np.float32)):
        assert np.array_equal(jitted(reciprocal, x), reciprocal(x))


# -- is refused -----------------------------------------------------------------------------------


@refused("`return float(loss)`", LostGradientError, "test_limits.py")
def number_returned():
    return tg.grad(lambda x: float((x * x).sum()))(X)


@refused("`return zip(x, y)`", TraceError, "return list(...) of it")
def iterator_returned():
    def rows(x):
        yield x

    for function in (reversed, iter, lambda x: zip(x, x), lambda x: {"a": map(abs, x)}):
        with pytest.raises(TraceError, match="returns an iterator"):
            tg.compile(function)(X)
    with pytest.raises(TraceError):
        tg.grad(lambda x: (np.sum(x), iter(x)), has_aux=True)(X)
    return tg.compile(rows)(X)


@refused("a recorded value written into an array", ConversionError, "would lose its gradient")
def written_into_plain():
    outside = np.zeros(3)
    outside[:] = tg.tensor(X, requires_grad=True) * 2.0


@refused("a write to a `jax.Array`", ArgumentError, "an array of JAX, which cannot be written to")
def written_to_jax():
    jnp = pytest.importorskip("jax.numpy")
    outside = jnp.zeros(3)

    def f(x):
        outside[0] = x[0]
        return x * 2.0

    return tg.compile(f)(X)


@refused("an array of bfloat16", ArgumentError, 'write backend="jax"')
def bfloat16_in_numpy():
    jnp = pytest.importorskip("jax.numpy")
    return tg.compile(lambda x: x * 2.0)(jnp.ones(3, jnp.bfloat16))


@refused("a gradient of a tree with a key", ArgumentError, "is a key of a random generator")
def gradient_of_a_key():
    jax = pytest.importorskip("jax")
    tree = {"key": jax.random.key(0), "x": jax.numpy.ones(3)}
    return tg.grad(lambda t: np.sum(t["x"] ** 2))(tree)


@refused('`x.at[i].set(v, mode="drop")`', tg.errors.ConversionError, "IndexError here")
def places_outside_are_dropped():
    jnp = pytest.importorskip("jax.numpy")
    return tg.compile(lambda x: x.at[5].set(1.0, mode="drop"))(jnp.ones(3))


@refused("a value read as a number, an effect or a draw in a call", ArgumentError, "test_limits.py")
def number_in_jax():
    jax = pytest.importorskip("jax")
    return jax.jit(tg.compile(lambda x: x * float(f"{x[0]}")))(X)


@refused("arms of a condition that return different shapes", ArgumentError, "test_limits.py")
def arms_in_jax():
    jax = pytest.importorskip("jax")
    return jax.jit(tg.compile(lambda x: x if x[0] > 0.0 else x[0]))(X)


@refused("a write to an array that shares memory with an argument", ArgumentError, "shares memory")
def written_and_shared():
    def f(x, y):
        x[0] = 3.0
        return (x * y).sum()

    base = np.ones(4)
    return tg.compile(f)(base[:3], base[1:])


@refused("a change of a list, dict or other container that stands at two", ArgumentError, "copy at")
def changed_at_two_places():
    def f(p, q):
        p["w"] = p["w"] * 2.0
        return (p["w"] * q["w"]).sum()

    one = {"w": X}
    return tg.grad(f, argnums=(0, 1))(one, one)


@refused("a change of a container among the arguments", ArgumentError, "by another way as well")
def changed_by_another_way():
    kept = {"w": X.copy()}

    def f(p):
        kept["w"] = kept["w"] * 2.0
        return p["w"].sum()

    return tg.grad(f)(kept)


@refused("a write to an array that shares memory with an argument", ArgumentError, "pass a copy")
def written_under_another_name():
    outside = np.ones(3)

    def f(x):
        outside[0] = 3.0
        return (x * x).sum()

    return tg.compile(f)(outside)


@refused("a write to an array from outside that shares memory", ArgumentError, "shares memory")
def written_view_of_what_is_read():
    flat = np.arange(6.0)
    w = flat[:3]

    def f(x):
        w[:] += x
        return flat.sum()

    return tg.compile(f)(X)


@refused("`loss.backward()`, `opt.step()`", GradientError, "Leave tg.compile away")
def backward_from_outside():
    w = tg.tensor(X, requires_grad=True)

    @tg.compile
    def step(x):
        (x * w).sum().backward()
        return x.sum()

    return step(X)


@refused(
    "a write to an argument by which the function is differentiated", GradientError, "in-place"
)
def written_and_wanted():
    def f(x):
        x[0] = 3.0
        return (x * x).sum()

    return tg.grad(f)(X.copy())


@refused("`try: ... except Exception:` in a function", GradientError, "in-place")
def caught_by_the_function():
    def f(x):
        try:
            x[0] = 3.0
        except Exception:
            return np.sum(x)
        return (x * x).sum()

    def named(x):
        try:
            x[0] = 3.0
        except tg.errors.TracegradError:
            return np.sum(x)
        return (x * x).sum()

    assert np.array_equal(tg.grad(named)(X.copy()), np.ones_like(X))
    return tg.grad(f)(X.copy())


@refused("a `tg.vmap` over an axis without elements", ArgumentError, "an axis is empty")
def batch_of_nothing_with_a_branch():
    assert tg.vmap(lambda a: np.exp(a))(np.zeros((0, 2))).shape == (0, 2)
    return tg.vmap(lambda a: a if a[0] > 0 else -a)(np.zeros((0, 2)))


@refused("`tg.jacobian(f, sparse=True)`", ArgumentError, "the sparse jacobian")
def sparse_of_tensors():
    return tg.jacobian(lambda p: p["x"] * 2.0, sparse=True)({"x": tg.tensor(X)})


@refused("that reads a traced value of the function around", TraceError, "hand it over as an argum")
def rule_that_reads():
    return tg.grad(lambda x: tg.custom_vjp(lambda y: y * x)(x).sum())(X)


@refused("where a rule for forward mode", GradientError, "not linear in the tangents")
def constant_tangent():
    doubled = tg.custom_jvp(lambda x: 2.0 * x)
    doubled.defjvp(lambda primals, tangents: (2.0 * primals[0], np.ones(2)))
    assert np.array_equal(tg.jvp(doubled, (X[:2],), (X[:2],))[1], np.ones(2))
    tg.grad(lambda x: np.sum(doubled(x)))(X[:2])


@refused("where a rule for reverse mode", GradientError, "not linear in the cotangent")
def clipped_cotangent():
    square = tg.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * np.clip(ct, -1.0, 1.0),))

    assert np.array_equal(tg.jacrev(tg.grad(lambda x: np.sum(square(x))))(X), 2.0 * np.eye(len(X)))
    tg.jvp(square, (X,), (X,))


@refused("a tangent or a cotangent from a rule of yours", GradientError, "of shape (7,)")
def cotangent_of_another_shape():
    doubled = tg.custom_vjp(lambda x: 2.0 * x)
    doubled.defvjp(lambda x: (2.0 * x, None), lambda kept, ct: (np.ones(7),))
    tg.grad(lambda x: np.sum(doubled(x)))(X)


@refused(
    "a result that is computed from a value which a rule",
    LostGradientError,
    "it stores outside comes back",
)
def result_of_what_a_rule_stores():
    held = Sized(0.0)
    tripled = tg.primitive(lambda x: (setattr(held, "w", 3.0 * x), x)[1])
    tg.extend.defvjp(tripled, lambda ans, x: lambda ct: ct)
    tg.grad(lambda x: np.sum(tripled(x) * held.w))(X)


@refused("outside of transforms", LostGradientError, "math.fsum reads a number")
def numbers_gathered():
    return math.fsum(tg.tensor(X, requires_grad=True))


@refused("a function of SciPy that minimizes", LostGradientError, "Instead of dblquad(...)")
def integral_of_scipy():
    integrate = pytest.importorskip("scipy.integrate")
    return tg.grad(lambda x: integrate.dblquad(lambda s, t: t * x[0], 0.0, 1.0, 0.0, 1.0)[0])(X)


@refused("(`minimize`, `least_squares`, ", ConversionError, "optimize.minimize has no counterpart")
def minimum_of_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    return tg.grad(lambda x: optimize.minimize(lambda t: np.sum((t - x) ** 2), X).x.sum())(X)


@refused("`np.frexp`, `np.packbits`", TracegradError, "np.frexp has no counterpart")
def without_counterparts():
    bits = X > 1.0
    for f, x in (
        (np.packbits, bits),
        (np.unpackbits, np.packbits(bits)),
        (lambda x: np.einsum_path("i,i", x, x), X),
        (np.power.reduce, X),
        (lambda x: np.arctan2.reduceat(x, [0]), X),
    ):
        with pytest.raises(TracegradError, match="has no counterpart"):
            tg.compile(lambda x, f=f: f(x))(x)
    return tg.compile(lambda x: np.frexp(x))(X)


@refused('`np.linalg.qr(x, mode="raw")`', ArgumentError, "int64")
def modes_without_counterparts():
    for f, x, words in (
        (lambda x: np.linalg.qr(x, mode="raw"), np.eye(2), "mode='raw'"),
        (lambda x: np.histogram(x, bins="auto"), X, "bins='auto'"),
        (np.roots, np.array([0.0, 1.0, 2.0]), "the first coefficient is 0"),
    ):
        with pytest.raises(ArgumentError, match=words):
            tg.compile(lambda x, f=f: f(x))(x)
    return tg.compile(lambda x: x.view(np.int64))(X)


@refused("a complex value written into an array of real numbers", DTypeError, "take its .real")
def complex_into_real():
    def f(z):
        y = np.zeros(3)
        y[:] = z
        return y

    return tg.compile(f)(X + 1j)


@refused("functions of `np.polynomial` on traced coefficients", ConversionError, "plain array")
def derivative_in_coefficients():
    return tg.grad(lambda c: np.polynomial.polynomial.polyval(2.0, c).sum())(X)


@refused("other functions of SciPy", ConversionError, "scipy.ndimage.gaussian_filter")
def other_of_scipy():
    ndimage = pytest.importorskip("scipy.ndimage")
    return tg.grad(lambda x: ndimage.gaussian_filter(x, 1.0).sum())(X)


@refused("a function that reads an array from outside, called by SciPy", TraceError, "written to")
def written_and_read_unseen():
    optimize = pytest.importorskip("scipy.optimize")
    weights = np.zeros(3)

    def reading(call):
        def f(x):
            weights[:] = x
            return call() * x.sum()

        return tg.grad(f)

    with pytest.raises(ConversionError, match="plain array"):
        reading(functools.partial(memoryview(weights).__getitem__, 0))(X)
    with ThreadPoolExecutor(1) as pool, pytest.raises(TraceError, match="put"):
        reading(lambda: pool.submit(lambda: weights.sum()).result())(X)
    with pytest.raises(TraceError, match="start_new_thread"):
        reading(lambda: threading.Thread(target=lambda: weights.sum()).start())(X)
    return reading(lambda: optimize.minimize_scalar(lambda z: (z - weights[2]) ** 2).x)(X)


@refused("`b.resize(3, refcheck=False)` of an array from outside", MemoryAccessError, "np.resize")
def resized_in_place():
    held = [np.arange(5.0)]

    def total(x):
        held[0].resize(3, refcheck=False)
        return x.sum()

    for transform in (tg.compile, tg.value_and_grad):
        with pytest.raises(AttributeError, match=r"test_limits\.py"):
            transform(total)(X)
        assert held[0].shape == (5,)
    return tg.compile(lambda x: x.resize(2, refcheck=False))(X)


@refused("`y.shape = (2, 3)`, `y.dtype = ...`", MemoryAccessError, "y = y.reshape(...)")
def shape_set_in_place():
    def rows_of(x):
        y = np.zeros(6)
        y[:3] = x
        y.shape = (2, 3)
        return (y[0] * y[0]).sum()

    assert rows_of(X) == (X * X).sum()
    with pytest.raises(AttributeError, match=r"test_limits\.py"):
        tg.compile(rows_of)(X)
    return tg.grad(rows_of)(X)


@refused("an array beside an object that NumPy makes an array of objects of", DTypeError, "float")
def array_of_objects():
    half = Fraction(1, 2)
    np.testing.assert_array_equal(tg.grad(lambda x: x[0] * half)(X), [0.5, 0.0, 0.0])
    with pytest.raises(DTypeError, match="type first"):
        tg.grad(lambda x: np.sum(x == dataclasses.make_dataclass("Point", ["x"])(1.0)))(X)
    return tg.compile(lambda x: x * half)(X)


@refused("a list or an object that holds a value, given to a thread", TraceError, "holds a value")
def given_away():
    with pytest.raises(TraceError, match="start_new_thread"):
        tg.compile(lambda x: threading.Thread(target=print, args=(x * 2.0,)).start())(X)
    return tg.compile(lambda x: len(pickle.dumps([x * 2.0])))(X)


@refused("`h(x[0])` of a helper under `functools.lru_cache`", LostGradientError, "test_limits.py")
def helper_under_a_cache():
    doubled = functools.lru_cache(lambda v: v * 2.0)

    def totals():
        total = 0.0
        while True:
            total += yield total

    total = totals()
    next(total)
    with pytest.raises(LostGradientError, match="test_limits"):
        tg.grad(lambda x: total.send(x[0]))(X)
    assert tg.grad(lambda x: doubled.__wrapped__(x[0]))(X)[0] == 2.0
    return tg.grad(lambda x: doubled(x[0]))(X)


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
    of_one_row(OTHERWISE, "Differs from plain Python")
    of_one_row(EAGER, "Runs eagerly")
    of_one_row(REFUSED, "Is refused")


def test_each_claim_about_jax_has_a_program():
    text = TEXT.split("## Inside JAX\n")[1].split("\n## ")[0]
    for words in INSIDE_JAX:
        assert text.count(words) == 1, words


@pytest.mark.parametrize("row", OTHERWISE)
def test_is_done_otherwise(row):
    OTHERWISE[row]()


@pytest.mark.parametrize("words", INSIDE_JAX)
def test_inside_jax(words):
    INSIDE_JAX[words]()


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


OF_WHOLE_ARGUMENTS = {
    "`return zip(x, y)`",
    "a write to a `jax.Array`",
    "an array of bfloat16",
    "a `tg.vmap` over an axis without elements",
    "a gradient of a tree with a key",
    "a change of a container among the arguments",
    "a change of a list, dict or other container that stands at two",
    "a write to an array from outside that shares memory",
    "a write to an array that shares memory with an argument",
}
"""What is refused before the function runs, or behind it: an argument, a result."""


@pytest.mark.parametrize("row", REFUSED)
def test_is_refused(row):
    program, error, words = REFUSED[row]
    with pytest.raises(error, match=re.escape(words)) as caught:
        program()
    if issubclass(caught.type, TracegradError):
        names_the_line = Path(__file__).name in str(caught.value)
        assert names_the_line != (row in OF_WHOLE_ARGUMENTS)
