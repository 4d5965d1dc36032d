"""The whole pipeline from outside: many small runs, on a table with and without one row.

The table is tiny, so that hundreds of runs take seconds. There are no more candidates than a row
has votes, so that the totals in `history_` hold all that votes tell about the presence of a row:
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
from tabpe.evolve import Evolution, Posterior, Strategy
from tabpe.schema import Float, Schema

SCHEMA = Schema((Float("x", 0.0, 1.0),))
WITHOUT = [0.5] * 20
WITH = [*WITHOUT, 1.0]
# Both strategies, as small as they get.
EVOLVED = Evolution(rounds=4, sampling_rounds=4)
FITTED = Posterior(rounds=4, candidates=4, pool=16, sweeps=1, last_sweeps=1)


@dataclass(frozen=True)
class Game:
    """Runs of the whole pipeline, on two neighbouring tables.

    Args:
        runs: How many on each of the two tables.
        config: The strategy, with as many candidates as votes of a row.
        label: How findings call them.
    """

    runs: int = 200
    config: Strategy = EVOLVED
    label: str = "many runs"

    def audit(self, system: System, claim: Claim) -> list[Finding]:
        """Return what the releases of a system show."""
        outs, ins = (self._totals(system, claim, pa.table({"x": x})) for x in (WITHOUT, WITH))
        over_runs = likeness(np.reshape(outs, (2, -1)))
        return [
            *shown(self.label, ins.sum(axis=1), outs.sum(axis=1), claim),
            Repetition(f"{self.label}: noise over rounds", likeness(outs.T), self.runs),
            Repetition(f"{self.label}: noise over runs", over_runs, self.runs),
        ]

    def _totals(self, system: System, claim: Claim, table: pa.Table) -> NDArray[np.float64]:
        """Return the noisy number of votes in each round of each run."""
        runs = (system.release(table, SCHEMA, claim, self.config, 1) for _ in range(self.runs))
        return np.array(
            [[entry["noisy_votes_total"] for entry in run.history_] for run in runs], np.float64
        )
