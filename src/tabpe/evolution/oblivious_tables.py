"""Oblivious tables: noisy counts of the cells of an oblivious tree, behind a gate.

An oblivious tree asks the same question on all paths of a level: whether a column lies above a cut.
K levels make 2^K cells, each with a count for each class. One such table tells what a label owes
to K columns together, which votes show only as a blur.

1. After half of the rounds a tree is searched on the pool, and its table is measured with a small
   share of the budget: the probe.
2. The gate: if the pool predicts the probe to within a few times its noise, nothing more is asked.
   Else a tree is searched anew two rounds later, and the budget of the last round, which is then
   not voted, goes to tables.
3. A pool confirms its own cuts, so these are corrected by line tables. A line table has intervals
   of one column, and counts in each how many rows have the class that the other levels predict
   left of the cut, and how many the one on its right. The cut is where the former give way to the
   latter.
4. The table of the corrected tree gets what is left. All tables are evidence for the fit.

Privacy: trees, cuts and predicted classes follow from the pool and from noisy counts. The cell of a
private row follows from that row alone, and is exactly one of each table. How many tables there
are, and their noise, is fixed before: the gate only decides what they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records
from tabpe.encoding.marginals import Marginal
from tabpe.evolution.evidence import PoolRows, sum_by_cell
from tabpe.evolution.marginal_prior import NoisyMarginal
from tabpe.evolution.private_evolution import draw_systematic

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Bits = NDArray[np.bool_]
Features = NDArray[np.float32]
Codes = NDArray[np.unsignedinteger[Any]]
TableQuery = Callable[[Sequence[Marginal]], list[NoisyMarginal]]

# The normalised residual that opens the gate: squared residuals in variances of the noise.
# On 31 tables that are no exclusive or it was at most 2.3 at epsilon 1 and 4.8 at epsilon 3; on
# exclusive ors of 5 to 7 columns 11 and more.
HIGH_RESIDUAL = 6.0
# Rows per cell of a table, on average: so many times half the noise.
_ROOM, _MOST_LEVELS = 2.0, 11
_DRAWS, _TREES, _LEAF = 30_000, 30, 10
# Steps of the search for cuts, in ranks, the passes of each, and how near to an end a cut may be.
_STEPS, _PASSES, _MARGIN, _AROUND = (0.05, 0.02), 2, 0.02, 3
# Line tables: what is looked at, in ranks; the first looks everywhere.
_LOOKS, _INTERVALS = (1.0, 0.06), 32
_PART_OF_TABLE, _PART_OF_LINES = 4, 2


@dataclass(frozen=True)
class Split:
    """A question about one column, which divides rows in two.

    Args:
        column: The index of the column, among numbers or codes.
        cut: Numbers above it are on the right, and nulls on the left; None for codes.
        right: Whether each code is on the right.
    """

    column: int
    cut: float | None
    right: tuple[bool, ...] = ()

    def find_bits(self, rows: Records) -> Bits:
        """Return which rows are on the right."""
        if self.cut is None:
            codes = rows.codes[:, self.column].clip(max=len(self.right) - 1)
            listed: Bits = np.array(self.right, dtype=np.bool_)[codes]
            return listed
        above: Bits = rows.numbers[:, self.column].astype(np.float32) > np.float32(self.cut)
        return above


@dataclass(frozen=True)
class ObliviousAxis:
    """The cells of an oblivious tree by the classes of rows.

    Args:
        splits: The question of each level.
        classes: The number of classes.
        name: The name of the axis.
    """

    splits: tuple[Split, ...]
    classes: int
    name: str = "oblivious table"

    @property
    def size(self) -> int:
        """The number of cells: those of the tree times the classes."""
        return self.classes << len(self.splits)

    def find_leaves(self, rows: Records) -> Whole:
        """Return the cell of the tree of each row; a level is a bit of it."""
        leaves = np.zeros(len(rows), dtype=np.int64)
        for level, split in enumerate(self.splits):
            leaves |= split.find_bits(rows).astype(np.int64) << level
        return leaves

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of each row."""
        cells: Whole = self.find_leaves(rows) * self.classes + classes
        return cells


