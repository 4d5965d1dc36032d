"""`Marginal`: the axes of a marginal, and the cell of each row.

Privacy: cells are defined by public facts alone: values that the schema lists, edges between its
bounds, or a public function of a row. The cell of a row depends on that row and on nothing else,
and a row falls into exactly one. So adding or removing a row changes one cell by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.cells import get_origin
from tabpe.encoding.encoder import Encoder
from tabpe.encoding.pieces import find_pieces
from tabpe.encoding.records import Records
from tabpe.encoding.scales import build_scale, compute_bins
from tabpe.errors import TabpeError
from tabpe.schema import Boolean, Categorical, Column, Float, Integer
from tabpe.schema.schema import LABEL_SEPARATOR

Whole = NDArray[np.int64]


class MarginalAxis(Protocol):
    """One axis of a marginal.

    Privacy: an implementation must return the same cell for a row, whatever other rows are passed
    with it. It is hashable, and equal axes find equal cells.
    """

    @property
    def name(self) -> str:
        """The column or the quantity that is counted."""
        ...

    @property
    def size(self) -> int:
        """The number of cells."""
        ...

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of each row, from 0 to below `size`."""
        ...


@dataclass(frozen=True)
class NumberAxis:
    """A column of numbers, in bins.

    Args:
        name: Name of the column.
        index: Its index among the numbers of a record.
        cuts: Where a new bin begins, as scaled numbers; one less than there are bins.
        edges: The ends of the bins as numbers of the column; one more than there are bins.
        nullable: Whether there is a cell for nulls, after the bins.
        atoms: Scaled numbers that have a cell each, after the others; no bin counts them.
    """

    name: str
    index: int
    cuts: tuple[float, ...]
    edges: tuple[float, ...]
    nullable: bool = False
    atoms: tuple[float, ...] = ()

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.cuts) + 1

    @property
    def size(self) -> int:
        """The number of cells: bins, one for nulls if there may be any, and one for each atom."""
        return self.bins + self.nullable + len(self.atoms)

    def find_cells(self, rows: Records, classes: Whole) -> Whole:  # noqa: ARG002
        """Return the cell of each row."""
        numbers = rows.numbers[:, self.index]
        cells = find_pieces(numbers, np.array(self.cuts, dtype=np.float64))
        cells[np.isnan(numbers)] = self.bins
        single = numbers.astype(np.float32)
        for place, atom in enumerate(self.atoms):
            cells[single == np.float32(atom)] = self.bins + self.nullable + place
        return cells


@dataclass(frozen=True)
class ListAxis:
    """A column of listed values, some of which may share a cell.

    Args:
        name: Name of the column.
        index: Its index among the codes of a record; None for the class of a row.
        groups: The cell of each value, in the order of the schema.
    """

    name: str
    index: int | None
    groups: tuple[int, ...]

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return max(self.groups) + 1

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of the value of each row."""
        codes = classes if self.index is None else rows.codes[:, self.index]
        cells: Whole = np.array(self.groups, dtype=np.int64)[codes]
        return cells


@dataclass(frozen=True, eq=False)
class PredictedAxis:
    """The class that a public function predicts for a row.

    Args:
        size: The number of classes.
        predict: Returns a class for each row, each by itself.
        name: The name of the axis.
    """

    size: int
    predict: Callable[[Records], Whole]
    name: str = "predicted"

    def find_cells(self, rows: Records, classes: Whole) -> Whole:  # noqa: ARG002
        """Return the predicted class of each row."""
        return self.predict(rows)


@dataclass(frozen=True, eq=False)
class CorrectnessAxis:
    """Whether a public function predicts the class of a row correctly: 1, or else 0.

    Args:
        predict: Returns a class for each row, each by itself.
        name: The name of the axis.
    """

    predict: Callable[[Records], Whole]
    name: str = "right"
    size: int = 2

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return whether the prediction for each row is right."""
        return np.equal(self.predict(rows), classes).astype(np.int64)


