"""A seed enters, a program of Tensors leaves that share memory and are written to, as in PyTorch.

The text runs with tracegrad's Tensors and with PyTorch's, eagerly and through ``tg.compile``;
values and the gradients of leaves are compared. An element is a Tensor here that looks at its row.
The programs are drawn while they run on PyTorch, which refuses a few that tracegrad takes (it
copies what a backward needs): those are no part of the comparison.
"""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import tracegrad as tg


@dataclass(frozen=True)
class TensorProgram:
    """A program of two leaves ``x`` and ``y`` and a Tensor ``z`` without a gradient."""

    seed: int
    shapes: tuple[tuple[int, ...], ...]
    statements: tuple[str, ...]
    returned: tuple[str, ...]

    @property
    def source(self) -> str:
        body = "".join(f"    {line}\n" for text in self.statements for line in text.split("\n"))
        loss = " + ".join(f"({v} * {v}).sum()" for v in self.returned)
        return f"def f(x, y, z):\n{body}    return {loss}, {', '.join(self.returned)}\n"

    def function(self) -> Callable[..., Any]:
        text, file = self.source, f"<tensors {self.seed}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        space: dict[str, Any] = {}
        exec(compile(text, file, "exec"), space)
        return space["f"]

    def arrays(self, call: int = 0) -> list[np.ndarray]:
        values = np.random.default_rng((self.seed, call))
        return [values.uniform(-1.0, 1.0, shape) for shape in self.shapes]

    def shortened(self) -> Iterator[TensorProgram]:
        for i in reversed(range(len(self.statements))):
            yield replace(self, statements=self.statements[:i] + self.statements[i + 1 :])
        for i in range(len(self.returned) if len(self.returned) > 1 else 0):
            yield replace(self, returned=self.returned[:i] + self.returned[i + 1 :])


def tensor_program(seed: int) -> TensorProgram:
    """The program of a seed."""
    return _Writer(seed).program()


