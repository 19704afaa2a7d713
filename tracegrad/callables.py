"""A Python function enters, a callable that runs generated source leaves: choice of versions."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from codegen.ir import Graph, Origin, Value
from tracegrad import config
from tracegrad.differentiate import differentiate
from tracegrad.errors import ArgumentError, RecompileWarning
from tracegrad.guards import MISS, entry
from tracegrad.nested import boxed_leaf, derivative_on_tensors
from tracegrad.partition import backward_graph
from tracegrad.pipeline import compile_graph
from tracegrad.signature import Arguments, bind, defaults_of, is_jax, signature_of
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap
from tracegrad.tree import flatten, map_tree
from tracegrad.version import Transform, Version, check_wanted, make_version


class CacheInfo(NamedTuple):
    """What `Compiled.cache_info` returns."""

    hits: int
    misses: int
    traces: int
    versions: int


class Compiled:
    """A function whose calls run generated source; made by `grad`, `value_and_grad`, `compile`."""

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Transform,
        backend: str | None = None,
        static_argnames: Sequence[str] = (),
    ) -> None:
        if not callable(function):
            raise ArgumentError(f"expected a function, not {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._transform = transform
        self._backend = backend
        names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
        self._static = frozenset(names)
        self._signature = signature_of(function)
        self._defaults = defaults_of(function)
        self._lock = threading.RLock()
        self.clear_cache()

    # -- calling --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and STATE.trace is None:
            for run in self._entries.get(self._target(), ()):
                result = run(args)
                if result is not MISS:
                    self._hits += 1
                    return result
        return self._call(args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Bound(self, instance)

    def _target(self) -> str:
        return self._backend or config.backend

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The general way of a call: any arguments, any structure, first calls."""
        leaves, _ = flatten((args, kwargs))
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            return self._call_on_tensors(args, kwargs, leaves)
        if any(map(is_jax, leaves)):
            return self._call_on_jax(args, kwargs)
        arguments = self._bind(args, kwargs)
        if STATE.trace is not None:  # what it closes over may be part of that trace
            return self._inline(arguments)
        target = self._target()
        if self._given_up:
            return self._eager(arguments)
        found = self._lookup(arguments, target)
        if found is None:
            with self._lock:
                if self._generalise(arguments):
                    arguments = self._bind(args, kwargs)
                found = self._lookup(arguments, target)  # another thread may have been here
                if found is None:
                    self._misses += 1
                    version = self._make(arguments, target, args if not kwargs else None)
                    return self._first(version, arguments)
        self._hits += 1
        return found[1]

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        defaults = defaults_of(self._function)
        if len(defaults) != len(self._defaults) or not all(map(is_, defaults, self._defaults)):
            self._defaults, self._signature = defaults, signature_of(self._function)
        return bind(self._signature, args, kwargs, self._static, frozenset(self._traced_ints))

    def _first(self, version: Version | None, arguments: Arguments) -> Any:
        """The result of the call that a version was made for."""
        if version is None:
            return self._eager(arguments)
        try:
            return version.call(arguments)
        except LookupError as error:  # XLA rounds otherwise than what Python looked at
            if type(error) is not LookupError:
                raise
            return self._eager(arguments)

    def _lookup(self, arguments: Arguments, target: str) -> tuple[Version, Any] | None:
        traced = [leaf.value for leaf in arguments.leaves if leaf.traced]
        for version in reversed(self._versions.get((arguments.key, target), [])):
            if not version.holds([*traced, *version.captured_arrays()]):
                continue
            try:
                return version, version.call(arguments)
            except LookupError as error:
                if type(error) is not LookupError:
                    raise
        return None

    def _make(
        self, arguments: Arguments, target: str, args: tuple[Any, ...] | None
    ) -> Version | None:
        with self._lock:
            if self.cache_info().versions >= config.versions:
                self._given_up = True
                warnings.warn(
                    f"{self.__name__}: {config.versions} versions were compiled and this call "
                    "needs another; the function runs eagerly from here on. Looks at values that "
                    "differ on every call (if, float(), item()) are the usual cause",
                    RecompileWarning,
                    stacklevel=4,
                )
                return None
            version = self._version(arguments, target)
            if version.effect:
                return self._not_kept(version)
            self._versions.setdefault((arguments.key, target), []).append(version)
            if args is not None:
                entries = self._entries.get(target, ())
                self._entries[target] = (entry(version, arguments.values, len(args)), *entries[:7])
            return version

    def _not_kept(self, version: Version) -> Version:
        """A function that changes state of its own: its program serves this one call."""
        self._strikes += 1
        if self._strikes >= 2:  # the first may have filled a cache
            self._given_up = True
            warnings.warn(
                f"{self.__name__} does more than compute: {version.effect} changes when it runs. "
                "It runs eagerly from here on, so that nothing of this is lost; return what is to "
                "be kept instead",
                RecompileWarning,
                stacklevel=5,
            )
        return version

    def _version(self, arguments: Arguments, target: str) -> Version:
        self._traces += 1
        call = self._caller(arguments)
        return make_version(self._function, call, self._transform, arguments, target)

    def _generalise(self, arguments: Arguments) -> bool:
        """An int that differs from call to call is traced like a float from the third value on.

        True when these arguments have such an int: they are to be bound again.
        """
        before = len(self._traced_ints)
        for leaf in arguments.leaves:
            if leaf.kind[0] == "static" and leaf.kind[1] is int:
                place = (leaf.parameter, leaf.path)
                seen = self._ints.setdefault(place, set())
                seen.add(leaf.value)
                if len(seen) >= 3:
                    self._traced_ints.add(place)
        return len(self._traced_ints) > before

    def _caller(self, arguments: Arguments) -> Callable[[Sequence[Any]], Any]:
        """Calls the function with one value a parameter."""

        def call(values: Sequence[Any]) -> Any:
            named = list(zip(arguments.parameters, arguments.keywords, values, strict=True))
            args = [value for _, keyword, value in named if not keyword]
            kwargs = {name: value for name, keyword, value in named if keyword}
            return self._function(*args, **kwargs)

        return call

    # -- other kinds of arguments ---------------------------------------------------------------

    def _call_on_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> Any:
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        recorded = STATE.trace is not None or (
            STATE.grad_enabled and any(t.requires_grad for t in tensors)
        )
        if recorded:
            return self._inline(self._bind(args, kwargs))
        plain_args, plain_kwargs = map_tree(
            lambda leaf: leaf._array if isinstance(leaf, Tensor) else leaf, (args, kwargs)
        )
        result = self(*plain_args, **plain_kwargs)
        return map_tree(
            lambda leaf: wrap(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf, result
        )

    def _call_on_jax(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """JAX arrays in, JAX arrays out; only a trace, or the NumPy backend, reads their values."""
        from tracegrad import jax_backend

        if self._target() == "jax" and STATE.trace is None and not self._given_up:
            arguments = jax_backend.described(self._bind(args, kwargs))
            found = self._lookup(arguments, "jax")
            if found is not None:
                self._hits += 1
                return found[1]
            self._misses += 1
            plain = self._bind(*map_tree(jax_backend.to_numpy, (args, kwargs)))
            version = self._make(plain, "jax", None if kwargs else args)
            try:
                if version is not None:
                    return version.call(arguments)
            except LookupError as error:  # XLA rounds otherwise than what Python looked at
                if type(error) is not LookupError:
                    raise
            result = self._eager(plain)
        else:
            plain_args, plain_kwargs = map_tree(jax_backend.to_numpy, (args, kwargs))
            result = self(*plain_args, **plain_kwargs)
        device = jax_backend.device_of(flatten((args, kwargs))[0])
        return map_tree(lambda leaf: jax_backend.from_numpy(leaf, device), result)

    def _inline(self, arguments: Arguments) -> Any:
        """The call as ordinary recorded ops: inside another trace, or on Tensors with history."""
        call = self._caller(arguments)
        if self._transform.kind == "compile":
            return call(arguments.values)
        return derivative_on_tensors(call, arguments, self._transform, create_graph=True)

    def _eager(self, arguments: Arguments) -> Any:
        """The call without a program: the function runs on Tensors, its backward is cached."""
        call = self._caller(arguments)

        def plain(leaf: Any) -> Any:
            return leaf._array if isinstance(leaf, Tensor) else leaf

        if self._transform.kind == "compile":
            boxed = [map_tree(boxed_leaf, value) for value in arguments.values]
            return map_tree(plain, call(boxed))
        return map_tree(
            plain, derivative_on_tensors(call, arguments, self._transform, create_graph=False)
        )

    # -- looking at it --------------------------------------------------------------------------

    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """The generated source for these arguments, formatted by black.

        part
            ``"all"``, ``"forward"`` (the function's value alone) or ``"backward"`` (from saved
            values and the cotangent of the result to the gradients).
        """
        import black

        version = self._version_for(args, kwargs)
        text = self._part(version, part)
        return black.format_str(text, mode=black.Mode())

    def _part(self, version: Version, part: str) -> str:
        match part:
            case "all":
                return version.program.source.text
            case "forward":
                graph = _named(version.traced, "", "result")
                return compile_graph(graph, version.target).source.text
            case "backward" if self._transform.kind != "compile":
                graph = _backward_part(version, self._transform)
                return compile_graph(graph, version.target).source.text
            case "backward":
                raise ArgumentError(f"{self.__name__} is compiled without a gradient")
        raise ArgumentError(f'part={part!r}: must be "all", "forward" or "backward"')

    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph for these arguments: ``"traced"``, ``"differentiated"`` or ``"optimized"``."""
        version = self._version_for(args, kwargs)
        match stage:
            case "traced":
                return version.traced
            case "differentiated":
                return version.differentiated
            case "optimized":
                return version.program.graph
        raise ArgumentError(f'stage={stage!r}: must be "traced", "differentiated" or "optimized"')

    def _version_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version:
        def plain(leaf: Any) -> Any:
            if is_jax(leaf):
                return np.asarray(leaf)
            return leaf._array if isinstance(leaf, Tensor) else leaf

        args, kwargs = map_tree(plain, (args, kwargs))
        arguments, target = self._bind(args, kwargs), self._target()
        found = self._lookup(arguments, target)
        if found is not None:
            return found[0]
        version = self._make(arguments, target, args if not kwargs else None)
        return version if version is not None else self._version(arguments, target)

    def cache_info(self) -> CacheInfo:
        """Calls that a compiled version answered, calls that needed a new one, traces, versions."""
        versions = sum(map(len, self._versions.values()))
        return CacheInfo(self._hits, self._misses, self._traces, versions)

    def clear_cache(self) -> None:
        """Forgets every compiled version."""
        self._versions: dict[Any, list[Version]] = {}
        self._entries: dict[str, tuple[Callable[..., Any], ...]] = {}
        self._hits = self._misses = self._traces = 0
        self._given_up = False
        self._strikes = 0
        self._ints: dict[Any, set[int]] = {}
        self._traced_ints: set[Any] = set()

    def __repr__(self) -> str:
        return f"<tracegrad.{self._transform.kind} of {self.__name__}>"


class Bound:
    """A `Compiled` looked up on an instance, which becomes the first argument of every call."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        functools.update_wrapper(self, compiled, updated=())
        self._compiled = compiled
        self._instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(self._instance, *args, **kwargs)

    def source(self, *args: Any, part: str = "all", **kwargs: Any) -> str:
        """As `Compiled.source`."""
        return self._compiled.source(self._instance, *args, part=part, **kwargs)

    def graph(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """As `Compiled.graph`."""
        return self._compiled.graph(self._instance, *args, stage=stage, **kwargs)

    def cache_info(self) -> CacheInfo:
        """As `Compiled.cache_info`; versions of all instances are counted together."""
        return self._compiled.cache_info()

    def clear_cache(self) -> None:
        """As `Compiled.clear_cache`."""
        self._compiled.clear_cache()

    def __repr__(self) -> str:
        return f"<bound {self._compiled!r}>"


def _named(graph: Graph, suffix: str, *names: str) -> Graph:
    """The forward graph alone, under the function's own name."""
    frame = graph.frame
    stem = graph.name.removesuffix("_value_and_grad").removesuffix("_grad")
    face = type(frame)(frame.parameters, frame.reads, frame.captures, None, names)
    if len(graph.outputs) == 1:
        face = type(frame)(frame.parameters, frame.reads, frame.captures, "{0}", names)
    return graph.replace(name=stem + suffix, frame=face)


def _backward_part(version: Version, transform: Transform) -> Graph:
    """From saved values and the cotangent of the result to the gradients."""

    forward = version.traced
    output = forward.outputs[0]
    ct = Value(output.type.with_dtype(output.type.dtype), Origin("value_bar", True))
    arguments = version.arguments
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    targets = [forward.inputs[traced.index(leaf)] for leaf in check_wanted(arguments, transform)]
    joint = differentiate(forward, targets, {output: ct}, keep=())
    cut, _ = backward_graph(joint, forward, joint.outputs, (ct,))
    frame = cut.frame
    names = tuple(f"{value.origin.name}_bar" for value in targets)
    returns = "{0}" if len(targets) == 1 else None
    face = type(frame)(frame.parameters, frame.reads, frame.captures, returns, names)
    stem = forward.name.removesuffix("_value_and_grad").removesuffix("_grad")
    return cut.replace(name=f"{stem}_backward", frame=face, about="")
