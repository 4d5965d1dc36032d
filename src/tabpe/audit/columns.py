"""Tables of columns, seen from inside: what many tables tell about a row.

Every row falls into a cell of its own, the same in each table, and half of all cells have a row, by
chance. So the tables hold thousands of answers to the question whether a row is there, as
histograms of votes do (`tabpe.audit.channel`). The score of a cell is the sum over all tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe import measure
from tabpe.audit.channel import Votes, half_of, repetitions, shown_by_sums
from tabpe.audit.report import Claim, Finding
from tabpe.audit.system import System
from tabpe.encode import Marginal, Records
from tabpe.encode.axes import ListAxis
from tabpe.engines import Tables
from tabpe.evolve.config import COLUMNS
from tabpe.measure import Terms
from tabpe.privacy import ROWS, Account, BillItem, calibrate


@dataclass(frozen=True)
class Columns:
    """Tables, and how many cells each has.

    Args:
        cells: How many cells, each of which has a row or not.
        tables: How many tables.
    """

    cells: int = 2**18
    tables: int = 16

    @property
    def samples(self) -> int:
        """How many rows are there or not."""
        return self.cells

    def audit(self, system: System, claim: Claim, label: str) -> list[Finding]:
        """Return what the tables of a system show.

        Args:
            system: What is audited.
            claim: What it promises over all tables.
            label: How findings call them.
        """
        occupied = half_of(self.cells)
        sigma = calibrate(claim.epsilon, claim.delta, system.paid(self.tables))
        noisy, again = (self._counts(system, sigma, occupied) for _ in range(2))
        return [
            *shown_by_sums(label, noisy, occupied, claim),
            *repetitions(label, f"{label}: noise over tables", noisy, again, occupied),
        ]

    def _counts(self, system: System, sigma: float, occupied: NDArray[Any]) -> Votes:
        """Return the noisy counts of a run, one row a table."""
        codes = np.flatnonzero(occupied)[:, None].astype(np.uint32)
        rows = Records(np.empty((len(codes), 0), dtype=np.float32), codes)
        batch = rows, np.zeros(len(codes), dtype=np.int64)
        account = Account()
        account.agree(BillItem(COLUMNS, sigma=sigma, times=self.tables))
        terms = Terms(account, system.noise(), ROWS)
        asked = [Marginal((ListAxis("cell", 0, tuple(range(self.cells))),))] * self.tables
        measured = measure.measured_marginals(
            system.tables(Tables([batch])), asked, terms, name=COLUMNS
        )
        return np.stack(measured.values)
