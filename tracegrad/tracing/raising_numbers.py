"""Asks, where a function catches exceptions, whether Python raises one of its own numbers.

``n / m`` of Python's numbers raises where `m` is 0, ``1 << n`` where `n` is negative. A function
that may catch this goes on in another way then: the program looks at the divisor, and each way is
a path. Where nothing catches it, a call that raises ends, and no path stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracegrad.ops.elementwise import ufuncs
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.values.dispatch import is_weak

RAISES_OF: Mapping[Any, int] = {
    **dict.fromkeys((ufuncs.divide, ufuncs.floor_divide, ufuncs.remainder), 0),
    **dict.fromkeys((ufuncs.bitwise_left_shift, ufuncs.bitwise_right_shift), -1),
}
"""A second operand for which an operator of Python's numbers raises."""


def ask(trace: Any, op: Any, operands: Sequence[Any]) -> None:
    """Looks at what is `sound` of Python's numbers, and raises where that does not hold."""
    if not (_may_raise(op, operands) and trace.catches):
        return
    if trace.choices is not None and trace.choices.leaves_uncaught():
        return
    if all(map(bool, op.sound(None, *operands))):
        return
    a, b = (getattr(x, "_array", x) for x in operands)
    error = _raised(op, a, type(b)(RAISES_OF[op]))
    assert error is not None
    if trace.choices is not None:
        trace.choices.raises(error)
    raise error


def samples(trace: Any, op: Any, operands: Sequence[Any]) -> list[Any]:
    """What the operands hold; a sample for which the op raises is another one."""
    arrays = [getattr(x, "_array", x) for x in operands]
    raises = trace.samples and _may_raise(op, operands) and _raised(op, *arrays)
    if raises and not trace.without_inputs(operands[1]._traced[1]):
        arrays[1] = type(arrays[1])(1)
    return arrays


def _may_raise(op: Any, operands: Sequence[Any]) -> bool:
    """Whether the second operand is a Tensor, and both are Python's numbers."""
    if op not in RAISES_OF or getattr(operands[1], "_traced", None) is None:
        return False
    return in_trace(operands[1]) is not None and all(map(is_weak, operands))


def _raised(op: Any, a: Any, b: Any) -> Exception | None:
    try:
        op.kernel({})(a, b)
    except (ValueError, ZeroDivisionError) as error:
        return error
    return None
