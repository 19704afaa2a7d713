"""The public transforms: grad, value_and_grad, vjp, jvp, vmap, jacobian, hessian, compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from tracegrad.errors import ArgumentError
from tracegrad.tracing.outputs import Placement, known_transform
from tracegrad.transforms.made_again import made
from tracegrad.transforms.sparse_derivatives import Sparse
from tracegrad.transforms.vector_products import hvp, jvp, known, linearize
from tracegrad.transforms.vjp import vjp
from tracegrad.world import jax_tree_calls

__all__ = [
    "compile",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]


def _positions(argnums: Any, name: str = "argnums") -> int | tuple[int, ...]:
    """``argnums`` as ints of Python's own."""
    try:
        if isinstance(argnums, Sequence) and not isinstance(argnums, str):
            return tuple(map(index, argnums))
        return index(argnums)
    except TypeError:
        raise ArgumentError(
            f"{name}={argnums!r}: must be an int or a sequence of ints, the positions of arguments"
        ) from None


def _placement(donate_argnums: Any, out_shardings: Any) -> Placement:
    """What is said of the memory of devices."""
    donated = _positions(donate_argnums, "donate_argnums")
    return Placement((donated,) if isinstance(donated, int) else donated, out_shardings)


def _decorator(
    kind: str,
    f: Callable[..., Any] | None,
    argnums: int | Sequence[int],
    has_aux: bool,
    backend: str | None,
    static_argnames: Sequence[str],
    placement: Placement,
    mode: str = "auto",
) -> Any:
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f'mode={mode!r}: must be "auto", "forward" or "reverse"')
    known(backend)
    numbers = _positions(argnums)
    transform = known_transform(kind, numbers, has_aux, mode=mode, placement=placement)
    if f is None:
        return lambda function: made(function, transform, backend, static_argnames)
    return made(f, transform, backend, static_argnames)


def _sparse(
    kind: str,
    f: Callable[..., Any] | None,
    argnums: int | Sequence[int],
    has_aux: bool,
    backend: str | None,
    static_argnames: Sequence[str],
    placement: Placement,
    mode: str = "forward",
) -> Any:
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f'mode={mode!r}: must be "auto", "forward" or "reverse"')
    numbers = _positions(argnums)
    if static_argnames:
        raise ArgumentError("static_argnames cannot be given with sparse=True")
    if placement != Placement():
        raise ArgumentError("donate_argnums and out_shardings cannot be given with sparse=True")
    known(backend)
    if f is None:
        return lambda function: Sparse(function, kind, numbers, has_aux, mode, backend)
    return Sparse(f, kind, numbers, has_aux, mode, backend)


