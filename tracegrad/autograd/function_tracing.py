"""Records `Function.apply` in a compiled function as two calls in the graph.

`Forward` is what the program calls: arrays to the outputs and the context. Its derivative is a
call of `Backward`, from the context and cotangents to gradients. Both run the user's Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from codegen.ir import Call, Value
from codegen.sizes import Sizes
from codegen.spelling import Foreign
from codegen.types import ArrayType, is_inexact
from tracegrad.autograd.context import (
    FunctionCtx,
    Place,
    carries_gradient,
    index_of,
    places_of,
)
from tracegrad.autograd.function_halves import (
    dirty_outputs,
    run_backward,
    run_forward,
    with_history,
)
from tracegrad.autograd.function_tangents import Pushed, Transposed
from tracegrad.autograd.python_call import array_of, boxed, copied, one_or_all, pulled, quietly
from tracegrad.differentiation.reverse_mode import unbroadcast
from tracegrad.errors import GradientError
from tracegrad.ops.elementwise.ufuncs import stop_gradient, strengthen
from tracegrad.ops.python_calls import PythonOp, call_python
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import record
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.closures import refuse_hidden, tell
from tracegrad.values.dispatch import FLOATING, array_type, dtype_of, is_number, type_of

_CONTEXT = ArrayType("object")
"""The type of a context as a value of a graph."""


class Here:
    """Stands for the next Tensor among the arguments."""


class Number:
    """Stands for the next number of Python's, which each call has another one for."""


@dataclass(frozen=True, eq=False)
class Forward:
    """The first half of an application in a program: arrays to the outputs and the context."""

    cls: type[Any]
    args: tuple[Any, ...]  # as given, with `Here` for Tensors and `Number` for numbers
    needs: tuple[bool, ...]
    dtypes: tuple[str, ...]  # of the Tensors
    writes: frozenset[int]  # Tensors that are changed in place
    outputs: tuple[Any, ...]  # the type of each Tensor, anything else itself
    carrying: tuple[int, ...]  # outputs that have a gradient
    places: tuple[Place, ...]  # Tensors of the application that the context holds

    def infer(self, sizes: Sizes, *types: ArrayType) -> tuple[ArrayType, ...]:
        return (*(x for x in self.outputs if isinstance(x, ArrayType)), _CONTEXT)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        tensors = [
            boxed(copied(x) if i in self.writes else _read_only(x))
            for i, x in enumerate(map(array_of, arrays, self.dtypes))
        ]
        numbers = [x.item() if hasattr(x, "item") else x for x in arrays[len(tensors) :]]
        ctx, _, outputs = _run(self.cls, FunctionCtx(self.needs), self.args, tensors, numbers)
        if len(outputs) != len(self.outputs) or not all(map(_alike, outputs, self.outputs)):
            raise LookupError(
                f"{self.cls.__name__}.forward returned other things, or other shapes, than when it "
                "was traced"
            )
        return (*(array_of(x, x.dtype) for x in outputs if isinstance(x, Tensor)), ctx)

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """The second half, as another call."""
        cts = {k: ct[self.result(k)] for k in self.carrying if ct[self.result(k)] is not None}
        wanted = self._wanted(operands)
        contributions: list[Any] = [None] * len(operands)
        if not cts or not wanted:
            return tuple(contributions)
        tell(getattr(self.cls, "ruled", self.cls)._users, self.cls.__name__)
        back = self._back(tuple(cts), wanted, operands)
        held = self._held(y, operands)
        results = call_python(y[-1], *held, *cts.values(), function=Foreign(back.name, back))
        several = results if isinstance(results, tuple) else (results,)
        for i, result in zip(wanted, several, strict=True):
            contributions[i] = result
        return tuple(contributions)

    def jvp(self, tangents: Sequence[Any], y: Any, *operands: Any) -> tuple[Any, ...]:
        """The tangents of the results, as another call."""
        moving = tuple(i for i in self._wanted(operands) if tangents[i] is not None)
        found: list[Any] = [None] * len(y)
        if not moving or not self.carrying:
            return tuple(found)
        places = tuple(self.result(k) for k in self.carrying)
        types = tuple(type_of(y[place]) for place in places)
        name, held = f"{self.cls.__name__}_jvp", self._held(y, operands)
        if self.cls._push is None:
            back = self._back(self.carrying, moving, operands)
            push: Any = Transposed(name, self.cls, back, 1 + len(held), types)
        else:
            push = Pushed(name, self.cls, None, self.places, moving, self.carrying, types)
        dots = [tangents[i] for i in moving]
        results = call_python(y[-1], *held, *dots, function=Foreign(name, push))
        several = results if isinstance(results, tuple) else (results,)
        for place, result in zip(places, several, strict=True):
            found[place] = result
        return tuple(found)

    def _wanted(self, operands: Sequence[Any]) -> tuple[int, ...]:
        """The operands that can have a gradient."""
        needs = [need for need, x in zip(self.needs, self.args, strict=True) if x is Here]
        pairs = enumerate(operands[: len(needs)])  # behind these are numbers
        return tuple(i for i, x in pairs if needs[i] and is_inexact(dtype_of(x)))

    def _held(self, y: Any, operands: Sequence[Any]) -> list[Any]:
        """The values that the context holds."""
        return [operands[i] if kind == "input" else y[self.result(i)] for kind, i in self.places]

    def _back(
        self, given: tuple[int, ...], wanted: tuple[int, ...], operands: Sequence[Any]
    ) -> Backward:
        types = tuple(type_of(operands[i]) for i in wanted)
        return Backward(f"{self.cls.__name__}_backward", self, given, wanted, types)

    def result(self, k: int) -> int:
        """Which result of the call the k-th output is."""
        return sum(isinstance(x, ArrayType) for x in self.outputs[:k])


