"""Makes the outputs of a graph, and the structure around them, of what a function returned.

What is no array (a string, None, a number that is not differentiated) is returned as it was; the
program writes the structure as Python where it can, else `Result.build` makes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Signature
from typing import Any

import numpy as np

from codegen.ir import Origin, Value
from codegen.types import is_inexact, kind
from tracegrad.arguments.batch_axes import each
from tracegrad.arguments.signature import (
    Arguments,
    Leaf,
    with_tangents,
    with_vectors,
)
from tracegrad.errors import ArgumentError, NonScalarError, NotDifferentiableError
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.trace import Trace
from tracegrad.user_code.unread_parameters import unread_parameters
from tracegrad.values.dispatch import (
    dtype_of,
    is_jax_array,
    is_jax_tracer,
    is_number,
    is_numeric,
)
from tracegrad.values.prng_keys import Key
from tracegrad.values.pytree import (
    LEAF,
    Child,
    Item,
    Path,
    Step,
    TreeSpec,
    flatten,
    is_of_key,
    leaf_paths,
    path_text,
    unflatten,
)


@dataclass(frozen=True)
class Placement:
    """What programs for JAX do with the memory of devices.

    Arrays of the arguments at the positions `donated` are given away by each call. Results lie as
    `shardings` says, a tree that may end before the structure of the result does.
    """

    donated: tuple[int, ...] = ()
    shardings: Any = None


@dataclass(frozen=True)
class Transform:
    """What is made of the function.

    `kind` is "compile", "grad", "value_and_grad", "jvp", "hvp", "vjp", "jacobian", "hessian",
    "jacobian_products", "hessian_products" or "vmap". "jvp" and "hvp" are called with `count`
    arguments of the function, then with a tangent of each; the products, which are those of
    matrices with several vectors at once, with `count` arguments and then arrays of vectors.
    "vjp" gives the value alone; the way back is a program of its own (`recorded`).
    `mode` is that of a Jacobian: "forward", "reverse" or "auto"; of products also "elements"
    (`jacobians.with_products`). `in_axes` and `out_axes` are those
    of "vmap".
    """

    kind: str
    argnums: int | tuple[int, ...] = 0
    has_aux: bool = False
    count: int = 0
    mode: str = "auto"
    in_axes: Any = 0
    out_axes: Any = 0
    placement: Placement = Placement()

    @property
    def differentiates(self) -> bool:
        """Whether derivatives are taken."""
        return self.kind not in ("compile", "vmap")

    @property
    def gives_derivatives(self) -> bool:
        """Whether a call returns derivatives."""
        return self.differentiates and self.kind != "vjp"

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else self.argnums

    def is_beyond(self, given: int) -> bool:
        """Whether derivatives are taken by more than the first arguments, which a call gives."""
        return self.differentiates and any(position >= given for position in self.positions)

    @property
    def by_fields(self) -> tuple[int, ...] | None:
        """Which arguments are differentiated by, field by field; None where any may be."""
        if self.kind == "compile":
            return ()
        kinds = ("grad", "value_and_grad", "jacobian", "hessian")
        return self.positions if self.kind in kinds else None

    @property
    def takes_tangents(self) -> bool:
        """Whether arguments are followed by their tangents."""
        return self.kind in ("jvp", "hvp")

    @property
    def takes_vectors(self) -> bool:
        """Whether the arguments are followed by vectors that a matrix is multiplied by."""
        return self.kind in ("jacobian_products", "hessian_products")

    @property
    def followed(self) -> int | None:
        """How many arguments are the function's, where tangents or vectors follow them."""
        return self.count if self.takes_tangents or self.takes_vectors else None

    @property
    def pushes_vectors(self) -> bool:
        """Whether these vectors are tangents of the arguments."""
        return self.takes_vectors and self.mode == "forward"

    @property
    def of_number(self) -> bool:
        """Whether the function must return one number."""
        kinds = ("grad", "value_and_grad", "hvp", "hessian", "hessian_products")
        return self.kind in kinds

    @property
    def is_matrix(self) -> bool:
        """Whether all derivatives of several numbers are given."""
        return self.kind in ("jacobian", "hessian")

    @property
    def of_reals(self) -> bool:
        """Whether arguments and results must be real."""
        return self.is_matrix or self.takes_vectors

    @property
    def gives_value(self) -> bool:
        """Whether the function's value is returned besides."""
        return self.kind in ("compile", "vmap", "value_and_grad", "jvp", "vjp")

    def unread(self, function: Any) -> frozenset[str]:
        """The parameters of a call that the function never reads."""
        own = self.kind != "vmap" and self.followed is None
        return unread_parameters(function) if own else frozenset()

    def signature(self, own: Signature) -> Signature:
        """The parameters of a call, where the function has these of its own."""
        if self.takes_tangents:
            return with_tangents(own, self.count)
        return with_vectors(own, self.count) if self.takes_vectors else own

    def described(self, of: str, parameters: Sequence[str]) -> str:
        """What is made of the function, in words."""
        names = ", ".join(parameters[p] for p in self.positions)
        return {
            "compile": of,
            "vmap": f"{of} over a batch",
            "vjp": f"value of {of}",
            "grad": f"gradient in {names} of {of}",
            "value_and_grad": f"value and gradient in {names} of {of}",
            "jvp": f"value and tangent of {of}",
            "hvp": f"tangent of the gradient in {names} of {of}",
            "jacobian": f"Jacobian in {names} of {of}",
            "hessian": f"Hessian in {names} of {of}",
            "jacobian_products": f"products of vectors with the Jacobian in {names} of {of}",
            "hessian_products": f"products of vectors with the Hessian in {names} of {of}",
        }[self.kind]


