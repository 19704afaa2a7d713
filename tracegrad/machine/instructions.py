"""Instructions: each becomes a closure `op(frame, stack) -> index of the next one`.

`MAKERS` maps the name of an instruction to the function that makes its closure, from the
translation at hand, the argument, and the index of the following instruction. A negative index
ends the loop: the frame returns or yields what is on top of its stack.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from tracegrad.machine import calls, iteration, natives, operators
from tracegrad.machine.decode import VERSION, Instruction
from tracegrad.machine.objects import (
    FunctionType as _FunctionType,
)
from tracegrad.machine.objects import (
    PLAIN,
    as_value,
    call_special,
    delete_attribute,
    in_python,
    load_attribute,
    load_method,
    special,
    store_attribute,
)
from tracegrad.machine.world import ABSENT

RETURN, YIELD, RERAISE = -1, -2, -3
Op = Callable[[Any, list], int]
MAKERS: dict[str, Callable[["Translation", int, int], Op]] = {}


class Translation:
    """What the makers of closures know of the code at hand."""

    __slots__ = ("call_names", "code", "consts", "instructions", "names", "ops", "slots")

    def __init__(
        self, code: CodeType, slots: tuple[str, ...], instructions: list[Instruction], ops: list
    ) -> None:
        self.code = code
        self.slots = slots
        self.instructions = instructions
        self.ops = ops
        self.names = code.co_names
        self.consts = code.co_consts
        self.call_names: tuple[str, ...] = ()


def maker(*names: str) -> Callable:
    def register(function: Callable) -> Callable:
        for name in names:
            MAKERS[name] = function
        return function

    return register


# -- moving values ----------------------------------------------------------------------------


@maker("NOP", "RESUME", "PRECALL", "MAKE_CELL_DONE", "NOT_TAKEN", "EXTENDED_ARG", "CACHE")
def _(t, arg, n):
    return lambda f, s: n


@maker("POP_TOP", "END_FOR_POP", "POP_ITER")
def _(t, arg, n):
    def op(f, s):
        s.pop()
        return n

    return op


@maker("PUSH_NULL")
def _(t, arg, n):
    def op(f, s):
        s.append(ABSENT)
        return n

    return op


@maker("COPY")
def _(t, arg, n):
    def op(f, s):
        s.append(s[-arg])
        return n

    return op


@maker("SWAP")
def _(t, arg, n):
    def op(f, s):
        s[-1], s[-arg] = s[-arg], s[-1]
        return n

    return op


@maker("LOAD_CONST", "LOAD_CONST_IMMORTAL")
def _(t, arg, n):
    value = t.consts[arg]

    def op(f, s):
        s.append(value)
        return n

    return op


def unbound(name: str) -> UnboundLocalError:
    return UnboundLocalError(
        f"cannot access local variable '{name}' where it is not associated with a value"
    )


def unbound_free(name: str) -> NameError:
    return NameError(
        f"cannot access free variable '{name}' where it is not associated with a value in "
        "enclosing scope"
    )


@maker("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_CLOSURE", "LOAD_FAST_BORROW")
def _(t, arg, n):
    name = t.slots[arg]

    def op(f, s):
        value = f.fast[arg]
        if value is ABSENT:
            raise unbound(name)
        s.append(value)
        return n

    return op


@maker("STORE_FAST")
def _(t, arg, n):
    def op(f, s):
        f.fast[arg] = s.pop()
        return n

    return op


@maker("DELETE_FAST")
def _(t, arg, n):
    name = t.slots[arg]

    def op(f, s):
        fast = f.fast
        if fast[arg] is ABSENT:
            raise unbound(name)
        fast[arg] = ABSENT
        return n

    return op


# -- cells ------------------------------------------------------------------------------------


@maker("MAKE_CELL")
def _(t, arg, n):
    def op(f, s):
        value = f.fast[arg]
        f.fast[arg] = CellType() if value is ABSENT else CellType(value)
        return n

    return op


@maker("COPY_FREE_VARS")
def _(t, arg, n):
    def op(f, s):
        f.fast[len(f.fast) - arg :] = f.closure
        return n

    return op


def no_contents(t, arg):
    """The error of a cell that holds nothing."""
    name = t.slots[arg]
    free = name in t.code.co_freevars
    return name, unbound_free if free else unbound


@maker("LOAD_DEREF")
def _(t, arg, n):
    name, error = no_contents(t, arg)

    def op(f, s):
        failed = False
        try:
            s.append(f.machine.load_cell(f.fast[arg], name))
        except ValueError:
            failed = True
        if failed:
            raise error(name)
        return n

    return op


@maker("STORE_DEREF")
def _(t, arg, n):
    name = t.slots[arg]

    def op(f, s):
        f.machine.world.store_cell(f.fast[arg], name, s.pop())
        return n

    return op


@maker("DELETE_DEREF")
def _(t, arg, n):
    name, error = no_contents(t, arg)

    def op(f, s):
        failed = False
        try:
            world = f.machine.world
            world.load_cell(f.fast[arg], name)
            world.delete_cell(f.fast[arg], name)
        except ValueError:
            failed = True
        if failed:
            raise error(name)
        return n

    return op


@maker("LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
def _(t, arg, n):
    name, error = no_contents(t, arg)
    popped = VERSION >= (3, 12)

    def op(f, s):
        names = s.pop() if popped else f.names
        value = from_names(f.machine, names, name)
        if value is ABSENT:
            failed = False
            try:
                value = f.machine.load_cell(f.fast[arg], name)
            except ValueError:
                failed = True
            if failed:
                raise error(name)
        s.append(value)
        return n

    return op


# -- names ------------------------------------------------------------------------------------


@maker("LOAD_GLOBAL")
def _(t, arg, n):
    name = t.names[arg >> 1]
    null = arg & 1
    after = VERSION >= (3, 13)

    def op(f, s):
        if null and not after:
            s.append(ABSENT)
        s.append(f.machine.load_global(f.globals, f.builtins, name))
        if null and after:
            s.append(ABSENT)
        return n

    return op


@maker("STORE_GLOBAL")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        f.machine.world.store_global(f.globals, name, s.pop())
        return n

    return op


@maker("DELETE_GLOBAL")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        f.machine.world.delete_global(f.globals, name)
        return n

    return op


def from_names(m, names: Any, name: str) -> Any:
    """A name of a class's body, or ABSENT."""
    if type(names) is dict:
        return names.get(name, ABSENT)
    try:
        return operators.get_item(m, names, name)
    except KeyError:
        return ABSENT


