"""`MarginalPrior`: what noisy 1-way marginals say about where rows lie.

Marginals count the cells of each column, over all rows and by class, in as many cells as the noise
allows. A prior estimates the size of each class, draws rows whose columns are independent given the
class, and transforms columns of numbers towards their ranks.

Privacy: the marginals are noisy already, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.encoding.atoms import Atoms, find_states, list_public_numbers
from tabpe.encoding.marginals import ListAxis, Marginal, NumberAxis, build_axis, build_class_axis
from tabpe.encoding.records import Codes, RankTransform
from tabpe.schema.schema import RARE

MOST_BINS = 32
# Cells of a 2-way marginal. By class it may have a few times as many: noise on a cell is the same.
FEWEST_OF_PAIR, MOST_OF_PAIR, BY_CLASS = 16, 1024, 4
# Of a column of very many listed values, neighbours in the list share a cell of a pair.
MOST_LISTED = 64
# The same by class: every class has noise of its own on each cell, which takes time to draw.
MOST_LISTED_BY_CLASS = 4096
# An average cell has at least this many times the noise on it.
ABOVE_NOISE = 2.0
_FEWEST, _FEWEST_BY_CLASS = 4, 2


@dataclass(frozen=True, eq=False)
class MarginalBins:
    """How single columns are counted.

    Args:
        fine: The cells of each column over all rows: numbers, then codes.
        coarse: The cells of each column by class, which are groups of the fine ones.
        groups: For each column the coarse cell of every fine one.
        classes: The class of a row; None if columns are not counted by class.
    """

    fine: tuple[NumberAxis | ListAxis, ...]
    coarse: tuple[NumberAxis | ListAxis, ...]
    groups: tuple[NDArray[np.int64], ...]
    classes: ListAxis | None

    @property
    def overall(self) -> list[Marginal]:
        """The 1-way marginals of all rows."""
        return [Marginal((axis,)) for axis in self.fine]

    @property
    def by_class(self) -> list[Marginal]:
        """The marginals by class, if there are any."""
        if self.classes is None:
            return []
        return [Marginal((self.classes, axis)) for axis in self.coarse]


def choose_bins(
    encoder: Encoder, rows: float, sigma: float, *, by_class: bool, spikes: bool = False
) -> MarginalBins:
    """Return cells with more rows than noise on average, by public and noisy facts alone.

    Args:
        encoder: Encodes the rows.
        rows: The number of rows, declared or noisy.
        sigma: The noise on each cell.
        by_class: Whether columns are counted by class as well.
        spikes: Whether public points, at which numbers may pile up, have cells of their own.

    Example:
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> encoder = Encoder(Schema((Integer("age", 0, 99), Boolean("ill")), label="ill"))
        >>> bins = choose_bins(encoder, rows=1000, sigma=50, by_class=True)
        >>> bins.fine[0].size, bins.coarse[0].size
        (10, 5)
    """
    above_noise = rows / (ABOVE_NOISE * sigma)
    most = _limit_cells(above_noise, _FEWEST)
    most_by_class = _limit_cells(above_noise / encoder.class_count, _FEWEST_BY_CLASS)
    names = [column.name for column in (*encoder.numeric, *encoder.categorical)]
    fine = tuple(
        _add_atoms(build_axis(encoder, name, max_bins=most), encoder, spikes=spikes)
        for name in names
    )
    groups = tuple(group_cells(axis, most_by_class) for axis in fine)
    return MarginalBins(
        fine,
        tuple(map(coarsen_axis, fine, groups)),
        groups,
        build_class_axis(encoder) if by_class else None,
    )


def _add_atoms(
    axis: NumberAxis | ListAxis, encoder: Encoder, *, spikes: bool
) -> NumberAxis | ListAxis:
    """Return an axis with a cell for each special value, and each public point if searched for."""
    if isinstance(axis, ListAxis) or axis.name in encoder.schema.labels:
        return axis
    places = set(encoder.atoms[axis.index])
    # With a cell for each value, a pile needs no search.
    if spikes and not 0 < encoder.space.steps[axis.index] < axis.bins:
        points = list_public_numbers(encoder.schema[axis.name])
        places |= set(encoder.locate_numbers(axis.name, points))
    return replace(axis, atoms=tuple(sorted(places)))


def choose_pairs(
    bins: MarginalBins, rows: float, sigma: float, *, shares: Sequence[Floats] | None = None
) -> list[Marginal]:
    """Return the 2-way marginal of each pair of columns, in cells with more rows than noise.

    Listed values keep their cells, unless there are very many; bins of numbers are merged where
    there would be too many cells. A marginal is by class as well unless that makes too many.

    Args:
        bins: How single columns are counted.
        rows: The number of rows, declared or noisy.
        sigma: The noise on each cell.
        shares: The shares of the fine cells of each column, to merge bins until each has about as
            many rows as any other; None to merge as many bins everywhere.

    Example:
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> columns = Integer("age", 0, 99), Integer("weight", 0, 200), Boolean("ill")
        >>> encoder = Encoder(Schema(columns, label="ill"))
        >>> bins = choose_bins(encoder, rows=10_000, sigma=50, by_class=True)
        >>> choose_pairs(bins, rows=10_000, sigma=50)[0].shape
        (2, 10, 10)
    """
    most = int(min(max(rows / (ABOVE_NOISE * sigma), FEWEST_OF_PAIR), MOST_OF_PAIR))
    given = [None] * len(bins.fine) if shares is None else shares
    sides = list(zip(bins.fine, given, strict=True))
    return [_make_pair(*pair, bins.classes, most) for pair in combinations(sides, 2)]


Side = tuple[NumberAxis | ListAxis, NDArray[np.float64] | None]


def _make_pair(first: Side, second: Side, classes: ListAxis | None, most: int) -> Marginal:
    one, other = first[0], second[0]
    if one.size * other.size > most:
        even = isqrt(most)
        sides = _coarsen_side(*first, other, even, most), _coarsen_side(*second, one, even, most)
    else:
        sides = one, other
    pair = Marginal(sides)
    if classes is None or classes.size * pair.size > BY_CLASS * most:
        return pair
    return Marginal((classes, *sides))


def _coarsen_side(
    axis: NumberAxis | ListAxis,
    shares: NDArray[np.float64] | None,
    other: NumberAxis | ListAxis,
    even: int,
    most: int,
) -> NumberAxis | ListAxis:
    """Return an axis with fewer bins: what the listed values of the other leave, or the root."""
    if isinstance(axis, ListAxis):
        return coarsen_axis(axis, _group_values(axis, MOST_LISTED))
    left = most // other.size if isinstance(other, ListAxis) else even
    wanted = max(left, _FEWEST)
    if shares is None:
        return coarsen_axis(axis, group_cells(axis, wanted))
    return coarsen_axis(axis, _group_by_mass(axis, shares, wanted))


def _group_by_mass(axis: NumberAxis, shares: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the coarse cell of each cell: adjacent bins are merged to about equal mass."""
    held = shares[: axis.bins]
    middle = (np.cumsum(held) - held / 2) / max(float(held.sum()), np.finfo(np.float64).tiny)
    joined = np.unique(np.minimum((middle * most).astype(np.int64), most - 1), return_inverse=True)
    return np.append(joined[1], joined[0].size + np.arange(axis.size - axis.bins))


