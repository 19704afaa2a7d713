"""Jacobians and Hessians as sparse matrices.

Three steps: which entries can be nonzero (`sparsity`), which columns or rows can share a product
(`column_colouring`), and one compiled program for all these products at once: forward or reverse
mode over a batch of vectors, which are sums of unit vectors here. The first two are kept for the
shapes and whole numbers of a call, and for the version of the program that answers it.

Of several arrays, in arguments or results, there is one such matrix in all: their elements stand
one after the other, so that entries of one share products with those of another. It is cut into
blocks in the end.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from codegen.ir import Graph
from tracegrad.arguments.signature import is_jax, name_of, signature_of
from tracegrad.compiled.captured import memory
from tracegrad.compiled.guarded_entry import MISS, watched_entry
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import CHOSEN
from tracegrad.errors import (
    RAISED_BY_NUMPY,
    ArgumentError,
    ExportError,
    ShapeError,
    how_to_install,
)
from tracegrad.export.sparse_writer import Compressed, Matrix, write_sparse
from tracegrad.export.writer import file_at
from tracegrad.introspection.explain import CacheInfo, called
from tracegrad.introspection.report.html import report
from tracegrad.introspection.report.show import checked_path, lengths
from tracegrad.introspection.report.sparsity_patterns import (
    Pattern,
    pattern_dot,
    pattern_svg,
    pattern_text,
)
from tracegrad.runtime.thread_state import STATE, given_objects
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import (
    Transform,
    check_wanted,
    differentiated,
    leaves_in,
    vectors_in,
)
from tracegrad.transforms.column_colouring import column_colours, mirrored, star_colours
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.sparsity import pattern, places_of
from tracegrad.user_code.program_points import at_line
from tracegrad.values.pytree import TreeSpec, flatten, map_tree, unflatten

MOST_PLANS = 32
"""For so many shapes, and whole numbers, of arguments a callable keeps pattern and colours."""
MOST_TRIED = 4
"""So many versions may answer before a call is taken for dense."""

MANY_COLOURS = 8
"""From so many products on it is tried whether derivatives in what is gathered need fewer."""
DEARER = 2
"""So many of other products one of these is worth."""

_MODES = {
    "forward": "forward mode",
    "reverse": "reverse mode",
    "elements": "reverse mode up to where elements are read",
}
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """What belongs to one array of the results and one of the arguments."""

    chosen: Any  # which of all entries; None: all
    like: Any  # a matrix with entries there
    dtype: Any  # that of the argument; None for a number of Python's

    def matrix(self, entries: Any) -> Any:
        """The block, from the entries of all."""
        own = entries if self.chosen is None else entries[self.chosen]
        found = copy(self.like)  # the constructor would check each time what is known
        found.data = own if self.dtype is None else own.astype(self.dtype, copy=False)
        found.indices, found.indptr = found.indices.copy(), found.indptr.copy()
        return found


@dataclass(frozen=True, eq=False)
class Plan:
    """What is kept for calls of one shape: where the entries are, and in which product."""

    mode: str
    count: int  # of the function's arguments
    version: Version | None  # the one that the pattern is that of; None: there is no program
    dense: bool  # every column, or row, by itself
    key: Key
    shape: tuple[int, int]
    colours: int
    vectors: Any  # a sum of unit vectors for each colour, in the structure that the program takes
    columns: Any  # of the entries, in the order of a CSR matrix
    starts: Any  # of its rows
    product: Any  # the one in which each entry stands
    place: Any  # and where
    structures: tuple[TreeSpec, TreeSpec]  # of the results, and of the arguments in each place
    blocks: Sequence[Block]
    sums: Any = None  # where several are added up to one entry: of which each is the first

    @property
    def line(self) -> str:
        """The plan in one line."""
        m, n = self.shape
        known = " (the pattern is not known)" if self.dense else ""
        return (
            f"sparse: {m} x {n}, {len(self.columns)} nonzeros{known}, {self.colours} colours, "
            f"{_MODES[self.mode]}"
        )

    def pattern(self, name: str) -> Pattern:
        """What is drawn of it."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        product = self.product if self.sums is None else self.product[self.sums]
        return Pattern(name, self.line, self.shape, rows, self.columns, product)

    def matrices(self, products: Sequence[Any]) -> Any:
        """The blocks, from the products of all vectors."""
        flat = [x.reshape(len(x), -1) for x in products]
        whole = flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)
        entries = whole[self.product, self.place]
        if self.sums is not None:
            entries = np.add.reduceat(entries, self.sums)
        found = [block.matrix(entries) for block in self.blocks]
        outer, inner = self.structures
        if outer.type is None and inner.type is None:
            return found[0]
        width = leaves_in(inner)
        rows = [unflatten(inner, found[i : i + width]) for i in range(0, len(found), width)]
        return unflatten(outer, rows)


