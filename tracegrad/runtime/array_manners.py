"""Tells which Tensors are arrays or numbers of NumPy's for the function that runs.

`is_array_to_function` answers for each Tensor, whatever the others are: by that it is written to
and read (``y.sort()`` of an array writes in place, and ``y[0]`` is a number, which the next write
to `y` does not change), and that say `type(x)` and `isinstance`. A function that is called with
arrays may read a Tensor from outside, or make one by `tg.zeros`; one that is called with Tensors
may fill an array of its own (``y = np.zeros(3); y[0] = x[0]``): then a Tensor stands for that array
alone, and for what is computed of such. What the function's caller is to find where a Tensor was
left or returned tells the world of the run when that is over (`World.is_array_to_caller`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracegrad.runtime.thread_state import STATE

OF_PYTHON = frozenset({float, complex, int, bool})
"""What a Tensor may hold instead of an array."""


def is_array_to_function(x: Any) -> bool:
    """Whether a Tensor is an array or number of NumPy's in the eyes of the function that runs."""
    trace = STATE.trace
    if trace is not None:
        return bool(x._is_traced) and trace.stands(x._traced[1])
    if STATE.standing:
        return not (is_own_leaf(x) or is_own(x))
    return STATE.arrays is not None and id(x) in STATE.arrays


def is_number_of_python(x: Any) -> bool:
    """Whether a Tensor is a float, int, complex number or bool in the eyes of the function."""
    return type(getattr(x, "_array", None)) in OF_PYTHON and is_array_to_function(x)


def is_own_leaf(x: Any) -> bool:
    """Whether the function which runs has made a Tensor itself, to differentiate by it."""
    return STATE.own_leaves is not None and STATE.own_leaves.get(id(x)) is x


def is_own(x: Any) -> bool:
    """Whether the function which runs, without a trace, has made a Tensor itself."""
    return STATE.own is not None and id(x) in STATE.own


def is_of_caller(x: Any) -> bool:
    """Whether a Tensor stands for nothing: the caller has made it, or the function."""
    return STATE.machine is not None and STATE.machine.world.original(x) is x


def is_memory(x: Any) -> bool:
    """Whether something is a Tensor that a write changes for all that have it.

    In functions of arrays NumPy's scalars are none, as numbers of Python's are nowhere.
    """
    held: Any = getattr(x, "_array", None)
    if not hasattr(held, "ndim"):
        return False
    return isinstance(held, np.ndarray) or held.ndim > 0 or not is_array_to_function(x)


def note_arrays(tensors: Iterable[Any]) -> None:
    """Tensors that stand for arrays from here on, in a run that is not traced."""
    if STATE.standing:  # as all do but the function's own
        own = STATE.own or {}
        for tensor in tensors:
            own.pop(id(tensor), None)
        return
    arrays: dict[int, Any] = {} if STATE.arrays is None else STATE.arrays
    if STATE.arrays is None:
        STATE.update(arrays=arrays)
    for tensor in tensors:
        arrays[id(tensor)] = weakref.ref(tensor, partial(_forget, arrays, id(tensor)))


def note_results(operands: Sequence[Any], results: Sequence[Any]) -> None:
    """What is computed of Tensors that all stand for arrays is such as well, and nothing else."""
    of, arrays = [x for x in operands if hasattr(x, "_traced")], STATE.arrays or {}
    if of and all(id(x) in arrays for x in of):
        note_arrays(results)
    if not of or any(map(is_own, of)):
        note_own(results)


def note_made(made: Iterable[Any]) -> None:
    """Tensors among what the function was given by what makes Tensors of arrays, too."""
    tensors = [x for x in made if hasattr(x, "_traced")]
    traced = [x for x in tensors if x._is_traced]
    if STATE.trace is not None:
        STATE.trace.shown.update(x._traced[1] for x in traced)
    note_own(tensors)


def note_own(tensors: Sequence[Any]) -> None:
    """Tensors that the function which runs has made, where its others stand for arrays."""
    own = STATE.own
    if own is None or STATE.trace is not None or not STATE.standing:
        return
    for tensor in tensors:
        own[id(tensor)] = weakref.ref(tensor, partial(_forget, own, id(tensor)))
    if not STATE.special:
        STATE.update(own=own)


def _forget(arrays: dict[int, Any], key: int, _: Any) -> None:
    arrays.pop(key, None)
