"""The cases: rows by class, and the populations that a real run would show them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.voting import tables
from tabpe.accounting import FakeNoise, Spend
from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.evolution import PRESETS, Evolution, apportion, evolve
from tabpe.evolution.proposals import UniformProposal
from tabpe.measurement import NoisyCounts

EPSILON = 1.0
QUICK = 250
QUICK_SIZE = 20
Population = Sequence[Records]
Votes = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Case:
    """A table and the number of rows that are evolved from it.

    Args:
        key: Short name.
        rows: Private rows of all classes.
        table: Makes a table of so many rows.
        size: Synthetic rows over all classes, N.
        config: Settings of the evolution.
        voting: The classes that vote; None for all.
    """

    key: str
    rows: int
    table: Callable[[int], tables.Table]
    size: int
    config: Evolution = PRESETS["paper"]
    voting: tuple[int, ...] | None = None

    def quick(self) -> Case:
        """Return the case small enough for a smoke run."""
        return dataclasses.replace(
            self, rows=self.rows // QUICK, size=max(self.size // QUICK, QUICK_SIZE)
        )


@dataclass(frozen=True, eq=False)
class Loaded:
    """A case with its rows.

    Args:
        case: Which one.
        source: Where the table comes from.
        rows: The private rows of each voting class.
        spaces: Where the candidates of each may lie.
        sizes: How many rows each evolves.
        sigma: The noise of epsilon 1.
    """

    case: Case
    source: str
    rows: list[Records]
    spaces: list[RecordSpace]
    sizes: list[int]
    sigma: float

    @property
    def weight(self) -> float:
        """What one differing category adds to a distance."""
        return self.case.config.category_weight

    @property
    def count(self) -> int:
        """Number of private rows that vote."""
        return sum(map(len, self.rows))

    def batch(self) -> tuple[Records, NDArray[np.int64]]:
        """Return all rows with their classes, as an engine takes them."""
        labels = np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])
        return Records.concat(self.rows), labels

    def first(self, rows: int) -> Loaded:
        """Return the case with about the first `rows` rows, evenly over the classes."""
        share = min(1.0, rows / self.count)
        kept = [part.take(np.arange(math.ceil(share * len(part)))) for part in self.rows]
        return dataclasses.replace(self, rows=kept)


def load(case: Case) -> Loaded:
    """Return the case with its rows, encoded as a run would."""
    table = case.table(case.rows)
    encoder = Encoder(table.schema)
    rows, labels = encoder.encode(table.data)
    counts = np.bincount(labels, minlength=encoder.class_count)
    sizes, spaces = apportion(case.size, counts), encoder.spaces
    voting = range(encoder.class_count) if case.voting is None else case.voting
    return Loaded(
        case,
        table.source,
        [rows.take(labels == label) for label in voting],
        [spaces[label] for label in voting],
        [sizes[label] for label in voting],
        _sigma(len(rows), case.config.rounds),
    )


def populations(loaded: Loaded, count: Callable[[Population], Votes]) -> list[Population]:
    """Run the evolution with exact votes from `count`, and return what it asked about.

    The noise is of the right size and repeatable: NOT PRIVATE, and no reason to be.
    """
    asked: list[Population] = []
    noise = FakeNoise(seed=0)

    def vote(population: Population, _: int) -> NoisyCounts:
        asked.append(population)
        noisy = [exact + noise.draw(len(exact), loaded.sigma) for exact in count(population)]
        return NoisyCounts(noisy, Spend("votes", loaded.sigma, times=1))

    evolve(UniformProposal(loaded.spaces), loaded.sizes, loaded.case.config, vote, seed=0)
    return asked


def stage_rounds(config: Evolution) -> dict[str, int]:
    """Return which rounds stand for the sampling (S) and the ranking stage (R)."""
    grown = config.sampling_rounds + 1
    return {"S": grown - 1, "R": (grown + config.rounds - 1) // 2}


def _sigma(rows: int, rounds: int) -> float:
    """Return the noise of a run, without the verification that a promise would need."""
    return math.sqrt(rounds) / solve_gaussian_mu(EPSILON, 1 / (rows * math.log(rows)))


ten_numbers = partial(tables.made_up, numbers=10)


def case_c(size: int) -> Case:
    """Return case c: one of two equal classes votes."""
    return Case(f"c, N {size / 1000:g}k", 500_000, ten_numbers, size, voting=(0,))


CASES = {
    case.key: case
    for case in (
        Case("a", 35_000, ten_numbers, 2_000),
        Case("b", 115_402, tables.person_activity, 5_000),
        case_c(2_000),
        case_c(50_000),
        Case("d", 33_334, tables.adult, 2_000),
        Case("e", 60_000, tables.digits, 300, Evolution(variations=20)),
        Case("n 1M", 1_000_000, ten_numbers, 2_000),
        Case("n 5M", 5_000_000, ten_numbers, 2_000),
        Case("u", 35_000, partial(tables.uniform, numbers=10), 2_000),
    )
}
