"""The names by which PyTorch's users know nodes of the tape and what they saved.

``add`` is ``AddBackward0``, its operands are ``_saved_self`` and ``_saved_other``. Ops that PyTorch
names otherwise stand in the tables; all others are named after themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codegen.spelling import Slot

EMPTY: Mapping[str, Any] = {}

NAMES: dict[str, str] = {
    "absolute": "AbsBackward0",
    "arccos": "AcosBackward0",
    "arccosh": "AcoshBackward0",
    "arcsin": "AsinBackward0",
    "arcsinh": "AsinhBackward0",
    "arctan": "AtanBackward0",
    "arctan2": "Atan2Backward0",
    "arctanh": "AtanhBackward0",
    "astype": "ToCopyBackward0",
    "broadcast_to": "ExpandBackward0",
    "cholesky": "LinalgCholeskyExBackward0",
    "clip_above": "ClampMaxBackward0",
    "clip_below": "ClampMinBackward0",
    "clip_between": "ClampBackward0",
    "concatenate": "CatBackward0",
    "copy": "CloneBackward0",
    "copy_in_order": "CloneBackward0",
    "det": "LinalgDetBackward0",
    "diagonal_view": "DiagonalBackward0",
    "divide": "DivBackward0",
    "eig": "LinalgEigBackward0",
    "eigh": "LinalgEighBackward0",
    "eigvalsh": "LinalgEighBackward0",
    "element": "SelectBackward0",
    "expand_dims": "UnsqueezeBackward0",
    "fft": "FftC2CBackward0",
    "fftn": "FftC2CBackward0",
    "gather": "IndexBackward0",
    "ifft": "FftC2CBackward0",
    "ifftn": "FftC2CBackward0",
    "index_set": "CopySlices",
    "inv": "LinalgInvExBackward0",
    "irfft": "FftC2RBackward0",
    "irfftn": "FftC2RBackward0",
    "lstsq": "LinalgLstsqBackward0",
    "multiply": "MulBackward0",
    "negative": "NegBackward0",
    "norm": "LinalgVectorNormBackward0",
    "number_base_power": "PowBackward2",
    "number_power": "PowBackward0",
    "part": "SliceBackward0",
    "pinv": "LinalgPinvBackward0",
    "power": "PowBackward1",
    "qr": "LinalgQrBackward0",
    "reshape": "ViewBackward0",
    "rfft": "FftR2CBackward0",
    "rfftn": "FftR2CBackward0",
    "slogdet": "LinalgSlogdetBackward0",
    "solve": "LinalgSolveExBackward0",
    "solve_triangular": "LinalgSolveTriangularBackward0",
    "subtract": "SubBackward0",
    "svd": "LinalgSvdBackward0",
    "svdvals": "LinalgSvdBackward0",
    "take_along_axis": "GatherBackward0",
    "to_device": "ToCopyBackward0",
    "transpose": "PermuteBackward0",
    "unstack": "UnbindBackward0",
}

PRODUCTS: dict[tuple[int, ...], str] = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm", (3, 3): "Bmm"}
"""What ``matmul`` is called, by the numbers of axes of its operands."""


def _matmul(attributes: Mapping[str, Any], values: Sequence[Any]) -> str:
    return f"{PRODUCTS.get(tuple(len(x.shape) for x in values), 'Matmul')}Backward0"


def _getitem(attributes: Mapping[str, Any], values: Sequence[Any]) -> str:
    items = attributes["index"].items if attributes else ()
    if any(isinstance(item, Slot) for item in items):
        return "IndexBackward0"
    return "SelectBackward0" if any(type(item) is int for item in items) else "SliceBackward0"


def _overload(name: str) -> Callable[[Mapping[str, Any], Sequence[Any]], str]:
    """Reductions are numbered: 0 over everything, 1 along axes."""
    return lambda attributes, values: f"{name}Backward{int(attributes.get('axis') is not None)}"


CHOSEN: dict[str, Callable[[Mapping[str, Any], Sequence[Any]], str]] = {
    "getitem": _getitem,
    "matmul": _matmul,
    "mean": _overload("Mean"),
    "prod": _overload("Prod"),
    "sum": _overload("Sum"),
}
"""Names that depend on attributes or on numbers of axes."""


def node_name(op: Any, attributes: Mapping[str, Any] = EMPTY, values: Sequence[Any] = ()) -> str:
    """The name of the node of an op, which may depend on what it has run with."""
    known: str | None = getattr(op, "node_name", None) or NAMES.get(op.name)
    if known is not None:
        return known
    if op.name in CHOSEN:
        return CHOSEN[op.name](attributes, values)
    return "".join(map(str.capitalize, op.name.split("_"))) + "Backward0"


# -- saved values -------------------------------------------------------------------------------

OPERANDS = {
    "a": "self",
    "b": "other",
    "bound": "min",
    "high": "max",
    "low": "min",
    "x": "self",
}
ATTRIBUTES = {"axis": "dim", "keepdims": "keepdim", "ddof": "correction"}
SPECIAL: dict[tuple[str, str], str] = {
    ("clip_above", "bound"): "max",
    ("matmul", "b"): "mat2",
    ("power", "b"): "exponent",
    ("where", "a"): "self",
    ("where", "b"): "other",
}


def saved_names(op: Any, count: int) -> tuple[dict[str, int], dict[str, str]]:
    """``_saved_`` names of `count` operands, by position, and of the op's attributes."""
    names = list(op.operands)
    if names and names[-1].startswith("*"):
        stem = names.pop().removeprefix("*")
        names += [f"{stem}_{i}" for i in range(count - len(names))]
    operands = {
        f"_saved_{SPECIAL.get((op.name, name)) or OPERANDS.get(name, name)}": i
        for i, name in enumerate(names)
    }
    attributes = {f"_saved_{ATTRIBUTES.get(name, name)}": name for name in op.attributes}
    return operands, attributes
