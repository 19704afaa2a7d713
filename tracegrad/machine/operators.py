"""Operators: arithmetic, comparison, truth, containment, items, with the rules of Python for them.

A method written in Python is interpreted, in the order of Python's rules (a subclass's reflected
method first). Where no operand has one, the operation is C code and goes through the world's gate
as the function of the `operator` module that names it.
"""

from __future__ import annotations

import operator
from collections import defaultdict, deque
from types import FunctionType
from typing import Any, NamedTuple

from tracegrad.machine.attribute_lookup import C_KINDS, PLAIN, call_special, in_python, special
from tracegrad.machine.natives import is_item
from tracegrad.machine.world_protocol import ABSENT, is_a, subclasses


class Operator(NamedTuple):
    """A binary operator: its function, its symbol in messages and the methods that define it."""

    function: Any
    symbol: str
    name: str
    reflected: str
    inplace: Any = None
    inplace_name: str = ""


def _operator(function: Any, symbol: str, name: str) -> Operator:
    inplace = getattr(operator, f"__i{name}__")
    return Operator(function, symbol, f"__{name}__", f"__r{name}__", inplace, f"__i{name}__")


# In the order of BINARY_OP's arguments.
BINARY = [
    _operator(operator.add, "+", "add"),
    _operator(operator.and_, "&", "and"),
    _operator(operator.floordiv, "//", "floordiv"),
    _operator(operator.lshift, "<<", "lshift"),
    _operator(operator.matmul, "@", "matmul"),
    _operator(operator.mul, "*", "mul"),
    _operator(operator.mod, "%", "mod"),
    _operator(operator.or_, "|", "or"),
    _operator(operator.pow, "** or pow()", "pow"),
    _operator(operator.rshift, ">>", "rshift"),
    _operator(operator.sub, "-", "sub"),
    _operator(operator.truediv, "/", "truediv"),
    _operator(operator.xor, "^", "xor"),
]
DIVMOD = Operator(divmod, "divmod()", "__divmod__", "__rdivmod__")
COMPARE = {
    "<": Operator(operator.lt, "<", "__lt__", "__gt__"),
    "<=": Operator(operator.le, "<=", "__le__", "__ge__"),
    "==": Operator(operator.eq, "==", "__eq__", "__eq__"),
    "!=": Operator(operator.ne, "!=", "__ne__", "__ne__"),
    ">": Operator(operator.gt, ">", "__gt__", "__lt__"),
    ">=": Operator(operator.ge, ">=", "__ge__", "__le__"),
}
UNARY = {
    "UNARY_NEGATIVE": (operator.neg, "__neg__"),
    "UNARY_POSITIVE": (operator.pos, "__pos__"),
    "UNARY_INVERT": (operator.invert, "__invert__"),
}
NUMBERS = {id(kind): kind for kind in (int, float, complex, bool)}
# Their `+` and `*` are of sequences: another operand's method is asked before them.
SEQUENCES = (list, tuple, str, bytes, bytearray)


def binary(m, op: Operator, a: Any, b: Any, symbol: str = "") -> Any:
    """`a + b` and the like, for operands of any type."""
    left_type, right_type = m.type_of(a), m.type_of(b)
    left = None if id(left_type) in PLAIN else in_python(m, left_type, op.name)
    right = None
    if right_type is not left_type and id(right_type) not in PLAIN:
        right = in_python(m, right_type, op.reflected)
    if left is None and right is None:
        return m.native(op.function, a, b)
    right_first = right is not None and (
        overrides(m, left_type, right_type, op.reflected)
        or (left is None and any(subclasses(kind, left_type) for kind in SEQUENCES))
    )
    if right_first:
        result = call_special(m, right, b, a)
        if result is not NotImplemented:
            return result
    result = one_side(m, left, left_type, a, op.name, b)
    if result is not NotImplemented:
        return result
    if right_type is not left_type and not right_first:
        result = one_side(m, right, right_type, b, op.reflected, a)
        if result is not NotImplemented:
            return result
    if left_type not in SEQUENCES and right_type in SEQUENCES and op.symbol == "*":
        return m.native(op.function, a, b)
    raise TypeError(
        f"unsupported operand type(s) for {symbol or op.symbol}: "
        f"'{left_type.__name__}' and '{right_type.__name__}'"
    )


