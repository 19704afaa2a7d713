"""The eager backward: walks the tape from cotangents to the gradients of leaves.

The recorded nodes are gathered in the order of time and handed to the one walker
(`tracegrad.differentiation.reverse_mode.pullback`). A tape shape met for the first time is computed
at once over plain arrays; met again, its backward is compiled
(`tracegrad.autograd.compiled_backward`). With ``create_graph`` the walker runs over Tensors, so
that what it does is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from os.path import basename
from typing import Any

import numpy as np

from codegen.emit.formatting import formatted
from tracegrad.autograd import compiled_backward
from tracegrad.differentiation.reverse_mode import Pending, pullback, settled
from tracegrad.differentiation.steps import Folded, Step
from tracegrad.errors import BackwardError, NonScalarError, ShapeError
from tracegrad.ops.elementwise.ufuncs import conj
from tracegrad.ops.repeated_cotangents import written_out
from tracegrad.ops.shape.indexing import Scattered
from tracegrad.ops.special_cotangents import Masked, Negated, Replaced
from tracegrad.runtime.array_manners import is_own_leaf
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.hooks import hook_name
from tracegrad.tape.own_leaves import ask_mode, refuse_others
from tracegrad.tape.tape import (
    EMPTY,
    FREED,
    LEAF,
    WRITES,
    Node,
    Output,
    Shape,
    parent_of,
    run_backward,
)
from tracegrad.tape.write_checks import damaged
from tracegrad.tensors.coercion import array_for
from tracegrad.tensors.devices import DeviceArray, move
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tensors.zero_dimensional import as_0d_array
from tracegrad.values.dispatch import is_jax_array, is_number, shape_of


def key_of(tensor: Tensor) -> Any:
    """What names a Tensor on the tape: the leaf itself, or the node (and output) that made it."""
    return key_of_parent(tensor if tensor._node is LEAF or tensor._node is None else tensor._node)


def key_of_parent(parent: Any) -> Any:
    return (parent.node, parent.index) if type(parent) is Output else parent


def node_of(parent: Any) -> Node | None:
    """The node behind a node's parent; None for leaves and constants."""
    if type(parent) is Node:
        return parent
    return parent.node if type(parent) is Output else None


def freed_before() -> BackwardError:
    return BackwardError(
        "cannot backward through the graph a second time: the first backward freed it; "
        "there, keep it with retain_graph=True"
    )


def gather(roots: Sequence[Tensor]) -> list[Node]:
    """The nodes that made the roots, oldest first; raises where a backward has freed one."""
    nodes = left_behind(roots)
    if any(node.more is FREED for node in nodes):
        raise freed_before()
    return nodes


def left_behind(roots: Sequence[Tensor]) -> list[Node]:
    """The nodes that made the roots, oldest first; behind those that were freed there are none."""
    seen = {node for node in (node_of(t._node) for t in roots) if node is not None}
    todo = list(seen)
    while todo:
        node = todo.pop()
        for parent in node.parents:
            above = parent.node if type(parent) is Output else parent
            if type(above) is Node and above not in seen:
                seen.add(above)
                todo.append(above)
    return sorted(seen, key=attrgetter("stamp"))


class Given:
    """The key of an operand that needs no gradient: its value and its place in a trace.

    A condition that several ops read has one key, so that the walker knows it for one.
    """

    __slots__ = ("traced", "value")

    def __init__(self, value: Any, traced: Any) -> None:
        self.value = value
        self.traced = traced


def steps_of(nodes: Sequence[Node]) -> list[Step]:
    """The tape as the walker's steps."""
    steps = []
    conditions: dict[int, Given] = {}
    for node in nodes:
        operands = list(node.parents)
        for i, parent in enumerate(operands):
            if parent is None:
                value = node.values[i]
                given = Given(value, node.traced[0][i] if node.traced else None)
                if getattr(value, "dtype", None) == "bool":
                    same = value if given.traced is None else given.traced[1]
                    given = conditions.setdefault(id(same), given)
                operands[i] = given
            elif type(parent) is Output:
                operands[i] = (parent.node, parent.index)
        kind = Folded if _runs_again(node) else Step
        steps.append(kind(node.op, node.attributes, tuple(operands), results_of(node)))
    return steps


def _runs_again(node: Node) -> bool:
    """Whether the walker goes back through what a node's function does when it runs again.

    A hook of the node is to see what the node gives.
    """
    if not node.op.opaque or (node.more is not None and node.more.get("node")):
        return False
    return getattr(node.attributes.get("function"), "again", None) is not None


