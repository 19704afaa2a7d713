"""Programs whose control flow depends on values of arrays enter the tests here, with their inputs.

They are plain Python over NumPy, as people write it: nothing in them knows that it is compiled.
Here is every spelling of a decision; `flow_methods.py` adds numerical methods. `FLOWS` lists them
all, and `test_control_flow.py` runs each in every mode. The inputs of one program have equal
structures, shapes and dtypes and lead it through several paths.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.values.pytree import map_tree


@dataclass(frozen=True, eq=False)
class Flow:
    """One program.

    `smooth` is False where differences say nothing, because a number that Python has read steps or
    carries no gradient; `arrays` is False where the program needs a Tensor's own methods.
    """

    function: Callable[..., Any]
    drawn: tuple[tuple[Any, ...], ...]
    argnums: int | tuple[int, ...]
    has_aux: bool
    smooth: bool
    arrays: bool

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def inputs(self) -> list[tuple[Any, ...]]:
        """Fresh arguments, equal on every access."""
        return [map_tree(_copied, args) for args in self.drawn]

    def near(self, seed: int, distance: float) -> list[tuple[Any, ...]]:
        """The arguments with every floating-point number off by a factor close to 1."""
        random = np.random.default_rng(seed)

        def moved(leaf: Any) -> Any:
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
                return leaf * (1.0 + distance * random.uniform(-1.0, 1.0, leaf.shape))
            return leaf * (1.0 + distance * random.uniform(-1.0, 1.0)) if _is_float(leaf) else leaf

        return [map_tree(moved, args) for args in self.inputs]

    def __repr__(self) -> str:
        return f"<flow {self.name}>"


def _copied(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _is_float(leaf: Any) -> bool:
    return type(leaf) is float


FLOWS: list[Flow] = []


def flow(
    *inputs: Any,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    smooth: bool = True,
    arrays: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enters the decorated function in `FLOWS`; an input is a tuple of arguments, or a list: one
    array."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        drawn = tuple((np.array(i),) if isinstance(i, list) else i for i in inputs)
        FLOWS.append(Flow(function, drawn, argnums, has_aux, smooth, arrays))
        return function

    return enter


def a(*numbers: Any) -> np.ndarray:
    return np.array(numbers, dtype=float)


# -- what the first tutorials show --------------------------------------------------------------


def absolute(x):
    if x[0] > 0:
        return x
    else:
        return -x


@flow([2.0], [-3.0], [0.0])
def absolute_value(x):
    return np.sum(absolute(x))


@flow([-2.0, -1.0, 1.0, 2.0, 3.0], [1.0, 2.0, -3.0, 4.0, 0.0], [-1.0, -1.0, 2.0, -1.0, -1.0])
def product_of_positive(x):
    result = 1
    for ii in x:
        if ii > 0:
            result = ii * result
    return result


@flow([-2.0, 3.0, 4.0], [1.5, -0.5, 2.0], smooth=False)
def product_of_positive_items(x):
    result = 1
    for ii in x:
        if ii.item() > 0:
            result = result * ii
    return result


@flow([1.0, 2.0, 3.0], [100.0, -20.0, 3.0], [900.0, 10.0, 600.0], arrays=False)
def norm_doubling(x):
    y = x * 2
    while y.norm() < 1000:
        y = y * 2
    return y.sum()


# -- conditions in every spelling ---------------------------------------------------------------


@flow([0.5, -0.5], [3.0, 0.2], [-4.0, 1.7], [0.1, 0.2])
def clipped(x):
    """Python's own min and max."""
    return sum(max(-1.0, min(v, 1.5)) * (k + 2.0) + 0.1 * v for k, v in enumerate(x))


@flow([-2.0], [0.3], [1.7], [5.0])
def piecewise(x):
    v = x[0]
    return v * v if v < 0 else np.sin(v) if v < 1 else np.log(v) if v < 4 else v


@flow([0.2, -0.3, 4.0], [2.0, -0.1, -0.5], [-3.0, 0.1, 0.9])
def huber(x):
    loss = 0.0
    for error in x:
        size = abs(error)
        loss += 0.5 * error**2 if size <= 1.0 else size - 0.5
    return loss / len(x)


