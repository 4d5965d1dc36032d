"""The scores of SDMetrics, by their names: 1 is best, 0 is worst.

They agree to 1e-6 with version 0.32 of that package, as its `QualityReport` computes them for a
single table of at most 50,000 rows. It samples larger tables for the contingency; here all rows
count. These choices of the package are followed:

- A pair that is weakly associated in the real table has no score: two numbers whose absolute
  correlation is at most 0.5, others whose Cramer's V (without correction) is at most 0.3.
- Columns leave out nulls, and correlations the rows with a null. A contingency counts null as a
  category of its own; but among numbers it is counted with the largest.
- Beside a category, numbers are cut into 10 bins of equal width over the range of their own table,
  and bins of two tables are compared by their index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from tabpe.evaluation.metrics.associations import (
    compute_cramers_v,
    compute_overlap,
    compute_pearson,
    count_contingency,
)
from tabpe.evaluation.table_arrays import (
    CategoricalCells,
    Cells,
    Floats,
    Integers,
    NumericCells,
    TableArrays,
)

KS, TV = "KSComplement", "TVComplement"
CORRELATION, CONTINGENCY = "CorrelationSimilarity", "ContingencySimilarity"
CORRELATION_THRESHOLD = 0.5
ASSOCIATION_THRESHOLD = 0.3
BINS = 10
_DECIMALS = 14
# A category that only the synthetic table has counts as this much of a real row.
_TRACE = 1e-6

Pair = tuple[str, str]


@dataclass(frozen=True)
class ColumnScore:
    """The score of a column.

    Args:
        column: Name of the column.
        metric: `KSComplement` for a number, `TVComplement` for a category.
        score: From 0 to 1; NaN where SDMetrics has none.
    """

    column: str
    metric: str
    score: float


@dataclass(frozen=True)
class PairScore:
    """The score of a pair of columns.

    Args:
        columns: Names of the columns.
        metric: `CorrelationSimilarity` for two numbers, `ContingencySimilarity` otherwise.
        score: From 0 to 1; NaN where SDMetrics has none.
    """

    columns: tuple[str, str]
    metric: str
    score: float


@dataclass(frozen=True)
class QualityScores:
    """The scores of a table.

    Args:
        columns: Each column.
        pairs: Each pair of columns.
    """

    columns: tuple[ColumnScore, ...]
    pairs: tuple[PairScore, ...]

    @property
    def column_shapes(self) -> float:
        """Mean over the columns that have a score; NaN without any."""
        return _average_scores([column.score for column in self.columns])

    @property
    def column_pair_trends(self) -> float:
        """Mean over the pairs that have a score; NaN without any."""
        return _average_scores([pair.score for pair in self.pairs])

    @property
    def overall(self) -> float:
        """Mean of the two, or the one that there is."""
        return _average_scores([self.column_shapes, self.column_pair_trends])


def score_quality(
    real: TableArrays,
    synthetic: TableArrays,
    *,
    correlation_threshold: float = CORRELATION_THRESHOLD,
    association_threshold: float = ASSOCIATION_THRESHOLD,
) -> QualityScores:
    """Return the scores that `sdmetrics.reports.QualityReport` gives.

    NOT PRIVATE.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        correlation_threshold: Two numbers have a score if their absolute real correlation is
            larger.
        association_threshold: Other pairs have a score if their real Cramer's V is larger; 0 for
            all pairs.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> tables = [pa.table({"age": [20, 40, 60, 80], "ill": ill})
        ...           for ill in ([False, False, True, True], [False, True, True, True])]
        >>> scores = score_quality(*build_table_arrays(schema, tables))
        >>> scores.column_shapes, scores.column_pair_trends, scores.overall
        (0.875, 0.75, 0.8125)
    """
    columns = tuple(map(_score_column, real, synthetic))
    numbers = _score_correlations(real, synthetic, correlation_threshold)
    others = _score_contingencies(real, synthetic, association_threshold)
    pairs = (
        PairScore(pair, CORRELATION, numbers[pair])
        if pair in numbers
        else PairScore(pair, CONTINGENCY, others[pair])
        for pair in combinations(real.schema.names, 2)
    )
    return QualityScores(columns, tuple(pairs))


def ks_complement(real: Floats, synthetic: Floats) -> float:
    """Return 1 minus the Kolmogorov-Smirnov statistic of two sets of numbers.

    NaN is a null. Digits after the 14th decimal do not count.
    """
    one, two = (np.sort(_round_values(cells[~np.isnan(cells)])) for cells in (real, synthetic))
    if not len(one) or not len(two):
        return math.nan
    both = np.concatenate([one, two])
    below = [np.searchsorted(cells, both, side="right") / len(cells) for cells in (one, two)]
    return float(1.0 - np.abs(below[0] - below[1]).max())


def tv_complement(real: Integers, synthetic: Integers) -> float:
    """Return 1 minus the total variation between the shares of codes; negative for a null."""
    present = [codes[codes >= 0] for codes in (real, synthetic)]
    if not all(map(len, present)):
        return math.nan
    size = 1 + max(int(codes.max()) for codes in present)
    one, two = (np.bincount(codes, minlength=size).astype(np.float64) for codes in present)
    one[(one == 0) & (two > 0)] = _TRACE
    return float(1.0 - np.abs(one / one.sum() - two / two.sum()).sum() / 2)


def correlation_similarity(
    real: tuple[Floats, Floats], synthetic: tuple[Floats, Floats], threshold: float = 0.0
) -> float:
    """Return 1 minus half the difference of the correlations of two columns.

    NaN if a column is constant, or if the absolute real correlation is not above the threshold.
    """
    return float(_correlation_similarities(real, synthetic, threshold)[0, 1])


def contingency_similarity(
    real: tuple[Integers, Integers], synthetic: tuple[Integers, Integers], threshold: float = 0.0
) -> float:
    """Return 1 minus the total variation between the shares of pairs of categories.

    Cells are codes; -1 for a null, which counts. NaN if there is a threshold and the real Cramer's
    V is not above it or undefined.
    """
    first, second = (
        _CodedColumn(1 + one, 1 + two) for one, two in zip(real, synthetic, strict=True)
    )
    return _contingency_similarity(first, second, threshold)


def discretize_values(values: Floats) -> Integers | None:
    """Return numbers as codes from 0 to 11, as SDMetrics bins them; None where it fails.

    Bins 1 to 10 divide the range of the values; the largest value and nulls are in bin 11.

    Example:
        >>> discretize_values(np.array([0.0, 4.0, 9.9, 10.0, np.nan]))
        array([ 1,  5, 10, 11, 11])
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.histogram_bin_edges(values[~np.isnan(values)], BINS)
        return np.digitize(values, edges).astype(np.int64)
    except ValueError:  # the range is too narrow for floating point to divide, or too wide
        return None


