"""Calls whose dtypes, edges and errors users know from NumPy and SciPy: here they are the same.

What the plain call gives is what is to be found: the kind of the result, its dtype and its numbers,
or the class of the exception.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import numpy_cases
import pytest
import scipy.linalg as sl
import scipy.special as sp
import scipy.stats as st

import tracegrad as tg

OPERANDS = {
    "v": np.array([1.0, -0.3, 2.0, 0.5]),
    "x": np.array([[1.0, -2.0], [0.5, 3.0]]),
    "f": np.array([1.0, -0.3, 2.0, 0.5], np.float32),
    "g": np.array([[1.0, -2.0], [0.5, 3.0]], np.float32),
    "p": np.array([0.2, 0.9, 1.7, 2.5]),
    "q": np.array([0.2, 0.9, 1.7, 2.5], np.float32),
    "h": np.array([1.0, -0.3, 2.0, 0.5], np.float16),
    "n": np.array([1.0, np.nan, 2.0]),
    "big": np.array([1.0, np.inf]),
    "u": np.array([3, 1, 2, 7], np.uint8),
    "i": np.array([3, 1, 2, 7]),
    "b": np.array([True, False, True, True]),
    "z": np.array([1.0, -0.3, 2.0, 0.5]) + 1j,
    "s": np.array([[2.0, 0.5], [0.5, 3.0]]),
    "r": np.ones((2, 3)),
    "none": np.zeros((3, 0)),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3) - 2.0),
}
NAMES = {"np": np, "sl": sl, "sp": sp, "st": st}

VALUES = """
np.vectorize(lambda a: 1 if a > 0 else a)(v)
np.vectorize(lambda a: True if a > 0 else a)(v)
np.vectorize(lambda a: a if a > 0 else 0)(f)
np.vectorize(lambda a: 1 if a > 0 else 2.5)(v)
np.vectorize(lambda a: 2.5 if a > 0 else 1)(v)
np.vectorize(lambda a: (1 if a > 0 else a, a))(v)
np.vectorize(lambda a: 1 if a > 0 else a, otypes=[float])(v)
np.vectorize(lambda a: a, otypes=[float])(x[:0])
np.logical_and.accumulate(v)
np.logical_or.accumulate(v - 1.0)
np.logical_xor.accumulate(x, axis=1)
np.logical_xor.accumulate(i)
np.nanstd(big)
np.nanvar(big)
np.nanvar(n, ddof=3)
np.nanvar(n, ddof=2)
np.nanvar(x, ddof=2, axis=0)
np.nanstd(x, ddof=3, axis=0)
np.nanvar(i, ddof=4)
np.nanvar(z, ddof=4)
np.nanvar(none, axis=1)
np.cov(none)
np.cov(v, ddof=9)
np.cov(x, ddof=2)
np.cov(v, fweights=[1, 1, 0, 0], ddof=3)
np.cov(x, aweights=[1.0, 2.0], ddof=3)
np.cov(g)
np.corrcoef(g)
np.average(u, weights=f)
np.average(b, weights=f)
np.average(f, weights=i)
np.average(h, weights=u)
np.average(np.ones((2, 3, 2)) * p[:3, None], axis=(2, 1), weights=r + p[:3])
np.piecewise(x, x > 0, [1, 2])
np.piecewise(x, [x > 0], [1])
np.piecewise(x, np.array([True, False]), [7])
np.piecewise(x, np.stack([x > 0, x < 0]), [1, 2])
np.piecewise(v, [True, False, True, False], [1])
np.piecewise(n, n > 1, [1])
np.ediff1d(f, to_end=9)
np.ediff1d(f, to_end=np.ones(2))
np.ediff1d(i, to_begin=9)
np.ldexp(f, 3)
np.ldexp(f, i)
np.ldexp(u, 2)
np.ldexp(v, i)
np.dot(f, 3)
np.dot(3, f)
np.dot(g, 3.0)
np.dot(u, 3)
np.inner(f, 3)
np.multiply.outer(f, 2)
np.add.outer(u, 2)
np.tensordot(f, 3, 0)
np.tensordot(3, g, 0)
np.tensordot(f, 2.0, 0)
np.choose([0, 1, 0, 1], [f, 0.5])
np.choose([0, 1, 0, 1], [u, 1])
np.select([f > 0, f < 0], [f, 2])
np.polyfit(q, f, 2)
np.polyfit(p, f, 1)
np.percentile(i, [20, 50], method="lower")
np.percentile(i, [20, 50], method="nearest")
np.percentile(u, 30, method="higher")
np.percentile(b, 30, method="lower")
np.percentile(i, [20, 50], method="inverted_cdf")
np.nanpercentile(i, [20, 50], method="nearest")
np.quantile(f, [0.2, 0.5], method="lower")
np.quantile(f, [0.2, 0.5], method="higher")
np.quantile(f, [0.2, 0.5], method="nearest")
np.nanquantile(f, [0.2, 0.5], method="lower")
np.quantile(v, 0.4, weights=p, method="inverted_cdf")
np.vander(u, 2)
np.vander(f, 3)
np.vander(h, 3, increasing=True)
np.poly(h)
np.modf(u)
np.geomspace(q[0], q[1], 3)
np.linalg.lstsq(r.T, np.ones(3))[2]
np.linalg.solve(g, i[:2])
np.histogram(h, 4)
np.histogram_bin_edges(h, 3)
np.histogramdd(x, 2)
np.bitwise_or.reduce(i)
np.bitwise_and.reduce(i)
np.bitwise_xor.reduce(i[:0])
np.gcd.reduce(i)
np.lcm.reduce(i)
np.logical_xor.reduce(x, axis=1)
np.fmax.reduce(n)
np.fmin.reduce(x, axis=1)
np.subtract.reduce(x, axis=1, keepdims=True)
np.divide.reduce(v)
np.divide.reduce(v, initial=2.0)
np.divide.reduce(i)
np.hypot.reduce(x, axis=(0, 1))
np.hypot.reduce(v[1:2])
np.hypot.reduce(v[:0])
np.copysign.reduce(v)
np.subtract.reduceat(v, [0, 2])
np.hypot.reduceat(v, [1, 2])
np.bitwise_or.reduceat(i, [0, 2])
np.logical_xor.reduceat(v, [0, 2])
sp.gammainc(1.5, q)
sp.gammaincc(1.5, q)
sp.gammainc(2, q)
sp.beta(1.5, q)
sp.xlogy(2, q)
sp.betainc(1, 2, q / 3)
sp.polygamma(1, q)
sp.multigammaln(q + 2, 2)
sp.jv(1, q)
sp.yv(1, q)
sp.ive(1, q)
sp.jv(i, q)
sp.jv(u, q)
sp.stdtr(3, q)
sl.det(g)
sl.norm(s, 1)
sl.norm(g)
st.norm.cdf(q)
st.norm.sf(q)
st.norm.logcdf(q)
st.norm.ppf(q / 3)
st.norm.logpdf(q, 1, 2)
st.norm.logpdf(q, np.float32(1), np.float32(2))
st.norm.logpdf(h)
st.expon.cdf(q)
st.cauchy.cdf(q)
st.logistic.cdf(q)
st.uniform.cdf(q)
st.beta.cdf(q / 3, 2.0, 3.0)
st.multivariate_normal.pdf(f[:2], np.zeros(2, np.float32), g @ g.T)
st.dirichlet.logpdf([0.2, 0.8], p[:2])
"""

RAISED = """
np.average(v, weights=np.zeros(4))
np.average(x, axis=0, weights=[1.0, -1.0])
np.average(x, weights=v[:2])
np.piecewise(x, x > 0, [1])
np.ediff1d(i, to_end=9.5)
np.ldexp(1.0, h)
np.ldexp(v, 1.0)
np.greater.accumulate(v)
np.subtract.reduce(x, axis=(0, 1))
np.subtract.reduce(v[:0])
np.bitwise_or.reduce(v)
np.quantile(b, 0.5)
np.linalg.inv(r)
np.linalg.solve(r, v[:2])
np.linalg.det(r)
np.linalg.det(v)
np.linalg.cholesky(r)
np.linalg.eigh(r)
np.linalg.eigvals(r)
np.linalg.matrix_power(r, 2)
np.linalg.svd(v)
np.linalg.qr(v)
np.linalg.pinv(v)
np.linalg.lstsq(r, v)
np.linalg.tensorsolve(r, v)
np.linalg.norm(x, 9)
np.linalg.norm(v, "fro")
np.linalg.norm(x, axis=(0, 0))
np.linalg.matrix_norm(v)
np.linalg.multi_dot([v])
np.quantile(v, 1.5)
np.percentile(v, -1)
np.quantile(v, 0.5, method="foo")
np.quantile(v, 0.5, weights=p)
np.pad(v, 1, mode="foo")
np.diff(v, n=-1)
np.select([v > 0], [v, v])
np.select([v], [v])
np.gradient(v[:1], axis=0)
np.gradient(v[:2], edge_order=2)
np.gradient(v, edge_order=3)
np.searchsorted(v, v, side="foo")
np.take(v, [0], mode="foo")
np.interp(v, p, p, period=0)
np.histogram(v, bins="foo")
np.convolve(v, v, mode="foo")
np.polyfit(v, v, -1)
np.polyfit(x, v, 1)
np.polyder(v, -1)
np.cov(v, ddof=1.5)
np.meshgrid(v, v, indexing="foo")
np.fft.fft(v, norm="foo")
np.vectorize(lambda a: a)(x[:0])
np.vectorize(lambda a: 1 if a > 1 else np.sqrt(a))(v[[2, 1]])
np.vectorize(lambda a: 1 if a > 1 else a + 1j)(v[[2, 1]])
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def function_of(call: str) -> tuple[Any, list[np.ndarray]]:
    """A call as a function of its operands, and these."""
    used = [name for name in OPERANDS if re.search(rf"(?<![\w.\"]){name}(?![\w\"])", call)]
    f = eval(f"lambda {', '.join(used)}: {call}", dict(NAMES))  # the calls stand above
    return f, [OPERANDS[name].copy(order="K") for name in used]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def assert_alike(found: Any, plain: Any) -> None:
    """The same kinds, dtypes and shapes, and the same numbers but for last bits."""
    if isinstance(plain, tuple | list):
        assert type(found) is type(plain) and len(found) == len(plain)
        for one, other in zip(found, plain, strict=True):
            assert_alike(one, other)
        return
    assert isinstance(found, np.ndarray) == isinstance(plain, np.ndarray), type(found)
    assert np.asarray(found).dtype == np.asarray(plain).dtype
    assert np.shape(found) == np.shape(plain)
    exact = np.asarray(plain).dtype.itemsize >= 8
    np.testing.assert_allclose(found, plain, rtol=1e-7 if exact else 1e-3)