@maker("LOAD_NAME")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        value = from_names(f.machine, f.names, name)
        if value is ABSENT:
            value = f.machine.load_global(f.globals, f.builtins, name)
        s.append(value)
        return n

    return op


@maker("LOAD_FROM_DICT_OR_GLOBALS")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        value = from_names(f.machine, s.pop(), name)
        if value is ABSENT:
            value = f.machine.load_global(f.globals, f.builtins, name)
        s.append(value)
        return n

    return op


@maker("STORE_NAME")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        value = s.pop()
        if type(f.names) is dict:
            f.names[name] = value
        else:
            operators.set_item(f.machine, f.names, name, value)
        return n

    return op


@maker("DELETE_NAME")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        failed = False
        try:
            operators.delete_item(f.machine, f.names, name)
        except KeyError:
            failed = True
        if failed:
            raise NameError(f"name '{name}' is not defined")
        return n

    return op


@maker("LOAD_LOCALS")
def _(t, arg, n):
    def op(f, s):
        s.append(f.names)
        return n

    return op


# -- attributes and items ---------------------------------------------------------------------


@maker("LOAD_ATTR")
def _(t, arg, n):
    if VERSION >= (3, 12):
        name = t.names[arg >> 1]
        if arg & 1:
            return method_op(name, n)
    else:
        name = t.names[arg]

    def op(f, s):
        s[-1] = load_attribute(f.machine, s[-1], name)
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
        x = s[-1]
        if id(type(x)) in PLAIN:
            s[-1] = f.machine.native(getitem, x, key)
        else:
            s[-1] = operators.get_item(f.machine, x, key)
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


