"""The picture: time per pass by case, and growth with the number of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.voting.rivals import FAISS, NUMPY, TABPE, TORCH
from benchmarks.voting.stages import Result
from benchmarks.voting.targets import slope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {TABPE: "#d1495b", FAISS: "#00798c", NUMPY: "#8d96a3", TORCH: "#edae49"}
LABELS = {TORCH: "torch cdist + topk (paper's authors)"}
BAR = 0.2


def draw(
    results: Mapping[str, Result], growth: Mapping[str, Mapping[float, float]], path: Path
) -> None:
    """Write the picture to a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {
        "svg.hashsalt": "tabpe",
        "svg.fonttype": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 4.6), width_ratios=(2.2, 1), layout="constrained"
    )
    _bars(left, results)
    _growth(right, growth)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _bars(axes: Axes, results: Mapping[str, Result]) -> None:
    places = np.arange(len(results))
    for offset, (name, colour) in enumerate(COLOURS.items()):
        timings = [result.stages["R"].timings.get(name) for result in results.values()]
        drawn = axes.bar(
            places + (offset - 1.5) * BAR,
            [timing.best * 1e3 if timing else np.nan for timing in timings],
            BAR,
            color=colour,
            label=LABELS.get(name, name),
        )
        for bar, timing in zip(drawn, timings, strict=True):
            if timing and timing.share < 1:
                bar.set(hatch="///", edgecolor="white", linewidth=0)
    axes.set_yscale("log")
    axes.set_xticks(places, [_caption(key, result) for key, result in results.items()], fontsize=8)
    axes.set_ylabel("ms per pass, one thread")
    axes.set_title("One vote of all rows, ranking stage (hatched: extrapolated)", fontsize=10)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def _caption(key: str, result: Result) -> str:
    rows = result.loaded.rows[0]
    numbers, categories = rows.numbers.shape[1], rows.codes.shape[1]
    columns = f"{numbers} num" + (f" + {categories} cat" if categories else "")
    candidates = result.stages["R"].candidates
    return f"{key}\n{_short(result.loaded.count)} rows\n{columns}\nM {_short(candidates)}"


def _short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:g}"


def _growth(axes: Axes, growth: Mapping[str, Mapping[float, float]]) -> None:
    for name, points in growth.items():
        sizes, times = list(points), [seconds * 1e3 for seconds in points.values()]
        label = f"{name}: M^{slope(points):.2f}"
        axes.loglog(sizes, times, "o-", color=COLOURS[name], label=label)
    axes.set_xlabel("candidates M")
    axes.set_ylabel("ms per pass")
    axes.set_title("Growth in case c", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
