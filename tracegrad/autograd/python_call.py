"""Calls functions on Tensors from programs on arrays: hooks, derivatives of the user's calls.

A program holds arrays; the user's functions take Tensors. `Hook` shows a cotangent to a hook.
`Pullback` differentiates whatever was called by running it on Tensors that record, so that hooks
and custom functions have derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import Foreign
from codegen.types import ArrayType, is_inexact
from tracegrad.autograd import engine
from tracegrad.errors import BackwardError
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.python_calls import call_python, hooked
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape import hooks
from tracegrad.tape.functions_apart import apart, lost_by, made_apart, start_history
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.closures import released
from tracegrad.values.dispatch import dtype_of, is_number

# -- arrays and Tensors -------------------------------------------------------------------------


def boxed(x: Any) -> Any:
    """An array or number as a Tensor; anything else as it is."""
    if is_number(x):
        x = np.asarray(x)[()]
    return wrap(x) if hasattr(x, "dtype") and not isinstance(x, Tensor) else x


def copied(x: Any) -> Any:
    """The same in memory of its own, for code that may write into it or keep it."""
    return x.copy() if hasattr(x, "dtype") else x


def array_of(x: Any, dtype: Any) -> Any:
    """The array of a Tensor, array or number in this dtype; a NumPy scalar where it has no axes."""
    array = getattr(x, "_array", x)
    if not hasattr(array, "dtype"):
        array = np.asarray(array)
    if array.dtype != dtype:
        array = array.astype(dtype)
    return array[()] if type(array) is np.ndarray and not array.ndim else array


def one_or_all(results: Sequence[Any]) -> Any:
    """What an op gives: its result, or the tuple of them."""
    return results[0] if len(results) == 1 else tuple(results)


def quietly(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls user code from a program: no trace, nothing recorded, nothing read of what is around.

    `name` is that of the code.
    """
    before = STATE.update(trace=None, grad_enabled=False)
    try:
        with apart(name):
            return function(*args)
    finally:
        STATE.update(**before)


