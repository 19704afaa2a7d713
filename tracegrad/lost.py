"""A function that is differentiated enters; an error leaves where its result lost its history.

No gradient flows through a Python number. ``if float(loss) < tolerance`` decides and prints print,
nothing is lost there; ``return float(loss)``, ``sum(x.tolist())`` and ``float(x[0]) * y`` give
zeros for what `x` does to the result. Where a number is read of a Tensor with history, `flows`
tells whether it can come back from the function. Where it can, the run is watched from there on:
an operand of an op that the number goes into, or a result that is no Tensor with history, is an
error that names the line of the reading.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import CodeType
from typing import Any

import numpy as np

from tracegrad.bytecode import Syntax, position, statement, syntax
from tracegrad.errors import LostGradientError
from tracegrad.flows import NUMBER, WHOLE, Flow, called_name, enters, flow, own_frames
from tracegrad.points import Point, capture
from tracegrad.state import STATE
from tracegrad.tree import flatten

READ: dict[int, Any] = {}
"""The numbers last made of Tensors with history outside of every watched run, by id."""
_KEPT = 16
_PLAIN = frozenset(map(float, range(-4, 5))) | {0.5, -0.5}  # equal numbers that say nothing


@dataclass(frozen=True, eq=False)
class Reading:
    """Numbers that Python read of a Tensor with history, where, and where they go."""

    numbers: list[Any]
    point: Point
    flow: Flow


class Watch:
    """One run of a function that is differentiated.

    `kind` is what is made of it ("compile", "grad", "value_and_grad", "vjp"): of a function that is
    compiled, some result is to have a history; of the others, every number that is returned.
    """

    __slots__ = ("_kind", "_lost", "_numbers", "_outer", "_readings", "has_aux")

    def __init__(self, kind: str, has_aux: bool = False) -> None:
        self._kind = kind
        self.has_aux = has_aux
        self._readings: dict[Point, Reading] = {}
        self._numbers: dict[int, Reading] = {}
        self._lost: Reading | None = None
        self._outer: Watch | None = None

    def run(self, call: Callable[..., Any], *args: Any) -> Any:
        """What the function returns; raises `LostGradientError`."""
        self._outer = outer = STATE.watch
        STATE.watch = self
        try:
            returned = call(*args)
        finally:
            STATE.watch = outer
            if self._readings:
                STATE.update(losing=outer is not None and outer.losing)
        if self._readings:
            self._check(returned)
        return returned

    @property
    def losing(self) -> bool:
        """Whether a number was read, here or around, that may come back."""
        return bool(self._readings) or (self._outer is not None and self._outer.losing)

    def read(self, reading: Reading) -> None:
        """A number was read that may come back."""
        known = self._readings.setdefault(reading.point, reading)
        if known is not reading:
            known.numbers.extend(reading.numbers)
        floats = (x for x in reading.numbers if isinstance(x, float | complex))  # ints are shared
        self._numbers.update((id(number), known) for number in floats)
        if not STATE.losing:
            STATE.update(losing=True)

    def used(self, operands: Sequence[Any], attributes: Mapping[str, Any]) -> None:
        """An op runs on these."""
        plain: list[tuple[int | None, Any]] = [
            (i, x) for i, x in enumerate(operands) if getattr(x, "_node", None) is None
        ]
        plain += [(None, x) for x in attributes.values() if isinstance(x, float | complex)]
        if not plain:
            return
        point = _inner(capture(_RUN))
        if not point.chain:
            return
        if flow(point, NUMBER, self.has_aux).returned < NUMBER:
            return
        watch: Watch | None = self
        while watch is not None:
            watch._meet(point, plain, len(operands))
            watch = watch._outer  # what it differentiates may be lost in here

    def _meet(self, point: Point, plain: Sequence[tuple[int | None, Any]], count: int) -> None:
        """An op whose result is returned runs on these, of `count` operands."""
        for index, x in plain:
            if self._lost is None:
                self._lost = self._numbers.get(id(x)) or self._behind(point, index, x, count)

    def _behind(self, point: Point, index: int | None, x: Any, count: int) -> Reading | None:
        """The reading whose number an operand is made of."""
        if isinstance(x, bool | int | str) or any(x is c for c in point.chain[0][0].co_consts):
            return None
        if type(x) is np.ndarray and STATE.trace is not None and STATE.trace.placed(x):
            return None
        for reading in self._readings.values():
            if reading.flow.known and enters(point, index, count, reading.flow):
                return reading
        return None

    def _check(self, returned: Any) -> None:
        if self._lost is not None:
            raise _error(self._lost)
        whole = not self.has_aux or not isinstance(returned, tuple) or len(returned) != 2
        leaves, _ = flatten(returned if whole else returned[0])
        bare = [leaf for leaf in leaves if getattr(leaf, "_node", None) is None]
        if self._kind == "compile" and len(bare) < len(leaves):
            return
        for leaf in bare:
            reading = self._source(leaf)
            if reading is not None:
                raise _error(reading)

    def _source(self, leaf: Any) -> Reading | None:
        """The reading that a returned leaf without history is made of."""
        if id(leaf) in self._numbers:
            return self._numbers[id(leaf)]
        tensor = hasattr(leaf, "_array")
        dtype = getattr(leaf, "dtype", None)
        if isinstance(leaf, bool) or not (
            isinstance(leaf, int | float | complex) or (dtype is not None and dtype.kind in "fc")
        ):
            return None
        if not tensor and _is_constant(leaf, self._readings.values()):
            return None
        for reading in self._readings.values():
            if any(_equal(number, leaf) for number in reading.numbers):
                return reading
        least = NUMBER if tensor or dtype is not None else WHOLE
        for reading in self._readings.values():
            if reading.flow.returned >= least or (reading.flow.kept and not tensor):
                return reading
        return None


def read(numbers: Sequence[Any], level: int = NUMBER) -> None:
    """Python made these of a Tensor with history."""
    watch = STATE.watch
    point = capture(_RUN)
    if watch is not None:
        point = _inner(point)
    if not point.chain:
        return
    found = flow(point, level, watch is not None and watch.has_aux)
    if found.ends:
        return
    reading = Reading(list(numbers), point, found)
    if watch is not None:
        watch.read(reading)
    elif level == NUMBER:
        while len(READ) >= _KEPT:
            READ.pop(next(iter(READ)), None)
        READ.update((id(number), (number, reading)) for number in numbers[:_KEPT])


def flat(nested: Any) -> tuple[Any, ...]:
    """The numbers in nested lists."""
    if not isinstance(nested, list):
        return (nested,)
    return tuple(chain.from_iterable(map(flat, nested)))


def used(number: Any) -> None:
    """An op whose result has a history runs on a number, perhaps one of `READ`."""
    known = READ.get(id(number))
    if known is None or STATE.watch is not None or not STATE.grad_enabled:
        return
    if not flow(capture(None), NUMBER).ends:
        raise _error(known[1])


@lru_cache(maxsize=1 << 12)
def _inner(point: Point) -> Point:
    """A point without the frame of `Watch.run`, where it was captured up to that."""
    return Point(point.chain[:-1]) if point.chain[-1][0] is _RUN else point


_RUN = Watch.run.__code__


# -- what was returned ----------------------------------------------------------------------------


def _equal(number: Any, leaf: Any) -> bool:
    """Whether a returned number is one that was read, and no such number as many are."""
    if np.ndim(leaf) or not np.isfinite(leaf) or number in _PLAIN:
        return False
    return bool(number == leaf)


def _is_constant(leaf: Any, readings: Iterable[Reading]) -> bool:
    """Whether a number stands in the text of a function that ran, or of one that it may call.

    Infinities and nan have no gradient to lose.
    """
    if not np.ndim(leaf) and not np.isfinite(leaf):
        return True
    codes = {code for reading in readings for code, _ in reading.point.chain}
    return any(leaf is constant for code in _reachable(codes) for constant in code.co_consts)


def _reachable(codes: set[CodeType]) -> Iterator[CodeType]:
    """These code objects and those inside them."""
    waiting = list(codes)
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


# -- in words -------------------------------------------------------------------------------------


def _error(reading: Reading) -> LostGradientError:
    """The error that names the line of a reading, and the way out."""
    frames = own_frames(reading.point) or reading.point.chain
    code, offset = frames[0]
    site, where = syntax(code, offset), position(code, offset)
    line = code.co_firstlineno if where is None else where[0]
    expression = text = ""
    if site is not None:
        line, text = statement(site, line)
        if isinstance(site.node, ast.expr):
            expression = ast.unparse(site.node)
    what = f"{expression} reads" if expression else "Python reads"
    return LostGradientError(
        f"the gradient is lost: {what} a number of a value that is being differentiated, and the "
        f"number comes back in the result, but no gradient flows through Python numbers. "
        f"{_instead(site)}. Where a constant is meant, say so: x.item(), x.detach() or "
        "tg.stop_gradient(x); what is only reported goes into the second result (has_aux=True)"
        f"\n  at {code.co_filename}:{line}  {text}".rstrip()
    )


def _instead(site: Syntax | None) -> str:
    """What to write where a number was read."""
    node = getattr(site, "node", None)
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name == "tolist":
            return "Compute with the array, or with its elements ([v for v in x])"
        if name in ("float", "complex", "int"):
            return f"Leave {name}(...) out and compute with the array itself"
        if ast.unparse(node.func).startswith(("math.", "cmath.")) and hasattr(np, name):
            return f"Write np.{name}"
    return "Write it with functions of arrays (np, tg), which gradients flow through"
