"""Lists that the turns of a loop leave for its backward: ops on Python lists.

A list is a value like any other: appending gives a new one, which takes over the memory of the old
where nobody reads that any more (as an update of an array does). No public function has these ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import Builder, Call, Graph, Node, Origin, Trait, Value, walk
from codegen.rewrite import substituted
from codegen.sizes import Sizes, symbols
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import LIST, ZEROS, ArrayType, kind, weak
from tracegrad.ops.batching_rules import Batch, moved
from tracegrad.ops.elementwise.ufuncs import alias, where
from tracegrad.ops.index_bounds import inside
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.ops.shape.indexing import Scattered, gather


def _item_type(
    sizes: Sizes, saved: ArrayType, k: ArrayType, *, dtype: str, shape: Any, weak: bool
) -> ArrayType:
    return ArrayType(dtype, shape, weak)


def _row_vjp(ct: Any, y: Any, rows: Any, value: Any, k: Any) -> tuple[Any, ...]:
    return ct, row_of(ct, k), None


AT_ROW: Mapping[str, Any] = {"index": Subscript((Slot(0),)), "counts": (), "repeats": False}
"""What stands between the brackets for one row."""


def row_of(rows: Any, k: Any) -> Any:
    """One row of an array."""
    return gather(rows, k, **AT_ROW)


EACH_AT_ROW: Mapping[str, Any] = {**AT_ROW, "index": Subscript((slice(None), Slot(0)))}
"""The same for a batch, whose first axis counts examples."""


def _rows_batch(batch: Batch) -> Any:
    """Rows of every example; which row it is, all examples have in common."""
    if batch.wide[-1]:
        return NotImplemented
    if batch.op is list_item:
        return gather(batch.operands[0], batch.operands[1], **EACH_AT_ROW)
    return TABLE["index_set"](batch.front(0), batch.front(1), batch.operands[2], **EACH_AT_ROW)


def _row_jvp(tangents: Sequence[Any], y: Any, rows: Any, value: Any, k: Any) -> Any:
    dots = [zeros_of(x) if t is None else t for t, x in zip(tangents, (rows, value), strict=False)]
    return collected(*dots, k)


collected = OpRecord(
    name="collect",
    operands=("rows", "value", "k"),
    infer=lambda sizes, rows, value, k: rows,
    spelling={
        "numpy": Spelling("out = rows.copy()\nout[k] = value", "rows[k] = value"),
        "jax": spell("rows.at[k].set(value)"),
    },
    vjp=_row_vjp,
    jvp=_row_jvp,
    batch=_rows_batch,
    traits=frozenset({Trait.UPDATE}),
    doc="The rows with a value at one that nobody has read or written yet.",
)


unset = OpRecord(
    name="unset",
    operands=(),
    infer=lambda sizes, *, dtype, shape, weak: ArrayType(dtype, shape, weak),
    spelling={"numpy": spell("None"), "jax": spell("None")},
    vjp=None,
    attributes={"dtype": ..., "shape": ..., "weak": False},
    traits=frozenset({Trait.UNSET}),
    doc="What stands where a path has no value.",
)


def _filling_text(attributes: Mapping[str, Any]) -> Spelling:
    none = attributes["shape"] or kind(attributes["dtype"]) == "complex"
    return spell("None" if none else repr(ZEROS[kind(attributes["dtype"])]))


filling = replace(
    unset,
    name="filling",
    spelling={"numpy": _filling_text, "jax": spell("None")},
    doc="What stands in a list of values, one of each turn, where a turn has none.",
)


def unset_like(builder: Builder, like: Value, origin: Origin, op: OpRecord = unset) -> Value:
    """What stands where a path has no value of a type."""
    kind = {"dtype": like.type.dtype, "shape": like.type.shape, "weak": like.type.weak}
    return builder.call(op, (), origin, **kind)[0]


handed = replace(
    alias, name="handed", doc="What a turn was handed, of a loop that is unrolled after all."
)


either = OpRecord(
    name="either",
    operands=("x",),
    infer=lambda sizes, x, *, dtype: ArrayType(dtype, either=True),
    spelling={target: spell("x") for target in ("numpy", "jax")},
    vjp=lambda ct, y, x, dtype: (ct,),
    attributes={"dtype": ...},
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="A number of NumPy's or of Python's, in a variable that may hold either.",
)


def as_recorded(graph: Graph) -> Graph:
    """The graph whose values are those of a tape: what a turn was handed is what it was.

    Its readers' cotangents are then added up with those of all others, one by one.
    """
    stands = {
        node.results[0]: node.operands[0]
        for node in graph.all_nodes
        if isinstance(node, Call) and node.op is handed
    }
    if not stands:
        return graph

    def now(value: Value) -> Value:
        while value in stands:
            value = stands[value]
        return value

    return graph.with_block(substituted(graph.block, now))


def _item_of_type(sizes: Sizes, rows: ArrayType, k: ArrayType) -> ArrayType:
    return ArrayType(rows.dtype, rows.shape[1:], either=rows.either)


def _item_vjp(ct: Any, y: Any, rows: Any, k: Any) -> tuple[Any, ...]:
    return Scattered(ct, rows, (k,), dict(AT_ROW)), None


list_item = OpRecord(
    name="list_item",
    operands=("rows", "k"),
    infer=_item_of_type,
    spelling={target: spell("rows[k]") for target in ("numpy", "jax")},
    vjp=_item_vjp,
    linear="each",
    batch=_rows_batch,
    sound=lambda y, rows, k: inside(rows, (k,), AT_ROW["index"]),
    raises="caught",
    traits=frozenset({Trait.VIEW}),
    doc="An item of a list, which is a row of the array that turns fill.",
)


def _listed_vjp(ct: Any, y: Any, *values: Any) -> tuple[Any, ...]:
    return tuple(row_of(ct, k) for k in range(len(values)))


def _listed_batch(batch: Batch) -> Any:
    """An array, of which the first axis counts examples, and the second what is in the list."""
    items = [batch.front(i) for i in range(len(batch.operands))]
    return TABLE["stack"](*items, axis=1)


array_list = OpRecord(
    name="array_list",
    operands=("*values",),
    infer=lambda sizes, *values: replace(values[0], shape=(len(values), *values[0].shape)),
    spelling={"numpy": spell("[*values]"), "jax": spell("jnp.stack([*values])")},
    vjp=_listed_vjp,
    linear="together",
    batch=_listed_batch,
    traits=frozenset({Trait.HOLDS}),
    doc="A list of arrays of one type; its items are read by number, as rows of an array are.",
)


row_list = replace(
    alias, name="row_list", doc="The rows of an array as a list; each is added to one by one."
)


def _before_text(attributes: Mapping[str, Any]) -> Spelling:
    if attributes["first"] is None:
        return spell("rows[k - 1]")
    nothing = "np.full_like(rows[0], -0.0)" if attributes["axes"] else "-0.0"
    return spell(f"rows[k - 1] if k > first else {nothing}")


def _before_text_in_jax(attributes: Mapping[str, Any]) -> Spelling:
    known = attributes["first"] is None
    return spell("rows[k - 1]" if known else "jnp.where(k > first, rows[k - 1], -0.0)")


def _before_vjp(
    ct: Any, y: Any, rows: Any, k: Any, first: int | None, axes: bool
) -> tuple[Any, ...]:
    part = ct if first is None else where(k > first, ct, 0.0)
    return Scattered(part, rows, (k - 1,), dict(AT_ROW)), None


def _before_batch(batch: Batch) -> Any:
    """Rows of every example; which row it is, all examples have in common."""
    if batch.wide[1]:
        return NotImplemented
    return batch.run(moved(batch.front(0), 1, 0), batch.operands[1], axes=True)


row_before = OpRecord(
    name="row_before",
    operands=("rows", "k"),
    infer=lambda sizes, rows, k, *, first, axes: ArrayType(rows.dtype, rows.shape[1:]),
    spelling={"numpy": _before_text, "jax": _before_text_in_jax},
    attributes={"first": None, "axes": False},
    vjp=_before_vjp,
    linear="each",
    batch=_before_batch,
    traits=frozenset({Trait.VIEW}),
    doc="The row before one; before the `first`, if there is one, what changes no sum.",
)
new_list = OpRecord(
    name="new_list",
    operands=("*values",),
    infer=lambda sizes, *values: LIST,
    spelling={"numpy": spell("[*values]")},
    traits=frozenset({Trait.HOLDS}),
    differentiable=False,
    doc="A list of values.",
)
appended = OpRecord(
    name="append",
    operands=("saved", "value"),
    infer=lambda sizes, saved, value: LIST,
    spelling={"numpy": Spelling("saved + [value]", "saved.append(value)")},
    traits=frozenset({Trait.UPDATE, Trait.HOLDS}),
    differentiable=False,
    doc="The list with a value at its end.",
)
list_length = OpRecord(
    name="list_length",
    operands=("saved",),
    infer=lambda sizes, saved: weak("int"),
    spelling={"numpy": spell("len(saved)")},
    differentiable=False,
    doc="How many values are in a list.",
)
append_row = OpRecord(
    name="append_row",
    operands=("saved", "value", "k"),
    infer=lambda sizes, saved, value, k: LIST,
    spelling={"numpy": Spelling("saved + [value]", "saved.append(value)")},
    vjp=_row_vjp,
    traits=frozenset({Trait.UPDATE, Trait.HOLDS}),
    doc="The list of the user's with an array at its end, which is the k-th in it.",
)
listed_rows = OpRecord(
    name="listed_rows",
    operands=("saved",),
    infer=lambda sizes, saved, *, dtype, shape: ArrayType(dtype, shape),
    spelling={"numpy": spell("np.array(saved)")},
    attributes={"dtype": ..., "shape": ...},
    vjp=lambda ct, y, saved, dtype, shape: (ct,),
    doc="The arrays of a list as the rows of one; how many there are, the data tell.",
)
room_for_numbers = OpRecord(
    name="room_for_numbers",
    operands=(),
    infer=lambda sizes, *, dtype, count: ArrayType(dtype, (count,), either=True),
    spelling={"numpy": spell("[None] * count")},
    attributes={"dtype": ..., "count": ...},
    differentiable=False,
    doc="A list of so many numbers of NumPy's or of Python's, which turns set.",
)
listed_numbers = OpRecord(
    name="listed_numbers",
    operands=("saved",),
    infer=lambda sizes, saved, *, dtype, count: ArrayType(dtype, (count,), either=True),
    spelling={"numpy": spell("saved")},
    attributes={"dtype": ..., "count": ...},
    traits=frozenset({Trait.VIEW}),
    differentiable=False,
    doc="A list of numbers of NumPy's or of Python's; how many there are, the data tell.",
)
array_of_numbers = OpRecord(
    name="array_of_numbers",
    operands=("numbers",),
    infer=lambda sizes, numbers: ArrayType(numbers.dtype, numbers.shape),
    spelling={"numpy": spell("np.array(numbers)")},
    differentiable=False,
    doc="An array of numbers that are in a list, of NumPy's or of Python's.",
)
FILLING = frozenset({collected, append_row})
"""What puts an array into a list of the user's."""
item = OpRecord(
    name="item",
    operands=("saved", "k"),
    infer=_item_type,
    spelling={target: spell("saved[k]") for target in ("numpy", "jax")},
    attributes={"dtype": ..., "shape": ..., "weak": ...},
    traits=frozenset({Trait.VIEW}),
    differentiable=False,
    doc="One value of a list.",
)
list_of = OpRecord(
    name="list_of",
    operands=(),
    infer=lambda sizes, *, count: LIST,
    spelling={"numpy": spell("[None] * count")},
    attributes={"count": ...},
    differentiable=False,
    doc="A list of so many items, which turns set.",
)
put_item = OpRecord(
    name="put_item",
    operands=("saved", "value", "k"),
    infer=lambda sizes, saved, value, k: LIST,
    spelling={"numpy": Spelling("saved[:k] + [value] + saved[k + 1:]", "saved[k] = value")},
    traits=frozenset({Trait.UPDATE, Trait.HOLDS}),
    differentiable=False,
    doc="The list with a value as one of its items.",
)
first_items = OpRecord(
    name="first_items",
    operands=("saved", "k"),
    infer=lambda sizes, saved, k: LIST,
    spelling={"numpy": spell("saved[:k]")},
    traits=frozenset({Trait.HOLDS}),
    differentiable=False,
    doc="The list without what the backward has read for the last time, which is free then.",
)
length = OpRecord(
    name="length",
    operands=(),
    infer=lambda sizes, size: weak("int"),
    spelling={target: spell("size") for target in ("numpy", "jax")},
    attributes={"size": ...},
    traits=frozenset({Trait.EXTENT}),
    differentiable=False,
    doc="The length of an axis, or a sum of such, as an int.",
)
least = OpRecord(
    name="least",
    operands=("a", "b"),
    infer=lambda sizes, a, b: a,
    spelling={"numpy": spell("min(a, b)")},
    differentiable=False,
    doc="The smaller one of two numbers of turns.",
)

