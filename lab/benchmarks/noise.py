"""Exact noise against OpenDP per draw, and the part of noise in whole runs.

    python -m benchmarks.noise [--rows 35000] [--repeats 5] [--out FILE]

- Per draw: `ExactNoise` and `OpenDPNoise` in turns, the least processor time of each. The sigmas
  are those of votes in a round, of a longer run, and of users (2^14 times 14).
- Per choice: the same for the exponential mechanism, by the number of options.
- Whole runs: the processor time that the noise of a run takes, as a part of that of the run, with
  one row as the unit of privacy and with users, on the simulated table of `strategies`. `AIM` is
  there because it chooses.

Times are of the processor, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import EPSILON, make_parser, run_fastest, write_record
from benchmarks.strategies import NUMBERS, TUNED
from benchmarks.voting.cases import Table, simulate_table
from tabpe import TabPE
from tabpe.accounting import ExactNoise, OpenDPNoise
from tabpe.baselines import AIM, Baseline
from tabpe.evolution import PRESETS

USUAL = 35_000
# By sigma, how many times faster than OpenDP a draw should be.
GOALS = {14.0: 200.0, 30.0: 200.0, 230_000.0: 50.0}
OPTIONS = (10, 1000, 100_000)
DRAWS, OPENDP_DRAWS = 1_000_000, 20_000
CHOICES = 200
LARGEST_SHARE = 0.05
ROWS_A_USER = 2
DELTA = 1e-6


@dataclass
class TimedNoise:
    """Exact noise that adds up the processor time it takes.

    Args:
        seconds: The time so far, of all threads that drew.
        drawn: The number of draws.
    """

    name = ExactNoise.name
    private = True
    seconds: float = 0.0
    drawn: int = 0
    source: ExactNoise = field(default_factory=ExactNoise)

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return `size` draws."""
        start = time.thread_time()
        found = self.source.draw(size, sigma)
        self.seconds += time.thread_time() - start
        self.drawn += size
        return found

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return an index, with probability proportional to exp(score / scale)."""
        start = time.thread_time()
        found = self.source.choose(scores, scale)
        self.seconds += time.thread_time() - start
        return found


def compare_draws(sigma: float, repeats: int) -> dict[str, float]:
    """Return nanoseconds per draw of both sources, and their ratio."""
    ours, theirs = ExactNoise(), OpenDPNoise()
    for source in (ours, theirs):
        source.draw(1, sigma)  # Tables and mechanisms are made once a sigma.
    timed = run_fastest(
        [lambda: ours.draw(DRAWS, sigma), lambda: theirs.draw(OPENDP_DRAWS, sigma)], repeats
    )
    return _compare(timed, (DRAWS, OPENDP_DRAWS))


def compare_choices(options: int, repeats: int) -> dict[str, float]:
    """Return nanoseconds per choice of both sources, and their ratio."""
    scores = np.random.default_rng(0).integers(0, 1000, options)

    def choose(source: ExactNoise | OpenDPNoise, times: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                source.choose(scores, 100.0)

        return run

    times = max(2, CHOICES * OPTIONS[0] // options)
    tasks = [choose(ExactNoise(), times), choose(OpenDPNoise(), times)]
    return _compare(run_fastest(tasks, repeats), (times, times))


def _compare(timed: list[tuple[Any, float, float]], sizes: tuple[int, int]) -> dict[str, float]:
    ours, theirs = (1e9 * least / size for (_, _, least), size in zip(timed, sizes, strict=True))
    return {
        "exact_ns": round(ours, 2),
        "opendp_ns": round(theirs, 1),
        "ratio": round(theirs / ours, 1),
    }


def add_users(table: Table) -> Table:
    """Return a table with a column of users, who have two rows each."""
    rows = table.data.num_rows
    people = np.random.default_rng(1).permutation(rows) // ROWS_A_USER
    return replace(table, data=table.data.append_column("person", [people]))


def make_runs(table: Table) -> dict[str, Callable[[TimedNoise], object]]:
    """Return whole runs by name; each takes the noise that it draws from."""
    strategies = dict(PRESETS) | {"tuned, warped": TUNED}
    size = min(4000, table.data.num_rows // 10)
    usual = {"epsilon": EPSILON, "delta": DELTA, "random_state": 0, "n_jobs": 1, "verbose": 0}
    users = add_users(table)

    def run_rows(name: str) -> Callable[[TimedNoise], object]:
        return lambda noise: TabPE(
            preset=strategies[name], n_samples=size, noise=noise, **usual
        ).fit(table.data, table.schema)

    def run_users(name: str) -> Callable[[TimedNoise], object]:
        return lambda noise: TabPE(
            preset=strategies[name],
            n_samples=size,
            noise=noise,
            unit="person",
            max_rows_per_user=ROWS_A_USER,
            **usual,
        ).fit(users.data, users.schema)

    def run_aim(noise: TimedNoise) -> object:
        return Baseline(AIM(), epsilon=EPSILON, delta=DELTA, noise=noise, random_state=0).fit(
            table.data, table.schema
        )

    rows = {name: run_rows(name) for name in strategies}
    by_user = {f"{name}, users": run_users(name) for name in PRESETS}
    return rows | by_user | {"AIM": run_aim}


def measure_share(run: Callable[[TimedNoise], object]) -> dict[str, Any]:
    """Return the processor time of a run, and the part of it that its noise takes."""
    noise = TimedNoise()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(noise)
    seconds = time.process_time() - start
    return {
        "seconds": round(seconds, 3),
        "noise_seconds": round(noise.seconds, 5),
        "draws": noise.drawn,
        "share": round(noise.seconds / seconds, 5),
    }


def list_goals(
    draws: dict[str, dict[str, float]], runs: dict[str, dict[str, Any]]
) -> dict[str, bool]:
    """Return the goals, and whether they are met.

    Example:
        >>> list_goals({"14": {"ratio": 300.0}}, {"best": {"share": 0.06}})
        {'sigma 14: at least 200 times as fast as OpenDP': True, 'best: noise below 5%': False}
    """
    goals = {
        f"sigma {sigma}: at least {GOALS[float(sigma)]:g} times as fast as OpenDP": (
            found["ratio"] >= GOALS[float(sigma)]
        )
        for sigma, found in draws.items()
    }
    return goals | {
        f"{name}: noise below {LARGEST_SHARE:.0%}": found["share"] < LARGEST_SHARE
        for name, found in runs.items()
    }


def main() -> None:
    parser = make_parser(__doc__, "noise", rows=USUAL, repeats=5)
    arguments = parser.parse_args()
    draws = {f"{sigma:g}": compare_draws(sigma, arguments.repeats) for sigma in GOALS}
    choices = {str(options): compare_choices(options, arguments.repeats) for options in OPTIONS}
    for kind, found in (("sigma", draws), ("options", choices)):
        for name, times in found.items():
            print(
                f"{kind} {name:<10} exact {times['exact_ns']:>12,.1f} ns"
                f"   OpenDP {times['opendp_ns']:>14,.1f} ns   {times['ratio']:>8,.1f} times"
            )
    tables = {small: simulate_table(small, NUMBERS) for small in (1000, arguments.rows)}
    runs = {}
    for name, run in make_runs(tables[arguments.rows]).items():
        measure_share(make_runs(tables[1000])[name])  # What is loaded once is no part of a run.
        runs[name] = measure_share(run)
        print(f"{name:<24} noise {runs[name]['share']:>8.2%} of {runs[name]['seconds']:.2f} s")
    goals = list_goals(draws, runs)
    for name, is_met in goals.items():
        print(f"{name:<56} {'ok' if is_met else 'MISSED'}")
    record = {
        "rows": arguments.rows,
        "columns": NUMBERS + 1,
        "draws": draws,
        "choices": choices,
        "runs": runs,
        "goals": goals,
    }
    write_record(arguments.out, "noise", record)


if __name__ == "__main__":
    main()
