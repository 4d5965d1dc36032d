"""PrivGSD: a genetic search for a table that has the noisy marginals (Liu et al., 2023).

All marginals of a degree are measured once. Then a table is searched for, beginning with a random
one: in each generation some candidates are made that differ from it in one cell, and the best of
them takes its place if it is better. The error of a table is the sum of the squared differences of
its counts from the noisy ones, as shares of all rows.

A cell of the table counts in few cells of the marginals, so the error of a candidate is known from
what it changes: of a row that moves from one cell of a marginal to another with the excess counts e
and f, twice (f - e + 1).

Differences from the published method: numbers are discretised before marginals are measured. There
is one best table and no further elite; in the authors' code candidates are made from the best one
alone, too. Generations are looked at in groups, whose candidates are made from the table at the
beginning of the group; the best of each generation is checked again before it takes the place. The
table has more rows than those in the authors' examples (1,000 to 5,000): that fits better, and
costs seconds here. Rows are drawn from the table that was found, as many as are asked for.
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
from tabpe.errors import CapacityError

MARGINALS = "marginals"
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
    """

    name: ClassVar[str] = "PrivGSD"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    degree: int = 2
    mutations: int = 50
    crossovers: int = 50
    generations: int = 1_000_000
    table_rows: int = 10_000
    tolerance: float = 1e-4
    max_cells: int = 10_000_000

    def __post_init__(self) -> None:
        for name in ("degree", "mutations", "generations", "table_rows", "max_cells"):
            validation.check_integer(name, getattr(self, name), least=1)
        validation.check_integer("crossovers", self.crossovers, least=0)
        validation.check_real("tolerance", self.tolerance, above=0, least=True)

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan: one part, with all marginals of the degree."""
        times = math.comb(attributes, min(self.degree, attributes))
        return (BudgetShare(MARGINALS, share=1.0, times=times),)

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows, drawn from a table that was searched for."""
        cliques = self._list_cliques(session.domain)
        measured = session.marginals(MARGINALS, cliques)
        wanted = [counts * (self.table_rows / session.rows) for counts in measured]
        table = self.search_table(session.domain, cliques, wanted, session.rng)
        return session.rows_of(table[session.rng.integers(len(table), size=size)])

    def search_table(
        self,
        domain: Domain,
        cliques: Sequence[Clique],
        targets: Sequence[Floats],
        rng: np.random.Generator,
    ) -> Codes:
        """Return a table whose counts are close to the wanted ones. All of this is public."""
        search = GeneticSearch(domain, cliques, targets, self.table_rows, rng)
        error = search.error
        for generation in range(0, self.generations, _TOGETHER):
            search.run_generations(self.mutations, self.crossovers)
            if (generation + _TOGETHER) % _round_up(self.table_rows) == 0:
                before, error = error, search.error
                if before - error <= self.tolerance * before:
                    break
        return search.codes

    def _list_cliques(self, domain: Domain) -> list[Clique]:
        degree = min(self.degree, domain.attributes)
        cliques = list(itertools.combinations(range(domain.attributes), degree))
        cells = sum(domain.count_cells(clique) for clique in cliques)
        if cells > self.max_cells:
            raise CapacityError(
                f"PrivGSD: {len(cliques):,} marginals of degree {degree} have {cells:,} cells, "
                f"limit max_cells={self.max_cells:,}. Use a smaller degree, or fewer bins."
            )
        return cliques


class GeneticSearch:
    """A table on its way to the wanted counts, and what each of its rows counts in.

    Args:
        domain: The attributes.
        cliques: Those of the marginals, all of one length.
        targets: The counts that the marginals of the table should have.
        rows: The number of rows.
        rng: Randomness of the search.
    """

    def __init__(
        self,
        domain: Domain,
        cliques: Sequence[Clique],
        targets: Sequence[Floats],
        rows: int,
        rng: np.random.Generator,
    ) -> None:
        self._rng, self._sizes = rng, np.array(domain.sizes, dtype=np.int64)
        self.codes: Codes = rng.integers(0, self._sizes, size=(rows, len(self._sizes)))
        strides = _compute_strides(domain, cliques)
        first = np.cumsum([0, *(counts.size for counts in targets)])
        # The cell of each row in each marginal, where the cells of all marginals are one line.
        self._cells: Whole = self.codes @ strides.T + first[:-1]
        counts = np.bincount(self._cells.ravel(), minlength=first[-1])
        self._excess: Floats = counts - np.concatenate([one.ravel() for one in targets])
        self._marginals = _list_marginals(len(self._sizes), cliques)
        self._steps = np.take_along_axis(strides.T, self._marginals, axis=1)
        self._column_weights = _compute_column_weights(self._sizes)

    @property
    def error(self) -> float:
        """The sum of the squared differences from the wanted counts."""
        return float(self._excess @ self._excess)

    def run_generations(self, mutations: int, crossovers: int) -> None:
        """Go through a group of generations."""
        shape = (_TOGETHER, mutations + crossovers)
        rows = self._rng.integers(len(self.codes), size=shape)
        columns = self._rng.choice(len(self._sizes), size=shape, p=self._column_weights)
        values = self._rng.integers(0, self._sizes[columns])
        mates = self._rng.integers(len(self.codes), size=(_TOGETHER, crossovers))
        values[:, mutations:] = self.codes[mates, columns[:, mutations:]]
        gains = self._compute_gains(rows.ravel(), columns.ravel(), values.ravel()).reshape(shape)
        best = np.argmin(gains, axis=1)
        for generation in np.flatnonzero(gains.min(axis=1) < 0):
            place = generation, best[generation]
            self._try_move(rows[place], columns[place], values[place])

    def _compute_gains(self, rows: Whole, columns: Whole, values: Whole) -> Floats:
        """Return by how much the error would change, halved; above 0 where nothing changes."""
        before, after = self._find_moves(rows, columns, values)
        gains: Floats = (self._excess[after] - self._excess[before] + 1).sum(axis=1)
        return gains

    def _find_moves(self, rows: Whole, columns: Whole, values: Whole) -> tuple[Whole, Whole]:
        """Return in which cells rows count, and would count with another value in a column."""
        before = self._cells[rows[:, None], self._marginals[columns]]
        change = values - self.codes[rows, columns]
        return before, before + change[:, None] * self._steps[columns]

    def _try_move(self, row: int, column: int, value: int) -> None:
        """Put a value into the table, if that is an improvement as the table is now."""
        marginals = self._marginals[column]
        before = self._cells[row, marginals]
        after = before + (value - self.codes[row, column]) * self._steps[column]
        if (self._excess[after] - self._excess[before] + 1).sum() < 0:
            self._excess[before] -= 1
            self._excess[after] += 1
            self._cells[row, marginals] = after
            self.codes[row, column] = value


def _compute_strides(domain: Domain, cliques: Sequence[Clique]) -> Whole:
    """Return by how many cells of each marginal a step in each attribute moves a row."""
    strides = np.zeros((len(cliques), domain.attributes), dtype=np.int64)
    for place, clique in enumerate(cliques):
        shape = domain.get_shape(clique)
        strides[place, list(clique)] = [
            math.prod(shape[after + 1 :]) for after in range(len(shape))
        ]
    return strides


def _list_marginals(attributes: int, cliques: Sequence[Clique]) -> Whole:
    """Return the marginals that each attribute is in: equally many for all of them."""
    return np.array(
        [
            [place for place, clique in enumerate(cliques) if attribute in clique]
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
