"""`View`: a table as arrays that metrics read, column by column, by a schema.

Unlike what the synthesizer makes of private rows, nothing is clamped, refused or filled in: a null
is a null, a number beyond its bounds stays where it is, and a category that is not declared gets a
name of its own. What is wrong with a table is what a metric is there to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe.encode.moments import microseconds
from tabpe.errors import DataError, SchemaError, column_hint
from tabpe.io.canonical import (
    NOT_LISTED,
    find_missing,
    find_values,
    flat,
    is_nested,
    read_booleans,
    read_numbers,
    read_raw_texts,
)
from tabpe.schema import Boolean, Categorical, Float, Id, Integer, Schema, Temporal

NULL = -1
FAR = 1e6  # declared ranges


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers.

    Args:
        column: What the schema says of it; of a date or time, that it is a number of steps.
        values: The cells; NaN for a null.
        moments: The date or time that the steps are of; None for a number.
    """

    column: Integer | Float
    values: NDArray[np.float64]
    moments: Temporal | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where the cell is null."""
        return np.isnan(self.values)

    @property
    def present(self) -> NDArray[np.float64]:
        """The cells that are not null."""
        return self.values[~self.missing]

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The cells, with the declared bounds at 0 and 1; 0 for a constant column.

        A number further out than `FAR` is taken there: as far as can be told, and squares of it
        are still numbers.
        """
        width = self.column.max - self.column.min
        with np.errstate(over="ignore"):
            places = (self.values - self.column.min) / (width or 1.0)
        return np.clip(places, -FAR, FAR)

    def take(self, which: NDArray[Any]) -> Numbers:
        """Return the cells at the given places, or where a mask is true."""
        return Numbers(self.column, self.values[which], self.moments)


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of categories.

    Args:
        column: What the schema says of it.
        names: What each code stands for: the declared values in order, then those that some table
            holds without their being declared.
        codes: The cells; `NULL` for a null.
    """

    column: Categorical | Boolean
    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where the cell is null."""
        where: NDArray[np.bool_] = self.codes == NULL
        return where

    @property
    def present(self) -> NDArray[np.int64]:
        """The codes of the cells that are not null."""
        return self.codes[~self.missing]

    def take(self, which: NDArray[Any]) -> Labels:
        """Return the cells at the given places, or where a mask is true."""
        return Labels(self.column, self.names, self.codes[which])


Cells = Numbers | Labels


@dataclass(frozen=True, eq=False)
class View:
    """A table as arrays.

    Args:
        schema: The schema.
        columns: The cells of each column, in the order of the schema.

    Example:
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> table = pa.table({"age": [25, None], "ill": [True, False]})
        >>> view, = views(schema, [table])
        >>> view["age"].scaled, view["ill"].codes
        (array([0.25,  nan]), array([1, 0]))
    """

    schema: Schema
    columns: tuple[Cells, ...]

    def __len__(self) -> int:
        return len(self.columns[0].missing)

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

    def take(self, which: NDArray[Any]) -> View:
        """Return the rows at the given places, or where a mask is true."""
        return View(self.schema, tuple(cells.take(which) for cells in self.columns))

    def sampled(self, rows: int, rng: np.random.Generator) -> View:
        """Return at most `rows` of the rows, drawn without replacement, in their order."""
        if len(self) <= rows:
            return self
        return self.take(np.sort(rng.choice(len(self), rows, replace=False)))


def views(schema: Schema, tables: Sequence[pa.Table]) -> list[View]:
    """Return the tables as arrays in which the same code means the same category; without ids.

    Raises:
        DataError: If a table lacks a declared column or has it twice, or holds text where numbers
            are declared, or lists and the like, or bytes that are no text.

    Example:
        >>> schema = Schema((Categorical("ward", ("heart", "eye")),))
        >>> one, two = views(schema, [pa.table({"ward": ["eye"]}), pa.table({"ward": ["skin"]})])
        >>> one["ward"].codes, two["ward"].codes, one["ward"].names
        (array([1]), array([2]), ('heart', 'eye', 'skin'))
    """
    schema = replace(schema, columns=tuple(c for c in schema.columns if not isinstance(c, Id)))
    for table in tables:
        _check_names(schema, table)
    columns = [_column(schema, name, tables) for name in schema.names]
    return [View(schema, tuple(cells)) for cells in zip(*columns, strict=True)]


def _check_names(schema: Schema, table: pa.Table) -> None:
    for name in schema.names:
        if name not in table.schema.names:
            hint = column_hint(name, table.schema.names, schema.names)
            raise DataError(f"the table has no column {name!r}: {hint}")
        if table.schema.names.count(name) > 1:
            raise DataError(f"the table has more than one column {name!r}: rename the others.")


def _column(schema: Schema, name: str, tables: Sequence[pa.Table]) -> Sequence[Cells]:
    column, arrays = schema[name], [_flat(name, table[name]) for table in tables]
    if isinstance(column, (Integer, Float)):
        return [Numbers(column, _numbers(name, array)) for array in arrays]
    if isinstance(column, Temporal):
        steps = Integer(name, 0, column.steps)
        return [Numbers(steps, _steps(column, array), column) for array in arrays]
    if not isinstance(column, (Categorical, Boolean)):
        raise SchemaError(f"column {name!r} is of a type that is not measured.")
    texts = [_texts(column, array) for array in arrays]
    names = _names(column, texts)
    known = pa.array(names, pa.string())
    return [Labels(column, names, _codes(text, known)) for text in texts]


def _flat(name: str, cells: pa.ChunkedArray) -> pa.Array:
    if is_nested(cells.type):
        raise DataError(f"column {name!r} holds lists or the like: expected plain values.")
    return flat(cells, name)


def _numbers(name: str, array: pa.Array) -> NDArray[np.float64]:
    numbers = read_numbers(array)
    if (np.isnan(numbers) & ~find_missing(array)).any():
        raise DataError(f"column {name!r} is declared a number and holds something else.")
    if np.isinf(numbers).any():
        raise DataError(f"column {name!r} holds an infinite number: correct it.")
    return numbers


def _steps(column: Temporal, array: pa.Array) -> NDArray[np.float64]:
    """Return dates or times as steps after the first declared one, wherever they lie."""
    found = microseconds(column, array)
    if found.null_count > find_missing(array).sum():
        raise DataError(
            f"column {column.name!r} is declared a {column.type_name} and holds something else."
        )
    since = found.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    steps: NDArray[np.float64] = np.floor((since - column.first) / column.tick)
    return steps


def _texts(column: Categorical | Boolean, array: pa.Array) -> pa.Array:
    """Return cells as the names of their categories; null for a null."""
    if isinstance(column, Boolean):
        places = read_booleans(array).astype(np.int64)
    else:
        places = find_values(array, column.values)
    listed = [str(value) for value in column.values]
    known = pa.array(places, mask=places == NOT_LISTED)
    by_name = pc.take(pa.array(listed, pa.string()), known)
    others = pc.if_else(pa.array(find_missing(array)), None, read_raw_texts(array))
    return pc.coalesce(by_name, others)


def _names(column: Categorical | Boolean, texts: Sequence[pa.Array]) -> tuple[str, ...]:
    declared = [str(value) for value in column.values]
    found = {value for text in texts for value in pc.unique(text).to_pylist() if value is not None}
    return (*declared, *sorted(found.difference(declared)))


def _codes(text: pa.Array, known: pa.Array) -> NDArray[np.int64]:
    places = pc.fill_null(pc.index_in(text, value_set=known), NULL)
    codes: NDArray[np.int64] = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
