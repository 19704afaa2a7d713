"""Groups elementwise calls into regions that run tile by tile on large arrays.

A region is elementwise calls on arrays of one shape, with what they read that has no axes, and the
sums that close it. It becomes one call of `IN_TILES`, whose attribute `body` is the region as a
graph of its own: the target runs it on parts of the arrays that fit the cache, on several threads.
Every bit stays: elements do not depend on each other, and sums are split where NumPy's pairwise sum
splits them.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f_in_tiles(x: float64[n0]) {
      %a = exp(%x)                               %value = in_tiles(%x, body=f_tile)
      %b = mul(%a, %x)                           return %value
      %c = tanh(%b)                            }
      %d = mul(%c, %a)                         graph f_tile(x: float64[n0]) {
      %value = sum(%d, axis=None)                %a = exp(%x)
      return %value                              ...
    }                                            return %value
                                               }

Regions are found by generations. A call of the region that reads what another member of the same
shape makes has that one's generation; what depends on a member in any other way (through a sum, a
matrix product, a member of another shape, a length that is known then, or as a draw that follows a
look at one) comes a generation later. Members of one shape and generation are a region: no way
leads out of it and back.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from codegen import sizes as sz
from codegen.array_bytes import bytes_of_one
from codegen.ir import (
    Block,
    Branch,
    Call,
    Check,
    Frame,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Trait,
    Value,
    dims_of,
    inner_blocks,
    kept_by,
)
from codegen.loop_ownership import may_be_overwritten
from codegen.memory_order import ordered_values
from codegen.names import parameter_names
from codegen.passes.lifetime import lifetime
from codegen.sizes import Dim, Size, Sizes, SliceLength, symbols
from codegen.spelling import Spelling, spell
from codegen.told_lengths import lengths_told, symbols_printed
from codegen.types import ArrayType, is_inexact, kind

WORTH = 8
"""Elementwise calls and products that make a region worth while: fewer are bound by memory in
either form."""

WORTH_KERNELS = 2
"""The same where regions are machine code: a call of that costs less than two of NumPy's."""

MOST = 256
"""Calls that a kernel has at most: each takes 20 ms to compile."""

LARGE = 1 << 13
"""Elements from which on memory costs more than calls: regions run in their form for that."""

TILE = 1 << 18
"""Bytes that a tile of an array has at most: some ten of them fit the caches of a core."""

PART = 1 << 15
"""Elements of the parts of arrays on which kernels run in threads."""

SPLIT = 1 << 20
"""Bytes of an array from which on tiles, and threads, save more than they cost."""

Shape = tuple[Dim, ...]
Speaks = Callable[[Graph, Node], bool]


def _types_of_body(
    sizes: Sizes, *operands: ArrayType, body: Graph
) -> ArrayType | tuple[ArrayType, ...]:
    types = tuple(output.type for output in body.outputs)
    return types if len(types) > 1 else types[0]


def _spelled(attributes: Mapping[str, object]) -> Spelling:
    body = attributes["body"]
    assert isinstance(body, Graph)
    several = len(body.outputs) > 1
    return spell("in_tiles(body, arrays)" if several else "in_tiles(body, arrays)[0]")


