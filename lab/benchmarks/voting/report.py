"""The targets and whether they are met, and the figure of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import compute_slope
from benchmarks.voting.measure import Result
from benchmarks.voting.systems import FAISS, NUMPY, TABPE, TORCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASES = ("a", "b", "c, N 2k", "c, N 50k", "d")
# By noise and case: the most seconds of a whole run.
NOISE_SECONDS = {"exact": {"a": 0.35, "d": 0.8}, "opendp": {"a": 2.2, "d": 2.2}}
M_SLOPE = 0.7
THREAD_GAIN = 1.6
CATEGORICAL_GAIN = 8.0
TORCH_GAIN = 20.0
IMPORT_SECONDS = 0.4
MEMORY_MB = 250.0


@dataclass(frozen=True)
class Target:
    """A figure and the bound that it should keep.

    Args:
        name: What is measured.
        value: What was measured; None if it was not.
        bound: The target.
        unit: Of both.
        least: Whether the bound is a least value, or a largest one.
    """

    name: str
    value: float | None
    bound: float
    unit: str
    least: bool = True

    @property
    def verdict(self) -> str:
        """`ok`, `BELOW` the bound, or `not run`."""
        if self.value is None:
            return "not run"
        met = self.value >= self.bound if self.least else self.value <= self.bound
        return "ok" if met else "BELOW"

    def plain(self) -> dict[str, Any]:
        """Return what a result file holds."""
        value = None if self.value is None else round(self.value, 3)
        return {**asdict(self), "value": value, "verdict": self.verdict}

    def __str__(self) -> str:
        value = "-" if self.value is None else f"{self.value:.2f}"
        sign = ">=" if self.least else "<="
        return f"{self.name:<50} {value:>8} {sign} {self.bound:>6g} {self.unit:<5} {self.verdict}"


def targets(
    results: Mapping[str, Result],
    growth: Mapping[str, Mapping[str, Mapping[float, float]]],
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    import_time: float,
) -> list[Target]:
    """Return all targets with what was measured."""
    memory = runs["a"]["exact"]["peak_mb"]
    return [
        *_against_rivals(results),
        Target(
            "growth with M in case c", compute_slope(growth["M"][TABPE]), M_SLOPE, "", least=False
        ),
        *_threads(results),
        *_whole_runs(runs),
        Target("import tabpe", import_time, IMPORT_SECONDS, "s", least=False),
        Target("peak memory of a whole run, a", memory, MEMORY_MB, "MB", least=False),
    ]


def _against_rivals(results: Mapping[str, Result]) -> Iterator[Target]:
    for key, result in results.items():
        if key == "u":  # Shown for honesty: no table is like that.
            continue
        worst = min(stage.speedup(FAISS) or 0.0 for stage in result.stages.values())
        yield Target(f"faster than faiss flat, {key}, worse of S and R", worst, 1.0, "x")
    gain = results["d"].stages["R"].speedup(FAISS)
    yield Target("faster than faiss flat, d, R", gain, CATEGORICAL_GAIN, "x")
    for key in CASES:
        gain = results[key].stages["R"].speedup(TORCH)
        yield Target(f"faster than torch topk, {key}, R", gain, TORCH_GAIN, "x")


def _threads(results: Mapping[str, Result]) -> Iterator[Target]:
    for key, result in results.items():
        if result.threads:
            gain = result.threads.gain
            yield Target(f"two threads against one, {key}, R", gain, THREAD_GAIN, "x")


def _whole_runs(runs: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[Target]:
    for key, noises in runs.items():
        for noise, bounds in NOISE_SECONDS.items():
            run = noises.get(noise, {})
            name = f"whole run, {key}, noise {noise}, packages loaded"
            yield Target(name, run.get("later_s"), bounds[key], "s", least=False)


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
        label = f"{name}: M^{compute_slope(points):.2f}"
        axes.loglog(sizes, times, "o-", color=COLOURS[name], label=label)
    axes.set_xlabel("candidates M")
    axes.set_ylabel("ms per pass")
    axes.set_title("Growth in case c", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
