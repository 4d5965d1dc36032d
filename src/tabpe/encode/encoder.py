"""`Encoder`: a table to records and classes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import cells, forms
from tabpe.encode.records import Records, Space
from tabpe.errors import DataError, did_you_mean
from tabpe.schema import Boolean, Categorical, Float, Id, Integer, Schema


@dataclass(frozen=True)
class Encoder:
    """Translates between tables and arrays by a schema, and by nothing else.

    A categorical label is the class of a record and no part of it. A numeric label gives the
    class by `label_cuts`, and stays a number of the record that never leaves its class.

    Example:
        >>> encoder = Encoder(Schema((Integer("age", 0, 100), Boolean("ill")), label="ill"))
        >>> rows, classes = encoder.encode(pa.table({"age": [25, 100], "ill": [True, False]}))
        >>> rows.numbers.ravel(), classes
        (array([0.25, 1.  ], dtype=float32), array([1, 0]))
        >>> encoder.decode(rows, classes).to_pylist()
        [{'age': 25, 'ill': True}, {'age': 100, 'ill': False}]
    """

    schema: Schema

    @cached_property
    def plain(self) -> Schema:
        """The schema in numbers, listed values and truths alone, which records are made of."""
        return forms.plain_schema(self.schema)

    @cached_property
    def names(self) -> list[str]:
        """The columns that are read: all but ids."""
        return [column.name for column in self.plain.columns]

    @cached_property
    def numeric(self) -> tuple[Integer | Float, ...]:
        """The numeric columns of a record, in order."""
        return tuple(c for c in self.plain.columns if isinstance(c, (Integer, Float)))

    @cached_property
    def categorical(self) -> tuple[Categorical | Boolean, ...]:
        """The categorical columns of a record, in order; a categorical label is none of them."""
        return tuple(column for column in self._listed if column.name != self.schema.label)

    @cached_property
    def _listed(self) -> tuple[Categorical | Boolean, ...]:
        return tuple(c for c in self.plain.columns if isinstance(c, (Categorical, Boolean)))

    @cached_property
    def _class_column(self) -> Categorical | Boolean | None:
        """The label, if it is categorical."""
        return next((c for c in self._listed if c.name == self.schema.label), None)

    @cached_property
    def class_count(self) -> int:
        """Number of classes."""
        return len(self.schema.class_names)

    @property
    def bytes_a_row(self) -> int:
        """How much memory an encoded row takes."""
        codes = self.spaces[0].code_type.itemsize * len(self.categorical)
        return np.dtype(np.float32).itemsize * len(self.numeric) + codes

    @cached_property
    def space(self) -> Space:
        """Where rows of any class may lie."""
        return Space(
            low=np.zeros(len(self.numeric)),
            high=np.array([float(c.max > c.min) for c in self.numeric]),
            steps=np.array([float(c.steps) for c in self.numeric]),
            sizes=np.array([c.size for c in self.categorical], dtype=np.int64),
        )

    @cached_property
    def spaces(self) -> list[Space]:
        """Where the candidates of each class may lie."""
        label = self._numeric_label()
        if label is None:
            return [self.space] * self.class_count
        place, column = label
        return [
            self.space.narrowed(place, *self._scaled_bounds(column, low, high))
            for low, high in self.schema.class_bounds
        ]

    def encode(self, table: pa.Table) -> tuple[Records, NDArray[np.int64]]:
        """Return the rows of `table` as records, and the class of each."""
        self.check_names(table.schema.names)
        # Column by column, then turned at once: to write every n-th number of a row is slow.
        numbers = np.empty((len(self.numeric), table.num_rows), dtype=np.float32)
        for place, column in enumerate(self.numeric):
            numbers[place] = _scaled(column, self._numbers(column.name, table))
        codes = np.empty((len(self.categorical), table.num_rows), self.spaces[0].code_type)
        for place, listed in enumerate(self.categorical):
            codes[place] = cells.codes_of(listed, table[listed.name])
        rows = Records(np.ascontiguousarray(numbers.T), np.ascontiguousarray(codes.T))
        return rows, self._classes(table)

    def decode(self, rows: Records, classes: NDArray[np.int64]) -> pa.Table:
        """Return records with their classes as a table."""
        numbers = {
            plain.name: forms.cells_of_numbers(
                self.schema[plain.name], plain, rows.numbers[:, place]
            )
            for place, plain in enumerate(self.numeric)
        }
        listed = {
            column.name: cells.cells_of_codes(column, rows.codes[:, place])
            for place, column in enumerate(self.categorical)
        }
        ids = {
            column.name: forms.ids_of(column, len(rows))
            for column in self.schema.columns
            if isinstance(column, Id)
        }
        columns = numbers | listed | ids
        if self._class_column is not None:
            columns[self._class_column.name] = cells.cells_of_codes(self._class_column, classes)
        return pa.table({name: columns[name] for name in self.schema.names})

    def check_names(self, given: list[str]) -> None:
        """Refuse a table that lacks a declared column."""
        for name in self.names:
            if name not in given:
                hint = did_you_mean(name, given)
                if len(given) == 1 and ";" in given[0]:
                    hint = "the cells seem to be separated by ';': expected ','"
                raise DataError(f"the table has no column {name!r}: {hint}")

    def _classes(self, table: pa.Table) -> NDArray[np.int64]:
        if self._class_column is not None:
            return cells.codes_of(self._class_column, table[self._class_column.name])
        label = self._numeric_label()
        if label is None:
            return np.zeros(table.num_rows, dtype=np.int64)
        _, column = label
        values = _on_grid(column, self._numbers(column.name, table))
        return np.searchsorted(np.asarray(self.schema.label_cuts), values, side="right")

    def _numbers(self, name: str, table: pa.Table) -> NDArray[np.float64]:
        return forms.numbers_of(self.schema[name], table[name])

    def _numeric_label(self) -> tuple[int, Integer | Float] | None:
        for place, column in enumerate(self.numeric):
            if column.name == self.schema.label:
                return place, column
        return None

    def _scaled_bounds(
        self, column: Integer | Float, low: float, high: float
    ) -> tuple[float, float]:
        """Return the bounds of a class, its upper one just below where the next begins."""
        width = column.max - column.min
        bottom, top = (low - column.min) / width, (high - column.min) / width
        if column.steps:
            first, last = round(bottom * column.steps), round(top * column.steps)
            return first / column.steps, (last - (high < column.max)) / column.steps
        if high < column.max:
            top = float(np.nextafter(np.float32(top), np.float32(0)))
        while column.min + bottom * width < low:
            bottom = float(np.nextafter(bottom, 1.0))
        return bottom, top


def _scaled(column: Integer | Float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values scaled to [0, 1], in the place of the given ones."""
    if column.max == column.min:
        return np.zeros_like(values)
    scaled = _on_grid(column, values)
    scaled -= column.min
    scaled /= column.max - column.min
    # The same arithmetic as `Space.project`, so that equal values get equal bits.
    return np.rint(scaled * column.steps) / column.steps if column.steps else scaled


def _on_grid(column: Integer | Float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values if column.decimals is None else np.round(values, column.decimals)
