"""Tables as arrays, which metrics read.

`TableArrays` holds a table column by column, by a schema. Unlike in the synthesizer, nothing is
clamped, refused or filled in: a null is a null, a number beyond its bounds stays where it is, and a
category that is not declared gets a code of its own. A metric should show what is wrong with a
table. The other parts derive from it what metrics need:

- `IntegerCodes`: a column, or several at once, as one integer per row.
- `DistanceAxis`: columns of two tables as axes of one space. With `codes`, as in the paper's code,
  a category is its position in the list of names, scaled to [0, 1]: neighbours in the list are
  close, whatever they mean. With `mismatch`, two categories that differ are 1 apart. The distance
  of two rows is then Euclidean, with each category one-hot and divided by the square root of 2. A
  null is a category like any other, and a number is 1 away from a null. So that this is a metric,
  numbers are never further apart than 2, by way of a null; only numbers far beyond their bounds
  are. Each column is then a metric by itself, and so is the Euclidean norm of their distances.
- `RowVectorizer`: rows as vectors for embeddings. A number is standardised by the mean and
  deviation of the rows that are learned from, so that columns have about the same weight. First it
  is clipped to its declared bounds, widened by their distance on either side, and then to
  `FURTHEST` deviations: an outlier stays one, but no cell alone decides where all others lie. A
  null becomes the mean, with an indicator of its own. A category is one-hot, with one more
  position for null. Tables can be wide: all categories share one number of positions, as large as
  `WIDTH` allows, and a column with more names takes several digits, each with a share of its
  weight. No two names are written alike, though some have a digit in common.
- `encode_features` and its kin: features for predictors, by codes for trees or by coordinates for
  distances. `LabeledExamples`: rows whose label is known, to train and test on.
- `choose_edges`: the bins of a histogram. They divide the declared range, widened to cells that
  lie outside. If nearly all cells of every table lie in a small part of that, as incomes do below
  one fortune, the bins divide that part, and the first and the last one also hold what lies
  beyond. Numbers with declared decimals get bins of equally many values each, and where these are
  few, a bin for each value. Edges depend on the given cells: they are as private as these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.encoding.cells import read_microseconds
from tabpe.errors import DataError, SchemaError, column_hint
from tabpe.io.canonical import (
    NOT_LISTED,
    find_missing,
    find_values,
    flatten_column,
    is_nested,
    read_booleans,
    read_numbers,
    read_raw_texts,
)
from tabpe.schema import Boolean, Categorical, Float, Id, Integer, Schema, Temporal
from tabpe.schema.columns import EXACT_INTEGERS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NULL = -1
FAR = 1e6  # declared ranges


@dataclass(frozen=True, eq=False)
class _ColumnCells:
    """The cells of a column: numbers with NaN for a null, or codes with `NULL`."""

    column: Any
    values: NDArray[Any]

    @property
    def name(self) -> str:
        """Name of the column."""
        return str(self.column.name)

    @property
    def missing(self) -> Booleans:
        """Which cells are null."""
        is_null = np.isnan if self.values.dtype.kind == "f" else partial(np.equal, NULL)
        return np.asarray(is_null(self.values))

    @property
    def present(self) -> NDArray[Any]:
        """The cells that are not null."""
        return self.values[~self.missing]

    def take(self, which: NDArray[Any]) -> Self:
        """Return the cells at the given indices, or where a mask is true."""
        return replace(self, values=self.values[which])


@dataclass(frozen=True, eq=False)
class NumericCells(_ColumnCells):
    """A column of numbers.

    Args:
        column: Its declaration; for a date or time, an integer column of steps.
        values: The cells; NaN for a null.
        moments: The declaration of the date or time that steps count; None for a number.
    """

    column: Integer | Float
    moments: Temporal | None = None

    @property
    def scaled(self) -> Floats:
        """The cells, with the declared bounds at 0 and 1; 0 for a constant column.

        A number further out than `FAR` is clipped to it, so that its square does not overflow.
        """
        width = self.column.max - self.column.min
        with np.errstate(over="ignore"):
            scaled = (self.values - self.column.min) / (width or 1.0)
        return np.clip(scaled, -FAR, FAR)


@dataclass(frozen=True, eq=False)
class CategoricalCells(_ColumnCells):
    """A column of categories.

    Args:
        column: Its declaration.
        values: The code of each cell; `NULL` for a null.
        names: The name of each code: the declared values in order, then undeclared values that
            some table holds.
    """

    column: Categorical | Boolean
    names: tuple[str, ...]


Cells = NumericCells | CategoricalCells


@dataclass(frozen=True, eq=False)
class TableArrays:
    """A table as arrays.

    Args:
        schema: The schema.
        columns: The cells of each column, in the order of the schema.

    Example:
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> table = pa.table({"age": [25, None], "ill": [True, False]})
        >>> view, = build_table_arrays(schema, [table])
        >>> view["age"].scaled, view["ill"].values
        (array([0.25,  nan]), array([1, 0]))
    """

    schema: Schema
    columns: tuple[Cells, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def __iter__(self) -> Iterator[Cells]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Cells:
        return self.columns[self.schema.names.index(name)]

    @property
    def label(self) -> Cells | None:
        """The cells of the label, if there is one."""
        return None if self.schema.target is None else self[self.schema.target]

    @property
    def features(self) -> tuple[Cells, ...]:
        """All columns but the label."""
        return tuple(cells for cells in self.columns if cells.name != self.schema.target)

    def take(self, which: NDArray[Any]) -> TableArrays:
        """Return the rows at the given indices, or where a mask is true."""
        return TableArrays(self.schema, tuple(cells.take(which) for cells in self.columns))

    def sample_rows(self, rows: int | None, rng: np.random.Generator) -> TableArrays:
        """Return at most `rows` of the rows, drawn without replacement, in their order."""
        if rows is None or len(self) <= rows:
            return self
        return self.take(np.sort(rng.choice(len(self), rows, replace=False)))


def build_table_arrays(schema: Schema, tables: Sequence[pa.Table]) -> list[TableArrays]:
    """Return the tables as arrays in which the same code means the same category; without ids.

    Raises:
        DataError: If a table lacks a declared column or has it twice, or holds text where numbers
            are declared, or nested values, or bytes that are no text.

    Example:
        >>> schema = Schema((Categorical("ward", ("heart", "eye")),))
        >>> tables = [pa.table({"ward": ["eye"]}), pa.table({"ward": ["skin"]})]
        >>> one, two = build_table_arrays(schema, tables)
        >>> one["ward"].values, two["ward"].values, one["ward"].names
        (array([1]), array([2]), ('heart', 'eye', 'skin'))
    """
    schema = replace(schema, columns=tuple(c for c in schema.columns if not isinstance(c, Id)))
    for table in tables:
        _check_names(schema, table)
    columns = [_read_column(schema, name, tables) for name in schema.names]
    return [TableArrays(schema, tuple(cells)) for cells in zip(*columns, strict=True)]


def _check_names(schema: Schema, table: pa.Table) -> None:
    for name in schema.names:
        if name not in table.schema.names:
            hint = column_hint(name, table.schema.names, schema.names)
            raise DataError(f"the table has no column {name!r}: {hint}")
        if table.schema.names.count(name) > 1:
            raise DataError(f"the table has more than one column {name!r}: rename the others.")


def _read_column(schema: Schema, name: str, tables: Sequence[pa.Table]) -> Sequence[Cells]:
    column, arrays = schema[name], [_flatten_cells(name, table[name]) for table in tables]
    if isinstance(column, (Integer, Float)):
        return [NumericCells(column, _parse_numbers(name, array)) for array in arrays]
    if isinstance(column, Temporal):
        steps = Integer(name, 0, column.steps)
        return [NumericCells(steps, _count_steps(column, array), column) for array in arrays]
    if not isinstance(column, (Categorical, Boolean)):
        raise SchemaError(f"column {name!r} is of a type that can not be evaluated.")
    texts = [_name_cells(column, array) for array in arrays]
    names = _list_names(column, texts)
    known = pa.array(names, pa.string())
    return [CategoricalCells(column, _encode_texts(text, known), names) for text in texts]


def _flatten_cells(name: str, cells: pa.ChunkedArray) -> pa.Array:
    if is_nested(cells.type):
        raise DataError(f"column {name!r} holds lists or the like: expected plain values.")
    return flatten_column(cells, name)


def _parse_numbers(name: str, array: pa.Array) -> Floats:
    numbers = read_numbers(array)
    if (np.isnan(numbers) & ~find_missing(array)).any():
        raise DataError(f"column {name!r} is declared a number and holds something else.")
    if np.isinf(numbers).any():
        raise DataError(f"column {name!r} holds an infinite number: correct it.")
    return numbers


def _count_steps(column: Temporal, array: pa.Array) -> Floats:
    """Return dates or times as steps after the first declared one, also beyond the bounds."""
    times = read_microseconds(column, array)
    if times.null_count > find_missing(array).sum():
        raise DataError(
            f"column {column.name!r} is declared a {column.type_name} and holds something else."
        )
    since = times.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    steps: Floats = np.floor((since - column.first) / column.tick)
    return steps


def _name_cells(column: Categorical | Boolean, array: pa.Array) -> pa.Array:
    """Return cells as the names of their categories; null for a null."""
    if isinstance(column, Boolean):
        codes = read_booleans(array).astype(np.int64)
    else:
        codes = find_values(array, column.values)
    listed = [str(value) for value in column.values]
    known = pa.array(codes, mask=codes == NOT_LISTED)
    by_name = pc.take(pa.array(listed, pa.string()), known)
    others = pc.if_else(pa.array(find_missing(array)), None, read_raw_texts(array))
    return pc.coalesce(by_name, others)


def _list_names(column: Categorical | Boolean, texts: Sequence[pa.Array]) -> tuple[str, ...]:
    declared = [str(value) for value in column.values]
    found = {value for text in texts for value in pc.unique(text).to_pylist() if value is not None}
    return (*declared, *sorted(found.difference(declared)))


def _encode_texts(text: pa.Array, known: pa.Array) -> Integers:
    found = pc.fill_null(pc.index_in(text, value_set=known), NULL)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class IntegerCodes:
    """One integer code per row.

    Args:
        values: The codes, from 0.
        base: All of them are below it.
    """

    values: Integers
    base: int

    @classmethod
    def from_distinct(cls, cells: NDArray[np.generic]) -> IntegerCodes:
        """Number the distinct values in rising order; all NaN are one."""
        distinct, codes = np.unique(cells, return_inverse=True)
        return cls(codes.astype(np.int64), len(distinct))

    def take(self, which: NDArray[np.generic]) -> IntegerCodes:
        """Return the codes of some rows."""
        return IntegerCodes(self.values[which], self.base)


def combine_codes(columns: Sequence[IntegerCodes]) -> IntegerCodes:
    """Return one code per row: rows have the same one if they agree in all columns.

    Columns are digits of it. Where these exceed a machine word, the codes so far are renumbered.

    Example:
        >>> ward, sex = IntegerCodes(np.array([2, 0, 2]), 3), IntegerCodes(np.array([1, 0, 1]), 2)
        >>> combine_codes([ward, sex]).values, combine_codes([ward, sex]).base
        (array([5, 0, 5]), 6)
    """
    joint, *others = columns
    for column in others:
        if joint.base * column.base > _LARGEST:
            joint = IntegerCodes.from_distinct(joint.values)
        joint = IntegerCodes(joint.values * column.base + column.values, joint.base * column.base)
    return joint


_FURTHEST = 2.0


@dataclass(frozen=True, eq=False)
class DistanceAxis:
    """A column of two tables, one after the other.

    Args:
        positions: Coordinate of the cell of each row; NaN for a null. Codes on a `nominal` axis.
        digits: The same code for the same cell.
        nominal: Whether cells either are equal or 1 apart.
        bent: Whether a null or an outlier makes the distance of two cells smaller than the
            difference of their positions.
    """

    positions: Floats
    digits: IntegerCodes
    nominal: bool = False
    bent: bool = False

    @property
    def straight(self) -> bool:
        """Whether distances are differences of positions."""
        return not (self.nominal or self.bent)


def build_axes(
    real: TableArrays, synthetic: TableArrays, categories: str
) -> tuple[DistanceAxis, ...]:
    """Return the columns of two tables as axes, for `codes` or `mismatch`."""
    make = _make_code_axis if categories == "codes" else _make_mismatch_axis
    return tuple(make(one, two) for one, two in zip(real, synthetic, strict=True))


def compute_distances(axes: Sequence[DistanceAxis], some: Integers, others: Integers) -> Floats:
    """Return the distance of each row of `some` to each of `others`."""
    from scipy.spatial.distance import cdist

    straight = [axis for axis in axes if axis.straight]
    if len(straight) == len(axes):
        return np.asarray(cdist(_stack_positions(axes, some), _stack_positions(axes, others)))
    squared = np.zeros((len(some), len(others)))
    if straight:
        squared += cdist(
            _stack_positions(straight, some), _stack_positions(straight, others), "sqeuclidean"
        )
    for axis in axes:
        if not axis.straight:
            squared += _square_gaps(axis, some, others)
    return np.sqrt(squared, out=squared)


def _stack_positions(axes: Sequence[DistanceAxis], rows: Integers) -> Floats:
    return np.stack([axis.positions[rows] for axis in axes], axis=1)


def _square_gaps(axis: DistanceAxis, some: Integers, others: Integers) -> Floats | Booleans:
    if axis.nominal:
        differ: Booleans = np.not_equal.outer(axis.digits.values[some], axis.digits.values[others])
        return differ
    one, two = axis.positions[some], axis.positions[others]
    gap = np.minimum(np.abs(np.subtract.outer(one, two)), _FURTHEST)
    here, there = np.isnan(one), np.isnan(two)
    gap[here] = gap[:, there] = 1.0
    gap[np.ix_(here, there)] = 0.0
    return np.square(gap)


def _make_code_axis(real: Cells, synthetic: Cells) -> DistanceAxis:
    positions = np.concatenate([_scale_cells(real), _scale_cells(synthetic)])
    return DistanceAxis(positions, IntegerCodes.from_distinct(positions))


def _scale_cells(cells: Cells) -> Floats:
    if isinstance(cells, NumericCells):
        return cells.scaled
    last = max(1, len(cells.names) - 1)
    return np.where(cells.missing, np.nan, cells.values / last)


def _make_mismatch_axis(real: Cells, synthetic: Cells) -> DistanceAxis:
    if isinstance(real, CategoricalCells) and isinstance(synthetic, CategoricalCells):
        codes = np.concatenate([real.values, synthetic.values])
        return DistanceAxis(
            codes.astype(np.float64), IntegerCodes.from_distinct(codes), nominal=True
        )
    line = _make_code_axis(real, synthetic)
    highest = line.positions.max(initial=0.0)
    lowest = line.positions.min(initial=0.0)
    # With a null the comparison is false. To call a straight axis bent costs time only.
    return DistanceAxis(line.positions, line.digits, bent=not highest - lowest <= _FURTHEST)


def refuse_empty(tables: Sequence[TableArrays]) -> None:
    """Raise a `DataError` if a table has no rows."""
    if not all(len(table) for table in tables):
        raise DataError("a table has no rows: there is nothing to compare; give at least one row.")


def assign_row_ids(tables: Sequence[TableArrays]) -> list[Integers]:
    """Return an integer for each row of each table, the same where rows are equal.

    Two cells are equal if both are null, or both hold the same number or category. The integers
    are consecutive from 0.
    """
    lengths = [len(table) for table in tables]
    columns = [
        np.concatenate([_get_bits(cells) for cells in same]) for same in zip(*tables, strict=True)
    ]
    rows = np.ascontiguousarray(np.column_stack(columns))
    packed = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    ids = np.unique(packed, return_inverse=True)[1]
    return np.split(ids.astype(np.int64), np.cumsum(lengths)[:-1])


def _get_bits(cells: Cells) -> Integers:
    """Return integers that are equal where cells are."""
    if not isinstance(cells, NumericCells):
        return cells.values
    one_zero = cells.values + 0.0  # -0.0 + 0.0 is 0.0
    return np.where(cells.missing, np.nan, one_zero).view(np.int64)


WIDTH = 4096
FURTHEST = 5.0
_LARGEST_BASE = 64
_LEAST_DEVIATION = 1e-3  # of the declared range: what differs less is rounding, not spread


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """Rows as arrays.

    Args:
        numbers: The standardised numbers, one row each.
        digits: The value of each digit of each category.
    """

    numbers: NDArray[np.float32]
    digits: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, which: Integers) -> RowFeatures:
        """Return the rows at the given indices."""
        return RowFeatures(self.numbers[which], self.digits[which])


@dataclass(frozen=True, eq=False)
class RowVectorizer:
    """Encoder of single rows as vectors.

    Args:
        columns: Names of the encoded columns.
        means: Mean of each number, where 0 and 1 are the declared bounds.
        deviations: Standard deviation of each number.
        marked: Names of the numbers that have a null indicator.
        lengths: Number of digits of each category, then of each null indicator.
        base: Number of values of a digit.
    """

    columns: tuple[str, ...]
    means: Floats
    deviations: Floats
    marked: frozenset[str]
    lengths: tuple[int, ...]
    base: int

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weight of each digit; those of one column sum to 1."""
        each = np.repeat(1 / np.array(self.lengths, np.float32), self.lengths)
        return each.astype(np.float32)

    @property
    def width(self) -> int:
        """Length of a row as a vector."""
        return len(self.means) + sum(self.lengths) * self.base

    def __call__(self, view: TableArrays) -> RowFeatures:
        """Return rows as arrays."""
        cells = [view[name] for name in self.columns]
        numbers = [_clip_scaled(column) for column in cells if isinstance(column, NumericCells)]
        scaled = (_stack_columns(numbers, len(view)) - self.means) / self.deviations
        scaled = np.nan_to_num(np.clip(scaled, -FURTHEST, FURTHEST), nan=0.0)
        codes = zip(_iterate_codes(cells, self.marked), self.lengths, strict=True)
        digits = _stack_columns(
            [code // self.base**n % self.base for (code, _), count in codes for n in range(count)],
            len(view),
        )
        return RowFeatures(scaled.astype(np.float32), digits.astype(np.int64))

    def to_dense(self, features: RowFeatures) -> NDArray[np.float32]:
        """Return rows as vectors, in which two categories that differ are sqrt(2) apart."""
        rows, count = len(features), features.digits.shape[1]
        hot = np.zeros((rows, count, self.base), np.float32)
        np.put_along_axis(hot, features.digits[..., None], 1.0, axis=2)
        hot *= np.sqrt(self.weights)[:, None]
        return np.hstack([features.numbers, hot.reshape(rows, -1)])


def fit_vectorizer(
    tables: Sequence[TableArrays], *, columns: Sequence[str] | None = None
) -> RowVectorizer:
    """Return a vectorizer of rows, standardised by the first table.

    Of the other tables it matters only which numbers have a null. None may be empty.
    """
    refuse_empty(tables)
    first = tables[0]
    names = tuple(first.schema.names if columns is None else columns)
    cells = [first[name] for name in names]
    marked = frozenset(name for table in tables for name in names if table[name].missing.any()) & {
        column.name for column in cells if isinstance(column, NumericCells)
    }
    sizes = [size for _, size in _iterate_codes(cells, marked)]
    base = _choose_base(sizes)
    spread = [_mean_and_deviation(column) for column in cells if isinstance(column, NumericCells)]
    lengths = tuple(_count_digits(size, base) for size in sizes)
    means, deviations = np.array(spread).reshape(-1, 2).T
    return RowVectorizer(names, means, deviations, marked, lengths, base)


def _mean_and_deviation(cells: NumericCells) -> tuple[float, float]:
    clipped = _clip_scaled(cells)
    present = clipped[~cells.missing]
    if not present.size or np.ptp(present) == 0:
        return (float(present[0]) if present.size else 0.5), 1.0
    return float(present.mean()), max(float(present.std()), _LEAST_DEVIATION)


def _clip_scaled(cells: NumericCells) -> Floats:
    return np.clip(cells.scaled, -1.0, 2.0)


def _iterate_codes(
    cells: Sequence[Cells], marked: frozenset[str]
) -> Iterator[tuple[Integers, int]]:
    """Yield the codes of each category (0 for null) and their number; then null indicators."""
    for column in cells:
        if isinstance(column, CategoricalCells):
            yield column.values + 1, len(column.names) + 1
    for column in cells:
        if column.name in marked:
            yield column.missing.astype(np.int64), 2


def _choose_base(sizes: Sequence[int]) -> int:
    """Return the largest base for which all digits fit `WIDTH`; at least 2."""
    base = max(2, min(_LARGEST_BASE, max(sizes, default=2)))
    while base > 2 and base * sum(_count_digits(size, base) for size in sizes) > WIDTH:  # noqa: PLR2004
        base = max(2, base // 2)
    return base


def _count_digits(size: int, base: int) -> int:
    return next(length for length in itertools.count(1) if base**length >= size)


def _stack_columns(columns: Sequence[NDArray[Any]], rows: int) -> NDArray[Any]:
    return np.column_stack(columns) if columns else np.empty((rows, 0))


MOST_LISTED = 255
MOST_COORDINATES = 4096
FARTHEST = 10.0
BELOW = -1.0


def is_listed(cells: Cells) -> bool:
    """Whether gradient boosting can split a column by sets of its values."""
    return isinstance(cells, CategoricalCells) and len(cells.names) <= MOST_LISTED


def encode_features(features: Sequence[Cells]) -> Floats:
    """Return one number per feature; NaN for a null.

    Example:
        >>> age = NumericCells(Integer("age", 0, 100), np.array([25.0, np.nan]))
        >>> ill = CategoricalCells(Boolean("ill"), np.array([1, -1]), ("False", "True"))
        >>> encode_features([age, ill])
        array([[0.25, 1.  ],
               [ nan,  nan]])
    """
    return np.column_stack(
        [
            np.where(cells.missing, np.nan, cells.values)
            if isinstance(cells, CategoricalCells)
            else _clip_numbers(cells)
            for cells in features
        ]
    )


def encode_filled_features(features: Sequence[Cells]) -> Floats:
    """Return one number per feature; for a null one that is below all declared values."""
    codes = encode_features(features)
    return np.where(np.isnan(codes), BELOW, codes)


def encode_for_distances(features: Sequence[Cells]) -> NDArray[np.float32]:
    """Return coordinates whose squared distance sums the differences of columns.

    A number adds the square of its difference over its range, another category adds 1, as does a
    null against a value. Many categories share a few coordinates, so that the space stays small.
    """
    lists = sum(isinstance(cells, CategoricalCells) for cells in features)
    most = max(2, min(MOST_LISTED, MOST_COORDINATES // max(1, lists)))
    return np.column_stack([_place_cells(cells, most) for cells in features])


def _clip_numbers(cells: NumericCells) -> Floats:
    """Return scaled numbers, clipped so that no outlier outweighs everything else."""
    return np.clip(cells.scaled, -FARTHEST, FARTHEST)


def _place_cells(cells: Cells, most: int) -> NDArray[np.float32]:
    if isinstance(cells, CategoricalCells):
        return _encode_one_hot(cells.values, min(most, len(cells.names)))
    middle = np.where(cells.missing, 0.5, _clip_numbers(cells))
    return np.column_stack([middle, cells.missing]).astype(np.float32)


def _encode_one_hot(codes: Integers, size: int) -> NDArray[np.float32]:
    """Return codes as corners of a simplex with edges of length 1; the last is for nulls."""
    corner = np.where(codes < 0, size, codes % size)
    hot = np.zeros((len(codes), size + 1), dtype=np.float32)
    hot[np.arange(len(codes)), corner] = np.sqrt(0.5)
    return hot


HELD_OUT = 0.3


@dataclass(frozen=True, eq=False)
class LabeledExamples:
    """Rows with features and a target.

    Args:
        features: The cells of all other columns.
        target: The code of a class, or a number scaled by its bounds.
        classes: Number of possible classes; None for a number.
    """

    features: tuple[Cells, ...]
    target: NDArray[Any]
    classes: int | None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def present(self) -> Integers:
        """The classes that occur, in rising order."""
        return np.unique(self.target)

    def take(self, which: NDArray[Any]) -> LabeledExamples:
        """Return the rows at the given indices, or where a mask is true."""
        features = tuple(cells.take(which) for cells in self.features)
        return replace(self, features=features, target=self.target[which])

    def select_features(self, keep: Sequence[bool]) -> LabeledExamples:
        """Return the same rows with some of the features."""
        return replace(self, features=tuple(itertools.compress(self.features, keep)))

    def sample_rows(self, rows: int | None, rng: np.random.Generator) -> LabeledExamples:
        """Return at most `rows` of the rows, drawn without replacement, in their order."""
        if rows is None or len(self) <= rows:
            return self
        return self.take(np.sort(rng.choice(len(self), rows, replace=False)))

    def split_train_test(self, rng: np.random.Generator) -> tuple[LabeledExamples, LabeledExamples]:
        """Return rows to train on, and held-out rows to test on."""
        shuffled = rng.permutation(len(self))
        held_out = max(1, round(HELD_OUT * len(self)))
        return self.take(np.sort(shuffled[held_out:])), self.take(np.sort(shuffled[:held_out]))


def build_examples(view: TableArrays, label: str) -> LabeledExamples:
    """Return the rows of a table whose label is not null."""
    cells = view[label]
    features = tuple(other for other in view if other.name != label)
    known = ~cells.missing
    if isinstance(cells, CategoricalCells):
        return LabeledExamples(features, cells.values, len(cells.names)).take(known)
    return LabeledExamples(features, cells.scaled, None).take(known)


def build_class_examples(view: TableArrays, label: str) -> LabeledExamples | None:
    """Return labelled rows with classes to predict, a number by its cuts; None without cuts."""
    cells, cuts = view[label], view.schema.label_cuts
    rows = build_examples(view, label)
    if isinstance(cells, CategoricalCells):
        return rows
    if label != view.schema.target or not cuts:
        return None
    codes = np.searchsorted(np.asarray(cuts), cells.present, side="right")
    return LabeledExamples(rows.features, codes.astype(np.int64), len(cuts) + 1)


_MIDDLE = (0.01, 0.99)  # quantiles between which bins must show detail
_SMALL_PART = 0.25  # of the range: if the middle is narrower, the bins divide it alone
_MARGIN = 0.05
_FAR = 2.0**1000


def choose_edges(column: Integer | Float, tables: Sequence[Floats], bins: int) -> Floats:
    """Return the edges of at most `bins` bins of equal width.

    Args:
        column: The declaration.
        tables: The cells of each table, without nulls.
        bins: The most bins.

    Example:
        >>> choose_edges(Integer("children", 0, 3), [], 24)
        array([-0.5,  0.5,  1.5,  2.5,  3.5])
        >>> choose_edges(Integer("income", 0, 10**9), [np.arange(0.0, 1001, 100)], 5)
        array([   0.,  201.,  402.,  603.,  804., 1005.])
    """
    low, high = _choose_window(column, [cells for cells in tables if len(cells)])
    if column.decimals is not None and max(-low, high) * 10.0**column.decimals < EXACT_INTEGERS:
        return _make_grid_edges(low, high, column.decimals, bins)
    edges = np.linspace(low, high, bins + 1)
    return edges if (np.diff(edges) > 0).all() else _make_single_bin(low)


def find_bins(values: Floats, edges: Floats) -> Integers:
    """Return the bin of each number; the end bins also hold what lies beyond the edges.

    Example:
        >>> find_bins(np.array([-9.0, 0.0, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, 2.0]))
        array([0, 0, 1, 1, 1])
    """
    found: Integers = np.searchsorted(edges[1:-1], values, side="right")
    return found


def _choose_window(column: Integer | Float, tables: Sequence[Floats]) -> tuple[float, float]:
    """Return the interval that bins divide: the whole range, or the middle of the tables."""
    least = min((float(cells.min()) for cells in tables), default=column.min)
    most = max((float(cells.max()) for cells in tables), default=column.max)
    low, high = max(-_FAR, min(least, column.min)), min(_FAR, max(most, column.max))
    if not tables:
        return low, high
    quantiles = np.array([np.quantile(np.clip(c, -_FAR, _FAR), _MIDDLE) for c in tables])
    first, last = quantiles[:, 0].min(), quantiles[:, 1].max()
    width = last - first
    if not 0 < width < _SMALL_PART * (high - low):
        return low, high
    margin = _MARGIN * width
    return max(least, first - margin), min(most, last + margin)


def _make_grid_edges(low: float, high: float, decimals: int, bins: int) -> Floats:
    """Return edges with equally many values of so many decimals between them."""
    step = 10.0**-decimals
    start, stop = math.floor(round(low / step, 3)), math.ceil(round(high / step, 3))
    values = stop - start + 1
    each = -(-values // bins)
    if each == 1:
        return np.round((start - 0.5 + np.arange(values + 1)) * step, decimals + 1)
    return np.round((start + each * np.arange(-(-values // each) + 1.0)) * step, decimals)


def _make_single_bin(value: float) -> Floats:
    """Return one bin, for numbers that vary too little to divide."""
    margin = max(0.5, abs(value) / 1e6)
    return np.array([value - margin, value + margin])
