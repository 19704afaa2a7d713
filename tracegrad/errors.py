"""The errors that tracegrad raises, one family.

Each is also the built-in exception that a NumPy or PyTorch user would expect (`ShapeError` is a
``ValueError``), so existing ``except`` clauses work.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Self

from numpy import exceptions
from numpy.linalg import LinAlgError

from tracegrad.runtime.thread_state import STATE


class TracegradError(Exception):
    """The root of all errors that tracegrad raises on purpose."""

    refuses: bool = True
    """Whether NumPy would go on where it is raised: see `user_code.caught_refusals`."""

    def __init_subclass__(cls, refuses: bool = False) -> None:
        super().__init_subclass__()
        cls.refuses = refuses

    def as_refusal(self, refuses: bool = True) -> Self:
        """The same, of what is otherwise than the class says: NumPy does it, or does not."""
        self.refuses = refuses
        return self


class ShapeError(TracegradError, ValueError):
    """Shapes that an operation cannot take; the message names them, and the user's line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        if STATE.trace is not None:  # the function may catch it
            STATE.trace.notes_exception("an exception about shapes")


class SingularError(TracegradError, LinAlgError):
    """A matrix that a decomposition cannot take: singular, not positive definite, no convergence.

    As NumPy's it is a `numpy.linalg.LinAlgError`, which ``except`` clauses name.
    """


class MatrixError(ShapeError, LinAlgError):
    """An array that is no square matrix, or no matrix, where linear algebra needs one.

    As NumPy's it is a `numpy.linalg.LinAlgError`, which ``except`` clauses name.
    """


class AxisError(ShapeError, exceptions.AxisError):
    """An axis that an array does not have; also NumPy's ``AxisError`` and an ``IndexError``."""


class ScalarError(ShapeError, TypeError):
    """An array of several elements where Python needs a number; a ``TypeError``, as in NumPy."""


class MemoryAccessError(TracegradError, AttributeError, refuses=True):
    """The address, flags or base of memory that tracegrad manages itself was asked for."""


class DTypeError(TracegradError, TypeError):
    """A dtype that an operation, or a derivative, cannot take."""


class ArgumentError(TracegradError, TypeError):
    """An argument that a transform cannot take; the message names the argument."""


class ArgumentValueError(ArgumentError, ValueError):
    """A value that a function cannot take: an unknown mode, a quantile above 1; as in NumPy."""


class NonScalarError(TracegradError, ValueError, TypeError, RuntimeError):
    """A gradient was asked of an output that is not a single number.

    PyTorch's RuntimeError too, and the TypeError of JAX and HIPS autograd.
    """


class NotDifferentiableError(TracegradError, TypeError, NotImplementedError, refuses=True):
    """An operation has no derivative; a ``NotImplementedError``, as in HIPS autograd."""


class GradientError(TracegradError, RuntimeError, refuses=True):
    """A gradient that would be lost, or be another value's, by what the function does."""


class BackwardError(GradientError):
    """A backward that cannot run: no graph, a second backward, or a value that has changed.

    Of a nan that `tg.autograd.detect_anomaly` found, `variable`, `file`, `line` and `text` are
    those of the forward.
    """

    variable: str | None = None
    file: str = ""
    line: int = 0
    text: str = ""


class ReadOnlyError(GradientError, ValueError):
    """A write to read-only memory; a ``ValueError``, as in NumPy."""


class LostGradientError(GradientError, refuses=True):
    """The result contains a Python number that was read from a differentiated value."""


class FiniteError(TracegradError, FloatingPointError):
    """A compiled call gave nan or inf; the message names the first statement that did.

    `variable` is the user's (``h``) or a cotangent (``h_bar``); `file`, `line` and `text` are its
    line, `section` is "forward" or "backward", `index` the first bad place.
    """

    variable: str | None = None
    operation: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    section: str = "forward"
    index: tuple[int, ...] = ()


class TraceError(TracegradError, RuntimeError, refuses=True):
    """What a traced function did cannot be compiled; the message says what to write instead."""


class NotBatchedError(TracegradError, RuntimeError):
    """A function cannot run for all examples of a batch at once; the message says why.

    `tg.vmap` meets it by running the function for one example after the other.
    """


class ExportError(TracegradError, ValueError):
    """What a program needs cannot be written into a file; the message names it."""


class RecompileWarning(UserWarning):
    """A function needs many programs, or runs eagerly; the message says why."""


class NoKernelsWarning(UserWarning):
    """Numba is missing, or cannot compile a kernel: NumPy source runs instead."""


class SlowCompileWarning(UserWarning):
    """Tracing and compiling a call took long; the message says why and what to write instead."""


class ConversionError(TracegradError, TypeError, refuses=True):
    """A Tensor was turned into a plain array where its gradient would be lost."""


EXTRAS = {"jax": "jax", "numba": "native", "scipy": "special"}
"""The extra of `pyproject.toml` that installs a library."""


def how_to_install(library: str) -> str:
    """The end of a message that misses a library: tracegrad itself is on no package index."""
    extra = EXTRAS[library]
    return f'pip install {library} (or in a checkout of tracegrad: pip install -e ".[{extra}]")'


def warn_caller(message: str, category: type[Warning] = RecompileWarning) -> None:
    """Warns at the user's line that called."""
    ours = __name__.partition(".")[0], "contextlib"  # which decorates functions of ours
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and package_of(frame) in ours:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def package_of(frame: FrameType) -> str:
    """The package, at the top, whose code a frame runs; generated source is this library's."""
    if frame.f_code.co_filename.startswith("<tracegrad "):
        return __name__.partition(".")[0]
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def raise_told(error: BaseException) -> None:
    """Raises our error where NumPy has put one of its own around it, which says less."""
    if isinstance(error.__cause__, ConversionError):
        raise error.__cause__.with_traceback(error.__traceback__) from None


RAISED_BY_NUMPY = (ValueError, IndexError, ArithmeticError, RuntimeWarning)
"""What a program raises where lengths do not fit, a matrix is singular (a `LinAlgError` is one), or
the caller wants floating-point errors, or warnings of them, raised, or a number is divided by
zero: the function itself has a line to tell, may catch it, or may have switched it off.
"""
