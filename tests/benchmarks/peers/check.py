"""Do contestants agree? Results of a case come in, distances from a float64 reference go out."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.peers.contestants import MAKERS, Contestant, eager
from tests.benchmarks.peers.workload import Case

TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


def reference(case: Case) -> list[np.ndarray]:
    """The gradient by hand in float64, of the inputs as rounded to the case's dtype."""
    value, gradients = case.workload.by_hand(*case.inputs("float64"))
    return [np.asarray(x) for x in (value, *gradients) if x is not None]


def distance(results: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference, each array measured by the largest entry of the expected one."""
    assert len(results) == len(expected)
    worst = 0.0
    for ours, theirs in zip(results, expected):
        assert ours.shape == theirs.shape, f"shape {ours.shape} where {theirs.shape} is expected"
        scale = max(float(np.abs(theirs).max(initial=0.0)), 1e-30)
        error = np.abs(ours.astype("float64") - theirs).max(initial=0.0) / scale
        worst = float("inf") if np.isnan(error) else max(worst, float(error))
    return worst


def agree(case: Case, name: str, contestant: Contestant, expected: list[np.ndarray]) -> float:
    """The distance from the reference; raises where it is more than rounding explains."""
    results = contestant.results()
    for x in results:
        assert x.dtype == case.dtype, f"{case.name}, {name}: results of {x.dtype}"
    error = distance(results, expected)
    limit = TOLERANCE[case.dtype]
    assert error <= limit, f"{case.name}, {name}: differs by {error:.1e}, more than {limit:.0e}"
    return error


def same_bits(case: Case) -> bool:
    """Whether the compiled function gives the bits that `backward` of Tensors gives.

    The third backward is asked: the first ones are interpreted, then it is a compiled one.
    """
    compiled, plain = MAKERS["tracegrad"](case).results(), eager(case)
    for _ in range(3):
        if any(a.tobytes() != b.tobytes() for a, b in zip(compiled, plain.results())):
            return False
    return True


def bits(case: Case) -> bool | str:
    """`same_bits`, or how it failed: that is to be reported, the times are still of use."""
    try:
        return same_bits(case)
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
