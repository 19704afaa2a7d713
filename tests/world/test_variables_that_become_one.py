"""Variables of loops that are one array in some turns: what one of them shows is never overwritten,
and what they were before the first turn is not mixed up."""

from __future__ import annotations

import numpy as np
import pytest
import variable_programs
from checks import function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def snapshot_in_rare_turns(x, w):
    v, u, i = x * 1.0, w * 0.5, 0
    while True:
        i += 1
        if i > 9:
            break
        v = v * 0.9 + w * 0.15
        if v[1] < 0.2 and v[0] > -0.3:
            u = v
    return np.sum(u * v)


def snapshot_written_behind_the_branches(x, w):
    v, u = x * 1.0, w * 0.5
    for _ in range(10):
        v = np.sin(v + w * 0.3)
        if v[1] < 0.5 and v[0] > 0.0:
            u = v
        v = v * 2.0
    return np.sum(u * v)


def the_best_of_all_turns(x, w):
    v, best, least = x * 1.0, x, np.sum(x * x)
    for _ in range(12):
        v = v * 0.8 + 0.3 * np.cos(v * w)
        size = np.sum(v * v)
        if size < least:
            if v[0] > -0.5:
                best, least = v, size
        elif v[1] > 0.9:
            best = w
    return np.sum(best * v) + least


def one_array_from_the_first_turn_on(x, w):
    v, p, u, q = x * 1.0, x + w, w * 0.5, x * w
    for _ in range(10):
        v = np.sin(v + w * 0.3)
        if not (u[1] > 0.1 and q[0] < 0.5):
            pass
        else:
            p = v
        v = p
        q = np.sin(u + p)
    return np.sum(u * v) + np.sum(p * q * x)


def one_array_from_the_first_turn_of_a_while_on(x, w):
    v, p, k = x * 1.0, x + w, 0
    while k < 9:
        k += 1
        v = np.sin(v + w * 0.3)
        if v[0] < 0.5:
            p = v
        v = p
    return np.sum(p * v)


def an_array_from_before_that_no_operation_reads(x, w):
    v, u, q, p = x * 1.0, w * 0.5, x * w, x + w
    for _ in range(9):
        p, q = q, p
        p = u
        v = v * 0.9 + w * 0.15
    return np.sum(u * v * q * p)


def an_array_from_before_for_an_inner_loop(x, w):
    u, q = w * 0.5, x * w
    v = q
    for _ in range(9):
        v = q
        for _ in range(10):
            v = q
        q, v = v, q
    return np.sum(u * v * q)


def three_variables(x, w):
    v, u, q, p, i = x * 1.0, w * 0.5, x * w, x + w, 0
    while i < 9:
        i += 1
        v = v + u * 0.1
        if np.sum(v) > 0.0:
            v = v * 0.9 + q * 0.15
            u = v
        else:
            u = x * 0.3
        q = u
        if not (u[1] > 0.1 and q[0] < 0.5):
            u = p
    return np.sum(u * v) + np.sum(p * q * x)


def two_variables_and_what_is_read_besides(x, w):
    u, p, q, v = w * 0.5, x + w, x * w, x * 1.0
    for _ in range(10):
        v = v + u * 0.1
        v = q
        p = q if np.sum(p * q) > 0.1 else p
    return np.sum(u * v) + np.sum(p * q * x)


def written_behind_the_loop(x, w):
    v, u, p = x * 1.0, w * 0.5, x + w
    for _ in range(10):
        v = v * 0.9 + w * 0.15
        if v[0] > 0.3:
            u = p
    p += p * 0.1
    return np.sum(u * v * p)


def written_behind_the_loop_where_arms_meet(x, w):
    v, u, p = x * 1.0, w * 0.5, x + w
    for _ in range(10):
        v = v * 0.9 + w * 0.15
        if v[0] > 0.3:
            u = p
        else:
            u = v * 2
    p[0] = 0.1
    return np.sum(u * v * p)


