"""On which terms rows are read: what is charged, and the noise on every cell.

`Transcript`: one digest over all noisy answers of a run, in their order.

Two runs on the same table with the same settings differ in their noise alone. The digest tells them
apart, so a charge in a ledger covers one of them. It is a function of noisy answers, which are
public, and can not be turned back into them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import Account, NeighboringRelation, NoiseSource, Spend
from tabpe.errors import TabpeError

NO_ANSWER = hashlib.sha256(b"tabpe: no measurement").hexdigest()


class Transcript:
    """A hash chain over noisy answers: each digest covers the one before it.

    Attributes:
        count: How many answers it covers.
        sha256: The digest of all of them.

    Example:
        >>> one, other = Transcript(), Transcript()
        >>> one.add_answer({"name": "votes"}, {"0": np.array([3, 1])})
        >>> other.add_answer({"name": "votes"}, {"0": np.array([3, 2])})
        >>> one.count, one.sha256 == other.sha256
        (1, False)
    """

    def __init__(self) -> None:
        self.count = 0
        self.sha256 = NO_ANSWER

    def add_answer(
        self, text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Add a noisy answer: plain values, and arrays by name."""
        digest = hashlib.sha256(self.sha256.encode())
        digest.update(json.dumps(text, sort_keys=True, separators=(",", ":")).encode())
        for name, array in sorted((arrays or {}).items()):
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            digest.update(f"\0{name} {plain.dtype.str} {plain.shape}\0".encode())
            digest.update(plain.tobytes())
        self.sha256 = digest.hexdigest()
        self.count += 1


@dataclass(frozen=True, eq=False)
class MeasurementTerms:
    """On which terms rows are read.

    Args:
        account: Is charged.
        noise: The source of noise.
        neighbours: The neighbouring relation.
        transcript: The digest of what was answered on these terms.
    """

    account: Account
    noise: NoiseSource
    neighbours: NeighboringRelation
    transcript: Transcript = field(default_factory=Transcript)

    def record_answer(self, item: Spend, *counts: NDArray[np.int64], choice: Any = None) -> None:
        """Note a noisy answer: counts, or what was chosen."""
        arrays = {str(place): part for place, part in enumerate(counts)}
        self.transcript.add_answer({"item": item.to_dict(), "told": choice}, arrays)


def charge_spend(account: Account, name: str, times: int) -> Spend:
    """Charge for all histograms of a question, and return what they add to the bill."""
    for _ in range(times):
        account.charge(name)
    return replace(next(item for item in account.authorized if item.name == name), times=times)


def add_noise(exact: NDArray[np.int64], item: Spend, terms: MeasurementTerms) -> NDArray[np.int64]:
    """Return exact counts under the noise that was charged for, a draw of its own on each cell."""
    added = terms.noise.draw(len(exact), item.sigma * terms.neighbours.scale)
    # Broadcasting would put one draw on many cells.
    if added.shape != exact.shape:
        raise TabpeError("noise: its size differs from the number of cells asked for.")
    return exact + added


def check_mechanism(item: Spend, mechanism: str) -> None:
    """Refuse an item that is on the bill as something else."""
    if item.mechanism != mechanism:
        raise TabpeError(f"{item.name}: is not on the bill as {mechanism}.")
