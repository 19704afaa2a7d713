"""Writes the source of a module for an optimized graph and a target: header, imports, functions.

The program is one function, and for large arrays a second one with the regions that it runs tile by
tile (`codegen.passes.fuse`).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from codegen.emit.block_kernels import BlockKernel
from codegen.emit.control_flow import FunctionEmitter
from codegen.emit.elements import speaks_of_elements
from codegen.emit.functional_loops import FunctionalEmitter, donated_by
from codegen.emit.header import header
from codegen.emit.imports import Needs
from codegen.emit.numba import KernelLanguage, functions_of, imports, speaks, write_kernel
from codegen.emit.target import Large, Source, Target
from codegen.emit.typed_literals import Constants
from codegen.emit.workspace import make_room
from codegen.emit.writer import WIDTH, Names, Writer
from codegen.ir import Call, Graph, Origin, Value, walk
from codegen.passes.distribute import distribute
from codegen.passes.fuse import COMPILED, HELPERS, Tiled, fuse
from codegen.passes.outline import outline
from codegen.spelling import Foreign


def write(graph: Graph, target: Target) -> Source:
    """The text: header, imports, function. Large arrays have a text of their own."""
    if target.kernels and (source := _with_kernels(graph, target)):
        return source
    tiled = fuse(graph) if target.tiles else None
    source = _write([graph], target, tiled)
    if tiled is None:
        return source
    large = Large(tiled.name, tiled.sizes, lambda: _write(tiled.functions, target, tiled))
    return replace(source, large=large)


def write_whole(graph: Graph, target: Target) -> Source:
    """One text that has both."""
    if target.kernels and (source := _with_kernels(graph, target)):
        return source
    tiled = fuse(graph) if target.tiles else None
    return _write([graph, *(tiled.functions if tiled else ())], target, tiled)


def _with_kernels(graph: Graph, target: Target) -> Source | None:
    """The text whose loops and elementwise regions are kernels; None where there are none."""
    outlined, loops = outline(graph, speaks, lambda kernel: distribute(kernel, KernelLanguage()))
    tiled = fuse(outlined, speaks_of_elements)
    if tiled is None:
        return _write([outlined], target, None, loops) if loops else None
    program, *bodies = tiled.functions
    if tiled.always:  # the program itself has this form
        program = program.replace(name=graph.name)
    calls = [n for n in walk(program.nodes) if isinstance(n, Call) and n.op is COMPILED]
    compiled = [call.attribute("body") for call in calls]
    blocks = [BlockKernel(body, graph) for body in bodies if body in compiled]
    others = [body for body in bodies if body not in compiled]
    functions = [*([] if tiled.always else [outlined]), program, *others]
    return _write(functions, target, tiled, loops, blocks)


def _write(
    functions: Sequence[Graph],
    target: Target,
    tiled: Tiled | None,
    loops: Sequence[Graph] = (),
    blocks: Sequence[BlockKernel] = (),
) -> Source:
    """The text of some functions; that of the whole program goes over to `tiled`, if there is.

    The graphs `loops` are kernels, and `blocks` the regions that have kernels.
    """
    graph = functions[0]
    writer: Writer[Origin] = Writer()
    functions = [*functions, *(block.plain for block in blocks)]
    needs = Needs(functions, target, HELPERS, ("in_tiles", "in_parts") if blocks else ())
    donated = donated_by(graph) if target.checks_returned else ()
    partial = ["from functools import partial"] if graph.room or donated else []
    called = functions_of(loops)
    named = sorted({*called, *(name for block in blocks for name in block.functions)})
    for_kernels = imports(named) if loops or blocks else []
    for line in in_groups((*target.imports, *needs.imports, *partial, *for_kernels)):
        writer.line(line)
    foreign = _foreign_names(graph, needs)
    names: dict[Value, str] = {}
    needed: str | None = None
    constants = Constants() if target.constants else None
    compiled = [*(loop.name for loop in loops), *(b for block in blocks for b in block.called)]
    known = {**needs.called, **{name: name for name in compiled}}
    for function in functions:
        _apart(writer)
        dense = tiled is not None and function.name not in (tiled.plain.name, tiled.name)
        names_of_others = known, foreign, constants
        kind = FunctionalEmitter if target.checks_returned else FunctionEmitter
        emitter = kind(function, target, writer, *names_of_others, dense)
        start = len(writer.lines)
        emitter.function(tiled if tiled and function is tiled.plain else None)
        if target.inplace and not dense:
            bindings = emitter.bound, emitter.over, emitter.spellings
            room = make_room(function, writer, start, *bindings)
            needed = room if tiled is None or function is tiled.plain else needed
        names = {**emitter.variable, **names}
    kernels = []
    for loop in loops:
        _apart(writer)
        kernels.append(write_kernel(loop, writer, {name: name for name in called}))
    for block in blocks:
        _apart(writer)
        block.write_choice(writer, needs.called)
        _apart(writer)
        kernels.append(block.write(writer))
    for text in needs.functions:
        _apart(writer)
        writer.block(text)
    calls = {name: callable_.call for callable_, name in foreign.items()}
    head: Writer[Origin] = Writer()
    for line in header(graph, names, needed):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        for part in textwrap.wrap(line, WIDTH - 2, subsequent_indent=indent):
            head.comment(part)
    (above, marks), (below, more) = head.written(), writer.written()
    if head.lines:
        below, more = above + below, (*marks, *more)
    if constants is None or not constants.named:
        source = Source(below, graph.name, target.name, calls, origins=more)
        looks = target.checks_returned and emitter.looked
        frame = replace(graph.frame, donated=donated)
        narrow, retries = target.narrow(graph, below), graph.room is not None
        source = replace(source, retries=retries, looks=looks, narrow=narrow, frame=frame)
    else:
        text = constants.read(below)
        source = Source(text, graph.name, target.name, calls, below, constants.named, more)
    return replace(source, kernels=tuple(kernels))


def in_groups(imports: Iterable[str]) -> list[str]:
    """Imports in order: Python's own modules, an empty line, others; whole ones before names."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    for line in sorted(dict.fromkeys(imports), key=lambda line: line.startswith("from ")):
        module = line.split()[1].partition(".")[0]
        groups[module in sys.stdlib_module_names].append(line)
    own, others = groups.values()
    return [*own, *([""] if own and others else []), *others]


def _apart(writer: Writer[Origin]) -> None:
    writer.line()
    writer.line()


def _foreign_names(graph: Graph, needs: Needs) -> dict[Foreign, str]:
    """A name for each callable of the client's, which no variable takes."""
    names = Names({graph.name, *needs.called.values(), *graph.frame.parameters})
    found: dict[Foreign, str] = {}
    for node in walk(graph.nodes):
        for _, attribute in node.attributes if isinstance(node, Call) else ():
            if isinstance(attribute, Foreign) and attribute not in found:
                found[attribute] = names.wish(attribute.name)
    return found
