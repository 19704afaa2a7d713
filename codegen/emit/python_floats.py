"""Lets loops compute with Python's floats where the source would have scalars of NumPy's.

Python adds, multiplies and compares its own floats in a third of the time, with the same bits. So
in a loop numbers of float64 are made Python's where they enter it, and NumPy's where they leave::

    loss = 0.0
    r_list = r.tolist()
    for t in range(1, n):
        loss = loss + float(np.log(s)) + (r_list[t] / s if s else np.divide(r_list[t], s))
    return np.float64(loss)

Functions are NumPy's as before, and a division by zero is. What is not known to have the same bits
is given a scalar of NumPy's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from codegen.emit.array_calls import made
from codegen.emit.float_marks import READ, FloatMarks, is_numpys
from codegen.emit.numba import FUNCTIONS, ROOT, WRITES
from codegen.emit.read_arrays import ReadArrays, is_short
from codegen.emit.statements import returned_text
from codegen.emit.target import as_number_of
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Origin,
    Trait,
    Value,
    with_blocks,
    with_operands,
)
from codegen.spelling import CHOICE, spell
from codegen.types import LIST, ArrayType, weak

FLOAT = weak("float")
NUMPYS = ArrayType("float64")

TO_PYTHON = Op(
    "float",
    ("x",),
    lambda sizes, x: FLOAT,
    {"numpy": spell("float(x)")},
    traits=frozenset({Trait.ELEMENTWISE}),
)
TO_NUMPY = Op("float64", ("x",), lambda sizes, x: NUMPYS, {"numpy": spell("np.float64(x)")})
TO_NUMPY_IF_SET = Op(
    "float64_if_set",
    ("x",),
    lambda sizes, x: NUMPYS,
    {"numpy": spell("x if x is None else np.float64(x)")},
    traits=frozenset({Trait.MAYBE_UNSET}),
)
ITEM = Op(
    "item",
    ("x", "*places"),
    lambda sizes, x, *places, index: FLOAT,
    {"numpy": spell("x.item(index)")},
    attributes={"index": ...},
)
NUMBERS_OF = Op("numbers", ("x",), lambda sizes, x: LIST, {"numpy": spell("x.tolist()")})
NUMBER = Op("number", ("numbers", "k"), lambda sizes, x, k: FLOAT, {"numpy": spell("numbers[k]")})
QUOTIENT = Op(
    "quotient",
    ("a", "b"),
    lambda sizes, a, b: FLOAT,
    {"numpy": spell("a / b if b else np.divide(a, b)")},
)
RATIO = Op("ratio", ("a", "b"), lambda sizes, a, b: FLOAT, {"numpy": spell("a / b")})
ABSOLUTE = Op("absolute", ("x",), lambda sizes, x: FLOAT, {"numpy": spell("abs(x)")})
CHOSEN = Op(
    "chosen",
    ("condition", "a", "b"),
    lambda sizes, condition, a, b: FLOAT,
    {"numpy": spell("a if condition else b")},
    traits=frozenset({Trait.ELEMENTWISE}),
)

FUNCTIONS_OF = {
    text: Op(
        f"float_of_{text.partition('(')[0]}",
        ("a", "b") if "b" in text.partition("(")[2] else ("x",),
        lambda sizes, *operands: FLOAT,
        {"numpy": spell(f"float({text})")},
    )
    for text in (*FUNCTIONS, ROOT)
}
"""The functions of NumPy's, by their spellings, as floats of Python's."""

ARITHMETICS, FUNCTION, WORTH = 1, 4, 3
GAINS = {"x[index]": 0, CHOICE: 40, **dict.fromkeys(FUNCTIONS_OF, FUNCTION)}
"""What Python's floats save, in the time that a sum of them takes less than one of NumPy's.

A scalar of NumPy's that is made takes as long as a function of it saves.
"""


def with_python_floats(graph: Graph) -> Graph:
    """The graph whose loops compute with Python's floats where this saves time."""
    loops = [node for node in graph.leading if isinstance(node, Loop)]
    if not loops:
        return graph
    left_out = {loop.label for loop in loops if is_short(loop, graph)}
    while True:
        marks = FloatMarks(graph, left_out)
        if not marks.computed:
            return graph
        floats = _Floats(graph, marks)
        changed = graph.with_block(floats.block(graph.block, _Scope()))
        places = {marks.place(loop) for loop in loops} - {None}
        worse = {place for place in places if floats.gain[place] < WORTH}
        if not worse:
            return changed
        left_out |= worse


@dataclass
class _Scope:
    """What stands for values in a block: as Python's floats, and as NumPy's."""

    pythons: dict[Value, Value] = field(default_factory=dict)
    numpys: dict[Value, Value] = field(default_factory=dict)
    lists: dict[Value, Value] = field(default_factory=dict)  # of all elements of an array

    def inner(self) -> _Scope:
        return _Scope(dict(self.pythons), dict(self.numpys), dict(self.lists))


