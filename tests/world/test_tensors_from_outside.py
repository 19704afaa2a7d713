"""Tensors from outside are inputs: what asks for them, and hands them on, is for all they may hold.

Each program reads a `Held`, whose Tensors are written to and replaced between calls. What calls
give, and the gradients, are those of the plain function.
"""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

CALLS = 5
PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {}


class Held:
    """What programs read."""

    def __init__(self) -> None:
        self.w = tg.tensor([1.0, 2.0], requires_grad=True)
        self.b = tg.tensor([3.0, 4.0], requires_grad=True)
        self.all = [self.w, self.b]
        self.matrix = tg.tensor(np.arange(6.0).reshape(2, 3))
        self.scale = tg.tensor(1.5)
        self.places = tg.tensor([0, 1, 1])
        self.number = tg.tensor(1)
        self.layers = [self]

    def parameters(self) -> Any:
        yield self.w
        yield self.b

    def write(self, step: int) -> None:
        """Other numbers, in the same Tensors."""
        with tg.no_grad():
            self.w -= 0.25 * step
            self.b *= 1.5
            self.matrix += step
            self.scale.fill_(0.5 + step)
            self.places.copy_(tg.tensor([step % 2, 1, step % 2]))
            self.number.fill_(1 + step % 2)

    def replace(self, step: int) -> None:
        """Other Tensors."""
        self.matrix = tg.tensor(np.arange(6.0).reshape(2, 3) - step)
        self.scale = tg.tensor(0.5 + step)
        self.places = tg.tensor([step % 2, 1, step % 2])
        self.number = tg.tensor(1 + step % 2)


