"""Finds which elements of a graph's output depend on which elements of an input.

An element of a value has the set of the elements of the input that it may depend on: a row of a
sparse matrix of truth values. The graph runs op by op on the arrays of a call, for their shapes and
whole numbers alone. What an op does to the sets follows from what kind of op it is: elementwise,
one that moves elements (its own kernel, run on their numbers, says whither), one that adds up along
axes, a product. Any other op is dense in what it depends on, so a set is never too small.

No set depends on a floating-point value. Where whole numbers are indices they must come from whole
numbers of the call, which are part of what the pattern is kept for; else the op is dense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.ir import Block, Branch, Call, Check, Graph, Loop, Node, Trait, Value, walk
from codegen.passes.dce import dce
from codegen.sizes import symbols
from codegen.types import LIST
from tracegrad.execution.pipeline import run_through
from tracegrad.ops.record import TABLE

Sets = Any
"""A `scipy.sparse.csr_array` with a row for each element, a column for each one of the input."""


def pattern(
    graph: Graph, source: Value, inputs: Sequence[Any], row: tuple[int, ...]
) -> Sets | None:
    """Which elements of the first output depend on which of the rows of an input.

    Parameters
    ----------
    graph
        A graph whose first output is linear in `source`, and has its first axis: what stands in one
        row of the output depends on the same row of `source`.
    source
        The input; its rows are told apart by nobody.
    inputs
        Arrays for all inputs, of the shapes of the call.
    row
        The shape of a row of the output. Paths that return another shape are those of other calls.

    Returns
    -------
    scipy.sparse.csr_array or None
        Of truth values, of the shape (elements of a row of the output, elements of a row of the
        input): true wherever a path of the graph leads from one to the other, whatever the
        floating-point values. None where that is not known.
    """
    graph = dce(graph)
    if not _is_understood(graph):
        return None
    found = None
    for path in _paths(graph):
        walker = _Walker(graph, source, inputs)
        try:
            with np.errstate(all="ignore"):
                _, values = run_through(path, inputs, walker.step)
        except Exception:  # what this path does to these values is refused: it is for others
            return None
        (output, *_) = path.block.outputs
        shape = np.shape(values[output])
        rows = walker.of(output, shape)[: int(np.prod(shape[1:]))]
        if shape[1:] != row:
            continue
        found = rows if found is None else _flags(found + rows)
    return found


def _is_understood(graph: Graph) -> bool:
    """Whether there is neither a loop, nor code of the user's, nor a length that values decide."""
    known = {name for value in graph.inputs for name in _symbols(value)}
    for node in walk(graph.nodes):
        if isinstance(node, Loop):
            return False
        if isinstance(node, Call) and (
            node.op.opaque  # type: ignore[attr-defined]
            or Trait.EFFECT in node.op.traits
            or any(value.type == LIST for value in node.results)
        ):
            return False
        if any(not known.issuperset(_symbols(value)) for value in node.results):
            return False
    return True


def _symbols(value: Value) -> set[str]:
    return set().union(*map(symbols, value.type.shape)) if value.type != LIST else set()


def _paths(graph: Graph) -> Iterator[Graph]:
    """Each path by itself, without the looks at values."""

    def straight(block: Block, before: tuple[Node, ...]) -> Iterator[Block]:
        nodes = (*before, *(n for n in block.nodes if not isinstance(n, Check | Branch)))
        last = block.nodes[-1] if block.nodes else None
        if not isinstance(last, Branch):
            yield replace(block, nodes=nodes)
            return
        for inner in last.blocks:
            yield from straight(inner, nodes)

    for block in straight(graph.block, ()):
        yield dce(graph.with_block(block))


