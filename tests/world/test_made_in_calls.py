"""What a function makes is new in each call: classes, functions, and all that they hold.

Each program begins with a value of every kind: an array, a number from outside, a Tensor, an int.
"""

# ruff: noqa: RUF012

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import linecache
import types
import typing

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
G = {"v": 1.0, "n": 2}
MODULES = (abc, collections, contextlib, dataclasses, enum, functools, itertools, types, typing)


class Base:
    shared = 0.0
    items = []

    def get(self):
        return self.val * 2.0


class Reg:
    def __init_subclass__(cls, **keywords):
        cls.made = keywords.get("start", 0.0)


PROGRAMS = """\
== partial
def g(b, v):
    b += v
    return b
h = functools.partial(g, INIT)
h(x); return h(x) * 1.0
== partialmethod
class A:
    def __init__(s): s.b = INIT
    def add(s, k, v): s.b = s.b + v * k; return s.b
    add2 = functools.partialmethod(add, 2.0)
a = A(); a.add2(x)
return a.add2(x)
== single dispatch
b = INIT
@functools.singledispatch
def g(v): return 0.0
@g.register
def _(v: int): return b + v * x
@g.register(list)
def _(v): return b * 2.0 + x * len(v)
return g(2) + g([1, 2])
== context manager
b = INIT
@contextlib.contextmanager
def m(v):
    nonlocal b
    b = b + v
    yield b
    b = b * 2.0
with m(x) as q: z = q * 1.0
return z + b
== dataclass
@dataclasses.dataclass
class A:
    b: object
    c: float = INIT0
    def add(s, v): s.b = s.b + v + s.c; return s
return A(INIT).add(x).add(x).b
== dataclass factory
@dataclasses.dataclass
class A:
    b: list = dataclasses.field(default_factory=lambda: [INIT])
    def add(s, v): s.b.append(s.b[-1] + v); return s
a = A().add(x); A().add(x)
return a.add(x).b[-1] * len(a.b)
== dataclass slots
@dataclasses.dataclass(slots=True)
class A:
    b: object = None
    def add(s, v): s.b = s.b + v; return s
return A(INIT).add(x).b
== frozen dataclass
@dataclasses.dataclass(frozen=True)
class A:
    b: object
    def add(s, v): return dataclasses.replace(s, b=s.b + v)
return A(INIT).add(x).add(x).b
== named tuple
class A(typing.NamedTuple):
    b: object
    k: float = INIT0
    def add(s, v): return s._replace(b=s.b + v * s.k)
return A(INIT).add(x).add(x).b
== named tuple by call
A = collections.namedtuple('A', 'b k', defaults=(INIT0,))
a = A(INIT)
return a.b * a.k + x
== enum
class E(enum.Enum):
    A = 1.0
    B = 2.0
    def sc(s, v): return s.value * v * G['v']
return E.A.sc(x) + E.B.sc(x) + E(2.0).value
== enum2
class E(enum.Enum):
    A = [1.0]
    B = [2.0]
E.A.value.append(x)
return E.A.value[1] * len(E.A.value) + len(E.B.value)
== flag
class F(enum.IntFlag):
    A = 1
    B = 2
return x * (F.A | F.B) + len(F)
== metaclass
class M(type):
    count = 0
    def __call__(cls, *a):
        M.count += 1
        o = super().__call__(*a)
        o.k = M.count
        return o
class A(metaclass=M):
    def __init__(s, v): s.v = v
return A(x).v * A(x).k + A(INIT).v
== namespace of a metaclass
class M(type):
    @classmethod
    def __prepare__(m, n, b): return {'z': INIT}
class A(metaclass=M):
    w = z
A.w = A.w + x
return A.w + A.z
== descriptor
class D:
    def __set_name__(s, o, n): s.n = '_' + n
    def __get__(s, o, t=None): return getattr(o, s.n, INIT0)
    def __set__(s, o, v): setattr(o, s.n, v * 2.0)
class A: q = D()
a = A(); b = a.q; a.q = x
return a.q + b
== slots
class A:
    __slots__ = ('b', 'c')
    def __init__(s): s.b = INIT
    def add(s, v): s.b = s.b + v; s.c = s.b; return s
return A().add(x).add(x).c
== class decorator
def reg(c): c.extra = INIT; L.append(c); return c
L = []
@reg
class A: pass
@reg
class B(A): pass
B.extra = B.extra + x
return A.extra + B.extra * len(L)
== nested
class A:
    class B:
        z = INIT
        @classmethod
        def add(c, v): c.z = c.z + v; return c.z
A.B.add(x)
return A.B.add(x) + A.B.z
== inherit
class A(Base):
    def __init__(s): s.val = x * G['v']
a = A(); A.shared = A.shared + x
return a.get() + A.shared + Base.shared
== inherit2
class A(Base):
    items = []
A.items.append(x); A().items.append(INIT)
return A.items[0] + A.items[1] + len(Base.items)
== keyword of a class
class A(Reg, start=INIT): pass
class B(A, start=x): pass
A.made = A.made + x
return A.made + B.made
== init subclass
L = []
class A:
    def __init_subclass__(c): L.append(c); c.n = len(L) * x
class B(A): pass
class C(A): pass
return B.n + C.n * len(L) + INIT
== list
class A(list):
    def append(s, v): super().append(v * 2.0)
a = A([INIT]); a.append(x)
return a[0] + a[1] * len(a)
== dict
class A(dict):
    def __missing__(s, k): s[k] = INIT + x * k; return s[k]
a = A()
return a[1] + a[2] + a[1] * len(a)
== getattr
class A:
    def __getattr__(s, n): v = INIT + x; setattr(s, n, v); return v
a = A()
return a.q + a.q * len(vars(a))
== setattr
class A:
    def __setattr__(s, n, v): object.__setattr__(s, n, v * 3.0)
a = A(); a.q = x; a.w = INIT
return a.q + a.w
== call
class A:
    def __init__(s): s.b = INIT
    def __call__(s, v): s.b = s.b + v; return s.b
a = A(); list(map(a, [x, x]))
return functools.reduce(lambda p, q: p + a(q), [x, x], x)
== iterator
class A:
    def __init__(s): s.i = 0; s.b = INIT
    def __iter__(s): return s
    def __next__(s):
        s.i += 1
        if s.i > 3: raise StopIteration
        s.b = s.b + x
        return s.b
return sum(A())
== operators
class V:
    def __init__(s, v): s.v = v
    def __add__(s, o): return V(s.v + o.v)
    def __radd__(s, o): return V(s.v + o)
    def __mul__(s, k): return V(s.v * k)
    def __eq__(s, o): return True
    __hash__ = None
return sum([V(x), V(INIT)], 0.0).v + (V(x) * 2.0).v
== context class
class T:
    def __enter__(s): s.b = INIT; return s
    def __exit__(s, *a): s.b = s.b + x; return True
with T() as t:
    t.b = t.b + x
    raise ValueError
return t.b
== exception
class E(Exception):
    def __init__(s, v): s.v = v; super().__init__(v)
try: raise E(x + INIT)
except E as e: return e.v * 2.0
== generator
def g():
    b = INIT
    while True:
        v = yield b
        b = b + v
q = g(); next(q); q.send(x)
return q.send(x)
== decorator
calls = []
def d(f):
    @functools.wraps(f)
    def w(*a): calls.append(a[0]); return f(*a)
    return w
@d
def h(v): return v * 2.0
r = h(x) + h(INIT + x)
return r + calls[1] * len(calls)
== function attribute
def h(v):
    h.n += 1
    h.b = h.b + v
    return h.b
h.n = 0; h.b = INIT
h(x); return h(x) * h.n
== default
def h(v, b=[INIT], d={}):
    b.append(v); d[len(d)] = v
    return sum(b[1:]) + len(d)
h(x); return h(x) + 0.0 * INIT
== kwdefault
def h(v, *, b=[]):
    b.append(v + INIT)
    return b[-1] * len(b)
h(x); return h(x)
== closures
L = [lambda v, k=k: v * k + INIT for k in range(3)]
return sum(h(x) for h in L)
== one cell
fs = []
for k in range(3):
    def h(v): return v * k + INIT
    fs.append(h)
return sum(h(x) for h in fs)
== nonlocal
n = 0; b = INIT
def h(v):
    nonlocal n, b
    n += 1; b = b + v * n
    return b
h(x); h(x); return b * n
== exec
ns = {'x': x, 'i': INIT}
exec('def q(v):\\n    return v * 2.0 + i\\ny = q(x)', ns)
return ns['y']
== function type
def h(v): return v + c
c = INIT
q = types.FunctionType(h.__code__, h.__globals__, 'q', h.__defaults__, h.__closure__)
return q(x) * 2.0
== new class
A = types.new_class('A', (), {}, lambda ns: ns.update(z=INIT, m=lambda s: s.z + x))
A.z = A.z + x
return A().m()
== dataclass by call
A = dataclasses.make_dataclass('A', [('b', object), ('c', float, INIT0)])
a = A(x); a.b = a.b + a.c
return a.b + INIT
== type by call
A = type('A', (Base,), {'val': INIT, 'items': []})
A.items.append(x)
return A().get() + A.items[0] * len(A.items) + len(Base.items)
== class assigned
class A:
    def m(s): return s.v
class B:
    def m(s): return s.v * 3.0
a = A(); a.v = x + INIT; r = a.m(); a.__class__ = B
return r + a.m()
== method replaced
class A:
    def m(s): return x
a = A(); r = a.m(); A.m = lambda s: x * 2.0 + INIT
return r + a.m()
== method of an object
class A:
    def m(s): return x
a = A(); a.m = types.MethodType(lambda s: x * 3.0 + INIT, a)
return a.m() + A().m()
== property
class A:
    def __init__(s): s._v = INIT
    @property
    def v(s): s._v = s._v + x; return s._v
    @v.setter
    def v(s, k): s._v = k * 2.0
a = A(); a.v; a.v = x
return a.v
== cached
class A:
    n = 0
    @functools.cached_property
    def v(s): A.n += 1; return x * 2.0 + INIT
a = A(); b = A()
return a.v + a.v + b.v * A.n
== classvar
class A:
    b = INIT
    def add(s, v): A.b = A.b + v; type(s).b = type(s).b * 2.0; s.__class__.b = s.b + v; return s
A().add(x); return A().add(x).b
== abc
class A(abc.ABC):
    b = INIT
    @abc.abstractmethod
    def m(s): ...
class B(A):
    def m(s): return s.b + x
B.b = B.b + x
return B().m() + isinstance(B(), A)
== generic
T = typing.TypeVar('T')
class A(typing.Generic[T]):
    b = INIT
    def __init__(s, v): s.v = v
a = A[int](x); A.b = A.b + x
return a.v + a.b
== protocol
@typing.runtime_checkable
class Pr(typing.Protocol):
    def m(self): ...
class A:
    def m(self): return x + INIT
return A().m() * (2.0 if isinstance(A(), Pr) else 1.0)
== vars
class A:
    b = INIT
A.c = x; a = A(); vars(a)['d'] = x * 2.0; a.__dict__.update(e=INIT)
return a.c + a.d + a.e + len([k for k in vars(A) if len(k) == 1])
== subclasses
class A: pass
class B(A): z = INIT
class C(A): z = x
return sum(c.z for c in A.__subclasses__()) + x
== counter
it = itertools.count()
def h(v): return v * next(it) + INIT
h(x); return h(x)
== globals
class A:
    z = G['v']
    def m(s): return s.z + G['v'] * x
G2 = {'n': 0}
class B(A):
    def m(s): G2['n'] += 1; return super().m() * G2['n']
b = B(); b.m()
return b.m()
== global length
class A:
    n = G['n']
    def m(s):
        r = x
        for i in range(s.n): r = r * 2.0 + INIT
        return r
return A().m()
== two names
class A:
    b = np.zeros(3)
    c = b
A.b += x
return A.c + A.b
== rows
class A:
    b = np.zeros((2, 3))
    def m(s, i, v): s.b[i] += v; return s
A().m(0, x).m(1, x * 2.0)
return A.b.sum(axis=0)
"""
BEGIN = {
    "array": ("np.zeros(3)", "0.5"),
    "outside": ("G['v']", "G['v']"),
    "tensor": ("(x * 2.0)", "2.0"),
    "int": ("G['n']", "3"),
}
"""The value that a program begins with, and a number beside it."""


