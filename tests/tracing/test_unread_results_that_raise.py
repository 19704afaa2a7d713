"""What may raise runs although nothing reads its results, in programs and in their derivatives."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tracegrad as tg

GOOD, BAD = 2.0 * np.eye(3), -np.eye(3)
X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def quiet():
    """A call that raises in a program runs eagerly, and a warning says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        yield


def outcome(call, *args):
    """What a call gives, or the kind of its error."""
    try:
        found = call(*args)
    except (ArithmeticError, ValueError, IndexError) as error:
        kinds = (np.linalg.LinAlgError, IndexError, OverflowError, ZeroDivisionError, ValueError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return np.asarray(found).tolist()


def value_of(both):
    return lambda *args: both(*args)[0]


def eager_gradient(f):
    def gradient(x, *rest):
        leaf = tg.tensor(x, requires_grad=True)
        f(leaf, *rest).backward()
        return np.zeros_like(x) if leaf.grad is None else leaf.grad.numpy()

    return gradient


def agrees(f, calls):
    """Programs, gradients alone, and calls with Tensors are what plain Python is, in any order."""
    for order in (calls, calls[::-1], [*calls, *calls]):
        compiled, gradient = tg.compile(f), tg.grad(f)
        both, of_tensors = tg.value_and_grad(f), eager_gradient(tg.compile(f))
        for args in order:
            value, slope = outcome(f, *args), outcome(eager_gradient(f), *args)
            assert outcome(compiled, *args) == value
            assert outcome(gradient, *args) == slope
            assert outcome(value_of(both), *args) == value
            assert outcome(of_tensors, *args) == slope


# -- what is caught -----------------------------------------------------------------------------

CAUGHT = {
    "cholesky": lambda x, m: np.linalg.cholesky(m),
    "inv": lambda x, m: np.linalg.inv(m + np.eye(3)),
    "solve": lambda x, m: np.linalg.solve(m + np.eye(3), X),
    "eigvalsh": lambda x, m: np.linalg.eigvalsh(m * np.where(m[0, 0] < 0, np.nan, 1.0)),
    "svd": lambda x, m: np.linalg.svd(m * np.where(m[0, 0] < 0, np.nan, 1.0)),
    "lstsq": lambda x, m: np.linalg.lstsq(m * np.where(m[0, 0] < 0, np.nan, 1.0), X)[0],
    "int of nan": lambda x, m: int(np.where(m[0, 0] < 0, np.nan, 1.0)),
    "index": lambda x, m: x[np.array([int(m[0, 0] < 0) * 20])],
    "element": lambda x, m: x[int(m[0, 0] < 0) * 20],
    "add at": lambda x, m: np.add.at(x.copy(), np.array([int(m[0, 0] < 0) * 20]), 1.0),
    "argmax": lambda x, m: np.argmax(x[x > 100 * (m[0, 0] < 0)]),
    "max": lambda x, m: x[x > 100 * (m[0, 0] < 0)].max(),
    "min": lambda x, m: np.min(x[x > 100 * (m[0, 0] < 0)]),
    "power": lambda x, m: np.power(2, -int(m[0, 0] < 0)),
    "divide": lambda x, m: 1 // int(m[0, 0] > 0),
    "log": lambda x, m: math.log(m[0, 0]),
}


def where_caught(raising):
    def f(x, m):
        try:
            raising(x, m)
        except (ValueError, ArithmeticError, IndexError):
            return -x.sum()
        return x.sum()

    return f


def in_a_helper(raising):
    def works(x, m):
        try:
            raising(x, m)
            return True
        except (ValueError, ArithmeticError, IndexError):
            return False

    def f(x, m):
        return x.sum() if works(x, m) else 3.0 * x.sum()

    return f


def by_a_flag(raising):
    def f(x, m):
        fails = True
        try:
            raising(x, m)
            fails = False
        except (ValueError, ArithmeticError, IndexError):
            pass
        if fails:
            return (x * x).sum()
        return x.sum()

    return f


def in_turns(raising):
    def f(x, m):
        s = x.sum()
        for _ in range(9):
            try:
                raising(x, m)
            except (ValueError, ArithmeticError, IndexError):
                s = s + 1.0
        return s

    return f


@pytest.mark.parametrize("form", [where_caught, in_a_helper, by_a_flag, in_turns])
@pytest.mark.parametrize("name", CAUGHT)
def test_what_the_function_catches_is_raised(name, form):
    agrees(form(CAUGHT[name]), [(X, GOOD), (X, BAD)])


def is_positive(m):
    try:
        np.linalg.cholesky(m)
        return True
    except np.linalg.LinAlgError:
        return False


def with_jitter(x, m):
    tau = 0.0
    while not is_positive(m + tau * np.eye(3)):
        tau = max(2.0 * tau, 0.5)
    return tau * x.sum()


def with_retries(x, m):
    tries = 0
    while True:
        try:
            np.linalg.cholesky(m)
        except np.linalg.LinAlgError:
            m, tries = m + np.eye(3), tries + 1
            continue
        break
    return (1.0 + tries) * x.sum()


def until_it_works(x, m):
    for i in range(9):
        if is_positive(m + i * np.eye(3)):
            break
        x = x * 0.5
    return x.sum()


def around_a_loop(x, m):
    try:
        for i in range(9):
            np.linalg.cholesky(m)
            if x[i % 3] > 5.0:
                break
    except np.linalg.LinAlgError:
        return -x.sum()
    return x.sum()


def read_in_another_arm(x, m):
    s = 0.0 * x[0]
    for i in range(9):
        try:
            factor = np.linalg.cholesky(m)
        except np.linalg.LinAlgError:
            s = s + 1.0
            continue
        if x[i % 3] > 0.0:
            s = s + factor[0, 0] * x[i % 3]
    return s


def read_by_the_value_alone(x, m):
    try:
        c = np.linalg.cholesky(m)[0, 0]
    except np.linalg.LinAlgError:
        return -x.sum()
    return x.sum() + c


def suppressed(x, m):
    from contextlib import suppress

    s = x.sum()
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(m)
        s = 2.0 * s
    return s


@pytest.mark.parametrize(
    "f",
    [
        *(with_jitter, with_retries, until_it_works, around_a_loop, read_in_another_arm),
        *(read_by_the_value_alone, suppressed),
    ],
)
def test_ways_to_go_on(f):
    agrees(f, [(X, GOOD), (-X, GOOD), (X, BAD), (-X, BAD)])


def logarithm_of_array(x, m):
    try:
        np.log(m[0, 0] * x)
    except FloatingPointError:
        return -x.sum()
    return x.sum()


def quotients(x, m):
    s = 0.0 * x[0]
    for i in range(9):
        try:
            1.0 / (m[0, 0] + x[i % 3] * x[i % 3])
        except FloatingPointError:
            s = s + 1.0
            continue
        s = s + x[i % 3]
    return s


def total(x, m):
    try:
        np.exp(-1000.0 * m).sum()
    except FloatingPointError:
        x = 2.0 * x
    return x.sum()


@pytest.mark.parametrize("f", [logarithm_of_array, quotients, total])
def test_floating_point_errors_that_the_caller_wants(f):
    with np.errstate(all="ignore"):
        agrees(f, [(X, GOOD), (X, BAD)])
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        agrees(f, [(X, GOOD), (X, BAD)])


def test_what_is_ignored_within_a_try_is_left_out():
    def f(x):
        try:
            with np.errstate(all="ignore"):
                return np.exp(x).sum() + np.log(x).sum()
        except FloatingPointError:
            return x.sum()

    lines = tg.grad(f).source(X).splitlines()
    assert not any("np.log(" in line and "#" not in line for line in lines)


# -- what nobody catches ------------------------------------------------------------------------


def unread(x, m):
    np.linalg.cholesky(m)
    return x.sum()


def before_a_loop(x, m):
    np.linalg.inv(m + np.eye(3))
    for i in range(9):
        if x[i % 3] < 0.0:
            return x.sum()
    return 2.0 * x.sum()


def in_a_loop(x, m):
    s = 0.0 * x[0]
    for i in range(9):
        np.linalg.cholesky(m)
        if x[i % 3] < 2.5:
            continue
        s = s + x[i % 3]
    return s


def in_one_arm(x, m):
    s = 0.0 * x[0]
    for i in range(9):
        if x[i % 3] > 2.5:
            np.linalg.cholesky(m)
        s = s + x[i % 3]
    return s


def in_a_dead_loop(x, m):
    w = m + np.eye(3)
    for _ in range(9):
        w = np.linalg.inv(w)
    return x.sum()


def logarithm(x, m):
    math.log(m[0, 0])
    return x.sum()


def root_in_turns(x, m):
    s = 0.0 * x[0]
    for i in range(9):
        math.sqrt(m[0, 0])
        s = s + x[i % 3]
    return s


def exponential(x, m):
    if x[0] > 0.0:
        math.exp(-1000.0 * m[0, 0])
    return x.sum()


@pytest.mark.parametrize(
    "f",
    [
        *(unread, before_a_loop, in_a_loop, in_one_arm, in_a_dead_loop, logarithm, root_in_turns),
        exponential,
    ],
)
def test_what_nobody_catches_is_raised(f):
    agrees(f, [(X, GOOD), (-X, GOOD), (X, BAD), (-X, BAD)])


def test_exceptions_in_batches_and_forward_mode():
    f = read_by_the_value_alone
    for m in (GOOD, BAD, GOOD):
        slope = np.full(3, f(np.ones(3), m) - f(np.zeros(3), m)) / 3.0
        assert tg.jvp(f, (X, m), (X, 0.0 * m))[1] == slope @ X
        np.testing.assert_allclose(tg.jacobian(f)(X, m), slope)
        np.testing.assert_allclose(tg.jacfwd(f)(X, m), slope)
        np.testing.assert_allclose(tg.hessian(lambda x, m: f(x * x, m))(X, m), 2 * np.diag(slope))


def test_each_program_keeps_what_it_alone_may_raise():
    """Of two functions that differ in a handler alone, and in nothing that their programs read."""

    def caught(x, i):
        try:
            x[i]
        except IndexError:
            return -x.sum()
        return x.sum()

    def uncaught(x, i):
        x[i]
        return x.sum()

    i, far = np.array([0]), np.array([7])
    for f in (uncaught, caught, uncaught, caught):
        tg.compile(f)(X, i)
    compiled = tg.compile(caught)
    assert compiled(X, i) == 6.0
    assert compiled(X, far) == -6.0


def test_what_a_derivative_computes_again_is_no_work_of_its_own():
    """A backward keeps what its forward has done, and gradients of matrices solve what they did."""

    def f(b, m):
        y = np.linalg.solve(m, b)
        return (y * y).sum()

    lines = tg.grad(f).source(X, GOOD).splitlines()
    assert sum("np.linalg.solve(" in line and "#" not in line for line in lines) == 2
    text = tg.grad(lambda m: np.linalg.slogdet(m)[1]).source(GOOD)
    assert "np.linalg.slogdet(" not in text.replace("np.linalg.slogdet(m)[1]", "")
    text = tg.compile(lambda m: np.linalg.lstsq(m, X)[0]).source(GOOD)
    assert "np.linalg.lstsq(" in text and "matrix_rank" not in text and "svd" not in text


def test_the_line_of_an_exception_that_was_caught_is_told():
    def f(x, m):
        try:
            np.linalg.cholesky(m)
        except np.linalg.LinAlgError:
            return -x.sum()
        return x.sum()

    compiled = tg.compile(f)
    told = r"(?s)an exception in cholesky, which it caught, at .*that_raise.py:\d+  np.linalg.chol"
    with pytest.warns(tg.errors.RecompileWarning, match=told):
        assert [compiled(X, BAD) for _ in range(2)] == [-6.0, -6.0]


def test_an_index_error_names_no_op():
    for index in (7, np.array([7])):
        with pytest.raises(IndexError, match=r"^index 7 is out of bounds"):
            tg.tensor(X)[index]


OF_NUMBERS = {
    "power": lambda n: np.power(2, -int(n)),
    "power of n": lambda n: np.power(int(n), -1),
    "divide": lambda n: np.divide(1, int(n)),
    "floor_divide": lambda n: np.floor_divide(1, int(n)),
    "remainder": lambda n: np.remainder(1, int(n)),
    "divmod": lambda n: np.divmod(1, int(n))[0],
    "left_shift": lambda n: np.left_shift(1, int(n) - 1),
    "right_shift": lambda n: np.right_shift(1, -int(n)),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("order", [(0.0, 1.0), (1.0, 0.0)])
def test_functions_of_numpy_take_numbers_of_python_as_numpy_does(name, order):
    """They raise where NumPy does, and give infinities where only Python would raise."""

    def f(x, n):
        return x.sum() * OF_NUMBERS[name](n)

    compiled, gradient = tg.compile(f), tg.value_and_grad(f)
    with np.errstate(all="ignore"):
        for n in map(np.float64, (*order, *order)):
            expected = outcome(f, X, n)
            for call in (compiled, value_of(gradient)):
                np.testing.assert_equal(outcome(call, X, n), expected)
