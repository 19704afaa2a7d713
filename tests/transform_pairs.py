"""Functions of one array enter, and transforms; `test_transform_pairs` runs each of each other one.

A function is written once over a namespace ``np``, as the programs of the corpus are, of which most
are taken. A transform is a function of functions of one array, written once over a `Library`, so it
can be given what another one returns: ``hessian`` of ``vmap``, ``jvp`` of ``grad``, and all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
from programs import PROGRAMS, Program

import tracegrad as tg

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Library:
    """Where transforms are from: a module, its namespace of arrays, settings of its transforms."""

    np: Any
    module: Any
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        transform = getattr(self.module, name)
        return lambda *args: transform(*args, **self.settings)

    def scalar(self, f: Function) -> Function:
        """The sum of all elements of the result, each with a weight of its own."""

        def total(x: Any) -> Any:
            y = f(x)
            return self.np.sum(y * along(y)) if numpy.ndim(y) else y

        return total


def along(x: Any) -> numpy.ndarray:
    """Numbers of the shape of an array, all of them different."""
    shape = numpy.shape(x)
    return numpy.cos(1.0 + numpy.arange(float(numpy.prod(shape)))).reshape(shape)


def batch(x: Any) -> numpy.ndarray:
    return numpy.stack([x, 0.9 * x, 1.1 * x])


# -- transforms ---------------------------------------------------------------------------------


def grad(library: Library, f: Function) -> Function:
    return library.grad(library.scalar(f))


def value_and_grad(library: Library, f: Function) -> Function:
    both = library.value_and_grad(library.scalar(f))

    def product(x: Any) -> Any:
        value, gradient = both(x)
        return value * gradient

    return product


def jvp(library: Library, f: Function) -> Function:
    return lambda x: library.jvp(f, (x,), (along(x),))[1]


def linearize(library: Library, f: Function) -> Function:
    return lambda x: library.linearize(f, x)[1](along(x))


def vjp(library: Library, f: Function) -> Function:
    def pulled(x: Any) -> Any:
        y, pull = library.vjp(f, x)
        return pull(along(y))[0]

    return pulled


def jacfwd(library: Library, f: Function) -> Function:
    return library.jacfwd(f)


def jacrev(library: Library, f: Function) -> Function:
    return library.jacrev(f)


def hessian(library: Library, f: Function) -> Function:
    return library.hessian(library.scalar(f))


def hvp(library: Library, f: Function) -> Function:
    of = library.scalar(f)
    if library.module is tg:
        return lambda x: library.hvp(of, (x,), (along(x),))
    return lambda x: library.jvp(library.grad(of), (x,), (along(x),))[1]


def vmap(library: Library, f: Function) -> Function:
    return library.vmap(f)


def compiled(library: Library, f: Function) -> Function:
    return library.compile(f) if library.module is tg else library.jit(f)


def checkpoint(library: Library, f: Function) -> Function:
    return library.module.checkpoint(f)


TRANSFORMS = (
    grad,
    value_and_grad,
    jvp,
    linearize,
    vjp,
    jacfwd,
    jacrev,
    hessian,
    hvp,
    vmap,
    compiled,
    checkpoint,
)

NESTS = [(outer,) for outer in TRANSFORMS] + [
    (outer, inner) for outer in TRANSFORMS for inner in TRANSFORMS
]
"""Each transform alone, and of each other one."""


def transformed(library: Library, nest: tuple[Any, ...], f: Function) -> Function:
    for transform in reversed(nest):
        f = transform(library, f)
    return f


def point(nest: tuple[Any, ...], x: Any) -> Any:
    """What a nest of transforms is called with: a batch for each `vmap` in it."""
    for transform in nest:
        x = batch(x) if transform is vmap else x
    return x


# -- functions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A function to be made over a namespace, and where it is differentiated."""

    name: str
    make: Callable[[Any], Function]
    at: Any


def _of_program(program: Program) -> Case:
    """A program of the corpus as a function of its first wanted argument."""
    place = program.positions[0]

    def make(np: Any) -> Function:
        f = program.new() if np is numpy else program.reference(np)
        others = list(program.args)

        def at(x: Any) -> Any:
            given = [*others[:place], x, *others[place + 1 :]]
            return f(*given)[0] if program.has_aux else f(*given)

        return at

    return Case(program.name, make, program.args[place])


FROM_CORPUS = """
    logistic_regression attention layer_norm convolution_by_slices rosenbrock gaussian_mixture
    kalman_step huber runge_kutta power_iteration where_untaken_sqrt where_of_where
    index_of_largest broadcasting_against_itself python_floats slices_of_every_kind
    rows_and_elements_in_a_loop integer_indexing repeated_indices reshapes matrix_functions
    einsum_of_every_kind extremes products running_sums earth_movers_distance function_zoo
    complex_phase spectral_filter fill_by_recurrence fill_masked overlapping_views
"""

A = numpy.random.default_rng(3).normal(size=(4, 3))
X = numpy.array([0.4, -0.7, 1.3])


def affine(np: Any) -> Function:
    return lambda x: np.tanh(A @ x) * x[0]


def outer_product(np: Any) -> Function:
    return lambda x: np.exp(x[:, None] * x) - x


def choices(np: Any) -> Function:
    return lambda x: np.where(x > 0.0, np.sqrt(np.abs(x)), x**3)[::-1] * np.maximum(x, 0.1)


def joined(np: Any) -> Function:
    return lambda x: np.concatenate([x[:2] * x[1:], np.cumsum(np.sin(x)), np.stack([x[0] * x[2]])])


def gathered(np: Any) -> Function:
    return lambda x: (x[numpy.array([0, 2, 2])] * x) @ A.T


def ratios(np: Any) -> Function:
    return lambda x: x / np.sqrt(np.sum(x * x)) + np.max(x) * np.min(x)


def solved(np: Any) -> Function:
    return lambda x: np.linalg.solve(A.T @ A + np.diag(x * x), x)


def normalized(np: Any) -> Function:
    def f(x: Any) -> Any:
        e = np.exp(x - np.max(x))
        return e / np.sum(e)

    return f


PROGRAMS_BY_NAME = {program.name: program for program in PROGRAMS}
CASES = [
    *(_of_program(PROGRAMS_BY_NAME[name]) for name in FROM_CORPUS.split()),
    *(
        Case(make.__name__, make, X)
        for make in (
            affine,
            outer_product,
            choices,
            joined,
            gathered,
            ratios,
            solved,
            normalized,
        )
    ),
]
