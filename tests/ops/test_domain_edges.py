"""Functions at the edges of their domains enter: empty axes, zeros, poles, ties of conventions.

NumPy says what values are, PyTorch what gradients are where mathematics leaves it open.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.errors import RecompileWarning

BACKENDS = ["numpy", "jax"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "jax":
        pytest.importorskip("jax")
    return request.param


def called_twice(f, *args, backend="numpy"):
    """The result of a later call, which a program answers."""
    compiled = tg.compile(f, backend=backend)
    compiled(*args)
    return compiled(*args)


# -- numbers and classes of arrays ----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (4,)])
def test_squares_of_bools_have_the_dtypes_of_numpy(backend, shape):
    b = np.resize([True, False], shape)
    for f in (lambda b: b**2, lambda b: np.power(b, 2), lambda b: b**3, lambda b: np.square(b)):
        expected = f(b)
        for found in (called_twice(f, b, backend=backend), f(tg.tensor(b))):
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)
    for two in (np.int8(2), np.int64(2), np.uint16(2)):
        expected = np.power(b, two)
        assert called_twice(lambda b, two=two: np.power(b, two), b, backend=backend).dtype == (
            expected.dtype
        )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 2j * x[1],
        lambda x: 2j + x[1],
        lambda x: 2j - x[1],
        lambda x: 2j / x[1],
        lambda x: np.multiply(2j, x[1]),
        lambda x: (2j * x[1]) * x,
        lambda x: 2j * x.sum(),
        lambda x: 2j * x,
    ],
)
def test_a_complex_number_before_an_element(backend, f):
    x = np.array([1.0, 2.0, 3.0])
    found = called_twice(f, x, backend=backend)
    assert found.dtype == np.complex128
    assert_close(found, f(x), 1e-15)
    t = tg.tensor(x, requires_grad=True)
    y = f(t)
    assert y.dtype == np.complex128 and isinstance(y.detach().numpy(), np.ndarray)
    (tg.abs(y) ** 2).sum().backward()
    gradient = tg.grad(lambda x: (np.abs(f(x)) ** 2).sum(), backend=backend)(x)
    assert_close(gradient, t.grad, 1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x + 0.5j) * np.float64(3.0),
        lambda x: (x + 0.5j) + np.float64(3.0),
        lambda x: (x + 0.5j) - np.float64(3.0),
        lambda x: (x + 0.5j) / np.float64(3.0),
        lambda x: (x + 0.5j) ** np.float64(3.0),
        lambda x: np.float64(3.0) * (x + 0.5j),
        lambda x: (x + 0.5j) * np.array([3.0, 4.0])[0],
        lambda x: (x + 0.5j) * np.sum(np.array([x, 4.0])),
        lambda x: (x * 1j) * np.float64(2.0),
    ],
)
def test_a_complex_number_of_python_before_a_float64(backend, f):
    """A float64 is a float for Python, whose complex numbers answer."""
    assert_close(called_twice(f, 1.5, backend=backend), f(1.5), 1e-15)
    slope = tg.grad(lambda x: np.abs(f(x)), backend=backend)
    eager = tg.grad(lambda x: np.abs(f(x)) + 0.0 * np.random.standard_normal())
    expected = (np.abs(f(1.5 + 1e-6)) - np.abs(f(1.5 - 1e-6))) / 2e-6
    assert_close(slope(1.5), expected, 1e-8)
    assert_close(slope(1.5), expected, 1e-8)
    assert_close(eager(1.5), expected, 1e-8)


def test_a_complex_number_before_a_float32_stays_narrow():
    x = np.array([1.0, 2.0], np.float32)
    assert called_twice(lambda x: 2j * x[1], x).dtype == np.complex64
    assert (2j * tg.tensor(x)[1]).dtype == np.complex64


class Own(np.ndarray):
    """An array with rules of its own."""


MATRIX = np.eye(2).view(np.matrix)
MASKED = np.ma.array(np.eye(2), mask=np.eye(2))
OWN = np.eye(2).view(Own)


@pytest.mark.parametrize("other", [MATRIX, MASKED, OWN], ids=["matrix", "masked", "own"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, other: x * other,
        lambda x, other: np.multiply(x, other),
        lambda x, other: np.concatenate([x, other]),
        lambda x, other: tg.where(x > 0, x, other),
    ],
)
def test_arrays_with_rules_of_their_own_are_refused_by_name(f, other):
    """``np.multiply(x, matrix)`` was a product of matrices, and a mask was lost."""
    x = np.array([[2.0, 1.0], [1.0, 2.0]])
    name = type(other).__name__
    for run in (
        lambda: f(tg.tensor(x, requires_grad=True), other),
        lambda: tg.compile(lambda x: f(x, other))(x),
        lambda: tg.grad(lambda x: f(x, other).sum())(x),
        lambda: tg.compile(f)(x, other),
    ):
        with pytest.raises(tg.errors.ArgumentError, match=name):
            run()
    with pytest.raises(tg.errors.ArgumentError) as raised:
        tg.tensor(x) * other
    assert "tg.tensor(x) * other" in str(raised.value).splitlines()[-1]


def test_a_mask_is_not_lost_in_a_tensor():
    for make in (tg.tensor, tg.as_tensor):
        with pytest.raises(tg.errors.ArgumentError, match="mask"):
            make(MASKED)


def test_maps_of_files_are_operands(tmp_path):
    x = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(3,))
    x[:] = [1.0, 2.0, 3.0]
    assert_close(tg.tensor([1.0, 1.0, 2.0]) * x, tg.tensor([1.0, 2.0, 6.0]), 0.0)


# -- nothing along an axis ------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0, 0)])
def test_softmax_of_nothing(backend, shape, axis):
    x = np.zeros(shape)
    for f in (tg.nn.softmax, tg.nn.log_softmax, tg.special.softmax, tg.special.log_softmax):
        assert f(tg.tensor(x), axis=axis).shape == shape
        assert called_twice(lambda x, f=f: f(x, axis=axis), x, backend=backend).shape == shape
        gradient = tg.grad(lambda x, f=f: f(x, axis=axis).sum(), backend=backend)
        assert gradient(x).shape == shape
    sums = tg.special.logsumexp(x, axis=axis)
    expected = np.logaddexp.reduce(x, axis=axis)
    assert sums.shape == expected.shape and np.array_equal(sums, expected)


def test_softmax_of_nothing_after_something(backend):
    """A program for some elements is none for no elements, and the other way round."""
    for f, narrow in ((tg.nn.softmax, 1.0), (tg.nn.log_softmax, 0.0)):
        compiled = tg.compile(lambda x, f=f: f(x, axis=-1), backend=backend)
        for length in (3, 0, 1, 0, 3):
            found = compiled(np.zeros((2, length)))
            assert found.shape == (2, length)
        assert_close(compiled(np.zeros((2, 1))), np.full((2, 1), narrow), 0.0)


# -- norms ----------------------------------------------------------------------------------------

ORDERS = [0.5, -0.5, -1, -2, 0, 1, 1.5, 2, 3, math.inf, -math.inf]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("order", ORDERS)
def test_norms_at_zeros(backend, order):
    """Where an element is 0 the gradient is that of PyTorch: 0 if it is infinite or undefined."""
    for x, infinite in (([0.0, 0.0, 0.0], True), ([0.0, 3.0, -4.0], False), ([1.0, 2.0, 3.0], 0)):
        x = np.array(x)
        value, gradient = tg.value_and_grad(lambda x: np.linalg.norm(x, order), backend=backend)(x)
        assert_close(value, np.linalg.norm(x, order), 1e-14)
        assert np.isfinite(gradient).all(), (order, x, gradient)
        smooth = x != 0
        if infinite or order in (math.inf, -math.inf, 0) or (order < 0 and not smooth.all()):
            continue
        size = np.abs(x[smooth])
        expected = np.sign(x[smooth]) * (size / value) ** (order - 1)
        assert_close(gradient[smooth], expected, 1e-12)
        assert (gradient[~smooth] == 0).all()


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (4, 2, 2)])
def test_the_nuclear_norm_of_matrices_without_full_rank(backend, shape):
    some = np.zeros(shape)
    some[..., 0, 0] = 2.0
    for x in (np.zeros(shape), some):
        f = lambda x: np.linalg.norm(x, "nuc", axis=(-2, -1)).sum()
        value, gradient = tg.value_and_grad(f, backend=backend)(x)
        assert_close(value, f(x), 1e-14)
        assert_close(gradient, np.sign(x), 1e-14)  # of the singular values that are not 0


# -- what PyTorch has -----------------------------------------------------------------------------


def test_softplus_is_linear_above_its_threshold(backend):
    x = np.array([-30.0, -1.0, 0.0, 2.0, 9.9, 10.1, 30.0, 800.0])
    for beta, threshold in ((1.0, 20.0), (2.0, 20.0), (1.0, 1.0), (0.5, 3.0), (1.0, math.inf)):
        f = lambda x, b=beta, t=threshold: tg.nn.softplus(x, beta=b, threshold=t)
        linear = beta * x > threshold
        smooth = np.where(linear, 0.0, x)
        expected = np.where(linear, x, np.logaddexp(0.0, beta * smooth) / beta)
        assert_close(called_twice(f, x, backend=backend), expected, 1e-15)
        slope = np.where(linear, 1.0, 1.0 / (1.0 + np.exp(-beta * smooth)))
        assert_close(tg.grad(lambda x, f=f: f(x).sum(), backend=backend)(x), slope, 1e-15)
    assert tg.nn.softplus(30.0) == 30.0
    assert tg.nn.softplus(2.0, 1.0, 1.0) == 2.0


STEPS = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.round(x, 1),
    "sign": np.sign,
    "floor_divide": lambda x: x // 2.0,
    "power of 0": lambda x: x**0,
    "0 to a power": lambda x: 0.0**x,
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "angle": np.angle,
    "imag": lambda x: x.imag,
    "copysign": lambda x: np.copysign(1.0, x),
    "spacing": np.spacing,
    "modf": lambda x: np.modf(x)[1],
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_steps_leave_zeros_as_gradients(step):
    """As in PyTorch: the result has a history, and the backward reaches the leaves."""
    x, zeros = np.array([0.3, 1.7, 2.2]), np.zeros(3)
    compiled = tg.compile(step)
    for f in (step, compiled, lambda x: step(x * x), lambda x: np.exp(step(x * x))):
        for _ in range(3):  # computed, compiled, matched
            t = tg.tensor(x, requires_grad=True)
            f(t).sum().backward()
            assert np.array_equal(t.grad.numpy(), zeros)
    t = tg.tensor(x, requires_grad=True)
    (found,) = tg.autograd.grad(step(t).sum(), t)
    assert np.array_equal(found.numpy(), zeros)
    step(t).sum().backward(create_graph=True)
    assert np.array_equal(t.grad.numpy(), zeros)
    for _ in range(2):
        assert np.array_equal(tg.vjp(step, x)[1](x)[0], zeros)
        assert np.array_equal(tg.grad(lambda x: step(x).sum())(x), zeros)


def test_zeros_reach_leaves_through_hooks_and_the_users_own_rules():
    x = np.array([0.3, 1.7])
    for watch in ("leaf", "between", "retained", "node"):
        t = tg.tensor(x, requires_grad=True)
        between = t * 2.0
        y = np.floor(between)
        if watch == "leaf":
            t.register_hook(lambda g: g + 1.0)
        elif watch == "between":
            between.register_hook(lambda g: g + 0.5)
        elif watch == "retained":
            between.retain_grad()
        else:
            seen = []
            y.grad_fn.register_hook(lambda given, ct, seen=seen: seen.extend(given))
        y.sum().backward()
        assert t.grad.tolist() == ([1.0, 1.0] if watch in ("leaf", "between") else [0.0, 0.0])
        if watch == "retained":
            assert between.grad.tolist() == [0.0, 0.0]
        if watch == "node":
            assert [g.tolist() for g in seen] == [[0.0, 0.0]]

    class Nothing(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, ct):
            assert ct.tolist() == [0.0, 0.0]
            return None

    t = tg.tensor(x, requires_grad=True)
    np.floor(Nothing.apply(t)).sum().backward()
    assert t.grad is None  # the user's rule says that there is none


def test_steps_take_part_beside_others():
    x = np.array([0.3, 1.7, 2.2])
    for f, expected in (
        (lambda x: np.floor(x) * x, np.floor(x)),
        (lambda x: x - np.floor(x), np.ones(3)),
        (lambda x: np.where(x > 1.0, np.round(x), x * x), np.where(x > 1.0, 0.0, 2.0 * x)),
    ):
        t = tg.tensor(x, requires_grad=True)
        f(t).sum().backward()
        assert_close(t.grad.numpy(), expected, 1e-15)
        assert_close(tg.grad(lambda x, f=f: f(x).sum())(x), expected, 1e-15)
    a, b = (tg.tensor(x, requires_grad=True) for _ in range(2))
    (np.floor(a) + b).sum().backward()
    assert a.grad.tolist() == [0.0] * 3 and b.grad.tolist() == [1.0] * 3


def test_a_step_read_as_a_number_loses_no_gradient():
    t = tg.tensor([1.7, 2.5], requires_grad=True)
    (float(np.floor(t[0]) * 2.0) * t).sum().backward()
    assert t.grad.tolist() == [2.0, 2.0]


def test_steps_in_place():
    t = tg.tensor([0.26, 1.74], requires_grad=True)
    y = t * 1.0
    assert y.round_(decimals=1).tolist() == [0.3, 1.7]
    assert (t * 10.0).round_().tolist() == [3.0, 17.0]
    y.sum().backward()
    assert t.grad.tolist() == [0.0, 0.0]


# -- JAX where NumPy raises -----------------------------------------------------------------------


def _written(x, i):
    x = x * 1.0
    x[i] = 7.0
    return x


def _added(x, i):
    x = x * 1.0
    x[i] += 7.0
    return x


X, EYE = np.array([1.0, 2.0, 3.0]), np.eye(2)
GOOD, FAR, BELOW = np.array([0, 2]), np.array([0, 3]), np.array([-4, 0])
RAISED = {
    "element": (lambda x, i: x[i], (X, np.array(1)), (X, np.array(5))),
    "below": (lambda x, i: x[i], (X, np.array([-3, 0])), (X, BELOW)),
    "array": (lambda x, i: x[i], (X, GOOD), (X, FAR)),
    "small ints": (lambda x, i: x[i], (X, GOOD.astype(np.uint8)), (X, FAR.astype(np.uint8))),
    "second axis": (
        lambda x, i: x[..., i, :],
        (np.ones((2, 3, 4)), GOOD),
        (np.ones((2, 2, 4)), GOOD),
    ),
    "beside a mask": (
        lambda x, m, i: x[m, i],
        (np.ones((2, 3)), np.array([True, True]), GOOD),
        (np.ones((2, 3)), np.array([True, True]), FAR),
    ),
    "take": (lambda x, i: np.take(x, i), (X, GOOD), (X, FAR)),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 0), (X, GOOD), (X, FAR)),
    "written": (_written, (X, GOOD), (X, FAR)),
    "added": (_added, (X, GOOD), (X, BELOW)),
    "embedding": (lambda w, i: tg.nn.embedding(i, w), (EYE, np.array([0, 1])), (EYE, GOOD)),
    "gradient": (tg.grad(lambda x, i: (x[i] ** 2).sum()), (X, GOOD), (X, FAR)),
    "cholesky": (np.linalg.cholesky, (EYE,), (-EYE,)),
    "one of a batch": (np.linalg.cholesky, (np.array([EYE, EYE]),), (np.array([EYE, -EYE]),)),
    "inv": (np.linalg.inv, (EYE,), (0.0 * EYE,)),
    "solve": (np.linalg.solve, (EYE, EYE), (0.0 * EYE, EYE)),
    "eigvals": (np.linalg.eigvals, (EYE,), (EYE * math.nan,)),
    "svd": (lambda x: np.linalg.svd(x)[1], (EYE,), (EYE * math.nan,)),
    "power": (lambda a, b: a**b, (np.arange(3), np.arange(3)), (np.arange(3), np.arange(3) - 1)),
}


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("f, good, bad", RAISED.values(), ids=RAISED)
def test_jax_raises_what_numpy_raises(f, good, bad):
    jnp = pytest.importorskip("jax.numpy")
    compiled = tg.compile(f, backend="jax")
    expected = tg.compile(f)(*good)
    with pytest.raises(Exception) as wanted:
        tg.compile(f)(*bad)
    for _ in range(3):
        for move in (np.asarray, jnp.asarray):
            assert_close(np.asarray(compiled(*map(move, good))), np.asarray(expected), 1e-12)
            with pytest.raises(type(wanted.value)) as raised:
                compiled(*map(move, bad))
            assert str(raised.value).splitlines()[0] == str(wanted.value).splitlines()[0]
    hits = compiled.cache_info().hits
    compiled(*good)
    assert compiled.cache_info().hits == hits + 1  # what raised cost no version


def test_jax_runs_what_the_function_catches():
    pytest.importorskip("jax")

    @tg.compile(backend="jax")
    def f(x, i):
        try:
            return x[i] * 2.0
        except IndexError:
            return x * 0.0

    for _ in range(2):
        assert f(X, GOOD).tolist() == [2.0, 6.0]
        assert f(X, FAR).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64"])
def test_integers_divided_by_zero(backend, dtype):
    a = np.array([5, 3, 0, 7]).astype(dtype)
    b = np.array([0, 1, 0, 2]).astype(dtype)
    for f in (lambda a, b: a // b, lambda a, b: a // 0, lambda a, b: 9 // b, lambda a, b: a // 2):
        expected, found = f(a, b), called_twice(f, a, b, backend=backend)
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
    if dtype != "bool":
        for f in (lambda a, b: a % b, lambda a, b: np.fmod(a, b)):
            assert np.array_equal(called_twice(f, a, b, backend=backend), f(a, b))


@pytest.mark.parametrize("n", range(5))
def test_polygamma_of_negative_numbers(backend, n):
    x = np.array([-0.5, -1.5, -2.3, -7.9, -20.25, -50.3, -100.001, 0.3, 2.0, 150.5, -1e-3])
    poles = np.array([0.0, -1.0, -7.0, math.inf])
    f = lambda x: tg.special.polygamma(n, x)
    scipy = pytest.importorskip("scipy.special")
    assert_close(called_twice(f, x, backend=backend) / scipy.polygamma(n, x), np.ones(11), 1e-9)
    assert_close(
        tg.grad(lambda x: f(x).sum(), backend=backend)(x) / scipy.polygamma(n + 1, x),
        np.ones(11),
        1e-9,
    )
    if n:
        assert np.array_equal(called_twice(f, poles, backend=backend), scipy.polygamma(n, poles))


def test_masks_of_two_branches_are_told_apart() -> None:
    """Twice the same mask was taken for that mask and another: their cotangents were added."""
    weights = (np.array(1.05), np.array(1.77))
    log: list[int] = []

    def smaller(x, y):
        low = np.minimum(x, y)
        return np.sum(0.034 * low * low)

    def along(x, y):
        log.append(1)  # the first call is answered by its own tape
        slopes = tg.grad(smaller, argnums=(0, 1))(x, y)
        return sum(np.sum(a * b) for a, b in zip(slopes, weights))

    made = tg.grad(along, argnums=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        for _ in range(3):
            found = made(np.array(0.12), np.array(-0.13))
            assert_close(found, (np.array(0.0), np.array(2 * 0.034 * 1.77)), 1e-14)


# -- powers ---------------------------------------------------------------------------------------


def by_counter(x):
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] ** (i // 2)
    return s


POWERS = {
    "counter": by_counter,
    "integers": lambda x: np.sum(x ** (np.arange(10) // 2)),
    "bools": lambda x: np.sum(-(x ** (np.arange(10) > 1))),
    "float_power": lambda x: np.sum(np.float_power(x, np.arange(10) // 2)),
}


@pytest.mark.parametrize("value", [1e-320, 5e-324, -1e-310, 0.0, -0.0, -2.0, np.nan, -np.inf])
@pytest.mark.parametrize("name", POWERS)
def test_whatever_is_raised_to_a_whole_zero_is_flat(name, value):
    x = np.full(10, 2.0)
    x[:2] = value
    gradient = tg.grad(POWERS[name])
    for compiles in (False, True, True):
        tg.config.compile = compiles
        found = gradient(x)[:2]
        assert found.tobytes() == np.zeros(2).tobytes()
    with np.errstate(all="ignore"):
        assert not np.any(tg.hessian(POWERS[name])(x)[:2])


def test_powers_of_whole_numbers_have_the_slopes_of_jax():
    jax = pytest.importorskip("jax")
    x, exponents = np.array([1e-3, -2.0, 0.0, 0.0, 3.0, -1.5]), np.array([0, 0, 0, 1, 3, 2])
    with jax.enable_x64(True):
        expected = jax.grad(lambda x: jax.numpy.sum(x**exponents))(x)
    found = tg.grad(lambda x: np.sum(x**exponents))(x)
    assert_close(found, np.asarray(expected), 1e-15)


def test_small_numbers_to_a_power_of_zero_that_is_no_integer():
    x, zero = np.array([1e-320, -1e-310, 2.0]), np.zeros(3)
    assert_close(tg.grad(lambda x: np.sum(x**zero))(x), zero, 0.0)
    slopes = tg.grad(lambda b: np.sum(tg.grad(lambda x: np.sum(x**b))(X_OF_POWERS)))(zero)
    assert_close(slopes, 1.0 / X_OF_POWERS, 1e-15)


X_OF_POWERS = np.array([1e-3, 2.0, 4.0])
