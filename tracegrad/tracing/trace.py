"""The trace of a running function: the graph of what it did.

While a trace is active on a thread, every op on one of its Tensors is run on the real values and
appended to the graph with the user's variable name, line and program point. What Python reads of a
value (`look`) or of a shape (`look_at_shape`) is recorded, because the program holds only while
the answer is the same. Arrays that come from outside become inputs, read by reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from os.path import basename
from types import CodeType
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from codegen.ir import NOWHERE, Builder, Call, Check, Number, Origin, Trait, Value
from codegen.keys import attribute_key
from codegen.memory_order import lies_in_rows
from codegen.sizes import Dim, Size, Sizes, symbols
from codegen.spelling import Subscript
from codegen.types import BFLOAT16, ArrayType, weak, weak_of
from tracegrad.errors import ArgumentError, DTypeError, TraceError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.ops.python_lists import symbols_of_lengths
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.creation import array_of
from tracegrad.ops.type_rules import OF_PYTHON, ON_BOOLS
from tracegrad.runtime.array_manners import is_own_leaf
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tape.views import base_of
from tracegrad.tracing import compile_budget, raising_ops
from tracegrad.tracing.advice import COUNTED, DRAWN, INSTEAD, OPAQUE, RAISING
from tracegrad.tracing.path_tree import Limb, PathBuilder, Tree, read_in, with_turns
from tracegrad.tracing.random_sources import RandomSources
from tracegrad.tracing.restarts import Aliased, MetTracer, OneByOne, Place, Unprogrammed
from tracegrad.user_code.lines_without_ops import definition
from tracegrad.user_code.program_points import (
    Path,
    at_line,
    capture_run,
    constant_index,
    holding_variable,
    item_read,
    label,
)
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer, is_number, is_numeric

PLAIN_NUMBERS = frozenset({0, 1, 2, 3, 4, 0.5})
"""Numbers that stay in the structure of a program; all others are parameters of its graph."""


def _content(array: np.ndarray) -> tuple[Any, ...]:
    """What tells whether an array is as it was."""
    return array.shape, array.dtype, array.tobytes()


def plain_number(x: Any) -> Number:
    """A number of a subclass (a member of an IntEnum) as the number that it is."""
    for kind in (bool, int, float):
        if isinstance(x, kind):
            return kind(x)
    return complex(x)


def _within(context: str) -> AbstractContextManager[Any]:
    """What the user's line ran in from which a derivative is; see `Trace._ignoring`."""
    if not context:
        return nullcontext()
    ignored = dict.fromkeys(re.findall(r'(\w+)="ignore"', context), "ignore")
    return np.errstate(**ignored)  # type: ignore[arg-type]


_UNWRITABLE = ("read-only", "not writable", "non-writable")
"""What NumPy and Python say of memory that may not be written."""


