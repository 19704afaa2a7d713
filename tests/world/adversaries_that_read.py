"""Programs that read Python in every way that tracing once missed, with what changes it."""

# ruff: noqa: B024

from __future__ import annotations

import abc
import collections
import contextvars
import gc
import math
import os
import random
import threading
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
from adversaries import adversary
from jobs import nothing


@adversary
def absent_class_attr():

    class A:
        pass

    class B(A):
        pass

    o = B()

    def f(x):
        return (x * getattr(o, "k", 1.0)).sum() + getattr(type(o), "bias", 0.0)

    def bt(t):
        if t == 2:
            A.k = 3.0
        if t == 3:
            B.k = 4.0
        if t == 4:
            o.k = 5.0
            A.bias = 2.0
        if t == 5:
            del o.k

    return (f, None, bt)


@adversary
def absent_getattr_hook_added():

    class A:
        pass

    o = A()

    def f(x):
        try:
            k = o.k
        except AttributeError:
            k = 1.0
        return (x * k).sum()

    def bt(t):
        if t == 2:
            A.__getattr__ = lambda s, n: 7.0
        if t == 4:
            del A.__getattr__

    return (f, None, bt)


@adversary
def identity_of_state():
    a, b = (SimpleNamespace(v=1.0), SimpleNamespace(v=1.0))
    s = SimpleNamespace(cur=a, ref=a)

    def f(x):
        return x.sum() * (2.0 if s.cur is s.ref else 3.0) * s.cur.v

    def bt(t):
        s.cur = [a, b][t % 2]
        b.v += 1

    return (f, s, bt)


@adversary
def isinstance_changes():

    class A:
        k = 1.0

    class B(A):
        k = 2.0

    o = A()

    def f(x):
        return (x * x).sum() * (5.0 if isinstance(o, B) else 1.0) * o.k

    def bt(t):
        o.__class__ = [A, B][t % 2]

    return (f, None, bt)


@adversary
def issubclass_by_bases():

    class A:
        pass

    class C:
        pass

    class B(A):
        pass

    def f(x):
        return (x * x).sum() * (5.0 if issubclass(B, C) else 1.0)

    def bt(t):
        B.__bases__ = [(A,), (C,)][t % 2]

    return (f, None, bt)


@adversary
def abc_registered():

    class M(abc.ABC):
        pass

    class A:
        pass

    o = A()

    def f(x):
        return x.sum() * (3.0 if isinstance(o, M) else 1.0)

    def bt(t):
        if t == 3:
            M.register(A)

    return (f, None, bt)


@adversary
def dict_get_none():
    d = {}

    def f(x):
        k = d.get("k")
        return x.sum() if k is None else (x * k).sum()

    def bt(t):
        if t == 2:
            d["k"] = 2.0
        if t == 3:
            d["k"] = None
        if t == 4:
            d["k"] = np.array([1.0, 2.0, 3.0])

    return (f, d, bt)


@adversary
def defaultdict_missing():
    d = collections.defaultdict(lambda: 2.0)

    def f(x):
        return (x * d["k"]).sum()

    def bt(t):
        if t == 3:
            del d["k"]
        if t == 4:
            d["k"] = 9.0

    return (f, d, bt)


@adversary
def keys_order():
    d = {"a": 1.0, "b": 2.0}

    def f(x):
        r = 0.0
        for i, k in enumerate(d):
            r = r + d[k] * x[i] * (i + 1)
        return r

    def bt(t):
        v = d.pop("a")
        d["a"] = v
        if t == 4:
            d["c"] = 3.0

    return (f, d, bt)


@adversary
def dict_views_compared():
    a = {"x": 1, "y": 2}
    b = {"x": 1}

    def f(x):
        return x.sum() * len(a.keys() - b.keys()) * (2.0 if a.items() >= b.items() else 1.0)

    def bt(t):
        if t == 2:
            b["y"] = 2
        if t == 3:
            b["x"] = 5
        if t == 4:
            a["z"] = 1

    return (f, [a, b], bt)


