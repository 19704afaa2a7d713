"""Runs the calls of a `vmap`: on whole batches, or one example after the other.

And finds where a transform is one of derivatives of a function with loops, which stay loops in the
program that is made of the graph of those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from codegen.errors import CodegenError
from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.guarded_entry import MISS
from tracegrad.compiled.traced_run import code_of
from tracegrad.compiled.version import Answer, Version
from tracegrad.compiled.versions_of_graphs import over_batch, over_derivatives
from tracegrad.config.compile_mode import CHOSEN, Mode
from tracegrad.eager.derivatives import TAKEN_WITHIN, as_arrays, boxed_leaf, unrolled
from tracegrad.eager.vmap import PATIENCE, Mapping, mapped, one_by_one
from tracegrad.errors import NotBatchedError, warn_caller
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.coercion import bare_memory
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import Placement, Transform
from tracegrad.tracing.restarts import OneByOne, Place, RefusedInTrace, Unprogrammed
from tracegrad.values.pytree import flatten, map_tree
from tracegrad.world.loops.loop_heads import ManyTurns

LOOP = "it has a loop"


def in_call(
    arguments: Arguments, values: Sequence[Any], count: int | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """One value a parameter, as the positional and the named arguments of a call.

    With a `count` only the first so many: tangents or vectors follow.
    """
    named = list(zip(arguments.keywords, values, strict=True))[:count]
    args = tuple([value for keyword, value in named if keyword is None])
    return args, {keyword: value for keyword, value in named if keyword is not None}


class BatchCalls:
    """What calls of a function do where it is mapped over a batch."""

    __name__: str
    _function: Callable[..., Any]
    _transform: Transform
    _backend: str | None
    _static: frozenset[str]
    _single: set[Place]  # the `vmap`s, this one or others in it, that run for one example at a time
    _looping: set[Place]  # calls of a function with loops
    _unrolled: set[Place]  # calls of one whose loops cannot stay loops
    _answer: Callable[..., Answer]
    _as_node: Callable[..., Any]
    _bind: Callable[..., Arguments]
    _result: Callable[..., Any]

    def _is_single(self, arguments: Arguments) -> bool:
        """Whether the function of a `vmap` runs for one example after the other."""
        return bool(self._single) and self._place(arguments) in self._single

    def _singly(self, arguments: Arguments) -> Any:
        """The results of a `vmap` by the compiled function, once for each example."""

        def call(values: Sequence[Any]) -> Any:
            args, kwargs = in_call(arguments, values)
            return as_arrays(self._one(*args, **kwargs))

        return one_by_one(call, arguments.values, self._mapping(arguments))

    @functools.cached_property
    def _one(self) -> Any:
        """The function of a `vmap` itself, compiled."""
        known: Any = self._function
        if isinstance(known, BatchCalls) and known._backend == self._backend:
            return known
        make: Any = type(self)
        return make(self._function, Transform("compile", ()), self._backend, tuple(self._static))

    def _mapping(self, arguments: Arguments) -> Mapping:
        of = (arguments.specs, arguments.axes, self._transform.out_axes, self.__name__)
        return Mapping(
            *of, self._place(arguments), lambda: [*map(arguments.text_of, arguments.leaves)]
        )

    def _place(self, arguments: Arguments) -> Any:
        """What tells calls of a `vmap` apart; a function may make the same anew in each run."""
        function = self._function
        of = code_of(function) or code_of(type(function).__call__)  # a module of JAX has no hash
        return of or function, arguments.key

    def _over_batch(
        self, call: Callable[[Sequence[Any]], Any], arguments: Arguments
    ) -> Callable[[Sequence[Any]], Any]:
        """Calls the function of a `vmap` with batches."""
        of = self._mapping(arguments)

        def on_batch(values: Sequence[Any]) -> Any:
            trace = STATE.trace
            if trace is None and of.is_empty(values) and not self._is_single(arguments):
                result = self._of_none(*in_call(arguments, values))
                if result is not MISS:
                    return result
            if trace is None or of.place in trace.single:
                return one_by_one(call, values, of)
            own = trace.single is self._single and self._may_keep_loops(of.place)
            try:
                return mapped(call, values, replace(of, loops=own))
            except ManyTurns as met:
                if not own:
                    raise
                self._looping.add(of.place)
                raise OneByOne(of.place, self.__name__, LOOP) from met
            except (NotBatchedError, CodegenError) as error:
                raise OneByOne(of.place, self.__name__, str(error)) from error

        return on_batch

    def _of_none(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a `vmap` gives of no examples: only a trace tells without one what it would be.

        So eager calls take the program too. MISS where there is none.
        """
        tensors = [x for x in flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        if not all(map(is_array_to_function, tensors)):
            return self._as_node(args, kwargs, STATE.grad_enabled)
        args, kwargs = map_tree(bare_memory, (args, kwargs))
        arguments = self._bind(args, kwargs, whole=True)
        found = self._answer(arguments, CHOSEN[self._backend], None)
        if found.version is None and found.run is None:
            return MISS
        result = found.result if found.run is None else self._result(found.run, arguments)
        return map_tree(boxed_leaf, result)

    def _may_keep_loops(self, place: Place) -> bool:
        """Whether the program of a call may be made of one whose loops stay loops.

        Not of a run on samples: that program would be of a run on their values.
        """
        trace = STATE.trace
        return trace is not None and not trace.samples and place not in self._unrolled

    def _told(self, told: OneByOne | Unprogrammed, arguments: Arguments) -> bool:
        """From here on a `vmap` runs its function for one example after the other.

        Returns whether the call is to be traced again; not where no program can do what it does.
        """
        if isinstance(told, RefusedInTrace):
            self._strikes += 1
            if self._strikes < 2:  # the call itself may raise it
                return False
        if isinstance(told, Unprogrammed):
            self._give_up(f"it {told}")
            warn_caller(f"{self.__name__} {told}. It runs eagerly from here on")
            return False
        if told.reason is LOOP and told.place in self._looping:
            return True
        if told.place in self._single:
            return False
        if all(told.place[0] is not code for code, _ in self._single):
            name, reason = told.name, told.reason
            warn_caller(f"vmap of {name} runs it for one example after the other: {reason}")
        self._single.add(told.place)
        return not (arguments.axes and told.place == self._place(arguments))

    # -- loops ----------------------------------------------------------------------------------

    def _around_loops(
        self, arguments: Arguments, mode: Mode, known: Version | None, reason: str
    ) -> Version | None:
        """The version of a transform of what has loops that stay loops; None of any other.

        It is made of the graph of what it is a transform of.
        """
        place = self._place(arguments)
        if place not in self._looping:
            return None
        try:
            around = self._around_example if arguments.axes else self._around_derivatives
            version = around(arguments, mode)
        except NotBatchedError as error:
            raise OneByOne(place, self.__name__, str(error)) from error
        except Exception:  # what the function raises is raised by the call itself
            version = None
        if version is None:
            self._looping.discard(place)
            self._unrolled.add(place)
            return None
        version.replaces = known
        version.reasons = (*(known.reasons if known else ()), reason)
        return version

    def _around_example(self, arguments: Arguments, mode: Mode) -> Version | None:
        """The version of a `vmap`, of that for one example."""
        of = self._mapping(arguments)
        args, kwargs = in_call(arguments, of.first(arguments.values))
        one = self._one._version_for(args, kwargs, enters=False)
        return over_batch(one, self._function, arguments, mode, of)

    def _around_derivatives(self, arguments: Arguments, mode: Mode) -> Version | None:
        """The version of a transform of derivatives, of that of these."""
        inner: Any = self._function
        args, kwargs = in_call(arguments, arguments.values, self._transform.followed)
        one = inner._version_for(args, kwargs, enters=False)
        return over_derivatives(one, self._function, self._transform, arguments, mode)

    def _over_derivatives(
        self, call: Callable[[Sequence[Any]], Any], arguments: Arguments
    ) -> Callable[[Sequence[Any]], Any]:
        """Calls derivatives of a function, and notes where that has loops.

        In a trace they would be unrolled.
        """
        place = self._place(arguments)

        def with_patience(values: Sequence[Any]) -> Any:
            trace = STATE.trace
            if trace is None or trace.single is not self._single:
                return call(values)
            if not self._may_keep_loops(place):
                return call(values)
            try:
                with unrolled(TAKEN_WITHIN, PATIENCE):
                    return call(values)
            except ManyTurns as met:
                self._looping.add(place)
                raise OneByOne(place, self.__name__, LOOP) from met

        return with_patience

    @functools.cached_property
    def _is_over_derivatives(self) -> bool:
        """Whether the program can be made of the graph of derivatives, which the function are.

        That is so in forward mode: the loops of a way back have none themselves. What is
        differentiated by must be what that was differentiated by: only there was it seen whether a
        number was read which then has no gradient.
        """
        inner, own = self._function, self._transform
        if not isinstance(inner, BatchCalls) or not inner._transform.gives_derivatives:
            return False
        forward = own.kind in ("compile", "jvp") or (own.kind, own.mode) == ("jacobian", "forward")
        if not forward or own.has_aux or own.placement != Placement():
            return False
        if self._static or inner._static or inner._backend != self._backend:
            return False
        if CHOSEN[self._backend].target != "numpy":
            return False
        of = inner._transform
        seen = {*of.positions, *(range(of.count, 2 * of.count) if of.takes_tangents else ())}
        return seen.issuperset(own.positions) and min(seen) >= 0
