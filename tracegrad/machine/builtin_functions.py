"""Builtins of one or two objects: `len`, `str`, `int`, `getattr`, `isinstance`, operators."""

from __future__ import annotations

import abc
import functools
import math
import operator
from collections.abc import Callable
from types import UnionType
from typing import Any

from tracegrad.machine import attribute_lookup, operators
from tracegrad.machine.attribute_lookup import (
    PLAIN,
    as_value,
    call_special,
    load_attribute,
    special,
)
from tracegrad.machine.calls import HEAP_TYPE, make_instance
from tracegrad.machine.operators import BINARY, COMPARE, DIVMOD, UNARY, compare, truth
from tracegrad.machine.replacement_table import REPLACED, REPLACED_KINDS, replaces
from tracegrad.machine.world_protocol import ABSENT, is_a


def by_method(function: Any, name: str, check: Callable | None = None) -> None:
    """Replaces a function of one argument whose work a special method may do."""

    def own(m, args, kwargs):
        if len(args) == 1 and not kwargs:
            method = special(m, args[0], name)
            if method is not None:
                result = call_special(m, method, args[0])
                return result if check is None else check(m, result)
        return m.native(function, *args, **kwargs)

    replaces(function)(own)


def text_of(name: str) -> Callable:
    def check(m, result):
        if not is_a(result, str):
            raise TypeError(f"{name} returned non-string (type {type(result).__name__})")
        return result

    return check


by_method(repr, "__repr__", text_of("__repr__"))
by_method(abs, "__abs__")
by_method(reversed, "__reversed__")


def checked_hash(m, result):
    if not is_a(result, int):
        raise TypeError("__hash__ method should return an integer")
    if -(1 << 63) <= result < 1 << 63:
        return -2 if result == -1 else int(result)
    return hash(result)


by_method(hash, "__hash__", checked_hash)


@replaces(ascii)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs and special(m, args[0], "__repr__") is not None:
        return REPLACED[id(repr)](m, args, kwargs).encode("ascii", "backslashreplace").decode()
    return m.native(ascii, *args, **kwargs)


@replaces(len)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(len, *args, **kwargs)
    return operators.length(m, args[0])


@replaces(bool)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(bool, *args, **kwargs)
    if special(m, args[0], "__bool__") is None and special(m, args[0], "__len__") is None:
        return m.native(bool, args[0])
    return truth(m, args[0])


@replaces(operator.truth)
def _(m, args, kwargs):
    return REPLACED[id(bool)](m, args, kwargs)


@replaces(str)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        x = args[0]
        method = special(m, x, "__str__")
        if method is not None:
            return text_of("__str__")(m, call_special(m, method, x))
        if m.class_attribute(m.type_of(x), "__str__") is object.__str__:
            method = special(m, x, "__repr__")
            if method is not None:
                return text_of("__repr__")(m, call_special(m, method, x))
    return m.native(str, *args, **kwargs)


@replaces(format)
def _(m, args, kwargs):
    if args and not kwargs and (len(args) == 1 or (len(args) == 2 and is_a(args[1], str))):
        x = args[0]
        method = special(m, x, "__format__")
        if method is not None:
            spec = args[1] if len(args) > 1 else ""
            result = call_special(m, method, x, spec)
            if not is_a(result, str):
                kind = type(result).__name__
                raise TypeError(f"__format__ must return a str, not {kind}")
            return result
        simple = id(type(x)) not in PLAIN and (len(args) == 1 or args[1] == "")
        if simple and m.class_attribute(m.type_of(x), "__format__") is object.__format__:
            return REPLACED[id(str)](m, (x,), {})
    return m.native(format, *args, **kwargs)


def number(kind: Any, *names: str) -> None:
    """Replaces a type of numbers: `int(x)` runs an `__int__` in Python."""

    def own(m, args, kwargs):
        if len(args) == 1 and not kwargs and id(type(args[0])) not in PLAIN:
            x = args[0]
            for name in names:
                method = special(m, x, name)
                if method is not None:
                    result = call_special(m, method, x)
                    cls = operators.shown_type(m, result)
                    return m.native(kind, Converted(name, result, cls, x).value())
                if m.class_attribute(m.type_of(x), name) is not ABSENT:
                    break
        return m.native(kind, *args, **kwargs)

    replaces(kind)(own)