def known_transform(*of: Any, **settings: Any) -> Transform:
    """One object for equal transforms, where what they are made of has a hash."""
    try:
        return _known_transform(*of, **settings)
    except TypeError:
        return Transform(*of, **settings)


@lru_cache(maxsize=512, typed=True)
def _known_transform(*of: Any, **settings: Any) -> Transform:
    return Transform(*of, **settings)


@dataclass(frozen=True)
class Result:
    """The structure of what a call returns: outputs of the graph, and things that are no arrays."""

    spec: TreeSpec
    leaves: tuple[int | Static, ...]  # index of an output, or the thing itself
    lists: tuple[tuple[int, type], ...] = ()  # outputs whose rows are returned, in a list or tuple
    plain: tuple[tuple[int, type], ...] = ()
    """Outputs that a function which was called with Tensors had as arrays and numbers."""
    given: tuple[tuple[int, int], ...] = ()
    """Outputs that such a function had as Tensors which it was given or read outside."""

    def build(self, outputs: Sequence[Any]) -> Any:
        """The returned object."""
        if self.spec is LEAF and not self.lists and isinstance(self.leaves[0], int):
            return outputs[self.leaves[0]]
        made: dict[int, Any] = dict(enumerate(outputs))
        made |= {i: kind(outputs[i]) for i, kind in self.lists}
        values = [made[i] if isinstance(i, int) else i.value for i in self.leaves]
        return unflatten(self.spec, values)


@dataclass(frozen=True)
class Static:
    """A returned leaf that is not an array: the same on every call of the version."""

    value: Any


def check_wanted(arguments: Arguments, transform: Transform) -> list[Leaf]:
    """The leaves to differentiate; raises for what has no gradient, naming it."""
    count = len(arguments.parameters)
    leaves = []
    for position in transform.positions:
        if not -count <= position < count:
            raise ArgumentError(
                f"argnums={position}: the function has {count} argument{'s' * (count != 1)}"
            )
        parameter = position % count
        if position < 0 and arguments.keywords[parameter] is not None:
            raise ArgumentError(
                f"argnums={position} is {arguments.parameters[parameter]}, which is passed by "
                "name: count from the first argument"
            )
        own = [leaf for leaf in arguments.leaves if leaf.parameter == parameter]
        found = [leaf for leaf in own if not is_carried(leaf)] or own
        if not found:
            raise ArgumentError(f"argument {arguments.parameters[parameter]} holds no array")
        for leaf in found:
            text = arguments.text_of(leaf)
            if not leaf.traced:
                raise ArgumentError(
                    f"argument {text} is to be differentiated but is {leaf.value!r} of type "
                    f"{type(leaf.value).__name__}: pass a float or an array of floats"
                    + _remedy(text, leaf.value)
                )
            dtype = str(leaf.kind[1])
            if is_of_key(leaf.path):
                raise ArgumentError(
                    f"argument {text} is to be differentiated but is a key of a random generator: "
                    "pass keys in an argument of their own"
                )
            if dtype not in ("float", "complex") and not is_inexact(dtype):
                raise ArgumentError(
                    f"argument {text} is to be differentiated but has dtype {dtype}: gradients "
                    f"need floating point, pass {text}.astype(float)"
                )
            if transform.of_reals and kind(dtype) == "complex":
                raise ArgumentError(
                    f"argument {text} is complex: the {transform.kind} of a function of complex "
                    "numbers has no agreed form; tg.jvp and tg.vjp give its products with vectors"
                )
        leaves += found
    return leaves