def _unfold(tape: Tape, watchers: Watchers, step: Step) -> tuple[Sequence[Step], Sequence[Any]]:
    """What a node's function does when it runs again, from where the node's operands were made."""
    node = node_behind(step.results[0])
    moving = [parent is not None for parent in node.parents]
    leaves, results = node.attributes["function"].again(node.values, moving)
    parents = [parent for parent in node.parents if parent is not None]
    of = dict(zip(leaves, parents, strict=True))
    nodes = gather([x for x in results if isinstance(x, Tensor) and x._node is not None])
    for made in nodes:
        made.parents = tuple([of.get(parent, parent) for parent in made.parents])
    steps = steps_of(nodes)
    watchers.add(nodes)
    for leaf, parent in of.items():
        if leaf._hooks:
            watchers.extras.setdefault(key_of_parent(parent), {}).setdefault("hooks", {})
            watchers.extras[key_of_parent(parent)]["hooks"].update(leaf._hooks)
    if STATE.grad_enabled:  # the tape stays, for what is recorded of it
        tape.made.update(dict.fromkeys(nodes, Tape(nodes)))
    _unfold_in(steps, tape, watchers)
    made_by = [parent_of(x) if isinstance(x, Tensor) else None for x in results]
    return steps, [None if x is None else key_of_parent(of.get(x, x)) for x in made_by]


def _unfold_in(steps: Sequence[Step], tape: Tape, watchers: Watchers) -> None:
    """Tells steps that stand for others how these are made."""
    for step in steps:
        if isinstance(step, Folded):
            step.unfold = partial(_unfold, tape, watchers)


def results_of(node: Node) -> tuple[Any, ...]:
    """The keys of a node's results."""
    if type(node.result) is tuple:
        return tuple((node, i) for i in range(len(node.result)))
    return (node,)


class Tape:
    """Values of keys, as arrays or as Tensors with history.

    An operand's array may be kept by the op that reads it though the op that made it has let go.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.made: dict[Node, Tape] = {}  # by node that was made while this one was walked over

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Arrays that were kept as operands."""
        return {
            key_of_parent(parent): value
            for node in self.nodes
            for parent, value in zip(node.parents, node.values, strict=True)
            if parent is not None and type(value) is not Shape and not is_number(value)
        }

    @cached_property
    def met(self) -> dict[Any, set[Any]]:
        """The values of a trace that ops in it read for what older nodes have made."""
        found: dict[Any, set[Any]] = {}
        for node in self.nodes:
            if not node.traced:
                continue
            for parent, traced in zip(node.parents, node.traced[0], strict=True):
                above = node_of(parent)
                if above is not None and not above.traced and traced is not None:
                    found.setdefault(key_of_parent(parent), set()).add(traced)
        return found

    def _traced(self, key: Any) -> Any:
        """Where a result is in the trace; that of an older node is the Tensor that was read."""
        node, index = (key, 0) if type(key) is Node else key
        if node.traced:
            return node.traced[1][index]
        found = self.met.get(key, ())
        if len(found) > 1:
            STATE.trace.world.ends_run("takes a derivative by Tensors that share a history")
        return next(iter(found), None)

    def arrays_of(self, step: Step) -> tuple[Any, Sequence[Any]]:
        """The result and the operands of a step, as arrays."""
        node = node_behind(step.results[0])
        return node.result, node.values

    def tensors_of(self, step: Step) -> tuple[Any, Sequence[Any]]:
        """The result and the operands of a step, as Tensors with their history."""
        tape = self.made.get(node_behind(step.results[0]), self)
        results = tuple(map(tape.tensor, step.results))
        operands = [*map(tape.tensor, step.operands)]
        return results[0] if len(results) == 1 else results, operands

    def array(self, key: Any) -> Any:
        """The array (or, where only that was kept, the shape) that a key names."""
        if type(key) is Given:
            return key.value
        if type(key) is Tensor:
            return key._array
        found = self.kept.get(key)
        if found is not None:
            return found
        return key.result if type(key) is Node else key[0].result[key[1]]

    def tensor(self, key: Any) -> Any:
        """The Tensor, with its history, that a key names."""
        if type(key) is Tensor:
            return key
        array = self.array(key)
        if type(key) is Given:  # the tape's own: as an array it would be taken for a user's
            own = key.traced is not None or type(array) is np.ndarray
            return wrap(array, key.traced) if own else array
        if type(array) is Shape:
            return array
        tensor = wrap(array, None if STATE.trace is None else self._traced(key))
        tensor._node = key if type(key) is Node else Output(*key)
        return tensor


