"""Makes op records of SciPy's functions, which programs for NumPy call by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codegen.ir import Trait
from codegen.spelling import Spelling, SpellingOf, spell
from tracegrad.errors import TraceError
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord


@dataclass(frozen=True, eq=False, repr=False)
class SciPyOp(OpRecord):
    """An op that NumPy's target has of SciPy, and JAX's where JAX has it."""

    def spelled(self, target: str, attributes: Mapping[str, Any]) -> Spelling:
        if target not in self.spelling:
            raise TraceError(
                f"{self.name} is a function of SciPy that a program for {target} cannot have: "
                'compile this with backend="numpy"'
            )
        return super().spelled(target, attributes)


def scipy_op(
    name: str,
    text: str | SpellingOf,
    module: str,
    *,
    infer: Callable[..., Any],
    vjp: Any,
    jvp: Any = None,
    operands: str = "x",
    results: str = "",
    jax: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    elementwise: bool = False,
    used: tuple[Any, ...] = (),
    used_in_jax: tuple[Any, ...] = (),
) -> OpRecord:
    """The record of a function of SciPy; programs for JAX have it where `jax` says how.

    `module` is what the source names SciPy's module, ``linalg`` for ``scipy.linalg``. Besides that
    the sources use these functions and imports (`needs`). The rule of an op with several `results`
    takes None as the cotangent of one.
    """
    return SciPyOp(
        name=name,
        operands=tuple(operands.split()),
        infer=infer,
        spelling={"numpy": spell(text) if isinstance(text, str) else text}
        | ({"jax": spell(jax)} if jax else {}),
        attributes=dict(attributes or {}),
        traits=frozenset({Trait.ELEMENTWISE} if elementwise else ()),
        vjp=vjp,
        jvp=jvp,
        differentiable=vjp is not None,
        results=tuple(results.split()),
        partial=bool(results),
        needs=needs((f"from scipy import {module}", *used), used_in_jax),
    )
