"""Random programs of loops over numbers give what eager calls give, bit for bit."""

from __future__ import annotations

import number_loop_programs as programs
import pytest

SEEDS = range(60)  # more by the command


@pytest.mark.sampled(10, 2)
@pytest.mark.parametrize("seed", [*SEEDS])
def test_random_programs_of_loops_over_numbers(seed):
    text = programs.program(seed)
    found = programs.fault(text, seed)
    assert found is None, f"{found}\n{text}"


def test_what_differs_is_found(monkeypatch):
    calls = iter(range(1_000))
    found = {"function": lambda x, p: float(next(calls))}
    monkeypatch.setattr(programs, "loaded", lambda text: found["function"])
    assert programs.fault("return u, [v], s", 0) is not None
