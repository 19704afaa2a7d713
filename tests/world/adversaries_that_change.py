"""Programs that change what is outside, in every way that Python has."""

# ruff: noqa: B019

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import operator
from types import SimpleNamespace

import numpy as np
from adversaries import adversary
from jobs import nothing

G1 = 0
G2 = None
GG = 1.0


@adversary
def store_attr():
    s = SimpleNamespace(last=None, n=0, b=True)

    def f(x):
        s.last = x * 2
        s.n += 1
        s.b = not s.b
        s.first = getattr(s, "first", s.n)
        return s.last.sum() * s.n

    def bt(t):
        if t == 3:
            del s.first
        if t == 4:
            s.n = 100

    return (f, s, bt)


@adversary
def store_global():
    global G1, G2
    G1 = 0
    G2 = None

    def f(x):
        global G1, G2
        G1 += 1
        G2 = x * G1 if G2 is None else G2 + x
        return G2.sum()

    def bt(t):
        global G2, G1
        if t == 3:
            G2 = None
        if t == 4:
            G1 = 50

    return (f, SimpleNamespace(a=int), bt)


@adversary
def delete_global():
    g = globals()
    g["GG"] = 1.0

    def f(x):
        global GG
        try:
            k = GG
            del GG
        except NameError:
            k = 5.0
        return x.sum() * k

    return (f, None, nothing)


@adversary
def store_deref():
    n = 0
    last = None

    def f(x):
        nonlocal n, last
        n += 1
        r = x.sum() * n if last is None else (x * last).sum()
        last = x + n
        return r

    def g():
        return (n, last)

    def bt(t):
        nonlocal last
        if t == 3:
            last = None

    return (f, SimpleNamespace(c=int), bt)


@adversary
def delete_deref():
    c = 1.0

    def f(x):
        nonlocal c
        try:
            k = c
            del c
        except NameError:
            k = 2.0
        return x.sum() * k

    return (f, None, nothing)


@adversary
def store_subscr():
    d = {}
    L = [None, 1.0]

    def f(x):
        d["x"] = x
        d[len(d)] = 1
        L[0] = x * L[1]
        L[-1] = L[1] + 1
        return (d["x"] * L[0]).sum() + len(d)

    def bt(t):
        if t == 3:
            d.clear()

    return (f, [d, L], bt)


@adversary
def delete_subscr():
    d = {"a": 1.0, "b": 2.0}
    L = [1.0] * 10

    def f(x):
        d.pop("a", None)
        del L[0]
        del L[-1:]
        return x.sum() * len(d) * len(L)

    def bt(t):
        d["a"] = 3.0
        if t > 3:
            L.extend([1.0, 2.0])

    return (f, [d, L], bt)


@adversary
def delete_attr():
    s = SimpleNamespace(k=1.0)

    def f(x):
        if hasattr(s, "k"):
            r = x.sum() * s.k
            del s.k
            return r
        return (x * x).sum()

    def bt(t):
        if t in (2, 3):
            s.k = 5.0 * t

    return (f, s, bt)


@adversary
def delete_class_attr():

    class A:
        k = 2.0

    o = A()
    o.k = 1.0

    def f(x):
        r = x.sum() * o.k
        if "k" in o.__dict__:
            del o.k
        else:
            A.k = A.k + 1
        return r

    return (f, A.__dict__ and SimpleNamespace(g=int), nothing)


@adversary
def iadd_list():
    L = []
    s = SimpleNamespace(L=L)

    def f(x):
        s.L += [x * 2, 1]
        return (x * x).sum()

    def bt(t):
        if t == 3:
            s.L = []

    return (f, s, bt)


@adversary
def iadd_list_read():
    s = SimpleNamespace(L=[])

    def f(x):
        s.L += [x * 2]
        return (s.L[-1] * x).sum()

    def bt(t):
        s.L.clear()

    return (f, s, bt)


@adversary
def ior_dict():
    d = {}

    def f(x):
        nonlocal d
        d |= {"x": x * 2}
        return (d["x"] * x).sum()

    def bt(t):
        d.clear()

    return (f, d, bt)


@adversary
def imul_list():
    L = [1.0]

    def f(x):
        nonlocal L
        L *= 2
        return x.sum() * len(L)

    return (f, L, nothing)


@adversary
def ior_set():
    q = {1}

    def f(x):
        nonlocal q
        q |= {len(q) + 1}
        q &= {1, 2, 3, 4}
        q -= {2}
        q ^= {9}
        return x.sum() * len(q)

    return (f, q, nothing)


@adversary
def iadd_array():
    a = np.zeros(3)

    def f(x):
        nonlocal a
        a += x
        a *= 2
        a[1] -= x[0]
        return (a * x).sum()

    def bt(t):
        if t == 3:
            a[:] = 0

    return (f, a, bt)


@adversary
def iadd_custom():

    class V:
        def __init__(s):
            s.v = 0.0
            s.n = 0

        def __iadd__(s, o):
            s.v = s.v + o
            s.n += 1
            return s

    s = SimpleNamespace(v=V())

    def f(x):
        s.v += x.sum()
        return s.v.v * s.v.n

    def bt(t):
        if t == 3:
            s.v.v = 0.0

    return (f, s, bt)


