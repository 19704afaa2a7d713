"""Who runs a case: from a case come callables without arguments that give a value and gradients.

Peers are imported here alone, and only when asked for. One that is not installed, or that cannot
run a case, raises `Missing` with the reason.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tracegrad as tg
from tests.benchmarks.peers.workload import Case, Library


class Missing(Exception):
    """Why a contestant does not take part."""


@dataclass(frozen=True)
class Contestant:
    """A case made ready: arguments are in the library's own arrays, nothing was called yet."""

    call: Callable[[], Any]
    """Gives the value (None in second order) and the gradients, in the library's own arrays."""
    to_numpy: Callable[[Any], np.ndarray] = np.asarray
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    """What calls are made in: settings of the library."""

    def results(self) -> list[np.ndarray]:
        """What one call gives, as NumPy arrays: the value if there is one, then the gradients."""
        with self.within():
            value, gradients = self.call()
        kept = [x for x in (value, *gradients) if x is not None]
        return [np.array(self.to_numpy(x)) for x in kept]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"{name.partition('.')[0]} is not installed") from error


def _wanted(case: Case) -> tuple[int, ...]:
    return case.workload.wanted


def _softmax_in(np: Any, x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


# -- NumPy by hand ------------------------------------------------------------------------------


def hand(case: Case) -> Contestant:
    inputs = case.inputs()
    return Contestant(lambda: case.workload.by_hand(*inputs))


def tuned(case: Case) -> Contestant:
    return Contestant(case.workload.tuned(*case.inputs()))


# -- tracegrad ----------------------------------------------------------------------------------

TRACEGRAD = Library(
    name="tracegrad",
    np=np,
    logsumexp=lambda x, axis: tg.logsumexp(x, axis=axis),
    softmax=lambda x: tg.special.softmax(x, axis=-1),
    conv2d=lambda x, w: tg.nn.conv2d(x, w, padding=1),
)


def transformed(case: Case) -> Any:
    """The compiled function that is timed, not called yet."""
    loss = case.loss(TRACEGRAD)
    if case.workload.second_order:
        slope = tg.grad(loss)
        return tg.grad(lambda x, direction: np.sum(slope(x) * direction))
    return tg.value_and_grad(loss, argnums=_wanted(case))


def tracegrad(case: Case) -> Contestant:
    compiled, inputs = transformed(case), case.inputs()
    if case.workload.second_order:
        return Contestant(lambda: (None, (compiled(*inputs),)))
    return Contestant(lambda: compiled(*inputs))


@contextmanager
def in_fast_math() -> Iterator[None]:
    """Where tracegrad's calls may round otherwise."""
    before, tg.config.fast_math = tg.config.fast_math, True
    try:
        yield
    finally:
        tg.config.fast_math = before


def fast_math(case: Case) -> Contestant:
    """tracegrad where it may round otherwise, as all of the peers do."""
    return replace(tracegrad(case), within=in_fast_math)


def eager(case: Case) -> Contestant:
    """tracegrad without compiling: `backward` of Tensors."""
    loss, inputs, wanted = case.loss(TRACEGRAD), case.inputs(), _wanted(case)

    def call() -> Any:
        tensors = [
            tg.tensor(x, requires_grad=i in wanted) if x.dtype.kind == "f" else x
            for i, x in enumerate(inputs)
        ]
        leaves = [tensors[i] for i in wanted]
        if case.workload.second_order:
            value = loss(*tensors[:-1])
            (slope,) = tg.autograd.grad(value, leaves, create_graph=True)
            (slope * tensors[-1]).sum().backward()
            return None, [leaf.grad for leaf in leaves]
        value = loss(*tensors)
        value.backward()
        return value.detach(), [leaf.grad for leaf in leaves]

    return Contestant(call, lambda x: x.numpy())


# -- HIPS autograd ------------------------------------------------------------------------------


def _hips_conv2d(anp: Any) -> Callable[[Any, Any], Any]:
    def conv2d(x: Any, w: Any) -> Any:
        n, channels, height, width = x.shape
        padded = anp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "constant")
        shifted = [padded[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        columns = anp.reshape(anp.stack(shifted, axis=2), (n, channels * 9, height * width))
        return anp.reshape(anp.reshape(w, (len(w), -1)) @ columns, (n, len(w), height, width))

    return conv2d


def hips(case: Case) -> Contestant:
    autograd, anp = _import("autograd"), _import("autograd.numpy")
    special = _import("autograd.scipy.special")
    library = Library(
        name="HIPS autograd",
        np=anp,
        logsumexp=lambda x, axis: special.logsumexp(x, axis=axis),
        softmax=lambda x: _softmax_in(anp, x),
        conv2d=_hips_conv2d(anp),
    )
    loss, inputs = case.loss(library), case.inputs()
    if case.workload.second_order:
        slope = autograd.grad(loss)
        product = autograd.grad(lambda x, direction: anp.sum(slope(x) * direction))
        return Contestant(lambda: (None, (product(*inputs),)))
    value_and_grad = autograd.value_and_grad(loss, _wanted(case))
    return Contestant(lambda: value_and_grad(*inputs))


# -- PyTorch ------------------------------------------------------------------------------------


def _torch_case(case: Case, name: str) -> tuple[Any, Any, list[Any]]:
    torch = _import("torch")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))
    library = Library(
        name=name,
        np=torch,
        logsumexp=torch.logsumexp,
        softmax=lambda x: torch.softmax(x, -1),
        conv2d=lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
    )
    wanted = _wanted(case)
    inputs = [
        torch.tensor(x, requires_grad=i in wanted) if x.dtype.kind == "f" else torch.tensor(x)
        for i, x in enumerate(case.inputs())
    ]
    return torch, case.loss(library), inputs


