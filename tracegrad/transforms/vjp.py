"""`vjp`: the value of a function and the map from cotangents back to its arguments.

The forward is a compiled program that returns besides what the way back reads (`tape_node`), the
way back another one. Where no program stands for the call the function runs on Tensors, and its
tape is the way back: inside a trace, on Tensors with history, of what draws or calls the user's
own Python, and of a function that closes over other objects at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from codegen.emit.formatting import formatted
from tracegrad import config
from tracegrad.arguments.argument_changes import Borrowed
from tracegrad.arguments.signature import Arguments, name_of, names_of
from tracegrad.autograd import engine
from tracegrad.autograd.rule_outcomes import Interrupted, kept
from tracegrad.compiled.guarded_entry import MISS
from tracegrad.compiled.handed_out import without_trace
from tracegrad.compiled.tape_node import (
    NotRecorded,
    Quick,
    Recorded,
    Unrecorded,
    call_recorded,
    settle,
)
from tracegrad.compiled.traced_run import not_executed
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import CHOSEN, Mode
from tracegrad.eager.derivatives import (
    TAKEN_WITHIN,
    plain_leaf,
    reaches_others,
    taken,
    tell_of_lost_history,
    tell_of_lost_history_of_run,
    unrolled,
    with_own_histories,
)
from tracegrad.eager.within_traces import entered, left
from tracegrad.errors import RAISED_BY_NUMPY, ArgumentError, raise_told
from tracegrad.ops.elementwise.arrays_and_scalars import copy_as_it_lies
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tape.foreign_arrays import (
    COPIED,
    Foreign,
    digest,
    memory_of,
    own_or_watched,
    seal,
)
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.tape import LEAF, WRITES, Output, next_stamp
from tracegrad.tape.write_checks import arrays_of, damaged
from tracegrad.tensors.devices import as_held, bare
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.outputs import may_be_carried
from tracegrad.tracing.restarts import MetTracer
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.vector_products import kept_if_alike, known, transform_of
from tracegrad.user_code.closures import reads_history
from tracegrad.user_code.lost_gradients import Watch
from tracegrad.values.dispatch import FLOATING, is_jax_array, is_jax_tracer
from tracegrad.values.pytree import (
    TreeSpec,
    flatten,
    leaf_paths,
    map_tree,
    unflatten,
)
from tracegrad.values.structure_words import in_words
from tracegrad.world.untraced_world import interpreted


def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, backend: str | None = None
) -> Any:
    """The value of a function and the map from cotangents of it to cotangents of its arguments.

    Forward and backward are compiled, and found again at the next call for the same function; what
    the backward reads of the forward is kept between the two.

    Parameters
    ----------
    f : callable
        Plain Python over arrays, which may return any pytree of arrays.
    primals
        The arguments: arrays, floats or pytrees of them. What is written to them later does not
        matter, or is told by name where a large one is read again.
    has_aux : bool
        The function returns ``(value, aux)``; ``(out, vjp_fn, aux)`` is returned.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.

    Returns
    -------
    (out, vjp_fn)
        ``vjp_fn(cotangent)`` takes the structure of ``out`` and returns a tuple with one cotangent
        an argument; it may be called any number of times. ``vjp_fn.source()`` is the source of
        both, where they were compiled.

    Raises
    ------
    tg.errors.ArgumentError
        A primal is not floating point, or a cotangent is not like the result.
    tg.errors.LostGradientError
        A Python number that was read of an argument comes back in the result.
    tg.errors.GradientError
        A large argument was written to before ``vjp_fn`` read it again.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> out, pull = tg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    leaves = flatten(primals)[0]
    mode = CHOSEN[known(backend)]
    plain, on_jax = _plain(f, leaves, mode), _is_on_jax(leaves, mode)
    with kept():
        tried = _by_program(f, primals, leaves, has_aux, backend) if plain else None
        done = tried or _on_tensors(f, primals, leaves, has_aux, on_jax)
    return (done.value, done.pull, done.aux) if has_aux else (done.value, done.pull)


def _is_on_jax(leaves: Sequence[Any], mode: Mode) -> bool:
    """Whether the call runs on devices of JAX's, of which a tracer has none."""
    if any(map(is_jax_tracer, leaves)):
        return False
    return mode.target == "jax" or any(map(is_jax_array, leaves))


