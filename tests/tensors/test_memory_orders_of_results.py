"""Results lie in memory as NumPy's do: of functions, and of arrays that views have written to."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(1.0, 13.0).reshape(3, 4)
S = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])
UFUNCS = ("subtract", "divide", "logaddexp", "hypot", "arctan2", "fmax", "copysign")

FUNCTIONS = [
    *[f"np.delete(x, {at}, axis=0)" for at in ("0", "[0]", "[-1]", "[0, 2]", "[]", "np.s_[:1]")],
    *[f"np.delete(x, {at}, axis=1)" for at in ("0", "[0]", "[-1]", "[0, 2]", "np.array([1])")],
    *[f"np.delete(x, {at}, axis=0)" for at in ("[True, False, False]", "np.arange(3) < 1")],
    *[f"np.{name}.accumulate(x, axis={axis})" for name in UFUNCS for axis in (0, 1)],
    *[f"np.linalg.matrix_power(s, {n})" for n in (0, 1, 2)],
    "np.linalg.matrix_power(np.stack([s, s]), 0)",
    "np.linalg.cholesky(s)",
]
FUNCTIONS += ["np.linalg.cholesky(s, upper=True)"] * (
    np.lib.NumpyVersion(np.__version__) >= "2.0.0"
)

WRITES = [
    *("y[:, ::-1][0] = 5.0", "np.flip(y)[0] = 8.0", "np.rot90(y)[0] = 8.0", "y[:, ::-1] += 3.0"),
    *("y[::-1, ::-1][1] = 3.0", "np.fliplr(y)[0] = 3.0", "y.T[::-1][0] *= 3.0", "y.T[0] = 1.0"),
    *("np.flipud(y.T)[1:] = 2.0", "np.moveaxis(y, 0, 1)[0] = 3.0"),
]


def function_of(text):
    space = {"np": np}
    exec(f"def f(x, s):\n    {text}", space)
    return space["f"]


LAYOUTS = {"rows": np.ascontiguousarray, "columns": np.asfortranarray}


def assert_lies_as(text, layout):
    f, lay = function_of(text), LAYOUTS[layout]
    x, s = lay(X), lay(S)
    expected, made = f(x, s), tg.compile(f)
    results = made(x, s), made(x, s), f(tg.tensor(x), tg.tensor(s)).numpy()
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert result.strides == expected.strides


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_of_functions(function, layout):
    assert_lies_as(f"return {function}", layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("write", WRITES)
def test_arrays_that_views_have_written_to(write, order, layout):
    assert_lies_as(f"y = x.copy({order!r})\n    {write}\n    return y", layout)
