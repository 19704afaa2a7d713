"""What sets the NumPy target apart leaves: writing into dying operands, looks that raise, tiles."""

from __future__ import annotations

from codegen.emit.target import Target

NUMPY = Target(
    name="numpy",
    module="np",
    imports=("import numpy as np",),
    inplace=True,
    tiles=True,
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
