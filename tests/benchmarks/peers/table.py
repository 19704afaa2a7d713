"""Records come in, a Markdown table goes out."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from tests.benchmarks.peers.contestants import MAKERS
from tests.benchmarks.peers.run import Record

PACKAGES = {"NumPy": "numpy", "PyTorch": "torch", "JAX": "jax", "HIPS autograd": "autograd"}


def conditions(threads: int, rounds: int) -> str:
    """On what the figures were measured."""
    versions = []
    for title, package in PACKAGES.items():
        try:
            versions.append(f"{title} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    python = f"{platform.python_implementation()} {platform.python_version()}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = ", ".join([python, *versions])
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{libraries}; {threads} threads on {cores} cores{load}, up to {rounds} rounds"


ABOUT = """\
# Beside other libraries

Each row is one program. *tracegrad* is the time of a call that gives its value and gradient. The
columns from *fast math* to *jax.jit* are other ways to the same gradient, as multiples of that
time: 10 takes ten times as long, 0.5 half as long. `1e4` is the number of elements, `f32` the
dtype.

- *fast math* is tracegrad with `tg.config.fast_math = True`.
- *hand* is NumPy written by hand, *tuned* the same with `out=` and buffers that are kept between
  calls.
- *memory of tuned* is the peak memory of tracegrad as a multiple of that of *tuned*.
- *first call* is the time of the first call of tracegrad, which compiles.

[Performance](performance.md) says how this is measured and what was learned.
"""


def page(about: str, records: list[Record]) -> str:
    """The table as a page of the documentation: what its columns mean, and where it was made."""
    return f"{ABOUT}\n{about}.\n\n{table(records)}\n"


def time_of(seconds: float) -> str:
    """Three digits in the unit that fits."""
    us = 1e6 * seconds
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"


def times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def table(records: list[Record]) -> str:
    """Time of tracegrad, and of the others as multiples of it (below 1: they are faster)."""
    others = [name for name in MAKERS if name != "tracegrad"]
    lines = [
        f"| value and gradient | tracegrad | {' | '.join(others)} | memory of tuned | first call |",
        f"| --- {'| --: ' * (len(others) + 3)}|",
    ]
    for record in records:
        ratios = [
            times(record["of_tracegrad"][name]) if name in record["of_tracegrad"] else ""
            for name in others
        ]
        of_tuned = record["bytes"]["tracegrad"] / record["bytes"]["tuned"]
        row = [
            record["name"],
            time_of(record["seconds"]["tracegrad"]),
            *ratios,
            f"{of_tuned:.2f}",
            f"{1e3 * record['first']['seconds']:.0f} ms",
        ]
        lines.append(f"| {' | '.join(row)} |")
    missing: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for name, reason in record["missing"].items():
            missing.setdefault((name, reason), []).append(record["name"])
    if missing:
        lines.append("")
    for (name, reason), cases in missing.items():
        where = "" if len(cases) == len(records) else f" ({', '.join(cases)})"
        lines.append(f"- without {name}{where}: {reason}")
    return "\n".join(lines)
