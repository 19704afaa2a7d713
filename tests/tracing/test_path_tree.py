"""Calls with other outcomes enter: one tree, its source, its report and its bounds."""

from __future__ import annotations

import os
import re
import threading
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import NonScalarError, RecompileWarning
from tracegrad.execution import pipeline

UP, DOWN = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])


def two_ways(x):
    if x[0] > 0:
        y = x * 2.0
    else:
        y = x * x
    return np.sum(y)


def two_ends(x):
    if x[0] > 0:
        return np.sum(x * 2.0)
    return np.sum(x * x)


def returns_in(text):
    return len(re.findall(r"^ +return\b", text, re.MULTILINE))


def versions_of(f):
    return [version for versions in f._versions.values() for version in versions]


def test_a_second_outcome_is_grafted():
    f = tg.value_and_grad(two_ends)
    f(UP)
    assert "else" not in f.source(UP) and "raise LookupError" in f.source(UP)
    f(DOWN)
    assert (f.cache_info().versions, f.cache_info().traces) == (1, 2)
    text = f.source(UP)
    assert text == f.source(DOWN)
    assert returns_in(text) == 2 and "LookupError" not in text
    assert_same_bits(f(UP), (np.float64(12.0), np.full(3, 2.0)))
    assert_same_bits(f(DOWN), (np.float64(14.0), 2.0 * DOWN))


def test_arms_that_meet_are_both_known_at_once():
    f = tg.value_and_grad(two_ways)
    f(UP)
    text = f.source(UP)
    f(DOWN)
    assert (f.cache_info().versions, f.cache_info().traces) == (1, 1)
    assert text == f.source(DOWN)
    assert text.count("    if greater:\n") == text.count("    else:\n") == 2  # and back
    assert returns_in(text) == 1 and "LookupError" not in text
    assert_same_bits(f(UP), (np.float64(12.0), np.full(3, 2.0)))
    assert_same_bits(f(DOWN), (np.float64(14.0), 2.0 * DOWN))


def test_the_order_of_discovery_leaves_no_trace_in_the_source():
    texts = set()
    for calls in ((UP, DOWN), (DOWN, UP)):
        f = tg.grad(two_ways)
        for x in calls:
            f(x)
        texts.add(f.source(UP))
    assert len(texts) == 1


def test_the_straight_code_before_a_look_is_written_once():
    def f(x):
        h = np.tanh(x)
        if np.sum(h) > 0:
            return np.sum(h * x)
        return np.sum(h)

    made = tg.value_and_grad(f)
    for x in (UP, -UP):
        made(x)
    text = made.source(UP)
    assert text.count("    h = np.tanh(x)\n") == 1 and text.count("# backward") == 2


def test_parts_branch_as_the_whole_does():
    def two_returns(x):
        if x[0] > 0:
            return np.sum(x * 2.0)
        return np.sum(x * x)

    f = tg.value_and_grad(two_returns)
    f(UP), f(DOWN)
    forward = f.source(UP, part="forward")
    assert returns_in(forward) == 2 and "x_bar" not in forward
    backward = f.source(UP, part="backward")
    assert returns_in(backward) == 2 and "if greater_:" in backward
    names = {"np": np}
    exec(backward, names)
    assert_same_bits(names["two_returns_backward"](True, UP, 1.0), np.full(3, 2.0))
    assert_same_bits(names["two_returns_backward"](False, DOWN, 1.0), 2.0 * DOWN)


def scaled(x):
    total = 0.0
    for t in range(len(x)):
        total = total + x[t] * 2.0
    return total


@pytest.mark.parametrize(("function", "x"), [(two_ways, UP), (scaled, np.ones(20))])
def test_where_paths_meet_or_loops_stay_the_backward_is_no_part(function, x):
    f = tg.value_and_grad(function)
    f(x), f(-x)
    forward = f.source(x, part="forward")
    assert returns_in(forward) == 1 and "x_bar" not in forward
    with pytest.raises(tg.errors.ArgumentError, match="forward and backward are one program"):
        f.source(x, part="backward")


