"""Arguments that lie on many devices: one device's numbers, gradients where their parameters lie.

Eight virtual devices are those of a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EIGHT = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
LAYOUTS = """
import json
import jax, numpy as np, tracegrad as tg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

def loss(p, x, y):
    h = np.tanh(x @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] - y) ** 2)

def looped(p, x, y):
    h = x
    for t in range(10):
        h = np.tanh(h @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] - y) ** 2)

draw = np.random.default_rng(0).standard_normal
p = {"w1": draw((32, 32)) * 0.1, "b1": draw(32), "w2": draw((32, 4)) * 0.1}
p, x, y = jax.tree.map(np.float32, (p, draw((64, 32)), draw((64, 4))))
layouts = {
    "data": ({"w1": P(), "b1": P(), "w2": P()}, P("d")),
    "tensor": ({"w1": P(None, "d"), "b1": P("d"), "w2": P("d", None)}, P()),
    "full": ({"w1": P("d"), "b1": P("d"), "w2": P("d")}, P("d")),
}
found = {}
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(kind,))
    for name, (specs, batch) in layouts.items():
        for f in (loss, looped) if (kind, name) == (AxisType.Auto, "data") else (loss,):
            g = tg.value_and_grad(f, backend="jax")
            place = lambda a, s: jax.device_put(a, NamedSharding(mesh, s))
            given = jax.tree.map(place, p, specs), place(x, batch), place(y, batch)
            expected = tg.value_and_grad(f)(p, x, y)
            with jax.set_mesh(mesh):
                for _ in range(2):
                    value, slopes = g(*given)
                    np.testing.assert_allclose(value, expected[0], rtol=1e-4)
                    for key, w in given[0].items():
                        np.testing.assert_allclose(slopes[key], expected[1][key], 1e-3, 1e-5)
                        if f is loss:
                            assert slopes[key].sharding.is_equivalent_to(w.sharding, w.ndim)
                if f is loss:
                    text = jax.jit(g).lower(*given).compile().as_text()
                    found[f"{kind.name} {name}"] = text.count(" all-reduce(")
print(json.dumps(found))
"""


def run(*command: str) -> str:
    environment = {**EIGHT, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_layout_has_the_numbers_of_one_device():
    """And data parallelism has one collective."""
    counts = json.loads(run("-c", LAYOUTS).splitlines()[-1])
    assert counts["Auto data"] == counts["Explicit data"] == 1


def test_the_example_runs_on_eight_devices():
    shown = run(str(ROOT / "examples" / "sharded_training.py"), "--quick", "--layout", "full")
    assert "full over 8 devices" in shown
    assert "w1 lies as P('d',), its gradient as P('d',)" in shown
