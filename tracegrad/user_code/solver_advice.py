"""What to write in place of functions of SciPy that integrate, find roots or minimize.

They call a function of the user's, or solve for something, in code that no gradient flows through.
"""

from __future__ import annotations

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
    **dict.fromkeys(
        ("minimize", "minimize_scalar", "least_squares", "leastsq", "curve_fit"), _MINIMUM
    ),
    **dict.fromkeys(("basinhopping", "differential_evolution", "shgo", "linprog"), _MINIMUM),
}
"""By the name of the function."""
