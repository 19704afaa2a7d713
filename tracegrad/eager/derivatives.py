"""Derivatives of a function by running it on Tensors, where no program of its own is compiled.

This is how a transform works where no program of its own can: inside another trace (its ops become
part of that graph), on Tensors with history (they go on the tape), in functions that stay eager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from tracegrad.arguments.argument_changes import Borrowed
from tracegrad.arguments.signature import Arguments, names_of
from tracegrad.autograd import engine
from tracegrad.autograd.tape_tangents import jacobian, products, pushed_forward, tangent_like
from tracegrad.compiled.tape_node import keep_numbers
from tracegrad.compiled.traced_run import Run
from tracegrad.eager.within_traces import entered, warn_of_lost_history
from tracegrad.errors import TraceError, raise_told
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.array_manners import is_memory
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tape.foreign_arrays import memory_of
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.tape import FREED, LEAF, next_stamp
from tracegrad.tensors.devices import DeviceArray, bare
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.outputs import (
    Transform,
    arranged,
    check_returned,
    check_wanted,
    tangent_leaves,
    vectors_in,
)
from tracegrad.user_code.caught_refusals import raise_caught
from tracegrad.user_code.lost_gradients import Watch
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer, is_numeric
from tracegrad.values.pytree import TreeSpec, flatten, leaf_paths, map_tree, unflatten

_INEXACT = frozenset(map(np.dtype, "efdFD"))
_NUMERIC = _INEXACT | frozenset(map(np.dtype, "?bhilqBHILQ"))


def plain_leaf(leaf: Any) -> Any:
    """A Tensor leaf as its array, one of JAX where it is on a device."""
    return bare(leaf) if isinstance(leaf, Tensor | DeviceArray) else leaf


def handed_out(result: Any, given: Sequence[Any], records: bool = False) -> Any:
    """A result with arrays for Tensors, which are the caller's: no two of them, and none of them
    and an argument, share memory.

    Where no argument is an array of JAX, none is handed out, as by a program. Where the call
    `records`, Tensors with a history stay.
    """
    arrays = [array for array in map(plain_leaf, given) if isinstance(array, np.ndarray)]
    taken = set(map(id, map(memory_of, arrays)))
    of_jax = any([isinstance(leaf, Tensor) or is_jax_array(leaf) for leaf in given])
    recorded = list(filter(_has_history, flatten(result)[0])) if records else []
    nodes = [node for node in engine.left_behind(recorded) if node.more is not FREED]
    keep_numbers(nodes, arrays)

    def owned(leaf: Any) -> Any:
        if any(leaf is tensor for tensor in recorded):
            return leaf
        array = plain_leaf(leaf)
        if not isinstance(array, np.ndarray):
            if _iterates(array) and not any(array is leaf for leaf in given):
                raise TraceError(
                    "the function returns an iterator, whose values are not computed when the "
                    "call ends: return list(...) of it"
                )
            return array if of_jax else in_numpy(array)
        if id(memory_of(array)) in taken:
            array = array.copy(order="K")
        taken.add(id(memory_of(array)))
        return array

    return map_tree(owned, result)


def _iterates(x: Any) -> bool:
    """Whether an object is an iterator that Python, or the tracer, makes."""
    kind = type(x)
    own = kind.__module__.partition(".")[0] in ("builtins", "itertools", "tracegrad")
    return own and hasattr(kind, "__next__")


def arrays_for_arrays(result: Any) -> Any:
    """What a plain function made of NumPy's arrays alone: such for Tensors without history."""

    def has_none(leaf: Any) -> bool:
        return leaf._node is None if isinstance(leaf, Tensor) else is_jax_array(leaf)

    if not any(map(has_none, flatten(result)[0])):
        return result  # the very containers, which may be the caller's
    return map_tree(lambda leaf: in_numpy(bare(leaf)) if has_none(leaf) else leaf, result)


def in_numpy(leaf: Any) -> Any:
    """An array of JAX as one of NumPy's, or a number of its; anything else as it is."""
    if not is_jax_array(leaf) or is_jax_tracer(leaf) or not is_numeric(leaf.dtype):
        return leaf
    return np.array(leaf)[()]


def as_arrays(result: Any) -> Any:
    """A result of a compiled function as what a transform of arrays gives; warns of histories."""
    if not any(map(_has_history, flatten(result)[0])):
        return result
    warn_of_lost_history("a function reads a Tensor")
    return map_tree(plain_leaf, result)


def boxed_leaf(leaf: Any) -> Any:
    """An array leaf as a Tensor."""
    held = isinstance(leaf, np.ndarray | np.generic) or is_jax_array(leaf)
    return entered(leaf) if held else leaf


