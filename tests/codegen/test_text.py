"""Graphs enter, their text leaves and is read back: the same structure, the same text."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg
from codegen import (
    ArrayType,
    Builder,
    CodegenError,
    Frame,
    Graph,
    Op,
    Origin,
    ShapeError,
    Sizes,
    Slot,
    Subscript,
    Value,
    optimize,
    parse,
    spell,
    verify,
)
from codegen.keys import graph_key
from codegen.sizes import add, mul, quotient, slice_length, symbol
from codegen.text import ParseError
from codegen.types import weak
from tracegrad.ops.elementwise.arrays_and_scalars import returned_array, returned_scalar
from tracegrad.ops.elementwise.python_numbers import number_read
from tracegrad.ops.record import TABLE


def clean(text):
    return dedent(text).strip()


OPS = {**TABLE, **{op.name: op for op in (returned_array, returned_scalar, number_read)}}
"""What graphs of programs hold, with what stands before what is returned, and numbers read."""


def comes_back(graph, ops=toy.OPS):
    text = str(graph)
    read = verify(parse(text, ops))
    assert str(read) == text
    assert graph_key(read) == graph_key(graph)
    assert read.name == graph.name
    assert [v.type for v in read.outputs] == [
        v.type.with_shape([graph.sizes.resolve(d) for d in v.type.shape]) for v in graph.outputs
    ]
    return read


TEXTS = {
    "lengths": """
        graph f(x: float64[n0, 2, 1 + n0], y: float32[2*n0*n3], z: bool[length(n0, 1, None, 2)]) {
          %a = exp(%x)
          %b = sum(%y, axis=None, keepdims=False)
          return %a, %b, %z
        }
    """,
    "numbers": """
        graph f(x: float64[], y: float, k: int, c: complex) {
          %c.1 = constant(1)
          %c.2 = constant(-0.0)
          %c.3 = constant(inf, 'float32', slot=1)
          %c.4 = constant(-inf)
          %c.5 = constant(nan)
          %c.6 = constant(complex(0.0, -inf))
          %c.7 = constant(complex(1.5, nan), 'complex64')
          %c.8 = constant(True, 'bool')
          %c.9 = constant(2.5, slot=0)
          %add = add(%c.1, %c.9)
          return %add, %c.2, %c.3, %c.4, %c.5, %c.6, %c.7, %c.8
        }
    """,
    "names": """
        graph f(x: float64[n0], x.1: float64[n0]) {
          %h~ = add(%x, %x.1)
          %h~.1 = exp(%h~)
          %h = sin(%h~.1)
          %h.1 = neg(%h)
          %h~.2 = exp(%h.1)
          %q, %r = divmod(%h~.2, %x)
          %s~, %t = divmod(%q, %r)
          return %s~, %t, %h.1
        }
    """,
    "lines": """
        graph f(x: float64[n0]) {
          %a = exp(%x)  # model.py:3 | a = np.exp(x)  # raises e to x
          %b~ = neg(%a)  # my model.py:12 | b = f(-a, '%a', "#")
          %b = sin(%b~)  # backward: model.py:3 | a = np.exp(x)
          %c = sum(%b, axis=None, keepdims=False)  # backward:
          check %c float 1.5  # model.py:4 | if float(c) > 1:
          %d = neg(%c)  # model.py:5 |
          return %d
        }
    """,
    "equalities": """
        graph f(x: float64[n0], y: float64[n1, n2]) {
          where 2*quotient(n0, 2) == n0
          where n1 + n2 == n1*n2
          %a = add(%x, %x)
          return %a, %y
        }
    """,
    "checks": """
        graph f(x: float64[], y: int64[1]) {
          check %x bool True
          check %x float nan
          check %x float -inf
          check %y int -3
          check %x complex complex(0.0, -1.0)
          return %x
        }
    """,
    "memory": """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %b = mul(%x, %a, reuse=1)
          %c = setitem(%b, %x, index=Subscript((slice(None, None, -1),)), reuse=0)
          return %c
        }
    """,
    "nothing": """
        graph f() {
          return
        }
    """,
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_come_back(name):
    text = clean(TEXTS[name])
    graph = parse(text, toy.OPS)
    assert str(graph) == text
    comes_back(graph)


def test_what_the_text_says_of_a_value_is_in_its_origin():
    graph = parse(clean(TEXTS["lines"]), toy.OPS)
    a, b_inner, b, _, check, d = graph.nodes
    assert a.results[0].origin == Origin(
        "a", True, "model.py", 3, "a = np.exp(x)  # raises e to x", None, ""
    )
    assert b_inner.results[0].origin.file == "my model.py"
    assert not b_inner.results[0].origin.final and b.results[0].origin.final
    assert b.results[0].origin.section == "backward"
    assert check.origin.line == 4 and check.origin.text == "if float(c) > 1:"
    assert d.results[0].origin.text == ""


def test_parameters_and_types_are_read():
    graph = parse(clean(TEXTS["numbers"]), toy.OPS)
    assert graph.numbers == (2.5, float("inf"))
    assert [value.type for value in graph.inputs] == [
        ArrayType("float64"), weak("float"), weak("int"), weak("complex")
    ]  # fmt: skip
    assert graph.outputs[0].type == weak("float")
    assert graph.frame == Frame(("x", "y", "k", "c"), ("x", "y", "k", "c"))


# -- attributes of every kind -------------------------------------------------------------------

MARK = Op(
    "mark",
    ("x",),
    lambda sizes, x, first, second: x,
    {"numpy": spell("x")},
    {"first": ..., "second": None},
)

BOUND = st.none() | st.integers(-9, 9)
LENGTH = st.recursive(
    st.sampled_from([symbol("n0"), symbol("n1"), symbol("n12")]),
    lambda inner: st.one_of(
        st.builds(add, inner, inner | st.integers(-3, 3)),
        st.lists(inner | st.integers(-3, 3), min_size=1, max_size=3).map(mul),
        st.builds(quotient, inner, inner | st.integers(1, 4)),
        st.builds(
            slice_length, inner, st.builds(slice, BOUND, BOUND, st.sampled_from([None, -2, 3]))
        ),
    ),
    max_leaves=4,
)
SLICE = st.builds(slice, BOUND, BOUND, BOUND)
PLACE = st.builds(Slot, st.integers(0, 3))
ITEM = st.one_of(st.integers(-9, 9), st.none(), st.just(...), SLICE, PLACE)
SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.sampled_from(["%x", "a # b", "it's", 'say "x"', "a, b=c", "float64", "...", "\\", "{}"]),
    SLICE,
    LENGTH,
    st.lists(ITEM, max_size=4).map(lambda items: Subscript(tuple(items))),
    PLACE,
)
ATTRIBUTE = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@settings(max_examples=3 * settings.default.max_examples)
@given(ATTRIBUTE, ATTRIBUTE)
def test_attributes_of_every_kind_come_back(first, second):
    x = Value(ArrayType("float64", (symbol("n0"),)), Origin("x", True))
    builder = Builder(Sizes())
    outputs = builder.call(MARK, (x,), first=first, second=second)
    nodes = tuple(builder.nodes)
    graph = Graph("f", (x,), nodes, outputs, Frame(("x",), ("x",)), builder.sizes)
    comes_back(graph, {"mark": MARK})


@given(LENGTH)
def test_lengths_of_inputs_come_back(length):
    x = Value(ArrayType("float64", (length, 2)), Origin("x", True))
    comes_back(Graph("f", (x,), (), (x,), Frame(("x",), ("x",))))


def test_lengths_that_were_assumed_equal_are_printed_as_the_oldest():
    sizes = Sizes()
    x, y = (Value(ArrayType("float64", (sizes.new(3),)), Origin(name, True)) for name in "xy")
    builder = Builder(sizes)
    (z,) = builder.call(toy.OPS["add"], (x, y))
    graph = Graph("f", (x, y), tuple(builder.nodes), (z,), Frame(("x", "y"), ("x", "y")), sizes)
    assert str(graph).startswith("graph f(x: float64[n0], y: float64[n0]) {")
    comes_back(graph)


# -- graphs of real programs --------------------------------------------------------------------


def mlp(w, b, x, y):
    h = np.tanh(x @ w + b)
    err = h - y
    return np.mean(err**2)


def windows(x):
    mask = x > 0.1
    y = x[1:] * x[:-1] + x[::-1][0]
    return np.sum(np.where(y > 0, y, -y)) + np.sum(x[mask]) * 2.5


def looks(x, k):
    scale = 3.5 if float(np.sum(x)) > 0 else -3.5
    return np.sum(x.reshape(-1, 2).T * scale * k)


CALLS = {
    "mlp": (mlp, (np.ones((3, 2)), np.ones(2), np.ones((5, 3)), np.ones((5, 2)))),
    "windows": (windows, (np.linspace(-1, 1, 6),)),
    "looks": (looks, (np.linspace(-1, 2, 6), 2.5)),
}


@pytest.mark.parametrize("stage", ["traced", "differentiated", "optimized"])
@pytest.mark.parametrize("name", CALLS)
def test_graphs_of_functions_come_back(name, stage):
    function, arguments = CALLS[name]
    comes_back(tg.value_and_grad(function).graph(*arguments, stage=stage), OPS)


@pytest.mark.parametrize("name", TEXTS)
def test_optimized_graphs_come_back(name):
    graph = parse(clean(TEXTS[name]), toy.OPS)
    comes_back(optimize(graph, toy.CLIENT))


# -- texts that are no graphs -------------------------------------------------------------------

BAD = {
    "": "expected 'graph name",
    "graph f(x: float64[]) {": "expected 'graph name",
    "graph f(x: float64[]) {\n}": "no return before the closing brace",
    "graph f(x) {\n  return %x\n}": "expected 'name: type'",
    "graph f(x: float64[], x: float64[]) {\n  return %x\n}": "of another input",
    "graph f(x: float63[]) {\n  return %x\n}": r"no type float63\[\]",
    "graph f(x: float64) {\n  return %x\n}": "no type float64",
    "graph f(x: float[]) {\n  return %x\n}": r"no type float\[\]",
    "graph f(x: float64[m]) {\n  return %x\n}": "not an attribute: m",
}
BAD_LINES = {
    "%a = fly(%x)": "no op named 'fly'",
    "%a = exp(%b)": "%b is not made before",
    "check %b bool True": "%b is not made before",
    "%x = exp(%x)": "%x is made twice",
    "%a = exp(%x": "never closed",
    "%a = %x": "expected a call",
    "exp(%x)": "expected '%name = op",
    "a = exp(%x)": "expected '%name = op",
    "%a %b = divmod(%x, %x)": "expected '%name = op",
    "%a, %b = exp(%x)": "2 names for 1 results",
    "%a = divmod(%x, %x)": "1 names for 2 results",
    "%a = exp(x)": "operands are values",
    "%a = exp(%x, 1)": "operands are values",
    "%a = clip(%x, low=0, high=%x)": "operands are values",
    "%a = clip(%x, low=print(1), high=2)": "not an attribute: print",
    "%a = clip(%x, low=[1], high=2)": "not an attribute",
    "%a = constant()": "not enough values",
    "%a = constant('b)": "a string without an end",
    "return %x\n  return %x": "nothing may follow the return",
}


@pytest.mark.parametrize("text", BAD)
def test_texts_that_are_no_graphs_are_refused(text):
    with pytest.raises(ParseError, match=BAD[text]):
        parse(text, toy.OPS)


@pytest.mark.parametrize("line", BAD_LINES)
def test_lines_that_are_no_nodes_are_refused_with_their_number(line):
    text = f"graph f(x: float64[]) {{\n  {line}\n  return %x\n}}"
    with pytest.raises(ParseError, match=BAD_LINES[line]) as caught:
        parse(text, toy.OPS)
    assert str(caught.value).startswith(("line 2: ", "line 3: "))


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("%a = add(%x, %y)", ShapeError, r"shapes \(n0,\) and \(n1,\) do not broadcast"),
        ("%a = sum(%x, axes=0)", CodegenError, "sum has no attribute 'axes'"),
        ("%a = clip(%x, low=0)", CodegenError, "clip needs the attribute 'high'"),
    ],
)
def test_what_ops_refuse_is_said_by_them(line, error, message):
    text = f"graph f(x: float64[n0], y: float64[n1]) {{\n  {line}\n  return %a\n}}"
    with pytest.raises(error, match=message):
        parse(text, toy.OPS)
