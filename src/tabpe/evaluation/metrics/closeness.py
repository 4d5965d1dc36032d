"""Distances to the nearest real row: a sanity check, and no proof of privacy.

Rows that are copied or nearly copied from the real table show here. That none are seen proves
nothing: a table can reveal people without a row that is close to any of theirs, and a close row may
be a coincidence. The privacy guarantee is in the certificate, and nowhere else.

The distance of two rows is between 0 and 1: the root of the mean over the columns of the squared
differences. Two numbers differ by the share of the declared range that lies between them, at most
1; two categories that are not equal by 1; and a null from anything but a null by 1.

A nearest neighbour is the closer the more rows there are to choose from. So synthetic rows and
other real rows are compared with the same real rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.evaluation.table_arrays import (
    CategoricalCells,
    Cells,
    Floats,
    TableArrays,
    assign_row_ids,
    refuse_empty,
)

BINS, COLUMNS = 24, 60
_PAIRS_AT_ONCE = 1 << 17  # differences that a core keeps in its cache


@dataclass(frozen=True)
class Closeness:
    """How far rows are from the nearest real row. No proof of privacy.

    Args:
        edges: Edges of the bins of distance, the same for both.
        synthetic: Share of the synthetic rows in each bin.
        other: Share of other real rows in each bin: what is to be expected.
        copies: Share of all synthetic rows that equal a real row in all columns.
        other_copies: Share of all other real rows that equal a real row.
        rows: Numbers of rows that distances are of: real (the reference), synthetic, other real.
    """

    edges: tuple[float, ...]
    synthetic: tuple[float, ...]
    other: tuple[float, ...]
    copies: float
    other_copies: float
    rows: tuple[int, int, int]


def measure_closeness(
    real: TableArrays,
    synthetic: TableArrays,
    test: TableArrays | None = None,
    *,
    rows: int = 5000,
    random_state: int | None = 0,
) -> Closeness:
    """Return how far synthetic rows, and other real rows, are from the nearest real row.

    NOT PRIVATE, and no proof of privacy: see the head of this module.

    Args:
        real: The real rows that the synthetic ones were made from.
        synthetic: The synthetic rows.
        test: Real rows that were not used to make them, to compare with. Without them one half of
            the real rows is compared with the other half, and a copy is a real row that equals
            another one. If there are none at all, because the table has one row, their shares
            are 0.
        rows: The most rows of each kind that distances are computed for, drawn at random. Fewer for
            tables with more than `COLUMNS` columns, so that they take no longer. Copies are counted
            over the whole tables.
        random_state: Seed of the subsamples.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If `rows` is not a whole number of at least 1.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100),))
        >>> tables = [pa.table({"age": ages}) for ages in ([10, 90], [10, 40], [12, 70, 90])]
        >>> found = measure_closeness(*build_table_arrays(schema, tables))
        >>> found.copies, round(found.other_copies, 2), round(found.edges[-1], 3), found.rows
        (0.5, 0.33, 0.3, (2, 2, 3))
    """
    validation.check_integer("rows", rows, least=1)
    rows = math.ceil(rows * min(1.0, math.sqrt(COLUMNS / len(real.columns))))
    refuse_empty([real, synthetic, *([] if test is None else [test])])
    rng = np.random.default_rng(random_state)
    near, other = _split_halves(real, rows, rng) if test is None else (real, test)
    near, other = near.sample_rows(rows, rng), other.sample_rows(rows, rng)
    sampled = synthetic.sample_rows(rows, rng)
    away, expected = find_nearest_distances(sampled, near), find_nearest_distances(other, near)
    edges = np.linspace(0.0, np.concatenate([away, expected]).max() or 1.0, BINS + 1)
    copies, other_copies = _compute_copy_shares(real, synthetic, test)
    return Closeness(
        edges=tuple(edges.tolist()),
        synthetic=_compute_shares(away, edges),
        other=_compute_shares(expected, edges),
        copies=copies,
        other_copies=other_copies,
        rows=(len(near), len(sampled), len(other)),
    )


def find_nearest_distances(rows: TableArrays, near: TableArrays) -> Floats:
    """Return the distance of each row to the nearest row of `near`."""
    columns = [
        (_get_comparable(one), _get_comparable(two)) for one, two in zip(rows, near, strict=True)
    ]
    nearest, step = np.empty(len(rows)), max(1, _PAIRS_AT_ONCE // len(near))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        total = np.zeros((len(nearest[block]), len(near)), np.float32)
        for ours, theirs in columns:
            total += _square_differences(ours[block, None], theirs)
        nearest[block] = total.min(axis=1)
    return np.sqrt(nearest / len(columns))


def _get_comparable(cells: Cells) -> NDArray[Any]:
    if isinstance(cells, CategoricalCells):
        return cells.values.astype(np.int32)
    return cells.scaled.astype(np.float32)


def _square_differences(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
    """Return the squared difference of each pair of cells, at most 1."""
    if ours.dtype != np.float32:
        return np.asarray(ours != theirs)
    squared: NDArray[np.float32] = ours - theirs
    squared *= squared
    np.minimum(squared, 1.0, out=squared)
    null, also_null = np.isnan(ours), np.isnan(theirs)
    if null.any() or also_null.any():
        np.copyto(squared, null != also_null, where=null | also_null)
    return squared


def _split_halves(
    real: TableArrays, rows: int, rng: np.random.Generator
) -> tuple[TableArrays, TableArrays]:
    """Return two disjoint sets of at most `rows` rows each."""
    order = rng.permutation(len(real))[: 2 * rows]
    half = (len(order) + 1) // 2
    return real.take(order[:half]), real.take(order[half:])


def _compute_copy_shares(
    real: TableArrays, synthetic: TableArrays, test: TableArrays | None
) -> tuple[float, float]:
    ids, made, *rest = assign_row_ids([real, synthetic, *([] if test is None else [test])])
    counts = np.bincount(ids, minlength=max(int(part.max(initial=0)) for part in (made, *rest)) + 1)
    copied = [counts[made] > 0, counts[rest[0]] > 0 if rest else counts[ids] > 1]
    copies, others = (float(which.mean()) if which.size else 0.0 for which in copied)
    return copies, others


def _compute_shares(distances: Floats, edges: Floats) -> tuple[float, ...]:
    counts, _ = np.histogram(distances, edges)
    return tuple((counts / max(len(distances), 1)).tolist())