class Converted:
    """What a method like `__int__` returned, checked by C code as if it had called it."""

    def __init__(self, name: str, result: Any, cls: type, x: Any) -> None:
        self.name, self.result, self.cls, self.x = name, result, cls, x

    def value(self) -> Any:
        wanted = {"__float__": float, "__complex__": complex}.get(self.name, int)
        stands = type(self.result) is not self.cls and issubclass(self.cls, wanted)
        if (self.cls is wanted or stands) and self.name != "__trunc__":
            return self.result
        owner = type(type(self.x).__name__, (), {self.name: lambda _: self.result})
        return owner()


number(int, "__int__", "__index__", "__trunc__")
number(float, "__float__", "__index__")
number(complex, "__complex__", "__float__", "__index__")


def of_floats(function: Any) -> None:
    """Replaces a function of `math`: `math.sqrt(x)` runs an `__float__` in Python."""

    def own(m, args, kwargs):
        return m.native(function, *[as_float(m, x) for x in args], **kwargs)

    replaces(function)(own)


def as_float(m, x: Any) -> Any:
    """What C code that asks for a float has of an object."""
    method = None if id(type(x)) in PLAIN else special(m, x, "__float__")
    if method is None:
        return x
    result = call_special(m, method, x)
    return Converted("__float__", result, operators.shown_type(m, result), x).value()


_NOT_OF_FLOATS = frozenset({
    *("ceil", "comb", "dist", "factorial", "floor", "fsum", "gcd", "isqrt", "lcm", "perm", "prod"),
    *("sumprod", "trunc"),
})  # fmt: skip
for _name, _function in vars(math).items():
    if callable(_function) and _name not in _NOT_OF_FLOATS and not _name.startswith("_"):
        of_floats(_function)


@replaces(round)
def _(m, args, kwargs):
    if args and not kwargs:
        method = special(m, args[0], "__round__")
        if method is not None:
            return call_special(m, method, *args)
    return m.native(round, *args, **kwargs)


@replaces(divmod)
def _(m, args, kwargs):
    if len(args) == 2 and not kwargs:
        return operators.binary(m, DIVMOD, *args)
    return m.native(divmod, *args, **kwargs)


@replaces(pow)
def _(m, args, kwargs):
    if len(args) == 2 and not kwargs:
        if any(id(type(x)) not in PLAIN for x in args):
            return operators.binary(m, BINARY[8], *args)
    elif len(args) == 3:
        method = special(m, args[0], "__pow__")
        if method is not None:
            return call_special(m, method, *args)
    return m.native(pow, *args, **kwargs)


# -- the operator module -----------------------------------------------------------------------


def as_operator(function: Any, count: int, own: Callable) -> None:
    def replacement(m, args, kwargs):
        if len(args) == count and not kwargs:
            return own(m, *args)
        return m.native(function, *args, **kwargs)

    replaces(function)(replacement)


for _rule in BINARY:
    as_operator(_rule.function, 2, lambda m, a, b, r=_rule: operators.binary(m, r, a, b))
    as_operator(_rule.inplace, 2, lambda m, a, b, r=_rule: operators.inplace(m, r, a, b))
for _rule in COMPARE.values():
    as_operator(_rule.function, 2, lambda m, a, b, r=_rule: compare(m, r, a, b))
for _function, _name in UNARY.values():
    as_operator(_function, 1, lambda m, x, f=_function, n=_name: operators.unary(m, f, n, x))
as_operator(operator.getitem, 2, operators.get_item)
as_operator(operator.setitem, 3, operators.set_item)
as_operator(operator.delitem, 2, operators.delete_item)
as_operator(operator.contains, 2, operators.contains)
as_operator(operator.not_, 1, lambda m, x: not truth(m, x))
as_operator(operator.index, 1, operators.index)


@replaces(operator.call)
def _(m, args, kwargs):
    return m.call(args[0], args[1:], kwargs) if args else m.native(operator.call)


def call_getter(m, getter: Any, args: Any, kwargs: dict) -> Any:
    """`attrgetter("a.b")(x)`, `itemgetter(1)(x)`, `methodcaller("f", 1)(x)`."""
    if len(args) != 1 or kwargs:
        return m.native(getter, *args, **kwargs)
    x = args[0]
    kind, rest = getter.__reduce__()[:2]
    if type(getter) is operator.methodcaller:
        keywords = {}
        if isinstance(kind, functools.partial):
            keywords = m.part(getter, "keywords", kind.keywords)
            rest = (*kind.args, *rest)
        name, *given = rest
        given = m.part(getter, "args", tuple(given))
        return m.call(load_attribute(m, x, name), given, keywords)
    values = []
    for key in rest:
        value = x
        if type(getter) is operator.itemgetter:
            value = operators.get_item(m, value, key)
        else:
            for name in key.split("."):
                value = load_attribute(m, value, name)
        values.append(value)
    return values[0] if len(values) == 1 else tuple(values)