class Answer(NamedTuple):
    """What a program gives for vectors."""

    mode: str
    version: Version | None  # None: there is no program
    args: tuple[Any, ...]  # the function's, and then the vectors
    products: list[Any]
    structure: TreeSpec  # of the products
    aux: Any

    @property
    def vectors(self) -> list[Any]:
        """The vectors of each array."""
        return flatten(self.args[-1])[0]


class Sparse:
    """A function whose calls give a sparse derivative; made by `jacobian` and `hessian`."""

    def __init__(
        self,
        function: Callable[..., Any],
        kind: str,
        argnums: int | tuple[int, ...],
        has_aux: bool,
        mode: str,
        backend: str | None,
    ) -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ArgumentError(f"{kind} with sparse=True needs SciPy: {how_to_install('scipy')}")
        if not callable(function):
            raise ArgumentError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self.__name__: str = name_of(function)
        self._function = function
        self._kind = kind
        self._argnums = argnums
        self._has_aux = has_aux
        self._mode = mode
        self._backend = backend
        self._programs: dict[tuple[str, int], Compiled] = {}
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._latest: Plan | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, told = self._given(args, kwargs)
        kept = self._plans.get(told)
        plan = kept or self._first(given)
        for turn in range(MOST_TRIED + 1):
            try:
                answer = self._answer(plan.mode, given, plan.vectors)
            except (ArgumentError, ShapeError):  # the result has another shape than the vectors
                if plan is not kept:
                    raise
                plan = self._first(given)
                continue
            key = self._key(answer)
            if (answer.version is plan.version and key == plan.key) or (
                plan.dense and turn and key[0] == plan.key[0]
            ):
                break
            if plan.mode == "elements":
                plan = self._first(given, by_elements=False)
                continue
            last = turn == MOST_TRIED - 1  # a dense plan is right for any version
            plan = self._plan(answer._replace(version=None) if last else answer)
        else:
            raise ArgumentError(f"{self.__name__} does not give the same in each call")
        with self._lock:
            self._plans[told] = self._latest = plan
            self._plans.move_to_end(told)
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        matrices = plan.matrices(answer.products)
        return (matrices, answer.aux) if self._has_aux else matrices

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated source of the products for these arguments (by default the latest call)."""
        program, given = self._asked_for(args, kwargs)
        return program.source(*given)

    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph of the products: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
        program, given = self._asked_for(args, kwargs)
        return program.graph(*given, stage=stage)

    def export(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Writes one standalone ``.py`` file for arguments of these shapes; returns its path.

        By default for the latest call. Its function has the name of the user's, gives the same
        matrices, and needs NumPy and SciPy alone (JAX too with ``backend="jax"``). Raises
        `tg.errors.ExportError` for what no file can hold.

        >>> import numpy as np, os, runpy, tempfile, tracegrad as tg
        >>> def steps(x):
        ...     return np.diff(x) ** 2
        >>> file = os.path.join(tempfile.mkdtemp(), "steps_jacobian.py")
        >>> path = tg.jacobian(steps, sparse=True).export(file, np.arange(3.0))
        >>> runpy.run_path(str(path))["steps"](np.array([1.0, 2.0, 4.0])).toarray()
        array([[-2.,  2.,  0.],
               [ 0., -4.,  4.]])
        """
        place = file_at(path)
        if args or kwargs:
            self(*args, **kwargs)
        plan = self._newest()
        told = next(told for told, kept in self._plans.items() if kept is plan)
        program = self._program(plan.mode, plan.count)
        if plan.version is None:
            raise ExportError(
                f"the sparse {self._kind} of {self.__name__} has no program of its own, see "
                ".explain()"
            )
        blocks = [
            Matrix(b.chosen, b.like.indices, b.like.indptr, b.like.shape, b.dtype)
            for b in plan.blocks
        ]
        how = Compressed(
            f"Sparse {self._kind.capitalize()} of {self.__name__}: {plan.line.partition(': ')[2]}",
            told[0],
            [_shown(x) for x in told[1:]],
            plan.vectors,
            plan.product,
            plan.place,
            plan.sums,
            blocks,
            plan.structures,
            plan.key[0][0],
            self._has_aux,
        )
        return write_sparse(place, program._callee(), plan.version, how)

    def draw(self, path: str | os.PathLike[str], /, *args: Any, **kwargs: Any) -> Path:
        """Draws where the matrix has entries, each in the colour of the product that gives it.

        ``.svg`` is the pattern, ``.dot`` the same as a graph of rows and columns, ``.html`` a
        report of the program with the pattern in it. Returns the path.

        >>> import numpy as np, os, tempfile, tracegrad as tg
        >>> jacobian = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
        >>> file = os.path.join(tempfile.mkdtemp(), "pattern.svg")
        >>> jacobian.draw(file, np.ones(5)).read_text().count("<path")  # two products
        2
        """
        file = checked_path(path)
        program, given = self._asked_for(args, kwargs)
        pattern = self._newest().pattern(f"{self._kind} of {self.__name__}")
        if file.suffix == ".html":
            version = program._asked_for(given, {})
            known = lengths(version, program._bind(given, {})) if given else {}
            text = report(version, self._function, known, pattern_svg(pattern))
        else:
            text = pattern_svg(pattern) if file.suffix == ".svg" else pattern_dot(pattern)
        file.write_text(text, encoding="utf-8", newline="\n")
        return file

    def explain(self) -> str:
        """A report of the latest call: size, nonzeros, colours, mode; then of the program.

        Of a small matrix each entry is shown as the number of the product that gives it.

        >>> import numpy as np, tracegrad as tg
        >>> jacobian = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
        >>> _ = jacobian(np.ones(4))
        >>> print("\\n".join(jacobian.explain().splitlines()[:4]))
        sparse: 3 x 4, 6 nonzeros, 2 colours, forward mode
          0 1 . .
          . 1 0 .
          . . 0 1
        """
        plan = self._newest()
        shown = pattern_text(plan.pattern(self.__name__))
        told = self._program(plan.mode, plan.count).explain()
        return "\n".join(filter(None, [plan.line, shown, told]))

    def cache_info(self) -> CacheInfo:
        """As of every compiled callable; the programs of all plans are counted together."""
        infos = [program.cache_info() for program in self._programs.values()]
        return CacheInfo(*map(sum, zip(CacheInfo(0, 0, 0, 0), *infos)))

    def clear_cache(self) -> None:
        """Forgets every plan and every compiled version."""
        with self._lock:
            self._programs, self._plans, self._latest = {}, OrderedDict(), None

    def __repr__(self) -> str:
        return called(f"{self._kind}(sparse=True)", self.__name__, self.cache_info().traces)

    def _asked_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Compiled, tuple[Any, ...]]:
        """The program of the products and its arguments: for a call, or as it was called last."""
        if args or kwargs:
            self(*args, **kwargs)
        plan = self._newest()
        given = (*self._given(args, kwargs)[0], plan.vectors) if args or kwargs else ()
        return self._program(plan.mode, plan.count), given

    def _newest(self) -> Plan:
        if self._latest is None:
            raise ArgumentError(f"{self.__name__} was not called yet")
        return self._latest

    # -- the call -------------------------------------------------------------------------------

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Key]:
        """The arguments by position, and what of them a plan is kept for."""
        if kwargs:
            bound = signature_of(self._function).bind(*args, **kwargs)
            if bound.kwargs:
                raise ArgumentError(
                    f"{self.__name__}: with sparse=True pass arguments by position, not "
                    + ", ".join(bound.kwargs)
                )
            args = bound.args
        for position in self._positions:
            if not -len(args) <= position < len(args):
                raise ArgumentError(f"argnums={position}: the call has {len(args)} arguments")
        leaves, spec = flatten(args)
        if any(map(is_jax, leaves)):
            leaves = [np.asarray(x) if is_jax(x) else x for x in leaves]
            args = unflatten(spec, leaves)
        if STATE.trace is not None or any(isinstance(x, Tensor) for x in leaves):
            raise ArgumentError(
                f"the sparse {self._kind} of {self.__name__} is no part of a program or a tape: "
                "call it on arrays, outside of functions that are compiled or differentiated"
                + at_line()
            )
        return args, (spec, *map(_told, leaves))

    @property
    def _positions(self) -> tuple[int, ...]:
        return (self._argnums,) if isinstance(self._argnums, int) else self._argnums

    def _program(self, mode: str, count: int) -> Compiled:
        """The products of the matrix with vectors, for a function of so many arguments."""
        found = self._programs.get((mode, count))
        if found is None:
            kind = f"{self._kind}_products"
            numbers = tuple([position % count for position in self._positions])
            argnums = numbers[0] if isinstance(self._argnums, int) else numbers
            transform = Transform(kind, argnums, self._has_aux, count, mode)
            found = self._programs[mode, count] = Compiled(self._function, transform, self._backend)
        return found

    def _answered(self, mode: str, args: tuple[Any, ...]) -> tuple[Any, Version | None]:
        """The products, and the version of the program that gave them; None for no program."""
        program = self._program(mode, len(args) - 1)
        found = _by_entry(program, args)
        if found is not None:
            return found
        result = program(*args)
        return _by_entry(program, args) or (result, None)

    # -- plans ----------------------------------------------------------------------------------

    def _first(self, given: tuple[Any, ...], by_elements: bool = True) -> Plan:
        """The plan for a call of new shapes."""
        program = self._program("forward", len(given))
        bound = program._bind((*given, 0.0), {})
        by = differentiated(bound, program._transform, bound.values)
        forward = self._answer("forward", given, map_tree(_two_of_zeros, by))
        plan = self._plan(forward)
        if self._kind == "hessian" or self._mode == "forward":
            return plan
        zeros = [np.zeros((2, *x.shape[1:]), x.dtype) for x in forward.products]
        vectors = unflatten(forward.structure, zeros)
        if self._mode == "auto":
            rows = plan.shape[0]
            if not plan.dense:
                turned = _matrix(plan.columns, plan.starts, plan.shape).T.tocsr()
                rows = 1 + max(column_colours(turned), default=0)
            few = min(rows, plan.colours)
            if by_elements and few >= MANY_COLOURS and not plan.dense:
                other = self._by_elements(forward, vectors)
                if other is not None and other.colours * DEARER <= few:
                    return other
            if rows >= plan.colours:
                return plan
        return self._plan(self._answer("reverse", given, vectors))

    def _answer(self, mode: str, given: tuple[Any, ...], vectors: Any) -> Answer:
        """What the program of a mode gives for these vectors."""
        args = (*given, vectors)
        result, version = self._answered(mode, args)
        main, aux = result if self._has_aux else (result, None)
        products, structure = flatten(main)
        products = [np.asarray(x) if is_jax(x) else x for x in products]
        return Answer(mode, version, args, products, structure, aux)

    def _by_elements(self, forward: Answer, vectors: Any) -> Plan | None:
        """The plan by derivatives in the parts of arguments; None where that is not to be had.

        `vectors` are such as reverse mode takes.
        """
        if self._places(forward) is None:
            return None
        answer = self._answer("elements", forward.args[:-1], vectors)
        places, found = self._places(answer), self._pattern(answer)
        if places is None or found is None:
            return None
        colour = column_colours(found)
        lengths = [_length(x) for x in forward.products], [_length(x) for x in forward.vectors]
        (m, n), width = map(sum, lengths), found.indices.dtype
        part = np.repeat(np.arange(len(places)), np.diff(found.indptr))
        row = found.indices.astype(np.int64)
        numbers = row * n + places[part]  # of the entries, where each is added
        order = np.argsort(numbers, kind="stable")
        entries, firsts = np.unique(numbers[order], return_index=True)
        return self._plan_of(
            answer,
            lengths,
            colour,
            (entries % n).astype(width),
            np.searchsorted(entries, np.arange(m + 1) * n).astype(width),
            colour[row][order],
            part[order],
            sums=None if len(entries) == len(numbers) else firsts,
        )

    def _places(self, answer: Answer) -> Any:
        """Which elements of the arguments are computed with; None where that is not known."""
        if answer.version is None:
            return None
        inputs, targets, _ = self._inputs(answer)
        graph = answer.version.traced
        if len(graph.inputs) != len(inputs):
            return None
        of = answer.products if answer.mode == "forward" else answer.vectors
        places = places_of(graph, [graph.inputs[at] for at in targets], inputs, len(of))
        return places if places is not None and len(places) else None

    def _inputs(self, answer: Answer) -> tuple[list[Any], list[int], list[int]]:
        """The arrays of the graph's inputs; which are the arguments, which are the vectors."""
        assert answer.version is not None
        program = self._program(answer.mode, len(answer.args) - 1)
        arguments = program._bind(answer.args, {})
        traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
        targets = arguments.numbers_of(check_wanted(arguments, program._transform))
        captured = map(memory, self._captured(answer))
        return [*traced, *captured], targets, arguments.numbers_of(vectors_in(arguments))

    def _captured(self, answer: Answer) -> list[Any]:
        """What the version of an answer reads from outside."""
        if answer.version is None:
            return []
        program = self._program(answer.mode, len(answer.args) - 1)
        of_call = answer.version.objects and program._bind(answer.args, {}).objects
        with given_objects(of_call or ()):
            return answer.version.captured_arrays()

    def _key(self, answer: Answer) -> Key:
        """What a pattern is kept for, beside its version and the arguments."""
        shapes = tuple([x.shape[1:] for x in answer.products])
        return ((answer.structure, shapes), *map(_told, map(memory, self._captured(answer))))

    def _pattern(self, answer: Answer) -> Any:
        """Which elements of the products depend on which of the vectors; None: not known."""
        if answer.version is None:
            return None
        inputs, _, vectors = self._inputs(answer)
        for at in vectors:
            inputs[at] = inputs[at][:1].repeat(2, 0)
        graph = answer.version.differentiated
        if len(graph.inputs) != len(inputs):
            return None
        rows = [x.shape[1:] for x in answer.products]
        return pattern(graph, [graph.inputs[at] for at in vectors], inputs, rows)

    def _plan(self, answer: Answer) -> Plan:
        """The plan for a version; its vectors and products have the shapes of the call's."""
        found = self._pattern(answer)
        lengths = [_length(x) for x in answer.products], [_length(x) for x in answer.vectors]
        dense = found is None
        if found is None:
            m, n = map(sum, lengths)
            found = _matrix(np.tile(np.arange(n), m), n * np.arange(m + 1), (m, n))
        if self._kind == "hessian":
            found = (found + found.T).tocsr()
        colour = column_colours(found)
        if self._kind == "hessian" and colour.max(initial=0) > 2:
            star = star_colours(found)
            colour = star if star.max() < colour.max() else colour
        forward = answer.mode == "forward"
        entries = found if forward else found.T.tocsr()
        entries.sort_indices()
        rows = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
        columns = entries.indices
        place: Any = rows if forward else columns
        unit: Any = columns if forward else rows
        if self._kind == "hessian":
            swapped = mirrored(entries, colour)
            place, unit = np.where(swapped, unit, place), np.where(swapped, place, unit)
        return self._plan_of(
            answer,
            lengths if forward else lengths[::-1],
            colour,
            columns,
            entries.indptr,
            colour[unit],
            place,
            dense=dense,
        )

    def _plan_of(
        self,
        answer: Answer,
        lengths: tuple[list[int], list[int]],
        colour: Any,
        columns: Any,
        starts: Any,
        product: Any,
        place: Any,
        *,
        dense: bool = False,
        sums: Any = None,
    ) -> Plan:
        """The plan of so many elements in each of the results and of the arguments."""
        program = self._program(answer.mode, len(answer.args) - 1)
        arguments = program._bind(answer.args, {})
        by, inner = flatten(differentiated(arguments, program._transform, arguments.values))
        outer = inner
        if self._kind == "jacobian":
            forward = answer.mode == "forward"
            outer = answer.structure if forward else flatten(answer.args[-1])[1]
        dtypes = [x.dtype if isinstance(x, np.ndarray | np.generic) else None for x in by]
        return Plan(
            answer.mode,
            len(answer.args) - 1,
            answer.version,
            dense,
            self._key(answer),
            (sum(lengths[0]), sum(lengths[1])),
            int(colour.max(initial=-1)) + 1,
            _seeds(colour, answer.args[-1]),
            columns,
            starts,
            product,
            place,
            (outer, inner),
            _blocks(columns, starts, lengths, dtypes),
            sums,
        )


