"""Builtins that go through iterables and call functions: `sorted`, `map`, `sum`, `reduce`."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from tracegrad.machine import operators
from tracegrad.machine.attribute_lookup import PLAIN, call_special, special
from tracegrad.machine.consumed_generators import (
    ALL,
    ANY,
    LEAST,
    MOST,
    NOTHING,
    REDUCING,
    SUMMING,
)
from tracegrad.machine.iteration import (
    COUNTED,
    DIRECT,
    GENERATOR,
    advance,
    feed,
    get_iterator,
    items,
    iterable,
    mapping,
)
from tracegrad.machine.natives import is_item
from tracegrad.machine.operators import COMPARE, compare, truth
from tracegrad.machine.own_generators import (
    Endless,
    accumulated,
    accumulated_on,
    added_up,
    are_sequences,
    chained,
    filtered,
    filtered_false,
    first_ones,
    from_number,
    in_loop,
    is_zipped,
    mapped,
    mapped_several,
    numbered,
    of_three,
    of_two,
    taken_while,
    times,
    true_ones,
)
from tracegrad.machine.replacement_table import REPLACED, REPLACED_KINDS, replaces
from tracegrad.machine.world_protocol import ABSENT, is_a

# -- iteration ---------------------------------------------------------------------------------


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


_function: Any


def taking_iterables(function: Any, *places: int) -> None:
    """Replaces a C function which goes through some of its arguments (none named: through all)."""

    def own(m, args, kwargs):
        given = [iterable(m, x) if not places or i in places else x for i, x in enumerate(args)]
        return m.native(function, *given, **kwargs)

    replaces(function)(own)


for _function in (set, frozenset, zip, bytes, bytearray):
    taking_iterables(_function, *((0,) if _function is not zip else ()))


def or_in_loop(function: Any, chosen: Callable) -> None:
    """Replaces an iterator of C code by a generator where a loop goes through it at once.

    ``chosen(m, *args, **kwargs)`` gives the generator's function and arguments, or None.
    """
    plain = REPLACED[id(function)]

    def own(m, args, kwargs):
        found = None if m.inlines is None else chosen(m, args, kwargs)
        made = None if found is None else in_loop(m, *found)
        return plain(m, args, kwargs) if made is None else made

    replaces(function)(own)


taking_iterables(enumerate, 0)


def of_list(function: Any, listed: Any, values: Any, rest: Any, named: Any) -> Any:
    """What a function of all that a generator gives is, interpreted: no native code waits."""
    return function(listed(values), *rest, **named)


@replaces(list)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs and type(args[0]) is GENERATOR:
        return m.at_last(m.consumed, args[0])
    return m.native(list, *[iterable(m, x) for x in args], **kwargs)


@replaces(tuple)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs and type(args[0]) is GENERATOR:
        return m.run_own(of_list, tuple, list, args[0], (), kwargs)
    return m.native(tuple, *[iterable(m, x) for x in args], **kwargs)


for _function in (list.extend, collections.deque, collections.deque.extend, str.join):
    taking_iterables(_function, *((0,) if _function is collections.deque else (1,)))
for _function in (set.update, set.union, set.intersection, set.difference):
    taking_iterables(_function)
for _function in (itertools.chain, itertools.product, itertools.zip_longest):
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
    return decided(m, args[0], True)


@replaces(all)
def _(m, args, kwargs):
    if len(args) != 1 or kwargs:
        return m.native(all, *args, **kwargs)
    return decided(m, args[0], False)


def decided(m, x: Any, outcome: bool) -> Any:
    """What `any` and `all` give: `outcome` where an item is like that, which is the last one."""
    handed = m.is_handed_on(x)
    frame = m.consuming(x, ANY if outcome else ALL) if handed else None
    if frame is not None:
        return m.answer(frame)
    if type(x) in (list, tuple) and operators.all_plain(x):
        return any(truth(m, y) is outcome for y in items(m, x)) is outcome
    return m.run_own(is_any if outcome else are_all, get_iterator(m, x))


def is_any(values: Any) -> bool:
    """What `any` does, interpreted: its turns may stay a loop."""
    for value in values:  # noqa: SIM110 -- that would be itself
        if value:
            return True
    return False


def are_all(values: Any) -> bool:
    """What `all` does."""
    for value in values:  # noqa: SIM110
        if not value:
            return False
    return True


def plain_items(x: Any) -> bool:
    """Whether an iterable holds nothing but values of C code."""
    return type(x) is range or (type(x) in (list, tuple, set, frozenset) and operators.all_plain(x))


@replaces(sum)
def _(m, args, kwargs):
    if not 1 <= len(args) <= 2 or plain_items(args[0]):
        return m.native(sum, *args, **kwargs)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    refused = any(is_a(start, kind) for kind in (str, bytes, bytearray)) or set(kwargs) - {"start"}
    frame = None if refused else m.consuming(args[0], SUMMING, begin=start)
    if frame is not None:
        return m.answer(frame)
    if type(args[0]) is GENERATOR:
        return m.run_own(of_list, sum, list, args[0], args[1:], kwargs)
    if refused:
        return m.native(sum, *args, **kwargs)
    values = gone_through(m, args[0])
    if type(values) in (list, tuple) and operators.all_plain(values):
        return m.native(sum, values, start)
    return m.run_own(summed, values, start)


def gone_through(m, x: Any) -> Any:
    """What a function of the machine's own goes through: of what C code iterates over, a list."""
    if type(x) in (list, tuple):
        return x
    return m.consumed(x) if id(type(x)) in DIRECT else get_iterator(m, x)


