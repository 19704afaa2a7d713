"""Abstract classes, members of enums, named tuples: asked, made and kept as plain Python does."""

from __future__ import annotations

import collections
import collections.abc
import enum
import numbers
import warnings
from types import SimpleNamespace as State

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(3.0)


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


class Registered:
    pass


Moments = collections.namedtuple("Moments", "mean square", defaults=(0.0,))


def abstract(o, x):
    y = x * 2 if isinstance(o.value, collections.abc.Mapping) else x
    y = y + 1.0 if isinstance(o.rate, numbers.Real) else y
    return y * 3 if isinstance(x, numbers.Number | collections.abc.Sequence) else y


def flags(o, x):
    y = x * 2 if Flags.A in o.flags else x
    return y + 1 if o.flags & Flags.B else y


def flags_kept(o, x):
    o.kept = o.flags & Flags.B
    return x * o.kept.value


def moments(o, x):
    m = o.moments
    o.moments = m._replace(mean=0.9 * m.mean + 0.1 * x, square=0.9 * m.square + 0.1 * x * x)
    return o.moments.mean / (1.0 + o.moments.square)


EDITS = {
    abstract: [
        lambda o: vars(o).update(value={}),
        lambda o: vars(o).update(value=Registered()),
        lambda o: collections.abc.Mapping.register(Registered),
        lambda o: vars(o).update(rate="a"),
    ],
    flags: [
        lambda o: vars(o).update(flags=Flags.A | Flags.B),
        lambda o: vars(o).update(flags=Flags(0)),
    ],
    flags_kept: [lambda o: vars(o).update(flags=Flags.A | Flags.B)],
    moments: [lambda o: vars(o).update(moments=Moments(np.ones(3), np.ones(3)))],
}


@pytest.mark.parametrize("f", EDITS, ids=lambda f: f.__name__)
def test_objects_of_classes(f):
    one, other = (
        State(value=[1], rate=0.5, flags=Flags.A, kept=None, moments=Moments(np.zeros(3)))
        for _ in range(2)
    )
    compiled = tg.compile(lambda x: f(other, x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for edit in (None, *EDITS[f], None):
            for o in (one, other) if edit else ():
                edit(o)
            for turn in range(3):
                assert np.array_equal(compiled(X + turn), f(one, X + turn))
                assert repr({**vars(other), "value": 0}) == repr({**vars(one), "value": 0})
    assert compiled.cache_info().hits


class Strategy(enum.Enum):
    TWICE = 1
    MORE = 2

    def __call__(self, x):
        match self:
            case Strategy.TWICE:
                return x * 2
            case _:
                return x + 1 if self == Strategy.MORE else x


def test_an_enum_that_is_called_is_compared():
    held = State(strategy=Strategy.TWICE)
    function = tg.grad(lambda x: (held.strategy(x) * x).sum())
    x = np.array([1.0, 2.0])
    for strategy, expected in ((Strategy.TWICE, 4 * x), (Strategy.MORE, 2 * x + 1)) * 2:
        held.strategy = strategy
        np.testing.assert_array_equal(function(x), expected)
    assert function.cache_info()[:4] == (2, 2, 2, 2)
