"""Decorators that give a function a derivative of the user's: `custom_vjp`, `custom_jvp`."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

from tracegrad.transforms.custom_rule_functions import Ruled

class custom_jvp(Ruled):
    """Decorates a function whose forward derivative is given by a function of the user's.

    Forward mode calls the rule. Reverse mode transposes it, for which it is to be linear in the
    tangents; a rule that is not is refused there.

    Methods
    -------
    defjvp(rule)
        ``rule(primals, tangents)`` returns ``(value, tangent)``; primals and tangents are tuples
        with one element an argument.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1.0 + np.exp(-x))
    >>> print(tg.grad(log1pexp)(0.0))
    0.5
    """
    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the rule; see the class."""

class custom_vjp(Ruled):
    """Decorates a function whose reverse derivative is given by two functions of the user's.

    The function and both halves run on plain arrays, and as calls by name in generated source.
    Derivatives of the derivative come from the ops of the two halves.

    Methods
    -------
    defvjp(forward, backward)
        ``forward(*args)`` returns ``(value, kept)``, where `kept` is any pytree;
        ``backward(kept, cotangent)`` returns a tuple with one cotangent an argument, None for none.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_vjp
    ... def clipped(x):
    ...     return np.clip(x, -1.0, 1.0)
    >>> clipped.defvjp(lambda x: (clipped(x), None), lambda kept, ct: (ct,))
    >>> tg.grad(lambda x: np.sum(clipped(x)))(np.array([0.5, 3.0]))
    array([1., 1.])
    """
    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the two halves; see the class."""
