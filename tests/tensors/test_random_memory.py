"""Random programs about memory: right in every way to run them, or refused by name.

`python tests/memory_programs.py --count 20000` runs many more.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import memory_checks
import numpy as np
import pytest
from memory_checks import WAYS, Verdict, check, minimal, shown, verdict_of
from memory_programs import Argument, Program, draw, laid

import tracegrad as tg
from tracegrad.errors import GradientError, ReadOnlyError

PROGRAMS = 300
PARTS = 20


@pytest.mark.sampled(6)
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_are_right_or_refused(part: int) -> None:
    before, tg.config.check = tg.config.check, part % 4 == 0  # every graph after every pass
    try:
        for seed in range(part, PROGRAMS, PARTS):
            program = draw(seed)
            for verdict in check(program):
                assert verdict.outcome != "wrong", shown(program, verdict.way, verdict.reason)
    finally:
        tg.config.check = before


@pytest.mark.parametrize("seed", [7001548, 7001625, 7001760, 7001049])
def test_programs_that_were_wrong(seed: int) -> None:
    """A mask of another arm told a length; an array of the caller's was taken for a new one."""
    program = draw(seed)
    for verdict in check(program):
        assert verdict.outcome != "wrong", shown(program, verdict.way, verdict.reason)


def test_most_programs_are_not_refused() -> None:
    found = [verdict_of(draw(seed), "compiled").outcome for seed in range(PROGRAMS, PROGRAMS + 60)]
    assert found.count("right") > 45


def test_a_program_that_ends_its_process_is_named(monkeypatch) -> None:
    """A seed that kills its worker is found, and all others are run."""
    monkeypatch.setattr(memory_checks, "pool_of", DyingPool)
    found = list(memory_checks.run_chunks([range(0, 8), range(8, 16), range(16, 24)], 1))
    seeds = sum((part.outcomes for part in found), Counter())
    assert sum(seeds.values()) == 24 and seeds["wrong"] == 1
    wrong = [text for part in found for text in part.wrong]
    assert len(wrong) == 1 and wrong[0].startswith("seeds 11 to 11: the process ended\ndef ")


class DyingPool:
    """Stands for a pool: it breaks where seed 11 runs, and then runs nothing more."""

    def __init__(self, jobs: int) -> None:
        self.broken = False

    def __enter__(self) -> DyingPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function, seeds) -> Future:
        future: Future = Future()
        self.broken = self.broken or 11 in seeds
        if self.broken:
            future.set_exception(BrokenProcessPool())
        else:
            found = memory_checks.Found(Counter(right=len(seeds)), Counter(), {}, [])
            future.set_result(found)
        return future


def test_programs_differ_and_are_the_same_each_time() -> None:
    sources = [draw(seed).source for seed in range(20)]
    assert len(set(sources)) == 20
    assert sources == [draw(seed).source for seed in range(20)]


# -- that the checks see what is wrong -----------------------------------------------------------


def of(*statements: str, others: tuple[str, ...] = ()) -> Program:
    arguments = (Argument("x", ("n",), "C"), Argument("y", ("n", "n"), "C"))
    return Program(1, arguments, (("n", 3),), statements, ("np.sum(x)",), others)


@pytest.mark.parametrize(
    "wrong, program",
    [
        (lambda f: lambda *args: f(*[a.copy() for a in args]), of("y += 1.0")),
        (lambda f: lambda *args: f(*args), of("v = y[0]", others=("v",))),
        (lambda f: lambda x, y: f(x, y * (1.0 + 1e-9)), of("v = y * 1.0", others=("v",))),
        (lambda f: lambda x, y: f(x, y.reshape(-1, 3)[:3]), of(others=("y[:, 0]",))),
    ],
    ids=["argument not written", "result shared", "another value", "no copy"],
)
def test_a_wrong_compiler_is_found(monkeypatch, wrong, program) -> None:
    assert verdict_of(program, "compiled").outcome == "right"
    monkeypatch.setattr(tg, "compile", lambda f: wrong(f))
    assert verdict_of(program, "compiled").outcome == "wrong"