@adversary
def list_sort_remove():
    L = [3.0, 1.0, 2.0]

    def f(x):
        L.sort()
        m = L[0]
        L.remove(m)
        L.append(m + 10)
        return x.sum() * L[0] + L.index(L[1]) + L.count(2.0)

    return (f, L, nothing)


@adversary
def dict_methods():
    d = {"a": 1.0}

    def f(x):
        d.setdefault("x", x * 2)
        d.update(y=x, z=1)
        k = d.pop("a", 0.0)
        d.popitem()
        d["a"] = k + 1
        return (d["x"] * x).sum() * k

    def bt(t):
        if t == 3:
            d.pop("x")
        if t == 4:
            d.clear()

    return (f, d, bt)


@adversary
def dict_fromkeys_copy():
    d = {"a": 1.0}

    def f(x):
        e = d.copy()
        e["a"] = x
        d.update(e)
        return (d["a"] * x).sum()

    return (f, d, nothing)


@adversary
def set_methods():
    q = set()

    def f(x):
        q.add(len(q))
        q.update({7, 8})
        q.discard(3)
        return x.sum() * len(q)

    def bt(t):
        if t == 3:
            q.clear()

    return (f, q, bt)


@adversary
def setdefault_then_store():
    d = {}

    def f(x):
        v = d.setdefault("v", np.zeros_like(x))
        d["v"] = 0.9 * v + x
        w = d.setdefault("w", [])
        w.append(x * 2)
        return (d["v"] * x).sum()

    def bt(t):
        if t == 3:
            d.clear()

    return (f, d, bt)


@adversary
def vars_then_attr():
    s = SimpleNamespace()

    def f(x):
        vars(s).update(a=x * 2)
        s.a = x * 3
        s.__dict__["b"] = x
        s.b = x * 4
        s.__dict__["c"] = s.a
        return (s.a * s.b * s.c).sum()

    def bt(t):
        if t == 2:
            s.__dict__.clear()
        if t == 4:
            del s.a

    return (f, s, bt)


@adversary
def dunder_dict_replaced():

    class A:
        pass

    s = A()
    s.k = 1.0

    def f(x):
        s.__dict__ = {"k": s.k + 1, "x": x}
        return (s.x * s.k).sum()

    return (f, s, nothing)


@adversary
def object_setattr():

    class A:
        def __setattr__(s, n, v):
            raise AttributeError(n)

    s = A()
    object.__setattr__(s, "n", 0)

    def f(x):
        object.__setattr__(s, "n", s.n + 1)
        object.__setattr__(s, "x", x * s.n)
        return s.x.sum()

    def bt(t):
        if t == 3:
            object.__setattr__(s, "n", 10)

    return (f, s, bt)


@adversary
def type_setattr():

    class A:
        n = 0

    def f(x):
        type.__setattr__(A, "n", A.n + 1)
        A.last = x * A.n
        return A.last.sum()

    def bt(t):
        if t == 3:
            A.n = 10

    return (f, SimpleNamespace(n=int), bt)


@adversary
def in_enter_exit():

    class C:
        def __init__(s):
            s.n = 0
            s.log = []
            s.x = None

        def __enter__(s):
            s.n += 1
            s.log.append("in")
            return s

        def __exit__(s, *e):
            s.log.append(s.x)
            s.x = None
            return True

    c = C()

    def f(x):
        with c as q:
            q.x = x * q.n
            y = q.x.sum()
            if q.n == 3:
                raise ValueError
        return y

    return (f, c, nothing)


@adversary
def in_call_and_descr():

    class D:
        def __get__(s, o, t=None):
            o.__dict__["reads"] = o.__dict__.get("reads", 0) + 1
            return 2.0

        def __set__(s, o, v):
            o.__dict__["w"] = v

    class A:
        d = D()

        def __call__(s, x):
            s.n = getattr(s, "n", 0) + 1
            s.d = x
            return (x * s.d).sum() * s.n

    a = A()
    return (lambda x: a(x), a, nothing)


@adversary
def heappush_outside():
    h = []

    def f(x):
        heapq.heappush(h, (len(h) * -1.0, len(h)))
        return x.sum() * h[0][0]

    return (f, h, nothing)


@adversary
def heappush_traced():
    h = []

    def f(x):
        heapq.heappush(h, (x[0] * x[1], len(h)))
        if len(h) > 3:
            heapq.heappop(h)
        return (x * x).sum()

    return (f, h, nothing)


@adversary
def insort_traced():
    L = [0.0]

    def f(x):
        bisect.insort(L, x.sum())
        return (x * x).sum() * bisect.bisect(L, 0.5)

    return (f, L, nothing)


@adversary
def counter_update():
    c = collections.Counter()

    def f(x):
        c.update("ab")
        c["a"] += 1
        c.subtract({"b": 3})
        return x.sum() * c["a"] * c.total()

    def bt(t):
        if t == 3:
            c.clear()

    return (f, c, bt)