HELPERS = {
    "in_tiles": f'''\
def in_tiles(body, arrays):
    """`body` on parts of arrays of one shape that fit the cache, on all cores.

    The widest array comes first, numbers last. Elements have the bits that `body` gives them on the
    whole, and so have sums: the parts are the halves, down to 256 KiB of an array, that NumPy's
    pairwise sum adds.
    """
    widest = arrays[0]
    if widest.nbytes < {SPLIT}:
        return body(*arrays)
    shape, size = widest.shape, widest.size
    most = {TILE} // widest.itemsize
    flat = [a.reshape(-1) if np.ndim(a) else a for a in arrays]
    tiles = list(halves(0, size, most))

    def run(tile):
        return body(*[a[tile] if np.ndim(a) else a for a in flat])

    first = run(tiles[0])
    made = [np.empty(size, a.dtype) if np.ndim(a) else [a] * len(tiles) for a in first]

    def keep(i):
        for whole, part in zip(made, run(tiles[i]) if i else first):
            whole[tiles[i] if np.ndim(part) else i] = part

    on_all_cores(keep, len(tiles))
    return [summed(iter(a), size, most) if type(a) is list else a.reshape(shape) for a in made]
''',
    "in_parts": f'''\
def in_parts(kernel, arrays, numbers):
    """The sums of a kernel that runs on parts of arrays of one axis, on all cores.

    The widest array comes first; `numbers` are the types of the sums. These have the bits of the
    whole: the parts are the halves, down to {PART} elements, that NumPy's pairwise sum adds.
    """
    size = arrays[0].size
    parts = list(halves(0, size, {PART}))
    found = [()] * len(parts)

    def run(i):
        sums = kernel(*[a[parts[i]] if np.ndim(a) else a for a in arrays])
        sums = sums if type(sums) is tuple else (sums,)
        found[i] = [number(a) for number, a in zip(numbers, sums)]

    on_all_cores(run, len(parts))
    return [summed(iter(sums), size, {PART}) for sums in zip(*found)]
''',
    "on_all_cores": '''\
def on_all_cores(run, count):
    """Calls ``run(i)`` for all i below `count`, in as many threads as there are cores."""
    todo = iter(range(count))
    failures = []

    def work():
        try:
            for i in todo:
                run(i)
        except BaseException as failure:
            failures.append(failure)
            all(i >= 0 for i in todo)  # the others find nothing more to do

    helpers = range(min(cores(), count) - 1)
    threads = [Thread(target=copy_context().run, args=[work]) for _ in helpers]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
''',
    "halves": '''\
def halves(start, stop, most):
    """The parts into which NumPy's pairwise sum halves elements, down to so many."""
    if stop - start <= most:
        yield slice(start, stop)
    else:
        middle = start + (stop - start) // 16 * 8
        yield from halves(start, middle, most)
        yield from halves(middle, stop, most)
''',
    "summed": '''\
def summed(parts, size, most):
    """The sums of such parts added up in the same order."""
    if size <= most:
        return next(parts)
    half = size // 16 * 8
    first = summed(parts, half, most)
    return first + summed(parts, size - half, most)
''',
    "cores": '''\
def cores():
    """How many threads to use: what OMP_NUM_THREADS says, else the cores of this process."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit():
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
''',
    "os": "import os",
    "copy_context": "from contextvars import copy_context",
    "Thread": "from threading import Thread",
}

IN_TILES = Op(
    "in_tiles",
    ("*arrays",),
    _types_of_body,
    {"numpy": _spelled},
    attributes={"body": ...},
    needs={"numpy": HELPERS},
)

COMPILED = Op(
    "compiled",
    ("*arrays",),
    _types_of_body,
    {"numpy": spell("body(*arrays)")},
    attributes={"body": ...},
)
"""The same where `body` has a kernel: the function decides itself how it runs."""


