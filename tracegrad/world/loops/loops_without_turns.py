"""What variables hold where a ``while`` may have no turns: at the test before the first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.ir import Value
from tracegrad.machine.liveness import live
from tracegrad.tensors.tensor import Tensor

CONSTANTS = (int, float, complex, bool, str, bytes)


@dataclass(frozen=True, slots=True)
class Held:
    """An object, and what is recorded of it."""

    x: Any
    value: Value | None


@dataclass(frozen=True, slots=True)
class Begun:
    """A frame at the test before the first turn: the jump, and what the live variables hold."""

    frame: Any
    index: int
    held: Sequence[Any]


def state_of(frame: Any, index: int) -> list[Any]:
    """What the variables hold that are live at an instruction; of what they hold, the items."""
    known = live(frame.code)[index]
    return [_held(frame.fast[slot]) for slot in sorted(known)]


def _held(x: Any) -> Any:
    if type(x) is Tensor:
        return Held(x, x._traced[1] if x._traced else None)
    if type(x) in (tuple, list):
        return type(x), [_held(item) for item in x], x
    if type(x) is dict:
        return dict, {key: _held(item) for key, item in x.items()}, x
    return Held(x, None)


class Before:
    """What stands before a loop for values that its turns leave."""

    def __init__(
        self, given: Mapping[Value, Sequence[Value]], constant_of: Callable[[Value], Any]
    ) -> None:
        self.given = given
        self.constant_of = constant_of

    def leaves_alike(self, before: Any, after: Any) -> bool:
        """Whether a variable has after turns what it has without, but for what the loop carries."""
        if type(before) is tuple or type(after) is tuple:
            return self._items_alike(before, after)
        if after.value is not None:
            given = self.given.get(after.value, ())
            if before.value is not None:
                return before.value is after.value or before.value in given
            numbers = [self.constant_of(value) for value in given]
            return any(n is not None and repr(n.value) == repr(before.x) for n in numbers)
        if before.x is after.x:
            return True
        same = type(before.x) is type(after.x) and type(after.x) in CONSTANTS
        return same and repr(before.x) == repr(after.x)

    def _items_alike(self, before: Any, after: Any) -> bool:
        if type(before) is not tuple or type(after) is not tuple or before[0] is not after[0]:
            return False
        if before[2] is after[2]:
            return True
        a, b = before[1], after[1]
        if type(a) is dict:
            return a.keys() == b.keys() and all(self.leaves_alike(a[key], b[key]) for key in a)
        return len(a) == len(b) and all(map(self.leaves_alike, a, b))
