"""The world that the machine asks: what names, attributes and C code answer.

The machine executes bytecode and knows nothing of what the values mean. Each read of a name, of an
attribute, of a cell, and each operation done by C code is a question to a world. The one here
answers as CPython does; another may watch, record, or refuse.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType, MethodType
from typing import Any


class Absent:
    """The type of `ABSENT`: what stands where nothing is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<absent>"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = Absent()

type_mro = type.__dict__["__mro__"].__get__
type_dict = type.__dict__["__dict__"].__get__
get_plainly = object.__getattribute__
set_generally = object.__setattr__
# Flag of a class whose instances hold attributes without a dict, until they are asked for one.
HOLDS_VALUES = 1 << 4
# Whether the second class derives from the first, whatever an abstract base class says.
subclasses = type.__subclasscheck__


def attributes_of(x: Any) -> Mapping[str, Any]:
    """An object's dictionary of attributes, empty without one; no `__getattr__` is asked."""
    try:
        held = get_plainly(x, "__dict__")
    except AttributeError:
        return {}
    return held if isinstance(held, dict | MappingProxyType) else {}


def is_a(x: Any, kind: type) -> bool:
    """Whether an object is an instance of a C type, by its type alone: no `__class__` is read."""
    return subclasses(kind, type(x))


class World:
    """Answers as CPython does; a subclass overrides what it wants to see."""

    opaque: frozenset[int] = frozenset()
    """Classes, by id, of whose instances nothing is looked up in Python: C code does it all."""

    watches_c: bool = False
    """Whether what C code calls in C (``map(table.get, names)``) goes through the gate too."""

    turn: Callable | None = None
    """``turn(frame, target)`` is told of each jump backwards, and says where the frame goes on."""

    views: dict[int, tuple]  # the dicts of the classes that were asked, in order of resolution

    def __new__(cls, *args: Any, **kwargs: Any) -> World:
        world = object.__new__(cls)
        world.views = {}
        return world

    # -- names ------------------------------------------------------------------------------

    def load_global(self, names: dict, builtins: dict, name: str) -> Any:
        """The value of a global name, or of a builtin one."""
        if name in names:
            return names[name]
        if name in builtins:
            return builtins[name]
        raise NameError(f"name '{name}' is not defined", name=name)

    def store_global(self, names: dict, name: str, value: Any) -> None:
        names[name] = value

    def delete_global(self, names: dict, name: str) -> None:
        if name not in names:
            raise NameError(f"name '{name}' is not defined", name=name)
        del names[name]

    def load_cell(self, cell: CellType, name: str) -> Any:
        """The contents of a closure's cell; an empty one raises ValueError."""
        return cell.cell_contents

    def store_cell(self, cell: CellType, name: str, value: Any) -> None:
        cell.cell_contents = value

    def delete_cell(self, cell: CellType, name: str) -> None:
        del cell.cell_contents

    # -- what attribute access is made of ---------------------------------------------------

    type_of: Callable = staticmethod(type)

    def class_attribute(self, cls: type, name: str) -> Any:
        """What the first class of the order of resolution holds under a name, or ABSENT."""
        order = type_mro(cls)  # None of a C type that is not in use yet
        known = self.views.get(id(cls))
        if known is None or known[0] is not order:
            known = self.views[id(cls)] = (order, [type_dict(base) for base in order or (object,)])
        for view in known[1]:
            if name in view:
                return view[name]
        return ABSENT

    def denies(self, x: Any, name: str) -> bool:
        """Whether an object that is asked if it has an attribute says no, whatever it has."""
        return False

    def own_attribute(self, x: Any, name: str) -> Any:
        """What an instance, a module or a class holds itself under a name; or ABSENT.

        An instance that was asked for its ``__dict__`` is slow to read from then on (CPython 3.11,
        3.12): where the class leaves no doubt it is asked for the attribute alone.
        """
        if type(x).__flags__ & HOLDS_VALUES:
            shown = World.class_attribute(self, type(x), name)
            if shown is ABSENT or type(shown) is FunctionType:
                return _beside_class(x, name)
        try:
            attributes = get_plainly(x, "__dict__")
        except AttributeError:
            return hidden_attribute(x, name) if type(x).__dictoffset__ else ABSENT
        if type(attributes) is dict or type(attributes) is MappingProxyType:
            return attributes.get(name, ABSENT)
        return dict.get(attributes, name, ABSENT) if is_a(attributes, dict) else ABSENT

    def set_own_attribute(self, x: Any, name: str, value: Any) -> None:
        set_plainly(x, name, value)

    def delete_own_attribute(self, x: Any, name: str) -> None:
        delete_plainly(x, name)

    # -- exceptions -------------------------------------------------------------------------

    def handles(self, error: BaseException) -> None:
        """An exception goes to a handler (``except``, ``finally``, ``with``)."""

    def catches(self, error: BaseException, kinds: Sequence[type]) -> None:
        """An ``except kinds`` catches an exception."""

    def withholds(self, error: AttributeError) -> bool:
        """Whether an object has an attribute, of which reading it raises this."""
        return False

    # -- functions --------------------------------------------------------------------------

    def parts_of(self, function: FunctionType) -> tuple:
        """What a call of a function reads: code, defaults, keyword defaults, closure, globals."""
        return (
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            function.__closure__,
            function.__globals__,
        )

    def part(self, owner: Any, name: str, value: Any) -> Any:
        """A part of an unchangeable object (`method.__self__`) on its way to the machine."""
        return value

    def interprets(self, function: FunctionType) -> bool:
        """Whether the body of a function is interpreted; where not, its call is native."""
        return True

    # -- the gate ---------------------------------------------------------------------------

    # What C code does: `native(operation, *operands, **keywords)`. A subclass writes a method.
    native: Callable = staticmethod(operator.call)  # type: ignore[arg-type]

    def from_c(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What C code gives to a function that it calls."""
        return args, kwargs

    def to_c(self, value: Any, looks: bool = False) -> None:
        """What a function or a generator gives to C code, which surely `looks` at it or may."""

    def returned(self, value: Any) -> Any:
        """What a function that was called from outside has returned, as its caller gets it."""
        return value

    def follows(self, x: Any) -> bool:
        """Whether the world is to be asked where values of C code such as this are compared."""
        return False

    def decide(self, x: Any) -> bool:
        """The truth of a value that a branch depends on, where no method in Python tells it."""
        return self.native(bool, x)


def _beside_class(x: Any, name: str) -> Any:
    """What an object holds itself, of a name for which its class has nothing or a function."""
    try:
        value = get_plainly(x, name)
    except AttributeError:
        return ABSENT
    # A method is made anew at each look.
    return value if type(value) is not MethodType or value is get_plainly(x, name) else ABSENT


def hidden_attribute(x: Any, name: str) -> Any:
    """The same of an object of C code which has a dict that it does not show."""
    value = getattr(x, name, ABSENT)
    return ABSENT if value is getattr(type(x), name, value) else value


def set_plainly(x: Any, name: str, value: Any) -> None:
    """Sets an attribute as the C type of the object does, whatever its classes in Python say."""
    try:
        set_generally(x, name, value)
        return
    except (TypeError, AttributeError):  # an object whose C type has its own way
        pass
    if is_a(x, type):
        type.__setattr__(x, name, value)
    else:
        _setter(type(x), "__setattr__")(x, name, value)


def delete_plainly(x: Any, name: str) -> None:
    """Deletes an attribute as the C type of the object does."""
    if is_a(x, type):
        type.__delattr__(x, name)
    else:
        _setter(type(x), "__delattr__")(x, name)


def _setter(cls: type, name: str) -> Callable:
    """The method of the nearest C type, as `object.__setattr__` asks for it."""
    for base in type_mro(cls):
        method = type_dict(base).get(name)
        if method is not None and type(method) is type(object.__setattr__):
            return method
    return getattr(object, name)