@dataclass
class _At:
    """A block that is being written: its nodes so far, and in which outermost loop it is."""

    nodes: list[Node]
    scope: _Scope
    place: object | None
    section: str = ""

    def beside(self, name: str | None, final: bool = False) -> Origin:
        """The origin of what no line of the user's computes."""
        return Origin(name, final, section=self.section)


class _Floats:
    """Writes the graph with floats of Python's, and conversions where they meet NumPy's."""

    def __init__(self, graph: Graph, marks: FloatMarks) -> None:
        self.graph = graph
        self.marks = marks
        self.spelled = marks.spelled
        self.arrays = ReadArrays(graph, marks.spelled, marks.computed)
        self.gain: dict[object, int] = defaultdict(int)  # of each outermost loop
        self.listed: dict[tuple[Value, Loop | None], Value] = {}

    # -- blocks ---------------------------------------------------------------------------------

    def block(self, block: Block, scope: _Scope) -> Block:
        at = _At([], scope, self.marks.place_of(block))
        for node in block.nodes:
            match node:
                case Call():
                    at.section = node.results[0].origin.section
                    self._call(node, at)
                    continue
                case Loop():
                    at.section = node.origin.section
                    node = self._loop(node, at)
                case Join():
                    parameters = tuple([self._parameter(p, at) for p in node.parameters])
                    node = replace(node, parameters=parameters, blocks=self._blocks_of(node, at))
                case Branch():
                    node = with_blocks(self._reading(node, at), self._blocks_of(node, at))
                case Again():
                    parameters = self.graph.heads[node.label].parameters
                    given = zip(parameters, node.arguments, strict=True)
                    arguments = tuple([self._given(p, v, at) for p, v in given])
                    node = replace(node, arguments=arguments)
                case Check():
                    node = self._reading(node, at)
            at.nodes.append(node)
        return self._returning(block, at)

    def _returning(self, block: Block, at: _At) -> Block:
        """The block with its new nodes, which returns scalars of NumPy's."""
        outputs, floats = block.outputs, self.marks.floats - self.marks.unset
        given = [at.scope.pythons[v] if v in floats else self._as_numpys(v, at) for v in outputs]
        if floats.isdisjoint(outputs):
            return block.with_nodes(tuple(at.nodes), tuple(given))
        places = [f"{{{i}}}" for i in range(len(outputs))]
        shown = block.returns or returned_text(places)
        for place, value in zip(places, outputs, strict=True):
            if value in floats:
                shown = shown.replace(place, f"np.float64({place})")
        return replace(block, nodes=tuple(at.nodes), outputs=tuple(given), returns=shown)

    def _blocks_of(self, node: Branch | Loop | Join, at: _At) -> tuple[Block, ...]:
        return tuple([self.block(block, at.scope.inner()) for block in node.blocks])

    def _parameter(self, parameter: Value, at: _At) -> Value:
        if parameter not in self.marks.parameters:
            return parameter
        return at.scope.pythons.setdefault(parameter, Value(FLOAT, parameter.origin))

    def _given(self, parameter: Value, value: Value, at: _At) -> Value:
        """What is given to a parameter; what may be unset is not asked for its number."""
        if parameter not in self.marks.parameters:
            return self._as_numpys(value, at)
        unasked = value in self.marks.unset and value not in self.marks.floats
        return value if unasked else self._as_python(value, at)

    def _reading(self, node: Branch | Check, at: _At) -> Any:
        """A look; of floats of Python's alone it is asked whether they are true."""
        if node.look == "bool":
            return with_operands(node, lambda v: at.scope.pythons.get(v, v))
        return with_operands(node, lambda v: self._as_numpys(v, at))

    def _loop(self, loop: Loop, at: _At) -> Loop:
        given = zip(loop.parameters, loop.arguments, strict=True)
        arguments = tuple([self._given(p, v, at) for p, v in given])
        if self.marks.place(loop) is not None:
            for value in dict.fromkeys(self.marks.from_around(loop)) if at.place is None else ():
                self._as_python(value, at)
            for array in self.arrays.of(loop):
                self.listed[array, loop] = self._list_of(array, at)
        parameters = tuple([self._parameter(p, at) for p in loop.parameters])
        blocks = self._blocks_of(loop, at)
        return replace(loop, parameters=parameters, arguments=arguments, blocks=blocks)

    # -- calls ----------------------------------------------------------------------------------

    def _call(self, call: Call, at: _At) -> None:
        result = call.results[0]
        text = self.spelled[call]
        if result in self.marks.computed:
            found = self._computed(call, text, at)
            at.nodes.append(found)
            at.scope.pythons[result] = found.results[0]
            self.gain[at.place] += GAINS.get(text, ARITHMETICS)
        elif call in self.marks.tests:
            at.nodes.append(with_operands(call, lambda v: self._as_python(v, at)))
        elif self.marks.reads_float(call):
            found = replace(call, results=(Value(FLOAT, replace(result.origin, final=False)),))
            at.nodes += [found, replace(made(TO_NUMPY, found.results, NUMPYS), results=(result,))]
        elif len(call.results) == 1 and is_numpys(result) and self.marks.only_floats_read(result):
            inner = replace(result.origin, final=False)
            held = replace(self._other(call, text, at), results=(Value(result.type, inner),))
            found = made(TO_PYTHON, held.results, FLOAT, result.origin)
            at.nodes += [held, found]
            at.scope.pythons[result] = found.results[0]
            if at.place is not None:
                self.gain[at.place] -= ARITHMETICS
        else:
            at.nodes.append(self._other(call, text, at))

    def _other(self, call: Call, text: str, at: _At) -> Call:
        """A call that gives no float: it is given what it takes."""
        writes = text in WRITES and call.operands[0].type.dtype == "float64"
        number = writes and not call.operands[1].type.shape
        if number or text == "float(x)" or self.marks.appends_float(call):
            return with_operands(call, lambda v: at.scope.pythons.get(v, v))
        if self.marks.begins_floats(call):
            floats = self.marks.floats
            there = {v for v in call.operands if v in floats or self.marks.is_there(v)}
            return with_operands(call, lambda v: self._as_python(v, at) if v in there else v)
        return with_operands(call, lambda v: self._as_numpys(v, at))

    def _computed(self, call: Call, text: str, at: _At) -> Call:
        """A call that gives a float of Python's."""
        origin = call.results[0].origin
        if text == "x[index]":
            return self._element(call, at)
        if text == READ:
            if self.marks.reads_float(call):
                return replace(call, results=(Value(FLOAT, origin),))
            at.nodes.append(replace(call, results=(held := Value(NUMPYS, origin),)))
            self.gain[at.place] -= ARITHMETICS
            return made(TO_PYTHON, (held,), FLOAT, origin)
        if text == CHOICE:
            condition, *others = call.operands
            condition = at.scope.pythons.get(condition, condition)
            chosen = [self._as_python(v, at) for v in others]
            return made(CHOSEN, (condition, *chosen), FLOAT, origin)
        operands = [self._as_python(v, at) for v in call.operands]
        if text in FUNCTIONS_OF:
            return made(FUNCTIONS_OF[text], operands, FLOAT, origin)
        if text == "a / b":
            divisor = self.graph.constant(call.operands[1])
            op = RATIO if divisor is not None and divisor.value else QUOTIENT
            return made(op, operands, FLOAT, origin)
        if text == "np.abs(x)":
            return made(ABSOLUTE, operands, FLOAT, origin)
        return replace(call, operands=tuple(operands), results=(Value(FLOAT, origin),), reuse=None)

    def _element(self, call: Call, at: _At) -> Call:
        """An element of an array: of a list of its numbers, where the loop reads all of them."""
        origin = call.results[0].origin
        listed = self.listed.get((call.operands[0], self.arrays.loop_of(call)))
        if listed is not None:
            return made(NUMBER, (listed, call.operands[1]), FLOAT, origin)
        return made(ITEM, call.operands, FLOAT, origin, index=call.attribute("index"))

    def _list_of(self, array: Value, at: _At) -> Value:
        """The list of an array's numbers, made once."""
        if array not in at.scope.lists:
            name = array.origin.name
            origin = at.beside(name and f"{name}_list", bool(name))
            call = made(NUMBERS_OF, (array,), LIST, origin)
            at.nodes.append(call)
            at.scope.lists[array] = call.results[0]
        return at.scope.lists[array]

    # -- conversions ----------------------------------------------------------------------------

    def _as_python(self, value: Value, at: _At) -> Value:
        """A number as one of Python's."""
        found = at.scope.pythons.get(value)
        if found is not None or not is_numpys(value):
            return found or value
        node = self.graph.producer.get(value)
        if isinstance(node, Constant):
            number = as_number_of(value.type, node.value)
            new: Node = Constant(number, Value(FLOAT, value.origin))
        else:
            origin = at.beside(value.origin.name)
            if isinstance(node, Call):
                origin = replace(value.origin, section=at.section)
            new = made(TO_PYTHON, (value,), FLOAT, origin)
            if at.place is not None:
                self.gain[at.place] -= ARITHMETICS
        at.nodes.append(new)
        at.scope.pythons[value] = new.results[0]
        return new.results[0]

    def _as_numpys(self, value: Value, at: _At) -> Value:
        """A value as one of NumPy's, where it has become Python's."""
        if value not in self.marks.floats:
            return value
        found = at.scope.numpys.get(value)
        if found is None:
            origin = value.origin
            if value in self.marks.parameters:
                origin = at.beside(origin.name, origin.final)
            op = TO_NUMPY_IF_SET if value in self.marks.unset else TO_NUMPY
            call = made(op, (at.scope.pythons[value],), NUMPYS, origin)
            at.nodes.append(call)
            found = at.scope.numpys[value] = call.results[0]
            if at.place is not None:
                self.gain[at.place] -= FUNCTION
        return found
