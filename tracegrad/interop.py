"""NumPy's own functions on Tensors enter, tracegrad's functions are called.

``np.tanh(t)`` comes through ``__array_ufunc__``, ``np.sum(t)`` through ``__array_function__``; both
look the function up by NumPy's name in tracegrad's namespace, which follows NumPy's names and
arguments.
"""

from __future__ import annotations

from typing import Any


from tracegrad import namespace
from tracegrad.errors import TracegradError
from tracegrad.tensor import Tensor


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        raise TracegradError(
            f"np.{ufunc.__name__}(..., out=...) cannot write a Tensor's result: use the result"
        )
    if method == "reduce":
        reducer = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
        function = getattr(namespace, reducer.get(ufunc.__name__, ""), None)
        if function is not None:
            axis = kwargs.get("axis", 0)
            return function(inputs[0], axis=axis, keepdims=kwargs.get("keepdims", False))
    function = getattr(namespace, ufunc.__name__, None)
    if method != "__call__" or function is None or kwargs.keys() - {"out"}:
        shown = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise TracegradError(f"np.{shown} has no counterpart in tracegrad that records gradients")
    return function(*inputs)


def _array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    module = getattr(func, "__module__", "numpy")
    scope: Any = namespace
    for part in module.split(".")[1:]:
        scope = getattr(scope, part, None)
    function = getattr(scope, func.__name__, None)
    if function is None:
        raise TracegradError(
            f"{module}.{func.__name__} has no counterpart in tracegrad that records gradients"
        )
    return function(*args, **kwargs)


Tensor.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
Tensor.__array_function__ = _array_function  # type: ignore[attr-defined]

