"""What a look saw is known behind it: the same look is not made again."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
import toy

from codegen import Join, emit, load, optimize, verify
from codegen.ir import Branch, Check
from codegen.rewrite import same_number

BEHIND_A_CHECK = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      check %c bool True
      %s = sin(%x)
      %d = greater(%x, %z)
      check %d bool True
      branch %d bool
        case True
          return %s
        case False
          return %x
    }
"""
IN_AN_ARM = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      branch %c bool
        case True
          check %c bool True
          %s = sin(%x)
          return %s
        case False
          branch %c bool
            case True
              return %z
            case False
              return %x
    }
"""
OTHERWISE = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      check %c bool True
      check %c bool False
      %s = sin(%x)
      return %s
    }
"""
A_PATH_BEHIND_A_JOIN = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      check %c bool True
      join %y: float64[] as J1
        body
          branch %c bool
            case True
              %s = sin(%x)
              again J1 %s
            case False
              return %x
        after
          %e = exp(%y)
          return %e
    }
"""
NO_PATH_BEHIND_A_JOIN = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      check %c bool True
      join %y: float64[] as J1
        body
          branch %c bool
            case True
              %s = sin(%x)
              return %s
            case False
              again J1 %x
        after
          %e = exp(%y)
          return %e
    }
"""
BEHIND_AN_IF = """
    graph f(x: float64[]) {
      %z = constant(0.0)
      %c = greater(%x, %z)
      join %y: float64[] as J1
        body
          branch %c bool
            case True
              %s = sin(%x)
              again J1 %s
            case False
              again J1 %x
        after
          branch %c bool
            case True
              %e = exp(%y)
              return %e
            case False
              return %y
    }
"""


def optimized(text):
    return verify(optimize(verify(toy.graph(dedent(text).strip()))))


def run(graph, x):
    return load(emit(graph, "numpy").text, "f")(np.float64(x))[0]


def count(graph, kind):
    return sum(isinstance(node, kind) for node in graph.all_nodes)


def test_a_check_is_made_once():
    graph = optimized(BEHIND_A_CHECK)
    assert (count(graph, Check), count(graph, Branch)) == (1, 0)
    assert run(graph, 0.5) == np.sin(0.5)
    with pytest.raises(LookupError):
        run(graph, -0.5)


def test_an_arm_knows_what_led_to_it():
    graph = optimized(IN_AN_ARM)
    assert (count(graph, Check), count(graph, Branch)) == (0, 1)
    assert run(graph, 0.5) == np.sin(0.5)
    assert run(graph, -0.5) == -0.5


def test_a_check_of_the_other_outcome_stays():
    graph = optimized(OTHERWISE)
    assert count(graph, Check) == 2
    for x in (0.5, -0.5):
        with pytest.raises(LookupError):
            run(graph, x)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(A_PATH_BEHIND_A_JOIN, np.exp(np.sin(0.5))), (NO_PATH_BEHIND_A_JOIN, np.sin(0.5))],
)
def test_a_join_of_which_one_path_is_left_is_none(text, expected):
    graph = optimized(text)
    assert (count(graph, Join), count(graph, Branch)) == (0, 0)
    assert run(graph, 0.5) == expected
    with pytest.raises(LookupError):
        run(graph, -0.5)


def test_arms_are_not_known_where_they_meet():
    graph = optimized(BEHIND_AN_IF)
    assert run(graph, 0.5) == np.exp(np.sin(0.5))
    assert run(graph, -0.5) == -0.5


def test_numbers_are_one_where_every_look_sees_them_as_one():
    assert same_number(float("nan"), float("nan"))
    assert same_number(3, 3)
    assert not same_number(0.0, -0.0)
    assert not same_number(1, True)
    assert not same_number(1, 1.0)
    assert not same_number(None, False)
