"""What the first call of a compiled function finds of the histories of Tensors, and later ones not.

Each session calls a function several times, plainly and compiled; between the calls it changes
the caller's Tensors: what they were made of, their hooks, whether anything is recorded.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

Step = Callable[[Callable[..., Any]], Any]
SESSIONS: dict[str, tuple[Callable[..., Any], bool]] = {}


class State:
    """What a session has from outside: leaves, and a Tensor that the caller makes anew."""

    def __init__(self) -> None:
        self.base = tg.tensor([1.0, 2.0], requires_grad=True)
        self.w = self.base * 2.0

    def anew(self, k: float) -> Step:
        """A call after the weight was made of other numbers; a backward behind it."""

        def step(f):
            self.w = self.base * k
            return backed(f(tg.tensor([1.0, 0.2])), self.base)

        return step

    def read(self, k: float) -> Step:
        """The same, without the backward."""

        def step(f):
            self.w = self.base * k
            return shown(f(tg.tensor([1.0, 0.2])))

        return step


def shown(x: Any) -> Any:
    return x.detach().numpy().copy() if isinstance(x, tg.Tensor) else x


def backed(loss: Any, leaf: Any) -> Any:
    """A loss and the gradient of a leaf."""
    leaf.grad = None
    if loss.requires_grad:
        loss.backward(retain_graph=True)
    return [shown(loss), shown(leaf.grad)]


def session(compiled: bool) -> Callable[..., Any]:
    """Enters what makes a function, and calls of it in which the caller's Tensors are others."""

    def entered(make: Callable[..., Any]) -> Callable[..., Any]:
        SESSIONS[make.__name__] = make, compiled
        return make

    return entered


def by_a_leaf_of_its_own(held, **how):
    def f(x):
        c = x.detach().requires_grad_()
        (g,) = tg.autograd.grad(tg.tanh(c * held.w).sum(), c, **how)
        return ((x + 0.1 * g) * held.w * g).sum()

    return f


@session(compiled=True)
def derivative_reads_a_weight_that_is_made_anew(held):
    return by_a_leaf_of_its_own(held), [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=True)
def recorded_derivative_reads_a_weight_that_is_made_anew(held):
    how = {"create_graph": True}
    return by_a_leaf_of_its_own(held, **how), [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=True)
def transform_within_reads_a_weight_that_is_made_anew(held):
    def f(x):
        return (tg.grad(lambda c: (c * c * held.w).sum())(x) * held.w).sum()

    return f, [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=True)
def tangents_within_read_a_weight_that_is_made_anew(held):
    def f(x):
        return tg.jvp(lambda c: (c * c * held.w).sum())(x, x)[1]

    return f, [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=True)
def derivative_reads_a_buffer_that_is_replaced(held):
    def step(k):
        def call(f):
            held.w = tg.tensor([k, 1.0])
            return shown(f(tg.tensor([1.0, 0.2])))

        return call

    return by_a_leaf_of_its_own(held), [step(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=True)
def derivative_reads_a_buffer_that_is_written(held):
    buffer = held.w = tg.tensor([1.0, 2.0])

    def step(f):
        buffer.mul_(2.0)
        return shown(f(tg.tensor([1.0, 0.2])))

    return by_a_leaf_of_its_own(held), [step] * 4


@session(compiled=True)
def derivative_by_a_weight_that_is_made_anew(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.w * held.w).sum(), held.w, create_graph=True)
        return (g * held.w).sum()

    return f, [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


@session(compiled=False)
def derivative_by_what_the_weight_is_made_of(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.w**2).sum(), held.base, create_graph=True)
        return g.sum()

    return f, [held.anew(k) for k in (1.0, 2.0, 3.0, 4.0)]


def in_base(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.w * held.base).sum(), held.base, create_graph=True)
        return g.sum()

    def constant(f):
        held.w = tg.tensor([3.0, 1.0])
        return backed(f(tg.tensor([1.0, 2.0])), held.base)

    return f, constant


@session(compiled=True)
def weight_comes_to_depend_on_what_is_derived_by(held):
    f, constant = in_base(held)
    return f, [constant, constant, held.anew(2.0), held.anew(3.0), constant]


@session(compiled=False)
def weight_depends_on_what_is_derived_by(held):
    f, constant = in_base(held)
    return f, [held.anew(2.0), held.anew(3.0), constant, constant]


