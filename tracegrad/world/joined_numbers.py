"""Numbers of Python in the variables where arms meet: where arms differ in one, it is a parameter.

``s = 0.0`` before ``if x > 0.0: s = s + x`` is a float of Python on one arm, NumPy's on the other.
``sign = 1.0`` and ``sign = -1.0`` are two floats. What runs have seen of each variable is kept with
the function (`Known`): once arms have differed in it, a number there is a constant of its arm, and
what is recorded behind is recorded over the parameter.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeAlias

from codegen.ir import Call, Constant, Value
from codegen.types import LIST, ArrayType, weak
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.tracing.path_tree import Joint, Limb, Tree
from tracegrad.world.loops.widened_states import (
    FLOATS,
    NUMBERS,
    SINGLE,
    WIDE,
    is_exact,
    shows_width,
)

DIVIDING = frozenset({"divide", "floor_divide", "remainder"})
"""The ops that raise where a number of Python's is divided by 0."""
POWERS = frozenset({
    *("power", "float_power", "number_power", "number_base_power"),
    *("python_power", "python_number_power", "python_base_power"),
})  # fmt: skip
"""The ops that raise, or are complex, for some numbers of Python's."""

MOST = 2**53
"""Larger ints are no parameters: not all targets have them."""

INT, FLOAT, BOOL = weak("int"), weak("float"), weak("bool")
_TYPES = {python.__name__: type_ for python, type_ in NUMBERS.items()}


@dataclass(frozen=True)
class Seen:
    """What variables have held where the arms of a look end."""

    type: ArrayType | None  # that covers all of it; None where nothing does
    number: str | None  # the one number that all of it was, if it was one
    recorded: bool = False  # some of it was a Tensor
    guessed: bool = False  # floats of Python's alone were seen, and are taken for NumPy's

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
        guessed = a.guessed and b.guessed
        return Seen(a.type, a.number if a.number == b.number else None, recorded, guessed)
    if {a.type, b.type} == {WIDE, FLOAT} and (a.guessed or b.guessed):
        return a if a.guessed else b
    floats = [x for x in (a, b) if x.type == FLOAT or x.guessed]
    others = [x for x in (a, b) if x.type in FLOATS and not x.guessed]
    wide = len(floats) == len(others) == 1
    return Seen(others[0].type, None, recorded) if wide else NEVER


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
        if before is None and now.type == FLOAT and slot in computed and not now.recorded:
            before, now = now, Seen(WIDE, None, guessed=True)
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


def takes(type_: ArrayType, x: Any, samples: bool) -> bool:
    """Whether a parameter of a type may be a number of Python."""
    if type_ in FLOATS and type(x) is float:
        return samples or is_exact(type_, x)
    return type_ == _TYPES.get(type(x).__name__)


WIDENED = "floats of Python's that turns take for NumPy's"
"""Stands for numbers that no joint hands on: the variables of turns make them NumPy's."""

Shown: TypeAlias = "Joint | str"


def shown_numbers(
    tree: Tree, joins: Any, target: str, returned: bool, samples: bool, kept: bool
) -> tuple[Shown, ...]:
    """Where arms meet with numbers of Python, and a program has others behind them that show.

    A float that is NumPy's there shows beside other dtypes, but in a run on `samples`; where it is
    divided by, where its type was asked (`joins`), and in what the function gives, if that is
    `returned`. Powers are NumPy's of any number, and ints have 64 bits in JAX. What variables of
    turns make NumPy's (`WIDENED`) is so in what the function gives, if it is not `kept`.
    """
    limbs = [*tree.limbs]
    known = {n.result: n.value for limb in limbs for n in limb.nodes if isinstance(n, Constant)}
    found = _numbers_of_python(limbs, known, through_turns=not kept)
    wide = {v for v in found if v.type in FLOATS}
    nodes = [node for limb in limbs for node in limb.nodes] if found else ()
    shown = [] if joins is None else [*joins.asked]
    for node in nodes:
        if not isinstance(node, Call):
            continue
        of = [v for v in node.operands if v in wide]
        if of and not samples and shows_width(node, wide, known):
            shown += of
        plain = all(v.type.weak or v in found for v in node.operands)
        if node.op.name in POWERS and not _is_small(node):
            shown += node.operands if plain else node.operands[1:]
        elif node.op.name in DIVIDING and plain and not known.get(node.operands[1]):
            shown += [v for v in node.operands if v in wide or target == "jax"]
    if returned and found:
        given = _numbers_of_python(limbs, known, through_turns=False)
        outputs = (v for end in tree.ends for v in end.outputs)
        shown += [v for v in outputs if v in given and (v in wide or v.type == LIST)]
    return tuple({found[v]: None for v in shown if v in found})


