"""Lists that loops fill to a length that the data tell: histories of what converges, accepted
states, paths that are left by ``break``. They stay loops, and one program serves all lengths."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

import list_programs
import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def losses_until_it_converges(x, w, noise):
    losses = []
    for _ in range(60):
        x = x - 0.1 * (x**3 - 2.0)
        loss = np.sum((x**3 - 2.0 - 0.01 * w) ** 2)
        losses.append(loss)
        if loss < 0.01 + 0.1 * noise[0] ** 2:
            break
    return np.sum(x) + np.mean(np.array(losses))


def losses_of_a_while(x, w, noise):
    losses = []
    loss = np.sum((x - w) ** 2)
    while loss > 0.02:
        x = x - (0.1 + 0.1 * noise[1] ** 2) * (x - w)
        loss = np.sum((x - w) ** 2)
        losses.append(loss)
    return np.sum(x) * (np.sum(np.array(losses)) if losses else 1.0)


def path_that_is_left(x, w, noise):
    path = [x]
    for t in noise:
        x = x - 0.1 * np.sin(w * x) + 0.05 * t * x
        path.append(x)
        if np.sum(x * x) < 0.5 or np.sum(x * x) > 9.0:
            break
    return np.sum(np.stack(path) ** 2) + np.sum(x)


def accepted_states(x, w, noise):
    kept, total = [], 0.0
    for e in noise:
        new = x + e * w
        total = total + np.sum(x * new)
        if np.sum(new * new) < 4.0:
            x = new
            kept.append(x)
    return (np.sum(np.stack(kept) ** 2) if kept else 0.0) + total


def two_lists(x, w, noise):
    high, low = [], []
    for e in noise:
        y = np.sum(x * e + w)
        if y > 0.0:
            high.append(y)
        else:
            low.append(y)
    return (np.sum(np.array(high)) if high else 0.0) - (np.mean(np.stack(low)) if low else 1.0)


def several_in_a_turn(x, w, noise):
    found = []
    for e in noise:
        y = np.sin(x * e)
        if e > 0.0:
            found.append(y)
            found.append(y * w)
    return np.sum(np.stack(found)[:, 0]) * len(found) if found else np.sum(x)


def gone_through_behind(x, w, noise):
    found, total = [], 0.0
    for e in noise:
        if e > -1.0:
            found.append(np.cos(w * e))
    for one in found:
        total = total * 0.5 + np.sum(one * x)
    return total


PROGRAMS = (
    losses_until_it_converges,
    losses_of_a_while,
    path_that_is_left,
    accepted_states,
    two_lists,
    several_in_a_turn,
    gone_through_behind,
)


def inputs(count=14, length=24):
    rng = np.random.default_rng(7)
    for _ in range(count):
        yield 0.8 + 0.4 * rng.normal(size=3), np.abs(rng.normal(size=3)), rng.normal(size=length)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad], ids=lambda t: t.__name__)
def test_one_program_serves_all_lengths(f, transform, monkeypatch):
    compiled = transform(f)
    got = [compiled(*given) for given in inputs()]
    assert compiled.cache_info().traces <= 4
    assert "loops that are unrolled" not in compiled.explain()
    lines = len(compiled.source(*next(inputs())).splitlines())
    assert lines < 110
    monkeypatch.setattr(tg.config, "compile", False)
    for given, result in zip(inputs(), got, strict=True):
        assert_same_bits(result, transform(f)(*given))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    x, w, noise = next(inputs())
    found = tg.hessian(f)(x, w, noise)
    gradient = tg.grad(f)
    for i, step in enumerate(np.eye(3) * 1e-6):
        difference = (gradient(x + step, w, noise) - gradient(x - step, w, noise)) / 2e-6
        assert np.allclose(found[i], difference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_other_backends(f, backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"no {backend}")
    there, here = tg.value_and_grad(f, backend=backend), tg.value_and_grad(f)
    for given in inputs(3):
        found, expected = there(*given), here(*given)
        if backend == "numba":
            assert_same_bits(found, expected)
        else:
            assert np.allclose(found[0], expected[0]) and np.allclose(found[1], expected[1])


@pytest.mark.parametrize("f", PROGRAMS[:4], ids=lambda f: f.__name__)
def test_an_exported_file_has_the_loop(f, tmp_path):
    given = next(inputs())
    compiled = tg.value_and_grad(f)
    expected = compiled(*given)
    path = compiled.export(tmp_path / "exported.py", *given)
    scope: dict = {"__name__": "exported"}
    exec(compile((tmp_path / "exported.py").read_text(), str(path), "exec"), scope)
    assert_same_bits(scope[f.__name__](*given), expected)


def test_the_source_is_what_one_would_write():
    text = tg.compile(losses_until_it_converges).source(*next(inputs()))
    assert "losses = []" in text and "losses.append(loss)" in text
    assert "losses_rows = np.array(losses)" in text
    assert "len(losses)" not in text


# What else the function may do with such a list, in calls with other lengths.


def returned(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    return found


def returned_in_a_dictionary(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    return {"all": found, "sum": sum(found)}


def in_another_list(x, noise):
    found, others = [], []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
        if e > 0.5:
            others.append(x + e)
    return [np.sum(np.array(one)) for one in (found, others)]


def last_but_two(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    return found[-3] * found[2] - found[0]


def appended_once_more(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    found.append(x)
    return np.sum(np.stack(found)) * len(found)


def reversed_and_sliced(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    return np.sum(np.stack(found[::-1][:2]) * 0.3) + np.sum(np.stack([*found, x]))


def filled_in_a_helper(x, noise):
    found = []

    def keep(one):
        if np.sum(one) > 0.0:
            found.append(one)

    for e in noise:
        keep(x * e)
    return np.sum(np.array(found)) if found else x


def left_by_return(x, noise):
    found = []
    for e in noise:
        x = x * 0.9 + e
        found.append(x)
        if np.sum(x) > 2.0:
            return np.sum(np.stack(found))
    return np.sum(np.stack(found)) * 2.0


def filled_twice(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
    for e in noise:
        if e < 0.0:
            found.append(x * e * 2.0)
    return np.sum(np.stack(found) ** 2)


def looked_at_in_turns(x, noise):
    found = []
    for e in noise:
        x = x * 0.5 + e
        found.append(np.sum(x))
        if len(found) > 2 and abs(found[-1] - found[-2]) < 0.3:
            break
    return np.array(found)


def in_a_loop_around(x, noise):
    total = 0.0
    for k in range(3):
        found = []
        for e in noise:
            if e > 0.3 * k:
                found.append(x * e)
        total = total + (np.sum(np.stack(found)) if found else 1.0)
    return total


def other_types(x, noise):
    found = []
    for e in noise:
        if e > 0.0:
            found.append(x * e)
        elif e < -1.0:
            found.append(np.sum(x))
    return sum(np.sum(one) for one in found)


def counted(x, noise):
    found = []
    for i, e in enumerate(noise):
        if e > 0.0:
            found.append(i)
    return len(found) * x + sum(found)


@dataclass
class Record:
    losses: list = field(default_factory=list)
    best: float = 9.0


def in_an_object(x, noise):
    record = Record()
    for e in noise:
        loss = np.sum(x * e)
        if loss < record.best:
            record.best = loss
            record.losses.append(loss)
    return np.array(record.losses) if record.losses else x


OTHERS = (
    *(returned, returned_in_a_dictionary, in_another_list, last_but_two, appended_once_more),
    *(reversed_and_sliced, filled_in_a_helper, left_by_return, filled_twice, looked_at_in_turns),
    *(in_a_loop_around, other_types, counted, in_an_object),
)


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_whatever_is_done_with_it_is_right(f):
    compiled = tg.compile(f)
    for x, _, noise in inputs(12, 12):
        assert_same_bits(compiled(x, noise), f(x, noise))


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_its_gradient_is_right(f, monkeypatch):
    def loss(x, noise):
        result = f(x, noise)
        result = result["all"] if isinstance(result, dict) else result
        leaves = result if isinstance(result, list) else [result]
        return sum(np.sum(leaf * leaf) for leaf in leaves)

    compiled = tg.value_and_grad(loss)
    got = [compiled(x, noise) for x, _, noise in inputs(8, 12)]
    monkeypatch.setattr(tg.config, "compile", False)
    for (x, _, noise), result in zip(inputs(8, 12), got, strict=True):
        assert_same_bits(result, tg.value_and_grad(loss)(x, noise))


def test_a_list_without_items_has_a_program_of_its_own():
    def f(x, noise):
        found = []
        for e in noise:
            if e > 0.0:
                found.append(x * e)
        return np.array(found)

    compiled, x = tg.compile(f), np.arange(3.0)
    for noise in (np.ones(12), -np.ones(12), np.ones(12), -np.ones(15), np.ones(9)):
        assert_same_bits(compiled(x, noise), f(x, noise))
    assert compiled.cache_info().traces == 2


def test_an_item_that_is_not_there_raises():
    def f(x, noise):
        found = []
        for e in noise:
            if e > 0.0:
                found.append(x * e)
        return found[-3]

    compiled, x = tg.compile(f), np.arange(3.0)
    few = np.array([1.0] * 2 + [-1.0] * 10)
    assert_same_bits(compiled(x, np.ones(12)), x)
    for _ in range(2):
        with pytest.raises(IndexError):
            compiled(x, few)
        assert_same_bits(compiled(x, np.ones(12)), x)


def test_what_stands_for_items_is_not_seen_from_outside():
    kept = []

    def f(x, noise):
        found = []
        for e in noise:
            if e > 0.0:
                found.append(x * e)
        kept.append(found)
        return np.sum(np.stack(found))

    compiled, x = tg.compile(f), np.arange(3.0)
    for k in range(6):
        noise = np.array([1.0] * (k + 3) + [-1.0] * (9 - k))
        compiled(x, noise)
        assert_same_bits(kept[-1], [x * 1.0] * (k + 3))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(400))
def test_random_programs(seed):
    list_programs.check(list_programs.growing(seed), seed, (12, 12, 15, 9, 20))


# Arrays that are written to, before and behind what a list has of them.


def one_buffer_in_each_turn(x, limit):
    buffer, found = np.zeros(3), []
    for i in range(20):
        buffer[i % 3] = np.sum(x) * i
        if np.sum(x) * i > limit:
            found.append(buffer)
    return np.sum(np.stack(found)) if found else x[0]


def copies_of_a_buffer(x, limit):
    buffer, found = np.zeros(3), []
    for i in range(20):
        buffer[:] = x * i
        if np.sum(x) * i > limit:
            found.append(buffer.copy())
    return np.sum(np.stack(found)) if found else x[0]


def written_in_other_turns(x, limit):
    buffer, found = x * 1.0, []
    for i in range(20):
        if np.sum(x) * i > limit * 8:
            found.append(buffer)
        if i > limit * 6:
            buffer[0] += 1.0
    return np.sum(np.stack(found)) + np.sum(buffer) if found else x[0]


def a_state_in_place(x, limit):
    x, path = x * 1.0, []
    for i in range(20):
        x -= 0.01 * x * (1 + i)
        path.append(x)
        if np.sum(x * x) < limit:
            break
    return np.sum(np.stack(path)) + len(path)


def written_behind_the_append(x, limit):
    x, path = x * 1.0, []
    for _ in range(20):
        x = x * 0.9
        path.append(x)
        x += 0.01
        if np.sum(x * x) < limit:
            break
    return np.sum(np.stack(path))


def last_state_behind_the_loop(x, limit):
    path = []
    for _ in range(20):
        x = x * 0.9
        path.append(x)
        if np.sum(x * x) < limit:
            break
    x += 1.0
    return np.sum(np.stack(path))


def an_item_behind_the_loop(x, limit):
    path = []
    for _ in range(20):
        x = x * 0.9
        path.append(x)
        if np.sum(x * x) < limit:
            break
    path[-1][0] = 7.0
    return np.sum(np.stack(path)) + np.sum(x)


def all_items_behind_the_loop(x, limit):
    found = []
    for _ in range(20):
        x = x * 0.9
        if np.sum(x * x) > limit:
            found.append(x)
    for one in found:
        one *= 2.0
    return np.sum(np.stack(found)) + np.sum(x) if found else x[0]


def rows_of_a_table(x, limit):
    table, found = np.zeros((25, 3)), []
    for i in range(20):
        table[i] = x * i
        if np.sum(x) * i > limit:
            found.append(table[i])
    table[3] = 9.0
    return np.sum(np.stack(found)) if found else x[0]


def one_array_several_times(x, limit):
    found, y = [], x * 1.0
    for i in range(20):
        if i % 2 == 0:
            found.append(y)
        else:
            y = y * 0.9
        if np.sum(y * y) < limit:
            break
    y += 1.0
    return np.sum(np.stack(found)) * np.sum(y)


WRITES = (
    *(one_buffer_in_each_turn, copies_of_a_buffer, written_in_other_turns, a_state_in_place),
    *(written_behind_the_append, last_state_behind_the_loop, an_item_behind_the_loop),
    *(all_items_behind_the_loop, rows_of_a_table, one_array_several_times),
)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_writes_reach_what_the_list_has(f, monkeypatch):
    rng = np.random.default_rng(3)
    given = [
        (rng.normal(size=3) * rng.uniform(0.3, 2.0) + 0.3, 10.0 ** rng.uniform(-3.0, 0.3))
        for _ in range(12)
    ]
    compiled, gradient = tg.compile(f), tg.value_and_grad(f)
    for x, limit in given:
        assert_same_bits(compiled(x.copy(), limit), f(x.copy(), limit))
    got = [gradient(x.copy(), limit) for x, limit in given]
    monkeypatch.setattr(tg.config, "compile", False)
    for (x, limit), result in zip(given, got, strict=True):
        assert_same_bits(result, tg.value_and_grad(f)(x.copy(), limit))
