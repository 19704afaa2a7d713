"""What arrays free is used again: no fresh pages in a loop over arrays of one size."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

import pytest

LOOP = """
import resource
import numpy as np
import tracegrad as tg

f = tg.value_and_grad(lambda x: tg.sum(tg.exp(-x * x) * tg.tanh(x)))
x = np.linspace(-1.0, 1.0, {elements})
f(x), f(x), f(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    f(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20)
"""


@pytest.mark.parametrize("elements", [10_000, 100_000])
def test_arrays_are_made_of_memory_that_was_freed_before(elements: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOOP.format(elements=elements)],
        capture_output=True,
        text=True,
        check=True,
    )
    faults = float(ran.stdout)
    fresh = elements * 8 / resource.getpagesize()  # of one array, were it made of fresh pages
    if platform.libc_ver()[0] == "glibc":
        assert faults < fresh / 2
    else:
        assert faults < fresh * 20