def summed(values: Any, total: Any) -> Any:
    """What `sum` does, interpreted: a world may know what the items of a list are."""
    for value in values:
        total = total + value
    return total


def extreme(function: Any, symbol: str) -> None:
    """`min` and `max`."""
    rule = COMPARE[symbol]

    def own(m, args, kwargs):
        key, default = kwargs.get("key"), kwargs.get("default", ABSENT)
        unknown = set(kwargs) - {"key", "default"}
        if not args or unknown or (len(args) > 1 and default is not ABSENT):
            return m.native(function, *args, **kwargs)
        if key is None and len(args) == 1 and not m.is_short(args[0], MOST_STRAIGHT):
            below = NOTHING if default is ABSENT else default
            frame = m.consuming(args[0], CONSUMERS[symbol], below, begin=NOTHING)
            if frame is not None:
                return m.answer(frame)
        if len(args) == 1 and type(args[0]) is GENERATOR:
            return m.run_own(of_list, function, list, args[0], (), kwargs)
        if key is None and operators.all_plain(args) and (len(args) > 1 or plain_items(args[0])):
            return m.native(function, *args, **kwargs)
        if key is None:
            values = args if len(args) > 1 else gone_through(m, args[0])
            listed = type(values) in (list, tuple)
            if listed and 1 < len(values) <= MOST_STRAIGHT and not operators.all_plain(values):
                operands = values if values is args else items(m, values)
                return m.run_own(extreme_of(symbol, len(values)), *operands)
            if not listed or not operators.all_plain(values):
                iterator = get_iterator(m, values)
                best = advance(m, iterator)
                if best is not ABSENT:
                    return m.run_own(EXTREME_AMONG[symbol], iterator, best)
            args = (values,)
        values = args if len(args) > 1 else args[0]
        if key is not None and not plain_items(values):
            iterator = get_iterator(m, values)
            best = advance(m, iterator)
            if best is not ABSENT:
                return m.run_own(EXTREME_BY[symbol], iterator, best, key)
        best = best_key = ABSENT
        for x in items(m, values):
            value = x if key is None else m.call(key, (x,), {})
            if best is ABSENT or truth(m, compared(m, rule, value, best_key)):
                best, best_key = x, value
        if best is ABSENT:
            return m.native(function, (), **kwargs) if default is ABSENT else default
        return best

    replaces(function)(own)


def least_among(values: Any, best: Any) -> Any:
    """What `min` does, interpreted: its turns may stay a loop."""
    for value in values:
        if value < best:
            best = value
    return best


