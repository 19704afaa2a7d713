"""Programs that ask Python for more than values: patches, formats, files of modules, copies."""

# ruff: noqa: UP031

from __future__ import annotations

import array
import copy
import dataclasses
import enum
import functools
import hashlib
import json
import logging
import math
import pickle
import random
import struct
import sys
import time
import types
import warnings
import zlib
from types import SimpleNamespace

import numpy as np
from adversaries import adversary
from jobs import nothing

QQ = 1.0


@adversary
def own_generator_send():
    s = SimpleNamespace(k=1.0)

    def acc():
        t = 0.0
        while True:
            v = yield t
            t = t + v * s.k

    def f(x):
        time.perf_counter() if s.k > 2 else None
        g = acc()
        next(g)
        for v in x:
            r = g.send(v * v)
        return r

    return (f, s, lambda t: setattr(s, "k", float(t)))


@adversary
def pickled():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = len(pickle.dumps(x))
        s.c = pickle.loads(pickle.dumps([x, {"a": x * 2}]))[1]["a"] if False else 0
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def pickled_list():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = pickle.dumps([x, {"a": x * 2}])
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def jsoned():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = json.dumps({"x": x.tolist(), "s": float(x.sum())})
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def hashed():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = hashlib.md5(x).hexdigest()
        s.c = zlib.crc32(x)
        s.d = hashlib.md5(x.tobytes()).hexdigest()
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def structed():
    s = SimpleNamespace(b=None)

    def f(x):
        s.b = struct.pack("3d", *x)
        s.a = array.array("d", x)
        s.c = bytes(x)
        return (x * x).sum()

    return (f, s, nothing)


@adversary
def logged():
    rec = []
    log = logging.Logger("q")
    h = logging.Handler()
    h.emit = lambda r: rec.append((r.getMessage(), r.args))
    log.addHandler(h)

    def f(x):
        log.warning("x %s %.3f", x, x.sum())
        return (x * x).sum()

    return (f, rec, nothing)


@adversary
def warned():
    seen = []

    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn(f"v {x[0]:.2f}", stacklevel=2)
            np.log(x * 0)
        seen.extend(str(v.message) for v in w)
        return (x * x).sum()

    return (f, seen, nothing)


@adversary
def ex_pickle_copy():

    class A:
        def __init__(s):
            s.v = None

        def __deepcopy__(s, m):
            s.n = getattr(s, "n", 0) + 1
            a = A()
            a.v = copy.deepcopy(s.v, m)
            return a

    a = A()
    s = SimpleNamespace(c=None)

    def f(x):
        a.v = [x * 2]
        s.c = copy.deepcopy(a).v
        return (s.c[0] * x).sum() * a.n

    return (f, s, nothing)


@adversary
def singledisp():

    @functools.singledispatch
    def h(v):
        return 0.0

    @h.register(np.ndarray)
    def _(v):
        return v.sum()

    @h.register(float)
    def _(v):
        return v * 2

    def f(x):
        return h(x * x) + h(2.5) + h(float)

    return (f, None, nothing)


@adversary
def total_ordering_sort():

    @functools.total_ordering
    class K:
        def __init__(s, v):
            s.v = v

        def __lt__(s, o):
            return s.v < o.v

        def __eq__(s, o):
            return s.v == o.v

    def f(x):
        ks = sorted(K(v) for v in x)
        return ks[0].v * 1 + ks[1].v * 2 + max(ks).v * 3

    return (f, None, nothing)


@adversary
def dataclass_things():

    @dataclasses.dataclass(order=True)
    class D:
        a: float
        b: list = dataclasses.field(default_factory=list, compare=False)

    d = D(1.0)

    def f(x):
        e = dataclasses.replace(d, a=d.a + x[0])
        d.b.append(e.a)
        s = dataclasses.asdict(d)
        t = dataclasses.astuple(D(2.0))
        return e.a * len(s["b"]) * t[0] * (2.0 if D(1.0) < d else 1.0)

    def bt(t):
        d.a = float(t)
        d.b.clear()

    return (f, d, bt)


@adversary
def enum_flags():

    class F(enum.Flag):
        A = 1
        B = 2

    s = SimpleNamespace(m=F.A)

    def f(x):
        return x.sum() * (2.0 if F.B in s.m else 1.0) * s.m.value * len(F)

    def bt(t):
        s.m = [F.A, F.B, F.A | F.B][t % 3]

    return (f, s, bt)


@adversary
def property_patched():

    class A:
        @property
        def k(s):
            return 2.0

    a = A()

    def f(x):
        return x.sum() * a.k

    def bt(t):
        if t == 2:
            A.k = property(lambda s: 5.0)
        if t == 3:
            A.k = 7.0
        if t == 4:
            a.k = 9.0

    return (f, None, bt)