def test_the_graph_of_each_stage_has_both_paths():
    f = tg.value_and_grad(two_ways)
    f(UP), f(DOWN)
    for stage, joins in (("traced", 1), ("differentiated", 2), ("optimized", 2)):
        text = str(f.graph(UP, stage=stage))
        assert text.count("branch ") == text.count("join ") == joins
        assert text.count("  return %") == 1


class Pair(NamedTuple):
    a: object
    b: object


def test_paths_may_return_other_structures():
    def f(x):
        if x[0] > 0:
            return np.sum(x), {"kept": x * 2.0, "way": "up"}
        return np.sum(x * x), Pair(x, None)

    made = tg.value_and_grad(f, has_aux=True)
    for _ in range(2):
        (value, aux), slope = made(UP)
        assert aux["way"] == "up"
        assert_same_bits((value, aux["kept"], slope), (np.sum(UP), UP * 2.0, np.ones(3)))
        (value, aux), slope = made(DOWN)
        assert isinstance(aux, Pair) and aux.b is None
        assert_same_bits((value, aux.a, slope), (np.sum(DOWN * DOWN), DOWN, 2.0 * DOWN))
        assert aux.a is not DOWN
    assert made.cache_info().versions == 1


def test_arrays_that_a_path_reads_from_outside():
    weights = {"up": np.array([1.0, 2.0, 3.0]), "down": np.array([4.0, 5.0, 6.0])}

    def f(x):
        return np.sum(x * weights["up"]) if x[0] > 0 else np.sum(x * x * weights["down"])

    made = tg.grad(f)
    made(UP), made(DOWN)
    weights["down"] = np.array([0.5, 0.25, 0.125])
    weights["up"][:] = 7.0
    assert_same_bits(made(DOWN), 2.0 * DOWN * weights["down"])
    assert_same_bits(made(UP), np.full(3, 7.0))
    assert made.cache_info() == (2, 2, 2, 1)


def test_arrays_that_the_function_makes():
    def f(x):
        basis = np.array([1.0, 0.5, 0.25])
        start = np.zeros(3)
        if x[0] > 0:
            return np.sum((x + start) * basis)
        return np.sum((x + start) * np.array([3.0, 2.0, 1.0]) * basis)

    made = tg.grad(f)
    for _ in range(2):
        assert_same_bits(made(UP), np.array([1.0, 0.5, 0.25]))
        assert_same_bits(made(DOWN), np.array([3.0, 1.0, 0.25]))
    assert made.cache_info() == (2, 2, 2, 1)


def test_lengths_that_one_path_looks_at():
    def f(x):
        if x[0] > 0:
            return np.sum(x) / len(x)
        return np.sum(x * x)

    made = tg.grad(f)
    for n in (3, 4, 3, 4):
        assert_same_bits(made(np.ones(n)), np.ones(n) / n)
        assert_same_bits(made(-np.ones(n)), -2.0 * np.ones(n))


def test_a_path_that_another_state_decides_is_a_version_of_its_own():
    flags = {"square": False}

    def f(x):
        y = x * x if flags["square"] else x * 3.0
        return np.sum(y) if x[0] > 0 else -np.sum(y)

    made = tg.grad(f)
    for square in (False, True, False):
        flags["square"] = square
        for x in (UP, DOWN):
            bar = 2.0 * x if square else np.full(3, 3.0)
            assert_same_bits(made(x), bar if x is UP else -bar)
    assert made.cache_info().versions == 2


def test_orders_two_and_three_of_both_paths():
    def f(x):
        return x**4 if x > 1.0 else np.sin(x)

    for order, up, down in ((2, 12.0, -np.sin(0.5)), (3, 48.0, -np.cos(0.5))):
        made = f
        for _ in range(order):
            made = tg.grad(made)
        for _ in range(2):
            assert made(2.0) == pytest.approx(up * (4.0 if order == 2 else 1.0))
            assert made(0.5) == pytest.approx(down)


