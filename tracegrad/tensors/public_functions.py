"""Makes the functions that users call, such as ``tg.exp``, of op records.

A record is data, and one object of its class looks like the next. What users call has a name, a
docstring with shapes and dtypes and a signature of its own; it can be pickled by its name, copied,
wrapped and asked about as any function can. Derivative rules and passes go on calling records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import cleandoc
from textwrap import fill
from types import FunctionType
from typing import Any, cast

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.ops.record import OpRecord
from tracegrad.tape.tape import EMPTY
from tracegrad.tensors import fast_operators
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import apply

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
    of_tensor = fast_operators.unary(record, record) if record.differentiable else record

    def function(x: Any, /) -> Any:
        return of_tensor(x) if type(x) is Tensor else apply(record, (x,), EMPTY)

    return cast("FunctionType", function)


def _of_two(record: OpRecord) -> FunctionType:
    def function(a: Any, b: Any, /) -> Any:
        return apply(record, (a, b), EMPTY)

    return cast("FunctionType", function)


_FORMS = {1: _of_one, 2: _of_two}
"""How such a function is written, by its number of operands: ops with attributes have none."""

# -- what it tells of itself ----------------------------------------------------------------------

SHAPES = {
    1: "Takes an array of any shape, or a number, and gives one of the same shape.",
    2: "Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.",
}
"""Of elementwise ops, by the number of operands; the docs of others say it themselves."""

SHOWN = ("bool", "int64", "float32", "float64", "complex128")
"""The dtypes for which a docstring tells the result's."""

WIDTH = 88


def _docstring(record: OpRecord) -> str:
    shapes = SHAPES[len(record.operands)] if Trait.ELEMENTWISE in record.traits else ""
    gradient = "" if record.differentiable else "Results carry no gradient."
    dtypes = f"Dtypes: {told_dtypes(results_of(record))}."
    told = " ".join(filter(None, [shapes, dtypes, gradient]))
    return f"{cleandoc(record.doc)}\n\n{fill(told, WIDTH, break_long_words=False)}"


def results_of(record: OpRecord) -> dict[str, str | None]:
    """By the dtype of its operands that of the result; None is a TypeError."""
    results: dict[str, str | None] = {}
    for dtype in SHOWN:
        operands = [ArrayType(dtype, (2, 2))] * len(record.operands)
        try:
            results[dtype] = cast("ArrayType", record.infer(Sizes(), *operands)).dtype
        except TypeError:
            results[dtype] = None
    return results


def told_dtypes(results: Mapping[str, str | None]) -> str:
    """``float32, float64; int64 gives float64``, and ``. TypeError for bool``."""
    by_result: dict[str | None, list[str]] = {}
    for dtype, result in results.items():
        by_result.setdefault(result, []).append(dtype)
    kept = [dtype for dtype, result in results.items() if dtype == result]
    refused = by_result.pop(None, [])
    changed = [
        f"{', '.join(others)} {'give' if len(others) > 1 else 'gives'} {result}"
        for result, dtypes in by_result.items()
        if (others := [dtype for dtype in dtypes if dtype != result])
    ]
    told = "; ".join(filter(None, [", ".join(kept), *changed]))
    error = f"TypeError for {', '.join(refused)}" if refused else ""
    return ". ".join(filter(None, [told, error]))
