"""Arrays enter, Tensors leave: arrays that remember which ops made them.

A `Tensor` holds a NumPy array or scalar (``_array``), what made it (``_node``: None, `LEAF`, a tape
node or one of its outputs), and, while a function is being traced, its value in the graph
(``_traced``). Its operators and methods are made from the op table (`tracegrad.methods`); what
stands here is what is not an op: conversions, looks at values and shapes, gradient bookkeeping.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.errors import CodegenError
from codegen.sizes import Sizes
from codegen.types import ArrayType, weak
from tracegrad.autograd.hooks import RemovableHandle, extras_of, register_hook
from tracegrad.autograd.tape import LEAF, Node, Output, record
from tracegrad.bytecode import operation
from tracegrad.dispatch import HANDLERS, SIZES, TYPES, array_type, is_number
from tracegrad.errors import (
    ConversionError,
    DTypeError,
    GradientError,
    ShapeError,
    TracegradError,
)
from tracegrad.ops.record import TABLE
from tracegrad.points import capture, label
from tracegrad.state import STATE

DEFAULT = {np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.complex128)}
READ: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "item": lambda value: value,
}


class Tensor:
    """An array whose gradients can be asked for.

    Parameters
    ----------
    data : array_like
        Nested numbers or an array; copied.
    dtype : str or numpy.dtype, optional
        Default: NumPy's for the data; with `requires_grad` integers become the default float.
    requires_grad : bool
        Whether ops on it are recorded and `backward` leaves a gradient in ``grad``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "_array", "_hooks", "_node", "_traced", "grad")
    __array_priority__ = 1000
    __hash__ = object.__hash__

    _array: Any
    _hooks: dict[int, Callable[[Tensor], Any]] | None  # of a leaf; those of others: in the node
    _node: Any
    _traced: Any
    grad: Tensor | None

    def __init__(
        self, data: Any, dtype: Any = None, requires_grad: bool = False, *, copy: bool = True
    ) -> None:
        if isinstance(data, Tensor):
            data = data._array
        array = np.array(data, dtype=dtype) if copy else np.asarray(data, dtype=dtype)
        if requires_grad and dtype is None and array.dtype.kind in "biu":
            array = array.astype(np.float64)
        if array.dtype.kind not in "biufc":
            raise DTypeError(f"a Tensor holds numbers, not {array.dtype}")
        self._array = array
        self._node = None
        self._hooks = None
        self._traced = None
        self.grad = None
        if requires_grad:
            self.requires_grad = True

    # -- shape and dtype ------------------------------------------------------------------------

    @property
    def _is_traced(self) -> bool:
        return self._traced is not None and self._traced[0] is STATE.trace

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; inside a traced function asking for it fixes the lengths."""
        if self._is_traced:
            shape: tuple[int, ...] = self._traced[0].look_at_shape(self._traced[1])
            return shape
        return np.shape(self._array)

    @property
    def ndim(self) -> int:
        return np.ndim(self._array)

    @property
    def dtype(self) -> np.dtype:
        return np.asarray(self._array).dtype

    @property
    def size(self) -> int:
        """The number of elements; inside a traced function asking for it fixes the lengths."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.ndim:
            raise ShapeError("a Tensor without axes has no len()")
        if self._is_traced:
            length: int = self._traced[0].look_at_length(self._traced[1], 0)
            return length
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    # -- values ---------------------------------------------------------------------------------

    def _look(self, kind: str) -> Any:
        """Python reads the value: recorded while tracing, because it decides what comes next."""
        if np.size(self._array) != 1:
            shape = np.shape(self._array)
            if kind == "bool":
                raise ShapeError(
                    f"the truth of an array of shape {shape} is ambiguous: use .any() or .all()"
                )
            raise ShapeError(f"only a Tensor of one element is a number, not one of shape {shape}")
        outcome = READ[kind](np.asarray(self._array).item())
        if self._is_traced:
            self._traced[0].look(self._traced[1], kind, outcome)
        return outcome

    def __bool__(self) -> bool:
        return bool(self._look("bool"))

    def __int__(self) -> int:
        return int(self._look("int"))

    def __float__(self) -> float:
        self._refuse_storing()
        return float(self._look("float"))

    def __complex__(self) -> complex:
        self._refuse_storing()
        return complex(self._look("complex"))

    def _refuse_storing(self) -> None:
        """NumPy asks for a number when ``array[i] = tensor`` runs, which would lose the gradient."""
        if not (self._is_traced or self.requires_grad):
            return
        frame = sys._getframe(2)
        if operation(frame.f_code, frame.f_lasti) == "STORE_SUBSCR":
            raise ConversionError(
                "a Tensor written into a plain array would lose its gradient: build the array with "
                "tg.stack, or write into a Tensor (tg.zeros, not np.zeros)"
            )

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise DTypeError(f"only integer Tensors can be used as an index, not {self.dtype}")
        return int(self._look("int"))

    def item(self) -> Any:
        """The only element as a Python number."""
        return self._look("item")

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.item() if not self.ndim else [row.tolist() for row in self]

    def numpy(self) -> np.ndarray:
        """The array itself (shared memory); refused where its gradient would be lost."""
        return np.asarray(self.__array__())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._is_traced:
            raise ConversionError(
                "a traced value cannot become a plain array, its computation would be lost: use "
                "tg.stack or tg.concat to build arrays of Tensors, x[i] = v on a Tensor "
                "(tg.zeros, not np.zeros), and tg.stop_gradient where the gradient is to end"
            )
        if self.requires_grad:
            raise ConversionError(
                "a Tensor that requires grad cannot become a plain array, its gradient would be "
                "lost: use .detach() first, or tg.stack to build arrays of Tensors"
            )
        array = np.asarray(self._array)
        return np.array(array, dtype=dtype) if dtype is not None or copy else array

    def _count_true(self) -> Any:
        if self._is_traced:
            return self._traced[0].count_true(self._traced[1], self._array)
        return int(np.count_nonzero(self._array))

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self._array), separator=", ", prefix="tensor(")
        options = []
        if self.dtype not in DEFAULT:
            options.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            options.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            options.append("requires_grad=True")
        return f"tensor({', '.join([text, *options])})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and np.size(self._array) == 1 else repr(self)

    # -- gradients ------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether ops on it are recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not self.is_leaf:
            raise GradientError("only leaves can be switched: this Tensor was made by an op")
        if value and self.dtype.kind not in "fc":
            raise DTypeError(f"only floating and complex Tensors have gradients, not {self.dtype}")
        self._node = LEAF if value else None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the op that made it; None for a leaf."""
        node = self._node
        if node is None or node is LEAF:
            return None
        return node.node if type(node) is Output else node

    @property
    def is_leaf(self) -> bool:
        """True when no recorded op made it."""
        return self._node is None or self._node is LEAF

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switches recording for a leaf; returns the Tensor."""
        self.requires_grad = requires_grad
        return self

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Calls `hook` with the gradient whenever it is computed; what it returns replaces it.

        Hooks run in the order in which they were registered; the handle's ``remove()`` ends one.
        """
        return register_hook(self, hook)

    def retain_grad(self) -> None:
        """Keeps the gradient of a Tensor that an op made in its ``grad``."""
        if self._node is None:
            raise GradientError("retain_grad: this Tensor does not require grad")
        if not self.is_leaf:
            extras_of(self)["retain"] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """True for a Tensor made by an op whose gradient is kept."""
        return not self.is_leaf and "retain" in extras_of(self)

    def detach(self) -> Tensor:
        """The same values (shared memory) without their history."""
        if self._is_traced:
            cut = TABLE["stop_gradient"](self)
            return wrap(cut._array, cut._traced)
        return wrap(self._array, self._traced)

    def backward(
        self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False
    ) -> None:
        """Adds the gradient of this Tensor to ``grad`` of every leaf that requires it.

        gradient
            The cotangent of this Tensor; may be left out when it is a single number.
        """
        from tracegrad.autograd.engine import backward  # the engine works on Tensors

        backward(self, gradient, retain_graph=retain_graph, create_graph=create_graph)

    def __setitem__(self, key: Any, value: Any) -> None:
        from tracegrad.ops.indexing import setitem  # ops work on Tensors

        if self._node is LEAF and STATE.grad_enabled:
            raise GradientError(
                "a leaf Tensor that requires grad is being changed in place: change a copy "
                "(x = x.clone()), or write under tg.no_grad()"
            )
        new = setitem(self, key, value)
        self._array, self._traced, self._node = new._array, new._traced, new._node

    def __getitem__(self, key: Any) -> Tensor:
        from tracegrad.ops.indexing import getitem

        result: Tensor = getitem(self, key)
        return result


def wrap(array: Any, traced: Any = None) -> Tensor:
    """A Tensor around an array or number, which is not copied."""
    tensor: Tensor = Tensor.__new__(Tensor)
    tensor._array = array
    tensor._node = None
    tensor._hooks = None
    tensor._traced = traced
    tensor.grad = None
    return tensor


def apply_to_tensors(
    like: Tensor, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> Any:
    """One op on Tensors: run, and record in the trace and on the tape where one is kept."""
    if not op.takes_numbers:
        operands = [
            TABLE["strengthen"](x) if type(x) is Tensor and is_number(x._array) else x
            for x in operands
        ]
    trace = STATE.trace
    values: Any = None
    try:
        if trace is not None:
            result, values = trace.record(op, operands, attributes)
        else:
            arrays = [x._array if type(x) is Tensor else x for x in operands]
            kernel = op.kernel(attributes)
            if STATE.observer is not None:
                result = STATE.observer(op, kernel, arrays, attributes)
            else:
                result = kernel(*arrays, **attributes)
    except (CodegenError, ValueError, TypeError, IndexError) as error:
        raise explained(op, operands, attributes, error) from error
    several = result if isinstance(result, tuple | list) else (result,)
    traced = [None if values is None else (trace, value) for value in values or several]
    tensors = [wrap(array, of) for array, of in zip(several, traced, strict=True)]
    if STATE.grad_enabled and op.differentiable:
        for x in operands:
            if type(x) is Tensor and x._node is not None:
                _record(op, operands, attributes, tensors)
                break
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _record(
    op: Any, operands: Sequence[Any], attributes: Mapping[str, Any], tensors: list[Tensor]
) -> None:
    """Puts the op on the tape; results that can carry gradients know their node."""
    arrays = tuple([t._array for t in tensors])
    traced: Any = None
    if tensors[0]._traced is not None:
        traced = (
            tuple([x._traced if type(x) is Tensor else None for x in operands]),
            tuple([t._traced for t in tensors]),
        )
    node = record(op, operands, attributes, arrays if len(arrays) > 1 else arrays[0], traced)
    if STATE.anomaly:
        node.more = {"where": label(capture(None))}
    for index, tensor in enumerate(tensors):
        array = tensor._array
        if is_number(array) or array.dtype.kind in "fc":
            tensor._node = node if len(tensors) == 1 else Output(node, index)


def explained(op: Any, operands: Any, attributes: Any, error: Exception) -> Exception:
    """The error in tracegrad's own family, with the user's line."""
    if isinstance(error, TracegradError):
        return error
    message = str(error)
    if not isinstance(error, CodegenError):
        try:  # the type rule says it better than NumPy
            types = [array_type(np.asarray(getattr(x, "_array", x))) for x in operands]
            op.infer(Sizes(), *types, **attributes)
        except CodegenError as better:
            message = str(better)
        except Exception:
            pass  # the type rule is no wiser: NumPy's words stand
    if not message.startswith(op.name):
        message = f"{op.name}: {message}"
    where = label(capture(None))
    if where.line:
        message += f"\n  at {where.file}:{where.line}  {where.text}"
    if isinstance(error, IndexError):
        return IndexError(message)
    if isinstance(error, CodegenError | ValueError):
        return ShapeError(message)
    return DTypeError(message)


def _type(x: Tensor) -> ArrayType:
    if x._is_traced:
        type_: ArrayType = x._traced[1].type
        sizes = x._traced[0].sizes
        return type_.with_shape([sizes.resolve(dim) for dim in type_.shape])
    if is_number(x._array):
        return weak(type(x._array).__name__)
    return array_type(x._array)


HANDLERS[Tensor] = apply_to_tensors
TYPES[Tensor] = _type
SIZES[Tensor] = lambda x: x._traced[0].sizes if x._is_traced else None
