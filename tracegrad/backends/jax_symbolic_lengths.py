"""What symbolic lengths of JAX mean for a program.

`jax.export` gives functions arrays of shapes like ``(b, 2*k)``. A program is made by a run on
samples, whose lengths are numbers in the place of the symbols; it holds for all lengths that its
guards allow, and these are asked once more with the symbols.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from codegen.sizes import Quotient, Size, SliceLength
from tracegrad.errors import ArgumentError

FIRST = 7
"""The length that the first symbol has in samples: larger than what most functions ask for."""


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
    least = _least(a, b)
    if least is not None:
        return _is_true(lambda: _value(least[0], known) >= least[1])
    return _is_true(lambda: _value(a, known) == _value(b, known))


def _is_true(test: Any) -> bool:
    try:
        return bool(test())
    except Exception:  # JAX has an error of its own where it cannot tell
        return False


def _least(a: Any, b: Any) -> tuple[Any, int] | None:
    """What a guard of the form ``len(x[k : k + 1]) == 1`` says: a length, and how long it is."""
    for one, other in ((a, b), (b, a)):
        taken = _slice_of_one(one)
        if taken is not None and other == 1:
            return taken[0], taken[1] + 1
    return None


def _slice_of_one(dim: Any) -> tuple[Any, int] | None:
    """The length and the place of ``x[k : k + 1]``."""
    if not isinstance(dim, Size) or len(dim.terms) != 1:
        return None
    ((atoms, factor),) = dim.terms
    if factor != 1 or len(atoms) != 1 or not isinstance(atoms[0], SliceLength):
        return None
    atom = atoms[0]
    start = atom.start or 0
    if atom.step not in (None, 1) or start < 0 or atom.stop != start + 1:
        return None
    return atom.of, start


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


def refusal(version: Any, leaves: Sequence[Any], name: str) -> ArgumentError:
    """The error for a program that is not for all lengths."""
    known = version.lengths(leaves)
    guard = next(iter(broken(version.guards, known)), None)
    if guard is None:
        return ArgumentError(f"{name} has no program for these arguments")
    least = _least(*guard)
    if least is not None:
        said = f"{_told(least[0], version)} is at least {least[1]}"
    else:
        said = " is ".join(_told(side, version) for side in guard)
    lines = [line for symbol, line in version.looked_at.items() if symbol in str(guard)]
    where = f" ({lines[0]})" if lines else ""
    return ArgumentError(
        f"{name} has a program only where {said}{where}, and lengths that are symbols may be "
        "others: give that length as a number, or say so in the constraints of "
        "jax.export.symbolic_shape"
    )


def _told(dim: Any, version: Any) -> str:
    """A length as the user would say it."""
    text = str(dim)
    for symbol, (i, axis) in version.symbols.items():
        inputs = version.program.graph.inputs
        text = text.replace(symbol, f"{inputs[i].origin.name or 'x'}.shape[{axis}]")
    return text
