"""Calls of compiled functions with Tensors among their arguments."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from codegen.ir import ends
from tracegrad.arguments.argument_changes import Borrowed
from tracegrad.arguments.signature import Arguments, is_jax
from tracegrad.autograd.rule_outcomes import Interrupted
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
)
from tracegrad.compiled.traced_run import OF_HISTORIES, reads_names, wanted_of
from tracegrad.compiled.version import Answer, Version
from tracegrad.config.compile_mode import CHOSEN, Mode
from tracegrad.differentiation.reverse_mode import reached
from tracegrad.eager.derivatives import arrays_for_arrays, boxed_leaf
from tracegrad.eager.within_traces import warn_of_lost_history
from tracegrad.errors import RAISED_BY_NUMPY, ArgumentError
from tracegrad.execution.nonfinite import checking, is_finite, passed
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.thread_state import STATE, given_objects
from tracegrad.tensors.coercion import bare_memory
from tracegrad.tensors.devices import DeviceArray, DeviceError, as_held, bare, one_place
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform
from tracegrad.tracing.restarts import Purpose
from tracegrad.transforms.direct_calls import Given
from tracegrad.transforms.version_lookup import VersionLookup
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer
from tracegrad.values.pytree import flatten, map_tree


class TensorCalls(VersionLookup):
    """What calls of a function do where Tensors are given: as a node of the tape, or on arrays."""

    __name__: str
    _function: Callable[..., Any]
    _transform: Transform
    _backend: str | None
    _lock: threading.Lock
    _budget: Budget
    _quick: dict[Mode, tuple[Quick, ...]]  # entries for Tensors with history
    _has_recorded = False  # a call on arrays of JAX, of which no version tells
    _bind: Callable[..., Arguments]
    _inline: Callable[..., Any]
    _answer: Callable[..., Answer]
    _blame: Callable[..., Any]
    _entered: Callable[..., Any]
    _passes: Callable[[], None]
    _is_single: Callable[..., bool]
    _is_beside_fields: Callable[[Arguments], bool]
    _result: Callable[..., Any]
    __call__: Callable[..., Any]

    @property
    @abstractmethod
    def _stays_eager(self) -> bool:
        """Whether no program is to be made or run."""

    _versions: dict[Any, list[Version]]  # by the key of arguments, and mode

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
        if recorded or (asks and may_record):
            return self._with_history(args, kwargs, recorded)
        if not there and (self._stays_eager or self._reads_histories(tensors)):
            return self._with_history(args, kwargs, recorded)
        if there:
            return self._call_on_device(args, kwargs, recorded)
        if self._transform.kind == "compile":
            return self._call_with_history(args, kwargs, False)
        return self._call_unrecorded(args, kwargs, leaves)

    @property
    def _purpose(self) -> Purpose:
        """What a run for a call on arrays is for."""
        records = self._transform.kind == "compile" and STATE.grad_enabled
        return Purpose.ARRAYS if records else Purpose.ANSWER

    def _is_recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call on arrays may have a history, of Tensors from outside."""
        if self._purpose is not Purpose.ARRAYS:
            return False
        reading = [version for version in self._every if version.decisive]
        objects = any([version.objects for version in reading])
        with given_objects(self._bind(args, kwargs, whole=True).objects if objects else ()):
            return self._has_recorded or any([version.records() for version in reading])

    def _call_on_tape(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call on arrays of a function that reads Tensors which require grad.

        What has a history is a Tensor; all else is what a call on arrays returns.
        """
        if self._may_record(True) and not STATE.special:
            return arrays_for_arrays(self._call_with_history(args, kwargs))
        return arrays_for_arrays(self._inline(self._bind(args, kwargs)))

    def _call_on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any], recorded: bool) -> Any:
        """A call on Tensors that are on a device: one on arrays of JAX."""
        arguments = self._bind(args, kwargs)
        one_place((arguments.text_of(leaf), leaf.value) for leaf in arguments.leaves)
        borrowed = Borrowed(arguments.named)
        plain_args, plain_kwargs = borrowed.bare((args, kwargs), bare)
        try:
            result = self(*plain_args, **plain_kwargs)
        except DeviceError:
            return self._with_history(args, kwargs, recorded)  # it reads a Tensor on a device
        borrowed.settle(boxed_leaf)
        return map_tree(lambda x: wrap(DeviceArray(x)) if is_jax(x) else x, result)

    def _call_unrecorded(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> Any:
        """A call of a derivative or `vmap` that leaves no tape: its versions are for Tensors."""
        borrowed = Borrowed(lambda: self._bind(args, kwargs).named())
        mode = CHOSEN[self._backend]
        plain = borrowed.bare((args, kwargs), bare_memory)
        may_read = STATE.grad_enabled and self._transform.differentiates
        key = mode, tuple([i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)])
        result = MISS
        if not (kwargs or (may_read and any(map(_holds_history, self._every)))):
            result = self._entered(key, plain[0])
        if result is MISS:
            arguments, inputs = self._given_tensors((args, kwargs), plain, False)
            result = self._answered(arguments, inputs, None if kwargs else len(args), may_read)
            if result is MISS:
                return self._with_history(args, kwargs, False)
        borrowed.settle(boxed_leaf)
        return map_tree(boxed_leaf, result)

    def _answered(
        self, arguments: Arguments, inputs: Sequence[Any], count: int | None, may_read: bool
    ) -> Any:
        """The result of such a call, of so many arguments by position; MISS to run it eagerly."""
        mode = CHOSEN[self._backend]
        if self._is_beside_fields(arguments) or self._is_single(arguments):
            return MISS
        if may_read and self._reads_history(arguments, mode, inputs):
            return MISS
        try:
            given = None if count is None else Given(count)
            call = partial(Version.call, arguments=arguments, given=inputs)
            found = self._answer(arguments, mode, given, call, histories=inputs)
        except NotRecorded:
            return MISS
        if found.version is not None:
            return found.result
        if found.run is not None:
            return self._result(found.run, arguments, partial(left_by, found.run))
        return MISS

    def _may_record(self, recorded: bool) -> bool:
        """Whether a call on Tensors is to be compiled with its history.

        Where no argument requires grad, a Tensor that the function reads from outside may.
        """
        target = CHOSEN[self._backend].target
        if self._transform.differentiates or self._stays_eager or target not in ("numpy", "jax"):
            return False
        every = self._every
        holders = (captured.holder for version in every for captured in version.captured)
        # Tensors, where it is given some; or it writes to them
        keeps = any(version.keeps or version.written for version in every)
        return recorded or keeps or not every or any(isinstance(h, Tensor) for h in holders)

    def _reads_histories(self, tensors: Sequence[Tensor]) -> bool:
        """Whether a function may ask of its Tensors what those of a call have not that records."""
        required = not STATE.grad_enabled and any([tensor.requires_grad for tensor in tensors])
        return required and reads_names(self._function, OF_HISTORIES)

    def _tell_of_lost_history(
        self, version: Version, histories: Sequence[Any] | None, calls: bool = True
    ) -> None:
        """Warns where a call with arrays is of Tensors that require grad: it returns arrays.

        Unless it `calls`, nothing is called, and no entry made, which would tell of nothing.
        """
        if not calls or histories is not None or version.told or not STATE.grad_enabled:
            return
        if self._transform.kind == "compile":  # which returns Tensors then
            return
        version.told = True
        inputs = version.traced.inputs[len(version.traced.inputs) - len(version.captured) :]
        asked = [
            (value, version.world.text_of(captured.holder))
            for value, captured in zip(inputs, version.captured, strict=True)
            if isinstance(captured.holder, Tensor) and captured.holder.requires_grad
        ]
        if not asked:
            return
        graph = version.differentiated
        outputs = {value for end in ends(graph.block) for value in end.outputs}
        names = [name for v, name in asked if not outputs.isdisjoint(reached(graph, [v]))]
        if not names:
            return
        warn_of_lost_history(f"{self.__name__} reads {', '.join(names)}")

    def _reads_history(self, arguments: Arguments, mode: Mode, inputs: Sequence[Any]) -> bool:
        """Whether a function of derivatives may read a Tensor from outside that requires grad.

        The version that stands for the call knows, and is made where there is none; a call that
        none stands for may. What the function raises is raised by the call itself.
        """

        def asks(version: Version) -> None:
            if _holds_history(version):
                raise NotRecorded
            with given_back(sources_of(version.program.graph)), suppress(*RAISED_BY_NUMPY):
                version.outputs(arguments)  # it may take a way that the program does not know

        try:
            found = self._answer(arguments, mode, None, asks, histories=inputs, looks=True)
        except Exception:
            return True
        if found.version is not None:
            return _holds_history(found.version)
        return found.run is None or any(
            map(_requires_grad, [holder for holder, _ in found.run.trace.captured.values()])
        )

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
        if not kwargs:
            result = self._quickly(args)
            if result is not MISS:
                return result
        result = self._as_node(args, kwargs, tapes)
        if result is not MISS:
            return result
        given = self._bind(args, kwargs)
        if self._is_beside_fields(given):
            return self._inline(given)
        with self._budget.running():
            return self._inline(given)

    def _as_node(self, args: tuple[Any, ...], kwargs: dict[str, Any], tapes: bool) -> Any:
        """The same, MISS where there is no version for it."""
        mode = CHOSEN[self._backend]
        borrowed = Borrowed(lambda: self._bind(args, kwargs).named())
        if self._is_beside_fields(self._bind(args, kwargs)):
            return MISS
        plain = borrowed.bare((args, kwargs), bare)
        arguments, inputs = self._given_tensors((args, kwargs), plain, tapes)

        def call(version: Version) -> Any:
            kept: list[Recorded | Unrecorded] = []
            result = call_recorded(version, arguments, inputs, kept)
            if kept and not kwargs and _are_given(arguments, len(args)):
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
        return MISS

    def _quickly(self, args: tuple[Any, ...]) -> Any:
        """The result of a call on Tensors by the entry for such calls; MISS where none takes it."""
        if STATE.aside or self._stays_eager:
            return MISS
        for quick in self._quick.get(CHOSEN[self._backend], ()):
            try:
                result = quick.of_tensors(args)
            except Interrupted:
                if STATE.outcomes is None:
                    raise
                return MISS
            if result is not MISS:
                quick.version.hits += 1
                self._budget.used = True
                return arrays_for_arrays(result) if quick.of_arrays else result
            self._passes()
        return MISS

    def _given_tensors(
        self, given: tuple[Any, Any], plain: tuple[Any, Any], tapes: bool
    ) -> tuple[Arguments, list[Any]]:
        """The arguments with arrays for Tensors, and their traced leaves as they were given."""
        bound, arguments = self._bind(*given), self._bind(*plain)
        pairs = zip(bound.leaves, arguments.leaves, strict=True)
        inputs = [leaf.value for leaf, bare_leaf in pairs if bare_leaf.traced]
        needs = wanted_of(inputs) if tapes else None
        tensors = tensors_in(inputs)
        told = replace(arguments, require_grad=needs, tensors=tensors, given=bound.values)
        return told, inputs

    def _remember(self, made: Quick) -> None:
        """Enters what answers calls of one shape on Tensors."""
        with self._lock:
            known = self._quick.get(made.version.mode, ())
            current = [q for q in known if q.version is not made.version.replaces]
            self._quick[made.version.mode] = (made, *current[:7])


def _are_given(arguments: Arguments, count: int) -> bool:
    """Whether objects that are known by their class are among the first so many arguments."""
    return all(x.parameter < count for x in arguments.leaves if x.kind[0] == "object")


def _holds_history(version: Version) -> bool:
    """Whether a version reads a Tensor from outside that requires grad."""
    return any([_requires_grad(captured.holder) for captured in version.captured])


def _requires_grad(holder: Any) -> bool:
    return isinstance(holder, Tensor) and holder.requires_grad
