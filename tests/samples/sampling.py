"""An op's record enters, operands and attributes to try it on leave.

Elementwise ops get theirs from the record's `domain`; every other op has a generator under its
name in `GENERATORS`. A new op without samples fails `tests/test_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.ir import Trait
from tracegrad.ops.record import OpRecord

DTYPES = ("bool", "int32", "int64", "float32", "float64", "complex128")


@dataclass(frozen=True, eq=False)
class Sample:
    """One call of an op."""

    operands: tuple[Any, ...]
    attributes: dict[str, Any]

    def __str__(self) -> str:
        shapes = [f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in self.operands]
        attributes = [f"{name}={value!r}" for name, value in self.attributes.items()]
        return f"({', '.join([*shapes, *attributes])})"


class Draw:
    """Random operands: ``draw(2, 3)`` has that shape, in the dtype and domain at hand."""

    def __init__(self, dtype: str, domain: str = "real", seed: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self.domain = domain
        self.random = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> np.ndarray:
        return self.of(self.domain, shape)

    def of(self, domain: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(self._of(domain, shape))

    def _of(self, domain: str, shape: tuple[int, ...]) -> Any:
        match self.dtype.kind:
            case "b":
                return self.bools(*shape)
            case "i" | "u":
                return self._integers(domain, shape)
            case "c":
                return self._reals(domain, shape) + 0.5j * self.random.normal(size=shape)
        return np.asarray(self._reals(domain, shape), dtype=self.dtype)

    def _integers(self, domain: str, shape: tuple[int, ...]) -> np.ndarray:
        low, high = {"unit": (-1, 2), "positive": (1, 5), "above_one": (1, 5)}.get(domain, (-4, 5))
        found = self.random.integers(low, high, size=shape)
        if domain == "nonzero":
            found = np.where(found == 0, 3, found)
        return np.asarray(found, dtype=self.dtype)

    def _reals(self, domain: str, shape: tuple[int, ...]) -> np.ndarray:
        random = self.random
        match domain:
            case "positive":
                return np.asarray(random.uniform(0.5, 2.0, size=shape))
            case "unit":
                return np.asarray(random.uniform(-0.9, 0.9, size=shape))
            case "probability":
                return np.asarray(random.uniform(0.05, 0.95, size=shape))
            case "above_one":
                return np.asarray(random.uniform(1.2, 3.0, size=shape))
            case "nonzero":
                sign = np.where(random.random(size=shape) < 0.5, -1.0, 1.0)
                return np.asarray(sign * random.uniform(0.5, 2.0, size=shape))
        return np.asarray(random.normal(size=shape))

    def bools(self, *shape: int) -> np.ndarray:
        return np.asarray(self.random.random(size=shape) < 0.5)

    def below(self, high: int, *shape: int) -> np.ndarray:
        return self.random.integers(high, size=shape)


# -- elementwise --------------------------------------------------------------------------------

ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    "number_power": [{"exponent": e} for e in (0, 1, 2, 3, 2.0, 0.5, 1.5)],
    "number_base_power": [{"base": b} for b in (2.0, 0.5)],
    "astype": [{"dtype": d} for d in ("float32", "float64", "int64")],
    "angle": [{"deg": False}, {"deg": True}],
    "nan_to_num": [{}, {"nan": 1.0, "posinf": 2.0, "neginf": -2.0}],
    "round": [{"decimals": d} for d in (0, 1, -1)],
}
"""What elementwise ops with attributes are tried with; all others have none."""

ONLY = {
    "integer": ("bool", "int32", "int64"),
    "ordered": ("int32", "int64", "float32", "float64"),
    "floating": ("float32", "float64"),
    "masked": ("float32", "float64"),
    "tied": ("float32", "float64"),
    "gamma": ("float32", "float64"),
    "probability": ("float32", "float64"),
    "betainc": ("float32", "float64"),
    "exponent": ("float32", "float64"),
}
"""Domains that not every dtype has."""

NOT_IN_JAX = {
    ("argmax", "complex128"): "JAX finds no place of a complex number",
    ("argmin", "complex128"): "JAX finds no place of a complex number",
}
"""Ops and dtypes that programs for JAX are refused, and why."""

DERIVED_OTHERWISE = {
    ("direction", "complex128"): "JAX takes the direction of a complex number as constant",
    ("nextafter", "float64"): "JAX has no derivative of it",
    ("spacing", "float64"): "JAX has no derivative of it",
}
"""Where the derivative that JAX takes of our spelling is not ours, and why."""


def is_elementwise(record: OpRecord) -> bool:
    return Trait.ELEMENTWISE in record.traits


def _operand(draw: Draw, record: OpRecord, position: int, shape: tuple[int, ...]) -> np.ndarray:
    match record.domain:
        case "choice" | "masked" if position == 0:
            return draw.bools(*shape)
        case "tied" if position > 0:
            return draw.bools(*shape)
        case "ordered":
            wide = draw.of("positive", shape)
            return draw(*shape) if position == 0 else wide if position == 2 else -wide + 0
        case "exponent" if position == 1:
            return draw.below(4, *shape)
        case "gamma":
            return draw.of("positive", shape)
        case "betainc":
            return draw.of("probability" if position == 2 else "positive", shape)
        case "integer" if "shift" in record.name and position == 1:
            return np.asarray(draw.below(4, *shape), dtype=draw.dtype)
    return draw(*shape)


def elementwise(
    record: OpRecord, dtype: str, *shapes: tuple[int, ...], seed: int = 0
) -> Iterator[Sample]:
    """The op on operands of these shapes, once for each of its attributes."""
    if dtype not in ONLY.get(record.domain, DTYPES):
        return
    draw = Draw(dtype, record.domain, seed)
    for attributes in ATTRIBUTES.get(record.name, [{}]):
        operands = [_operand(draw, record, i, shape) for i, shape in enumerate(shapes)]
        yield Sample(tuple(operands), attributes)


BROADCASTS: dict[int, list[tuple[tuple[int, ...], ...]]] = {
    1: [((3,),), ((2, 3),), ((),), ((0,),), ((2, 0, 3),), ((1, 1),)],
    2: [
        ((3,), (2, 3)),
        ((2, 1), (1, 3)),
        ((), (3,)),
        ((2, 3), ()),
        ((1,), (1, 1)),
        ((4, 1, 2), (3, 1)),
        ((0, 3), (3,)),
        ((1, 3), (0, 1)),
        ((), ()),
    ],
    3: [
        ((3,), (2, 3), ()),
        ((2, 1), (1, 3), (3,)),
        ((2, 3), (), (2, 1)),
        ((1,), (1,), (1, 1)),
        ((0, 3), (3,), (1, 3)),
        ((), (), ()),
    ],
}
"""Shapes of operands that broadcast, by the number of operands."""


# -- the other ops ------------------------------------------------------------------------------

Generator = Callable[[Draw], Iterator[Sample]]
GENERATORS: dict[str, Generator] = {}
REFERENCES: dict[str, Callable[..., Any]] = {}
"""What NumPy says, for ops that are not a NumPy function of the same name and arguments."""

CLOSE: dict[str, Callable[..., Any]] = {}
"""What mathematics says, for ops that NumPy has no function for (or rounds otherwise)."""

TOGETHER = {"cumprod_pullback": "its operands are computed from one another"}
"""Ops whose derivative holds only where they are used, and why: tested through their users."""

PHASE_FREE: set[str] = set()
"""Ops that leave the phases of complex results free, so that differences of these say nothing."""

HERMITIAN = ("hermitian", "positive_definite")
"""Domains of ops that read one triangle and are derived as functions of Hermitian matrices."""

REFERENCES["astype"] = lambda x, dtype: x.astype(dtype)
REFERENCES["halve_where"] = lambda x, zero, half: np.where(zero, 0, np.where(half, x / 2, x))
REFERENCES["sinc"] = lambda x, order: np.sinc(x)  # its derivatives are of the next orders
REFERENCES["number_base_power"] = lambda x, base: base**x
REFERENCES["number_power"] = lambda x, exponent: np.power(x, exponent)


def samples_of(*names: str) -> Callable[[Generator], Generator]:
    """Enters a generator for these ops."""

    def enter(generator: Generator) -> Generator:
        GENERATORS.update({name: generator for name in names})
        return generator

    return enter


def samples(record: OpRecord, dtype: str = "float64", seed: int = 0) -> list[Sample]:
    """Everything to try the op on in one dtype; empty where the op does not take the dtype."""
    if is_elementwise(record):
        n = len(record.operands)
        found = [
            s for shapes in BROADCASTS[n] for s in elementwise(record, dtype, *shapes, seed=seed)
        ]
    else:
        found = list(GENERATORS[record.name](Draw(dtype, record.domain, seed)))
    defaults = {name: value for name, value in record.attributes.items() if value is not ...}
    return [Sample(s.operands, {**defaults, **s.attributes}) for s in found]
