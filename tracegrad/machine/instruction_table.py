"""Instructions that move values, read names and jump; and the table that all makers enter.

Each instruction becomes a closure `op(frame, stack) -> index of the next one`. `MAKERS` maps its
name to the function that makes the closure, from the translation at hand, the argument, and the
index of the following instruction. A negative index ends the loop: the frame returns or yields what
is on top of its stack, or an exception goes on its way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType, CodeType
from typing import Any

from tracegrad.machine import operators
from tracegrad.machine.decoding import VERSION, Instruction
from tracegrad.machine.world_protocol import ABSENT

RETURN, YIELD, RERAISE = -1, -2, -3
Op = Callable[[Any, list], int]
MAKERS: dict[str, Callable[..., Op]] = {}


class Refused(Exception):
    """Raised for code that the machine does not execute; the text says why."""


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


# -- moving values -----------------------------------------------------------------------------


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


# -- cells -------------------------------------------------------------------------------------


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


# -- names -------------------------------------------------------------------------------------


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


# -- jumps -------------------------------------------------------------------------------------


@maker("JUMP_FORWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _(t, arg, n):
    return lambda f, s: arg


@maker("JUMP_BACKWARD")
def _(t, arg, n):
    def op(f, s):
        turn = f.machine.turn
        return arg if turn is None else turn(f, arg)

    return op


@maker("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE")
def _(t, arg, n):
    wanted = t.instructions[n - 1].name.endswith("TRUE")

    def op(f, s):
        if operators.truth(f.machine, s.pop()) is not wanted:
            return n
        turn = f.machine.turn
        return arg if turn is None else turn(f, arg)

    return op


@maker("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_IF_TRUE")
def _(t, arg, n):
    def op(f, s):
        x = s.pop()
        if x is True:
            return arg
        if x is False:
            return n
        return arg if operators.truth(f.machine, x) else n

    return op


@maker("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_IF_FALSE")
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
