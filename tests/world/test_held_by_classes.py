"""Classes and functions that a function makes hold an array of its own, which it writes later."""

import abc
import enum
import functools
import typing
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


def in_a_tuple_of_a_class(x):
    y = np.zeros(3)

    class A:
        z = (y,)

    y[1] = x[1]
    return A.z[0]


def in_a_class(x):
    y = np.zeros(3)

    class A:
        z = y

    y[1] = x[1]
    return A.z


def in_a_list_of_a_class(x):
    y = np.zeros(3)

    class A:
        z = [y]  # noqa: RUF012

    y[1] = x[1]
    return A.z[0]


def by_a_call_of_type(x):
    y = np.zeros(3)
    A = type("A", (), {"z": (y,)})
    y[1] = x[1]
    return A.z[0]


def inherited(x):
    y = np.zeros(3)

    class A:
        __slots__ = ()
        z = {"k": (y,)}  # noqa: RUF012

    class B(A):
        pass

    y[1] = x[1]
    return B.z["k"][0]


def default_of_a_method(x):
    y = np.zeros(3)

    class A:
        def m(self, v=y):
            return v

    y[1] = x[1]
    return A().m()


def property_and_static_method(x):
    y = np.zeros(3)

    class A:
        @property
        def m(self):
            return y

        @staticmethod
        def s(v=(y,)):
            return v[0]

    a = A()
    y[1] = x[1]
    return a.m + A.s()


def in_a_metaclass(x):
    y = np.zeros(3)

    class M(type):
        w = (y,)

    class A(metaclass=M):
        pass

    y[1] = x[1]
    return A.w[0]


def set_later(x):
    y = np.zeros(3)

    class A:
        pass

    A.z = (y,)
    A.k = y
    y[1] = x[1]
    return A.z[0] + A().k


def in_a_dataclass(x):
    y = np.zeros(3)

    @dataclass
    class A:
        b: int = 2
        z: tuple = (y,)

    a = A()
    y[1] = x[1]
    return a.z[0] + A.z[0]


def in_a_named_tuple(x):
    y = np.zeros(3)

    class P(typing.NamedTuple):
        a: object

    p = P(y)
    y[1] = x[1]
    return p.a


def in_an_enum(x):
    y = np.zeros(3)

    class E(enum.Enum):
        A = (y,)

    y[1] = x[1]
    return E.A.value[0]


def class_of_a_helper(x):
    y = np.zeros(3)

    def make():
        class A:
            z = (y,)

        return A

    a = make()()
    y[1] = x[1]
    return a.z[0]


def attribute_of_a_function(x):
    y = np.zeros(3)

    def g():
        return g.z[0]

    g.z = (y,)
    y[1] = x[1]
    return g()


def annotation(x):
    y = np.zeros(3)

    def g(a: y):
        return a

    y[1] = x[1]
    return g.__annotations__["a"]


def defaults_of_a_function(x):
    y = np.zeros(3)

    def g(a=(y,), *, b=y):
        return a[0] + b

    y[1] = x[1]
    return g()


def added_to(x):
    y = np.zeros(3)

    class A:
        z = y

        def m(self):
            return self.z

    a = A()
    y += x
    y[0] = 7
    return a.m() + A.z


def a_view_in_a_class(x):
    y = np.zeros(3)

    class A:
        z = y[1:]

    y += x
    return A.z


def from_a_class_to_a_slot(x):
    y = np.zeros(3)

    class A:
        __slots__ = ("q",)
        z = y

    a = A()
    a.q = A.z
    a.q[0] = x[2]
    return A.z


def keyword_of_a_class(x):
    y = np.zeros(3)

    class A:
        def __init_subclass__(cls, k=None):
            cls.k = k

    class B(A, k=[y]):
        pass

    y[1] = x[1]
    return B.k[0]


def a_descriptor(x):
    y = np.zeros(3)

    class D:
        def __init__(self):
            self.v = y

        def __get__(self, o, t):
            return self.v

    class B:
        d = D()

    y[1] = x[1]
    return B.d + B().d


def in_a_partial(x):
    y = np.zeros(3)

    class B:
        f = functools.partial(lambda a: a, y)

    y[1] = x[1]
    return B.f()


def class_methods(x):
    y = np.zeros(3)

    class A:
        def __class_getitem__(cls, k, v=y):
            return v

        @classmethod
        def c(cls, v=y):
            return v

    y[1] = x[1]
    return A[1] + A.c()


def by_a_weak_key(x):
    y = np.zeros(3)

    class A:
        pass

    a = A()
    a.z = (y,)
    r = weakref.WeakKeyDictionary()
    r[a] = y
    y[1] = x[1]
    return r[a] + a.z[0]


def an_abstract_class(x):
    y = np.zeros(3)

    class A(abc.ABC):
        z = (y,)

        @abc.abstractmethod
        def m(self): ...

    class B(A):
        pass

    y[1] = x[1]
    return B.z[0]


def several_classes(x):
    y = np.zeros(3)
    L = [type("K", (), dict(z=(y,))) for _ in range(2)]
    y[1] = x[1]
    return L[0].z[0] + L[1].z[0]


PROGRAMS = (
    in_a_tuple_of_a_class,
    in_a_class,
    in_a_list_of_a_class,
    by_a_call_of_type,
    inherited,
    default_of_a_method,
    property_and_static_method,
    in_a_metaclass,
    set_later,
    in_a_dataclass,
    in_a_named_tuple,
    in_an_enum,
    class_of_a_helper,
    attribute_of_a_function,
    annotation,
    defaults_of_a_function,
    added_to,
    a_view_in_a_class,
    from_a_class_to_a_slot,
    keyword_of_a_class,
    a_descriptor,
    in_a_partial,
    class_methods,
    by_a_weak_key,
    an_abstract_class,
    several_classes,
)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_written_is_seen_through_classes(f, backend):
    compiled = tg.compile(f, backend=backend)
    valued = tg.value_and_grad(lambda x: f(x).sum(), backend=backend)
    for x in (X, X[::-1].copy(), X * 3.0):
        want = f(x.copy())
        assert want.any()
        assert np.array_equal(compiled(x), want)
        assert np.array_equal(tg.vjp(f, x, backend=backend)[0], want)
        value, slope = valued(x)
        assert value == want.sum()
        steps = [f(x + 0.5 * e).sum() - f(x - 0.5 * e).sum() for e in np.eye(3)]  # it is linear
        assert np.allclose(slope, steps, rtol=1e-12)
