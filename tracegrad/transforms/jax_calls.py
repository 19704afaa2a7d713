"""Calls with JAX arrays, and calls inside traces of JAX.

Inside a trace of JAX (``jax.jit``, ``jax.grad``, ``jax.vmap``, ``lax.scan``) an argument has a
shape and a dtype, and no value. The program of such a call is one that was made before, or is made
by a run on samples: numbers of this shape and dtype that mean nothing. A run that reads one, or
does what a program inside JAX cannot do again, is refused by name.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import is_
from typing import Any

import numpy as np

from codegen.ir import Branch, Call, Check, Loop, Trait
from tracegrad import config, machine
from tracegrad.arguments.argument_changes import ArgumentStore
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.backends import jax, jax_symbolic_lengths
from tracegrad.compiled.sampled_ways import Ways
from tracegrad.compiled.tape_node import NotRecorded
from tracegrad.compiled.traced_run import RESTARTS, Run, code_of
from tracegrad.compiled.version import Answer, Version
from tracegrad.config.compile_mode import CHOSEN, EXACT
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.errors import ArgumentError, warn_caller
from tracegrad.introspection.explain import why
from tracegrad.runtime.silence import silenced
from tracegrad.runtime.thread_state import STATE, given_objects
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import check_wanted, gradients_in, placed
from tracegrad.tracing.restarts import MetTracer, OneByOne, OnTape, Unprogrammed
from tracegrad.transforms.sampled_runs import all_ways
from tracegrad.values.dataclass_attributes import converted
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer
from tracegrad.values.pytree import flatten, unflatten
from tracegrad.world.loops.loop_heads import Unclosed

LOOKLESS = Ways(goes_both_ways=False)

REASON = "JAX traces a function that calls it"


def call_on_jax(
    calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any], eagerly: bool = False
) -> Any:
    """JAX arrays in, JAX arrays out; only a trace, or the NumPy backend, reads their values.

    Where no program stands for the call, or none is wanted (`eagerly`), its operations run on the
    devices, one by one.
    """
    before, STATE.of_jax = STATE.of_jax, True
    try:
        return _called(calling, args, kwargs, eagerly)
    finally:
        STATE.of_jax = before


def _called(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any], eagerly: bool) -> Any:
    leaves = flatten((args, kwargs))[0]
    if any(map(is_jax_tracer, leaves)):
        return inside_jax(calling, args, kwargs)
    if STATE.trace is None and CHOSEN[calling._backend] is EXACT["jax"]:
        if eagerly or calling._stays_eager:
            return _op_by_op(calling, args, kwargs)
        if calling._is_recorded(args, kwargs):
            return _on_tape(calling, args, kwargs)
        return _by_program(calling, args, kwargs)
    plain_args, plain_kwargs = converted(jax.to_numpy, (args, kwargs))
    result = calling(*plain_args, **plain_kwargs)
    return _handed_back(calling, result, args, kwargs)


def _by_program(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call by a program for JAX, or by the run that one was to be made of."""
    arguments = jax.described(calling._bind(args, kwargs, whole=True))
    if calling._is_beside_fields(arguments):
        return _op_by_op(calling, args, kwargs)

    @functools.cache
    def plain() -> Arguments:
        bound: Arguments = calling._bind(*converted(jax.to_numpy, (args, kwargs)), whole=True)
        return bound

    with given_objects(arguments.objects):
        found = _by_types(calling, arguments, args, kwargs)
    if found is not None:
        return found.result
    if not all([jax.is_within_reach(leaf.value) for leaf in arguments.leaves]):
        return _op_by_op(calling, args, kwargs)

    def call(version: Version) -> Any:
        if version.draws_on_host and any([jax.is_spread(leaf.value) for leaf in arguments.leaves]):
            raise NotRecorded  # devices that wait for each other, and for the host, do so for ever
        return version.call(arguments)

    try:
        given = calling._given(args, kwargs)
        found = calling._answer(arguments, EXACT["jax"], given, call, plain)
    except MetTracer:
        return inside_jax(calling, args, kwargs)
    except NotRecorded:
        return _op_by_op(calling, args, kwargs)
    except OnTape:
        return _on_tape(calling, args, kwargs)
    if found.version is not None:
        return found.result
    if found.run is None:
        return _op_by_op(calling, args, kwargs)
    result = _handed_back(calling, calling._result(found.run, plain()), args, kwargs)
    _stored_as_arrays_of_jax(found.run, jax.home_of(leaf.value for leaf in arguments.leaves))
    return result


