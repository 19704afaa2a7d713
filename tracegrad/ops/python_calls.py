"""Ops that call a Python function of the user's, which is an attribute of the call.

What tracegrad cannot see into (the two halves of an `autograd.Function`, hooks) is one node of a
graph: a call of a `PythonOp`, whose attribute ``function`` is a `Foreign`. The generated source
calls it by name. What is called knows its own result types and derivative::

    function.call(*arrays)                   what the program runs
    function.call.infer(sizes, *types)       the type rule
    function.call.vjp(ct, y, *operands)      the derivative rule
    function.call.jvp(tangents, y, *operands)    in forward mode, of those that have it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType
from tracegrad.errors import TraceError
from tracegrad.ops.record import OpRecord
from tracegrad.runtime.provided import Provided

_CALL = spell("function(*arrays)")


@dataclass(frozen=True, eq=False, repr=False)
class PythonOp(OpRecord):
    """An op that runs the user's own Python, which only the NumPy target can call.

    `node_name` is what its nodes on the tape are called, where that does not follow from its name.
    """

    node_name: str | None = None

    def spelled(self, target: str, attributes: Mapping[str, Any]) -> Spelling:
        if target != "numpy":
            function = attributes["function"]
            raise TraceError(
                f"{function.name} is a Python function of yours (a rule of tg.custom_vjp or "
                "tg.custom_jvp, an autograd.Function or a hook), which a program for "
                f'{target} cannot call: compile this with backend="numpy", or say the derivative '
                "by a formula and tg.stop_gradient (docs/guides/custom_gradients.md)"
            )
        return _CALL


def _types(sizes: Sizes, *types: ArrayType, function: Any) -> ArrayType | tuple[ArrayType, ...]:
    found: ArrayType | tuple[ArrayType, ...] = function.call.infer(sizes, *types)
    return found


def _vjp(ct: Any, y: Any, *operands: Any, function: Any) -> tuple[Any, ...]:
    given: tuple[Any, ...] = function.call.vjp(ct, y, *operands)
    return given


def _jvp(tangents: Any, y: Any, *operands: Any, function: Any) -> Any:
    """What the call says of forward mode; `NotImplemented` where its VJP is to be transposed."""
    push = getattr(function.call, "jvp", None)
    return NotImplemented if push is None else push(tangents, y, *operands)


called_on_each = Provided("the batching rule of calls of the user's Python")


def python_op(name: str, node_name: str | None = None) -> PythonOp:
    """An op under this name; not in the table, for it is nobody's but the user's."""
    return PythonOp(
        name=name,
        operands=("*arrays",),
        infer=_types,
        spelling={"numpy": _CALL},
        attributes={"function": ...},
        traits=frozenset({Trait.EFFECT, Trait.LOOSE}),
        vjp=_vjp,
        jvp=_jvp,
        batch=lambda batch: called_on_each.call(batch),
        opaque=True,
        node_name=node_name,
    )


call_python = python_op("call")

hooked = OpRecord(
    name="register_hook",
    operands=("x",),
    infer=lambda sizes, x, function: x,
    spelling={"numpy": spell("x"), "jax": spell("x")},
    attributes={"function": ...},
    differentiable=False,
    doc="Marks where a hook was registered on `x`: the differentiator calls it, programs need not.",
)
