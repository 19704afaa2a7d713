"""Operands that lie in memory in every order enter: results lie as eager ones and NumPy's do.

Sums add in the order of memory, so where a result lies decides bits of what is computed of it. A
program is made for operands in C order, then called with the same numbers in other orders: strides,
and the sum of each result in the same program, must be those of the call on Tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import checks
import numpy as np
import pytest
from numpy_cases import OPERANDS, calls, flat, function_of, used
from samples.sampling import Sample, samples

import tracegrad as tg
from tracegrad.ops.record import TABLE, OpRecord

LAYOUTS: dict[str, Any] = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "first two swapped": lambda x: np.swapaxes(np.swapaxes(x, 0, 1).copy(), 0, 1),
    "last two swapped": lambda x: np.swapaxes(np.swapaxes(x, -2, -1).copy(), -2, -1),
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}

MORE = """
np.take(t, [0, 1], axis=0); np.take(t, [0, 2], axis=1); np.take(t, [[0, 2], [1, 1]], axis=1)
np.take(t, 1, axis=1); np.take(t, 1, axis=0); np.take(t, [0, -1], axis=2, mode="wrap")
np.compress([True, False], t, axis=0); np.compress([True, False, True], t, axis=1)
t[[0, 1]]; t[:, [0, 2]]; t[[0, 1], :, [0, 1]]; x[x[:, 0] > 0]; x[:, x[0] > 0]; t[:, 1] * 2
np.real(t); np.real(c); np.imag(c); np.real(c.T); np.real(t[:, 1:]); np.conj(c)
np.isreal(x.T); np.iscomplex(t)
np.zeros_like(t); np.ones_like(t, dtype=np.float32); np.full_like(t, 2.0); np.zeros_like(t.T)
np.zeros_like(t[:, 1:]); np.zeros_like(t * 2); np.zeros_like(t[:, 0]); np.zeros_like(x, order="F")
np.zeros_like(x, order="A"); np.zeros_like(x, order="C"); np.zeros_like(x, shape=(2, 3))
np.full_like(x, x[0, 0]); np.full_like(x, v); np.full_like(t, t[:, 0:1])
np.full_like(x, a, order="F")
np.zeros_like(np.sin(t)); np.zeros_like(x @ x.T); np.zeros_like(x + v); np.zeros_like(x[::2].T)
np.zeros_like(x.reshape(2, 2, 5).transpose(1, 0, 2))
np.zeros_like(t.transpose(1, 2, 0).reshape(12, 2)); np.imag(x.T); np.imag(t)
np.zeros_like(np.broadcast_to(x, (2, 4, 5))); np.zeros_like(np.where(x > 0, x, y.T.copy().T))
np.gradient(t); np.gradient(t, axis=1); np.gradient(x.T); np.polyval(u, t); np.polyval(u, x.T)
np.select([t < 0, t > 1], [t, t**2], 5.0); np.select([t < 0], [t]); np.select([x.T < 0], [x.T])
np.delete(t, 1, axis=1); np.insert(t, 1, 2.0, axis=1); np.pad(t, 1); np.pad(t, 1, mode="mean")
np.pad(t, 1, mode="linear_ramp"); np.append(t, t, axis=1); np.roll(t, 1, axis=1)
np.concatenate([t, t], axis=1); np.stack([t, t], axis=1); np.stack([x, y], axis=2)
np.cumsum(t, axis=1); np.sort(t, axis=1); np.sum(t, axis=1); np.max(t, axis=0); np.diff(t, axis=1)
x * 1.0; x.T * 1.0; np.broadcast_to(x, (2, 4, 5)) * 1.0; (np.broadcast_to(v, (4, 5)) * 1.0) * x
(np.broadcast_to(v, (4, 5)) + -0.0) * x.T.copy().T; t.copy(); np.copy(t); t.T.copy()
x.copy(order="F")
x.astype(np.float32); np.exp(t); t + t[0]; x + y.T.copy().T; t * t[:, :1]; np.where(x > 0, x, v)
np.dot(2.0, x); np.dot(x, a); np.vander(v); np.outer(x, v); np.kron(x, x); np.fft.fft(t, axis=1)
"""
"""Calls, beside those of `numpy_cases`, whose results might lie otherwise."""

AS_TENSORS_ALONE = frozenset(
    {"np.einsum", "np.histogram2d", "np.histogramdd", "np.nanquantile", "np.poly"}
)
"""Functions of which some results lie otherwise than NumPy's: as those of calls on Tensors do."""

CALLS = [
    *calls(),
    *[text.strip() for line in MORE.strip().splitlines() for text in line.split(";")],
]


def in_layout(x: Any, layout: str) -> Any:
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x
    if x.ndim == 1 and layout not in ("backwards", "every other"):
        return x
    return LAYOUTS[layout](x)


def strides(x: np.ndarray) -> list[int]:
    """How the elements lie: axes of length 1 do not matter, nor does an array without elements."""
    return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] if x.size else []


def arrays_of(results: Any) -> list[Any]:
    return [getattr(x, "_array", x) for x in flat(results)]


def sums(results: Any) -> list[Any]:
    """The sum of each result that is an array of numbers."""
    return [x.sum() for x in flat(results) if getattr(x, "ndim", 0)]


def with_sums(f: Any) -> Any:
    def both(*args: Any) -> Any:
        results = f(*args)
        return results, sums(results)

    return both


def given_out(x: np.ndarray, given: list[Any]) -> np.ndarray:
    """How a compiled call returns an array: a view of an argument as a copy, dense."""
    shows = any(isinstance(a, np.ndarray) and np.may_share_memory(x, a) for a in given)
    return np.empty_like(x) if shows else x


