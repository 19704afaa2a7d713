"""The ``ctx`` of an `autograd.Function`: what its backward finds of the forward.

Saved Tensors that are arguments or outputs are known by their place (`Place`) and not by what they
are: a backward that is recorded, or called by a program, shows others in these places.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.tape.tape import Shape
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import FLOATING

Place = tuple[str, int]
"""A Tensor of one application: ``("input", i)``, its i-th Tensor argument, or ``("output", k)``."""


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: saved Tensors, options, and any other attribute.

    Saved Tensors that are arguments or outputs are known by their place: so that gradients of
    gradients flow through them, and so that a context and an output do not hold each other.

    Examples
    --------
    >>> import tracegrad as tg
    >>> class Scaled(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         ctx.save_for_backward(x)
    ...         return x * factor
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * ctx.factor, None
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> Scaled.apply(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
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

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps Tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        There, NumPy's arrays are Tensors: `apply` takes them as well.
        """
        saved = [wrap(x) if isinstance(x, np.ndarray | np.generic) else x for x in tensors]
        for i, x in enumerate(saved):
            if not isinstance(x, Tensor | None):
                raise ArgumentError(
                    f"save_for_backward takes Tensors (or None), argument {i} is of type "
                    f"{type(x).__name__}: keep other things as attributes, ctx.name = value"
                )
        self._saved = tuple(saved)

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


def describe(ctx: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Notes in the context which Tensors it holds, by place, and what shapes there are."""
    inputs = [x for x in args if isinstance(x, Tensor)]
    places: dict[int, Place] = {id(x): ("output", k) for k, x in enumerate(outputs)}
    places |= {id(x): ("input", i) for i, x in enumerate(inputs) if index_of(x, ctx._dirty) is None}
    ctx._places = tuple(places.get(id(x)) if x is not None else None for x in ctx._saved)
    for name, value in vars(ctx).items():
        if not name.startswith("_"):
            template = swapped(value, lambda x: Held(places[id(x)]) if id(x) in places else x)
            if template is not value:
                ctx._attached[name] = template
    ctx._inputs = tuple(Shape(x._array) if isinstance(x, Tensor) else None for x in args)
    ctx._outputs = tuple(Shape(x._array) if isinstance(x, Tensor) else None for x in outputs)


def index_of(x: Any, among: Sequence[Any]) -> int | None:
    return next((i for i, other in enumerate(among) if other is x), None)


@dataclass(frozen=True)
class Held:
    """Stands for a Tensor of the application in an attribute of the context."""

    place: Place


def swapped(value: Any, swap: Callable[[Any], Any]) -> Any:
    """The value with what stands in its tuples, lists and dicts replaced; itself if nothing is."""
    match value:
        case tuple() | list() if type(value) in (tuple, list):
            new = [swapped(x, swap) for x in value]
            same = all(a is b for a, b in zip(new, value, strict=True))
            return value if same else type(value)(new)
        case dict():
            items = {key: swapped(x, swap) for key, x in value.items()}
            same = all(items[key] is x for key, x in value.items())
            return value if same else items
    return swap(value) if isinstance(value, Tensor | Held) else value


def places_of(ctx: FunctionCtx) -> tuple[Place, ...]:
    """The places of the Tensors that the context holds, in a fixed order."""
    found = [place for place in ctx._places if place is not None]
    swapped(list(ctx._attached.values()), lambda held: found.append(held.place))
    return tuple(dict.fromkeys(found))


@contextmanager
def showing(ctx: FunctionCtx, shown: Mapping[Place, Any], attributes: bool) -> Iterator[None]:
    """The context holds these Tensors for a while."""
    own = {name: getattr(ctx, name) for name in ctx._attached} if attributes else {}
    before, ctx._shown = ctx._shown, shown
    for name in own:
        setattr(ctx, name, swapped(ctx._attached[name], lambda held: shown[held.place]))
    try:
        yield
    finally:
        ctx._shown = before
        for name, value in own.items():
            setattr(ctx, name, value)


def carries_gradient(ctx: FunctionCtx, x: Tensor) -> bool:
    return index_of(x, ctx._constant) is None and np.asarray(x._array).dtype.kind in FLOATING
