"""The errors that tracegrad raises, one family."""

# Made by tests/type_stubs.py from the library as it runs.

from numpy.exceptions import AxisError as _AxisError
from numpy.linalg import LinAlgError

class TracegradError(Exception):
    """The root of all errors that tracegrad raises on purpose."""

class ArgumentError(TracegradError, TypeError):
    """An argument that a transform cannot take; the message names the argument."""

class ConversionError(TracegradError, TypeError):
    """A Tensor was turned into a plain array where its gradient would be lost."""

class DTypeError(TracegradError, TypeError):
    """A dtype that an operation, or a derivative, cannot take."""

class ExportError(TracegradError, ValueError):
    """What a program needs cannot be written into a file; the message names it."""

class GradientError(TracegradError, RuntimeError):
    """A backward that cannot run: no graph, a second time, a value changed since.

    Of a nan that `tg.autograd.detect_anomaly` found, `variable`, `file`, `line` and `text` are
    those of the forward.
    """

    variable: str | None
    file: str
    line: int
    text: str

class MemoryAccessError(TracegradError, AttributeError):
    """Memory was asked for (an address, flags, the base) that tracegrad has in its own hands."""

class NoKernelsWarning(UserWarning):
    """Nothing runs as machine code, for which numba is needed: NumPy source runs instead."""

class NotBatchedError(TracegradError, RuntimeError):
    """A step of a function has no form for all examples of a batch at once; the message says why.

    `tg.vmap` meets it by running the function for one example after the other.
    """

class RecompileWarning(UserWarning):
    """A function met too many paths or signatures; it goes on without being compiled."""

class ShapeError(TracegradError, ValueError):
    """Shapes that an operation cannot take; the message names them, and the user's line."""
    def __init__(self, *args: object) -> None: ...

class SlowCompileWarning(UserWarning):
    """Tracing and compiling a call took long; the message says why and what to write instead."""

class TraceError(TracegradError, RuntimeError):
    """What a traced function did cannot be compiled; the message says what to write instead."""

class FiniteError(TracegradError, FloatingPointError):
    """A compiled call gave nan or inf; the message names the statement that did first.

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
    """A value that is differentiated was read as a Python number that came back in the result."""

class SingularError(TracegradError, LinAlgError):
    """A matrix that a decomposition cannot take: singular, not positive definite, no convergence.

    As NumPy's it is a `numpy.linalg.LinAlgError`, which ``except`` clauses name.
    """

class NonScalarError(TracegradError, ValueError, TypeError, RuntimeError):
    """A gradient was asked of an output that is not a single number.

    PyTorch's RuntimeError too, and the TypeError of JAX and HIPS autograd.
    """

class NotDifferentiableError(TracegradError, TypeError, NotImplementedError):
    """An operation on the path has no derivative; HIPS autograd's NotImplementedError too."""

class ReadOnlyError(GradientError, ValueError):
    """A write to memory that may not be written; a ``ValueError`` too, as NumPy's."""

class ScalarError(ShapeError, TypeError):
    """An array of several elements where Python wants a number; a ``TypeError`` too, as NumPy's."""

class AxisError(ShapeError, _AxisError):
    """An axis that an array does not have; NumPy's ``AxisError``, an ``IndexError``, too."""

def how_to_install(library: str) -> str:
    """The end of a message that misses a library: tracegrad itself is on no package index."""

def raise_told(error: BaseException) -> None:
    """Raises our error where NumPy has put one of its own around it, which says less."""

def warn_caller(message: str, category: type[Warning] = ...) -> None:
    """Warns at the user's line that called."""
