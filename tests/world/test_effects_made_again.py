"""A run that is given up, and made again in another way, leaves nothing of what it did outside.

Each kind of effect is made before, and in the middle of, what begins runs again; the traces that
calls leave outside are those of calls without compilation.
"""

import contextlib
import functools
import io
import itertools
import random
import warnings
from collections import deque
from contextvars import ContextVar

import numpy as np
import pytest

import tracegrad as tg


class State:
    """What functions change outside, with what was there before."""

    def __init__(self):
        self.count = 0
        self.rate = 0.5
        self.array = np.ones(2)
        self.item = np.ones(2)
        self.tensor = tg.ones(2)
        self.replaced = tg.ones(2)
        self.log = []
        self.table = {"calls": 0, "other": 1}
        self.queue = deque([0], 3)
        self.names = {1}
        self.listed = [tg.ones(1), np.ones(1)]
        self.objects = np.array([0, None], dtype=object)
        self.generator = np.random.default_rng(3)
        self.python = random.Random(3)
        self.iterator = iter(range(1000))
        self.yielded = (k for k in range(1000))
        self.stream = io.StringIO()
        self.variable = ContextVar("variable", default=0)
        self.draws = []
        self.history = tg.tensor([1.0, 2.0], requires_grad=True)
        self.asked = []

        @functools.lru_cache
        def helper(n):
            self.asked.append(n)
            return n * 1.5

        @functools.lru_cache
        def raising(n):
            self.asked.append(n)
            raise KeyError(n)

        self.helper, self.raising = helper, raising

    def shown(self):
        return [
            *(self.count, self.rate, self.array.tolist(), self.item.tolist()),
            *(self.tensor.tolist(), self.replaced.tolist(), [*self.log], {**self.table}),
            *(list(self.queue), sorted(self.names), [x.tolist() for x in self.listed]),
            *(self.objects.tolist(), self.generator.bit_generator.state["state"]["state"]),
            *(self.python.getstate()[1][-1], next(self.iterator), next(self.yielded)),
            *(self.stream.getvalue(), self.variable.get(), [*self.draws]),
            *(self.history.tolist(), self.history.grad, [*self.table], [*self.asked]),
        ]


# -- effects ------------------------------------------------------------------------------------


def counts(s):
    s.count += 1


def changes_a_float(s):
    s.rate = s.rate * 0.9


def appends(s):
    s.log.append(len(s.log))


def sets_an_item_of_a_dict(s):
    s.table["calls"] += 1
    s.table[len(s.table)] = "new"


def moves_a_name(s):
    s.table["other"] = s.table.pop("other") + 1


def fills_a_deque(s):
    s.queue.append(s.queue[-1] + 1)


def adds_to_a_set(s):
    s.names.add(len(s.names) + 1)


def scales_an_array(s):
    s.array *= 1.1


def sets_an_item_of_an_array(s):
    s.item[0] = s.item[0] + s.item[1]


def adds_into_an_array(s):
    np.add(s.array, 1.0, out=s.array)


def scales_a_tensor(s):
    s.tensor.mul_(1.1)


def adds_to_a_tensor(s):
    s.tensor += 0.5


def sets_an_item_of_a_tensor(s):
    s.tensor[0] = s.tensor[0] * 1.1


def copies_into_a_tensor(s):
    s.tensor.copy_(s.tensor * 2)


def scales_a_view_of_a_tensor(s):
    s.tensor[1:].mul_(1.1)


def scales_the_data_of_a_tensor(s):
    s.tensor.data.mul_(1.1)


def adds_into_a_tensor(s):
    np.add(s.tensor, 1.0, out=s.tensor)


def replaces_a_tensor(s):
    s.replaced = s.replaced * 1.1


def changes_what_a_list_holds(s):
    s.listed[0].mul_(1.1)
    s.listed[1] *= 1.1


def sets_an_item_of_objects(s):
    s.objects[0] += 1


def draws_of_numpy(s):
    s.draws.append(s.generator.normal())


def draws_of_python(s):
    s.draws.append(s.python.random())


def draws_of_tracegrad(s):
    s.draws.append(float(tg.rand(1)[0]))


def uses_up_an_iterator(s):
    s.log.append(next(s.iterator))


def uses_up_a_generator(s):
    s.log.append(next(s.yielded))


def prints(s):
    print("called")


def prints_to_a_stream(s):
    print("called", file=s.stream)


