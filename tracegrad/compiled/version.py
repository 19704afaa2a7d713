"""Makes a compiled version of a function for the arguments of one call.

A version is a tree of paths (`path_tree.py`) with what follows from it: the graphs of every stage,
the program, and the guards under which the program stands for the function. A call that takes a
path which the program does not know is traced along the tree, and leaves a version with one path
more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from codegen.emit.target import Source
from codegen.errors import CodegenError
from codegen.ir import Block, Call, Graph, Origin
from codegen.sizes import Sizes, substitute
from tracegrad.arguments.argument_changes import ArgumentStore, in_c_order, overlapping
from tracegrad.arguments.signature import Arguments
from tracegrad.arguments.stacked_lists import Place, as_in, lists_in
from tracegrad.autograd.assumed_histories import Assumed, assumed_by
from tracegrad.autograd.rule_outcomes import beginning_again, interrupting
from tracegrad.compiled.captured import Captured, decisive, memory
from tracegrad.compiled.followed_paths import paths_of, tree_of
from tracegrad.compiled.handed_out import as_had
from tracegrad.compiled.joint_graph import Paths, Returned, joint_graph, require_alike
from tracegrad.compiled.profiled_program import profiled
from tracegrad.compiled.program_header import empty_graph, takes_leaves
from tracegrad.compiled.sampled_ways import Ways
from tracegrad.compiled.traced_run import (
    Followed,
    Run,
    Taught,
    lie_in_order,
    places_of_call,
    required_of,
    run_traced,
)
from tracegrad.compiled.written_outside import written_arrays, written_containers
from tracegrad.config.compile_mode import Mode
from tracegrad.differentiation.joins import Unjoined
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.errors import RAISED_BY_NUMPY, LostGradientError, TraceError, TracegradError
from tracegrad.execution.graph_interpreter import has_looks, lengths
from tracegrad.execution.nonfinite import checked, checking
from tracegrad.execution.pipeline import Program, compile_graph, timed, with_outputs_at
from tracegrad.ops.random_draws import giving_back, sources_of
from tracegrad.ops.shape.constant_bounds import bounds_of_constants
from tracegrad.optimizer.memory_order import depends_on_order
from tracegrad.runtime.concurrency import Runs
from tracegrad.runtime.gc_pause import collected_later
from tracegrad.runtime.thread_state import STATE, given_objects
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.backoff import Growth
from tracegrad.tracing.outputs import (
    Transform,
    check_returned,
    check_wanted,
    left_out,
    outputs_of,
    places_of,
    without_histories,
    zero_dimensional,
)
from tracegrad.tracing.path_tree import (
    End,
    Meet,
    Tree,
    blocks,
)
from tracegrad.tracing.restarts import AsksMode, Purpose
from tracegrad.user_code.lines_without_ops import ended
from tracegrad.user_code.lost_gradients import Watch
from tracegrad.values.dispatch import is_jax_array
from tracegrad.values.pytree import flatten
from tracegrad.world import Guard, World
from tracegrad.world.effects import Argument, Placed, Replay, prepared_changes, prepared_stores
from tracegrad.world.functions import FunctionPlace
from tracegrad.world.guard_function import StateCheck
from tracegrad.world.joined_numbers import shown_numbers
from tracegrad.world.loops.loop_heads import known_of
from tracegrad.world.loops.straight_code import Taped
from tracegrad.world.loops.unseen_turns import FromAnew, learn
from tracegrad.world.loops.widened_states import Learned
from tracegrad.world.stores import Store, overwritten


@dataclass
class Version:
    """One compiled version; see the module's first lines."""

    tree: Tree
    arguments: Arguments
    traced: Graph
    differentiated: Graph
    program: Program
    captured: tuple[Captured, ...]
    world: World
    check: StateCheck
    results: tuple[Returned, ...]  # one for each end of a path
    built: bool  # the program returns what `finish` makes the returned object of
    mode: Mode
    symbols: Mapping[str, tuple[int, int | None]]  # a free length: traced input and axis
    guards: tuple[tuple[Any, Any], ...]
    times: Mapping[str, float]  # seconds that each stage took for the last path
    growth: Growth
    replaces: Version | None  # the one that it has grown from
    grad_enabled: bool | None = None  # when it stands: recording or not; None for both
    reasons: tuple[str, ...] = ()  # why each of its paths was compiled
    hits: int = 0  # calls that it answered
    hits_before: int = 0  # when versions were last put in the order in which calls ask them
    entered: set[Any] = field(default_factory=set)  # how calls give arguments that entries are for
    looked_at: Mapping[str, str] = field(default_factory=dict)
    """Where Python read a length that a guard fixes: its symbol, and the line."""
    recorded: dict[tuple[bool, ...], list[Any]] = field(default_factory=dict)
    """As one node of a tape (`tracegrad.compiled.tape_node`), by the inputs that have gradients."""
    not_recorded: str = ""  # why no node of a tape stands for its calls on Tensors
    assumed: Assumed | None = None  # of histories, where these matter
    ordered: int = 0  # arrays of so many axes or more are in C order: it decides what is a view
    in_order: bool = False  # so are matrices, for the program: other arrays are made like these
    any_order: bool = False  # a call that it was made for had matrices in another order
    outdated: bool = False  # its first call changed what it assumes
    told: bool = False  # that its calls lose the history of Tensors, where they do
    of_graph: bool = False  # made of the graph of another version, whose tree it has
    shows_exceptions: bool = False  # it shows where the program, which calls rules, is left
    reads_key_order: bool = False  # the keys of a dictionary among the arguments, in their order
    raises_as_math: bool = False  # it calls `math`, which raises where NumPy warns
    effect: str = ""  # what its run did beside computing: such a version is looked at, never run
    listed: tuple[Place, ...] = ()  # arguments, lists of arrays, that its loops read by number
    required: tuple[bool, ...] = ()  # whether what is captured required grad when it was made
    refused: set[tuple[bool, ...]] = field(default_factory=set)  # inputs that have no backward
    decisive: tuple[Captured, ...] = ()
    """Of a compiled function: the Tensors from outside on which results depend."""

    @property
    def objects(self) -> int:
        """How many of its arguments are objects that it knows by their class."""
        return sum([leaf.kind[0] == "object" for leaf in self.arguments.leaves])

    def records(self) -> bool:
        """Whether results have a history by now, of what stands outside, where any is recorded."""
        return any([captured.requires_grad for captured in self.decisive])

    @property
    def target(self) -> str:
        """The target of its program."""
        return self.mode.target

    @property
    def takes_leaves(self) -> bool:
        """Whether the program has a parameter for each array, not for each argument."""
        return takes_leaves(self.arguments, self.target)

    @property
    def read_again(self) -> list[Guard]:
        """The places of captured arrays: what is there is no guard, it is read by every call."""
        return [c.source for c in self.captured if c.source is not None]

    @cached_property
    def checked(self) -> bool:
        """True when Python looked at a value: the program may refuse a call."""
        return self.opaque or has_looks(self.program.graph, self.target)

    @cached_property
    def opaque(self) -> bool:
        """True when the program calls the user's own Python."""
        calls = (node for node in self.program.graph.all_nodes if isinstance(node, Call))
        return any(call.op.opaque for call in calls)  # type: ignore[attr-defined]

    @property
    def gives_arrays_alone(self) -> bool:
        """Whether calls do no more than to return arrays, in one structure, with loops."""
        first = self.results[0].result
        alike = all(r.result == first and not (r.stores or r.effects) for r in self.results)
        arrays = all(isinstance(leaf, int) for leaf in first.leaves)
        plain = not (self.effect or self.ordered or self.opaque)
        return plain and alike and arrays and self.tree.loops

    @cached_property
    def draws_on_host(self) -> bool:
        """Whether a program for JAX asks generators of NumPy's, which it calls back for."""
        return self.target == "jax" and bool(sources_of(self.program.graph))

    def finish(
        self, outputs: Any, leaves: Sequence[Any] = (), objects: tuple[Any, ...] | None = None
    ) -> Any:
        """The returned object, from a flat tuple or from the number of the end and such a tuple.

        `leaves` are the traced arguments as they were given, where `reads_leaves`. `objects` are
        those that it knows by their class, where the thread is not told of them.
        """
        if objects is not None:
            with given_objects(objects):
                return self.finish(outputs, leaves)
        end, values = outputs if len(self.results) > 1 else (0, outputs)
        returned = self.results[end]
        stored = [values[place] for place in returned.stored]
        stores = prepared_stores(returned.stores, stored, leaves)
        call = Replay(values, leaves, returned.first)
        for change in prepared_changes(stores, returned.effects, call):
            change.do()
        return returned.result.build(values)

    @cached_property
    def written(self) -> tuple[int, ...]:
        """Which of the traced leaves calls write to."""
        stores = (store for returned in self.results for store in returned.stores)
        return tuple(sorted({s.leaf for s in stores if isinstance(s, ArgumentStore)}))

    @cached_property
    def keeps(self) -> bool:
        """Whether calls leave something behind, beside what they return."""
        return any(returned.stores or returned.effects for returned in self.results)

    @cached_property
    def reads_leaves(self) -> bool:
        """Whether calls do something with the arguments themselves: write to them, keep them."""
        forms = (form for r in self.results for effect in r.effects for form in effect.forms)
        return bool(self.written) or any(isinstance(form, Argument) for form in forms)

    @cached_property
    def written_outside(self) -> tuple[tuple[Guard, tuple[int, ...]], ...]:
        """Where arrays stand that calls write into, each with the others among the captured."""
        return written_arrays(self.results, self.captured)

    @cached_property
    def written_containers(self) -> tuple[Callable[[], Any], ...]:
        """What finds the containers outside that calls change, which no argument may be."""
        return written_containers(self.results, self.arguments)

    @property
    def axes_in_order(self) -> int:
        """Arrays of so many axes or more must be in C order; 0 where any order will do."""
        return _fewest_axes(self.ordered, 2 if self.in_order else 0)

    def with_graph(
        self,
        whole: Graph,
        program: Program,
        arguments: Arguments,
        sizes: Sizes,
        times: Mapping[str, float],
    ) -> Version:
        """The version whose graph was made of that of this one, under the same guards."""
        return replace(
            self,
            arguments=arguments.without_arrays(),
            traced=whole,
            differentiated=whole,
            program=program,
            in_order=False,
            symbols=_symbols(program.graph),
            guards=_guards(program.graph.sizes, sizes),
            times=times,
            growth=Growth(),
            replaces=None,
            reasons=(),
            hits=0,
            hits_before=0,
            recorded={},
            refused=set(),
            decisive=(),
            of_graph=True,
        )

    def for_any_order(self) -> Version:
        """The version with a program that asks arrays for the order in which they lie."""
        if not self.in_order:
            return self
        program = compile_graph(self.differentiated, self.mode.text)
        return replace(self, program=program, in_order=False, entered=set())

    @property
    def outlived(self) -> bool:
        """Whether it stands for calls with an object that is no more."""
        return any([guard.outlived for guard in self.world.guards.values()])

    @property
    def unchanged(self) -> Callable[[], bool]:
        """Tells whether all that the trace read from outside is as it was."""
        return self.check.unchanged

    def asked(self, question: Callable[..., bool]) -> Callable[..., bool]:
        """A question about the state that is asked with the objects among the arguments, if any."""
        if not self.objects:
            return question

        def ask(objects: tuple[Any, ...], *more: Any) -> bool:
            with given_objects(objects):
                return question(*more)

        return ask

    @property
    def run(self) -> Callable[..., Any]:
        """The program's function; it raises a plain LookupError where a look ends differently."""
        return self.guarded(self._function)

    @property
    def watched_run(self) -> Callable[..., Any]:
        """As `run`, with what goes on at the moment: checks for nan and inf, profiles."""
        function = self._function
        if STATE.observer is not None:
            function = profiled(self.program.source, function)
        run = self.guarded(function)
        return checked(run, self.program.graph) if checking() else run

    @property
    def _function(self) -> Callable[..., Any]:
        run = self.program.run
        looks = self.target == "jax" and self.checked
        return run.checked if looks else run  # type: ignore[attr-defined]

    def guarded(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A program that has drawn nothing where the function is to run again."""
        run = giving_back(self.raising(run), sources_of(self.program.graph), self.opaque)
        return beginning_again(run) if self.opaque else run

    @property
    def entry_run(self) -> Callable[..., Any]:
        """As `run`, for an entry: raises `Interrupted` where rules are not to be called again."""
        keeps = self.opaque and (self.shows_exceptions or self.keeps or bool(self.written))
        if keeps or (self.opaque and has_looks(self.program.graph, self.target)):
            return interrupting(self.run, self.goes_on)
        return self.run

    def goes_on(self, error: Exception) -> bool:
        """Whether the function itself runs for a call in which the program has raised this.

        It has a line to tell, and may catch it.
        """
        if self.opaque:
            return STATE.outcomes is not None and STATE.outcomes.goes_on(error)
        return isinstance(error, RAISED_BY_NUMPY) and not isinstance(error, TracegradError)

    def raising(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A program that raises where `math` would: the function runs again, without one."""
        return _raising(run) if self.raises_as_math and self.target == "numpy" else run

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether the state, and the lengths of these arrays, are what the trace assumed.

        `leaves` are the traced arguments and then the captured arrays.
        """
        if not self.unchanged() or self.grad_enabled not in (None, STATE.grad_enabled):
            return False
        start = len(leaves) - len(self.captured)
        if not all([captured.stands for captured in self.captured]):
            return False
        if not self.histories_stand():
            return False
        if not all(map(Captured.fits, self.captured, leaves[start:])):
            return False
        axes = self.axes_in_order
        if axes and not all([in_c_order(leaf, axes) for leaf in leaves]):
            return False
        for i in self.written:
            if overlapping(leaves[i], [*leaves[:i], *leaves[i + 1 :]]):
                return False
        for guard, others in self.written_outside:
            apart = [*leaves[:start], *[leaves[start + i] for i in others]]
            if overlapping(memory(guard.now()), apart):
                return False
        known = self.lengths(leaves)
        return all(substitute(a, known) == substitute(b, known) for a, b in self.guards)

    def lengths(self, leaves: Sequence[Any]) -> dict[str, int]:
        """What the symbols are for these leaves and what is captured."""
        return {
            name: leaves[i] if axis is None else np.shape(leaves[i])[axis]
            for name, (i, axis) in self.symbols.items()
        }

    def histories_stand(self) -> bool:
        """Whether histories of what stands outside are as it assumes."""
        return self.assumed is None or self.assumed.stand_outside(self.captured)

    def source_for(self, arguments: Arguments) -> Source:
        """The source that runs for arguments of this version's key."""
        arguments = as_in(arguments, self.arguments)
        traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
        with given_objects(arguments.objects):
            known = lengths(self.program.graph, [*traced, *self.captured_arrays()])
        return self.program.source.at(known)

    def captured_arrays(self, placed: bool = True) -> list[Any]:
        """What the captured arrays and Tensors hold now."""
        return [captured.array(placed) for captured in self.captured]

    def call(self, arguments: Arguments, given: Sequence[Any] | None = None) -> Any:
        """The result for arguments of this version's key, with the traced leaves as `given`."""
        arguments = as_in(arguments, self.arguments)
        outputs = self.outputs(arguments)
        if given is None:
            given = [leaf.value for leaf in arguments.leaves if leaf.traced]
        return self.finish(outputs, given, arguments.objects) if self.built else outputs

    def result(self, arguments: Arguments) -> Any:
        """As `call`, but what the call would store is left out."""
        outputs = self.outputs(arguments)
        if not self.built:
            return outputs
        end, values = outputs if len(self.results) > 1 else (0, outputs)
        return self.results[end].result.build(values)

    def outputs(self, arguments: Arguments) -> Any:
        """What the program returns; nothing is stored."""
        run = self.watched_run if STATE.aside else self.run
        captures = self.program.graph.frame.captures
        with given_objects(arguments.objects):
            keywords = dict(zip(captures, self.captured_arrays(), strict=True))
        if self.takes_leaves:
            traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
            return run(*traced, **keywords)
        return run(*arguments.values, **keywords)


class Left(NamedTuple):
    """A version whose program met an outcome that it does not know, and what it said."""

    version: Version
    said: str


class Answer(NamedTuple):
    """What stands for a call: a version and its result, else the run of a trace, else nothing."""

    version: Version | None = None
    result: Any = None
    run: Run | None = None


def traced_run(
    function: Callable[..., Any],
    call: Callable[[Sequence[Any]], Any],
    transform: Transform,
    arguments: Arguments,
    mode: Mode,
    known: Version | None = None,
    runs: Runs | None = None,
    histories: Sequence[Any] | None = None,
    counters: Collection[Any] = (),
    renewed: Collection[Any] = (),
    one_by_one: Collection[Any] = (),
    ways: Ways | None = None,
    taught: Taught | None = None,
    purpose: Purpose = Purpose.ANSWER,
    place: FunctionPlace | None = None,
) -> Run:
    """Traces the function; `known` is a version that stands for the call but for a look.

    On samples `ways` are those that runs have taken, and the one that this run takes.
    Turns of its loops leave no tape, where a program will stand for the run; else it is made again,
    as it is where it teaches something, which `taught` gets. At a `place` later calls have others
    in the stead of the function.
    """
    wanted = check_wanted(arguments, transform) if transform.differentiates else []
    parameters = frozenset(leaf.parameter for leaf in wanted)
    followed = paths_of(known) if ways is None else ways.followed
    choices = None if ways is None else ways.choices
    explores, samples = ways is not None and ways.explores, ways is not None and not ways.explores
    call = partial(Watch(transform.kind, transform.has_aux).run, call)
    name = getattr(function, "__name__", "the function")
    run = partial(
        run_traced,
        *(function, call, arguments, parameters, mode.target, runs, histories),
        *(counters, renewed, one_by_one, samples, choices, taught),
        keeps_types=transform.kind == "compile" and mode.text == "numpy",
        joins=transform.kind != "vmap" and not samples,  # whose examples take different ways
        explores=explores,
        purpose=purpose,
        check=partial(check_returned, transform=transform, name=name),
        place=place,
    )
    taped, as_caller, told = False, False, None
    with places_of_call(taught):
        while True:
            try:
                made = run(followed=followed, taped=taped, as_caller=as_caller)
            except Taped:
                taped = True
            except AsksMode:
                as_caller = True
            except FromAnew as error:
                followed, told = Followed(), error
            except Learned:
                continue
            else:
                loops = made.world.loops
                if told is not None and loops is not None:
                    learn(told, loops)
                if made.serves and loops is not None and loops.mixes_floats:
                    loops.forget_wide()
                elif made.lacks_tape:
                    taped = True
                elif not made.needs_numbers:
                    known_of(made.trace.code, mode.target, made.trace.kinds).tries_again()
                    return replace(made, supersedes=told is not None and not told.loop)


def made_of_numpy(holder: Any, world: World) -> bool:
    """Whether the function itself makes an array of NumPy's."""
    return type(holder) is np.ndarray and not world.is_outside(holder)


def _raising(run: Callable[..., Any]) -> Callable[..., Any]:
    """A program that raises where NumPy would warn."""

    @wraps(run)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return run(*args, **kwargs)

    return guarded


def end_of(
    transform: Transform,
    arguments: Arguments,
    run: Run,
    numbers: bool = False,
) -> End:
    """The end of the path that a run has taken: what it returned and stored.

    With `numbers` those of Python that it returned are outputs.
    """
    outputs, result = outputs_of(run.trace, run.returned, transform, numbers)
    if transform.takes_tangents:
        wanted = check_wanted(arguments, transform)
        require_alike(arguments, wanted, run.trace.inputs, run.trace.sizes)
    stores = (*run.stores, *run.written)
    leaves = [*zip(flatten(run.returned)[0], result.leaves, strict=True)]
    placed = Placed(len(outputs))
    first = left_out(transform, result)
    for leaf, place in leaves:
        if isinstance(place, int) and place >= first:
            placed.returns(leaf, place)
    stored = tuple([placed.of(store.value) for store in stores])
    effects = tuple([effect.numbered(placed.of) for effect in run.effects])
    outputs = (*outputs, *[run.trace.lift(value, Origin()) for value in placed.more])
    before = 0 if run.tree is None else len(run.tree.captured)
    run.trace.forget_unused(outputs, before)
    nodes = [node for node in run.trace.builder.nodes if not isinstance(node, Meet)]
    origin = ended(run.trace.code, nodes)
    kept = [*enumerate(placed.more, len(outputs) - len(placed.more))]
    if arguments.tensors is not None and transform.kind == "compile":
        kept += [(place, leaf) for leaf, place in leaves if isinstance(place, int)]
    outputs = without_histories(run.trace, outputs, kept)
    let_go = tuple(
        [
            place
            for leaf, place in leaves
            if isinstance(place, int) and type(leaf) is Tensor and run.has_let_go(leaf)
        ]
    )
    axeless = tuple([x for x in zero_dimensional(leaves) if not outputs[x[0]].type.either])
    result = as_had(result, arguments, transform, run, leaves)
    return End(outputs, result, stores, stored, effects, origin, axeless, let_go)


@collected_later()
def make_version(
    function: Callable[..., Any],
    transform: Transform,
    arguments: Arguments,
    mode: Mode,
    run: Run,
    known: Version | None = None,
    ways: Ways | None = None,
) -> Version:
    """Differentiates, optimizes, emits and loads what a run did.

    Where the run continued the tree of `known`, what is new is grafted onto it, and the version
    that leaves takes its place. Where it departed from that tree it becomes a version of its own.
    Of runs on samples, `ways` has the tree; the run is the last of them.
    """
    target, kind, times = mode.target, transform.kind, {"trace": run.seconds}
    wanted = check_wanted(arguments, transform) if transform.differentiates else []
    if ways is not None and ways.tree is not None:
        tree, continues = ways.tree, False
    else:
        end = end_of(transform, arguments, run)
        tree, continues = tree_of(run, end, target)
    numbers = run.world.joins, target, not wanted, run.trace.samples, run.trace.keeps_types
    if joints := shown_numbers(tree, *numbers):
        raise Unjoined(joints, "numbers of Python become NumPy's, and it shows")
    replaces = known if continues else None
    if replaces is not None:
        run.world.absorb(replaces.world)
    holders = [holder for holder, _ in run.trace.captured.values()]
    face = empty_graph(tree, function, transform, arguments, mode, holders, run.world)
    forward = face.with_block(blocks(tree, lambda _, outputs, __: Block((), outputs)))
    with timed(times, "differentiate"):
        paths = Paths.of_tree(tree)
        of = paths, face, transform, arguments, wanted, target
        required = required_of(holders, transform.kind, arguments)
        try:
            joint, results, built = joint_graph(*of, [*compress(tree.captured, required)])
        except LostGradientError as error:  # by some arm, or turn; whether by one that is taken
            if tree.joined:
                raise Unjoined(None, str(error)) from error
            if tree.loops:
                raise Unrollable(str(error)) from error
            raise
    try:
        known_order = lie_in_order(arguments, 2, holders)
        any_order = not known_order or (replaces is not None and replaces.any_order)
        in_order = target != "jax" and not any_order and depends_on_order(joint)
        program = compile_graph(joint, mode.text, times, in_order=in_order)
    except CodegenError as error:
        if tree.joined:
            raise Unjoined(None, str(error)) from error
        may_unroll = target == "jax" or joint.sizes.counters  # a turn that leaves has no number
        if not (may_unroll and tree.loops):
            raise
        raise Unrollable(str(error)) from error
    except TraceError as error:  # an op of SciPy's of an array that NumPy knows, but for a loop
        if target != "jax" or run.world.loops is None or not run.world.loops.constants:
            raise
        raise Unrollable(str(error)) from error
    program = _placed(program, results, transform, function)
    run_of_jax: Any = program.run
    listed = _listed(arguments, run)
    captured = tuple(
        Captured(
            name,
            holder,
            run.world.source_of(holder),
            value.type.dtype,
            value.type.ndim,
            not run.world.is_outside(holder),
            target == "numpy" and is_jax_array(holder),
            run_of_jax.constant if target == "jax" and made_of_numpy(holder, run.world) else None,
        )
        for name, holder, value in zip(face.frame.captures, holders, tree.captured, strict=True)
    )
    over = overwritten(store for end in tree.ends for store in end.stores)
    written = {i for i, c in enumerate(captured) if any(map(c.stands_at, over))}
    again = [*(c.source for c in captured if c.source), *run.world.places_of_arrays()]
    asked = [c.source for c in captured if c.source is not None and c.may_change_type]
    check = run.world.check(again, _written(tree, run.world), asked)
    let_go = run.world.release(holders)
    for end in tree.ends:
        puts = [getattr(effect.operation, "__self__", None) for effect in end.effects]
        for store in (*end.stores, *puts):
            if isinstance(store, Store):
                store.let_go(let_go)
    captured = tuple([replace(c, holder=let_go.get(id(c.holder), c.holder)) for c in captured])
    return Version(
        tree=tree,
        arguments=arguments.without_arrays(),
        traced=forward,
        differentiated=joint,
        program=program,
        captured=captured,
        world=run.world,
        check=check,
        results=results,
        built=built,
        assumed=assumed_by(run.world, forward.inputs, holders, written),
        raises_as_math=run.trace.raises_as_math or getattr(replaces, "raises_as_math", False),
        shows_exceptions=run.world.shows_exceptions or getattr(replaces, "shows_exceptions", False),
        reads_key_order=run.world.reads_key_order or getattr(replaces, "reads_key_order", False),
        mode=mode,
        symbols=_symbols(program.graph),
        guards=(
            *_guards(program.graph.sizes, tree.sizes),
            *(bounds_of_constants(forward) if target == "jax" else ()),
        ),
        times=times,
        growth=Growth() if known is None or run.supersedes else known.growth,
        replaces=known if run.supersedes else replaces,
        ordered=_fewest_axes(run.trace.ordered, replaces.ordered if replaces else 0),
        in_order=in_order,
        any_order=any_order,
        grad_enabled=run.grad_enabled,
        looked_at={**(replaces.looked_at if replaces else {}), **run.trace.looked_at},
        listed=listed,
        required=tuple(required),
        decisive=_decisive(forward, captured, run, replaces) if kind == "compile" else (),
    )


def _decisive(
    forward: Graph, captured: Sequence[Captured], run: Run, replaces: Version | None
) -> tuple[Captured, ...]:
    """The Tensors from outside that decide whether results have a history.

    Where results of the run have none, those that require grad by now do not.
    """
    known = [one.key for one in replaces.decisive] if replaces is not None else ()
    return tuple(
        [
            one
            for one in decisive(forward, captured)
            if run.recorded or one.key in known or not one.requires_grad
        ]
    )


def _listed(arguments: Arguments, run: Run) -> tuple[Place, ...]:
    """The arguments, lists of arrays, that loops of a run have read by number."""
    if run.world.loops is None or not run.world.loops.lists.listed:
        return ()
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    inputs = dict(zip(map(id, traced), run.trace.inputs, strict=True))
    values = [
        (place, tuple([inputs.get(id(leaf)) for leaf in leaves]))
        for place, leaves in lists_in(arguments)
    ]
    return tuple([place for place, of in values if of in run.world.loops.lists.listed])


def _placed(
    program: Program, results: Sequence[Returned], transform: Transform, function: Any
) -> Program:
    """The program with its results where they were asked for."""
    shardings = transform.placement.shardings
    if program.source.target != "jax" or shardings is None:
        return program
    name = getattr(function, "__name__", "the function")
    return with_outputs_at(program, places_of([r.result for r in results], shardings, name))


def _fewest_axes(one: int, other: int) -> int:
    """What two traces ask of layouts, together."""
    return min(one or other, other or one)


def _written(tree: Tree, world: World) -> list[Guard]:
    """The places that some path writes: what they held before is no guard."""
    places = {store.place for end in tree.ends for store in end.stores}
    return [g for g in world.guards.values() if places and world.place_of(g) in places]


def _guards(*all_sizes: Sizes) -> tuple[tuple[Any, Any], ...]:
    found = dict.fromkeys(pair for sizes in all_sizes for pair in sizes.guards)
    return tuple(found)


def _symbols(graph: Graph) -> dict[str, tuple[int, int | None]]:
    """Where each free length is read: index of the input and axis; None where it is the length."""
    found: dict[str, tuple[int, int | None]] = {}
    for index, symbol in graph.frame.lengths:
        found[symbol] = (index, None)
    for index, value in enumerate(graph.inputs):
        for axis, dim in enumerate(value.type.shape):
            name = None if isinstance(dim, int) else dim.symbol()
            if name is not None:
                found.setdefault(name, (index, axis))
    return found
