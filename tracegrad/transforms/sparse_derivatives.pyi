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
        """Draws where the matrix has entries, each in the colour of the product that gives it.

        ``.svg`` is the pattern, ``.dot`` the same as a graph of rows and columns, ``.html`` a
        report of the program with the pattern in it. Returns the path.

        >>> import numpy as np, os, tempfile, tracegrad as tg
        >>> jacobian = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
        >>> file = os.path.join(tempfile.mkdtemp(), "pattern.svg")
        >>> jacobian.draw(file, np.ones(5)).read_text().count("<path")  # two products
        2
        """
    def explain(self) -> str:
        """A report of the latest call: size, nonzeros, colours, mode; then of the program.

        Of a small matrix each entry is shown as the number of the product that gives it.

        >>> import numpy as np, tracegrad as tg
        >>> jacobian = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
        >>> _ = jacobian(np.ones(4))
        >>> print("\\n".join(jacobian.explain().splitlines()[:4]))
        sparse: 3 x 4, 6 nonzeros, 2 colours, forward mode
          0 1 . .
          . 1 0 .
          . . 0 1
        """
    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Writes one standalone ``.py`` file for arguments of these shapes; returns its path.

        By default for the latest call. Its function has the name of the user's, gives the same
        matrices, and needs NumPy and SciPy alone (JAX too with ``backend="jax"``). Raises
        `tg.errors.ExportError` for what no file can hold.

        >>> import numpy as np, os, runpy, tempfile, tracegrad as tg
        >>> def steps(x):
        ...     return np.diff(x) ** 2
        >>> file = os.path.join(tempfile.mkdtemp(), "steps_jacobian.py")
        >>> path = tg.jacobian(steps, sparse=True).export(file, np.arange(3.0))
        >>> runpy.run_path(str(path))["steps"](np.array([1.0, 2.0, 4.0])).toarray()
        array([[-2.,  2.,  0.],
               [ 0., -4.,  4.]])
        """
    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph of the products: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated source of the products for these arguments (by default the latest call)."""
