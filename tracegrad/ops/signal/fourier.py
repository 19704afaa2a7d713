"""Discrete Fourier transforms and their inverses.

A transform is a symmetric matrix F, so its derivative rule is the transform itself: the cotangent
of x in ``y = F x`` is ``F ct``. What is real has the real part of that; what was cut off or filled
up to a length is filled up with zeros or cut off again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim, Size, Sizes
from codegen.types import ArrayType, ShapeError, bits, kind
from tracegrad.errors import ArgumentValueError, DTypeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import conj, is_complex, real
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.creation import new
from tracegrad.ops.shape.indexing import getitem, setitem
from tracegrad.ops.shape.joining import part_of
from tracegrad.ops.shape.padding import pad
from tracegrad.ops.shape.reshaping import many_axes, one_axis
from tracegrad.ops.type_rules import same
from tracegrad.values.dispatch import ndim_of, shape_of

SWAPPED = {None: "forward", "forward": None, "ortho": "ortho"}
"""The scaling of the transform back, by that of a transform; None is "backward", the default."""

# -- types --------------------------------------------------------------------------------------


def _complex_dtype(dtype: str) -> str:
    """The dtype of a transform: double precision but for short floats."""
    short = kind(dtype) in ("float", "complex") and bits(dtype) <= 32
    return "complex64" if short else "complex128"


def _real_dtype(dtype: str) -> str:
    if dtype == "float16":
        return dtype
    return "float32" if _complex_dtype(dtype) == "complex64" else "float64"


def _known(sizes: Sizes, length: Dim, wanted: Dim) -> None:
    """Cutting off differs from filling up: where that matters, the length is a constant.

    A length without a number comes from `_rfft_vjp`, which fills up.
    """
    if isinstance(wanted, int) and not sizes.same(length, wanted):
        sizes.fix(sizes.resolve(length))


def _half(length: Dim) -> Dim:
    """How many frequencies a real signal has: ``length // 2 + 1``."""
    if isinstance(length, Size) and all(factor % 2 == 0 for atoms, factor in length.terms if atoms):
        odd = dict(length.terms).get((), 0) % 2
        return sz.add(sz.quotient(sz.add(length, -odd), 2), 1)
    return sz.slice_length(sz.add(length, 1), slice(None, None, 2))


def _one_type(inverse: bool, real_side: bool) -> Any:
    """The type rule of a transform along one axis."""

    def infer(sizes: Sizes, x: ArrayType, n: Any, axis: int, norm: Any) -> ArrayType:
        shape = list(x.shape)
        shape[axis] = _transformed(sizes, x, shape[axis], n, inverse, real_side)
        return _transformed_dtype(x, inverse, real_side).with_shape(shape)

    return infer


def _many_type(inverse: bool, real_side: bool) -> Any:
    """The type rule of a transform along several axes, of which the last is the real one."""

    def infer(sizes: Sizes, x: ArrayType, s: Any, axes: Any, norm: Any) -> ArrayType:
        shape = list(x.shape)
        places = range(x.ndim) if axes is None else axes
        for i, axis in enumerate(places):
            n, last = None if s is None else s[i], i == len(places) - 1
            shape[axis] = _transformed(sizes, x, shape[axis], n, inverse, real_side and last)
        return _transformed_dtype(x, inverse, real_side).with_shape(shape)

    return infer


def _transformed(
    sizes: Sizes, x: ArrayType, length: Dim, n: Dim | None, inverse: bool, real_side: bool
) -> Dim:
    """The length of a transform of one axis."""
    length = sizes.resolve(length)
    own = length if not (inverse and real_side) else sz.add(sz.mul((2, length)), -2)
    wanted = own if n is None else n
    needed = _half(wanted) if inverse and real_side else wanted
    if n is not None:
        _known(sizes, length, needed)
    if isinstance(wanted, int) and wanted < 1:
        raise ShapeError(f"a Fourier transform has 1 point or more, not {wanted}")
    return _half(wanted) if real_side and not inverse else wanted


def _transformed_dtype(x: ArrayType, inverse: bool, real_side: bool) -> ArrayType:
    if real_side and not inverse and kind(x.dtype) == "complex":
        raise DTypeError(f"rfft transforms real signals, not {x.dtype}: use fft")
    dtype = _real_dtype(x.dtype) if real_side and inverse else _complex_dtype(x.dtype)
    return ArrayType(dtype, x.shape)


# -- rules --------------------------------------------------------------------------------------


def _fitted(ct: Any, x: Any, axis: int) -> Any:
    """`ct` cut off or filled up with zeros to the length that `x` has along an axis."""
    have, want = shape_of(ct)[axis], shape_of(x)[axis]
    if have == want:
        return ct
    if not (isinstance(have, int) and isinstance(want, int)) or have > want:  # see `_known`
        return part_of(ct, axis=axis, start=0, stop=want, length=want)
    return pad(ct, {axis: (0, want - have)})