def writes_to_a_stream(s):
    s.stream.write("called ")


def sets_a_variable(s):
    s.variable.set(s.variable.get() + 1)


def prints_and_writes(s):
    print("called")
    s.tensor.mul_(1.1)
    s.stream.write("called ")
    s.log.append(1)


EFFECTS = [
    *(counts, changes_a_float, appends, sets_an_item_of_a_dict, moves_a_name, fills_a_deque),
    *(adds_to_a_set, scales_an_array, sets_an_item_of_an_array, adds_into_an_array),
    *(scales_a_tensor, adds_to_a_tensor, sets_an_item_of_a_tensor, copies_into_a_tensor),
    *(scales_a_view_of_a_tensor, scales_the_data_of_a_tensor, adds_into_a_tensor),
    *(replaces_a_tensor, changes_what_a_list_holds, sets_an_item_of_objects, draws_of_numpy),
    *(draws_of_python, draws_of_tracegrad, uses_up_an_iterator, uses_up_a_generator, prints),
    *(prints_to_a_stream, writes_to_a_stream, sets_a_variable, prints_and_writes),
]


# -- what begins runs again -----------------------------------------------------------------------


def asks_for_a_history(s, x, effect):
    y = x * s.history
    effect(s)
    return (y * 2 if y.requires_grad else y).sum()


def asks_for_the_mode(s, x, effect):
    effect(s)
    return ((x * s.history) * (2 if tg.is_grad_enabled() else 1)).sum()


def asks_who_is_a_leaf(s, x, effect):
    effect(s)
    return (x * (1 if getattr(x, "is_leaf", True) else 2)).sum()


def asks_behind_a_look(s, x, effect):
    y = x * s.history
    effect(s)
    if y[0] > 0 and y.grad_fn is None:
        y = y * 2
    return y.sum()


def returns_a_number(s, x, effect):
    effect(s)
    return float((x * s.history).sum())


def returns_numbers(s, x, effect):
    y = x * s.history
    effect(s)
    return {"mean": y.tolist()}


def takes_a_gradient_of_its_own(s, x, effect):
    w = tg.ones(2, requires_grad=True)
    effect(s)
    (g,) = tg.autograd.grad((w * x * s.history).sum(), w)
    return g


def goes_backward(s, x, effect):
    w = tg.ones(2, requires_grad=True)
    effect(s)
    (w * x).sum().backward()
    return w.grad


def hooks(s, x, effect):
    y = x * s.history
    effect(s)
    if y.requires_grad:
        y.register_hook(lambda g: g)
    return y.sum()


def derives_with_a_look(s, x, effect):
    def inner(q):
        effect(s)
        return np.sum(q * 2 if q[0] > 0 else q)

    return tg.grad(inner)(x)


def derives_behind_an_effect(s, x, effect):
    effect(s)
    return tg.grad(lambda q: np.sum(q * 2 if q[0] > 0 else q))(x)


def maps_with_a_look(s, x, effect):
    effect(s)
    return tg.vmap(lambda q: q * 2 if q > 0 else q)(x)


def maps_an_effect(s, x, effect):
    def inner(q):
        effect(s)
        return q * 2

    return tg.vmap(inner)(x)


def maps_an_effect_with_a_look(s, x, effect):
    def inner(q):
        effect(s)
        return q * 2 if q > 0 else q

    return tg.vmap(inner)(x)


def learns_of_a_loop(s, x, effect):
    effect(s)
    a, b = 0, 1.0
    for k in range(12):
        a = a + x[0] * k
        b = (b + a) if k > 3 else b * 2
    return a + b


def has_an_effect_in_a_loop(s, x, effect):
    total = 0.0
    for k in range(10):
        total = total + x.sum() * k
        if k == 5:
            effect(s)
    return total


def has_loops_around_it(s, x, effect):
    h = x
    for _ in range(10):
        h = np.tanh(h * 1.1)
    effect(s)
    for _ in range(10):
        h = np.tanh(h * 1.1)
    return h.sum()


def catches_what_numpy_raises(s, x, effect):
    effect(s)
    try:
        return np.linalg.cholesky(np.outer(x, x) + np.eye(2) * x[0]).sum()
    except np.linalg.LinAlgError:
        return x.sum()


def raises(s, x, effect):
    effect(s)
    if x[0] < 0:
        raise ValueError("negative")
    return (x * s.history).sum()


