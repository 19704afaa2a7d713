"""Calls of compiled functions on Tensors with history: one node of the tape a call.

The forward is the version's program with more outputs, the *residuals*: what the backward reads.
Each end of a path has a backward of its own, a program from residuals and cotangents to the
gradients of the inputs; the node remembers at which end its call came out. A gradient that is to be
differentiated again is computed from the path's ops on Tensors, so that it has a history itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import ref

import numpy as np

from codegen import ir
from codegen.errors import CodegenError
from codegen.ir import NOWHERE, Block, Builder, Call, Graph, Trait, Value, ends
from codegen.load import load
from codegen.passes.dce import dce
from codegen.rewrite import at_ends
from codegen.sizes import Size, Sizes, substitute
from codegen.types import ArrayType, is_inexact
from tracegrad.arguments.argument_changes import overlapping
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.arguments.stacked_lists import as_in
from tracegrad.autograd import compiled_backward, engine
from tracegrad.compiled.guarded_entry import MISS, entry
from tracegrad.compiled.handed_out import handed_out
from tracegrad.compiled.joint_graph import Returned
from tracegrad.compiled.traced_run import Run, as_numbers, wanted_of
from tracegrad.compiled.version import Version
from tracegrad.compiled.ways_of_nodes import Asked, Generators, Way
from tracegrad.differentiation.backwards_apart import backwards_apart
from tracegrad.differentiation.histories import with_histories
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.reverse_mode import reached, sources
from tracegrad.errors import RAISED_BY_NUMPY, TracegradError
from tracegrad.execution.graph_interpreter import has_looks
from tracegrad.execution.pipeline import compile_graph
from tracegrad.ops.elementwise.arrays_and_scalars import copy_as_it_lies
from tracegrad.ops.python_calls import hooked, python_op
from tracegrad.ops.random_draws import drawn, sources_of
from tracegrad.ops.shape.creation import zeros_of_shape
from tracegrad.ops.special_cotangents import Total
from tracegrad.runtime.thread_state import given_objects
from tracegrad.tape.foreign_arrays import kept, plain
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.tape import FREED, LEAF, WRITES, Node, Output, Shape, next_stamp, record
from tracegrad.tape.write_checks import damaged
from tracegrad.tensors.devices import as_held, bare
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import End, blocks
from tracegrad.values.dispatch import is_jax_array, is_number
from tracegrad.values.pytree import flatten, map_tree, path_text
from tracegrad.world.effects import Replay, prepared_changes, prepared_stores

_call = python_op("compiled", "CompiledBackward")
MOST = 4  # programs of one version, for lengths of which the backward must know more


@dataclass(frozen=True, eq=False)
class _Applied:
    """The rule of one call's node."""

    way: Way
    residuals: Mapping[Value, Any]
    generators: Generators = ()
    ran: set[int] = field(default_factory=set)  # outputs from which a backward has come last
    spent: set[int] = field(default_factory=set)  # those whose part of the graph was let go
    nodes: list[ref[Node]] = field(default_factory=list)  # the one whose rule it is

    def let_go(self) -> bool:
        """Lets go of what the last backward ran through; whether nothing is left to be run.

        Outputs may have no op in common: then each has a backward of its own.
        """
        self.spent.update(self.ran)
        return len(self.spent) == len(self.way.outputs)

    @property
    def call(self) -> _Applied:
        """Itself: what a `PythonOp` asks its attribute for."""
        return self

    @property
    def inner(self) -> frozenset[int]:
        """The results from which others are computed."""
        return self.way.inner

    @property
    def needed(self) -> frozenset[int]:
        """The operands that a backward over arrays reads."""
        return self.way.read

    @property
    def names(self) -> tuple[str | None, ...]:
        """What the function calls its inputs."""
        return tuple(value.origin.name for value in self.way.path.inputs)

    def backward_source(self, output: int) -> tuple[str, str | None]:
        """The name of the function, and the source of the backward from one of its outputs."""
        back = self.way.backward(Asked((output,)))
        return self.way.path.name, None if back is None else back.program.source.text

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """The gradients, of each operand by itself."""
        return self._gradients(ct, operands, (), {})

    def adding(
        self, keys: Sequence[Any], before: Sequence[Any], ct: Any, *operands: Any
    ) -> tuple[Any, ...]:
        """The gradients, which go on with the cotangents that operands of these keys had `before`.

        So the sum of all is made in the order of an eager tape.
        """
        first: dict[Any, int] = {}
        for i in self.way.whole.places:
            first.setdefault(keys[i], i)
        same = tuple([(i, first[keys[i]]) for i in self.way.whole.places if first[keys[i]] != i])
        so_far = {i: before[i] for i in first.values() if before[i] is not None}
        return self._gradients(ct, operands, same, so_far)

    def _gradients(
        self,
        ct: Any,
        operands: Sequence[Any],
        same: tuple[tuple[int, int], ...],
        so_far: Mapping[int, Any],
    ) -> tuple[Any, ...]:
        """Over arrays by the program, over Tensors (for gradients of gradients) op by op."""
        cts: Sequence[Any] = _several(ct)
        given = tuple(k for k, c in enumerate(cts) if c is not None)
        if not self.spent.isdisjoint(given):
            raise engine.freed_before()
        self.ran.clear()
        self.ran.update(given)
        contributions: list[Any] = [None] * len(operands)
        records = any([isinstance(c, Tensor) for c in (*cts, *so_far.values())])
        back = None if records else self.way.backward(Asked(given, same, tuple(so_far)))
        if back is None:
            for i, gradient in self._recorded(cts, given, operands, dict(same), so_far).items():
                held = gradient if records else _held(bare(gradient))
                contributions[i] = Total(held) if i in so_far else held
            return tuple(contributions)
        kept, places = self.residuals, self.way.places
        read = [_as_typed(kept[v] if v in kept else operands[places[v]], v) for v in back.reads]
        read += [bare(cts[k]) for k in given]
        gradients = back.program.run(*read, *[bare(so_far[i]) for i in back.onto])
        for i, gradient in zip(back.places, gradients, strict=False):
            contributions[i] = None if gradient is None else _held(gradient)
        for i in back.onto:
            contributions[i] = Total(contributions[i])
        for n, flows in zip(back.told, gradients[len(back.places) :], strict=True):
            if not flows:
                contributions[back.places[n]] = None
        return tuple(contributions)

    def _recorded(
        self,
        cts: Sequence[Any],
        given: Sequence[int],
        operands: Sequence[Any],
        same: Mapping[int, int],
        so_far: Mapping[int, Any],
    ) -> dict[int, Any]:
        """The gradients, by place, by the ops of the call on Tensors."""
        inputs, since = [*operands], next_stamp()
        node = self.nodes[0]()
        self.way.compare_inputs(node, inputs)
        places = [i for i in self.way.whole.places if i not in same]
        for i in places:
            x = inputs[i]
            inputs[i] = x if isinstance(x, Tensor) and x.requires_grad else _leaf(x)
        for i, first in same.items():
            inputs[i] = inputs[first]
        outputs = self.way.replay(inputs, self.residuals, self.generators)
        made = engine.left_behind([x for x in outputs if isinstance(x, Tensor)])
        made = [again for again in made if again.stamp > since]  # behind the inputs goes nothing
        moving = [k for k in given if isinstance(outputs[k], Tensor) and outputs[k].requires_grad]
        onto = [i for i in places if i in so_far]
        found = engine.gradients(
            [*[outputs[k] for k in moving], *[inputs[i] for i in onto]],
            [*[cts[k] for k in moving], *[so_far[i] for i in onto]],
            [inputs[i] for i in places],
            create_graph=True,
            nodes=_standing_at(node, made),
        )
        pairs = [(i, found.get(engine.key_of(inputs[i]))) for i in places]
        return {i: gradient for i, gradient in pairs if gradient is not None}


