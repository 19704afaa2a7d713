"""Functions with a derivative rule of the user's, on plain arrays.

`Ruled` is what decorators make of a function: on arrays it is the function, on Tensors each call is
one application of a `Function` whose halves run the user's rule on plain arrays. Where a derivative
of the rule itself is asked for, the rule runs on Tensors, as any other function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np

from tracegrad.arguments.signature import name_of, signature_of
from tracegrad.autograd.context import FunctionCtx
from tracegrad.autograd.function import Function
from tracegrad.autograd.function_halves import sums_to
from tracegrad.errors import ArgumentError, GradientError, NotDifferentiableError
from tracegrad.runtime.silence import silenced
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.transforms.vjp import vjp_on_tape
from tracegrad.user_code.closures import refuse_hidden, storing, tell
from tracegrad.user_code.program_points import line_of_function
from tracegrad.values.dispatch import FLOATING, is_jax_array
from tracegrad.values.pytree import (
    LEAF,
    Path,
    TreeSpec,
    flatten,
    leaf_paths,
    map_tree,
    path_text,
    unflatten,
)
from tracegrad.values.structure_words import in_words
from tracegrad.world.code_origin import is_interpreted
from tracegrad.world.untraced_world import interpreted


@dataclass(frozen=True)
class Rule:
    """The two halves of a derivative.

    ``forward(*args, **kwargs)`` gives the value and what the backward needs of it;
    ``backward(that, cotangent, asked)`` gives one cotangent a positional argument, None for none;
    `asked` are the positions of the arguments that need one. ``push(that, tangents, asked)`` gives
    the tangent of the value, with one tangent a positional argument, where the user's rule is for
    forward mode: the backward is its transpose, then.

    `source` gives the user's function whose line messages name: of the forward, of the rule of an
    argument, or of all of them for None.
    """

    forward: Callable[..., tuple[Any, Any]]
    backward: Callable[[Any, Any, tuple[int, ...]], Sequence[Any]]
    push: Callable[[Any, tuple[Any, ...], tuple[int, ...]], Any] | None = None
    source: Callable[[int | str | None], Any] = lambda which: None

    def line(self, which: int | str | None = None) -> str:
        """The line of a rule, as the last one of a message."""
        return line_of_function(self.source(which))


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
        self._follows(Rule(self._without, self._refuse, source=lambda which: function), ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        if not any(isinstance(leaf, Tensor) for leaf in leaves):
            return self._plainly(args, kwargs, _Call(self, spec), leaves)
        if self._by_position and (kwargs or self._defaults):
            bound = signature_of(self._function).bind(*args, **kwargs)
            bound.apply_defaults()
            named = {name: value for name, value in bound.kwargs.items() if name in kwargs}
            leaves, spec = flatten((bound.args, named))
        if STATE.trace is not None:
            refuse_hidden(self._users, STATE.trace, self.__name__)
        elif STATE.rewritten:
            tell(self._users, self.__name__)
        call = _Call(self, spec)
        boxed = [wrap(x) if isinstance(x, np.ndarray | np.generic) else x for x in leaves]
        with storing(self, self._users, boxed):
            results = self._applied._applied(call, *boxed)
        return unflatten(call.value, results[: call.count])

    def _plainly(self, args: Any, kwargs: Any, call: _Call, leaves: Sequence[Any]) -> Any:
        """The value for arrays and numbers; a run of the same call may know it already."""
        if STATE.outcomes is not None and STATE.trace is None:
            given = (call, *leaves)
            known = STATE.outcomes.known(self._applied, None, given)
            if known is not None:
                _, _, outputs = known.again(given)
                return unflatten(call.value, map(_plain, outputs[: call.count]))
        return call_user(self._function, args, kwargs)

    def _without(self, *args: Any, **kwargs: Any) -> tuple[Any, None]:
        """The forward before a rule is given."""
        return self._function(*args, **kwargs), None

    def _refuse(self, kept: None, cotangent: Any, asked: tuple[int, ...]) -> Any:
        raise NotDifferentiableError(
            f"{self.__name__} has no derivative: {self.missing}{line_of_function(self._function)}"
        )

    _by_position = True  # arguments that are given by name have derivatives too
    _users: tuple[Any, ...] = ()  # functions of the user's that run
    _stores = False  # they were seen to store something outside

    written: Written | None = None  # None where no file can hold the rule

    def _follows(self, rule: Rule, parts: Sequence[Any], written: Written | None = None) -> None:
        """Has calls go by a rule; `parts` are the user's functions in it."""
        self.written = written
        users = (self._function, *parts)
        self._users = tuple([u for u in users if is_interpreted(getattr(u, "__globals__", {}))])
        self._applied = _function_of(self.__name__, rule)
        self._applied.ruled = self  # type: ignore[attr-defined]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

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

    def __init__(self, ruled: Ruled, spec: TreeSpec) -> None:
        self.name = ruled.__name__
        self.function = ruled._function
        self.spec = spec

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, _Call) and self.function is other.function
        return same and self.spec == other.spec  # type: ignore[attr-defined]

    __hash__ = object.__hash__

    def gave(self, other: _Call) -> None:
        """It gives what another one gave, of the same rule for the same arguments."""
        if hasattr(other, "fresh"):  # it has not raised
            self.value, self.count, self.fresh = other.value, other.count, other.fresh


