"""The callables that the public transforms return: they run, show source, export and explain."""

# Made by tests/type_stubs.py from the library as it runs.

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from codegen.ir import Graph
from tracegrad.introspection.explain import CacheInfo
from tracegrad.introspection.line_map import Statement, Statements
from tracegrad.introspection.verify import Verification

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")

class Bound(Generic[_P, _R]):
    """A `Compiled` looked up on an instance, which becomes the first argument of every call."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __eq__(self, other: object) -> bool:
        """As of Python's bound methods: of one function, and of one and the same object."""
    def __hash__(self) -> int: ...
    def cache_info(self) -> CacheInfo:
        """As `Compiled.cache_info`; versions of all instances are counted together."""
    def clear_cache(self) -> None:
        """As `Compiled.clear_cache`."""
    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """As `Compiled.draw`."""
    def explain(self) -> str:
        """As `Compiled.explain`."""
    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """As `Compiled.export`; the object itself is no argument of the exported function."""
    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """As `Compiled.graph`."""
    def lower(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """As `Compiled.lower`; what the object holds is constant."""
    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """As `Compiled.source`."""
    def stablehlo(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
        """As `Compiled.stablehlo`."""
    def verify(self, *args: Any, **kwargs: Any) -> Verification:
        """As `Compiled.verify`."""
    def where(self, place: str | int, /, *args: Any, **kwargs: Any) -> Statements | Statement:
        """As `Compiled.where`."""

class Compiled(Generic[_P, _R]):
    """A function whose calls run generated source; made by `grad`, `value_and_grad`, `compile`."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Compiled[_P, _R]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Any, _Q], _R], instance: object, owner: type | None = None
    ) -> Bound[_Q, _R]: ...
    def __set_name__(self, owner: type, name: str) -> None: ...
    def cache_info(self) -> CacheInfo:
        """Calls that a compiled version answered, calls that needed a new one, traces, versions."""
    def clear_cache(self) -> None:
        """Forgets every compiled version."""
    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Draws the program for these arguments: ``.svg``, ``.dot``, or a whole report, ``.html``.

        The report has the function, the graph at each stage, the generated source and the picture
        side by side. Returns the path.
        """
    def explain(self) -> str:
        """A report: versions, their guards, why and how long compiled, what the backward keeps.

        >>> import numpy as np, tracegrad as tg
        >>> slope = tg.grad(lambda x: (x**2).sum())
        >>> _ = slope(np.ones(3))
        >>> print(slope.explain().splitlines()[0])
        <lambda>: 1 version, 0 hits, 1 miss, 1 trace
        """
    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Writes one standalone ``.py`` file for these arguments; returns its path.

        Its function has this callable's name, signature and results, and needs NumPy alone (JAX
        with ``backend="jax"``). A name that the file itself reads gets an underscore: of a function
        `range`, it has `range_`. Arrays that the function reads from outside are in it; large ones
        stand in an ``.npz`` beside it. Raises `tg.errors.ExportError` for what no file can hold.
        """
    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph for these arguments: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
    def lower(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """The program for JAX, lowered for these arguments: a `jax.stages.Lowered`.

        Arrays may be given as a `jax.ShapeDtypeStruct`. Arrays and floats are inputs, all else is a
        constant. `platforms` (``("cuda",)``) need not be there; by default it is the one that
        runs. What is compiled for float64 is called where JAX has 64-bit types. Raises
        `tg.errors.ArgumentError` where a value decides what is done, with the line.

        >>> import numpy as np, tracegrad as tg
        >>> x = np.ones(3, np.float32)
        >>> lowered = tg.grad(lambda x: (x**2).sum()).lower(x)
        >>> np.asarray(lowered.compile()(x))
        array([2., 2., 2.], dtype=float32)
        """
    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """The generated source for these arguments (by default the latest), formatted by black.

        Its first line says so where calls run eagerly all the same. Raises `tg.errors.TraceError`
        where there is no program of what the function does (it reads a file).

        part
            ``"all"``, ``"forward"`` (the function's value alone) or ``"backward"`` (from saved
            values and the cotangent of the result to the gradients).
        """
    def stablehlo(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
        """The text of what `lower` gives: the program in StableHLO, which XLA compiles.

        >>> import numpy as np, tracegrad as tg
        >>> "stablehlo.cosine" in tg.grad(lambda x: np.sin(x).sum()).stablehlo(np.ones(3))
        True
        """
    def verify(self, *args: Any, **kwargs: Any) -> Verification:
        """Whether the program agrees with the plain function, with the function run eagerly, and
        with finite differences; prints as a report.

        >>> import numpy as np, tracegrad as tg
        >>> bool(tg.grad(lambda x: (x**2).sum()).verify(np.ones(3)))
        True
        """
    def where(self, place: str | int, /, *args: Any, **kwargs: Any) -> Statements | Statement:
        """What a line of yours, ``"model.py:12"``, became; or where a generated line comes from.

        With arguments, in the program for these; else in the one compiled last.
        """
