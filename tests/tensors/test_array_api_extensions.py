"""The Python array API standard, 2024.12: its special cases, its numbers beside arrays, `linalg`
and `fft`, and what it says must raise.

The special cases are those of the standard's text. The extensions are held against NumPy, which
has them under the same names, on shapes and dtypes that hypothesis draws, empty batches included.
"""

from __future__ import annotations

import math
import operator
import warnings

import numpy as np
import pytest
from checks import assert_close
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standard import (
    BINARY,
    COMPONENT,
    FFT,
    FLOATS,
    INTEGERS,
    LINALG,
    OF_BOOL,
    REAL,
    check_signature,
    function_of,
    numbers,
)

import tracegrad as tg

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
WIDER = {"float32": "complex64", "float64": "complex128"}
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-10, "complex128": 1e-10}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# -- special cases ------------------------------------------------------------------------------

SPECIAL = """
acos(2)=nan acos(-2)=nan acos(1)=0 acosh(0.5)=nan acosh(1)=0 acosh(inf)=inf
add(inf,-inf)=nan add(inf,inf)=inf add(inf,1)=inf add(1,-inf)=-inf add(-0.,-0.)=-0. add(-0.,0.)=0.
add(0.,0.)=0. add(2,-2)=0. subtract(0.,0.)=0. subtract(-0.,0.)=-0. subtract(inf,inf)=nan
asin(2)=nan asin(0.)=0. asin(-0.)=-0. asinh(-0.)=-0. asinh(-inf)=-inf atan(-0.)=-0. atan(inf)=pi/2
atan2(1,0.)=pi/2 atan2(1,-0.)=pi/2 atan2(0.,1)=0. atan2(0.,0.)=0. atan2(0.,-0.)=pi atan2(0.,-1)=pi
atan2(-0.,1)=-0. atan2(-0.,0.)=-0. atan2(-0.,-0.)=-pi atan2(-0.,-1)=-pi atan2(-1,0.)=-pi/2
atan2(1,inf)=0. atan2(1,-inf)=pi atan2(-1,inf)=-0. atan2(-1,-inf)=-pi atan2(inf,1)=pi/2
atan2(inf,inf)=pi/4 atan2(inf,-inf)=3*pi/4 atan2(-inf,inf)=-pi/4 atan2(-inf,-inf)=-3*pi/4
atanh(2)=nan atanh(1)=inf atanh(-1)=-inf atanh(-0.)=-0. ceil(-0.5)=-0. ceil(inf)=inf
copysign(nan,1)=nan copysign(2,-0.)=-2. copysign(-2,0.)=2. cos(-0.)=1. cos(inf)=nan
cosh(0.)=1. cosh(-inf)=inf divide(inf,inf)=nan divide(0.,0.)=nan divide(0.,-1)=-0. divide(1,0.)=inf
divide(1,-0.)=-inf divide(-1,0.)=-inf divide(inf,-1)=-inf divide(inf,-0.)=-inf divide(1,-inf)=-0.
divide(-1,-inf)=0. exp(-0.)=1. exp(inf)=inf exp(-inf)=0. expm1(-0.)=-0. expm1(-inf)=-1.
floor(-0.)=-0. floor(0.5)=0. floor(-inf)=-inf trunc(-0.5)=-0. round(-0.5)=-0. round(2.5)=2.
round(0.5)=0. round(-inf)=-inf floor_divide(inf,inf)=nan floor_divide(0.,0.)=nan
floor_divide(0.,-1)=-0. floor_divide(1,0.)=inf floor_divide(-1,0.)=-inf floor_divide(1,inf)=0.
floor_divide(1,-inf)=-1. floor_divide(-1,inf)=-1. floor_divide(-1,-inf)=0.
hypot(inf,nan)=inf hypot(nan,-inf)=inf hypot(nan,1)=nan hypot(0.,-2)=2. hypot(-0.,-0.)=0.
log(-1)=nan log(-0.)=-inf log(1)=0. log(inf)=inf log1p(-2)=nan log1p(-1)=-inf log1p(-0.)=-0.
log2(0.)=-inf log2(1)=0. log10(-1)=nan log10(inf)=inf logaddexp(nan,inf)=nan logaddexp(inf,1)=inf
maximum(nan,1)=nan maximum(1,nan)=nan minimum(nan,1)=nan minimum(1,nan)=nan
multiply(inf,0.)=nan multiply(-0.,inf)=nan multiply(inf,-inf)=-inf multiply(-1,0.)=-0.
nextafter(nan,1)=nan nextafter(1,nan)=nan pow(nan,0.)=1. pow(2,-0.)=1. pow(nan,1)=nan
pow(2,inf)=inf pow(2,-inf)=0. pow(1,inf)=1. pow(-1,-inf)=1. pow(0.5,inf)=0. pow(0.5,-inf)=inf
pow(inf,1)=inf pow(inf,-1)=0. pow(-inf,3)=-inf pow(-inf,2)=inf pow(-inf,-3)=-0. pow(-inf,-2)=0.
pow(0.,1)=0. pow(0.,-1)=inf pow(-0.,3)=-0. pow(-0.,2)=0. pow(-0.,-3)=-inf pow(-0.,-2)=inf
pow(-2,0.5)=nan reciprocal(-0.)=-inf remainder(inf,1)=nan remainder(1,0.)=nan remainder(0.,1)=0.
remainder(-0.,1)=0. remainder(0.,-1)=-0. remainder(-0.,-1)=-0. remainder(1,inf)=1.
remainder(1,-inf)=-inf remainder(-1,inf)=inf remainder(-1,-inf)=-1. sign(nan)=nan sign(-0.)=0.
sin(-0.)=-0. sin(-inf)=nan sinh(-0.)=-0. sinh(-inf)=-inf sqrt(-1)=nan sqrt(-0.)=-0. sqrt(inf)=inf
square(-inf)=inf tan(-0.)=-0. tan(inf)=nan tanh(-0.)=-0. tanh(inf)=1. tanh(-inf)=-1. abs(-0.)=0.
abs(-inf)=inf negative(0.)=-0. positive(-0.)=-0. isfinite(inf)=False isinf(-inf)=True
isnan(nan)=True signbit(-0.)=True signbit(0.)=False equal(nan,nan)=False not_equal(nan,nan)=True
less(nan,1)=False greater_equal(nan,1)=False equal(0.,-0.)=True isfinite(1)=True
"""