def _remedy(text: str, value: Any) -> str:
    """What to pass in the place of something that has no gradient, as far as that is known."""
    if isinstance(value, int):
        return f", {text}={float(value)}"
    if value is None or isinstance(value, str | bytes):
        return ""
    return ", or a dictionary or dataclass that holds arrays of floats"


def is_carried(leaf: Leaf) -> bool:
    """A setting among arrays: a string, an object, a flag or whole number that has a name.

    It has no gradient, None stands in its place. A whole number in a list of floats is one that
    somebody forgot to write as a float. So are counts and keys that a class holds which only JAX
    can take apart (an nnx module's `Rngs`).
    """
    if not leaf.traced:
        return may_be_carried(leaf.path, leaf.value)
    of_class = any(isinstance(step, Child) and step.type is not Key for step in leaf.path)
    return of_class and kind(str((*leaf.kind, "")[1])) in ("bool", "int")


def may_be_carried(path: Path, value: Any) -> bool:
    """The same of what is no array or number with a gradient, by where it stands."""
    named = bool(path) and not _counted(path[-1])
    return bool(path) and (named or not isinstance(value, int))


def require_devices(transform: Transform, target: str, given: Any, name: str) -> None:
    """Raises where the memory of devices is spoken of and no program for JAX runs."""
    placement = transform.placement
    if placement == Placement() or target == "jax" or STATE.trace is not None:
        return
    if any(map(is_jax_tracer, flatten(given)[0])):  # it is the program for JAX, whatever was said
        return
    said = "donate_argnums" if placement.shardings is None else "out_shardings"
    raise ArgumentError(
        f"{said} is given, and this call of {name} runs a program for NumPy, which cannot do that: "
        'write backend="jax" beside it, or set tg.config.backend = "jax"'
    )


def donated_in(arguments: Arguments, transform: Transform) -> list[Leaf]:
    """The arrays that a call gives away; raises where there is no such argument."""
    count = len(arguments.parameters)
    for position in transform.placement.donated:
        if not -count <= position < count:
            raise ArgumentError(
                f"donate_argnums={position}: the function has {count} argument{'s' * (count != 1)}"
            )
    donated = {position % count for position in transform.placement.donated}
    arrays = [leaf for leaf in arguments.leaves if leaf.kind[0] == "array"]
    return [leaf for leaf in arrays if leaf.parameter in donated]


def _counted(step: Step) -> bool:
    """The step to an element of a list or tuple."""
    return isinstance(step, Item) and type(step.key) is int


