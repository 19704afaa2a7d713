"""Functions with a derivative rule of the user's, on plain arrays.

`Ruled` is what decorators make of a function: on arrays it is the function, on Tensors each call is
one application of a `Function` whose halves run the user's rule on plain arrays. Where a derivative
of the rule itself is asked for, the rule runs on Tensors, as any other function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.arguments.signature import name_of, signature_of
from tracegrad.autograd.context import FunctionCtx
from tracegrad.autograd.function import Function
from tracegrad.autograd.function_halves import sums_to
from tracegrad.errors import ArgumentError, GradientError, NotDifferentiableError
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.transforms.vjp import vjp_on_tape
from tracegrad.user_code.closures import refuse_hidden, storing, tell
from tracegrad.values.dispatch import FLOATING, is_jax_array
from tracegrad.values.pytree import (
    Path,
    TreeSpec,
    flatten,
    leaf_paths,
    map_tree,
    path_text,
    unflatten,
)
from tracegrad.world.code_origin import is_interpreted
from tracegrad.world.untraced_world import interpreted


@dataclass(frozen=True)
class Rule:
    """The two halves of a derivative.

    ``forward(*args, **kwargs)`` gives the value and what the backward needs of it;
    ``backward(that, cotangent, asked)`` gives one cotangent a positional argument, None for none;
    `asked` are the positions of the arguments that need one.
    """

    forward: Callable[..., tuple[Any, Any]]
    backward: Callable[[Any, Any, tuple[int, ...]], Sequence[Any]]


@dataclass(frozen=True)
class Written:
    """The two halves as statements of an exported file, around calls of the user's functions.

    Both get what gives the name of a function in the file. ``forward(name, args, kwargs)`` makes
    `value` and `kept`; ``backward(name, cotangent, asked)`` makes `found` of `kept`, one cotangent
    an argument.
    """

    forward: Callable[[Callable[[Any], str], list[str], dict[str, str]], list[str]]
    backward: Callable[[Callable[[Any], str], str, list[int]], list[str]]


class Ruled:
    """A function with a derivative of its own. Subclasses say how it is given."""

    missing = ""  # what to do where it was not given

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        if settings:
            raise ArgumentError(
                f"{type(self).__name__} takes a function, and no {', '.join(settings)}: the rule "
                "gets every argument, and gives None for one that has no derivative"
            )
        if not callable(function):
            raise ArgumentError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self.__name__ = name_of(function)
        self._function = function
        self._defaults = getattr(function, "__defaults__", None)  # rules get them as any argument
        self._follows(Rule(self._without, self._refuse), ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        if not any(isinstance(leaf, Tensor) for leaf in leaves):
            return call_user(self._function, args, kwargs)
        if self._by_position and (kwargs or self._defaults):
            bound = signature_of(self._function).bind(*args, **kwargs)
            bound.apply_defaults()
            named = {name: value for name, value in bound.kwargs.items() if name in kwargs}
            leaves, spec = flatten((bound.args, named))
        if STATE.trace is not None:
            refuse_hidden(self._users, STATE.trace, self.__name__)
        elif STATE.rewritten:
            tell(self._users, self.__name__)
        call = _Call(self.__name__, spec)
        boxed = [wrap(x) if isinstance(x, np.ndarray | np.generic) else x for x in leaves]
        with storing(self, self._users, boxed):
            results = self._applied._applied(call, *boxed)
        return unflatten(call.value, results[: call.count])

    def _without(self, *args: Any, **kwargs: Any) -> tuple[Any, None]:
        """The forward before a rule is given."""
        return self._function(*args, **kwargs), None

    def _refuse(self, kept: None, cotangent: Any, asked: tuple[int, ...]) -> Any:
        raise NotDifferentiableError(f"{self.__name__} has no derivative: {self.missing}")

    _by_position = True  # arguments that are given by name have derivatives too
    _users: tuple[Any, ...] = ()  # functions of the user's that run

    written: Written | None = None  # None where no file can hold the rule

    def _follows(self, rule: Rule, parts: Sequence[Any], written: Written | None = None) -> None:
        """Has calls go by a rule; `parts` are the user's functions in it."""
        self.written = written
        users = (self._function, *parts)
        self._users = tuple([u for u in users if is_interpreted(getattr(u, "__globals__", {}))])
        self._applied = _function_of(self.__name__, rule)
        self._applied.ruled = self  # type: ignore[attr-defined]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<tracegrad.{type(self).__name__} {self.__name__}>"


class WithRule(Ruled):
    """A function of tracegrad's own with its rule, which is called by position alone."""

    _by_position = False

    def __init__(self, name: str, function: Callable[..., Any], rule: Rule) -> None:
        super().__init__(function)
        self.__name__ = name
        self._follows(rule, ())