@flow([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -3.0])
def both_and_either(x):
    if x[0] > 0 and x[1] > 0:
        return x[0] * x[1]
    if x[0] > 0 or x[1] > 0:
        return x[0] - x[1]
    return x[1] if not x[1] > -2 else np.sum(x**3)


@flow([0.5], [-1.0], [2.0])
def inside_an_interval(x):
    if 0 < x[0] < 1:
        return -np.log(x[0]) - np.log(1.0 - x[0])
    return 10.0 * (x[0] - 0.5) ** 2


@flow([0.4], [1.9], [2.5], [7.0], smooth=False)
def matched(x):
    match int(x[0]):
        case 0:
            return np.exp(x[0])
        case 1 | 2:
            return x[0] ** 2
        case n:
            return n * x[0]


@flow([1.0, 2.0], [1.0, -2.0], [-5.0, 3.0])
def matched_tuples(x):
    match (bool(x[0] > 0), bool(x[1] > 0)):
        case (True, True):
            return np.sum(np.sqrt(x))
        case (True, _):
            return x[0] / x[1]
    return np.sum(x) ** 2


@flow([3.0, 1.0], [-1.0, 4.0], [0.5, 0.5])
def walrus(x):
    if (s := np.sum(x)) > 2.0 and (d := x[0] - x[1]) > 0:
        return s * d
    return s * s


@flow([0.5, 2.0], [2.0, 0.5], [-1.0, 1.0])
def truth_of_a_number(x):
    """The truth of a float, `any` and `all` of arrays."""
    gap = np.maximum(x[0] - 1.0, 0.0)
    if gap:
        return gap * x[1]
    if (x > 0).all():
        return x[0] ** x[1]
    return np.sum(np.exp(x)) if (x > 0.5).any() else x[0]


@flow([1.0, 2.0], [1.0, 1.0], [0.0, 1.0])
def equality(x):
    if x[0] == x[1]:
        return np.sum(x) ** 2
    if x[0] != 0:
        return x[1] / x[0]
    return 3.0 * x[1]


# -- loops --------------------------------------------------------------------------------------


@flow(
    (np.array([[1.0, 2.0], [-3.0, 1.0], [0.5, 0.5]]),),
    (np.array([[-1.0, -2.0], [3.0, 1.0], [0.5, -4.0]]),),
)
def rows(x):
    total = 0.0
    for row in x:
        if row.sum() > 0:
            total = total + np.prod(row)
        else:
            total = total - row @ row
    return total


@flow([1.0, 2.0, 9.0, 4.0], [1.0, 2.0, 3.0, 4.0], [7.0, 8.0, 9.0, 1.0])
def first_large(x):
    """`break` and `else` of a `for`."""
    for i, v in enumerate(x):
        if v > 5:
            found = v * (i + 1)
            break
    else:
        found = np.mean(x)
    return found**2


@flow([-1.0, 2.0, 3.0, 0.0], [1.0, -2.0, 0.3, 5.0], [1.0, 1.0, 1.0, 1.0])
def skipped(x):
    """`continue`, and `break` out of the inner loop alone."""
    total = 0.0
    for i, v in enumerate(x):
        if v < 0:
            continue
        for w in x[:i]:
            if w > v:
                break
            total = total + v * w
        total = total + v
    return total


@flow([0.5], [3.0], [40.0])
def while_with_else(x):
    y, steps = x[0], 0
    while y < 10:
        y = y * 3.0 + 1.0
        steps += 1
        if steps == 3:
            break
    else:
        return y * y
    return y - steps


@flow([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 2.0, 1.0])
def running_maximum(x):
    best = None
    total = 0.0
    for v in x:
        if best is None or v > best:
            best = v
        total = total + best * v
    return total


@flow(
    ([a(1.0, 2.0), a(-1.0), a(3.0, 4.0, 5.0)],),
    ([a(-1.0, -2.0), a(2.0), a(3.0, -4.0, 5.0)],),
    ([a(0.1, 0.2), a(0.1), a(0.1, 0.1, 0.1)],),
)
def list_of_arrays(arrays):
    total = 0.0
    for x in arrays:
        norm = np.linalg.norm(x)
        x = x / norm if norm > 1 else x
        if x[-1] > 0:
            total = total + np.sum(x**3)
    return total


