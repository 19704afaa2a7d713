"""Runs generated JAX source on NumPy or JAX arrays.

It is imported when a JAX program is loaded or a JAX array comes in. Programs run with 64-bit types,
whatever the process has chosen for itself: JAX's switch is turned for the calling thread and for
one call.

No platform is named here: a program runs where its arguments are committed, and NumPy arguments go
to JAX's default device.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import numpy as np

import codegen
from codegen.emit.target import Source
from codegen.ir import Frame, Graph
from codegen.sizes import Dim, Size, substitute
from tracegrad.arguments.batch_axes import each
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.backends.jax_shard_map import for_one_device, is_inside, varying
from tracegrad.backends.jax_symbolic_lengths import example_lengths
from tracegrad.errors import ArgumentError
from tracegrad.values.dispatch import is_jax_tracer, is_numeric
from tracegrad.values.jax_library import jax, own_types, wide_types
from tracegrad.values.pytree import flatten, unflatten

# -- programs -----------------------------------------------------------------------------------


class OtherTypes(Exception):
    """A program was given arrays that it is not for."""


class _Asked(threading.local):
    of: Any = None  # the graph that this thread calls with arrays for which guards have held


_ASKED = _Asked()


def load_jax(
    source: Source, graph: Graph, places: Mapping[int, Any] | None = None
) -> Callable[..., Any]:
    """The function of the source of a graph: ``run(*inputs, **captures)``.

    Arrays in decide arrays out: with a JAX array among the inputs it returns JAX arrays, where the
    computation ran; else NumPy arrays and scalars in memory of their own. `places` are shardings
    for some of its outputs.

    ``run.checked`` is for source that returns ``(result, looks)``: it returns the result alone,
    and raises a plain `LookupError` when a look has another outcome than the traced one.
    ``run.traced`` is for JAX tracers, in the types that JAX has then (`has_wide_types`), since it
    is lowered among them; a look with another outcome makes floating-point results nan.
    ``run.accepts`` are the classes of arrays that it takes.
    ``run.direct`` is the program for arrays of JAX that nobody has asked for their types; captures
    stand behind the inputs. It raises `OtherTypes` where it is not for them. JAX must have 64-bit
    types then, unless the source is narrow. It is None where JAX does not compile the whole.
    ``run.names`` are what source that calls it refers to.
    ``run.constant`` puts an array of NumPy's that never changes where it is kept for all calls.
    """
    frame = source.frame
    assert frame is not None
    written = codegen.load(source.text, source.name, source.names)
    among_others = _by_position(frame, written)
    function = among_others if source.retries else _asking(source, graph, written)
    if places or jax.device_count() > 1:
        function = _over_devices(source, frame, function, places or {})
        among_others = _over_devices(source, frame, among_others, places or {})
    array, axeless = array_class(), axeless_leaves(frame)

    def called(inputs: Sequence[Any], captures: Mapping[str, Any]) -> Any:
        given = [*inputs, *[captures[name] for name in frame.captures]]
        before, _ASKED.of = _ASKED.of, graph
        try:
            if source.narrow or wide_types.value:  # to turn the switch takes a fifth of a call
                return function(*given)
            with wide_types(True):
                return function(*given)
        finally:
            _ASKED.of = before

    def run(*inputs: Any, **captures: Any) -> Any:
        result = called(inputs, captures)
        return result if array in map(type, inputs) else owned(result, axeless)

    def checked(*inputs: Any, **captures: Any) -> Any:
        result, looks = called(inputs, captures)
        for i, look in enumerate(looks):
            if not np.asarray(look):  # four times as fast as the truth of a JAX array
                raise LookupError(
                    f"{source.name}: look {i + 1} of {len(looks)} has not the outcome traced"
                )
        return result if array in map(type, inputs) else owned(result, axeless)

    def traced(inputs: Sequence[Any], captures: Mapping[str, Any], looks: bool) -> Any:
        strong = [_strong(x) if isinstance(x, jax.Array) else x for x in inputs]
        given = [*strong, *[captures[name] for name in frame.captures]]
        leaves = jax.tree.leaves(given)
        applied = among_others
        if is_inside(leaves):
            applied = _by_position(frame, for_one_device(source, leaves))
        with own_types():
            result = applied(*given)
        result, *outcomes = result if looks else (result,)
        result = _where_sound(result, *outcomes) if looks else result
        return _summed(frame, result, given)

    run.direct = None if source.retries else function  # type: ignore[attr-defined]
    run.names = {"wide_types": wide_types, "OTHER_TYPES": OtherTypes}  # type: ignore[attr-defined]
    run.constant = constant  # type: ignore[attr-defined]
    run.traced = traced  # type: ignore[attr-defined]
    run.checked = checked  # type: ignore[attr-defined]
    run.accepts = (np.ndarray, array)  # type: ignore[attr-defined]
    return run


def _by_position(frame: Frame, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its captures behind the inputs: by keyword, calls of JAX take longer."""
    count, names = len(frame.parameters), frame.captures

    def by_position(*given: Any) -> Any:
        return function(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return by_position if names else function


def _asking(source: Source, graph: Graph, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a source, which raises `OtherTypes` where guards would not hold.

    It asks when JAX compiles it for new types, so that calls with types that JAX knows ask nothing.
    Arrays that JAX would give the dtype of what they meet have their own, as those of NumPy.
    """
    frame = source.frame
    assert frame is not None
    by_position = _by_position(frame, function.__wrapped__)  # type: ignore[attr-defined]

    def asking(*given: Any) -> Any:
        if _ASKED.of is not graph and not (
            (source.narrow or wide_types.value) and _takes(graph, given)
        ):
            raise OtherTypes(f"{source.name} is not for {', '.join(map(str, given))}")
        pairs = zip(graph.inputs, given, strict=True)
        return by_position(*[x if v.type.weak or not _is_weak(x) else _strong(x) for v, x in pairs])

    asking.__name__ = asking.__qualname__ = source.name
    asking.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in frame.parameters + frame.captures]
    )
    return jax.jit(asking, donate_argnums=tuple(map(frame.parameters.index, frame.donated)))


def _takes(graph: Graph, given: Sequence[Any]) -> bool:
    """Whether a graph is for arrays of these dtypes and shapes, as inputs and by its guards.

    An array that JAX made of a Python number is an array here. Where the value of an input is a
    length, this is False.
    """
    pairs = [(value.type, x) for value, x in zip(graph.inputs, given, strict=True)]
    known: dict[str, Dim] = {}
    for type_, x in pairs:
        if type_.weak:
            if not (_is_weak(x) or type(x) in _PYTHON_NUMBERS):
                return False
        elif x is None or x.dtype.name != type_.dtype or len(x.shape) != type_.ndim:
            return False
        else:
            axes = zip(type_.shape, x.shape, strict=True)
            known |= {str(dim): n for dim, n in axes if isinstance(dim, Size) and dim.symbol()}
    told = [pair for type_, x in pairs for pair in zip(type_.shape, np.shape(x), strict=True)]
    told += graph.sizes.guards
    return not graph.frame.lengths and all(
        substitute(a, known) == substitute(b, known) for a, b in told
    )


_PYTHON_NUMBERS = frozenset({bool, int, float, complex})


def _is_weak(x: Any) -> bool:
    return bool(getattr(x, "weak_type", False))


def _over_devices(
    source: Source, frame: Frame, function: Callable[..., Any], places: Mapping[int, Any]
) -> Callable[..., Any]:
    """The function, for arguments that lie on several devices as well.

    Outputs lie as `places` says, and gradients else as what they are gradients in. On a mesh with
    explicit axes the function runs with automatic ones, and all that is left lies on every device.
    """
    known = dict[Any, Callable[..., Any]]()
    donated = tuple(map(frame.parameters.index, frame.donated))

    def placed(given: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([_sharding_of(leaf) for leaf in jax.tree.leaves(given)])

    def lies(given: Sequence[Any], rest: Any) -> Callable[[int], Any]:
        """Where each output is to lie, by its number; what nothing says that of, as `rest`."""
        alike = {i: _sharding_of(given[at]) for i, at in frame.alike}
        return lambda i: places.get(i) or alike.get(i) or rest

    def made(mesh: Any, given: Sequence[Any]) -> Callable[..., Any]:
        mine = tuple(
            [i for i in donated if None not in map(_sharding_of, jax.tree.leaves(given[i]))]
        )
        explicit = mesh is not None and jax.sharding.AxisType.Explicit in mesh.axis_types
        rest = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()) if explicit else None
        of: Any = rest  # of a backward alone, which returns what a tape takes
        if frame.shape:
            of = _outputs(frame, lies(given, rest))
        of = (of, rest) if source.looks else of
        if explicit:
            inner = jax.sharding.auto_axes(function, out_sharding=of)
            return jax.jit(inner, donate_argnums=mine) if mine else inner  # type: ignore[no-any-return]
        return jax.jit(function, out_shardings=of, donate_argnums=mine)

    def by_turns(given: Sequence[Any]) -> Any:
        """The result of a program of which Python reads how many turns it took: nothing jits it."""
        leaves = jax.tree.leaves(given)
        mesh = next((x.sharding.mesh for x in leaves if _is_on_explicit_axes(x)), None)
        if mesh is None:
            return _put(source, function(*given), places)
        with automatic_axes(leaves) as there:
            result = function(*jax.tree.map(there, given))
        if not frame.shape:
            return result
        lie = lies(given, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
        every = jax.tree.leaves(_outputs(frame, lambda i: i))
        return _put(source, result, {i: lie(i) for i in every})

    def chosen(given: Sequence[Any]) -> Callable[..., Any]:
        shardings = placed(given)
        mesh = next((s.mesh for s in shardings if s is not None), None)
        if mesh is None and not places:
            return function
        if shardings not in known:
            known[shardings] = made(mesh, given)
        return known[shardings]

    array = array_class()
    last: tuple[Any, Callable[..., Any]] = None, function  # how arrays lay, and what took them

    def run(*given: Any) -> Any:
        nonlocal last
        if source.retries:
            return by_turns(given)
        if {*map(type, given)} != {array}:
            return chosen(given)(*given)
        lie, (before, found) = [x.sharding for x in given], last
        if lie != before:
            found = chosen(given)
            last = lie, found
        return found(*given)

    return run


def _outputs(frame: Frame, of: Callable[[int], Any]) -> Any:
    """Something for each output, in the structure that a program returns."""
    return jax.tree.map(of, eval(re.sub(r"\{(\d+)\}", r"\1", frame.shape)))


def _put(source: Source, result: Any, places: Mapping[int, Any]) -> Any:
    """What a program has returned, with outputs where they are to lie."""
    if not places:
        return result
    result, *looks = result if source.looks else (result,)
    assert source.frame is not None
    leaves, structure = jax.tree.flatten(result)
    numbers = jax.tree.leaves(_outputs(source.frame, lambda i: i))
    pairs = zip(leaves, numbers, strict=True)
    moved = [moved_to(x, places[i]) if i in places else x for x, i in pairs]
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


def _summed(frame: Frame, result: Any, given: Sequence[Any]) -> Any:
    """What a program returns, with gradients that are as much the same on all devices as JAX's.

    Inside `jax.shard_map` a parameter that does not vary over an axis of the mesh has a gradient
    that does not either: the sum of those of all devices.
    """
    if not frame.alike or not frame.shape:
        return result
    axes = {i: varying(given[at]) for i, at in frame.alike}
    leaves, structure = jax.tree.flatten(result)
    numbers = jax.tree.leaves(_outputs(frame, lambda i: i))
    summed = [
        jax.lax.psum(x, tuple(more)) if (more := varying(x) - axes.get(i, varying(x))) else x
        for x, i in zip(leaves, numbers, strict=True)
    ]
    return structure.unflatten(summed)


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


Axeless: TypeAlias = Sequence[tuple[Collection[int], Collection[int]]]
"""By leaves of a result, those without axes that are arrays, and those that are Python's numbers.

For each end of the program if its first leaf is the number of the end, else once.
"""


def axeless_leaves(frame: Frame | None) -> Axeless:
    """Which leaves without axes of a program's results are no scalars of NumPy's."""
    if frame is None or not any(arrays or numbers for arrays, numbers in frame.axeless):
        return ()
    outputs = jax.tree.leaves(_outputs(frame, lambda i: i))  # -1 is the number of an end

    def leaves(some: Collection[int]) -> tuple[int, ...]:
        return tuple([i for i, n in enumerate(outputs) if n in some])

    return [(leaves(arrays), leaves(numbers)) for arrays, numbers in frame.axeless]


def owned(result: Any, axeless: Axeless = ()) -> Any:
    """The structure with its JAX arrays as NumPy arrays and scalars that share memory with nothing.

    Those without axes become scalars, but for some that `axeless` tells of. Views would be faster,
    and read-only; they may also be the caller's arguments.
    """
    leaves, structure = jax.tree.flatten(result)
    arrays = [np.array(leaf) for leaf in leaves]
    if not axeless:
        return structure.unflatten([x if x.ndim else x[()] for x in arrays])
    kept, numbers = axeless[int(arrays[0]) if len(axeless) > 1 else 0]
    found = [x if x.ndim or i in kept else x[()] for i, x in enumerate(arrays)]
    return structure.unflatten([x.item() if i in numbers else x for i, x in enumerate(found)])


@cache
def array_class() -> type:
    """The class of concrete JAX arrays (``jax.Array`` itself is also that of tracers)."""
    with jax.ensure_compile_time_eval():  # a program may be loaded while JAX traces
        return type(jax.device_put(np.zeros(())))  # said by name, which transfer guards let pass


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
    """Raises for what is no array of numbers."""
    if not is_numeric(dtype):
        raise ArgumentError(
            f"{text} has dtype {dtype}: arrays must be of numbers or bool that NumPy has, or of "
            "bfloat16"
        )


def to_numpy(leaf: Any) -> Any:
    """A JAX array as a (read-only) NumPy array; anything else as it is."""
    if not isinstance(leaf, jax.Array):
        return leaf
    refuse_dtype(leaf.dtype, "an argument")
    return np.asarray(leaf)


def from_numpy(leaf: Any, device: Any = None) -> Any:
    """A NumPy array or scalar as a JAX array of the same dtype; anything else as it is.

    device
        Where to commit it; None leaves it uncommitted on JAX's default device.
    """
    if not isinstance(leaf, np.ndarray | np.generic):
        return leaf
    with wide_types(True):
        return jax.device_put(np.asarray(leaf), device)


def constant(array: np.ndarray) -> Any:
    """An array of NumPy's that no call changes, for all calls: on the device, of one process."""
    if jax.process_count() > 1:
        return array
    with jax.ensure_compile_time_eval():  # it may be asked for while JAX traces
        return from_numpy(array.copy())


def placed_as(result: Any, shardings: Any, name: str) -> Any:
    """What a call returns, with its JAX arrays where they were asked for."""
    leaves, spec = flatten(result)
    said = each(shardings, spec, f"out_shardings of {name}", "the result")
    return unflatten(
        spec,
        [
            moved_to(leaf, place) if isinstance(leaf, jax.Array) and place else leaf
            for leaf, place in zip(leaves, said, strict=True)
        ],
    )


def device_of(leaves: Iterable[Any]) -> Any:
    """The one device to which JAX arrays among the leaves are committed, or None."""
    place = home_of(leaves)
    return None if isinstance(place, jax.sharding.NamedSharding) else place


def home_of(leaves: Iterable[Any]) -> Any:
    """Where what belongs to JAX arrays among the leaves is put: their device, or all of a mesh.

    None where they are committed to none.
    """
    place = None
    for leaf in leaves:
        if isinstance(leaf, jax.Array) and _is_committed(leaf):
            if is_spread(leaf):
                mesh = getattr(leaf.sharding, "mesh", None)
                return mesh and jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
            place = place or next(iter(leaf.devices()))
    return place


def place_of(leaf: Any) -> Any:
    """How an array lies that somebody has put where it is; None of any other."""
    return leaf.sharding if isinstance(leaf, jax.Array) and _is_committed(leaf) else None


def _is_committed(array: Any) -> bool:
    return bool(getattr(array, "committed", True))


def brought_home(leaves: Iterable[Any]) -> Callable[[Any], Any]:
    """What puts arrays that are committed to no device where others are, as JAX does."""
    home = home_of(leaves)

    def brought(leaf: Any) -> Any:
        if home is None or not isinstance(leaf, jax.Array) or _is_committed(leaf):
            return leaf
        with wide_types(True):
            return jax.device_put(leaf, home)

    return brought


def is_spread(leaf: Any) -> bool:
    """Whether an array lies on several devices."""
    return isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1


def is_within_reach(leaf: Any) -> bool:
    """Whether this process may read all numbers of an array."""
    if not isinstance(leaf, jax.Array):
        return True
    return bool(leaf.is_fully_addressable or leaf.is_fully_replicated)


def laid(leaf: Any, place: Any, home: Any) -> Any:
    """A result as an array of JAX, which lies as `place` says; None leaves that to its making.

    `home` is where arrays of NumPy go then, and those on a mesh whose axes were made automatic.
    """
    if isinstance(leaf, np.ndarray | np.generic):
        return from_numpy(leaf, place or home)
    if not isinstance(leaf, jax.Array) or is_jax_tracer(leaf):
        return leaf
    return moved_to(leaf, place or (home if _has_explicit_axes(home) else leaf.sharding))


def moved_to(array: Any, place: Any) -> Any:
    """An array of JAX, or a tracer, where it is to lie.

    From one layout of a mesh to another by a program: `jax.device_put` may go by way of the host.
    """
    if is_jax_tracer(array):
        return jax.device_put(array, place)
    if array.sharding == place:
        return array
    with wide_types(True):
        if not (_is_on_mesh(array.sharding) and _is_on_mesh(place)) or not np.array_equal(
            array.sharding.mesh.devices, place.mesh.devices
        ):
            return jax.device_put(array, place)
        mesh = _with_automatic_axes(place.mesh)
        array = _under(mesh, array, array.sharding.spec)
        with jax.set_mesh(mesh):
            array = _laid_by_program(jax.sharding.NamedSharding(mesh, place.spec))(array)
        return _under(place.mesh, array, place.spec)


def _is_on_mesh(place: Any) -> bool:
    return isinstance(place, jax.sharding.NamedSharding) and place.mesh.size > 1


@cache
def _laid_by_program(place: Any) -> Callable[[Any], Any]:
    return jax.jit(lambda array: array, out_shardings=place)  # type: ignore[no-any-return]


def _with_automatic_axes(mesh: Any) -> Any:
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
    return jax.sharding.Mesh(mesh.devices, mesh.axis_names, kinds)


def _under(mesh: Any, array: Any, spec: Any) -> Any:
    """An array that lies on the devices of a mesh already, as one of that mesh."""
    parts = [shard.data for shard in array.addressable_shards]
    place = jax.sharding.NamedSharding(mesh, spec)
    return jax.make_array_from_single_device_arrays(array.shape, place, parts)


@contextmanager
def automatic_axes(leaves: Iterable[Any]) -> Iterator[Callable[[Any], Any]]:
    """While operations run one by one; gives what puts an array on the mesh that they run on.

    Of a mesh with explicit axes that is the same one with automatic axes, as not every operation
    says how its result is to lie on explicit ones.
    """
    meshes = [x.sharding.mesh for x in leaves if _is_on_explicit_axes(x)]
    if not meshes:
        yield lambda leaf: leaf
        return
    automatic = _with_automatic_axes(meshes[0])

    def there(leaf: Any) -> Any:
        return _under(automatic, leaf, leaf.sharding.spec) if _is_on_explicit_axes(leaf) else leaf

    with wide_types(True), jax.set_mesh(automatic):
        yield there


def _is_on_explicit_axes(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and _has_explicit_axes(leaf.sharding)


def _has_explicit_axes(sharding: Any) -> bool:
    mesh = getattr(sharding, "mesh", None)
    return mesh is not None and jax.sharding.AxisType.Explicit in mesh.axis_types
