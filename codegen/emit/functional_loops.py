"""Writes the blocks of a graph as a function without side effects: loops and branches as calls.

For JAX. A turn is a function of what it carries on, called by ``jax.lax.fori_loop`` where a counter
alone ends the loop, else by ``jax.lax.while_loop``; the arms of an ``if`` are functions of no
arguments, called by ``jax.lax.cond``. What an arm or a turn reads from around is read there. A loop
that is left inside a turn carries on which way, and what is read behind it. ::

    def turn(t, h):
        return jnp.tanh(w @ h + u @ x[t])

    h = jax.lax.fori_loop(0, 20, turn, h)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from codegen.emit.control_flow import FunctionEmitter
from codegen.emit.loop_analysis import Instance
from codegen.emit.python import HELD
from codegen.emit.statements import Shown, tuple_text
from codegen.emit.target import condition, literal
from codegen.errors import CodegenError
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
    Origin,
    Trait,
    Value,
    ends,
    inner_blocks,
    walk,
)
from codegen.loop_ownership import turns_of
from codegen.passes.fuse import Tiled
from codegen.spelling import PRODUCT, SUM, Fragment
from codegen.types import ZEROS, is_inexact, kind
from codegen.unset import is_unset

AROUND = """

{most} = 64


def {name}({given}):
    global {most}
    while True:
        outputs, turns = {whole}({names})
        if turns <= {most}:
            return outputs
        {most} = 2 ** int(turns).bit_length()  # room for so many, from now on
