"""The name, the parameters and the header of the program of a tree of paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os.path import basename
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from codegen.ir import Frame, Graph, Value
from codegen.sizes import Sizes, as_python, equality_as_python, limits, symbol
from codegen.types import kind
from tracegrad.arguments.argument_changes import ArgumentStore
from tracegrad.arguments.signature import Arguments, Leaf, name_of
from tracegrad.compiled.traced_run import code_of
from tracegrad.config.compile_mode import Mode
from tracegrad.tracing.outputs import Transform
from tracegrad.tracing.path_tree import Tree
from tracegrad.world import Store, World


def empty_graph(
    tree: Tree,
    function: Any,
    transform: Transform,
    arguments: Arguments,
    mode: Mode,
    holders: Sequence[Any],
    world: World,
) -> Graph:
    """The graph of a tree but for its nodes; `holders` are the arrays captured."""
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    if takes_leaves(arguments, mode.target):
        names = _unique([arguments.name_of(leaf) for leaf in traced])
        parameters, reads = tuple(names), tuple(names)
    else:
        parameters = arguments.parameters
        reads = tuple(_read(arguments, leaf) for leaf in traced)
    stems = [value.origin.name or "constant" for value in tree.captured]
    captures = tuple(_unique([*parameters, *stems])[len(parameters) :])
    made = [not world.is_outside(holder) for holder in holders]
    name = _identifier(name_of(function))
    suffix = "" if transform.kind == "compile" else f"_{transform.kind}"
    inputs = (*tree.inputs, *tree.captured)
    whole = {value: name for name, value in tree.sizes.given.items()}
    lengths = tuple([(i, whole[value]) for i, value in enumerate(inputs) if value in whole])
    return Graph(
        name=name + suffix,
        inputs=inputs,
        nodes=(),
        outputs=(),
        frame=Frame(parameters, (*reads, *captures), captures, lengths=lengths),
        sizes=tree.sizes,
        fast_math=mode.fast_math,
        about=_about(function, transform, arguments, tree, captures, made),
    )


def takes_leaves(arguments: Arguments, target: str) -> bool:
    """Whether a program has a parameter for each array, not for each argument."""
    return target == "jax" or not arguments.has_text


def _read(arguments: Arguments, leaf: Leaf) -> str:
    """How a program reads an argument."""
    text = _double_quoted(arguments, leaf)
    return text if leaf.rows is None else f"np.stack({text})"


def _double_quoted(arguments: Arguments, leaf: Leaf) -> str:
    text = arguments.text_of(leaf)
    return text if '"' in text or "\\" in text else text.replace("'", '"')


def _unique(names: Sequence[str]) -> list[str]:
    taken: dict[str, None] = {}
    counts: dict[str, int] = {}  # up to these numbers the names are taken
    for name in names:
        unique = name
        while unique in taken:
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name}_{counts[name]}"
        taken[unique] = None
    return list(taken)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "function"


def _about(
    function: Any,
    transform: Transform,
    arguments: Arguments,
    tree: Tree,
    captures: Sequence[str],
    made: Sequence[bool],
) -> str:
    """The header: what the code is, for which arguments it is valid and what else it reads.

    `made` says of each captured array whether the function itself made it.
    """
    lines = [title(function, transform, arguments), "Valid for"]
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    for leaf, value in zip(traced, tree.inputs, strict=True):
        shown = shown_type(tree, value)
        if leaf.rows is not None:
            length = as_python(tree.sizes.resolve(value.type.shape[0]))
            rows = shown_type(tree, Value(replace(value.type, shape=value.type.shape[1:])))
            shown = f"a {type(leaf.rows).__name__} of {length} arrays, {rows}"
        lines.append(f"    {_double_quoted(arguments, leaf)}: {shown}")
    for leaf in arguments.leaves:
        if leaf.kind[0] == "unread":
            lines.append(f"    {_double_quoted(arguments, leaf)}: not read")
        elif leaf.kind[0] == "object":
            lines.append(f"    {_double_quoted(arguments, leaf)}: any {leaf.kind[1].__name__}")
        elif not leaf.traced:
            lines.append(f"    {_double_quoted(arguments, leaf)}{_shown_value(leaf.value)}")
    for composed, simple in tree.sizes.unsolved.items():
        lines.append(f"    {equality_as_python(composed, simple)}")
    facts = list(zip(captures, tree.captured, made, strict=True))
    outside = [f"    {name}: {shown_type(tree, value)}" for name, value, own in facts if not own]
    if outside:
        lines += ["Reads from outside, by reference", *outside]
    if any(made):
        lines.append("Constants that the function makes")
    for name, value, own in facts:
        if own:
            origin = value.origin
            where = f", read at {origin.file}:{origin.line}" if origin.line else ""
            lines.append(f"    {name}: {shown_type(tree, value)}{where}")
    every = [store for end in tree.ends for store in end.stores]
    for heading, sort in (
        ("Returns besides, to be stored", Store),
        ("Returns besides, to be written to arguments", ArgumentStore),
    ):
        texts = dict.fromkeys(store.text for store in every if isinstance(store, sort))
        lines += [heading, *(f"    {text}" for text in texts)] if texts else []
    told = dict.fromkeys(effect.tells for end in tree.ends for effect in end.effects)
    if told:
        lines += ["Done again after each call, in order", *(f"    {text}" for text in told)]
    return "\n".join(lines)


def _shown_value(value: Any) -> str:
    """What an argument is that is no array; an object by its class, for its address may change."""
    try:
        text = repr(value)
    except Exception:  # the user's own
        text = object.__repr__(value)
    if re.search(r" at 0x[0-9a-f]+>", text):
        named = isinstance(value, type | FunctionType | MethodType | BuiltinFunctionType)
        text = value.__name__ if named else ""
        return f" = {text}" if text else f": this {type(value).__name__}"
    return f" = {text}"


def title(function: Any, transform: Transform, arguments: Arguments, part: str = "all") -> str:
    """What a program is, or its forward or backward alone."""
    code = code_of(function)
    where = f" ({basename(code.co_filename)}:{code.co_firstlineno})" if code is not None else ""
    name = name_of(function)
    names = ", ".join(arguments.parameters[p] for p in transform.positions)
    match part:
        case "forward":
            what = f"value of {name}{where}"
        case "backward":
            what = f"backward of {name}{where} in {names}"
        case _:
            what = transform.described(f"{name}{where}", arguments.parameters)
    return f"Generated by tracegrad: {what}."


def _which(sizes: Sizes, value: Value) -> str:
    """Which numbers an input may be that is a length: one alone, or so many and more."""
    name = sizes.name_of_input(value)
    if name is None:
        return ""
    number = sizes.resolve(symbol(name))
    if isinstance(number, int):
        return f", {number}"
    limited = [found for pair in sizes.guards if (found := limits(*pair)) is not None]
    least = max([low for of, low, high in limited if of == number and high is None], default=0)
    return f", {least} or more" if least else ""


def shown_type(tree: Tree, value: Value) -> str:
    """What an input may be."""
    if value.type.weak:
        return f"a Python {kind(value.type.dtype)}{_which(tree.sizes, value)}"
    shape = ", ".join(as_python(tree.sizes.resolve(dim)) for dim in value.type.shape)
    return f"{value.type.dtype} ({shape}{',' if len(value.type.shape) == 1 else ''})"