def exception_of(f: Any, *args: Any) -> BaseException:
    with pytest.raises(Exception) as error:
        f(*args)
    return error.value


@pytest.mark.parametrize("call", lines(VALUES))
def test_compiled_calls_give_what_numpy_gives(call):
    f, arrays = function_of(call)
    made = tg.compile(f)
    for _ in range(2):
        assert_alike(made(*arrays), f(*arrays))
    assert made.cache_info().versions == 1, made.explain()


@pytest.mark.parametrize("call", [c for c in lines(VALUES) if c.startswith("np.")])
def test_tensors_have_the_dtypes_of_numpy(call):
    f, arrays = function_of(call)

    def numbers(x: Any) -> Any:
        if isinstance(x, tuple | list):
            return type(x)(map(numbers, x))
        x = x._array if isinstance(x, tg.Tensor) else x
        return x[()] if isinstance(x, np.ndarray) else x

    assert_alike(numbers(f(*map(tg.tensor, arrays))), numbers(f(*arrays)))


@pytest.mark.parametrize("call", lines(RAISED))
def test_a_clause_that_names_the_class_of_numpy_catches_the_error(call):
    f, arrays = function_of(call)
    raised = exception_of(f, *arrays)
    kind = next(k for k in type(raised).__mro__ if not k.__name__.startswith(("_", "UFunc")))
    made = tg.compile(f)
    for _ in range(2):
        assert isinstance(exception_of(made, *arrays), kind)
    assert isinstance(exception_of(f, *map(tg.tensor, arrays)), kind)


