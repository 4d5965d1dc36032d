"""Proposal distributions: where candidates are drawn and moved.

`Terrain`: where rows are made up and moved, with or without a guide.

Without one all values are alike: rows are uniform, and a step is a part of a column's range. With
tables of columns, rows begin where rows are, categories are redrawn from what is common, and
distances and steps are measured on numbers that are spread towards their ranks: a skewed column has
nearly all rows in a small part of its range, where a step of the range is useless.

Terrains that keep the rules of a schema: all rows that are made up or moved there obey them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records, Sight, Space
from tabpe.encoding.voting_space import Warp
from tabpe.evolution.config import Evolution
from tabpe.evolution.constraint_repair import Law
from tabpe.evolution.marginal_prior import Guide
from tabpe.evolution.variation import random_records, steps, vary, with_nulls_redrawn

Whole = NDArray[np.int64]


def can_miss(spaces: Sequence[Space]) -> NDArray[np.bool_]:
    """Return which numbers may be null in some class."""
    return np.asarray(np.any([space.can_miss for space in spaces], axis=0))


class Terrain(Protocol):
    """Makes up rows of a class."""

    def random(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return rows to begin with."""
        ...

    def varied(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        ...

    def seen(self, rows: Records) -> Records:
        """Return rows as they are voted on: with numbers where distances are measured."""
        ...


@dataclass(frozen=True, eq=False)
class Level:
    """All values are alike, as in the paper.

    Args:
        spaces: Where the rows of each class may lie.
    """

    spaces: Sequence[Space]

    @cached_property
    def sight(self) -> Sight:
        """How rows are seen when they are voted on."""
        return Sight(can_miss(self.spaces))

    def random(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return rows to begin with."""
        return random_records(self.spaces[label], size, rng)

    def varied(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        return vary(rows, self.spaces[label], rate, config, rng)

    def seen(self, rows: Records) -> Records:
        """Return rows as they are voted on."""
        return self.sight.of(rows)


@dataclass(frozen=True, eq=False)
class Guided:
    """Some values are more common than others.

    Args:
        guide: What tables of columns say.
        warp: Where numbers lie for distances and steps.
    """

    guide: Guide
    warp: Warp

    @cached_property
    def sight(self) -> Sight:
        """How rows are seen when they are voted on."""
        return Sight(can_miss(self.guide.spaces), self.warp)

    def random(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return rows to begin with."""
        return self.drawn(np.full(size, label), rng)

    def drawn(self, classes: Whole, rng: np.random.Generator) -> Records:
        """Return a row to begin with for each class given."""
        return self.guide.drawn(classes, rng)

    def varied(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        return self.stepped(rows, np.full(len(rows), label), rate, rng, step=config.step)

    def stepped(
        self,
        rows: Records,
        classes: Whole,
        rate: float,
        rng: np.random.Generator,
        *,
        step: str = "gaussian",
    ) -> Records:
        """Move each number by a step of `rate`, and redraw each category with that chance."""
        spread = self.warp.of(rows).numbers
        moved = self.warp.back(spread + rate * steps(spread.shape, step, rng))
        redrawn = rng.random(rows.codes.shape) < rate
        codes = np.where(redrawn, self.guide.draw_codes(classes, rng), rows.codes)
        numbers = self.guide.projected(moved, classes)
        if self.sight.can_miss.any():
            fresh = self.guide.draw_numbers(classes, rng)
            numbers = with_nulls_redrawn(numbers, fresh, rate, rng)
        return Records(numbers, codes)

    def seen(self, rows: Records) -> Records:
        """Return rows as they are voted on, in float32 all the way like private rows."""
        return self.sight.of(Records(rows.numbers.astype(np.float32), rows.codes))


@dataclass(frozen=True, eq=False)
class LawfulLevel(Level):
    """A level terrain with rules.

    Args:
        spaces: Where the rows of each class may lie.
        law: What rows obey.
    """

    law: Law

    def random(self, label: int, size: int, rng: np.random.Generator) -> Records:
        """Return rows to begin with."""

        def draw(classes: Whole) -> Records:
            return Level.random(self, label, len(classes), rng)

        return self.law.drawn(np.full(size, label), draw, rng)

    def varied(
        self, rows: Records, label: int, rate: float, config: Evolution, rng: np.random.Generator
    ) -> Records:
        """Return one variation of each row."""
        moved = super().varied(rows, label, rate, config, rng)
        return self.law.kept(moved, rows, np.full(len(rows), label), rng)


@dataclass(frozen=True, eq=False)
class LawfulGuided(Guided):
    """A guided terrain with rules.

    Args:
        guide: What tables of columns say.
        warp: Where numbers lie for distances and steps.
        law: What rows obey.
    """

    law: Law

    def drawn(self, classes: Whole, rng: np.random.Generator) -> Records:
        """Return a row to begin with for each class given."""
        return self.law.drawn(classes, lambda wanted: self.guide.drawn(wanted, rng), rng)

    def stepped(
        self,
        rows: Records,
        classes: Whole,
        rate: float,
        rng: np.random.Generator,
        *,
        step: str = "gaussian",
    ) -> Records:
        """Move each number by a step of `rate`, and redraw each category with that chance."""
        moved = super().stepped(rows, classes, rate, rng, step=step)
        return self.law.kept(moved, rows, classes, rng)


@overload
def lawful(terrain: Level, law: Law) -> Level: ...


@overload
def lawful(terrain: Guided, law: Law) -> Guided: ...


def lawful(terrain: Level | Guided, law: Law) -> Level | Guided:
    """Return a terrain that keeps a law; the same one if there are no rules.

    Example:
        >>> from tabpe.encoding import Encoder
        >>> from tabpe.schema import Integer, Schema
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> encoder = Encoder(Schema(columns, rules=("low < high",)))
        >>> terrain = lawful(Level(encoder.spaces), Law.of(encoder))
        >>> rows = terrain.random(0, 100, np.random.default_rng(0))
        >>> bool((rows.numbers[:, 0] < rows.numbers[:, 1]).all())
        True
    """
    if not law.rules:
        return terrain
    if isinstance(terrain, Level):
        return LawfulLevel(terrain.spaces, law)
    guide = replace(terrain.guide, sizes=law.without_excluded(terrain.guide.sizes))
    return LawfulGuided(guide, terrain.warp, law)
