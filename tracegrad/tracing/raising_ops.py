"""What programs raise: which ops they do though nothing reads them, what Python's numbers raise.

An op that may raise is no dead code where the function may catch that, and some ops are none
anywhere: the origin of what they make says so, and `codegen.passes.dce` keeps them. Within a
``try`` that holds for all arithmetic: the caller may want FloatingPointErrors.

``n / m`` of Python's numbers raises where `m` is 0, ``1 << n`` where `n` is negative. A function
that may catch this goes on in another way then: the program looks at the divisor, and each way is
a path. Where nothing catches it, a call that raises ends, and no path stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.ir import Origin, Trait, Value
from tracegrad.machine.enclosing_handlers import tries
from tracegrad.ops.elementwise import ufuncs
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import is_number, is_weak

RAISES_OF: Mapping[Any, int] = {
    **dict.fromkeys((ufuncs.divide, ufuncs.floor_divide, ufuncs.remainder), 0),
    **dict.fromkeys((ufuncs.bitwise_left_shift, ufuncs.bitwise_right_shift), -1),
}
"""A second operand for which an operator of Python's numbers raises."""


QUIET = frozenset({Trait.VIEW, Trait.SPLAT, Trait.COPY, Trait.PLACES, Trait.HOLDS})
"""Ops with one of these compute nothing of which NumPy could warn."""


def origin_of(trace: Any, op: Any, operands: Sequence[Any], origin: Origin) -> Origin:
    """The origin of what an op makes: it says whether the program has to raise what it raises."""
    raises = (
        op.raises == "always"
        or (op.raises == "numbers" and _may_raise(op, operands))
        or (op.raises == "caught" and trace.catches)
        or (_may_warn(op) and not origin.within and _tries(trace))
    )
    return replace(origin, raises=True) if raises else origin


def caught(what: str) -> str:
    """What a run has read that raised an exception and went on: no guard knows of it."""
    line = at_line().strip()
    return f"{what}, which it caught{f', {line}' if line else ''}"


def _may_warn(op: Any) -> bool:
    """Whether NumPy may warn, or raise a FloatingPointError where the caller wants that."""
    return op.differentiable and op.memory is None and op.traits.isdisjoint(QUIET)


def _tries(trace: Any) -> bool:
    return trace.world is not None and tries(trace.world.machine)


@contextmanager
def raising(trace: Any) -> Iterator[None]:
    """The program of a trace has to raise what the ops raise that are done within."""
    if trace is None:
        yield
        return
    before, trace.standing = trace.standing, replace(trace.origin(), raises=True)
    try:
        yield
    finally:
        trace.standing = before


def ask(trace: Any, op: Any, operands: Sequence[Any]) -> None:
    """Looks at what is `sound` of Python's numbers, and raises where that does not hold."""
    if not trace.catches:
        return
    if op in RAISES_OF:
        for value in _either(operands):
            trace.shows_type(value)
    if not _may_raise(op, operands):
        return
    if trace.choices is not None and trace.choices.leaves_uncaught():
        return
    if all(map(bool, op.sound(None, *operands))):
        return
    a, b = (getattr(x, "_array", x) for x in operands)
    error = _raised(op, a, type(b)(RAISES_OF[op]))
    assert error is not None
    if trace.choices is not None:
        trace.choices.raises(error)
    raise error


def samples(trace: Any, op: Any, operands: Sequence[Any]) -> list[Any]:
    """What the operands hold; a sample for which the op raises is another one."""
    arrays = [getattr(x, "_array", x) for x in operands]
    raises = trace.samples and _may_raise(op, operands) and _raised(op, *arrays)
    if raises and not trace.without_inputs(operands[1]._traced[1]):
        arrays[1] = type(arrays[1])(1)
    return arrays


def watch_errors(trace: Any) -> None:
    """Other values may raise here, and the program knows no ``np.errstate`` of the function."""
    now = np.geterr()
    if now == trace.errors:
        return
    for (category, mode), before in zip(now.items(), trace.errors.values(), strict=True):
        if mode in ("raise", "call", "log") and mode != before:
            trace.read(f'np.errstate({category}="{mode}")')


def _may_raise(op: Any, operands: Sequence[Any]) -> bool:
    """Whether the second operand is a Tensor, and both are Python's numbers."""
    if op not in RAISES_OF or getattr(operands[1], "_traced", None) is None:
        return False
    return in_trace(operands[1]) is not None and all(map(is_weak, operands))


def _either(operands: Sequence[Any]) -> Iterator[Value]:
    """Numbers that may be Python's, where all others are."""
    traced = [getattr(x, "_traced", None) for x in operands]
    values = [of[1] for of in traced if of is not None]
    if all(v.type.may_be_python for v in values):
        others = (x for x, of in zip(operands, traced, strict=True) if of is None)
        yield from values if all(map(is_number, others)) else ()


def _raised(op: Any, a: Any, b: Any) -> Exception | None:
    try:
        op.kernel({})(a, b)
    except (ValueError, ZeroDivisionError) as error:
        return error
    return None
