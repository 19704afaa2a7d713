"""Raises an error where the result of a differentiated function has lost its history.

No gradient flows through a Python number. ``if float(loss) < tolerance`` decides and prints print,
nothing is lost there; ``return float(loss)``, ``sum(x.tolist())`` and ``float(x[0]) * y`` give
zeros for what `x` does to the result. A `Watch` knows the numbers that were read of Tensors with
history. The machine tells it of every operation (`Watch.around`), so what Python makes of such a
number is known as well, and so are the Tensors that are computed from it. If what the function
returns is one of them, that is an error that names the line of the reading.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import CodeType
from typing import Any

import numpy as np

from tracegrad.errors import LostGradientError
from tracegrad.machine import ABSENT
from tracegrad.runtime.thread_state import STATE
from tracegrad.user_code.bytecode import Syntax, position, statement, syntax
from tracegrad.user_code.caught_refusals import raise_caught
from tracegrad.user_code.lost_conversions import refuse_number
from tracegrad.user_code.program_points import Point, capture, capture_run
from tracegrad.user_code.solver_advice import INSTEAD
from tracegrad.values.pytree import flatten

_SHARED = (bool, int, type(None), type, type(ABSENT))  # many objects are the same one
_SEQUENCES = (list, tuple, set, frozenset, dict)
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = tuple(f"{os.sep}{name}-packages{os.sep}" for name in ("site", "dist"))


@dataclass(frozen=True, eq=False)
class Reading:
    """Where Python read a number of a Tensor with history, or a rule stored one."""

    point: Point
    stored_by: str = ""  # the name of the rule


class Watch:
    """One run of a function that is differentiated.

    `kind` is what is made of it ("compile", "grad", "value_and_grad", "vjp"): of a function that is
    compiled, some result is to have a history; of the others, every number that is returned.
    """

    __slots__ = (
        "_iterators",
        "_kind",
        "_leaves",
        "_numbers",
        "_outer",
        "_reading",
        "_recorded",
        "_wholes",
        "has_aux",
    )

    def __init__(self, kind: str, has_aux: bool = False) -> None:
        self._kind = kind
        self.has_aux = has_aux
        self._outer: Watch | None = None
        self._numbers: dict[int, tuple[Any, Reading]] = {}  # what is made of numbers read, by id
        self._wholes: dict[int, Reading] = {}  # whole numbers read
        self._recorded: dict[int, tuple[Any, Reading]] = {}  # and those that a trace follows, by id
        self._iterators: dict[int, Any] = {}  # those of lists and tuples, by id
        self._leaves: list[Any] = []  # that were made in the run
        self._reading: Reading | None = None  # in the operation that runs

    def run(self, call: Callable[..., Any], *args: Any, leaves: Sequence[Any] = ()) -> Any:
        """What the function returns; raises `LostGradientError`, and refusals that it caught.

        `leaves` of the tape are what it is differentiated in.
        """
        outer = self._outer = STATE.watch
        if outer is not None:  # what it differentiates may be lost in here
            self._numbers, self._wholes = outer._numbers, outer._wholes
            self._iterators, self._recorded = outer._iterators, outer._recorded
            self._leaves = outer._leaves
        self.made(leaves)
        STATE.watch = self
        try:
            returned = raise_caught(call, *args)
        finally:
            STATE.watch = outer
            if STATE.losing:
                STATE.update(losing=outer is not None)
        if self._numbers or self._wholes or self._recorded:
            self._check(returned)
        return returned

    @property
    def compiles(self) -> bool:
        """Whether the function is compiled, and no part of one that is differentiated."""
        return self._kind == "compile" and self._outer is None

    def made(self, leaves: Iterable[Any]) -> None:
        """The function, or a derivative that it takes, made these leaves of the tape."""
        self._leaves += leaves

    def is_outside(self, leaf: Any) -> bool:
        """Whether a leaf was there before the run."""
        return all(leaf is not own for own in self._leaves)

    # -- what is read, and what is made of it ---------------------------------------------------

    def read(self, numbers: Iterable[Any], stored_by: str = "") -> None:
        """Python made these of a Tensor with history; none, where it made something else.

        Or a rule of the user's made and stored them: the name of that.
        """
        reading = self._reading = Reading(_here(), stored_by)
        for number in numbers:
            if hasattr(number, "_array") and number.dtype.kind in "iu":
                self._recorded[id(number)] = (number, reading)
            elif isinstance(number, int):
                self._wholes.setdefault(number, reading)
            else:
                self._numbers[id(number)] = (number, reading)
        if not STATE.losing:
            STATE.update(losing=True)

    def around(
        self,
        run: Callable[..., Any],
        operands: Sequence[Any],
        keywords: dict[str, Any],
        written: Callable[[Sequence[Any], dict[str, Any]], Sequence[Any]],
    ) -> Any:
        """An operation of C: what it makes of a number that was read is one as well.

        So is all that is in an array to which it writes such a number. `written` gives those of
        the operands, of which the first is the operation.
        """
        outer, self._reading = self._reading, None
        try:
            result = run(*operands, **keywords)
        finally:
            reading, self._reading = self._reading, outer
        if reading is not None:
            self._mark(result, reading)
            self._mark_memory(written(operands[1:], keywords), reading)
        elif self._numbers:
            given = (*operands, *keywords.values())
            found = self._found(given)
            if found is not None and getattr(operands[0], "__name__", "") == _RATIO:
                raise _error(found)
            if found is not None and not self._decides(operands):
                of_tensors = any(hasattr(x, "_array") for x in given)
                of_tensors |= operands[0] is next and id(operands[1]) in self._iterators
                self._mark(result, found, not of_tensors, _Items(given))
                if operands[0] is iter and type(operands[1]) in (list, tuple):
                    self._iterators[id(result)] = result
                self._mark_memory(written(operands[1:], keywords), found)
        return result

    def used(self, operands: Sequence[Any], results: Sequence[Any], op: Any) -> None:
        """An op ran on these."""
        if not (op.differentiable and self._numbers) or self._has_no_slope(op.name, operands):
            return
        reading = self._found(operands)
        if reading is not None:
            for result in results:
                self._numbers[id(result)] = (result, reading)

    def succeeds(self, other: Any, x: Any) -> None:
        """A number or Tensor goes on as another one."""
        known = self._numbers.get(id(x))
        if known is not None:
            self._numbers[id(other)] = (other, known[1])

    def knows(self, x: Any) -> bool:
        """Whether something comes of a number that was read."""
        return id(x) in self._numbers

    def _found(self, values: Sequence[Any]) -> Reading | None:
        """The reading that one of these comes from."""
        for x in values:
            known = self._numbers.get(id(x))
            if known is None and issubclass(type(x), _MEMORY):
                known = self._numbers.get(id(_owner(x)))
            if known is not None:
                return known[1]
            if type(x) in _SEQUENCES:
                found = self._found([*x.values()] if type(x) is dict else [*x])
                if found is not None:
                    return found
        return None

    def _decides(self, operands: Sequence[Any]) -> bool:
        """Whether an operation has no slope in those of its operands that come of numbers read."""
        operation, *rest = operands
        name = getattr(operation, "__name__", "")
        if self._has_no_slope(name, rest):
            return True
        if name in _LOOKUPS:
            bound = getattr(operation, "__self__", None)
            holder, *others = (bound, *rest) if isinstance(bound, dict) else rest
            if isinstance(holder, dict):  # by a key
                return self._found([*dict.values(holder), *others[1:]]) is None
        return False

    def _has_no_slope(self, name: str, operands: Sequence[Any]) -> bool:
        if name == "copysign":
            return id(operands[0]) not in self._numbers
        return name in _FLAT

    def _mark(
        self, result: Any, reading: Reading, tensors: bool = False, given: _Items | None = None
    ) -> None:
        """What an operation made of a number that was read; what decides has no slope.

        A Tensor that it was `given` beside that number, in a tuple or list, stays what it is.
        """
        if given is not None and hasattr(result, "_array") and result in given:
            return
        if type(result) is tuple or type(result) is list:
            for x in result:
                self._mark(x, reading, tensors, given)
            return
        if isinstance(result, dict):
            for x in list(dict.values(result)):
                self._mark(x, reading, tensors, given)
        kind = getattr(getattr(result, "dtype", None), "kind", "f")
        if isinstance(result, _SHARED) or (isinstance(kind, str) and kind in "biu"):
            return
        if tensors or not hasattr(result, "_array"):
            self._numbers[id(result)] = (result, reading)

    def _mark_memory(self, arrays: Sequence[Any], reading: Reading) -> None:
        """A number that was read is written to these."""
        for x in arrays:
            owner = _owner(x)
            kind = getattr(getattr(owner, "dtype", None), "kind", "f")
            if kind not in "biu":
                self._numbers[id(owner)] = (owner, reading)

    # -- what is returned -----------------------------------------------------------------------

    def _check(self, returned: Any) -> None:
        whole = not self.has_aux or not isinstance(returned, tuple) or len(returned) != 2
        leaves, _ = flatten(returned if whole else returned[0])
        bare = [leaf for leaf in leaves if getattr(leaf, "_node", None) is None]
        for leaf in leaves:
            known = self._numbers.get(id(leaf))
            if known is not None and (self._kind != "compile" or len(bare) == len(leaves)):
                raise _error(known[1])
            if known is not None and getattr(leaf, "_node", None) is not None:
                raise _error(known[1])
            lost = self._kind != "compile" or len(bare) == len(leaves)
            if lost and type(leaf) is int and leaf in self._wholes:
                raise _error(self._wholes[leaf])
            if lost and id(leaf) in self._recorded:
                raise _error(self._recorded[id(leaf)][1])


class _Items:
    """What stands in the tuples and lists among the operands of an operation."""

    def __init__(self, operands: Sequence[Any]) -> None:
        self._operands = operands
        self._ids: set[int] | None = None  # found when it is asked for

    def __contains__(self, x: Any) -> bool:
        if self._ids is None:
            self._ids, waiting = set(), list(self._operands)
            while waiting:
                value = waiting.pop()
                if type(value) in (tuple, list):  # which may hold itself
                    waiting += [item for item in value if id(item) not in self._ids]
                    self._ids.update(map(id, value))
        return id(x) in self._ids


_MEMORY = (np.ndarray, np.flatiter, memoryview)


def _owner(x: Any) -> Any:
    """What owns the memory of an array, or of what goes through one or shows one."""
    while issubclass(type(x), _MEMORY):
        base = x.obj if type(x) is memoryview else x.base
        if base is None:
            break
        x = base
    return x


def read(numbers: Sequence[Any]) -> None:
    """Python made these of a Tensor with history."""
    if STATE.watch is not None:
        STATE.watch.read(numbers)
    else:
        refuse_number()


def lost_at() -> str:
    """What is lost where the number that Python reads here comes back in a result, in short."""
    point = _here()
    code, offset = (_own_frames(point) or point.chain)[0]
    expression, line, _ = _site(code, offset)
    place = f"{os.path.basename(code.co_filename)}:{line}"
    return f"the gradient that goes through {expression or 'a number'} at {place} is lost"


def succeeds(other: Any, x: Any) -> None:
    """A number or Tensor goes on as another one."""
    if STATE.watch is not None:
        STATE.watch.succeeds(other, x)


def refuse(tensor: Any) -> None:
    """Raises where Python is about to make whole numbers, which are not followed, of a history."""
    watch = STATE.watch
    if watch is not None and (tensor._node is not None or watch.knows(tensor)):
        raise _error(Reading(_here()))


def flat(nested: Any) -> tuple[Any, ...]:
    """The numbers in nested lists."""
    if not isinstance(nested, list):
        return (nested,)
    return tuple(chain.from_iterable(map(flat, nested)))


_LOOKUPS = frozenset({"getitem", "get", "setdefault", "pop"})
_RATIO = "as_integer_ratio"  # gives whole numbers that hold all of a number, and are not followed
_FLAT = frozenset({"sign", "floor", "ceil", "trunc", "rint", "floor_divide", "stop_gradient"})


_OUTERMOST = compile("", "<nowhere>", "exec")


def _here() -> Point:
    """Where the user's code is, with the frames that led there."""
    point = capture_run(_OUTERMOST)
    return point if point.chain else capture()


