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
    def cache_info(self) -> CacheInfo:
        """Calls that a compiled version answered, calls that needed a new one, traces, versions."""
    def clear_cache(self) -> None:
        """Forgets every compiled version."""
    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Draws the program for these arguments: ``.svg``, ``.dot``, or a whole report, ``.html``."""
    def explain(self) -> str:
        """A report: versions, their guards, why and how long compiled, what the backward keeps."""
    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Writes one standalone ``.py`` file for these arguments; returns its path."""
    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph for these arguments: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
    def lower(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """The program for JAX, lowered for these arguments: a `jax.stages.Lowered`."""
    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """The generated source for these arguments (by default the latest), formatted by black."""
    def stablehlo(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
        """The text of what `lower` gives: the program in StableHLO, which XLA compiles."""
    def verify(self, *args: Any, **kwargs: Any) -> Verification:
        """Whether the program agrees with the plain function, with the function run eagerly, and with finite differences; prints as a report."""
    def where(self, place: str | int, /, *args: Any, **kwargs: Any) -> Statements | Statement:
        """What a line of yours, ``"model.py:12"``, became; or where a generated line comes from."""
