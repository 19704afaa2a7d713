"""Compares a compiled callable with the function itself and with differences.

What is compared are the value of the plain function on NumPy's arrays, the result of the program,
that of the function run eagerly, and the slope of the function along random directions by finite
differences in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.version import Version
from tracegrad.eager.derivatives import boxed_leaf
from tracegrad.ops.random_draws import given_back, sources_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.outputs import Transform
from tracegrad.values.dataclass_attributes import converted
from tracegrad.values.dispatch import FLOATING, is_jax_array
from tracegrad.values.pytree import flatten, leaf_paths, map_tree, path_text
from tracegrad.values.structure_words import in_words

STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
"""Of differences; those of a half and a quarter leave an error of a step's sixth power. The smaller
steps are for arguments near which a derivative jumps."""
STILL = object()  # the direction of a leaf that is no number
TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2}


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, whether it agrees, in words."""

    what: str
    ok: bool
    said: str

    def __str__(self) -> str:
        return f"  {'ok     ' if self.ok else 'DEPARTS'}  {self.what}: {self.said}"


@dataclass(frozen=True)
class Departure:
    """The first statement of an edited program that gives another value than it did."""

    line: int
    statement: str
    said: str
    user: str = ""  # the user's line that it comes from

    def __str__(self) -> str:
        shown = f"line {self.line} `{self.statement}` {self.said}"
        return shown + (f"\n    it comes from {self.user}" if self.user else "")


@dataclass(frozen=True)
class Verification:
    """What `verify` found; true where everything agrees. Prints as a report."""

    name: str
    checks: tuple[Check, ...]
    departure: Departure | None = None

    @property
    def ok(self) -> bool:
        return self.departure is None and all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        head = f"{self.name}: {'verified' if self.ok else 'departs'}"
        lines = [head, *map(str, self.checks)]
        if self.departure is not None:
            lines.append(str(self.departure))
        return "\n".join(lines)

    __str__ = __repr__


# -- comparing ------------------------------------------------------------------------------------


def tolerance(*arrays: Any) -> float:
    """How far apart two ways to compute may be, of the largest number, for the coarsest dtype."""
    names = [str(np.asarray(array).real.dtype) for array in arrays]
    return max((TOLERANCE.get(name, 1e-10) for name in names), default=1e-10)


