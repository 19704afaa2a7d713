"""Runs an op without a batching rule for each example of a batch.

Its source is a function with a loop, which programs have at their top; in JAX it is a `jax.vmap`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from textwrap import indent
from typing import Any

from codegen.ir import Trait
from codegen.spelling import Spelling, spell
from tracegrad.errors import NotBatchedError
from tracegrad.ops.record import OpRecord

_RECORDS: dict[tuple[Any, ...], OpRecord] = {}


def each_record(
    op: OpRecord,
    wide: tuple[bool, ...],
    attributes: Mapping[str, Any],
    rules: Callable[[OpRecord, tuple[bool, ...]], Mapping[str, Any]],
) -> OpRecord:
    """The record of `op` for each example; operands that are not `wide` are the same for all.

    `rules` gives its type rule and its derivative rule.
    """
    if any(name.startswith("*") for name in op.operands):
        raise NotBatchedError(f"{op.name} has no batching rule for any number of operands")
    spelled = {target: op.spelled(target, attributes) for target in op.spelling}
    key = (op, wide, *((target, spelled[target].text) for target in sorted(spelled)))
    found = _RECORDS.get(key)
    if found is None:
        found = _RECORDS[key] = _record(op, wide, spelled, rules(op, wide))
    return found


def _record(
    op: OpRecord,
    wide: tuple[bool, ...],
    spelled: Mapping[str, Spelling],
    rules: Mapping[str, Any],
) -> OpRecord:
    several = [name for name, w in zip(op.operands, wide, strict=True) if w]
    name = f"{op.name}_of_each" + ("" if all(wide) else f"_{'_'.join(several)}")
    if not isinstance(op.spelling["numpy"], Spelling):  # attributes decide what it says
        text = "".join(spelled[target].text for target in sorted(spelled))
        name += f"_{hashlib.blake2s(text.encode(), digest_size=2).hexdigest()}"
    needs, spelling = {}, {}
    for target, of_one in spelled.items():
        used = [attribute for attribute in op.attributes if attribute in of_one.uses]
        write = _loop if target == "numpy" else _vmap
        given = ", ".join([*op.operands, *(f"{attribute}={attribute}" for attribute in used)])
        spelling[target] = spell(f"{name}({given})")
        needs[target] = {**op.needs.get(target, {}), name: write(op, name, wide, of_one, used)}
    return OpRecord(
        name=name,
        operands=op.operands,
        spelling=spelling,
        attributes=op.attributes,
        traits=frozenset({Trait.LOOSE}),
        differentiable=op.differentiable,
        needs=needs,
        doc=f"{op.name} for each example of a batch.",
        results=op.results,
        partial=op.partial,
        **rules,
    )


def _head(op: OpRecord, name: str, operands: Sequence[str], used: Sequence[str]) -> str:
    defaults = {n: "" if op.attributes[n] is ... else f"={op.attributes[n]!r}" for n in used}
    required = [n for n in used if not defaults[n]]
    given = [*operands, *required, *(f"{n}{d}" for n, d in defaults.items() if d)]
    return f"def {name}({', '.join(given)}):\n"


def _statements(of_one: Spelling) -> str:
    """Statements that make ``out``."""
    return of_one.text if of_one.expression is None else f"out = {of_one.text}"


def _plural(operands: Sequence[str], wide: Sequence[bool]) -> list[str]:
    """What the function calls its operands: a batch has a name of its own."""
    several = [f"all_{name}" if iskeyword(f"{name}s") else f"{name}s" for name in operands]
    return [many if w else one for many, one, w in zip(several, operands, wide, strict=True)]


def _loop(
    op: OpRecord, name: str, wide: Sequence[bool], of_one: Spelling, used: Sequence[str]
) -> str:
    given = _plural(op.operands, wide)
    ones = [n for n, w in zip(op.operands, wide, strict=True) if w]
    batches = [n for n, w in zip(given, wide, strict=True) if w]
    each = batches[0] if len(batches) == 1 else f"zip({', '.join(batches)})"
    stacked = "tuple(map(np.stack, zip(*outs)))" if op.results else "np.stack(outs)"
    head = _head(op, name, given, used)
    title = f'"""`{op.name}` for each example of a batch."""'
    body = f"{title}\nouts = []\nfor {', '.join(ones)} in {each}:\n"
    body += indent(_statements(of_one), "    ") + f"\n    outs.append(out)\nreturn {stacked}\n"
    return head + indent(body, "    ")


def _vmap(
    op: OpRecord, name: str, wide: Sequence[bool], of_one: Spelling, used: Sequence[str]
) -> str:
    given = _plural(op.operands, wide)
    axes = ", ".join("0" if w else "None" for w in wide) + ("," if len(wide) == 1 else "")
    head = _head(op, name, given, used)
    one = f"def of_one({', '.join(op.operands)}):\n"
    one += indent(f"{_statements(of_one)}\nreturn out\n", "    ")
    mapped = "jax.vmap(of_one)" if all(wide) else f"jax.vmap(of_one, in_axes=({axes}))"
    title = f'"""`{op.name}` for each example of a batch."""'
    body = f"{title}\n\n{one}\nreturn {mapped}({', '.join(given)})\n"
    return head + indent(body, "    ")
