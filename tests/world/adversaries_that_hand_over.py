"""Programs that hand values over: to keepers in C, threads, caches, functions called unseen."""

# ruff: noqa: B019

from __future__ import annotations

import collections
import concurrent.futures
import contextvars
import copy
import functools
import queue
import sys
import threading
import types
import weakref
import zlib
from types import SimpleNamespace

import numpy as np
import scipy.integrate
import scipy.optimize
from adversaries import adversary
from jobs import nothing


@adversary(smooth=False)
def set_of_traced():
    q = set()

    def f(x):
        q.add(x[0])
        q.add(x[0] * 1.0)
        q.add(round(float(x[1]), 1) if False else 1)
        return (x * x).sum() * len(q)

    return (f, SimpleNamespace(n=int), nothing)


@adversary(smooth=False)
def set_of_traced_state():
    q = set()

    def f(x):
        nonlocal q
        q.update([x[0], x[0] + 0])
        q |= {x[1]}
        return (x * x).sum() * len(q)

    return (f, q, nothing)


@adversary(smooth=False)
def dict_of_traced_keys():
    d = {}

    def f(x):
        d[x[0]] = 1
        d.setdefault(x[0] * 1.0, 2)
        d.get(x[0])
        d.update({x[1]: 3})
        d[x[2], 1] = 5
        return (
            (x * x).sum()
            * len(d)
            * d[x[0]]
            * d.get((x[2] + 0, 1), 7.0)
            * (2.0 if x[1] in d else 1.0)
        )

    return (f, d, nothing)


@adversary(smooth=False)
def counter_of_traced():
    c = collections.Counter()

    def f(x):
        c.update([x[0], x[1]])
        c[np.round(x[2])] += 1
        return (x * x).sum() * len(c)

    return (f, c, nothing)


@adversary
def generator_send():

    def avg():
        total, n = (0.0, 0)
        v = None
        while True:
            v = yield (total / max(n, 1))
            total = total + v
            n += 1

    g = avg()
    next(g)

    def f(x):
        return g.send(x.sum()) * x[0]

    return (f, SimpleNamespace(t=int), nothing)


@adversary
def generator_send_kept():
    kept = []

    def col():
        while True:
            v = yield
            kept.append(v)

    g = col()
    next(g)

    def f(x):
        g.send(x * 2)
        return (x * x).sum()

    return (f, kept, nothing)


@adversary
def simple_queue():
    q = queue.SimpleQueue()
    s = SimpleNamespace(out=[])

    def f(x):
        q.put(x * 2)
        return (x * x).sum()

    def bt(t):
        s.out.append(q.get())

    return (f, s, bt)


@adversary
def queue_py():
    q = queue.Queue()
    s = SimpleNamespace(out=[])

    def f(x):
        q.put(x * 2)
        return (x * x).sum() * q.qsize()

    def bt(t):
        s.out.append(q.get())

    return (f, s, bt)


@adversary
def closure_kept():
    s = SimpleNamespace(f=None, out=[])

    def f(x):
        y = x * 2
        s.f = lambda: y
        return (x * x).sum()

    def bt(t):
        s.out.append(s.f())
        s.f = None

    return (f, s, bt)


@adversary
def partial_kept():
    s = SimpleNamespace(f=None, out=[])

    def f(x):
        s.f = functools.partial(np.multiply, x, 2.0)
        return (x * x).sum()

    def bt(t):
        s.out.append(s.f())
        s.f = None

    return (f, s, bt)


@adversary
def object_kept():

    class A:
        def __init__(s, x):
            s.x = x
            s.d = {"y": x * 2}

        def get(s):
            return s.x

    s = SimpleNamespace(a=None, m=None, out=[])

    def f(x):
        s.a = A(x)
        s.m = A(x * 3).get
        return (x * x).sum()

    def bt(t):
        s.out += [s.a.x, s.a.d["y"], s.m()]
        s.a = s.m = None

    return (f, s, bt)


