"""Programs that leave the process: lowered, in StableHLO, by `jax.export`, in files under jit."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from numpy.testing import assert_allclose
from test_ops import every_op, for_jax, jax_kernel
from test_programs import compiled, every_program

import tracegrad as tg
from tracegrad.errors import ArgumentError


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def picked(w, i):
    return np.sum(w[i] ** 2)


def summed(x):
    h = np.zeros(3, np.float32)
    for row in x:
        h = np.tanh(h + row)
    return np.sum(h)


W, X, Y = np.full(3, 0.1), np.linspace(0, 1, 24).reshape(8, 3), np.ones(8)


def shape(*lengths, dtype="float32"):
    return jax.ShapeDtypeStruct(lengths, dtype)


def test_lowered_programs_run():
    f = tg.value_and_grad(loss)
    lowered = f.lower(W, X, Y)
    with jax.enable_x64(True):
        jax.tree.map(assert_allclose, lowered.compile()(W, X, Y), f(W, X, Y))
    assert "tensor<8x3xf64>" in f.stablehlo(W, X, Y)
    assert "stablehlo.while" in tg.grad(summed).stablehlo(shape(20, 3))


def test_floats_are_inputs_and_the_rest_is_constant():
    def scaled(x, rate, power, *, kind="sum"):
        return getattr(np, kind)(x**power * rate)

    lowered = tg.grad(scaled).lower(W, 0.5, 2, kind="mean")
    assert [aval.shape for aval in lowered.in_avals[0]] == [(3,), ()]
    with jax.enable_x64(True):
        assert_allclose(lowered.compile()(W, 2.0), 4 * W / 3)


def test_methods_are_lowered():
    class Model:
        def __init__(self):
            self.w = jnp.ones(3)

        @tg.compile
        def height(self, x):
            return np.sum(np.sin(x) * self.w)

    assert "stablehlo.sine" in Model().height.stablehlo(np.ones(3), platforms=("cuda",))


def test_a_number_that_is_read_is_refused_by_its_line():
    f = tg.grad(lambda x: x[0] * float(f"{x[1].item()}"))
    with pytest.raises(ArgumentError, match=r"test_jax_lowered.py:\d+ .*array itself"):
        f.stablehlo(np.ones(3))


def test_a_value_that_decides_is_lowered_with_both_arms():
    f = tg.grad(lambda x: x[0] if x[0] > 0 else x[1])
    assert "stablehlo.case" in f.stablehlo(np.ones(3))


def test_exported_for_any_lengths_and_both_platforms():
    b, k = export.symbolic_shape("b, k")
    f = tg.value_and_grad(loss)
    made = export.export(jax.jit(f), platforms=("cpu", "cuda"))(shape(k), shape(b, k), shape(b))
    for n in (1, 5):
        given = [a.astype("float32") for a in (W, X[:n], Y[:n])]
        jax.tree.map(lambda p, q: assert_allclose(p, q, rtol=1e-6), made.call(*given), f(*given))


@pytest.mark.parametrize(
    "f, least", [(lambda x: np.sum(x[2:] * x[:-2]), 2), (lambda x: x[4] * np.sum(x), 5)]
)
def test_lengths_that_are_needed_are_constraints(f, least):
    (n,) = export.symbolic_shape("n", constraints=[f"n >= {least}"])
    made = export.export(jax.jit(tg.grad(f)))(shape(n))
    x = np.arange(7.0, dtype="float32")
    assert_allclose(made.call(x), tg.grad(f)(x), rtol=1e-6)


def longer(x, y):
    return np.sum(x) * 2 if len(x) > len(y) else np.sum(x)


def mean_of_rows(x):
    return (x.reshape(len(x), 3, 1) * np.ones((len(x), 1, 2), np.float32)).sum() / len(x)


def differences(x):
    return ((x[1:] - x[: len(x) - 1]) ** 2).sum() if len(x) > 3 else np.sum(x)


@pytest.mark.parametrize(
    "f, least", [(summed, 8), (mean_of_rows, 0), (differences, 4)], ids=lambda x: str(x)[:14]
)
def test_lengths_that_python_reads_may_be_symbols(f, least):
    (n,) = export.symbolic_shape("n", constraints=[f"n >= {least}"] if least else [])
    made = export.export(jax.jit(tg.value_and_grad(f)))(shape(n, 3))
    for length in (max(least, 1), 13, 40):
        x = np.cos(np.arange(3.0 * length, dtype="float32")).reshape(length, 3)
        found, expected = made.call(x), tg.value_and_grad(f)(x)
        jax.tree.map(lambda p, q: assert_allclose(p, q, rtol=1e-5, atol=1e-6), found, expected)


def test_lengths_that_are_constraints_may_be_compared():
    n, m = export.symbolic_shape("n, m", constraints=["n >= m + 1"])
    made = export.export(jax.jit(tg.compile(longer)))(shape(n), shape(m))
    assert_allclose(made.call(*[np.ones(k, "float32") for k in (5, 4)]), 10.0)


def neighbours(x):
    total = 0.0
    for i in range(1, len(x) - 1):
        total = total + np.sin(x[i] * x[i + 1])
    return total


def test_what_jax_cannot_do_with_symbols_is_refused():
    (n,) = export.symbolic_shape("n", constraints=["n >= 10"])
    with pytest.raises(ArgumentError, match="no program for lengths that are symbols"):
        export.export(jax.jit(tg.grad(neighbours)))(shape(n))


def test_what_is_not_for_all_lengths_is_refused():
    n, m = export.symbolic_shape("n, m")
    with pytest.raises(ArgumentError, match=r"x.shape\[0\] >= 5"):
        export.export(jax.jit(tg.grad(lambda x: x[4] * np.sum(x))))(shape(n))
    with pytest.raises(ArgumentError, match=r"x.shape\[0\] >= 8"):  # so many turns are a loop
        export.export(jax.jit(tg.grad(summed)))(shape(n, 3))
    with pytest.raises(ArgumentError, match=r"x.shape\[0\] == \d+ \(test_jax_lowered.py:\d+\)"):
        export.export(jax.jit(tg.grad(lambda x: np.sum(x) * float(f"{len(x)}"))))(shape(n))
    with pytest.raises(ArgumentError, match=r"x.shape\[0\] >= y.shape\[0\] \+ 1"):
        export.export(jax.jit(tg.grad(longer)))(shape(n), shape(m))
    with pytest.raises(tg.errors.ShapeError):
        export.export(jax.jit(tg.grad(lambda x, y: np.sum(x * y))))(shape(n), shape(m))


def loaded(path, name):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return getattr(program, name)


def test_exported_files_under_jit(tmp_path):
    f = tg.value_and_grad(loss, backend="jax")
    f.export(tmp_path / "loss.py", W, X, Y)
    exported = loaded(tmp_path / "loss.py", "loss")
    jax.tree.map(assert_allclose, exported(W, X, Y), f(W, X, Y))
    with jax.enable_x64(True):
        jax.tree.map(assert_allclose, jax.jit(exported)(W, X, Y), f(W, X, Y))


def test_what_numpy_refuses_is_nan_in_files_under_jit(tmp_path):
    f, i = tg.value_and_grad(picked, backend="jax"), np.array([0, 2])
    f.export(tmp_path / "picked.py", W, i)
    exported = loaded(tmp_path / "picked.py", "picked")
    with jax.enable_x64(True):
        assert_allclose(jax.jit(exported)(W, i)[1], f(W, i)[1])
        assert np.isnan(jax.jit(exported)(W, i + 2)[1]).all()
    with pytest.raises(LookupError):
        exported(W, i + 2)


# -- for a GPU that is not there ------------------------------------------------------------------


ON_THE_HOST = ("eig", "eigvals")
"""What XLA has no kernel for on GPUs: JAX gives it to LAPACK on the host, or to MAGMA."""


@pytest.mark.sampled(12)
@every_op
def test_every_op_is_lowered_for_cuda(op):
    """And none calls back to Python."""
    (sample, *_) = for_jax(op, "float64", 1) or for_jax(op, "int64", 1)
    run = jax_kernel(op, sample.attributes)
    with jax.enable_x64(True):
        traced = jax.jit(lambda *given: run(*given, **sample.attributes)).trace(*sample.operands)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "callback" not in text
    assert ("cuhybrid" in text) is (op.name in ON_THE_HOST)


@pytest.mark.sampled(12, 5)
@every_program
def test_every_program_is_lowered_for_cuda(program):
    """The corpus, forward and backward; ``-k cuda --long`` runs all of it, and the whole op table.

    The source runs alone, so that programs that look at values are lowered as well.
    """
    f = compiled(program, "jax")
    with np.errstate(all="ignore"):  # some programs are for branches that divide by zero
        version, bound = f._version_for(program.args, {}), f._bind(program.args, {})
    given = [leaf.value for leaf in bound.leaves if leaf.traced]
    names = version.program.graph.frame.captures
    captured = dict(zip(names, version.captured_arrays(), strict=True))
    scope: dict[str, Any] = {}
    exec(version.program.source.text, scope)
    name = version.program.source.name
    run = scope[name].trace if f"{name}_within" not in scope else None
    if run is None:  # it calls one that has room for so many turns
        run = partial(scope[f"{name}_within"].trace, most_turns=64)
    with jax.enable_x64(True):
        lowered = run(*given, **captured).lower(lowering_platforms=("cuda",))
    assert "callback" not in lowered.as_text()


def test_loops_are_lowered_for_cuda():
    text = tg.value_and_grad(summed).stablehlo(shape(20, 3), platforms=("cuda",))
    assert text.count("stablehlo.while") == 2 and "callback" not in text
