"""Every op of the table is tried because it is in the table.

Values against NumPy, types against type rules, derivatives against differences and against JAX,
second derivatives, dtypes, broadcasting, empty and non-contiguous operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from checks import (
    assert_close,
    assert_same_bits,
    direction_like,
    dot,
    leaves,
    slope,
    wide_jax,
)
from samples.sampling import (
    CLOSE,
    DERIVED_OTHERWISE,
    DTYPES,
    GENERATORS,
    HERMITIAN,
    NOT_IN_JAX,
    PHASE_FREE,
    REFERENCES,
    TOGETHER,
    Draw,
    Sample,
    elementwise,
    is_elementwise,
    samples,
)

import tracegrad as tg
from codegen.load import kernel
from codegen.sizes import Sizes
from tracegrad import config
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.values.dispatch import type_of

every_op = pytest.mark.parametrize("op", TABLE.values(), ids=lambda op: op.name)
differentiable = pytest.mark.parametrize(
    "op",
    [op for op in TABLE.values() if op.vjp is not None and op.name not in TOGETHER],
    ids=lambda op: op.name,
)
with_operands = pytest.mark.parametrize(
    "op", [op for op in TABLE.values() if op.operands], ids=lambda op: op.name
)


@pytest.fixture(autouse=True)
def verified_graphs(monkeypatch):
    """Every graph is verified between passes."""
    monkeypatch.setattr(config, "check", True)


@pytest.fixture(autouse=True)
def quiet_arithmetic():
    with np.errstate(all="ignore"):
        yield


# -- calling an op ------------------------------------------------------------------------------


def on_numpy(op: OpRecord, sample: Sample) -> Any:
    """The op's kernel on the operands; several results are a tuple."""
    result = op.kernel(sample.attributes)(*sample.operands, **sample.attributes)
    return tuple(result) if isinstance(result, list) else result


def boxed(operands: Sequence[Any]) -> list[Any]:
    """Tensors around the operands themselves, whatever their layout in memory is."""
    return [x if isinstance(x, bool | int | float) else tg.Tensor(x, copy=False) for x in operands]


def takes(op: OpRecord, sample: Sample) -> bool:
    """Whether NumPy has the op for these dtypes."""
    try:
        on_numpy(op, sample)
    except TypeError:
        return False
    return True


def floating(operands: Sequence[Any]) -> list[int]:
    """The places of the operands that may be differentiated."""
    return [i for i, x in enumerate(operands) if np.asarray(x).dtype.kind in "fc"]


def as_function(op: OpRecord, sample: Sample) -> Callable[..., Any]:
    """``f(xs, rest)``: the op on floating operands `xs` and all others, as one would call it."""
    places = floating(sample.operands)

    def f(xs, rest):
        xs, rest = iter(xs), iter(rest)
        operands = [next(xs if i in places else rest) for i in range(len(sample.operands))]
        return op(*operands, **sample.attributes)

    return f


def separated(sample: Sample) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    places = floating(sample.operands)
    xs = tuple(x for i, x in enumerate(sample.operands) if i in places)
    rest = tuple(x for i, x in enumerate(sample.operands) if i not in places)
    return xs, rest


def compiled_value(op: OpRecord, sample: Sample) -> Any:
    return tg.compile(as_function(op, sample))(*separated(sample))


