"""What a run has read, as the versions that are made of it keep it.

A version keeps no object of a call alive that later calls read anew: where others may stand, what
stood there is let go, and a stand-in tells by its id which it was. What a version reads is taken
over by one that has grown from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tracegrad.world.code_origin import is_renewable
from tracegrad.world.container_copies import Copies
from tracegrad.world.equal_keys import EqualKeys
from tracegrad.world.events import Told
from tracegrad.world.guards import (
    BY_VALUE,
    GIVEN,
    PACKED,
    Guard,
    LetGo,
    Place,
    Seen,
    emptied,
    is_array,
    weakly,
)
from tracegrad.world.number_inputs import Numbers
from tracegrad.world.outside_memory import ReadMemory
from tracegrad.world.tensor_places import Kept

NO_ITEMS: tuple[Any, ...] = ()  # one object, wherever it stands


class Reads(Told):
    """The part of a world that stays, with the guards, once a version is made."""

    guards: dict[tuple[int, str, Any], Guard]
    contents: list[Seen]
    shown: list[Seen]
    copies: Copies
    numbers: Numbers
    identities: bool
    is_by_path: Callable[[Any], bool]
    pin: Callable[[Any], None]
    _sources: dict[int, tuple[Any, str]]
    _by_path: dict[int, Guard]
    _pinned: dict[int, Any]
    _checked: dict[int, Guard]
    _places: list[Guard]
    _read: dict[Place, tuple[Any, Any]]
    _own: dict[int, tuple[type, Any]]
    _scopes: dict[int, Any]
    _arrays: list[Any]
    _in_tuples: set[int]
    _holding: dict[int, list[Guard]] | None

    def _let_go_of_objects(self) -> dict[int, Any]:
        """Objects that are known by their place are the caller's, and so are arrays in them.

        By id: what stands for each of them.
        """
        found: dict[int, Any] = {
            key: emptied(guard.value) if is_array(guard.value) else LetGo()
            for key, guard in self._checked.items()
        }
        for guard in self.guards.values():
            if guard.read == GIVEN and (whose := weakly(guard.value)) is not None:
                found.setdefault(id(guard.value), LetGo(whose))
        for guard in self._places:
            if guard.of is not None and is_array(guard.value):
                found.setdefault(id(guard.value), emptied(guard.value))
        for guard in self.guards.values():
            guard.let_go(found)
        renewed = {id(found[key]): guard for key, guard in self._checked.items()}
        self._checked.clear()  # which the check has, too
        self._checked.update(renewed)
        self._by_path, self._pinned = renewed, {}
        known = [(found[key], text) for key, (_, text) in self._sources.items() if key in found]
        self._sources = {key: x for key, x in self._sources.items() if key not in found}
        self._sources.update({id(x): (x, text) for x, text in known})
        self._holding = None
        return found

    def release(self, holders: Iterable[Any]) -> dict[int, Any]:
        """The run left a program of `holders`: what else it met is not kept alive.

        By id: what stands for objects and arrays of this call in what is kept.
        """
        let_go = self._let_go_of_objects()
        holders = [let_go.get(id(holder), holder) for holder in holders]
        guards = self.guards.values()
        kept = {*map(id, holders), *(id(g.holder) for g in guards), *(id(g.value) for g in guards)}
        self._sources = {key: known for key, known in self._sources.items() if key in kept}
        for known in (
            *(self._read, self._stored, self._originals, self._stand_ins, self._tensors),
            *(self._own, self._again, self._changed, self.copies, self._log, self._arrays),
            *(self._absent, self._scopes),
        ):
            known.clear()
        self.kept, self.own_leaves, self.given, self._places = Kept({}), {}, (), []
        self._equal, self._memory = EqualKeys(), ReadMemory()
        if self.joins is not None:
            self.joins.release()
        self.trace = self.loops = self.lengths = self.joins = None
        self.turn = self.machine.turn = self.machine.inlines = None
        self.machine.runs_again, self.machine.ops = bool, {}
        return let_go

    def absorb(self, before: Reads) -> None:
        """Takes over what runs along other paths of the same function read."""
        known = {key: x for key, x in before._sources.items() if key not in before._by_path}
        self._sources = {**known, **self._sources}
        same_place: dict[int, Guard] = {}  # guards of those runs by id, as they are here
        for (_, *key), guard in before.guards.items():
            of = None if guard.of is None else same_place[id(guard.of)]
            holder = guard.holder if of is None else of.value
            mine = self.guards.get((id(holder), *key))
            if mine is None:
                mine = self.guards[(id(holder), *key)] = self._renewed(before, guard, holder, of)
            elif not before.is_by_path(guard.value):
                self.pin(mine.value)
            same_place[id(guard)] = mine
        self.numbers.absorb(before.numbers, same_place)
        self._in_tuples |= before._in_tuples
        self.identities |= before.identities
        self.asked_mode |= before.asked_mode
        self.absorb_derivatives(before)
        self._holding = None
        for seen_here, seen in ((self.contents, before.contents), (self.shown, before.shown)):
            here = {id(x.array) for x in seen_here}
            seen_here += [x for x in seen if id(x.array) not in here]

    def _renewed(self, before: Reads, guard: Guard, holder: Any, of: Guard | None) -> Guard:
        """A guard of an earlier run; where an array stands, another may stand there now."""
        guard = replace(guard, holder=holder, of=of)
        if is_array(guard.value):
            now = self.numbers.known.get(guard.place) if guard.read == PACKED else None
            now = guard.now() if now is None else now
            if is_array(now):
                self._sources.setdefault(id(now), (now, guard.text))
                self._arrays.append(now)
            return replace(guard, value=now)
        if not before.is_by_path(guard.value):
            self.pin(guard.value)
            return guard
        guard = replace(guard, value=guard.now())
        if id(guard.value) not in self._sources and guard.value is not NO_ITEMS:
            self._by_path[id(guard.value)] = guard
            self._sources[id(guard.value)] = (guard.value, guard.text)
        return guard

    def replaced(self) -> set[Any]:
        """The places that hold another object of the same class now than they held."""
        found = set()
        for guard in self.guards.values():
            known = self.is_by_path(guard.value)
            if guard.read not in BY_VALUE and is_renewable(guard.kind) and not known:
                now = guard.now()
                if now is not guard.value and type(now) is guard.kind:
                    found.add(guard.place)
        return found
