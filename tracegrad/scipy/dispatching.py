"""A function of SciPy and what computes the same on Tensors enter; one function for both leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracegrad.world.interception import holds_tensors
from tracegrad.world.scipy_functions import functions


def dispatched(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Calls SciPy's function, or ours where a Tensor is among the arguments."""

    def called(*args: Any, **kwargs: Any) -> Any:
        if any(map(holds_tensors, (*args, *kwargs.values()))):
            return ours(*args, **kwargs)
        return theirs(*args, **kwargs)

    name = getattr(theirs, "__name__", "function")
    called.__name__ = called.__qualname__ = name
    called.__doc__ = theirs.__doc__
    return called


def names_of(module: Any) -> dict[str, Any]:
    """The public names of a module of SciPy, with functions that take Tensors where there are any."""
    table = functions().get(module.__name__, {})
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return found | {
        name: dispatched(found[name], ours) for name, ours in table.items() if name in found
    }