def _limit_cells(cells: float, fewest: int) -> int:
    return int(min(MOST_BINS, max(fewest, cells)))


def group_cells(axis: NumberAxis | ListAxis, most: int) -> NDArray[np.int64]:
    """Return the coarse cell of each cell: adjacent bins are merged, as are very many values.

    Nulls and atoms keep their cells.
    """
    if isinstance(axis, ListAxis):
        return _group_values(axis, MOST_LISTED_BY_CLASS)
    coarse = min(axis.bins, most)
    joined = np.arange(axis.bins) * coarse // axis.bins
    return np.append(joined, coarse + np.arange(axis.size - axis.bins))


def _group_values(axis: ListAxis, most: int) -> NDArray[np.int64]:
    """Return a cell for each value of a list: its own, or one shared with adjacent values."""
    return np.arange(axis.size) * min(axis.size, most) // axis.size


def coarsen_axis(axis: NumberAxis | ListAxis, groups: NDArray[np.int64]) -> NumberAxis | ListAxis:
    """Return an axis whose cells are joined by group; groups of bins rise by one at most."""
    if isinstance(axis, ListAxis):
        return replace(axis, groups=tuple(groups.tolist()))
    begins = np.flatnonzero(np.diff(groups[: axis.bins])) + 1
    cuts, edges = np.array(axis.cuts), np.array(axis.edges)
    return NumberAxis(
        axis.name,
        axis.index,
        tuple(cuts[begins - 1].tolist()),
        (axis.edges[0], *edges[begins].tolist(), axis.edges[-1]),
        axis.nullable,
        axis.atoms,
    )


Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Every cell gets this part of an even share, so that no value is ruled out.
_EVEN = 1e-3
# The distribution of a class is mixed with this part of that of all rows.
_COMMON = 0.05


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """Noisy counts of the cells of a marginal.

    Args:
        marginal: Whose cells they are.
        counts: The counts, in its shape.
        sigma: The noise on each of them, in rows.
    """

    marginal: Marginal
    counts: Floats
    sigma: float


