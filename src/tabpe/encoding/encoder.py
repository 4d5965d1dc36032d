"""`Encoder`: tables to records and classes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encoding import cells
from tabpe.encoding.atoms import Atoms, list_special_numbers
from tabpe.encoding.cells import JointClasses
from tabpe.encoding.records import Records, RecordSpace
from tabpe.encoding.scales import build_scale, compute_class_ends
from tabpe.errors import DataError, column_hint
from tabpe.schema import Boolean, Categorical, Float, Id, Integer, Schema

# The probability that a number of a random candidate is null: rare enough that most numbers are
# informative, and common enough that there are nulls to vote for.
NULL_PROBABILITY = 0.25


@dataclass(frozen=True)
class Encoder:
    """Converts between tables and arrays by a schema, and by nothing else.

    A categorical label is the class of a record and no part of it. A numeric label determines the
    class by `label_cuts`, and stays a number of the record within the bounds of its class. Several
    labels determine the class by their combination of values; where rare ones share a class, the
    last code of a record distinguishes them.

    Args:
        schema: The schema.
        strict: Whether to refuse a cell that does not fit its column where the schema states no
            rule for it. By default it is encoded by the rule of its type: no row is refused.

    Example:
        >>> encoder = Encoder(Schema((Integer("age", 0, 100), Boolean("ill")), label="ill"))
        >>> rows, classes = encoder.encode(pa.table({"age": [25, 100], "ill": [True, False]}))
        >>> rows.numbers.ravel(), classes
        (array([0.25, 1.  ], dtype=float32), array([1, 0]))
        >>> encoder.decode(rows, classes).to_pylist()
        [{'age': 25, 'ill': True}, {'age': 100, 'ill': False}]
    """

    schema: Schema
    strict: bool = False

    @cached_property
    def plain(self) -> Schema:
        """The schema in numbers, listed values and booleans alone, which records consist of."""
        return cells.build_plain_schema(self.schema)

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
        return tuple(column for column in self._listed if column.name not in self.schema.labels)

    @cached_property
    def joint(self) -> JointClasses | None:
        """The classes of several labels, if there are several."""
        return JointClasses.from_schema(self.schema)

    @cached_property
    def code_sizes(self) -> tuple[int, ...]:
        """The number of values of each code of a record; the last may be that of rare classes."""
        listed = [column.states for column in self.categorical]
        return tuple(listed if not self._has_rare else [*listed, len(self.schema.label_rare)])

    @property
    def _has_rare(self) -> bool:
        return bool(self.schema.label_rare)

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
        told = self.space.can_miss | np.array(
            [len(places) > 0 for places in self.atoms], dtype=bool
        )
        listed = len(self.code_sizes) + int(told.sum())
        codes = self.space.code_type.itemsize * listed
        return np.dtype(np.float32).itemsize * len(self.numeric) + codes

    @cached_property
    def space(self) -> RecordSpace:
        """Where rows of any class may lie."""
        return RecordSpace(
            low=np.zeros(len(self.numeric)),
            high=np.array([float(c.max > c.min) for c in self.numeric]),
            steps=np.array([float(c.steps) for c in self.numeric]),
            sizes=np.array(self.code_sizes, dtype=np.int64),
            missing=np.array([NULL_PROBABILITY * c.nullable for c in self.numeric]),
            atoms=self.atoms if any(self.atoms) else (),
        )

    @cached_property
    def atoms(self) -> Atoms:
        """The declared special values of each numeric column, as numbers of a record."""
        declared = (self.schema[column.name] for column in self.numeric)
        return tuple(
            tuple(self.locate_numbers(column.name, list_special_numbers(column)))
            if getattr(column, "special", None)
            else ()
            for column in declared
        )

    def locate_numbers(self, name: str, numbers: Sequence[float]) -> list[float]:
        """Return numbers of a column as those of a record, as its cells would be encoded."""
        plain = self.numeric[[column.name for column in self.numeric].index(name)]
        found: list[float] = cells.locate_numbers(self.schema[name], plain, numbers).tolist()
        return found

    @cached_property
    def spaces(self) -> list[RecordSpace]:
        """Where the candidates of each class may lie."""
        if self._has_rare:
            return [*[self.space.without_last_code] * (self.class_count - 1), self.space]
        label = self._find_numeric_label()
        if label is None or self.class_count == 1:
            return [self.space] * self.class_count
        index, column = label
        origin = cells.get_origin(self.schema[column.name])
        bounds = ((low - origin, high - origin) for low, high in self.schema.class_bounds)
        ends = (self._compute_class_ends(column, low, high) for low, high in bounds)
        spaces = [self.space.narrow_column(index, *each) for each in ends]
        return [*spaces, self.space.nullify_column(index)] if column.nullable else spaces

    def encode(self, table: pa.Table) -> tuple[Records, NDArray[np.int64]]:
        """Return the rows of `table` as records, and the class of each."""
        self.check_names(table.schema.names)
        # Column by column, then transposed at once: strided writes are slow.
        numbers = np.empty((len(self.numeric), table.num_rows), dtype=np.float32)
        for index, column in enumerate(self.numeric):
            numbers[index] = cells.scale_values(column, self._encode_numbers(column.name, table))
        codes = np.empty((len(self.code_sizes), table.num_rows), self.space.code_type)
        for index, listed in enumerate(self.categorical):
            codes[index] = cells.encode_codes(listed, table[listed.name], strict=self.strict)
        classes = self._encode_classes(table)
        if self.joint is not None:
            combinations = self.joint.encode_combinations(table, strict=self.strict)
            classes = self.joint.classes[combinations]
            codes[len(self.categorical) :] = self.joint.codes[combinations]
        rows = Records(np.ascontiguousarray(numbers.T), np.ascontiguousarray(codes.T))
        return rows, classes

    def decode(self, rows: Records, classes: NDArray[np.int64]) -> pa.Table:
        """Return records with their classes as a table."""
        numbers = {
            plain.name: cells.decode_numbers(self.schema[plain.name], plain, rows.numbers[:, index])
            for index, plain in enumerate(self.numeric)
        }
        listed = {
            column.name: cells.decode_codes(column, rows.codes[:, index])
            for index, column in enumerate(self.categorical)
        }
        ids = {
            column.name: cells.make_ids(column, len(rows))
            for column in self.schema.columns
            if isinstance(column, Id)
        }
        columns = numbers | listed | ids
        if self._class_column is not None:
            columns[self._class_column.name] = cells.decode_codes(self._class_column, classes)
        if self.joint is not None:
            rare = rows.codes[:, -1] if self._has_rare else classes
            columns |= self.joint.decode_labels(self.joint.find_combinations(classes, rare))
        return pa.table({name: columns[name] for name in self.schema.names})

    def check_names(self, given: list[str]) -> None:
        """Refuse a table that lacks a declared column."""
        for name in self.names:
            if name not in given:
                hint = column_hint(name, given, self.names)
                if len(given) == 1 and ";" in given[0]:
                    hint = "the cells seem to be separated by ';', expected ','"
                raise DataError(f"the table has no column {name!r}: {hint}")

    def _encode_classes(self, table: pa.Table) -> NDArray[np.int64]:
        if self._class_column is not None:
            name = self._class_column.name
            return cells.encode_codes(self._class_column, table[name], strict=self.strict)
        label = self._find_numeric_label()
        if label is None:
            return np.zeros(table.num_rows, dtype=np.int64)
        _, column = label
        values = cells.round_to_grid(column, self._encode_numbers(column.name, table))
        classes = np.searchsorted(np.asarray(self.plain.label_cuts), values, side="right")
        return np.where(np.isnan(values), self.class_count - 1, classes)

    def _encode_numbers(self, name: str, table: pa.Table) -> NDArray[np.float64]:
        column = self.schema[name]
        numbers = cells.encode_numbers(column, table[name], strict=self.strict)
        return cells.apply_scale(column, numbers)

    def _find_numeric_label(self) -> tuple[int, Integer | Float] | None:
        for index, column in enumerate(self.numeric):
            if column.name == self.schema.label:
                return index, column
        return None

    def _compute_class_ends(
        self, plain: Integer | Float, low: float, high: float
    ) -> tuple[float, float]:
        column = self.schema[plain.name]
        scale = build_scale(column)
        if scale is None or not isinstance(column, (Integer, Float)):
            return self._compute_scaled_bounds(plain, low, high)
        return compute_class_ends(column, scale, low, high)

    def _compute_scaled_bounds(
        self, column: Integer | Float, low: float, high: float
    ) -> tuple[float, float]:
        """Return the scaled bounds of a class; the upper one is just below the next class."""
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
