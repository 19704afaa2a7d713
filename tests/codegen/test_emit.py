"""Optimized graphs enter, source leaves: held against golden files, against black, and run.

Every case is a graph of toy ops with the inputs that it is run on. Its source in each target is in
`tests/golden`; what the source computes has the bits that running the graph op by op gives.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import keyword
import os
import re
import subprocess
import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

import black
import numpy as np
import pytest
import toy

from codegen import TARGETS, ArrayType, CodegenError, Graph, Op, Trait, emit, load, optimize, spell
from codegen.emit.length_expressions import _slice_text
from codegen.emit.writer import Names
from codegen.ir import Builder, Frame, Origin, Value
from codegen.sizes import Sizes
from codegen.spelling import Fragment

RANDOM = np.random.default_rng(7)


def array(*shape):
    return RANDOM.normal(size=shape)


@dataclass(frozen=True)
class Case:
    """A graph, what changes in its frame, and inputs for it."""

    text: str
    inputs: tuple
    frame: dict
    about: str = ""

    def graph(self):
        graph = toy.graph(dedent(self.text).strip())
        graph = graph.replace(frame=replace(graph.frame, **self.frame), about=self.about)
        return optimize(graph, toy.CLIENT, check=True)


CASES = {}


def case(name, text, *inputs, about="", **frame):
    CASES[name] = Case(text, inputs, frame, about)


case(
    "layer",
    """
    graph layer(w: float64[n0, n1], b: float64[n1], x: float64[n2, n0], y: float64[n2, n1]) {
      %h~ = matmul(%x, %w)  # model.py:3 | h = np.sin(x @ w + b)
      %h~.1 = add(%h~, %b)  # model.py:3 | h = np.sin(x @ w + b)
      %h = sin(%h~.1)  # model.py:3 | h = np.sin(x @ w + b)
      %err = sub(%h, %y)  # model.py:4 | err = h - y
      %s~ = square(%err)  # model.py:5 | return np.mean(err**2)
      %s~.1 = sum(%s~)  # model.py:5 | return np.mean(err**2)
      %s~.2 = extent(size=n1*n2, dtype='float64')  # model.py:5 | return np.mean(err**2)
      %s = div(%s~.1, %s~.2)  # model.py:5 | return np.mean(err**2)
      return %s
    }
    """,
    array(3, 2),
    array(2),
    array(4, 3),
    array(4, 2),
    names=("value",),
    about="The mean squared error of a layer.\n\nValid for all sizes.",
)
case(
    "sections",
    """
    graph grad(x: float64[n0], w: float64[n0]) {
      %h = mul(%x, %w)  # model.py:3 | h = x * w
      %y = exp(%h)  # model.py:4 | return np.exp(h)
      %h_bar~ = neg(%y)  # backward: model.py:4 | return np.exp(h)
      %h_bar = mul(%h_bar~, %y)  # backward: model.py:4 | return np.exp(h)
      %x_bar = mul(%h_bar, %w)  # backward: model.py:3 | h = x * w
      %w_bar = mul(%h_bar, %x)  # backward: model.py:3 | h = x * w
      return %y, %x_bar, %w_bar
    }
    """,
    array(5),
    array(5),
    returns="{0}, ({1}, {2})",
)
case(
    "parentheses",
    """
    graph f(x: float64[n0], y: float64[n0], z: float64[n0]) {
      %a~ = add(%x, %y)
      %a~.1 = mul(%a~, %z)
      %a~.2 = neg(%a~.1)
      %a~.3 = sub(%x, %a~.2)
      %a~.4 = sub(%y, %a~.3)
      %a~.5 = pow(%a~.4, exponent=-3)
      %a~.6 = neg(%a~.5)
      %a~.7 = pow(%a~.6, exponent=3)
      %a = sum(%a~.7, axis=0, keepdims=True)
      %b~ = div(%z, %a)
      %b~.1 = mul(%b~, %b~)
      %b~.2 = div(%x, %b~.1)
      %b~.3 = div(%b~.2, %y)
      %b~.4 = pow(%y, exponent=2.5)
      %b~.5 = neg(%b~.4)
      %b~.6 = greater(%b~.3, %b~.5)
      %b = where(%b~.6, %x, %y)
      return %b
    }
    """,
    array(4),
    array(4),
    array(4),
)
case(
    "memory",
    """
    graph f(x: float64[n0], y: float64[n0]) {
      %a = add(%x, %y)  # f.py:2 | a = x + y
      %a.1 = mul(%a, %x)  # f.py:3 | a = a * x
      %a.2 = sub(%y, %a.1)  # f.py:4 | a = y - a
      %a.3 = sin(%a.2)  # f.py:5 | a = np.sin(a)
      %b = exp(%a.3)  # f.py:6 | b = np.exp(a)
      %c~ = mul(%b, %b)  # f.py:7 | c = b * b / x
      %c = div(%c~, %x)  # f.py:7 | c = b * b / x
      %d = neg(%c)  # f.py:8 | d = -c
      return %d
    }
    """,
    array(6),
    array(6),
)
case(
    "updates",
    """
    graph f(x: float64[n0], v: float64[], i: int64[n1]) {
      %y = exp(%x)  # f.py:2 | y = np.exp(x)
      %y.1 = setitem(%y, %v, index=Subscript((0,)))  # f.py:3 | y[0] = v
      %e = getitem(%y.1, index=Subscript((slice(None, None, -1),)))  # f.py:4 | e = y[::-1]
      %z = setitem(%x, %e, index=Subscript((slice(None, None, None),)))  # f.py:5 | z[:] = e
      %t = getitem(%z, %i, index=Subscript((Slot(0),)))  # f.py:6 | t = z[i]
      %u = concat(%t, %y.1, axis=0)  # f.py:7 | u = np.concatenate([t, y])
      return %u
    }
    """,
    array(5),
    np.float64(2.5),
    np.array([0, 3, 3]),
)
case(
    "looks",
    """
    graph f(x: float64[n0]) {
      %s = sum(%x)  # f.py:2 | s = x.sum()
      %s~ = constant(1e9)
      %t~ = greater(%s~, %s)  # f.py:3 | if s < 1e9:
      check %t~ bool True  # f.py:3 | if s < 1e9:
      %u~ = greater(%s, %s~)  # f.py:4 | if not s > 1e9:
      check %u~ bool False  # f.py:4 | if not s > 1e9:
      check %s int 3  # f.py:5 | int(s)
      check %s float 3.5  # f.py:6 | float(s)
      %y = mul(%x, %s)  # f.py:7 | return x * s, s
      return %y, %s
    }
    """,
    np.array([1.5, 2.0]),
    returns="{0}, {1}",
)
case(
    "branches",
    """
    graph f(x: float64[n0], y: float64[n0]) {
      %s = sum(%x)  # f.py:2 | s = x.sum()
      %s~ = constant(1e9)
      %t~ = greater(%s~, %s)  # f.py:3 | if s < 1e9:
      check %t~ bool True  # f.py:3 | if s < 1e9:
      %a = exp(%x)  # f.py:4 | a = np.exp(x)
      %u~ = greater(%s, %s~)  # f.py:5 | if s > 1e9:
      branch %u~ bool  # f.py:5 | if s > 1e9:
        case False
          %b = mul(%a, %y)  # f.py:8 | b = a * y
          %v~ = sum(%b)  # f.py:9 | if b.sum():
          branch %v~ bool  # f.py:9 | if b.sum():
            case True
              %b.1 = sin(%b)  # f.py:10 | b = np.sin(b)
              return %b.1, %s
            case False
              %b.2 = mul(%b, %s)  # f.py:12 | b = b * s
              return %b.2, %s
        case True
          %a.1 = neg(%a)  # f.py:6 | a = -a
          return %a.1, %s
    }
    """,
    np.array([1.5, 2.0]),
    np.array([0.5, -2.0]),
)
case(
    "lengths",
    """
    graph f(x: float64[n0, n1], y: float64[n0], z: float64[6]) {
      %s = sum(%x)
      %a = splat(%s, shape=(n0, n1))
      %b = splat(%s, shape=(n1, n0))
      %c = splat(%y, shape=(2, n0))
      %n = extent(size=n0*n1, dtype='float64')
      %m = extent(size=1 + 2*n1, dtype='float64')
      %k = extent(size=length(n0, 1, None, 2), dtype='float64')
      %q = extent(size=quotient(n0*n1, 2), dtype='float64')
      %six = extent(size=6, dtype='float64')
      %nm = mul(%n, %m)
      %kq = mul(%k, %q)
      %all = mul(%nm, %kq)
      %d = div(%z, %all)
      %e = mul(%d, %six)
      return %a, %b, %c, %e
    }
    """,
    array(4, 3),
    array(4),
    array(6),
)
case(
    "numbers",
    """
    graph f(x: float64[n0], h: float32[n0], s: float32[], k: float) {
      %c = constant(-2.5)
      %c.1 = constant(inf)
      %c.2 = constant(-inf)
      %c.3 = constant(nan)
      %c.4 = constant(1e-300)
      %c.5 = constant(0.1, 'float32')
      %c.6 = constant(0.1, 'float64')
      %c.7 = constant(7, slot=0)
      %c.8 = constant(complex(0.0, 2.0))
      %c.9 = constant(complex(1.5, -2.0))
      %a = mul(%x, %c)
      %b = where(%x, %c.1, %c.2)
      %d = pow(%a, exponent=0.5)
      %e = add(%d, %c.3)
      %g = mul(%h, %c.5)
      %i = mul(%h, %c.6)
      %j = mul(%s, %c.6)
      %l = mul(%k, %c.7)
      %m = sub(%x, %l)
      %n = clip(%m, low=-inf, high=1e+300)
      %o = mul(%x, %c.8)
      %o.1 = mul(%o, %c.9)
      %p = add(%x, %c.4)
      return %b, %e, %g, %i, %j, %n, %o.1, %p
    }
    """,
    array(3),
    array(3).astype("float32"),
    np.float32(1.7),
    0.3,
)
case(
    "results",
    """
    graph f(x: float64[n0], y: float64[n0], scale: float64[]) {
      %q, %r = divmod(%x, %y)
      %divmod, %divmod.1 = divmod(%q, %r)
      %mul = mul(%divmod.1, %scale)
      %p = neg(%mul)
      return %p, %q
    }
    """,
    array(4),
    array(4),
    np.float64(0.5),
    parameters=("pair",),
    reads=("pair[0]", "pair[1]", "scale"),
    captures=("scale",),
    returns='{"p": {0}, "q": {1}}',
)
case(
    "names",
    """
    graph f(lambda: float64[n0], np: float64[n0], sum: float64[n0]) {
      %x = add(%lambda, %np)
      %len = mul(%x, %sum)
      %for = exp(%len)
      %jnp = sin(%for)
      %x.1 = sub(%for, %jnp)
      %match = mul(%x, %x.1)
      %x_2 = add(%match, %len)
      return %x_2, %jnp
    }
    """,
    array(2),
    array(2),
    array(2),
    parameters=("a", "b", "c"),
    reads=("a", "b", "c"),
)
case(
    "wide",
    """
    graph a_function_with_a_long_name(PARAMETERS) {
      %sum_of_products~ = mul(%parameter_0, %parameter_1)  # model.py:1 | LINE
      %sum_of_products~.1 = mul(%parameter_2, %parameter_3)  # model.py:1 | LINE
      %sum_of_products~.2 = add(%sum_of_products~, %sum_of_products~.1)  # model.py:1 | LINE
      %sum_of_products = mul(%sum_of_products~.2, %parameter_4)  # model.py:1 | LINE
      %p~ = concat(%parameter_4, %parameter_5, %parameter_6, %parameter_7, axis=0)
      %whole = concat(%sum_of_products, %p~, %parameter_7, %parameter_1, axis=0)
      return %whole
    }
    """.replace("PARAMETERS", ", ".join(f"parameter_{i}: float64[n0]" for i in range(8))).replace(
        "LINE",
        "sum_of_products = (parameter_0 * parameter_1 + parameter_2 * parameter_3) * parameter_4",
    ),
    *(array(3) for _ in range(8)),
)
case(
    "nothing",
    """
    graph f(x: float64[n0], y: float64[n0]) {
      %c = constant(0.0)
      %z = splat(%c, shape=(n0,))
      return %x, %x, %z
    }
    """,
    array(3),
    array(3),
)

DIALECTS = [name for name, target in TARGETS.items() if target.dialect == name]
both_targets = pytest.mark.parametrize("target", DIALECTS)
all_cases = pytest.mark.parametrize("name", CASES)


def arguments(case):
    """What the generated function is called with for these inputs."""
    frame = case.graph().frame
    if frame.parameters == ("pair",):
        return (case.inputs[:2],), {"scale": case.inputs[2]}
    return case.inputs, {}


def flat(result):
    match result:
        case tuple() | list():
            return [leaf for item in result for leaf in flat(item)]
        case dict():
            return [leaf for item in result.values() for leaf in flat(item)]
    return [result]


@both_targets
@all_cases
def test_the_source_is_the_golden_one(name, target, golden):
    golden(f"toy_{name}_{target}", emit(CASES[name].graph(), target).text)


@both_targets
@all_cases
def test_black_leaves_the_source_alone(name, target):
    text = emit(CASES[name].graph(), target).text
    assert black.format_str(text, mode=black.Mode()) == text
    assert all(len(line) <= 88 for line in text.splitlines())


@both_targets
@all_cases
def test_each_line_says_which_line_of_the_user_s_it_comes_from(name, target):
    source = emit(CASES[name].graph(), target)
    group = None
    for text, origin in zip(source.text.splitlines(), source.origins, strict=True):
        if found := re.fullmatch(r" +# (\S+\.py):(\d+)  (.*)", text):
            group = (found[1], int(found[2]))
            assert origin.text.startswith(found[3].removesuffix("..."))
        if origin is not None and origin.line:
            of_a_branch = text.strip().startswith(("el", "raise", "def", "return jax.lax.cond"))
            assert (origin.file, origin.line) == group or of_a_branch
        elif text.startswith(("#", "import", "def ", "@")) or not text:
            assert origin is None


@all_cases
def test_the_source_computes_what_the_graph_says_bit_for_bit(name):
    case = CASES[name]
    graph = case.graph()
    source = emit(graph, "numpy")
    kept = [np.array(x) for x in case.inputs]
    positional, keywords = arguments(case)
    with np.errstate(all="ignore"):
        expected = toy.run(toy.graph(dedent(case.text).strip()), case.inputs, {"np": np})
        result = flat(load(source.text, source.name)(*positional, **keywords))
    assert len(result) == len(expected)
    for ours, theirs in zip(result, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.array_equal(ours, theirs, equal_nan=True)
        for a, b in ((ours.real, theirs.real), (ours.imag, theirs.imag)):
            assert np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(a).any()
    for before, after in zip(kept, case.inputs, strict=True):
        assert np.array_equal(before, after)


@all_cases
def test_the_jax_source_computes_the_same(name):
    jax = pytest.importorskip("jax")
    case = CASES[name]
    graph = case.graph()
    with np.errstate(all="ignore"):
        expected = toy.run(graph, case.inputs, {"np": np})
    source = emit(graph, "jax")
    positional, keywords = arguments(case)
    with jax.enable_x64(True):
        result = load(source.text, source.name)(*positional, **keywords)
        if name == "looks":
            result, outcomes = result
            assert all(outcomes) and len(outcomes) == 4
        if name == "branches":
            result, (held,) = result
            assert held
        for ours, theirs in zip(flat(result), expected, strict=True):
            theirs = np.asarray(theirs)
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert np.allclose(ours, theirs, rtol=1e-6, equal_nan=True)


# -- names --------------------------------------------------------------------------------------


@both_targets
@all_cases
def test_names_are_new_and_shadow_nothing(name, target):
    tree = ast.parse(emit(CASES[name].graph(), target).text)
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    stored = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    taken = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "jnp", "jax"}
    assert not stored & (taken | given | {function.name})


def test_a_name_is_used_again_when_its_value_is_dead():
    source = emit(CASES["names"].graph(), "numpy").text
    assert source.count("x_2 = ") == 2


# -- determinism --------------------------------------------------------------------------------

PRINT_ALL = """
import sys
sys.path.insert(0, sys.argv[1])
from test_emit import CASES, DIALECTS, emit
for case in CASES.values():
    for target in DIALECTS:
        print(case.graph(), emit(case.graph(), target).text)
