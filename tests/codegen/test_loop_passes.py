"""Graphs with loops enter; every pass minds that what a turn reads may be read in the next."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest
import toy

from codegen import ArrayType, Block, Loop, Value, VerifyError, optimize, parse, verify
from codegen.errors import CodegenError
from codegen.ir import Again, ends, walk
from codegen.keys import graph_key
from codegen.loop_ownership import own_parameters
from codegen.passes.cse import cse
from codegen.passes.dce import dce
from codegen.passes.fuse import WORTH, fuse
from codegen.passes.hoist_comparisons import hoist_comparisons
from codegen.passes.lifetime import lifetime
from codegen.passes.loop_buffers import loop_buffers
from codegen.passes.loop_parameters import loop_parameters
from codegen.passes.own_outputs import own_outputs
from codegen.passes.simplify import simplify
from codegen.types import weak


def clean(text):
    return dedent(text).strip()


def graph_of(text):
    return verify(toy.graph(clean(text)))


# -- text -----------------------------------------------------------------------------------------

SUMMED = """
    graph f(x: float64[], n: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      %c = constant(100.0)
      loop %h: float64[] = %h0, %x.1 = %x for %t in range(%z, %n, 2) as L1  # f.py:3 | for t in r:
        turn
          %a = mul(%h, %x.1)  # f.py:4 | h = h * x + t
          %h.1 = add(%a, %t)  # f.py:4 | h = h * x + t
          %more = greater(%h.1, %c)  # f.py:5 | if h > 100:
          branch %more bool  # f.py:5 | if h > 100:
            case True
              return %h.1
            case False
              again L1 %h.1, %a  # f.py:3 | for t in r:
        after
          return %h
    }
"""

NESTED = """
    graph f(x: float64[n0], n: int) {
      %z = constant(0)
      loop %h = %x as L1
        turn
          loop for %t in range(%z, %n, -1) as L2
            turn
              %s = sum(%h, axis=None, keepdims=False)
              branch %s bool
                case True
                  again L2
                case False
                  again L1 %h
            after
              loop %h.1 = %h, %h.2 = %x as L3
                turn
                  branch %n int
                    case 1
                      %a = neg(%h.1)
                      again L1 %a
                    case 2
                      again L3 %h.2, %h.1
                    case 3
                      return %h, %h.1
    }
