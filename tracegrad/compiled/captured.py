"""What a program reads from outside the function: arrays, Tensors and numbers, at every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from codegen.ir import Graph
from tracegrad.differentiation.loops.cotangent_flow import with_cotangents
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tensors.coercion import bare_memory
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import is_jax_array
from tracegrad.world import Guard
from tracegrad.world.guards import ITEM, PACKED
from tracegrad.world.number_inputs import Count, is_number_read


def memory(holder: Any) -> Any:
    """The array that a Tensor holds; an array itself."""
    return getattr(holder, "_array", holder)


def numbers_of_jax(array: Any) -> np.ndarray | None:
    """The numbers of an array of JAX; None of anything else that has come to stand there."""
    return np.asarray(array) if is_jax_array(array) else None


@dataclass(frozen=True)
class Captured:
    """An array or Tensor from outside the function, and where it is read from at every call."""

    name: str
    holder: Any
    source: Guard | None  # the one place that holds it; without one it stays this object
    dtype: str
    ndim: int
    made: bool = False  # by the function itself: it is the same on every call
    brought: bool = False  # an array of JAX, of which a program of NumPy's gets the numbers
    placed: Callable[[np.ndarray], Any] | None = None  # what puts it on a device, of one made

    @cached_property
    def on_device(self) -> Any:
        """An array that the function makes, where programs for JAX have it."""
        assert self.placed is not None
        return self.placed(self.holder)

    @property
    def place(self) -> str:
        """Where it stands, as the user would say it."""
        return self.name if self.source is None else self.source.text

    @property
    def key(self) -> Any:
        """What tells it apart: where it is read, or which object it is."""
        return id(self.holder) if self.source is None else self.source.place

    def stands_at(self, guard: Guard) -> bool:
        """Whether it is the array that a guard reads."""
        if self.source is None:
            return self.holder is guard.value
        return self.source.place == guard.place

    def now(self) -> Any:
        """The array or Tensor that is there now."""
        return self.holder if self.source is None else self.source.now()

    def given(self) -> Any:
        """What a program gets of it, in the Tensor where it is one."""
        return numbers_of_jax(self.now()) if self.brought else self.now()

    def array(self, placed: bool = True) -> Any:
        """What that holds; `placed` on a device, where it is one that the function makes."""
        if self.placed:
            return self.on_device if placed else self.holder
        return plain(memory(self.given()) if self.ndim else bare_memory(self.given()))

    def fits(self, array: Any) -> bool:
        """Whether the program takes this array, or this float."""
        if is_number_read(self.holder):
            return type(array) is self.kind
        return (
            (isinstance(array, np.ndarray) or is_jax_array(array))
            and array.dtype.name == self.dtype
            and array.ndim == self.ndim
        )

    @property
    def kind(self) -> type:
        """The type of what stands there, as the caller knows it."""
        return int if type(self.holder) is Count else type(self.holder)

    @property
    def may_change_type(self) -> bool:
        """Whether each call that reads it asks its type.

        Of Tensors and lists of numbers, and of numbers in lists, the state's guards do.
        """
        if self.source is None or isinstance(self.holder, Tensor):
            return False
        in_list = self.source.read == ITEM and is_number_read(self.holder)
        return self.source.read != PACKED and not in_list

    @property
    def requires_grad(self) -> bool:
        """Whether a Tensor that requires grad is there now."""
        try:
            return getattr(self.now(), "requires_grad", False) is True
        except Exception:  # nothing is there any more, which the version's guards tell
            return False

    @property
    def stands(self) -> bool:
        """Whether something of its type stands there."""
        return not self.may_change_type or type(self.now()) is self.kind

    def text(self, names: dict[str, Any]) -> str:
        """Python that reads the array, over names that are added to `names`."""
        if self.source is None:
            read = f"held_{self.name}"
            names[read] = self.on_device if self.placed else self.holder
        else:
            read = self.source.expression(f"_of_{self.name}", names)
        if self.brought:
            names["numbers_of_jax"] = numbers_of_jax
            return f"numbers_of_jax({read})"
        if isinstance(self.holder, Tensor) and not self.ndim:  # it may hold a number by now
            names["bare_memory"] = bare_memory
            return f"bare_memory({read})"
        return f"{read}._array" if isinstance(self.holder, Tensor) else read


def decisive(graph: Graph, captured: Sequence[Captured]) -> tuple[Captured, ...]:
    """The Tensors from outside on which what a call returns or leaves depends.

    Where one of them requires grad, results do. `captured` are the last inputs of the graph.
    """
    if not any(isinstance(one.holder, Tensor) for one in captured):
        return ()
    flowing = with_cotangents(graph)
    pairs = zip(reversed(graph.inputs), reversed(captured), strict=False)
    return tuple(
        [one for value, one in pairs if isinstance(one.holder, Tensor) and value in flowing]
    )