def spread(tried: Sequence[Sample], most: int) -> Sequence[Sample]:
    """At most so many samples, spread over all of them."""
    return tried[:: -(-len(tried) // most) or 1]


# -- values and types ---------------------------------------------------------------------------


@every_op
def test_has_samples(op):
    assert is_elementwise(op) or op.name in GENERATORS, f"write a generator for {op.name}"
    tried = [sample for dtype in DTYPES for sample in samples(op, dtype)]
    assert any(takes(op, sample) for sample in tried), f"write samples for {op.name}"
    for name, default in op.attributes.items():
        assert all(default is not ... or name in sample.attributes for sample in tried), (
            f"write samples for {op.name} with the attribute {name}"
        )


@every_op
def test_values(op, few):
    """Eager and compiled give NumPy's bits; compiled are a few, and one with each attributes."""
    reference = REFERENCES.get(op.name)
    if op.name not in CLOSE and reference is None:
        reference = getattr(np, op.name, None)
    tried = list(samples(op, "int64" if op.domain == "integer" else "float64"))
    compiled = {repr(sample.attributes): n for n, sample in enumerate(tried)}.values()
    compiled = {*compiled, *few(range(len(tried)), 4)}
    for n, sample in enumerate(tried):
        expected = on_numpy(op, sample)
        if reference is not None:
            by_name = reference(*sample.operands, **sample.attributes)
            assert_same_bits(by_name, expected, str(sample))
        if op.name in CLOSE:
            by_definition = CLOSE[op.name](*sample.operands, **sample.attributes)
            assert_close(expected, by_definition, 1e-12, what=str(sample))
        assert_same_bits(op(*boxed(sample.operands), **sample.attributes), expected, str(sample))
        if n in compiled:
            assert_same_bits(compiled_value(op, sample), expected, f"compiled {sample}")


@every_op
def test_dtypes(op):
    """The type rule says what NumPy gives; a dtype that NumPy refuses is refused."""
    refused: set[str] = set()
    for dtype, sample in ((of, sample) for of in DTYPES for sample in samples(op, of)):
        if dtype in refused:
            continue
        if not takes(op, sample):
            with pytest.raises(TypeError):
                op(*boxed(sample.operands), **sample.attributes)
            refused.add(dtype)
            continue
        expected = on_numpy(op, sample)
        types = [type_of(x) for x in sample.operands]
        inferred = op.infer(Sizes(), *types, **sample.attributes)
        several = inferred if isinstance(inferred, tuple) else (inferred,)
        results = expected if isinstance(inferred, tuple) else (expected,)
        for rule, result in zip(several, results, strict=True):
            assert (rule.dtype, rule.shape) == (result.dtype.name, result.shape), str(sample)
        assert_same_bits(op(*boxed(sample.operands), **sample.attributes), expected, str(sample))


@pytest.mark.sampled(5)
@every_op
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_programs(op, dtype):
    """A compiled call gives NumPy's bits in every dtype, or refuses the dtype as NumPy does.

    (A program differs by dtype and by shape; of all shapes there is one in `test_values`, so one
    is compiled, another for each dtype.)
    """
    tried = samples(op, dtype)
    if not tried:
        return
    sample = tried[DTYPES.index(dtype) % len(tried)]
    if takes(op, sample):
        assert_same_bits(compiled_value(op, sample), on_numpy(op, sample), str(sample))
    else:
        with pytest.raises(TypeError):
            compiled_value(op, sample)


@pytest.mark.parametrize("dtype", ["bool", *"bhilq", *"BHILQ"])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod, np.mean])
def test_reductions_of_any_integers_are_as_wide_as_numpys(function, dtype):
    x = np.array([3, 1, 2]).astype(dtype)
    expected = function(x)
    assert_same_bits(tg.compile(lambda x: function(x))(x), expected, "compiled")
    assert_same_bits(function(tg.tensor(x)), expected, "eager")


MIXED = [
    ("bool", "int32"),
    ("int32", "int64"),
    ("int32", "float32"),
    ("int64", "float32"),
    ("bool", "float32"),
    ("float32", "float64"),
    ("float32", "complex128"),
    ("int64", "complex128"),
]
PYTHON_NUMBERS = {"bool": 3, "int32": 2, "int64": 1.5, "float32": 1.5, "float64": 2}


@pytest.mark.parametrize(
    "op",
    [op for op in TABLE.values() if is_elementwise(op) and len(op.operands) == 2],
    ids=lambda op: op.name,
)
def test_mixed_dtypes_and_python_numbers(op, few):
    pairs = []
    for a, b in (*MIXED, *((b, a) for a, b in MIXED)):
        for left in elementwise(op, a, (2,), (2,)):
            for right in elementwise(op, b, (2,), (2,)):
                pairs.append((left.operands[0], right.operands[1]))
    for dtype, number in PYTHON_NUMBERS.items():
        for sample in elementwise(op, dtype, (2,), (2,)):
            pairs += [(sample.operands[0], number), (number, sample.operands[1])]
            pairs.append((sample.operands[0], sample.operands[1][0]))
    tried = [sample for operands in pairs if takes(op, sample := Sample(operands, {}))]
    compiled = few([*map(id, tried)], 9)
    for sample in tried:
        expected = on_numpy(op, sample)
        assert_same_bits(op(*boxed(sample.operands)), expected, str(sample))
        if id(sample) in compiled:
            assert_same_bits(compiled_value(op, sample), expected, f"compiled {sample}")


