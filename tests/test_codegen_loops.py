"""Graphs with loops enter; every pass minds that what a turn reads may be read in the next."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest
import toy

from codegen import ArrayType, Block, Loop, Value, VerifyError, parse, verify
from codegen.errors import CodegenError
from codegen.ir import Again, ends, walk
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
    assert graph.key == graph_of(SUMMED).key
    assert len({graph.key, *(graph_of(text).key for text in others)}) == 5


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("again L1 %h.1", "again L2 %h.1", "line 14: no loop L2 begins before"),
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
    with pytest.raises(CodegenError, match="line 5: the loop L1 begins twice"):
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
        ({"blocks": (turn,)}, "a loop has 1 blocks"),
        ({"counter": None}, "a loop has 2 blocks"),
        ({"arguments": (x,)}, "1 arguments for 2 parameters"),
        ({"arguments": (x, n)}, None),
        ({"arguments": (x, Value(ArrayType("float32")))}, "is not made before"),
        ({"counter": replace(counter, step=0)}, "the step is 0"),
        ({"counter": replace(counter, stop=x)}, "counts turns"),
        ({"counter": replace(counter, index=Value(ArrayType("int64")))}, "counts turns"),
        ({"blocks": (turn, Block((), (counter.index,)))}, "is not made by the graph"),
        ({"blocks": (turn, Block((), (made,)))}, "is not made by the graph"),
        ({"blocks": (turn, Block((Again(loop.label, (x, x)),)))}, "not in the turn of a loop"),
        ({"blocks": (Block((Again(loop.label, (x,)),)), after)}, "1 arguments for 2 parameters"),
        ({"blocks": (Block((Again(loop.label, (x, n)),)), after)}, "is the next"),
        ({"blocks": (Block((Again(loop.label, (x, x)),), (x,)), after)}, "not the end of its"),
        ({"blocks": (Block((Again(object(), (x, x)),)), after)}, "not in the turn of a loop"),
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
    broken(with_loop(graph, blocks=(Block((inner,)),)), "two loops have the same label")
