"""The world of a function that runs without a trace: its Tensors answer as what they stand for."""

from __future__ import annotations

import operator
from abc import ABCMeta
from collections import _count_elements, deque  # type: ignore[attr-defined]
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from tracegrad import machine
from tracegrad.autograd import engine
from tracegrad.errors import ConversionError, MemoryAccessError
from tracegrad.machine import natives
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF
from tracegrad.tensors.devices import bare
from tracegrad.tensors.jax_updates import Updates, beside
from tracegrad.tensors.tensor import Tensor
from tracegrad.traced_scipy.sparse import Sparse
from tracegrad.user_code.lost_gradients import refuse
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import SEQUENCES, is_jax_array
from tracegrad.values.prng_keys import Key
from tracegrad.values.pytree import map_tree
from tracegrad.world import native_tables
from tracegrad.world.array_to_tensor import Operands
from tracegrad.world.callable_names import is_library
from tracegrad.world.code_origin import is_interpreted, is_of_tracegrad
from tracegrad.world.equal_keys import HASHING, PARTS, rekey
from tracegrad.world.interception import as_key, instead, run_native, stacked
from tracegrad.world.native_readers import is_of_machine, refuse_written
from tracegrad.world.numbers_for_functions import number_of
from tracegrad.world.outside_writes import Copies, OutsideWrites
from tracegrad.world.stand_ins import StandIns
from tracegrad.world.tensor_places import ATTRIBUTE, ITEM, Kept, added