def _pair(returned: Any, name: str, rule: Rule) -> Sequence[Any]:
    """What a forward returned, which is a value and what the backward needs."""
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned
    raise GradientError(
        f"the forward rule of {name} does not return a pair: it returns the value of the function "
        f"and what the backward rule needs (return y, x; or y, None){rule.line('forward')}"
    )


def _function_of(name: str, rule: Rule) -> type[Function]:
    """The `Function` whose forward and backward run a rule.

    Its outputs are the leaves of the value, then those of what the backward needs that are neither
    an argument nor the value: a second derivative flows through these as well.
    """

    def forward(ctx: FunctionCtx, call: _Call, *leaves: Any) -> tuple[Any, ...]:
        args, kwargs = unflatten(call.spec, map(_plain, leaves))
        value, needed = _pair(natively(rule.forward, *args, **kwargs), name, rule)
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
            found = _by_leaf(call, returned, needs, ctx, rule)
        fresh = grads[call.count :]
        if any(g is not None for g in fresh):
            inputs = list(tensors)
            more = _through_needed(rule, call, ctx, inputs, fresh)
            found = [b if a is None else a if b is None else a + b for a, b in zip(found, more)]
        flags = ctx.is_tensor[:count]
        pairs = zip(flags, found, strict=True)
        return (None, *(_conjugate(x) if t and x is not None else None for t, x in pairs))

    def push(ctx: Any, dots: Mapping[int, Any]) -> list[Any]:
        """The tangents of the outputs, of those of Tensor arguments by their place."""
        call, (spec, statics) = ctx.call, ctx.needed
        count = len(ctx.leaves)
        tensors = iter(ctx.saved_tensors)
        kept = [next(tensors) if t else x for t, x in zip(ctx.is_tensor[count:], statics)]
        places = [i for i in range(count) if ctx.is_tensor[i]]
        moving = {places[i]: dot for i, dot in dots.items()}
        shapes = ctx._inputs[1:]
        leaves = [moving[i] if i in moving else zeros_like(shapes[i]) for i in range(count)]
        tangents, _ = unflatten(call.spec, leaves)
        run = _recorded if STATE.grad_enabled else _on_arrays
        asked = _asked(call, [i in moving for i in range(count)])
        pushed: Any = rule.push
        given = run(pushed, unflatten(spec, kept), tangents, asked)
        found = like_value(given, call.value, ctx._outputs[: call.count], name, rule.line())
        return [_boxed(x) for x in found]

    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "_push": None if rule.push is None else staticmethod(push),
        "_line": staticmethod(rule.line),
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


def zeros_like(x: Any) -> Any:
    """The tangent of an argument that has none: an array of its shape, 0.0 of what is no array."""
    if x is None or np.dtype(x.dtype).kind not in FLOATING:
        return 0.0
    return np.zeros(x.shape, x.dtype)[()]


def like_value(
    given: Any, spec: TreeSpec, shapes: Sequence[Any], name: str, line: str, what: str = "tangent"
) -> list[Any]:
    """The leaves of what a rule for forward mode gave; raises where they are not like the value's.

    `spec` and `shapes` are those of the value; of leaves that are no arrays the shape is None.
    """
    leaves, given_spec = flatten(given)
    if given_spec != spec:
        raise GradientError(
            f"the rule of {name} gave a {what} that is {in_words(given_spec)}: the value of {name} "
            f"is {in_words(spec)}, and its {what} has the same structure{line}"
        )
    for leaf, path, wanted in zip(leaves, leaf_paths(spec), shapes, strict=True):
        if wanted is None or np.dtype(wanted.dtype).kind not in FLOATING:
            continue
        place = path_text("", path) and f" for {path_text('value', path)}"
        wrong = _differs(leaf, wanted.dtype)
        shape = () if wrong else np.shape(_plain(leaf))
        if wrong or shape != tuple(wanted.shape):
            raise GradientError(
                f"the rule of {name} gave a {what} {wrong or f'of shape {shape}'}{place}: the "
                f"value has shape {tuple(wanted.shape)} and dtype {np.dtype(wanted.dtype)}, and "
                f"its {what} has the same{line}"
            )
    return leaves


