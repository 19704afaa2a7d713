"""A function and arguments enter, its derivative by running on Tensors leaves.

This is how a transform works where no program of its own can: inside another trace (its ops become
part of that graph), on Tensors with history (they go on the tape), in functions that stay eager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from tracegrad.autograd import engine
from tracegrad.autograd.foreign import COPIED, Foreign, memory_of, own_or_watched, plain, seal
from tracegrad.autograd.tape import LEAF
from tracegrad.autograd.writes import arrays_of
from tracegrad.borrowed import Borrowed
from tracegrad.devices import as_held, bare
from tracegrad.dispatch import is_jax_array
from tracegrad.errors import ArgumentError, raise_told
from tracegrad.lost import Watch
from tracegrad.ops.creation import zeros_of
from tracegrad.ops.elementwise import alias
from tracegrad.returned import Transform, check_returned, check_wanted, gradients_in
from tracegrad.signature import Arguments
from tracegrad.state import STATE
from tracegrad.state import call as call_user
from tracegrad.tensor import Tensor, wrap
from tracegrad.tree import TreeSpec, flatten, leaf_paths, map_tree, unflatten
from tracegrad.world.answers import interpreted

_INEXACT = frozenset(map(np.dtype, "efdFD"))
_NUMERIC = _INEXACT | frozenset(map(np.dtype, "?bhilqBHILQ"))


def plain_leaf(leaf: Any) -> Any:
    """A Tensor leaf as its array."""
    return plain(leaf._array) if isinstance(leaf, Tensor) else leaf


def handed_out(result: Any, given: Sequence[Any]) -> Any:
    """A result with arrays for Tensors, which are the caller's: no two of them, and none of them
    and an argument, share memory."""
    taken = {id(memory_of(getattr(leaf, "_array", leaf))) for leaf in given}

    def owned(leaf: Any) -> Any:
        array = plain_leaf(leaf)
        if not isinstance(array, np.ndarray):
            return array
        if id(memory_of(array)) in taken:
            array = array.copy()
        taken.add(id(memory_of(array)))
        return array

    return map_tree(owned, result)


def boxed_leaf(leaf: Any) -> Any:
    """An array leaf as a Tensor."""
    return wrap(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf


def on_tensors(call: Callable[[Sequence[Any]], Any], values: Sequence[Any]) -> Any:
    """The function on arrays, which it has as Tensors."""
    borrowed = Borrowed()
    boxed = [borrowed.box(value, boxed_leaf) for value in values]
    before = STATE.update(standing=not _holds_tensors(values))
    try:
        result = call(boxed)
    finally:
        STATE.update(**before)
    borrowed.settle()
    return result


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

    borrowed = Borrowed()
    try:
        values = [borrowed.box(x, leaf if i in positions else _other) for i, x in enumerate(args)]
    except _Unusual:
        return NotImplemented
    specs = {p: None if type(args[p]) is np.ndarray else flatten(args[p])[1] for p in positions}
    before, STATE.standing = STATE.standing, True
    try:
        value = Watch(transform.kind).run(call_user, function, values, {})
    except ValueError as error:
        raise_told(error)
        raise
    finally:
        STATE.standing = before
    borrowed.settle()
    check_returned(value, transform, name)
    cts: list[Any] = [None] * len(inputs)
    if isinstance(value, Tensor) and value.requires_grad:
        cts = engine.gradients_of_leaves(value, inputs)
    rest = iter(
        [zeros_of(x._array) if ct is None else ct for ct, x in zip(cts, inputs, strict=True)]
    )
    trees = {p: _taken(specs[p], rest) for p in sorted(specs)}
    gradients = tuple([trees[p] for p in positions])
    gradient = gradients[0] if isinstance(transform.argnums, int) else gradients
    return handed_out(gradient if transform.kind == "grad" else (value, gradient), args)


def _taken(spec: TreeSpec | None, leaves: Iterator[Any]) -> Any:
    """The next of the leaves in a structure, None for a leaf."""
    if spec is None:
        return next(leaves)
    return unflatten(spec, islice(leaves, len(leaf_paths(spec))))


def _leaf_of(x: Any) -> Tensor:
    """An array or number by which is differentiated, as a leaf of the tape."""
    if type(x) is not np.ndarray:
        if not isinstance(x, np.generic | float | complex):
            raise _Unusual
        x = np.asarray(x)[()]
    if x.dtype not in _INEXACT:
        raise _Unusual
    tensor = wrap(x)
    tensor._node = LEAF
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
    create_graph: bool,
    name: str = "the function",
) -> Any:
    """Value and gradient by running the function on Tensors and walking their tape."""
    check_wanted(arguments, transform)
    count = len(arguments.values)
    positions = [p % count for p in transform.positions]
    inputs: list[Tensor] = []

    def leaf_tensor(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor | np.ndarray | np.generic | float | complex):
            return leaf  # that is carried along
        if isinstance(leaf, Tensor):
            tensor = alias(leaf) if leaf.requires_grad else wrap(leaf._array, leaf._traced)
        elif isinstance(leaf, np.ndarray | np.generic) or STATE.trace is not None:
            tensor = wrap(leaf)
        else:
            tensor = wrap(np.asarray(leaf)[()])
        if tensor._node is None:
            tensor._node = LEAF
        inputs.append(tensor)
        return tensor

    borrowed = Borrowed()
    values = [
        borrowed.box(value, leaf_tensor if i in positions else boxed_leaf)
        for i, value in enumerate(arguments.values)
    ]
    numbers = STATE.trace is not None or not _holds_tensors(arguments.values)
    before = STATE.update(grad_enabled=True, standing=STATE.standing or numbers)
    try:
        with _unrolled():
            returned = Watch(transform.kind, transform.has_aux).run(call, values)
        borrowed.settle()
        return pulled_back(returned, inputs, arguments, transform, create_graph, name)
    finally:
        STATE.update(**before)


@contextmanager
def _unrolled() -> Iterator[None]:
    """Loops are recorded turn by turn: the tape of what runs here is walked in the same trace."""
    loops = None if STATE.trace is None or STATE.trace.world is None else STATE.trace.world.loops
    if loops is None:
        yield
        return
    loops.suspended += 1
    try:
        yield
    finally:
        loops.suspended -= 1


def pulled_back(
    returned: Any,
    inputs: Sequence[Tensor],
    arguments: Arguments,
    transform: Transform,
    create_graph: bool,
    name: str,
) -> Any:
    """What a transform returns, from what its function returned for these `inputs`."""
    check_returned(returned, transform, name)
    main, aux = returned if transform.has_aux else (returned, None)
    if not isinstance(main, Tensor) or not main.requires_grad:
        cts: list[Any] = [None] * len(inputs)
    elif not create_graph and STATE.trace is None and all(t._node is LEAF for t in inputs):
        cts = engine.gradients_of_leaves(main, inputs)
    else:
        found = engine.gradients([main], [engine.cotangent_for(main, None)], inputs, create_graph)
        cts = [found.get(engine.key_of(t)) for t in inputs]
    filled = [ct if ct is not None else zeros_of(t) for ct, t in zip(cts, inputs, strict=True)]
    gradients = gradients_in(arguments, transform, filled)
    gradient = gradients[0] if isinstance(transform.argnums, int) else gradients
    if transform.kind == "grad":
        return (gradient, aux) if transform.has_aux else gradient
    return ((main, aux) if transform.has_aux else main), gradient


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a function and the map from cotangents of it to cotangents of its arguments.

    Returns
    -------
    (out, vjp_fn)
        ``vjp_fn(cotangent)`` takes the structure of ``out`` and returns a tuple with one cotangent
        an argument; it may be called any number of times.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, pull = tg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    tensors: list[Tensor] = []

    def boxed(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            tensor = alias(leaf) if leaf.requires_grad else wrap(leaf._array, leaf._traced)
        elif is_jax_array(leaf):
            tensor = wrap(as_held(leaf))
        else:
            array = np.asarray(leaf)
            number = not isinstance(leaf, np.ndarray) and not array.ndim
            tensor = wrap(array[()] if number else own_or_watched(array))
        if tensor.dtype.kind not in "fc":
            raise ArgumentError(
                f"vjp: a primal has dtype {tensor.dtype}: gradients need floating point"
            )
        if tensor._node is None:
            tensor._node = LEAF
        tensors.append(tensor)
        return tensor

    borrowed = Borrowed()
    specs = [flatten(primal)[1] for primal in primals]  # as they are before the function runs
    wants_tensors = STATE.trace is not None or any(
        isinstance(leaf, Tensor) for leaf in flatten(primals)[0]
    )
    numbers = STATE.standing or not wants_tensors
    before = STATE.update(grad_enabled=True, standing=numbers)
    try:
        with interpreted(), _unrolled():
            values = [borrowed.box(primal, boxed) for primal in primals]
            returned = Watch("vjp").run(call_user, f, values, {})
            outputs, spec = flatten(returned)  # before what stands in containers are arrays again
    except ValueError as error:
        raise_told(error)
        raise
    finally:
        STATE.update(**before)
    borrowed.settle()
    shown = outputs if wants_tensors else list(map(bare, _handed_over(outputs, tensors)))

    def pull(cotangent: Any) -> tuple[Any, ...]:
        given, given_spec = flatten(cotangent)
        if given_spec != spec:
            raise ArgumentError(f"vjp: the cotangent is {given_spec}, the value is {spec}")
        pairs = [
            (out, engine.cotangent_for(out, ct))
            for out, ct in zip(outputs, given, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        found = engine.gradients(
            [out for out, _ in pairs], [ct for _, ct in pairs], tensors, wants_tensors
        )
        cts = [found.get(engine.key_of(t)) for t in tensors]
        full = [zeros_of(box) if ct is None else ct for ct, box in zip(cts, tensors, strict=True)]
        rest = iter(full if wants_tensors else map(bare, full))
        return tuple([_taken(spec, rest) for spec in specs])

    return unflatten(spec, shown), pull


def _handed_over(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> list[Any]:
    """Results as arrays of the caller's own; what the tape keeps of the inputs is watched."""
    arrays = [plain_leaf(out) for out in outputs]
    sizes = [x.nbytes if type(x) is np.ndarray else 0 for x in arrays]
    large = [x for x in inputs if type(x._array) is Foreign]
    held: set[int] = set()  # ids of the memory of which others know
    if large or max(sizes, default=0) > COPIED:
        recorded = [out for out in outputs if isinstance(out, Tensor) and out.requires_grad]
        nodes = engine.gather(recorded)
        held = {id(memory_of(array)) for node in nodes for array in arrays_of(node)}
        for x in large:
            if id(memory_of(x._array)) in held:
                seal(x._array)
        held |= {id(memory_of(x._array)) for x in inputs}
    for i, size in enumerate(sizes):
        if isinstance(outputs[i], Tensor) and size:
            if size <= COPIED or id(memory_of(arrays[i])) in held:
                arrays[i] = arrays[i].copy(order="K")
            else:
                held.add(id(memory_of(arrays[i])))
    return arrays
