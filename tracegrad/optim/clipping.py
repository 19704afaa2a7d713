"""Clips gradients: as pytrees, or in place in the Tensors' ``grad``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from tracegrad.ops.elementwise.ufuncs import absolute, maximum, minimum
from tracegrad.ops.reductions.sums_and_extremes import max as largest_of
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.optim.optimizers import write
from tracegrad.optim.update_rules import SettingError, in_dtype_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.pytree import flatten, map_tree


def clip_norm(grads: Any, max_norm: float, norm_type: float = 2.0) -> tuple[Any, Any]:
    """Gradients scaled down together to a norm of at most `max_norm`; and the norm they had.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> grads, norm = tg.optim.clip_norm([np.array([3.0]), np.array([4.0])], max_norm=1.0)
    >>> float(norm), grads[0].round(3)
    (5.0, array([0.6]))
    """
    norm = _norm(flatten(grads)[0], float(norm_type))
    scale = minimum(max_norm / (norm + 1e-6), 1.0)
    return map_tree(lambda g: g * in_dtype_of(g, scale), grads), norm


def clip_value(grads: Any, limit: float) -> Any:
    """Gradients with every element in ``[-limit, limit]``."""
    return map_tree(lambda g: maximum(minimum(g, limit), -limit), grads)


def _norm(arrays: Sequence[Any], order: float) -> Any:
    """The norm of all elements of the arrays together."""
    sizes = [absolute(g) for g in arrays]
    if order == math.inf:
        return reduce(maximum, map(largest_of, sizes))
    return reduce(add, [sum_of(a**order) for a in sizes]) ** (1.0 / order)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales the gradients of these Tensors in place to a common norm of at most `max_norm`.

    Returns the norm that they had.
    """
    grads = _gradients(parameters)
    if not grads:
        return Tensor(0.0)
    clipped, norm = clip_norm([g.detach() for g in grads], max_norm, norm_type)
    if error_if_nonfinite and not math.isfinite(norm):
        raise SettingError(f"clip_grad_norm_: the gradients have norm {norm.item()}")
    for g, new in zip(grads, clipped, strict=True):
        write(g, new)
    total: Tensor = norm
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Brings every element of the gradients of these Tensors into [-clip_value, clip_value]."""
    for g in _gradients(parameters):
        write(g, maximum(minimum(g.detach(), clip_value), -clip_value))


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]
