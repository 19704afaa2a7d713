"""Instructions of expressions: attributes, items, operators, displays, strings, iteration."""

from __future__ import annotations

import operator
from typing import Any

from tracegrad.machine import iteration, natives, operators
from tracegrad.machine.attribute_lookup import (
    PLAIN,
    delete_attribute,
    load_attribute,
    load_method,
    store_attribute,
)
from tracegrad.machine.decoding import VERSION
from tracegrad.machine.instruction_table import MAKERS, Op, maker
from tracegrad.machine.world_protocol import ABSENT

KEYS = frozenset(map(id, (str, bytes, int, bool, type(None))))  # what a dict hashes as it is

# -- attributes and items ----------------------------------------------------------------------


@maker("LOAD_ATTR")
def _(t, arg, n):
    if VERSION >= (3, 12):
        name = t.names[arg >> 1]
        if arg & 1:
            return method_op(name, n)
    else:
        name = t.names[arg]

    def op(f, s):
        s.append(load_attribute(f.machine, s.pop(), name))
        return n

    return op


@maker("LOAD_METHOD")
def _(t, arg, n):
    return method_op(t.names[arg], n)


def method_op(name: str, n: int) -> Op:
    if VERSION >= (3, 13):

        def op(f, s):
            value, owner = load_method(f.machine, s[-1], name)
            s[-1] = value
            s.append(owner)
            return n
    else:

        def op(f, s):
            value, owner = load_method(f.machine, s[-1], name)
            if owner is ABSENT:
                s[-1] = ABSENT
                s.append(value)
            else:
                s[-1] = value
                s.append(owner)
            return n

    return op


@maker("STORE_ATTR")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        x = s.pop()
        store_attribute(f.machine, x, name, s.pop())
        return n

    return op


@maker("DELETE_ATTR")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        delete_attribute(f.machine, s.pop(), name)
        return n

    return op


@maker("BINARY_SUBSCR")
def _(t, arg, n):
    getitem = operator.getitem

    def op(f, s):
        key = s.pop()
        x = s.pop()
        if id(type(x)) in PLAIN:
            s.append(f.machine.native(getitem, x, key))
        else:
            s.append(operators.get_item(f.machine, x, key))
        return n

    return op


@maker("STORE_SUBSCR")
def _(t, arg, n):
    def op(f, s):
        key = s.pop()
        x = s.pop()
        operators.set_item(f.machine, x, key, s.pop())
        return n

    return op


@maker("DELETE_SUBSCR")
def _(t, arg, n):
    def op(f, s):
        key = s.pop()
        operators.delete_item(f.machine, s.pop(), key)
        return n

    return op


@maker("BINARY_SLICE")
def _(t, arg, n):
    def op(f, s):
        stop = s.pop()
        start = s.pop()
        m = f.machine
        s[-1] = operators.get_item(m, s[-1], m.native(natives.build_slice, start, stop))
        return n

    return op


@maker("STORE_SLICE")
def _(t, arg, n):
    def op(f, s):
        stop = s.pop()
        start = s.pop()
        x = s.pop()
        m = f.machine
        operators.set_item(m, x, m.native(natives.build_slice, start, stop), s.pop())
        return n

    return op


# -- operators ---------------------------------------------------------------------------------


@maker("BINARY_OP")
def _(t, arg, n):
    if arg == 26:
        return MAKERS["BINARY_SUBSCR"](t, arg, n)
    augmented = arg >= 13
    rule = operators.BINARY[arg - 13 if augmented else arg]
    function = rule.inplace if augmented else rule.function
    slow = operators.inplace if augmented else operators.binary

    def op(f, s):
        b = s.pop()
        a = s[-1]
        left, right = type(a), type(b)
        if (left is float or left is int or id(left) in PLAIN) and (
            right is float or right is int or id(right) in PLAIN
        ):
            s[-1] = f.machine.native(function, a, b)
        else:
            s[-1] = slow(f.machine, rule, a, b)
        return n

    return op