@dataclass(frozen=True, eq=False)
class Tiled:
    """A program's form for large arrays, and when it applies.

    It stands for the whole program where one of the `sizes` is large (numbers of elements; where a
    slice is worked on, those of what is sliced; one that is known is) and the inputs `ordered` are
    in C order. Where its regions are `compiled`, it stands for the program at all sizes.
    """

    plain: Graph
    regions: Mapping[Block, Sequence[Sequence[Call]]]
    sizes: tuple[Dim, ...]
    ordered: tuple[Value, ...]
    compiled: bool = False

    @property
    def name(self) -> str:
        """What its function is called."""
        return f"{self.plain.name}_in_tiles"

    @property
    def always(self) -> bool:
        """Whether it stands for the program in all calls: one of the sizes is known."""
        small = not self.compiled and not any(isinstance(size, int) for size in self.sizes)
        return not self.ordered and not small

    @cached_property
    def functions(self) -> tuple[Graph, ...]:
        """The graph whose regions are calls, and the bodies of these."""
        bodies: list[Graph] = []
        block = self._written(self.plain.block, bodies)
        return (lifetime(self.plain.with_block(block).replace(name=self.name)), *bodies)

    def _written(self, block: Block, bodies: list[Graph]) -> Block:
        """The block with its regions as calls of bodies, which are added."""
        graph, regions = self.plain, self.regions[block]
        place: dict[Node, int] = {n: i for i, region in enumerate(regions) for n in region}
        readers: dict[Value, set[int | None]] = {value: {None} for value in block.outputs}
        for node in block.nodes:
            for value in graph.reads(node):
                readers.setdefault(value, set()).add(place.get(node))
        kept = set(kept_by(block.nodes))
        calls = (node for node in block.nodes if isinstance(node, Call))
        here = [r for node in calls for r in node.results if r in readers and r not in kept]
        nodes: list[Node] = []
        for item in _scheduled(graph, block, place):
            if isinstance(item, int):
                made = (node.results[0] for node in regions[item])
                results = tuple(value for value in made if readers.get(value, set()) - {item})
                number = f"_{len(bodies) + 1}" if bodies else ""
                dying = [v for v in here if readers[v] == {item} and may_be_overwritten(graph, v)]
                compiled = self.compiled and len(regions[item]) <= MOST
                name = f"{graph.name}_{'elements' if compiled else 'tile'}{number}"
                bodies.append(_body(graph, name, regions[item], results, dying))
                attributes = (("body", bodies[-1]),)
                op = COMPILED if compiled else IN_TILES
                nodes.append(Call(op, bodies[-1].inputs, attributes, results))
            elif isinstance(item, Branch | Loop | Join):
                inner = tuple(self._written(b, bodies) for b in item.blocks)
                nodes.append(replace(item, blocks=inner))
            elif isinstance(item, Call) and item.reuse is not None:
                nodes.append(replace(item, reuse=None))
            else:
                nodes.append(item)
        return block.with_nodes(tuple(nodes))


def fuse(graph: Graph, speaks: Speaks | None = None) -> Tiled | None:
    """The form of an optimized graph for large arrays, None where no region is worth it.

    With `speaks`, which tells what machine code may compute, regions are such calls alone; they are
    worth it at all sizes.
    """
    finder = _Finder(graph, speaks)
    finder.block(graph.block)
    shapes = finder.shapes
    if not shapes:
        return None
    sizes = tuple(dict.fromkeys(sz.mul(map(unsliced, shape)) for shape in shapes))
    return Tiled(graph, finder.regions, sizes, finder.ordering(), speaks is not None)


def unsliced(dim: Dim) -> Dim:
    """The length of what a slice is taken of: as good a measure, and quicker to tell."""
    atom = dim.atom() if isinstance(dim, Size) else None
    return unsliced(atom.of) if isinstance(atom, SliceLength) else dim


