"""Generates the entry function of a compiled version: all guards and the program in one call.

The entry takes a call's positional arguments and either returns the result or `MISS`. It tests what
the version is keyed on (structure, types, dtypes, ranks, static values) and what its trace assumed
about lengths, in one condition of plain Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.load import load
from codegen.sizes import equality_as_python
from tracegrad.arguments.argument_changes import in_c_order, overlapping
from tracegrad.arguments.signature import Arguments
from tracegrad.arguments.stacked_lists import shape_of_rows
from tracegrad.compiled.captured import Captured, memory
from tracegrad.compiled.version import Version
from tracegrad.compiled.written_outside import are_apart, within
from tracegrad.execution.nonfinite import checked
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import template_of
from tracegrad.values.pytree import TreeSpec, check_text, path_text
from tracegrad.values.static_keys import as_key, is_of_parts, is_plain
from tracegrad.world.guards import ITEM, LENGTH
from tracegrad.world.number_inputs import is_number_read


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
    """The source of the entry for calls with `given` positional arguments, and what it refers to.

    `values` are all the arguments of such a call: those that it did not give are defaults, which
    are looked at as well where they can change. All variables have names of the entry's own:
    ``a0`` is the first argument, ``c0`` the first array from outside. `run` is a function that
    takes the place of the program, under these further `guards` of lengths; what it returns is
    returned as it is.
    """
    names = entry_names(version, run)
    parameters = [f"a{i}" for i in range(len(version.arguments.parameters))]
    lines = ["def entry(args, type=type, MISS=MISS, ndarray=ndarray):"]  # locals are faster
    if given:
        lines += _tried([f"        {', '.join(parameters[:given])}{',' * (given == 1)} = args"])
    else:
        lines += _unless(["not args"])
    for name, value in list(zip(parameters, values, strict=True))[given:]:
        names[name] = value
    body = entry_body(version, parameters, given, names, run, guards)
    if LEARNED in names:
        lines.insert(1, f"    global {LEARNED}")
    lines += body
    return "\n".join(lines) + "\n", names


def entry_names(version: Version, run: Callable[..., Any] | None = None) -> dict[str, Any]:
    """What the body of an entry refers to in any case."""
    return {
        "program": version.entry_run if run is None else run,
        "MISS": MISS,
        "ndarray": np.ndarray,
        "arrays": version.program.run.accepts if version.target == "jax" else (np.ndarray,),
        "unchanged": version.asked(version.unchanged),
        "finish": _finisher(version),
    }


def entry_body(
    version: Version,
    parameters: Sequence[str],
    given: int,
    names: dict[str, Any],
    run: Callable[..., Any] | None = None,
    guards: Sequence[tuple[Any, Any]] = (),
    inlined: Sequence[str] | None = None,
    counted: Sequence[str] = (),
) -> list[str]:
    """The lines of an entry whose arguments are in variables of these names.

    It adds to `names` what the lines refer to. `inlined` are lines in place of the call of the
    check of what was read; `counted` are statements between the program and the return.
    """
    arguments = version.arguments
    lines: list[str] = []
    looked_at = arguments.looked_at(given)
    structure: list[str] = []
    for i in sorted(looked_at):
        name, spec = parameters[i], arguments.specs[i]
        if _is_flat(spec):  # to unpack it tells the length
            structure.append(f"type({name}) is {spec.type.__name__}")  # type: ignore[union-attr]
        elif spec.type is not None:
            structure += check_text(spec, name, names, leaves=False, ordered=True)[0]
    lines += _unless(structure)
    leaves: list[str] = []  # the variable of each leaf
    loads: dict[int, list[tuple[str, str]]] = {}  # by parameter
    for i, leaf in enumerate(arguments.leaves):
        text = path_text(parameters[leaf.parameter], leaf.path, names)
        leaves.append(f"leaf{i}" if leaf.path and leaf.parameter in looked_at else text)
        if leaves[-1] != text:
            loads.setdefault(leaf.parameter, []).append((leaves[-1], text))
    unpacked: list[str] = []
    for i, pairs in loads.items():
        if _is_flat(arguments.specs[i]):
            unpacked.append(f"        {', '.join(name for name, _ in pairs)}, = {parameters[i]}")
        elif _is_flat_dict(arguments.specs[i]):
            lines.append(f"    {_by_order(arguments.specs[i], pairs)}, = {parameters[i]}.values()")
        else:
            lines += [f"    {name} = {text}" for name, text in pairs]
    lines += _tried(unpacked)
    lines += _shapes_of_lists(arguments, leaves, names)
    known_by_class = [i for i, leaf in enumerate(arguments.leaves) if leaf.kind[0] == "object"]
    lines += [f"    given{number} = {leaves[i]}" for number, i in enumerate(known_by_class)]
    conditions, of_arrays = _conditions(version, looked_at, leaves, names)
    known = _given_at_once(version, given, leaves, run)
    conditions += [] if known else of_arrays
    if version.grad_enabled is not None:
        names["STATE"] = STATE
        conditions.append(f"STATE.grad_enabled is {version.grad_enabled}")
    if version.assumed is not None:
        names["histories_stand"] = version.asked(version.histories_stand)
        conditions.append(f"histories_stand({objects_text(version)})")
    if version.decisive and version.arguments.tensors is None:  # its results are arrays
        names.update(STATE=STATE, records=version.asked(version.records))
        conditions.append(f"not (STATE.grad_enabled and records({objects_text(version)}))")
    if inlined is None:
        conditions.append(f"unchanged({objects_text(version)})")
    lines += [*_unless(conditions), *(inlined or ())]
    lines += _unless(_apart(version, parameters, looked_at, names))
    captures = [f"c{i}" for i in range(len(version.captured))]
    lines += _tried(_reads(version, captures, names), "Exception")
    traced = [leaves[i] for i, leaf in enumerate(arguments.leaves) if leaf.traced]
    passed = [f"{c.name}={name}" for c, name in zip(version.captured, captures, strict=True)]
    plain = traced if version.takes_leaves else parameters
    by_name = f"program({', '.join([*plain, *passed])})"
    call = "{}"
    if version.built and run is None:
        given_leaves = f"({', '.join(traced)},)" if version.reads_leaves else "()"
        leaves_text = f", {given_leaves}" if version.reads_leaves else ""
        if version.objects and version.keeps:
            leaves_text = f", {given_leaves}, {objects_text(version)}"
        call = f"finish({{}}{leaves_text})"
    of_numbers, of_captured = _captured_conditions(version, captures, names)
    if known:
        held = zip(captures, version.captured, strict=True)
        known += [name for name, c in held if c.source and not is_number_read(c.holder)]
        run_of_jax: Any = version.program.run
        names.update(array=run_of_jax.accepts[1], direct=run_of_jax.direct, at_once=True)
        names.update(run_of_jax.names)
        wide = not (version.program.source.narrow or run_of_jax.names["wide_types"].value)
        by_position = f"direct({', '.join([*plain, *captures])})"
        direct = _answered(call.replace("{}", by_position, 1), counted)
        lines += [*_unless(of_numbers), *_at_once(known, direct, wide)]
        lines += _unless([*of_arrays, *of_captured])
    else:
        lines += _unless([*of_numbers, *of_captured])
    lines += _lengths(version, guards, looked_at, traced, captures)
    lines += _unless(_layouts(version, traced, captures, names))
    answered = _answered(call.replace("{}", by_name, 1), counted)
    if version.checked:
        lines += [
            "    try:",
            *_indented(answered, 8),
            "    except LookupError as error:",
            "        if type(error) is LookupError:",
            "            return MISS",
            "        raise",
        ]
    else:
        lines += _indented(answered, 4)
    return lines


def objects_text(version: Version) -> str:
    """The objects that are known by their class, as an argument of what asks about the state."""
    names = [f"given{number}" for number in range(version.objects)]
    return f"({', '.join(names)},)" if names else ""


def _apart(
    version: Version, parameters: Sequence[str], looked_at: Container[int], names: dict[str, Any]
) -> list[str]:
    """That no container among the arguments is one that calls change outside."""
    finders = version.written_containers
    if not finders:
        return []
    texts = [
        path_text(parameters[i], path, names)
        for i, spec in enumerate(version.arguments.specs)
        if i in looked_at
        for path, _ in within(spec)
    ]
    names["are_apart"] = version.asked(partial(are_apart, finders))
    objects = objects_text(version)
    return [f"are_apart({objects}{', ' * bool(objects)}({''.join(f'{t}, ' for t in texts)}))"]


def _answered(call: str, counted: Sequence[str]) -> list[str]:
    """The statements that return what a call gives."""
    return [f"result = {call}", *counted, "return result"] if counted else [f"return {call}"]


def _indented(lines: Sequence[str], spaces: int) -> list[str]:
    return [" " * spaces + line for line in lines]


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


def _shapes_of_lists(
    arguments: Arguments, leaves: Sequence[str], names: dict[str, Any]
) -> list[str]:
    """Reads the shapes of lists that are one array to the program."""
    lines: list[str] = []
    for i, leaf in enumerate(arguments.leaves):
        if leaf.rows is not None:
            _, dtype, ndim = leaf.kind
            names.update({"shape_of_rows": shape_of_rows, f"dtype_{dtype}": np.dtype(str(dtype))})
            given = f"{leaves[i]}, {type(leaf.rows).__name__}, dtype_{dtype}, {ndim}"
            lines += [f"    shape{i} = shape_of_rows({given})", *_unless([f"shape{i}"])]
    return lines


def _finisher(version: Version) -> Callable[..., Any]:
    """What makes the returned object of what a program returns, as plain Python where it can be."""
    result = version.results[0].result
    arrays = all(isinstance(leaf, int) for leaf in result.leaves)
    if not (version.built and arrays) or len(version.results) > 1 or version.keeps:
        return version.finish
    template = template_of(result, "numpy")
    if template is None:
        return version.finish
    text = re.sub(r"\{(\d+)\}", r"values[\1]", template)
    return load(f"def finish(values):\n    return {text}\n", "finish", {})


def _given_at_once(
    version: Version, given: int, leaves: Sequence[str], run: Callable[..., Any] | None
) -> list[str]:
    """The arrays of a call that JAX may be given at once; none where it may not.

    Not where the program's results are looked at, or it is not the version's alone that runs, or
    there is a guard that the program does not ask of their types (`load_jax`).
    """
    plain = run is None and version.run is version.program.run and not version.checked
    layouts = version.axes_in_order or version.written or version.written_outside
    tensors = any(isinstance(captured.holder, Tensor) for captured in version.captured)
    if version.target != "jax" or not plain or layouts or tensors:
        return []
    asks: Any = version.program.run
    if asks.direct is None or not {*version.guards} <= {*version.program.graph.sizes.guards}:
        return []
    pairs = zip(version.arguments.leaves, leaves, strict=True)
    arrays = [(leaf, text) for leaf, text in pairs if leaf.kind[0] == "array"]
    if any(leaf.parameter >= given for leaf, _ in arrays):  # a default, which is of NumPy
        return []
    return [text for _, text in arrays]


LEARNED = "at_once"
"""What an entry learns from calls, where it refers to that: whether JAX may be given arrays."""


def _at_once(arrays: Sequence[str], answered: Sequence[str], wide: bool) -> list[str]:
    """Calls the program where all arrays are of JAX.

    What guards ask of arrays is asked by the program when JAX compiles it for their types, so that
    nothing is asked of types that JAX knows. Where the program does not take them, all guards are
    asked from then on: JAX does not remember that. To turn its switch for 64-bit types takes a
    tenth of a call, so it is turned (`wide`) where it was off when the entry was written.
    """
    call = ["with wide_types(True):", *_indented(answered, 4)] if wide else answered
    return [
        f"    if at_once and {_all_are([f'type({text})' for text in arrays], 'array')}:",
        "        try:",
        *_indented(call, 12),
        "        except OTHER_TYPES:",
        "            at_once = False",
    ]


def _is_flat(spec: TreeSpec) -> bool:
    """True for a list or tuple of leaves alone."""
    leaves = bool(spec.children) and all(child.type is None for child in spec.children)
    return spec.type in (list, tuple) and leaves


def _is_flat_dict(spec: TreeSpec) -> bool:
    """True for a dict of leaves alone with strings for keys, of which the order is asked."""
    leaves = bool(spec.children) and all(child.type is None for child in spec.children)
    return spec.type is dict and leaves and set(map(type, spec.order or ())) == {str}


def _by_order(spec: TreeSpec, pairs: Sequence[tuple[str, str]]) -> str:
    """The variables of a dict's leaves, which are sorted, in the order of its items."""
    keys = [step.key for step in spec.steps]  # type: ignore[union-attr]
    names = dict(zip(keys, [name for name, _ in pairs], strict=True))
    return ", ".join([names[key] for key in spec.order or ()])