def returns_a_leaf(s, x, effect):
    effect(s)
    return tg.ones(2, requires_grad=True)


def asks_who_is_who(s, x, effect):
    pair = [x, x]
    effect(s)
    return x.sum() * (2 if pair[0] is x else 1)


def writes_to_memory_that_c_has(s, x, effect):
    effect(s)
    y = x * 1.0
    seen = np.asarray(y)
    y[0] = 3.0
    return y.sum() + len(seen)


def goes_through_a_list(s, x, effect):
    effect(s)
    total = x.sum() * 0.0
    for w in [x * k for k in range(9)]:
        total = total + w.sum()
    return total


def asks_a_cached_helper(s, x, effect):
    effect(s)
    return x.sum() * s.helper(3)


def asks_a_helper_that_raises(s, x, effect):
    effect(s)
    try:
        return x.sum() * s.raising(3)
    except KeyError:
        return x.sum() * 7.0


def acts_later_too(s, x, effect):
    effect(s)
    y = x * s.history
    s.stream.write("later ")
    return (y * 2 if y.requires_grad else y).sum()


AGAIN = [
    *(asks_for_a_history, asks_for_the_mode, asks_who_is_a_leaf, asks_behind_a_look),
    *(returns_a_number, returns_numbers, takes_a_gradient_of_its_own, goes_backward, hooks),
    *(derives_with_a_look, derives_behind_an_effect, maps_with_a_look, maps_an_effect),
    *(maps_an_effect_with_a_look, learns_of_a_loop, has_an_effect_in_a_loop, has_loops_around_it),
    *(catches_what_numpy_raises, raises, returns_a_leaf, asks_who_is_who),
    *(writes_to_memory_that_c_has, goes_through_a_list, asks_a_cached_helper),
    *(asks_a_helper_that_raises, acts_later_too),
]


# -- calls --------------------------------------------------------------------------------------


def plainly(f):
    return tg.compile(f)


def in_a_step(f):
    return tg.compile(lambda x: tg.value_and_grad(lambda q: np.sum(f(q)))(x))


def as_a_gradient(f):
    return tg.grad(lambda q: np.sum(f(q)))


def within_a_compiled_function(f):
    inner = tg.compile(f)
    return tg.compile(lambda x: inner(x))


HOW = [plainly, in_a_step, as_a_gradient, within_a_compiled_function]
GIVEN = {
    "tensors": "TTTT",
    "signs": "TSTS",
    "no_grad": "tttt",
    "modes": "TTttst",
    "arrays": "xxyx",
    "mixed": "xTtx",
}
"""Of each call: a Tensor (S: of the other sign), one under no_grad (t, s), or an array (x, y)."""


def outcome(effect, again, how, order, compiled):
    """What calls return or raise, and what they leave outside."""
    s, printed, found = State(), io.StringIO(), []
    tg.manual_seed(5)

    def program(x):
        return again(s, x, effect)

    before, tg.config.compile = tg.config.compile, compiled
    try:
        f = how(program)
        for letter in order:
            sign = -1.0 if letter in "Ssy" else 1.0
            given = np.array([1.0, 2.0]) * sign
            x = given if letter in "xy" else tg.tensor(given)
            with contextlib.ExitStack() as within:
                if letter.islower() and letter not in "xy":
                    within.enter_context(tg.no_grad())
                within.enter_context(contextlib.redirect_stdout(printed))
                within.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                try:
                    f(x)
                    raised = ""
                except Exception as error:
                    raised = type(error).__name__
            found.append((raised, s.shown(), printed.getvalue(), float(tg.rand(1)[0])))
    finally:
        tg.config.compile = before
    return found


CASES = list(itertools.product(HOW, AGAIN, EFFECTS, GIVEN))


@pytest.mark.sampled(61)
@pytest.mark.parametrize(
    ("how", "again", "effect", "given"),
    CASES,
    ids=["-".join([*(f.__name__ for f in case[:3]), case[3]]) for case in CASES],
)
def test_effects_are_those_of_calls_without_compilation(how, again, effect, given):
    expected = outcome(effect, again, how, GIVEN[given], False)
    found = outcome(effect, again, how, GIVEN[given], True)
    for ours, plain in zip(found, expected, strict=True):
        # Without compilation nobody watches for numbers that lose a gradient.
        assert ours[0] in (plain[0], "LostGradientError")
        assert ours[1:] == plain[1:]
