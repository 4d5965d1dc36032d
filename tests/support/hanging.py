"""Questions that shards on workers take their time with, or are killed by."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Deadly:
    """A question that kills the worker which is asked it, for so many times.

    Args:
        question: What is asked.
        folder: Where is written down whom it killed.
        shard: Which of them dies.
        times: How often.
    """

    question: Any
    folder: Path
    shard: int
    times: int = 1

    @property
    def reading_key(self):
        """As the question."""
        return self.question.reading_key

    def run_on_shard(self, desk):
        """Answer half-way, and die."""
        value = self.question.run_on_shard(desk)
        place = desk.backend._index.number
        killed = len(list(self.folder.glob("*")))
        if place == self.shard and killed < self.times:
            (self.folder / f"{killed}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(3600)
        return value


@dataclass(frozen=True)
class Broken:
    """A question that fails with words that nobody may see."""

    words: str
    reading_key: str = ""

    def run_on_shard(self, desk):
        """Fail."""
        raise ValueError(self.words)
