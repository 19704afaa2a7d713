"""A graph enters and its text leaves, or the other way round: ``parse(str(graph))`` is the graph.

::

    graph loss(x: float64[n0], y: float64[n0]) {
      %err = sub(%x, %y)  # model.py:3 | err = x - y
      %value~ = mul(%err, %err)  # model.py:4 | return (err * err).sum()
      %value = sum(%value~, axis=None, keepdims=False)  # model.py:4 | return (err * err).sum()
      return %value
    }

A value's name is the user's, numbered where it occurs again; ``~`` marks an inner value of the
statement. Types of results are not printed: parsing infers them again from the inputs'.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import Builder, Call, Check, Constant, Frame, Graph, Op, Origin, Value
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Slot, Subscript
from codegen.types import ArrayType, weak


class ParseError(CodegenError):
    """The text is not a graph."""


def print_graph(graph: Graph) -> str:
    """The graph as text."""
    names: dict[Value, str] = {}
    taken: set[str] = set()

    def define(value: Value, fallback: str) -> str:
        origin = value.origin
        stem = origin.name or fallback
        if origin.name and not origin.final and value not in graph.inputs:
            stem += "~"
        name, count = stem, 0
        while name in taken:
            count += 1
            name = f"{stem}.{count}"
        taken.add(name)
        names[value] = name
        return f"%{name}"

    def resolved(type: ArrayType) -> ArrayType:
        return type.with_shape([graph.sizes.resolve(dim) for dim in type.shape])

    inputs = ", ".join(
        f"{define(v, 'input')[1:]}: {resolved(v.type)}" for v in graph.inputs
    )
    lines = [f"graph {graph.name}({inputs}) {{"]
    for node in graph.nodes:
        origin = node.origin if isinstance(node, Check) else node.results[0].origin
        match node:
            case Constant(value, result, slot):
                shown = f"{result.type.dtype if not result.type.weak else ''}"
                options = [repr(value), *([repr(shown)] if shown else [])]
                if slot is not None:
                    options.append(f"slot={slot}")
                line = f"{define(result, 'c')} = constant({', '.join(options)})"
                origin = Origin()
            case Call(op, operands, attributes, results, reuse):
                arguments = [f"%{names[v]}" for v in operands]
                arguments += [
                    f"{key}={attribute_text(graph.sizes, v)}" for key, v in attributes
                ]
                if reuse is not None:
                    arguments.append(f"reuse={reuse}")
                targets = ", ".join(define(v, op.name) for v in results)
                line = f"{targets} = {op.name}({', '.join(arguments)})"
            case Check(operand, look, outcome):
                line = f"check %{names[operand]} {look} {outcome!r}"
        lines.append(f"  {line}{_comment(origin)}")
    lines.append(f"  return {', '.join('%' + names[v] for v in graph.outputs)}")
    lines.append("}")
    return "\n".join(lines)


def _comment(origin: Origin) -> str:
    if not origin.line:
        return ""
    section = f"{origin.section} " if origin.section else ""
    return f"  # {section}{origin.file}:{origin.line} | {origin.text}"


def attribute_text(sizes: Sizes, value: Any) -> str:
    """An attribute as Python that `parse` reads back."""
    match value:
        case Size():
            return str(sizes.resolve(value))
        case tuple():
            items = ", ".join(attribute_text(sizes, item) for item in value)
            return f"({items}{',' if len(value) == 1 else ''})"
    return repr(value)


_HEAD = re.compile(r"graph (\w+)\((.*)\) \{$")
_NAME = re.compile(r"%([\w~.]+)")
_CHECK = re.compile(r"check %([\w~.]+) (\w+) (.+)$")
_ORIGIN = re.compile(r"  # (?:(backward) )?(.*?):(\d+) \| (.*)$")


def parse(text: str, ops: Mapping[str, Op]) -> Graph:
    """The graph that the text says, over these ops."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    head = _HEAD.match(lines[0])
    if head is None or lines[-1] != "}":
        raise ParseError(f"expected 'graph name(...) {{' and a closing brace: {lines[0]!r}")
    values: dict[str, Value] = {}
    inputs = []
    for part in re.findall(r"([\w~.]+): (\w+)(\[[^\]]*\])?", head[2]):
        name, dtype, shape = part
        type = _type(dtype, shape)
        values[name] = Value(type, Origin(_stem(name), True))
        inputs.append(values[name])
    seen = {s: 0 for v in inputs for d in v.type.shape for s in sz.symbols(d)}
    builder = Builder(_Strict(seen))
    outputs: tuple[Value, ...] = ()
    for line in lines[1:-1]:
        body, origin = _split_origin(line)
        if body.startswith("return"):
            outputs = tuple(values[name] for name in _NAME.findall(body))
        elif check := _CHECK.match(body):
            outcome = ast.literal_eval(check[3])
            builder.append(Check(values[check[1]], check[2], outcome, origin))
        else:
            left, _, right = body.partition(" = ")
            targets = _NAME.findall(left)
            named = Origin(
                _stem(targets[0]), "~" not in targets[0], origin.file, origin.line,
                origin.text, None, origin.section,
            )
            results = _call(builder, right, values, ops, named)
            values.update(zip(targets, results, strict=True))
    names = tuple(name for name, v in values.items() if v in inputs)
    frame = Frame(parameters=names, reads=names)
    return Graph(head[1], tuple(inputs), tuple(builder.nodes), outputs, frame, builder.sizes)


