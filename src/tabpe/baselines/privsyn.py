"""PrivSyn: many small marginals that agree, and rows that follow them (Zhang et al., 2021).

Noisy tables of counts that overlap, made to agree: PrivSyn's post-processing.

Two marginals that share attributes say the same thing twice, each with noise of its own. The better
estimate is the average of both, weighted by how much noise each has in it; and a count below zero
is noise for certain.

Which pairs of attributes are worth their noise: PrivSyn's DenseMarg.

A pair that is measured costs noise, a pair that is not costs what its attributes depend on each
other. Both are numbers of rows (L1), so they can be weighed against each other.

How much pairs of attributes depend on each other, asked of the private rows.

Dependence is the distance (L1, in rows) of the counts of a pair from what they would be if its
attributes were independent. That is estimated from noisy 1-way marginals, so it is public when the
distance is asked for, and a row more or less changes the distance by at most 1.

Rows that follow given marginals: the Gradually Update Method of PrivSyn.

A table starts with columns independent of each other. Then it is held against one marginal after
the other: rows of cells that are too full make room for rows of cells that are too empty. No step
goes all the way, because what is right for one marginal is wrong for another.

Of all pairs of attributes those are measured whose dependence is worth the noise. Pairs that form
small cliques are measured as one. What was measured is made consistent, and rows are updated until
they follow it. No model stands between marginals and rows, so there is no limit to how they may
overlap.

What differs from the published method:

- Dependence is the distance of a pair from the product of noisy 1-way marginals, which is public
  when it is asked for. So a row changes it by at most 1. The distance from the product of exact
  ones (InDif), as in the paper, changes by up to 4, and needs four times the noise.
- An attribute in no chosen pair is measured once more by itself, not joined to the next best pair.
- New rows of a cell are copies and completions in equal parts, throughout. Alternating that with
  copies alone, as the authors' code does, leaves half as many distinct rows and more error.
- Attributes with one neighbour are updated like the others, not appended at the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare, compute_sigma
from tabpe.baselines.domain import Clique, Codes, Floats, SyntheticRows
from tabpe.baselines.graphical_model import MarginalMeasurement
from tabpe.baselines.session import BaselineSession

# In rows: what is this little below zero counts as zero.
_HARDLY = 0.01


def make_consistent(tables: Sequence[MarginalMeasurement], *, rounds: int = 501) -> list[Floats]:
    """Return the counts of tables that agree where they overlap, none below zero.

    Agreement and counts above zero disturb each other, so they are made in turns, until both hold
    to a hundredth of a row or the rounds are over. The last word has the sign.

    Args:
        tables: Noisy counts of the same rows.
        rounds: The most turns.

    Example:
        >>> by_age = MarginalMeasurement((0,), np.array([6.0, 4.0]), sigma=1.0)
        >>> by_both = MarginalMeasurement((0, 1), np.array([[3.0, 5.0], [1.0, 1.0]]), sigma=1.0)
        >>> alone, both = make_consistent([by_age, by_both])
        >>> bool(np.allclose(alone, both.sum(axis=1))), round(float(alone.sum()), 6)
        (True, 10.0)
    """
    overlaps = _find_overlaps(tables)
    counts = [table.counts.astype(np.float64) for table in tables]
    for _ in range(rounds):
        for overlap in overlaps:
            overlap.average_counts(counts)
        if all(float(some.min()) >= -_HARDLY for some in counts):
            break
        counts = [norm_sub(some, max(float(some.sum()), 1.0)) for some in counts]
    return [np.maximum(some, 0.0) for some in counts]


def norm_sub(counts: Floats, total: float) -> Floats:
    """Return the closest counts (in squares) that are at least zero and have a sum.

    The same number is taken from every count, and what falls below zero is zero.

    Args:
        counts: Noisy counts.
        total: What they should add up to, above zero.

    Example:
        >>> norm_sub(np.array([5.0, 3.0, -2.0]), total=6.0)
        array([4., 2., 0.])
    """
    falling = np.sort(counts, axis=None)[::-1]
    taken = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    last = int(np.flatnonzero(falling > taken)[-1])
    closest: Floats = np.maximum(counts - taken[last], 0.0)
    return closest


def find_shared_parts(cliques: Sequence[Clique]) -> list[Clique]:
    """Return what any of the cliques have in common, smaller parts first.

    With every two parts their own common part is among them. So tables that agree on the parts
    before still do after they are made to agree on the next.

    Example:
        >>> find_shared_parts([(0, 1), (1, 2), (1,)])
        [(), (1,)]
    """
    closed: set[frozenset[int]] = {frozenset()}
    sets = [frozenset(clique) for clique in cliques]
    for one in sets:
        closed |= {one & part for part in closed} | {one}
    common = [part for part in closed if sum(part <= one for one in sets) > 1 or not part]
    return sorted((tuple(sorted(part)) for part in common), key=lambda part: (len(part), part))


@dataclass(frozen=True)
class _Side:
    """How one table takes part in an overlap: the axes summed away, and how many cells they are."""

    table: int
    axes: tuple[int, ...]
    spread: int
    weight: float


@dataclass(frozen=True)
class _Overlap:
    """Attributes that several tables have in common."""

    sides: tuple[_Side, ...]

    def average_counts(self, counts: list[Floats]) -> None:
        """Move all tables to the average of what they say about the common attributes."""
        said = [counts[side.table].sum(axis=side.axes) for side in self.sides]
        whole = sum(side.weight for side in self.sides)
        average = sum(
            (side.weight / whole) * one for side, one in zip(self.sides, said, strict=True)
        )
        for side, one in zip(self.sides, said, strict=True):
            counts[side.table] = counts[side.table] + np.expand_dims(
                (average - one) / side.spread, side.axes
            )


def _find_overlaps(tables: Sequence[MarginalMeasurement]) -> list[_Overlap]:
    """Return the overlaps of tables in the order in which they can be made to agree."""
    parts = find_shared_parts([table.clique for table in tables])
    return [
        _Overlap(
            tuple(
                _make_side(place, table, part)
                for place, table in enumerate(tables)
                if set(part) <= set(table.clique)
            )
        )
        for part in parts
    ]


def _make_side(place: int, table: MarginalMeasurement, part: Clique) -> _Side:
    """Return how a table takes part; a sum of many noisy cells weighs little."""
    axes = tuple(axis for axis, one in enumerate(table.clique) if one not in part)
    spread = math.prod(table.counts.shape[axis] for axis in axes)
    return _Side(place, axes, spread, 1.0 / (spread * table.sigma**2))


# Of cliques of one size: more are not looked through, nor are larger ones.
_MOST_CLIQUES = 100_000


def divide_loss(cells: Sequence[int], loss: float) -> Floats:
    """Return the part of a loss for each table that makes their noise the least in all.

    A table of c cells with loss l has noise of c * sqrt(2 / (pi * l)) rows (L1, expected). With a
    fixed sum of losses the sum of that is least for losses proportional to c^(2/3).

    Args:
        cells: Number of cells of each table.
        loss: What there is for all of them (twice the rho of zero-concentrated privacy).

    Example:
        >>> divide_loss([8, 64], loss=1.0)
        array([0.2, 0.8])
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    losses: Floats = weights * (loss / weights.sum())
    return losses


