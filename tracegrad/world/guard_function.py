"""Generates the function that is True while all guards hold."""

from __future__ import annotations

import builtins
import gc
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from operator import is_
from types import CellType, FunctionType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from codegen.load import load
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.guards import (
    CLASS,
    GIVEN,
    ITEM,
    MISSING,
    PACKED,
    TYPED,
    Guard,
    LetGo,
    Seen,
    kind_of_items,
    same,
    state_of,
    typed,
    weakly,
)
from tracegrad.world.names_in_check import Names, names_of

MANY = 32  # places in a list from which on one look at the list is quicker
HANDFUL = 4  # objects that are quicker to compare one by one
SMALL = 1 << 16  # bytes up to which a copy as bytes is the quickest to compare
_BUILTINS = ("Exception", "all", "float", "getattr", "int", "len", "map", "str", "type")
# What else may be a variable of a check.
_FURTHER = (
    *("attribute_of", "attributes", "float64", "kept", "kind_of_items", "others", "packed"),
    *("same", "unchanged"),
)


OF_ITSELF = (
    "What is computed of {0} itself, with tracegrad's functions or NumPy's, is for all that it may "
    "hold"
)


class Change(NamedTuple):
    """What is another now than code has read of it, and what to write instead, if that is known."""

    reason: str
    instead: str


@dataclass
class StateCheck:
    """The function that is True while all guards hold, and its text for functions that ask first.

    `asked` are its statements up to the ``if`` that is entered while they hold, over what is `held`
    and over names that are `read` from the user's `module`. What is held may be renewed: in cells
    as well, by name, of the functions that ask.
    """

    unchanged: Callable[[], bool]
    asked: tuple[str, ...] = ()
    held: dict[str, Any] = field(default_factory=dict)
    module: dict[str, Any] | None = None
    read: frozenset[str] = frozenset()
    cells: list[Mapping[str, CellType]] = field(default_factory=list)
    changed: Callable[[], Change | None] = lambda: None
    """Which array or Tensor is another now than code has read."""

    def renew(self, values: Mapping[str, Any]) -> None:
        """Other objects stand for what was held; they are as good."""
        function: Any = self.unchanged
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        bound = dict(zip(names, function.__defaults__, strict=True))
        renewed = {name: values[name] for name in bound.keys() & values.keys()}
        function.__defaults__ = tuple({**bound, **renewed}.values())
        self.held.update(renewed)
        for cells in self.cells:
            for name in cells.keys() & renewed.keys():
                cells[name].cell_contents = renewed[name]


