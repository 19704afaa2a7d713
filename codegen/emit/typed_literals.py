"""Gives literals beside arrays a dtype: names for arrays without axes, as wide as the literals.

A ufunc turns a Python number into an array and looks for its dtype on every call, which takes
longer than the work on a hundred elements. So the source that is loaded has names in place of the
literals that users see. Each name is an array of the operation's dtype. The results have the same
bits, and both sources have the same columns.

Where a literal as users write it would give a result another dtype than the graph says it has, all
see it with its own: ``np.full(n, np.float32(1.0))``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from codegen.ir import Call, Graph, Number, Trait, Value
from codegen.sizes import Sizes
from codegen.spelling import Fragment, Spelling
from codegen.types import LIST, ArrayType, kind, promote, weak

FIRST, LAST = 0x10600, 0x10736  # Linear A: letters that no program's own names begin with
NAME = rf"[{chr(FIRST)}-{chr(LAST)}]_*"
LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
WHOLE = 2**24  # integers up to here are numbers of every float dtype


class Constants:
    """The literals of one module that are arrays when it runs, by the names that they have then."""

    def __init__(self) -> None:
        self.named: dict[str, tuple[Number, str]] = {}
        self._texts: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def beside(
        self,
        call: Call,
        spelling: Spelling,
        numbers: Mapping[Value, Number],
        position: int,
        literal: Fragment,
    ) -> Fragment:
        """A literal, one of `numbers`, as it is loaded at an operand's place."""
        dtype = array_dtype(call, spelling, numbers, position)
        if dtype is None:
            return literal
        return self.name(numbers[call.operands[position]], dtype, literal)

    def name(self, number: Number, dtype: str, literal: Fragment) -> Fragment:
        """The name for a literal; while there are letters."""
        key = literal.text, dtype
        name = self._names.get(key)
        if name is None:
            letter = FIRST + len(self._names)
            if letter > LAST:
                return literal
            name = self._names[key] = chr(letter).ljust(len(literal.text), "_")
            self.named[name] = number, dtype
            self._texts[name] = literal.text
        return Fragment(name, literal.precedence)

    def read(self, text: str) -> str:
        """The source with its literals."""
        if not self._texts:
            return text
        return re.sub(NAME, lambda found: self._texts[found[0]], text)


def array_dtype(
    call: Call, spelling: Spelling, numbers: Mapping[Value, Number], position: int
) -> str | None:
    """The dtype that NumPy gives the number at an operand's place, where an array stands beside it.

    None where there is no such array, or where an array would not give the same result.
    """
    number = numbers.get(call.operands[position])
    if Trait.ELEMENTWISE not in call.op.traits or spelling.infix == "**":  # x**2 is a product
        return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    others = [v for i, v in enumerate(call.operands) if i != position and v not in numbers]
    dtype = promote([v.type for v in call.operands])[0]
    if dtype not in LARGEST or not any(v.type.shape for v in others):
        return None
    if any(v.type.dtype not in (dtype, "bool") or v.type.weak for v in others):
        return None
    if Trait.NUMERIC not in call.op.traits and not _computes_in(call, position, dtype):
        return None
    if isinstance(number, int):
        return dtype if abs(number) <= WHOLE else None
    return dtype if not abs(number) > LARGEST[dtype] or abs(number) == float("inf") else None


def _computes_in(call: Call, position: int, dtype: str) -> bool:
    """Whether a function gives the same results where the operand at a place has a dtype.

    ``np.ldexp`` takes no float in place of an int, and to some of SciPy's a literal is a float64.
    """
    types = [replace(v.type, shape=()) for v in call.operands]
    types[position] = ArrayType(dtype, ())
    try:
        made = call.op.infer(Sizes(), *types, **dict(call.attributes))
    except TypeError:
        return False
    found = made if isinstance(made, tuple) else (made,)
    return [x.dtype for x in found] == [v.type.dtype for v in call.results]


# -- where users see the dtype --------------------------------------------------------------------


def need_dtype(
    graph: Graph, call: Call, numbers: Container[Value], literals: Container[Value]
) -> set[int]:
    """Operands printed as bare literals that would not give the result its dtype.

    `numbers` are the values that are printed as numbers of Python, `literals` those whose number is
    known.
    """
    if LIST in [v.type for v in call.operands]:
        return set()
    bare = [i for i, v in enumerate(call.operands) if v in numbers]
    strong = [i for i in bare if not call.operands[i].type.weak]
    if not strong:
        return set()
    if Trait.UPDATE in call.op.traits and 1 in strong:  # what is written takes x's dtype
        x, value = call.operands[:2]
        beside = promote([x.type, bare_type(graph, value)])[0]
        same = beside == promote([x.type, value.type])[0]
        return set(strong) - {1} if same else set(strong)
    if Trait.ELEMENTWISE not in call.op.traits:
        if "dtype" not in call.op.attributes:
            return set(strong)
        if call.says_dtype:
            return set()
    elif len(bare) == len(call.operands):
        result = call.results[0].type
        compared = result.dtype == "bool" and all(call.operands[i].type.either for i in strong)
        if result.may_be_python or compared:
            return set()
        dtype = promote([v.type for v in call.operands])[0]
        enough = [i for i in strong if call.operands[i].type.dtype == dtype] or strong
        known = [i for i in enough if call.operands[i] in literals]
        return {(known or enough)[0]}
    types = [
        bare_type(graph, v) if i in strong and kind(v.type.dtype) != "bool" else v.type
        for i, v in enumerate(call.operands)
    ]
    exact = [v.type for v in call.operands]
    alike = promote(types)[0] == promote(exact)[0] and _gives_its_dtype(graph, call, types)
    return set() if alike else set(strong)


def _gives_its_dtype(graph: Graph, call: Call, types: Sequence[ArrayType]) -> bool:
    """Whether operands of these types give the dtype of a call's result.

    Not all have a part in it: that of ``np.where(k, 1.0, 2.0)`` is that of the numbers.
    """
    made = call.op.infer(graph.sizes, *types, **dict(call.attributes))
    return isinstance(made, tuple) or made.dtype == call.results[0].type.dtype


def bare_type(graph: Graph, value: Value) -> ArrayType:
    """The type of a number without its dtype; a number of elements is an int in any dtype."""
    made = graph.producer.get(value)
    counts = isinstance(made, Call) and Trait.EXTENT in made.op.traits
    return weak("int" if counts else kind(value.type.dtype))
