"""A sample of the programs of `mutations.py`: edited between calls, they do as plain Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mutations import checked, installed, smaller, text_of

from tracegrad import config

GROUPS, PROGRAMS = 30, 4  # some 300 edits


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setattr(config, "check", False)
    with installed():
        yield


@pytest.mark.sampled(3)
@pytest.mark.parametrize("group", range(GROUPS))
def test_edited_between_calls(group):
    for number in range(PROGRAMS):
        seed, transform = f"sample {group} {number}", ("compile", "value_and_grad")[number % 2]
        program, report = checked(seed, transform)
        for finding in report.findings:
            small = smaller(program, transform, finding.kind, seed)
            pytest.fail(f"{finding.kind}: {finding.text}\n{text_of(small, transform)}")


def test_programs_are_compiled():
    """Were all of them eager, nothing would have been tested."""
    modes = [checked(f"sample {i}", "compile")[1].mode for i in range(40)]
    assert modes.count("compiled") >= 15, modes
    assert modes.count("silently eager") == 0, modes
