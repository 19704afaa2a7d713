"""Attributes of objects: looked up, set and deleted as CPython's C code does, step by step.

What is written in Python on the way (`__getattr__`, properties, descriptors) is called by the
machine; what is stored in classes and instances is asked of the world; C getters go through its
gate.
"""

from __future__ import annotations

import collections
import functools
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

from tracegrad.machine.decoding import VERSION
from tracegrad.machine.world_protocol import ABSENT, is_a, type_dict, type_mro

# Exact types whose methods are C code and cannot be changed: nothing of them is to be looked up.
PLAIN_TYPES: tuple[Any, ...] = (
    *(bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range, slice),
    *(type(None), type(...), type(NotImplemented), bytearray, memoryview),
    *(type({}.keys()), type({}.values()), type({}.items())),
)
PLAIN = frozenset(map(id, PLAIN_TYPES))
# Types of class attributes that are C code, or nothing that could be called.
C_KINDS = frozenset(
    map(
        id,
        (
            *(WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType),
            *(ClassMethodDescriptorType, MethodWrapperType, GetSetDescriptorType),
            *(MemberDescriptorType, type(None)),
        ),
    )
)
# Descriptors of C code that hide an instance's attribute of their name, and those that do not.
C_DATA = frozenset(map(id, (GetSetDescriptorType, MemberDescriptorType)))
C_METHODS = frozenset(map(id, (MethodDescriptorType, WrapperDescriptorType)))
# Types of values that are no descriptors: what a class holds of them is what an instance shows.
VALUES = PLAIN | {id(type), id(BuiltinFunctionType), id(ModuleType), id(MethodType)}

GENERIC_GET = object.__getattribute__
TYPE_GET = type.__getattribute__
MODULE_GET = ModuleType.__getattribute__
SUPER_GET = super.__getattribute__
# Those of types in C whose slot is `object`'s own function: what looks an attribute up there.
GENERIC_GETS = frozenset(
    id(cls.__getattribute__)
    for cls in (
        *(object, SimpleNamespace, BaseException, property, staticmethod, classmethod),
        *(int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset),
        *(collections.deque, collections.defaultdict, collections.OrderedDict, functools.partial),
    )
)
GENERIC_SET = object.__setattr__
GENERIC_DELETE = object.__delattr__


def in_python(m, cls: type, name: str) -> Any:
    """A class's special method where it is not C code: a function, a descriptor; else None."""
    if id(cls) in m.opaque:
        return None
    found = m.class_attribute(cls, name)
    if found is ABSENT or id(type(found)) in C_KINDS:
        return None
    if type(found) is FunctionType and not m.interpretable(found):
        return None
    return found


def special(m, x: Any, name: str) -> Any:
    """An object's special method where it is not C code; else None."""
    if id(type(x)) in PLAIN:
        return None
    return in_python(m, m.type_of(x), name)


def call_special(m, found: Any, x: Any, *args: Any) -> Any:
    """Calls what `special` found."""
    if type(found) is FunctionType:
        return m.call_function(found, (x, *args), {})
    value, owner = m.midway(bound, m, found, x, m.type_of(x))
    return m.call(value, args if owner is ABSENT else (owner, *args), {})


def bound(m, found: Any, x: Any, cls: type) -> tuple[Any, Any]:
    """A class's attribute as an instance shows it: (value, ABSENT) or (function, its self)."""
    kind = type(found)
    if kind is FunctionType or id(kind) in C_METHODS:
        return found, x
    if kind is staticmethod:
        return m.part(found, "__func__", found.__func__), ABSENT
    if kind is classmethod:
        return classmethod_of(m, found, cls)
    if id(kind) in VALUES:
        return found, ABSENT
    if kind is property:
        return get_property(m, found, x), ABSENT
    getter = m.class_attribute(kind, "__get__")
    if getter is ABSENT:
        return found, ABSENT
    if type(getter) is FunctionType:
        return m.call_function(getter, (found, x, cls), {}), ABSENT
    return m.native(getter, found, x, cls), ABSENT