def difference(found: Any, expected: Any, allowed: float) -> str:
    """How two arrays differ, in words; "" where they agree."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return f"has shape {a.shape}, not {b.shape}"
    if a.dtype != b.dtype:
        return f"has dtype {a.dtype}, not {b.dtype}"
    if a.dtype.kind not in FLOATING:
        count = int(np.sum(a != b))
        return f"differs at {count} of {a.size} places" if count else ""
    if a.size == 0 or np.array_equal(a, b, equal_nan=True):
        return ""
    wide = complex if a.dtype.kind == "c" else float
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max(initial=0.0))
    worst = float(apart.max())
    if worst <= allowed * scale:
        return ""
    of = f", {worst / scale:.1e} of its largest number" if scale and np.isfinite(worst) else ""
    of += f" ({allowed:.0e} of it is allowed)" if of and allowed else ""
    return f"differs by up to {worst:.3g}{of}"


def compared(
    found: Any,
    expected: Any,
    allowed: float | None = None,
    what: str = "result against the function run eagerly",
) -> Check:
    """Whether two results are of one structure and agree leaf by leaf; None: bit for bit."""
    leaves, spec = flatten(found)
    wanted, wanted_spec = flatten(expected)
    if spec != wanted_spec:
        return Check(what, False, f"it is {in_words(spec)}, not {in_words(wanted_spec)}")
    if not any(isinstance(leaf, np.ndarray | np.generic | float | complex) for leaf in wanted):
        same = leaves == wanted
        return Check(what, same, "equal" if same else f"{found!r}, not {expected!r}")
    exact = True
    for leaf, other, path in zip(leaves, wanted, leaf_paths(spec), strict=True):
        if not isinstance(other, np.ndarray | np.generic | float | complex):
            if leaf != other:
                return Check(what, False, f"{path_text('result', path)} is {leaf!r}, not {other!r}")
            continue
        exact = exact and np.asarray(leaf).tobytes() == np.asarray(other).tobytes()
        limit = 0.0 if allowed is None else max(allowed, tolerance(other))
        said = difference(leaf, other, limit)
        if said:
            return Check(what, False, f"{path_text('result', path)} {said}")
    return Check(what, True, "the same bits" if exact else "equal up to rounding")


# -- finite differences ---------------------------------------------------------------------------


def slopes(
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    transform: Transform,
    gradient: Any,
    directions: int = 2,
) -> Check:
    """The gradient along random directions against differences of the function, in float64."""
    what = "gradient against finite differences"
    positions = [p % len(arguments.values) for p in transform.positions]
    parts = (gradient,) if isinstance(transform.argnums, int) else gradient
    random = np.random.default_rng(0)
    allowed, steps = 0.0, []
    values = [converted(_wide, value) for value in arguments.values]
    shown = []
    for _ in range(directions):
        moves = [map_tree(lambda leaf: _direction(random, leaf), values[p]) for p in positions]
        pairs = [
            (np.asarray(g), np.asarray(v))
            for part, move in zip(parts, moves, strict=True)
            for g, v in zip(flatten(part)[0], _moved(move), strict=True)
        ]
        for g, v in pairs:
            if g.shape != v.shape:
                return Check(what, False, f"a gradient has shape {g.shape}, not {v.shape}")
        found = float(sum(np.sum((g * v).real) for g, v in pairs))
        scale = float(sum(np.sum(np.abs(g) * np.abs(v)) for g, v in pairs))
        least = scale * max(1e-6, *(tolerance(g) for g, _ in pairs))
        tried: list[Slope] = []
        for step in STEPS:
            slope = _slope(call, values, positions, moves, transform, step)
            if not np.isfinite(slope.value):
                continue
            certain = slope.doubt <= 1e-5 * max(scale, abs(slope.value))
            tried.append(slope)
            if certain and slope.agrees(found, least):
                break
        else:
            if not tried:
                said = f"the function's own are {slope.value}: nothing to compare"
                return Check(what, True, said)
            slope = min(tried, key=lambda slope: slope.doubt)
            if not slope.agrees(found, least):
                return _departing(what, found, least, tried)
        shown.append(f"{found:.6g}")
        steps.append(slope.step)
        allowed = max(allowed, least + slope.doubt)
    within = f"in steps of {min(steps):g}, to within {allowed:.0e}"
    return Check(what, True, f"slopes {' and '.join(shown)} along random directions, {within}")


def _departing(what: str, found: float, least: float, tried: Sequence[Slope]) -> Check:
    """What is said of a slope that no differences agree with."""
    first, last = tried[0], tried[-1]
    low, high = sorted((last.before, last.after))
    doubt = least + last.doubt
    if high - low > max(10 * doubt, 0.1 * abs(first.after - first.before)):
        said = f"the function has a kink here: its slopes are {low:.6g} and {high:.6g}"
        if low - doubt <= found <= high + doubt:
            return Check(what, True, f"{said}, the gradient's {found:.6g} is between them")
        said += f", the gradient's {found:.6g} is not between them"
        return Check(what, False, f"{said}; pass arguments apart from the kink as well")
    best = min(tried, key=lambda slope: slope.doubt)
    return Check(
        what,
        False,
        f"the slope is {found:.10g}, by differences {best.value:.10g} (in steps of {best.step:g}, "
        f"to within {least + best.doubt:.0e}); where a derivative jumps within {STEPS[-1]:g} of "
        "the arguments, pass others",
    )


def _wide(leaf: Any) -> Any:
    """A floating-point leaf in double precision."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or dtype.kind not in FLOATING:
        return leaf
    return np.asarray(leaf).astype(complex if dtype.kind == "c" else float)[()]


def _direction(random: np.random.Generator, leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray | np.generic | float | complex):
        return STILL  # it has no gradient
    array = np.asarray(leaf)
    v = random.normal(size=array.shape)
    return v + 1j * random.normal(size=array.shape) if array.dtype.kind == "c" else v


def _moved(move: Any) -> list[Any]:
    """The directions of the leaves that have one."""
    return [v for v in flatten(move)[0] if v is not STILL]


@dataclass(frozen=True)
class Slope:
    """A slope by differences, how uncertain it is, and those on the two sides of the arguments."""

    value: float
    doubt: float
    step: float
    before: float
    after: float

    def agrees(self, found: float, least: float) -> bool:
        """Whether another slope is this one, as far as the doubt, and at least so much, allows."""
        return abs(found - self.value) <= least + self.doubt