def node_behind(key: Any) -> Node:
    """The node whose result a key names."""
    return key if type(key) is Node else key[0]


def leaves_of(nodes: Sequence[Node], outputs: Sequence[Tensor]) -> list[Tensor]:
    """The leaves that require grad, in the order in which they are met."""
    met = [*map(parent_of, outputs), *(p for node in nodes for p in node.parents)]
    return list(dict.fromkeys([x for x in met if type(x) is Tensor]))


def gradients(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    inputs: Sequence[Tensor] | None = None,
    create_graph: bool = False,
    nodes: Sequence[Node] | None = None,
) -> dict[Any, Any]:
    """Gradients by key: of `inputs`, or of every leaf that requires grad.

    `nodes` are those of the tape, where they have been gathered. With `create_graph`, or while
    tracing, gradients are Tensors, else arrays. Complex ones are as in mathematics, not as users
    see them: see `conjugate`.
    """
    if not outputs:  # nothing depends on a leaf
        return {}
    nodes = gather(outputs) if nodes is None else nodes
    wanted = leaves_of(nodes, outputs) if inputs is None else [key_of(t) for t in inputs]
    seeds: dict[Any, Any] = {}
    for tensor, ct in zip(outputs, cotangents, strict=True):
        key = key_of(tensor)
        seeds[key] = ct if key not in seeds else seeds[key] + ct
    written = bool(nodes) and nodes[0].stamp < WRITES.last and STATE.trace is None
    changed = written and damaged(nodes)  # raises where a rule reads what was changed
    steps, tape = steps_of(nodes), Tape(nodes)
    if STATE.observer is not None:
        STATE.observer("GraphRoot", lambda: seeds, (), {})
    if STATE.trace is not None:
        STATE.trace.derives(nodes, wanted)
    if create_graph or STATE.trace is not None:
        boxed = {key: ct if type(ct) is Tensor else wrap(ct) for key, ct in seeds.items()}
        before = STATE.update(grad_enabled=True)
        try:
            found = _recorded_pullback(steps, tape, boxed, wanted)
            return found if create_graph else {key: _ended(ct) for key, ct in found.items()}
        finally:
            STATE.update(**before)
    plain = {key: ct._array if type(ct) is Tensor else ct for key, ct in seeds.items()}
    watchers = Watchers(nodes, wanted)
    if watchers.any() or changed or any([type(step) is Folded for step in steps]):
        _unfold_in(steps, tape, watchers)
        before = STATE.update(grad_enabled=False)
        try:
            return compiled_backward.owned(
                pullback(steps, tape.arrays_of, plain, wanted, **watchers.arguments(as_arrays=True))
            )
        finally:
            STATE.update(**before)
    return compiled_backward.run(nodes, steps, tape, plain, wanted)


def _ended(ct: Tensor) -> Tensor:
    """A gradient without history, which may be written to: it shares memory with nothing."""
    ended = ct.detach()
    return wrap(ended._array, ended._traced)


def gradients_of_leaves(output: Tensor, leaves: Sequence[Tensor]) -> list[Any]:
    """Gradients of one number in leaves of its tape, as arrays; None where it does not depend.

    By the compiled backward where one matches, as `backward` does. Complex ones are as in
    mathematics.
    """
    ct = cotangent_for(output, None)
    node = output._node
    if type(node) is Node and not _watched():
        matched = compiled_backward.run_matching(node, conjugate(ct), free=False)
        if matched is not None:
            of = {id(leaf): gradient for leaf, gradient in matched}
            return [conjugate(of[id(leaf)]) if id(leaf) in of else None for leaf in leaves]
    nodes = gather([output])
    every = leaves_of(nodes, [output])  # a matcher is made for all leaves
    wanted = every if set(leaves).issuperset(every) else leaves
    found = gradients([output], [ct], wanted, nodes=nodes)
    return [found.get(leaf) for leaf in leaves]