def test_a_wrong_gradient_is_found(monkeypatch) -> None:
    program = of("x = np.sin(x) * 2.0")
    assert verdict_of(program, "gradients") == Verdict("gradients", "right")
    right = tg.value_and_grad

    def doubled(f, argnums, has_aux):
        def both(*args):
            value, gradients = right(f, argnums, has_aux=has_aux)(*args)
            return value, tuple(2.0 * g for g in gradients)

        return both

    monkeypatch.setattr(tg, "value_and_grad", doubled)
    assert verdict_of(program, "gradients").outcome == "wrong"


def test_what_fails_is_shown_at_its_shortest(monkeypatch) -> None:
    program = of("a = x * 2.0", "y += 1.0", "b = a + x", others=("a", "b"))
    monkeypatch.setattr(tg, "compile", lambda f: lambda *args: f(*[a.copy() for a in args]))
    assert minimal(program, "compiled").statements == ("y += 1.0",)


def test_every_way_is_met() -> None:
    assert all(any(seed % n == 0 for seed in range(PROGRAMS)) for _, n in WAYS.values())


# -- classes that were found --------------------------------------------------------------------


def test_an_eager_call_returns_memory_of_its_own(monkeypatch) -> None:
    """No argument's, and no two results the same."""
    monkeypatch.setattr(tg.config, "versions", 0)
    x, y = np.ones((2, 3)), np.ones(3)
    with pytest.warns(tg.errors.RecompileWarning):
        a, b, c, d = tg.compile(lambda x, y: (x, x[0], y, (y * 2.0).reshape(3, 1)))(x, y)
    a[...], b[...], c[...] = 5.0, 6.0, 7.0
    assert np.all(x == 1.0) and np.all(y == 1.0)
    assert np.all(a == 5.0) and np.all(b == 6.0) and np.all(d == 2.0)


def written_flat(x):
    flat = x.reshape(-1)
    flat += 1.0
    return flat.sum()


def written_copy(x):
    y = x.copy()
    flat = y.reshape(-1)
    flat[:3] *= 2.0
    return y.sum()


def raveled(x):
    line = x.ravel()
    x += 1.0
    return line.sum()


def raveled_rows(x):
    y = np.sin(x)
    line = y[::-1].ravel()
    y *= 2.0
    return line.sum() + y.sum()


def flipped_before(x):
    y = x * 1.0
    for row in y[::-1]:
        row[...] = 2.0
    line = y.reshape(-1)
    y += x
    return line.sum()


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("f", [written_flat, written_copy, raveled, raveled_rows, flipped_before])
@pytest.mark.parametrize("layouts", ["C F strided reversed C", "F strided C F", "strided C"])
def test_the_layout_of_arguments_decides_what_is_a_view(f, layouts: str) -> None:
    compiled = tg.compile(f)
    for n, layout in enumerate(layouts.split()):
        values = np.random.default_rng(n).normal(size=(3, 4))
        given, expected = laid(values.copy(), layout), laid(values.copy(), layout)
        found = compiled(given)
        assert found == pytest.approx(f(expected), rel=1e-12)
        assert np.array_equal(given, expected)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_plain_array_that_is_changed_after_its_use() -> None:
    def f(x):
        weights = np.ones(2)
        y = x * weights
        weights[0] = 5.0
        return (y * weights).sum()

    compiled = tg.compile(f)
    for _ in range(3):
        assert compiled(np.ones(2)) == 6.0


def test_parts_are_in_a_list_as_numpys() -> None:
    def f(x):
        y = x * 1.0
        np.split(y, 2)[1] += 0.5
        np.array_split(y, 2)[0] *= 3.0
        return y.sum()

    assert tg.compile(f)(np.arange(4.0)) == f(np.arange(4.0))


