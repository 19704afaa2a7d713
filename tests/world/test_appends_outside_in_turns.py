"""Loops whose turns append to lists and deques from outside stay loops.

Each call leaves in them what plain Python would: the same items, of the same types, in order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import config

pytestmark = pytest.mark.usefixtures("fresh_loops")

W = np.array([0.7, 0.5, 0.9])
CALLS = [
    (W, np.linspace(0.8, 1.4, 12)),
    (W, np.linspace(0.8, 1.4, 12)),
    (np.array([0.3, -0.5, 0.2]), np.linspace(1.8, 0.4, 12)),
    (np.array([0.3, 0.5, 0.2]), np.linspace(0.9, 0.4, 17)),
    (W * 0.9, np.linspace(0.8, 1.4, 12)),
]

STAYING, OTHERS = {}, {}


def stays(make):
    """A function of which the loop stays one, and what it appends to."""
    STAYING[make.__name__] = make
    return make


def other(make):
    """One that is unrolled, or runs eagerly, and is right."""
    OTHERS[make.__name__] = make
    return make


GLOBAL: list = []


@stays
def of_a_global():
    GLOBAL.clear()

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            GLOBAL.append(np.sum(h * h))
        return np.sum(h)

    return f, GLOBAL


@stays
def of_a_closure():
    kept = []

    def f(w, x):
        h = w
        for row in x:
            h = np.tanh(h * row)
            kept.append(h)
        return np.sum(h)

    return f, kept


@stays
def of_a_dictionary():
    state = {"losses": [], "rate": 0.9, "last": 0.0}

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t]) * state["rate"]
            state["last"] = h.sum()
            state["losses"].append(state["last"] * 2.0)
        return np.sum(h)

    return f, state


class Trainer:
    def __init__(self):
        self.losses, self.steps = [], 0

    def step(self, h, v):
        h = np.tanh(h * v)
        self.steps += 1
        self.losses.append(h.sum())
        return h

    def run(self, w, x):
        for t in range(len(x)):
            w = self.step(w, x[t])
        return w.sum()


@stays
def of_an_object_in_a_method():
    trainer = Trainer()
    return trainer.run, trainer.losses


@stays
def to_two_lists():
    first, second = [], [0.5]

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            second.append(h)
            first.append(h[0] * 2.0)
        return np.sum(h)

    return f, (first, second)


@stays
def before_and_behind_the_loop():
    kept = [1.5]

    def f(w, x):
        h = w
        kept.append(h.sum())
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
        kept.append(h[1])
        kept.append(2.0)
        return np.sum(h)

    return f, kept


@stays
def in_two_loops():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
        for t in range(len(x)):
            h = np.cos(h * x[t])
            kept.append(h[0])
        return np.sum(h)

    return f, kept


@stays
def by_two_names():
    kept = []
    model = SimpleNamespace(history=kept)

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
            model.history.append(h[0])
        return np.sum(h)

    return f, kept


@stays
def to_a_deque():
    kept, recent = deque(), deque(maxlen=5)

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h)
            recent.append(h.sum())
        kept.append(h.sum())
        return np.sum(h)

    return f, (kept, recent)


@stays
def beside_a_list_of_its_own():
    kept = []

    def f(w, x):
        h, out = w, []
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            out.append(h)
            kept.append(h.sum())
        return np.sum(np.stack(out))

    return f, kept


@stays
def after_another_first_turn():
    kept = []

    def f(w, x):
        total = 0.0
        for t in range(len(x)):
            total = total + w.sum() * x[t]
            kept.append(total)
        return total

    return f, kept


@stays
def and_what_an_array_was_is_written_to_behind():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h)
        h[0] = 7.0
        return h.sum()

    return f, kept


@stays
def and_the_container_is_read_behind():
    kept = [1.0]

    def f(w, x):
        h = w
        kept.clear()
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
        last = kept.pop()
        return np.sum(h) * last + sum(kept)

    return f, kept


@stays
def in_some_arms():
    some, others = [], []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.cos(3 * h * x[t])
            if h[0] > 0:
                some.append(h.sum())
            else:
                others.append(h)
        return np.sum(h)

    return f, (some, others)


@stays
def in_late_arms():
    kept = []

    def f(w, x):
        h = w
        for _ in range(40):
            h = h * 0.9 * x[0]
            if h.sum() < 0.5:
                kept.append(h[0])
        return np.sum(h)

    return f, kept


@stays
def several_times_a_turn():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.cos(3 * h * x[t])
            kept.append(h[0])
            kept.append(h[1])
        return np.sum(h)

    return f, kept


@stays
def in_a_while():
    kept = []

    def f(w, x):
        h, k = w, 0
        while h.sum() > 0.05 and k < 200:
            h = h * 0.7 * x[0]
            k = k + 1
            kept.append(h.sum())
        kept.append(h)
        return np.sum(h)

    return f, kept


@stays
def in_a_while_that_breaks():
    kept = []

    def f(w, x):
        h = w
        while True:
            h = h * 0.7 * x[0]
            kept.append(h.sum())
            if h.sum() < 0.05:
                break
        return np.sum(h)

    return f, kept


@stays
def in_a_for_that_breaks():
    kept = []

    def f(w, x):
        h = w
        for _ in range(100):
            h = h * 0.7 * x[0]
            if h.sum() < 0.2:
                break
            kept.append(h.sum())
        return np.sum(h)

    return f, kept


@stays
def in_the_turns_around_a_loop():
    kept = []

    def f(w, x):
        h = w
        for _ in range(len(x)):
            for t in range(len(x)):
                h = np.tanh(h * x[t])
            kept.append(h.sum())
        return np.sum(h)

    return f, kept


@stays
def in_a_short_loop_of_each_turn():
    kept = []

    def f(w, x):
        h = w
        for _ in range(len(x)):
            for t in range(3):
                h = np.tanh(h * x[t])
                kept.append(h.sum())
        return np.sum(h)

    return f, kept


@other
def in_a_loop_inside_another_one():
    kept = []

    def f(w, x):
        h = w
        for _ in range(len(x)):
            kept.append(h[0])
            for t in range(len(x)):
                h = np.tanh(h * x[t])
                kept.append(h.sum())
            kept.append(h[1])
        return np.sum(h)

    return f, kept


@other
def and_turns_ask_for_the_length():
    kept = []

    def f(w, x):
        h, total = w, 0.0
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
            total = total + h[0] * len(kept)
        return np.sum(h) + total

    return f, kept


@other
def and_turns_ask_for_the_length_first():
    kept = []

    def f(w, x):
        h, total = w, 0.0
        for t in range(len(x)):
            if len(kept) > 3:
                total = total + h[0]
            h = np.tanh(h * x[t])
            kept.append(h.sum())
        return np.sum(h) + total

    return f, kept


@other
def and_late_turns_ask_for_the_length():
    kept = []

    def f(w, x):
        h, total = w, 0.0
        for _ in range(40):
            h = h * 0.9
            kept.append(h[0])
            if h.sum() < 0.5:
                total = total + len(kept) * h[0]
        return np.sum(h) + total

    return f, kept


@other
def and_turns_read_the_item_before():
    kept = []

    def f(w, x):
        h, total = w, 0.0
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            if kept:
                total = total + kept[-1]
            kept.append(h.sum())
        return np.sum(h) + total

    return f, kept


@other
def and_turns_read_it_by_another_name():
    kept = []
    model = SimpleNamespace(history=kept)

    def f(w, x):
        h, total = w, 0.0
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
            total = total + len(model.history) * h[0]
        return np.sum(h) + total

    return f, kept


@other
def and_turns_replace_the_last_item():
    kept = [0.0]

    def f(w, x):
        h = w
        for t in range(len(x)):
            kept[-1] = h.sum()
            h = np.tanh(h * x[t])
            kept.append(h[0])
        return np.sum(h)

    return f, kept


@other
def and_turns_replace_the_first_item():
    kept = [0.0]

    def f(w, x):
        h = w
        for t in range(len(x)):
            kept[0] = h.sum()
            h = np.tanh(h * x[t])
            kept.append(h[0])
        return np.sum(h)

    return f, kept


@other
def and_turns_take_an_item_out():
    kept = [1.0, 2.0]

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
            kept.pop(0)
        return np.sum(h)

    return f, kept


@other
def tuples_and_numbers():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append((t, h.sum()))
            kept.append(float(h[0]))
            kept.append(t)
        return np.sum(h)

    return f, kept


@other
def what_turns_write_to():
    kept = []

    def f(w, x):
        h = w * 1.0
        for t in range(len(x)):
            kept.append(h)
            h[0] = h[1] * x[t]
        return np.sum(h)

    return f, kept


@other
def the_argument_itself():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            kept.append(w)
            h = np.tanh(h * x[t])
        return np.sum(h)

    return f, kept


@other
def and_a_copy_is_stored_between():
    model = SimpleNamespace(history=[], copy=None)

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            model.history.append(h.sum())
        model.copy = list(model.history)
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            model.history.append(h.sum())
        return np.sum(h)

    return f, (model.history, vars(model))


@other
def the_same_array_in_all_turns():
    kept = []

    def f(w, x):
        h, k = w * 1.0, 0
        while k < 12 and h.sum() < 50:
            k = k + 1
            kept.append(h)
        return np.sum(h)

    return f, kept


@other
def one_array_twice_a_turn():
    kept = []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h)
            kept.append(h)
        return np.sum(h)

    return f, kept


@other
def one_array_to_two_lists():
    first, second = [], []

    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            first.append(h)
            second.append(h)
        return np.sum(h)

    return f, (first, second)


# -- what is left, and how it is compared ---------------------------------------------------------


def told(x):
    """An object with all that a caller sees of it."""
    if isinstance(x, tg.Tensor):
        return "Tensor", told(x.detach().numpy()), x.requires_grad
    if isinstance(x, np.ndarray | np.generic):
        return type(x), x.dtype, x.shape, x.tobytes()
    if isinstance(x, dict):
        return [(key, told(value)) for key, value in x.items()]
    if isinstance(x, list | tuple | deque):
        return type(x), [told(value) for value in x]
    return type(x), repr(x)


def who_is_who(x):
    """Which of the arrays that containers hold are one."""
    found, waiting = [], [x]
    while waiting:
        x = waiting.pop()
        if isinstance(x, list | tuple | deque | dict):
            waiting += x.values() if isinstance(x, dict) else x
        elif isinstance(x, np.ndarray):
            found.append(x)
    known = {}
    return [known.setdefault(id(x), len(known)) for x in found]


def as_tensors(w, x):
    return tg.tensor(w.copy(), requires_grad=True), tg.tensor(x.copy())


def follow(function, left, calls, tensors=False):
    """What each call gives, and what it leaves."""
    found = []
    for w, x in calls:
        args = as_tensors(w, x) if tensors else (w.copy(), x.copy())
        try:
            result = told(function(*args))
        except ValueError as error:
            result = str(error)
        found.append((result, told(left), who_is_who(left)))
    return found


def eagerly(function):
    def run(*args):
        before, config.compile = config.compile, False
        try:
            return function(*args)
        finally:
            config.compile = before

    return run


ORDERS = {"as they come": CALLS, "another first": [CALLS[2], CALLS[0], CALLS[3], CALLS[2]]}
ALL = {**STAYING, **OTHERS}


@pytest.mark.parametrize("calls", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_compiled_calls_leave_what_python_does(make, calls):
    f, left = make()
    expected = follow(f, left, calls)
    f, left = make()
    compiled = tg.compile(f)
    assert follow(compiled, left, calls) == expected
    if make.__name__ in STAYING:
        assert "loops that are unrolled" not in compiled.explain()
        assert ".extend(a list)" in compiled.explain()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("transform", [tg.value_and_grad, tg.grad])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_gradients_leave_what_eager_ones_do(make, transform):
    f, left = make()
    expected = follow(eagerly(transform(f)), left, CALLS)
    f, left = make()
    compiled = transform(f)
    assert follow(compiled, left, CALLS) == expected
    if make.__name__ in STAYING:
        assert "loops that are unrolled" not in compiled.explain()


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_calls_on_tensors_leave_what_eager_ones_do(make):
    f, left = make()
    expected = follow(f, left, CALLS, tensors=True)
    f, left = make()
    assert follow(tg.compile(f), left, CALLS, tensors=True) == expected


@dataclass
class Record:
    losses: list = field(default_factory=list)
    rate: float = 0.5


def into_a_list(w, x, history):
    h = w
    for t in range(len(x)):
        h = np.tanh(h * x[t])
        history.append(h.sum())
    return np.sum(h)


def into_a_dictionary(w, x, state):
    h = w
    for t in range(len(x)):
        h = np.tanh(h * x[t]) * state["rate"]
        state["losses"].append(h.sum())
    return np.sum(h)


def into_a_field_in_some_arms(w, x, record):
    h = w
    for t in range(len(x)):
        h = np.cos(3 * h * x[t] * record.rate)
        if h[0] > 0.2:
            record.losses.append(h.sum())
    return np.sum(h)


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize(
    "f, given",
    [
        (into_a_list, list),
        (into_a_dictionary, lambda: {"losses": [], "rate": 0.9}),
        (into_a_field_in_some_arms, Record),
    ],
)
def test_arguments_are_appended_to(f, given, transform):
    expected, left = given(), given()
    compiled = transform(f)
    for w, x in CALLS:
        f(w, x, expected)
        compiled(w, x, left)
        assert told(getattr(left, "losses", left)) == told(getattr(expected, "losses", expected))
    assert "loops that are unrolled" not in compiled.explain()


def raising(kept):
    def f(w, x):
        h = w
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            kept.append(h.sum())
            if h[0] < 0.15:
                raise ValueError("low")
            kept.append(h[1])
        return np.sum(h)

    return f


def an_operation_raises(kept):
    def f(w, x):
        h = w
        try:
            for t in range(len(x)):
                kept.append(h.sum())
                h = h * x[t]
                h = h * np.linalg.inv(np.eye(2) * (h[0] > 0.15))[0, 0]
                kept.append(h[1])
        except np.linalg.LinAlgError:
            kept.append(h)
        return np.sum(h)

    return f


def a_list_of_its_own_that_is_kept(kept):
    def f(w, x):
        h, out = w, []
        kept.append(out)
        for t in range(len(x)):
            h = np.tanh(h * x[t])
            out.append(h.sum())
            if h[0] < 0.15:
                raise ValueError("low")
        return np.sum(h)

    return f


@pytest.mark.parametrize("calls", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("make", [raising, an_operation_raises, a_list_of_its_own_that_is_kept])
def test_a_turn_raises(make, calls):
    expected, left = [], []
    assert follow(tg.compile(make(left)), left, calls) == follow(make(expected), expected, calls)


def test_a_turn_is_written_once():
    counts = []
    for turns in (12, 400):
        f, left = beside_a_list_of_its_own()
        compiled = tg.compile(f)
        compiled(W, np.linspace(0.8, 1.4, turns))
        counts.append(compiled.source().count("np.tanh"))
        assert len(left) == turns
    assert counts[0] == counts[1]


def test_a_stored_item_of_a_list_that_moves_is_where_it_was():
    """``kept[-1] = ...`` before an item is appended is another place afterwards."""

    def make(kept):
        def f(w, x):
            h, k = w, 0
            while k < 12:
                k += 1
                kept[-1] = h.sum()
                h = np.tanh(h * x[0])
                kept.append(h[0])
            return np.sum(h)

        return f

    expected, left = [0.0], [0.0]
    assert follow(tg.compile(make(left)), left, CALLS) == follow(make(expected), expected, CALLS)


def test_a_look_at_how_many_there_are_names_the_loop():
    kept = []

    @tg.value_and_grad
    def f(x):
        total = 0.0
        for v in x:
            if v > 0.0:
                kept.append(v)
                total = total + v * v
        return total

    x = np.array([1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0])
    for _ in range(2):
        kept.clear()
        f(x)
        assert kept == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert "a look at a value" not in f.source(x)
    assert "for v in x:  was only ever 5" in f.source(x)
