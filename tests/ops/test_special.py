"""Special functions beyond what the op table tests: identities, special points, SciPy itself."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest
import scipy.special
from checks import assert_close, slope

import tracegrad as tg
from tracegrad import special


def test_derivatives_at_special_points():
    at = {
        (special.erf, 0.0): 2.0 / np.sqrt(np.pi),
        (special.expit, 1000.0): 0.0,
        (special.i0, 0.0): 0.0,
        (special.i1, 0.0): 0.5,
        (special.ndtr, 0.0): 1.0 / np.sqrt(2.0 * np.pi),
        (special.erfinv, 0.0): np.sqrt(np.pi) / 2.0,
    }
    for (function, x), expected in at.items():
        assert tg.grad(function)(x) == pytest.approx(expected, rel=1e-15), function.__name__
    tail = tg.grad(special.log_ndtr)(-40.0)  # where ndtr itself is 0
    assert tail == pytest.approx(40.0 + 1 / 40.0, rel=1e-4)


def test_xlogy_is_0_where_x_is():
    assert tg.value_and_grad(special.xlogy, argnums=(0, 1))(0.0, 0.0) == (0.0, (0.0, 0.0))
    assert tg.grad(special.xlogy, argnums=1)(0.0, 2.0) == 0.0
    assert tg.grad(special.xlogy)(0.0, 2.0) == pytest.approx(np.log(2.0))


def test_betainc_is_differentiable_in_x_alone():
    a, b = np.array([0.5, 2.0, 3.0]), np.array([1.5, 0.7, 4.0])
    x = np.array([0.2, 0.6, 0.9])
    found = tg.grad(lambda x: special.betainc(a, b, x).sum())(x)
    assert_close(found, slope(lambda h: scipy.special.betainc(a, b, x + h)), 1e-8)
    for place in (0, 1):
        with pytest.raises(tg.errors.NotDifferentiableError, match="betainc"):
            tg.grad(special.betainc, argnums=place)(2.0, 3.0, 0.5)
    t = tg.tensor(2.0, requires_grad=True)
    with pytest.raises(tg.errors.NotDifferentiableError, match="betainc"):
        special.betainc(t, 3.0, 0.5).backward()


def test_polygamma():
    x = np.array([0.3, 1.0, 4.5])
    for n in range(4):
        assert_close(special.polygamma(n, x), scipy.special.polygamma(n, x), 1e-14)
    for n in (-1, 1.5):
        with pytest.raises(tg.errors.ArgumentError, match="order"):
            special.polygamma(n, x)


def test_reductions_have_scipys_arguments():
    x, b = np.random.default_rng(0).normal(size=(2, 3, 4)), np.array([0.5, 0.0, 2.0, 1.0])
    for axis in (None, 0, (0, 2)):
        for name in ("logsumexp", "softmax", "log_softmax"):
            expected = getattr(scipy.special, name)(x, axis=axis)
            assert_close(getattr(special, name)(x, axis=axis), expected, 1e-13, what=name)
    found = special.logsumexp(x, axis=-1, b=b, keepdims=True)
    assert_close(found, scipy.special.logsumexp(x, axis=-1, b=b, keepdims=True), 1e-13)


UFUNCS = ["erf", "erfc", "gammaln", "digamma", "expit", "ndtr", "log_ndtr", "i0", "i1"]


@pytest.mark.parametrize("name", UFUNCS)
def test_scipys_own_functions_take_tensors(name):
    x = tg.tensor([0.5, 1.5], requires_grad=True)
    y = getattr(scipy.special, name)(x)
    y.sum().backward()
    assert_close(y, getattr(scipy.special, name)(x.detach().numpy()), 0.0)
    expected = tg.grad(lambda x: getattr(special, name)(x).sum())(np.array([0.5, 1.5]))
    assert_close(x.grad, expected, 0.0)


def test_functions_take_numbers_and_integers():
    assert special.erf(1) == scipy.special.erf(1)
    assert_close(special.gammaln(np.arange(1, 4)), scipy.special.gammaln([1, 2, 3]), 0.0)
    assert special.expit(np.float32(1.0)).dtype == np.float32


def test_programs_import_scipy_when_they_use_it():
    without, using = tg.compile(lambda x: tg.exp(x)), tg.compile(lambda x: special.erf(x))
    line = "from scipy import special"
    assert line not in without.source(1.0)
    assert f"{line}\n" in using.source(np.ones(2))


def test_an_argument_may_have_the_name_of_the_module():
    f = tg.compile(lambda special: tg.special.erf(special))
    assert f(0.5) == scipy.special.erf(0.5)
    assert "from scipy import special as special_\n" in f.source(0.5)


def test_without_scipy_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "scipy":
            raise ImportError("No module named 'scipy'")
        return real(name, *args, **kwargs)

    special.scipy_special.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.delitem(sys.modules, "scipy", raising=False)
    with pytest.raises(ImportError, match=r"pip install scipy"):
        special.erf(1.0)
    monkeypatch.undo()
    special.scipy_special.cache_clear()
    assert special.erf(0.0) == 0.0
