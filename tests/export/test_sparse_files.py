"""Files of sparse Jacobians and Hessians: the same matrices, from NumPy and SciPy alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import leaves

import tracegrad as tg
from tracegrad.transforms.load import module_of

pytest.importorskip("scipy")
RANDOM = np.random.default_rng(0)
PLACES = RANDOM.integers(0, 5, 40)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def spring(p):
    return {"force": p["k"] * np.diff(p["x"]), "cost": np.sum(p["k"] ** 2)}


def residuals(cameras, points, camera, point):
    p, c = points[point], cameras[camera]
    lens = np.sum(c, axis=1) * np.sum(p, axis=1)
    return np.sin(c[:, :2] * lens[:, None])


def stencil(x, n):
    y = x
    for _ in range(n):
        y = y[1:-1] * (y[2:] - y[:-2])
    return y


def with_aux(x):
    return np.diff(x) ** 2, {"sum": np.sum(x)}


def of_two(x, y):
    return np.tanh(x[1:] * x[:-1]) + np.sum(y) * y[0], x * y[0]


def grid(x):
    return np.diff(x, axis=0) ** 2


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "hessian": (tg.hessian(rosenbrock, sparse=True), (RANDOM.normal(size=12),)),
    "large": (tg.hessian(rosenbrock, sparse=True), (RANDOM.normal(size=200),)),
    "forward": (tg.jacobian(lambda x: x[1:-1] * (x[2:] - x[:-2]), sparse=True), (np.ones(9),)),
    "reverse": (tg.jacobian(spring, sparse=True), ({"x": np.arange(9.0), "k": np.ones(8)},)),
    "aux": (tg.jacobian(with_aux, sparse=True, has_aux=True), (np.arange(4.0),)),
    "argnums": (tg.jacobian(of_two, (0, 1), sparse=True), (np.arange(4.0), np.ones(3)[:2])),
    "float32": (tg.jacobian(lambda x: np.sin(x), sparse=True), (np.ones(4, np.float32),)),
    "axes": (tg.jacobian(grid, sparse=True), (RANDOM.normal(size=(4, 3)),)),
    "elements": (
        tg.jacobian(residuals, (0, 1), sparse=True),
        (
            *(RANDOM.normal(size=(5, 7)), RANDOM.normal(size=(6, 3))),
            *(PLACES, RANDOM.integers(0, 6, 40)),
        ),
    ),
    "loop": (tg.jacobian(stencil, sparse=True), (np.linspace(0.0, 1.0, 20), 3)),
    "none": (tg.jacobian(lambda x: np.ones(3) * np.sign(x[0]), sparse=True), (np.ones(4),)),
}


def same(a: Any, b: Any) -> None:
    """The same bits, in the same places and dtypes."""
    assert len(leaves(a)) == len(leaves(b))
    for one, other in zip(leaves(a), leaves(b), strict=True):
        assert type(one) is type(other)
        if hasattr(one, "indptr"):
            assert one.shape == other.shape
            for part in ("data", "indices", "indptr"):
                x, y = getattr(one, part), getattr(other, part)
                assert x.dtype == y.dtype
                np.testing.assert_array_equal(x, y)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CALLS)
def test_a_file_gives_the_same_matrices(name: str, tmp_path: Any) -> None:
    derivative, args = CALLS[name]
    path = derivative.export(tmp_path / f"file_of_{name}.py", *args)
    module = module_of(path)
    exported = getattr(module, module.__tracegrad__["sparse"])
    same(exported(*args), derivative(*args))
    moved = [x * 1.5 if np.asarray(x).dtype.kind == "f" else x for x in args]
    same(exported(*moved), derivative(*moved))
    loaded = tg.load(path, derivative._function)
    same(loaded(*args), derivative(*args))
    assert loaded.verify(*args)
    exported(*args)  # what is made of the constants is not written to them
    first = leaves(exported(*args))[0]
    if hasattr(first, "indices") and first.nnz:
        first.indices[:] = 0
        same(exported(*args), derivative(*args))


def test_derivatives_in_what_is_gathered_are_among_the_files() -> None:
    derivative, args = CALLS["elements"]
    derivative(*args)
    assert "where elements are read" in derivative.explain()


def test_a_file_stands_alone(tmp_path: Any) -> None:
    derivative, (x,) = CALLS["large"]
    derivative.export(tmp_path / "alone.py", x)
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy as np; sys.path.insert(0, '.'); import alone; "
        "print(repr(alone.rosenbrock(np.load('x.npy')).sum())); "
        "assert not any(m.startswith(('tracegrad', 'codegen')) for m in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr(derivative(x).sum())


def test_a_file_is_for_the_shapes_and_whole_numbers_of_its_call(tmp_path: Any) -> None:
    derivative, args = CALLS["elements"]
    path = derivative.export(tmp_path / "shapes.py", *args)
    exported = module_of(path).residuals
    with pytest.raises(ValueError, match=r"points has shape \(7, 3\): this file is for \(6, 3\)"):
        exported(args[0], np.ones((7, 3)), *args[2:])
    with pytest.raises(ValueError, match="camera has other whole numbers"):
        exported(*args[:2], args[2][::-1].copy(), args[3])


def test_of_the_latest_call_and_what_is_refused(tmp_path: Any) -> None:
    derivative = tg.jacobian(rosenbrock_terms, sparse=True)
    with pytest.raises(tg.errors.ArgumentError, match="was not called yet"):
        derivative.export(tmp_path / "early.py")
    matrix = derivative(np.arange(5.0))
    exported = module_of(derivative.export(tmp_path / "latest.py")).rosenbrock_terms
    same(exported(np.arange(5.0)), matrix)
    with pytest.raises(tg.errors.ExportError, match="takes the path of the file first"):
        derivative.export(np.arange(5.0))
    with pytest.raises(tg.errors.ExportError, match=r"must end in \.py"):
        derivative.export(tmp_path / "latest.txt", np.arange(5.0))


def rosenbrock_terms(x):
    return x[1:] - x[:-1] ** 2


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_function_without_a_program_has_no_file(tmp_path: Any) -> None:
    drawn = np.random.default_rng(0)
    derivative = tg.jacobian(lambda x: x * drawn.normal(), sparse=True)
    with pytest.raises(tg.errors.ExportError, match=r"has no program of its own.*\.explain"):
        derivative.export(tmp_path / "eager.py", np.ones(3))


def test_a_file_of_a_program_for_jax(tmp_path: Any) -> None:
    pytest.importorskip("jax")
    derivative, x = tg.hessian(rosenbrock, sparse=True, backend="jax"), RANDOM.normal(size=8)
    path = derivative.export(tmp_path / "of_jax.py", x)
    same(module_of(path).rosenbrock(x), derivative(x))
    assert "it needs JAX and SciPy alone" in path.read_text()