"""
"""The function around one whose loops keep what their turns leave, however many these are."""


@dataclass(eq=False)
class Turn:
    """A loop whose turn is being written, and what it carries on.

    `leaving` are the blocks that follow where it is left inside; those in `merged` do what follows
    the last turn, with these values for the parameters. `kept` are values of the turn that the
    others read, each with its variable.
    """

    loop: Loop
    leaving: tuple[Block, ...] = ()
    merged: dict[Block, Mapping[Value, Value]] = field(default_factory=dict)
    kept: dict[Value, str] = field(default_factory=dict)
    number: str = ""  # the variable that counts turns, where that is carried
    next_number: str = ""
    left: str = ""  # the variable that says whether, and which way, the loop was left
    sound: str = ""  # the variable that says that no look has failed
    reads: frozenset[str] = frozenset()  # the variables that tell how many turns there are

    @property
    def ways(self) -> list[Block]:
        """The blocks that the loop is left for, without those that do what follows it."""
        return [block for block in self.leaving if block not in self.merged]

    @property
    def numbered(self) -> bool:
        """Whether a number says which way the loop was left, and not a bool that it was."""
        return len(self.ways) > 1 or bool(self.ways and self.merged)


class FunctionalEmitter(FunctionEmitter):
    """Writes one function of JAX; see the module's first lines."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.turns: list[Turn] = []  # the loops whose turns are being written
        self.joining: dict[object, int] = {}  # how deep joins are indented, by label
        self.sound: dict[object, str] = {}  # the variables that say that no look in them has failed
        self.outside: frozenset[Value] = frozenset()  # what the function reads from around it
        self.told: tuple[str, ...] = ()  # the looks made around a function that `checks` lacks
        self.looked = looks(self.graph)
        self.branched |= any(isinstance(node, Loop) for node in self.graph.all_nodes)
        self.counts: list[str] = []  # how many turns loops have made that keep what they do
        self.most = ""  # the variable that says how many turns loops have room for

    def function(self, tiled: Tiled | None) -> None:
        """The function; with a second one that calls it where loops need room for their turns."""
        room = self.graph.room
        if room is None:
            super().function(tiled)
            return
        name, frame = self.graph.name, self.graph.frame
        whole, most = self.names.wish(f"{name}_within"), self.names.wish("most_turns")
        self.names.reserved |= {whole, most}
        self.lengths.given[room.length] = Fragment(most)
        keywords = (*frame.captures, most)
        self.graph = self.graph.replace(name=whole, frame=replace(frame, captures=keywords))
        self.most = most
        super().function(tiled)
        names = ", ".join([*frame.parameters, *(f"{n}={n}" for n in keywords)])
        given = ", ".join([*frame.parameters, *(["*", *frame.captures] if frame.captures else [])])
        self.writer.block(
            AROUND.format(name=name, given=given, whole=whole, names=names, most=most)
        )

    def _decorator(self) -> str:
        donated = [f'"{name}"' for name in donated_by(self.graph)]
        if self.most:
            return f'@partial(jax.jit, static_argnames="{self.most}")'
        if donated:
            return f"@partial(jax.jit, donate_argnames={_carried(donated)})"
        return self.target.decorator

    def _returns(self, block: Block) -> str:
        shown = super()._returns(block)
        if self.graph.room is None:
            return shown
        shown = shown if shown.isidentifier() else f"({shown})"
        most = reduce("jnp.maximum({}, {})".format, self.counts) if self.counts else "0"
        return f"{shown}, {most}"

    def _call(self, call: Call) -> None:
        value = call.results[0]
        if Trait.UNSET not in call.op.traits or value in self.returned:
            super()._call(call)
            return
        # An arm is traced whether a path leads there or not: what it computes has its types.
        nan = is_inexact(value.type.dtype) and not value.type.weak
        self.shown[value] = Shown(Fragment(self._nothing(value, nan)), frozenset(), True)

    # -- where paths end --------------------------------------------------------------------------

    def _block(self, block: Block, to: object = None) -> bool:
        if self.turns and block in self.turns[-1].leaving:
            self._leave(block)
            return False
        return super()._block(block, to)

    def _again(self, again: Again, to: object) -> bool:
        head = self.paths.heads[again.label]
        if isinstance(head, Join):
            return self._hand_on(head, again)
        turn = self.turns[-1]
        assert again.label == turn.loop.label
        texts = self._next(dict(zip(turn.loop.parameters, again.arguments, strict=True)))
        left = ["0" if turn.numbered else "False"] if turn.left else []
        number = [turn.next_number] if turn.number else []
        self._carry_on([*number, *left, *texts, *turn.kept.values()], turn)
        return False

    def _leave(self, block: Block) -> None:
        """Ends the turn in which a loop is left, for a block that is written behind it."""
        turn = self.turns[-1]
        merged = turn.merged.get(block)
        parameters = turn.loop.parameters
        texts = self._next({p: p for p in parameters} | dict(merged or {}))
        way = "-1" if turn.numbered else "True"
        if merged is None and turn.numbered:
            way = repr(turn.ways.index(block) + 1)
        kept = [*turn.kept.values()]
        if merged is None:
            read = set(self.graph.reads_in(block))
            kept = [self._take(v).fragment.text if v in read else n for v, n in turn.kept.items()]
        self._carry_on([*([turn.number] if turn.number else []), way, *texts, *kept], turn)

    def _next(self, given: Mapping[Value, Value]) -> list[str]:
        """The expressions for the values that parameters get."""
        texts = []
        for parameter, value in given.items():
            move = self._move(
                self.places[parameter], parameter, value, self._take(value), value.origin
            )
            texts.append(move.text)
        return texts

    def _carry_on(self, texts: list[str], turn: Turn) -> None:
        if turn.sound:
            texts = [*texts, " & ".join(self.checks)]
        self.writer.inside("")
        self.writer.line(f"return {', '.join(texts)}")

    # -- branches ---------------------------------------------------------------------------------

    def _branch(self, branch: Branch, to: object) -> bool:
        """The blocks as functions of no arguments, one of which is called."""
        operand = self._take(branch.operand).fragment
        if branch.complete:
            check = Check(branch.operand, branch.look, True, branch.origin)
            test, _ = condition(check, operand, self.target)
            arms = sorted(zip(branch.outcomes, branch.blocks, strict=True), key=lambda a: not a[0])
            blocks = [block for _, block in arms]
            stems = ["taken", "otherwise"]
        elif branch.origin.section and branch.outcomes == tuple(range(len(branch.outcomes))):
            test, blocks = operand.text, list(branch.blocks)
            stems = [f"way_{i}" for i in range(len(blocks))]
        else:
            raise CodegenError("a look in a loop has outcomes that nobody has seen")
        begin = "return "
        if self.joining.get(to) == self.writer.depth:
            begin = f"{', '.join(self._handed(to))} = "
        self._choose(test, stems, blocks, to, branch, begin)
        return False

    def _choose(
        self,
        test: str,
        stems: Sequence[str],
        blocks: Sequence[Block],
        to: object,
        node: Branch | Loop,
        begin: str = "return ",
    ) -> None:
        """Functions of no arguments for the blocks, and a call of the one that a test names."""
        origin = node.origin
        names = [self._name_beside_variables(stem) for stem in stems]
        for block, name in zip(blocks, names, strict=True):
            self._apart()
            self._statement([f"def {name}():"], origin)
            around, checks, told = self.outside, self.checks, self.told
            self.outside = self._read_from_around(block, ())
            if begin != "return ":  # the function of an arm gives those of its own
                self.checks, self.told = [], (*told, *checks)
            state = self._state().fork()
            state.names.nest()
            self._arm(block, to, state)
            self.outside, self.checks, self.told = around, checks, told
        self.writer.line()
        function = "cond" if len(names) == 2 else "switch"
        shown = ", ".join(names) if len(names) == 2 else f"[{', '.join(names)}]"
        self.writer.line(f"{begin}jax.lax.{function}({test}, {shown})", origin)

    def _read_from_around(self, block: Block, own: Sequence[Value]) -> frozenset[Value]:
        """What a function of a block reads that is not its own: no variable of its own hides it."""
        read = {v for v, count in self._count_uses(block).items() if count and v in self.shown}
        for turn in self.turns:
            read.update(turn.loop.parameters if turn.leaving else ())
        return frozenset((read | self.outside).difference(own))

    def _enter(self, block: Block) -> None:
        """From here on only what the block reads is needed; what is outside stays as it is."""
        self.left = self._count_uses(block)
        for value in self.outside:
            self.left[value] = self.left.get(value, 0) + HELD
        for name, value in self.owner.items():
            if self.left.get(value, 0) <= 0:
                self.names.rest(name)

    def _name_beside_variables(self, stem: str) -> str:
        """A name that no variable has, at rest or not, for a function or what it is given."""
        return self.names.wish(stem, lambda name: name in self.owner)

    def _apart(self) -> None:
        last = self.writer.lines[-1]
        if last and not last.endswith(":"):
            self.writer.line()

    # -- loops ------------------------------------------------------------------------------------

    def _join(self, join: Join, to: object) -> bool:
        """A choice that gives variables their values, and what follows it."""
        if any(True for _ in ends(join.body)):
            raise CodegenError("an arm that returns where others meet has no form in JAX")
        for parameter in join.parameters:
            given = self.graph.given[parameter][0]
            name = self._named(self._stem(parameter, given), self._waits(frozenset()))
            self.places[parameter] = name
        if any(isinstance(node, Check) for node in walk(join.body.nodes)):
            self.sound[join.label] = self._named("sound")
        before, around = self._state(), self.outside
        if self._handed(join.label):
            self.joining[join.label] = self.writer.depth
            self._resume(before.fork())
            read = {v for v, count in self._count_uses(join.after).items() if count}
            self.outside = self.outside | {v for v in read if v in self.shown}
            self._enter(join.body)
            self._block(join.body, join.label)
            self.writer.inside("")
        checks, section = self.checks, self.section
        self._resume(before)
        self.outside, self.section = around, section
        if join.label in self.sound:
            self.checks = [*checks, self.sound[join.label]]
            self.names.reserved.update(self.checks)
        self.group = ()
        for parameter in join.parameters:
            self._own(parameter, self.places[parameter])
            if parameter in self.anchors:
                self.names.reserved.add(self.places[parameter])
            if parameter.type.weak:
                self.python_numbers.add(parameter)
        self._enter(join.after)
        return self._block(join.after, to)

    def _handed(self, label: object) -> list[str]:
        """The variables of what paths hand on to a join; the last tells how looks have ended."""
        sound = [self.sound[label]] if label in self.sound else []
        return [*(self.places[p] for p in self.paths.heads[label].parameters), *sound]

    def _hand_on(self, join: Join, again: Again) -> bool:
        """Gives the parameters of a join their values; the function of an arm returns them."""
        given = dict(zip(join.parameters, again.arguments, strict=True))
        absent = {p for p, v in given.items() if is_unset(self.graph, v)}
        if self.joining[join.label] == self.writer.depth:
            self._give({p: v for p, v in given.items() if p not in absent}, again.origin)
            if join.label in self.sound:
                self.writer.line(f"{self.sound[join.label]} = jnp.bool_(True)")
            return True
        there = iter(self._next({p: v for p, v in given.items() if p not in absent}))
        texts = [self._nothing(p) if p in absent else next(there) for p in given]
        if join.label in self.sound:
            texts.append(" & ".join(self.checks) or "jnp.bool_(True)")
        self.writer.inside("")
        self.writer.line(f"return {', '.join(texts)}", again.origin)
        return False

    def _loop(self, loop: Loop, to: object) -> bool:
        turn = self._planned(loop)
        shown = [self._take(argument) for argument in loop.arguments]
        counter = loop.counter
        ends = [self._take(v) for v in (counter.start, counter.stop)] if counter else []
        counted = [end.fragment for end in ends]
        turn.reads = frozenset[str]().union(*(end.reads for end in ends))
        first = self._first(turn, shown, counted)
        self._name_what_is_carried(turn, shown)
        before, around, told = self._state(), self.outside, self.told
        carried = self._names(turn)
        if not carried:  # it computes nothing
            return self._behind(turn, to)
        if turn.leaving or not counter or not self._counts(loop):
            called = self._while(turn, carried, counted)
            state = _carried(first)
            call = f"jax.lax.while_loop({called[0]}, {called[1]}, {state})"
        else:
            count, name = self._for(turn, carried, counted)
            call = f"jax.lax.fori_loop({count}, {name}, {_carried(first)})"
        self._resume(before)
        self.outside, self.told = around, told
        self.group = _group(loop.origin)
        self.writer.line()
        self._statement([f"{', '.join(carried)} = {call}"], loop.origin)
        return self._behind(turn, to)

    def _planned(self, loop: Loop) -> Turn:
        """How a loop is left, and what it carries on for that."""
        turn = Turn(loop, tuple(self._left_for(loop.turn, frozenset({loop.label}))))
        tested = self._test(loop)
        if tested is not None and self._is_tested_first(loop, tested):
            turn.leaving = ()
        elif loop.counter and loop.after:
            known = {v for v in self.shown if v not in loop.parameters}
            for block in turn.leaving:
                instance = Instance(self.graph, loop.parameters, known)
                if instance.of(loop.after, block):
                    turn.merged[block] = instance.given
        if any(isinstance(node, Check) for node in self._nodes_of_turns(loop)):
            turn.sound = self._named("sound")
        return turn

    def _nodes_of_turns(self, loop: Loop) -> Iterator[Node]:
        """The nodes of the turn that runs, without what follows where the loop is left."""

        def nodes(block: Block) -> Iterator[Node]:
            if loop.label not in self.paths.leading(block) and block is not loop.turn:
                return
            yield from block.nodes
            last = block.nodes[-1] if block.nodes else None
            if isinstance(last, Loop):
                yield from walk(last.turn.nodes)
                if last.after:
                    yield from nodes(last.after)
            elif last is not None:
                for inner in inner_blocks(last):
                    yield from nodes(inner)

        return nodes(loop.turn)

    def _left_for(self, block: Block, labels: frozenset[object]) -> Iterator[Block]:
        """The blocks in turns from which no path begins a next turn of the loops with `labels`."""
        if labels.isdisjoint(self.paths.leading(block)):
            yield block
            return
        last = block.nodes[-1]
        for inner in inner_blocks(last):
            more = {last.label} if isinstance(last, Loop) and inner is last.turn else set()
            yield from self._left_for(inner, labels | more)

    def _is_tested_first(self, loop: Loop, test: Branch) -> bool:
        """Whether the test of a ``while`` may be a function of its own, at little cost."""
        going = test.blocks[self._goes_on_at(loop, test)[0]]
        if any(True for _ in self._left_for(going, frozenset({loop.label}))):
            return False
        calls = [node for node in loop.turn.nodes[:-1] if not isinstance(node, Constant)]
        read = {v for block in test.blocks for v in self.graph.reads_in(block)}
        again = _made_for(calls, read)
        cheap = all(
            isinstance(node, Call)
            and Trait.ELEMENTWISE in node.op.traits
            and not any(v.type.shape for v in node.results)
            for node in again
        )
        return cheap and not any(isinstance(node, Check) for node in calls)

    def _counts(self, loop: Loop) -> bool:
        """Whether the turns can be counted from 0 up."""
        counter = loop.counter
        assert counter is not None
        known = [self.graph.constant(v) is not None for v in (counter.start, counter.stop)]
        return abs(counter.step) == 1 or all(known)

    def _name_what_is_carried(self, turn: Turn, shown: Sequence[Shown]) -> None:
        """Gives all that a turn carries on a variable, which it has behind the loop as well."""
        loop, held = turn.loop, self._waits(turn.reads)
        if loop.counter and (turn.leaving or not self._counts(loop)):
            turn.number = self._named(loop.counter.index.origin.name or "i", held)
        if turn.leaving:
            turn.left = self._named("left", held)
        places: dict[Value, str] = {}
        given = list(zip(loop.parameters, loop.arguments, shown, strict=True))
        for parameter, argument, text in given:  # first those that take a variable
            name = text.fragment.text
            taken = name in places.values() or name in turn.reads
            if not taken and self._becomes(parameter, argument, text):
                places[parameter] = name
                self.names.wake(name)
        for parameter, argument, _ in given:
            if parameter not in places:
                places[parameter] = self.names.wish(self._stem(parameter, argument), held)
        for argument in {*loop.arguments}.intersection(self.graph.inputs):
            if self.shown[argument].fragment.text in places.values():
                del self.shown[argument]  # nobody asks it for lengths any more
        for parameter, name in places.items():
            self.places[parameter] = name
            self._own(parameter, name)
            self.names.wake(name)
            if parameter in self.anchors:
                self.names.reserved.add(name)
            if parameter.type.weak:
                self.python_numbers.add(parameter)
        for value in turn.kept:
            turn.kept[value] = self._named(value.origin.name or "kept", held)

    def _names(self, turn: Turn) -> list[str]:
        """The variables that a turn carries on."""
        names = [turn.number, turn.left, *(self.places[p] for p in turn.loop.parameters)]
        return [name for name in (*names, *turn.kept.values(), turn.sound) if name]

    def _first(self, turn: Turn, shown: Sequence[Shown], counted: Sequence[Fragment]) -> list[str]:
        """What the first turn is given."""
        loop, texts = turn.loop, list[str]()
        for value in self._kept(turn):
            turn.kept[value] = ""
        if loop.counter and (turn.leaving or not self._counts(loop)):
            texts.append(counted[0].text)
        if turn.leaving:
            texts.append("0" if turn.numbered else "False")
        for parameter, argument, text in zip(loop.parameters, loop.arguments, shown, strict=True):
            self.places.setdefault(parameter, "")
            texts.append(self._move("", parameter, argument, text, loop.origin).text)
        texts += map(self._nothing, turn.kept)
        return [*texts, "True"] if turn.sound else texts

    def _kept(self, turn: Turn) -> list[Value]:
        """What the blocks that a loop is left for read of its turn."""
        loop, found = turn.loop, dict[Value, None]()
        for block in turn.ways:
            made = {r for node in walk(block.nodes) for r in node.results}
            for value in self.graph.reads_in(block):
                own = loop.label in turns_of(self.graph).get(value, ())
                given = value in loop.parameters or self.graph.constant(value) is not None
                if own and not given and value not in made:
                    found[value] = None
        if loop.counter:
            found.pop(loop.counter.index, None)
        return list(found)

    def _nothing(self, value: Value, nan: bool = False) -> str:
        """A value of this type that nobody reads."""
        type_ = value.type
        if type_.weak:
            return literal(ZEROS[kind(type_.dtype)], self.target).text
        shape, dtype = self._attribute(type_.shape)[0], self._attribute(type_.dtype)[0]
        if nan:
            return f"jnp.full({shape.text}, jnp.nan, dtype={dtype.text})"
        return f"jnp.zeros({shape.text}, dtype={dtype.text})"

    def _of_kind(self, parameter: Value, argument: Value, shown: Shown) -> Fragment:
        """A Python number of a parameter's kind; JAX's own has no conversion by name."""
        if argument in self.literals:
            return super()._of_kind(parameter, argument, shown)
        one = "1.0" if kind(parameter.type.dtype) == "float" else "(1.0 + 0.0j)"
        return Fragment(f"{shown.fragment.at(PRODUCT)} * {one}", PRODUCT)

    # -- turns ------------------------------------------------------------------------------------

    def _function(self, turn: Turn, name: str, carried: Sequence[str], index: str = "") -> None:
        """The head of a function of what is carried on."""
        self._apart()
        origin = turn.loop.origin
        given = carried[0] if len(carried) == 1 else self._name_beside_variables("carry")
        self._statement([f"def {name}({index}{given}):"], origin)
        self.writer.depth += 1
        if len(carried) > 1:
            self.names.rest(given)
            self.writer.line(f"{', '.join(carried)} = {given}", origin)

    def _begin_turn(self, turn: Turn) -> None:
        loop = turn.loop
        self._resume(self._state().fork())
        self.names.nest(self._names(turn))
        self.turns.append(turn)
        self.checks = [turn.sound] if turn.sound else []
        own = () if turn.leaving else loop.parameters
        self.outside = self._read_from_around(loop.turn, own)
        self.outside |= {self.owner[name] for name in turn.reads if name in self.owner}
        self._enter(loop.turn)
        for name in turn.reads:  # by the loop's bounds, which stand in the turn
            self.names.wake(name)

    def _end_turn(self) -> None:
        self.turns.pop()
        self.writer.inside("")
        self.writer.depth -= 1

    def _for(
        self, turn: Turn, carried: Sequence[str], counted: Sequence[Fragment]
    ) -> tuple[str, str]:
        """The function of a turn of a counted loop; the bounds of its number, and its name."""
        loop, counter = turn.loop, turn.loop.counter
        assert counter is not None
        start, stop = counted
        name = self._name_beside_variables("turn" if not loop.origin.section else "turn_back")
        self.told += (*self.checks,)
        self._begin_turn(turn)
        held = self._waits(turn.reads | {*carried})  # read in the turn or not
        index = self.names.wish(counter.index.origin.name or "i", held)
        self._own(counter.index, index)
        self.left[counter.index] = self.left.get(counter.index, 0) + HELD
        self.names.wake(index)
        self.python_numbers.add(counter.index)
        bounds, first = f"{start.text}, {stop.text}", ""
        parameter = index
        if counter.step != 1:
            parameter = self._named("k", held)
            bounds, first = self._counted_up(start, stop, counter.step, parameter)
        self._function(turn, name, carried, f"{parameter}, ")
        if first and self.uses.get(counter.index, 0) > 0:
            self.writer.line(f"{index} = {first}", loop.origin)
        self._block(loop.turn)
        self._end_turn()
        return bounds, name

    def _counted_up(self, start: Fragment, stop: Fragment, step: int, name: str) -> tuple[str, str]:
        """Bounds of a number that counts up, and the index at that number."""
        a, b = start.text, stop.text
        first, last = _number(a), _number(b)
        if first is not None and last is not None:
            count = repr(len(range(first, last, step)))
        elif step == -1 and last is not None:
            count = _plus(start, -last)
        elif step == -1 and stop.precedence == SUM and b.endswith(" - 1"):
            above = _plus(start, 1) if first is None else repr(first + 1)
            count = f"{above} - {Fragment(b.removesuffix(' - 1'), SUM).at(SUM + 1)}"
        else:
            count = f"{start.at(SUM)} - {stop.at(SUM + 1)}"
        if step == -1:
            return f"0, {count}", f"{start.at(SUM)} - {name}"
        passed = f"{abs(step)} * {name}"
        if first == 0 and step > 0:
            return f"0, {count}", passed
        return f"0, {count}", f"{start.at(SUM)} {'-' if step < 0 else '+'} {passed}"

    def _while(
        self, turn: Turn, carried: Sequence[str], counted: Sequence[Fragment]
    ) -> tuple[str, str]:
        """The functions that say whether a loop goes on, and what a turn does; their names.

        It goes on while no look has failed: what nobody has seen may be what ends it.
        """
        loop, counter = turn.loop, turn.loop.counter
        sound = [*self.told, *self.checks, *([turn.sound] if turn.sound else [])]
        self.told = ()  # they hold in turns
        names = [self._name_beside_variables(stem) for stem in ("going", "turn")]
        before, around = self._state(), self.outside
        test = None if turn.leaving or counter else self._test(loop)
        self._begin_turn(turn)
        if test is not None:
            at = self._goes_on_at(loop, test)[0]
            self._function(turn, names[0], carried)
            needed = _made_for(loop.turn.nodes[:-1], {test.operand})
            self.left = self._count_uses(Block((*needed, Check(test.operand, test.look, True))))
            for node in needed:
                self._node(node)
            look = Check(test.operand, test.look, test.outcomes[at], test.origin)
            text, _ = condition(look, self._take(test.operand).fragment, self.target)
            self.writer.line(f"return {_all_of([text, *sound])}", test.origin)
            self._end_turn()
            self._resume(before)
            self.outside = around
            self._begin_turn(turn)
            self.group = _group(loop.origin)
            self._function(turn, names[1], carried)
            going = test.blocks[at]
            needed = _made_for(loop.turn.nodes[:-1], set(self.graph.reads_in(going)))
            body = Block((*needed, *going.nodes), going.outputs)
            self._enter(body)
            for node in needed:
                self._node(node)
            self._block(going)
            self._end_turn()
            return names[0], names[1]
        self._function(turn, names[0], carried)
        tests = []
        if counter:
            sign = "<" if counter.step > 0 else ">"
            tests.append(f"{turn.number} {sign} {counted[1].text}")
        if turn.left:
            tests.append(f"{turn.left} == 0" if turn.numbered else f"~{turn.left}")
        self.writer.line(f"return {_all_of([*tests, *sound])}", loop.origin)
        self.writer.depth -= 1
        self.group = _group(loop.origin)
        self._function(turn, names[1], carried)
        if counter:
            self._own(counter.index, turn.number)
            self.left[counter.index] = self.left.get(counter.index, 0) + HELD
            self.names.wake(turn.number)
            self.python_numbers.add(counter.index)
            turn.next_number = _plus(Fragment(turn.number), counter.step)
        self._block(loop.turn)
        self._end_turn()
        return names[0], names[1]

    # -- what follows -----------------------------------------------------------------------------

    def _behind(self, turn: Turn, to: object) -> bool:
        """What follows a loop, where it came to its end or was left."""
        loop, counter = turn.loop, turn.loop.counter
        for parameter in loop.parameters:
            self._own(parameter, self.places[parameter])
        for value, name in turn.kept.items():
            self._own(value, name)
        if counter and turn.number:
            self._own(counter.index, turn.number)
            self.python_numbers.add(counter.index)
        for node in walk(loop.turn.nodes):
            if isinstance(node, Constant) and node.result not in self.shown:
                self._node(node)  # a number is written wherever it is read
        if turn.sound:
            self.checks.append(turn.sound)
        self.group = ()
        room = self.graph.room
        counts = [self.places[p] for p in loop.parameters if room and p in room.counts]
        if counts and self.turns:
            raise CodegenError("nobody knows how many turns a loop in a loop has")
        self.counts += counts
        for parameter in loop.parameters:
            if self.places[parameter] in counts:
                self.names.reserved.add(self.places[parameter])
        arrives = self._after(turn, to)
        del self.counts[len(self.counts) - len(counts) :]
        return arrives

    def _after(self, turn: Turn, to: object) -> bool:
        """The blocks behind a loop."""
        loop, counter, blocks = turn.loop, turn.loop.counter, turn.ways
        test = None if turn.leaving or counter else self._test(loop)
        if test is not None:
            at = self._goes_on_at(loop, test)[0]
            ended = test.blocks[1 - at]
            needed = _made_for(loop.turn.nodes[:-1], set(self.graph.reads_in(ended)))
            self._enter(Block((*needed, *ended.nodes), ended.outputs))
            for node in needed:
                self._node(node)
            return self._block(ended, to)
        if counter and loop.after is None:
            self.checks.append(turn.left if len(blocks) < 2 else f"({turn.left} != 0)")
        elif loop.after is not None:
            blocks = [loop.after, *blocks]
        if len(blocks) == 1:
            self._enter(blocks[0])
            return self._block(blocks[0], to)
        if len(blocks) == 2 and not turn.numbered:
            self._choose(turn.left, ["left_early", "at_the_end"], blocks[::-1], to, loop)
            return False
        way = turn.left
        if (counter and loop.after is None) or not counter:
            way = f"{turn.left} - 1"
        elif turn.merged:
            way = f"jnp.maximum({turn.left}, 0)"
        if len(blocks) == 2:
            way = f"{way} == 0"
        self._choose(way, [f"way_{i}" for i in range(len(blocks))], blocks, to, loop)
        return False