@pytest.mark.parametrize(
    "view",
    [np.diagonal, np.diag, lambda y: np.broadcast_to(y[0], (3, 3)), lambda y: y.diagonal()],
)
def test_read_only_views_are_not_written_to(view) -> None:
    def f(x):
        y = x * 1.0
        v = view(y)
        v[0] = 3.0
        return y.sum()

    for run in (f, tg.compile(f), tg.value_and_grad(f)):
        with pytest.raises(ValueError, match="read-only"):
            run(np.eye(3))


def test_a_write_to_broadcast_arrays_is_refused() -> None:
    def f(x):
        a, b = np.broadcast_arrays(x * 1.0, 1.0)
        b[0] = 3.0
        return a.sum() + b.sum()

    with pytest.raises(ReadOnlyError, match="copy"):
        tg.compile(f)(np.eye(3))


def test_an_array_without_axes_as_an_index_copies() -> None:
    """An element of an array makes a view, as any number does."""

    def f(x, i, k):
        y = x * 1.0
        copied, row = y[i], y[k[0]]
        copied *= 5.0
        row += 1.0
        y[:, np.array(1)][...] = 7.0
        return (y * x).sum() + copied.sum()

    x, i, k = np.arange(6.0).reshape(2, 3), np.array(0), np.array([1, 0])
    assert tg.compile(f)(x, i, k) == f(x, i, k)
    value, gradient = tg.value_and_grad(f)(x, i, k)
    assert value == f(x, i, k)
    assert np.array_equal(gradient, 2.0 * x + [[5.0] * 3, [1.0] * 3])


def test_values_with_more_axes_than_their_places() -> None:
    def f(x):
        y = x * 1.0
        y[[1, 0], -1] = x[:1, None, :1] * 2.0
        y[0] = x[None, None, 0] * 3.0
        return (y * y).sum()

    x = np.arange(4.0).reshape(2, 2) + 1.0
    value, gradient = tg.value_and_grad(f)(x)
    assert value == f(x) == 58.0
    assert np.array_equal(gradient, [[26.0, 36.0], [6.0, 0.0]])


def test_an_array_of_one_place_as_an_index_keeps_its_axis(monkeypatch) -> None:
    monkeypatch.setattr(tg.config, "compile", False)

    def f(x, k):
        rows = np.arange(6.0).reshape(2, 3)
        return x.sum() * rows[k, np.array(1)].sum(), rows[k, np.array(1)]

    _, aux = tg.value_and_grad(f, has_aux=True)(np.ones(2), np.array([1]))[0]
    assert aux.shape == (1,)


def test_a_mask_that_reads_what_it_writes_is_refused() -> None:
    """NumPy makes no copy here, as it does elsewhere, and reads what it has just written."""

    def wrong(x):
        y = x * 1.0
        y[y > 0.0] = y[1::-1]
        return y.sum()

    def right(x):
        y = x * 1.0
        y[y > 0.0] = y[1::-1].copy()
        y[y < 9.0] = y  # every place from itself
        y[:2][np.array([True, True])] = y[2:]
        z = y.reshape(2, 2)
        z[np.array([True, True])] = z[::-1]  # a mask of some axes copies
        return (y * x).sum()

    x = np.array([3.0, -1.0, 2.0, -2.0])
    for transformed in (tg.compile(wrong), tg.value_and_grad(wrong)):
        with pytest.raises(ReadOnlyError, match=r"value\.copy\(\)"):
            transformed(x)
    assert tg.value_and_grad(right)(x)[0] == tg.compile(right)(x) == right(x)


