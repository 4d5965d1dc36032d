"""What was hoped for, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.voting.rivals import FAISS, TABPE, TORCH
from benchmarks.voting.stages import Result

CASES = ("a", "b", "c, N 2k", "c, N 50k", "d")
NOISE_SECONDS = {"opendp": 2.2, "table": 0.8}
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
        bound: What is hoped for.
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
        """`ok`, `BELOW` what was hoped for, or `not run`."""
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


def slope(points: Mapping[float, float]) -> float:
    """Return the exponent of a power law through the points, by least squares of the logarithms.

    Example:
        >>> round(slope({1: 3.0, 10: 30.0, 100: 300.0}), 6)
        1.0
    """
    sizes, values = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(sizes, values, 1)[0])


def targets(
    results: Mapping[str, Result],
    growth: Mapping[str, Mapping[str, Mapping[float, float]]],
    runs: Mapping[str, Mapping[str, Mapping[str, float] | None]],
    import_time: float,
) -> list[Target]:
    """Return all targets with what was measured."""
    memory = (runs["a"]["opendp"] or {}).get("peak_mb")
    return [
        *_against_rivals(results),
        Target("growth with M in case c", slope(growth["M"][TABPE]), M_SLOPE, "", least=False),
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


def _whole_runs(runs: Mapping[str, Mapping[str, Mapping[str, float] | None]]) -> Iterator[Target]:
    for key, noises in runs.items():
        for noise, bound in NOISE_SECONDS.items():
            run = noises.get(noise) or {}
            name = f"whole run, {key}, noise {noise}"
            yield Target(f"{name}, packages loaded", run.get("later_s"), bound, "s", least=False)
