"""Containers of subclasses from outside, with methods of their own, hold what plain Python leaves.

Compiled and, once the function runs eagerly, not: arrays, and each method of the user's ran once.
"""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg


class More(list):
    """Stores one more than is given; ``append`` does not go through it."""

    def __setitem__(self, i, value):
        super().__setitem__(i, value + 1)


class Counted(dict):
    """Counts how often an item is set."""

    count = 0

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.count += 1


def cached(o, x):
    k = int(x[0])
    if k not in o.made:
        o.made[k] = x * 3
    return o.made[k] * x


def nested(o, x):
    o.made[int(x[0])] = {"x": x * 3, "both": [x * 1.0, 2 * x]}
    return o.made[int(x[0])]["x"] * x


def updated(o, x):
    o.made.update({int(x[0]): x * 2})
    return x * 1


def set_and_appended(o, x):
    o.items[0] = x * 2
    o.items.append(x * 3)
    return o.items[0] * 1


def least_recently_used(o, x):
    k = int(x[0])
    o.made[k] = x * 2
    o.made.move_to_end(k)
    if len(o.made) > 2:
        o.made.popitem(last=False)
    return o.made[k] * 1


CASES = [
    *((f, kind) for f in (cached, nested, updated)
      for kind in (dict, OrderedDict, lambda: defaultdict(int), Counted, Counter)),
    (set_and_appended, dict),
    (least_recently_used, OrderedDict),
]  # fmt: skip


def shown(x):
    if isinstance(x, dict):
        return {key: shown(held) for key, held in dict.items(x)}, getattr(x, "count", 0)
    if isinstance(x, list):
        return [shown(held) for held in list.__iter__(x)]
    assert type(x) is not tg.Tensor
    return np.asarray(x).tolist()


@pytest.mark.parametrize("differentiated", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("f, kind", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_they_hold_what_plain_python_leaves(f, kind, differentiated):
    ours, plain = (SimpleNamespace(made=kind(), items=More([1.0])) for _ in range(2))
    made = tg.compile(lambda x: f(ours, x))
    if differentiated:
        made = tg.value_and_grad(lambda x: np.sum(f(ours, x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in (1.0, 3.0, -2.0, 1.0, 5.0):
            x = np.array([first, 2.0])
            made(x)
            f(plain, x)
            for name in ("made", "items"):
                assert shown(getattr(ours, name)) == shown(getattr(plain, name))
