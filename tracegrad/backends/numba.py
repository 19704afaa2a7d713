"""Loads source with kernels: they run as Python at first, then as machine code of numba.

A kernel is compiled in a thread beside the user's from its first call on; until then, and where
numba is missing, its source runs as Python, which gives the same bits. So does a call that machine
code leaves with an exception: a kernel changes nothing outside of it, and Python raises what NumPy
source raises. For a kernel that runs through blocks of arrays NumPy source runs, which asks whether
the kernel is there. Machine code is kept on disk (`kernel_cache`). With ``backend="auto"`` a kernel
is compiled once Python, or NumPy source, has spent as long in it as that may take.

A process that ends waits for the kernel that is being compiled, for LLVM cannot be stopped. So a
kernel of more than `MOST_LINES` is not begun.
"""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from math import inf
from pathlib import Path
from threading import ExceptHookArgs, Lock, Thread, current_thread, excepthook, main_thread
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

import codegen
from codegen.emit.numba import IMPORTS
from codegen.emit.target import Kernel, Source
from codegen.types import ArrayType
from tracegrad.backends import kernel_cache, numba_functions
from tracegrad.errors import NoKernelsWarning, how_to_install, warn_caller
from tracegrad.runtime.concurrency import OwnThread

TO_READ = 0.1
"""Seconds in a kernel from which on machine code that is on disk is worth its reading."""

TO_COMPILE = 1.0
"""Seconds in a kernel from which on it is worth its compilation."""

MOST_LINES = 1000
"""Lines of a kernel. It takes 3 s to compile 500, 6 to 11 s for 1200, 20 s for 4000 straight ones;
100 s were not enough for 5200 of a recurrence in two directions that was unrolled."""

_COMPILING: set[Thread] = set()
_WAITING: deque[Callable[[], None]] = deque()
_LOCK = Lock()  # around changes of these


class settings:
    """`at_once`: the first call of a kernel waits for its machine code."""

    at_once = False


