"""Numbers of the program that tell whether there is a cotangent.

"No cotangent" is not zero. Where some ways through a turn give a value a cotangent and others give
it none, a loop that goes back carries a number that tells whether there is one, and what reads the
cotangent is written for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias

from codegen.ir import Block, Branch, Builder, Origin, Value
from codegen.spelling import Subscript
from tracegrad.differentiation.loops.list_reads import Cotangents
from tracegrad.differentiation.loops.residual_reads import Number
from tracegrad.differentiation.loops.residuals import Facts, Unrollable
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.differentiation.ways_back import BOOL
from tracegrad.ops.elementwise.ufuncs import where
from tracegrad.ops.python_lists import unset_like
from tracegrad.ops.shape.creation import full_of, zeros_of
from tracegrad.ops.shape.indexing import element

MOST_AFTER = 8  # sets of values that may have a cotangent behind a loop
MOST_APART = 3  # arguments that may have no cotangent, where that is to be seen
MOST_LACKING = 4  # sets of parameters that may have none in a turn
FEW_TURNS = 2  # that stand by themselves, rather than that all ask what there is
MOST_SETS = 32  # of all that turns may leave a cotangent of

Finish: TypeAlias = "Callable[[Cotangents], Block]"
States: TypeAlias = "Set[frozenset[Value]]"
"""The sets of values that have a cotangent after some number of turns."""


class Telling:
    """What knows whether there are cotangents.

    `teller` are the keys of what tells whether values have one; `tells` are of which they tell it.
    """

    reverse: Reverse
    facts: dict[object, Facts]
    wanted: Sequence[Value]
    zeros: bool  # what stands where no cotangent has flowed; else nothing
    active: set[Value]
    segments: Set[object]  # the loops over segments of others
    empty: set[Value]  # cotangents that are zeros throughout
    teller: dict[Value, Value]
    tells: dict[Value, Value]

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        raise NotImplementedError

    def _named(self, value: Value, ct: Value) -> Origin:
        raise NotImplementedError

    def _flowing(
        self, facts: Facts, turn: int, mine: Cotangents, sure: bool = False
    ) -> list[Cotangents]:
        raise NotImplementedError

    def _is_steady(self, facts: Facts, mine: Cotangents, after: Sequence[Cotangents]) -> bool:
        raise NotImplementedError

    def _require_rows(self, facts: Facts, count: Number, begun: Cotangents) -> None:
        raise NotImplementedError

    def _one_turn(
        self,
        facts: Facts,
        k: Number,
        mine: Cotangents,
        finish: Finish,
        unsure: Sequence[Value] = (),
    ) -> Block:
        raise NotImplementedError

    def _dry(self) -> AbstractContextManager[Builder]:
        raise NotImplementedError

    def _loop_back(
        self,
        facts: Facts,
        count: Number,
        mine: Cotangents,
        cts: Cotangents,
        then: Finish,
        unsure: Sequence[Value] = (),
        states: States = frozenset(),
    ) -> Block:
        raise NotImplementedError

    def _teller(self, value: Value) -> Value:
        """The key of what tells whether a value has a cotangent: a number of the program."""
        if value not in self.teller:
            name = f"has_{value.origin.name or 'value'}_bar"
            self.teller[value] = Value(BOOL, Origin(name, True, section="backward"))
            self.tells[self.teller[value]] = value
        return self.teller[value]

    def _holding(self, holds: bool) -> Value:
        """What tells that there is a cotangent, or that there is none."""
        return self.reverse.builder.constant(holds, BOOL)

    def _begun(self, facts: Facts, mine: Cotangents, after: Sequence[Cotangents]) -> Cotangents:
        """The cotangents that the loop over the turns begins with.

        Sums over turns begin with what changes no sum.
        """
        new = {v: ct for found in after for v, ct in found.items() if v not in mine}
        held = {**mine, **{v: Value(ct.type, ct.origin) for v, ct in new.items()}}
        turns = range(len(facts.turns))
        summed = [found for turn in turns for found in self._flowing(facts, turn, held)]
        of_rows = {v for found in summed for v, ct in found.items() if self._is_of_rows(ct)}
        begun = dict(mine)
        for value, ct in new.items():
            if value in self.lists:
                self.reverse.stage.origin = self._named(value, ct)
                begun[value] = self._nothing(value)
                continue
            begun[value] = self._unchanging(value, ct, value in of_rows)
        return begun

    def _unchanging(self, value: Value, like: Value, of_rows: bool) -> Value:
        """What changes no sum: zeros where rows are added up (as a tape does it), else -0.0."""
        self.reverse.stage.origin = self._named(value, like)
        if of_rows:
            zeros = zeros_of(self.reverse.staged(value))
            self.empty.add(zeros.value)
            return zeros.value  # type: ignore[no-any-return]
        # -0.0 + x is x, 0.0 + -0.0 is not
        none = self.reverse.builder.constant(-0.0, replace(like.type, shape=()))
        given = self.reverse.staged(none)
        return full_of(given, shape=like.type.shape, dtype=like.type.dtype).value  # type: ignore[no-any-return]

    def _telling(self, mine: Cotangents, cts: Cotangents) -> Cotangents:
        """What tells of some cotangents."""
        keys = [self.teller[v] for v in mine if v in self.teller]
        return {key: cts[key] for key in keys if key in cts}

    def _told(self, before: Cotangents, after: Cotangents) -> Cotangents:
        """Cotangents with what tells of them: where one has come to be another, there is one."""
        found = {v: ct for v, ct in after.items() if v not in self.tells}
        for key, met in before.items():
            value = self.tells.get(key)
            if value is not None and value in found:
                same = found[value] is before.get(value)
                found[key] = met if same else self._holding(True)
        return found

    def _returned(self, cts: Cotangents) -> Block:
        """The end of the backward: gradients, and what stands where nothing has flowed."""
        if self.zeros:
            cts = self._settled(cts)
            found = {value: self.reverse.staged(ct) for value, ct in cts.items()}
            return Block((), tuple(self.reverse.gradients(found, self.wanted)))
        unsure = [v for v in self.wanted if v in cts and self._may_lack(v, cts)]
        if len(unsure) > MOST_APART:
            raise Unrollable("which arguments gradients flow to depends on many ways through turns")
        every: States = frozenset(
            frozenset(state) for n in range(len(unsure) + 1) for state in combinations(unsure, n)
        )
        return self._by_state(unsure, every, cts, self._returned_apart)

    def _may_lack(self, value: Value, cts: Cotangents) -> bool:
        """Whether only the run tells if a value has a cotangent."""
        met = cts.get(self.teller[value]) if value in self.teller else None
        return met is not None and self.reverse.builder.constant_of(met) is None

    def _returned_apart(self, cts: Cotangents) -> Block:
        builder = self.reverse.builder
        nothing = {v: Value(replace(v.type, weak=False)) for v in self.wanted}
        gradients = [
            cts[v] if v in cts else unset_like(builder, like, self._named(v, like))
            for v, like in nothing.items()
        ]
        return Block((), tuple(gradients))

    def _settled(self, cts: Cotangents) -> Cotangents:
        """The cotangents at the beginning of the function: zeros where there is none."""
        found = {v: ct for v, ct in cts.items() if v not in self.tells}
        for key, met in cts.items():
            value = self.tells.get(key)
            constant = self.reverse.builder.constant_of(met)
            if value is not None and value in found and constant is None:
                ct = found[value]
                origin, is_number = self._named(value, ct), not ct.type.shape
                self.reverse.stage.origin = origin.named(None) if is_number else origin
                none = self.reverse.builder.constant(0.0, replace(ct.type, shape=(), weak=True))
                given = [self.reverse.staged(v) for v in (met, ct, none)]
                found[value] = where(*given).value
                if is_number:  # np.where gives an array
                    chosen = found[value]
                    call = self.reverse.builder.call
                    (found[value],) = call(element, (chosen,), origin, index=Subscript(()))
        return found

    def _is_put_together(self, value: Value, begun: Value) -> bool:
        """Whether a cotangent is zeros, with those of rows in their places: there always is one."""
        return begun in self.empty and (self.zeros or value not in self.wanted)

    def _maybe(self, facts: Facts, mine: Cotangents, begun: Cotangents) -> list[Value]:
        """What some ways through a turn give a cotangent, and others do not."""
        turns = range(len(facts.turns))
        found: list[Value] = []
        for value in begun:
            if value in mine:
                continue
            if value in self.wanted and self._is_put_together(value, begun[value]):
                continue
            without = {v: ct for v, ct in begun.items() if v is not value}
            after = [x for turn in turns for x in self._flowing(facts, turn, without, sure=True)]
            if any(value not in x for x in after):
                found.append(value)
        return found

    def _reached(
        self, facts: Facts, begun: Cotangents, maybe: Sequence[Value] = ()
    ) -> tuple[Cotangents, States] | None:
        """All that may have a cotangent after some turns, and which of them at once.

        Those that are `maybe` there have one at first, or none. No set has what is wanted. None
        where there are many.
        """
        every = dict(begun)

        def among(cts: Cotangents) -> frozenset[Value]:
            return frozenset(v for v in cts if v not in self.wanted)

        states = dict.fromkeys([among(begun)])
        for value in maybe:
            states.update((state - {value}, None) for state in [*states])
        left = [*states]
        while left:
            state = left.pop()
            mine = {v: every[v] for v in every if v in state or (v in begun and v in self.wanted)}
            for turn in range(len(facts.turns)):
                for found in self._flowing(facts, turn, mine):
                    for v, ct in found.items():
                        every.setdefault(v, Value(ct.type, ct.origin))
                    after = among(found)
                    if after not in states:
                        states[after] = None
                        left.append(after)
            if len(states) > MOST_SETS:
                return None
        return every, states.keys()

    def _after(self, facts: Facts, sure: Cotangents, maybe: Sequence[Value]) -> States:
        """Which of some values may have a cotangent behind a loop at once."""
        if all(v in self.wanted for v in maybe):
            return frozenset()
        found = self._reached(facts, sure)
        if found is None:
            raise Unrollable("which gradients flow differs from turn to turn")
        return found[1]

    def _where_met(
        self, facts: Facts, new: Sequence[Value], states: States, then: Finish
    ) -> Finish:
        """Goes on behind a loop with cotangents that it may not have met, and without them."""
        loop = facts.loop
        given = dict(zip(loop.parameters, loop.arguments, strict=True))
        inner = [v for v in new if v not in self.wanted and given.get(v, v) in self.active]
        states = {state.intersection(inner) for state in states}
        if len(states) > MOST_AFTER:
            raise Unrollable("which gradients flow differs from turn to turn")
        return lambda cts: self._by_state(inner, states, cts, then)

    def _by_state(
        self, unsure: Sequence[Value], states: States, cts: Cotangents, then: Finish
    ) -> Block:
        """A block for each set of the values that may have a cotangent, by what tells of them."""
        for value in unsure:
            key = self.teller[value]
            having = {state for state in states if value in state}
            absent = states - having
            known = {v: ct for v, ct in cts.items() if v is not key}
            without = {v: ct for v, ct in known.items() if v is not value}
            if having and absent:
                break
            cts = known if having else without
        else:
            return then(cts)
        blocks = []
        for some, way in ((having, known), (absent, without)):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = self._by_state(unsure, some, way, then)
                blocks.append(block.with_nodes((*builder.nodes, *block.nodes)))
        origin = replace(cts[key].origin, name=None)
        return Block((Branch(cts[key], "bool", (True, False), tuple(blocks), origin),))

    def _unsure(
        self, facts: Facts, mine: Cotangents, maybe: Sequence[Value] = ()
    ) -> tuple[Cotangents, list[Value], States] | None:
        """All that may have a cotangent in some turn, and the parameters that may have none.

        None where there are many sets of these, or where all would be had after a few turns.
        """
        if facts.loop.label in self.segments:
            return None
        if not (facts.several_ways or maybe or self._parts_inside(facts, mine)):
            return None
        found = self._reached(facts, mine, maybe)
        if found is None:
            return None
        every, states = found
        parameters = [v for v in every if v in facts.own]
        lacking = [v for v in parameters if any(v not in state for state in states)]
        if len({state.intersection(lacking) for state in states}) > MOST_LACKING:
            return None
        return every, lacking, states

    def _parts_inside(self, facts: Facts, mine: Cotangents) -> bool:
        """Whether ways through the turns of inner loops leave other cotangents, turn after turn."""
        return self._parts(facts) and not self._settles(facts, mine, FEW_TURNS)

    def _parts(self, facts: Facts) -> bool:
        """Whether there are several ways through a turn, or through one of a loop in it."""
        inner = [s.loop.label for _, path in facts.turns for s in path if s.loop is not None]
        return facts.several_ways or any(self._parts(self.facts[label]) for label in inner)

    def _settles(self, facts: Facts, mine: Cotangents, turns: int) -> bool:
        """Whether after some turns each leaves cotangents of what has one after it."""
        after = [x for turn in range(len(facts.turns)) for x in self._flowing(facts, turn, mine)]
        if self._is_steady(facts, mine, after):
            return True
        return turns > 0 and all(self._settles(facts, found, turns - 1) for found in after)

    def _some_turns(
        self,
        facts: Facts,
        count: Number,
        every: Cotangents,
        unsure: Sequence[Value],
        states: States,
        cts: Cotangents,
        then: Finish,
    ) -> Block:
        """A loop over all turns, in which parameters may have cotangents or not."""
        mine = {v: ct for v, ct in cts.items() if v in every}
        begun = self._begun(facts, mine, [every])
        maybe = [v for v in every if v not in mine and not self._is_put_together(v, begun[v])]
        told = dict.fromkeys((*unsure, *maybe))
        begun.update((self._teller(v), self._holding(v in mine)) for v in told)
        begun.update(self._telling(mine, cts))
        for state in states:
            gone = {*unsure} - state | {*map(self._teller, unsure)}
            self._require_rows(facts, count, {v: ct for v, ct in begun.items() if v not in gone})
        then = self._where_met(facts, [*told], states, then)
        return self._loop_back(facts, count, begun, cts, then, unsure, states)

    def _turn_of_some(
        self,
        facts: Facts,
        k: Number,
        parameters: Cotangents,
        finish: Finish,
        unsure: Sequence[Value],
        states: States,
    ) -> Block:
        """The block that goes back through a turn, with those cotangents that there are.

        Once, with an ``if`` around what reads one; else once for each set of them.
        """
        if unsure and self._may_be_written_once(facts, k, parameters, unsure):
            return self._one_turn(facts, k, parameters, finish, unsure)
        states = {state.intersection(unsure) for state in states}
        return self._by_state(
            unsure, states, parameters, lambda cts: self._one_turn(facts, k, cts, finish)
        )

    def _may_be_written_once(
        self,
        facts: Facts,
        k: Number,
        parameters: Cotangents,
        unsure: Sequence[Value],
    ) -> bool:
        """Whether nothing is added to a cotangent that may not be there, and all others are there.

        What is there whenever one of two others is seems to be there or not where those are asked
        one by one.
        """
        loop, complete = facts.loop, True
        sure = [v for v in parameters if v not in unsure and v not in self.tells]

        def finish(cts: Cotangents) -> Block:
            nonlocal complete
            complete = complete and all(v in cts for v in sure)
            return Block(())

        for again, _ in facts.turns:
            given = dict(zip(loop.parameters, again.arguments, strict=True))
            counts = Counter(given[p] for p in given if p in parameters)
            outer = {v for v in parameters if v not in facts.own}
            put = [self._put_in(given[p]) for p in given if p in parameters]
            others = {*outer, *(item for item, _ in filter(None, put))}  # that lists are given
            if any(counts[given[v]] > 1 or given[v] in others for v in unsure):
                return False
        try:
            with self._dry():
                self._one_turn(facts, k, parameters, finish, unsure)
        except Unrollable:
            return False
        return complete
