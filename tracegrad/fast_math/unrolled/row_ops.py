"""Ops that batches of turns are made of: rows as an array, work in a row, rows written over."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from codegen.emit.numpy import NUMPY
from codegen.ir import (
    Op,
    Trait,
)
from codegen.spelling import Spelling, spell
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.joining import stacked

rows_of = OpRecord(
    name="array",
    operands=("*arrays",),
    infer=lambda sizes, *arrays: stacked.infer(sizes, *arrays, axis=0),
    spelling={"numpy": spell("np.array(arrays)")},
    traits=frozenset({Trait.CONTIGUOUS}),
    doc="Arrays of one shape as the rows of a new one: what np.stack does, in half the time.",
)


def _between_text(attributes: Mapping[str, Any]) -> Spelling:
    start, stop = attributes["start"], attributes["stop"]
    rest = "".join(f", x.shape[{axis}]" for axis in range(1, attributes["ndim"]))
    return spell(f"x[{start or ''}:{stop}].reshape({stop - start}{rest})")


rows_between = OpRecord(
    name="rows",
    operands=("x",),
    infer=lambda sizes, x, start, stop, ndim: x.with_shape((stop - start, *x.shape[1:])),
    spelling={"numpy": _between_text},
    attributes={"start": ..., "stop": ..., "ndim": ...},
    traits=frozenset({Trait.VIEW}),
    doc="A slice of an array of free length, which must have all of these rows.",
)
_APART: dict[Op, OpRecord] = {}


def apart(op: Op) -> OpRecord:
    """The same op by another name, whose result no pass takes for that of an equal call.

    What is made to be written over is not what it was for readers that come later.
    """
    if op not in _APART:
        assert isinstance(op, OpRecord)
        _APART[op] = replace(op, name=f"{op.name}_apart")
    return _APART[op]


ROW_OPS: dict[Hashable, OpRecord] = {}

written = OpRecord(
    name="written",
    operands=("x", "*rows"),
    infer=lambda sizes, x, *rows: x,
    spelling={"numpy": spell("x")},
    traits=frozenset({Trait.VIEW}),
    doc="An array after its rows were written over.",
)


def row_op(steps: tuple[tuple[Op, int, bool], ...]) -> OpRecord:
    """The op that takes these steps on a row of an array: one statement for each."""
    if steps not in ROW_OPS:
        lines: list[str] = ["out = x[index]"]
        others: list[str] = []
        for op, position, binary in steps:
            spelled = op.spelled("numpy", {})
            symbol = spelled.operator(op.operands)
            operands = ["out"]
            if binary:
                others.append(f"a{len(others)}")
                operands.insert(1 - position, others[-1])
            if symbol and (position == 0 or Trait.COMMUTATIVE in op.traits):
                lines.append(f"out {symbol}= {others[-1]}")
            else:
                function = NUMPY.ufuncs[symbol] if symbol else spelled.call
                lines.append(f"{function}({', '.join(operands)}, out=out)")
        ROW_OPS[steps] = OpRecord(
            name=steps[-1][0].name,
            operands=("x", *others),
            infer=lambda sizes, x, *others, index: x.with_shape(x.shape[1:]),
            spelling={"numpy": spell("\n".join(lines))},
            attributes={"index": ...},
            traits=frozenset({Trait.VIEW}),
            doc="Steps of elementwise work on a row, in its memory.",
        )
    return ROW_OPS[steps]
