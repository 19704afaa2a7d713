"""Writes calls of the user's derivative rules as functions of an exported file.

A program calls the halves of a `custom_vjp` or of a `primitive` with `defvjp` by name. In a file
these names are functions that call the user's own, which stand in the file as well.
"""

from __future__ import annotations

from typing import Any

from codegen.types import ArrayType
from tracegrad.autograd.function_tracing import Backward, Forward, Here, Number
from tracegrad.export.function_sources import FunctionTexts
from tracegrad.values.pytree import TreeSpec, leaf_paths, path_text

FITTED = '''
def _fitted(ct, shape, dtype):
    """A cotangent in the shape and dtype of what it is the cotangent of."""
    ct = np.asarray(0.0 if ct is None else ct)
    ct = ct.sum(axis=tuple(range(max(ct.ndim - len(shape), 0))))
    wide = tuple(i for i, n in enumerate(shape) if ct.ndim == len(shape) and n == 1 < ct.shape[i])
    ct = np.broadcast_to(ct.sum(axis=wide, keepdims=True) if wide else ct, shape)
    return ct.astype(dtype)[()] if not shape else ct.astype(dtype)
'''


def refused(call: Any) -> str:
    """Why a callable of a program has no source; "" where it has one."""
    if ruled_of(call) is None:
        return "use plain ops, or a function with tg.custom_vjp"
    forward = call.forward if isinstance(call, Backward) else call
    types = [t.dtype for t in forward.outputs if isinstance(t, ArrayType)]
    if any("complex" in dtype for dtype in (*types, *forward.dtypes)):
        return "rules for complex numbers are not written into files"
    return ""


def ruled_of(call: Any) -> Any:
    """The `Ruled` function whose half a program calls; None where there is no source for it."""
    forward = call.forward if isinstance(call, Backward) else call
    ruled = getattr(forward.cls, "ruled", None) if isinstance(forward, Forward) else None
    return ruled if getattr(ruled, "written", None) is not None else None


def rule_text(name: str, call: Any, texts: FunctionTexts) -> str:
    """The function that stands for one half."""
    half: Any = _backward if isinstance(call, Backward) else _forward
    text: str = half(name, call, texts)
    return text


def _forward(name: str, call: Forward, texts: FunctionTexts) -> str:
    ruled = ruled_of(call)
    application = call.args[0]
    parameters, args, kwargs = _arguments(call, texts)
    lines = [f"def {name}({', '.join(parameters)}):"]
    lines.append(f'    """The value of {ruled.__name__}, and what its backward keeps."""')
    lines += [f"    {line}" for line in ruled.written.forward(texts.name_of, args, kwargs)]
    values = [path_text("value", path) for path in leaf_paths(application.value)]
    kept = [path_text("kept", path) for path in application.fresh]
    types = [t for t in call.outputs if isinstance(t, ArrayType)]
    made = [f"_fitted({x}, {t.shape}, {_dtype(t)})" for x, t in zip([*values, *kept], types)]
    lines.append(f"    return {', '.join(made)}, kept")
    return "\n\n" + "\n".join(lines) + "\n"


def _backward(name: str, call: Backward, texts: FunctionTexts) -> str:
    ruled = ruled_of(call)
    application = call.forward.args[0]
    held = [f"held_{i}" for i in range(len(call.forward.places))]
    cts = {k: f"ct_{k}" if len(call.given) > 1 else "ct" for k in call.given}
    count = len(leaf_paths(application.value))
    shapes = [t for t in call.forward.outputs if isinstance(t, ArrayType)][:count]
    every = iter([cts.get(k, f"np.zeros({t.shape}, {_dtype(t)})") for k, t in enumerate(shapes)])
    cotangent = texts.literals.structure(application.value, every)
    lines = [f"def {name}({', '.join(['kept', *held, *cts.values()])}):"]
    lines.append(f'    """The cotangents of the arguments of {ruled.__name__}."""')
    places = _places_of_tensors(call.forward)
    asked = sorted({places[i][0].key for i in call.wanted})
    lines += [f"    {x}" for x in ruled.written.backward(texts.name_of, cotangent, asked)]
    made = [
        f"_fitted({path_text('found', places[i])}, {t.shape}, {_dtype(t)})"
        for i, t in zip(call.wanted, call.types, strict=True)
    ]
    lines.append(f"    return {', '.join(made)}")
    return "\n\n" + "\n".join(lines) + "\n"


def _dtype(type: ArrayType) -> str:
    return "bool" if type.dtype == "bool" else f"np.{type.dtype}"


def _places_of_tensors(call: Forward) -> list[Any]:
    """Where each Tensor argument stands among the arguments."""
    positional: TreeSpec = call.args[0].spec.children[0]
    return [path for path, x in zip(leaf_paths(positional), call.args[1:]) if x is Here]


def _arguments(call: Forward, texts: FunctionTexts) -> tuple[list[str], list[str], dict[str, str]]:
    """The parameters of the function, and the arguments that the user's is called with."""
    positional, named = call.args[0].spec.children
    tensors: list[str] = []
    numbers: list[str] = []
    leaves: list[str] = []
    for x in call.args[1:]:
        if x is Here or x is Number:
            known, letter = (tensors, "x") if x is Here else (numbers, "n")
            known.append(f"{letter}_{len(known)}")
            leaves.append(known[-1])
        else:
            leaves.append(texts.literals.text(x, "an argument"))
    rest = iter(leaves)
    given = [texts.literals.structure(child, rest) for child in positional.children]
    steps: Any = named.steps
    pairs = zip(steps, named.children, strict=True)
    by_name = {step.key: texts.literals.structure(child, rest) for step, child in pairs}
    return [*tensors, *numbers], given, by_name
