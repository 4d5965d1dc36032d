"""Queries that kill the worker which is asked them, or fail there."""

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tabpe.backends.base import EncodedQuery, EncodedReading, Query


@dataclass(frozen=True, eq=False)
class DeadlyQuery(EncodedQuery):
    """A query that kills the worker which is asked it, for so many times.

    Args:
        query: What is asked.
        folder: Where is written down whom it killed.
        shard: Which of them dies.
        times: How often.
    """

    reading: EncodedReading | None = field(init=False)
    query: EncodedQuery
    folder: Path
    shard: int
    times: int = 1

    def __post_init__(self):
        object.__setattr__(self, "reading", self.query.reading)
        object.__setattr__(self, "voting_space", self.query.voting_space)

    def evaluate(self, rows):
        """Answer half-way, and die."""
        value = self.query.evaluate(rows)
        killed = len(list(self.folder.glob("*")))
        if rows.number == self.shard and killed < self.times:
            (self.folder / f"{killed}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(3600)
        return value


@dataclass(frozen=True, eq=False)
class BrokenQuery(Query):
    """A query that fails with words that nobody may see.

    Args:
        words: The words.
    """

    words: str

    def evaluate(self, rows):
        """Fail."""
        raise ValueError(self.words)