def same_bits(one: list[Any], two: list[Any]) -> bool:
    pairs = zip([np.asarray(x) for x in one], [np.asarray(x) for x in two], strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)


@pytest.fixture(autouse=True)
def quiet_arithmetic() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [call for call in CALLS if used(call)])
def test_results_lie_as_those_of_eager_calls_and_numpys(call: str) -> None:
    names, text = used(call), function_of(call)
    f = with_sums(lambda *args: text(np, *args))
    compiled = tg.compile(f)
    for layout in LAYOUTS:
        given = [in_layout(OPERANDS[name], layout) for name in names]
        if layout != "rows" and all(x is OPERANDS[n] for x, n in zip(given, names, strict=True)):
            continue
        try:
            expected = flat(text(np, *given))
        except AttributeError:  # NumPy has no such function: it is the standard's
            return
        eager, eager_sums = f(*[tg.as_tensor(x) if np.ndim(x) else x for x in given])
        found, found_sums = compiled(*given)
        assert same_bits(found_sums, arrays_of(eager_sums)), f"{layout}: another sum"
        rows = zip(arrays_of(found), arrays_of(eager), expected, strict=True)
        for array, of_tensors, of_numpy in rows:
            if not isinstance(of_numpy, np.ndarray) or not of_numpy.ndim:
                continue
            wanted = of_tensors if call.partition("(")[0] in AS_TENSORS_ALONE else of_numpy
            assert strides(array) == strides(given_out(wanted, given)), layout
            assert strides(of_tensors) == strides(wanted), f"{layout}: on Tensors"


def sampled(op: OpRecord) -> Iterator[Sample]:
    """Some samples of operands that are matrices, or have more axes."""
    dtype = "int64" if op.domain == "integer" else "float64"
    every = [s for s in samples(op, dtype) if any(np.ndim(x) > 1 for x in s.operands)]
    yield from every[:: -(-len(every) // 3) or 1]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in TABLE.values() if op.operands], ids=lambda op: op.name)
def test_programs_of_one_op_lie_as_its_kernel_says(op: OpRecord) -> None:
    for sample in sampled(op):
        f = with_sums(lambda *args, known=sample.attributes: op(*args, **known))
        compiled = tg.compile(f)
        for layout in LAYOUTS:
            given = [in_layout(x, layout) for x in sample.operands]
            try:
                eager, eager_sums = f(*[tg.as_tensor(x) if np.ndim(x) else x for x in given])
            except (TypeError, ValueError, AttributeError, tg.TracegradError):
                break
            found, found_sums = compiled(*given)
            assert same_bits(found_sums, arrays_of(eager_sums)), f"{layout}, {sample}: another sum"
            for array, of_tensors in zip(arrays_of(found), arrays_of(eager), strict=True):
                if isinstance(array, np.ndarray) and array.ndim:
                    wanted = given_out(of_tensors, given)
                    assert strides(array) == strides(wanted), f"{layout}, {sample}"


IN_PLACE = r"""
v = np.sin(x).T; v /= x; return v
v = np.zeros_like(x.T); v += x; return v
v = np.linalg.inv(x).T; v *= x; return np.cos(v)
v = np.sin(x).T; u = v[::-1]; u *= x; return u, v
v = np.sin(x).T; u = v[1:]; u -= x[1:]; return u, v
b = x * 1.5; v = b.T; v += x; return v, b
v = x.copy(order="F"); v *= x.T; return v
v = np.sin(x).T; v *= v; v *= x[0]; v **= 2; return v
v = np.sin(x).astype(np.float32).T; v *= x; return v
v = np.stack([x, x]).transpose(2, 0, 1); v *= np.ones(v.shape) * x[:, None]; return v
v = np.stack([x, x]).transpose(1, 2, 0); v /= v.transpose(1, 0, 2); return v
v = np.sin(x).T\nfor _ in range(9): v *= x\nreturn v
v = np.sin(x).T\nfor i in range(len(x)): v += x * x[i]\nreturn v
v = np.sin(x).T\nwhile v.sum() < 50.0: v += np.abs(x)\nreturn v
v = np.sin(x).T\nif v.sum() > 0.0: v *= x\nelse: v /= x\nreturn v
"""
"""Programs that change a matrix whose other operand may lie in memory otherwise."""


@pytest.mark.parametrize("text", IN_PLACE.strip().splitlines())
def test_what_is_changed_in_place_keeps_its_memory_order(text: str) -> None:
    body = text.replace("; ", "\n").replace("\\n", "\n").replace("\n", "\n    ")
    f = checks.function_of(f"def f(x):\n    {body}\n")
    summed = with_sums(f)
    compiled, differentiated = tg.compile(summed), tg.compile(summed)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(13, 13))
        for layout in LAYOUTS:
            given = in_layout(x, layout)
            expected, expected_sums = summed(given)
            found, found_sums = compiled(given)
            assert same_bits(found_sums, expected_sums), f"{layout}: another sum"
            for array, of_numpy in zip(flat(found), flat(expected), strict=True):
                assert strides(array) == strides(np.empty_like(of_numpy)), layout
            for each in (summed, differentiated):
                _, eager_sums = each(tg.tensor(given, requires_grad=True))
                assert same_bits(arrays_of(eager_sums), expected_sums), f"{layout}: on Tensors"


def test_programs_in_c_order_do_not_ask_where_what_is_changed_lies() -> None:
    @tg.compile
    def f(x: Any, y: Any) -> Any:
        z = x * 2.0
        for _ in range(5):
            z *= y
        z /= x.T
        return z

    f(np.ones((3, 3)), np.ones((3, 3)))
    assert "with_axes_like" not in f.source()
    assert "with_axes_like" in tg.compile(lambda x: f(x.T * 1.0, x)).source(np.ones((3, 3)))
