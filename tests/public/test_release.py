"""What users install enters: built from this tree, installed elsewhere, it runs the first page.

With ``--long`` a wheel is built from the source distribution and installed into an empty
environment, for which pip must reach a package index: with the newest NumPy for every Python at
hand, with the oldest that is supported for this one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from test_docs import PAGES, ROOT, blocks

import tracegrad as tg
from tracegrad import errors

INSTALL = ROOT / "docs" / "install.md"
PROJECT_FILES = ("tracegrad", "codegen", "pyproject.toml", "README.md", "LICENSE")
PAGE = ROOT / "docs" / "first_quarter_of_an_hour.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

TYPES = {str(path.relative_to(ROOT)) for path in (ROOT / "tracegrad").rglob("*.pyi")}
TYPES |= {"codegen/py.typed", "tracegrad/py.typed"}
"""What type checkers of users read."""


def typed(page, folder):
    """Writes what a reader types: files with titles, and one script; returns what it prints."""
    script, printed = [], []
    for block in blocks(page):
        if block.is_output:
            printed.append(block.text)
        elif block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            script.append(block.text)
    (folder / "typed.py").write_text("\n".join(script), encoding="utf-8")
    return "".join(printed)


def run(*command, cwd, **environment):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_empty_lines(text):
    return re.sub(r"\n{2,}", "\n", text)


def pythons():
    """The supported interpreters at hand, on the path or of pyenv: one of each version."""
    oldest, next_ = map(
        int, re.search(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    )
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(oldest, next_):
        on_path = filter(None, [shutil.which(f"python3.{minor}")])
        for python in (*on_path, *sorted(of_pyenv.glob(f"3.{minor}.*/bin/python"))):
            command = [python, "-c", "import ensurepip, sys, venv; print(sys.version_info.minor)"]
            said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            if said.strip() == str(minor):
                yield minor, python
                break


HERE = sys.version_info.minor
AT_HAND = {HERE: sys.executable} | {minor: python for minor, python in pythons() if minor != HERE}


def installed(numpy, python, folder):
    """The interpreter of an empty environment, into which the wheel is installed."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(source) as archive, zipfile.ZipFile(wheel) as files:
        inside = {name.partition("/")[2] for name in archive.getnames()}
        assert {"README.md", "LICENSE", "CHANGELOG.md", "mkdocs.yml", "dev"} <= inside
        names = files.namelist()
        assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
            "codegen",
            "tracegrad",
        }
        assert not [name for name in names if "__pycache__" in name]
        assert inside >= TYPES and {*names} >= TYPES
    assert tg.__version__ in wheel.name and tg.__version__ in source.name
    run(python, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, numpy, cwd=folder)
    return python


@pytest.mark.slow
@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("numpy", "minor"),
    [
        ("here", HERE),
        *[("numpy", minor) for minor in AT_HAND],
        *[("numpy==2.0.*", minor) for minor in sorted(AT_HAND) if minor <= 12][:1],  # its newest
    ],
)
def test_the_first_quarter_of_an_hour_elsewhere(numpy, minor, tmp_path):
    if numpy == "here":
        python, where = sys.executable, {"PYTHONPATH": str(ROOT)}
    else:
        python, where = installed(numpy, AT_HAND[minor], tmp_path), {}
    shown = typed(PAGE, tmp_path)
    printed = run(python, "typed.py", cwd=tmp_path, **where)
    assert without_empty_lines(printed) == without_empty_lines(shown)
    assert (tmp_path / "loss.html").is_file() and (tmp_path / "gradient.py").is_file()
    said = run(python, "-m", "tracegrad", "info", cwd=tmp_path, **where)
    assert f"tracegrad  {tg.__version__}" in said
    if numpy == "numpy==2.0.*":
        assert re.search(r"^numpy +2\.0\.", said, re.MULTILINE)


def test_the_version_stands_in_one_place():
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+?),? ", changes, re.MULTILINE)[1] == tg.__version__
    page = INSTALL.read_text(encoding="utf-8")
    assert set(re.findall(r"tracegrad-([\d.]+)-py3", page)) == {tg.__version__}


def test_the_page_of_installing_lists_the_extras():
    page = INSTALL.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    )


@pytest.mark.slow
@pytest.mark.sampled(2, 1)  # with --long alone: it asks a package index
def test_the_page_of_installing_installs(tmp_path):
    place = tmp_path / "path" / "to" / "tracegrad"
    place.mkdir(parents=True)
    for path in PROJECT_FILES:
        there = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
        there(ROOT / path, place / path)
    for block in blocks(INSTALL):
        if block.language == "bash":
            said = run("bash", "-ec", block.text, cwd=tmp_path)
    assert f"tracegrad  {tg.__version__}  ({tmp_path / '.venv'}" in said
    for command in re.findall(r"`(pip install 'tracegrad\[.*?)`", INSTALL.read_text("utf-8")):
        dist = place / "dist"
        run("bash", "-ec", f".venv/bin/{command.replace('/path/to', str(dist))}", cwd=tmp_path)


def test_nothing_is_installed_from_an_index_that_does_not_have_it():
    commands = {}
    for path in [*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "tracegrad").rglob("*.py")]:
        for command in re.findall(r"pip install ([^`\n]*)", path.read_text("utf-8")):
            commands.setdefault(command, path)
    asked = [c for c in commands if re.match(r"""['"]?tracegrad\b""", c) and "@ file:///" not in c]
    assert not asked, {command: commands[command] for command in asked}
    for library, extra in errors.EXTRAS.items():
        wanted = PROJECT["optional-dependencies"][extra]
        assert [re.match(r"\w+", name)[0] for name in wanted] == [library]


def test_the_page_of_installing_says_what_pythons_there_are():
    oldest, next_ = re.search(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    said = f"Python 3.{oldest} to 3.{int(next_) - 1} and "
    assert f"{said}NumPy 2" in INSTALL.read_text(encoding="utf-8")
    assert f"{said}a package index" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name.partition(">")[0] for name in PROJECT["dependencies"]] == ["numpy", "black"]
