"""Errors for Tensors with a history that would become plain arrays or numbers.

Outside of transforms no machine follows a function of SciPy's: it calls the user's function, in C
or in Python, and makes a plain number of the Tensor that this returns. Such an error names the
function of SciPy's that the user has called. So it is with `math.fsum` and `np.fromiter`, which
gather the numbers of many Tensors.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from tracegrad.errors import ConversionError, LostGradientError, package_of
from tracegrad.user_code.bytecode import memo_by_code, owner, syntax
from tracegrad.user_code.program_points import LIBRARY, Point, at_line, line_of
from tracegrad.user_code.solver_advice import INSTEAD

_WITHOUT = (
    "Where no gradient is due, give it x.detach(), or compute with that in the function that it "
    "calls"
)


@dataclass(frozen=True)
class _Call:
    """A call of a function of SciPy's that is under way: its name, and the user's line."""

    name: str
    line: str

    def error(self, kind: type[Any], what: str) -> Any:
        short = self.name.rpartition(".")[2]
        instead = f"Instead of {short}(...) {INSTEAD[short]}. " if short in INSTEAD else ""
        return kind(f"{self.name} {what}. {instead}{_WITHOUT}{self.line}")


def _called() -> _Call | None:
    """The function of SciPy's whose code, or C code that it calls, asks for plain numbers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and package_of(frame) in LIBRARY:
        frame = frame.f_back
    if frame is None or package_of(frame) != "scipy" or _decides(frame.f_code, frame.f_lasti):
        return None
    name = ""
    while frame is not None and package_of(frame) in ("scipy", *LIBRARY):
        module = frame.f_globals["__name__"]
        if module.startswith("scipy.") and not module.startswith("scipy._lib"):
            name = public_name(module, _name(frame))
        frame = frame.f_back
    users = () if frame is None else ((frame.f_code, owner(frame.f_code, frame.f_lasti)),)
    return _Call(name, line_of(Point(users)))


def _name(frame: FrameType) -> str:
    """The name of a function that runs; of a method that makes an object that of its class."""
    code = frame.f_code
    if code.co_name == "__init__":
        return type(frame.f_locals[code.co_varnames[0]]).__name__
    return code.co_qualname


def public_name(module: str, name: str) -> str:
    """A function of SciPy's as users import it, not by the file that it stands in."""
    parts = [part for part in module.split(".") if not part.startswith("_")]
    for count in range(2, len(parts)):
        public = ".".join(parts[:count])
        if hasattr(sys.modules.get(public), name.partition(".")[0]):
            return f"{public}.{name}"
    return ".".join([*parts, name])


def _decides(code: CodeType, offset: int) -> bool:
    """Whether SciPy's Python makes a number itself, of what it has computed: to compare, to stop.

    Its parameters it makes numbers of to compute with them.
    """
    node = getattr(syntax(code, owner(code, offset)), "node", None)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return False
    given = node.args[0]
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    taken = isinstance(given, ast.Name) and given.id in parameters
    return node.func.id in ("float", "int") and not taken


_READS = (
    "reads a number of a Tensor that requires grad, and no gradient flows through Python numbers"
)
_GATHERING: dict[int, tuple[str, str]] = {
    id(math.fsum): ("math.fsum", "write sum(...), or tg.sum(tg.stack([...]))"),
    id(np.fromiter): ("np.fromiter", "write tg.stack([...])"),
}
"""By the identity of a function in C that makes one thing of many numbers, its name and what to
write in place of it. Those of one number often decide what is done next."""


def refuse_number() -> None:
    """Raises where SciPy, or C code that gathers numbers, reads one of a Tensor with a history."""
    call = _called()
    if call is not None:
        raise call.error(LostGradientError, _READS)
    known = _GATHERING.get(id(_computing()))
    if known is not None:
        name, instead = known
        raise LostGradientError(
            f"{name} {_READS}: {instead}. Where no gradient is due, give it x.detach(){at_line()}"
        )


def _computing() -> Any:
    """The function that is called by name where the user's Python is; None where none is known."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and package_of(frame) in LIBRARY:
        frame = frame.f_back
    if frame is None:
        return None
    places = _CALLED(frame.f_code)
    if frame.f_lasti not in places:
        places[frame.f_lasti] = _named_at(frame.f_code, frame.f_lasti)
    match places[frame.f_lasti]:
        case (name,):
            return _of_name(frame, name)
        case (module, name):
            found = _of_name(frame, module)
            return vars(found).get(name) if isinstance(found, ModuleType) else None
    return None


_CALLED: Callable[[CodeType], dict[int, tuple[str, ...]]] = memo_by_code(lambda code: {})
"""What `_named_at` has found, by offset."""


def _named_at(code: CodeType, offset: int) -> tuple[str, ...]:
    """The name of what is called at an instruction, or those of a module and of what is in it."""
    node = getattr(syntax(code, owner(code, offset)), "node", None)
    match getattr(node, "func", None):
        case ast.Name(name):
            return (name,)
        case ast.Attribute(ast.Name(module), name):
            return module, name
    return ()


def _of_name(frame: FrameType, name: str) -> Any:
    return frame.f_locals.get(name, frame.f_globals.get(name))


def made_plain() -> ConversionError:
    """The error for a Tensor that requires grad and is to be a plain array."""
    call = _called()
    if call is not None:
        error: ConversionError = call.error(
            ConversionError,
            "makes a plain array of a Tensor that requires grad, and its gradient would be lost",
        )
        return error
    return ConversionError(
        "a Tensor that requires grad cannot become a plain array, its gradient would be lost: use "
        f".detach() first, or tg.stack to build arrays of Tensors{at_line()}"
    )


def written_into_plain() -> ConversionError:
    """The error for a Tensor that is written into an array of NumPy's."""
    call = _called()
    if call is not None:
        error: ConversionError = call.error(
            ConversionError,
            "writes a Tensor that requires grad into a plain array, and its gradient would be lost",
        )
        return error
    instead = ": make the array with tg.zeros(...) or np.zeros_like(x), where x is an argument"
    return ConversionError(
        "a Tensor written into a plain array would lose its gradient: write into a Tensor, or "
        f"build the array with tg.stack{at_line(instead)}"
    )
