"""Functions of JAX on Tensors: a table of what computes the same here, with gradients.

`jax.numpy` has NumPy's names, so a call of ``jnp.sin`` with Tensors is one of ``np.sin``, with what
differs in its arguments; dtypes are NumPy's. Any other function is refused by its name. JAX is
never imported here: a function is known by where it stands in the modules that are loaded.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from inspect import Parameter, Signature
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from tracegrad.errors import ConversionError, TracegradError
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.runtime.provided import Provided
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.jax_updates import UpdatesAt, beside
from tracegrad.tensors.tensor import Tensor
from tracegrad.traced_scipy import linalg, special
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import is_jax_array, is_jax_tracer
from tracegrad.world import jax_random

Function = Callable[..., Any]

MODULES = (
    *("numpy", "numpy.linalg", "numpy.fft", "nn", "lax", "scipy.special", "scipy.linalg"),
    *("random", "dtypes"),
)
"""Modules of JAX of which there are counterparts, the public ones of a function first."""


Operands = tuple[Any, ...]
Keywords = dict[str, Any]
Call = tuple[Function, Operands, Keywords]


activations = Provided("activation functions by their names in jax.nn")


def counterpart(callee: Any, operands: Operands, keywords: Keywords) -> Call | None:
    """The call that computes on Tensors what one of a function of JAX's does.

    None where it calls functions of the user's, which nobody would watch.
    """
    known = _known().get(id(callee))
    function = None if known is None else _function(*known)
    if (updated := _updated(callee, operands)) is not None:
        return updated, operands[1:], keywords
    if any(map(_calls_back, (*operands, *keywords.values()))):
        return None
    if known is not None and known[0] == "random":
        return partial(_drawn, known[1], callee), operands, keywords
    if any(map(jax_random.is_key_within, (*operands, *keywords.values()))):
        raise refused(callee)
    if function is None:
        return None
    return _call(callee, function, tuple(map(_with_tensors, operands)), keywords)


def _with_tensors(x: Any) -> Any:
    """An operand with Tensors for the arrays that functions of JAX's have made."""
    if type(x) in (list, tuple):
        return type(x)(map(_with_tensors, x))
    if STATE.trace is None or not is_jax_array(x):
        return x
    return STATE.trace.world.tensor_of_jax(x)


def _updated(callee: Any, operands: Operands) -> Function | None:
    """``x.at[i].set`` of an array of JAX's that was made without a value that is traced."""
    at: Any = operands[0] if operands else None
    if type(at).__name__ != "_IndexUpdateRef":
        return None
    trace = STATE.trace
    array = beside(operands, at.array) if trace is None else trace.world.tensor_of_jax(at.array)
    return getattr(UpdatesAt(array, at.index), callee.__name__, None)


def is_known(callee: Any, operands: Operands, keywords: Keywords) -> bool:
    """Whether there is a counterpart that takes these arguments."""
    try:
        return is_of_jax(callee) and counterpart(callee, operands, keywords) is not None
    except (ConversionError, TypeError):
        return False


def _drawn(name: str, callee: Any, *operands: Any, **keywords: Any) -> Any:
    """A call of ``jax.random.name``, which JAX does itself, in programs too."""
    found = jax_random.counterpart(name, callee, operands, keywords)
    if found is None:
        raise refused(callee)
    return found


def _calls_back(x: Any) -> bool:
    if type(x) in (list, tuple):
        return any(map(_calls_back, x))
    return callable(x) and not isinstance(x, type)


def is_of_jax(callee: Any) -> bool:
    """Whether an object that is called is one of JAX's: a function, or one under a transform."""
    if type(callee) is MethodType:
        callee = callee.__func__
    module: Any = type(callee).__module__
    if type(callee) is FunctionType:
        module = callee.__globals__.get("__name__")
    return type(module) is str and module.partition(".")[0] in ("jax", "jaxlib")


def is_public(callee: Any) -> bool:
    """Whether a function stands in a module of JAX, and so holds nothing of the user's."""
    return "jax" in sys.modules and is_of_jax(callee) and id(callee) in _known()


def run(callee: Any, operands: Operands, keywords: Keywords) -> Any:
    """Runs a function of JAX: what it makes of arrays is an array, also inside JAX's traces."""
    if any(map(is_jax_tracer, (*operands, *keywords.values()))):
        return callee(*operands, **keywords)
    with sys.modules["jax"].ensure_compile_time_eval():
        return callee(*operands, **keywords)


def name_of(callee: Any) -> str:
    """A function as users write it: ``jnp.sin``, ``jax.nn.relu``."""
    found = _known().get(id(callee))
    if found is not None:
        return f"jax.{found[0]}.{found[1]}".replace("jax.numpy.", "jnp.")
    name = getattr(callee, "__name__", type(callee).__name__)
    module = getattr(callee, "__module__", None) or "jax"
    for public in ("jax.random", "jax"):
        if getattr(sys.modules.get(public), name, None) is callee:
            return f"{public}.{name}"
    if type(callee).__name__ == "PjitFunction":
        return f"{name} under jax.jit"
    return name if module.startswith("jax") else f"{name} under a transform of JAX's"


