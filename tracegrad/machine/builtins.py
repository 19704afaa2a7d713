"""The machine's own versions of C functions that call back into Python.

`len(x)` runs a `__len__` written in Python, `sorted(key=f)` runs `f`: here those are interpreted.
What remains is asked of the world under the C function's own name. `REPLACED` is keyed by the
identity of the function replaced; each entry takes the machine, the arguments and the keywords.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
import sys
import warnings
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from tracegrad.machine import objects, operators
from tracegrad.machine.calls import HEAP_TYPE, make_instance
from tracegrad.machine.iteration import (
    advance,
    get_iterator,
    items,
    iterable,
    mapping,
    sequence,
)
from tracegrad.machine.objects import (
    PLAIN,
    as_value,
    call_special,
    load_attribute,
    special,
)
from tracegrad.machine.operators import BINARY, COMPARE, DIVMOD, UNARY, compare, truth
from tracegrad.machine.world import ABSENT

REPLACED: dict[int, Callable] = {}
REPLACED_KINDS: dict[int, Callable] = {}
_function: Any
KEPT: list[Any] = []  # what is replaced stays alive, as its id is a key


def replaces(*functions: Any) -> Callable:
    def register(own: Callable) -> Callable:
        for function in functions:
            REPLACED[id(function)] = own
            KEPT.append(function)
        return own

    return register


def by_method(function: Any, name: str, check: Callable | None = None) -> None:
    """Replaces a function of one argument whose work a special method may do."""

    def own(m, args, kwargs):
        if len(args) == 1 and not kwargs:
            method = special(m, args[0], name)
            if method is not None:
                result = call_special(m, method, args[0])
                return result if check is None else check(m, result)
        return m.native(function, *args, **kwargs)

    replaces(function)(own)


def text_of(name: str) -> Callable:
    def check(m, result):
        if not isinstance(result, str):
            raise TypeError(f"{name} returned non-string (type {type(result).__name__})")
        return result

    return check


by_method(repr, "__repr__", text_of("__repr__"))
by_method(abs, "__abs__")
by_method(reversed, "__reversed__")


def checked_hash(m, result):
    if not isinstance(result, int):
        raise TypeError("__hash__ method should return an integer")
    if -(1 << 63) <= result < 1 << 63:
        return -2 if result == -1 else int(result)
    return hash(result)


by_method(hash, "__hash__", checked_hash)


@replaces(ascii)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs and special(m, args[0], "__repr__") is not None:
        return REPLACED[id(repr)](m, args, kwargs).encode("ascii", "backslashreplace").decode()
    return m.native(ascii, *args, **kwargs)


@replaces(len)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(len, *args, **kwargs)
    return operators.length(m, args[0])


@replaces(bool)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(bool, *args, **kwargs)
    if special(m, args[0], "__bool__") is None and special(m, args[0], "__len__") is None:
        return m.native(bool, args[0])
    return truth(m, args[0])


@replaces(operator.truth)
def _(m, args, kwargs):
    return REPLACED[id(bool)](m, args, kwargs)


@replaces(str)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        x = args[0]
        method = special(m, x, "__str__")
        if method is not None:
            return text_of("__str__")(m, call_special(m, method, x))
        if m.class_attribute(m.type_of(x), "__str__") is object.__str__:
            method = special(m, x, "__repr__")
            if method is not None:
                return text_of("__repr__")(m, call_special(m, method, x))
    return m.native(str, *args, **kwargs)


@replaces(format)
def _(m, args, kwargs):
    if args and not kwargs and len(args) <= 2:
        x = args[0]
        method = special(m, x, "__format__")
        if method is not None:
            spec = args[1] if len(args) > 1 else ""
            result = call_special(m, method, x, spec)
            if not isinstance(result, str):
                kind = type(result).__name__
                raise TypeError(f"__format__ must return a str, not {kind}")
            return result
        simple = id(type(x)) not in PLAIN and (len(args) == 1 or args[1] == "")
        if simple and m.class_attribute(m.type_of(x), "__format__") is object.__format__:
            return REPLACED[id(str)](m, (x,), {})
    return m.native(format, *args, **kwargs)


def number(kind: Any, *names: str) -> None:
    """Replaces a type of numbers: `int(x)` runs an `__int__` in Python."""

    def own(m, args, kwargs):
        if len(args) == 1 and not kwargs and id(type(args[0])) not in PLAIN:
            x = args[0]
            for name in names:
                method = special(m, x, name)
                if method is not None:
                    return m.native(kind, Converted(name, call_special(m, method, x), x).value())
                if m.class_attribute(m.type_of(x), name) is not ABSENT:
                    break
        return m.native(kind, *args, **kwargs)

    replaces(kind)(own)


class Converted:
    """What a method like `__int__` returned, checked by C code as if it had called it."""

    def __init__(self, name: str, result: Any, x: Any) -> None:
        self.name, self.result, self.x = name, result, x

    def value(self) -> Any:
        wanted = {"__float__": float, "__complex__": complex}.get(self.name, int)
        if type(self.result) is wanted:
            return self.result
        owner = type(type(self.x).__name__, (), {self.name: lambda _: self.result})
        return owner()


number(int, "__int__", "__index__", "__trunc__")
number(float, "__float__", "__index__")
number(complex, "__complex__", "__float__", "__index__")


@replaces(round)
def _(m, args, kwargs):
    if args and not kwargs:
        method = special(m, args[0], "__round__")
        if method is not None:
            return call_special(m, method, *args)
    return m.native(round, *args, **kwargs)


@replaces(divmod)
def _(m, args, kwargs):
    if len(args) == 2 and not kwargs:
        return operators.binary(m, DIVMOD, *args)
    return m.native(divmod, *args, **kwargs)


@replaces(pow)
def _(m, args, kwargs):
    if len(args) == 2 and not kwargs:
        if any(id(type(x)) not in PLAIN for x in args):
            return operators.binary(m, BINARY[8], *args)
    elif len(args) == 3:
        method = special(m, args[0], "__pow__")
        if method is not None:
            return call_special(m, method, *args)
    return m.native(pow, *args, **kwargs)


# -- the operator module ----------------------------------------------------------------------


def as_operator(function: Any, count: int, own: Callable) -> None:
    def replacement(m, args, kwargs):
        if len(args) == count and not kwargs:
            return own(m, *args)
        return m.native(function, *args, **kwargs)

    replaces(function)(replacement)


for _rule in BINARY:
    as_operator(_rule.function, 2, lambda m, a, b, r=_rule: operators.binary(m, r, a, b))
    as_operator(_rule.inplace, 2, lambda m, a, b, r=_rule: operators.inplace(m, r, a, b))
for _rule in COMPARE.values():
    as_operator(_rule.function, 2, lambda m, a, b, r=_rule: compare(m, r, a, b))
for _function, _name in UNARY.values():
    as_operator(_function, 1, lambda m, x, f=_function, n=_name: operators.unary(m, f, n, x))
as_operator(operator.getitem, 2, operators.get_item)
as_operator(operator.setitem, 3, operators.set_item)
as_operator(operator.delitem, 2, operators.delete_item)
as_operator(operator.contains, 2, operators.contains)
as_operator(operator.not_, 1, lambda m, x: not truth(m, x))
as_operator(operator.index, 1, operators.index)


@replaces(operator.call)
def _(m, args, kwargs):
    return m.call(args[0], args[1:], kwargs) if args else m.native(operator.call)


def call_getter(m, getter: Any, args: Any, kwargs: dict) -> Any:
    """`attrgetter("a.b")(x)`, `itemgetter(1)(x)`, `methodcaller("f", 1)(x)`."""
    if len(args) != 1 or kwargs or id(type(args[0])) in PLAIN:
        return m.native(getter, *args, **kwargs)
    x = args[0]
    kind, rest = getter.__reduce__()[:2]
    if type(getter) is operator.methodcaller:
        keywords = {}
        if isinstance(kind, functools.partial):
            keywords = kind.keywords
            rest = (*kind.args, *rest)
        return m.call(load_attribute(m, x, rest[0]), rest[1:], keywords)
    values = []
    for key in rest:
        value = x
        if type(getter) is operator.itemgetter:
            value = operators.get_item(m, value, key)
        else:
            for name in key.split("."):
                value = load_attribute(m, value, name)
        values.append(value)
    return values[0] if len(values) == 1 else tuple(values)


for _kind in (operator.attrgetter, operator.itemgetter, operator.methodcaller):
    REPLACED_KINDS[id(_kind)] = call_getter


# -- attributes -------------------------------------------------------------------------------


@replaces(getattr)
def _(m, args, kwargs):
    if kwargs or not 2 <= len(args) <= 3 or type(args[1]) is not str:
        return m.native(getattr, *args, **kwargs)
    if len(args) == 2:
        return load_attribute(m, args[0], args[1])
    try:
        return load_attribute(m, args[0], args[1])
    except AttributeError:
        return args[2]


@replaces(hasattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return m.native(hasattr, *args, **kwargs)
    try:
        load_attribute(m, args[0], args[1])
    except AttributeError:
        return False
    return True


@replaces(setattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 3 or type(args[1]) is not str:
        return m.native(setattr, *args, **kwargs)
    return objects.store_attribute(m, *args)


@replaces(delattr)
def _(m, args, kwargs):
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return m.native(delattr, *args, **kwargs)
    return objects.delete_attribute(m, *args)


def plain_method(function: Any, count: int, own: Callable) -> None:
    """`object.__setattr__(x, ...)` and the like, where classes have their own."""

    def replacement(m, args, kwargs):
        if len(args) != count or kwargs or type(args[1]) is not str:
            return m.native(function, *args, **kwargs)
        if isinstance(args[0], type) or id(type(args[0])) in PLAIN:
            return m.native(function, *args)
        return own(m, *args)

    replaces(function)(replacement)


plain_method(object.__getattribute__, 2, objects.plain_lookup)
plain_method(object.__setattr__, 3, objects.plain_store)
plain_method(object.__delattr__, 2, objects.plain_delete)


@replaces(type.__getattribute__)
def _(m, args, kwargs):
    if len(args) == 2 and isinstance(args[0], type) and type(args[1]) is str and not kwargs:
        result = objects.type_lookup(m, args[0], m.type_of(args[0]), args[1])
        if result is not None:
            return as_value(*result)
    return m.native(type.__getattribute__, *args, **kwargs)


@replaces(type.__call__)
def _(m, args, kwargs):
    cls = args[0] if args else type
    if isinstance(cls, type) and cls is not type and cls.__flags__ & HEAP_TYPE:
        return make_instance(m, cls, args[1:], kwargs)
    return m.native(type.__call__, *args, **kwargs)


@replaces(isinstance)
def _(m, args, kwargs):
    if kwargs or len(args) != 2:
        return m.native(isinstance, *args, **kwargs)
    x, kinds = args
    if type(kinds) is tuple:
        own = REPLACED[id(isinstance)]
        return any(own(m, (x, kind), {}) for kind in kinds)
    if m.type_of(x) is kinds:
        return True
    return by_metaclass(m, isinstance, "__instancecheck__", x, kinds)


@replaces(issubclass)
def _(m, args, kwargs):
    if kwargs or len(args) != 2:
        return m.native(issubclass, *args, **kwargs)
    x, kinds = args
    if type(kinds) is tuple:
        own = REPLACED[id(issubclass)]
        return any(own(m, (x, kind), {}) for kind in kinds)
    return by_metaclass(m, issubclass, "__subclasscheck__", x, kinds)


def by_metaclass(m, function: Any, name: str, x: Any, kinds: Any) -> bool:
    if type(kinds) is type:
        return m.native(function, x, kinds)
    method = special(m, kinds, name)
    if method is None:
        return m.native(function, x, kinds)
    return truth(m, call_special(m, method, kinds, x))


@replaces(callable)
def _(m, args, kwargs):
    return m.native(callable, *args, **kwargs)


# -- iteration --------------------------------------------------------------------------------


@replaces(iter)
def _(m, args, kwargs):
    if kwargs or not args:
        return m.native(iter, *args, **kwargs)
    if len(args) == 1:
        return get_iterator(m, args[0])
    return m.native(iter, m.callback(args[0]), *args[1:])


@replaces(next)
def _(m, args, kwargs):
    if kwargs or not 1 <= len(args) <= 2:
        return m.native(next, *args, **kwargs)
    method = special(m, args[0], "__next__")
    if method is None:
        return m.native(next, *args)
    if len(args) == 1:
        return call_special(m, method, args[0])
    try:
        return call_special(m, method, args[0])
    except StopIteration:
        return args[1]


def taking_iterables(function: Any, *places: int) -> None:
    """Replaces a C function which goes through some of its arguments (none named: through all)."""

    def own(m, args, kwargs):
        given = [iterable(m, x) if not places or i in places else x for i, x in enumerate(args)]
        return m.native(function, *given, **kwargs)

    replaces(function)(own)


for _function in (list, tuple, set, frozenset, zip, enumerate, bytes, bytearray):
    taking_iterables(_function, *((0,) if _function is not zip else ()))
for _function in (list.extend, collections.deque, collections.deque.extend, str.join):
    taking_iterables(_function, *((0,) if _function is collections.deque else (1,)))
for _function in (set.update, set.union, set.intersection, set.difference):
    taking_iterables(_function)
for _function in (itertools.chain, itertools.product, itertools.zip_longest, itertools.compress):
    taking_iterables(_function)
for _function in (
    itertools.islice,
    itertools.cycle,
    itertools.combinations,
    itertools.permutations,
):
    taking_iterables(_function, 0)
for _function in (itertools.pairwise, itertools.combinations_with_replacement, itertools.tee):
    taking_iterables(_function, 0)


@replaces(dict)
def _(m, args, kwargs):
    if len(args) == 1 and id(type(args[0])) not in PLAIN:
        args = (pairs(m, args[0]),)
    return m.native(dict, *args, **kwargs)


@replaces(dict.update)
def _(m, args, kwargs):
    if len(args) == 2 and id(type(args[1])) not in PLAIN:
        args = (args[0], pairs(m, args[1]))
    return m.native(dict.update, *args, **kwargs)


def pairs(m, x: Any) -> Any:
    """What `dict(x)` takes: a mapping, or an iterable of pairs."""
    if m.class_attribute(m.type_of(x), "keys") is not ABSENT:
        return mapping(m, x)
    return iterable(m, x)


@replaces(any)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(any, *args, **kwargs)
    return any(truth(m, x) for x in items(m, args[0]))


@replaces(all)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(all, *args, **kwargs)
    return all(truth(m, x) for x in items(m, args[0]))


def plain_items(x: Any) -> bool:
    """Whether an iterable holds nothing but values of C code."""
    return type(x) is range or (type(x) in (list, tuple, set, frozenset) and operators.all_plain(x))


@replaces(sum)
def _(m, args, kwargs):
    if not 1 <= len(args) <= 2 or plain_items(args[0]):
        return m.native(sum, *args, **kwargs)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if isinstance(start, str | bytes | bytearray) or set(kwargs) - {"start"}:
        return m.native(sum, *args, **kwargs)
    values = list(items(m, args[0]))
    if operators.all_plain(values):
        return m.native(sum, values, start)
    total, add = start, BINARY[0]
    for value in values:
        total = operators.binary(m, add, total, value)
    return total


def extreme(function: Any, symbol: str) -> None:
    """`min` and `max`."""
    rule = COMPARE[symbol]

    def own(m, args, kwargs):
        key, default = kwargs.get("key"), kwargs.get("default", ABSENT)
        unknown = set(kwargs) - {"key", "default"}
        if not args or unknown or (len(args) > 1 and default is not ABSENT):
            return m.native(function, *args, **kwargs)
        if key is None and operators.all_plain(args) and (len(args) > 1 or plain_items(args[0])):
            return m.native(function, *args, **kwargs)
        best = best_key = ABSENT
        for x in items(m, args[0]) if len(args) == 1 else args:
            value = x if key is None else m.call(key, (x,), {})
            if best is ABSENT or truth(m, compared(m, rule, value, best_key)):
                best, best_key = x, value
        if best is ABSENT:
            return m.native(function, (), **kwargs) if default is ABSENT else default
        return best

    replaces(function)(own)


def compared(m, rule: Any, a: Any, b: Any) -> Any:
    if id(type(a)) in PLAIN and id(type(b)) in PLAIN:
        return m.native(rule.function, a, b)
    return compare(m, rule, a, b)


extreme(min, "<")
extreme(max, ">")


class Ordered:
    """An item that C code sorts: `<` is interpreted."""

    __slots__ = ("machine", "value")

    def __init__(self, machine: Any, value: Any) -> None:
        self.machine, self.value = machine, value

    def __lt__(self, other: Any) -> bool:
        return truth(self.machine, compare(self.machine, COMPARE["<"], self.value, other.value))


def sort_key(m, values: list, key: Any) -> Any:
    """A key function for C code under which values compare as the machine does."""
    if key is None:
        if all(operators.comparison(m, m.type_of(x), "__lt__") is None for x in values):
            return None
        return lambda x: Ordered(m, x)
    function = m.callback(key)
    if function is key:
        return key

    def own(x: Any) -> Any:
        value = function(x)
        return value if id(type(value)) in PLAIN else Ordered(m, value)

    keys = []

    def first(x: Any) -> Any:
        keys.append(function(x))
        return keys[-1]

    for x in values:
        first(x)
    ready = iter(keys)
    if operators.all_plain(keys):
        return lambda _: next(ready)
    return lambda _: Ordered(m, next(ready))


@replaces(sorted)
def _(m, args, kwargs):
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        return m.native(sorted, *args, **kwargs)
    values = sequence(m, args[0])
    if type(values) not in (list, tuple):
        values = m.native(list, values)
    key = sort_key(m, values, kwargs.get("key"))
    return m.native(sorted, values, key=key, reverse=kwargs.get("reverse", False))


@replaces(list.sort)
def _(m, args, kwargs):
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        return m.native(list.sort, *args, **kwargs)
    key = sort_key(m, args[0], kwargs.get("key"))
    return m.native(list.sort, args[0], key=key, reverse=kwargs.get("reverse", False))


def taking_function(function: Any, place: int = 0) -> None:
    """Replaces a C function that takes a callable and iterables."""

    def own(m, args, kwargs):
        given = [m.callback(x) if i == place else iterable(m, x) for i, x in enumerate(args)]
        return m.native(function, *given, **{k: m.callback(v) for k, v in kwargs.items()})

    replaces(function)(own)


for _function in (map, itertools.starmap, itertools.takewhile, itertools.dropwhile):
    taking_function(_function)
taking_function(itertools.filterfalse)
taking_function(itertools.accumulate, 1)


@replaces(filter)
def _(m, args, kwargs):
    if len(args) != 2 or kwargs:
        return m.native(filter, *args, **kwargs)
    test = args[0]
    if test is None or test is bool:
        return m.native(filter, lambda x: truth(m, x), iterable(m, args[1]))
    function = m.callback(test)
    if function is test:
        return m.native(filter, test, iterable(m, args[1]))
    return m.native(filter, lambda x: truth(m, function(x)), iterable(m, args[1]))


@replaces(itertools.groupby)
def _(m, args, kwargs):
    args = [iterable(m, x) if i == 0 else m.callback(x) for i, x in enumerate(args)]
    return m.native(itertools.groupby, *args, **{k: m.callback(v) for k, v in kwargs.items()})


@replaces(functools.reduce)
def _(m, args, kwargs):
    if kwargs or not 2 <= len(args) <= 3:
        return m.native(functools.reduce, *args, **kwargs)
    function = args[0]
    iterator = get_iterator(m, args[1])
    total = args[2] if len(args) == 3 else advance(m, iterator)
    if total is ABSENT:
        return m.native(functools.reduce, function, ())
    while (value := advance(m, iterator)) is not ABSENT:
        total = m.call(function, (total, value), {})
    return total


def call_partial(m, x: functools.partial, args: Any, kwargs: dict) -> Any:
    function = m.part(x, "func", x.func)
    first, keywords = m.part(x, "args", x.args), m.part(x, "keywords", x.keywords)
    return m.call(function, (*first, *args), {**keywords, **kwargs})


if not any("Placeholder" in name for name in dir(functools)):
    REPLACED_KINDS[id(functools.partial)] = call_partial


# -- frames -----------------------------------------------------------------------------------


@replaces(super)
def _(m, args, kwargs):
    if args or kwargs:
        return m.native(super, *args, **kwargs)
    f = m.frame
    if f is None or not f.code.co_argcount:
        raise RuntimeError("super(): no arguments")
    first = f.fast[0]
    if type(first) is CellType:
        first = first.cell_contents
    if first is ABSENT:
        raise RuntimeError("super(): arg[0] deleted")
    slots = f.program.slots
    if "__class__" not in f.code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    cell = f.fast[slots.index("__class__")]
    failed = False
    try:
        cls = m.load_cell(cell, "__class__")
    except ValueError:
        failed = True
    if failed:
        raise RuntimeError("super(): empty __class__ cell")
    return m.native(super, cls, first)


@replaces(globals)
def _(m, args, kwargs):
    return m.native(globals, *args, **kwargs) if args or kwargs else m.frame.globals


@replaces(locals)
def _(m, args, kwargs):
    return m.native(locals, *args, **kwargs) if args or kwargs else local_names(m.frame)


def local_names(f: Any) -> Any:
    """What `locals()` returns in a frame."""
    if f.names is not None:
        return f.names
    found = {}
    for name, value in zip(f.program.slots, f.fast):
        if type(value) is CellType:
            try:
                value = value.cell_contents
            except ValueError:
                continue
        if value is not ABSENT:
            found[name] = value
    if sys.version_info >= (3, 13):
        return found
    if f.local is None:
        f.local = {}
    for name in f.program.slots:
        if name not in found:
            f.local.pop(name, None)
    f.local.update(found)
    return f.local


@replaces(vars)
def _(m, args, kwargs):
    if args or kwargs:
        if len(args) == 1 and not kwargs:
            try:
                return load_attribute(m, args[0], "__dict__")
            except AttributeError:
                pass
        return m.native(vars, *args, **kwargs)
    return local_names(m.frame)


@replaces(dir)
def _(m, args, kwargs):
    if not args and not kwargs:
        return sorted(local_names(m.frame))
    if len(args) == 1 and not kwargs:
        method = special(m, args[0], "__dir__")
        if method is not None:
            return sorted(m.items(call_special(m, method, args[0])))
    return m.native(dir, *args, **kwargs)


@replaces(builtins.eval)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        args = (*args, m.frame.globals, local_names(m.frame))
    return m.native(eval, *args, **kwargs)


@replaces(builtins.exec)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs:
        args = (*args, m.frame.globals, local_names(m.frame))
    return m.native(exec, *args, **kwargs)


@replaces(sys.exc_info)
def _(m, args, kwargs):
    error = m.handled.topmost()
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


@replaces(sys.exception)
def _(m, args, kwargs):
    return m.handled.topmost()


@replaces(sys.getrecursionlimit)
def _(m, args, kwargs):
    return m.native(sys.getrecursionlimit, *args) if args or not m.runs else m.limit


@replaces(sys.setrecursionlimit)
def _(m, args, kwargs):
    if len(args) != 1 or type(args[0]) is not int or args[0] <= 0 or not m.runs:
        return m.native(sys.setrecursionlimit, *args, **kwargs)
    if args[0] < m.depth:
        raise RecursionError(
            f"cannot set the recursion limit to {args[0]} at the recursion depth {m.depth}: "
            "the limit is too low"
        )
    m.limit = args[0]
    sys.setrecursionlimit(max(args[0] * 12, 12000))
    return None


@replaces(warnings.warn)
def _(m, args, kwargs):
    names = ("message", "category", "stacklevel", "source")
    given = dict(zip(names, args), **kwargs)
    if len(args) > 4 or not set(given) <= set(names) or "message" not in given:
        return m.native(warnings.warn, *args, **kwargs)
    message, category = given["message"], given.get("category")
    if category is not None and not (isinstance(category, type) and issubclass(category, Warning)):
        return m.native(warnings.warn, *args, **kwargs)
    if isinstance(message, Warning):
        category = type(message)
    f, level = m.frame, given.get("stacklevel", 1)
    while f is not None and level > 1:
        f, level = f.back, level - 1
    if f is None:
        return m.native(warnings.warn, *args, **kwargs)
    names = f.globals
    return m.native(
        warnings.warn_explicit,
        message,
        category or UserWarning,
        f.code.co_filename,
        f.line,
        names.get("__name__") or "<string>",
        names.setdefault("__warningregistry__", {}),
        None,
        given.get("source"),
    )


@replaces(collections.namedtuple)
def _(m, args, kwargs):
    if kwargs.get("module") is None and m.frame is not None:
        kwargs = {**kwargs, "module": m.frame.globals.get("__name__", "__main__")}
    return m.native(collections.namedtuple, *args, **kwargs)


# -- classes ----------------------------------------------------------------------------------


@replaces(builtins.__build_class__)
def _(m, args, kwargs):
    if len(args) < 2 or type(args[0]) is not FunctionType or type(args[1]) is not str:
        return m.native(builtins.__build_class__, *args, **kwargs)
    function, name, *bases = args
    keywords = dict(kwargs)
    if not m.interpretable(function):
        return m.native(builtins.__build_class__, *args, **kwargs)
    given = tuple(bases)
    resolved = resolve(m, given)
    meta = keywords.pop("metaclass", None)
    if meta is None:
        meta = type(resolved[0]) if resolved else type
    if isinstance(meta, type):
        meta = winner(meta, resolved)
    try:
        prepare = load_attribute(m, meta, "__prepare__")
    except AttributeError:
        prepare = None
    namespace = {} if prepare is None else m.call(prepare, (name, resolved), keywords)
    if not hasattr(type(namespace), "__getitem__"):
        shown = meta.__name__ if isinstance(meta, type) else "<metaclass>"
        raise TypeError(
            f"{shown}.__prepare__() must return a mapping, not {type(namespace).__name__}"
        )
    cell = m.run_body(function, namespace)
    if resolved is not given and resolved != given:
        operators.set_item(m, namespace, "__orig_bases__", given)
    cls = m.call(meta, (name, resolved, namespace), keywords)
    if type(cell) is CellType and isinstance(cls, type):
        check_cell(cell, cls)
    return cls


def check_cell(cell: CellType, cls: type) -> None:
    """`type.__new__` is to have set the cell of `__class__`."""
    name = cls.__name__
    failed = False
    try:
        found = cell.cell_contents
    except ValueError:
        failed = True
    if failed:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {cls!r}. "
            "Was __classcell__ propagated to type.__new__?"
        )
    if found is not cls:
        raise TypeError(f"__class__ set to {found!r} defining {name!r} as {cls!r}")


def resolve(m, bases: tuple) -> tuple:
    """The bases of a class after their `__mro_entries__`."""
    found: list = []
    for base in bases:
        if isinstance(base, type):
            found.append(base)
            continue
        try:
            entries = load_attribute(m, base, "__mro_entries__")
        except AttributeError:
            found.append(base)
            continue
        new = m.call(entries, (bases,), {})
        if not isinstance(new, tuple):
            raise TypeError("__mro_entries__ must return a tuple")
        found.extend(new)
    return tuple(found) if found != list(bases) else bases


def winner(meta: type, bases: tuple) -> type:
    """The most derived metaclass."""
    for base in bases:
        kind = type(base)
        if issubclass(meta, kind):
            continue
        if issubclass(kind, meta):
            meta = kind
            continue
        raise TypeError(
            "metaclass conflict: the metaclass of a derived class must be a (non-strict) "
            "subclass of the metaclasses of all its bases"
        )
    return meta
