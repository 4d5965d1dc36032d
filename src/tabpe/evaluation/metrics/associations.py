"""How strongly columns go together, pair by pair.

How often the codes of two columns occur together, and what follows from it.

Pearson correlation of many columns at once, nulls left out pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.evaluation.table_arrays import NULL, CategoricalCells, NumericCells, TableArrays

# Up to so many cells a table is counted whole; beyond it the rows are sorted.
_MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """The cells of a contingency table that are not 0.

    Args:
        keys: Their places, row by row, in rising order.
        counts: How many rows of data each has.
        width: Number of columns of the table.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    width: int

    @property
    def total(self) -> int:
        """Number of rows of data."""
        return int(self.counts.sum())

    def drop_first(self) -> ContingencyTable:
        """Return the table without its first row and its first column."""
        rest = (self.keys >= self.width) & (self.keys % self.width > 0)
        return ContingencyTable(self.keys[rest], self.counts[rest], self.width)

    def compute_phi_squared(self) -> tuple[float, int, int]:
        """Return chi squared divided by the number of rows; the rows and columns of the table.

        Rows and columns without a count are not there.
        """
        if not len(self.keys):
            return 0.0, 0, 0
        row, column = np.divmod(self.keys, self.width)
        rows = np.bincount(row, weights=self.counts)
        columns = np.bincount(column, weights=self.counts)
        ratio = float((self.counts / rows[row] * self.counts / columns[column]).sum())
        present = [int(np.count_nonzero(sums)) for sums in (rows, columns)]
        return max(0.0, ratio - 1.0), present[0], present[1]


def count_contingency(
    first: NDArray[np.int64], second: NDArray[np.int64], shape: tuple[int, int]
) -> ContingencyTable:
    """Count how often each two codes occur together.

    Args:
        first: Codes from 0, one a row of data.
        second: Codes of the other column.
        shape: One more than the largest code that each could have.

    Example:
        >>> table = count_contingency(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3))
        >>> table.keys, table.counts
        (array([2, 3]), array([2, 1]))
    """
    height, width = shape
    joint = first * width + second
    if height * width > _MOST_CELLS:
        keys, counts = np.unique(joint, return_counts=True)
    else:
        whole = np.bincount(joint)
        keys = np.flatnonzero(whole)
        counts = whole[keys]
    return ContingencyTable(keys, counts, width)


def compute_cramers_v(table: ContingencyTable) -> float:
    """Return Cramer's V; NaN if one of the columns is constant.

    Example:
        >>> codes = np.array([0, 1, 0, 1])
        >>> compute_cramers_v(count_contingency(codes, codes, (2, 2)))
        1.0
    """
    phi_squared, rows, columns = table.compute_phi_squared()
    smaller = min(rows, columns) - 1
    return math.sqrt(phi_squared / smaller) if smaller > 0 else math.nan


def compute_corrected_cramers_v(table: ContingencyTable) -> float:
    """Return Cramer's V with Bergsma's correction; NaN if one of the columns is constant.

    Without it, columns with many categories seem to go together by chance. Of a column that has a
    category for each row nothing can be told: 0.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = count_contingency(rng.integers(0, 30, 200), rng.integers(0, 30, 200), (30, 30))
        >>> round(compute_cramers_v(table), 2), round(compute_corrected_cramers_v(table), 2)
        (0.37, 0.0)
    """
    phi_squared, rows, columns = table.compute_phi_squared()
    if min(rows, columns) <= 1:
        return math.nan
    by_chance = (rows - 1) * (columns - 1) / (table.total - 1)
    corrected = [size - 1 - (size - 1) ** 2 / (table.total - 1) for size in (rows, columns)]
    if min(corrected) <= 0:
        return 0.0
    return min(1.0, math.sqrt(max(0.0, phi_squared - by_chance) / min(corrected)))


def compute_overlap(one: ContingencyTable, two: ContingencyTable) -> float:
    """Return 1 less the total variation between the shares of cells.

    Example:
        >>> codes = np.array([0, 1])
        >>> same, other = (count_contingency(codes, which, (2, 2)) for which in (codes, codes[::-1]))
        >>> compute_overlap(same, same), compute_overlap(same, other)
        (1.0, 0.0)
    """
    keys = np.concatenate([one.keys, two.keys])
    shares = np.concatenate([one.counts / one.total, -(two.counts / two.total)])
    _, place = np.unique(keys, return_inverse=True)
    return float(1.0 - np.abs(np.bincount(place, weights=shares)).sum() / 2)