# -- operators --------------------------------------------------------------------------------


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
        s[-1] = operators.truth(f.machine, s[-1])
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
        s[-1] = operators.truth(f.machine, s[-1])
        return n

    return op


# -- jumps ------------------------------------------------------------------------------------


@maker("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _(t, arg, n):
    return lambda f, s: arg


@maker("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_IF_TRUE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        if x is True:
            return arg
        if x is False:
            return n
        return arg if operators.truth(f.machine, x) else n

    return op


@maker("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_IF_FALSE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        if x is True:
            return n
        if x is False:
            return arg
        return n if operators.truth(f.machine, x) else arg

    return op


@maker("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_IF_NONE")
def _(t, arg, n):
    def op(f, s):
        return arg if f.machine.native(operator.is_, s.pop(), None) else n

    return op


@maker("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", "POP_JUMP_IF_NOT_NONE")
def _(t, arg, n):
    def op(f, s):
        return n if f.machine.native(operator.is_, s.pop(), None) else arg

    return op


@maker("JUMP_IF_TRUE_OR_POP")
def _(t, arg, n):
    def op(f, s):
        if operators.truth(f.machine, s[-1]):
            return arg
        s.pop()
        return n

    return op


@maker("JUMP_IF_FALSE_OR_POP")
def _(t, arg, n):
    def op(f, s):
        if not operators.truth(f.machine, s[-1]):
            return arg
        s.pop()
        return n

    return op


# -- iteration --------------------------------------------------------------------------------


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


# -- displays ---------------------------------------------------------------------------------


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
                values[parts[i]] = parts[i + 1]
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
        s[-arg].append(value)
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


# -- strings ----------------------------------------------------------------------------------


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


# -- calls ------------------------------------------------------------------------------------


@maker("KW_NAMES")
def _(t, arg, n):
    t.call_names = t.consts[arg]
    return lambda f, s: n


@maker("CALL")
def _(t, arg, n):
    names, t.call_names = t.call_names, ()
    if names:
        return call_op(arg, names, n)
    call = calls.call

    def op(f, s):
        if arg:
            args = s[-arg:]
            del s[-arg:]
        else:
            args = []
        callee = s.pop()
        first = s.pop()
        if first is not ABSENT:
            if callee is not ABSENT:
                args.insert(0, callee)
            callee = first
        m = f.machine
        if type(callee) is FunctionType:
            s.append(m.call_function(callee, args, NO_KEYWORDS))
        else:
            s.append(call(m, callee, args, NO_KEYWORDS))
        return n

    return op


NO_KEYWORDS: dict[str, Any] = {}


def call_op(arg: int, names: tuple[str, ...], n: int) -> Op:
    """A call with keywords."""
    given = len(names)

    def op(f, s):
        args = s[-arg:]
        del s[-arg:]
        callee = s.pop()
        first = s.pop()
        if first is not ABSENT:
            if callee is not ABSENT:
                args.insert(0, callee)
            callee = first
        kwargs = dict(zip(names, args[-given:]))
        del args[-given:]
        s.append(calls.call(f.machine, callee, args, kwargs))
        return n

    return op


@maker("CALL_KW")
def _(t, arg, n):
    def op(f, s):
        names = s.pop()
        return call_op(arg, names, n)(f, s)

    return op


@maker("CALL_FUNCTION_EX")
def _(t, arg, n):
    flagged = arg & 1
    always = VERSION >= (3, 14)
    after = VERSION >= (3, 13)

    def op(f, s):
        m = f.machine
        kwargs = {}
        if always or flagged:
            x = s.pop()
            if x is not ABSENT:
                if type(x) is not dict:
                    m.native(natives.dict_merge, kwargs, iteration.mapping(m, x), s[-2])
                else:
                    kwargs = x
        args = s.pop()
        if after:
            s.pop()
            callee = s.pop()
        else:
            callee = s.pop()
            s.pop()
        if type(args) is not tuple:
            collected: list = []
            failed = False
            try:
                m.native(natives.list_extend, collected, iteration.iterable(m, args))
            except TypeError:
                if hasattr(type(args), "__iter__") or hasattr(type(args), "__getitem__"):
                    raise
                failed = True
            if failed:
                raise TypeError(
                    f"{natives.function_text(callee)} argument after * must be an iterable, "
                    f"not {type(args).__name__}"
                )
            args = collected
        s.append(calls.call(m, callee, args, kwargs))
        return n

    return op


@maker("RETURN_VALUE")
def _(t, arg, n):
    def op(f, s):
        f.index = -1
        return RETURN

    return op


@maker("RETURN_CONST")
def _(t, arg, n):
    value = t.consts[arg]

    def op(f, s):
        s.append(value)
        f.index = -1
        return RETURN

    return op


# -- functions and classes --------------------------------------------------------------------


@maker("MAKE_FUNCTION")
def _(t, arg, n):
    def op(f, s):
        code = s.pop()
        closure = s.pop() if arg & 8 else None
        annotations = s.pop() if arg & 4 else None
        kwdefaults = s.pop() if arg & 2 else None
        defaults = s.pop() if arg & 1 else None
        function = make_function(f, code, closure)
        if defaults is not None:
            function.__defaults__ = defaults
        if kwdefaults is not None:
            function.__kwdefaults__ = kwdefaults
        if annotations is not None:
            if type(annotations) is tuple:
                annotations = dict(zip(annotations[::2], annotations[1::2]))
            function.__annotations__ = annotations
        s.append(function)
        return n

    return op


def make_function(f, code: CodeType, closure: tuple | None) -> FunctionType:
    if closure is None and code.co_freevars:  # set by a later instruction
        closure = tuple(CellType() for _ in code.co_freevars)
    function = FunctionType(code, f.globals, code.co_name, None, closure)
    function.__qualname__ = code.co_qualname
    return function


@maker("SET_FUNCTION_ATTRIBUTE")
def _(t, arg, n):
    def op(f, s):
        function = s.pop()
        value = s.pop()
        if arg == 8:
            old = function
            function = FunctionType(
                old.__code__, old.__globals__, old.__name__, old.__defaults__, value
            )
            function.__qualname__ = old.__qualname__
            function.__kwdefaults__ = old.__kwdefaults__
            if VERSION >= (3, 14) and old.__annotate__ is not None:
                function.__annotate__ = old.__annotate__
            elif old.__annotations__:
                function.__annotations__ = old.__annotations__
        elif arg == 1:
            function.__defaults__ = value
        elif arg == 2:
            function.__kwdefaults__ = value
        elif arg == 4:
            if type(value) is tuple:
                value = dict(zip(value[::2], value[1::2]))
            function.__annotations__ = value
        elif arg == 16:
            function.__annotate__ = value
        s.append(function)
        return n

    return op


@maker("LOAD_BUILD_CLASS")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.load_global({}, f.builtins, "__build_class__"))
        return n

    return op


@maker("SETUP_ANNOTATIONS")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        if not operators.contains(m, f.names, "__annotations__"):
            operators.set_item(m, f.names, "__annotations__", {})
        return n

    return op


# -- generators -------------------------------------------------------------------------------


@maker("RETURN_GENERATOR")
def _(t, arg, n):
    def op(f, s):
        s.append(None)  # what the first next() sends
        return n

    return op


@maker("YIELD_VALUE")
def _(t, arg, n):
    def op(f, s):
        f.index = n
        return YIELD

    return op


@maker("SEND")
def _(t, arg, n):
    # From 3.12 on END_SEND follows the loop and pops the iterator.
    pops = VERSION < (3, 12)

    def op(f, s):
        value = s.pop()
        iterator = s[-1]
        m = f.machine
        try:
            if value is None and type(iterator) is not iteration.GENERATOR:
                method = special(m, iterator, "__next__")
                if method is None:
                    s.append(m.native(next, iterator))
                else:
                    s.append(call_special(m, method, iterator))
            else:
                s.append(m.call(load_attribute(m, iterator, "send"), (value,), {}))
            return n
        except StopIteration as error:
            value = error.value
        if pops:
            s[-1] = value
        else:
            s.append(value)
        return arg

    return op


@maker("END_SEND")
def _(t, arg, n):
    def op(f, s):
        value = s.pop()
        s[-1] = value
        return n

    return op


@maker("CLEANUP_THROW")
def _(t, arg, n):
    def op(f, s):
        error = s[-1]
        if isinstance(error, StopIteration):
            del s[-3:]
            s.append(None)
            s.append(error.value)
            return n
        f.error = error
        return RERAISE

    return op


# -- exceptions -------------------------------------------------------------------------------


@maker("PUSH_EXC_INFO")
def _(t, arg, n):
    def op(f, s):
        error = s.pop()
        handled = f.machine.handled
        s.append(handled.value)
        s.append(error)
        handled.value = error
        return n

    return op


@maker("POP_EXCEPT")
def _(t, arg, n):
    def op(f, s):
        f.machine.handled.value = s.pop()
        return n

    return op


@maker("CHECK_EXC_MATCH")
def _(t, arg, n):
    def op(f, s):
        kinds = s.pop()
        for kind in kinds if type(kinds) is tuple else (kinds,):
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError(
                    "catching classes that do not inherit from BaseException is not allowed"
                )
        s.append(f.machine.native(matches, s[-1], kinds))
        return n

    return op


def matches(error: BaseException, kinds: Any) -> bool:
    """Whether `except kinds` catches an exception; no `__subclasscheck__` is asked."""
    order = type(error).__mro__
    return any(kind in order for kind in (kinds if type(kinds) is tuple else (kinds,)))


@maker("RERAISE")
def _(t, arg, n):
    def op(f, s):
        f.error = s.pop()
        return RERAISE

    return op


@maker("RAISE_VARARGS")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        if arg == 0:
            error = m.handled.topmost()
            if error is None:
                raise RuntimeError("No active exception to reraise")
            f.error = error
            return RERAISE
        cause = s.pop() if arg == 2 else ABSENT
        error = as_exception(m, s.pop(), "exceptions must derive from BaseException")
        if cause is not ABSENT:
            if cause is not None:
                text = "exception causes must derive from BaseException"
                cause = as_exception(m, cause, text)
            error.__cause__ = cause
        m.unwound = None
        raise error

    return op


def as_exception(m, x: Any, text: str) -> BaseException:
    """The exception that `raise x` raises."""
    if isinstance(x, type) and issubclass(x, BaseException):
        error = m.call(x, (), {})
        if not isinstance(error, BaseException):
            raise TypeError(
                f"calling {x!r} should have returned an instance of BaseException, "
                f"not {type(error)!r}"
            )
        return error
    if isinstance(x, BaseException):
        return x
    raise TypeError(text)


@maker("LOAD_ASSERTION_ERROR")
def _(t, arg, n):
    def op(f, s):
        s.append(AssertionError)
        return n

    return op


# -- with -------------------------------------------------------------------------------------


def context_method(m, x: Any, name: str, also: str = "") -> tuple[Any, Any]:
    """`__enter__` or `__exit__` of a context manager, in two parts."""
    cls = m.type_of(x)
    found = m.class_attribute(cls, name)
    if found is ABSENT:
        raise TypeError(
            f"'{cls.__name__}' object does not support the context manager protocol{also}"
        )
    from tracegrad.machine.objects import bound

    return bound(m, found, x, cls)


@maker("BEFORE_WITH")
def _(t, arg, n):
    def op(f, s):
        m = f.machine
        x = s.pop()
        enter, owner = context_method(m, x, "__enter__")
        leave = as_value(*context_method(m, x, "__exit__", " (missed __exit__ method)"))
        s.append(leave)
        s.append(calls.call(m, enter, () if owner is ABSENT else (owner,), {}))
        return n

    return op


@maker("WITH_EXCEPT_START")
def _(t, arg, n):
    late = VERSION >= (3, 14)

    def op(f, s):
        error = s[-1]
        args = (type(error), error, error.__traceback__)
        if late:
            leave, owner = s[-5], s[-4]
            if owner is not ABSENT:
                args = (owner, *args)
        else:
            leave = s[-4]
        s.append(calls.call(f.machine, leave, args, {}))
        return n

    return op


@maker("LOAD_SPECIAL")
def _(t, arg, n):
    name = ("__enter__", "__exit__", "__aenter__", "__aexit__")[arg]
    also = " (missed __exit__ method)" if arg == 1 else ""

    def op(f, s):
        function, owner = context_method(f.machine, s.pop(), name, also)
        s.append(function)
        s.append(owner)
        return n

    return op


# -- imports ----------------------------------------------------------------------------------


@maker("IMPORT_NAME")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        fromlist = s.pop()
        level = s.pop()
        m = f.machine
        importer = f.builtins.get("__import__")
        if importer is None:
            raise ImportError("__import__ not found")
        if type(importer) is FunctionType:
            s.append(m.call(importer, (name, f.globals, f.names, fromlist, level), {}))
        else:
            s.append(
                m.native(natives.import_name, importer, name, f.globals, f.names, fromlist, level)
            )
        return n

    return op


@maker("IMPORT_FROM")
def _(t, arg, n):
    name = t.names[arg]

    def op(f, s):
        s.append(f.machine.native(natives.import_from, s[-1], name))
        return n

    return op


@maker("IMPORT_STAR")
def _(t, arg, n):
    def op(f, s):
        f.machine.native(natives.import_star, s.pop(), f.names)
        return n

    return op


# -- match ------------------------------------------------------------------------------------


@maker("GET_LEN")
def _(t, arg, n):
    def op(f, s):
        s.append(operators.length(f.machine, s[-1]))
        return n

    return op


@maker("MATCH_MAPPING")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.is_mapping, s[-1]))
        return n

    return op


