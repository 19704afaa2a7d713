"""The functions of `readable.py` enter; what their generated gradients read like is measured.

Each statement is held against the user's own text: its target is a name of the user's, its line is
the one on which the operation stands, and when the user renames a variable, or moves the function
down the file, the source follows and nothing else changes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import random
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import readable
from programs import PROGRAMS
from readable import READABLE

import tracegrad as tg

PAGE = Path(__file__).parents[2] / "docs" / "reading_the_source.md"
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
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
    return [node for node in ast.walk(function) if isinstance(node, ast.stmt) and targets(node)]


def every_statement(text):
    """All of the generated function, those that return and look included.

    The one that goes over to the form for large arrays computes nothing of the user's.
    """
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
    function.body = [s for s in function.body if "_in_tiles(" not in ast.unparse(s)]
    return [node for node in ast.walk(function) if isinstance(node, ast.stmt)][1:]


def is_users(target, known):
    while isinstance(target, ast.Subscript):
        target = target.value
    whole = ast.unparse(target)
    stem = re.sub(r"_\d+$", "", whole)
    bare = stem.removesuffix("_bar").removeprefix("minus_")
    return bool({whole, stem, bare, bare.rstrip("_"), re.sub(r"_\d+$", "", bare)} & known)


def decided_by(text):
    """Names of what an ``if`` asks twice, in the forward and on the way back."""
    tests = [ast.unparse(n.test) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.If)]
    asked = [test.removeprefix("not ") for test in tests]
    return {test for test in asked if test.isidentifier() and asked.count(test) > 1}


@each
def test_nine_in_ten_statements_have_a_name_of_the_users(name):
    text = source(name)
    known = users_names(name) | decided_by(text)
    all_ = statements(text)
    strange = [s for s in all_ if not all(is_users(target, known) for target in targets(s))]
    assert len(strange) <= 0.1 * len(all_), [ast.unparse(s) for s in strange]


def test_over_all_functions_the_share_is_higher():
    counts = [0, 0]
    for name in READABLE:
        known = users_names(name) | decided_by(source(name))
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


@pytest.mark.sampled(3)
@each
def test_every_statement_has_the_line_on_which_its_operation_stands(name):
    made, args = program(name)
    text = made.source(*args)
    lines = TEXT.splitlines()
    known = origins(made, args)
    for statement in every_statement(text):
        first = text.splitlines()[statement.lineno - 1].strip()
        line, place = known[statement.lineno]
        assert place.user.split("...")[0][:40] in lines[line - 1].strip()
        if place.section != "forward":
            continue
        ours = ast.unparse(statement).splitlines()[0]
        for call, spelled in SPELLED.items():  # what it computes, the user's line says
            if re.search(rf"(?<!\w){re.escape(call)}(?!\w)", ours):
                assert spelled in lines[line - 1], (first, lines[line - 1])


def without_a_line(source):
    """The generated statements that are of no line of the user's."""
    lines = source.text.splitlines()
    at = (statement.lineno - 1 for statement in every_statement(source.text))
    return [lines[i] for i in at if source.origins[i] is None or not source.origins[i].line]


@pytest.mark.parametrize("made", [tg.compile, tg.grad, tg.value_and_grad])
def test_no_statement_of_the_corpus_is_without_a_line(made, few):
    options = {} if made is tg.compile else {"has_aux": False}
    with np.errstate(all="ignore"):
        for program in few(PROGRAMS, 45):
            if options:
                options = {"has_aux": program.has_aux, "argnums": program.argnums}
            function = made(program.new(), static_argnames=program.static_argnames, **options)
            function(*program.args)
            source = function._latest((), {}).program.source
            assert not without_a_line(source), program.name


def test_a_statement_without_a_line_would_be_noticed():
    source = program("mlp")[0]._latest((), {}).program.source
    unknown = tuple(mark and replace(mark, line=0) for mark in source.marks)
    missing = without_a_line(replace(source, marks=unknown))
    assert len(missing) == len(every_statement(source.text)) > 10


