"""Writes the header of a program: what it is valid for, reads and saves, in the program's names.

First what the client says of the program (`Graph.about`), then what only the finished program
tells: one function a fact in `FACTS`, each a title and its lines. A pass that plans memory adds
what it planned as a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from codegen.array_bytes import bytes_of, bytes_text
from codegen.emit.statements import body_of, is_machine_code
from codegen.ir import Call, Graph, Loop, Trait, Value
from codegen.sizes import as_python
from codegen.types import ArrayType

MOST = 20  # variables of one type that are named
Names: TypeAlias = "Mapping[Value, str]"
Fact: TypeAlias = "Callable[[Graph, Names], tuple[str, Sequence[str]]]"


def header(graph: Graph, names: Names, needed: str | None = None) -> list[str]:
    """The lines of the comment at the top; none for a program that its client says nothing of.

    `needed` is the memory that the program needs beside its arguments, where that is known.
    """
    lines = graph.about.splitlines()
    for fact in FACTS if lines else ():
        title, found = fact(graph, names)
        lines += [title, *(f"    {line}" for line in found)] if found else []
    return [*lines, f"Needs {needed} beside its arguments"] if lines and needed else lines


def saved(graph: Graph) -> dict[Value, str]:
    """Arrays that are kept for a later section, with the section: none of them is an input.

    A view keeps the whole array that it shows. Nothing is said of a graph with loops, whose turns
    keep as much again.
    """
    found: dict[Value, str] = {}
    if any(isinstance(node, Loop) for node in graph.all_nodes):
        return found
    for node in graph.all_nodes:
        section = node.results[0].origin.section if isinstance(node, Call) else ""
        for value in node.operands if section else ():
            made = graph.producer.get(value)
            while isinstance(made, Call) and made.memory is Trait.VIEW:
                value = made.operands[0]
                made = graph.producer.get(value)
            array = isinstance(made, Call) and Trait.EXTENT not in made.op.traits
            if array and value.origin.section != section:
                found.setdefault(value, section)
    place = {result: i for i, node in enumerate(graph.all_nodes) for result in node.results}
    return {value: found[value] for value in sorted(found, key=place.__getitem__)}


def _saves(graph: Graph, names: Names) -> tuple[str, list[str]]:
    """What is kept, by variable, type and, where the lengths are known, bytes."""
    by_section = saved(graph)
    kept = {value: names[value] for value in by_section if value in names}
    groups: dict[str, list[str]] = {}
    total: int | None = 0
    for value, name in kept.items():
        groups.setdefault(type_text(graph, value.type), []).append(name)
        size = bytes_of(graph.sizes, value.type, {})
        total = None if size is None or total is None else total + size
    lines = [f"{_listed(found)}: {type_}" for type_, found in groups.items()]
    sections = dict.fromkeys(by_section.values())
    title = f"Saves for the {' and the '.join(sections)}"
    return f"{title}, {bytes_text(total)}" if total else title, lines


def _listed(names: Sequence[str]) -> str:
    """Names with commas; of very many the first."""
    unique = list(dict.fromkeys(names))
    more = len(unique) - MOST
    return ", ".join(unique) if more <= 1 else f"{', '.join(unique[:MOST])} and {more} more"


def type_text(graph: Graph, type: ArrayType) -> str:
    """A dtype and a shape, free lengths as symbols."""
    shape = [as_python(graph.sizes.resolve(dim)) for dim in type.shape]
    return f"{type.dtype} ({', '.join(shape)}{',' if len(shape) == 1 else ''})"


def _fused(graph: Graph, names: Names) -> tuple[str, list[str]]:
    """The regions that run in functions of their own, with what each works on."""
    lines, compiled = [], False
    for call, body in _bodies(graph):
        if not isinstance(body.nodes[-1], Loop):
            calls = [n for n in body.nodes if isinstance(n, Call)]
            whole = next(v.type for n in calls for v in n.results if v.type.shape)
            shape = type_text(graph, whole).partition(" ")[2]
            lines.append(f"{body.name}: {len(calls)} operations, arrays of shape {shape}")
            compiled = compiled or is_machine_code(call)
    how = "as machine code" if compiled else "in place"
    return f"Fused, {how} and from 1 MiB an array on in tiles on all cores", lines


def _compiled(graph: Graph, names: Names) -> tuple[str, list[str]]:
    """The loops that run as machine code."""
    kernels = [body.name for _, body in _bodies(graph) if isinstance(body.nodes[-1], Loop)]
    return "Loops that numba compiles", kernels


def _bodies(graph: Graph) -> Iterator[tuple[Call, Graph]]:
    """The calls of functions of the program's own, with these."""
    for node in graph.all_nodes:
        body = body_of(node) if isinstance(node, Call) else None
        if body is not None:
            assert isinstance(node, Call)
            yield node, body


def _fast_math(graph: Graph, names: Names) -> tuple[str, list[str]]:
    """That it does not have eager's bits."""
    said = "fast math: sums and products are regrouped"
    return "Rounds otherwise than eager calls", [said] if graph.fast_math else []


FACTS: tuple[Fact, ...] = (_saves, _fused, _compiled, _fast_math)
