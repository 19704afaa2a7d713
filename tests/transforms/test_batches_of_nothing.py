"""A `vmap` over an axis without elements, and one over axes that differ in length.

Without an example a trace tells what a function would return. Where its way depends on the example
nobody can tell, in eager calls and in compiled ones.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad import config
from tracegrad.errors import ArgumentError

NONE = np.zeros((0, 2))
EVENTS: list[int] = []


@pytest.fixture(params=[True, False], ids=["compiled", "eager"])
def mode(request, monkeypatch):
    monkeypatch.setattr(config, "compile", request.param)


def squares(a):
    return a * a


def turns(a):
    for k in range(20):
        a = a * 0.5 + k
    return a


def total(x):
    return np.sum(tg.vmap(squares)(x))


KNOWN: dict[str, tuple[Any, Any, Any]] = {
    "elementwise": (tg.vmap(squares), NONE, NONE),
    "float32": (tg.vmap(squares), NONE.astype("f4"), NONE.astype("f4")),
    "whole numbers": (tg.vmap(squares), NONE.astype(int), NONE.astype(int)),
    "a number each": (tg.vmap(np.sum), NONE, np.zeros(0)),
    "a constant": (tg.vmap(lambda a: np.ones(4)), NONE, np.zeros((0, 4))),
    "turns": (tg.vmap(turns), NONE, NONE),
    "another axis": (tg.vmap(squares, 1), np.zeros((3, 0)), np.zeros((0, 3))),
    "out_axes": (tg.vmap(squares, out_axes=1), NONE, np.zeros((2, 0))),
    "a tree": (
        tg.vmap(lambda p: (p["w"].sum(), p["w"])),
        {"w": NONE},
        (np.zeros(0), NONE),
    ),
    "within another": (tg.vmap(tg.vmap(squares)), np.zeros((3, 0)), np.zeros((3, 0))),
    "around another": (tg.vmap(tg.vmap(squares)), np.zeros((0, 3)), np.zeros((0, 3))),
    "gradients": (tg.vmap(tg.grad(lambda a: np.sum(a * a))), NONE, NONE),
    "values": (
        tg.vmap(tg.value_and_grad(lambda a: np.sum(a * a))),
        NONE,
        (np.zeros(0), NONE),
    ),
    "Hessians": (tg.vmap(tg.hessian(lambda a: np.sum(a * a))), NONE, np.zeros((0, 2, 2))),
    "a gradient of it": (tg.grad(total), NONE, NONE),
    "a Jacobian of it": (tg.jacobian(tg.vmap(squares)), NONE, np.zeros((0, 2, 0, 2))),
    "compiled": (tg.compile(lambda x: tg.vmap(squares)(x)), NONE, NONE),
    "inverses": (tg.vmap(np.linalg.inv), np.zeros((0, 2, 2)), np.zeros((0, 2, 2))),
    "of a product": (
        tg.vmap(lambda a: np.linalg.inv(np.outer(a, a) + np.eye(2))),
        NONE,
        np.zeros((0, 2, 2)),
    ),
    "logarithms": (tg.vmap(lambda a: np.log(a) / a), NONE, NONE),
}


@pytest.mark.parametrize("case", KNOWN.values(), ids=KNOWN)
def test_results_have_their_shape_and_dtype(mode, case):
    made, x, expected = case
    made.clear_cache()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert_same_bits(made(x), expected)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_tensors(mode, requires_grad):
    found = tg.vmap(squares)(tg.tensor(NONE, requires_grad=requires_grad))
    assert isinstance(found, tg.Tensor)
    assert found.shape == NONE.shape
    assert found.requires_grad == requires_grad


@pytest.mark.parametrize("f", [squares, turns, np.sum])
@pytest.mark.parametrize("first", [0, 3])
def test_one_program_for_any_number_of_examples(f, first):
    made = tg.vmap(f)
    made(np.ones((first, 2)))
    for n in (3, 0, 1, 0):
        assert made(np.ones((n, 2))).shape[0] == n
    assert made.cache_info().versions == 1
    if f is turns:
        assert "for k in range(20)" in made.source(np.ones((3, 2)))


def test_no_program_does_anything_with_one_example():
    """It would raise where there is none."""
    made = tg.vmap(lambda a: np.linalg.inv(a) @ a)
    made(np.stack([np.eye(2)] * 3))
    assert "a[0]" not in made.source(np.zeros((3, 2, 2)))
    assert made(np.zeros((0, 2, 2))).shape == (0, 2, 2)
    nested = tg.vmap(tg.vmap(np.linalg.inv))
    nested(np.broadcast_to(np.eye(2), (3, 4, 2, 2)))
    assert nested(np.zeros((3, 0, 2, 2))).shape == (3, 0, 2, 2)
    with pytest.raises(np.linalg.LinAlgError):
        nested(np.zeros((3, 4, 2, 2)))


def leaves_something(a):
    EVENTS.append(1)
    return a


UNKNOWN: dict[str, Any] = {
    "a branch": lambda a: a * 2 if a[0] > 0 else a * 3,
    "a branch in a derivative": tg.grad(lambda a: np.sum(a) if a[0] > 0 else a[1]),
    "draws": lambda a: a * np.random.normal(),
    "effects": leaves_something,
}


@pytest.mark.filterwarnings("ignore:.*one example after the other", "ignore:.*more than compute")
@pytest.mark.parametrize("f", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("others", [False, True])
def test_what_depends_on_the_example(mode, f, others):
    made, before = tg.vmap(f), len(EVENTS)
    if others:
        made(np.ones((2, 2)))
        before += 2 * (f is leaves_something)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="an axis is empty: there is no example to run"):
            made(NONE)
    assert len(EVENTS) == before


# -- axes that differ in length -------------------------------------------------------------------


def product(a, b):
    return a * b["w"]


DIFFER = r"product: the mapped axes differ in length: a has 3 \(axis 0\), b\['w'\] has 2 \(axis 0\)"


@pytest.mark.parametrize(
    "made",
    [
        tg.vmap(product),
        lambda a, b: tg.compile(lambda x: tg.vmap(product)(x, b))(a),
        lambda a, b: tg.grad(lambda x: np.sum(tg.vmap(product)(x, b)))(a),
        lambda a, b: tg.vmap(product)(tg.tensor(a), b),
    ],
    ids=["itself", "compile", "grad", "Tensors"],
)
def test_lengths_that_differ_are_told_by_the_names_of_arguments(mode, made):
    with pytest.raises(ArgumentError, match=DIFFER):
        made(np.ones(3), {"w": np.ones(2)})


# -- derivatives within, of arrays alone ----------------------------------------------------------

PULLED: dict[str, Any] = {
    "holomorphic_grad": tg.holomorphic_grad(lambda z: z**3),
    "elementwise_grad": tg.elementwise_grad(lambda z: z**3),
    "make_vjp": lambda x: tg.make_vjp(lambda z: z**3)(x)[0](x),
    "vjp": lambda x: tg.vjp(lambda z: z**3, x)[1](x)[0],
    "its value": lambda x: tg.vjp(lambda z: z**3, x)[0],
    "both": lambda x: (lambda out, pull: out * pull(out)[0])(*tg.vjp(lambda z: z**3, x)),
}


@pytest.mark.parametrize("f", PULLED.values(), ids=PULLED)
def test_no_history_is_lost_where_there_is_no_tensor(mode, f):
    complex_ = f is PULLED["holomorphic_grad"]
    x = np.array([1 + 1j, 2]) if complex_ else np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert type(tg.vmap(f)(x)) is np.ndarray


def test_a_pullback_within_still_goes_on_to_tensors_outside(mode):
    w = tg.tensor(3.0, requires_grad=True)
    x = tg.tensor(2.0, requires_grad=True)
    out, pull = tg.vjp(lambda z: w * z**2, x)
    (ct,) = pull(tg.tensor(1.0))
    (out + ct).backward()
    assert w.grad.item() == 8.0
    assert x.grad.item() == 18.0