def layouts(operands: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """The same values in other memory orders."""

    def strided(x: np.ndarray) -> np.ndarray:
        return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x

    def reverse(x: np.ndarray) -> np.ndarray:
        return np.flip(np.flip(x).copy()) if x.ndim else x

    return [
        ("Fortran", [np.asfortranarray(x) if np.ndim(x) > 1 else x for x in operands]),
        ("strided", [strided(x) for x in operands]),
        ("reversed", [reverse(x) for x in operands]),
    ]


@with_operands
def test_memory_layouts(op, few):
    """Compiled equals eager on operands in any memory order, and neither changes them.

    One function for all orders, whose first call, which is traced, is another one each time.
    """
    every = samples(op, "int64" if op.domain == "integer" else "float64")
    for n, sample in enumerate(few(every, 2)):
        expected, compiled = on_numpy(op, sample), tg.compile(as_function(op, sample))
        tried = layouts(sample.operands)
        for name, operands in (*tried[n % 3 :], *tried[: n % 3]):
            other = Sample(tuple(operands), sample.attributes)
            what = f"{name} {sample}"
            assert_close(on_numpy(op, other), expected, 1e-14, what=what)
            assert_same_bits(op(*boxed(operands), **sample.attributes), on_numpy(op, other), what)
            found = compiled(*separated(other))
            assert_same_bits(found, on_numpy(op, other), f"compiled {what}")
            assert_same_bits(operands, list(sample.operands), what)


# -- derivatives --------------------------------------------------------------------------------


def weights_for(op: OpRecord, sample: Sample) -> list[np.ndarray]:
    result = on_numpy(op, sample)
    results = result if isinstance(result, tuple) else (result,)
    return direction_like([np.asarray(r) for r in results], 11)


def loss_of(op: OpRecord, sample: Sample, curved: bool = False) -> Callable[..., Any]:
    """A number made of the op's result; `curved` makes its cotangent depend on the result."""
    f = as_function(op, sample)
    weights = weights_for(op, sample)

    def loss(xs, rest):
        y = f(xs, rest)
        several = y if isinstance(y, tuple | list) else (y,)
        total = 0.0
        for w, r in zip(weights, several, strict=True):
            if np.asarray(w).dtype.kind == "c":
                total = total + np.real(np.sum(w * r))
            else:
                total = total + (np.sum(w * r * r) if curved else np.sum(w * r))
        return total

    return loss


def precise(sample: Sample) -> bool:
    """Whether the attributes keep 64 bits, which differences need."""
    return sample.attributes.get("dtype") != "float32"


def flows(op: OpRecord, sample: Sample) -> bool:
    """Whether the sample has something to differentiate, and a result that depends on it."""
    xs, _ = separated(sample)
    result = on_numpy(op, sample)
    results = result if isinstance(result, tuple) else (result,)
    return bool(xs) and any(np.asarray(r).dtype.kind in "fc" for r in results)


def direction_for(op: OpRecord, xs: Any, seed: int) -> Any:
    """Random numbers like the operands; Hermitian where the op is of such matrices."""
    drawn = direction_like(xs, seed)
    return tuple(map(hermitian, drawn)) if op.domain in HERMITIAN else drawn


def hermitian(x: Any) -> Any:
    """The part that a function of Hermitian matrices can depend on."""
    return (x + np.swapaxes(np.conj(x), -1, -2)) / 2


def real_dot(gradient: Any, direction: Any) -> float:
    """The change along a direction: for complex numbers the real part of the product."""
    return float(np.real(dot(gradient, direction)))


@differentiable
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(op, dtype, few):
    """Those of one program: against differences, in other memory orders, bit for bit as eager."""
    if dtype == "complex128" and op.name in PHASE_FREE:
        dtype = "float64"
    tried = [s for s in samples(op, dtype) if takes(op, s) and flows(op, s)]
    for n, sample in enumerate(few(tried, 3 if dtype == "float64" else 2)):
        xs, rest = separated(sample)
        loss = loss_of(op, sample)
        gradient = tg.grad(loss)
        found = gradient(xs, rest)
        for x, g in zip(xs, found, strict=True):
            assert np.asarray(g).dtype == np.asarray(x).dtype, str(sample)
            assert np.shape(g) == np.shape(x), str(sample)
        if precise(sample):
            assert_as_differences(op, sample, loss, found)
        if dtype == "float64":
            assert_eager_is(found, loss, xs, rest, sample)
            if n == 0:
                for name, others in layouts(xs):
                    what = f"{name} {sample}"
                    assert_close(gradient(tuple(others), rest), found, 1e-12, what=what)


def assert_as_differences(op: OpRecord, sample: Sample, loss: Any, gradient: Any) -> None:
    """The gradient is the slope of the loss along a random direction."""
    xs, rest = separated(sample)
    v = direction_for(op, xs, 5)
    expected = slope(
        lambda h: float(loss(tuple(x + h * d for x, d in zip(xs, v, strict=True)), rest))
    )
    if np.isfinite(expected):  # the mean of nothing is nan, its empty gradient is not
        found = real_dot(gradient, v)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-7), str(sample)


