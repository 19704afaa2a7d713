"""Shapes of lengths that nobody has looked at: ``x.reshape(len(x), -1)`` is for any length.

Functions of tracegrad, and those of NumPy's that are given Tensors, take a `Size` where a shape or
a number of elements is asked for. What is given here holds in all other calls too, or is a guard.
What does not fit is looked at, so errors are those of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codegen.sizes import Dim, Quotient, Size, Sizes, add, mul, quotient
from tracegrad.ops.shape import creation, joining, reshaping
from tracegrad.tensors import array_functions, torch_methods  # noqa: F401 they install methods
from tracegrad.tensors.tensor import Tensor


class Looked(Exception):
    """A length that is to be looked at."""


def dim_of(lengths: Any, x: Any) -> Any:
    """A length as what is known of it, where it is not below 0; what is no length as it is."""
    dim = getattr(x, "dim", None)  # a method of Tensors
    if not isinstance(dim, Size | int):
        return x
    dim = lengths.trace.sizes.resolve(dim)
    if not lengths.assume_some(dim):
        raise Looked
    return dim


def part_of_range(lengths: Any, start: Any, stop: Any, step: Any = 1) -> None:
    """Numbers are counted one by one up to a length, which is not below the first."""
    if not all(type(n) is int for n in (start, step)) or start < 0 or step != 1:
        raise Looked
    if not lengths.assume_some(add(stop, -start)):
        raise Looked


def _counts(lengths: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """What `arange` is given."""
    bounds = {**dict(zip(("start", "stop", "step"), given, strict=False)), **named}
    start, stop = bounds["start"], bounds.get("stop")
    start, stop = (0, start) if stop is None else (start, stop)
    part_of_range(lengths, start, stop, bounds.get("step", 1))


def _spaces(lengths: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """What `linspace` is given: the step is computed of a number."""
    if named.get("retstep") or given[4:]:
        raise Looked


def _shape(given: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """A shape that is given as a tuple, or as its lengths."""
    if not named.keys() <= {"shape", "order"}:
        raise Looked
    lengths = [*given, named["shape"]] if "shape" in named else given
    first = lengths[0] if len(lengths) == 1 else tuple(lengths)
    return first if isinstance(first, tuple) else (first,)


def _reshapes(lengths: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """A shape has as many elements as the array; its -1 is a length that the others tell."""
    wanted = _shape(given[1:], named)
    sizes, own = lengths.trace.sizes, given[0]._traced[1].type.shape
    known = [d for d in wanted if isinstance(d, Size) or (type(d) is int and d >= 0)]
    whole, part = sizes.resolve(mul(own)), sizes.resolve(mul(known))
    if len(known) == len(wanted):
        if sizes.value(whole) != sizes.value(part):
            raise Looked
        _divide_axes(sizes, own, wanted)
        return  # that they are equal is a guard of the op
    left = sizes.resolve(quotient(whole, part))
    told = sizes.value(left) * sizes.value(part) == sizes.value(whole)
    if (
        len(known) + 1 < len(wanted)
        or not told
        or _is_divided(left)
        or not lengths.assume_some(add(part, -1))
    ):
        raise Looked  # of no elements, -1 tells nothing


def _divide_axes(sizes: Sizes, own: Sequence[Dim], wanted: Sequence[Dim]) -> None:
    """Assumes that what divides an axis leaves nothing: ``x.reshape(n // 2, 2, m // 3, 3)``."""
    left = [sizes.resolve(d) for d in reversed(wanted)]
    for dim in own:
        part: Dim = 1
        while left and sizes.value(part) != sizes.value(dim):
            part = mul((part, left.pop()))
        divides = isinstance(part, Size) and any(
            isinstance(atom, Quotient) for atoms, _ in part.terms for atom in atoms
        )
        if sizes.value(part) != sizes.value(dim) or (divides and not sizes.same(dim, part)):
            return


def _is_divided(dim: Dim) -> bool:
    """Whether a length is a quotient of two that only the call knows."""
    atom = dim.atom() if isinstance(dim, Size) else None
    return isinstance(atom, Quotient) and isinstance(atom.by, Size)


def _broadcasts(lengths: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """An array can be repeated to a shape; -1 stands for the length that it has."""
    wanted = _shape(given[1:], named)
    value = lengths.trace.sizes.value
    own = tuple(map(value, given[0]._traced[1].type.shape))
    own = (*[1] * (len(wanted) - len(own)), *own)
    if not all(isinstance(d, Size | int) for d in wanted) or len(own) != len(wanted):
        raise Looked
    pairs = [(n, n if d == -1 else value(d)) for n, d in zip(own, wanted, strict=True)]
    if any(n not in (1, to) for n, to in pairs):
        raise Looked


@dataclass(frozen=True)
class Taking:
    """What an operation takes: the names of its parameters, of which the last may be several."""

    names: tuple[str, ...]
    shapes: frozenset[str]
    numbers: frozenset[str] = field(default_factory=frozenset)
    fits: Callable[[Any, Sequence[Any], Mapping[str, Any]], None] | None = None
    of_tensor: bool = False  # the first operand is one of the trace

    def name(self, i: int) -> str:
        """The name of a parameter by its place; that of the last for all behind."""
        return self.names[min(i, len(self.names) - 1)]


def _makes(*names: str, shapes: str = "shape", numbers: str = "", fits: Any = None) -> Taking:
    return Taking(names, frozenset(shapes.split()), frozenset(numbers.split()), fits)


def _takes(*names: str, fits: Any = None) -> Taking:
    return Taking(("x", *names), frozenset(names), fits=fits, of_tensor=True)


def shaped(
    lengths: Any, operation: Any, operands: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """What an operation is given, with sizes for lengths; None where they are to be looked at.

    `lengths` are those of the run, `operation` one of `TAKING`.
    """
    how = TAKING[id(operation)]
    if how.of_tensor and not (operands and lengths.loops.is_recorded(operands[0])):
        return None
    try:
        given = [_taken(lengths, how, how.name(i), x) for i, x in enumerate(operands)]
        named = {name: _taken(lengths, how, name, x) for name, x in keywords.items()}
        if how.fits is not None:
            how.fits(lengths, given, named)
    except Looked:
        return None
    return given, named


def _taken(lengths: Any, how: Taking, name: str, x: Any) -> Any:
    if name in how.shapes:
        if type(x) not in (tuple, list):
            return dim_of(lengths, x)
        if name not in _SEVERAL:
            raise Looked
        return tuple([dim_of(lengths, item) for item in x])
    return lengths.tensor(x) if name in how.numbers else lengths.looked(x)


_SEVERAL = frozenset({"shape", "reps"})
"""Parameters that take tuples of lengths."""
METHODS: Any = Tensor
"""Its methods, which are installed."""


def _alike(how: Taking, *operations: Any) -> dict[int, Taking]:
    return dict.fromkeys(map(id, operations), how)


TAKING: dict[int, Taking] = {
    **_alike(_makes("shape"), creation.zeros, creation.ones, creation.empty),
    **_alike(_makes("shape", "fill_value", "", numbers="fill_value"), creation.full),
    **_alike(
        _makes("start", "stop", "num", "", shapes="num", numbers="start stop", fits=_spaces),
        creation.linspace,
    ),
    **_alike(_makes("n_rows", "n_cols", "", shapes="n_rows n_cols"), creation.eye, creation.tri),
    **_alike(_makes("n", "", shapes="n"), creation.identity),
    **_alike(
        _makes("start", "stop", "step", "", shapes="start stop", fits=_counts), creation.arange
    ),
    **_alike(
        _takes("shape", fits=_reshapes),
        *(METHODS.reshape, METHODS.view, reshaping.reshape, np.reshape),
    ),
    **_alike(
        _takes("shape", fits=_broadcasts),
        *(METHODS.broadcast_to, torch_methods.expand, reshaping.broadcast_to, np.broadcast_to),
    ),
    **_alike(
        Taking(("x", "repeats", "axis"), frozenset({"repeats"}), of_tensor=True),
        *(METHODS.repeat, joining.repeat, np.repeat),
    ),
    **_alike(_takes("reps"), METHODS.tile, joining.tile, np.tile),
}
"""The operations, by id."""