def estimate_noise(cells: Sequence[int], loss: float) -> float:
    """Return the L1 noise to be expected on all tables, if the loss is split as is best.

    Example:
        >>> round(estimate_noise([8, 64], loss=1.0), 3)
        71.365
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    return float(weights.sum() ** 1.5 * math.sqrt(2 / (math.pi * loss)))


def choose_pairs(
    dependence: Floats, cells: Sequence[int], loss: float, least_gain: float = 0.0
) -> list[int]:
    """Return the places of the pairs to measure, in the order in which they were chosen.

    One pair after the other is chosen, each the one that leaves the least error in all, as long as
    there is one that lessens it. One that lessens it by `least_gain` or less is the last.

    Args:
        dependence: How far each pair is from independent, in rows (L1), noisy.
        cells: Number of cells of each pair.
        loss: What there is to measure the chosen ones.
        least_gain: By how many rows (L1) a pair must lessen the error for another one to follow.

    Example:
        >>> choose_pairs(np.array([900.0, 5.0, 800.0]), cells=[16, 4, 16], loss=0.1)
        [0, 2]
        >>> choose_pairs(np.array([900.0, 5.0, 800.0]), [16, 4, 16], loss=0.1, least_gain=20_000)
        [0]
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    price = math.sqrt(2 / (math.pi * loss))
    spent, chosen, open_ = 0.0, [], np.ones(len(weights), dtype=bool)
    while open_.any():
        gain = dependence - price * ((spent + weights) ** 1.5 - spent**1.5)
        best = int(np.argmax(np.where(open_, gain, -np.inf)))
        if gain[best] <= 0:
            break
        chosen.append(best)
        spent += weights[best]
        open_[best] = False
        if gain[best] <= least_gain:
            break
    return chosen


