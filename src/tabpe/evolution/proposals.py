"""RANDOM_API and VARIATION_API of the paper: how candidates are drawn and mutated.

Without marginals all values are equally likely: rows are uniform, and a step is a part of a
column's range. With 1-way marginals, rows are drawn from them, categories are redrawn by frequency,
and distances and steps are measured on numbers that are moved towards their ranks: a skewed column
has nearly all rows in a small part of its range, where a step of the range is useless. Constrained
proposals return only rows that satisfy the constraints of the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records, RecordSpace, VotingSpace
from tabpe.encoding.atoms import Atoms, find_states
from tabpe.encoding.marginals import NumberAxis
from tabpe.encoding.records import Codes, Floats, RankTransform, draw_uniform_records
from tabpe.evolution.config import Evolution
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.extensions import apply_operator, is_extension_name
from tabpe.evolution.marginal_prior import (
    AtomInterval,
    ColumnPrior,
    MarginalPrior,
    list_atom_intervals,
)

Whole = NDArray[np.int64]


def vary_rows(
    rows: Records, space: RecordSpace, rate: float, config: Evolution, rng: np.random.Generator
) -> Records:
    """Return one variation of each row, by the operator of the settings."""
    if config.operator == "genetic":
        return cross_and_mutate(rows, space, rate, rng)
    if is_extension_name(config.operator):
        return apply_operator(str(config.operator), rows, space, rate, rng)
    return random_walk(rows, space, rate, rng, step=config.step)


def random_walk(
    rows: Records,
    space: RecordSpace,
    rate: float,
    rng: np.random.Generator,
    *,
    step: str = "gaussian",
) -> Records:
    """Redraw each category with probability `rate`, and move each number by `rate` of its range.

    Whether a number is null is redrawn with that probability too.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.zeros(1), np.array([3]))
        >>> rows = draw_uniform_records(space, 4, np.random.default_rng(0))
        >>> same = random_walk(rows, space, 0.0, np.random.default_rng(0))
        >>> bool((same.numbers == rows.numbers).all() and (same.codes == rows.codes).all())
        True
    """
    moves = draw_steps(rows.numbers.shape, step, rng)
    moved = space.project(rows.numbers + moves * (rate * (space.high - space.low)))
    codes = _redraw_codes(rows, space, rate, rng)
    if space.can_miss.any() or any(space.atoms):
        fresh = draw_uniform_records(space, len(rows), rng).numbers
        moved = redraw_states(
            _keep_atoms(moved, rows.numbers, space.atoms), fresh, rate, rng, atoms=space.atoms
        )
    return Records(moved, codes)


def redraw_states(
    numbers: NDArray[np.float64],
    fresh: Floats,
    rate: float,
    rng: np.random.Generator,
    *,
    atoms: Atoms = (),
) -> NDArray[np.float64]:
    """Return numbers of which each became null or an atom, or ceased to be, at a rate.

    Args:
        numbers: The numbers; NaN for null.
        fresh: Replacements, which are null, or at an atom, as often as numbers are.
        rate: The probability of a redraw.
        rng: Source of randomness.
        atoms: The atoms of each column.

    Example:
        >>> before, fresh = np.array([[np.nan, 0.5, 0.1]]), np.array([[0.2, 0.3, np.nan]])
        >>> redraw_states(before, fresh, 1.0, np.random.default_rng(0))
        array([[0.2, 0.5, nan]])
    """
    redrawn = rng.random(numbers.shape) < rate
    told = (find_states(numbers, atoms) > 0) | (find_states(fresh, atoms) > 0)
    return np.where(redrawn & told, fresh, numbers)


def _keep_atoms(moved: Floats, before: Floats, atoms: Atoms) -> NDArray[np.float64]:
    """Return moved numbers; none leaves an atom by a step, and none comes to one."""
    if not any(atoms):
        return moved.astype(np.float64, copy=False)
    kept = (find_states(before, atoms) > 1) | (find_states(moved, atoms) > 1)
    return np.where(kept, before, moved)


def draw_steps(shape: tuple[int, ...], step: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return steps of length one: normal, or uniform up to one."""
    return rng.standard_normal(shape) if step == "gaussian" else rng.uniform(-1, 1, shape)