@dataclass(frozen=True, eq=False)
class ColumnPrior:
    """The distribution of a column.

    Args:
        axis: Its cells.
        overall: The probability of each cell over all rows.
        probabilities: The probability of each cell in each class: classes x cells.
    """

    axis: NumberAxis | ListAxis
    overall: Floats
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class MarginalPrior:
    """The distribution of each column given the class, by noisy 1-way marginals.

    Args:
        sizes: The estimated number of rows of each class.
        columns: The columns of a record: numbers, then codes.
        spaces: Where the rows of each class may lie.
        tables: The marginals that all of it follows from.
        lifted: The factor on the share of each class in a pool; None for 1.
    """

    sizes: Floats
    columns: tuple[ColumnPrior, ...]
    spaces: tuple[RecordSpace, ...]
    tables: tuple[NoisyMarginal, ...]
    lifted: Floats | None = None

    @cached_property
    def lift(self) -> Floats:
        """The factor on the share of each class in a pool."""
        return np.ones(len(self.sizes)) if self.lifted is None else self.lifted

    @cached_property
    def mean_lift(self) -> float:
        """The mean of `lift` over all rows."""
        return float((self.sizes * self.lift).sum()) / self.rows

    @property
    def rows(self) -> float:
        """The estimated number of rows."""
        return float(self.sizes.sum())

    @cached_property
    def numbers(self) -> tuple[ColumnPrior, ...]:
        """The columns of numbers."""
        return self.columns[: len(self.spaces[0].low)]

    @cached_property
    def atoms(self) -> Atoms:
        """The numbers of each column at which rows pile up; empty for none."""
        found = tuple(c.axis.atoms if isinstance(c.axis, NumberAxis) else () for c in self.numbers)
        return found if any(found) else ()

    @cached_property
    def codes(self) -> tuple[ColumnPrior, ...]:
        """The columns of listed values."""
        return self.columns[len(self.spaces[0].low) :]

    def draw_rows(self, classes: Whole, rng: np.random.Generator) -> Records:
        """Return a row for each class given, with independent columns."""
        return Records(self.draw_numbers(classes, rng), self.draw_codes(classes, rng))

    def draw_numbers(self, classes: Whole, rng: np.random.Generator) -> Floats:
        """Return numbers for each class given; NaN for a null."""
        numbers = np.empty((len(classes), len(self.numbers)))
        cells = np.empty(numbers.shape, dtype=np.int64)
        for index, column in enumerate(self.numbers):
            ends = _find_cell_ends(column.axis, self.spaces[0].steps[index])
            cells[:, index] = mine = _draw_cells(column, classes, rng)
            bins = np.minimum(mine, len(ends) - 2)
            drawn = ends[bins] + rng.random(len(mine)) * np.diff(ends)[bins]
            numbers[:, index] = np.where(mine == bins, drawn, np.nan)
        numbers = self.project_numbers(numbers, classes)
        return self._put_atoms(numbers, cells) if self.atoms else numbers

    def _put_atoms(self, numbers: Floats, cells: Whole) -> Floats:
        """Return numbers with those at atoms that were drawn so, and with no others there."""
        steps, drawn_to = self.spaces[0].steps, find_states(numbers, self.atoms) > 1
        for index, column in enumerate(self.numbers):
            places = np.array(self.atoms[index])
            if not len(places):
                continue
            if steps[index]:
                near = np.flatnonzero(drawn_to[:, index])
                away = np.where(np.arange(len(near)) % 2, 1.0, -1.0)
                away[numbers[near, index] + away / steps[index] > 1] = -1.0
                away[numbers[near, index] + away / steps[index] < 0] = 1.0
                numbers[near, index] += away / steps[index]
                numbers[near, index] = np.rint(numbers[near, index] * steps[index]) / steps[index]
            atom = cells[:, index] - (column.axis.size - len(places))
            numbers[:, index] = np.where(atom >= 0, places[atom.clip(min=0)], numbers[:, index])
        return numbers

    def draw_codes(self, classes: Whole, rng: np.random.Generator) -> Codes:
        """Return listed values for each class given."""
        codes = np.empty((len(classes), len(self.codes)), dtype=self.spaces[0].code_type)
        for index, column in enumerate(self.codes):
            codes[:, index] = _draw_cells(column, classes, rng)
        return codes

    def project_numbers(self, numbers: Floats, classes: Whole) -> Floats:
        """Return numbers moved to where rows of their class may lie."""
        moved = np.empty_like(numbers)
        for label, space in enumerate(self.spaces):
            mine = classes == label
            moved[mine] = space.project(numbers[mine])
        return moved

    def build_rank_transform(self, by_rank: float) -> RankTransform:
        """Return a map of numbers towards their ranks: all the way for 1, not at all for 0.

        An atom is a piece of its own, as long as its share of the rows (`AtomInterval`).
        """
        pieces = [
            _build_pieces(column, steps, by_rank)
            for column, steps in zip(self.numbers, self.spaces[0].steps, strict=True)
        ]
        return RankTransform(
            tuple(ends for ends, _ in pieces), tuple(images for _, images in pieces)
        )


