"""Graphs with loops enter, the Python that one would write by hand leaves, and is run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from textwrap import dedent

import jax
import numpy as np
import pytest
import toy
from loop_graphs import Maker
from test_random_loops import grown

from codegen import CodegenError, emit, load, optimize, verify
from codegen.emit.control_flow import FunctionEmitter
from codegen.ir import Loop, walk
from codegen.passes.lifetime import lifetime
from tracegrad.introspection.drawing import draw_dot, draw_svg

VECTOR = np.array([0.5, -1.5, 2.0, 3.0, -0.25])
MATRIX = np.array([[0.5, -0.25], [1.0, 0.125]])


@dataclass(frozen=True)
class Case:
    """A graph, its source, and the same by hand with inputs for it."""

    graph: str
    source: str
    byhand: str
    inputs: tuple


CASES = {}


def case(name, graph, source, byhand, *inputs):
    CASES[name] = Case(*(dedent(text).strip() for text in (graph, source, byhand)), inputs)


case(
    "a_counted_sum",
    """
    graph f(x: float64[n0], k: int) {
      %s0 = constant(0.0)  # f.py:2 | s = 0.0
      %z = constant(0)
      loop %s: float64[] = %s0 for %t in range(%z, %k, 1) as L1  # f.py:3 | for t in range(k):
        turn
          %s~ = getitem(%x, %t, index=Subscript((Slot(0),)))  # f.py:4 | s = s + x[t]
          %s.1 = add(%s, %s~)  # f.py:4 | s = s + x[t]
          again L1 %s.1
        after
          return %s
    }
    """,
    """
    def f(x, k):
        # f.py:2  s = 0.0
        s = np.float64(0.0)
        # f.py:3  for t in range(k):
        for t in range(k):
            # f.py:4  s = s + x[t]
            s = s + x[t]
        return (s,)
    """,
    """
    def f(x, k):
        s = np.float64(0.0)
        for t in range(k):
            s = s + x[t]
        return (s,)
    """,
    VECTOR,
    3,
)

case(
    "two_values_that_move_on",
    """
    graph f(n: int) {
      %a0 = constant(0)
      %b0 = constant(1)
      %z = constant(0)
      loop %a = %a0, %b = %b0 for %t in range(%z, %n, 1) as L1  # f.py:3 | for _ in range(n):
        turn
          %b~ = add(%a, %b)  # f.py:4 | a, b = b, a + b
          again L1 %b, %b~  # f.py:4 | a, b = b, a + b
        after
          return %a
    }
    """,
    """
    def f(n):
        # f.py:3  for _ in range(n):
        a = 0
        b = 1
        for _ in range(n):
            # f.py:4  a, b = b, a + b
            a, b = b, a + b
        return (a,)
    """,
    """
    def f(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return (a,)
    """,
    9,
)

case(
    "two_values_that_change_places",
    """
    graph f(x: float64[], y: float64[], n: int) {
      %z = constant(0)
      %half = constant(0.5)
      loop %a = %x, %b = %y for %t in range(%z, %n, 1) as L1
        turn
          %a~ = mul(%b, %half)
          again L1 %a~, %a
        after
          %r~ = sub(%a, %b)
          return %r~
    }
    """,
    """
    def f(x, y, n):
        a = x
        b = y
        for _ in range(n):
            a, b = b * 0.5, a
        return (a - b,)
    """,
    """
    def f(x, y, n):
        a, b = x, y
        for _ in range(n):
            a, b = b * 0.5, a
        return (a - b,)
    """,
    np.float64(2.0),
    np.float64(-3.0),
    3,
)

case(
    "a_while",
    """
    graph f(a: float64[], eps: float64[]) {
      %two = constant(2.0)
      loop %x = %a as L1  # f.py:3 | while abs(x * x - a) > eps:
        turn
          %t~ = mul(%x, %x)  # f.py:3 | while abs(x * x - a) > eps:
          %t~.1 = sub(%t~, %a)  # f.py:3 | while abs(x * x - a) > eps:
          %t~.2 = abs(%t~.1)  # f.py:3 | while abs(x * x - a) > eps:
          %t~.3 = greater(%t~.2, %eps)  # f.py:3 | while abs(x * x - a) > eps:
          branch %t~.3 bool
            case True
              %x~ = div(%a, %x)  # f.py:4 | x = (x + a / x) / 2
              %x~.1 = add(%x, %x~)  # f.py:4 | x = (x + a / x) / 2
              %x.1 = div(%x~.1, %two)  # f.py:4 | x = (x + a / x) / 2
              again L1 %x.1
            case False
              return %x
    }
    """,
    """
    def f(a, eps):
        # f.py:3  while abs(x * x - a) > eps:
        x = a
        while np.abs(x * x - a) > eps:
            # f.py:4  x = (x + a / x) / 2
            x = (x + a / x) / 2.0
        return (x,)
    """,
    """
    def f(a, eps):
        x = a
        while np.abs(x * x - a) > eps:
            x = (x + a / x) / 2.0
        return (x,)
    """,
    np.float64(2.0),
    np.float64(1e-9),
)

case(
    "a_while_on_an_argument",
    """
    graph f(x: float64[], eps: float64[]) {
      %two = constant(2.0)
      loop %x.1 = %x as L1
        turn
          %t~ = greater(%eps, %x.1)
          branch %t~ bool
            case True
              %y~ = exp(%x.1)
              return %y~
            case False
              %x.2 = div(%x.1, %two)
              again L1 %x.2
    }
    """,
    """
    def f(x, eps):
        while not eps > x:
            x = x / 2.0
        return (np.exp(x),)
    """,
    """
    def f(x, eps):
        while not eps > x:
            x = x / 2.0
        return (np.exp(x),)
    """,
    np.float64(20.0),
    np.float64(0.3),
)

case(
    "a_test_at_the_end",
    """
    graph f(x: float64[], tol: float64[]) {
      %h = constant(0.5)
      loop %x.1 = %x as L1
        turn
          %x.2 = mul(%x.1, %h)
          %c~ = greater(%x.2, %tol)
          branch %c~ bool
            case True
              again L1 %x.2
            case False
              %y = exp(%x.2)
              return %y
    }
    """,
    """
    def f(x, tol):
        while True:
            x = x * 0.5
            if not x > tol:
                break
        y = np.exp(x)
        return (y,)
    """,
    """
    def f(x, tol):
        while True:
            x = x * 0.5
            if not x > tol:
                break
        return (np.exp(x),)
    """,
    np.float64(20.0),
    np.float64(0.3),
)

case(
    "a_fixed_point",
    """
    graph f(x: float64[], tol: float64[]) {
      loop %h = %x as L1
        turn
          %new = sin(%h)
          %d~ = sub(%h, %new)
          %d~.1 = greater(%d~, %tol)
          branch %d~.1 bool
            case True
              again L1 %new
            case False
              return %new
    }
    """,
    """
    def f(x, tol):
        h = x
        while True:
            new = np.sin(h)
            if not h - new > tol:
                break
            h = new
        return (new,)
    """,
    """
    def f(x, tol):
        h = x
        while True:
            new = np.sin(h)
            if not h - new > tol:
                return (new,)
            h = new
    """,
    np.float64(1.0),
    np.float64(0.01),
)

case(
    "a_break",
    """
    graph f(x: float64[], n: int) {
      %h0 = constant(0.0)  # f.py:2 | h = 0.0
      %z = constant(0)
      %lim = constant(100.0)
      loop %h: float64[] = %h0 for %t in range(%z, %n, 1) as L1  # f.py:3 | for t in range(n):
        turn
          %h~ = mul(%h, %x)  # f.py:4 | h = h * x + t
          %h.1 = add(%h~, %t)  # f.py:4 | h = h * x + t
          %c~ = greater(%h.1, %lim)  # f.py:5 | if h > 100:
          branch %c~ bool  # f.py:5 | if h > 100:
            case True
              %r~ = sin(%h.1)  # f.py:7 | return np.sin(h)
              return %r~
            case False
              again L1 %h.1
        after
          %r~.1 = sin(%h)  # f.py:7 | return np.sin(h)
          return %r~.1
    }
    """,
    """
    def f(x, n):
        # f.py:2  h = 0.0
        h = np.float64(0.0)
        # f.py:3  for t in range(n):
        for t in range(n):
            # f.py:4  h = h * x + t
            h = h * x + t
            # f.py:5  if h > 100:
            if h > 100.0:
                break
        return (np.sin(h),)
    """,
    """
    def f(x, n):
        h = np.float64(0.0)
        for t in range(n):
            h = h * x + t
            if h > 100.0:
                break
        return (np.sin(h),)
    """,
    np.float64(3.0),
    9,
)

case(
    "a_break_before_the_value_changes",
    """
    graph f(x: float64[], n: int) {
      %z = constant(0)
      %one = constant(1)
      %lim = constant(100.0)
      loop %h = %x, %k = %z as L1
        turn
          %t~ = greater(%n, %k)
          branch %t~ bool
            case True
              %h.1 = add(%h, %h)
              %t~.1 = greater(%h.1, %lim)
              branch %t~.1 bool
                case True
                  %y~ = exp(%h)
                  return %y~
                case False
                  %k.1 = add(%k, %one)
                  again L1 %h.1, %k.1
            case False
              %y~.1 = exp(%h)
              return %y~.1
    }
    """,
    """
    def f(x, n):
        h = x
        k = 0
        while n > k:
            h_2 = h + h
            if h_2 > 100.0:
                break
            k = k + 1
            h = h_2
        return (np.exp(h),)
    """,
    """
    def f(x, n):
        h, k = x, 0
        while n > k:
            new = h + h
            if new > 100.0:
                break
            h, k = new, k + 1
        return (np.exp(h),)
    """,
    np.float64(3.0),
    9,
)

case(
    "an_early_return",
    """
    graph f(x: float64[n0], n: int) {
      %z = constant(0)
      %lim = constant(0.0)
      loop for %t in range(%z, %n, 1) as L1
        turn
          %a = getitem(%x, %t, index=Subscript((Slot(0),)))
          %c~ = greater(%lim, %a)
          branch %c~ bool
            case True
              return %a, %t
            case False
              again L1
        after
          %s = sum(%x)
          return %s, %n
    }
    """,
    """
    def f(x, n):
        for t in range(n):
            a = x[t]
            if 0.0 > a:
                return a, t
        s = x.sum()
        return s, n
    """,
    """
    def f(x, n):
        for t in range(n):
            a = x[t]
            if 0.0 > a:
                return a, t
        return x.sum(), n
    """,
    VECTOR,
    3,
)

case(
    "an_inner_sum",
    """
    graph f(x: float64[n0], n: int, m: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      loop %s: float64[] = %h0 for %i in range(%z, %n, 1) as L1
        turn
          loop %r: float64[] = %h0 for %j in range(%z, %m, 1) as L2
            turn
              %a~ = getitem(%x, %j, index=Subscript((Slot(0),)))
              %r.1 = add(%r, %a~)
              again L2 %r.1
            after
              %s~ = mul(%r, %i)
              %s.1 = add(%s, %s~)
              again L1 %s.1
        after
          return %s
    }
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(n):
            r = np.float64(0.0)
            for j in range(m):
                r = r + x[j]
            s = s + r * i
        return (s,)
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(n):
            r = np.float64(0.0)
            for j in range(m):
                r = r + x[j]
            s = s + r * i
        return (s,)
    """,
    VECTOR,
    4,
    3,
)

case(
    "one_variable_for_both_loops",
    """
    graph f(x: float64[n0], n: int, m: int) {
      %h0 = constant(0.0)
      %one = constant(1)
      loop %s: float64[] = %h0 for %i in range(%one, %n, 2) as L1
        turn
          loop %s.1 = %s for %j in range(%i, %m, 1) as L2
            turn
              %s~ = getitem(%x, %j, index=Subscript((Slot(0),)))
              %s.2 = add(%s.1, %s~)
              again L2 %s.2
            after
              again L1 %s.1
        after
          return %s
    }
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(1, n, 2):
            for j in range(i, m):
                s = s + x[j]
        return (s,)
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(1, n, 2):
            for j in range(i, m):
                s = s + x[j]
        return (s,)
    """,
    VECTOR,
    6,
    3,
)

case(
    "a_break_of_the_inner_loop",
    """
    graph f(x: float64[n0], n: int, m: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      loop %s: float64[] = %h0 for %i in range(%z, %n, 1) as L1
        turn
          loop %r: float64[] = %h0 for %j in range(%z, %m, 1) as L2
            turn
              %a~ = getitem(%x, %j, index=Subscript((Slot(0),)))
              %r.1 = add(%r, %a~)
              %c~ = greater(%r.1, %s)
              branch %c~ bool
                case True
                  %s~ = mul(%r.1, %i)
                  %s.1 = add(%s, %s~)
                  again L1 %s.1
                case False
                  again L2 %r.1
            after
              %s~.1 = mul(%r, %i)
              %s.2 = add(%s, %s~.1)
              again L1 %s.2
        after
          %e = exp(%s)
          return %e
    }
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(n):
            r = np.float64(0.0)
            for j in range(m):
                r = r + x[j]
                if r > s:
                    break
            s = s + r * i
        e = np.exp(s)
        return (e,)
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(n):
            r = np.float64(0.0)
            for j in range(m):
                r = r + x[j]
                if r > s:
                    break
            s = s + r * i
        return (np.exp(s),)
    """,
    VECTOR,
    4,
    3,
)

case(
    "a_for_with_else",
    """
    graph f(x: float64[n0], n: int, m: int) {
      %h0 = constant(0.0)
      %one = constant(1.0)
      %z = constant(0)
      loop %s: float64[] = %h0 for %i in range(%z, %n, 1) as L1
        turn
          loop for %j in range(%z, %m, 1) as L2
            turn
              %a = getitem(%x, %j, index=Subscript((Slot(0),)))
              %c~ = greater(%a, %s)
              branch %c~ bool
                case True
                  %s~ = mul(%a, %j)
                  %s.1 = add(%s, %s~)
                  again L1 %s.1
                case False
                  again L2
            after
              %s.2 = add(%s, %one)
              again L1 %s.2
        after
          return %s
    }
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for _ in range(n):
            for j in range(m):
                a = x[j]
                if a > s:
                    break
            else:
                s = s + 1.0
                continue
            s = s + a * j
        return (s,)
    """,
    """
    def f(x, n, m):
        s = np.float64(0.0)
        for i in range(n):
            for j in range(m):
                a = x[j]
                if a > s:
                    break
            else:
                s = s + 1.0
                continue
            s = s + a * j
        return (s,)
    """,
    VECTOR,
    4,
    3,
)

case(
    "if_and_else",
    """
    graph f(x: float64[n0], n: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      loop %s: float64[] = %h0, %k = %z for %i in range(%z, %n, 1) as L1
        turn
          %a = getitem(%x, %i, index=Subscript((Slot(0),)))
          %c~ = greater(%a, %h0)
          branch %c~ bool
            case True
              %s.1 = add(%s, %a)
              again L1 %s.1, %k
            case False
              %d~ = greater(%s, %k)
              branch %d~ bool
                case True
                  %k.1 = add(%k, %i)
                  again L1 %s, %k.1
                case False
                  %s.2 = sub(%s, %a)
                  again L1 %s.2, %k
        after
          return %s, %k
    }
    """,
    """
    def f(x, n):
        s = np.float64(0.0)
        k = 0
        for i in range(n):
            a = x[i]
            if a > 0.0:
                s = s + a
            elif s > k:
                k = k + i
            else:
                s = s - a
        return s, k
    """,
    """
    def f(x, n):
        s, k = np.float64(0.0), 0
        for i in range(n):
            a = x[i]
            if a > 0.0:
                s = s + a
            elif s > k:
                k = k + i
            else:
                s = s - a
        return s, k
    """,
    VECTOR,
    4,
)

case(
    "an_if_without_else",
    """
    graph f(x: float64[n0], n: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      loop %s: float64[] = %h0 for %i in range(%z, %n, 1) as L1
        turn
          %a = getitem(%x, %i, index=Subscript((Slot(0),)))
          %c~ = greater(%a, %h0)
          branch %c~ bool
            case True
              again L1 %s
            case False
              %s.1 = add(%s, %a)
              again L1 %s.1
        after
          return %s
    }
    """,
    """
    def f(x, n):
        s = np.float64(0.0)
        for i in range(n):
            a = x[i]
            if not a > 0.0:
                s = s + a
        return (s,)
    """,
    """
    def f(x, n):
        s = np.float64(0.0)
        for i in range(n):
            a = x[i]
            if not a > 0.0:
                s = s + a
        return (s,)
    """,
    VECTOR,
    4,
)

case(
    "three_loops_and_two_ways_out",
    """
    graph f(x: float64[n0], n: int) {
      %h0 = constant(0.0)
      %z = constant(0)
      loop %s: float64[] = %h0 for %i in range(%z, %n, 1) as L1
        turn
          loop %s.1 = %s for %j in range(%z, %n, 1) as L2
            turn
              loop %s.2 = %s.1 for %k in range(%z, %n, 1) as L3
                turn
                  %a = getitem(%x, %k, index=Subscript((Slot(0),)))
                  %c~ = greater(%a, %s.2)
                  branch %c~ bool
                    case True
                      %s.3 = add(%s.2, %i)
                      again L1 %s.3
                    case False
                      %d~ = greater(%s.2, %k)
                      branch %d~ bool
                        case True
                          %s.4 = sub(%s.2, %j)
                          again L2 %s.4
                        case False
                          %s.5 = add(%s.2, %a)
                          again L3 %s.5
                after
                  again L2 %s.2
            after
              again L1 %s.1
        after
          return %s
    }
    """,
    """
    def f(x, n):
        s = np.float64(0.0)
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    a = x[k]
                    if a > s:
                        s = s + i
                        leave = 0
                        break
                    if s > k:
                        s = s - j
                        leave = 1
                        break
                    s = s + a
                else:
                    continue
                if leave == 0:
                    break
        return (s,)
    """,
    """
    def f(x, n):
        s = np.float64(0.0)
        for i in range(n):
            done = False
            for j in range(n):
                for k in range(n):
                    if x[k] > s:
                        s, done = s + i, True
                        break
                    if s > k:
                        s = s - j
                        break
                    s = s + x[k]
                if done:
                    break
        return (s,)
    """,
    VECTOR,
    4,
)

case(
    "an_array_that_is_filled",
    """
    graph f(x: float64[n0], k: int) {
      %z = constant(0)
      %buf = zeros(shape=(n0,))
      %h0 = constant(1.0)
      loop %buf.1 = %buf, %h: float64[] = %h0 for %t in range(%z, %k, 1) as L1
        turn
          %h~ = getitem(%x, %t, index=Subscript((Slot(0),)))
          %h.1 = mul(%h, %h~)
          %buf.2 = setitem(%buf.1, %h.1, %t, index=Subscript((Slot(0),)), reuse=0)
          again L1 %buf.2, %h.1
        after
          return %buf.1
    }
    """,
    """
    def f(x, k):
        buf = np.zeros(x.shape)
        h = np.float64(1.0)
        for t in range(k):
            h = h * x[t]
            buf[t] = h
        return (buf,)
    """,
    """
    def f(x, k):
        buf = np.zeros(x.shape)
        h = np.float64(1.0)
        for t in range(k):
            h = h * x[t]
            buf[t] = h
        return (buf,)
    """,
    VECTOR,
    3,
)

case(
    "from_the_end",
    """
    graph f(x: float64[n0, n0], v: float64[n0, n0], n: int) {
      %one = constant(1)
      %w = exp(%x)
      %b~ = sum(%w, axis=0, keepdims=False)
      %top~ = sub(%n, %one)
      %low = constant(-1)
      loop %v.1 = %v for %t in range(%top~, %low, -1) as L1
        turn
          %v~ = matmul(%v.1, %w)
          %v~.1 = add(%v~, %b~)
          %v~.2 = sin(%v~.1)
          %v.2 = add(%v~.2, %t)
          again L1 %v.2
        after
          %r = mul(%v.1, %b~)
          return %r
    }
    """,
    """
    def f(x, v, n):
        w = np.exp(x)
        b_1 = w.sum(axis=0)
        for t in reversed(range(n)):
            v = np.sin(v @ w + b_1) + t
        r = v * b_1
        return (r,)
    """,
    """
    def f(x, v, n):
        w = np.exp(x)
        b = w.sum(axis=0)
        for t in reversed(range(n)):
            v = np.sin(v @ w + b) + t
        return (v * b,)
    """,
    MATRIX,
    MATRIX,
    3,
)

case(
    "one_loop_after_another",
    """
    graph f(q: float64[n0], p: float64[n0], n: int) {
      %z = constant(0)
      loop %q.1 = %q, %p.1 = %p for %t in range(%z, %n, 1) as L1  # f.py:2 | for _ in range(n):
        turn
          %p~ = sin(%q.1)  # f.py:3 | p = p - np.sin(q)
          %p.2 = sub(%p.1, %p~)  # f.py:3 | p = p - np.sin(q)
          %q.2 = add(%q.1, %p.2)  # f.py:4 | q = q + p
          again L1 %q.2, %p.2
        after
          %u~ = sum(%q.1)  # f.py:5 | u = q.sum()
          %u = abs(%u~)  # f.py:5 | u = q.sum()
          loop %u.1 = %u as L2  # f.py:6 | while n > u:
            turn
              %c~ = greater(%n, %u.1)  # f.py:6 | while n > u:
              branch %c~ bool  # f.py:6 | while n > u:
                case True
                  %u.2 = add(%u.1, %u.1)  # f.py:7 | u = u + u
                  again L2 %u.2
                case False
                  return %u.1, %p.1
    }
    """,
    """
    def f(q, p, n):
        # f.py:2  for _ in range(n):
        for _ in range(n):
            # f.py:3  p = p - np.sin(q)
            p = p - np.sin(q)
            # f.py:4  q = q + p
            q = q + p
        # f.py:5  u = q.sum()
        u = np.abs(q.sum())
        # f.py:6  while n > u:
        while n > u:
            # f.py:7  u = u + u
            u = u + u
        return u, p
    """,
    """
    def f(q, p, n):
        for _ in range(n):
            p = p - np.sin(q)
            q = q + p
        u = np.abs(q.sum())
        while n > u:
            u = u + u
        return u, p
    """,
    VECTOR,
    VECTOR,
    8,
)

case(
    "a_number_of_another_kind",
    """
    graph f(n: int) {
      %z = constant(0)
      %half = constant(0.5)
      loop %h: float = %z, %g: float64[] = %z, %k: float = %n for %t in range(%z, %n, 1) as L1
        turn
          %h.1 = add(%h, %half)
          %g.1 = sub(%g, %h.1)
          again L1 %h.1, %g.1, %h
        after
          return %h, %g, %k
    }
    """,
    """
    def f(n):
        h = 0.0
        g = np.float64(0)
        k = float(n)
        for _ in range(n):
            h_2 = h + 0.5
            g = g - h_2
            k = h
            h = h_2
        return h, g, k
    """,
    """
    def f(n):
        h, g, k = 0.0, np.float64(0), float(n)
        for _ in range(n):
            h, k = h + 0.5, h
            g = g - h
        return h, g, k
    """,
    3,
)

case(
    "lengths_of_an_argument_that_a_loop_takes",
    """
    graph f(x: float64[n0], n: int) {
      %z = constant(0)
      loop %x.1 = %x, %k = %z as L1
        turn
          %t~ = greater(%n, %k)
          branch %t~ bool
            case True
              %one = constant(1)
              %k.1 = add(%k, %one)
              %x.2 = sin(%x.1)
              again L1 %x.2, %k.1
            case False
              %s = sum(%x.1)
              loop %s.1 = %s for %t in range(%z, %n, 1) as L2
                turn
                  %o~ = zeros(shape=(n0, 2))
                  %o~.1 = sum(%o~)
                  %s.2 = sub(%s.1, %o~.1)
                  again L2 %s.2
                after
                  return %s.1
    }
    """,
    """
    def f(x, n):
        k = 0
        while n > k:
            k = k + 1
            x = np.sin(x)
        s = x.sum()
        for _ in range(n):
            s = s - np.zeros((x.size, 2)).sum()
        return (s,)
    """,
    """
    def f(x, n):
        k = 0
        while n > k:
            k = k + 1
            x = np.sin(x)
        s = x.sum()
        for _ in range(n):
            s = s - np.zeros((x.shape[0], 2)).sum()
        return (s,)
    """,
    VECTOR,
    3,
)

case(
    "outcomes_that_were_seen",
    """
    graph f(x: float64[], n: int) {
      %z = constant(0)
      loop %h = %x for %t in range(%z, %n, 1) as L1  # f.py:2 | for t in range(n):
        turn
          branch %t int  # f.py:3 | if t in (0, 1): ...
            case 0
              again L1 %h
            case 1
              %h.1 = sin(%h)
              again L1 %h.1
            case 2
              return %h
        after
          return %n
    }
    """,
    """
    def f(x, n):
        # f.py:2  for t in range(n):
        h = float(x)
        for t in range(n):
            # f.py:3  if t in (0, 1): ...
            if int(t) == 2:
                return (np.float64(h),)
            elif int(t) == 1:
                h = float(np.sin(h))
            elif int(t) == 0:
                pass
            else:
                raise LookupError("f.py:3  if t in (0, 1): ...  was only ever 0 or 1 or 2")
        return (n,)
    """,
    """
    def f(x, n):
        h = x
        for t in range(n):
            if t == 1:
                h = np.sin(h)
            elif t == 2:
                return (h,)
        return (n,)
    """,
    np.float64(1.0),
    3,
)

case(
    "a_turn_that_is_read_within_a_later_loop",
    """
    graph f(x: float64[n0], n: int) {
      %one = constant(1)
      %two = constant(2)
      %lim = constant(0.0)
      %z = constant(0.0)
      loop for %j in range(%one, %n, 1) as L1
        turn
          %p~ = sub(%j, %one)
          %a~ = getitem(%x, %p~, index=Subscript((Slot(0),)))
          %c~ = greater(%a~, %lim)
          branch %c~ bool
            case True
              loop for %j.1 in range(%two, %n, 1) as L2
                turn
                  %b~ = getitem(%x, %j.1, index=Subscript((Slot(0),)))
                  %c~.1 = greater(%b~, %lim)
                  branch %c~.1 bool
                    case True
                      %y~ = getitem(%x, %p~, index=Subscript((Slot(0),)))
                      %r~ = mul(%y~, %b~)
                      return %r~
                    case False
                      again L2
                after
                  return %z
            case False
              again L1
        after
          return %z
    }
    """,
    """
    def f(x, n):
        for j in range(1, n):
            if x[j - 1] > 0.0:
                for j_2 in range(2, n):
                    b_1 = x[j_2]
                    if b_1 > 0.0:
                        return (x[j - 1] * b_1,)
                return (0.0,)
        return (0.0,)
    """,
    """
    def f(x, n):
        for j in range(1, n):
            if x[j - 1] > 0.0:
                for k in range(2, n):
                    if x[k] > 0.0:
                        return (x[j - 1] * x[k],)
                return (0.0,)
        return (0.0,)
    """,
    np.array([-0.5, 0.25, -1.0, 2.0]),
    4,
)


def function(source):
    return load(source.text, source.name, {"np": np})


def of(case):
    return verify(toy.graph(case.graph))


def same(a, b):
    """Whether two results have the same types and bits."""
    return len(a) == len(b) and all(
        type(x) is type(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(a, b, strict=True)
    )


def returned(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_written_as_by_hand(name):
    text = emit(of(CASES[name]), "numpy").text
    assert text.partition("\n\n\n")[2].strip() == CASES[name].source


@pytest.mark.parametrize("name", CASES)
def test_a_loop_runs_as_by_hand(name):
    case = CASES[name]
    byhand: dict = {"np": np}
    exec(case.byhand, byhand)
    for less in range(max([i for i in case.inputs if isinstance(i, int)], default=0) + 1):
        given = [max(i - less, 0) if isinstance(i, int) else i for i in case.inputs]
        assert same(function(emit(of(case), "numpy"))(*given), byhand["f"](*given))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in CASES if name != "outcomes_that_were_seen"])
def test_a_loop_runs_in_jax_as_by_hand(name):
    case = CASES[name]
    byhand: dict = {"np": np}
    exec(case.byhand, byhand)
    source = emit(of(case), "jax")
    run = load(source.text, source.name, source.names)
    with jax.enable_x64(True):
        for less in (0, 1, 3):
            given = [max(i - less, 0) if isinstance(i, int) else i for i in case.inputs]
            found, expected = run(*given), byhand["f"](*given)
            if isinstance(found, tuple) and isinstance(found[-1], tuple):
                found = found[0]  # behind it are the looks
            jax.tree.map(np.testing.assert_allclose, found, expected)


def test_outcomes_that_nobody_has_seen_have_no_form_in_jax():
    with pytest.raises(CodegenError, match="outcomes that nobody has seen"):
        emit(of(CASES["outcomes_that_were_seen"]), "jax")


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_drawn(name):
    graph = of(CASES[name])
    loops = [node for node in walk(graph.nodes) if isinstance(node, Loop)]
    assert draw_dot(graph).count("subgraph") >= len(loops)
    assert "</svg>" in draw_svg(graph)


# -- random graphs --------------------------------------------------------------------------------

EACH = 20


@pytest.mark.parametrize("block", range(6))
def test_any_loops_run_as_the_graph_does(block):
    for seed in range(block * EACH, (block + 1) * EACH):
        graph = verify(Maker(seed).graph())
        made = function(emit(graph, "numpy"))
        for n in (0, 1, 2, 4):
            given = np.float64(0.7 - n), VECTOR[:3] * n, n
            assert same(returned(made(*given)), tuple(toy.run(graph, given, {"np": np}))), seed


@pytest.mark.parametrize("block", range(2))
def test_what_is_overwritten_in_turns_is_nobody_elses(block):
    for seed in range(block * EACH, (block + 1) * EACH):
        graph = grown(seed)
        random = np.random.default_rng(seed)
        given = [random.normal(size=shape) for shape in ((4,), (4,), (4, 4), (4, 4), ())]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = [np.array(output) for output in toy.run(graph, given, {"np": np})]
            for changed in (optimize(graph, toy.CLIENT), verify(lifetime(graph))):
                copies = [array.copy() for array in given]
                outputs = returned(function(emit(changed, "numpy"))(*copies))
                assert same([np.array(output) for output in outputs], wanted), seed
                assert same(copies, given), seed


def test_the_random_graphs_leave_loops_in_every_way(monkeypatch):
    """Breaks to what follows, to turns further out, by several ways, and to what is not shared."""
    found = dict.fromkeys(("merged", "sunk", "beyond", "flag"), 0)
    plan = FunctionEmitter._plan

    def counted(self, turns, ended):
        plan(self, turns, ended)
        for name in found:
            found[name] += bool(getattr(turns, name))

    monkeypatch.setattr(FunctionEmitter, "_plan", counted)
    for seed in range(5 * EACH):
        emit(Maker(seed).graph(), "numpy")
    assert min(found.values()) > 0, found
