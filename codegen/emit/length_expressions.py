"""Writes the Python that computes the lengths of a program from its variables."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from codegen import sizes as sz
from codegen.ir import Call, Graph, Node, Trait, Value, dims_of, inner_blocks
from codegen.sizes import Dim, Quotient, Size, Sizes, SliceLength
from codegen.spelling import PRODUCT, SUM, Fragment
from codegen.told_lengths import lengths_told, symbols_printed

Shown = tuple[Fragment, frozenset[str]]
"""An expression and the variables that it reads."""
NONE: Mapping[Value, str] = {}


class Lengths:
    """Writes lengths; `arrays` are the values, and their variables, that may be asked now."""

    def __init__(
        self,
        sizes: Sizes,
        arrays: Callable[[], Iterable[tuple[Value, str]]],
        item: Callable[[Any], Shown],
        whole: Mapping[Value, str] = NONE,
    ) -> None:
        self.sizes = sizes
        self.whole = whole  # numbers among the arrays, and the symbols that they are
        self.arrays = arrays
        self.item = item  # writes what stands in a tuple of lengths
        self.given: dict[str, Fragment] = {}  # symbols that variables of the program tell
        self.before: dict[str, frozenset[Value]] = {}  # of other turns: values from before these
        self._products: dict[tuple[Dim, ...], Dim] = {}

    def shape(self, dims: tuple[Any, ...]) -> Shown:
        """A tuple of lengths: ``x.shape`` where an array has just these."""
        wanted = tuple(self.sizes.resolve(d) if isinstance(d, Size) else d for d in dims)
        if any(isinstance(d, Size) for d in wanted):
            for value, name in self._of_now(*wanted):
                if dims_of(self.sizes, value.type) == wanted and not value.type.either:
                    return Fragment(f"{name}.shape"), frozenset({name})
        reads: frozenset[str] = frozenset()
        texts = []
        for dim in wanted:
            fragment, more = self.item(dim)
            texts.append(fragment.text)
            reads |= more
        return Fragment(f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"), reads

    def size(self, dim: Dim) -> Shown:
        """One length: ``x.shape[0]``, ``x.size`` or arithmetic on such."""
        dim = self.sizes.resolve(dim)
        if isinstance(dim, int):
            return Fragment(repr(dim)), frozenset()
        arrays = () if self.given.keys() & sz.symbols(dim) else self.arrays()
        for value, name in arrays:
            shape = dims_of(self.sizes, value.type)
            if value in self.whole and self.whole[value] == dim.symbol():
                return Fragment(name), frozenset({name})
            if value.type.either and shape == (dim,):
                return Fragment(f"len({name})"), frozenset({name})
            if dim in shape and (len(shape) > 1 or self._elements(shape) != dim):
                return Fragment(f"{name}.shape[{shape.index(dim)}]"), frozenset({name})
            if self._elements(shape) == dim:
                return Fragment(f"{name}.size"), frozenset({name})
        reads: frozenset[str] = frozenset()
        text = ""
        for atoms, factor in sorted(dim.terms, key=lambda term: (term[1] < 0, not term[0])):
            parts = [] if abs(factor) == 1 and atoms else [Fragment(repr(abs(factor)))]
            for atom in atoms:
                alone = Size((((atom,), 1),))
                fragment, more = self.atom(atom) if alone == dim else self.size(alone)
                reads |= more
                parts.append(fragment)
            term = _joined(" * ", PRODUCT, parts)
            if len(dim.terms) == 1 and factor > 0:
                return term, reads
            sign = " - " if factor < 0 else " + "
            text += f"{sign if text else sign.strip(' +')}{term.at(PRODUCT)}"
        return Fragment(text, SUM), reads

    def _of_now(self, *dims: Dim) -> Iterable[tuple[Value, str]]:
        """The arrays that may be asked for lengths: those of the turn that tells these."""
        told = self.before.keys() & {name for dim in dims for name in sz.symbols(dim)}
        if not told:
            return self.arrays()
        others = frozenset().union(*(self.before[name] for name in told))
        return [(value, name) for value, name in self.arrays() if value not in others]

    def _elements(self, shape: tuple[Dim, ...]) -> Dim:
        """The number of elements of an array of this shape."""
        found = self._products.get(shape)
        if found is None:
            found = self._products[shape] = sz.mul(shape)
        return found

    def atom(self, atom: sz.Atom) -> Shown:
        """A symbol, the length of a slice or a quotient."""
        if isinstance(atom, str) and atom in self.given:
            return self.given[atom], frozenset()
        whole = sz.symbol(atom) if isinstance(atom, str) else sz.size_of(atom)
        for value, name in self._of_now(whole):
            if value in self.whole and self.whole[value] == atom:
                return Fragment(name), frozenset({name})
            for axis, dim in enumerate(dims_of(self.sizes, value.type)):
                if dim == whole:
                    text = f"len({name})" if value.type.either else f"{name}.shape[{axis}]"
                    return Fragment(text), frozenset({name})
        match atom:
            case str():
                raise sz.SizeError(f"nothing in the program has the length {atom}")
            case SliceLength(of, start, stop, step):
                length, reads = self.size(of)
                return Fragment(_slice_text(length, start, stop, step)), reads
            case Quotient(of, by):
                (a, of_reads), (b, by_reads) = self.size(of), self.size(by)
                text = f"{a.at(PRODUCT)} // {b.at(PRODUCT + 1)}"
                return Fragment(text, PRODUCT), of_reads | by_reads


def _joined(symbol: str, precedence: int, parts: list[Fragment]) -> Fragment:
    """The operands of a sum or product; a single one is itself."""
    if len(parts) == 1:
        return parts[0]
    first, *rest = parts
    texts = [first.at(precedence), *(part.at(precedence + 1) for part in rest)]
    return Fragment(symbol.join(texts), precedence)


def _slice_text(length: Fragment, start: int | None, stop: int | None, step: int | None) -> str:
    """How many of so many elements a slice takes."""
    match start, stop, step:
        case None, int(), None if stop >= 0:
            return f"min({stop}, {length.text})"
        case int(), None, None if start < 0:
            return f"min({-start}, {length.text})"
        case int(), None, None:
            return f"max({length.at(SUM)} - {start}, 0)"
        case int(), int(), None if start >= 0 and stop >= 0:
            return f"max(min({stop}, {length.text}) - {start}, 0)"
    return f"len(range(*slice({start}, {stop}, {step}).indices({length.text})))"


def is_list(graph: Graph, value: Value) -> bool:
    """Whether a value has the shape of an array, and is a list of arrays in the program."""
    made = graph.producer.get(value)
    return isinstance(made, Call) and Trait.HOLDS in made.op.traits


def is_whole_number(graph: Graph, call: Call) -> bool:
    """Whether a call tells a length that an input is."""
    size = dict(call.attributes).get("size") if Trait.EXTENT in call.op.traits else None
    return isinstance(size, Size) and size.symbol() in graph.whole_numbers.values()


def anchors(graph: Graph, absent: Container[Value]) -> set[Value]:
    """Values that alone tell a length that the program needs: they keep a variable.

    Those that may be `absent` tell none.
    """
    needed = {name for node in graph.all_nodes for name in symbols_printed(node, graph.sizes)}
    needed -= {graph.room.length} if graph.room else set()
    whole = {value for value, name in graph.whole_numbers.items() if name in needed}
    for value in graph.inputs:
        needed -= set() if value in absent else {*lengths_told(graph, value)}
    return whole | (_anchors_in(graph, graph.nodes, needed, absent) if needed else set())


def _anchors_in(
    graph: Graph, nodes: Iterable[Node], needed: set[str], absent: Container[Value]
) -> set[Value]:
    found: set[Value] = set()
    for node in nodes:
        for result in node.results:
            if result in absent:
                continue
            for dim in dims_of(graph.sizes, result.type):
                name = dim.symbol() if isinstance(dim, Size) else None
                if name in needed:
                    needed.remove(name)
                    found.add(result)
        for block in inner_blocks(node):
            found |= _anchors_in(graph, block.nodes, set(needed), absent)
    return found
