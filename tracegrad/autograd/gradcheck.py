"""Checks gradients of a function against finite differences.

`gradcheck` compares the Jacobian of the backward, one row a backward, with the Jacobian of central
differences, one column two forwards. `gradgradcheck` does the same to the backward itself. Complex
inputs and outputs count as pairs of real ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracegrad.autograd.functional import grad
from tracegrad.errors import ArgumentError, GradientError
from tracegrad.runtime.thread_state import call
from tracegrad.tensors.tensor import Tensor, wrap


class GradcheckError(GradientError):
    """Gradients and differences do not agree; the message names input, output and both numbers."""


def gradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    *,
    nondet_tol: float = 0.0,
) -> bool:
    """Checks the gradients of `fn` against central differences.

    Parameters
    ----------
    fn : callable
        Takes the inputs, returns a Tensor or a sequence of them.
    inputs : Tensor or sequence
        Those that require grad are checked; they should be float64 (or complex128).
    eps : float
        The step of the differences.
    atol, rtol : float
        Agreement as in ``numpy.allclose``.
    raise_exception : bool
        False: return False instead of raising.
    nondet_tol : float
        How much two backwards of the same graph may differ.

    Raises
    ------
    tg.autograd.GradcheckError
        Where they do not agree.
    tg.errors.ArgumentError
        When no input requires grad.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([0.5, 2.0], requires_grad=True)
    >>> tg.autograd.gradcheck(lambda x: x * tg.exp(x), x)
    True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = _wanted(args)
    try:
        outputs = _outputs(fn, args)
        for k, output in enumerate(outputs):
            numerical = [_numerical(fn, args, i, k, eps) for i in wanted]
            if not output.requires_grad:
                _expect_zero(k, dict(zip(wanted, numerical, strict=True)), atol)
                continue
            analytical = _analytical(output, [args[i] for i in wanted])
            again = _analytical(output, [args[i] for i in wanted])
            for i, a, b, n in zip(wanted, analytical, again, numerical, strict=True):
                if not np.allclose(a, b, rtol=0.0, atol=nondet_tol, equal_nan=True):
                    raise GradcheckError(
                        f"two backwards of output {k} with respect to input {i} differ by up to "
                        f"{np.max(np.abs(a - b))}: the backward is not deterministic"
                    )
                if not np.allclose(a, n, rtol=rtol, atol=atol):
                    raise GradcheckError(_mismatch(k, i, n, a, args[i], output, rtol, atol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    *,
    nondet_tol: float = 0.0,
) -> bool:
    """Checks the gradients of the gradients of `fn` against central differences.

    `grad_outputs` are cotangents of the outputs, by default random ones; gradients with respect to
    them are checked too. Other parameters are those of `gradcheck`.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([0.5, 2.0], requires_grad=True)
    >>> tg.autograd.gradgradcheck(lambda x: x * tg.exp(x), x)
    True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = _wanted(args)
    outputs = [output for output in _outputs(fn, args) if output.requires_grad]
    if grad_outputs is None:
        cts = [_random_like(output, seed) for seed, output in enumerate(outputs)]
    else:
        cts = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(args)

    def gradients(*everything: Any) -> tuple[Tensor, ...]:
        given, grads = everything[:count], everything[count:]
        differentiable = [t for t in _outputs(fn, given) if t.requires_grad]
        found = grad(
            differentiable,
            [given[i] for i in wanted],
            grads,
            create_graph=True,
            allow_unused=True,
        )
        return tuple(
            wrap(np.zeros_like(given[i]._array)) if g is None else g
            for i, g in zip(wanted, found, strict=True)
        )

    return gradcheck(
        gradients, (*args, *cts), eps, atol, rtol, raise_exception, nondet_tol=nondet_tol
    )


def _wanted(args: Sequence[Any]) -> list[int]:
    """Which inputs are checked; warns of those too coarse for differences."""
    wanted = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ArgumentError(
            "gradcheck expects at least one input to require gradient, but none of them have "
            "requires_grad=True"
        )
    for i in wanted:
        if args[i].dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                f"complex, but {args[i].dtype}. This check will likely fail if all the inputs are "
                "not of double precision floating point or complex.",
                stacklevel=3,
            )
    return wanted


def _outputs(fn: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """What the function returns, as a list; things that are no Tensors have no gradient."""
    returned = call(fn, args, {})
    several = returned if isinstance(returned, tuple | list) else (returned,)
    return [x for x in several if isinstance(x, Tensor)]


def _random_like(x: Tensor, seed: int) -> Tensor:
    random = np.random.default_rng(seed)
    values = random.normal(size=x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * random.normal(size=x.shape)
    return Tensor(values, x.dtype, requires_grad=True)


def _parts(array: Any) -> np.ndarray:
    """The elements in a row; of complex ones first the real parts, then the imaginary ones."""
    flat = np.asarray(array).reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat


def _units(x: Tensor) -> list[np.ndarray]:
    """One array for each row of `_parts`: 1 (or 1j) there and 0 elsewhere."""
    units = []
    for one in (1, 1j) if x.dtype.kind == "c" else (1,):
        for j in range(int(np.prod(x.shape))):
            unit = np.zeros(x.shape, x.dtype)
            unit.reshape(-1)[j] = one
            units.append(unit)
    return units


def _numerical(
    fn: Callable[..., Any], args: Sequence[Any], i: int, k: int, eps: float
) -> np.ndarray:
    """The Jacobian of output k in input i by central differences: rows are parts of the input.

    The input itself is moved, so that a function that reads it by another name sees it too.
    """
    x = args[i]
    at = x._array
    rows = []
    try:
        for unit in _units(x):
            ends = []
            for step in (eps, -eps):
                x._array = np.asarray(at + (step * unit).astype(x.dtype))
                ends.append(_parts(_outputs(fn, args)[k].detach()._array).copy())
            rows.append((ends[0] - ends[1]) / (2 * eps))
    finally:
        x._array = at
    return np.array(rows)


def _analytical(output: Tensor, inputs: Sequence[Tensor]) -> list[np.ndarray]:
    """The Jacobians of the output in the inputs, by one backward for each part of the output."""
    columns: list[list[np.ndarray]] = [[] for _ in inputs]
    for unit in _units(output):
        found = grad(output, inputs, wrap(unit), retain_graph=True, allow_unused=True)
        for column, x, g in zip(columns, inputs, found, strict=True):
            column.append(_parts(np.zeros_like(x._array) if g is None else g.detach()._array))
    empties = [np.zeros((len(_parts(x._array)), 0)) for x in inputs]
    return [np.stack(c, axis=1) if c else e for c, e in zip(columns, empties, strict=True)]


def _expect_zero(k: int, numerical: dict[int, np.ndarray], atol: float) -> None:
    """An output without a gradient must not depend on the inputs."""
    for i, jacobian in numerical.items():
        if not np.allclose(jacobian, 0.0, atol=atol):
            raise GradcheckError(
                f"output {k} does not require grad, but it depends on input {i}: the numerical "
                f"gradient should be zero and is up to {np.max(np.abs(jacobian))}"
            )


def _mismatch(
    k: int,
    i: int,
    numerical: np.ndarray,
    analytical: np.ndarray,
    x: Tensor,
    output: Tensor,
    rtol: float,
    atol: float,
) -> str:
    """The worst pair of numbers, where it stands, and the whole Jacobians."""
    excess = np.abs(analytical - numerical) - (atol + rtol * np.abs(numerical))
    row, column = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), excess.shape)
    place_in, place_out = _place(int(row), x), _place(int(column), output)
    return (
        f"Jacobian mismatch for output {k} with respect to input {i}: d output{place_out} / d "
        f"input{place_in} is {numerical[row, column]} numerically and {analytical[row, column]} "
        f"analytically\nnumerical:\n{numerical}\nanalytical:\n{analytical}"
    )


def _place(part: int, x: Tensor) -> str:
    count = int(np.prod(x.shape))
    index = np.unravel_index(part % max(count, 1), x.shape)
    suffix = "" if x.dtype.kind != "c" else (".real", ".imag")[part // max(count, 1)]
    return (f"[{', '.join(map(str, index))}]" if index else "") + suffix
