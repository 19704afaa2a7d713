"""Runs a function in the machine and records its trace, and what else the run did.

The machine executes the function on Tensors that hold the arguments' values and record into a
`Trace`; a `World` sees what the function reads and changes of the Python around it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from time import perf_counter
from types import CodeType
from typing import Any

import numpy as np

from codegen.ir import NOWHERE, Builder, Value
from codegen.sizes import Size
from tracegrad import config, machine
from tracegrad.arguments.argument_changes import (
    DIFFERENTIATED,
    ArgumentStore,
    Borrowed,
    in_c_order,
    overlapping,
    refuse_overlap,
    written_leaves,
)
from tracegrad.arguments.signature import Arguments
from tracegrad.autograd import engine
from tracegrad.errors import GradientError, TracegradError
from tracegrad.ops.checkpoint_markers import budget
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.runtime.concurrency import Runs, watch_writes
from tracegrad.runtime.concurrency import held as held_still
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF, Node, slim
from tracegrad.tensors.devices import DeviceError
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import Tree
from tracegrad.tracing.restarts import (
    AsGiven,
    AsksMode,
    MetTracer,
    OneByOne,
    OnTape,
    Purpose,
    RefusedInTrace,
    Unprogrammed,
)
from tracegrad.tracing.trace import Trace
from tracegrad.values.pytree import fixed_values, flatten, map_tree, stands_twice, unflatten
from tracegrad.world import IMMUTABLE, Effect, Store, World
from tracegrad.world.arrays_of_lengths import fails_alike, give_up
from tracegrad.world.choices import Choices
from tracegrad.world.effects import Output
from tracegrad.world.explorer import Explorer
from tracegrad.world.functions import FunctionPlace
from tracegrad.world.guards import is_array
from tracegrad.world.interception import as_plain_slice
from tracegrad.world.joins import Joins
from tracegrad.world.joins import Taught as TaughtOfLooks
from tracegrad.world.loops.constant_arrays import gives_up
from tracegrad.world.loops.loop_heads import kinds_around
from tracegrad.world.loops.recording import Loops
from tracegrad.world.loops.straight_code import Taped
from tracegrad.world.loops.unseen_turns import FromAnew, UnseenTurns
from tracegrad.world.loops.widened_states import Learned, States
from tracegrad.world.loops.written_places import Place
from tracegrad.world.native_reads import guard_returned

RESTARTS = (Unprogrammed, OneByOne, Taped, Learned, AsGiven, AsksMode, FromAnew, OnTape)
"""What ends a run that is made again in another way."""

_OF_OTHER_TYPES = (TypeError, AttributeError, TracegradError)
"""What operations raise that take no number of NumPy's, or no Tensor."""

OF_HISTORIES = frozenset(
    {
        *("print", "repr", "str"),
        *("is_grad_enabled", "requires_grad", "grad_fn", "is_leaf"),
        *("grad", "requires_grad_", "retain_grad", "register_hook"),
    }
)
"""With these, code reads or changes what Tensors keep for their gradients."""


