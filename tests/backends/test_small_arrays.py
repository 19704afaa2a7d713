"""Loops over small arrays as kernels: machine code, its text as Python and NumPy source agree."""

from __future__ import annotations

import importlib.util
import re

import array_loop_programs as programs
import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from codegen.emit import small_arrays
from tracegrad.backends import numba, numba_functions
from tracegrad.compiled.ways_of_nodes import Asked
from tracegrad.errors import NoKernelsWarning
from tracegrad.execution import pipeline

has_numba = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not has_numba, reason="numba is not installed")
DTYPES = ("float64", "float32")


def as_python(kernel):
    """A kernel's own text, run by Python."""
    scope = {"np": np, "njit": lambda **options: lambda function: function}
    scope |= {name: numba_functions.plain(name) for name in kernel.functions}
    text = re.sub(r"^(from|import) .*$", "", kernel.text, flags=re.MULTILINE)
    exec(compile(text, f"<{kernel.name}>", "exec"), scope)
    return scope[kernel.name]


@pytest.fixture(autouse=True)
def at_once(monkeypatch, tmp_path_factory):
    """Kernels are compiled when they are first called, into a cache of the test run's own."""
    pipeline.forget()
    monkeypatch.setattr(numba.settings, "at_once", True)
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))


@pytest.fixture(params=["Python", pytest.param("machine code", marks=needs_numba)])
def kernels(request, monkeypatch):
    """How the kernels of loops over small arrays run, and those that did."""
    made = []
    compiled = numba.compiled

    def run(kernel):
        if not kernel.otherwise:
            return None  # others have tests of their own
        code = as_python(kernel) if request.param == "Python" else compiled(kernel)
        made.append(code)
        return code

    monkeypatch.setattr(numba, "compiled", run)
    return made


def leapfrog(x, w, m):
    q, p = x[0], w
    for _ in range(30):
        p = p - 0.05 * w * np.sin(q)
        q = q + 0.1 * p
        p = p - 0.05 * w * np.sin(q)
    return np.sum(q * q) + p @ q


def kalman(x, w, m):
    mean, spread, loss = np.zeros_like(w), np.eye(len(w), dtype=w.dtype), 0.0
    for t in range(len(x)):
        mean = m @ mean
        spread = m @ spread @ m.T + 0.1 * np.eye(len(w), dtype=w.dtype)
        deviation = w @ spread @ w + 0.5
        gain, error = spread @ w / deviation, x[t, 0] - w @ mean
        loss = loss + 0.5 * (np.log(deviation) + error * error / deviation)
        mean, spread = mean + gain * error, spread - np.outer(gain, w @ spread)
    return loss


def hidden_markov(x, w, m):
    alpha, loss = np.exp(w), 0.0
    for t in range(len(x)):
        alpha = (alpha @ np.exp(m)) * np.exp(x[t])
        total = np.sum(alpha)
        alpha, loss = alpha / total, loss + np.log(total)
    return -loss


def kept_transposed(x, w, m):
    """What turns keep is turned, and products are of what lies so."""
    a, s = m * 0.5, 0.0
    for t in range(len(x)):
        a = np.tanh(a @ m.T) * 0.3
        s = s + (a.T @ x[t]) @ w + (a.T @ (a + m))[0] @ w
    return s


def products_with_their_own_transposes(x, w, m):
    a, b = m, m * 0.5
    for _ in range(len(x)):
        b = 0.1 * (a @ a.T) + 0.2 * (b.T @ b)
        a = np.tanh(b - a)
    return (a * b).sum()


def exchanged(x, w, m):
    v, u = w, x[1]
    for t in range(len(x)):
        v, u = u, v * 0.9 + x[t] * u
        u, v = v, u
    return (v * u).sum() + v[0]


def rows_and_columns(x, w, m):
    a, v = m, w
    for t in range(len(x)):
        a = a * v[:, None] + v - a.sum(axis=0) * 0.1
        a = 0.2 * np.tanh(a) + np.outer(a.sum(axis=1), x[t]) * 0.01
        v = 0.5 * a[0] + a[:, 1] * v[1] + a[-1, 0]
    return (a * a).sum() + v.sum()


