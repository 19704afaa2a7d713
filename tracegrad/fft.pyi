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
    """The Fourier transform along `axis`, of `n` points."""

@overload
def fft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def fft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The Fourier transform along two axes."""

def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of `n` points at distance `d`, negative ones last."""

@overload
def fftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The Fourier transform along several axes."""

@overload
def fftshift(x: Tensor, axes: Any = None) -> Tensor: ...
@overload
def fftshift(x: Any, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle of each axis (of all by default)."""

@overload
def hfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum, of `n` points, of a signal whose negative times are conjugates."""

@overload
def ifft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse Fourier transform along `axis`, of `n` points."""

@overload
def ifft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def ifft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The inverse Fourier transform along two axes."""

@overload
def ifftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse Fourier transform along several axes."""

@overload
def ifftshift(x: Tensor, axes: Any = None) -> Tensor: ...
@overload
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The middle of each axis moved to its beginning: the inverse of `fftshift`."""

@overload
def ihfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The signal at times that are not negative of a real spectrum: the inverse of `hfft`."""

@overload
def irfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real signal of `n` points that has these frequencies."""

@overload
def irfft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def irfft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The real array that has these frequencies along two axes."""

@overload
def irfftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The real array that has these frequencies, half along the last axis."""

@overload
def rfft(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor: ...
@overload
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform of real signals: frequencies from 0 upwards."""

@overload
def rfft2(a: Tensor, s: Any = None, axes: Any = ..., norm: str | None = None) -> Tensor: ...
@overload
def rfft2(a: Any, s: Any = None, axes: Any = ..., norm: str | None = None) -> Any:
    """The Fourier transform of real arrays along two axes."""

def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a real transform of `n` points at distance `d`."""

@overload
def rfftn(a: Tensor, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor: ...
@overload
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The Fourier transform of real arrays, half of it along the last axis."""
