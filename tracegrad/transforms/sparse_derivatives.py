"""Jacobians and Hessians as sparse matrices.

Three steps: which entries can be nonzero (`sparsity`), which columns or rows can share a product
(`column_colouring`), and one compiled program for all these products at once: forward or reverse
mode over a batch of vectors, which are sums of unit vectors here. The first two are kept for the
shapes and whole numbers of a call, and for the version of the program that answers it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np

from codegen.ir import Graph
from tracegrad.arguments.signature import is_jax, name_of, signature_of
from tracegrad.compiled.guarded_entry import MISS, watched_entry
from tracegrad.compiled.version import Version, memory
from tracegrad.config.compile_mode import CHOSEN
from tracegrad.errors import RAISED_BY_NUMPY, ArgumentError, ShapeError
from tracegrad.introspection.report.html import report
from tracegrad.introspection.report.show import checked_path, lengths
from tracegrad.introspection.report.sparsity_patterns import (
    Pattern,
    pattern_dot,
    pattern_svg,
    pattern_text,
)
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import Transform, check_wanted
from tracegrad.transforms.column_colouring import column_colours, mirrored, star_colours
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.sparsity import pattern, places_of
from tracegrad.values.pytree import flatten

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
class Plan:
    """What is kept for calls of one shape: where the entries are, and in which product."""

    mode: str
    count: int  # of the function's arguments
    version: Version | None  # the one that the pattern is that of; None: there is no program
    dense: bool  # every column, or row, by itself
    key: Key
    shape: tuple[int, int]
    colours: int
    vectors: Any  # a sum of unit vectors for each colour
    columns: Any  # of the entries, in the order of a CSR matrix
    starts: Any  # of its rows
    product: Any  # the one in which each entry stands
    place: Any  # and where
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

    def matrix(self, products: Any) -> Any:
        """The entries, from the products of all vectors."""
        from scipy import sparse  # type: ignore[import-untyped]

        entries = products.reshape(len(products), -1)[self.product, self.place]
        if self.sums is not None:
            entries = np.add.reduceat(entries, self.sums)
        columns, starts = self.columns.copy(), self.starts.copy()
        return sparse.csr_array((entries, columns, starts), shape=self.shape)


class Sparse:
    """A function whose calls give a sparse derivative; made by `jacobian` and `hessian`."""

    def __init__(
        self,
        function: Callable[..., Any],
        kind: str,
        argnum: int,
        has_aux: bool,
        mode: str,
        backend: str | None,
    ) -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ArgumentError(f"{kind} with sparse=True needs SciPy: pip install scipy")
        if not callable(function):
            raise ArgumentError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self.__name__: str = name_of(function)
        self._function = function
        self._kind = kind
        self._argnum = argnum
        self._has_aux = has_aux
        self._mode = mode
        self._backend = backend
        self._programs: dict[tuple[str, int], Compiled] = {}
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._latest: Plan | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        told = tuple([_told(x) for x in flatten(given)[0]])
        kept = self._plans.get(told)
        plan = kept or self._first(given)
        for turn in range(MOST_TRIED + 1):
            try:
                result, version = self._answered(plan.mode, (*given, plan.vectors))
            except (ArgumentError, ShapeError):  # the result has another shape than the vectors
                if plan is not kept:
                    raise
                plan = self._first(given)
                continue
            products = self._main(result)
            key = _key(version, products)
            if (version is plan.version and key == plan.key) or (
                plan.dense and turn and key[0] == plan.key[0]
            ):
                break
            if plan.mode == "elements":
                plan = self._first(given, by_elements=False)
                continue
            last = turn == MOST_TRIED - 1  # a dense plan is right for any version
            plan = self._plan(plan.mode, None if last else version, plan.vectors, products, given)
        else:
            raise ArgumentError(f"{self.__name__} does not give the same in each call")
        with self._lock:
            self._plans[told] = self._latest = plan
            self._plans.move_to_end(told)
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        matrix = plan.matrix(products)
        return (matrix, result[1]) if self._has_aux else matrix

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

    def __repr__(self) -> str:
        return f"<tracegrad.{self._kind} of {self.__name__}, sparse>"

    def _asked_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Compiled, tuple[Any, ...]]:
        """The program of the products and its arguments: for a call, or as it was called last."""
        if args or kwargs:
            self(*args, **kwargs)
        plan = self._newest()
        given = (*self._given(args, kwargs), plan.vectors) if args or kwargs else ()
        return self._program(plan.mode, plan.count), given

    def _newest(self) -> Plan:
        if self._latest is None:
            raise ArgumentError(f"{self.__name__} was not called yet")
        return self._latest

    # -- the call -------------------------------------------------------------------------------

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position."""
        if kwargs:
            bound = signature_of(self._function).bind(*args, **kwargs)
            if bound.kwargs:
                raise ArgumentError(
                    f"{self.__name__}: with sparse=True pass arguments by position, not "
                    + ", ".join(bound.kwargs)
                )
            args = bound.args
        args = tuple([np.asarray(x) if is_jax(x) else x for x in args])
        if not -len(args) <= self._argnum < len(args):
            raise ArgumentError(f"argnums={self._argnum}: the call has {len(args)} arguments")
        if STATE.trace is not None or any(isinstance(x, Tensor) for x in flatten(args)[0]):
            raise ArgumentError(
                f"the sparse {self._kind} of {self.__name__} is no part of a program or a tape: "
                "call it on arrays, outside of functions that are compiled or differentiated"
            )
        x = args[self._argnum]
        if not isinstance(x, np.ndarray | np.generic | float) or np.asarray(x).dtype.kind != "f":
            raise ArgumentError(
                f"the sparse {self._kind} of {self.__name__} needs one array of floats to "
                f"differentiate by, not {type(x).__name__}"
                + (f" of {x.dtype}" if isinstance(x, np.ndarray) else "")
            )
        return args

    def _program(self, mode: str, count: int) -> Compiled:
        """The products of the matrix with vectors, for a function of so many arguments."""
        found = self._programs.get((mode, count))
        if found is None:
            kind = f"{self._kind}_products"
            transform = Transform(kind, self._argnum % count, self._has_aux, count, mode)
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

    def _main(self, result: Any) -> Any:
        """The products of a result; raises where that is not one array of floats."""
        main = result[0] if self._has_aux else result
        if is_jax(main):
            main = np.asarray(main)
        return main

    # -- plans ----------------------------------------------------------------------------------

    def _first(self, given: tuple[Any, ...], by_elements: bool = True) -> Plan:
        """The plan for a call of new shapes."""
        x = np.asarray(given[self._argnum])
        vectors = np.zeros((2, *x.shape), x.dtype)
        result, version = self._answered("forward", (*given, vectors))
        products = self._main(result)
        plan = self._plan("forward", version, vectors, products, given)
        if self._kind == "hessian" or self._mode == "forward":
            return plan
        if self._mode == "auto":
            rows = plan.shape[0]
            if not plan.dense:
                flags = np.ones(len(plan.columns), bool)
                rows = 1 + max(column_colours(_csr(flags, plan).T.tocsr()), default=0)
            few = min(rows, plan.colours)
            if by_elements and few >= MANY_COLOURS and not plan.dense:
                other = self._by_elements(given, plan, products)
                if other is not None and other.colours * DEARER <= few:
                    return other
            if rows >= plan.colours:
                return plan
        vectors = np.zeros((2, *products.shape[1:]), products.dtype)
        result, version = self._answered("reverse", (*given, vectors))
        return self._plan("reverse", version, vectors, self._main(result), given)

    def _by_elements(self, given: tuple[Any, ...], plan: Plan, tangents: Any) -> Plan | None:
        """The plan by derivatives in the parts of the argument; None where that is not to be had.

        `plan` is that of forward mode, `tangents` are its products.
        """
        if self._places(plan.mode, plan.version, (*given, plan.vectors)) is None:
            return None
        vectors = np.zeros((2, *tangents.shape[1:]), tangents.dtype)
        result, version = self._answered("elements", (*given, vectors))
        products = self._main(result)
        places = self._places("elements", version, (*given, vectors))
        found = self._pattern("elements", version, (*given, vectors), products)
        if places is None or found is None:
            return None
        colour = column_colours(found)
        seeds = _seeds(colour, vectors)
        (m, n), width = (found.shape[1], np.size(given[self._argnum])), found.indices.dtype
        part = np.repeat(np.arange(len(places)), np.diff(found.indptr))
        row = found.indices.astype(np.int64)
        numbers = row * n + places[part]  # of the entries, where each is added
        order = np.argsort(numbers, kind="stable")
        entries, firsts = np.unique(numbers[order], return_index=True)
        return Plan(
            "elements",
            len(given),
            version,
            False,
            _key(version, products),
            (m, n),
            int(colour.max(initial=-1)) + 1,
            seeds,
            (entries % n).astype(width),
            np.searchsorted(entries, np.arange(m + 1) * n).astype(width),
            colour[row][order],
            part[order],
            None if len(entries) == len(numbers) else firsts,
        )

    def _places(self, mode: str, version: Version | None, args: tuple[Any, ...]) -> Any:
        """Which elements of the argument are computed with; None where that is not known."""
        if version is None:
            return None
        inputs, target = self._inputs(mode, version, args)[:2]
        graph = version.traced
        known = len(graph.inputs) == len(inputs)
        places = places_of(graph, graph.inputs[target], inputs) if known else None
        return places if places is not None and len(places) else None

    def _inputs(
        self, mode: str, version: Version, args: tuple[Any, ...]
    ) -> tuple[list[Any], int, int]:
        """The arrays of the graph's inputs; which is the argument, which are the vectors."""
        program = self._program(mode, len(args) - 1)
        arguments = program._bind(args, {})
        traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
        (target,) = arguments.numbers_of(check_wanted(arguments, program._transform))
        captured = map(memory, version.captured_arrays())
        return [*traced, *captured], target, len(traced) - 1

    def _pattern(
        self, mode: str, version: Version | None, args: tuple[Any, ...], products: Any
    ) -> Any:
        """Which elements of a product depend on which of a vector, the last of the arguments."""
        if version is None:
            return None
        inputs, _, last = self._inputs(mode, version, args)
        inputs[last] = args[-1][:1].repeat(2, 0)
        graph = version.differentiated
        if len(graph.inputs) != len(inputs):
            return None
        return pattern(graph, graph.inputs[last], inputs, products.shape[1:])

    def _plan(
        self,
        mode: str,
        version: Version | None,
        vectors: Any,
        products: Any,
        given: tuple[Any, ...],
    ) -> Plan:
        """The plan for a version; these vectors and products have the shapes of the call's."""
        found = self._pattern(mode, version, (*given, vectors), products)
        n, m = (int(np.prod(x.shape[1:])) for x in (vectors, products))
        dense = found is None
        if found is None:
            found = _csr_of(np.ones((m, n), bool))
        if self._kind == "hessian":
            found = (found + found.T).tocsr()
        colour = column_colours(found)
        if self._kind == "hessian" and colour.max(initial=0) > 2:
            star = star_colours(found)
            colour = star if star.max() < colour.max() else colour
        entries = found if mode == "forward" else found.T.tocsr()
        entries.sort_indices()
        rows = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
        columns = entries.indices
        place: Any = rows if mode == "forward" else columns
        unit: Any = columns if mode == "forward" else rows
        if self._kind == "hessian":
            swapped = mirrored(entries, colour)
            place, unit = np.where(swapped, unit, place), np.where(swapped, place, unit)
        return Plan(
            mode,
            len(given),
            version,
            dense,
            _key(version, products),
            entries.shape,
            int(colour.max(initial=-1)) + 1,
            _seeds(colour, vectors),
            columns,
            entries.indptr,
            colour[unit],
            place,
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


def _key(version: Version | None, products: Any) -> Key:
    """What a pattern is kept for, beside its version and the arguments."""
    captured = () if version is None else map(memory, version.captured_arrays())
    return (products.shape[1:], *map(_told, captured))


def _seeds(colour: Any, vectors: Any) -> Any:
    """The sum of unit vectors of each colour, of the shape of these vectors."""
    count = int(colour.max(initial=-1)) + 1
    seeds = np.zeros((max(count, 2), len(colour)), vectors.dtype)  # one would be another version
    seeds[colour, np.arange(len(colour))] = 1.0
    return seeds.reshape(len(seeds), *vectors.shape[1:])


def _told(leaf: Any) -> Any:
    """What of an argument a pattern is kept for: its shape, and whole numbers."""
    array = leaf if isinstance(leaf, np.ndarray | np.generic) else np.asarray(leaf)
    whole = array.dtype.kind in "iub"
    return (array.shape, array.dtype.char, array.tobytes()) if whole else array.shape


def _csr(entries: Any, plan: Plan) -> Any:
    from scipy import sparse

    return sparse.csr_array((entries, plan.columns, plan.starts), shape=plan.shape)


def _csr_of(array: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(array)
