"""Writes the parts of statements: names, tuples, the comment that says where a call comes from."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.emit.loop_rows import reads_row
from codegen.ir import Call, Graph, Loop, Node, Origin, Value, ends, walk
from codegen.passes.fuse import COMPILED
from codegen.spelling import Fragment, Spelling


@dataclass(frozen=True, slots=True)
class Shown:
    """How a value reads at this point: source, the variables in it, and whether it is a name."""

    fragment: Fragment
    reads: frozenset[str]
    bound: bool


def leaves_context(reader: Node | None, value: Value) -> bool:
    """Whether a value is read outside of the ``with`` that its own line stands in."""
    within = reader.results[0].origin.within if isinstance(reader, Call) else ""
    return within != value.origin.within


def body_of(call: Call) -> Graph | None:
    """The function of its own that a call runs."""
    return next((value for _, value in call.attributes if isinstance(value, Graph)), None)


def is_machine_code(call: Call) -> bool:
    """Whether the function that a call runs is compiled: a loop, or a region in kernels."""
    body = body_of(call)
    loops = body is not None and isinstance(body.nodes[-1], Loop)
    return loops or call.op is COMPILED


def names_of_outputs(graph: Graph) -> dict[Value, str]:
    """What the ends of paths call the values that they return."""
    found: dict[Value, str] = {}
    for end in ends(graph.block):
        for output, name in zip(end.outputs, end.names, strict=False):
            found.setdefault(output, name)
    return found


def stem_of(call: Call, result: Value) -> str:
    """What a result is called that has no other name: after what makes it."""
    body = body_of(call)
    made = body.producer.get(result) if body else call
    if not isinstance(made, Call):
        return "value"
    return "row" if result.type.shape and reads_row(made) else made.op.name


def origin_of(call: Call) -> Origin:
    """Where a statement comes from; of a function of its own, all the lines in it."""
    body = body_of(call)
    if body is None:
        return call.results[0].origin
    origins = [r.origin for node in walk(body.nodes) for r in node.results if r.origin.line]
    if not origins:
        return Origin()
    file = origins[0].file
    lines = sorted({origin.line for origin in origins if origin.file == file})
    upto = f"to line {lines[-1]}, " if len(lines) > 1 else ""
    parts = dict.fromkeys(origin.section or "forward" for origin in origins)
    how = "as machine code" if is_machine_code(call) else "tile by tile"
    return Origin(file=file, line=lines[0], text=f"{upto}{' and '.join(parts)}, {how}")


def filled_in(line: str, names: list[str]) -> str:
    """A statement with the names of what it makes."""
    if len(names) == 1:
        return line.replace("{}", names[0])
    for name in names:
        line = line.replace("{}", name, 1)
    return line


def tuple_text(texts: list[str]) -> str:
    """A tuple of these."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def returned_text(texts: list[str]) -> str:
    """Several values as a return has them; one is a tuple of its own."""
    return ", ".join(texts) if len(texts) > 1 else tuple_text(texts)


def operand_names(call: Call) -> list[str]:
    """The name in the spelling of each operand; of those that a star takes, the star's."""
    names = list(call.op.operands)
    if names and names[-1].startswith("*"):
        names[-1:] = [names[-1]] * (len(call.operands) - len(names) + 1)
    return names


def reads_of(spelling: Spelling, call: Call, operand: Value) -> int:
    """How often the source of a call reads an operand."""
    return sum(
        spelling.uses.get(name, 0) if not name.startswith("*") else 1
        for name, value in zip(operand_names(call), call.operands, strict=True)
        if value is operand
    )
