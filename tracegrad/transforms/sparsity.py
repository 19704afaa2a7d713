"""Finds which elements of a graph's outputs depend on which elements of inputs.

An element of a value has the set of the elements of the inputs that it may depend on: a row of a
sparse matrix of truth values. The graph runs op by op on the arrays of a call, for their shapes and
whole numbers alone, on every way that branches leave open; loops run turn by turn. What an op does
to the sets follows from what kind of op it is: elementwise, one that moves elements (its own
kernel, run on their numbers, says whither), one that goes along axes, a product. Any other op is
dense in what it depends on, so a set is never too small.

No set depends on a floating-point value. Where whole numbers are indices they must come from whole
numbers of the call, which are part of what the pattern is kept for; else the op is dense. So is a
loop that floating-point values end, if its turns are not alike in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, count
from typing import Any, NamedTuple

import numpy as np

from codegen.ir import Again, Block, Branch, Call, Constant, Graph, Join, Loop, Trait, Value
from codegen.passes.dce import dce
from codegen.sizes import symbols
from codegen.types import LIST
from tracegrad.differentiation.moved_elements import moved_elements
from tracegrad.execution.graph_interpreter import concrete, lengths, read, run_through
from tracegrad.ops.python_lists import (
    append_row,
    appended,
    collected,
    first_items,
    item,
    length,
    list_item,
    listed_rows,
    new_list,
    row_before,
)
from tracegrad.ops.record import TABLE
from tracegrad.optimizer.memory_order import without_order
from tracegrad.tracing.path_tree import outcome_key

MOST_STEPS = 20_000
"""After so many operations the pattern of a function with loops is taken for dense."""
STEPS_PER_COLUMN = 100
"""Or after so many for each column, of which each has a product where the pattern is dense."""

Sets = Any
"""A `scipy.sparse.csr_array` with a row for each element, a column for each one of the inputs."""


def pattern(
    graph: Graph,
    sources: Sequence[Value],
    inputs: Sequence[Any],
    rows: Sequence[tuple[int, ...]],
) -> Sets | None:
    """Which elements of the last outputs depend on which of the rows of inputs.

    Parameters
    ----------
    graph
        A graph whose last outputs are linear in `sources`, and have their first axis: what stands
        in one row of an output depends on the same row of each of `sources`.
    sources
        The inputs; their rows are told apart by nobody.
    inputs
        Arrays for all inputs, of the shapes of the call.
    rows
        The shape of a row of each of the last outputs. Paths that return other shapes are those of
        other calls.

    Returns
    -------
    scipy.sparse.csr_array or None
        Of truth values, of the shape (elements of a row of all outputs, elements of a row of all
        sources), one after the other: true wherever a path of the graph leads from one to the
        other, whatever the floating-point values. None where that is not known.
    """
    graph = dce(without_order(graph))
    if not _is_understood(graph):
        return None
    walker = _Walker(graph, sources, inputs, rows)
    try:
        with np.errstate(all="ignore"):
            walker.go_through(graph.block)
    except Exception:  # what a path does to these values is refused: it is for others
        return None
    return walker.union(walker.returned) if walker.returned else None


def places_of(graph: Graph, targets: Sequence[Value], inputs: Sequence[Any], count: int) -> Any:
    """Which elements of inputs the parts hold that a graph computes its first outputs with.

    An array of their numbers, one part after the other, where the elements of the second input are
    counted on from those of the first; None where that is not known, as of several ways.
    """
    outputs = graph.outputs[:count]
    moved = moved_elements(graph, targets, outputs) if len(outputs) == count else None
    if moved is None:
        return None
    numbers, start = dict[Value, Any](), 0
    for target in targets:
        numbers[target] = start + _numbers(np.shape(inputs[graph.inputs.index(target)]))
        start += numbers[target].size

    def step(call: Call, run: Callable[..., Any], arrays: Sequence[Any], known: Any) -> Any:
        if moved.values.issuperset(call.results):
            found = run(numbers[call.operands[0]], *arrays[1:], **known)
            several = found if len(call.results) > 1 else (found,)
            numbers.update(zip(call.results, several, strict=True))
        return run(*arrays, **known)

    try:
        with np.errstate(all="ignore"):
            run_through(graph, inputs, step)
    except Exception:  # what the path does to these values is refused: it is for others
        return None
    return np.concatenate([np.zeros(0, np.int64), *[np.ravel(numbers[v]) for v in moved.parts]])


def _is_understood(graph: Graph) -> bool:
    """Whether there is neither code of the user's nor a length that values decide."""
    known = {name for value in graph.inputs for name in _symbols(value)}
    for node in graph.all_nodes:
        if isinstance(node, Call) and (
            node.op.opaque  # type: ignore[attr-defined]
            or Trait.EFFECT in node.op.traits
        ):
            return False
        if any(not known.issuperset(_symbols(value)) for value in node.results):
            return False
    return True


