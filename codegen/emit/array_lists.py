"""Lists of small arrays that turns append to, as arrays that have a row for each.

Each turn appends one. Where nobody knows before how many turns a loop makes, the array grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codegen import sizes as sz
from codegen.emit.elements import UnspokenError
from codegen.emit.places import turns_axes
from codegen.ir import Again, Call, Constant, Graph, Loop, Node, Value, dims_of, ends, walk
from codegen.memory_order import Ordered, ordered_values
from codegen.sizes import Dim
from codegen.told_lengths import number_in_lengths, numpy_text
from codegen.types import LIST, ArrayType

COPIED = "x[index].copy()"
REPEATED = "np.broadcast_to(x, shape)"
FEW = 16
"""Rows that there are at first, where nobody knows how many there will be."""

NEW, APPEND, ITEM = "[*values]", "saved + [value]", "saved[k]"


@dataclass(eq=False)
class Saved:
    """Arrays of one shape, a row each: those that the list begins with, and one of each turn."""

    created: Call
    appends: list[Call] = field(default_factory=list)
    items: list[Call] = field(default_factory=list)
    loop: Loop | None = None
    parameter: Value | None = None
    rows: Dim = 0
    order: tuple[int, ...] = ()
    root: Value | None = None
    grows: bool = False  # nobody knows before how many turns there are

    @property
    def values(self) -> list[Value]:
        """What the rows hold."""
        return [*self.created.operands, *(call.operands[1] for call in self.appends)]

    @property
    def type(self) -> ArrayType:
        return self.values[0].type


def text_of(node: Node) -> str:
    """The NumPy spelling of a call; nothing of other nodes."""
    return numpy_text(node) if isinstance(node, Call) else ""


def find_lists(graph: Graph) -> dict[Value, Saved]:
    """The lists of arrays in a graph, by all values that are one of them.

    `UnspokenError` where a list of arrays is none of those that are known here.
    """
    found: dict[Value, Saved] = {}
    for node in graph.all_nodes:
        if isinstance(node, Call) and text_of(node) == NEW:
            saved = _list_of(graph, node)
            if saved is None:
                continue
            found[node.results[0]] = saved
            if saved.parameter is not None:
                found[saved.parameter] = saved
            for call in saved.appends:
                found[call.results[0]] = saved
    for node in graph.all_nodes:
        text = text_of(node)
        if text not in (NEW, APPEND, ITEM):
            continue
        assert isinstance(node, Call)
        arrays = any(v.type.shape and v.type != LIST for v in (*node.operands, *node.results))
        saved = found.get(node.results[0] if text == NEW else node.operands[0])
        if arrays and saved is None:
            raise UnspokenError("a list of lists, or one that paths share")
        if saved is not None and text == ITEM:
            saved.items.append(node)
    return found


def _list_of(graph: Graph, created: Call) -> Saved | None:
    """The list that a call begins; None where it has no arrays."""
    saved = Saved(created)
    made = created.results[0]
    users = graph.users.get(made, ())
    loops = [node for node in users if isinstance(node, Loop)]
    if len(loops) == 1 and loops[0].arguments.count(made) == 1:
        (loop,) = loops
        saved.loop = loop
        saved.parameter = loop.parameters[loop.arguments.index(made)]
        readers = graph.users.get(saved.parameter, ())
        saved.appends = [n for n in readers if isinstance(n, Call) and text_of(n) == APPEND]
    arrays = [v for v in saved.values if v.type.shape and v.type != LIST]
    if not arrays:
        return None
    _check(graph, saved, users)
    return saved


def _check(graph: Graph, saved: Saved, users: Sequence[Node]) -> None:
    """Raises `UnspokenError` where rows are not one for each turn, or not of one kind."""
    kinds = {(v.type.dtype, dims_of(graph.sizes, v.type)) for v in saved.values}
    others = [n for n in users if n is not saved.loop and text_of(n) != ITEM]
    if len(kinds) != 1 or others or LIST in [v.type for v in saved.values]:
        raise UnspokenError("a list of arrays")
    first = len(saved.created.operands)
    if saved.loop is None:
        saved.rows = first
        return
    assert saved.parameter is not None
    at = saved.loop.parameters.index(saved.parameter)
    handed = [
        node.arguments[at]
        for node in walk(saved.loop.turn.nodes)
        if isinstance(node, Again) and node.label == saved.loop.label
    ]
    results = [call.results[0] for call in saved.appends]
    if sorted(map(id, handed)) != sorted(map(id, results)):
        raise UnspokenError("a list that some turns do not append to")
    if any(len(graph.users.get(result, ())) != 1 for result in results):
        raise UnspokenError("a list that is read while it grows")
    known = {saved.parameter, saved.created.results[0], *results}
    if any(v in known for end in ends(graph.block) for v in end.outputs):
        raise UnspokenError("a list that is returned")
    turns: Dim = FEW
    try:
        turns = turns_of(graph, saved.loop, first)
    except UnspokenError:
        saved.grows = True
    saved.rows = sz.add(first, turns)


def turns_of(graph: Graph, loop: Loop, first: int) -> Dim:
    """How many turns a loop makes at most, where the number of each tells its row.

    That of the first turn is `first`.
    """
    counter = loop.counter
    if counter is None or abs(counter.step) != 1:
        raise UnspokenError("a loop whose turns nobody counts before")
    known = isinstance(graph.constant(counter.start), Constant)
    if not (known if counter.step == 1 else first == 0):
        raise UnspokenError("rows of turns that begin anywhere")
    start, stop = (number_in_lengths(graph, v) for v in (counter.start, counter.stop))
    if start is None or stop is None:
        raise UnspokenError("a number that no length tells")
    low, high = (start, stop) if counter.step == 1 else (stop, start)
    return sz.minus(high, low)


def note_order_of_rows(graph: Graph, lists: Mapping[Value, Saved]) -> Ordered:
    """Which arrays of a kernel lie in C order, where those that it is given do; notes for each
    list how its arrays lie. `UnspokenError` where they lie in several ways."""
    families = list(dict.fromkeys(lists.values()))
    supposed = set(families)
    while True:
        items = [call.results[0] for saved in supposed for call in saved.items]
        known = ordered_values(graph, [*graph.inputs, *items])
        lost = {s for s in supposed if not all(_is_dense(known, v) for v in s.values)}
        if not lost:
            break
        supposed -= lost
    for saved in families:
        plain = tuple(range(saved.type.ndim))
        orders = {order_of(graph, lists, known, v) for v in saved.values}
        if len(orders) != 1 or None in orders:
            raise UnspokenError("a list of arrays that lie in several ways")
        (order,) = orders
        assert order is not None
        saved.order = plain if saved in supposed else order
    return known


def _is_dense(known: Ordered, value: Value) -> bool:
    return value.type.ndim < 2 or value in known.dense


def order_of(
    graph: Graph, lists: Mapping[Value, Saved], known: Ordered, value: Value
) -> tuple[int, ...] | None:
    """The axes of an array in the order in which they lie in memory; None where nobody knows."""
    if _is_dense(known, value):
        return tuple(range(value.type.ndim))
    made = graph.producer.get(value)
    if isinstance(made, Call) and turns_axes(made):
        order = order_of(graph, lists, known, made.operands[0])
        return order and tuple(value.type.ndim - 1 - axis for axis in order)
    return None