for _kind in (operator.attrgetter, operator.itemgetter, operator.methodcaller):
    REPLACED_KINDS[id(_kind)] = lambda m, *given: m.midway(call_getter, m, *given)


# -- attributes --------------------------------------------------------------------------------


@replaces(getattr)
def _(m, args, kwargs):
    if kwargs or not 2 <= len(args) <= 3 or type(args[1]) is not str:
        return m.native(getattr, *args, **kwargs)
    if len(args) == 2:
        return load_attribute(m, args[0], args[1])
    if m.world.denies(args[0], args[1]):
        return args[2]
    try:
        return load_attribute(m, args[0], args[1])
    except AttributeError as error:
        m.world.handles(error)
        return args[2]


@replaces(hasattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return m.native(hasattr, *args, **kwargs)
    if m.world.denies(args[0], args[1]):
        return False
    try:
        load_attribute(m, args[0], args[1])
    except AttributeError as error:
        return m.world.withholds(error)
    return True


@replaces(setattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 3 or type(args[1]) is not str:
        return m.native(setattr, *args, **kwargs)
    return attribute_lookup.store_attribute(m, *args)


@replaces(delattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return m.native(delattr, *args, **kwargs)
    return attribute_lookup.delete_attribute(m, *args)


def plain_method(function: Any, count: int, own: Callable) -> None:
    """`object.__setattr__(x, ...)` and the like, where classes have their own."""

    def replacement(m, args, kwargs):
        if len(args) != count or kwargs or type(args[1]) is not str:
            return m.native(function, *args, **kwargs)
        if is_a(args[0], type) or id(type(args[0])) in PLAIN:
            return m.native(function, *args)
        return own(m, *args)

    replaces(function)(replacement)


plain_method(object.__getattribute__, 2, attribute_lookup.plain_lookup)
plain_method(object.__setattr__, 3, attribute_lookup.plain_store)
plain_method(object.__delattr__, 2, attribute_lookup.plain_delete)


@replaces(type.__getattribute__)
def _(m, args, kwargs):
    if len(args) == 2 and is_a(args[0], type) and type(args[1]) is str and not kwargs:
        result = attribute_lookup.type_lookup(m, args[0], m.type_of(args[0]), args[1])
        if result is not None:
            return as_value(*result)
    return m.native(type.__getattribute__, *args, **kwargs)


@replaces(type.__call__)
def _(m, args, kwargs):
    cls = args[0] if args else type
    if is_a(cls, type) and cls is not type and cls.__flags__ & HEAP_TYPE:
        return make_instance(m, cls, args[1:], kwargs)
    return m.native(type.__call__, *args, **kwargs)


@replaces(isinstance)
def _(m, args, kwargs):
    if kwargs or len(args) != 2:
        return m.native(isinstance, *args, **kwargs)
    x, kinds = args
    if type(kinds) is tuple or type(kinds) is UnionType:
        own = REPLACED[id(isinstance)]
        each = kinds if type(kinds) is tuple else kinds.__args__
        return any(own(m, (x, kind), {}) for kind in each)
    if m.type_of(x) is kinds and id(kinds) not in m.opaque:
        return True
    return by_metaclass(m, isinstance, "__instancecheck__", x, kinds)


@replaces(issubclass)
def _(m, args, kwargs):
    if kwargs or len(args) != 2:
        return m.native(issubclass, *args, **kwargs)
    x, kinds = args
    if type(kinds) is tuple:
        own = REPLACED[id(issubclass)]
        return any(own(m, (x, kind), {}) for kind in kinds)
    return by_metaclass(m, issubclass, "__subclasscheck__", x, kinds)


def by_metaclass(m, function: Any, name: str, x: Any, kinds: Any) -> bool:
    if type(kinds) is type:
        return m.native(function, x, kinds)
    method = special(m, kinds, name)
    if method is None:
        return m.native(function, x, kinds)
    return truth(m, call_special(m, method, kinds, x))


def natively(function: Any) -> None:
    """A function in Python that asks who called it: it is called as it is."""
    replaces(function)(lambda m, args, kwargs: m.native(function, *args, **kwargs))


natively(abc.ABCMeta.__instancecheck__)
natively(abc.ABCMeta.__subclasscheck__)


@replaces(callable)
def _(m, args, kwargs):
    return m.native(callable, *args, **kwargs)
