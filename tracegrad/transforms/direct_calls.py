"""What a call does first: the function in the slot of what is called, and the entries of versions.

The general way asks the entries of all versions one after the other. A version that has answered a
few calls gets a function of its own in the slot (`compiled/direct_entry.py`), which hands on what
it does not answer: to the next one, and at last to the general way.

The newest version is asked first. When calls have often been handed on, the versions are put into
another order, by how many calls each has answered since. Who is asked first and answers counts none
of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from inspect import Signature
from operator import is_not
from typing import Any, NamedTuple

from tracegrad.autograd.rule_outcomes import Interrupted
from tracegrad.compiled.direct_entry import (
    HOT,
    CallSlot,
    DirectEntry,
    direct_entry,
    handing_on,
)
from tracegrad.compiled.guarded_entry import MISS
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import CHOSEN
from tracegrad.errors import RAISED_BY_NUMPY
from tracegrad.runtime.thread_state import DIRECT, STATE
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform


class Given(NamedTuple):
    """How a call has given its arguments: so many of them, of which the last by these names."""

    number: int
    names: tuple[str, ...] = ()


MOST = 8  # entries of one kind of calls, and functions in the slot
OFTEN = 16  # times that one who was asked did not answer, until the order is another one


class DirectCalls(CallSlot):
    """A function with entries for its calls; the slot has what runs first."""

    __name__: str
    _transform: Transform
    _backend: str | None
    _signature: Signature
    _lock: threading.Lock
    _placed: dict[Any, Any]
    _budget: Budget
    # Of calls that give arguments by name alone, those names are in the key.
    _entries: dict[Any, tuple[tuple[Any, Version], ...]]
    _directs: tuple[DirectEntry, ...]
    _quick: dict[Any, Any]  # entries for calls on Tensors
    _quickly: Callable[..., Any]
    _passed = 0  # times that one who was asked has not answered, since they were last ordered

    def _generally(self, *args: Any, **kwargs: Any) -> Any:
        """A call by the first entry that answers it; without any, see `_call`."""
        if kwargs and (placed := self._placed.get((len(args), *kwargs))):
            args, kwargs = placed(args, kwargs), {}
        if not kwargs:
            try:
                result = self._entered(CHOSEN[self._backend], args)
                alone = STATE.machine is None and STATE.watch is None  # no other function is run
                if result is MISS and self._quick and alone and not STATE.special:
                    result = self._quickly(args)
            except Interrupted as told:
                interrupted = told
            else:
                return self._call(args, kwargs) if result is MISS else result
            return interrupted.going_on(self._call, args, kwargs)
        return self._call(args, kwargs)

    def _entered(self, key: Any, values: tuple[Any, ...]) -> Any:
        """The result by an entry under this key, of all arguments; MISS where none takes them."""
        if STATE.aside:
            return MISS
        try:
            for run, version in self._entries.get(key, ()):
                result = run(values)
                if result is not MISS:
                    version.hits += 1
                    if version.hits > HOT and not run.is_direct:
                        self._write_directly(run, version)
                    return result
                self._passes()
        except Interrupted:
            if STATE.outcomes is None:
                raise
        except RAISED_BY_NUMPY:
            if version.opaque:  # else it is `Interrupted`
                raise
        return MISS  # the function may catch it: see `_lookup`

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _passes(self) -> None:
        """A version that was asked does not answer; the next one will be."""
        self._passed += 1
        if self._passed >= OFTEN:
            self._put_in_order()

    def _passing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as calls are handed on to it."""

        def passed(*args: Any, **kwargs: Any) -> Any:
            self._passes()
            return function(*args, **kwargs)

        return passed

    def _raised(self, *args: Any, **kwargs: Any) -> Any:
        """A call for which NumPy raised an exception in the program."""
        return self._call(args, kwargs)

    # -- entries and functions of the slot; whoever changes them holds the lock --------------------

    def _add_entry(self, key: Any, made: Any, version: Version) -> None:
        made.is_direct = False
        newest = ((made, version), *self._entries.get(key, ())[: MOST - 1])
        ordered = tuple(sorted(newest, key=lambda e: not e[1].in_order))
        self._entries = {**self._entries, key: ordered}

    def _replace_entries(self, replaced: Version | None) -> None:
        """Another version has grown from this one."""
        self._entries = {
            key: tuple([pair for pair in pairs if pair[1] is not replaced])
            for key, pairs in self._entries.items()
        }
        self._chain([direct for direct in self._directs if direct.version is not replaced])

    def _put_in_order(self) -> None:
        """Who has answered most calls since the last time is asked first.

        Those for matrices in C order stay before those for any, which take the same calls.
        """
        if not self._lock.acquire(blocking=False):  # who holds it is in no hurry
            return
        try:
            self._passed = 0
            every = [q.version for several in self._quick.values() for q in several]
            every += [version for pairs in self._entries.values() for _, version in pairs]

            def place(version: Version) -> tuple[bool, int]:
                return not version.in_order, version.hits_before - version.hits

            self._entries = {
                key: tuple(sorted(pairs, key=lambda pair: place(pair[1])))
                for key, pairs in self._entries.items()
            }
            self._quick.update(
                (key, tuple(sorted(several, key=lambda q: place(q.version))))
                for key, several in [*self._quick.items()]
            )
            directs = sorted(self._directs, key=lambda direct: place(direct.version))
            if any(map(is_not, directs, self._directs)):
                self._chain(directs)
            for version in every:
                version.hits_before = version.hits
        finally:
            self._lock.release()

    def _drop_entries(self) -> None:
        self._entries = {}
        self._chain([])

    def _drop_directs(self) -> None:
        with self._lock:
            self._chain([])

    def _write_directly(self, run: Any, version: Version) -> None:
        """Writes the function of a version for calls such as this one."""
        with self._lock:
            self._budget.used = True
            settings = DIRECT.now  # read before the mode, which changes first
            if settings is None or CHOSEN[self._backend] is not version.mode:
                return
            if version.arguments.tensors is not None:
                return  # the slot has functions of arrays
            run.is_direct = True
            kept = any(pair[0] is run for pairs in self._entries.values() for pair in pairs)
            if not kept or self._transform.kind == "vmap":
                return  # a `vmap` tells axes by how arguments are passed
            name = getattr(self, "__qualname__", self.__name__)
            made = direct_entry(version, settings, self._signature, name, *run.given)
            if made is not None:
                first = sorted([made, *self._directs], key=lambda d: not d.version.in_order)
                self._chain(first[:MOST])

    def _chain(self, directs: list[DirectEntry]) -> None:
        """Each function hands on to the next."""
        self._directs = tuple(directs)
        of = self._signature
        general, raised = handing_on(of, self._generally), handing_on(of, self._raised)
        otherwise = general
        for direct in reversed(directs):
            direct.hand_on(otherwise, general, raised)
            otherwise = self._passing(direct.function)
        self.__call__ = directs[0].function if directs else self._generally