class Watchers:
    """The hooks along a tape, as what the walker takes."""

    def __init__(self, nodes: Sequence[Node], wanted: Sequence[Any]) -> None:
        self.extras: dict[Any, dict[str, Any]] = {}
        self.node_hooks: dict[Node, dict[int, Callable[..., Any]]] = {}
        self.add(nodes)
        for key in wanted:
            if type(key) is Tensor and key._hooks:
                self.extras[key] = {"hooks": key._hooks}

    def add(self, nodes: Sequence[Node]) -> None:
        """The hooks along a tape besides."""
        for node in nodes:
            if node.more is None:
                continue
            for index, extras in node.more.items():
                if index == "node" and extras:
                    self.node_hooks[node] = extras
                elif isinstance(index, int) and ("retain" in extras or extras.get("hooks")):
                    key = (node, index) if type(node.result) is tuple else node
                    self.extras[key] = extras

    def any(self) -> bool:
        """Whether anything beside the plain backward is to be done."""
        return bool(self.extras or self.node_hooks or STATE.anomaly or STATE.observer)

    def arguments(self, as_arrays: bool) -> dict[str, Any]:
        """Keyword arguments for `pullback`."""
        around = partial(self.around, as_arrays)

        def around_of(step: Step) -> Any:
            hooked = self.node_hooks and node_behind(step.results[0]) in self.node_hooks
            return around if hooked or STATE.anomaly or STATE.observer else None

        done = partial(self.done, as_arrays)
        return {"done": done, "watched": self.extras, "around": around_of}

    def done(self, as_arrays: bool, key: Any, value: Any) -> Any:
        """Shows a finished cotangent to its Tensor's hooks."""
        extras = self.extras.get(key)
        if extras is None:
            return value
        value = written_out(value)
        # In memory of its own: the hook may write into it, or keep it.
        shown = conjugate(wrap(value.copy()) if as_arrays else value)
        for hook in list(extras.get("hooks", {}).values()):
            replaced = hook(shown)
            if replaced is not None:
                shown = replaced if isinstance(replaced, Tensor) else wrap(np.asarray(replaced))
                if shape_of(shown) != shape_of(value):
                    raise BackwardError(
                        f"the hook {hook_name(hook)} returned a gradient of shape "
                        f"{np.shape(shown._array)} for one of shape "
                        f"{np.shape(getattr(value, '_array', value))}"
                    )
        kept = extras["retain"]() if "retain" in extras else None
        if kept is not None:
            kept.grad = shown if kept.grad is None else kept.grad + shown
        shown = conjugate(shown)
        return shown._array if as_arrays else shown

    def around(self, as_arrays: bool, step: Step, ct: Any, compute: Any) -> tuple[Any, ...]:
        """Runs a rule for profilers and anomaly detection, then shows it to the node's hooks."""
        node = node_behind(step.results[0])
        pending = ct if type(ct) is Pending else NOTHING_PENDING
        run = partial(_explained, node, pending, compute) if STATE.anomaly else compute
        given = run() if STATE.observer is None else STATE.observer(node, run, (), {})
        hooks = self.node_hooks.get(node)
        if not hooks:
            return tuple(given)

        def boxed(values: Any) -> tuple[Any, ...]:
            several = values if isinstance(values, tuple) else (values,)
            several = tuple(map(written_out, several))
            tensors = [wrap(v.copy()) if as_arrays and v is not None else v for v in several]
            return tuple(v if v is None else conjugate(v) for v in tensors)

        plain = tuple(_plainly(value, pending) for value in given)
        replaced_by = None
        for hook in list(hooks.values()):
            replaced = hook(boxed(plain), boxed(settled(ct)))
            if replaced is not None:
                several = replaced if isinstance(replaced, tuple) else (replaced,)
                several = tuple(r if r is None else conjugate(r) for r in several)
                plain = tuple(r._array if as_arrays and type(r) is Tensor else r for r in several)
                replaced_by = plain
        if replaced_by is None:
            return tuple(given)
        return tuple(r if r is None else Replaced(r) for r in replaced_by)


NOTHING_PENDING = Pending(None, ())


def _plainly(given: Any, pending: Pending) -> Any:
    """What a rule gave for an operand, as an array, with what was carried past the rule."""
    match given:
        case None:
            return None
        case Masked():
            masks, negative = (*pending.masks, (given.condition, given.keep)), pending.negative
            return settled(Pending(given.ct, masks, negative))
        case Negated():
            return settled(Pending(given.ct, pending.masks, not pending.negative))
        case Scattered():
            given = given.alone()
    return settled(replace(pending, value=given))


