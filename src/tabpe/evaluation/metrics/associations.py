"""Association of columns, pair by pair.

Contingency tables and Cramer's V of two categories, Pearson correlation of many numbers at once,
and the correlation ratio of a number and a category. Nulls are left out pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.evaluation.table_arrays import (
    NULL,
    CategoricalCells,
    Floats,
    Integers,
    NumericCells,
    TableArrays,
)

# Up to so many cells a table is counted whole; beyond it the rows are sorted.
_MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """The cells of a contingency table that are not 0.

    Args:
        keys: Their flat indices, in rising order.
        counts: Number of rows of data in each.
        width: Number of columns of the table.
    """

    keys: Integers
    counts: Integers
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
        """Return chi squared over the number of rows, and the numbers of rows and columns.

        Rows and columns of the table that are all 0 do not count.
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
    first: Integers, second: Integers, shape: tuple[int, int]
) -> ContingencyTable:
    """Count how often each two codes occur together; `shape` has the number of codes of each."""
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
    """Return Cramer's V; NaN if one of the columns is constant."""
    phi_squared, rows, columns = table.compute_phi_squared()
    smaller = min(rows, columns) - 1
    return math.sqrt(phi_squared / smaller) if smaller > 0 else math.nan


def compute_corrected_cramers_v(table: ContingencyTable) -> float:
    """Return Cramer's V with Bergsma's correction; NaN if one of the columns is constant.

    Without it, columns with many categories seem associated where they are not. 0 for a column with
    a category for each row, which shows nothing.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = count_contingency(rng.integers(0, 30, 200), rng.integers(0, 30, 200), (30, 30))
        >>> round(compute_cramers_v(table), 2), round(compute_corrected_cramers_v(table), 2)
        (0.37, 0.0)
    """
    phi_squared, rows, columns = table.compute_phi_squared()
    if min(rows, columns) <= 1:
        return math.nan
    expected = (rows - 1) * (columns - 1) / (table.total - 1)
    corrected = [size - 1 - (size - 1) ** 2 / (table.total - 1) for size in (rows, columns)]
    if min(corrected) <= 0:
        return 0.0
    return min(1.0, math.sqrt(max(0.0, phi_squared - expected) / min(corrected)))


def compute_overlap(one: ContingencyTable, two: ContingencyTable) -> float:
    """Return 1 minus the total variation between the shares of cells."""
    keys = np.concatenate([one.keys, two.keys])
    shares = np.concatenate([one.counts / one.total, -(two.counts / two.total)])
    _, index = np.unique(keys, return_inverse=True)
    return float(1.0 - np.abs(np.bincount(index, weights=shares)).sum() / 2)


_ROWS_AT_ONCE = 8192
# Below this share of its second moment a variance that is the difference of two sums is too
# inexact, and is computed anew around the mean of the pair's own rows.
_CANCELLED = 1e-6


def compute_pearson(columns: Sequence[Floats]) -> Floats:
    """Return the correlation of each pair of columns, over the rows where neither is null.

    NaN where one of the two is constant over these rows.

    Example:
        >>> first, second = np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 6, 5])
        >>> compute_pearson([first, second, np.ones(4)]).round(9)
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
        matrix: Floats = covariances / np.sqrt(variances * variances.T)
    inexact = ~(variances > _CANCELLED * squares)
    for one, two in np.argwhere(np.triu(inexact | inexact.T)):
        matrix[one, two] = matrix[two, one] = _correlate_pair(columns[one], columns[two])
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(matrix.diagonal()), np.nan, 1.0))
    return matrix


def standardize_column(column: Floats) -> Floats:
    """Return the cells with mean 0 and largest absolute value 1; all 0 if they are constant.

    Their sums of squares neither overflow nor lose digits.
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


