"""Names the user's forward line where a backward gives nan: ``detect_anomaly``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user


class set_detect_anomaly:
    """Switches the detection of nan in backwards for this thread; a context switches it back.

    While it is on, ops remember the line that computed them, and every rule's result is looked at.

    Examples
    --------
    >>> import tracegrad as tg
    >>> with tg.autograd.set_detect_anomaly(True):
    ...     tg.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        self._before = STATE.update(anomaly=bool(mode))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        STATE.update(**self._before)


class detect_anomaly:
    """A context (or decorator) in which a backward that computes nan raises at once.

    The error names the operation, the line of the forward that it belongs to, and the variable that
    was assigned there. Both forward and backward must run inside; it costs time, so it is for
    finding mistakes. Compiled functions that give nan or inf in it raise too, and name the
    statement: for them it is `tg.config.check_finite`.

    Raises
    ------
    tg.errors.BackwardError
        On leaving an op's derivative rule with nan in its result.
    tg.errors.FiniteError
        Where a compiled function gives nan or inf.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> x = tg.tensor([-1.0], requires_grad=True)
    >>> with np.errstate(invalid="ignore"), tg.autograd.detect_anomaly():
    ...     try:
    ...         tg.sqrt(x).sum().backward()
    ...     except tg.errors.BackwardError as error:
    ...         print(str(error).splitlines()[0])
    Function 'SqrtBackward0' returned nan values in its 0th output
    """

    def __init__(self) -> None:
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(STATE.update(anomaly=True))

    def __exit__(self, *error: object) -> None:
        STATE.update(**self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with detect_anomaly():
                return call_user(function, args, kwargs)

        return wrapped


def is_anomaly_enabled() -> bool:
    """Whether backwards on this thread are looked at for nan."""
    return STATE.anomaly