def written(x, w, m):
    rows, v = np.zeros_like(x), w
    for t in range(len(x)):
        u = np.array(v)
        u[0] = x[t, 1]
        u[1] += 0.5
        rows[t] = u
        rows[t, 0] -= v[1]
        v = np.tanh(u * 0.5 + v)
    return (rows * x).sum() + v.sum()


def parted(x, w, m):
    v, s = w, 0.0
    for t in range(len(x)):
        if v[0] > x[t, 0]:
            v = v * 0.5 - x[t]
        else:
            v = np.sin(v) + w
            s = s + v[1]
        s = s + v @ v
    return s


def left(x, w, m):
    v = w
    for t in range(len(x)):
        v = 0.5 * v + 0.1 * x[t]
        if v @ v < 1e-1:
            break
    return v.sum() * w[0]


def nested(x, w, m):
    v, a = w, m
    for t in range(len(x)):
        for _ in range(12):
            v = np.tanh(a @ v + x[t])
        a = 0.5 * a + np.outer(v, w) * 0.1
    return v.sum() + a.sum()


def masked(x, w, m):
    v = w
    for t in range(len(x)):
        high = v > x[t]
        v = np.where(high, v * 0.5, np.maximum(v, 0.25)) + np.abs(m[0]) * 0.1
    return (v * v).sum()


def summed_pairwise(x, w, m):
    """More than eight numbers are not added one after the other."""
    s = 0.0
    for t in range(len(x)):
        v = np.outer(x[t] * 1e8, w) + 1.0 / (w * w + s * s)
        s = np.tanh(v.sum() * 1e-7 + v[0].sum())
    return s


def bodies(x, w, m):
    """Arrays of three axes, summed along one."""
    places, speeds = x[:4], x[4:8]
    for _ in range(30):
        apart = places[:, None] - places[None]
        squares = (apart * apart).sum(axis=2) + 0.1
        pulls = apart / (squares * np.sqrt(squares))[:, :, None]
        speeds = speeds - 0.01 * pulls.sum(axis=1) + 0.01 * pulls.sum(axis=0)
        places = places + 0.1 * speeds * w
    return (places * places).sum()


def of_numbers(x, w, m):
    """An array made of numbers in each turn."""
    u = np.array([w[0], x[0, 0], 0.5 * w[0]])
    for _ in range(50):
        change = np.array([u[1] - u[0], u[0] * (1.0 - u[2]) - u[1], u[0] * u[1] - 2.0 * u[2]])
        u = u + 0.02 * change
    return u @ u


def falling(x, w, m):
    """Powers of numbers beside vectors."""
    p, q = np.zeros_like(w), w
    for t in range(1, len(x)):
        r = q @ q + 0.1
        p = 0.9 * p - 0.1 * q / r**1.5 + x[t] * 0.01
        q = q + 0.1 * p
    return np.sum(q * q) + np.sum(np.abs(p) ** 1.5)


def softmax(x, w, m):
    p = w
    for t in range(len(x)):
        z = np.exp(p * x[t] - (p * x[t]).max())
        p = 0.5 * p + z / z.sum() - m.sum(axis=1) * 0.1
    return p.min()


def adaptive(x, w, m):
    """Nobody knows before how many turns there are, whose arrays are kept."""
    t, h, y = 0.0, 0.01, w
    while t < 1.0:
        slope = np.sin(y) - y + x[0]
        other = slope - h * slope * np.tanh(y)
        if np.abs(h * (other - slope)).sum() < 1e-2:
            y, t, h = y + 0.5 * h * (slope + other), t + h, h * 1.2
        else:
            h = h * 0.5
    return y @ y


CASES = (
    *(bodies, of_numbers, softmax, adaptive, falling),
    *(leapfrog, kalman, hidden_markov, kept_transposed, products_with_their_own_transposes),
    *(exchanged, rows_and_columns, written, parted, left, nested, masked, summed_pairwise),
)


def inputs(n=4, dtype="float64", turns=40):
    rng = np.random.default_rng(n)
    arrays = rng.normal(size=(turns, n)), rng.normal(size=n), rng.normal(size=(n, n)) * 0.3
    return [a.astype(dtype) for a in arrays]


