"""On which terms rows are read: what is charged, and the noise on every cell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import TabpeError
from tabpe.privacy import Account, BillItem, Neighbours, NoiseSource
from tabpe.privacy.transcript import Transcript


@dataclass(frozen=True, eq=False)
class Terms:
    """On which terms rows are read.

    Args:
        account: Is charged.
        noise: The source of noise.
        neighbours: The neighbouring relation.
        transcript: The digest of what was answered on these terms.
    """

    account: Account
    noise: NoiseSource
    neighbours: Neighbours
    transcript: Transcript = field(default_factory=Transcript)

    def note(self, item: BillItem, *counts: NDArray[np.int64], told: Any = None) -> None:
        """Note a noisy answer: counts, or what was chosen."""
        arrays = {str(place): part for place, part in enumerate(counts)}
        self.transcript.note({"item": item.to_dict(), "told": told}, arrays)


def charged(account: Account, name: str, times: int) -> BillItem:
    """Charge for all histograms of a question, and return what they add to the bill."""
    for _ in range(times):
        account.charge(name)
    return replace(next(item for item in account.agreed if item.name == name), times=times)


def noisy(exact: NDArray[np.int64], item: BillItem, terms: Terms) -> NDArray[np.int64]:
    """Return exact counts under the noise that was charged for, a draw of its own on each cell."""
    added = terms.noise.draw(len(exact), item.sigma * terms.neighbours.scale)
    # Broadcasting would put one draw on many cells.
    if added.shape != exact.shape:
        raise TabpeError("noise: its size differs from the number of cells asked for.")
    return exact + added


def check_mechanism(item: BillItem, mechanism: str) -> None:
    """Refuse an item that is on the bill as something else."""
    if item.mechanism != mechanism:
        raise TabpeError(f"{item.name}: is not on the bill as {mechanism}.")