def check(
    guards: Sequence[Guard],
    places: Sequence[Guard],
    arrays: Iterable[Seen],
    tensors: Sequence[Seen] = (),
    by_path: Mapping[int, Guard] = MappingProxyType({}),
    others: Sequence[Any] = (),
) -> StateCheck:
    """The check; `guards` hold what they held, `places` an array or Tensor, whichever it is.

    The contents of `arrays` are compared as well and, where there are `tensors`, what is shown of
    these and of the Tensors in places. Identity is compared first; where that differs, type and
    value are, and the new identity is remembered. Objects that are known by their place (`by_path`:
    by id, the guard of the place) may be others of the same class, each in its place alone, and
    none of the `others`.
    """
    flags: list[tuple[Seen, Callable[[], Any], Any]] = []
    if tensors:
        held = [place for place in places if isinstance(place.value, Tensor)]
        flags = [(place.seen, place.now, shown(place.value)) for place in held]
        flags += [(seen, partial(_itself, seen.array), shown(seen.array)) for seen in tensors]
    numbers = [(seen, remembered(getattr(seen.array, "_array", seen.array))) for seen in arrays]
    known = [(seen.array, content) for seen, content in numbers]
    shapes = [(now, before) for _, now, before in flags]
    compare = again(guards, places, known, shapes, by_path, others)

    def renewed() -> bool:
        return compare(made)

    names: dict[str, Any] = {
        "MISSING": MISSING,
        "STATE": STATE,
        "Tensor": Tensor,
        "again": renewed,
        "apart": apart,
        "is_": is_,
        "ndarray": np.ndarray,
        "shown": shown,
        "state_of": state_of,
        "typed": typed,
        "unwritten": unwritten,
        **{name: getattr(builtins, name) for name in _BUILTINS},
    }
    own = names_of(guards, {*names, *_FURTHER})
    conditions = conditions_of(guards, places, names, by_path, others, own)
    for i, (array, content) in enumerate(known):
        inner = "._array" if isinstance(array, Tensor) else ""
        names[f"array{i}"] = array
        conditions += _contents(f"array{i}{inner}", content, str(i), names)
    for i, (names[f"tensor{i}"], names[f"shown{i}"]) in enumerate(shapes):
        conditions.append(f"shown(tensor{i}()) == shown{i}")
    if not conditions:
        return StateCheck(_always)
    asked = []
    for i, (names[f"list{i}"], items) in enumerate(own.lists):
        asked.append(f"        {', '.join(items)}, = list{i}")
    first, *further = conditions
    every = [f"            {first}", *[f"            and {condition}" for condition in further]]
    asked += ["        if (", *every, "        ):"]
    given = [f"given{i}" for i in range(sum(guard.read == GIVEN for guard in guards))]
    objects = [f"        {', '.join(given)}, = STATE.objects"] if given else []
    lines = ["    try:", *objects, *asked, "            return True"]
    lines += ["    except Exception:", "        return False", "    return again()", ""]
    text = "\n".join(lines)
    read = set(re.findall(r"\w+", text))
    bound_to = {name: value for name, value in names.items() if name in read}
    bound = ", ".join([f"{name}={name}" for name in bound_to])
    loaded = load(f"def unchanged({bound}):\n{text}", "unchanged", names)  # locals are the fastest
    scope = loaded.__globals__ if own.module is None else own.module
    function = FunctionType(loaded.__code__, scope, loaded.__name__, loaded.__defaults__)
    del bound_to["again"]
    bound_to.pop("STATE", None)
    unpacked = {name for _, of_list in own.lists for name in of_list}
    named = frozenset(own.of.values()) - unpacked
    made = StateCheck(function, tuple(asked), bound_to, own.module, named)
    made.changed = partial(_changed, numbers, flags)
    return made


def _changed(
    numbers: Sequence[tuple[Seen, Any]], flags: Sequence[tuple[Seen, Callable[[], Any], Any]]
) -> Change | None:
    """Which array or Tensor is another now than code has read."""
    for seen, content in numbers:
        if not unwritten(getattr(seen.array, "_array", seen.array), content):
            reason = f"what {seen.text} holds has changed, which Python reads as a whole{_at(seen)}"
            return Change(reason, OF_ITSELF.format(seen.text))
    for seen, now, before in flags:
        for name, a, b in zip(SHOWN, before, shown(now()), strict=False):
            if a != b:
                return Change(f"{seen.text}.{name} was {a}, is {b}{_at(seen)}", "")
    return None


def _at(seen: Seen) -> str:
    return f" ({seen.line})" if seen.line else ""


def _always() -> bool:
    return True


def _contents(array: str, known: tuple[Any, ...], stem: str, names: dict[str, Any]) -> list[str]:
    """`unwritten` as conditions; for small arrays it is written out, which is faster."""
    if type(known[-1]) is not bytes:
        names[f"known{stem}"] = known
        return [f"unwritten({array}, known{stem})"]
    parts = {"shape": "==", "dtype": "is", "strides": "==", "flags.writeable": "is"}
    values = {f"{part.rpartition('.')[2]}{stem}": v for part, v in zip(parts, known, strict=False)}
    names.update(values, **{f"bytes{stem}": known[-1]})
    found = [
        f"{array}.{part} {same} {name}"
        for (part, same), name in zip(parts.items(), values, strict=True)
    ]
    return [f"{array}.tobytes() == bytes{stem}", *found]


