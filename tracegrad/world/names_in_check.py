"""What a check reads under a name of its own: globals of the user's module, items of a list.

A read of ``np`` in a function of the user's module costs a quarter of ``globals_["np"]``: CPython
remembers where the name stands. So the check is a function of that module. It looks a name up as
the user's functions do, in the module and then among the builtins: a builtin that is still the same
tells that the module has not come to hide it. A list of which all items are guarded is unpacked,
which tells its length as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from types import FunctionType
from typing import Any

from tracegrad.world.guards import APART, GLOBAL, ITEM, LENGTH, MISSING, Guard


@dataclass(frozen=True)
class Names:
    """The names that a check reads, each in place of a condition that reads it from its holder."""

    module: dict[str, Any] | None = None  # the globals of the check
    of: dict[int, str] = field(default_factory=dict)  # the name of what stands there, by guard
    covered: frozenset[str] = frozenset()  # builtins among them, which the module does not hide
    lists: tuple[tuple[Any, tuple[str, ...]], ...] = ()  # unpacked ones, the names of their items
    lengths: frozenset[int] = frozenset()  # the guards of these lists' lengths

    def left(self, guard: Guard) -> Guard | None:
        """What a guard says that the names do not tell."""
        if id(guard) in self.lengths:
            return None
        if self.module is None or guard.holder is not self.module or guard.of is not None:
            return guard
        if guard.read == GLOBAL and guard.value is MISSING:
            return None if guard.name in self.covered else guard
        if guard.read != APART or not self.covered & guard.name:
            return guard
        rest = guard.name - self.covered
        return replace(guard, name=rest) if rest else None


def names_of(guards: Sequence[Guard], taken: Collection[str]) -> Names:
    """The names for a check of these guards, which has variables of these names already.

    Its further variables end in a digit, or in ``_kinds``.
    """
    found = _items(guards)
    globals_ = [guard for guard in guards if _is_name(guard) and guard.name not in taken]
    module = _module(guards, globals_)
    if module is None:
        return found
    lacking, scope = _absent(guards, module), _builtins_of(module)
    own = {id(guard): guard.name for guard in globals_ if guard.holder is module}
    hidden = [g for g in globals_ if g.holder is scope and g.name in lacking]
    own.update({id(guard): guard.name for guard in hidden})
    covered = frozenset([guard.name for guard in hidden])
    return replace(found, module=module, of={**found.of, **own}, covered=covered)


def _items(guards: Sequence[Guard]) -> Names:
    lengths = {
        id(g.holder): g
        for g in guards
        if g.read == LENGTH and g.of is None and type(g.holder) is list
    }
    items: dict[int, dict[int, tuple[Guard, str]]] = {}
    for i, guard in enumerate(guards):
        if guard.read == ITEM and guard.of is None and id(guard.holder) in lengths:
            items.setdefault(id(guard.holder), {})[guard.name] = guard, f"item{i}"
    of, lists, told = {}, [], set()
    for key, known in items.items():
        length = lengths[key]
        if known.keys() != set(range(length.value)):
            continue
        of.update({id(guard): name for guard, name in known.values()})
        lists.append((length.holder, tuple([known[i][1] for i in range(length.value)])))
        told.add(id(length))
    return Names(of=of, lists=tuple(lists), lengths=frozenset(told))


def _module(guards: Sequence[Guard], globals_: Sequence[Guard]) -> dict[str, Any] | None:
    """The globals of the guarded functions from which most names are read."""
    scopes = {id(g.holder.__globals__) for g in guards if type(g.holder) is FunctionType}
    holders = {id(g.holder): g.holder for g in globals_ if id(g.holder) in scopes}
    counts = Counter([id(guard.holder) for guard in globals_ if id(guard.holder) in scopes])
    return holders[counts.most_common(1)[0][0]] if counts else None


def _is_name(guard: Guard) -> bool:
    """Whether functions read a place as a global name."""
    return (
        guard.read == GLOBAL
        and guard.of is None
        and guard.value is not MISSING
        and type(guard.holder) is dict
        and type(guard.name) is str  # keys of dicts are compared as the user says
        and guard.text == guard.name
        and guard.name.isidentifier()
        and guard.name.isascii()  # the compiler spells others in one of several ways
        and not guard.name.startswith("__")  # ``__debug__`` is no name
        and not guard.name[-1].isdigit()
        and not guard.name.endswith("_kinds")
        and not iskeyword(guard.name)
    )


def _absent(guards: Sequence[Guard], module: dict[str, Any]) -> set[str]:
    """The names that a module is known not to have."""
    found: set[str] = set()
    for guard in guards:
        if guard.holder is module and guard.of is None:
            if guard.read == GLOBAL and guard.value is MISSING:
                found.add(guard.name)
            elif guard.read == APART:
                found |= guard.name
    return found


def _builtins_of(module: dict[str, Any]) -> Any:
    """The builtins of functions that are made in a module."""
    return FunctionType((lambda: None).__code__, module).__builtins__