def programs():
    parts = f"\n{PROGRAMS}".split("\n== ")[1:]
    return {name: text.strip() for name, text in (part.split("\n", 1) for part in parts)}


def made(name, begin):
    value, number = BEGIN[begin]
    body = programs()[name].replace("INIT0", number).replace("INIT", value)
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    file = f"<{name}, {begin}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {**globals(), **{module.__name__: module for module in MODULES}}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", programs())
def test_each_call_begins_anew(name, again):
    others = [*BEGIN][1:]
    f = made(name, others[[*programs()].index(name) % len(others)] if again else "array")
    transforms = (
        tg.compile(f),
        tg.compile(f, backend="jax"),
        lambda x: tg.vjp(f, x)[0],
        tg.value_and_grad(lambda x: f(x).sum()),
    )
    for scale in (1.0, 2.0, 3.0, 0.5):
        G.update(v=scale, n=int(scale) + 1)
        x = X * scale
        want = f(x.copy())
        for transform in transforms[:3]:
            np.testing.assert_allclose(transform(x), want, rtol=1e-13)
        value, slope = transforms[3](x)
        np.testing.assert_allclose(value, want.sum(), rtol=1e-13)
        steps = [f(x + 0.5 * e).sum() - f(x - 0.5 * e).sum() for e in np.eye(3)]
        np.testing.assert_allclose(slope, steps, rtol=1e-12)  # of degree two at most
