"""The command line: ``python -m tracegrad --help``.

Exit codes: 0; 1 for errors of the user's code or arguments, said in one line; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import math
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from codegen import TARGETS
from tracegrad import config
from tracegrad.backends import kernel_cache
from tracegrad.errors import TracegradError
from tracegrad.execution import pipeline
from tracegrad.tensors.devices import found
from tracegrad.transforms.compiled_callable import Bound, Compiled
from tracegrad.transforms.load import module_of
from tracegrad.transforms.public import compile, grad, value_and_grad

TRANSFORMS = {"value_and_grad": value_and_grad, "grad": grad, "compile": compile}
EXAMPLES = """
examples:
  python -m tracegrad show model.py:loss --args "np.ones((3, 4)), 2.0"
  python -m tracegrad show model.py:loss --args "w, x=np.ones(3)" --part backward
  python -m tracegrad info
"""


class CommandError(Exception):
    """What is wrong with a call of the command line, in one line."""


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="python -m tracegrad",
        description="Look at the Python source that tracegrad generates.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    show = commands.add_parser(
        "show",
        help="print the source generated for a function and arguments",
        description="Print the source generated for a function and arguments.",
    )
    show.add_argument("target", metavar="FILE.py:FUNCTION", help="FUNCTION may be Class.method")
    show.add_argument(
        "--args",
        default="",
        help='what to call it with, as Python: "np.ones((3, 4)), rate=2.0"; names of FILE.py, np, '
        "math and tg are known",
    )
    show.add_argument("--part", choices=["all", "forward", "backward"], default="all")
    show.add_argument("--backend", choices=list(TARGETS), help="default: the function's own")
    show.add_argument(
        "--transform",
        choices=list(TRANSFORMS),
        help="of a plain function; default: value_and_grad",
    )
    show.add_argument(
        "--argnums",
        type=_numbers,
        help="what a plain function is differentiated by: 0 (default; 1 for a method) or 0,2",
    )
    show.add_argument("--html", metavar="OUT.html", help="write a report instead")
    cache = commands.add_parser(
        "cache",
        help="say what is cached",
        description="Programs are cached in the memory of the process that compiled them; the "
        'machine code of kernels (backend="numba" and "auto") is cached on disk.',
    )
    cache.add_argument("action", choices=["info", "clear"], nargs="?", default="info")
    commands.add_parser("info", help="print versions, backends and devices")
    return top


def _numbers(text: str) -> int | tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    return numbers[0] if len(numbers) == 1 else numbers


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    options = parser().parse_args(words)
    if options.version:
        print(f"tracegrad {sys.modules['tracegrad'].__version__}")
        return 0
    if options.command is None:
        parser().error("a COMMAND is needed: show, cache or info; --help shows examples")
    try:
        match options.command:
            case "show":
                _show(options)
            case "cache":
                _cache(options.action)
            case "info":
                _info()
        sys.stdout.flush()
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, head or less, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


# -- show -----------------------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> None:
    file, separator, name = options.target.rpartition(":")
    if not separator or not file.endswith(".py") or not name:
        parser().error(f"{options.target!r} is not FILE.py:FUNCTION")
    path = Path(file)
    if not path.is_file():
        raise CommandError(f"there is no file {file}")
    if options.backend:
        config.backend = options.backend
    module = _said(f"{file} cannot be imported", path, lambda: module_of(path))
    f = _callable(module, name, file, options)
    args, kwargs = _arguments(options.args, vars(module))
    needed = f.__func__._needed - 1 if isinstance(f, Bound) else f._needed
    if needed and not (args or kwargs):
        raise CommandError(f'{name} needs {needed} argument{"s" * (needed > 1)}: pass --args "..."')
    call = f"{name}({options.args})"
    if options.html:
        _report(f, options.html, call, path, args, kwargs)
        return
    print(
        _said(call, path, lambda: f.source(*args, part=options.part, **kwargs)),
        end="",
    )


def _callable(module: Any, name: str, file: str, options: argparse.Namespace) -> Any:
    """The function, compiled if it is not, for the backend that was asked for."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        known = [n for n, v in vars(module).items() if callable(v) and _of_file(v, file)]
        there = f"; there are {', '.join(known)}" if known else ""
        raise CommandError(f"{file} has no {name}{there}")
    if isinstance(found, Bound):
        return found
    if not callable(found):
        raise CommandError(f"{file}:{name} is of type {type(found).__name__}, and no function")
    if not isinstance(found, Compiled):
        transform = TRANSFORMS[options.transform or "value_and_grad"]
        first = 1 if inspect.isfunction(found) and _is_method(found) else 0  # not by self
        argnums = first if options.argnums is None else options.argnums
        more: dict[str, Any] = {"argnums": argnums} if transform is not compile else {}
        return transform(found, backend=options.backend, **more)
    for word in ("transform", "argnums"):
        if getattr(options, word) is not None:
            raise CommandError(f"{name} is {found!r} already: leave --{word} out")
    if options.backend and options.backend != (found._backend or options.backend):
        return Compiled(found._function, found._transform, options.backend, tuple(found._static))
    return found


