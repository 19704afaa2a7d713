"""A function that keeps what it computes enters; its calls leave what calls of plain Python leave.

Compiled, traced and eager calls with arrays leave arrays, calls with Tensors leave Tensors.
"""

from __future__ import annotations

import copy
import heapq
import types
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.tree import flatten

X = np.array([1.0, 2.0, 3.0])


class Slotted:
    __slots__ = ("last",)


class Keeping:
    """Each method keeps something and counts, so that it stays eager."""

    shared: Any = None

    def __init__(self):
        self.calls = 0
        self.last: Any = None
        self.state: dict[str, Any] = {}
        self.recent: Any = deque(maxlen=2)
        self.log: list[Any] = []
        self.inner = types.SimpleNamespace(value=None)
        self.slotted = Slotted()
        self.slotted.last = None
        self.tensor = tg.zeros(3)

    def attribute(self, x):
        self.last = x * 2.0
        return x

    def element(self, x):
        self.last = x[0] * 2.0
        return x

    def the_argument_itself(self, x):
        self.last = x
        return x * 2.0

    def appended(self, x):
        self.log.append(x * 2.0)
        self.recent.append(x + 1.0)
        self.log.extend([x[0], (x, 1)])
        return x

    def in_dicts(self, x):
        self.state["a"] = x * 2.0
        self.state.update(b=x * 3.0)
        self.state.setdefault("c", x * 4.0)
        return x

    def nested(self, x):
        self.last = {"pair": (x * 2.0, [x.sum(), 1.0]), "n": 3}
        return x

    def of_its_class(self, x):
        Keeping.shared = x * 2.0
        return x

    def behind_an_attribute(self, x):
        self.inner.value = x * 2.0
        self.slotted.last = x * 3.0
        return x

    def by_setattr(self, x):
        setattr(self, "last", x * 2.0)  # noqa: B010
        return x

    def in_an_object_made_here(self, x):
        self.last = types.SimpleNamespace(value=x * 2.0)
        return x

    def in_a_cell(self, x):
        kept = None

        def keep():
            nonlocal kept
            kept = x * 2.0

        keep()
        self.last = (lambda: kept)()
        return x

    def a_tensor(self, x):
        self.tensor = self.tensor * 0.5 + x
        return x


METHODS = [name for name in vars(Keeping) if not name.startswith("__") and name != "shared"]


def state_of(keeping: Keeping) -> Any:
    held = {**vars(keeping), "shared": Keeping.shared, "slotted": keeping.slotted.last}
    held["recent"] = list(held["recent"])
    held["inner"] = held["inner"].value
    if isinstance(held["last"], types.SimpleNamespace):
        held["last"] = held["last"].value
    held["last"] = copy.copy(held["last"])
    return copy.deepcopy(held)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, tg.compile, tg.value_and_grad])
def test_calls_with_arrays_leave_arrays(name, eager, transform):
    states = []
    for make in (lambda f: f, transform):
        Keeping.shared = None
        keeping = Keeping()
        method, found = getattr(keeping, name), []

        def f(x, method=method, keeping=keeping):
            if eager:
                keeping.calls += 1
            return np.sum(method(x) * x)

        made = make(f)
        with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
            for i in range(4):
                made(X + i)
                found.append(state_of(keeping))
        states.append(found)
    plain, ours = states
    assert_same_bits(ours, plain)
    for now, then in zip(ours, plain, strict=True):
        assert list(map(type, flatten(now)[0])) == list(map(type, flatten(then)[0]))


def test_the_argument_itself_is_what_is_kept():
    held = types.SimpleNamespace(last=None, calls=0)

    def f(x):
        held.calls += 1
        held.last = x
        return x * 2.0

    made = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning):
        for _ in range(4):
            x = X.copy()
            made(x)
            assert held.last is x


def test_calls_with_tensors_leave_tensors():
    held = types.SimpleNamespace(last=None)

    def f(x):
        held.last = x * 2.0
        return np.sum(x * x)

    made = tg.compile(f)
    for i in range(4):
        x = tg.tensor(X + i, requires_grad=True)
        made(x).backward()
        assert type(held.last) is tg.Tensor and held.last._traced is None
        assert_same_bits(held.last, (X + i) * 2.0)
        assert_same_bits(x.grad, 2.0 * (X + i))


def test_a_tensor_from_outside_is_written_to_in_place():
    running = tg.zeros(3)

    def f(x):
        running.mul_(0.5)
        running.add_(x)
        return x * running

    made, now = tg.compile(f), np.zeros(3)
    same = running
    for i in range(4):
        now = now * 0.5 + (X + i)
        assert_same_bits(made(X + i), (X + i) * now)
        assert_same_bits(running, now)
    assert running is same and made.cache_info() == (3, 1, 1, 1)


def test_c_code_changes_the_object_itself():
    heap = [3.0, 5.0]

    def f(x):
        heapq.heappush(heap, 4.0)
        return x * heapq.heappop(heap)

    made = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning, match="heap"):
        found = [made(X)[0] for _ in range(4)]
    assert found == [3.0, 4.0, 4.0, 4.0] and heap == [4.0, 5.0]


def test_an_error_leaves_what_was_done_before_it():
    log: list[Any] = []

    def f(x):
        log.append(x * 2.0)
        raise ValueError("no")

    made = tg.compile(f)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            made(X)
    assert [type(x) for x in log] == [np.ndarray] * 3
    assert_same_bits(log, [X * 2.0] * 3)