class _Strict(Sizes):
    """Sizes read from a text: symbols have no values, only algebra shows equality."""

    def same(self, a: Dim, b: Dim) -> bool:
        return a == b or self.resolve(a) == self.resolve(b)

    def is_one(self, dim: Dim) -> bool:
        return dim == 1


def _stem(name: str) -> str:
    return re.sub(r"[~.].*", "", name)


def _split_origin(line: str) -> tuple[str, Origin]:
    found = _ORIGIN.search(line)
    if found is None:
        return line.strip(), Origin()
    origin = Origin(None, False, found[2], int(found[3]), found[4], None, found[1] or "")
    return line[: found.start()].strip(), origin


def _type(dtype: str, shape: str) -> ArrayType:
    if not shape:
        return weak(dtype)
    node = ast.parse(f"({shape[1:-1]},)" if shape != "[]" else "()", mode="eval").body
    return ArrayType(dtype, tuple(_evaluate(node)))


def _call(
    builder: Builder, text: str, values: Mapping[str, Value], ops: Mapping[str, Op], origin: Origin
) -> tuple[Value, ...]:
    names: list[str] = []

    def hole(match: re.Match[str]) -> str:
        names.append(match[1])
        return f"value({len(names) - 1})"

    tree = ast.parse(_NAME.sub(hole, text), mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ParseError(f"not a call: {text!r}")
    attributes = {k.arg: _evaluate(k.value) for k in tree.keywords if k.arg}
    if tree.func.id == "constant":
        value = _evaluate(tree.args[0])
        if len(tree.args) == 2:
            type = ArrayType(_evaluate(tree.args[1]))
        else:
            type = weak(value.__class__.__name__)
        return (builder.constant(value, type, attributes.get("slot"), origin),)
    if tree.func.id not in ops:
        raise ParseError(f"no op named {tree.func.id!r}")
    operands = tuple(values[name] for name in names)
    reuse = attributes.pop("reuse", None)
    results = builder.call(ops[tree.func.id], operands, origin, **attributes)
    if reuse is not None:
        node = builder.nodes.pop()
        assert isinstance(node, Call)
        builder.append(Call(node.op, node.operands, node.attributes, node.results, reuse))
    return results


def _evaluate(node: ast.expr) -> Any:
    """The attribute values that `attribute_text` prints."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return sz.symbol(name)
        case ast.Tuple(elements):
            return tuple(map(_evaluate, elements))
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand)
        case ast.BinOp(left, ast.Add(), right):
            return sz.add(_evaluate(left), _evaluate(right))
        case ast.BinOp(left, ast.Mult(), right):
            return sz.mul([_evaluate(left), _evaluate(right)])
        case ast.Call(ast.Name(name), args):
            arguments = list(map(_evaluate, args))
            match name:
                case "slice":
                    return slice(*arguments)
                case "length":
                    return sz.slice_length(arguments[0], slice(*arguments[1:]))
                case "quotient":
                    return sz.quotient(arguments[0], arguments[1])
                case "Subscript":
                    return Subscript(*arguments)
                case "Slot":
                    return Slot(*arguments)
    raise ParseError(f"not an attribute: {ast.unparse(node)}")
