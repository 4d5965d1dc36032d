"""Canaries: rows that are in the table by the toss of a coin, and an attack that guesses the coins.

One run answers for all canaries at once, so this is the cheapest look at a whole release.

- `Places`: canaries are scattered over a box; those near to synthetic rows are guessed to be in.
- `Edges`: each canary is the only row at one end of one column, so that it shows in bounds that
  were read off the data: a canary that the released schema reaches is guessed to be in.

A promise with delta may give away everything with a chance of delta, which one run can not tell
from a broken promise. So these runs promise a delta far below the chance of a false alarm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.audit.bounds import ALARM, by_guesses, chance_of_guesses, guesses_needed
from tabpe.audit.report import Claim, Shown
from tabpe.audit.system import System
from tabpe.evolve import Evolution
from tabpe.privacy.accounting import SMALLEST_DELTA
from tabpe.schema import Float, Integer, Schema

DELTA = 1.01 * SMALLEST_DELTA  # a table of noise takes next to nothing of it, but something
Coins = NDArray[np.bool_]


@dataclass(frozen=True)
class Places:
    """Canaries scattered over a box.

    Args:
        canaries: How many.
        columns: Of how many numbers each.
    """

    canaries: int = 1000
    columns: int = 4

    def audit(self, system: System, claim: Claim) -> list[Shown]:
        """Return what one release shows about who is in it."""
        places = np.random.default_rng().random((self.canaries, self.columns))
        coins = _coins(self.canaries)
        promised = Claim(claim.epsilon, DELTA)
        # More candidates than rows, and many small steps: without noise all but a few rows in a
        # thousand are told apart.
        config, size = Evolution(rounds=30, mutation_final=0.005), 3 * self.canaries // 5
        model = system.release(self._table(places[coins]), self._schema, promised, config, size)
        made = np.column_stack(model.sample().columns)
        distances = np.linalg.norm(places[:, None] - made, axis=2).min(axis=1)
        order, sure = np.argsort(distances), self.canaries // 3
        right = int(coins[order[:sure]].sum() + (~coins[order[-sure:]]).sum())
        visible, shown = (
            by_guesses(number, 2 * sure, self.canaries, DELTA) for number in (2 * sure, right)
        )
        return [Shown("canaries: places", promised, shown, visible, 2 * sure)]

    @property
    def _names(self) -> list[str]:
        return [f"x{column}" for column in range(self.columns)]

    @property
    def _schema(self) -> Schema:
        return Schema(tuple(Float(name, 0.0, 1.0) for name in self._names))

    def _table(self, rows: NDArray[np.float64]) -> pa.Table:
        return pa.table(dict(zip(self._names, rows.T, strict=True)))


@dataclass(frozen=True)
class Edges:
    """Canaries that are each the only row at an end of a column.

    How many guesses it takes to refute a promise grows with e^epsilon, and so does the number of
    runs; but it ends as soon as too many guesses are wrong for that, which is at once if the schema
    does not depend on the rows. Ending early can spare a system, never accuse it.

    Args:
        columns: At most how many columns a table has; each is the place of two canaries.
        guesses: At most how many guesses are made in all.
    """

    columns: int = 500
    guesses: int = 500_000

    def audit(self, system: System, claim: Claim) -> list[Shown]:
        """Return what released schemas show about who is in the table."""
        promised = Claim(claim.epsilon, DELTA)
        needed = min(self.guesses, guesses_needed(claim.epsilon))
        columns = min(self.columns, -(-needed // 2))
        runs = -(-needed // (2 * columns))
        right = done = 0
        while done < runs:
            right += _right_about_edges(system, promised, columns)
            done += 1
            if not _may_refute(right, 2 * columns * done, 2 * columns * runs, promised):
                break
        made, planned = 2 * columns * done, 2 * columns * runs
        visible = by_guesses(planned, planned, planned, DELTA)
        shown = by_guesses(right, made, made, DELTA)
        return [Shown("canaries: bounds", promised, shown, visible, made)]


def _right_about_edges(system: System, claim: Claim, columns: int) -> int:
    """Return how many guesses are right, of two a column."""
    coins = _coins(2 * columns)
    names = [f"x{column}" for column in range(columns)]
    declared = Schema(tuple(Integer(name, 0, 2) for name in names))
    model = system.release(_edge_table(coins, names), declared, claim, Evolution(rounds=1), 1)
    released = [column for column in model.schema_.columns if isinstance(column, Integer)]
    reached = np.array([(column.min <= 0, column.max >= 2) for column in released])  # noqa: PLR2004
    return int((reached.ravel() == coins).sum())


def _edge_table(coins: Coins, names: list[str]) -> pa.Table:
    """Return ones, but for a 0 or a 2 in a place of its own in each row that is a canary."""
    present = np.flatnonzero(coins)
    cells = np.ones((len(names), len(present) + 1), dtype=np.int8)
    cells[present // 2, np.arange(len(present))] = 2 * (present % 2)
    return pa.table(dict(zip(names, cells, strict=True)))


def _may_refute(right: int, made: int, of: int, claim: Claim) -> bool:
    """Whether the promise is refuted if all guesses that are still to come are right."""
    most = right + of - made
    return chance_of_guesses(most, of, of, claim.epsilon, claim.delta) <= ALARM


def _coins(size: int) -> Coins:
    """Return fair coins, from the randomness of the operating system."""
    return np.random.default_rng().random(size) < 0.5  # noqa: PLR2004
