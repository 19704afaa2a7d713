"""A float that Python made of a Tensor with a gradient enters; where it goes on into arithmetic, a
warning leaves: no gradient flows through a Python number.

``if float(loss) < tolerance`` decides, and prints print: nothing is lost there. ``math.sin(x[0])``
computes, and so does ``float(x[0]) * y``. The first is told by the instruction that asked for the
number, the second by the number itself, which is met again as an operand: the same object, not an
equal one. What was computed from it by Python in between is not followed.
"""

from __future__ import annotations

import ast
import sys
import warnings
from types import BuiltinFunctionType, FrameType
from typing import Any

import numpy as np

from tracegrad.bytecode import statement, syntax
from tracegrad.errors import LostGradientWarning
from tracegrad.points import LIBRARY

READ: dict[int, float | complex] = {}
"""The numbers last made of Tensors with gradients, by id."""
_KEPT = 16
_SAID: set[tuple[str, int]] = set()

_WITHOUT_SLOPE = frozenset({"ceil", "floor", "frexp", "isclose", "isfinite", "isinf", "isnan"})
_WITHOUT_SLOPE |= {"trunc", "ulp"}
MODULES = ("math", "cmath")


def read(number: float | complex, frame: FrameType) -> None:
    """Python made this number of a Tensor with a gradient, where the frame stands."""
    while len(READ) >= _KEPT:
        READ.pop(next(iter(READ)), None)
    READ[id(number)] = number
    name = _asked_by(frame)
    if name is not None:
        short = name.rpartition(".")[2]
        other = f"np.{short}" if hasattr(np, short) else "a function of arrays"
        _warn(frame, f"{name} computes with Python numbers", other)


def used(operands: Any) -> None:
    """These are operands of an op that has a derivative."""
    for x in operands:
        if id(x) in READ:
            here: FrameType | None = sys._getframe(1)
            while here is not None and here.f_globals.get("__name__", "").split(".")[0] in LIBRARY:
                here = here.f_back
            if here is not None:
                _warn(here, "a float made of a Tensor is computed with", "the Tensor itself")
            return


def _asked_by(frame: FrameType) -> str | None:
    """The function of `math` that a frame is calling, as the user calls it; None for others."""
    site = syntax(frame.f_code, frame.f_lasti)
    if site is None or not isinstance(site.node, ast.Call):
        return None
    function = site.node.func
    match function:
        case ast.Name(name):
            found = _variable(frame, name)
        case ast.Attribute(ast.Name(module), name):
            found = getattr(_variable(frame, module), name, None)
        case _:
            return None
    computes = type(found) is BuiltinFunctionType and found.__module__ in MODULES
    return ast.unparse(function) if computes and name not in _WITHOUT_SLOPE else None


def _variable(frame: FrameType, name: str) -> Any:
    return frame.f_locals[name] if name in frame.f_locals else frame.f_globals.get(name)


def _warn(frame: FrameType, what: str, instead: str) -> None:
    """Says once for each line that a gradient is lost."""
    place = frame.f_code.co_filename, frame.f_lineno
    if place in _SAID:
        return
    _SAID.add(place)
    site = syntax(frame.f_code, frame.f_lasti)
    text = f"  {statement(site, place[1])[1]}" if site is not None else ""
    message = (
        f"{what}, through which no gradient flows, at {place[0]}:{place[1]}{text}. "
        f"Write {instead}; or x.item(), or x.detach(), where a constant is meant"
    )
    warnings.warn_explicit(message, LostGradientWarning, *place)
