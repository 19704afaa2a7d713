"""The Python array API standard 2024.12: what it says of names, arguments, dtypes and promotion.

Every signature is a line of Python; ``/`` and ``*`` are the standard's.
"""

from __future__ import annotations

import ast
import inspect
import operator
from typing import Any

import numpy as np

VERSION = "2024.12"

SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
"""

LINALG = """
cholesky(x, /, *, upper=False)
cross(x1, x2, /, *, axis=-1)
det(x, /)
diagonal(x, /, *, offset=0)
eigh(x, /)
eigvalsh(x, /)
inv(x, /)
matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims=False, ord="fro")
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol=None)
qr(x, /, *, mode="reduced")
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices=True)
svdvals(x, /)
tensordot(x1, x2, /, *, axes=2)
trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)
vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
FFT = """
fft(x, /, *, n=None, axis=-1, norm="backward")
ifft(x, /, *, n=None, axis=-1, norm="backward")
fftn(x, /, *, s=None, axes=None, norm="backward")
ifftn(x, /, *, s=None, axes=None, norm="backward")
rfft(x, /, *, n=None, axis=-1, norm="backward")
irfft(x, /, *, n=None, axis=-1, norm="backward")
rfftn(x, /, *, s=None, axes=None, norm="backward")
irfftn(x, /, *, s=None, axes=None, norm="backward")
hfft(x, /, *, n=None, axis=-1, norm="backward")
ihfft(x, /, *, n=None, axis=-1, norm="backward")
fftfreq(n, /, *, d=1.0, dtype=None, device=None)
rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fftshift(x, /, *, axes=None)
ifftshift(x, /, *, axes=None)
"""
"""Of the extensions, both under their own names: ``linalg`` and ``fft``."""

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS, FLOATS = SIGNED + UNSIGNED, REAL + COMPLEX
NUMERIC, EVERY = INTEGERS + FLOATS, ("bool", *INTEGERS, *FLOATS)
COMPONENT = {"complex64": "float32", "complex128": "float64"}

UNARY = {
    **dict.fromkeys(("abs", "negative", "positive", "sign", "square"), NUMERIC),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh"), FLOATS),
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "log2", "log10", "reciprocal"), FLOATS),
    **dict.fromkeys(("sin", "sinh", "sqrt", "tan", "tanh"), FLOATS),
    **dict.fromkeys(("ceil", "floor", "trunc"), INTEGERS + REAL),
    **dict.fromkeys(("conj", "imag", "real"), COMPLEX),
    **dict.fromkeys(("isfinite", "isinf", "isnan", "round"), NUMERIC),
    "bitwise_invert": ("bool", *INTEGERS),
    "logical_not": ("bool",),
    "signbit": REAL,
}
"""Functions of one array and the dtypes that the standard gives them."""

BINARY = {
    **dict.fromkeys(("add", "multiply", "subtract", "pow"), NUMERIC),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), REAL),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTEGERS)),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTEGERS),
    **dict.fromkeys(("equal", "not_equal"), EVERY),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), INTEGERS + REAL),
    **dict.fromkeys(("floor_divide", "maximum", "minimum", "remainder"), INTEGERS + REAL),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",)),
    "divide": FLOATS,
}

OF_BOOL = {"equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "isfinite"}
OF_BOOL |= {"isinf", "isnan", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not"}
OF_COMPONENT = {"abs", "real", "imag"}

OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def promoted(a: str, b: str) -> str | None:
    """The standard's table of type promotion; None where it leaves the result open."""
    if a == b:
        return a
    bits = {dtype: int("".join(c for c in dtype if c.isdigit()) or 8) for dtype in (a, b)}
    for group in (SIGNED, UNSIGNED, REAL, COMPLEX):
        if a in group and b in group:
            return max(a, b, key=group.index)
    if {a, b} <= set(INTEGERS):
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        if bits[unsigned] == 64:
            return None
        return signed if bits[signed] > bits[unsigned] else f"int{2 * bits[unsigned]}"
    if {a, b} <= set(FLOATS):
        real, other = (a, b) if a in REAL else (b, a)
        return "complex128" if "float64" in (real, COMPONENT[other]) else "complex64"
    return None


def numbers(dtype: str, n: int = 3) -> np.ndarray:
    return np.arange(1, n + 1).astype(dtype)


def function_of(line: str) -> ast.FunctionDef:
    return ast.parse(f"def {line}: ...").body[0]


OTHER_DEFAULTS = {("pinv", "rtol")}
"""Arguments whose default is NumPy's: singular values below 1e-15 of the largest count as 0."""


def check_signature(namespace: Any, line: str) -> None:
    """Arguments by position and by name are taken as the standard says, with its defaults."""
    stub = function_of(line)
    ours = inspect.signature(getattr(namespace, stub.name))
    arguments = stub.args
    by_place = [object() for _ in arguments.posonlyargs]
    either = {a.arg: object() for a in arguments.args}
    by_name = {a.arg: object() for a in arguments.kwonlyargs}
    rest = [object(), object()] if arguments.vararg else []
    ours.bind(*by_place, *rest, **either, **by_name)
    ours.bind(*by_place, *either.values(), *rest)
    for place, argument in enumerate(arguments.args, len(arguments.posonlyargs)):
        assert list(ours.parameters)[place] == argument.arg, "taken by name or by this place"
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    ours.bind(*[*by_place, *either.values()][:required], *rest)
    names = [a.arg for a in arguments.posonlyargs + arguments.args]
    defaults = dict(zip(names[::-1], arguments.defaults[::-1], strict=False))
    defaults |= dict(zip(by_name, arguments.kw_defaults, strict=True))
    for name, default in defaults.items():
        if (stub.name, name) in OTHER_DEFAULTS:
            assert name in ours.parameters
        elif name in ours.parameters and default is not None:
            mine = ours.parameters[name].default
            value = ast.literal_eval(default)
            assert mine == value or (mine is None and value in (0, 1, None, "backward")), (
                stub.name,
                name,
            )
