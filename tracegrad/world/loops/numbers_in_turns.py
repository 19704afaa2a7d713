"""Numbers of Python in the variables of a turn, as the parameters of the next one take them.

A variable may hold a number that is part of the program, one from outside, or one that is computed
of inputs. Where turns hold floats of NumPy's in it as well, it is `WIDE`, and so are all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from codegen.ir import Builder, Value
from codegen.types import ArrayType, kind, weak
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.ops.python_lists import either
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.world.loops.loop_heads import Head, Known
from tracegrad.world.loops.state_items import is_flag
from tracegrad.world.loops.while_tests import WhileTests
from tracegrad.world.loops.widened_states import (
    WIDE,
    Change,
    is_exact,
    shown_floats,
    widened,
    width_of,
)

BUILTIN = {int: "int", float: "float", bool: "bool"}  # the kinds of Python's numbers


class NumbersInTurns(WhileTests):
    """What a run knows of such numbers."""

    known: Known
    wide: dict[Value, Head]  # parameters that may be floats of Python in the first turn

    def _number(self, parameter: Value, x: Any, flag: bool) -> Value | None:
        """A number of Python as what a parameter is; None of other types."""
        type_ = parameter.type
        wide = parameter in self.wide and type(x) is float and self._may_be(type_, x)
        if wide and not type_.either:
            number = self.trace.number(x, weak("float"), parameter.origin)
            return widened_value(self.trace.builder, number, parameter)
        alike = BUILTIN.get(type(x)) == kind(type_.dtype) and (type_.weak or flag)
        return self.trace.number(x, type_, parameter.origin) if wide or alike else None  # type: ignore[no-any-return]

    def varied(self, head: Head, slot: int, x: Any) -> Any:
        """What a variable holds within a turn: a number of Python as what it is in the next one."""
        parameter = head.parameters.get((slot,))
        if parameter is None:
            return x
        x = self._recorded(parameter, x)
        if type(x) is Tensor:
            return x
        value = self._number(parameter, x, is_flag(head, (slot,), x))
        if value is None:
            return x
        tensor = wrap(widened(parameter.type, x), (self.trace, value))
        self.world.stands_for(tensor, x)
        return tensor

    def _recorded(self, parameter: Value, x: Any) -> Any:
        """A number from outside as the input that it is, and as NumPy's where the variable is."""
        if self.world.numbers.found(x) is not None:
            x = self.world.numbers.lifted(self.world, x)
        recorded = type(x) is Tensor and x._traced is not None
        if not (recorded and parameter in self.wide) or x._traced[1].type.either:
            return x
        of_python = x._traced[1].type == weak("float") and self._may_be(parameter.type, x)
        if of_python or (parameter.type.either and x._traced[1].type == parameter.type):
            return as_wide(x, parameter.type)
        return x

    def _may_be_wide(self, wide: ArrayType, type_: ArrayType, x: Any) -> bool:
        """Whether a parameter may be wide that is of a type, and begins with something."""
        if self.known.keeps_floats:
            return False
        return type_ == wide or (type_ == weak("float") and self._may_be(wide, x))

    def _may_be(self, wide: ArrayType, x: Any) -> bool:
        """Whether a float of Python's may be taken for one of NumPy's of a type.

        In 32 bits that is so where it is known to be the same number, and for JAX, which does.
        """
        return wide == WIDE or self.trace.samples or (type(x) is float and is_exact(wide, x))

    def _width(self, parameter: Value) -> Change:
        """How a variable changes that is a parameter, as far as floats of Python's go."""
        return width_of(parameter.type) if parameter in self.wide else Change(0)

    def shows_floats(self, nodes: Sequence[Any]) -> bool:
        """Whether nodes show that floats which are taken for NumPy's may be Python's."""
        return not self.trace.samples and bool(shown_floats(nodes, self.wide))


def widened_value(builder: Builder, number: Value, parameter: Value) -> Value:
    """A float of Python's as one of NumPy's, of the type of a parameter."""
    nothing = builder.constant(-0.0, parameter.type)  # x + -0.0 is x
    return builder.call(add, (number, nothing), parameter.origin)[0]


def as_wide(x: Tensor, type_: ArrayType) -> Tensor:
    """A float of Python's that is recorded, as one of NumPy's of a type, or of either's."""
    if type_.either:
        return either(x, dtype=type_.dtype)  # type: ignore[no-any-return]
    made: Tensor = add(x, np.dtype(type_.dtype).type(-0.0))  # x + -0.0 is x
    return made