def classmethod_of(m, found: classmethod, cls: type) -> tuple[Any, Any]:
    function = m.part(found, "__func__", found.__func__)
    if type(function) is FunctionType:
        return function, cls
    chained = type(function) in (property, classmethod, staticmethod)
    if VERSION < (3, 13) and (chained or special(m, function, "__get__")):
        return as_value(*bound(m, function, cls, cls)), ABSENT
    return MethodType(function, cls), ABSENT


def get_property(m, found: property, x: Any) -> Any:
    fget = m.part(found, "fget", found.fget)
    if fget is None:
        return m.native(type(found).__get__, found, x)  # the error
    return m.call(fget, (x,), {})


def as_value(value: Any, owner: Any) -> Any:
    """One value of the pair: a bound method where there is an owner."""
    if owner is ABSENT:
        return value
    if type(value) is FunctionType:
        return MethodType(value, owner)
    if owner is None:  # `__get__` takes it for no owner
        return getattr(None, value.__name__)
    return value.__get__(owner, type(owner))


def load_attribute(m, x: Any, name: str) -> Any:
    """`x.name`"""
    value, owner = load_method(m, x, name)
    if owner is ABSENT:
        return value
    return as_value(value, owner)


def load_method(m, x: Any, name: str) -> tuple[Any, Any]:
    """`x.name` in two parts: (value, ABSENT), or (function, self) of a method."""
    try:
        kind = type(x)
        if id(kind) in PLAIN:
            for base in type_mro(kind):
                attributes = type_dict(base)
                if name in attributes:
                    found = attributes[name]
                    if id(type(found)) in C_METHODS:
                        return found, x
                    break
            return m.native(getattr, x, name), ABSENT
        if id(kind) in m.opaque:
            return m.native(getattr, x, name), ABSENT
        cls = m.type_of(x)
        getter = m.class_attribute(cls, "__getattribute__")
        if id(getter) in GENERIC_GETS:
            result = generic_lookup(m, x, cls, name)
        elif getter is TYPE_GET:
            result = type_lookup(m, x, cls, name)
        elif getter is MODULE_GET:
            result = generic_lookup(m, x, cls, name)
            if result is None:
                return module_missing(m, x, name), ABSENT
        elif getter is SUPER_GET and kind is super:
            result = super_lookup(m, x, name)
        elif type(getter) is FunctionType and m.interpretable(getter):
            return overridden(m, getter, x, cls, name), ABSENT
        else:
            return m.native(getattr, x, name), ABSENT
        if result is not None:
            return result
        fallback = m.class_attribute(cls, "__getattr__")
        if fallback is ABSENT or id(type(fallback)) in C_KINDS:
            missing(x, name, getter)
        return call_special(m, fallback, x, name), ABSENT
    except AttributeError as error:
        if error.name is None and error.obj is None:
            error.name, error.obj = name, x
        raise


def missing(x: Any, name: str, getter: Any = GENERIC_GET) -> Any:
    """Raises the AttributeError of an attribute that was looked for in vain, in CPython's words."""
    getter(x, name)
    raise AttributeError(f"'{type(x).__name__}' object has no attribute '{name}'")


def generic_lookup(m, x: Any, cls: type, name: str) -> tuple[Any, Any] | None:
    """What `object.__getattribute__` finds, or None."""
    found = m.class_attribute(cls, name)
    if found is ABSENT:
        own = m.own_attribute(x, name)
        return None if own is ABSENT else (own, ABSENT)
    kind = type(found)
    if kind is FunctionType or id(kind) in VALUES or id(kind) in C_METHODS:
        own = m.own_attribute(x, name)
        if own is not ABSENT:
            return own, ABSENT
        return (found, ABSENT) if id(kind) in VALUES else (found, x)
    if kind is property:
        return get_or_none(m, cls, get_property, found, x)
    if id(kind) in C_DATA:
        if name == "__dict__" or name == "__class__":
            return m.native(getattr, x, name), ABSENT
        return get_or_none(m, cls, _native_get, x, name)
    if m.class_attribute(kind, "__get__") is ABSENT or not is_data(m, kind):
        own = m.own_attribute(x, name)
        if own is not ABSENT:
            return own, ABSENT
    return get_or_none(m, cls, bound, found, x, cls)


def _native_get(m, x: Any, name: str) -> Any:
    return m.native(GENERIC_GET, x, name) if type(x) is not type else m.native(getattr, x, name)