class _Finder:
    """Finds the regions of the blocks of a graph that are worth it, and their shapes."""

    def __init__(self, graph: Graph, speaks: Speaks | None) -> None:
        self.graph = graph
        self.speaks = speaks
        self.known = {
            name
            for value in graph.inputs
            for dim in dims_of(graph.sizes, value.type)
            for name in symbols(dim)
        }
        self.regions: dict[Block, list[list[Call]]] = {}
        self.shapes: dict[Shape, None] = {}
        self.told: dict[Shape, bool] = {}  # whether the inputs tell a shape

    @cached_property
    def ordered(self) -> Set[Value]:
        """What is in C order, as the program tests."""
        return ordered_values(self.graph, self.graph.inputs).dense

    def ordering(self) -> tuple[Value, ...]:
        """The inputs that the order of what regions work on hangs on."""
        graph = self.graph
        axes = [value for value in graph.inputs if value.type.ndim > 1 and value in graph.users]
        tested = {v for v in axes if dims_of(graph.sizes, v.type) in self.shapes}
        calls = (n for regions in self.regions.values() for region in regions for n in region)
        read = {v for node in calls for v in node.operands if v.type.ndim > 1}
        if read <= ordered_values(graph, tested).dense:
            return tuple(value for value in axes if value in tested)
        for value in axes:  # some are sliced, or what is worked on is made like them
            others = [other for other in axes if other is not value]
            if value not in tested and read <= ordered_values(graph, others).dense:
                axes = others
        return tuple(axes)

    def block(self, block: Block) -> None:
        """Notes the regions of a block and of those in it."""
        enough = self._counted(block.nodes) >= self.least
        self.regions[block] = self._regions_of(block) if enough else []
        for inner in inner_blocks(block.nodes[-1]) if block.nodes else ():
            self.block(inner)

    def _regions_of(self, block: Block) -> list[list[Call]]:
        """The regions of a block that are worth it, whose shapes are noted."""
        level: dict[Value, int] = {}  # the first generation that may read a value from outside
        member: dict[Value, tuple[Shape, int]] = {}  # the elementwise ones: shape, generation
        regions: dict[tuple[Shape, int], list[Call]] = {}
        since = 0  # the first generation after what has to stay in its order
        awaited = _Awaited(self.graph, block)
        for node in block.nodes:
            shape = self._shape(node, member)
            if isinstance(node, Branch | Loop | Join):
                break  # nothing stands behind it
            if shape is None or not isinstance(node, Call):
                needs = max((level.get(v, 0) for v in awaited.by(node)), default=0)
                if _stays_in_order(node):
                    since = needs = max(since, needs)
                level.update((result, needs) for result in node.results)
                continue
            generation = 0
            for value in node.operands:
                of, its = member.get(value, ((), 0))
                generation = max(generation, its if of == shape else level.get(value, 0))
            regions.setdefault((shape, generation), []).append(node)
            result = node.results[0]
            level[result] = generation + 1
            if Trait.ELEMENTWISE in node.op.traits:
                member[result] = (shape, generation)
        worth = {
            (shape, generation): region
            for (shape, generation), region in regions.items()
            if self._is_worth_it(region, shape)
        }
        self.shapes.update((shape, None) for shape, _ in worth)
        return list(worth.values())

    def _is_worth_it(self, region: Sequence[Call], shape: Shape) -> bool:
        """Whether a region has calls enough, and may be large where that is asked."""
        size = sz.mul(shape)
        large = self.speaks is not None or isinstance(size, Size) or size >= LARGE
        return large and self._counted(region) >= self.least

    @property
    def least(self) -> int:
        """How many calls a region has at least."""
        return WORTH if self.speaks is None else WORTH_KERNELS

    def _counted(self, nodes: Iterable[Node]) -> int:
        """How many calls that may be of a region there are."""
        return sum(
            bool(node.op.traits & {Trait.ELEMENTWISE, Trait.DOT})
            and any(value.type.shape for value in (*node.results, *node.operands))
            for node in nodes
            if isinstance(node, Call)
        )

    def _shape(self, node: Node, member: Mapping[Value, tuple[Shape, int]]) -> Shape | None:
        """The shape of the region that a node may belong to."""
        if not isinstance(node, Call) or len(node.results) != 1 or Trait.EFFECT in node.op.traits:
            return None
        if node.memory is not None:  # what leaves a region is a new array
            return None
        if self.speaks is not None and not self.speaks(self.graph, node):
            return None
        sizes, result = self.graph.sizes, node.results[0]
        if Trait.TOTAL in node.op.traits:
            operand = node.operands[0]
            found = member.get(operand)
            closes = found is not None and not result.type.shape
            return found[0] if found and closes and _adds_in_halves(operand, result) else None
        if Trait.DOT in node.op.traits:
            return self._shape_of_dot(node, member)
        if Trait.ELEMENTWISE not in node.op.traits or not result.type.shape:
            return None
        if any(isinstance(value, Size | tuple) for _, value in node.attributes):
            return None
        shape = dims_of(sizes, result.type)
        if shape not in self.told:
            self.told[shape] = {name for dim in shape for name in symbols(dim)} <= self.known
        return shape if self.told[shape] and self._fit(node, shape) else None

    def _shape_of_dot(self, node: Call, member: Mapping[Value, tuple[Shape, int]]) -> Shape | None:
        """The shape of the region that a product of two arrays closes.

        Its parts add up to another rounding than the whole: graphs of fast math alone have it.
        """
        shapes = [member[operand][0] for operand in node.operands if operand in member]
        return shapes[0] if shapes and self._fit(node, shapes[0]) else None

    def _fit(self, node: Call, shape: Shape) -> bool:
        """Whether all that a call reads has this shape and order, or no axes."""
        for operand in node.operands:
            if not operand.type.shape:
                continue
            if dims_of(self.graph.sizes, operand.type) != shape:
                return False
            if len(shape) > 1 and operand not in self.ordered:
                return False
        return True


