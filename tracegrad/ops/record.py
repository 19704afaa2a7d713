"""The record of an op: name, type rule, spelling, VJP, traits.

A record is all there is to say of an op. From it come the eager kernel, the Tensor method, the
emitted source in every target, the gradient, the documentation row and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature
from typing import Any, Literal

import numpy as np

from codegen.ir import Op, Trait, Value
from codegen.load import kernel, load
from codegen.spelling import Spelling, SpellingOf, reached, spell
from codegen.types import BFLOAT16
from tracegrad.errors import DTypeError
from tracegrad.ops.descriptions import WORDS
from tracegrad.values.dispatch import apply

Vjp = Callable[..., tuple[Any, ...]]
Jvp = Callable[..., Any]
Sound = Callable[..., Iterable[Any]]
Raises = Literal["", "numbers", "caught", "always"]

KERNEL_NAMES: dict[str, Any] = {"np": np}
"""What a NumPy spelling may refer to."""

TABLE: dict[str, OpRecord] = {}
"""Every op by name."""


@dataclass(frozen=True, eq=False, repr=False)
class OpRecord(Op):
    """One op; see `define`."""

    vjp: Vjp | None = None
    jvp: Jvp | None = None  # where that is better than what forward mode makes of the VJP
    linear: str = ""  # in all operands "together", or in "each": its JVP is the op itself
    sound: Sound | None = None  # what is true of values for which NumPy raises nothing
    raises: Raises = ""  # where programs raise what it raises, although nothing reads its results
    differentiable: bool = True
    doc: str = ""
    opaque: bool = False  # runs the user's own Python: never staged
    partial: bool = False  # several results, and the rule takes None for those without a cotangent
    domain: str = "real"  # where random samples for tests come from
    batch: Callable[..., Any] | None = None  # the op on batches: see `ops.batch_rules`
    of_numbers: bool = False  # Python's numbers are given to it as they are
    _kernels: dict[Spelling, Callable[..., Any]] = field(default_factory=dict)

    def kernel(self, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """The function that runs the op on NumPy arrays: its NumPy spelling, compiled once."""
        return self._only_kernel or self._kernel(self.spelled("numpy", attributes))

    def kernel_of_values(
        self, attributes: Mapping[str, Any], operands: Iterable[Value], results: Sequence[Value]
    ) -> Callable[..., Any]:
        """The kernel for values of a graph: numbers of bfloat16 are computed in float32."""
        kernel = self.kernel(attributes)
        if not any(value.type.dtype == BFLOAT16 for value in (*operands, *results)):
            return kernel
        if self.name in NOT_OF_BFLOAT16:
            raise DTypeError(
                f"{self.name} has no form for bfloat16 in JAX: write x.astype(np.float32)"
            )
        return through_float32(kernel, [value.type.dtype for value in results])

    def inplace_kernel(self, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """Like `kernel`, in the form that overwrites the first operand."""
        spelling = self.spelled("numpy", attributes)
        assert spelling.inplace is not None, self.name
        return self._kernel(Spelling(f"{spelling.inplace}\nout = {self.operands[0]}"))

    @cached_property
    def _only_kernel(self) -> Callable[..., Any] | None:
        """The kernel, where the attributes do not decide the spelling."""
        spelling = self.spelling["numpy"]
        return self._kernel(spelling) if isinstance(spelling, Spelling) else None

    def _kernel(self, spelling: Spelling) -> Callable[..., Any]:
        found = self._kernels.get(spelling)
        if found is None:
            names = {**KERNEL_NAMES, **self.needed("numpy", spelling, KERNEL_NAMES)}
            found = kernel(spelling, self.operands, tuple(self.attributes), names)
            self._kernels[spelling] = found
        return found

    def needed(
        self, target: str, spelling: Spelling, names: Mapping[str, Any]
    ) -> dict[str, Callable[..., Any]]:
        """What a spelling names beside `names`, made of the same source that programs have."""
        texts = self.needs.get(target, {})
        found: dict[str, Callable[..., Any]] = {}
        for name in reached(texts, spelling.uses):
            found[name] = load(texts[name], name, {**names, **found})
        return found

    @cached_property
    def takes_numbers(self) -> bool:
        """True when the NumPy spelling works on bare Python numbers (it calls no methods)."""
        spelling = self.spelling["numpy"]
        if self.of_numbers:
            return True
        if Trait.ELEMENTWISE not in self.traits or not isinstance(spelling, Spelling):
            return False
        return not spelling.attributed & set(self.operands)

    @cached_property
    def put(self) -> int | None:
        """Which operand an update puts into elements of the first one."""
        return 1 if Trait.UPDATE in self.traits else None

    @cached_property
    def looks(self) -> bool:
        """True when a result may look at the memory of the first operand."""
        return bool(self.traits & {Trait.VIEW, Trait.SPLAT}) or self.memory is not None

    @property
    def __name__(self) -> str:
        return self.name

    @cached_property
    def __signature__(self) -> Signature:
        """Operands by position, attributes by name: what `inspect.signature` shows."""
        shown = [_operand(name) for name in self.operands]
        for name, default in self.attributes.items():
            given = Parameter.empty if default is ... else default
            shown.append(Parameter(name, Parameter.KEYWORD_ONLY, default=given))
        return Signature(shown)

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        return apply(self, operands, attributes)


def _operand(name: str) -> Parameter:
    several = name.startswith("*")
    kind = Parameter.VAR_POSITIONAL if several else Parameter.POSITIONAL_ONLY
    return Parameter(name.lstrip("*"), kind)


def define(
    name: str,
    numpy: str | SpellingOf,
    *,
    infer: Callable[..., Any],
    vjp: Vjp | None = None,
    jvp: Jvp | None = None,
    linear: str = "",
    jax: str | SpellingOf | None = None,
    operands: str = "x",
    attributes: Mapping[str, Any] | None = None,
    traits: tuple[Trait, ...] = (),
    identities: tuple[tuple[int, Any], ...] = (),
    differentiable: bool | None = None,
    results: str = "",
    partial: bool = False,
    domain: str = "real",
    memory: Callable[..., Trait | None] | None = None,
    needs: Mapping[str, Mapping[str, str]] | None = None,
    scratch: float | None = None,
    sound: Sound | None = None,
    raises: Raises | None = None,
    batch: Callable[..., Any] | None = None,
    of_numbers: bool = False,
    doc: str = "",
) -> OpRecord:
    """Makes the record of an op and enters it in `TABLE`.

    numpy, jax
        The Python that one would write for it, over the names of its operands and attributes
        (`codegen.spelling`); `jax` defaults to the NumPy one with ``jnp`` for ``np``. A function
        of the attributes chooses where they decide.
    infer
        The type rule: ``infer(sizes, *types, **attributes)`` gives the result's type or a tuple.
    vjp
        The derivative rule: ``vjp(ct, y, *operands, **attributes)`` gives a cotangent for each
        operand (None for none), of the result's shape; the walker sums it down to the operand's.
        For an op with several results `ct` and `y` are tuples.
    jvp
        The rule of forward mode, where it is measurably better than what
        `tracegrad.differentiation.forward_mode` makes of `vjp`: ``jvp(dots, y, *operands,
        **attributes)`` gives the tangent of the result (a tuple of several) from those of the
        operands, None for one that does not move.
    linear
        "together" for an op that is linear in all its operands together, "each" for one that is in
        each of them, where the op itself is better than what
        `tracegrad.differentiation.forward_mode` makes of `vjp`: the tangents then go through it.
    differentiable
        False for ops whose derivative is zero wherever it exists (comparisons, rounding): their
        operands get no cotangent. Default: True when there is a `vjp`.
    results
        What variables are called that hold its several results.
    partial
        For an op with several results: True when its rule takes None as the cotangent of a result
        that nothing depends on, instead of zeros.
    memory
        ``memory(*types, **attributes)`` gives `Trait.VIEW`, `Trait.LOOSE` or None, for an op whose
        attributes or operands decide whether results share memory with the first operand, or lie
        as no new array does. Else the one among the traits holds for all calls.
    needs
        What the spellings name beside ``np``, ``jnp`` and ``jax``, by target: the import or the
        source of the function that a program which uses the op has at its top.
    scratch
        What a spelling of several calls takes besides its result, in arrays as large as the largest
        of its operands and results, where that is known: the header tells how much memory a
        program needs.
    sound
        What JAX goes on with in silence where NumPy raises: ``sound(y, *operands, **attributes)``
        gives bools without axes, all true where NumPy does not raise. Programs for JAX look at
        them (`tracegrad.optimizer.error_checks`).
    raises
        Where programs raise what the op raises, although nothing reads its results: "always", only
        "caught" where the function may catch it, or "always" of Python's "numbers" alone. Default:
        "caught" where there is a `sound`. An op without it may be left out of a program.
    batch
        The batching rule, ``batch(call)`` of a `tracegrad.ops.batching_rules.Batch`: the results
        for all examples, whose axis is the first. Without one, elementwise ops take batches as they
        are, and any other op runs for one example after the other.
    of_numbers
        True for an op that is given Python's numbers as they are, though it is not elementwise: one
        that does not fit into a dtype is refused, where a number of NumPy's wraps.
    domain
        Where test samples come from: see ``tests/samples``.
    doc
        What it computes, for users; a sentence may stand in `tracegrad.ops.descriptions` instead.
    """
    spelling = {"numpy": _spelling(numpy), "jax": _spelling(numpy if jax is None else jax, "jnp")}
    record = OpRecord(
        name=name,
        operands=tuple(operands.split()),
        infer=infer,
        spelling=spelling,
        attributes=dict(attributes or {}),
        traits=frozenset(traits),
        identities=identities,
        vjp=vjp,
        jvp=jvp,
        linear=linear,
        sound=sound,
        raises=("" if sound is None else "caught") if raises is None else raises,
        differentiable=vjp is not None if differentiable is None else differentiable,
        needs=dict(needs or {}),
        scratch=scratch,
        doc=doc or WORDS.get(name, ""),
        domain=domain,
        results=tuple(results.split()),
        partial=partial,
        memory=memory,
        batch=batch,
        of_numbers=of_numbers,
    )
    if name in TABLE:
        raise ValueError(f"two ops named {name!r}")
    TABLE[name] = record
    return record


NOT_OF_BFLOAT16 = frozenset({
    *("inv", "solve", "inverted_blocks", "cholesky", "eigh", "eigvalsh", "eig", "eigvals", "svd"),
    *("svdvals", "qr", "slogdet", "pinv", "pinv_beyond", "lstsq", "matrix_rank", "rfft", "irfft"),
    *("rfftn", "irfftn", "ndtr", "log_ndtr", "normal_cdf"),
})  # fmt: skip
"""Ops whose functions of JAX's refuse arrays of bfloat16."""