def _standing_at(node: Node | None, made: Sequence[Node]) -> Sequence[Node]:
    """The ops of a call, which have run again, where its node stands on the tape.

    A backward goes by that order: it adds as one of the ops themselves does.
    """
    if node is not None:
        for k, again in enumerate(made, 1):
            again.stamp = node.stamp + k / (len(made) + 1)
    return made


def _match(node: Node, ct: Any, free: bool) -> list[tuple[Tensor, Any]] | None:
    """A tape that is one call on leaves: its backward alone, without a walk."""
    arrays: list[Any] = [getattr(parent, "_array", None) for parent in node.parents]
    if node.more is not None or type(node.result) is tuple or node.result.dtype.kind == "c":
        return None
    leaves = [parent for parent in node.parents if parent is not None]
    if len(set(map(id, leaves))) < len(leaves) or any(map(np.iscomplexobj, arrays)):
        return None
    if any(type(leaf) is not Tensor or leaf._hooks for leaf in leaves):
        return None
    if node.stamp < WRITES.last and damaged((node,)):
        return None
    found = node.attributes["function"].vjp(ct, node.result, *node.values)
    pairs = zip(node.parents, found, strict=True)
    gradients = [(leaf, g) for leaf, g in pairs if leaf is not None and g is not None]
    if free:
        node.parents = node.values = ()
        node.result, node.more = None, FREED
    return gradients