def _body(
    graph: Graph,
    name: str,
    region: Sequence[Call],
    results: tuple[Value, ...],
    dying: Sequence[Value],
) -> Graph:
    """A region as a graph of its own; `results` are read outside of it, `dying` by nobody else."""
    made = {node.results[0] for node in region}
    nodes: dict[Node, None] = {}
    given: dict[Value, None] = {}
    for node in region:
        for operand in node.operands:
            constant = graph.constant(operand)
            if constant is not None:
                nodes[constant] = None
            elif operand not in made:
                given[operand] = None
        nodes[replace(node, reuse=None)] = None
    place = {value: i for i, value in enumerate(graph.inputs)}

    def order(value: Value) -> tuple[bool, int, int]:  # as `in_tiles` takes them
        return not value.type.shape, -bytes_of_one(value.type), place.get(value, len(place))

    operands = tuple(sorted(given, key=order))
    names = parameter_names(operands)
    spent = frozenset(value for value in dying if value in given)
    frame = Frame(names, names)
    body = Graph(name, operands, tuple(nodes), results, frame, graph.sizes, spent=spent)
    return lifetime(body, ordered=[value for value in operands if value.type.shape])


def _adds_in_halves(operand: Value, total: Value) -> bool:
    """Whether parts of the sum add up to the bits of the whole.

    NumPy adds float32 and float64 in halves; sums of integers have no rounding.
    """
    dtype = operand.type.dtype
    if is_inexact(dtype):
        return dtype in ("float32", "float64") and total.type.dtype == dtype
    return kind(dtype) in ("int", "bool")


class _Awaited:
    """What has to be there before a node of a block: what it reads, and what tells its lengths."""

    def __init__(self, graph: Graph, block: Block) -> None:
        self.graph = graph
        given = {name for value in graph.inputs for name in lengths_told(graph, value)}
        self.telling: dict[str, Value] = {}  # the first value of the block that tells a length
        for node in block.nodes:
            for result in node.results:
                for name in lengths_told(graph, result):
                    if name not in given:
                        self.telling.setdefault(name, result)

    def by(self, node: Node) -> Iterator[Value]:
        """What the node awaits."""
        yield from self.graph.reads(node)
        if self.telling:
            named = symbols_printed(node, self.graph.sizes)
            yield from (self.telling[name] for name in named & self.telling.keys())


def _stays_in_order(node: Node) -> bool:
    """Whether a node may leave the program or has an effect."""
    if isinstance(node, Call):
        return Trait.EFFECT in node.op.traits
    return isinstance(node, Check | Branch)


def _scheduled(graph: Graph, block: Block, place: Mapping[Node, int]) -> Iterator[Node | int]:
    """The nodes, and the numbers of regions, in an order that works: the old one where it does.

    What may leave the program or has an effect stays in its order.
    """
    nodes, awaited = block.nodes, _Awaited(graph, block)
    items: list[Node | int] = list(dict.fromkeys(place.get(node, node) for node in nodes))
    maker = {r: place.get(node, node) for node in nodes for r in node.results}
    needs: dict[Node | int, set[Node | int]] = {item: set() for item in items}
    last: Node | None = None
    for node in nodes:
        item = place.get(node, node)
        needs[item].update(maker[v] for v in awaited.by(node) if v in maker)
        if _stays_in_order(node):
            if last is not None:
                needs[item].add(last)
            last = node
        needs[item].discard(item)
    order = {item: i for i, item in enumerate(items)}
    users: dict[Node | int, list[Node | int]] = {item: [] for item in items}
    for item, read in needs.items():
        for other in read:
            users[other].append(item)
    waiting = {item: len(read) for item, read in needs.items()}
    ready = [order[item] for item in items if not waiting[item]]
    heapq.heapify(ready)
    while ready:
        item = items[heapq.heappop(ready)]
        yield item
        for user in users[item]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, order[user])
