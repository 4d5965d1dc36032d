"""The scores of SDMetrics, by their names: 1 is best, 0 is worst."""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.metrics.view import View


@dataclass(frozen=True)
class ColumnScore:
    """How alike the cells of one column are.

    Args:
        column: Name of the column.
        metric: `KSComplement` of a number, `TVComplement` of a category.
        score: From 0 to 1; NaN where SDMetrics has none.
    """

    column: str
    metric: str
    score: float


@dataclass(frozen=True)
class PairScore:
    """How alike two columns go together.

    Args:
        columns: Names of the columns.
        metric: `CorrelationSimilarity` of two numbers, `ContingencySimilarity` otherwise.
        score: From 0 to 1; NaN where SDMetrics has none.
    """

    columns: tuple[str, str]
    metric: str
    score: float


@dataclass(frozen=True)
class Quality:
    """The scores of a table.

    Args:
        columns: Each column.
        pairs: Each pair of columns.
    """

    columns: tuple[ColumnScore, ...]
    pairs: tuple[PairScore, ...]

    @property
    def column_shapes(self) -> float:
        """Mean over the columns."""
        raise NotImplementedError

    @property
    def column_pair_trends(self) -> float:
        """Mean over the pairs; NaN without a pair."""
        raise NotImplementedError

    @property
    def overall(self) -> float:
        """Mean of the two."""
        raise NotImplementedError


def quality(real: View, synthetic: View) -> Quality:
    """Return the scores that `sdmetrics.reports.single_table.QualityReport` gives."""
    raise NotImplementedError
