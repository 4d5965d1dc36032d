"""Rows that meet conditions, and rows beside known cells.

Rows that meet conditions, and rows that go with known cells: choices among the rows made.

Privacy: they cost nothing. The rows are public already, and conditions are about them alone.

Rows that leave, with the rules of the schema kept: whole ones, and those beside known cells.

Privacy: it costs nothing. The rows are public already, and so are rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.backends.nearest import MOST_NEAREST, build_index
from tabpe.encoding import Encoder, Records
from tabpe.encoding.cells import encode_numbers, find_valid_cells
from tabpe.encoding.column_codec import build_codecs, find_cell_positions
from tabpe.encoding.records import add_null_codes
from tabpe.errors import CellError, ParameterError, ThinSupportWarning, did_you_mean, shown
from tabpe.evolution.constraint_repair import ConstraintSet, RowPositions
from tabpe.evolution.unique_keys import enforce_unique_keys, reassign_keys
from tabpe.schema import Categorical, Column, Float, Id, Integer, Schema, Temporal

Places = NDArray[np.int64]
CATEGORY_WEIGHT = 1 / 3
# Rows that are this much farther than the nearest go with known cells as well as it does: a tenth
# of the range of one column.
_AS_NEAR = 0.01
_PAIR = 2


def find_matching_rows(table: pa.Table, schema: Schema, conditions: Mapping[str, Any]) -> Places:
    """Return the places of rows that meet all conditions.

    Args:
        table: Rows of the schema.
        schema: The schema.
        conditions: For each column a value, None for null; or, of numbers, dates, times and
            ordered values, a pair: the smallest and the largest.

    Raises:
        ParameterError: If a column or a value is not one of the schema, or no row is like that.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> schema = Schema((Integer("age", 0, 99), Boolean("ill")))
        >>> table = pa.table({"age": [20, 40, 60], "ill": [True, True, False]})
        >>> find_matching_rows(table, schema, {"age": (30, 99), "ill": True})
        array([1])
    """
    if not isinstance(conditions, Mapping) or not conditions:
        raise ParameterError(f"conditions={shown(conditions)}: expected values of columns by name.")
    met = np.ones(table.num_rows, dtype=bool)
    for name, wanted in conditions.items():
        met &= _match_cells(_get_column(schema, name), table[name], wanted)
    if not met.any():
        raise ParameterError(
            f"conditions={shown(dict(conditions))}: none of the {table.num_rows:,} rows made is "
            f"like that. Ask for less, for a range as a pair, or for the nearest rows by "
            f"sample_remaining_columns."
        )
    return np.flatnonzero(met)


def warn_of_repeats(size: int, places: Places) -> None:
    """Warn if rows that meet conditions are fewer than those asked for."""
    if size > len(places):
        warnings.warn(
            f"{len(places):,} of the rows made meet the conditions: a sample of {size:,} repeats "
            f"them. It knows no more about such rows than they say.",
            ThinSupportWarning,
            stacklevel=3,
        )


def find_nearest_rows(
    known: pa.Table, table: pa.Table, schema: Schema, rng: np.random.Generator
) -> Places:
    """Return for each known row the places of rows near to it, by its columns: the best first.

    Args:
        known: Cells of some columns.
        table: Rows of the schema.
        schema: The schema.
        rng: Which of several rows that are as near it is.
    """
    encoder = Encoder(_select_columns(schema, known.schema.names), strict=True)
    order = rng.permutation(table.num_rows)
    rows, _ = encoder.encode(table.select(encoder.names).take(order))
    rows = add_null_codes(rows, encoder.space.can_miss)
    wanted = add_null_codes(_encode_known(encoder, known), encoder.space.can_miss)
    nearest = build_index(rows, CATEGORY_WEIGHT).find_nearest(wanted, min(MOST_NEAREST, len(rows)))
    distances = _compute_distances(wanted, rows, nearest)
    _warn_of_strangers(distances[:, 0])
    as_near = distances <= distances[:, :1] + _AS_NEAR
    lots = np.where(as_near, rng.random(nearest.shape), -1.0 - distances)
    best = np.argsort(-lots, axis=1, kind="stable")
    return order[np.take_along_axis(nearest, best, axis=1)]


def _get_column(schema: Schema, name: Any) -> Column:
    if name not in schema.names:
        raise ParameterError(
            f"there is no column {shown(name)}: {did_you_mean(str(name), schema.names)}"
        )
    column = schema[name]
    if isinstance(column, Id):
        raise ParameterError(f"column {name!r} is an id: these are numbered anew in each sample.")
    return column


def _select_columns(schema: Schema, names: Sequence[str]) -> Schema:
    for name in names:
        _get_column(schema, name)
    return Schema(tuple(column for column in schema.columns if column.name in names))


def _match_cells(column: Column, cells: pa.ChunkedArray, wanted: Any) -> NDArray[np.bool_]:
    encoder = Encoder(Schema((column,)), strict=True)
    is_range = isinstance(wanted, (tuple, list)) and len(wanted) == _PAIR and encoder.numeric
    if is_range:
        low, high = (_parse_position(column, end) for end in wanted)
        numbers = encode_numbers(column, cells)
        return np.asarray((numbers >= low) & (numbers <= high))
    cell = _make_cell(column, wanted)
    if isinstance(column, (Integer, Float, Temporal)) and wanted is not None:
        same = encode_numbers(column, cells) == _parse_position(column, wanted)
        # Values beyond the bounds or between two of the grid are read as the nearest.
        return np.asarray(same & find_valid_cells(column, pa.chunked_array([cell])))
    asked = _encode_known(encoder, pa.table({column.name: cell}))
    rows, _ = encoder.encode(pa.table({column.name: cells}))
    if np.isnan(asked.numbers).any():
        return np.asarray(np.isnan(rows.numbers).all(axis=1))
    same = (rows.numbers == asked.numbers).all(axis=1) & (rows.codes == asked.codes).all(axis=1)
    return np.asarray(same)


def _make_cell(column: Column, wanted: Any) -> pa.Array:
    if wanted is None and not column.nullable:
        raise ParameterError(f"conditions: {column.name!r}=None: the column is not nullable.")
    if isinstance(column, Categorical) and wanted is not None and wanted not in column.values:
        hint = did_you_mean(str(wanted), [str(value) for value in column.values])
        raise ParameterError(f"conditions: {column.name!r}={shown(wanted)}: {hint}")
    try:
        return pa.array([wanted])
    except (pa.ArrowException, TypeError, ValueError):
        raise ParameterError(
            f"conditions: {column.name!r}={shown(wanted)}: expected a value of that column."
        ) from None


def _encode_known(encoder: Encoder, table: pa.Table) -> Records:
    try:
        return encoder.encode(table)[0]
    except CellError as error:
        raise ParameterError(str(error)) from None


def _parse_position(column: Column, end: Any) -> float:
    try:
        cell = pa.chunked_array([_make_cell(column, end)])
        return float(encode_numbers(column, cell, strict=True)[0])
    except CellError as error:
        raise ParameterError(str(error)) from None


def _compute_distances(wanted: Records, rows: Records, nearest: Places) -> NDArray[np.float64]:
    numbers = np.nansum((rows.numbers[nearest] - wanted.numbers[:, None, :]) ** 2, axis=2)
    codes = (rows.codes[nearest] != wanted.codes[:, None, :]).sum(axis=2)
    distances: NDArray[np.float64] = numbers.astype(np.float64) + CATEGORY_WEIGHT * codes
    return distances


def _warn_of_strangers(distances: NDArray[np.float64]) -> None:
    far = int((distances >= CATEGORY_WEIGHT).sum())
    if far:
        warnings.warn(
            f"{far:,} of {len(distances):,} known rows are like none of the rows made: a category "
            f"is another one, or numbers are far off. What is put beside them is a guess.",
            ThinSupportWarning,
            stacklevel=4,
        )


Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """The rows that were made.

    Args:
        encoder: Encodes them.
        constraints: What they obey.
        rows: The rows.
        classes: The class of each.
    """

    encoder: Encoder
    constraints: ConstraintSet
    rows: Records
    classes: Whole


def enforce_constraints(
    constraints: ConstraintSet,
    rows: Records,
    classes: Whole,
    rng: np.random.Generator,
    *,
    fixed: frozenset[str],
) -> Records:
    """Return rows that obey the rules, with keys that are unique.

    Args:
        constraints: What rows obey.
        rows: Rows that obey it, keys aside.
        classes: The class of each.
        rng: Where rows move that repeat a key.
        fixed: Columns that stay.

    Raises:
        ParameterError: If there are more rows than keys.
    """
    if constraints.keys:
        rows = enforce_unique_keys(constraints, rows, classes, rng, fixed=fixed)
    constraints.check_rows(rows, classes)
    return rows


def complete_rows(
    known: pa.Table, near: Whole, made: ReleasedRows, rng: np.random.Generator
) -> pa.Table:
    """Return whole rows for known cells, which obey the rules if the known cells let them.

    The first of the rows near by is taken with which known cells obey all rules. Where there is
    none, the other cells of the nearest are moved; a warning says for how many that was in vain.

    Args:
        known: Cells of some columns.
        near: For each known row the places of rows near to it, the best first.
        made: The rows that were made.
        rng: Where rows move.
    """
    names = [name for name in known.schema.names if name in made.encoder.names]
    chosen = near[:, 0].copy()
    left = np.arange(len(near))
    for rank in range(near.shape[1]):
        rows, classes = _insert_known(known, names, near[left, rank], made, left)
        obeys = ~made.constraints.find_broken(rows, classes)
        chosen[left[obeys]] = near[left[obeys], rank]
        left = left[~obeys]
        if not len(left):
            break
    rows, classes = _insert_known(known, names, chosen, made, np.arange(len(near)))
    rows, broken = _repair_rows(rows, classes, made.constraints, rng, frozenset(names))
    _warn_of_broken(int(broken.sum()), len(broken))
    return made.encoder.decode(rows, classes)


def _insert_known(
    known: pa.Table, names: list[str], places: Whole, made: ReleasedRows, which: Whole
) -> tuple[Records, Whole]:
    """Return rows with some of the known cells put into them."""
    rows, classes, encoder = made.rows.take(places), made.classes[places], made.encoder
    faces = build_codecs(encoder, names)
    board = RowPositions.from_rows(faces, rows, classes)
    cells = known.take(pa.array(which))
    for name in names:
        board.set_positions(
            name, np.arange(len(which)), find_cell_positions(encoder, name, cells[name])
        )
    filled = board.to_records(rows)
    if encoder.schema.label_cuts is not None or not set(names) & set(encoder.schema.labels):
        return filled, classes
    return _assign_classes(filled, classes, board, encoder)


def _assign_classes(
    rows: Records, classes: Whole, board: RowPositions, encoder: Encoder
) -> tuple[Records, Whole]:
    """Return rows and the classes that known labels put them into."""
    labels = build_codecs(encoder, encoder.schema.labels)
    places = []
    for name, face in labels.items():
        found = board.positions.get(name, face.compute_positions(rows, classes))
        places.append(np.where(np.isnan(found), face.steps + 1, found).astype(np.int64))
    if encoder.joint is None:
        return rows, places[0]
    numbers = np.ravel_multi_index(places, encoder.joint.shape)
    codes = rows.codes.copy()
    if encoder.joint.rare:
        codes[:, -1] = encoder.joint.codes[numbers]
    return Records(rows.numbers, codes), encoder.joint.classes[numbers]


def _repair_rows(
    rows: Records,
    classes: Whole,
    constraints: ConstraintSet,
    rng: np.random.Generator,
    fixed: frozenset[str],
) -> tuple[Records, NDArray[np.bool_]]:
    """Return rows with unknown cells moved, and which of them break a rule still."""
    rows = constraints.repair_rows(rows, classes, rng, fixed=fixed)
    repeated = np.zeros(len(rows), dtype=bool)
    if constraints.keys:
        rows, repeated = reassign_keys(constraints, rows, classes, rng, fixed=fixed)
    return rows, constraints.find_broken(rows, classes) | repeated


def _warn_of_broken(broken: int, size: int) -> None:
    if broken:
        warnings.warn(
            f"{broken:,} of {size:,} known rows break a rule of the schema because of their known "
            f"cells, whatever is put beside them.",
            ThinSupportWarning,
            stacklevel=4,
        )