@session(compiled=True)
def argument_comes_to_be_the_leaf_that_is_derived_by(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.base).sum(), held.base)
        return g.sum()

    given = [
        *(lambda: tg.tensor([1.0, 2.0]), lambda: tg.tensor([3.0, 2.0])),
        *(lambda: tg.ones(2, requires_grad=True), lambda: tg.zeros(2, requires_grad=True)),
        *(lambda: held.base, lambda: held.base * 2.0),
    ]
    return f, [lambda f, make=make: shown(f(make())) for make in given]


@session(compiled=True)
def arguments_come_to_be_one(held):
    def f(x, y):
        (g,) = tg.autograd.grad((x * y * y).sum(), x)
        return g.sum()

    def call(one):
        def step(f):
            x, y = (tg.tensor([3.0, k], requires_grad=True) for k in (1.0, 2.0))
            return shown(f(x, x if one else y))

        return step

    return f, [call(False), call(False), call(True), call(False)]


def penalty(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.base).sin().sum(), held.base, create_graph=True)
        return (g**2).sum()

    handles: list[Any] = []

    def call(f):
        return backed(f(tg.tensor([1.0, 2.0])), held.base)

    def hooked(f):
        handles.append(held.base.register_hook(lambda g: g * 10.0))
        return call(f)

    def removed(f):
        handles.pop().remove()
        return call(f)

    return f, call, hooked, removed


@session(compiled=True)
def leaf_gets_a_hook(held):
    f, call, hooked, removed = penalty(held)
    return f, [call, call, hooked, call, removed, call]


@session(compiled=False)
def leaf_has_a_hook(held):
    f, call, hooked, removed = penalty(held)
    return f, [hooked, call, removed, call]


