"""NumPy's own inner loops, called from outside NumPy and from machine code of numba: their bits."""

import ctypes
import importlib.util

import numpy as np
import pytest

from tracegrad.backends import numba_functions, ufunc_pointers
from tracegrad.backends.ufunc_pointers import inner_loop

has_numba = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not has_numba, reason="numba is not installed")
every_name = pytest.mark.parametrize("name", numba_functions.UNARY + numba_functions.BINARY)
every_dtype = pytest.mark.parametrize("dtype", numba_functions.DTYPES)
POINTS = 100_000


def operands(name, dtype):
    """Points of all sizes, signs and kinds, for each operand of a ufunc."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=POINTS) * 10.0 ** rng.integers(-9, 9, POINTS)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 709.9]
    points[:: POINTS // len(special)] = special
    points[1::3] = rng.uniform(-1.0, 1.0, len(points[1::3]))
    count = 1 if name in numba_functions.UNARY else 2
    with np.errstate(over="ignore"):
        return [np.roll(points, 11 * i).astype(dtype) for i in range(count)]


def same_bits(x, y):
    both_nan = (x != x) & (y != y)
    return x.dtype == y.dtype and np.all(both_nan | (x.view(bits(x)) == y.view(bits(x))))


def bits(x):
    return f"uint{8 * x.itemsize}"


@every_dtype
@every_name
def test_loops_called_from_outside_numpy_have_its_bits(name, dtype):
    arrays = operands(name, dtype)
    loop = inner_loop(getattr(np, name), dtype)
    with np.errstate(all="ignore"):
        assert same_bits(loop(*arrays), getattr(np, name)(*arrays))


def test_what_has_no_such_loop_has_no_address():
    assert inner_loop(np.matmul, "float64") is None  # other arguments: it has core dimensions
    assert inner_loop(np.frexp, "float64") is None  # two results
    assert inner_loop(np.logical_and, "float64") is None  # the result is bool
    assert inner_loop(np.gcd, "float64") is None


def test_a_loop_of_other_bits_gets_no_address(monkeypatch):
    """The probe sees that a table is not what it was taken for: each loop is another function's."""

    class Shifted(ctypes.Structure):
        _fields_ = ufunc_pointers._UFunc._fields_

    real = ufunc_pointers._UFunc.from_address
    other = real(id(np.sin))

    def of(address):
        found = Shifted.from_buffer_copy(ctypes.string_at(address, ctypes.sizeof(Shifted)))
        found.functions = other.functions
        return found

    fake = type("Fake", (), {"from_address": staticmethod(of)})
    monkeypatch.setattr(ufunc_pointers, "_UFunc", fake)
    assert inner_loop.__wrapped__(np.sin, "float64") is not None
    assert inner_loop.__wrapped__(np.cos, "float64") is None


@every_name
def test_functions_of_numbers_are_numpys_in_python(name):
    arrays = operands(name, "float64")
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*[a[5] for a in arrays])
        found = getattr(numba_functions, name)(*[a[5] for a in arrays])
    assert same_bits(found, expected)


def test_names_that_are_no_ufuncs_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'add_up'"):
        numba_functions.add_up  # noqa: B018


@needs_numba
@pytest.mark.sampled(9)
@every_dtype
@every_name
def test_machine_code_has_numpys_bits(name, dtype):
    from numba import njit

    one, many = getattr(numba_functions, name), getattr(numba_functions, f"{name}_of")
    arrays = operands(name, dtype)
    with np.errstate(all="ignore"):
        whole = getattr(np, name)(*arrays)
        single = np.array([getattr(np, name)(*each) for each in zip(*arrays)], dtype)

    if len(arrays) == 1:

        @njit
        def run(x, alone, blocks):
            for i in range(x.size):
                alone[i] = one(x[i])
            for at in range(0, x.size, 512):
                many(x[at : at + 512], blocks[at : at + 512])

    else:

        @njit
        def run(a, b, alone, blocks):
            for i in range(a.size):
                alone[i] = one(a[i], b[i])
            for at in range(0, a.size, 512):
                many(a[at : at + 512], b[at : at + 512], blocks[at : at + 512])

    alone, blocks = np.empty(POINTS, dtype), np.empty(POINTS, dtype)
    run(*arrays, alone, blocks)
    assert same_bits(alone, single)
    assert same_bits(blocks, whole)
    strided = np.empty(2 * POINTS, dtype)[::2]
    run(*arrays, strided, strided)
    assert same_bits(np.ascontiguousarray(strided), whole)


@needs_numba
def test_machine_code_takes_numbers_of_python():
    from numba import njit

    log, hypot = numba_functions.log, numba_functions.hypot

    @njit
    def run(k, x):
        return log(k), hypot(x, k)

    assert run(3, 0.25) == (np.log(3), np.hypot(0.25, 3))
    assert run(3, np.float32(0.25))[1] == np.hypot(0.25, 3.0)
