"""Numbers of the program that tell whether there is a cotangent.

"No cotangent" is not zero. Where some ways through a turn give a value a cotangent and others give
it none, a loop that goes back carries a number that tells whether there is one, and what reads the
cotangent is written for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias

from codegen.ir import Block, Branch, Loop, Origin, Value
from tracegrad.differentiation.loops.list_reads import Cotangents, Unrollable
from tracegrad.differentiation.loops.residual_reads import Number
from tracegrad.differentiation.loops.residuals import INT, Facts
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.ops.elementwise.ufuncs import greater, where

MOST_MAYBE = 3  # values to which a gradient may flow, or not
MOST_LACKING = 2  # parameters that may have no cotangent in a turn

Finish: TypeAlias = "Callable[[Cotangents], Block]"


class Telling:
    """What knows whether there are cotangents.

    `teller` are the keys of what tells whether values have one; `tells` are of which they tell it.
    """

    reverse: Reverse
    wanted: Sequence[Value]
    segments: Set[object]  # the loops over segments of others
    empty: set[Value]  # cotangents that are zeros throughout
    teller: dict[Value, Value]
    tells: dict[Value, Value]

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        raise NotImplementedError

    def _number(self, value: int) -> Value:
        raise NotImplementedError

    def _named(self, value: Value, ct: Value) -> Origin:
        raise NotImplementedError

    def _ended(self, node: Branch | Loop) -> Block:
        raise NotImplementedError

    def _flowing(
        self, facts: Facts, turn: int, mine: Cotangents, sure: bool = False
    ) -> list[Cotangents]:
        raise NotImplementedError

    def _begun(self, facts: Facts, mine: Cotangents, after: Sequence[Cotangents]) -> Cotangents:
        raise NotImplementedError

    def _require_rows(self, facts: Facts, count: Number, begun: Cotangents) -> None:
        raise NotImplementedError

    def _one_turn(self, facts: Facts, k: Number, mine: Cotangents, finish: Finish) -> Block:
        raise NotImplementedError

    def _loop_back(
        self,
        facts: Facts,
        count: Number,
        mine: Cotangents,
        cts: Cotangents,
        then: Finish,
        unsure: Sequence[Value] = (),
    ) -> Block:
        raise NotImplementedError

    def _teller(self, value: Value) -> Value:
        """The key of what tells whether a value has a cotangent: a number of the program."""
        if value not in self.teller:
            name = f"has_{value.origin.name or 'value'}_bar"
            self.teller[value] = Value(INT, Origin(name, True, section="backward"))
            self.tells[self.teller[value]] = value
        return self.teller[value]

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
                found[key] = met if same else self._number(1)
        return found

    def _settled(self, cts: Cotangents) -> Cotangents:
        """The cotangents at the beginning of the function: zeros where there is none."""
        found = {v: ct for v, ct in cts.items() if v not in self.tells}
        for key, met in cts.items():
            value = self.tells.get(key)
            constant = self.reverse.builder.constant_of(met)
            if value is not None and value in found and constant is None:
                ct = found[value]
                self.reverse.stage.origin = self._named(value, ct)
                none = self.reverse.builder.constant(0.0, replace(ct.type, shape=(), weak=True))
                met = self._call(greater, met, self._number(0))
                given = [self.reverse.staged(v) for v in (met, ct, none)]
                found[value] = where(*given).value
        return found

    def _maybe(self, facts: Facts, mine: Cotangents, begun: Cotangents) -> list[Value]:
        """What some ways through a turn give a cotangent, and others do not."""
        turns = range(len(facts.turns))
        found: list[Value] = []
        for value in begun:
            if value in mine or (begun[value] in self.empty and value in self.wanted):
                continue
            without = {v: ct for v, ct in begun.items() if v is not value}
            after = [x for turn in turns for x in self._flowing(facts, turn, without, sure=True)]
            if any(value not in x for x in after):
                found.append(value)
        return found

    def _where_met(self, new: Sequence[Value], then: Finish) -> Finish:
        """Goes on behind a loop with cotangents that it may not have met, and without them."""
        inner = [v for v in new if v not in self.wanted]

        def finish(cts: Cotangents) -> Block:
            return go(inner, cts)

        def go(left: Sequence[Value], cts: Cotangents) -> Block:
            if not left:
                return then(cts)
            value, key = left[0], self.teller[left[0]]
            ways = [{v: ct for v, ct in cts.items() if v is not key}]
            ways.append({v: ct for v, ct in ways[0].items() if v is not value})
            blocks = []
            for way in ways:
                with self.reverse.stage.apart(self.graph.sizes) as builder:
                    block = go(left[1:], way)
                    blocks.append(replace(block, nodes=(*builder.nodes, *block.nodes)))
            origin = replace(cts[key].origin, name=None)
            return self._ended(Branch(cts[key], "bool", (True, False), tuple(blocks), origin))

        if len(inner) > MOST_MAYBE:
            raise Unrollable("which gradients flow differs from turn to turn")
        return finish

    def _unsure(self, facts: Facts, mine: Cotangents) -> tuple[Cotangents, list[Value]] | None:
        """All that may have a cotangent in some turn, and the parameters that may have none.

        None where these are many, or where all would be had after a few turns.
        """
        if not facts.several_ways or facts.loop.label in self.segments:
            return None
        turns, every = range(len(facts.turns)), dict(mine)
        lacking: dict[Value, None] = {}
        while True:
            known = len(every), len(lacking)
            for missing in (None, *lacking):
                some = {v: ct for v, ct in every.items() if v is not missing}
                for found in [x for turn in turns for x in self._flowing(facts, turn, some)]:
                    for v, ct in found.items():
                        every.setdefault(v, Value(ct.type, ct.origin))
                    lacking.update((v, None) for v in every if v in facts.own and v not in found)
            lacking.update((v, None) for v in every if v in facts.own and v not in mine)
            if len(lacking) > MOST_LACKING:
                return None
            if known == (len(every), len(lacking)):
                return every, [*lacking]

    def _some_turns(
        self,
        facts: Facts,
        count: Number,
        every: Cotangents,
        unsure: Sequence[Value],
        cts: Cotangents,
        then: Finish,
    ) -> Block:
        """A loop over all turns, in which parameters may have cotangents or not."""
        mine = {v: ct for v, ct in cts.items() if v in every}
        begun = self._begun(facts, mine, [every])
        maybe = [v for v in every if v not in mine and begun[v] not in self.empty]
        told = dict.fromkeys((*unsure, *maybe))
        begun.update((self._teller(v), self._number(int(v in mine))) for v in told)
        begun.update(self._telling(mine, cts))
        for several in range(len(unsure) + 1):
            for missing in combinations(unsure, several):
                gone = {*missing, *map(self._teller, unsure)}
                some = {v: ct for v, ct in begun.items() if v not in gone}
                self._require_rows(facts, count, some)
        then = self._where_met([*told], then)
        return self._loop_back(facts, count, begun, cts, then, unsure)

    def _turn_of_some(
        self,
        facts: Facts,
        k: Number,
        parameters: Cotangents,
        finish: Finish,
        unsure: Sequence[Value],
    ) -> Block:
        """The block that goes back through a turn, with those cotangents that there are."""
        if not unsure:
            return self._one_turn(facts, k, parameters, finish)
        value, key = unsure[0], self.teller[unsure[0]]
        ways = [{v: ct for v, ct in parameters.items() if v is not key}]
        ways.append({v: ct for v, ct in ways[0].items() if v is not value})
        blocks = []
        for way in ways:
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = self._turn_of_some(facts, k, way, finish, unsure[1:])
                blocks.append(replace(block, nodes=(*builder.nodes, *block.nodes)))
        origin = replace(parameters[key].origin, name=None)
        return Block((Branch(parameters[key], "bool", (True, False), tuple(blocks), origin),))
