"""Terrains that keep the rules of a schema: all rows that are made up or moved there obey them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from tabpe.encode import Records
from tabpe.evolve.config import Evolution
from tabpe.evolve.law import Law
from tabpe.evolve.terrain import Guided, Level, Whole


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
        >>> from tabpe.encode import Encoder
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