@dataclass(frozen=True)
class Followed:
    """Paths that a trace may follow, what they capture now, and their floats by their place."""

    tree: Tree | None = None
    holders: Sequence[Any] = ()
    numbers: Mapping[Any, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Taught:
    """What runs have taught of a function, for those that follow."""

    loops: States = field(default_factory=dict)  # what their turns do with variables
    looks: TaughtOfLooks = field(default_factory=TaughtOfLooks)


@contextmanager
def places_of_call(taught: Taught | None) -> Iterator[None]:
    """Around the runs of one call: what these learn of places of objects is not kept.

    Other calls may have other objects there, which nothing keeps alive.
    """
    try:
        yield
    finally:
        for known in () if taught is None else taught.loops.values():
            for slot in [slot for slot in known if isinstance(slot[0], Place)]:
                del known[slot]


@dataclass(frozen=True)
class Run:
    """One traced run of a function."""

    trace: Trace
    tree: Tree | None  # that the trace continued
    tensors: tuple[Tensor, ...]  # the traced arguments, as the function had them
    returned: Any
    borrowed: Borrowed
    world: World  # the objects that the function touched
    stores: tuple[Store, ...]  # arrays that it wrote to its state; they are taken back
    effects: tuple[Effect, ...]  # what else a program does besides computing
    written: tuple[ArgumentStore, ...]  # arguments that it wrote to
    effect: str  # what it did that no program does; "" for nothing
    alone: bool  # no other thread was in the way of finding out
    seconds: float  # that it took, with the comparison of the state before and after
    grad_enabled: bool | None  # while it ran; None where the function does not ask
    recorded: bool  # something that it returned or left has a history, of Tensors from outside
    counted: Collection[Any] = ()  # places of ints outside that it counts in, which needs a program
    supersedes: bool = False  # the version that stood for the call but for a look

    @property
    def serves(self) -> bool:
        """Whether a program can stand for this run."""
        return self.alone and not self.effect

    @property
    def lacks_tape(self) -> bool:
        """Whether it is to be made again: no program stands for it, and it has no tape."""
        loops = self.world.loops
        return not self.serves and loops is not None and loops.untaped and loops.differentiated

    @cached_property
    def needs_numbers(self) -> bool:
        """Whether it is to be made again, with arrays of the lengths of this call."""
        if self.serves:
            return False
        return give_up(self.world.lengths) or gives_up(self.world.loops)

    def has_let_go(self, tensor: Tensor) -> bool:
        """Whether the run has itself freed something of the history of a Tensor, by a backward."""
        let_go = self.trace.let_go
        return bool(let_go) and not let_go.isdisjoint(engine.left_behind([tensor]))

    def undo(self) -> None:
        """Puts state and generators back to where they were before the run."""
        self.world.take_back()
        self.trace.generators.give_back()


def wanted_of(inputs: Sequence[Any]) -> tuple[bool, ...]:
    """Of which inputs a call records what it does."""
    if not STATE.grad_enabled:
        return (False,) * len(inputs)
    return tuple([isinstance(x, Tensor) and x.requires_grad for x in inputs])


def required_of(holders: Sequence[Any], kind: str, arguments: Arguments) -> list[bool]:
    """Which of what is captured calls have gradients of that are one node of a tape."""
    recorded = arguments.require_grad is not None or kind == "vjp"
    return [recorded and wanted for wanted in wanted_of(holders)]


def lie_in_order(arguments: Arguments, axes: int, holders: Sequence[Any] = ()) -> bool:
    """Whether all arrays of so many axes or more are in C order."""
    arrays = [*[leaf.value for leaf in arguments.leaves if leaf.traced], *holders]
    return all([in_c_order(getattr(x, "_array", x), axes) for x in arrays])


def _with_plain_slices(x: Any) -> Any:
    """What a function returns; a slice, of which C reads the numbers, has Python's own."""
    if all(type(leaf) is not slice for leaf in flatten(x)[0]):
        return x  # with the very containers
    return map_tree(lambda leaf: as_plain_slice(leaf) if type(leaf) is slice else leaf, x)


def run_traced(
    function: Callable[..., Any],
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    wanted: frozenset[int],
    target: str,
    runs: Runs | None = None,
    given: Sequence[Any] | None = None,
    counters: Collection[Any] = (),
    renewed: Collection[Any] = (),
    one_by_one: Collection[Any] = (),
    samples: bool = False,
    choices: Choices | None = None,
    taught: Taught | None = None,
    followed: Followed | None = None,
    taped: bool = True,
    joins: bool = False,
    explores: bool = False,
    keeps_types: bool = False,
    as_caller: bool = False,
    purpose: Purpose = Purpose.ANSWER,
    check: Callable[[Any], None] = lambda returned: None,
    place: FunctionPlace | None = None,
) -> Run:
    """Runs the function; `wanted` are the parameters to differentiate.

    `check` raises where what it returned will not do: what it did before that is done.

    The trace continues the paths that are `followed`; `counters` are places of ints, `renewed` of
    objects that others replace. `runs` are those of the function on all threads. `given` are the
    traced arguments as they were given, where some are Tensors: the run's tape goes on from those
    whose history counts. `one_by_one` are the `vmap`s in it that run for one example after the
    other. With `samples` the arguments' values stand for others, so that nothing may depend on
    them; `choices` may take the outcome of each look. `taught` is what other runs have taught, and
    gets what this one does. With `joins` arms of looks may meet. A run that `explores` takes arms
    that the paths before it did not take. With `keeps_types` a number of Python's in a variable in
    which turns hold NumPy's, too, is one when the program runs. Operations are recorded, with
    `as_caller` where the caller's are. At a `place` later calls have others in its stead.
    """
    began = perf_counter()
    alone = (runs or Runs()).watch()
    name = getattr(function, "__name__", "self")
    world = World([*([(name, function)] if place is None else []), *_objects(arguments)])
    if place is not None:
        world.enter_function(place, name)
    objects = [leaf for leaf in arguments.leaves if leaf.kind[0] == "object"]
    for number, leaf in enumerate(objects):
        world.enter_object(number, leaf.value, arguments.text_of(leaf))
    written_by_others = watch_writes(world.is_outside_id)
    followed = followed or Followed()
    trace = Trace(code_of(function), target == "jax", followed.tree, followed.holders, world)
    trace.kinds = kinds_around(function)
    world.trace, world.numbers.known, world.counters = trace, followed.numbers, counters
    taught = taught or Taught()
    if joins:
        world.joins = Joins(world, trace, taught.looks)
    if choices is not None:  # what it does is compared with the tree afterwards
        trace.builder = Builder(trace.sizes)
    tapes = arguments.require_grad is not None
    world.watch_loops(Loops(world, trace, target, taught.loops))
    if world.loops.follows:
        world.watch_turns(Explorer(trace) if explores else UnseenTurns(world, trace, target))
    world.loops.taped = taped or samples
    world.loops.differentiated = bool(wanted) or (given is not None and STATE.grad_enabled)
    world.renewed, trace.single = renewed, one_by_one
    trace.samples = samples
    trace.keeps_types = keeps_types and not (tapes or samples or given is not None)
    world.purpose = purpose
    trace.choices = choices and choices.begin(world, trace)
    world.tapes = tapes
    if not (arguments.axes or place):  # else the function reads its defaults itself
        world.arguments = frozenset(map(id, arguments.values))
    tensors = _tensors(trace, arguments, wanted, given)
    enabled = bool(wanted) or not as_caller or STATE.grad_enabled
    world.mode_is_own = not wanted and enabled is not STATE.grad_enabled
    world.asked_mode = as_caller
    values, borrowed = iter(tensors), Borrowed(arguments.named)
    filled = [next(values) if leaf.traced else leaf.value for leaf in arguments.leaves]
    lists = _lists(world, arguments, tensors)
    if lists:
        pairs = zip(arguments.leaves, filled, strict=True)
        filled = [lists.get(id(leaf), tensor) for leaf, tensor in pairs]
    structured = _structured(arguments, filled)
    world.in_other_form = not samples and (bool(lists) or stands_twice(arguments.values))
    inputs = [tensor._traced[1] for tensor in tensors]
    of_tensors = given is not None
    if given is None:
        given = [leaf.value for leaf in arguments.leaves if leaf.traced]
    world.given = tuple(given)
    for value, tensor in zip(given, tensors, strict=True):
        world.stands_for(tensor, value)
    before = STATE.update(
        trace=trace,
        grad_enabled=enabled,
        standing=not tapes,
        machine=world.machine,
        own_leaves=world.own_leaves,
    )
    borrowed.watch(tuple(arguments.given or arguments.values), tuple(structured))
    try:
        try:
            with budget(trace, config.max_bytes if target == "numpy" else None):
                itself = call(structured)
            _refuse_lanes(trace, itself)
            if trace.unprogrammed is not None:
                raise trace.unprogrammed
            if world.asked_mode and world.mode_is_own:
                raise AsksMode
            if STATE.grad_enabled is not enabled:
                raise Unprogrammed("leaves the recording of gradients switched", "")
            if world.joins is not None:
                world.joins.ends()
            itself = itself if world.lengths is None else world.lengths.returned(itself)
            itself = _with_plain_slices(itself)
            guard_returned(world, itself)
            returned = map_tree(world.as_returned, itself)
            check(returned)
            leaves = [leaf for leaf in arguments.leaves if leaf.traced]
            names = [(i, arguments.text_of(leaf)) for i, leaf in enumerate(leaves)]
            known = dict(zip(map(id, tensors), names, strict=True))
            effects, effect = world.replayed(itself, known)
        except Exception as error:
            again = _made_again_for(error, world, of_tensors)
            if again is None:
                raise
            raise again from None
    except RESTARTS:  # it is run again in another way
        _take_back(world, trace)
        raise
    except BaseException as error:
        on_device = isinstance(error, DeviceError) and not world.effects
        if on_device or isinstance(error, MetTracer) or not purpose.answers or samples:
            _take_back(world, trace)
            raise
        fails_alike(world.lengths)
        world.print_now()  # what was done is done
        for store in world.written_arrays():
            store.carry()
        for value, tensor in zip(given, tensors, strict=True):
            borrowed.stands_for(value, tensor)
        STATE.update(**before)
        left = world.settle(tapes=STATE.grad_enabled and not wanted)
        as_numbers(engine.left_behind([x for x in left if x._node is not None]), trace)
        borrowed.settle_raised()
        raise
    finally:
        STATE.update(**before)
        world.end_loops()
        trace.finish()
    try:
        world.finish()
        written = _written(arguments, tensors, inputs, trace)
        places = world.stores()
        arrays = world.written_arrays()
        stores = (*arrays, *places)  # a place of these arrays may get another one
        effects = tuple([replace(e, after=e.after + len(arrays)) for e in effects])
        elsewhere = _not_storable(stores, world, trace, given)
        for value, tensor in zip(given, tensors, strict=True):
            borrowed.stands_for(value, tensor)
        effect = effect or elsewhere or borrowed.changed or trace.unseen
        met = borrowed.met_outside(world.met, set(map(id, world.changed_holders())))
        if met:
            raise AsGiven(met, outside=True)
        if not effect:
            _refuse_written(stores, tapes)
        if of_tensors and not effect:
            _refuse_own_leaves(itself, stores, world)
            if tapes:
                _refuse_retained(world)
        recorded = _is_recorded(returned, stores, effects, trace)
        if recorded and purpose is Purpose.ARRAYS:
            raise OnTape
    except (TracegradError, *RESTARTS):  # a call that is refused leaves everything as it was
        _take_back(world, trace)
        raise
    for store in stores:
        if store.kind == "contents":  # a version is not to hold a tape
            store.value._node = None
    if trace.raised:  # lengths, or the values of a matrix, decided what was done: no guard knows
        effect = effect or trace.raised
    touched = bool(stores or effects or effect or trace.generators.before)
    with held_still([source for source, _ in trace.generators.before.values()]):
        undisturbed = trace.generators.drew_alone() and not written_by_others()
        single = undisturbed and (not touched or alone())
        seconds = perf_counter() - began
        mode = enabled if world.asked_mode and not wanted else None
        run = Run(
            *(trace, followed.tree, tensors, returned, borrowed, world),
            *(stores, effects, written),
            effect=effect,
            alone=single,
            seconds=seconds,
            grad_enabled=mode,
            recorded=recorded,
            counted=world.counted() if effect else (),
        )
        if run.serves or run.lacks_tape or run.needs_numbers or not purpose.answers:
            run.undo()  # the program will write and draw, or another run
        elif not samples:
            world.print_now()
    counted = lists and (touched or written or not _are_of_any_length(run, inputs, lists))
    if counted or (world.in_other_form and not run.serves):
        if not run.serves:
            run.undo()
        raise AsGiven(borrowed.changed_containers)
    return run


def as_numbers(nodes: Sequence[Node], trace: Trace) -> None:
    """Makes nodes of a tape such of numbers, for backwards outside of the trace."""
    for node in nodes:
        if node.traced is not None and node.attributes:
            node.attributes = {
                name: trace.concrete(value) for name, value in node.attributes.items()
            }
        node.traced = None
        slim(node)


def _take_back(world: World, trace: Trace) -> None:
    """Puts state and generators back to where they were before a run, and forgets it."""
    world.take_back()
    trace.generators.give_back()
    trace.unprogrammed = trace.one_by_one = None
    world.loops = None  # they end in that other run
    world.let_go()


def _made_again_for(error: Exception, world: World, of_histories: bool) -> BaseException | None:
    """What a run ends with that raised: where that may be owed to the run, it is made again.

    None where the function raises this whatever runs it.
    """
    trace = world.trace
    told = trace.unprogrammed or trace.one_by_one  # the function has caught it
    if told is not None or world.effects:
        return told
    if world.in_other_form:
        return AsGiven()
    if give_up(world.lengths) or gives_up(world.loops):
        return Learned()
    if isinstance(error, _OF_OTHER_TYPES) and world.joins is not None and world.joins.gives_up():
        return Learned()
    if isinstance(error, GradientError):  # of what is no part of a run in the caller's mode,
        if world.mode_is_own:
            return AsksMode()
        # or of what stands for the caller's Tensors
        if of_histories and error is not trace.refused_to_caller:
            return RefusedInTrace(error)
    return None


def _lists(world: World, arguments: Arguments, tensors: Sequence[Tensor]) -> dict[int, Any]:
    """What the function has for lists that the program has as arrays, by id of their leaf."""
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    found = {}
    for leaf, tensor in zip(traced, tensors, strict=True):
        if leaf.rows is not None:
            if world.loops.follows:
                raise AsGiven
            items = world.loops.lists.items_of_argument(tensor, leaf.rows)
            for item, array in zip(items, leaf.rows, strict=True):
                world.stands_for(item, array)
            found[id(leaf)] = items
    return found


def _are_of_any_length(run: Run, inputs: Sequence[Value], lists: Mapping[int, Any]) -> bool:
    """Whether nothing was written to these lists and arrays, and nobody saw how many there are."""
    known: Any = run.world.loops.lists
    listed = {known.items.get(x._traced[1]) for items in lists.values() for x in items}
    free = {rows for rows, array in known.of_arguments.items() if array in inputs}
    lengths = [run.trace.sizes.resolve(rows.type.shape[0]) for rows in free]
    return len(free) == len(lists) and listed == free and all(isinstance(n, Size) for n in lengths)


def _not_storable(stores: Sequence[Store], world: World, trace: Trace, given: Sequence[Any]) -> str:
    """A place outside that no program can store to, as the user would say it; "" for none.

    Raises where an array that is written shares memory with another one that was read.
    """
    watched = {id(seen.array) for seen in world.contents}
    arguments_arrays = [getattr(x, "_array", x) for x in given]
    captured_arrays = [getattr(holder, "_array", holder) for holder, _ in trace.captured.values()]
    found = ""
    for store in stores:
        if store.kind == "contents":
            memory = getattr(store.holder, "_array", store.holder)
            others = [x for x in captured_arrays if x is not memory]
            if overlapping(memory, [*arguments_arrays, *others]):
                refuse_overlap(store.text)
            continue
        held = store.guard.value
        captured = id(held) in trace.captured and world.source_of(held) is None
        # A program would go on reading what was there, or be left at the next call.
        again = captured or (world.identities and is_array(held))
        if again or id(getattr(held, "_array", held)) in watched:
            found = found or store.text
    return found


def _with_history(returned: Any, stores: Sequence[Store]) -> list[Tensor]:
    """The Tensors with a history, or leaves, that the caller is to have."""
    leaves = [*flatten(returned)[0], *(store.value for store in stores)]
    return [x for x in leaves if isinstance(x, Tensor) and x._node is not None]


def _is_recorded(
    returned: Any, stores: Sequence[Store], effects: Sequence[Effect], trace: Trace
) -> bool:
    """Whether something that a run returns or leaves has a history, of Tensors from outside.

    What it writes into arrays, and leaves as arrays, are numbers.
    """
    kept = [s for s in stores if not s.stands]
    kept = [s for s in kept if s.kind != "contents" or isinstance(s.holder, Tensor)]
    forms = [form for effect in effects for form in effect.forms if isinstance(form, Output)]
    made = [form.value for form in forms if not form.stands]
    found = _with_history((returned, made), kept)
    holders = [holder for holder, _ in trace.captured.values()]
    read = any([getattr(holder, "requires_grad", False) for holder in holders])
    return bool(found) and (read or any(map(trace.placed, found)))


def _refuse_own_leaves(returned: Any, stores: Sequence[Store], world: World) -> None:
    """Raises where the caller gets a leaf, of which a program makes a Tensor without a history."""
    for tensor in _with_history(returned, stores):
        if world.is_own_leaf(tensor):
            raise Unprogrammed("returns a leaf that it makes", _place_of(tensor))


def _refuse_retained(world: World) -> None:
    """Raises where the caller may ask of the history of a call what one node of it has not."""
    for kept in [reference() for reference in world.retained]:
        if kept is not None:
            raise Unprogrammed("keeps a gradient (retain_grad)", _place_of(kept))


def _refuse_written(stores: Sequence[Store], tapes: bool) -> None:
    """Raises where a Tensor from outside that is written to has a history, before or since.

    Without `tapes` the histories that the call makes end with it.
    """
    for store in stores:
        holder = store.holder
        if store.kind != "contents" or not isinstance(holder, Tensor):
            continue
        if not holder.is_leaf or (tapes and not store.value.is_leaf):
            does = "writes what has a history to a Tensor that it did not make"
            raise Unprogrammed(does, _place_of(store.value))


def _place_of(tensor: Tensor) -> str:
    """The line at which a Tensor was made, as messages say it."""
    origin = tensor._traced[1].origin if tensor._traced is not None else NOWHERE
    return f"{origin.file}:{origin.line}" if origin.file else f"of shape {tensor.shape}"


def _refuse_lanes(trace: Trace, returned: Any) -> None:
    """Raises where a function returns what belongs to one example of a batch."""
    if trace.one_by_one is not None:
        raise trace.one_by_one
    for leaf in flatten(returned)[0] if trace.lanes else ():
        if isinstance(leaf, Tensor):
            trace.lift(leaf, NOWHERE)


def reads_names(function: Callable[..., Any], wanted: Collection[str]) -> bool:
    """Whether code of the function, or of one that it calls by a global, has one of these names."""
    waiting, seen = [code_of(function)], set[CodeType]()
    names = getattr(getattr(function, "__func__", function), "__globals__", {})
    while waiting:
        code = waiting.pop()
        if code is None or code in seen:
            continue
        seen.add(code)
        if not set(code.co_names).isdisjoint(wanted):
            return True
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
        waiting += [code_of(names[name]) for name in code.co_names if name in names]
    return False


def _written(
    arguments: Arguments, tensors: Sequence[Tensor], inputs: Sequence[Value], trace: Trace
) -> tuple[ArgumentStore, ...]:
    """The arguments that the function wrote to; raises for what cannot be written by every call."""
    leaves = [leaf for leaf in arguments.leaves if leaf.traced]
    texts = [(arguments.text_of(leaf), arguments.name_of(leaf)) for leaf in leaves]
    written = written_leaves(tensors, inputs, texts)
    arrays = [leaf.value if leaf.rows is None else leaf.rows for leaf in leaves]
    outside = [getattr(holder, "_array", holder) for holder, _ in trace.captured.values()]
    for store in written:
        if inputs[store.leaf] in trace.wanted:
            raise GradientError(DIFFERENTIATED)
        others = [*arrays[: store.leaf], *arrays[store.leaf + 1 :], *outside]
        if overlapping(arrays[store.leaf], others):
            refuse_overlap(store.text)
    if trace.ordered and not all([in_c_order(x, trace.ordered) for x in (*arrays, *outside)]):
        trace.read(f"how an array lies in memory{trace.ordered_at}")
    return written


def _objects(arguments: Arguments) -> list[tuple[str, Any]]:
    """What the function is given that is no array, with how it is called."""
    pairs = zip(arguments.parameters, arguments.specs, strict=True)
    leaves = [leaf for leaf in arguments.leaves if leaf.kind[0] in ("static", "unread")]
    found = [(arguments.text_of(leaf), leaf.value) for leaf in leaves]
    found += [pair for name, spec in pairs for pair in fixed_values(spec, name)]
    return [(text, value) for text, value in found if not isinstance(value, IMMUTABLE)]


def _tensors(
    trace: Trace, arguments: Arguments, wanted: frozenset[int], given: Sequence[Any] | None
) -> tuple[Tensor, ...]:
    """The arguments' arrays as Tensors that record into the trace."""
    tensors: list[Tensor] = []
    for leaf in arguments.leaves:
        if leaf.traced:
            name = arguments.name_of(leaf)
            value = trace.input(leaf.value, name if leaf.rows is None else f"{name}_array")
            tensor = wrap(_number_of_jax(trace, leaf.value), (trace, value))
            tensor._node = LEAF if leaf.parameter in wanted else None
            if tensor._node is LEAF:
                trace.wanted.append(value)
            x = None if given is None else given[len(tensors)]
            if isinstance(x, Tensor):
                trace.shown.add(value)
            if arguments.require_grad and isinstance(x, Tensor) and x.requires_grad:
                tensor._node = node = alias(x)._node
                node.traced = (None,), ((trace, value),)  # gradients of gradients read it there
            tensors.append(tensor)
    return tuple(tensors)


def _number_of_jax(trace: Trace, x: Any) -> Any:
    """What has no axes and is JAX's as a scalar, as nobody writes to it; all else as it is."""
    alone = type(x) is np.ndarray and not x.ndim
    fixed = alone and (trace.samples or (trace.static_lengths and not x.flags.writeable))
    return x[()] if fixed else x


def _structured(arguments: Arguments, filled: Sequence[Any]) -> list[Any]:
    """The arguments again, from their leaves; what stands at two places is two."""
    leaves = iter(filled)
    return [
        unflatten(spec, islice(leaves, n))
        for spec, n in zip(arguments.specs, _counts(arguments), strict=True)
    ]


def _counts(arguments: Arguments) -> list[int]:
    counts = [0] * len(arguments.values)
    for leaf in arguments.leaves:
        counts[leaf.parameter] += 1
    return counts


def code_of(function: Any) -> CodeType | None:
    """The code object whose frame ends the program points of a trace."""
    inner = getattr(function, "__wrapped__", function)
    inner = getattr(inner, "__func__", inner)
    return getattr(inner, "__code__", None)


def not_executed(function: Callable[..., Any]) -> str:
    """Why the machine does not execute a function, as its user would say it; "" where it does."""
    code = code_of(function)
    return ("" if code is None else machine.refusal(code)) or machine.watched()
