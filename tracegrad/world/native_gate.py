"""What C code does with the objects of a run: each operation has a rule, or is not known.

A rule looks at the operands that are outside: what the operation reads of them becomes guards, what
it changes an effect. An operation without a rule makes the run no program.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import operator
import sys
from collections import defaultdict, deque, namedtuple
from importlib.util import resolve_name
from itertools import chain, cycle, islice, starmap, zip_longest
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from codegen.types import BFLOAT16
from tracegrad.machine import natives
from tracegrad.ops.shape.indexing import getitem
from tracegrad.tape.grad_mode import is_grad_enabled
from tracegrad.tape.views import memory_shown
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tensors.whole_numbers import with_ints
from tracegrad.values.dispatch import is_jax_array
from tracegrad.world import native_tables
from tracegrad.world.array_to_tensor import holds_recorded
from tracegrad.world.callable_names import is_known, text_of_key
from tracegrad.world.code_origin import is_mutable, is_trusted
from tracegrad.world.container_changes import extend, update
from tracegrad.world.guards import ATTRIBUTE, CALLED, GLOBAL, ITEM, MISSING, PLAIN, PRESENT
from tracegrad.world.interception import JOINING, holds_tensors, instead, of_sparse
from tracegrad.world.joined_containers import joins
from tracegrad.world.loops.iterators_of_several import makes_of
from tracegrad.world.mutating_operations import changes_itself
from tracegrad.world.native_reads import (
    compared,
    contents,
    followed,
    guard_length,
    is_nan,
    items_alone,
    sequence_alone,
    with_plain_keys,
)
from tracegrad.world.numbers_of_arrays import is_traced_index
from tracegrad.world.tensor_histories import refuse_history_read
from tracegrad.world.tensor_places import ATTRIBUTE as OF_OBJECT
from tracegrad.world.untraced_world import (
    are_one,
    attribute_of_tensor,
    class_of_tensor,
    flags,
    identity_of,
    is_of_arrays,
    is_of_class,
)
from tracegrad.world.world import RULES, World, rule_for

Operands = tuple[Any, ...]
Keywords = dict[str, Any]
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


# -- operators ------------------------------------------------------------------------------------


def compute(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """What depends on the values of its operands alone."""
    if joins(operation, operands):
        return _join(world, operation, operands)
    for x in operands:
        kind = type(x)
        if kind is not Tensor and kind not in native_tables.ATOMS:
            own = of_sparse(operation, operands)
            if own is not None:
                return own()
            with world.calls_of(native_tables.SPECIAL_TO_OPERATORS):
                operands = tuple([_operand(world, x, operands) for x in operands])
            if id(operation) in native_tables.COMPARISONS:
                operands = compared(world, operands)
            if id(operation) not in native_tables.IN_PLACE and world.trace is not None:
                operands = tuple([_recorded(world, x) for x in operands])
            break
    return operation(*operands, **keywords)


def _join(world: World, operation: Any, operands: Operands) -> Any:
    """Containers are joined; where that makes no new one, it is the one that was given."""
    given = [sequence_alone(world, x) for x in operands]
    made = operation(*given)
    return next((x for x, y in zip(operands, given, strict=True) if y is made), made)


def _operand(world: World, x: Any, operands: Operands) -> Any:
    """What C code reads of an operand; an array of JAX's leaves the operator to a Tensor."""
    if is_jax_array(x) and any(type(y) is Tensor for y in operands):
        return world.tensor_of_jax(x)
    return contents(world, x)


def _recorded(world: World, x: Any) -> Any:
    """An array of bfloat16 as a Tensor: NumPy makes float32 of it beside a number of Python's."""
    if type(x) is not np.ndarray or x.dtype != BFLOAT16:
        return x
    return wrap(x, (world.trace, world.trace.capture(x, world.trace.origin())))


for _operation in vars(operator).values():
    if id(_operation) in native_tables.OPERATORS:
        RULES[id(_operation)] = compute


