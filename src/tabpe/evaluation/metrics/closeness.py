"""Distances to the nearest real row: a sanity check, and no proof of privacy.

Rows that are copied or nearly copied from the real table show here. That none are seen proves
nothing: a table can reveal people without a row that is close to any of theirs, and a close row may
be a coincidence. The privacy guarantee is in the certificate, and nowhere else.

The distance of two rows is between 0 and 1: the root of the mean over the columns of the squared
differences. Two numbers differ by the share of the real rows or by the share of the declared range
that lies between them, whichever is less: a little noise is a small difference both where rows are
dense and where all are equal. Two categories that are not equal differ by 1, and a null from
anything but a null by 1.

A nearest neighbour is the closer the more rows there are to choose from. So rows are compared with
equally many rows of either kind. Two questions are asked of each synthetic row:

- Is it nearer to a row of the real table than to a row of as many other real rows? Rows that were
  not copied are as often nearer to the one as to the other.
- Is it nearer to a row of the real table than to any other synthetic row? Rows with a little noise
  on them are nearly always nearer to the row they were copied from. This needs no other real rows.

Both are asked again of the tenth of the rows that have the nearest neighbours of either kind: a few
copies among many honest rows do not change a share of all rows, but they are in that tenth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.evaluation.table_arrays import (
    Booleans,
    CategoricalCells,
    Cells,
    Floats,
    NumericCells,
    TableArrays,
    assign_row_ids,
    refuse_empty,
)

BINS, COLUMNS = 24, 60
QUERIES, MOST_NEAR = 1000, 50_000
CLOSEST = 0.1
_MILLION = 4.9  # standard errors
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
        nearer_than_other: Share of the synthetic rows that are nearer to a real row than to as many
            other real rows; about one half is expected. None without other real rows.
        nearer_than_synthetic: Share that are nearer to a real row than to as many other synthetic
            rows; one half or less is expected.
        queries: Number of synthetic rows that these shares are of.
        closest_nearer: The larger of the two shares among the tenth of the rows whose nearest
            neighbour of either kind is closest; None if neither was measured.
        repeats: Share of synthetic rows that equal another synthetic row.
        other_repeats: The same of as many real rows.
    """

    edges: tuple[float, ...]
    synthetic: tuple[float, ...]
    other: tuple[float, ...]
    copies: float
    other_copies: float
    rows: tuple[int, int, int]
    nearer_than_other: float | None
    nearer_than_synthetic: float | None
    queries: int
    closest_nearer: float | None = None
    repeats: float = 0.0
    other_repeats: float = 0.0

    @property
    def nearer(self) -> float | None:
        """The larger of the two shares; None if neither was measured."""
        shares = (self.nearer_than_other, self.nearer_than_synthetic)
        return max((share for share in shares if share is not None), default=None)

    @property
    def chance(self) -> float:
        """Share that `nearer` exceeds by chance once in a million tables, if no row is copied."""
        return 0.5 + _MILLION / (2 * math.sqrt(max(1, self.queries)))

    @property
    def closest_chance(self) -> float:
        """The same for `closest_nearer`."""
        return 0.5 + _MILLION / (2 * math.sqrt(_count_closest(self.queries)))


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
        (0.5, 0.33, 0.188, (2, 2, 3))
    """
    validation.check_integer("rows", rows, least=1)
    rows = math.ceil(rows * min(1.0, math.sqrt(COLUMNS / len(real.columns))))
    refuse_empty([real, synthetic, *([] if test is None else [test])])
    rng = np.random.default_rng(random_state)
    near, other = _split_halves(real, rows, rng) if test is None else (real, test)
    near, other = near.sample_rows(rows, rng), other.sample_rows(rows, rng)
    sampled = synthetic.sample_rows(rows, rng)
    ranks = RankScale.from_table(real)
    away = find_nearest_distances(sampled, near, ranks)
    expected = find_nearest_distances(other, near, ranks)
    edges = np.linspace(0.0, np.concatenate([away, expected]).max() or 1.0, BINS + 1)
    copies, other_copies = _compute_copy_shares(real, synthetic, test)
    by_other = None if test is None else _compare_nearest(real, synthetic, test, rng)
    by_synthetic = _compare_nearest(real, synthetic, None, rng)
    repeats, other_repeats = _compute_repeat_shares(real, synthetic, rng)
    return Closeness(
        edges=tuple(edges.tolist()),
        synthetic=_compute_shares(away, edges),
        other=_compute_shares(expected, edges),
        copies=copies,
        other_copies=other_copies,
        rows=(len(near), len(sampled), len(other)),
        nearer_than_other=None if by_other is None else by_other[0],
        nearer_than_synthetic=None if by_synthetic is None else by_synthetic[0],
        queries=min(QUERIES, len(synthetic)),
        closest_nearer=max((pair[1] for pair in (by_other, by_synthetic) if pair), default=None),
        repeats=repeats,
        other_repeats=other_repeats,
    )


def _compare_nearest(
    real: TableArrays, synthetic: TableArrays, other: TableArrays | None, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return the share of synthetic rows nearer to real rows than to as many others.

    The second share is of the rows that are closest to any. The others are synthetic rows but the
    row itself if `other` is None. Of two that are as near, one half counts.
    """
    at = np.sort(rng.choice(len(synthetic), min(QUERIES, len(synthetic)), replace=False))
    rivals = len(synthetic) - 1 if other is None else len(other)
    most = math.ceil(MOST_NEAR * min(1.0, COLUMNS / len(real.columns)))
    size = min(len(real), rivals, most)
    if size < 1:
        return None
    ranks, queries = RankScale.from_table(real), synthetic.take(at)
    to_real = find_nearest_distances(queries, real.sample_rows(size, rng), ranks)
    if other is not None:
        to_other = find_nearest_distances(queries, other.sample_rows(size, rng), ranks)
    else:
        drawn = np.sort(rng.choice(len(synthetic), min(size + 1, len(synthetic)), replace=False))
        rest = synthetic.take(drawn)
        to_other = find_nearest_distances(queries, rest, ranks, itself=at[:, None] == drawn)
    nearer = (to_real < to_other) + (to_real == to_other) / 2
    order = np.argsort(np.minimum(to_real, to_other), kind="stable")
    return float(nearer.mean()), float(nearer[order[: _count_closest(len(at))]].mean())