"""


@pytest.mark.parametrize("text", [SUMMED, NESTED])
def test_a_loop_prints_and_parses_back(text):
    graph = graph_of(text)
    assert str(graph) == clean(text)
    assert str(toy.graph(str(graph))) == clean(text)


def test_what_a_loop_says_is_what_the_text_says():
    graph = graph_of(SUMMED)
    loop = loop_of(graph)
    assert [len(end.outputs) for end in ends(graph.block)] == [1, 1]
    assert [p.type for p in loop.parameters] == [ArrayType("float64", ())] * 2
    assert loop.arguments[0].type == weak("float")
    assert (loop.counter.index.type, loop.counter.step) == (weak("int"), 2)
    assert loop.operands == (*loop.arguments, loop.counter.start, graph.inputs[1])
    assert loop.origin.line == 3


def test_keys_tell_loops_apart():
    graph = graph_of(SUMMED)
    swapped = SUMMED.replace("again L1 %h.1, %a", "again L1 %a, %h.1")
    others = [
        swapped,
        SUMMED.replace("%n, 2)", "%n, 3)"),
        SUMMED.replace("%x.1 = %x", "%x.1: float64[] = %h0"),
        SUMMED.replace("return %h\n", "return %x.1\n"),
    ]
    assert graph_key(graph) == graph_key(graph_of(SUMMED))
    assert len({graph_key(graph), *(graph_key(graph_of(text)) for text in others)}) == 5


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("again L1 %h.1", "again L2 %h.1", "line 14: no loop or join L2 begins before"),
        ("again L1 %h.1", "again L1 %k", "line 14: %k is not made before"),
        ("return %h\n", "return %t\n", "line 16: %t is not made before"),
        ("return %h\n", "return %a\n", "line 16: %a is not made before"),
        ("%x.1 = %x for", "%x.1 = %y for", "line 5: %y is not made before"),
        ("%x.1 = %x for", "%x.1 for", "line 5: expected '%name = %value' of a parameter"),
        ("%x.1 = %x for", "%x = %x for", "line 5: %x is made twice"),
        ("for %t in", "for %h in", "line 5: %h is made twice"),
        ("%x.1 = %x for", "%x.1: float63[] = %x for", r"line 5: no type float63\[\]"),
        ("        turn\n", "", "line 6: expected 'turn'"),
        ("after", "then", "line 15: expected 'after'"),
        ("          return %h\n", "", "no return"),
    ],
)
def test_what_is_no_loop_is_refused_with_its_line(old, new, message):
    with pytest.raises(CodegenError, match=message):
        parse(clean(SUMMED.replace(old, new, 1)), toy.OPS)


def test_a_label_begins_one_loop():
    with pytest.raises(CodegenError, match="line 5: the loop or join L1 begins twice"):
        parse(clean(NESTED.replace("L2", "L1")), toy.OPS)


# -- the verifier ---------------------------------------------------------------------------------


def loop_of(graph):
    return next(node for node in walk(graph.nodes) if isinstance(node, Loop))


def with_loop(graph, **changes):
    """The graph whose first block ends in a loop, with the loop changed."""
    return graph.replace(nodes=(*graph.nodes[:-1], replace(graph.nodes[-1], **changes)))


def broken(graph, message):
    with pytest.raises(VerifyError, match=message):
        verify(graph)


def test_the_verifier_finds_broken_loops():
    graph = graph_of(SUMMED)
    loop = loop_of(graph)
    x, n = graph.inputs
    counter, (turn, after) = loop.counter, loop.blocks
    made = turn.nodes[0].results[0]
    cases = [
        ({"blocks": (turn,)}, None),
        ({"blocks": (turn, after, after)}, "a loop has 3 blocks"),
        ({"counter": None}, "a loop has 2 blocks"),
        ({"arguments": (x,)}, "1 arguments for 2 parameters"),
        ({"arguments": (x, n)}, None),
        ({"arguments": (x, Value(ArrayType("float32")))}, "is not made before"),
        ({"counter": replace(counter, step=0)}, "the step is 0"),
        ({"counter": replace(counter, stop=x)}, "counts turns"),
        ({"counter": replace(counter, index=Value(ArrayType("int64")))}, "counts turns"),
        ({"blocks": (turn, Block((), (counter.index,)))}, "is not made by the graph"),
        ({"blocks": (turn, Block((), (made,)))}, "is not made by the graph"),
        (
            {"blocks": (turn, Block((Again(loop.label, (x, x)),)))},
            "not in the turn of a loop",
        ),
        ({"blocks": (Block((Again(loop.label, (x,)),)), after)}, "1 arguments for 2 parameters"),
        ({"blocks": (Block((Again(loop.label, (x, n)),)), after)}, "is the next"),
        ({"blocks": (Block((Again(loop.label, (x, x)),), (x,)), after)}, "not the end of its"),
        (
            {"blocks": (Block((Again(object(), (x, x)),)), after)},
            "not in the turn of a loop",
        ),
        ({"parameters": (loop.parameters[0],) * 2}, "is made twice"),
        ({"parameters": (loop.parameters[0], x)}, "is made twice"),
    ]
    for changes, message in cases:
        if message is None:
            verify(with_loop(graph, **changes))
        else:
            broken(with_loop(graph, **changes), message)
    broken(graph.replace(outputs=(x,)), "a loop is not the end of its block")


@pytest.mark.parametrize(
    ("parameter", "argument", "fits"),
    [
        ("float64[]", "constant(0)", True),
        ("float", "constant(0)", True),
        ("complex64[]", "constant(0.5)", True),
        ("int64[]", "constant(0.5)", False),
        ("int", "constant(0.5)", False),
        ("bool", "constant(1)", False),
        ("float64[]", "constant(0.5, 'float32')", False),
        ("float64[n0]", "constant(0.5)", False),
        ("float64[n0]", "transpose(%y)", False),
        ("float32[n0]", "neg(%x)", False),
        ("float64[n0]", "neg(%x)", True),
    ],
)
def test_first_arguments_are_of_the_type_or_numbers_that_fit(parameter, argument, fits):
    text = f"""
        graph f(x: float64[n0], y: float64[n1]) {{
          %a = {argument}
          loop %p: {parameter} = %a as L1
            turn
              again L1 %p
        }}
    """
    if fits:
        verify(toy.graph(clean(text)))
    else:
        broken(toy.graph(clean(text)), "is the first")


def test_labels_are_of_one_loop_each():
    graph = graph_of(NESTED)
    loops = [node for node in walk(graph.nodes) if isinstance(node, Loop)]
    inner = replace(loops[1], label=loops[0].label)
    broken(with_loop(graph, blocks=(Block((inner,)),)), "two loops or joins have the same label")


# -- passes ---------------------------------------------------------------------------------------


def expect(step, before, expected):
    assert str(verify(step(graph_of(before), toy.CLIENT))) == clean(expected)


def leaves_alone(step, text):
    expect(step, text, text)


def test_dce_keeps_what_the_next_turn_needs():
    """%p is needed for %q alone and %r for nothing but itself; the loop stays, and its counter."""
    expect(
        dce,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %u = sin(%x)
          loop %h = %x, %p = %x, %q = %x, %r = %u, %s = %x for %t in range(%z, %n, 1) as L1
            turn
              %a = exp(%q)
              %b = neg(%r)
              %c = neg(%p)
              again L1 %a, %c, %p, %b, %a
            after
              return %h
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          loop %h = %x, %p = %x, %q = %x for %t in range(%z, %n, 1) as L1
            turn
              %a = exp(%q)
              %c = neg(%p)
              again L1 %a, %c, %p
            after
              return %h
        }
        """,
    )


