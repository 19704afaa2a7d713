"""Finds what in a graph becomes a float of Python's: numbers that the turns of loops compute.

A number is one where its bits are the same in Python, by how its op is spelled. Lists that turns
save, and nobody else sees, hold such floats; flags stay what they are where they only decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen.emit.numba import (
    APPEND,
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    ROOT,
    picks_elements,
)
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    ends,
    walk,
)
from codegen.spelling import CHOICE
from codegen.types import LIST, kind
from codegen.unset import handed_on

READ = "saved[k]"
"""How an item of a list is read."""

ITEMS = "[*values]"
"""How a list begins."""

MAY_BE_UNSET = frozenset({Trait.UNSET, Trait.MAYBE_UNSET})
"""Ops with one of these may give what has no value."""


class Lists:
    """The lists of a graph, and which of them nobody sees but the turns that fill and read them."""

    def __init__(self, graph: Graph, spelled: Mapping[Call, str]) -> None:
        self.graph = graph
        self.spelled = spelled
        self.stands = self._stand()
        self.private = {*self.stands.values()} - {*self._seen()}
        self.reads: dict[Value, list[Call]] = {}
        self.appends: dict[Value, list[Call]] = {}
        for call, text in spelled.items():
            if text in (READ, APPEND):
                known = self.reads if text == READ else self.appends
                known.setdefault(self.stands[call.operands[0]], []).append(call)

    def _stand(self) -> Mapping[Value, Value]:
        """For each list one that stands for all that it is handed on as, or held by."""
        stands: dict[Value, Value] = {}

        def of(value: Value) -> Value:
            while stands.setdefault(value, value) is not value:
                value = stands[value]
            return value

        for call in self.spelled:
            lists = [v for v in (*call.operands, *call.results) if _is_list(v)]
            for value in lists:
                stands[of(value)] = of(lists[0])
        for parameter, given in self.graph.given.items():
            for value in given if _is_list(parameter) else ():
                stands[of(value)] = of(parameter)
        for value in (*self.graph.inputs, *returned(self.graph)):
            if _is_list(value):
                of(value)
        return {value: of(value) for value in [*stands]}

    def _seen(self) -> Iterator[Value]:
        """Those that come from outside, are returned, or are read as a whole."""
        values = [*self.graph.inputs, *returned(self.graph)]
        for call, text in self.spelled.items():
            if not (text in (APPEND, READ, ITEMS) or Trait.UNSET in call.op.traits):
                values += [*call.operands, *call.results]
        return (self.stands[v] for v in values if v in self.stands)

    def appended(self, call: Call) -> Value | None:
        """The list that a call appends to, as that which stands for it."""
        return self.stands[call.operands[0]] if self.spelled[call] == APPEND else None


class FloatMarks:
    """What becomes a float of Python's, where loops are not `left_out`.

    `computed` are results of calls in turns, `parameters` those of loops and joins. `tests` are
    calls that compare floats, and whose flags only decide; `lists` hold floats. `unset` is what has
    no value on some path.
    """

    def __init__(self, graph: Graph, left_out: set[object]) -> None:
        self.graph = graph
        self.left_out = left_out
        self.spelled = {
            node: node.op.spelled("numpy", dict(node.attributes)).text
            for node in graph.all_nodes
            if isinstance(node, Call)
        }
        self._within = dict(self._blocks_in_loops())
        self._block_of = {node: block for block in graph.leads for node in block.nodes}
        self._returned = returned(graph)
        self._lists = Lists(graph, self.spelled)
        calls = [node for node in self.spelled if node.op.traits & MAY_BE_UNSET]
        unset = {v for call in calls for v in call.results}
        unset.update(graph.inputs[i] for i in graph.frame.absent)
        self.unset = unset | handed_on(graph, unset)
        self.computed = {
            call.results[0]
            for call in self.spelled
            if self.place(call) is not None and self._is_computed(call)
        }
        self.parameters = {
            parameter
            for node in graph.leading
            if isinstance(node, Loop | Join) and self.place(node) is not None
            for parameter in node.parameters
            if is_numpys(parameter)
        }
        self.floats = self.computed | self.parameters
        self.tests = {call for call in self.spelled if self._is_test(call)}
        self.lists = {
            held
            for held, calls in self._lists.appends.items()
            if held in self._lists.private and any(c.operands[1] in self.floats for c in calls)
        }

    # -- where ----------------------------------------------------------------------------------

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

    def place_of(self, block: Block) -> object | None:
        """The outermost loop in whose turns a block is; None outside of loops, and in others."""
        around = self._within.get(block)
        return None if around in self.left_out else around

    def place(self, node: Node) -> object | None:
        """The outermost loop in whose turns a node is, or that it is."""
        around = self._within.get(self._block_of[node])
        if around is None and isinstance(node, Loop):
            around = node.label
        return None if around in self.left_out else around

    # -- what -----------------------------------------------------------------------------------

    def _is_computed(self, call: Call) -> bool:
        """Whether a call of numbers gives a float of Python's."""
        if len(call.results) != 1 or not is_numpys(call.results[0]):
            return False
        origin = call.results[0].origin
        if origin.within or origin.raises or Trait.EFFECT in call.op.traits:
            return False
        text = self.spelled[call]
        if text == "x[index]":
            array = call.operands[0].type
            picked = bool(array.shape) and not array.either
            return picked and array.dtype == "float64" and picks_elements(call)
        if text == READ:
            return True
        if text == CHOICE:
            return all(map(self._is_operand, call.operands[1:])) and _is_flag(call.operands[0])
        known = text in ARITHMETIC or text == "a / b" or text in FUNCTIONS or text == ROOT
        return known and all(map(self._is_operand, call.operands))

    def _is_operand(self, value: Value) -> bool:
        """Whether a number may be one of Python's: a float, or a small int."""
        type = value.type
        if type.shape or type.either:
            return False
        return type.dtype == "float64" or (kind(type.dtype) == "int" and type.weak)

    def _is_test(self, call: Call) -> bool:
        """Whether a call compares floats for a look alone."""
        if self.spelled[call] not in COMPARISONS or self.place(call) is None:
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
        held = self._lists.appended(node) if isinstance(node, Call) else None
        return held in self._lists.private and all(
            self._decides(user, read.results[0])
            for read in self._lists.reads.get(held, ())
            if read.results[0].type.dtype == "bool"
            for user in self.graph.users.get(read.results[0], ())
        )

    # -- who takes floats -----------------------------------------------------------------------

    def reads_float(self, call: Call) -> bool:
        """Whether a call reads a number of a list to which floats of Python's were appended."""
        item = self.spelled[call] == READ and is_numpys(call.results[0])
        return item and self._lists.stands[call.operands[0]] in self.lists

    def appends_float(self, call: Call) -> bool:
        """Whether a call appends to such a list."""
        return self._lists.appended(call) in self.lists

    def begins_floats(self, call: Call) -> bool:
        """Whether a call makes such a list of its first items."""
        return self.spelled[call] == ITEMS and self._lists.stands.get(call.results[0]) in self.lists

    def is_there(self, value: Value) -> bool:
        """Whether a value is a scalar of NumPy's on all paths."""
        return is_numpys(value) and value not in self.unset

    def only_floats_read(self, value: Value) -> bool:
        """Whether all that reads a number of NumPy's takes one of Python's."""
        users = self.graph.users.get(value, ())
        inner = value not in self.unset and value not in self._returned
        return bool(users) and inner and all(self._takes_floats(node, value) for node in users)

    def _takes_floats(self, node: Node, value: Value) -> bool:
        match node:
            case Call():
                return self.computes(node)
            case Loop() | Again():
                parameters = self.graph.heads[node.label].parameters
                given = zip(parameters, node.arguments, strict=True)
                return all(p in self.parameters for p, v in given if v is value)
        return False

    def computes(self, call: Call) -> bool:
        """Whether a call computes with floats of Python's."""
        return call.results[0] in self.computed or call in self.tests

    def from_around(self, loop: Loop) -> Iterator[Value]:
        """Numbers of NumPy's that turns compute with and do not make."""
        own = {v for node in walk((loop,)) for v in node.results}
        for node in walk(loop.turn.nodes):
            if isinstance(node, Call) and self.computes(node):
                yield from (v for v in node.operands if self.is_there(v) and v not in own)


def returned(graph: Graph) -> set[Value]:
    """What the paths of a graph return."""
    return {value for end in ends(graph.block) for value in end.outputs}


def is_numpys(value: Value) -> bool:
    """Whether a value is a scalar of NumPy's, float64."""
    type = value.type
    return type.dtype == "float64" and not (type.shape or type.weak or type.either)


def _is_list(value: Value) -> bool:
    return value.type.dtype == LIST.dtype


def _is_flag(value: Value) -> bool:
    return value.type.dtype == "bool" and not value.type.shape