@maker("MATCH_SEQUENCE")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.is_sequence, s[-1]))
        return n

    return op


@maker("MATCH_KEYS")
def _(t, arg, n):
    def op(f, s):
        s.append(f.machine.native(natives.match_keys, s[-2], s[-1]))
        return n

    return op


@maker("MATCH_CLASS")
def _(t, arg, n):
    def op(f, s):
        names = s.pop()
        cls = s.pop()
        s.append(match_class(f.machine, s.pop(), cls, arg, names))
        return n

    return op


def match_class(m, x: Any, cls: type, count: int, names: tuple) -> tuple | None:
    """The values of `case cls(a, b, c=c)`, or None."""
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not m.call(isinstance, (x, cls), {}):
        return None
    if id(type(x)) in PLAIN:
        return m.native(natives.match_class, x, cls, count, names)
    seen: set = set()
    values: list = []
    wanted: tuple = ()
    if count:
        own, itself = None, False
        try:
            own = load_attribute(m, cls, "__match_args__")
        except AttributeError:
            itself = bool(cls.__flags__ & 1 << 22)
            own = None if itself else ()
        wanted = natives.match_arguments(cls, own, itself, count)
        if itself:
            values.append(x)
    for name in (*wanted, *names):
        natives.match_once(cls, name, seen)
        try:
            values.append(load_attribute(m, x, name))
        except AttributeError:
            return None
    return tuple(values)