_ROWS_AT_ONCE = 8192
# Below this share of its second moment a variance that is the difference of two sums is too
# inexact, and is computed anew around the mean of the pair's own rows.
_CANCELLED = 1e-6


def compute_pearson(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the correlation of each pair of columns, over the rows where neither is null.

    NaN where one of the two does not vary over these rows.

    Args:
        columns: The cells of each column; NaN for a null.

    Example:
        >>> nan = float("nan")
        >>> compute_pearson([np.array([1.0, 2, 3, nan]), np.array([2.0, 4, 6, 5]), np.ones(4)]).round(9)
        array([[ 1.,  1., nan],
               [ 1.,  1., nan],
               [nan, nan, nan]])
    """
    products, sums, squares, counts = _sum_moments(
        [standardize_column(column) for column in columns]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = squares - sums**2 / counts
        covariances = products - sums * sums.T / counts
        matrix: NDArray[np.float64] = covariances / np.sqrt(variances * variances.T)
    inexact = ~(variances > _CANCELLED * squares)
    for one, two in np.argwhere(np.triu(inexact | inexact.T)):
        matrix[one, two] = matrix[two, one] = _correlate_pair(columns[one], columns[two])
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(matrix.diagonal()), np.nan, 1.0))
    return matrix


def standardize_column(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cells with mean 0, the largest of size 1; all 0 if they do not vary.

    Sums of squares of them neither overflow nor lose their digits.

    Args:
        column: The cells; NaN for a null.

    Example:
        >>> standardize_column(np.array([1e200, 3e200, np.nan]))
        array([-1.,  1., nan])
    """
    known = ~np.isnan(column)
    present = column[known]
    if not len(present) or present.min() == present.max():
        return column * 0.0
    # A power of two: no digit is lost, and no sum overflows.
    _, exponent = np.frexp(np.abs(present).max())
    centred = np.ldexp(present, -exponent)
    for _ in range(2):  # the first mean of numbers far from 0 is rounded
        centred -= centred.mean()
    deviations = np.full(len(column), np.nan)
    deviations[known] = centred / np.abs(centred).max()
    return deviations


def _sum_moments(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return sums over the rows where both are present: products, values, squares, ones.

    In row i and column j, the last three are about values of column i.
    """
    totals = np.zeros((4, len(columns), len(columns)))
    rows = len(columns[0]) if columns else 0
    for start in range(0, rows, _ROWS_AT_ONCE):
        block = np.array([column[start : start + _ROWS_AT_ONCE] for column in columns])
        present = (~np.isnan(block)).astype(np.float64)
        values = np.nan_to_num(block)
        totals[0] += values @ values.T
        for place, power in enumerate((values, values**2, present), start=1):
            totals[place] += power @ present.T
    return totals


def _correlate_pair(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    both = ~(np.isnan(one) | np.isnan(two))
    first, second = standardize_column(one[both]), standardize_column(two[both])
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else np.nan


Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class AssociationChange:
    """A pair of columns that goes together more, or less, than it should.

    Args:
        columns: Names of the columns.
        real: How strongly they go together in the real table; NaN where a column is constant.
        synthetic: The same in the synthetic table.
    """

    columns: tuple[str, str]
    real: float
    synthetic: float

    @property
    def difference(self) -> float:
        """Synthetic less real, a constant column counting as 0."""
        return _replace_nan(self.synthetic) - _replace_nan(self.real)


@dataclass(frozen=True, eq=False)
class AssociationMatrix:
    """The association of all pairs of columns.

    Args:
        columns: Names of the columns.
        real: The real matrix, -1 to 1; None in a public report. NaN where a column is constant.
        synthetic: The synthetic one.
    """

    columns: tuple[str, ...]
    real: Matrix | None
    synthetic: Matrix

    @property
    def difference(self) -> Matrix | None:
        """Synthetic less real, a constant column counting as 0; 0 of a column with itself."""
        if self.real is None:
            return None
        difference: Matrix = np.nan_to_num(self.synthetic) - np.nan_to_num(self.real)
        np.fill_diagonal(difference, 0.0)
        return difference

    def find_most_changed(self, most: int = 10) -> tuple[AssociationChange, ...]:
        """Return the pairs whose association differs most, worst first; none without real.

        Args:
            most: At most so many.

        Example:
            >>> columns, same = ("a", "b", "c"), np.eye(3)
            >>> together = np.array([[1, 0.8, 0.1], [0.8, 1, 0], [0.1, 0, 1]])
            >>> [change.columns for change in AssociationMatrix(columns, together, same).find_most_changed(2)]
            [('a', 'b'), ('a', 'c')]
        """
        if self.real is None:
            return ()
        pairs = combinations(range(len(self.columns)), 2)
        changes = [self._get_change(self.real, one, two) for one, two in pairs]
        return tuple(sorted(changes, key=lambda change: -abs(change.difference))[:most])

    def _get_change(self, real: Matrix, one: int, two: int) -> AssociationChange:
        names = (self.columns[one], self.columns[two])
        return AssociationChange(names, float(real[one, two]), float(self.synthetic[one, two]))


def measure_association(real: TableArrays | None, synthetic: TableArrays) -> AssociationMatrix:
    """Return how strongly columns go together.

    Two numbers: Pearson correlation, -1 to 1. Two categories: Cramer's V with Bergsma's correction
    for chance, 0 to 1. A number and a category: the correlation ratio, 0 to 1, which is the root
    of the share of the number's variance that the category explains. Rows where one of the two is
    null are left out of the pair.

    NOT PRIVATE if `real` is given.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> tables = [pa.table({"age": [20, 20, 60, 60], "ill": ill})
        ...           for ill in ([False, False, True, True], [False, True, False, True])]
        >>> measure_association(*build_table_arrays(schema, tables)).difference
        array([[ 0., -1.],
               [-1.,  0.]])
    """
    matrix = None if real is None else _build_matrix(real)
    return AssociationMatrix(synthetic.schema.names, matrix, _build_matrix(synthetic))


def compute_correlation_ratio(values: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Return the root of the share of the variance of numbers that categories explain.

    NaN if one of the two is constant.

    Args:
        values: Numbers; NaN for a null.
        codes: Codes of the categories; negative for a null.

    Example:
        >>> compute_correlation_ratio(np.array([1.0, 1, 5, 5]), np.array([0, 0, 1, 1]))
        1.0
    """
    return _compute_ratio(standardize_column(values), codes)


def _compute_ratio(deviations: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Return the correlation ratio of numbers that are standardised over the whole column."""
    both = ~np.isnan(deviations) & (codes >= 0)
    if not both.all():
        rows = np.flatnonzero(both)
        deviations, codes = deviations[rows], codes[rows]
        deviations = (
            deviations - deviations.mean() if _has_variation(deviations) else 0.0 * deviations
        )
    total = float(np.square(deviations).sum())
    if total == 0 or not _has_variation(codes):
        return math.nan
    counts, sums = np.bincount(codes), np.bincount(codes, weights=deviations)
    explained = float((sums**2 / np.maximum(counts, 1)).sum())
    return math.sqrt(min(1.0, explained / total))


def _has_variation(cells: NDArray[Any]) -> bool:
    return bool(len(cells) and cells.min() < cells.max())


def _build_matrix(view: TableArrays) -> Matrix:
    numbers = {at: cells.values for at, cells in enumerate(view) if isinstance(cells, NumericCells)}
    labels = {
        at: cells.codes for at, cells in enumerate(view) if isinstance(cells, CategoricalCells)
    }
    matrix = np.full((len(view.columns), len(view.columns)), np.nan)
    matrix[np.ix_(list(numbers), list(numbers))] = compute_pearson(list(numbers.values()))
    deviations = {at: standardize_column(values) for at, values in numbers.items()}
    for one, two in product(numbers, labels):
        matrix[one, two] = matrix[two, one] = _compute_ratio(deviations[one], labels[two])
    for one, two in combinations(labels, 2):
        matrix[one, two] = matrix[two, one] = _measure_cramers_v(labels[one], labels[two])
    for at, codes in labels.items():
        matrix[at, at] = 1.0 if _has_variation(codes[codes >= 0]) else np.nan
    return matrix


def _measure_cramers_v(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    shape = [int(codes.max(initial=NULL)) + 2 for codes in (first, second)]
    table = count_contingency(first + 1, second + 1, (shape[0], shape[1]))
    return compute_corrected_cramers_v(table.drop_first())


def _replace_nan(value: float) -> float:
    return 0.0 if math.isnan(value) else value
