"""SciPy's functions that call the user's to integrate and to find roots, by module and name."""

from __future__ import annotations

from tracegrad.transforms import implicit_functions, ode_solvers, quadrature
from tracegrad.world.scipy_table import Table, solvers

TABLES: dict[str, Table] = {
    "scipy.integrate": {**ode_solvers.TABLE, **quadrature.TABLE},
    "scipy.optimize": implicit_functions.TABLE,
}
solvers.by(lambda: TABLES)
