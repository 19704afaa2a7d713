"""A value that code names enters; why what it gives cannot be known beforehand leaves, if so.

That is what no guard can hold: clocks, files, fresh randomness, iterators that do not say where
they stand, objects of C that do not show their state. A function that reads one of these runs
eagerly, which is right on every call.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import functools
import logging
import operator
import os
import pathlib
import random
import re
import secrets
import sys
import threading
import time
import types
import uuid
import weakref
from collections.abc import Container, Iterable, Iterator
from typing import Any

import numpy as np

from tracegrad.environment.facts import PLAIN, STATEFUL

WRITERS = frozenset({
    "print", "input", "open", "exec", "eval", "setattr", "delattr", "breakpoint", "globals",
    "locals", "__import__", "compile",
})  # fmt: skip
"""Builtins that do, or read, what a compiled call would not do again."""

_MODULES: dict[types.ModuleType, str] = {
    time: "",
    uuid: "",
    secrets: "",
    os: "getenv|fspath|environ|environb|path|sep|linesep|name|curdir|pardir|pathsep|PathLike",
    threading: "Lock|RLock|Condition|Event|local|Semaphore|BoundedSemaphore",
    sys: "maxsize|float_info|int_info|version_info|version|platform|byteorder|modules|path|intern|"
    "getrefcount|hash_info|getsizeof|implementation|argv|stdout|stderr",
}
"""Modules whose functions read the world, and which of their names do not."""

FILES = frozenset({
    "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savez", "savetxt",
})  # fmt: skip
"""NumPy's functions that read or write files."""
_FRESH = {
    (np.random, "default_rng"),
    (np.random, "SeedSequence"),
    (random, "Random"),
    (random, "SystemRandom"),
}
_STREAMS = frozenset({"stdin", "stdout", "stderr"})
_NOW = frozenset({"now", "utcnow", "today"})
_DATES = (datetime.datetime, datetime.date)

_CACHE = type(functools.lru_cache(lambda: None))
_HARMLESS: tuple[Any, ...] = (
    *STATEFUL,
    *(np.ufunc, np.dtype, np.flatiter, np.generic, property, staticmethod, classmethod, slice),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
    *(re.Pattern, operator.itemgetter, operator.attrgetter, operator.methodcaller, super),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType),
    *(types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType),
    *(types.GenericAlias, types.UnionType, types.CellType, types.MappingProxyType),
    *(type({}.keys()), type({}.values()), type({}.items()), functools.partial, os._Environ),
    *(
        type(threading.Lock()),
        type(threading.RLock()),
        type(re.match("", "")),
        type(NotImplemented),
    ),
    *(type(functools.cmp_to_key(lambda a, b: 0)), types.SimpleNamespace, threading.local),
    *(BaseException, types.ModuleType, np.ndarray, set, frozenset, collections.deque),
)


def random_state() -> tuple[Any, ...]:
    """The global random states of Python and NumPy: drawing from them moves these."""
    state: Any = np.random.get_state(legacy=False)
    return random.getstate(), state["state"]["pos"], state["gauss"], state["state"]["key"].tobytes()


def of_module(
    module: types.ModuleType, attributes: Iterable[str], bare: Container[str], text: str
) -> str:
    """What code with these attribute names reads of the world through a module; "" for nothing.

    `bare` are the names that are not called with a constant: a generator without a seed.
    """
    names = set(attributes)
    if module is sys and names & _STREAMS:
        return f"{text}.{min(names & _STREAMS)}"
    if module in _MODULES:
        reading = names & set(vars(module)) - set(_MODULES[module].split("|"))
        found = [name for name in sorted(reading) if callable(getattr(module, name))]
        return f"{text}.{found[0]}()" if found else ""
    if module is datetime and names & _NOW:
        return f"{text}.datetime.{min(names & _NOW)}()"
    for owner, name in _FRESH:
        if module in (owner, np) and name in names and name in bare:
            return f"a generator that {name}() seeds anew"
    if module is pathlib:
        return "the file system"
    if module is decimal:
        return f"the precision of {text}"
    return ""


def of_value(value: Any, attributes: Iterable[str], bare: Container[str], text: str) -> str:
    """What a call cannot know of a value beforehand; "" for nothing."""
    if value is decimal.Decimal:
        return f"the precision of {text}"
    if type(value) in PLAIN or isinstance(value, type):
        dated = isinstance(value, type) and issubclass(value, _DATES)
        now = min(_NOW & set(attributes), default="")
        return f"{text}.{now}()" if dated and now else ""
    if isinstance(value, types.BuiltinFunctionType | types.FunctionType):
        return _of_function(value, bare, text)
    if isinstance(value, weakref.ref | weakref.ProxyType | weakref.CallableProxyType):
        return f"what {text} refers to weakly"
    if isinstance(value, decimal.Decimal):
        return f"the precision of {text}"
    if isinstance(value, _CACHE):  # what it holds may be older than the state that it came from
        return f"the cache of {text}"
    if isinstance(value, logging.Logger):
        return f"what {text} logs"
    if isinstance(value, pathlib.Path):
        return f"the file system through {text}"
    if isinstance(value, _HARMLESS) or type(value) is object or value is _ERROR_STATE:
        return ""
    if isinstance(value, Iterator) and not _is_written_in_python(type(value)):
        return f"{text}, an iterator that is used up,"
    if shows_state(value) or type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return ""  # arrays of JAX are immutable
    return f"{text}, a {type(value).__module__}.{type(value).__name__} that hides its state,"


def _of_function(function: Any, bare: Container[str], text: str) -> str:
    """A function of a module that reads the world, under a name of its own."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__name__", "")
    is_there = module is not None and vars(module).get(name) is function
    if is_there and module in _MODULES and name not in _MODULES[module].split("|"):
        return f"{text}()"
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, _DATES) and name in _NOW:
        return f"{text}()"
    if name in FILES and getattr(np, name, None) is function:
        return f"{text}()"
    fresh = any(getattr(module, name, None) is function for module, name in _FRESH)
    if fresh and text.rpartition(".")[2] in bare:
        return f"a generator that {text}() seeds anew"
    return ""


_ERROR_STATE = getattr(sys.modules.get("numpy._core._ufunc_config"), "_extobj_contextvar", None)
"""What `np.errstate` sets, which a function decorated with it reads: traces ask for it."""


def shows_state(value: Any) -> bool:
    """True for what is all attributes or elements, and for functions of libraries."""
    if type(value).__flags__ & _IS_CONTAINER or callable(value):
        return True
    if type(value) is object or hasattr(type(value), "__get__"):  # descriptors of C
        return True
    return _is_written_in_python(type(value))


_IS_CONTAINER = 1 << 25 | 1 << 26 | 1 << 29  # lists, tuples, dicts: Py_TPFLAGS_*_SUBCLASS


def _is_written_in_python(cls: type) -> bool:
    """A class made by a class statement; what is C in libraries has neither slots nor functions."""
    module = cls.__module__
    if module.partition(".")[0] not in sys.stdlib_module_names or module == "__main__":
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return not file.endswith((".so", ".pyd"))
    return any(
        "__slots__" in vars(owner)
        or any(isinstance(method, types.FunctionType) for method in vars(owner).values())
        for owner in cls.__mro__
    )