def test_dce_asks_inner_loops_what_outer_ones_need():
    expect(
        dce,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          loop %h = %x, %k = %x as L1
            turn
              loop %i = %h, %j = %k for %t in range(%z, %n, 1) as L2
                turn
                  %a = neg(%i)
                  %b = neg(%j)
                  again L2 %a, %b
                after
                  branch %n int
                    case 1
                      again L1 %i, %j
                    case 2
                      return %n
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          loop as L1
            turn
              branch %n int
                case 1
                  again L1
                case 2
                  return %n
        }
        """,
    )


def test_dce_gives_back_a_graph_without_dead_nodes():
    graph = graph_of(SUMMED)
    assert dce(graph) is graph


def test_cse_finds_in_a_turn_what_was_done_before_it_and_not_what_another_turn_did():
    expect(
        cse,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = exp(%x)
          loop %h = %x for %t in range(%z, %n, 1) as L1
            turn
              %zero = constant(0)
              %b = exp(%x)
              %c = exp(%h)
              %d = mul(%b, %c)
              %e = mul(%a, %c)
              %g = add(%d, %e)
              again L1 %g
            after
              %zero.1 = constant(0)
              %i = exp(%h)
              %j = add(%i, %zero.1)
              return %j
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = exp(%x)
          loop %h = %x for %t in range(%z, %n, 1) as L1
            turn
              %c = exp(%h)
              %d = mul(%a, %c)
              %g = add(%d, %d)
              again L1 %g
            after
              %i = exp(%h)
              %j = add(%i, %z)
              return %j
        }
        """,
    )


def test_cse_leaves_each_loop_an_array_of_its_own_to_write_in():
    leaves_alone(
        cse,
        """
        graph f(n: int) {
          %z = constant(0)
          %a = zeros(shape=(3,))
          %b = zeros(shape=(3,))
          loop %y = %a, %w = %b for %t in range(%z, %n, 1) as L1
            turn
              %y.1 = setitem(%y, %t, index=Subscript((0,)))
              %w.1 = setitem(%w, %t, index=Subscript((1,)))
              again L1 %y.1, %w.1
            after
              return %y, %w
        }
        """,
    )


