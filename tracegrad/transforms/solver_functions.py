"""The functions that a solver of SciPy's is given, apart from the Tensors that they have captured.

A solver calls them on plain numbers; where its result is differentiated, they run on Tensors again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.user_code.captures import Filled, taken_out
from tracegrad.values.pytree import TreeSpec, flatten, unflatten
from tracegrad.world.scipy_table import is_tensor


class Functions:
    """Functions of what they have captured."""

    def __init__(self, functions: tuple[Any, ...], filled: Filled | None) -> None:
        self._functions = () if filled else functions  # those hold the Tensors of one call
        self._filled = filled

    def of(self, captured: Sequence[Any]) -> Sequence[Any]:
        """The functions, with these in the places of the Tensors that they held."""
        filled = self._filled
        return self._functions if filled is None else filled(iter(captured))


def taken_from(*functions: Any) -> tuple[Functions, tuple[Any, ...]]:
    """The functions that a solver is given, and the Tensors that they have captured."""
    filled, captured = taken_out(functions, is_tensor)
    if filled is None and all(type(f) is FunctionType for f in functions):
        return _without_tensors(functions), ()
    return Functions(functions, filled), tuple(captured)


@lru_cache(maxsize=64)
def _without_tensors(functions: tuple[Any, ...]) -> Functions:
    """One for the same functions, so that what is compiled of it is found again."""
    return Functions(functions, None)


def tuple_of(args: Any) -> tuple[Any, ...]:
    """Further arguments as SciPy takes them: one of them may stand alone."""
    return args if isinstance(args, tuple) else (args,)


def untraced(name: str, option: str, instead: str) -> ArgumentError:
    """The error for an option of a solver that no program knows."""
    return ArgumentError(
        f"{name} takes no {option} where values are traced: {instead}"
    ).as_refusal()


def number_of(x: Any) -> float:
    """A number, of which no derivative is taken."""
    return float(np.asarray(x))


class Parameters:
    """The floating-point leaves of what a function is given, and the others."""

    def __init__(self, given: Any) -> None:
        leaves, self.spec = flatten(given)
        kinds = [np.asarray(getattr(leaf, "_array", leaf)).dtype.kind for leaf in leaves]
        self.places = tuple([i for i, kind in enumerate(kinds) if kind == "f"])
        self.floats = [leaves[i] for i in self.places]
        self.rest = [leaf for i, leaf in enumerate(leaves) if i not in self.places]

    @property
    def structure(self) -> tuple[TreeSpec, tuple[int, ...]]:
        """By which what is compiled of a function is found again."""
        return self.spec, self.places

    def cotangents(self, bars: Sequence[Any]) -> Any:
        """What was given, with cotangents for its floating-point leaves and zeros elsewhere."""
        left: Iterator[Any] = iter(bars)
        count = len(self.floats) + len(self.rest)
        return unflatten(self.spec, [next(left) if i in self.places else 0.0 for i in range(count)])