def _explained(node: Node, pending: Pending, compute: Any) -> tuple[Any, ...]:
    """The contributions of a rule; what goes wrong in it names the user's forward line.

    Where pending masks will take away what is not a number, nothing is wrong.
    """
    where = (node.more or {}).get("where")
    at = ""
    if where is not None and where.line:
        named = f"  (variable {where.name})" if where.name else ""
        at = f"\n  computed forward at {where.file}:{where.line}  {where.text}{named}"
    try:
        given: tuple[Any, ...] = compute()
    except Exception as error:
        error.add_note(f"in {node.name()}{at}")
        raise
    for index, (value, parent) in enumerate(zip(given, node.parents, strict=True)):
        if parent is None or value is None:
            continue
        array = _array_of(getattr(value, "ct", value))
        if np.isnan(np.sum(array)):
            own = ((value.condition, value.keep),) if type(value) is Masked else ()
            for condition, keep in (*pending.masks, *own):
                branches = (array, 0.0) if keep else (0.0, array)
                array = np.where(_array_of(condition), *branches)
        if np.isnan(np.sum(array)):
            failed = BackwardError(
                f"Function '{node.name()}' returned nan values in its {index}th output{at}"
            )
            if where is not None:
                failed.variable, failed.text = where.name, where.text
                failed.file, failed.line = basename(where.file), where.line
            raise failed
    return given


def _array_of(x: Any) -> Any:
    x = written_out(x)
    return getattr(x, "_array", x)


def _recorded_pullback(
    steps: Sequence[Step], tape: Tape, seeds: dict[Any, Any], wanted: Sequence[Any]
) -> dict[Any, Any]:
    """The walker over Tensors; in a trace its ops stand at the lines of the ops they derive."""
    trace = STATE.trace
    watchers = Watchers(tape.nodes, wanted)
    folded = any([type(step) is Folded for step in steps])
    _unfold_in(steps, tape, watchers)
    watching = watchers.arguments(as_arrays=False) if folded or watchers.any() else {}
    if trace is None:
        return pullback(steps, tape.tensors_of, seeds, wanted, **watching)

    def enter(step: Step) -> None:
        key: Any = step.results[0]
        node, index = (key, 0) if type(key) is Node else key
        if node.traced:
            origin = node.traced[1][index][1].origin
            name = origin.name and f"{origin.name}_bar"
            trace.standing = origin.named(name)

    before = trace.standing
    try:
        return pullback(steps, tape.tensors_of, seeds, wanted, enter, **watching)
    finally:
        trace.standing = before


def cotangent_for(tensor: Tensor, gradient: Any) -> Any:
    """The cotangent given by the user, checked, or 1 for a single number."""
    array = tensor._array
    if gradient is None:
        if np.size(array) != 1:
            raise NonScalarError(
                "grad can be implicitly created only for scalar outputs: a Tensor of shape "
                f"{np.shape(array)} needs its cotangent, gradient=...; or reduce it to one number "
                "with .sum() or .mean()"
            )
        if tensor.is_complex():
            raise NonScalarError(
                f"a {tensor.dtype} number has no gradient of its own, only real ones have: take "
                ".real, .imag or abs() of it, or pass gradient=..."
            )
        one = tensor.dtype.type(1.0)
        ones = np.full(np.shape(array), one) if np.ndim(array) else one
        return move(ones, tensor.device)
    if not isinstance(gradient, Tensor):
        of_jax = is_jax_array(gradient)
        given = array_for(gradient, tensor.dtype) if of_jax else np.asarray(gradient, tensor.dtype)
        gradient = move(given, tensor.device)
    shape = np.shape(getattr(gradient, "_array", gradient))
    if shape != np.shape(array):
        raise ShapeError(f"gradient has shape {shape}, the Tensor has shape {np.shape(array)}")
    if STATE.trace is not None:  # the program holds while they are equal
        for a, b in zip(shape_of(gradient), shape_of(tensor), strict=True):
            STATE.trace.sizes.same(a, b)
    return gradient


@run_backward.by
def backward(
    tensor: Tensor, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False
) -> None:
    """`Tensor.backward`."""
    ask_mode()
    node = tensor._node
    if node is None:
        raise BackwardError(
            "this Tensor does not require grad and does not have a grad_fn: no input of its "
            "computation requires grad (tg.tensor(..., requires_grad=True)), or it was computed "
            "under no_grad"
        )
    if STATE.trace is not None:
        STATE.trace.adds_gradients()
    if STATE.own_leaves is not None:
        refuse_gradients(leaves_of(gather([tensor]), [tensor]))
    ct = cotangent_for(tensor, gradient)
    if type(ct) is Tensor and not create_graph and STATE.trace is None:
        ct = ct._array
    if type(node) is Node and not create_graph and type(ct) is not Tensor and not _watched():
        done = compiled_backward.run_matching(node, ct, free=not retain_graph)
        if done is not None:
            for leaf, array in done:
                _add(leaf, wrap(array))
            return
    nodes = gather([tensor])
    for leaf, value in gradients([tensor], [conjugate(ct)], None, create_graph, nodes).items():
        accumulate(leaf, value)
    if not (retain_graph or create_graph):
        for recorded in nodes:
            free(recorded)


