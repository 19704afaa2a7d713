"""An op's record enters, the function that users call leaves: ``tg.exp``, a plain Python function.

A record is data, and one object of its class looks like the next. What users call has a name, a
docstring with shapes and dtypes and a signature of its own; it can be pickled by its name, copied,
wrapped and asked about as any function can. Derivative rules and passes go on calling records.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from types import FunctionType
from typing import Any, cast

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.autograd.tape import EMPTY
from tracegrad.dispatch import apply
from tracegrad.ops.record import OpRecord

RECORDS: dict[Callable[..., Any], OpRecord] = {}
"""The record behind each function that was made here."""

_MADE: dict[OpRecord, FunctionType] = {}


def function_of(record: OpRecord) -> FunctionType:
    """The function that users call for an op: always the same one."""
    found = _MADE.get(record)
    if found is None:
        found = _MADE[record] = _FORMS[len(record.operands)](record)
        found.__name__ = found.__qualname__ = record.name
        found.__module__ = __name__.partition(".")[0]
        found.__doc__ = _docstring(record)
        found.__signature__ = record.__signature__  # type: ignore[attr-defined]
        RECORDS[found] = record
    return found


def _of_one(record: OpRecord) -> FunctionType:
    def function(x: Any, /) -> Any:
        return apply(record, (x,), EMPTY)

    return cast("FunctionType", function)


def _of_two(record: OpRecord) -> FunctionType:
    def function(a: Any, b: Any, /) -> Any:
        return apply(record, (a, b), EMPTY)

    return cast("FunctionType", function)


_FORMS = {1: _of_one, 2: _of_two}
"""How such a function is written, by its number of operands: ops with attributes have none."""

# -- what it tells of itself ----------------------------------------------------------------------

SHAPES = {
    1: "x: an array or a number, of any shape. The result has the same shape.",
    2: "a, b: arrays or numbers, of shapes that broadcast. The result has the broadcast shape.",
}
"""Of elementwise ops, by the number of operands; the docs of others say it themselves."""

SHOWN = ("bool", "int64", "float32", "float64", "complex128")
"""The dtypes for which a docstring tells the result's."""


def _docstring(record: OpRecord) -> str:
    gradient = "recorded" if record.differentiable else "none, the derivative is 0 where it exists"
    elementwise = Trait.ELEMENTWISE in record.traits
    return "\n".join(
        [
            cleandoc(record.doc),
            "",
            *([SHAPES[len(record.operands)]] if elementwise else []),
            f"dtypes: {_dtypes(record)}; TypeError for others",
            f"gradient: {gradient}",
        ]
    )


def _dtypes(record: OpRecord) -> str:
    """The result's dtype by that of the operands: ``int64 -> float64, float32 -> float32``."""
    found = []
    for dtype in SHOWN:
        operands = [ArrayType(dtype, (2, 2))] * len(record.operands)
        try:
            result = record.infer(Sizes(), *operands)
        except TypeError:
            continue
        found.append(f"{dtype} -> {cast('ArrayType', result).dtype}")
    return ", ".join(found)
