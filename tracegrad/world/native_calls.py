"""Calls of what is written in C, and of libraries: what they read and change of their operands."""

from __future__ import annotations

import operator
import re
import weakref
from collections import OrderedDict, deque
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from tracegrad.errors import ConversionError
from tracegrad.machine.calls import call as call_traced
from tracegrad.machine.calls import make_instance
from tracegrad.ops.dtypes import DEFAULT
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import is_number, is_numeric
from tracegrad.world import native_tables
from tracegrad.world.callable_names import (
    is_library,
    module_of,
    name_of_callable,
    read_by_c,
    run_natively,
    text_of_key,
)
from tracegrad.world.code_origin import is_mutable, is_trusted, slots_of
from tracegrad.world.container_changes import CHANGING
from tracegrad.world.container_copies import carried_back
from tracegrad.world.generic_functions import choose, chooses
from tracegrad.world.guards import CALLED, GLOBAL, ITEM, KEYS, PLAIN, PRESENT
from tracegrad.world.held_functions import enter_held
from tracegrad.world.interception import (
    holds_tensors,
    instead,
    stacked,
)
from tracegrad.world.jax_table import is_public
from tracegrad.world.jax_tree_calls import function_under_a_name, tree_function
from tracegrad.world.lru_caches import ask
from tracegrad.world.mutating_operations import changes_by_name
from tracegrad.world.native_gate import derive
from tracegrad.world.native_readers import is_vectorized
from tracegrad.world.native_reads import (
    compared,
    contents,
    is_in_python,
    items_alone,
    items_of,
    keys_of,
    sequence_alone,
    with_plain_keys,
)
from tracegrad.world.number_inputs import is_of_transforms
from tracegrad.world.numbers_for_functions import with_numbers_it_takes
from tracegrad.world.scipy_table import is_distribution
from tracegrad.world.untraced_world import filling
from tracegrad.world.world import CALL, RULES, World, rule_for

Operands = tuple[Any, ...]
Keywords = dict[str, Any]
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


_WEAK = (weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType)


def _is_instance_of_jax(callee: Any) -> bool:
    """Whether a method is how `isinstance` asks `jax.Array`, which looks at the class alone."""
    method = getattr(callee, "__func__", None) if type(callee).__module__ == "nanobind" else None
    return method is not None and method is vars(type(callee.__self__)).get("__instancecheck__")