def program(paths: int = 1) -> Callable[..., Any]:
    """Enters a function of what is held and x, of which so many paths are compiled."""

    def entered(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = f, paths
        return f

    return entered


# -- handed on -------------------------------------------------------------------------------------


@program()
def a_list_comprehension(held, x):
    first, second = [p for p in held.all]
    return (x * first).sum() + (second**2).sum()


@program()
def a_nested_comprehension(held, x):
    return x.sum() + sum((p**2).sum() for p in [p for of in held.layers for p in (of.w, of.b)])


@program()
def a_generator_in_a_tuple(held, x):
    first, second = tuple(p for p in held.all)
    return (x * first).sum() + (second**2).sum()


@program()
def a_generator_in_a_list(held, x):
    parameters = list(held.parameters())
    return (x * parameters[0]).sum() + (parameters[-1] ** 2).sum()


@program()
def appended(held, x):
    found = []
    for p in held.all:
        found.append(p)
    found.insert(0, held.matrix[0, :2])
    return sum((x * p).sum() for p in found)


@program()
def in_a_deque(held, x):
    found = deque(maxlen=2)
    for p in held.all:
        found.appendleft(p)
    return (x * found[0]).sum() + found.pop().sum()


@program()
def a_dict_comprehension(held, x):
    named = {name: p for name, p in zip("wb", held.all, strict=True)}
    return sum((x * named[name]).sum() for name in sorted(named))


@program()
def set_in_a_dict(held, x):
    named = {}
    for name, p in zip("wb", held.all, strict=True):
        named[name] = p
    named.setdefault("matrix", held.matrix)
    named.update(scale=held.scale)
    return (x * named["w"] * named["scale"]).sum() + named["b"].sum() * named["matrix"].sum()


@program()
def filtered(held, x):
    kept = [p for p in held.all if p.requires_grad and p is not None and p.ndim == 1]
    return sum((x * p).sum() for p in kept if isinstance(p, tg.Tensor))


@program()
def in_order(held, x):
    pairs = sorted([(name, p) for name, p in zip("wb", held.all, strict=True)], key=lambda p: p[0])
    return (x * pairs[0][1]).sum() + (pairs[1][1] ** 2).sum()


@program()
def an_argument_of_a_partial(held, x):
    return partial(lambda p, x: (p * x).sum(), held.w)(x)


@program()
def a_default_that_is_not_needed(held, x):
    return (x * {"w": held.w}.get("w", held.b)).sum() + getattr(held, "b", held.w).sum()


@program()
def gradients_by_them(held, x):
    loss = (x * held.w).sum() ** 2 + (held.b**3).sum()
    parameters = [p for p in held.all]
    return sum((g**2).sum() for g in tg.autograd.grad(loss, parameters, create_graph=True))


# -- asked -----------------------------------------------------------------------------------------


@program()
def how_many_elements(held, x):
    count = held.w.size + held.w.size()[0] + held.w.size(0) + held.w.numel() + held.w.dim()
    return (x * held.w).sum() / count / sum(p.numel() for p in held.parameters())


@program()
def of_what_type(held, x):
    kind = held.w.dtype == tg.float64 and held.w.is_floating_point() and not held.w.is_complex()
    return (x * held.w).sum() * kind * held.w.element_size() * held.w.nbytes


@program()
def a_type_for_another(held, x):
    made = tg.zeros(2, dtype=held.matrix.dtype, device=held.matrix.device) + x.type_as(held.matrix)
    return (made * held.w).sum() + tg.result_type(held.matrix, x).itemsize


@program()
def what_is_itself_already(held, x):
    same = held.w.contiguous().cpu().to(tg.float64)
    return (x * same * tg.as_tensor(held.b) * tg.asarray(held.matrix)[0, 0].conj()).sum()


@program()
def what_it_has(held, x):
    return (x * held.w).sum() * (2.0 if hasattr(held.w, "grad") and not callable(held.w) else 1.0)


@program()
def row_after_row(held, x):
    total = (x * held.w).sum()
    for i, (row, scale) in enumerate(zip(held.matrix, held.b, strict=True)):
        total = total + i * row.sum() * scale
    return total + sum(reversed(held.w))


@program()
def copies(held, x):
    copied = tg.tensor(held.matrix)[0, 0] + tg.Tensor(held.b.detach())[0]
    return (x * copied * held.w).sum() + copy.copy(held.matrix).sum() + tg.from_dlpack(held.b)[1]


# -- numbers ---------------------------------------------------------------------------------------


@program()
def numbers_to_compute_with(held, x):
    return (x * held.w).sum() * held.scale.item() + float(held.scale) * int(held.number)


@program(paths=2)
def a_number_of_elements(held, x):
    return (tg.zeros(held.number) + (x * held.w).sum()).sum()


@program(paths=2)
def a_shape(held, x):
    return (tg.ones((held.number, 2)) * held.w * x).sum()


@program(paths=2)
def an_axis(held, x):
    return held.matrix.sum(axis=held.number - 1)[0] * (x * held.w).sum()


@program(paths=2)
def a_place_in_a_list(held, x):
    return (x * held.w).sum() * list(held.matrix)[held.number - 1].sum()


@program(paths=2)
def a_number_in_an_index(held, x):
    return (x * held.w)[[0, held.number - 1]].sum() + (x * held.b)[: held.number].sum()


@program(paths=2)
def so_often(held, x):
    total = (x * held.w).sum()
    for _ in range(held.number):
        total = total * 1.5
    return total + x.tile(held.number).sum()


@program(paths=2)
def decides(held, x):
    return (x * held.w).sum() if held.scale > 2.0 else (x * held.b).sum()


# -- as an index -----------------------------------------------------------------------------------


@program()
def reads_by_them(held, x):
    return (x * held.w)[held.places].sum() + held.b[held.number - 1]


@program()
def writes_by_them(held, x):
    filled = tg.zeros(2)
    filled[held.places] = held.matrix[0] * (x * held.w).sum()
    return (filled * held.b).sum()


@program()
def adds_by_them(held, x):
    added = tg.zeros(2)
    np.add.at(added, held.places, held.matrix[1] * (x * held.w).sum())
    added[held.places] += 1.0
    return (added * held.b).sum()


@program()
def fills_an_array_of_numpy(held, x):
    filled = np.zeros(2)
    filled[held.number - 1] = held.scale
    return (filled * held.b * x).sum()


def called(f: Callable[..., Any], held: Held, x: Any) -> Any:
    """What it gives, and the gradients."""
    for p in held.all:
        p.grad = None
    result = f(x)
    result.backward()
    return result.item(), [None if p.grad is None else p.grad.tolist() for p in held.all]


@pytest.mark.parametrize("edit", [Held.write, Held.replace], ids=["written", "replaced"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_for_all_that_they_hold(name, edit):
    f, paths = PROGRAMS[name]
    held = Held()
    plain = partial(f, held)
    compiled, x = tg.compile(plain), tg.tensor([0.5, -1.0])
    for step in range(CALLS):
        expected = called(plain, held, x)
        found = called(compiled, held, x)
        assert found[0] == pytest.approx(expected[0], rel=1e-12)
        assert found[1] == expected[1]
        edit(held, step)
    info = compiled.cache_info()
    assert info.versions == 1
    assert info.misses == paths


# -- read as a whole -------------------------------------------------------------------------------

WHOLE: dict[str, Callable[[Any], Any]] = {
    "array": lambda p: p.numpy()[0],
    "numbers": lambda p: p.tolist()[0],
    "text": lambda p: "5." in str(p),
    "text_in_a_list": lambda p: "5." in f"{[p]}",
    "text_in_a_format": lambda p: "5." in f"{p[0]:.1f}",
    "bytes": lambda p: len(set(pickle.dumps(p))),
    "copied": lambda p: copy.deepcopy(p)[0],
    "strides": lambda p: p.strides[0],
    "contiguous": lambda p: p.is_contiguous(),
}


@pytest.mark.parametrize("way", WHOLE)
def test_what_code_reads_as_a_whole_is_compared(way):
    held = {"p": tg.tensor([1.0, 2.0])}

    def f(x):
        return x * WHOLE[way](held["p"])

    compiled, x = tg.compile(f), tg.tensor([0.5, -1.0])
    for edit in (
        lambda: None,
        lambda: held["p"].fill_(5.0),
        lambda: held.update(p=tg.tensor([6.0, 5.0])),
        lambda: setattr(held["p"], "data", tg.tensor([[1.0, 2.0], [5.0, 4.0]])[:, 0]),
    ):
        edit()
        for _ in range(2):
            assert compiled(x).tolist() == f(x).tolist()


@pytest.mark.parametrize(
    "look",
    [lambda p: p.reshape(-1), lambda p: p.contiguous().T, np.ravel],
    ids=["reshape", "contiguous", "ravel"],
)
def test_writes_to_what_may_be_a_copy(look):
    held = {}

    def f(x):
        look(held["p"])[1] = x.sum()
        return held["p"] * 1.0

    compiled, x = tg.compile(f), tg.tensor([0.5, -1.0])
    for order in "CFCFF":
        found = []
        for call in (compiled, f):
            held["p"] = tg.tensor(np.arange(6.0).reshape(2, 3).copy(order))
            found.append((call(x).tolist(), held["p"].tolist()))
        assert found[0] == found[1], order


def test_numbers_on_a_device_are_compared():
    pytest.importorskip("jax")
    number = tg.tensor(2).to("jax")
    for f in (lambda x: x * int(number), lambda x: x[:number], lambda x: x * number.item()):
        compiled = tg.compile(f)
        for n in (2, 3, 1, 1):
            number.fill_(n)
            assert compiled(np.ones(3)).tolist() == f(np.ones(3)).tolist()


def test_reasons_name_what_was_read_and_the_line(monkeypatch):
    monkeypatch.setattr(tg.config, "versions", 2)
    w, numbers = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([1.0, 2.0])

    def f(x):
        return x * w * numbers.numpy().max()

    compiled, x = tg.compile(f), tg.tensor([0.5, -1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert compiled(x).tolist() == f(x).tolist()
            numbers += 1.0
    line = f.__code__.co_firstlineno + 1
    reason = "what numbers holds has changed, which Python reads as a whole "
    reason += f"(test_tensors_from_outside.py:{line})"
    assert reason in compiled.explain()
    (told,) = caught
    assert reason in str(told.message)
    assert "What is computed of numbers itself" in str(told.message)
    assert "State that differs" not in str(told.message)


def test_reasons_tell_of_what_requires_grad():
    w = tg.tensor([1.0, 2.0])

    def f(x):
        return x * w if w.requires_grad else x + w

    compiled, x = tg.compile(f), tg.tensor([0.5, -1.0])
    for _ in range(2):
        assert compiled(x).tolist() == f(x).tolist()
        w.requires_grad_()
    assert "w.requires_grad was False, is True (test_tensors_from_" in compiled.explain()


# -- models that are edited ------------------------------------------------------------------------


class Layer:
    def __init__(self, draw: np.random.Generator, n: int, m: int) -> None:
        self.w = tg.tensor(draw.standard_normal((n, m)), requires_grad=True)
        self.b = tg.tensor(draw.standard_normal(m), requires_grad=True)

    def parameters(self) -> list[Any]:
        return [p for p in (self.w, self.b)]

    def __call__(self, x: Any) -> Any:
        return tg.tanh(x @ self.w + self.b)


class Model:
    def __init__(self, draw: np.random.Generator) -> None:
        self.layers = [Layer(draw, 2, 3), Layer(draw, 3, 3)]
        self.more: list[Any] = []
        self.scale, self.places, self.turns = tg.tensor(1.5), tg.tensor([0, 1, 1]), tg.tensor(2)

    def parameters(self) -> list[Any]:
        found = [p for layer in self.layers for p in layer.parameters()]
        for p in self.more:
            found.append(p)
        return found

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def losses(m: Model) -> list[Callable[[Any], Any]]:
    def ridge(x):
        return (m(x) ** 2).sum() + 0.1 * sum((p**2).sum() for p in m.parameters())

    def trainable(x):
        return m(x).sum() + sum((p**2).sum() for p in m.parameters() if p.requires_grad)

    def by_them(x):
        loss, wanted = (m(x) ** 2).sum(), [p for p in m.parameters() if p.requires_grad]
        found = tg.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
        return loss + sum((g**2).sum() for g in found if g is not None)

    def named(x):
        parts = {f"{i}.{k}": p for i, layer in enumerate(m.layers) for k, p in vars(layer).items()}
        return m(x).sum() + sum(i * p.sum() for i, (_, p) in enumerate(sorted(parts.items())))

    def each_once(x):
        seen, total = set(), m(x).sum()
        for p in m.parameters():
            if p not in seen:
                seen.add(p)
                total = total + (p**2).sum()
        return total

    def counted(x):
        return m(x).sum() / sum(p.numel() for p in m.parameters())

    def by_index(x):
        found = tg.zeros((4, 3))
        np.add.at(found, m.places, m(x))
        return (found**2).sum() * m.scale.item() + m(x)[: m.turns].sum()

    def flat(x):
        return m(x).sum() + (tg.concatenate([p.reshape(-1) for p in m.parameters()]) ** 2).sum()

    def by_types(x):
        kinds = [2.0 if p.dtype == tg.float64 else 3.0 for p in m.parameters()]
        return m(x).sum() * sum(kinds)

    def by_numbers(x):
        norms = tg.tensor([(p.detach() ** 2).sum().item() for p in m.parameters()])
        return m(x).sum() * norms.sum() if m.scale > 1.0 else m(x).sum()

    return [f for f in locals().values() if callable(f) and f is not m]


def edits(m: Model, draw: np.random.Generator, choose: random.Random) -> list[Callable[[], None]]:
    def new(shape: Any, dtype: str = "float64") -> Any:
        return tg.tensor(draw.standard_normal(shape), dtype=dtype, requires_grad=True)

    def a_step():
        with tg.no_grad():
            for p in m.parameters():
                p *= 0.9

    def replaced():
        layer = choose.choice(m.layers)
        layer.b = new(layer.b.shape)

    def frozen():
        p = choose.choice(m.parameters())
        p.requires_grad_(not p.requires_grad)

    def tied():
        m.layers[0].b = m.layers[1].b

    def longer():
        m.layers.append(Layer(draw, 3, 3))

    def shorter():
        del m.layers[2:]

    def one_more():
        m.more.append(choose.choice([m.layers[0].w, new(2)]))

    def one_less():
        del m.more[:1]

    def wider():
        width = choose.choice([2, 3, 4])
        m.layers = [Layer(draw, 2, width), Layer(draw, width, 3)]

    def of_another_type():
        layer = choose.choice(m.layers)
        layer.b = new(layer.b.shape, choose.choice(["float32", "float64"]))

    def data():
        p = choose.choice(m.parameters())
        p.data = tg.tensor(draw.standard_normal(p.shape), dtype=choose.choice(["float32", p.dtype]))

    def numbers():
        m.scale.fill_(choose.choice([0.5, 1.5, 2.5]))
        m.turns.fill_(choose.choice([1, 2, 3]))
        m.places.copy_(tg.tensor(draw.integers(0, 4, 3)))

    def other_numbers():
        m.scale, m.turns = tg.tensor(choose.choice([0.5, 1.5])), tg.tensor(choose.choice([1, 2]))
        m.places = tg.tensor(draw.integers(0, 4, 3))

    return [f for f in locals().values() if callable(f) and f not in (m, new)]


def outcome(f: Callable[[Any], Any], m: Model, x: Any) -> Any:
    for p in m.parameters():
        p.grad = None
    try:
        result = f(x)
        if result.requires_grad:
            result.backward()
    except Exception as error:
        return type(error)
    return [result.detach(), *[p.grad for p in m.parameters()]]


def agrees(found: Any, expected: Any) -> bool:
    if not isinstance(found, list) or not isinstance(expected, list):
        return found is expected
    for a, b in zip(found, expected, strict=True):
        if a is None or b is None:
            if a is not b:
                return False
        elif a.dtype != b.dtype or not np.allclose(a.numpy(), b.numpy(), 1e-4, 1e-4):
            return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_models_that_are_edited(seed):
    draw, choose = np.random.default_rng(seed), random.Random(seed)
    m, x = Model(draw), tg.tensor(draw.standard_normal((3, 2)))
    pairs = [(f, tg.compile(f)) for f in losses(m)]
    changes, hits = edits(m, draw, choose), []
    for _ in range(16):
        for f, compiled in choose.sample(pairs, 5):
            found, expected = outcome(compiled, m, x), outcome(f, m, x)
            assert agrees(found, expected), (f.__name__, hits[-4:])
        change = choose.choice(changes)
        change()
        hits.append(change.__name__)
    assert sum(compiled.cache_info().hits for _, compiled in pairs) > 10


# -- inside JAX ------------------------------------------------------------------------------------


def test_numbers_from_outside_decide_inside_jax():
    jax = pytest.importorskip("jax")
    number, array = tg.tensor(2), np.array(2)
    x = np.array([0.5, -1.0, 2.0], np.float32)
    for f in (
        lambda x: x[:number] * len(tg.zeros(number)),
        lambda x: x[: int(array)] * 2.0,
        lambda x: x[: array + 0] * np.ones(int(array), np.float32) * 2.0,
    ):
        assert np.allclose(jax.jit(tg.compile(f))(x), x[:2] * 2.0)