class Written:
    """A random function with one operation a line, each into a variable named after its line."""

    VECTOR = (
        "np.tanh({0})",
        "{0} * {1}",
        "{0} - {1}",
        "np.sin({0} + {1})",
        "matrix @ {0}",
        "np.where({0} > 0.0, {1}, {0})",
        "np.cumsum({0})",
        "{0}[::-1]",
        "{0} / (1.5 + {1} * {1})",
        "np.mean({0}) * {1}",
        "np.maximum({0}, {1})",
        "np.concatenate([{0}[1:], {1}[:1]])",
        "damped({0}, {1})",
    )

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["import numpy as np", "", "def damped(left, right):"]
        self.put("np.exp(-left * right)", [])
        self.lines += [f"    return v{len(self.lines)}", "", "def f(a, b, c, matrix):"]
        self.names = ["a", "b", "c"]
        for _ in range(5):
            self.put(self.random.choice(self.VECTOR), self.names)
        self.lines.append(f"    if np.sum({self.names[-1]}) > {self.random.choice([-1e9, 1e9])}:")
        inner = list(self.names)
        for _ in range(2):
            self.put(self.random.choice(self.VECTOR), inner, depth=2)
        self.lines.append(f"        return np.sum({inner[-1]})")
        for _ in range(3):
            self.put(self.random.choice(self.VECTOR), self.names)
        self.lines.append(f"    return np.sum({self.names[-1]} * {self.names[-2]})")

    def put(self, text, names, depth=1):
        of = [self.random.choice(names[-3:]) for _ in range(2)] if names else []
        name = f"v{len(self.lines) + 1}"
        self.lines.append("    " * depth + f"{name} = {text.format(*of)}")
        names.append(name)

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("seed", range(25))
def test_the_line_is_the_one_that_the_variable_is_named_after(seed, tmp_path, monkeypatch):
    written = Written(seed)
    module = moved(tmp_path, written.text, monkeypatch)
    made = tg.value_and_grad(module.f, argnums=(0, 1, 2))
    made(*readable._draw((4,), (4,), (4,), (4, 4)))
    source = made._latest((), {}).program.source
    assert not without_a_line(source)
    definition = written.lines.index("def f(a, b, c, matrix):") + 1

    def line_of(variable):
        return written.lines[int(variable[1:]) - 1]

    for statement in every_statement(source.text):
        origin = source.origins[statement.lineno - 1]
        user = line_of(f"v{origin.line}")
        assert origin.text == user.strip()
        shown = (ast.unparse(statement), user)
        if isinstance(statement, ast.Return):
            assert "return" in user, shown
        for target in targets(statement):
            name = re.sub(r"(_bar)?(_\d*)?$", "", ast.unparse(target).partition("[")[0])
            named = set(re.findall(r"\w+", user))
            if name in ("n", "sum"):
                assert {"n": "np.mean", "sum": "if np.sum"}[name] in user, shown
            elif name == "value":  # what is returned may have been looked at before
                assert "return" in user or "if np.sum" in user, shown
            elif origin.section != "backward":
                assert user.strip().startswith(f"{name} = "), shown
            elif origin.line == definition:  # no line reads it, or two gradients are one array
                assert re.match(r"np\.(zeros|array)\(", ast.unparse(statement.value)), shown
            elif not named & {"left", "right"}:  # the line reads the variable, or makes it
                called = [n for n in named if n[0] == "v" and "damped" in line_of(n)]
                name = name.removeprefix("minus_")
                assert name in named or (name == "v4" and called), shown


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
    assert [line.split(": ")[0].strip() for line in kept[:-1]] == ["hidden", "error"]
    assert kept[-1].strip() == "together 240 B"  # 5 by 2 and 5 by 4 numbers


def test_a_forward_alone_keeps_nothing():
    function, _, args = READABLE["mlp"]
    made = tg.compile(function)
    made(*args)
    assert "saves for the backward" not in made.explain()


# -- lengths in the report ------------------------------------------------------------------------


def test_the_report_says_what_lengths_a_program_is_for():
    """It says so of the arrays' own lengths, not of those of their slices."""

    @tg.value_and_grad
    def f(u, v):
        s = 0.0
        for i in u[1::2]:
            s = s + np.sin(i) * s + i
        return s + np.sum(u[:2] * v)

    for n, k in ((24, 2), (3, 2), (1, 1)):
        f(np.linspace(0.0, 1.0, n), np.ones(k))
    lines = [line.strip() for line in f.explain().splitlines()]
    told = [line.partition(" (")[0] for line in lines if re.search(r"\.shape.* [=<>]=", line)]
    assert told[0] == "u.shape[0] >= 16" and "2 <= u.shape[0] <= 3" in told
    assert "u.shape[0] was at least 16, is 3" in lines
    assert [line for line in lines if re.fullmatch(r"u.shape\[0\] was 2 to 3 .*, is 1", line)]
    assert "range(" not in f.explain() and "min(u.shape[0], 2) == v.shape[0]" in told


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