def written_behind_inner_loops(x, w):
    v, p, u, i = x * 1.0, x + w, w * 1.0, 0
    while True:
        i += 1
        if i > 9:
            break
        for _ in range(9):
            p = u
    p += p * 0.1
    return np.sum(u * v * p)


def written_behind_a_helper(x, w):
    v, u, p = x * 1.0, w * 0.5, x + w

    def pick(v):
        return p if v[0] > 0.3 else v

    for _ in range(10):
        v = v * 0.9 + w * 0.15
        u = pick(v)
    p += p * 0.1
    return np.sum(u) * np.sum(v * p)


def written_in_the_turn_around(x, w):
    v, u, p, q, i = x * 1.0, w * 0.5, x + w, x * w, 0
    while i < 9:
        i += 1
        v = np.sin(v + w * 0.3)
        for _ in range(9):
            if u[0] > v[1]:
                u[1] = q[0] + 0.1
            q = u if not (u[1] > 0.1 and q[0] < 0.5) else v
        u += u * 0.1
    return np.sum(u * v * p * q)


def written_through_a_dictionary(x, w):
    v, u, q, i, d = x * 1.0, w * 0.5, x * w, 0, {"k": x * 1.5}
    while i < 9:
        i += 1
        u = u * 0.9 + x * 0.15
        u = d["k"]
        if v[0] > 0.0:
            u += q * 0.1
    return np.sum(u * v) + np.sum(d["k"] * w)


def views_behind_loops(x, w):
    v, u, p, q, i = x * 1.0, w * 0.5, x + w, x * w, 0
    while i < 9:
        i += 1
        v = v * 0.9 + w * 0.15
        q, v = v, q
        v = q
        for _ in range(9):
            if i % 3 == 0:
                v = q[::-1]
                if v[1] < 0.2 and u[0] > -0.3:
                    q = np.sin(u + v)
            v, u = u, v
        for _ in range(10):
            p[:] = u * 0.7
        u, v = v, u
    q[:] = v * 0.7
    return np.sum(u * v * p * q)


WRITTEN = (
    *(written_through_a_dictionary, views_behind_loops),
    *(written_behind_the_loop, written_behind_the_loop_where_arms_meet),
    *(written_behind_inner_loops, written_behind_a_helper, written_in_the_turn_around),
)


def what_the_last_turn_leaves(x, w):
    """Behind the loop, `p` is what its last turn left; no turn reads it."""
    v, p, q, i = x * 1.0, x + w, x * w, 0
    while i < 9:
        i += 1
        v = v * 0.9 + w * 0.15
        p = q
        if np.sum(v) < -2.0:
            continue
        if i % 3 == 0:
            p = p + w * 0.1
            v = q * 0.9 + x * 0.15
    return np.sum(v * p * q)


LOOPS = (
    *(snapshot_in_rare_turns, snapshot_written_behind_the_branches, the_best_of_all_turns),
    *(one_array_from_the_first_turn_on, one_array_from_the_first_turn_of_a_while_on),
    *(an_array_from_before_that_no_operation_reads, an_array_from_before_for_an_inner_loop),
    *(what_the_last_turn_leaves, two_variables_and_what_is_read_besides),
)


@pytest.mark.filterwarnings("error::tracegrad.errors.RecompileWarning")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [1, 1510, 2286, 4369])
@pytest.mark.parametrize("f", (*LOOPS, *WRITTEN, three_variables), ids=lambda f: f.__name__)
def test_results_and_gradients_are_right(f, seed):
    variable_programs.check(f, variable_programs.inputs(seed, 8))


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_they_stay_loops(f):
    compiled = tg.compile(f)
    for x, w in variable_programs.inputs(1, 8):
        compiled(x, w)
    assert "loops that are unrolled" not in compiled.explain()


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(400))
def test_random_programs(seed):
    f = function_of(variable_programs.Grower(seed).text())
    variable_programs.check(f, variable_programs.inputs(seed, 5))
