"""SciPy's functions with derivatives, as code written for HIPS autograd imports them.

>>> from tracegrad import grad
>>> from tracegrad.scipy.stats import norm
>>> print(grad(norm.logpdf)(1.0))
-1.0
"""

from importlib import import_module
from types import ModuleType

_MODULES = ("integrate", "linalg", "optimize", "signal", "special", "stats")


def __getattr__(name: str) -> ModuleType:
    """A module of this package, which is imported when it is asked for: SciPy takes its time."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
