"""Elementwise regions as kernels of numba, three ways: machine code, own text, NumPy source."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from checks import assert_same_bits, leaves
from programs import PROGRAMS

import tracegrad as tg
from codegen.emit import elements
from codegen.emit.numba import IMPORTS
from tracegrad.backends import numba, numba_functions
from tracegrad.execution import pipeline

has_numba = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not has_numba, reason="numba is not installed")


@pytest.fixture(autouse=True)
def at_once(monkeypatch, tmp_path_factory):
    """Kernels are compiled when they are first asked for, into a cache of the run's own."""
    pipeline.forget()
    monkeypatch.setattr(numba.settings, "at_once", True)
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))


def as_python(kernel):
    """A kernel's own text, run by Python."""
    scope = {"np": np, "njit": lambda **options: lambda function: function}
    scope |= {name: numba_functions.plain(name) for name in kernel.functions}
    exec(IMPORTS.sub("", kernel.text), scope)
    return scope[kernel.name]


@pytest.fixture
def in_python(monkeypatch):
    """The kernels that run as Python in the place of machine code."""
    found = []

    def read(kernel):
        found.append(kernel)
        return as_python(kernel) if kernel.blocks else None

    monkeypatch.setattr(numba, "compiled", read)
    return found


@pytest.fixture
def kernels(monkeypatch):
    """The machine code of the kernels that were compiled."""
    found = []
    compiled = numba.compiled

    def noted(kernel):
        found.append(compiled(kernel))
        return found[-1]

    monkeypatch.setattr(numba, "compiled", noted)
    return found


def chain(x, a):
    y = np.sin(x) * a
    y = np.exp(-y) + x
    y = y * y / (1.0 + y)
    y = np.sqrt(np.abs(y)) - 0.5
    return np.tanh(y)


def chain_loss(x, a):
    return chain(x, a).sum()


def black_scholes(spot, strike):
    rate, volatility, maturity = 0.03, 0.2, 1.5
    spot, strike = np.abs(spot) + 0.5, np.abs(strike) + 0.5
    deviation = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * maturity)
    return np.sum(spot * tg.special.ndtr(d1) - discounted * tg.special.ndtr(d2))


def pieces(x, y):
    """Comparisons, choice, masks, powers."""
    z = np.where(x > 0.3, y * y, np.minimum(x, 0.5))
    z = np.maximum(z, 0.0) + np.where((x > y) & ~(y < -1.0), x**3, y**2)
    big = np.abs(z) > 1.0
    return (z * big).sum() + np.sum(np.abs(z) ** 0.5)


def losses(x, y):
    gelu = 0.5 * x * (1.0 + tg.special.erf(x / np.sqrt(2.0)))
    soft = np.log1p(np.exp(-np.abs(y))) + np.maximum(y, 0.0)
    return np.mean(gelu * soft) + np.logaddexp(0.0, x * y).sum() + tg.nn.sigmoid(x).sum()


def optimizer(p, g):
    m, v = 0.9 * p + 0.1 * g, 0.999 * p * p + 0.001 * g**2
    return p - 0.001 * m / (np.sqrt(v) + 1e-8), m, v


def one_operation(x, y):
    return x * y


def pair(n, dtype):
    rng = np.random.default_rng(n)
    return rng.normal(size=n).astype(dtype), rng.normal(size=n).astype(dtype)


CASES = {
    "chain": (chain, lambda x, y: (x, 2.0)),
    "chain of numbers with a dtype": (chain_loss, lambda x, y: (x, x.dtype.type(1.5))),
    "chain of arrays without axes": (chain_loss, lambda x, y: (x, np.array(1.5, x.dtype))),
    "black_scholes": (black_scholes, lambda x, y: (x, y)),
    "pieces": (pieces, lambda x, y: (x, y)),
    "losses": (losses, lambda x, y: (x, y)),
    "optimizer": (optimizer, lambda x, y: (x, y)),
}


def differentiated(f, **more):
    return tg.value_and_grad(lambda *args: sum(map(np.sum, leaves_of(f(*args)))), **more)


def leaves_of(result):
    return result if isinstance(result, tuple) else (result,)


def twice(f, **more):
    """The second derivative along ones."""

    def slope(x, other):
        gradient = tg.grad(lambda x: sum(map(np.sum, leaves_of(f(x, other)))))(x)
        return np.sum(gradient * gradient)

    return tg.value_and_grad(slope, **more)


TRANSFORMS = {"compile": tg.compile, "value_and_grad": differentiated, "twice": twice}
every_case = pytest.mark.parametrize("case", CASES)
every_transform = pytest.mark.parametrize("transform", TRANSFORMS)
every_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])


