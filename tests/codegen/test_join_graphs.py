"""Graphs whose paths meet enter; the Python that one would write by hand leaves, and is run."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
import toy

from codegen import (
    PIPELINE,
    CodegenError,
    Join,
    Op,
    Trait,
    VerifyError,
    emit,
    load,
    optimize,
    parse,
    spell,
    verify,
)
from codegen.ir import Block, Call, ends, walk
from codegen.keys import graph_key
from codegen.memory_reads import memory_reads
from codegen.passes.dce import dce
from codegen.passes.lifetime import lifetime
from codegen.passes.loop_parameters import loop_parameters


def graph_of(text):
    return verify(toy.graph(dedent(text).strip()))


def run(graph, *given):
    (output,) = load(emit(graph, "numpy").text, "f")(*given)
    return output


NESTED = """
    graph f(x: float64[], v: float64[n0]) {
      %z = constant(0.0)
      %s0 = sin(%x)  # f.py:2 | s = sin(x)
      %c = greater(%x, %z)  # f.py:3 | if x > 0:
      join %s: float64[], %w: float64[n0] as J1  # f.py:3 | if x > 0:
        body
          branch %c bool  # f.py:3 | if x > 0:
            case True
              %e = exp(%v)  # f.py:4 | w = exp(v)
              %t = sum(%e, axis=None, keepdims=False)  # f.py:5 | s = s * w.sum()
              %s.1 = mul(%s0, %t)  # f.py:5 | s = s * w.sum()
              again J1 %s.1, %e
            case False
              again J1 %s0, %v
        after
          %d = greater(%s, %z)  # f.py:8 | if s > 0:
          join %y: float64[] as J2  # f.py:8 | if s > 0:
            body
              branch %d bool  # f.py:8 | if s > 0:
                case True
                  %a = exp(%x)  # f.py:9 | y = exp(x) + s
                  %y.1 = add(%a, %s)  # f.py:9 | y = exp(x) + s
                  again J2 %y.1
                case False
                  %n = neg(%w)  # f.py:11 | return s, -w
                  return %s, %n
            after
              %b = mul(%y, %s)  # f.py:12 | return y * s, w
              %k = neg(%w)  # f.py:12 | return y * s, w
              return %b, %k
    }
"""

BY_HAND = """
    import numpy as np


    def f(x, v):
        # f.py:2  s = sin(x)
        s0 = np.sin(x)
        # f.py:3  if x > 0:
        c = x > 0.0
        if c:
            # f.py:4  w = exp(v)
            w = np.exp(v)
            # f.py:5  s = s * w.sum()
            t = w.sum()
            s = s0 * t
        else:
            s = s0
            w = v
        # f.py:8  if s > 0:
        d = s > 0.0
        if not d:
            # f.py:11  return s, -w
            n = -w
            return s, n

        # f.py:9  y = exp(x) + s
        a = np.exp(x)
        y = a + s
        # f.py:12  return y * s, w
        b = y * s
        k = -w
        return b, k
