"""What a function does to the arguments of a call: arrays that it writes to, containers changed.

It runs on Tensors for arrays and on copies of the containers that hold them, so what it does there
is carried to the caller's own objects afterwards: by `Borrowed` where the call was answered by the
run itself, by an `ArgumentStore` in every call of a program. What cannot be carried is refused.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, GradientError, TracegradError
from tracegrad.machine.world_protocol import delete_plainly, set_plainly
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF
from tracegrad.tape.write_checks import begins_run, keep_before_write, memory_of, stamp
from tracegrad.tensors.devices import bare as array_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dataclass_attributes import besides_fields
from tracegrad.values.pytree import (
    children,
    flatten,
    is_leaf,
    leaf_paths,
    map_tree,
    path_text,
    unflatten,
    unflatten_as,
)

DIFFERENTIATED = (
    "an argument that is differentiated is changed in place, and its gradient would be that of "
    "another value: change a copy (x = x.copy())"
)


@dataclasses.dataclass(frozen=True, slots=True)
class ArgumentStore:
    """An array among the arguments that a traced function wrote to."""

    leaf: int  # which of the traced leaves
    text: str  # as the user would say it: ``buf``, ``state["h"]``
    name: str
    value: Any  # the Tensor that holds what stands there now

    @property
    def place(self) -> tuple[str, int]:
        """What tells places apart."""
        return "argument", self.leaf


def overwrite_argument(array: Any, value: Any) -> None:
    """Writes to the caller's array; one of JAX is immutable, where ``x += 1`` is a new one."""
    if isinstance(array, Tensor):
        array[...] = value  # type: ignore[index]
    elif isinstance(array, np.ndarray):
        np.copyto(array, np.asarray(value))
        stamp(array)


def overlapping(array: Any, others: Iterable[Any]) -> bool:
    """Whether an array may share memory with one of the others, or of the arrays of a list."""
    return isinstance(array, np.ndarray) and any(
        np.may_share_memory(array, other)
        if isinstance(other, np.ndarray)
        else isinstance(other, list | tuple) and overlapping(array, other)
        for other in others
    )


def refuse_overlap(text: str) -> None:
    """Raises where what is written to an array would show in another one that was read."""
    raise ArgumentError(
        f"the function writes to {text}, which shares memory with another array that it reads: "
        f"pass a copy of one of them, or write to a copy ({text} = {text}.copy())"
    ).as_refusal()


def refuse_two_ways(container: Any) -> None:
    """Raises where a container among the arguments is met outside, and changed by either way."""
    raise ArgumentError(
        f"the function changes a {type(container).__name__} among its arguments, which it reaches "
        "by another way as well (as an attribute, a global, or in another argument): pass a copy"
    ).as_refusal()


def in_c_order(array: Any, axes: int) -> bool:
    """Whether an array lies in memory in the order of its axes, if it has so many or more."""
    return not isinstance(array, np.ndarray) or array.ndim < axes or array.flags.c_contiguous


