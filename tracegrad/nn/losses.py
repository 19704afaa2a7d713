"""Losses to train networks with."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.types import ArrayType, is_inexact, weak
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact, sigmoid, softplus
from tracegrad.ops.elementwise.ufuncs import absolute, astype, where
from tracegrad.ops.record import define
from tracegrad.ops.reductions.softmax import log_softmax
from tracegrad.ops.reductions.sums_and_extremes import mean, sum
from tracegrad.ops.shape.creation import count
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.reshaping import expand_axes, sizes_of, squeeze_axes
from tracegrad.ops.shape.selection import take_along_axis
from tracegrad.ops.type_rules import ufunc
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of

REDUCTIONS = ("mean", "sum", "none")


def _logistic_type(sizes: Sizes, x: ArrayType, target: ArrayType) -> ArrayType:
    inexact = ufunc("maximum")(sizes, x, weak("float"))
    return ufunc("add")(sizes, inexact, target)  # type: ignore[no-any-return]


logistic_loss = define(
    "logistic_loss",
    "np.maximum(x, 0.0) - x * target + np.log1p(np.exp(-np.abs(x)))",
    operands="x target",
    infer=_logistic_type,
    vjp=lambda ct, y, x, target: (ct * (sigmoid(x) - target), -ct * x),
    traits=(Trait.ELEMENTWISE,),
    domain="ordered",
    doc="-log of the probability of a target in [0, 1] by the logit x, exact at both ends.",
)


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The negative log-likelihood of the classes in `target` under the softmax of `input`.

    Parameters
    ----------
    input
        Logits, shape ``(batch, classes)``, ``(batch, classes, *lengths)`` or ``(classes,)``.
    target
        Classes as integers, of the shape of `input` without the axis of classes; or probabilities
        of classes, of the shape of `input`.
    weight
        A weight for each class, shape ``(classes,)``.
    ignore_index
        Targets with this class do not count.
    reduction
        "mean" (by the weights of the targets), "sum" or "none".
    label_smoothing
        How much of each target is spread evenly over all classes, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> round(float(tg.nn.cross_entropy(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([0, 1]))), 4)
    0.41
    """
    logits, target = as_inexact(input), as_array(target)
    classes = 0 if ndim_of(logits) == 1 else 1
    log_p = log_softmax(logits, axis=classes)
    if is_inexact(dtype_of(target)):
        return _of_probabilities(log_p, target, weight, classes, reduction, label_smoothing)
    loss, weights = _picked(log_p, target, weight, ignore_index, classes)
    if label_smoothing:
        n = count((shape_of(log_p)[classes],), log_p)
        spread = -sum(_weighted(log_p, weight, classes), axis=classes)
        spread = where(target != ignore_index, spread, 0.0)
        loss = (1.0 - label_smoothing) * loss + (label_smoothing / n) * spread
    return _reduced(loss, reduction, weights)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """The negative of the elements of `input` (log-probabilities) at the classes in `target`.

    Shapes and arguments as for `cross_entropy`.
    """
    log_p = as_inexact(input)
    classes = 0 if ndim_of(log_p) == 1 else 1
    loss, weights = _picked(log_p, as_array(target), weight, ignore_index, classes)
    return _reduced(loss, reduction, weights)


def _picked(
    log_p: Any, target: Any, weight: Any, ignore_index: int, classes: int
) -> tuple[Any, Any]:
    """The weighted negative log-likelihood of each target, and the weights (0 for ignored ones)."""
    if is_inexact(dtype_of(target)):
        raise ArgumentError("nll_loss: classes are integers: use target.astype(int)")
    if ndim_of(target) != ndim_of(log_p) - 1:
        raise ShapeError(
            f"the target has {ndim_of(target)} axes: classes need one axis less than the input, "
            f"{ndim_of(log_p) - 1}"
        )
    kept = target != ignore_index
    safe = where(kept, target, 0)
    found = take_along_axis(log_p, expand_axes(safe, axis=classes), axis=classes)
    loss = where(kept, -squeeze_axes(found, axis=classes), 0.0)
    if weight is None:
        return loss, astype(kept, dtype=dtype_of(log_p))
    weights = where(kept, getitem(as_array(weight), safe), 0.0)
    return loss * weights, weights


def _weighted(x: Any, weight: Any, classes: int) -> Any:
    """Elements times the weights of their classes."""
    if weight is None:
        return x
    weight = as_array(weight)
    after = ndim_of(x) - classes - 1
    return x * (expand_axes(weight, axis=tuple(range(1, after + 1))) if after else weight)


def _of_probabilities(
    log_p: Any, target: Any, weight: Any, classes: int, reduction: str, label_smoothing: float
) -> Any:
    if ndim_of(target) != ndim_of(log_p):
        raise ShapeError(
            f"cross_entropy: probabilities have the shape of the input, {ndim_of(log_p)} axes and "
            f"not {ndim_of(target)}; classes are integers"
        )
    shape = shape_of(log_p)
    if label_smoothing:
        n = count((shape[classes],), log_p)
        target = target * (1.0 - label_smoothing) + label_smoothing / n
    loss = -sum(_weighted(target * log_p, weight, classes), axis=classes)
    if reduction != "mean":
        return _reduced(loss, reduction)
    others = shape[:classes] + shape[classes + 1 :]
    return sum(loss) / count(others, loss)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference."""
    difference = _difference("mse_loss", input, target)
    return _reduced(difference * difference, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared difference where it is less than `delta`, beyond that linear."""
    if delta <= 0:
        raise ArgumentError(f"huber_loss: delta={delta} must be positive")
    difference = _difference("huber_loss", input, target)
    size = absolute(difference)
    small = 0.5 * (difference * difference)
    return _reduced(where(size <= delta, small, delta * (size - 0.5 * delta)), reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """The cross-entropy of probabilities in `target` under the sigmoid of `input`, elementwise.

    weight, pos_weight
        What losses, and losses of positive targets, are multiplied by; they broadcast.
    """
    x, target = as_inexact(input), as_array(target)
    _same_shapes("binary_cross_entropy_with_logits", x, target)
    if pos_weight is None:
        loss = logistic_loss(x, target)
    else:
        loss = (1.0 - target) * softplus(x) + as_array(pos_weight) * (target * softplus(-x))
    return _reduced(loss if weight is None else loss * as_array(weight), reduction)


def _difference(name: str, input: Any, target: Any) -> Any:
    x, target = as_inexact(input), as_array(target)
    _same_shapes(name, x, target)
    return x - target


def _same_shapes(name: str, x: Any, target: Any) -> None:
    """Raises where broadcasting would add up losses of pairs that nobody meant."""
    if ndim_of(x) != ndim_of(target):
        raise ShapeError(
            f"{name}: the input has {ndim_of(x)} axes and the target {ndim_of(target)}: both need "
            "the same shape"
        )
    sizes = sizes_of([x, target])
    for a, b in zip(shape_of(x), shape_of(target), strict=True):
        if not sizes.same(a, b):
            shapes = [tuple(map(sizes.value, shape_of(v))) for v in (x, target)]
            raise ShapeError(f"{name}: input {shapes[0]} and target {shapes[1]} differ in shape")


def _reduced(loss: Any, reduction: str, weights: Any = None) -> Any:
    match reduction:
        case "none":
            return loss
        case "sum":
            return sum(loss)
        case "mean":
            return mean(loss) if weights is None else sum(loss) / sum(weights)
    raise ArgumentError(f"reduction={reduction!r} must be one of {', '.join(REDUCTIONS)}")