class Trace:
    """One run of a function: the graph under construction and what it depends on."""

    def __init__(
        self,
        code: CodeType | None,
        static_lengths: bool = False,
        tree: Tree | None = None,
        holders: Sequence[Any] = (),
        world: Any = None,
    ) -> None:
        """A new trace; it continues `tree`, whose captured arrays are `holders` now.

        The `tracegrad.world.World` tells of an array whether it was there before the run (others
        were made by the function itself) and what the function's code calls it.
        """
        self.budgets = 0  # within so many loops keep no more than they may
        self.static_lengths = static_lengths  # the target must know every length beforehand
        self.code = code
        self.kinds: tuple[Any, ...] = ()  # of what is in the variables around the function
        self.definition = definition(code)
        self.inputs: list[Value] = []
        self.captured: dict[int, tuple[Any, Value]] = {}
        self._own: dict[int, tuple[Any, Value]] = {}  # Tensors that the run made of numbers
        self.left: dict[int, tuple[Any, Value]] = {}  # in Tensors from outside, when it is over
        self.slots: dict[str, int] = {}
        self.contents: dict[
            int, tuple[np.ndarray, tuple[Any, ...], str]
        ] = {}  # of arrays made in the run
        self.counts: dict[Hashable, Dim] = {}
        self.masks: dict[str, Value] = {}  # what tells the lengths that depend on data
        self.closed = False  # such a length was looked at
        self.finished = False
        self.computing = 0.0  # seconds that the operations themselves took
        self.unrolled_because = ""  # why loops were, whatever their turns do, and what to write
        self.generators = RandomSources()
        self.looked_at: dict[str, str] = {}  # where Python read a length: its symbol, the line
        self.reshaped: dict[int, tuple[Any, int, Any, tuple[Any, ...]]] = {}  # as views or copies
        self.wanted: list[Value] = []  # inputs that are differentiated
        self.ordered, self.ordered_at = 0, ""  # so many axes: inputs are in C order, and why
        self.keeps_numbers = False  # from C code: it is told that the value is traced
        self.raises_as_math = False  # the function calls `math`, which raises where NumPy warns
        self.raised, self.exceptions = "", 0  # by an op, what the function may catch, how often
        self.unseen = ""  # what Python read of a value in a way that no look stands for
        self.asked: set[int] = set()  # ids of values that were an operand of C code
        self.refused_to_caller: Any = None  # an error that a call without a trace raises, too
        self.shown: set[Value] = set()  # Tensors for the function's caller too
        self.filled: list[Any] = []  # Tensors that took the place of the function's own arrays
        self.errors = np.geterr()  # what NumPy does about floating-point errors
        self.keeps_types = False  # numbers of Python among NumPy's are ones when the program runs
        self.samples = False  # the arguments stand for tracers of JAX: their values mean nothing
        self.choices: Any = None  # of outcomes, in a run on samples that takes one of all ways
        self.explorer: Any = None  # which takes arms that the paths before did not take
        self.met_tracer = False  # among the arrays from outside: what is made of it is JAX's
        self.refused: ArgumentError | None = None  # what the function did with such a value
        self.planned: list[Origin] = []  # those of the next ops, where they are known beforehand
        self.lanes: dict[Value, tuple[Place, str]] = {}  # of one example: see `Tree`; its `vmap`
        self._lanes: Collection[Value] = ()  # those of the tree
        self.waiting: dict[Value, Callable[[], None]] = {}  # items that nothing has recorded yet
        self.single: Collection[Place] = ()  # the `vmap`s that run for one example after the other
        self.one_by_one: OneByOne | None = None  # that was raised
        self.handed: list[tuple[ref[np.ndarray], Any, str]] = []  # to C code: array, base, line
        self.unprogrammed: Unprogrammed | None = None  # that was raised
        self.let_go: set[Any] = set()  # nodes of the tape that a backward in the run has freed
        self.standing: Origin | None = None  # set while derivative rules run, instead of frames
        self.item_path: Path = ()  # where what a loop reads lies in the tuple that it gets
        self._known: list[Value] = []  # inputs of the tree that this trace has not met yet
        self._made: list[tuple[np.ndarray, Value]] = []  # arrays that an earlier trace made
        self._of_made = set[Value]() if tree is None else {*tree.made}  # the inputs for such
        self._again: dict[int, tuple[Any, Value]] = {}  # and those that this one made like them
        self.world = world
        self.operands: Callable[..., None] | None = None  # is told what operations are given
        self.sizes = Sizes()
        self.builder = Builder(self.sizes)
        if tree is not None:
            self._continue(tree, holders)

    def placed(self, holder: Any) -> bool:
        """Whether an array or Tensor was there before the run."""
        return self.world is None or self.world.is_outside(holder)

    def _continue(self, tree: Tree, holders: Sequence[Any]) -> None:
        self.sizes = tree.sizes.copy()
        self.builder = PathBuilder(self.sizes, tree.root)
        self._known = list(tree.inputs)
        self.slots, self.counts, self.masks = dict(tree.slots), dict(tree.counts), dict(tree.masks)
        self._lanes = tree.lanes
        for name in self.sizes.data.keys() & self.masks.keys():  # the others are of derivatives
            self.sizes.data[name] = partial(self._look_at_count, self.masks[name])
        for value, holder in zip(tree.captured, holders, strict=True):
            self._see(value, getattr(holder, "_array", holder))
            self.captured.setdefault(id(holder), (holder, value))
            if value in tree.made:
                self._made.append((holder, value))

    def _see(self, value: Value, array: Any) -> None:
        """The lengths of a known input in this run."""
        for dim, length in zip(value.type.shape, np.shape(array), strict=True):
            assert isinstance(dim, Size)
            self.sizes.seen[str(dim.symbol())] = length
        self.sizes.see_number(value, array)

    def forget_unused(self, outputs: Sequence[Value], before: int) -> None:
        """Drops arrays from outside, after the first `before`, that were moved around alone."""
        if self.world is not None and self.world.loops is not None:
            self.world.loops.lists.leave(outputs)
        nodes = [*with_turns(self.builder.nodes)]
        used = {*outputs, *read_in(nodes)}
        lengths = set(symbols_of_lengths(nodes, self.sizes))
        for key, (_, value) in [*self.captured.items()][before:]:
            if value in used or id(value) in self.asked or not self._is_free(value):
                continue
            if not lengths.isdisjoint(s for dim in value.type.shape for s in symbols(dim)):
                continue
            del self.captured[key]

    def _is_free(self, value: Value) -> bool:
        """Whether nothing is known about the lengths of an input."""
        inputs = [*self.inputs, *(other for _, other in self.captured.values())]
        others = [d for other in inputs if other is not value for d in other.type.shape]
        mentioned = {s for dim in others for s in symbols(self.sizes.resolve(dim))}
        return value not in self.sizes.given.values() and all(
            self.sizes.resolve(dim) == dim and mentioned.isdisjoint(symbols(dim))
            for dim in value.type.shape
        )

    def tree(self, root: Limb) -> Tree:
        """The paths in `root`, the last of which is this trace's, and what a next one needs."""
        return Tree(
            root=root,
            inputs=tuple(self.inputs),
            captured=tuple(value for _, value in self.captured.values()),
            made=frozenset(self._of_made),
            sizes=self.sizes,
            slots=self.slots,
            counts=self.counts,
            masks=self.masks,
            closed=self.closed,
            lanes=frozenset((*self.lanes, *self._lanes)),
        )

    # -- what enters ----------------------------------------------------------------------------

    def input(self, array: Any, name: str) -> Value:
        """The next input, for this array or number; every length is free."""
        if self._known:
            value = self._known.pop(0)
            self._see(value, array)
            self.inputs.append(value)
            return value
        origin = replace(self.definition, name=name, final=True)
        value = Value(self._input_type(array), origin)
        self.inputs.append(value)
        return value

    def _input_type(self, array: Any) -> ArrayType:
        if is_number(array):
            return weak_of(array)
        if array.dtype == BFLOAT16 and not self.static_lengths:
            raise ArgumentError(
                'NumPy has no bfloat16: write backend="jax", or convert with .astype(np.float32)'
            ).as_refusal()
        return ArrayType(array.dtype.name, tuple(self.sizes.new(n) for n in array.shape))

    def capture(self, holder: Any, origin: Origin = NOWHERE) -> Value:
        """The input for an array or Tensor from outside; the same one is one input.

        `origin` is the line that reads it.

        It is kept by reference: calls see what it holds then.
        """
        key = id(holder)
        every = self.left, self.captured, self._again, self._own
        found = next((known[key] for known in every if key in known), None)
        if key in self.contents and not self._is_as_before(*self.contents[key]):
            found = None
        if found is None and self._is_own(holder):
            found = self._own[id(holder)] = holder, self.capture(holder._array, origin)
        if found is None and self._made and type(holder) is np.ndarray:
            found = self._made_again(holder)
        if found is None:
            array = getattr(holder, "_array", holder)
            called = None if self.world is None else self.world.called(holder)
            name = called or holding_variable(holder) or "constant"
            held = replace(origin, name=name, final=True, point=None, section="")
            value = Value(self._input_type(array), held)
            found = self.captured[id(holder)] = (holder, value)
            if isinstance(array, np.ndarray) and not self.placed(holder):
                self.contents[id(holder)] = array, _content(array), name
                self._of_made.add(value)
        return found[1]

    def _is_own(self, holder: Any) -> bool:
        """Whether this is a Tensor of the run's own with numbers alone: a write gives it others."""
        return (
            type(getattr(holder, "_array", None)) is np.ndarray
            and (holder._node is None or is_own_leaf(holder))
            and not self.placed(holder)
        )

    def numbers_of(self, x: Any, text: str) -> np.ndarray | None:
        """What an array from outside holds, one of JAX as well; None of anything else.

        Of a tracer it is a sample.
        """
        if type(x) is np.ndarray:
            return x if is_numeric(x.dtype) else None
        if not is_jax_array(x) or not is_numeric(x.dtype):
            return None
        from tracegrad.backends import jax

        if is_jax_tracer(x):
            if not self.samples:
                raise MetTracer
            self.met_tracer = True
        found: np.ndarray = jax.sample(x, text)
        return found

    def _made_again(self, array: np.ndarray) -> tuple[Any, Value] | None:
        """The known input for an array that this run made as an earlier one did: with its bytes."""
        if self.placed(array):
            return None
        for i, (made, value) in enumerate(self._made):
            layout = (made.dtype, made.shape, made.strides)
            if layout == (array.dtype, array.shape, array.strides) and (
                made.tobytes() == array.tobytes()
            ):
                del self._made[i]
                found = self._again[id(array)] = (array, value)
                self.contents[id(array)] = array, _content(array), value.origin.name or "constant"
                return found
        return None

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
            if traced[1] in self.waiting:
                self.waiting[traced[1]]()
            value: Value = x._traced[1]
            if value in self.lanes:
                called = value.origin.name or "a value"
                place, name = self.lanes[value]
                raise OneByOne(place, name, f"{called} of one example is read behind it")
            return value
        array = getattr(x, "_array", x)
        given = None if self.world is None else self.world.numbers.input_of(self.world, x, origin)
        if given is not None:
            return given
        if array is not x and self.world is not None and self.world.is_outside(x):
            return self.capture(x, origin)  # a Tensor, of a number as well: calls see another one
        if is_number(array):
            return self.number(plain_number(array), weak_of(array), origin)
        if isinstance(array, np.generic):
            return self.number(array.item(), ArrayType(array.dtype.name), origin)
        if isinstance(array, np.ndarray):
            return self.capture(x, origin)
        met = f"an operation met a {type(array).__name__}, which is no array or number"
        raise TraceError(met + at_line())

    def traced(self, x: Any) -> Any:
        """What an operand is here that was just recorded; None for a number.

        A tape keeps the array alone, and a copy of one of NumPy's, which the trace does not know.
        """
        traced = getattr(x, "_traced", None)
        known = traced is not None and traced[0] is self
        if known and self.world is not None:
            self.world.derives_from(x)
        if not known and type(getattr(x, "_array", x)) is np.ndarray:
            return self, self.capture(x)
        return traced

    def finish(self) -> None:
        """The run is over."""
        self.finished = True
        for made in self.contents.values():
            self._is_as_before(*made)
        if np.geterr() != self.errors:
            self.unseen = self.unseen or "what NumPy does about floating-point errors"

    def has_used(self, array: np.ndarray) -> bool:
        """Whether a program has the numbers of an array that the run made, or of a part of it."""
        root = array if array.base is None else array.base
        return any(x is root or x.base is root for x, *_ in self.contents.values())

    def _is_as_before(self, array: np.ndarray, before: tuple[Any, ...], name: str) -> bool:
        """Whether an array that the run made and used stands for one value of the program still."""
        same = _content(array) == before
        if not same:
            self.unseen = self.unseen or f"{name}, an array that it changes after using it"
        return same

    def makes_generator(self, seed: Any, source: Any) -> None:
        """The function has made a random generator of a seed, or of a generator of bits."""
        has_state = isinstance(seed, np.random.BitGenerator | np.random.Generator)
        if not (has_state and self.world is not None and self.world.is_outside(seed)):
            self.generators.makes(source)

    # -- what happens ---------------------------------------------------------------------------

    def origin(self, item: int | None = None) -> Origin:
        """The user's line, variable and program point of the op that is running.

        `item` is the number of an item, where the op reads one.
        """
        if self.planned:
            return self.planned.pop(0)
        if self.standing is not None:
            return self.standing
        point = capture_run(self.code)
        of = label(point, item, self.item_path)
        name = of.name or ("value" if of.returned and not of.final else None)
        within = self._ignoring()
        return Origin(name, of.final, basename(of.file), of.line, of.text, point, within=within)

    def _ignoring(self) -> str:
        """What the function has NumPy ignore here that it did not at the call, as Python."""
        now: Mapping[str, str] = np.geterr()  # type: ignore[assignment]
        if now == self.errors:
            return ""
        before: Mapping[str, str] = self.errors  # type: ignore[assignment]
        ignored = [name for name, mode in now.items() if mode == "ignore"]
        new = [name for name in ignored if before[name] != "ignore"]
        names = ["all"] if new and len(ignored) == len(now) else new
        given = ", ".join([f'{name}="ignore"' for name in names])
        return f"np.errstate({given})" if given else ""

    def shows_type(self, value: Value) -> None:
        """It shows whether a number is one of Python's, of which no program tells."""
        if value.type.either and self.world is not None and self.world.joins is not None:
            self.world.joins.shows_type(value)

    def asks(self, op: Any, operands: Sequence[Any]) -> None:
        """Looks at whether Python raises for its own numbers, where the function may catch that."""
        raising_ops.ask(self, op, operands)

    def record(
        self, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any], like: Any = None
    ) -> tuple[Any, tuple[Value, ...]]:
        """Runs the op on the real values and appends it; the arrays and the graph's values.

        `like` is a Tensor in the manner of which an op without operands is done.
        """
        if self.samples and op.opaque:
            self.refuse(f"calls {op.name}, Python that no program for JAX has", OPAQUE)
        if self.samples and Trait.EFFECT in op.traits:
            self.refuse("draws random numbers", DRAWN)
        if any(type(x) is list or type(x) is tuple for x in operands):
            operands = tuple(map(as_array, operands))
        origin = self.origin(item_read(attributes))
        lifted = tuple(self.lift(x, origin) for x in operands)
        of_python = len(lifted) == 2 and any(v.type.may_be_python for v in lifted)
        if of_python and bool in map(type, operands):
            # Python computes ``2.0 * True`` as ``2.0 * 1``: a number of its own, no NumPy scalar.
            stays = op.name in ON_BOOLS and all(v.type.dtype == "bool" for v in lifted)
            number, own = (bool, OF_PYTHON) if stays else (int, weak("int"))
            numbers = (number(x) if type(x) is bool else None for x in operands)
            pairs = zip(numbers, lifted, strict=True)
            lifted = tuple(v if n is None else self.number(n, own, origin) for n, v in pairs)
        made_at = raising_ops.origin_of(self, op, operands, origin)
        values = self.builder.call(op, lifted, made_at, **attributes)
        if self.operands is not None:
            self.operands(lifted, operands)
        if not STATE.grad_enabled and op.differentiable:  # a derivative of the graph ends here
            values = tuple([self.builder.call(stop_gradient, (v,), origin)[0] for v in values])
        arrays = raising_ops.samples(self, op, operands)
        concrete = {name: self.concrete(value) for name, value in attributes.items()}
        try:
            with _within(origin.within if self.standing else ""):
                kernel = op.kernel_of_values(concrete, lifted, values)
                began = compile_budget.clock()
                result = kernel(*arrays, **concrete)
                self.computing += compile_budget.clock() - began
        except DTypeError as error:
            raise DTypeError(f"{error}{at_line()}") from None
        except (ValueError, IndexError, ArithmeticError, RuntimeWarning) as error:
            if self.samples:
                self.raises(error)
            if isinstance(error, IndexError) or type(error) is ValueError:
                raise
            self.notes_exception(f"an exception in {op.name}")
            raise
        raising_ops.watch_errors(self)
        if op is not array_of and not self._from_stand_ins([like, *operands]):
            self.shown.update(values)
        several = result if len(values) > 1 else (result,)
        for array, value in zip(several, values, strict=True):
            self._check_type(op, array, value.type)
        return result, values

    def stands(self, value: Value) -> bool:
        """Whether the function would have an array or number of NumPy's for this value."""
        return value not in self.shown

    def goes_on(self, tensor: Any, after: Value) -> None:
        """What a Tensor is to the function stays when a write makes it another value."""
        if self._stands_in(tensor):
            self.shown.discard(after)
        else:
            self.shown.add(after)

    def _from_stand_ins(self, operands: Sequence[Any]) -> bool:
        """Whether NumPy would have computed it: all Tensors that it is of stand for arrays."""
        of = [x for x in operands if hasattr(x, "_traced")]
        return bool(of) and all(map(self._stands_in, of))

    def _stands_in(self, tensor: Any) -> bool:
        """Whether a Tensor stands for an array, which may be the function's own."""
        traced = tensor._traced
        if traced is not None and traced[0] is self:
            return self.stands(traced[1])
        return any(tensor is x for x in self.filled)

    def _check_type(self, op: Any, array: Any, type: ArrayType) -> None:
        shape = tuple(self.sizes.value(dim) for dim in type.shape)
        if isinstance(array, np.ndarray | np.generic):
            if array.shape == shape and array.dtype.name == type.dtype and not type.weak:
                return
        elif type.may_be_python or (type.dtype == "bool" and isinstance(array, bool)):
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

    # -- samples --------------------------------------------------------------------------------

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raises where a run on samples does what only the real values can decide.

        The function may catch it: whoever began the run asks for `refused`.
        """
        origin = self.origin()
        line = f" at {origin.file}:{origin.line} ({origin.text.strip()})" if origin.line else ""
        error = ArgumentError(
            "the function is called with JAX tracers, whose values are not known yet, and "
            f"{what}{line}: {instead}"
        )
        self.refused = self.refused or error
        raise self.refused

    @property
    def catches(self) -> bool:
        """Whether the function that runs may catch an exception that is raised now."""
        return self.world is not None and self.world.machine.catches

    def notes_exception(self, what: str, times: int = 1) -> None:
        """The numbers of this run raised an exception, which the function may catch."""
        self.raised = self.raised or raising_ops.caught(what)
        self.exceptions += times

    def raises(self, error: Exception) -> None:
        """Raises for an exception of C code in a run on samples: other values may raise none."""
        what = f"raises {type(error).__name__} ({error}) for samples of them"
        self.refuse(what, RAISING)

    # -- what Python looks at -------------------------------------------------------------------

    def look(self, value: Value, kind: str, outcome: Number) -> Number:
        """Python read the value: the program holds while reading gives what this returns.

        That is what was read, but in a run that takes all ways.
        """
        if self.explorer is not None:
            outcome = self.explorer.outcome(kind, outcome)
        elif self.choices is not None and kind == "bool":
            outcome = self.choices.outcome(value, outcome)
        elif self.samples and not (self.choices is not None and self.choices.knows(value)):
            if self.without_inputs(value):  # the outcome is no sample
                return outcome
            self.refuse(f"reads a value of it ({kind})", INSTEAD.get(kind, INSTEAD["float"]))
        for dim in value.type.shape:
            self.sizes.fix(self.sizes.resolve(dim))  # one element: every length is 1
        check = Check(value, kind, outcome, self.origin())
        self.builder.append(check)
        for watching in () if self.world is None else (self.world.loops, self.world.joins):
            if watching is not None:
                watching.looks(check)
        return outcome

    def _fix_lengths(self, value: Value) -> None:
        """The lengths of a value, and those that its operation was given, stay what they are."""
        node = self.builder.producer.get(value)
        given = [x for _, x in node.attributes] if isinstance(node, Call) else []
        waiting = [*value.type.shape, *given]
        while waiting:
            one = waiting.pop()
            if isinstance(one, tuple):
                waiting += one
            elif isinstance(one, Size):
                self.sizes.fix(self.sizes.resolve(one))

    def without_inputs(self, value: Value) -> bool:
        """Whether a value is made of arrays from outside alone; what they hold is guarded then.

        Calls that find other numbers there are traced again, so it is a constant of this run.
        """
        if self.world is None or self.generators.before:
            return False
        holders = {captured: holder for holder, captured in self.captured.values()}
        waiting, seen, found = [value], set[Value](), []
        while waiting:
            one = waiting.pop()
            if one in seen or self.builder.constant_of(one) is not None:
                continue
            seen.add(one)
            node = self.builder.producer.get(one)
            if one in holders:
                found.append((one, holders[one]))
            elif isinstance(node, Call) and not node.op.opaque:  # type: ignore[attr-defined]
                waiting += node.operands
            else:
                return False
        numbers = [isinstance(holder, int | float | np.generic) for _, holder in found]
        if self.samples and (any(numbers) or any(is_jax_tracer(holder) for _, holder in found)):
            return False
        for one in seen:
            self._fix_lengths(one)
        for (one, holder), number in zip(found, numbers, strict=True):
            if number:  # which no guard compares
                self.look(one, "item", np.asarray(holder).item())
            elif self.placed(holder):
                self.world.reads(holder)
        return True

    def note_reshape(self, x: Any, result: Any, axes: int = 2) -> None:
        """An array was reshaped, by its layout (not of fewer `axes`) as a view or a copy."""
        value = (in_trace(x) or (self, None))[1]
        for base in (base_of(x), base_of(result)):
            _, known, _, others = self.reshaped.get(id(base), (base, 2, x, ()))
            self.reshaped[id(base)] = base, min(axes, known), x, (*others, value)

    def note_write(self, base: Any) -> None:
        """Memory that the function made or was given is written, with all that look at it.

        Where an array was reshaped before, lengths and layouts decide who looks at it: then the
        program is for these lengths, and for arguments in C order.
        """
        if self.handed:
            self.blame(base)
        if self.world is not None and self.world.loops is not None:
            self.world.loops.writes(base)
        if self.world is not None and self.world.joins is not None:
            self.world.joins.writes(base)
        if self.world is not None and is_jax_array(self.world.original(base)):
            raise ArgumentError(
                f"{self.world.text_of(self.world.original(base))} is an array of JAX, which cannot "
                "be written to: write to a copy (.copy())"
            )
        self.note_views_of(base)

    def note_views_of(self, base: Any) -> None:
        """Memory is written, which arrays that were reshaped may look at."""
        base, axes, x, reshaped = self.reshaped.get(id(base), (base, 0, base, ()))
        if axes:
            if not all(lies_in_rows(self.builder, value) for value in reshaped):
                self.depends_on_order(axes)
            self.reshaped[id(base)] = base, axes, x, ()
            for _, value in (in_trace(base), in_trace(x)):  # type: ignore[misc]
                for axis in range(value.type.ndim):
                    self.look_at_length(value, axis)

    def hands_out(self, x: Any) -> np.ndarray:
        """The numbers of a Tensor for C code, which may keep them; it cannot write to them."""
        array = np.array(plain(x._array))
        array.flags.writeable = False
        origin = self.origin()
        line = f"{origin.file}:{origin.line}  {origin.text.strip()}" if origin.line else ""
        self.handed.append((ref(array), base_of(x), line))
        return array

    def blame(self, written: Any) -> None:
        """Raises where C code still has numbers of what is written."""
        for array, base, line in self.handed:
            if base is written and array() is not None:
                self.unprogrammed = Aliased(line)
                raise self.unprogrammed

    def blame_for(self, error: Exception) -> None:
        """Raises where C code may have failed to write to the numbers that it was given."""
        if self.handed and any(words in str(error) for words in _UNWRITABLE):
            self.unprogrammed = Aliased(self.handed[-1][2])
            raise self.unprogrammed

    def depends_on_order(self, axes: int) -> None:
        """The program is for inputs of so many axes or more that are in C order."""
        self.ordered_at = self.ordered_at or self._at_line()
        self.ordered = min(axes, self.ordered or axes)

    def derives(self, nodes: Sequence[Any], wanted: Sequence[Any]) -> None:
        """The function takes a derivative of what it has computed, by keys of the tape."""
        if self.world is not None:
            self.world.derives(nodes, wanted)

    def adds_gradients(self) -> None:
        """The function goes back to leaves of its own, whose gradients change."""
        if self.world is not None and self.world.loops is not None:
            self.world.loops.adds_gradients()

    def read(self, what: str) -> None:
        """Python read a value in a way that no look stands for: no program stands for this run."""
        if self.samples:
            self.refuse(f"reads {what}", INSTEAD["float"])
        if self.world is not None and self.world.loops is not None:
            self.world.loops.bars(f"Python reads {what}")
        self.unseen = self.unseen or f"{what}{self._at_line()}"

    def _at_line(self) -> str:
        origin = self.origin()
        return f" ({origin.file}:{origin.line})" if origin.line else ""

    def look_at_shape(self, value: Value) -> tuple[int, ...]:
        """Python read the shape: its lengths are constants from here on.

        ``x.shape[0]`` reads one length, and only that one is fixed.
        """
        index = constant_index()
        dims = value.type.shape
        if index is not None and -len(dims) <= index < len(dims):
            self.look_at_length(value, index)
            return tuple(map(self.sizes.value, dims))
        return tuple(self.look_at_length(value, axis) for axis in range(len(dims)))

    def look_at_length(self, value: Value, axis: int) -> int:
        """Python read one length."""
        length = self.sizes.resolve(value.type.shape[axis])
        if isinstance(length, Size):
            origin = self.origin()
            self.looked_at[str(length)] = f"{origin.file}:{origin.line}" if origin.line else ""
        return self.sizes.fix(length)

    def span_of(self, start: Any, stop: Any, step: Any, length: Dim) -> Dim | None:
        """How far apart the ends of a slice are, where it lies within its axis in all turns."""
        if self.world is None or self.world.loops is None:
            return None
        return self.world.loops.span_of(start, stop, step, length)  # type: ignore[no-any-return]

    def count_true(self, mask: Value, array: Any, is_length: bool = True) -> Dim:
        """The number of True in a mask: a length that only the data tell.

        Masks that are the same computation have one count. Where a shape needs the count to be
        something (or the target wants its lengths beforehand), it is looked at. Where it need be no
        length, it is the number of now, unless it is one already.
        """
        key, count = self._computation(mask), int(np.count_nonzero(array))
        if not is_length:
            known = self.known_count(key)
            return count if known is None else known
        return self.length_of(key, mask, count)

    def known_count(self, key: Hashable) -> Dim | None:
        """The number of True in a mask that something asked for on this path."""
        known = self.counts.get(key)
        return None if isinstance(known, Size) and not self._is_here(known, key) else known

    def length_of(self, key: Hashable, teller: Value, count: int) -> Dim:
        """A length that a value tells: a mask, or how many there are."""
        known = self.known_count(key)
        if known is None:
            if self.static_lengths:
                self._look_at_count(teller, count)
                known = count
            else:
                known = self.sizes.new(count, partial(self._look_at_count, teller))
                self.masks[str(known.symbol())] = teller
            self.counts[key] = known
        elif isinstance(known, Size):
            self.sizes.seen[str(known.symbol())] = count
        return known

    def _is_here(self, count: Size, key: Hashable) -> bool:
        """Whether there is the mask of a count: one that was not computed in another arm alone."""
        mask = self.masks.get(str(count.symbol()))
        return mask in (None, key) or mask in self.inputs or mask in self.builder.producer

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
        if self.samples:
            self.refuse("has an array whose length a mask decides", COUNTED)
        if self.finished:
            raise TraceError("the number of elements that a mask selects decides a shape")
        self.closed = True
        total = mask
        if mask.type.dtype == "bool":
            given = {"axis": None, "keepdims": False}
            (total,) = self.builder.call(sum_over, (mask,), self.origin(), **given)
        self.look(total, "int", count)
