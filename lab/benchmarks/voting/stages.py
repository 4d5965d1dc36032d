"""One case: its evolution round by round, both stages against all rivals, two threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.voting.agreement import SAMPLE_ROWS, agreement
from benchmarks.voting.cases import Loaded, Population, Votes, populations, stage_rounds
from benchmarks.voting.rivals import FAISS, TABPE, Matrix, Rival, encoded_population, encoded_rows
from benchmarks.voting.timing import Timing, affordable_share, in_turns, seconds
from tabpe.backends import StoredTable

PILOT_ROWS = 1_000
STAGE_BUDGET = 4.0
CLOSE_BUDGET = 2.0


@dataclass(frozen=True)
class Stage:
    """One population: what a pass over it took each system.

    Args:
        candidates: Their number over all classes.
        flops: What looking at all pairs takes.
        timings: Of each system.
    """

    candidates: int
    flops: float
    timings: dict[str, Timing]

    def speedup(self, rival: str) -> float | None:
        """Return how many times faster than `rival` tabpe is; None if that did not run."""
        timing = self.timings.get(rival)
        return timing and timing.best / self.timings[TABPE].best

    def plain(self, peak: float) -> dict[str, Any]:
        """Return what a result file holds."""
        rivals = [name for name in self.timings if name != TABPE]
        gflops = self.flops / self.timings[TABPE].best / 1e9
        return {
            "candidates": self.candidates,
            "passes": {name: timing.plain() for name, timing in self.timings.items()},
            "times faster than": {name: round(self.speedup(name) or 0, 2) for name in rivals},
            "equivalent_gflops": round(gflops, 1),
            "equivalent_share_of_peak": round(gflops / peak, 3),
        }


@dataclass(frozen=True)
class Threads:
    """Passes of tabpe on one thread and on two, in turns."""

    one: Timing
    two: Timing

    @property
    def gain(self) -> float:
        """How many times faster two threads are."""
        return self.one.best / self.two.best

    def plain(self) -> dict[str, Any]:
        """Return what a result file holds."""
        return {"one": self.one.plain(), "two": self.two.plain(), "gain": round(self.gain, 2)}


@dataclass(frozen=True, eq=False)
class Result:
    """What a case gave.

    Args:
        loaded: The case.
        preparation: Seconds to make the rows ready, once a run.
        rounds: Seconds of each round, in the run that made the populations.
        stages: The stages that are compared in full.
        agreement: Who gave the right answers in them.
        threads: One thread against two; None if not asked for.
    """

    loaded: Loaded
    preparation: float
    rounds: dict[str, list[float]]
    stages: dict[str, Stage]
    agreement: dict[str, Any]
    threads: Threads | None

    def plain(self, peak: float) -> dict[str, Any]:
        """Return what a result file holds."""
        loaded = self.loaded
        numbers, codes = loaded.rows[0].numbers, loaded.rows[0].codes
        return {
            "table": loaded.source,
            "voting rows": loaded.count,
            "numbers": numbers.shape[1],
            "categories": codes.shape[1],
            "voting classes": len(loaded.rows),
            "N": sum(loaded.sizes),
            "sigma": round(loaded.sigma, 4),
            "effective dimension": round(_effective_dimension(loaded), 1),
            "preparation_ms": round(self.preparation * 1e3, 1),
            "stages": {name: stage.plain(peak) for name, stage in self.stages.items()},
            "rounds_ms": {n: [round(t * 1e3, 2) for t in each] for n, each in self.rounds.items()},
            "all_rounds_s": {name: round(sum(each), 3) for name, each in self.rounds.items()},
            "agreement": self.agreement,
            "threads": self.threads and self.threads.plain(),
        }


class Bench:
    """The table and the rivals with the rows of a case.

    Args:
        loaded: The case.
        rivals: Whom to compare with.
    """

    def __init__(self, loaded: Loaded, rivals: Sequence[Rival]) -> None:
        self.loaded, self.rivals = loaded, rivals
        self.batch = loaded.batch()
        self.table = self._open_table(jobs=1)
        self.preparation = seconds(lambda: list(self.table.read_segments(None)))
        self.rows = encoded_rows(loaded)

    def run(self, *, threads: bool) -> Result:
        """Measure all there is to measure."""
        rounds: dict[str, list[float]] = {TABPE: [], FAISS: []}
        asked = populations(self.loaded, partial(self._watched, rounds))
        stages = {n: asked[place] for n, place in stage_rounds(self.loaded.case.config).items()}
        timed = {name: self.stage(population) for name, population in stages.items()}
        return Result(
            self.loaded,
            self.preparation,
            rounds,
            timed,
            {name: agreement(self.loaded, stages[name], self.rivals) for name in stages},
            self.threads(stages["R"]) if threads else None,
        )

    def ranking_stage(self) -> Stage:
        """Measure the ranking stage alone."""
        asked = populations(self.loaded, self.table.count_votes)
        return self.stage(asked[stage_rounds(self.loaded.case.config)["R"]])

    def stage(self, population: Population) -> Stage:
        """Time all systems on one population, in turns."""
        candidates = encoded_population(self.loaded, population)
        shares = {rival.name: self._share(rival, candidates) for rival in self.rivals}
        tasks = {TABPE: partial(self.table.count_votes, population)} | {
            rival.name: partial(rival.votes, self.rows, candidates, shares[rival.name])
            for rival in self.rivals
        }
        measured = in_turns(tasks, budget=STAGE_BUDGET)
        # The two that are close and fast get more turns.
        close = {name: tasks[name] for name in (TABPE, FAISS)}
        more = in_turns(close, budget=CLOSE_BUDGET, least=1)
        timings = {
            name: Timing(each + more.get(name, ()), shares.get(name, 1.0))
            for name, each in measured.items()
        }
        return Stage(sum(map(len, candidates)), _flops(self.rows, candidates), timings)

    def threads(self, population: Population) -> Threads:
        """Time our pass on one thread and on two."""
        wide = self._open_table(jobs=2)
        list(wide.read_segments(None))
        tasks = {"one": self.table, "two": wide}
        measured = in_turns(
            {name: partial(table.count_votes, population) for name, table in tasks.items()},
            budget=STAGE_BUDGET,
        )
        return Threads(Timing(measured["one"]), Timing(measured["two"]))

    def _watched(self, rounds: dict[str, list[float]], population: Population) -> Votes:
        """Return the exact votes, with a look at the clock and at faiss."""
        votes: list[Votes] = []
        rounds[TABPE].append(seconds(lambda: votes.append(self.table.count_votes(population))))
        candidates = encoded_population(self.loaded, population)
        rival = next(rival for rival in self.rivals if rival.name == FAISS)
        rounds[FAISS].append(seconds(partial(rival.votes, self.rows, candidates, 1.0)))
        return votes[0]

    def _share(self, rival: Rival, candidates: Sequence[Matrix]) -> float:
        if rival.limit is None:
            return 1.0
        pilot = min(1.0, PILOT_ROWS / self.loaded.count)
        return affordable_share(partial(rival.votes, self.rows, candidates), pilot, rival.limit)

    def _open_table(self, jobs: int) -> StoredTable:
        return StoredTable(
            [self.batch],
            classes=len(self.loaded.rows),
            category_weight=self.loaded.weight,
            jobs=jobs,
        )


def _flops(rows: Sequence[Matrix], population: Sequence[Matrix]) -> float:
    """Return the multiplications and additions of all pairs, as a dense system encodes them."""
    pairs = (len(part) * len(near) for part, near in zip(rows, population, strict=True))
    return 2.0 * rows[0].shape[1] * sum(pairs)


def _effective_dimension(loaded: Loaded) -> float:
    """Return over how many directions the numbers spread (participation ratio of variances)."""
    numbers = np.concatenate([rows.numbers[:SAMPLE_ROWS] for rows in loaded.rows])
    variances = np.linalg.eigvalsh(np.cov(numbers.T))
    return float(variances.sum() ** 2 / (variances**2).sum())
