"""Compiles the backward of a tape when its like comes again and again; interprets it before.

While recording, no key is computed. A compiled backward is a generated function that walks from the
root node by the shape of tape that it expects, comparing ops, attributes, sharing, types and
lengths, and gives `None` at the first difference; programs are tried most recent first, by the
root's op. Only a tape that no program matches is given a structural key: at first sight of a key
the walker computes over arrays, later a program is compiled if that is within the budget of tapes
like it (`Budget`), which are those of the same ops. So the tapes of a recurrent model, each of
another length, take at most a second more than twice what their walks take.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.ir import Frame, Graph, Origin, Value
from codegen.keys import attribute_key
from codegen.load import load
from codegen.sizes import Sizes, equality_as_python
from tracegrad import config
from tracegrad.differentiation.partition import backward_graph
from tracegrad.differentiation.reverse_mode import differentiate, pullback
from tracegrad.differentiation.steps import Step
from tracegrad.execution.pipeline import Program, compile_graph
from tracegrad.tape.tape import EMPTY, FREED, WRITES, Node, Output, Shape, read_by_rule
from tracegrad.tape.write_checks import damaged
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.trace import Trace
from tracegrad.values.dispatch import is_jax_tracer, is_number

if TYPE_CHECKING:
    from tracegrad.autograd.engine import Tape


@dataclass(frozen=True)
class Backward:
    """A compiled backward and the keys of the tape that feed it, in order."""

    program: Program
    residuals: tuple[Any, ...]
    inputs: dict[Any, Value]  # keys that are inputs of the forward, and their values in its graph
    guards: tuple[tuple[Any, Any], ...]


_SEEN: dict[Hashable, tuple[float, tuple[int, ...]]] = {}
"""The seconds of the shortest walk over each, and which of the wanted keys have a gradient."""
_BUDGETS: dict[Hashable, Budget] = {}
"""What compiling tapes of these ops has taken, and what walks over them have."""
_COMPILED: dict[Hashable, tuple[Program, tuple[int, ...], tuple[int, ...]]] = {}
"""Programs, the numbers of the keys that feed them, and which of the wanted keys they give."""
_MATCHERS: dict[Any, tuple[Callable[..., Any], ...]] = {}
_OF_CALLS: dict[Any, tuple[Callable[..., Any], ...]] = {}
"""Those of them that compile nothing."""
_LIMIT = 1024
_TRIED = 8  # programs tried a root op before the tape is given a key
_LONG, _PATIENCE, _SELDOM = 32, 16, 8
_WALKS = 80
"""Compiling a tape takes about as long as so many walks over it."""
_UNSEEN: dict[Any, int] = {}
"""How many tapes of `_LONG` nodes and more, in a row, were like none before, by the root's op.