def test_rules_see_what_was_made_before_the_loop_and_not_the_first_argument():
    expect(
        lambda graph, client: dce(simplify(graph, client)),
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = neg(%x)
          loop %h = %a, %s = %z for %t in range(%z, %n, 1) as L1
            turn
              %b = neg(%a)
              %c = neg(%h)
              %d = mul(%b, %c)
              %e = add(%s, %t)
              again L1 %d, %e
            after
              %g = mul(%h, %s)
              return %g
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = neg(%x)
          loop %h = %a, %s = %z for %t in range(%z, %n, 1) as L1
            turn
              %c = neg(%h)
              %d = mul(%x, %c)
              %e = add(%s, %t)
              again L1 %d, %e
            after
              %g = mul(%h, %s)
              return %g
        }
        """,
    )


def test_a_view_does_not_stand_for_a_copy_that_a_loop_is_given():
    leaves_alone(
        simplify,
        """
        graph f(x: float64[n0, n1], n: int) {
          %z = constant(0)
          %one = constant(1)
          %a = transpose(%x)
          %b = mul(%a, %one)
          loop %h = %b for %t in range(%z, %n, 1) as L1
            turn
              %c = mul(%h, %one)
              %s = sum(%c, axis=0, keepdims=False)
              again L1 %a
            after
              return %h
        }
        """,
    )


def test_parameters_that_stay_as_they_are_go_away():
    """%w through an inner loop, which then does nothing; %v is given another value, %u a number of
    another type."""
    expect(
        loop_parameters,
        """
        graph f(x: float64[], n: int) {
          %z = constant(0)
          loop %w = %x, %v = %x, %u: float64[] = %z for %t in range(%z, %n, 1) as L1
            turn
              loop %i = %w for %s in range(%z, %n, 1) as L2
                turn
                  again L2 %i
                after
                  %a = mul(%i, %v)
                  branch %n int
                    case 1
                      again L1 %i, %x, %u
                    case 2
                      again L1 %w, %a, %u
            after
              return %w, %v, %u
        }
        """,
        """
        graph f(x: float64[], n: int) {
          %z = constant(0)
          loop %v = %x, %u: float64[] = %z for %t in range(%z, %n, 1) as L1
            turn
              %a = mul(%x, %v)
              branch %n int
                case 1
                  again L1 %x, %u
                case 2
                  again L1 %a, %u
            after
              return %x, %v, %u
        }
        """,
    )


def test_parameters_that_are_equal_in_all_turns_are_one():
    """%h and %k are; %p and %q begin equal, but one path gives them different values."""
    expect(
        loop_parameters,
        """
        graph f(x: float64[n0], c: int) {
          loop %h = %x, %k = %x, %p = %x, %q = %x as L1
            turn
              %a = mul(%h, %k)
              %b = mul(%k, %h)
              branch %c int
                case 1
                  again L1 %b, %a, %a, %b
                case 2
                  %e = add(%p, %q)
                  %d = exp(%e)
                  again L1 %k, %h, %d, %p
                case 3
                  return %h, %k, %p, %q
        }
        """,
        """
        graph f(x: float64[n0], c: int) {
          loop %h = %x, %p = %x, %q = %x as L1
            turn
              %a = mul(%h, %h)
              %b = mul(%h, %h)
              branch %c int
                case 1
                  again L1 %b, %a, %b
                case 2
                  %e = add(%p, %q)
                  %d = exp(%e)
                  again L1 %h, %d, %p
                case 3
                  return %h, %h, %p, %q
        }
        """,
    )


def test_parameters_that_change_places_stay():
    leaves_alone(
        loop_parameters,
        """
        graph f(x: float64[n0], y: float64[n0], n: int) {
          %z = constant(0)
          loop %h = %x, %k = %y for %t in range(%z, %n, 1) as L1
            turn
              again L1 %k, %h
            after
              return %h, %k
        }
        """,
    )


def test_narrow_leaves_loops_alone():
    leaves_alone(
        hoist_comparisons,
        """
        graph f(x: float64[n0], n: int) {
          %c = constant(2.0)
          %a = exp(%x)
          %y = sin(%a)
          %m = greater(%a, %c)  # backward:
          loop %h = %y as L1
            turn
              %b = where(%m, %x, %h)  # backward:
              again L1 %b
        }
        """,
    )


# -- memory ---------------------------------------------------------------------------------------


def test_a_buffer_is_filled_in_place():
    expect(
        lifetime,
        """
        graph f(x: float64[], n: int) {
          %z = constant(0)
          %a = zeros(shape=(9,))
          loop %y = %a, %s = %x for %t in range(%z, %n, 1) as L1
            turn
              %u = sin(%s)
              %y.1 = setitem(%y, %u, %t, index=Subscript((Slot(0),)))
              again L1 %y.1, %u
            after
              return %y, %s
        }
        """,
        """
        graph f(x: float64[], n: int) {
          %z = constant(0)
          %a = zeros(shape=(9,))
          loop %y = %a, %s = %x for %t in range(%z, %n, 1) as L1
            turn
              %u = sin(%s)
              %y.1 = setitem(%y, %u, %t, index=Subscript((Slot(0),)), reuse=0)
              again L1 %y.1, %u
            after
              return %y, %s
        }
        """,
    )


def test_buffers_change_places_and_go_through_inner_loops():
    expect(
        lifetime,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = sin(%x)
          %b = exp(%x)
          loop %h = %a, %k = %b for %t in range(%z, %n, 1) as L1
            turn
              loop %i = %h for %s in range(%z, %t, 1) as L2
                turn
                  %c = mul(%i, %x)
                  again L2 %c
                after
                  %d = neg(%k)
                  again L1 %d, %i
            after
              %e = neg(%h)
              %g = add(%e, %k)
              return %g
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = sin(%x)
          %b = exp(%x)
          loop %h = %a, %k = %b for %t in range(%z, %n, 1) as L1
            turn
              loop %i = %h for %s in range(%z, %t, 1) as L2
                turn
                  %c = mul(%i, %x, reuse=0)
                  again L2 %c
                after
                  %d = neg(%k, reuse=0)
                  again L1 %d, %i
            after
              %e = neg(%h, reuse=0)
              %g = add(%e, %k, reuse=0)
              return %g
        }
        """,
    )