@flow(
    ({"w": a(1.0, -2.0), "b": 0.5},), ({"w": a(-1.0, 2.0), "b": 2.0},), ({"w": a(1, 1), "b": 9.0},)
)
def dict_of_parameters(params):
    score = params["w"] @ np.array([1.0, 2.0]) + params["b"]
    for name, value in params.items():
        if np.max(value) > 1.5:
            score = score + (1.0 if name == "b" else 2.0) * np.sum(value**2)
    return score


# -- functions ----------------------------------------------------------------------------------


@flow([0.5, 1.0], [-0.5, 1.0], [0.5, 20.0], [-0.5, -3.0], [3.0, 1.0])
def early_returns(x):
    if x[0] < 0:
        if x[1] < 0:
            return x[0] * x[1]
        return x[1] - x[0]
    y = np.exp(x[0])
    if y > 10:
        return y
    if x[1] > 10:
        return np.sqrt(x[1]) * y
    return y + x[1]


def softsign(v):
    return v / (1.0 + v) if v > 0 else v / (1.0 - v)


def layer(x, limit):
    return [softsign(v) if abs(v) < limit else v for v in x]


@flow([1.0, -1.0, 4.0], [3.0, 0.5, -0.5], [-4.0, -5.0, 6.0])
def helpers(x):
    """Branches two calls down, reached from two call sites."""
    return sum(layer(layer(x, 2.0), 0.5)) ** 2


@flow([1.3], [0.4], [3.9], [10.0])
def recursion(x):
    def f(v, depth):
        if v < 1:
            return v * (depth + 1.0)
        return v * f(v / 2.0, depth + 1)

    return f(x[0], 0)


def is_even(v):
    return v * 2.0 if v < 1 else is_odd(v - 1.0)


def is_odd(v):
    return v * 3.0 if v < 1 else is_even(v - 1.0)


@flow([0.5], [1.5], [2.25], [3.75])
def mutual_recursion(x):
    return is_even(x[0])


@flow([2.0, 1.0], [-2.0, 1.0], [2.0, 0.0])
def try_finally(x):
    steps = []
    try:
        if x[0] < 0:
            return x[0] ** 2
        if x[1] > 0:
            return x[0] * x[1] + len(steps)
    finally:
        steps.append(x[0])
    return np.sum(x) * len(steps)


def require_positive(v):
    if not v > 0:
        raise ValueError("must be positive")
    return v


@flow([4.0, 2.0], [-4.0, 2.0], [4.0, -2.0])
def try_except(x):
    try:
        y = np.log(require_positive(x[0]))
    except ValueError:
        y = x[0] ** 2
    else:
        y = y + 1.0
    with suppress(ValueError):
        y = y / require_positive(x[1])
    return y


@contextmanager
def scaled(v) -> Iterator[Any]:
    if v > 1:
        yield 1.0 / v
    else:
        yield v


@flow([0.5, 3.0], [2.0, 3.0])
def with_statement(x):
    with scaled(x[0]) as factor:
        return factor * x[1]


@flow([1.0, -2.0, 3.0], [-1.0, 2.0, -3.0], [1.0, 2.0, 3.0])
def comprehensions(x):
    kept = [v * v for v in x if v > 0]
    by_sign = {i: v if v > 0 else -v for i, v in enumerate(x)}
    return sum(kept) * sum(w for row in ([v] for v in by_sign.values()) for w in row)


def positive_parts(x):
    for v in x:
        if v > 0:
            yield v
        elif v < -10:
            return


@flow([1.0, -2.0, 3.0], [-1.0, 2.0, 5.0], [1.0, -20.0, 3.0])
def generators(x):
    parts = positive_parts(x)
    first = next(parts, x[0])
    return first * first + sum(v * np.exp(-v) for v in parts)


