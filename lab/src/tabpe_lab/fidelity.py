"""What synthetic rows keep of numbers that pile up, of tails, and of the variety of rows.

Distances on public ranges see little of a column whose rows lie in a small part of its range.
Quantile bins do: their cuts divide the real rows into equal parts, and a value that has the part of
a bin by itself is a bin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.evaluation.metrics.distances import choose_subsets
from tabpe.evaluation.metrics.predictors import predict_target
from tabpe.evaluation.table_arrays import (
    Cells,
    LabeledExamples,
    NumericCells,
    TableArrays,
    assign_row_ids,
)

QUANTILE_BINS = 10
ATOM_SHARE, MANY_VALUES = 0.05, 20
_SELF_ROWS = 10_000

Whole = NDArray[np.int64]


def measure_quantile_error(
    real: TableArrays,
    synthetic: TableArrays,
    orders: Sequence[int],
    *,
    subsets: int | None,
    random_state: int,
) -> dict[int, float]:
    """Return the mean total variation distance over quantile bins of sets of columns.

    Args:
        real: The rows whose quantiles are the cuts.
        synthetic: The others.
        orders: The numbers of columns of a set.
        subsets: The most sets of each order.
        random_state: Draws them.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Float, Schema
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> spread = pa.table({"x": np.linspace(0, 1, 100) ** 4})
        >>> even = pa.table({"x": np.linspace(0, 1, 100)})
        >>> views = build_table_arrays(Schema((Float("x", 0, 1),)), [spread, even])
        >>> {k: round(v, 2) for k, v in measure_quantile_error(
        ...     *views, [1], subsets=9, random_state=0).items()}
        {1: 0.47}
    """
    pairs = [_find_bins(*same) for same in zip(real, synthetic, strict=True)]
    found = {}
    for order in orders:
        if order > len(pairs):
            continue
        chosen = choose_subsets(len(pairs), order, subsets, random_state)
        found[order] = float(np.mean([_compare([pairs[c] for c in one]) for one in chosen]))
    return found


def measure_atom_gap(real: TableArrays, synthetic: TableArrays) -> float:
    """Return the largest difference between shares of a number that many real rows have.

    Columns with few values are left out: there, every value has many rows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Float, Schema
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> some = np.where(np.arange(100) < 40, 0.0, np.linspace(0, 1, 100))
        >>> tables = [pa.table({"x": some}), pa.table({"x": np.maximum(some, 1e-3)})]
        >>> views = build_table_arrays(Schema((Float("x", 0, 1),)), tables)
        >>> measure_atom_gap(*views)
        0.4
    """
    gaps = [0.0]
    for one, other in zip(real, synthetic, strict=True):
        if not isinstance(one, NumericCells):
            continue
        values, counts = np.unique(one.present, return_counts=True)
        if len(values) < MANY_VALUES:
            continue
        gaps += [
            abs(float((one.values == value).mean() - (other.values == value).mean()))
            for value in values[counts >= ATOM_SHARE * len(one.values)]
        ]
    return max(gaps)


def measure_duplicates(rows: TableArrays) -> float:
    """Return the share of rows that are equal to an earlier one.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Integer, Schema
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> schema, table = Schema((Integer("x", 0, 9),)), pa.table({"x": [1, 2, 1, 1]})
        >>> measure_duplicates(build_table_arrays(schema, [table])[0])
        0.5
    """
    (ids,) = assign_row_ids([rows])
    return 1.0 - len(np.unique(ids)) / len(ids)


def measure_self_prediction(rows: LabeledExamples, random_state: int) -> float:
    """Return how many labels of one half extra trees predict that learned from the other half."""
    rng = np.random.default_rng(random_state)
    rows = rows.sample_rows(_SELF_ROWS, rng)
    order, half = rng.permutation(len(rows)), len(rows) // 2
    halves = rows.take(np.sort(order[:half])), rows.take(np.sort(order[half:]))
    right = []
    for train, test in (halves, halves[::-1]):
        guess = predict_target("extra trees", train, test, random_state=random_state)
        right.append(float((guess.argmax(axis=1) == test.target).mean()))
    return float(np.mean(right))


def _find_bins(real: Cells, synthetic: Cells) -> tuple[Whole, Whole]:
    """Return the bin of each cell: a null and each frequent value have their own."""
    if not isinstance(real, NumericCells):
        return real.values + 1, synthetic.values + 1
    values, counts = np.unique(real.present, return_counts=True)
    atoms = values[counts >= len(real.values) / QUANTILE_BINS]
    rest = real.present[~np.isin(real.present, atoms)]
    cuts = np.quantile(rest, np.arange(1, QUANTILE_BINS) / QUANTILE_BINS) if len(rest) else rest
    cuts = np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, np.inf)]))
    one, other = (
        np.where(cells.missing, 0, 1 + np.searchsorted(cuts, cells.values, side="right"))
        for cells in (real, synthetic)
    )
    return one, other


def _compare(columns: Sequence[tuple[Whole, Whole]]) -> float:
    """Return the total variation distance of the joint bins of columns."""
    sides = [np.stack(side, axis=1) for side in zip(*columns, strict=True)]
    _, cells = np.unique(np.concatenate(sides), axis=0, return_inverse=True)
    cells = cells.ravel()
    first = len(sides[0])
    shares = [
        np.bincount(part, minlength=cells.max() + 1) / len(part)
        for part in (cells[:first], cells[first:])
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
