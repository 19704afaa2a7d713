"""The source of functions that spellings call, for the programs that need it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any


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


def apart_in_xla(text: str) -> str:
    """An expression of JAX's whose value XLA does not simplify together with what reads it.

    An array that is written as a whole becomes a `map` in XLA, and XLA ends the process where such
    a one with a number or zeros in it is reversed: ``x.at[...].set(0.0)[::-1]``.
    """
    return f"jax.lax.optimization_barrier({text})"


def needs(numpy: tuple[Any, ...] = (), jax: tuple[Any, ...] = ()) -> dict[str, Texts]:
    """The attribute `needs` of a record whose spellings call these functions.

    Each target has functions of its own; those for JAX have names that end in ``_jax``.
    """
    return {"numpy": Texts(numpy), "jax": Texts(jax)}
