"""Fourier transforms: what ``np.fft`` computes, as ``tg.fft``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, overload

from tracegrad.tensors.tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

@overload
def fft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform along `axis`, of `n` points.

    Arguments and scaling (`norm`) are those of ``np.fft.fft``.

    >>> import tracegrad as tg
    >>> tg.fft.fft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """

@overload
def fft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def fft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The Fourier transform along two axes.

    Arguments and scaling (`norm`) are those of ``np.fft.fft2``.

    >>> import tracegrad as tg
    >>> tg.fft.fft2(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """

def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of `n` points at distance `d`, negative ones last.

    >>> import tracegrad as tg
    >>> tg.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """

@overload
def fftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The Fourier transform along several axes.

    Arguments and scaling (`norm`) are those of ``np.fft.fftn``.

    >>> import tracegrad as tg
    >>> tg.fft.fftn(tg.ones((2, 2, 2))).shape
    (2, 2, 2)
    """

@overload
def fftshift(x: Tensor, axes: Any = None) -> Tensor: ...
@overload
def fftshift(x: Any, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle of each axis (of all by default).

    >>> import tracegrad as tg
    >>> tg.fft.fftshift(tg.tensor([0.0, 1.0, -2.0, -1.0]))
    tensor([-2., -1.,  0.,  1.])
    """

@overload
def hfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum, of `n` points, of a signal whose negative times are conjugates.

    >>> import tracegrad as tg
    >>> tg.fft.hfft(tg.tensor([4.0, 1.0, 0.0]))
    tensor([6., 4., 2., 4.])
    """

@overload
def ifft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse Fourier transform along `axis`, of `n` points.

    Arguments and scaling (`norm`) are those of ``np.fft.ifft``.

    >>> import tracegrad as tg
    >>> tg.fft.ifft(tg.tensor([4.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """

@overload
def ifft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def ifft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The inverse Fourier transform along two axes.

    Arguments and scaling (`norm`) are those of ``np.fft.ifft2``.

    >>> import tracegrad as tg
    >>> tg.fft.ifft2(tg.tensor([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
    """

@overload
def ifftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse Fourier transform along several axes.

    Arguments and scaling (`norm`) are those of ``np.fft.ifftn``.

    >>> import tracegrad as tg
    >>> tg.fft.ifftn(tg.ones((2, 2, 2))).shape
    (2, 2, 2)
    """

@overload
def ifftshift(x: Tensor, axes: Any = None) -> Tensor: ...
@overload
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The middle of each axis moved to its beginning: the inverse of `fftshift`.

    >>> import tracegrad as tg
    >>> tg.fft.ifftshift(tg.tensor([-2.0, -1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -2., -1.])
    """

@overload
def ihfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The signal, at nonnegative times, that has this real spectrum: the inverse of `hfft`.

    >>> import tracegrad as tg
    >>> tg.fft.ihfft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([ 2.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j])
    """

@overload
def irfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real signal of `n` points that has these frequencies.

    Arguments and scaling (`norm`) are those of ``np.fft.irfft``.

    >>> import tracegrad as tg
    >>> tg.fft.irfft(tg.tensor([4.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """

@overload
def irfft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def irfft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The real array that has these frequencies along two axes.

    Arguments and scaling (`norm`) are those of ``np.fft.irfft2``.

    >>> import tracegrad as tg
    >>> tg.fft.irfft2(tg.tensor([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """

@overload
def irfftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The real array that has these frequencies, half along the last axis.

    Arguments and scaling (`norm`) are those of ``np.fft.irfftn``.

    >>> import tracegrad as tg
    >>> tg.fft.irfftn(tg.ones((2, 2, 2))).shape
    (2, 2, 2)
    """

@overload
def rfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform of real signals: frequencies from 0 upwards.

    Arguments and scaling (`norm`) are those of ``np.fft.rfft``.

    >>> import tracegrad as tg
    >>> tg.fft.rfft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """

@overload
def rfft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def rfft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The Fourier transform of real arrays along two axes.

    Arguments and scaling (`norm`) are those of ``np.fft.rfft2``.

    >>> import tracegrad as tg
    >>> tg.fft.rfft2(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """

def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a real transform of `n` points at distance `d`.

    >>> import tracegrad as tg
    >>> tg.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """

@overload
def rfftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The Fourier transform of real arrays, half of it along the last axis.

    Arguments and scaling (`norm`) are those of ``np.fft.rfftn``.

    >>> import tracegrad as tg
    >>> tg.fft.rfftn(tg.ones((2, 2, 2))).shape
    (2, 2, 2)
    """