def assert_eager_is(gradient: Any, loss: Any, xs: Any, rest: Any, sample: Sample) -> None:
    """Eager backwards, interpreted and then compiled, have the bits of the compiled gradient."""
    for _ in range(2):
        tensors = tuple(tg.tensor(x, requires_grad=True) for x in xs)
        value = loss(tensors, rest)
        if value.requires_grad:
            value.backward()
        found = [np.zeros(t.shape) if t.grad is None else t.grad for t in tensors]
        assert_same_bits(found, list(gradient), str(sample))


@pytest.mark.sampled(3)
@differentiable
def test_second_derivatives_against_differences(op, few):
    tried = [s for s in samples(op, "float64") if flows(op, s) and precise(s)]
    for sample in few(tried, 2):
        xs, rest = separated(sample)
        gradient = tg.grad(loss_of(op, sample, curved=True))
        v = direction_for(op, xs, 6)
        second = tg.grad(lambda xs, rest, g=gradient, v=v: dot(g(xs, rest), v))

        def along(h: float, xs=xs, v=v, g=gradient, rest=rest) -> np.ndarray:
            moved = tuple(x + h * d for x, d in zip(xs, v, strict=True))
            return np.concatenate([np.ravel(part) for part in g(moved, rest)])

        found = np.concatenate([np.ravel(part) for part in second(xs, rest)])
        assert_close(found, slope(along), rtol=1e-6, atol=1e-6, what=str(sample))


@pytest.mark.sampled(2)
@differentiable
def test_derivatives_keep_the_dtype_of_their_operand(op, few):
    """float32 operands have float32 gradients that agree with those of float64."""
    tried = [s for s in samples(op, "float32") if flows(op, s) and "dtype" not in s.attributes]
    for sample in few(tried, 1):
        xs, rest = separated(sample)
        found = tg.grad(loss_of(op, sample))(xs, rest)
        wide_xs = tuple(np.asarray(x, dtype=np.float64) for x in xs)
        wide = Sample(
            tuple(
                np.asarray(x, dtype=np.float64) if i in floating(sample.operands) else x
                for i, x in enumerate(sample.operands)
            ),
            sample.attributes,
        )
        expected = tg.grad(loss_of(op, wide))(wide_xs, rest)
        assert all(np.asarray(g).dtype == np.asarray(x).dtype for g, x in zip(found, xs))
        assert_close(found, expected, rtol=1e-4, atol=1e-5, what=str(sample))


# -- JAX ----------------------------------------------------------------------------------------


def jax_kernel(op: OpRecord, attributes: dict[str, Any]) -> Callable[..., Any]:
    """The op's JAX spelling as a function."""
    import jax
    import jax.numpy as jnp

    scope = {"jnp": jnp, "jax": jax, "lax": jax.lax}
    spelling = op.spelled("jax", attributes)
    scope |= op.needed("jax", spelling, scope)
    return kernel(spelling, op.operands, tuple(op.attributes), scope)