@dataclass(frozen=True)
class AtomInterval:
    """The numbers around an atom that count as the atom, and their images under a rank transform.

    A number that walks into the images has come to the atom. One at the atom walks from anywhere
    in there, so it leaves as often as others come.

    Args:
        column: The column of the number.
        place: The atom, as a scaled number.
        low: Where its interval begins: half a step before it on a grid, or hardly before it.
        high: Where its interval ends.
        begin: The image of `low`.
        end: The image of `high`.
    """

    column: int
    place: float
    low: float
    high: float
    begin: float
    end: float


def list_atom_intervals(prior: MarginalPrior, transform: RankTransform) -> list[AtomInterval]:
    """Return the interval of each atom of a prior, in the rank transform that was built from it."""
    intervals = []
    for index, places in enumerate(prior.atoms):
        known, meant = transform.edges[index], transform.positions[index]
        ends = _find_interval_ends(places, float(prior.spaces[0].steps[index]))
        for place, (low, high) in zip(sorted(places), ends, strict=True):
            begin, end = np.interp([low, high], known, meant).tolist()
            intervals.append(AtomInterval(index, place, float(low), float(high), begin, end))
    return intervals


def build_marginal_prior(
    encoder: Encoder,
    bins: MarginalBins,
    tables: Sequence[NoisyMarginal],
    sizes: Floats,
    sigma: float,
    *,
    rare: Sequence[float] = (),
    counts: Sequence[Floats] | None = None,
) -> MarginalPrior:
    """Return the prior that follows from 1-way marginals.

    Args:
        encoder: Encodes the rows.
        bins: The cells of each column.
        tables: The marginal of each column over all rows and then, if there are classes, by class.
        sizes: The declared or noisy number of rows of each class.
        sigma: The noise on each of them; 0 if they are declared.
        rare: The number of rows of each rare class that shares the last one, if any do.
        counts: The counts of the fine cells of each column over all rows; None for those of the
            marginals.
    """
    width = len(bins.fine)
    overall = [table.counts for table in tables[:width]] if counts is None else counts
    by_class = tables[width:] if bins.classes is not None else ()
    if sigma > 0:
        sizes = _refine_sizes(sizes, sigma, by_class)
    columns = []
    for index, fine in enumerate(bins.fine):
        shares = _compute_shares(overall[index], sizes.sum())
        probabilities = np.tile(shares, (len(sizes), 1))
        if by_class:
            probabilities = _compute_class_shares(
                shares, by_class[index].counts, sizes, bins.groups[index]
            )
        if isinstance(fine, NumberAxis):
            inside = zip(probabilities, encoder.spaces, strict=True)
            probabilities = np.stack(
                [_restrict_to_space(row, fine, space) for row, space in inside]
            )
        columns.append(ColumnPrior(fine, shares, probabilities))
    if rare:
        columns.append(_make_rare_column(np.array(rare), len(encoder.categorical), sizes))
    return MarginalPrior(sizes, tuple(columns), tuple(encoder.spaces), tuple(tables))


