"""Takes the Tensors out of what a function has captured, to hand them over as arguments.

A hook, or the right side of a differential equation, may read Tensors of the function around it: in
its cells and defaults, in those of functions that it calls, in the arguments of a
`functools.partial`. What runs it apart from that function hands it other ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CellType, FunctionType
from typing import Any

from tracegrad.values.pytree import flatten, joiner

Filled = Callable[[Iterator[Any]], Any]
"""Makes an object anew, with the next Tensors in the places of those that it held."""

_EMPTY = CellType()


class Lifted:
    """A function of its arguments and, behind them, of the Tensors that it had captured."""

    def __init__(self, filled: Filled) -> None:
        self._filled = filled

    def __call__(self, *args: Any) -> Any:
        *own, captured = args
        return self._filled(iter(captured))(*own)


def lifted(function: Any, is_taken: Callable[[Any], bool]) -> tuple[Any, tuple[Any, ...]]:
    """A function that takes a tuple of Tensors behind its arguments, and these; else itself."""
    filled, captured = taken_out(function, is_taken)
    return (function, ()) if filled is None else (Lifted(filled), tuple(captured))


def taken_out(x: Any, is_taken: Callable[[Any], bool]) -> tuple[Filled | None, list[Any]]:
    """How to make an object anew, and the Tensors that were taken out of it; None without any."""
    captured: list[Any] = []
    return _filled_of(x, is_taken, captured, frozenset()), captured


def _filled_of(
    x: Any, is_taken: Callable[[Any], bool], captured: list[Any], around: frozenset[int]
) -> Filled | None:
    """How to make an object anew; None where no Tensor is in it. Adds those in it to `captured`."""
    if is_taken(x):
        captured.append(x)
        return next
    if id(x) in around:
        return None
    parts, make = _taken_apart(x)
    around |= {id(x)}
    inner = [_filled_of(part, is_taken, captured, around) for part in parts]
    if all(filled is None for filled in inner):
        return None
    made = make([filled is None for filled in inner])
    # What is made anew is not kept: it holds the Tensors of this call.
    kept = [
        part if filled is None and id(part) not in around else None
        for part, filled in zip(parts, inner, strict=True)
    ]

    def filled_anew(given: Iterator[Any]) -> Any:
        both = zip(kept, inner, strict=True)
        return made([part if filled is None else filled(given) for part, filled in both])

    return filled_anew


def _taken_apart(x: Any) -> tuple[Sequence[Any], Callable[[list[bool]], Callable[..., Any]]]:
    """The parts of an object that may hold Tensors, and what makes it of others.

    The latter is told which parts stay.
    """
    if type(x) is FunctionType:
        cells = [cell.cell_contents for cell in x.__closure__ or () if cell != _EMPTY]
        keywords = x.__kwdefaults__ or {}
        return [*cells, *(x.__defaults__ or ()), *keywords.values()], partial(_Template, x)
    if type(x) is partial:
        count, names = len(x.args), tuple(x.keywords)

        def applied(parts: list[Any]) -> Any:
            function, *rest = parts
            return partial(function, *rest[:count], **dict(zip(names, rest[count:], strict=True)))

        return [x.func, *x.args, *x.keywords.values()], lambda stays: applied
    leaves, spec = flatten(x)
    if len(leaves) == 1 and leaves[0] is x:
        return [], lambda stays: lambda parts: None
    join = joiner(spec, range(len(leaves)))
    return leaves, lambda stays: lambda parts: join(parts, ())


class _Template:
    """A function without what is given anew in its cells and defaults; other cells stay its own."""

    def __init__(self, function: FunctionType, stays: list[bool]) -> None:
        cells = function.__closure__ or ()
        flags = iter(stays)
        own = [_EMPTY if _holds_itself(cell, function) else cell for cell in cells]
        self._stays = [cell == _EMPTY or next(flags) for cell in cells]
        self._filled = [cell != _EMPTY for cell in cells]
        self._itself = [i for i, cell in enumerate(cells) if _holds_itself(cell, function)]
        self._defaults = len(function.__defaults__ or ())
        self._keywords = tuple(function.__kwdefaults__ or {})
        self._bare = _with_cells(
            function, [c if stays else _EMPTY for c, stays in zip(own, self._stays, strict=True)]
        )

    def __call__(self, parts: list[Any]) -> FunctionType:
        given = iter(parts)
        cells = []
        rows = zip(self._bare.__closure__ or (), self._filled, self._stays, strict=True)
        for cell, filled, stays in rows:
            inside = next(given) if filled else None
            cells.append(cell if stays else CellType(inside))
        for i in self._itself:
            cells[i] = CellType()
        made = _with_cells(self._bare, cells)
        made.__defaults__ = tuple([next(given) for _ in range(self._defaults)]) or None
        made.__kwdefaults__ = {name: next(given) for name in self._keywords} or None
        for i in self._itself:
            cells[i].cell_contents = made
        return made


def _with_cells(function: FunctionType, cells: Sequence[CellType]) -> FunctionType:
    """A function with other cells, without its defaults."""
    return FunctionType(
        function.__code__, function.__globals__, function.__name__, None, tuple(cells)
    )


def _holds_itself(cell: CellType, function: FunctionType) -> bool:
    """Whether a cell holds the function itself, which calls itself by it."""
    return cell != _EMPTY and cell.cell_contents is function