def get_or_none(m, cls: type, get: Any, *args: Any) -> tuple[Any, Any] | None:
    """Runs a getter; where it fails by an AttributeError and `__getattr__` is there: None."""
    if m.class_attribute(cls, "__getattr__") is ABSENT:
        value = get(m, *args)
    else:
        try:
            value = get(m, *args)
        except AttributeError:
            return None
    return value if get is bound else (value, ABSENT)


def is_data(m, kind: type) -> bool:
    """Whether a descriptor's type makes it hide the instance's own attribute."""
    if m.class_attribute(kind, "__set__") is not ABSENT:
        return True
    return m.class_attribute(kind, "__delete__") is not ABSENT


def type_lookup(m, x: type, meta: type, name: str) -> tuple[Any, Any] | None:
    """What `type.__getattribute__` finds for a class, or None."""
    hidden = m.class_attribute(meta, name)
    if hidden is not ABSENT:
        if id(type(hidden)) in C_DATA:
            return m.native(getattr, x, name), ABSENT
        if type(hidden) is property:
            return get_or_none(m, meta, get_property, hidden, x)
        if id(type(hidden)) not in VALUES and type(hidden) is not FunctionType:
            kind = type(hidden)
            if m.class_attribute(kind, "__get__") is not ABSENT and is_data(m, kind):
                return get_or_none(m, meta, bound, hidden, x, meta)
    found = m.class_attribute(x, name)
    if found is not ABSENT:
        kind = type(found)
        if kind is FunctionType or id(kind) in VALUES or kind is property or id(kind) in C_METHODS:
            return found, ABSENT
        if kind is staticmethod:
            return m.part(found, "__func__", found.__func__), ABSENT
        if kind is classmethod:
            return classmethod_of(m, found, x)
        getter = m.class_attribute(kind, "__get__")
        if getter is ABSENT:
            return found, ABSENT
        if type(getter) is FunctionType:
            return get_or_none(m, meta, class_get, getter, found, x)
        return m.native(getter, found, None, x), ABSENT
    if hidden is not ABSENT:
        return bound(m, hidden, x, meta)
    return None


def class_get(m, getter: FunctionType, found: Any, cls: type) -> Any:
    """`descriptor.__get__(None, cls)`"""
    return m.call_function(getter, (found, None, cls), {})


def super_lookup(m, x: super, name: str) -> tuple[Any, Any] | None:
    """What a `super` object finds beyond its class; None where its own attribute is meant."""
    start, self_class, owner = (
        SUPER_GET(x, "__thisclass__"),
        SUPER_GET(x, "__self_class__"),
        SUPER_GET(x, "__self__"),
    )
    if self_class is None or name == "__class__":
        return m.native(SUPER_GET, x, name), ABSENT
    order = list(type_mro(self_class))
    for base in order[order.index(start) + 1 :]:
        found = m.own_attribute(base, name)
        if found is not ABSENT:
            if owner is self_class:  # in a class method
                return of_class(m, found, self_class)
            return bound(m, found, owner, self_class)
    return m.native(SUPER_GET, x, name), ABSENT


def of_class(m, found: Any, cls: type) -> tuple[Any, Any]:
    """A class's attribute as the class itself shows it."""
    kind = type(found)
    if kind is staticmethod or kind is classmethod:
        return bound(m, found, None, cls)
    getter = m.class_attribute(kind, "__get__")
    if getter is ABSENT or kind is FunctionType:
        return found, ABSENT
    if type(getter) is FunctionType:
        return m.call_function(getter, (found, None, cls), {}), ABSENT
    return m.native(getter, found, None, cls), ABSENT


def module_missing(m, x: ModuleType, name: str) -> Any:
    fallback = m.own_attribute(x, "__getattr__")
    if fallback is ABSENT:
        return m.native(MODULE_GET, x, name)
    return m.call(fallback, (name,), {})


def overridden(m, getter: FunctionType, x: Any, cls: type, name: str) -> Any:
    """`x.name` where a class has its own `__getattribute__`."""
    fallback = m.class_attribute(cls, "__getattr__")
    if fallback is ABSENT:
        return m.call_function(getter, (x, name), {})
    try:
        return m.midway(m.call_function, getter, (x, name), {})
    except AttributeError:
        pass
    return call_special(m, fallback, x, name)