def jax_of(op: OpRecord, tried: Sequence[Sample]) -> list[tuple[list[Any], list[Any]]]:
    """For each sample the value by the JAX spelling, and JAX's gradients of the weighted sum of it.

    One program for all samples: XLA is slow to start.
    """
    import jax
    import jax.numpy as jnp

    def compute(all_operands):
        found = []
        for operands, sample in zip(all_operands, tried, strict=True):
            attributes = sample.attributes
            run = jax_kernel(op, attributes)
            places = floating(sample.operands)

            def value(xs, run=run, operands=operands, places=places, attributes=attributes):
                xs = iter(xs)
                given = [next(xs) if i in places else x for i, x in enumerate(operands)]
                y = run(*given, **attributes)
                return list(y) if isinstance(y, tuple | list) else [y]

            weights = weights_for(op, sample)

            def loss(xs, value=value, weights=weights):
                pairs = zip(weights, value(xs), strict=True)
                return sum(jnp.real(jnp.sum(w * r)) for w, r in pairs)

            xs = [operands[i] for i in places]
            wanted = op.differentiable and flows(op, sample) and op.name not in TOGETHER
            found.append((value(xs), jax.grad(loss)(xs) if wanted else []))
        return found

    concrete = [  # masks decide shapes: JAX must know them
        [x if np.asarray(x).dtype == bool and not is_elementwise(op) else None for x in s.operands]
        for s in tried
    ]

    def whole(traced):
        return compute(
            [
                [t if c is None else c for t, c in zip(ts, cs, strict=True)]
                for ts, cs in zip(traced, concrete, strict=True)
            ]
        )

    with wide_jax():
        return jax.jit(whole)([[jnp.asarray(x) for x in s.operands] for s in tried])


def for_jax(op: OpRecord, dtype: str, most: int) -> list[Sample]:
    """What to try in one dtype: a few samples of those that NumPy takes."""
    if (op.name, dtype) in {**NOT_IN_JAX, **DERIVED_OTHERWISE}:
        return []
    tried = [s for s in samples(op, dtype) if takes(op, s)]
    return list(spread(tried, 3 if is_elementwise(op) else most))


@pytest.mark.sampled(7)
@every_op
def test_against_jax(op, few):
    """The JAX spelling gives NumPy's values, and JAX's derivative of it is ours.

    In float64, and in complex numbers or, where there are none, in integers.
    """
    pytest.importorskip("jax")
    tried = [*few(for_jax(op, "float64", 4), 2)]
    tried += few(for_jax(op, "complex128", 2) or for_jax(op, "int64", 2), 1)
    assert_as_jax(op, tried)


@pytest.mark.parametrize("name, dtype", DERIVED_OTHERWISE)
def test_what_jax_derives_otherwise(name, dtype):
    """An entry that says nothing is to go."""
    pytest.importorskip("jax")
    op = TABLE[name]
    tried = [s for s in samples(op, dtype) if takes(op, s)]
    with pytest.raises((AssertionError, NotImplementedError, ValueError)):
        assert_as_jax(op, tried)


def assert_as_jax(op: OpRecord, tried: Sequence[Sample]) -> None:
    for sample, (values, gradients) in zip(tried, jax_of(op, tried), strict=True):
        expected = on_numpy(op, sample)
        several = list(expected) if isinstance(expected, tuple | list) else [expected]
        assert_close(list(map(np.asarray, values)), several, 1e-10, atol=1e-12, what=str(sample))
        if gradients:
            xs, rest = separated(sample)
            found = list(tg.grad(loss_of(op, sample))(xs, rest))
            wanted = list(map(np.asarray, gradients))
            if op.domain in HERMITIAN:
                wanted = list(map(hermitian, wanted))
            assert_close(found, wanted, 1e-10, atol=1e-12, what=f"gradient {sample}")


def test_draws_are_deterministic():
    assert np.array_equal(Draw("float64", seed=3)(5), Draw("float64", seed=3)(5))
    assert leaves([s.operands for s in samples(TABLE["add"])])