def conditions_of(
    guards: Sequence[Guard],
    places: Sequence[Guard],
    names: dict[str, Any],
    by_path: Mapping[int, Guard],
    others: Sequence[Any],
    own: Names,
) -> list[str]:
    """One condition a guard, over names that are added to `names`; an object has one name.

    What the check has names of its `own` for is read by them.
    """
    fixed: dict[int, str] = {}
    read: dict[int, str] = {}  # variables that hold what stands at a place, by id of its guard
    parents = {id(guard.of) for guard in (*guards, *places) if guard.of is not None}

    def holder_of(guard: Guard) -> str:
        if guard.of is not None:
            return read[id(guard.of)]
        name = fixed.setdefault(id(guard.holder), f"holder{len(fixed)}")
        names[name] = read_quickly(guard.holder)
        return name

    def over(guard: Guard) -> str:
        return own.of.get(id(guard)) or guard.over(holder_of(guard), names)

    def condition_of(guard: Guard, value: str) -> str:
        if id(guard) in own.of:
            return f"{own.of[id(guard)]} is {value}"
        return guard.condition(holder_of(guard), value, names)

    found = []
    for i, stated in enumerate(guards):
        guard = own.left(stated)
        if guard is None:
            continue
        owner = by_path.get(id(guard.value))
        known = by_path.get(id(guard.holder))
        if guard.read == CLASS and known is not None and guard.value is known.kind:
            continue  # its place asks that
        if owner is guard:
            names[f"kind{i}"], read[id(guard)] = guard.kind, f"object{i}"
            found.append(f"type(object{i} := {over(guard)}) is kind{i}")
        elif owner is not None:  # two places held one object
            found.append(f"{over(guard)} is {read[id(owner)]}")
        elif guard.read == GIVEN and (whose := weakly(guard.value)) is not None:
            names[f"whose{i}"], read[id(guard)] = whose, over(guard)
            found.append(f"{over(guard)} is whose{i}()")
        elif guard.value is None or type(guard.value) is bool:
            found.append(condition_of(guard, repr(guard.value)))
        else:
            names[f"value{i}"] = guard.value
            condition = condition_of(guard, f"value{i}")
            if id(guard) in parents:
                read[id(guard)] = f"value{i}"
            elif guard.of is not None and type(guard.value) in (int, str):
                kind = type(guard.value).__name__
                condition = (
                    f"((x{i} := {over(guard)}) is value{i} or type(x{i}) is {kind} "
                    f"and x{i} == value{i})"
                )
            found.append(condition)
    for guard in _as_wholes(places):
        if guard.read == PACKED:  # a call makes the array where it reads it
            names.update({"kind_of_items": kind_of_items, guard.name.__name__: guard.name})
            found.append(f"kind_of_items({holder_of(guard)}) is {guard.name.__name__}")
            continue
        kind = type(guard.value).__name__  # Tensor, ndarray, or that of a number
        names[kind] = type(guard.value)
        found.append(f"type({over(guard)}) is {kind}")
    found += _apart_conditions(guards, by_path, others, read, names)
    return found


def _apart_conditions(
    guards: Sequence[Guard],
    by_path: Mapping[int, Guard],
    others: Sequence[Any],
    read: Mapping[int, str],
    names: dict[str, Any],
) -> list[str]:
    """That objects known by their place are different ones, and none of the others."""
    places = _may_be_one(guards, by_path, others)
    objects = [read[id(guard)] for guard in places]
    kinds = {id(guard.kind) for guard in places}
    others = [x for x in others if id(type(x)) in kinds]
    if len(objects) <= HANDFUL and not others:
        return [f"{a} is not {b}" for a, b in combinations(objects, 2)]
    names["others"] = frozenset(map(id, others))
    names["kept"] = others  # so that no id is used again
    return [f"apart(({', '.join(objects)},), others)"]


def read_quickly(holder: Any) -> Any:
    """A holder as a check reads it: of a class that is its dictionary, not the proxy of it."""
    if type(holder) is not MappingProxyType:
        return holder
    (inner,) = gc.get_referents(holder)
    return inner if type(inner) is dict else holder


def _as_wholes(places: Sequence[Guard]) -> list[Guard]:
    """Items of a list of floats are one place: all are numbers of its type."""
    items: dict[int, list[Guard]] = {}
    for guard in places:
        if guard.read == ITEM and type(guard.value) in (float, np.float64):
            items.setdefault(id(guard.holder), []).append(guard)
    found = {id(guard): guard for guard in places}
    for alike in items.values():
        holder, kind = alike[0].holder, type(alike[0].value)
        if len(alike) >= MANY and len(alike) * 2 > len(holder) and kind_of_items(holder) is kind:
            for guard in alike:
                del found[id(guard)]
            found[id(alike[0])] = replace(alike[0], read=PACKED, name=kind)
    return list(found.values())


def _is_one_of(guard: Guard, by_path: Mapping[int, Guard]) -> bool:
    """Whether a place holds an object that no other place may hold; tuples are equal or not."""
    return by_path.get(id(guard.value)) is guard and not issubclass(guard.kind, tuple)