def _sum_moments(columns: Sequence[Floats]) -> Floats:
    """Return sums over the rows where both columns are present: products, values, squares, ones.

    At (i, j) the sums of values and squares are of column i.
    """
    totals = np.zeros((4, len(columns), len(columns)))
    rows = len(columns[0]) if columns else 0
    for start in range(0, rows, _ROWS_AT_ONCE):
        block = np.array([column[start : start + _ROWS_AT_ONCE] for column in columns])
        present = (~np.isnan(block)).astype(np.float64)
        values = np.nan_to_num(block)
        totals[0] += values @ values.T
        for index, power in enumerate((values, values**2, present), start=1):
            totals[index] += power @ present.T
    return totals


def _correlate_pair(one: Floats, two: Floats) -> float:
    both = ~(np.isnan(one) | np.isnan(two))
    first, second = standardize_column(one[both]), standardize_column(two[both])
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else np.nan


@dataclass(frozen=True)
class AssociationChange:
    """The association of two columns.

    Args:
        columns: Their names.
        real: Their association in the real table; NaN if a column is constant, None if public.
        synthetic: The same in the synthetic table.
        difference: Synthetic minus real, where 0 stands for NaN; None if public.
    """

    columns: tuple[str, str]
    real: float | None
    synthetic: float
    difference: float | None


@dataclass(frozen=True, eq=False)
class AssociationMatrix:
    """The association of all pairs of columns.

    Args:
        columns: Names of the columns.
        real: The real matrix, -1 to 1; None in a public report. NaN where a column is constant.
        synthetic: The synthetic matrix.
    """

    columns: tuple[str, ...]
    real: Floats | None
    synthetic: Floats

    @property
    def difference(self) -> Floats | None:
        """Synthetic minus real; 0 for a constant column, and on the diagonal."""
        if self.real is None:
            return None
        difference: Floats = np.nan_to_num(self.synthetic) - np.nan_to_num(self.real)
        np.fill_diagonal(difference, 0.0)
        return difference

    @property
    def strength(self) -> Floats:
        """Size of the difference; of the synthetic association without real rows."""
        difference = self.difference
        return np.abs(np.nan_to_num(self.synthetic if difference is None else difference))

    def find_most_changed(self, most: int = 15) -> list[AssociationChange]:
        """Return the pairs that changed most; without real rows the most strongly associated."""
        rows, columns = np.triu_indices(len(self.columns), k=1)
        first = np.argsort(-self.strength[rows, columns], kind="stable")[:most]
        real, difference = self.real, self.difference
        return [
            AssociationChange(
                (self.columns[i], self.columns[j]),
                None if real is None else float(real[i, j]),
                float(self.synthetic[i, j]),
                None if difference is None else float(difference[i, j]),
            )
            for i, j in zip(rows[first].tolist(), columns[first].tolist(), strict=True)
        ]


def measure_association(real: TableArrays | None, synthetic: TableArrays) -> AssociationMatrix:
    """Return the association of each pair of columns.

    Two numbers: Pearson correlation, -1 to 1. Two categories: Cramer's V with Bergsma's correction,
    0 to 1. A number and a category: the correlation ratio, 0 to 1, which is the root of the share
    of the number's variance that the category explains. Rows where one of the two is null are left
    out of the pair.

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


def compute_correlation_ratio(values: Floats, codes: Integers) -> float:
    """Return the root of the share of the variance of numbers that categories explain.

    NaN if one of the two is constant.
    """
    return _compute_ratio(standardize_column(values), codes)


def _compute_ratio(deviations: Floats, codes: Integers) -> float:
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


def _build_matrix(view: TableArrays) -> Floats:
    numbers, labels = (
        {at: cells.values for at, cells in enumerate(view) if isinstance(cells, kind)}
        for kind in (NumericCells, CategoricalCells)
    )
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


def _measure_cramers_v(first: Integers, second: Integers) -> float:
    shape = [int(codes.max(initial=NULL)) + 2 for codes in (first, second)]
    table = count_contingency(first + 1, second + 1, (shape[0], shape[1]))
    return compute_corrected_cramers_v(table.drop_first())
