"""Tensors in place of a caller's arrays and numbers, and what they are in the caller's eyes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from types import CellType
from typing import Any

import numpy as np

from tracegrad import machine
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.own_references import OwnReference
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import memory_of
from tracegrad.tensors import numpy_words
from tracegrad.tensors.devices import bare
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.caught_refusals import is_refusal, note_handler, note_match
from tracegrad.user_code.lost_gradients import succeeds
from tracegrad.world import native_tables
from tracegrad.world.array_to_tensor import Keywords, Operands, received, swapped, written_by
from tracegrad.world.fresh_arrays import made_by
from tracegrad.world.lengths import Length
from tracegrad.world.library_classes import enter_libraries
from tracegrad.world.native_readers import refuse_unseen, refuse_values
from tracegrad.world.row_iterators import Rows
from tracegrad.world.stored_by_natives import NEAREST, telling
from tracegrad.world.tensor_places import ATTRIBUTE, CELL, ITEM, VARIABLE, Kept, added


class StandIns(machine.World):
    """What Tensors, and copies of containers, are in the eyes of the function's caller."""

    opaque = frozenset({id(Tensor), id(Rows), id(Length)})
    watches_c = True
    loops: Any = None  # those of the run, where they may stay loops
    lengths: Any = None  # those of the run, where loops may be of any length

    def __init__(self) -> None:
        self._views: dict[int, list[OwnReference]] = {}  # arrays that show another's memory, by it
        self._made: dict[int, OwnReference] = {}  # arrays, by C code
        self._originals: dict[int, tuple[Any, Any]] = {}  # both kept alive, by id of the first
        enter_libraries()
        self.kept = Kept(self._originals)
        self.own_leaves: dict[int, Any] = {}  # what the function itself made to differentiate by
        self.shared: set[int] = set()  # ids of containers that arguments have at several places
        self.in_other_form = False  # the run has arguments otherwise than given: see `AsGiven`
        self.holds_jax = False  # some Tensors stand for arrays of JAX
        self.reads_key_order = False  # the order of the keys of a dictionary among the arguments

    def denies(self, x: Any, name: str) -> bool:
        """Whether the array that a Tensor stands for has no such attribute, and the Tensor does."""
        if type(x) is not Tensor:
            return False
        kind = x.__class__
        return kind is not Tensor and not hasattr(kind, name)

    def handles(self, error: BaseException) -> None:
        note_handler(error)

    def catches(self, error: BaseException, kinds: Sequence[type]) -> None:
        note_match(error, kinds)

    def withholds(self, error: AttributeError) -> bool:
        return is_refusal(error)

    def shows(
        self, operation: Any, operands: Operands, keywords: Mapping[str, Any], result: Any
    ) -> Any:
        """What C code gave: of arrays it is remembered who made them, and at what they look."""
        for x in made_by(operation, operands, keywords, result):
            self._made[id(x)] = OwnReference(x, partial(self._made.pop, id(x)))
        if type(result) is np.ndarray and result.base is not None:
            self._views.setdefault(id(result.base), []).append(OwnReference(result))
        made = result
        if result is None and operands and getattr(operation, "__name__", "") == "__init__":
            made = operands[0]
        kind = type(made)  # a Tensor would ask who wants to know
        if issubclass(kind, deque) and isinstance(operation, type):
            self.kept.made_again(made)  # it holds arrays when the run is over
        elif issubclass(kind, BaseException) and made.args:
            self.kept.writes(ATTRIBUTE, made, "args", made.args)  # and so does this
        return result

    def has_made(self, array: Any) -> bool:
        """Whether C code made an array in this run, of which it was told."""
        known = self._made.get(id(array))
        return known is not None and known() is array

    def views_of(self, array: Any) -> list[Any]:
        """The arrays that look at the memory of another one, made by the function."""
        known = [view() for view in self._views.get(id(array), ())]
        return [view for view in known if view is not None and view.base is array]

    def is_outside(self, x: Any) -> bool:
        """Whether an object was there before the run."""
        return False

    def is_array_to_caller(self, x: Any) -> bool:
        """Whether a Tensor is an array or number of NumPy's in the eyes of the function's caller.

        Without a trace it is what it is to the function.
        """
        return is_array_to_function(x)

    def tensor_in_place_of(
        self, array: np.ndarray, operands: Operands | None, recorded: bool = True
    ) -> Tensor:
        """The Tensor that takes the place of an array that is written to.

        What is written is `recorded`, or an op has read the array before.
        """
        return swapped(self, array, operands)

    def arrays_given(self) -> list[Any]:
        """The caller's arrays that Tensors stand for."""
        return [original for _, original in self._originals.values()]

    def written_over(self) -> list[np.ndarray]:
        """The arrays from outside that have Tensors in their places, as the run writes to them."""
        return []

    def runs_unseen(self, callee: Any, given: Iterable[Any]) -> None:
        """C code may call what it is given, which nobody follows: refused if it reads those."""
        refuse_unseen(callee, given, self.written_over())

    def as_to_caller(self, x: Any) -> Any:
        """What C code that nobody knows is given for a Tensor: an array, or a number."""
        if not self._is_value(x):
            return x
        found, original = bare(x), self.original(x)
        if type(original) is np.ndarray and memory_of(original) is memory_of(found):
            found = original
        x._became((found,))
        return found

    def given_away(
        self, callee: Any, operands: Operands, keywords: Keywords
    ) -> tuple[Operands, Keywords]:
        """The same of all that it is given; lists that it may keep hold none when the run ends."""
        given = (*operands, *keywords.values())
        if given and isinstance(given[0], ContextVar):
            if len(given) > 1:
                self.kept.writes(VARIABLE, given[0], None, given[1])
            return operands, keywords
        if type(callee) is not native_tables.CACHED:  # which runs nothing in a thread
            refuse_values(callee, given, self._is_value)
        self.kept.puts(operands, [x for x in given if type(x) in (list, dict)])
        named = {name: self.as_to_caller(x) for name, x in keywords.items()}
        return tuple(map(self.as_to_caller, operands)), named

    def _is_value(self, x: Any) -> bool:
        return type(x) is Tensor and self.is_array_to_caller(x)

    def holds(self, owner: Any, function: Any) -> None:
        """An object of tracegrad's calls a function of the user's that it holds."""

    def calls_natively(self, thing: Any, name: str) -> None:
        """An object with a function of the user's is called as it is: `name` says which."""

    def stores_natively(self, rule: Any, users: Any, history: bool) -> AbstractContextManager[None]:
        """Around a call of the user's functions in a rule: what these store is noted.

        It is lost to a gradient if they are called on values with a `history`.
        """
        if STATE.watch is None or not history:
            return nullcontext()
        return telling(users, rule.__name__, lambda holder, of: None, NEAREST)

    def perform(self, operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
        """What C code does, or what is done in place of it."""
        raise NotImplementedError

    def native(self, operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
        """The gate: numbers that are read of what is differentiated are followed through it."""
        if self.lengths is not None:
            taken = self.lengths.taken(operation, operands, keywords)
            if taken is not None:
                operands, keywords = taken
                if keywords is None:
                    return operands
        if keywords or (operands and type(operands[0]) in _WRITTEN):
            operation, operands, keywords = received(self, operation, operands, keywords)
        watch = STATE.watch
        try:
            if watch is None:
                return self.perform(operation, *operands, **keywords)
            return watch.around(
                self.perform, (operation, *operands), keywords, partial(written_by, operation)
            )
        except (AttributeError, BufferError, TypeError, ValueError) as error:
            if STATE.trace is not None:
                STATE.trace.blame_for(error)
            numpy_words.put(error, (operation, *operands))
            raise

    # -- what the function writes -----------------------------------------------------------------

    def store_global(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.writes(ITEM, names, name, value)
        super().store_global(names, name, value)

    def store_cell(self, cell: CellType, name: str, value: Any) -> None:
        self.writes(CELL, cell, None, value)
        super().store_cell(cell, name, value)

    def set_own_attribute(self, x: Any, name: str, value: Any) -> None:
        self.writes(ATTRIBUTE, x, name, value)
        try:
            super().set_own_attribute(x, name, value)
        except AttributeError as error:
            numpy_words.put(error, (x,))
            raise

    def writes(self, kind: int, holder: Any, name: Any, value: Any) -> None:
        """The function is about to write a value to a place, inside or outside."""
        self.kept.writes(kind, holder, name, value)

    def written(self) -> list[Any]:
        """What the function has put into places that it did not make."""
        return self.kept.values()

    def swaps(self, array: Any, tensor: Any) -> None:
        """A Tensor takes an array's place there; or a tuple with it that of one with the array."""
        self.kept.swap(array, tensor)

    def puts(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The function calls a method that changes the first operand, perhaps by the others."""
        self.kept.puts(operands[0], added(operands, keywords))

    def differentiates_by(self, leaves: Iterable[Tensor]) -> None:
        """A derivative within the function has these as its own leaves."""

    def goes_outside(self, x: Tensor) -> bool:
        """Whether the history of a Tensor is not that of derivatives within the function alone."""
        return True

    def is_own_leaf(self, x: Any) -> bool:
        """Whether the function has made a Tensor itself, to differentiate by it: it stays that."""
        return self.own_leaves.get(id(x)) is x

    # -- who is who -------------------------------------------------------------------------------

    def stands_for(self, given: Any, original: Any) -> None:
        """Remembers what an object is in the eyes of the function's caller."""
        if given is not original:
            self._originals[id(given)] = (given, self.original(original))
            succeeds(given, original)

    def original(self, x: Any) -> Any:
        """What an object is in the eyes of the function's caller."""
        known = self._originals.get(id(x))
        return x if known is None else known[1]


_WRITTEN = frozenset({np.ndarray, np.flatiter, np.ufunc, Tensor})