def merge_pairs(pairs: Iterable[Clique], sizes: Sequence[int], most_cells: int) -> list[Clique]:
    """Return cliques that hold all pairs: small triangles and larger cliques as one table each.

    The largest come first. One is taken if it has few cells and at most two attributes in common
    with those taken before; pairs that are in none stay as they are.

    Args:
        pairs: The chosen pairs.
        sizes: Number of values of each attribute.
        most_cells: The most cells of a table of three attributes or more.

    Example:
        >>> merge_pairs([(0, 1), (0, 2), (1, 2), (2, 3)], [2, 2, 2, 2], most_cells=100)
        [(0, 1, 2), (2, 3)]
    """
    left = list(pairs)
    taken: list[Clique] = []
    covered: set[int] = set()
    for clique in sorted(_find_cliques(left, sizes, most_cells), key=len, reverse=True):
        if len(covered & set(clique)) <= 2:  # noqa: PLR2004
            taken.append(clique)
            covered |= set(clique)
    return taken + [pair for pair in left if not any(set(pair) <= set(one) for one in taken)]


def _find_cliques(pairs: Iterable[Clique], sizes: Sequence[int], most_cells: int) -> list[Clique]:
    """Return the cliques of three attributes and more of the graph of pairs that are small."""
    later: dict[int, set[int]] = {}
    for one, other in pairs:
        later.setdefault(min(one, other), set()).add(max(one, other))
    found: list[Clique] = []
    level: list[Clique] = sorted((one, two) for one, others in later.items() for two in others)
    while level and len(level) <= _MOST_CLIQUES:
        level = [
            (*clique, new)
            for clique in level
            for new in sorted(set.intersection(*(later.get(one, set()) for one in clique)))
            if math.prod(sizes[one] for one in clique) * sizes[new] <= most_cells
        ]
        found += level
    return found


# Of one pair, and of all pairs that are asked about at once.
_MOST_CELLS = 10_000_000


def measure_one_ways(session: BaselineSession, loss: float) -> list[MarginalMeasurement]:
    """Return the noisy counts of every attribute by itself, for a loss in all."""
    cliques = [(place,) for place in range(session.domain.attributes)]
    return measure_marginals(session, "1-way marginals", cliques, compute_sigma(loss, len(cliques)))


def measure_marginals(
    session: BaselineSession, part: str, cliques: Sequence[Clique], sigma: float
) -> list[MarginalMeasurement]:
    """Return the noisy counts of some marginals, with what was asked for."""
    counts = session.marginals(part, cliques, sigma=sigma)
    return [
        MarginalMeasurement(clique, some, sigma)
        for clique, some in zip(cliques, counts, strict=True)
    ]


