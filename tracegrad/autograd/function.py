"""A user's forward and backward enter, an operation with a gradient leaves: ``autograd.Function``.

Eagerly, `Function.apply` runs ``forward`` and puts one node on the tape, whose rule is
``backward``. In a function that is being compiled it is one call in the graph, from the arguments
to the outputs and the context; its derivative is another, from the context and cotangents to
gradients. So both stand in the generated source as calls.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from codegen.ir import Value
from codegen.sizes import Sizes
from codegen.spelling import Foreign
from codegen.types import ArrayType, is_inexact
from tracegrad.autograd.closures import refuse_hidden
from tracegrad.autograd.engine import conjugate
from tracegrad.autograd.python_call import array_of, boxed, copied, one_or_all, pulled, quietly
from tracegrad.autograd.python_op import PythonOp, call_python, python_op
from tracegrad.autograd.tape import LEAF, SMALL, Node, Output, Shape, record
from tracegrad.differentiate import unbroadcast
from tracegrad.dispatch import array_type, dtype_of, is_number, type_of
from tracegrad.errors import ArgumentError, GradientError
from tracegrad.ops.elementwise import stop_gradient, strengthen
from tracegrad.points import capture, label
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap

Place = tuple[str, int]
"""A Tensor of one application: ``("input", i)``, its i-th Tensor argument, or ``("output", k)``."""


# -- what users write ---------------------------------------------------------------------------


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: saved Tensors, options, and any other attribute.

    Saved Tensors that are arguments or outputs are known by their place: so that gradients of
    gradients flow through them, and so that a context and an output do not hold each other.
    """

    materialize_grads = True

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Any, ...] = ()
        self._places: tuple[Place | None, ...] = ()  # of what was saved
        self._attached: dict[str, Any] = {}  # attributes that hold arguments or outputs
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._inputs: tuple[Shape | None, ...] = ()  # of Tensor arguments, None for others
        self._outputs: tuple[Shape | None, ...] = ()
        self._shown: Mapping[Place, Any] = {}  # Tensors by place, while ``backward`` runs

    def _result(self, k: int) -> int:
        """Which of the outputs that are Tensors the k-th output is."""
        return sum(shape is not None for shape in self._outputs[:k])

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps Tensors for ``backward``, which finds them in ``ctx.saved_tensors``."""
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor | None):
                raise ArgumentError(
                    f"save_for_backward takes Tensors (or None), argument {i} is of type "
                    f"{type(tensor).__name__}: keep other things as attributes, ctx.name = value"
                )
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The Tensors given to `save_for_backward`."""
        places = self._places or (None,) * len(self._saved)
        return tuple(
            self._shown.get(place, tensor) if place is not None else tensor
            for tensor, place in zip(self._saved, places, strict=True)
        )

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "ctx.saved_variables is deprecated: use ctx.saved_tensors", DeprecationWarning, 2
        )
        return self.saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that ``forward`` changed these arguments in place; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that these outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for outputs without a gradient."""
        self.materialize_grads = bool(value)


class Function:
    """An operation with a derivative of its own: subclass it and call ``Sub.apply(...)``.

    ``forward(ctx, *args)`` computes; Tensors among its arguments are those that may have gradients,
    and nothing in it is recorded. ``backward(ctx, *grads)`` gets one gradient an output and returns
    one gradient (or None) an argument. Both are static methods. In the newer spelling
    ``forward(*args)`` takes no context and ``setup_context(ctx, inputs, output)`` fills it.

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
    tensor([1.        , 2.71828183], grad_fn=<ExpBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.        , 2.71828183])
    """

    _op: PythonOp

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._op = python_op(cls.__name__.lower(), f"{cls.__name__}Backward")

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
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Runs ``forward`` on the arguments; the outputs remember how to go back."""
        if keywords:
            raise ArgumentError(
                f"{cls.__name__}.apply takes no keyword arguments ({', '.join(keywords)}): pass "
                "them by position"
            )
        if STATE.trace is None:
            return _apply(cls, args)
        return _apply_traced(cls, STATE.trace, args)

    def __call__(self, *args: Any) -> Any:
        name = type(self).__name__
        raise GradientError(
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
        return tuple(_Once.apply(x, *history) if isinstance(x, Tensor) else x for x in several)

    return wrapped


class _Once(Function):
    """The first argument; refuses to go back."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, *history: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        raise GradientError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


# -- running forward ----------------------------------------------------------------------------


def _forward(cls: type[Function], ctx: FunctionCtx, args: Sequence[Any]) -> tuple[bool, list[Any]]:
    """The outputs of the user's forward, arrays as Tensors, and whether there is just one."""
    if cls.setup_context is Function.setup_context:
        output = cls.forward(ctx, *args)
    else:
        output = cls.forward(*args)
        cls.setup_context(ctx, tuple(args), output)
    single = not isinstance(output, tuple | list)
    outputs = [
        x if isinstance(x, Tensor) or is_number(x) else boxed(x)
        for x in ([output] if single else output)
    ]
    if single and not isinstance(outputs[0], Tensor):
        raise ArgumentError(
            f"{cls.__name__}.forward returned {type(output).__name__}: it must return a Tensor "
            "or a tuple of Tensors"
        )
    _describe(ctx, args, outputs)
    return single, outputs


def _describe(ctx: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Notes in the context which Tensors it holds, by place, and what shapes there are."""
    inputs = [x for x in args if isinstance(x, Tensor)]
    places: dict[int, Place] = {id(x): ("output", k) for k, x in enumerate(outputs)}
    places |= {id(x): ("input", i) for i, x in enumerate(inputs) if _index(x, ctx._dirty) is None}
    ctx._places = tuple(places.get(id(x)) if x is not None else None for x in ctx._saved)
    for name, value in vars(ctx).items():
        if not name.startswith("_"):
            template = _swapped(value, lambda x: _Held(places[id(x)]) if id(x) in places else x)
            if template is not value:
                ctx._attached[name] = template
    ctx._inputs = tuple(Shape(x._array) if isinstance(x, Tensor) else None for x in args)
    ctx._outputs = tuple(Shape(x._array) if isinstance(x, Tensor) else None for x in outputs)


def _index(x: Any, among: Sequence[Any]) -> int | None:
    return next((i for i, other in enumerate(among) if other is x), None)


@dataclass(frozen=True)
class _Held:
    """Stands for a Tensor of the application in an attribute of the context."""

    place: Place


def _swapped(value: Any, swap: Callable[[Any], Any]) -> Any:
    """The value with what stands in its tuples, lists and dicts replaced; itself if nothing is."""
    match value:
        case tuple() | list() if type(value) in (tuple, list):
            new = [_swapped(x, swap) for x in value]
            same = all(a is b for a, b in zip(new, value, strict=True))
            return value if same else type(value)(new)
        case dict():
            items = {key: _swapped(x, swap) for key, x in value.items()}
            same = all(items[key] is x for key, x in value.items())
            return value if same else items
    return swap(value) if isinstance(value, Tensor | _Held) else value


def _places_of(ctx: FunctionCtx) -> tuple[Place, ...]:
    """The places of the Tensors that the context holds, in a fixed order."""
    found = [place for place in ctx._places if place is not None]
    _swapped(list(ctx._attached.values()), lambda held: found.append(held.place))
    return tuple(dict.fromkeys(found))


# -- running backward ---------------------------------------------------------------------------


def _backward(
    cls: type[Function],
    ctx: FunctionCtx,
    cts: Sequence[Any],
    shown: Mapping[Place, Any],
    attributes: bool,
) -> list[Tensor | None]:
    """What the user's backward returns for each Tensor argument, checked.

    `shown` are the Tensors, by place, that stand for those of the application: among those saved
    and, with `attributes`, among the context's attributes too.
    """
    grads = [
        wrap(np.zeros(shape.shape, shape.dtype))
        if ct is None and ctx.materialize_grads and shape is not None
        else None
        if ct is None
        else conjugate(ct)
        for ct, shape in zip(cts, ctx._outputs, strict=True)
    ]
    with _showing(ctx, shown, attributes):
        returned = cls.backward(ctx, *grads)
    return [grad if grad is None else conjugate(grad) for grad in _checked(cls, ctx, returned)]


@contextmanager
def _showing(ctx: FunctionCtx, shown: Mapping[Place, Any], attributes: bool) -> Iterator[None]:
    """The context holds these Tensors for a while."""
    own = {name: getattr(ctx, name) for name in ctx._attached} if attributes else {}
    before, ctx._shown = ctx._shown, shown
    for name in own:
        setattr(ctx, name, _swapped(ctx._attached[name], lambda held: shown[held.place]))
    try:
        yield
    finally:
        ctx._shown = before
        for name, value in own.items():
            setattr(ctx, name, value)


def _checked(cls: type[Function], ctx: FunctionCtx, returned: Any) -> list[Tensor | None]:
    """The gradients of Tensor arguments; raises, naming the function, where they cannot be that."""
    name = f"{cls.__name__}Backward"
    grads = list(returned) if isinstance(returned, tuple | list) else [returned]
    expected = len(ctx._inputs)
    while len(grads) > expected and grads[-1] is None:
        grads.pop()
    if len(grads) != expected:
        raise GradientError(
            f"function {name} returned an incorrect number of gradients (expected {expected}, got "
            f"{len(grads)}): backward returns one for each argument of forward, None for those "
            "that have none"
        )
    found: list[Tensor | None] = []
    for i, (grad, argument) in enumerate(zip(grads, ctx._inputs, strict=True)):
        if argument is None:
            if grad is not None:
                raise GradientError(
                    f"function {name} returned a gradient different from None at position {i}, but "
                    "that argument of forward is not a Tensor"
                )
            continue
        found.append(_fitting(name, i, grad, argument) if ctx.needs_input_grad[i] else None)
    return found


def _fitting(name: str, i: int, grad: Any, argument: Shape) -> Tensor | None:
    if grad is None or isinstance(grad, Tensor):
        tensor = grad
    elif hasattr(grad, "dtype"):
        tensor = boxed(grad)
    else:
        raise GradientError(
            f"function {name} returned {type(grad).__name__} at index {i}: expected a Tensor or "
            "None"
        )
    if tensor is not None:
        shape, wanted = np.shape(tensor._array), tuple(argument.shape)
        wide = (1,) * (len(shape) - len(wanted)) + wanted
        if len(wide) != len(shape) or any(
            a not in (1, b) for a, b in zip(wide, shape, strict=True)
        ):
            raise GradientError(
                f"function {name} returned an invalid gradient at index {i}: got shape {shape} but "
                f"expected a shape compatible with {wanted}"
            )
    return tensor


# -- eager --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Applied:
    """The rule of one application's node on the tape."""

    cls: type[Function]
    ctx: FunctionCtx

    @property
    def call(self) -> _Applied:
        """Itself: what a `PythonOp` asks its attribute for."""
        return self

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """Over arrays (computed) or Tensors (recorded, for gradients of gradients)."""
        cts, results = (ct, y) if isinstance(y, tuple) else ((ct,), (y,))
        recorded = any(isinstance(ct, Tensor) for ct in cts)
        if not recorded:
            cts = tuple(boxed(copied(ct)) for ct in cts)
        shown = {
            (kind, i): boxed(operands[i] if kind == "input" else results[self.ctx._result(i)])
            for kind, i in _places_of(self.ctx)
        }
        rest = iter(cts)
        cts = tuple(None if shape is None else next(rest) for shape in self.ctx._outputs)
        before = STATE.update(grad_enabled=recorded)
        try:
            grads = _backward(self.cls, self.ctx, cts, shown, attributes=recorded)
        finally:
            STATE.update(**before)
        return tuple(grads if recorded else [g if g is None else g._array for g in grads])


def _apply(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """`Function.apply` on values."""
    tensors = [x for x in args if isinstance(x, Tensor)]
    needs = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
    ctx = FunctionCtx(needs)
    before = STATE.update(grad_enabled=False)
    try:
        single, outputs = _observed(cls, tensors, lambda: _forward(cls, ctx, args))
    finally:
        STATE.update(**before)
    if STATE.grad_enabled and any(needs) and any(isinstance(x, Tensor) for x in outputs):
        dirty = _dirty_outputs(cls, ctx, tensors, tensors, outputs)
        function = _Applied(cls, ctx)
        arrays = [x._array for x in outputs if isinstance(x, Tensor)]
        node = record(cls._op, tensors, {"function": function}, one_or_all(arrays), None)
        _keep_only(node, ctx)
        outputs = _with_history(ctx, outputs, [None] * len(outputs), dirty, node)
        _let_go(ctx)
    return outputs[0] if single else tuple(outputs)


def _observed(cls: type[Function], tensors: Sequence[Tensor], run: Callable[[], Any]) -> Any:
    """Runs forward; a profiler sees it as one op, and what it calls inside."""
    if STATE.observer is None:
        return run()
    return STATE.observer(cls._op, lambda *_: run(), [x._array for x in tensors], {})


def _dirty_outputs(
    cls: type[Function],
    ctx: FunctionCtx,
    given: Sequence[Tensor],
    inputs: Sequence[Tensor],
    outputs: Sequence[Any],
) -> dict[int, Tensor]:
    """Which of the user's Tensors each output is that forward changed in place.

    `given` are the Tensors that forward got, `inputs` the user's.
    """
    found = {}
    for x in ctx._dirty:
        i, k = _index(x, given), _index(x, outputs)
        if i is None or k is None:
            raise GradientError(
                f"{cls.__name__}.forward marked a Tensor as dirty that is "
                f"{'not an argument' if i is None else 'an argument but not returned'}"
            )
        if inputs[i]._node is LEAF and STATE.grad_enabled:
            raise GradientError(
                f"a leaf Tensor that requires grad is being changed in place by {cls.__name__}: "
                "apply it to a copy, x.clone()"
            )
        found[k] = inputs[i]
    return found


def _with_history(
    ctx: FunctionCtx,
    outputs: Sequence[Any],
    traced: Sequence[Any],
    dirty: Mapping[int, Tensor],
    node: Node | None,
) -> list[Any]:
    """The outputs as the caller gets them: those with a gradient know their node."""
    if node is not None and STATE.anomaly:
        node.more = {"where": label(capture(None))}
    shown: list[Any] = []
    for k, (x, of) in enumerate(zip(outputs, traced, strict=True)):
        if isinstance(x, Tensor):
            made = dirty[k] if k in dirty else wrap(x._array)
            made._array, made._traced = x._array, of
            if node is not None and _carries_gradient(ctx, x):
                made._node = Output(node, ctx._result(k)) if type(node.result) is tuple else node
            x = made
        shown.append(x)
    return shown


def _carries_gradient(ctx: FunctionCtx, x: Tensor) -> bool:
    return _index(x, ctx._constant) is None and np.asarray(x._array).dtype.kind in "fc"


def _keep_only(node: Node, ctx: FunctionCtx) -> None:
    """Lets go of large operands and results that the context did not save."""
    places = _places_of(ctx)
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


# -- compiled -----------------------------------------------------------------------------------

_CONTEXT = ArrayType("object")
"""The type of a context as a value of a graph."""


class _Here:
    """Stands for the next Tensor among the arguments."""


@dataclass(frozen=True, eq=False)
class _Forward:
    """The first half of an application in a program: arrays to the outputs and the context."""

    cls: type[Function]
    args: tuple[Any, ...]  # as given, with `_Here` for Tensors
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
        ctx = FunctionCtx(self.needs)
        _, outputs = _run(self.cls, ctx, self.args, tensors)
        if len(outputs) != len(self.outputs) or not all(map(_alike, outputs, self.outputs)):
            raise LookupError(
                f"{self.cls.__name__}.forward returned other things, or other shapes, than when it "
                "was traced"
            )
        return (*(array_of(x, x.dtype) for x in outputs if isinstance(x, Tensor)), ctx)

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """The second half, as another call."""
        cts = {k: ct[self.result(k)] for k in self.carrying if ct[self.result(k)] is not None}
        needs = [need for need, x in zip(self.needs, self.args, strict=True) if x is _Here]
        wanted = tuple(i for i, x in enumerate(operands) if needs[i] and is_inexact(dtype_of(x)))
        contributions: list[Any] = [None] * len(operands)
        if not cts or not wanted:
            return tuple(contributions)
        held = [operands[i] if kind == "input" else y[self.result(i)] for kind, i in self.places]
        types = tuple(type_of(operands[i]) for i in wanted)
        name = f"{self.cls.__name__}_backward"
        back = Foreign(name, _Backward(name, self, tuple(cts), wanted, types))
        results = call_python(y[-1], *held, *cts.values(), function=back)
        several = results if isinstance(results, tuple) else (results,)
        for i, result in zip(wanted, several, strict=True):
            contributions[i] = result
        return tuple(contributions)

    def result(self, k: int) -> int:
        """Which result of the call the k-th output is."""
        return sum(isinstance(x, ArrayType) for x in self.outputs[:k])


@dataclass(frozen=True, eq=False)
class _Backward:
    """The second half in a program: context, Tensors that it holds and cotangents to gradients."""

    name: str
    forward: _Forward
    given: tuple[int, ...]  # outputs whose cotangents are given
    wanted: tuple[int, ...]  # Tensor arguments that have a gradient
    types: tuple[ArrayType, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        return one_or_all(self.types)

    def tensors(self, ctx: FunctionCtx, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors, for derivatives: those given stand for those that the context holds."""
        places = self.forward.places
        if not set(_places_of(ctx)) <= set(places):
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
        grads = quietly(self._run, ctx, cts, {})
        inputs = [shape for shape in ctx._inputs if shape is not None]
        pairs = zip(grads, (inputs[i] for i in self.wanted), strict=True)
        return one_or_all([array_of(unbroadcast(g, x), x.dtype) for g, x in pairs])

    def _run(
        self, ctx: FunctionCtx, cts: Sequence[Any], shown: Mapping[Place, Any]
    ) -> tuple[Tensor, ...]:
        given = dict(zip(self.given, cts, strict=True))
        every = [given.get(k) for k in range(len(self.forward.outputs))]
        found = _backward(self.forward.cls, ctx, every, shown, attributes=bool(shown))
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
    cls: type[Function], ctx: FunctionCtx, args: Sequence[Any], tensors: Sequence[Tensor]
) -> tuple[bool, list[Any]]:
    """Forward on these Tensors in the places of `args` that are theirs."""
    rest = iter(tensors)
    filled = [next(rest) if x is _Here else x for x in args]
    try:
        return quietly(_forward, cls, ctx, filled)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise GradientError(
            f"{cls.__name__}.forward changes an argument in place without saying so: call "
            "ctx.mark_dirty(x) and return x, or change a copy"
        ) from error


def _apply_traced(cls: type[Function], trace: Any, args: tuple[Any, ...]) -> Any:
    """`Function.apply` in a function that is being compiled."""
    template = tuple(_Here if isinstance(x, Tensor) else x for x in args)
    for x in template:
        refuse_hidden(x, trace, f"an argument of {cls.__name__}.apply")
    for half in (cls.forward, cls.setup_context, cls.backward):
        refuse_hidden(half, trace, f"{cls.__name__}.{half.__name__}")
    inputs = [x for x in args if isinstance(x, Tensor)]
    strong = [strengthen(x) if is_number(x._array) else x for x in inputs]
    origin = trace.origin()
    lifted = tuple(trace.lift(x, origin) for x in strong)
    for value in lifted:
        trace.look_at_shape(value)
    needs = [isinstance(x, Tensor) and x.requires_grad for x in args]
    if not any(needs):  # a derivative may still be made of the graph
        needs = [isinstance(x, Tensor) and x.dtype.kind in "fc" for x in args]
    ctx = FunctionCtx(tuple(needs))
    given = [wrap(copied(x._array)) for x in strong]  # it is not yet known what forward changes
    single, outputs = _run(cls, ctx, template, given)
    dirty = _dirty_outputs(cls, ctx, given, inputs, outputs)
    function = _Forward(
        cls=cls,
        args=template,
        needs=tuple(needs),
        dtypes=tuple(x.dtype.name for x in given),
        writes=frozenset(i for i, x in enumerate(given) if _index(x, ctx._dirty) is not None),
        outputs=tuple(array_type(x._array) if isinstance(x, Tensor) else x for x in outputs),
        carrying=tuple(
            k for k, x in enumerate(outputs) if isinstance(x, Tensor) and _carries_gradient(ctx, x)
        ),
        places=_places_of(ctx),
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
    shown = _with_history(ctx, outputs, traced, dirty, node)
    return shown[0] if single else tuple(shown)


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
