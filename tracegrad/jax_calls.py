"""Calls with JAX arrays enter, JAX arrays leave; with JAX tracers, the emitted program applied.

Inside a trace of JAX (``jax.jit``, ``jax.grad``, ``jax.vmap``, ``lax.scan``) an argument has a
shape and a dtype, and no value. The program of such a call is one that was made before, or is made
by a run on samples: numbers of this shape and dtype that mean nothing. A run that reads one, or
does what a program inside JAX cannot do again, is refused by name.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from codegen.ir import Branch, Call, Check, Trait, walk
from tracegrad import jax_backend, machine
from tracegrad.draws import sources_of
from tracegrad.errors import ArgumentError, ShapeError, warn
from tracegrad.modes import CHOSEN, EXACT
from tracegrad.running import Run, code_of
from tracegrad.signature import Arguments
from tracegrad.state import STATE
from tracegrad.trace import MetTracer
from tracegrad.tree import flatten, map_tree
from tracegrad.version import Version

REASON = "JAX traces a function that calls it"


def call_on_jax(calling: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """JAX arrays in, JAX arrays out; only a trace, or the NumPy backend, reads their values."""
    leaves = flatten((args, kwargs))[0]
    if any(map(jax_backend.is_tracer, leaves)):
        return inside_jax(calling, args, kwargs)
    if (
        STATE.trace is None
        and not calling._stays_eager
        and CHOSEN[calling._backend] is EXACT["jax"]
    ):
        arguments = jax_backend.described(calling._bind(args, kwargs))

        @functools.cache
        def plain() -> Arguments:
            bound: Arguments = calling._bind(*map_tree(jax_backend.to_numpy, (args, kwargs)))
            return bound

        given = None if kwargs else args
        try:
            found = calling._answer(arguments, EXACT["jax"], given, plain=plain)
        except MetTracer:
            return inside_jax(calling, args, kwargs)
        if found.version is not None:
            return found.result
        if found.run is None:
            result = calling._without_program(plain())
        else:
            result = calling._result(found.run, plain())
    else:
        plain_args, plain_kwargs = map_tree(jax_backend.to_numpy, (args, kwargs))
        result = calling(*plain_args, **plain_kwargs)
    device = jax_backend.device_of(leaves)
    return map_tree(lambda leaf: jax_backend.from_numpy(leaf, device), result)


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
    arguments = jax_backend.described(calling._bind(args, kwargs))
    version = _known(calling, arguments)
    if version is None:
        version = _made(calling, calling._bind(*map_tree(jax_backend.sample, (args, kwargs))))
    _tell_of_types(calling, version)
    return _applied(version, arguments, name)


def _known(calling: Any, arguments: Arguments) -> Version | None:
    """A version that stands for the call whatever the values are."""
    traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
    versions = calling._versions.get((arguments.key, EXACT["jax"]), [])
    for version in reversed(versions):
        if _needs_no_value(version) and version.holds([*traced, *version.captured_arrays()]):
            found: Version = version
            return found
    return None


def _needs_no_value(version: Version) -> bool:
    """Whether a program stands for values of which nothing is known, and only computes."""
    nodes = list(walk(version.differentiated.nodes))  # without the looks that JAX's programs add
    looks = any(isinstance(x, Check) or (isinstance(x, Branch) and not x.complete) for x in nodes)
    calls = [node for node in nodes if isinstance(node, Call)]
    besides = any(call.op.opaque or Trait.EFFECT in call.op.traits for call in calls)  # type: ignore[attr-defined]
    return not (looks or besides or version.keeps or sources_of(version.program.graph))


def _made(calling: Any, samples: Arguments) -> Version:
    """A version that a run on samples made."""
    alone = calling._tracing.acquire(blocking=False)  # another thread's trace is not waited for
    try:
        with np.errstate(all="ignore"):  # what samples overflow says nothing
            run = _run(calling, samples)
        version: Version = calling._version(samples, EXACT["jax"], run, None, REASON)
        if alone and not run.trace.met_tracer:  # JAX lets nobody keep that
            calling._keep(version, samples, None)
        return version
    finally:
        if alone:
            calling._tracing.release()


def _run(calling: Any, samples: Arguments) -> Run:
    name = calling.__name__
    try:
        run: Run = calling._run(samples, EXACT["jax"], None, samples=True)
    except ShapeError:
        raise
    except (ArithmeticError, IndexError, np.linalg.LinAlgError) as error:
        raise ArgumentError(
            f"{name} is called with JAX tracers, whose values are not known yet, and with samples "
            f"in their place it raised {type(error).__name__}: {error}. Call it once outside JAX, "
            'with backend="jax": its program is used inside then'
        ) from error
    done = run.effect or next(iter([*_changes(run)]), "")
    refused = run.trace.refused
    if done or refused is not None or not run.serves:
        run.undo()
        if refused is not None:
            raise refused
        raise ArgumentError(
            f"{name} is called with JAX tracers and reads or changes {done or 'what others use'}, "
            "which would happen while JAX traces and not when the result is computed: pass what it "
            "reads, and return what is to be kept"
        )
    return run


def _tell_of_types(calling: Any, version: Version) -> None:
    """Warns where NumPy computes in 64 bits and JAX has none: its own types are 32 bits wide then."""
    if jax_backend.has_wide_types():
        return
    graph = version.program.graph
    values = [*graph.inputs, *(value for node in walk(graph.nodes) for value in node.results)]
    wide = [v for v in values if v.type.dtype in ("float64", "complex128") and not v.type.weak]
    if not wide:
        return
    origin = wide[0].origin
    line = f" ({origin.file}:{origin.line})" if origin.line else ""
    warn(
        f"{calling.__name__} computes in {wide[0].type.dtype}, {origin.name or 'a value'}{line} "
        "first, and JAX has no 64-bit types in this process: inside JAX it computes in 32 bits. "
        'jax.config.update("jax_enable_x64", True) gives it 64, .astype(np.float32) says that '
        "32 are meant",
        UserWarning,
    )


def _changes(run: Run) -> list[str]:
    """What a run did besides computing, as its user would say it."""
    stores = [store.text for store in (*run.stores, *run.written)]
    return [*stores, *[effect.tells for effect in run.effects]]


def _applied(version: Version, arguments: Arguments, name: str) -> Any:
    """The result of a program on tracers.

    Where NumPy would raise (a singular matrix, an index out of range), which no program can inside
    JAX, floating-point results are nan.
    """
    inputs = [leaf.value for leaf in arguments.leaves if leaf.traced]
    names = version.program.graph.frame.captures
    captures = dict(zip(names, version.captured_arrays(), strict=True))
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
