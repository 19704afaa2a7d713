"""The functions of `readable.py` enter; what their generated gradients read like is measured.

Each statement is held against the user's own text: its target is a name of the user's, its line is
the one on which the operation stands, and when the user renames a variable, or moves the function
down the file, the source follows and nothing else changes.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import linecache
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import readable
from readable import READABLE

import tracegrad as tg

PAGE = Path(__file__).parents[1] / "docs" / "reading_the_source.md"
TEXT = Path(readable.__file__).read_text(encoding="utf-8")
GOLDEN = [
    "mlp",
    "logistic_regression",
    "mixture",
    "n_body",
    "attention",
    "convolution_step",
    "runge_kutta",
    "kalman_update",
    "black_scholes",
    "huber",
    "softmax_regression",
    "layer_norm",
    "dictionary",
    "model_method",
    "helper_twice",
    "early_return",
    "filled",
    "indexing",
    "bilinear",
    "weighted_statistics",
    "ternary",
]
each = pytest.mark.parametrize("name", READABLE)


def program(name, module=readable):
    """The compiled gradient, called with every set of arguments that there is."""
    function, positions, args = module.READABLE[name]
    made = tg.value_and_grad(function, argnums=positions)
    for more in (args, *module.OTHER_PATHS.get(name, ())):
        made(*more)
    return made, args


def source(name):
    made, args = program(name)
    return made.source(*args)


# -- names ----------------------------------------------------------------------------------------


def users_names(name):
    """What the user calls things: variables, parameters, fields and keys of all functions there."""
    function = READABLE[name][0]
    asts = [ast.parse(textwrap.dedent(inspect.getsource(function)))]
    asts += [ast.parse(inspect.getsource(readable.Model))] * (name == "model_method")
    asts += [ast.parse(inspect.getsource(readable.swing))] * (name == "runge_kutta")
    asts += [ast.parse(inspect.getsource(readable.scaled))] * (name == "helper_twice")
    found = {"value"}  # what is returned
    for node in (node for tree in asts for node in ast.walk(tree)):
        match node:
            case ast.arg(arg=text) | ast.Name(id=text, ctx=ast.Store()):
                found.add(text)
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
            case ast.AnnAssign(target=ast.Name(id=text)):
                found.add(text)
    return found


def targets(statement):
    """The names that a statement gives a value to, or whose array it writes to."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]):
            return parts
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            return [target]
        case ast.Expr(value=ast.Call(args=args, keywords=keywords)):
            written = [keyword.value for keyword in keywords if keyword.arg == "out"]
            return written or args[:1]
    return []


def statements(text):
    """Those of the generated function that compute something."""
    function = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)][-1]
    return [node for node in ast.walk(function) if isinstance(node, ast.stmt) and targets(node)]


def is_users(target, known):
    while isinstance(target, ast.Subscript):
        target = target.value
    whole = ast.unparse(target)
    stem = re.sub(r"_\d+$", "", whole)
    bare = stem.removesuffix("_bar").removeprefix("minus_")
    return bool({whole, stem, bare, bare.rstrip("_"), re.sub(r"_\d+$", "", bare)} & known)


@each
def test_nine_in_ten_statements_have_a_name_of_the_users(name):
    known = users_names(name)
    all_ = statements(source(name))
    strange = [s for s in all_ if not all(is_users(target, known) for target in targets(s))]
    assert len(strange) <= 0.1 * len(all_), [ast.unparse(s) for s in strange]


def test_over_all_functions_the_share_is_higher():
    counts = [0, 0]
    for name in READABLE:
        known = users_names(name)
        for statement in statements(source(name)):
            counts[all(is_users(target, known) for target in targets(statement))] += 1
    assert len(READABLE) >= 30
    assert counts[1] >= 0.965 * sum(counts), counts