OF_COMPLEX = """
abs(complex(nan,inf))=inf abs(complex(-inf,nan))=inf abs(complex(nan,1))=nan
isinf(complex(nan,-inf))=True isfinite(complex(1,inf))=False isnan(complex(inf,nan))=True
exp(complex(0,0))=complex(1,0) exp(complex(-inf,1))=0 sqrt(complex(inf,nan))=complex(inf,nan)
sqrt(complex(1,inf))=complex(inf,inf) log(complex(inf,0))=complex(inf,0) sign(complex(0,0))=0
log(complex(1,inf))=complex(inf,pi/2) sinh(complex(0,0))=0 tanh(complex(0,0))=0 cos(complex(0,0))=1
"""


def cases(text: str) -> list[str]:
    return text.split()


def of_case(case: str, dtype: str) -> tuple[str, np.generic, object]:
    """A function's name, what it gives for the operands in a dtype, and what it should."""
    values = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "complex": complex}
    call, expected = case.split("=")
    name, arguments = call[:-1].split("(", 1)
    operands = eval(f"({arguments},)", values)
    found = getattr(tg, name)(*[tg.asarray(x, dtype=dtype) for x in operands])
    return name, found.numpy()[()], eval(expected, values)


def same_number(found: float, expected: float, dtype: str) -> bool:
    if math.isnan(expected):
        return math.isnan(found)
    close = math.isclose(found, expected, rel_tol=1e-6 if dtype == "float32" else 1e-15)
    return close and math.copysign(1.0, found) == math.copysign(1.0, expected)