def measure_dependence(
    session: BaselineSession, singles: Sequence[MarginalMeasurement], loss: float
) -> dict[Clique, float]:
    """Return the noisy dependence of all pairs, in rows, for a loss in all.

    Attributes with one value depend on nothing, and a pair of very many cells is never worth its
    noise: nothing is asked about them.

    Args:
        session: The way to the private rows.
        singles: Noisy counts of every attribute, in their order.
        loss: What the answers may cost.
    """
    rows = max(session.rows, 1.0)
    alone = [norm_sub(one.counts, rows) for one in singles]
    pairs = _list_askable_pairs(session)
    found: dict[Clique, float] = {}
    for block in _batch_pairs(pairs, session):
        apart = [np.outer(alone[one], alone[other]) / rows for one, other in block]
        sigma = compute_sigma(loss, len(pairs))
        distances = session.measure_distances("dependence of pairs", block, apart, sigma=sigma)
        found |= zip(block, distances.tolist(), strict=True)
    return found


def _list_askable_pairs(session: BaselineSession) -> list[Clique]:
    varied = [place for place, size in enumerate(session.domain.sizes) if size > 1]
    pairs = itertools.combinations(varied, 2)
    return [pair for pair in pairs if session.domain.count_cells(pair) <= _MOST_CELLS]


def _batch_pairs(pairs: Sequence[Clique], session: BaselineSession) -> Iterator[list[Clique]]:
    """Return pairs in blocks whose estimates fit into memory together."""
    block: list[Clique] = []
    cells = 0
    for pair in pairs:
        more = session.domain.count_cells(pair)
        if block and cells + more > _MOST_CELLS:
            yield block
            block, cells = [], 0
        block.append(pair)
        cells += more
    if block:
        yield block


Whole = NDArray[np.int64]
# The pace falls by this factor every so many rounds.
_SLOWER, _EVERY = 0.84, 20
# Of the new rows of a cell, this share are copies of whole rows that are in it. The others are rows
# from elsewhere that take over the values of the cell: they keep the table rich.
_COPIED = 0.5
_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class MarginalTarget:
    """A marginal that rows should have.

    Args:
        clique: The attributes, ascending.
        shares: The share of each cell, one axis for each attribute; one in all.
    """

    clique: Clique
    shares: Floats

    def find_cells(self, codes: Codes) -> Whole:
        """Return the cell of each row."""
        columns = tuple(codes[:, place] for place in self.clique)
        found: Whole = np.ravel_multi_index(columns, self.shares.shape).astype(np.int64)
        return found

    def compute_error(self, codes: Codes) -> float:
        """Return how far rows are from it (L1, of shares)."""
        counts = np.bincount(self.find_cells(codes), minlength=self.shares.size)
        return float(np.abs(counts / len(codes) - self.shares.ravel()).sum())


def draw_independent_rows(shares: Sequence[Floats], size: int, rng: np.random.Generator) -> Codes:
    """Return rows whose columns have the given shares and nothing to do with each other.

    Args:
        shares: The share of each value, for each attribute.
        size: Number of rows.
        rng: Puts each column in an order of its own.

    Example:
        >>> rows = draw_independent_rows([np.array([0.5, 0.5])], 10, np.random.default_rng(0))
        >>> np.bincount(rows[:, 0])
        array([5, 5])
    """
    columns = [
        rng.permutation(np.repeat(np.arange(len(one)), round_parts(one, size, rng)))
        for one in shares
    ]
    return np.column_stack(columns).astype(np.int64)


