"""Builtins that ask for the frame that calls them, and the making of classes."""

from __future__ import annotations

import builtins
import collections
import sys
import typing
import warnings
from types import CellType, FunctionType
from typing import Any

from tracegrad.machine import operators, recursion_depth, tracebacks
from tracegrad.machine.attribute_lookup import call_special, load_attribute, special
from tracegrad.machine.replacement_table import replaces
from tracegrad.machine.world_protocol import ABSENT, is_a, subclasses

# -- frames ------------------------------------------------------------------------------------


@replaces(super)
def _(m, args, kwargs):
    if args or kwargs:
        return m.native(super, *args, **kwargs)
    f = m.frame
    if f is None or not f.code.co_argcount:
        raise RuntimeError("super(): no arguments")
    first = f.fast[0]
    if f.program.cells[0] and type(first) is CellType:
        first = first.cell_contents
    if first is ABSENT:
        raise RuntimeError("super(): arg[0] deleted")
    slots = f.program.slots
    if "__class__" not in f.code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    cell = f.fast[slots.index("__class__")]
    failed = False
    try:
        cls = m.load_cell(cell, "__class__")
    except ValueError:
        failed = True
    if failed:
        raise RuntimeError("super(): empty __class__ cell")
    return m.native(super, cls, first)


@replaces(globals)
def _(m, args, kwargs):
    return m.native(globals, *args, **kwargs) if args or kwargs else m.frame.globals


@replaces(locals)
def _(m, args, kwargs):
    return m.native(locals, *args, **kwargs) if args or kwargs else local_names(m.frame)


def local_names(f: Any) -> Any:
    """What `locals()` returns in a frame."""
    tracebacks.SHOWN.add(f.code)
    if f.names is not None:
        return f.names
    found = {}
    for name, value, shared in zip(f.program.slots, f.fast, f.program.cells):
        if shared and type(value) is CellType:
            try:
                value = value.cell_contents
            except ValueError:
                continue
        if value is not ABSENT:
            found[name] = value
    if sys.version_info >= (3, 13):
        return found
    if f.local is None:
        f.local = {}
    for name in f.program.slots:
        if name not in found:
            f.local.pop(name, None)
    f.local.update(found)
    return f.local


@replaces(vars)
def _(m, args, kwargs):
    if args or kwargs:
        if len(args) == 1 and not kwargs:
            try:
                return load_attribute(m, args[0], "__dict__")
            except AttributeError:
                pass
        return m.native(vars, *args, **kwargs)
    return local_names(m.frame)


@replaces(dir)
def _(m, args, kwargs):
    if not args and not kwargs:
        return sorted(local_names(m.frame))
    if len(args) == 1 and not kwargs:
        method = special(m, args[0], "__dir__")
        if method is not None:
            return sorted(m.items(call_special(m, method, args[0])))
    return m.native(dir, *args, **kwargs)


@replaces(builtins.eval)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        args = (*args, m.frame.globals, local_names(m.frame))
    return m.native(eval, *args, **kwargs)


@replaces(builtins.exec)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        args = (*args, m.frame.globals, local_names(m.frame))
    return m.native(exec, *args, **kwargs)


def frame_at(m, depth: int) -> Any:
    """The frame that is so many calls out: an interpreted one, or the native one beyond them."""
    f = m.frame
    while f is not None and depth > 0:
        f, depth = f.back, depth - 1
    if f is not None:
        return tracebacks.stub_frame(f)
    native = sys._getframe(1)
    while native is not None and native.f_code.co_filename in tracebacks.HIDDEN:
        native = native.f_back  # type: ignore[assignment]
    while native is not None and depth > 0:
        native, depth = native.f_back, depth - 1  # type: ignore[assignment]
    if native is None:
        raise ValueError("call stack is not deep enough")
    return native


# Before 3.12 there is no function for the name alone; the row below takes this one's place.
@replaces(getattr(sys, "_getframemodulename", sys._getframe))
def _(m, args, kwargs):
    depth = args[0] if args else kwargs.get("depth", 0)
    try:
        return frame_at(m, depth).f_globals.get("__name__")
    except ValueError:
        return None


@replaces(sys._getframe)
def _(m, args, kwargs):
    return frame_at(m, args[0] if args else 0)


@replaces(sys.exc_info)
def _(m, args, kwargs):
    error = m.handled.topmost()
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


@replaces(sys.exception)
def _(m, args, kwargs):
    return m.handled.topmost()


@replaces(sys.getrecursionlimit)
def _(m, args, kwargs):
    return m.native(sys.getrecursionlimit, *args) if args or not m.runs else m.limit


@replaces(sys.setrecursionlimit)
def _(m, args, kwargs):
    if len(args) != 1 or type(args[0]) is not int or args[0] <= 0 or not m.runs:
        return m.native(sys.setrecursionlimit, *args, **kwargs)
    if args[0] < m.depth:
        raise RecursionError(
            f"cannot set the recursion limit to {args[0]} at the recursion depth {m.depth}: "
            "the limit is too low"
        )
    m.limit = args[0]
    recursion_depth.set_limit(args[0])
    return None