def check(case, transform, dtype, lengths):
    f, arguments = CASES[case]
    plain, fast = TRANSFORMS[transform](f), TRANSFORMS[transform](f, backend="numba")
    for n in lengths:
        args = arguments(*pair(n, dtype))
        with np.errstate(all="ignore"):
            wanted = plain(*args)
            for _ in range(2):
                assert_same_bits(fast(*args), wanted, f"{n} elements")


@needs_numba
@pytest.mark.sampled(11)
@every_dtype
@every_transform
@every_case
def test_machine_code_has_the_bits_of_numpy_source(case, transform, dtype, kernels):
    check(case, transform, dtype, (100, 1, 0, 3_001, 300_001))
    assert kernels and None not in kernels


@pytest.mark.sampled(5, 1)
@every_dtype
@every_transform
@every_case
def test_the_text_of_kernels_has_the_bits_of_numpy_source(case, transform, dtype, in_python):
    check(case, transform, dtype, (100, 1, 0, 2_503))
    assert in_python


@pytest.mark.sampled(7)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_corpus(program, in_python):
    more = {"static_argnames": program.static_argnames}
    graded = {"argnums": program.argnums, "has_aux": program.has_aux, **more}
    for transform, options in ((tg.compile, more), (tg.value_and_grad, graded)):
        plain = transform(program.new(), **options)
        fast = transform(program.new(), backend="numba", **options)
        for args in (program.args, *program.other_args):
            assert_same_bits(leaves(fast(*args)), leaves(plain(*args)))


EVERY = [
    (name, getattr(np, name, None) or getattr(tg.special, name))
    for name in elements.FUNCTIONS.values()
    if hasattr(np, name) or hasattr(tg.special, name)
]