@dataclass(frozen=True)
class Marginal:
    """The cells of some axes, in which rows are counted; without axes, one cell for all rows.

    Args:
        axes: Its axes.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.schema import Schema
        >>> encoder = Encoder(Schema((Integer("age", 0, 99), Boolean("ill")), label="ill"))
        >>> by_age = Marginal((build_axis(encoder, "ill"), build_axis(encoder, "age", max_bins=2)))
        >>> rows = encoder.encode(pa.table({"age": [20, 70], "ill": [True, True]}))
        >>> by_age.shape, by_age.find_cells(*rows)
        ((2, 2), array([2, 3]))
    """

    axes: tuple[MarginalAxis, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells of each axis."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of each row, in C order."""
        cells = np.zeros(len(rows), dtype=np.int64)
        for axis in self.axes:
            found = _check_cells(axis, axis.find_cells(rows, classes), len(rows))
            cells = cells * axis.size + found
        return cells


def build_axis(
    encoder: Encoder, name: str, *, max_bins: int = 24, groups: tuple[int, ...] | None = None
) -> NumberAxis | ListAxis:
    """Return a column as an axis of a marginal, by its schema alone.

    Args:
        encoder: Encodes the rows.
        name: Name of the column.
        max_bins: The most bins of a column of numbers.
        groups: The cell of each listed value; None for one each.

    Example:
        >>> from tabpe.schema import Schema
        >>> encoder = Encoder(Schema((Integer("age", 0, 100), Integer("children", 0, 3))))
        >>> build_axis(encoder, "age", max_bins=4).edges
        (0.0, 25.0, 50.0, 75.0, 100.0)
        >>> build_axis(encoder, "children").edges
        (-0.5, 0.5, 1.5, 2.5, 3.5)
    """
    column = encoder.plain[name]
    if isinstance(column, (Integer, Float)):
        index = encoder.numeric.index(column)
        axis = _build_scaled_axis(encoder.schema[name], index, max_bins)
        return axis or _shift_edges(
            encoder.schema[name], _build_number_axis(column, index, max_bins)
        )
    if not isinstance(column, (Categorical, Boolean)):
        raise TabpeError(f"column {name!r}: a column of its type can not be counted.")
    listed = None if name == encoder.schema.label else encoder.categorical.index(column)
    return ListAxis(name, listed, tuple(range(column.states)) if groups is None else groups)


def build_class_axis(encoder: Encoder) -> ListAxis:
    """Return the class of a row as an axis of a marginal."""
    name = LABEL_SEPARATOR.join(encoder.schema.labels) or "all"
    return ListAxis(name, None, tuple(range(encoder.class_count)))


def _shift_edges(column: Column, axis: NumberAxis) -> NumberAxis:
    """Return an axis with its edges as values of the column."""
    origin = get_origin(column)
    return replace(axis, edges=tuple(origin + e for e in axis.edges)) if origin else axis


def _build_scaled_axis(column: Column, index: int, max_bins: int) -> NumberAxis | None:
    """Return bins of equal width on the scale of the column; None if it is linear."""
    scale = build_scale(column)
    if scale is None or not isinstance(column, (Integer, Float)):
        return None
    cuts, edges = compute_bins(column, scale, max_bins)
    ends = tuple(cuts.tolist()), tuple(edges.tolist())
    return NumberAxis(column.name, index, *ends, column.nullable)


def _build_number_axis(column: Integer | Float, index: int, max_bins: int) -> NumberAxis:
    """Return bins of equal width; on a grid, of whole steps or one value each."""
    if column.max == column.min:
        only = float(column.min), float(column.max)
        return NumberAxis(column.name, index, (), only, column.nullable)
    cuts: NDArray[np.floating]
    edges: NDArray[np.floating]
    width = column.max - column.min
    if not column.steps:
        cuts, edges = (
            np.arange(1, max_bins) / max_bins,
            np.linspace(column.min, column.max, max_bins + 1),
        )
    elif column.steps < max_bins:
        steps = np.arange(column.steps + 2) - 0.5
        cuts, edges = steps[1:-1] / column.steps, column.min + steps * (width / column.steps)
    else:
        steps = np.arange(0, column.steps, math.ceil(column.steps / max_bins), dtype=np.float64)
        cuts = (steps[1:] - 0.5) / column.steps
        edges = np.append(column.min + steps * (width / column.steps), column.max)
    ends = tuple(cuts.tolist()), tuple(edges.tolist())
    return NumberAxis(column.name, index, *ends, column.nullable)


def _check_cells(axis: MarginalAxis, cells: Whole, rows: int) -> Whole:
    """Refuse cells that are not one for each row: a row must be counted exactly once."""
    whole = cells.shape == (rows,) and np.issubdtype(cells.dtype, np.integer)
    if not whole or (rows and not 0 <= int(cells.min()) <= int(cells.max()) < axis.size):
        raise TabpeError(f"{axis.name}: expected one of its {axis.size} cells for each row.")
    return cells.astype(np.int64)