def refused(callee: Any, asked: str = "") -> ConversionError:
    """The error for a function of JAX without a counterpart, or `asked` for what NumPy lacks."""
    name = name_of(callee)
    module, _, last = name.rpartition(".")
    instead = _INSTEAD.get(last) or _INSTEAD.get(module) or _WRITE
    return ConversionError(
        f"{name}{asked} has no counterpart in tracegrad that takes a traced value, its computation "
        f"would be lost: {instead}{at_line()}"
    )


def refuses(callee: Any, error: Exception) -> bool:
    """Whether a function of JAX's has met a Tensor and could not take it."""
    met = type(error) in (ConversionError, TracegradError) or _TENSOR in str(error)
    return met and is_of_jax(callee)


_TENSOR = f"{Tensor.__module__}.{Tensor.__qualname__}"
_WRITE = (
    "write NumPy's functions, which are JAX's in programs for JAX, and call functions without "
    "jax.jit and JAX's other transforms around them"
)
_INSTEAD = {
    "jax.random": "tg.random.KeyGenerator(key) draws the same numbers",
    "cond": "write if, which becomes lax.cond in programs for JAX",
    "switch": "write if and elif, which become lax.cond in programs for JAX",
    **dict.fromkeys(
        ("scan", "fori_loop", "map", "while_loop", "associative_scan"),
        "write for or while, which stays a loop in programs for JAX",
    ),
    **dict.fromkeys(
        ("put", "place", "fill_diagonal", "put_along_axis"),
        "write to the array: x = x.copy(); x[i] = v",
    ),
    "custom_jvp": "tg.custom_jvp",
    "custom_vjp": "tg.custom_vjp",
}
"""What to write, by the name of the function or of its module."""


@cache
def _found_in(names: tuple[str, ...]) -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for module in names:
        for name, value in vars(sys.modules[f"jax.{module}"]).items():
            if callable(value) and not name.startswith("_"):
                found.setdefault(id(value), (module, name))
    return found


def _known() -> Mapping[int, tuple[str, str]]:
    """By identity, where in JAX's modules a function stands, of those that are loaded."""
    return _found_in(tuple(name for name in MODULES if f"jax.{name}" in sys.modules))


# -- what computes the same -----------------------------------------------------------------------


def _function(module: str, name: str) -> Function | None:
    """The function that stands for one in a module of JAX."""
    if (module, name) in _OTHERWISE:
        return _OTHERWISE[module, name]
    if not module.startswith("numpy"):
        if module == "nn":
            return activations.call().get(name)  # type: ignore[no-any-return]
        table = {"scipy.special": special.TABLE, "scipy.linalg": linalg.TABLE}.get(module, {})
        return table.get(name)
    place: Any = getattr(np, module.partition(".")[2]) if "." in module else np
    return getattr(place, name, None)


def _call(callee: Any, function: Function, operands: Operands, keywords: Keywords) -> Call:
    """The call with the arguments that the function has; what only JAX knows of is refused."""
    taken, known = _parameters(callee), _parameters(function)
    if keywords.get("out") is not None:
        raise refused(callee, " with out=")
    if isinstance(function, np.ufunc) or not taken or not known:
        return function, operands, keywords
    several = any(p.kind is Parameter.VAR_POSITIONAL for p in taken.values())
    places, named = [*operands] if several else [], dict[str, Any]()
    signature = Signature([*taken.values()])
    bound = keywords if several else dict(signature.bind(*operands, **keywords).arguments)
    for p in taken.values():
        if p.kind is Parameter.VAR_KEYWORD and not several:
            bound |= bound.pop(p.name, {})
    names = [p.name for p in known.values() if p.kind is not Parameter.KEYWORD_ONLY]
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in known.values())
    for i, (name, value) in enumerate(bound.items()):
        at = names[len(places)] if len(places) < len(names) and not several else None
        if name in _HINTS or (name in taken and value is taken[name].default):
            continue
        if name == at:
            places.append(value)
        elif name in known:
            named[name] = value
        elif len(places) == i and at is not None and at not in taken:  # by another name
            places.append(value)
        elif takes_any:
            named[name] = value
        else:
            raise refused(callee, f" with {name}=")
    return function, tuple(places), named


@cache
def _parameters(function: Function) -> Mapping[str, Parameter]:
    """The parameters of a function; none where it does not tell."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


_HINTS = frozenset({
    *("precision", "indices_are_sorted", "unique_indices", "assume_unique_indices"),
})  # fmt: skip
"""Arguments of JAX's functions that say how, and not what."""