@adversary
def slots_kept():

    class A:
        __slots__ = ("x", "y")

    s = SimpleNamespace(a=None, out=[])

    def f(x):
        s.a = A()
        s.a.x = x
        s.a.y = [x * 2, {"k": x}]
        return (x * x).sum()

    def bt(t):
        s.out += [s.a.x, s.a.y]
        s.a = None

    return (f, s, bt)


@adversary
def default_kept():

    def h(a=None):
        return a

    s = SimpleNamespace(out=[])

    def f(x):
        h.__defaults__ = (x * 2,)
        h.tag = x
        return (x * x).sum() * h().sum()

    def bt(t):
        s.out += [h(), h.tag]

    return (f, s, bt)


@adversary
def iterator_kept():
    s = SimpleNamespace(it=None, out=[])

    def f(x):
        s.it = iter([x * 2, x])
        return (x * x).sum()

    def bt(t):
        s.out += list(s.it)
        s.it = None

    return (f, s, bt)


@adversary
def exception_kept():
    s = SimpleNamespace(e=None, out=[])

    def f(x):
        try:
            raise ValueError(x * 2, "a")
        except ValueError as e:
            s.e = e.args
            s.err = e
        return (x * x).sum()

    def bt(t):
        s.out += [s.e, s.err.args]
        s.err = s.e = None

    return (f, s, bt)


@adversary
def exception_raised_args():
    s = SimpleNamespace(out=[])

    class E(Exception):
        pass

    def g(x):
        e = E(x * 2)
        e.x = x
        raise e

    def f(x):
        try:
            g(x)
        except E as e:
            s.out.append(e.args[0])
            s.last = e.x
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def mappingproxy_kept():
    s = SimpleNamespace(m=None, out=[])

    def f(x):
        s.m = types.MappingProxyType({"x": x * 2})
        return (x * x).sum()

    def bt(t):
        s.out.append(s.m["x"])
        s.m = None

    return (f, s, bt)


@adversary
def named_tuple_kept():
    T = collections.namedtuple("T", "a b")
    s = SimpleNamespace(t=None)

    def f(x):
        s.t = T(x, [x * 2])
        s.u = frozenset([x[0]])
        s.f = {1: {2: {3: (x,)}}}
        return (x * x).sum()

    return (f, SimpleNamespace(s=s), lambda t: None)


@adversary
def weakvalue():
    d = weakref.WeakValueDictionary()
    keep = []

    class A:
        pass

    def f(x):
        a = A()
        a.x = x * 2
        d["a"] = a
        keep.append(a)
        return (x * x).sum() * len(d)

    return (f, SimpleNamespace(g=int), lambda t: keep.clear())


@adversary
def contextvar_traced():
    v = contextvars.ContextVar("v", default=None)
    s = SimpleNamespace(out=[])

    def f(x):
        k = v.get()
        v.set(x * 2)
        return (x * x).sum() if k is None else (x * k).sum()

    def bt(t):
        s.out.append(v.get())

    v.set(None)
    return (f, s, bt)


@adversary
def threadlocal_traced():
    v = threading.local()
    s = SimpleNamespace(out=[])

    def f(x):
        k = getattr(v, "x", None)
        v.x = x * 2
        v.d = {"a": x}
        return (x * x).sum() if k is None else (x * k).sum()

    def bt(t):
        s.out += [v.x, v.d]

    return (f, s, bt)


@adversary
def lru_traced():

    @functools.cache
    def h(a, b):
        s.n += 1
        return a * b

    s = SimpleNamespace(n=0)

    def f(x):
        return h(x[0], 2.0) * h(x[0] * 1.0, 2.0) + x.sum()

    return (f, s, nothing)


@adversary
def lru_returns_array():

    @functools.lru_cache
    def h(n):
        s.n += 1
        return np.arange(float(n))

    s = SimpleNamespace(n=0)

    def f(x):
        return (x * h(3)).sum()

    def bt(t):
        h(3)[0] = float(t)
        if t == 3:
            h.cache_clear()

    return (f, s, bt)


@adversary
def lru_mutated():

    @functools.lru_cache
    def h(n):
        return [0]

    def f(x):
        h(3).append(x * 2)
        return x.sum() * len(h(3))

    return (f, SimpleNamespace(g=int), nothing)


