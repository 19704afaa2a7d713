"""Loops as kernels of numba: machine code, the kernel's text as Python and NumPy source agree."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import loop_programs as programs
import numpy as np
import pytest
import test_loops
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.backends import kernel_cache, numba
from tracegrad.errors import NoKernelsWarning
from tracegrad.execution import pipeline

has_numba = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not has_numba, reason="numba is not installed")


@pytest.fixture(autouse=True)
def at_once(monkeypatch, tmp_path_factory):
    """Kernels are compiled when they are first called, into a cache of the test run's own."""
    pipeline.forget()
    monkeypatch.setattr(numba.settings, "at_once", True)
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))


def garch(th, r):
    omega, alpha, beta = th
    s2 = omega / (1 - alpha - beta)
    ll = 0.0
    for t in range(len(r)):
        ll = ll + 0.5 * (np.log(s2) + r[t] * r[t] / s2)
        s2 = omega + alpha * r[t] * r[t] + beta * s2
    return ll


def lotka_volterra(p, u):
    a, b, c, d = p
    x, y = u
    h = 0.01

    def f(x, y):
        return a * x - b * x * y, d * x * y - c * y

    for _ in range(50):
        k1, l1 = f(x, y)
        k2, l2 = f(x + h / 2 * k1, y + h / 2 * l1)
        k3, l3 = f(x + h / 2 * k2, y + h / 2 * l2)
        k4, l4 = f(x + h * k3, y + h * l3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        y = y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return (x - 1.0) ** 2 + (y - 2.0) ** 2


def adaptive(k, y):
    t, h = k * 0.0, 0.001 + k * 0.0
    while t < 1.0:
        k1 = -k * y * y
        middle = y + h * k1
        k2 = -k * middle * middle
        if abs(h * (k2 - k1)) < 1e-3:
            y = y + h * (k1 + k2) / 2
            t = t + h
            h = h * 1.5
        else:
            h = h * 0.5
    return y * y


def fixed_point(a, x):
    for _ in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-10:
            break
        x = new
    return new


def around_a_loop(x, w):
    features = np.tanh(x[:, None] * w).sum(axis=1)
    s = features[0] * 0.0
    for t in range(len(features)):
        s = s * 0.5 + np.exp(-abs(features[t] * s))
    return s * np.sum(w**2)


def signs_of(x, w):
    total = 0.0
    for t in range(len(x)):
        if x[t] > 0:
            total = total + np.sqrt(x[t]) * w[0]
        elif x[t] < -1.0:
            total = total - np.log1p(-x[t])
        else:
            total = total * 0.9
    return total


LABELS = np.random.default_rng(1).integers(0, 3, 40)


def looked_up(x, w):
    total = x[0] * 0.0
    for t in range(len(x)):
        if LABELS[t] == 1:
            total = total * 0.5 + x[t]
        total = total + w[LABELS[t]] * x[t]
    return total


def with_rows_between(x, w):
    """Behind the first loop arrays are read by what stands between it and the next one."""
    s = x[0] * 0.0
    for t in range(len(x)):
        s = s * 0.5 + x[t]
    y = np.tanh(s * w)
    for t in range(len(x)):
        s = s * 0.25 + y[0] * x[t]
    return s + (y * y).sum()


def functions_of_functions(x, w):
    """Three loops: what ``sin`` is given waits for ``exp``, and ``cos`` for the way back."""
    s, v, before = 0.0, w[0], w[1]
    for t in range(len(x)):
        e = np.exp(-v * v)
        s = s + np.sin(e + x[t]) * before
        before = v * x[t]
        v = w[1] + w[2] * v
    return s * before


def functions_of_two(x, w):
    out = np.zeros(len(x))
    v = w[0]
    for t in range(len(x) - 1, -1, -1):
        out[t] = np.maximum(v, 0.3) * np.hypot(v, x[t]) + np.arctan2(x[t], v)
        v = v * w[1] + x[t] * w[2]
    return out.sum() + v


def a_function_in_the_recurrence(x, w):
    s, h = 0.0, w[0]
    for _ in range(9):
        for t in range(len(x)):
            h = np.tanh(w[1] * h + x[t])
            s = s + np.log(h * h + 1.0) * h
    return s


def powers(x, w):
    s = 0.0
    for t in range(len(x)):
        v = x[t] * x[t] + 0.01
        s = s * 0.9 + v**1.5 + v**-0.5 + v**3 + 2.0**v + (s * s + 1.0) ** 0.25
    return s * w[0] + w[1] + w[2]


def choices(x, w):
    s, m = 0.0, w[0]
    for t in range(len(x)):
        r = x[t] - m
        s = s + np.where(np.abs(r) <= 0.5, 0.5 * r * r, w[1] * np.abs(r)) + np.maximum(r, w[2])
        m = m + np.where(r == 0, 0, 0.1 * r) / np.where(r > 0, 1.0, 2.0)
    return s * m


def with_loops_on_some_paths(x, w):
    """Turns that have no inner loop keep no list of it, nor the numbers of another path."""
    total = x[0] * 0
    for v in x:
        if v > 0:
            y = v * w[0]
            for _ in range(12):
                y = np.sin(y) * v + 0.1
            total = total + y
        elif v < -1:
            y = v * w[1]
            while y < 5.0:
                y = y * 0.5 + 3.0 + y * y * 0.01
            total = total * y * 0.1
        else:
            total = total - v * v * w[2]
    return total


def discounted(x, discount):
    total = 0.0
    for t in range(len(x)):
        total = total + discount**t * x[t]
    return total


RNG = np.random.default_rng(0)
X, W = RNG.normal(size=40), RNG.normal(size=3)
CASES = {
    "garch": (garch, (np.array([0.1, 0.1, 0.8]), X)),
    "garch of every second": (garch, (np.array([0.1, 0.1, 0.8]), RNG.normal(size=60)[::2])),
    "lotka_volterra": (lotka_volterra, (np.array([1.5, 1.0, 3.0, 1.0]), np.ones(2))),
    "adaptive": (adaptive, (np.float64(2.0), np.float64(1.0))),
    "adaptive of floats": (adaptive, (2.0, 1.0)),
    "fixed_point": (fixed_point, (np.float64(2.0), np.float64(1.0))),
    "fixed_point of floats": (fixed_point, (2.0, 1.0)),
    "around_a_loop": (around_a_loop, (X, W)),
    "garch of float32": (garch, (np.float32([0.1, 0.1, 0.8]), np.float32(X))),
    "signs_of float32": (signs_of, (np.float32(X), np.float32(W))),
    "looked_up": (looked_up, (X, W)),
    "looked_up in float32": (looked_up, (np.float32(X), np.float32(W))),
    "with_rows_between": (with_rows_between, (X, W)),
    "signs_of": (signs_of, (X, W)),
    "functions_of_functions": (functions_of_functions, (X, W)),
    "functions_of_two": (functions_of_two, (X, W)),
    "with_loops_on_some_paths": (with_loops_on_some_paths, (X, W)),
    "with_loops_on_some_paths in float32": (
        with_loops_on_some_paths,
        (np.float32(X), np.float32(W)),
    ),
    "choices": (choices, (X, W)),
    "choices of zeros": (choices, (np.zeros(12), np.zeros(3))),
    "choices in float32": (choices, (np.float32(X), np.float32(W))),
    "powers": (powers, (X, W)),
    "powers in float32": (powers, (np.float32(X), np.float32(W))),
    "a_function_in_the_recurrence": (a_function_in_the_recurrence, (X, W)),
    "a_function_in_the_recurrence in float32": (
        a_function_in_the_recurrence,
        (np.float32(X), np.float32(W)),
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


def along_itself(jvp):
    return lambda *args: jvp(*args, *args)


TRANSFORMS = {
    "compile": tg.compile,
    "value_and_grad": lambda f, **more: tg.value_and_grad(f, argnums=(0, 1), **more),
    "jvp": lambda f, **more: along_itself(tg.jvp(f, **more)),
}


@pytest.fixture
def kernels(monkeypatch):
    """The kernels that were compiled, with their machine code."""
    found = []
    compiled = numba.compiled

    def noted(kernel):
        found.append(compiled(kernel))
        return found[-1]

    monkeypatch.setattr(numba, "compiled", noted)
    return found


@needs_numba
@pytest.mark.sampled(5)
@every_case
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_machine_code_and_its_text_and_numpy_source_have_the_same_bits(case, transform, kernels):
    f, args = CASES[case]
    wanted = TRANSFORMS[transform](f)(*args)
    transformed = TRANSFORMS[transform](f, backend="numba")
    for _ in range(2):
        assert_same_bits(transformed(*args), wanted)
    unrolled = f is adaptive and transform != "compile"
    assert (kernels or unrolled) and None not in kernels
    pipeline.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba, "compiled", lambda kernel: None)
        assert_same_bits(TRANSFORMS[transform](f, backend="numba")(*args), wanted)


@needs_numba
@pytest.mark.parametrize("case", ["garch", "lotka_volterra"])
def test_machine_code_rounds_after_every_operation(case, kernels):
    f, args = CASES[case]
    gradient = tg.value_and_grad(f, backend="numba")
    gradient(*args)
    for code in kernels:
        (text,) = code.inspect_asm().values()
        assert "mulsd" in text and not re.search(r"\bvf?n?m(add|sub)\d", text)


@needs_numba
@pytest.mark.sampled(18, 2)
@pytest.mark.parametrize("seed", range(18))
def test_random_programs_of_loops(seed, monkeypatch):
    compiled = numba.compiled  # elementwise regions have tests of their own, and would take long
    monkeypatch.setattr(numba, "compiled", lambda k: None if k.blocks else compiled(k))
    text, inputs = programs.program_text(programs.program(seed)), programs.inputs_of(seed)
    monkeypatch.setattr(tg.config, "backend", "numba")
    found = programs.faults(text, inputs)
    if found is not None:
        tg.config.backend = "numpy"
        assert programs.faults(text, inputs) == found, text


@needs_numba
@pytest.mark.sampled(8)
@pytest.mark.parametrize("function", test_loops.STAYING, ids=lambda f: f.__name__)
def test_loops_of_the_corpus(function):
    gradient = tg.value_and_grad(function, argnums=(0, 1), backend="numba")
    for x, w in test_loops.inputs()[:3]:
        assert_same_bits(gradient(x, w), tg.value_and_grad(function, argnums=(0, 1))(x, w))


@needs_numba
def test_what_python_raises_is_raised(kernels):
    def reciprocals(k, x):
        for _ in range(len(x)):
            k = 1.0 / (k - 1.0)
        return k * x[0]

    loop, x = tg.compile(reciprocals, backend="numba"), np.arange(10.0)
    assert loop(0.5, x) == reciprocals(0.5, x)
    assert kernels and None not in kernels
    with pytest.raises(ZeroDivisionError):
        loop(1.0, x)


@needs_numba
def test_reads_beyond_an_array_raise(kernels):
    def shifted(x, y):
        s = 0.0
        for t in range(len(x)):
            s = s + x[t] * y[t + 1]
        return s

    run = tg.compile(shifted, backend="numba")
    x, y = np.arange(10.0), np.arange(11.0)
    assert run(x, y) == shifted(x, y)
    assert kernels and None not in kernels
    with pytest.raises(IndexError):
        run(x, x)


@needs_numba
def test_functions_are_called_for_all_turns_at_once(kernels):
    def source(function):
        return str(tg.compile(function, backend="numba").source(X, W))

    assert source(functions_of_functions).count("_all(") == 2
    text = source(functions_of_two)
    assert "maximum_v = maximum_all(v_all, 0.3)" in text
    assert text.count("_all(") == 3
    text = source(a_function_in_the_recurrence)
    assert "h = tanh(" in text and text.count("_all(") == 1


@needs_numba
def test_a_division_by_zero_before_a_read_beyond_an_array_is_what_is_raised(kernels):
    """The loop stays one: else the read would come first."""

    def reciprocals_beside(x, y, k):
        s = 0.0
        for t in range(len(x)):
            s = s + np.exp(y[t + 3])
            k = 1.0 / (k - 1.0)
        return s + k

    x, y = np.arange(10.0), np.arange(14.0)
    run = tg.compile(reciprocals_beside, backend="numba")
    assert run(x, y, 0.5) == reciprocals_beside(x, y, 0.5)
    assert kernels and None not in kernels
    with pytest.raises(ZeroDivisionError):
        run(x, x, 1.0)
    with pytest.raises(IndexError):
        run(x, x, 0.5)


@needs_numba
@pytest.mark.parametrize("number", [float, np.float64, np.float32, np.array])
def test_powers_are_those_of_the_number_that_is_given(number, kernels):
    """NumPy computes a power of an array without axes otherwise than that of a scalar.

    So a kernel takes powers of Python's numbers, and of what it computes itself.
    """
    run, x = tg.compile(discounted, backend="numba"), np.random.default_rng(0).normal(size=300)
    for discount in np.random.default_rng(1).uniform(0.9, 1.0, 20):
        assert_same_bits(run(x, number(discount)), discounted(x, number(discount)))
    assert bool(kernels) == (number is float) and None not in kernels


@needs_numba
def test_powers_of_elements_that_are_shown_are_those_of_arrays(kernels):
    def of_shown(x):
        total = 0.0
        for row in x:
            total = total + row[..., 0] ** 1.5
        return total

    gradient = tg.value_and_grad(of_shown, backend="numba")
    for seed in range(6):
        x = np.random.default_rng(seed).uniform(0.1, 3.0, (300, 2))
        assert_same_bits(gradient(x), tg.value_and_grad(of_shown)(x))


@needs_numba
def test_products_of_pythons_ints_stay_python():
    def factorial(x):
        n = 1
        for t in range(30):
            n = n * (t + 1)
        return x * n

    run = tg.compile(factorial, backend="numba")
    assert run(np.float64(1.0)) == factorial(np.float64(1.0))


def test_source_shows_kernels_with_the_users_names_and_lines():
    source = str(tg.value_and_grad(garch, backend="numba").source(*CASES["garch"][1]))
    kernel = source.partition('@njit(error_model="numpy", nogil=True, boundscheck=True)\n')[2]
    assert kernel.startswith("def garch_value_and_grad_loop(th, r):\n")
    assert "s2 = omega + alpha * r[t] * r[t] + beta * s2" in kernel
    assert "log_s2 = log_all(s2_all)" in kernel
    assert "ll = ll + 0.5 * (log_s2[t" in kernel
    assert "from tracegrad.backends.numba_functions import log_all" in source
    assert "ll, th_bar = garch_value_and_grad_loop(th, r)" in source


@needs_numba
def test_source_runs_as_it_is_shown():
    args = CASES["garch"][1]
    source = str(tg.value_and_grad(garch, backend="numba").source(*args))
    scope = {}
    exec(source, scope)
    wanted = tg.value_and_grad(garch)(*args)
    assert_same_bits(scope["garch_value_and_grad_loop"](*args), wanted)
    assert_same_bits(scope["garch_value_and_grad_loop"].py_func(*args), wanted)


def test_without_numba_numpy_source_runs_and_says_so_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    numba.numba.cache_clear()
    numba.compiled.cache_clear()
    args = CASES["garch"][1]
    try:
        with pytest.warns(NoKernelsWarning, match="pip install numba"):
            found = tg.value_and_grad(garch, backend="numba")(*args)
        assert_same_bits(found, tg.value_and_grad(garch)(*args))
        tg.grad(garch, backend="numba")(*args)  # warnings are errors here
    finally:
        numba.numba.cache_clear()
        numba.compiled.cache_clear()


@needs_numba
def test_numpy_source_answers_until_machine_code_is_there(monkeypatch):
    monkeypatch.setattr(numba.settings, "at_once", False)
    args = CASES["lotka_volterra"][1]
    run = tg.compile(lotka_volterra, backend="numba")
    first = run(*args)
    numba.wait()
    assert_same_bits(run(*args), first)


QUIET = """
import threading, sys
from io import StringIO
import colorama
touched = []
colorama.init = lambda *args, **kwargs: touched.append(sys.stdout)
import numpy as np
import tracegrad as tg
from tracegrad.backends import numba

def looped(x, scale):
    total = 0.0
    for v in x:
        total = total * 0.9 + np.sin(v) * scale if v > 0.5 else total + v
    return total

derivatives = [tg.grad(lambda x, s=s: looped(x, s), backend="numba") for s in (0.5, 1.5, 2.5)]
for derivative in derivatives:
    derivative(np.arange(9.0))
names = [t.name for t in threading.enumerate() if t.name.startswith("tracegrad")]
numba.wait()
print(len(names) <= 1, touched)
"""


@needs_numba
def test_one_thread_compiles_and_leaves_stdout_alone(tmp_path):
    pytest.importorskip("colorama")
    script = tmp_path / "quiet.py"
    script.write_text(QUIET)
    environment = {**os.environ, "TRACEGRAD_CACHE_DIR": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment
    )
    assert out.stdout == "True []\n"


@needs_numba
def test_auto_compiles_what_python_has_spent_a_second_in(monkeypatch, kernels, tmp_path):
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path))
    assert numba.TO_COMPILE == 1.0  # a second
    monkeypatch.setattr(numba, "TO_READ", 0.0)

    def decay(x):  # no other test has its machine code in memory
        level = 0.25
        for t in range(len(x)):
            level = 0.75 * level + 0.125 * x[t] * x[t]
        return level

    x = np.linspace(0.5, 2.0, 100)
    wanted = tg.value_and_grad(decay)(x)
    run = tg.value_and_grad(decay, backend="auto")
    assert_same_bits([run(x), run(x)], [wanted, wanted])
    assert not kernels
    monkeypatch.setattr(numba, "TO_COMPILE", 0.0)
    assert_same_bits([run(x), run(x)], [wanted, wanted])
    assert len(kernels) == 1 and None not in kernels
    monkeypatch.setattr(numba, "TO_COMPILE", 1e9)
    pipeline.forget()
    again = tg.value_and_grad(decay, backend="auto")
    assert_same_bits([again(x), again(x)], [wanted, wanted])
    assert len(kernels) == 2  # it is on disk