def _numbers_of_python(
    limbs: Sequence[Limb], known: Mapping[Value, Any], through_turns: bool = True
) -> dict[Value, Shown]:
    """What may be a number that arms hand on, is computed of Python's alone, or is a list with one.

    Each with the joint at which arms hand on one of them. With `through_turns` so is what turns
    make NumPy's, and what comes of it in later turns.
    """
    numbers = ((p, x.joint) for x in limbs if x.joint for p in x.joint.numbers)
    found: dict[Value, Shown] = {p: joint for p, joint in numbers if not p.type.either}
    if through_turns:
        nodes = (node for limb in limbs for node in limb.nodes)
        found.update((n.results[0], WIDENED) for n in nodes if _widens(n, known))
    size = 0
    while size < len(found):
        size = len(found)
        for limb in limbs:
            for node in limb.nodes:
                some = next((found[v] for v in node.operands if v in found), None)
                if some is not None:
                    plain = all(v.type.weak or v in found for v in node.operands)
                    kept = [v for v in node.results if v.type == LIST or (plain and _is_number(v))]
                    found.update((v, found.get(v, some)) for v in kept)
            for parameters, arguments, of_turn in _moves(limb):
                pairs = [
                    (p, v)
                    for p, v in zip(parameters, arguments, strict=False)
                    if v in found and (through_turns or not (of_turn and p.type in FLOATS))
                ]
                found.update((p, found.get(p, found[v])) for p, v in pairs)
    return found


def _moves(limb: Limb) -> Iterator[tuple[Sequence[Value], Sequence[Value], bool]]:
    """What a limb hands on, to where arms meet or to a turn: parameters, and what they get."""
    if limb.meets is not None:
        yield limb.meets[0].parameters, limb.meets[1], False
    if limb.again is not None:
        yield limb.again[0].parameters, limb.again[1], True
    if limb.cycle is not None:
        yield limb.cycle.parameters, limb.cycle.arguments, True


def _widens(node: Any, known: Mapping[Value, Any]) -> bool:
    """Whether a node makes a float of Python's one of NumPy's, as `as_wide` does."""
    if not isinstance(node, Call) or node.op is not add or node.operands[0].type != FLOAT:
        return False
    return node.operands[1].type in FLOATS and repr(known.get(node.operands[1])) == "-0.0"


def _is_small(power: Call) -> bool:
    """Whether Python and NumPy do the same, whatever is raised to the power."""
    exponent = dict(power.attributes).get("exponent")
    return type(exponent) is int and 0 <= exponent <= 4


def _is_number(value: Value) -> bool:
    return value.type in FLOATS or value.type.weak


def never(known: Variables) -> bool:
    """No number is a parameter any more; whether some was one."""
    parameters = [slot for slot, seen in known.items() if seen.parameter is not None]
    known.update(dict.fromkeys(parameters, NEVER))
    return bool(parameters)


def _seen(form: Any, flag: bool) -> Seen:
    """What the form of something is, as `Joins` has it."""
    if type(form) is tuple and form[0] in _TYPES:
        type_, large = _TYPES[form[0]], form[0] == "int" and abs(int(form[1])) > MOST
        return NEVER if large or (type_ == BOOL and not flag) else Seen(type_, form[1])
    if type(form) is tuple and form[0] == "new tensor":
        _, dtype, is_weak, _, dims, shown, memory = form
        type_ = ArrayType(dtype, dims, is_weak)
        known = type_ in (INT, FLOAT, WIDE, SINGLE) or (type_ == BOOL and flag)
        if known and not shown and not memory:
            return Seen(type_, None, True)
    return NEVER