def overrides(m, left_type: type, right_type: type, name: str) -> bool:
    """Whether the right operand's method goes first: that of a subclass which defines its own."""
    if not subclasses(left_type, right_type):
        return False
    return m.class_attribute(right_type, name) is not m.class_attribute(left_type, name)


def one_side(m, method: Any, cls: type, x: Any, name: str, y: Any) -> Any:
    """What one operand's method says; where it is C code or not there, through the gate."""
    if method is not None:
        return call_special(m, method, x, y)
    if id(cls) in NUMBERS and not any(subclasses(kind, type(y)) for kind in NUMBERS.values()):
        return NotImplemented  # a number knows numbers alone
    found = m.class_attribute(cls, name)
    if found is ABSENT:
        return NotImplemented
    if found is None:
        raise TypeError("'NoneType' object is not callable")
    if id(type(found)) in C_KINDS or type(found) is FunctionType:
        return m.native(found, x, y)
    return call_special(m, found, x, y)


def inplace(m, op: Operator, a: Any, b: Any) -> Any:
    """`a += b` and the like, for operands of any type."""
    method = special(m, a, op.inplace_name)
    if method is not None:
        result = call_special(m, method, a, b)
        if result is not NotImplemented:
            return result
        return binary(m, op, a, b, f"{op.symbol.partition(' ')[0]}=")
    reflected = special(m, b, op.reflected)
    if type(a) in (list, deque) and op.name == "__add__":  # which is asked after the other operand
        if reflected is not None:
            result = call_special(m, reflected, b, a)
            if result is not NotImplemented:
                return result
        elif m.class_attribute(m.type_of(b), op.reflected) is not ABSENT:
            return binary(m, op, a, b, "+=")
        b = m.sequence(b)
    elif m.class_attribute(m.type_of(a), op.inplace_name) is ABSENT:
        symbol = "**" if op.name == "__pow__" else op.symbol
        if special(m, a, op.name) is not None or reflected is not None:
            return binary(m, op, a, b, f"{symbol}=")
    elif reflected is not None:
        found = m.class_attribute(m.type_of(a), op.inplace_name)
        if not any(is_a(a, kind) for kind in SEQUENCES):
            result = m.native(found, a, b)
            return binary(m, op, a, b) if result is NotImplemented else result
    return m.native(op.inplace, a, b)


def compare(m, op: Operator, a: Any, b: Any) -> Any:
    """`a < b` and the like, for operands of any type."""
    left_type, right_type = m.type_of(a), m.type_of(b)
    left = None if id(left_type) in PLAIN else comparison(m, left_type, op.name)
    right = None if id(right_type) in PLAIN else comparison(m, right_type, op.reflected)
    if left is None and right is None:
        return m.native(op.function, a, b)
    right_first = (
        left_type is not right_type
        and subclasses(left_type, right_type)
        and m.class_attribute(right_type, op.reflected) is not ABSENT
    )
    if right_first:
        result = one_comparison(m, right, right_type, b, op.reflected, a)
        if result is not NotImplemented:
            return result
    result = one_comparison(m, left, left_type, a, op.name, b)
    if result is not NotImplemented:
        return result
    if not right_first:
        result = one_comparison(m, right, right_type, b, op.reflected, a)
        if result is not NotImplemented:
            return result
    if op.symbol == "==":
        return m.native(operator.is_, a, b)
    if op.symbol == "!=":
        return m.native(operator.is_not, a, b)
    raise TypeError(
        f"'{op.symbol}' not supported between instances of "
        f"'{left_type.__name__}' and '{right_type.__name__}'"
    )


def comparison(m, cls: type, name: str) -> Any:
    """A class's comparison in Python; `!=` may be the inverse of its `__eq__`."""
    found = in_python(m, cls, name)
    if found is None and name == "__ne__" and m.class_attribute(cls, name) is object.__ne__:
        equal = in_python(m, cls, "__eq__")
        if equal is not None:
            return Inverse(equal)
    return found


class Inverse(NamedTuple):
    """`object.__ne__`: the inverse of an `__eq__` in Python."""

    equal: Any


def one_comparison(m, method: Any, cls: type, x: Any, name: str, y: Any) -> Any:
    if type(method) is Inverse:
        result = call_special(m, method.equal, x, y)
        return result if result is NotImplemented else not truth(m, result)
    return one_side(m, method, cls, x, name, y)


def unary(m, function: Any, name: str, x: Any) -> Any:
    method = special(m, x, name)
    return m.native(function, x) if method is None else call_special(m, method, x)