def call(world: World, callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """A call of what is written in C, or of a library's Python."""
    if type(callee) is np.vectorize:
        callee = _vectorize(world, callee)
    named = function_under_a_name(callee)
    if named is not None:
        return call_traced(world.machine, named, operands, keywords)
    if type(callee) is native_tables.CACHED:
        return ask(world, callee, operands, keywords)
    if chooses(callee):
        return choose(world, callee, operands, keywords)
    if instead(callee, operands, keywords) is not None:  # it reads them as C code does
        read = [x if is_distribution(x) else contents(world, x) for x in operands]
        operands, keywords = tuple(read), _plain_keywords(world, keywords)
    own = instead(callee, operands, keywords)
    of_tree = tree_function(callee)
    if own is None and of_tree is not None:
        own = of_tree(world, *operands, **keywords)
    if own is not None:
        return own()
    of = module_of(callee)
    if _is_instance_of_jax(callee):
        return callee(*operands)
    if isinstance(callee, _WEAK):
        world.effect(f"{world.text_of(callee)}, a weak reference,")
    if isinstance(callee, type):
        return _make(world, callee, operands, keywords)
    if isinstance(callee, MethodDescriptorType | WrapperDescriptorType | ClassMethodDescriptorType):
        return _method(world, callee, operands, keywords)
    if isinstance(callee, BuiltinFunctionType | MethodWrapperType):
        bound = callee.__self__
        if bound is not None and not isinstance(bound, ModuleType):
            method = getattr(type(bound), callee.__name__, None)
            if isinstance(method, MethodDescriptorType | WrapperDescriptorType):
                return _method(world, method, (bound, *operands), keywords)
            if isinstance(bound, type) and callee.__name__ == "__call__":
                return make_instance(world.machine, bound, operands, keywords)
            if isinstance(bound, type):
                if callee.__name__ not in native_tables.MAKERS:
                    world.effect(f"{bound.__name__}.{callee.__name__}()")
                return _make(world, bound, operands, keywords, callee)
            world.effect(f"{name_of_callable(callee)}()")
    if is_library(callee):
        if _is_own(callee) and (function := getattr(callee, "_in_traces", None)) is not None:
            world.holds(callee, getattr(callee, "__wrapped__", function))
            return call_traced(world.machine, function, operands, keywords)
        return _library(world, callee, operands, keywords)
    if id(callee) in native_tables.CHANGES_FIRST:
        world.changes(operands[0])
        _reads_items(world, operands[0])
        world.puts(operands, keywords)
        rest = _plain(world, operands[1:])
        return callee(operands[0], *rest, **_plain_keywords(world, keywords))
    if of.partition(".")[0] not in native_tables.PURE_MODULES or _is_impure(callee):
        world.effect(run_natively(callee))
        world.runs_unseen(callee, (*operands, *keywords.values()))
        if native_tables.is_unknown(callee):
            operands, keywords = world.given_away(callee, operands, keywords)
        return callee(*operands, **keywords)
    operands, keywords = _called_back(world, operands, keywords)
    plain = tuple(_plain(world, operands))
    return with_numbers_it_takes(callee, plain, _plain_keywords(world, keywords))


RULES[CALL] = call


@rule_for(sorted)
def sort(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """Of items that have keys, C code compares the keys."""
    if keywords.get("key") is None:
        return call(world, operation, operands, keywords)
    items = [items_alone(world, x) for x in operands]
    return sorted(*items, **{name: contents(world, x) for name, x in keywords.items()})


@rule_for(re._compile)  # type: ignore[attr-defined]
def compile_pattern(world: World, operation: Any, operands: Operands, keywords: Keywords) -> Any:
    """``re.compile(text)``, by which ``re.match(text, ...)`` begins."""
    text, flags = _plain(world, operands)
    plain = type(text) in (str, bytes, re.Pattern) and type(flags) in (int, re.RegexFlag)
    if not plain or flags & re.DEBUG:
        world.effect("re.compile()")
    return operation(text, flags)


def _vectorize(world: World, callee: np.vectorize) -> np.vectorize:
    """The same one, of which each part is guarded; the machine executes its function."""
    names = ("pyfunc", "otypes", "excluded", "signature", "cache")
    parts = {name: world.machine.load_attribute(callee, name) for name in names}
    parts["excluded"] = contents(world, parts["excluded"])
    parts["pyfunc"] = world.machine.callback(parts["pyfunc"])
    return np.vectorize(**parts)


def _called_back(world: World, operands: Operands, keywords: Keywords) -> tuple[Any, Any]:
    """Operands of a function in C that may call them: the machine executes what it calls."""
    found = {name: _interpreted(world, x) for name, x in keywords.items()}
    return tuple([_interpreted(world, x) for x in operands]), found


def _interpreted(world: World, x: Any) -> Any:
    """A callable that the machine executes in place of one, or of those in a list."""
    if type(x) in (list, tuple) and any(map(_may_be_called, x)):
        return [_interpreted(world, item) for item in items_alone(world, x)]
    return world.machine.callback(x) if _may_be_called(x) else x


def _may_be_called(x: Any) -> bool:
    if isinstance(x, FunctionType | MethodType | BuiltinFunctionType | MethodWrapperType | partial):
        return not module_of(x).startswith(("tracegrad", "numpy"))
    return is_mutable(type(x)) and callable(x) and not isinstance(x, type)


def _is_impure(callee: Any) -> bool:
    return getattr(callee, "__name__", "") in native_tables.IMPURE


def _plain(world: World, operands: Operands) -> list[Any]:
    return [contents(world, x) for x in operands]


def _plain_keywords(world: World, keywords: Keywords) -> Keywords:
    return {name: contents(world, x) for name, x in keywords.items()}


def _make(
    world: World, cls: type, operands: Operands, keywords: Keywords, maker: Any = None
) -> Any:
    """A new object of a type in C, by the type or by a function of it (`__new__`)."""
    if issubclass(cls, type):
        for bases in operands:
            _makes_class(world, bases if type(bases) is tuple else ())
    _makes(world, cls.__module__ or "", operands)
    if issubclass(cls, _WEAK):
        world.effect("a weak reference")  # a version holds what it knows: nothing ends under it
    if issubclass(cls, type) and len(operands) > 2:
        derive(world, operands[-2])
    base = next(b for b in cls.__mro__ if "__new__" in vars(b))
    pure = id(base) in native_tables.PURE_TYPES or issubclass(cls, BaseException | np.generic)
    if not (pure or is_library(cls)):
        root = (cls.__module__ or "").partition(".")[0]
        if root not in native_tables.PURE_MODULES:
            world.effect(f"{cls.__name__}()")
    given = operands if cls in _KEEPING else _plain(world, operands)
    world.may_end(cls)
    named = _plain_keywords(world, keywords)
    made = with_numbers_it_takes(maker or cls, tuple(given), named)
    if issubclass(cls, type) and isinstance(made, type):
        world.makes(made)
    return with_plain_keys(world, made)


_KEEPING = frozenset((super, MethodType, FunctionType, *_WEAK))
"""Types whose objects keep what they are made of: to make one reads nothing of it."""


def _makes_class(world: World, bases: Operands) -> None:
    """A class derives from others, which may have a say in it."""
    for base in bases:
        for owner in base.__mro__ if isinstance(base, type) else ():
            if not is_mutable(owner):
                continue
            found = vars(owner).get("__init_subclass__")
            hook = getattr(found, "__func__", found)
            if hook is None:
                scope = world.scope_of(owner)
                text = f"{owner.__name__}.__init_subclass__"
                world.lacks(GLOBAL, scope, "__init_subclass__", text)
            elif not (type(hook) is FunctionType and is_trusted(hook.__globals__)):
                world.effect(f"{owner.__name__}.__init_subclass__()")


def _method(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    """A method of a type in C."""
    if type(operands[0]) is re.Pattern:
        operands, keywords = _called_back(world, operands, keywords)
    x, *rest = operands
    of, name = method.__objclass__, method.__name__
    world.happened += changes_by_name(x, name)
    if world.loops is not None:
        world.loops.sees_method(x, name, rest)
    rule = _METHODS.get((of, name))
    if rule is not None:
        made = rule(world, method, operands, keywords)
        if made is not NotImplemented:
            return made
    if name in _BY_KEY and rest and issubclass(of, dict | set | frozenset):
        rest[0] = world.key(x, rest[0], stays=name in _KEEPING_KEYS)
        operands = (x, *rest)
    if name in _SEARCHING:
        operands = compared(world, operands)
        rest = [*operands[1:]]
    if id(method) in native_tables.MUTATORS:
        world.changes(x)
        if name in _COMPARING and not keywords.get("key"):
            _reads_items(world, x)
        given, named = _plain(world, tuple(rest)), _plain_keywords(world, keywords)
        world.puts((x, *given), named)
        with filling(world, x) if name in _FILLING else nullcontext():
            result = method(x, *given, **named)
        if name in _FILLING:
            with_plain_keys(world, x)
        return result
    if of is object and name in ("__init__", "__init_subclass__", "__new__"):
        return method(*operands, **keywords)
    if name == "seed" and isinstance(x, native_tables.GENERATORS) and rest in ([], [None]):
        world.effect("a random seed of the system's")
    if not world.is_outside(x) and not (isinstance(x, type) and x not in _PLAIN_TYPES):
        if native_tables.is_unknown(method):
            world.runs_unseen(method, (*operands, *keywords.values()))
        if type(x) in native_tables.ITERATORS:
            return method(*operands, **keywords)
        named = _plain_keywords(world, keywords)
        return with_numbers_it_takes(method, tuple(_plain(world, operands)), named)
    if type(x) in native_tables.CONTAINERS or type(x) in native_tables.ATOMS or type(x) in PLAIN:
        return method(*_plain(world, operands), **_plain_keywords(world, keywords))
    if type(x) is tuple or isinstance(x, np.generic | np.dtype | type):
        return method(*_plain(world, operands), **_plain_keywords(world, keywords))
    if type(x) is np.ndarray:
        return method(*_plain(world, operands), **_plain_keywords(world, keywords))
    if name in native_tables.HOLDING_NOTHING.get(type(x), ()) and (name != "acquire" or not rest):
        return method(*operands, **keywords)
    if isinstance(x, ContextVar) and name == "get":
        return _asked_again(world, x.get, tuple(rest), f"{world.text_of(x)}.get()")
    if of is object and name in _LOOKS_INSIDE:
        if not hasattr(x, "__dict__") or slots_of(type(x)):
            world.effect(f"{world.text_of(x)}.{name}()")
        world.owns(x, vars(x))
        world.guard(KEYS, vars(x), None, tuple(vars(x)), f"the attributes of {world.text_of(x)}")
        return method(*operands, **keywords)
    if of is object:  # of a class in Python: by identity
        for y in operands:
            world.pin(y)
        return method(*operands, **keywords)
    random = isinstance(x, native_tables.GENERATORS)
    world.effect(_generator_of(world, operands) if random else f"{world.text_of(x)}.{name}()")
    world.runs_unseen(method, (*operands, *keywords.values()))
    operands, keywords = world.given_away(method, operands, keywords)
    return method(*operands, **keywords)


def _reads_items(world: World, x: Any) -> None:
    """C code compares what a container holds, where it stands."""
    if isinstance(x, list | deque):
        found = [contents(world, item) for item in items_alone(world, x)]
        if any(map(operator.is_not, found, x)) and holds_tensors(found):
            world.effect(f"{world.text_of(x)}, of which C code compares arrays,")


_FILLING = frozenset({"update", "__ior__", "__init__"})
"""Methods of dictionaries that put keys there which they are not given one by one."""
_KEEPING_KEYS = frozenset({"__setitem__", "setdefault", "add"})
_BY_KEY = frozenset({*_KEEPING_KEYS, "__getitem__", "__delitem__", "__contains__", "get", "pop"})
"""Methods of dictionaries and sets that hash what they are given first."""
_SEARCHING = frozenset({"index", "count", "remove", "__contains__", "__eq__", "__ne__"})
"""Methods of containers that compare what they hold with something."""
_COMPARING = frozenset({"sort", "remove"})
"""Methods of a list or deque that read what its items hold, and change it."""
_LOOKS_INSIDE = frozenset({"__reduce_ex__", "__reduce__", "__getstate__", "__dir__", "__sizeof__"})


_PLAIN_TYPES = frozenset({int, float, complex, str, bytes, bool, dict, list, tuple, set, frozenset})


def _asked_again(world: World, reader: Any, operands: Operands, text: str) -> Any:
    """What a function gives that costs nothing and changes nothing: every call asks it again."""
    value = reader(*operands)
    world.guard(CALLED, reader, operands, value, text)
    return world.enter(value, text)


def _emptied(array: Any) -> Any:
    """An array whose elements nobody has set, with zeros: a program is the same in each run."""
    if isinstance(array, np.ndarray) and is_numeric(array.dtype):
        array.fill(0)
    return array


def _library(world: World, callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """A function of a library that computes."""
    module = str(getattr(callee, "__module__", None) or "")
    name = getattr(callee, "__name__", "")
    _makes(world, module, operands)
    own = _is_own(callee)
    if own:
        enter_held(world, callee)
    else:
        if _holds_state(world, callee):
            world.effect(read_by_c(world.text_of(callee), callee))
            world.runs_unseen(callee, ())
        called_back = _called_back(world, operands, keywords)
        if module.startswith("numpy") and not isinstance(callee, np.vectorize):
            operands, keywords = called_back
        elif any(map(operator.is_not, called_back[0], operands)):
            world.effect(f"{name_of_callable(callee)}(), which calls a function")
            world.runs_unseen(callee, (*operands, *keywords.values()))
    if module.startswith("numpy"):
        if name in native_tables.FILES:
            world.effect(f"{name_of_callable(callee)}()")
        elif module.startswith("numpy.random"):
            _draw(world, callee, operands, keywords)
        elif id(callee) in native_tables.CHANGES_FIRST and type(operands[0]) is np.ndarray:
            world.changes(operands[0])
        out = keywords.get("out")
        for array in out if type(out) is tuple else (out,):
            if type(array) is np.ndarray:
                world.changes(array)
    if name == "shuffle":  # the caller's own list
        for x in operands:
            world.changes(x)
        return callee(*operands, **keywords)
    traced = operands[:1] if own and _traces(callee, operands) else ()
    with world.calls_of(native_tables.SPECIAL_TO_OWN if own else native_tables.SPECIAL):
        of_transforms, before = own and is_of_transforms(callee), world.copies.count
        with world.numbers.as_arguments(of_transforms):
            plain = (*traced, *_plain(world, operands[len(traced) :]))
            named = _plain_keywords(world, keywords)
    copies = world.copies.since(before) if of_transforms else ()
    try:
        made = stacked(callee, plain, named)
        changes = [change for x in copies for change in carried_back(x, world.copies.given)]
        for change in changes:  # with each the copies change
            world.perform(*change)
        return _emptied(made) if callee is np.empty or callee is np.empty_like else made
    except (ConversionError, TypeError):  # it takes ints alone
        if world.loops is None or not any(map(world.loops.counts, plain)):
            raise
        numbers = [operator.index(x) if world.loops.counts(x) else x for x in plain]
        return stacked(callee, tuple(numbers), named)


def _is_own(callee: Any) -> bool:
    """Whether it is tracegrad's own, whatever it says that it wraps."""
    if isinstance(callee, MethodType):
        callee = callee.__func__
    if isinstance(callee, FunctionType):
        module = callee.__globals__.get("__name__") or ""
    else:
        module = callee.__module__ if isinstance(callee, type) else type(callee).__module__
    return str(module).partition(".")[0] == "tracegrad"


def _traces(callee: Any, operands: Operands) -> bool:
    """Whether a transform gets a function first: that is traced where it is called, and not read.

    What a function that was made gets are arguments, whether they can be called or not.
    """
    module = isinstance(callee, FunctionType) and callee.__globals__.get("__name__")
    traces = isinstance(module, str) and module.startswith("tracegrad.transforms")
    return traces and bool(operands) and callable(operands[0])


def _holds_state(world: World, callee: Any) -> bool:
    """Whether a library's function reads an object from outside beside its arguments."""
    if isinstance(callee, MethodType):
        callee = callee.__self__
    elif isinstance(callee, np.ufunc):
        return is_vectorized(callee)
    return is_in_python(type(callee)) and world.is_outside(callee) and not is_public(callee)


def _makes(world: World, module: str, operands: Operands) -> None:
    """A function or class of tracegrad that may make a Tensor of Python's floats."""
    if module.partition(".")[0] != "tracegrad":
        return
    arrays = any(type(x) is Tensor and not is_number(x._array) for x in operands)
    if not arrays or any(type(x) is list for x in operands):
        world.guard(ITEM, DEFAULT, 0, DEFAULT[0], "tracegrad.get_default_dtype()")


def _draw(world: World, callee: Any, operands: Operands, keywords: Keywords) -> None:
    """NumPy's random functions: a generator that the function seeds itself is known."""
    seeds = [x for x in (*operands, *keywords.values()) if x is not None]
    known = bool(seeds) and getattr(callee, "__name__", "") in native_tables.SEEDED
    if not known and operands and isinstance(operands[0], native_tables.GENERATORS):
        known = (
            not world.is_outside(operands[0])
            and operands[0] is not native_tables.GLOBAL_GENERATORS[0]
        )
    if not known:
        if operands:
            world.draws_from(operands[0])
        world.effect(_generator_of(world, operands) or f"{name_of_callable(callee)}()")


def _generator_of(world: World, operands: Operands) -> str:
    """A generator, as the user would say it."""
    if operands and any(operands[0] is x for x in native_tables.GLOBAL_GENERATORS):
        return "the global random state, for which there is tg.random"
    return world.text_of(operands[0]) if operands and world.is_outside(operands[0]) else ""


# -- methods that read less than all -------------------------------------------------------------


def _get(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x, key = operands[:2]
    key = world.key(x, key)
    operands = (x, key, *operands[2:])
    if not world.is_outside(x):
        return method(*operands, **keywords)
    text = world.text_of(x)
    if type(x).__getitem__ is not dict.__getitem__ or type(x).__contains__ is not dict.__contains__:
        world.effect(text)
        return method(*operands, **keywords)
    if key in x:
        return world.read(GLOBAL, x, key, x[key], f"{text}[{text_of_key(key)}]")
    world.guard(PRESENT, x, key, False, f"{text_of_key(key)} in {text}")
    return method(*operands, **keywords)


def _keys(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x = operands[0]
    if not world.is_outside(x):
        return method(*operands)
    keys_of(world, x)
    held = dict.fromkeys(x)
    world.copies.follow(held, x)
    return held.keys()


def _items(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    x = operands[0]
    if not world.is_outside(x):
        return method(x)
    held = items_of(world, x)
    world.copies.follow(held, x)
    return method(held if method.__objclass__ is dict else method.__objclass__(held))


def _copy(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    """A copy that holds the same items."""
    return method(sequence_alone(world, operands[0]), **keywords)


def _subclasses(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    if is_mutable(operands[0]):
        world.effect(f"{operands[0].__name__}.__subclasses__()")
    return method(*operands)


def _order(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    world.order_of(operands[0])
    return method(*operands)


def _take_apart(world: World, method: Any, operands: Operands, keywords: Keywords) -> Any:
    """``x.__reduce_ex__(4)``, by which `copy` copies: items of a named tuple go on as they are."""
    x = operands[0]
    for name in _TELLING_PARTS:
        told = world.class_attribute(type(x), name) if is_mutable(type(x)) else None
        if type(told) is FunctionType and not is_trusted(told.__globals__):
            world.effect(f"{type(x).__name__}.{name}()")
    named = isinstance(x, tuple) and hasattr(type(x), "_fields")
    if not named or type(x).__dictoffset__ or slots_of(type(x)):
        return NotImplemented
    items = items_alone(world, x)
    return method(
        items if items is x else tuple.__new__(type(x), items), *_plain(world, operands[1:])
    )


_TELLING_PARTS = ("__getstate__", "__reduce__", "__getnewargs__", "__getnewargs_ex__")
"""Methods in Python that C code calls of an object that it takes apart."""


_METHODS: dict[tuple[type, str], Any] = {
    (object, "__reduce_ex__"): _take_apart,
    (type, "__subclasses__"): _subclasses,
    (type, "mro"): _order,
    (dict, "get"): _get,
    (dict, "copy"): _copy,
    (list, "copy"): _copy,
    (deque, "copy"): _copy,
    (deque, "__copy__"): _copy,
    (dict, "keys"): _keys,
    (dict, "items"): _items,
    (dict, "values"): _items,
    **CHANGING,
    (OrderedDict, "items"): _items,
    (OrderedDict, "values"): _items,
}
