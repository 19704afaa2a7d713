"""Rules of the user's in exported files: the file runs without tracegrad and gives the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.extend import defvjp, primitive

X = np.array([0.3, 0.5, 0.7])
P = {"s": np.array(2.0)}
LIMIT = 0.6
LARGE = np.arange(100.0)


def helper(x):
    return np.sin(x) + LARGE[0]


@tg.custom_vjp
def wave(x, p):
    return {"y": helper(x) * p["s"], "n": np.sum(x)}


def wave_forward(x, p):
    return wave(x, p), (np.cos(x), p, x.shape)


def wave_backward(kept, ct):
    cos, p, _ = kept
    return ct["y"] * cos * p["s"] * LIMIT + ct["n"], {"s": np.sum(ct["y"])}


wave.defvjp(wave_forward, wave_backward)


@primitive
def softened(x, scale=1.0):
    return np.logaddexp(0.0, x) * scale


defvjp(softened, lambda ans, x, scale=1.0: lambda g: g * scale / (1.0 + np.exp(-x)))


def loss(x, p):
    out = wave(x, p)
    return np.sum(out["y"] ** 2) + out["n"] + np.sum(softened(x, scale=2.0) * x)


def test_the_file_stands_alone(tmp_path):
    made = tg.value_and_grad(loss, (0, 1))
    value, (x_bar, p_bar) = made(X, P)
    made.export(tmp_path / "exported.py", X, P)
    text = (tmp_path / "exported.py").read_text()
    for name in ("def wave_backward(", "def softened_forward(", "LIMIT = 0.6"):
        assert name in text
    run = (
        "import sys; sys.modules['tracegrad'] = None\n"
        "import numpy as np, exported\n"
        f"x, p = np.array({X.tolist()}), {{'s': np.array(2.0)}}\n"
        "value, (x_bar, p_bar) = exported.loss(x, p)\n"
        "print(repr([float(value), x_bar.tolist(), float(p_bar['s'])]))"
    )
    done = subprocess.run([sys.executable, "-c", run], cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert eval(done.stdout) == [float(value), x_bar.tolist(), float(p_bar["s"])]


def by_tracegrad(kept, ct):
    return (tg.sin(ct),)


class Doubled(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2.0 * x

    @staticmethod
    def backward(ctx, ct):
        return 2.0 * ct


def test_what_no_file_can_hold_is_refused(tmp_path):
    ruled = tg.custom_vjp(lambda x: x * 1.0)
    ruled.defvjp(lambda x: (ruled(x), None), by_tracegrad)
    with pytest.raises(tg.errors.ExportError, match="reads tg, which is of tracegrad"):
        tg.grad(lambda x: np.sum(ruled(x))).export(tmp_path / "a.py", X)
    with pytest.raises(tg.errors.ExportError, match="calls Doubled_forward"):
        tg.grad(lambda x: np.sum(Doubled.apply(x))).export(tmp_path / "a.py", X)