@adversary
def fromfunction():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        y = np.fromfunction(lambda i: a * (i + 1), (3,))
        return (y * x).sum()

    return (f, a, nothing)


@adversary
def minimize_callback():
    a = np.zeros(3)
    SimpleNamespace(n=0)

    def f(x):
        a[:] = x
        r = scipy.optimize.minimize(
            lambda z: ((z - 1) ** 2).sum() + a.sum(), np.zeros(1), callback=lambda z: None
        )
        return (x * x).sum() * np.round(r.x[0]) + np.round(r.fun, 3) * 0

    return (f, a, nothing)


@adversary
def minimize_scalar_reads():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        r = scipy.optimize.minimize_scalar(lambda z: (z - a[2]) ** 2)
        return (x * x).sum() * np.round(r.x, 3)

    return (f, a, nothing)


@adversary
def executor():
    a = np.zeros(3)
    ex = concurrent.futures.ThreadPoolExecutor(1)

    def f(x):
        a[:] = x
        r = ex.submit(lambda: a.copy() * 2).result()
        return (r * x).sum()

    return (f, a, nothing)


@adversary
def executor_map():
    a = np.zeros(3)

    def h(i):
        return a[i] * i

    def f(x):
        a[:] = x * 2
        with concurrent.futures.ThreadPoolExecutor(1) as ex:
            r = list(ex.map(h, range(3)))
        return sum(r) * x[0]

    return (f, a, nothing)


@adversary
def thread_reads():
    a = np.zeros(3)
    out = []

    def f(x):
        a[:] = x * 2
        t = threading.Thread(target=lambda: out.append(a.sum()))
        t.start()
        t.join()
        return (x * x).sum() * out[-1]

    return (f, [a, out], nothing)


@adversary
def thread_args():
    out = []

    def f(x):
        t = threading.Thread(target=out.append, args=(x * 2,))
        t.start()
        t.join()
        return (x * x).sum()

    return (f, out, nothing)


@adversary
def frompyfunc():
    a = np.zeros(3)
    u = np.frompyfunc(lambda i: a[int(i)], 1, 1)

    def f(x):
        a[:] = x
        return (u(np.arange(3)).astype(float) * x).sum()

    return (f, a, nothing)


@adversary
def apply_along():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        y = np.apply_along_axis(lambda r: r * a, 0, np.ones((3, 2)))
        return (y.sum(1) * x).sum()

    return (f, a, nothing)


@adversary
def vectorize_reads():
    a = np.zeros(3)
    v = np.vectorize(lambda i: a[i] * 2.0)

    def f(x):
        a[:] = x
        return (v(np.arange(3)) * x).sum()

    return (f, a, nothing)


@adversary
def solve_ivp_reads():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        r = scipy.integrate.solve_ivp(lambda t, y: -y * a[2], (0, 1), [1.0], t_eval=[1.0])
        return (x * x).sum() * np.round(r.y[0, 0], 2) if False else r.y[0, 0] * x.sum()

    return (f, a, nothing)


@adversary
def quad_reads():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        return scipy.integrate.quad(lambda t: t * a[0], 0, 1)[0] * x.sum()

    return (f, a, nothing)


@adversary
def fromiter_reads():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        return (np.fromiter((a[i] * 2 for i in range(3)), float) * x).sum()

    return (f, a, nothing)


@adversary
def memoryview_reads():
    a = np.zeros(3)
    m = memoryview(a)

    def f(x):
        a[:] = x
        return x.sum() * m[0]

    return (f, a, nothing)


@adversary
def sort_key_reads():
    a = np.zeros(3)

    def f(x):
        a[:] = x
        o = sorted(range(3), key=lambda i: a[i])
        return (x * np.array(o)).sum() + max(range(3), key=a.__getitem__)

    return (f, a, nothing)


@adversary(smooth=False)
def str_of_written():
    a = np.zeros(3)
    s = SimpleNamespace(t="")

    def f(x):
        a[:] = x
        s.t = f"{a[0]:.3f} {a}"
        s.b = a.tobytes() if False else None
        s.l = a.tolist() if False else None
        return (x * x).sum() * len(s.t)

    return (f, [a, s], nothing)


