"""Operations with a gradient written by the user: ``autograd.Function``.

Eagerly, `Function.apply` runs ``forward`` and puts one node on the tape, whose rule is
``backward``. In a function that is being compiled both are calls in the graph, and so in the
generated source (`function_tracing`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from tracegrad.autograd.context import FunctionCtx, places_of
from tracegrad.autograd.function_halves import (
    dirty_outputs,
    run_backward,
    run_forward,
    with_history,
)
from tracegrad.autograd.function_tracing import apply_traced
from tracegrad.autograd.python_call import boxed, copied, one_or_all
from tracegrad.errors import ArgumentError, BackwardError
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.python_calls import PythonOp, python_op
from tracegrad.runtime.array_manners import note_made
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import note
from tracegrad.tape.functions_apart import apart
from tracegrad.tape.tape import SMALL, Node, Shape, record
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.closures import storing, tell
from tracegrad.user_code.program_points import line_of_function


class Function:
    """An operation with a derivative of its own: subclass it and call ``Sub.apply(...)``.

    ``forward(ctx, *args)`` computes; Tensors among its arguments are those that may have gradients,
    and nothing in it is recorded. ``backward(ctx, *grads)`` gets one gradient an output and returns
    one gradient (or None) an argument. Both are static methods. In the newer spelling
    ``forward(*args)`` takes no context and ``setup_context(ctx, inputs, output)`` fills it.

    Other Tensors that ``forward`` reads get no gradient from it, as in PyTorch; in a function that
    a transform runs they are refused where they have one.

    Inside compiled functions both run as calls; the lengths of the arguments are then fixed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> class Exp(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = tg.exp(x)
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = tg.tensor([0.0, 1.0], requires_grad=True)
    >>> y = Exp.apply(x)
    >>> y
    tensor([1.0000, 2.7183], grad_fn=<ExpBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 2.7183])
    """

    _op: PythonOp
    _sets_context: bool
    _halves: tuple[Callable[..., Any], ...]  # the user's, which may read Tensors around them
    _users: tuple[Any, ...]  # the same, where nothing else stands for them
    _stores = False  # it was seen to store something outside
    _push: Callable[..., Any] | None = None  # a rule for forward mode, see `function_tangents`
    _again: Callable[..., Any] | None = None  # runs on the tape what a backward goes back through

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._sets_context = cls.setup_context is not Function.setup_context
        cls._op = python_op(cls.__name__.lower(), f"{cls.__name__}Backward")
        if "_halves" not in vars(cls):
            cls._halves = (cls.forward, cls.setup_context, cls.backward)
        cls._users = cls._halves

    @staticmethod
    def forward(*args: Any) -> Any:
        """Computes the outputs: a Tensor or a tuple of them."""
        raise NotImplementedError("an autograd.Function needs a static method forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context when ``forward`` does not take it."""
        raise NotImplementedError("setup_context(ctx, inputs, output) is not defined")

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        """Gradients of the arguments from gradients of the outputs."""
        raise NotImplementedError(
            "an autograd.Function needs a static method backward(ctx, *grads) to have a gradient"
        )

    @classmethod
    def _line(cls) -> str:
        """The line of the rule, as the last one of a message."""
        return line_of_function(cls.backward)

    @classmethod
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Runs ``forward`` on the arguments; the outputs remember how to go back."""
        if keywords:
            raise ArgumentError(
                f"{cls.__name__}.apply takes no keyword arguments ({', '.join(keywords)}): pass "
                "them by position"
            )
        result = cls._applied(*args)
        note_made(result if isinstance(result, tuple) else (result,))
        return result

    @classmethod
    def _applied(cls, *args: Any) -> Any:
        """As `apply`, for tracegrad's own: what comes of arrays alone stands for arrays."""
        with storing(cls, cls._halves, args):
            if STATE.trace is None:
                return _apply(cls, args)
            return apply_traced(cls, STATE.trace, args)

    def __call__(self, *args: Any) -> Any:
        name = type(self).__name__
        raise BackwardError(
            f"{name} is called as an instance, the spelling of PyTorch before 0.4: make forward "
            f"and backward static methods with a first argument ctx, and call {name}.apply(...)"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a ``backward`` whose result must not be differentiated again."""

    @functools.wraps(backward)
    def wrapped(ctx: FunctionCtx, *grads: Any) -> Any:
        every = (*grads, *ctx.saved_tensors)
        history = [x for x in every if isinstance(x, Tensor) and x.requires_grad]
        recording = STATE.grad_enabled and history
        before = STATE.update(grad_enabled=False)
        try:
            returned = backward(ctx, *grads)
        finally:
            STATE.update(**before)
        if not recording:
            return returned
        several = returned if isinstance(returned, tuple) else (returned,)
        return tuple(_Once._applied(x, *history) if isinstance(x, Tensor) else x for x in several)

    return wrapped


class _Once(Function):
    """The first argument; refuses to go back."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, *history: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        raise BackwardError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


# -- eager --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Applied:
    """The rule of one application's node on the tape."""

    cls: type[Any]
    ctx: FunctionCtx

    @property
    def call(self) -> _Applied:
        """Itself: what a `PythonOp` asks its attribute for."""
        return self

    @property
    def needed(self) -> frozenset[int]:
        """The operands, and after them the results, that were saved."""
        places = places_of(self.ctx)
        count = sum(shape is not None for shape in self.ctx._inputs)
        results = {count + self.ctx._result(k) for kind, k in places if kind == "output"}
        return frozenset({i for kind, i in places if kind == "input"} | results)

    @property
    def saved(self) -> tuple[Any, ...]:
        """The arrays besides that were saved."""
        return tuple(x._array for x in self.ctx._saved if x is not None)

    @property
    def again(self) -> Callable[..., Any] | None:
        """Runs forward again with a tape: from operands to leaves for some of them, and results."""
        again = self.cls._again
        return None if again is None else functools.partial(again, self.ctx)

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """Over arrays (computed) or Tensors (recorded, for gradients of gradients)."""
        cts, results = (ct, y) if isinstance(y, tuple) else ((ct,), (y,))
        recorded = any(isinstance(ct, Tensor) for ct in cts)
        if not recorded:
            cts = tuple(boxed(copied(ct)) for ct in cts)
        shown = {
            (kind, i): boxed(operands[i] if kind == "input" else results[self.ctx._result(i)])
            for kind, i in places_of(self.ctx)
        }
        rest = iter(cts)
        cts = tuple(None if shape is None else next(rest) for shape in self.ctx._outputs)
        before = STATE.update(grad_enabled=recorded)
        try:
            grads = run_backward(self.cls, self.ctx, cts, shown, attributes=recorded)
        finally:
            STATE.update(**before)
        return tuple(grads if recorded else [g if g is None else g._array for g in grads])


def _apply(cls: type[Any], args: tuple[Any, ...]) -> Any:
    """`Function.apply` on values."""
    tensors = [x for x in args if isinstance(x, Tensor)]
    needs = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
    ctx = FunctionCtx(needs)
    if STATE.rewritten:
        tell((*cls._halves, *(x for x in args if not isinstance(x, Tensor))), cls.__name__)
    alone: AbstractContextManager[None] = nullcontext()
    if _runs_alone(cls):
        # Other objects than the user's variables hold: what is read by these is told from them.
        args = tuple([alias(x) if isinstance(x, Tensor) else x for x in args])
        alone = apart(cls.__name__, args, recorded=True)
    given = [x for x in args if isinstance(x, Tensor)]
    before = STATE.update(grad_enabled=False)
    try:
        with alone:
            ctx, single, outputs = _forward(cls, ctx, args)
    finally:
        STATE.update(**before)
    if STATE.grad_enabled and any(needs) and any(isinstance(x, Tensor) for x in outputs):
        dirty = dirty_outputs(cls, ctx, given, tensors, outputs)
        function = _Applied(cls, ctx)
        arrays = [x._array for x in outputs if isinstance(x, Tensor)]
        note([x._array for x in (*tensors, *ctx._saved) if x is not None])
        node = record(cls._op, tensors, {"function": function}, one_or_all(arrays), None)
        _keep_only(node, ctx)
        outputs = with_history(ctx, outputs, [None] * len(outputs), dirty, node)
        _let_go(ctx)
    return outputs[0] if single else tuple(outputs)


def _forward(
    cls: type[Any], ctx: FunctionCtx, args: Sequence[Any]
) -> tuple[FunctionCtx, bool, list[Any]]:
    """The outputs of forward, whether there is just one, and the context that it has filled."""
    tensors = [x for x in args if isinstance(x, Tensor)]

    def run() -> Any:
        return _observed(cls, tensors, lambda: run_forward(cls, ctx, args))

    if STATE.outcomes is None:
        return (ctx, *run())
    recorded = any([x.requires_grad for x in tensors])
    found: tuple[FunctionCtx, bool, list[Any]] = STATE.outcomes.forward(
        cls, ctx, args, recorded, run
    )
    return found


def _runs_alone(cls: type[Any]) -> bool:
    """Whether forward may read no other value that is being differentiated.

    Outside of transforms a `Function` of the user's may: its backward may add to their gradients.
    """
    return STATE.grad_enabled and (STATE.machine is not None or not cls._halves)


def _observed(cls: type[Any], tensors: Sequence[Tensor], run: Callable[[], Any]) -> Any:
    """Runs forward; a profiler sees it as one op, and what it calls inside."""
    if STATE.observer is None:
        return run()
    return STATE.observer(cls._op, lambda *_: run(), [x._array for x in tensors], {})


def _keep_only(node: Node, ctx: FunctionCtx) -> None:
    """Lets go of large operands and results that the context did not save."""
    places = places_of(ctx)
    inputs = {i for kind, i in places if kind == "input"}
    results = {ctx._result(k) for kind, k in places if kind == "output"}

    def kept(arrays: Sequence[Any], read: set[int]) -> tuple[Any, ...]:
        return tuple(
            x if i in read or getattr(x, "nbytes", 0) <= SMALL else Shape(x)
            for i, x in enumerate(arrays)
        )

    node.values = kept(node.values, inputs)
    if type(node.result) is tuple:
        node.result = kept(node.result, results)
    else:
        (node.result,) = kept((node.result,), results)


def _let_go(ctx: FunctionCtx) -> None:
    """The tape keeps what was saved of the arguments and outputs; the context need not."""
    pairs = zip(ctx._saved, ctx._places, strict=True)
    ctx._saved = tuple(x if place is None else None for x, place in pairs)
    ctx._dirty = ctx._constant = ()
