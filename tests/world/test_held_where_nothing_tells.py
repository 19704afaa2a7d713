"""An array that the function made stands where only C code sees it, and is written afterwards.

What reads it there sees what was written, or the error says that it would not.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import heapq
import itertools
import linecache
import operator
import queue
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConversionError

KEPT = contextvars.ContextVar("KEPT")
MODULES = (
    *(collections, contextlib, contextvars, functools, heapq, itertools, operator, queue),
    *(sys, threading, types, weakref),
)
X = np.array([1.0, 2.0, 3.0])

HELD = {
    "weakref": ("r = weakref.ref(y)", "r()"),
    "weakset": ("class Q(list): pass\n    q = Q([y]); r = weakref.ref(q)", "r()[0]"),
    "cycle": ("it = itertools.cycle([y])", "next(it)"),
    "chain": ("it = itertools.chain([y])", "next(it)"),
    "repeat": ("it = itertools.repeat(y)", "next(it)"),
    "islice": ("it = itertools.islice([y, y], 2)", "next(it)"),
    "tee": ("a, b = itertools.tee([y]); next(a)", "next(b)"),
    "accumulate": ("it = itertools.accumulate([y, y], lambda p, q: p)", "next(it)"),
    "product": ("it = itertools.product([y], [1])", "next(it)[0]"),
    "starmap": ("it = itertools.starmap(lambda v: v, [(y,)])", "next(it)"),
    "zip": ("it = zip([y], [1])", "next(it)[0]"),
    "map": ("it = map(lambda v: v, [y])", "next(it)"),
    "reversed": ("it = reversed([y])", "next(it)"),
    "listiter": ("it = iter([y])", "next(it)"),
    "tupleiter": ("it = iter((y, 1))", "next(it)"),
    "dictitems": ("d = {'a': y}; it = iter(d.items())", "next(it)[1]"),
    "dictvalues": ("d = {'a': (y,)}; it = d.values()", "next(iter(it))[0]"),
    "enumerate": ("it = enumerate((y,))", "next(it)[1]"),
    "partial": ("p = functools.partial(lambda v: v, y)", "p()"),
    "partialkw": ("p = functools.partial(lambda v: v, v=y)", "p()"),
    "cmp": ("p = functools.cmp_to_key(lambda a, b: 0)(y)", "p.obj"),
    "lru": ("@functools.lru_cache\n    def g(k): return y\n    g(1)", "g(1)"),
    "lru2": ("@functools.lru_cache\n    def g(k): return (y,)\n    g(1)", "g(1)[0]"),
    "ctx": ("KEPT.set(y)", "KEPT.get()"),
    "ctxt": ("KEPT.set((y,))", "KEPT.get()[0]"),
    "local": ("t = threading.local(); t.v = (y,)", "t.v[0]"),
    "exc": ("e = ValueError(y)", "e.args[0]"),
    "exc2": ("try: raise ValueError((y,))\n    except ValueError as ee: e = ee", "e.args[0][0]"),
    "mproxy": ("m = types.MappingProxyType({'a': (y,)})", "m['a'][0]"),
    "chainmap": ("m = collections.ChainMap({}, {'a': (y,)})", "m['a'][0]"),
    "userlist": ("m = collections.UserList([y])", "m[0]"),
    "queue": ("m = queue.Queue(); m.put((y,))", "m.get()[0]"),
    "squeue": ("m = queue.SimpleQueue(); m.put((y,))", "m.get()[0]"),
    "heap": ("m = []; heapq.heappush(m, (1, y))", "m[0][1]"),
    "slice": ("m = slice(y, None)", "m.start"),
    "append": ("l = [y]; m = l.copy", "m()[0]"),
    "super": (
        "class A:\n"
        "        def __init__(s): s.v = (y,)\n"
        "    class B(A):\n"
        "        def g(s): return super()\n"
        "    m = B().g()",
        "m.__self__.v[0]",
    ),
    "gen": (
        "def g():\n        v = (y,)\n        yield 1\n        yield v[0]\n    it = g(); next(it)",
        "next(it)",
    ),
    "genexp": ("it = (v for v in [y])", "next(it)"),
    "objarr": ("m = np.empty(2, object); m[0] = (y,); m[1] = y", "m[0][0] + 0 * m[1]"),
    "objstruct": ("m = np.zeros(1, [('a', object)]); m['a'][0] = y", "m['a'][0]"),
    "defaultdict": ("m = collections.defaultdict(lambda: y)", "m[1]"),
    "defaultdict2": ("m = collections.defaultdict(lambda v=(y,): v[0])", "m[1]"),
    "exitstack": (
        "m = contextlib.ExitStack(); L = []; m.callback(L.append, y)",
        "(m.close(), L[0])[1]",
    ),
    "ntuple": ("N = collections.namedtuple('N', 'a'); m = N((y,))", "m.a[0]"),
    "method": ("class A(list):\n        def g(s): return s[0]\n    m = A([y]).g", "m()"),
    "tsub": ("class A(tuple): pass\n    m = A((y,))", "m[0]"),
    "lsub": ("class A(list): pass\n    m = A((y,))", "m[0]"),
    "dsub": ("class A(dict): pass\n    m = A(k=(y,))", "m['k'][0]"),
    "fset": (
        "class W:\n"
        "        def __init__(s, v): s.v = v\n"
        "        def __hash__(s): return 1\n"
        "    m = frozenset([W(y)])",
        "next(iter(m)).v",
    ),
    "setk": (
        "class W:\n"
        "        __slots__ = ('v',)\n"
        "        def __init__(s, v): s.v = v\n"
        "    m = {W((y,)): 1}",
        "next(iter(m)).v[0]",
    ),
    "mat": ("m = y.view()", "m"),
    "real": ("m = y.real", "m"),
    "T": ("m = y[None].T", "m[:, 0]"),
    "bcast": ("m = np.broadcast_to(y, (2, 3))", "m[1]"),
    "strided": ("m = np.lib.stride_tricks.as_strided(y, (2, 2), (8, 8))", "m.ravel()"),
    "memview": ("m = memoryview(y)", "np.asarray(m)"),
    "frombuf": ("m = np.frombuffer(y)", "m"),
    "aiface": (
        "m = np.asarray(type('I', (), {'__array_interface__': y.__array_interface__, 'k': y})())",
        "m",
    ),
    "flat": ("m = y.flat", "m[1] + np.zeros(1)"),
    "itemg": ("m = operator.methodcaller('f', y)", "m(types.SimpleNamespace(f=lambda v: v))"),
    "locals": ("m = locals()", "m['y']"),
    "locals2": ("m = dict(locals())", "m['y']"),
    "frame": ("m = sys._getframe()", "m.f_locals['y']"),
    "evald": ("m = eval('lambda: y', {'y': y})", "m()"),
    "execd": ("ns = {'y': y}; exec('class A: z = (y,)', ns)", "ns['A'].z[0]"),
    "module": ("m = types.ModuleType('m'); m.v = (y,)", "m.v[0]"),
    "closure": ("def g():\n        def h(): return y\n        return h\n    m = g()", "m()"),
    "deque": ("m = collections.deque([(y,)])", "m[0][0]"),
    "counter": ("m = collections.Counter(); m['a'] = (y,)", "m['a'][0]"),
    "od": ("m = collections.OrderedDict(a=(y,))", "m['a'][0]"),
    "cached": (
        "class A:\n"
        "        @functools.cached_property\n"
        "        def v(s): return (y,)\n"
        "    m = A(); m.v",
        "m.v[0]",
    ),
    "getter": ("class A:\n        def __getattr__(s, n): return y\n    m = A()", "m.v"),
    "getter2": ("class A:\n        def __getattr__(s, n, k=(y,)): return k[0]\n    m = A()", "m.v"),
    "wkv": ("m = weakref.WeakValueDictionary(); m['a'] = y", "m['a']"),
    "proxy": ("class Q: pass\n    q = Q(); q.v = (y,); m = weakref.proxy(q)", "m.v[0]"),
    "masked": ("m = np.ma.masked_array(y, [0, 0, 1])", "m.data"),
    "nditer": ("m = np.nditer(y)", "m.operands[0]"),
    "simplen": ("m = types.SimpleNamespace(a=(y,))", "m.a[0]"),
    "arr0": ("m = [y][0:1]", "m[0]"),
    "tb": (
        "try:\n        v = (y,); 1 / 0\n    except ZeroDivisionError as ee: e = ee",
        "e.__traceback__.tb_frame.f_locals['v'][0]",
    ),
}
"""How an array `y` is held, and what reads it there, by a name of it."""

WRITES = {
    "item": "y[1] = x[1]",
    "in place": "y += x",
    "out": "np.add(y, x, out=y)",
    "view": "y[1:][0] = x[1]",
}


def made(name, write, begin):
    """The function that holds an array, writes to it, and reads it where it is held."""
    hold, read = HELD[name]
    body = (f"y = {MADE[begin]}", hold, WRITES[write], f"return ({read}) * 1.0")
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in body)
    file = f"<{name}, {write}, {begin}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"np": np, "KEPT": KEPT, **{module.__name__: module for module in MODULES}}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


MADE = {"whole": "np.zeros(3)", "a row": "np.zeros((2, 3))[1]", "gaps": "np.zeros(6)[::2]"}


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", HELD)
def test_what_is_written_is_seen_or_refused(name, write):
    begin = [*MADE][([*HELD].index(name) + [*WRITES].index(write)) % len(MADE)]
    if name == "frombuf":  # of what has gaps NumPy makes none
        begin = "whole"
    f = made(name, write, begin)
    transforms = (
        tg.compile(f),
        tg.compile(f, backend="jax"),
        lambda x: tg.vjp(f, x)[0],
        lambda x: tg.value_and_grad(lambda x: f(x).sum())(x)[0],
    )
    for transform in transforms:
        for scale in (1.0, 2.0):
            want = f(X * scale)
            assert want.any()
            try:
                found = transform(X * scale)
            except ConversionError as error:
                assert "would lose its gradient" in str(error)
                assert transform not in transforms[:2]
                continue
            assert np.array_equal(found, want if np.ndim(found) else want.sum())


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_methods_of_lists_with_rows_of_written_arrays_stay_theirs():
    f = made("append", "view", "a row")
    for scale in (1.0, 2.0):
        assert np.array_equal(tg.vjp(f, X * scale)[0], f(X * scale))
