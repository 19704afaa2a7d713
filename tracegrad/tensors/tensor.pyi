"""The Tensor: an array that remembers which ops made it."""

# Made by tests/type_stubs.py from the library as it runs.

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.sizes import Size
from tracegrad.tape.grad_fn import GradFn
from tracegrad.tape.hooks import RemovableHandle
from tracegrad.tensors.devices import Device
from tracegrad.tensors.torch_methods import TopK

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
    @property
    def T(self) -> Tensor:
        """`x` with its axes in another order (reversed when none is given).

        ``transpose(x, 0, 1)`` exchanges these two, as PyTorch has it.

        >>> import tracegrad as tg
        >>> tg.transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 3.],
                [2., 4.]])
        """
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> NDArray[Any]: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The namespace of functions on Tensors, as the array API standard asks for it."""
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __bool__(self) -> builtins.bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, element: Any) -> builtins.bool: ...
    def __delitem__(self, key: NoReturn) -> None:
        """``del x[i]``, which no array takes."""
    def __divmod__(self, other: Any) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[builtins.int, builtins.int] | None = None,
        dl_device: tuple[Any, builtins.int] | None = None,
        copy: builtins.bool | None = None,
    ) -> Any:
        """The memory for other libraries, by the DLPack protocol, whose arguments these are."""
    def __dlpack_device__(self) -> Any:
        """Where that memory is."""
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> builtins.float: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor:
        """``tensor[key]``, which looks at the memory of the whole, also where it is one element.

        In functions of arrays an element is a number. A small part of a Tensor that is being filled
        gets memory of its own, so that it does not keep the whole, and the next write needs no copy of
        the whole.
        """
    def __gt__(self, other: Any) -> Tensor: ...
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __imatmul__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __index__(self) -> builtins.int: ...
    def __init__(
        self,
        data: Any,
        dtype: Any = None,
        requires_grad: builtins.bool = False,
        *,
        copy: builtins.bool = True,
    ) -> None: ...
    def __int__(self) -> builtins.int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    @property
    def __jax_array__(self) -> Tensor:
        """Where functions of JAX's look for an array, and find none, they tell what to write.

        JAX asks everything that it does not know for ``__jax_array__``; its operators leave a Tensor
        that has none to the Tensor's own.
        """
    def __le__(self, other: Any) -> Tensor: ...
    def __len__(self) -> builtins.int: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __rdivmod__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __round__(self, ndigits: Any = None) -> Tensor:
        """``round(x)``: of a number, without digits, an int of Python's; of Python's own such a one."""
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None:
        """``tensor[key] = value``."""
    def __sub__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __trunc__(self) -> builtins.int: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def abs(self, /) -> Tensor:
        """The absolute values; of complex numbers their distances from 0.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64; complex128 gives float64.
        """
    def abs_(self, /) -> Tensor:
        """`absolute`, in place."""
    def absolute(self, /) -> Tensor:
        """The absolute values; of complex numbers their distances from 0.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64; complex128 gives float64.
        """
    def absolute_(self, /) -> Tensor:
        """`absolute`, in place."""
    def acos(self, /) -> Tensor:
        """The angles in [0, pi] with these cosines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def acos_(self, /) -> Tensor:
        """`arccos`, in place."""
    def acosh(self, /) -> Tensor:
        """The numbers from 0 on with these hyperbolic cosines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def acosh_(self, /) -> Tensor:
        """`arccosh`, in place."""
    def add(self, b: ArrayLike, /) -> Tensor:
        """The sums ``a + b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def add_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """``x + alpha * other``, in place."""
    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """``x + value * tensor1 / tensor2``."""
    def addcdiv_(self, a: Any, b: Any, *, value: Any = 1) -> Tensor:
        """``x + value * a / b``, in place."""
    def addcmul(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """``x + value * tensor1 * tensor2``."""
    def addcmul_(self, a: Any, b: Any, *, value: Any = 1) -> Tensor:
        """``x + value * a * b``, in place."""
    def addmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * x + alpha * (mat1 @ mat2)``."""
    def all(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        *,
        where: Any = None,
    ) -> Tensor:
        """Whether all elements over `axis` are true."""
    def allclose(
        self,
        b: Any,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Whether `a` and `b` are equal everywhere within ``atol + rtol * abs(b)``."""
    def amax(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The largest element over `axis`; ties share the gradient evenly."""
    def amin(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The smallest element over `axis`; ties share the gradient evenly."""
    def angle(self, deg: builtins.bool = False) -> Tensor:
        """The angle of complex numbers, in (-pi, pi]."""
    def angle_(self, deg: builtins.bool = False) -> Tensor:
        """`angle`, in place."""
    def any(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        *,
        where: Any = None,
    ) -> Tensor:
        """Whether any element over `axis` is true."""
    def arccos(self, /) -> Tensor:
        """The angles in [0, pi] with these cosines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arccos_(self, /) -> Tensor:
        """`arccos`, in place."""
    def arccosh(self, /) -> Tensor:
        """The numbers from 0 on with these hyperbolic cosines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arccosh_(self, /) -> Tensor:
        """`arccosh`, in place."""
    def arcsin(self, /) -> Tensor:
        """The angles in [-pi/2, pi/2] with these sines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arcsin_(self, /) -> Tensor:
        """`arcsin`, in place."""
    def arcsinh(self, /) -> Tensor:
        """The numbers with these hyperbolic sines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arcsinh_(self, /) -> Tensor:
        """`arcsinh`, in place."""
    def arctan(self, /) -> Tensor:
        """The angles in (-pi/2, pi/2) with these tangents.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arctan2(self, b: ArrayLike, /) -> Tensor:
        """The angles in [-pi, pi] of the points (b, a).

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def arctan2_(self, b: Any, /) -> Tensor:
        """`arctan2`, in place."""
    def arctan_(self, /) -> Tensor:
        """`arctan`, in place."""
    def arctanh(self, /) -> Tensor:
        """The numbers with these hyperbolic tangents.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def arctanh_(self, /) -> Tensor:
        """`arctanh`, in place."""
    def argmax(
        self, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
    ) -> Tensor:
        """The index of the first largest element along `axis` (None: of the flattened array)."""
    def argmin(
        self, axis: builtins.int | None = None, out: None = None, *, keepdims: builtins.bool = False
    ) -> Tensor:
        """The index of the first smallest element along `axis` (None: of the flattened array)."""
    def argpartition(
        self, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
    ) -> Tensor:
        """The indices of `partition`."""
    def argsort(
        self,
        axis: builtins.int | None = -1,
        kind: Any = None,
        order: None = None,
        *,
        descending: builtins.bool = False,
        stable: builtins.bool | None = True,
    ) -> Tensor:
        """The indices that put `x` in order along `axis`, as `sort` does; equal elements stay so.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.argsort(tg.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
        """
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not 0, a row for each."""
    def asin(self, /) -> Tensor:
        """The angles in [-pi/2, pi/2] with these sines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def asin_(self, /) -> Tensor:
        """`arcsin`, in place."""
    def asinh(self, /) -> Tensor:
        """The numbers with these hyperbolic sines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def asinh_(self, /) -> Tensor:
        """`arcsinh`, in place."""
    def astype(
        self, dtype: Any, copy: builtins.bool = True, device: Any = None, order: str | None = "K"
    ) -> Tensor:
        """`x` in another dtype; with ``copy=False`` `x` itself where it has that dtype."""
    def atan(self, /) -> Tensor:
        """The angles in (-pi/2, pi/2) with these tangents.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def atan2(self, b: ArrayLike, /) -> Tensor:
        """The angles in [-pi, pi] of the points (b, a).

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def atan2_(self, b: Any, /) -> Tensor:
        """`arctan2`, in place."""
    def atan_(self, /) -> Tensor:
        """`arctan`, in place."""
    def atanh(self, /) -> Tensor:
        """The numbers with these hyperbolic tangents.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def atanh_(self, /) -> Tensor:
        """`arctanh`, in place."""
    def backward(
        self,
        gradient: Any = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
    ) -> None:
        """Adds the gradient of this Tensor to ``grad`` of every leaf that requires it.

        gradient
            The cotangent of this Tensor; may be left out when it is a single number.
        retain_graph
            Keeps the graph for another backward (default: as `create_graph`).
        create_graph
            Records the backward itself, so that gradients can be differentiated again.
        """
    def bernoulli_(self, p: builtins.float = 0.5) -> Tensor:
        """Draws 1 with probability `p`, else 0."""
    def betaln_(self, b: Any, /) -> Tensor:
        """`betaln`, in place."""
    def bincount(self, weights: Any = None, minlength: builtins.int = 0) -> Tensor:
        """How often each of the numbers 0, 1, ... is in a vector of such numbers.

        The result is as long as the largest number tells (it is looked at), at least `minlength`.
        With `weights` they are added up in place of ones; gradients flow to them.
        """
    def bitwise_and(self, b: ArrayLike, /) -> Tensor:
        """``a & b``: the bits that are 1 in both.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
        gradient.
        """
    def bitwise_and_(self, b: Any, /) -> Tensor:
        """`bitwise_and`, in place."""
    def bitwise_count_(self, /) -> Tensor:
        """`bitwise_count`, in place."""
    def bitwise_invert_(self, /) -> Tensor:
        """`bitwise_invert`, in place."""
    def bitwise_left_shift_(self, b: Any, /) -> Tensor:
        """`bitwise_left_shift`, in place."""
    def bitwise_not(self, /) -> Tensor:
        """``~x``: every bit the other way; of bools the negation.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64. TypeError for float32, float64, complex128. Results carry no gradient.
        """
    def bitwise_or(self, b: ArrayLike, /) -> Tensor:
        """``a | b``: the bits that are 1 in at least one of the two.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
        gradient.
        """
    def bitwise_or_(self, b: Any, /) -> Tensor:
        """`bitwise_or`, in place."""
    def bitwise_right_shift_(self, b: Any, /) -> Tensor:
        """`bitwise_right_shift`, in place."""
    def bitwise_xor(self, b: ArrayLike, /) -> Tensor:
        """``a ^ b``: the bits in which both differ.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64. TypeError for float32, float64, complex128. Results carry no
        gradient.
        """
    def bitwise_xor_(self, b: Any, /) -> Tensor:
        """`bitwise_xor`, in place."""
    def bmm(self, other: Any) -> Tensor:
        """``x @ other`` of 3 and 3 axes."""
    def bool(self) -> Tensor:
        """In bool."""
    def broadcast_to(self, shape: Sequence[builtins.int | Size] | builtins.int) -> Tensor:
        """`x` repeated to `shape`, a read-only view, as ``np.broadcast_to``."""
    def cbrt_(self, /) -> Tensor:
        """`cbrt`, in place."""
    def cdouble(self) -> Tensor:
        """In complex128."""
    def ceil(self, /) -> Tensor:
        """The smallest integers that are not below `x`, in the dtype of `x`.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64. TypeError for complex128.
        """
    def ceil_(self, /) -> Tensor:
        """`ceil`, in place."""
    def cfloat(self) -> Tensor:
        """In complex64."""
    def choose(self, choices: Any, mode: str = "raise") -> Tensor:
        """For each place, the element of the choice whose number is in `a`."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Any, ...]:
        """At most so many parts along `dim`, all but the last of one length."""
    def clamp(
        self,
        min: Any = None,
        max: Any = None,
        out: None = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
    ) -> Tensor:
        """`x` within bounds, either of which may be left out; a bound that is met has gradient 1.

        The bounds are `min` and `max`, or by NumPy's older names `a_min` and `a_max`.
        """
    def clamp_(
        self,
        min: Any = None,
        max: Any = None,
        out: None = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
    ) -> Tensor:
        """`clip`, in place."""
    def clamp_max(self, max: Any) -> Tensor:
        """`x`, and `max` where that is less."""
    def clamp_max_(self, max: Any) -> Tensor:
        """The smaller of x and a bound, in place."""
    def clamp_min(self, min: Any) -> Tensor:
        """`x`, and `min` where that is more."""
    def clamp_min_(self, min: Any) -> Tensor:
        """The larger of x and a bound, in place."""
    def clip(
        self,
        min: Any = None,
        max: Any = None,
        out: None = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
    ) -> Tensor:
        """`x` within bounds, either of which may be left out; a bound that is met has gradient 1.

        The bounds are `min` and `max`, or by NumPy's older names `a_min` and `a_max`.
        """
    def clip_(
        self,
        min: Any = None,
        max: Any = None,
        out: None = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
    ) -> Tensor:
        """`clip`, in place."""
    def clone(self, order: str = "K") -> Tensor:
        """The same values in memory of their own; gradients flow through."""
    def compress(self, condition: Any, axis: Any = None) -> Tensor:
        """The slices along `axis` (the elements, without one) where `condition` is true."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real Tensor itself, as ndarray's method has it."""
    def conj_(self, /) -> Tensor:
        """`conj`, in place."""
    def conjugate(self) -> Tensor:
        """The complex conjugate; a real Tensor itself, as ndarray's method has it."""
    def contiguous(self) -> Tensor:
        """The Tensor, or a copy of it whose elements lie in the order of the axes."""
    def copy(self, order: str = "C") -> Tensor:
        """The same values in memory of their own, in C order unless ``order="K"`` keeps that of `x`."""
    def copy_(self, source: Any, non_blocking: builtins.bool = False) -> Tensor:
        """The elements become those of `source`, which is broadcast and cast."""
    def copy_in_order_(self, /) -> Tensor:
        """`copy_in_order`, in place."""
    def copysign(self, b: ArrayLike, /) -> Tensor:
        """The absolute values of `a` with the signs of `b`.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def copysign_(self, b: Any, /) -> Tensor:
        """`copysign`, in place."""
    def corrcoef(self, y: Any = None, rowvar: builtins.bool = True, *, dtype: Any = None) -> Tensor:
        """The correlations of variables, which are the rows of `x`: covariances over deviations."""
    def cos(self, /) -> Tensor:
        """The cosines of angles in radians.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def cos_(self, /) -> Tensor:
        """`cos`, in place."""
    def cosh(self, /) -> Tensor:
        """The hyperbolic cosines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def cosh_(self, /) -> Tensor:
        """`cosh`, in place."""
    def count_nonzero(self, axis: Any = None, *, keepdims: builtins.bool = False) -> Tensor:
        """The number of elements over `axis` that are not 0."""
    def cov(
        self,
        y: Any = None,
        rowvar: builtins.bool = True,
        bias: builtins.bool = False,
        ddof: builtins.int | None = None,
        fweights: Any = None,
        aweights: Any = None,
        *,
        dtype: Any = None,
        correction: builtins.int | None = None,
    ) -> Tensor:
        """The covariances of variables, which are the rows of `m` (the columns without `rowvar`).

        Sums of products of deviations over n - 1, or over n with `bias`, or over n - `ddof` (PyTorch's
        `correction`); `fweights` are numbers of repetitions, `aweights` weights of observations.
        """
    def cpu(self) -> Tensor:
        """On the processor, as a NumPy array."""
    def cross(
        self,
        b: Any,
        axisa: builtins.int = -1,
        axisb: builtins.int = -1,
        axisc: builtins.int = -1,
        axis: builtins.int | None = None,
    ) -> Tensor:
        """The cross product of vectors of 3 components, which lie along the axes named."""
    def cuda(self, index: builtins.int = 0) -> Tensor:
        """On a GPU; raises when there is none, naming what was found."""
    def cummax(self, axis: builtins.int | None = None) -> Any:
        """The largest element up to each one, along `axis` (None: of the flattened array).

        Of ties the latest has the gradient, as in PyTorch; the values alone are returned, as NumPy's
        ``maximum.accumulate`` does.
        """
    def cummin(self, axis: builtins.int | None = None) -> Any:
        """The smallest element up to each one, along `axis` (None: of the flattened array).

        Ties as in `cummax`.
        """
    def cumprod(
        self, axis: builtins.int | None = None, dtype: Any = None, out: None = None
    ) -> Tensor:
        """The products of the elements up to each one, along `axis` (None: of the flattened array)."""
    def cumsum(
        self, axis: builtins.int | None = None, dtype: Any = None, out: None = None
    ) -> Tensor:
        """The sums of the elements up to each one, along `axis` (None: of the flattened array)."""
    @property
    def data(self) -> Tensor:
        """The same values (shared memory) without history; may be assigned to.

        A write to it changes this Tensor; a backward that needs the old values is refused.
        """
    @data.setter
    def data(self, value: Any) -> None: ...
    def deg2rad(self, /) -> Tensor:
        """Degrees in radians.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.
        """
    def deg2rad_(self, /) -> Tensor:
        """`deg2rad`, in place."""
    def detach(self) -> Tensor:
        """The same values (shared memory) without their history."""
    def detach_(self) -> Tensor:
        """Forgets the history; what was recorded keeps it."""
    @property
    def device(self) -> Device:
        """Where the numbers are: ``"cpu"`` (NumPy), ``"jax"`` or ``"cuda:0"`` (JAX)."""
    def diag(self, k: builtins.int = 0) -> Tensor:
        """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal."""
    def diagflat(self, k: builtins.int = 0) -> Tensor:
        """The matrix with all elements of `x` on its k-th diagonal."""
    def diagonal(
        self, offset: builtins.int = 0, axis1: builtins.int = 0, axis2: builtins.int = 1
    ) -> Tensor:
        """A diagonal of the matrices along two axes, as the last axis; a read-only view."""
    def diff(
        self, n: builtins.int = 1, axis: builtins.int = -1, prepend: Any = None, append: Any = None
    ) -> Tensor:
        """The differences of neighbours along `axis`, `n` times over.

        prepend, append
            What is put before and behind `x` first: an array, or a number for each line.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.diff(tg.tensor([1.0, 4.0, 9.0]))
        tensor([3., 5.])
        """
    def digamma_(self, /) -> Tensor:
        """`digamma`, in place."""
    def dim(self) -> builtins.int: ...
    def direction_(self, /) -> Tensor:
        """`direction`, in place."""
    def div(self, b: ArrayLike, /) -> Tensor:
        """The quotients ``a / b``; of integers in floating point.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64, complex128; bool, int64 give float64.
        """
    def div_(self, b: Any, /) -> Tensor:
        """`divide`, in place."""
    def divide(self, b: ArrayLike, /) -> Tensor:
        """The quotients ``a / b``; of integers in floating point.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64, complex128; bool, int64 give float64.
        """
    def divide_(self, b: Any, /) -> Tensor:
        """`divide`, in place."""
    def dot(self, b: Any) -> Tensor:
        """NumPy's dot product: over the last axis of `a` and the last but one of `b`."""
    def double(self) -> Tensor:
        """In float64."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Any, ...]:
        """`split` along the third axis."""
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @dtype.setter
    def dtype(self, value: Any) -> None: ...
    def element_size(self) -> builtins.int:
        """The bytes of one element."""
    def eq(self, b: ArrayLike, /) -> Tensor:
        """Where ``a == b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def eq_(self, b: Any, /) -> Tensor:
        """`equal`, in place."""
    def erf_(self, /) -> Tensor:
        """`erf`, in place."""
    def erfc_(self, /) -> Tensor:
        """`erfc`, in place."""
    def erfinv_(self, /) -> Tensor:
        """`erfinv`, in place."""
    def exp(self, /) -> Tensor:
        """The exponentials ``e ** x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def exp2(self, /) -> Tensor:
        """The powers ``2 ** x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def exp2_(self, /) -> Tensor:
        """`exp2`, in place."""
    def exp_(self, /) -> Tensor:
        """`exp`, in place."""
    def expand(self, *sizes: Any) -> Tensor:
        """`x` repeated along axes of length 1, and along new ones in front; -1 keeps a length."""
    def expand_as(self, other: Any) -> Tensor:
        """`x` repeated to the shape of another."""
    def expit_(self, /) -> Tensor:
        """`expit`, in place."""
    def expm1(self, /) -> Tensor:
        """``exp(x) - 1``, exact where that is small.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def expm1_(self, /) -> Tensor:
        """`expm1`, in place."""
    def exponential_(self, lambd: builtins.float = 1.0) -> Tensor:
        """Draws of rate `lambd`."""
    def fabs_(self, /) -> Tensor:
        """`fabs`, in place."""
    def fill(self, value: Any) -> None:
        """Writes the value into every place."""
    def fill_(self, value: Any) -> Tensor:
        """Every element becomes `value`."""
    def fix(self, /) -> Tensor:
        """The integers next to `x` towards 0, in the dtype of `x`.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64. TypeError for complex128.
        """
    @property
    def flat(self) -> Any:
        """The elements of a Tensor, row after row, as a vector that is read and written by index."""
    @flat.setter
    def flat(self, value: Any) -> None: ...
    def flatten(
        self, start_dim: builtins.int | str = 0, end_dim: builtins.int = -1, order: str = "C"
    ) -> Any:
        """`x` with one axis for those from `start_dim` to `end_dim`, in memory of its own."""
    def flip(self, axis: Any = None) -> Tensor:
        """`x` with the order along these axes reversed (all axes by default)."""
    def fliplr(self) -> Tensor:
        """`x` with its columns in reverse order."""
    def flipud(self) -> Tensor:
        """`x` with its rows in reverse order."""
    def float(self) -> Tensor:
        """In float32."""
    def float_power(self, b: ArrayLike, /) -> Tensor:
        """The powers ``a ** b`` in float64 or complex128.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float64, complex128; bool, int64, float32 give float64.
        """
    def float_power_(self, b: Any, /) -> Tensor:
        """`float_power`, in place."""
    def floor(self, /) -> Tensor:
        """The largest integers that are not above `x`, in the dtype of `x`.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64. TypeError for complex128.
        """
    def floor_(self, /) -> Tensor:
        """`floor`, in place."""
    def floor_divide(self, b: ArrayLike, /) -> Tensor:
        """``a // b``: the quotients rounded down.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.
        """
    def floor_divide_(self, b: Any, /) -> Tensor:
        """`floor_divide`, in place."""
    def floor_divide_integers_(self, b: Any, /) -> Tensor:
        """`floor_divide_integers`, in place."""
    def fmax(self, b: ArrayLike, /) -> Tensor:
        """The larger of `a` and `b`; where one is NaN, the other.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def fmax_(self, b: Any, /) -> Tensor:
        """`fmax`, in place."""
    def fmin(self, b: ArrayLike, /) -> Tensor:
        """The smaller of `a` and `b`; where one is NaN, the other.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def fmin_(self, b: Any, /) -> Tensor:
        """`fmin`, in place."""
    def fmod(self, b: ArrayLike, /) -> Tensor:
        """The remainders of ``a / b`` with the signs of `a`, as in C.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.
        """
    def fmod_(self, b: Any, /) -> Tensor:
        """`fmod`, in place."""
    def frac(self) -> Tensor:
        """What stands behind the point, with the sign of `x`."""
    def gammaln_(self, /) -> Tensor:
        """`gammaln`, in place."""
    def gather(self, dim: builtins.int, index: Any) -> Tensor:
        """For each place of `index` the element along `dim` whose number stands there."""
    def gcd(self, b: ArrayLike, /) -> Tensor:
        """The greatest common divisors.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64. TypeError for bool, float32, float64, complex128. Results carry no
        gradient.
        """
    def gcd_(self, b: Any, /) -> Tensor:
        """`gcd`, in place."""
    def ge(self, b: ArrayLike, /) -> Tensor:
        """Where ``a >= b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def ge_(self, b: Any, /) -> Tensor:
        """`greater_equal`, in place."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backwards have added up; of a leaf, or after `retain_grad`."""
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> GradFn | None:
        """What made it, as a node of the graph (``AddBackward0``); None for a leaf."""
    def greater(self, b: ArrayLike, /) -> Tensor:
        """Where ``a > b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def greater_(self, b: Any, /) -> Tensor:
        """`greater`, in place."""
    def greater_equal(self, b: ArrayLike, /) -> Tensor:
        """Where ``a >= b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def greater_equal_(self, b: Any, /) -> Tensor:
        """`greater_equal`, in place."""
    def gt(self, b: ArrayLike, /) -> Tensor:
        """Where ``a > b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def gt_(self, b: Any, /) -> Tensor:
        """`greater`, in place."""
    def heaviside(self, b: ArrayLike, /) -> Tensor:
        """0 where `a` is negative, 1 where it is positive, `b` where it is 0.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def heaviside_(self, b: Any, /) -> Tensor:
        """`heaviside`, in place."""
    def histogram(
        self,
        bins: Any = 10,
        range: Any = None,
        density: builtins.bool | None = None,
        weights: Any = None,
    ) -> tuple[Any, Any]:
        """How many elements of `x` are in each bin, and the edges of the bins.

        bins
            A number of equal bins between the extremes of `x` (or in `range`), or rising edges.
        density
            Counts over their sum and the widths of the bins: the integral is 1.
        weights
            For each element what it counts. Counts are whole numbers: gradients flow to the weights
            alone, and from the edges (and so with `density`) to given edges or to the extremes of `x`.
        """
    def hsplit(self, indices_or_sections: Any) -> tuple[Any, ...]:
        """`split` along the second axis; of vectors along their only one."""
    def hypot(self, b: ArrayLike, /) -> Tensor:
        """``sqrt(a**2 + b**2)`` without overflow.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def hypot_(self, b: Any, /) -> Tensor:
        """`hypot`, in place."""
    def i0_(self, /) -> Tensor:
        """`i0`, in place."""
    def i1_(self, /) -> Tensor:
        """`i1`, in place."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part; of a number of Python's such a number."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: builtins.int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
        """`x` with the places of `source` along `dim` added at those that a vector says.

        `tg.index_add` takes an index of any kind: ``tg.index_add(x, key, value)``.
        """
    def index_select(self, dim: builtins.int, index: Any) -> Tensor:
        """The places along `dim` whose numbers stand in a vector."""
    def inner(self, b: Any) -> Tensor:
        """The products of vectors along the last axes, of every vector of `a` with every one of `b`."""
    def int(self) -> Tensor:
        """In int32."""
    def is_complex(self) -> builtins.bool:
        """True for complex dtypes."""
    def is_contiguous(self) -> builtins.bool:
        """True when the elements lie in memory in the order of the axes."""
    @property
    def is_cuda(self) -> builtins.bool:
        """True for a Tensor on a GPU."""
    def is_floating_point(self) -> builtins.bool:
        """True for real floating dtypes."""
    @property
    def is_leaf(self) -> builtins.bool:
        """True when no recorded op made it."""
    def isclose(
        self,
        b: Any,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """Where `a` and `b` are equal within ``atol + rtol * abs(b)``."""
    def isfinite(self, /) -> Tensor:
        """Where `x` is neither infinite nor NaN.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
        int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def isfinite_(self, /) -> Tensor:
        """`isfinite`, in place."""
    def isin(
        self,
        test_elements: Any,
        assume_unique: builtins.bool = False,
        invert: builtins.bool = False,
        *,
        kind: Any = None,
    ) -> Tensor:
        """Where elements of the first are among those of the second (with `invert`: are not)."""
    def isinf(self, /) -> Tensor:
        """Where `x` is infinite.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
        int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def isinf_(self, /) -> Tensor:
        """`isinf`, in place."""
    def isnan(self, /) -> Tensor:
        """Where `x` is NaN.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
        int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def isnan_(self, /) -> Tensor:
        """`isnan`, in place."""
    def isneginf(self) -> Tensor:
        """Where `x` is negative infinity."""
    def isposinf(self) -> Tensor:
        """Where `x` is positive infinity."""
    def isreal(self) -> Tensor:
        """Where the imaginary part is 0: everywhere, of real numbers."""
    def item(self, *index: Any) -> Any:
        """The only element, or the one at an index (an int counts row after row), as a number."""
    @property
    def itemsize(self) -> builtins.int: ...
    def kron(self, b: Any) -> Tensor:
        """The Kronecker product: every element of `a` times the whole of `b`, as blocks."""
    def lcm(self, b: ArrayLike, /) -> Tensor:
        """The least common multiples.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64. TypeError for bool, float32, float64, complex128. Results carry no
        gradient.
        """
    def lcm_(self, b: Any, /) -> Tensor:
        """`lcm`, in place."""
    def ldexp(self, x2: Any) -> Tensor:
        """``x1 * 2 ** x2``, of whole numbers `x2`."""
    def ldexp_(self, b: Any, /) -> Tensor:
        """`ldexp`, in place."""
    def le(self, b: ArrayLike, /) -> Tensor:
        """Where ``a <= b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def le_(self, b: Any, /) -> Tensor:
        """`less_equal`, in place."""
    def lerp(self, end: Any, weight: Any) -> Tensor:
        """From `x` to `end` by the part `weight`."""
    def lerp_(self, end: Any, weight: Any) -> Tensor:
        """From x a part of the way to `end`, in place."""
    def less(self, b: ArrayLike, /) -> Tensor:
        """Where ``a < b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def less_(self, b: Any, /) -> Tensor:
        """`less`, in place."""
    def less_equal(self, b: ArrayLike, /) -> Tensor:
        """Where ``a <= b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def less_equal_(self, b: Any, /) -> Tensor:
        """`less_equal`, in place."""
    def log(self, /) -> Tensor:
        """The natural logarithms.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def log10(self, /) -> Tensor:
        """The logarithms to base 10.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def log10_(self, /) -> Tensor:
        """`log10`, in place."""
    def log1p(self, /) -> Tensor:
        """``log(1 + x)``, exact where `x` is small.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def log1p_(self, /) -> Tensor:
        """`log1p`, in place."""
    def log2(self, /) -> Tensor:
        """The logarithms to base 2.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def log2_(self, /) -> Tensor:
        """`log2`, in place."""
    def log_(self, /) -> Tensor:
        """`log`, in place."""
    def log_ndtr_(self, /) -> Tensor:
        """`log_ndtr`, in place."""
    def log_softmax(self, axis: Any = -1) -> Any:
        """``log(softmax(x))``, exact where the softmax underflows."""
    def logaddexp(self, b: ArrayLike, /) -> Tensor:
        """``log(exp(a) + exp(b))`` without overflow.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def logaddexp2(self, b: ArrayLike, /) -> Tensor:
        """``log2(2**a + 2**b)`` without overflow.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def logaddexp2_(self, b: Any, /) -> Tensor:
        """`logaddexp2`, in place."""
    def logaddexp_(self, b: Any, /) -> Tensor:
        """`logaddexp`, in place."""
    def logical_and(self, b: ArrayLike, /) -> Tensor:
        """Where both are true; numbers are true unless they are 0.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def logical_and_(self, b: Any, /) -> Tensor:
        """`logical_and`, in place."""
    def logical_not(self, /) -> Tensor:
        """Where `x` is false; numbers are false where they are 0.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
        int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def logical_not_(self, /) -> Tensor:
        """`logical_not`, in place."""
    def logical_or(self, b: ArrayLike, /) -> Tensor:
        """Where one of both is true; numbers are true unless they are 0.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def logical_or_(self, b: Any, /) -> Tensor:
        """`logical_or`, in place."""
    def logical_xor(self, b: ArrayLike, /) -> Tensor:
        """Where exactly one of both is true; numbers are true unless they are 0.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def logical_xor_(self, b: Any, /) -> Tensor:
        """`logical_xor`, in place."""
    def logit_(self, /) -> Tensor:
        """`logit`, in place."""
    def logsumexp(self, axis: Any = None, keepdims: builtins.bool = False) -> Any:
        """``log(sum(exp(x)))`` over `axis` without overflow; of nothing ``-inf``, the log of 0."""
    def long(self) -> Tensor:
        """In int64."""
    def lt(self, b: ArrayLike, /) -> Tensor:
        """Where ``a < b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def lt_(self, b: Any, /) -> Tensor:
        """`less`, in place."""
    @property
    def mT(self) -> Tensor:
        """`x` with its last two axes exchanged.

        >>> import tracegrad as tg
        >>> tg.matrix_transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 3.],
                [2., 4.]])
        """
    def masked_fill(self, mask: Any, value: Any) -> Tensor:
        """`value` where the mask is true, else `x`."""
    def masked_fill_(self, mask: Any, value: Any) -> Tensor:
        """`value` under the mask, in place."""
    def masked_select(self, mask: Any) -> Tensor:
        """The elements where the mask is true, as a vector."""
    def matmul(self, b: ArrayLike, /) -> Tensor:
        """The matrix product over the last two axes, batches broadcast.

        Shapes ``(..., m, k)`` and ``(..., k, n)`` give ``(..., m, n)``; a vector as `a` is a row, as
        `b` a column, and its axis is not in the result. Raises ShapeError where the k differ.

        Dtypes: bool, int64, float32, float64, complex128.
        """
    def max(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The largest element over `axis`.

        Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
        whole array, or over several axes, they share it evenly, as always in ``amax``.
        """
    def maximum(self, b: ArrayLike, /) -> Tensor:
        """The larger of `a` and `b`, NaN where one is; ties share the gradient evenly.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def maximum_(self, b: Any, /) -> Tensor:
        """`maximum`, in place."""
    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        where: Any = None,
    ) -> Tensor:
        """The arithmetic mean over `axis`; of integers in float64."""
    def median(
        self,
        axis: Any = None,
        out: None = None,
        overwrite_input: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The middle of the sorted elements over `axis`, or the mean of the two in the middle.

        The gradient goes to those two, half to each.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.median(tg.tensor([3.0, 1.0, 2.0]))
        tensor(2.)
        """
    def min(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The smallest element over `axis`.

        Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
        whole array, or over several axes, they share it evenly, as always in ``amin``.
        """
    def minimum(self, b: ArrayLike, /) -> Tensor:
        """The smaller of `a` and `b`, NaN where one is; ties share the gradient evenly.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def minimum_(self, b: Any, /) -> Tensor:
        """`minimum`, in place."""
    def mm(self, other: Any) -> Tensor:
        """``x @ other`` of 2 and 2 axes."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """`x` with axes moved to other places, the rest in order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """`x` with axes moved to other places, the rest in order."""
    def mul(self, b: ArrayLike, /) -> Tensor:
        """The products ``a * b``, element by element.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def mul_(self, b: Any, /) -> Tensor:
        """`multiply`, in place."""
    def multiply(self, b: ArrayLike, /) -> Tensor:
        """The products ``a * b``, element by element.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool, int64, float32, float64, complex128.
        """
    def multiply_(self, b: Any, /) -> Tensor:
        """`multiply`, in place."""
    def mv(self, other: Any) -> Tensor:
        """``x @ other`` of 2 and 1 axes."""
    def nan_to_num(
        self,
        copy: builtins.bool = True,
        nan: builtins.float = 0.0,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """`x` with NaN and the infinities replaced by numbers (by default 0 and the largest ones).

        With ``copy=False`` they are replaced in `x` itself, where that is an array.
        """
    def nan_to_num_(
        self,
        copy: builtins.bool = True,
        nan: builtins.float = 0.0,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """`nan_to_num`, in place."""
    def nanmean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        *,
        where: Any = None,
    ) -> Tensor:
        """The mean over `axis` of what is not NaN, and where `where` is true."""
    def nanmedian(
        self,
        axis: Any = None,
        out: None = None,
        overwrite_input: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The median over `axis` of what is not NaN."""
    def nanquantile(
        self,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: builtins.bool = False,
        method: str = "linear",
        keepdims: builtins.bool = False,
        *,
        weights: Any = None,
    ) -> Tensor:
        """`quantile` of what is not NaN."""
    def nansum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The sum over `axis` of what is not NaN."""
    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """So many places along `dim`, from `start`."""
    @property
    def nbytes(self) -> builtins.int: ...
    @property
    def ndim(self) -> builtins.int: ...
    def ndtr_(self, /) -> Tensor:
        """`ndtr`, in place."""
    def ne(self, b: ArrayLike, /) -> Tensor:
        """Where ``a != b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def ne_(self, b: Any, /) -> Tensor:
        """`not_equal`, in place."""
    def neg(self, /) -> Tensor:
        """The values with the other sign, ``-x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        int64, float32, float64, complex128. TypeError for bool.
        """
    def neg_(self, /) -> Tensor:
        """`negative`, in place."""
    def negative(self, /) -> Tensor:
        """The values with the other sign, ``-x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        int64, float32, float64, complex128. TypeError for bool.
        """
    def negative_(self, /) -> Tensor:
        """`negative`, in place."""
    def nextafter(self, b: ArrayLike, /) -> Tensor:
        """The next floating-point numbers after `a` in the direction of `b`.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64; bool gives float16; int64 gives float64. TypeError for
        complex128.
        """
    def nextafter_(self, b: Any, /) -> Tensor:
        """`nextafter`, in place."""
    def nonzero(self) -> tuple[Any, ...]:
        """The indices of the elements that are not 0: a tuple with an array for each axis."""
    def norm(
        self,
        p: Any = None,
        dim: Any = None,
        keepdim: builtins.bool = False,
        *,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The p-norm of all elements, or of those along `dim`: the root of the sum of squares, with 2.

        PyTorch's: that of a matrix as well, of which `tg.linalg.norm` gives the norm as an operator.
        ``p="nuc"`` is the sum of the singular values.
        """
    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0) -> Tensor:
        """Draws of this mean and standard deviation."""
    def normal_cdf_(self, /) -> Tensor:
        """`normal_cdf`, in place."""
    def not_equal(self, b: ArrayLike, /) -> Tensor:
        """Where ``a != b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: bool; int64, float32, float64, complex128 give bool. Results carry no gradient.
        """
    def not_equal_(self, b: Any, /) -> Tensor:
        """`not_equal`, in place."""
    def numel(self) -> builtins.int: ...
    def numpy(self) -> NDArray[Any]:
        """The array itself (shared memory); refused where its gradient would be lost."""
    def outer(self, b: Any) -> Tensor:
        """All products of an element of `a` with one of `b`: a matrix."""
    def partition(
        self, kth: Any, axis: builtins.int | None = -1, kind: Any = None, order: None = None
    ) -> Tensor:
        """Parted at `kth` along an axis; in functions of arrays written in place, as NumPy's."""
    def permute(self, *dims: Any) -> Tensor:
        """The axes in this order, given as several numbers or as a tuple."""
    def positive(self, /) -> Tensor:
        """The same values, ``+x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        int64, float32, float64, complex128. TypeError for bool.
        """
    def pow(self, exponent: Any) -> Tensor:
        """``x ** exponent``; a number as one of them has the cheaper rule."""
    def pow_(self, exponent: Any) -> Tensor:
        """`power`, in place."""
    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The product over `axis`; its derivatives are exact where elements are 0."""
    def ptp(self, axis: Any = None, out: None = None, keepdims: builtins.bool = False) -> Tensor:
        """The largest less the smallest element over `axis`."""
    def put(self, ind: Any, v: Any, mode: str = "raise") -> None:
        """Writes `v` into the Tensor `x` at these places, which number its elements in order."""
    def quantile(
        self,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: builtins.bool = False,
        method: str = "linear",
        keepdims: builtins.bool = False,
        *,
        weights: Any = None,
    ) -> Tensor:
        """The values at the fraction `q`, in [0, 1], of the sorted elements over `axis`.

        Several `q` give as many quantiles, on axes of their own in front. Differentiable in `x` and,
        where the method interpolates, in `q`.

        method
            NumPy's methods: ``"linear"``, ``"lower"``, ``"higher"``, ``"nearest"``, ``"midpoint"``,
            ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` and so on.
        weights
            How often each element counts, for the method ``"inverted_cdf"``: they have the shape of
            `x`, or that of its `axis`. The quantile is an element: weights have no gradient.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.quantile(tg.tensor([3.0, 1.0, 2.0]), [0.25, 1.0])
        tensor([1.5000, 3.0000])
        """
    def rad2deg(self, /) -> Tensor:
        """Radians in degrees.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64; bool gives float16; int64 gives float64. TypeError for complex128.
        """
    def rad2deg_(self, /) -> Tensor:
        """`rad2deg`, in place."""
    def ravel(self, order: str = "C") -> Tensor:
        """`x` with one axis; a copy where its elements do not lie one after the other in memory."""
    @property
    def real(self) -> Tensor:
        """The real part; of a number of Python's such a number, which a real one is itself."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, /) -> Tensor:
        """The reciprocals ``1 / x``, in the dtype of `x`.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        int64, float32, float64, complex128; bool gives int8.
        """
    def reciprocal_(self, /) -> Tensor:
        """`reciprocal`, in place."""
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Calls `hook` with the gradient whenever it is computed; what it returns replaces it.

        Hooks run in the order in which they were registered; the handle's ``remove()`` ends one.
        """
    def relu(self) -> Any:
        """``max(x, 0)``; the derivative at 0 is 0."""
    def relu_(self) -> Tensor:
        """`relu`, in place."""
    def remainder(self, b: ArrayLike, /) -> Tensor:
        """``a % b``: the remainders of ``a // b``, with the signs of `b`.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64, float32, float64; bool gives int8. TypeError for complex128.
        """
    def remainder_(self, b: Any, /) -> Tensor:
        """`remainder`, in place."""
    def repeat(self, repeats: Any, *sizes: builtins.int, axis: Any = None) -> Tensor:
        """NumPy's `repeat`: of arrays, or with ``axis=``; PyTorch's is `tile`."""
    def repeat_interleave(self, repeats: Any, dim: builtins.int | None = None) -> Tensor:
        """`tg.repeat`: each element so many times in a row."""
    @property
    def requires_grad(self) -> builtins.bool:
        """Whether ops on it are recorded."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Switches recording for a leaf; returns the Tensor."""
    def reshape(self, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None) -> Tensor:
        """`x` in another shape with as many elements; one length may be -1.

        The shape is a tuple, or lengths one by one. With ``order="F"`` the elements are taken, and put,
        column after column. With ``copy=True`` the result has memory of its
        own; otherwise it shares that of `x` where it can, and ``copy=False`` raises where it cannot.
        """
    def reshape_as(self, other: Any) -> Tensor:
        """`x` in the shape of another."""
    def resize(self, *lengths: Any, refcheck: builtins.bool = True) -> None:
        """Goes on in another shape, as ndarray's: the elements row after row, then zeros."""
    def retain_grad(self) -> None:
        """Keeps the gradient of a Tensor that an op made in its ``grad``."""
    @property
    def retains_grad(self) -> builtins.bool:
        """True for a Tensor made by an op whose gradient is kept."""
    def rint_(self, /) -> Tensor:
        """`rint`, in place."""
    def roll(self, shift: Any, axis: Any = None) -> Tensor:
        """`x` with its elements shifted along axes (along the whole without one), the last first."""
    def rot90(self, k: builtins.int = 1, axes: Any = ...) -> Tensor:
        """`x` turned by `k` times 90 degrees, from the first of two axes towards the second."""
    def round(self, decimals: builtins.int = 0, out: None = None) -> Tensor:
        """`x` rounded to so many decimals, halves to the even digit."""
    def round_(self, decimals: builtins.int = 0, out: None = None) -> Tensor:
        """`round`, in place."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(x)``."""
    def rsqrt_(self) -> Tensor:
        """``1 / sqrt(x)``, in place."""
    def scatter_add(self, dim: builtins.int, index: Any, src: Any) -> Tensor:
        """`x` with each element of `src` added at the place along `dim` that `index` says."""
    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
        """The places in the sorted vector `a` before which the elements of `v` keep it sorted.

        side
            ``"left"``: the first such place, ``"right"``: the last.
        sorter
            The indices that sort `a` where it is not sorted itself.
        """
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """One place along `dim`, whose axis goes."""
    @property
    def shape(self) -> tuple[builtins.int, ...]:
        """The shape; inside a traced function asking for it fixes the lengths."""
    @shape.setter
    def shape(self, value: Any) -> None: ...
    def short(self) -> Tensor:
        """In int16."""
    def sigmoid(self) -> Any:
        """``1 / (1 + exp(-x))``, accurate for all x."""
    def sigmoid_(self) -> Tensor:
        """`sigmoid`, in place."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; of complex numbers ``x / abs(x)``."""
    def sign_(self, /) -> Tensor:
        """`sign`, in place."""
    def signbit(self, /) -> Tensor:
        """Where the sign is minus; -0.0 has one.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool;
        int64, float32, float64 give bool. TypeError for complex128. Results carry no gradient.
        """
    def signbit_(self, /) -> Tensor:
        """`signbit`, in place."""
    def sin(self, /) -> Tensor:
        """The sines of angles in radians.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def sin_(self, /) -> Tensor:
        """`sin`, in place."""
    def sinc(self) -> Tensor:
        """``sin(pi x) / (pi x)``, and 1 at 0."""
    def sinc_(self) -> Tensor:
        """`sinc`, in place."""
    def sinh(self, /) -> Tensor:
        """The hyperbolic sines.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def sinh_(self, /) -> Tensor:
        """`sinh`, in place."""
    @property
    def size(self) -> builtins.int:
        """The number of elements; inside a traced function asking for it fixes the lengths."""
    def softmax(self, axis: Any = -1) -> Any:
        """``exp(x)`` over its sum along `axis`, without overflow."""
    def sort(
        self,
        axis: builtins.int | None = -1,
        kind: Any = None,
        order: None = None,
        *,
        descending: builtins.bool = False,
        stable: builtins.bool | None = True,
    ) -> Tensor:
        """The elements in order along an axis; in functions of arrays written in place, as NumPy's."""
    def spacing_(self, /) -> Tensor:
        """`spacing`, in place."""
    def split(self, split_size: Any, dim: builtins.int = 0) -> tuple[Any, ...]:
        """Parts along `dim`, each of so many places (the last may have less), or of these lengths.

        PyTorch's ``split``, and not NumPy's, which arrays have as a function alone: `tg.split` takes
        the number of parts, or where they begin.
        """
    def sqrt(self, /) -> Tensor:
        """The square roots that are not negative.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def sqrt_(self, /) -> Tensor:
        """`sqrt`, in place."""
    def square(self, /) -> Tensor:
        """The squares ``x * x``.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        int64, float32, float64, complex128; bool gives int8.
        """
    def square_(self, /) -> Tensor:
        """`square`, in place."""
    def squeeze(self, axis: Any = None) -> Tensor:
        """`x` without axes of length 1: those named, or all of them."""
    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: builtins.float | None = None,
        keepdims: builtins.bool = False,
        *,
        where: Any = None,
        mean: Any = None,
        correction: builtins.float | None = None,
        unbiased: builtins.bool | None = None,
    ) -> Tensor:
        """The standard deviation over `axis`; arguments as for `var`, derivative 0 where it is 0."""
    @property
    def strides(self) -> tuple[builtins.int, ...]:
        """The bytes in memory from one element to the next along each axis; in no graph."""
    @strides.setter
    def strides(self, value: Any) -> None: ...
    def sub(self, b: ArrayLike, /) -> Tensor:
        """The differences ``a - b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64, float32, float64, complex128. TypeError for bool.
        """
    def sub_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """``x - alpha * other``, in place."""
    def subtract(self, b: ArrayLike, /) -> Tensor:
        """The differences ``a - b``.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: int64, float32, float64, complex128. TypeError for bool.
        """
    def subtract_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """``x - alpha * other``, in place."""
    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: builtins.bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Tensor:
        """The sum over `axis` (None, an int or a tuple of ints); small integers are summed in int64."""
    def swapaxes(self, axis1: builtins.int, axis2: builtins.int) -> Tensor:
        """`x` with two axes exchanged."""
    def swapdims(self, axis1: builtins.int, axis2: builtins.int) -> Tensor:
        """`x` with two axes exchanged."""
    def t(self) -> Tensor:
        """A matrix with its axes exchanged, a vector as it is."""
    def take(self, indices: Any, axis: Any = None, mode: str = "raise") -> Tensor:
        """The elements, or whole slices along `axis`, at these indices.

        mode
            What an index out of bounds does: ``"raise"``, ``"wrap"`` or ``"clip"``.
        """
    def take_along_dim(self, indices: Any, axis: Any = -1) -> Tensor:
        """The elements at these indices along `axis`, one for each place of `indices`."""
    def tan(self, /) -> Tensor:
        """The tangents of angles in radians.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def tan_(self, /) -> Tensor:
        """`tan`, in place."""
    def tanh(self, /) -> Tensor:
        """The hyperbolic tangents.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes:
        float32, float64, complex128; bool gives float16; int64 gives float64.
        """
    def tanh_(self, /) -> Tensor:
        """`tanh`, in place."""
    def tensor_split(self, indices_or_sections: Any, dim: builtins.int = 0) -> tuple[Any, ...]:
        """`array_split`."""
    def tile(self, reps: Any) -> Tensor:
        """`x` side by side with itself, so many times along each axis."""
    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        copy: builtins.bool = False,
        non_blocking: builtins.bool = False,
    ) -> Tensor:
        """In another dtype, on another device, or as another Tensor is; itself if it is so already.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.ones(2).to("float32").dtype, tg.ones(2).to("cpu").device
        (dtype('float32'), device(type='cpu'))
        """
    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """`to`, under the array API standard's name."""
    def tobytes(self, order: Any = "C") -> bytes: ...
    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
    def topk(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> TopK:
        """The k largest (or smallest) elements along `dim`, in order, and their indices."""
    def trace(
        self,
        offset: builtins.int = 0,
        axis1: builtins.int = 0,
        axis2: builtins.int = 1,
        dtype: Any = None,
        out: None = None,
    ) -> Tensor:
        """The sum of a diagonal of the matrices along two axes."""
    def transpose(self, *axes: Any) -> Tensor:
        """Two axes exchanged, as PyTorch has it; the axes in the order of a tuple; reversed without.

        Of arrays, in functions that are called with these, several numbers are an order as well.
        """
    def tril(self, k: builtins.int = 0) -> Tensor:
        """The matrices along the last two axes with zeros above the k-th diagonal."""
    def triu(self, k: builtins.int = 0) -> Tensor:
        """The matrices along the last two axes with zeros below the k-th diagonal."""
    def true_divide(self, b: ArrayLike, /) -> Tensor:
        """The quotients ``a / b``; of integers in floating point.

        Takes arrays of shapes that broadcast, or numbers, and gives the broadcast shape.
        Dtypes: float32, float64, complex128; bool, int64 give float64.
        """
    def true_divide_(self, b: Any, /) -> Tensor:
        """`divide`, in place."""
    def trunc(self, /) -> Tensor:
        """The integers next to `x` towards 0, in the dtype of `x`.

        Takes an array of any shape, or a number, and gives one of the same shape. Dtypes: bool,
        int64, float32, float64. TypeError for complex128.
        """
    def trunc_(self, /) -> Tensor:
        """`trunc`, in place."""
    def type(self, dtype: Any = None) -> Any:
        """PyTorch's name of the class of arrays, or the Tensor in another dtype."""
    def type_as(self, other: Tensor) -> Tensor:
        """In the dtype, and on the device, of another Tensor."""
    def unbind(self, axis: Any = 0) -> tuple[Any, ...]:
        """The slices of `x` along `axis`, one for each index."""
    def unflatten(self, dim: builtins.int, sizes: Any) -> Tensor:
        """One axis as several, of which one length may be -1."""
    def uniform_(self, low: builtins.float = 0.0, high: builtins.float = 1.0) -> Tensor:
        """Draws evenly between the bounds."""
    def unique(
        self,
        return_index: builtins.bool = False,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        axis: builtins.int | None = None,
        *,
        equal_nan: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> Any:
        """The different elements of `x` in ascending order (the different slices along `axis`).

        Besides, where each first stands, for each element of `x` which one it is, and how often each
        is there, as far as asked for: then a tuple.

        Examples
        --------
        >>> import tracegrad as tg
        >>> tg.unique(tg.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    def unsqueeze(self, axis: Any = 0) -> Tensor:
        """`x` with new axes of length 1 at these places of the result."""
    def unstack(self, axis: Any = 0) -> tuple[Any, ...]:
        """The slices of `x` along `axis`, one for each index."""
    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: builtins.float | None = None,
        keepdims: builtins.bool = False,
        *,
        where: Any = None,
        mean: Any = None,
        correction: builtins.float | None = None,
        unbiased: builtins.bool | None = None,
    ) -> Tensor:
        """The variance over `axis`: squared deviations from the mean, over n - `correction`.

        The correction is 0 as in NumPy and the array API (PyTorch's default is 1); it may be given as
        `ddof`, as `correction`, or as ``unbiased=True`` for 1. `where` chooses elements; a `mean` that
        is known already, with its axes kept, is taken as it is.
        """
    def vdot(self, b: Any) -> Tensor:
        """The product of two arrays as vectors, the first conjugated."""
    def view(self, *lengths: Any) -> Tensor:
        """The Tensor in another shape (PyTorch's ``view``; NumPy's, of a dtype, has no derivative)."""
    def view_as(self, other: Any) -> Tensor:
        """`x` in the shape of another."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Any, ...]:
        """`split` along the first axis of a matrix."""
    def where(self, condition: Any, other: Any) -> Tensor:
        """`x` where the condition is true, else `other`."""
    def zero_(self) -> Tensor:
        """Every element becomes 0."""