def _tried(statements: Sequence[str], error: str = "ValueError") -> list[str]:
    """Leaves the entry where something has another number of parts, or is not there."""
    if not statements:
        return []
    return ["    try:", *statements, f"    except {error}:", "        return MISS"]


def watched_entry(made: Any) -> Any:
    """An entry of a version with its program checked for nan and inf, or timed for a profile.

    That for checks is kept beside it: every call of a training run may need it.
    """
    timed = STATE.observer is not None
    if not timed and hasattr(made, "checked"):
        return made.checked
    version = made.version
    program = version.watched_run if timed else checked(version.run, version.program.graph)
    names = {**made.__globals__, "program": program, "direct": program}
    found = FunctionType(made.__code__, names, made.__name__, made.__defaults__)
    if not timed:
        made.checked = found
    return found


def _unless(conditions: Sequence[str]) -> list[str]:
    """Leaves the entry unless all hold."""
    return (
        [f"    if not ({' and '.join(conditions)}):", "        return MISS"] if conditions else []
    )


def _conditions(
    version: Version, looked_at: Container[int], texts: Sequence[str], names: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """What the leaves are, and of what kind and dtype arrays; lengths tell how many axes."""
    conditions: list[str] = []
    of_arrays: list[str] = []
    arrays: dict[str, list[str]] = {}  # by dtype
    for leaf, text in zip(version.arguments.leaves, texts, strict=True):
        if leaf.parameter not in looked_at or leaf.rows is not None:
            continue
        match leaf.kind:
            case ("array", str(dtype), _):
                arrays.setdefault(dtype, []).append(text)
                if version.target == "jax":
                    of_arrays.append(f"type({text}) in arrays")
            case ("scalar", str(dtype)):
                names[f"scalar_{dtype}"] = np.dtype(dtype).type
                conditions.append(f"type({text}) is scalar_{dtype}")
            case ("number", kind):
                conditions.append(f"type({text}) is {kind}")
            case ("unread", type_):
                key = f"unread_{len(names)}"
                names[key] = type_
                conditions.append(f"type({text}) is {key}")
            case ("static", type_, _):
                key = f"static_{len(names)}"
                names[key] = leaf.value
                names[f"{key}_type"] = type_
                conditions.append(f"type({text}) is {key}_type")
                if is_of_parts(leaf.value):
                    names.update({"as_key": as_key, key: leaf.kind[2]})
                    conditions.append(f"as_key({text}) == {key}")
                    continue
                constant = leaf.value is None or isinstance(leaf.value, bool)
                plain = is_plain(leaf.value) and not constant
                if type_ is tuple and all(map(is_plain, leaf.value)):  # (1,) == (True,)
                    plain, names[f"{key}_types"] = True, tuple(map(type, leaf.value))
                    conditions.append(f"(*map(type, {text}),) == {key}_types")
                conditions.append(f"{text} {'==' if plain else 'is'} {key}")
    every = [text for texts in arrays.values() for text in texts]
    if every and version.target == "numpy":
        of_arrays.append(_all_are([f"type({text})" for text in every], "ndarray"))
    return conditions, [*of_arrays, *_of_dtypes(arrays, names)]


def _of_dtypes(arrays: Mapping[str, Sequence[str]], names: dict[str, Any]) -> list[str]:
    """What arrays, by their dtype, are of."""
    names.update({f"dtype_{dtype}": np.dtype(dtype) for dtype in arrays})
    return [
        _all_are([f"{text}.dtype" for text in texts], f"dtype_{dtype}")
        for dtype, texts in arrays.items()
    ]


def _all_are(texts: Sequence[str], what: str) -> str:
    """Whether all are one object: a chain loads that once, and tests less."""
    return " is ".join([*texts, what])


def _reads(version: Version, captures: Sequence[str], names: dict[str, Any]) -> list[str]:
    """Reads what is captured; a list of which all is captured is unpacked."""
    lengths = {
        id(guard.holder): guard.value
        for guard in version.world.guards.values()
        if guard.read == LENGTH and guard.of is None and type(guard.holder) is list
    }
    items: dict[int, dict[int, tuple[str, Captured]]] = {}
    for name, captured in zip(captures, version.captured, strict=True):
        source = captured.source
        plain = not captured.brought and not isinstance(captured.holder, Tensor)
        if source is not None and source.read == ITEM and source.of is None and plain:
            items.setdefault(id(source.holder), {})[source.name] = name, captured
    wholes = [
        [known[i] for i in range(len(known))]
        for key, known in items.items()
        if known.keys() == set(range(lengths.get(key, 0)))
    ]
    lines = []
    for whole in wholes:
        captured = whole[0][1]
        assert captured.source is not None
        names[held := f"items_of_{captured.name}"] = captured.source.holder
        lines.append(f"        {', '.join([name for name, _ in whole])}, = {held}")
    unpacked = {name for whole in wholes for name, _ in whole}
    lines += [
        f"        {name} = {captured.text(names)}"
        for name, captured in zip(captures, version.captured, strict=True)
        if name not in unpacked
    ]
    return lines


def _may_change(captured: Captured) -> bool:
    """Whether a call may find another array, or the same one in another shape or dtype."""
    if captured.source is not None or isinstance(captured.holder, Tensor):
        return True
    return isinstance(captured.holder, np.ndarray) and not captured.made


def _captured_conditions(
    version: Version, captures: Sequence[str], names: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """What is read from outside may be another number, or array, by now."""
    conditions: list[str] = []
    of_numbers: list[str] = []
    arrays: dict[str, list[str]] = {}  # by dtype
    for captured, name in zip(version.captured, captures, strict=True):
        if not _may_change(captured):
            continue
        if isinstance(captured.holder, Tensor) or captured.may_change_type:
            numbers = isinstance(captured.holder, Tensor) or captured.brought
            kind = np.ndarray if numbers else captured.kind
            names[kind.__name__] = kind
            of = of_numbers if is_number_read(captured.holder) else conditions
            of.append(f"type({name}) is {kind.__name__}")
        if not is_number_read(captured.holder):
            arrays.setdefault(captured.dtype, []).append(name)
    return of_numbers, [*conditions, *_of_dtypes(arrays, names)]


def _lengths(
    version: Version,
    guards: Sequence[tuple[Any, Any]],
    looked_at: Container[int],
    traced: Sequence[str],
    captures: Sequence[str],
) -> list[str]:
    """Reads the lengths that guards are about, and compares them.

    To unpack a shape tells the number of axes as well. NumPy makes it a tuple for that, so vectors
    are asked for their axes and their length, which takes less.
    """
    every = dict.fromkeys([*version.guards, *guards])
    needed = Counter([s for pair in every for dim in pair for s in sz.symbols(dim)])
    lines: list[str] = []
    leaves = [leaf for leaf in version.arguments.leaves if leaf.traced]
    arrays = [
        (name, int(leaf.kind[2]))  # type: ignore[call-overload]
        for name, leaf in zip(traced, leaves, strict=True)
        if leaf.kind[0] == "array" and leaf.parameter in looked_at and leaf.rows is None
    ]
    arrays += [
        (name, captured.ndim)
        for name, captured in zip(captures, version.captured, strict=True)
        if _may_change(captured) and not is_number_read(captured.holder)
    ]
    names = [*traced, *captures]
    axes = {(names[index], axis): s for s, (index, axis) in version.symbols.items() if s in needed}
    texts = {s: s for s in axes.values()}
    others: list[str] = []
    vectors: list[str] = []
    for name, ndim in arrays:
        lengths = [texts[axes[name, axis]] if (name, axis) in axes else "_" for axis in range(ndim)]
        if ndim == 1 and version.target == "numpy":
            vectors.append(name)
            if (s := lengths[0]) != "_" and needed[s] > 1:
                lines.append(f"        {s} = len({name})")
            elif s != "_":
                texts[s] = f"len({name})"
        elif set(lengths) <= {"_"}:
            others.append(f"{name}.ndim == {ndim}")
        else:
            lines.append(f"        {', '.join(lengths)}{',' if ndim == 1 else ''} = {name}.shape")
    shapes = {name: f"{name}.shape" for name in names}
    numbered = [(i, leaf) for i, leaf in enumerate(version.arguments.leaves) if leaf.traced]
    for name, (i, leaf) in zip(traced, numbered, strict=True):
        if leaf.rows is not None:
            shapes[name] = f"shape{i}"
    unpacked = {name for name, _ in arrays}
    for (name, axis), s in axes.items():
        if axis is None:
            texts[s] = name
        elif name not in unpacked:  # an array that is held
            texts[s] = f"{shapes[name]}[{axis}]"
    flat = _unless([" == ".join([*[f"{name}.ndim" for name in vectors], "1"])] if vectors else [])
    lines = [*flat, *_tried(lines)]
    others += [equality_as_python(a, b, texts) for a, b in every]
    return [*lines, *_unless(others)]


def _in_c_order(axes: int, texts: Iterable[tuple[Any, str]], target: str) -> Iterator[str]:
    """Arrays of so many axes or more are in C order; of arguments it is known what they are.

    Arguments of a program for JAX may be arrays of JAX, which have no strides.
    """
    for kind, text in texts:
        match kind:
            case ("array", _, int(ndim)) if ndim < axes:
                pass
            case ("array", *_) if target == "numpy":
                yield f"{text}.flags.c_contiguous"
            case ("array", *_) | None:
                yield f"in_c_order({text}, {axes})"


def _layouts(
    version: Version, traced: Sequence[str], captures: Sequence[str], names: dict[str, Any]
) -> list[str]:
    """How arrays must lie in memory, where that decides what a write changes."""
    conditions: list[str] = []
    every = [*traced, *captures]
    if axes := version.axes_in_order:
        names["in_c_order"] = in_c_order
        leaves = [leaf for leaf in version.arguments.leaves if leaf.traced]
        own = [(leaf.kind if leaf.rows is None else ()) for leaf in leaves]
        kinds = [*own, *([None] * len(captures))]
        conditions += _in_c_order(axes, zip(kinds, every, strict=True), version.target)
    for i in version.written:
        names["overlapping"] = overlapping
        others = ", ".join([*every[:i], *every[i + 1 :]])
        conditions.append(f"not overlapping({every[i]}, ({others},))" if others else "True")
    for number, (guard, apart) in enumerate(version.written_outside):
        names.update(overlapping=overlapping, memory=memory)
        others = "".join([f"{text}, " for text in [*traced, *[captures[i] for i in apart]]])
        written = guard.expression(f"_written_{number}", names)
        conditions.append(f"not overlapping(memory({written}), ({others}))")
    return conditions