def first(f, **options):
    return tg.value_and_grad(f, argnums=(1, 2), **options)


every_case = pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", DTYPES)
@every_case
def test_values_have_numpys_bits(f, dtype, kernels):
    args = inputs(dtype=dtype)
    run = tg.compile(f, backend="numba")
    with np.errstate(all="ignore"):
        assert_same_bits([run(*args), run(*args)], [tg.compile(f)(*args)] * 2)
    assert f is written or (kernels and None not in kernels)  # the tracer unrolls that one


@pytest.mark.sampled(9, 1)
@pytest.mark.parametrize("dtype", DTYPES)
@every_case
def test_gradients_have_numpys_bits(f, dtype, kernels):
    args = inputs(dtype=dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(first(f, backend="numba")(*args), first(f)(*args))
    # Turns of `nested` keep lists of lists; of float32, the gradient of softmax stays NumPy source.
    if f not in (written, nested) and (f is not softmax or dtype == "float64"):
        assert kernels and None not in kernels


@pytest.mark.sampled(9)
@every_case
def test_second_derivatives_have_numpys_bits(f, kernels):
    args = inputs(3)
    tangents = [0.5 * a for a in args]
    with np.errstate(all="ignore"):
        product = tg.hvp(f, args, tangents, backend="numba")
        assert_same_bits(product, tg.hvp(f, args, tangents))


@pytest.mark.sampled(23)
@pytest.mark.parametrize("n", [1, 2, 9, 17])
@every_case
def test_kernels_are_for_all_lengths(f, n, kernels):
    if n == 1 and f in (written, parted, rows_and_columns):
        return  # these read the second of some numbers
    args = inputs(n)
    with np.errstate(all="ignore"):
        assert_same_bits(first(f, backend="numba")(*args), first(f)(*args))


@pytest.mark.sampled(43)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed, dtype, kernels):
    f, args = programs.function(seed), programs.inputs(seed, dtype)
    with np.errstate(all="ignore"):
        gradient = tg.value_and_grad(f, argnums=(0, 1, 2))
        by_kernels = tg.value_and_grad(f, argnums=(0, 1, 2), backend="numba")
        assert_same_bits(by_kernels(*args), gradient(*args))


def test_arrays_that_are_large_or_in_another_order_stay_numpys(monkeypatch):
    calls = []

    def counted(kernel):
        if not kernel.otherwise:
            return None
        code = as_python(kernel)
        return lambda *args: calls.append(kernel) or code(*args)

    monkeypatch.setattr(numba, "compiled", counted)
    run, plain = first(kalman, backend="numba"), first(kalman)
    x, w, m = inputs(4)
    for args in (
        (x, w, np.asfortranarray(m)),
        (x, np.repeat(w, 2)[::2], m),
        inputs(40),
    ):
        assert_same_bits(run(*args), plain(*args))
    assert not calls
    assert_same_bits(run(x, w, m), plain(x, w, m))
    assert len(calls) == 1


# A number is an array without axes, whose sum or largest element NumPy gives.
REDUCED = {
    "sum": np.sum,
    "method": lambda v: v.sum(),
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "ptp": np.ptp,
    "std": np.std,
    "prod": np.prod,
    "norm": np.linalg.norm,
}


@pytest.mark.parametrize("reduced", REDUCED.values(), ids=REDUCED)
def test_reductions_of_numbers_in_and_behind_loops(reduced):
    def inside(x):
        s = 0.0
        for v in x:
            s = s + reduced(v * v)
        return s

    def behind(x):
        s = 0.0
        while s < 3.0:
            s = s + x[0]
        return reduced(s * 1.5)

    x = np.linspace(0.5, 1.5, 10)
    for f in (inside, behind):
        for transform in (tg.compile, tg.value_and_grad):
            assert_same_bits(transform(f, backend="numba")(x), transform(f)(x))