def most_among(values: Any, best: Any) -> Any:
    """What `max` does."""
    for value in values:
        if value > best:
            best = value
    return best


def least_by(values: Any, best: Any, key: Any) -> Any:
    """What `min` does with a key."""
    least = key(best)
    for value in values:
        found = key(value)
        if found < least:
            best, least = value, found
    return best


def most_by(values: Any, best: Any, key: Any) -> Any:
    """What `max` does with a key."""
    most = key(best)
    for value in values:
        found = key(value)
        if found > most:
            best, most = value, found
    return best


CONSUMERS = {"<": LEAST, ">": MOST}
EXTREME_AMONG = {"<": least_among, ">": most_among}
EXTREME_BY = {"<": least_by, ">": most_by}
MOST_STRAIGHT = 8  # operands that `min` and `max` compare in code of their own


@functools.cache
def extreme_of(symbol: str, count: int) -> Any:
    """What `min` and `max` of so many operands do, interpreted: the ways on may meet.

    For three operands::

        def extreme(best, x1, x2):
            if x1 < best:
                best = x1
            if x2 < best:
                best = x2
            return best
    """
    others = [f"x{i}" for i in range(1, count)]
    lines = [f"def extreme({', '.join(['best', *others])}):"]
    for x in others:
        lines += [f"    if {x} {symbol} best:", f"        best = {x}"]
    found: dict[str, Any] = {"__name__": __name__}
    text = "\n".join([*lines, "    return best"])
    exec(compile(text, __file__, "exec"), found)  # its lines are not the user's
    return found["extreme"]


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
        return truth(self.machine, compared(self.machine, COMPARE["<"], self.value, other.value))


def sort_key(m, values: list, key: Any) -> Any:
    """A key function for C code under which values compare as the machine does."""
    if key is None:
        by_c = all(operators.comparison(m, m.type_of(x), "__lt__") is None for x in values)
        if by_c and not any(map(m.world.follows, values)):
            return None
        return lambda x: Ordered(m, x)
    function = m.callback(key)
    if function is key:
        return key
    keys = [function(x) for x in values]
    ready = iter(keys)
    if operators.all_plain(keys) and not any(map(m.world.follows, keys)):
        for x in keys:
            m.to_c(x, looks=True)
        return lambda _: next(ready)
    return lambda _: Ordered(m, next(ready))


@replaces(sorted)
def _(m, args, kwargs):
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        return m.native(sorted, *args, **kwargs)
    if type(args[0]) is GENERATOR:
        return m.run_own(of_list, sorted, list, args[0], (), kwargs)
    values = m.consumed(args[0])
    key = sort_key(m, values, kwargs.get("key"))
    return m.native(sorted, values, key=key, reverse=kwargs.get("reverse", False))


@replaces(list.sort)
def _(m, args, kwargs):
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        return m.native(list.sort, *args, **kwargs)
    key = sort_key(m, list(items(m, args[0])), kwargs.get("key"))
    return m.native(list.sort, args[0], key=key, reverse=kwargs.get("reverse", False))


def taking_function(function: Any, place: int = 0, looks: bool = True) -> None:
    """Replaces a C function that takes a callable, at whose results it looks, and iterables."""

    def own(m, args, kwargs):
        given = [m.callback(x, looks) if i == place else iterable(m, x) for i, x in enumerate(args)]
        named = {k: m.callback(v, looks) for k, v in kwargs.items()}
        return m.native(function, *given, **named)

    replaces(function)(own)


for _function in (map, itertools.starmap):
    taking_function(_function, looks=False)
for _function in (itertools.takewhile, itertools.dropwhile, itertools.filterfalse):
    taking_function(_function)
taking_function(functools.cmp_to_key)
for _function in (type(re.compile("")).sub, type(re.compile("")).subn):
    taking_function(_function, 1)


def looked_at(m, x: Any) -> Any:
    """An iterable for C code that looks at each item, whoever goes through what it gives."""
    return looking(m, get_iterator(m, x)) if id(type(x)) not in PLAIN else x