@adversary
def set_algebra():
    a = {"x", "y"}
    b = {"x"}

    def f(x):
        return x.sum() * len(a | b) * len(a & b) + len(a ^ b)

    def bt(t):
        if t % 2:
            b.add(str(t))
        else:
            a.discard("y")

    return (f, [a, b], bt)


@adversary
def packed_list():
    L = [1.0, 2.0, 3.0] * 10

    def f(x):
        return (x.sum() * np.array(L)).sum() + sum(L) + max(L) + L[3]

    def bt(t):
        L[3] = 10.0 * t
        if t == 4:
            L.append(7.0)

    return (f, L, bt)


@adversary
def packed_mixed():
    L = [1.0] * 20

    def f(x):
        return x.sum() * sum(v * v for v in L)

    def bt(t):
        if t == 2:
            L[5] = 2
        if t == 3:
            L[5] = np.float64(3)
        if t == 4:
            L[6] = True
        if t == 5:
            L[7] = np.array(2.0)

    return (f, L, bt)


@adversary
def tuple_replaced():
    s = SimpleNamespace(t=(1.0, 2.0, (3.0, 4.0)))

    def f(x):
        a, b, (c, d) = s.t
        return (x * a * b + c - d).sum()

    def bt(t):
        s.t = (1.0 * t, 2.0, (3.0, 4.0 * t))

    return (f, s, bt)


@adversary
def aliases():
    a = np.array([1.0, 2.0, 3.0])
    s = SimpleNamespace(a=a, b=a)

    def f(x):
        s.a[0] = s.a[0] + 1
        return (x * s.b).sum()

    def bt(t):
        if t == 2:
            s.b = a.copy()
        if t == 4:
            s.b = s.a

    return (f, s, bt)


@adversary
def alias_lists():
    l = [1.0]
    s = SimpleNamespace(a=l, b=l)

    def f(x):
        s.a.append(2.0)
        return x.sum() * len(s.b)

    def bt(t):
        del s.a[1:]
        if t == 2:
            s.b = [1.0]
        if t == 4:
            s.b = s.a

    return (f, s, bt)


@adversary
def rebound_params():
    s = SimpleNamespace(p={"w": np.ones(3), "n": {"b": 1.0}})

    def f(x):
        return (x * s.p["w"]).sum() * s.p["n"]["b"]

    def bt(t):
        s.p = {"w": s.p["w"] * 0.9, "n": {"b": s.p["n"]["b"] + 1}}

    return (f, s, bt)


@adversary
def rebound_shared():
    w = np.ones(3)
    s = SimpleNamespace(p=[w, w])

    def f(x):
        s.p[0] += x
        return (x * s.p[1]).sum()

    def bt(t):
        s.p = [s.p[0] * 0.5] * 2 if t % 2 else [s.p[0] * 0.5, s.p[1] * 0.25]

    return (f, s, bt)


@adversary
def numbers_types():
    s = SimpleNamespace(k=2.0)

    def f(x):
        return (x * s.k).sum() if isinstance(s.k, float) else (x * s.k).sum() + 100

    def bt(t):
        s.k = [2.0, 2, np.float64(2), np.float32(2), True, 2.5][t]

    return (f, s, bt)


@adversary
def numbers_nan_zero():
    s = SimpleNamespace(k=0.0)

    def f(x):
        return x.sum() * math.copysign(1.0, s.k) + (0.0 if s.k == s.k else 1.0)

    def bt(t):
        s.k = [0.0, -0.0, float("nan"), 0.0, -1.0, float("inf")][t]

    return (f, None, bt)


@adversary
def int_exponent():
    s = SimpleNamespace(n=2)

    def f(x):
        return (x**s.n).sum()

    def bt(t):
        s.n = [2, 3, 2.0, -1, 0, 1][t]

    return (f, s, bt)


