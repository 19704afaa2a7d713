"""A graph enters and its text leaves, or the other way round: ``parse(str(graph))`` is the graph.

::

    graph loss(x: float64[n0], y: float64[n0]) {
      %err = sub(%x, %y)  # model.py:3 | err = x - y
      %value~ = mul(%err, %err)  # model.py:4 | return (err * err).sum()
      %value = sum(%value~, axis=None, keepdims=False)  # model.py:4 | return (err * err).sum()
      return %value
    }

A branch has a block for each outcome, indented::

      branch %c bool  # model.py:5 | if x[0] > 0:
        case True
          return %x
        case False
          %y = neg(%x)
          return %y

A value's name is the user's, numbered where it occurs again; ``~`` marks an inner value of the
statement. A word and a colon before the file name the section (``# backward: model.py:3 | ...``).
A function of its own that a call runs (``body=f_tile``) follows as a graph, and is not parsed.
Types of results are not printed: parsing infers them again from the inputs', and from equalities of
lengths that no symbol can express: ``where 2*quotient(n0, 2) == n0``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Frame,
    Graph,
    Node,
    Op,
    Origin,
    Value,
    walk,
)
from codegen.sizes import Settled, Size, Sizes
from codegen.spelling import Slot, Subscript
from codegen.types import DTYPES, KINDS, ArrayType, weak


class ParseError(CodegenError):
    """The text is not a graph."""


# -- printing -----------------------------------------------------------------------------------


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

    inputs = ", ".join(
        f"{define(v, 'input')[1:]}: {_type_text(graph.sizes, v.type)}" for v in graph.inputs
    )
    lines = [f"graph {graph.name}({inputs}) {{"]
    lines += [f"  where {a} == {b}" for a, b in graph.sizes.unsolved.items()]

    def write(block: Block, indent: str) -> None:
        for node in block.nodes:
            origin = Origin()
            match node:
                case Constant(value, result, slot):
                    options = [number_text(value)]
                    options += [] if result.type.weak else [repr(result.type.dtype)]
                    options += [] if slot is None else [f"slot={slot}"]
                    line = f"{define(result, 'c')} = constant({', '.join(options)})"
                case Call(op, operands, attributes, results, reuse):
                    arguments = [f"%{names[v]}" for v in operands]
                    arguments += [
                        f"{key}={attribute_text(graph.sizes, v)}" for key, v in attributes
                    ]
                    arguments += [] if reuse is None else [f"reuse={reuse}"]
                    targets = ", ".join(define(v, op.name) for v in results)
                    line = f"{targets} = {op.name}({', '.join(arguments)})"
                    origin = results[0].origin
                case Check(operand, look, outcome):
                    line = f"check %{names[operand]} {look} {number_text(outcome)}"
                    origin = node.origin
                case Branch(operand, look):
                    line = f"branch %{names[operand]} {look}"
                    origin = node.origin
            lines.append(f"{indent}{line}{_comment(origin)}")
            if isinstance(node, Branch):
                for outcome, inner in zip(node.outcomes, node.blocks, strict=True):
                    lines.append(f"{indent}  case {number_text(outcome)}")
                    write(inner, f"{indent}    ")
                return
        shown = ", ".join("%" + names[v] for v in block.outputs)
        lines.append(f"{indent}return {shown}".rstrip())

    write(graph.block, "  ")
    lines.append("}")
    calls = (node for node in walk(graph.nodes) if isinstance(node, Call))
    bodies = [v for call in calls for _, v in call.attributes if isinstance(v, Graph)]
    return "\n".join(["\n".join(lines), *map(print_graph, bodies)])


def _type_text(sizes: Sizes, type: ArrayType) -> str:
    return str(type.with_shape([sizes.resolve(dim) for dim in type.shape]))


def _comment(origin: Origin) -> str:
    section = f"{origin.section}:" if origin.section else ""
    line = f"{origin.file}:{origin.line} | {origin.text}" if origin.line else ""
    shown = " ".join(part for part in (section, line) if part)
    return f"  # {shown}".rstrip() if shown else ""


def number_text(value: Any) -> str:
    """A number as `parse` reads it back: ``nan`` and ``inf`` by name, complex numbers in parts."""
    if isinstance(value, complex):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    return repr(value)


def attribute_text(sizes: Sizes, value: Any) -> str:
    """An attribute as Python that `parse` reads back."""
    match value:
        case Size():
            return str(sizes.resolve(value))
        case tuple():
            items = ", ".join(attribute_text(sizes, item) for item in value)
            return f"({items}{',' if len(value) == 1 else ''})"
        case Slot(position):
            return f"Slot({position})"
        case complex():
            return number_text(value)
        case Graph():
            return value.name
    return repr(value)


# -- parsing ------------------------------------------------------------------------------------

_STRING = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_HEAD = re.compile(r"graph (\w+)\((.*)\) \{$")
_INPUT = re.compile(r"([\w~.]+): (\w+)(\[[^\]]*\])?(?:, |$)")
_LINE = re.compile(rf"\s*((?:{_STRING}|[^'\"#])*?)\s*(#.*)?$")
_ORIGIN = re.compile(r"#(?: (\w+):(?= |$))?(?: (.+?):(\d+) \|(?: (.*))?)?$")
_NAME = re.compile(r"%([\w~.]+)")
_NAME_OR_STRING = re.compile(rf"{_STRING}|%([\w~.]+)")
_CHECK = re.compile(r"check %([\w~.]+) (\w+) (.+)$")
_BRANCH = re.compile(r"branch %([\w~.]+) (\w+)$")
_WHERE = re.compile(r"where (.+) == (.+)$")
_RETURN = re.compile(r"return((?: %[\w~.]+,?)*)$")


def parse(text: str, ops: Mapping[str, Op]) -> Graph:
    """The graph that the text says, over these ops."""
    lines = text.strip().split("\n")
    head = _HEAD.match(lines[0].rstrip())
    if head is None or lines[-1].strip() != "}":
        raise ParseError(f"expected 'graph name(...) {{' and a closing brace: {lines[0]!r}")
    values = _inputs(head[2])
    inputs = tuple(values.values())
    symbols = {s for value in inputs for dim in value.type.shape for s in sz.symbols(dim)}
    reader = _Reader(lines[1:-1], ops, Settled(Sizes(), symbols))
    block = reader.block(values, "  ")
    if reader.at < len(reader.lines):
        raise reader.error("nothing may follow the return")
    parameters = tuple(re.sub(r"\W", "_", name) for name, v in values.items() if v in inputs)
    frame = Frame(parameters=parameters, reads=parameters)
    return Graph(head[1], inputs, block.nodes, block.outputs, frame, reader.sizes)


class _Reader:
    """Reads lines into blocks; `at` is the next line."""

    def __init__(self, lines: list[str], ops: Mapping[str, Op], sizes: Sizes) -> None:
        self.lines = lines
        self.ops = ops
        self.sizes = sizes
        self.at = 0
        self.taken: set[str] = set()

    def error(self, why: object) -> ParseError:
        at = min(self.at, len(self.lines) - 1)
        return ParseError(f"line {at + 2}: {why}: {self.lines[at].strip()!r}")

    def block(self, values: dict[str, Value], indent: str) -> Block:
        """The block that begins here, with its lines at least so far indented."""
        builder = Builder(self.sizes)
        self.taken |= values.keys()
        while self.at < len(self.lines) and self.lines[self.at].startswith(indent):
            line = self.lines[self.at]
            try:
                if found := _BRANCH.match(_split(line)[0]):
                    if found[1] not in values:
                        raise ParseError(f"%{found[1]} is not made before")
                    self.at += 1
                    branch = self._branch(values, found, _split(line)[1], indent)
                    return Block((*builder.nodes, branch))
                outputs = _line(builder, line, values, self.taken, self.ops)
            except (ParseError, SyntaxError, TypeError, ValueError) as error:
                raise self.error(error) if not _placed(error) else error from error
            self.at += 1
            if outputs is not None:
                return Block(tuple(builder.nodes), outputs)
        self.at = min(self.at, len(self.lines) - 1)
        raise ParseError("no return before the closing brace")

    def _branch(
        self, values: dict[str, Value], found: re.Match[str], origin: Origin, indent: str
    ) -> Branch:
        outcomes: list[Any] = []
        blocks: list[Block] = []
        start = f"{indent}  case "
        while self.at < len(self.lines) and self.lines[self.at].startswith(start):
            number = self.lines[self.at].removeprefix(start)
            outcomes.append(_evaluate(ast.parse(number, mode="eval").body))
            self.at += 1
            blocks.append(self.block(dict(values), f"{indent}    "))
        return Branch(values[found[1]], found[2], tuple(outcomes), tuple(blocks), origin)


def _placed(error: Exception) -> bool:
    """True for an error that says its line already."""
    return isinstance(error, ParseError) and str(error).startswith(("line ", "no return"))


def _inputs(text: str) -> dict[str, Value]:
    values: dict[str, Value] = {}
    at = 0
    while at < len(text):
        found = _INPUT.match(text, at)
        if found is None or found[1] in values:
            raise ParseError(f"expected 'name: type' of another input: {text[at:]!r}")
        at = found.end()
        values[found[1]] = Value(_type(found[2], found[3]), Origin(_stem(found[1]), True))
    return values


def _line(
    builder: Builder,
    line: str,
    values: dict[str, Value],
    used: set[str],
    ops: Mapping[str, Op],
) -> tuple[Value, ...] | None:
    """Reads one line into the builder; the outputs when it is the return."""
    body, origin = _split(line)

    def known(name: str) -> Value:
        if name not in values:
            raise ParseError(f"%{name} is not made before")
        return values[name]

    if found := _RETURN.match(body):
        return tuple(map(known, _NAME.findall(found[1])))
    if found := _CHECK.match(body):
        outcome = _evaluate(ast.parse(found[3], mode="eval").body)
        builder.append(Check(known(found[1]), found[2], outcome, origin))
        return None
    if found := _WHERE.match(body):
        a, b = (_evaluate(ast.parse(text, mode="eval").body) for text in found.groups())
        builder.sizes.stand_for(a, b)
        return None
    left, equals, right = body.partition(" = ")
    targets = _NAME.findall(left)
    if not equals or left != ", ".join(f"%{name}" for name in targets):
        raise ParseError("expected '%name = op(...)', a check or a return")
    if taken := used & set(targets):
        raise ParseError(f"%{min(taken)} is made twice")
    node = _node(builder, right, known, ops, origin)
    if len(node.results) != len(targets):
        raise ParseError(f"{len(targets)} names for {len(node.results)} results")
    named = tuple(
        replace(value, origin=replace(origin, name=_stem(name), final="~" not in name))
        for name, value in zip(targets, node.results, strict=True)
    )
    if isinstance(node, Constant):
        builder.append(replace(node, result=named[0]))
    elif isinstance(node, Call):
        builder.append(replace(node, results=named))
    values.update(zip(targets, named, strict=True))
    used.update(targets)
    return None


def _stem(name: str) -> str:
    return re.sub(r"[~.].*", "", name)


def _split(line: str) -> tuple[str, Origin]:
    found = _LINE.match(line)
    if found is None:
        raise ParseError("a string without an end")
    body, comment = found[1], found[2]
    origin = _ORIGIN.match(comment) if comment else None
    if origin is None:
        return body, Origin()
    file, line_number, text = origin[2] or "", int(origin[3] or 0), origin[4] or ""
    return body, Origin(None, False, file, line_number, text, None, origin[1] or "")


def _type(dtype: str, shape: str | None) -> ArrayType:
    if dtype not in (DTYPES if shape else KINDS):
        raise ParseError(f"no type {dtype}{shape or ''}")
    if not shape:
        return weak(dtype)
    node = ast.parse(f"({shape[1:-1]},)" if shape != "[]" else "()", mode="eval").body
    return ArrayType(dtype, tuple(_evaluate(node)))


def _node(
    builder: Builder,
    text: str,
    known: Callable[[str], Value],
    ops: Mapping[str, Op],
    origin: Origin,
) -> Node:
    """The node that a right-hand side says; it is not in the builder yet."""
    operands: list[Value] = []

    def hole(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        operands.append(known(match[1]))
        return f"value({len(operands) - 1})"

    tree = ast.parse(_NAME_OR_STRING.sub(hole, text), mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or text[0] == "%":
        raise ParseError("expected a call")
    name, given = tree.func.id, tree.args
    places = [f"value({i})" for i in range(len(operands))]
    if operands and [ast.unparse(argument) for argument in given] != places:
        raise ParseError("operands are values, and come before the attributes")
    attributes = {k.arg: _evaluate(k.value) for k in tree.keywords if k.arg}
    if name == "constant":
        number, *dtype = map(_evaluate, given)
        type = ArrayType(*dtype) if dtype else weak(number.__class__.__name__)
        builder.constant(number, type, attributes.get("slot"), origin)
        return builder.nodes.pop()
    if name not in ops:
        raise ParseError(f"no op named {name!r}")
    if len(given) != len(operands):
        raise ParseError("operands are values, and come before the attributes")
    reuse = attributes.pop("reuse", None)
    builder.call(ops[name], tuple(operands), origin, **attributes)
    node = builder.nodes.pop()
    return replace(node, reuse=reuse) if isinstance(node, Call) else node


_NAMED = {"nan": float("nan"), "inf": float("inf"), "Ellipsis": ...}
_CALLED: Mapping[str, Callable[..., Any]] = {
    "slice": slice,
    "length": lambda of, *item: sz.slice_length(of, slice(*item)),
    "quotient": sz.quotient,
    "Subscript": Subscript,
    "Slot": Slot,
    "complex": complex,
}


def _evaluate(node: ast.expr) -> Any:
    """The attribute values that `attribute_text` prints."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in _NAMED:
            return _NAMED[name]
        case ast.Name(name) if re.fullmatch(r"n\d+", name):
            return sz.symbol(name)
        case ast.Tuple(elements):
            return tuple(map(_evaluate, elements))
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand)
        case ast.BinOp(left, ast.Add(), right):
            return sz.add(_evaluate(left), _evaluate(right))
        case ast.BinOp(left, ast.Mult(), right):
            return sz.mul([_evaluate(left), _evaluate(right)])
        case ast.Call(ast.Name(name), args, []) if name in _CALLED:
            return _CALLED[name](*map(_evaluate, args))
    raise ParseError(f"not an attribute: {ast.unparse(node)}")
