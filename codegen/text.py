"""Prints graphs as text and parses them back: ``parse(str(graph))`` is the graph.

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

A loop has its turn and, where it is counted, what follows; labels are numbered. The type of a
parameter is printed where its first argument's is another::

      loop %s: float64[] = %zero, %v = %y for %t in range(%z, %n, 1) as L1  # model.py:7 | for ...
        turn
          %s.1 = add(%s, %t)
          again L1 %s.1, %v
        after
          return %s

A value's name is the user's, numbered where it occurs again; ``~`` marks an inner value of the
statement. A word and a colon before the file name the section (``# backward: model.py:3 | ...``).
``raises=True`` stands in a call of which the program has to raise what it raises. A function of its
own that a call runs (``body=f_tile``) follows as a graph, and is not parsed.
Types of results are not printed: parsing infers them again from the inputs', and from equalities of
lengths that no symbol can express: ``where 2*quotient(n0, 2) == n0``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Counter,
    Frame,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Origin,
    Value,
    printed_by,
)
from codegen.keys import type_key
from codegen.sizes import CountedLength, Settled, Size, Sizes
from codegen.spelling import Slot, Subscript, Window
from codegen.types import DTYPES, KINDS, ArrayType, weak


class ParseError(CodegenError):
    """The text is not a graph."""


# -- printing -----------------------------------------------------------------------------------


def print_graph(graph: Graph) -> str:
    """The graph as text."""
    writer = _Writer(graph)
    inputs = ", ".join(map(writer.input, graph.inputs))
    writer.lines.append(f"graph {graph.name}({inputs}) {{")
    writer.lines += [f"  where {a} == {b}" for a, b in graph.sizes.unsolved.items()]
    writer.block(graph.block, "  ")
    writer.lines.append("}")
    calls = (node for node in graph.all_nodes if isinstance(node, Call))
    bodies = [v for call in calls for _, v in call.attributes if isinstance(v, Graph)]
    return "\n".join(["\n".join(writer.lines), *map(print_graph, bodies)])


class _Writer:
    """Writes blocks as lines; names values and labels as they come."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.labels: dict[object, str] = {}

    def define(self, value: Value, fallback: str) -> str:
        """The name of a value that is made here."""
        origin = value.origin
        stem = origin.name or fallback
        if origin.name and not origin.final and value not in self.graph.inputs:
            stem += "~"
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}.{count}"
        self.taken.add(name)
        self.names[value] = name
        return f"%{name}"

    def input(self, value: Value) -> str:
        """An input: its name, its type, and the length that it is."""
        text = f"{self.define(value, 'input')[1:]}: {_type_text(self.graph.sizes, value.type)}"
        length = self.graph.whole_numbers.get(value)
        return text if length is None else f"{text} = {length}"

    def block(self, block: Block, indent: str) -> None:
        """The lines of a block."""
        for node in block.nodes:
            line, origin, inner = self._node(node)
            self.lines.append(f"{indent}{line}{_comment(origin)}")
            for head, part in inner:
                self.lines.append(f"{indent}  {head}")
                self.block(part, f"{indent}    ")
        if not (block.nodes and isinstance(block.nodes[-1], Branch | Loop | Join | Again)):
            self.lines.append(f"{indent}return {self._shown(block.outputs)}".rstrip())

    def _shown(self, values: Iterable[Value]) -> str:
        return ", ".join("%" + self.names[value] for value in values)

    def _node(self, node: Node) -> tuple[str, Origin, list[tuple[str, Block]]]:
        """The line of a node, where it comes from, and its blocks with their heads."""
        match node:
            case Constant(value, result, slot):
                options = [number_text(value)]
                options += [] if result.type.weak else [repr(_dtype_text(result.type))]
                options += [] if slot is None else [f"slot={slot}"]
                line = f"{self.define(result, 'c')} = constant({', '.join(options)})"
                return line, Origin(), []
            case Call():
                return self._call(node), node.results[0].origin, []
            case Check(operand, look, outcome, origin):
                return f"check %{self.names[operand]} {look} {number_text(outcome)}", origin, []
            case Branch(operand, look, outcomes, blocks, origin):
                heads = [f"case {number_text(outcome)}" for outcome in outcomes]
                line = f"branch %{self.names[operand]} {look}"
                return line, origin, list(zip(heads, blocks, strict=True))
            case Loop():
                heads = ["turn", "after"][: len(node.blocks)]
                return self._loop(node), node.origin, list(zip(heads, node.blocks, strict=True))
            case Join():
                heads = ["body", "after"]
                return self._join(node), node.origin, list(zip(heads, node.blocks, strict=True))
            case Again(label, arguments, origin):
                return f"again {self.labels[label]} {self._shown(arguments)}".rstrip(), origin, []

    def _call(self, node: Call) -> str:
        arguments = [f"%{self.names[v]}" for v in node.operands]
        arguments += [f"{key}={attribute_text(self.graph.sizes, v)}" for key, v in node.attributes]
        arguments += [] if node.reuse is None else [f"reuse={node.reuse}"]
        arguments += ["raises=True"] if node.raises else []
        targets = ", ".join(self.define(v, node.op.name) for v in node.results)
        return f"{targets} = {node.op.name}({', '.join(arguments)})"

    def _loop(self, loop: Loop) -> str:
        sizes, counter = self.graph.sizes, loop.counter
        parts = []
        for parameter, argument in zip(loop.parameters, loop.arguments, strict=True):
            given = f"%{self.names[argument]}"
            same = type_key(sizes, parameter.type) == type_key(sizes, argument.type)
            type = "" if same else f": {_type_text(sizes, parameter.type)}"
            parts.append(f"{self.define(parameter, 'parameter')}{type} = {given}")
        words = ["loop", ", ".join(parts)]
        if counter:
            ends = self._shown((counter.start, counter.stop))
            words.append(
                f"for {self.define(counter.index, 'index')} in range({ends}, {counter.step})"
            )
        if counter and (told := counter.length):
            words.append(f"where {told.symbol} = {told.times} * index + {sizes.resolve(told.plus)}")
        label = self.labels[loop.label] = f"L{len(self.labels) + 1}"
        return " ".join(word for word in (*words, "as", label) if word)

    def _join(self, join: Join) -> str:
        label = self.labels[join.label] = f"J{len(self.labels) + 1}"
        made = [(self.define(p, "parameter"), p.type) for p in join.parameters]
        shown = [f"{name}: {_type_text(self.graph.sizes, type)}" for name, type in made]
        return " ".join(word for word in ("join", ", ".join(shown), "as", label) if word)


