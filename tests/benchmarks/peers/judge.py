"""Records come in, verdicts go out: the limits that every workload must keep.

A ratio is tracegrad's time or memory over the other's; each verdict says what was found, the limit
and whether it holds. What fast math may change is judged once for each mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.benchmarks.peers.contestants import PEERS
from tests.benchmarks.peers.run import Record

SMALL = 10_000  # elements up to which calls, not passes over memory, decide
LARGE = 1_000_000


@dataclass(frozen=True)
class Verdict:
    rule: str
    case: str
    found: str
    limit: str
    holds: bool

    def __str__(self) -> str:
        word = "pass" if self.holds else "FAIL"
        return f"{word}  {self.case}: {self.found}, limit {self.limit}"


def ratio(record: Record, other: str) -> float | None:
    """tracegrad's time over the other's, if it took part."""
    theirs = record["of_tracegrad"].get(other)
    return None if theirs is None else 1.0 / theirs


def best_peer(record: Record) -> str | None:
    """The fastest peer that took part."""
    present = [name for name in PEERS if name in record["of_tracegrad"]]
    return min(present, key=record["of_tracegrad"].__getitem__, default=None)


def _at_most(rule: str, record: Record, other: str, limit: float, strict: bool = False) -> Verdict:
    found = ratio(record, other)
    assert found is not None
    holds = found < limit if strict else found <= limit
    sign = "below " if strict else ""
    return Verdict(rule, record["name"], f"{found:.2f}x {other}", f"{sign}{limit:g}", holds)


def _tuned(records: list[Record]) -> Iterator[Verdict]:
    rule = "at most 1.1 times tuned; faster from 1e6 elements on"
    for record in records:
        large = record["elements"] >= LARGE
        yield _at_most(rule, record, "tuned", 1.0 if large else 1.1, strict=large)


def _hips(records: list[Record]) -> Iterator[Verdict]:
    rule = "3 times faster than HIPS autograd, 8 times up to 1e4 elements"
    for record in records:
        found = ratio(record, "HIPS autograd")
        if found is None:
            continue
        wanted = 8.0 if record["elements"] <= SMALL else 3.0
        shown = f"{1 / found:.1f} times faster than HIPS autograd"
        if (tuned := record["of_tracegrad"].get("tuned")) is not None:
            shown += f" (tuned: {1 / found / tuned:.1f})"
        yield Verdict(rule, record["name"], shown, f"{wanted:g}", 1 / found >= wanted)


def _torch(records: list[Record]) -> Iterator[Verdict]:
    rule = "faster than torch and torch.compile up to 1e4 elements"
    for record in records:
        for other in ("torch", "torch.compile"):
            if record["elements"] <= SMALL and ratio(record, other) is not None:
                yield _at_most(rule, record, other, 1.0, strict=True)


def _jax(records: list[Record]) -> Iterator[Verdict]:
    rule = "faster than jax.jit on two thirds of those up to 1e4 elements"
    known = [(r["name"], ratio(r, "jax.jit")) for r in records if r["elements"] <= SMALL]
    ratios = [(name, found) for name, found in known if found is not None]
    if not ratios:
        return
    won = sum(found < 1.0 for _, found in ratios)
    lost = ", ".join(f"{name} {found:.2f}" for name, found in ratios if found >= 1.0)
    shown = f"{won} of {len(ratios)} won" + (f" (lost: {lost})" if lost else "")
    yield Verdict(rule, "all of them", shown, "2/3", 3 * won >= 2 * len(ratios))


def _best(records: list[Record]) -> Iterator[Verdict]:
    rule = "within 1.5 times of the best peer"
    for record in records:
        if name := best_peer(record):
            yield _at_most(rule, record, name, 1.5)


def _million(records: list[Record]) -> Iterator[Verdict]:
    rule = "1e6 elements in float64"
    limits = {
        ("Black-Scholes", "torch.compile"): 0.5,
        ("Black-Scholes", "jax.jit"): 0.5,
        ("chain", "torch.compile"): 1.3,
    }
    for record in records:
        for (workload, other), limit in limits.items():
            here = record["workload"] == workload and record["size"] == "1e6"
            if here and record["dtype"] == "float64" and ratio(record, other) is not None:
                yield _at_most(rule, record, other, limit)


def _first(records: list[Record]) -> Iterator[Verdict]:
    """One size of each program: the first call also computes, in memory that is fresh."""
    rule = "first call: 50 ms up to 60 ops, 1 ms an op beyond"
    smallest: dict[tuple[str, str, int], Record] = {}
    for record in sorted(records, key=lambda r: r["elements"]):
        program = record["workload"], record["dtype"], record["first"]["ops"]
        smallest.setdefault(program, record)
    for record in smallest.values():
        ops, spent = record["first"]["ops"], record["first"]["seconds"] - record["first"]["again"]
        spent *= 1e3
        limit = 50.0 if ops <= 60 else float(ops)
        shown = f"{spent:.0f} ms for {ops} ops"
        yield Verdict(rule, record["name"], shown, f"{limit:.0f} ms", spent < limit)


def _memory(records: list[Record]) -> Iterator[Verdict]:
    rule = "peak memory at most 1.2 times tuned's and half of HIPS autograd's"
    for record in records:
        for other, limit in (("tuned", 1.2), ("HIPS autograd", 0.5)):
            if other in record["bytes"]:
                found = record["bytes"]["tracegrad"] / record["bytes"][other]
                shown = f"{found:.2f} of {other}'s"
                yield Verdict(rule, record["name"], shown, f"{limit:g}", found <= limit)


def _bits(records: list[Record]) -> Iterator[Verdict]:
    rule = "compiled equals eager bit for bit"
    for record in records:
        for threads, same in record["bits"].items():
            shown = {True: "the same", False: "they differ"}.get(same, same)
            yield Verdict(rule, record["name"], f"{threads}: {shown}", "the same", same is True)


IN_BOTH_MODES = (_tuned, _hips, _torch, _jax, _best, _million, _memory)
RULES = (*IN_BOTH_MODES, _first, _bits)


def in_fast_math(record: Record) -> Record:
    """The record with tracegrad's fast math in the place of tracegrad."""
    bytes_ = {**record["bytes"], "tracegrad": record["bytes"]["fast math"]}
    return {**record, "of_tracegrad": record["of_fast_math"], "bytes": bytes_}


def verdicts(records: list[Record]) -> list[Verdict]:
    fast = [in_fast_math(record) for record in records]
    found = [verdict for rule in RULES for verdict in rule(records)]
    faster = [verdict for rule in IN_BOTH_MODES for verdict in rule(fast)]
    return [*found, *(replace(v, rule=f"fast math: {v.rule}") for v in faster)]


def report(found: list[Verdict]) -> str:
    """Verdicts by rule, what fails first, and a count."""
    lines = []
    for rule in dict.fromkeys(verdict.rule for verdict in found):
        mine = [verdict for verdict in found if verdict.rule == rule]
        held = sum(verdict.holds for verdict in mine)
        lines.append(f"{rule}: {held} of {len(mine)}")
        lines += [f"  {verdict}" for verdict in sorted(mine, key=lambda v: v.holds)]
    for mode, judged in (("exact", False), ("fast math", True)):
        mine = [v for v in found if v.rule.startswith("fast math: ") == judged]
        lines.append(f"{mode}: {sum(v.holds for v in mine)} of {len(mine)} hold")
    return "\n".join(lines)
