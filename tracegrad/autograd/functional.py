"""Derivatives of Tensors by the tape: ``autograd.grad``, ``backward``, ``autograd.functional``.

`vjp`, `jvp`, `jacobian`, `hessian`, `vhp` and `hvp` take a function of Tensors and have PyTorch's
names and signatures. They run the function and derive its tape; the transforms of the same names
under ``tg`` compile both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracegrad.autograd import engine
from tracegrad.autograd.tape_tangents import jacobian as jacobian_of
from tracegrad.autograd.tape_tangents import pushed_forward, tangent_like
from tracegrad.errors import ArgumentError, BackwardError, NonScalarError
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE, call
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.hooks import inner_result, is_inner_result
from tracegrad.tape.own_leaves import ask_mode
from tracegrad.tape.tape import Node
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import FLOATING

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of the (summed) outputs with respect to the inputs; no ``.grad`` is touched.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
    inputs : Tensor or sequence of Tensor
        Leaves, or Tensors that ops made: the backward then goes no further than them.
    grad_outputs : Tensor or sequence, optional
        The cotangent of each output; None for outputs of one element.
    retain_graph : bool, optional
        Keep what the backward reads for another one; default: the value of `create_graph`.
    create_graph : bool
        Record the gradients' own computation, for gradients of gradients.
    allow_unused : bool, optional
        Give None for inputs that the outputs do not depend on; default: only with
        `materialize_grads`.
    materialize_grads : bool
        Give zeros instead of None.

    Raises
    ------
    tg.errors.BackwardError
        An input or no output requires grad, an input is unused, or the graph was freed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> tg.autograd.grad(y.sum(), y)
    (tensor([1., 1.]),)
    """
    ask_mode()
    results, cts = _outputs(outputs, grad_outputs)
    wanted = _tensors("inputs", inputs)
    if not wanted:
        raise BackwardError("grad requires non-empty inputs")
    for i, tensor in enumerate(wanted):
        if not tensor.requires_grad:
            raise BackwardError(
                f"one of the differentiated Tensors does not require grad: inputs[{i}] of shape "
                f"{tensor.shape}; create it with requires_grad=True before the outputs are computed"
            )
    if any(map(is_inner_result, wanted)):
        _refuse_past(results, wanted)
    found = _run(results, cts, wanted, retain_graph, create_graph)
    unused = materialize_grads if allow_unused is None else allow_unused
    gradients: list[Tensor | None] = []
    for i, tensor in enumerate(wanted):
        value = found.get(engine.key_of(tensor))
        if value is not None:
            value = engine.conjugate(value if isinstance(value, Tensor) else wrap(value))
        elif materialize_grads:
            value = wrap(zeros_of(tensor.detach()._array))
        elif not unused:
            raise BackwardError(
                "one of the differentiated Tensors appears to not have been used in the graph: "
                f"inputs[{i}] of shape {tensor.shape}; set allow_unused=True if this is wanted"
            )
        gradients.append(value)
    return tuple(gradients)