def _reflect(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return values mirrored at the ends of their intervals; in the middle if still outside."""
    mirrored = np.where(values < low, 2 * low - values, values)
    mirrored = np.where(mirrored > high, 2 * high - mirrored, mirrored)
    return np.where(mirrored < low, (low + high) / 2, mirrored)


def cross_and_mutate(
    rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator
) -> Records:
    """Take one attribute from a random mate, then redraw each attribute with probability `rate`.

    The operators of PrivGSD at the level of rows, as the paper adapts them: every row takes part
    in the crossover, and mutation may reach all attributes at once.
    """
    width = rows.numbers.shape[1]
    crossed = rng.integers(0, max(1, width + rows.codes.shape[1]), len(rows))
    taken = crossed[:, None] == np.arange(width + rows.codes.shape[1])
    mates = rows.take(rng.integers(0, max(1, len(rows)), len(rows)))
    fresh = draw_uniform_records(space, len(rows), rng)
    mutated = rng.random(taken.shape) < rate
    child = _mix_rows(rows, mates, taken)
    return _mix_rows(child, fresh, mutated)


def _mix_rows(rows: Records, others: Records, taken: NDArray[np.bool_]) -> Records:
    width = rows.numbers.shape[1]
    return Records(
        np.where(taken[:, :width], others.numbers, rows.numbers),
        np.where(taken[:, width:], others.codes, rows.codes),
    )


def _redraw_codes(
    rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator
) -> Codes:
    codes = rows.codes.copy()
    row, column = np.nonzero(rng.random(codes.shape) < rate)
    codes[row, column] = rng.integers(0, space.drawn_sizes[column])
    return codes


def find_nullable(spaces: Sequence[RecordSpace]) -> NDArray[np.bool_]:
    """Return which numbers may be null in some class."""
    return np.asarray(np.any([space.can_miss for space in spaces], axis=0))


class Proposal(Protocol):
    """Draws and mutates candidates of a class."""

    def draw_initial(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return initial rows."""
        ...

    def vary_rows(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        ...

    def to_voting_space(self, rows: Records) -> Records:
        """Return rows in the space where distances are measured."""
        ...


@dataclass(frozen=True, eq=False)
class UniformProposal:
    """All values are equally likely, as in the paper.

    Args:
        spaces: Where the rows of each class may lie.
    """

    spaces: Sequence[RecordSpace]

    @cached_property
    def voting_space(self) -> VotingSpace:
        """The space in which candidates are voted on."""
        return VotingSpace(find_nullable(self.spaces), atoms=self.spaces[0].atoms)

    def draw_initial(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return initial rows."""
        return draw_uniform_records(self.spaces[label], size, rng)

    def vary_rows(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        return vary_rows(rows, self.spaces[label], rate, config, rng)

    def to_voting_space(self, rows: Records) -> Records:
        """Return rows in the space where distances are measured."""
        return self.voting_space.transform_rows(rows)


@dataclass(frozen=True, eq=False)
class MarginalProposal:
    """Values are drawn from noisy 1-way marginals.

    Args:
        prior: What the marginals say.
        rank_transform: The map of numbers for distances and steps.
    """

    prior: MarginalPrior
    rank_transform: RankTransform

    @cached_property
    def voting_space(self) -> VotingSpace:
        """The space in which candidates are voted on.

        Declared special values differ from other numbers as categories do. Atoms that were found
        are as far from others as their share of the rows makes them.
        """
        space = self.prior.spaces[0]
        return VotingSpace(find_nullable(self.prior.spaces), self.rank_transform, space.atoms)

    @cached_property
    def intervals(self) -> list[AtomInterval]:
        """The intervals of all atoms."""
        return list_atom_intervals(self.prior, self.rank_transform)

    def draw_initial(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return initial rows."""
        return self.draw_rows(np.full(size, label), rng)

    def draw_rows(self, classes: Whole, rng: np.random.Generator) -> Records:
        """Return an initial row for each class given."""
        return self.prior.draw_rows(classes, rng)

    def vary_rows(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        return self.mutate_rows(rows, np.full(len(rows), label), rate, rng, step=config.step)

    def mutate_rows(
        self,
        rows: Records,
        classes: Whole,
        rate: float,
        rng: np.random.Generator,
        *,
        step: str = "gaussian",
    ) -> Records:
        """Move each number by a step of `rate`, and redraw each category with that probability."""
        spread = self._scatter_atoms(rows, rng)
        moved = self.rank_transform.inverse_transform(
            spread + rate * draw_steps(spread.shape, step, rng)
        )
        redrawn = rng.random(rows.codes.shape) < rate
        codes = np.where(redrawn, self.prior.draw_codes(classes, rng), rows.codes)
        numbers = self.prior.project_numbers(self._gather_atoms(moved), classes)
        if self.voting_space.can_miss.any():
            fresh = self.prior.draw_numbers(classes, rng)
            numbers = redraw_states(numbers, fresh, rate, rng)
        return Records(numbers, codes)

    def _scatter_atoms(self, rows: Records, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the images of numbers; those at an atom are anywhere in its interval."""
        spread = self.rank_transform.transform_rows(rows).numbers.astype(np.float64, copy=False)
        single = rows.numbers.astype(np.float32) if self.intervals else rows.numbers
        for interval in self.intervals:
            there = np.flatnonzero(single[:, interval.column] == np.float32(interval.place))
            spread[there, interval.column] = rng.uniform(interval.begin, interval.end, len(there))
        return spread

    def _gather_atoms(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of which those in the interval of an atom are at the atom."""
        for interval in self.intervals:
            column = numbers[:, interval.column]
            column[(column >= interval.low) & (column <= interval.high)] = interval.place
        return numbers

    def move_numbers(
        self,
        rows: Records,
        classes: Whole,
        rate: float,
        rng: np.random.Generator,
    ) -> Records:
        """Move each number by a step of `rate` within its cell of the 1-way marginals.

        Nulls and atoms stay, and so do marginals.
        """
        spread = self.rank_transform.transform_rows(rows).numbers
        moved = spread + rate * draw_steps(spread.shape, "gaussian", rng)
        cells = [column.axis.find_cells(rows, classes) for column in self.prior.numbers]
        for index, column in enumerate(self.prior.numbers):
            ends = self._find_cell_images(index, column)
            own = cells[index].clip(max=len(ends) - 2)
            moved[:, index] = _reflect(moved[:, index], ends[own], ends[own + 1])
        numbers = self.prior.spaces[0].project(self.rank_transform.inverse_transform(moved))
        after = Records(_keep_atoms(numbers, rows.numbers, self.prior.atoms), rows.codes)
        for index, column in enumerate(self.prior.numbers):
            left = column.axis.find_cells(after, classes) != cells[index]
            after.numbers[left, index] = rows.numbers[left, index]
        return after

    def _find_cell_images(self, index: int, column: ColumnPrior) -> NDArray[np.float64]:
        """Return the images of the ends of the bins of a column."""
        cuts = column.axis.cuts if isinstance(column.axis, NumberAxis) else ()
        transform = self.rank_transform
        ends = np.array([0.0, *cuts, 1.0])
        images: NDArray[np.float64] = np.interp(
            ends, transform.edges[index], transform.positions[index]
        )
        return images

    def to_voting_space(self, rows: Records) -> Records:
        """Return rows in the voting space, computed in float32 like private rows."""
        return self.voting_space.transform_rows(
            Records(rows.numbers.astype(np.float32), rows.codes)
        )


@dataclass(frozen=True, eq=False)
class ConstrainedUniformProposal(UniformProposal):
    """A uniform proposal with constraints.

    Args:
        spaces: Where the rows of each class may lie.
        constraints: What rows satisfy.
    """

    constraints: ConstraintSet

    def draw_initial(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return initial rows."""

        def draw(classes: Whole) -> Records:
            return UniformProposal.draw_initial(self, label, len(classes), rng)

        return self.constraints.draw_rows(np.full(size, label), draw, rng)

    def vary_rows(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        moved = super().vary_rows(rows, label, rate, config, rng)
        return self.constraints.repair_or_revert(moved, rows, np.full(len(rows), label), rng)


@dataclass(frozen=True, eq=False)
class ConstrainedMarginalProposal(MarginalProposal):
    """A marginal proposal with constraints.

    Args:
        prior: What the marginals say.
        rank_transform: The map of numbers for distances and steps.
        constraints: What rows satisfy.
    """

    constraints: ConstraintSet

    def draw_rows(self, classes: Whole, rng: np.random.Generator) -> Records:
        """Return an initial row for each class given."""
        return self.constraints.draw_rows(
            classes, lambda wanted: self.prior.draw_rows(wanted, rng), rng
        )

    def mutate_rows(
        self,
        rows: Records,
        classes: Whole,
        rate: float,
        rng: np.random.Generator,
        *,
        step: str = "gaussian",
    ) -> Records:
        """Move each number by a step of `rate`, and redraw each category with that probability."""
        moved = super().mutate_rows(rows, classes, rate, rng, step=step)
        return self.constraints.repair_or_revert(moved, rows, classes, rng)

    def move_numbers(
        self, rows: Records, classes: Whole, rate: float, rng: np.random.Generator
    ) -> Records:
        """Move each number by a step of `rate` within its cell of the 1-way marginals."""
        moved = super().move_numbers(rows, classes, rate, rng)
        return self.constraints.repair_or_revert(moved, rows, classes, rng)


@overload
def constrain_proposal(
    proposal: UniformProposal, constraints: ConstraintSet
) -> UniformProposal: ...


@overload
def constrain_proposal(
    proposal: MarginalProposal, constraints: ConstraintSet
) -> MarginalProposal: ...


def constrain_proposal(
    proposal: UniformProposal | MarginalProposal, constraints: ConstraintSet
) -> UniformProposal | MarginalProposal:
    """Return a proposal whose rows satisfy constraints; the same one if there are none.

    Example:
        >>> from tabpe.encoding import Encoder
        >>> from tabpe.schema import Integer, Schema
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> encoder = Encoder(Schema(columns, rules=("low < high",)))
        >>> constraints = ConstraintSet.from_encoder(encoder)
        >>> proposal = constrain_proposal(UniformProposal(encoder.spaces), constraints)
        >>> rows = proposal.draw_initial(0, 100, np.random.default_rng(0))
        >>> bool((rows.numbers[:, 0] < rows.numbers[:, 1]).all())
        True
    """
    if not constraints.rules:
        return proposal
    if isinstance(proposal, UniformProposal):
        return ConstrainedUniformProposal(proposal.spaces, constraints)
    prior = replace(proposal.prior, sizes=constraints.exclude_classes(proposal.prior.sizes))
    return ConstrainedMarginalProposal(prior, proposal.rank_transform, constraints)
