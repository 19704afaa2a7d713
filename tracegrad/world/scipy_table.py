"""Functions of SciPy on Tensors: a table of what computes the same here, with gradients.

SciPy's Python reads plain arrays, which a traced value cannot become. So a call of one of these
functions with Tensors is a call of the function in the table; any other is refused by its name.
SciPy is never imported here: a function is known by where it stands in the modules that the user
has imported.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from types import BuiltinMethodType, FunctionType, MethodDescriptorType, MethodType
from typing import Any

import numpy as np

from tracegrad.runtime.provided import Provided
from tracegrad.tensors.array_functions import trapezoid
from tracegrad.tensors.tensor import Tensor
from tracegrad.traced_scipy import (
    frozen_distributions,
    interpolate,
    linalg,
    signal,
    sparse,
    special,
)
from tracegrad.traced_scipy import stats as densities
from tracegrad.traced_scipy.refusals import refused, refuses_callback
from tracegrad.traced_scipy.sparse import is_sparse, times
from tracegrad.user_code.captures import taken_out
from tracegrad.user_code.lost_conversions import public_name
from tracegrad.values.given_rules import with_rule

Table = dict[str, Callable[..., Any]]

__all__ = [
    "counterpart",
    "counterparts",
    "distributions",
    "functions",
    "is_distribution",
    "is_of_scipy",
    "is_sparse",
    "is_tensor",
    "name_of",
    "refused",
    "refuses_callback",
    "solves_with_tensors",
    "times",
]


@cache
def functions() -> dict[str, Table]:
    """By module and name, what computes the same."""
    return {
        "scipy.special": special.TABLE,
        "scipy.linalg": linalg.TABLE,
        "scipy.signal": signal.TABLE,
        **solvers.call(),
        "scipy.integrate": {"trapezoid": trapezoid, **solvers.call()["scipy.integrate"]},
        "scipy.interpolate": interpolate.TABLE,
        "scipy.sparse": sparse.TABLE,
        "scipy.sparse.linalg": sparse.SOLVERS,
    }


solvers = Provided("solvers that call functions of the user's, which stand on the transforms")


@cache
def distributions() -> dict[tuple[str, str], Callable[..., Any]]:
    """By name of a distribution in `scipy.stats` and of its method."""
    return densities.table()


def is_tensor(x: Any) -> bool:
    """Whether an object is a Tensor."""
    return type(x) is Tensor


def solves_with_tensors(callee: Any, given: Iterable[Any]) -> bool:
    """Whether a function that calls the user's gets one that has captured Tensors."""
    solver = any(
        callee is getattr(sys.modules.get(module), name, None)
        for module, table in solvers.call().items()
        for name in table
    )
    return solver and any(taken_out(x, is_tensor)[1] for x in given)


def counterpart(callee: Any, operands: tuple[Any, ...]) -> Callable[..., Any] | None:
    """What computes the same as a function of SciPy, called with these operands."""
    ruled = with_rule(callee)
    if ruled is not None:
        return ruled
    name = getattr(callee, "__name__", "")
    if name in ("dot", "__matmul__", "__rmatmul__") and _is_sparse(callee, operands):
        return _product(callee)
    at = interpolate.of_object(callee)
    if at is not None:
        return at
    owner = callee.__self__ if type(callee) is MethodType else (*operands, None)[0]
    method = interpolate.of_method(owner, name)
    if method is not None:
        return partial(method, owner) if type(callee) is MethodType else method
    if type(callee) is MethodType or (operands and is_distribution(operands[0])):
        found = _of_distribution(owner, name)
        if found is None or type(callee) is MethodType:
            return found
        return lambda _, *rest, **keywords: found(*rest, **keywords)
    for module, table in functions().items():
        if name in table and getattr(sys.modules.get(module), name, None) is callee:
            return with_parameters_of(callee, f"{module}.{name}", table[name])
    return None


def counterparts(module: str) -> Table:
    """The functions of a module of SciPy that have a counterpart, with SciPy's parameters."""
    theirs = sys.modules[module]
    return {
        name: with_parameters_of(getattr(theirs, name), f"{module}.{name}", function)
        for name, function in functions().get(module, {}).items()
        if hasattr(theirs, name)
    }