@adversary
def chainmap():
    a, b = ({"k": 1.0}, {"k": 2.0, "j": 3.0})
    c = collections.ChainMap(a, b)

    def f(x):
        c["n"] = c.get("n", 0) + 1
        return (x * c["k"]).sum() * c["j"] * c["n"]

    def bt(t):
        if t == 2:
            del a["k"]
        if t == 3:
            b["j"] = 5.0
        if t == 4:
            c.maps.insert(0, {"k": 9.0})

    return (f, [a, b], bt)


@adversary
def ordered_dict():
    d = collections.OrderedDict(a=1.0)

    def f(x):
        d["x"] = x * 2
        d.move_to_end("a")
        d["n"] = d.get("n", 0) + 1
        if len(d) > 2:
            d.popitem(last=False)
        return (x * d["a"]).sum() * len(d)

    def bt(t):
        d.setdefault("a", 2.0)

    return (f, d, bt)


@adversary
def deque_rotate():
    q = collections.deque([1.0, 2.0, 3.0], maxlen=4)

    def f(x):
        q.rotate(1)
        q.append(x.sum())
        q.popleft()
        q.appendleft(q[0])
        return (x * x).sum() * len(q)

    def bt(t):
        if t == 3:
            q.clear()
            q.extend([1.0, 2.0, 3.0])

    return (f, q, bt)


@adversary
def out_param():
    a = np.zeros(3)
    b = np.zeros(())

    def f(x):
        np.multiply(x, 2, out=a)
        np.add(a, x, a)
        np.sum(x, out=b)
        return (a * x).sum() * b

    return (f, [a, b], nothing)


@adversary
def exceptions_half():
    s = SimpleNamespace(n=0, L=[], x=None)

    def f(x):
        s.n += 1
        s.L.append(x * 2)
        s.x = x
        if s.n % 2 == 0:
            raise ValueError("half")
        s.L.append("end")
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def exceptions_half_caught():
    s = SimpleNamespace(n=0, L=[], x=None)

    def h(x):
        s.n += 1
        s.L.append(x * 2)
        if x[0] > 0.4:
            raise ValueError("half")
        s.L.append("end")
        return (x * x).sum()

    def f(x):
        try:
            return h(x)
        except ValueError as e:
            s.x = x * 3
            s.msg = str(e)
            return x.sum()

    return (f, s, nothing)


@adversary
def map_append():
    L = []

    def f(x):
        list(map(L.append, [x * 2, x[0], 3]))
        collections.deque(map(L.append, [x * 3]), maxlen=0)
        any(L.append(v) for v in x)
        return (x * x).sum()

    def bt(t):
        if t > 3:
            L.clear()

    return (f, L, bt)


@adversary
def setattr_delattr_functions():
    s = SimpleNamespace(a=1.0)

    def f(x):
        s.b = x * 2
        operator.setitem(s.__dict__, "c", x)
        delattr(s, "a") if hasattr(s, "a") else setattr(s, "a", 2.0)
        operator.iadd(s.__dict__.setdefault("L", []), [x])
        operator.attrgetter("b")(s)
        return (s.b * s.c).sum()

    return (f, s, nothing)


@adversary
def extend_slice_assign():
    L = [1.0]

    def f(x):
        L[len(L) :] = [x * 2]
        L[0:1] = [1.0, 2.0]
        L.extend(v for v in x)
        L[::2] = [0] * len(L[::2])
        return (x * x).sum() * len(L)

    def bt(t):
        del L[2:]

    return (f, L, bt)


@adversary
def nested_new_containers():
    s = SimpleNamespace(d={})

    def f(x):
        s.d = {"a": [x, {"b": x * 2}], "c": (x, 1)}
        s.d["a"].append(x * 3)
        s.d["a"][1]["z"] = x
        return (s.d["a"][2] * x).sum()

    return (f, s, nothing)


@adversary
def object_array():
    a = np.empty(2, object)
    a[:] = [1.0, None]

    def f(x):
        a[1] = x * 2
        r = (a[1] * x).sum() * a[0]
        a[0] = a[0] + 1
        return r

    return (f, [list(a)], nothing)


@adversary
def cached_property_made():

    class A:
        def __init__(s):
            s.n = 0

        @functools.cached_property
        def c(s):
            s.n += 1
            return np.arange(3.0) * s.n

        @functools.cached_property
        def cx(s):
            return s.arg * 2

    a = A()

    def f(x):
        a.arg = x
        a.__dict__.pop("cx", None)
        return (a.c * a.cx).sum()

    def bt(t):
        if t == 3:
            del a.c

    return (f, a, bt)


@adversary
def lru_of_method():

    class A:
        def __init__(s):
            s.k = 2.0
            s.n = 0

        @functools.lru_cache
        def c(s, m):
            s.n += 1
            return s.k * m

    a = A()

    def f(x):
        return x.sum() * a.c(3)

    def bt(t):
        a.k = float(t)
        if t == 3:
            A.c.cache_clear()

    return (f, a, bt)
