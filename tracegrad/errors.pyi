"""The errors that tracegrad raises, one family."""

# Made by tests/type_stubs.py from the library as it runs.

from types import FrameType
from typing import Self

from numpy.exceptions import AxisError as _AxisError
from numpy.linalg import LinAlgError

class TracegradError(Exception):
    """The root of all errors that tracegrad raises on purpose."""

    refuses: bool
    @classmethod
    def __init_subclass__(cls, refuses: bool = False) -> None: ...
    def as_refusal(self, refuses: bool = True) -> Self:
        """The same, of what is otherwise than the class says: NumPy does it, or does not."""

class ArgumentError(TracegradError, TypeError):
    """An argument that a transform cannot take; the message names the argument."""

class ConversionError(TracegradError, TypeError):
    """A Tensor was turned into a plain array where its gradient would be lost."""

class DTypeError(TracegradError, TypeError):
    """A dtype that an operation, or a derivative, cannot take."""

class ExportError(TracegradError, ValueError):
    """What a program needs cannot be written into a file; the message names it."""

class GradientError(TracegradError, RuntimeError):
    """A gradient that would be lost, or be another value's, by what the function does."""

class MemoryAccessError(TracegradError, AttributeError):
    """The address, flags or base of memory that tracegrad manages itself was asked for."""

class NoKernelsWarning(UserWarning):
    """Numba is missing, or cannot compile a kernel: NumPy source runs instead."""

class NotBatchedError(TracegradError, RuntimeError):
    """A function cannot run for all examples of a batch at once; the message says why.

    `tg.vmap` meets it by running the function for one example after the other.
    """

class RecompileWarning(UserWarning):
    """A function needs many programs, or runs eagerly; the message says why."""

class ShapeError(TracegradError, ValueError):
    """Shapes that an operation cannot take; the message names them, and the user's line."""
    def __init__(self, *args: object) -> None: ...

class SlowCompileWarning(UserWarning):
    """Tracing and compiling a call took long; the message says why and what to write instead."""

class TraceError(TracegradError, RuntimeError):
    """What a traced function did cannot be compiled; the message says what to write instead."""

class BackwardError(GradientError):
    """A backward that cannot run: no graph, a second backward, or a value that has changed.

    Of a nan that `tg.autograd.detect_anomaly` found, `variable`, `file`, `line` and `text` are
    those of the forward.
    """

    variable: str | None
    file: str
    line: int
    text: str

class FiniteError(TracegradError, FloatingPointError):
    """A compiled call gave nan or inf; the message names the first statement that did.

    `variable` is the user's (``h``) or a cotangent (``h_bar``); `file`, `line` and `text` are its
    line, `section` is "forward" or "backward", `index` the first bad place.
    """

    variable: str | None
    operation: str
    file: str
    line: int
    text: str
    section: str
    index: tuple[int, ...]

class LostGradientError(GradientError):
    """The result contains a Python number that was read from a differentiated value."""

class SingularError(TracegradError, LinAlgError):
    """A matrix that a decomposition cannot take: singular, not positive definite, no convergence.

    As NumPy's it is a `numpy.linalg.LinAlgError`, which ``except`` clauses name.
    """

class ArgumentValueError(ArgumentError, ValueError):
    """A value that a function cannot take: an unknown mode, a quantile above 1; as in NumPy."""

class MatrixError(ShapeError, LinAlgError):
    """An array that is no square matrix, or no matrix, where linear algebra needs one.

    As NumPy's it is a `numpy.linalg.LinAlgError`, which ``except`` clauses name.
    """

class NonScalarError(TracegradError, ValueError, TypeError, RuntimeError):
    """A gradient was asked of an output that is not a single number.

    PyTorch's RuntimeError too, and the TypeError of JAX and HIPS autograd.
    """

class NotDifferentiableError(TracegradError, TypeError, NotImplementedError):
    """An operation has no derivative; a ``NotImplementedError``, as in HIPS autograd."""

class ReadOnlyError(GradientError, ValueError):
    """A write to read-only memory; a ``ValueError``, as in NumPy."""

class ScalarError(ShapeError, TypeError):
    """An array of several elements where Python needs a number; a ``TypeError``, as in NumPy."""

class AxisError(ShapeError, _AxisError):
    """An axis that an array does not have; also NumPy's ``AxisError`` and an ``IndexError``."""

def how_to_install(library: str) -> str:
    """The end of a message that misses a library: tracegrad itself is on no package index."""

def package_of(frame: FrameType) -> str:
    """The package, at the top, whose code a frame runs; generated source is this library's."""

def raise_told(error: BaseException) -> None:
    """Raises our error where NumPy has put one of its own around it, which says less."""

def warn_caller(message: str, category: type[Warning] = ...) -> None:
    """Warns at the user's line that called."""
