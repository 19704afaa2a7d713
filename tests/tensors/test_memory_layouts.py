"""Random programs on arrays that lie in memory in every way enter: all ways to compute agree.

Sums add in the order of memory, so the bits of a gradient depend on how everything on the way to it
is laid out. A first backward (over arrays), later ones (compiled), one that is recorded and the
compiled function must lay it out alike, whatever is simplified on the way.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, forget_eager_backwards, leaves
from numpy_cases import OPERANDS, calls, flat, used

import tracegrad as tg

SHAPES = [(5, 7), (6, 6), (3, 4, 5), (40, 50), (130, 90), (1, 9), (9, 1)]

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "swapped": lambda a: np.swapaxes(np.ascontiguousarray(np.swapaxes(a, 0, 1)), 0, 1),
    "backwards": lambda a: a[::-1].copy()[::-1],
    "columns backwards": lambda a: np.asfortranarray(a[..., ::-1])[..., ::-1],
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "inner part": lambda a: np.pad(a, 1)[tuple(slice(1, -1) for _ in a.shape)],
    "one row": lambda a: np.broadcast_to(a[:1], a.shape),
    "one column": lambda a: np.broadcast_to(a[..., :1], a.shape),
}

ONE = ("np.tanh({0})", "{0} * {0}", "np.exp(-{0} * {0})", "-{0}", "{0}**2", "np.maximum({0}, 0.1)")
NUMBER = ("{0} * 2.0", "{0} * 1.0", "1.0 * {0}", "{0} + 0.5", "{0} - 0.0", "{0} / 3.0", "{0} * 1")
TWO = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1} * {1} + 1.0)", "np.hypot({0}, {1} + 2.0)")
LIKE = (
    "np.zeros_like({0}) + {1}",
    "np.full_like({0}, 0.5) * {1}",
    "np.ones_like({0} * {1})",
    "np.polyval([0.5, 1.0, 2.0], {0})",
    "np.gradient(np.tanh({0}) * {1}, axis=-1) if {0}.shape[-1] > 1 else {0}",
    "np.select([{0} > 0.1], [{1} * {0}], 0.3)",
    "np.take({0} * {1}, np.arange({0}.shape[0])[::-1], axis=0)",
    "np.insert({0}, 1, 0.5, axis=0)[1:]",
    "(np.broadcast_to({1}, {0}.shape) * 1.0) * {0}",
)
CHOICE = ("np.where({0} > 0.1, {0}, {1} * 2.0)", "np.where({0} > {1}, {1}, 1.0)")
ENDS = ("np.sum({0})", "np.mean({0} * {0})", "np.sum(np.tanh({0}))", "np.sum({0} * 0.3)")


class Writer:
    """Writes one program of two arrays of a shape and a row; it knows the shape of everything."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.shapes = {"x": shape, "y": shape, "b": shape[-1:]}
        self.lines: list[str] = []

    def one(self, options: Any) -> Any:
        return options[self.random.integers(len(options))]

    def add(self, text: str, shape: tuple[int, ...]) -> None:
        if np.prod(shape) <= 30_000:
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {text}")
            self.shapes[name] = shape

    def beside(self, shape: tuple[int, ...]) -> str:
        """A variable that does not make an array of this shape larger."""
        fit = [v for v, s in self.shapes.items() if _broadcasts(s, shape)]
        return self.one(fit)

    def step(self) -> None:
        a = self.one(list(self.shapes)[-8:])
        shape = self.shapes[a]
        ndim = len(shape)
        kinds = ["one", "number", "two", "two", "choice"] + ["sum", "sum", "view"] * (ndim > 0)
        kinds += ["spread", "flat", "product", "joined", "normalized", "like"] * (ndim > 1)
        axis = int(self.random.integers(max(ndim, 1)))
        match self.one(kinds):
            case "one":
                self.add(self.one(ONE).format(a), shape)
            case "number":
                self.add(self.one(NUMBER).format(a), shape)
            case "two":
                self.add(self.one(TWO).format(a, self.beside(shape)), shape)
            case "choice":
                self.add(self.one(CHOICE).format(a, self.beside(shape)), shape)
            case "sum":
                over = self.one([None, axis])
                kept = self.one([True, False])
                whole = (1,) * ndim if kept else ()
                left = tuple(
                    1 if i == axis else n for i, n in enumerate(shape) if kept or i != axis
                )
                text = f"np.{self.one(['sum', 'mean', 'max'])}({a}, axis={over}, keepdims={kept})"
                self.add(text, whole if over is None else left)
            case "view":
                self.view(a, axis)
            case "spread":
                small = self.beside(shape)
                self.add(f"np.broadcast_to({small}, {shape})", shape)
            case "flat":
                self.add(f"{a}.reshape(-1).reshape({shape})", shape)
            case "product" if ndim == 2:
                self.add(f"{a}.T @ {a}", (shape[1], shape[1]))
            case "like":
                self.add(self.one(LIKE).format(a, self.beside(shape)), shape)
            case "joined":
                more = tuple(2 * n if i == axis else n for i, n in enumerate(shape))
                self.add(f"np.concatenate([{a}, {a} * 2.0], axis={axis})", more)
            case "normalized":
                e = f"np.exp({a} - np.max({a}, axis=-1, keepdims=True))"
                self.add(f"{e} / np.sum({e}, axis=-1, keepdims=True)", shape)

    def view(self, a: str, axis: int) -> None:
        shape = self.shapes[a]
        pick = lambda item: ", ".join(item if i == axis else ":" for i in range(len(shape)))
        part = lambda n: tuple(n if i == axis else m for i, m in enumerate(shape))
        match self.one(["turned", "swapped", "flipped", "stepped", "difference"]):
            case "turned":
                self.add(f"{a}.T", shape[::-1])
            case "swapped" if len(shape) > 1:
                self.add(f"np.swapaxes({a}, 0, 1)", (shape[1], shape[0], *shape[2:]))
            case "flipped":
                self.add(f"{a}[{pick('::-1')}]", shape)
            case "stepped":
                self.add(f"{a}[{pick('::2')}]", part((shape[axis] + 1) // 2))
            case "difference" if shape[axis] > 1:
                self.add(f"{a}[{pick('1:')}] - {a}[{pick(':-1')}]", part(shape[axis] - 1))

    def text(self, length: int) -> str:
        while len(self.lines) < length:
            self.step()
        ends = " + ".join(self.one(ENDS).format(name) for name in list(self.shapes)[-4:])
        return "\n    ".join(["def f(x, y, b):", *self.lines, f"return {ends}"]) + "\n"


def _broadcasts(small: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(small, whole) == whole
    except ValueError:
        return False


def program(seed: int, shape: tuple[int, ...]) -> tuple[Callable[..., Any], str]:
    text, file = Writer(seed, shape).text(5 + seed % 9), f"<layouts {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "__name__": "layouts"}
    exec(compile(text, file, "exec"), scope)
    return scope["f"], text


def arguments(seed: int, shape: tuple[int, ...], dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng([seed, 1])
    names = ["columns"] * 2 if seed % 3 == 0 else random.choice(list(LAYOUTS), 2)
    arrays = [LAYOUTS[name](random.normal(size=shape).astype(dtype)) for name in names]
    return [*arrays, random.normal(size=shape[-1:]).astype(dtype)]


def eagerly(f: Callable[..., Any], arrays: list[np.ndarray], **how: Any) -> list[Any]:
    """The value and the gradients, on Tensors of the same memory."""
    tensors = [tg.as_tensor(a).detach().requires_grad_() for a in arrays]
    value = f(*tensors)
    value.backward(**how)
    gradients = [np.zeros(t.shape, t.dtype) if t.grad is None else t.grad for t in tensors]
    return leaves([value, *gradients])


def check(f: Callable[..., Any], arrays: list[np.ndarray], text: str = "") -> None:
    forget_eager_backwards()
    first = eagerly(f, arrays)
    for what in ("second backward", "third backward"):
        assert_same_bits(eagerly(f, arrays), first, f"{what}\n{text}")
    assert_same_bits(eagerly(f, arrays, create_graph=True), first, f"create_graph\n{text}")
    compiled = tg.value_and_grad(f, (0, 1, 2)[: len(arrays)])
    for _ in range(2):
        value, gradients = compiled(*arrays)
        assert_same_bits([value, *gradients], first, f"compiled\n{text}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", range(0, 140, 7))
def test_random_programs_have_the_same_bits_in_every_mode(start: int) -> None:
    with np.errstate(all="ignore"):
        for seed, shape in enumerate(SHAPES, start):
            f, text = program(seed, shape)
            dtype = "float32" if seed % 5 == 4 else "float64"
            check(f, arguments(seed, shape, dtype), text)


def weighted(x, a, b):
    return np.sum(a * x[1:, ::2]) + np.sum(x * a) + np.sum(b[:, None] * 1.0)


def turned_flat(x, a, b):
    z = np.tanh(x.T.reshape(-1).reshape(x.shape[::-1]))
    return np.mean(z * z) * np.sum(a) + np.sum(b)


def spread_twice(x, a, b):
    z = np.broadcast_to(b, x.shape)
    return np.sum(z * 2.0) * np.mean((z * x) ** 2) + np.sum(a)


def softmax_of_products(x, a, b):
    e = np.exp(x * a - np.max(x * a, axis=-1, keepdims=True))
    return np.mean((e / np.sum(e, axis=-1, keepdims=True) * b) ** 2)


def averages(x, a, b):
    rows = np.mean(x, axis=1, keepdims=True) * 2.0
    return np.mean((x - rows) ** 2) + np.sum((x * b - a) ** 2 * 0.3)


def in_falling_order(x, a, b):
    y = tg.sort(x[0], descending=True)
    y = y * b
    return y @ b + np.sum(tg.sort(x, axis=0, descending=True) * a @ b)


def vectors_of_a_matrix(x, a, b):
    column = x[:, 1] * 1.0
    return column @ x @ b + (x[0] + -0.0) @ (b[::-1] * 1.0) + (x @ b) @ (1.0 * column[::-1]) * a


def by_an_element(x, a, b):
    k = np.array([1, 3])
    column = x[:, tg.tensor(k)[1]] * 1.0
    row = x[np.where(b[0] > 5.0, 0, 2)]
    return column @ x[:, k[0]] + row @ b * a + x[:, tg.tensor(np.array(2))] @ column


def copied_views(x, a, b):
    """What ``* 1.0`` makes is dense, and its sum adds in another order than that of the view."""
    inner, turned = x[:, 1:-1] * 1.0, x[:, ::-1] + -0.0
    return np.sum(inner) * a + np.sum(turned) + np.mean(b[1:] * 1.0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", [in_falling_order, vectors_of_a_matrix, by_an_element])
def test_products_of_vectors_add_in_the_order_that_eager_ones_have(f: Any, layout: str) -> None:
    random = np.random.default_rng(6)
    for shape in [(41, 53), (130, 90)]:
        x = LAYOUTS[layout](random.normal(size=shape))
        row = LAYOUTS["every other"](random.normal(size=shape[-1:]))
        check(f, [x, np.asarray(random.normal()), row])


@pytest.mark.parametrize("layout", ["rows", "columns", "every other"])
def test_gradients_of_convolutions_lie_as_eager_ones_do(layout: str) -> None:
    def f(x, w):
        y = tg.nn.conv2d(x * 1.5, w, stride=2, padding=1)
        return np.sum(np.tanh(y) ** 2)

    def penalty(x, w):
        gx, gw = tg.grad(f, (0, 1))(x, w)
        return np.sum((gx * np.tanh(x)).sum(axis=(0, 2))) + np.sum(np.exp(-gw * gw) * gw)

    random = np.random.default_rng(7)
    for shape in [(2, 3, 9, 9), (8, 4, 17, 15)]:
        x = LAYOUTS[layout](random.normal(size=shape))
        check(f, [x, random.normal(size=(5, shape[1], 3, 3))])
        check(penalty, [x, random.normal(size=(5, shape[1], 3, 3))])


ORDERED = [weighted, turned_flat, spread_twice, softmax_of_products, averages, copied_views]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", ORDERED)
def test_what_simplifying_leaves_out_does_not_change_the_order_of_sums(f: Any, layout: str) -> None:
    random = np.random.default_rng(5)
    for shape in [(41, 53), (130, 90)]:
        x = LAYOUTS[layout](random.normal(size=shape))
        check(f, [x, np.asarray(random.normal()), random.normal(size=shape[-1:])])


OTHER_ORDER = frozenset(["np.einsum", "np.histogram2d", "np.histogramdd", "np.nanquantile"])
"""Functions of which some calls give arrays that lie in memory otherwise than NumPy's; no more."""


def _in_layout(x: Any, layout: str) -> Any:
    if not isinstance(x, np.ndarray) or x.ndim < 2:
        return x
    if layout == "columns":
        return np.asfortranarray(x)
    return np.repeat(x, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("layout", ["columns", "strided"])
def test_results_lie_in_memory_as_those_of_numpy(layout: str) -> None:
    """So that ``reshape`` of a result is a view, or a copy, where NumPy's is."""
    seen, wrong = 0, set()
    for call in calls():
        given = {name: _in_layout(OPERANDS[name], layout) for name in used(call)}
        ours = {k: tg.as_tensor(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = flat(eval(call, {"np": np, **given}))
            except AttributeError:  # NumPy has no such function: it is the standard's
                continue
            found = flat(eval(call, {"np": np, **ours}))
        for x, y in zip(found, expected, strict=True):
            array = getattr(x, "_array", x)
            if type(array) is np.ndarray and isinstance(y, np.ndarray) and y.ndim > 1 < y.size:
                seen += 1
                if array.flags.c_contiguous != y.flags.c_contiguous:
                    wrong.add(call.split("(")[0])
    assert seen > 200
    assert wrong <= OTHER_ORDER


def test_writes_through_a_reshaped_result() -> None:
    x = np.arange(18.0).reshape(3, 3, 2).transpose(2, 1, 0)

    def f(x: Any) -> Any:
        last = np.take(x, [-1], axis=0)
        row = last.reshape(-1)
        row *= -1.5
        return np.sum(np.sin(last))

    for given in (x, np.ascontiguousarray(x)):
        assert tg.compile(f)(given) == f(given)
        assert tg.value_and_grad(f)(given)[0] == f(given)
        tg.config.compile = False
        try:
            assert tg.compile(f)(given) == f(given)
        finally:
            tg.config.compile = True


@pytest.mark.parametrize("shape", [(4, 5), (3, 4), (2, 3, 4), (6,)])
def test_an_array_like_another_of_another_shape_lies_as_numpys(shape):
    x = np.asfortranarray(np.ones((3, 4)))
    for make in (np.zeros_like, np.ones_like, np.empty_like):
        found, wanted = make(tg.tensor(x), shape=shape).numpy(), make(x, shape=shape)
        assert found.strides == wanted.strides
