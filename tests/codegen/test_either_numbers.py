"""Numbers that may be Python's or NumPy's when a program runs (`ArrayType.either`)."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
import toy

from codegen import emit, load, optimize, verify
from codegen.keys import graph_key
from codegen.text import print_graph

TEXT = dedent("""
    graph f(x: float64[n0], limit: float) {
      %z = constant(0.0)
      %first = constant(0)
      %n = constant(3)
      loop %h: float64?[] = %z for %i in range(%first, %n, 1) as L1
        turn
          %v = sum(%x, axis=None, keepdims=False)
          %h.1 = add(%h, %v)
          %c = greater(%h.1, %limit)
          branch %c bool
            case True
              %top = constant(0.5, 'float64?')
              again L1 %top
            case False
              again L1 %h.1
        after
          %half = constant(0.5)
          %r = mul(%h, %half)
          return %r
    }
""").strip()


def test_the_text_says_which_numbers_they_are():
    graph = verify(toy.graph(TEXT))
    assert print_graph(graph) == TEXT
    assert graph_key(graph) != graph_key(toy.graph(TEXT.replace("?", "")))


def test_what_an_operator_makes_of_such_numbers_alone_is_one():
    graph = toy.graph(TEXT)
    made = {v.origin.name: v.type.either for node in graph.all_nodes for v in node.results}
    assert (made["r"], made["v"]) == (True, False)
    loop = next(iter(graph.heads.values()))
    inner = {v.origin.name: v.type.either for node in loop.turn.nodes for v in node.results}
    assert not inner["h"]  # beside a number of NumPy's


@pytest.mark.parametrize("of", [1.0, -1.0])
def test_the_source_leaves_them_what_they_are(of):
    source = emit(optimize(toy.graph(TEXT)), "numpy").text
    assert "np.float64" not in source
    (found,) = load(source, "f")(np.full(2, of), 0.25)
    kind, number = (float, 0.25) if of > 0 else (np.float64, -3.0)
    assert (type(found), found) == (kind, number)