def grad(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
    argnum: int | Sequence[int] | None = None,
) -> Any:
    """The gradient of a function that returns one number, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays; any control flow. Left out in ``@tg.grad(argnums=1)``.
    argnums : int or sequence of int
        Which arguments to differentiate; each may be an array, a float, or a pytree of them.
        Settings in a dict or dataclass (strings, flags, whole numbers, objects) go along: the
        function has them as they are, and None stands in their places of the gradient.
    has_aux : bool
        The function returns ``(value, aux)``; the callable returns ``(gradient, aux)``.
    backend : "numpy", "numba", "auto" or "jax", optional
        The target of the generated source; default ``tg.config.backend``.
    static_argnames : sequence of str
        Arguments whose value is part of what is compiled.
    donate_argnums : int or sequence of int
        Arguments whose JAX arrays a call may overwrite, as for `jax.jit`: their memory becomes that
        of results, and who reads them afterwards gets an error. It needs ``backend="jax"``.
        Programs that may run a second time leave arguments alone: with looks at values, or a
        `while` whose turns a gradient keeps.
    out_shardings : sharding, or pytree of them, optional
        Where JAX arrays of the result are to lie, as for `jax.jit`: a tree that may end before the
        structure of the result does; None leaves it to the program. It needs ``backend="jax"``.
    argnum : int or sequence of int, optional
        HIPS autograd's name of `argnums`.

    Returns
    -------
    callable
        Same arguments as `f`; returns the structure of ``args[argnums]``. Copies and pickles as
        the plain function does: of a module's own function that is its name.

    Raises
    ------
    tg.errors.ArgumentError
        An argument to be differentiated is an integer, or no array at all.
    tg.errors.NonScalarError
        The function returns something other than one number.
    tg.errors.LostGradientError
        A Python number that was read of a differentiated value (``float(x[0])``, ``x.tolist()``)
        comes back in the result; ``x.item()`` and `tg.stop_gradient` say that a constant is meant.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.grad
    ... def slope(x):
    ...     return np.sum(x ** 2)
    >>> slope(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    placement = _placement(donate_argnums, out_shardings)
    argnums = argnums if argnum is None else argnum
    return _decorator("grad", f, argnums, has_aux, backend, static_argnames, placement)


def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
    argnum: int | Sequence[int] | None = None,
) -> Any:
    """The value and the gradient together; parameters as for `grad`.

    Returns
    -------
    callable
        ``(value, gradient)``, with `has_aux` ``((value, aux), gradient)``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> value, gradient = tg.value_and_grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    >>> print(value, gradient)
    5.0 [2. 4.]
    """
    placement = _placement(donate_argnums, out_shardings)
    argnums = argnums if argnum is None else argnum
    return _decorator("value_and_grad", f, argnums, has_aux, backend, static_argnames, placement)


def jacobian(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    mode: str = "auto",
    sparse: bool = False,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
    argnum: int | Sequence[int] | None = None,
) -> Any:
    """The full Jacobian of a function, all rows or columns at once, as compiled source.

    Parameters
    ----------
    f : callable
        Plain Python over arrays that returns an array, or a pytree of arrays, of floating point.
    argnums, has_aux, backend, static_argnames, donate_argnums, out_shardings, argnum
        As for `grad`.
    mode : "auto", "forward" or "reverse"
        Whether tangents of all inputs are pushed forward, or cotangents of all results pulled back.
        "auto" pushes forward where a call has fewer inputs than results: there is a program of
        each kind, where calls need both.
    sparse : bool
        Whether the result is a ``scipy.sparse.csr_array``, of the shape (elements of the result,
        elements of the argument): see below.

    Returns
    -------
    callable
        Same arguments as `f`; returns an array of the shape of the result and then that of the
        argument. For a pytree of results it has their structure, with the structure of
        ``args[argnums]`` in the place of each, as `jax.jacobian`.

    Notes
    -----
    With ``sparse=True`` elements are counted in C order. Of pytrees there are blocks as without it,
    each a ``csr_array``; they share what is computed, as parts of one matrix. The graph tells which
    entries can be nonzero, for any values. Columns that share no row are summed (Curtis, Powell and
    Reid 1974), which are found by colouring a graph (Coleman and Moré 1983; Gebremedhin, Manne and
    Pothen 2005), greedily; in reverse mode rows. "auto" takes the mode that
    needs fewer colours. One compiled program gives all these sums. An entry that can be nonzero is
    stored, even where it is 0. Pattern and colours are kept for the shapes and whole numbers of a
    call; ``.explain()`` says what they are.

    Raises
    ------
    tg.errors.ArgumentError
        An argument to be differentiated is an integer or complex, or no array at all.
    tg.errors.NotDifferentiableError
        Some of the result is an integer, complex, or no array.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacobian(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    >>> differences = tg.jacobian(lambda x: np.diff(x) ** 2, sparse=True)
    >>> matrix = differences(np.arange(100.0))
    >>> print(type(matrix).__name__, matrix.shape, matrix.nnz)
    csr_array (99, 100) 198
    >>> print(differences.explain().splitlines()[0])
    sparse: 99 x 100, 198 nonzeros, 2 colours, forward mode
    """
    placement = _placement(donate_argnums, out_shardings)
    argnums = argnums if argnum is None else argnum
    if sparse:
        return _sparse("jacobian", f, argnums, has_aux, backend, static_argnames, placement, mode)
    return _decorator("jacobian", f, argnums, has_aux, backend, static_argnames, placement, mode)


def jacrev(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
) -> Any:
    """`jacobian` in reverse mode: for functions of many inputs and few results.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacrev(lambda x: x.sum() * x[:1])(np.array([1.0, 2.0]))
    array([[4., 1.]])
    """
    placement = _placement(donate_argnums, out_shardings)
    return _decorator(
        "jacobian", f, argnums, has_aux, backend, static_argnames, placement, "reverse"
    )


def jacfwd(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
) -> Any:
    """`jacobian` in forward mode: for functions of few inputs and many results.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacfwd(lambda t: np.array([1.0, 2.0]) * t)(3.0)
    array([1., 2.])
    """
    placement = _placement(donate_argnums, out_shardings)
    return _decorator(
        "jacobian", f, argnums, has_aux, backend, static_argnames, placement, "forward"
    )


def hessian(
    f: Callable[..., Any] | None = None,
    argnums: int | Sequence[int] = 0,
    *,
    sparse: bool = False,
    has_aux: bool = False,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
    argnum: int | Sequence[int] | None = None,
) -> Any:
    """The Hessian of a function that returns one number: forward mode over reverse, all at once.

    Parameters as for `grad`, and `sparse` as for `jacobian`.

    Returns
    -------
    callable
        Same arguments as `f`; returns an array of the shape of the argument twice. For pytrees,
        and for several arguments, blocks: the structure of the argument in the place of each leaf
        of the argument, as `jax.hessian`.

    Notes
    -----
    With ``sparse=True`` it is a ``scipy.sparse.csr_array`` of the shape (elements of the argument)
    twice, as for `jacobian`. The symmetric pattern is coloured by columns, or by a star colouring
    (Gebremedhin, Manne and Pothen 2005), which reads an entry or its mirror image, where that needs
    fewer colours.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hessian(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [4., 2.]])
    >>> sparse = tg.hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2), sparse=True)
    >>> sparse(np.ones(1000)).nnz
    2998
    """
    placement = _placement(donate_argnums, out_shardings)
    argnums = argnums if argnum is None else argnum
    if sparse:
        return _sparse("hessian", f, argnums, has_aux, backend, static_argnames, placement)
    return _decorator("hessian", f, argnums, has_aux, backend, static_argnames, placement)


def compile(
    f: Callable[..., Any] | None = None,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
) -> Any:
    """The function itself as compiled source; it stays differentiable from outside.

    On Tensors that require grad, among the arguments or from outside, a call is one operation of
    the tape, with a compiled backward: what depends on them is a Tensor, whatever the arguments
    are. Parameters as for `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.compile
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> print(softplus(0.0))
    0.6931471805599453
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = tg.compile(lambda: (w**2).sum())
    >>> loss().backward()
    >>> w.grad
    tensor([2., 4.])
    """
    placement = _placement(donate_argnums, out_shardings)
    return _decorator("compile", f, (), False, backend, static_argnames, placement)


@jax_tree_calls.over_batches.by
def vmap(
    f: Callable[..., Any] | None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    backend: str | None = None,
    static_argnames: Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    out_shardings: Any = None,
) -> Any:
    """A function of one example as a function of a batch of them, as compiled source.

    The source works on whole batches: an operation on one example becomes the operation on all of
    them (``x @ w`` of vectors a product of matrices), and what does not depend on the example is
    computed once. The function is run on the first example to see what it does.

    Parameters
    ----------
    f : callable
        Plain Python over the arrays of one example.
    in_axes : int, None, or a tuple of an entry for each positional argument
        The axis of each argument along which the examples lie; None: the same for all. An entry
        may be a pytree that begins as its argument does. Arguments passed by name have axis 0,
        defaults and arrays that the function reads from outside are the same for all.
    out_axes : int, None, or a pytree of them
        Where the batch stands in each result; None for a result that is the same for all.
    backend, static_argnames, donate_argnums, out_shardings
        As for `grad`.

    Returns
    -------
    callable
        Same arguments as `f`, with the axes of the batch; nests with every other transform.

    Raises
    ------
    tg.errors.ArgumentError
        Lengths of the batch that differ, axes that arguments do not have, `in_axes` or `out_axes`
        of another structure, a function that writes to its arguments.

    Notes
    -----
    Where the way of the function depends on the example (``if x[0] > 0``, ``float(x)``, ``x[mask]``
    of a length that differs), or it draws random numbers or changes something outside, it runs for
    one example after the other, compiled, as a loop in Python would: every example has draws of its
    own. A `tg.errors.RecompileWarning` says so once, with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> def loss(w, x, y):
    ...     return (x @ w - y) ** 2
    >>> gradients = tg.vmap(tg.grad(loss), in_axes=(None, 0, 0))
    >>> gradients(np.array([1.0, 2.0]), np.eye(2), np.zeros(2))
    array([[2., 0.],
           [0., 4.]])
    """
    known(backend)
    placement = _placement(donate_argnums, out_shardings)
    axes = {"in_axes": in_axes, "out_axes": out_axes}
    transform = known_transform("vmap", (), placement=placement, **axes)
    if f is None:
        return lambda function: made(function, transform, backend, static_argnames)
    return made(f, transform, backend, static_argnames)