def test_an_empty_mask_chooses_nothing_of_any_axis() -> None:
    """So in NumPy, which refuses all other masks of another length."""

    def f(x):
        y = x * 1.0
        chosen = x[x > 0.1]
        mask = chosen > 0.1
        y[mask] = 5.0
        return np.sum(x[mask]) + np.sum(chosen) + np.sum(y)

    compiled, differentiated = tg.compile(f), tg.value_and_grad(f)
    for x in ([-1.0], [1.0], [-1.0], [-1.0, -2.0], [1.0], [1.0, 2.0], [-1.0, -2.0], []):
        assert compiled(np.array(x)) == f(np.array(x)) == differentiated(np.array(x))[0]
    for function in (f, compiled, differentiated):
        with pytest.raises(IndexError):
            function(np.array([1.0, -2.0]))


def test_the_real_part_is_a_view_on_the_tape() -> None:
    def f(x):
        y = x * 1.5
        np.real(y)[...] += y
        return y.sum()

    x = tg.tensor([1.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_put_writes_in_order_and_knows_its_bounds() -> None:
    def f(x, places):
        y = x.T * 1.0
        np.put(y, places, [0.5, 0.25])
        return y

    x = np.arange(6.0).reshape(2, 3)
    places = np.array([0, 3, -1])
    assert np.array_equal(tg.compile(f)(x, places), f(x, places))
    for bad in (6, -7):
        with pytest.raises(IndexError):
            tg.compile(f)(x, np.array([0, bad]))


def test_numbers_are_written_out() -> None:
    def f(x):
        y = x * 1.0
        np.add(1.0, -0.25, out=y[:2])
        return y.sum()

    assert tg.compile(f)(np.ones(3)) == 2.5
    assert f(tg.ones(3)).item() == 2.5


def test_pull_of_what_depends_on_nothing_gives_zeros() -> None:
    for _ in range(3):
        _, pull = tg.vjp(lambda x: np.sum(np.zeros_like(x)), np.ones(3))
        assert np.array_equal(pull(1.0)[0], np.zeros(3))


# -- Tensors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_tensors_share_memory_as_in_pytorch(part: int) -> None:
    pytest.importorskip("torch")
    from memory_tensors import check_tensors, minimal_tensors, tensor_program

    for seed in range(part, 80, 4):
        program = tensor_program(seed)
        found, reason = check_tensors(program)
        assert found != "wrong", f"seed {seed}\n{minimal_tensors(program).source}{reason}"


def test_what_is_detached_takes_no_history() -> None:
    """The gradient of what is written there would be lost."""
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    for whole in (tg.ones(2), x * 2.0):
        with pytest.raises(GradientError, match="clone"):
            whole.detach()[:].mul_(x)


def test_vjp_writes_to_a_plain_array_outside_once() -> None:
    y = np.zeros(2)

    def f(x):
        y[0] += x[0]
        return np.sum(x)

    for count in (1.0, 2.0):
        tg.vjp(f, np.ones(2))
        assert y[0] == count


@pytest.mark.parametrize("compile", [False, True])
def test_elements_of_tensors_are_views_however_they_are_taken(compile: bool) -> None:
    def f(x):
        y = x * 1.0
        y[-1][()].mul_(3.0)
        y.unbind(0)[0].zero_()
        return (y * y).sum()

    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (tg.compile(f) if compile else f)(x)
    loss.backward()
    assert loss.item() == 85.0
    assert x.grad.tolist() == [0.0, 4.0, 54.0]


@pytest.mark.parametrize("part", [np.s_[:, 0], np.s_[:, :2], np.s_[::-1, 1], np.s_[1]])
def test_a_part_of_what_was_written_is_raveled_as_memory_lies(part) -> None:
    """A view where it has no gaps, a copy where it has."""
    torch = pytest.importorskip("torch") if part != np.s_[::-1, 1] else None
    found = []
    for ones in (tg.ones, torch.ones) if torch else (tg.ones,):
        y, z = ones(1), ones(4, 4)
        y.requires_grad_()
        z.copy_(y.view(-1))
        flat = z[part].ravel()
        z.add_(z.clone())
        found.append(flat.tolist())
    assert all(flat == found[0] for flat in found)
    assert found[0][0] == (2.0 if part == 1 else 1.0)