class _Walker:
    """The sets of what one path makes."""

    def __init__(self, graph: Graph, source: Value, inputs: Sequence[Any]) -> None:
        from scipy import sparse  # type: ignore[import-untyped]

        self.sparse = sparse
        place = graph.inputs.index(source)
        rows, *rest = np.shape(inputs[place])
        self.width = int(np.prod(rest))
        one = sparse.eye_array(self.width, format="csr", dtype=bool)
        self.sets: dict[Value, Sets] = {source: sparse.vstack([one] * rows, format="csr")}
        self.fixed = {  # whole numbers, and what is made of them alone
            value
            for value, array in zip(graph.inputs, inputs, strict=True)
            if value is not source and np.asarray(array).dtype.kind in "iub"
        }
        self.moving = {value for value in graph.inputs if value not in self.fixed}

    def of(self, value: Value, shape: Sequence[int]) -> Sets:
        """The sets of a value; empty ones, where it does not depend on the input."""
        found = self.sets.get(value)
        return self._empty(int(np.prod(shape))) if found is None else found

    def _empty(self, size: int) -> Sets:
        return self.sparse.csr_array((size, self.width), dtype=bool)

    def step(self, call: Call, run: Callable[..., Any], arrays: Sequence[Any], known: Any) -> Any:
        """Runs an op, and makes the sets of its results."""
        out = run(*arrays, **known)
        results = out if len(call.results) > 1 else (out,)
        if not self.moving.isdisjoint(call.operands) or TABLE.get(call.op.name) is not call.op:
            self.moving.update(call.results)
        given = [self.sets.get(value) for value in call.operands]
        if all(sets is None for sets in given):
            return out
        shapes = [np.shape(result) for result in results]
        made = self._made(call, run, arrays, known, given, shapes)
        if made is None:
            made = [self._dense(given, int(np.prod(shape))) for shape in shapes]
        assert [sets.shape[0] for sets in made] == [int(np.prod(shape)) for shape in shapes]
        self.sets.update(zip(call.results, made, strict=True))
        return out

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
            return [self._union([self._spread(sets, of, shape) for sets, of in parts])]
        if name in _MOVING or (name == "pad" and _moves(known)):
            return self._moved(call, run, arrays, known, given, shapes)
        if name in _ADDING:
            return self._added(call, arrays, known, given, shape)
        if name in _REDUCING and len(shapes) == 1 and all(s is None for s in given[1:]):
            return [self._reduced(first, ins[0], known["axis"], shape)]
        if name == "cumsum":
            return [self._accumulated(first, ins[0], known["axis"])]
        if name in ("matmul", "row_dot") or name.startswith("einsum"):
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

    def _union(self, several: Sequence[Sets | None]) -> Sets:
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
        return [self._union(found)]

    def _reduced(self, sets: Sets, shape: Sequence[int], axis: Any, to: Sequence[int]) -> Sets:
        """The sets of sums, or of whatever else is made of all elements along axes."""
        axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % max(len(shape), 1)
        kept = [1 if i in axes else n for i, n in enumerate(shape)]
        targets = np.broadcast_to(_numbers(kept), shape).ravel()
        pairs = (np.ones(targets.size, bool), (targets, np.arange(targets.size)))
        return _flags(self._matrix(pairs, (int(np.prod(to)), sets.shape[0])) @ sets)

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
            targets = np.broadcast_to(grid.reshape(spread), shape).ravel()
            pairs = (np.ones(targets.size, bool), (targets, np.arange(targets.size)))
            few = _flags(self._matrix(pairs, (int(np.prod(sizes)), sets.shape[0])) @ sets)
            whole = _numbers(sizes).reshape([lengths[c] if c in kept else 1 for c in right])
            found.append(self._taken(few, np.broadcast_to(whole, [lengths[c] for c in right])))
        return self._union(found)


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
    first = next((i for i, name in enumerate(names) if name in ("*arrays", "indices")), None)
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
    if name == "row_dot":
        letters = "abcdefgh"[: a - 1]
        return f"{letters}z,{letters}z->{letters}" if shapes[0] == shapes[1] else None
    if min(a, b) == 0 or max(a, b) > 10:
        return None
    more = max(a, b, 2) - 2
    batch = "cdefghij"[:more]
    one = batch[more - max(a - 2, 0) :] + ("xz" if a > 1 else "z")
    two = batch[more - max(b - 2, 0) :] + ("zy" if b > 1 else "z")
    if a > 2 and b > 2 and any(m != n for m, n in zip(shapes[0][-3::-1], shapes[1][-3::-1])):
        return None  # broadcast over its batches
    return f"{one},{two}->{batch}{'x' if a > 1 else ''}{'y' if b > 1 else ''}"


_MOVING = frozenset({
    "broadcast_to", "concatenate", "diag", "diagonal", "element", "expand_dims", "flip", "gather",
    "getitem", "getitem_copy", "index_set", "inner_part", "part", "place", "repeat", "reshape",
    "roll", "split", "squeeze", "stack", "take_along_axis", "tile", "transpose", "tril", "triu",
    "unstack", "windows",
})  # fmt: skip
_ADDING = frozenset({"index_add", "index_subtract", "scatter"})
_REDUCING = frozenset({"sum", "mean"})
