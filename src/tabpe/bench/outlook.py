"""How long what is left will take, by what was seen so far."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from tabpe.bench.grid import Run
from tabpe.bench.records import Record

FEW = 10.0  # seconds of which a tenth is told


class Outlook:
    """Learns how long runs take: those of a method on a data set, of a method, or of any.

    Args:
        todo: The runs to come.
        known: Records of runs that were made before.
        jobs: How many run at once.

    Example:
        >>> Outlook([], []).left is None
        True
    """

    def __init__(self, todo: Iterable[Run], known: Iterable[Record], jobs: int = 1) -> None:
        self._todo = {run.key: run for run in todo}
        self._jobs = jobs
        self._began: dict[str, float] = {}
        self._seen: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in known:
            if record.seconds is not None:
                measuring = float(record.evaluation.get("seconds", 0.0))
                self._learn(record.method, record.data, record.seconds + measuring)

    def begin(self, run: Run) -> None:
        """Take note that a run begins."""
        self._began[run.key] = time.monotonic()

    def end(self, run: Run) -> None:
        """Take note that a run has ended."""
        self._todo.pop(run.key, None)
        began = self._began.pop(run.key, None)
        if began is not None:
            self._learn(run.method, run.data, time.monotonic() - began)

    @property
    def left(self) -> float | None:
        """Seconds until all is done; None if nothing is known of it yet."""
        if not self._seen[()]:
            return None
        now = time.monotonic()
        spent = sum(now - began for began in list(self._began.values()))
        whole = sum(self._expected(run) for run in list(self._todo.values()))
        return max(whole - spent, 0.0) / self._jobs

    def _learn(self, method: str, data: str, seconds: float) -> None:
        for known in ((method, data), (method,), ()):
            self._seen[known].append(seconds)

    def _expected(self, run: Run) -> float:
        ways = ((run.method, run.data), (run.method,), ())
        seen = next(found for way in ways if (found := self._seen.get(way)))
        return sum(seen) / len(seen)


def in_words(seconds: float) -> str:
    """Return a time for people.

    Example:
        >>> in_words(0.25), in_words(42), in_words(200), in_words(9000)
        ('0.2 s', '42 s', '3 min 20 s', '2 h 30 min')
    """
    if seconds < FEW:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