def _differs(leaf: Any, dtype: Any) -> str:
    """What a rule gave instead of numbers that fit a dtype, in words; empty where they do."""
    found = getattr(_plain(leaf), "dtype", None)
    if found is None and not isinstance(leaf, int | float | complex):
        return f"that is {leaf!r} of type {type(leaf).__name__}"
    kind = np.asarray(leaf).dtype.kind if found is None else np.dtype(found).kind
    if kind not in (*FLOATING, *"biu"):
        return f"of dtype {found}"
    return "that is complex" if kind == "c" and np.dtype(dtype).kind != "c" else ""


def natively(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs a user's function on arrays, as if it had been called from outside."""
    before = STATE.update(trace=None, machine=None, watch=None, standing=False)
    try:
        return function(*args, **kwargs)
    finally:
        STATE.update(**before)


def _on_arrays(backward: Callable[..., Any], *args: Any) -> Any:
    return natively(backward, *map_tree(_plain, args))


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


def _by_leaf(call: _Call, returned: Any, needs: Sequence[bool], ctx: Any, rule: Rule) -> list[Any]:
    """One cotangent a leaf of the arguments, from what the user's rule gave."""
    shapes = ctx._inputs[1:]  # of leaves that are arrays, None for others
    positional, named = call.spec.children
    cts = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(cts) != len(positional.children):
        raise GradientError(
            f"the rule for the derivative of {call.name} gave {_several(len(cts), 'cotangent')} "
            f"for {_several(len(positional.children), 'argument')}: it gives one each, None for "
            f"none{rule.line()}"
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
                f"the rule for the derivative of {call.name} gave {in_words(given)} for "
                f"argument {i}, which is {in_words(spec)}{rule.line(i)}"
            )
        for leaf, path in zip(leaves, leaf_paths(spec), strict=True):
            wanted, place = shapes[len(found)], path_text("", path)
            if wanted is not None:
                _require_cotangent(leaf, wanted, f"argument {i}{place}", call, ctx, rule.line(i))
            found.append(leaf)
    rest = len(leaf_paths(named))
    if any(needs[len(found) :]):
        raise GradientError(
            f"{call.name}: an argument given by name needs a gradient, for which there is no rule; "
            f"pass it by position{rule.line()}"
        )
    return [*found, *[None] * rest]


def _require_cotangent(
    leaf: Any, wanted: Any, argument: str, call: _Call, ctx: Any, line: str
) -> None:
    """Raises where what a rule gave is no cotangent of an argument."""
    wrong = _differs(leaf, wanted.dtype)
    shape = () if wrong else np.shape(_plain(leaf))
    if not wrong and sums_to(shape, tuple(wanted.shape)):
        return
    told = f"a cotangent of shape {shape} for {argument}, which has shape {tuple(wanted.shape)}"
    if wrong:
        told = f"a cotangent {wrong} for {argument}, which has dtype {np.dtype(wanted.dtype)}"
    if wrong == "that is complex":
        told += ": its real part may be meant, np.real(...)"
    raise GradientError(
        f"the rule for the derivative of {call.name} gave {told}{_of_forward(call, ctx)}{line}"
    )


def _of_forward(call: _Call, ctx: Any) -> str:
    """That the value of the forward rule has other shapes than that of the function, if it has.

    That is why the cotangent has, then. The function tells on numbers of its own.
    """
    inputs = [None if x is None else np.ones(x.shape, x.dtype)[()] for x in ctx._inputs[1:]]
    leaves = [x if own is None else own for x, own in zip(ctx.leaves, inputs, strict=True)]
    try:
        with silenced():
            args, kwargs = unflatten(call.spec, leaves)
            expected, spec = flatten(natively(call.function, *args, **kwargs))
    except Exception:  # it takes no such numbers
        return ""
    given = [() if x is None else tuple(x.shape) for x in ctx._outputs[: call.count]]
    if spec == call.value and given == list(map(np.shape, expected)):
        return ""
    wanted = f"of shape {np.shape(expected[0])}" if spec == LEAF else in_words(spec)
    got = f"of shape {given[0]}" if call.value == LEAF else in_words(call.value)
    return (
        f". Its forward rule returns a value {got}, and the function itself one {wanted}: the "
        "cotangent is like the value of the forward rule, which is to be that of the function"
    )


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
                f"differentiated itself: keep the same ones on every path{rule.line('forward')}"
            )
        return [x for x, ct in zip(fresh, cts, strict=True) if ct is not None]

    with interpreted():
        _, pull = vjp_on_tape(computed, *[inputs[i] for i in asked])
        pulled = dict(zip(asked, pull([_conjugate(ct) for ct in cts if ct is not None])))
    places = iter(range(len(inputs)))
    return [pulled.get(next(places)) if t else None for t in flags]


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