@pytest.mark.parametrize("case", cases(SPECIAL))
def test_special_cases(case):
    """NaN, infinities and zeros of both signs, as the standard's text has them."""
    for dtype in REAL:
        _, found, expected = of_case(case, dtype)
        if isinstance(expected, bool):
            assert found.dtype == np.bool_ and bool(found) is expected
        else:
            assert found.dtype == np.dtype(dtype)
            assert same_number(float(found), expected, dtype), (found, expected)


@pytest.mark.parametrize("case", cases(OF_COMPLEX))
def test_special_cases_of_complex_numbers(case):
    for dtype, part in zip(("complex64", "complex128"), REAL, strict=True):
        _, found, expected = of_case(case, dtype)
        if isinstance(expected, bool):
            assert bool(found) is expected
        else:
            found, expected = complex(found), complex(expected)
            assert abs(found) == 0 or same_number(abs(found.real), abs(expected.real), part)
            assert abs(expected) == 0 or same_number(abs(found.imag), abs(expected.imag), part)
            assert abs(expected) or not abs(found)


def test_special_cases_of_reductions():
    none, nan = tg.zeros((0,)), tg.asarray([1.0, math.nan])
    assert (float(tg.sum(none)), float(tg.prod(none))) == (0.0, 1.0)
    assert math.isnan(tg.mean(none)) and math.isnan(tg.var(none))
    assert math.isnan(tg.std(tg.ones(2), correction=2.0))
    assert bool(tg.all(none)) and not bool(tg.any(none))
    for name in ("sum", "prod", "max", "min", "mean", "std", "var"):
        assert math.isnan(getattr(tg, name)(nan)), name
    assert bool(tg.any(nan)) and bool(tg.all(nan))


# -- numbers beside arrays ----------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_an_array_and_a_number(name):
    """The number takes the array's dtype, on either side."""
    for dtype in BINARY[name]:
        number = {"b": True, "u": 1, "i": 1, "f": 1.0, "c": 1j}[np.dtype(dtype).kind]
        x = tg.asarray(numbers(dtype))
        expected = "bool" if name in OF_BOOL else dtype
        for found in (getattr(tg, name)(x, number), getattr(tg, name)(number, x)):
            assert (found.dtype, found.shape) == (np.dtype(expected), x.shape), dtype
        if dtype in REAL:
            assert getattr(tg, name)(x, 1).dtype == np.dtype(expected)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_numbers_in_choices(dtype):
    x, mask = tg.asarray(numbers(dtype)), tg.asarray([True, False, True])
    for found in (tg.where(mask, x, 0), tg.where(mask, 0, x)):
        assert found.dtype == np.dtype(dtype)
    if np.dtype(dtype).kind != "c":
        for low, high in ((0, 1), (None, 2), (1, None), (x, 3), (None, None)):
            assert tg.clip(x, low, high).dtype == np.dtype(dtype)
    assert tg.result_type(x, 1) == np.dtype(dtype)
    if dtype in REAL:
        assert tg.result_type(x, 1.0, tg.int8) == tg.result_type(x, tg.int8)
        assert tg.result_type(x, 1j) == np.dtype(WIDER[dtype])


# -- linear algebra -----------------------------------------------------------------------------


@pytest.mark.parametrize("line", [f"linalg.{s}" for s in LINALG.strip().splitlines()])
def test_signatures_of_linalg(line):
    check_signature(tg.linalg, line.removeprefix("linalg."))


@pytest.mark.parametrize("line", [f"fft.{s}" for s in FFT.strip().splitlines()])
def test_signatures_of_fft(line):
    check_signature(tg.fft, line.removeprefix("fft."))


def test_the_extensions_are_whole():
    listed = [function_of(line).name for line in (LINALG + FFT).split("\n") if line]
    assert len(listed) == len(set(listed)) == 23 + 14