class _Call:
    """One call: the structures of its arguments and, once it has run, of its value."""

    value: TreeSpec
    count: int  # of the value's leaves
    fresh: tuple[Path, ...]  # the arrays that the forward made for the backward

    def __init__(self, name: str, spec: TreeSpec) -> None:
        self.name = name
        self.spec = spec


def _pair(returned: Any, name: str) -> Sequence[Any]:
    """What a forward returned, which is a value and what the backward needs."""
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned
    raise GradientError(
        f"the forward rule of {name} does not return a pair: it returns the value of the function "
        "and what the backward rule needs (return y, x; or y, None)"
    )


def _function_of(name: str, rule: Rule) -> type[Function]:
    """The `Function` whose forward and backward run a rule.

    Its outputs are the leaves of the value, then those of what the backward needs that are neither
    an argument nor the value: a second derivative flows through these as well.
    """

    def forward(ctx: FunctionCtx, call: _Call, *leaves: Any) -> tuple[Any, ...]:
        args, kwargs = unflatten(call.spec, map(_plain, leaves))
        value, needed = _pair(_natively(rule.forward, *args, **kwargs), name)
        values, call.value = flatten(value)
        call.count = len(values)
        kept, needed_spec = flatten(needed)
        outputs = [_boxed(x) for x in values]
        known = {id(x._array): x for x in leaves if isinstance(x, Tensor)}
        known |= {id(y): x for y, x in zip(values, outputs, strict=True) if isinstance(x, Tensor)}
        saved: list[Any] = []  # None where it is no array
        fresh_paths: list[Path] = []
        for x, path in zip(kept, leaf_paths(needed_spec), strict=True):
            same = known.get(id(x))
            saved.append(_boxed(x, always=False) if same is None else same)
            if same is None and isinstance(saved[-1], Tensor):
                outputs.append(saved[-1])
                fresh_paths.append(path)
        call.fresh = tuple(fresh_paths)
        fresh = len(outputs) > call.count
        tensors = [x for x in saved if isinstance(x, Tensor)]
        inputs = [x for x in leaves if isinstance(x, Tensor)] if fresh else []
        ctx.save_for_backward(*tensors, *inputs)
        ctx.set_materialize_grads(False)
        ctx.call = call  # type: ignore[attr-defined]
        ctx.leaves = tuple(None if isinstance(x, Tensor) else x for x in leaves)  # type: ignore[attr-defined]
        ctx.needed = needed_spec, tuple(None if isinstance(x, Tensor) else x for x in saved)  # type: ignore[attr-defined]
        ctx.is_tensor = tuple(isinstance(x, Tensor) for x in (*leaves, *saved))  # type: ignore[attr-defined]
        return tuple(outputs)

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        call, recorded = ctx.call, STATE.grad_enabled
        count = len(ctx.leaves)
        spec, statics = ctx.needed
        tensors = iter(ctx.saved_tensors)
        flags = ctx.is_tensor[count:]
        kept = [next(tensors) if t else x for t, x in zip(flags, statics, strict=True)]
        shapes = ctx._outputs[: call.count]
        given = [
            x if x is None else x.conj() if x.dtype.kind == "c" else x for x in grads[: call.count]
        ]
        cts = [
            wrap(np.zeros(s.shape, s.dtype)) if g is None and s is not None else g
            for g, s in zip(given, shapes, strict=True)
        ]
        found: list[Any] = [None] * count
        if any(g is not None for g in given):
            run = _recorded if recorded else _on_arrays
            needs = ctx.needs_input_grad[1:]
            cotangent = unflatten(call.value, cts)
            returned = run(rule.backward, unflatten(spec, kept), cotangent, _asked(call, needs))
            found = _by_leaf(call, returned, needs, ctx._inputs[1:])
        fresh = grads[call.count :]
        if any(g is not None for g in fresh):
            inputs = list(tensors)
            more = _through_needed(rule, call, ctx, inputs, fresh)
            found = [b if a is None else a if b is None else a + b for a, b in zip(found, more)]
        flags = ctx.is_tensor[:count]
        pairs = zip(flags, found, strict=True)
        return (None, *(_conjugate(x) if t and x is not None else None for t, x in pairs))

    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "_halves": (),  # those of the user's are looked at by `Ruled`
    }
    return type(name, (Function,), members)


def _conjugate(x: Any) -> Any:
    """A cotangent in the convention of `Function`, which is PyTorch's."""
    x = x if isinstance(x, Tensor) else wrap(np.asarray(x)[()])
    return x.conj() if x.dtype.kind == "c" else x