def looking(m, iterator: Any) -> Iterator[Any]:
    for x in feed(m, iterator):
        m.to_c(x, looks=True)
        yield x


@replaces(itertools.accumulate)
def _(m, args, kwargs):
    adds = len(args) < 2 and kwargs.get("func") is None
    given = [iterable(m, x) if i == 0 else m.callback(x) for i, x in enumerate(args)]
    if adds and args:
        given[0] = looked_at(m, args[0])
    return m.native(itertools.accumulate, *given, **{k: m.callback(v) for k, v in kwargs.items()})


@replaces(itertools.compress)
def _(m, args, kwargs):
    given = [iterable(m, x) if i == 0 else looked_at(m, x) for i, x in enumerate(args)]
    return m.native(itertools.compress, *given, **kwargs)


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
    key = args[1] if len(args) > 1 else kwargs.get("key")
    given = [m.callback(x, looks=True) if i else x for i, x in enumerate(args)]
    if args:
        given[0] = looked_at(m, args[0]) if key is None else iterable(m, args[0])
    keywords = {k: m.callback(v, looks=True) for k, v in kwargs.items()}
    return m.native(itertools.groupby, *given, **keywords)


def _are_few(values: Any) -> bool:
    """Whether a loop over something makes so few turns that it is not worth one."""
    return type(values) in COUNTED and operator.length_hint(values) < MOST_STRAIGHT


def _mapped(m, args, kwargs):
    if len(args) < 2 or kwargs or _are_few(args[1]):
        return None
    function, *values = args
    if len(values) == 1:
        return mapped, function, values[0]
    return mapped_several, function, m.call(zip, values)


def _filtered(m, args, kwargs):
    if len(args) != 2 or kwargs or _are_few(args[1]):
        return None
    return (true_ones, args[1]) if args[0] in (None, bool) else (filtered, *args)


def _of_two_arguments(own: Any) -> Callable:
    return lambda m, args, kwargs: (own, *args) if len(args) == 2 and not kwargs else None


def _accumulated(m, args, kwargs):
    if not 1 <= len(args) <= 2 or not set(kwargs) <= {"func", "initial"}:
        return None
    function = args[1] if len(args) > 1 else kwargs.get("func")
    if kwargs.get("initial") is not None:
        return accumulated_on, kwargs["initial"], function or operator.add, args[0]
    return (added_up, args[0]) if function is None else (accumulated, function, args[0])


def _sliced(m, args, kwargs):
    if kwargs or not all(x is None or type(x) is int for x in args[1:]):
        return None
    if len(args) == 2:
        return None if args[1] is None else (first_ones, *args)
    if not 3 <= len(args) <= 4 or args[2] is not None or not are_sequences(args[:1], m):
        return None
    start, step = args[1] or 0, (args[3] if len(args) == 4 else 1) or 1
    return (from_number, args[0], start, step) if start >= 0 < step else None


def _product(m, args, kwargs):
    """Of ranges alone: of an array it has taken all rows when it begins."""
    number = kwargs.get("repeat", 1)
    if set(kwargs) - {"repeat"} or type(number) is not int:
        return None
    things = args * number
    if not 2 <= len(things) <= 3 or not all(type(x) is range for x in things):
        return None
    return (of_two if len(things) == 2 else of_three), *things


@replaces(itertools.repeat)
def _(m, args, kwargs):
    if len(args) == 1 and not kwargs and type(args[0]) in _NUMBERS and is_zipped(m):
        return Endless(args[0], None)
    return m.native(itertools.repeat, *args, **kwargs)


@replaces(itertools.count)
def _(m, args, kwargs):
    if len(args) <= 2 and not kwargs and all(type(x) is int for x in args) and is_zipped(m):
        return Endless(*args, *(0, 1)[len(args) :])
    return m.native(itertools.count, *args, **kwargs)


_NUMBERS = frozenset({int, float, bool, type(None)})


def _repeated(m, args, kwargs):
    return (times, *args) if len(args) == 2 and not kwargs else None


