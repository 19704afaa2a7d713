"""Runs generated JAX source on NumPy or JAX arrays.

It is imported when a JAX program is loaded or a JAX array comes in. Programs run with 64-bit types,
whatever the process has chosen for itself: JAX's switch is turned for the calling thread and for
one call.

No platform is named here: a program runs where its arguments are committed, and NumPy arguments go
to JAX's default device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import codegen
from codegen.emit.target import Source
from tracegrad.arguments.batch_axes import each
from tracegrad.arguments.signature import NUMERIC, Arguments, Leaf
from tracegrad.backends.jax_symbolic_lengths import example_lengths
from tracegrad.errors import ArgumentError
from tracegrad.values.dispatch import is_jax_tracer
from tracegrad.values.jax_library import jax, own_types, wide_types
from tracegrad.values.pytree import flatten, unflatten

# -- programs -----------------------------------------------------------------------------------


def load_jax(source: Source, places: Mapping[int, Any] | None = None) -> Callable[..., Any]:
    """The function of generated source: ``run(*inputs, **captures)``.

    Arrays in decide arrays out: with a JAX array among the inputs it returns JAX arrays, where the
    computation ran; else NumPy arrays and scalars in memory of their own. `places` are shardings
    for some of its outputs.

    ``run.checked`` is for source that returns ``(result, looks)``: it returns the result alone,
    and raises a plain `LookupError` when a look has another outcome than the traced one.
    ``run.traced`` is for JAX tracers, in the types that JAX has then (`has_wide_types`), since it
    is lowered among them; a look with another outcome makes floating-point results nan.
    ``run.accepts`` are the classes of arrays that it takes.
    """
    function = codegen.load(source.text, source.name, source.names)
    if places or jax.device_count() > 1:
        function = _over_devices(source, function, places or {})
    array = array_class()
    axeless: list[int] = []
    if source.frame is not None and source.frame.arrays:
        numbers = jax.tree.leaves(_outputs(source, lambda i: i))
        axeless = [i for i, n in enumerate(numbers) if n in source.frame.arrays]

    def run(*inputs: Any, **captures: Any) -> Any:
        with wide_types(True):
            result = function(*inputs, **captures)
        return result if array in map(type, inputs) else owned(result, axeless)

    def checked(*inputs: Any, **captures: Any) -> Any:
        with wide_types(True):
            result, looks = function(*inputs, **captures)
        for i, look in enumerate(looks):
            if not np.asarray(look):  # four times as fast as the truth of a JAX array
                raise LookupError(
                    f"{source.name}: look {i + 1} of {len(looks)} has not the outcome traced"
                )
        return result if array in map(type, inputs) else owned(result, axeless)

    def traced(inputs: Sequence[Any], captures: Mapping[str, Any], looks: bool) -> Any:
        given = [_strong(x) if isinstance(x, jax.Array) else x for x in inputs]
        with own_types():
            result = function(*given, **captures)
        return _where_sound(*result) if looks else result

    run.traced = traced  # type: ignore[attr-defined]
    run.checked = checked  # type: ignore[attr-defined]
    run.accepts = (np.ndarray, array)  # type: ignore[attr-defined]
    return run


def _over_devices(
    source: Source, function: Callable[..., Any], places: Mapping[int, Any]
) -> Callable[..., Any]:
    """The function, for arguments that lie on several devices as well.

    Outputs lie as `places` says, and gradients else as what they are gradients in. On a mesh with
    explicit axes the function runs with automatic ones, and all that is left lies on every device.
    """
    frame, known = source.frame, dict[Any, Callable[..., Any]]()
    assert frame is not None
    donated = tuple(map(frame.parameters.index, frame.donated))

    def placed(inputs: Sequence[Any], captures: Mapping[str, Any]) -> tuple[Any, ...]:
        given = [*inputs, *captures.values()]
        return tuple([_sharding_of(leaf) for leaf in jax.tree.leaves(given)])

    def made(mesh: Any, inputs: Sequence[Any], captures: Mapping[str, Any]) -> Callable[..., Any]:
        names = dict(zip(frame.parameters, inputs, strict=True)) | dict(captures)
        lies = {i: _sharding_of(eval(frame.reads[at], {}, names)) for i, at in frame.alike}
        explicit = mesh is not None and jax.sharding.AxisType.Explicit in mesh.axis_types
        rest = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()) if explicit else None
        of = _outputs(source, lambda i: places.get(i) or lies.get(i) or rest)
        of = (of, rest) if source.looks else of
        if explicit:
            inner = jax.sharding.auto_axes(function, out_sharding=of)
            return jax.jit(inner, donate_argnums=donated) if donated else inner  # type: ignore[no-any-return]
        return jax.jit(function, out_shardings=of, donate_argnums=donated)

    def run(*inputs: Any, **captures: Any) -> Any:
        shardings = placed(inputs, captures)
        mesh = next((s.mesh for s in shardings if s is not None), None)
        if source.retries:
            return _put(source, function(*inputs, **captures), places)
        if mesh is None and not places:
            return function(*inputs, **captures)
        if shardings not in known:
            known[shardings] = made(mesh, inputs, captures)
        return known[shardings](*inputs, **captures)

    return run


def _outputs(source: Source, of: Callable[[int], Any]) -> Any:
    """Something for each output, in the structure that a program returns."""
    assert source.frame is not None
    return jax.tree.map(of, eval(re.sub(r"\{(\d+)\}", r"\1", source.frame.shape)))


def _put(source: Source, result: Any, places: Mapping[int, Any]) -> Any:
    """What a program has returned, with outputs where they are to lie."""
    if not places:
        return result
    result, *looks = result if source.looks else (result,)
    leaves, structure = jax.tree.flatten(result)
    numbers = jax.tree.leaves(_outputs(source, lambda i: i))
    pairs = zip(leaves, numbers, strict=True)
    moved = [jax.device_put(x, places[i]) if i in places else x for x, i in pairs]
    result = structure.unflatten(moved)
    return (result, *looks) if looks else result


def _sharding_of(leaf: Any) -> Any:
    """Where an array lies that lies on several devices of a mesh; None of any other."""
    traced = is_jax_tracer(leaf)
    sharding = jax.typeof(leaf).sharding if traced else getattr(leaf, "sharding", None)
    if not isinstance(sharding, jax.sharding.NamedSharding) or sharding.mesh.size < 2:
        return None
    if traced and jax.sharding.AxisType.Explicit not in sharding.mesh.axis_types:
        return None  # nobody knows yet
    return sharding


def has_wide_types() -> bool:
    """Whether JAX has 64-bit types now, in this thread."""
    return bool(jax.dtypes.canonicalize_dtype(np.float64) == np.float64)


def _strong(x: Any) -> Any:
    """An array of its dtype, as NumPy's: JAX gives one that was a Python number another one."""
    return jax.numpy.asarray(x, x.dtype)