def _dtype_text(type: ArrayType) -> str:
    """The dtype of a number; a mark behind it says that it may be one of Python's."""
    return f"{type.dtype}?" if type.either else type.dtype


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
_INPUT = re.compile(r"([\w~.]+): (\w+)(\[[^\]]*\])?(?: = (\w+))?(?:, |$)")
_LINE = re.compile(rf"\s*((?:{_STRING}|[^'\"#])*?)\s*(#.*)?$")
_ORIGIN = re.compile(r"#(?: (\w+):(?= |$))?(?: (.+?):(\d+) \|(?: (.*))?)?$")
_NAME = re.compile(r"%([\w~.]+)")
_NAME_OR_STRING = re.compile(rf"{_STRING}|%([\w~.]+)")
_CHECK = re.compile(r"check %([\w~.]+) (\w+) (.+)$")
_BRANCH = re.compile(r"branch %([\w~.]+) (\w+)$")
_LOOP = re.compile(
    r"loop (.*?)(?:for %([\w~.]+) in range\(%([\w~.]+), %([\w~.]+), (-?\d+)\) "
    r"(?:where (\w+) = (-?\d+) \* index \+ (.+) )?)?as (\w+)$"
)
_JOIN = re.compile(r"join (.*?)as (\w+)$")
_MADE = re.compile(r"%([\w~.]+): (\w+\??)(\[[^\]]*\])?(?:, | $)")
_PARAMETER = re.compile(r"%([\w~.]+)(?:: (\w+\??)(\[[^\]]*\])?)? = %([\w~.]+)(?:, | $)")
_AGAIN = re.compile(r"again (\w+)((?: %[\w~.]+,?)*)$")
_WHERE = re.compile(r"where (.+) == (.+)$")
_RETURN = re.compile(r"return((?: %[\w~.]+,?)*)$")