def _numbered(m, args, kwargs):
    if not 1 <= len(args) <= 2 or set(kwargs) - {"start"} or type(args[0]) is not GENERATOR:
        return None
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return (numbered, args[0], start) if type(start) is int else None


or_in_loop(map, _mapped)
or_in_loop(filter, _filtered)
or_in_loop(enumerate, _numbered)
or_in_loop(itertools.starmap, _of_two_arguments(mapped_several))
or_in_loop(itertools.filterfalse, _of_two_arguments(filtered_false))
or_in_loop(itertools.takewhile, _of_two_arguments(taken_while))
or_in_loop(itertools.accumulate, _accumulated)
or_in_loop(itertools.chain, lambda m, args, kwargs: (chained, args))
or_in_loop(itertools.islice, _sliced)
or_in_loop(itertools.product, _product)
or_in_loop(itertools.repeat, _repeated)


@replaces(functools.reduce)
def _(m, args, kwargs):
    if kwargs or not 2 <= len(args) <= 3:
        return m.native(functools.reduce, *args, **kwargs)
    function = args[0]
    begin = args[2] if len(args) == 3 else NOTHING
    frame = m.consuming(args[1], REDUCING, function, begin=begin)
    if frame is not None:
        return m.answer(frame)
    iterator = get_iterator(m, args[1])
    total = args[2] if len(args) == 3 else advance(m, iterator)
    if total is ABSENT:
        return m.native(functools.reduce, function, ())
    return m.run_own(reduced, function, iterator, total)


def reduced(function: Any, values: Any, total: Any) -> Any:
    """What `reduce` does, interpreted: its turns may stay a loop."""
    for value in values:
        total = function(total, value)
    return total


def call_partial(m, x: functools.partial, args: Any, kwargs: dict) -> Any:
    function = m.part(x, "func", x.func)
    first, keywords = m.part(x, "args", x.args), m.part(x, "keywords", x.keywords)
    return m.call(function, (*first, *args), {**keywords, **kwargs})


if not any("Placeholder" in name for name in dir(functools)):
    REPLACED_KINDS[id(functools.partial)] = call_partial


# -- lists and tuples that are searched -------------------------------------------------------


def searching(function: Any, own: Callable) -> None:
    """Replaces a method that compares items with `==`."""

    def replacement(m, args, kwargs):
        if len(args) != 2 or kwargs or not is_a(args[0], function.__objclass__):
            return m.native(function, *args, **kwargs)
        items, x = args
        if id(type(x)) in PLAIN and operators.all_plain(items):
            return m.native(function, *args)
        return own(m, function, items, x)

    replaces(function)(replacement)


def place_of(m, items: Any, x: Any) -> int:
    """The index of the first item that is the object or equal to it, or -1."""
    for place, item in enumerate(searched(m, items)):
        if is_or_equals(m, item, x):
            return place
    return -1


def searched(m, items: Any) -> Any:
    """The items, as C code finds them: of a class of the user's, its `__iter__` is not asked."""
    if type(items) in (list, tuple):
        return m.items(items)
    return m.native((tuple if is_a(items, tuple) else list).__iter__, items)


def is_or_equals(m, item: Any, x: Any) -> bool:
    return m.native(is_item, item, x) or truth(m, compare(m, COMPARE["=="], item, x))


def index_of(m, function: Any, items: Any, x: Any) -> int:
    place = place_of(m, items, x)
    if place < 0:
        if type(items) is tuple:
            raise ValueError("tuple.index(x): x not in tuple")
        raise ValueError(f"{REPLACED[id(repr)](m, (x,), {})} is not in list")
    return place


def count_of(m, function: Any, items: Any, x: Any) -> int:
    return sum(is_or_equals(m, item, x) for item in searched(m, items))


def remove(m, function: Any, items: Any, x: Any) -> None:
    place = place_of(m, items, x)
    if place < 0:
        raise ValueError("list.remove(x): x not in list")
    m.native(operator.delitem, items, place)


searching(list.index, index_of)
searching(tuple.index, index_of)
searching(list.count, count_of)
searching(tuple.count, count_of)
searching(list.remove, remove)