@needs_numba
def test_kernels_that_take_too_long_are_not_begun(monkeypatch, kernels):
    monkeypatch.setattr(numba, "MOST_LINES", 5)

    def settling(x):  # no other test has its machine code in memory
        level = 0.125
        for t in range(len(x)):
            level = 0.875 * level + 0.375 * x[t] * x[t]
        return level

    x = np.linspace(0.5, 2.0, 100)
    wanted = tg.value_and_grad(settling)(x)
    run = tg.value_and_grad(settling, backend="numba")
    with pytest.warns(NoKernelsWarning, match="its kernel has .* lines"):
        given = run(x)
    assert_same_bits([given, run(x)], [wanted, wanted])
    assert not kernels


@needs_numba
def test_machine_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path))
    program = (
        "import numpy as np, tracegrad as tg\n"
        "from test_numba import garch, CASES\n"
        "from tracegrad.backends import numba as numba_backend\n"
        "numba_backend.settings.at_once = True\n"
        "f = tg.grad(garch, backend='numba')\n"
        "f(*CASES['garch'][1])\n"
        "(kernel,) = f._asked_for(CASES['garch'][1], {}).program.source.kernels\n"
        "print(sum(numba_backend.compiled(kernel).stats.cache_hits.values()))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for hits in ("0", "1"):
        command = [sys.executable, "-c", program]
        out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert out.stdout.strip() == hits
    assert len(kernel_cache.files()) == 3
    assert kernel_cache.clear() == 1
    assert kernel_cache.files() == []


def test_numba_is_not_imported_before_it_is_asked_for():
    program = (
        "import sys, numpy as np, tracegrad as tg\n"
        "tg.grad(lambda x: x * x)(1.0)\n"
        "print('numba' in sys.modules or 'llvmlite' in sys.modules)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"
