"""Files of functions that write into arrays from outside: they go on from call to call."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0])


def outside():
    return SimpleNamespace(
        w=np.array([1.0, 2.0]), m=np.ones((2, 2)), d={"k": np.ones(2)}, l=[np.ones(2)]
    )


def an_element(o, x):
    o.w[0] += x[0]
    return o.w * x


def all_of_it(o, x):
    o.w *= 2
    return o.w * x


def by_another_name(o, x):
    w = o.w
    w -= x
    return w.sum() * x


def in_containers(o, x):
    o.d["k"] *= x
    o.l[0] += x
    return o.d["k"] + o.l[0]


def in_turns_and_by_out(o, x):
    for i in range(2):
        o.m[i] += x * i
    np.add(o.m, x, out=o.m)
    return o.m.sum(axis=0)


def one_then_another(o, x):
    o.l[0][:] = o.l[0] * x
    o.w = o.l[0] * 2.0
    return o.w + x


def written_then_replaced(o, x):
    o.w += x
    o.w = 0.5 * o.w
    return o.w * x


def replaced_then_written(o, x):
    old = o.w
    o.w = old * 2.0
    old += 1.0
    return o.w + old


def in_one_arm(o, x):
    if x[0] > 0:
        o.m[0, 0] += 1.0
    else:
        o.m.fill(2.0)
    return o.m @ x


PROGRAMS = (
    *(an_element, all_of_it, by_another_name, in_containers, in_turns_and_by_out),
    *(one_then_another, written_then_replaced, replaced_then_written, in_one_arm),
)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_file_goes_on_from_what_it_wrote(program, backend, tmp_path):
    ours, plain = outside(), outside()

    def f(x):
        return program(ours, x)

    made, path = tg.compile(f, backend=backend), tmp_path / "exported.py"
    made(X)
    program(plain, X)
    made.export(path, X)
    space = {"__file__": str(path)}
    exec(path.read_text(), space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            np.testing.assert_allclose(space["f"](X), program(plain, X), rtol=1e-6)
