"""Calls in kernels that make, read and fill small arrays: see `codegen.emit.small_arrays`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.emit.elements import UnspokenError
from codegen.emit.places import Axis, Item, Place
from codegen.ir import NOWHERE, Call, Op, Origin, Trait, Value
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import ArrayType, weak


def _empty_text(attributes: Mapping[str, object]) -> Spelling:
    dtype = {"float64": "", "bool": ", np.bool_"}.get(
        str(attributes["dtype"]), f", np.{attributes['dtype']}"
    )
    return spell(f"np.empty(shape{dtype})")


def _like_first(sizes: object, first: ArrayType, *others: ArrayType, **more: object) -> ArrayType:
    return first


EMPTY = Op(
    "empty",
    (),
    lambda sizes, *, shape, dtype: ArrayType(dtype, shape),
    {"numpy": _empty_text},
    attributes={"shape": ..., "dtype": ...},
)
LENGTH = Op(
    "length",
    (),
    lambda sizes, *, size: weak("int"),
    {"numpy": spell("size")},
    attributes={"size": ...},
    traits=frozenset({Trait.EXTENT}),
)
PLUS = Op("plus", ("a", "b"), lambda sizes, a, b: a, {"numpy": spell("a + b")})
MINUS = Op("minus", ("a", "b"), lambda sizes, a, b: a, {"numpy": spell("a - b")})
ELEMENT = Op(
    "element",
    ("x", "*places"),
    lambda sizes, x, *places, index: ArrayType(x.dtype),
    {"numpy": spell("x[index]")},
    attributes={"index": ...},
)
SHOWN = Op(
    "shown",
    ("x", "*places"),
    lambda sizes, x, *places, index, turned: x,
    {"numpy": lambda attributes: _shown_text(attributes)},
    attributes={"index": ..., "turned": False},
    traits=frozenset({Trait.VIEW}),
)
STORE = Op(
    "store",
    ("x", "value", "*places"),
    _like_first,
    {"numpy": spell("out = x.copy()\nout[index] = value", "x[index] = value")},
    attributes={"index": ...},
    traits=frozenset({Trait.UPDATE}),
)


def _shown_text(attributes: Mapping[str, object]) -> Spelling:
    index = attributes["index"]
    assert isinstance(index, Subscript)
    return spell(("x[index]" if index.items else "x") + (".T" if attributes["turned"] else ""))


def _rows_text(attributes: Mapping[str, object]) -> Spelling:
    index, helper = attributes["index"], attributes["helper"]
    assert isinstance(index, Subscript)
    part = "[index]" if index.items else ""
    return spell(f"out = x.copy()\n{helper}(a, out{part})", f"{helper}(a, x{part})")


def _into_text(attributes: Mapping[str, object]) -> Spelling:
    names = ", ".join("ab"[: int(str(attributes["count"]))])
    call = f"{attributes['helper']}({names}, "
    return spell(f"out = x.copy()\n{call}out)", f"{call}x)")


ONE = Op(
    "function",
    ("x", "a"),
    _like_first,
    {"numpy": _into_text},
    attributes={"helper": ..., "count": 1},
    traits=frozenset({Trait.UPDATE}),
)
TWO = Op(
    "function_of_two",
    ("x", "a", "b"),
    _like_first,
    {"numpy": _into_text},
    attributes={"helper": ..., "count": 2},
    traits=frozenset({Trait.UPDATE}),
)
GROWN = Op(
    "grown",
    ("x", "k"),
    _like_first,
    {"numpy": spell("out = with_row(x, k)", "x = with_row(x, k)")},
    attributes={"helper": "with_row"},
    traits=frozenset({Trait.UPDATE}),
)
"""An array that has a row k: the same, or a longer one with the same rows."""

ROWS = Op(
    "rows",
    ("x", "a", "*places"),
    _like_first,
    {"numpy": lambda attributes: _rows_text(attributes)},
    attributes={"index": ..., "helper": ...},
    traits=frozenset({Trait.UPDATE}),
)
TOTAL = Op(
    "total",
    ("a",),
    lambda sizes, a, *, helper: ArrayType(a.dtype),
    {"numpy": lambda attributes: spell(f"{attributes['helper']}(a)")},
    attributes={"helper": "sum_of"},
)
ROOT = Op("root", ("x",), lambda sizes, x: x, {"numpy": spell("np.sqrt(x)")})
DOT = Op(
    "dot",
    ("a", "b"),
    lambda sizes, a, b, *, helper: ArrayType(a.dtype),
    {"numpy": spell("dot_of(a, b)")},
    attributes={"helper": "dot_of"},
)


def made(
    op: Op,
    operands: Sequence[Value],
    type: ArrayType,
    origin: Origin = NOWHERE,
    **attributes: object,
) -> Call:
    """A call; one that updates writes over its first operand."""
    ordered = tuple((name, attributes.get(name, d)) for name, d in op.attributes.items())
    reuse = 0 if Trait.UPDATE in op.traits else None
    return Call(op, tuple(operands), ordered, (Value(type, origin),), reuse)


def helper_of(call: Call) -> str | None:
    """The function that a call is of, by the name that the source calls it by."""
    found = dict(call.attributes).get("helper")
    return found if isinstance(found, str) else None


def subscript(items: Sequence[Item | slice]) -> tuple[Subscript, list[Value]]:
    """An index, and the operands that its slots are."""
    operands: list[Value] = []
    shown: list[object] = []
    for item in items:
        if isinstance(item, Value):
            shown.append(Slot(len(operands)))
            operands.append(item)
        else:
            shown.append(item)
    return Subscript(tuple(shown)), operands


def shown(place: Place, type: ArrayType, origin: Origin) -> Call | None:
    """The call that shows an array as it lies at its place; None where that is all of its root."""
    order = place.order
    turned = order != tuple(range(place.ndim))
    if turned and order != (1, 0):
        raise UnspokenError("axes in another order")
    if place.is_all:
        return None
    items = [slice(None) if isinstance(item, Axis) else item for item in place.items]
    while items and items[-1] == slice(None):
        items.pop()
    index, operands = subscript(items)
    return made(SHOWN, (place.root, *operands), type, origin, index=index, turned=turned)
