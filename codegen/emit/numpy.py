"""The NumPy target: results in memory of dying operands, looks that raise, large arrays by
tiles."""

from __future__ import annotations

from codegen.emit.target import Target

NUMPY = Target(
    name="numpy",
    module="np",
    imports=("import numpy as np",),
    inplace=True,
    contexts=True,
    tiles=True,
    python_floats=True,
    rows=True,
    constants=True,
    ufuncs={
        "+": "np.add",
        "-": "np.subtract",
        "*": "np.multiply",
        "/": "np.divide",
        "//": "np.floor_divide",
        "%": "np.remainder",
        "**": "np.power",
        "&": "np.bitwise_and",
        "|": "np.bitwise_or",
        "^": "np.bitwise_xor",
        "-x": "np.negative",
        "~x": "np.invert",
    },
)