def random(data, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    made = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = made.normal(size=shape)
    return (x + 1j * made.normal(size=shape) if "complex" in dtype else x).astype(dtype)


def definite(data, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = random(data, (*shape, shape[-1]), dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shape[-1], dtype=dtype)


batches = st.sampled_from([(), (1,), (2,), (0,), (2, 1, 3)])
sides = st.integers(0, 3)
ORDERS = st.sampled_from([math.inf, -math.inf, 1, -1, 2, -2, "fro", "nuc"])

OF_DEFINITE = {
    "cholesky": {"upper": st.booleans()},
    "det": {},
    "eigvalsh": {},
    "inv": {},
    "slogdet": {},
}
"""Functions of positive definite matrices, so that all have an answer, and their arguments."""

OF_ANY = {
    "matrix_rank": {"rtol": st.none() | st.just(1e-2)},
    "matrix_transpose": {},
    "pinv": {"rtol": st.none() | st.just(1e-2)},
    "svdvals": {},
    "diagonal": {"offset": st.integers(-4, 4)},
    "trace": {"offset": st.integers(-4, 4)},
    "matrix_norm": {"ord": ORDERS, "keepdims": st.booleans()},
}
"""Functions of matrices of any shape, and their arguments."""


def agrees(found: object, expected: object, tolerance: float, what: str) -> None:
    several = found if isinstance(found, tuple) else (found,)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(several) == len(wanted), what
    for a, b in zip(several, wanted, strict=True):
        assert isinstance(a, tg.Tensor), what
        b = np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        assert_close(a, b, tolerance, tolerance, what)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_DEFINITE)
@few
@given(data=st.data())
def test_functions_of_positive_definite_matrices(name, dtype, data):
    x = definite(data, (*data.draw(batches), data.draw(sides)), dtype)
    how = data.draw(st.fixed_dictionaries(OF_DEFINITE[name]))
    found = getattr(tg.linalg, name)(tg.asarray(x), **how)
    expected = getattr(np.linalg, name)(x, **how)
    agrees(found, tuple(expected) if name == "slogdet" else expected, 10 * TOLERANCE[dtype], name)
    if name == "slogdet":
        assert found._fields == ("sign", "logabsdet")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_ANY)
