"""Numbers of Python in the variables where arms meet: where arms differ in one, it is a parameter.

``s = 0.0`` before ``if x > 0.0: s = s + x`` is a float of Python on one arm, NumPy's on the other.
``sign = 1.0`` and ``sign = -1.0`` are two floats. What runs have seen of each variable is kept with
the function (`Known`): once arms have differed in it, a number there is a constant of its arm, and
what is recorded behind is recorded over the parameter.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeAlias

from codegen.ir import Call, Constant, Value
from codegen.types import LIST, ArrayType, weak
from tracegrad.tracing.path_tree import Joint, Tree
from tracegrad.world.loops.widened_states import WIDE, is_in_float64

DIVIDING = frozenset({"divide", "floor_divide", "remainder"})
"""The ops that raise where a number of Python's is divided by 0."""

INT, FLOAT, BOOL = weak("int"), weak("float"), weak("bool")
_TYPES = {"int": INT, "float": FLOAT, "bool": BOOL}


@dataclass(frozen=True)
class Seen:
    """What variables have held where the arms of a look end."""

    type: ArrayType | None  # that covers all of it; None where nothing does
    number: str | None  # the one number that all of it was, if it was one
    recorded: bool = False  # some of it was a Tensor

    @property
    def parameter(self) -> ArrayType | None:
        """The type of the parameter for numbers; None where the variable is none."""
        return self.type if self.number is None and self.type is not None else None


NEVER = Seen(None, None)

Look: TypeAlias = "tuple[CodeType, int]"
Variables: TypeAlias = "dict[int, Seen]"
Known: TypeAlias = "dict[Look, Variables]"
"""What was seen of each variable, by look."""


def covering(a: Seen, b: Seen) -> Seen:
    """What covers both."""
    if a.type is None or b.type is None:
        return NEVER
    recorded = a.recorded or b.recorded
    if a.type == b.type:
        return Seen(a.type, a.number if a.number == b.number else None, recorded)
    narrow = [x for x in (a, b) if x.type != WIDE]
    wide = len(narrow) == 1 and narrow[0].type == FLOAT and not narrow[0].recorded
    return Seen(WIDE, None, recorded) if wide else NEVER


def learn(
    known: Variables,
    forms: Iterable[Hashable],
    flags: Collection[int],
    computed: Collection[int],
    converted: Collection[int],
) -> bool:
    """Takes in what an arm hands on, as `Joins` compares it; whether that is new of a number.

    Of `flags` it is only asked whether they are true; all other bools stay what they are. Floats in
    variables that some arm computes are taken for NumPy's there. What is `converted` is known.
    """
    new = False
    for place in forms:
        if type(place) is not tuple or type(place[0]) is not int:
            continue  # an array that turns write to
        slot, form = place
        if slot in converted:
            continue
        before, now = known.get(slot), _seen(form, slot in flags)
        if before is None and now.type == FLOAT and slot in computed:
            before, now = now, Seen(WIDE, None)
        known[slot] = after = now if before is None else covering(before, now)
        new |= before is not None and before.parameter != after.parameter
    return new


def differ_in_numbers(
    known: Variables, some: Sequence[Hashable], others: Sequence[Hashable]
) -> bool:
    """Whether two states would be one if the numbers in them were parameters."""
    if len(some) != len(others):
        return False
    pairs = [(a, b) for a, b in zip(some, others, strict=True) if a != b]
    return all(
        type(a) is tuple and type(b) is tuple and a[0] == b[0] and _is_parameter(known, a[0])
        for a, b in pairs
    )


def _is_parameter(known: Variables, slot: Any) -> bool:
    return slot in known and known[slot].parameter is not None


def takes(type_: ArrayType, x: Any) -> bool:
    """Whether a parameter of a type may be a number of Python."""
    return type_ == (WIDE if type_ == WIDE and type(x) is float else _TYPES.get(type(x).__name__))


def shown_numbers(tree: Tree, joins: Any, returned: bool) -> tuple[Joint, ...]:
    """Where arms meet with floats of Python that are NumPy's behind, and it shows.

    That is so beside other dtypes, where one is divided by, where its type was asked (`joins`), and
    in what the function gives, if that is `returned`.
    """
    found = _floats_of_python(tree)
    nodes = [node for limb in tree.limbs for node in limb.nodes] if found else ()
    if not is_in_float64(nodes):
        return tuple(dict.fromkeys(found.values()))
    shown = [] if joins is None else [*joins.asked]
    known = {node.result: node.value for node in nodes if isinstance(node, Constant)}
    for node in nodes:
        if isinstance(node, Call) and node.op.name in DIVIDING:
            plain = all(v.type.weak or v in found for v in node.operands)
            shown += node.operands if plain and not known.get(node.operands[1]) else ()
    if returned:
        shown += [v for end in tree.ends for v in end.outputs]
    return tuple({found[v]: None for v in shown if v in found})


def _floats_of_python(tree: Tree) -> dict[Value, Joint]:
    """What may be a float of Python, is computed of such alone, or is a list with one."""
    limbs = [*tree.limbs]
    found = {p: x.joint for x in limbs if x.joint for p in x.joint.numbers if p.type == WIDE}
    size = 0
    while size < len(found):
        size = len(found)
        for limb in limbs:
            for node in limb.nodes:
                of = [found.get(v) for v in node.operands if not v.type.weak]
                some = next((joint for joint in of if joint), None)
                kept = [v for v in node.results if v.type == LIST or (v.type == WIDE and all(of))]
                if some is not None:
                    found.update(dict.fromkeys(kept, some))
            ended = limb.meets or limb.again
            moves = [(ended[0].parameters, ended[1])] if ended else []
            if limb.cycle is not None:
                moves.append((limb.cycle.parameters, limb.cycle.arguments))
            for parameters, arguments in moves:
                pairs = zip(parameters, arguments, strict=False)
                found.update((p, found[v]) for p, v in pairs if v in found)
    return found


def never(known: Variables) -> None:
    """No number is a parameter any more."""
    known.update((slot, NEVER) for slot, seen in known.items() if seen.parameter is not None)


def _seen(form: Any, flag: bool) -> Seen:
    """What the form of something is, as `Joins` has it."""
    if type(form) is tuple and form[0] in _TYPES:
        type_ = _TYPES[form[0]]
        return Seen(type_, form[1]) if type_ != BOOL or flag else NEVER
    if type(form) is tuple and form[0] == "new tensor":
        _, dtype, is_weak, dims, shown, memory = form
        type_ = ArrayType(dtype, dims, is_weak)
        known = type_ in (INT, FLOAT, WIDE) or (type_ == BOOL and flag)
        if known and not shown and not memory:
            return Seen(type_, None, True)
    return NEVER