compiled_backward.add_matcher(_call, _match)


def _as_typed(x: Any, value: Value) -> Any:
    """What a program gets of an array on the tape; a number of Python as such."""
    return float(x) if value.type.weak and isinstance(x, np.floating) else bare(x)


def _held(x: Any) -> Any:
    """What a Tensor holds of an array that a program made."""
    if isinstance(x, np.generic) or (type(x) is np.ndarray and x.ndim):
        return x
    if is_jax_array(x):
        return as_held(x)
    plain = is_number(x) or (isinstance(x, np.ndarray) and not x.ndim)
    return np.asarray(x)[()] if plain else x


def _several(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _leaf(x: Any) -> Tensor:
    tensor = wrap(getattr(x, "_array", x))
    start_history(tensor)
    return tensor


class Recorded:
    """A version as one node: its forward with residuals, and the ways back.

    `wanted` are the inputs that have gradients; `arrays` the inputs of the call that it is made
    for, whose lengths decide what the backward assumes.
    """

    def __init__(self, version: Version, wanted: tuple[bool, ...], arrays: Sequence[Any]) -> None:
        forward, self.version = version.traced, version
        self.sizes = _sizes_of(forward, arrays)
        self.forward = forward.replace(sizes=self.sizes)
        self.wanted = wanted
        self.targets = tuple(v for v, want in zip(forward.inputs, wanted, strict=True) if want)
        self.ends = every = list(version.tree.ends)
        self.numbers: list[int] = []  # of the returns, in the order of the graph
        self.ways: dict[int, Way] = {}

        def close(end: End, outputs: tuple[Value, ...], before: tuple[ir.Node, ...]) -> Block:
            self.numbers.append(every.index(end))
            if not meets:
                self.ways[self.numbers[-1]] = self._way(outputs, before)
            return Block((), outputs, None, (), end.origin)

        meets = version.tree.joined or version.tree.loops
        block = blocks(version.tree, close)
        if meets:
            block = self._meeting(block)
        block = self._returning(block)
        frame = replace(
            forward.frame,
            returns=block.returns,
            names=block.names,
            origin=block.origin,
            axeless=(),
            lying=True,  # what is kept lies as on an eager tape
        )
        name = f"{forward.name}_forward"
        self.program = compile_graph(
            self.forward.replace(name=name, frame=frame).with_block(block),
            version.mode.text,
            sound=not version.checked,  # else the forward looks at indices, as the version does
        )
        self.drawn_from = sources_of(self.program.graph) if meets else ()
        self.guards = tuple(dict.fromkeys([*self.sizes.guards, *self.program.graph.sizes.guards]))
        run = self.program.run
        looks = version.target == "jax" and has_looks(self.program.graph, "jax")
        self.run = version.guarded(run.checked if looks else run)  # type: ignore[attr-defined]
        start = len(forward.inputs) - len(version.captured)
        self.written = [
            start + i
            for guard, _ in version.written_outside
            for i, captured in enumerate(version.captured)
            if captured.stands_at(guard)
        ]

    def _returning(self, block: Block) -> Block:
        """The forward, whose returns give what is kept as well, and which of them it is."""
        numbers = iter(self.numbers)
        slots = self._alike_slots() if self.version.target == "jax" else []

        def change(end: Block) -> Block:
            number = next(numbers)
            way = self.ways[number]
            end, residuals = _padded(end, way, slots, self.sizes) if slots else (end, way.residuals)
            given = (*end.outputs, *residuals)
            template = None
            if len(self.ways) > 1:
                inner = ", ".join(f"{{{i}}}" for i in range(len(given)))
                template = f"{number}, ({inner},)" if given else f"{number}, ()"
            names = (*("result" for _ in end.outputs), *("saved" for _ in residuals))
            return replace(end, outputs=given, returns=template, names=names)

        return at_ends(block, change)

    def _alike_slots(self) -> list[ArrayType]:
        """The types of what each return keeps, where arms have to return the same types.

        Each way has its residuals in some of them.
        """
        slots: list[ArrayType] = []
        for way in self.ways.values():
            free = dict(enumerate(slots))
            way.slots = tuple([_taken(free, slots, r.type) for r in way.residuals])
        return slots

    def _way(self, given: tuple[Value, ...], before: tuple[ir.Node, ...]) -> Way:
        """The way back through straight code."""
        path = self.forward.replace(nodes=before, outputs=given)
        depends = reached(path, self.targets)
        once = dict.fromkeys(given)
        outputs = tuple([v for v in once if v in depends and is_inexact(v.type.dtype)])
        behind = sources(path, outputs).intersection(self.targets)
        way = Way(path, path, self.version.mode.text, self.targets, behind, given, outputs)
        if outputs:
            way.keeps(way.whole)
        return way

    def _meeting(self, block: Block) -> Block:
        """The forward of paths whose arms meet, or with loops, once the ways back are known."""
        replayed = dce(self.forward.with_block(block))  # dead code may read what is not there
        replayed, told = with_histories(replayed, self.targets)
        apart = backwards_apart(replayed, self.targets)
        for i, (number, end) in enumerate(zip(self.numbers, ends(replayed.block), strict=True)):
            cts = apart.cotangents[i]
            way = Way(
                *(apart.forward, replayed, self.version.mode.text, self.targets, told[i].behind),
                returned=end.outputs,
                outputs=tuple(cts),
                number=i,
                told=told[i].places,
            )
            if cts:
                way.enter_all(apart)
                way.keeps(way.whole)
            self.ways[number] = way
        return apart.forward.block

    @property
    def sources(self) -> list[str]:
        """The sources of the forward and of the backwards."""
        backs = [b for way in self.ways.values() for b in way.backwards.values() if b is not None]
        return [program.source.text for program in (self.program, *(b.program for b in backs))]

    def holds(self, arrays: Sequence[Any]) -> bool:
        """Whether the lengths are what the backwards assume."""
        known: dict[str, int] = {}
        for value, array in zip(self.forward.inputs, arrays, strict=True):
            for dim, length in zip(value.type.shape, np.shape(array), strict=True):
                if isinstance(dim, Size) and (name := dim.symbol()):
                    known[name] = length
        return all(substitute(a, known) == substitute(b, known) for a, b in self.guards)

    def call(self, arguments: Arguments, arrays: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """The result; `inputs` are the forward's, Tensors where they were given as such."""
        captures = self.program.graph.frame.captures
        start = len(arrays) - len(captures)
        values: Sequence[Any] = arguments.values
        if self.version.takes_leaves:
            pairs = zip(self.forward.inputs, arrays[:start], strict=False)
            values = [_as_typed(x, value) for value, x in pairs]
        generators = self.generators()
        found = self.run(*values, **dict(zip(captures, arrays[start:], strict=True)))
        return self.finish(found, inputs, generators)

    def generators(self) -> Generators:
        """Those that turns and arms draw from, with their states of now."""
        return [(source, source.state) for source in self.drawn_from]

    def finish(self, found: Any, inputs: Sequence[Any], generators: Generators) -> Any:
        """The result, from what the forward returned; `generators` as they were before."""
        end, made = found if len(self.ways) > 1 else (0, found)
        end = int(end)  # an array of JAX's
        way, returned = self.ways[end], self.version.results[end]
        count = len(way.returned)
        tensors = [wrap(_held(x)) for x in made[: way.count]]
        constant = {way.outputs.index(v) for v, place in way.told.items() if not made[place]}
        if len(constant) < len(way.outputs):
            let_go = self.ends[end].let_go
            spent = {k for i, k in way.stands if i in let_go} if let_go else set()
            saved = dict(zip(way.residuals, way.kept_of(made[count:]), strict=True))
            way.own_items(saved, inputs)
            function = _Applied(
                way,
                saved,
                generators,
                spent=spent | constant,  # no backward comes from them
            )
            shapes = tuple([Shape(tensors[i]._array) for i in way.firsts])
            result = shapes if len(shapes) > 1 else shapes[0]
            node = record(_call, inputs, {"function": function}, result, None)
            function.nodes.append(ref(node))
            way.keep(node, inputs, self.written)
            for i, k in way.stands:
                if i < way.count and k not in constant:
                    tensors[i]._node = Output(node, k) if len(shapes) > 1 else node
        return _done(returned, made, tensors, inputs, True)


class Unrecorded:
    """A version whose calls are on Tensors and leave no node: nothing requires grad, or no_grad."""

    guards = ()

    def __init__(self, version: Version, wanted: tuple[bool, ...]) -> None:
        self.version, self.wanted = version, wanted
        self.run = version.entry_run

    def holds(self, arrays: Sequence[Any]) -> bool:
        """Whether the lengths are what it assumes: those of the version."""
        return True

    def call(self, arguments: Arguments, arrays: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """The result; `inputs` are the arguments' leaves and the captured, as they were given."""
        found = self.version.outputs(as_in(arguments, self.version.arguments))
        return self.finish(found, inputs, ())

    def generators(self) -> Generators:
        """None: nothing is recorded."""
        return ()

    def finish(self, found: Any, inputs: Sequence[Any], generators: Generators) -> Any:
        """The result, from what the program returned."""
        results = self.version.results
        if not self.version.built:
            return map_tree(lambda x: wrap(_held(x)) if _is_array(x) else x, found)
        end, made = found if len(results) > 1 else (0, found)
        tensors = [wrap(_held(x)) for x in made]
        return _done(results[end], made, tensors, inputs, False)


def _taken(free: dict[int, ArrayType], slots: list[ArrayType], type: ArrayType) -> int:
    """The number of a slot of a type, which is free no more."""
    found = next((i for i, other in free.items() if other == type), len(slots))
    if found == len(slots):
        slots.append(type)
    free.pop(found, None)
    return found


def _padded(
    end: Block, way: Way, slots: Sequence[ArrayType], sizes: Sizes
) -> tuple[Block, list[Value]]:
    """What a return keeps, with zeros in the slots that it does not have."""
    assert way.slots is not None
    builder, own = Builder(sizes), dict(zip(way.slots, way.residuals, strict=True))
    kept = [
        own[i]
        if i in own
        else builder.call(zeros_of_shape, (), NOWHERE, shape=type.shape, dtype=type.dtype)[0]
        for i, type in enumerate(slots)
    ]
    return end.with_nodes((*end.nodes, *builder.nodes)), kept


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) or is_jax_array(x)


def _done(
    returned: Returned,
    made: Sequence[Any],
    tensors: Sequence[Tensor],
    inputs: Sequence[Any],
    recorded: bool,
) -> Any:
    """What a call on Tensors returns, once it has stored what it stores.

    `made` are the outputs as the program gives them; where the call is `recorded` their `tensors`
    have histories.
    """
    if not (returned.effects or returned.stored):
        return handed_out(returned.result, made, tensors, inputs)
    stored = [tensors[place] for place in returned.stored]
    stores = prepared_stores(returned.stores, [tensor._array for tensor in stored], inputs)
    for change in prepared_changes(stores, returned.effects, Replay(tensors, inputs)):
        change.do()
    for store, tensor in zip(stores, stored, strict=True):
        now = store.stands
        stays = tensor._node is None and getattr(now, "_node", None) is LEAF
        if recorded and isinstance(now, Tensor) and not stays:
            now._node = tensor._node  # a leaf that is written to under no_grad stays one
    return handed_out(returned.result, made, tensors, inputs)


def _sizes_of(graph: Graph, arrays: Sequence[Any]) -> Sizes:
    """The lengths of a graph as they are in these arrays."""
    sizes = graph.sizes.copy()
    for value, array in zip(graph.inputs, arrays, strict=True):
        for dim, length in zip(value.type.shape, np.shape(array), strict=True):
            if isinstance(dim, Size) and (name := dim.symbol()):
                sizes.seen[name] = length
    return sizes


def why_not_recorded(version: Version) -> str:
    """Why no node of a tape stands for calls of a version; "" where one may."""
    tree = version.tree
    if tree.masks:
        return "it has lengths that only data tell (a boolean mask)"
    if tree.closed:
        return "it has lengths that only data tell"
    if version.of_graph:  # it has the tree of another one
        return "it has a loop that stays a loop"
    several = len(list(tree.ends)) > 1
    if version.target == "jax" and (version.opaque or (version.checked and several)):
        return "it looks at values, and returns at several places, in a program for JAX"
    if version.written or version.ordered:  # the caller's Tensors have histories of their own
        return "it writes to its arguments"
    for node in version.traced.all_nodes:
        if not isinstance(node, Call):
            continue
        if node.op is hooked:
            return "it registers a hook"
        if node.op.opaque:  # type: ignore[attr-defined]
            return "it calls Python that is not part of the program"
        if node.op is drawn and version.target == "numpy":
            continue
        if Trait.EFFECT in node.op.traits:  # type: ignore[attr-defined]
            return "it draws random numbers, for JAX"
    return ""


class Quick:
    """Answers calls of one shape: positional arguments, by one generated function."""

    def __init__(self, made: Recorded | Unrecorded, arguments: Arguments, given: int) -> None:
        self.made = made
        self.version = made.version
        self.run = entry(made.version, arguments.values, given, made.run, made.guards)
        self.tensors = arguments.tensors
        self.of_arrays = not any(isinstance(leaf, bool) for leaf in arguments.tensors or ())
        leaves = [leaf for leaf in enumerate(arguments.leaves) if leaf[1].traced]
        self.given = [i for i, leaf in leaves if leaf.parameter < given]
        self.objects = [i for i, x in enumerate(arguments.leaves) if x.kind[0] == "object"]
        several = any(leaf.path for leaf in arguments.leaves)
        self.flat = not several and given == len(arguments.leaves)
        self.defaults = _reader(arguments, [leaf for _, leaf in leaves if leaf.parameter >= given])

    def of_tensors(self, given: tuple[Any, ...]) -> Any:
        """The result for arguments as they were given, or `MISS`."""
        if self.flat:  # another structure is told by the types that the entry asks for
            arrays = [plain(x._array) if type(x) is Tensor else x for x in given]
            return self(arrays, given)
        return self(map_tree(bare, given), flatten(given)[0])

    def __call__(self, args: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """The result for arguments (as arrays) and their leaves (as they were given), or `MISS`."""
        if len(leaves) <= max([*self.given, *self.objects], default=-1):
            return MISS
        inputs = [leaves[i] for i in self.given]
        try:
            inputs += self.defaults()
        except (LookupError, AttributeError, TypeError):  # they are of another structure by now
            return MISS
        if self.tensors is not None and tensors_in(inputs) != self.tensors:
            return MISS
        with given_objects(tuple([leaves[i] for i in self.objects])):
            return self._answered(args, inputs)

    def _answered(self, args: Sequence[Any], inputs: list[Any]) -> Any:
        """The result for arguments (as arrays) and the traced ones as they were given, or `MISS`.

        The thread knows the objects among them.
        """
        made = self.made
        inputs += [captured.given() for captured in self.version.captured]
        if wanted_of(inputs) != made.wanted:
            return MISS
        if self.version.assumed is not None and not self.version.assumed.stand(inputs):
            return MISS
        generators = made.generators()
        try:
            found = self.run(args)
        except RAISED_BY_NUMPY as error:
            if self.version.opaque or isinstance(error, TracegradError):
                raise  # what the user's own code raises is `Interrupted`; no number is to be nan
            return MISS  # the function may catch it
        return MISS if found is MISS else made.finish(found, inputs, generators)


def _reader(arguments: Arguments, leaves: Sequence[Leaf]) -> Callable[[], Sequence[Any]]:
    """Reads leaves of the arguments as they are when it is called."""
    names = {f"a{i}": value for i, value in enumerate(arguments.values)}
    texts = [path_text(f"a{leaf.parameter}", leaf.path, names) for leaf in leaves]
    return load(f"def read():\n    return [{', '.join(texts)}]\n", "read", names)


class NotRecorded(Exception):
    """A version that cannot be one node of a tape."""


class NeedsAnother(NotRecorded):
    """A version to which other Tensors from outside require grad than when it was made."""


def tensors_in(inputs: Sequence[Any]) -> tuple[bool | None, ...]:
    """Which of the arguments' leaves are Tensors, and of these which require grad."""
    return tuple([x.requires_grad if isinstance(x, Tensor) else None for x in inputs])


def call_recorded(
    version: Version,
    arguments: Arguments,
    inputs: Sequence[Any],
    kept: list[Recorded | Unrecorded],
) -> Any:
    """The result of a call on Tensors, with its history; raises `NotRecorded` where there is none.

    `inputs` are the traced arguments as they were given: Tensors, arrays, numbers. `kept` gets what
    the call was answered with.
    """
    inputs = [*inputs, *(captured.given() for captured in version.captured)]
    wanted = wanted_of(inputs)
    if version.assumed is not None and not version.assumed.stand(inputs):
        raise NotRecorded
    arrays = [bare(x) for x in inputs]
    if wanted in version.refused:
        raise _unlike(version, wanted)
    known = version.recorded.setdefault(wanted, [])
    for candidate in known:
        if candidate.holds(arrays):
            kept.append(candidate)
            return candidate.call(arguments, arrays, inputs)
    if any(wanted) and arguments.tensors is not None and arguments.require_grad is None:
        raise NotRecorded  # it reads a Tensor outside that requires grad, unlike calls before
    made: Recorded | Unrecorded
    if not any(wanted):
        made = Unrecorded(version, wanted)
    else:
        version.not_recorded = version.not_recorded or why_not_recorded(version)
        if len(known) >= MOST or version.not_recorded:
            raise NotRecorded
        try:
            made = Recorded(version, wanted, arrays)
        except (CodegenError, RecursionError) as error:
            version.not_recorded = f"its backward cannot be written ({error})"
            raise NotRecorded from error
        except Unrollable as error:
            version.refused.add(wanted)
            raise _unlike(version, wanted) from error
    known.append(made)
    kept.append(made)
    return made.call(arguments, arrays, inputs)


def _unlike(version: Version, wanted: tuple[bool, ...]) -> Exception:
    """What tells that loops or arms of a version have no backward to these inputs.

    Where another is made, it is with them in mind.
    """
    outside = wanted[len(wanted) - len(version.captured) :]
    return NotRecorded() if version.required == outside else NeedsAnother()


def settle(run: Run, given: Sequence[np.ndarray] = ()) -> None:
    """Makes the tape of a run one of numbers, for backwards outside of its trace.

    Then the arrays of outside that the run wrote to hold what it wrote; what the tape reads of them
    is what was there before. So it is of those that were `given`, whatever the caller writes.
    """
    written = [store.holder for store in run.stores if store.kind == "contents"]
    memory = [getattr(holder, "_array", holder) for holder in written]
    leaves = [x for x in flatten(run.returned)[0] if isinstance(x, Tensor)]
    nodes = [n for n in engine.left_behind([*leaves, *run.tensors]) if n.more is not FREED]
    as_numbers(nodes, run.trace)
    keep_numbers(nodes, given, memory)
    for store in run.stores:
        store.carry()


def keep_numbers(
    nodes: Sequence[Node], given: Sequence[np.ndarray], written: Sequence[np.ndarray] = ()
) -> None:
    """Has nodes of a tape read what arrays hold now that the caller has `given`, or will write."""
    for node in nodes:
        pairs = zip(node.parents, node.values, strict=True)
        node.values = tuple(
            [
                copy_as_it_lies(v)
                if overlapping(v, given if parent is not None else (*written, *given))
                else v
                if parent is not None
                else kept(v)
                for parent, v in pairs
            ]
        )
