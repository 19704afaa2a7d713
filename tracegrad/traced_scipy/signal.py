"""Functions of `scipy.signal` on Tensors: convolution, with HIPS autograd's choice of axes."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.tensors import array_functions as tg

MODES = ("full", "valid", "same")


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] | None = None,
    mode: str = "full",
) -> Any:
    """The convolution of two arrays along some of their axes.

    Parameters
    ----------
    axes : pair of lists of int
        The axes of `A`, and those of `B`, along which is convolved; default all.
    dot_axes : pair of lists of int
        Axes of one length over which products are summed.
    mode : "full", "valid" or "same"
        As of `scipy.signal.convolve`.

    Returns
    -------
    array
        Its axes are the others of `A`, the others of `B`, and those of the convolution.
    """
    A, B = tg.asarray(A), tg.asarray(B)
    if mode not in MODES:
        raise ArgumentError(f"convolve: mode={mode!r} must be one of {', '.join(MODES)}")
    own, other = ([list(range(x.ndim)) for x in (A, B)]) if axes is None else map(list, axes)
    summed, with_these = ([], []) if dot_axes is None else map(list, dot_axes)
    if len(own) != len(other) or len(summed) != len(with_these):
        raise ShapeError(
            f"convolve: {len(own)} and {len(other)} axes to convolve, {len(summed)} and "
            f"{len(with_these)} to sum over"
        )
    lengths = [A.shape[a] for a in own], [B.shape[b] for b in other]
    if mode == "valid" and any(a < b for a, b in zip(*lengths, strict=True)):
        if any(a > b for a, b in zip(*lengths, strict=True)):
            raise ShapeError(
                "convolve: for mode='valid' one array must be at least as long as the other along "
                f"every axis, not {lengths[0]} and {lengths[1]}"
            )
        found = convolve(B, A, (other, own), (with_these, summed), mode)
        count_b = B.ndim - len(other) - len(with_these)
        count_a = A.ndim - len(own) - len(summed)
        order = [*range(count_b, count_b + count_a), *range(count_b)]
        return tg.permute_dims(found, (*order, *range(count_a + count_b, found.ndim)))
    pads = [(0, 0)] * A.ndim
    for a, kernel in zip(own, lengths[1], strict=True):
        if mode == "full":
            pads[a] = (kernel - 1, kernel - 1)
        elif mode == "same":
            pads[a] = (kernel - 1 - (kernel - 1) // 2, (kernel - 1) // 2)
    padded = tg.pad(A, pads) if mode != "valid" else A
    kernel_shape = tuple([B.shape[b] for b in other])
    windows = tg.sliding_window_view(padded, kernel_shape, axis=tuple([a % A.ndim for a in own]))
    flipped = tg.flip(B, axis=tuple(other)) if other else B
    letters = iter(string.ascii_letters)
    of_windows = [next(letters) for _ in range(A.ndim + len(own))]
    of_kernel = [""] * B.ndim
    for place, b in enumerate(other):
        of_kernel[b] = of_windows[A.ndim + place]
    for a, b in zip(summed, with_these, strict=True):
        of_kernel[b] = of_windows[a]
    rest = [b for b in range(B.ndim) if not of_kernel[b]]
    for b in rest:
        of_kernel[b] = next(letters)
    along = [a % A.ndim for a in own]
    kept = [a for a in range(A.ndim) if a not in along and a not in [s % A.ndim for s in summed]]
    out = [*(of_windows[a] for a in kept), *(of_kernel[b] for b in rest)]
    out += [of_windows[a] for a in along]
    text = f"{''.join(of_windows)},{''.join(of_kernel)}->{''.join(out)}"
    return tg.einsum(text, windows, flipped)


def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """`scipy.signal.convolve`; its method decides no more than the rounding."""
    if np.ndim(in1) != np.ndim(in2):
        raise ShapeError(f"convolve: {np.ndim(in1)} and {np.ndim(in2)} axes")
    if 0 in (*np.shape(in1), *np.shape(in2)):
        raise ShapeError("convolve: an array has no elements")
    return convolve(in1, in2, mode=mode)


def _fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    if axes is None:
        return _convolve(in1, in2, mode)
    along = [axes] if isinstance(axes, int) else list(axes)
    if set(a % np.ndim(in1) for a in along) != set(range(np.ndim(in1))):
        raise ArgumentError("fftconvolve: of Tensors it takes all axes; see tracegrad.scipy.signal")
    return _convolve(in1, in2, mode)


BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}
"""What `tg.pad` calls SciPy's ways to go on behind the boundary."""


def _convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ShapeError(f"convolve2d: takes matrices, not {np.ndim(in1)} and {np.ndim(in2)} axes")
    if boundary not in BOUNDARIES:
        raise ArgumentError(f"convolve2d: boundary={boundary!r} is not one of fill, wrap, symm")
    plain = boundary == "fill" and isinstance(fillvalue, int | float) and fillvalue == 0
    if mode == "valid" or plain:
        return _convolve(in1, in2, mode)
    sizes = np.shape(in2)
    pads = [(n - 1, n - 1) for n in sizes]
    if mode == "same":
        pads = [(n - 1 - (n - 1) // 2, (n - 1) // 2) for n in sizes]
    values = {"constant_values": fillvalue} if boundary == "fill" else {}
    return convolve(tg.pad(in1, pads, BOUNDARIES[boundary], **values), in2, mode="valid")


TABLE: dict[str, Callable[..., Any]] = {
    "convolve": _convolve,
    "oaconvolve": _fftconvolve,
    "fftconvolve": _fftconvolve,
    "convolve2d": _convolve2d,
}
