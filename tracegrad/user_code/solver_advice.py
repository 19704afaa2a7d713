"""What to write in place of functions of SciPy that integrate, find roots or minimize.

They call a function of the user's, or solve for something, in code that no gradient flows through.
"""

from __future__ import annotations

_NODES = (
    "sum over nodes, which gradients flow through: s, w = np.polynomial.legendre.leggauss(20) for "
    "-1 to 1, then np.sum(w * f(s))"
)
_OWN = (
    "call tracegrad.scipy.{0}, and let its function read Tensors as variables of its own, or get "
    "them in args=, not from an object"
)
_ROOT = "call scipy.optimize.root, which has a derivative, with this solver as its method="
_MINIMUM = (
    "give the solver a rule by the implicit function theorem (tg.custom_vjp); to minimize what you "
    "differentiate, call SciPy on tg.value_and_grad(f) from outside (jac=True)"
)
_INTEGRALS = "quad quad_vec"
_ROOTS = "brentq brenth ridder bisect toms748 newton root_scalar root fsolve fixed_point"
INSTEAD = {
    **dict.fromkeys(("dblquad", "tplquad", "nquad", "fixed_quad"), _NODES),
    **{name: _OWN.format(f"integrate.{name}") for name in _INTEGRALS.split()},
    **{name: _OWN.format(f"optimize.{name}") for name in _ROOTS.split()},
    **dict.fromkeys(("broyden1", "anderson"), _ROOT),
    "newton_krylov": _ROOT.replace("this solver as its method=", "method='krylov'"),
    **dict.fromkeys(
        ("minimize", "minimize_scalar", "least_squares", "leastsq", "curve_fit"), _MINIMUM
    ),
    **dict.fromkeys(("basinhopping", "differential_evolution", "shgo", "linprog"), _MINIMUM),
}
"""By the name of the function."""
