"""Every contestant of the benchmarks gives the gradients that the others give, at small sizes.

Times are no matter here; peers that are not installed are left out.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from tests.benchmarks.peers.check import TOLERANCE, agree, distance, reference, same_bits
from tests.benchmarks.peers.contestants import MAKERS, Contestant, Missing
from tests.benchmarks.peers.judge import report, verdicts
from tests.benchmarks.peers.measure import interleaved
from tests.benchmarks.peers.table import table
from tests.benchmarks.peers.workload import Case, cases
from tests.benchmarks.peers.workloads import WORKLOADS

SMALL = {
    "chain": dict(n=7),
    "Black-Scholes": dict(n=7),
    "MLP": dict(batch=3),
    "logistic": dict(n=9, features=4),
    "attention": dict(heads=2, length=5, width=3),
    "CNN": dict(batch=2, side=8),
    "Rosenbrock gradient": dict(n=6),
    "Rosenbrock hvp": dict(n=6),
    "N-body": dict(n=5),
    "GMM": dict(n=6, k=3, d=3),
    "RNN": dict(steps=3),
    "LSTM": dict(characters=5),
}
NEEDS = {"HIPS autograd": "autograd", "torch": "torch"}
SLOW = ("torch.compile", "jax.jit")  # compile for seconds; each run of the benchmark checks them
NAMES = [n for n in MAKERS if n not in SLOW and (n not in NEEDS or find_spec(NEEDS[n]))]


def small(workload, dtype):
    return Case(replace(workload, sizes={"small": SMALL[workload.name]}), "small", dtype)


CASES = [small(w, dtype) for w in WORKLOADS for dtype in w.dtypes]


def names(case):
    return case.name.replace(" small", "")


@pytest.mark.parametrize("case", CASES, ids=names)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree(case, name):
    contestant, expected = MAKERS[name](case), reference(case)
    for _ in range(3):  # buffers are reused
        agree(case, name, contestant, expected)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_compiled_equals_eager(case):
    assert same_bits(case)


@pytest.mark.parametrize("case", [c for c in CASES if c.dtype == "float64"], ids=names)
def test_by_hand_is_the_derivative(case):
    """Along a random direction, of differences of the value (of the gradient in second order)."""
    workload, inputs = case.workload, list(case.inputs())
    random = np.random.default_rng(1)
    if workload.second_order:
        x, direction = inputs
        slope = {w.name: w for w in WORKLOADS}["Rosenbrock gradient"].by_hand
        ahead, behind = (slope(x + h * direction)[1][0] for h in (1e-5, -1e-5))
        _, (found,) = workload.by_hand(x, direction)
        np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-3)
        return
    directions = {i: random.normal(size=inputs[i].shape) for i in workload.wanted}

    def value(h):
        moved = [x + h * directions[i] if i in directions else x for i, x in enumerate(inputs)]
        return workload.by_hand(*moved)[0]

    _, gradients = workload.by_hand(*inputs)
    slope = sum(np.vdot(g, directions[i]) for i, g in zip(workload.wanted, gradients))
    assert slope == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-5)


def test_a_peer_that_is_not_installed_is_missing(monkeypatch):
    for name, module in (*NEEDS.items(), ("torch.compile", "torch"), ("jax.jit", "jax")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(Missing, match=f"{module} is not installed"):
            MAKERS[name](CASES[0])


def test_a_wrong_gradient_is_found():
    case = CASES[0]
    expected = reference(case)
    wrong = [expected[0], expected[1] * 1.001, *expected[2:]]
    assert distance(expected, expected) == 0.0
    assert distance(wrong, expected) > 1e-4 > TOLERANCE["float64"]
    assert distance([np.full_like(x, np.nan) for x in expected], expected) == np.inf
    contestant = replace(MAKERS["hand"](case), to_numpy=lambda x: 1.001 * np.asarray(x))
    with pytest.raises(AssertionError, match=r"hand: differs by 1\.0e-03"):
        agree(case, "hand", contestant, expected)


def test_turns_are_taken():
    order = []
    contestants = {n: Contestant(lambda name=n: order.append(name)) for n in "abc"}
    times = interleaved(contestants, rounds=5, limit=60.0)
    assert {name: len(t) for name, t in times.items()} == dict(a=5, b=5, c=5)
    assert all(t > 0 for name in times for t in times[name])
    first = [b for a, b in zip([None, *order], order) if a != b]
    assert set(first) == set("abc") and len(first) > 12


def record(name="chain 1e4 f64", elements=10_000, ours=1.0, **others):
    """A record as `run` makes it, with times of the others as multiples of ours."""
    workload, size, _ = name.split()
    ratios = {"tracegrad": 1.0, **{k.replace("_", "."): v for k, v in others.items()}}
    return {
        "name": name,
        "missing": {"jax.jit": "left out"},
        "workload": workload,
        "size": size,
        "dtype": "float64",
        "elements": elements,
        "of_tracegrad": ratios,
        "of_fast_math": {name: 2.0 * ratio for name, ratio in ratios.items()},
        "seconds": {"tracegrad": ours},
        "first": {"seconds": ours + 0.02, "again": ours, "ops": 12},
        "bytes": {"tracegrad": 100, "fast math": 90, "tuned": 100, "HIPS autograd": 400},
        "bits": {"one thread": True, "the threads asked for": True},
    }


def failing(*records):
    found = verdicts(json.loads(json.dumps(records)))
    return [f"{v.case}: {v.found}" for v in found if not v.holds]


def test_limits():
    good = record(tuned=1.0, torch=2.0, torch_compile=1.5, jax_jit=1.2)
    assert failing(good) == []
    assert failing(record(tuned=0.8, jax_jit=0.6)) == [
        "chain 1e4 f64: 1.25x tuned",
        "all of them: 0 of 1 won (lost: chain 1e4 f64 1.67)",
        "chain 1e4 f64: 1.67x jax.jit",
    ]
    large = record("chain 1e6 f64", 1_000_000, tuned=0.95, torch_compile=0.7)
    assert failing(large) == [
        "chain 1e6 f64: 1.05x tuned",
        "chain 1e6 f64: 1.43x torch.compile",
    ]
    heavy = good | {
        "bytes": {"tracegrad": 121, "fast math": 90, "tuned": 100, "HIPS autograd": 240},
        "bits": {"one thread": True, "the threads asked for": False},
    }
    assert failing(heavy) == [
        "chain 1e4 f64: 1.21 of tuned's",
        "chain 1e4 f64: 0.50 of HIPS autograd's",
        "chain 1e4 f64: the threads asked for: they differ",
    ]
    slow = good | {"first": {"seconds": 1.06, "again": 1.0, "ops": 60}}
    assert failing(slow) == ["chain 1e4 f64: 60 ms for 60 ops"]
    assert failing(slow | {"first": {"seconds": 1.06, "again": 1.0, "ops": 70}}) == []
    large = record("chain 1e6 f64", 1_000_000, tuned=1.2) | {
        "first": {"seconds": 9.0, "again": 1.0, "ops": 12}
    }
    assert failing(good, large) == []  # the program of the smaller size, where it was quick
    assert "FAIL  chain 1e4 f64: 60 ms for 60 ops, limit 50 ms" in report(verdicts([slow]))


def test_fast_math_is_judged_beside():
    slower = record(tuned=1.0) | {"of_fast_math": {"tuned": 0.5, "fast math": 1.0}}
    (verdict,) = [v for v in verdicts([slower]) if not v.holds]
    assert verdict.rule.startswith("fast math: at most 1.1 times tuned")
    assert verdict.found == "2.00x tuned"
    *_, exact, fast = report(verdicts([slower])).splitlines()
    assert exact == "exact: 6 of 6 hold" and fast == "fast math: 2 of 3 hold"


def test_table_has_a_row_a_case():
    shown = table([record(tuned=0.5, hand=12.0), record("chain 1e6 f64", ours=2e-6, tuned=2.0)])
    head, _, first, second, _, note = shown.splitlines()
    assert head.count("|") == first.count("|") == second.count("|")
    assert first.startswith("| chain 1e4 f64 | 1e+03 ms |  | 0.50 | 12 |")
    assert second.startswith("| chain 1e6 f64 | 2 us |  | 2.00 |  |")
    assert note == "- without jax.jit: left out"


def test_names_of_cases_are_unique():
    every = [case.name for case in cases(WORKLOADS)]
    assert len(set(every)) == len(every)


def test_plot_shows_every_case(tmp_path):
    pytest.importorskip("matplotlib")
    from tests.benchmarks.peers.plot import plot

    shown = [record(tuned=0.5, torch=30.0), record("RNN T=10 f64", ours=2e-6, tuned=2.0)]
    plot(shown, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    for words in ("chain 1e4 f64", "RNN T=10 f64", "2 µs", "NumPy tuned by hand", "PyTorch"):
        assert f"<!-- {words} -->" in text
    assert "jax.jit" not in text
    plot(shown, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text