"""


def by_hand(x, v):
    s = np.sin(x)
    w = v
    if x > 0:
        w = np.exp(v)
        s = s * w.sum()
    return ((np.exp(x) + s) * s, -w) if s > 0 else (s, -w)


def test_a_join_prints_and_parses_back():
    graph = graph_of(NESTED)
    again = toy.graph(str(graph))
    assert str(again) == str(graph)
    assert graph_key(again) == graph_key(graph)
    joins = [node for node in walk(graph.nodes) if isinstance(node, Join)]
    assert [len(join.parameters) for join in joins] == [2, 1]
    assert len(list(ends(graph.block))) == 2


def test_what_paths_lead_to_and_hand_on():
    graph = graph_of(NESTED)
    first, second = [node for node in walk(graph.nodes) if isinstance(node, Join)]
    assert graph.leads[first.body] == {first.label}
    assert graph.leads[second.body] == {second.label}
    assert not graph.leads[graph.block]
    assert [len(graph.given[p]) for p in (*first.parameters, *second.parameters)] == [2, 2, 1]


@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5, 3.5, -3.5])
def test_a_join_runs_as_by_hand(x):
    graph = optimize(graph_of(NESTED), toy.CLIENT, check=True)
    source = emit(graph, "numpy")
    assert source.text.strip() == dedent(BY_HAND).strip()
    run = load(source.text, "f")
    v = np.array([0.5, -1.0, 2.0])
    for ours, theirs in zip(run(x, v), by_hand(x, v), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("step", PIPELINE, ids=lambda step: step.run.__name__)
def test_a_pass_that_changes_nothing_gives_the_graph_itself(step):
    graph = optimize(graph_of(NESTED), toy.CLIENT)
    assert step.run(graph, toy.CLIENT) is graph


def test_memory_is_read_where_a_path_reads_it():
    graph = graph_of(NESTED)
    reads, (first, second) = memory_reads(graph), graph.heads.values()
    taken = first.body.nodes[-1].blocks[0]
    (e,), (_, w) = taken.nodes[0].results, first.parameters
    assert reads.is_read(e, reads.behind(taken.nodes[0], taken))
    assert not reads.is_read(e, reads.blocks[first.after])
    assert all(reads.is_read(w, reads.blocks[block]) for block in second.blocks)
    assert not reads.is_read(w, reads.blocks[first.body])


def test_parameters_of_one_name_have_variables_of_their_own():
    text = """
        graph f(x: float64[], c: bool[]) {
          %s = sin(%x)  # f.py:2 | s = sin(x)
          %e = exp(%s)  # f.py:3 | e = exp(s) + s
          %e.1 = add(%e, %s)  # f.py:3 | e = exp(s) + s
          branch %x bool
            case True
              join %s.1: float64[], %s.2: float64[] as J1
                body
                  branch %c bool
                    case True
                      %s.3 = exp(%x)  # f.py:6 | s = exp(x)
                      %s.4 = neg(%s.3)  # f.py:7 | s = -s
                      again J1 %s.3, %s.4
                    case False
                      again J1 %x, %e.1
                after
                  %r = add(%s.1, %e.1)
                  return %r, %s.2
            case False
              return %x, %e.1
        }
        """
    run = load(emit(optimize(graph_of(text), toy.CLIENT, check=True), "numpy").text, "f")
    e = np.exp(np.sin(0.5)) + np.sin(0.5)
    assert run(0.5, True) == (np.exp(0.5) + e, -np.exp(0.5))
    assert run(0.5, False) == (0.5 + e, e)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda join: replace(join, blocks=join.blocks[:1]), "a join has 1 blocks"),
        (lambda join: replace(join, parameters=join.parameters[:1]), "2 arguments for 1"),
        (lambda join: replace(join, label="L"), "not in the turn of a loop, or before a join"),
        (lambda join: replace(join, parameters=join.parameters[::-1]), "is the next"),
    ],
)
def test_what_is_no_join_is_refused(change, message):
    graph = graph_of(NESTED)
    *nodes, join = graph.nodes
    with pytest.raises(VerifyError, match=message):
        verify(graph.with_block(Block((*nodes, change(join)))))


def test_what_the_body_makes_is_not_read_behind_it():
    text = NESTED.replace("%k = neg(%w)", "%k = neg(%e)")
    with pytest.raises(CodegenError, match="%e is not made before"):
        graph_of(text)


def test_a_join_that_decides_nothing_goes():
    graph = dce(
        graph_of("""
        graph f(x: float64[]) {
          join %a: float64[] as J1
            body
              branch %x bool
                case True
                  %b = sin(%x)
                  again J1 %b
                case False
                  again J1 %x
            after
              return %x
        }
        """)
    )
    assert not graph.nodes


def test_what_all_paths_hand_on_is_no_parameter():
    text = """
        graph f(x: float64[], y: float64[]) {
          join %a: float64[], %b: float64[] as J1
            body
              branch %x bool
                case True
                  %c = sin(%x)
                  again J1 %y, %c
                case False
                  again J1 %y, %x
            after
              %d = add(%a, %b)
              return %d
        }
        """
    (join,) = loop_parameters(graph_of(text)).nodes
    assert [p.origin.name for p in join.parameters] == ["b"]


@pytest.mark.parametrize(("later", "reused"), [("%w", False), ("%q", True)])
def test_what_is_read_behind_a_join_is_not_overwritten_in_it(later, reused):
    text = f"""
        graph f(x: float64[n0], c: bool[]) {{
          %w = exp(%x)
          %q = sin(%x)
          join %y: float64[n0] as J1
            body
              branch %c bool
                case True
                  %a = neg(%w)
                  again J1 %a
                case False
                  again J1 %x
            after
              %r = add(%y, {later})
              return %r
        }}
        """
    graph = verify(lifetime(graph_of(text), toy.CLIENT))
    (call,) = [n for n in walk(graph.nodes) if getattr(n, "op", None) is toy.OPS["neg"]]
    assert (call.reuse is not None) is reused


def test_jax_refuses_paths_that_meet():
    with pytest.raises(CodegenError, match="no form in JAX"):
        emit(optimize(graph_of(NESTED), toy.CLIENT), "jax")


SHOWN = """
    graph f(x: float64[n0], w: float64[n0]) {
      %zero = constant(0.0)
      %z = constant(0)
      %n = constant(9)
      %a = sin(%x)
      %b = exp(%x)
      loop %v = %a, %u = %b for %i in range(%z, %n, 1) as L1
        turn
          %c = mul(%v, %w)
          %t = sum(%c, axis=None, keepdims=False)
          %d = greater(%t, %zero)
          join %k: float64[n0] as J2
            body
              branch %d bool
                case True
                  %r = sum(%w, axis=None, keepdims=False)
                  %e = greater(%r, %zero)
                  join %m: float64[n0] as J3
                    body
                      branch %e bool
                        case True
                          again J3 %c
                        case False
                          again J3 %u
                    after
                      again J2 %m
                case False
                  again J2 %u
            after
              %g = neg(%c)
              again L1 NEXT, %k
        after
          %h = mul(%v, %u)
          return %h
    }