def on_tensors(call: Callable[[Sequence[Any]], Any], arguments: Arguments, records: bool) -> Any:
    """The function on arrays, which it has as Tensors; `records` tells that histories stay."""
    values, borrowed = arguments.values, Borrowed(arguments.named)
    boxed = [borrowed.box(value, boxed_leaf) for value in values]
    before = STATE.update(standing=not _holds_tensors(values))
    try:
        result = raise_caught(call, boxed)
    except BaseException:
        borrowed.settle_raised()
        raise
    finally:
        STATE.update(**before)
    borrowed.settle_eager()
    if records and not _holds_tensors(values) and STATE.machine is not None:
        result = _without_derivatives_within(result, STATE.machine.world)
    if (
        not records
        and STATE.grad_enabled
        and not _holds_tensors(values)
        and any(map(_has_history, flatten(result)[0]))
    ):
        warn_of_lost_history("a function reads a Tensor")
    return result


def _without_derivatives_within(result: Any, world: Any) -> Any:
    """What a function returns, without the histories of derivatives that it has taken itself."""

    def ends(leaf: Any) -> bool:
        return _has_history(leaf) and not world.goes_outside(leaf)

    if not any(map(ends, flatten(result)[0])):
        return result  # with the very containers
    return map_tree(lambda leaf: wrap(leaf._array) if ends(leaf) else leaf, result)