most = OpRecord(
    name="most",
    operands=("a", "b"),
    infer=lambda sizes, a, b: a,
    spelling={"numpy": spell("max(a, b)")},
    differentiable=False,
    doc="The larger one of two numbers of turns.",
)


def _room_text(attributes: Mapping[str, Any]) -> Spelling:
    if not attributes["weak"]:
        return spell("jnp.zeros(shape, dtype=dtype)")
    return spell(f"jnp.full(shape, {ZEROS[kind(attributes['dtype'])]!r})")


room = OpRecord(
    name="room",
    operands=(),
    infer=lambda sizes, shape, dtype, weak: ArrayType(dtype, shape),
    spelling={"numpy": spell("np.zeros(shape, dtype=dtype)"), "jax": _room_text},
    attributes={"shape": ..., "dtype": "float64", "weak": False},
    differentiable=False,
    doc="An array in the place of a list, which turns fill; weak where its items are numbers.",
)


def symbols_of_lengths(nodes: Iterable[Node], sizes: Sizes) -> Iterator[str]:
    """The symbols of the lengths that nodes have as numbers."""
    for node in walk(nodes):
        if isinstance(node, Call) and node.op is length:
            yield from symbols(sizes.resolve(node.attribute("size")))


def stacked(x: Any) -> Any:
    """The array of a list of Tensors."""
    return TABLE["stack"](*x, axis=0) if type(x) is list else x


def _rows_of(x: Any) -> list[Any]:
    return x if type(x) is list else [x[i] for i in range(len(x))]


def _with_item(saved: Any, value: Any, k: Any) -> list[Any]:
    rows, k = _rows_of(saved), int(k)
    return [*rows[:k], value, *rows[k + 1 :]]


OF_LISTS: Mapping[Any, Callable[..., Any]] = {
    array_list: lambda *values: list(values),
    new_list: lambda *values: list(values),
    row_list: _rows_of,
    append_row: _with_item,
    collected: _with_item,
    list_item: lambda saved, k: saved[int(k)],
    list_length: len,
    listed_rows: stacked,
}
"""What these ops do with lists of Tensors, each of which has a history of its own."""