def project_counts(counts: Floats, total: float) -> Floats:
    """Return the nearest nonnegative counts that add up to `total`.

    Example:
        >>> project_counts(np.array([6.0, 3.0, -2.0]), 7.0)
        array([5., 2., 0.])
    """
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(falling > over)[-1]
    nearest: Floats = np.maximum(counts - over[last], 0.0)
    return nearest


def _refine_sizes(sizes: Floats, sigma: float, by_class: Sequence[NoisyMarginal]) -> Floats:
    """Return the mean of all estimates of class sizes, weighted by precision."""
    weights = [1 / sigma**2, *(1 / (t.counts.shape[1] * t.sigma**2) for t in by_class)]
    found = [sizes, *(table.counts.sum(axis=1) for table in by_class)]
    mean = np.average(np.stack(found), axis=0, weights=weights)
    return project_counts(mean, max(float(mean.sum()), 1.0))


def _compute_shares(counts: Floats, total: float) -> Floats:
    likely: Floats = project_counts(counts, total) + _EVEN * total / len(counts)
    return likely / float(likely.sum())


def _compute_class_shares(shares: Floats, counts: Floats, sizes: Floats, groups: Whole) -> Floats:
    """Return the probabilities in each class: its own by group, those of all rows within one."""
    coarse = np.bincount(groups, shares)
    own = np.stack(
        [project_counts(row, max(size, 1.0)) for row, size in zip(counts, sizes, strict=True)]
    )
    own = (1 - _COMMON) * own / own.sum(axis=1, keepdims=True) + _COMMON * coarse
    fine: Floats = own[:, groups] * (shares / coarse[groups])
    fine /= fine.sum(axis=1, keepdims=True)
    return fine


def _restrict_to_space(probabilities: Floats, axis: NumberAxis, space: RecordSpace) -> Floats:
    """Return probabilities restricted to cells within the bounds of a class."""
    reached = (np.array([*axis.cuts, 1.0]) >= space.low[axis.index]) & (
        np.array([0.0, *axis.cuts]) <= space.high[axis.index]
    )
    if axis.nullable:
        missing = space.missing[axis.index]
        reached = np.append(reached & (missing < 1), missing > 0)
    atoms = np.array(axis.atoms)
    reached = np.append(
        reached, (atoms >= space.low[axis.index]) & (atoms <= space.high[axis.index])
    )
    inside = np.where(reached, probabilities, 0.0)
    return inside / inside.sum() if inside.sum() > 0 else probabilities


def _make_rare_column(counts: Floats, index: int, sizes: Floats) -> ColumnPrior:
    """Return the code that distinguishes rare classes; it is the first in all other classes."""
    axis = ListAxis(RARE, index, tuple(range(len(counts))))
    probabilities = np.zeros((len(sizes), len(counts)))
    probabilities[:-1, 0] = 1.0
    probabilities[-1] = _compute_shares(counts, max(float(np.maximum(counts, 0.0).sum()), 1.0))
    return ColumnPrior(axis, sizes @ probabilities / sizes.sum(), probabilities)