@session(compiled=True)
def argument_has_hooks_at_times(held):
    def f(x):
        (g,) = tg.autograd.grad((x * held.base).sin().sum(), x, create_graph=True)
        return (g**2).sum()

    def call(hooks, inner):
        def step(f):
            leaf = tg.tensor([1.0, 2.0], requires_grad=True)
            x = leaf * 3.0 if inner else leaf
            if hooks:
                x.register_hook(lambda g: g * 10.0)
            return backed(f(x), leaf)

        return step

    kinds = [(0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (0, 1), (0, 0)]
    return f, [call(*kind) for kind in kinds]


@session(compiled=True)
def derivative_where_nothing_is_recorded(held):
    f, call, *_ = penalty(held)

    def unrecorded(f):
        with tg.no_grad():
            return call(f)

    def frozen(f):
        held.base.requires_grad_(False)
        try:
            return call(f)
        finally:
            held.base.requires_grad_(True)

    return f, [unrecorded, call, call, unrecorded, frozen, call]


@session(compiled=True)
def derivative_in_a_method_where_nothing_is_recorded(held):
    f, call, *_ = penalty(held)

    class Model:
        def penalty(self, x):
            return f(x)

    def unrecorded(f):
        with tg.no_grad():
            return call(f)

    model = Model()
    return lambda x: model.penalty(x), [call, unrecorded, call, unrecorded, call]


@session(compiled=True)
def derivative_is_recorded_where_the_caller_does_not(held):
    g, call, *_ = penalty(held)

    def f(x):
        with tg.enable_grad():
            return g(x)

    def unrecorded(f):
        with tg.no_grad():
            return shown(f(tg.tensor([1.0, 2.0])))

    return f, [unrecorded, unrecorded, call, call, unrecorded]


@session(compiled=True)
def graph_of_an_argument_was_freed(held):
    def f(h):
        return tg.tanh(h * held.base), (h * h).sum()

    def call(freed):
        def step(f):
            h = (held.base * 0.5).sin()
            if freed:
                h.sum().backward()
            one, other = f(h)
            return [shown(one), backed(one.sum() + other, held.base)]

        return step

    def looked_at(f):
        h = (held.base * 0.5).sin()
        h.sum().backward()
        return [*map(shown, f(h))]

    return f, [looked_at, call(False), call(True), call(False), looked_at, call(False)]


@session(compiled=True)
def graph_of_a_weight_was_freed(held):
    def freed(f):
        held.w = held.base * 2.0
        held.w.sum().backward()
        return shown(f(tg.tensor([1.0, 0.2])))

    return lambda x: tg.tanh(x * held.w).sum(), [freed, held.anew(2.0), held.anew(3.0), freed]


@session(compiled=True)
def graph_of_a_weight_in_a_derivative_is_freed(held):
    def freed(f):
        held.w = held.base * 2.0
        held.w.sum().backward()
        return shown(f(tg.tensor([1.0, 0.2])))

    return by_a_leaf_of_its_own(held), [held.anew(2.0), held.anew(3.0), freed, held.anew(4.0)]


@session(compiled=True)
def requirement_of_a_result_is_asked(held):
    def step(k, required):
        def call(f):
            held.w = tg.tensor([k, 1.0], requires_grad=required)
            return shown(f(tg.tensor([1.0, 0.2])))

        return call

    def f(x):
        y = x * held.w
        return y.sum() * (2.0 if y.requires_grad else 3.0)

    return f, [step(1.0, True), step(2.0, True), step(3.0, False), step(4.0, True)]


@session(compiled=True)
def number_with_a_history(held):
    def step(k):
        def call(f):
            held.w = (held.base * k).sum()
            return backed(f(tg.tensor([1.0, 0.2])), held.base)

        return call

    return lambda x: tg.tanh(x * held.w).sum(), [step(k) for k in (1.0, 2.0, 3.0)]


@session(compiled=True)
def all_at_once_with_a_weight_that_is_made_anew(held):
    def f(x):
        within = tg.vmap(lambda a: tg.grad(lambda c: (c * c * held.w).sum())(a * held.w).sum())
        return within(x).sum() + tg.vmap(lambda a: (a * held.w).sum())(x).sum()

    return f, [held.read(k) for k in (1.0, 2.0, 3.0)]


@session(compiled=True)
def hessian_products_by_a_weight_that_is_made_anew(held):
    def f(x):
        return tg.autograd.functional.hvp(lambda c: (c**3 * x).sum(), held.w, held.w)[1].sum()

    return f, [held.read(k) for k in (1.0, 2.0, 3.0)]


@session(compiled=True)
def view_by_an_int_from_outside(held):
    def step(k):
        def call(f):
            held.w = tg.tensor(k)
            return shown(f(tg.tensor([1.0, 0.2], requires_grad=True)))

        return call

    def f(x):
        rows = tg.outer(x, x)
        row, element = rows[held.w], rows[held.w, 1]
        row.mul_(2.0)
        element.add_(1.0)
        return (rows * tg.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()

    return f, [step(k) for k in (1, 1, 0, 1, 0)]


@pytest.mark.parametrize("name", SESSIONS)
def test_later_calls_find_other_histories(name):
    make, compiled = SESSIONS[name]
    seen = []
    for wrapped in (lambda f: f, tg.compile):
        f, steps = make(State())
        f = wrapped(f)
        for step in steps:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", tg.errors.RecompileWarning)
                    seen.append(step(f))
            except tg.errors.GradientError as error:
                seen.append(str(error).partition(":")[0])
    assert_same_bits(seen[: len(steps)], seen[len(steps) :])
    assert (f.cache_info().hits > 0) is compiled


def test_prints_show_the_callers_tensors(capsys):
    w = tg.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        y = x * w
        print("y", y, x, w, sep="; ")
        print([y.detach()], {"loss": (y.sum(), x)})
        return y.sum()

    texts = []
    for call in f, tg.compile(f):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tg.errors.RecompileWarning)
            for k in range(4):
                call(tg.tensor([1.0 + k, 2.0], requires_grad=k % 2 == 0))
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert texts[0].startswith("y; tensor([1., 4.], grad_fn=<MulBackward0>); tensor([1., 2.], req")


def dropped(x, w):
    return (tg.nn.dropout(tg.tanh(tg.nn.dropout(x * w, 0.5) * w), 0.3) * x).sum()


def reparametrized(x, w):
    return (x * w + tg.exp(w) * tg.randn(2)).sum() * tg.rand(())


def permuted_by_a_value(x, w):
    y = x * w * tg.rand(2)
    return (y[tg.randperm(2)] * tg.tensor([1.0, 3.0])).sum() if y.sum() > 1.0 else y.sum()


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("program", [dropped, reparametrized, permuted_by_a_value])
def test_random_draws_are_compiled_with_histories(program, twice):
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    made, seen = tg.compile(lambda x: program(x, w)), []
    for call in (lambda x: program(x, w)), made:
        tg.manual_seed(5)
        for k in range(8):
            w.grad = None
            loss = call(tg.tensor([0.5 + k, 2.0]))
            if twice:
                (g,) = tg.autograd.grad(loss, w, create_graph=True)
                loss = loss + (g**2).sum()
            tg.rand(3)  # another draw before the backward
            loss.backward()
            seen.append([shown(loss), shown(w.grad), shown(tg.rand(1))])
    for one, other in zip(seen[:8], seen[8:], strict=True):
        np.testing.assert_allclose(other[1], one[1], 1e-12)
        assert_same_bits([other[0], other[2]], [one[0], one[2]])
    assert made.cache_info().hits >= 5


def score_of_a_path(a, y):
    return sum(a[y[t - 1], y[t]] for t in range(1, len(y))) + a[y[0], 1]


def element_is_written_through(a, y):
    b = a * 2.0
    f, g = b[y[0], y[1]], b[0, 1]
    f.mul_(3.0)
    b[1, 1] = f * 2.0
    return b.sum() * g + f


@pytest.mark.parametrize("program", [score_of_a_path, element_is_written_through])
def test_elements_by_ints_of_a_tensor_are_compiled(program):
    a, made, seen = tg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True), None, []
    for call in program, (made := tg.compile(program)):
        for k in range(8):
            a.grad = None
            loss = call(a, tg.tensor(np.random.default_rng(k).integers(0, 3, 5)))
            loss.backward()
            seen.append([shown(loss), shown(a.grad)])
    assert_same_bits(seen[:8], seen[8:])
    assert made.cache_info()[:4] == (7, 1, 1, 1)


