"""Chooses between a function of SciPy and what computes the same on Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracegrad.traced_scipy.signal import convolve
from tracegrad.world.interception import holds_tensors
from tracegrad.world.scipy_table import counterparts, solves_with_tensors


def dispatched(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Calls SciPy's function, or ours where a Tensor is in the arguments."""

    def called(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(map(holds_tensors, given)) or solves_with_tensors(theirs, given):
            return ours(*args, **kwargs)
        return theirs(*args, **kwargs)

    name = getattr(theirs, "__name__", "function")
    called.__name__ = called.__qualname__ = name
    called.__doc__ = theirs.__doc__
    return called


def names_of(module: Any) -> dict[str, Any]:
    """The public names of a module of SciPy; functions take Tensors where there is a way."""
    table = counterparts(module.__name__)
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return found | {name: dispatched(found[name], ours) for name, ours in table.items()}


def convolve_of(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """``convolve(A, B, axes=None, dot_axes=None, mode="full")``; on plain arrays it gives an array.

    SciPy's is called where neither axes are chosen nor a Tensor is given.
    """

    def called(A: Any, B: Any, *args: Any, **kwargs: Any) -> Any:
        traced = holds_tensors(A) or holds_tensors(B)
        if args and isinstance(args[0], str):  # SciPy's third argument is the mode
            args, kwargs = args[1:], {"mode": args[0], **kwargs}
        if not (traced or args or kwargs.keys() & {"axes", "dot_axes"}):
            return theirs(A, B, **kwargs)
        kwargs.pop("method", None)
        found = convolve(A, B, *args, **kwargs)
        return found if traced else found.numpy()

    called.__name__ = called.__qualname__ = "convolve"
    called.__doc__ = convolve.__doc__
    return called
