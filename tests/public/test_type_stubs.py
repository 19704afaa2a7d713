"""A user's script enters; what type checkers say of it leaves.

``--update-golden`` writes the stubs of the library anew.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import type_stubs

import tracegrad as tg

HERE = Path(__file__).parent
SCRIPT, MISTAKES = HERE / "typed_script.py", HERE / "typed_mistakes.py"


def test_the_stubs_are_up_to_date(request):
    made = type_stubs.stubs()
    there = {*(type_stubs.ROOT / "tracegrad").rglob("*.pyi")}
    if request.config.getoption("--update-golden"):
        for file in there - {*made}:
            file.unlink()
        for file, text in made.items():
            file.write_text(text, encoding="utf-8")
        return
    assert there == {*made}, "python tests/type_stubs.py"
    for file, text in made.items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: python tests/type_stubs.py"


def test_every_public_name_has_a_type():
    text = (type_stubs.ROOT / "tracegrad" / "__init__.pyi").read_text(encoding="utf-8")
    for name in tg.__all__:
        assert re.search(
            rf"^(def {name}\(|{name}: |from .* import .*\b{name}\b)", text, re.MULTILINE
        )


def test_editors_show_what_help_shows():
    text = (type_stubs.ROOT / "tracegrad" / "__init__.pyi").read_text(encoding="utf-8")
    said = {n.name: ast.get_docstring(n) for n in ast.parse(text).body if hasattr(n, "name")}
    functions = {name: getattr(tg, name) for name in tg.__all__ if name in said}
    assert len(functions) > 350
    for name, function in functions.items():
        assert (said[name] or "").strip() == inspect.getdoc(function).strip(), name


@pytest.mark.slow
def test_mypy_takes_a_typed_script_and_finds_mistakes(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path), str(SCRIPT), str(MISTAKES)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(type_stubs.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    told = re.findall(r"^(.+?):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    found = {(Path(file).name, int(number), code) for file, number, code in told}
    assert found == {
        (MISTAKES.name, number, line.partition("  # ")[2])
        for number, line in enumerate(lines, 1)
        if "  # " in line
    }, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_takes_a_typed_script_and_finds_mistakes(tmp_path):
    pytest.importorskip("basedpyright")
    settings = {
        "typeCheckingMode": "strict",
        "include": [str(SCRIPT), str(MISTAKES)],
        "extraPaths": [str(type_stubs.ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(tmp_path)]
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)["generalDiagnostics"]
    found = {(Path(one["file"]).name, one["range"]["start"]["line"]) for one in told}
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    of_mypy = "tg.config.backend = 3"  # pyright does not compare types of a module's variables
    assert found == {
        (MISTAKES.name, number)
        for number, line in enumerate(lines)
        if "  # " in line and not line.startswith(of_mypy)
    }, done.stdout


def test_the_typed_script_runs(capsys):
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().out.startswith("gradient ")
