"""Functions that keep arrays in their state enter: every call stores what an eager call stores."""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

RANDOM = np.random.default_rng(7)


def batches(n=6):
    return [RANDOM.normal(size=(5, 3)) for _ in range(n)]


class Normaliser:
    """A running mean; `ways` counts the calls that took each way."""

    def __init__(self, mean):
        self.mean = mean
        self.largest = None

    def loss(self, x):
        m = x.mean(axis=0)
        self.mean = self.mean * 0.9 + m * 0.1
        if m[0] > 0:
            self.largest = tg.max(x)
        return tg.sum((x - self.mean) ** 2)


def plain(x):
    return x.numpy() if isinstance(x, tg.Tensor) else x


def eagerly(model, x):
    """One call as the function runs on Tensors; what it keeps keeps no history."""
    t = tg.tensor(x, requires_grad=True)
    value = model.loss(t)
    value.backward()
    for name, kept in list(vars(model).items()):
        if isinstance(kept, tg.Tensor):
            setattr(model, name, kept.detach())
    return value.detach().numpy()[()], t.grad.numpy()


@pytest.mark.parametrize("made", [np.zeros, lambda n: tg.zeros(n)], ids=["array", "tensor"])
def test_a_running_mean_is_compiled_and_kept(made):
    ours, theirs = Normaliser(made(3)), Normaliser(made(3))
    f = tg.value_and_grad(ours.loss)
    for x in (b for b in batches() for _ in range(2)):
        assert_same_bits(f(x), eagerly(theirs, x))
        assert_same_bits(plain(ours.mean), plain(theirs.mean))
        assert (ours.largest is None) == (theirs.largest is None)
        if ours.largest is not None:
            assert_same_bits(plain(ours.largest), plain(theirs.largest))
    info = f.cache_info()
    assert info.versions == 1 and info.hits >= 7
    assert type(ours.mean) is type(theirs.mean) if made is not np.zeros else np.ndarray
    assert not getattr(ours.mean, "requires_grad", False)
    text = f.source(batches(1)[0])
    assert "# Returns besides, to be stored\n" in text and "\n#     self.mean\n" in text


def test_to_look_at_the_source_stores_nothing():
    model = Normaliser(tg.zeros(3))
    f = tg.value_and_grad(model.loss)
    (x,) = batches(1)
    for _ in range(2):
        before = model.mean
        f.source(x), f.graph(x)
        assert model.mean is before
        f(x)
        assert model.mean is not before


def test_items_cells_globals_and_class_attributes():
    state = {"moment": tg.zeros(3)}
    held = [tg.zeros(3)]
    module = types.ModuleType("state")
    module.last = tg.zeros(3)
    last = tg.zeros(3)

    class Shared:
        seen = tg.zeros(3)

    def f(x):
        nonlocal last
        state["moment"] = state["moment"] * 0.5 + x
        held[0] = held[0] + x * 2.0
        module.last = x * 3.0
        last = last - x
        Shared.seen = x * 4.0 + Shared.seen
        return tg.sum(state["moment"] * x + last * held[0])

    made = tg.grad(f)
    want = {"moment": np.zeros(3), "held": np.zeros(3), "last": np.zeros(3), "seen": np.zeros(3)}
    for x in RANDOM.normal(size=(4, 3)):
        made(x)
        want["moment"] = want["moment"] * 0.5 + x
        want["held"] = want["held"] + x * 2.0
        want["last"] = want["last"] - x
        want["seen"] = x * 4.0 + want["seen"]
        assert_same_bits(state["moment"].numpy(), want["moment"])
        assert_same_bits(held[0].numpy(), want["held"])
        assert_same_bits(module.last, x * 3.0)
        assert type(module.last) is np.ndarray  # of arrays alone, as without the decorator
        assert_same_bits(last.numpy(), want["last"])
        assert_same_bits(Shared.seen.numpy(), want["seen"])
    assert made.cache_info() == (3, 1, 1, 1)


def test_each_path_stores_its_own():
    state = {"up": None, "down": None}

    def f(x):
        if x[0] > 0:
            state["up"] = x * 2.0
            return tg.sum(x)
        state["down"] = x * 3.0
        return tg.sum(x * x)

    made = tg.grad(f)
    up, down = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    for x in (up, down, up * 2.0, down * 3.0, up * 5.0):
        made(x)
        name, factor = ("up", 2.0) if x[0] > 0 else ("down", 3.0)
        assert_same_bits(state[name], x * factor)
        assert type(state[name]) is np.ndarray
    assert made.cache_info() == (3, 2, 2, 1)


def test_what_is_stored_is_what_others_read():
    state = {"scale": tg.ones(2)}
    write = tg.grad(lambda x: tg.sum(state.__setitem__("scale", x * 2.0) or x))
    read = tg.grad(lambda x: tg.sum(x * state["scale"]))

    def set_scale(x):
        state["scale"] = x * 2.0
        return tg.sum(x)

    write = tg.grad(set_scale)
    for numbers in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        x = np.array(numbers)
        write(x)
        assert_same_bits(read(x), x * 2.0)


