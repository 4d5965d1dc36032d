"""PrivGSD: a genetic search for a table that has the noisy marginals (Liu et al., 2023).

All marginals of a degree are measured once. Then a table is searched for, beginning with a random
one: in each generation some candidates are made that differ from it in one cell, and the best of
them takes its place if it is better. The error of a table is the sum of the squared differences of
its counts from the noisy ones, as shares of all rows.

A cell of the table counts in few cells of the marginals, so the error of a candidate is known from
what it changes: of a row that moves from one cell of a marginal to another with the excess counts e
and f, twice (f - e + 1).

As published, marginals of numbers are measured at several levels, with cells of a half, a quarter,
.. a thirty-second of the range: `PrivGSD(levels=HIERARCHY)`. The coarse levels see much with little
noise, but only what their cuts divide. By default there is one level, of bins that follow the rows.

Differences from the published method:

- A number is one of the cells of the finest level, and its rows are drawn uniformly inside.
- In a crossover the published search adds noise to numbers. Here `crossover_noise` is its size,
  which is ours; there is none by default.
- A marginal without numbers is the same at every level, and is measured as often. That is as good
  as once with all of the budget for it.
- There is one best table and no further elite; in the authors' code candidates are made from the
  best one alone, too. Generations are looked at in groups, whose candidates are made from the table
  at the beginning of the group; the best of each generation is checked again before it takes the
  place.
- The table has more rows than those in the authors' examples (1,000 to 5,000): that fits better,
  and costs seconds here. Rows are drawn from the table that was found, as many as are asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare
from tabpe.baselines.domain import Clique, Codes, Domain, Floats, SyntheticRows
from tabpe.baselines.session import BaselineSession
from tabpe.encoding.marginals import NumberAxis
from tabpe.errors import CapacityError, ParameterError

MARGINALS = "marginals"
HIERARCHY = (2, 4, 8, 16, 32)  # the published levels
_TOGETHER = 32  # generations in a group

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class PrivGSD:
    """Searches for a table of ten thousand rows with the noisy marginals, and draws from it.

    Privacy: all marginals of the degree, each one noisy histogram with the same noise. The search
    is post-processing.

    Args:
        degree: How many attributes a marginal has.
        mutations: Candidates of a generation in which a cell has any value.
        crossovers: Candidates of a generation in which a cell has the value of another row.
        generations: The most generations.
        table_rows: The number of rows of the table that is searched for.
        tolerance: The search ends if the error falls by a smaller part than this, in as many
            generations as the table has rows.
        max_cells: The most cells of all marginals together.
        levels: How many cells of equal width the range of a number is cut into, level by level;
            none for the bins of the run.
        crossover_noise: The standard deviation of what a crossover adds to a number, as a part of
            its range.

    Example:
        >>> PrivGSD(levels=HIERARCHY).binned, PrivGSD().binned
        (False, True)
    """

    name: ClassVar[str] = "PrivGSD"
    adaptive: ClassVar[bool] = False

    degree: int = 2
    mutations: int = 50
    crossovers: int = 50
    generations: int = 1_000_000
    table_rows: int = 10_000
    tolerance: float = 1e-4
    max_cells: int = 10_000_000
    levels: tuple[int, ...] = ()
    crossover_noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))  # a list, in an experiment
        for level in self.levels:
            validation.check_integer("levels", level, least=2)
        if list(self.levels) != sorted(set(self.levels)):
            raise ParameterError(
                f"levels={self.levels}: expected rising numbers of cells, such as {HIERARCHY}."
            )
        validation.check_real("crossover_noise", self.crossover_noise, above=0, least=True)
        for name in ("degree", "mutations", "generations", "table_rows", "max_cells"):
            validation.check_integer(name, getattr(self, name), least=1)
        validation.check_integer("crossovers", self.crossovers, least=0)
        validation.check_real("tolerance", self.tolerance, above=0, least=True)

    @property
    def binned(self) -> bool:
        """Whether bins are estimated: levels are cut by the schema alone."""
        return not self.levels

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan: one part, with all marginals of the degree, of every level."""
        times = math.comb(attributes, min(self.degree, attributes)) * max(len(self.levels), 1)
        return (BudgetShare(MARGINALS, share=1.0, times=times),)

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows, drawn from a table that was searched for."""
        domains = self._list_levels(session.domain)
        cliques = self._list_cliques(domains)
        measured = session.marginals_by_level(MARGINALS, cliques, domains)
        wanted = [counts * (self.table_rows / session.rows) for counts in measured]
        table = self.search_table(session.domain, cliques, wanted, session.rng)
        return session.rows_of(table[session.rng.integers(len(table), size=size)])

    def _list_levels(self, domain: Domain) -> list[Domain]:
        return [domain.coarsen(level) for level in self.levels] or [domain]

    def search_table(
        self,
        domain: Domain,
        cliques: Sequence[Clique],
        targets: Sequence[Floats],
        rng: np.random.Generator,
    ) -> Codes:
        """Return a table whose counts are close to the wanted ones. All of this is public.

        Args:
            domain: The attributes, in the cells of the finest level.
            cliques: The marginals of a level.
            targets: The counts that the marginals should have, one level after the other.
            rng: Randomness of the search.
        """
        levels = self.levels
        search = GeneticSearch(domain, cliques, targets, self.table_rows, rng, levels=levels)
        error = search.error
        for generation in range(0, self.generations, _TOGETHER):
            search.run_generations(self.mutations, self.crossovers, self.crossover_noise)
            if (generation + _TOGETHER) % _round_up(self.table_rows) == 0:
                before, error = error, search.error
                if before - error <= self.tolerance * before:
                    break
        return search.codes

    def _list_cliques(self, domains: Sequence[Domain]) -> list[Clique]:
        degree = min(self.degree, domains[0].attributes)
        cliques = list(itertools.combinations(range(domains[0].attributes), degree))
        cells = sum(domain.count_cells(clique) for domain in domains for clique in cliques)
        if cells > self.max_cells:
            raise CapacityError(
                f"PrivGSD: {len(cliques) * len(domains):,} marginals of degree {degree} have "
                f"{cells:,} cells, limit max_cells={self.max_cells:,}. Use a smaller degree, or "
                f"fewer bins."
            )
        return cliques


class GeneticSearch:
    """A table on its way to the wanted counts, and the cells that each of its rows adds to.

    Args:
        domain: The attributes.
        cliques: Those of the marginals of a level, all of one length.
        targets: The counts that the marginals of the table should have, level by level.
        rows: The number of rows.
        rng: Randomness of the search.
        levels: Numbers of cells of the levels; none for one level, of the cells of the domain.
    """

    def __init__(
        self,
        domain: Domain,
        cliques: Sequence[Clique],
        targets: Sequence[Floats],
        rows: int,
        rng: np.random.Generator,
        *,
        levels: Sequence[int] = (),
    ) -> None:
        self._rng, self._sizes = rng, np.array(domain.sizes, dtype=np.int64)
        self.codes: Codes = rng.integers(0, self._sizes, size=(rows, len(self._sizes)))
        first = np.cumsum([0, *(counts.size for counts in targets)])
        self._marginals = _list_marginals(len(self._sizes), cliques, max(len(levels), 1))
        self._places = _compute_places(domain, cliques, levels, self._marginals)
        # The cell of each row in each marginal, where the cells of all marginals are one line.
        self._cells: Whole = np.tile(first[:-1], (rows, 1))
        for attribute, codes in enumerate(self.codes.T):
            self._cells[:, self._marginals[attribute]] += self._places[attribute, codes]
        counts = np.bincount(self._cells.ravel(), minlength=first[-1])
        self._excess: Floats = counts - np.concatenate([one.ravel() for one in targets])
        self._column_weights = _compute_column_weights(self._sizes)
        self._is_number = np.array([isinstance(axis, NumberAxis) for axis in domain.axes])

    @property
    def error(self) -> float:
        """The sum of the squared differences from the wanted counts."""
        return float(self._excess @ self._excess)

    def run_generations(self, mutations: int, crossovers: int, noise: float = 0.0) -> None:
        """Go through a group of generations; crossovers add noise to numbers."""
        shape = (_TOGETHER, mutations + crossovers)
        rows = self._rng.integers(len(self.codes), size=shape)
        columns = self._rng.choice(len(self._sizes), size=shape, p=self._column_weights)
        values = self._rng.integers(0, self._sizes[columns])
        mates = self._rng.integers(len(self.codes), size=(_TOGETHER, crossovers))
        values[:, mutations:] = self._cross_cells(mates, columns[:, mutations:], noise)
        gains = self._compute_gains(rows.ravel(), columns.ravel(), values.ravel()).reshape(shape)
        best = np.argmin(gains, axis=1)
        for generation in np.flatnonzero(gains.min(axis=1) < 0):
            place = generation, best[generation]
            self._try_move(rows[place], columns[place], values[place])

    def _cross_cells(self, mates: Whole, columns: Whole, noise: float) -> Whole:
        """Return the values of other rows; numbers with noise, of a part of their range."""
        values = self.codes[mates, columns]
        if not noise:
            return values
        steps = self._rng.normal(0.0, noise, size=values.shape) * self._sizes[columns]
        moved = np.rint(values + np.where(self._is_number[columns], steps, 0.0)).astype(np.int64)
        return np.clip(moved, 0, self._sizes[columns] - 1)

    def _compute_gains(self, rows: Whole, columns: Whole, values: Whole) -> Floats:
        """Return by how much the error would change, halved; above 0 where nothing changes."""
        before, after = self._find_moves(rows, columns, values)
        gains: Floats = (self._excess[after] - self._excess[before] + 1).sum(axis=1)
        return gains

    def _find_moves(self, rows: Whole, columns: Whole, values: Whole) -> tuple[Whole, Whole]:
        """Return the cells that rows add to, now and with another value in a column."""
        before = self._cells[rows[:, None], self._marginals[columns]]
        after = before - self._places[columns, self.codes[rows, columns]]
        return before, after + self._places[columns, values]

    def _try_move(self, row: int, column: int, value: int) -> None:
        """Put a value into the table, if that is an improvement as the table is now."""
        marginals = self._marginals[column]
        before = self._cells[row, marginals]
        here = self._places[column]
        after = before + here[value] - here[self.codes[row, column]]
        if (self._excess[after] - self._excess[before] + 1).sum() < 0:
            self._excess[before] -= 1
            self._excess[after] += 1
            self._cells[row, marginals] = after
            self.codes[row, column] = value


def _compute_places(
    domain: Domain, cliques: Sequence[Clique], levels: Sequence[int], marginals: Whole
) -> Whole:
    """Return where each value of each attribute puts a row, in each marginal that it is in.

    The cell of a row in a marginal is the sum of the places of its values.
    """
    sizes = domain.sizes
    places = np.zeros((len(sizes), max(sizes), marginals.shape[1]), dtype=np.int64)
    grouped = [(domain.coarsen(level), domain.group_cells(level)) for level in levels]
    same = domain, tuple(np.arange(size) for size in sizes)
    for attribute, members in enumerate(marginals):
        for column, member in enumerate(members):
            coarse, groups = grouped[member // len(cliques)] if levels else same
            clique = cliques[member % len(cliques)]
            after = clique[clique.index(attribute) + 1 :]
            step = math.prod(coarse.get_shape(after))
            places[attribute, : sizes[attribute], column] = groups[attribute] * step
    return places


def _list_marginals(attributes: int, cliques: Sequence[Clique], levels: int) -> Whole:
    """Return the marginals of all levels that each attribute is in: equally many for all."""
    return np.array(
        [
            [
                level * len(cliques) + place
                for level in range(levels)
                for place, clique in enumerate(cliques)
                if attribute in clique
            ]
            for attribute in range(attributes)
        ]
    )


def _compute_column_weights(sizes: Whole) -> Floats:
    """Return how often each column is changed: the more values it has, the more often."""
    weights = np.log(sizes)
    return weights / weights.sum() if weights.any() else np.full(len(sizes), 1 / len(sizes))


def _round_up(rows: int) -> int:
    """Return after how many generations the error is looked at: whole groups."""
    return -(-max(rows, 100) // _TOGETHER) * _TOGETHER
