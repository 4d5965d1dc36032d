"""`ColumnCodec`: the values that a column of records stands for, and back.

A column has positions: indices in a list, steps on a grid, or scaled numbers where there is no
grid. A position is NaN where a cell is empty. Constraints are about values: the numbers, indices in
a list, and microseconds that the positions stand for, exactly as `Encoder.decode` returns them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encoding import cells
from tabpe.encoding.cells import JointClasses
from tabpe.encoding.encoder import Encoder
from tabpe.encoding.records import Records
from tabpe.encoding.scales import ColumnScale, build_scale
from tabpe.schema import Boolean, Categorical, Column, Float, Temporal

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# The distance below which numbers without a grid are the same, as a part of their range.
SAME_TOLERANCE = 1e-9


class RowPart(enum.Enum):
    """The part of a row that contains a column."""

    NUMBERS = "numbers"
    CODES = "codes"
    CLASSES = "classes"


@dataclass(frozen=True, eq=False)
class ColumnCodec:
    """Converts a column of records to positions and values, and back.

    Args:
        column: The column of the schema.
        part: The part of a row that contains it.
        index: Its index there.
        steps: The last position, from 0; on a grid or in a list, all whole numbers up to it are
            positions.
        grid: Whether there is a grid or a list.
        first: The value at position 0.
        unit: The distance between the values of two steps, or the width of the range.
        scale: The scale of the column; None if it is linear.
        joint: The classes of several labels, if the column is one of them.
        fixes_class: Whether it is a nullable numeric label, which determines the class of a row.
    """

    column: Column
    part: RowPart
    index: int
    steps: float
    grid: bool
    first: float = 0.0
    unit: float = 1.0
    scale: ColumnScale | None = None
    joint: JointClasses | None = None
    fixes_class: bool = False

    @property
    def is_movable(self) -> bool:
        """Whether the position may change without changing the class of the row."""
        return self.part is not RowPart.CLASSES and not self.fixes_class

    @property
    def nullable(self) -> bool:
        """Whether cells may be empty."""
        return self.column.nullable

    @cached_property
    def listed(self) -> Floats | None:
        """The values of a list of numbers, by position; None if values are evenly spaced."""
        column = self.column
        if isinstance(column, Categorical) and not isinstance(column.values[0], str):
            return np.array(column.values, dtype=np.float64)
        return None

    def compute_positions(self, rows: Records, classes: Whole) -> Floats:
        """Return the position of each row; NaN where the cell is empty."""
        if self.part is RowPart.NUMBERS:
            return self.round_to_positions(rows.numbers[:, self.index].astype(np.float64))
        found = self._get_codes(rows, classes).astype(np.float64)
        found[found > self.steps] = np.nan
        return found

    def round_to_positions(self, scaled: Floats) -> Floats:
        """Return the positions of scaled numbers."""
        if self.scale is not None:
            scaled = (self.scale.inverse_transform(scaled) - self.first) / (self.unit * self.steps)
        return np.rint(scaled * self.steps) if self.grid else scaled

    def _get_codes(self, rows: Records, classes: Whole) -> NDArray[Any]:
        if self.part is not RowPart.CLASSES:
            return rows.codes[:, self.index]
        if self.joint is None:
            return classes
        rare = rows.codes[:, -1] if self.joint.rare else classes
        numbers = self.joint.find_combinations(classes, rare)
        return np.asarray(np.unravel_index(numbers, self.joint.shape)[self.index])

    def compute_values(self, positions: Floats) -> Floats:
        """Return the value at each position."""
        if self.listed is not None:
            empty = np.isnan(positions)
            values = self.listed[np.where(empty, 0, positions).astype(np.int64)]
            return np.where(empty, np.nan, values)
        values = self.first + positions * self.unit
        if isinstance(self.column, Float):
            if self.column.decimals is not None:
                values = np.round(values, self.column.decimals)
            values = np.clip(values, self.column.min, self.column.max)
        return values

    def find_position(self, value: float) -> float:
        """Return the position of a value; NaN if the column can not have it."""
        if self.listed is not None:
            found = np.flatnonzero(self.listed == value)
            return float(found[0]) if len(found) else np.nan
        position = (value - self.first) / self.unit if self.unit else 0.0
        if self.grid:
            position = float(np.rint(position))
        inside = 0 <= position <= self.steps
        there = float(self.compute_values(np.array([position]))[0]) if inside else np.nan
        return (
            position
            if abs(there - value) <= SAME_TOLERANCE * max(self.unit, abs(value))
            else np.nan
        )

    def encode_positions(self, positions: Floats) -> NDArray[Any]:
        """Return positions as the numbers or codes of a record."""
        if self.scale is not None:
            return self.scale.transform_values(self.compute_values(positions))
        if self.part is RowPart.NUMBERS:
            return positions / self.steps if self.grid and self.steps else positions
        return np.where(np.isnan(positions), self.steps + 1, positions).astype(np.int64)


def build_codecs(encoder: Encoder, names: Iterable[str]) -> dict[str, ColumnCodec]:
    """Return the codecs of columns, by name.

    Example:
        >>> from tabpe.schema import Date, Schema
        >>> encoder = Encoder(Schema((Date("seen", "1970-01-02", "1970-01-31"),)))
        >>> codec = build_codecs(encoder, ["seen"])["seen"]
        >>> rows = Records(np.array([[0.0], [1.0]]), np.empty((2, 0), np.uint8))
        >>> codec.compute_values(codec.compute_positions(rows, np.zeros(2, np.int64))) / 86_400e6
        array([ 1., 30.])
    """
    return {name: _build_codec(encoder, name) for name in names}


def find_cell_positions(encoder: Encoder, name: str, found: pa.ChunkedArray) -> Floats:
    """Return the positions of cells of a table.

    Example:
        >>> from tabpe.schema import Integer, Schema
        >>> encoder = Encoder(Schema((Integer("age", 10, 20),)))
        >>> find_cell_positions(encoder, "age", pa.chunked_array([[10, 13, 99]]))
        array([ 0.,  3., 10.])
    """
    column, codec = encoder.schema[name], _build_codec(encoder, name)
    if codec.part is not RowPart.NUMBERS and isinstance(column, (Categorical, Boolean)):
        codes = cells.encode_codes(column, found).astype(np.float64)
        return np.where(codes > codec.steps, np.nan, codes)
    plain: Any = encoder.numeric[codec.index] if codec.scale is None else column
    width = (plain.max - plain.min) or 1
    scaled: Floats = (cells.encode_numbers(column, found) - plain.min) / width
    return np.rint(scaled * codec.steps) if codec.grid else scaled


def _build_codec(encoder: Encoder, name: str) -> ColumnCodec:
    column = encoder.schema[name]
    for index, plain in enumerate(encoder.numeric):
        if plain.name == name:
            fixes_class = column.nullable and name == encoder.schema.label
            return replace(_build_number_codec(column, index, plain), fixes_class=fixes_class)
    for index, listed in enumerate(encoder.categorical):
        if listed.name == name:
            return ColumnCodec(column, RowPart.CODES, index, listed.size - 1, grid=True)
    size = column.size if isinstance(column, (Categorical, Boolean)) else 1
    index = encoder.schema.labels.index(name)
    return ColumnCodec(column, RowPart.CLASSES, index, size - 1, grid=True, joint=encoder.joint)


def _build_number_codec(column: Column, index: int, plain: Any) -> ColumnCodec:
    scale = build_scale(column)
    if scale is not None:
        return replace(_build_linear_codec(column, index, column), scale=scale)
    return _build_linear_codec(column, index, plain)


def _build_linear_codec(column: Column, index: int, plain: Any) -> ColumnCodec:
    width, steps = float(plain.max - plain.min), plain.steps
    if steps or width == 0:
        unit = width / steps if steps else 1.0
        codec = ColumnCodec(
            column, RowPart.NUMBERS, index, steps, grid=True, first=plain.min, unit=unit
        )
    else:
        codec = ColumnCodec(
            column, RowPart.NUMBERS, index, 1.0, grid=False, first=plain.min, unit=width
        )
    if isinstance(column, Temporal):
        return replace(codec, first=float(column.first), unit=float(column.tick))
    return codec