def _symbols(value: Value) -> set[str]:
    return set().union(*map(symbols, value.type.shape)) if value.type != LIST else set()


class _Unknown(Exception):
    """The pattern is not known: there are too many turns, or they do not come to an end."""


class _Given(NamedTuple):
    """What a turn of a loop hands to the next one."""

    arrays: tuple[Any, ...]
    sets: tuple[Any, ...]
    moving: tuple[bool, ...]
    certain: bool  # no value was looked at on the way


class _Walker:
    """The sets of what all paths make."""

    def __init__(
        self,
        graph: Graph,
        sources: Sequence[Value],
        inputs: Sequence[Any],
        rows: Sequence[tuple[int, ...]],
    ) -> None:
        from scipy import sparse  # type: ignore[import-untyped]

        self.sparse = sparse
        self.graph = graph
        self.rows = rows
        self.returned: list[Sets] = []
        self.values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
        lengths_of = [int(np.prod(np.shape(self.values[source])[1:])) for source in sources]
        self.width = sum(lengths_of)
        self.most_steps = max(MOST_STEPS, STEPS_PER_COLUMN * self.width)
        self.sets: dict[Value, Any] = {}
        for source, length_of, end in zip(sources, lengths_of, accumulate(lengths_of), strict=True):
            shape = (length_of, self.width)
            own = sparse.eye_array(*shape, k=end - length_of, format="csr", dtype=bool)
            several = [own] * len(self.values[source])
            self.sets[source] = sparse.vstack(several, format="csr")
        self.sizes = lengths(graph, inputs)
        fixed = {  # whole numbers; what is not made of them alone is moving
            value
            for value, array in self.values.items()
            if value not in sources and np.asarray(array).dtype.kind in "iub"
        }
        self.moving = {value for value in graph.inputs if value not in fixed}
        self.certain = True
        self.again: dict[object, list[_Given]] = {}
        self.steps = 0

    # -- ways through the graph -----------------------------------------------------------------

    def go_through(self, block: Block) -> None:
        """Does what a block does, on all ways on from there; what they return is kept."""
        for node in block.nodes:
            match node:
                case Constant(value, result):
                    strong = np.dtype(result.type.dtype).type
                    self.values[result] = value if result.type.weak else strong(value)
                case Call():
                    self._call(node)
                case Branch():
                    return self._part(node)
                case Loop():
                    return self._loop(node)
                case Join():
                    return self._join(node)
                case Again(label, arguments):
                    self.again[label].append(self._given(arguments))
                    return None
        outputs = block.outputs[-len(self.rows) :]
        shapes = [np.shape(self.values[output]) for output in outputs]
        if [shape[1:] for shape in shapes] == [*self.rows]:
            of_rows = [
                self._of(output, shape)[: int(np.prod(shape[1:]))]
                for output, shape in zip(outputs, shapes, strict=True)
            ]
            self.returned.append(self.sparse.vstack(of_rows, format="csr"))
        return None

    def _part(self, branch: Branch) -> None:
        """Every arm; that of these values alone, where whole numbers decide."""
        if branch.operand not in self.moving:
            found = outcome_key(read(self.values[branch.operand], branch.look))
            keys = list(map(outcome_key, branch.outcomes))
            return self.go_through(branch.blocks[keys.index(found)])
        before, self.certain = self.certain, False
        for block in branch.blocks:
            self.go_through(block)
        self.certain = before
        return None

    def _join(self, join: Join) -> None:
        """All ways to where arms meet, and then what is true of all of them."""
        self.again[join.label] = []
        self.go_through(join.body)
        ways = self.again.pop(join.label)
        if ways:
            self._hand(join, self._met(ways))
            self.go_through(join.after)

    def _loop(self, loop: Loop) -> None:
        """Turn by turn: as many as there are, or until another one would change nothing."""
        given = self._given(loop.arguments)
        for number in self._numbers(loop):
            self.again[loop.label] = []
            self._hand(loop, given)
            if loop.counter is not None:
                self.values[loop.counter.index] = number
                self.moving.discard(loop.counter.index)
            self.go_through(loop.turn)
            ways = self.again.pop(loop.label)
            if not ways:
                return
            before, given = given, self._met(ways)
            if loop.counter is None and not given.certain:
                given = self._met([before, given])
                if self._same(before, given):
                    return
        if loop.after is not None:
            self._hand(loop, given)
            outer, self.certain = self.certain, self.certain and given.certain
            self.go_through(loop.after)
            self.certain = outer

    def _numbers(self, loop: Loop) -> Iterable[int]:
        """The numbers of the turns."""
        counter = loop.counter
        if counter is None:
            return count()
        if not self.moving.isdisjoint((counter.start, counter.stop)):
            raise _Unknown
        start, stop = (int(self.values[v]) for v in (counter.start, counter.stop))
        return range(start, stop, counter.step)

    def _given(self, arguments: Sequence[Value]) -> _Given:
        return _Given(
            tuple([self.values[v] for v in arguments]),
            tuple([self.sets.get(v) for v in arguments]),
            tuple([v in self.moving for v in arguments]),
            self.certain,
        )

    def _hand(self, head: Loop | Join, given: _Given) -> None:
        """The parameters of a turn, or of what follows the loop or the join."""
        for parameter, array, sets, moves in zip(head.parameters, *given[:3], strict=True):
            self.values[parameter] = array
            self.sets.pop(parameter, None)
            if sets is not None:
                self.sets[parameter] = sets
            (self.moving.add if moves else self.moving.discard)(parameter)

    def _met(self, ways: Sequence[_Given]) -> _Given:
        """What is true of several ways that meet; some have no value (None) of a parameter."""
        if len(ways) == 1:
            return ways[0]
        arrays, moving = [], []
        for several, moves in zip(
            zip(*[way.arrays for way in ways], strict=True),
            zip(*[way.moving for way in ways], strict=True),
            strict=True,
        ):
            there = [array for array in several if array is not None]
            first, *rest = there or [None]
            for other in rest:
                alike = type(first) is not list and type(other) is not list
                if not alike or np.shape(first) != np.shape(other):
                    raise _Unknown
            arrays.append(first)
            moving.append(any(moves) or not all(np.array_equal(first, other) for other in rest))
        sets = [
            self.union(found) if (found := [s for s in several if s is not None]) else None
            for several in zip(*[way.sets for way in ways], strict=True)
        ]
        certain = all(way.certain for way in ways)
        return _Given(tuple(arrays), tuple(sets), tuple(moving), certain)

    def _same(self, one: _Given, two: _Given) -> bool:
        """Whether the sets, which only grow, are what they were."""
        sizes = [[s if s is None else s.nnz for s in given.sets] for given in (one, two)]
        return sizes[0] == sizes[1] and one.moving == two.moving

    # -- ops ------------------------------------------------------------------------------------

    def _of(self, value: Value, shape: Sequence[int]) -> Sets:
        """The sets of a value; empty ones, where it does not depend on the input."""
        found = self.sets.get(value)
        return self._empty(int(np.prod(shape))) if found is None else found

    def _empty(self, size: int) -> Sets:
        return self.sparse.csr_array((size, self.width), dtype=bool)

    def _call(self, call: Call) -> None:
        """Runs an op, and makes the sets of its results."""
        if Trait.UNSET in call.op.traits:
            self.values.update(dict.fromkeys(call.results))
            return
        known = {name: concrete(v, self.sizes, self.graph) for name, v in call.attributes}
        run = call.op.kernel(known)  # type: ignore[attr-defined]
        arrays = [self.values[v] for v in call.operands]
        out = run(*arrays, **known)
        results = out if len(call.results) > 1 else (out,)
        self.values.update(zip(call.results, results, strict=True))
        moves = not self.moving.isdisjoint(call.operands) or not _is_known(call.op)
        (self.moving.update if moves else self.moving.difference_update)(call.results)
        given = [self.sets.get(value) for value in call.operands]
        for value in call.results:
            self.sets.pop(value, None)
        if all(sets is None for sets in given) and call.op is not new_list:
            return
        self.steps += 1
        if self.steps > self.most_steps:
            raise _Unknown
        made: list[Any] | None
        if call.op in _ON_LISTS:
            made = [self._on_list(call, arrays, given)]
        else:
            shapes = [np.shape(result) for result in results]
            made = self._made(call, run, arrays, known, given, shapes)
            if made is None:
                made = [self._dense(given, int(np.prod(shape))) for shape in shapes]
            assert [s.shape[0] for s in made] == [int(np.prod(shape)) for shape in shapes]
        self.sets.update((v, s) for v, s in zip(call.results, made, strict=True) if s is not None)

    def _on_list(self, call: Call, arrays: Sequence[Any], given: Sequence[Any]) -> Any:
        """Of a list the sets are a list of those of its items."""
        if call.op is new_list:
            return list(given)
        if call.op in (appended, append_row):
            return [*(given[0] or [None] * len(arrays[0])), given[1]]
        if call.op is listed_rows or call.operands[1] in self.moving:
            raise _Unknown
        if call.op is first_items:
            return given[0][: int(arrays[1])]
        return given[0][int(arrays[1])]

    def _made(
        self,
        call: Call,
        run: Callable[..., Any],
        arrays: Sequence[Any],
        known: Mapping[str, Any],
        given: Sequence[Sets | None],
        shapes: Sequence[tuple[int, ...]],
    ) -> list[Sets] | None:
        """The sets of the results; None for an op of which no more is known than its operands."""
        name, (shape, *_) = call.op.name, shapes
        first, ins = given[0], [np.shape(array) for array in arrays]
        if Trait.ELEMENTWISE in call.op.traits:
            parts = zip(given, ins, strict=True)
            return [self.union([self._spread(sets, of, shape) for sets, of in parts])]
        if name == "take_along_axis" and not self._knows_indices(call):
            return [self._parts(given[:1], ins[:1], [known["axis"]], shape)]
        if name in _MOVING or (name == "pad" and _moves(known)):
            return self._moved(call, run, arrays, known, given, shapes)
        if name in _ADDING:
            return self._added(call, arrays, known, given, shape)
        if name in _ALONG_AXES:
            axes = known["axes" if "axes" in known else "axis"]
            return [self._parts(given, ins, [axes] * len(ins), shape)]
        if name in _OF_LAST_AXES:
            counts = _OF_LAST_AXES[name](ins)
            return [self._batches(given, ins, counts, to) for to in shapes]
        if name == "cumsum":
            return [self._accumulated(first, ins[0], known["axis"])]
        if name in ("matmul", "outer", "tensordot") or name.startswith("einsum"):
            text = _subscripts(name, known, ins)
            product = text and self._contracted(text, given, ins)
            return [product] if product is not None and text else None
        return None

    # -- kinds of ops -------------------------------------------------------------------------

    def _dense(self, given: Sequence[Sets | None], size: int) -> Sets:
        """Every element depends on whatever any operand depends on."""
        columns = np.unique(np.concatenate([s.indices for s in given if s is not None]))
        row = self.sparse.csr_array(
            (np.ones(len(columns), bool), columns, [0, len(columns)]), shape=(1, self.width)
        )
        return self._taken(row, np.zeros(size, np.int64))

    def _taken(self, sets: Sets, numbers: Any) -> Sets:
        """The sets of elements by number; for -1 the empty one."""
        numbers = np.ravel(numbers)
        if numbers.min(initial=0) >= 0:
            return sets[numbers]
        some = np.flatnonzero(numbers >= 0)
        entries = (np.ones(len(some), bool), (some, numbers[some]))
        return _flags(self._matrix(entries, (len(numbers), sets.shape[0])) @ sets)

    def _matrix(self, entries: Any, shape: tuple[int, int]) -> Sets:
        return self.sparse.csr_array(self.sparse.coo_array(entries, shape=shape))

    def _spread(self, sets: Sets | None, shape: Sequence[int], to: Sequence[int]) -> Sets | None:
        """The sets of an operand that is broadcast."""
        if sets is None or tuple(shape) == tuple(to):
            return sets
        return self._taken(sets, np.broadcast_to(_numbers(shape), to))

    def union(self, several: Sequence[Sets | None]) -> Sets:
        """The sets of what depends on any of these."""
        first, *rest = [sets for sets in several if sets is not None]
        for sets in rest:
            first = first + sets
        return _flags(first)

    def _moved(
        self,
        call: Call,
        run: Callable[..., Any],
        arrays: Sequence[Any],
        known: Mapping[str, Any],
        given: Sequence[Sets | None],
        shapes: Sequence[tuple[int, ...]],
    ) -> list[Sets] | None:
        """An op whose results hold elements of its operands, or zeros: run on their numbers."""
        indices = _indices(call)
        if not self._knows_indices(call):
            return None
        operands, parts, count = [], [], 0
        for i, (sets, array) in enumerate(zip(given, arrays, strict=True)):
            if i in indices:
                operands.append(array)
            elif sets is None:
                operands.append(np.zeros(np.shape(array)))
            else:
                operands.append(_numbers(np.shape(array)) + (count + 1.0))
                parts.append(sets)
                count += sets.shape[0]
        if "dtype" in known:
            known = {**known, "dtype": "float64"}
        out = run(*operands, **known)
        whole = self.sparse.vstack(parts, format="csr")
        outs = out if len(shapes) > 1 else (out,)
        return [self._taken(whole, np.asarray(o).astype(np.int64) - 1) for o in outs]

    def _knows_indices(self, call: Call) -> bool:
        """Whether the indices are made of whole numbers of the call."""
        return self.moving.isdisjoint(call.operands[i] for i in _indices(call))

    def _added(
        self,
        call: Call,
        arrays: Sequence[Any],
        known: Mapping[str, Any],
        given: Sequence[Sets | None],
        shape: tuple[int, ...],
    ) -> list[Sets] | None:
        """Values added to elements of an array, or of zeros."""
        if not self._knows_indices(call):
            return None
        into = call.op.name != "scatter"
        sets, value = given[into], arrays[into]
        found: list[Sets | None] = [given[0] if into else None]
        if sets is not None:
            index = known["index"].resolve(tuple(arrays[into + 1 :]))
            targets = np.asarray(_numbers(shape)[index])
            sources = np.broadcast_to(_numbers(np.shape(value)), targets.shape)
            size = int(np.prod(shape))
            pairs = (np.ones(targets.size, bool), (targets.ravel(), sources.ravel()))
            found.append(_flags(self._matrix(pairs, (size, sets.shape[0])) @ sets))
        return [self.union(found)]

    def _parts(
        self,
        given: Sequence[Sets | None],
        shapes: Sequence[Sequence[int]],
        axes: Sequence[Any],
        to: Sequence[int],
    ) -> Sets:
        """The sets of what is made of all elements along axes, for each place along the others."""
        found = []
        for sets, shape, own in zip(given, shapes, axes, strict=True):
            if sets is not None:
                places = range(len(shape)) if own is None else np.atleast_1d(own) % len(shape)
                kept = [1 if i in places else n for i, n in enumerate(shape)]
                few = self._added_up(sets, np.broadcast_to(_numbers(kept), shape))
                whole = _numbers(kept)
                whole = whole if len(to) == len(shape) else whole.reshape(to)
                found.append(self._taken(few, np.broadcast_to(whole, to)))
        return self.union(found)

    def _batches(
        self,
        given: Sequence[Sets | None],
        shapes: Sequence[tuple[int, ...]],
        counts: Sequence[int],
        to: tuple[int, ...],
    ) -> Sets:
        """The same for axes at the end, so many of each operand; those before them broadcast."""
        batches = [shape[: len(shape) - n] for shape, n in zip(shapes, counts, strict=True)]
        batch = np.broadcast_shapes(*batches)
        found = []
        for sets, shape, own in zip(given, shapes, batches, strict=True):
            if sets is not None:
                numbers = _numbers(own).reshape(*own, *[1] * (len(shape) - len(own)))
                few = self._added_up(sets, np.broadcast_to(numbers, shape))
                whole = np.broadcast_to(_numbers(own), batch)
                whole = whole.reshape(*batch, *[1] * (len(to) - len(batch)))
                found.append(self._taken(few, np.broadcast_to(whole, to)))
        return self.union(found)

    def _added_up(self, sets: Sets, targets: Any) -> Sets:
        """The sets of what the elements with these numbers are added up to."""
        size = int(targets.max(initial=-1)) + 1
        pairs = (np.ones(targets.size, bool), (targets.ravel(), np.arange(targets.size)))
        return _flags(self._matrix(pairs, (size, sets.shape[0])) @ sets)

    def _accumulated(self, sets: Sets, shape: Sequence[int], axis: Any) -> Sets:
        """The sets of running sums."""
        numbers = _numbers(shape)
        if axis is None:
            numbers, axis = numbers.ravel(), 0
        lines = np.moveaxis(numbers, axis, -1).reshape(-1, numbers.shape[axis])
        ends, before = np.tril_indices(lines.shape[1])
        pairs = (lines[:, ends].ravel(), lines[:, before].ravel())
        size = (sets.shape[0], sets.shape[0])
        return _flags(self._matrix((np.ones(pairs[0].size, bool), pairs), size) @ sets)

    def _contracted(
        self, text: str, given: Sequence[Sets | None], shapes: Sequence[Any]
    ) -> Sets | None:
        """The sets of a product, dense along the axes that it sums over."""
        left, right = text.split("->")
        parts = left.split(",")
        named = [zip(part, shape, strict=True) for part, shape in zip(parts, shapes, strict=True)]
        axes = {pair for pairs in named for pair in pairs}
        lengths = dict(axes)
        if len(axes) > len(lengths):
            return None  # one of them is broadcast
        found: list[Sets | None] = []
        for part, sets, shape in zip(parts, given, shapes, strict=True):
            if sets is None:
                continue
            kept = "".join(c for c in right if c in part)
            sizes = [lengths[c] for c in kept]
            grid = np.einsum(f"{kept}->{''.join(c for c in part if c in kept)}", _numbers(sizes))
            spread = [lengths[c] if c in kept else 1 for c in part]
            few = self._added_up(sets, np.broadcast_to(grid.reshape(spread), shape))
            whole = _numbers(sizes).reshape([lengths[c] if c in kept else 1 for c in right])
            found.append(self._taken(few, np.broadcast_to(whole, [lengths[c] for c in right])))
        return self.union(found)


