"""Words of a command line enter, text on stdout, errors of one line and exit codes leave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import config
from tracegrad.__main__ import main
from tracegrad.transforms.compiled_callable import Compiled

MODEL = '''
import numpy as np
import tracegrad as tg

W = np.ones((3, 2))


def plain(x, w=W):
    """A loss."""
    h = np.tanh(x @ w)
    return np.sum(h * h)


@tg.value_and_grad
def loss(w, x, rate=0.5):
    h = np.tanh(x @ w) * rate
    return np.sum(h * h)


def broken(x):
    return np.sum(x.nothing)


def looped(x):
    total = 0.0
    for v in x:
        total = np.tanh(total * v) + v
    return total


class Model:
    def apply(self, x):
        return np.sum(x @ W)


MODEL = Model()
NUMBER = 3
'''


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def run(capsys):
    """Runs the command line here; gives its exit code, stdout and stderr."""

    def call(*words):
        before = config.backend
        try:
            code = main(words)
        except SystemExit as end:  # of argparse
            code = end.code
        finally:
            config.backend = before
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_show_prints_the_source_of_a_compiled_function(run, model):
    code, out, err = run("show", f"{model}:loss", "--args", "W, np.ones((4, 3)), rate=0.1")
    assert (code, err) == (0, "")
    assert "def loss_value_and_grad(w, x, rate):" in out
    assert "# model.py:16  h = np.tanh(x @ w) * rate" in out
    scope = {}
    exec(out, scope)
    value, gradient = scope["loss_value_and_grad"](np.ones((3, 2)), np.ones((4, 3)), 0.1)
    assert gradient.shape == (3, 2) and value > 0


def test_show_takes_parts_transforms_and_backends(run, model):
    show = ("show", f"{model}:plain", "--args", "np.ones((4, 3))")
    assert "def plain_backward(" in run(*show, "--part", "backward")[1]
    assert "backward" not in run(*show, "--part", "forward")[1]
    assert "def plain(x, w):" in run(*show, "--transform", "compile")[1]
    assert "return w_bar" in run(*show, "--transform", "grad", "--argnums", "1")[1]
    assert "return value, (w_bar, x_bar)" in run(*show, "--argnums", "1,0")[1]


def test_a_method_is_not_differentiated_by_its_object(run, model):
    show = ("show", f"{model}:Model.apply", "--args", "Model(), np.ones((4, 3))")
    assert "gradient in x of apply" in run(*show)[1]
    bound = ("show", f"{model}:MODEL.apply", "--args", "np.ones((4, 3))")
    assert "gradient in x of apply" in run(*bound)[1]


def test_the_version(run):
    assert run("--version") == (0, f"tracegrad {tg.__version__}\n", "")


def test_show_on_jax(run, model):
    pytest.importorskip("jax")
    for name, args in (("plain", "np.ones((4, 3))"), ("loss", "W, np.ones((4, 3))")):
        code, out, _ = run("show", f"{model}:{name}", "--args", args, "--backend", "jax")
        assert code == 0 and "@jax.jit" in out and "jnp.tanh" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "none.py:f"], "there is no file none.py"),
        (["show", "{model}:los", "--args", "1.0"], "has no los; there are plain, loss, broken"),
        (["show", "{model}:NUMBER"], "is of type int, and no function"),
        (["show", "{model}:loss"], "loss needs 2 arguments: pass --args"),
        (
            ["show", "{model}:loss", "--args", "W"],
            "loss() missing 1 required positional argument: 'x'",
        ),
        (["show", "{model}:loss", "--args", "W, W", "--argnums", "1"], "leave --argnums out"),
        (["show", "{model}:plain", "--args", "W.T", "--html", "no/o.html"], "no folder no"),
        (["show", "{model}:plain", "--args", "W.T", "--html", "o.svg"], "must end in .html"),
        (["show", "{model}:loss", "--args", "W, y"], "NameError: name 'y' is not defined"),
        (["show", "{model}:loss", "--args", "W, ("], "SyntaxError"),
        (["show", "{model}:loss", "--args", "W, np.ones((4, 2))"], "model.py:16"),
        (["show", "{model}:broken", "--args", "np.ones(2)"], "(at model.py:21)"),
        (["show", "{model}:loss", "--args", "W, W", "--transform", "grad"], "already"),
        (["show", "{model}:plain", "--args", "1"], "argument x is to be differentiated"),
        (
            ["show", "{model}:plain", "--transform", "compile", "--args", "W.T", "--part=backward"],
            "compiled without a gradient",
        ),
        (
            ["show", "{model}:looped", "--args", "np.ones(20)", "--part=backward"],
            'one program: ask for part="all" (--part all)',
        ),
        (
            ["show", "{model}:looped", "--args", "np.ones(20)", "--part=backward", "--backend=jax"],
            'one program: ask for part="all" (--part all)',
        ),
    ],
)
def test_errors_are_one_line_and_exit_with_1(run, model, words, said):
    code, out, err = run(*(word.replace("{model}", model) for word in words))
    assert (code, out) == (1, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["paint"],
        ["show"],
        ["show", "model.py"],
        ["show", "f:loss"],
        ["show", "model.py:f", "--part", "middle"],
        ["show", "model.py:f", "--argnums", "x"],
        ["cache", "burn"],
    ],
)
def test_wrong_usage_exits_with_2(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: python -m tracegrad") and "error: " in err


@pytest.mark.parametrize("words", [["--help"], ["show", "--help"], ["cache", "-h"], ["info", "-h"]])
def test_help_exits_with_0(run, words):
    code, out, err = run(*words)
    assert (code, err) == (0, "") and out.startswith("usage: python -m tracegrad")


def test_a_file_that_fails_to_import(run, tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("x = 1\ny = x / 0\n")
    code, out, err = run("show", f"{path}:f")
    assert (code, out) == (1, "")
    assert "cannot be imported: ZeroDivisionError: division by zero (at bad.py:2)" in err


def test_html_is_written_by_draw(run, model, tmp_path, monkeypatch):
    def draw(self, path, *args, **kwargs):
        Path(path).write_text(f"<html>{len(args)} {sorted(kwargs)}")

    monkeypatch.setattr(Compiled, "draw", draw, raising=False)
    out = tmp_path / "out.html"
    words = ("--args", "W, np.ones((4, 3)), rate=1.0", "--html", str(out))
    code, shown, _ = run("show", f"{model}:loss", *words)
    assert (code, shown) == (0, f"{out}\n")
    assert out.read_text() == "<html>2 ['rate']"


def test_cache_says_what_there_is(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path))
    tg.grad(lambda x: x * x)(3.0)
    code, out, _ = run("cache")
    assert code == 0 and f"on disk: 0 kernels, 0 bytes ({tmp_path})" in out
    (tmp_path / "tracegrad_kernel_a.py").write_text("pass\n")
    assert "on disk: 1 kernels, 5 bytes" in run("cache")[1]
    count = int(out.partition("in this process: ")[2].split()[0])
    assert count >= 1
    assert run("cache", "clear")[1] == "cleared: 1 kernels on disk\n"
    assert "in this process: 0 programs" in run("cache", "info")[1]


def test_info_in_a_process_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "tracegrad", "info"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"tracegrad  {tg.__version__}" in done.stdout
    assert f"numpy      {np.__version__}" in done.stdout
    assert 'devices    "cpu" (NumPy)' in done.stdout
