"""A target that spells ops as NumPy is a `Target` and an entry of `TARGETS`: all else follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from dataclasses import replace
from pathlib import Path

import numpy as np
from codegen.emit import TARGETS
from codegen.emit.numpy import NUMPY

imports = ("import math", *NUMPY.imports)
TARGETS["other"] = replace(NUMPY, name="other", spelled_as="numpy", imports=imports)

import tracegrad as tg


def loss(w, x):
    h = np.zeros(3)
    for row in x:
        h = np.tanh(w * h + row)
        if h[0] > 0.5:
            h = 0.5 * h
    return np.sum(h * h)


w, x = np.ones(3), np.linspace(-1.0, 1.0, 60).reshape(20, 3)
one, other = tg.value_and_grad(loss), tg.value_and_grad(loss, backend="other")
for rows in (20, 15):
    for a, b in zip(one(w, x[:rows]), other(w, x[:rows]), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
assert other.cache_info() == one.cache_info()
assert "import math\\n\\nimport numpy as np\\n" in other.source(w, x)
assert other.source(w, x).replace("import math\\n\\n", "") == one.source(w, x)

tensor = tg.tensor(w, requires_grad=True)
compiled = tg.compile(loss, backend="other")
compiled(tensor, x).backward()
assert np.array_equal(tensor.grad.numpy(), one(w, x)[1]), tensor.grad
assert compiled.cache_info().versions == 1

other.export("exported.py", w, x)
text = Path("exported.py").read_text()
import exported

assert exported.loss(w, x)[0] == one(w, x)[0]
with tg.autograd.profiler.profile() as profile:
    other(w, x)
assert "(backward)" in profile.key_averages().table()
tg.config.check_finite = True
other(w, x)
tg.config.fast_math = True
tg.config.backend = "other"
tg.value_and_grad(loss)(w, x)
"""


def test_a_target_is_one_entry(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