def test_a_look_at_a_number_of_true():
    def f(x):
        kept = x[x > 0]
        if kept.size > 1:
            return np.sum(kept * kept)
        return np.sum(x)

    made = tg.grad(f)
    for _ in range(2):
        for numbers in ([1.0, 2.0, -1.0], [1.0, -1.0, -1.0], [1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]):
            x = np.array(numbers)
            want = np.where(x > 0, 2.0 * x, 0.0) if (x > 0).sum() > 1 else np.ones(3)
            assert_same_bits(made(x), want)


def test_nan_is_an_outcome():
    def f(x):
        return np.sum(x) * (2.0 if float(x[0]) == float(x[0]) else 3.0)

    made = tg.grad(f)
    for _ in range(3):
        assert made(np.array([1.0]))[0] == 2.0
        assert made(np.array([np.nan]))[0] == 3.0
    assert made.cache_info().versions == 1


def test_zero_and_minus_zero_are_two_outcomes():
    def f(x):
        return np.sum(x) * np.copysign(1.0, float(x[0]))

    made = tg.grad(f)
    for _ in range(2):
        assert made(np.array([0.0]))[0] == 1.0
        assert made(np.array([-0.0]))[0] == -1.0


# -- what is asked of it later --------------------------------------------------------------------


def test_the_report_says_what_was_compiled_and_why():
    made = tg.value_and_grad(two_ends)
    made(UP), made(DOWN), made(UP), made(np.ones((3, 1)))
    text = made.explain()
    assert text.startswith("two_ends: 2 versions, 1 hit, 3 misses, 3 traces")
    assert "the first call" in text
    assert "if x[0] > 0:  was only ever True" in text
    assert "if x[0] > 0:  (bool: True or False)" in text
    assert "x was float64 with 1 axis, is float64 with 2 axes" in text


def test_the_report_names_state_and_lengths():
    scale = 2

    def f(x, y):
        return np.sum(x * y) * scale / float(len(x) | 0)

    made = tg.grad(f)
    made(UP, UP)
    scale = 3
    made(UP, UP)
    made(UP[:2], UP[:2])
    text = made.explain()
    line = f.__code__.co_firstlineno + 1
    assert f"scale was 2, is 3 (test_path_tree.py:{line})" in text
    assert re.search(r"x\.shape\[0\] was 3 \(test_path_tree\.py:\d+\), is 2", text)


def test_the_report_counts_calls_by_version_and_times_by_stage():
    pipeline.forget()  # the programs of other tests
    made = tg.value_and_grad(two_ends)
    for x in (UP, DOWN, UP, UP, np.ones((3, 1)), DOWN, UP):
        made(x)
    made(x=UP)  # by the general way
    first, second = made.explain().split("\nversion ")[1:]
    assert "\n  5 hits, 2 paths, " in first and "\n  0 hits, 1 path, " in second
    assert made.cache_info().hits == 5
    made(np.ones((4, 1)))
    assert "\n  1 hit, 1 path, " in made.explain() and made.cache_info().hits == 6
    stage = r"\d+\.\d ms"
    stages = rf"trace {stage}, differentiate {stage}, optimize {stage}, emit {stage}, load {stage}"
    assert re.search(stages, first)
    again = tg.value_and_grad(two_ends)
    again(UP)
    again(DOWN)
    assert "optimize shared, emit shared, load shared" in again.explain()
    made.clear_cache()
    assert made.cache_info() == (0, 0, 0, 0)


def test_of_several_versions_the_nearest_gives_the_reason():
    made = tg.compile(lambda x, y, z: x + y + z)
    single = UP.astype("f4")
    for arrays in ((UP, UP, UP), (single, single, single), (UP, UP, single)):
        made(*arrays)
    assert "    z was float64 with 1 axis, is float32 with 1 axis" in made.explain()