@rule_for(*native_tables.IN_PLACE.values())
def compute_in_place(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    x = operands[0]
    if isinstance(x, tuple) and not changes_itself(operation, x):
        return compute(world, getattr(operator, operation.__name__[1:]), operands, keywords)
    if operation is operator.iadd and type(x) in (list, deque):
        extend(world, type(x).extend, operands, {})
        return x
    if operation is operator.ior and type(x) in (dict, set) and type(operands[1]) is type(x):
        update(world, type(x).update, operands, {})
        return x
    if type(x) is not Tensor and changes_itself(operation, x):
        world.changes(x)
        if isinstance(x, list | dict | set | deque):
            world.puts(operands, keywords)
    return operation(x, *[contents(world, y) for y in operands[1:]])


@rule_for(operator.is_, operator.is_not)
def compare_identity(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    operands = flags(operands)
    world.compares(*operands)
    if world.loops is not None:
        world.loops.compares(*operands)
    return are_one(world, operation, tuple(map(world.numbers.as_read, operands)), keywords)


@rule_for(natives.is_item)
def find_item(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    """A number is found by its value: who it is decides of NaN alone, which is equal to nothing."""
    if world.may_be_one_number(*operands) and not any(map(is_nan, operands)):
        return False
    return compare_identity(world, operation, operands, keywords)


@rule_for(operator.getitem)
def get_item(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    x, key = operands
    kind = type(x)
    key = world.key(x, key)
    if kind is Tensor:
        return x[contents(world, key)]
    if any(x is joining for joining in JOINING):
        own = instead(operation, (x, contents(world, key)), keywords)
        return x[key] if own is None else own()
    if (x is np.mgrid or x is np.ogrid) and not holds_recorded(key):
        return x[key]
    if not world.is_outside(x):
        by_tensors = type(key) is tuple and holds_tensors(key)
        by_tensors |= type(key) in (slice, tuple) and holds_recorded(key)
        by_tensors |= type(key) is Tensor and (key.ndim > 0 or is_traced_index(key))
        if kind is np.ndarray and by_tensors and not x.dtype.hasobject:
            return getitem(x, contents(world, key))
        return x[key if kind in native_tables.CONTAINERS else contents(world, key)]
    text = world.text_of(x)
    if isinstance(x, tuple):
        if type(key) is int and -len(x) <= key < len(x):
            return world.item_of_tuple(x, key)
        return items_alone(world, x)[key]
    if kind in (list, deque):
        if type(key) is int and -len(x) <= key < len(x):
            return world.item(x, key)
        return items_alone(world, x)[key]  # a slice hands the items on
    if isinstance(x, dict | MappingProxyType):
        if key in x:
            return world.read(GLOBAL, x, key, x[key], f"{text}[{text_of_key(key)}]")
        if kind is defaultdict:
            world.effect(text)
        world.guard(PRESENT, x, key, False, f"{text_of_key(key)} in {text}")
        return x[key]
    if kind is np.ndarray:
        if x.dtype.hasobject and type(key) is int and x.ndim == 1 and -len(x) <= key < len(x):
            return world.read(ITEM, x, key, x[key], f"{text}[{key}]")
        return contents(world, x)[contents(world, key)]
    return contents(world, x)[key]


@rule_for(operator.contains)
def contain(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    x, item = operands
    item = world.key(x, item)
    if world.is_outside(x) and isinstance(x, dict | set | MappingProxyType):
        found = item in x
        world.guard(PRESENT, x, item, found, f"{text_of_key(item)} in {world.text_of(x)}")
        return found
    by_key = isinstance(x, dict | set | frozenset | MappingProxyType)  # items are not compared
    if by_key and not world.is_outside(x):
        return bool(operation(x, contents(world, item)))
    given = contents(world, x), contents(world, item)
    return bool(operation(*(given if by_key else compared(world, given))))


@rule_for(len)
def length(world: World, operation: Any, operands: Operands, keywords: Keywords) -> int:
    guard_length(world, operands[0])
    return len(*operands)


@rule_for(bool, operator.truth)
def truth(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    for x in operands:
        guard_length(world, x)
    return bool(*operands)


@rule_for(natives.import_name)
def import_module(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """``import name``: of a module that is loaded, a place in `sys.modules`."""
    _, name, names, _, _, level = operands
    if level:
        name = resolve_name("." * level + name, names.get("__package__") or "")
    known = name in sys.modules
    module = operation(*operands)
    if not known:
        world.effect(f"import {name}")
    return _module(world, module)


@rule_for(natives.import_from)
def import_from(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """``from module import name``"""
    module, name = operands
    if isinstance(module, ModuleType) and name in vars(module):
        return world.own_attribute(module, name)
    value = operation(module, name)
    return _module(world, value) if isinstance(value, ModuleType) else value


def _module(world: World, module: Any) -> Any:
    """A module that stands in `sys.modules`."""
    name = getattr(module, "__name__", "")
    if isinstance(module, ModuleType) and is_trusted(vars(module)):
        return world.enter(module, name)
    if sys.modules.get(name) is not module:
        world.effect(f"import {name}")
    return world.read(GLOBAL, sys.modules, name, module, name)


@rule_for(iter)
def iterate(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    x = operands[0]
    if not world.is_outside(x):
        return iter(*operands)
    if type(x) in native_tables.ITERATORS:
        world.effect(f"{world.text_of(x)}, an iterator that is used up,")
        return iter(*operands)
    return iter(followed(world, x), *operands[1:])


@rule_for(
    *(list, tuple, dict, deque, enumerate, zip, reversed),
    *(natives.unpack_sequence, natives.unpack_starred),
    *(natives.list_extend, natives.list_to_tuple),
)
def move(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """What reads which items there are, and nothing of an item."""
    for x in operands:
        if type(x) in native_tables.ITERATORS and world.is_outside(x):
            world.effect(f"{world.text_of(x)}, an iterator that is used up,")
    if operation is deque:  # whose length is a number of Python's
        operands = (*operands[:1], *map(with_ints, operands[1:]))
        keywords = {name: with_ints(x) for name, x in keywords.items()}
    made = operation(*[followed(world, x) for x in operands], **keywords)
    if world.loops is not None and hasattr(type(made), "__next__"):
        makes_of(world.loops, made, operands)
    return with_plain_keys(world, made)


@rule_for(map, starmap, chain, islice, cycle, zip_longest)
def go_through(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """Iterators that hand on items of others, or what a function makes of them."""
    for x in operands:
        if type(x) in native_tables.ITERATORS and world.is_outside(x):
            world.effect(f"{world.text_of(x)}, an iterator that is used up,")
    return operation(*[followed(world, x) for x in operands], **keywords)


@rule_for(SimpleNamespace)
def make_namespace(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    return operation(*[items_alone(world, x) for x in operands], **keywords)


@rule_for(tuple.__new__)
def make_tuple(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """A tuple, or a named one, of what something gives."""
    cls, *given = operands
    if isinstance(cls, type):
        world.may_end(cls)
    return move(world, operation, (cls, *given), keywords)


@rule_for(natives.dict_merge, natives.dict_update)
def merge(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """``f(**x)``, ``{**x}``"""
    made, x, *rest = operands
    return operation(made, items_alone(world, x), *rest)


@rule_for(super)
def parent(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """``super(cls, x)``, which reads nothing of an object"""
    return super(*operands)


@rule_for(next)
def advance(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    if world.is_outside(operands[0]):
        world.effect(f"{world.text_of(operands[0])}, an iterator that is used up,")
        world.runs_unseen(next, operands)
    return next(*operands)


# -- questions about an object -------------------------------------------------------------------


@rule_for(type)
def class_of(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    if len(operands) == 1 and type(operands[0]) is not Tensor:
        return world.type_of(operands[0])
    if len(operands) != 3:
        return class_of_tensor(world, operation, operands, keywords)
    derive(world, operands[1])
    made: type = class_of_tensor(world, operation, operands, keywords)
    world.makes(made)
    return made


def derive(world: World, bases: Any) -> None:
    """A class is made: its bases may be told, in Python."""
    for base in bases if type(bases) is tuple else ():
        told = world.class_attribute(base, "__init_subclass__")
        if not isinstance(told, ClassMethodDescriptorType):
            world.effect(f"{base.__name__}.__init_subclass__()")


@rule_for(callable)
def may_be_called(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    (x,) = operands
    if type(x) is not Tensor:
        world.type_of(x)
        if is_mutable(type(x)):
            world.class_attribute(type(x), "__call__")
    return callable(x)


@rule_for(isinstance)
def is_instance(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    x = operands[0]
    if type(x) is not Tensor:
        world.order_of(world.type_of(x))
    return is_of_class(world, operation, operands, keywords)


@rule_for(issubclass)
def derives(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    for x in operands:
        if isinstance(x, type):
            world.order_of(x)
    return issubclass(*operands)


@rule_for(hash)
def hashed(world: World, operation: Any, operands: Operands, keywords: Keywords) -> int:
    world.pin(operands[0])
    return hash(*operands)


@rule_for(id)
def identity(world: World, operation: Any, operands: Operands, keywords: Keywords) -> int:
    (x,) = operands
    if not world.copies_deeply:
        world.pin(x)
    frame = world.machine.frame
    if world.loops is not None:
        world.loops.compares(x)
    if type(x) is Tensor or world.original(x) is not x:
        world.compares(x, world)
    elif not (world.is_outside(x) or (frame is not None and is_trusted(frame.globals))):
        world.effect("id()")  # another one on every call; Python's own modules take it for a key
    return identity_of(world, operation, operands, keywords)


@rule_for(getattr, object.__getattribute__, type.__getattribute__, ModuleType.__getattribute__)
def get_attribute(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    x, name = operands[:2]
    if type(x) is Tensor:
        if name in ("requires_grad", "grad_fn", "is_leaf"):
            world.asks_mode()
        refuse_history_read(world, x, name)
        original = world.original(x)
        if name == "requires_grad" and type(original) is Tensor and not world.tapes:
            return original.requires_grad  # that of an argument is in the key
        if type(original) is np.ndarray and is_of_arrays(name):
            if world.is_outside(original) and name in ("flags", "strides"):
                world.reads(original)
            else:
                world.effect(f".{name} of an array")
        of_jax = is_jax_array(original) and type(name) is str and not hasattr(Tensor, name)
        if of_jax and name != "at":
            world.effect(f".{name} of an array of JAX")
            return operation(original, *operands[1:])
        value = attribute_of_tensor(world, operation, operands, keywords)
        if name == "grad" and world.is_outside(x):
            return world.read(ATTRIBUTE, x, name, value, f"{world.text_of(x)}.grad")
        return value
    if isinstance(x, type) and is_mutable(x):
        return _of_class(world, x, name, operation(*operands))
    if not world.is_outside(x):
        return operation(*operands)
    try:
        value = operation(*operands)
    except AttributeError:
        if type(name) is str and type(x) not in native_tables.ATOMS:
            world.guard(ATTRIBUTE, x, name, MISSING, f"{world.text_of(x)}.{name}")
        raise
    methods = BuiltinFunctionType | MethodType | MethodWrapperType
    if (isinstance(value, methods) and any(value.__self__ is y for y in (x, type(x)))) or (
        type(x) in native_tables.ATOMS and not isinstance(x, ModuleType | FunctionType)
    ):
        return value
    if name == "__dict__":
        world.owns(x, value)
        return value
    if type(value) in PLAIN or operation(*operands) is value:
        return world.read(ATTRIBUTE, x, name, value, f"{world.text_of(x)}.{name}")
    if type(x) is np.ndarray:
        world.reads(x)
    elif not is_known(x):
        world.effect(f"{world.text_of(x)}.{name}")
    return value


def _of_class(world: World, cls: type, name: str, value: Any) -> Any:
    """What a class says of itself: its name, its bases, its dictionary."""
    if name == "__dict__":
        scope = world.scope_of(cls)
        world.enter(scope, f"{cls.__name__}.__dict__")
        return scope
    if type(value) in PLAIN or getattr(cls, name) is value:
        return world.read(ATTRIBUTE, cls, name, value, f"{cls.__name__}.{name}")
    return value  # bound anew each time


@rule_for(
    *(_abc._abc_instancecheck, _abc._abc_subclasscheck),
    *(abc.ABCMeta.__instancecheck__, abc.ABCMeta.__subclasscheck__),
)
def check_class(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    """``isinstance`` of an abstract class: others may be registered with it."""
    cls, x = operands
    asked = x if isinstance(x, type) else x.__class__
    found = issubclass(asked, cls)
    text = f"issubclass({asked.__name__}, {cls.__name__})"
    world.guard(CALLED, issubclass, (asked, cls), found, text)
    return found if type(x) is Tensor else bool(operation(*operands))


@rule_for(MemberDescriptorType.__get__, GetSetDescriptorType.__get__)
def bind_in_c(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """A descriptor of C gives the attribute of an object."""
    found, x, *_ = operands
    if x is not None and isinstance(found, MemberDescriptorType | GetSetDescriptorType):
        return get_attribute(world, getattr, (x, found.__name__), {})
    return operation(*operands)


@rule_for(type(namedtuple("_", "a").a).__get__)  # type: ignore[attr-defined]
def field(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """An attribute of a named tuple."""
    found, x, *_ = operands
    value = operation(*operands)
    if x is None or not world.is_outside(x):
        return value
    place = found.__reduce__()[1][0]
    return world.item_of_tuple(x, place, f"{world.text_of(x)}.{x._fields[place]}")


@rule_for(is_grad_enabled)
def get_mode(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    world.asks_mode()
    return is_grad_enabled()


@rule_for(np.shares_memory, np.may_share_memory)
def share(world: World, operation: Any, operands: Operands, keywords: Keywords) -> bool:
    world.effect("who shares memory with whom")
    arrays = [memory_shown(x, world.original) for x in operands[:2]]
    return bool(operation(*arrays, *operands[2:], **keywords))


@rule_for(setattr, delattr, *(c.__setattr__ for c in (object, type, ModuleType)))
def set_attribute(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    if len(operands) == 3:
        if world.is_outside(operands[0]):
            world.about_to_set(operands[0], operands[1])
        world.writes(OF_OBJECT, *operands)
    else:
        world.tell_of_removal()
        world.about_to_remove(*operands)
    operation(*operands)


@rule_for(*(c.__delattr__ for c in (object, type, ModuleType)))
def delete_attribute(world: World, operation: Any, operands: Operands, keywords: Keywords) -> None:
    set_attribute(world, operation, operands, keywords)
