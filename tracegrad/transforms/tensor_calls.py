"""Calls of compiled functions with Tensors among their arguments."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tracegrad.arguments.argument_changes import Borrowed
from tracegrad.arguments.signature import Arguments, is_jax
from tracegrad.compiled.element_views import takes_elements_for_numbers
from tracegrad.compiled.guarded_entry import MISS
from tracegrad.compiled.handed_out import left_by
from tracegrad.compiled.tape_node import (
    NotRecorded,
    Quick,
    Recorded,
    Unrecorded,
    call_recorded,
    settle,
    tensors_in,
    wanted_of,
)
from tracegrad.compiled.traced_run import (
    OF_HISTORIES,
    SHOWING,
    asks_class,
    code_of,
    reads_names,
    writes_in_place,
)
from tracegrad.compiled.version import Answer, Version
from tracegrad.config.compile_mode import CHOSEN, Mode
from tracegrad.differentiation.reverse_mode import reached
from tracegrad.eager.derivatives import boxed_leaf, warn_of_lost_history
from tracegrad.errors import ArgumentError, TracegradError
from tracegrad.execution.nonfinite import checking, is_finite, passed
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.coercion import bare_memory
from tracegrad.tensors.devices import DeviceArray, DeviceError, as_held, bare, one_place
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform
from tracegrad.tracing.restarts import Purpose
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer
from tracegrad.values.pytree import flatten, has_more_than_fields, map_tree


class TensorCalls:
    """What calls of a function do where Tensors are given: as a node of the tape, or on arrays."""

    __name__: str
    _function: Callable[..., Any]
    _transform: Transform
    _backend: str | None
    _lock: threading.Lock
    _budget: Budget
    _quick: dict[Mode, tuple[Quick, ...]]  # entries for Tensors with history
    _bind: Callable[..., Arguments]
    _inline: Callable[..., Any]
    _answer: Callable[..., Answer]
    _blame: Callable[..., Any]
    __call__: Callable[..., Any]

    @property
    @abstractmethod
    def _stays_eager(self) -> bool:
        """Whether no program is to be made or run."""

    _versions: dict[Any, list[Version]]  # by the key of arguments, and mode
    _of_views: set[Any]  # keys and modes with which arrays cannot take the place of Tensors

    @property
    @abstractmethod
    def _every(self) -> list[Version]:
        """The versions that there are."""

    def _call_on_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> Any:
        if any(map(is_jax_array, leaves)):
            if any(map(is_jax_tracer, leaves)):
                raise ArgumentError(
                    f"{self.__name__} is called with a Tensor and a JAX tracer: pass the Tensor's "
                    "array, x.numpy()"
                )
            args, kwargs = map_tree(
                lambda x: wrap(as_held(x)) if is_jax_array(x) else x, (args, kwargs)
            )
            leaves = flatten((args, kwargs))[0]
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        recorded = STATE.trace is not None or (
            STATE.grad_enabled and any(t.requires_grad for t in tensors)
        )
        there = any(type(tensor._array) is DeviceArray for tensor in tensors)
        may_record = not there and self._may_record(recorded)
        if may_record and not STATE.special:
            return self._call_with_history(args, kwargs)
        asks = STATE.grad_enabled and not there  # whether the function reads a history
        if recorded or (asks and (self._stays_eager or may_record)):
            return self._with_history(args, kwargs, recorded)
        if not STATE.grad_enabled and not there and self._needs_tensors(tensors, args, kwargs):
            return self._with_history(args, kwargs, recorded)
        if there:
            arguments = self._bind(args, kwargs)
            one_place((arguments.text_of(leaf), leaf.value) for leaf in arguments.leaves)
        if self._transform.kind == "compile" and not there:
            return self._call_with_history(args, kwargs, False)
        borrowed = Borrowed()
        plain_args, plain_kwargs = borrowed.bare((args, kwargs), bare if there else bare_memory)
        result = MISS
        if asks and self._transform.differentiates:
            if not (plain_kwargs or any(map(_holds_history, self._every))):
                result = self._entered(CHOSEN[self._backend], plain_args)
            if result is MISS and self._reads_history(plain_args, plain_kwargs):
                return self._with_history(args, kwargs, recorded)
        if result is MISS:
            try:
                result = self(*plain_args, **plain_kwargs)
            except DeviceError:
                if not there:
                    raise
                return self._with_history(args, kwargs, recorded)  # it reads a Tensor on a device
        borrowed.settle(boxed_leaf)
        if there:
            return map_tree(lambda x: wrap(DeviceArray(x)) if is_jax(x) else x, result)
        return map_tree(boxed_leaf, result)

    def _may_record(self, recorded: bool) -> bool:
        """Whether a call on Tensors is to be compiled with its history.

        Where no argument requires grad, a Tensor that the function reads from outside may.
        """
        target = CHOSEN[self._backend].target
        if self._transform.differentiates or self._stays_eager or target not in ("numpy", "jax"):
            return False
        every = self._every
        holders = (captured.holder for version in every for captured in version.captured)
        asks = asks_class(code_of(self._function))  # and is told that they are Tensors
        # Tensors, where it is given some; or it writes to them
        keeps = any(version.keeps or version.written for version in every)
        plain = not (recorded or asks or keeps) and every
        if plain and writes_in_place(self._function):  # elements are views, of arrays numbers
            return True
        return not plain or any(isinstance(h, Tensor) for h in holders)

    def _needs_tensors(
        self, tensors: Sequence[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Whether a call where nothing is recorded is not one on arrays: those have no histories.

        Nor has their text any word of these; and their elements are numbers, no views.
        """
        if self._stays_eager and not self._transform.differentiates:
            return True
        required = any([tensor.requires_grad for tensor in tensors])
        if reads_names(self._function, OF_HISTORIES if required else SHOWING):
            return True
        return writes_in_place(self._function) and self._writes_to_elements(args, kwargs)

    def _writes_to_elements(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether arrays in the place of Tensors would have numbers where these have views.

        The versions for such arrays know; where there are none yet, one is made.
        """
        if self._transform.differentiates:
            return False
        mode = CHOSEN[self._backend]
        arguments, inputs = self._given_tensors(args, kwargs, Borrowed(), False)
        place = (arguments.key, mode)
        if place in self._of_views:
            return True
        if not self._versions.get(place):
            try:
                self._answer(arguments, mode, None, histories=inputs, looks=True)
            except TracegradError:  # numbers have no items, say
                self._of_views.add(place)
                return True
            except Exception:  # the function raises this: the call itself does
                return True
        return any(map(takes_elements_for_numbers, self._versions.get(place, ())))

    def _tell_of_lost_history(self, version: Version, histories: Sequence[Any]) -> None:
        """Warns where a call with arrays is of Tensors that require grad: it returns arrays."""
        if self._transform.kind != "compile" or histories or not STATE.grad_enabled:
            return
        inputs = version.traced.inputs[len(version.traced.inputs) - len(version.captured) :]
        asked = [
            (value, captured.name)
            for value, captured in zip(inputs, version.captured, strict=True)
            if isinstance(captured.holder, Tensor) and captured.holder.requires_grad
        ]
        if not asked:
            return
        outputs = {value for end in version.tree.ends for value in end.outputs}
        names = [name for v, name in asked if not outputs.isdisjoint(reached(version.traced, [v]))]
        if not names:
            return
        warn_of_lost_history(f"{self.__name__} reads {', '.join(names)}")

    def _reads_history(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a function of derivatives may read a Tensor from outside that requires grad.

        The version that stands for the call knows, and is made where there is none; a call that
        none stands for may. What the function raises is raised by the call itself.
        """
        try:
            return _holds_history(self._version_for(args, kwargs, Purpose.LOOK))
        except Exception:
            return True

    def _with_history(self, args: tuple[Any, ...], kwargs: dict[str, Any], recorded: bool) -> Any:
        """The call as its ops; where no argument requires grad, a Tensor from outside may."""
        result = self._inline(self._bind(args, kwargs), recorded or None)
        derived = not recorded and self._transform.kind != "compile"
        return map_tree(boxed_leaf, result) if derived else result

    def _call_with_history(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tapes: bool = True
    ) -> Any:
        """The call as one node of the tape; without a version for it, as its ops.

        Without `tapes` nothing is recorded: it is traced as a call on arrays, which are Tensors to
        the caller.
        """
        mode = CHOSEN[self._backend]
        if not kwargs and not STATE.aside:
            leaves, given_bare = flatten(args)[0], map_tree(bare, args)
            for quick in self._quick.get(mode, ()):
                result = quick(given_bare, leaves)
                if result is not MISS:
                    quick.version.hits += 1
                    return result
        given, borrowed = self._bind(args, kwargs), Borrowed()
        if any(map(has_more_than_fields, given.values, given.specs)):
            return self._inline(given)
        arguments, inputs = self._given_tensors(args, kwargs, borrowed, tapes)

        def call(version: Version) -> Any:
            kept: list[Recorded | Unrecorded] = []
            result = call_recorded(version, arguments, inputs, kept)
            if kept and not kwargs:
                self._remember(Quick(kept[0], arguments, len(args)))
            if checking() and not is_finite(result):
                with given_back(sources_of(version.program.graph)):
                    version.outputs(arguments)  # raises, and names the statement
            return passed(result, self.__name__)

        try:
            found = self._answer(arguments, mode, None, call, histories=inputs)
            if found.version is not None:
                return found.result
            if found.run is not None:
                settle(found.run)
                shown = partial(left_by, found.run)
                result = map_tree(shown, found.run.returned)
                found.run.world.settle(tapes=STATE.grad_enabled)
                found.run.borrowed.settle(shown)
                borrowed.settle(lambda x: x)
                if checking() and not is_finite(result):
                    self._blame(found.run, arguments)
                return passed(result, self.__name__)
        except NotRecorded:
            pass
        with self._budget.running():
            return self._inline(given)

    def _given_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], borrowed: Borrowed, tapes: bool
    ) -> tuple[Arguments, list[Any]]:
        """The arguments with arrays for Tensors, and their traced leaves as they were given."""
        given, plain = self._bind(args, kwargs), self._bind(*borrowed.bare((args, kwargs), bare))
        pairs = zip(given.leaves, plain.leaves, strict=True)
        inputs = [leaf.value for leaf, bare_leaf in pairs if bare_leaf.traced]
        needs = wanted_of(inputs) if tapes else ()
        return replace(plain, require_grad=needs, tensors=tensors_in(inputs)), inputs

    def _remember(self, made: Quick) -> None:
        """Enters what answers calls of one shape on Tensors."""
        with self._lock:
            known = self._quick.get(made.version.mode, ())
            current = [q for q in known if q.version is not made.version.replaces]
            self._quick[made.version.mode] = (made, *current[:7])


def _holds_history(version: Version) -> bool:
    """Whether a version reads a Tensor from outside that requires grad."""
    holders = [captured.holder for captured in version.captured]
    return any(isinstance(holder, Tensor) and holder.requires_grad for holder in holders)