@adversary
def thread_local():
    l = threading.local()
    l.k = 1.0

    def f(x):
        l.n = getattr(l, "n", 0) + 1
        return x.sum() * l.k * l.n

    def bt(t):
        l.k = float(t)
        if t == 3:
            del l.n

    return (f, None, bt)


@adversary
def context_var():
    v = contextvars.ContextVar("v" + str(id(object())))

    def f(x):
        try:
            k = v.get()
        except LookupError:
            k = 1.0
        tok = v.set(k + 1)
        r = x.sum() * v.get()
        v.reset(tok)
        return r

    def bt(t):
        if t >= 2:
            v.set(float(t))

    return (f, None, bt)


@adversary
def context_var_kept():
    v = contextvars.ContextVar("v", default=1.0)
    v.set(1.0)

    def f(x):
        v.set(v.get() + 1)
        return x.sum() * v.get()

    return (f, None, nothing)


@adversary
def np_geterr():
    np.seterr(all="warn")

    def f(x):
        return x.sum() * (2.0 if np.geterr()["divide"] == "ignore" else 1.0)

    def bt(t):
        np.seterr(divide="ignore" if t % 2 else "warn")

    return (f, None, bt)


@adversary
def warn_filters():
    s = SimpleNamespace(n=[])

    def f(x):
        with warnings.catch_warnings(record=True) as c:
            warnings.simplefilter("always")
            warnings.warn("hm", stacklevel=2)
        s.n.append(len(c))
        return x.sum() * len(c)

    return (f, s, nothing)


@adversary
def random_global():
    random.seed(0)
    np.random.seed(0)

    def f(x):
        return x.sum() * random.random() * np.random.rand()

    def bt(t):
        random.seed(t)
        np.random.seed(t)

    return (f, None, bt)


@adversary
def random_shuffle():
    L = [1.0, 2.0, 3.0]
    r = random.Random(0)

    def f(x):
        r.shuffle(L)
        return (x * np.array(L)).sum()

    return (f, L, nothing)


@adversary
def np_shuffle():
    a = np.arange(3.0)
    r = np.random.default_rng(0)

    def f(x):
        r.shuffle(a)
        return (x * a).sum()

    return (f, a, nothing)


@adversary
def env():
    os.environ["QQ"] = "2"

    def f(x):
        return (
            x.sum()
            * float(os.environ["QQ"])
            * (3.0 if "RR" in os.environ else 1.0)
            * (2.0 if os.getenv("ZZ") else 1.0)
        )

    def bt(t):
        os.environ["QQ"] = str(t)
        if t == 3:
            os.environ["RR"] = ""
        if t == 4:
            os.environ["ZZ"] = "1"
        if t == 5:
            del os.environ["RR"], os.environ["ZZ"]

    return (f, None, bt)


@adversary
def meta_property():

    class M(type):
        @property
        def k(cls):
            return cls._k * 2

        def __len__(cls):
            return cls.n

    class A(metaclass=M):
        _k = 1.0
        n = 2

    def f(x):
        return x.sum() * A.k * len(A)

    def bt(t):
        A._k = float(t)
        A.n = t
        if t == 4:
            M.k = property(lambda c: 7.0)

    return (f, None, bt)


@adversary
def class_assigned_inside():

    class A:
        k = 1.0

    class B:
        k = 2.0

    o = A()

    def f(x):
        o.__class__ = B if isinstance(o, A) else A
        return x.sum() * o.k

    return (f, SimpleNamespace(g=int), nothing)


@adversary
def star_dict():
    D = {"a": 1.0}

    def g(x, a=0.0, b=5.0):
        return (x * a).sum() + b

    def f(x):
        return g(x, **D) + len({**D, "z": 1})

    def bt(t):
        D["a"] = float(t)
        if t == 3:
            D["b"] = 1.0
        if t == 4:
            del D["a"]

    return (f, D, bt)


