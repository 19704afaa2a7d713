"""A call of SciPy enters, the record of an op that programs for NumPy spell so leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codegen.ir import Trait
from codegen.spelling import spell
from tracegrad.ops.record import OpRecord


def scipy_op(
    name: str,
    text: str,
    module: str,
    *,
    infer: Callable[..., Any],
    vjp: Any,
    operands: str = "x",
    jax: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    elementwise: bool = False,
    needs: Mapping[str, str] | None = None,
) -> OpRecord:
    """The record of a function of SciPy; programs for JAX have it where `jax` says how.

    `module` is what the text names SciPy's module, ``linalg`` for ``scipy.linalg``.
    """
    imported = {module: f"from scipy import {module}", **(needs or {})}
    return OpRecord(
        name=name,
        operands=tuple(operands.split()),
        infer=infer,
        spelling={"numpy": spell(text)} | ({"jax": spell(jax)} if jax else {}),
        attributes=dict(attributes or {}),
        traits=frozenset({Trait.ELEMENTWISE} if elementwise else ()),
        vjp=vjp,
        differentiable=vjp is not None,
        needs={"numpy": imported},
    )
