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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from codegen import sizes as sz
from codegen.emit.array_calls import made
from codegen.emit.numba import (
    APPEND,
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    ROOT,
    WRITES,
    picks_elements,
)
from codegen.emit.target import as_number_of
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Origin,
    Trait,
    Value,
    walk,
    with_blocks,
    with_operands,
)
from codegen.sizes import Dim
from codegen.spelling import CHOICE, spell
from codegen.types import LIST, ArrayType, kind, weak

FLOAT = weak("float")
NUMPYS = ArrayType("float64")

TO_PYTHON = Op("float", ("x",), lambda sizes, x: FLOAT, {"numpy": spell("float(x)")})
TO_NUMPY = Op("float64", ("x",), lambda sizes, x: NUMPYS, {"numpy": spell("np.float64(x)")})
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


def with_python_floats(graph: Graph) -> Graph:
    """The graph whose loops compute with Python's floats where this saves time."""
    loops = [node for node in graph.leading if isinstance(node, Loop)]
    if not loops:
        return graph
    left_out = {loop.label for loop in loops if _is_short(loop, graph)}
    while True:
        floats = _Floats(graph, left_out)
        if not floats.computed:
            return graph
        changed = floats.graph_of_floats()
        worse = floats.not_worth_it()
        if not worse:
            return changed
        left_out |= worse


def _is_short(loop: Loop, graph: Graph) -> bool:
    """Whether a loop has a few turns alone."""
    if loop.counter is None:
        return False
    start, stop = graph.constant(loop.counter.start), graph.constant(loop.counter.stop)
    if start is None or stop is None:
        return False
    return len(range(int(start.value.real), int(stop.value.real), loop.counter.step)) < FEW


@dataclass
class _Scope:
    """What stands for values in a block: as Python's floats, and as NumPy's."""

    pythons: dict[Value, Value] = field(default_factory=dict)
    numpys: dict[Value, Value] = field(default_factory=dict)
    lists: dict[Value, Value] = field(default_factory=dict)  # of all elements of an array

    def inner(self) -> _Scope:
        return _Scope(dict(self.pythons), dict(self.numpys), dict(self.lists))


