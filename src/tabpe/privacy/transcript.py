"""`Transcript`: one digest over all noisy answers of a run, in their order.

Two runs on the same table with the same settings differ in their noise alone. The digest tells them
apart, so a charge in a ledger covers one of them. It is a function of noisy answers, which are
public, and can not be turned back into them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_ANSWER = hashlib.sha256(b"tabpe: no measurement").hexdigest()


class Transcript:
    """A hash chain over noisy answers: each digest covers the one before it.

    Attributes:
        count: How many answers it covers.
        sha256: The digest of all of them.

    Example:
        >>> one, other = Transcript(), Transcript()
        >>> one.note({"name": "votes"}, {"0": np.array([3, 1])})
        >>> other.note({"name": "votes"}, {"0": np.array([3, 2])})
        >>> one.count, one.sha256 == other.sha256
        (1, False)
    """

    def __init__(self) -> None:
        self.count = 0
        self.sha256 = NO_ANSWER

    def note(
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
