"""The names of `scipy.stats`: distributions whose densities take Tensors.

Each is a module too, as in HIPS autograd: ``import tracegrad.scipy.stats.norm as norm``.
"""

import sys
from types import SimpleNamespace as _SimpleNamespace

from scipy import stats as _stats  # type: ignore[import-untyped]

from tracegrad.scipy.dispatching import dispatched as _dispatched
from tracegrad.world.scipy_table import distributions as _distributions


class _Distribution(_SimpleNamespace):
    """A distribution of SciPy's, with methods that take Tensors."""

    def __getattr__(self, name: str) -> object:
        return getattr(self._theirs, name)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._theirs(*args, **kwargs)


globals().update({name: getattr(_stats, name) for name in _stats.__all__})
for _name, _method in _distributions():
    if not isinstance(globals()[_name], _Distribution):
        globals()[_name] = _Distribution(_theirs=getattr(_stats, _name))
        sys.modules[f"{__name__}.{_name}"] = globals()[_name]
    _own = _distributions()[_name, _method]
    setattr(globals()[_name], _method, _dispatched(getattr(globals()[_name], _method), _own))
