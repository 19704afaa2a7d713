"""Methods and statements that change a container: what they read is guarded, the rest is logged.

Each takes items as they are. On a container that the function made itself they are no more than
done; of one from outside the world keeps what it held (`changed_containers.py`), so that they can
be replayed.
"""

from __future__ import annotations

import operator
from collections import _count_elements, deque  # type: ignore[attr-defined]
from collections.abc import Iterable
from types import WrapperDescriptorType
from typing import Any

import numpy as np

from tracegrad.tensors.tensor import Tensor
from tracegrad.world.callable_names import text_of_key
from tracegrad.world.effects import NoForm, as_printed, frozen, prints_plainly
from tracegrad.world.guards import CALLED, GLOBAL, ITEM, PLAIN, PRESENT
from tracegrad.world.native_reads import contents, guard_length, items_alone, with_plain_keys
from tracegrad.world.tensor_places import ITEM as PLACE
from tracegrad.world.untraced_world import filling
from tracegrad.world.world import World, rule_for

Operands = tuple[Any, ...]
Keywords = dict[str, Any]


# -- items ----------------------------------------------------------------------------------------


@rule_for(operator.setitem)
def set_item(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    x, key, value = operands
    key = world.key(x, key, stays=True)
    if isinstance(x, list) and isinstance(key, slice) and isinstance(value, Iterable):
        value = list(items_alone(world, value))  # once: it may be an iterator
    logged = False
    if type(x) is np.ndarray:
        world.changes(x)
        if x.dtype == object:
            world.puts(operands, keywords)
    elif world.is_outside(x):
        key = _index(world, x, key) if type(x) is list else key
        logged = _sets_outside(world, x, key)
    if isinstance(x, dict | list | deque):
        world.writes(PLACE, x, key, value)
    operation(x, contents(world, key) if type(x) is Tensor else key, value)
    if logged:  # once it is done: it may raise
        world.does(operator.setitem, x, key, value, text=world.text_of(x))


def _index(world: World, x: list[Any], key: Any) -> Any:
    """The index of an item as the run knows the place: -1 and the last index are one."""
    if type(key) in (bool, Tensor) or issubclass(type(key), np.integer):
        key = operator.index(key)
    if type(key) is not int or not -len(x) <= key < len(x):
        return key
    other = key - len(x) if key >= 0 else key + len(x)
    if not world.was_stored(x, other):
        return key
    guard_length(world, x)
    return other


def _sets_outside(world: World, x: Any, key: Any) -> bool:
    """An item of a container from outside gets a value; whether the log is to tell of it."""
    owner = world.attributes_of(x)
    if owner is not None:  # ``vars(owner)``
        world.about_to_set(owner, key)
        return False
    slice_ = isinstance(key, slice)
    if not isinstance(x, dict | list) or (slice_ and type(x) is not list):
        world.effect(world.text_of(x))
        return False
    if slice_:
        if key.step is not None:  # as many places as values
            guard_length(world, x)
    elif type(x) is list and not world.was_read(x, key):
        guard_length(world, x)  # the place is there
        if type(key) is int and not -len(x) <= key < len(x):
            return False
    changed = world.change(x, moves=slice_)
    if changed is not None and type(x) is list:
        changed.sets(key)
    if not slice_:
        read = GLOBAL if isinstance(x, dict) else ITEM
        world.store(read, x, key, f"{world.text_of(x)}[{text_of_key(key)}]")
    return changed is not None


@rule_for(operator.delitem)
def delete_item(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    x, key = operands
    key = world.key(x, key)
    if not world.is_outside(x):
        operation(x, contents(world, key) if type(x) is Tensor else key)
        return
    if type(x) is np.ndarray:
        world.changes(x)
    changed = world.change(x)
    if changed is not None:
        if isinstance(x, dict):
            _takes_out(world, x, key)
        else:
            world.items(x)
            changed.at_end = False
    operation(x, key)
    if changed is not None:
        world.does(operation, x, key, text=world.text_of(x))


def _takes_out(world: World, x: Any, key: Any) -> None:
    """A key of a dictionary from outside is there, or is not, and leaves it."""
    text = world.text_of(x)
    world.guard(PRESENT, x, key, key in x, f"{text_of_key(key)} in {text}")
    world.store(GLOBAL, x, key, f"{text}[{text_of_key(key)}]")


# -- lists and deques -----------------------------------------------------------------------------


def append(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    x, value = operands
    if world.change(x, reads=False) is not None:
        done = world.does(method, x, value, text=world.text_of(x))
        if world.loops is not None:
            world.loops.lists.adds(x, value, done)
    world.puts(operands, keywords)
    method(x, value)


def extend(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    x, more = operands
    items = list(items_alone(world, more))
    if world.change(x) is not None:
        world.does(method, x, items, text=world.text_of(x))
    world.puts((x, items), {})
    method(x, items)


def put_between(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    """What puts an item, or items, not at the end."""
    changed = world.change(operands[0])
    if changed is not None:
        changed.at_end = False
    world.puts(operands, keywords)
    method(*operands)
    if changed is not None:
        world.does(method, *operands, text=world.text_of(operands[0]))


def pop(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x, *at = operands
    key = at[0] if at else (0 if method is deque.popleft else -1)
    if type(key) in (bool, Tensor) or issubclass(type(key), np.integer):
        key = operator.index(key)  # which looks at one of the run's
        operands = (x, key)
    changed = world.change(x)
    if changed is None:
        return method(*operands)
    if type(key) is not int or not -len(x) <= key < len(x):
        world.items(x)
        return method(*operands)
    value = world.item(x, key)
    last = key in (-1, len(x) - 1)
    if not last:
        changed.at_end = False
    if changed.at_end and len(x) > changed.ahead and world.forget_last(x, list.append):
        method(*operands)  # what the run itself has put there
        return value
    changed.ahead = min(changed.ahead, len(x) - 1)
    world.does(method, *operands, text=world.text_of(x))
    method(*operands)
    return value


def clear(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    (x,) = operands
    changed = world.change(x)
    if changed is not None:
        changed.clear()
        world.does(method, x, text=world.text_of(x))
        for key in list(x) if isinstance(x, dict) else ():
            world.store(GLOBAL, x, key, f"{world.text_of(x)}[{text_of_key(key)}]")
    method(x)


def remove(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    """``items.remove(value)``: the first that is equal."""
    x, value = operands
    value = contents(world, value)
    changed = world.change(x)
    if changed is None:
        method(x, value)
        return
    place = contents(world, x).index(value)
    changed.at_end = False
    world.does(operator.delitem, x, place, text=world.text_of(x))
    del x[place]


def reverse(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    (x,) = operands
    changed = world.change(x)
    if changed is not None:
        changed.at_end = False
        world.does(method, x, text=world.text_of(x))
    method(x)


# -- dictionaries ---------------------------------------------------------------------------------


def update(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    x, *rest = operands
    if type(x) is set:
        for others in rest:
            for item in items_alone(world, others):
                change_set(world, set.add, (x, item), {})
        return
    if not world.is_outside(x) or not _sets_in_c(x):
        world.changes(x)
        with filling(world, x):
            method(x, *[items_alone(world, y) for y in rest], **keywords)
        with_plain_keys(world, x)
        return
    found: dict[Any, Any] = dict(*[items_alone(world, y) for y in rest], **keywords)
    for key, value in found.items():
        set_item(world, operator.setitem, (x, key, value), {})


@rule_for(_count_elements)
def count(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    """``counter.update(items)``"""
    x, items = operands
    world.changes(x)
    operation(x, [world.hashed(item) for item in contents(world, items)])


def _sets_in_c(x: Any) -> bool:
    """Whether ``x[key] = value`` is what C code does: a class may have a method of its own."""
    return isinstance(type(x).__setitem__, WrapperDescriptorType)


def setdefault(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x, key, *default = operands
    key = world.key(x, key, stays=True)
    if not world.is_outside(x) or not _sets_in_c(x):
        world.changes(x)
        world.puts(operands, keywords)
        return method(x, key, *default)
    if key in x:
        return world.read(GLOBAL, x, key, x[key], f"{world.text_of(x)}[{text_of_key(key)}]")
    world.guard(PRESENT, x, key, False, f"{text_of_key(key)} in {world.text_of(x)}")
    value = default[0] if default else None
    set_item(world, operator.setitem, (x, key, value), {})
    return value


def pop_key(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x, key = operands[:2]
    key = world.key(x, key)
    operands = (x, key, *operands[2:])
    changed = world.change(x)
    if changed is None:
        return method(*operands)
    text = world.text_of(x)
    if key not in x:
        world.guard(PRESENT, x, key, False, f"{text_of_key(key)} in {text}")
        return method(*operands)
    value = world.read(GLOBAL, x, key, x[key], f"{text}[{text_of_key(key)}]")
    _takes_out(world, x, key)
    world.does(operator.delitem, x, key, text=text)
    method(*operands)
    return value


# -- sets -----------------------------------------------------------------------------------------


def change_set(world: World, method: Any, operands: Operands, keywords: Keywords) -> None:
    """``add``, ``discard``, ``remove`` of one item."""
    x, item = operands
    item = world.key(x, item, stays=method is set.add)
    item = contents(world, item)
    changed = world.change(x)
    if changed is not None:
        parts = item if type(item) is tuple else (item,)
        if any(type(part) not in PLAIN for part in parts):
            world.effect(world.text_of(x))
        if method is set.remove:
            text = f"{text_of_key(item)} in {world.text_of(x)}"
            world.guard(PRESENT, x, item, item in x, text)
        changed.members.add(world._place(x, item))
    world.puts(operands, keywords)
    method(x, item)
    if changed is not None:
        world.does(method, x, item, text=world.text_of(x))


CHANGING: dict[tuple[type, str], Any] = {
    **{(cls, "append"): append for cls in (list, deque)},
    **{(cls, "extend"): extend for cls in (list, deque)},
    **{(cls, "pop"): pop for cls in (list, deque)},
    **{(cls, "clear"): clear for cls in (list, deque, dict, set)},
    **{(set, name): change_set for name in ("add", "discard", "remove")},
    (deque, "popleft"): pop,
    (deque, "appendleft"): put_between,
    (list, "insert"): put_between,
    (list, "remove"): remove,
    (list, "reverse"): reverse,
    (dict, "update"): update,
    (set, "update"): update,
    (dict, "setdefault"): setdefault,
    (dict, "pop"): pop_key,
}
"""The methods by type and name."""


# -- prints ---------------------------------------------------------------------------------------


@rule_for(print)
def print_values(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    """A print is held back, for the program to do it; what nothing replays is printed at once."""
    try:
        if not set(keywords) <= {"sep", "end", "flush"} or not prints_plainly():
            raise NoForm("a stream")
        values = [frozen(world, contents(world, x)) for x in operands]
        plain = all(type(x) in PLAIN for x in keywords.values())
        if not plain:
            raise NoForm("an object")
    except NoForm:
        world.effect("print()")
        print(*[as_printed(world, x) for x in operands], **keywords)
        return
    world.guard(CALLED, prints_plainly, (), True, "what sys.stdout is")
    world.does(print, *values, text="print()", **keywords)
    if world.effects:
        world.print_now()
