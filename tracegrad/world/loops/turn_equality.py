"""Turns of a loop: whether two of them are one computation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import Builder, Call, Check, Constant, Value, dims_of
from codegen.sizes import Dim, slice_length, substitute, symbol
from codegen.spelling import Slot, Subscript, Window
from codegen.types import kind
from tracegrad.differentiation.loops.turn_lengths import with_lengths
from tracegrad.ops.elementwise.ufuncs import (
    add,
    floor_divide,
    greater,
    greater_equal,
    less,
    less_equal,
    multiply,
    negative,
    remainder,
    subtract,
)
from tracegrad.ops.python_lists import array_list, handed, list_item
from tracegrad.ops.shape.indexing import element, gather, getitem_basic
from tracegrad.tracing.path_tree import Cycle, Entry, Limb, Meet, turn_of


def renamed(node: Any, new: dict[Value, Value]) -> Any:
    """A node of other values."""
    operands = tuple([new.get(v, v) for v in node.operands])
    match node:
        case Check():
            return replace(node, operand=operands[0])
        case Call():
            return replace(node, operands=operands, results=tuple([new[r] for r in node.results]))
    return replace(node, result=new[node.result])


def counted(nodes: Sequence[Any], builder: Builder, index: Value, number: int) -> list[Any]:
    """The nodes where the number of a turn is known: what is computed of it alone is a number.

    Looks at such numbers go, and so do they as operands in brackets: ``x[t - 1]`` is ``x[4]``. An
    item of a list of arrays is the array.
    """
    known = {index: number}

    def of(value: Value) -> int | None:
        constant = None if value in known else builder.constant_of(value)
        if constant is not None and value.type == index.type:
            known[value] = int(constant.value)  # type: ignore[arg-type]
        return known.get(value)

    kept: list[Any] = []
    for node in nodes:
        if isinstance(node, Check) and node.operand in known:
            continue
        if isinstance(node, Call):
            node = _of_numbers(node, [of(v) for v in node.operands], builder)
            if isinstance(node, Constant):
                known[node.result] = int(node.value)  # type: ignore[arg-type]
        kept.append(node)
    return kept


_COUNTING: dict[Any, Callable[..., int]] = {
    handed: operator.pos,
    add: operator.add,
    subtract: operator.sub,
    multiply: operator.mul,
    floor_divide: operator.floordiv,
    remainder: operator.mod,
    negative: operator.neg,
}


_MIRRORED: dict[Any, Any] = {
    less: greater,
    greater: less,
    less_equal: greater_equal,
    greater_equal: less_equal,
}
"""Ops that are one with their operands exchanged: ``0 < i`` asks the Tensor i."""


def _of_numbers(call: Call, numbers: Sequence[int | None], builder: Builder) -> Any:
    """A call some of whose operands are known."""
    if call.op is list_item and numbers[1] is not None:
        rows = builder.producer.get(call.operands[0])
        if isinstance(rows, Call) and rows.op is array_list:
            return replace(call, op=handed, operands=(rows.operands[numbers[1]],))
    compute, result = _COUNTING.get(call.op), call.results[0]
    if compute and None not in numbers and result.type.weak and kind(result.type.dtype) == "int":
        try:
            return Constant(compute(*numbers), result)
        except ZeroDivisionError:
            return call
    fixed = sum(not name.startswith("*") for name in call.op.operands)
    given = dict(call.attributes)
    index = given.get("index")
    if not isinstance(index, Subscript) or all(n is None for n in numbers[fixed:]):
        return call
    arrays, found = call.operands[fixed:], _with_whole_windows(call, numbers[fixed:], builder)
    if all(n is None for n in found):
        return call
    left = [i for i, number in enumerate(found) if number is None]
    items = tuple([_item(x, found, left) for x in index.items])
    operands = (*call.operands[:fixed], *(arrays[i] for i in left))
    given["index"] = Subscript(items)
    if index.windows:
        spans = zip(index.windows, given["counts"], strict=True)
        given["counts"] = tuple([span for window, span in spans if found[window.ends[0]] is None])
    if call.op is not gather or left:
        return replace(call, operands=operands, attributes=tuple(given.items()))
    whole = len(items) == call.operands[0].type.ndim and all(type(x) is int for x in items)
    op = element if whole else getitem_basic
    return Call(op, operands, (("index", Subscript(items)),), call.results)


def _with_whole_windows(
    call: Call, numbers: Sequence[int | None], builder: Builder
) -> list[int | None]:
    """The numbers that are known; of a slice both ends are, or none.

    Between numbers it has its length where the axis is long enough, which is assumed.
    """
    found, sizes = [*numbers], builder.sizes
    index: Any = call.attribute("index")
    shape = dict(call.attributes).get("shape", call.operands[0].type.shape)  # what zeros have
    shape = shape if isinstance(shape, tuple) else (shape,)
    spans = dict(zip(index.windows, call.attribute("counts") if index.windows else (), strict=True))
    for axis, window in zip(index.window_axes, index.windows, strict=True):
        between = _between(window, numbers)
        length = slice_length(spans[window], slice(None, None, window.step))
        if any(numbers[end] is None for end in window.ends) or not sizes.same(
            slice_length(sizes.resolve(shape[axis]), between), length
        ):
            for end in window.ends:
                found[end] = None
    return found


def _between(window: Window, numbers: Sequence[int | None]) -> slice:
    """A window as a slice between the numbers of its ends."""
    start, stop = window.between(numbers)
    return slice(start, stop, window.step)


def _item(item: Any, numbers: Sequence[int | None], left: Sequence[int]) -> Any:
    if type(item) is Window:
        if numbers[item.ends[0]] is not None:
            return _between(item, numbers)
        start, stop = (None if x is None else left.index(x) for x in (item.start, item.stop))
        return Window(start, stop, item.step)
    if type(item) is not Slot:
        return item
    number = numbers[item.position]
    return Slot(left.index(item.position)) if number is None else number


_TOLD = frozenset({"count", "counts"})
"""Attributes that have the lengths which masks tell."""


class Same:
    """Whether two turns are one computation, and what stands for what."""

    def __init__(self, trace: Any, parameters: Sequence[Value]) -> None:
        self.trace = trace
        self.open = set(parameters)
        self.found: dict[Value, Value] = {}
        self.numbers: dict[Value, Any] = {}  # of the one turn that are numbers in the other
        self.stands: dict[Value, Value] = {}  # where the arms of one turn alone meet
        self.told: dict[str, Dim] = {}  # lengths that masks of the one turn tell, in the other
        self.is_empty: Callable[[Cycle], bool] = lambda cycle: False  # in the other turn

    def knows(self, value: Value, number: Any) -> None:
        """A value stands for a number of Python, which the other turn did not record."""
        self.numbers[value] = number

    def _is_known(self, node: Any) -> bool:
        """Whether a step is made of such numbers alone: then Python has taken it unseen."""
        if not self.numbers or isinstance(node, Entry | Meet):
            return False
        operands = [self._plain(v) for v in node.operands]
        numbers = [self._number(v) for v in operands]
        if None in numbers or all(v not in self.numbers for v in operands):
            return False
        if isinstance(node, Check):
            return node.look == "bool" and node.outcome is bool(numbers[0])
        if len(node.results) != 1 or not node.results[0].type.weak:
            return False
        given = {name: self.trace.concrete(x) for name, x in node.attributes}
        try:
            found = node.op(*numbers, **given)
        except ArithmeticError:
            return False
        number = getattr(found, "_array", found)
        if type(number) not in (bool, int, float):
            return False
        self.numbers[node.results[0]] = number
        return True

    def _number(self, value: Value) -> Any:
        if value in self.numbers:
            return self.numbers[value]
        constant = self.trace.builder.constant_of(value)
        return None if constant is None or not value.type.weak else constant.value

    def _plain(self, value: Value) -> Value:
        """What was handed on where arms meet, by its name before."""
        while value in self.stands:
            value = self.stands[value]
        return value

    def sequences(self, body: Sequence[Any], turn: Sequence[Any]) -> bool:
        """Whether two turns do the same; where arms meet in one of them alone says nothing."""
        steps = [node for node in body if not isinstance(node, Constant)]
        others = [node for node in turn if not isinstance(node, Constant)]
        meet = any(isinstance(node, Meet) for node in others)
        left = iter(others)
        for step in steps:
            if isinstance(step, Entry) and self._has_no_turns(step):
                continue
            if isinstance(step, Meet) and not meet:
                self.stands.update(zip(step.joint.parameters, step.arguments, strict=True))
                continue
            if self._is_known(step):
                continue
            other = next(left, None)
            if other is None or not self.nodes(step, other):
                return False
        return next(left, None) is None

    def _has_no_turns(self, entry: Entry) -> bool:
        """Whether a loop of one turn has none in the other, where it left nothing but looks."""
        cycle = entry.cycle
        if entry.in_turn or cycle.counter is None or not self.is_empty(cycle):
            return False
        self.stands.update(zip(cycle.parameters, cycle.arguments, strict=True))
        return True

    def nodes(self, a: Any, b: Any) -> bool:
        if isinstance(a, Entry) and isinstance(b, Entry):
            return a.in_turn is b.in_turn and self._cycles(a.cycle, b.cycle)
        if isinstance(a, Meet) and isinstance(b, Meet):
            return self._meet(a, b)
        if isinstance(a, Check) and isinstance(b, Check):
            return (a.look, a.outcome) == (b.look, b.outcome) and self.values(a.operand, b.operand)
        if not (isinstance(a, Call) and isinstance(b, Call)):
            return False
        if _MIRRORED.get(a.op) is b.op and len(b.operands) == 2:
            b = replace(b, op=a.op, operands=b.operands[::-1])
        if a.op is not b.op:
            return False
        if len(a.operands) != len(b.operands) or not self._attributes(a, b):
            return False
        if not all(map(self.values, a.operands, b.operands)):
            return False
        for x, y in zip(a.results, b.results, strict=True):
            if not self._types(x, y):
                return False
            self.found[x] = y
        return True

    def _attributes(self, a: Call, b: Call) -> bool:
        if a.attributes == b.attributes:
            return True
        one, other = dict(a.attributes), dict(b.attributes)
        if one.keys() != other.keys():
            return False
        resolve = self.trace.sizes.resolve
        for name in _TOLD.intersection(one):
            mine, theirs = (x if type(x) is tuple else (x,) for x in (one[name], other[name]))
            self._learn([*map(resolve, mine)], [*map(resolve, theirs)])
        new = self._lengths()
        return all(
            one[name] == x
            or with_lengths(one[name], lambda d: substitute(resolve(d), new))
            == with_lengths(x, resolve)
            for name, x in other.items()
        )

    def _learn(self, mine: Sequence[Dim], theirs: Sequence[Dim]) -> None:
        """Notes which lengths masks tell that are one in two turns, as the masks are one."""
        masks = self.trace.masks
        for a, b in zip(mine, theirs, strict=True):
            one, other = masks.get(str(a)), masks.get(str(b))
            if one is not None and other is not None and self.found.get(one) is other:
                self.told[str(a)] = b

    def _meet(self, a: Meet, b: Meet) -> bool:
        """Whether arms meet alike in two turns."""
        alike = len(a.arguments) == len(b.arguments)
        alike = alike and all(map(self.values, a.arguments, b.arguments))
        return alike and self._hand_on(a.joint.parameters, b.joint.parameters)

    def values(self, a: Value, b: Value) -> bool:
        a = self._plain(a)
        if a in self.found:
            return self.found[a] is b or self._one_number(self.found[a], b)
        if a in self.open and a not in self.numbers:
            self.found[a] = b
            return True
        if a is b:
            return True
        if a not in self.numbers:
            return self._one_number(a, b)
        known = self.trace.builder.constant_of(b)
        return known is not None and repr(self.numbers[a]) == repr(known.value)

    def _one_number(self, a: Value, b: Value) -> bool:
        one, other = (self.trace.builder.constant_of(v) for v in (a, b))
        if one is None or other is None:
            return False
        return repr(one.value) == repr(other.value) and self._types(a, b)

    def _cycles(self, a: Cycle, b: Cycle) -> bool:
        """Whether two loops are one."""
        return self._heads(a, b) and self._limbs(turn_of(a), turn_of(b))

    def _heads(self, a: Cycle, b: Cycle) -> bool:
        """Whether two loops begin alike."""
        one, other = a.counter, b.counter
        if (one is None) is not (other is None) or len(a.parameters) != len(b.parameters):
            return False
        if one is not None and other is not None:
            if one.step != other.step or not self.values(one.start, other.start):
                return False
            if not self.values(one.stop, other.stop):
                return False
            self.found[one.index] = other.index
        if not all(map(self.values, a.arguments, b.arguments)):
            return False
        return self._hand_on(a.parameters, b.parameters)

    def _limbs(self, a: Limb, b: Limb) -> bool:
        """Whether the ways that lead on from two places are the same."""
        if not self.sequences(a.nodes, b.nodes) or a.arms.keys() != b.arms.keys():
            return False
        if a.cycle is None or b.cycle is None:
            if a.cycle is not b.cycle:
                return False
        elif not self._heads(a.cycle, b.cycle):
            return False
        if a.look is not None and b.look is not None:
            same = self.values(a.look.operand, b.look.operand)
            if a.look.look != b.look.look or not same:
                return False
        if not all(self._limbs(a.arms[key][1], b.arms[key][1]) for key in a.arms):
            return False
        if (a.joint is None) is not (b.joint is None) or not self._ends(a, b):
            return False
        if a.joint and b.joint and not self._hand_on(a.joint.parameters, b.joint.parameters):
            return False
        following = [(a.turn, b.turn), (a.after, b.after)]
        return all(
            one is other or (one and other and self._limbs(one, other)) for one, other in following
        )

    def _ends(self, a: Limb, b: Limb) -> bool:
        """Whether turns, or arms, end alike."""
        for one, other in ((a.again, b.again), (a.meets, b.meets)):
            if one is None or other is None:
                if one is not other:
                    return False
                continue
            if len(one[1]) != len(other[1]) or not all(map(self.values, one[1], other[1])):
                return False
        return True

    def _hand_on(self, one: Sequence[Value], other: Sequence[Value]) -> bool:
        """Has parameters stand for those of the other turn."""
        if len(one) != len(other) or not all(map(self._types, one, other)):
            return False
        self.found.update(zip(one, other, strict=True))
        return True

    def _types(self, a: Value, b: Value) -> bool:
        if (a.type.dtype, a.type.weak) != (b.type.dtype, b.type.weak):
            return False
        sizes, new = self.trace.sizes, self._lengths()
        dims = dims_of(sizes, a.type)
        if new:
            dims = tuple([substitute(dim, new) for dim in dims])
        return bool(dims == dims_of(sizes, b.type))

    def _lengths(self) -> dict[str, Dim]:
        """What the numbers of the one turn, and of what its masks have, are in the other."""
        sizes = self.trace.sizes
        names = {value: name for name, value in sizes.counters.items()}
        pairs = [(names[v], self.found.get(v)) for v in names]
        return {**self.told, **{name: symbol(names[w]) for name, w in pairs if w in names}}