def _watched() -> bool:
    """Whether each step of a backward is to be seen, so that it cannot run as one program."""
    return STATE.special and (
        STATE.trace is not None or STATE.observer is not None or STATE.anomaly
    )


def refuse_gradients(leaves: Sequence[Tensor]) -> None:
    """Raises where a function that a transform runs goes back to leaves from outside."""
    refuse_others(leaves, "backward() adds to gradients")


def accumulate(tensor: Tensor, gradient: Any) -> None:
    """Adds a gradient, as `gradients` gives it, to ``tensor.grad``."""
    new = conjugate(gradient if type(gradient) is Tensor else wrap(gradient))

    if STATE.observer is None:
        _add(tensor, new)
    else:
        STATE.observer("AccumulateGrad", lambda: _add(tensor, new), (), {})


def _add(leaf: Tensor, gradient: Tensor) -> None:
    """Adds to ``grad``, unless the leaf was frozen after the forward: it is asked now."""
    if leaf._node is None:
        return
    before: Any = leaf._grad
    found = gradient if before is None else before + gradient
    leaf._grad = as_0d_array(found) if is_own_leaf(leaf) else found  # `zero_` may write to it


def conjugate(x: Any) -> Any:
    """Between the two conventions of complex gradients; itself when it is real.

    Rules are as in mathematics: the cotangent of x is the row of derivatives. What users see of
    Tensors, and hand in, is its conjugate, the direction of steepest ascent, as in PyTorch.
    """
    return conj(x) if np.iscomplexobj(getattr(x, "_array", x)) else x


def free(node: Node) -> None:
    """Lets go of everything that a node keeps."""
    let_go = getattr(node.attributes.get("function"), "let_go", None)
    if let_go is not None and not let_go():
        return
    node.parents = node.values = ()
    node.result = node.traced = None
    node.more = FREED
    if STATE.trace is not None:
        STATE.trace.let_go.add(node)
    if node.op.opaque:
        node.attributes = EMPTY  # what the user's Python saved


def backward_source(tensor: Tensor) -> str:
    """The source that ``tensor.backward()`` runs, formatted by black.

    Of the result of a function of `tg.compile` it is the source of that call's backward.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> print(tg.backward_source((x * x).sum()).splitlines()[-1].strip())
    return (x0_bar,)
    """
    try:
        nodes = gather([tensor])
    except BackwardError as error:
        raise BackwardError(
            "tg.backward_source has nothing to show: backward() has freed the graph. Ask before "
            "backward(), or call backward(retain_graph=True)"
        ) from error
    steps, tape = steps_of(nodes), Tape(nodes)
    for node in nodes:
        if node.op.opaque:
            return formatted(_source_of_call(node, key_of(tensor), len(nodes)))
    seeds = {key_of(tensor): tensor._array}
    wanted = leaves_of(nodes, [tensor])
    target = "jax" if type(tensor._array) is DeviceArray else "numpy"
    program = compiled_backward.compile_backward(steps, tape.array, seeds, wanted, target).program
    return formatted(program.source.text)


def _source_of_call(node: Node, key: Any, steps: int) -> str:
    """The source of the backward of a call that is all of a tape; raises where there is none."""
    shown = getattr(node.attributes.get("function"), "backward_source", None)
    if shown is None:
        raise BackwardError(
            f"this backward calls your own Python ({node.name()}), so it is not compiled but "
            "runs step by step; functions made by tg.grad have it as a call in their source"
        )
    name, source = shown(0 if type(key) is Node else key[1])
    if steps > 1:
        raise BackwardError(
            f"this backward runs step by step, and the call of the compiled {name} is one of "
            f"{steps} steps: ask for the backward of its result alone, tg.backward_source({name}"
            "(...)) of leaves, or compile the whole function"
        )
    if source is None:
        raise BackwardError(
            f"the backward of {name} from this result alone is no program: it runs the operations "
            "of the call one by one"
        )
    found: str = source
    return found
