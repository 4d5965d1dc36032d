"""Run the benchmark of the votes. `benchmarks/voting/__init__.py` describes what is measured."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, compute_slope, describe_machine
from benchmarks.voting.cases import CASES, Case, case_c, load
from benchmarks.voting.measure import Bench, Result, Stage, gemm_peak
from benchmarks.voting.report import NOISE_SECONDS, Target, draw, targets
from benchmarks.voting.systems import FAISS, TABPE, TORCH, Rival, available, one_thread
from benchmarks.voting.whole import IMPORTS, measure_import, run_whole

# With both cases c: 1,000 to 100,000 candidates for the voting class.
GROWTH_CASES = ("c, N 2k", "c, N 50k")
MORE_SIZES = (500, 10_000)
LARGE_CASES = ("a", "n 1M", "n 5M")
THREAD_CASES = ("b", "c, N 2k", "c, N 50k")
WHOLE_RUNS = {"a": [*NOISE_SECONDS], "d": [*NOISE_SECONDS]}
Growth = dict[str, dict[str, dict[float, float]]]
START = time.perf_counter()


@dataclass(frozen=True, eq=False)
class Findings:
    """All measurements."""

    machine: dict[str, Any]
    peak: float
    results: dict[str, Result]
    growth: Growth
    runs: dict[str, dict[str, Any]]
    import_time: float

    @property
    def targets(self) -> list[Target]:
        """The targets, with the measurements."""
        return targets(self.results, self.growth, self.runs, self.import_time)

    def plain(self, command: str) -> dict[str, Any]:
        """Return what a result file holds."""
        return {
            "command": command,
            "seconds": round(time.perf_counter() - START, 1),
            "machine": self.machine,
            "sgemm_peak_gflops": round(self.peak, 1),
            "targets": [target.plain() for target in self.targets],
            "cases": {key: result.plain(self.peak) for key, result in self.results.items()},
            "growth": {axis: plain_growth(by) for axis, by in self.growth.items()},
            "whole_runs": self.runs,
            "import_s": round(self.import_time, 4),
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voting", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small smoke run")
    parser.add_argument("--out", type=Path, help="folder for the results")
    arguments = parser.parse_args()
    quick = arguments.quick
    found = measure(quick=quick)
    summarise(found, quick=quick)
    out = arguments.out or (None if quick else RESULTS)
    if out:
        write(found, "python -m benchmarks.voting" + (" --quick" if quick else ""), out)


def measure(*, quick: bool) -> Findings:
    """Measure everything: whole runs first, while this process has loaded little."""
    runs, import_time = whole_runs(quick=quick)
    with one_thread():
        about, before = describe_machine(), gemm_peak()
        say(f"{about['cpu']}, {before:.0f} GFLOP/s in sgemm on one thread")
        rivals = available()
        if TORCH not in {rival.name for rival in rivals}:
            say("torch is not installed, and left out: see benchmarks/voting/__init__.py")
        results = {key: run(case, rivals, quick=quick) for key, case in CASES.items()}
        growth = growths(results, rivals, quick=quick)
        peak = max(before, gemm_peak())
    return Findings(about, peak, results, growth, runs, import_time)


def whole_runs(*, quick: bool) -> tuple[dict[str, dict[str, Any]], float]:
    """Return seconds and memory of whole runs, and of `import tabpe`."""
    import_time = measure_import(1 if quick else IMPORTS)
    say(f"import tabpe: {import_time:.2f} s")
    runs: dict[str, dict[str, Any]] = {}
    for key, noises in {"a": ["exact"]}.items() if quick else WHOLE_RUNS.items():
        runs[key] = {noise: run_whole(key, noise, quick=quick) for noise in noises}
        for noise, found in runs[key].items():
            say(f"whole run of {key}, noise {noise}: {described(found)}")
    return runs, import_time


def described(found: Mapping[str, float]) -> str:
    return "first {first_s:.2f} s, later {later_s:.2f} s, {peak_mb:.0f} MB".format(**found)


def run(case: Case, rivals: Sequence[Rival], *, quick: bool) -> Result:
    """Measure one case, with a line of progress."""
    bench = Bench(load(case.quick() if quick else case), rivals)
    result = bench.run(threads=case.key in THREAD_CASES)
    for name, stage in result.stages.items():
        say(f"{case.key:<9} {name}  {times(stage.timings)}")
        if not result.agreement[name]["tabpe votes equal"]:
            raise SystemExit(f"{case.key}, {name}: our votes differ from those of the reference.")
    return result


def times(timings: Mapping[str, Any]) -> str:
    return "   ".join(
        f"{name} {'~' if timing.share < 1 else ''}{timing.best * 1e3:,.1f} ms"
        for name, timing in timings.items()
    )


def growths(results: Mapping[str, Result], rivals: Sequence[Rival], *, quick: bool) -> Growth:
    """Return the seconds of a pass in the ranking stage, by candidates and by rows."""
    close = [rival for rival in rivals if rival.name == FAISS]
    more = [ranking_stage(case_c(size), close, quick=quick) for size in MORE_SIZES]
    stages = [*more, *(results[key].stages["R"] for key in GROWTH_CASES)]
    stages.sort(key=lambda stage: stage.candidates)
    large = [results[key] for key in LARGE_CASES]
    systems = (TABPE, FAISS)
    return {
        "M": {name: {s.candidates: s.timings[name].best for s in stages} for name in systems},
        "n": {
            name: {result.loaded.count: result.stages["R"].timings[name].best for result in large}
            for name in systems
        },
    }


def ranking_stage(case: Case, rivals: Sequence[Rival], *, quick: bool) -> Stage:
    """Measure nothing but the ranking stage of a case."""
    stage = Bench(load(case.quick() if quick else case), rivals).ranking_stage()
    say(f"{case.key:<9} R  {times(stage.timings)}")
    return stage


def plain_growth(by: Mapping[str, Mapping[float, float]]) -> dict[str, Any]:
    return {
        name: {
            "ms": {f"{size:g}": round(seconds * 1e3, 2) for size, seconds in points.items()},
            "slope": round(compute_slope(points), 3),
        }
        for name, points in by.items()
    }


def summarise(found: Findings, *, quick: bool) -> None:
    print("\n~ did not run in full: extrapolated from a part of the rows")
    print("\npreparation of the rows, and the votes of all rounds of a run")
    for key, result in found.results.items():
        sums = "   ".join(f"{name} {sum(each):.2f} s" for name, each in result.rounds.items())
        print(f"  {key:<9} {result.preparation * 1e3:6.0f} ms   {sums}")
    print("\ngrowth of a pass, ranking stage")
    for axis, by in found.growth.items():
        print(
            f"  {axis}: "
            + ", ".join(f"{name} {compute_slope(each):.2f}" for name, each in by.items())
        )
    print("\ntargets" + (", for which a smoke run is too small" if quick else ""))
    for target in found.targets:
        print(f"  {target}")


def write(found: Findings, command: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "voting.json").write_text(json.dumps(found.plain(command), indent=2) + "\n")
    draw(found.results, found.growth["M"], out / "voting.svg")
    say(f"wrote voting.json and voting.svg into {out}")


def say(line: str) -> None:
    print(f"{time.perf_counter() - START:6.1f} s  {line}", flush=True)


if __name__ == "__main__":
    main()
