"""Parameters that a function never reads, such as the number of the step that an optimizer gives.

What a call gives for one is no part of what is compiled for it.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType, MethodType
from typing import Any

from tracegrad.machine.tracebacks import SHOWN
from tracegrad.user_code.bytecode import memo_by_code

_NONE: frozenset[str] = frozenset()
_BY_NAME = {"dir", "eval", "exec", "locals", "super", "vars"}
"""Names of functions that read variables of the frame that calls them."""
_WRITES = {"DELETE_FAST", "STORE_FAST"}


def unread_parameters(function: Any) -> frozenset[str]:
    """Those that the code of a plain function or method names nowhere, and nobody asked for."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is not FunctionType or function.__dict__.keys() & _OTHER_PARAMETERS:
        return _NONE
    code = function.__code__
    return _NONE if code in SHOWN else _unread(code)


_OTHER_PARAMETERS = {"__signature__", "__wrapped__"}
"""Attributes of functions whose calls are bound to other parameters than their code's."""


@memo_by_code
def _unread(code: CodeType) -> frozenset[str]:
    if not _BY_NAME.isdisjoint(code.co_names) or "__class__" in code.co_freevars:
        return _NONE
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read: set[Any] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname not in _WRITES:
            named = instruction.argval
            several = isinstance(named, tuple)  # one instruction may read two
            read.update([x for x in (named if several else (named,)) if type(x) is str])
    return frozenset(parameters) - read
