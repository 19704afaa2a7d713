"""What symbolic lengths of JAX mean for a program.

`jax.export` gives functions arrays of shapes like ``(b, 2*k)``. A program is made by a run on
samples, whose lengths are numbers in the place of the symbols; it holds for all lengths that its
guards allow, and these are asked once more with the symbols.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from codegen.sizes import Quotient, Size, equality_as_python, limits, ordered
from tracegrad.errors import ArgumentError

FIRST = 17
"""The length that the first symbol has in samples: larger than what most functions ask for.

Loops over it make more turns than those that are unrolled.
"""


def example_lengths(shape: Sequence[Any]) -> tuple[int, ...]:
    """The lengths with a number for each symbol, the same for the same symbol everywhere."""
    return tuple([n if isinstance(n, int) else _example(str(n)) for n in shape])


def _example(text: str) -> int:
    tree = ast.parse(text, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - FUNCTIONS.keys()
    values = {name: _number_for(name) for name in names}
    return int(eval(compile(tree, "<length>", "eval"), {"__builtins__": {}}, FUNCTIONS | values))


FUNCTIONS: dict[str, Any] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}
"""What the source of a length may call."""


def _number_for(name: str) -> int:
    """A length for a symbol: others have others, as far as a few letters tell."""
    return FIRST + 2 * (sum(i * ord(c) for i, c in enumerate(name, 1)) % 31)


def broken(guards: Iterable[tuple[Any, Any]], known: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The guards that do not hold for all values of the symbols, or of which nobody can tell."""
    return [guard for guard in guards if not _holds(*guard, known)]


def _holds(a: Any, b: Any, known: Mapping[str, Any]) -> bool:
    def value(dim: Any) -> Any:
        return _value(dim, known)

    if (order := ordered(a, b)) is not None:
        large, small = order
        return _is_true(lambda: value(large) >= value(small))
    if (limited := limits(a, b)) is not None:
        of, low, high = limited
        return _is_true(lambda: value(of) >= low and (high is None or value(of) <= high))
    return _is_true(lambda: value(a) == value(b))


def _is_true(test: Any) -> bool:
    try:
        return bool(test())
    except Exception:  # JAX has an error of its own where it cannot tell
        return False


def _value(dim: Any, known: Mapping[str, Any]) -> Any:
    """A length in the symbols of JAX."""
    if not isinstance(dim, Size):
        return dim
    total: Any = 0
    for atoms, factor in dim.terms:
        term: Any = factor
        for atom in atoms:
            term = term * _atom(atom, known)
        total = total + term
    return total


def _atom(atom: Any, known: Mapping[str, Any]) -> Any:
    match atom:
        case str():
            return known[atom]
        case Quotient(of, by):
            return _value(of, known) // _value(by, known)
    raise ArgumentError(f"nobody knows what {atom} is for all lengths")


@contextmanager
def refusing(leaves: Sequence[Any], name: str) -> Iterator[None]:
    """While a program is applied: it is refused where JAX cannot do it with symbols for lengths."""
    try:
        yield
    except Exception as error:
        if all(isinstance(n, int) for leaf in leaves for n in getattr(leaf, "shape", ())):
            raise
        told = str(error).partition("\n")[0]
        raise ArgumentError(
            f"{name} has no program for lengths that are symbols: {told}. Give them as numbers"
        ) from error


def refusal(version: Any, leaves: Sequence[Any], name: str) -> ArgumentError:
    """The error for a program that is not for all lengths."""
    known = version.lengths(leaves)
    guard = next(iter(broken(version.guards, known)), None)
    if guard is None:
        return ArgumentError(f"{name} has no program for these arguments")
    texts = {
        symbol: f"{version.program.graph.inputs[i].origin.name or 'x'}.shape[{axis}]"
        for symbol, (i, axis) in version.symbols.items()
    }
    said = equality_as_python(*guard, texts)
    lines = [line for symbol, line in version.looked_at.items() if symbol in str(guard)]
    where = f" ({lines[0]})" if lines else ""
    return ArgumentError(
        f"{name} has a program only where {said}{where}, and lengths that are symbols may be "
        "others: give that length as a number, or say so in the constraints of "
        "jax.export.symbolic_shape"
    )