@maker("COMPARE_OP")
def _(t, arg, n):
    if VERSION >= (3, 13):
        symbol, as_bool = ("<", "<=", "==", "!=", ">", ">=")[arg >> 5], arg & 16
    elif VERSION >= (3, 12):
        symbol, as_bool = ("<", "<=", "==", "!=", ">", ">=")[arg >> 4], 0
    else:
        symbol, as_bool = ("<", "<=", "==", "!=", ">", ">=")[arg], 0
    rule = operators.COMPARE[symbol]
    function = rule.function

    def op(f, s):
        b = s.pop()
        a = s[-1]
        left, right = type(a), type(b)
        if (left is float or left is int or id(left) in PLAIN) and (
            right is float or right is int or id(right) in PLAIN
        ):
            s[-1] = f.machine.native(function, a, b)
        else:
            s[-1] = operators.compare(f.machine, rule, a, b)
        return n

    if not as_bool:
        return op

    def as_truth(f, s):
        op(f, s)
        s.append(operators.truth(f.machine, s.pop()))
        return n

    return as_truth


@maker("IS_OP")
def _(t, arg, n):
    function = operator.is_not if arg else operator.is_

    def op(f, s):
        b = s.pop()
        s[-1] = f.machine.native(function, s[-1], b)
        return n

    return op


@maker("CONTAINS_OP")
def _(t, arg, n):
    def op(f, s):
        container = s.pop()
        found = operators.contains(f.machine, container, s[-1])
        if arg:
            found = not operators.truth(f.machine, found)
        s[-1] = found
        return n

    return op