def _carried(primals: tuple[Any, ...]) -> tuple[bool, ...]:
    """Which leaves of arguments are settings, as `tracegrad.grad` has None for."""
    found: list[bool] = []
    for primal in primals:
        leaves, spec = flatten(primal)
        found += [
            not (hasattr(x, "dtype") or isinstance(x, float | complex)) and may_be_carried(path, x)
            for x, path in zip(leaves, leaf_paths(spec), strict=True)
        ]
    return tuple(found)


def vjp_on_tape(f: Callable[..., Any], *primals: Any) -> tuple[Any, Pullback]:
    """As `vjp`, for a function that is called once: it runs on Tensors."""
    done = _on_tensors(f, primals, flatten(primals)[0], False, False)
    return done.value, done.pull


@dataclass(frozen=True)
class Pullback:
    """From cotangents of a value to cotangents of the arguments that it was made of."""

    outputs: tuple[Any, ...]  # the leaves of the value, as the tape has them
    spec: TreeSpec
    inputs: tuple[Tensor, ...]
    specs: tuple[TreeSpec, ...]  # of the arguments
    carried: tuple[bool, ...]  # which leaves of the arguments are settings: None for them
    gives_tensors: bool
    shown: Callable[[Any], Any]  # makes of a Tensor what the caller gets
    program: Recorded | None = None
    records: bool = True  # whether the caller recorded when the value was made

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """One cotangent an argument."""
        if STATE.watch is not None and not self.gives_tensors:
            STATE.watch.made(self.inputs)  # they are nobody's
        given, given_spec = flatten(cotangent)
        if given_spec != self.spec:
            raise ArgumentError(
                f"vjp: the cotangent is {in_words(given_spec)}, the value is {in_words(self.spec)}"
            )
        pairs = [
            (out, engine.cotangent_for(out, ct))
            for out, ct in zip(self.outputs, given, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        tensors = self.gives_tensors or any(isinstance(ct, Tensor) for ct in given)
        since = next_stamp()
        if self.program is None or tensors or STATE.trace is not None or STATE.special:
            outs, cts = [out for out, _ in pairs], [ct for _, ct in pairs]
            recorded = tensors and (self._has_history(outs, cts) or STATE.trace is not None)
            found = engine.gradients(outs, cts, self.inputs, recorded)
            made = [found.get(engine.key_of(t)) for t in self.inputs]
        else:
            made = pulled_back(pairs, self.inputs)
        full = [zeros_of(x) if ct is None else ct for ct, x in zip(made, self.inputs, strict=True)]
        if tensors:
            full = [x if isinstance(x, Tensor) else wrap(x) for x in full]
            records = STATE.grad_enabled and (self.records or STATE.trace is None)
            full = with_own_histories(full, self.inputs, since, records)
        values = iter(full if tensors else map(self.shown, full))
        rest = iter([None if carried else next(values) for carried in self.carried])
        cotangents = tuple([taken(spec, rest) for spec in self.specs])
        return left(cotangents, [*(self.inputs if self.gives_tensors else ()), *given])

    def _has_history(self, outs: Sequence[Tensor], cts: Sequence[Any]) -> bool:
        """Whether the cotangents of the arguments depend on what requires grad for the caller."""
        if not STATE.grad_enabled:
            return False
        given = any(isinstance(ct, Tensor) and ct.requires_grad for ct in cts)
        if given and not self.records and STATE.trace is not None:
            STATE.trace.world.ends_run("derives a pull of tg.vjp that was made under no_grad")
        return given or reaches_others(outs, self.inputs)

    def source(self, part: str = "all") -> str:
        """The source of the forward, which keeps what the backward reads, and of the backward.

        part
            ``"all"``, ``"forward"`` or ``"backward"``.
        """
        if part not in ("all", "forward", "backward"):
            raise ArgumentError(f'part={part!r}: must be "all", "forward" or "backward"')
        if self.program is None:
            raise ArgumentError("vjp: this call ran on a tape, there is no program to show")
        forward, *backwards = self.program.sources
        shown = {"all": [forward, *backwards], "forward": [forward], "backward": backwards}[part]
        return "\n\n".join(map(formatted, shown))


@dataclass(frozen=True)
class _Done:
    """What `vjp` returns."""

    value: Any
    pull: Pullback
    aux: Any


# -- by programs ----------------------------------------------------------------------------------


def _plain(f: Callable[..., Any], leaves: Sequence[Any], mode: Mode) -> bool:
    """Whether a call may be answered by a program: from arrays to arrays, outside of all else."""
    if STATE.trace is not None or STATE.machine is not None or STATE.aside or STATE.special:
        return False
    if not config.compile or not_executed(f) or reads_history(f):
        return False
    if any(isinstance(x, Tensor) or is_jax_tracer(x) for x in leaves):
        return False
    return mode.target == "jax" or not any(map(is_jax_array, leaves))


def _by_program(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    leaves: Sequence[Any],
    has_aux: bool,
    backend: str | None,
) -> _Done | None:
    """The call by a compiled forward; None where there is none for it."""
    compiled = kept_if_alike(f, transform_of("vjp", len(primals), bool(has_aux)), backend)
    if compiled is None or compiled._stays_eager:
        return None
    mode = CHOSEN[backend]
    place = _OnJax(leaves) if mode.target == "jax" else _OnProcessor()
    args, held = place.arguments(primals), list(map(place.held, leaves))
    for quick in compiled._quick.get(mode, ()):
        try:
            returned = quick(args, held)
        except Interrupted:
            continue
        except RAISED_BY_NUMPY:
            if quick.version.opaque:  # else it is `Interrupted`
                raise
            continue  # the function may catch it
        if returned is not MISS:
            quick.version.hits += 1
            return _done(returned, _recorded(quick.made), held, primals, has_aux, place)
    arguments, plain = place.bound(compiled, args)
    if compiled._is_beside_fields(arguments):
        return None
    defaults = [leaf.value for leaf in arguments.leaves[len(held) :] if leaf.traced]
    pairs = zip(arguments.leaves, held, strict=False)
    inputs = [*[x for leaf, x in pairs if leaf.traced], *defaults]
    used: list[Recorded | Unrecorded] = []

    def call(version: Version) -> Any:
        if version.reads_leaves:  # it stores an argument: that is the caller's own
            raise NotRecorded
        result = call_recorded(version, arguments, inputs, used)
        compiled._remember(Quick(used[0], arguments, len(primals)))
        return result

    try:
        found = compiled._answer(arguments, mode, None, call, plain)
    except (NotRecorded, MetTracer):
        return None
    if found.version is not None:
        return _done(found.result, _recorded(used[0]), held, primals, has_aux, place)
    if found.run is None:
        return None
    tell_of_lost_history_of_run(found.run)
    settle(found.run, [x for x in flatten(args)[0] if isinstance(x, np.ndarray)])
    returned = map_tree(_same, found.run.returned)
    found.run.world.settle()  # while it knows what is of the trace
    returned = map_tree(partial(without_trace, found.run), returned)
    found.run.borrowed.settle()
    asked = [x for x in found.run.tensors if x._node is LEAF]
    for x in asked:  # the caller may write to its arrays before the pull
        x._array = copy_as_it_lies(x._array) if isinstance(x._array, np.ndarray) else x._array
    return _done(returned, None, asked, primals, has_aux, place)


def _recorded(made: Recorded | Unrecorded) -> Recorded | None:
    return made if isinstance(made, Recorded) else None


def _done(
    returned: Any,
    program: Recorded | None,
    held: Sequence[Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    place: _OnProcessor,
) -> _Done:
    """What `vjp` returns, from what the function returned in Tensors."""
    main, aux = returned if has_aux else (returned, None)
    outputs, spec = flatten(main)
    inputs = tuple([x for x in held if isinstance(x, Tensor)])
    specs = tuple([flatten(primal)[1] for primal in primals])
    if program is not None:
        _seal_what_is_read(outputs)
    else:
        main, aux = _handed_over((main, aux), inputs)
    carried = _carried(primals)
    pull = Pullback(tuple(outputs), spec, inputs, specs, carried, False, place.shown, program)
    return _Done(map_tree(place.shown, main), pull, map_tree(place.shown, aux))


def _seal_what_is_read(outputs: Sequence[Any]) -> None:
    """From now on the large arguments that the way back reads are to stay as they are."""
    made = (engine.node_of(x._node) for x in outputs if isinstance(x, Tensor))
    node = next((n for n in made if n is not None), None)
    if node is not None:
        for i in node.attributes["function"].needed:
            if type(node.values[i]) is Foreign:
                seal(node.values[i])


class _OnProcessor:
    """Where a program of NumPy's has its arguments, and how the caller gets what it makes."""

    def arguments(self, primals: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the program takes them."""
        return primals

    def held(self, leaf: Any) -> Any:
        """An argument as a leaf of the tape: it is not the caller's, or is watched."""
        return held_leaf(leaf) if isinstance(leaf, _NUMBERS) else leaf

    def shown(self, leaf: Any) -> Any:
        """What the caller gets of a Tensor."""
        return bare(leaf)

    def bound(self, compiled: Compiled, args: Sequence[Any]) -> tuple[Arguments, Any]:
        """The arguments, bound, and what gives those of a trace, where they are others."""
        return compiled._bind(args, {}), None


_NUMBERS = (np.ndarray, np.generic, float, complex)


class _OnJax(_OnProcessor):
    """As `_OnProcessor`, of programs for JAX: arrays of JAX come out where some went in."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        from tracegrad.backends import jax  # JAX is imported when it is asked for

        self.jax = jax
        self.brings_back = not any(map(is_jax_array, leaves))
        self.device = jax.device_of(leaves)

    def arguments(self, primals: tuple[Any, ...]) -> tuple[Any, ...]:
        given: tuple[Any, ...] = map_tree(self.jax.from_numpy, primals)
        return given

    def held(self, leaf: Any) -> Any:
        if isinstance(leaf, float | complex) and not isinstance(leaf, np.generic):
            return held_leaf(leaf)  # a number of Python is one in the program
        if not is_jax_array(leaf) and not isinstance(leaf, _NUMBERS):
            return leaf
        tensor = wrap(as_held(self.jax.from_numpy(leaf)))
        start_history(tensor)
        return tensor

    def shown(self, leaf: Any) -> Any:
        array = bare(leaf)
        if self.brings_back:
            return np.array(array)[()] if is_jax_array(array) else array
        return self.jax.from_numpy(array, self.device)

    def bound(self, compiled: Compiled, args: Sequence[Any]) -> tuple[Arguments, Any]:
        plain = partial(compiled._bind, map_tree(self.jax.to_numpy, args), {})
        return self.jax.described(compiled._bind(args, {})), plain


def held_leaf(x: Any) -> Tensor:
    """An array or a number as a leaf of the tape: a copy, or watched."""
    array: Any = x
    if type(x) not in (float, complex):  # Python's own computes as Python does
        array = np.asarray(x)
        number = not isinstance(x, np.ndarray) and not array.ndim
        array = array[()] if number else own_or_watched(array)
    tensor = wrap(array)
    start_history(tensor)
    return tensor


def pulled_back(pairs: Sequence[tuple[Tensor, Any]], inputs: Sequence[Tensor]) -> list[Any]:
    """The gradients of one compiled call in its arguments, as arrays, without a walk."""
    if not pairs:
        return [None] * len(inputs)
    node = engine.node_of(pairs[0][0]._node)
    if node is None:
        return [None] * len(inputs)
    if node.stamp < WRITES.last:
        damaged((node,))
    cts: list[Any] = [None] * (len(node.result) if type(node.result) is tuple else 1)
    for out, ct in pairs:
        k = out._node.index if type(out._node) is Output else 0
        cts[k] = ct if cts[k] is None else cts[k] + ct
    given = tuple(cts) if len(cts) > 1 else cts[0]
    found = node.attributes["function"].vjp(given, node.result, *node.values)
    of = dict(zip(map(id, node.parents), found, strict=True))
    return [of.get(id(x)) for x in inputs]


# -- by a tape ------------------------------------------------------------------------------------


def _on_tensors(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    leaves: Sequence[Any],
    has_aux: bool,
    on_jax: bool,
) -> _Done:
    """The call by running the function on Tensors, whose tape is the way back."""
    tensors: list[Tensor] = []
    carried = _carried(primals)
    setting = iter(carried)
    traced = STATE.trace is not None or any(isinstance(x, Tensor) for x in leaves)
    place = _OnJax(leaves) if on_jax and not traced else _OnProcessor()
    arrays = [x for x in leaves if isinstance(x, np.ndarray) and not traced]
    contents = list(map(digest, arrays))

    def boxed(leaf: Any) -> Any:
        if next(setting):
            return leaf
        if isinstance(leaf, Tensor) or (STATE.trace is not None and type(leaf) is np.ndarray):
            tensor = entered(leaf)
        elif is_jax_array(leaf):
            tensor = wrap(as_held(leaf))
        else:
            tensor = place.held(leaf)
        dtype = getattr(tensor, "dtype", None)
        if dtype is None or dtype.kind not in FLOATING:
            what = (
                f"is {leaf!r} of type {type(leaf).__name__}"
                if dtype is None
                else f"has dtype {dtype}"
            )
            raise ArgumentError(f"vjp: a primal {what}: gradients need floating point")
        if tensor._node is None:
            start_history(tensor)
        tensors.append(tensor)
        return tensor

    borrowed = Borrowed(lambda: zip(names_of(f), primals, strict=False), apart=True)
    since = next_stamp()
    specs = tuple([flatten(primal)[1] for primal in primals])  # as before the function runs
    wants_tensors = STATE.trace is not None or any(isinstance(leaf, Tensor) for leaf in leaves)
    numbers = STATE.standing or not wants_tensors
    runs = STATE.machine is not None or STATE.watch is not None
    within = runs and not wants_tensors  # of a function with a tape of its own
    watch = Watch("vjp", has_aux)
    before = STATE.update(grad_enabled=True, standing=numbers)
    try:
        with interpreted(), unrolled(TAKEN_WITHIN):
            values = [borrowed.box(primal, boxed) for primal in primals]
            returned = watch.run(call_user, f, values, {}, leaves=tensors)
            STATE.machine.world.differentiates_by(tensors)
            if has_aux and (not isinstance(returned, tuple) or len(returned) != 2):
                raise ArgumentError(f"{name_of(f)} must return (value, aux) with has_aux=True")
            main, aux = returned if has_aux else (returned, None)
            outputs, spec = flatten(main)  # before what stands in containers are arrays again
    except BaseException as error:
        borrowed.settle_raised()
        raise_told(error)
        raise
    finally:
        STATE.update(**before)
    if contents != list(map(digest, arrays)):  # the function has a copy of what it wrote to
        raise ArgumentError(
            f"vjp: {name_of(f)} writes, under another name, to an array that is among its "
            "arguments: pass a copy of it"
        )
    borrowed.settle()
    wants_tensors = wants_tensors or (within and reaches_others(outputs, tensors))
    shown = _same if wants_tensors else place.shown
    if not wants_tensors and STATE.grad_enabled:
        tell_of_lost_history(outputs, watch)
    made = tuple(outputs), spec, tuple(tensors), specs, carried
    pull = Pullback(*made, wants_tensors, shown, records=STATE.grad_enabled)
    if not STATE.grad_enabled:
        _end_at(tensors, outputs, since)
    if wants_tensors:
        main, aux = with_own_histories((main, aux), tensors, since, STATE.grad_enabled)
    else:
        main, aux = _handed_over((main, aux), tensors)
    main, aux = left((main, aux), leaves)
    return _Done(map_tree(shown, main), pull, map_tree(shown, aux))


def _end_at(inputs: Sequence[Tensor], outputs: Sequence[Any], since: int) -> None:
    """The tape that a function left since then ends at the inputs: all else is constant."""
    own = set(map(id, inputs))

    def kept(parent: Any) -> Any:
        node = engine.node_of(parent)
        return parent if (id(parent) in own if node is None else node.stamp > since) else None

    roots = [x for x in outputs if isinstance(x, Tensor) and x._node is not None]
    for node in engine.left_behind(roots):
        if node.stamp > since:
            node.parents = tuple(map(kept, node.parents))


def _same(leaf: Any) -> Any:
    return leaf


def _handed_over(returned: Any, inputs: Sequence[Tensor]) -> Any:
    """Results as arrays of the caller's own; what the tape keeps of the inputs is watched.

    `returned` is all that the caller gets: the value, and what comes with it.
    """
    outputs, spec = flatten(returned)
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
    return unflatten(spec, arrays)