def parse(text: str, ops: Mapping[str, Op]) -> Graph:
    """The graph that the text says, over these ops."""
    lines = text.strip().split("\n")
    head = _HEAD.match(lines[0].rstrip())
    if head is None or lines[-1].strip() != "}":
        raise ParseError(f"expected 'graph name(...) {{' and a closing brace: {lines[0]!r}")
    values, lengths = _inputs(head[2])
    inputs = tuple(values.values())
    symbols = {s for value in inputs for dim in value.type.shape for s in sz.symbols(dim)}
    symbols |= {name for _, name in lengths}
    reader = _Reader(lines[1:-1], ops, Settled(Sizes(), symbols))
    block = reader.block(values, "  ")
    if reader.at < len(reader.lines):
        raise reader.error("nothing may follow the return")
    parameters = tuple(re.sub(r"\W", "_", name) for name, v in values.items() if v in inputs)
    frame = Frame(parameters=parameters, reads=parameters, lengths=tuple(lengths))
    return Graph(head[1], inputs, block.nodes, block.outputs, frame, reader.sizes)


class _Reader:
    """Reads lines into blocks; `at` is the next line."""

    def __init__(self, lines: list[str], ops: Mapping[str, Op], sizes: Sizes) -> None:
        self.lines = lines
        self.ops = ops
        self.sizes = sizes
        self.at = 0
        self.taken: set[str] = set()
        self.labels: set[str] = set()

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
                last = self._last(line, values, indent)
                if last is not None:
                    return Block((*builder.nodes, last))
                outputs = _line(builder, line, values, self.taken, self.ops)
            except (ParseError, SyntaxError, TypeError, ValueError) as error:
                raise self.error(error) if not _placed(error) else error from error
            self.at += 1
            if outputs is not None:
                return Block(tuple(builder.nodes), outputs)
        self.at = min(self.at, len(self.lines) - 1)
        raise ParseError("no return before the closing brace")

    def _last(
        self, line: str, values: dict[str, Value], indent: str
    ) -> Branch | Loop | Join | Again | None:
        """What ends a block and is no return, with its blocks; None where the line is no such."""
        body, origin = _split(line)
        if found := _BRANCH.match(body):
            operand = _known(values, found[1])
            self.at += 1
            return self._branch(operand, found[2], values, origin, indent)
        if found := _LOOP.match(body):
            return self._loop(found, values, origin, indent)
        if found := _JOIN.match(body):
            return self._join(found, values, origin, indent)
        if found := _AGAIN.match(body):
            if found[1] not in self.labels:
                raise ParseError(f"no loop or join {found[1]} begins before")
            arguments = tuple(_known(values, name) for name in _NAME.findall(found[2]))
            self.at += 1
            return Again(found[1], arguments, origin)
        return None

    def _branch(
        self, operand: Value, look: str, values: dict[str, Value], origin: Origin, indent: str
    ) -> Branch:
        outcomes: list[Any] = []
        blocks: list[Block] = []
        start = f"{indent}  case "
        while self.at < len(self.lines) and self.lines[self.at].startswith(start):
            number = self.lines[self.at].removeprefix(start)
            outcomes.append(_evaluate(ast.parse(number, mode="eval").body))
            self.at += 1
            blocks.append(self.block(dict(values), f"{indent}    "))
        return Branch(operand, look, tuple(outcomes), tuple(blocks), origin)

    def _loop(
        self, found: re.Match[str], values: dict[str, Value], origin: Origin, indent: str
    ) -> Loop:
        given, index, start, stop, step, told, times, plus, label = found.groups()
        self._begin(label)
        made, arguments = self._parameters(given, values, origin)
        inside = values | made
        counter = None
        if index is not None:
            ends = _known(values, start), _known(values, stop)
            length = told and CountedLength(told, int(times), _dim(plus))
            index_value = self._named(index, weak("int"), origin)
            counter = Counter(index_value, *ends, int(step), length or None)
        self.at += 1
        turn = {index: counter.index} if counter else {}
        blocks = [self._part("turn", inside | turn, indent)]
        blocks += [self._part("after", inside, indent)] if counter else []
        parameters = tuple(made.values())
        return Loop(label, parameters, arguments, tuple(blocks), counter, origin)

    def _begin(self, label: str) -> None:
        if label in self.labels:
            raise ParseError(f"the loop or join {label} begins twice")
        self.labels.add(label)

    def _join(
        self, found: re.Match[str], values: dict[str, Value], origin: Origin, indent: str
    ) -> Join:
        given, label = found.groups()
        self._begin(label)
        made: dict[str, Value] = {}
        at = 0
        while at < len(given):
            parameter = _MADE.match(given, at)
            if parameter is None:
                raise ParseError(f"expected '%name: type' of a parameter: {given[at:]!r}")
            name, dtype, shape = parameter.groups()
            made[name] = self._named(name, _type(dtype, shape), origin)
            at = parameter.end()
        self.at += 1
        blocks = (self._part("body", values, indent), self._part("after", values | made, indent))
        return Join(label, tuple(made.values()), blocks, origin)

    def _parameters(
        self, text: str, values: dict[str, Value], origin: Origin
    ) -> tuple[dict[str, Value], tuple[Value, ...]]:
        """The parameters of a loop by name, and their first arguments."""
        made: dict[str, Value] = {}
        arguments: list[Value] = []
        at = 0
        while at < len(text):
            found = _PARAMETER.match(text, at)
            if found is None:
                raise ParseError(f"expected '%name = %value' of a parameter: {text[at:]!r}")
            name, dtype, shape, given = found.groups()
            arguments.append(_known(values, given))
            type = _type(dtype, shape) if dtype else arguments[-1].type
            made[name] = self._named(name, type, origin)
            at = found.end()
        return made, tuple(arguments)

    def _named(self, name: str, type: ArrayType, origin: Origin) -> Value:
        """A value that a loop or join makes."""
        if name in self.taken:
            raise ParseError(f"%{name} is made twice")
        self.taken.add(name)
        return Value(type, _origin_of(name, origin))

    def _part(self, head: str, values: dict[str, Value], indent: str) -> Block:
        """One of the blocks of a loop or join."""
        if self.at >= len(self.lines) or self.lines[self.at] != f"{indent}  {head}":
            raise self.error(f"expected '{head}'")
        self.at += 1
        return self.block(dict(values), f"{indent}    ")