def truth(m, x: Any) -> bool:
    """Whether a value counts as true, as a branch asks."""
    if x is True or x is False or x is None:
        return x is True
    if id(type(x)) in PLAIN:
        return m.decide(x)
    cls = m.type_of(x)
    found = m.class_attribute(cls, "__bool__")
    if found is ABSENT:
        method = in_python(m, cls, "__len__")
        return m.decide(x) if method is None else length(m, x) != 0
    method = in_python(m, cls, "__bool__")
    if method is None:
        return m.decide(x)
    result = call_special(m, method, x)
    cls = shown_type(m, result)
    if cls is not bool:
        raise TypeError(f"__bool__ should return bool, returned {cls.__name__}")
    return m.decide(result)


def shown_type(m, x: Any) -> type:
    """`type(x)`, also of what stands for a value of another type."""
    return m.native(type, x) if id(type(x)) in m.opaque else type(x)


def length(m, x: Any) -> Any:
    """`len(x)`"""
    method = special(m, x, "__len__")
    if method is None:
        return m.native(len, x)
    result = index(m, call_special(m, method, x))
    if result < 0:
        raise ValueError("__len__() should return >= 0")
    return len(range(result))  # its OverflowError


def index(m, x: Any) -> int:
    """`operator.index(x)`"""
    method = special(m, x, "__index__")
    if method is None or is_a(x, int):
        return m.native(operator.index, x)
    result = call_special(m, method, x)
    if not is_a(result, int):
        raise TypeError(f"__index__ returned non-int (type {type(result).__name__})")
    return int(result)


def get_item(m, x: Any, key: Any) -> Any:
    """`x[key]`"""
    if id(type(x)) in PLAIN:
        return m.native(operator.getitem, x, key)
    cls = m.type_of(x)
    method = in_python(m, cls, "__getitem__")
    if method is not None:
        return call_special(m, method, x, key)
    if is_a(x, type) and m.class_attribute(cls, "__getitem__") is ABSENT:
        found = m.class_attribute(x, "__class_getitem__")
        if found is not ABSENT and id(type(found)) not in C_KINDS:
            return m.call(m.load_attribute(x, "__class_getitem__"), (key,), {})
    if is_a(x, dict):
        missing = in_python(m, cls, "__missing__")
        if missing is not None and not m.native(operator.contains, x, key):
            return call_special(m, missing, x, key)
        if is_a(x, defaultdict) and not m.native(operator.contains, x, key):
            factory = m.part(x, "default_factory", x.default_factory)
            if factory is not None:
                value = m.midway(m.call, factory, (), {})
                m.native(operator.setitem, x, key, value)
                return value
    if id(cls) in m.opaque and special(m, key, "__index__") is not None:
        key = m.midway(index, m, key)
    return m.native(operator.getitem, x, key)


def set_item(m, x: Any, key: Any, value: Any) -> None:
    method = special(m, x, "__setitem__")
    if method is None:
        m.native(operator.setitem, x, key, value)
    else:
        call_special(m, method, x, key, value)


def delete_item(m, x: Any, key: Any) -> None:
    method = special(m, x, "__delitem__")
    if method is None:
        m.native(operator.delitem, x, key)
    else:
        call_special(m, method, x, key)


def contains(m, container: Any, x: Any) -> bool:
    """`x in container`"""
    if id(type(container)) in PLAIN:
        if id(type(x)) not in PLAIN and type(container) in (list, tuple):
            return any_equal(m, container, x)
        return m.native(operator.contains, container, x)
    cls = m.type_of(container)
    method = in_python(m, cls, "__contains__")
    if method is not None:
        return truth(m, call_special(m, method, container, x))
    iterates = in_python(m, cls, "__iter__") or in_python(m, cls, "__getitem__")
    if iterates and m.class_attribute(cls, "__contains__") is ABSENT:
        return any_equal(m, m.items(container), x)
    return m.native(operator.contains, container, x)


def any_equal(m, items: Any, x: Any) -> bool:
    """Whether one of the items is the object or equal to it."""
    plain = type(items) in (list, tuple) and all_plain(items)
    if plain and comparison(m, m.type_of(x), "__eq__") is None:
        return m.native(operator.contains, items, x)
    equal = COMPARE["=="]
    for item in m.items(items):
        if m.native(is_item, item, x) or truth(m, compare(m, equal, item, x)):
            return True
    return False


def all_plain(items: Any) -> bool:
    return all(id(type(item)) in PLAIN for item in items)