"""


@pytest.mark.parametrize("following", ["%c", "%g"])
def test_what_a_parameter_shows_through_another_is_not_overwritten(following):
    """%k is %c where two branches say so: it is no memory for %g, and none that %v owns."""
    graph = graph_of(SHOWN.replace("NEXT", following))
    fast = verify(lifetime(graph, toy.CLIENT))
    reuse = {c.results[0].origin.name: c.reuse for c in fast.all_nodes if isinstance(c, Call)}
    assert reuse["g"] is None
    assert reuse["c"] == (None if following == "%c" else 0)
    inputs = [np.array([0.3, -0.7, 0.4]), np.array([1.1, 0.8, -0.9])]
    for w in (inputs[1], -inputs[1]):
        given = [inputs[0], w]
        expected = toy.run(graph, given, {"np": np})
        assert np.array_equal(toy.run(fast, given, {"np": np}), expected)
        assert np.array_equal(run(fast, *given), expected[0])


@pytest.mark.parametrize("name", ["total", "elbo", "else_", "elif_", "element"])
def test_what_stands_behind_an_if_in_an_arm_is_no_arm(name):
    """`elbo = ...` behind an ``if`` that ends the other arm: only the ``if`` is no ``elif``."""
    text = """
        graph f(x: float64[n0], w: float64[n0]) {
          %zero = constant(0.0)
          %s = sum(%x, axis=None, keepdims=False)
          %t = sum(%w, axis=None, keepdims=False)
          %c = greater(%s, %zero)
          %d = greater(%t, %zero)
          join %u: float64[n0], %NAME: float64[n0] as J1
            body
              branch %c bool
                case True
                  %a = exp(%w)
                  again J1 %a, %x
                case False
                  join %m: float64[n0] as J2
                    body
                      branch %d bool
                        case True
                          %b = sin(%w)
                          again J2 %b
                        case False
                          again J2 %w
                    after
                      %e = add(%x, %m)
                      again J1 %m, %e
            after
              %y = mul(%u, %NAME)
              return %y
        }
    """
    graph = graph_of(text.replace("NAME", name))
    for sign in (1.0, -1.0):
        for other in (1.0, -1.0):
            given = [sign * np.array([0.3, 0.7]), other * np.array([1.1, 0.8])]
            (expected,) = toy.run(graph, given, {"np": np})
            assert np.array_equal(run(graph, *given), expected)


NEVER_TAKEN = """
    graph f(x: float32[n0], c: bool[]) {
      branch %c bool
        case True
          %a = exp(%x)
          return %a
        case False
          %none = unset(%x)
          %b = sin(%none)
          return %b
    }
"""


def test_what_is_unset_has_a_type_in_jax():
    """An arm is traced there, whether or not a path leads to it."""
    unset = Op("unset", ("x",), toy.same, {"jax": spell("None")}, traits=frozenset({Trait.UNSET}))
    graph = verify(parse(dedent(NEVER_TAKEN).strip(), {**toy.OPS, "unset": unset}))
    f = load(emit(graph, "jax").text, "f")
    x = np.ones(3, np.float32)
    assert np.allclose(f(x, np.True_)[0][0], np.exp(x))
    assert np.isnan(f(x, np.False_)[0][0]).all()
