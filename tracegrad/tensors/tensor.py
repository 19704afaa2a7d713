"""The Tensor: an array that remembers which ops made it.

A `Tensor` holds a NumPy array or scalar, or an array on a device (``_array``), what made it
(``_node``: None, `LEAF`, a tape node or one of its outputs, or the leaf that it stands for), and,
while a function is being traced, its value in the graph (``_traced``). Its operators and methods
are made from the op table (`tracegrad.tensors.methods`, in place: `tracegrad.tensors.inplace`);
what stands here is what is not an op: conversions, looks at values and shapes, gradients.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.errors import CodegenError
from codegen.sizes import Sizes
from tracegrad.errors import (
    ArgumentError,
    BackwardError,
    ConversionError,
    DTypeError,
    MatrixError,
    ShapeError,
    SingularError,
    TracegradError,
)
from tracegrad.ops.dtypes import usual_dtypes
from tracegrad.ops.record import TABLE
from tracegrad.runtime.array_manners import is_array_to_function, note_results
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.values_in_traces import in_trace, read_whole
from tracegrad.tape.exported_memory import hand_out
from tracegrad.tape.foreign_arrays import Foreign, kept, plain
from tracegrad.tape.functions_apart import refuse_around
from tracegrad.tape.grad_fn import GradFn, shown_node, tensor_around
from tracegrad.tape.hooks import RemovableHandle, extras_of, register_hook
from tracegrad.tape.own_leaves import start_own, tell_of_setting
from tracegrad.tape.tape import FREED, LEAF, Node, Output, has_slope, record, run_backward
from tracegrad.tape.views import Link, is_view_of, leave, register
from tracegrad.tape.write_checks import stamp, version
from tracegrad.tensors.coercion import floats_for, refuse_subclass, shared_array_for, with_memory
from tracegrad.tensors.complex_numbers import real_part
from tracegrad.tensors.devices import (
    Device,
    DeviceArray,
    beside_jax,
    brought_together,
    class_in_numpy,
    first_on_device,
    in_numpy,
    kernel_where,
    refuse_devices,
    to_device,
    where,
    with_numbers_there,
)
from tracegrad.tensors.given_to_jax import refuse_text
from tracegrad.tensors.numpy_words import no_index, no_items, no_length, no_number
from tracegrad.tensors.printing import text_of
from tracegrad.tensors.whole_numbers import with_ints
from tracegrad.user_code import lost_gradients
from tracegrad.user_code.bytecode import operation
from tracegrad.user_code.lost_conversions import made_plain, written_into_plain
from tracegrad.user_code.program_points import at_line, capture, label
from tracegrad.values.dispatch import (
    FLOATING,
    HANDLERS,
    PLAIN,
    Count,
    Nothing,
    apply_in,
    array_type,
    gives_either,
    is_jax_array,
    is_number,
    is_scalar,
    type_of,
    with_plain_numbers,
)
from tracegrad.values.pandas_columns import numbers_of

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
        Nested numbers or an array; copied. Python's whole numbers become the default float dtype
        (`tg.tensor` keeps them whole).
    dtype : str or numpy.dtype, optional
        Default: that of the data.
    requires_grad : bool
        Whether ops on it are recorded and `backward` leaves a gradient in ``grad``.
    copy : bool
        False shares the memory of an array, as `tg.as_tensor` does.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "_array", "_grad", "_hooks", "_node", "_traced", "_view", "_views")
    __array_priority__ = 1000
    _array: Any
    _grad: Tensor | None
    _hooks: dict[int, Callable[[Tensor], Any]] | None  # of a leaf; those of others: in the node
    _node: Any
    _traced: Any
    _view: Link | None  # how it looks at another one's memory
    _views: list[weakref.ref[Tensor]] | None  # that look at its memory

    def __init__(
        self, data: Any, dtype: Any = None, requires_grad: bool = False, *, copy: bool = True
    ) -> None:
        self._array, self._traced = floats_for(data, dtype, copy)
        self._node = self._hooks = self._grad = self._view = self._views = None
        if not isinstance(data, np.ndarray):
            note_results((), (self,))
        if requires_grad:
            self.requires_grad = True

    # -- what it stands for ---------------------------------------------------------------------

    @property
    def _stands(self) -> bool:
        """Whether code that asks meets it where it would have an array or number of NumPy's.

        So in functions that are called with such. tracegrad's own code is told that it is a Tensor.
        """
        if not is_array_to_function(self):
            return False
        asking: str = sys._getframe(2).f_globals.get("__name__", "")
        for_user = asking.startswith(("tracegrad.world.", "tracegrad.machine."))
        return for_user or not asking.startswith(("tracegrad.", "codegen."))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` is told besides that it is a Tensor."""
        return class_in_numpy(self._array) if self._stands else Tensor

    @__class__.setter
    def __class__(self, other: type) -> None:
        raise TypeError("the class of a Tensor cannot be changed")

    def __hash__(self) -> int:
        if not self._stands:
            return object.__hash__(self)
        if not is_scalar(array := in_numpy(self._array)):
            raise TypeError("unhashable type: 'numpy.ndarray'")
        self._read_whole("")
        return hash(array)

    # -- shape and dtype ------------------------------------------------------------------------

    @property
    def _is_traced(self) -> bool:
        return self._traced is not None and self._traced[0] is STATE.trace

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; inside a traced function asking for it fixes the lengths."""
        traced = in_trace(self)
        return np.shape(self._array) if traced is None else traced[0].look_at_shape(traced[1])

    @property
    def ndim(self) -> int:
        if STATE.trace is not None:
            in_trace(self)
        return np.ndim(self._array)

    @property
    def dtype(self) -> np.dtype:
        if STATE.trace is not None:
            in_trace(self)
        array = self._array
        found: np.dtype = array.dtype if hasattr(array, "dtype") else np.asarray(array).dtype
        return found

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """True for real floating dtypes."""
        return self.dtype.kind == "f"

    def is_complex(self) -> bool:
        """True for complex dtypes."""
        return self.dtype.kind == "c"

    def __len__(self) -> int:
        if not self.ndim:
            raise no_length(self)
        traced = in_trace(self)
        return len(self._array) if traced is None else traced[0].look_at_length(traced[1], 0)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise no_items(self)
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    # -- values ---------------------------------------------------------------------------------

    def _look(self, kind: str) -> Any:
        """Python reads the value: recorded while tracing, because it decides what comes next."""
        refuse_around(self)
        if np.size(self._array) != 1:
            if kind == "bool":
                text = "the truth of an array of shape {} is ambiguous: use .any() or .all()"
                raise ShapeError(text.format(np.shape(self._array)))
            raise no_number(self)
        traced = in_trace(self)
        try:
            outcome = READ[kind](np.asarray(self._array).item())
        except (ValueError, OverflowError):  # ``int(x)`` of NaN or an infinity
            if traced is not None:
                traced[0].notes_exception(f"an exception in {kind}(x)")
            raise
        if traced is not None:
            outcome = traced[0].look(traced[1], kind, outcome)
        if type(outcome) is float:
            lost_gradients.succeeds(outcome, self)
        return outcome

    def __bool__(self) -> bool:
        return bool(self._look("bool"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        self._refuse_storing()
        return float(self._number("float"))

    def __complex__(self) -> complex:
        self._refuse_storing()
        return complex(self._number("complex"))

    def _number(self, kind: str) -> Any:
        """A look, whose number may not come back in a result that has a gradient."""
        real = kind != "complex" and self.dtype.kind == "c"
        number = (real_part(self, kind) if real else self)._look(kind)
        self._became((number,))
        return number

    def _became(self, numbers: Sequence[Any]) -> None:
        """Python or C code has these for what it holds, with which its history does not go on."""
        if has_slope(self):
            lost_gradients.read(numbers)

    def _refuse_storing(self) -> None:
        """NumPy asks for the values when ``array[i] = tensor`` runs: the gradient would be lost."""
        refuse_around(self)
        if not (self._is_traced or self.requires_grad):
            return
        frame = sys._getframe(2)  # the user's, where no machine executes it, which asks otherwise
        if operation(frame.f_code, frame.f_lasti) in ("STORE_SUBSCR", "STORE_SLICE"):
            raise written_into_plain()

    def __index__(self) -> int:
        if type(self._array) is bool and is_array_to_function(self):
            return int(self._look("bool"))
        if self.ndim or self.dtype.kind not in "iu":
            raise no_index(self)
        return int(self._look("int"))

    def item(self, *index: Any) -> Any:
        """The only element, or the one at an index (an int counts row after row), as a number."""
        if not index:
            return self._look("item")
        x: Any = self
        key = index[0] if len(index) == 1 else index
        return (x.flat[key] if isinstance(key, int) else x[key])._look("item")

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        refuse_around(self)
        read_whole(self)
        found = self._nested() if self._is_traced else np.asarray(self._array).tolist()
        self._became(lost_gradients.flat(found))
        return found

    def _nested(self) -> Any:
        """Each element of a traced value, looked at."""
        return [row._nested() for row in self] if self.ndim else self.item()

    def numpy(self) -> np.ndarray:
        """The array itself (shared memory); refused where its gradient would be lost."""
        return self.__array__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._refuse_storing()
        if self._is_traced:
            trace, value = self._traced
            of_python = value.type.weak and not (self.ndim or has_slope(self))
            if of_python and not trace.keeps_numbers:  # C code reads it, as `int` would
                return np.array(self._look("item"), dtype)
            if not (self.requires_grad or trace.keeps_numbers):
                if not trace.without_inputs(value):  # C code has the numbers: this is no program
                    trace.read("the numbers of an array")
                array = trace.hands_out(self)
                return array if dtype is None else array.astype(dtype)
            raise ConversionError(
                "a traced value cannot become a plain array, its computation would be lost: use "
                "tg.stack or tg.concat to build arrays of Tensors, x[i] = v on a Tensor "
                "(tg.zeros, not np.zeros), tg.vectorize for np.vectorize, and tg.stop_gradient "
                f"where the gradient is to end{at_line()}"
            )
        if self.requires_grad:
            raise made_plain()
        read_whole(self)
        if type(self._array) is DeviceArray and not is_array_to_function(self):
            raise ConversionError(
                f'a Tensor on "{self.device}" cannot become a NumPy array: bring it with .cpu()'
            )
        if type(self._array) is DeviceArray or dtype is not None or copy:
            return np.array(plain(self._array), dtype=dtype)
        return hand_out(self)

    def __contains__(self, element: Any) -> bool:
        same = self == element
        return bool(TABLE["any"](same, axis=None, keepdims=False) if type(same) is Tensor else same)

    def __repr__(self) -> str:
        self._read_as_text()
        return repr(in_numpy(self._array)) if self._stands else text_of(self, usual_dtypes())

    def __str__(self) -> str:
        refuse_text(self)
        self._read_as_text()
        return str(in_numpy(self._array)) if self._stands else text_of(self, usual_dtypes())

    def __format__(self, spec: str) -> str:
        self._read_as_text()
        if self._stands:
            return format(in_numpy(self._array), spec)
        return format(self.item(), spec) if spec and np.size(self._array) == 1 else repr(self)

    def _read_as_text(self) -> None:
        """Python reads the value as text, from which it may make a number again."""
        self._read_whole("the text of an array")
        self._became(())

    def _as_constant(self) -> Tensor:
        """A copy, of a value that is being traced and has no gradient to lose."""
        if self.requires_grad:
            raise ConversionError(
                "a copy of a traced value in a new Tensor would lose its gradient: use x.clone() "
                "or tg.asarray(x), or x.detach() where the gradient is to end"
            )
        copied: Tensor = TABLE["copy"](self)
        return copied

    def _read_whole(self, what: str) -> None:
        """Python reads all that is in it: a look at a number; what no look stands for otherwise."""
        if self._is_traced:
            if np.size(self._array) == 1:
                self._look("item")
            else:
                self._traced[0].read(what)
        read_whole(self)

    @property
    def device(self) -> Device:
        """Where the numbers are: ``"cpu"`` (NumPy), ``"jax"`` or ``"cuda:0"`` (JAX)."""
        return where(self._array)

    @property
    def is_cuda(self) -> bool:
        """True for a Tensor on a GPU."""
        return self.device.type == "cuda"

    # -- gradients ------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether ops on it are recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self._node is not None:
            return
        tell_of_setting(self, "requires_grad")
        if not self.is_leaf:
            raise BackwardError(
                "only leaves can be switched, and this Tensor was made by an op: use .detach() for "
                "one without history"
            )
        if value and self.dtype.kind not in FLOATING:
            raise DTypeError(f"only floating and complex Tensors have gradients, not {self.dtype}")
        self._node = None
        if value and not self._is_traced:
            self._array = with_memory(self._array)
        if value:
            start_own(self)

    @property
    def grad_fn(self) -> GradFn | None:
        """What made it, as a node of the graph (``AddBackward0``); None for a leaf."""
        node = node_of(self)
        return None if node is None else shown_node(node)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backwards have added up; of a leaf, or after `retain_grad`."""
        found = self._grad
        if found is None and self._node is not None and not (self.is_leaf or self.retains_grad):
            warnings.warn(
                "grad of a Tensor that is not a leaf is not kept: call retain_grad() on it before "
                "the backward, or read the grad of a leaf",
                UserWarning,
                stacklevel=2,
            )
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        tell_of_setting(self, "grad")
        if value is not None:
            if not isinstance(value, Tensor):
                raise DTypeError(f"grad is a Tensor or None, not {type(value).__name__}")
            if np.shape(value._array) != np.shape(self._array):
                raise ShapeError(
                    f"grad has the shape of its Tensor, {np.shape(self._array)}, not "
                    f"{np.shape(value._array)}"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        tell_of_setting(self, "grad")
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same values (shared memory) without history; may be assigned to.

        A write to it changes this Tensor; a backward that needs the old values is refused.
        """
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        tell_of_setting(self, "data")
        array = value._array if isinstance(value, Tensor) else shared_array_for(value)
        if self.requires_grad and np.dtype(array.dtype).kind not in FLOATING:
            raise DTypeError(f"a Tensor that requires grad cannot hold {array.dtype}")
        stamp(self._array)  # for tapes that have saved it
        leave(self)
        self._array = with_memory(array)
        self._traced = getattr(value, "_traced", None)

    @property
    def _version(self) -> int:
        """How often it was changed in place."""
        return version(self._array)

    @property
    def is_leaf(self) -> bool:
        """True when no recorded op made it."""
        return self._node is None or self._node is LEAF or type(self._node) is Tensor

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
            raise BackwardError("retain_grad: this Tensor does not require grad")
        if not self.is_leaf:
            extras_of(self)["retain"] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """True for a Tensor made by an op whose gradient is kept."""
        node = node_of(self)
        if node is None:
            return False
        if node.more is FREED:
            return self._grad is not None
        return "retain" in (node.more or {}).get(_index(self), {})

    def detach(self) -> Tensor:
        """The same values (shared memory) without their history."""
        if self._is_traced or (STATE.trace is not None and STATE.trace.placed(self)):
            ended: Tensor = TABLE["stop_gradient"](self)
            return ended
        return sharing(self)

    def detach_(self) -> Tensor:
        """Forgets the history; what was recorded keeps it."""
        if self._is_traced:
            self._traced = TABLE["stop_gradient"](self)._traced
        self._node = None
        return self

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """Adds the gradient of this Tensor to ``grad`` of every leaf that requires it.

        gradient
            The cotangent of this Tensor; may be left out when it is a single number.
        retain_graph
            Keeps the graph for another backward (default: as `create_graph`).
        create_graph
            Records the backward itself, so that gradients can be differentiated again.
        """
        retain = create_graph if retain_graph is None else retain_graph
        run_backward.call(self, gradient, retain_graph=retain, create_graph=create_graph)


@tensor_around.by
def wrap(array: Any, traced: Any = None) -> Tensor:
    """A Tensor around an array or number, which is not copied."""
    tensor: Tensor = Tensor.__new__(Tensor)
    tensor._array = array
    tensor._node = tensor._hooks = tensor._grad = tensor._view = tensor._views = None
    tensor._traced = traced
    return tensor


def sharing(tensor: Tensor) -> Tensor:
    """Another Tensor of the same memory, without history; each sees what the other is given."""
    if not tensor._is_traced:
        tensor._array = with_memory(tensor._array)
    other = wrap(tensor._array, tensor._traced)
    register((other,), tensor, TABLE["stop_gradient"], (), {})
    note_results((tensor,), (other,))
    return other


def node_of(tensor: Tensor) -> Node | None:
    """The tape's node that made a Tensor; None for a leaf."""
    node = tensor._node
    if node is None or node is LEAF or type(node) is Tensor:
        return None
    return node.node if type(node) is Output else node


def _index(tensor: Tensor) -> int:
    """Which of its node's results a Tensor is."""
    return tensor._node.index if type(tensor._node) is Output else 0


# -- ops ----------------------------------------------------------------------------------------

KNOWN = frozenset({Tensor, *PLAIN, Foreign, np.memmap, bool, int, float, complex})
"""Types of operands that have no rules of their own."""


def apply_to_tensors(
    like: Tensor, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> Any:
    """One op on Tensors: run, and record in the trace and on the tape where one is kept."""
    if not KNOWN.issuperset(map(type, operands)):
        operands = with_plain_numbers(operands)
    if not KNOWN.issuperset(map(type, operands)) and any(map(is_jax_array, operands)):
        numpy = STATE.trace is not None or STATE.standing
        operands = [wrap(x) if type(x) is DeviceArray else x for x in beside_jax(operands, numpy)]
    if len(operands) == 2 and type(getattr(operands[0], "_array", operands[0])) is complex:
        operands = _as_of_numpy(like, operands)
    special = STATE.special  # else: no trace, recording, nobody watches
    if special:
        refuse_around(*operands)
    if not (op.takes_numbers or (special and gives_either(op, operands, attributes))):
        given = len(op.operands) - 1 if "index" in op.attributes else len(operands)
        operands = [
            _with_axes(x, i == op.put) if type(x) is Tensor and i < given else x
            for i, x in enumerate(operands)
        ]
    if special and STATE.trace is not None and op.raises == "numbers":
        STATE.trace.asks(op, operands)
    values: Any = None
    try:
        if special and STATE.trace is not None:
            refuse_devices(op, operands)
            attributes = {name: with_ints(x) for name, x in attributes.items()}
            operands = [x if type(x) in KNOWN else _of_plain_class(op, x) for x in operands]
            if not STATE.grad_enabled and op.differentiable:
                operands = [_without_history(x) for x in operands]
            result, values = STATE.trace.record(op, operands, attributes, like)
        else:
            arrays = _arrays(op, operands)
            there = first_on_device(arrays)
            if there is not None and op is not to_device:
                operands = brought_together(op, operands) if STATE.standing else operands
                operands = with_numbers_there(operands, there)
                arrays = _arrays(op, operands)
            at = like._array if there is None and like is not None else there
            kernel = kernel_where(at, op, attributes)
            if special and STATE.observer is not None:
                result = STATE.observer(op, kernel, arrays, attributes)
            else:
                result = kernel(*arrays, **attributes)
    except (CodegenError, ValueError, TypeError, IndexError) as error:
        if STATE.trace is not None:
            STATE.trace.notes_exception(f"an exception in {op.name}", 0)
        raise explained(op, operands, attributes, error) from error
    several = isinstance(result, tuple | list)
    tensors = [wrap(array) for array in result] if several else [wrap(result)]
    if op.looks and type(operands[0]) is Tensor:
        _note_views(tensors, op, operands, attributes)
    if values is not None:
        for tensor, value in zip(tensors, values, strict=True):
            tensor._traced = (STATE.trace, value)
    if op.differentiable and (not special or STATE.grad_enabled):
        for x in operands:
            if type(x) is Tensor and x._node is not None:
                _record(op, operands, attributes, tensors, special and STATE.anomaly)
                break
    if special and STATE.losing:
        STATE.watch.used((*operands, *attributes.values()), tensors, op)
    if STATE.own is not None or STATE.arrays is not None:
        note_results((like, *operands), tensors)
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _arrays(op: Any, operands: Sequence[Any]) -> list[Any]:
    """What the kernel of an op takes."""
    return [
        x._array if type(x) is Tensor else x if type(x) in KNOWN else _of_plain_class(op, x)
        for x in operands
    ]


def _note_views(
    tensors: Sequence[Tensor], op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> None:
    """Links the results that look at the memory of the first operand with it."""
    x = operands[0]
    linked = _has_no_memory(x) and _may_look(op, operands, attributes)
    if linked or is_view_of(tensors[0]._array, x._array):
        register(tensors, x, op, operands[1:], attributes)
    if op.name in _BY_LAYOUT and in_trace(x) is not None:
        axes = _BY_LAYOUT[op.name]
        if x.ndim >= axes:
            STATE.trace.note_reshape(x, tensors[0], axes)


def _may_look(op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Whether NumPy's result would look at the memory of the first operand."""
    return op.memory is None or op.memory(*map(type_of, operands), **attributes) is not None


_BY_LAYOUT = {"reshape": 2, "in_order": 1}
"""Ops that are a view or a copy by the layout of an array of so many axes or more."""


def _has_no_memory(x: Tensor) -> bool:
    """Whether views are linked though arrays cannot tell: on devices, and of numbers."""
    if isinstance(x._array, np.ndarray):
        return False
    return not (isinstance(x._array, np.generic) and is_array_to_function(x))


def _with_axes(x: Tensor, put: bool) -> Tensor:
    """An operand of an op that calls methods of its operands, which Python numbers have not.

    A float that is `put` into an array is written as it is.
    """
    if not is_number(x._array) or (put and type(x._array) is float):
        return x
    return TABLE["strengthen"](x)  # type: ignore[no-any-return]


def _of_plain_class(op: Any, x: Any) -> Any:
    """An operand of a class that is not known; raises for one that has rules of its own."""
    x = numbers_of(x)
    if isinstance(x, np.ndarray):
        try:
            refuse_subclass(x, f"{op.name}: an operand")
        except ArgumentError as error:
            raise ArgumentError(f"{error}{at_line()}") from None
    return int(x) if type(x) is Count else x


def _as_of_numpy(like: Tensor, operands: Sequence[Any]) -> Sequence[Any]:
    """A Python complex before a float64 without axes, as NumPy's: the result is NumPy's as well."""
    # To Python a `np.float64` is a float: it answers ``2j * x`` itself, with a weak number.
    other = getattr(operands[1], "_array", operands[1])
    if getattr(other, "ndim", 1) or other.dtype.name != "float64":
        return operands
    return [apply_in(like, TABLE["strengthen"], {}, operands[0]), *operands[1:]]


def _without_history(x: Any) -> Any:
    """An operand of an op under `no_grad`, in a graph: no gradient flows to it."""
    if type(x) is Tensor and x._node is not None and x._is_traced:
        return TABLE["stop_gradient"](x)
    return x


def _record(
    op: Any,
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
    tensors: list[Tensor],
    with_line: bool,
) -> None:
    """Puts the op on the tape; results that can carry gradients know their node."""
    result: Any = tensors[0]._array if len(tensors) == 1 else tuple([t._array for t in tensors])
    traced: Any = None
    if tensors[0]._traced is not None:
        traced = tuple(map(STATE.trace.traced, operands)), tuple([t._traced for t in tensors])
    node = record(op, operands, attributes, result, traced)
    if np.ndarray in map(type, operands):
        _guard_operands(node, operands)
    if with_line:
        node.more = {"where": label(capture())}
    if len(tensors) == 1:
        if _is_differentiable(result):
            tensors[0]._node = node
        return
    for index, tensor in enumerate(tensors):
        if _is_differentiable(tensor._array):
            tensor._node = Output(node, index)


def _is_differentiable(array: Any) -> bool:
    """True for numbers and arrays that can carry gradients."""
    return not hasattr(array, "dtype") or array.dtype.kind in FLOATING


def _guard_operands(node: Node, operands: Sequence[Any]) -> None:
    """Copies or watches what is kept of NumPy operands, which their owner may change."""
    pairs = zip(operands, node.values, strict=True)
    node.values = tuple([kept(v) if type(x) is np.ndarray else v for x, v in pairs])


def explained(op: Any, operands: Any, attributes: Any, error: Exception) -> Exception:
    """The error in tracegrad's own family, with the user's line."""
    if isinstance(error, TracegradError):
        if type(error) is DTypeError and at_line() not in str(error):  # of a type rule
            error.args = (f"{error}{at_line()}",)
        return error
    message, told = str(error), error
    if not isinstance(error, CodegenError):
        try:  # the type rule says it better than NumPy
            types = [array_type(np.asarray(getattr(x, "_array", x))) for x in operands]
            known = STATE.trace.concrete if STATE.trace is not None else lambda value: value
            op.infer(Sizes(), *types, **{name: known(v) for name, v in attributes.items()})
        except CodegenError as better:
            message, told = str(better), better
        except Exception:
            pass  # the type rule is no wiser: NumPy's words stand
    if isinstance(error, IndexError):
        return IndexError(f"{message}{at_line()}")
    named = "" if message.startswith(op.name) else f"{op.name}: "
    message = f"{named}{message}{at_line()}"
    if isinstance(told, np.linalg.LinAlgError):
        return (MatrixError if isinstance(told, CodegenError) else SingularError)(message)
    return (ShapeError if isinstance(told, CodegenError | ValueError) else DTypeError)(message)


HANDLERS[Tensor] = HANDLERS[Nothing] = apply_to_tensors
