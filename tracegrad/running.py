"""A function and the arguments of one call enter; its trace, and what else the run did, leave.

The function runs on Tensors that hold the arguments' values and record into a `Trace`. The Python
state within its reach is compared before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

from codegen.ir import Call, Value
from tracegrad.autograd.python_op import hooked
from tracegrad.autograd.tape import LEAF
from tracegrad.borrowed import (
    DIFFERENTIATED,
    ArgumentStore,
    Borrowed,
    in_c_order,
    overlapping,
    refuse_overlap,
    written_leaves,
)
from tracegrad.environment import IMMUTABLE, Environment, Store, random_state
from tracegrad.errors import GradientError, TraceError
from tracegrad.ops.elementwise import alias
from tracegrad.overlap import Runs, held, watch_writes
from tracegrad.paths import Tree
from tracegrad.questions import Unanswerable, question
from tracegrad.signature import Arguments
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap
from tracegrad.trace import Trace
from tracegrad.tree import unflatten

ASKING = frozenset({"is_grad_enabled", "requires_grad", "grad_fn", "is_leaf"})
"""With these names, code finds out whether operations are recorded."""


@dataclass(frozen=True)
class Run:
    """One traced run of a function."""

    trace: Trace
    tree: Tree | None  # that the trace continued
    tensors: tuple[Tensor, ...]  # the traced arguments, as the function had them
    returned: Any
    borrowed: Borrowed
    environment: Environment  # the state that the function can read, as it was before
    computed: bool  # Python may have read arrays of that state by itself
    stores: tuple[Store, ...]  # arrays that it wrote to its state; they are taken back
    written: tuple[ArgumentStore, ...]  # arguments that it wrote to
    effect: str  # what else it did beside computing; "" for nothing
    alone: bool  # no other thread was in the way of finding out
    seconds: float  # that it took, with the comparison of the state before and after
    grad_enabled: bool | None  # while it ran; None where the function does not ask

    @property
    def serves(self) -> bool:
        """Whether a program can stand for this run."""
        return self.alone and not self.effect

    def undo(self) -> None:
        """Puts stores and generators back to where they were before the run."""
        for store in self.stores:
            store.restore()
        self.trace.give_back()


def run_traced(
    function: Callable[..., Any],
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    wanted: frozenset[int],
    target: str,
    tree: Tree | None = None,
    holders: Sequence[Any] = (),
    runs: Runs | None = None,
    histories: Sequence[Any] = (),
) -> Run:
    """Runs the function; `wanted` are the parameters to differentiate.

    The trace continues `tree`, whose captured arrays are `holders` now. `runs` are those of the
    function on all threads. `histories` are the traced arguments as they were given: the run's tape
    goes on from those that require grad.
    """
    began = perf_counter()
    objects = _objects(arguments)
    alone = (runs or Runs()).watch()
    environment = Environment(function, objects)
    asked = question(environment, function, code_of(function), arguments)
    if asked:
        raise Unanswerable(function, asked)
    written_by_others = watch_writes(environment.reaches_id)
    random_before = random_state()
    trace = Trace(
        code_of(function), target == "jax", tree, holders, environment.reaches, environment.called
    )
    tensors = _tensors(trace, arguments, wanted, histories)
    asks = not wanted and any(not ASKING.isdisjoint(c.co_names) for c in environment.scopes)
    enabled = STATE.grad_enabled if asks else True
    values = iter(tensors)
    filled = [next(values) if leaf.traced else leaf.value for leaf in arguments.leaves]
    structured, borrowed = _structured(arguments, filled), Borrowed()
    borrowed.watch(tuple(arguments.values), tuple(structured))
    inputs = [tensor._traced[1] for tensor in tensors]
    before = STATE.update(trace=trace, grad_enabled=enabled, standing=not histories)
    try:
        returned = call(structured)
    except BaseException:
        for store in environment.stores():
            store.restore()
        trace.give_back()
        raise
    finally:
        STATE.update(**before)
        trace.finish()
    written = _written(arguments, tensors, inputs, trace)
    given = histories or [leaf.value for leaf in arguments.leaves if leaf.traced]
    for value, tensor in zip(given, tensors, strict=True):
        borrowed.stands_for(value, tensor)
    environment.leave_out([source for source, _ in trace.drawn_from.values()])
    if random_state() != random_before:
        raise TraceError(
            f"{getattr(function, '__name__', 'the function')} drew from the global random state, "
            "which would be frozen in the program: draw before the call and pass the arrays"
        )
    foreign = _foreign_code(trace, code_of(function))
    if foreign:
        environment.keep(Environment(function, objects, foreign))
    computed = bool(environment.reads_arrays(arguments.parameters, arguments.values))
    stores, effect = tuple(environment.stores()), environment.effect()
    watched = set(map(id, watched_arrays(environment, trace, computed)))
    for store in stores:
        before = store.guard.value
        captured = id(before) in trace.captured and environment.sources(before) is None
        # A program would go on reading what was there, or be left at the next call.
        again = captured or environment.by_identity
        if again or id(getattr(before, "_array", before)) in watched:
            effect = effect or store.text
    effect = effect or borrowed.changed or trace.unseen
    if trace.raised:  # lengths, or the values of a matrix, decided what was done: no guard knows
        effect = effect or f"the way on from {trace.raised}"
    touched = bool(stores or effect or trace.drawn_from)
    with held([source for source, _ in trace.drawn_from.values()]):
        single = trace.drew_alone() and not written_by_others() and (not touched or alone())
        seconds = perf_counter() - began
        mode = enabled if asks else None
        run = Run(
            *(trace, tree, tensors, returned, borrowed, environment, computed),
            *(stores, written, effect, single, seconds, mode),
        )
        if run.serves:  # the program will write and draw
            run.undo()
    return run


def _written(
    arguments: Arguments, tensors: Sequence[Tensor], inputs: Sequence[Value], trace: Trace
) -> tuple[ArgumentStore, ...]:
    """The arguments that the function wrote to; raises for what cannot be written by every call."""
    leaves = [leaf for leaf in arguments.leaves if leaf.traced]
    texts = [(arguments.text_of(leaf), arguments.name_of(leaf)) for leaf in leaves]
    written = written_leaves(tensors, inputs, texts)
    arrays = [leaf.value for leaf in leaves]
    outside = [getattr(holder, "_array", holder) for holder, _ in trace.captured.values()]
    for store in written:
        if inputs[store.leaf] in trace.wanted:
            raise GradientError(DIFFERENTIATED)
        others = [*arrays[: store.leaf], *arrays[store.leaf + 1 :], *outside]
        if overlapping(arrays[store.leaf], others):
            refuse_overlap(store.text)
    if trace.ordered and not all([in_c_order(x, trace.ordered) for x in (*arrays, *outside)]):
        trace.read("how an array lies in memory")
    return written


_ANSWERABLE: WeakSet[CodeType] = WeakSet()
"""Code of functions that ask nothing of their arguments that Tensors cannot answer."""


def refuse_questions(function: Callable[..., Any], arguments: Arguments) -> None:
    """Raises where a function that runs without a trace asks of arrays what Tensors cannot answer.

    Each code is looked at once.
    """
    code = code_of(function)
    if code is None or code in _ANSWERABLE:
        return
    asked = question(Environment(function, _objects(arguments)), function, code, arguments)
    if asked:
        raise Unanswerable(function, asked)
    _ANSWERABLE.add(code)


def _objects(arguments: Arguments) -> list[tuple[str, Any]]:
    """What the function is given that is no array, with how it is called."""
    return [
        (arguments.text_of(leaf), leaf.value)
        for leaf in arguments.leaves
        if not leaf.traced and not isinstance(leaf.value, IMMUTABLE)
    ]


def watched_arrays(environment: Environment, trace: Trace, computed: bool) -> list[Any]:
    """The arrays whose contents are guarded."""
    return environment.fingerprints([holder for holder, _ in trace.captured.values()], computed)


def _tensors(
    trace: Trace, arguments: Arguments, wanted: frozenset[int], histories: Sequence[Any]
) -> tuple[Tensor, ...]:
    """The arguments' arrays as Tensors that record into the trace."""
    tensors: list[Tensor] = []
    for leaf in arguments.leaves:
        if leaf.traced:
            value = trace.input(leaf.value, arguments.name_of(leaf))
            tensor = wrap(leaf.value, (trace, value))
            tensor._node = LEAF if leaf.parameter in wanted else None
            if tensor._node is LEAF:
                trace.wanted.append(value)
            given = histories[len(tensors)] if histories else None
            if isinstance(given, Tensor):
                trace.shown.add(value)
            if isinstance(given, Tensor) and given.requires_grad:
                tensor._node = alias(given)._node
            tensors.append(tensor)
    return tuple(tensors)


def _structured(arguments: Arguments, filled: Sequence[Any]) -> list[Any]:
    """The arguments again, from their leaves."""
    rebuilt, start = [], 0
    for spec, n in zip(arguments.specs, _counts(arguments), strict=True):
        rebuilt.append(unflatten(spec, filled[start : start + n]))
        start += n
    return rebuilt


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


def _foreign_code(trace: Trace, code: CodeType | None) -> set[CodeType]:
    """The code of hooks written inside the function: the program calls them, as they are then."""
    marks = [n for n in trace.builder.nodes if isinstance(n, Call) and n.op is hooked]
    hooks = [mark.attribute("function").call.hook for mark in marks]
    codes = {hook.__code__ for hook in hooks if isinstance(hook, FunctionType)}
    return codes & _nested_codes(code)


def _nested_codes(code: CodeType | None) -> set[CodeType]:
    """Every code object inside a code object."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)] if code is not None else []
    return {c for nested in inner for c in (nested, *_nested_codes(nested))}