# -- looks at values ------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("mode", [tg.compile, tg.value_and_grad])
def test_weights_that_sum_to_zero_take_the_handler(mode, first):
    """In each call anew, whatever the first one did."""

    def f(x, w):
        try:
            return np.average(x, weights=w)
        except ZeroDivisionError:
            return x[0] * 7.0

    x, weights = np.array([1.0, 2.0]), [np.array([1.0, 3.0]), np.array([1.0, -1.0])]
    made = mode(f)
    for k in (first, 1 - first, first, 1 - first):
        found = made(x, weights[k])
        value, gradient = found if mode is tg.value_and_grad else (found, None)
        assert value == f(x, weights[k])
        if gradient is not None:
            assert gradient.tolist() == [[0.25, 0.75], [7.0, 0.0]][k]


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh"])
@pytest.mark.parametrize("first", [0, 1])
def test_matrices_that_are_not_square_take_the_handler(name, first):
    def f(x):
        try:
            return getattr(np.linalg, name)(x).sum()
        except np.linalg.LinAlgError:
            return x.sum()

    matrices = [np.array([[2.0, 0.5], [0.5, 3.0]]), np.ones((2, 3))]
    made = tg.compile(f)
    for k in (first, 1 - first, first, 1 - first):
        assert made(matrices[k]) == f(matrices[k])