@dataclass(frozen=True, eq=False)
class Backward:
    """The second half in a program: context, Tensors that it holds and cotangents to gradients."""

    name: str
    forward: Forward
    given: tuple[int, ...]  # outputs whose cotangents are given
    wanted: tuple[int, ...]  # Tensor arguments that have a gradient
    types: tuple[ArrayType, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        return one_or_all(self.types)

    def tensors(self, ctx: FunctionCtx, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors, for derivatives: those given stand for those that the context holds."""
        places = self.forward.places
        if not set(places_of(ctx)) <= set(places):
            raise GradientError(
                f"{self.forward.cls.__name__}.forward saved other Tensors than when it was traced: "
                "save the same ones on every path, for gradients of gradients"
            )
        held = len(places)
        return self._run(ctx, values[held:], dict(zip(places, values[:held], strict=True)))

    def __call__(self, ctx: FunctionCtx, *arrays: Any) -> Any:
        cts = [
            boxed(copied(array_of(x, self.forward.outputs[k].dtype)))
            for k, x in zip(self.given, arrays[len(self.forward.places) :], strict=True)
        ]
        try:
            grads = quietly(self.name, self._run, ctx, cts, {})
        except Exception:
            if STATE.trace is not None:
                STATE.trace.notes_exception(f"what {self.name} raises")
            raise
        inputs = [shape for shape in ctx._inputs if shape is not None]
        pairs = zip(grads, (inputs[i] for i in self.wanted), strict=True)
        return one_or_all([array_of(unbroadcast(g, x), x.dtype) for g, x in pairs])

    def _run(
        self, ctx: FunctionCtx, cts: Sequence[Any], shown: Mapping[Place, Any]
    ) -> tuple[Tensor, ...]:
        given = dict(zip(self.given, cts, strict=True))
        every = [given.get(k) for k in range(len(self.forward.outputs))]
        found = run_backward(self.forward.cls, ctx, every, shown, attributes=bool(shown))
        grads = [found[i] for i in self.wanted]
        return tuple(
            wrap(np.zeros(x.shape, x.dtype)) if grad is None else grad
            for grad, x in zip(grads, self.types, strict=True)
        )

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


def _read_only(x: Any) -> Any:
    """The same array, refusing writes: it belongs to the program or its caller."""
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def _alike(output: Any, expected: Any) -> bool:
    if isinstance(expected, ArrayType):
        return isinstance(output, Tensor) and array_type(output._array) == expected
    return output is expected or (type(output) is type(expected) and bool(output == expected))


def _run(
    cls: type[Any],
    ctx: FunctionCtx,
    args: Sequence[Any],
    tensors: Sequence[Tensor],
    numbers: Sequence[Any],
) -> tuple[FunctionCtx, bool, list[Any]]:
    """Forward on these in the places of `args` that are theirs; its context too."""
    rest = {Here: iter(tensors), Number: iter(numbers)}
    filled = [next(rest[x]) if x is Here or x is Number else x for x in args]

    def run() -> Any:
        try:
            return quietly(cls.__name__, run_forward, cls, ctx, filled)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise GradientError(
                f"{cls.__name__}.forward changes an argument in place without saying so: call "
                "ctx.mark_dirty(x) and return x, or change a copy"
            ) from error

    if STATE.outcomes is None:
        return (ctx, *run())
    found: tuple[FunctionCtx, bool, list[Any]] = STATE.outcomes.forward(cls, ctx, filled, True, run)
    return found


def apply_traced(cls: type[Any], trace: Any, args: tuple[Any, ...]) -> Any:
    """`Function.apply` in a function that is being compiled."""
    plain = [isinstance(x, Tensor) and _is_plain(x, trace) for x in args]
    template = tuple(
        Number if number else Here if isinstance(x, Tensor) else x
        for x, number in zip(args, plain, strict=True)
    )
    for x in template:
        refuse_hidden(x, trace, f"an argument of {cls.__name__}.apply")
    for half in cls._halves:
        refuse_hidden(half, trace, f"{cls.__name__}.{half.__name__}")
    inputs = [x for x, of in zip(args, template, strict=True) if of is Here]
    numbers = [x for x, number in zip(args, plain, strict=True) if number]
    strong = [strengthen(x) if is_number(x._array) else x for x in inputs]
    origin = trace.origin()
    lifted = tuple(trace.lift(x, origin) for x in (*strong, *numbers))
    for value in lifted:
        trace.look_at_shape(value)
    needs = [isinstance(x, Tensor) and x.requires_grad for x in args]
    if not any(needs):  # a derivative may still be made of the graph
        every = zip(args, template, strict=True)
        needs = [of is Here and x.dtype.kind in FLOATING for x, of in every]
    ctx = FunctionCtx(tuple(needs))
    given = [wrap(copied(x._array)) for x in strong]  # it is not yet known what forward changes
    try:
        ctx, single, outputs = _run(cls, ctx, template, given, [x._array for x in numbers])
    except Exception:
        trace.notes_exception(f"what {cls.__name__} raises")
        raise
    dirty = dirty_outputs(cls, ctx, given, inputs, outputs)
    function = Forward(
        cls=cls,
        args=template,
        needs=tuple(needs),
        dtypes=tuple(x.dtype.name for x in given),
        writes=frozenset(i for i, x in enumerate(given) if index_of(x, ctx._dirty) is not None),
        outputs=tuple(array_type(x._array) if isinstance(x, Tensor) else x for x in outputs),
        carrying=tuple(
            k for k, x in enumerate(outputs) if isinstance(x, Tensor) and carries_gradient(ctx, x)
        ),
        places=places_of(ctx),
    )
    foreign = Foreign(f"{cls.__name__}_forward", function)
    values = [(trace, value) for value in _call(trace, cls._op, lifted, foreign)]
    if not STATE.grad_enabled:
        values = [(trace, _constant(trace, value)) for _, value in values[:-1]]
    pairs = iter(values)
    traced = [next(pairs) if isinstance(x, Tensor) else None for x in outputs]
    node = None
    if STATE.grad_enabled and any(x.requires_grad for x in inputs):
        arrays = (*(x._array for x in outputs if isinstance(x, Tensor)), ctx)
        node = record(
            cls._op,
            strong,
            {"function": foreign},
            arrays,
            (tuple(x._traced for x in strong), tuple(values)),
        )
    shown = with_history(ctx, outputs, traced, dirty, node)
    return shown[0] if single else tuple(shown)


def _is_plain(x: Tensor, trace: Any) -> bool:
    """Whether the function has a number of Python's, of which no part is differentiated."""
    if not is_number(x._array) or x._node is not None or x._traced is None:
        return False
    if not (trace.wanted and isinstance(x._array, float | complex)):
        return True
    given = {*trace.inputs, *[value for _, value in trace.captured.values()]} - {*trace.wanted}
    waiting, seen = [x._traced[1]], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen or value in given or trace.builder.constant_of(value) is not None:
            continue
        seen.add(value)
        node = trace.builder.producer.get(value)
        if not isinstance(node, Call):  # a parameter of a turn, or an input
            return False
        waiting += node.operands
    return True


def _constant(trace: Any, value: Value) -> Value:
    """The value, cut off from its derivative: what is computed under no_grad."""
    (cut,) = trace.builder.call(stop_gradient, (value,), value.origin)
    result: Value = cut
    return result


def _call(
    trace: Any, op: PythonOp, operands: tuple[Value, ...], function: Foreign
) -> tuple[Value, ...]:
    """The call in the graph; its last result is named for what it is."""
    trace.builder.call(op, operands, trace.origin(), function=function)
    call = trace.builder.nodes.pop()
    last = call.results[-1]
    context = replace(last, origin=replace(last.origin, name="ctx", final=True))
    call = replace(call, results=(*call.results[:-1], context))
    trace.builder.append(call)
    results: tuple[Value, ...] = call.results
    return results
