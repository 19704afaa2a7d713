"""Gives literals beside arrays a dtype: names for arrays without axes, as wide as the literals.

A ufunc turns a Python number into an array and looks for its dtype on every call, which takes
longer than the work on a hundred elements. So the source that is loaded has names in place of the
literals that users see. Each name is an array of the operation's dtype. The results have the same
bits, and both sources have the same columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from codegen.ir import Call, Number, Trait, Value
from codegen.spelling import Fragment, Spelling
from codegen.types import promote

FIRST, LAST = 0x10600, 0x10736  # Linear A: letters that no program's own names begin with
NAME = rf"[{chr(FIRST)}-{chr(LAST)}]_*"
LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
WHOLE = 2**24  # integers up to here are numbers of every float dtype


class Constants:
    """The literals of one module that are arrays when it runs, by the names that they have then."""

    def __init__(self) -> None:
        self.named: dict[str, tuple[Number, str]] = {}
        self._texts: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def beside(
        self,
        call: Call,
        spelling: Spelling,
        numbers: Mapping[Value, Number],
        position: int,
        literal: Fragment,
    ) -> Fragment:
        """A literal, one of `numbers`, as it is loaded at an operand's place."""
        dtype = array_dtype(call, spelling, numbers, position)
        if dtype is None:
            return literal
        return self.name(numbers[call.operands[position]], dtype, literal)

    def name(self, number: Number, dtype: str, literal: Fragment) -> Fragment:
        """The name for a literal; while there are letters."""
        key = literal.text, dtype
        name = self._names.get(key)
        if name is None:
            letter = FIRST + len(self._names)
            if letter > LAST:
                return literal
            name = self._names[key] = chr(letter).ljust(len(literal.text), "_")
            self.named[name] = number, dtype
            self._texts[name] = literal.text
        return Fragment(name, literal.precedence)

    def read(self, text: str) -> str:
        """The source with its literals."""
        if not self._texts:
            return text
        return re.sub(NAME, lambda found: self._texts[found[0]], text)


def array_dtype(
    call: Call, spelling: Spelling, numbers: Mapping[Value, Number], position: int
) -> str | None:
    """The dtype that NumPy gives the number at an operand's place, where an array stands beside it.

    None where there is no such array, or where an array would not give the same result.
    """
    number = numbers.get(call.operands[position])
    if Trait.ELEMENTWISE not in call.op.traits or spelling.infix == "**":  # x**2 is a product
        return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    others = [v for i, v in enumerate(call.operands) if i != position and v not in numbers]
    dtype = promote([v.type for v in call.operands])[0]
    if dtype not in LARGEST or not any(v.type.shape for v in others):
        return None
    if any(v.type.dtype not in (dtype, "bool") or v.type.weak for v in others):
        return None
    if isinstance(number, int):
        return dtype if abs(number) <= WHOLE else None
    return dtype if not abs(number) > LARGEST[dtype] or abs(number) == float("inf") else None
