"""Functions from outside: what a call of one reads of it, as guards.

A function that stays who it is is guarded by identity. One that a call makes anew (a lambda over
variables of the function around it) is another object in each call: it is known by its place, as
objects are that others of their class replace. Its code and its globals are guarded then, and what
is read of its cells, its defaults, of the object that a method is bound to, and of what a partial
holds is read there again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from inspect import Parameter
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from tracegrad.runtime.own_references import keeps_programs
from tracegrad.world import native_tables
from tracegrad.world.callable_names import text_of_key
from tracegrad.world.code_origin import is_interpreted, is_of_tracegrad, is_trusted
from tracegrad.world.events import Told
from tracegrad.world.guards import ATTRIBUTE, CELL, CLOSURE, ITEM, KEYS, PLAIN, Guard

PARTS = (FunctionType, CellType, MethodType, partial)
"""What functions consist of, which may be known by its place."""

MADE_SO = ("_transform", "_backend", "_static")
"""The attributes of a compiled function that tell how it was made of its own."""

EMPTY = CellType()
_ASKS_NO_PART = frozenset({id(callable), id(isinstance), id(type)})


class FunctionPlace:
    """Where the function stands that programs are of: they are for others of its code as well."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function


def is_made_anew(x: Any) -> bool:
    """Whether a callable may be one that each call makes anew, of which all can be read again."""
    if type(x) is FunctionType:
        local = bool(x.__closure__) or "<" in x.__code__.co_qualname
        return local and (is_interpreted(x.__globals__) or _is_of_functions(x))
    if keeps_programs(x):
        return not has_defaults(x)
    return type(x) is MethodType or type(x) is partial


def _is_of_functions(x: FunctionType) -> bool:
    """Whether a function of tracegrad's, which runs natively, is made of functions alone."""
    if x.__defaults__ or x.__kwdefaults__ or x.__dict__ or not is_of_tracegrad(x.__globals__):
        return False
    values = [cell.cell_contents for cell in x.__closure__ or () if cell != EMPTY]
    return all(type(v) in PLAIN or is_made_anew(v) or type(v) is FunctionType for v in values)


def _is_of_tracegrad(x: Any) -> bool:
    """Whether a function is one of tracegrad's that runs natively: `inside` enters its parts."""
    return type(x) is FunctionType and is_of_tracegrad(x.__globals__)


def has_defaults(compiled: Any) -> bool:
    """Whether calls of a compiled function may leave out arguments."""
    parameters = compiled._signature.parameters.values()
    return any(p.default is not Parameter.empty for p in parameters)


