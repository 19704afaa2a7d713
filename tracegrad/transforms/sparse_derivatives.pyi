"""Jacobians and Hessians as sparse matrices."""

# Made by tests/type_stubs.py from the library as it runs.

import os
from pathlib import Path
from typing import Any, Generic, ParamSpec

from codegen.ir import Graph
from tracegrad.introspection.explain import CacheInfo

_P = ParamSpec("_P")

class Sparse(Generic[_P]):
    """A function whose calls give a sparse derivative; made by `jacobian` and `hessian`."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...
    def cache_info(self) -> CacheInfo:
        """As of every compiled callable; the programs of all plans are counted together."""
    def clear_cache(self) -> None:
        """Forgets every plan and every compiled version."""
    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Draws where the matrix has entries, each in the colour of the product that gives it."""
    def explain(self) -> str:
        """A report of the latest call: size, nonzeros, colours, mode; then of the program."""
    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph of the products: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated source of the products for these arguments (by default the latest call)."""
