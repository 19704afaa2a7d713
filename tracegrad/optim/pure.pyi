"""Optimizers as two pure functions on pytrees."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any, NamedTuple

class Pure(NamedTuple):
    """An optimizer as two functions that change nothing.

    ``init(params)`` gives the state; ``update(params, grads, state)`` gives the next params and
    state. The state is a dict: ``"step"``, the number of updates made, and a tree like params for
    each array that the rule keeps. Of arrays of JAX these lie on their devices, as they do.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> init, update = tg.optim.sgd(lr=0.25)
    >>> params = {"w": np.array([2.0, 4.0])}
    >>> state = init(params)
    >>> params, state = update(params, {"w": 2.0 * params["w"]}, state)
    >>> params, state["step"]
    ({'w': array([1., 2.])}, np.int64(1))
    """

    init: Callable[[Any], dict[str, Any]]
    update: Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]
