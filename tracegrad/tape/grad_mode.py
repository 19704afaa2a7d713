"""Whether ops are recorded in this thread: ``no_grad``, ``enable_grad``, ``inference_mode``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user


class _Mode:
    """A context manager that is a decorator as well; each use remembers what was before."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(STATE.update(grad_enabled=self._enabled))

    def __exit__(self, *error: object) -> None:
        STATE.update(**self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        enabled = self._enabled
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                source = call_user(function, args, kwargs)
                resume: Callable[[], Any] = functools.partial(source.send, None)
                while True:  # the mode holds while the generator runs, not while it waits
                    try:
                        with _Mode(enabled):
                            item = resume()
                    except StopIteration as stop:
                        return stop.value
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with _Mode(enabled):
                            source.close()
                        raise
                    except BaseException as error:
                        resume = functools.partial(source.throw, error)
                    else:
                        resume = functools.partial(source.send, sent)

            return generator

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _Mode(enabled):
                return call_user(function, args, kwargs)

        return wrapped


def _mode(enabled: bool, function: Callable[..., Any] | None) -> Any:
    return _Mode(enabled) if function is None else _Mode(enabled)(function)


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """Nothing is recorded: ``with tg.no_grad():``, ``@tg.no_grad()`` or ``@tg.no_grad``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0], requires_grad=True)
    >>> with tg.no_grad():
    ...     (x * 2).requires_grad
    False
    """
    return _mode(False, function)


def enable_grad(function: Callable[..., Any] | None = None) -> Any:
    """Ops are recorded again inside a `no_grad`."""
    return _mode(True, function)


def inference_mode(function: Callable[..., Any] | bool | None = None) -> Any:
    """Nothing is recorded, as in `no_grad`; ``inference_mode(False)`` changes nothing."""
    if isinstance(function, bool):
        return _Mode(STATE.grad_enabled and not function)
    return _mode(False, function)


class set_grad_enabled:
    """Switches recording, at once; as a context it is switched back on leaving.

    Examples
    --------
    >>> import tracegrad as tg
    >>> with tg.set_grad_enabled(False):
    ...     tg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before = STATE.update(grad_enabled=self._mode)

    def __enter__(self) -> None:
        STATE.update(grad_enabled=self._mode)

    def __exit__(self, *error: object) -> None:
        STATE.update(**self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        STATE.update(**self._before)  # as a decorator it switches only while the function runs
        wrapped: Callable[..., Any] = _Mode(self._mode)(function)
        return wrapped


def is_grad_enabled() -> bool:
    """Whether ops are recorded on this thread."""
    return STATE.grad_enabled