class Borrowed:
    """The arguments of one run on Tensors, and what became of them."""

    def __init__(self, named: Callable[[], Iterable[tuple[str, Any]]], apart: bool = False) -> None:
        """`named` gives the arguments with their names, for errors.

        With `apart` a container that stands at two places is two: each has its gradient.
        """
        self._named = named
        self._apart = apart
        self._arrays: list[tuple[Any, Tensor, Any]] = []  # given, as the function had it, its node
        self._containers: list[tuple[Any, Any, Any]] = []  # given, as it had it, what that held
        self._contents: list[Any] = []  # what each of the given held
        self._given: dict[int, Any] = {}  # by id of what the function had
        self._known: dict[int, Any] = {}  # containers as the function has them, by id of the given
        self._had: dict[int, Any] = {}  # what the function had first, by id of the given
        self._bare: list[Any] = []  # what stands for leaves

    def box(self, value: Any, leaf: Callable[[Any], Any]) -> Any:
        """An argument as the function gets it: containers are new, ``leaf(x)`` stands for x."""

        def boxed(x: Any) -> Any:
            made = leaf(x)
            if isinstance(made, Tensor) and made is not x:
                begins_run(made._array)
                self.stands_for(x, made)
            return made

        if is_leaf(value):
            return boxed(value)
        leaves, spec = flatten(value)
        if self._apart:
            made = unflatten(spec, map(boxed, leaves))
        else:
            made = unflatten_as(value, spec, map(boxed, leaves), self._known)
        self.watch(value, made)
        return made

    def watch(self, given: Any, had: Any) -> None:
        """Remembers what containers hold, with the caller's that they stand for."""
        if is_leaf(given) or given is None or id(had) in self._given:
            if id(had) in self._given and STATE.machine is not None:
                STATE.machine.world.shared.add(id(had))
            return
        if given is not had:
            for name, value in besides_fields(given).items():
                object.__setattr__(had, name, value)
            self._given[id(had)] = given
            other = self._had.setdefault(id(given), had)
            if STATE.machine is not None:
                STATE.machine.world.stands_for(had, given)
                if other is not had:
                    STATE.machine.world.shared |= {id(had), id(other)}
            self._containers.append((given, had, _content(had)))
            self._contents.append(_content(given))
        for inner, other in zip(children(given), children(had), strict=True):
            self.watch(inner, other)

    def bare(self, given: Any, leaf: Callable[[Any], Any]) -> Any:
        """Arguments with ``leaf(x)`` in place of each x, in containers that are new."""
        leaves, spec = flatten(given)
        found = [leaf(x) for x in leaves]
        self._bare = found  # they are known by id
        self._given.update((id(y), x) for x, y in zip(leaves, found, strict=True) if y is not x)
        made = unflatten_as(given, spec, iter(found), self._known)
        self.watch(given, made)
        return made

    def stands_for(self, given: Any, tensor: Tensor) -> None:
        """Remembers an array that the function had as this Tensor."""
        self._arrays.append((given, tensor, tensor._node))
        self._given[id(tensor)] = given
        if STATE.machine is not None:
            STATE.machine.world.stands_for(tensor, given)

    @property
    def changed_containers(self) -> list[Any]:
        """The caller's containers of which the function has changed its own."""
        every = self._containers
        return [given for given, had, before in every if _differs(before, _content(had))]

    def met_outside(self, read: Collection[int], changed: Collection[int]) -> list[Any]:
        """The caller's containers that a run has come to by another way, and changed by either.

        `read` are the ids of what it has met outside, `changed` of what it has changed there.
        """
        own = self.changed_containers if read else ()
        met = [given for given in own if id(given) in read]
        return [*met, *[given for given, _, _ in self._containers if id(given) in changed]]

    @property
    def changed(self) -> str:
        """What kind of container was changed; "" for none."""
        found = self.changed_containers
        return f"an argument of type {type(found[0]).__name__}" if found else ""

    def settle_eager(self, shown: Callable[[Any], Any] = array_of) -> None:
        """As `settle`, of an eager run, which sees no other way to the caller's containers."""
        for (given, _, _), content in zip(self._containers, self._contents, strict=True):
            if _differs(content, _content(given)):
                refuse_two_ways(given)
        self.settle(shown)

    def settle(self, shown: Callable[[Any], Any] = array_of) -> None:
        """Carries what the function did to the caller's own objects.

        `shown` makes of a Tensor of the function what the caller is to have.
        """
        arrays = [getattr(given, "_array", given) for given, _, _ in self._arrays]
        for i, (given, tensor, node) in enumerate(self._arrays):
            array = arrays[i]
            if node is LEAF:
                if tensor._node is not LEAF:
                    raise GradientError(DIFFERENTIATED)
                continue
            if not isinstance(array, np.ndarray) or isinstance(tensor._array, np.generic):
                continue  # a scalar, to which nobody writes
            if _same_memory(tensor._array, array):
                continue
            if overlapping(array, [*arrays[:i], *arrays[i + 1 :]]):
                refuse_overlap(self._text_of(given))
            if isinstance(given, Tensor):
                given[...] = shown(tensor)  # type: ignore[index]
            else:
                keep_before_write(array)  # other arguments may be views of the same memory
                np.copyto(array, np.asarray(tensor._array))
                stamp(array)
        twice = {id(given) for given, had, _ in self._containers if self._had[id(given)] is not had}
        for given, had, before in self._containers:
            now = _content(had)
            if _differs(before, now):
                if id(given) in twice:
                    raise ArgumentError(
                        f"the function changes a {type(given).__name__} that stands at two places "
                        "among the arguments, each with a gradient of its own: pass a copy at one"
                    ).as_refusal()
                _replace(given, now, partial(self._shown, shown))
                if shown is not array_of and STATE.machine is not None and STATE.trace is None:
                    _tell_of_tensors(STATE.machine.world, given, before)

    def _text_of(self, given: Any) -> str:
        """An array among the arguments as the user would write it: ``params["w"]``."""
        for name, value in self._named():
            leaves, spec = flatten(value)
            for leaf, path in zip(leaves, leaf_paths(spec), strict=True):
                if leaf is given:
                    return path_text(name, path)
        return "x"

    def settle_raised(self) -> None:
        """The function has raised: what it did before that is done; what cannot be, is left."""
        with suppress(TracegradError):
            self.settle()

    def _shown(self, shown: Callable[[Any], Any], value: Any) -> Any:
        """What the caller's container is to hold for what the function's holds."""
        if id(value) in self._given:
            return self._given[id(value)]
        if id(value) in self._had:  # the caller's own already
            return value
        if is_leaf(value):
            return shown(value)
        return map_tree(partial(self._shown, shown), value)


