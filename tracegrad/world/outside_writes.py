"""Arrays that a run without a program cannot replace, and writes recorded values to.

``state.buffer[i] = x``, where `x` is differentiated: the caller's array holds numbers alone. So
from the first such write on, operations are given a Tensor in its place, of memory of its own, and
for each view of the array a view of that Tensor. The function itself keeps the array in its
variables, so who is who stays as it is. When the run is over, the array gets the numbers.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from copy import copy
from functools import partial
from itertools import chain, cycle, islice, pairwise, product, repeat, zip_longest
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any
from weakref import ref

import numpy as np

from tracegrad.arguments.argument_changes import refuse_overlap
from tracegrad.machine import natives
from tracegrad.runtime.array_manners import note_arrays
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import memory_of
from tracegrad.tape.views import memory_at, place_of
from tracegrad.tape.write_checks import stamp
from tracegrad.tensors.coercion import with_memory
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.lost_conversions import written_into_plain
from tracegrad.user_code.program_points import variables
from tracegrad.values.dispatch import NUMERIC
from tracegrad.world import native_tables
from tracegrad.world.array_to_tensor import (
    Holders,
    Keywords,
    Operands,
    held_by_function,
    iterators_over,
    may_look_at,
    renewed_of,
    shows_memory,
    way_to,
    written_by,
)

Copies = dict[int, tuple[Any, Any]]
"""Containers with Tensors for arrays, and the function's own, by id."""


class OutsideWrites:
    """The arrays of one run that are written so, with the Tensors in their place."""

    def __init__(self) -> None:
        self._tensors: dict[int, tuple[np.ndarray, Tensor]] = {}  # by id of who owns the memory
        self._shown: dict[int, tuple[ref[Tensor], np.ndarray]] = {}  # by id of the Tensor

    def __bool__(self) -> bool:
        return bool(self._tensors)

    def enter(self, world: Any, array: np.ndarray) -> Tensor:
        """The Tensor in the place of an array, which is written recorded values for once."""
        root = memory_of(array)
        if id(root) not in self._tensors:
            if type(root) is not np.ndarray or root.base is not None:
                raise written_into_plain()  # other arrays may share memory that nobody knows of
            if root.dtype.kind not in NUMERIC:
                raise written_into_plain()
            if any(memory_of(x) is root for x in world.arrays_given()):
                refuse_overlap(next(filter(None, variables(lambda x: x is array)), "x"))
            self._enter(root, held_by_function(world))
        return self.tensor_of(array)

    def _enter(self, root: np.ndarray, holders: Holders) -> None:
        inside = [x for _, inner in holders for x in inner]
        if any(shows_memory(x, root) for x in inside):
            raise written_into_plain()
        family = {id(x): x for x in inside if x is root or may_look_at(x, root)}
        puts = iterators_over(holders, set(family))
        tensor = wrap(with_memory(root.copy(order="K")))
        note_arrays([tensor])
        self._tensors[id(root)] = root, tensor
        self._note(tensor, root)
        STATE.update(rewritten=True)
        if puts:  # the iterators go through Tensors
            renewed = {key: self.tensor_of(x) for key, x in family.items()}
            for put, x in puts:
                put(renewed_of(x, renewed))

    def _note(self, tensor: Tensor, array: np.ndarray) -> None:
        gone = partial(self._forget, id(tensor))
        self._shown[id(tensor)] = ref(tensor, gone), array

    def _forget(self, key: int, _: Any) -> None:
        self._shown.pop(key, None)

    def roots(self) -> list[np.ndarray]:
        """The arrays, each the owner of its memory."""
        return [root for root, _ in self._tensors.values()]

    # -- what operations are given ----------------------------------------------------------------

    def tensor_of(self, x: Any) -> Any:
        """The Tensor for one of the arrays or a view of it; anything else as it is."""
        if not issubclass(type(x), np.ndarray):  # a Tensor says that it is one
            return x
        owner = memory_of(x)
        known = self._tensors.get(id(owner))
        if known is None:
            if owner.base is not None and self._is_shown_by(x):
                raise written_into_plain()
            return x
        root, tensor = known
        if x is root:
            return tensor
        view = way_to(root, x)(tensor)
        note_arrays([view])
        self._note(view, x)
        return view

    def _is_shown_by(self, x: np.ndarray) -> bool:
        """Whether one of the arrays is shown by what `as_strided` gave, which tells no owner."""
        return any(np.may_share_memory(x, root) for root, _ in self._tensors.values())

    def within(self, x: Any, copies: Copies) -> Any:
        """The same of what lists, tuples, dicts and slices hold; `copies` are added to."""
        kind = type(x)
        if kind is list or kind is tuple:
            found = kind([self.within(item, copies) for item in x])
            if not any(map(operator.is_not, found, x)):
                return x
        elif kind is dict:
            found = {key: self.within(value, copies) for key, value in x.items()}
            if not any(found[key] is not x[key] for key in x):
                return x
        elif kind is slice:
            return slice(*map(self.tensor_of, (x.start, x.stop, x.step)))
        else:
            return self.tensor_of(x)
        copies[id(found)] = found, x
        return found

    def given(
        self, operation: Any, operands: Operands, keywords: Keywords, copies: Copies
    ) -> tuple[Any, Operands, Keywords]:
        """An operation and its operands, with Tensors for the arrays.

        `copies` are added to: the containers that it gets in place of the function's.

        What only hands on what it is given gets the arrays themselves; what hands on the items of
        containers, those containers.
        """
        if _hands_on(operation, operands):
            return operation, operands, keywords
        written = written_by(operation, operands, keywords)
        if any(type(x) is np.ndarray and not x.flags.writeable for x in written):
            raise ValueError("assignment destination is read-only")
        whole = _hands_on_items(operation, operands)

        def known(x: Any) -> Any:
            return self.tensor_of(x) if whole else self.within(x, copies)

        keywords = {name: known(x) for name, x in keywords.items()}
        first, operands = operands[:1], tuple(map(known, operands))
        swapped = bool(first) and operands[0] is not first[0] and type(operands[0]) is Tensor
        if swapped and isinstance(operation, MethodDescriptorType | WrapperDescriptorType):
            operation = getattr(Tensor, operation.__name__, operation)
        return operation, operands, keywords

    def array_of(self, x: Any) -> Any:
        """The array in whose place a Tensor is; anything else as it is."""
        known = self._shown.get(id(x)) if type(x) is Tensor else None
        return x if known is None or known[0]() is not x else known[1]

    def handed_on(self, result: Any, copies: Copies) -> Any:
        """What an operation gives, with the function's own arrays and containers.

        A list that it has made (`sorted`) may hold some of these.
        """
        if id(result) in copies:
            return copies[id(result)][1]
        if copies and type(result) in (list, tuple):
            items = [self.handed_on(item, copies) for item in result]
            if any(map(operator.is_not, items, result)):
                if type(result) is tuple:
                    return tuple(items)
                result[:] = items
        return self.array_of(result)

    # -- when the run is over ---------------------------------------------------------------------

    def left(self, x: Tensor) -> Any:
        """The part of an array that the function leaves somewhere as a view of its Tensor."""
        base, path = place_of(x)
        array = self.array_of(base)
        return None if array is base else memory_at(array, path)

    def settle(self) -> None:
        """The arrays get the numbers."""
        for root, tensor in self._tensors.values():
            np.copyto(root, np.asarray(tensor._array))  # it may be on a device
            stamp(root)
        self._tensors.clear()
        self._shown.clear()


