"""Names of other libraries enter; they are not there, and the error says what is."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime.missing_names import INSTEAD

ROOT = Path(__file__).parents[2]
NAMES = [(module, name) for module, names in INSTEAD.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda word: word)
def test_a_name_of_the_table_is_not_here_and_what_it_names_is(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = importlib.import_module(module)
    monkeypatch.delattr(place, name, raising=False)  # tracegrad.numpy, once it is imported
    assert name not in dir(place) and name not in place.__all__
    with pytest.raises(AttributeError) as error:
        getattr(place, name)
    said = str(error.value)
    assert said == f"module {module!r} has no attribute {name!r}: {INSTEAD[module][name]}"
    roots = {"tg": tg, "np": np, "nn": tg.nn, "optim": tg.optim}
    for root, path in re.findall(r"\b(tg|np|nn|optim)\.(\w+(?:\.\w+)*)", said):
        functools.reduce(getattr, path.split("."), roots[root])


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        (tg.nn, "CrossEntropyLoss", "are functions"),
        (tg.nn, "Linear", "a class of your own"),
        (tg.nn, "swish", "'swish'$"),
        (tg.optim, "OneCycleLR", "CosineLR"),
        (tg.optim, "Adagrad", "optimizers are SGD"),
        (tg.optim, "novograd", "optimizers are SGD"),
        (tg.special, "zeta", "functions of scipy.special"),
        (tg.linalg, "expm", "functions of scipy.linalg"),
        (tg, "det", r"it is tg\.linalg\.det$"),
        (tg, "erf", r"it is tg\.special\.erf$"),
        (tg, "dropout", r"it is tg\.nn\.dropout$"),
        (tg, "topk", r"a Tensor has it, x\.topk\(\.\.\.\)$"),
        (tg, "shape", r"a Tensor has it, x\.shape$"),
        (tg, "hanning", r"NumPy has it, np\.hanning$"),
        (tg, "Size", "'Size'$"),
    ],
)
def test_other_names_say_where_they_are(module: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(module, name)


def test_probes_find_nothing_and_are_told_nothing() -> None:
    for module in map(importlib.import_module, INSTEAD):
        assert not hasattr(module, "jit") and getattr(module, "_lax", None) is None
        assert "INSTEAD" not in dir(module)
        with pytest.raises(AttributeError, match=r"'__wrapped__'$"):
            _ = module.__wrapped__
    assert inspect.getsourcefile(tg) == tg.__file__ and inspect.unwrap(tg) is tg


def test_an_import_and_a_slip_of_the_pen_are_told() -> None:
    with pytest.raises(ImportError, match="cannot import name 'LBFGS'"):
        from tracegrad.optim import LBFGS  # noqa: F401
    command = [sys.executable, "-c", "import tracegrad as tg; tg.nograd"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.rstrip().endswith("Did you mean: 'no_grad'?")


def test_a_setting_that_is_not_there_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="no setting 'backnd': there are backend, compile"):
        tg.config.backnd = "jax"
    assert not hasattr(tg.config, "backnd")