def texts(x, w):
    y = x * w
    print(y, x, w)
    return y.sum() * len(repr(y)) + len(str(x))


@pytest.mark.parametrize("recorded", [(0, 0, 0, 0), (1, 1, 1, 0, 0, 1), (0, 1, 0, 1)])
def test_texts_of_tensors_are_those_of_the_callers_mode(recorded, capsys):
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    for call in (lambda x: texts(x, w)), tg.compile(lambda x: texts(x, w)):
        for k, enabled in enumerate(recorded):
            with warnings.catch_warnings(), tg.set_grad_enabled(bool(enabled)):
                warnings.simplefilter("ignore", tg.errors.RecompileWarning)
                value = call(tg.tensor([1.0 + k, 2.0], requires_grad=True))
            seen.append((shown(value), capsys.readouterr().out))
    assert_same_bits(seen[: len(recorded)], seen[len(recorded) :])


# -- elements of Tensors are views, those of arrays are numbers ----------------------------------


def multiplied_in_place(x):
    y = x * 2.0
    element = y[0]
    element.mul_(3.0)
    return y.sum()


def added_in_place(x):
    y = x * 2.0
    element = y[0]
    element += 3.0
    return y.sum()


def read_behind_a_write(x):
    y = x * 2.0
    element = y[1]
    y[1] = 7.0
    return element * 1.0


def filled(x):
    y = x * 2.0
    y[0].fill_(5.0)
    return y.sum()


def add_three(x):
    x += 3.0


def added_by_a_helper(x):
    y = x * 2.0
    add_three(y[0])
    return y.sum()


def each_multiplied(x):
    y = x * 2.0
    for element in y:
        element *= 3.0
    return y.sum()


IN_PLACE = [
    *(multiplied_in_place, added_in_place, read_behind_a_write),
    *(filled, added_by_a_helper, each_multiplied),
]


@pytest.mark.parametrize("arrays_first", [False, True])
@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_elements_of_tensors_are_views_in_every_call(f, arrays_first):
    compiled = tg.compile(f)
    if arrays_first:
        with contextlib.suppress(tg.errors.DTypeError):  # numbers of NumPy's have no `fill_`
            compiled(np.ones(3))
    for scale in (1.0, 2.0, 3.0, 4.0):
        x = tg.tensor([1.0 * scale, 2.0, 3.0])
        assert compiled(x).item() == f(x).item()
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert compiled(x).item() == f(x).item()


def summed_by_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * 2.0
    return total


def recurrence(x):
    y = x * 0.0
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y.sum()


@pytest.mark.parametrize("f", [*IN_PLACE, summed_by_a_loop, recurrence], ids=lambda f: f.__name__)
def test_elements_of_tensors_are_views_under_no_grad(f):
    compiled = tg.compile(f)
    with tg.no_grad():
        for scale in (1.0, 2.0, 3.0, 4.0):
            x, y = tg.tensor([1.0 * scale, 2.0, 3.0]), tg.tensor([1.0 * scale, 2.0, 3.0])
            assert compiled(x).item() == f(y).item()
            assert (x.numpy() == y.numpy()).all()
    assert compiled.cache_info().hits == 3
    assert compiled.cache_info().traces == 1
