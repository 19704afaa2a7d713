"""Samples of the Fourier transforms: even and odd lengths, cut off and filled up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from samples.sampling import REFERENCES, Draw, Sample, samples_of


@samples_of("fft", "ifft", "rfft", "irfft")
def _along_one(draw: Draw) -> Iterator[Sample]:
    for shape, n, axis, norm in (
        ((4,), None, 0, None),
        ((5,), None, 0, "ortho"),
        ((3, 4), None, 1, "forward"),
        ((3, 4), None, 0, None),
        ((2, 4), 7, 1, None),
        ((2, 5), 4, 1, "ortho"),
        ((5, 2), 3, 0, "forward"),
        ((1,), 1, 0, None),
        ((3,), 2, 0, None),
        ((0, 3), None, 1, None),
    ):
        yield Sample((draw(*shape),), {"n": n, "axis": axis, "norm": norm})


@samples_of("fftn", "ifftn", "rfftn", "irfftn")
def _along_many(draw: Draw) -> Iterator[Sample]:
    for shape, s, axes, norm in (
        ((3, 4), None, None, None),
        ((3, 5), None, None, "ortho"),
        ((2, 3, 4), None, (0, 2), "forward"),
        ((2, 3, 4), None, (2, 1), None),
        ((3, 4), (4, 3), (0, 1), None),
        ((3, 4), (2, 6), (0, 1), "ortho"),
        ((3, 4, 2), (5, 3), (1, 0), "forward"),
    ):
        yield Sample((draw(*shape),), {"s": s, "axes": axes, "norm": norm})


@samples_of("fftshift", "ifftshift")
def _shifts(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(5),), {"axes": None})
    yield Sample((draw(4, 3),), {"axes": None})
    yield Sample((draw(4, 3),), {"axes": (1,)})
    yield Sample((draw(0, 3),), {"axes": (0,)})


@samples_of("fftfreq", "rfftfreq")
def _frequencies(draw: Draw) -> Iterator[Sample]:
    for n, d in ((5, 1.0), (4, 0.25), (1, 1.0)):
        yield Sample((), {"n": n, "d": d})


def _numpys(name: str) -> Any:
    return lambda *operands, **attributes: getattr(np.fft, name)(*operands, **attributes)


for _name in ("fft", "rfft", "fftn", "rfftn", "fftshift", "fftfreq"):
    REFERENCES[_name] = _numpys(_name)
for _name in ("ifft", "irfft", "ifftn", "irfftn", "ifftshift", "rfftfreq"):
    REFERENCES[_name] = _numpys(_name)