def test_a_name_of_nobodys_would_be_noticed():
    known = users_names("mlp")
    assert is_users(ast.Name("hidden_bar_2"), known)
    assert is_users(ast.Name("minus_hidden_bar"), known)
    assert not is_users(ast.Name("t"), known) and not is_users(ast.Name("sum_"), known)


# -- lines ----------------------------------------------------------------------------------------


def origins(made, args):
    """The generated statements with the user's line of each."""
    found = {}
    for line in range(1, len(TEXT.splitlines()) + 1):
        for statement in made.where(f"readable.py:{line}", *args):
            found[statement.line] = (line, statement)
    return found


SPELLED = {"@": "@", "tanh": "tanh", "sin": "sin", "log1p": "log1p", "cholesky": "cholesky"}
SPELLED |= {"einsum": "einsum", "solve": "solve", "inv": "inv", "clip": "clip", "eye": "eye"}


@each
def test_every_statement_has_the_line_on_which_its_operation_stands(name):
    made, args = program(name)
    text = made.source(*args)
    lines = TEXT.splitlines()
    known = origins(made, args)
    for statement in statements(text):
        first = text.splitlines()[statement.lineno - 1].strip()
        if statement.lineno not in known:  # arguments taken apart, gradients that are zero
            read = ast.unparse(statement.value)
            assert re.fullmatch(r"\w+(\[[^\]]*\]|\.\w+)+|np\.zeros\(\w+\.size\)", read), first
            continue
        line, place = known[statement.lineno]
        assert place.user.split("...")[0][:40] in lines[line - 1].strip()
        if place.section != "forward":
            continue
        ours = ast.unparse(statement)
        for call, spelled in SPELLED.items():  # what it computes, the user's line says
            if re.search(rf"(?<!\w){re.escape(call)}(?!\w)", ours):
                assert spelled in lines[line - 1], (first, lines[line - 1])


def moved(tmp_path, text, monkeypatch, stem="readable"):
    """The module made of this text, as a file of the same name elsewhere."""
    path = tmp_path / f"{stem}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    scope = {"__name__": "moved", "__file__": str(path)}
    module = type(readable)("moved")
    monkeypatch.setitem(sys.modules, "moved", module)
    module.__dict__.update(scope)
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def shown(module, name):
    made, args = program(name, module)
    return made.source(*args)


def test_where_a_function_moves_its_lines_follow(tmp_path, monkeypatch):
    by = 7
    cut = TEXT.index("def mlp")
    module = moved(tmp_path, TEXT[:cut] + "\n" * by + TEXT[cut:], monkeypatch)

    def down(found):
        return f"readable.py:{int(found[1]) + by}"

    for name in READABLE:
        expected = re.sub(r"readable\.py:(\d+)", down, source(name))
        # a header and an error message are as wide as their numbers
        assert squeezed(shown(module, name)) == squeezed(expected), name


def squeezed(text):
    """Without line breaks, and comments no longer than they are everywhere."""
    text = re.sub(r"(readable\.py:\d+  .{1,20}).*", r"\1", text)
    return re.sub(r"[\s#()]+", "", text)


RENAMED = [  # to names of the same length, so lines break where they did
    ("mlp", "hidden", "latent"),
    ("mlp", "error", "wrong"),
    ("logistic_regression", "margin", "extent"),
    ("n_body", "distance", "division"),
    ("attention", "scores", "logits"),
    ("kalman_update", "innovation", "difference"),
    ("black_scholes", "discounted", "depreciate"),
    ("layer_norm", "deviation", "remainder"),
    ("recurrent", "h", "z"),
    ("helper_twice", "left", "west"),
    ("scaled", "centered", "balanced"),
    ("filled", "out", "res"),
    ("ternary", "scale", "width"),
]


