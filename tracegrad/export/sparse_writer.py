"""Writes a sparse derivative as one Python file that needs NumPy and SciPy alone.

The file has the program of the products, as any exported function, and behind it a function under
the name of the user's, which puts the products together to matrices. Where the entries are, and in
which products, stands in the file: it is for arguments of the shapes of that call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tracegrad.compiled.version import Version
from tracegrad.export.constants import array_text
from tracegrad.export.writer import INDENT, Callee, File, write
from tracegrad.values.pytree import Item, TreeSpec, flatten, leaf_paths, path_text

MATRIX = '''
def _matrix(entries, columns, starts, shape, dtype):
    """A sparse matrix of these entries, in memory of its own."""
    parts = entries.astype(dtype, copy=False), columns.copy(), starts.copy()
    return {sparse}.csr_array(parts, shape=shape)
'''
ALIKE = '''
def _expect_alike(array, text, shape, numbers=None):
    """Raises unless an argument has the shape, and the whole numbers, that the pattern is for."""
    if np.shape(array) != shape:
        raise ValueError(
            f"{text} has shape {np.shape(array)}: this file is for {shape}, export again for others"
        )
    if numbers is not None and not np.array_equal(array, numbers):
        raise ValueError(f"{text} has other whole numbers than this file is for: export again")
'''


@dataclass(frozen=True)
class Matrix:
    """A block: which of all entries it has (None: all), its pattern, and its dtype (None: any)."""

    chosen: Any
    columns: Any
    starts: Any
    shape: tuple[int, int]
    dtype: Any


@dataclass(frozen=True)
class Compressed:
    """How products become matrices."""

    what: str  # "sparse Jacobian: 3 x 4, ..."
    arguments: TreeSpec  # the structure of all
    leaves: Sequence[tuple[tuple[int, ...], Any]]  # their shapes, and whole numbers; None: floats
    vectors: Any
    product: Any  # in which each entry stands
    place: Any  # and where
    sums: Any  # where several are added up: of which each is the first; None: nowhere
    blocks: Sequence[Matrix]
    structures: tuple[TreeSpec, TreeSpec]  # of the results, and of the arguments in each place
    products: TreeSpec
    has_aux: bool


def write_sparse(place: Path, callee: Callee, version: Version, how: Compressed) -> Path:
    """Writes the file, and the arrays beside it where they are large; returns its path."""
    return write(place, callee, version, partial(_SparseFile, how=how))


class _SparseFile(File):
    """The file of the products, and what makes matrices of them."""

    suffix = "_products"

    def __init__(
        self, callee: Callee, version: Version, place: Path, after: str = "", *, how: Compressed
    ) -> None:
        super().__init__(callee, version, place, after)
        self.how = how
        self.seeds = self.names.wish("_seeds")

    @property
    def needs(self) -> str:
        return f"{super().needs.removesuffix(' and SciPy')} and SciPy"

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "sparse": self.public, "seeds": self.seeds}

    def behind(self) -> list[str]:
        sparse = self.literals.imported("scipy", "sparse")
        self.functions |= {"_matrix": MATRIX.format(sparse=sparse), "_expect_alike": ALIKE}
        return [*self._seeds(), *self._matrices()]

    def _array(self, name: str, array: Any) -> str:
        """The variable of the file that holds an array."""
        variable = self.names.wish(name)
        text = array_text(np.asarray(array))
        if text is None:
            self.read.append(self._beside(variable, np.asarray(array)))
        else:
            self.texts.constants.append(f"{variable} = {text}")
        return variable

    def _seeds(self) -> list[str]:
        """The function that makes the vectors: a sum of unit vectors for each product."""
        leaves, spec = flatten(self.how.vectors)
        whole = np.concatenate([np.reshape(x, (len(x), -1)) for x in leaves], axis=1)
        colours = self._array("colours", whole.argmax(axis=0))
        parts, start = [], 0
        for x in leaves:
            size = int(np.prod(x.shape[1:]))
            part = f"vectors[:, {start} : {start + size}]" if len(leaves) > 1 else "vectors"
            part += f".reshape({', '.join(map(str, x.shape))})" if x.ndim != 2 else ""
            parts.append(part if x.dtype == float else f"{part}.astype(np.{x.dtype.name})")
            start += size
        return [
            f"\n\ndef {self.seeds}():",
            f'{INDENT}"""The vectors of the products, each a sum of unit vectors."""',
            f"{INDENT}vectors = np.zeros({whole.shape})",
            f"{INDENT}vectors[{colours}, np.arange({whole.shape[1]})] = 1.0",
            f"{INDENT}return {self.literals.structure(spec, iter(parts))}",
        ]

    def _matrices(self) -> list[str]:
        """The function that is exported."""
        how = self.how
        product, place = self._array("product", how.product), self._array("place", how.place)
        *own, _ = self.parameters
        given = ", ".join([p.name for p in own])
        left = "products, aux" if how.has_aux else "products"
        lines = [*self._checks(), f"{left} = {self.name}({given}, {self.seeds}())"]
        texts = [path_text("products", path) for path in leaf_paths(how.products)]
        count = len(flatten(how.vectors)[0][0])
        flat = [f"{text}.reshape({count}, -1)" for text in texts]
        whole = flat[0] if len(flat) == 1 else f"np.concatenate([{', '.join(flat)}], axis=1)"
        lines.append(f"entries = {whole}[{product}, {place}]")
        if how.sums is not None:
            lines.append(f"entries = np.add.reduceat(entries, {self._array('sums', how.sums)})")
        blocks = []
        for block in how.blocks:
            entries = "entries"
            if block.chosen is not None:
                entries = f"entries[{self._array('chosen', block.chosen)}]"
            columns, starts = (
                self._array("columns", block.columns),
                self._array("starts", block.starts),
            )
            dtype = f"np.{block.dtype.name}" if block.dtype is not None else "entries.dtype"
            blocks.append(f"_matrix({entries}, {columns}, {starts}, {block.shape}, {dtype})")
        found = self._structured(blocks)
        lines.append(f"return {found}, aux" if how.has_aux else f"return {found}")
        return [
            f"\n\ndef {self.public}({given}):",
            f'{INDENT}"""{how.what} ({self.where})."""',
            *(INDENT + line for line in lines),
        ]

    def _checks(self) -> Iterator[str]:
        """The statements that refuse arguments of other shapes or whole numbers."""
        names = [p.name for p in self.parameters]
        paths = leaf_paths(self.how.arguments)
        for (shape, numbers), (step, *rest) in zip(self.how.leaves, paths, strict=True):
            assert isinstance(step, Item)
            assert isinstance(step.key, int)  # arguments are a tuple
            text = path_text(names[step.key], tuple(rest))
            parts = [text, json.dumps(text), repr(shape)]
            if numbers is not None:
                parts.append(self._array("numbers", numbers))
            yield f"_expect_alike({', '.join(parts)})"

    def _structured(self, blocks: Sequence[str]) -> str:
        outer, inner = self.how.structures
        width = len(leaf_paths(inner))
        rows = [
            self.literals.structure(inner, iter(blocks[i : i + width]))
            for i in range(0, len(blocks), width)
        ]
        return self.literals.structure(outer, iter(rows))
