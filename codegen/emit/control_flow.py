"""Writes the blocks of a graph as statements: returns, ``if`` and loops as one writes them.

Paths of the graph meet behind a join and in the next turn of a loop; in the source they also meet
behind an ``if`` whose arms go on to the same turn. What follows a loop is written after it where
only one path leads there; else it stands where the loop is left, with ``return`` or ``break``
behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from codegen.emit.loop_analysis import Instance, Move, in_order, range_text
from codegen.emit.loop_rows import rows_read
from codegen.emit.python import HELD, Emitter
from codegen.emit.statements import Shown, returned_text, stem_of, tuple_text
from codegen.emit.target import arm_order, condition, goes_on, literal, place
from codegen.emit.tidy_arms import drop_comments, tidy
from codegen.emit.writer import Names, quote
from codegen.errors import CodegenError
from codegen.ir import (
    NOWHERE,
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Join,
    Loop,
    Number,
    Origin,
    Trait,
    Value,
    walk,
)
from codegen.passes.fuse import LARGE, Tiled
from codegen.sizes import CountedLength
from codegen.spelling import ATOM, CHOICE, COMPARE, PRODUCT, SUM, Fragment
from codegen.types import kind
from codegen.unset import is_unset

NUMBER = re.compile(r"(_\d+)?")
"""What stands behind the stem of a variable."""

ASKING = frozenset({Trait.HOLDS, Trait.MAYBE_UNSET})
"""Ops that are given what is unset."""


class Unseen(Block):
    """What follows a loop that was never left at its end; its origin is the loop's."""

    __slots__ = ()


"""What follows a loop whose numbers were never used up."""


@dataclass
class State:
    """What holds at a point of the source: see `Emitter`."""

    shown: dict[Value, Shown]
    owner: dict[str, Value]
    pending: dict[Value, Shown]
    waiting: Counter[str]
    left: dict[Value, int]
    names: Names
    checks: list[str]
    group: tuple[object, ...]
    section: str

    def fork(self) -> State:
        """A copy: what is written from there on leaves no trace in this one."""
        return State(
            dict(self.shown),
            dict(self.owner),
            dict(self.pending),
            self.waiting.copy(),
            dict(self.left),
            self.names.fork(),
            list(self.checks),
            self.group,
            self.section,
        )


@dataclass(eq=False)
class Turns:
    """A loop whose turns are being written.

    They leave alone what is `held`: what a later turn reads that was made before the loop, and the
    index. `sunk` is the block that is written after the loop, and `left` what holds where the loop
    is left for it. A break may instead lead to the next turns of the loops `beyond`; where these
    are several, the variable `flag` tells which. Or it leads to what follows the last turn: for
    each block that does the same, `merged` has what it gives the loop's parameters for that.
    """

    loop: Loop
    held: set[Value]
    sunk: Block | None = None
    left: State | None = None
    beyond: tuple[object, ...] = ()
    flag: str = ""
    merged: dict[Block, dict[Value, Value]] = field(default_factory=dict)


