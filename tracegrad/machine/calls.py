"""Calls: functions, methods, classes, C code and objects with a `__call__`."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from tracegrad.machine.attribute_lookup import C_KINDS, PLAIN, as_value, bound, in_python
from tracegrad.machine.world_protocol import ABSENT, is_a, subclasses

HEAP_TYPE = 1 << 9
C_CALLABLES = frozenset(
    map(
        id,
        (
            *(BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType),
            *(MethodWrapperType, ClassMethodDescriptorType),
        ),
    )
)


def call(m, callee: Any, args: Any, kwargs: dict) -> Any:
    """`callee(*args, **kwargs)`"""
    kind = type(callee)
    if kind is FunctionType:
        return m.call_function(callee, args, kwargs)
    if kind is MethodType:
        function = m.part(callee, "__func__", callee.__func__)
        owner = m.part(callee, "__self__", callee.__self__)
        return call(m, function, (owner, *args), kwargs)
    if id(kind) in C_CALLABLES:
        return call_c(m, callee, kind, args, kwargs)
    if is_a(callee, type):
        return call_class(m, callee, args, kwargs)
    replaced = m.replaced_kinds.get(id(kind))
    if replaced is not None:
        return replaced(m, callee, args, kwargs)
    method = in_python(m, m.type_of(callee), "__call__")
    if method is None:
        return m.native(callee, *args, **kwargs)
    if type(method) is FunctionType:
        return m.call_function(method, (callee, *args), kwargs)
    value, owner = m.midway(bound, m, method, callee, m.type_of(callee))
    return call(m, value, args if owner is ABSENT else (owner, *args), kwargs)


def call_c(m, callee: Any, kind: type, args: Any, kwargs: dict) -> Any:
    """Calls a C function: the machine's own version of it where it calls back, else the gate."""
    replaced = m.replaced.get(id(callee))
    if replaced is not None:
        return m.midway(replaced, m, args, kwargs)
    if kind is BuiltinFunctionType or kind is MethodWrapperType:
        owner = callee.__self__
        none = owner is None and kind is BuiltinFunctionType
        if not none and type(owner) is not ModuleType and not is_a(owner, type):
            owner = m.part(callee, "__self__", owner)
            method = method_of(type(owner), callee)
            if method is not None:
                return call_c(m, method, type(method), (owner, *args), kwargs)
    return m.native(callee, *args, **kwargs)


def method_of(cls: type, callee: Any) -> Any:
    """The method of a type that gave a bound C method; None where there is none."""
    name = callee.__name__
    for base in cls.__mro__ or ():
        found: Any = base.__dict__.get(name)
        in_c = type(found) is MethodDescriptorType or type(found) is WrapperDescriptorType
        if in_c and as_value(found, callee.__self__) == callee:
            return found
    return None


def call_class(m, cls: type, args: Any, kwargs: dict) -> Any:
    """`cls(*args, **kwargs)`: the metaclass's `__call__`, or an instance made."""
    replaced = m.replaced.get(id(cls))
    if replaced is not None:
        return m.midway(replaced, m, args, kwargs)
    meta = m.type_of(cls)
    if meta is not type:
        method = in_python(m, meta, "__call__")
        if method is not None:
            value, owner = m.midway(bound, m, method, cls, meta)
            return call(m, value, args if owner is ABSENT else (owner, *args), kwargs)
    elif id(cls) in PLAIN or not cls.__flags__ & HEAP_TYPE:
        return m.native(cls, *args, **kwargs)
    return make_instance(m, cls, args, kwargs)


def make_instance(m, cls: type, args: Any, kwargs: dict) -> Any:
    """`type.__call__(cls, ...)`: `__new__`, then `__init__`."""
    new = m.class_attribute(cls, "__new__")
    init = m.class_attribute(cls, "__init__")
    if type(new) is staticmethod:
        new = m.part(new, "__func__", new.__func__)
    new_in_c = id(type(new)) in C_KINDS
    init_in_c = id(type(init)) in C_KINDS or (
        type(init) is FunctionType and not m.interpretable(init)
    )
    if type(new) is FunctionType and not m.interpretable(new):
        new_in_c = True
    if new_in_c and init_in_c:
        return m.native(cls, *args, **kwargs)
    if new_in_c:
        if new is object.__new__:
            x = m.native(new, cls)
        else:
            x = m.native(new, cls, *args, **kwargs)
    else:
        if type(new) is not FunctionType:
            new = as_value(*m.midway(bound, m, new, None, cls)) if not callable(new) else new
        x = m.midway(call, m, new, (cls, *args), kwargs)
    kind = type(x)
    if kind is not cls:
        if not subclasses(cls, kind):
            return x
        init = m.class_attribute(m.type_of(x), "__init__")
        init_in_c = id(type(init)) in C_KINDS
    if init_in_c:
        if init is not object.__init__:
            m.native(init, x, *args, **kwargs)
        return x
    if type(init) is FunctionType:
        return m.call_function(init, (x, *args), kwargs, x)
    value, owner = m.midway(bound, m, init, x, m.type_of(x))
    result = m.midway(call, m, value, args if owner is ABSENT else (owner, *args), kwargs)
    return made(result, x)


def made(result: Any, x: Any) -> Any:
    """The instance, after its `__init__` returned."""
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return x