def _score_column(real: Cells, synthetic: Cells) -> ColumnScore:
    metric, score = (KS, ks_complement) if isinstance(real, NumericCells) else (TV, tv_complement)
    return ColumnScore(real.name, metric, score(real.values, synthetic.values))


def _round_values(values: Floats) -> Floats:
    """Round to the last decimal that counts; keep numbers that would overflow."""
    with np.errstate(over="ignore"):
        rounded = np.round(values, _DECIMALS)
    return np.where(np.isfinite(rounded), rounded, values)


def _score_correlations(
    real: TableArrays, synthetic: TableArrays, threshold: float
) -> dict[Pair, float]:
    names = [cells.name for cells in real if isinstance(cells, NumericCells)]
    tables = ([view[name].values for name in names] for view in (real, synthetic))
    scores = _correlation_similarities(next(tables), next(tables), threshold)
    pairs = combinations(range(len(names)), 2)
    return {(names[one], names[two]): float(scores[one, two]) for one, two in pairs}


def _correlation_similarities(
    real: Sequence[Floats], synthetic: Sequence[Floats], threshold: float
) -> Floats:
    one, two = compute_pearson(real), compute_pearson(synthetic)
    return np.where(np.abs(one) > threshold, 1.0 - np.abs(one - two) / 2, np.nan)


def _score_contingencies(
    real: TableArrays, synthetic: TableArrays, threshold: float
) -> dict[Pair, float]:
    coded = {one.name: _code_column(one, two) for one, two in zip(real, synthetic, strict=True)}
    labels = {cells.name for cells in real if isinstance(cells, CategoricalCells)}
    return {
        (one, two): _contingency_similarity(coded[one], coded[two], threshold)
        for one, two in combinations(coded, 2)
        if one in labels or two in labels
    }


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """A column as codes from 0, nulls among them."""

    real: Integers
    synthetic: Integers

    @cached_property
    def size(self) -> int:
        """One more than the largest code."""
        return 1 + max(int(codes.max(initial=0)) for codes in (self.real, self.synthetic))


def _code_column(real: Cells, synthetic: Cells) -> _CodedColumn | None:
    tables = [
        discretize_values(cells.values) if isinstance(cells, NumericCells) else 1 + cells.values
        for cells in (real, synthetic)
    ]
    known = [codes for codes in tables if codes is not None]
    return _CodedColumn(*known) if len(known) == len(tables) else None


def _contingency_similarity(
    first: _CodedColumn | None, second: _CodedColumn | None, threshold: float
) -> float:
    if first is None or second is None:
        return math.nan
    shape = (first.size, second.size)
    real = count_contingency(first.real, second.real, shape)
    if threshold > 0 and not compute_cramers_v(real) > threshold:
        return math.nan
    synthetic = count_contingency(first.synthetic, second.synthetic, shape)
    return compute_overlap(real, synthetic) if real.total and synthetic.total else math.nan


def _average_scores(scores: Sequence[float]) -> float:
    known = [score for score in scores if not math.isnan(score)]
    return math.fsum(known) / len(known) if known else math.nan
