"""Cotangents that are no arrays: what a rule or a hook gives the walker instead.

(`Scattered`, a cotangent that is zero but at an index, stands beside the ops on indices.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracegrad.errors import NotDifferentiableError


class Undefined:
    """What a rule gives for an operand in which no derivative is known: asking for it raises."""

    __slots__ = ("error",)

    def __init__(self, message: str, kind: type[Exception] = NotDifferentiableError) -> None:
        self.error = kind(message)


class Zero:
    """What a rule gives for an operand on which steps alone depend: a gradient, which is 0.

    (None says that there is no gradient.) The walker makes the zeros where somebody sees them, so
    on the way they cost nothing.
    """

    __slots__ = ()


ZERO = Zero()


def flat(ct: Any, y: Any, *operands: Any, **attributes: Any) -> tuple[Zero, ...]:
    """The rule of functions whose derivative is 0 wherever there is one, in all operands."""
    return (ZERO,) * len(operands)


class Later:
    """What a rule gives for an operand that nobody may ask for: it is computed where somebody does.

    So what it is computed from, which may have changed since, is not read for nothing.
    """

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


def computed(ct: Any) -> Any:
    """A cotangent that somebody asks for."""
    return ct.compute() if type(ct) is Later else ct


class Total:
    """A cotangent with all that its operand had before: it takes the place of that."""

    __slots__ = ("ct",)

    def __init__(self, ct: Any) -> None:
        self.ct = ct


class Masked:
    """A cotangent that is exactly 0 wherever `condition` is not `keep`, whatever stands there.

    The walker carries the mask to the end of a chain of elementwise rules, so that a branch of a
    `where` that was not taken contributes 0 and not ``0 * inf``.
    """

    __slots__ = ("condition", "ct", "keep")

    def __init__(self, ct: Any, condition: Any, keep: bool) -> None:
        self.ct = ct
        self.condition = condition
        self.keep = keep


class Negated:
    """A cotangent that is ``-ct``. The walker carries the sign on, until it is a subtraction."""

    __slots__ = ("ct",)

    def __init__(self, ct: Any) -> None:
        self.ct = ct


class Replaced:
    """A contribution that a hook has put in the place of a rule's: neither mask nor sign is left to
    be applied to it."""

    __slots__ = ("ct",)

    def __init__(self, ct: Any) -> None:
        self.ct = ct
