"""Instructions that came after 3.11, where they are more than another name or argument."""

from __future__ import annotations

import builtins
from typing import Any

from tracegrad.machine import calls, natives, operators
from tracegrad.machine.attribute_lookup import as_value, super_lookup
from tracegrad.machine.decoding import VERSION
from tracegrad.machine.instruction_table import MAKERS, Refused, maker, unbound
from tracegrad.machine.world_protocol import ABSENT, is_a

# -- local variables --------------------------------------------------------------------------


@maker("LOAD_FAST_AND_CLEAR")
def _(t, arg, n):
    def op(f, s):
        s.append(f.fast[arg])
        f.fast[arg] = ABSENT
        return n

    return op


@maker("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _(t, arg, n):
    first, second = arg >> 4, arg & 15
    names = t.slots

    def op(f, s):
        fast = f.fast
        for place in (first, second):
            value = fast[place]
            if value is ABSENT:
                raise unbound(names[place])
            s.append(value)
        return n

    return op


@maker("STORE_FAST_LOAD_FAST")
def _(t, arg, n):
    first, second = arg >> 4, arg & 15

    def op(f, s):
        f.fast[first] = s[-1]
        s[-1] = f.fast[second]
        return n

    return op


@maker("STORE_FAST_STORE_FAST")
def _(t, arg, n):
    first, second = arg >> 4, arg & 15

    def op(f, s):
        f.fast[first] = s.pop()
        f.fast[second] = s.pop()
        return n

    return op


# -- constants --------------------------------------------------------------------------------


@maker("LOAD_SMALL_INT")
def _(t, arg, n):
    def op(f, s):
        s.append(arg)
        return n

    return op


@maker("LOAD_COMMON_CONSTANT")
def _(t, arg, n):
    value = (AssertionError, NotImplementedError, tuple, all, any, list, set)[arg]

    def op(f, s):
        s.append(value)
        return n

    return op


# -- intrinsic functions ----------------------------------------------------------------------


def stop_iteration(f, s):
    """A StopIteration that would leave a generator becomes a RuntimeError."""
    error = s[-1]
    if is_a(error, StopIteration):
        changed = RuntimeError("generator raised StopIteration")
        changed.__cause__ = changed.__context__ = error
        s[-1] = changed


def import_star(f, s):
    f.machine.native(natives.import_star, s.pop(), f.names)
    s.append(None)


def positive(f, s):
    s[-1] = operators.unary(f.machine, *operators.UNARY["UNARY_POSITIVE"], s[-1])


def list_to_tuple(f, s):
    s[-1] = tuple(s[-1])


INTRINSICS = {2: import_star, 3: stop_iteration, 5: positive, 6: list_to_tuple}


@maker("CALL_INTRINSIC_1")
def _(t, arg, n):
    what = INTRINSICS.get(arg)
    if what is None:
        raise Refused(f"{t.code.co_qualname} makes type parameters")

    def op(f, s):
        what(f, s)
        return n

    return op


@maker("CALL_INTRINSIC_2")
def _(t, arg, n):
    if arg == 1:
        raise Refused(f"{t.code.co_qualname} has an `except*`")
    raise Refused(f"{t.code.co_qualname} makes type parameters")


# -- super ------------------------------------------------------------------------------------


@maker("LOAD_SUPER_ATTR")
def _(t, arg, n):
    name = t.names[arg >> 2]
    method, given = arg & 1, arg & 2
    after = VERSION >= (3, 13)

    def op(f, s):
        m = f.machine
        owner = s.pop()
        cls = s.pop()
        if s[-1] is builtins.super:
            found = super_lookup(m, m.native(super, cls, owner), name)
            value, self = found  # type: ignore[misc]
        else:
            x = calls.call(m, s[-1], (cls, owner) if given else (), {})
            value, self = m.load_attribute(x, name), ABSENT
        if not method:
            s[-1] = as_value(value, self)
        elif after or self is not ABSENT:
            s[-1] = value
            s.append(self)
        else:
            s[-1] = ABSENT
            s.append(value)
        return n

    return op


# -- template strings -------------------------------------------------------------------------


@maker("BUILD_INTERPOLATION")
def _(t, arg, n):
    from string.templatelib import Interpolation  # type: ignore[import-not-found]

    conversion = (None, "s", "r", "a")[arg >> 2]

    def op(f, s):
        spec = s.pop() if arg & 1 else ""
        text = s.pop()
        s[-1] = f.machine.native(Interpolation, s[-1], text, conversion, spec)
        return n

    return op


@maker("BUILD_TEMPLATE")
def _(t, arg, n):
    from string.templatelib import Template  # type: ignore[import-not-found]

    def op(f, s):
        inner = s.pop()
        strings = s[-1]
        parts: list[Any] = [strings[0]]
        for value, text in zip(inner, strings[1:]):
            parts += [value, text]
        s[-1] = f.machine.native(Template, *parts)
        return n

    return op


__all__ = ["MAKERS"]
