"""What transforms of Tensors return has a history where the Tensors and the mode ask for it."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.values.pytree import flatten

U = tg.tensor([1.5, -0.5], requires_grad=True)


def cubes(v):
    return (v**3).sum()


def cubes_of_others(v):
    return (v**3 * U).sum()


def value_of_vjp(f, v):
    return tg.vjp(f, v)[0]


def pulled(f, v):
    return tg.vjp(f, v)[1](tg.tensor(1.0))


def pulled_by_a_number(f, v):
    return tg.vjp(f, v)[1](1.0)


def aux_of_vjp(f, v):
    return tg.vjp(lambda v: (f(v), f(v) * 2.0), v, has_aux=True)[2]


def of_make_vjp(f, v):
    pull, value = tg.make_vjp(f)(v)
    return pull(tg.tensor(1.0)), value


def of_elements(f, v):
    return tg.elementwise_grad(lambda v: f(v) * v)(v)


WAYS = [value_of_vjp, pulled, pulled_by_a_number, aux_of_vjp, of_make_vjp, of_elements]
WAYS += [
    lambda f, v: tg.grad(f)(v),
    lambda f, v: tg.value_and_grad(f)(v),
    lambda f, v: tg.jvp(f, (v,), (tg.ones(2),)),
]
MODES = {"grad": nullcontext, "no_grad": tg.no_grad, "inference_mode": tg.inference_mode}


def histories(found):
    return [(x.requires_grad, x.grad_fn is None) for x in flatten(found)[0]]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [cubes, cubes_of_others])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_result_has_a_history_where_the_caller_records(compiled, way, f, mode, requires_grad):
    v = tg.tensor([1.0, 2.0], requires_grad=requires_grad)

    def run(v):
        with MODES[mode]():
            return way(f, v)

    run = tg.compile(run) if compiled else run
    due = mode == "grad" and (requires_grad or f is cubes_of_others)
    for _ in range(2):
        for has, ends in histories(run(v)):
            assert (has, ends) == (due, not due)


def test_the_pull_of_a_vjp_under_no_grad_is_a_constant_map():
    c = tg.tensor([1.0, 2.0])

    def by_cotangent(c, k):
        with tg.no_grad():
            _, pull = tg.vjp(lambda v: (v**3 * U).sum(), c)
        return pull(k)[0].sum()

    def by_result(c, k):
        with tg.no_grad():
            _, pull = tg.vjp(cubes_of_others, c)
        return (pull(tg.tensor(1.0))[0] * U).sum()

    for f, of_u, of_k in ((by_cotangent, None, -1.5), (by_result, [4.5, -6.0], None)):
        for run in (f, tg.compile(f), tg.compile(f)):
            for _ in range(2):
                k = tg.tensor(1.0, requires_grad=True)
                U.grad = None
                run(c, k).backward()
                for x, due in ((U, of_u), (k, of_k)):
                    assert (x.grad is None) == (due is None)
                    if due is not None:
                        np.testing.assert_array_equal(x.grad.numpy(), due)
    U.grad = None


def test_of_several_results_those_have_a_history_that_depend_on_other_tensors():
    c = tg.tensor([1.0, 2.0])

    def two(a, b):
        return tg.grad(lambda a, b: (a**3).sum() + (b * b * U).sum(), argnums=(0, 1))(a, b)

    def of_vjp(a, b):
        value, pull = tg.vjp(lambda a, b: ((a**3).sum(), (b * b * U).sum()), a, b)
        return (*value, *pull((tg.tensor(1.0), tg.tensor(1.0))))

    for f, due in ((two, [False, True]), (of_vjp, [False, True, False, True])):
        for run in (f, tg.compile(f)):
            for _ in range(2):
                assert [x.requires_grad for x in run(c, c)] == due


def test_what_the_function_reads_under_no_grad_is_constant_in_a_program_too():
    c = tg.tensor([1.0, 2.0])

    def f(v, w):
        with tg.no_grad():
            slope = tg.grad(lambda v: (v * v * w).sum())(v)
        return (slope + v * w).sum()

    for run in (f, tg.compile(f)):
        for _ in range(2):
            w = tg.tensor([1.0, 2.0], requires_grad=True)
            run(c, w).backward()
            np.testing.assert_array_equal(w.grad.numpy(), [1.0, 2.0])


def test_a_tensor_of_the_caller_comes_back_as_it_is():
    c = tg.tensor([1.0, 2.0])
    made = U * 2.0
    with tg.no_grad():
        aux = tg.vjp(lambda v: (cubes(v), (U, made)), c, has_aux=True)[2]
    assert aux[0] is U and aux[1] is made
