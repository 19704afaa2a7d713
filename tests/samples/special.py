"""Samples of the special functions, and what SciPy says of them; see `sampling`."""

from __future__ import annotations

import numpy as np
from scipy import special

from samples.sampling import ATTRIBUTES, NOT_IN_JAX, REFERENCES, TOGETHER

ATTRIBUTES["polygamma"] = [{"n": n} for n in (1, 2, 3)]

for _name in (
    "betainc",
    "betaln",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "gammaln",
    "i0",
    "i1",
    "log_ndtr",
    "logit",
    "ndtr",
    "xlogy",
):
    REFERENCES[_name] = getattr(special, _name)
REFERENCES["numpy_i0"] = np.i0
for _name in ("erf", "erfc"):
    NOT_IN_JAX[_name, "complex128"] = "jax.scipy.special takes real numbers"

TOGETHER["betainc"] = "no derivative in a and b is known; tested in x alone"
