"""Arrays that no op has recorded, and that turns put others in the place of.

``P = np.eye(2)``, and ``P = A @ P @ A.T + Q`` in each turn: NumPy computes that by itself. Such a
loop is closed in another run, in which the array is a parameter of the loop from its first turn on,
so that what turns compute of it is recorded. What needs the array's numbers then, or NumPy's own
array, is an error of that run or leaves it without a program: it is made again, with that loop
unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracegrad.values.dispatch import is_numeric
from tracegrad.world.loops.loop_heads import Head, Leaf, Slot
from tracegrad.world.loops.widened_states import Change, Known


def is_constant_array(world: Any, x: Any) -> bool:
    """Whether something is an array or a number of NumPy's that the function made of numbers."""
    if type(x) is np.ndarray:
        own = x.base is None or not world.is_outside(x.base)
        return own and is_numeric(x.dtype) and not world.is_outside(x)
    return issubclass(type(x), np.floating)  # a Tensor says that it is an instance


def learned(loops: Any, head: Head, now: Mapping[Slot, Leaf]) -> Known | None:
    """What is known of a loop of which a turn changed such an array; None of other loops."""
    found: Known = {}
    arrays = False
    for slot, leaf in now.items():
        old = head.before[slot]
        if leaf.holder is old.holder and leaf.value is old.value:
            continue
        if type(slot[0]) is not int or slot[0] < 0:
            return None
        if is_constant_array(loops.world, leaf.holder):
            alike = type(leaf.holder) is type(old.holder)
            if not alike or leaf.holder.shape != old.holder.shape:
                return None
            if leaf.holder.dtype != old.holder.dtype:
                return None
            arrays = True
        found[slot] = Change.BOUND
    return found if arrays else None


def gives_up(loops: Any) -> bool:
    """Whether a run with such parameters, of which no program is to be had, is made again."""
    if loops is None or not loops.constants or not loops.is_repeatable():
        return False
    for head in loops.constants:
        loops._unrolled(head, "what turns do needs the numbers of an array")
    return True


def was_before_turn(loops: Any, array: np.ndarray) -> bool:
    """Whether a variable had an array already when the turn of a loop began that is written now.

    So turns that write to one may stay a loop: a Tensor in its place is written to in each.
    """
    if loops is None or not is_constant_array(loops.world, array):
        return False
    tried = loops.unclosed
    heads = [h for h in loops.heads.values() if h.target not in tried.get(h.frame.code, ())]
    found = [h for h in heads if any(x.holder is array for x in h.before.values())]
    loops.constants += found
    return bool(found)