def _slope(
    call: Callable[[Sequence[Any]], Any],
    values: Sequence[Any],
    positions: Sequence[int],
    moves: Sequence[Any],
    transform: Transform,
    step: float,
) -> Slope:
    """The slope by extrapolated central differences."""

    def at(h: float) -> float:
        moved = list(values)
        for p, v in zip(positions, moves, strict=True):
            moved[p] = map_tree(lambda x, d: x if d is STILL else _like(x, x + h * d), values[p], v)
        with np.errstate(all="ignore"):
            result = call(moved)
        main = result[0] if transform.has_aux else result
        main = main._array if isinstance(main, Tensor) else main
        return float(np.real(np.asarray(main)))

    steps = [step, step / 2, step / 4]
    middle = at(0.0)
    ends = [(at(h), at(-h)) for h in steps]
    plain = [(a - b) / (2 * h) for (a, b), h in zip(ends, steps, strict=True)]
    once = [(4 * plain[i + 1] - plain[i]) / 3 for i in range(2)]
    best = (16 * once[1] - once[0]) / 15
    largest = max(abs(value) for pair in ends for value in pair)
    steep = max(abs(end - middle) for end in ends[-1]) / steps[-1]  # at a minimum, not the slope
    after, before = ((end - middle) / h for end, h in zip(ends[-1], (steps[-1], -steps[-1])))
    doubt = abs(best - once[1]) + 1e-13 * largest / steps[-1] + 1e-6 * steep
    return Slope(best, doubt, step, before, after)


def _like(before: Any, moved: Any) -> Any:
    """A moved number of the type that it had."""
    return type(before)(moved) if isinstance(before, float | complex) else moved


# -- a compiled callable --------------------------------------------------------------------------


def verify(compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Verification:
    """The program of a compiled callable against the function itself and finite differences."""
    version: Version = compiled._version_for(args, kwargs)
    arguments = compiled._bind(*converted(_plain, (args, kwargs)), whole=True)
    with given_back(sources_of(version.program.graph)):
        found = map_tree(_plain, version.result(arguments))
    return Verification(
        compiled.__name__, against_function(compiled, version, arguments, found, None)
    )


def against_function(
    compiled: Any, version: Version, arguments: Arguments, found: Any, allowed: float | None
) -> tuple[Check, ...]:
    """A result of a program against the function, run eagerly and by differences."""
    sources = sources_of(version.program.graph)
    transform: Transform = compiled._transform
    if version.effect or any(r.stores or r.effects for r in version.results):
        unrun = Check("the function", True, "changes state when it runs: it was not run")
        with given_back(sources):
            expected = map_tree(_plain, version.result(arguments))
        against = compared(found, expected, allowed)
        return (unrun, replace(against, what="result against the compiled program"))
    if version.target == "jax":
        allowed = max(allowed or 0.0, 1e-9)

    def call(values: Sequence[Any]) -> Any:
        """The function on Tensors."""
        with given_back(sources), compiled._executed():
            return compiled._caller(arguments)([converted(boxed_leaf, x) for x in values])

    checks = list(_against_plain(compiled, sources, call, arguments, found, allowed))
    with given_back(sources):
        expected = compiled._eager(arguments)
    checks.append(compared(found, expected, allowed))
    if transform.kind in ("grad", "value_and_grad"):
        gradient = found[1] if transform.kind == "value_and_grad" else found
        if transform.kind == "grad" and transform.has_aux:
            gradient = found[0]
        if flatten(found)[1] == flatten(expected)[1]:
            checks.append(slopes(call, arguments, transform, gradient))
    return tuple(checks)


def _against_plain(
    compiled: Any,
    sources: Sequence[Any],
    call: Callable[[Sequence[Any]], Any],
    arguments: Arguments,
    found: Any,
    allowed: float | None,
) -> Iterator[Check]:
    """The function's value against what it gives by itself, where tracegrad has no part in it."""
    transform: Transform = compiled._transform
    if transform.kind == "vmap" or transform.takes_vectors or compiled._is_over_derivatives:
        return  # there is no function of the user's that gives this
    what = "value against the plain function on NumPy arrays"
    copies = [converted(_copied, value) for value in arguments.values]
    try:
        with given_back(sources), np.errstate(all="ignore"):
            returned = compiled._caller(arguments)(copies)
    except Exception as error:
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        yield Check(what, True, f"it does not run on them ({why}): not compared")
        return
    if transform.kind in ("compile", "value_and_grad"):
        value = found if transform.kind == "compile" else found[0]
    else:  # the program does not give it
        value = map_tree(_plain, call(arguments.values))
    expected = map_tree(_plain, returned)
    allowed = allowed or 0.0
    if any(map(is_jax_array, flatten(returned)[0])):  # made of float32, as JAX does by itself
        expected, allowed = map_tree(_wide, expected), max(allowed, TOLERANCE["float32"])
        value = map_tree(_wide, value)
    yield compared(value, expected, allowed, what)


def _copied(leaf: Any) -> Any:
    """An array of its own: the function may write into its arguments."""
    return leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf


def _plain(leaf: Any) -> Any:
    """A Tensor or JAX array as NumPy's."""
    if isinstance(leaf, Tensor):
        return leaf._array
    return np.asarray(leaf) if type(leaf).__module__.startswith("jax") else leaf
