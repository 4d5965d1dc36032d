"""Exact histograms of raw cells, before there is a schema to encode rows by.

Privacy: for each column of a query, a row adds to at most one cell of one histogram, and
which one depends on that row's own cell alone. A row more or less so moves one cell by one.
With users, all rows of a user together are one vector of a given length at most
(`sum_user_vectors`). Counts are exact and private: only queries of `tabpe.measurement` ask.

Memory: the histograms and, of a list of values, all that occur with at most `LONGEST_VALUE` letters
each. How many these are decides nothing. With users also one number for each row and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import CODE, is_text
from tabpe.backends.users import BoundedUsers, sum_user_vectors
from tabpe.encoding import raw_cells
from tabpe.encoding.cells import read_microseconds
from tabpe.encoding.raw_cells import (
    KINDS,
    LONGEST_VALUE,
    MAGNITUDES,
    ClampedBins,
    EqualWidthBins,
    find_magnitude_cells,
)
from tabpe.io import TableSource
from tabpe.io.canonical import (
    DAY,
    EXACT_INTEGERS,
    NOT_LISTED,
    find_missing,
    find_values,
    flatten_column,
    read_instants,
    read_numbers,
    read_texts,
    read_times,
)
from tabpe.schema import Categorical, Temporal

Whole = NDArray[np.int64]
CellFinder = Callable[[pa.Array], Whole]
NOWHERE = NOT_LISTED


class RawColumnCounter:
    """Counts the cells of a table, column by column; one pass over the rows for each query.

    Args:
        source: The table.
        users: Which rows are kept, and whose they are; None if every row is its own user.
        moments: The columns of dates and times, as far as it matters for reading them. Their cells
            count as whole steps of their grid since 1970, or since midnight.

    Example:
        >>> from tabpe.io import open_source
        >>> counter = RawColumnCounter(open_source(pa.table({"ward": ["heart", "heart", "eye"]})))
        >>> counter.count_values({"ward": str})
        {'ward': {'eye': 1, 'heart': 2}}
    """

    def __init__(
        self,
        source: TableSource,
        users: BoundedUsers | None = None,
        moments: Mapping[str, Temporal] | None = None,
    ) -> None:
        self._source, self._users, self._moments = source, users, moments or {}
        self.scale = 1 if users is None else users.scale

    def count_rows(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        if self._users is not None:
            return np.array([self._users.count * self.scale])
        first = self._source.names[:1]
        return np.array([sum(batch.table.num_rows for batch in self._source.batches(first))])

    def count_kinds(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many cells of each column are of each kind."""
        return self._count_cells(dict.fromkeys(names, (KINDS, find_kind_cells)))

    def count_magnitudes(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many numbers of each column are of each sign and power of two."""
        return self._count_cells(
            {
                name: (MAGNITUDES, self._make_number_finder(name, find_magnitude_cells))
                for name in names
            }
        )

    def count_bins(self, columns: Mapping[str, EqualWidthBins | ClampedBins]) -> dict[str, Whole]:
        """Return how many numbers of each column are in each of its bins."""
        return self._count_cells(
            {
                name: (bins.count, self._make_number_finder(name, bins.find_cells))
                for name, bins in columns.items()
            }
        )

    def count_declared_values(self, columns: Mapping[str, Categorical]) -> dict[str, Whole]:
        """Return how many cells of each column hold each of its declared values."""
        return self._count_cells(
            {name: (column.size, _make_value_finder(column)) for name, column in columns.items()}
        )

    def count_values(self, columns: Mapping[str, type]) -> dict[str, dict[Any, int]]:
        """Return how often each value of each column occurs, in the order of the values.

        Args:
            columns: The columns, and whether their values are `str`, `int` or `float`.
        """
        found = {name: _ValueNumbering(kind) for name, kind in columns.items()}
        tallies = self._tally_columns({name: one.number_cells for name, one in found.items()})
        return {
            name: dict(
                sorted(
                    zip(
                        one.known,
                        tallies[name].compute_histogram(len(one.known)).tolist(),
                        strict=True,
                    )
                )
            )
            for name, one in found.items()
        }

    def _make_number_finder(
        self, name: str, cells: Callable[[NDArray[np.float64]], Whole]
    ) -> CellFinder:
        """Return what finds the cells of numbers; what is no number counts nowhere."""
        moments = self._moments.get(name)

        def found(array: pa.Array) -> Whole:
            values = read_numbers(array) if moments is None else _read_ticks(moments, array)
            missing = np.isnan(values)
            return np.where(missing, NOWHERE, cells(np.where(missing, 0.0, values)))

        return found

    def _count_cells(self, columns: Mapping[str, tuple[int, CellFinder]]) -> dict[str, Whole]:
        tallies = self._tally_columns({name: cells for name, (_, cells) in columns.items()})
        return {name: tallies[name].compute_histogram(size) for name, (size, _) in columns.items()}

    def _tally_columns(self, finders: Mapping[str, CellFinder]) -> dict[str, _HistogramTally]:
        tallies = {name: _HistogramTally(self.scale) for name in finders}
        for table, owners in self._read_rows(list(finders)):
            for name, cells in finders.items():
                tallies[name].add_batch(cells(flatten_column(table[name])), owners)
        return tallies

    def _read_rows(self, names: list[str]) -> Iterator[tuple[pa.Table, Whole | None]]:
        """Yield the rows that count, and whose they are."""
        row = owner = 0
        for batch in self._source.batches(names):
            if self._users is None:
                yield batch.table, None
                continue
            kept = batch.slice_mask(self._users.kept, row)
            table = batch.table.filter(pa.array(kept))
            yield table, self._users.owners[owner : owner + table.num_rows]
            row, owner = row + batch.table.num_rows, owner + table.num_rows


class _HistogramTally:
    """One histogram on its way through the batches."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._counts = np.zeros(0, dtype=np.int64)
        self._cells: list[NDArray[np.int32]] = []
        self._owners: list[Whole] = []

    def add_batch(self, cells: Whole, owners: Whole | None) -> None:
        """Count the rows of a batch; those that are `NOWHERE` do not count."""
        counting = cells != NOWHERE
        if owners is None:
            more = np.bincount(cells[counting], minlength=len(self._counts))
            more[: len(self._counts)] += self._counts
            self._counts = more
        else:
            self._cells.append(cells[counting].astype(np.int32))
            self._owners.append(owners[counting])

    def compute_histogram(self, size: int) -> Whole:
        """Return the histogram."""
        if self._cells:
            cells = np.concatenate(self._cells).astype(np.int64)
            return sum_user_vectors(np.concatenate(self._owners), cells, size, self._length)
        return np.pad(self._counts, (0, size - len(self._counts)))


class _ValueNumbering:
    """The different values of a column; each gets a number when it comes first."""

    def __init__(self, kind: type) -> None:
        self.known: dict[Any, int] = {}
        self._kind = kind

    def number_cells(self, array: pa.Array) -> Whole:
        """Return the number of the value of each cell. One too long for a category has none."""
        encoded = self._read_values(array).dictionary_encode()
        numbers = [self._assign_number(value) for value in encoded.dictionary.to_pylist()]
        return _fill_nulls(pc.take(pa.array(numbers, pa.int64()), encoded.indices))

    def _read_values(self, array: pa.Array) -> pa.Array:
        if self._kind is str:
            texts = read_texts(array)
            short = pc.less_equal(pc.utf8_length(texts), LONGEST_VALUE)
            return pc.if_else(short, texts, pa.scalar(None, pa.string()))
        values = read_numbers(array)
        wrong = ~np.isfinite(values)
        if self._kind is int:
            wrong |= (values != np.rint(values)) | (np.abs(values) > EXACT_INTEGERS)
            return pa.array(np.where(wrong, 0.0, values).astype(np.int64), mask=wrong)
        return pa.array(values + 0.0, mask=wrong)  # -0.0 is 0.0

    def _assign_number(self, value: Any) -> int:
        return self.known.setdefault(value, len(self.known))


def find_kind_cells(array: pa.Array) -> Whole:
    """Return the kind of each cell, as `tabpe.schema_inference.kinds` numbers them.

    Example:
        >>> cells = pa.array(["7", "1.25", "true", "x", " ", "007", None])
        >>> find_kind_cells(cells) - raw_cells.WHOLE
        array([ 0,  2, -5, -6, -7, -6, -7])
    """
    array = flatten_column(array)
    if is_text(array.type) or pa.types.is_dictionary(array.type):
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        of_values = _find_kinds(encoded.dictionary)
        found = pc.take(pa.array(of_values), encoded.indices)
        return np.asarray(pc.fill_null(found, raw_cells.EMPTY).to_numpy(zero_copy_only=False))
    return _find_kinds(array)


def _find_kinds(array: pa.Array) -> Whole:
    local, zoned, clock = (
        read_instants(array, zoned=False),
        read_instants(array, zoned=True),
        read_times(array),
    )
    midnight = pc.equal(_compute_remainder(local, DAY), 0)
    return _select_first_rule(
        [
            (pa.array(find_missing(array)), raw_cells.EMPTY),
            (midnight, raw_cells.DAY),
            (pc.is_valid(local), raw_cells.MOMENT),
            (pc.is_valid(zoned), raw_cells.ZONED),
            (pc.is_valid(clock), raw_cells.CLOCK),
        ],
        otherwise=_find_number_kinds(_read_true_numbers(array)),
    )


def _read_true_numbers(array: pa.Array) -> NDArray[np.float64]:
    """Return numbers; NaN for codes such as 007, which are no numbers."""
    values = read_numbers(array)
    if not is_text(array.type):
        return values
    coded = pc.match_substring_regex(pc.utf8_trim_whitespace(array), CODE)
    return np.where(pc.fill_null(coded, False).to_numpy(zero_copy_only=False), np.nan, values)  # noqa: FBT003


def _find_number_kinds(values: NDArray[np.float64]) -> Whole:
    """Return the kinds of numbers; NaN and infinity are none."""
    cells = np.full(len(values), raw_cells.MORE_DIGITS, dtype=np.int64)
    finite = np.isfinite(values)
    for digits in range(raw_cells.MOST_DIGITS, -1, -1):
        cells[finite & (np.round(values, digits) == values)] = raw_cells.WHOLE + digits
    cells[(values == 0) | (values == 1)] = raw_cells.BINARY
    cells[~finite] = raw_cells.OTHER
    return cells


def _make_value_finder(column: Categorical) -> CellFinder:
    return lambda array: find_values(array, column.values)


def _read_ticks(column: Temporal, array: pa.Array) -> NDArray[np.float64]:
    """Return dates and times as whole steps since 1970 or midnight; nan where they are none."""
    moments = read_microseconds(column, array)
    missing = pc.is_null(moments).to_numpy(zero_copy_only=False)
    whole = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False) // column.tick
    return np.where(missing, np.nan, whole.astype(np.float64))


def _compute_remainder(ticks: pa.Array, step: int) -> pa.Array:
    return pc.subtract(ticks, pc.multiply(pc.divide(ticks, step), step))


def _fill_nulls(places: pa.Array) -> Whole:
    filled = pc.fill_null(places.cast(pa.int64()), NOWHERE)
    whole: Whole = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return whole


def _select_first_rule(rules: Sequence[tuple[pa.Array, int]], otherwise: Whole) -> Whole:
    """Return for each cell what the first rule says that holds."""
    conditions = [
        pc.fill_null(rule, False).to_numpy(zero_copy_only=False)  # noqa: FBT003
        for rule, _ in rules
    ]
    return np.select(conditions, [kind for _, kind in rules], otherwise).astype(np.int64)