@dataclass(frozen=True)
class LineAxis:
    """Intervals of a column, by whether a row has the class that is predicted on a side of a cut.

    Args:
        axis: The tree.
        level: Which of its cuts is looked at.
        cuts: Where a new interval begins, ascending.
        left: The class that is predicted left of the cut, by the cell of the other levels.
        right: The class on its right. Where both are the same the row tells nothing.
        name: The name of the axis.
    """

    axis: ObliviousAxis
    level: int
    cuts: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    name: str = "line table"

    @property
    def size(self) -> int:
        """The number of cells: neither class, the left or the right one, in each interval."""
        return 3 * (len(self.cuts) + 1)

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of each row."""
        numbers = rows.numbers[:, self.axis.splits[self.level].column].astype(np.float32)
        cuts = np.array(self.cuts, dtype=np.float32)
        intervals = np.searchsorted(cuts, np.where(np.isnan(numbers), -np.inf, numbers))
        leaves = self.axis.find_leaves(rows)
        others = (leaves & ((1 << self.level) - 1)) | (leaves >> (self.level + 1) << self.level)
        left, right = np.array(self.left)[others], np.array(self.right)[others]
        side = np.where(classes == left, 1, np.where(classes == right, 2, 0))
        cells: Whole = 3 * intervals.astype(np.int64) + np.where(left == right, 0, side)
        return cells


def count_levels(rows: float, sigma: float, classes: int) -> int:
    """Return the most levels of a tree whose table stands out from its noise.

    Example:
        >>> [count_levels(35_000, sigma=26.0, classes=classes) for classes in (2, 10)]
        [10, 8]
    """
    cells = _ROOM * rows / (sigma * classes)
    return int(np.clip(np.floor(np.log2(max(cells, 4.0))), 2, _MOST_LEVELS))


def search_tree(
    rows: PoolRows, weights: Floats, classes: int, levels: int, rng: np.random.Generator
) -> ObliviousAxis:
    """Return the oblivious tree whose cells separate the classes of a pool best.

    Columns are the most important ones of a forest, if there are more than levels. Cuts begin at
    medians, and one after the other moves to where cells are purest.

    Args:
        rows: The rows of the pool.
        weights: Their weights.
        classes: The number of classes.
        levels: The most levels.
        rng: Draws rows.
    """
    drawn = draw_systematic(weights, _DRAWS, rng)
    sample, target = rows.plain.take(drawn), rows.classes[drawn]
    orders = [_order_codes(codes, target, classes) for codes in sample.codes.T]
    features = _make_features(sample, orders)
    columns = _choose_columns(features, target, levels, seed=int(rng.integers(2**31)))
    cuts = _search_cuts(features[:, columns], target, classes)
    numbers = sample.numbers.shape[1]
    splits = [
        Split(column, cut)
        if column < numbers
        else Split(
            column - numbers, None, tuple((orders[column - numbers] > np.float32(cut)).tolist())
        )
        for column, cut in zip(columns, cuts, strict=True)
    ]
    return ObliviousAxis(tuple(splits), classes)


def build_line(
    axis: ObliviousAxis,
    level: int,
    table: NoisyMarginal,
    numbers: Features,
    *,
    width: float,
) -> LineAxis:
    """Return the line table that looks at the cut of a level.

    Args:
        axis: The tree.
        level: The level, whose column has numbers.
        table: The noisy table of the tree.
        numbers: Numbers of the column in the pool, ascending, by which intervals get equal ranks.
        width: How many ranks are looked at around the cut, as a part of all.
    """
    counts = table.counts.reshape(-1, axis.classes)
    cells = np.arange(len(counts))
    is_right = (cells >> level & 1).astype(np.bool_)
    likely = counts.argmax(axis=1)
    cut = np.float32(axis.splits[level].cut)
    cuts = np.unique(np.append(_list_values(numbers, cut, width), cut))
    return LineAxis(
        axis,
        level,
        tuple(cuts.tolist()),
        tuple(likely[~is_right].tolist()),
        tuple(likely[is_right].tolist()),
    )


def _list_values(numbers: Features, cut: np.float32, width: float) -> Features:
    """Return where intervals of equal ranks begin, everywhere or around a cut."""
    ranks = np.linspace(0, 1, _INTERVALS + 1)[1:-1]
    if width < 1 and len(numbers):
        rank = float((numbers <= cut).mean())
        ranks = rank + width * (np.linspace(0, 1, _INTERVALS + 1) - 0.5)
        ranks = ranks[(ranks > 0) & (ranks < 1)]
    places = (ranks * len(numbers)).astype(np.int64)
    values: Features = numbers[places] if len(numbers) else numbers
    return values


def correct_cut(line: LineAxis, measured: NoisyMarginal) -> Split:
    """Return the split of a line with the cut at which its counts change sides.

    It stays where it is if no other is better by more than the noise.
    """
    split = line.axis.splits[line.level]
    counts = measured.counts.reshape(-1, 3)
    contrast = counts[:, 1] - counts[:, 2]
    # What a cut before each interval gains over one before all of them, besides the first.
    gains = 2 * np.cumsum(contrast)[:-1]
    cuts = np.array(line.cuts, dtype=np.float32)
    now = int(np.searchsorted(cuts, np.float32(split.cut)))
    best = int(gains.argmax())
    noise = 2 * measured.sigma * np.sqrt(2 * abs(best - now))
    if gains[best] - gains[now] <= noise:
        return split
    return replace(split, cut=float(cuts[best]))


@dataclass(frozen=True)
class TableBudget:
    """What may be asked for oblivious tables.

    Args:
        probe: Measures the first table.
        instead: Measures tables with the budget of the last round of votes.
        parts: How many marginals `instead` may measure.
        sigma: The noise on counts of the probe.
    """

    probe: TableQuery
    instead: TableQuery
    parts: int
    sigma: float


class TableGate:
    """Asks for oblivious tables at the end of rounds, and whether to go on.

    Args:
        budget: What may be asked.
        rounds: The rounds of votes, 2 or more.
        sizes: The estimated number of rows of each class.
    """

    def __init__(self, budget: TableBudget, rounds: int, sizes: Floats) -> None:
        self._budget, self._classes, self._rounds = budget, len(sizes), rounds
        self._levels = count_levels(float(sizes.sum()), budget.sigma, len(sizes))
        self._probed = rounds // 2
        self._used = min(self._probed + 2, rounds - 1)
        self.residual: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the pool did not predict the probe."""
        return self.residual is not None and self.residual > HIGH_RESIDUAL

    @property
    def rounds(self) -> int:
        """How many rounds are voted."""
        return self._rounds - self.is_open

    def ask(
        self, done: int, rows: PoolRows, weights: Floats, rng: np.random.Generator
    ) -> list[NoisyMarginal]:
        """Return the tables that are due after some rounds; none after most.

        Args:
            done: The number of rounds done.
            rows: The rows of the pool.
            weights: Their weights, fitted.
            rng: Draws rows of the pool.
        """
        found = []
        if done == self._probed:
            axis = search_tree(rows, weights, self._classes, self._levels, rng)
            found = self._budget.probe([Marginal((axis,))])
            self.residual = compute_residual(found[0], rows, weights, self._classes)
        if done == self._used and self.is_open:
            found += self._measure_more(rows, weights, rng)
        return found

    def _measure_more(
        self, rows: PoolRows, weights: Floats, rng: np.random.Generator
    ) -> list[NoisyMarginal]:
        """Return a table, the lines along its columns, and the table of the corrected tree."""
        left = self._budget.parts
        axis = search_tree(rows, weights, self._classes, self._levels, rng)
        drawn = draw_systematic(weights, _DRAWS, rng)
        along = [level for level, split in enumerate(axis.splits) if split.cut is not None]
        found = [self._measure(Marginal((axis,)), max(1, left // _PART_OF_TABLE))]
        left -= max(1, left // _PART_OF_TABLE)
        for_lines = self._budget.parts // _PART_OF_LINES
        looks = _LOOKS if len(_LOOKS) * len(along) <= for_lines else _LOOKS[:1]
        copies = for_lines // max(1, len(looks) * len(along))
        for width in looks if copies else ():
            table, corrected = found[-1], list(axis.splits)
            for level in along:
                column = axis.splits[level].column
                numbers = _sort_numbers(rows.plain.numbers[drawn, column])
                line = build_line(axis, level, found[0], numbers, width=width)
                table = self._measure(Marginal((line,)), copies)
                corrected[level] = correct_cut(line, table)
                found.append(table)
                left -= copies
            axis = replace(axis, splits=tuple(corrected))
        if left:
            found.append(self._measure(Marginal((axis,)), left))
        return found

    def _measure(self, marginal: Marginal, copies: int) -> NoisyMarginal:
        """Return the mean of several noisy answers."""
        measured = self._budget.instead([marginal] * copies)
        return average_tables(measured)


def average_tables(tables: Sequence[NoisyMarginal]) -> NoisyMarginal:
    """Return the mean of noisy counts of the same marginal.

    Example:
        >>> one = NoisyMarginal(Marginal(()), np.array([3.0]), 2.0)
        >>> mean = average_tables([one, one, one, one])
        >>> mean.counts, mean.sigma
        (array([3.]), 1.0)
    """
    counts = np.mean([table.counts for table in tables], axis=0)
    # What users add up to is scaled by each answer, so its noise differs a little.
    sigma = float(np.sqrt(np.mean([table.sigma**2 for table in tables]) / len(tables)))
    return NoisyMarginal(tables[0].marginal, counts, sigma)


def compute_residual(table: NoisyMarginal, rows: PoolRows, weights: Floats, classes: int) -> float:
    """Return the normalised residual of the classes in each cell: about 1 if a pool predicts them.

    How many rows a cell has is taken from the table: where numbers pile up, a pool may miss that,
    and more tables about classes would not mend it.
    """
    cells = table.marginal.find_cells(rows.plain, rows.classes)[None].astype(np.int32)
    predicted = sum_by_cell(cells, weights, table.counts.size).reshape(-1, classes)
    prior = predicted.sum(axis=0) / predicted.sum()
    # As many rows of all classes as stand out from the noise keep the share of a thin cell off 0.
    thin = predicted + table.sigma * prior
    shares = thin / thin.sum(axis=1, keepdims=True)
    counts = table.counts.reshape(-1, classes)
    error = counts - shares * counts.sum(axis=1, keepdims=True)
    variance = table.sigma**2 * (1 - 2 * shares + classes * shares**2)
    return float((error**2).sum() / variance.sum())


def _order_codes(codes: Codes, target: Whole, classes: int) -> Features:
    """Return a number for each code, such that codes with like shares of the classes are near.

    It is their place along the direction in which these shares vary most.
    """
    counts = np.zeros((int(codes.max(initial=0)) + 1, classes))
    np.add.at(counts, (codes, target), 1.0)
    prior = counts.sum(axis=0) / max(counts.sum(), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    shares = (counts + _LEAF * prior) / (total + _LEAF) - prior
    _, _, directions = np.linalg.svd(np.sqrt(total) * shares, full_matrices=False)
    ordered: Features = (shares @ directions[0]).astype(np.float32)
    return ordered


def _make_features(rows: Records, orders: Sequence[Features]) -> Features:
    numbers = np.nan_to_num(rows.numbers.astype(np.float32), nan=-1.0)
    codes = [order[column] for order, column in zip(orders, rows.codes.T, strict=True)]
    features: Features = np.column_stack([numbers, *codes]).astype(np.float32)
    return features


def _choose_columns(features: Features, target: Whole, most: int, *, seed: int) -> list[int]:
    """Return the columns that say most about the classes, ascending."""
    if features.shape[1] <= most:
        return list(range(features.shape[1]))
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(_TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1)
    some = slice(None, None, 3)
    importances = forest.fit(features[some], target[some]).feature_importances_
    return sorted(np.argsort(-importances, kind="stable")[:most].tolist())


def _search_cuts(features: Features, target: Whole, classes: int) -> list[float]:
    """Return a cut for each column, by coordinate ascent of the purity of the cells."""
    columns = range(features.shape[1])
    ordered = np.sort(features, axis=0)
    ranks = [0.5 for _ in columns]
    cuts = [_find_first_cut(ordered[:, column]) for column in columns]
    bits = [(features[:, column] > cuts[column]).astype(np.int64) for column in columns]
    leaves = np.zeros(len(features), dtype=np.int64)
    for column in columns:
        leaves += bits[column] << column
    for step in (step for step in _STEPS for _ in range(_PASSES)):
        for column in columns:
            options = {cuts[column]: ranks[column]}
            for rank in _list_ranks(ranks[column], step):
                place = min(int(rank * len(ordered)), len(ordered) - 1)
                options.setdefault(float(ordered[place, column]), rank)
            others = leaves - (bits[column] << column)
            tried = [(cut, (features[:, column] > cut).astype(np.int64)) for cut in options]
            purities = [
                _compute_purity(others + (bit << column), target, len(columns), classes)
                for _, bit in tried
            ]
            cuts[column], bits[column] = tried[int(np.argmax(purities))]
            ranks[column] = options[cuts[column]]
            leaves = others + (bits[column] << column)
    return cuts


def _list_ranks(rank: float, step: float) -> list[float]:
    """Return the ranks to try: everywhere with the first step, around one with the second."""
    ranks = np.arange(0.1, 0.9 + step / 2, step)
    if step != _STEPS[0]:
        ranks = rank + step * np.arange(-_AROUND, _AROUND + 1)
        ranks = ranks[(ranks > _MARGIN) & (ranks < 1 - _MARGIN)]
    return [float(each) for each in ranks]


def _find_first_cut(ordered: Features) -> float:
    """Return the median, or another value of a column if hardly any row is above it."""
    median = ordered[len(ordered) // 2]
    if (ordered > median).mean() >= _MARGIN:
        return float(median)
    values = np.unique(ordered)
    return float(values[max(len(values) // 2 - 1, 0)])


def _compute_purity(leaves: Whole, target: Whole, levels: int, classes: int) -> float:
    """Return how many rows are of the class of a row of their cell, less what chance adds."""
    counts = np.bincount(leaves * classes + target, minlength=classes << levels)
    table = counts.reshape(-1, classes).astype(np.float64)
    total = table.sum(axis=1)
    pure = (table**2).sum(axis=1) / np.maximum(total, 1.0)
    return float(pure.sum() - np.count_nonzero(total) * (1 - 1 / classes))


def _sort_numbers(numbers: NDArray[np.floating[Any]]) -> Features:
    """Return numbers of a column, ascending, in the precision of private rows, without nulls."""
    single = numbers.astype(np.float32)
    ordered: Features = np.sort(single[~np.isnan(single)])
    return ordered
