"""Large arrays are worked through tile by tile: the same bits on any number of threads."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly
from programs import PROGRAMS

import codegen
import tracegrad as tg
from codegen.load import load
from codegen.passes.fuse import LARGE, SPLIT, TILE
from tracegrad.execution.pipeline import names_in

SEVERAL = 300_001  # elements: several tiles, none of a round length


def normal(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def both_forms(f: Any, *args: Any) -> tuple[Any, Any]:
    """The functions of a callable's program for these arguments: whole arrays, and tile by tile."""
    source = codegen.emit(f.graph(*args), "numpy", whole=True)
    assert "in_tiles(" in source.text
    never = source.text.replace(f">= {LARGE}", ">= 1e99")
    names = names_in(codegen.Source("", "", "numpy", source.names))
    return load(never, source.name, names), load(source.text, source.name, names)


def forced(text: str) -> str:
    """The text with arrays of any size taken for large ones, in tiles of 1 KiB."""
    return (
        text.replace(f">= {LARGE}", ">= 0").replace(f"< {SPLIT}", "< 0").replace(str(TILE), "128")
    )


def chain(x: Any) -> Any:
    y = tg.tanh(x) * tg.exp(-x * x) + tg.sqrt(x * x + 1)
    return tg.mean(y * tg.log1p(x * x))


def two_sums(x: Any, y: Any) -> Any:
    """The second region needs the sum of the first."""
    centred = tg.exp(x) * y - tg.sin(x) * tg.cos(y)
    scaled = centred / tg.sum(tg.abs(centred) + x * x + y * y)
    return tg.sum(tg.tanh(scaled) * x + tg.exp(scaled) * y * y)


def two_shapes(x: Any, w: Any) -> Any:
    """Regions of two shapes that need each other through products."""
    a = tg.tanh(x * x + 1) * tg.exp(-x * x)
    b = tg.sin(w) * tg.cos(w) + w * w
    c = a @ b
    return tg.sum(tg.tanh(c) * tg.exp(c * 0.01) - c * c * 0.5)


def masked(x: Any, y: Any) -> Any:
    large = x > 0.5
    z = tg.where(large, tg.log(tg.where(large, x, 1.0)), x * y)
    return tg.sum(z * z + tg.where(y < 0, -y, y * x))


