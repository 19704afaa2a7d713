"""A running Python function enters, the graph of what it did leaves.

While a trace is active on a thread, every op on one of its Tensors is run on the real values and
appended to the graph with the user's variable name, line and program point. What Python reads of a
value (`look`) or of a shape (`look_at_shape`) is recorded, because the program holds only while
the answer is the same. Arrays that come from outside become inputs, read by reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from os.path import basename
from types import CodeType
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Builder, Call, Check, Number, Origin, Value, attribute_key
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Subscript
from codegen.types import ArrayType, weak_of
from tracegrad.dispatch import is_number
from tracegrad.errors import TraceError
from tracegrad.ops.elementwise import stop_gradient
from tracegrad.ops.reductions import sum_over
from tracegrad.points import capture, constant_index, label
from tracegrad.state import STATE

PLAIN_NUMBERS = frozenset({0, 1, 2, 3, 4, 0.5})
"""Numbers that stay in the structure of a program; all others are parameters of its graph."""


def plain_number(x: Any) -> Number:
    """A number of a subclass (a member of an IntEnum) as the number that it is."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    return next((kind(x) for kind in kinds if isinstance(x, kind)), x)


class Trace:
    """One run of a function: the graph under construction and what it depends on."""

    def __init__(self, code: CodeType | None, static_lengths: bool = False) -> None:
        self.static_lengths = static_lengths  # the target must know every length beforehand
        self.sizes = Sizes()
        self.builder = Builder(self.sizes)
        self.code = code
        self.inputs: list[Value] = []
        self.captured: dict[int, tuple[Any, Value]] = {}
        self.slots: dict[str, int] = {}
        self.counts: dict[Hashable, Dim] = {}
        self.finished = False
        self.standing: Origin | None = None  # set while derivative rules run, instead of frames

    # -- what enters ----------------------------------------------------------------------------

    def input(self, array: Any, name: str) -> Value:
        """A new input for this array or number; every length is free."""
        value = Value(self._input_type(array), Origin(name, True))
        self.inputs.append(value)
        return value

    def _input_type(self, array: Any) -> ArrayType:
        if is_number(array):
            return weak_of(array)
        return ArrayType(array.dtype.name, tuple(self.sizes.new(n) for n in array.shape))

    def capture(self, holder: Any) -> Value:
        """The input for an array or Tensor from outside; the same one is one input.

        It is kept by reference: calls see what it holds then.
        """
        found = self.captured.get(id(holder))
        if found is None:
            array = getattr(holder, "_array", holder)
            value = Value(self._input_type(array), Origin(f"captured_{len(self.captured)}", True))
            found = self.captured[id(holder)] = (holder, value)
        return found[1]

    def number(self, x: Number, type: ArrayType, origin: Origin) -> Value:
        """A number as a value: part of the structure if it is a plain one, else a parameter."""
        slot = None
        if not isinstance(x, bool | complex) and x == x and abs(x) not in PLAIN_NUMBERS:
            slot = self.slots.setdefault(f"{x!r} {type}", len(self.slots))
        return self.builder.constant(x, type, slot, origin)

    def lift(self, x: Any, origin: Origin) -> Value:
        """Any operand as a value of the graph."""
        traced = getattr(x, "_traced", None)
        if traced is not None and traced[0] is self:
            value: Value = traced[1]
            return value
        array = getattr(x, "_array", x)
        if is_number(array):
            return self.number(plain_number(array), weak_of(array), origin)
        if isinstance(array, np.generic):
            return self.number(array.item(), ArrayType(array.dtype.name), origin)
        if isinstance(array, np.ndarray):
            return self.capture(x)
        raise TraceError(f"an operation met a {type(array).__name__}, which is no array or number")

    # -- what happens ---------------------------------------------------------------------------

    def origin(self) -> Origin:
        """The user's line, variable and program point of the op that is running."""
        if self.standing is not None:
            return self.standing
        point = capture(self.code)
        of = label(point)
        return Origin(of.name, of.final, basename(of.file), of.line, of.text, point)

    def record(
        self, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
    ) -> tuple[Any, tuple[Value, ...]]:
        """Runs the op on the real values and appends it; the arrays and the graph's values."""
        origin = self.origin()
        lifted = tuple(self.lift(x, origin) for x in operands)
        values = self.builder.call(op, lifted, origin, **attributes)
        if not STATE.grad_enabled and op.differentiable:  # a derivative of the graph ends here
            values = tuple(
                self.builder.call(stop_gradient, (value,), origin)[0] for value in values
            )
        arrays = [getattr(x, "_array", x) for x in operands]
        concrete = {name: self.concrete(value) for name, value in attributes.items()}
        result = op.kernel(concrete)(*arrays, **concrete)
        several = result if len(values) > 1 else (result,)
        for array, value in zip(several, values, strict=True):
            self._check_type(op, array, value.type)
        return result, values

    def _check_type(self, op: Any, array: Any, type: ArrayType) -> None:
        shape = tuple(self.sizes.value(dim) for dim in type.shape)
        if isinstance(array, np.ndarray | np.generic):
            if array.shape == shape and array.dtype.name == type.dtype and not type.weak:
                return
        elif type.weak or (type.dtype == "bool" and isinstance(array, bool)):
            return
        shown = getattr(array, "dtype", array.__class__.__name__), getattr(array, "shape", ())
        raise TraceError(f"{op.name}: the type rule says {type} {shape}, the value is {shown}")

    def concrete(self, attribute: Any) -> Any:
        """An attribute with every length as it is in this run."""
        match attribute:
            case Size():
                return self.sizes.value(attribute)
            case Subscript():
                return attribute
            case tuple():
                return tuple(map(self.concrete, attribute))
        return attribute

    # -- what Python looks at -------------------------------------------------------------------

    def look(self, value: Value, kind: str, outcome: Number) -> None:
        """Python read the value: the program holds while reading gives `outcome`."""
        self.builder.append(Check(value, kind, outcome, self.origin()))

    def look_at_shape(self, value: Value) -> tuple[int, ...]:
        """Python read the shape: its lengths are constants from here on.

        ``x.shape[0]`` reads one length, and only that one is fixed.
        """
        index = constant_index()
        dims = value.type.shape
        if index is not None and -len(dims) <= index < len(dims):
            self.look_at_length(value, index)
            return tuple(map(self.sizes.value, dims))
        return tuple(self.sizes.fix(self.sizes.resolve(dim)) for dim in value.type.shape)

    def look_at_length(self, value: Value, axis: int) -> int:
        """Python read one length."""
        return self.sizes.fix(self.sizes.resolve(value.type.shape[axis]))

    def count_true(self, mask: Value, array: Any) -> Dim:
        """The number of True in a mask: a length that only the data tell.

        Masks that are the same computation have one count. Where a shape needs the count to be
        something (or the target wants its lengths beforehand), it is looked at.
        """
        key = self._computation(mask)
        known = self.counts.get(key)
        if known is None:
            count = int(np.count_nonzero(array))
            if self.static_lengths:
                self._look_at_count(mask, count)
                known = count
            else:
                known = self.sizes.new(count, partial(self._look_at_count, mask))
            self.counts[key] = known
        return known

    def _computation(self, value: Value) -> Hashable:
        node = self.builder.producer.get(value)
        if not isinstance(node, Call):
            return value
        shown = tuple((name, attribute_key(self.sizes, v)) for name, v in node.attributes)
        operands = tuple(
            ("number", repr(c.value)) if (c := self.builder.constant_of(v)) is not None else v
            for v in node.operands
        )
        return (node.op.name, operands, shown)

    def _look_at_count(self, mask: Value, count: int) -> None:
        if self.finished:
            raise TraceError("the number of elements that a mask selects decides a shape")
        (total,) = self.builder.call(sum_over, (mask,), self.origin(), axis=None, keepdims=False)
        self.look(total, "int", count)

    def input_symbols(self) -> dict[str, tuple[Value, int]]:
        """Where each free length can be read: an input and its axis."""
        found: dict[str, tuple[Value, int]] = {}
        for value in (*self.inputs, *(v for _, v in self.captured.values())):
            for axis, dim in enumerate(value.type.shape):
                for name in sz.symbols(dim):
                    found.setdefault(name, (value, axis))
        return found
