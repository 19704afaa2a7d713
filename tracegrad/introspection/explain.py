"""Says why each version of a function was compiled and what each is valid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from codegen.array_bytes import bytes_text
from codegen.emit.header import saved
from codegen.ir import Branch, Call, Check, Node
from codegen.sizes import Dim, as_python, equality_as_python, limits, ordered, substitute
from tracegrad.arguments.signature import WHOLE, Arguments, Leaf
from tracegrad.arguments.stacked_lists import length_text
from tracegrad.compiled.traced_run import lie_in_order
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import Mode
from tracegrad.introspection.drawing.labels import Words
from tracegrad.runtime.thread_state import STATE
from tracegrad.tracing.compile_budget import Budget
from tracegrad.user_code.program_points import Point, loop_around
from tracegrad.world import IMMUTABLE, Guard
from tracegrad.world.guards import APART, APART_OF
from tracegrad.world.loops.unrolling_reasons import unrolled

MOST_GUARDS = 40  # that a report lists
FEWEST_OPERATIONS = 20  # a second of compiling; with fewer it is the function's own Python
FEWEST_TURNS = 10  # that make a loop the reason
MOST_NUMBERS = 8  # each with a program, before it is told
LONGEST_SHAPE = 60  # of a shape in terms of the arguments; else its numbers say it better


class CacheInfo(NamedTuple):
    """What `Compiled.cache_info` returns."""

    hits: int
    misses: int
    traces: int
    versions: int


def why(arguments: Arguments, mode: Mode, versions: Sequence[Version], said: str) -> str:
    """Why a call needs a version: what it meets that those which exist do not stand for.

    `said` is what a program said that left at a look.
    """
    if said:
        return said
    if not versions:
        return "the first call"
    same_mode = [version for version in versions if version.mode is mode]
    if not same_mode:
        return f"the first call on {mode}"
    same = [version for version in same_mode if version.arguments.key == arguments.key]
    if not same:
        return _other_arguments(_nearest(same_mode, arguments), arguments)
    version = same[-1]
    change = version.world.changed(version.read_again)
    if change is not None:
        read = f" ({change.line})" if change.line else ""
        return f"{_changed(change)}{read}"
    if version.grad_enabled is not None and version.grad_enabled is not STATE.grad_enabled:
        return f"it asks whether gradients are recorded: {STATE.grad_enabled} now"
    for captured in version.captured:
        array = captured.array()
        if not captured.fits(array):
            return f"{captured.name} was {captured.dtype} with {_axes(captured.ndim)}, is another"
    if version.axes_in_order and not lie_in_order(arguments, version.axes_in_order):
        return "a matrix lies in memory in another order"
    seen = version.check.changed()
    told = _other_lengths(version, arguments) or (seen.reason if seen is not None else "")
    return told or (SHARED if version.histories_stand() else HISTORIES)


SHARED = "objects or memory that were apart are shared, or the other way round"
HISTORIES = "other inputs require grad, have hooks, or are made of one another"

OF_NUMBERS = (
    "the function asks which number it is, so each of its values has a program of its own. Pass "
    "what it chooses, as a batch"
)
OF_NUMBERS_ON_JAX = (
    "on JAX a whole number among the arguments is a setting, and each of its values has a program "
    "of its own. Pass what it chooses, as a batch, or np.int64({0}) where it is only computed with"
)


def too_many(arguments: Arguments, mode: Mode, versions: Sequence[Version]) -> str:
    """What to say of a call for which there would be too many versions."""
    return (
        f"{len(versions)} versions were compiled and this call needs another "
        f"({why(arguments, mode, versions, '')}); the function runs eagerly from here on. "
        f"{_way_out(arguments, mode, versions)}"
    )


def _way_out(arguments: Arguments, mode: Mode, versions: Sequence[Version]) -> str:
    same_mode = [version for version in versions if version.mode is mode]
    if same_mode and all(version.arguments.key != arguments.key for version in same_mode):
        before = _nearest(same_mode, arguments)
        places = {(leaf.parameter, leaf.path): leaf for leaf in before.leaves}
        for leaf in arguments.leaves:
            other = places.get((leaf.parameter, leaf.path))
            if other is not None and other.kind != leaf.kind and _is_number(leaf):
                text = _of_number(arguments.text_of(leaf), mode)
                return text[0].upper() + text[1:]
        return "Call it with arguments of fewer kinds"
    same = [version for version in same_mode if version.arguments.key == arguments.key]
    if same and same[-1].world.changed(same[-1].read_again) is None:
        seen = same[-1].check.changed()
        if seen is not None and seen.instead:
            return seen.instead
    return "State that differs on every call is the usual cause: pass it as an argument"


def chosen_by_number(mode: Mode, versions: Sequence[Version], static: Collection[str]) -> str:
    """What to say, once, where so many versions differ in one whole number, and none came again.

    `static` are parameters of which the user has said so.
    """
    same_mode = [version for version in versions if version.mode is mode]
    leaf, before = _number_of(same_mode[-MOST_NUMBERS:]), same_mode[:-1]
    if leaf is None or _number_of(before[-MOST_NUMBERS:]) is not None:
        return ""
    arguments = same_mode[0].arguments
    if arguments.parameters[leaf.parameter] in static:
        return ""
    text = arguments.text_of(leaf)
    return f"{MOST_NUMBERS} values of {text} came, none of them twice; {_of_number(text, mode)}"


def _of_number(text: str, mode: Mode) -> str:
    """Why each value of a whole number has a program, and what to write instead."""
    return (OF_NUMBERS_ON_JAX if mode.target == "jax" else OF_NUMBERS).format(text)


def _number_of(versions: Sequence[Version]) -> Leaf | None:
    """The whole number in which alone these many versions differ, each of another value."""
    if len(versions) < MOST_NUMBERS or any(version.hits for version in versions):
        return None
    if len({version.arguments.parameters for version in versions}) > 1:
        return None
    leaves = zip(*(version.arguments.leaves for version in versions), strict=False)
    differing = [found for found in leaves if len({leaf.kind for leaf in found}) > 1]
    if len(differing) != 1 or not all(map(_is_number, differing[0])):
        return None
    distinct = len({leaf.kind for leaf in differing[0]}) == len(versions)
    return differing[0][0] if distinct else None


def _is_number(leaf: Leaf) -> bool:
    return leaf.kind == WHOLE or (leaf.kind[0] == "static" and type(leaf.value) is int)


def _changed(guard: Guard) -> str:
    """What a guard held and holds now; of names that were missing, the first that is there."""
    if guard.read not in (APART, APART_OF):
        return f"{guard.text} was {_short(guard.value)}, is {_short(guard.now())}"
    held = guard.where() if guard.read == APART else vars(guard.where())
    name = next(name for name in sorted(guard.name) if name in held)
    owner = guard.text.rpartition(".")[0]
    return f"{owner}{'.' * bool(owner)}{name} was missing, is {_short(held[name])}"


def why_slow(
    name: str, seconds: float, nodes: Iterable[Node], target: str, because: str = ""
) -> str:
    """Says what made a call slow to compile, and what to write instead.

    `nodes` are what it recorded, each turn of a loop that stays one once. `because` says why loops
    were unrolled whatever their turns do, and what to write instead.
    """
    origins = [node.results[0].origin for node in nodes if isinstance(node, Call)]
    took = f"{name}: compiling this call took {seconds:.1f} s"
    way_out = "or let it run eagerly with tg.config.compile = False"
    if len(origins) < seconds * FEWEST_OPERATIONS:
        return (
            f"{took}, most of it in Python that computes no array: only "
            f"{_count(len(origins), 'operation')} came of it. Compute before the call what it "
            f"works out, and pass that, {way_out}"
        )
    points = Counter(origin.point for origin in origins if isinstance(origin.point, Point))
    (point, turns), *_ = points.most_common(1) or [(Point(()), 0)]
    if turns < FEWEST_TURNS:
        return (
            f"{took}: {len(origins)} operations were recorded. Decorate parts of the function "
            f"instead of the whole, {way_out}"
        )
    at = next(origin for origin in origins if origin.point is point)
    loop = loop_around(point)
    took = f"{took}: {len(origins)} operations were recorded, {turns} times that of "
    took += f"{at.file}:{at.line}  {at.text}"
    if loop:
        took += f"; the loop {loop} is unrolled"
        why = unrolled([point], target).get(loop)
        took += f" ({why})" if why and not because else ""
    if loop and because:
        return f"{took}, {because}"
    return (
        f"{took}. Compute all turns at once along an axis of an array, decorate the function that "
        f"does one turn instead, {way_out}"
    )


def _nearest(versions: Sequence[Version], arguments: Arguments) -> Arguments:
    """Of the arguments that versions stand for, those that differ least; of equal ones the last."""
    now = {(leaf.parameter, leaf.path): leaf.kind for leaf in arguments.leaves}

    def differences(version: Version) -> int:
        before = {(leaf.parameter, leaf.path): leaf.kind for leaf in version.arguments.leaves}
        return sum(before.get(place) != now.get(place) for place in {*before, *now})

    return min(reversed(versions), key=differences).arguments


def _other_arguments(before: Arguments, now: Arguments) -> str:
    if before.parameters != now.parameters:
        return f"called with ({', '.join(now.parameters)}), not ({', '.join(before.parameters)})"
    places = {(leaf.parameter, leaf.path): leaf for leaf in before.leaves}
    for leaf in now.leaves:
        other = places.get((leaf.parameter, leaf.path))
        if leaf.rows is not None and other is None:
            had = sum(
                (x.parameter, x.path[:-1]) == (leaf.parameter, leaf.path) for x in before.leaves
            )
            return f"{now.text_of(leaf)} had {had} arrays, has {len(leaf.rows)}"
        if other is None or other.kind != leaf.kind:
            was = _kind(other) if other is not None else "absent"
            shown = _short(leaf.value) if leaf.kind == WHOLE else _kind(leaf)
            return f"{now.text_of(leaf)} was {was}, is {shown}"
    for name, old, new in zip(now.parameters, before.specs, now.specs, strict=True):
        if old != new:
            return f"{name} has another structure"
        if old.orders != new.orders:
            return f"{name} has its keys in another order"
    return "other arguments"


def _other_lengths(version: Version, arguments: Arguments) -> str:
    arrays = [leaf.value for leaf in arguments.leaves if leaf.traced]
    arrays += version.captured_arrays()
    known = version.lengths(arrays)
    texts = _length_texts(version)
    for a, b in version.guards:
        left, right = substitute(a, known), substitute(b, known)
        if left != right:
            if (order := ordered(a, b)) is not None:
                large, small = (as_python(dim, texts) for dim in order)
                left, right = (substitute(dim, known) for dim in order)
                shown = f"{large} was {small} or more"
                return f"{shown}{_read_at(version, a)}, is {left} and {right}"
            if isinstance(b, int):
                if (limited := limits(a, b)) is not None:
                    of, least, most = limited
                    shown = f"{as_python(of, texts)} was {_range_text(least, most)}"
                    return f"{shown}{_read_at(version, a)}, is {substitute(of, known)}"
                return f"{as_python(a, texts)} was {b}{_read_at(version, a)}, is {left}"
            shown = equality_as_python(a, b, texts)
            return f"{shown} was assumed{_read_at(version, a)}; now it is {left} and {right}"
    return ""


def _range_text(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    if least == most:
        return str(least)
    return f"{least} to {most}" if least > 0 else f"at most {most}"


def _kind(leaf: Leaf) -> str:
    match leaf.kind:
        case ("array", dtype, int(ndim)) if leaf.rows is not None:
            return f"a {type(leaf.rows).__name__} of any length of {dtype} with {_axes(ndim - 1)}"
        case ("array", dtype, int(ndim)):
            return f"{dtype} with {_axes(ndim)}"
        case ("scalar", dtype):
            return f"a {dtype} scalar"
        case ("number", kind):
            return f"a Python {kind}"
        case ("object", type() as given):
            return f"any {given.__name__}"
        case ("static", *_):
            return _short(leaf.value)
        case ("unread", type() as given):
            return f"an unread {given.__name__}"
    return str(leaf.kind[0])


def _axes(ndim: int) -> str:
    return f"{ndim} axis" if ndim == 1 else f"{ndim} axes"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"{text[:57].splitlines()[0]}..."


def _length_texts(version: Version) -> dict[str, str]:
    arguments = version.arguments
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    reads: list[tuple[Leaf | None, str]] = [(leaf, arguments.text_of(leaf)) for leaf in traced]
    reads += [(None, captured.place) for captured in version.captured]
    return {
        name: length_text(*reads[index], axis) for name, (index, axis) in version.symbols.items()
    }


def called(kind: str, name: str, traces: int, given_up: str = "") -> str:
    """The `repr` of a compiled callable: what it is, and how often it was compiled."""
    times = {0: "not compiled yet", 1: "compiled once"}.get(traces, f"compiled {traces} times")
    return f"<tracegrad.{kind} of {name}, {'runs eagerly' if given_up else times}>"


# -- the report -----------------------------------------------------------------------------------


def report(name: str, info: Any, budget: Budget, versions: Sequence[Version], given_up: str) -> str:
    """What `Compiled.explain` prints."""
    parts = [
        _count(len(versions), "version"),
        _count(info.hits, "hit"),
        _count(info.misses, "miss", "misses"),
        _count(info.traces, "trace"),
    ]
    spent, eager = _milliseconds(budget.spent), _milliseconds(budget.eager)
    lines = [f"{name}: {', '.join(parts)}"]
    lines.append(f"compiling took {spent}, calls without a program {eager}")
    if budget.lacking and not given_up:
        more = f"more is compiled once these took {_milliseconds(budget.lacking)} more"
        lines[-1] += f"; {more}, and runs eagerly before"
    if given_up:
        lines.append(f"runs eagerly: {given_up}")
    for number, version in enumerate(versions, 1):
        lines += ["", *_version_lines(number, version)]
    return "\n".join(lines)


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _version_lines(number: int, version: Version) -> list[str]:
    arguments = version.arguments
    shown = ", ".join(f"{arguments.text_of(leaf)}: {_kind(leaf)}" for leaf in arguments.leaves)
    paths = sum(1 for _ in version.tree.ends)
    size = version.program.source.text.count("\n")
    lines = [f"version {number} for {version.mode}: {shown}"]
    lines.append(
        f"  {_count(version.hits, 'hit')}, {_count(paths, 'path')}, {_count(size, 'line')}, "
        f"last compiled in {_milliseconds(sum(version.times.values()))}"
    )
    lines.append(f"    {_stages(version.times)}")
    if version.growth.stopped:
        lines.append(f"  no path is added any more: {version.growth.stopped}")
    if version.not_recorded:
        lines.append(f"  runs op by op where Tensors require grad: {version.not_recorded}")
    lines.append("  compiled because")
    lines += [f"    {reason}" for reason in version.reasons]
    for title, facts in (
        ("looks", _looks(version)),
        ("lengths", _lengths(version)),
        ("loops that are unrolled", _unrolled(version)),
        ("state", _state(version)),
        ("reads again on every call", [c.place for c in version.captured if not c.made]),
        ("holds as constants that the function makes", _constants(version)),
        ("stores on every call", _stores(version)),
        ("does again on every call, in order", _effects(version)),
        ("saves for the backward, beside arguments, at the lengths traced", _saved(version)),
    ):
        if facts:
            lines += [f"  {title}", *(f"    {fact}" for fact in facts)]
    return lines


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _stages(times: Mapping[str, float]) -> str:
    """``trace 1.2 ms, differentiate 0.4 ms, ...``; what another version did before took none."""
    parts = [
        f"{stage} {_milliseconds(times[stage])}" if stage in times else f"{stage} shared"
        for stage in ("trace", "differentiate", "optimize", "emit", "load")
    ]
    return ", ".join(parts)


def _constants(version: Version) -> list[str]:
    return [
        f"{c.name}: {c.dtype} of shape {np.shape(c.array())}" for c in version.captured if c.made
    ]


def _saved(version: Version) -> list[str]:
    """What the backward reads of the forward beside arguments, by variable, type and bytes."""
    graph = version.program.graph
    words = Words(graph, version.target, graph.sizes.seen)
    texts = _length_texts(version)
    facts, total = [], 0
    for value in saved(graph):
        made = graph.producer[value]
        assert isinstance(made, Call)
        name = words.name(value)
        if not name:
            inner = f"inner value of {value.origin.name}: " if value.origin.name else ""
            name = f"{inner}{words.expression(made)}"
        size = words.bytes(value) or 0
        total += size
        shape = ", ".join(as_python(graph.sizes.resolve(dim), texts) for dim in value.type.shape)
        shape = f"({shape}{',' * (len(value.type.shape) == 1)})"
        seen = words.seen(value.type)
        parts = (value.type.dtype, "" if seen and len(shape) > LONGEST_SHAPE else shape, seen)
        type_ = " ".join(part for part in parts if part)
        facts.append(f"{name}: {type_}, {bytes_text(size)}")
    more = len(facts) - MOST_GUARDS
    facts[MOST_GUARDS:] = [f"and {more} more"] * (more > 0)
    return [*facts, f"together {bytes_text(total)}"] if len(facts) > 1 else facts


def _stores(version: Version) -> list[str]:
    return list(dict.fromkeys(store.text for r in version.results for store in r.stores))


def _effects(version: Version) -> list[str]:
    return list(dict.fromkeys(effect.tells for r in version.results for effect in r.effects))


def _looks(version: Version) -> list[str]:
    facts: dict[str, None] = {}
    for node in version.traced.all_nodes:
        fact = _look(node)
        if fact:
            facts[fact] = None
    return list(facts)


def _look(node: Node) -> str:
    match node:
        case Check(_, look, outcome, origin):
            seen = repr(outcome)
        case Branch(_, look, outcomes, _, origin):
            seen = " or ".join(map(repr, outcomes))
        case _:
            return ""
    where = f"{origin.file}:{origin.line}  {origin.text}" if origin.line else "a value"
    return f"{where}  ({look}: {seen})"


def _unrolled(version: Version) -> list[str]:
    """The loops that are unrolled, each with the statement that is the reason."""
    nodes = version.traced.all_nodes
    points = (result.origin.point for node in nodes for result in node.results)
    return [
        f"{loop.removesuffix(':')}: {why}" for loop, why in unrolled(points, version.target).items()
    ]


def _lengths(version: Version) -> list[str]:
    texts = _length_texts(version)
    return [f"{equality_as_python(a, b, texts)}{_read_at(version, a)}" for a, b in version.guards]


def _read_at(version: Version, length: Dim) -> str:
    """Where Python read a length, which fixed it."""
    line = version.looked_at.get(str(length), "")
    return f" ({line})" if line else ""


def _state(version: Version) -> list[str]:
    """Numbers, strings, flags by their values, objects by class or (their number) identity."""
    skipped = set(map(id, version.read_again))
    read = [g for g in version.world.guards.values() if id(g) not in skipped]
    guards = [g for g in read if not version.world.is_of_any_value(g)]
    plain = [g for g in guards if isinstance(g.value, IMMUTABLE) and not _of_code(g)]
    facts = list(dict.fromkeys(map(_fact, plain)))
    more = len(facts) - MOST_GUARDS
    shown = facts[:MOST_GUARDS] + ([f"and {more} more values"] if more > 0 else [])
    renewed = [g for g in guards if version.world.is_by_path(g.value)]
    others = len(guards) - len(plain) - len(renewed)
    by_path = list(dict.fromkeys(f"{g.text}: any {g.kind.__name__}" for g in renewed))
    return shown + by_path + ([f"{_count(others, 'other object')} by identity"] * (others > 0))


def _fact(guard: Guard) -> str:
    """What a guard holds fast, in words: ``model.depth == 2``, ``model has no bias``."""
    if guard.read not in (APART, APART_OF):
        return f"{guard.text} == {_short(guard.value)}"
    owner, names = guard.text.rpartition(".")[0], ", ".join(sorted(guard.name))
    return f"{owner} has no {names}" if owner else f"no global is named {names}"


def _of_code(guard: Guard) -> bool:
    return guard.text.startswith(("the code of", "the defaults of", "the names of"))
