"""Compiled functions called under a profile enter the tests here: a row for each of their lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd.profiler import profile
from tracegrad.compiled import profiled_program


def loss(w: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w)
    if np.sum(h) > 1e9:
        h = h * 2.0
    err = h - y
    return np.mean(err**2)


LINE = loss.__code__.co_firstlineno


def args() -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return random.normal(size=(20, 10)), random.normal(size=(30, 20)), random.normal(size=(30, 10))


def test_each_line_is_a_row_forward_and_backward_apart() -> None:
    compiled = tg.value_and_grad(loss)
    expected = compiled(*args())
    with profile() as prof:
        for _ in range(3):
            value, gradient = compiled(*args())
    assert value == expected[0] and gradient.tobytes() == expected[1].tobytes()
    rows = {row.key: row for row in prof.key_averages()}
    assert list(rows) == [
        "loss_value_and_grad",
        f"test_profiled_program.py:{LINE + 1}  h = np.tanh(x @ w)",
        f"test_profiled_program.py:{LINE + 2}  if np.sum(h) > 1e9:",
        f"test_profiled_program.py:{LINE + 4}  err = h - y",
        f"test_profiled_program.py:{LINE + 5}  return np.mean(err**2)",
        f"test_profiled_program.py:{LINE + 5}  return np.mean(err**2) (backward)",
        f"test_profiled_program.py:{LINE + 2}  if np.sum(h) > 1e9: (backward)",
        f"test_profiled_program.py:{LINE + 1}  h = np.tanh(x @ w) (backward)",
    ]
    whole = rows["loss_value_and_grad"]
    assert whole.count == 3
    parts = sum(row.cpu_time_total for row in rows.values()) - whole.cpu_time_total
    assert 0.0 < parts <= whole.cpu_time_total
    assert abs(whole.self_cpu_time_total - (whole.cpu_time_total - parts)) < 1e-6
    assert str(whole.key) in prof.key_averages().table(sort_by="self_cpu_time_total")


def test_the_trace_has_every_statement(tmp_path: Path) -> None:
    compiled = tg.grad(loss)
    with profile() as prof:  # of the first call, too
        compiled(*args())
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole, *parts = events
    assert whole["name"] == "loss_grad"
    source = compiled._latest((), {}).program.source.text
    assert all(part["args"]["Statement"] in source for part in parts)
    ends = [whole["ts"]]
    for part in parts:
        assert part["ts"] >= ends[-1]
        ends.append(part["ts"] + part["dur"])
    assert ends[-1] <= whole["ts"] + whole["dur"]


def test_branches_are_timed_along_their_path() -> None:
    @tg.compile
    def either(x: Any) -> Any:
        if np.sum(x) > 0:
            return np.exp(x)
        return np.cos(x)

    for x in (np.ones(3), -np.ones(3)):
        either(x)
    for x, ran in ((np.ones(3), "exp"), (-np.ones(3), "cos")):
        with profile() as prof:
            assert np.array_equal(either(x), getattr(np, ran)(x))
        names = [event.name.split("  ")[-1] for event in prof.function_events]
        assert names == ["either", "if np.sum(x) > 0:", f"return np.{ran}(x)"]
    assert either.cache_info().traces == 2


def test_a_program_with_checks_is_timed_as_well() -> None:
    compiled = tg.grad(loss)
    w, x, y = args()
    with tg.autograd.detect_anomaly(), profile() as prof:
        compiled(w, x, y)
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(tg.errors.FiniteError, match="argument y is not finite"),
        ):
            compiled(w, x, np.inf * y)
    assert [e.name for e in prof.function_events].count("loss_grad") == 2
    before = len(prof.function_events)
    compiled(w, x, y)
    assert len(prof.function_events) == before


def test_a_jax_program_is_one_row() -> None:
    pytest.importorskip("jax")
    compiled = tg.compile(loss, backend="jax")
    with profile() as prof:
        compiled(*args())
        compiled(*args())
    assert [(row.key, row.count) for row in prof.key_averages()] == [("loss", 2)]


def walked(a: Any, steps: Any) -> Any:
    h = a
    for s in steps:
        h = np.tanh(h * s + a)
    while np.sum(h) > 0.0:
        h = h - 0.25
    return np.sum(h)


@pytest.mark.parametrize("most", [20_000, 50])
def test_statements_of_loops_are_counted_in_each_turn(most: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(profiled_program, "MOST", most)
    compiled = tg.value_and_grad(walked)
    given = np.full(1000, 0.5), np.ones(200)
    for _ in range(2):
        expected = compiled(*given)
    with profile() as prof:
        for _ in range(2):
            value, gradient = compiled(*given)
    assert value == expected[0] and gradient.tobytes() == expected[1].tobytes()
    rows = {row.key.split("  ")[-1]: row for row in prof.key_averages()}
    whole = rows["walked_value_and_grad"]
    source = compiled.source(*given)
    for line in ("h = np.tanh(h * s + a)", "h = np.tanh(h * s + a) (backward)"):
        assert rows[line].count >= 2 * 199
    assert rows["while np.sum(h) > 0.0:"].count >= 2 * 4, source
    parts = sum(row.cpu_time_total for row in rows.values()) - whole.cpu_time_total
    assert 0.0 < parts <= whole.cpu_time_total * (1.0 + 1e-9)
    assert whole.self_cpu_time_total < parts
    assert most > 50 or len(prof.function_events) < 2 * (50 + 20)