class Functions(Told):
    """The part of a world that reads functions."""

    _by_path: dict[int, Guard]
    machine: Any
    arguments: Any
    enter: Callable[[Any, str], Any]
    guard: Callable[[str, Any, Any, Any, str], Guard]
    read: Callable[[str, Any, Any, Any, str], Any]
    pin: Callable[[Any], None]
    contents_of: Any
    item_of_tuple: Callable[..., Any]
    text_of: Callable[[Any], str]
    _noted: Callable[[str, Any, Any, Any, str], Guard]
    _enter_at: Callable[[Guard, Any, str], Any]

    def __init__(self) -> None:
        super().__init__()
        self.anew = False  # the function itself is known by its place

    def enter_function(self, place: FunctionPlace, text: str) -> None:
        """The function that runs: other calls have others of its code in its place."""
        self.anew = True
        function = place.function
        self._by_path[id(function)] = self.guard(ATTRIBUTE, place, "function", function, text)
        self._sources[id(function)] = (function, text)

    def parts_of(self, function: FunctionType) -> tuple[Any, ...]:
        code, *defaults, closure, scope = super().parts_of(function)
        self.has_handlers = self.has_handlers or bool(code.co_exceptiontable)
        if id(function) not in self._sources:
            return code, *defaults, closure, scope
        by_path = id(function) in self._by_path
        if is_trusted(function.__globals__) and not by_path:
            self._enter_cells(function)  # a wrapper: what it wraps is in its cells
            return code, *defaults, closure, scope
        text = self.text_of(function)
        names = function.__globals__
        self._sources.setdefault(id(names), (names, "globals()"))
        self.guard(ATTRIBUTE, function, "__code__", function.__code__, f"the code of {text}")
        if by_path:
            self.guard(ATTRIBUTE, function, "__globals__", names, f"the names of {text}")
        for i, name in enumerate(("__defaults__", "__kwdefaults__")):
            value, of = defaults[i], f"the defaults of {text}"
            if value is not None:
                guard = self.guard(ATTRIBUTE, function, name, value, of)
                self._enter_at(guard, value, of) if by_path else self.enter(value, of)
                defaults[i] = self._enter_defaults(value)
            elif by_path:
                self.guard(ATTRIBUTE, function, name, None, of)
        self._enter_cells(function)
        return code, *defaults, closure, scope

    def _enter_defaults(self, values: Any) -> Any:
        """The defaults of a function's parameters; of arguments of the run, that they are those.

        Arrays are given as what stands for them, so that they can be written to.
        """
        if id(values) in self._by_path:
            return self._items_at(values)
        items = list(values.items() if type(values) is dict else enumerate(values))
        of_call = self.machine.frame is None and any(id(x) in self.arguments for _, x in items)
        if not of_call:
            self.contents_of(values)
        found = []
        for key, x in items:
            text = f"{self.text_of(values)}[{text_of_key(key)}]"
            if of_call and id(x) in self.arguments:
                self.guard(ITEM, values, key, x, text)
            elif of_call:
                self.contents_of(self.read(ITEM, values, key, x, text))
            elif type(x) is np.ndarray:
                x = self.read(ITEM, values, key, x, text)
            found.append((key, x))
        return dict(found) if type(values) is dict else tuple([x for _, x in found])

    def _items_at(self, values: Any) -> Any:
        """What a tuple or dictionary of arguments holds that is known by its place."""
        text = self.text_of(values)
        if type(values) is tuple:
            return tuple([self.item_of_tuple(values, i) for i in range(len(values))])
        self.guard(KEYS, values, None, tuple(values), f"the names of {text}")
        return {k: self.read(ITEM, values, k, x, f"{text}[{k!r}]") for k, x in values.items()}

    def _enter_cells(self, function: FunctionType) -> None:
        names = function.__code__.co_freevars
        by_path = id(function) in self._by_path
        for i, (name, cell) in enumerate(zip(names, function.__closure__ or (), strict=True)):
            if by_path:  # one that functions share must be one again
                guard = self.guard(CLOSURE, function, i, cell, name)
                if id(cell) not in self._sources:
                    self._by_path[id(cell)] = guard
            else:
                self.pin(cell)
            self._sources.setdefault(id(cell), (cell, name))

    def part(self, owner: Any, name: str, value: Any) -> Any:
        value = self.copies.given(value)
        if id(owner) not in self._sources:
            return value
        text = f"{self.text_of(owner)}.{name}"
        if name == "__self__":  # `model.loss` is of `model`, a function alone of what it calls self
            text = self.text_of(owner).rpartition(".")[0] or "self"
        if self.inside(owner) is not None:
            return value
        if id(owner) in self._by_path and type(owner) in PARTS:
            entered = self._enter_at(self.guard(ATTRIBUTE, owner, name, value, text), value, text)
            by_path = id(value) in self._by_path and type(value) in (dict, tuple)
            return self._items_at(value) if by_path else entered
        if type(owner) in (partial, defaultdict):  # which may be given another one
            self.guard(ATTRIBUTE, owner, name, value, text)
        entered = self.enter(value, text)
        return self.contents_of(entered) if type(value) in (dict, tuple) else entered

    def inside(self, x: Any) -> list[Any] | None:
        """What a callable of tracegrad's holds that is known by its place; None of any other."""
        if id(x) not in self._by_path:
            return None
        text, places = self.text_of(x), list[Guard]()
        if keeps_programs(x):
            for name in MADE_SO:
                self.guard(ATTRIBUTE, x, name, getattr(x, name), f"how {text} was made")
            places.append(self.guard(ATTRIBUTE, x, "_function", x._function, text))
        elif type(x) is FunctionType and not is_interpreted(x.__globals__):
            for name, value in (("__code__", x.__code__), ("__globals__", x.__globals__)):
                self.guard(ATTRIBUTE, x, name, value, f"the code of {text}")
            self._enter_cells(x)
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
                places.append(self.guard(CELL, cell, None, cell.cell_contents, name))
        else:
            return None
        return [self._enter_at(guard, guard.value, guard.text) for guard in places]

    def interprets(self, function: FunctionType) -> bool:
        code = function.__code__
        own = code is not native_tables.DISPATCH and code is not native_tables.PATTERNS
        return own and is_interpreted(function.__globals__)

    def store_cell(self, cell: CellType, name: str, value: Any) -> None:
        self._keeps_cell(cell, name)
        super().store_cell(cell, name, value)

    def delete_cell(self, cell: CellType, name: str) -> None:
        self._keeps_cell(cell, name)
        super().delete_cell(cell, name)

    def _keeps_cell(self, cell: CellType, name: str) -> None:
        """A variable is bound that other calls have elsewhere: no program does that."""
        if id(cell) in self._by_path:
            self.effect(name)

    def shows_parts(self, operation: Any, operands: Iterable[Any]) -> None:
        """C code has functions, or parts of them, of which it may read all: it is who they are."""
        if not self.anew or id(operation) in _ASKS_NO_PART:
            return
        for x in (operation, *operands):
            if type(x) in PARTS and not (x is operation and _is_of_tracegrad(x)):
                self.pin(x)