# -- gradients ------------------------------------------------------------------------------------


def test_truth_carries_no_gradient():
    v = OPERANDS["v"]
    for ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        found = tg.grad(lambda x: np.sum(ufunc.accumulate(x) * 1.0) + np.sum(x))(v)  # noqa: B023
        assert found.tolist() == [1.0] * 4


def test_results_of_a_vectorized_function_in_whole_numbers_carry_no_gradient():
    f = np.vectorize(lambda a: 1 if a > 0 else 2.5)
    value, gradient = tg.value_and_grad(lambda x: np.sum(f(x) * x))(OPERANDS["v"])
    assert value == np.sum(f(OPERANDS["v"]) * OPERANDS["v"])
    assert gradient.tolist() == [1.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("call", ["np.tensordot(3, x, 0)", "np.tensordot(x, 2.0, 0)"])
def test_tensordot_with_a_number_has_a_gradient(call):
    f, (x,) = function_of(call)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        found = tg.grad(lambda x: np.sum(f(x)))(x)
    assert found.tolist() == np.full((2, 2), f(np.array(1.0))).tolist()


@pytest.mark.parametrize("argnum", [0, 1, 2])
def test_interpolated_complex_numbers_have_gradients(argnum, monkeypatch):
    args = np.array([0.5, 1.5]), np.array([0.0, 1.0, 2.0]), np.array([1 + 1j, 2.0, 3 - 1j])

    def f(x, xp, fp):
        return np.sum(np.abs(np.interp(x, xp, fp)) ** 2)

    expected = [[2.0, 6.0], [-1.0, -4.0, -3.0], [1.5 - 0.5j, 4.0, 2.5 + 0.5j]][argnum]
    compiled = tg.grad(f, argnums=argnum)(*args)
    np.testing.assert_allclose(compiled, expected, rtol=1e-12)
    monkeypatch.setattr(tg.config, "compile", False)
    np.testing.assert_array_equal(tg.grad(f, argnums=argnum)(*args), compiled)


def test_folds_have_gradients():
    v = OPERANDS["v"]
    found = tg.grad(lambda x: np.subtract.reduce(x))(v)
    assert found.tolist() == [1.0, -1.0, -1.0, -1.0]
    found = tg.grad(lambda x: np.hypot.reduce(x))(v)
    np.testing.assert_allclose(found, v / np.linalg.norm(v), rtol=1e-12)


# -- other things that NumPy does -----------------------------------------------------------------


def test_a_vectorized_function_keeps_the_memory_order():
    made = tg.compile(np.vectorize(lambda a: a * 2.0))
    for x in (OPERANDS["columns"], np.arange(6.0).reshape(2, 3)):
        assert made(x).strides == x.strides


def test_margins_that_hold_anything():
    found = tg.compile(lambda x: np.pad(x, 1, mode="empty"))(OPERANDS["v"])
    assert found.shape == (6,)
    assert found[1:-1].tolist() == OPERANDS["v"].tolist()


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_reductions_that_numpy_gets_wrong_on_some_processors_are_refused(name):
    with pytest.raises(tg.errors.TracegradError, match=rf"np\.{name}\.reduce"):
        getattr(np, name).reduce(tg.tensor([1.0, 2.0]))


NARROW = ("float32", "float16", "int8", "bool")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("call", numpy_cases.calls())
def test_type_rules_know_what_narrow_operands_give(call, dtype):
    """A trace compares each value with the type rule of its op."""
    used = numpy_cases.used(call)
    f = eval(f"lambda {', '.join(used)}: {call}", {"np": np, "bool": bool})
    operands = [numpy_cases.OPERANDS[name] for name in used]
    arrays = [x.astype(dtype) if x.dtype == np.float64 else x.copy() for x in operands]
    try:
        tg.compile(f)(*arrays)
    except tg.errors.TraceError as error:
        assert "type rule" not in str(error)
    except Exception:
        pass  # other tests ask what is raised
