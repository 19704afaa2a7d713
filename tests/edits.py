"""A function enters; random edits of the Python state that it can reach leave, each with its undo.

The state is walked without regard to what the function reads: everything that hangs on its cells,
defaults, the edited globals, attributes, classes, containers, partials and modules. What is found
is edited by its type, so a new kind of program gets its edits from here.
"""

from __future__ import annotations

import copy
import enum
import functools
import math
import types
from collections import ChainMap, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import tracegrad as tg

Undo = Callable[[], None]
MISSING = object()
CONSTANTS = (bool, int, float, str, type(None))


@dataclass
class Place:
    """Where a value stands, and how another is put there; `MISSING` removes it."""

    text: str
    value: Any
    put: Callable[[Any], None]
    removable: bool = False


def reachable(roots: list[tuple[str, Any]], scope: dict[str, Any], names: Any) -> list[Any]:
    """(text, object) of everything that is reached from the roots, and from these globals."""
    found: dict[int, tuple[str, Any]] = {}
    todo = list(roots)
    while todo:
        text, value = todo.pop()
        if id(value) in found or isinstance(value, (*CONSTANTS, np.generic)):
            continue
        found[id(value)] = (text, value)
        todo += [(place.text, place.value) for place in places(text, value)]
        if isinstance(value, types.FunctionType):
            used = set(global_names(value.__code__)) & set(names)
            todo += [(name, scope[name]) for name in sorted(used)]
        elif isinstance(value, types.MethodType):
            todo += [(f"{text}.__self__", value.__self__), (text, value.__func__)]
        elif isinstance(value, staticmethod | classmethod):
            todo.append((text, value.__func__))
        elif isinstance(value, property):
            todo.append((text, value.fget))
        elif isinstance(value, functools.cached_property):
            todo.append((text, value.func))
        elif isinstance(value, functools.partial):
            todo += [(f"{text}.func", value.func), (f"{text}.args", value.args)]
            todo.append((f"{text}.keywords", value.keywords))
        elif isinstance(value, tuple):
            todo += [(f"{text}[{i}]", item) for i, item in enumerate(value)]
        if is_users(type(value)) or type(value) is types.SimpleNamespace:
            todo.append((type(value).__name__, type(value)))
        if isinstance(value, type):
            todo += [(base.__name__, base) for base in value.__mro__[1:]]
    return list(found.values())


def is_users(cls: type) -> bool:
    """A class of the programs' own, whose parts are edited."""
    return cls.__module__ == "stateful" and not issubclass(cls, enum.Enum | tuple)


def global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


def places(text: str, value: Any) -> list[Place]:
    """Where an object holds others."""
    match value:
        case types.FunctionType():
            return [
                Place(name, cell.cell_contents, functools.partial(setattr, cell, "cell_contents"))
                for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=1)
                if not is_empty(cell)
            ] + [
                Place(
                    f"{text}.{name}", getattr(value, name), functools.partial(setattr, value, name)
                )
                for name in ("__defaults__", "__kwdefaults__", "__code__")
                if getattr(value, name) is not None
            ]
        case dict() | ChainMap():
            return [
                Place(f"{text}[{key!r}]", item, functools.partial(put_item, value, key), True)
                for key, item in value.items()
            ]
        case list() | deque():
            return [
                Place(f"{text}[{i}]", item, functools.partial(value.__setitem__, i))
                for i, item in enumerate(value)
            ]
        case type() if is_users(value):
            names = [name for name in vars(value) if is_edited(name, vars(value)[name])]
        case types.ModuleType() | types.SimpleNamespace():
            names = [name for name in vars(value) if not name.startswith("__")]
        case _ if is_users(type(value)) and not isinstance(value, tuple):
            slots = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
            names = [
                name for name in (*getattr(value, "__dict__", ()), *slots) if hasattr(value, name)
            ]
        case _:
            return []
    held = getattr(value, "__dict__", {})
    return [
        Place(
            f"{text}.{name}",
            held[name] if name in held else getattr(value, name),
            functools.partial(put_attribute, value, name),
            True,
        )
        for name in names
    ]


def is_edited(name: str, value: Any) -> bool:
    if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        return False
    special = name.startswith("__") and name.endswith("__")
    return not special or (isinstance(value, types.FunctionType) and name in (
        "__call__", "__getitem__", "__len__", "__iter__", "__contains__", "__get__", "__eq__",
    ))  # fmt: skip


def is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def put_item(holder: Any, key: Any, value: Any) -> None:
    if value is MISSING:
        del holder[key]
    else:
        holder[key] = value


def put_attribute(holder: Any, name: str, value: Any) -> None:
    frozen = getattr(type(holder), "__dataclass_params__", None)
    if frozen is not None and frozen.frozen and not isinstance(holder, type):
        set_, delete = object.__setattr__, object.__delattr__
    else:
        set_, delete = setattr, delattr
    if value is MISSING:
        delete(holder, name)
    else:
        set_(holder, name, value)