def test_parameters_are_in_order_where_all_that_they_are_given_is():
    """%h is, so that the next may lie where it did; %k may be given as %x lies."""
    expect(
        lifetime,
        """
        graph f(x: float64[n0, n0], n: int) {
          %z = constant(0)
          %a = matmul(%x, %x)
          %b = exp(%x)
          loop %h = %a, %k = %b for %t in range(%z, %n, 1) as L1
            turn
              %c = add(%h, %x)
              %d = add(%k, %x)
              again L1 %c, %d
            after
              return %h, %k
        }
        """,
        """
        graph f(x: float64[n0, n0], n: int) {
          %z = constant(0)
          %a = matmul(%x, %x)
          %b = exp(%x)
          loop %h = %a, %k = %b for %t in range(%z, %n, 1) as L1
            turn
              %c = add(%h, %x, reuse=0)
              %d = add(%k, %x)
              again L1 %c, %d
            after
              return %h, %k
        }
        """,
    )


KEPT = """
    graph f(x: float64[n0], n: int) {
      %z = constant(0)
      %a = sin(%x)
      %b = exp(%x)
      %e = exp(%b)
      loop %h = ARGUMENT, %k = %b for %t in range(%z, %n, 1) as L1
        turn
          %c = neg(%h)
          %d = sin(%c)
          TURN
          again L1 NEXT
        after
          %y = neg(%h)
          AFTER
    }
"""


