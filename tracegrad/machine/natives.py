"""Functions for what opcodes do by C code and that has no name in Python.

Each of them is an operation that `World.native` is asked to do, and stands for itself there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

from tracegrad.machine.world_protocol import is_a

build_slice = slice


def is_item(item: Any, x: Any) -> bool:
    """Whether an item is the very object that a container is searched for: else `==` is asked."""
    return item is x


def unpack_sequence(x: Any, count: int) -> tuple:
    """The values of `a, b = x`, or CPython's errors."""
    kind = type(x)
    if kind is tuple or kind is list:
        values = tuple(x)
        if len(values) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(values)})")
        if len(values) > count:
            raise too_many(count, len(values))
        return values
    iterator = _iterator(x)
    values = tuple(islice(iterator, count))
    if len(values) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(values)})")
    for _ in iterator:
        raise too_many(count, len(x) if kind is dict else -1)
    return values


def too_many(count: int, got: int) -> ValueError:
    """The error of `a, b = x` where x has more."""
    probe = (None,) * (count + 1) if got < 0 else (None,) * got
    try:
        exec(_unpacking(count), {"probe": probe if got >= 0 else iter(probe)})
    except ValueError as error:
        return error.with_traceback(None)
    raise AssertionError("more values than names were unpacked")


def _unpacking(count: int) -> str:
    return "[" + ", ".join("_" for _ in range(count)) + "] = probe"


def unpack_starred(x: Any, before: int, after: int) -> tuple:
    """The values of `a, *b, c = x`: `before` values, a list, `after` values."""
    values = list(_iterator(x))
    if len(values) < before:
        wanted = before + after
        least = "at least " if True else ""
        raise ValueError(
            f"not enough values to unpack (expected {least}{wanted}, got {len(values)})"
        )
    if len(values) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(values)})"
        )
    middle = len(values) - after
    return (*values[:before], values[before:middle], *values[middle:])


def _iterator(x: Any) -> Any:
    try:
        return iter(x)
    except TypeError as error:
        if hasattr(type(x), "__iter__") or hasattr(type(x), "__getitem__"):
            raise
        failure = TypeError(f"cannot unpack non-iterable {type(x).__name__} object")
        failure.__context__ = error.__context__
    raise failure


def list_extend(items: list, x: Any) -> None:
    """`[*x]`: appends the items of an iterable."""
    try:
        items.extend(x)
        return
    except TypeError as error:
        if hasattr(type(x), "__iter__") or hasattr(type(x), "__getitem__"):
            raise
        failure = TypeError(f"Value after * must be an iterable, not {type(x).__name__}")
        failure.__context__ = error.__context__
    raise failure


def set_update(items: set, x: Any) -> None:
    items.update(x)


def dict_update(items: dict, x: Any) -> None:
    """`{**x}`: adds the items of a mapping."""
    if not is_a(x, dict) and not hasattr(x, "keys"):
        raise TypeError(f"'{type(x).__name__}' object is not a mapping")
    items.update(x)


def dict_merge(items: dict, x: Any, function: Any) -> None:
    """`f(**a, **b)`: adds the items of a mapping; a name that is there already is an error."""
    if not is_a(x, dict) and not hasattr(x, "keys"):
        raise TypeError(
            f"{function_text(function)} argument after ** must be a mapping, not {type(x).__name__}"
        )
    for name in x.keys():  # noqa: SIM118 -- as CPython asks
        if name in items:
            if not is_a(name, str):
                raise TypeError("keywords must be strings")
            raise TypeError(
                f"{function_text(function)} got multiple values for keyword argument '{name}'"
            )
        items[name] = x[name]


def function_text(function: Any) -> str:
    """The name of a callee as CPython's error messages give it."""
    name = getattr(function, "__qualname__", None)
    if not is_a(name, str):
        return object.__str__(function) if name is None else str(name)
    module = getattr(function, "__module__", None)
    if module is not None and module != "builtins":
        return f"{module}.{name}()"
    return f"{name}()"


def list_to_tuple(items: list) -> tuple:
    return tuple(items)


def import_name(
    importer: Callable, name: str, names: dict, local: Any, fromlist: Any, level: int
) -> Any:
    """`import name`"""
    return importer(name, names, local, fromlist, level)


def import_from(module: ModuleType, name: str) -> Any:
    """`from module import name`: an attribute, or a submodule that is loaded."""
    space: dict[str, Any] = {}
    exec(_import_from(name), {"__builtins__": {"__import__": lambda *_: module}}, space)
    return space["value"]


def _import_from(name: str) -> str:
    return f"from module import {name} as value"


def import_star(module: ModuleType, names: Any) -> None:
    """`from module import *`"""
    everything = getattr(module, "__all__", None)
    if everything is None:
        everything = [name for name in module.__dict__ if not name.startswith("_")]
    for name in everything:
        names[name] = getattr(module, name)


def match_keys(x: Mapping, keys: tuple) -> tuple | None:
    """The values of `case {"a": a, "b": b}`, or None."""
    seen: set = set()
    values = []
    missing = object()
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = x.get(key, missing)
        if value is missing:
            return None
        values.append(value)
    return tuple(values)


def is_mapping(x: Any) -> bool:
    """Whether `case {...}` looks into a value."""
    match x:
        case {}:
            return True
    return False


def is_sequence(x: Any) -> bool:
    """Whether `case [...]` looks into a value."""
    match x:
        case [*_]:
            return True
    return False


def match_class(x: Any, cls: type, count: int, names: tuple) -> tuple | None:
    """The values of `case cls(a, b, c=c)` for a class of C code, or None."""
    if not is_a(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(x, cls):
        return None
    values = []
    seen: set = set()
    if count:
        own = getattr(cls, "__match_args__", None)
        itself = own is None and bool(cls.__flags__ & 1 << 22)  # Py_TPFLAGS_MATCH_SELF
        positional = match_arguments(cls, own, itself, count)
        if itself:
            values.append(x)
        for name in positional:
            match_once(cls, name, seen)
            try:
                values.append(getattr(x, name))
            except AttributeError:
                return None
    for name in names:
        match_once(cls, name, seen)
        try:
            values.append(getattr(x, name))
        except AttributeError:
            return None
    return tuple(values)


def match_arguments(cls: type, own: Any, itself: bool, count: int) -> tuple:
    """The names of a class's positional patterns, or CPython's errors."""
    if own is None:
        own = ()
    elif type(own) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(own).__name__})")
    allowed = 1 if itself else len(own)
    if allowed < count:
        plural = "" if allowed == 1 else "s"
        raise TypeError(
            f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)"
        )
    for name in own[:count]:
        if not is_a(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
    return () if itself else own[:count]


def match_once(cls: type, name: str, seen: set) -> None:
    if name in seen:
        raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    seen.add(name)


def build_string(*parts: str) -> str:
    return "".join(parts)