(Under None the shorter ones, of which a key costs little.)
"""


def add_matcher(op: Any, matcher: Callable[..., Any]) -> None:
    """Has tapes whose root is this op tried by `matcher` first."""
    for table in (_MATCHERS, _OF_CALLS):
        table[op] = (matcher, *table.get(op, ()))


def run_matching(root: Node, ct: Any, free: bool) -> list[tuple[Tensor, Any]] | None:
    """Leaves and their gradients by a compiled backward that matches the tape, or None."""
    if type(ct) is DeviceArray:
        return None
    for matcher in (_MATCHERS if config.compile else _OF_CALLS).get(root.op, ()):
        found: list[tuple[Tensor, Any]] | None = matcher(root, ct, free)
        if found is not None:
            return found
    return None


def run(
    nodes: Sequence[Node],
    steps: Sequence[Step],
    tape: Tape,
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
) -> dict[Any, Any]:
    """Gradients of the wanted keys, as arrays that nobody else holds."""
    there = [x for x in seeds.values() if type(x) is DeviceArray]
    opaque = any([step.op.opaque for step in steps]) or any(is_jax_tracer(x.value) for x in there)
    if opaque or not config.compile:
        return owned(pullback(steps, tape.arrays_of, seeds, wanted))
    root = steps[-1].op if len(steps) >= _LONG else None
    if root is not None and not _worth_a_key(root):
        return owned(pullback(steps, tape.arrays_of, seeds, wanted))
    value_of = tape.array
    key, number = structure(steps, value_of, seeds, wanted)
    if key not in _COMPILED:
        budget = _BUDGETS.setdefault(frozenset([step.op for step in steps]), Budget())
        _bound(_BUDGETS)
        seconds, reached = _SEEN.get(key, (None, ()))
        if seconds is None or not budget.affords(_WALKS * seconds):
            before = budget.eager
            with budget.running():
                found = owned(pullback(steps, tape.arrays_of, seeds, wanted))
            took = budget.eager - before
            reached = tuple(i for i, k in enumerate(wanted) if k in found)
            _SEEN[key] = took if seconds is None else min(seconds, took), reached
            _bound(_SEEN)
            _UNSEEN[root] = _UNSEEN.get(root, 0) + 1 if seconds is None else 0
            return found
        targets, target = [wanted[i] for i in reached], "jax" if there else "numpy"
        with budget.compiling(target):
            backward = compile_backward(steps, value_of, seeds, targets, target)
            if not there:
                _recognise(nodes, steps, seeds, wanted, targets, backward)
        places = tuple(number[k] for k in backward.residuals)
        _COMPILED[key] = backward.program, places, reached
        _bound(_COMPILED)
    _UNSEEN[root] = 0
    program, places, reached = _COMPILED[key]
    keys = list(number)
    given = [*[value_of(keys[i]) for i in places], *seeds.values()]
    results = _on_device(program, given) if there else program.run(*given)
    if results is None:
        return owned(pullback(steps, tape.arrays_of, seeds, wanted))
    return {wanted[i]: result for i, result in zip(reached, results, strict=True)}


def _on_device(program: Program, given: Sequence[Any]) -> list[DeviceArray] | None:
    """What a backward for JAX gives; None where a look in it has another outcome."""
    arrays = [x.value if type(x) is DeviceArray else x for x in given]
    run: Any = program.run
    try:
        results = run.checked(*arrays) if program.source.looks else run(*arrays)
    except LookupError:
        return None
    return list(map(DeviceArray, results))


def _worth_a_key(root: Any) -> bool:
    """Whether to look if a long tape is like an earlier one: seldom, if many in a row were not."""
    unseen = _UNSEEN.get(root, 0)
    if unseen < _PATIENCE:
        return True
    _UNSEEN[root] = unseen + 1
    return unseen % _SELDOM == 0


def _bound(table: dict[Hashable, Any]) -> None:
    while len(table) > _LIMIT:
        table.pop(next(iter(table)), None)


def _recognise(
    nodes: Sequence[Node],
    steps: Sequence[Step],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
    targets: Sequence[Any],
    backward: Backward,
) -> None:
    """Makes the matcher of a tape from one node to all of its leaves."""
    leaves = {p for node in nodes for p in node.parents if type(p) is Tensor}
    all_leaves = leaves == set(wanted) and len(leaves) == len(wanted)
    root = next(iter(seeds))
    if len(seeds) == 1 and type(root) is Node and all_leaves:
        matcher = matcher_of(nodes, steps, root, targets, backward)
        if matcher is not None:
            tried = _MATCHERS.get(root.op, ())
            _MATCHERS[root.op] = (matcher, *tried[: _TRIED - 1])


def owned(found: dict[Any, Any]) -> dict[Any, Any]:
    """Gradients in memory of their own: rules may hand on an operand or one array twice."""
    return {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in found.items()}


def structure(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
) -> tuple[Hashable, dict[Any, int]]:
    """A record of everything that a backward depends on but the values; the numbers of the keys.

    One flat tuple: for each step its op, the numbers of its operands (before a new one: what it
    is), names and values of attributes.
    """
    number: dict[Any, int] = {}
    record: list[Hashable] = []
    for key in wanted:
        if key not in number:
            number[key] = len(number)
            record.append(_kind(value_of(key)))
    for step in steps:
        record.append(step.op)
        for key in step.operands:
            known = number.get(key)
            if known is None:
                known = number[key] = len(number)
                record.append(_kind(value_of(key)))
            record.append(known)
        for name, value in step.attributes.items():
            record += (name, attribute_key(_NO_SIZES, value))
        for key in step.results:
            number.setdefault(key, len(number))
    ends = (tuple([number[key] for key in seeds]), tuple([number[key] for key in wanted]))
    return (*record, len(steps), *ends), number


_NO_SIZES = Sizes()


def _kind(value: Any) -> Any:
    kind: Any = type(value)
    return kind if is_number(value) else (kind, value.dtype, tuple(value.shape))


def compile_backward(
    steps: Sequence[Step],
    value_of: Callable[[Any], Any],
    seeds: Mapping[Any, Any],
    wanted: Sequence[Any],
    target: str = "numpy",
) -> Backward:
    """The tape as a graph, differentiated, cut down to its backward part and compiled."""
    trace = Trace(None, target == "jax")
    values: dict[Any, Value] = {}
    inputs: dict[Any, Value] = {}

    def value(key: Any) -> Value:
        found = values.get(key)
        if found is None:
            found = trace.input(value_of(key), f"x{len(trace.inputs)}")
            values[key] = inputs[key] = found
        return found

    for key in wanted:
        value(key)
    for step in steps:
        operands = tuple(map(value, step.operands))
        results = trace.builder.call(step.op, operands, **step.attributes)
        values.update(zip(step.results, results, strict=True))
    targets = [values[key] for key in wanted]
    forward = Graph(
        "backward",
        tuple(trace.inputs),
        tuple(trace.builder.nodes),
        tuple(values[key] for key in seeds),
        Frame((), ("",) * len(trace.inputs)),
        trace.sizes,
    )
    cotangents = {
        values[key]: Value(values[key].type, Origin("ct" if len(seeds) == 1 else f"ct{i}", True))
        for i, key in enumerate(seeds)
    }
    joint = differentiate(forward, targets, cotangents, keep=())
    cut, residuals = backward_graph(joint, forward, tuple(cotangents.values()))
    program = compile_graph(cut, target)
    key_of = {value: key for key, value in values.items()}
    guards = dict.fromkeys((*trace.sizes.guards, *program.graph.sizes.guards))
    return Backward(program, tuple(key_of[v] for v in residuals), inputs, tuple(guards))


# -- matching -----------------------------------------------------------------------------------


def matcher_of(
    nodes: Sequence[Node],
    steps: Sequence[Step],
    root: Node,
    wanted: Sequence[Any],
    backward: Backward,
) -> Callable[..., Any] | None:
    """The function that recognises a tape like this one and runs its backward."""
    text, names = matcher_source(nodes, steps, root, wanted, backward)
    return load(text, "match", names)


def matcher_source(
    nodes: Sequence[Node],
    steps: Sequence[Step],
    root: Node,
    wanted: Sequence[Any],
    backward: Backward,
) -> tuple[str, dict[str, Any]]:
    """The matcher's source: newest node first, so that every node is known before it is read."""
    writer = _Matcher(nodes, steps, root)
    for node in reversed(nodes):
        writer.node(node)
    writer.inputs(backward)
    writer.finish(root, wanted, backward)
    return "\n".join(writer.lines) + "\n", writer.names


