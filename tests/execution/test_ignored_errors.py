"""Functions that have NumPy ignore floating-point errors enter: programs ignore just the same."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg

X = np.array([1.0, -2.0, 0.0, 3.0])


def some(x):
    y = x * 2.0
    with np.errstate(all="ignore"):
        z = np.log(y) + np.sqrt(x)
        w = 1.0 / x
    v = np.where(x > 0, z, 0.0)
    return np.sum(v * v) + np.sum(np.where(x > 0, w, 1.0))


def decided(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        if np.log(x[0]) > 0.5:
            return np.sum(np.where(x > 0, np.log(x), 1.0))
        return np.sum(np.where(x > 0, np.sqrt(x), x))


@np.errstate(all="ignore")
def decorated(x):
    return np.sum(np.where(x > 0, np.log(x) ** 2 / x, x))


def plain(x):
    return np.sum(np.exp(x))


def in_a_loop(x):
    total = x * 0.0
    for k in range(3):
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt(x - k)
        total = total + np.where(x > k, root * k, 0.0)
    return np.sum(total**2)


def warned(f: Any, *args: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(*args)
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize("f", [some, decided, in_a_loop, decorated], ids=lambda f: f.__name__)
def test_what_was_ignored_stays_ignored(f: Any) -> None:
    compiled, forward = tg.value_and_grad(f), tg.compile(f)
    second = tg.grad(lambda x: np.sum(tg.grad(f)(x) * x))
    for x in (X, X[::-1], X + 4.0, X):
        for _ in range(3):
            assert warned(compiled, x) == warned(forward, x) == warned(second, x) == []
        with np.errstate(all="ignore"):
            expected = run_eagerly(f, (x,))
            assert_same_bits(split(compiled(x)), expected)
            assert_same_bits(forward(x), expected[0])


def test_other_statements_still_warn() -> None:
    def f(x):
        with np.errstate(invalid="ignore"):
            y = np.sqrt(x)
        z = np.log(x)
        return np.where(x > 0, y + z, 0.0)

    compiled = tg.compile(f)
    both = [f"{what} encountered in log" for what in ("divide by zero", "invalid value")]
    for _ in range(3):
        assert sorted(set(warned(compiled, X))) == both


def test_the_text_has_the_users_with() -> None:
    text = tg.value_and_grad(some).source(X)
    assert text.count('    with np.errstate(all="ignore"):\n') == 2
    assert '\n    with np.errstate(divide="ignore", invalid="ignore"):\n' in tg.compile(
        decided
    ).source(X)
    assert "        # test_ignored_errors.py:" in text and "\n        w = 1.0 / x\n" in text
    assert "errstate" not in tg.grad(plain).source(X)
    if "jax" in sys.modules:
        assert "errstate" not in tg.value_and_grad(some, backend="jax").source(X)


def test_large_arrays_tile_by_tile() -> None:
    def f(x):
        with np.errstate(all="ignore"):
            y = np.log(x) * np.sqrt(x) + np.exp(-x * x) / x - np.sin(x) * x
        return np.sum(np.where(x > 0, y * y + np.cos(y), 0.0))

    x = np.random.default_rng(0).normal(size=200_001)
    compiled = tg.value_and_grad(f)
    assert warned(compiled, x) == warned(compiled, x) == []
    assert "in_tiles(" in compiled.source(x)
    with np.errstate(all="ignore"):
        assert_same_bits(split(compiled(x)), run_eagerly(f, (x,)))


def test_an_exported_program_ignores_it_too(tmp_path) -> None:
    tg.value_and_grad(some).export(tmp_path / "some.py", X)
    program = f"import numpy as np, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    program += f"from some import some; print(some(np.array({X.tolist()}))[1].sum())"
    run = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == tg.grad(some)(X).sum()


def test_a_profile_has_the_lines_inside(capsys) -> None:
    compiled = tg.value_and_grad(some)
    compiled(X)
    with tg.autograd.profiler.profile() as profile:
        compiled(X)
    assert "log" in str(profile) or "z" in str(profile)
