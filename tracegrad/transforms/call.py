"""Calls a transformed function: a version whose guards hold, a new one, or the function eagerly.

Calls may come from many threads. One of them traces; a call that needs a trace meanwhile runs
eagerly and gives the same bits, so no call ever waits for another one (`concurrency.py`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from operator import is_
from typing import Any

import numpy as np

from codegen.sizes import SizeError
from tracegrad import config
from tracegrad.arguments.argument_changes import refuse_two_ways
from tracegrad.arguments.batch_axes import with_axes
from tracegrad.arguments.signature import (
    Arguments,
    are_one,
    bind,
    check_static,
    defaults_of,
    is_jax,
    name_of,
    shown_signature,
    signature_of,
)
from tracegrad.arguments.stacked_lists import as_given
from tracegrad.autograd.rule_outcomes import kept
from tracegrad.autograd.tape_tangents import require_vectors
from tracegrad.compiled.guarded_entry import MISS, entry, watched_entry
from tracegrad.compiled.sampled_ways import Ways
from tracegrad.compiled.tape_node import NotRecorded, settle
from tracegrad.compiled.traced_run import Run, Taught, code_of, not_executed
from tracegrad.compiled.version import Answer, Left, Version, make_version, traced_run
from tracegrad.config.compile_mode import CHOSEN, EXACT, Mode
from tracegrad.differentiation.joins import Unjoined
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.eager.derivatives import derivative_of_arrays, derived_of_run, handed_out
from tracegrad.errors import (
    RAISED_BY_NUMPY,
    ArgumentError,
    FiniteError,
    SlowCompileWarning,
    TraceError,
    raise_told,
    warn_caller,
)
from tracegrad.execution.nonfinite import checking, is_finite, passed
from tracegrad.introspection.explain import CacheInfo, chosen_by_number, too_many, why, why_slow
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.runtime.concurrency import runs_of
from tracegrad.runtime.own_references import KeepsPrograms
from tracegrad.runtime.thread_state import STATE, given_objects
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tensors.devices import bare
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform, differentiated, require_devices
from tracegrad.tracing.path_tree import with_turns
from tracegrad.tracing.restarts import (
    AsGiven,
    MetTracer,
    OneByOne,
    OnTape,
    Purpose,
    TooDeep,
    Unprogrammed,
    Unreplayed,
)
from tracegrad.transforms.batched_calls import BatchCalls, in_call
from tracegrad.transforms.changed_arguments import ChangedArguments
from tracegrad.transforms.changing_ints import ChangingInts
from tracegrad.transforms.direct_calls import DirectCalls, Given
from tracegrad.transforms.eager_calls import EagerCalls
from tracegrad.transforms.explored_arms import version_with_arms
from tracegrad.transforms.tensor_calls import TensorCalls
from tracegrad.transforms.version_lookup import VersionLookup
from tracegrad.user_code.closures import reads_history
from tracegrad.values.dataclass_attributes import converted
from tracegrad.values.dispatch import is_jax_tracer
from tracegrad.values.pytree import flatten, with_keys_of_jax
from tracegrad.world.code_origin import is_renewable
from tracegrad.world.functions import FunctionPlace

_SETS_OF_NAMES: dict[frozenset[str], frozenset[str]] = {}  # one object for equal ones
UNUSED = 2  # versions in a row that their own first calls made useless


def array_leaf(leaf: Any) -> Any:
    """A Tensor's or a JAX array's NumPy array."""
    return np.asarray(found) if is_jax(found := bare(leaf)) else found


class Calling(DirectCalls, BatchCalls, TensorCalls, EagerCalls, VersionLookup, KeepsPrograms):
    """A function whose calls run generated source: the versions of it, and which of them runs."""

    _misses: int
    _traces: int
    _untraced: bool  # it runs on the caller's own objects, without a program
    _calls_before = 0  # in other hands (`made_again.py`)
    _looked_at = False  # somebody asked what it has done
    _stead: FunctionPlace | None = None  # where other functions of this code come to stand

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Transform,
        backend: str | None = None,
        static_argnames: Sequence[str] = (),
    ) -> None:
        self._binds = not isinstance(function, staticmethod)  # looked up on an instance
        if isinstance(function, staticmethod):
            function = function.__func__
        if isinstance(function, classmethod):
            raise ArgumentError(
                "expected a function, not a classmethod: write @classmethod above this decorator"
            )
        if not callable(function):
            raise ArgumentError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self.__name__: str = name_of(function)
        self._function = function
        self._transform = transform
        self._backend = backend
        names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
        self._static = _SETS_OF_NAMES.setdefault(frozenset(names), frozenset(names))
        self._defaults = defaults_of(function)
        self._read_signature()
        self._shown = shown_signature(function)
        if self._shown is None:
            check_static(self._static, self._signature, self.__name__)
        self._tracing = threading.Lock()  # held by the one thread that traces; nobody waits for it
        self._lock = threading.Lock()  # around changes of the versions, not around user code
        self._runs = runs_of(code_of(function))
        self._generation = 0  # how often the versions have changed
        self._placed: dict[Any, Callable[..., Any]] = {}  # what puts names behind the others
        self.clear_cache()

    # -- calling --------------------------------------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The general way of a call: any arguments, any structure, first calls.

        A function that the machine does not execute runs natively, without a program.
        """
        with kept():
            return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = CHOSEN[self._backend].target
        require_devices(self._transform, target, (args, kwargs), self.__name__)
        if config.compile or self._transform.kind != "compile":
            reason = not_executed(self._function)
            if not reason or any(map(is_jax_tracer, flatten((args, kwargs))[0])):
                return self._traced(args, kwargs)
            if not self._untraced:
                self._untraced = True
                warn_caller(f"{reason}: {self.__name__} runs without being compiled")
            if self._transform.kind != "compile":
                return self._natively(args, kwargs)
        leaves, _ = flatten((args, kwargs))
        if any(map(is_jax, leaves)):
            return self._call_on_jax(args, kwargs, eagerly=True)
        args, kwargs = with_keys_of_jax((args, kwargs)) if STATE.of_jax else (args, kwargs)
        return self._uncompiled(args, kwargs, leaves)

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if reads_history(self._function):
            return self._inline(self._bind(args, kwargs))
        if STATE.aside and not kwargs and STATE.trace is None and config.compile:
            result = self._watched(args)
            if result is not MISS:
                return result
        of_number = self._transform.kind in ("grad", "value_and_grad")
        plain = not (kwargs or self._static or self._changed.parameters or checking())
        if self._given_up and of_number and plain:
            with self._budget.running(), self._executed():
                result = derivative_of_arrays(self._function, args, self._transform, self.__name__)
            if result is not NotImplemented:
                return result
        leaves, _ = flatten((args, kwargs))
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            return self._call_on_tensors(args, kwargs, leaves)
        if any(map(is_jax, leaves)):
            return self._call_on_jax(args, kwargs)
        if STATE.trace is not None:  # what it closes over may be part of that trace
            return self._inline(self._bind(args, kwargs))
        if self._is_recorded(args, kwargs):
            return self._call_on_tape(args, kwargs)
        arguments = self._bind(args, kwargs, whole=True)
        if self._stays_eager or self._is_beside_fields(arguments):
            return self._without_program(arguments)
        if self._is_single(arguments):
            return self._singly(arguments)
        known = len(self._changed.parameters)
        try:
            given = self._given(args, kwargs)
            found = self._answer(arguments, CHOSEN[self._backend], given)
        except MetTracer:
            return self._inside_jax(args, kwargs)
        except OnTape:
            return self._call_on_tape(args, kwargs)
        if found.version is not None:
            return found.result
        if found.run is not None:
            return self._result(found.run, arguments)
        if len(self._changed.parameters) > known:  # its arguments are objects, as it turned out
            return self._traced(args, kwargs)
        if self._is_single(arguments):
            return self._singly(arguments)
        return self._without_program(arguments)

    # -- versions for calls ---------------------------------------------------------------------

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
        """A call as an entry is made of it; None for one that no entry is to take."""
        if not kwargs:
            return Given(len(args))
        if self._transform.kind == "vmap":
            return None
        count = len(args) + len(kwargs)
        parameters = list(self._signature.parameters.values())[:count]
        plain = all(p.kind is Parameter.POSITIONAL_OR_KEYWORD for p in parameters[: len(args)])
        names = tuple([p.name for p in parameters[len(args) :] if p.kind is Parameter.KEYWORD_ONLY])
        return Given(count, names) if plain and names == tuple(kwargs) else None

    def _answer(
        self,
        arguments: Arguments,
        mode: Mode,
        given: Given | None,
        call: Callable[[Version], Any] | None = None,
        plain: Callable[[], Arguments] | None = None,
        histories: Sequence[Any] | None = None,
        looks: bool = False,
    ) -> Answer:
        """Looks up the version that stands for a call; without any, makes one if that is worth it.

        given
            How the call gave its arguments, for an entry; None where none is to be made.
        call
            Gives the result of a version, where that is not the plain one.
        plain
            The arguments for a trace, where those of the call do not hold NumPy arrays.
        looks
            This is no call: nothing is counted, and what is made is not called.
        """
        with given_objects(arguments.objects):
            return self._answer_of_objects(arguments, mode, given, call, plain, histories, looks)

    def _answer_of_objects(
        self,
        arguments: Arguments,
        mode: Mode,
        given: Given | None,
        call: Callable[[Version], Any] | None,
        plain: Callable[[], Arguments] | None,
        histories: Sequence[Any] | None,
        looks: bool,
    ) -> Answer:
        """The same, where the thread knows the objects among the arguments."""
        left: list[Left] = []
        state = self._generation
        plain_lists = histories is not None or (call is not None and not looks)
        found = self._lookup(arguments, mode, left, call, plain_lists)
        made: Version | Run | None = None
        if found is None and not self._tracing.acquire(blocking=False):
            self._misses += not looks  # another thread traces, which may wait for this one
        elif found is None:
            try:
                if state != self._generation:  # another thread has been here
                    left = []
                    found = self._lookup(arguments, mode, left, call, plain_lists)
                if found is None:
                    arguments = self._as_traced(arguments, mode, left, plain_lists)
                    made = self._missed(arguments, mode, given, left, histories, looks, plain)
            finally:
                self._tracing.release()
        if found is not None:
            if found.version is not None and not looks:
                found.version.hits += 1
                self._tell_of_lost_history(found.version, histories)
                self._enter(found.version, arguments, given)
            return found
        if isinstance(made, Version):
            return Answer(made) if looks else self._first(made, arguments, call)
        return Answer(run=made)

    def _watched(self, args: tuple[Any, ...]) -> Any:
        """The result by an entry, checked for nan and inf or timed for a profile."""
        try:
            for run, version in self._entries.get(CHOSEN[self._backend], ()):
                result = watched_entry(run)(args)
                if result is not MISS:
                    version.hits += 1
                    return result
                self._passes()
        except Exception as error:
            if not version.goes_on(error):
                raise
        return MISS

    def _missed(
        self,
        arguments: Arguments,
        mode: Mode,
        given: Given | None,
        left: Sequence[Left],
        histories: Sequence[Any] | None,
        looks: bool,
        plain: Callable[[], Arguments] | None,
    ) -> Version | Run | None:
        """What is made for a call that no version takes."""
        self._misses += not looks
        before = left[0].version.growth.copy() if left else None
        try:
            if not looks and not self._worth_a_trace(left):
                return None
            if self._is_full(arguments, mode, left):
                return None
            arguments = arguments if plain is None else plain()
            return self._make(arguments, mode, given, left, histories, not looks)
        except (Exception, OnTape) as error:  # the user's function raised: this was no path
            if before is not None:
                left[0].version.growth.restore(before)
            if isinstance(error, OnTape):
                self._misses -= 1  # the call is looked up once more, as one that is recorded
            raise

    def _worth_a_trace(self, left: Sequence[Left]) -> bool:
        """Whether a call is to be compiled; where no path is any more, says so once.

        Of a path that a version does not know, the tree of that version decides as well.
        """
        payable = not self._budget.lacking
        if not left:
            return payable
        version, said = left[0]
        growth = version.growth
        if growth.worth(self._hits, version.tree, payable):
            return True
        if growth.stopped and not growth.warned:
            growth.warned = True
            warn_caller(
                f"{self.__name__}: {growth.stopped}, and calls keep taking others: {said}. They "
                "run eagerly from here on, with a compiled backward"
            )
        if growth.useless:
            self._give_up(f"{growth.stopped}, and calls keep taking others")
        return False

    @property
    def _stays_eager(self) -> bool:
        """Whether no program is to be made or run."""
        return bool(self._given_up) or not config.compile

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any], whole: bool = False) -> Arguments:
        """The arguments of a call; `whole` dataclasses with more than their fields are objects."""
        defaults = defaults_of(self._function)
        if len(defaults) != len(self._defaults) or not all(map(is_, defaults, self._defaults)):
            self._defaults = defaults
            self._read_signature()
            self._drop_directs()  # which have the parameters of before
        unread = self._transform.unread(self._function)
        maps = self._transform.kind == "vmap"
        # Inside a trace the function reads its defaults, which are then known to be from outside.
        reads = STATE.trace is not None or self._stead is not None
        filled = not maps and (not reads or self._transform.is_beyond(len(args)))
        name = getattr(self, "__qualname__", self.__name__)
        known = (self._static, unread, filled, self._shown, name)
        learned: Any = (self._ints.arguments, self._changed.parameters)
        learned = () if CHOSEN[self._backend].target == "jax" else learned
        wanted = self._transform.by_fields if whole else None
        arguments = bind(self._signature, args, kwargs, *known, is_renewable, wanted, *learned)
        if not maps:
            return arguments
        given = (self._signature, args, kwargs, self._transform.in_axes, self.__name__)
        return with_axes(arguments, *given)

    def _signature_now(self) -> Signature:  # of a call
        return self._transform.signature(self._signature_of_function())

    def _signature_of_function(self) -> Signature:
        f = self._function
        return f._signature_now() if isinstance(f, Calling) else signature_of(f)

    def _read_signature(self) -> None:
        """How calls are bound, and what `inspect.signature` shows.

        Of a wrapper's derivative it shows what it shows of the wrapper: the parameters of the
        function that is wrapped, which it finds by itself.
        """
        self._signature = self._signature_now()
        self.__signature__ = self._signature
        wraps = hasattr(self._function, "__wrapped__")
        if wraps and are_one(self._signature, self._signature_of_function()):
            del self.__signature__

    def _first(
        self, version: Version, arguments: Arguments, call: Callable[[Version], Any] | None
    ) -> Answer:
        """The result of the call that a version was made for."""
        try:
            answer = Answer(version, version.call(arguments) if call is None else call(version))
            version.outdated = not version.unchanged()
            return answer
        except FiniteError:
            raise
        except Exception as error:
            if type(error) is LookupError:  # XLA rounds otherwise than what Python looked at
                return Answer()
            by_rule = version.opaque and version.goes_on(error)
            if not (by_rule or isinstance(error, np.linalg.LinAlgError | FloatingPointError)):
                raise
            if call is not None:
                raise NotRecorded from error
            if by_rule or version.raises_as_math:  # in a turn that was not run in Python
                return Answer()
            raise

    def _make(
        self,
        arguments: Arguments,
        mode: Mode,
        given: Given | None,
        left: Sequence[Left],
        histories: Sequence[Any] | None = None,
        counts: bool = True,
    ) -> Version | Run | None:
        """A version for this call; its run where that is none, None where none is to be made.

        `counts` is False for a run that only looks: it is no reason to give the function up.
        """
        every = self._every
        reason = why(arguments, mode, every, left[0].said if left else "")
        more = counts and not left and self._ints.meet(arguments, mode, every)
        more = self._learns_of_renewed(arguments, mode) or more
        if not left and not more and self._changes_what_it_reads(arguments, mode):
            self._give_up("it changes what it reads, so that each call needs a version of its own")
            warn_caller(
                f"{self.__name__} changes what it reads, so that each call needs a version of its "
                f"own: {reason}. It runs eagerly from here on; pass what it reads and return what "
                "is to be kept instead"
            )
            return None
        known = left[0].version if left else None
        before = self._budget.spent
        run = None
        try:
            version = self._around_loops(arguments, mode, known, reason)
            if version is None:
                of_arrays = counts and histories is None
                purpose = self._purpose if of_arrays else Purpose.of(counts)
                run = self._run(arguments, mode, known, histories, purpose=purpose)
                if run.serves:
                    if self._ints.are_asked_for(run, arguments, every, counts):
                        return None
                    if arguments.has_unread and not self._transform.unread(self._function):
                        return None  # its frame was shown: later calls have the value in the key
                    first = known is None and not self._versions.get((arguments.key, mode))
                    if first and of_arrays and run.world.joins and run.world.joins.met:
                        version, run = version_with_arms(self, arguments, mode, run, reason)
                    else:
                        version = self._version(arguments, mode, run, known, reason)
        except Unreplayed as told:
            if counts and told.counts:
                self._strike(told.effect, known)
            return None
        except (Unprogrammed, OneByOne) as told:
            again = self._told(told, arguments)
            return self._make(arguments, mode, given, left, histories, counts) if again else None
        except (AsGiven, Unrollable, SizeError) as told:  # of what masks of turns pick
            if isinstance(told, Unjoined):
                assert run is not None
                if run.world.joins.keep_apart(told.label) or left:
                    return self._make(arguments, mode, given, [], histories, counts)
            if arguments.stacked:
                self._counted = True
                return self._make(as_given(arguments), mode, given, (), histories, counts)
            if isinstance(told, AsGiven):
                learned = self._changed.learn(told.changed, arguments, mode, self._transform)
                if told.outside and not learned and self._transform.differentiates:
                    refuse_two_ways(told.changed[0])
                return None  # it is answered eagerly
            assert run is not None
            label = getattr(told, "label", None)
            if not run.world.loops.unroll(str(told), label):
                return None
            return self._make(arguments, mode, given, left, histories, counts)
        except TooDeep:
            self._give_up("its program nests deeper than Python's recursion limit")
            warn_caller(
                f"{self.__name__}: the program of this call has so many loops and branches one "
                "after the other that it nests deeper than Python can; it runs eagerly from here "
                "on. Compile parts of it instead"
            )
            return None
        if version is not None:
            self._keep(version, arguments, given)
            self._tell_of_lost_history(version, histories, counts or given is not None)
            if counts and run is not None:
                took = self._budget.spent - before - run.trace.computing
                if chosen := chosen_by_number(mode, self._every, self._static):
                    warn_caller(f"{self.__name__}: {chosen}")
                if self._budget.tells(took):
                    nodes = with_turns(run.trace.builder.nodes)
                    text = why_slow(
                        self.__name__, took, nodes, mode.target, run.trace.unrolled_because
                    )
                    warn_caller(text, SlowCompileWarning)
            return version
        assert run is not None
        self._budget.spent -= run.trace.computing  # the run answers, as an eager call would
        changed = run.borrowed.changed_containers
        if self._ints.count(run.counted):
            pass  # they are inputs of the next trace
        elif self._changed.learn(changed, arguments, mode, self._transform):
            pass  # they are objects in the next trace
        elif run.alone and counts and not run.world.unrolls:
            self._strike(run.effect, known)
        return run

    @property
    def _knows(self) -> tuple[int, int]:
        """How much runs have taught of what the function counts in, and changes."""
        return len(self._ints.places), len(self._changed.parameters)

    def _is_full(self, arguments: Arguments, mode: Mode, left: Sequence[Left]) -> bool:
        """Whether there are as many versions as there may be; says so then."""
        if len(self._every) < config.versions or left:
            return False
        self._drop_outlived()
        every = self._every
        if len(every) < config.versions:
            return False
        self._give_up(f"{len(every)} versions were compiled, and calls need others")
        warn_caller(f"{self.__name__}: {too_many(arguments, mode, every)}")
        return True

    def _drop_outlived(self) -> None:
        """Drops versions that no call can need any more."""
        for version in [version for version in self._every if version.outlived]:
            with self._lock:
                for place, versions in self._versions.items():
                    self._versions[place] = [v for v in versions if v is not version]
                self._replace_entries(version)
                for mode, several in self._quick.items():
                    self._quick[mode] = tuple([q for q in several if q.version is not version])
                self._generation += 1

    def _learns_of_renewed(self, arguments: Arguments, mode: Mode) -> bool:
        """Whether places hold others of their class by now that were not known to."""
        known = len(self._renewed)
        for version in self._versions.get((arguments.key, mode), []):
            self._renewed |= version.world.replaced()
        return len(self._renewed) > known

    def _changes_what_it_reads(self, arguments: Arguments, mode: Mode) -> bool:
        """Whether the last versions did not stand for a call after their first, by what it did."""
        last = self._versions.get((arguments.key, mode), [])[-UNUSED:]
        return len(last) == UNUSED and all(v.outdated and not v.hits for v in last)

    def _run(
        self,
        arguments: Arguments,
        mode: Mode,
        known: Version | None,
        histories: Sequence[Any] | None = None,
        ways: Ways | None = None,
        purpose: Purpose = Purpose.ANSWER,
    ) -> Run:
        self._traces += ways is None or not ways.explores
        call = self._caller(arguments)
        with self._runs.entered(), self._budget.compiling(mode.target):
            return traced_run(
                *(self._function, call, self._transform, arguments, mode, known),
                *(self._runs, histories, frozenset(self._ints.places), self._renewed),
                *(self._single, ways, self._taught.setdefault((arguments.key, mode), Taught())),
                *(purpose, self._stead),
            )

    def _version(
        self, arguments: Arguments, mode: Mode, run: Run, known: Any, reason: str, ways: Any = None
    ) -> Version:
        of = self._function, self._transform, arguments, mode, run, known, ways
        with self._budget.compiling():
            try:
                version = make_version(*of)
            except RecursionError as error:
                why = "its program nests deeper than Python can: compile parts of the function"
                raise TooDeep(f"{self.__name__}: {why} instead") from error
        version.reasons = (*(version.replaces.reasons if version.replaces else ()), reason)
        version.effect = run.effect
        return version

    def _result(self, run: Run, arguments: Arguments, shown: Callable[[Any], Any] = bare) -> Any:
        """What the call returns that was traced but not compiled: the tape of that run gives it."""
        settle(run)
        try:
            result = handed_out(
                derived_of_run(run, arguments, self._transform, self.__name__),
                [leaf.value for leaf in arguments.leaves],
            )
        finally:
            run.world.settle()
        run.borrowed.settle(shown)
        if checking() and not is_finite(result):
            self._blame(run, arguments)
        return passed(result, self.__name__)

    def _blame(self, run: Run, arguments: Arguments) -> None:
        """Raises the error that names the statement, by a program of what the run did."""
        try:
            reason = "its result is not finite"
            version = self._version(arguments, EXACT["numpy"], run, None, reason)
            with given_back(sources_of(version.program.graph)):
                version.outputs(arguments)
        except FiniteError:
            raise
        except Exception:  # no program can be made: the caller says what is known
            return

    def _keep(self, version: Version, arguments: Arguments, given: Given | None) -> None:
        """Enters a version, in the place of the one that it has grown from.

        Those for matrices in C order are asked before those for any: they have less to do.
        """
        replaced = version.replaces
        if replaced is not None:
            replaced.replaces = None  # of those before it nobody asks any more
            version.hits = replaced.hits
        place = (arguments.key, version.mode)
        with self._lock:
            others = [v for v in self._versions.get(place, []) if v is not replaced]
            self._versions[place] = sorted([*others, version], key=lambda v: v.in_order)
            self._replace_entries(replaced)
            self._generation += 1
            self._strikes = 0
        self._learn_lists(version)
        self._enter(version, arguments, given)

    def _enter(self, version: Version, arguments: Arguments, given: Given | None) -> None:
        """Makes the entry of a version for calls that give their arguments as this one does."""
        if given is None or given in version.entered or version.draws_on_host:
            return  # of those that draw not every call runs the program: see `jax_calls`
        if arguments.tensors is not None and version.reads_leaves:
            return  # those leaves are arrays for an entry
        made = entry(version, arguments.values, given.number)
        made.version = version  # for `watched_entry`
        made.given = given.number, arguments.values[given.number :]  # for `_write_directly`
        key: Any = (version.mode, given.names) if given.names else version.mode
        if arguments.tensors is not None:
            key = version.mode, arguments.places_of_tensors
        with self._lock:
            version.entered.add(given)
            self._add_entry(key, made, version)

    def _strike(self, effect: str, known: Version | None) -> None:
        """A function that changes state of its own is not compiled.

        Where the version `known` has programs of other ways through it, no further way is.
        """
        self._strikes += 1
        told = f"{self.__name__} does more than compute: it reads or changes {effect}."
        if STATE.of_jax:  # an eager call does not take functions of JAX's
            if self._strikes == 2:
                each = "Each call is traced, and none has a program; pass what it reads instead"
                warn_caller(f"{told} {each}")
        elif self._strikes >= 2:  # the first may have filled a cache
            calls = "It runs" if known is None else "Calls that come there run"
            if known is None:
                self._give_up(f"it reads or changes {effect}")
            else:
                known.growth.stop(f"a way through it reads or changes {effect}")
            warn_caller(
                f"{told} {calls} eagerly from here on, so that nothing of this is lost; pass what "
                "it reads and return what is to be kept instead"
            )

    def _give_up(self, reason: str) -> None:
        """From here on the function runs eagerly, and no program is tried before."""
        with self._lock:
            self._given_up = reason
            self._drop_entries()

    def _caller(self, arguments: Arguments) -> Callable[[Sequence[Any]], Any]:
        """Calls the function with one value a parameter."""
        transform = self._transform

        def call(values: Sequence[Any]) -> Any:
            args, kwargs = in_call(arguments, values, transform.followed)
            try:
                returned = call_user(self._function, args, kwargs, self)
            except ValueError as error:
                raise_told(error)
                raise
            if transform.pushes_vectors:
                require_vectors(values[-1], differentiated(arguments, transform, values))
            elif transform.takes_vectors:
                require_vectors(values[-1], returned[0] if transform.has_aux else returned)
            return returned

        if arguments.axes:
            return self._over_batch(call, arguments)
        return self._over_derivatives(call, arguments) if self._is_over_derivatives else call

    # -- other kinds of arguments ---------------------------------------------------------------

    def _call_on_jax(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], eagerly: bool = False
    ) -> Any:
        # JAX is there, as it made an argument
        from tracegrad.transforms.jax_calls import call_on_jax

        return call_on_jax(self, args, kwargs, eagerly)

    def _inside_jax(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from tracegrad.transforms.jax_calls import inside_jax

        return inside_jax(self, args, kwargs)

    # -- versions -------------------------------------------------------------------------------

    def cache_info(self) -> CacheInfo:
        """Calls that a compiled version answered, calls that needed a new one, traces, versions."""
        self._looked_at = True
        return CacheInfo(self._hits, self._misses, self._traces, len(self._every))

    def clear_cache(self) -> None:
        """Forgets every compiled version."""
        self._versions: dict[Any, list[Version]] = {}
        self._drop_entries()
        self._quick = {}
        self._misses = self._traces = 0
        self._given_up = ""  # why it runs eagerly from here on
        self._by_arguments = ""  # why some calls do
        self._untraced = False
        self._strikes = 0
        self._single, self._looping, self._unrolled = set(), set(), set()
        self._budget = Budget()
        self._ints, self._changed = ChangingInts(), ChangedArguments()
        self._taught: dict[Any, Taught] = {}  # by runs, by key and mode
        self._renewed: set[Any] = set()  # places of objects that others of their class replace
        self._lists, self._counted = set(), False
        self._generation += 1

    def _version_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], enters: bool = True
    ) -> Version:
        """The version for a call, made without that call where there is none.

        Such a call finds its entry then, if it `enters`. Raises `TraceError` where there is no
        program of what the function does; nothing of what calls use up is used up.
        """
        args, kwargs = converted(array_leaf, (args, kwargs))
        arguments, mode = self._bind(args, kwargs, whole=True), CHOSEN[self._backend]
        known = self._knows
        versions = self._versions.get((arguments.key, mode), [])
        sources = [s for version in versions for s in sources_of(version.program.graph)]

        def outputs(version: Version) -> Any:
            with suppress(NotRecorded, *RAISED_BY_NUMPY):
                version.outputs(arguments)

        with kept(), given_back(sources):  # to look is not to call
            given = self._given(args, kwargs) if enters else None
            found = self._answer(arguments, mode, given, outputs, looks=True)
        if found.version is not None:
            return found.version
        if self._knows != known:  # a run has taught what the next one is to do
            return self._version_for(args, kwargs, enters)
        if self._is_single(arguments):
            first = self._mapping(arguments).first(arguments.values)
            return self._one._version_for(*in_call(arguments, first), enters)
        # another thread traces: this version is for looking at alone
        try:
            run = found.run or self._run(arguments, mode, None, purpose=Purpose.LOOK)
        except Unreplayed as told:
            text = f"{self.__name__} {told}: its calls run eagerly, and there is no program of it"
            raise TraceError(text) from None
        except Unprogrammed as told:
            raise TraceError(f"{self.__name__} {told}; there is no program of it") from None
        except AsGiven:
            text = "changes a container that stands at two places, or asks whether it is one"
            raise TraceError(f"{self.__name__} {text}: there is no program of it") from None
        return self._version(arguments, mode, run, None, "its source was asked for")
