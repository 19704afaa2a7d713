"""What a function that is called with Tensors hands out: of each output, what the function had.

A program computes arrays and numbers. Where the function had a Tensor, the caller gets one; where
it had an array of NumPy's or a number, that; where it had a Tensor of the caller's, that very one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.traced_run import Run
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.outputs import Result, Transform
from tracegrad.values.dispatch import is_number, number_kind
from tracegrad.world.stores import as_plain


def as_had(
    result: Result,
    arguments: Arguments,
    transform: Transform,
    run: Run,
    leaves: Sequence[tuple[Any, Any]],
) -> Result:
    """The structure of a result, with what a function of Tensors had of each output.

    `leaves` are what it returned, with the numbers of outputs.
    """
    if arguments.tensors is None or transform.kind != "compile":
        return result
    return replace(result, plain=_plain(run, leaves), given=_given(run, leaves))


def _plain(run: Run, leaves: Sequence[tuple[Any, Any]]) -> tuple[tuple[int, type], ...]:
    """Which outputs are arrays of NumPy's and numbers to the caller, and of which type."""
    found = []
    for leaf, place in leaves:
        kind = number_kind(getattr(leaf, "_array", leaf))
        if kind is None and type(leaf) is Tensor and not run.world.is_array_to_caller(leaf):
            continue
        if isinstance(place, int):
            found.append((place, kind or type(getattr(leaf, "_array", leaf))))
    return tuple(found)


def _given(run: Run, leaves: Sequence[tuple[Any, Any]]) -> tuple[tuple[int, int], ...]:
    """Which outputs are Tensors among the arguments or from outside: their inputs."""
    tensors = [*run.tensors, *(holder for holder, _ in run.trace.captured.values())]
    places = {id(x): i for i, x in enumerate(tensors) if type(x) is Tensor}
    return tuple([(place, places[id(leaf)]) for leaf, place in leaves if id(leaf) in places])


def handed_out(
    result: Result, made: Sequence[Any], tensors: Sequence[Tensor], inputs: Sequence[Any]
) -> Any:
    """What a call returns: `made` are the outputs as the program gives them, and as `tensors`.

    `inputs` are the leaves of the arguments and what stands outside.
    """
    if not (result.given or result.plain):
        return result.build(tensors)
    handed: list[Any] = [*tensors]
    for place, i in result.given:
        handed[place] = inputs[i] if isinstance(inputs[i], Tensor) else tensors[place]
    for place, kind in result.plain:
        if tensors[place]._node is None:  # a number with a history (`math.sin(x[0])`) is a Tensor
            handed[place] = as_plain(made[place], kind)
    return result.build(handed)


def left_by(run: Run, leaf: Any) -> Any:
    """What the caller gets of what a run without a program has returned or stored."""
    if not isinstance(leaf, Tensor) or (leaf._traced is None and run.world.is_outside(leaf)):
        return leaf
    original = run.world.original(leaf)
    if original is not leaf and type(original) is Tensor:
        return original
    recorded = STATE.grad_enabled or run.world.is_own_leaf(leaf)
    has_history = recorded and leaf._node is not None
    if (is_number(leaf._array) and not has_history) or run.world.is_array_to_caller(leaf):
        return leaf._array
    return without_trace(run, leaf) if recorded else wrap(leaf._array)


def without_trace(run: Run, leaf: Any) -> Any:
    """A Tensor of a run, without the trace: one with a history stays that one."""
    if not isinstance(leaf, Tensor):
        return wrap(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf
    if leaf._node is not None and all(leaf is not given for given in run.tensors):
        leaf._traced = None
        return leaf
    tensor = wrap(leaf._array)
    tensor._node = leaf._node
    return tensor
