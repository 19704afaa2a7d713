"""Calls without a program: the function runs on Tensors, in the machine where that executes it.

A plain function, which is compiled and not differentiated, runs as it is: that is tens of times as
fast (`tracegrad/world/plain_functions.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tracegrad.arguments.signature import Arguments, is_jax
from tracegrad.compiled.traced_run import not_executed
from tracegrad.config.compile_mode import CHOSEN
from tracegrad.eager.derivatives import (
    arrays_for_arrays,
    derivative_on_tensors,
    handed_out,
    on_tensors,
)
from tracegrad.eager.journal import journaled
from tracegrad.eager.within_traces import left
from tracegrad.errors import warn_caller
from tracegrad.execution.nonfinite import checking
from tracegrad.runtime.concurrency import Runs
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform, placed
from tracegrad.tracing.restarts import Purpose
from tracegrad.user_code.closures import reads_history
from tracegrad.user_code.lost_gradients import Watch
from tracegrad.values.pytree import flatten
from tracegrad.world.plain_functions import runs_as_it_is
from tracegrad.world.untraced_world import interpreted


class EagerCalls:
    """What calls of a function do where no program answers them."""

    __name__: str
    _function: Callable[..., Any]
    _transform: Transform
    _backend: str | None
    _runs: Runs
    _budget: Budget
    _by_arguments: str  # why some calls are answered so
    _untraced: bool  # it runs on the caller's own objects
    _tell_of_budget: Callable[[], None]
    _bind: Callable[..., Arguments]
    _caller: Callable[[Arguments], Callable[[Sequence[Any]], Any]]
    _call_on_jax: Callable[..., Any]

    @property
    @abstractmethod
    def _purpose(self) -> Purpose:
        """What a run for a call on arrays is for."""

    def _natively(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The derivative by running the function on Tensors, which only tracegrad sees."""
        leaves, _ = flatten((args, kwargs))
        recorded = STATE.trace is not None or reads_history(self._function)
        if recorded or any(isinstance(leaf, Tensor) for leaf in leaves):
            return self._inline(self._bind(args, kwargs))
        if any(map(is_jax, leaves)):
            return self._call_on_jax(args, kwargs, eagerly=True)
        return self._eager(self._bind(args, kwargs))

    def _inline(self, arguments: Arguments, create_graph: bool | None = True) -> Any:
        """The call as ordinary recorded ops: inside another trace, or on Tensors with history."""
        call = self._caller(arguments)
        given = [leaf.value for leaf in arguments.leaves]
        with self._runs.entered(), self._executed():
            if not self._transform.differentiates:
                values = arguments.values

                def run(call: Callable[[Sequence[Any]], Any]) -> Any:
                    if STATE.watch is not None:  # a part of what is differentiated
                        return call(values)
                    return Watch("compile").run(call, values)

                found = journaled(call, arguments, self._transform, run)
                return left(found, given) if self._transform.kind == "vmap" else found
            more = (create_graph, self.__name__)
            return left(derivative_on_tensors(call, arguments, self._transform, *more), given)

    def _is_beside_fields(self, arguments: Arguments) -> bool:
        """Whether an argument is more than its fields, which are all that a key holds of it."""
        reason = arguments.beside_fields
        if reason and not self._by_arguments:
            self._by_arguments = reason
            warn_caller(
                f"{self.__name__}: {reason}. Calls with such arguments run eagerly: declare them "
                "as fields, or make them properties"
            )
        return bool(reason)

    def _without_program(self, arguments: Arguments) -> Any:
        """A call that is answered eagerly, on account."""
        self._tell_of_budget()
        with self._budget.running():
            if self._is_plain(arguments):
                return self._as_it_is(arguments)
            return self._eager(arguments)

    def _uncompiled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> Any:
        """The call of a function that is not compiled: the function itself runs."""
        if self._has_histories(leaves) and not not_executed(self._function):
            result = self._inline(self._bind(args, kwargs))
        else:
            STATE.outcomes.is_last_run()
            returned = call_user(self._function, args, kwargs, self)
            result = placed(returned, self._transform, self.__name__)
        if STATE.trace is not None or any(isinstance(leaf, Tensor) for leaf in leaves):
            return result
        return arrays_for_arrays(result)

    def _has_histories(self, leaves: Sequence[Any]) -> bool:
        """Whether a call without a program may hand Tensors with a history to functions of NumPy.

        Only in the machine these take such Tensors in lists, and in arrays that are written to.
        """
        if STATE.trace is not None or STATE.machine is not None or not STATE.grad_enabled:
            return False
        return any([isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves])

    def _is_plain(self, arguments: Arguments) -> bool:
        """Whether plain Python gives what the function gives on Tensors, and nobody watches it."""
        return (
            self._transform.kind == "compile"
            and CHOSEN[self._backend].target != "jax"
            and STATE.machine is None
            and STATE.trace is None
            and STATE.observer is None
            and not (STATE.of_jax or checking())
            and runs_as_it_is(self._function, arguments.values)
        )

    def _as_it_is(self, arguments: Arguments) -> Any:
        """The call by the function itself, on the caller's arrays."""
        if STATE.outcomes is not None:
            STATE.outcomes.is_last_run()
        call = self._caller(arguments)
        with self._runs.entered():
            result = call(arguments.values)
        return handed_out(result, [leaf.value for leaf in arguments.leaves])

    def _eager(self, arguments: Arguments) -> Any:
        """The call without a program: the function runs on Tensors, its backward is cached."""
        call = self._caller(arguments)
        before, STATE.standing = STATE.standing, True
        try:
            with self._runs.entered(), self._executed():
                result = journaled(
                    call,
                    arguments,
                    self._transform,
                    lambda call: self._on_tensors(call, arguments),
                )
        finally:
            STATE.standing = before
        given = [leaf.value for leaf in arguments.leaves]
        return handed_out(result, given, self._purpose is Purpose.ARRAYS)

    def _executed(self) -> AbstractContextManager[None]:
        """Around a run of the function: the machine executes it."""
        if STATE.trace is None and STATE.outcomes is not None:
            STATE.outcomes.is_last_run()
        return nullcontext() if self._untraced else interpreted(self._purpose is Purpose.ARRAYS)

    def _on_tensors(self, call: Callable[[Sequence[Any]], Any], arguments: Arguments) -> Any:
        if not self._transform.differentiates:
            return on_tensors(call, arguments, self._purpose is Purpose.ARRAYS)
        return derivative_on_tensors(call, arguments, self._transform, False, self.__name__)