def _where_sound(result: Any, looks: Iterable[Any]) -> Any:
    """The structure where all looks are true; else nan, in derivatives of it too."""
    sound = jax.numpy.stack([jax.numpy.asarray(look) for look in looks]).all()

    def shown(leaf: Any) -> Any:
        x = jax.numpy.asarray(leaf)
        if not jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
            return x  # there is no whole number that says nothing
        return x * jax.numpy.where(sound, 1.0, jax.numpy.nan).astype(x.real.dtype)

    return jax.tree.map(shown, result)


def owned(result: Any, axeless: Collection[int] = ()) -> Any:
    """The structure with its JAX arrays as NumPy arrays and scalars that share memory with nothing.

    Those without axes become scalars, but for some, which are named by their numbers. Views would
    be faster, and read-only; they may also be the caller's arguments.
    """
    leaves, structure = jax.tree.flatten(result)
    arrays = [np.array(leaf) for leaf in leaves]
    found = [x if x.ndim or i in axeless else x[()] for i, x in enumerate(arrays)]
    return structure.unflatten(found)


@cache
def array_class() -> type:
    """The class of concrete JAX arrays (``jax.Array`` itself is also that of tracers)."""
    with jax.ensure_compile_time_eval():  # a program may be loaded while JAX traces
        return type(jax.numpy.zeros(()))


# -- looking inside -----------------------------------------------------------------------------


