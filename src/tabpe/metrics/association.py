"""How strongly columns go together, pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.contingency import contingency, corrected_cramers_v
from tabpe.metrics.correlation import pearson, standardised
from tabpe.metrics.view import NULL, Labels, Numbers, View

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
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
        return _known(self.synthetic) - _known(self.real)


@dataclass(frozen=True, eq=False)
class Association:
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

    def most_changed(self, most: int = 10) -> tuple[Change, ...]:
        """Return the pairs whose association differs most, worst first; none without real.

        Args:
            most: At most so many.

        Example:
            >>> columns, same = ("a", "b", "c"), np.eye(3)
            >>> together = np.array([[1, 0.8, 0.1], [0.8, 1, 0], [0.1, 0, 1]])
            >>> [change.columns for change in Association(columns, together, same).most_changed(2)]
            [('a', 'b'), ('a', 'c')]
        """
        if self.real is None:
            return ()
        pairs = combinations(range(len(self.columns)), 2)
        changes = [self._change(self.real, one, two) for one, two in pairs]
        return tuple(sorted(changes, key=lambda change: -abs(change.difference))[:most])

    def _change(self, real: Matrix, one: int, two: int) -> Change:
        names = (self.columns[one], self.columns[two])
        return Change(names, float(real[one, two]), float(self.synthetic[one, two]))


def association(real: View | None, synthetic: View) -> Association:
    """Return how strongly columns go together.

    Two numbers: Pearson correlation, -1 to 1. Two categories: Cramer's V with Bergsma's correction
    for chance, 0 to 1. A number and a category: the correlation ratio, 0 to 1, which is the root
    of the share of the number's variance that the category explains. Rows where one of the two is
    null are left out of the pair.

    NOT PRIVATE if `real` is given.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> tables = [pa.table({"age": [20, 20, 60, 60], "ill": ill})
        ...           for ill in ([False, False, True, True], [False, True, False, True])]
        >>> association(*views(schema, tables)).difference
        array([[ 0., -1.],
               [-1.,  0.]])
    """
    matrix = None if real is None else _matrix(real)
    return Association(synthetic.schema.names, matrix, _matrix(synthetic))


def correlation_ratio(values: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Return the root of the share of the variance of numbers that categories explain.

    NaN if one of the two is constant.

    Args:
        values: Numbers; NaN for a null.
        codes: Codes of the categories; negative for a null.

    Example:
        >>> correlation_ratio(np.array([1.0, 1, 5, 5]), np.array([0, 0, 1, 1]))
        1.0
    """
    return _explained(standardised(values), codes)


def _explained(deviations: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Return the correlation ratio of numbers that are standardised over the whole column."""
    both = ~np.isnan(deviations) & (codes >= 0)
    if not both.all():
        rows = np.flatnonzero(both)
        deviations, codes = deviations[rows], codes[rows]
        deviations = deviations - deviations.mean() if _varies(deviations) else 0.0 * deviations
    total = float(np.square(deviations).sum())
    if total == 0 or not _varies(codes):
        return math.nan
    counts, sums = np.bincount(codes), np.bincount(codes, weights=deviations)
    explained = float((sums**2 / np.maximum(counts, 1)).sum())
    return math.sqrt(min(1.0, explained / total))


def _varies(cells: NDArray[Any]) -> bool:
    return bool(len(cells) and cells.min() < cells.max())


def _matrix(view: View) -> Matrix:
    numbers = {at: cells.values for at, cells in enumerate(view) if isinstance(cells, Numbers)}
    labels = {at: cells.codes for at, cells in enumerate(view) if isinstance(cells, Labels)}
    matrix = np.full((len(view.columns), len(view.columns)), np.nan)
    matrix[np.ix_(list(numbers), list(numbers))] = pearson(list(numbers.values()))
    deviations = {at: standardised(values) for at, values in numbers.items()}
    for one, two in product(numbers, labels):
        matrix[one, two] = matrix[two, one] = _explained(deviations[one], labels[two])
    for one, two in combinations(labels, 2):
        matrix[one, two] = matrix[two, one] = _cramers_v(labels[one], labels[two])
    for at, codes in labels.items():
        matrix[at, at] = 1.0 if _varies(codes[codes >= 0]) else np.nan
    return matrix


def _cramers_v(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    shape = [int(codes.max(initial=NULL)) + 2 for codes in (first, second)]
    table = contingency(first + 1, second + 1, (shape[0], shape[1]))
    return corrected_cramers_v(table.without_first())


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value