def load_numba(source: Source, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of a source; `names` are those that its source does not make."""
    kernels = {kernel.name: kernel for kernel in source.kernels}
    if source.no_kernels:
        text = f"{source.name} stays NumPy source: its kernels cannot be written"
        warn_caller(f"{text} ({source.no_kernels})", NoKernelsWarning)

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        patient = source.target == "auto"
        return lambda function: Later(kernels[function.__name__], function, patient)

    functions = {n: numba_functions.plain(n) for k in source.kernels for n in k.functions}
    known = {**names, "njit": njit, **functions}
    loaded = IMPORTS.sub(_comment, source.loaded or source.text)
    function = codegen.load(source.text, source.name, known, loaded)
    scope = function.__globals__
    for name in kernels:
        scope[name].bind(scope)
    return function


def _comment(lines: re.Match[str]) -> str:
    """As many lines that do nothing."""
    return "#\n" * lines[0].count("\n")


class Later:
    """A kernel that is not yet machine code: Python runs it, or what asks for it is told no.

    It stands in a scope under its name; what is faster takes the place there. A `patient` one is
    compiled when it is worth it.
    """

    def __init__(self, kernel: Kernel, plain: Callable[..., Any], patient: bool) -> None:
        self.kernel = kernel
        self.py_func = plain
        self.scope: dict[str, Any] = {}
        self.patient = patient
        self.spent = 0.0  # seconds, where it is patient
        self.looked = False  # on disk

    def bind(self, scope: dict[str, Any]) -> None:
        """From here on the kernel is known by its name in a scope."""
        self.scope = scope
        choice = self.kernel.chosen_by
        if self.patient and choice:
            scope[choice] = self._timed(scope[choice])

    def __call__(self, *args: Any) -> Any:
        if not self._is_worth_it():
            return self._time(self.py_func, args)
        self._begin(self.py_func)
        return self.scope[self.kernel.name](*args)

    def __bool__(self) -> bool:
        """Whether there is machine code, which is asked of kernels that run through blocks."""
        if not self._is_worth_it():
            return False
        self._begin(None)
        return self.scope[self.kernel.name] is not None

    def _timed(self, choice: Callable[..., Any]) -> Callable[..., Any]:
        """The function that runs the kernel or NumPy source, timed while that is the latter."""

        def timed(*args: Any) -> Any:
            if self._is_worth_it():
                self.scope[self.kernel.chosen_by] = choice
                return choice(*args)
            return self._time(choice, args)

        return timed

    def _time(self, run: Callable[..., Any], args: Sequence[Any]) -> Any:
        began = perf_counter()
        try:
            return run(*args)
        finally:
            self.spent += perf_counter() - began

    def _is_worth_it(self) -> bool:
        """Whether as much time was spent without machine code as it takes to have it."""
        if not self.patient:
            return True
        if TO_READ <= self.spent < TO_COMPILE and not self.looked:
            self.looked = True
            if find_spec("numba") is not None and kernel_cache.has(self.kernel.text):
                self.spent = inf
        return self.spent >= TO_COMPILE

    def _begin(self, meanwhile: Callable[..., Any] | None) -> None:
        """Begins to compile; `meanwhile` has the kernel's name until that is done."""
        self.scope[self.kernel.name] = meanwhile
        lines = self.kernel.text.count("\n")
        if lines > MOST_LINES:
            text = f"{self.kernel.name} stays NumPy source: its kernel has {lines} lines"
            reason = f"of more than {MOST_LINES} numba makes no machine code in reasonable time"
            warn_caller(f"{text} ({reason})", NoKernelsWarning)
            return
        if settings.at_once:
            self._compile()
            return
        with _LOCK:
            _WAITING.append(self._compile)
            if not any(thread.is_alive() for thread in _COMPILING):
                thread = OwnThread(target=_compile_all, name="tracegrad kernels")
                _COMPILING.add(thread)
                thread.start()

    def _compile(self) -> None:
        machine_code = compiled(self.kernel)
        if machine_code is not None:
            if not self.kernel.blocks:
                plain = self.scope.get(self.kernel.otherwise, self.py_func)
                machine_code = guarded(self.kernel, machine_code, plain)
            self.scope[self.kernel.name] = machine_code


def _compile_all() -> None:
    """Compiles one kernel after the other, as numba does; none is begun once the program ends."""
    while True:
        with _LOCK:
            if not (_WAITING and main_thread().is_alive()):
                _WAITING.clear()
                _COMPILING.discard(current_thread())
                return
            compile_next = _WAITING.popleft()
        try:
            compile_next()
        except Exception:
            excepthook(ExceptHookArgs((*sys.exc_info(), current_thread())))


def wait() -> None:
    """Returns when no kernel is being compiled."""
    for thread in list(_COMPILING):
        thread.join()


@cache
def numba() -> Any:
    """The module; None where it is missing, which is said once."""
    # Else its errors, of which it makes many while it looks for types, replace sys.stdout.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    try:
        import numba
    except ImportError:
        text = f"NumPy source runs, for kernels need numba: {how_to_install('numba')}"
        warn_caller(text, NoKernelsWarning)
        return None
    return numba


@cache
def compiled(kernel: Kernel) -> Callable[..., Any] | None:
    """The machine code of a kernel; None without numba, or without NumPy's loops that it calls."""
    module = numba()
    if module is None or not all(map(numba_functions.teach, kernel.functions)):
        return None
    takes = types_taken(kernel)
    path = kernel_cache.file_of(kernel.text)
    for cache_file in (path, None) if path else (None,):  # what cannot be read from disk is made
        try:
            dispatcher = _dispatcher(kernel, cache_file)
            dispatcher.compile(takes)
        except Exception as error:
            failure = error
            continue
        dispatcher.disable_compile()
        machine_code: Callable[..., Any] = dispatcher
        return machine_code
    lines = str(failure).strip().splitlines()
    reason = next((line for line in lines if not line.startswith("Failed in")), "")
    text = f"{kernel.name} stays NumPy source: numba does not compile it ({reason})"
    warn_caller(text, NoKernelsWarning)
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


def types_taken(kernel: Kernel) -> tuple[Any, ...]:
    """The types of a kernel's arguments for numba."""
    layout = "C" if kernel.chosen_by else "A"
    first = len(kernel.takes) - kernel.writes
    return tuple(numba_type(t, layout, i >= first) for i, t in enumerate(kernel.takes))


def numba_type(type_: ArrayType, layout: str, written: bool) -> Any:
    """The type for numba: arrays that are only read may be readonly and unaligned."""
    from numba import from_dtype, types

    item = from_dtype(np.dtype(type_.dtype))
    if not type_.shape:
        return item
    return types.Array(item, type_.ndim, layout, readonly=not written, aligned=written)


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