def gradually_update(
    codes: Codes, targets: Sequence[MarginalTarget], *, rounds: int, rng: np.random.Generator
) -> Codes:
    """Return rows moved towards all targets; in each round, first to those that are missed most.

    Args:
        codes: The rows to begin with; they stay as they are.
        targets: What the rows should look like.
        rounds: How often each target has its turn.
        rng: Decides which rows move.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> rows = np.column_stack([np.arange(100) % 2, rng.integers(2, size=100)])
        >>> same = MarginalTarget((0, 1), np.array([[0.5, 0.0], [0.0, 0.5]]))
        >>> moved = gradually_update(rows, [same], rounds=20, rng=rng)
        >>> same.compute_error(rows) > 0.5, same.compute_error(moved) < 0.05
        (True, True)
    """
    codes = codes.copy()
    for turn in range(rounds if len(codes) else 0):
        pace = _SLOWER ** (turn // _EVERY)
        for target in sorted(targets, key=lambda one: one.compute_error(codes), reverse=True):
            _move_rows(codes, target, pace, rng)
    return codes


def round_parts(amounts: Floats, total: int, rng: np.random.Generator) -> Whole:
    """Return whole numbers in proportion to amounts: each rounded up or down, fair on average.

    Args:
        amounts: At least zero each; not all zero unless `total` is.
        total: What they should add up to.
        rng: Decides which are rounded up.

    Example:
        >>> round_parts(np.array([1.0, 3.0]), 8, np.random.default_rng(0))
        array([2, 6])
    """
    if total == 0:
        return np.zeros(len(amounts), dtype=np.int64)
    ends = np.cumsum(amounts)
    # The last end is the total itself, whatever floating point says.
    marks = np.append(0.0, np.minimum(ends * (total / ends[-1]), total))
    marks[1:][ends == ends[-1]] = total
    return np.diff(np.floor(marks + rng.random())).astype(np.int64)


def _move_rows(codes: Codes, target: MarginalTarget, pace: float, rng: np.random.Generator) -> None:
    """Move rows, in place, from cells that are too full to cells that are too empty."""
    cells = target.find_cells(codes)
    now = np.bincount(cells, minlength=target.shares.size)
    more, fewer = _plan_changes(now, target.shares.ravel() * len(codes), pace, rng)
    order = _order_by_cell(cells, rng)
    starts = np.cumsum(now) - now
    rank = np.arange(len(codes)) - starts[cells[order]]
    freed = order[rank < fewer[cells[order]]]
    wanted = rng.permutation(np.repeat(np.arange(len(more)), more))[: len(freed)]
    copy = (now[wanted] > 0) & (rng.random(len(wanted)) < _COPIED)
    twins = wanted[copy]
    donors = order[starts[twins] + (rng.random(len(twins)) * now[twins]).astype(np.int64)]
    codes[freed[copy]] = codes[donors]
    values = np.unravel_index(wanted[~copy], target.shares.shape)
    for place, column in zip(target.clique, values, strict=True):
        codes[freed[~copy], place] = column


def _plan_changes(
    now: Whole, targets: Floats, pace: float, rng: np.random.Generator
) -> tuple[Whole, Whole]:
    """Return how many rows each cell gets and how many it gives, the same number in all.

    A cell grows by at most `pace` times what it has; an empty one, by that part of what it should
    have. A cell that gives, gives at most a share of what it has that is the same for all.
    """
    lack = np.maximum(targets - now, 0.0)
    gets = np.where(now > 0, np.minimum(lack, pace * now), pace * lack)
    spare = np.maximum(now - targets, 0.0)
    gives = _limit_giving(spare, now, float(gets.sum()))
    total = int(min(gets.sum(), gives.sum()) + rng.random())
    total = min(total, int(spare.sum()))
    return round_parts(gets, total, rng), np.minimum(round_parts(gives, total, rng), now)


def _limit_giving(spare: Floats, now: Whole, total: float) -> Floats:
    """Return what is given, `total` in all: at most what is spare, and one share of all cells."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        enough = np.minimum(spare, share * now).sum() >= total
        low, high = (low, share) if enough else (share, high)
    given: Floats = np.minimum(spare, high * now)
    return given


def _order_by_cell(cells: Whole, rng: np.random.Generator) -> Whole:
    """Return the places of rows, sorted by cell and within a cell in random order."""
    shuffled = rng.permutation(len(cells))
    # Of small integers a stable sort takes linear time.
    small = cells[shuffled].astype(np.min_scalar_type(int(cells.max())))
    return shuffled[np.argsort(small, kind="stable")]


# Parts of the loss: for 1-way marginals and for the dependence of pairs. The rest is for marginals.
_SINGLES, _DEPENDENCE = 0.1, 0.1


@dataclass(frozen=True)
class PrivSyn:
    """PrivSyn, with the settings of the paper.

    Args:
        consistency_rounds: The most turns between agreement and counts above zero.
        update_rounds: How often the rows are updated towards each marginal.
        most_cells: The most cells of a marginal of three attributes or more.
        least_gain: By how many rows a pair must lessen the error for another one to follow. The
            benchmark that the paper on Tab-PE takes its baselines from has 20,000: in a table of
            fewer rows than half of that, a single pair is measured.

    Example:
        >>> PrivSyn().update_rounds
        50
    """

    name: ClassVar[str] = "PrivSyn"
    adaptive: ClassVar[bool] = True
    binned: ClassVar[bool] = True

    consistency_rounds: int = 501
    update_rounds: int = 50
    most_cells: int = 5000
    least_gain: float = 0.0

    def __post_init__(self) -> None:
        for name in ("consistency_rounds", "update_rounds", "most_cells"):
            validation.check_integer(name, getattr(self, name), least=1)
        validation.check_real("least_gain", self.least_gain, above=0, least=True)

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:  # noqa: ARG002
        """Return nothing: what is measured, and how well, follows from what was measured before."""
        return ()

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows that follow noisy marginals of the private ones."""
        loss = session.left
        singles = measure_one_ways(session, loss * _SINGLES)
        dependence = measure_dependence(session, singles, loss * _DEPENDENCE)
        pairs = _choose_worthwhile_pairs(session, dependence, self.least_gain)
        cliques = _add_missing_attributes(
            merge_pairs(pairs, session.domain.sizes, self.most_cells), len(singles)
        )
        tables = _measure_cliques(session, cliques, session.left)
        counts = make_consistent([*singles, *tables], rounds=self.consistency_rounds)
        shares = [some / some.sum() for some in counts]
        targets = [
            MarginalTarget(clique, some)
            for clique, some in zip(cliques, shares[len(singles) :], strict=True)
        ]
        start = draw_independent_rows(shares[: len(singles)], size, session.rng)
        rows = gradually_update(start, targets, rounds=self.update_rounds, rng=session.rng)
        return session.rows_of(rows)


def _choose_worthwhile_pairs(
    session: BaselineSession, dependence: Mapping[Clique, float], least_gain: float
) -> list[Clique]:
    """Return the pairs of attributes whose dependence is worth the noise of measuring it."""
    pairs = list(dependence)
    cells = [session.domain.count_cells(pair) for pair in pairs]
    known = np.array(list(dependence.values()))
    chosen = choose_pairs(known, cells, session.left, least_gain)
    return [pairs[place] for place in chosen]


def _add_missing_attributes(cliques: list[Clique], attributes: int) -> list[Clique]:
    """Add attributes that are in no clique, each by itself."""
    held = set(itertools.chain.from_iterable(cliques))
    return cliques + [(place,) for place in range(attributes) if place not in held]


def _measure_cliques(
    session: BaselineSession, cliques: Sequence[Clique], loss: float
) -> list[MarginalMeasurement]:
    """Return the noisy counts of cliques; those with more cells have less noise on each."""
    cells = [session.domain.count_cells(clique) for clique in cliques]
    parts = zip(cliques, cells, divide_loss(cells, loss), strict=True)
    return [
        one
        for clique, size, part in parts
        for one in measure_marginals(
            session, f"marginals of {size:,} cells", [clique], compute_sigma(float(part))
        )
    ]