"""


def test_an_operand_that_is_not_written_is_not_read(monkeypatch):
    """The variables that it is to be computed from later stay."""
    behind = Op(
        "behind",
        ("x", "y"),
        lambda sizes, x, y: x,
        {"numpy": spell("x"), "jax": spell("x")},
        {},
        frozenset({Trait.VIEW}),
    )
    monkeypatch.setitem(toy.OPS, "behind", behind)
    graph = toy.graph(
        dedent("""
        graph f(x: float64[n0]) {
          %h~ = sin(%x)  # backward: model.py:3 | h = g(x)
          %a~ = mul(%h~, %h~)  # backward: model.py:3 | h = g(x)
          %b~ = neg(%a~)  # backward: model.py:3 | h = g(x)
          %x~ = behind(%x, %b~)  # backward: model.py:3 | h = g(x)
          %h~.1 = exp(%x~)  # backward: model.py:3 | h = g(x)
          %c~ = mul(%h~.1, %h~.1)  # backward: model.py:3 | h = g(x)
          %d = mul(%b~, %c~)  # backward: model.py:3 | h = g(x)
          return %d
        }
        """).strip()
    )
    x = array(5)
    graph = optimize(graph, toy.CLIENT, check=True)
    source = emit(graph, "numpy")
    (found,) = load(source.text, source.name)(x)
    assert np.array_equal(found, -(np.sin(x) * np.sin(x)) * (np.exp(x) * np.exp(x)))


def test_the_text_is_the_same_in_every_process():
    here, shared = str(Path(__file__).parent), os.pathsep.join(sys.path)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PRINT_ALL, here],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": shared},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "12345")
    ]
    texts = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(texts) == 1 and "def layer" in texts.pop()


# -- loading ------------------------------------------------------------------------------------


def test_tracebacks_and_inspect_show_the_generated_lines():
    source = emit(CASES["layer"].graph(), "numpy")
    function = load(source.text, source.name)
    with pytest.raises(ValueError) as caught:
        function(np.ones((2, 2)), np.ones(2), np.ones((2, 3)), np.ones((2, 2)))
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    line, _, place = frame.line.partition("  # ")
    assert (frame.name, line) == ("layer", "h = x @ w")
    assert source.text.splitlines()[frame.lineno - 1].strip() == line
    shown = inspect.getsource(function).splitlines()
    given = source.text[source.text.index("def layer") :].splitlines()
    assert all(a.startswith(b) for a, b in zip(shown, given, strict=True))  # with its place
    assert f"# {place}" in "\n".join(given)


def test_equal_texts_share_a_file_and_other_texts_have_others():
    first = load("def f():\n    return 1\n", "f")
    again = load("def f():\n    return 1\n", "f")
    other = load("def f():\n    return 2\n", "f")
    assert first.__code__.co_filename == again.__code__.co_filename != other.__code__.co_filename
    assert first.__code__.co_filename.startswith("<")
    assert (first(), other()) == (1, 2)


def test_loaded_code_sees_only_what_it_is_given():
    assert load("def f(x):\n    return np.exp(x)\n", "f", {"np": np})(0.0) == 1.0
    with pytest.raises(NameError):
        load("def f(x):\n    return np.exp(x)\n", "f")(0.0)


# -- what cannot be emitted ---------------------------------------------------------------------


def test_an_unknown_target_and_a_missing_spelling_are_said_by_name():
    graph = CASES["layer"].graph()
    with pytest.raises(CodegenError, match="no target named 'fortran'; there are numpy, jax"):
        emit(graph, "fortran")
    only = replace(toy.OPS["sin"], spelling={"numpy": toy.OPS["sin"].spelling["numpy"]})
    mixed = toy.parse("graph f(x: float64[]) {\n  %a = sin(%x)\n  return %a\n}", {"sin": only})
    assert "np.sin(x)" in emit(mixed, "numpy").text
    with pytest.raises(CodegenError, match="sin has no spelling for the target 'jax'"):
        emit(mixed, "jax")


# -- what ops need --------------------------------------------------------------------------------

TWICE = "def twice(x):\n    return x + x"


def with_needs():
    """An op whose text names a function and an import."""
    return Op(
        "hypotenuse",
        ("x",),
        lambda sizes, x: x,
        {"numpy": spell("math.sqrt(twice(x * x))")},
        needs={"numpy": {"twice": TWICE, "math": "import math", "unused": "import unused"}},
    )


def graph_of(op, parameter):
    builder = Builder(Sizes())
    x = Value(ArrayType("float64"), Origin(parameter, True))
    results = builder.call(op, (x,), Origin())
    frame = Frame((parameter,), (parameter,))
    return Graph("f", (x,), tuple(builder.nodes), results, frame, builder.sizes)


@pytest.mark.parametrize("parameter", ["x", "twice", "math"])
def test_what_an_op_names_is_imported_or_written_above(parameter):
    source = emit(graph_of(with_needs(), parameter), "numpy")
    assert "unused" not in source.text
    assert "import math" in source.text
    assert black.format_str(source.text, mode=black.Mode()) == source.text
    text = source.text.replace("import numpy as np\n", "")
    assert load(text, "f")(3.0) == (18.0**0.5,)


def test_an_op_of_any_number_of_operands_may_have_none():
    op = Op(
        "total", ("*xs",), lambda sizes: ArrayType("float64"), {"numpy": spell("sum_(1.0, *xs)")}
    )
    builder = Builder(Sizes())
    results = builder.call(op, (), Origin())
    graph = Graph("f", (), tuple(builder.nodes), results, Frame((), ()), builder.sizes)
    assert "sum_(1.0)" in emit(graph, "numpy").text


def test_the_length_of_a_slice_as_text():
    places = [None, *range(-3, 4)]
    for start, stop, step in itertools.product(places, places, [None, 2, -1]):
        text = _slice_text(Fragment("n"), start, stop, step)
        for n in range(6):
            assert eval(text, {"n": n}) == len(range(n)[start:stop:step]), text


# -- names --------------------------------------------------------------------------------------


def test_names_at_rest_are_given_again_the_least_first():
    names = Names({"x_3"})
    assert [names.wish("x") for _ in range(4)] == ["x", "x_2", "x_4", "x_5"]
    names.rest("x_4")
    names.rest("x_2")
    assert names.wish("x", lambda name: name == "x_2") == "x_4"
    inner = names.fork()
    assert [inner.wish("x"), inner.wish("x")] == ["x_2", "x_6"]
    assert [names.wish("x"), names.wish("x")] == ["x_2", "x_6"]
    assert [names.wish("x", numbered=True) for _ in range(2)] == ["x_1", "x_7"]


def test_a_number_at_the_end_of_a_name_is_one_that_was_given():
    names = Names(())
    assert [names.wish("x_2"), names.wish("x"), names.wish("x")] == ["x_2", "x", "x_3"]
    names.rest("x_2")
    names.rest("x")
    names.wake("x")
    assert [names.wish("x"), names.wish("x_2")] == ["x_2", "x_2_2"]
