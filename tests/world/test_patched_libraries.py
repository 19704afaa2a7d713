"""Names of libraries that are replaced, as ``unittest.mock.patch`` does, and put back."""

from __future__ import annotations

import json
import math
import operator
import os
import statistics
import warnings
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import scipy.special

import tracegrad as tg

X = np.array([0.5, 0.25])
PATCHED = {
    "np.sin": (np, "sin", lambda x: np.sin(x)),
    "np.linalg.norm": (np.linalg, "norm", lambda x: x * np.linalg.norm(x)),
    "np.linalg": (np, "linalg", lambda x: x * np.linalg.norm(x)),
    "np.outer": (np, "outer", lambda x: np.outer(x, x)),
    "np.vander": (np, "vander", lambda x: np.vander(x)),
    "np.float64": (np, "float64", lambda x: x * np.float64(3)),
    "math.sqrt": (math, "sqrt", lambda x: x * math.sqrt(x[0])),
    "scipy.special.erf": (scipy.special, "erf", lambda x: x * scipy.special.erf(x)),
    "tg.exp": (tg, "exp", lambda x: x * tg.exp(x)),
    "operator.mul": (operator, "mul", lambda x: operator.mul(x, x)),
    "json.dumps": (json, "dumps", lambda x: x * len(str(json.dumps([1, 2])))),
    "statistics.mean": (statistics, "mean", lambda x: x * statistics.mean([1.0, 2.0])),
    "os.path.join": (os.path, "join", lambda x: x * len(str(os.path.join("a", "b")))),
}


def stub(*args, **kwargs):
    return 7.0


@pytest.mark.parametrize("first", [False, True], ids=["patched later", "patched first"])
@pytest.mark.parametrize("name", PATCHED)
def test_a_patch_is_there_while_it_is(name, first):
    module, attribute, function = PATCHED[name]
    instead = SimpleNamespace(norm=stub) if attribute == "linalg" else stub
    made = tg.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for patched in (first, not first, first, not first):
            if not patched:
                assert np.array_equal(made(X), function(X))
                continue
            with mock.patch.object(module, attribute, instead):
                found, expected = made(X), function(X)
            assert np.array_equal(found, expected)
