"""Functions that give the memory of arrays to C code enter; what they return is what NumPy returns.

C code may keep what it gets, look at it later and write to it. Functions that copy or lay out are
followed; for all others the function runs on memory that is shared, or is refused by name.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import ArgumentError, ConversionError, MemoryAccessError, ReadOnlyError

# -- right ----------------------------------------------------------------------------------------


def laid_out_in_rows(x):
    y = np.ascontiguousarray(x)
    y *= 2.0
    return x.sum()


def laid_out_in_columns(x):
    y = np.asfortranarray(np.outer(x, x))
    y[0] = 4.0
    return np.asfortranarray(y).T.ravel()


def columns_of_an_argument(x):
    y = np.asfortranarray(x)
    x[0] = 5.0
    return y.sum(), y[0]


def no_copy(x):
    y = x * 2.0
    np.array(y, copy=None)[0] = 3.0
    np.array(y, copy=False)[1] = 3.0
    np.asarray(y, order="A")[2] = 4.0
    return y


def copied_in_order(x):
    y = np.outer(x, x)
    z = np.array(y, copy=None, order="F")
    w = np.array(y, order="F")
    z[0, 0] = w[0, 0] = 7.0
    return y, z, w


def required(x):
    y = x * 2.0
    np.require(y, requirements="CW")[1] = 5.0
    z = np.require(np.outer(y, y), requirements=["F", "A"])
    z[0] = 1.0
    return y, z


def required_float(x):
    y = np.require(x, np.float32)
    y[0] = 5.0
    return x * 2.0, y


def copied_by_copy(x):
    y = x * 2.0
    shallow, deep = copy.copy(y), copy.deepcopy([y])
    y[0] = 9.0
    return shallow, deep[0], np.ndarray.sum(y), np.ndarray.copy(y)


def pickled(x):
    y = x * 2.0
    z = pickle.loads(pickle.dumps(y))
    y[0] = 9.0
    return z.sum() + x


def replaced_in_place(x):
    y = x / x
    z = np.nan_to_num(y, copy=False, nan=5.0)
    y[1] = 2.0
    return z, y


def read_by_memoryview(x):
    m = memoryview(x)
    x[0] = 3.0
    return x.sum() * m[0]


def written_by_memoryview(x):
    y = x * 2.0
    memoryview(y)[0] = 3.0
    return y


def from_buffer(x):
    y = x * 1.0
    z = np.frombuffer(y)
    y[0] = 4.0
    return z.sum()


def bytes_of(x):
    y = x * 1.0
    kept, filled = bytes(y), bytearray(y)
    y[0] = 4.0
    return np.frombuffer(kept)[0] * np.frombuffer(filled)[1] * x


def iterated(x):
    y = x * 1.0
    at = np.nditer(y)
    y[0] = 3.0
    return sum(float(v) for v in at)


def written_by_iterator(x):
    for v in np.nditer(x, op_flags=["readwrite"]):
        v[...] = 2.0 * v
    return x.sum()


def enumerated(x):
    y = x * 1.0
    pairs = np.ndenumerate(y)
    y[1] = 5.0
    return sum(v for _, v in pairs)


def strided(x):
    y = x * 1.0
    z = np.lib.stride_tricks.as_strided(y, (2, 2), (8, 8))
    y[1] = 5.0
    return z.sum()


def windows(x):
    y = x * 1.0
    z = np.lib.stride_tricks.sliding_window_view(y, 2)
    y[1] = 5.0
    return (z * x[0]).sum(axis=0), z


def masked(x):
    y = x * 1.0
    z = np.ma.masked_array(y, [False, True, False])
    y[0] = 4.0
    return float(z.sum())


def exchanged(x):
    y = x * 1.0
    z = np.from_dlpack(y)
    y[0] = 4.0
    return z.sum()


def broadcast(x):
    y = x * 1.0
    pairs = np.broadcast(y, 1.0)
    y[0] = 4.0
    return sum(a for a, _ in pairs)


def swapped(x):
    y = x * 1.0
    y.byteswap(inplace=True)
    z = y.byteswap()
    y.byteswap(True)
    return y, z


def fields(x):
    y = x * 1.0
    z = y.getfield(np.float64)
    y.setfield(3.0, np.float64)
    return y, z


def kept_in_a_loop(x):
    y = x * 1.0
    at = memoryview(y)
    total = 0.0
    for _ in range(12):
        y *= 1.5
        total += at[1]
    return total


RIGHT = [
    *(laid_out_in_rows, laid_out_in_columns, columns_of_an_argument, no_copy, copied_in_order),
    *(required, required_float, copied_by_copy, pickled, replaced_in_place, read_by_memoryview),
    *(written_by_memoryview, from_buffer, bytes_of, iterated, written_by_iterator, enumerated),
    *(strided, windows, masked, exchanged, broadcast, swapped, fields, kept_in_a_loop),
]
VALUES = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, -1.0, 0.5], [0.25, 3.0, 1.0])


def laid(values, n: int) -> np.ndarray:
    """Arguments of other calls lie in memory in other ways."""
    return np.repeat(values, 2)[::2] if n == 3 else np.array(values)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("versions", [8, 0], ids=["compiled", "eager"])
@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_what_c_code_sees_is_what_numpy_has(monkeypatch, f, versions: int) -> None:
    monkeypatch.setattr(tg.config, "versions", versions)
    compiled = tg.compile(f)
    for n, values in enumerate(VALUES):
        if n == 3 and f in (from_buffer, read_by_memoryview):
            continue  # of these NumPy takes arrays without gaps alone
        given, expected = laid(values, n), laid(values, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            wanted = f(expected)
            assert_same_bits(compiled(given), wanted)
        assert np.array_equal(given, expected)


def test_what_lays_out_has_a_gradient() -> None:
    def f(x):
        y = np.ascontiguousarray(x * 2.0)
        z = np.require(np.asfortranarray(np.outer(y, y)), requirements="C")
        z[0] *= 3.0
        w = np.lib.stride_tricks.sliding_window_view(y, 2)
        y[1] = x[0] ** 2
        return z.sum() + (w * w).sum() + np.nan_to_num(y, copy=False).sum()

    x = np.array([1.0, 2.0, 3.0])
    step = 1e-6
    expected = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    for run in (tg.grad(f), tg.grad(tg.compile(f))):
        assert run(x) == pytest.approx(expected, rel=1e-6)


def test_functions_that_only_read_are_not_given_up() -> None:
    """C code has let go of its numbers when the array is written."""

    def f(x):
        text = np.array2string(x)
        x += 1.0
        return x.sum() + len(text)

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "f has C code keep")
        for _ in range(2):
            assert compiled(np.ones(2)) == 4.0 + len("[1. 1.]")


def test_who_keeps_memory_is_told_once() -> None:
    compiled = tg.compile(iterated)
    with pytest.warns(tg.errors.RecompileWarning, match=r"np\.nditer\(y\)"):
        compiled(np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(np.ones(3)) == 5.0


# -- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, named",
    [
        (lambda x: (x * 1.0).ctypes.data, "ctypes"),
        (lambda x: x.ctypes.data, "ctypes"),
        (lambda x: x.__array_interface__["data"][0], "__array_interface__"),
        (lambda x: (x * 1.0).setflags(write=False), "setflags"),
        (lambda x: (x * 1.0).flags.writeable, "flags"),
        (lambda x: (x * 1.0)[1:].base, "base"),
    ],
)
@pytest.mark.parametrize("versions", [8, 0], ids=["compiled", "eager"])
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_addresses_and_flags_are_refused_by_name(monkeypatch, f, named: str, versions: int) -> None:
    """Where the function has Tensors: a plain one without a program runs on the arrays."""
    monkeypatch.setattr(tg.config, "versions", versions)
    rows = np.ones((2, 3))
    for transformed in (tg.compile(lambda x: (f(x), rows.sum(axis=1))), tg.value_and_grad(f)):
        with pytest.raises(MemoryAccessError, match=rf"\.{named} of an array"):
            transformed(np.ones(3))


def test_what_c_code_keeps_of_what_is_differentiated_is_refused() -> None:
    for f in (iterated, from_buffer, read_by_memoryview, strided, masked, exchanged, swapped):
        with pytest.raises(ConversionError, match="its computation would be lost"):
            tg.grad(lambda x, f=f: f(x * 1.0))(np.ones(3))


def test_windows_are_not_written_to() -> None:
    def f(x):
        y = x * 1.0
        np.lib.stride_tricks.sliding_window_view(y, 2)[0] = 1.0
        return y.sum()

    for run in (f, tg.compile(f), tg.grad(f)):
        with pytest.raises(ValueError, match="read-only"):
            run(np.ones(3))
    with pytest.raises(ReadOnlyError):
        tg.compile(f)(np.ones(3))


def test_a_copy_that_must_not_be_made_is_refused_as_by_numpy() -> None:
    def f(x):
        return np.array(x, copy=False, order="F").sum()

    compiled = tg.compile(f)
    assert compiled(np.ones((2, 2), order="F")) == 4.0
    for _ in range(2):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            compiled(np.ones((2, 2)))
    assert compiled(np.ones((2, 2), order="F")) == 4.0
    for given in ({"dtype": np.float32, "copy": False}, {"copy": False}):
        with pytest.raises(ValueError, match="copy"):
            tg.compile(lambda x, given=given: np.array([x, x], **given))(np.ones(2))


def test_memory_of_its_own_is_not_known() -> None:
    with pytest.raises(ArgumentError, match="owns its memory"):
        tg.compile(lambda x: np.require(x, requirements="O"))(np.ones(2))


@pytest.mark.parametrize("locked", [np.diag, np.diagonal, lambda y: np.broadcast_to(y[0], (3, 3))])
@pytest.mark.parametrize("requirements", ["W", ["C", "W"]])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_nobody_may_write_to_is_copied_where_writes_are_required(
    locked, requirements, compiled
) -> None:
    def f(x):
        y = x * 2.0
        v = np.require(locked(y), requirements=requirements)
        v[0] = 7.0
        return np.sum(y), v

    g, x = tg.compile(f), np.arange(9.0).reshape(3, 3)
    if not compiled:
        g._give_up("it was told to")
    for given in (x, x + 1.0):
        assert_same_bits(g(given), f(given))