def plain_lookup(m, x: Any, name: str) -> Any:
    """`object.__getattribute__(x, name)`"""
    result = generic_lookup(m, x, m.type_of(x), name)
    return missing(x, name) if result is None else as_value(*result)


def store_attribute(m, x: Any, name: str, value: Any) -> None:
    """`x.name = value`"""
    cls = m.type_of(x)
    setter = m.class_attribute(cls, "__setattr__")
    if setter is GENERIC_SET:
        plain_store(m, x, name, value)
    elif type(setter) is FunctionType and m.interpretable(setter):
        m.call_function(setter, (x, name, value), {})
    elif setter is type.__setattr__:
        type_store(m, x, name, value)
    elif id(type(setter)) in C_KINDS or type(setter) is FunctionType:
        m.native(setattr, x, name, value)
    else:
        call_special(m, setter, x, name, value)


def plain_store(m, x: Any, name: str, value: Any) -> None:
    """`object.__setattr__(x, name, value)`"""
    cls = m.type_of(x)
    found = m.class_attribute(cls, name)
    kind = type(found)
    if found is ABSENT or id(kind) in VALUES or kind is FunctionType:
        m.set_own_attribute(x, name, value)
    elif kind is property:
        fset = m.part(found, "fset", found.fset)
        if fset is None:
            m.native(GENERIC_SET, x, name, value)  # the error
        m.call(fset, (x, value), {})
    elif id(kind) in C_DATA:
        m.native(GENERIC_SET if not is_a(x, type) else setattr, x, name, value)
    else:
        setter = m.class_attribute(kind, "__set__")
        if setter is ABSENT and not is_data(m, kind):
            m.set_own_attribute(x, name, value)
        elif setter is ABSENT or id(type(setter)) in C_KINDS:
            m.native(GENERIC_SET, x, name, value)
        else:
            call_special(m, setter, found, x, value)


def type_store(m, x: type, name: str, value: Any) -> None:
    """`x.name = value` of a class: a descriptor of the metaclass, or the class's own dict."""
    found = m.class_attribute(m.type_of(x), name)
    if type(found) is property and found.fset is not None:
        m.call(m.part(found, "fset", found.fset), (x, value), {})
        return
    setter = ABSENT if found is ABSENT else in_python(m, type(found), "__set__")
    if setter is ABSENT or setter is None:
        if found is not ABSENT and (id(type(found)) in C_DATA or type(found) is property):
            m.native(setattr, x, name, value)
        else:
            m.set_own_attribute(x, name, value)
    else:
        call_special(m, setter, found, x, value)


def delete_attribute(m, x: Any, name: str) -> None:
    """`del x.name`"""
    cls = m.type_of(x)
    deleter = m.class_attribute(cls, "__delattr__")
    if deleter is GENERIC_DELETE:
        plain_delete(m, x, name)
    elif type(deleter) is FunctionType and m.interpretable(deleter):
        m.call_function(deleter, (x, name), {})
    elif deleter is type.__delattr__ and m.class_attribute(cls, name) is ABSENT:
        m.delete_own_attribute(x, name)
    elif id(type(deleter)) in C_KINDS or type(deleter) is FunctionType:
        m.native(delattr, x, name)
    else:
        call_special(m, deleter, x, name)


def plain_delete(m, x: Any, name: str) -> None:
    """`object.__delattr__(x, name)`"""
    found = m.class_attribute(m.type_of(x), name)
    kind = type(found)
    if found is ABSENT or id(kind) in VALUES or kind is FunctionType:
        m.delete_own_attribute(x, name)
    elif kind is property:
        fdel = m.part(found, "fdel", found.fdel)
        if fdel is None:
            m.native(GENERIC_DELETE, x, name)  # the error
        m.call(fdel, (x,), {})
    elif id(kind) in C_DATA:
        m.native(GENERIC_DELETE, x, name)
    else:
        deleter = m.class_attribute(kind, "__delete__")
        if deleter is ABSENT and not is_data(m, kind):
            m.delete_own_attribute(x, name)
        elif deleter is ABSENT or id(type(deleter)) in C_KINDS:
            m.native(GENERIC_DELETE, x, name)
        else:
            call_special(m, deleter, found, x)
