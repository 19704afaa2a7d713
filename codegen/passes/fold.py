"""The rules of `simplify` that do arithmetic on numbers: constant folding.

Only arithmetic that Python does to the same bits as the target is folded: infix operators on
float64 and weak numbers. (The number behind a float32 is not yet rounded to float32, and int64
divides through float64.) Numbers that are parameters (they have a slot) stay. Comparisons of such
numbers, and of integers, are folded as well; a look at one that sees what the trace saw goes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from codegen.ir import Call, Number, Trait, Value
from codegen.rewrite import Rewriter, offered
from codegen.spelling import Spelling
from codegen.types import ArrayType

_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@offered(lambda op: Trait.EXTENT in op.traits)
def _fold_extent(r: Rewriter, call: Call) -> Value | None:
    """A number of elements that is fixed is a literal."""
    size = r.sizes.resolve(call.attribute("size"))
    if not isinstance(size, int) or size == 0:  # dividing by a literal 0 would raise
        return None
    type = call.results[0].type
    return r.make_number(float(size) if type.dtype.startswith("float") else size, type)


def exact(call: Call, numbers: Sequence[Number | None]) -> Number | None:
    """What the call makes of these operands, where Python gives the bits that the target gives."""
    if any(number is None or isinstance(number, bool) for number in numbers):
        return None
    spelling, given = _spelling(call), [value.type for value in call.operands]
    compute = _EXACT.get(spelling.operator(call.op.operands) or "") if spelling else None
    if compute is not None and not all(map(_is_python, (*given, call.results[0].type))):
        return None
    if compute is None:
        compute = (
            _COMPARISONS.get(spelling.comparison(call.op.operands) or "") if spelling else None
        )
        if compute is None or not all(_is_python(t) or t == ArrayType("int64") for t in given):
            return None
    try:
        result: Number = compute(*numbers)
    except ArithmeticError:
        return None  # left to run time, where it is a NumPy scalar and gives inf or nan
    return result


def _is_python(type: ArrayType) -> bool:
    """Whether Python computes with a number of this type as the targets do."""
    return not type.shape and (type.weak or type.dtype == "float64")


def _spelling(call: Call) -> Spelling | None:
    """How the op is written in any target, or nothing."""
    target = next(iter(call.op.spelling), "")
    return call.op.spelled(target, dict(call.attributes)) if target else None


def _fold_arithmetic(r: Rewriter, call: Call) -> Value | None:
    numbers: list[Number] = []
    for operand in call.operands:
        number = r.number(operand)
        if number is None:
            return None
        numbers.append(number)
    number = exact(call, numbers)
    return None if number is None else r.make_number(number, call.results[0].type)


FOLD_RULES = (_fold_extent, _fold_arithmetic)
