"""Samples of the ops on sampled functions and vectors; see `sampling`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from samples.sampling import REFERENCES, Draw, Sample, samples_of


@samples_of("interp")
def _interp(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind != "f":
        return
    for shape, n in (((5,), 4), ((2, 3), 6), ((), 2), ((0,), 3)):
        places = np.arange(n) + 0.3 * draw.random.random(n)
        yield Sample((draw(*shape) * n, places.astype(draw.dtype), draw(n)), {})
    whole = np.arange(4).astype(draw.dtype)
    yield Sample((whole[[1, 2]] + draw.dtype.type(0.25), whole, draw(4)), {})


@samples_of("convolve")
def _convolve(draw: Draw) -> Iterator[Sample]:
    for n, m in ((5, 3), (3, 5), (4, 4), (1, 1), (6, 1)):
        yield Sample((draw(n), draw(m)), {})


@samples_of("convolve_inside")
def _convolve_inside(draw: Draw) -> Iterator[Sample]:
    for n, m in ((5, 3), (4, 4), (1, 1), (6, 1)):
        yield Sample((draw(n), draw(m)), {})


REFERENCES["convolve_inside"] = lambda a, v: np.convolve(a, v, "valid")
