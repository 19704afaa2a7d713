"""Names the user's forward line where a backward gives nan: ``detect_anomaly``."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

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
    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def __init__(self) -> None: ...

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
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def __init__(self, mode: bool) -> None: ...
