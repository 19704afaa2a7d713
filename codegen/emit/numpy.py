"""The NumPy target: ufuncs that write into dying operands, looks that leave by an exception."""

from __future__ import annotations

from codegen.emit.target import Target

NUMPY = Target(
    name="numpy",
    module="np",
    imports=("import numpy as np",),
    inplace=True,
    tiles=True,
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
    },
)