@maker("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def _(t, arg, n):
    function, name = operators.UNARY[t.instructions[n - 1].name]

    def op(f, s):
        s[-1] = operators.unary(f.machine, function, name, s[-1])
        return n

    return op


@maker("UNARY_NOT")
def _(t, arg, n):
    def op(f, s):
        s[-1] = not operators.truth(f.machine, s[-1])
        return n

    return op


@maker("TO_BOOL")
def _(t, arg, n):
    def op(f, s):
        s.append(operators.truth(f.machine, s.pop()))
        return n

    return op


# -- iteration ---------------------------------------------------------------------------------


@maker("GET_ITER")
def _(t, arg, n):
    def op(f, s):
        s[-1] = iteration.get_iterator(f.machine, s[-1])
        return n

    return op


@maker("GET_YIELD_FROM_ITER")
def _(t, arg, n):
    def op(f, s):
        if type(s[-1]) is not iteration.GENERATOR:
            s[-1] = iteration.get_iterator(f.machine, s[-1])
        return n

    return op


@maker("FOR_ITER")
def _(t, arg, n):
    # At the end later versions stand behind the instructions that a loop ends with.
    after = arg + (2 if VERSION == (3, 13) else 1 if VERSION >= (3, 12) else 0)
    keeps = VERSION >= (3, 14)
    direct = iteration.DIRECT

    def op(f, s):
        iterator = s[-1]
        if f.machine.inlines is not None and type(iterator) is iteration.GENERATOR:
            f.machine.begins_loop(f, iterator)
        if id(type(iterator)) in direct:
            item = f.machine.native(next, iterator, ABSENT)
        else:
            item = iteration.advance(f.machine, iterator)
        if item is ABSENT:
            if not keeps:
                s.pop()
            return after
        s.append(item)
        return n

    return op


@maker("END_FOR")
def _(t, arg, n):
    # In 3.12 it pops the iterator too; it runs where a loop over an inlined one ends.
    def op(f, s):
        s.pop()
        if VERSION == (3, 12):
            s.pop()
        return n

    return op


@maker("UNPACK_SEQUENCE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        m = f.machine
        values = iteration.unpack(m, x, arg)
        s.extend(values[::-1])
        return n

    return op


@maker("UNPACK_EX")
def _(t, arg, n):
    before, after = arg & 255, arg >> 8

    def op(f, s):
        values = iteration.unpack_starred(f.machine, s.pop(), before, after)
        s.extend(values[::-1])
        return n

    return op


# -- displays ----------------------------------------------------------------------------------


@maker("BUILD_TUPLE")
def _(t, arg, n):
    def op(f, s):
        if arg:
            values = tuple(s[-arg:])
            del s[-arg:]
        else:
            values = ()
        s.append(values)
        return n

    return op


@maker("BUILD_LIST")
def _(t, arg, n):
    def op(f, s):
        if arg:
            values = s[-arg:]
            del s[-arg:]
        else:
            values = []
        s.append(values)
        return n

    return op


@maker("BUILD_SET")
def _(t, arg, n):
    def op(f, s):
        values = set()
        if arg:
            for x in s[-arg:]:
                f.machine.native(set.add, values, x)
            del s[-arg:]
        s.append(values)
        return n

    return op


@maker("BUILD_MAP")
def _(t, arg, n):
    def op(f, s):
        values = {}
        if arg:
            parts = s[-2 * arg :]
            del s[-2 * arg :]
            for i in range(0, 2 * arg, 2):
                if id(type(parts[i])) in KEYS:
                    values[parts[i]] = parts[i + 1]
                else:
                    f.machine.native(operator.setitem, values, parts[i], parts[i + 1])
        s.append(values)
        return n

    return op


@maker("BUILD_CONST_KEY_MAP")
def _(t, arg, n):
    def op(f, s):
        keys = s.pop()
        values = s[-arg:]
        del s[-arg:]
        s.append(dict(zip(keys, values)))
        return n

    return op


@maker("BUILD_SLICE")
def _(t, arg, n):
    def op(f, s):
        parts = s[-arg:]
        del s[-arg:]
        s.append(f.machine.native(natives.build_slice, *parts))
        return n

    return op


@maker("BUILD_STRING")
def _(t, arg, n):
    def op(f, s):
        if arg:
            parts = s[-arg:]
            del s[-arg:]
            s.append(f.machine.native(natives.build_string, *parts))
        else:
            s.append("")
        return n

    return op


@maker("LIST_APPEND")
def _(t, arg, n):
    def op(f, s):
        value = s.pop()
        f.machine.native(list.append, s[-arg], value)
        return n

    return op


@maker("SET_ADD")
def _(t, arg, n):
    def op(f, s):
        value = s.pop()
        f.machine.native(set.add, s[-arg], value)
        return n

    return op


@maker("MAP_ADD")
def _(t, arg, n):
    def op(f, s):
        value = s.pop()
        key = s.pop()
        f.machine.native(operator.setitem, s[-arg], key, value)
        return n

    return op


@maker("LIST_EXTEND")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        m = f.machine
        m.native(natives.list_extend, s[-arg], iteration.iterable(m, x))
        return n

    return op


@maker("SET_UPDATE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        m = f.machine
        m.native(natives.set_update, s[-arg], iteration.iterable(m, x))
        return n

    return op


@maker("DICT_UPDATE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        m = f.machine
        m.native(natives.dict_update, s[-arg], iteration.mapping(m, x))
        return n

    return op


@maker("DICT_MERGE")
def _(t, arg, n):
    callee = -arg - 3 if VERSION >= (3, 13) else -arg - 2

    def op(f, s):
        x = s.pop()
        m = f.machine
        m.native(natives.dict_merge, s[-arg], iteration.mapping(m, x), s[callee])
        return n

    return op


@maker("LIST_TO_TUPLE")
def _(t, arg, n):
    def op(f, s):
        s[-1] = tuple(s[-1])
        return n

    return op


# -- strings -----------------------------------------------------------------------------------


def convert(m, kind: int, x: Any) -> Any:
    """`!s`, `!r`, `!a`"""
    if kind == 1:
        return x if type(x) is str else m.call(str, (x,), {})
    return m.call(repr if kind == 2 else ascii, (x,), {})


def formatted(m, x: Any, spec: Any) -> Any:
    """`f"{x:spec}"`"""
    if type(x) is str and spec == "":
        return x
    return m.call(format, (x, spec), {})


@maker("FORMAT_VALUE")
def _(t, arg, n):
    kind = arg & 3

    def op(f, s):
        spec = s.pop() if arg & 4 else ""
        x = s[-1]
        if kind:
            x = convert(f.machine, kind, x)
        s[-1] = formatted(f.machine, x, spec)
        return n

    return op


@maker("CONVERT_VALUE")
def _(t, arg, n):
    def op(f, s):
        s[-1] = convert(f.machine, arg, s[-1])
        return n

    return op


@maker("FORMAT_SIMPLE")
def _(t, arg, n):
    def op(f, s):
        s[-1] = formatted(f.machine, s[-1], "")
        return n

    return op


@maker("FORMAT_WITH_SPEC")
def _(t, arg, n):
    def op(f, s):
        spec = s.pop()
        s[-1] = formatted(f.machine, s[-1], spec)
        return n

    return op