def _hands_on(operation: Any, operands: Operands) -> bool:
    """Whether an operation asks nothing of arrays: who they are, or where they stand."""
    key = id(operation)
    if key in native_tables.ASKS_WHO or key in _SETTING:
        return True
    changes = key in native_tables.MUTATORS or key in native_tables.CHANGES_FIRST
    return changes and bool(operands) and not issubclass(type(operands[0]), np.ndarray | Tensor)


_SETTING = frozenset(map(id, (setattr, object.__setattr__)))


def _hands_on_items(operation: Any, operands: Operands) -> bool:
    """Whether an operation asks nothing of what containers hold: it gives it, or who goes through.

    Others would get containers with Tensors for the arrays, in which a function that gets them
    from there would leave its changes.
    """
    key = id(operation)
    if key == id(operator.getitem):  # of an array, the index may hold arrays
        return not issubclass(type(operands[0]), np.ndarray)
    if key in _JOINING:
        return all(type(x) in (list, tuple, dict, int) for x in operands)
    if key in _GROWING:
        return type(operands[0]) in native_tables.CONTAINERS
    return key in _HANDING_ON_ITEMS


_JOINING = frozenset(map(id, (operator.add, operator.mul, operator.concat, operator.or_)))
_GROWING = frozenset(map(id, (operator.iadd, operator.imul, operator.ior, operator.iconcat)))
_READING = {
    list: "copy __iter__ __getitem__ __reversed__ __len__",
    tuple: "__iter__ __getitem__ __len__",
    dict: "copy get items keys values __iter__ __getitem__ __reversed__ __len__",
    OrderedDict: "copy items keys values __iter__ __reversed__",
    deque: "copy __copy__ __iter__ __getitem__ __reversed__ __len__",
}
_HANDING_ON: tuple[Any, ...] = (
    *(vars(cls)[name] for cls, names in _READING.items() for name in names.split()),
    *(iter, next, len, reversed, enumerate, zip, list, tuple, dict, deque, OrderedDict),
    *(vars, getattr, bool, operator.not_, operator.truth, copy),
    *(chain, chain.from_iterable, cycle, islice, pairwise, product, repeat, zip_longest),
    *(natives.unpack_sequence, natives.unpack_starred, natives.list_extend),
    *(natives.dict_update, natives.dict_merge, natives.list_to_tuple),
    *(natives.match_keys, natives.match_class, natives.is_mapping, natives.is_sequence),
)
_HANDING_ON_ITEMS = frozenset(map(id, _HANDING_ON))