def _placed(error: Exception) -> bool:
    """True for an error that says its line already."""
    return isinstance(error, ParseError) and str(error).startswith(("line ", "no return"))


def _inputs(text: str) -> tuple[dict[str, Value], list[tuple[int, str]]]:
    """The inputs by name, and those, by position, that are lengths."""
    values: dict[str, Value] = {}
    lengths: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        found = _INPUT.match(text, at)
        if found is None or found[1] in values:
            raise ParseError(f"expected 'name: type' of another input: {text[at:]!r}")
        at = found.end()
        if found[4] is not None:
            lengths.append((len(values), found[4]))
        values[found[1]] = Value(_type(found[2], found[3]), Origin(_stem(found[1]), True))
    return values, lengths


def _known(values: Mapping[str, Value], name: str) -> Value:
    if name not in values:
        raise ParseError(f"%{name} is not made before")
    return values[name]


def _line(
    builder: Builder,
    line: str,
    values: dict[str, Value],
    used: set[str],
    ops: Mapping[str, Op],
) -> tuple[Value, ...] | None:
    """Reads one line into the builder; the outputs when it is the return."""
    body, origin = _split(line)

    known = partial(_known, values)
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
        replace(value, origin=_origin_of(name, value.origin))
        for name, value in zip(targets, node.results, strict=True)
    )
    if isinstance(node, Constant):
        builder.append(replace(node, result=named[0]))
    elif isinstance(node, Call):
        builder.append(replace(node, results=named))
    values.update(zip(targets, named, strict=True))
    used.update(targets)
    return None


def _origin_of(name: str, origin: Origin) -> Origin:
    """The origin of a value of this name."""
    return replace(origin, name=_stem(name), final="~" not in name)


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


def _type(dtype: str, shape: str | None = "[]") -> ArrayType:
    if dtype.endswith("?"):
        return replace(_type(dtype[:-1], shape), either=True)
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
        of_python = replace(weak(number.__class__.__name__), weak=True)
        type = _type(*dtype) if dtype else of_python
        builder.constant(number, type, attributes.get("slot"), origin)
        return builder.nodes.pop()
    if name not in ops:
        raise ParseError(f"no op named {name!r}")
    if len(given) != len(operands):
        raise ParseError("operands are values, and come before the attributes")
    reuse = attributes.pop("reuse", None)
    origin = replace(origin, raises=attributes.pop("raises", False))
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
    "Window": Window,
    "complex": complex,
}


def _dim(text: str) -> Any:
    return _evaluate(ast.parse(text, mode="eval").body)


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


printed_by(print_graph)