def _by_entry(program: Compiled, args: tuple[Any, ...]) -> tuple[Any, Version] | None:
    """What a version that stands for the call gives, and that version."""
    try:
        for run, version in program._entries.get(CHOSEN[program._backend], ()):
            result = (watched_entry(run) if STATE.aside else run)(args)
            if result is not MISS:
                version.hits += 1
                return result, version
    except RAISED_BY_NUMPY:  # the function may catch it
        return None
    return None


def _two_of_zeros(leaf: Any) -> Any:
    """Two vectors for an array, or a number."""
    array = np.asarray(leaf)
    return np.zeros((2, *array.shape), array.dtype)


def _length(vectors: Any) -> int:
    """How many elements each of several vectors has."""
    return int(np.prod(vectors.shape[1:]))


def _seeds(colour: Any, vectors: Any) -> Any:
    """The sum of unit vectors of each colour, in the shapes and the structure of these vectors."""
    count = int(colour.max(initial=-1)) + 1
    seeds = np.zeros((max(count, 2), len(colour)))  # one would be another version
    seeds[colour, np.arange(len(colour))] = 1.0
    leaves, structure = flatten(vectors)
    parts = np.split(seeds, np.cumsum([_length(x) for x in leaves])[:-1], axis=1)
    pairs = zip(parts, leaves, strict=True)
    shaped = [x.astype(of.dtype).reshape(len(x), *of.shape[1:]) for x, of in pairs]
    return unflatten(structure, shaped)


