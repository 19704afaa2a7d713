"""The error for a function of SciPy that cannot be called on Tensors."""

from __future__ import annotations

from tracegrad.errors import ConversionError

_NODES = (
    "sum over nodes, which gradients flow through: s, w = np.polynomial.legendre.leggauss(20) for "
    "-1 to 1, then np.sum(w * f(s))"
)
_ROOT = (
    "find the root r of plain values outside, or with tg.stop_gradient, and return one step of "
    "Newton's method from there, r - f(r) / slope, which has the root's derivative; or give the "
    "solver a rule by the implicit function theorem (tg.custom_vjp)"
)
_MINIMUM = (
    "give the solver a rule by the implicit function theorem (tg.custom_vjp); to minimize what you "
    "differentiate, call SciPy on tg.value_and_grad(f) from outside (jac=True)"
)
INSTEAD = {
    **dict.fromkeys(("quad", "quad_vec", "dblquad", "tplquad", "nquad", "fixed_quad"), _NODES),
    **dict.fromkeys(
        ("brentq", "brenth", "ridder", "bisect", "toms748", "newton", "root_scalar", "root"), _ROOT
    ),
    **dict.fromkeys(("fsolve", "broyden1", "anderson", "newton_krylov"), _ROOT),
    **dict.fromkeys(("minimize", "minimize_scalar", "least_squares", "curve_fit"), _MINIMUM),
    **dict.fromkeys(("basinhopping", "differential_evolution", "shgo", "linprog"), _MINIMUM),
}
"""Functions that call the user's or solve for something: what to write in their place."""


def refused(name: str) -> ConversionError:
    """The error for a function that has no counterpart."""
    instead = INSTEAD.get(name.rpartition(".")[2])
    return ConversionError(
        f"{name} has no counterpart in tracegrad that takes a traced value, its computation would "
        "be lost: "
        + (
            instead
            or "write it with tg, tg.special or tg.linalg, or as a tg.autograd.Function with a "
            "backward of its own"
        )
        + "; where no gradient is due, pass tg.stop_gradient(x) or x.detach().numpy() outside of "
        "compiled functions"
    )


def refuses_callback(error: Exception) -> bool:
    """Whether a function of SciPy got a traced value from one of the user's that it called."""
    return isinstance(error, ConversionError) or "not a proper array of floats" in str(error)
