"""A compiled version enters; its entry function leaves: all guards and the program in one call.

The entry takes a call's positional arguments and either returns the result or `MISS`. It tests what
the version is keyed on (structure, types, dtypes, ranks, static values) and what its trace assumed
about lengths, in one condition of plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.load import load
from codegen.sizes import Dim, Size
from tracegrad.signature import Leaf, is_plain
from tracegrad.tensor import Tensor
from tracegrad.tree import check_text, path_text
from tracegrad.version import Version


class _Miss:
    def __repr__(self) -> str:
        return "MISS"


MISS = _Miss()
"""What an entry returns when its version does not stand for this call."""


def entry_source(
    version: Version,
    values: Sequence[Any],
    given: int,
    run: Callable[..., Any] | None = None,
    guards: Sequence[tuple[Any, Any]] = (),
) -> tuple[str, dict[str, Any]]:
    """The text of the entry for calls with `given` positional arguments, and what it refers to.

    `values` are all the arguments of such a call: those that it did not give are defaults. `run` is
    a function that takes the place of the program, under these further `guards` of lengths; what it
    returns is returned as it is.
    """
    arguments = version.arguments
    names: dict[str, Any] = {
        "program": version.run if run is None else run,
        "MISS": MISS,
        "ndarray": np.ndarray,
        "arrays": version.program.run.accepts if version.target == "jax" else (np.ndarray,),
    }
    parameters = [_parameter(i) for i in range(len(arguments.parameters))]
    lines = ["def entry(args):", f"    if len(args) != {given}:", "        return MISS"]
    if given:
        lines.append(f"    {', '.join(parameters[:given])}{',' if given == 1 else ''} = args")
    for name, value in list(zip(parameters, values, strict=True))[given:]:
        names[name] = value
    names["unchanged"] = version.unchanged
    conditions = [*_conditions(version, given, names), "unchanged()"]
    lines.append(f"    if not ({' and '.join(conditions)}):")
    lines.append("        return MISS")
    for i, captured in enumerate(version.captured):
        lines.append(f"    captured_{i} = {captured.text(names)}")
    late = [*_captured_conditions(version, names), *_length_conditions(version, guards, names)]
    if late:
        lines.append(f"    if not ({' and '.join(late)}):")
        lines.append("        return MISS")
    passed = [f"{captured.name}=captured_{i}" for i, captured in enumerate(version.captured)]
    if version.takes_leaves:
        plain = [_read(leaf, names) for leaf in arguments.leaves if leaf.traced]
    else:
        plain = parameters
    call = f"program({', '.join([*plain, *passed])})"
    if version.built and run is None:
        names["finish"] = version.finish
        call = f"finish({call})"
    if version.checked:
        lines += [
            "    try:",
            f"        return {call}",
            "    except LookupError as error:",
            "        if type(error) is LookupError:",
            "            return MISS",
            "        raise",
        ]
    else:
        lines.append(f"    return {call}")
    return "\n".join(lines) + "\n", names


def _parameter(index: int) -> str:
    """A parameter's name in the entry: the user's could be ``len`` or ``program``."""
    return f"argument_{index}"


def _read(leaf: Leaf, names: dict[str, Any]) -> str:
    """Python that reads a leaf of the arguments, over names that are added to `names`."""
    return path_text(_parameter(leaf.parameter), leaf.path, names)


def entry(
    version: Version,
    values: Sequence[Any],
    given: int,
    run: Callable[..., Any] | None = None,
    guards: Sequence[tuple[Any, Any]] = (),
) -> Any:
    """The loaded entry; see `entry_source`."""
    text, names = entry_source(version, values, given, run, guards)
    return load(text, "entry", names)


def _conditions(version: Version, given: int, names: dict[str, Any]) -> list[str]:
    arguments = version.arguments
    conditions: list[str] = []
    for i, spec in enumerate(arguments.specs):
        if i < given and spec.type is not None:
            found, _ = check_text(spec, _parameter(i), names, leaves=False, ordered=True)
            conditions += found
    for leaf in arguments.leaves:
        if leaf.parameter >= given:
            continue
        text = _read(leaf, names)
        match leaf.kind:
            case ("array", str(dtype), int(ndim)):
                names[f"dtype_{dtype}"] = np.dtype(dtype)
                one_of = "is ndarray" if version.target == "numpy" else "in arrays"
                conditions.append(f"type({text}) {one_of}")
                conditions.append(f"{text}.dtype is dtype_{dtype}")
                conditions.append(f"{text}.ndim == {ndim}")
            case ("scalar", str(dtype)):
                names[f"scalar_{dtype}"] = np.dtype(dtype).type
                conditions.append(f"type({text}) is scalar_{dtype}")
            case ("number", kind):
                conditions.append(f"type({text}) is {kind}")
            case ("static", type_, _):
                key = f"static_{len(names)}"
                names[key] = leaf.value
                names[f"{key}_type"] = type_
                conditions.append(f"type({text}) is {key}_type")
                constant = leaf.value is None or isinstance(leaf.value, bool)
                plain = is_plain(leaf.value) and not constant
                if type_ is tuple and all(map(is_plain, leaf.value)):  # (1,) == (True,)
                    plain, names[f"{key}_types"] = True, tuple(map(type, leaf.value))
                    conditions.append(f"(*map(type, {text}),) == {key}_types")
                conditions.append(f"{text} {'==' if plain else 'is'} {key}")
    return conditions


def _captured_conditions(version: Version, names: dict[str, Any]) -> list[str]:
    """What is read from outside may be another array by now."""
    conditions = []
    for i, captured in enumerate(version.captured):
        if captured.source is not None or isinstance(captured.holder, Tensor):
            names[f"dtype_{captured.dtype}"] = np.dtype(captured.dtype)
            conditions.append(f"type(captured_{i}) is ndarray")
            conditions.append(f"captured_{i}.dtype is dtype_{captured.dtype}")
            conditions.append(f"captured_{i}.ndim == {captured.ndim}")
    return conditions


def _length_conditions(
    version: Version, guards: Sequence[tuple[Any, Any]], names: dict[str, Any]
) -> list[str]:
    arguments = version.arguments
    texts: dict[str, str] = {}
    reads = [_read(leaf, names) for leaf in arguments.leaves if leaf.traced]
    reads += [f"captured_{i}" for i in range(len(version.captured))]
    for name, (index, axis) in version.symbols.items():
        texts[name] = f"{reads[index]}.shape[{axis}]"
    every = dict.fromkeys([*version.guards, *guards])
    return [f"{dim_text(a, texts)} == {dim_text(b, texts)}" for a, b in every]


def dim_text(dim: Dim, texts: dict[str, str]) -> str:
    """A length as Python over the texts of its symbols."""
    if not isinstance(dim, Size):
        return str(dim)
    return " + ".join(
        " * ".join([str(factor)] * (factor != 1 or not atoms) + [_atom(a, texts) for a in atoms])
        for atoms, factor in dim.terms
    )


def _atom(atom: sz.Atom, texts: dict[str, str]) -> str:
    match atom:
        case str():
            return texts[atom]
        case sz.SliceLength(of, start, stop, step):
            return f"len(range(*slice({start}, {stop}, {step}).indices({dim_text(of, texts)})))"
        case sz.Quotient(of, by):
            return f"(({dim_text(of, texts)}) // ({dim_text(by, texts)}))"
