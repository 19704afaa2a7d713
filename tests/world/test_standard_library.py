"""What C code hands on of containers from outside is known: where it stands, who writes to it.

Each program of `standard_library.py` is called, its state is edited, it is called again: compiled
it gives, raises and leaves what it does plainly.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mutations import picture
from standard_library import TEXT

import tracegrad as tg
from tracegrad.errors import RecompileWarning

IMPORTS = """\
import abc, array, bisect, collections, collections.abc, contextlib, contextvars, copy, dataclasses
import decimal, enum, fractions, functools, heapq, io, itertools, json, math, operator, queue, re
import statistics, string, threading, types, typing, weakref
from types import SimpleNamespace as NS
import numpy as np
"""
PROGRAMS = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in TEXT.split("\n== ")[1:]}
XS = [np.array(x) for x in ([0.5, -1.25, 2.0], [0.5, -1.25, 2.0], [-0.75, 0.3, 1.1])]


def made(setup: str, body: str, name: str) -> dict[str, Any]:
    """The namespace of a program: its function is ``f``."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = f"{IMPORTS}{setup}\ndef f(x):\n{lines}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = sys.modules["program"] = types.ModuleType("program")  # as `dataclass` asks for it
    names = vars(module)
    exec(compile(source, name, "exec"), names)
    return names


def outcome(function: Any, x: np.ndarray) -> Any:
    try:
        return "returned", picture(np.asarray(function(x.copy())), {})
    except Exception as error:
        return "raised", type(error).__name__, re.sub(r"0x[0-9a-f]+|<[^>]*>", "", str(error))


def state_of(names: dict[str, Any], known: set[str]) -> Any:
    held = {k: v for k, v in names.items() if k not in known}
    return picture({k: v for k, v in held.items() if not isinstance(v, types.FunctionType)}, {})


@pytest.fixture(autouse=True)
def restored():
    yield
    sys.modules.pop("program", None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_edited_between_calls(name):
    setup, body, edits = (f"\n{PROGRAMS[name]}\n".split("\n--\n") + [""])[:3]
    plain = made(setup, body.strip("\n"), f"<{name}>")
    compiled = made(setup, body.strip("\n"), f"<{name} compiled>")
    function = tg.compile(compiled["f"])
    known = {*made("", "pass", "<nothing>")}
    for edit in ["", *edits.strip().splitlines()]:
        for names in (plain, compiled):
            exec(edit.strip().replace("\\n", "\n"), names)
        for x in XS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecompileWarning)
                found = outcome(function, x)
            assert found == outcome(plain["f"], x), edit
            assert state_of(compiled, known) == state_of(plain, known), edit


def test_what_c_code_hands_on_is_compiled():
    """Programs that C code only moves containers in are no reason to stay eager."""
    for name in ("chain", "sorted_key", "partial", "setof", "dictkeysobj2", "list_mul", "user_lt"):
        setup, body, _ = f"\n{PROGRAMS[name]}\n".split("\n--\n")[:3]
        function = tg.compile(made(setup, body.strip("\n"), f"<{name} compiled>")["f"])
        with warnings.catch_warnings():
            warnings.simplefilter("error", RecompileWarning)
            function(XS[0])
            function(XS[0])
        assert " 1 hit" in str(function.explain()), name
