"""Finds the addresses of NumPy's own inner loops for ufuncs.

A ufunc is a public struct of NumPy (``PyUFuncObject``) with a table of compiled loops, one for each
row of types. Native code that calls such a loop runs the machine code that ``np.log(x)`` runs, so
its bits are NumPy's. An address is given out only after the loop, called by it, has given NumPy's
bits for the probes.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

_POINTER = ctypes.sizeof(ctypes.c_void_p)


class _UFunc(ctypes.Structure):
    """The head of ``PyUFuncObject``, which NumPy's C API documents."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


_LOOP = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


@dataclass(frozen=True)
class InnerLoop:
    """A compiled loop: ``address(char **args, intp *length, intp *steps, void *data)``.

    `data` is its last argument, 0 for a null pointer.
    """

    name: str
    dtype: str
    operands: int
    address: int
    data: int

    @property
    def symbol(self) -> str:
        """What machine code calls it."""
        return f"tracegrad_{self.name}_{self.dtype}"

    def __call__(
        self, *arrays: np.ndarray[Any, Any], out: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """The loop, run on arrays of one axis and one length."""
        out = np.empty_like(arrays[0]) if out is None else out
        every = [*arrays, out]
        pointers = (ctypes.c_void_p * len(every))(*[a.ctypes.data for a in every])
        steps = (ctypes.c_ssize_t * len(every))(*[a.strides[0] for a in every])
        length = ctypes.c_ssize_t(len(out))
        _LOOP(self.address)(pointers, ctypes.byref(length), steps, self.data or None)
        return out

    def adds_up(self) -> bool:
        """Whether the loop, for one result of all elements, gives the bits of ``np.add.reduce``."""
        rng = np.random.default_rng(0)
        for length in (0, 1, 2, 7, 8, 100, 128, 129, 1000, 5000):
            x = (rng.normal(size=length) * 10.0 ** rng.integers(-6, 6, length)).astype(self.dtype)
            out = np.zeros(1, self.dtype)
            pointers = (ctypes.c_void_p * 3)(out.ctypes.data, x.ctypes.data, out.ctypes.data)
            steps = (ctypes.c_ssize_t * 3)(0, x.itemsize, 0)
            count = ctypes.c_ssize_t(length)
            _LOOP(self.address)(pointers, ctypes.byref(count), steps, self.data or None)
            if not _same_bits(out[0], x.sum()):
                return False
        negative = np.full(2, -0.0, self.dtype)  # the sum begins with a zero of one sign
        return bool(np.signbit(negative.sum())) is False

    def finds_extremes(self, ufunc: np.ufunc) -> bool:
        """Whether the loop, for one result of all elements, gives the bits of ``ufunc.reduce``.

        It begins with the first element.
        """
        rng = np.random.default_rng(0)
        zeros = np.array([0.0, -0.0], self.dtype)
        for length in (*range(1, 40), 64, 100, 1000):
            for x in (rng.normal(size=length), rng.choice(zeros, length)):
                x = np.ascontiguousarray(x, self.dtype)
                out = x[:1].copy()
                end = out.ctypes.data
                pointers = (ctypes.c_void_p * 3)(end, x.ctypes.data + x.itemsize, end)
                steps = (ctypes.c_ssize_t * 3)(0, x.itemsize, 0)
                count = ctypes.c_ssize_t(length - 1)
                _LOOP(self.address)(pointers, ctypes.byref(count), steps, self.data or None)
                if not _same_bits(out[0], ufunc.reduce(x)):
                    return False
        return True


@cache
def inner_loop(ufunc: np.ufunc, dtype: str) -> InnerLoop | None:
    """The loop of a ufunc for operands and a result of one dtype, "float64" or "float32".

    None where there is none, or where it does not give NumPy's bits.

    >>> import numpy as np
    >>> loop = inner_loop(np.exp, "float64")
    >>> bool((loop(np.arange(3.0)) == np.exp(np.arange(3.0))).all())
    True
    """
    if ufunc.nout != 1 or ufunc.signature is not None:
        return None
    loop = _loop_of(ufunc, dtype)
    return loop if loop is not None and _has_numpys_bits(ufunc, loop) else None


@cache
def product_loop(dtype: str) -> InnerLoop | None:
    """The loop of ``np.matmul`` for one dtype, which calls BLAS as NumPy does.

    Its lengths are four (of the loop around, and of the axes ``n, k, m`` of two matrices), and its
    steps nine: three for the loop around, then two for the axes of each array, 0 along an axis of
    length 1.

    >>> product_loop("float64") is not None
    True
    """
    loop = _loop_of(np.matmul, dtype)
    return loop if loop is not None and _multiplies(loop) else None


@cache
def power_of_c(dtype: str) -> int | None:
    """The address of ``pow`` of the C library, which computes powers of NumPy's scalars.

    None where it is not to be had, or where it does not give their bits.

    >>> power_of_c("float64") is not None
    True
    """
    type_ = ctypes.c_float if dtype == "float32" else ctypes.c_double
    name = "powf" if dtype == "float32" else "pow"
    try:
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        address = ctypes.cast(library[name], ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return None
    power = ctypes.CFUNCTYPE(type_, type_, type_)(address)
    random = np.random.default_rng(0)
    wide = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 1e-300, 1e300, np.inf, -np.inf, np.nan]
    pairs = [(a, b) for a in wide for b in wide]
    pairs += [*zip(random.uniform(0.01, 9.0, 2000), random.uniform(-9.0, 9.0, 2000), strict=True)]
    with np.errstate(all="ignore"):
        bases, exponents = np.array(pairs).T.astype(dtype)
        found = [power(float(a), float(b)) for a, b in zip(bases, exponents, strict=True)]
        expected = [a**b for a, b in zip(bases, exponents, strict=True)]
    return address if _same_bits(np.array(found, dtype), np.array(expected, dtype)) else None


def _loop_of(ufunc: np.ufunc, dtype: str) -> InnerLoop | None:
    """The loop in the table of a ufunc, where that is what it is taken for."""
    if sys.implementation.name != "cpython":
        return None
    found = _UFunc.from_address(id(ufunc))
    facts = (found.nin, found.nout, found.nargs, found.ntypes)
    if facts != (ufunc.nin, 1, ufunc.nargs, len(ufunc.types)):
        return None
    if found.name != ufunc.__name__.encode():
        return None
    row = bytes([np.dtype(dtype).num]) * found.nargs
    types = ctypes.string_at(found.types, found.ntypes * found.nargs)
    rows = [types[i : i + found.nargs] for i in range(0, len(types), found.nargs)]
    if row not in rows:
        return None
    address, data = (table[rows.index(row)] or 0 for table in (found.functions, found.data))
    return InnerLoop(ufunc.__name__, dtype, found.nin, address, data) if address else None


def _multiplies(loop: InnerLoop) -> bool:
    """Whether the loop gives the bits of ``a @ b``, of matrices that are turned as well."""
    rng = np.random.default_rng(0)
    for n, k, m in [(1, 1, 1), (4, 4, 4), (5, 3, 1), (1, 7, 2), (9, 16, 10), (2, 1, 3), (40, 8, 5)]:
        one, two = (rng.normal(size=shape).astype(loop.dtype) for shape in ((n, k), (k, m)))
        for a, b in [(one, two), (one.T.copy().T, two), (one, two.T.copy().T)]:
            out = np.empty((n, m), loop.dtype)
            _product(loop, a, b, out)
            if not _same_bits(out, a @ b):
                return False
    square = rng.normal(size=(6, 6)).astype(loop.dtype)
    out = np.empty((6, 6), loop.dtype)
    _product(loop, square, square.T, out)
    return _same_bits(out, square @ square.T)


def _product(loop: InnerLoop, *arrays: np.ndarray[Any, Any]) -> None:
    """``np.matmul(a, b, out=out)`` of matrices by its loop."""
    a, b, _ = arrays
    steps = [0, 0, 0]
    for array in arrays:
        pairs = zip(array.shape, array.strides, strict=True)
        steps += [step if length > 1 else 0 for length, step in pairs]
    pointers = (ctypes.c_void_p * 3)(*[array.ctypes.data for array in arrays])
    lengths = (ctypes.c_ssize_t * 4)(1, *a.shape, b.shape[1])
    _LOOP(loop.address)(pointers, lengths, (ctypes.c_ssize_t * 9)(*steps), loop.data or None)


@cache
def is_one_by_one(ufunc: np.ufunc, dtype: str) -> bool:
    """Whether a ufunc gives each element of an array the bits that it gives this number alone.

    So it was for many values, and for arrays of all lengths up to some, wherever they begin.

    >>> is_one_by_one(np.log, "float64")
    True
    """
    rng = np.random.default_rng(0)
    size = 2000
    wide = rng.normal(size=(ufunc.nin, size)) * 10.0 ** rng.integers(-12, 12, (ufunc.nin, size))
    wide[:, : size // 2] = rng.uniform(-1.0, 1.0, (ufunc.nin, size // 2))
    wide[0, :9] = [0.0, -0.0, np.inf, -np.inf, np.nan, 710.0, -746.0, 88.8, np.pi]
    arrays = list(wide.astype(dtype))
    numbers = [0.0, 1.0, -1.0, 2.0, 0.5, np.inf] if ufunc.nin == 2 else []
    with np.errstate(all="ignore"):
        alone = np.array([ufunc(*each) for each in zip(*arrays, strict=True)], dtype)
        for begin, end in [(0, size), *[(i % 9, i % 9 + i) for i in range(48)]]:
            if not _same_bits(ufunc(*[a[begin:end] for a in arrays]), alone[begin:end]):
                return False
        few = arrays[0][:100]
        for number in np.array(numbers, dtype):
            for pair in (lambda x, n=number: (x, n)), (lambda x, n=number: (n, x)):
                each = np.array([ufunc(*pair(x)) for x in few], dtype)
                if not _same_bits(ufunc(*pair(few)), each):
                    return False
    return True


def _has_numpys_bits(ufunc: np.ufunc, loop: InnerLoop) -> bool:
    """Whether the loop gives what the ufunc gives: on many values, and on one at a time."""
    arrays = _probes(loop)
    with np.errstate(all="ignore"):
        expected = ufunc(*arrays)
        if not _same_bits(loop(*arrays), expected):
            return False
        parts = [loop(*[a[i : i + 8] for a in arrays]) for i in range(0, len(expected), 8)]
        if not _same_bits(np.concatenate(parts), expected):
            return False  # a block has other bits than the whole
        over = arrays[0].copy()
        if not _same_bits(loop(over, *arrays[1:], out=over), expected):
            return False
        singles = [loop(*[a[i : i + 1] for a in arrays])[0] for i in range(len(expected))]
        alone = [ufunc(*[a[i] for a in arrays]) for i in range(len(expected))]
    return _same_bits(np.array(singles, loop.dtype), np.array(alone, loop.dtype))


def _probes(loop: InnerLoop) -> list[np.ndarray[Any, Any]]:
    """Values of all sizes and signs, with those that are special."""
    grown = np.geomspace(1e-12, 1e12, 23)
    near = np.linspace(-1.0, 1.0, 23)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 710.0, -746.0, 88.8, np.pi]
    first = np.concatenate([grown, -grown, near, special]).astype(loop.dtype)
    return [np.roll(first, 7 * i) for i in range(loop.operands)]


def _same_bits(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Whether arrays have the same bits, all nan being one."""
    equal = (x == y) & (np.signbit(x) == np.signbit(y))
    return x.dtype == y.dtype and bool(np.all(equal | (x != x) & (y != y)))
