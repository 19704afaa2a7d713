"""Records come in, a picture goes out: one row a case, one dot a contestant, time of tracegrad's.

The axis is logarithmic; what stands right of the line at 1 is slower than tracegrad.
"""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.peers.run import Record

STYLE = {  # marker, colour (Okabe and Ito's, which most colour-blind eyes tell apart), size
    "fast math": ("o", "#cc79a7", 5.5),
    "tuned": ("D", "#000000", 5.5),
    "hand": ("D", "#9a9a9a", 5.0),
    "HIPS autograd": ("o", "#0072b2", 6.5),
    "torch": ("s", "#d55e00", 6.0),
    "torch.compile": ("^", "#e69f00", 7.0),
    "jax.jit": ("o", "#009e73", 6.5),
}
LABELS = {
    "fast math": "with fast math",
    "tuned": "NumPy tuned by hand",
    "hand": "NumPy by hand",
    "torch": "PyTorch",
}
GRID, INK, QUIET = "#e4e4e4", "#222222", "#6f6f6f"
GAP = 0.75  # rows between two workloads


def _rows(records: list[Record]) -> list[float]:
    """The height of each record's row, workloads set apart."""
    heights, at, before = [], 0.0, None
    for record in records:
        family = record["workload"].split()[0]
        if before not in (None, family):
            at += GAP
        heights.append(at)
        at, before = at + 1.0, family
    return heights


def plot(records: list[Record], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "peers", "font.family": "DejaVu Sans"})
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    rows = _rows(records)
    figure, axes = pyplot.subplots(figsize=(9.4, 1.35 + 0.245 * (rows[-1] + 1)))
    ratios = [r for record in records for r in record["of_tracegrad"].values()]
    low, high = min(0.25, *ratios) / 1.15, max(8.0, *ratios) * 1.15
    axes.axvspan(low, 1.0, color="#f6f1ea", linewidth=0, zorder=0)
    axes.axvline(1.0, color=INK, linewidth=1.4, zorder=2)
    for record, row in zip(records, rows):
        found = {n: r for n, r in record["of_tracegrad"].items() if n in STYLE}
        axes.plot([min(found.values()), max(found.values())], [row, row], color=GRID, zorder=1)
        for name, ratio in reversed(found.items()):
            marker, colour, size = STYLE[name]
            axes.plot(
                ratio,
                row,
                marker,
                color=colour,
                markersize=size,
                markeredgecolor="white",
                markeredgewidth=0.7,
                zorder=5 if name == "tuned" else 4,
            )
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(rows[-1] + 0.8, -0.8)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low < t < high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}x"))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_yticks(rows, [record["name"] for record in records])
    axes.tick_params(length=0, labelsize=9, colors=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    _times(axes, records, rows)
    _words(
        figure, axes, [name for name in STYLE if any(name in r["of_tracegrad"] for r in records)]
    )
    figure.savefig(path, bbox_inches="tight", pad_inches=0.15, metadata={"Date": None}, dpi=130)
    pyplot.close(figure)


def _times(axes, records: list[Record], rows: list[float]) -> None:
    """tracegrad's own times, at the right edge."""
    from tests.benchmarks.peers.table import time_of

    place = axes.get_yaxis_transform()
    for record, row in zip(records, rows):
        shown = time_of(record["seconds"]["tracegrad"]).replace("us", "µs")
        axes.text(1.085, row, shown, transform=place, ha="right", va="center", fontsize=8.5)
    axes.text(
        1.085, -0.95, "tracegrad", transform=place, ha="right", va="bottom", fontsize=8.5
    ).set_fontweight("bold")


def _words(figure, axes, names: list[str]) -> None:
    """The legend, and what the two sides mean."""
    from matplotlib.lines import Line2D

    handles = []
    for name in names:
        marker, colour, size = STYLE[name]
        handles.append(
            Line2D(
                [],
                [],
                marker=marker,
                color=colour,
                markersize=size,
                linestyle="",
                markeredgecolor="white",
                label=LABELS.get(name, name),
            )
        )
    figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        bbox_transform=axes.transAxes,
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        handletextpad=0.2,
        columnspacing=1.3,
        borderaxespad=2.6,
    )
    place = axes.get_xaxis_transform()
    axes.annotate(
        "slower than tracegrad →",
        (1.0, 1.0),
        (6, 3),
        xycoords=place,
        textcoords="offset points",
        ha="left",
        fontsize=8.5,
        color=QUIET,
    )
    axes.annotate(
        "← faster",
        (1.0, 1.0),
        (-6, 3),
        xycoords=place,
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color=QUIET,
    )
    axes.set_xlabel(
        "time for value and gradient, as a multiple of tracegrad's", fontsize=9, color=INK
    )
