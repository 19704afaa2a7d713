"""What a compiled call keeps of views lies in memory as on an eager tape: strides decide bits."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.ops.elementwise.arrays_and_scalars import copy_as_it_lies


def in_turns(B, b):
    s = b[: B.shape[0]]
    for _ in range(3):
        s = np.tanh(B @ (B.T @ s))
    return s.sum()


def behind_an_if(B, b):
    C = B if b[0] > -100.0 else B * 2.0
    return (C.T @ b[: B.shape[0]]).prod()


VIEWS = {
    "rows backwards": lambda A: A[::-1],
    "columns backwards": lambda A: A[:, ::-1],
    "transposed": lambda A: A[::-1].T,
    "of the transposed": lambda A: A.T[:, ::-1],
    "every second row": lambda A: A[::-2],
    "every second column": lambda A: A[:, ::2],
    "columns apart": lambda A: A[:, :: A.shape[1] - 1],
    "both": lambda A: A[1:-1, ::-1],
    "flipped": lambda A: np.flip(A, 0),
    "repeated": lambda A: np.broadcast_to(A[0, ::-1], (4, A.shape[1])),
    "of three axes": lambda A: A.reshape(A.shape[0], 2, -1)[:, 1, ::-1],
}
PROGRAMS = {
    "matrix and vector": lambda B, b: (B @ b[: B.shape[1]]).prod(),
    "vector and matrix": lambda B, b: (b[: B.shape[0]] @ B).prod(),
    "np.dot": lambda B, b: np.dot(B.T, b[: B.shape[0]]).prod(),
    "np.tensordot": lambda B, b: np.tensordot(B, b[: B.shape[0]], ((0,), (0,))).prod(),
    "np.einsum": lambda B, b: np.einsum("ij,j->i", B, b[: B.shape[1]]).prod(),
    "a loop": in_turns,
    "an if": behind_an_if,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_have_the_bits_of_the_eager_tape(view, program):
    def f(A, b):
        return PROGRAMS[program](VIEWS[view](A), b)

    compiled, later = tg.compile(f), tg.value_and_grad(f, argnums=(0, 1))
    for seed in range(3):
        drawn = np.random.default_rng(seed)
        a, v = drawn.normal(size=(12, 12)), drawn.normal(size=12)
        found = []
        for h in (f, compiled):
            A, b = tg.tensor(a, requires_grad=True), tg.tensor(v, requires_grad=True)
            y = h(A, b)
            y.backward()
            found.append((y.detach().numpy(), A.grad.numpy(), b.grad.numpy()))
        y, pull = tg.vjp(f, a, v)
        value, gradients = later(a, v)
        for other in (found[1], (y, *pull(1.0)), (value, *gradients)):
            assert_same_bits(found[0], other)


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "repeated"])
@pytest.mark.parametrize("shape", [(12, 12), (200, 200), (4, 6)])
def test_a_copy_has_the_directions_and_the_gaps_of_what_it_copies(view, shape):
    array = VIEWS[view](np.arange(float(np.prod(shape))).reshape(shape))
    copied = copy_as_it_lies(array)
    np.testing.assert_array_equal(copied, array)
    assert not np.shares_memory(copied, array)
    assert copied.nbytes == array.nbytes
    assert list(np.sign(copied.strides)) == list(np.sign(array.strides))
    sizes, others = np.abs(array.strides), np.abs(copied.strides)
    assert list(sizes == 8) == list(others == 8)
    assert list(np.argsort(sizes)) == list(np.argsort(others))


def test_large_gaps_are_closed():
    array = np.zeros((300, 300))[::-1, ::100]
    copied = copy_as_it_lies(array)
    assert copied.strides == (-48 - 8, 16)
    assert copied.base.nbytes < 3 * array.nbytes


def test_what_is_repeated_is_written_to_by_itself():
    for part in (np.arange(3.0), np.arange(6.0)[::2], np.arange(3.0)[::-1]):
        for shape in ((4, 3), (2, 3), (2, 4, 3)):
            copied = copy_as_it_lies(np.broadcast_to(part, shape))
            copied[0] = 7.0
            np.testing.assert_array_equal(copied[1], np.broadcast_to(part, shape)[1])


def test_empty_arrays_are_copied():
    assert copy_as_it_lies(np.zeros((0, 4))[:, ::-1]).shape == (0, 4)
