"""The error for a function of SciPy that cannot be called on Tensors."""

from __future__ import annotations

from tracegrad.errors import ConversionError
from tracegrad.user_code.program_points import at_line
from tracegrad.user_code.solver_advice import INSTEAD

_SPARSE = "make the matrix with scipy.sparse.csr_array((values, (rows, columns)), shape=...)"
_SOLVED = "solve with scipy.sparse.linalg.spsolve(A, b)"
_FACTORED = "solve with scipy.sparse.linalg.spsolve(A, b), with several columns in b at once"
_INVERTED = "solve with scipy.sparse.linalg.spsolve(A, np.eye(n))"
_SCALED = "multiply its numbers: csr_array((x * A.data, A.indices, A.indptr), shape=A.shape)"
_SPLINE = (
    "fit the values of a scipy.interpolate.CubicSpline, or np.interp for lines; the matrix of "
    "BSpline.design_matrix, made outside, times the coefficients that are fitted"
)
_NORMAL = "write multivariate_normal.logpdf(x, mean, cov)"
_OF_OBJECTS = "traced values that an object or a method holds must be handed over in args="
_NEAREST = {
    "multiply": _SCALED,
    **dict.fromkeys(("cg", "gmres", "bicgstab", "minres", "lgmres", "cgs", "qmr"), _SOLVED),
    **dict.fromkeys(("splu", "spilu", "factorized", "solve", "SuperLU"), _FACTORED),
    "spsolve_triangular": _SOLVED,
    "inv": _INVERTED,
    "log_expit": "write -np.logaddexp(0.0, -x)",
    "ndtri": "write scipy.stats.norm.ppf(x)",
    "loggamma": "write scipy.special.gammaln(x)",
    **dict.fromkeys(("coo_array", "coo_matrix", "diags", "diags_array", "dia_array"), _SPARSE),
    **dict.fromkeys(("PchipInterpolator", "Akima1DInterpolator", "interp1d"), _SPLINE),
    **dict.fromkeys(("make_interp_spline", "BSpline"), _SPLINE),
    **dict.fromkeys(("multivariate_normal_gen", "multivariate_normal_frozen"), _NORMAL),
    **dict.fromkeys(("solve_ivp", "odeint"), _OF_OBJECTS),
}
"""What to write in place of functions that have near relatives, by a part of the name."""


def refused(name: str) -> ConversionError:
    """The error for a function that has no counterpart."""
    given = [table[k] for k in name.split(".") for table in (INSTEAD, _NEAREST) if k in table]
    instead = given[-1] if given else None
    return ConversionError(
        f"{name} has no counterpart in tracegrad that takes a traced value, its computation would "
        "be lost: "
        + (
            instead
            or "write it with tg, tg.special or tg.linalg, or as a tg.autograd.Function with a "
            "backward of its own"
        )
        + "; where no gradient is due, pass tg.stop_gradient(x) or x.detach().numpy() outside of "
        f"compiled functions{at_line()}"
    )


def refuses_callback(error: Exception) -> bool:
    """Whether a function of SciPy got a traced value from one of the user's that it called."""
    return isinstance(error, ConversionError) or "not a proper array of floats" in str(error)