class Answers(StandIns):
    """Runs what the function asks, and answers questions about its Tensors."""

    def __init__(self, tapes: bool) -> None:
        super().__init__()
        self.keeps_histories = tapes
        self.outside = OutsideWrites()
        self.kept_as_given = Kept(self._originals)  # where Tensors stay what they are
        self.own: dict[int, Any] = {}  # Tensors that the function itself made
        self._leaves_within: dict[int, Tensor] = {}  # of derivatives that it has taken

    def native(self, operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
        copies: Copies = {}
        if self.outside:
            given = self.outside.given(operation, operands, keywords, copies)
            operation, operands, keywords = given
        return self.outside.handed_on(super().native(operation, *operands, **keywords), copies)

    def tensor_in_place_of(
        self, array: np.ndarray, operands: Operands | None, recorded: bool = True
    ) -> Tensor:
        try:
            return super().tensor_in_place_of(array, operands, recorded)
        except ConversionError:
            if STATE.trace is not None:
                raise
            return self.outside.enter(self, array)

    def returned(self, value: Any) -> Any:
        return map_tree(self.outside.tensor_of, value) if self.outside else value

    def original(self, x: Any) -> Any:
        return super().original(self.outside.array_of(x))

    def calls_natively(self, thing: Any, name: str) -> None:
        refuse_written(thing, name, self.written_over())

    def written_over(self) -> list[np.ndarray]:
        return self.outside.roots()

    def settle(self) -> None:
        """The run is over: what it wrote outside is arrays and numbers again."""
        self.kept.settle(self.shown)
        self.kept_as_given.settle(lambda x, tensor: self.original(x))
        self.outside.settle()

    def writes(self, kind: int, holder: Any, name: Any, value: Any) -> None:
        kept = self.kept if STATE.standing else self.kept_as_given
        kept.writes(kind, holder, name, value)

    def puts(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        kept = self.kept if STATE.standing else self.kept_as_given
        kept.puts(operands[0], added(operands, keywords))

    def shown(self, x: Tensor, tensor: bool) -> Any:
        """What a Tensor is that the function leaves in a place where a Tensor stood, or none."""
        original = self.original(x)
        if original is not x or self.is_own_leaf(x) or x._node is LEAF:  # that is from outside
            return original
        view = self.outside.left(x)
        if view is not None:
            return view
        if self.keeps_histories and x._node is not None and self.goes_outside(x):
            return x
        if not (tensor or id(x) in self.own):
            return bare(x)
        return x.detach() if x.requires_grad else x

    def differentiates_by(self, leaves: Iterable[Tensor]) -> None:
        self._leaves_within.update((id(leaf), leaf) for leaf in leaves if leaf._node is LEAF)

    def goes_outside(self, x: Tensor) -> bool:
        if not self._leaves_within:
            return True
        leaves = engine.leaves_of(engine.left_behind([x]), [x])
        return any(id(leaf) not in self._leaves_within for leaf in leaves)

    def interprets(self, function: FunctionType) -> bool:
        return is_interpreted(function.__globals__)

    def perform(self, operation: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
        rule = _RULES.get(id(operation))
        if rule is None and id(operation) in native_tables.CHANGING and _is_container(operands[0]):
            rule = change
        if rule is not None:
            return self.shows(
                operation, operands, keywords, rule(self, operation, operands, keywords)
            )
        unknown = native_tables.is_unknown(operation)
        if self.outside:
            given = [*operands, *keywords.values()]
            if not (unknown or is_library(operation)):
                given = [x for x in given if type(x) in _RUNNING]
            self.runs_unseen(operation, given)
        if unknown and not (operands and is_of_machine(operands[0])):
            operands, keywords = self.given_away(operation, operands, keywords)
        if id(operation) in native_tables.OPERATORS and Tensor in map(type, operands):
            operands = tuple([beside(operands, x) if is_jax_array(x) else x for x in operands])
        if keywords or any(type(x) in _MAY_HOLD for x in operands):
            operands = _by_key(self, operation, operands)
            own = instead(operation, operands, keywords)
            if own is not None:
                return own()
            made = stacked(operation, operands, keywords)
        else:
            made = run_native(operation, operands, keywords)
        makes = isinstance(operation, type) or getattr(operation, "__name__", "") == "fromkeys"
        if makes and isinstance(made, dict):
            rekey(made, partial(_plain_key, self))
        return self.shows(operation, operands, keywords, made)


def set_item(world: StandIns, operation: Any, operands: Any, keywords: Any) -> None:
    """``x[key] = value``"""
    x, key, value = operands
    if isinstance(x, dict):
        key = _plain_key(world, key)
    if isinstance(x, list) and isinstance(key, slice) and isinstance(value, Iterable):
        value = list(value)  # once: it may be an iterator
    if isinstance(x, dict | list | deque):
        world.writes(ITEM, x, key, value)
    elif type(x) is np.ndarray and x.dtype == object:
        world.puts(operands, keywords)
    operation(x, key, value)


def _plain_key(world: StandIns, x: Any) -> Any:
    """A key as the caller has it: a number for a Tensor that stands for one, or its Tensor."""
    if type(x) in PARTS:
        items = [*x]
        found = [_plain_key(world, item) for item in items]
        return x if all(map(operator.is_, found, items)) else type(x)(found)
    if type(x) is not Tensor:
        return x
    if is_array_to_function(x):
        return as_key(x) if isinstance(x._array, _NUMBERS) else x
    original = world.original(x)
    return original if type(original) is Tensor else x


def _by_key(world: StandIns, operation: Any, operands: Operands) -> Operands:
    """The operands of an operation, where the first finds what it holds by the second."""
    if len(operands) < 2 or not issubclass(type(operands[0]), HASHING):
        return operands
    if not issubclass(getattr(operation, "__objclass__", Tensor), HASHING):
        if operation is _count_elements:
            return operands[0], [_plain_key(world, item) for item in operands[1]]
        if operation not in _BY_KEY:
            return operands
    x, key, *rest = operands
    return x, _plain_key(world, key), *rest


def set_attribute(world: StandIns, operation: Any, operands: Any, keywords: Any) -> None:
    """``setattr(x, name, value)``"""
    world.writes(ATTRIBUTE, *operands)
    operation(*operands)


def change(world: StandIns, operation: Any, operands: Any, keywords: Any) -> Any:
    """A method that changes a container."""
    operands = _by_key(world, operation, operands)
    world.puts(operands, keywords)
    x = operands[0]
    if operation.__name__ not in _PUTTING_ALL or not _is_container(x):
        return operation(*operands, **keywords)
    try:
        with filling(world, x):
            return operation(*operands, **keywords)
    finally:
        if isinstance(x, dict):
            rekey(x, partial(_plain_key, world))


@contextmanager
def filling(world: StandIns, x: Any) -> Iterator[None]:
    """Around a method that fills a container: what an iterator gives is known once it is there."""
    if not _is_container(x):
        yield
        return
    before = set(map(id, _items(x)))
    try:
        yield
    finally:
        world.puts((x, [item for item in _items(x) if id(item) not in before]), {})


def _items(x: Any) -> list[Any]:
    """What a container holds; no code of a user runs."""
    if isinstance(x, dict):
        return [*dict.values(x)]
    kind = next(kind for kind in (list, set, deque) if isinstance(x, kind))
    return [*kind.__iter__(x)]


def _is_container(x: Any) -> bool:
    return isinstance(x, list | dict | set | deque)


def flags(operands: Operands) -> Operands:
    """Two bools as they are, if a Tensor stands for one: there is one True, which is looked at."""
    kinds = {x.__class__ for x in operands}
    if Tensor not in map(type, operands) or len(kinds) > 1 or not kinds <= {bool, np.bool_}:
        return operands
    (kind,) = kinds
    return tuple([kind(bool(x)) for x in operands])


def are_one(world: StandIns, operation: Any, operands: Any, keywords: Any) -> bool:
    """``x is y``"""
    a, b = map(world.original, flags(operands))
    return bool(operation(a, b))


def identity_of(world: StandIns, operation: Any, operands: Any, keywords: Any) -> int:
    """``id(x)``"""
    return id(world.original(*operands))


def class_of_tensor(world: StandIns, operation: Any, operands: Any, keywords: Any) -> Any:
    """``type(x)``"""
    if len(operands) == 1 and type(operands[0]) is Tensor:
        return operands[0].__class__
    return type(*operands, **keywords)


def is_of_class(world: StandIns, operation: Any, operands: Any, keywords: Any) -> bool:
    """``isinstance(x, cls)``: what stands for an array or number is no Tensor, but to tracegrad."""
    x, cls = operands
    frame = None if STATE.machine is None else STATE.machine.frame
    if type(x) is not Tensor or (frame is not None and is_of_tracegrad(frame.globals)):
        return isinstance(x, cls)
    return issubclass(x.__class__, cls)


def is_of_abstract_class(world: StandIns, operation: Any, operands: Any, keywords: Any) -> bool:
    """``isinstance(x, cls)`` with a class of `abc`."""
    cls, x = operands
    return is_of_class(world, isinstance, (x, cls), {})


def attribute_of_tensor(world: StandIns, operation: Any, operands: Any, keywords: Any) -> Any:
    """``x.name`` of a Tensor: one that stands for a number has what numbers have."""
    x, name = operands[:2]
    if type(x) is Tensor and name != "__class__":
        original = world.original(x)
        constant = name in ("item", "detach")  # which say that one is meant
        plain = x._array if type(x._array) in _NUMBERS and world.is_array_to_caller(x) else original
        if issubclass(type(plain), _NUMBERS) and not (constant or hasattr(plain, name)):
            return operation(plain, *operands[1:])
        if type(name) is str and not hasattr(Tensor, name):
            number = number_of(x)  # ``x.as_integer_ratio()``
            if number is not x and hasattr(number, name):
                if name == "as_integer_ratio":
                    refuse(x)
                return operation(number, *operands[1:])
        if name == "at":
            if not (STATE.of_jax or is_jax_array(original)):
                raise _updated_as_in_jax()
            return Updates(x)
        if type(name) is str and is_of_arrays(name) and issubclass(x.__class__, np.ndarray):
            return _of_memory(x, original, operation, operands)
    return operation(*operands)


def _of_memory(x: Tensor, original: Any, operation: Any, operands: Any) -> Any:
    """An attribute of NumPy's arrays that is about how they lie in memory, or gives it away.

    C code gets the numbers; a write to them, or to the array while it has them, ends a trace.
    """
    name = operands[1]
    if name in _OF_NUMBERS:
        return operation(x.__array__(), *operands[1:])
    if name in ("flags", "strides") and type(original) is np.ndarray:
        return operation(original, *operands[1:])
    raise MemoryAccessError(
        f".{name} of an array that tracegrad follows: its memory is known to programs alone. Take "
        f"it of an array outside of the function, or of tg.stop_gradient(x).numpy(){at_line()}"
    )


_OF_NUMBERS = frozenset({"byteswap", "dump", "dumps", "getfield", "setfield", "tofile"})


def _updated_as_in_jax() -> Exception:
    """``x.at``, which arrays of JAX have, and those of NumPy have not."""
    return MemoryAccessError(
        "x.at[i].set(v) of an array of NumPy's: write x = x.copy(); x[i] = v, and "
        f"np.add.at(x, i, v) for x.at[i].add(v){at_line()}"
    ).as_refusal(False)


def is_of_arrays(name: str) -> bool:
    """Whether NumPy's arrays have an attribute that Tensors lack."""
    return not hasattr(Tensor, name) and hasattr(np.ndarray, name)


_PUTTING_ALL = frozenset({
    *("extend", "extendleft", "update", "iadd", "__iadd__", "ior", "__ior__", "__init__"),
    *("iconcat", "ixor", "__ixor__", "symmetric_difference_update"),
})  # fmt: skip
_BY_KEY = (operator.getitem, operator.setitem, operator.delitem, operator.contains)
_NUMBERS = (bool, int, float, complex, np.generic)
_RUNNING = frozenset({memoryview, GeneratorType})
"""Types of which C code that is known runs, or reads, what they hold."""
_MAY_HOLD = frozenset({Tensor, Sparse, Key, *SEQUENCES, FunctionType, partial})


def pairs(world: StandIns, operation: Any, operands: Any, keywords: Any) -> Any:
    """``itertools.pairwise(x)`` reads a row once for each pair, as in programs."""
    if len(operands) == 1 and type(operands[0]) is Tensor and operands[0].ndim:
        x: Any = operands[0]
        behind = x[1:]
        return zip(x, behind, strict=False)
    return operation(*operands, **keywords)


_RULES: dict[int, Callable[..., Any]] = {
    id(operator.is_): are_one,
    id(operator.is_not): are_one,
    id(natives.is_item): are_one,
    id(id): identity_of,
    id(type): class_of_tensor,
    id(isinstance): is_of_class,
    id(ABCMeta.__instancecheck__): is_of_abstract_class,
    id(getattr): attribute_of_tensor,
    id(object.__getattribute__): attribute_of_tensor,
    id(operator.setitem): set_item,
    id(pairwise): pairs,
    **{id(setter): set_attribute for setter in (setattr, object.__setattr__)},
    **{key: change for key in (*native_tables.MUTATORS, id(_count_elements))},
}


@contextmanager
def interpreted(tapes: bool = False) -> Iterator[None]:
    """The functions that are called inside run under a machine that answers for Tensors.

    With `tapes` Tensors that they leave somewhere keep their history.
    """
    if STATE.machine is not None:
        yield
        return
    world = Answers(tapes)
    before = STATE.update(
        machine=machine.Machine(world),
        arrays=None,
        rewritten=False,
        own_leaves=world.own_leaves,
        own=world.own,
        saved=None,
    )
    try:
        yield
    finally:
        STATE.update(**before)
        world.settle()