@few
@given(data=st.data())
def test_functions_of_matrices(name, dtype, data):
    order = data.draw(st.fixed_dictionaries(OF_ANY[name]))
    least = 1 if "norm" in name else 0  # of no numbers there is no largest one
    shape = [data.draw(st.integers(least, 3)) for _ in range(2)]
    x = random(data, (*data.draw(batches), *shape), dtype)
    agrees(
        getattr(tg.linalg, name)(tg.asarray(x), **order),
        getattr(np.linalg, name)(x, **order),
        10 * TOLERANCE[dtype],
        name,
    )


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_decompositions(dtype, data):
    """Fields, dtypes and shapes; the parts make the matrix again."""
    batch, m, n = data.draw(batches), data.draw(sides), data.draw(sides)
    real, tolerance = np.dtype(COMPONENT.get(dtype, dtype)), 10 * TOLERANCE[dtype]
    x = random(data, (*batch, m, n), dtype)
    for mode, k in (("reduced", min(m, n)), ("complete", m)):
        q, r = made = tg.linalg.qr(tg.asarray(x), mode=mode)
        assert (made._fields, q.shape, r.shape) == (("Q", "R"), (*batch, m, k), (*batch, k, n))
        agrees(q @ r, x, tolerance, "qr")
    for full in (False, True):
        u, s, vh = made = tg.linalg.svd(tg.asarray(x), full_matrices=full)
        k = min(m, n)
        assert made._fields == ("U", "S", "Vh") and s.dtype == real
        assert u.shape == (*batch, m, m if full else k) and s.shape == (*batch, k)
        assert vh.shape == (*batch, n if full else k, n)
        agrees((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, tolerance, "svd")
    h = x @ np.conj(np.swapaxes(x, -1, -2))
    values, vectors = made = tg.linalg.eigh(tg.asarray(h))
    assert made._fields == ("eigenvalues", "eigenvectors") and values.dtype == real
    agrees(tg.asarray(h) @ vectors, (vectors * values[..., None, :]).numpy(), tolerance, "eigh")


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_systems_and_powers(dtype, data):
    batch, n, columns = data.draw(batches), data.draw(sides), data.draw(sides)
    a = definite(data, (*batch, n), dtype)
    b, v = random(data, (*batch, n, columns), dtype), random(data, (n,), dtype)
    tolerance = 10 * TOLERANCE[dtype]
    agrees(tg.linalg.solve(tg.asarray(a), tg.asarray(b)), np.linalg.solve(a, b), tolerance, "b")
    agrees(tg.linalg.solve(tg.asarray(a), tg.asarray(v)), np.linalg.solve(a, v), tolerance, "v")
    for power in (-2, 0, 1, 3):
        scaled = (a / max(n, 1) / 4).astype(dtype)
        expected = np.linalg.matrix_power(scaled, power)
        size = max(1.0, float(np.max(np.abs(expected), initial=0)))
        found = tg.linalg.matrix_power(tg.asarray(scaled), power) / size
        agrees(found, (expected / size).astype(dtype), 100 * tolerance, f"power {power}")


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_products_and_norms_of_vectors(dtype, data):
    batch, n, other = data.draw(batches), data.draw(sides), data.draw(sides)
    x, y = random(data, (*batch, n), dtype), random(data, (n,), dtype)
    tolerance, a, b = TOLERANCE[dtype], tg.asarray(x), tg.asarray(y)
    agrees(tg.linalg.vecdot(a, b), np.linalg.vecdot(x, y), tolerance, "vecdot")
    z = random(data, (other,), dtype)
    agrees(tg.linalg.outer(b, tg.asarray(z)), np.linalg.outer(y, z), tolerance, "outer")
    agrees(tg.linalg.tensordot(a, b, axes=1), np.tensordot(x, y, 1), tolerance, "tensordot")
    u, w = random(data, (*batch, 3), dtype), random(data, (3,), dtype)
    found = tg.linalg.cross(tg.asarray(u), tg.asarray(w), axis=-1)
    agrees(found, np.linalg.cross(u, w), tolerance, "cross")
    for order in (0, 1, 2, 3.5, -1, math.inf, -math.inf):
        if not x.size and order in (math.inf, -math.inf, -1):
            continue
        axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
        how = {"axis": axis, "ord": order, "keepdims": data.draw(st.booleans())}
        expected = np.linalg.vector_norm(x, **how)
        found = tg.linalg.vector_norm(a, **how)
        agrees(found, expected.astype(COMPONENT.get(dtype, dtype)), tolerance, f"norm {how}")


# -- Fourier transforms -------------------------------------------------------------------------

ONE_AXIS = {"fft": FLOATS[2:], "ifft": FLOATS[2:], "irfft": FLOATS[2:], "hfft": FLOATS[2:]}
ONE_AXIS |= {"rfft": REAL, "ihfft": REAL}
MANY_AXES = {"fftn": FLOATS[2:], "ifftn": FLOATS[2:], "irfftn": FLOATS[2:], "rfftn": REAL}
norms = st.sampled_from(["backward", "ortho", "forward"])


@pytest.mark.parametrize("name", ONE_AXIS)
@few
@given(data=st.data())
def test_transforms_along_an_axis(name, data):
    dtype = data.draw(st.sampled_from(ONE_AXIS[name]))
    x = random(data, (*data.draw(batches), data.draw(st.integers(2, 6))), dtype)
    axis = data.draw(st.sampled_from([i for i, n in enumerate(x.shape) if n > 1]))
    how = {"n": data.draw(st.none() | st.integers(2, 8)), "axis": axis, "norm": data.draw(norms)}
    expected = getattr(np.fft, name)(x, **how)
    agrees(getattr(tg.fft, name)(tg.asarray(x), **how), expected, TOLERANCE[dtype], f"{how}")
    assert expected.dtype == COMPONENT.get(dtype, dtype) if expected.dtype.kind == "f" else True


@pytest.mark.parametrize("name", MANY_AXES)
@few
@given(data=st.data())
def test_transforms_along_axes(name, data):
    dtype = data.draw(st.sampled_from(MANY_AXES[name]))
    x = random(data, tuple(data.draw(st.integers(2, 4)) for _ in range(3)), dtype)
    axes = data.draw(st.none() | st.permutations(range(3)).map(lambda p: tuple(p[:2])))
    s = None if axes is None else data.draw(st.none() | st.tuples(*[st.integers(2, 5)] * 2))
    how = {"s": s, "axes": axes, "norm": data.draw(norms)}
    expected = getattr(np.fft, name)(x, **how)
    agrees(getattr(tg.fft, name)(tg.asarray(x), **how), expected, TOLERANCE[dtype], f"{how}")


@few
@given(n=st.integers(1, 9), d=st.floats(0.1, 3.0), dtype=st.sampled_from([None, *REAL]))
def test_frequencies_and_shifts(n, d, dtype):
    for name in ("fftfreq", "rfftfreq"):
        expected = getattr(np.fft, name)(n, d).astype(dtype or "float64")
        agrees(getattr(tg.fft, name)(n, d=d, dtype=dtype), expected, 1e-6, name)
    x = np.arange(float(3 * n)).reshape(3, n)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1)):
            found = getattr(tg.fft, name)(tg.asarray(x), axes=axes)
            agrees(found, getattr(np.fft, name)(x, axes), 0.0, name)


