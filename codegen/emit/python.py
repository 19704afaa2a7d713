"""Writes the statements that compute the values of a graph for a target.

What both targets share: one statement for each value that the user named or that is read more than
once, everything else nested where it is read; the user's line as a comment over each group; names
reused when their old value is dead; memory of dying operands overwritten where the graph allows.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from codegen.emit.length_expressions import Lengths, anchors, is_list, is_whole_number
from codegen.emit.loop_analysis import Paths, numbers_as_lengths
from codegen.emit.statements import (
    Shown,
    filled_in,
    leaves_context,
    names_of_outputs,
    operand_names,
    origin_of,
    reads_of,
    stem_of,
)
from codegen.emit.target import Target, as_number_of, condition, literal, negated
from codegen.emit.typed_literals import Constants, bare_type, need_dtype
from codegen.emit.writer import Names, Writer, quote
from codegen.ir import (
    NOWHERE,
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
    Number,
    Op,
    Origin,
    Trait,
    Value,
    ends,
    inner_blocks,
)
from codegen.passes.fold import exact
from codegen.sizes import Size
from codegen.spelling import (
    ABSENT,
    ATOM,
    INDEX_PARTS,
    UNARY,
    Absent,
    Foreign,
    Fragment,
    Spelling,
    Subscript,
)
from codegen.types import DTYPES, ArrayType, kind

INLINE_WIDTH = 64
HELD = 1 << 32
"""How often at least a value is read that the turns of a loop leave alone."""


class Emitter:
    """Writes values and statements; see the module's first lines."""

    def __init__(
        self,
        graph: Graph,
        target: Target,
        writer: Writer[Origin],
        called: dict[str, str],
        foreign: dict[Foreign, str],
        constants: Constants | None = None,
        dense: bool = False,
    ) -> None:
        """With `dense` every array is a statement of its own, and takes over what dies by it."""
        self.dense = dense
        self.dying: list[Value] = []  # arrays that the next statement reads last
        self.dead: list[Value] = []
        self.passing: list[str] = []  # variables of the next statement alone
        self.standing = NOWHERE
        self.graph = graph
        self.target = target
        self.writer = writer
        self.called = called
        self.foreign = foreign
        self.constants = constants
        self.sizes = graph.sizes
        frame = graph.frame
        self.spellings: dict[Call, Spelling] = {}
        reserved = {
            graph.name,
            *called.values(),
            *foreign.values(),
            *("np", "jax", "jnp", "len"),
            *frame.parameters,
            *frame.captures,
        }
        self.names = Names(reserved)
        self.place = {node: i for i, node in enumerate(graph.all_nodes)}
        self.paths = Paths(graph)
        self.paths.absent.update(graph.inputs[i] for i in frame.absent)
        self.written: dict[Value, list[int]] = {}  # where arms write to an array in place
        self.filled = self._fillings()
        self.shown: dict[Value, Shown] = {}
        self.owner: dict[str, Value] = {}  # which value a variable holds now
        self.variable: dict[Value, str] = {}  # which one each value was given to
        self.bound: list[tuple[int, str, Value]] = []  # the same in order, with the lines so far
        self.over: set[Value] = set()  # values that took over an operand's memory
        self.pending: dict[Value, Shown] = {}  # nested expressions that are not yet written
        self.waiting: Counter[str] = Counter()  # how many of them read a variable
        self.wish = names_of_outputs(graph)
        self.of_turns = self._numbers_of_turns()
        self.read_counts: dict[Block, Mapping[Value, int]] = {}
        self.left = self._count_uses(graph.block)
        self.uses = dict(self.left)
        self.python_numbers: set[Value] = set()
        self.written_in_heads: set[Call] = set()  # of loops: what ``for row in x`` reads
        self.strong_numbers = target.strong_numbers(graph)
        self.literals: dict[Value, Number] = {}
        self.lengths = Lengths(graph.sizes, self._arrays, self._attribute, graph.whole_numbers)
        self.anchors = anchors(graph, self.paths.absent)
        self.checks: list[str] = []
        nodes = graph.all_nodes
        self.returned = {v for end in ends(graph.block) for v in end.outputs}
        self.looked = any(isinstance(node, Check) for node in nodes)
        self.branched = any(isinstance(node, Branch) for node in nodes)
        self.group: tuple[object, ...] = ()
        self.section = ""
        self.places: dict[Value, str] = {}  # the variables of the parameters of loops

    def _count_uses(self, block: Block) -> dict[Value, int]:
        """How often the source of a block reads each value, every path counted.

        Whoever reads ``2 * t - 1`` reads ``2 * t``, and so `t`.
        """
        left = dict(self._counts_in(block))
        for value, index in reversed(self.of_turns.items()):
            if value in left:
                left[index] = left.get(index, 0) + left[value]
        return left

    def _counts_in(self, block: Block) -> Mapping[Value, int]:
        """How often the nodes of a block, and the ends of its paths, read each value."""
        known = self.read_counts.get(block)
        if known is not None:
            return known
        last = block.nodes[-1] if block.nodes else None
        inner = inner_blocks(last) if last else ()
        first, *others = sorted(map(self._counts_in, inner), key=len, reverse=True) or [{}]
        left = dict(first)
        for counts in others:
            for value, count in counts.items():
                left[value] = left.get(value, 0) + count
        for node in block.nodes:
            for index in numbers_as_lengths(node, self.graph.sizes):
                left[index] = left.get(index, 0) + 1
            times = [1] * len(node.operands)
            if isinstance(node, Call):
                uses = self._spelling(node).uses
                for i, name in enumerate(node.op.operands):
                    if not name.startswith("*") and i < len(times):
                        times[i] = uses.get(name, 0)
            for operand, count in zip(node.operands, times, strict=True):
                left[operand] = left.get(operand, 0) + count
        if not inner and not isinstance(last, Again):
            for output in block.outputs:
                left[output] = left.get(output, 0) + 1
        self.read_counts[block] = left
        return left

    def _spelling(self, call: Call) -> Spelling:
        found = self.spellings.get(call)
        if found is None:
            found = call.op.spelled(self.target.dialect, dict(call.attributes))
            self.spellings[call] = found
        return found

    def _input(self, value: Value, read: str) -> None:
        name = read
        used = self.left.get(value) or value.type.shape or value in self.anchors
        if not used and read not in self.graph.frame.parameters:
            return
        if not read.isidentifier():
            name = self.names.wish(value.origin.name or "x")
            self.names.reserved.add(name)
            self._statement([f"{name} = {read}"], value.origin)
        if value in self.anchors:
            self.names.reserved.add(name)
        self.shown[value] = Shown(Fragment(name), frozenset({name}), True)
        if self.dense:
            self.owner[name] = value  # it may be overwritten, where the graph says so
        if value.type.weak:
            self.python_numbers.add(value)

    # -- nodes ----------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        match node:
            case Constant(value, result):
                value = as_number_of(result.type, value)
                self.shown[result] = Shown(literal(value, self.target), frozenset(), True)
                self.python_numbers.add(result)
                self.literals[result] = value
            case Check():
                self._check(node)
            case Call():
                self._call(node)

    def _check(self, check: Check) -> None:
        shown = self._take(check.operand).fragment
        if check.look == "bool" and self.literals.get(check.operand) is check.outcome:
            return
        test, where = condition(check, shown, self.target)
        if self.target.checks_returned:
            self.checks.append(name := self._named("look"))
            self._statement([f"{name} = {test}"], check.origin)
            return
        message = quote(f"{where}  was only ever {check.outcome!r}{self.graph.frame.remedy}")
        self._statement([f"if {negated(test)}:", f"    raise LookupError({message})"], check.origin)

    def _call(self, call: Call) -> None:
        if call in self.written_in_heads:
            return
        spelling = self._spelling(call)
        if Trait.UNSET in call.op.traits:
            self.shown[call.results[0]] = Shown(Fragment(spelling.text), frozenset(), True)
            return
        if self._fold(call):
            return
        if call.results[0] in self.of_turns or is_whole_number(self.graph, call):
            self.shown[call.results[0]] = self._expression(call, spelling)
            return
        if len(call.results) == 1 and self._may_nest(call, spelling):
            value = call.results[0]
            shown = self._expression(call, spelling)
            whole = value in self.python_numbers and kind(value.type.dtype) != "float"
            short = len(shown.fragment.text) <= INLINE_WIDTH
            if whole or (short and not self._is_overtaken(value, shown)):
                self.pending[value] = self.shown[value] = shown
                self.waiting.update(shown.reads)
                return
            self._bind(call, [f"{{}} = {shown.fragment.text}"], shown.reads)
            return
        self._write(call, spelling)

    def _numbers_of_turns(self) -> dict[Value, Value]:
        """What is a short sum or product of a turn's number, and the number that it is of.

        ``2 * t - 1`` is written where it is read.
        """
        found: dict[Value, Value] = {}
        counters: set[Value] = set()
        for node in self.graph.all_nodes:
            if isinstance(node, Loop) and node.counter is not None:
                counters.add(node.counter.index)
            if not isinstance(node, Call) or not counters:
                continue
            short = [v for v in node.operands if v in counters or found.get(v) in counters]
            if len(short) == 1 and self._computes_number(node):
                found[node.results[0]] = short[0]
        return found

    def _computes_number(self, call: Call) -> bool:
        """Whether a call computes with a number of Python's and one that is written here."""
        value = call.results[0]
        written = [isinstance(self.graph.producer.get(v), Constant) for v in call.operands]
        symbols = ("+", "-", "*", "//", "%") if kind(value.type.dtype) == "int" else ("+", "-")
        return (
            value.type.weak
            and sum(written) == 1
            and len(written) == 2
            and self._spelling(call).operator(call.op.operands) in symbols
            and not (value.origin.final and value.origin.name)
            and value not in self.wish
        )

    def _is_overtaken(self, value: Value, shown: Shown) -> bool:
        """Whether an array that an expression reads is written to before the expression is read."""
        reader = self._reader(value)
        last = self.place[reader] if reader else -1
        arrays = [self.owner[name] for name in shown.reads if name in self.owner]
        here = self.place.get(self.graph.producer[value], last)
        return any(here < at < last for array in arrays for at in self.written.get(array, ()))

    def _fold(self, call: Call) -> bool:
        """Arithmetic on parameters of the program is done here, where their values are known."""
        value = call.results[0]
        number = exact(call, [self.literals.get(v) for v in call.operands])
        if number is None:
            return False
        for operand in call.operands:
            self._take(operand)
        self.literals[value] = number
        self.python_numbers.add(value)
        self.shown[value] = Shown(literal(number, self.target), frozenset(), True)
        return True

    def _may_nest(self, call: Call, spelling: Spelling) -> bool:
        value = call.results[0]
        if spelling.expression is None or Trait.EFFECT in call.op.traits:
            return False
        if self.dense and any(v.type.shape for v in (value, *call.operands)):
            return False
        if Trait.EXTENT in call.op.traits:
            self.python_numbers.add(value)
        if self._is_face_of_an_input(call, spelling):
            return True
        reader = self._reader(value)
        if self.uses.get(value, 0) != 1 or leaves_context(reader, value):
            return False
        if value in self.paths.crossing:
            return False
        if isinstance(reader, Again):
            moves = value in self.paths.trailing and value not in self.anchors
            return moves and not self._can_be_written_in_place(call)
        if value in self.anchors or value in self.wish:
            return False
        if value.origin.final and value.origin.name:
            return False
        if reader is None or isinstance(reader, Check | Branch | Loop | Join):
            return True
        assert not isinstance(reader, Constant)
        origin = reader.results[0].origin
        here = value.origin
        if here.section != origin.section:
            return False
        if not here.section and (here.file, here.line) != (origin.file, origin.line):
            return False
        takes_over = (
            self.target.inplace
            and reader.reuse is not None
            and reader.operands[reader.reuse] is value
            and self._spelling(reader).overwrites(reader.op.operands)
        )
        fills = takes_over and Trait.UPDATE in reader.op.traits  # it needs a variable to write to
        if takes_over and (fills or Trait.ELEMENTWISE not in call.op.traits):
            return False
        return self._overwrites(call) is None

    def _next_places(self, value: Value) -> list[str]:
        """The variables of the parameters that a value becomes in a next turn."""
        goals = self.paths.goals.get(value, ())
        return [self.places[parameter] for parameter in goals if parameter in self.places]

    def _can_be_written_in_place(self, call: Call) -> bool:
        """Whether the variable of a parameter may hold its next value as soon as this call runs."""
        nested = [self.pending[v] for v in {*call.operands} & self.pending.keys()]
        for name in self._next_places(call.results[0]):
            held = self.owner.get(name)
            read = self._reads_of(call, held) if held else 0
            waits = self.waiting[name] > sum(name in shown.reads for shown in nested)
            if not waits and (held is None or self.left.get(held, 0) <= read):
                return True
        return False

    def _may_be_bound(self, name: str) -> bool:
        """Whether nobody reads what a variable holds any more."""
        held = self.owner.get(name)
        if self.waiting[name] or (held and self.left.get(held, 0) > 0):
            return False
        return not self.names.is_from_around(name) and not any(
            name in shown.reads and not shown.bound and self.left.get(value, 0) > 0
            for value, shown in self.shown.items()
        )

    def _place(self, value: Value, keep: frozenset[str]) -> str | None:
        """The variable of the parameter that a value is the next value of, if it may get it now."""
        for name in self._next_places(value):
            if name not in keep and self._may_be_bound(name):
                return name
        return None

    def _is_face_of_an_input(self, call: Call, spelling: Spelling) -> bool:
        """``w.T`` of an argument is written wherever it is read: it costs nothing."""
        return (
            Trait.VIEW in call.op.traits
            and isinstance(spelling.expression, ast.Attribute)
            and call.operands[0] in self.graph.inputs
            and not (call.results[0].origin.final and call.results[0].origin.name)
            and call.results[0] not in self.anchors
            and call.results[0] not in self.wish
        )

    def _write(self, call: Call, spelling: Spelling) -> None:
        reused = self._overwrites(call)
        if reused is not None:
            self._write_over(call, spelling, reused)
            return
        if spelling.expression is not None:
            shown = self._expression(call, spelling)
            targets = ", ".join(["{}"] * len(call.results))
            self._bind(call, [f"{targets} = {shown.fragment.text}"], shown.reads)
            return
        holes, reads = self._holes(call, spelling)
        lines = spelling.render_statements({**holes, "out": Fragment("{}")})
        self._bind(call, lines, reads)

    def _overwrites(self, call: Call) -> str | None:
        """The variable whose memory this call takes over, if it may and reads well."""
        if not self.target.inplace or call.reuse is None:
            return None
        spelling = self._spelling(call)
        signs = self.dense and spelling.text in self.target.ufuncs  # elsewhere t = -t reads better
        if not (signs or spelling.overwrites(call.op.operands)):
            return None
        operand = call.operands[call.reuse]
        shown = self.shown.get(operand)
        if shown is None or not shown.bound or operand in self.pending:
            return None
        if operand in self.anchors:
            return None
        name = shown.fragment.text
        if self.owner.get(name) is not operand:
            return None
        if self.left[operand] != self._reads_of(call, operand):
            return None
        result = call.results[0]
        filled = self.filled.get(operand)
        if name in self._next_places(result):
            pass
        elif filled is None or filled is not self.filled.get(result, result):
            becomes = self.filled.get(result, result)
            mine = self.wish.get(becomes) or becomes.origin.name
            badly = mine != operand.origin.name or (mine is None and name.split("_")[0] != "t")
            filling = operand in self.graph.given and Trait.UPDATE in call.op.traits  # in turns
            if not self.dense and badly and not filling:
                return None  # a variable that changes its meaning reads badly
        nested = [self.pending[v] for v in {*call.operands} & self.pending.keys()]
        if self.waiting[name] > sum(name in shown.reads for shown in nested):
            return None
        return name

    def _reads_of(self, call: Call, operand: Value) -> int:
        return reads_of(self._spelling(call), call, operand)

    def _reader(self, value: Value) -> Node | None:
        """The first node whose source reads a value; some operands stand for an order alone."""
        users = self.graph.users.get(value, ())
        return next((n for n in users if not isinstance(n, Call) or self._reads_of(n, value)), None)

    def _write_over(self, call: Call, spelling: Spelling, name: str) -> None:
        assert call.reuse is not None
        position = call.reuse
        if Trait.UPDATE in call.op.traits:
            holes, _ = self._holes(call, spelling)
            lines = spelling.render_inplace(holes)
        elif (symbol := spelling.operator(call.op.operands)) is not None:
            holes, _ = self._holes(call, spelling)
            texts = [holes[n] for n in operand_names(call)]
            if position == 0 or call.commutes:
                other = texts[1 - position]
                assert isinstance(other, Fragment)
                lines = [f"{name} {symbol}= {other.text}"]
            else:
                a, b = (t.text for t in texts if isinstance(t, Fragment))
                lines = [f"{self.target.ufuncs[symbol]}({a}, {b}, out={name})"]
        elif (ufunc := self.target.ufuncs.get(spelling.text)) is not None:
            self._holes(call, spelling)
            lines = [f"{ufunc}({name}, out={name})"]
        else:
            shown = self._expression(call, spelling)
            lines = [f"{shown.fragment.text[:-1]}, out={name})"]
        self._statement(lines, call.results[0].origin, call.results[0].origin.within)
        self.over.add(call.results[0])
        self._own(call.results[0], name)

    # -- source of values -----------------------------------------------------------------------

    def _take(self, value: Value) -> Shown:
        """The source of a value for one reading of it."""
        shown = self.shown[value]
        self._read(value, self.left.get(value, 1) - 1)
        return shown

    def _read(self, value: Value, left: int) -> None:
        """The value has been read, and will be as often as is `left`."""
        self.left[value] = left
        self.names.read(self.shown[value].reads)
        if value in self.pending:
            self.waiting.subtract(self.pending.pop(value).reads)
        if value in self.of_turns:
            self._take(self.of_turns[value])
        if left <= 0:
            name = self.shown[value].fragment.text
            if self.owner.get(name) is value:
                self.names.rest(name)
                if self.dense and value.type.shape and value in self.graph.producer:
                    self.dying.append(value)

    def _expression(self, call: Call, spelling: Spelling) -> Shown:
        if Trait.EXTENT in call.op.traits:
            self.python_numbers.add(call.results[0])
            return Shown(*self._attribute(call.attribute("size")), False)
        holes, reads = self._holes(call, spelling)
        if call.results[0].type.may_be_python or self._compares_numbers(call, spelling):
            self.python_numbers.add(call.results[0])
        return Shown(spelling.render(holes), reads, False)

    def _compares_numbers(self, call: Call, spelling: Spelling) -> bool:
        """Whether Python compares numbers of its own."""
        compares = isinstance(spelling.expression, ast.Compare)
        return compares and all(v.type.may_be_python for v in call.operands)

    def _holes(
        self, call: Call, spelling: Spelling
    ) -> tuple[dict[str, Fragment | Absent], frozenset[str]]:
        holes: dict[str, Fragment | Absent] = {
            name: Fragment(self.called[name]) for name in spelling.uses.keys() & self.called.keys()
        }
        reads: frozenset[str] = frozenset()
        for name in spelling.variables:  # called as what they are part of
            of = self.shown[call.operands[0]]
            stem = of.fragment.text if of.bound else name
            self.passing.append(self._named(stem, self._waits(frozenset())))
            holes[name] = Fragment(self.passing[-1])
        fragments = []
        strong = need_dtype(self.graph, call, self.python_numbers, self.literals)
        casts = self.target.casts(call, self._printed_types(call, strong))
        for i, (name, value) in enumerate(zip(operand_names(call), call.operands, strict=True)):
            shown = self.shown[value]
            count = 1 if name.startswith("*") else spelling.uses.get(name, 0)
            if count:
                self._read(value, self.left.get(value, 0) - count)
            fragment = shown.fragment
            if i in strong or (i in casts and value in self.python_numbers):
                *_, dtype = casts.get(i, (value.type.dtype,))
                fragment = self._typed(ArrayType(dtype), fragment)
            elif i in casts:
                for dtype in casts[i]:
                    dtype_text, _ = self._attribute(dtype)
                    fragment = Fragment(f"{fragment.at(ATOM)}.astype({dtype_text.text})")
            elif self.constants and value in self.literals:
                fragment = self.constants.beside(call, spelling, self.literals, i, fragment)
            fragments.append(fragment)
            reads |= shown.reads
            if not name.startswith("*"):
                holes[name] = fragment
        last = call.op.operands[-1] if call.op.operands else ""
        if last.startswith("*"):
            rest = fragments[len(call.op.operands) - 1 :]
            holes[last[1:]] = Fragment(f"[{', '.join(f.text for f in rest)}]")
            arrays = tuple(rest)
        else:
            arrays = ()
        for name, attribute in call.attributes:
            if spelling.uses.keys().isdisjoint((name, *(f"{name}_{part}" for part in INDEX_PARTS))):
                continue
            if isinstance(attribute, Subscript):
                holes[name] = attribute.render(arrays)
                holes[f"{name}_tuple"] = attribute.render_tuple(arrays)
                if attribute.windows:
                    holes[f"{name}_firsts"] = attribute.render_firsts(arrays)
                    holes[f"{name}_within"] = attribute.within_windows.render(arrays)
            elif (
                name in spelling.droppable
                and attribute == call.op.attributes[name]
                and type(attribute) is type(call.op.attributes[name])
            ):
                holes[name] = ABSENT
            else:
                holes[name], more = self._attribute(attribute)
                reads |= more
        return holes, reads

    def _printed_types(self, call: Call, strong: set[int]) -> list[ArrayType]:
        """The operands' types as their source says them: a bare literal is a Python number."""
        return [
            ArrayType(v.type.dtype)
            if v in self.strong_numbers
            else bare_type(self.graph, v)
            if v in self.python_numbers and i not in strong
            else v.type
            for i, v in enumerate(call.operands)
        ]

    def _typed(self, type: ArrayType, fragment: Fragment) -> Fragment:
        return Fragment(f"{self.target.module}.{type.dtype}({fragment.text})")

    def _attribute(self, value: Any) -> tuple[Fragment, frozenset[str]]:
        match value:
            case Size() | tuple():
                size = self.lengths.size
                shown = self.lengths.shape(value) if isinstance(value, tuple) else size(value)
                self.names.read(shown[1])
                return shown
            case Foreign():
                return Fragment(self.foreign[value]), frozenset()
            case Graph():
                return Fragment(value.name), frozenset()
            case str() if value in DTYPES:
                text = value if value == "bool" else f"{self.target.module}.{value}"
                return Fragment(text), frozenset()
            case str():
                return Fragment(quote(value)), frozenset()
            case float() | complex():
                return literal(value, self.target), frozenset()
        return Fragment(repr(value), UNARY if repr(value).startswith("-") else ATOM), frozenset()

    def _arrays(self) -> Iterator[tuple[Value, str]]:
        """Values whose variables may be asked for lengths: inputs first, then live names."""
        for value in self.graph.inputs:
            tells = value.type.shape or value in self.graph.whole_numbers
            if tells and value in self.shown and value not in self.paths.absent:
                yield value, self.shown[value].fragment.text
        for name in self.names.own_first(self.owner):
            value = self.owner[name]
            there = value not in self.paths.absent and not is_list(self.graph, value)
            if value.type.shape and there and not name.startswith("{"):
                yield value, name

    # -- statements -----------------------------------------------------------------------------

    def _bind(self, call: Call, lines: list[str], reads: frozenset[str]) -> None:
        """Writes statements whose ``{}`` are the names of the call's results."""
        keep = reads if len(lines) > 1 else frozenset()
        spelled = self._spelling(call)
        names: list[str] = []
        stems = call.op.results or tuple(stem_of(call, result) for result in call.results)
        for result, stem in zip(call.results, stems, strict=True):
            names.append(self._name(result, call.op, stem, spelled, keep.union(names)))
        bound = zip(call.results, names, strict=True)
        self.names.reserved.update(name for result, name in bound if result in self.anchors)
        filled = [filled_in(line, names) for line in lines]
        if filled != [f"{names[0]} = {names[0]}"]:  # another value in the same memory
            self._statement(filled, origin_of(call), call.results[0].origin.within)
        shares = frozenset() if call.shown is None else reads
        for result, name in zip(call.results, names, strict=True):
            self._own(result, name, shares)

    def _own(self, value: Value, name: str, shares: frozenset[str] = frozenset()) -> None:
        self.owner.pop(name, None)
        self.owner[name] = value
        self.variable[value] = name
        self.names.give(name)
        self.bound.append((len(self.writer.lines), name, value))
        if self.left.get(value, 0) > 0:
            self.names.wake(name)
        else:
            self.names.rest(name)
        self.shown[value] = Shown(Fragment(name), shares | {name}, True)

    def _named(self, stem: str, held: Callable[[str], bool] = lambda name: False) -> str:
        """A name of what is no value; nobody asks what it held before for lengths any more."""
        name = self.names.wish(stem, held)
        self.owner.pop(name, None)
        return name

    def _name(
        self, value: Value, op: Op, usual: str, spelled: Spelling, keep: frozenset[str]
    ) -> str:
        place = self._place(value, keep)
        if place is not None:
            return place
        value = self.filled.get(value, value)
        goals = self.paths.goals.get(value, ())
        if goals and isinstance(self.graph.producer[goals[0]], Join):
            place = self._place(value, keep)
            if place is not None:
                return place
        origin = value.origin
        if value in self.wish and not (origin.final and origin.name):
            stem = self.wish[value]
        elif Trait.EXTENT in op.traits and not origin.final:
            stem = "n"
        elif origin.name:
            stem = origin.name
            inner = not origin.final and not origin.section
            if inner and not self._will_be_overwritten_as(value, stem):
                return self.names.wish(stem, self._waits(keep), numbered=True)
        else:
            bare = spelled.infix is not None or Trait.VIEW in op.traits
            stem = "t" if bare or spelled.text[0] in "-+~" else usual
        return self.names.wish(stem, self._waits(keep))

    def _fillings(self) -> dict[Value, Value]:
        """What arrays that are written to place by place become: they have its name throughout."""
        filled: dict[Value, Value] = {}
        if not self.target.inplace:
            return filled
        for node in reversed(self.graph.all_nodes):
            if not (isinstance(node, Call) and Trait.UPDATE in node.op.traits and node.reuse == 0):
                continue
            value, result = node.operands[0], node.results[0]
            renamed = value.origin.final and value.origin.name != result.origin.name
            if value in self._goals(filled.get(result, result)):
                self.written.setdefault(value, []).append(self.place[node])
            elif not renamed and self.graph.users[value][-1] is node:
                self.written.setdefault(value, []).append(self.place[node])
                filled[value] = filled.get(result, result)
        return filled

    def _goals(self, value: Value) -> Iterator[Value]:
        """The parameters that a value becomes, and those that these become behind joins."""
        for parameter in self.paths.goals.get(value, ()):
            yield parameter
            if isinstance(self.graph.producer[parameter], Join):
                yield from self._goals(parameter)

    def _will_be_overwritten_as(self, value: Value, stem: str) -> bool:
        """Whether the array of an inner value becomes that of the variable, step by step."""
        while self.target.inplace:
            users = self.graph.users.get(value, ())
            last = users[-1] if users else None
            if not (
                isinstance(last, Call)
                and last.reuse is not None
                and last.operands[last.reuse] is value
            ):
                return False
            value = last.results[0]
            if (value.origin.name or self.wish.get(value)) != stem:
                return False
            if value.origin.final or value in self.wish:
                return True
        return False

    def _waits(self, keep: frozenset[str]) -> Callable[[str], bool]:
        """Tells variables that stay although nobody reads their value: its readers come later."""
        return lambda name: name in keep or self.waiting[name] > 0

    def _statement(self, lines: list[str], origin: Origin, within: str = "") -> None:
        if self.dead:
            self._delete_dead()
        if origin.section != self.section or not within:
            self.writer.inside("")
        group = (origin.section, origin.file, origin.line)
        if origin.section != self.section:
            self.section = origin.section
            if not self.writer.lines[-1].endswith(":"):
                self.writer.line()
            if origin.section:
                self.writer.comment(origin.section)
            self.group = ()
        if within and self.target.contexts:
            self.writer.inside(within, origin)
        if origin.line and group != self.group:
            self.writer.comment(f"{origin.file}:{origin.line}  {origin.text}", origin)
            self.group = group
        for line in lines:
            self.writer.line(line, origin)
        while self.passing:
            self.names.rest(self.passing.pop())
        self.dead, self.dying = [*self.dead, *self.dying], []
        self.standing = origin

    def _delete_dead(self) -> None:
        """Frees the arrays that no statement reads any more and none has taken over."""
        waiting: list[Value] = []
        names: list[str] = []
        for value in self.dead:
            name = self.shown[value].fragment.text
            if self.owner.get(name) is not value:
                continue
            if self.waiting[name]:
                waiting.append(value)
            else:
                names.append(name)
                del self.owner[name]
        if names:
            self.writer.line(f"del {', '.join(names)}", self.standing)
        self.dead = waiting