def _refuse_past(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raises where a backward would go past one of the inputs, inside of a compiled call."""
    nodes = engine.gather(outputs)
    met = [*(t._node for t in outputs), *(parent for node in nodes for parent in node.parents)]
    for tensor in filter(is_inner_result, inputs):
        own = tensor._node
        others = [x for x in met if type(x) is type(own) and x.node is own.node]
        if any(x.index != own.index for x in others):
            raise inner_result("the gradient in")


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of the (summed) tensors to ``.grad`` of the leaves, or of `inputs` alone.

    Parameters are those of `grad`, with `grad_tensors` for ``grad_outputs``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> tg.autograd.backward([(x * 2).sum(), x.sum()])
    >>> x.grad
    tensor([3., 3.])
    """
    ask_mode()
    results, cts = _outputs(tensors, grad_tensors)
    if inputs is None:
        targets = engine.leaves_of(engine.gather(results), results)
    else:
        targets = _tensors("inputs", inputs)
        if not targets:
            raise BackwardError("inputs of backward() cannot be empty")
        for i, tensor in enumerate(targets):
            if not tensor.requires_grad:
                raise BackwardError(f"inputs[{i}] of backward() does not require grad")
    engine.refuse_gradients(targets)
    found = _run(results, cts, targets, retain_graph, create_graph)
    for tensor in dict.fromkeys(targets):
        value = found.get(engine.key_of(tensor))
        if value is not None:
            engine.accumulate(tensor, value)


def _tensors(name: str, given: Tensors) -> list[Tensor]:
    several = [given] if isinstance(given, Tensor) else list(given)
    for i, tensor in enumerate(several):
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{name}[{i}] is of type {type(tensor).__name__}: pass Tensors")
    return several


def _outputs(outputs: Tensors, cotangents: Any) -> tuple[list[Tensor], list[Any]]:
    """The outputs that require grad and their cotangents; those that do not are passed over."""
    several = _tensors("outputs", outputs)
    if cotangents is None:
        cotangents = [None] * len(several)
    elif isinstance(cotangents, Tensor) or not isinstance(cotangents, Sequence):
        cotangents = [cotangents]
    if len(cotangents) != len(several):
        raise BackwardError(f"got {len(several)} tensors and {len(cotangents)} gradients of them")
    pairs = [(t, ct) for t, ct in zip(several, cotangents, strict=True) if t.requires_grad]
    if len(pairs) < len(several):
        i = next(i for i, t in enumerate(several) if not t.requires_grad)
        raise BackwardError(
            f"element {i} of tensors does not require grad and does not have a grad_fn: no input "
            "of its computation requires grad, or it was computed under no_grad"
        )
    cts = [engine.conjugate(engine.cotangent_for(t, ct)) for t, ct in pairs]
    return several, cts


def _run(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    inputs: Sequence[Tensor],
    retain_graph: bool | None,
    create_graph: bool,
) -> dict[Any, Any]:
    """Gradients by key; lets go of the nodes that ran, unless they are to be kept."""
    keep = create_graph if retain_graph is None else retain_graph
    nodes = engine.gather(outputs)
    found = engine.gradients(outputs, cotangents, inputs, create_graph, nodes)
    if not keep:
        for node in _on_the_way(nodes, inputs):
            engine.free(node)
    return found


def _on_the_way(nodes: Sequence[Node], inputs: Sequence[Tensor]) -> list[Node]:
    """The nodes, oldest first, through which the inputs reach anything."""
    reached = {engine.key_of(tensor) for tensor in inputs}
    found = []
    for node in nodes:
        if any(p is not None and engine.key_of_parent(p) in reached for p in node.parents):
            reached.update(engine.results_of(node))
            found.append(node)
    return found


# -- of functions -------------------------------------------------------------------------------


def vjp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a function and the product of `v` with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes Tensors and returns a Tensor or a tuple of Tensors.
    inputs : Tensor or tuple of Tensor
    v : Tensor or tuple of Tensor, optional
        Like the result; may be left out where that is one number.
    create_graph : bool
        Record the derivatives, for derivatives of them.
    strict : bool
        Raise where a result does not depend on an input, instead of zeros.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.autograd.functional.vjp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    run = _Run(func, inputs, create_graph, strict)
    cts = [engine.cotangent_for(y, ct) for y, ct in zip(run.outputs, run.like_outputs(v))]
    return run.value, run.of_inputs(run.pulled(run.outputs, cts))


def jvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a function and the product of its Jacobian with `v`, in forward mode.

    Parameters as for `vjp`; `v` is like the inputs, and may be left out where those are one number.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.autograd.functional.jvp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    run = _Run(func, inputs, create_graph, strict)
    found = pushed_forward(run.outputs, run.inputs, run.like_inputs(v), create_graph)
    return run.value, run.of_outputs(found)


def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function, of the shape of the result and then that of the input.

    Parameters as for `vjp`. All rows are computed at once, with or without `vectorize`; `strategy`
    is "reverse-mode" or "forward-mode". For several inputs, or results, tuples: of results first.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.autograd.functional.jacobian(lambda x: x * x[0], tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [2., 1.]])
    """
    run = _Run(func, inputs, create_graph, strict)
    mode = _mode(strategy)
    blocks = iter(jacobian_of(run.outputs, run.inputs, mode, False, create_graph))
    rows = [run.of_inputs([next(blocks) for _ in run.inputs]) for _ in run.outputs]
    return rows[0] if run.single_output else tuple(rows)


def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function of one number: for several inputs a tuple of tuples.

    Parameters as for `jacobian`; it is computed in forward mode over reverse mode in any case.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, tg.tensor([1.0, 2.0]))
    tensor([[0., 4.],
            [4., 2.]])
    """
    _mode(outer_jacobian_strategy)
    run = _Run(func, inputs, create_graph, strict)
    run.require_number("hessian")
    blocks = iter(jacobian_of(run.outputs, run.inputs, "forward", True, create_graph))
    rows = [run.of_inputs([next(blocks) for _ in run.inputs]) for _ in run.inputs]
    return rows[0] if run.single_input else tuple(rows)


def hvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a function of one number, and the product of its Hessian with `v`.

    Parameters as for `jvp`. Forward mode over reverse mode.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x, v = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 1.0])
    >>> tg.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([ 6., 12.]))
    """
    run = _Run(func, inputs, create_graph, strict)
    run.require_number("hvp")
    ones = [engine.cotangent_for(run.outputs[0], None)]
    gradients = run.pulled(run.outputs, ones, record=True)
    found = pushed_forward(gradients, run.inputs, run.like_inputs(v), create_graph)
    return run.value, run.of_inputs(found)


def vhp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The value of a function of one number, and the product of `v` with its Hessian.

    The Hessian is symmetric: it is that of `hvp`.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x, v = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 1.0])
    >>> tg.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return hvp(func, inputs, v, create_graph, strict)


def _mode(strategy: str) -> str:
    modes = {"reverse-mode": "reverse", "forward-mode": "forward"}
    if strategy not in modes:
        raise ArgumentError(f'strategy={strategy!r}: must be "reverse-mode" or "forward-mode"')
    return modes[strategy]


class _Run:
    """A function that was run on inputs of its own."""

    def __init__(
        self, func: Callable[..., Any], inputs: Tensors, create_graph: bool, strict: bool
    ) -> None:
        self.create_graph, self.strict = create_graph, strict
        self.single_input = isinstance(inputs, Tensor)
        self.inputs = [self._input(x) for x in _tensors("inputs", inputs)]
        before = STATE.update(grad_enabled=True)
        try:
            returned = call(func, self.inputs, {})
        finally:
            STATE.update(**before)
        self.single_output = isinstance(returned, Tensor)
        if not isinstance(returned, Tensor | tuple | list):
            raise ArgumentError(
                f"the function returned {type(returned).__name__}: it must return a Tensor or a "
                "tuple of Tensors"
            )
        self.outputs = _tensors("outputs of the function", returned)
        for i, y in enumerate(self.outputs):
            if y.dtype.kind not in FLOATING:
                raise ArgumentError(
                    f"output {i} of the function has dtype {y.dtype}: no derivative"
                )
            if strict and not y.requires_grad:
                raise BackwardError(f"output {i} of the function does not depend on the inputs")

    def _input(self, x: Tensor) -> Tensor:
        if x.dtype.kind not in FLOATING:
            raise ArgumentError(f"an input has dtype {x.dtype}: derivatives need floating point")
        if self.create_graph and x.requires_grad:
            same: Tensor = alias(x)
            return same
        leaf = wrap(x._array, x._traced if STATE.trace is None else STATE.trace.traced(x))
        start_history(leaf)
        return leaf

    @property
    def value(self) -> Any:
        """What the function returned."""
        values = [y if self.create_graph else y.detach() for y in self.outputs]
        return values[0] if self.single_output else tuple(values)

    def require_number(self, name: str) -> None:
        """Raises unless the function returned one real number."""
        if not self.single_output or self.outputs[0].size != 1 or self.outputs[0].is_complex():
            raise NonScalarError(f"{name}: the function must return one real number")

    def like_inputs(self, v: Any) -> list[Tensor]:
        """The tangents of the inputs that were given."""
        if v is None:
            if len(self.inputs) > 1 or self.inputs[0].size != 1:
                raise ArgumentError("v may be left out for one input of one element alone")
            v = wrap(self.inputs[0]._array * 0 + 1)
        several = [v] if isinstance(v, Tensor) else list(v)
        if len(several) != len(self.inputs):
            raise ArgumentError(f"v has {len(several)} Tensors for {len(self.inputs)} inputs")
        return [tangent_like(t, x) for t, x in zip(several, self.inputs, strict=True)]

    def like_outputs(self, v: Any) -> list[Any]:
        """The cotangents of the outputs that were given."""
        several = [v] if v is None or isinstance(v, Tensor) else list(v)
        if len(several) != len(self.outputs):
            raise ArgumentError(f"v has {len(several)} Tensors for {len(self.outputs)} outputs")
        return several

    def pulled(
        self, outputs: Sequence[Tensor], cts: Sequence[Any], record: bool = False
    ) -> list[Any]:
        """Cotangents of the inputs; zeros of those that the outputs do not depend on."""
        pairs = [(y, engine.conjugate(ct)) for y, ct in zip(outputs, cts) if y.requires_grad]
        found = engine.gradients(
            [y for y, _ in pairs], [ct for _, ct in pairs], self.inputs, self.create_graph or record
        )
        cotangents = []
        for i, x in enumerate(self.inputs):
            ct = found.get(engine.key_of(x))
            if ct is None and self.strict:
                raise BackwardError(f"the outputs do not depend on input {i}")
            ct = zeros_of(x.detach()) if ct is None else ct
            cotangents.append(engine.conjugate(ct if isinstance(ct, Tensor) else wrap(ct)))
        return cotangents

    def of_inputs(self, parts: Sequence[Any]) -> Any:
        """One for each input, as those were given."""
        given = [self._shown(part) for part in parts]
        return given[0] if self.single_input else tuple(given)

    def of_outputs(self, parts: Sequence[Any]) -> Any:
        """One for each output, as those were returned."""
        given = [self._shown(part) for part in parts]
        return given[0] if self.single_output else tuple(given)

    def _shown(self, part: Tensor) -> Tensor:
        return part if self.create_graph else part.detach()