class _Writer:
    """Writes one program, and runs what it has written on PyTorch."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        n, m = self.one(2, 3, 4), self.one(2, 3)
        shape = self.one((n,), (n, m), (n, n), (n, m), (2, n, m))
        self.shapes = (shape, self.one(shape, shape[-1:], (1,)), shape)
        self.statements: list[str] = [self.one("y = y * 1.0", "y = y.clone()", "t = x * 2.0")]
        self.counted = 0
        self.space: dict[str, Any] = {}
        self.replay()

    def one(self, *options: Any) -> Any:
        return self.random.choice(options)

    def replay(self) -> None:
        program = TensorProgram(self.seed, self.shapes, tuple(self.statements), ())
        self.space = dict(zip("xyz", torch_arguments(program, 0), strict=True))
        for statement in self.statements:
            exec(statement, self.space)

    def names(self) -> list[str]:
        return [name for name, v in self.space.items() if isinstance(v, torch.Tensor)]

    def program(self) -> TensorProgram:
        wanted, tries = self.random.randint(2, 9), 0
        while len(self.statements) < wanted and tries < 60:
            tries += 1
            try:
                statement = self.statement()
                exec(statement, self.space)
                self.statements.append(statement)
            except Exception:
                self.replay()
        names = self.names()
        returned = self.random.sample(names, min(len(names), self.random.randint(1, 3)))
        return TensorProgram(self.seed, self.shapes, tuple(self.statements), tuple(returned))

    def statement(self) -> str:
        names = self.names()
        v, w = self.one(*names, *names[-2:]), self.one(*names)
        c = self.one("0.5", "2.0", "-1.5", "0.3")
        self.counted += 1
        made = f"v{self.counted}"
        if self.random.random() < 0.45:
            return f"{made} = {self.view(v)}"
        if self.random.random() < 0.25:
            return f"{made} = " + self.one(
                f"{v} * {c}", f"{v}.clone()", f"{v} + {w}", f"{v} * {w}", f"{v}.sin()",
                f"{v}.detach()", f"{v}[[0, -1]]", f"{v}.sum(0)", f"{v}.exp()", v,
            )  # fmt: skip
        target = self.view(v) if self.random.random() < 0.3 else v
        operand = self.one(w, c, f"{w} * {c}", self.view(w), f"{w}.clone()")
        if w in operand and self.is_shared(v, w):  # PyTorch reads what it has just written
            operand = f"{w}.clone()"
        index = self.index(self.space[v])
        return self.one(
            f"{target}.mul_({operand})", f"{target}.add_({operand})", f"{target}.zero_()",
            f"{target}.copy_({operand})" if operand[0] not in "-0123456789" else f"{v}.fill_({c})",
            f"{target}.sub_({operand}, alpha=2.0)", f"{target}.div_({c})", f"{target}.fill_({c})",
            f"{v} += {operand}", f"{v} *= {operand}", f"{v}[{index}] = {operand}",
            f"{v}[{index}] += {operand}", f"{v}[{index}] *= {operand}", f"{target}.sin_()",
            f"{target}.neg_()", f"{v}[{v} > 0.2] = {c}", f"{target}.clamp_(-0.5, 0.5)",
            f"for r in {v}:\n    r.mul_({c})", f"for r in {v}:\n    r += {operand}",
            f"{v}[[0, -1]] = {c}", f"{target}.masked_fill_({target} > 0.1, {c})",
        )  # fmt: skip

    def is_shared(self, v: str, w: str) -> bool:
        """Whether two Tensors lie in one piece of memory."""
        first, second = (self.space[name].untyped_storage().data_ptr() for name in (v, w))
        return first == second

    def index(self, tensor: Any) -> str:
        items = []
        for n in tensor.shape[: self.random.randint(1, max(tensor.ndim, 1))]:
            items.append(self.one(str(self.random.randint(-n, n - 1)), ":", "1:", ":-1", "::2"))
        return ", ".join(items) or "()"

    def view(self, v: str) -> str:
        tensor = self.space[v]
        options = [f"{v}[{self.index(tensor)}]" for _ in range(6)]
        options += [
            f"{v}.view(-1)", f"{v}.reshape(-1)", f"{v}[None]", f"{v}.unsqueeze(0)",
            f"{v}.squeeze()", f"{v}.ravel()", f"{v}[...]", f"{v}.unbind(0)[-1]",
            f"{v}.expand_as({v})", f"{v}.view_as({v})", f"{v}.narrow(0, 0, 1)", f"{v}.detach()",
        ]  # fmt: skip
        if tensor.ndim > 1:
            options += [
                f"{v}.mT", f"{v}.swapaxes(0, 1)", f"{v}.swapaxes(0, -1)", f"{v}.diagonal()",
                f"{v}.mT.reshape(-1)", f"{v}.select(1, 0)", f"{v}.movedim(0, -1)", f"{v}[:, 0]",
                f"{v}.swapaxes(0, 1)[0]",
            ]  # fmt: skip
        return self.one(*options)


def torch_arguments(program: TensorProgram, call: int) -> list[Any]:
    x, y, z = (torch.tensor(array) for array in program.arrays(call))
    return [x.requires_grad_(), y.requires_grad_(), z]


def tensor_arguments(program: TensorProgram, call: int) -> list[Any]:
    x, y, z = (tg.tensor(array) for array in program.arrays(call))
    return [x.requires_grad_(), y.requires_grad_(), z]


def outcome(function: Callable[..., Any], arguments: list[Any]) -> list[Any]:
    """Values, what the third argument holds then, and the gradients of the two leaves."""
    x, y, z = arguments
    loss, *others = function(x, y, z)
    values = [v.detach().numpy().copy() for v in (loss, *others, z)]
    if loss.requires_grad:
        loss.backward()
    gradients = [np.zeros(v.shape) if v.grad is None else np.asarray(v.grad) for v in (x, y)]
    return [*values, *gradients]


def check_tensors(program: TensorProgram) -> tuple[str, str]:
    """right, wrong, refused or skipped (by PyTorch), and why."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        compiled = tg.compile(program.function())
        try:
            for call in (0, 1):
                expected = outcome(program.function(), torch_arguments(program, call))
                for way, function in (("eager", program.function()), ("compiled", compiled)):
                    got = outcome(function, tensor_arguments(program, call))
                    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
                        same = a.shape == b.shape
                        if not same or not np.allclose(a, b, 1e-9, 1e-9, equal_nan=True):
                            return "wrong", f"{way}, call {call}, result {i}: {a}, expected {b}"
        except tg.errors.TracegradError as error:
            return "refused", str(error)
        except RuntimeError as error:  # PyTorch's
            return "skipped", str(error)
        except Exception as error:
            return "wrong", repr(error)
    return "right", ""


def minimal_tensors(program: TensorProgram) -> TensorProgram:
    """The program without what its failure does not need."""
    shorter = True
    while shorter:
        shorter = False
        for candidate in program.shortened():
            try:
                candidate.function()(*torch_arguments(candidate, 0))
            except Exception:
                continue
            if check_tensors(candidate)[0] == "wrong":
                program, shorter = candidate, True
                break
    return program