def _blocks(
    columns: Any, starts: Any, lengths: tuple[list[int], list[int]], dtypes: Sequence[Any]
) -> list[Block]:
    """The blocks of a matrix, of so many rows and of so many columns each, row by row of blocks."""
    height, width = map(sum, lengths)
    if len(lengths[0]) == len(lengths[1]) == 1:
        return [Block(None, _matrix(columns, starts, (height, width)), dtypes[0])]
    row_of = np.repeat(np.arange(height), np.diff(starts))
    found, top = [], 0
    for rows in lengths[0]:
        left = 0
        for across, dtype in zip(lengths[1], dtypes, strict=True):
            inside = (left <= columns) & (columns < left + across)
            chosen = np.flatnonzero(inside & (top <= row_of) & (row_of < top + rows))
            firsts = np.searchsorted(row_of[chosen], np.arange(top, top + rows + 1))
            matrix = _matrix(columns[chosen] - left, firsts, (rows, across))
            found.append(Block(chosen, matrix, dtype))
            left += across
        top += rows
    return found


def _told(leaf: Any) -> Any:
    """What of an argument a pattern is kept for: its shape, and whole numbers."""
    array = leaf if isinstance(leaf, np.ndarray | np.generic) else np.asarray(leaf)
    whole = array.dtype.kind in "iub"
    return (array.shape, array.dtype.char, array.tobytes()) if whole else array.shape


def _shown(told: Any) -> tuple[tuple[int, ...], Any]:
    """The shape of an argument, and its whole numbers, of what a pattern is kept for."""
    if len(told) == 3 and isinstance(told[2], bytes):
        shape, kind, numbers = told
        return shape, np.frombuffer(numbers, kind).reshape(shape)
    return told, None


def _matrix(columns: Any, starts: Any, shape: tuple[int, int]) -> Any:
    """A matrix of truth values, all true, with entries in these columns."""
    from scipy import sparse  # type: ignore[import-untyped]

    return sparse.csr_array((np.ones(len(columns), bool), columns, starts), shape=shape)