@adversary
def lists_added():
    L = [1.0, 2.0]

    def f(x):
        return x.sum() * len(L + [1.0]) + sum(L + L) + (L * 2)[-1]

    def bt(t):
        L.append(float(t))

    return (f, L, bt)


@adversary
def fstring_list():
    L = [1, 2]
    s = SimpleNamespace(m=None)

    def f(x):
        s.m = f"{L} {L!r:>10} %s" % L
        return x.sum() * len(s.m)

    def bt(t):
        L.append(10**t)

    return (f, [L, s], bt)


@adversary
def format_object():

    class A:
        def __init__(s):
            s.v = 1

        def __format__(s, spec):
            return spec + "!" * s.v

        def __str__(s):
            return "s" * s.v

    a = A()

    def f(x):
        return x.sum() * len(f"{a:q}") * len(str(a)) * len(f"{a}")

    def bt(t):
        a.v = t

    return (f, None, bt)


@adversary
def weak_refs():

    class A:
        pass

    s = SimpleNamespace(o=A())
    s.o.k = 2.0
    r = weakref.ref(s.o)
    s.r = r
    d = weakref.WeakKeyDictionary()
    d[s.o] = 3.0

    def f(x):
        o = r()
        return x.sum() * (1.0 if o is None else o.k) * d.get(o, 1.0) if o is not None else x.sum()

    def bt(t):
        if t == 2:
            s.o.k = 5.0
        if t == 4:
            s.o = A()
            gc.collect()

    return (f, None, bt)


@adversary
def bound_builtins():
    d = {"a": 1.0}
    L = []
    get = d.get
    app = L.append

    def f(x):
        app(1.0)
        return x.sum() * get("a", 5.0) * len(L)

    def bt(t):
        d["a"] = float(t)
        if t == 3:
            d.clear()
        if t == 4:
            L.clear()

    return (f, [d, L], bt)


@adversary
def bases_attr():

    class A:
        k = 1.0

    class C:
        k = 3.0

    class B(A):
        pass

    o = B()

    def f(x):
        return (x * x).sum() * o.k

    def bt(t):
        B.__bases__ = [(A,), (C,)][t % 2]

    return (f, None, bt)


@adversary
def bases_isinstance():

    class A:
        k = 1.0

    class C:
        k = 3.0

    class B(A):
        pass

    o = B()

    def f(x):
        return (x * x).sum() * (2.0 if isinstance(o, C) else 1.0)

    def bt(t):
        B.__bases__ = [(A,), (C,)][t % 2]

    return (f, None, bt)


@adversary
def bases_match():

    class A:
        k = 1.0

    class C:
        k = 3.0

    class B(A):
        pass

    o = B()

    def f(x):
        match o:
            case C():
                return (x * x).sum() * 2
            case _:
                return x.sum()

    def bt(t):
        B.__bases__ = [(A,), (C,)][t % 2]

    return (f, None, bt)


@adversary
def bases_mro_super():

    class R:
        def v(s):
            return 1.0

    class A(R):
        def v(s):
            return super().v() + 1

    class C(R):
        def v(s):
            return 10.0

    class B(A):
        def v(s):
            return super().v() * 2

    o = B()

    def f(x):
        return (x * x).sum() * o.v() * len(B.__mro__)

    def bt(t):
        B.__bases__ = [(A,), (A, C), (C,)][t % 3]

    return (f, None, bt)


@adversary
def subclasses_list():

    class A:
        pass

    keep = []

    def f(x):
        return x.sum() * len(A.__subclasses__())

    def bt(t):
        keep.append(type("Q", (A,), {}))

    return (f, None, bt)


@adversary
def except_class_bases():

    class E(Exception):
        pass

    class E2(E):
        pass

    class F(Exception):
        pass

    def f(x):
        try:
            raise E2("a")
        except F:
            return x.sum()
        except Exception:
            return (x * x).sum()

    def bt(t):
        E2.__bases__ = [(E,), (F,)][t % 2]

    return (f, None, bt)
