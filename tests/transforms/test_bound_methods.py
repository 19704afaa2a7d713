"""Methods that transforms decorate are equal, hashed and called as Python's bound methods are."""

from __future__ import annotations

import pickle
import weakref

import numpy as np
import pytest

import tracegrad as tg

DECORATORS = {
    "compile": tg.compile,
    "grad": lambda f: tg.grad(f, argnums=1),
    "value_and_grad": lambda f: tg.value_and_grad(f, argnums=1),
    "vmap": lambda f: tg.vmap(f, in_axes=(None, 0)),
    "jacobian": lambda f: tg.jacobian(f, argnums=1),
    "sparse jacobian": lambda f: tg.jacobian(f, argnums=1, sparse=True),
    "hessian": lambda f: tg.hessian(f, argnums=1),
    "jvp": tg.jvp,
    "hvp": tg.hvp,
    "custom_vjp": tg.custom_vjp,
    "custom_jvp": tg.custom_jvp,
    "checkpoint": tg.checkpoint,
    "primitive": tg.extend.primitive,
}


def classes(decorate):
    class B:
        def __init__(self):
            self.a = np.array([1.0, 2.0])

        def __eq__(self, other):
            return True

        __hash__ = None

        @decorate
        def m(self, x):
            return x * self.a

        @decorate
        def n(self, x):
            return x + self.a

    return B


@pytest.mark.parametrize("name", DECORATORS)
def test_a_bound_method_is_equal_to_itself(name):
    kind = classes(DECORATORS[name])
    b, other = kind(), kind()
    assert b.m == b.m
    assert (b.m != b.m) is False
    assert hash(b.m) == hash(b.m)
    assert b.m in [b.m] and b.m in {b.m} and {b.m: 1}[b.m] == 1
    callbacks = [b.n, b.m]
    callbacks.remove(b.m)
    assert callbacks == [b.n]
    assert b.m != b.n and b.m != kind.m and b.m != "m"
    assert b.m != other.m  # though the objects are equal, as with Python's
    assert b.m.__self__ is b and b.m.__func__ is vars(kind)["m"]
    assert weakref.WeakMethod(b.m)() == b.m


def test_a_rule_for_a_method_is_called_with_its_object():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @tg.custom_vjp
        def __call__(self, x):
            return x * self.factor

    def forward(self, x):
        return x * self.factor, self.factor

    Scaled.__dict__["__call__"].defvjp(forward, lambda factor, ct: (None, ct * factor * 10.0))
    scaled = Scaled(3.0)
    for _ in range(2):
        assert scaled(2.0) == 6.0
        assert tg.grad(lambda x: scaled(x))(2.0) == 30.0


class Pickled:
    def __init__(self):
        self.a = np.array([1.0, 2.0])

    @tg.compile
    def m(self, x):
        return x * self.a


def test_a_bound_method_within_a_compiled_function_and_after_pickling():
    b = Pickled()

    @tg.compile
    def f(x):
        known = {b.m: 2.0}
        return b.m(x) * known[b.m] if b.m == b.m and b.m in [b.m] else x

    for _ in range(3):
        np.testing.assert_array_equal(f(np.ones(2)), [2.0, 4.0])
    again = pickle.loads(pickle.dumps(b.m))
    assert again != b.m
    np.testing.assert_array_equal(again(np.ones(2)), [1.0, 2.0])


@pytest.mark.parametrize("hashed", ["by identity", "by value", "not at all"])
@pytest.mark.parametrize("name", ["__hash__", "__getattr__", "__getattribute__"])
@pytest.mark.parametrize("late", [False, True])
def test_methods_that_each_use_of_an_object_calls(hashed, name, late):
    def __hash__(self):
        return int(np.sum(self.a))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.a * 2.0

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

    own = {"__hash__": __hash__, "__getattr__": __getattr__, "__getattribute__": __getattribute__}

    class C:
        def __init__(self):
            self.a = np.array([1.0, 2.0])

        if hashed == "by value":
            __hash__ = own["__hash__"]
        if hashed == "not at all":
            __hash__ = None
        if hashed != "by identity":

            def __eq__(self, other):
                return self is other

        if not late:
            locals()[name] = tg.compile(own[name])

        @tg.compile
        def m(self, x):
            return x * self.a

        @tg.compile
        def doubled(self, x):
            return x * self.more

    if late:
        setattr(C, name, tg.compile(own[name]))
    c = C()
    for k in range(3):
        c.a = np.array([1.0, 2.0 + k])
        if name == "__hash__":
            assert hash(c) == 3 + k
            assert C.__dict__["__hash__"](c) == 3 + k
        if name == "__getattr__":
            np.testing.assert_array_equal(c.more, c.a * 2.0)
            np.testing.assert_array_equal(c.doubled(np.ones(2)), c.a * 2.0)
        if name == "__getattribute__" and hashed == "not at all":
            with pytest.raises(tg.errors.ArgumentError, match="pass its arrays"):
                c.m(np.ones(2))
        else:
            np.testing.assert_array_equal(c.m(np.ones(2)), c.a)