def _find_cell_ends(axis: NumberAxis | ListAxis, steps: float) -> Floats:
    """Return the ends of cells. On a grid every value has a whole step around it."""
    half = 0.5 / steps if steps else 0.0
    return np.array([-half, *_get_cuts(axis), 1 + half])


def _build_pieces(column: ColumnPrior, steps: float, by_rank: float) -> tuple[Floats, Floats]:
    """Return the ends of the pieces of a column, and the images of these ends.

    Example:
        >>> axis = NumberAxis("x", 0, (0.5,), (0.0, 5.0, 10.0), atoms=(0.0,))
        >>> column = ColumnPrior(axis, np.array([0.3, 0.3, 0.4]), np.empty((0, 3)))
        >>> ends, images = _build_pieces(column, steps=10.0, by_rank=1.0)
        >>> ends.tolist(), images.round(2).tolist()
        ([0.0, 0.05, 0.5, 1.0], [0.0, 0.43, 0.7, 1.0])
    """
    cuts = np.array([0.0, *_get_cuts(column.axis), 1.0])
    ranks = _compute_ranks(column.overall[: len(cuts) - 1])
    places = column.axis.atoms if isinstance(column.axis, NumberAxis) else ()
    if not places:
        return cuts, by_rank * ranks + (1 - by_rank) * cuts
    intervals = _find_interval_ends(places, steps)
    # Ends that are the same but for rounding.
    near = float(np.diff(intervals).min()) / 8
    inside = np.sort(
        [cut for cut in cuts if not _is_in_interval(cut, intervals, near)] + [*intervals.flat]
    )
    inside = inside[(inside > near) & (inside < 1 - near)]
    ends = np.array([0.0, *inside[np.diff(inside, prepend=0.0) > near], 1.0])
    order = np.argsort(places)
    held = column.overall[len(column.overall) - len(places) :][order]
    total = float(column.overall[: len(cuts) - 1].sum() + held.sum())
    passed = np.cumsum([0.0, *held / total])[np.searchsorted(intervals[:, 1] - near, ends, "right")]
    others = by_rank * np.interp(ends, cuts, ranks) + (1 - by_rank) * ends
    images = passed + (1 - float(held.sum()) / total) * others
    images = np.maximum.accumulate(np.clip(images, 0.0, 1.0))
    images[0], images[-1] = 0.0, 1.0
    return ends, images


# Half of the interval of an atom off a grid: more than two numbers in single precision differ.
_HALF_INTERVAL = 2.0**-21


def _find_interval_ends(places: Sequence[float], steps: float) -> Floats:
    """Return where the interval of each atom begins and ends, by rising atoms."""
    rising = np.sort(places)
    half = 0.5 / steps if steps else _HALF_INTERVAL
    half = min(half, *(np.diff(rising) / 2), 1.0)
    ends: Floats = np.clip(np.column_stack([rising - half, rising + half]), 0.0, 1.0)
    return ends


def _is_in_interval(cut: float, intervals: Floats, near: float) -> bool:
    return bool(((intervals[:, 0] - near < cut) & (cut < intervals[:, 1] + near)).any())


def _compute_ranks(shares: Floats) -> Floats:
    """Return the part of all numbers below each end of a bin."""
    below = np.cumsum(shares / max(shares.sum(), np.finfo(np.float64).tiny))
    return np.array([0.0, *np.minimum(below[:-1], 1.0), 1.0])


def _get_cuts(axis: NumberAxis | ListAxis) -> tuple[float, ...]:
    return axis.cuts if isinstance(axis, NumberAxis) else ()


def _draw_cells(column: ColumnPrior, classes: Whole, rng: np.random.Generator) -> Whole:
    """Draw a cell for each class given."""
    uniform = rng.random(len(classes))
    cells = np.empty(len(classes), dtype=np.int64)
    for label, probabilities in enumerate(column.probabilities):
        mine = np.flatnonzero(classes == label)
        ends = np.cumsum(probabilities)
        cells[mine] = np.searchsorted(ends, uniform[mine] * ends[-1], side="right")
    last = column.probabilities.shape[1] - 1
    return cells.clip(max=last)