class Editor:
    """Random edits of the state of one program; the same seed gives the same edits."""

    def __init__(self, function: Any, scope: dict[str, Any], names: Any, random: Random) -> None:
        self.random = random
        self.roots = [("f", function)]
        self.scope, self.names = scope, names

    def edit(self) -> tuple[str, Undo]:
        """One edit: what was done, and what takes it back."""
        found = reachable(self.roots, self.scope, self.names)
        objects = {text: value for text, value in found}
        self.words = sorted({w for _, v in found for w in words_of(v)})
        choices: list[tuple[str, Any]] = [
            ("in place", pair) for pair in found if is_mutable(pair[1])
        ]
        choices += [("put", place) for text, v in found for place in places(text, v)]
        used = {n for _, v in found if isinstance(v, types.FunctionType)
                for n in global_names(v.__code__)} & set(self.names)  # fmt: skip
        choices += [
            ("put", Place(name, self.scope[name], functools.partial(put_item, self.scope, name)))
            for name in sorted(used)
        ]
        choices += [("shadow", pair) for pair in found if hasattr(pair[1], "__dict__")
                    and is_users(type(pair[1])) and not isinstance(pair[1], type)]  # fmt: skip
        while True:
            how, what = self.random.choice(choices)
            match how:
                case "in place":
                    done = self.in_place(*what)
                case "shadow":
                    done = self.shadow(*what)
                case _:
                    done = self.put(what, objects)
            if done is not None:
                return done

    # -- another value in a place -----------------------------------------------------------------

    def put(self, place: Place, objects: dict[str, Any]) -> tuple[str, Undo] | None:
        if place.removable and self.random.random() < 0.04:
            new = MISSING
        else:
            new = self.another(place.value, objects)
        if new is None and place.value is None:
            return None
        try:
            place.put(new)
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ):  # read-only, or code of other cells
            return None
        shown = "removed" if new is MISSING else f"= {short(new)}"
        return f"{place.text} {shown} (was {short(place.value)})", lambda: place.put(place.value)

    def another(self, value: Any, objects: dict[str, Any]) -> Any:
        """A value that may stand for this one: equal, of another type, or other."""
        random = self.random
        match value:
            case enum.Enum():
                return random.choice(list(type(value)))
            case bool() | int() | float() | np.generic():
                return self.number(value)
            case str():
                return random.choice([*self.words, value + "?"])
            case None:
                return random.choice([None, 0.5, 1])
            case np.ndarray():
                return self.array(value)
            case tg.Tensor():
                return random.choice([tg.tensor, np.array])(self.array(value.numpy()))
            case tuple() if value:
                at = random.randrange(len(value))
                items = [*value[:at], self.another(value[at], objects), *value[at + 1 :]]
                if random.random() < 0.1 and type(value) is tuple:
                    items = random.choice([[*value, 1.5], items[:-1]])
                return tuple.__new__(type(value), items) if type(items) is list else items
            case types.CodeType():
                return self.code(value)
            case functools.partial():
                keywords = {k: self.another(v, objects) for k, v in value.keywords.items()}
                return functools.partial(value.func, *value.args, **keywords)
            case property():
                return property(self.wrapped(value.fget))
            case staticmethod() | classmethod():
                return type(value)(self.wrapped(value.__func__))
            case types.FunctionType() | np.ufunc() | types.MethodType():
                return self.wrapped(value)
            case list() | dict() | set() | deque():
                return copy.copy(value) if random.random() < 0.5 else copy.deepcopy(value)
            case type() | types.ModuleType():
                return value
        same = [v for v in objects.values() if type(v) is type(value)]
        return random.choice([copy.copy(value), random.choice(same) if same else value])

    def number(self, value: Any) -> Any:
        random = self.random
        plain = value.item() if isinstance(value, np.generic) else value
        fresh = [round(random.uniform(-3.0, 3.0), 2), random.randrange(4), 0.0, -0.0, math.nan]
        types_ = [int, float, bool, np.float64, np.float32, np.int64]
        if random.random() < 0.5:
            return random.choice([*fresh, True, False, None, 2.0, 2, 1e300])
        try:
            return random.choice(types_)(plain)
        except (ValueError, OverflowError):
            return -plain

    def array(self, a: np.ndarray) -> np.ndarray:
        random = self.random
        match random.randrange(11):
            case 0:
                return a.copy()
            case 1:
                return a.astype(random.choice(["float32", "int64", "float64", "bool"]))
            case 2:
                return np.asarray(a + random.uniform(-1.0, 1.0)).astype(a.dtype)
            case 3:
                return np.asarray(round(random.uniform(-2.0, 2.0), 2)).astype(a.dtype)
            case 4 if a.ndim < 2:
                return np.stack([a, a * 2])
            case 5:
                return np.asfortranarray(a)
            case 6 if a.ndim:
                return a[::-1]
            case 7 if a.ndim:
                return a[:1]
            case 8:
                frozen = a.copy()
                frozen.flags.writeable = False
                return frozen
            case 9 if a.ndim:
                return np.concatenate([a, a[:1]])
        return np.array([random.uniform(-1.0, 3.0) for _ in range(a.size)]).reshape(
            a.shape
        ).astype(a.dtype)  # fmt: skip

    def code(self, code: types.CodeType) -> types.CodeType:
        """The same code with another constant in it."""
        numbers = [i for i, c in enumerate(code.co_consts) if type(c) in (int, float, str)]
        if not numbers:
            return code.replace(co_name=code.co_name)
        at = self.random.choice(numbers)
        constants = list(code.co_consts)
        new = self.another(constants[at], {})
        constants[at] = new if type(new) is type(constants[at]) else constants[at]
        return code.replace(co_consts=tuple(constants))

    def wrapped(self, function: Any) -> Any:
        """A function in the place of another: the same again, or one that does more."""
        random = self.random
        factor = round(random.uniform(-2.0, 2.0), 2)
        if isinstance(function, types.FunctionType) and random.random() < 0.3:
            again = types.FunctionType(
                function.__code__, function.__globals__, function.__name__,
                function.__defaults__, function.__closure__,
            )  # fmt: skip
            again.__kwdefaults__ = function.__kwdefaults__
            return again
        if isinstance(function, np.ufunc):
            return random.choice([np.sin, np.cos, np.tanh])

        def more(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            return found * factor if isinstance(found, float | tg.Tensor | np.ndarray) else found

        return more

    def shadow(self, text: str, value: Any) -> tuple[str, Undo] | None:
        """An instance attribute over what its class has."""
        if isinstance(value, type) or type(value).__setattr__ is not object.__setattr__:
            return None
        names = [
            name for cls in type(value).__mro__ if is_users(cls) for name in vars(cls)
            if is_edited(name, vars(cls)[name]) and name not in vars(value)
        ]  # fmt: skip
        if not names:
            return None
        name = self.random.choice(names)
        old = getattr(value, name, None)
        new = self.another(old, {}) if not callable(old) else self.wrapped(old)
        try:
            setattr(value, name, new)
        except AttributeError:
            return None
        return f"{text}.{name} shadowed by {short(new)}", lambda: vars(value).pop(name, None)

    # -- the object itself ------------------------------------------------------------------------

    def in_place(self, text: str, value: Any) -> tuple[str, Undo] | None:
        random = self.random
        match value:
            case list() | deque():
                before = list(value)
                change = random.choice([value.reverse, value.clear, lambda: value.append(1.5),
                                        lambda: value and value.pop(),
                                        lambda: value.extend(before[:1])])  # fmt: skip
                change()

                def undo() -> None:
                    value.clear()
                    value.extend(before)

                return f"{text} is {short(value)} (was {short(before)})", undo
            case ChainMap():
                return self.in_place(text, value.maps[0])
            case dict():
                before = dict(value)
                if random.random() < 0.5 and before:
                    key = random.choice(list(before))
                    value[key] = value.pop(key) if random.random() < 0.5 else before[key]
                else:
                    value[random.choice([*self.words, "new"])] = 1.5

                def undo() -> None:
                    value.clear()
                    value.update(before)

                return f"{text} is {short(value)}", undo
            case set():
                before = set(value)
                value ^= {random.choice([*self.words, "relu"])}

                def undo() -> None:
                    value.clear()
                    value.update(before)

                return f"{text} is {value}", undo
            case np.ndarray() if value.flags.writeable and value.size:
                before = value.copy()
                at = random.randrange(value.size)
                with np.errstate(all="ignore"):
                    value.flat[at] = random.choice([0, random.uniform(-2.0, 3.0), 2])
                return f"{text}.flat[{at}] = {value.flat[at]}", lambda: np.copyto(value, before)
            case tg.Tensor() if value.ndim and value.numpy().flags.writeable and len(value):
                old = value.numpy().copy()
                at = random.randrange(len(value))
                value[at] = random.uniform(-2.0, 3.0)
                return f"{text}[{at}] = ...", lambda: value.__setitem__(slice(None), old)
        return None


def words_of(value: Any) -> list[str]:
    if isinstance(value, types.FunctionType):
        return [c for c in value.__code__.co_consts if isinstance(c, str) and c.isidentifier()]
    if isinstance(value, dict):
        return [key for key in value if isinstance(key, str) and key.isidentifier()]
    return []


def is_mutable(value: Any) -> bool:
    return isinstance(value, list | dict | set | deque | ChainMap | np.ndarray | tg.Tensor)


def short(value: Any) -> str:
    try:
        return " ".join(repr(value).split())[:60]
    except Exception:
        return f"a {type(value).__name__}"