class FunctionEmitter(Emitter):
    """Writes one function; see the module's first lines.

    Some methods take `to`: the label of the loop whose next turn begins behind the source that they
    write. Such a method says whether a path gets there.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.around: list[Turns] = []  # the loops around what is being written
        self.held: dict[object, set[Value]] = {}  # what the turns of each loop leave alone

    # -- the whole ------------------------------------------------------------------------------

    def function(self, tiled: Tiled | None) -> None:
        """The function of the graph; where there is a form for large arrays, it goes over to it."""
        graph, writer, frame = self.graph, self.writer, self.graph.frame
        if decorator := self._decorator():
            writer.line(decorator)
        keywords = ["*", *frame.captures] if frame.captures else []
        writer.line(f"def {graph.name}({', '.join([*frame.parameters, *keywords])}):")
        writer.depth += 1
        for value, read in zip(graph.inputs, frame.reads, strict=True):
            self._input(value, read)
        if tiled:
            self._go_over(tiled)
        if not (tiled and tiled.always):
            self._block(graph.block)
        writer.depth -= 1

    def _decorator(self) -> str:
        """What stands above the function."""
        return self.target.decorator

    def _go_over(self, tiled: Tiled) -> None:
        """Calls the form for large arrays where they are."""
        captures = [f"{name}={name}" for name in self.graph.frame.captures]
        given = ", ".join([*self.graph.frame.parameters, *captures])
        if tiled.compiled:
            self.writer.comment("Arrays in C order: as machine code, large ones on all cores.")
        else:
            self.writer.comment("Large arrays: in place, and tile by tile on all cores.")
        if tests := self._tests_of(tiled):
            self.writer.line(f"if {' and '.join(tests)}:")
        self.writer.line(f"{'    ' * bool(tests)}return {tiled.name}({given})")

    def _tests_of(self, tiled: Tiled) -> list[str]:
        """What says that an input is large, and that inputs are in C order."""
        tests = []
        if not tiled.compiled and not any(isinstance(size, int) for size in tiled.sizes):
            sizes = [self.lengths.size(size)[0].at(COMPARE + 1) for size in tiled.sizes]
            large = " or ".join(f"{size} >= {LARGE}" for size in sizes)
            tests.append(f"({large})" if len(sizes) > 1 and tiled.ordered else large)
        names = [self.shown[value].fragment.at(ATOM) for value in tiled.ordered]
        if len(names) > 1:
            tests.append(f"all(a.flags.c_contiguous for a in {tuple_text(names)})")
        return tests + [f"{name}.flags.c_contiguous" for name in names if len(names) == 1]

    # -- blocks ---------------------------------------------------------------------------------

    def _block(self, block: Block, to: object = None) -> bool:
        if self.around and block is self.around[-1].sunk:
            self.around[-1].left = self._state().fork()
            self._jump("break")
            return False
        if isinstance(block, Unseen):
            never = f"{place(block.origin)}  this loop was never left at its end"
            message = f"{never}{self.graph.frame.remedy}"
            self.writer.line(f"raise LookupError({quote(message)})")
            return False
        if self.around and block in self.around[-1].merged:
            self._give(self.around[-1].merged[block], NOWHERE)
            self._jump("break")
            return False
        for node in block.nodes:
            match node:
                case Branch():
                    return self._branch(node, to)
                case Loop():
                    return self._loop(node, to)
                case Join():
                    return self._join(node, to)
                case Again():
                    return self._again(node, to)
                case _:
                    self._node(node)
        written = (output.origin for output in block.outputs if output in self.pending)
        origin = next(written, None) or block.origin  # of what the line computes, if it does
        self._jump(f"return {self._returns(block)}", origin)
        return False

    def _jump(self, text: str, origin: Origin = NOWHERE) -> None:
        self.writer.inside("")
        self.writer.line(text, origin)

    def _returns(self, block: Block) -> str:
        texts = []
        for output in block.outputs:
            fragment = self._take(output).fragment
            if output in self.python_numbers and not output.type.may_be_python:
                fragment = self._typed(output.type, fragment)
            texts.append(fragment.text)
        template = block.returns
        if template is None:
            shown = returned_text(texts)
        else:
            shown = re.sub(r"\{(\d+)\}", lambda m: texts[int(m[1])], template)
        if not self.target.checks_returned or not self.looked:
            return shown
        outputs = tuple_text(texts) if template is None else f"({shown})"
        if not self.branched:
            return f"{outputs}, {tuple_text(self.checks)}"
        held = " & ".join(self.checks) or f"{self.target.module}.bool_(True)"
        return f"{outputs}, ({held},)"

    def _state(self) -> State:
        return State(
            self.shown,
            self.owner,
            self.pending,
            self.waiting,
            self.left,
            self.names,
            self.checks,
            self.group,
            self.section,
        )

    def _resume(self, state: State) -> None:
        self.shown, self.owner, self.left = state.shown, state.owner, state.left
        self.pending, self.waiting, self.names = state.pending, state.waiting, state.names
        self.checks, self.group, self.section = state.checks, state.group, state.section

    def _arm(self, block: Block, to: object = None, state: State | None = None) -> bool:
        """A block of its own, which leaves no trace in what is written after it."""
        before = self._state()
        self._resume((state or before).fork())
        self._enter(block)
        self.writer.depth += 1
        start = len(self.writer.lines)
        arrives = self._block(block, to)
        self.writer.inside("")
        drop_comments(self.writer, start)
        self.writer.depth -= 1
        self._resume(before)
        return arrives

    def _enter(self, block: Block) -> None:
        """From here on only what the block reads is needed, and what turns after it read."""
        self.left = self._count_uses(block)
        for label in self.paths.leading(block):
            self.left.update(dict.fromkeys(self.held[label], HELD))
        times = self.left.get
        for name in [name for name, value in self.owner.items() if times(value, 0) <= 0]:
            self.names.rest(name)

    # -- branches -------------------------------------------------------------------------------

    def _branch(self, branch: Branch, to: object) -> bool:
        """An ``if``; the path that ends first is written first.

        Where the other path goes on to further branches it stands after the ``if``, not inside, and
        so it does in a loop.
        """
        fragment = self._take(branch.operand).fragment
        if len(branch.outcomes) > 2 and not fragment.text.isidentifier():
            name = self._named(branch.origin.name or "look")
            self._statement([f"{name} = {fragment.text}"], branch.origin)
            fragment = Fragment(name)
        arms = self._arms(branch, to)
        tests = []
        for outcome, _ in arms:
            check = Check(branch.operand, branch.look, outcome, branch.origin)
            test, where = condition(check, fragment, self.target)
            tests.append(test)
        heads: list[int] = []
        arrives = False
        for i, ((_, block), test) in enumerate(zip(arms, tests, strict=True)):
            last = branch.complete and i == len(arms) - 1
            if last and not arrives and (self.around or to is not None or goes_on(block)):
                if not self.around:
                    self.writer.line()
                self._enter(block)
                return self._block(block, to)
            word = "else:" if last else f"{'elif' if i else 'if'} {test}:"
            if i == 0:
                self._statement([word], branch.origin)
            else:
                self.writer.line(word, branch.origin)
            heads.append(len(self.writer.lines) - 1)
            self.standing = branch.origin
            arrives |= self._arm(block, to)
            if not branch.complete and len(self.writer.lines) == heads[-1] + 1:
                self.writer.line("    pass")
        if not branch.complete:
            seen = " or ".join(map(repr, branch.outcomes))
            message = f"{where}  was only ever {seen}{self.graph.frame.remedy}"
            if arrives:
                self.writer.line("else:", branch.origin)
            indent = "    " * arrives
            self.writer.line(f"{indent}raise LookupError({quote(message)})", branch.origin)
        elif len(heads) == 2:
            tidy(self.writer, heads, tests)
        return arrives

    def _arms(self, branch: Branch, to: object) -> list[tuple[Number, Block]]:
        """The arms in the order of the source."""
        arms = zip(branch.outcomes, branch.blocks, strict=True)
        if to is None:
            return sorted(arms, key=arm_order)
        return sorted(arms, key=lambda arm: (to in self.paths.leading(arm[1]), not arm[0]))

    # -- joins ----------------------------------------------------------------------------------

    def _join(self, join: Join, to: object) -> bool:
        """An ``if`` whose arms give values to variables, and what follows it."""
        later = set(self._count_uses(join.after))
        later.update(*(self.held[label] for label in self.paths.leading(join.after)))
        self.held[join.label] = later
        texts = (self.shown[value] for value in later if value in self.shown)
        waits = {name for text in texts if not text.bound for name in text.reads}
        for parameter in join.parameters:
            self.places[parameter] = name = self._place_behind(join, parameter, later, waits)
            self.names.wake(name)
        before = self._state()
        self._resume(before.fork())
        self._enter(join.body)
        self._block(join.body, join.label)
        self.writer.inside("")
        section = self.section
        self._resume(before)
        self.group, self.section = (), section
        for parameter in join.parameters:
            self._own(parameter, self.places[parameter])
            if parameter in self.anchors:
                self.names.reserved.add(self.places[parameter])
            if parameter.type.may_be_python:
                self.python_numbers.add(parameter)
        self._enter(join.after)
        self._forget_unread()
        return self._block(join.after, to)

    def _place_behind(
        self, join: Join, parameter: Value, later: Set[Value], waits: Set[str]
    ) -> str:
        """The variable of a join's parameter: that of an argument, where nobody reads it `later`.

        Expressions that are read later read the variables that `waits` has.
        """
        taken = {self.places[p] for p in join.parameters if p in self.places}
        for name in self._next_places(parameter):  # it is handed on
            if name not in taken and self._may_be_bound(name):
                return name
        given = self.graph.given[parameter]
        held = {value: None for value in (*given, *self.owner.values())}
        for value in held:
            shown = self.shown.get(value)
            whole = value in self.graph.inputs and value.type.shape  # it tells lengths
            if shown is None or value in later or whole:
                continue
            name = shown.fragment.text
            free = name not in taken and name not in waits
            if free and self._is_named_as(parameter, value, shown):
                return name
        return self.names.wish(self._stem(parameter, given[0]), self._waits(frozenset()))

    def _forget_unread(self) -> None:
        """What is not read any more need not be there."""
        self.owner = {
            name: value
            for name, value in self.owner.items()
            if self.left.get(value, 0) > 0 or name in self.names.reserved
        }

    # -- loops ----------------------------------------------------------------------------------

    def _loop(self, loop: Loop, to: object) -> bool:
        """A ``for`` or ``while``, and what follows it."""
        shown = [self._take(argument) for argument in loop.arguments]
        counted, reads = self._range(loop)
        self._begin(loop, shown, reads)
        turns = Turns(loop, self._held_by(loop))
        self.held[loop.label] = turns.held
        before = self._state()
        given = dict(self.lengths.given), dict(self.lengths.before)
        self._resume(before.fork())
        self._enter(loop.turn)
        self._head(loop, counted, reads)
        head = len(self.writer.lines) - 1
        self.around.append(turns)
        self.writer.depth += 1
        ended = self._turn(turns, head)
        if all(line.lstrip().startswith("#") for line in self.writer.lines[head + 1 :]):
            self.writer.line("pass")
        self.writer.inside("")
        self.writer.depth -= 1
        self.around.pop()
        if loop.counter:
            self.lengths.given, self.lengths.before = given
            ended = loop.after or Unseen((), origin=loop.origin), before
        return self._follow(turns, ended, to)

    def _head(self, loop: Loop, counted: str, reads: frozenset[str]) -> None:
        """Writes the line that the loop begins with."""
        line = "while True:"
        rows = rows_read(self.graph, loop, self.uses) if self.target.rows else ()
        if rows:
            line = self._over_rows(loop, rows)
        elif loop.counter:
            index, name = loop.counter.index, "_"
            if self.uses.get(index, 0) > 0:
                places = (self.places[parameter] for parameter in loop.parameters)
                name = self.names.wish(index.origin.name or "i", self._waits(reads.union(places)))
            line = f"for {name} in {counted}:"
            self._own(index, name)
            self.python_numbers.add(index)
            if (told := loop.counter.length) is not None:
                self.lengths.given[told.symbol] = self._length_told(told, name)
                self.lengths.before[told.symbol] = frozenset(v for v, _ in self._arrays())
        origin = loop.origin
        last = loop.turn.nodes[-1] if loop.turn.nodes else None
        if isinstance(last, Branch) and not loop.counter:
            origin = last.origin if last.origin.line else origin
        self._statement([line], origin)
        self.writer.inside("")

    def _over_rows(self, loop: Loop, rows: Sequence[Call]) -> str:
        """The head of a loop that goes over rows, which are read there and not in its turns."""
        arrays = [self._take(call.operands[0]) for call in rows]
        keep = {name for shown in arrays for name in shown.reads}
        keep.update(self.places[parameter] for parameter in loop.parameters)
        names: list[str] = []
        for call, shown in zip(rows, arrays, strict=True):
            result = call.results[0]
            stem = stem_of(call, result)
            name = self._name(result, call.op, stem, self._spelling(call), frozenset(keep))
            shares = frozenset() if call.shown is None else shown.reads
            self._own(result, name, shares)
            if result.type.may_be_python:
                self.python_numbers.add(result)
            self.written_in_heads.add(call)
            names.append(name)
            keep.add(name)
        first = self.literals[loop.counter.start] if loop.counter else 0
        behind = f"[{first}:]" if first else ""
        texts = [f"{shown.fragment.at(ATOM)}{behind}" for shown in arrays]
        over = f"zip({', '.join(texts)})" if len(texts) > 1 else texts[0]
        return f"for {', '.join(names)} in {over}:"

    def _length_told(self, told: CountedLength, name: str) -> Fragment:
        """The length that the number of a turn tells."""
        factor = abs(told.times)
        times = Fragment(name) if factor == 1 else Fragment(f"{factor} * {name}", PRODUCT)
        if told.times > 0 and told.plus == 0:
            return times
        plus = self.lengths.size(told.plus)[0]
        if told.times > 0:
            return Fragment(f"{times.text} + {plus.at(PRODUCT)}", SUM)
        return Fragment(f"{plus.at(SUM)} - {times.text}", SUM)

    def _range(self, loop: Loop) -> tuple[str, frozenset[str]]:
        """What the index runs through, and the variables that its source reads."""
        if loop.counter is None:
            return "", frozenset()
        start, stop = self._take(loop.counter.start), self._take(loop.counter.stop)
        text = range_text(start.fragment, stop.fragment, loop.counter.step)
        return text, start.reads | stop.reads

    def _held_by(self, loop: Loop) -> set[Value]:
        """What the turns of a loop leave alone."""
        read = {value for value, count in self.left.items() if count > 0 and value in self.shown}
        held = read.difference(loop.parameters)
        places = {self.places[parameter] for parameter in loop.parameters}
        stays = places | self.names.reserved
        self.owner = {
            name: value for name, value in self.owner.items() if value in held or name in stays
        }
        return held | {loop.counter.index} if loop.counter else held

    def _begin(self, loop: Loop, shown: Sequence[Shown], reads: frozenset[str]) -> None:
        """Gives each parameter its variable, and that its first value.

        The variable of an argument that nobody else reads becomes the parameter's. `reads` are
        variables that the loop's first line reads.
        """
        places: dict[Value, str] = {}
        given = list(zip(loop.parameters, loop.arguments, shown, strict=True))
        for parameter, argument, text in given:  # first those that take a variable
            name = text.fragment.text
            if name not in places.values() and self._becomes(parameter, argument, text):
                places[parameter] = name
                self.names.wake(name)
        moves = []
        for parameter, argument, text in given:
            if parameter not in places:
                stem = self._stem(parameter, argument)
                name = places[parameter] = self.names.wish(stem, self._waits(reads))
                moves.append(self._move(name, parameter, argument, text, loop.origin))
        self._write_moves(moves)
        for argument in {*loop.arguments}.intersection(self.graph.inputs):
            if self.shown[argument].fragment.text in places.values():
                del self.shown[argument]  # nobody asks it for lengths any more
        for parameter, name in places.items():
            self.places[parameter] = name
            self._own(parameter, name)
            if parameter in self.anchors:
                self.names.reserved.add(name)
            if parameter.type.may_be_python:
                self.python_numbers.add(parameter)

    def _stem(self, parameter: Value, argument: Value) -> str:
        """What the variable of a parameter is called."""
        values = chain(self.paths.held_by(parameter), (argument,))
        names = (value.origin.name or self.wish.get(value) for value in values)
        return next(filter(None, names), "value")

    def _becomes(self, parameter: Value, argument: Value, shown: Shown) -> bool:
        """Whether the variable of an argument may become a parameter's."""
        unread = self.left.get(argument, 0) <= 0 and self._may_be_bound(shown.fragment.text)
        return unread and self._is_named_as(parameter, argument, shown)

    def _is_named_as(self, parameter: Value, argument: Value, shown: Shown) -> bool:
        """Whether the variable of an argument is called as a parameter, and may hold it."""
        name = shown.fragment.text
        mine = self.owner.get(name) is argument or argument in self.graph.inputs
        return (
            shown.bound
            and name.isidentifier()
            and mine
            and argument not in self.anchors
            and not self._needs_type(parameter, argument)
            and name.startswith(stem := self._stem(parameter, argument))
            and NUMBER.fullmatch(name, len(stem)) is not None
        )

    def _needs_type(self, parameter: Value, argument: Value) -> bool:
        """Whether a number is given to a parameter of another type, or without a dtype."""
        if parameter.type.weak:
            return argument.type.dtype != parameter.type.dtype
        if parameter.type.either:
            return kind(argument.type.dtype) != kind(parameter.type.dtype)
        if parameter.type.dtype == "bool" and self._only_decides(parameter):
            return False
        return argument in self.python_numbers

    def _only_decides(self, value: Value) -> bool:
        """Whether nothing is done with a value but to branch on it or to choose by it."""
        waiting, seen = [value], {value}
        while waiting:
            value = waiting.pop()
            users = self.graph.users.get(value, ())
            for node in users:
                if isinstance(node, Call):
                    if value in node.operands[1:] or self._spelling(node).text != CHOICE:
                        return False
                elif not isinstance(node, Branch | Again | Loop):
                    return False
            if value in self.returned:
                return False
            new = [p for p in self.paths.handed_to(value) if p not in seen]
            seen.update(new)
            waiting += new
        return True

    def _move(
        self, name: str, parameter: Value, argument: Value, shown: Shown, origin: Origin
    ) -> Move:
        """An argument that gets into its parameter's variable."""
        fragment = shown.fragment
        if self._needs_type(parameter, argument):
            fragment = self._typed(parameter.type, fragment)
            if parameter.type.weak:
                fragment = self._of_kind(parameter, argument, shown)
        reads = frozenset({shown.fragment.text}) if shown.bound else shown.reads
        computed = not shown.bound or argument in self.literals
        here = argument.origin if computed and argument.origin.line else origin
        return Move(name, fragment.text, reads, here)

    def _of_kind(self, parameter: Value, argument: Value, shown: Shown) -> Fragment:
        """A Python number of a parameter's kind."""
        number = self.literals.get(argument)
        wide = kind(parameter.type.dtype)
        if number is None:
            return Fragment(f"{wide}({shown.fragment.text})")
        return literal(complex(number) if wide == "complex" else float(number.real), self.target)

    def _write_moves(self, moves: Sequence[Move]) -> None:
        for several in in_order(moves):
            names = ", ".join(move.name for move in several)
            texts = ", ".join(move.text for move in several)
            self._statement([f"{names} = {texts}"], several[0].origin)

    def _turn(self, turns: Turns, head: int) -> tuple[Block, State] | None:
        """The lines of a turn; where the first line tests something, what follows when it fails."""
        loop, block = turns.loop, turns.loop.turn
        test = self._test(loop)
        if test is None:
            self._plan(turns, None)
            self._block(block, loop.label)
            return None
        for node in block.nodes[:-1]:
            self._node(node)
        if len(self.writer.lines) > head + 1:  # something stands before the test
            self._plan(turns, None)
            self._branch(test, loop.label)
            return None
        at = self._goes_on_at(loop, test)[0]
        look = Check(test.operand, test.look, test.outcomes[at], test.origin)
        text, _ = condition(look, self._take(test.operand).fragment, self.target)
        self.writer.lines[head] = self.writer.lines[head].replace("True", text)
        ended = test.blocks[1 - at], self._state().fork()
        self._plan(turns, ended[0])
        self._enter(test.blocks[at])
        self._block(test.blocks[at], loop.label)
        return ended

    def _test(self, loop: Loop) -> Branch | None:
        """What a loop without a counter may test in its first line."""
        last = loop.turn.nodes[-1] if loop.turn.nodes else None
        if loop.counter or not isinstance(last, Branch) or not last.complete:
            return None
        return last if len(self._goes_on_at(loop, last)) == 1 else None

    def _goes_on_at(self, loop: Loop, branch: Branch) -> list[int]:
        """The positions of the blocks from which a path begins the next turn."""
        blocks = enumerate(branch.blocks)
        return [i for i, block in blocks if loop.label in self.paths.leading(block)]

    def _plan(self, turns: Turns, ended: Block | None) -> None:
        """Decides what is written after the loop of what leaves it by a break.

        `ended` is the block that follows the test in its first line. What ends in a return may
        stand where it leaves.
        """
        paths, loop = self.paths, turns.loop
        leaving = [block for block in paths.leaving(loop) if block is not ended]
        self._merge(turns, ended or loop.after, leaving)
        if not paths.beyond(loop.turn, [ended, *turns.merged]) - {loop.label} and turns.merged:
            return
        turns.merged = {}
        going = [block for block in leaving if paths.leading(block)]
        if loop.counter or ended:
            sunk = going if len(going) == 1 and not _only_moves(going[0]) else []
        else:
            sunk = leaving if len(leaving) == 1 else going if len(going) == 1 else []
        beyond = paths.beyond(loop.turn, [ended, *sunk]) - {loop.label}
        if sunk and beyond:
            sunk, beyond = [], paths.beyond(loop.turn, [ended]) - {loop.label}
        turns.sunk = sunk[0] if sunk else None
        turns.beyond = tuple(label for label in self.held if label in beyond)
        if len(turns.beyond) > 1:
            turns.flag = self._named("leave")

    def _merge(self, turns: Turns, ended: Block | None, leaving: Sequence[Block]) -> None:
        """Finds what leaves a loop to do the same as what follows its last turn."""
        parameters = turns.loop.parameters
        if ended is None or self.anchors.intersection(parameters):
            return
        for block in leaving:
            instance = Instance(self.graph, parameters, turns.held)
            if instance.of(ended, block):
                turns.merged[block] = instance.given

    def _follow(self, turns: Turns, ended: tuple[Block, State] | None, to: object) -> bool:
        """What follows a loop; `ended` is what does so where the loop comes to its end."""
        broken = turns.sunk is not None or turns.beyond
        if ended and not broken:
            self._resume(ended[1])
            self.group = ()
            self._enter(ended[0])
            if turns.merged:
                self._forget_unread()
            return self._block(ended[0], to)
        arrives = False
        if ended:
            meet = turns.sunk is None and turns.beyond == (to,)
            self.writer.line("else:", turns.loop.origin)
            at = len(self.writer.lines)
            arrives = self._arm(ended[0], to if meet else None, ended[1])
            if len(self.writer.lines) == at:
                self.writer.remove(at - 1)
        if turns.sunk:
            assert turns.left
            self._resume(turns.left)
            self.group = ()
            return self._block(turns.sunk, to)
        labels = sorted(turns.beyond, key=lambda label: label == to)
        for label in labels[:-1]:
            self.writer.line(f"if {turns.flag} == {turns.beyond.index(label)}:")
            self.writer.depth += 1
            self._go(label, None)
            self.writer.depth -= 1
        return self._go(labels[-1], to) if labels else arrives

    def _again(self, again: Again, to: object) -> bool:
        """Gives the parameters of a loop or join their values, and goes on there."""
        head, origin = self.paths.heads[again.label], again.origin
        if isinstance(head, Join) and self.standing.line and self.standing.section == self.section:
            origin = self.standing  # of the arm's last line
        self._give(dict(zip(head.parameters, again.arguments, strict=True)), origin)
        if isinstance(head, Loop):
            self._drop_lists(head)
        return self._go(again.label, to)

    def _drop_lists(self, loop: Loop) -> None:
        """Deletes the lists of arrays that a turn made for itself, before the next makes others."""
        nodes = [*walk(loop.turn.nodes)]
        holding = [n for n in nodes if isinstance(n, Call) and Trait.HOLDS in n.op.traits]
        given = {n: n.operands[Trait.UPDATE in n.op.traits :] for n in holding}
        kept = {v for values in given.values() for v in values}
        made = {n.results[0] for n in holding if any(not v.type.weak for v in given[n])}
        for inner in nodes:
            if isinstance(inner, Loop):
                held = {p: made.isdisjoint(self.graph.given[p]) for p in inner.parameters}
                made.update(p for p, numbers in held.items() if not numbers)
        handed = {self.places[p] for turns in self.around for p in turns.loop.parameters}
        names = [n for n, v in self.owner.items() if v in made - kept and n not in handed]
        if names:
            self.writer.line(f"del {', '.join(names)}")

    def _give(self, given: Mapping[Value, Value], origin: Origin) -> None:
        """Assigns values to parameters, all at once; what is unset is left out, if it may be."""
        given = {p: v for p, v in given.items() if not is_unset(self.graph, v) or self._is_read(p)}
        shown = [self._take(value) for value in given.values()]
        moves = [
            self._move(self.places[parameter], parameter, value, text, origin)
            for (parameter, value), text in zip(given.items(), shown, strict=True)
        ]
        self._write_moves([move for move in moves if move.name != move.text])

    def _is_read(self, parameter: Value) -> bool:
        """Whether what a parameter holds is given to another variable or returned, set or not.

        So it is where it stands in a list, and where an op asks whether it is set.
        """
        waiting, seen = [parameter], {parameter}
        while waiting:
            value = waiting.pop()
            goals = self.paths.handed_to(value)
            if value in self.returned or any(
                self.places.get(goal) != self.places[parameter] for goal in goals
            ):
                return True
            readers = self.graph.users.get(value, ())
            if any(isinstance(n, Call) and n.op.traits & ASKING for n in readers):
                return True
            new = [goal for goal in goals if goal not in seen]
            seen.update(new)
            waiting += new
        return False

    def _go(self, label: object, to: object) -> bool:
        """Goes on with the next turn of a loop around, or behind a join."""
        self.writer.inside("")
        if label == to:
            return True
        if isinstance(self.paths.heads[label], Join):
            raise CodegenError("a path goes on behind a join that its text is not the end of")
        innermost = self.around[-1]
        if innermost.loop.label == label:
            self.writer.line("continue", NOWHERE)
            return False
        if innermost.flag:
            self.writer.line(f"{innermost.flag} = {innermost.beyond.index(label)}", NOWHERE)
        self.writer.line("break", NOWHERE)
        return False


def _only_moves(block: Block) -> bool:
    """Whether a block computes nothing."""
    return isinstance(block.nodes[-1], Again) and all(
        isinstance(node, Constant) for node in block.nodes[:-1]
    )