def _stored_as_arrays_of_jax(run: Run, home: Any) -> None:
    """What a run on values has stored for arrays of the function, as a program stores it."""
    for store in run.stores:
        kept = store.stands and store.kind != "contents"
        if kept and isinstance(now := getattr(store.value, "_array", None), np.ndarray):
            write, given = store.writing(jax.laid(now, None, home))
            write(*given)


def _op_by_op(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call without a program, on the devices of its arrays."""
    together = converted(jax.brought_home(flatten((args, kwargs))[0]), (args, kwargs))
    with jax.automatic_axes(flatten(together)[0]) as given:
        arguments = jax.described(calling._bind(*converted(given, together)))
        result = calling._without_program(arguments)
    return _handed_back(calling, result, *together)


def _on_tape(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that reads Tensors which require grad: each operation is recorded.

    No version tells later calls; where the result has a history by now, they are recorded as well.
    """
    result = _op_by_op(calling, args, kwargs)
    calling._has_recorded = any(isinstance(leaf, Tensor) for leaf in flatten(result)[0])
    return result


def _handed_back(calling: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call without a program returns, lying as what a program returns.

    Gradients lie as what they are gradients in, and what comes from NumPy where the arguments are:
    on a mesh as a whole on each of its devices.
    """
    arguments, transform = jax.described(calling._bind(args, kwargs)), calling._transform
    home = jax.home_of(leaf.value for leaf in arguments.leaves)
    leaves, spec = flatten(result)
    places: list[Any] = [None] * len(leaves)
    if transform.kind in ("grad", "value_and_grad"):
        lie = [jax.place_of(leaf.value) for leaf in check_wanted(arguments, transform)]
        trees = gradients_in(arguments, transform, lie)
        wanted = flatten(trees)[0]
        before = len(flatten(result[0])[0]) if transform.kind == "value_and_grad" else 0
        places[before : before + len(wanted)] = wanted
    laid = [jax.laid(x, at, home) for x, at in zip(leaves, places, strict=True)]
    return placed(unflatten(spec, laid), transform, calling.__name__)


def _by_types(
    calling: Any, arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Answer | None:
    """The answer to a first call by a version that is made without a look at its arrays.

    None where there are versions already, and where the function looks at values or does more than
    to compute: what it does then is taken back, and it runs on the values.
    """
    mode = EXACT["jax"]
    every = calling._every
    known = calling._versions.get((arguments.key, mode))
    if known or calling._budget.lacking or len(every) >= config.versions:
        return None
    try:
        samples = calling._bind(*converted(_sample, (args, kwargs)), whole=True)
    except ArgumentError:  # which is told with the argument's name
        return None
    if not calling._tracing.acquire(blocking=False):
        return None
    try:
        reason = why(samples, mode, every, "")
        version = _of_samples(calling, samples, reason)
        if version is None:
            return None
        calling._misses += 1
        calling._keep(version, samples, calling._given(args, kwargs))
    finally:
        calling._tracing.release()
    answer: Answer = calling._first(version, arguments, None)
    return answer if answer.version is not None else None


def _sample(leaf: Any) -> Any:
    return jax.numbers_like(leaf) if is_jax_array(leaf) else leaf


def _of_samples(calling: Any, samples: Arguments, reason: str) -> Version | None:
    """The version that a run on samples makes; None where it is refused one, or raises."""
    try:
        with silenced():  # what is said of samples is said of the values again
            of = samples, EXACT["jax"], None
            run: Run = calling._run(*of, ways=LOOKLESS, purpose=calling._purpose)
    except (Exception, *RESTARTS):  # whatever it is, the run on the values tells
        return None
    trace, does = run.trace, run.stores or run.written or run.effects
    if run.serves and not (trace.refused or trace.met_tracer or does):
        with suppress(Unrollable):
            version: Version = calling._version(samples, EXACT["jax"], run, None, reason)
            return version
    run.undo()
    return None


# -- inside a trace of JAX ----------------------------------------------------------------------


def inside_jax(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program for JAX, whatever the backend of the function, applied to tracers.

    What the function reads from outside is read now, while JAX traces, and constant in what JAX
    makes of it, as it is for JAX itself.
    """
    name = calling.__name__
    reason = machine.refusal(code) if (code := code_of(calling._function)) is not None else ""
    if STATE.trace is not None:
        reason = "tracegrad traces a function that gives it JAX's tracers"
    if reason:
        raise ArgumentError(f"{reason}: {name} has no program that JAX tracers could be given to")
    arguments = jax.described(calling._bind(args, kwargs, whole=True))
    if arguments.beside_fields or any(map(_holds_tracer, arguments.objects)):
        reason = arguments.beside_fields or "an argument with attributes that are no fields"
        raise ArgumentError(f"{name} is called with JAX tracers, and {reason}: declare them")
    with given_objects(arguments.objects):
        return _inside_jax(calling, arguments, args, kwargs)


def _holds_tracer(x: Any) -> bool:
    """Whether a dataclass that is known by its class has a tracer in a field."""
    return any(map(is_jax_tracer, flatten(x)[0]))


def _inside_jax(
    calling: Any, arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The same, for arguments of which the thread knows the objects."""
    name = calling.__name__
    fixed = _with_fixed_numbers(calling, arguments)
    version = _known(calling, arguments) or _known(calling, fixed)
    if version is None:
        samples = calling._bind(*converted(jax.sample, (args, kwargs)), whole=True)
        try:
            version = _made(calling, samples, arguments)
        except ArgumentError:
            if fixed is arguments:
                raise
            version = _made(calling, _with_fixed_numbers(calling, samples), fixed)
    if version.arguments.key != arguments.key:
        arguments = fixed
    given = [leaf.value for leaf in arguments.leaves if leaf.traced]
    leaves = [*given, *version.captured_arrays()]
    if not _holds(version, leaves):
        raise jax_symbolic_lengths.refusal(version, leaves, name)
    if version.program.source.retries:
        raise _unbounded(version, name)
    _tell_of_types(calling, version)
    with jax_symbolic_lengths.refusing(leaves, name):
        return _applied(version, arguments, name)


def _unbounded(version: Version, name: str) -> ArgumentError:
    """What is raised where turns save values, and nobody knows how many turns there are."""
    loops = [x for x in version.traced.all_nodes if isinstance(x, Loop) and x.counter is None]
    line = f" ({loops[0].origin.file}:{loops[0].origin.line})" if loops else ""
    return ArgumentError(
        f"{name} is called with JAX tracers, and its gradient reads what each turn of a while loop "
        f"has computed{line}: inside JAX nobody knows how many turns there are. Write the while "
        "as a for loop over the most turns there may be, with a break"
    )


def _with_fixed_numbers(calling: Any, arguments: Arguments) -> Arguments:
    """The arguments with Python's numbers as static ones: they are known while JAX traces.

    Not those that are differentiated; the arguments themselves where there are none.
    """
    count = len(arguments.parameters)
    wanted = {position % count for position in calling._transform.positions if count}

    def fixed(leaf: Leaf) -> Leaf:
        if leaf.kind[0] != "number" or leaf.parameter in wanted:
            return leaf
        kind: Any = type(leaf.value)
        return replace(leaf, kind=("static", kind, repr(leaf.value)))

    leaves = tuple(map(fixed, arguments.leaves))
    same = all(map(is_, leaves, arguments.leaves))
    return arguments if same else replace(arguments, leaves=leaves)


def _known(calling: Any, arguments: Arguments) -> Version | None:
    """A version that stands for the call whatever the values are."""
    given = [leaf.value for leaf in arguments.leaves if leaf.traced]
    versions = calling._versions.get((arguments.key, EXACT["jax"]), [])
    for version in reversed(versions):
        stores = [store for returned in version.results for store in returned.stores]
        effects = [effect for returned in version.results for effect in returned.effects]
        if not _needs_no_value(version) or _changes(stores, effects, given):
            continue
        if _holds(version, [*given, *version.captured_arrays()]):
            found: Version = version
            return found
    return None


def _holds(version: Version, leaves: Sequence[Any]) -> bool:
    """Whether a version stands for these arrays, some of which may have symbols for lengths."""
    lengths = [n for leaf in leaves for n in getattr(leaf, "shape", ())]
    if all(isinstance(n, int) for n in lengths):
        return version.holds(leaves)
    known = version.lengths(leaves)
    return version.unchanged() and not jax_symbolic_lengths.broken(version.guards, known)


def _needs_no_value(version: Version) -> bool:
    """Whether a program stands for values of which nothing is known."""
    if version.program.source.retries:
        return False
    nodes = list(version.differentiated.all_nodes)  # without the looks that JAX's programs add
    looks = any(
        isinstance(x, Check)
        or (isinstance(x, Branch) and not x.complete)
        or (isinstance(x, Loop) and x.counter is not None and x.after is None)
        for x in nodes
    )
    calls = [node for node in nodes if isinstance(node, Call)]
    besides = any(call.op.opaque or Trait.EFFECT in call.op.traits for call in calls)  # type: ignore[attr-defined]
    return not (looks or besides)


def _made(calling: Any, samples: Arguments, arguments: Arguments) -> Version:
    """A version that a run on samples made, in place of the arguments."""
    given = [leaf.value for leaf in arguments.leaves if leaf.traced]
    alone = calling._tracing.acquire(blocking=False)  # another thread's trace is not waited for
    try:
        run, ways, version = _version(calling, samples, given)
        lasts = not (run.trace.met_tracer or ways.numbers_are_outputs)
        few = len(calling._every) < config.versions
        if alone and few and lasts:  # a tracer is JAX's; elsewhere numbers are Python's
            calling._keep(version, samples, None)
        return version
    finally:
        if alone:
            calling._tracing.release()


def _version(calling: Any, samples: Arguments, given: Sequence[Any]) -> tuple[Run, Ways, Version]:
    with np.errstate(all="ignore"):  # what samples overflow says nothing
        ways = all_ways(calling, samples, lambda ways: _run(calling, samples, given, ways))
    run = ways.runs[-1]
    try:
        return run, ways, calling._version(samples, EXACT["jax"], run, None, REASON, ways)
    except Unrollable as told:
        ways.unroll(str(told), getattr(told, "label", None))
        return _version(calling, samples, given)


def _run(calling: Any, samples: Arguments, given: Sequence[Any], ways: Ways) -> Run:
    try:
        run: Run = calling._run(samples, EXACT["jax"], None, ways=ways)
    except OneByOne as told:
        if calling._told(told, samples):
            return _run(calling, samples, given, ways)
        raise ArgumentError(
            f"vmap of {told.name} runs it for one example after the other, which is no program "
            f"that JAX tracers could be given to: {told.reason}. Use jax.vmap"
        ) from None
    except Unprogrammed as told:
        text = f"{calling.__name__} is called with JAX tracers and {told}: no program does that"
        raise ArgumentError(text) from None
    except Unclosed:
        return _run(calling, samples, given, ways)
    done = _changes((*run.stores, *run.written), run.effects, given)
    refused = run.trace.refused
    if not (done or refused is not None) and run.serves:
        return run
    run.undo()
    if refused is not None:
        raise refused
    what = run.effect or (*done, "what another thread uses")[0]
    raise ArgumentError(
        f"{calling.__name__} is called with JAX tracers and reads or changes {what}, which would "
        "happen while JAX traces and not when the result is computed: pass what it reads, and "
        "return what is to be kept"
    )


def _tell_of_types(calling: Any, version: Version) -> None:
    """Warns where NumPy computes in 64 bits, for which JAX takes 32 while it has no wider types."""
    if jax.has_wide_types():
        return
    graph = version.program.graph
    values = [*graph.inputs, *(value for node in graph.all_nodes for value in node.results)]
    wide = [v for v in values if v.type.dtype in ("float64", "complex128") and not v.type.weak]
    if not wide:
        return
    origin = wide[0].origin
    line = f" ({origin.file}:{origin.line})" if origin.line else ""
    warn_caller(
        f"{calling.__name__} computes in {wide[0].type.dtype}, {origin.name or 'a value'}{line} "
        "first, and JAX has no 64-bit types in this process: inside JAX it computes in 32 bits. "
        'jax.config.update("jax_enable_x64", True) gives it 64, .astype(np.float32) says that '
        "32 are meant",
        UserWarning,
    )


def _changes(stores: Iterable[Any], effects: Iterable[Any], given: Sequence[Any]) -> list[str]:
    """What is done besides computing, as its user would say it.

    An array of JAX that is written to is another one from then on, for the function alone.
    """
    found = [
        store.text
        for store in stores
        if not (isinstance(store, ArgumentStore) and is_jax_array(given[store.leaf]))
    ]
    return [*found, *[effect.tells for effect in effects]]


def _applied(version: Version, arguments: Arguments, name: str) -> Any:
    """The result of a program on tracers.

    Where NumPy would raise (a singular matrix, an index out of range), which no program can inside
    JAX, floating-point results are nan.
    """
    inputs = [leaf.value for leaf in arguments.leaves if leaf.traced]
    names = version.program.graph.frame.captures
    arrays = version.captured_arrays(placed=False)  # which get the types that JAX has here
    captures = dict(zip(names, arrays, strict=True))
    outputs = version.program.run.traced(inputs, captures, version.checked)  # type: ignore[attr-defined]
    if not version.built:
        return outputs
    if len(version.results) > 1:
        if any(r.result != version.results[0].result for r in version.results):
            raise ArgumentError(
                f"{name} returns other things than arrays, which differ by the branch taken: JAX "
                "tracers do not tell which one is"
            )
        outputs = outputs[1]
    return version.results[0].result.build(outputs)