def test_counters_are_inputs_from_the_second_trace_on():
    class Counting:
        def __init__(self):
            self.calls = 0
            self.mean = tg.zeros(3)

        def loss(self, x):
            self.calls += 1
            self.mean = self.mean * 0.5 + x
            return tg.sum(self.mean * x)

    model = Counting()
    f = tg.value_and_grad(model.loss)
    mean = np.zeros(3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i, x in enumerate(RANDOM.normal(size=(8, 3)), 1):
            value, slope = f(x)
            before, mean = mean, mean * 0.5 + x
            assert_same_bits(value, np.sum(mean * x))
            np.testing.assert_allclose(slope, mean + x)
            assert model.calls == i
            assert_same_bits(model.mean.numpy(), mean)
            assert not model.mean.requires_grad  # the tape of one call ends with it
            del before
    assert not seen and f.cache_info().hits == 6


def counted_and_set(state, x):
    state.calls += 1
    state.calls = len(x)
    return x.sum()


def set_in_turns(state, x):
    for i, v in enumerate(x):
        state.calls += 1
        state.kept.append(v)
        state.calls = i
    return x.sum()


@pytest.mark.parametrize("f", [counted_and_set, set_in_turns])
def test_a_counter_that_is_set_is_set_wherever_it_stood(f):
    """The second call for a length finds the number that it gives, and later ones another."""
    plain, ours = (types.SimpleNamespace(calls=0, kept=[]) for _ in range(2))
    compiled = tg.compile(lambda x: f(ours, x))
    for length in (9, 9, 30, 9, 30, 30, 9):
        assert compiled(np.arange(float(length))) == f(plain, np.arange(float(length)))
        assert ours == plain


def test_an_effect_after_a_read_does_not_change_the_result_of_the_first_call():
    held = np.array([1.0, 2.0])

    def f(x):
        y = tg.sum(x * held)
        held[:] = held + 1.0
        return y

    made = tg.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(4):
            x = np.array([1.0, 1.0])
            value, _ = made(x)
            assert value == 3.0 + 2.0 * i
    assert_same_bits(held, np.array([5.0, 6.0]))


def test_on_jax():
    pytest.importorskip("jax")
    state = {"mean": tg.zeros(3)}

    def f(x):
        state["mean"] = state["mean"] * 0.5 + x
        return tg.sum(state["mean"] * x)

    made, mean = tg.grad(f, backend="jax"), np.zeros(3)
    for x in RANDOM.normal(size=(4, 3)):
        slope = made(x)
        mean = mean * 0.5 + x
        np.testing.assert_allclose(state["mean"].numpy(), mean)
        np.testing.assert_allclose(slope, mean + x)
    assert made.cache_info().versions == 1


def test_a_tensor_under_another_name_is_written_to_in_place():
    kept = tg.tensor([1.0, 2.0])

    def loss(x):
        state = kept
        state += x
        return (state * state).sum()

    f, expected = tg.compile(loss), np.array([1.0, 2.0])
    for x in (np.array([0.5, 1.0]), np.array([0.5, 1.0]), np.array([2.0, -1.0])):
        expected = expected + x
        assert_same_bits(f(x), (expected * expected).sum())
        assert_same_bits(plain(kept), expected)


def test_numbers_that_change_through_numpy_after_they_were_used():
    def loss(x):
        numbers = np.array([0.0, 1.0])
        shared = tg.as_tensor(numbers)
        before = shared * x
        numbers[0] = 5.0
        return (shared * before).sum()

    f = tg.compile(loss)
    assert f(np.array([2.0, 3.0])) == 3.0
    with pytest.warns(tg.errors.RecompileWarning, match="changes after using it"):
        assert f(np.array([2.0, 4.0])) == 4.0


def constants_that_change(x):
    """Arrays of numbers with two names, which later statements fill with what is recorded."""
    total = np.asarray([0.0, 1.0, 1.0, 2.0])
    also = total
    also += 1.0
    before = total * x[1]
    also += x[0]
    y = np.asarray([0.0, 1.0])
    part = y[1:][:1]
    part[...] = 3.0
    late = y * x[2]
    y += x[3]
    z = tg.asarray([1.0, -1.0])
    same = z
    earlier = z * x[0]
    same *= x[1]
    return (total * before).sum() + (y * late).sum() + (z * earlier).sum()


def test_constants_that_change_under_two_names():
    f, g = tg.compile(constants_that_change), tg.grad(constants_that_change)
    for x in RANDOM.normal(size=(3, 4)):
        expected = float(constants_that_change(x))
        assert_same_bits(f(x), np.float64(expected))
        steps = 1e-6 * np.eye(4)
        slopes = [
            float(constants_that_change(x + s) - constants_that_change(x - s)) / 2e-6 for s in steps
        ]
        np.testing.assert_allclose(g(x), slopes, rtol=1e-6, atol=1e-8)


class Marked:
    """An object of the user's with an attribute that Tensors have as well."""

    _traced = True


@pytest.mark.parametrize("made", [lambda k: tg.grad(lambda a: a**k), lambda k: Marked()])
def test_what_a_cache_outside_keeps_may_be_any_object(made):
    memo = {}

    def kept(k):
        if k not in memo:
            memo[k] = made(k)
        return memo[k]

    def f(x, k):
        found = kept(k)
        return found(x[0]) * x if callable(found) else x * k

    compiled = tg.compile(f)
    for k in (2.0, 3.0, 2.0, 4.0, 3.0):
        x = np.array([0.5, 1.5]) * k
        memo_before = set(memo)
        found = compiled(x, k)
        assert set(memo) == memo_before | {k}
        assert_same_bits(found, f(x, k))
    memo.clear()
    assert_same_bits(compiled(x, 3.0), f(x, 3.0))
    assert set(memo) == {3.0}