def _symmetric(a: Any) -> Any:
    return (a + np.conj(np.swapaxes(a, -1, -2))) / 2


def _cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    return np.linalg.cholesky(_symmetric(a) if symmetrize_input else a, upper=upper)


def _eigh(a: Any, UPLO: Any = None, symmetrize_input: bool = True) -> Any:
    return np.linalg.eigh(_symmetric(a) if symmetrize_input else a, UPLO=UPLO or "L")


def _eigvalsh(a: Any, UPLO: Any = "L", *, symmetrize_input: bool = True) -> Any:
    return np.linalg.eigvalsh(_symmetric(a) if symmetrize_input else a, UPLO=UPLO or "L")


def _pinv(a: Any, rtol: Any = None, hermitian: bool = False) -> Any:
    least = 10.0 * max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    return np.linalg.pinv(a, least, hermitian)


def _argsort(a: Any, axis: int | None = -1, *, stable: bool = True) -> Any:
    return np.argsort(a, axis, stable=stable)


def _result_type(*operands: Any, return_weak_type_flag: bool = False) -> Any:
    """What JAX says of the dtypes alone."""
    of = sys.modules["jax"].dtypes.result_type
    given = [x.dtype if type(x) is Tensor else x for x in operands]
    return of(*given, return_weak_type_flag=return_weak_type_flag)


def _elu(x: Any, alpha: Any, scale: Any = 1.0) -> Any:
    return scale * np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x)))


def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0), 6.0)


def _glu(x: Any, axis: int = -1) -> Any:
    half, gate = np.split(x, 2, axis)
    return half / (1 + np.exp(-gate))


def _standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5
) -> Any:
    mean = x.mean(axis, keepdims=True) if mean is None else mean
    if variance is None:
        variance = np.mean(np.square(x), axis, keepdims=True) - np.square(mean)
    return (x - mean) / np.sqrt(variance + epsilon)


def _softmax(x: Any, axis: Any = -1) -> Any:
    return special.TABLE["softmax"](x, axis=axis)


def _log_softmax(x: Any, axis: Any = -1) -> Any:
    return special.TABLE["log_softmax"](x, axis=axis)


_UNARY = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh exp exp2 expm1 floor imag log log1p "
    "real sign sin sinh sqrt square tan tanh"
)
_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum}
_BINARY |= {"min": np.minimum, "pow": np.power, "atan2": np.arctan2, "integer_pow": np.power}
_COMPARED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
_COMPARED |= {"gt": np.greater, "ge": np.greater_equal}

_OTHERWISE: dict[tuple[str, str], Function | None] = {
    ("numpy", "argsort"): _argsort,
    ("numpy", "reciprocal"): lambda x: 1.0 / x,
    **{("numpy", name): None for name in ("put", "place", "fill_diagonal", "put_along_axis")},
    ("numpy.linalg", "cholesky"): _cholesky,
    ("numpy.linalg", "eigh"): _eigh,
    ("numpy.linalg", "eigvalsh"): _eigvalsh,
    ("numpy.linalg", "pinv"): _pinv,
    ("scipy.linalg", "eigh"): None,  # of the symmetric part, SciPy's of one triangle
    ("nn", "softmax"): _softmax,
    ("nn", "log_softmax"): _log_softmax,
    ("nn", "logsumexp"): special.TABLE["logsumexp"],
    ("nn", "tanh"): np.tanh,
    ("nn", "log_sigmoid"): lambda x: -np.logaddexp(-x, 0.0),
    ("nn", "mish"): lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    ("nn", "celu"): lambda x, alpha=1.0: np.where(
        x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x) / alpha)
    ),
    ("nn", "selu"): lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805),
    ("nn", "relu6"): _relu6,
    ("nn", "hard_tanh"): lambda x: np.where(x > 1, 1.0, np.where(x < -1, -1.0, x)),
    ("nn", "hard_sigmoid"): lambda x: _relu6(x + 3.0) / 6.0,
    ("nn", "hard_silu"): lambda x: x * (_relu6(x + 3.0) / 6.0),
    ("nn", "glu"): _glu,
    ("nn", "standardize"): _standardize,
    ("dtypes", "result_type"): _result_type,
    ("dtypes", "issubdtype"): lambda a, b: sys.modules["jax"].dtypes.issubdtype(a, b),
    ("lax", "stop_gradient"): stop_gradient,
    ("lax", "neg"): np.negative,
    ("lax", "rsqrt"): lambda x: 1.0 / np.sqrt(x),
    ("lax", "select"): np.where,
    **{("lax", name): getattr(np, name) for name in _UNARY.split()},
    **{("lax", name): function for name, function in {**_BINARY, **_COMPARED}.items()},
}
"""Where the function of the same name does something else, or none has that name."""
