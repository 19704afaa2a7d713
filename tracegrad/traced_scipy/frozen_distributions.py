"""Distributions of SciPy with their parameters (``norm(m, s)``) on Tensors.

This module is interpreted: the parameters are read as the user's own code would read them, anew by
every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracegrad.runtime.thread_state import call


def name_of(owner: Any) -> str | None:
    """The name of a frozen distribution of one variable; None of anything else."""
    dist = getattr(owner, "dist", None)
    return dist.name if dist is not None and type(getattr(owner, "args", None)) is tuple else None


def method_of(owner: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a frozen distribution, from that of the distribution."""
    return lambda *args: call(_with_parameters, (owner, method, *args), {})


def _with_parameters(owner: Any, method: Callable[..., Any], x: Any) -> Any:
    return method(x, *owner.args, **owner.kwds)