def _torch_call(torch: Any, loss: Any, inputs: list[Any], wanted: tuple[int, ...]) -> Contestant:
    leaves = [inputs[i] for i in wanted]

    def call() -> Any:
        value = loss(*inputs)
        return value.detach(), torch.autograd.grad(value, leaves)

    return Contestant(call, lambda x: x.numpy())


def torch_eager(case: Case) -> Contestant:
    torch, loss, inputs = _torch_case(case, "torch")
    if not case.workload.second_order:
        return _torch_call(torch, loss, inputs, _wanted(case))
    *arguments, direction = inputs

    def call() -> Any:
        (slope,) = torch.autograd.grad(loss(*arguments), arguments, create_graph=True)
        return None, torch.autograd.grad(slope, arguments, direction)

    return Contestant(call, lambda x: x.numpy())


def torch_compile(case: Case) -> Contestant:
    torch, loss, inputs = _torch_case(case, "torch.compile")
    if case.workload.second_order:
        raise Missing("torch.compile has no second order")
    torch._dynamo.reset()  # else versions of other sizes count against its limit
    compiled = torch.compile(loss, dynamic=False, fullgraph=True)
    return _torch_call(torch, compiled, inputs, _wanted(case))


# -- JAX ----------------------------------------------------------------------------------------


def jax_jit(case: Case) -> Contestant:
    jax = _import("jax")
    jax.config.update("jax_enable_x64", True)

    def conv2d(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    library = Library(
        name="jax.jit",
        np=jax.numpy,
        logsumexp=lambda x, axis: jax.nn.logsumexp(x, axis=axis),
        softmax=lambda x: jax.nn.softmax(x, axis=-1),
        conv2d=conv2d,
    )
    loss = case.loss(library)
    inputs = [jax.numpy.asarray(x) for x in case.inputs()]
    if case.workload.second_order:
        product = jax.jit(lambda x, v: jax.jvp(jax.grad(loss), (x,), (v,))[1])
        return Contestant(lambda: (None, (product(*inputs).block_until_ready(),)))
    compiled = jax.jit(jax.value_and_grad(loss, _wanted(case)))
    return Contestant(lambda: jax.block_until_ready(compiled(*inputs)))


MAKERS: dict[str, Callable[[Case], Contestant]] = {
    "tracegrad": tracegrad,
    "fast math": fast_math,
    "tuned": tuned,
    "hand": hand,
    "HIPS autograd": hips,
    "torch": torch_eager,
    "torch.compile": torch_compile,
    "jax.jit": jax_jit,
}

PEERS = ("HIPS autograd", "torch", "torch.compile", "jax.jit")
IN_NUMPY = ("tracegrad", "fast math", "tuned", "hand", "HIPS autograd")
