"""Compiled callables enter, exported files leave: the same bits, nothing but NumPy, plain errors.

Edited files are taken back by `tg.load`, whose `verify` must name the statement that departs.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import itertools
import pickle
import subprocess
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import black
import numpy as np
import pytest
from checks import assert_same_bits, leaves
from programs import PROGRAMS

import tracegrad as tg
from tracegrad.errors import ArgumentError, ExportError

NUMBERS = itertools.count()


def imported(path):
    """The module of a file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"exported_{next(NUMBERS)}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exported(f, path, *args, **kwargs):
    """The function of an export, and its file's text."""
    assert f.export(path, *args, **kwargs) == path
    return getattr(imported(path), f.__name__.strip("<>") if "<" in f.__name__ else f.__name__)


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


# -- the corpus ---------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_an_exported_program_gives_the_same_bits(program, tmp_path):
    f = tg.value_and_grad(
        program.new(),
        program.argnums,
        has_aux=program.has_aux,
        static_argnames=program.static_argnames,
    )
    expected = f(*program.args)
    path = tmp_path / f"{program.name}.py"
    g = exported(f, path, *program.args)
    assert_same_bits(g(*program.args), expected)
    text = path.read_text()
    assert black.format_str(text, mode=black.Mode()) == text
    found = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    assert found <= {"numpy", "pathlib", "collections", "programs"}
    assert list(inspect.signature(g).parameters) == list(inspect.signature(f).parameters)