def with_parameters_of(theirs: Any, shown: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes SciPy's arguments, by place and by name.

    Those that it does not know are refused by name, but where they are as SciPy has them by default
    or have no effect on the result: checks and overwriting.
    """

    def called(*operands: Any, **keywords: Any) -> Any:
        parameters = _parameters(theirs)
        if parameters is None:  # a ufunc
            for name, value in keywords.items():
                _refuse_option(shown, name, value, None)
            return ours(*operands)
        bound = inspect.Signature(parameters).bind(*operands, **keywords)
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return ours(*bound.args, **bound.kwargs)
        known, takes_any = _own_parameters(ours)
        given: dict[str, Any] = {}
        for parameter in parameters:
            name = parameter.name
            if name not in bound.arguments:
                continue
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                given |= value
            elif name in known or takes_any:
                given[name] = value
            else:
                _refuse_option(shown, name, value, parameter.default)
        return ours(**given)

    return called


def _refuse_option(shown: str, name: str, value: Any, default: Any) -> None:
    """Raises for an argument that is not known, where it would change the result."""
    if name == "check_finite" or name.startswith("overwrite") or value is default:
        return
    plain = isinstance(value, str | int | float | None)
    if plain and type(default) in (bool, int, float, str) and value == default:
        return
    raise refused(f"{shown} with {name}={value!r}" if plain else f"{shown} with {name}")


@cache
def _parameters(theirs: Any) -> tuple[inspect.Parameter, ...] | None:
    if isinstance(theirs, np.ufunc):
        return None
    return tuple(inspect.signature(theirs).parameters.values())


@cache
def _own_parameters(ours: Any) -> tuple[frozenset[str], bool]:
    """The names of the parameters of ours, and whether it takes any others."""
    parameters = inspect.signature(ours).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return frozenset(parameters), takes_any


def _is_sparse(callee: Any, operands: tuple[Any, ...]) -> bool:
    owner = callee.__self__ if type(callee) is MethodType else (*operands, None)[0]
    return sparse.is_sparse(owner)


def _product(callee: Any) -> Callable[..., Any]:
    bound = (callee.__self__,) if type(callee) is MethodType else ()
    if callee.__name__ == "__rmatmul__":
        return lambda *operands: sparse.times(*(*bound, *operands)[::-1])
    return lambda *operands: sparse.times(*bound, *operands)


def _of_distribution(owner: Any, method: str) -> Callable[..., Any] | None:
    stats = sys.modules.get("scipy.stats")
    frozen = frozen_distributions.name_of(owner)
    for (name, of), function in distributions().items():
        if of != method:
            continue
        if frozen == name:
            return frozen_distributions.method_of(owner, function)
        if getattr(stats, name, None) is owner:
            return function
    return None


def is_distribution(x: Any) -> bool:
    """Whether an object is a distribution of SciPy's, of which only the name is asked."""
    return (type(x).__module__ or "").startswith("scipy.stats")


def is_of_scipy(callee: Any) -> bool:
    """Whether a function is of SciPy: its own, a method of its objects, or one of its ufuncs."""
    if isinstance(callee, np.ufunc):
        return getattr(sys.modules.get("scipy.special"), callee.__name__, None) is callee
    if type(callee) is MethodType:
        callee = callee.__func__
    if _of_factored(callee):
        return True
    module = callee.__module__ if isinstance(callee, FunctionType | type) else ""
    return str(module or type(callee).__module__).partition(".")[0] == "scipy"


_OF_C = (BuiltinMethodType, MethodDescriptorType)


def _of_factored(callee: Any) -> bool:
    """Whether it is a method of what `scipy.sparse.linalg.splu` gives, whose type has no module."""
    owner = getattr(callee, "__objclass__", type(getattr(callee, "__self__", None)))
    return isinstance(callee, _OF_C) and owner.__name__ == "SuperLU"


def name_of(callee: Any, operands: tuple[Any, ...]) -> str:
    """A function as users import it: ``scipy.linalg.expm``, ``scipy.stats.gumbel_r.logpdf``."""
    module = (
        "scipy.special"
        if isinstance(callee, np.ufunc)
        else getattr(callee, "__module__", None) or "scipy"
    )
    owner = callee.__self__ if type(callee) is MethodType else (*operands, None)[0]
    owners = []
    if is_distribution(owner):
        owners = [getattr(owner, "name", None) or type(owner).__name__]
    elif _of_factored(callee):
        module, owners = "scipy.sparse.linalg", ["SuperLU"]
    name = getattr(callee, "__name__", type(callee).__name__)
    return public_name(module, ".".join([*owners, name]))