@pytest.mark.parametrize(
    ("argument", "turn", "following", "after"),
    [
        ("%x", "%i = sin(%c)", "%d, %k", "return %y"),  # an input
        ("%b", "%i = sin(%c)", "%d, %k", "return %y"),  # of two parameters
        ("%a", "%i = mul(%a, %c)", "%d, %k", "return %y"),  # read in the turn
        ("%a", "%i = sin(%c)", "%d, %k", "return %y, %a"),  # read afterwards
        ("%a", "%i = sin(%c)", "%k, %x", "return %y"),  # an input in the second turn
        ("%a", "%i = sin(%c)", "%e, %k", "return %y"),  # an array that all later turns are given
        ("%a", "%i = sin(%c)", "%d, %d", "return %y"),  # of two parameters from the next turn on
        ("%a", "%i = transpose(%d)", "%d, %i", "return %y"),  # and a view of it
        ("%a", "%i = transpose(%d)", "%i, %k", "return %y"),  # a view
    ],
)
def test_what_somebody_else_may_read_is_not_overwritten(argument, turn, following, after):
    text = KEPT.replace("ARGUMENT", argument).replace("TURN", turn)
    text = text.replace("NEXT", following).replace("AFTER", after)
    graph = lifetime(graph_of(text), toy.CLIENT)
    loop = loop_of(graph)
    (h, k), (turn_, after_) = loop.parameters, loop.blocks
    assert h not in own_parameters(graph)
    assert (k in own_parameters(graph)) == (following.endswith("%k") and argument != "%b")
    assert turn_.nodes[0].reuse is None and after_.nodes[0].reuse is None


@pytest.mark.parametrize("label", ["L1", "L2"])
def test_what_a_parameter_of_an_inner_loop_shows_is_not_overwritten(label):
    """%i shows %b, as a first argument or from the second turn on, and goes to %k."""
    text = """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = sin(%x)
          loop %h = %a, %k = %x for %t in range(%z, %n, 1) as L1
            turn
              %b = neg(%h)
              loop %i = FIRST for %s in range(%z, %n, 1) as L2
                turn
                  again L2 NEXT
                after
                  again L1 %b, %i
            after
              %c = neg(%h)
              %d = mul(%c, %k)
              return %d
        }
    """
    given = ("%b", "%i") if label == "L1" else ("%x", "%b")
    graph = graph_of(text.replace("FIRST", given[0]).replace("NEXT", given[1]))
    assert not own_parameters(graph)
    fast = verify(lifetime(graph))
    assert loop_of(fast).turn.nodes[0].reuse is loop_of(fast).after.nodes[0].reuse is None