def _is_method(function: Any) -> bool:
    """Whether a function was looked up on its class: its first argument is an object."""
    names = list(inspect.signature(function).parameters)
    inner = function.__qualname__.rpartition(".")[0]
    return bool(names) and names[0] in ("self", "cls") and not inner.endswith("<locals>")


def _of_file(value: Any, file: str) -> bool:
    function = value._function if isinstance(value, Compiled) else value
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and os.path.realpath(code.co_filename) == os.path.realpath(
        file
    )


def _arguments(text: str, names: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the text of a call's arguments gives."""

    def take(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    scope = {"np": np, "math": math, "tg": sys.modules["tracegrad"], **names, "_take": take}
    try:
        return eval(f"_take({text}\n)", scope)  # type: ignore[no-any-return]
    except Exception as error:
        raise CommandError(f"--args {text!r}: {_one_line(error)}") from None


def _report(
    f: Any, out: str, call: str, path: Path, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    draw = getattr(f, "draw", None)
    if draw is None:
        raise CommandError("--html needs .draw, which this version of tracegrad does not have")
    folder = Path(out).parent
    if not folder.is_dir():
        raise CommandError(f"--html {out}: there is no folder {folder}")
    if Path(out).suffix != ".html":
        raise CommandError(f"--html {out}: the name must end in .html")
    _said(call, path, lambda: draw(out, *args, **kwargs))
    print(out)


def _said(what: str, path: Path, run: Any) -> Any:
    """The result of the user's code; its exception as one line that says where."""
    try:
        return run()
    except (KeyboardInterrupt, CommandError):
        raise
    except BaseException as error:
        place, trace = "", error.__traceback__
        while trace is not None:
            if os.path.realpath(trace.tb_frame.f_code.co_filename) == os.path.realpath(path):
                place = f" (at {path.name}:{trace.tb_lineno})"
            trace = trace.tb_next
        kind = "" if isinstance(error, TracegradError) else f"{type(error).__name__}: "
        message = _message(error)
        known = place.strip(" ()").removeprefix("at ") in message
        raise CommandError(f"{what}: {kind}{message}{'' if known else place}") from None


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_message(error)}"


def _message(error: BaseException) -> str:
    return " ".join(str(error).split())


# -- cache and info -------------------------------------------------------------------------------


def _cache(action: str) -> None:
    programs = len(pipeline._PROGRAMS)
    if action == "clear":
        pipeline.forget()
        print(f"cleared: {kernel_cache.clear()} kernels on disk")
        return
    files = kernel_cache.files()
    kernels = sum(path.suffix == ".py" for path in files)
    size = sum(path.stat().st_size for path in files)
    print(f"on disk: {kernels} kernels, {size} bytes ({kernel_cache.directory()})")
    print(f"in this process: {programs} programs, of at most {pipeline._LIMIT}")
    print("of one function: f.cache_info(), f.explain(); f.clear_cache() forgets")


def _info() -> None:
    version = sys.modules["tracegrad"].__version__
    print(f"tracegrad  {version}  ({Path(__file__).parent})")
    print(f"python     {platform.python_version()}  ({sys.executable})")
    for name in ("numpy", "jax", "jaxlib", "numba", "scipy", "black"):
        try:
            print(f"{name:<10} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{name:<10} not installed")
    print(f"backend    {config.backend}")
    print(f"devices    {found()}")


if __name__ == "__main__":
    raise SystemExit(main())