def test_the_report_of_versions_is_the_one_shown(tmp_path, monkeypatch):
    page = PAGE.read_text(encoding="utf-8")
    (tmp_path / "model.py").write_text(
        re.findall(r"```python title=\"model.py\"\n(.*?)```", page, re.S)[0]
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    model = importlib.import_module("model")
    calls = [(0.1, 0.0)] * 3 + [(0.2, 0.0)] * 30 + [(0.2, 3.0)] * 3
    for model.RATE, more in calls:
        model.loss(model.w, model.b, model.x, model.y + more)

    def untimed(text):
        return re.sub(r"\d+\.\d ms|shared", "...", text)

    inside = PAGE.with_name("looking_inside.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(loss: 1 version.*?)    \.\.\.\n```", inside, re.S)[1]
    report = untimed(model.loss.explain())
    for part in shown.split("\n...\n"):
        assert untimed(part) in report, report
    sys.modules.pop("model")


# -- the header -----------------------------------------------------------------------------------

OFFSET = np.array([0.5, 1.5])


def with_constants(w, x):
    start = np.linspace(0.0, 1.0, 2)
    h = np.tanh(x @ w * OFFSET + start)
    return np.sum(h @ np.eye(2))


def test_arrays_from_outside_are_told_from_those_that_the_function_makes():
    made = tg.value_and_grad(with_constants)
    made(np.ones((3, 2)), np.ones((4, 3)))
    lines = made.source(np.ones((3, 2)), np.ones((4, 3))).splitlines()
    first = with_constants.__code__.co_firstlineno
    at = lines.index("# Reads from outside, by reference")
    assert lines[at : lines.index("import numpy as np")] == [
        "# Reads from outside, by reference",
        "#     OFFSET: float64 (n1,)",
        "# Constants that the function makes",
        f"#     start: float64 (n1,), read at test_readable_source.py:{first + 2}",
        f"#     constant: float64 (n1, n7), read at test_readable_source.py:{first + 3}",
        "# Saves for the backward",
        "#     h: float64 (n2, n1)",
    ]
    report = made.explain()
    assert "  reads again on every call\n    OFFSET\n  holds as constants" in report
    assert "    constant: float64 of shape (2, 2)\n" in report


def test_the_header_says_which_lengths_are_equal():
    def f(x, y):
        return x[::2] + y[::3] + np.ones((2, 1))

    x, y = np.ones(3), np.ones(4)
    source = tg.compile(f).source(x, y)
    assert "(n1 + 2) // 3 == (n0 + 1) // 2" in source


def test_fixed_lengths_have_bytes_in_the_header():
    @tg.grad
    def f(x):
        return np.sum(np.exp(x) * (x.shape[0] | 0))

    assert "# Saves for the backward, 24 B\n#     value_1: float64 (3,)" in f.source(np.ones(3))


def test_the_parts_say_what_they_are_and_what_the_forward_saved():
    made, args = program("mlp")
    assert made.source(*args, part="forward").startswith("# Generated by tracegrad: value of mlp (")
    backward = made.source(*args, part="backward")
    assert backward.startswith("# Generated by tracegrad: backward of mlp (readable.py:")
    assert "#     hidden: float64 (n6, n1), which the forward saved\n" in backward
    assert "#     value_bar: float64 ()\n" in backward


# -- the line that returns ------------------------------------------------------------------------


def several_ways_out(x, kind, steps=3):
    if np.sum(x) > 10.0:
        return x * 2.0  # 1
    y = x
    for _ in range(steps):
        y = y * 0.5
        if kind == "plain":
            pass
    if np.sum(y) > 1.0:
        z = y + 1.0
    else:
        z = y - 1.0
    with tg.no_grad():
        offset = np.sum(x)
    if kind == "last":
        return z  # 2
    w = z + offset
    while np.sum(w) < 3.0:
        w = w + 1.0
    return w  # 3


def loops_and_leaves(x):
    y = x
    for _ in range(4):
        y = y * 2.0
        if np.sum(y) > 5.0:
            return y  # 1
    else:
        y = y + 1.0
    return y  # 2


@pytest.mark.parametrize(
    ("function", "args", "number"),
    [
        (several_ways_out, (np.full(3, 9.0), "last"), 1),
        (several_ways_out, (np.full(3, 3.0), "last"), None),  # Python alone decides
        (several_ways_out, (np.full(3, 3.0), "plain"), 3),
        (several_ways_out, (np.full(3, -3.0), "plain"), 3),
        (loops_and_leaves, (np.full(3, 1.0),), 1),
        (loops_and_leaves, (np.full(3, -1.0),), 2),
    ],
)
def test_a_return_has_the_line_of_the_users_return_or_none(function, args, number):
    made = tg.compile(function)
    made(*args)
    source = made._latest((), {}).program.source
    lines = enumerate(source.text.splitlines())
    returns = (i for i, line in lines if "    return " in line and "_in_tiles(" not in line)
    at = next(returns)  # those of functions that the program calls stand below it
    texts, first = inspect.getsourcelines(function)
    origin = source.origins[at]
    if number is None:
        assert not origin.line
    else:
        assert texts[origin.line - first].strip().endswith(f"# {number}")


def test_a_header_stays_short():
    def deep(x):
        for _ in list(range(50)):
            x = np.tanh(x)
        return np.sum(x)

    made = tg.grad(deep)
    made(np.ones(3))
    head = made.source().partition("import numpy")[0]
    assert "and 30 more: float64 (n0,)" in head.replace("\n#        ", "")
    assert head.count("\n") < 12


def test_items_of_an_unpacked_array_have_their_variables():
    def f(theta):
        omega, *rest = theta
        (alpha, beta), scale = theta[1:] * 2.0, omega * 3.0
        return omega * alpha + beta * scale + rest[0]

    theta = np.array([0.1, 0.2, 0.3])
    source = tg.value_and_grad(f).source(theta)
    for line in ("omega = theta[0]", "alpha = t[0]", "beta = t[1]", "alpha_bar = "):
        assert line in source, line
