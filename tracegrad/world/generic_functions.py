"""Guards which function a class has in a generic function (`functools.singledispatch`).

Which one it is stands in a cache of weak references, once it was asked for. The check asks only
where the cache has the answer, and runs no code of the user's then, as a class's
``__subclasshook__``. Where it has none (another function was registered, an ABC has got another
class), the call is another trace, in which Python looks it up.
"""

from __future__ import annotations

import abc
from types import FunctionType
from typing import Any

from tracegrad.world.callable_names import name_of_callable
from tracegrad.world.code_origin import is_mutable
from tracegrad.world.guards import CALLED, MISSING
from tracegrad.world.native_tables import DISPATCH
from tracegrad.world.world import World


def chooses(callee: Any) -> bool:
    """Whether something is the `dispatch` of a generic function."""
    return type(callee) is FunctionType and callee.__code__ is DISPATCH


class Choice:
    """Gives the function of a class, where that is known; `MISSING` where it is not."""

    def __init__(self, dispatch: Any, _: Any) -> None:
        cells = dict(zip(DISPATCH.co_freevars, dispatch.__closure__, strict=True))
        self._dispatch = dispatch
        self._cache, self._token = cells["dispatch_cache"], cells["cache_token"]
        named = cells["registry"].cell_contents.get(object)
        self.text = f"{name_of_callable(named or dispatch)}.dispatch()"

    def __call__(self, cls: type) -> Any:
        return self._dispatch(cls) if self.knows(cls) else MISSING

    def knows(self, cls: type) -> bool:
        """Whether the answer is in the cache, and no ABC has got a class since then."""
        token = self._token.cell_contents
        is_new = token is None or token == abc.get_cache_token()
        return is_new and cls in self._cache.cell_contents


def choose(world: World, dispatch: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``f.dispatch(cls)``; every call of the program asks again."""
    known = world.helper(dispatch, {}, Choice)
    try:
        value = dispatch(*operands, **keywords)
    except BaseException:
        world.effect(f"{known.text}, which raises")
        raise
    if keywords or not (world.is_outside(dispatch) and _tells_itself(world, operands[0])):
        world.effect(known.text)
        return value
    world.guard(CALLED, known, operands, value, known.text)
    return world.enter(value, known.text)


def _tells_itself(world: World, cls: type) -> bool:
    """Whether a class is the same on every call, and none of the user's code compares it."""
    kind = type(cls)
    by_identity = kind.__hash__ is type.__hash__ and kind.__eq__ is type.__eq__
    return by_identity and (world.is_outside(cls) or not is_mutable(cls))
