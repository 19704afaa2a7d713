"""Numbers from outside that C code looks at: each program enters, its result follows the number.

A number that is read outside is an input of the program unless something looks at it. What a
function or a generator gives to C code is looked at too, wherever else the number goes.
"""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import linecache
import math
import operator
import re
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

FORMS = """
sorted(L, key=lambda o: o.k)[0].v
sorted(L, key=operator.attrgetter("k"))[0].v
sorted(L, key=lambda o: (o.k, 1))[0].v
sorted(L, key=lambda o: -o.k)[0].v
sorted(L, key=functools.cmp_to_key(lambda a, b: a.k - b.k))[0].v
sorted(o.k for o in L)[0]
sorted(range(3), key=[o.k for o in L].__getitem__)[0] + 1.0
(lambda h: (h.sort(key=lambda o: o.k), h[0])[1])([*L]).v
min(L, key=operator.attrgetter("k")).v
max((o.k, o.v) for o in L)[1]
max(o.k for o in L)
max(L[0].k, L[1].k, L[2].k)
heapq.nsmallest(1, L, key=lambda o: o.k)[0].v
list(heapq.merge([L[0].k], [L[1].k], [L[2].k]))[0]
bisect.bisect([1.0, 2.0, 3.0], L[0].k) + 1.0
bisect.bisect([1, 2], 1.5, key=lambda i: i * L[0].k) + 1.0
len(list(itertools.takewhile(lambda o: o.k, L))) + 1.0
len(list(itertools.dropwhile(lambda o: o.k > 0, L))) + 1.0
len(list(itertools.filterfalse(lambda o: o.k, L))) + 1.0
len(list(filter(lambda o: o.k, L))) + 1.0
len(list(itertools.groupby(L, key=lambda o: o.k))) + 1.0
len(list(itertools.groupby(o.k for o in L))) + 1.0
len(list(itertools.compress("abc", (o.k for o in L)))) + 1.0
list(itertools.accumulate(o.k for o in L))[-1]
list(itertools.accumulate((o.k for o in L), lambda a, b: a * b))[-1]
len({o.k for o in L}) + 1.0
len(set(map(lambda o: o.k, L))) + 1.0
len(collections.Counter(o.k for o in L)) + 1.0
len(dict(zip((o.k for o in L), "abc"))) + 1.0
math.fsum(o.k for o in L)
math.fsum(map(lambda o: o.k, L))
math.fsum(itertools.islice((o.k for o in L), 2))
math.fsum({"a": L[0].k, "b": L[1].k}.values())
math.fsum(collections.deque([o.k for o in L]))
sum(map(lambda o: o.k, L))
statistics.mean(o.k for o in L)
functools.reduce(operator.mul, map(lambda o: o.k, L))
np.fromiter((o.k for o in L), float).sum()
np.vectorize(lambda i: L[int(i)].k)(np.arange(3)).sum()
np.array([(o.k, o.v) for o in L])[0, 0]
np.array([o.k for o in L]).max()
re.sub("a", lambda m: str(L[0].k), "aba").count("6") + 1.0
" ".join(str(o.k) for o in L).count("6") + 1.0
(2.0 in [o.k for o in L]) + 1.0
any(map(lambda o: o.k > 2, L)) + 1.0
"""
MODULES = {
    **{"bisect": bisect, "collections": collections, "functools": functools, "heapq": heapq},
    **{"itertools": itertools, "math": math, "operator": operator, "re": re},
    **{"statistics": statistics, "np": np},
}
EDITS = (
    lambda L: None,
    lambda L: setattr(L[0], "k", 2.69),
    lambda L: setattr(L[1], "k", -0.29),
    lambda L: setattr(L[0], "k", 0.0),
    lambda L: setattr(L[2], "k", 2.0),
)
FIRST = "    y = x * ({form})\n    y = y + L[0].k + L[1].k * L[2].k\n"
LAST = "    y = x + L[0].k + L[1].k * L[2].k\n    y = y * ({form})\n"


def written(text, names):
    file = f"<numbers in c {len(linecache.cache)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("form", FORMS.strip().splitlines())
@pytest.mark.parametrize("body", [FIRST, LAST], ids=["first", "last"])
def test_what_c_code_looks_at_is_guarded(form, body):
    L = [
        SimpleNamespace(k=1.0, v=2.0),
        SimpleNamespace(k=2.0, v=5.0),
        SimpleNamespace(k=0.69, v=-2.2),
    ]
    f = written(f"def f(x):\n{body.format(form=form)}    return y\n", {**MODULES, "L": L})
    compiled, x = tg.compile(f), np.array([1.0, 2.0])
    for edit in EDITS:
        edit(L)
        assert_same_bits(compiled(x), f(x))


def test_what_is_handed_on_stays_an_input():
    """A rate that is taken from a generator by Python alone is no reason to compile again."""
    rates = [0.1, 0.2, 0.3]

    def f(x):
        for rate in map(lambda r: r * 2, (r for r in rates)):
            x = x * rate
        return x

    compiled, x = tg.compile(f), np.ones(2)
    for step in range(4):
        rates[:] = [0.1 + step, 0.2 * step, 0.3]
        assert_same_bits(compiled(x), f(x))
    assert compiled.cache_info().versions == 1


class Weighed:
    def __init__(self, k):
        self.k = k

    def __lt__(self, other):
        return self.k < other.k

    def __gt__(self, other):
        return self.k > other.k


@pytest.mark.parametrize("extreme", [min, max])
def test_a_list_of_objects_grows_at_the_same_place(extreme):
    """The code for two items is not that for three."""
    items = [Weighed(1.0), Weighed(2.0)]

    def f(x):
        return x * extreme(items).k

    compiled, x = tg.compile(f), np.ones(2)
    for k in (1.5, 3.0, 0.5, -1.0):
        assert_same_bits(compiled(x), f(x))
        items.append(Weighed(k))
    while len(items) > 1:
        assert_same_bits(compiled(x), f(x))
        items.pop(0)
    items[0].k = 7.0
    assert_same_bits(compiled(x), f(x))


def test_one_place_that_calls_min_and_max():
    def f(x, name):
        choose = min if name == "min" else max
        return choose(x[0], x[1], x[2])

    compiled = tg.compile(f)
    for x in ([1.0, 3.0, 2.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0]):
        for name in ("min", "max", "min"):
            assert_same_bits(compiled(np.array(x), name), f(np.array(x), name))