def _has_history(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf._node is not None


def tell_of_lost_history(returned: Any, watch: Watch) -> None:
    """As `warn_of_lost_history`, where what a function returned depends on Tensors from outside."""
    if any(map(watch.is_outside, _leaves_of(returned))):
        warn_of_lost_history("a function reads a Tensor")


def tell_of_lost_history_of_run(run: Run) -> None:
    """The same, of a call that was traced."""
    captured = {id(x) for x, _ in run.trace.captured.values()}
    leaves = _leaves_of(run.returned) if STATE.grad_enabled else []
    if not captured.isdisjoint(map(id, leaves)):
        warn_of_lost_history("a function reads a Tensor")


def _leaves_of(returned: Any) -> list[Tensor]:
    """The leaves that require grad on which what a function returned depends."""
    roots = [x for x in flatten(returned)[0] if isinstance(x, Tensor) and x.requires_grad]
    return engine.leaves_of(engine.left_behind(roots), roots)


def _holds_tensors(values: Any) -> bool:
    """Whether the caller's arrays are Tensors."""
    return any(isinstance(leaf, Tensor) for leaf in flatten(values)[0])


class _Unusual(Exception):
    """An argument that is to be bound and checked: see `derivative_of_arrays`."""


def derivative_of_arrays(
    function: Callable[..., Any], args: Sequence[Any], transform: Transform, name: str
) -> Any:
    """`derivative_on_tensors` of positional arrays and numbers, as plain arrays, in few steps.

    `NotImplemented` for what needs more: defaults, arguments to refuse, modes, auxiliary results.
    """
    positions = transform.positions
    if STATE.special or transform.has_aux or not all([0 <= p < len(args) for p in positions]):
        return NotImplemented
    inputs: list[Tensor] = []

    def leaf(x: Any) -> Tensor:
        inputs.append(_leaf_of(x))
        return inputs[-1]

    borrowed = Borrowed(lambda: zip(names_of(function), args, strict=False), apart=True)
    try:
        values = [borrowed.box(x, leaf if i in positions else _other) for i, x in enumerate(args)]
    except _Unusual:
        return NotImplemented
    specs = {p: None if type(args[p]) is np.ndarray else flatten(args[p])[1] for p in positions}
    before, STATE.standing = STATE.standing, True
    try:
        value = Watch(transform.kind).run(call_user, function, values, {})
    except BaseException as error:
        borrowed.settle_raised()
        raise_told(error)
        raise
    finally:
        STATE.standing = before
    borrowed.settle_eager()
    check_returned(value, transform, name)
    cts: list[Any] = [None] * len(inputs)
    if isinstance(value, Tensor) and value.requires_grad:
        cts = engine.gradients_of_leaves(value, inputs)
    rest = iter(
        [zeros_of(x._array) if ct is None else ct for ct, x in zip(cts, inputs, strict=True)]
    )
    trees = {p: taken(specs[p], rest) for p in sorted(specs)}
    gradients = tuple([trees[p] for p in positions])
    gradient = gradients[0] if isinstance(transform.argnums, int) else gradients
    return handed_out(gradient if transform.kind == "grad" else (value, gradient), args)


def taken(spec: TreeSpec | None, leaves: Iterator[Any]) -> Any:
    """The next of the leaves in a structure, None for a leaf."""
    if spec is None:
        return next(leaves)
    return unflatten(spec, islice(leaves, len(leaf_paths(spec))))


def _leaf_of(x: Any) -> Tensor:
    """An array or number that is differentiated, as a leaf of the tape."""
    if type(x) not in (float, complex):  # which compute as Python does
        if type(x) is not np.ndarray:
            if not isinstance(x, np.generic | float | complex):
                raise _Unusual
            x = np.asarray(x)[()]
        if x.dtype not in _INEXACT:
            raise _Unusual
    tensor = wrap(x)
    start_history(tensor)
    return tensor


def _other(x: Any) -> Any:
    """Any other argument as the function gets it."""
    if type(x) is np.ndarray or isinstance(x, np.generic):
        if x.dtype not in _NUMERIC:
            raise _Unusual
        return wrap(x)
    if not isinstance(x, int | float | complex | str | None):
        raise _Unusual
    return x


def derivative_on_tensors(
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    transform: Transform,
    create_graph: bool | None,
    name: str = "the function",
) -> Any:
    """Value and gradient by running the function on Tensors and walking their tape.

    What is returned has a history with `create_graph`, and without a word of it where the function
    has read a Tensor from outside that requires grad.
    """
    wanted = check_wanted(arguments, transform)
    count = len(arguments.values)
    positions = [p % count for p in transform.positions]
    made: list[Tensor] = []
    since = next_stamp()

    def leaf_tensor(leaf: Any) -> Any:
        number = isinstance(leaf, float | complex)  # Python's own computes as Python does
        if not (number or isinstance(leaf, Tensor | np.ndarray | np.generic) or is_jax_array(leaf)):
            return leaf  # that is carried along
        plain = STATE.trace is not None or not number or type(leaf) in (float, complex)
        tensor = entered(leaf if plain else np.asarray(leaf)[()])
        if tensor._node is None:
            start_history(tensor)
        made.append(tensor)
        return tensor

    borrowed = Borrowed(arguments.named, apart=True)
    values, of = [], {}
    for i, value in enumerate(arguments.values):
        values.append(borrowed.box(value, leaf_tensor if i in positions else boxed_leaf))
        of[i], made = made, []
    inputs = [tensor for p in positions for tensor in of[p]]
    tensors = _holds_tensors(arguments.values)
    numbers = STATE.trace is not None or not tensors
    watch = Watch(transform.kind, transform.has_aux)
    before = STATE.update(grad_enabled=True, standing=STATE.standing or numbers)
    records = before["grad_enabled"]

    def to_caller(tree: Any) -> Any:
        return with_own_histories(tree, inputs, since, records)

    try:
        try:
            with unrolled(TAKEN_WITHIN):
                returned = watch.run(call, values, leaves=inputs)
        except BaseException:
            borrowed.settle_raised()
            raise
        borrowed.settle_eager(to_caller if tensors or STATE.trace is not None else bare)
        tangents: list[Any] = []
        if transform.takes_tangents:
            leaves = tangent_leaves(arguments, wanted)
            tangents = [tangent_like(leaf.value, x) for leaf, x in zip(leaves, inputs, strict=True)]
        with_graph = create_graph
        if with_graph is None:
            with_graph = reaches_others(returned, inputs)
        with_graph = bool(with_graph) and records
        if records and create_graph is False:
            tell_of_lost_history(returned, watch)
        found = derived(returned, inputs, tangents, arguments, transform, with_graph, name)
    finally:
        STATE.update(**before)
    return found if create_graph is False else to_caller(found)


def reaches_others(returned: Any, inputs: Sequence[Tensor]) -> bool:
    """Whether what a function returned depends on other Tensors that require grad."""
    known = set(map(id, inputs))
    return any(id(leaf) not in known for leaf in _leaves_of(returned))


def with_own_histories(result: Any, inputs: Sequence[Tensor], since: int, records: bool) -> Any:
    """What a transform returns, of which each Tensor has the history that it has for the caller.

    That is one where it depends on other Tensors that require grad than the `inputs`, which are the
    transform's own, and where the caller `records`. What is older than `since` stays what it is.
    """
    roots = list(filter(_has_history, flatten(result)[0]))
    if not roots:
        return result
    own = set(map(id, inputs))
    reaching: set[Any] = set()
    for node in engine.left_behind(roots) if records else ():
        for parent in node.parents:
            other = type(parent) is Tensor and id(parent) not in own
            if other or engine.node_of(parent) in reaching:
                reaching.add(node)
                break

    def leaf(x: Any) -> Any:
        if not _has_history(x):
            return x
        node = engine.node_of(x._node)
        stays = id(x) not in own if node is None else node in reaching or node.stamp < since
        return x if stays else _without_history(x, records)

    return map_tree(leaf, result)


def _without_history(x: Tensor, records: bool) -> Tensor:
    """A Tensor whose history ends with it.

    A trace derives its values further all the same, where the caller `records`; a NumPy scalar has
    no memory to share.
    """
    if x._is_traced and records:
        shared = alias(x)
        shared._node = None
        return shared
    return x.detach() if x._is_traced or is_memory(x) else wrap(x._array)


TAKEN_WITHIN = (
    "because the function takes a derivative of it. Derive the plain function instead, as "
    "tg.hessian(f), tg.hvp(f, ...) and tg.jacfwd(tg.grad(f)) do: there loops stay loops"
)


@contextmanager
def unrolled(remedy: str, patience: int | None = None) -> Iterator[None]:
    """Loops are recorded turn by turn: what runs here is gone through again in the same trace.

    `remedy` says why, and what keeps them loops. After so many turns as there is `patience`, if
    there is an end to it, `ManyTurns` is raised.
    """
    loops = None if STATE.trace is None or STATE.trace.world is None else STATE.trace.world.loops
    if loops is None:
        yield
        return
    loops.suspended.append(remedy)
    before = loops.patience
    loops.patience = patience if before is None else before
    try:
        yield
    finally:
        loops.suspended.pop()
        loops.patience = before


def derived_of_run(run: Run, arguments: Arguments, transform: Transform, name: str) -> Any:
    """What a transform returns for a call that was traced, by the tape of that run."""
    tell_of_lost_history_of_run(run)
    if not transform.differentiates:
        return run.returned
    wanted = check_wanted(arguments, transform)
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    of = {id(leaf): tensor for leaf, tensor in zip(traced, run.tensors, strict=True)}
    inputs = [of[id(leaf)] for leaf in wanted]
    tangents: list[Any] = []
    if transform.takes_tangents:
        leaves = tangent_leaves(arguments, wanted)
        given = zip(leaves, inputs, strict=True)
        tangents = [tangent_like(of[id(leaf)], x) for leaf, x in given]
    return derived(run.returned, inputs, tangents, arguments, transform, False, name)


def derived(
    returned: Any,
    inputs: Sequence[Tensor],
    tangents: Sequence[Any],
    arguments: Arguments,
    transform: Transform,
    create_graph: bool,
    name: str,
) -> Any:
    """What a transform returns, from what its function returned for these `inputs`."""
    check_returned(returned, transform, name)
    main, aux = returned if transform.has_aux else (returned, None)
    outputs, spec = flatten(main)
    record = create_graph or STATE.trace is not None
    if transform.is_matrix:
        tensors = [out if isinstance(out, Tensor) else wrap(out) for out in outputs]
        mode = "forward" if transform.of_number else transform.mode
        parts = jacobian(tensors, inputs, mode, transform.of_number, record)
    elif transform.takes_vectors:
        tensors = [out if isinstance(out, Tensor) else wrap(out) for out in outputs]
        vectors = [leaf.value for leaf in vectors_in(arguments)]
        parts = products(tensors, inputs, vectors, transform.mode, transform.of_number, record)
    elif transform.of_number:
        parts = _gradients(main, inputs, record or transform.takes_tangents)
    else:
        parts = [out if isinstance(out, Tensor) else wrap(out) for out in outputs]
    if transform.takes_tangents:
        parts = pushed_forward(parts, inputs, tangents, record)
    found = arranged(transform, arguments, spec, parts)
    if transform.kind == "value_and_grad":
        return returned, found
    pieces = [main] if transform.gives_value else []
    pieces += [found, aux] if transform.has_aux else [found]
    return pieces[0] if len(pieces) == 1 else tuple(pieces)


def _gradients(main: Any, inputs: Sequence[Tensor], record: bool) -> list[Any]:
    """The gradients of a number; zeros where it does not depend."""
    if not isinstance(main, Tensor) or not main.requires_grad:
        cts: list[Any] = [None] * len(inputs)
    elif not record and all(t._node is LEAF for t in inputs):
        cts = engine.gradients_of_leaves(main, inputs)
    else:
        found = engine.gradients([main], [engine.cotangent_for(main, None)], inputs, record)
        cts = [found.get(engine.key_of(t)) for t in inputs]
    return [ct if ct is not None else zeros_of(t) for ct, t in zip(cts, inputs, strict=True)]