def _all_fitted(ct: Any, x: Any, axes: Sequence[int]) -> Any:
    for axis in axes:
        ct = _fitted(ct, x, axis)
    return ct


def _places(axes: Any, x: Any) -> tuple[int, ...]:
    return tuple(range(ndim_of(x))) if axes is None else axes


def _fft_vjp(ct: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> tuple[Any]:
    return (_fitted(fft_of(ct, n=None, axis=axis, norm=norm), x, axis),)


def _ifft_vjp(ct: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> tuple[Any]:
    return (_fitted(ifft_of(ct, n=None, axis=axis, norm=norm), x, axis),)


def _fftn_vjp(ct: Any, y: Any, x: Any, s: Any, axes: Any, norm: Any) -> tuple[Any]:
    return (_all_fitted(fftn_of(ct, s=None, axes=axes, norm=norm), x, _places(axes, x)),)


def _ifftn_vjp(ct: Any, y: Any, x: Any, s: Any, axes: Any, norm: Any) -> tuple[Any]:
    return (_all_fitted(ifftn_of(ct, s=None, axes=axes, norm=norm), x, _places(axes, x)),)


def _rfft_vjp(ct: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> tuple[Any]:
    """The real part of the transform of `ct`, which is 0 at the frequencies left out."""
    n = shape_of(x)[axis] if n is None else n
    return (_fitted(real(fft_of(ct, n=n, axis=axis, norm=norm)), x, axis),)


def _rfftn_vjp(ct: Any, y: Any, x: Any, s: Any, axes: Any, norm: Any) -> tuple[Any]:
    places = _places(axes, x)
    s = tuple(shape_of(x)[axis] for axis in places) if s is None else s
    return (_all_fitted(real(fftn_of(ct, s=s, axes=places, norm=norm)), x, places),)


def _irfft_vjp(ct: Any, y: Any, x: Any, n: Any, axis: int, norm: Any) -> tuple[Any]:
    back = conj(rfft_of(ct, n=None, axis=axis, norm=SWAPPED[norm]))
    return (_fitted(_counted_twice(back, n, axis), x, axis),)


def _irfftn_vjp(ct: Any, y: Any, x: Any, s: Any, axes: Any, norm: Any) -> tuple[Any]:
    places = _places(axes, x)
    back = conj(rfftn_of(ct, s=None, axes=axes, norm=SWAPPED[norm]))
    back = _counted_twice(back, None if s is None else s[-1], places[-1])
    return (_all_fitted(back, x, places),)


def _counted_twice(ct: Any, n: Dim | None, axis: int) -> Any:
    """Twice what stands for two frequencies: all but 0 and, of an even number, the highest."""
    odd = isinstance(n, int) and n % 2
    inner = (*(slice(None),) * axis, slice(1, None if odd else -1))
    return setitem(ct, inner, 2.0 * getitem(ct, inner))


# -- records ------------------------------------------------------------------------------------


def _transform(name: str, vjp: Any, inverse: bool, real_side: bool) -> OpRecord:
    one = not name.endswith("n")
    where = "n=n, axis=axis" if one else "s=s, axes=axes"
    attributes: dict[str, Any] = {"n": None, "axis": ...} if one else {"s": None, "axes": None}
    return define(
        name,
        f"np.fft.{name}(x, {where}, norm=norm)",
        infer=(_one_type if one else _many_type)(inverse, real_side),
        vjp=vjp,
        attributes={**attributes, "norm": None},
        batch=batching_rules.along("axis" if one else "axes"),
        domain="signal",
    )


fft_of: OpRecord = _transform("fft", _fft_vjp, False, False)
ifft_of: OpRecord = _transform("ifft", _ifft_vjp, True, False)
rfft_of: OpRecord = _transform("rfft", _rfft_vjp, False, True)
irfft_of: OpRecord = _transform("irfft", _irfft_vjp, True, True)
fftn_of: OpRecord = _transform("fftn", _fftn_vjp, False, False)
ifftn_of: OpRecord = _transform("ifftn", _ifftn_vjp, True, False)
rfftn_of: OpRecord = _transform("rfftn", _rfftn_vjp, False, True)
irfftn_of: OpRecord = _transform("irfftn", _irfftn_vjp, True, True)


def _shift(name: str, back: Any) -> OpRecord:
    return define(
        name,
        f"np.fft.{name}(x, axes=axes)",
        infer=same,
        vjp=lambda ct, y, x, axes: (back()(ct, axes=axes),),
        attributes={"axes": None},
        batch=batching_rules.along("axes"),
        domain="signal",
    )


shift_of: OpRecord = _shift("fftshift", lambda: shift_back_of)
shift_back_of: OpRecord = _shift("ifftshift", lambda: shift_of)


def _frequencies(name: str, length: Any) -> OpRecord:
    return define(
        name,
        f"np.fft.{name}(n, d=d)",
        operands="",
        infer=lambda sizes, n, d: ArrayType("float64", (length(n),)),
        attributes={"n": ..., "d": 1.0},
        differentiable=False,
    )


frequencies = _frequencies("fftfreq", lambda n: n)
half_frequencies = _frequencies("rfftfreq", _half)

# -- arguments as users write them --------------------------------------------------------------


def _scaling(norm: Any) -> str | None:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ArgumentValueError(
            f'norm={norm!r} is none of "backward" (the inverse is scaled), "ortho" and "forward"'
        )
    return None if norm == "backward" else norm


def _along_one(record: OpRecord, x: Any, n: Any, axis: Any, norm: Any) -> Any:
    x = as_array(x)
    if not ndim_of(x):
        raise ShapeError(f"{record.name}: a number has no axis to transform along")
    points = None if n is None else as_int(n)
    return record(x, n=points, axis=one_axis(axis, ndim_of(x)), norm=_scaling(norm))


def _along_many(record: OpRecord, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    x = as_array(x)
    ndim = ndim_of(x)
    if axes is None:
        places = tuple(range(0 if s is None else ndim - len(s), ndim))
    else:
        places = tuple(one_axis(axis, ndim) for axis in axes)
        many_axes(places, ndim)  # raises where one is named twice
    if s is not None and len(s) != len(places):
        raise ArgumentValueError(
            f"{record.name}: s={s} gives lengths for {len(s)} of {len(places)} axes"
        )
    if not places:
        raise ShapeError(f"{record.name}: there is no axis to transform along")
    whole = None if s is None and places == tuple(range(ndim)) else places
    return record(x, s=_lengths(x, s, places), axes=whole, norm=_scaling(norm))


def _lengths(x: Any, s: Any, places: tuple[int, ...]) -> Any:
    """The lengths asked for; -1 stands for the one that the array has."""
    if s is None:
        return None
    own = [shape_of(x)[axis] for axis in places]
    return tuple(have if n is None or n == -1 else as_int(n) for n, have in zip(s, own))


def _one(record: OpRecord, summary: str) -> Any:
    @synonyms
    def function(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        return _along_one(record, a, n, axis, norm)

    return _named(function, record.name, summary)


def _many(record: OpRecord, summary: str) -> Any:
    def function(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
        return _along_many(record, a, s, axes, norm)

    return _named(function, record.name, summary)


def _plane(name: str, record: OpRecord, summary: str) -> Any:
    def function(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
        return _along_many(record, a, s, axes, norm)

    return _named(function, name, summary)


def _named(function: Any, name: str, summary: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary}\n\n    Arguments and scaling (`norm`) are those of ``np.fft.{name}``.\n    "
    )
    return function


fft = _one(fft_of, "The Fourier transform along `axis`, of `n` points.")
ifft = _one(ifft_of, "The inverse Fourier transform along `axis`, of `n` points.")
rfft = _one(rfft_of, "The Fourier transform of real signals: frequencies from 0 upwards.")
irfft = _one(irfft_of, "The real signal of `n` points that has these frequencies.")
fftn = _many(fftn_of, "The Fourier transform along several axes.")
ifftn = _many(ifftn_of, "The inverse Fourier transform along several axes.")
rfftn = _many(rfftn_of, "The Fourier transform of real arrays, half of it along the last axis.")
irfftn = _many(irfftn_of, "The real array that has these frequencies, half along the last axis.")
fft2 = _plane("fft2", fftn_of, "The Fourier transform along two axes.")
ifft2 = _plane("ifft2", ifftn_of, "The inverse Fourier transform along two axes.")
rfft2 = _plane("rfft2", rfftn_of, "The Fourier transform of real arrays along two axes.")
irfft2 = _plane("irfft2", irfftn_of, "The real array that has these frequencies along two axes.")


def _conjugated(x: Any) -> Any:
    return conj(x) if is_complex(x) else x


@synonyms
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum, of `n` points, of a signal whose negative times are conjugates."""
    return _along_one(irfft_of, _conjugated(as_array(a)), n, axis, SWAPPED[_scaling(norm)])


@synonyms
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The signal, at nonnegative times, that has this real spectrum: the inverse of `hfft`."""
    return conj(_along_one(rfft_of, a, n, axis, SWAPPED[_scaling(norm)]))


def fftshift(x: Any, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle of each axis (of all by default)."""
    return _shifted(shift_of, x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The middle of each axis moved to its beginning: the inverse of `fftshift`."""
    return _shifted(shift_back_of, x, axes)


def _shifted(record: OpRecord, x: Any, axes: Any) -> Any:
    x = as_array(x)
    return record(x, axes=None if axes is None else many_axes(axes, ndim_of(x)))


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of `n` points at distance `d`, negative ones last."""
    return _sampled(frequencies, n, d, dtype, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a real transform of `n` points at distance `d`."""
    return _sampled(half_frequencies, n, d, dtype, device)


def _sampled(record: OpRecord, n: Any, d: Any, dtype: Any, device: Any) -> Any:
    made = new(record, n=as_int(n), d=float(d))
    if dtype is not None:
        made = made.astype(dtype)
    return made if device is None else made.to(device=device)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