def once(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """The same, for user code of which a call keeps nothing: no other run of it may follow."""
    if STATE.outcomes is None:
        return quietly(name, function, *args)
    STATE.outcomes.runs_others()
    before, STATE.outcomes = STATE.outcomes, None
    try:
        return quietly(name, function, *args)
    finally:
        STATE.outcomes = before


# -- derivatives --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pullback:
    """From the operands of a call and cotangents of its results to cotangents of its operands.

    `of` is what was called: ``of.tensors(*operands)`` runs it on Tensors. `wanted` are the operands
    that can have a gradient, `given` the results whose cotangents follow the operands.
    """

    name: str
    of: Any
    operands: int
    wanted: tuple[int, ...]
    given: tuple[int, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        return one_or_all([types[i].with_dtype(types[i].dtype) for i in self.wanted])

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors; recorded itself where recording is on."""
        create_graph = STATE.grad_enabled
        operands = list(values[: self.operands])
        before = STATE.update(grad_enabled=True)
        try:
            inputs = []
            for i in self.wanted:
                operands[i] = _differentiable(operands[i])
                inputs.append(operands[i])
            results = self.of.tensors(*operands)
            pairs = [
                (results[k], ct)
                for k, ct in zip(self.given, values[self.operands :], strict=True)
                if results[k].requires_grad
            ]
            found: dict[Any, Any] = {}
            if pairs:
                outputs, cts = zip(*pairs, strict=True)
                if STATE.machine is not None and not create_graph:
                    refuse_hidden(self.name.removesuffix("_vjp"), outputs, inputs)
                found = engine.gradients(outputs, cts, inputs, create_graph)
        finally:
            STATE.update(**before)
        gradients = []
        for tensor in inputs:
            value = found.get(engine.key_of(tensor))
            value = zeros_of(tensor) if value is None else value
            gradients.append(value if isinstance(value, Tensor) else wrap(value))
        return tuple(gradients)

    def __call__(self, *arrays: Any) -> Any:
        results = once(self.name, self.tensors, *map(boxed, arrays))
        return one_or_all([array_of(r, r.dtype) for r in results])

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


def refuse_hidden(name: str, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raises where a transform runs a rule that reads something else with a history."""
    leaves = engine.leaves_of(engine.gather(outputs), outputs)
    if any(all(leaf is not x for x in inputs) and not made_apart(leaf) for leaf in leaves):
        raise lost_by(name)


def _differentiable(tensor: Tensor) -> Tensor:
    """A Tensor of the same values that a tape can start from."""
    if tensor.requires_grad:
        same: Tensor = alias(tensor)
        return same
    leaf = wrap(tensor._array)
    start_history(leaf)
    return leaf


def pulled(called: Any, ct: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the operands of a call, as the results of another call."""
    cts = ct if isinstance(ct, tuple) else (ct,)
    given = tuple(k for k, ct in enumerate(cts) if ct is not None)
    wanted = tuple(i for i, x in enumerate(operands) if is_inexact(dtype_of(x)))
    if not given or not wanted:
        return (None,) * len(operands)
    name = f"{called.name}_vjp"
    pullback = Foreign(name, Pullback(name, called, len(operands), wanted, given))
    results = call_python(*operands, *(cts[k] for k in given), function=pullback)
    several = results if isinstance(results, tuple) else (results,)
    contributions: list[Any] = [None] * len(operands)
    for i, result in zip(wanted, several, strict=True):
        contributions[i] = result
    return tuple(contributions)


# -- hooks --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Hook:
    """A hook as a program calls it: a cotangent, and what its closure reads, to a cotangent."""

    name: str
    hook: Callable[..., Any]  # gets the closure's Tensors and gives the function to call
    dtype: str

    def infer(self, sizes: Sizes, ct: ArrayType, *closure: ArrayType) -> ArrayType:
        return ct.with_dtype(ct.dtype)

    def tensors(self, ct: Tensor, *closure: Tensor) -> tuple[Tensor]:
        return (engine.conjugate(call_hook(self.hook(*closure), engine.conjugate(ct))),)

    def __call__(self, ct: Any, *closure: Any) -> Any:
        shown = boxed(copied(array_of(ct, self.dtype)))
        (result,) = once(self.name, self.tensors, shown, *map(boxed, closure))
        return array_of(result, self.dtype)

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


def call_hook(hook: Callable[[Tensor], Any], ct: Tensor) -> Tensor:
    """What the hook returns, checked, or the cotangent itself when it returns nothing."""
    replaced = hook(ct)
    if replaced is None:
        return ct
    result: Tensor = replaced if isinstance(replaced, Tensor) else boxed(np.asarray(replaced))
    if np.shape(result._array) != np.shape(ct._array):
        raise BackwardError(
            f"the hook {hooks.hook_name(hook)} returned a gradient of shape "
            f"{np.shape(result._array)} for one of shape {np.shape(ct._array)}"
        )
    return result


class TracedHook:
    """A hook that was registered while tracing: a call in the graph wherever it is due.

    Its closure is read when the call is written, not when the hook is registered: variables that
    were assigned in between are seen as Python sees them.
    """

    def __init__(self, hook: Callable[..., Any], trace: Any, alive: Callable[[], bool]) -> None:
        self.hook = hook
        self.trace = trace
        self.alive = alive

    def __call__(self, ct: Any) -> Any:
        if not (type(ct) is Tensor and ct._traced is not None and ct._traced[0] is STATE.trace):
            return self.hook(ct)
        foreign, closure = self.resolved(dtype_of(ct))
        return call_python(ct, *closure, function=foreign)

    def resolved(self, dtype: str) -> tuple[Foreign, list[Tensor]]:
        """What the program calls, and the traced Tensors that the hook's closure reads."""
        name = hooks.hook_name(self.hook)
        bind, closure = released(self.hook, self.trace, name)
        stem = name.rpartition(".")[2]
        stem = stem if stem.isidentifier() else "hook"
        return Foreign(stem, Hook(stem, bind, dtype)), closure


def trace_hook(tensor: Tensor, hook: Callable[..., Any], alive: Callable[[], bool]) -> TracedHook:
    """The hook as one of a trace; marks the place in the graph."""
    trace, value = tensor._traced
    traced = TracedHook(hook, trace, alive)
    trace.builder.call(hooked, (value,), trace.origin(), function=Foreign("hook", traced))
    return traced


hooks.FOR_TRACES.append(trace_hook)
