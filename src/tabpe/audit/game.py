"""The whole pipeline from outside: many small runs, on a table with and without one row.

The table is tiny, so that hundreds of runs take seconds. One row is evolved, for which all private
rows vote, so that the totals in `history_` hold all that a run tells about the presence of a row:
an attack on the release that is as strong as one on the votes. All runs have the same settings,
seed of the search included: noise that hangs on these shows as runs that are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.audit.report import Claim, Finding, Repetition
from tabpe.audit.scores import likeness, shown
from tabpe.audit.system import System
from tabpe.evolve import Evolution
from tabpe.schema import Float, Schema

SCHEMA = Schema((Float("x", 0.0, 1.0),))
WITHOUT = [0.5] * 20
WITH = [*WITHOUT, 1.0]


@dataclass(frozen=True)
class Game:
    """Runs of the whole pipeline, on two neighbouring tables.

    Args:
        runs: How many on each of the two tables.
        rounds: How many histograms a run has.
    """

    runs: int = 200
    rounds: int = 4

    def audit(self, system: System, claim: Claim) -> list[Finding]:
        """Return what the releases of a system show."""
        outs, ins = (self._totals(system, claim, pa.table({"x": x})) for x in (WITHOUT, WITH))
        over_runs = likeness(np.reshape(outs, (2, -1)))
        return [
            *shown("many runs", ins.sum(axis=1), outs.sum(axis=1), claim),
            Repetition("many runs: noise over rounds", likeness(outs.T), self.runs),
            Repetition("many runs: noise over runs", over_runs, self.runs),
        ]

    def _totals(self, system: System, claim: Claim, table: pa.Table) -> NDArray[np.float64]:
        """Return the noisy number of votes in each round of each run."""
        config = Evolution(rounds=self.rounds, sampling_rounds=self.rounds)
        runs = (system.release(table, SCHEMA, claim, config, 1) for _ in range(self.runs))
        return np.array(
            [[entry["noisy_votes_total"] for entry in run.history_] for run in runs], np.float64
        )