@flow([1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [-1.0, -2.0, -3.0], [5.0, 1.0, 2.0])
def any_and_all(x):
    if any(v > 4 for v in x):
        return np.max(x) ** 2
    if all(v > 0 for v in x):
        return np.prod(x)
    return np.sum(x)


@flow([1.0, 2.0, -3.0], [1.0, -2.0, -3.0], [-1.0, -1.0, -1.0])
def counted(x):
    """The sum of looks is a Python number."""
    positive = sum(bool(v > 0) for v in x)
    return positive * np.sum(x**2) + len([v for v in x if v < -2])


@flow([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0])
def sorted_list(x):
    low, middle, high = sorted(x)
    return (high - low) * middle


@flow([3.0, 1.0], [1.0, 3.0], smooth=False)
def sorted_by_key(x):
    first, second = sorted(x, key=lambda v: -float(v))
    return first - 2.0 * second * second


@flow([1.0, 5.0, 3.0], [6.0, 5.0, 7.0], [2.0, 1.0, 0.0])
def reduced(x):
    best = functools.reduce(lambda p, q: p if p > q else q, x)
    return best * np.sum(x) + max(x, key=lambda v: v * v)


# -- reading values -----------------------------------------------------------------------------


@flow([3.0, 4.0], [0.0, 2.0], smooth=False)
def items(x):
    return np.sum(x * x) / (1.0 + x[1].item())


@flow([3.0, 4.0], [0.5, 2.0], smooth=False)
def floats(x):
    scale = math.hypot(x[0].item(), x[1].item())
    return np.sum(x / scale) if scale > 3 else np.sum(x * scale)


@flow([2.5, 1.0], [3.9, 2.0], [0.2, 5.0], smooth=False)
def ints(x):
    y = x[1]
    for k in range(int(x[0])):
        y = y * x[1] + k
    return y


@flow([1.0, 2.0], [3.0, -1.0], smooth=False)
def lists(x):
    first, second = np.sign(x).tolist()
    return np.sum(x**2) if first == second else x[0] * second


@flow([0.3, 0.9, 0.5], [0.9, 0.3, 0.1], [0.1, 0.2, 0.7])
def index_of_the_largest(x):
    """An integer that Python reads chooses the element."""
    return x[int(np.argmax(x))] ** 2 + x[0]


# -- functions and structures that a look chooses -----------------------------------------------

ACTIVATIONS = {"tanh": np.tanh, "square": lambda v: v * v, "none": lambda v: v}


@flow([2.0, 1.0], [-2.0, 1.0], [0.1, 3.0])
def dispatched(x):
    by_sign = {True: "tanh", False: "square"}
    name = by_sign[bool(x[0] > 0)] if abs(x[0]) > 1 else "none"
    return np.sum(ACTIVATIONS[name](x))


@flow([2.0, 1.0], [-2.0, 1.0], [2.0, -1.0])
def closures(x):
    offset = x[0] * x[1]

    def up(v):
        return v + offset

    def down(v):
        nonlocal offset
        offset = offset * 0.5
        return v - offset

    f = up if x[0] > 0 else down
    g = f if x[1] > 0 else functools.partial(np.multiply, x[1])
    return np.sum(g(f(x)))


@flow([2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], has_aux=True)
def other_structures(x):
    """Every arm returns an auxiliary output of its own structure."""
    y = np.sum(x**2)
    if x[0] > 0:
        return y, {"mean": np.mean(x), "arm": "right"}
    if x[1] > 0:
        return y * x[1], (x * 2.0, [x[0], None])
    return -y, 3


@flow(
    (a(1.0, 2.0), np.array([1, 5, 3])),
    (a(-1.0, 2.0), np.array([4, 1, 1])),
    (a(1.0, 2.0), np.array([0, 0, 0])),
)
def integers(x, counts):
    """Looks at arrays that are not differentiated."""
    total = np.sum(x)
    for n in counts:
        if n % 2 == 1:
            total = total * x[0] + n
    return total if counts.sum() else x[1]


@flow([4.0, 1.0], [2.0, 8.0], [1.0, 2.0])
def asserted(x):
    assert x[0] > 0, "the radius must be positive"
    assert np.isfinite(x).all()
    y = x[1] / x[0]
    return np.sqrt(y) if y > 1 else y


@flow((a(1.0, 2.0), 3.0), (a(1.0, 2.0), -3.0), (a(0.5, -2.0), 0.25), argnums=(0, 1))
def python_numbers(x, scale):
    """An argument that is a Python float is looked at as well."""
    if scale > 0:
        x = x * scale
    return np.sum(np.exp(x)) if scale * x[0] < 1 else np.sum(x) / scale


@flow([0.2, 2.0], [-0.3, 1.0], [1.4, 1.0])
def gradient_inside(x):
    """A derivative by differences, with a branch in the function that it is taken of."""

    def f(v):
        return v**3 if v > 0 else -v

    slope = (f(x[0] + 1e-2) - f(x[0] - 1e-2)) / 2e-2
    return slope * x[1] if slope < 4 else slope
