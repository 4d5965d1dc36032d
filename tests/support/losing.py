"""Votes whose worker is lost with its executor in the middle of a round, once."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tabpe.backends.queries import VoteQuery


@dataclass(frozen=True, eq=False)
class DeadlyVoteQuery(VoteQuery):
    """A query that kills the executor of the first partition that has counted votes.

    Args:
        folder: Where is written down whom it killed.
    """

    folder: str = ""

    def evaluate(self, rows):
        """Count, and die before anybody hears of it."""
        value = super().evaluate(rows)
        if self._is_first():
            # The parent of this process forked it, and is a child of the executor.
            os.kill(_parent(os.getppid()), signal.SIGKILL)
            time.sleep(3600)
        return value

    def _is_first(self):
        try:
            (Path(self.folder) / "killed").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def _parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
