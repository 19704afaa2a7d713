"""Graphs with branches enter; every pass minds that a path is not the other."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
import toy

from codegen import Block, VerifyError, emit, load, optimize, parse, verify
from codegen.errors import CodegenError
from codegen.ir import Branch, ends, walk
from codegen.keys import graph_key
from codegen.passes.cse import cse
from codegen.passes.dce import dce
from codegen.passes.lifetime import lifetime
from codegen.passes.own_outputs import own_outputs
from codegen.passes.simplify import simplify


def clean(text):
    return dedent(text).strip()


def expect(step, before, expected):
    text = str(verify(step(verify(toy.graph(clean(before))), toy.CLIENT)))
    assert text == clean(expected)


# -- text -----------------------------------------------------------------------------------------

NESTED = """
    graph f(x: float64[n0], y: float64[n0]) {
      %s = sum(%x, axis=None, keepdims=False)
      branch %s bool  # f.py:2 | if s:
        case True
          %a = exp(%x)  # f.py:3 | a = np.exp(x)
          branch %s int
            case 1
              return %a
            case 2
              return %y, %a
            case -3
              %a.1 = neg(%a)
              return %a.1
        case False
          return %x
    }
"""


def test_a_branch_prints_and_parses_back():
    graph = toy.graph(clean(NESTED))
    assert str(graph) == clean(NESTED)
    assert [len(end.outputs) for end in ends(graph.block)] == [1, 2, 1, 1]
    outer, inner = [node for node in walk(graph.nodes) if isinstance(node, Branch)]
    assert (outer.outcomes, outer.complete) == ((True, False), True)
    assert (inner.outcomes, inner.complete) == ((1, 2, -3), False)
    assert outer.origin.line == 2


def test_keys_tell_paths_apart():
    graph = toy.graph(clean(NESTED))
    again = toy.graph(clean(NESTED))
    other = toy.graph(clean(NESTED).replace("case 2", "case 4"))
    swapped = toy.graph(clean(NESTED).replace("return %a\n", "return %y\n", 1))
    assert graph_key(graph) == graph_key(again)
    assert len({graph_key(graph), graph_key(other), graph_key(swapped)}) == 3


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("%a.1 = neg(%a)", "%b.1 = neg(%c)", "line 12: %c is not made before"),
        ("          return %x", "          return %a", "line 15: %a is not made before"),
        ("branch %s int", "branch %t int", "line 6: %t is not made before"),
        ("              return %a\n", "", "no return"),
        ("%a.1 = neg(%a)", "%s = neg(%a)", "line 12: %s is made twice"),
        ("    }", "      return %x\n    }", "nothing may follow the return"),
    ],
)
def test_what_is_no_branch_is_refused_with_its_line(old, new, message):
    with pytest.raises(CodegenError, match=message):
        parse(clean(NESTED.replace(old, new, 1)), toy.OPS)


# -- the verifier ---------------------------------------------------------------------------------


def branch_of(graph):
    return next(node for node in graph.nodes if isinstance(node, Branch))


def with_branch(graph, **changes):
    nodes = [replace(n, **changes) if isinstance(n, Branch) else n for n in graph.nodes]
    return graph.replace(nodes=tuple(nodes))


def test_the_verifier_finds_broken_branches():
    graph = toy.graph(clean(NESTED))
    branch, (x, y) = branch_of(graph), graph.inputs
    exp = branch.blocks[0].nodes[0].results[0]
    cases = [
        (with_branch(graph, outcomes=(True,)), "1 outcomes for 2 blocks"),
        (with_branch(graph, outcomes=(True, True)), "a branch needs different outcomes"),
        (with_branch(graph, operand=x), "branch on a value that is not a single element"),
        (graph.replace(outputs=(y,)), "a branch is not the end of its block"),
        (graph.replace(nodes=(*graph.nodes, graph.nodes[0])), "is made twice|not the end"),
        (
            with_branch(graph, blocks=(branch.blocks[0], Block((), (exp,)))),
            "output .* is not made by the graph",
        ),
    ]
    for broken, message in cases:
        with pytest.raises(VerifyError, match=message):
            verify(broken)


def test_what_another_path_reads_may_be_overwritten_here():
    text = """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %b = neg(%a, reuse=0)
              return %b
            case False
              return %a
        }
    """
    verify(toy.graph(clean(text)))
    early = text.replace("%s = sum(%a,", "%c = neg(%a, reuse=0)\n          %s = sum(%c,")
    with pytest.raises(VerifyError, match=r"neg: reuses .* which is read later"):
        verify(toy.graph(clean(early)))


# -- passes ---------------------------------------------------------------------------------------


def test_dce_keeps_what_any_path_reads():
    expect(
        dce,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %b = sin(%x)
          %d = square(%x)
          %s = sum(%x, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = neg(%a)
              %e = neg(%b)
              return %c
            case False
              return %b
        }
        """,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %b = sin(%x)
          %s = sum(%x, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = neg(%a)
              return %c
            case False
              return %b
        }
        """,
    )


def test_cse_finds_what_was_done_before_the_branch_and_not_on_the_other_path():
    expect(
        cse,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %two = constant(2.0)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %b = exp(%x)
              %c = sin(%b)
              %d = constant(2.0)
              %e = mul(%c, %d)
              return %e
            case False
              %g = sin(%a)
              %h = sin(%a)
              %i = mul(%g, %h)
              return %i
        }
        """,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %two = constant(2.0)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = sin(%a)
              %e = mul(%c, %two)
              return %e
            case False
              %g = sin(%a)
              %i = mul(%g, %g)
              return %i
        }
        """,
    )


def test_rules_see_what_was_made_before_the_branch():
    expect(
        lambda graph, client: dce(simplify(graph, client)),
        """
        graph f(x: float64[n0]) {
          %a = neg(%x)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %b = neg(%a)
              %c = exp(%b)
              return %c
            case False
              return %a
        }
        """,
        """
        graph f(x: float64[n0]) {
          %a = neg(%x)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = exp(%x)
              return %c
            case False
              return %a
        }
        """,
    )


def test_own_minds_the_outputs_of_each_path():
    expect(
        own_outputs,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              return %a, %x
            case False
              return %a, %a
        }
        """,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %s = sum(%a, axis=None, keepdims=False)
          branch %s bool
            case True
              %x.1 = copy(%x)
              return %a, %x.1
            case False
              %a.1 = copy(%a)
              return %a, %a.1
        }
        """,
    )


def test_lifetime_lets_each_path_overwrite_what_it_reads_last():
    expect(
        lifetime,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %b = neg(%a)
          %s = sum(%b, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = sin(%a)
              return %c
            case False
              %d = sin(%b)
              %e = mul(%d, %b)
              return %e
        }
        """,
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)
          %b = neg(%a)
          %s = sum(%b, axis=None, keepdims=False)
          branch %s bool
            case True
              %c = sin(%a, reuse=0)
              return %c
            case False
              %d = sin(%b)
              %e = mul(%d, %b, reuse=0)
              return %e
        }
        """,
    )


# -- source ---------------------------------------------------------------------------------------


def source_of(text, target="numpy"):
    return emit(optimize(toy.graph(clean(text)), toy.CLIENT, check=True), target)


def test_an_outcome_that_no_path_has_leaves_the_program():
    source = source_of(NESTED)
    f = load(source.text, source.name, {"np": np})
    y = np.arange(2.0)
    assert len(f(np.array([1.0, 0.0]), y)) == 1
    assert len(f(np.array([2.0, 0.0]), y)) == 2
    with pytest.raises(LookupError, match="was only ever 1 or 2 or -3"):
        f(np.array([4.0, 0.0]), y)


def test_a_variable_of_one_path_is_no_variable_of_the_other():
    source = source_of(
        """
        graph f(x: float64[n0]) {
          %a = exp(%x)  # f.py:1 | a = np.exp(x)
          %s = sum(%a, axis=None, keepdims=False)  # f.py:2 | s = a.sum()
          %t = constant(3.0)
          %u = greater(%s, %t)  # f.py:3 | if s > 3:
          branch %u bool  # f.py:3 | if s > 3:
            case True
              %a.1 = mul(%a, %s)  # f.py:4 | a = a * s
              return %a.1
            case False
              %b = add(%a, %s)  # f.py:6 | b = a + s
              %c = mul(%b, %a)  # f.py:7 | c = b * a
              return %c
        }
        """
    )
    f = load(source.text, source.name, {"np": np})
    for x in (np.array([0.0, 1.0]), np.array([0.0, -1.0])):
        a = np.exp(x)
        want = a * a.sum() if a.sum() > 3 else (a + a.sum()) * a
        assert np.array_equal(f(x)[0], want)
