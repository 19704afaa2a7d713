"""Refuses writes in place that no gradient would know of, or that NumPy refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracegrad.errors import GradientError, ReadOnlyError
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.runtime.array_manners import is_array_to_function, is_own_leaf
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import Foreign
from tracegrad.tape.tape import LEAF
from tracegrad.tape.views import Step, base_of, disjoint, place_of, same_place
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.program_points import at_line, variables
from tracegrad.values.dispatch import ndim_of


def refuse_recorded(tensor: Tensor) -> None:
    """Raises where a recorded write cannot go."""
    if is_read_only(tensor):  # which NumPy refuses, too
        raise read_only()
    base, path = place_of(tensor)
    if goes_past_history(base, path):
        return
    if base._node is LEAF and STATE.grad_enabled:
        raise leaf_error(base, tensor)
    given = _given_for(base)
    if given is not None and STATE.grad_enabled and base_of(given)._node is LEAF:
        error = leaf_error(base_of(given), given if base is tensor else tensor)
        STATE.trace.refused_to_caller = error
        raise error
    if type(base._array) is Foreign and STATE.trace is None:
        raise GradientError(
            "this Tensor shares the memory of a NumPy array, where a recorded in-place operation "
            "cannot write: change a copy (x = x.clone())"
        )


def _given_for(traced: Tensor) -> Tensor | None:
    """The caller's Tensor that one of a trace stands for, if it does."""
    trace = STATE.trace
    if trace is None or trace.world is None:
        return None
    given = trace.world.original(traced)
    return given if given is not traced and type(given) is Tensor else None


def goes_past_history(base: Tensor, path: Sequence[Step]) -> bool:
    """Whether a traced write goes to a leaf from outside by ``.data`` or ``.detach()``.

    The leaf stays one, as under `no_grad`. Anything else that has a history goes on with it,
    which no graph says: that ends the trace.
    """
    trace = STATE.trace
    if trace is None or trace.world is None or not STATE.grad_enabled or base._node is None:
        return False
    if is_array_to_function(base) or not any(step.op is stop_gradient for step in path):
        return False
    if not (base._node is LEAF and trace.placed(base)):
        trace.world.ends_run("writes by .data or .detach() to a Tensor that has a history")
    return True


@contextmanager
def past_history(base: Tensor, path: Sequence[Step]) -> Iterator[None]:
    """Around such a write: nothing is recorded. Other writes are recorded as ever."""
    recorded = STATE.grad_enabled and not goes_past_history(base, path)
    before = STATE.update(grad_enabled=recorded)
    try:
        yield
    finally:
        STATE.update(**before)


def refuse_unrecorded(tensor: Tensor) -> None:
    """Raises where a write to memory alone would go past the history of what it is memory of."""
    if tensor._view is None or not STATE.grad_enabled:
        return
    base, path = place_of(tensor)
    has_history = base._node is not None and base._node is not LEAF
    if has_history and not any(step.op is stop_gradient for step in path):
        raise GradientError(
            "a view that was taken under tg.no_grad() of a Tensor with history is being used in an "
            "in-place operation, which the history would not know: take the view, or write, where "
            "the other is done; or write to a copy (x.clone()), or to x.detach()[...]"
        )


def refuse_mask(tensor: Tensor, key: Any, value: Tensor) -> None:
    """Raises where NumPy reads what it has just written: ``x[mask] = x[::-1]``.

    It copies values that share memory with what is written for every index but a mask of all axes.
    """
    key = key[0] if type(key) is tuple and len(key) == 1 else key
    if type(key) not in (Tensor, np.ndarray, list) or ndim_of(value) == 0:
        return
    if type(key) is list and any(type(x) is Tensor for x in key):  # places, one by one
        return
    mask = np.asarray(key._array if type(key) is Tensor else key)
    if mask.dtype != bool or mask.ndim != ndim_of(tensor) or base_of(value) is not base_of(tensor):
        return
    written, read = place_of(tensor).path, place_of(value).path
    if not same_place(written, read) and not disjoint(written, read):
        raise ReadOnlyError(
            "a mask writes here what it reads from the same memory, and NumPy reads some of it "
            "after it was written: write x[mask] = value.copy()"
        ).as_refusal()


def is_read_only(tensor: Tensor) -> bool:
    """Whether an array is one of those views that NumPy lets nobody write to."""
    array, base = tensor._array, base_of(tensor)
    if not is_array_to_function(tensor):
        return False
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return False
    return (
        _repeats(array)
        or _repeats(base._array)
        or (base is not tensor and getattr(base._array, "flags", array.flags).writeable)
    )


def _repeats(array: Any) -> bool:
    """Whether an array shows some of its memory several times."""
    return isinstance(array, np.ndarray) and array.size > 1 and 0 in array.strides


def read_only() -> ReadOnlyError:
    return ReadOnlyError(
        "assignment destination is read-only: this is a view (of broadcast_to, say) whose "
        "elements share memory, a diagonal, or an array that its owner has locked: change a copy "
        "(x = x.copy())"
    )


def leaf_error(base: Tensor, written: Tensor) -> GradientError:
    what = "a leaf Tensor" if base is written else "a view of a leaf Tensor"
    if not is_own_leaf(base) and (base._is_traced or is_array_to_function(base)):
        traced = base._is_traced
        known = [base._traced[1].origin.name] if traced else variables(lambda x: x is base)
        name = next(filter(None, known), "x")
        return GradientError(
            f"an argument that is differentiated ({name}) is being used in an in-place "
            "operation, and its gradient would be that of another value: change a copy "
            f"({name} = {name}.copy()){at_line()}"
        )
    return GradientError(
        f"{what} that requires grad is being used in an in-place operation: write under "
        "tg.no_grad(), or change a copy (x = x.clone())"
    )
