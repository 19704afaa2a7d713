"""Loads source with kernels: they run as Python at first, then as machine code of numba.

A kernel is compiled in a thread of its own from its first call on; until then, and where numba is
missing, its text runs as Python, which gives the same bits. So does a call that machine code leaves
with an exception: a kernel changes nothing outside of it, and Python raises what NumPy source
raises. Machine code is kept on disk (`kernel_cache`).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Thread, current_thread
from types import ModuleType
from typing import Any

import numpy as np

import codegen
from codegen.emit.target import Kernel, Source
from codegen.types import ArrayType
from tracegrad.backends import kernel_cache, numba_functions
from tracegrad.errors import NoKernelsWarning

_COMPILING: set[Thread] = set()


class settings:
    """`at_once`: the first call of a kernel waits for its machine code."""

    at_once = False


def load_numba(source: Source, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of a source; `names` are those that its text does not make."""
    kernels = {kernel.name: kernel for kernel in source.kernels}

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return lambda function: Later(kernels[function.__name__], function)

    functions = {n: numba_functions.plain(n) for k in source.kernels for n in k.functions}
    known = {**names, "njit": njit, **functions}
    loaded = _IMPORTS.sub("#", source.loaded or source.text)
    function = codegen.load(source.text, source.name, known, loaded)
    scope = function.__globals__
    for name in kernels:
        scope[name].bind(scope)
    return function


_IMPORTS = re.compile(r"^from (numba|tracegrad\.numba_functions) import .*$", re.MULTILINE)


class Later:
    """A kernel that Python runs until it is machine code.

    It stands in a scope under its name; what is faster takes the place there.
    """

    def __init__(self, kernel: Kernel, plain: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.py_func = plain
        self.scope: dict[str, Any] = {}
        self.compiled: Callable[..., Any] | None = None

    def bind(self, scope: dict[str, Any]) -> None:
        """From here on the kernel is known by its name in a scope."""
        self.scope = scope

    def __call__(self, *args: Any) -> Any:
        self.scope[self.kernel.name] = self.py_func
        if settings.at_once:
            self._compile()
            return self.scope[self.kernel.name](*args)
        thread = Thread(target=self._compile, name=f"tracegrad {self.kernel.name}")
        _COMPILING.add(thread)
        thread.start()
        return self.py_func(*args)

    def _compile(self) -> None:
        try:
            machine_code = compiled(self.kernel)
            if machine_code is not None:
                fast = guarded(self.kernel, machine_code, self.py_func)
                self.scope[self.kernel.name] = fast
        finally:
            _COMPILING.discard(current_thread())


def wait() -> None:
    """Returns when no kernel is being compiled."""
    for thread in list(_COMPILING):
        thread.join()


@cache
def numba() -> Any:
    """The module; None where it is missing, which is said once."""
    try:
        import numba
    except ImportError:
        text = 'backend="numba" needs numba: pip install "tracegrad[native]"; NumPy source runs'
        warnings.warn(text, NoKernelsWarning, stacklevel=2)
        return None
    return numba


@cache
def compiled(kernel: Kernel) -> Callable[..., Any] | None:
    """The machine code of a kernel; None without numba, or without NumPy's loops that it calls."""
    module = numba()
    if module is None or not all(map(numba_functions.teach, kernel.functions)):
        return None
    takes = tuple(map(numba_type, kernel.takes))
    path = kernel_cache.file_of(kernel.text)
    for cache_file in (path, None) if path else (None,):  # what cannot be read from disk is made
        try:
            dispatcher: Any = _dispatcher(kernel, cache_file)
            dispatcher.compile(takes)
        except Exception as error:
            failure = error
            continue
        dispatcher.disable_compile()
        return dispatcher  # type: ignore[no-any-return]
    first = str(failure).strip().partition("\n")[0]
    text = f"{kernel.name} stays NumPy source: numba does not compile it ({first})"
    warnings.warn(text, NoKernelsWarning, stacklevel=2)
    return None


def _dispatcher(kernel: Kernel, path: Path | None) -> Any:
    """The function that numba has made of a kernel; with a file it keeps machine code beside it."""
    if path is None:
        scope: dict[str, Any] = {"__name__": f"tracegrad_{kernel.name}"}
        exec(compile(kernel.text, f"<tracegrad {kernel.name}>", "exec"), scope)
        return scope[kernel.name]
    name = path.stem
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # where numba looks for it when it reads machine code
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    function = getattr(module, kernel.name)
    function.enable_caching()
    return function


def numba_type(type_: ArrayType) -> Any:
    """The type for numba: arrays of any layout, which may be readonly and unaligned."""
    from numba import from_dtype, types

    item = from_dtype(np.dtype(type_.dtype))
    if not type_.shape:
        return item
    return types.Array(item, type_.ndim, "A", readonly=True, aligned=False)


def guarded(
    kernel: Kernel, machine_code: Callable[..., Any], plain: Callable[..., Any]
) -> Callable[..., Any]:
    """Machine code that gives NumPy's types; what it raises, Python finds out."""
    names = [f"y{i}" for i in range(len(kernel.returns))]
    shown = [_typed(name, type_) for name, type_ in zip(names, kernel.returns, strict=True)]
    text = (
        f"def {kernel.name}(*args):\n"
        f"    try:\n"
        f"        {', '.join(names)} = machine_code(*args)\n"
        f"    except Exception:\n"
        f"        return plain(*args)\n"
        f"    return {', '.join(shown)}\n"
    )
    known = {"machine_code": machine_code, "plain": plain, "np": np}
    known |= {name: getattr(np, name) for name in ("float64", "float32", "int64")}
    return codegen.load(text, kernel.name, known)


def _typed(name: str, type_: ArrayType) -> str:
    """What numba returned, as NumPy has it: numbers of a dtype are not Python's."""
    if type_.shape or type_.weak:
        return name
    return f"{type_.dtype}({name})"