def _same_memory(a: Any, b: Any) -> bool:
    return a is b or memory_of(a) is memory_of(b)


def _content(container: Any) -> Any:
    """What a container holds that can be changed: its items, its attributes, its children."""
    if type(container) in (dict, OrderedDict):
        return dict(container)
    if type(container) is list:
        return list(container)
    if dataclasses.is_dataclass(container):
        fields = {f.name: getattr(container, f.name, None) for f in dataclasses.fields(container)}
        return {**fields, **getattr(container, "__dict__", {})}
    return [] if isinstance(container, tuple) else children(container)


def _differs(before: Any, now: Any) -> bool:
    if isinstance(before, dict):
        return list(before) != list(now) or any(before[k] is not now[k] for k in before)
    if isinstance(before, list):
        return len(before) != len(now) or any(a is not b for a, b in zip(before, now, strict=True))
    return False


def _replace(container: Any, content: Any, plain: Callable[[Any], Any]) -> None:
    """Gives the caller's container what the function's holds."""
    if type(container) in (dict, OrderedDict):
        held = {key: plain(value) for key, value in content.items()}
        container.clear()
        container.update(held)
    elif type(container) is list:
        container[:] = [plain(value) for value in content]
    elif not dataclasses.is_dataclass(container):
        raise ArgumentError(
            f"the function changes what its argument of type {type(container).__name__} holds, "
            "which is made anew for every call: return the new one instead"
        ).as_refusal()
    else:
        for name, value in content.items():
            if getattr(container, name, _ABSENT) is not plain(value):
                set_plainly(container, name, plain(value))  # it may be frozen
        for name in [*getattr(container, "__dict__", ())]:
            if name not in content:
                delete_plainly(container, name)


_ABSENT = object()


def _tell_of_tensors(world: Any, container: Any, before: Any) -> None:
    """Tells the world of the caller of new Tensors there, which may be arrays to its own."""
    plain = isinstance(container, dict | list)
    holder = container if plain else getattr(container, "__dict__", None)
    if holder is None:
        return
    known = set(map(id, before.values() if isinstance(before, dict) else before))
    held = holder.values() if isinstance(holder, dict) else holder
    world.puts((holder, *[x for x in held if isinstance(x, Tensor) and id(x) not in known]), {})


def written_leaves(
    tensors: Sequence[Tensor], values: Sequence[Any], texts: Sequence[tuple[str, str]]
) -> tuple[ArgumentStore, ...]:
    """The arguments that a trace has written to; `values` are their values at its beginning.

    `texts` are how each is called, and an identifier for it.
    """
    found = []
    for i, (tensor, value) in enumerate(zip(tensors, values, strict=True)):
        if tensor._traced is not None and tensor._traced[1] is not value:
            found.append(ArgumentStore(i, *texts[i], wrap(tensor._array, tensor._traced)))
    return tuple(found)
