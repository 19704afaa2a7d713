"""Generators that a function makes of a seed: each call makes another one, compiled as eagerly."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.random import Generator


def fresh() -> SimpleNamespace:
    """What the programs read and change."""
    return SimpleNamespace(
        n=0, rng=Generator(9), bits=np.random.PCG64(8), seed=np.int64(6), seeds=np.array([3, 4])
    )


def drawn_with_a_constant(s: Any, x: Any) -> Any:
    rng = Generator(0)
    return (x * rng.normal(size=3) + rng.normal()).sum()


def drawn_by_helper(s: Any, x: Any) -> Any:
    rng = Generator(4)
    return (helped(rng, x) + rng.normal()).sum()


def helped(rng: Any, x: Any) -> Any:
    return x * rng.normal(size=3)


def drawn_of_counter(s: Any, x: Any) -> Any:
    s.n += 1
    return (x * Generator(s.n).normal(size=3)).sum()


def drawn_of_counter_in_list(s: Any, x: Any) -> Any:
    s.n += 1
    return (x * Generator([7, s.n]).normal(size=3)).sum()


def drawn_of_numpy_integer(s: Any, x: Any) -> Any:
    return (x * Generator(s.seed).normal(size=3)).sum()


def drawn_of_array(s: Any, x: Any) -> Any:
    return (x * Generator(s.seeds).normal(size=3)).sum()


def drawn_of_length(s: Any, x: Any) -> Any:
    return (x * Generator(3).normal(size=len(x)) * Generator(3).random(x.shape)).sum()


def drawn_alike_in_two_turns(s: Any, x: Any) -> Any:
    rng, total = Generator(1), 0.0
    for k in range(20):
        total = total + (x * rng.integers(2)).sum() * (k + 1)
    return total


def drawn_until(s: Any, x: Any) -> Any:
    rng = Generator(1)
    while x.sum() < 100:
        x = x + rng.integers(0, 2)
    return x.sum()


def drawn_in_an_arm(s: Any, x: Any) -> Any:
    rng = Generator(1)
    if x[0] > 1.5:
        x = x * rng.normal()
    return (x * rng.normal(size=3)).sum()


def drawn_of_what_is_computed(s: Any, x: Any) -> Any:
    rng = Generator(1)
    return (x * rng.poisson(x * x, size=3)).sum() + rng.normal() * x[0]


def drawn_in_inner_derivative(s: Any, x: Any) -> Any:
    rng = Generator(0)
    g = tg.grad(lambda v: (v * v * rng.normal(size=3)).sum())
    return (g(x) + rng.normal(size=3)).sum()


def drawn_in_checkpoint(s: Any, x: Any) -> Any:
    rng = Generator(0)
    h = tg.checkpoint(lambda v: np.tanh(v * rng.normal(size=3)))(x)
    return (h + x * rng.normal(size=3)).sum()


def drawn_of_copies(s: Any, x: Any) -> Any:
    rng = Generator(0)
    return (x * copy.copy(rng).normal(size=3) * copy.deepcopy(rng).normal()).sum() * rng.normal()


def drawn_of_own_bits(s: Any, x: Any) -> Any:
    return (x * Generator(np.random.PCG64(3)).normal(size=3)).sum()


def drawn_of_bits_from_outside(s: Any, x: Any) -> Any:
    return (x * Generator(s.bits).normal(size=3)).sum()


def drawn_in_all_ways(s: Any, x: Any) -> Any:
    r = Generator(5)
    total = (x * r.choice(5, size=3)).sum() + (x * r.choice(np.arange(4.0), size=3)).sum()
    total = total + (r.permutation(x) * r.permutation(3)).sum() + r.bernoulli(0.5, 3).sum() * x[0]
    total = total + (r.gamma(2.0, x, 3)).sum() + r.uniform(0, x).sum() + r.normal(x, 2.0).sum()
    total = total + r.exponential(x).sum() + (r.beta(1.0, 2.0, 3) * x).sum()
    return total + (r.binomial(4, 0.5, 3) * x).sum() + tg.nn.dropout(x, 0.5, generator=r).sum()


def put_back(s: Any, x: Any) -> Any:
    rng = Generator(4)
    state, total = rng.state, 0.0
    for _ in range(10):
        total = total + (x * rng.normal(size=3)).sum()
        rng.state = state
    return total


def put_where_another_stands(s: Any, x: Any) -> Any:
    rng = Generator(4)
    rng.state = s.rng.state
    return (x * (rng.normal(size=3) + s.rng.normal(size=3))).sum()


def set_from_inside(s: Any, x: Any) -> Any:
    s.rng.state = np.random.default_rng(5).bit_generator.state
    return (x * s.rng.normal(size=3)).sum()


def seeded_from_inside(s: Any, x: Any) -> Any:
    tg.manual_seed(0)
    return (x * tg.randn(3)).sum()


def written_to(s: Any, x: Any) -> Any:
    z = Generator(1).normal(size=3)
    z += x
    z[0] = 4.0
    return (z * x).sum()


PROGRAMS = [
    drawn_with_a_constant,
    drawn_by_helper,
    drawn_of_counter,
    drawn_of_counter_in_list,
    drawn_of_numpy_integer,
    drawn_of_array,
    drawn_of_length,
    drawn_alike_in_two_turns,
    drawn_until,
    drawn_in_an_arm,
    drawn_of_what_is_computed,
    drawn_in_inner_derivative,
    drawn_in_checkpoint,
    drawn_of_copies,
    drawn_of_own_bits,
    drawn_of_bits_from_outside,
    drawn_in_all_ways,
    put_back,
    put_where_another_stands,
    set_from_inside,
    seeded_from_inside,
    written_to,
]


def results(
    program: Callable[..., Any], transform: Callable[..., Any]
) -> list[tuple[Any, Any, Any]]:
    """What six calls give and leave behind."""
    s = fresh()
    function, found = transform(lambda x: program(s, x)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for k in range(6):
            value, slope = function(np.array([1.0, 2.0, 3.0]) + k % 2)
            found.append((np.asarray(value).tolist(), slope.tolist(), s.n, repr(s.rng.state)))
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_are_those_of_eager_runs(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = results(program, tg.value_and_grad)
    monkeypatch.setattr(tg.config, "compile", False)
    assert results(program, tg.value_and_grad) == compiled
    plain = fresh()
    for k, (value, *_) in enumerate(compiled):
        x = np.array([1.0, 2.0, 3.0]) + k % 2
        np.testing.assert_allclose(value, np.asarray(program(plain, x)), rtol=1e-12)


def test_same_noise_is_one_program() -> None:
    function = tg.grad(lambda x: drawn_with_a_constant(None, x))
    for _ in range(5):
        function(np.ones(3))
    assert function.cache_info().traces == 1


def test_seeds_are_looked_at() -> None:
    @tg.value_and_grad
    def noisy(x: Any, seed: int) -> Any:
        return (x * tg.random.Generator(seed).normal(size=3)).sum()

    for seed in (5, 5, 6, 5, 6, 7, 5):
        expected = np.random.default_rng(seed).normal(size=3)
        value, slope = noisy(np.ones(3), seed)
        assert value == expected.sum()
        np.testing.assert_array_equal(slope, expected)


def test_programs_for_jax_have_the_numbers() -> None:
    pytest.importorskip("jax")
    function = tg.grad(lambda x: (x * tg.random.Generator(2).normal(size=3)).sum(), backend="jax")
    for _ in range(3):
        np.testing.assert_allclose(
            function(np.ones(3)), np.random.default_rng(2).normal(size=3), rtol=1e-6
        )