@adversary
def method_patched():

    class A:
        def m(s, x, k=1.0):
            return x * k

    a = A()

    def f(x):
        return a.m(x).sum()

    def bt(t):
        if t == 1:
            A.m = lambda s, x: x * 3
        if t == 2:
            a.m = lambda x: x * 4
        if t == 3:
            del a.m
        if t == 4:
            A.m = functools.partialmethod(lambda s, k, x: x * k, 6.0)

    return (f, None, bt)


@adversary
def code_patched():

    def h(x):
        return x * 2

    def h2(x):
        return x * 5

    def f(x):
        return h(x).sum()

    def bt(t):
        if t == 2:
            h.__code__ = h2.__code__
        if t == 3:
            h.__defaults__ = (1,)

    return (f, None, bt)


@adversary
def kwdefaults():

    def h(x, *, k=1.0):
        return x * k

    def f(x):
        return h(x).sum()

    def bt(t):
        h.__kwdefaults__ = {"k": float(t)} if t < 3 else {**h.__kwdefaults__, "k": t * 2.0}

    return (f, None, bt)


@adversary
def kwdefaults_inplace():

    def h(x, *, k=1.0, L=[1.0]):  # noqa: B006
        return x * k * L[0]

    def f(x):
        return h(x).sum()

    def bt(t):
        h.__kwdefaults__["k"] = float(t)
        h.__kwdefaults__["L"][0] = t * 1.0

    return (f, None, bt)


@adversary
def module_attr():
    m = types.ModuleType("mm")
    m.k = 1.0
    sys.modules["mm"] = m

    def f(x):
        import mm
        from mm import k

        return x.sum() * k * mm.k * getattr(mm, "j", 1.0)

    def bt(t):
        m.k = float(t)
        if t == 3:
            m.j = 5.0
        if t == 4:
            n = types.ModuleType("mm")
            n.k = 50.0
            sys.modules["mm"] = n

    return (f, None, bt)


@adversary
def module_getattr():
    m = types.ModuleType("mg")
    sys.modules["mg"] = m
    m.__getattr__ = lambda n: s.v
    s = SimpleNamespace(v=1.0)

    def f(x):
        import mg

        return x.sum() * mg.anything

    def bt(t):
        s.v = float(t)
        if t == 3:
            m.anything = 9.0

    return (f, None, bt)


@adversary
def builtins_patched():

    def f(x):
        return x.sum() * len([1, 2])

    def bt(t):
        if t == 2:
            globals()["len"] = lambda v: 7
        if t == 4:
            globals().pop("len")

    globals().pop("len", None)
    return (f, None, bt)


@adversary
def cell_rebound():
    k = 1.0
    h = lambda x: x * k

    def f(x):
        return h(x).sum()

    def bt(t):
        nonlocal k, h
        k = float(t)
        if t == 3:
            h = lambda x: x * k * 2

    return (f, None, bt)


@adversary
def getattr_dynamic():

    class A:
        def __init__(s):
            s.d = {"k": 1.0}

        def __getattr__(s, n):
            if n.startswith("__"):
                raise AttributeError(n)
            return s.d.get(n, 3.0)

    a = A()

    def f(x):
        return x.sum() * a.k * a.zz

    def bt(t):
        a.d["k"] = float(t)
        if t == 3:
            a.d["zz"] = 2.0
        if t == 4:
            a.k = 100.0

    return (f, None, bt)


@adversary
def slots_absent():

    class A:
        __slots__ = ("j", "k")

    a = A()
    a.k = 1.0

    def f(x):
        return x.sum() * a.k * getattr(a, "j", 1.0)

    def bt(t):
        a.k = float(t)
        if t == 3:
            a.j = 4.0
        if t == 4:
            del a.j

    return (f, None, bt)


@adversary
def descriptor_state():

    class D:
        def __init__(s):
            s.v = 1.0

        def __get__(s, o, t=None):
            return s.v

    class A:
        d = D()

    a = A()

    def f(x):
        return x.sum() * a.d * A.d

    def bt(t):
        A.__dict__["d"].v = float(t)
        if t == 4:
            a.__dict__["d"] = 77.0

    return (f, None, bt)


@adversary
def contains_custom():

    class C:
        def __init__(s):
            s.n = 3

        def __contains__(s, v):
            return v < s.n

        def __iter__(s):
            return iter(range(s.n))

        def __len__(s):
            return s.n

        def __bool__(s):
            return s.n != 4

    c = C()

    def f(x):
        return x.sum() * (2.0 if 3 in c else 1.0) * sum(c) * len(c) * (5.0 if c else 7.0)

    def bt(t):
        c.n = t + 1

    return (f, None, bt)


