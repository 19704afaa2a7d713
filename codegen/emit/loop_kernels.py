"""Writes the kernels of loops over small arrays, and what chooses between one and NumPy source.

::

    def f_loop(x, a):
        # As machine code, where that is there and arrays are small and in C order.
        if f_loop_kernel and x.size < 1024 and x.flags.c_contiguous:
            value = f_loop_kernel(x, a)
            return np.float64(value)
        return f_loop_in_numpy(x, a)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codegen import sizes as sz
from codegen.emit.length_expressions import Lengths
from codegen.emit.numba import functions_of, numbers_of, write_kernel
from codegen.emit.target import Kernel
from codegen.emit.writer import Names, Writer
from codegen.ir import Graph, Origin, dims_of, ends, walk
from codegen.sizes import Size
from codegen.spelling import COMPARE, Fragment
from codegen.types import LIST

SMALL = 1024
"""Elements from which on an array is not small: ``sum_along`` adds those up otherwise."""


@dataclass
class LoopKernel:
    """The kernel of a part of a program, as it was (`body`) and as machine code (`kernel`)."""

    body: Graph
    kernel: Graph

    def __post_init__(self) -> None:
        name = self.body.name
        self.kernel = self.kernel.replace(name=f"{name}_kernel")
        self.plain = self.body.replace(name=f"{name}_in_numpy")
        self.called = (name, self.plain.name, self.kernel.name)
        self.parameters = dict(zip(self.body.inputs, self.body.frame.parameters, strict=True))

    def write_choice(self, writer: Writer[Origin]) -> None:
        """The function that runs the kernel, or NumPy source."""
        line, given = writer.line, ", ".join(self.parameters.values())
        line(f"def {self.body.name}({given}):")
        writer.depth += 1
        tests = [*self._are_small(), *self._are_in_order()]
        where = ["that is there"]
        if tests:
            where.append("arrays are small and in C order")
        writer.comment(f"As machine code, where {' and '.join(where)}.")
        line(f"if {' and '.join([self.kernel.name, *tests])}:")
        writer.depth += 1
        self._run(writer)
        writer.depth -= 1
        line(f"return {self.plain.name}({given})")
        writer.depth -= 1

    def _are_small(self) -> Iterator[str]:
        """Tests of the lengths."""
        named = [(v, name) for v, name in self.parameters.items() if v.type.shape]
        lengths = Lengths(self.body.sizes, lambda: named, lambda dim: (Fragment(str(dim)), EMPTY))
        for size in _largest(_sizes(self.body)):
            yield f"{lengths.size(size)[0].at(COMPARE + 1)} < {SMALL}"

    def _are_in_order(self) -> Iterator[str]:
        for value, name in self.parameters.items():
            if value.type.shape:
                yield f"{name}.flags.c_contiguous"

    def _run(self, writer: Writer[Origin]) -> None:
        """Calls the kernel, and gives its results NumPy's types."""
        given = ", ".join(numbers_of(value, name) for value, name in self.parameters.items())
        names = Names({*self.parameters.values()})
        outputs = next(ends(self.body.block)).outputs
        shown = []
        for value in outputs:
            shown.append(names.wish(value.origin.name or "value"))
            names.reserved.add(shown[-1])
        writer.line(f"{', '.join(shown)} = {self.kernel.name}({given})")
        texts = [
            name if v.type.shape or v.type.weak else f"np.{v.type.dtype}({name})"
            for v, name in zip(outputs, shown, strict=True)
        ]
        writer.line(f"return {', '.join(texts)}")

    def write(self, writer: Writer[Origin]) -> Kernel:
        """Writes the function of the kernel."""
        functions = {name: name for name in functions_of([self.kernel])}
        kernel = write_kernel(self.kernel, writer, functions)
        return replace(kernel, chosen_by=self.body.name, otherwise=self.plain.name)


EMPTY: frozenset[str] = frozenset()


def _sizes(body: Graph) -> list[Size]:
    """How many elements the arrays have that a part of a program computes."""
    found: dict[Size, None] = {}
    for node in walk(body.nodes):
        for value in node.results:
            if value.type.shape and value.type != LIST:
                size = sz.mul(dims_of(body.sizes, value.type))
                if isinstance(size, Size):
                    found[size] = None
    return list(found)


def _largest(sizes: Sequence[Size]) -> Iterator[Size]:
    """Those that are not a part of another one: not n where there is n * n."""
    for size in sizes:
        if not any(other != size and _is_part(size, other) for other in sizes):
            yield size


def _is_part(size: Size, other: Size) -> bool:
    if len(size.terms) != 1 or len(other.terms) != 1:
        return False
    ((atoms, factor),), ((more, by),) = size.terms, other.terms
    return factor <= by and all(atoms.count(atom) <= more.count(atom) for atom in atoms)
