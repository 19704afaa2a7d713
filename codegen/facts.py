"""What is computed of a graph once, and known from then on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from codegen.ir import Graph

_Fact = TypeVar("_Fact")


def once_for_each_graph(find: Callable[[Graph], _Fact]) -> Callable[[Graph], _Fact]:
    """A function of a graph that computes what it gives once, for graphs never change."""
    name = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def found(graph: Graph) -> _Fact:
        known = graph.__dict__  # where cached properties are kept as well
        if name not in known:
            known[name] = find(graph)
        fact: _Fact = known[name]
        return fact

    return found