# -- in words -------------------------------------------------------------------------------------


def _own_frames(point: Point) -> tuple[tuple[CodeType, int], ...]:
    """The frames of a point that are of the user's own files."""
    return tuple([at for at in point.chain if not _is_of_others(at[0].co_filename)])


def _is_of_others(file: str) -> bool:
    """Whether a file is Python's own, or was installed."""
    return file.startswith(_STANDARD) or any(part in file for part in _INSTALLED)


def _site(code: CodeType, offset: int) -> tuple[str, int, str]:
    """The expression at a place in code, where it is one, the number of its line, and the line."""
    site, where = syntax(code, offset), position(code, offset)
    line = code.co_firstlineno if where is None else where[0]
    if site is None:
        return "", line, ""
    expression = ast.unparse(site.node) if isinstance(site.node, ast.expr) else ""
    return expression, *statement(site, line)


def _error(reading: Reading) -> LostGradientError:
    """The error that names the line of a reading, and the way out."""
    frames = _own_frames(reading.point) or reading.point.chain
    if not frames:
        return LostGradientError(_LOST.format(what="Python reads", instead=_instead(None)))
    code, offset = frames[0]
    site = syntax(code, offset)
    expression, line, text = _site(code, offset)
    what = f"{expression} reads" if expression else "Python reads"
    at = f"\n  at {code.co_filename}:{line}  {text}".rstrip()
    if reading.stored_by:
        return LostGradientError(_STORED.format(name=reading.stored_by) + at)
    return LostGradientError(_LOST.format(what=what, instead=_instead(site)) + at)


_LOST = (
    "the gradient is lost: {what} a number of a value that is being differentiated, and the number "
    "comes back in the result, but no gradient flows through Python numbers. {instead}. Where a "
    "constant is meant, say so: x.item(), x.detach() or tg.stop_gradient(x); what is only reported "
    "goes into the second result (has_aux=True)"
)
_STORED = (
    "the gradient is lost: {name} runs apart from the function, on values without a history, and "
    "what it stores outside comes back in the result. Return it from {name} as another result, "
    "with a cotangent of its own. Where a constant is meant, say so: tg.stop_gradient(x)"
)


def _instead(site: Syntax | None) -> str:
    """What to write where a number was read."""
    node = getattr(site, "node", None)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name == "tolist":
            return "Compute with the array, or with its elements ([v for v in x])"
        if name in ("float", "complex", "int"):
            return f"Leave {name}(...) out and compute with the array itself"
        if ast.unparse(node.func).startswith(("math.", "cmath.")) and hasattr(np, name):
            return f"Write np.{name}"
        if name in INSTEAD:
            return f"Instead of {name}(...) {INSTEAD[name]}"
    return "Write it with functions of arrays (np, tg), which gradients flow through"