def test_a_mistake_in_what_writes_kernels_leaves_numpy_source(monkeypatch):
    def mistaken(kernel):
        raise IndexError("list index out of range")

    monkeypatch.setattr(small_arrays, "Lowering", mistaken)
    args = inputs()
    for backend in ("numba", "auto"):
        pipeline.forget()
        run = first(kalman, backend=backend)
        with pytest.warns(
            NoKernelsWarning, match=r"kalman.* its kernels cannot be written \(Index"
        ) as told:
            found = run(*args)
        assert {warning.filename for warning in told} == {__file__}
        assert_same_bits(found, first(kalman)(*args))


def test_a_loop_beside_a_gradient_that_is_not_there_is_a_kernel():
    """A backward gives None for what no cotangent flows to; no kernel gives that."""

    def two(x, w):
        a, b = x[0], x[0]
        for t in range(len(x)):
            a = np.tanh(w @ a + x[t])
            b = b * 0.5
        return a, b

    def gradients(f, which):
        x = tg.tensor(np.linspace(-1.0, 1.0, 27).reshape(9, 3), requires_grad=True)
        w = tg.tensor(np.eye(3), requires_grad=True)
        y = f(x, w)[which]
        y.sum().backward()
        return y, [None if v.grad is None else v.grad.numpy() for v in (x, w)]

    made = tg.compile(two, backend="numba")
    for which in (0, 1):
        y, found = gradients(made, which)
        assert_same_bits(found, gradients(two, which)[1])
        back = y.grad_fn._node.attributes["function"].way.backwards[Asked((which,))]
        assert "@njit" in back.program.source.text


def test_reads_beyond_an_array_raise(kernels):
    def shifted(x, y):
        v = x[0]
        for t in range(len(x)):
            v = v * 0.5 + y[t + 1]
        return v.sum()

    run = tg.compile(shifted, backend="numba")
    x, y = np.ones((30, 3)), np.arange(93.0).reshape(31, 3)
    assert run(x, y) == shifted(x, y)
    assert kernels and None not in kernels
    with pytest.raises(IndexError):
        run(x, y[:20])


def test_source_shows_kernels_with_the_users_names_and_lines():
    source = str(tg.compile(steps, backend="numba").source(np.ones(3), np.ones(3)))
    kernel = source.partition("boundscheck=True)\n")[2].partition("\n\n\n")[0]
    assert re.sub(r"\S+\.py:\d+", "model.py:1", kernel) == KERNEL
    choice = source.partition("\n\n\ndef steps_loop(k, q):\n")[2].partition("\n\n\n")[0]
    assert choice == CHOICE


def steps(k, q):
    p = q * 0.0
    for _ in range(100):
        p = p - 0.1 * k * np.sin(q)
        q = q + 0.1 * p
    return np.sum(q * q)


CHOICE = """\
    # As machine code, where that is there and arrays are small and in C order.
    if (
        steps_loop_kernel
        and k.size < 1024
        and k.flags.c_contiguous
        and q.flags.c_contiguous
    ):
        value = steps_loop_kernel(k, q)
        return np.float64(value)
    return steps_loop_in_numpy(k, q)"""
KERNEL = """\
def steps_loop_kernel(k, q):
    n = k.size
    q_2 = np.empty(k.shape)
    p = np.empty(k.shape)
    p_2 = np.empty(k.shape)
    sin_q = np.empty(k.shape)
    value = np.empty(k.shape)
    # model.py:1  p = q * 0.0
    for i in range(n):
        p[i] = q[i] * 0.0
        # model.py:1  p = p - 0.1 * k * np.sin(q)
        p_2[i] = 0.1 * k[i]
    # model.py:1  for _ in range(100):
    for i in range(n):
        q_2[i] = q[i]
    # model.py:1  for _ in range(100):
    for _ in range(100):
        # model.py:1  p = p - 0.1 * k * np.sin(q)
        sin_of(q_2, sin_q)
        for i in range(n):
            p[i] = p[i] - p_2[i] * sin_q[i]
            # model.py:1  q = q + 0.1 * p
            q_2[i] = q_2[i] + 0.1 * p[i]
    # model.py:1  return np.sum(q * q)
    for i in range(n):
        value[i] = q_2[i] * q_2[i]
    return sum_of(value)"""
