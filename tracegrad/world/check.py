"""Guards enter; one generated function leaves that is True while all of them hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from operator import is_
from typing import Any

import numpy as np

from codegen.load import load
from tracegrad.tensor import Tensor
from tracegrad.world.facts import MISSING, Guard, same, state_of

SMALL = 1 << 16  # bytes up to which a copy as bytes is the quickest to compare


def check(
    guards: Sequence[Guard],
    places: Sequence[Guard],
    arrays: Iterable[Any],
    tensors: Sequence[Tensor] | None = None,
) -> Callable[[], bool]:
    """The function; `guards` hold what they held, `places` an array or Tensor, whichever it is.

    The contents of `arrays` are compared as well and, unless `tensors` is None, the shapes of these
    and of the Tensors in places. Identity is compared first; where that differs, type and value
    are, and the new identity is remembered.
    """
    shapes: list[tuple[Any, Any]] = []
    if tensors is not None:
        held = [place for place in places if isinstance(place.value, Tensor)]
        shapes = [(place.now, shown(place.value)) for place in held]
        shapes += [(partial(_itself, tensor), shown(tensor)) for tensor in tensors]
    known = [(array, remembered(getattr(array, "_array", array))) for array in arrays]
    names: dict[str, Any] = {
        "MISSING": MISSING,
        "Tensor": Tensor,
        "again": again(guards, places, known, shapes),
        "is_": is_,
        "ndarray": np.ndarray,
        "shown": shown,
        "state_of": state_of,
        "unwritten": unwritten,
    }
    conditions = conditions_of(guards, places, names)
    for i, (array, content) in enumerate(known):
        inner = "._array" if isinstance(array, Tensor) else ""
        names[f"array{i}"] = array
        conditions += _contents(f"array{i}{inner}", content, str(i), names)
    for i, (names[f"tensor{i}"], names[f"shown{i}"]) in enumerate(shapes):
        conditions.append(f"shown(tensor{i}()) == shown{i}")
    if not conditions:
        return lambda: True
    body = "\n            and ".join(conditions)
    bound = ", ".join(f"{name}={name}" for name in names if name != "again")
    text = (
        f"def unchanged({bound}):\n"  # locals are faster than globals
        "    try:\n"
        f"        if (\n            {body}\n        ):\n"
        "            return True\n"
        "    except Exception:\n"
        "        return False\n"
        "    return again(unchanged)\n"
    )
    function: Callable[[], bool] = load(text, "unchanged", names)
    return function


def _contents(array: str, known: tuple[Any, ...], stem: str, names: dict[str, Any]) -> list[str]:
    """`unwritten` as conditions; for small arrays it is written out, which is faster."""
    if type(known[-1]) is not bytes:
        names[f"known{stem}"] = known
        return [f"unwritten({array}, known{stem})"]
    parts = {"shape": "==", "dtype": "is", "strides": "==", "flags.writeable": "is"}
    values = {f"{part.rpartition('.')[2]}{stem}": v for part, v in zip(parts, known, strict=False)}
    names.update(values, **{f"bytes{stem}": known[-1]})
    found = [
        f"{array}.{part} {same} {name}"
        for (part, same), name in zip(parts.items(), values, strict=True)
    ]
    return [f"{array}.tobytes() == bytes{stem}", *found]


def conditions_of(
    guards: Sequence[Guard], places: Sequence[Guard], names: dict[str, Any]
) -> list[str]:
    """One condition a guard, over names that are added to `names`; an object has one name."""
    known: dict[int, str] = {}

    def stem(guard: Guard) -> str:
        if type(guard.name) not in (int, str) and guard.name is not None:
            return f"_{len(names)}"  # its name is an object too
        return known.setdefault(id(guard.holder), str(len(known)))

    found = []
    for i, guard in enumerate(guards):
        names[f"value{i}"] = guard.value
        found.append(guard.condition(stem(guard), f"value{i}", names))
    for guard in places:
        kind = type(guard.value).__name__  # Tensor, ndarray, or that of a number
        names[kind] = type(guard.value)
        found.append(f"type({guard.expression(stem(guard), names)}) is {kind}")
    return found


def again(
    guards: Sequence[Guard],
    places: Sequence[Guard],
    arrays: Sequence[tuple[Any, Any]],
    shapes: Sequence[tuple[Any, Any]],
) -> Callable[[Any], bool]:
    """The slow comparison, by type and value; it renews the identities that the quick one knows."""

    def compare(quick: Any) -> bool:
        now = [guard.now() for guard in guards]
        if not all(same(a, guard.value) for a, guard in zip(now, guards, strict=True)):
            return False
        if not all(type(place.now()) is type(place.value) for place in places):
            return False
        if not all(unwritten(getattr(a, "_array", a), known) for a, known in arrays):
            return False
        if not all(shown(tensor()) == before for tensor, before in shapes):
            return False
        names = quick.__code__.co_varnames[: quick.__code__.co_argcount]
        bound = dict(zip(names, quick.__defaults__, strict=True))
        bound.update({f"value{i}": value for i, value in enumerate(now)})
        quick.__defaults__ = tuple(bound.values())
        return True

    return compare


def shown(tensor: Any) -> tuple[Any, ...]:
    """What Python sees of a Tensor without a look at its numbers."""
    if type(tensor) is not Tensor:
        return (type(tensor),)
    return tensor._array.shape, tensor.requires_grad, tensor.is_leaf, tensor.device


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def remembered(array: Any) -> tuple[Any, ...]:
    """What `unwritten` compares an array with: exact, so that nothing stale can slip through."""
    if not isinstance(array, np.ndarray):
        return (array,)  # of another library, which does not write to it
    held: Any = array.tobytes()
    if array.dtype.hasobject:
        held = list(array.flat)
    elif array.nbytes > SMALL:
        held = _bits(array).copy()
    return array.shape, array.dtype, array.strides, array.flags.writeable, held


def unwritten(array: Any, known: tuple[Any, ...]) -> bool:
    """True while an array is and holds what it did."""
    if len(known) == 1 or not isinstance(array, np.ndarray):
        return array is known[0]
    shape, dtype, strides, writeable, held = known
    if array.shape != shape or array.dtype != dtype or array.strides != strides:
        return False
    if array.flags.writeable != writeable:
        return False
    if type(held) is bytes:
        return array.tobytes() == held
    if type(held) is list:
        return all(map(is_, array.flat, held))
    return bool((_bits(array) == held).all())


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers, which compare by their bits."""
    if array.dtype.itemsize in (1, 2, 4, 8):
        return array.view(f"u{array.dtype.itemsize}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def without(guards: Iterable[Guard], but: Iterable[Guard], needed: Collection[int]) -> list[Guard]:
    """Guards less those in `but`, unless what they hold is `needed`."""
    skipped = {id(guard) for guard in but if id(guard.value) not in needed}
    return [guard for guard in guards if id(guard) not in skipped]