@pytest.mark.parametrize(("name", "old", "new"), RENAMED)
def test_renaming_a_variable_renames_it_and_changes_nothing_else(
    name, old, new, tmp_path, monkeypatch
):
    user = inspect.getsource(getattr(readable, name, None) or READABLE[name][0])
    assert len(old) == len(new) and re.search(rf"\b{old}\b", user) and new not in names_in(user)
    text = TEXT.replace(user, re.sub(rf"\b{old}\b", new, user))
    name = "helper_twice" if name == "scaled" else name
    before = source(name)
    assert re.search(rf"\b(minus_)?{old}(_bar)?(_\d+)?\b", before)
    expected = re.sub(rf"\b(minus_)?{old}((?:_bar)?(?:_\d+)?)\b", rf"\1{new}\2", before)
    assert uncut(shown(moved(tmp_path, text, monkeypatch), name)) == uncut(expected)


def names_in(text):
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def uncut(text):
    """Without the last word of a comment that was too long."""
    return re.sub(r"\w*\.\.\.$", "...", text, flags=re.M)


# -- what is saved --------------------------------------------------------------------------------


def test_the_report_says_what_the_backward_keeps():
    made, _ = program("logistic_regression")
    report = made.explain()
    assert "    p: float64 (x.shape[0],) 6, 48 B\n" in report
    assert "    inner value of p: np.exp(·): float64 (x.shape[0],) 6, 48 B\n" in report
    assert report.endswith("together 240 B")  # and 1 + exp(-margin), 1 - labels, 1 - p
    made, _ = program("mlp")
    kept = made.explain().partition("at the lengths traced\n")[2].splitlines()
    assert [line.split(": ")[0].strip() for line in kept[:-1]] == ["error", "hidden"]
    assert kept[-1].strip() == "together 240 B"  # 5 by 2 and 5 by 4 numbers


def test_a_forward_alone_keeps_nothing():
    function, _, args = READABLE["mlp"]
    made = tg.compile(function)
    made(*args)
    assert "saves for the backward" not in made.explain()


# -- the text as a whole --------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN)
def test_the_source_is_the_one_that_was_read(name, golden):
    text = source(name)
    golden(f"reading_{name}", re.sub(r"readable\.py:\d+", "model.py", text))


@each
def test_the_source_computes_what_the_function_does(name):
    function, positions, args = READABLE[name]
    made, _ = program(name)
    for more in (args, *readable.OTHER_PATHS.get(name, ())):
        value, _ = made(*more)
        np.testing.assert_allclose(value, function(*more), rtol=1e-12)
    assert len(positions) >= 1


# -- the documentation ----------------------------------------------------------------------------


def test_the_page_shows_what_is_written(tmp_path, monkeypatch):
    """Its model is imported, its calls are made in order, and the source is the one shown."""
    page = PAGE.read_text(encoding="utf-8")
    model, generated, branch = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "model.py").write_text(model.partition("\n")[2])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    scope = vars(importlib.import_module("model")).copy()
    args = [scope[name] for name in ("w", "b", "x", "y")]
    assert scope["loss"].source(*args) == generated
    said = "\n".join(re.findall(r"```\n(>>>.*?)```", page, re.S))
    calls = doctest.DocTestParser().get_doctest(said, scope, PAGE.name, str(PAGE), 0)
    assert len(calls.examples) == 8
    result = doctest.DocTestRunner().run(calls, clear_globs=False)
    assert (result.failed, result.attempted) == (0, 8)
    assert textwrap.indent(branch, "    ") in scope["loss"].source(*args)
    sys.modules.pop("model")


def test_the_pages_that_it_links_to_exist():
    linked = re.findall(r"\]\(([a-z_]+\.md)", PAGE.read_text(encoding="utf-8"))
    assert linked and all((PAGE.parent / page).is_file() for page in linked)


def test_the_readme_shows_the_source_of_its_example(tmp_path, capsys):
    page = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    example, generated = re.findall(r"```python\n(.*?)```", page, re.S)[:2]
    path = tmp_path / "model.py"
    path.write_text(example)
    exec(compile(example, str(path), "exec"), {"__name__": "model"})
    assert capsys.readouterr().out.rstrip() == generated.rstrip()