def looks(graph: Graph) -> bool:
    """Whether the function returns how looks have ended, beside the result."""
    return any(
        isinstance(node, Check)
        or (isinstance(node, Loop) and bool(node.counter and not node.after))
        for node in graph.all_nodes
    )


def donated_by(graph: Graph) -> tuple[str, ...]:
    """The parameters that the function is given for good: none where a call may be made again."""
    return () if graph.room or looks(graph) else graph.frame.donated


def _group(origin: Origin) -> tuple[object, ...]:
    """What a comment with the line of an origin stands over."""
    return (origin.section, origin.file, origin.line)


def _carried(texts: Sequence[str]) -> str:
    """What is carried on: one value by itself, several as a tuple."""
    return texts[0] if len(texts) == 1 else tuple_text(list(texts))


def _all_of(tests: Sequence[str]) -> str:
    """The source of a test that is true where all of these are."""
    several = [f"({t})" if " " in t else t for t in tests] if len(tests) > 1 else tests
    return " & ".join(several) or "True"


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None


def _plus(fragment: Fragment, number: int) -> str:
    """The source of a sum with a number."""
    text = fragment.text
    if number == 1 and text.endswith(" - 1"):
        return text.removesuffix(" - 1")
    if not number:
        return text
    return f"{fragment.at(SUM)} {'-' if number < 0 else '+'} {abs(number)}"


def _made_for(nodes: Sequence[Node], wanted: set[Value]) -> list[Node]:
    """Those of some straight nodes that the wanted values are computed by."""
    found, wanted = [], set(wanted)
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.results):
            found.append(node)
            wanted.update(node.operands)
    return found[::-1]