@needs_numba
@pytest.mark.sampled(5)
@every_dtype
@pytest.mark.parametrize("share", range(8))
def test_every_function_that_kernels_call(share, dtype, kernels):
    """Of arrays, and beside a number."""
    some = EVERY[share::8]

    def f(x, y):
        found = []
        for name, function in some:
            if name in elements.BINARY:
                found += [function(x, y) * y, function(x, 0.5) + y]
            else:
                found.append(function(x) * y)
        return tuple(found)

    plain, fast = tg.compile(f), tg.compile(f, backend="numba")
    for n in (1_001, 17):
        x, y = pair(n, dtype)
        x[: n // 2], y[:6] = np.abs(x[: n // 2]), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
        with np.errstate(all="ignore"):
            assert_same_bits(fast(x, y), plain(x, y))
    (code,) = kernels
    assert {f"{name}_of" for name, _ in some} <= set(code.py_func.__code__.co_names)


@needs_numba
@every_dtype
def test_arrays_in_other_orders_and_of_more_axes(dtype, kernels):
    plain = tg.value_and_grad(chain_loss)
    fast = tg.value_and_grad(chain_loss, backend="numba")
    whole = np.random.default_rng(0).normal(size=(70, 50)).astype(dtype)
    for x in (whole, whole.T, whole[::2], whole[:, ::3], whole.ravel()[::3], whole[:, 4]):
        assert_same_bits(fast(x, 2.0), plain(x, 2.0))
    readonly = whole.copy()
    readonly.flags.writeable = False
    assert_same_bits(fast(readonly, 2.0), plain(readonly, 2.0))
    assert None not in kernels


@needs_numba
def test_labels_and_masks_beside_floats(kernels):
    def f(x, labels, mask):
        y = np.where(labels == 1, x * 2.0, x * labels)
        return np.where(mask, y, 0.5 * x).sum()

    rng = np.random.default_rng(0)
    args = rng.normal(size=100), rng.integers(0, 3, 100), rng.random(100) < 0.5
    for x in (args[0], args[0].astype("float32")):
        fast = tg.value_and_grad(f, backend="numba")
        assert_same_bits(fast(x, *args[1:]), tg.value_and_grad(f)(x, *args[1:]))
    assert kernels and None not in kernels


def test_what_a_kernel_would_round_otherwise_stays_numpy_source():
    def f(x, exponent, n):
        y = x**exponent * 2.0  # NumPy multiplies where the exponent is 2.0
        z = np.float32(x) ** n + x
        return y * np.nextafter(x, 2.0) * z

    source = str(tg.compile(f, backend="numba").source(np.ones(5), 2.0, np.float64(3.0)))
    assert "power" not in source and "nextafter_of" not in source


def means_of_parts(x):
    y = np.tanh(x) * 2 + x
    return np.mean(y[x > 0]) + np.mean(y[x < 0])


def products_of_parts(x):
    y = np.tanh(x) * 2 + x
    a, b = y[x > 0], y[~(x > 0)]
    return np.mean(a * b.mean()) + np.mean(b * a.mean() + b)


def parts_in_turns(x):
    total = 0.0
    for _ in range(10):
        y = x - total
        total = total * 0.9 + (np.mean(y[y > -50] * 2 + 1) + np.mean(y[y < 20])) * 0.1
    return total


@pytest.mark.parametrize("f", [means_of_parts, products_of_parts, parts_in_turns])
def test_regions_wait_for_lengths_that_masks_tell(f, in_python):
    for transform in (tg.compile, tg.value_and_grad):
        plain, fast = transform(f), transform(f, backend="numba")
        for length in (5, 40):
            x = np.random.default_rng(length).normal(size=length)
            assert_same_bits(leaves(fast(x)), leaves(plain(x)))


def test_regions_leave_draws_behind_looks_in_their_order(in_python):
    def until_a_sum_is_large(draw):
        def f(x):
            total = 0.0
            while np.sum(total) < 4:
                total = total + np.sum(x * x * draw.uniform(size=x.shape))
            return total

        return f

    for transform in (tg.compile, tg.value_and_grad):
        plain = transform(until_a_sum_is_large(tg.random.Generator(5)))
        fast = transform(until_a_sum_is_large(tg.random.Generator(5)), backend="numba")
        for length in (3, 3, 5, 5):
            x = np.arange(1.0, length + 1) / length
            assert_same_bits(leaves(fast(x)), leaves(plain(x)))


def test_one_operation_is_no_region():
    source = str(tg.compile(one_operation, backend="numba").source(np.ones(3), np.ones(3)))
    assert "njit" not in source


@pytest.mark.parametrize("calls", [30, 90])
def test_long_regions_and_long_lines(calls, in_python):
    """Regions that would take long to compile stay NumPy source."""
    scope = {}
    text = "def f(x):\n    return " + "(" * calls + "x" + " * x + 0.5)" * calls
    exec(text, scope)
    x = np.linspace(0.0, 0.9, 20)
    fast = tg.grad(lambda x: scope["f"](x).sum(), backend="numba")
    assert_same_bits(fast(x), tg.grad(lambda x: scope["f"](x).sum())(x))
    assert bool(in_python) == (calls == 30)


@needs_numba
def test_machine_code_rounds_after_every_operation(kernels):
    x = np.linspace(0.5, 2.0, 100)
    tg.compile(lambda x: x * x + x * 3.0 - x, backend="numba")(x)
    (code,) = kernels
    (text,) = code.inspect_asm().values()
    assert re.search(r"v?mulpd", text) and not re.search(r"\bvf?n?m(add|sub)\d", text)


@needs_numba
def test_no_kernel_reads_beyond_its_arrays(tmp_path):
    program = (
        "import warnings, numpy as np, tracegrad as tg\n"
        "from test_block_kernels import CASES, TRANSFORMS, pair\n"
        "from tracegrad.backends import numba\n"
        "warnings.simplefilter('ignore', tg.errors.SlowCompileWarning)\n"
        "numba.settings.at_once = True\n"
        "for name in ('black_scholes', 'pieces'):\n"
        "    f, arguments = CASES[name]\n"
        "    for n in (7, 1_500):\n"
        "        args = arguments(*pair(n, 'float64'))\n"
        "        TRANSFORMS['value_and_grad'](f, backend='numba')(*args)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
        "TRACEGRAD_CACHE_DIR": str(tmp_path),
        "NUMBA_BOUNDSCHECK": "1",
    }
    command = [sys.executable, "-W", "error", "-c", program]
    subprocess.run(command, check=True, env=environment)


def test_source_shows_kernels_with_the_users_names_and_lines():
    source = str(tg.compile(chain, backend="numba").source(np.ones(100), 2.0))
    kernel = source.partition('@njit(error_model="numpy", nogil=True)\n')[2].partition("\n\n\n")[0]
    assert re.sub(r"\S+\.py:\d+", "model.py:1", kernel) == KERNEL
    choice = source.partition("\n\n\ndef chain_elements(x, a):\n")[2].partition("\n\n\n")[0]
    assert choice == CHOICE
    assert "from tracegrad.backends.numba_functions import exp_of, sin_of, tanh_of" in source


CHOICE = """\
    # As machine code, where that is there and arrays are in C order.
    if chain_kernel and x.flags.c_contiguous:
        value = np.empty(x.shape)
        if x.nbytes < 1048576:
            chain_kernel(x, a, value)
        else:
            in_parts(chain_kernel, [x, a, value], [])
        return value
    return in_tiles(chain_tile, [x, a])[0]"""
KERNEL = """\
def chain_kernel(x, a, value):
    if x.size > 1024:
        half = x.size // 16 * 8
        chain_kernel(x[:half], a, value[:half])
        chain_kernel(x[half:], a, value[half:])
        return
    n = x.size
    y_1 = np.empty(n)
    y_2 = np.empty(n)
    # model.py:1  y = np.sin(x) * a
    sin_of(x, y_1)
    for i in range(n):
        y = y_1[i] * a
        # model.py:1  y = np.exp(-y) + x
        y_1[i] = -y
    exp_of(y_1, y_1)
    for i in range(n):
        y = y_1[i] + x[i]
        # model.py:1  y = y * y / (1.0 + y)
        y = y * y / (1.0 + y)
        # model.py:1  y = np.sqrt(np.abs(y)) - 0.5
        y_2[i] = np.sqrt(np.abs(y)) - 0.5
    # model.py:1  return np.tanh(y)
    tanh_of(y_2, value)"""


@needs_numba
def test_source_runs_as_it_is_shown(tmp_path):
    """In a process of its own, where nobody has told numba of NumPy's loops before."""
    x = np.linspace(0.5, 2.0, 2_000)
    source = str(tg.value_and_grad(chain_loss, backend="numba").source(x, 2.0))
    shown = (
        "x = np.linspace(0.5, 2.0, 2_000)\n"
        "value, gradient = chain_loss_value_and_grad(x, 2.0)\n"
        "assert chain_loss_value_and_grad_kernel.signatures\n"
        "print(value.hex(), gradient.sum().hex())\n"
    )
    (tmp_path / "shown.py").write_text(source + shown)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "shown.py")]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    value, gradient = tg.value_and_grad(chain_loss)(x, 2.0)
    assert out.stdout.split() == [value.hex(), gradient.sum().hex()]


