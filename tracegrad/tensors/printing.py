"""Prints Tensors: their values, then what is not the default.

Values look as PyTorch prints them: four decimals, whole numbers as ``3.``, exponents where numbers
lie more than a factor of 1000 apart, columns aligned, large arrays abbreviated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracegrad.runtime.thread_state import STATE

PRECISION = 4
THRESHOLD = 1000  # elements: more are abbreviated
EDGE = 3  # elements shown at both ends of an abbreviated axis
WIDTH = 80

Show = Callable[[Any], str]
"""One element as text."""


def text_of(tensor: Any, default_dtypes: Sequence[np.dtype]) -> str:
    """``repr`` of a Tensor."""
    array = np.asarray(tensor._array)
    options = _options(tensor, array, default_dtypes)
    head = "tensor("
    if array.size:
        shown = _edges(array) if array.size > THRESHOLD else array
        body = _nested(array, _formatter(shown), len(head))
    else:
        body = "[]"
        if array.ndim != 1:
            options.insert(0, f"size={array.shape}")
    return _joined(head + body, options, len(head))


def _options(tensor: Any, array: np.ndarray, default_dtypes: Sequence[np.dtype]) -> list[str]:
    options = []
    if tensor.device != "cpu":
        options.append(f"device='{tensor.device}'")
    usual = array.dtype == default_dtypes[0] if not array.size else array.dtype in default_dtypes
    if not usual:
        options.append(f"dtype={array.dtype}")
    if STATE.machine is not None:  # a Tensor for an argument is that to the function's caller
        given = STATE.machine.world.original(tensor)
        tensor = given if hasattr(given, "grad_fn") else tensor
    node = tensor.grad_fn
    if node is not None:
        options.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        options.append("requires_grad=True")
    return options


def _joined(text: str, options: Sequence[str], indent: int) -> str:
    """The text and the options, which start a new line where they would stand out too far."""
    end = len(text) - text.rfind("\n") + 1
    for option in options:
        if end + len(option) + 2 > WIDTH:
            text += ",\n" + " " * indent + option
            end = indent + len(option)
        else:
            text += ", " + option
            end += len(option) + 2
    return text + ")"


# -- arrays -------------------------------------------------------------------------------------


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that an abbreviated array shows."""
    for axis, length in enumerate(array.shape):
        if length > 2 * EDGE:
            kept = [*range(EDGE), *range(length - EDGE, length)]
            array = array.take(kept, axis=axis)
    return array


def _nested(array: np.ndarray, show: Show, indent: int) -> str:
    """Brackets within brackets; one row a line, an empty line between matrices."""
    if not array.ndim:
        return show(array[()])
    abbreviated = array.size > THRESHOLD
    return _axis(array, show, indent, abbreviated)


def _axis(array: np.ndarray, show: Show, indent: int, abbreviated: bool) -> str:
    few = not abbreviated or len(array) <= 2 * EDGE
    parts = list(array) if few else [*array[:EDGE], *array[len(array) - EDGE :]]
    if array.ndim == 1:
        texts = [show(element) for element in parts]
        if not few:
            texts.insert(EDGE, " ...")
        return _row(texts, indent)
    texts = [_axis(part, show, indent + 1, abbreviated) for part in parts]
    if not few:
        texts.insert(EDGE, "...")
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(texts) + "]"


def _row(texts: Sequence[str], indent: int) -> str:
    """Elements beside each other, as many as a line takes."""
    each = max(1, (WIDTH - indent) // (len(texts[0]) + 2)) if texts else 1
    lines = [", ".join(texts[i : i + each]) for i in range(0, len(texts), each)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# -- elements -----------------------------------------------------------------------------------


def _formatter(shown: np.ndarray) -> Show:
    """How to write the elements of an array, all in one width."""
    match shown.dtype.kind:
        case "c":
            real, imag = _floats(shown.real), _floats(shown.imag)
            return lambda x: _complex(real(x.real), imag(x.imag))
        case "f":
            return _floats(shown)
        case "b":
            return _aligned(lambda x: str(bool(x)), shown)
        case _:
            return _aligned(lambda x: str(int(x)), shown)


def _aligned(show: Show, shown: np.ndarray) -> Show:
    width = max((len(show(x)) for x in shown.ravel()), default=0) if shown.ndim else 0
    return lambda x: show(x).rjust(width)


def _complex(real: str, imag: str) -> str:
    imag = imag.lstrip()
    return f"{real}{imag}j" if imag[0] == "-" else f"{real}+{imag}j"


def _floats(values: np.ndarray) -> Show:
    """Whole numbers as ``3.``, others with four decimals, or with exponents over wide ranges."""
    ordinary = values[np.isfinite(values) & (values != 0)]
    return _aligned(_float_style(np.abs(ordinary.astype(np.float64))), ordinary)


def _float_style(sizes: np.ndarray) -> Show:
    if not sizes.size:
        return _whole
    whole = bool(np.all(np.ceil(sizes) == sizes))
    smallest, largest = float(sizes.min()), float(sizes.max())
    if largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4):
        return lambda x: f"{x:.{PRECISION}e}"
    return _whole if whole else lambda x: f"{x:.{PRECISION}f}"


def _whole(x: Any) -> str:
    return f"{x:.0f}." if np.isfinite(x) else f"{x:.0f}"