def test_without_arguments_the_latest_version_is_shown(tmp_path):
    made = tg.value_and_grad(two_ways)
    with pytest.raises(tg.errors.ArgumentError, match="not compiled yet: pass its arguments"):
        made.source()
    made(UP)
    made(UP.astype("f4"))
    assert "x: float32 (n0,)" in made.source() and str(made.graph()) == str(
        made.graph(UP.astype("f4"))
    )
    assert made.export(tmp_path / "f.py").exists()
    assert "float64" in tg.compile(lambda x=1.0: np.ones(2) * x).source()  # it needs none

    class Scaled:
        @tg.compile
        def by(self, x):
            return x * 2.0

    scaled = Scaled()
    scaled.by(UP)
    assert scaled.by.source() == scaled.by.source(UP)


# -- bounds ---------------------------------------------------------------------------------------


def warned(f, calls):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for call in calls:
            f(call)
    return [w for w in seen if w.category is RecompileWarning]


def signs(x):
    ups = ""
    for item in [*x]:
        if item > 0:  # whose arms differ in a text, so that neither they meet nor turns are alike
            ups += "+"
    return x[0] * (1.0 + len(ups))


def test_paths_without_end_are_given_up_once():
    made = tg.grad(signs)
    random = np.random.default_rng(0)
    (warning,) = warned(made, (random.normal(size=16) for _ in range(60)))
    assert "if item > 0" in str(warning.message)
    info = made.cache_info()
    assert info.traces == 7 and info.misses < 60
    assert "runs eagerly" in made.explain()


def test_a_program_that_answers_most_calls_is_kept():
    made = tg.grad(signs)
    for _ in range(400):
        made(np.ones(16))
    random = np.random.default_rng(0)
    (warning,) = warned(made, (random.normal(size=16) for _ in range(60)))
    assert "calls in a row" in str(warning.message)
    before = made.cache_info()
    made(np.ones(16))
    assert made.cache_info().hits == before.hits + 1
    assert "no path is added any more" in made.explain()


def test_calls_that_raise_are_no_paths():
    def f(x):
        if x[0] < 0:
            raise ValueError("negative")
        return np.sum(x * x)

    made = tg.grad(f)
    made(UP)
    for _ in range(50):
        with pytest.raises(ValueError, match="negative"):
            made(DOWN)
    assert_same_bits(made(UP), 2.0 * UP)
    assert made.cache_info().versions == 1


def test_a_path_without_a_gradient_is_refused_and_leaves_the_others():
    made = tg.grad(lambda x: np.sum(x) if x[0] > 0 else "nothing")
    made(UP)
    for _ in range(3):
        with pytest.raises(NonScalarError, match="returns str"):
            made(DOWN)
    assert_same_bits(made(UP), np.ones(3))


def test_many_threads_find_all_paths():
    def f(x):
        y = x * 2.0 if x[0] > 0 else x - 1.0
        y = y * y if x[1] > 0 else -y
        return np.sum(y * x) if x[2] > 0 else np.sum(y)

    made, plain = tg.value_and_grad(f), tg.value_and_grad(f)
    cases = [np.array([a, b, c]) for a in (1.0, -1.0) for b in (2.0, -2.0) for c in (3.0, -3.0)]
    expected = [plain(x) for x in cases]
    failures = []

    def work(seed):
        random = np.random.default_rng(seed)
        try:
            for _ in range(100):
                i = int(random.integers(8))
                assert_same_bits(made(cases[i]), expected[i])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for x in [case for case in cases for _ in range(2)] * 3:  # those that met a trace of another
        made(x)
    assert made.cache_info().versions == 1
    assert made.source(cases[0]).count("return value") == 1  # all of them meet


def test_a_function_that_runs_eagerly_says_the_reason_of_its_warning():
    def logs(x):
        with open(os.devnull) as file:
            file.read()
        return np.sum(x * x)

    compiled = tg.compile(logs)
    with pytest.warns(tg.errors.RecompileWarning) as told:
        for _ in range(3):
            compiled(np.ones(3))
    (line,) = [line for line in compiled.explain().splitlines() if line.startswith("runs eagerly")]
    reason = line.removeprefix("runs eagerly: it ")
    assert reason != line and reason in str(told[0].message)