@needs_numba
def test_numpy_source_answers_until_machine_code_is_there(monkeypatch, kernels):
    monkeypatch.setattr(numba.settings, "at_once", False)
    x = np.linspace(0.5, 2.0, 100)
    run = tg.compile(chain, backend="numba")
    first = run(x, 2.0)
    numba.wait()
    assert_same_bits(run(x, 2.0), first)
    assert len(kernels) == 1 and None not in kernels


@needs_numba
def test_auto_compiles_what_numpy_has_spent_a_second_in(monkeypatch, kernels, tmp_path):
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba, "TO_READ", 0.0)

    def waves(x):  # no other test has its machine code in memory
        return np.sin(x * 3.0) * np.exp(-x) + x

    x = np.linspace(0.5, 2.0, 100)
    wanted = tg.compile(waves)(x)
    run = tg.compile(waves, backend="auto")
    assert_same_bits([run(x), run(x)], [wanted, wanted])
    assert not kernels
    monkeypatch.setattr(numba, "TO_COMPILE", 0.0)
    assert_same_bits([run(x), run(x)], [wanted, wanted])
    assert len(kernels) == 1 and None not in kernels
    monkeypatch.setattr(numba, "TO_COMPILE", 1e9)
    pipeline.forget()
    again = tg.compile(waves, backend="auto")
    assert_same_bits([again(x), again(x)], [wanted, wanted])
    assert len(kernels) == 2  # it is on disk


def test_auto_adds_up_the_time_of_calls(monkeypatch):
    ticks, asked = itertools.count(), []
    monkeypatch.setattr(numba, "perf_counter", lambda: next(ticks) * 0.3)
    monkeypatch.setattr(numba, "compiled", lambda kernel: asked.append(kernel.name))
    monkeypatch.setattr(numba.kernel_cache, "has", lambda text: False)
    x = np.linspace(0.5, 2.0, 100)
    run = tg.compile(chain, backend="auto")
    for seconds in (0.0, 0.3, 0.6, 0.9, 1.2, 1.2):
        assert_same_bits(run(x, 2.0), tg.compile(chain)(x, 2.0))
        assert asked == ["chain_kernel"] * (seconds > 1.0)


def test_without_machine_code_numpy_source_runs(monkeypatch):
    monkeypatch.setattr(numba, "compiled", lambda kernel: None)
    x = np.linspace(0.5, 2.0, 100)
    for _ in range(2):
        assert_same_bits(tg.compile(chain, backend="numba")(x, 2.0), tg.compile(chain)(x, 2.0))