def lowered(
    function: Callable[..., Any], args: Any, kwargs: Any, platforms: Sequence[str] | None
) -> Any:
    """The `jax.stages.Lowered` of a function of arrays and floats; all else is constant in it."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    varies = [isinstance(x, float) or hasattr(x, "shape") for x in leaves]
    given = [x for x, wanted in zip(leaves, varies, strict=True) if wanted]

    def call(*now: Any) -> Any:
        arrays = iter(now)
        both = [next(arrays) if v else x for x, v in zip(leaves, varies, strict=True)]
        new_args, new_kwargs = structure.unflatten(both)
        return function(*new_args, **new_kwargs)

    call.__name__ = getattr(function, "__name__", "program")
    with wide_types(True):
        traced = jax.jit(call).trace(*given)
        return traced.lower(lowering_platforms=None if platforms is None else tuple(platforms))


# -- arguments and results ----------------------------------------------------------------------


def described(arguments: Arguments) -> Arguments:
    """Bound arguments with JAX arrays keyed like the NumPy arrays that they could be.

    Nothing is transferred: a version is found by dtype and number of axes.
    """
    leaves = [_described(arguments, leaf) for leaf in arguments.leaves]
    return replace(arguments, leaves=tuple(leaves))


def _described(arguments: Arguments, leaf: Leaf) -> Leaf:
    value = leaf.value
    if not isinstance(value, jax.Array):
        return leaf
    if is_jax_tracer(value):
        refuse_dtype(value.dtype, f"argument {arguments.text_of(leaf)}")
    return replace(leaf, kind=("array", value.dtype.name, value.ndim))


def sample(leaf: Any, text: str = "an argument") -> Any:
    """Numbers like those of a tracer; a JAX array as one of NumPy, anything else as it is."""
    return numbers_like(leaf, text) if is_jax_tracer(leaf) else to_numpy(leaf)


def numbers_like(leaf: Any, text: str = "an argument") -> np.ndarray:
    """Numbers of the shape and dtype of an array of JAX, whose own ones nobody asks for.

    Floats are between 0.25 and 0.75, where most functions have a value, those of one axis in order,
    square matrices positive definite; whole numbers are 0, which every axis has as an index.
    """
    refuse_dtype(leaf.dtype, text)
    shape = example_lengths(leaf.shape)
    if leaf.dtype.kind in "biu":
        return np.zeros(shape, leaf.dtype)
    steps = np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)
    values = 0.25 + 0.5 * (steps * GOLDEN % 1.0 if len(shape) > 1 else steps / (1.0 + steps.size))
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = (values + values.swapaxes(-1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    return np.asarray(values, leaf.dtype)


GOLDEN = (5**0.5 - 1) / 2
"""Its multiples are spread evenly over [0, 1), no two of them equal."""


def refuse_dtype(dtype: Any, text: str) -> None:
    """Raises for what is no array of numbers in NumPy's eyes: bfloat16, keys of generators."""
    if not isinstance(dtype, np.dtype) or dtype.kind not in NUMERIC:
        raise ArgumentError(
            f"{text} has dtype {dtype}: arrays must be of numbers or bool that NumPy has"
        )


def to_numpy(leaf: Any) -> Any:
    """A JAX array as a (read-only) NumPy array; anything else as it is."""
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def from_numpy(leaf: Any, device: Any = None) -> Any:
    """A NumPy array or scalar as a JAX array of the same dtype; anything else as it is.

    device
        Where to commit it; None leaves it uncommitted on JAX's default device.
    """
    if not isinstance(leaf, np.ndarray | np.generic):
        return leaf
    with wide_types(True):
        return jax.device_put(np.asarray(leaf), device)


def placed_as(result: Any, shardings: Any, name: str) -> Any:
    """What a call returns, with its JAX arrays where they were asked for."""
    leaves, spec = flatten(result)
    said = each(shardings, spec, f"out_shardings of {name}", "the result")
    return unflatten(
        spec,
        [
            jax.device_put(leaf, place) if isinstance(leaf, jax.Array) and place else leaf
            for leaf, place in zip(leaves, said, strict=True)
        ],
    )


def device_of(leaves: Iterable[Any]) -> Any:
    """The one device to which JAX arrays among the leaves are committed, or None."""
    for leaf in leaves:
        if isinstance(leaf, jax.Array) and getattr(leaf, "committed", True):
            devices = leaf.devices()
            return next(iter(devices)) if len(devices) == 1 else None
    return None