def through_float32(kernel: Callable[..., Any], dtypes: Sequence[str]) -> Callable[..., Any]:
    """A kernel whose results are rounded to their dtypes, for which NumPy has few functions."""

    def widened(x: Any) -> Any:
        return x.astype(np.float32) if getattr(x, "dtype", None) == BFLOAT16 else x

    def narrowed(x: Any, dtype: str) -> Any:
        return np.asarray(x).astype(dtype)[()] if dtype == BFLOAT16 else x

    def run(*arrays: Any, **attributes: Any) -> Any:
        wide = [
            x.astype(np.float32) if getattr(x, "dtype", None) == BFLOAT16 else x for x in arrays
        ]
        found = kernel(*wide, **attributes)
        if len(dtypes) == 1:
            return narrowed(found, dtypes[0])
        return tuple(map(narrowed, found, dtypes))

    return run


def _spelling(given: str | SpellingOf, module: str = "np") -> SpellingOf:
    if isinstance(given, str):
        return spell(_for_module(given, module))
    if isinstance(given, Spelling) or module == "np":
        return given
    choose = given

    def chosen(attributes: Mapping[str, Any]) -> Spelling:
        found = choose(attributes)
        return spell(_for_module(found.text, module), found.inplace)

    return chosen


def _for_module(text: str, module: str) -> str:
    return text if module == "np" else re.sub(r"\bnp\.", f"{module}.", text)