def _is_known(op: Any) -> bool:
    """Whether what an op gives is decided by its operands."""
    return TABLE.get(op.name) is op or op in _OF_LOOPS


def _flags(sets: Sets) -> Sets:
    """Truth values, whatever was counted."""
    return sets.astype(bool)


def _numbers(shape: Sequence[int]) -> Any:
    """An array of the numbers of its elements."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def _moves(padding: Mapping[str, Any]) -> bool:
    """Whether an array is padded with zeros, or with its own elements."""
    mode = padding["mode"]
    return mode in ("edge", "reflect", "symmetric", "wrap") or (
        mode == "constant" and bool(np.all(np.asarray(padding["value"]) == 0))
    )


def _indices(call: Call) -> range:
    """Which operands are indices."""
    names = call.op.operands  # type: ignore[attr-defined]
    first = next((i for i, name in enumerate(names) if name in ("*arrays", "indices", "k")), None)
    if first is None or call.op.name in ("concatenate", "stack"):
        return range(0)
    return range(first, len(call.operands))


def _subscripts(name: str, known: Mapping[str, Any], shapes: Sequence[Any]) -> str | None:
    """What a product sums over, as `numpy.einsum` says it."""
    if name.startswith("einsum"):
        text = str(known["subscripts"]).replace(" ", "")
        parts = text.partition("->")[0].split(",")
        plain = "->" in text and "." not in text and all(len(p) == len({*p}) for p in parts)
        return text if plain else None
    a, b = map(len, shapes)
    if name == "outer":
        return "a,b->ab" if all(len(shape) == 1 for shape in shapes) else None
    if name == "tensordot":
        return _tensordot(known["axes"], *map(len, shapes))
    if min(a, b) == 0 or max(a, b) > 10:
        return None
    more = max(a, b, 2) - 2
    batch = "cdefghij"[:more]
    one = batch[more - max(a - 2, 0) :] + ("xz" if a > 1 else "z")
    two = batch[more - max(b - 2, 0) :] + ("zy" if b > 1 else "z")
    if a > 2 and b > 2 and any(m != n for m, n in zip(shapes[0][-3::-1], shapes[1][-3::-1])):
        return None  # broadcast over its batches
    return f"{one},{two}->{batch}{'x' if a > 1 else ''}{'y' if b > 1 else ''}"


def _tensordot(axes: Any, a: int, b: int) -> str:
    """`numpy.tensordot` of arrays with so many axes, as `numpy.einsum` says it."""
    summed = (
        (range(a - axes, a), range(axes)) if isinstance(axes, int) else map(np.atleast_1d, axes)
    )
    of_a, of_b = ([int(i) % n for i in part] for part, n in zip(summed, (a, b), strict=True))
    one = [chr(ord("a") + i) for i in range(a)]
    two = [chr(ord("A") + i) for i in range(b)]
    for i, j in zip(of_a, of_b, strict=True):
        two[j] = one[i]
    kept = [c for c in one if c not in two] + [c for c in two if c not in one]
    return f"{''.join(one)},{''.join(two)}->{''.join(kept)}"


_MOVING = frozenset({
    "broadcast_to", "collect", "concatenate", "diag", "diagonal", "diagonal_view", "element",
    "expand_dims", "flip", "gather", "getitem", "getitem_copy", "index_set", "inner_part",
    "list_item", "part", "place", "repeat", "reshape", "roll", "row_before", "split", "spread",
    "squeeze", "stack", "take_along_axis", "tile", "transpose", "tril", "triu", "unstack",
    "windows",
})  # fmt: skip
_ADDING = frozenset({"index_add", "index_subtract", "scatter"})
_ALONG_AXES = frozenset({
    "cummax", "cummin", "cumprod", "cumprod_pullback", "fft", "fftn", "ifft", "ifftn",
    "increase_along", "irfft", "irfftn", "log_softmax", "logaddexp_reduce", "logsumexp", "max",
    "mean", "median", "min", "nanmax", "nanmedian", "nanmin", "norm", "place_along_axis", "prod",
    "rfft", "rfftn",
    "segment_sums", "softmax", "sort", "std", "sum", "var",
})  # fmt: skip
"""For each place along all other axes an op by itself."""
_OF_LAST_AXES: Mapping[str, Callable[[Sequence[tuple[int, ...]]], Sequence[int]]] = {
    "cross": lambda shapes: (1, 1),
    "row_dot": lambda shapes: (1, 1),
    "standardize": lambda shapes: (1,),
    **dict.fromkeys(("solve", "solve_triangular"), lambda shapes: (2, min(len(shapes[1]), 2))),
    **dict.fromkeys(
        ("cholesky", "det", "eigh", "eigvalsh", "inv", "pinv", "slogdet", "svdvals"),
        lambda shapes: (2,),
    ),
}
"""For each place along the axes before the last ones, of which each operand has so many."""
_ON_LISTS = frozenset({new_list, appended, append_row, item, first_items, listed_rows})
_OF_LOOPS = _ON_LISTS | {collected, length, list_item, row_before}