# -- what must raise ----------------------------------------------------------------------------

X = tg.asarray(np.arange(12.0).reshape(3, 4))
RAISES = {
    "expand_dims, axis too large": (IndexError, lambda: tg.expand_dims(X, axis=3)),
    "expand_dims, axis too small": (IndexError, lambda: tg.expand_dims(X, axis=-4)),
    "squeeze": (ValueError, lambda: tg.squeeze(X, 0)),
    "index": (IndexError, lambda: X[3]),
    "reshape": (ValueError, lambda: tg.reshape(X, (5, 2))),
    "reshape, no copy": (ValueError, lambda: tg.reshape(X.T, (12,), copy=False)),
    "asarray, no copy": (ValueError, lambda: tg.asarray(X, dtype=tg.float32, copy=False)),
    "asarray of a list, no copy": (ValueError, lambda: tg.asarray([1, 2], copy=False)),
    "broadcast_to": (ValueError, lambda: tg.broadcast_to(X, (2, 4))),
    "matmul of a number": (Exception, lambda: tg.matmul(tg.asarray(1.0), X)),
    "matmul": (Exception, lambda: tg.matmul(X, X)),
    "vecdot": (Exception, lambda: tg.vecdot(X, tg.ones((5,)))),
    "outer": (Exception, lambda: tg.linalg.outer(X, X)),
    "cross": (Exception, lambda: tg.linalg.cross(tg.ones((2,)), tg.ones((2,)))),
    "mT": (Exception, lambda: tg.ones((2,)).mT),
    "cumulative_sum": (ValueError, lambda: tg.cumulative_sum(X)),
    "argmax": (ValueError, lambda: tg.argmax(tg.zeros((0,)))),
    "max": (ValueError, lambda: tg.max(tg.zeros((0,)))),
    "nonzero": (Exception, lambda: tg.nonzero(tg.asarray(1))),
    "concat": (Exception, lambda: tg.concat([])),
    "isdtype": ((ValueError, TypeError), lambda: tg.isdtype(tg.int8, "whole")),
    "bool": (Exception, lambda: bool(X)),
    "int of nan": (ValueError, lambda: int(tg.asarray(math.nan))),
    "int of inf": (OverflowError, lambda: int(tg.asarray(math.inf))),
    "float of complex": (TypeError, lambda: float(tg.asarray(1j))),
    "index of a float": (TypeError, lambda: operator.index(tg.asarray(1.0))),
}


@pytest.mark.parametrize("name", RAISES)
def test_what_must_raise(name):
    error, call = RAISES[name]
    with pytest.raises(error):
        call()
