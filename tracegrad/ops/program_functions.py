"""The functions and imports that spellings use, for the programs that need them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any


class Texts(Mapping[str, str]):
    """The sources of functions by their names in programs, read from their files when asked for.

    An import is its source; its name is the last word.
    """

    def __init__(self, needed: Iterable[Callable[..., Any] | str]) -> None:
        self.needed = {_name(x): x for x in needed}

    def __getitem__(self, name: str) -> str:
        needed = self.needed[name]
        return needed if isinstance(needed, str) else text_of(needed, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.needed)

    def __len__(self) -> int:
        return len(self.needed)


def _name(needed: Callable[..., Any] | str) -> str:
    if isinstance(needed, str):
        return needed.rpartition(" ")[2]
    return needed.__name__.removesuffix("_jax")


@cache
def text_of(function: Callable[..., Any], name: str) -> str:
    """The source of a function, under this name."""
    text = inspect.getsource(function).replace("  # noqa: F821", "")
    return text.replace(f"def {function.__name__}(", f"def {name}(", 1)


def apart_in_xla(text: str) -> str:
    """An expression of JAX's whose value XLA does not simplify together with what reads it.

    An array that is written as a whole becomes a `map` in XLA, and XLA ends the process where such
    a one with a number or zeros in it is reversed: ``x.at[...].set(0.0)[::-1]``.
    """
    return f"jax.lax.optimization_barrier({text})"


def needs(numpy: tuple[Any, ...] = (), jax: tuple[Any, ...] = ()) -> dict[str, Texts]:
    """The attribute `needs` of a record whose spellings use these functions and imports.

    Each target has its own; functions for JAX have names that end in ``_jax``.
    """
    return {"numpy": Texts(numpy), "jax": Texts(jax)}