@adversary
def copy_of_written():
    a = np.zeros(3)
    s = SimpleNamespace(t=None)

    def f(x):
        a[:] = x
        s.t = copy.deepcopy(a)
        s.u = copy.copy([a])
        s.v = a.copy()
        s.w = a[1:]
        return (s.t * x).sum() + (s.u[0] * x).sum()

    return (f, SimpleNamespace(s=s, a=a), nothing)


@adversary
def out_0d():
    b = np.zeros(())

    def f(x):
        np.sum(x, out=b)
        return x.sum() * b

    return (f, b, nothing)


@adversary
def item_0d():
    b = np.zeros(())

    def f(x):
        b[...] = x.sum()
        b[()] += 1
        return x.sum() * b

    return (f, b, nothing)


@adversary
def hook_setitem():

    class D(dict):
        def __setitem__(s, k, v):
            s.n = getattr(s, "n", 0) + 1
            super().__setitem__(k, v)

    d = D()

    def f(x):
        nonlocal d
        d["a"] = x * 2
        d.update(b=x)
        d |= {"c": x}
        return (d["a"] * x).sum()

    return (f, [dict, SimpleNamespace(d=d)], nothing)


@adversary
def list_subclass():

    class L(list):
        def append(s, v):
            super().append((v, len(s)))

    l = L()

    def f(x):
        l.append(x * 2)
        l.extend([x])
        return (x * x).sum()

    def bt(t):
        if t > 3:
            l.clear()

    return (f, SimpleNamespace(l=l), bt)


@adversary
def userdict():
    d = collections.UserDict(a=1.0)

    def f(x):
        d["x"] = x * 2
        d["n"] = d.get("n", 0) + 1
        return (d["x"] * x).sum() * d["a"]

    def bt(t):
        d["a"] = float(t)

    return (f, d, bt)


@adversary
def print_values():
    s = SimpleNamespace(k=1)

    def f(x):
        print(x, x[0], s.k, f"{x.sum():.2f}", end="|", sep=";")
        s.k += 1
        sys.stdout.write("w\n")
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def print_order_exception():

    def f(x):
        print("a")
        try:
            print("b", x[0])
            raise ValueError
        except ValueError:
            print("c")
        finally:
            print("d")
        return (x * x).sum()

    return (f, None, nothing)


@adversary
def lru_self():

    class M:
        def __init__(s):
            s.w = 1.0

        @functools.lru_cache
        def c(s, n):
            return s.w * n

    m = M()

    def f(x):
        m.w = x
        return (m.c(2) * x).sum()

    def bt(t):
        if t == 3:
            M.c.cache_clear()

    return (f, m, bt)


@adversary
def lru_closure():
    s = SimpleNamespace(w=None)

    @functools.lru_cache
    def c(n):
        return s.w * n

    def f(x):
        s.w = x
        return (c(2) * x).sum()

    def bt(t):
        if t == 3:
            c.cache_clear()

    return (f, s, bt)


@adversary
def lru_made_inside():
    s = SimpleNamespace(k=2.0)

    def f(x):

        @functools.lru_cache
        def c(n):
            return x * n * s.k

        return (c(2) * c(2)).sum() + c(3).sum()

    def bt(t):
        s.k = float(t)

    return (f, s, bt)


@adversary
def lru_inside_traced_arg():
    s = SimpleNamespace(k=2.0)

    def f(x):

        @functools.lru_cache
        def fib(n):
            return x[0] if n < 2 else fib(n - 1) + fib(n - 2) * s.k

        return fib(6)

    def bt(t):
        s.k = float(t)

    return (f, s, bt)


@adversary
def lru_inside_value_arg():

    def f(x):

        @functools.lru_cache
        def sq(v):
            return v * v

        return sq(x[0]) + sq(x[1]) * 2

    return (f, None, nothing)


@adversary
def set_in_list():
    s = SimpleNamespace(L=[])

    def f(x):
        s.L = [{x[0], 1}, frozenset([x[1]]), (frozenset([x[2]]),)]
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def crc():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = zlib.crc32(x)
        return (x * x).sum()

    return (f, s, nothing)
