"""The short texts in the boxes of a picture, about nodes and their types."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.array_bytes import bytes_of, length_of
from codegen.emit import TARGETS
from codegen.emit.loop_analysis import range_text
from codegen.emit.target import literal
from codegen.emit.writer import quote
from codegen.ir import Call, Graph, Loop, Trait, Value
from codegen.sizes import Dim, Size, as_python
from codegen.spelling import ABSENT, Absent, Fragment, Spelling, Subscript
from codegen.types import DTYPES, ArrayType, kind

INNER = "·"  # stands for an operand that has no name; the edge says where it comes from


class Words:
    """What values of one graph are called; `known` are the lengths that were seen."""

    def __init__(self, graph: Graph, target: str, known: Mapping[str, int]) -> None:
        self.graph = graph
        self.target = TARGETS[target]
        self.known = known

    def name(self, value: Value) -> str:
        """The user's variable that holds this very value, else nothing."""
        origin = value.origin
        return origin.name if origin.name and (origin.final or value in self.graph.inputs) else ""

    def operand(self, value: Value) -> Fragment:
        """The value where it is read: its name, a number itself, or a dot."""
        constant = self.graph.constant(value)
        if constant is not None:
            return literal(constant.value, self.target)
        made = self.graph.producer.get(value)
        if not self.name(value) and isinstance(made, Call) and self._is_face(made):
            return Fragment(self.expression(made))
        return Fragment(self.name(value) or INNER)

    def loop(self, loop: Loop) -> str:
        """The line that a loop begins with."""
        if loop.origin.text:
            return loop.origin.text.removesuffix(":")
        if loop.counter is None:
            return "while True"
        start, stop = self.operand(loop.counter.start), self.operand(loop.counter.stop)
        index = self.name(loop.counter.index) or "_"
        return f"for {index} in {range_text(start, stop, loop.counter.step)}"

    def _is_face(self, call: Call) -> bool:
        """``w.T``: short enough to be said where it is read."""
        if Trait.VIEW not in call.op.traits or self.target.name not in call.op.spelling:
            return False
        spelling = call.op.spelled(self.target.dialect, dict(call.attributes))
        return isinstance(spelling.expression, ast.Attribute)

    def expression(self, call: Call) -> str:
        """The call as the emitter spells it, over the names of its operands."""
        if Trait.EXTENT in call.op.traits:
            return self._attribute(call.attribute("size")).text
        operands = [self.operand(value) for value in call.operands]
        if self.target.name not in call.op.spelling:
            return f"{call.op.name}({', '.join(o.text for o in operands)})"
        spelling = call.op.spelled(self.target.dialect, dict(call.attributes))
        if spelling.expression is None:
            return f"{call.op.name}({', '.join(o.text for o in operands)})"
        return spelling.render(self._holes(call, spelling, operands)).text

    def _holes(
        self, call: Call, spelling: Spelling, operands: list[Fragment]
    ) -> dict[str, Fragment | Absent]:
        names = call.op.operands
        holes: dict[str, Fragment | Absent] = {}
        rest: list[Fragment] = []
        if names and names[-1].startswith("*"):
            rest = operands[len(names) - 1 :]
            holes[names[-1][1:]] = Fragment(f"[{', '.join(f.text for f in rest)}]")
        holes.update(zip((n for n in names if not n.startswith("*")), operands, strict=False))
        for name, value in call.attributes:
            default = call.op.attributes[name]
            if isinstance(value, Subscript):
                holes[name] = value.render(tuple(rest))
                holes[f"{name}_tuple"] = value.render_tuple(tuple(rest))
            elif name in spelling.droppable and type(value) is type(default) and value == default:
                holes[name] = ABSENT
            else:
                holes[name] = self._attribute(value)
        return holes

    def _attribute(self, value: object) -> Fragment:
        match value:
            case Size():
                return Fragment(as_python(self.graph.sizes.resolve(value)))
            case str() if value in DTYPES:
                return Fragment(value if value == "bool" else f"{self.target.module}.{value}")
            case str():
                return Fragment(quote(value))
            case tuple():
                texts = [self._attribute(item).text for item in value]
                return Fragment(f"({', '.join(texts)}{',' if len(texts) == 1 else ''})")
            case bool() | int() | float() | complex():
                return literal(value, self.target)
        return Fragment(getattr(value, "name", None) or repr(value))

    # -- types ----------------------------------------------------------------------------------

    def type(self, type: ArrayType) -> str:
        """The dtype, and the lengths with their symbols."""
        if type.weak:
            return f"Python {kind(type.dtype)}"
        shape = [as_python(self.graph.sizes.resolve(dim)) for dim in type.shape]
        return f"{type.dtype} ({', '.join(shape)}{',' if len(shape) == 1 else ''})"

    def seen(self, type: ArrayType) -> str:
        """The lengths that a call had, where the type does not say them."""
        if all(isinstance(self.graph.sizes.resolve(dim), int) for dim in type.shape):
            return ""
        lengths = [self.length(dim) for dim in type.shape]
        return "×".join("?" if n is None else str(n) for n in lengths)

    def length(self, dim: Dim) -> int | None:
        """A length, where it is known."""
        return length_of(self.graph.sizes, dim, self.known)

    def bytes(self, value: Value) -> int | None:
        """How much memory a value takes; None for Python numbers and unknown lengths."""
        type, made = value.type, self.graph.producer.get(value)
        if isinstance(made, Call) and Trait.EXTENT in made.op.traits:
            return None
        return bytes_of(self.graph.sizes, type, self.known)