def _plain(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def _boxed(x: Any, always: bool = True) -> Any:
    """An array as a Tensor; of numbers those that have a dtype, or all of them."""
    if is_jax_array(x):  # of a rule that calls JAX
        x = np.asarray(x)[()]
    if isinstance(x, np.ndarray | np.generic):
        return wrap(x)
    if always and isinstance(x, int | float | complex):
        return wrap(np.asarray(x)[()])
    return x


def _natively(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs a user's function on arrays, as if it had been called from outside."""
    before = STATE.update(trace=None, machine=None, watch=None, standing=False)
    try:
        return function(*args, **kwargs)
    finally:
        STATE.update(**before)


def _on_arrays(backward: Callable[..., Any], *args: Any) -> Any:
    return _natively(backward, *map_tree(_plain, args))


def _recorded(backward: Callable[..., Any], *args: Any) -> Any:
    """The rule on Tensors, for a derivative of it."""
    before = STATE.update(standing=True)
    try:
        with interpreted():
            return call_user(backward, args, {})
    finally:
        STATE.update(**before)


def _asked(call: _Call, needs: Sequence[bool]) -> tuple[int, ...]:
    """The positional arguments that hold something that needs a cotangent."""
    found, start = [], 0
    for i, spec in enumerate(call.spec.children[0].children):
        stop = start + len(leaf_paths(spec))
        if any(needs[start:stop]):
            found.append(i)
        start = stop
    return tuple(found)


def _by_leaf(call: _Call, returned: Any, needs: Sequence[bool], shapes: Sequence[Any]) -> list[Any]:
    """One cotangent a leaf of the arguments, from what the user's rule gave.

    `shapes` are those of leaves that are arrays, None for others.
    """
    positional, named = call.spec.children
    cts = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(cts) != len(positional.children):
        raise GradientError(
            f"the rule for the derivative of {call.name} gave {_several(len(cts), 'cotangent')} "
            f"for {_several(len(positional.children), 'argument')}: it gives one each, None for "
            "none"
        )
    found: list[Any] = []
    for i, (ct, spec) in enumerate(zip(cts, positional.children, strict=True)):
        count = len(leaf_paths(spec))
        if ct is None:
            found += [None] * count
            continue
        leaves, given = flatten(ct)
        if len(leaves) != count or (count > 1 and given != spec):
            raise GradientError(
                f"the rule for the derivative of {call.name} gave {given} for argument {i}, which "
                f"is {spec}"
            )
        for leaf, path in zip(leaves, leaf_paths(spec), strict=True):
            wanted, place = shapes[len(found)], path_text("", path)
            given_shape = np.shape(_plain(leaf))
            if wanted is not None and not sums_to(given_shape, tuple(wanted.shape)):
                raise GradientError(
                    f"the rule for the derivative of {call.name} gave a cotangent of shape "
                    f"{given_shape} for argument {i}{place}, which has shape {tuple(wanted.shape)}"
                )
            found.append(leaf)
    rest = len(leaf_paths(named))
    if any(needs[len(found) :]):
        raise GradientError(
            f"{call.name}: an argument given by name needs a gradient, for which there is no rule; "
            "pass it by position"
        )
    return [*found, *[None] * rest]


def _through_needed(
    rule: Rule, call: _Call, ctx: Any, inputs: Sequence[Tensor], cts: Sequence[Any]
) -> list[Any]:
    """Cotangents of the arguments through what the forward computed for the backward.

    By differentiating the forward itself, which runs again on Tensors.
    """
    flags = ctx.is_tensor[: len(ctx.leaves)]
    asked = [i for i, x in enumerate(inputs) if x.dtype.kind in FLOATING]

    def computed(*wanted: Any) -> Any:
        filled = list(inputs)
        for i, x in zip(asked, wanted, strict=True):
            filled[i] = x
        rest = iter(filled)
        leaves = [next(rest) if t else x for t, x in zip(flags, ctx.leaves, strict=True)]
        args, kwargs = unflatten(call.spec, leaves)
        value, needed = call_user(rule.forward, args, kwargs)
        known = {id(x) for x in (*leaves, *flatten(value)[0])}
        fresh = [x for x in flatten(needed)[0] if isinstance(x, Tensor) and id(x) not in known]
        if len(fresh) != len(cts):
            raise GradientError(
                f"the forward of {call.name} keeps other arrays for its backward where it is "
                "differentiated itself: keep the same ones on every path"
            )
        return [x for x, ct in zip(fresh, cts, strict=True) if ct is not None]

    with interpreted():
        _, pull = vjp_on_tape(computed, *[inputs[i] for i in asked])
        pulled = dict(zip(asked, pull([_conjugate(ct) for ct in cts if ct is not None])))
    places = iter(range(len(inputs)))
    return [pulled.get(next(places)) if t else None for t in flags]


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