_NUMBER = (None,) * 65  # for a shape where a tape holds a Python number: no array has it


class _Matcher:
    """Writes a matcher; `place` is where each key of the tape is found by then.

    A node keeps of a large array that its rule does not read no more than the shape, so an array
    that several nodes met is taken from one that reads it, where there is one (`whole`).
    """

    def __init__(self, nodes: Sequence[Node], steps: Sequence[Step], root: Node) -> None:
        self.number = {node: f"n{i}" for i, node in enumerate(reversed(nodes))}
        self.lines = ["def match(n0, ct, free):"]
        self.names: dict[str, Any] = {
            "FREED": FREED,
            "NUMBER": _NUMBER,
            "Node": Node,
            "Output": Output,
            "Tensor": Tensor,
            "WRITES": WRITES,
            "damaged": damaged,
            "ndarray": np.ndarray,
        }
        self.known: set[Any] = {root}
        # Each constant where it was met; a condition that was met twice is to be one object again.
        self.place: dict[Any, str] = {}
        self.again: list[str] = []
        for node, step in zip(nodes, steps, strict=True):
            for i, (key, parent) in enumerate(zip(step.operands, node.parents, strict=True)):
                if parent is None:
                    place = f"{self.number[node]}.values[{i}]"
                    if self.place.setdefault(key, place) != place:
                        self.again.append(f"{place} is {self.place[key]}")
        self.whole: set[Any] = set()
        self.leaves: dict[Tensor, str] = {}

    def found(self, key: Any, place: str, whole: bool) -> None:
        """Notes a place of a key; `whole` says that the array itself is there."""
        if key not in self.place or (whole and key not in self.whole):
            self.place[key] = place
            if whole:
                self.whole.add(key)

    def require(self, condition: str) -> None:
        self.lines.append(f"    if not ({condition}):")
        self.lines.append("        return None")

    def refer(self, stem: str, value: Any) -> str:
        name = f"{stem}_{len(self.names)}"
        self.names[name] = value
        return name

    def node(self, node: Node) -> None:
        """Compares one node and finds its parents."""
        me = self.number[node]
        tests = [f"{me}.op is {self.refer('op', node.op)}", f"{me}.more is None"]
        if node.attributes is EMPTY or not node.attributes:
            tests.append(f"not {me}.attributes")
        else:
            tests.append(f"{me}.attributes == {self.refer('attributes', node.attributes)}")
        self.require(" and ".join(tests))
        parents = [f"{me}p{i}" for i in range(len(node.parents))]
        if parents:
            comma = "," if len(parents) == 1 else ""
            if node.op.operands and node.op.operands[-1].startswith("*"):
                self.require(f"len({me}.parents) == {len(parents)}")
            self.lines.append(f"    {', '.join(parents)}{comma} = {me}.parents")
        read = read_by_rule(node)  # where arrays are large, shapes stand for the others
        kept = [read is None or i in read for i in range(len(node.values) + 1)]
        for i, (name, parent) in enumerate(zip(parents, node.parents, strict=True)):
            whole = kept[i] and type(node.values[i]) is not Shape
            self.parent(name, parent, f"{me}.values[{i}]", whole)
        if type(node.result) is tuple:
            for i in range(len(node.result)):
                self.found((node, i), f"{me}.result[{i}]", True)
        else:
            self.found(node, f"{me}.result", kept[-1] and type(node.result) is not Shape)

    def parent(self, name: str, parent: Any, value: str, whole: bool) -> None:
        if parent is None:
            self.require(f"{name} is None")
            return
        if type(parent) is Tensor:
            if parent in self.leaves:
                self.require(f"{name} is {self.leaves[parent]}")
            else:
                self.require(f"type({name}) is Tensor")
                self.leaves[parent] = name
                self.place[parent] = f"{name}._array"
            return
        above = parent
        if type(parent) is Output:
            self.require(f"type({name}) is Output and {name}.index == {parent.index}")
            self.lines.append(f"    {name} = {name}.node")
            above = parent.node
            self.found((above, parent.index), value, whole)
        else:
            self.found(above, value, whole)
        if above in self.known:
            self.require(f"{name} is {self.number[above]}")
            return
        self.known.add(above)
        self.require(f"type({name}) is Node")
        self.lines.append(f"    {self.number[above]} = {name}")

    def inputs(self, backward: Backward) -> None:
        """Order of nodes, types of what the tape started from, and the lengths assumed."""
        order = list(self.number.values())
        if len(order) > 1:  # the same order in time, and nothing shared that is not expected to be
            self.require(" > ".join(f"{name}.stamp" for name in order))
        nodes = ", ".join(order)
        self.lines.append(f"    if {order[-1]}.stamp < WRITES.last and damaged(({nodes},)):")
        self.lines.append("        return None")
        names = list(self.leaves.values())
        if names:
            self.require(" and ".join(f"not {name}._hooks" for name in names))
        pairs = [f"{a} is not {b}" for i, a in enumerate(names) for b in names[:i]]
        if pairs:
            self.require(
                " and ".join(pairs)
                if len(names) <= 6
                else f"len({{{', '.join(f'id({n})' for n in names)}}}) == {len(names)}"
            )
        for condition in self.again:
            self.require(condition)
        texts: dict[str, str] = {}
        for key, value in backward.inputs.items():
            text = self.place[key]
            if value.type.weak or is_number(getattr(key, "value", None)):
                number = key._array if type(key) is Tensor else key.value
                self.require(f"type({text}) is {self.refer('kind', type(number))}")
                continue
            if type(key) not in (Tensor, Node, tuple):  # a constant: a number, another time
                self.require(f"type({text}) is {self.refer('kind', type(key.value))}")
            dtype = self.refer("dtype", np.dtype(value.type.dtype))
            shape = f"shape{len(self.lines)}"
            self.lines.append(f'    {shape} = getattr({text}, "shape", NUMBER)')
            self.require(f"len({shape}) == {value.type.ndim} and {text}.dtype is {dtype}")
            for axis, dim in enumerate(value.type.shape):
                name = None if isinstance(dim, int) else dim.symbol()
                if name is not None:
                    texts.setdefault(name, f"{shape}[{axis}]")
        for a, b in backward.guards:
            self.require(equality_as_python(a, b, texts))

    def finish(self, root: Node, wanted: Sequence[Any], backward: Backward) -> None:
        self.names["program"] = backward.program.run
        arguments = [self.place[key] for key in backward.residuals]
        ct = f"ct{_conjugated(root.result)}"
        self.lines.append(f"    found = program({', '.join([*arguments, ct])})")
        self.lines.append("    if free:")
        for name in self.number.values():
            self.lines.append(f"        {name}.parents = {name}.values = ()")
            self.lines.append(f"        {name}.result = None")
            self.lines.append(f"        {name}.more = FREED")
        pairs = ", ".join(
            f"({self.leaves[leaf]}, found[{i}]{_conjugated(leaf._array)})"
            for i, leaf in enumerate(wanted)
        )
        self.lines.append(f"    return [{pairs}]")


def _conjugated(array: Any) -> str:
    """What turns a complex gradient of this array between the rules' convention and users'."""
    return ".conj()" if np.iscomplexobj(array) else ""