@adversary
def eq_custom():

    class C:
        def __init__(s, v):
            s.v = v

        def __eq__(s, o):
            return s.v == o.v

        def __hash__(s):
            return hash(s.v)

    c = C(1)
    d = {C(1): 2.0}
    L = [C(5), C(1)]

    def f(x):
        return x.sum() * d.get(c, 1.0) * (3.0 if c in L else 1.0) * (c == L[0] or 2)

    def bt(t):
        c.v = [1, 5, 7][t % 3]

    return (f, None, bt)


@adversary
def vars_dir():
    s = SimpleNamespace(a=1.0)

    def f(x):
        return (
            x.sum()
            * len(vars(s))
            * sum(vars(s).values())
            * len([n for n in dir(s) if not n.startswith("_")])
        )

    def bt(t):
        setattr(s, "b%d" % t, float(t))

    return (f, s, bt)


@adversary
def class_dir():

    class A:
        k = 1.0

    def f(x):
        return (
            x.sum()
            * len([n for n in vars(A) if not n.startswith("_")])
            * len([n for n in dir(A) if n[0] != "_"])
        )

    def bt(t):
        setattr(A, "b%d" % t, float(t))

    return (f, None, bt)


@adversary
def format_spec_number():
    s = SimpleNamespace(k=1.5, out=[])

    def f(x):
        s.out.append(f"{s.k:.2f} {s.k} {[s.k]!r}")
        s.out.append(f"{s.k:.1f}|{s.k}")
        return x.sum() * len(s.out[-1])

    def bt(t):
        s.k = 10.0**t
        s.out.clear()

    return (f, s, bt)


@adversary
def float_to_int():
    s = SimpleNamespace(k=2.7)

    def f(x):
        return x.sum() * int(s.k) * round(s.k) * math.floor(s.k) + s.k // 1 + s.k % 1

    def bt(t):
        s.k = 2.7 + t * 0.4

    return (f, s, bt)


@adversary
def numpy_scalar_item():
    s = SimpleNamespace(a=np.array([1.0, 2.0]), n=np.int64(1))

    def f(x):
        return x.sum() * s.a[0] * float(s.a[1]) * s.a.item(0) + x[s.n] * s.n

    def bt(t):
        s.a = s.a + 1
        s.n = np.int64(t % 3)

    return (f, s, bt)


@adversary
def array_truth():
    a = np.array([0.0, 1.0])

    def f(x):
        return (
            x.sum()
            * (2.0 if a.any() else 1.0)
            * (3.0 if a[0] > 0.5 else 1.0)
            * (a.max() if a.sum() > 2 else 1.0)
        )

    def bt(t):
        a[t % 2] = t * 0.4

    return (f, a, bt)


@adversary
def structured_array():
    a = np.zeros(2, dtype=[("k", float), ("n", int)])
    a["k"] = 1.0

    def f(x):
        return x.sum() * a["k"][0] * (a[1]["n"] + 1)

    def bt(t):
        a["k"] = float(t)
        a["n"][1] = t

    return (f, a.tolist and None, bt)


@adversary
def masked_array():
    a = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])

    def f(x):
        return (x * a).sum() * 1.0

    def bt(t):
        a.mask = [0, 0, t % 2]

    return (f, None, bt)


@adversary
def matrix_subclass():

    class M(np.ndarray):
        def __array_finalize__(s, o):
            s.k = getattr(o, "k", 2.0)

    a = np.arange(3.0).view(M)

    def f(x):
        return np.asarray(x * a).sum() * a.k

    def bt(t):
        a.k = float(t)
        a[0] = t

    return (f, None, bt)


@adversary
def global_dict_access():
    globals()["QQ"] = 1.0

    def f(x):
        return x.sum() * globals()["QQ"] * globals().get("RR", 1.0)

    def bt(t):
        globals()["QQ"] = float(t)
        if t == 3:
            globals()["RR"] = 2.0
        if t == 4:
            del globals()["RR"]

    globals().pop("RR", None)
    return (f, None, bt)


@adversary
def np_seterr_inside():
    s = SimpleNamespace(o=None)

    def f(x):
        old = np.seterr(divide="ignore")
        s.o = old["divide"]
        r = x.sum()
        np.seterr(**old)
        return r

    return (f, s, nothing)


@adversary
def random_instance_inside():
    s = SimpleNamespace(seed=1)

    def f(x):
        r = random.Random(s.seed)
        g = np.random.default_rng(s.seed)
        rs = np.random.RandomState(s.seed)
        return x.sum() * r.random() * g.normal() * rs.rand()

    def bt(t):
        s.seed = t // 2

    return (f, s, bt)


@adversary
def uuid_id():
    s = SimpleNamespace()

    def f(x):
        return x.sum() * (id(s) > 0) * (hash("a") == hash("a")) * (hash(s) != 0)

    return (f, None, nothing)
