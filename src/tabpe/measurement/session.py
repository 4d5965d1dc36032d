"""`PrivateSession`: the only way to ask private rows anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import ROW_LEVEL, Account, NeighboringRelation, NoiseSource, Spend
from tabpe.accounting.noise import SelectionSource
from tabpe.backends.base import Backend, EncodedReading
from tabpe.backends.queries import (
    ClassCountQuery,
    ColumnQuery,
    HalfspaceQuery,
    MarginalQuery,
    RawRowCountQuery,
    RowCountQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.encoding import Records, VotingSpace
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import Marginal, MarginalAxis
from tabpe.errors import ParameterError, TabpeError
from tabpe.measurement import histograms, privtree, raw_columns, selection
from tabpe.measurement.checkpoint import MeasurementJournal, PlainAnswer, Transcript
from tabpe.measurement.histograms import NoisyCounts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrivateSession:
    """Asks private rows, under noise, for what was authorized.

    Privacy: each method charges a spend of the account first, then asks the backend for exact
    integers, adds noise and records the noisy answer. The exact integers live inside the call and
    nowhere else. What is returned is public. The mechanisms and their proofs are in
    `tabpe.measurement.histograms`, `selection`, `privtree` and `raw_columns`.

    A spend is a value that `Account.authorize` returned; whoever plans a run passes it on.

    Args:
        backend: The private table.
        account: Is charged; refuses what was not authorized.
        noise: The source of noise.
        neighbours: The neighboring relation of the guarantee.
        journal: Restores and records measurements, for a run that can be resumed; None for one
            that can not.
        reading: How rows are encoded, where a method is asked about encoded rows; None for raw
            cells only, or where the backend holds encoded rows.
        voting_space: In which rows are compared with candidates.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.accounting import ExactNoise
        >>> from tabpe.backends import LocalBackend
        >>> from tabpe._utils.resources import Resources
        >>> from tabpe.io import open_source
        >>> table = open_source(pa.table({"age": list(range(100)) * 10}))
        >>> account = Account()
        >>> rows = account.authorize(Spend("row count", sigma=2.0, times=1))
        >>> backend = LocalBackend(table, None, Resources.from_options())
        >>> session = PrivateSession(backend, account, ExactNoise())
        >>> abs(int(session.count_rows(rows).values[0][0]) - 1000) < 50
        True
        >>> session.count_rows(rows)
        Traceback (most recent call last):
        tabpe.errors.BudgetError: row count: the 1 authorized are used up; nothing more is read.
    """

    backend: Backend
    account: Account
    noise: NoiseSource
    neighbours: NeighboringRelation = ROW_LEVEL
    journal: MeasurementJournal | None = None
    reading: EncodedReading | None = None
    voting_space: VotingSpace | None = None
    _transcript: Transcript = field(default_factory=Transcript, repr=False)

    def __post_init__(self) -> None:
        if self.backend.scale != self.neighbours.scale:
            raise TabpeError("neighbours: rows are counted for another relation than is charged.")

    @property
    def transcript(self) -> Transcript:
        """The digest of all noisy answers so far."""
        return self._transcript if self.journal is None else self.journal.transcript

    def count_rows(self, spend: Spend) -> NoisyCounts:
        """Return the noisy number of rows, or of users."""
        query = (
            RawRowCountQuery()
            if self.reading is None
            else RowCountQuery(self.reading, voting_space=self.voting_space)
        )
        return self._record(spend, 1, lambda: histograms.measure_row_count(self, spend, query))

    def count_classes(self, spend: Spend, classes: int) -> NoisyCounts:
        """Return the noisy number of rows of each of the `classes`."""
        query = ClassCountQuery(self.reading, voting_space=self.voting_space)
        return self._record(
            spend, 1, lambda: histograms.measure_class_counts(self, spend, query, classes)
        )

    def count_votes(
        self,
        spend: Spend,
        population: Sequence[Records],
        *,
        votes_per_row: int = 1,
        repeats: int = 1,
    ) -> NoisyCounts:
        """Return the noisy votes of the rows for the candidates of each class.

        Args:
            spend: Is charged for each vote of a row and each repetition.
            population: The candidates of each class.
            votes_per_row: For how many of the nearest candidates a row votes.
            repeats: How often it is asked, each time under other noise; answers are added up.
        """
        query = VoteQuery(self.reading, population, votes_per_row, voting_space=self.voting_space)
        return self._record(
            spend,
            votes_per_row * repeats,
            lambda: histograms.measure_votes(self, spend, query, repeats=repeats),
        )

    def count_marginals(self, spend: Spend, marginals: Sequence[Marginal]) -> NoisyCounts:
        """Return the noisy counts of each marginal, cell after cell; each is charged once."""
        query = MarginalQuery(self.reading, tuple(marginals))
        return self._record(
            spend, len(marginals), lambda: histograms.measure_marginals(self, spend, query)
        )

    def estimate_marginals(self, spend: Spend, marginals: Sequence[Marginal]) -> list[Floats]:
        """Return the same in the shapes of the marginals, where a row or a user adds 1."""
        if not marginals:
            return []
        measured = self.count_marginals(spend, marginals)
        return [
            counts.reshape(marginal.shape) / measured.scale
            for counts, marginal in zip(measured.values, marginals, strict=True)
        ]

    def choose_marginal(
        self,
        spend: Spend,
        marginals: Sequence[Marginal],
        estimates: Sequence[Floats],
        *,
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> int:
        """Return the index of a marginal that is far from its estimate (exponential mechanism).

        Args:
            spend: Is charged for one choice.
            marginals: What to choose from.
            estimates: Estimated counts of each, in its shape.
            weights: How much a distance counts, above 0 and at most 1; None for 1 each.
            penalties: What is taken off a distance, in rows; None for nothing.
        """
        query = MarginalQuery(self.reading, tuple(marginals))
        chosen = selection.choose_marginal(
            self, spend, query, estimates, weights=weights, penalties=penalties
        )
        self._record_answer(spend, 1, choice=int(chosen))
        return chosen

    def measure_distances(
        self, spend: Spend, marginals: Sequence[Marginal], estimates: Sequence[Floats]
    ) -> Floats:
        """Return the noisy distance of each marginal from its estimate, in rows."""
        if not marginals:
            return np.zeros(0)
        query = MarginalQuery(self.reading, tuple(marginals))
        found = selection.measure_distances(self, spend, query, estimates)
        self._record_answer(spend, found.item.times, *found.values)
        return found.values[0].astype(np.float64)

    def grow_trees(
        self, spend: Spend, axes: Sequence[MarginalAxis], *, threshold: int, most: int
    ) -> list[tuple[int, ...]]:
        """Return, for each axis, the cells in which its bins begin (PrivTree).

        Args:
            spend: Is charged for each axis.
            axes: The axes, in their finest cells.
            threshold: About so many rows are left in a bin; public.
            most: The most bins of an axis.
        """
        if not axes:
            return []
        query = MarginalQuery(self.reading, tuple(Marginal((axis,)) for axis in axes))
        starts = privtree.grow_trees(self, spend, query, threshold=threshold, most=most)
        self._record_answer(spend, len(axes), choice=[list(begun) for begun in starts])
        return starts

    def choose_halfspaces(
        self,
        spend: Spend,
        halfspaces: Sequence[Halfspaces],
        estimates: Sequence[Floats],
        *,
        most: int,
        taken: Sequence[int] = (),
    ) -> list[int]:
        """Return the indices of halfspaces that are far from their estimates.

        Args:
            spend: Is charged for each choice.
            halfspaces: What to choose from; indices count through all of them.
            estimates: Estimated counts of each: halfspaces x cells.
            most: How many to choose; fewer if there are no more.
            taken: Indices that are no option; public.
        """
        if not min(most, sum(map(len, halfspaces)) - len(set(taken))):
            return []
        queries = [HalfspaceQuery(self.reading, one) for one in halfspaces]
        chosen = selection.choose_halfspaces(
            self, spend, queries, estimates, most=most, taken=taken
        )
        self._record_answer(spend, len(chosen), choice=chosen)
        return chosen

    def count_halfspaces(
        self, spend: Spend, halfspaces: Sequence[Halfspaces], indices: Sequence[int]
    ) -> list[Floats]:
        """Return the noisy number of rows of each cell in some halfspaces."""
        if not indices:
            return []
        queries = [HalfspaceQuery(self.reading, one) for one in halfspaces]
        found = selection.measure_halfspaces(self, spend, queries, indices)
        self._record_answer(spend, found.item.times, *found.values)
        return [counts.astype(np.float64) for counts in found.values]

    def count_raw_columns(self, spend: Spend, query: ColumnQuery) -> dict[str, Floats]:
        """Return the noisy histogram of raw cells of each column of a query."""
        answer = self._ask_once(
            spend,
            lambda: {
                name: counts.tolist()
                for name, counts in raw_columns.measure_histograms(self, spend, query).items()
            },
        )
        return {name: np.array(counts, dtype=np.float64) for name, counts in answer.items()}

    def release_values(self, spend: Spend, query: ValueQuery) -> dict[str, dict[Any, float]]:
        """Return the values of each column that enough rows hold, with their noisy counts."""
        answer = self._ask_once(
            spend,
            lambda: {
                name: [[value, count] for value, count in counts.items()]
                for name, counts in raw_columns.measure_values(self, spend, query).items()
            },
        )
        return {name: dict(counts) for name, counts in answer.items()}

    def charge_unused(self, spend: Spend) -> None:
        """Charge for what is left of a spend, without reading a row for it."""
        left = self.account.count_uncharged(spend)
        if left:
            self.account.charge_spend(spend, left)

    # For the mechanisms of this package:

    def add_noise(self, exact: NDArray[np.int64], spend: Spend) -> NDArray[np.int64]:
        """Return exact counts under the noise that was charged for, a draw on each cell."""
        added = self.noise.draw(len(exact), spend.sigma * self.neighbours.scale)
        # Broadcasting would put one draw on many cells.
        if added.shape != exact.shape:
            raise TabpeError("noise: its size differs from the number of cells asked for.")
        return exact + added

    def get_selection_source(self) -> SelectionSource:
        """Return the source of choices, for rows that are added or removed."""
        self.check_row_level()
        if not isinstance(self.noise, SelectionSource):
            raise ParameterError("noise: this source makes no choices. Use noise='exact'.")
        return self.noise

    def check_row_level(self) -> None:
        """Refuse neighbours that differ by more than one row added or removed."""
        if self.neighbours != ROW_LEVEL:
            raise ParameterError(
                "adjacency: distances are measured for adding or removing a row only."
            )

    @staticmethod
    def check_mechanism(spend: Spend, mechanism: str) -> None:
        """Refuse a spend that was authorized for another mechanism."""
        if spend.mechanism != mechanism:
            raise TabpeError(f"{spend.name}: was not authorized as {mechanism}.")

    def _record(self, spend: Spend, times: int, measure: Callable[[], NoisyCounts]) -> NoisyCounts:
        """Measure, and record before anyone sees it; or restore what was recorded."""
        if self.journal is not None:
            return self.journal.measure_once(spend, measure, times=times)
        measured = measure()
        self._record_answer(spend, times, *measured.values)
        return measured

    def _record_answer(
        self, spend: Spend, times: int, *counts: NDArray[np.int64], choice: Any = None
    ) -> None:
        arrays = {str(place): part for place, part in enumerate(counts)}
        text = {"item": {**spend.to_dict(), "times": times}, "choice": choice}
        self.transcript.add_answer(text, arrays)

    def _ask_once(self, spend: Spend, ask: Callable[[], PlainAnswer]) -> PlainAnswer:
        return ask() if self.journal is None else self.journal.ask_once(spend, ask)
