"""Functions enter, the texts of them that programs need leave; and the lengths of windows.

A window of `kernel` elements, which are `dilation` apart, covers its *span* of an axis.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim, SizeError, Sizes
from codegen.types import ShapeError


class Texts(Mapping[str, str]):
    """The texts of functions by their names in programs, read from their files when asked for."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self.functions = {f.__name__.removesuffix("_jax"): f for f in functions}

    def __getitem__(self, name: str) -> str:
        return text_of(self.functions[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)


@cache
def text_of(function: Callable[..., Any], name: str) -> str:
    """The text of a function, under this name."""
    text = inspect.getsource(function).replace("  # noqa: F821", "")
    return text.replace(f"def {function.__name__}(", f"def {name}(", 1)


def needs(numpy: tuple[Any, ...] = (), jax: tuple[Any, ...] = ()) -> dict[str, Texts]:
    """The attribute `needs` of a record whose spellings call these functions.

    Each target has functions of its own; those for JAX have names that end in ``_jax``.
    """
    return {"numpy": Texts(numpy), "jax": Texts(jax)}


# -- lengths ------------------------------------------------------------------------------------


def span_of(kernel: Dim, dilation: int) -> Dim:
    """How many elements lie between the first and the last of a window, both included."""
    return sz.add(sz.mul([dilation, kernel]), 1 - dilation)


def kernel_of(span: Dim, dilation: int) -> Dim:
    """How many elements a window has."""
    return sz.slice_length(span, slice(None, None, dilation))


def count_of(sizes: Sizes, length: Dim, span: Dim, stride: int, shapes: str) -> Dim:
    """How many windows fit into a length; raises where none does."""
    starts = sz.add(length, sz.mul([-1, span]), 1)
    try:
        if sizes.value(sizes.resolve(starts)) < 1:
            raise ShapeError(f"{shapes}: a window of {sizes.value(span)} is longer than the axis")
    except SizeError:
        pass  # the lengths have no values here
    return sz.slice_length(sizes.resolve(starts), slice(None, None, stride))
