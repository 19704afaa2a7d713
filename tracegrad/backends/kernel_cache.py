"""Keeps the source of kernels in files, beside which numba keeps machine code.

The files lie in ``$TRACEGRAD_CACHE_DIR``, else in ``tracegrad`` in the user's cache directory. A
name is a digest of what machine code depends on: source, the versions of Python, NumPy, numba and
llvmlite, the processor, and the functions that kernels call. So no file is ever out of date.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import os
import platform
import tempfile
from functools import cache
from pathlib import Path

from tracegrad.backends import numba_functions, ufunc_pointers


def directory() -> Path:
    """Where the files lie."""
    chosen = os.environ.get("TRACEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tracegrad"


def file_of(text: str) -> Path | None:
    """The file of a kernel, which is written where it is not there; None where that cannot be."""
    path = _path(text)
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, path)
    except OSError:
        return None
    return path


def has(text: str) -> bool:
    """Whether there is machine code of a kernel."""
    path = _path(text)
    return any(path.parent.glob(f"__pycache__/{path.stem}.*.nbc"))


def _path(text: str) -> Path:
    key = hashlib.blake2s(f"{_surroundings()}\n{text}".encode(), digest_size=12).hexdigest()
    return directory() / f"tracegrad_kernel_{key}.py"


@cache
def _surroundings() -> str:
    """What machine code depends on beside its source."""
    from llvmlite import binding

    versions = [importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite")]
    sources = "".join(map(inspect.getsource, (numba_functions, ufunc_pointers)))
    digest = hashlib.blake2s(sources.encode()).hexdigest()
    processor = (platform.machine(), binding.get_host_cpu_name())
    return repr((platform.python_version(), *versions, *processor, digest))


def files() -> list[Path]:
    """All files of the cache: sources, and machine code."""
    of = directory()
    return sorted(
        [*of.glob("tracegrad_kernel_*.py"), *of.glob("__pycache__/tracegrad_kernel_*.nb[ci]")]
    )


def clear() -> int:
    """Deletes all of them; how many kernels that were."""
    every = files()
    for path in every:
        path.unlink(missing_ok=True)
    return sum(path.suffix == ".py" for path in every)
