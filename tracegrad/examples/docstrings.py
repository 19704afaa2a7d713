"""Adds the examples to the docstrings of public functions.

>>> import tracegrad as tg
>>> print(tg.exp.__doc__.splitlines()[-1])
tensor([1.0000, 2.7183])
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from inspect import cleandoc
from typing import Any

from tracegrad.examples import arrays, creation, elementwise, fft, linalg, nn, reductions, special

EXAMPLES: dict[str, str] = {
    name: example
    for family in (elementwise, creation, arrays, reductions, linalg, fft, special, nn)
    for name, example in family.EXAMPLES.items()
}
"""By the name of a function under ``tg``: what one would type to see what it does."""


def show_examples(namespace: Mapping[str, Any]) -> None:
    """Ends the docstring of every function in the table with its example."""
    for name, example in EXAMPLES.items():
        first, *rest = name.split(".")
        function = reduce(getattr, rest, namespace[first])
        if function.__doc__ is not None:  # which Python leaves out when told so (-OO)
            said = cleandoc(function.__doc__)
            function.__doc__ = f"{said}\n\n>>> import tracegrad as tg{example}"