def _count_closest(queries: int) -> int:
    return max(1, math.ceil(CLOSEST * queries))


@dataclass(frozen=True, eq=False)
class RankScale:
    """Numbers by their rank among the rows of a table, and by their place in the declared range.

    Args:
        columns: For each number by name: places in the range, rising, and the ranks of these.
    """

    columns: Mapping[str, tuple[Floats, Floats]]

    @classmethod
    def from_table(cls, table: TableArrays) -> RankScale:
        """Read it from a table."""
        numbers = (cells for cells in table if isinstance(cells, NumericCells))
        return cls({cells.name: _rank_places(cells) for cells in numbers})

    def scale_cells(self, cells: Cells) -> tuple[NDArray[Any], ...]:
        """Return the codes of categories; of numbers the rank, and the place in the range.

        Between two numbers of the table the rank grows evenly: else all numbers between them would
        be as one, and nearer to each other than to either.
        """
        if isinstance(cells, CategoricalCells):
            return (cells.values.astype(np.int32),)
        both = (np.interp(cells.scaled, *self.columns[cells.name]), cells.scaled)
        return tuple(one.astype(np.float32) for one in both)


def _rank_places(cells: NumericCells) -> tuple[Floats, Floats]:
    """Return the distinct places with the share of rows below, and half of those on each."""
    places, counts = np.unique(cells.scaled[~cells.missing], return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / max(1, counts.sum())
    if not len(places) or places[0] > 0:
        places, ranks = np.append(0.0, places), np.append(0.0, ranks)
    if places[-1] < 1:
        places, ranks = np.append(places, 1.0), np.append(ranks, 1.0)
    return places, ranks


def find_nearest_distances(
    rows: TableArrays, near: TableArrays, ranks: RankScale, itself: Booleans | None = None
) -> Floats:
    """Return the distance of each row to the nearest row of `near`, but for `itself`."""
    columns = [
        (ranks.scale_cells(one), ranks.scale_cells(two))
        for one, two in zip(rows, near, strict=True)
    ]
    nearest, step = np.empty(len(rows)), max(1, _PAIRS_AT_ONCE // len(near))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        total = np.zeros((len(nearest[block]), len(near)), np.float32)
        for ours, theirs in columns:
            total += _square_differences([each[block, None] for each in ours], theirs)
        if itself is not None:
            total[itself[block]] = np.inf
        nearest[block] = total.min(axis=1)
    return np.sqrt(nearest / len(columns))


def _square_differences(
    ours: Sequence[NDArray[Any]], theirs: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    """Return the squared difference of each pair of cells, at most 1."""
    if len(ours) == 1:
        return np.asarray(ours[0] != theirs[0])
    (rank, place), (their_rank, their_place) = ours, theirs
    squared: NDArray[np.float32] = np.minimum(
        np.abs(rank - their_rank), np.abs(place - their_place)
    )
    squared *= squared
    null, also_null = np.isnan(rank), np.isnan(their_rank)
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


def _compute_repeat_shares(
    real: TableArrays, synthetic: TableArrays, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the share of rows that equal another row, of as many synthetic as real rows."""
    size = min(len(real), len(synthetic))
    drawn = (table.sample_rows(size, rng) for table in (synthetic, real))
    made, known = (assign_row_ids([table])[0] for table in drawn)
    return float((np.bincount(made)[made] > 1).mean()), float(
        (np.bincount(known)[known] > 1).mean()
    )


def _compute_shares(distances: Floats, edges: Floats) -> tuple[float, ...]:
    counts, _ = np.histogram(distances, edges)
    return tuple((counts / max(len(distances), 1)).tolist())
