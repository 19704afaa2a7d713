"""Writes the source of a module for an optimized graph and a target: header, imports, functions.

The program is one function, and for large arrays a second one with the regions that it runs tile by
tile (`codegen.passes.fuse`).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from codegen.emit.block_kernels import BlockKernel
from codegen.emit.control_flow import FunctionEmitter
from codegen.emit.elements import speaks_of_elements
from codegen.emit.functional_loops import FunctionalEmitter, donated_by
from codegen.emit.header import header
from codegen.emit.imports import Needs
from codegen.emit.loop_kernels import LoopKernel
from codegen.emit.numba import (
    KernelLanguage,
    functions_of,
    imports,
    speaks,
    with_typed_lists,
    write_kernel,
)
from codegen.emit.python_floats import with_python_floats
from codegen.emit.small_arrays import speaks_of_arrays, with_elements
from codegen.emit.target import Kernel, Large, Source, Target
from codegen.emit.typed_literals import Constants
from codegen.emit.workspace import make_room
from codegen.emit.writer import WIDTH, Names, Writer
from codegen.ir import Call, Graph, Origin, Value, walk
from codegen.passes.distribute import distribute
from codegen.passes.fuse import COMPILED, HELPERS, Tiled, fuse
from codegen.passes.outline import Kind, outline
from codegen.spelling import Foreign


def write(graph: Graph, target: Target) -> Source:
    """The source: header, imports, function. Large arrays have source of their own."""
    return _with_kernels_if_any(graph, target, _write_by_size)


def _write_by_size(graph: Graph, target: Target) -> Source:
    floats = with_python_floats(graph) if target.python_floats else graph
    source = _write_for_sizes(floats, target)
    if floats is graph:
        return source
    return replace(source, of_numpys=lambda: _write_for_sizes(graph, target))


def _write_for_sizes(graph: Graph, target: Target) -> Source:
    tiled = fuse(graph) if target.tiles else None
    source = _write([Form([graph], tiled)], target)
    if tiled is None:
        return source
    large = Large(tiled.name, tiled.sizes, lambda: _write([Form(tiled.functions, tiled)], target))
    return replace(source, large=large)


def write_whole(graph: Graph, target: Target) -> Source:
    """One source that has both."""
    return _with_kernels_if_any(graph, target, _write_at_once)


def _write_at_once(graph: Graph, target: Target) -> Source:
    graph = with_python_floats(graph) if target.python_floats else graph
    tiled = fuse(graph) if target.tiles else None
    return _write([Form([graph, *(tiled.functions if tiled else ())], tiled)], target)


def _with_kernels_if_any(
    graph: Graph, target: Target, otherwise: Callable[[Graph, Target], Source]
) -> Source:
    """The source with kernels; without, where there are none or one cannot be written."""
    if not target.kernels:
        return otherwise(graph, target)
    try:
        source = _with_kernels(graph, target)
    except Exception as error:  # a mistake in what writes kernels: NumPy source needs none
        why = f"{type(error).__name__}: {error}"
        return replace(otherwise(graph, target), no_kernels=why)
    return source or otherwise(graph, target)


KINDS = (
    Kind(speaks, lambda kernel: distribute(with_typed_lists(kernel), KernelLanguage())),
    Kind(
        lambda graph, node: speaks(graph, node) or speaks_of_arrays(graph, node),
        with_elements,
        True,
    ),
)
"""Loops over numbers, and over small arrays."""


@dataclass(frozen=True)
class Form:
    """The functions of a graph, the whole first; `tiled` where that goes over to another."""

    functions: Sequence[Graph]
    tiled: Tiled | None = None
    blocks: Sequence[BlockKernel] = ()

    def is_dense(self, function: Graph) -> bool:
        """Whether a function is a region."""
        tiled = self.tiled
        return tiled is not None and function.name not in (tiled.plain.name, tiled.name)


def _with_kernels(graph: Graph, target: Target) -> Source | None:
    """The source whose loops and elementwise regions are kernels; None where there are none."""
    program, outlined = outline(graph, KINDS)
    loops = [each.kernel for each in outlined if not each.kind.chooses]
    choices = [LoopKernel(each.body, each.kernel) for each in outlined if each.kind.chooses]
    form = _with_regions(program, graph)
    if form is None and not outlined:
        return None
    others = [_with_regions(c.plain, c.plain) or Form([c.plain]) for c in choices]
    return _write([form or Form([program]), *others], target, loops, choices)


def _with_regions(outlined: Graph, graph: Graph) -> Form | None:
    """A graph whose elementwise regions are kernels, which are called after the program."""
    tiled = fuse(outlined, speaks_of_elements)
    if tiled is None:
        return None
    program, *bodies = tiled.functions
    if tiled.always:  # the program itself has this form
        program = program.replace(name=graph.name)
    calls = [n for n in walk(program.nodes) if isinstance(n, Call) and n.op is COMPILED]
    compiled = [call.attribute("body") for call in calls]
    blocks = [BlockKernel(body, graph) for body in bodies if body in compiled]
    others = [body for body in bodies if body not in compiled]
    return Form([*([] if tiled.always else [outlined]), program, *others], tiled, blocks)


def _write(
    forms: Sequence[Form],
    target: Target,
    loops: Sequence[Graph] = (),
    choices: Sequence[LoopKernel] = (),
) -> Source:
    """The source of the functions of some graphs, that of the program first.

    The graphs `loops` are kernels; each of the `choices` runs one, or the graph of a later form.
    """
    tiled = forms[0].tiled
    blocks = [block for form in forms for block in form.blocks]
    functions = [function for form in forms for function in form.functions]
    graph = functions[0]
    writer: Writer[Origin] = Writer()
    regions = [block.plain for block in blocks]
    dense = {f for form in forms for f in form.functions if form.is_dense(f)}.union(regions)
    plain = {form.tiled.plain: form.tiled for form in forms if form.tiled}
    functions += regions
    needs = Needs(functions, target, HELPERS, ("in_tiles", "in_parts") if blocks else ())
    donated = donated_by(graph) if target.checks_returned else ()
    partial = ["from functools import partial"] if graph.room or donated else []
    called = functions_of([*loops, *(choice.kernel for choice in choices)])
    named = sorted({*called, *(name for block in blocks for name in block.functions)})
    for_kernels = imports(named) if loops or blocks or choices else []
    for line in in_groups((*target.imports, *needs.imports, *partial, *for_kernels)):
        writer.line(line)
    foreign = _foreign_names(graph, needs)
    names: dict[Value, str] = {}
    needed: str | None = None
    constants = Constants() if target.constants else None
    compiled = [loop.name for loop in loops]
    compiled += [name for choice in choices for name in choice.called]
    compiled += [name for block in blocks for name in block.called]
    known = {**needs.called, **{name: name for name in compiled}}
    kernels: list[Kernel] = []
    for at, function in enumerate(functions):
        for choice in choices if at == len(forms[0].functions) else ():
            _apart(writer)
            choice.write_choice(writer)
            _apart(writer)
            kernels.append(choice.write(writer))
        _apart(writer)
        names_of_others = known, foreign, constants
        kind = FunctionalEmitter if target.checks_returned else FunctionEmitter
        emitter = kind(function, target, writer, *names_of_others, function in dense)
        start = len(writer.lines)
        emitter.function(plain.get(function))
        if target.inplace and function not in dense:
            bindings = emitter.bound, emitter.over, emitter.spellings
            room = make_room(function, writer, start, *bindings)
            whole = function is graph if tiled is None else function is tiled.plain
            needed = room if whole else needed
        names = {**emitter.variable, **names}
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
        source = Source(below, graph.name, target.name, calls, marks=more)
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
    for node in graph.all_nodes:
        for _, attribute in node.attributes if isinstance(node, Call) else ():
            if isinstance(attribute, Foreign) and attribute not in found:
                found[attribute] = names.wish(attribute.name)
    return found