def _may_be_one(
    guards: Sequence[Guard], by_path: Mapping[int, Guard], others: Sequence[Any]
) -> list[Guard]:
    """The places of objects that may be one with another of these, or of the others.

    What stands in a place is of the class that stood there: of other classes it is another object.
    """
    found = [guard for guard in guards if _is_one_of(guard, by_path)]
    kinds = Counter(map(id, [*[guard.kind for guard in found], *map(type, others)]))
    return [guard for guard in found if kinds[id(guard.kind)] > 1]


def apart(objects: Sequence[Any], others: Collection[int]) -> bool:
    """Whether objects are different ones, and none of the others, which are ids."""
    found = set(map(id, objects))
    return len(found) == len(objects) and found.isdisjoint(others)


def agrees(guard: Guard, now: Any, by_path: Mapping[int, Guard]) -> bool:
    """Whether what stands at a place now is as good as what stood there."""
    owner = by_path.get(id(guard.value))
    if owner is None and type(guard.value) is LetGo:
        return now is guard.value.whose()
    if owner is None:
        return bool(now == guard.value) if guard.read == TYPED else same(now, guard.value)
    return type(now) is guard.kind if owner is guard else now is owner.now()


def _holds_alike(place: Guard) -> bool:
    """Whether a place holds an array, or a list of numbers, of the type that it held."""
    if place.read == PACKED:
        return kind_of_items(place.where()) is place.name
    return type(place.now()) is type(place.value)


def again(
    guards: Sequence[Guard],
    places: Sequence[Guard],
    arrays: Sequence[tuple[Any, Any]],
    shapes: Sequence[tuple[Any, Any]],
    by_path: Mapping[int, Guard],
    others: Sequence[Any],
) -> Callable[[StateCheck], bool]:
    """The slow comparison, by type and value; it renews the identities that the quick one knows."""

    def compare(made: StateCheck) -> bool:
        now = [guard.now() for guard in guards]
        if not all(agrees(guard, a, by_path) for a, guard in zip(now, guards, strict=True)):
            return False
        if not all(map(_holds_alike, places)):
            return False
        if not all(unwritten(getattr(a, "_array", a), known) for a, known in arrays):
            return False
        if not all(shown(tensor()) == before for tensor, before in shapes):
            return False
        objects = [guard.now() for guard in _may_be_one(guards, by_path, others)]
        if not apart(objects, set(map(id, others))):
            return False
        made.renew({f"value{i}": value for i, value in enumerate(now)})
        return True

    return compare


SHOWN = ("__class__", "requires_grad", "is_leaf", "device")


def shown(tensor: Any) -> tuple[Any, ...]:
    """What Python sees of a Tensor that no input of a program tells."""
    if type(tensor) is not Tensor:
        return (type(tensor),)
    return Tensor, tensor.requires_grad, tensor.is_leaf, tensor.device


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def remembered(array: Any) -> tuple[Any, ...]:
    """What `unwritten` compares an array with: exact, so that nothing stale can slip through."""
    if not isinstance(array, np.ndarray):
        return (_of_library(array),)
    held: Any = array.tobytes()
    if array.dtype.hasobject:
        held = list(array.flat)
    elif array.nbytes > SMALL:
        held = _bits(array).copy()
    return array.shape, array.dtype, array.strides, array.flags.writeable, held


def _of_library(array: Any) -> Any:
    """An array of another library, which does not write to it; on a device another one follows."""
    return array.value if type(array) is DeviceArray else array


def unwritten(array: Any, known: tuple[Any, ...]) -> bool:
    """True while an array is and holds what it did."""
    if len(known) == 1 or not isinstance(array, np.ndarray):
        return _of_library(array) is known[0]
    shape, dtype, strides, writeable, held = known
    if array.shape != shape or array.dtype != dtype or array.strides != strides:
        return False
    if array.flags.writeable != writeable:
        return False
    if type(held) is bytes:
        return array.tobytes() == held
    if type(held) is list:
        return all(map(is_, array.flat, held))
    return bool((_bits(array) == held).all())


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers, which compare by their bits."""
    if array.dtype.itemsize in (1, 2, 4, 8):
        return array.view(f"u{array.dtype.itemsize}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def without(guards: Iterable[Guard], but: Iterable[Guard], needed: Collection[int]) -> list[Guard]:
    """Guards less those in `but`, unless what they hold is `needed`."""
    skipped = {id(guard) for guard in but if id(guard.value) not in needed}
    return [guard for guard in guards if id(guard) not in skipped]
