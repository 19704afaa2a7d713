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
@pytest.mark.sampled(17)
@every_dtype
@every_name
def test_machine_code_has_numpys_bits(name, dtype):
    from numba import njit

    one, many = getattr(numba_functions, name), getattr(numba_functions, f"{name}_of")
    every = getattr(numba_functions, f"{name}_all")
    arrays = operands(name, dtype)
    with np.errstate(all="ignore"):
        whole = getattr(np, name)(*arrays)
        single = np.array([getattr(np, name)(*each) for each in zip(*arrays)], dtype)

    if len(arrays) == 1:

        @njit
        def run(x, alone, blocks, each):
            each[:] = every(x)
            for i in range(x.size):
                alone[i] = one(x[i])
            for at in range(0, x.size, 512):
                many(x[at : at + 512], blocks[at : at + 512])

    else:

        @njit
        def run(a, b, alone, blocks, each):
            each[:] = every(a, b)
            for i in range(a.size):
                alone[i] = one(a[i], b[i])
            for at in range(0, a.size, 512):
                many(a[at : at + 512], b[at : at + 512], blocks[at : at + 512])

    alone, blocks, each = (np.empty(POINTS, dtype) for _ in range(3))
    run(*arrays, alone, blocks, each)
    assert same_bits(alone, single)
    assert same_bits(each, single)
    assert same_bits(blocks, whole)
    strided = np.empty(2 * POINTS, dtype)[::2]
    run(*arrays, strided, strided, each)
    assert same_bits(np.ascontiguousarray(strided), whole)


@pytest.mark.parametrize("whole", [True, False])
def test_functions_of_all_have_the_bits_of_each(whole, monkeypatch):
    """Where an array has other bits than its numbers, these are computed one by one."""
    x = operands("log", "float64")[0][:100]
    asked = []
    numba_functions.plain.cache_clear()  # numba keeps what it has compiled for a function
    numba_functions.teach.cache_clear()
    monkeypatch.setattr(numba_functions, "is_one_by_one", lambda *of: asked.append(of) or whole)
    with np.errstate(all="ignore"):
        found = numba_functions.plain("log_all")(x)
        beside = numba_functions.plain("maximum_all")(x, 0.5), np.maximum(x, 0.5)
        assert same_bits(found, np.array([np.log(number) for number in x]))
    assert same_bits(*beside)
    assert asked == [(np.log, "float64"), (np.maximum, "float64")]
    if not has_numba:
        return
    from numba import njit

    log_all, maximum_all = numba_functions.log_all, numba_functions.maximum_all

    @njit
    def run(x):
        return log_all(x), maximum_all(x, 0.5), maximum_all(0.5, x)

    for machine, python in zip(run(x), (found, *beside), strict=True):
        assert same_bits(machine, python)


@every_dtype
@pytest.mark.parametrize("name", ["log", "exp", "sin", "tanh", "hypot", "maximum"])
def test_ufuncs_are_asked_whether_arrays_have_the_bits_of_numbers(name, dtype):
    arrays = operands(name, dtype)
    with np.errstate(all="ignore"):
        single = np.array([getattr(np, name)(*each) for each in zip(*arrays)], dtype)
        same = same_bits(getattr(np, name)(*arrays), single)
    assert not ufunc_pointers.is_one_by_one(getattr(np, name), dtype) or same


@needs_numba
def test_machine_code_takes_numbers_of_python():
    from numba import njit

    log, hypot = numba_functions.log, numba_functions.hypot

    @njit
    def run(k, x):
        return log(k), hypot(x, k)

    assert run(3, 0.25) == (np.log(3), np.hypot(0.25, 3))
    assert run(3, np.float32(0.25))[1] == np.hypot(0.25, 3.0)
