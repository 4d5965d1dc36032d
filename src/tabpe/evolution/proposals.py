"""Proposal distributions: how candidates are drawn and mutated.

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
from tabpe.encoding.voting_space import RankTransform
from tabpe.evolution.config import Evolution
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.marginal_prior import MarginalPrior
from tabpe.evolution.variation import draw_steps, draw_uniform_records, redraw_nulls, vary_rows

Whole = NDArray[np.int64]


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
        return VotingSpace(find_nullable(self.spaces))

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
        """The space in which candidates are voted on."""
        return VotingSpace(find_nullable(self.prior.spaces), self.rank_transform)

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
        spread = self.rank_transform.transform_rows(rows).numbers
        moved = self.rank_transform.inverse_transform(
            spread + rate * draw_steps(spread.shape, step, rng)
        )
        redrawn = rng.random(rows.codes.shape) < rate
        codes = np.where(redrawn, self.prior.draw_codes(classes, rng), rows.codes)
        numbers = self.prior.project_numbers(moved, classes)
        if self.voting_space.can_miss.any():
            fresh = self.prior.draw_numbers(classes, rng)
            numbers = redraw_nulls(numbers, fresh, rate, rng)
        return Records(numbers, codes)

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
