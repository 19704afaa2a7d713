"""Ops that batches of turns are made of: rows as an array, work in a row, rows written over."""

from __future__ import annotations

from collections.abc import Hashable

from codegen.emit.numpy import NUMPY
from codegen.ir import (
    Op,
    Trait,
)
from codegen.spelling import spell
from tracegrad.ops.joining import stacked
from tracegrad.ops.record import OpRecord

rows_of = OpRecord(
    name="array",
    operands=("*arrays",),
    infer=lambda sizes, *arrays: stacked.infer(sizes, *arrays, axis=0),
    spelling={"numpy": spell("np.array(arrays)")},
    traits=frozenset({Trait.CONTIGUOUS}),
    doc="Arrays of one shape as the rows of a new one: what np.stack does, in half the time.",
)


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