def gradients_in(
    arguments: Arguments, transform: Transform, gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """The gradient of each argument in its structure, from those of the leaves that have one."""
    rest, trees = iter(gradients), []
    count = len(arguments.values)
    for position in transform.positions:
        parameter = position % count
        leaves = [leaf for leaf in arguments.leaves if leaf.parameter == parameter]
        found = [None if is_carried(leaf) else next(rest) for leaf in leaves]
        trees.append(unflatten(arguments.specs[parameter], found))
    return tuple(trees)


def differentiated(arguments: Arguments, transform: Transform, values: Sequence[Any]) -> Any:
    """What of one value a parameter is differentiated, in the structure of its gradient."""
    leaves = []
    for position in transform.positions:
        parameter = position % len(arguments.parameters)
        own = [leaf for leaf in arguments.leaves if leaf.parameter == parameter]
        pairs = zip(own, flatten(values[parameter])[0], strict=True)
        leaves += [value for leaf, value in pairs if not is_carried(leaf)]
    return _in_arguments(arguments, transform, leaves)


def vectors_in(arguments: Arguments) -> list[Leaf]:
    """The vectors that matrices are multiplied by: the last argument."""
    last = len(arguments.parameters) - 1
    return [leaf for leaf in arguments.leaves if leaf.parameter == last]


def tangent_leaves(arguments: Arguments, wanted: Sequence[Leaf]) -> list[Leaf]:
    """The tangent of each leaf that is differentiated."""
    shift = len(arguments.parameters) // 2
    every = {(leaf.parameter, leaf.path): leaf for leaf in arguments.leaves}
    found = []
    for leaf in wanted:
        tangent = every.get((leaf.parameter + shift, leaf.path))
        if tangent is None or not tangent.traced:
            name = arguments.parameters[leaf.parameter + shift]
            raise ArgumentError(
                f"{arguments.text_of(leaf)} has no tangent in {name}: tangents have the structure "
                "of their arguments, and are floats or arrays of them"
            )
        found.append(tangent)
    return found


def check_returned(returned: Any, transform: Transform, name: str) -> None:
    """Raises where what a function returned has no gradient."""
    if transform.has_aux and (not isinstance(returned, tuple) or len(returned) != 2):
        raise ArgumentError(f"{name} must return (value, aux) with has_aux=True")
    if not transform.gives_derivatives:
        return
    main = returned[0] if transform.has_aux else returned
    if not transform.of_number:
        _check_arrays(main, transform, name)
        return
    if type(main) is Tensor and type(main._array) in (np.float64, np.float32):
        return  # at once for what it nearly always is
    if not isinstance(main, Tensor | np.generic | np.ndarray | float):
        plain = f"; if {name} is made by tg.value_and_grad, pass {name}.__wrapped__"
        raise NonScalarError(
            f"{name} returns {type(main).__name__}; its gradient needs one number, "
            "an array without axes (use .sum() or .mean(), or has_aux=True for more outputs"
            f"{plain * isinstance(main, tuple)})"
        )
    shape = np.shape(getattr(main, "_array", main))
    if math.prod(shape) != 1:  # one element is one number, whatever its axes
        raise NonScalarError(
            f"{name} returns an array of shape {shape}; its gradient needs one number: reduce "
            "it with .sum() or .mean(), or use tg.jacobian or tg.vjp"
        )
    dtype = dtype_of(main)
    if not is_inexact(dtype):
        raise NonScalarError(f"{name} returns {dtype}; a gradient needs a floating-point value")
    if kind(dtype) == "complex":
        raise NonScalarError(
            f"{name} returns a complex number; a gradient needs a real one: take .real, .imag or "
            "abs of it, or for the derivative of a holomorphic function tg.vjp(f, z)[1](1.0)"
        )


def _check_arrays(main: Any, transform: Transform, name: str) -> None:
    """Raises where some of what a function returned has no derivative."""
    leaves, spec = flatten(main)
    if not leaves:
        raise NotDifferentiableError(f"{name} returns {main!r}: there is nothing to differentiate")
    for leaf, path in zip(leaves, leaf_paths(spec), strict=True):
        text = path_text("result", path)
        if not isinstance(leaf, Tensor | np.generic | np.ndarray | float | complex):
            raise NotDifferentiableError(
                f"{name} returns {type(leaf).__name__} ({text}): only arrays and numbers have "
                "derivatives; return it as the second of (value, aux), with has_aux=True"
            )
        if not is_inexact(dtype_of(leaf)):
            raise NotDifferentiableError(
                f"{name} returns {dtype_of(leaf)} ({text}): derivatives need floating point; "
                "return it as the second of (value, aux), with has_aux=True"
            )
        if transform.of_reals and kind(dtype_of(leaf)) == "complex":
            raise NotDifferentiableError(
                f"{name} returns complex numbers ({text}): take .real and .imag of them for a "
                "Jacobian; tg.jvp and tg.vjp give its products with vectors"
            )


def main_of(returned: TreeSpec, transform: Transform) -> TreeSpec:
    """The structure of what is differentiated of what a function returned."""
    return returned.children[0] if transform.has_aux else returned


def leaves_in(spec: TreeSpec) -> int:
    """The number of leaves."""
    return len(leaf_paths(spec))


def outputs_of(
    trace: Trace, returned: Any, transform: Transform, numbers: bool = False
) -> tuple[tuple[Value, ...], Result]:
    """The graph's outputs and the structure of what the function returned.

    With `numbers` those of Python are outputs too.
    """
    leaves, spec = flatten(returned)
    outputs: list[Value] = []
    shown: list[int | Static] = []
    main = 0 if not transform.gives_derivatives else leaves_in(main_of(spec, transform))
    for i, leaf in enumerate(leaves):
        number = i < main or (numbers and is_number(leaf))  # a float too is to be differentiated
        of_numpy = isinstance(leaf, np.generic) and is_numeric(leaf.dtype)
        if number or of_numpy or isinstance(leaf, Tensor | np.ndarray):
            shown.append(len(outputs))
            outputs.append(trace.lift(leaf, Origin()))
            if transform.of_number and number and outputs[0].type.ndim:
                trace.look_at_shape(outputs[0])  # there is one element
        else:
            shown.append(Static(leaf))
    return tuple(outputs), Result(spec, tuple(shown))


def without_histories(
    trace: Trace, outputs: Sequence[Value], places: Iterable[tuple[int, Any]]
) -> tuple[Value, ...]:
    """The outputs, of which no gradient goes back from numbers of Python's: those are no Tensors.

    (``loss.item()``; what `math` computes of a Tensor has a history, and is one.) `places` are
    outputs, with what the function had of each.
    """
    found = [*outputs]
    for place, x in places:
        number = type(x) is Tensor and x._node is None and is_number(x._array)
        if number and outputs[place].type.weak:
            (found[place],) = trace.builder.call(stop_gradient, (outputs[place],), Origin())
    return tuple(found)


def zero_dimensional(leaves: Iterable[tuple[Any, int | Static]]) -> tuple[tuple[int, type], ...]:
    """Of the outputs without axes, what the function returned: arrays, scalars, Python's numbers.

    `leaves` are what it returned, with the numbers of outputs. Of scalars of NumPy's the class says
    no more than that.
    """
    held = [(place, getattr(leaf, "_array", leaf)) for leaf, place in leaves]
    return tuple(
        [
            (place, np.generic if isinstance(x, np.generic) else type(x))
            for place, x in held
            if isinstance(place, int) and (is_number(x) or _is_axeless(x))
        ]
    )


def _is_axeless(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and not x.ndim


def left_out(transform: Transform, returned: Result) -> int:
    """How many of the first outputs of a traced run are not returned."""
    if transform.gives_value:
        return 0
    return leaves_in(main_of(returned.spec, transform))


def result_of(
    transform: Transform,
    arguments: Arguments,
    wanted: Sequence[Leaf],
    returned: Result,
    n_outputs: int,
) -> tuple[Result, list[str]]:
    """The structure of the callable's return value, and names for its outputs."""
    count = sum(isinstance(i, int) for i in returned.leaves)
    if not transform.gives_derivatives:
        names = ["value"] if count == 1 else ["result"] * count
        return returned, names + [f"aux_{i}" for i in range(n_outputs - len(names))]
    main = main_of(returned.spec, transform)
    mains = leaves_in(main)
    value_names = ["value"] if mains == 1 else ["result"] * mains
    names = value_names + [f"aux_{i}" for i in range(n_outputs - mains)]
    skip = left_out(transform, returned)
    start = n_outputs - skip
    inputs = [arguments.name_of(leaf) for leaf in wanted]
    match transform.kind:
        case "jvp":
            derivative_names = [f"{name}_dot" for name in value_names]
        case "hvp":
            derivative_names = [f"{name}_bar_dot" for name in inputs]
        case "jacobian":
            derivative_names = [f"jacobian_{name}" for name in inputs] * mains
        case "jacobian_products" | "hessian_products":
            derivative_names = _names_of_products(transform, inputs, mains)
        case "hessian":
            derivative_names = [f"hessian_{a}_{b}" for a in inputs for b in inputs]
        case _:
            derivative_names = [f"{name}_bar" for name in inputs]
    if transform.is_matrix and len(derivative_names) == 1:
        derivative_names = [transform.kind]
    numbers = range(start, start + len(derivative_names))
    leaves, spec = flatten(arranged(transform, arguments, main, numbers))
    pieces: list[tuple[TreeSpec, list[Any]]] = [(spec, leaves)]
    if transform.kind == "value_and_grad":
        pieces.insert(0, (returned.spec, list(returned.leaves)))
    else:
        if transform.kind == "jvp":
            pieces.insert(0, (main, list(returned.leaves[:mains])))
        if transform.has_aux:
            aux = [i - skip if isinstance(i, int) else i for i in returned.leaves[mains:]]
            pieces.append((returned.spec.children[1], aux))
    names = names[skip:] + derivative_names
    rows = zip(numbers, [leaf.rows for leaf in wanted], strict=False)
    lists = tuple([(number, type(x)) for number, x in rows if x is not None])
    if len(pieces) == 1:
        return Result(pieces[0][0], tuple(pieces[0][1]), lists), names
    spec = flatten(tuple(unflatten(s, [0] * len(leaves)) for s, leaves in pieces))[1]
    return Result(spec, tuple(i for _, leaves in pieces for i in leaves), lists), names


def _names_of_products(transform: Transform, inputs: Sequence[str], mains: int) -> list[str]:
    """What to call the products of vectors, by the arguments where there is one for each."""
    if transform.pushes_vectors and not transform.of_number:
        return ["products"] * mains
    several = len(inputs) > 1 and transform.mode != "elements"
    return [f"products_{name}" for name in inputs] if several else ["products"]


def arranged(
    transform: Transform, arguments: Arguments, main: TreeSpec, parts: Sequence[Any]
) -> Any:
    """The derivatives in the structure that callers get them in."""
    if transform.takes_vectors and transform.mode == "elements":
        return parts[0]
    if transform.kind == "jvp" or (transform.pushes_vectors and not transform.of_number):
        return unflatten(main, parts)
    if transform.is_matrix:
        groups = leaves_in(main) if transform.kind == "jacobian" else round(len(parts) ** 0.5)
        size = len(parts) // groups
        rows = [parts[i * size : (i + 1) * size] for i in range(groups)]
        parts = [_in_arguments(arguments, transform, row) for row in rows]
        if transform.kind == "jacobian":
            return unflatten(main, parts)
    return _in_arguments(arguments, transform, parts)


def _in_arguments(arguments: Arguments, transform: Transform, parts: Sequence[Any]) -> Any:
    gradients = gradients_in(arguments, transform, parts)
    return gradients[0] if isinstance(transform.argnums, int) else gradients


def places_of(results: Sequence[Result], shardings: Any, name: str) -> dict[int, Any]:
    """Where the outputs of a program are to lie of which something is said.

    `results` has the structure that each path returns.
    """
    found: list[dict[int, Any]] = []
    for result in results:
        said = each(shardings, result.spec, f"out_shardings of {name}", "the result")
        pairs = zip(result.leaves, said, strict=True)
        found.append({i: s for i, s in pairs if isinstance(i, int) and s is not None})
    if any(places != found[0] for places in found):
        raise ArgumentError(
            f"{name} returns other structures by the way that it takes: out_shardings must say the "
            "same of each, give one sharding for all"
        )
    return found[0]


def placed(result: Any, transform: Transform, name: str) -> Any:
    """What no program has returned, with its arrays of JAX where they were asked for."""
    shardings = transform.placement.shardings
    if shardings is None or not any(map(is_jax_array, flatten(result)[0])):
        return result
    from tracegrad.backends.jax import placed_as  # JAX is there, as it made an array

    return placed_as(result, shardings, name)


def template_of(result: Result, target: str) -> str | None:
    """The structure as Python over ``{0}``, ``{1}``...; None when it needs other types.

    Under ``jax.jit`` nothing but arrays can be returned.
    """
    if target == "jax" and any(isinstance(leaf, Static) for leaf in result.leaves):
        return None
    rest, lists = iter(result.leaves), dict(result.lists)

    def text(spec: TreeSpec, top: bool = False) -> str:
        if spec.type is None:
            leaf = next(rest)
            if isinstance(leaf, int):
                return f"{lists[leaf].__name__}({{{leaf}}})" if leaf in lists else f"{{{leaf}}}"
            if isinstance(leaf.value, float) and not math.isfinite(leaf.value):
                raise _NoTemplate  # nan and inf have no literal
            if type(leaf.value) in (bool, int, float, str, type(None)):
                return (
                    repr(leaf.value) if not isinstance(leaf.value, str) else json.dumps(leaf.value)
                )
            raise _NoTemplate
        children = [text(child) for child in spec.children]
        if spec.type is type(None):
            return "None"
        if spec.type is tuple:
            inner = ", ".join(children) + ("," if len(children) == 1 else "")
            return inner if top and len(children) > 1 else f"({inner})"
        if spec.type is list:
            return f"[{', '.join(children)}]"
        if spec.type is dict:
            keys = [step.key for step in spec.steps]  # type: ignore[union-attr]
            order = keys if spec.order is None else list(spec.order)
            sorted_by_jit = target == "jax" and order != keys
            plain = all(isinstance(key, str) and "{" not in key for key in keys)
            if plain and not sorted_by_jit:
                by_key = dict(zip(keys, children, strict=True))
                return "{" + ", ".join(f"{json.dumps(k)}: {by_key[k]}" for k in order) + "}"
        raise _NoTemplate

    try:
        return text(result.spec, True)
    except _NoTemplate:
        return None


class _NoTemplate(Exception):
    """The structure has a type that Python has no literal for."""