@replaces(warnings.warn)
def _(m, args, kwargs):
    names = ("message", "category", "stacklevel", "source")
    given = dict(zip(names, args), **kwargs)
    if len(args) > 4 or not set(given) <= set(names) or "message" not in given:
        return m.native(warnings.warn, *args, **kwargs)
    message, category = given["message"], given.get("category")
    if category is not None and not (is_a(category, type) and subclasses(Warning, category)):
        return m.native(warnings.warn, *args, **kwargs)
    if is_a(message, Warning):
        category = type(message)
    f, level = m.frame, given.get("stacklevel", 1)
    while f is not None and level > 1:
        f, level = f.back, level - 1
    if f is None:
        return m.native(warnings.warn, *args, **kwargs)
    names = f.globals
    return m.native(
        warnings.warn_explicit,
        message,
        category or UserWarning,
        f.code.co_filename,
        f.line,
        names.get("__name__") or "<string>",
        names.setdefault("__warningregistry__", {}),
        None,
        given.get("source"),
    )


@replaces(collections.namedtuple)
def _(m, args, kwargs):
    if kwargs.get("module") is None and m.frame is not None:
        kwargs = {**kwargs, "module": m.frame.globals.get("__name__", "__main__")}
    return m.native(collections.namedtuple, *args, **kwargs)


# -- classes -----------------------------------------------------------------------------------


@replaces(builtins.__build_class__)
def _(m, args, kwargs):
    if len(args) < 2 or type(args[0]) is not FunctionType or type(args[1]) is not str:
        return m.native(builtins.__build_class__, *args, **kwargs)
    function, name, *bases = args
    keywords = dict(kwargs)
    if not m.interpretable(function):
        return m.native(builtins.__build_class__, *args, **kwargs)
    given = tuple(bases)
    resolved = resolve(m, given)
    meta = keywords.pop("metaclass", None)
    if meta is None:
        meta = type(resolved[0]) if resolved else type
    if is_a(meta, type):
        meta = winner(meta, resolved)
    try:
        prepare = load_attribute(m, meta, "__prepare__")
    except AttributeError:
        prepare = None
    namespace = {} if prepare is None else m.call(prepare, (name, resolved), keywords)
    if not hasattr(type(namespace), "__getitem__"):
        shown = meta.__name__ if is_a(meta, type) else "<metaclass>"
        raise TypeError(
            f"{shown}.__prepare__() must return a mapping, not {type(namespace).__name__}"
        )
    cell = m.run_body(function, namespace)
    if resolved is not given and resolved != given:
        operators.set_item(m, namespace, "__orig_bases__", given)
    cls = m.call(meta, (name, resolved, namespace), keywords)
    if type(cell) is CellType and is_a(cls, type):
        check_cell(cell, cls)
    return cls


@replaces(type)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        return m.native(type, args[0])
    return m.native(type, *with_module(m, args, 2), **kwargs)


@replaces(type.__new__)
def _(m, args, kwargs):
    return m.native(type.__new__, *with_module(m, args, 3), **kwargs)


def with_module(m, args: Any, place: int) -> Any:
    """The arguments of a class that is made by a call: its module is that of the calling frame."""
    if len(args) != place + 1 or m.frame is None or not is_a(args[place], dict):
        return args
    if "__module__" in args[place] or "__name__" not in m.frame.globals:
        return args
    return (*args[:place], {**args[place], "__module__": m.frame.globals["__name__"]})


def type_variable(kind: type) -> None:
    """From 3.12 on C code asks the native frame for the module of a type variable."""

    def own(m, args, kwargs):
        made = m.native(kind, *args, **kwargs)
        if m.frame is not None:
            made.__module__ = m.frame.globals.get("__name__")
        return made

    replaces(kind)(own)


if sys.version_info >= (3, 12):
    type_variable(typing.TypeVar)
    type_variable(typing.ParamSpec)
    type_variable(typing.TypeVarTuple)


def check_cell(cell: CellType, cls: type) -> None:
    """`type.__new__` is to have set the cell of `__class__`."""
    name = cls.__name__
    failed = False
    try:
        found = cell.cell_contents
    except ValueError:
        failed = True
    if failed:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {cls!r}. "
            "Was __classcell__ propagated to type.__new__?"
        )
    if found is not cls:
        raise TypeError(f"__class__ set to {found!r} defining {name!r} as {cls!r}")


def resolve(m, bases: tuple) -> tuple:
    """The bases of a class after their `__mro_entries__`."""
    found: list = []
    for base in bases:
        if is_a(base, type):
            found.append(base)
            continue
        try:
            entries = load_attribute(m, base, "__mro_entries__")
        except AttributeError:
            found.append(base)
            continue
        new = m.call(entries, (bases,), {})
        if not is_a(new, tuple):
            raise TypeError("__mro_entries__ must return a tuple")
        found.extend(new)
    return tuple(found) if found != list(bases) else bases


def winner(meta: type, bases: tuple) -> type:
    """The most derived metaclass."""
    for base in bases:
        kind = type(base)
        if subclasses(kind, meta):
            continue
        if subclasses(meta, kind):
            meta = kind
            continue
        raise TypeError(
            "metaclass conflict: the metaclass of a derived class must be a (non-strict) "
            "subclass of the metaclasses of all its bases"
        )
    return meta