def counted(x: Any) -> Any:
    """A sum of truth values and one of integers."""
    inside = (x * x + 0.5 * x) < 1.0
    steps = tg.astype(tg.floor(x * 3.0) + 1.0, tg.int64)
    return tg.sum(x * x * inside) * tg.sum(inside) + 0.0 * tg.sum(steps * steps)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "f, shapes",
    [
        (chain, [(SEVERAL,)]),
        (chain, [(3, SEVERAL // 3)]),
        (two_sums, [(SEVERAL,)] * 2),
        (masked, [(700, 400)] * 2),
        (counted, [(SEVERAL,)]),
        (two_shapes, [(2000, 150), (150, 140)]),
    ],
    ids=lambda p: p.__name__ if callable(p) else None,
)
def test_tiles_have_the_bits_of_the_whole_and_of_eager(
    f: Any, shapes: Any, dtype: str, monkeypatch: Any
) -> None:
    args = [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    positions = tuple(range(len(args)))
    whole, tiled = both_forms(tg.value_and_grad(f, positions), *args)
    expected = whole(*args)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert_same_bits(tiled(*args), expected)
    assert_same_bits(tg.value_and_grad(f, positions)(*args), expected)
    assert_same_bits(run_eagerly(f, args, positions), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the mean of no elements
@pytest.mark.parametrize(
    "size", [0, 1, LARGE - 1, LARGE, SPLIT // 8 - 1, SPLIT // 8, SPLIT // 8 + 1, 5 * TILE // 8 + 1]
)
def test_one_program_takes_every_size(size: int) -> None:
    f = tg.value_and_grad(chain)
    f(normal(7))
    x = normal(size)
    assert_same_bits(f(x), run_eagerly(chain, (x,)))
    assert f.cache_info().traces == 1


@pytest.mark.parametrize(
    "turn",
    [np.asfortranarray, lambda x: x[::-1], lambda x: x[:, ::2], lambda x: x.T],
    ids=["columns first", "backwards", "every other", "transposed"],
)
def test_arrays_in_another_order_have_the_bits_of_eager(turn: Any) -> None:
    x = turn(normal(900, 700))
    assert_same_bits(tg.value_and_grad(chain)(x), run_eagerly(chain, (x,)))


def branch_between(x: Any, y: Any) -> Any:
    z = tg.exp(-x * x) * y + tg.sin(x) * tg.cos(y) + x * 0.5
    if tg.sum(z) > 0:
        z = z * 2.0 + tg.tanh(z) * z - tg.exp(-z * z) * x
    else:
        z = tg.cos(z) * z + z * z * y
    return tg.mean(z * z + tg.sqrt(z * z + 1.0))


def sums_of_rows(x: Any, y: Any) -> Any:
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    p = e / tg.sum(e, axis=-1, keepdims=True)
    return tg.sum((p * y - tg.log(p + 1e-3) * y) ** 2 * tg.tanh(p) + p * p * p)


def slices(x: Any, y: Any) -> Any:
    u, v = x[1:] - x[:-1], y[1:] * y[:-1]
    return tg.sum(tg.tanh(u) * v + tg.exp(-u * u) * tg.cos(v) + u * v * u)


def sliced_first(x: Any, y: Any) -> Any:
    u = x[1:] * 2.0
    v = y[1:] + u
    return tg.sum(tg.tanh(u) * v + tg.exp(-u * u) * tg.cos(v) + u * v * u)


def choices(x: Any, y: Any) -> Any:
    r = tg.relu(x) * tg.maximum(x, y) + tg.where(x > y, x * x, tg.exp(-y * y))
    r = r + tg.clip(x, -0.5, 0.5) * tg.abs(y)
    return tg.sum(r * r + tg.minimum(r, 1.0) * x)


def views(x: Any, y: Any) -> Any:
    a, b = tg.swapaxes(x, 0, -1), tg.swapaxes(y, 0, -1)
    return tg.sum(tg.tanh(a) * b + tg.exp(-a * a) * b * b + tg.sin(a) * tg.cos(b) - a * b)


LAYOUTS: dict[str, Any] = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "backwards": lambda a: a[::-1],
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "f", [two_sums, branch_between, sums_of_rows, slices, sliced_first, choices, views]
)
def test_programs_on_arrays_of_any_layout_have_the_bits_of_eager(f: Any, layout: str) -> None:
    for dtype, shape in [("float64", (90, 110)), ("float64", (700, 300)), ("float32", (900, 500))]:
        args = [LAYOUTS[layout](normal(*shape, dtype=dtype, seed=i)) for i in range(2)]
        g = tg.value_and_grad(f, (0, 1))
        for _ in range(2):
            assert_same_bits(g(*args), run_eagerly(f, args, (0, 1)))


def test_every_program_of_the_corpus_has_the_same_bits_tile_by_tile() -> None:
    found = 0
    for program in PROGRAMS:
        args = program.args
        f = tg.value_and_grad(
            program.new(),
            program.argnums,
            has_aux=program.has_aux,
            static_argnames=program.static_argnames,
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = f.graph(*args)
            source = codegen.emit(graph, "numpy", whole=True)
            if "in_tiles(" not in source.text or source.names or graph.frame.captures:
                continue
            parts = f._bind(args, {})
            given = [leaf.value for leaf in parts.leaves if leaf.traced]
            if len(given) != len(graph.frame.parameters):
                continue
            found += 1
            small = load(source.text, source.name, names_in(source))(*given)
            text = forced(source.text)
            assert_same_bits(load(text, source.name, names_in(source))(*given), small)
    assert found > 10


def only_here(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return tg.mean(tg.log1p(tg.exp(-y * z)) + tg.sqrt(z * z + 1.0))


def returned_too(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return tg.sum(tg.exp(-y * z) * tg.tanh(z) + z * z * y) + tg.sum(tg.cumsum(z) * 1e-9)


def seen_too(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    other = z[::-1]
    return tg.sum(tg.exp(-y * z) * tg.tanh(z) + z * z * y) + tg.max(other)


def read_twice(w: Any, x: Any, y: Any) -> Any:
    """By two regions, of which the second needs the sum of the first."""
    z = x @ w
    scale = tg.sum(tg.exp(-y * z) * tg.tanh(z) + z * z * y)
    return tg.sum(tg.tanh(z / scale) * y + tg.exp(-z * z) * tg.cos(z))


@pytest.mark.parametrize("f", [only_here, returned_too, seen_too, read_twice])
@pytest.mark.parametrize("n", [LARGE, SEVERAL])
def test_what_a_region_alone_reads_it_overwrites(f: Any, n: int) -> None:
    args = normal(2), normal(n, 2, seed=1), normal(n, seed=2)
    g = tg.value_and_grad(f, (0, 1, 2))
    expected = run_eagerly(f, args, (0, 1, 2))
    copies = [a.copy() for a in args]
    for _ in range(2):
        assert_same_bits(g(*args), expected)
    assert_same_bits(args, tuple(copies))
    text = g.source(*args)
    overwritten = re.search(
        r"\b(z|z_1|value) \*= y|out=(z|z_1|value)\)", text[text.index("_tile(y") :]
    )
    assert bool(overwritten) == (f is only_here)


def test_errors_and_error_states_are_those_of_the_caller() -> None:
    before = threading.active_count()
    f = tg.value_and_grad(lambda x: tg.sum(tg.sqrt(x) * tg.exp(x) + x * x))
    x = np.abs(normal(SEVERAL))
    f(x)
    x[-1] = -1.0
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        f(x)
    with np.errstate(invalid="ignore"):
        value, _ = f(x)
    assert np.isnan(value)
    assert threading.active_count() == before


def test_the_text_for_large_arrays() -> None:
    f = tg.value_and_grad(chain)
    small = f.source(normal(5))
    assert "return chain_value_and_grad_in_tiles(x)" in small
    assert "def in_tiles(" not in small
    large = f.source(normal(SEVERAL))
    assert "chain_value_and_grad_tile: 32 operations, arrays of shape (n0,)" in large
    assert "tile by tile" in large and "def chain_value_and_grad_tile(x, value_bar):" in large
    assert f.cache_info().traces == 1


def test_short_regions_and_unknown_lengths_stay_whole() -> None:
    def chosen(x: Any) -> Any:
        y = x[x > 0]
        return tg.sum(tg.exp(y) * tg.tanh(y) + y * y * tg.sin(y))

    for f in (lambda x: tg.sum(x * x), chosen):
        assert "_in_tiles(" not in tg.value_and_grad(f).source(normal(5))


def test_lengths_that_are_known_need_no_test() -> None:
    def looked_at(x: Any) -> Any:
        return chain(x) * float(x.shape[0] | 0)  # Python looks at it

    def in_its_order(x: Any) -> Any:
        return looked_at(x) * float(x.shape[1] | 0)

    for f, shape, said in [
        (looked_at, (LARGE - 1,), None),
        (looked_at, (LARGE,), "    return looked_at_in_tiles(x)\n\n"),
        (in_its_order, (LARGE, 2), "    if x.flags.c_contiguous:\n        return in_its_order_in"),
    ]:
        x = normal(*shape)
        compiled = tg.compile(f)
        assert_same_bits(compiled(x), run_eagerly(f, (x,))[0])
        text = codegen.emit(compiled.graph(x), "numpy", whole=True).text
        assert said in text if said else "in_tiles" not in text