def test_an_array_that_loops_write_to_is_copied_once():
    """Before the outer loop for %y; before each inner one for %u, which the outer turns read."""
    expect(
        loop_buffers,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %s = constant(1.0)
          loop %y = %x, %w = %x for %t in range(%z, %n, 1) as L1
            turn
              loop %v = %y, %u = %x, %r = %x for %i in range(%z, %t, 1) as L2
                turn
                  %a = setitem(%v, %s, %i, index=Subscript((Slot(0),)))
                  %b = setitem(%u, %s, index=Subscript((0,)))
                  %c = setitem(%r, %s, index=Subscript((0,)))
                  again L2 %a, %b, %x
                after
                  again L1 %v, %u
            after
              return %y, %w
        }
        """,
        """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %s = constant(1.0)
          %y = copy(%x)
          loop %y.1 = %y, %w = %x for %t in range(%z, %n, 1) as L1
            turn
              %u = copy(%x)
              loop %v = %y.1, %u.1 = %u, %r = %x for %i in range(%z, %t, 1) as L2
                turn
                  %a = setitem(%v, %s, %i, index=Subscript((Slot(0),)))
                  %b = setitem(%u.1, %s, index=Subscript((0,)))
                  %c = setitem(%r, %s, index=Subscript((0,)))
                  again L2 %a, %b, %x
                after
                  again L1 %v, %u.1
            after
              return %y.1, %w
        }
        """,
    )


def test_own_copies_parameters_but_those_that_are_arrays_of_their_own():
    expect(
        own_outputs,
        """
        graph f(x: float64[n0], s: float64[], n: int) {
          %z = constant(0)
          %a = sin(%x)
          loop %h = %a, %k = %x, %r = %s, %i = %z for %t in range(%z, %n, 1) as L1
            turn
              %b = neg(%h)
              branch %t int
                case 1
                  return %h, %k, %b
                case 2
                  again L1 %b, %k, %r, %t
            after
              return %h, %k, %r, %i
        }
        """,
        """
        graph f(x: float64[n0], s: float64[], n: int) {
          %z = constant(0)
          %a = sin(%x)
          loop %h = %a, %k = %x, %r = %s, %i = %z for %t in range(%z, %n, 1) as L1
            turn
              %b = neg(%h)
              branch %t int
                case 1
                  %k.1 = copy(%k)
                  return %h, %k.1, %b
                case 2
                  again L1 %b, %k, %r, %t
            after
              %k.2 = copy(%k)
              %r.1 = copy(%r)
              return %h, %k.2, %r.1, %i
        }
        """,
    )


def test_own_leaves_numbers_that_loops_compute():
    """%p and %q are given NumPy scalars and a number, %r an element that may be an array."""
    before = """
        graph f(x: float64[n0], n: int) {
          %z = constant(0)
          %a = constant(0.5)
          %b = getitem(%x, index=Subscript((0,)))
          loop %p: float64[] = %a, %q: float64[] = %a, %r = %b for %t in range(%z, %n, 1) as L1
            turn
              %c = mul(%p, %r)
              again L1 %q, %c, %c
            after
              COPY
              return %p, %q, %r
        }
    """
    expected = before.replace("COPY", "%r.1 = copy(%r)").replace("%q, %r\n", "%q, %r.1\n")
    expect(own_outputs, before.replace("              COPY\n", ""), expected)


WRONG = """
    graph f(x: float64[n0], n: int) {
      %z = constant(0)
      %a = sin(%x)
      %b = exp(%x)
      loop %h = %a, %k = %b for %t in range(%z, %n, 1) as L1
        turn
          %c = neg(%h)
          again L1 %c, %k
        after
          %d = neg(%h)
          return %d, %k
    }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("neg(%h)", "neg(%h, reuse=0)", None),
        ("%d = neg(%h)", "%d = neg(%h, reuse=0)", None),
        ("again L1 %c, %k", "again L1 %k, %c", None),
        ("%c = neg(%h)", "%c = sin(%a, reuse=0)", "read later: <a"),
        ("%c = neg(%h)", "%c = neg(%h, reuse=0)\n%e = add(%a, %c)", "read later: <a"),
        ("%d = neg(%h)", "%d = neg(%h, reuse=0)\n%e = add(%d, %a)", "read later: <a"),
        ("%c = neg(%h)", "%c = neg(%k, reuse=0)", "read later: <k"),
        ("L1 %c, %k", "L1 %k, %k", "read later: <k"),
        ("L1 %c, %k", "L1 %c, %h", None),
        ("L1 %c, %k", "L1 %h, %h", "read later: <k"),
        ("%h = %a", "%h = %x", "does not own"),
        ("L1 %c, %k", "L1 %x, %k", "does not own"),
        ("%h = %a, %k = %b", "%h = %a, %k = %a", "read later: <k"),
    ],
)
def test_the_verifier_follows_memory_from_turn_to_turn(old, new, message):
    indent = "\n" + " " * 10
    text = WRONG.replace(old, new.replace("\n", indent), 1)
    if "reuse" not in new:
        text = text.replace("%d = neg(%h)", "%d = neg(%h, reuse=0)")
    graph = toy.graph(clean(text))
    if message is None:
        verify(graph)
    else:
        broken(graph, message)


# -- large arrays ---------------------------------------------------------------------------------


def test_a_turn_has_regions_of_its_own():
    lines = [f"%a.{i + 1} = sin(%a.{i})" for i in range(WORTH)]
    text = f"""
        graph f(x: float64[n0], n: int) {{
          %z = constant(0)
          loop %a.0 = %x for %t in range(%z, %n, 1) as L1
            turn
              {"; ".join(lines)}
              again L1 %a.{WORTH}
            after
              return %a.0
        }}
    """
    graph = optimize(toy.graph(clean(text.replace("; ", "\n" + " " * 14))), toy.CLIENT, check=True)
    tiled = fuse(graph)
    program, body = tiled.functions
    verify(body)
    assert str(verify(program)) == clean(
        """
        graph f_in_tiles(x: float64[n0], n: int) {
          %z = constant(0)
          loop %a = %x for %t in range(%z, %n, 1) as L1
            turn
              %a.1 = in_tiles(%a, body=f_tile)
              again L1 %a.1
            after
              %a.2 = copy(%a)
              return %a.2
        }
        """
    ) + "\n" + str(body)
    assert not body.spent  # it may be the input