class _Floats:
    """Which values of a graph become floats of Python's, and the graph of that."""

    def __init__(self, graph: Graph, left_out: set[object]) -> None:
        self.graph = graph
        self.left_out = left_out
        self.spelled = {
            node: node.op.spelled("numpy", dict(node.attributes)).text
            for node in graph.all_nodes
            if isinstance(node, Call)
        }
        self.within = dict(self._blocks_in_loops())
        self.block_of = {node: block for block in self._blocks() for node in block.nodes}
        self.unset = self._may_be_unset()
        self._returned = {v for block in self._blocks() for v in block.outputs}
        self.held_in = self._lists()
        self.private = self._private()
        self.reads: dict[Value, list[Call]] = {}
        for node, text in self.spelled.items():
            if text == "saved[k]":
                self.reads.setdefault(self.held_in[node.operands[0]], []).append(node)
        self.computed = {
            node.results[0]
            for node in self.spelled
            if self._place(node) is not None and self._is_computed(node)
        }
        self.parameters = {
            p
            for node in graph.leading
            if isinstance(node, Loop | Join) and self._place(node) is not None
            for p in node.parameters
            if _is_numpys(p)
        }
        self.tests = {node for node in self.spelled if self._is_test(node)}
        self.lists = self._lists_of_floats()
        self.gain: dict[object, int] = defaultdict(int)  # of each outermost loop
        self.listed: dict[tuple[Value, Loop], Value] = {}

    # -- where ----------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[Block]:
        waiting = [self.graph.block]
        while waiting:
            block = waiting.pop()
            yield block
            if block.nodes and isinstance(block.nodes[-1], Branch | Loop | Join):
                waiting += block.nodes[-1].blocks

    def _blocks_in_loops(self) -> Iterator[tuple[Block, object]]:
        """The blocks from which a path begins a turn, and the outermost loop that they are in."""
        heads, leads = self.graph.heads, self.graph.leads
        waiting: list[tuple[Block, object | None]] = [(self.graph.block, None)]
        while waiting:
            block, around = waiting.pop()
            if not any(isinstance(heads[label], Loop) for label in leads[block]):
                around = None
            if around is not None:
                yield block, around
            last = block.nodes[-1] if block.nodes else None
            if isinstance(last, Loop):
                waiting.append((last.turn, last.label if around is None else around))
                waiting += [(behind, around) for behind in last.blocks[1:]]
            elif isinstance(last, Branch | Join):
                waiting += [(inner, around) for inner in last.blocks]

    def _place(self, node: Node) -> object | None:
        """The outermost loop in whose turns a node is, or which it is, if that computes so."""
        if isinstance(node, Loop):
            around = self.within.get(self.block_of[node])
            label = node.label if around is None else around
        else:
            label = self.within.get(self.block_of[node])
        return None if label in self.left_out else label

    # -- what -----------------------------------------------------------------------------------

    def _is_computed(self, call: Call) -> bool:
        """Whether a call of numbers gives a float of Python's."""
        if len(call.results) != 1 or not _is_numpys(call.results[0]):
            return False
        origin = call.results[0].origin
        if origin.within or origin.raises or Trait.EFFECT in call.op.traits:
            return False
        text = self.spelled[call]
        if text == "x[index]":
            array = call.operands[0].type
            picked = bool(array.shape) and not array.either
            return picked and array.dtype == "float64" and picks_elements(call)
        if text == "saved[k]":
            return True
        if text == CHOICE:
            return all(map(self._is_operand, call.operands[1:])) and _is_flag(call.operands[0])
        known = text in ARITHMETIC or text == "a / b" or text in FUNCTIONS_OF
        return known and all(map(self._is_operand, call.operands))

    def _is_operand(self, value: Value) -> bool:
        """Whether a number may be one of Python's: a float, or a small int."""
        type = value.type
        if type.shape or type.either:
            return False
        return type.dtype == "float64" or (kind(type.dtype) == "int" and type.weak)

    def _is_test(self, call: Call) -> bool:
        """Whether a call compares floats for a look alone."""
        if self.spelled[call] not in COMPARISONS or self._place(call) is None:
            return False
        if not all(v.type.dtype == "float64" and self._is_operand(v) for v in call.operands):
            return False
        result = call.results[0]
        if result.origin.within or result.origin.raises or result in self._returned:
            return False
        return all(
            self._decides(node, result) or self._keeps_for_looks(node, result)
            for node in self.graph.users.get(result, ())
        )

    def _decides(self, node: Node, flag: Value) -> bool:
        """Whether a node asks whether a flag is true, and nothing else."""
        if isinstance(node, Call):
            return self.spelled[node] == CHOICE and flag not in node.operands[1:]
        return isinstance(node, Branch | Check) and node.look == "bool"

    def _keeps_for_looks(self, node: Node, flag: Value) -> bool:
        """Whether a flag is appended to a list of which all flags only decide."""
        if not isinstance(node, Call) or self.spelled[node] != APPEND:
            return False
        group = self.held_in[node.operands[0]]
        return group in self.private and all(
            self._decides(user, read.results[0])
            for read in self.reads.get(group, ())
            if read.results[0].type.dtype == "bool"
            for user in self.graph.users.get(read.results[0], ())
        )

    def _may_be_unset(self) -> set[Value]:
        """What has no value on some path, and of what that is handed on."""
        traits = {Trait.UNSET, Trait.MAYBE_UNSET}
        calls = [node for node in self.spelled if node.op.traits & traits]
        found = {value for node in calls for value in node.results}
        goals: dict[Value, list[Value]] = {}
        for parameter, given in self.graph.given.items():
            for value in given:
                goals.setdefault(value, []).append(parameter)
        waiting = [*found]
        while waiting:
            new = [goal for goal in goals.get(waiting.pop(), ()) if goal not in found]
            found.update(new)
            waiting += new
        return found

    # -- lists ----------------------------------------------------------------------------------

    def _lists(self) -> Mapping[Value, Value]:
        """For each list one that stands for all that it is handed on as."""
        stands: dict[Value, Value] = {}

        def of(value: Value) -> Value:
            while stands.setdefault(value, value) is not value:
                value = stands[value]
            return value

        for node in self.graph.all_nodes:
            if isinstance(node, Call):
                lists = [v for v in (*node.operands, *node.results) if _is_list(v)]
                for value in lists:
                    stands[of(value)] = of(lists[0])
        for parameter, given in self.graph.given.items():
            if _is_list(parameter):
                for value in given:
                    stands[of(value)] = of(parameter)
        return {value: of(value) for value in [*stands]}

    def _private(self) -> set[Value]:
        """The lists that nobody sees but the turns that append to them and read them."""
        held = self.held_in
        seen = {held[v] for v in (*self.graph.inputs, *self._returned) if v in held}
        for node, text in self.spelled.items():
            if not (
                text in (APPEND, "saved[k]")
                or (text == "[*values]" and not node.operands)
                or Trait.UNSET in node.op.traits
            ):
                seen |= {held[v] for v in (*node.operands, *node.results) if v in held}
        return {*held.values()} - seen

    def _lists_of_floats(self) -> set[Value]:
        """Those to which turns append floats of Python's."""
        floats = self.computed | self.parameters
        appends = [node for node, text in self.spelled.items() if text == APPEND]
        return self.private & {
            self.held_in[n.operands[0]] for n in appends if n.operands[1] in floats
        }

    # -- the graph ------------------------------------------------------------------------------

    def graph_of_floats(self) -> Graph:
        """The graph with floats of Python's, and conversions where they meet NumPy's."""
        return self.graph.with_block(self._block(self.graph.block, _Scope()))

    def not_worth_it(self) -> set[object]:
        """The loops that convert about as much as they compute."""
        loops = (node for node in self.graph.leading if isinstance(node, Loop))
        labels = {self._place(loop) for loop in loops} - {None}
        return {label for label in labels if self.gain[label] < WORTH}

    def _block(self, block: Block, scope: _Scope) -> Block:
        at = _At([], scope, self._place_of(block))
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
        outputs = tuple([self._as_numpys(value, at) for value in block.outputs])
        return block.with_nodes(tuple(at.nodes), outputs)

    def _place_of(self, block: Block) -> object | None:
        place = self.within.get(block)
        return None if place in self.left_out else place

    def _blocks_of(self, node: Branch | Loop | Join, at: _At) -> tuple[Block, ...]:
        return tuple([self._block(block, at.scope.inner()) for block in node.blocks])

    def _parameter(self, parameter: Value, at: _At) -> Value:
        if parameter not in self.parameters:
            return parameter
        return at.scope.pythons.setdefault(parameter, Value(FLOAT, parameter.origin))

    def _given(self, parameter: Value, value: Value, at: _At) -> Value:
        if parameter not in self.parameters:
            return self._as_numpys(value, at)
        return value if self._is_unset_numpys(value) else self._as_python(value, at)

    def _is_unset_numpys(self, value: Value) -> bool:
        """Whether a value has no number on some path, and is no float of Python's on the others."""
        return value in self.unset and value not in self.parameters

    def _reading(self, node: Branch | Check, at: _At) -> Any:
        """A look; of floats of Python's alone it is asked whether they are true."""
        if node.look == "bool":
            return with_operands(node, lambda v: at.scope.pythons.get(v, v))
        return with_operands(node, lambda v: self._as_numpys(v, at))

    def _loop(self, loop: Loop, at: _At) -> Loop:
        given = zip(loop.parameters, loop.arguments, strict=True)
        arguments = tuple([self._given(p, v, at) for p, v in given])
        if at.place is None and self._place(loop) is not None:
            for value in dict.fromkeys(self._from_around(loop)):
                self._as_python(value, at)
        self._list_rows(loop, at)
        parameters = tuple([self._parameter(p, at) for p in loop.parameters])
        blocks = self._blocks_of(loop, at)
        return replace(loop, parameters=parameters, arguments=arguments, blocks=blocks)

    def _from_around(self, loop: Loop) -> Iterator[Value]:
        """Numbers of NumPy's that turns compute with and do not make."""
        inside = [node for node in walk(loop.turn.nodes) if self._place(node) is not None]
        own = {v for node in walk((loop,)) for v in node.results}
        for node in inside:
            if isinstance(node, Call) and (node.results[0] in self.computed or node in self.tests):
                yield from (v for v in node.operands if self._is_there(v) and v not in own)

    def _is_there(self, value: Value) -> bool:
        """Whether a value is a scalar of NumPy's, on all paths."""
        return _is_numpys(value) and value not in self.unset

    # -- calls ----------------------------------------------------------------------------------

    def _call(self, call: Call, at: _At) -> None:
        result = call.results[0]
        text = self.spelled[call]
        if result in self.computed:
            found = self._computed(call, text, at)
            at.nodes.append(found)
            at.scope.pythons[result] = found.results[0]
            self.gain[at.place] += GAINS.get(
                text, FUNCTION if text in FUNCTIONS_OF else ARITHMETICS
            )
        elif call in self.tests:
            at.nodes.append(with_operands(call, lambda v: self._as_python(v, at)))
        elif self._is_read_of_floats(call):
            found = replace(call, results=(Value(FLOAT, replace(result.origin, final=False)),))
            at.nodes += [found, replace(made(TO_NUMPY, found.results, NUMPYS), results=(result,))]
        elif len(call.results) == 1 and _is_numpys(result) and self._is_for_floats(result):
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
        floats = {
            APPEND: self.held_in.get(call.operands[0]) in self.lists if call.operands else False,
            "float(x)": True,
        }
        if text in WRITES and call.operands[0].type.dtype == "float64":
            floats[text] = not call.operands[1].type.shape
        if floats.get(text):
            return with_operands(call, lambda v: at.scope.pythons.get(v, v))
        return with_operands(call, lambda v: self._as_numpys(v, at))

    def _is_for_floats(self, value: Value) -> bool:
        """Whether all that reads a number of NumPy's takes one of Python's."""
        users = self.graph.users.get(value, ())
        return (
            bool(users)
            and value not in self.unset
            and value not in self._returned
            and all(self._takes_floats(node, value) for node in users)
        )

    def _takes_floats(self, node: Node, value: Value) -> bool:
        match node:
            case Call():
                return node.results[0] in self.computed or node in self.tests
            case Loop() | Again():
                parameters = self.graph.heads[node.label].parameters
                given = zip(parameters, node.arguments, strict=True)
                return all(p in self.parameters for p, v in given if v is value)
        return False

    def _is_read_of_floats(self, call: Call) -> bool:
        """Whether a call reads a number of a list to which floats of Python's were appended."""
        item = self.spelled[call] == "saved[k]" and _is_numpys(call.results[0])
        return item and self.held_in[call.operands[0]] in self.lists

    def _computed(self, call: Call, text: str, at: _At) -> Call:
        """A call that gives a float of Python's."""
        origin = call.results[0].origin
        if text == "x[index]":
            return self._element(call, at)
        if text == "saved[k]":
            if self._is_read_of_floats(call):
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
        loop = self._runs_through(call)
        listed = self.listed.get((call.operands[0], loop)) if loop is not None else None
        if listed is not None:
            return made(NUMBER, (listed, call.operands[1]), FLOAT, origin)
        return made(ITEM, call.operands, FLOAT, origin, index=call.attribute("index"))

    def _list_rows(self, loop: Loop, at: _At) -> None:
        """Makes lists of the arrays whose elements the turns of a loop read one by one."""
        if self._place(loop) is None or loop.counter is None or self._is_left(loop):
            return
        own = {v for node in walk(loop.turn.nodes) for v in node.results}.union(loop.parameters)
        for node in walk(loop.turn.nodes):
            if not (isinstance(node, Call) and node.results[0] in self.computed):
                continue
            if self.spelled[node] != "x[index]" or self._runs_through(node) is not loop:
                continue
            array = node.operands[0]
            if array in own or not self._reads_all(loop, array):
                continue
            if array not in at.scope.lists:
                name = array.origin.name
                call = made(
                    NUMBERS_OF, (array,), LIST, at.beside(name and f"{name}_list", bool(name))
                )
                at.nodes.append(call)
                at.scope.lists[array] = call.results[0]
            self.listed[array, loop] = at.scope.lists[array]

    def _runs_through(self, call: Call) -> Loop | None:
        """The loop whose number, but for a constant, is the place that a call reads."""
        array, *places = call.operands
        items = call.attribute("index").items
        if array.type.ndim != 1 or len(places) != 1 or len(items) != 1:
            return None
        number, _ = self._shifted(places[0])
        match self.graph.producer.get(number):
            case Loop(counter=Counter(index=index)) as loop if index is number:
                return loop
        return None

    def _shifted(self, value: Value) -> tuple[Value, int]:
        """A whole number without a constant that is added to it, and that."""
        call = self.graph.producer.get(value)
        if isinstance(call, Call) and self.spelled[call] in ("a + b", "a - b"):
            a, b = call.operands
            first, second = self.graph.constant(a), self.graph.constant(b)
            if second is not None and type(second.value) is int:
                sign = 1 if self.spelled[call] == "a + b" else -1
                found, by = self._shifted(a)
                return found, by + sign * second.value
            if first is not None and type(first.value) is int and self.spelled[call] == "a + b":
                found, by = self._shifted(b)
                return found, by + first.value
        return value, 0

    def _is_left(self, loop: Loop) -> bool:
        """Whether a path leaves a loop before its numbers are used up."""
        inner = {n.label for n in walk(loop.turn.nodes) if isinstance(n, Loop | Join)}
        inner.add(loop.label)
        waiting = [loop.turn]
        while waiting:
            block = waiting.pop()
            if self.graph.leads[block].isdisjoint(inner):
                return True
            if block.nodes and isinstance(block.nodes[-1], Branch | Loop | Join):
                waiting += block.nodes[-1].blocks
        return False

    def _reads_all(self, loop: Loop, array: Value) -> bool:
        """Whether a loop has about as many turns as an array has elements."""
        assert loop.counter is not None
        start, stop = self._length(loop.counter.start), self._length(loop.counter.stop)
        if start is None or stop is None:
            return False
        sizes = self.graph.sizes
        turns = sz.minus(stop, start) if loop.counter.step > 0 else sz.minus(start, stop)
        turns, length = sizes.resolve(turns), sizes.resolve(array.type.shape[0])
        if isinstance(turns, int) and isinstance(length, int):
            return length <= 2 * turns + FEW
        less = sz.minus(length, turns)
        return abs(loop.counter.step) <= 2 and isinstance(less, int) and less <= FEW

    def _length(self, value: Value) -> Dim | None:
        """What a whole number is, as a length."""
        value, more = self._shifted(value)
        made_by = self.graph.producer.get(value)
        if isinstance(made_by, Constant) and type(made_by.value) is int:
            return made_by.value + more
        if isinstance(made_by, Call) and Trait.EXTENT in made_by.op.traits:
            return sz.add(made_by.attribute("size"), more)
        return None

    # -- conversions ----------------------------------------------------------------------------

    def _as_python(self, value: Value, at: _At) -> Value:
        """A number as one of Python's."""
        found = at.scope.pythons.get(value)
        if found is not None or not _is_numpys(value):
            return found or value
        node = self.graph.producer.get(value)
        if isinstance(node, Constant):
            number = as_number_of(value.type, node.value)
            new: Node = Constant(number, Value(FLOAT, value.origin))
        else:
            origin = value.origin if isinstance(node, Call) else at.beside(value.origin.name)
            new = made(TO_PYTHON, (value,), FLOAT, origin)
            if at.place is not None:
                self.gain[at.place] -= ARITHMETICS
        at.nodes.append(new)
        at.scope.pythons[value] = new.results[0]
        return new.results[0]

    def _as_numpys(self, value: Value, at: _At) -> Value:
        """A value as one of NumPy's, where it has become Python's."""
        if value not in self.computed and value not in self.parameters:
            return value
        found = at.scope.numpys.get(value)
        if found is None:
            origin = value.origin
            if value in self.parameters:
                origin = at.beside(origin.name, origin.final)
            call = made(TO_NUMPY, (at.scope.pythons[value],), NUMPYS, origin)
            at.nodes.append(call)
            found = at.scope.numpys[value] = call.results[0]
            if at.place is not None:
                self.gain[at.place] -= FUNCTION
        return found


FEW = 8
"""Turns that are not worth it, and elements that a list may have beside those that turns read."""

ARITHMETICS, FUNCTION, WORTH = 1, 4, 3
GAINS = {"x[index]": 0, CHOICE: 40}
"""What Python's floats save, in the time that a sum of them takes less than one of NumPy's.

A scalar of NumPy's that is made takes as long as a function of it saves.
"""


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


def _is_numpys(value: Value) -> bool:
    """Whether a value is a scalar of NumPy's, float64."""
    type = value.type
    return type.dtype == "float64" and not (type.shape or type.weak or type.either)


def _is_list(value: Value) -> bool:
    return value.type.dtype == LIST.dtype


def _is_flag(value: Value) -> bool:
    return value.type.dtype == "bool" and not value.type.shape
