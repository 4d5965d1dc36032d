"""Differences between two methods, seed by seed: how large they are, and how sure that is.

Runs with the same data and seed have the same split and the same real rows to be compared with, so
what they differ by is taken for each seed, and only then averaged. The interval is Student's, for
the mean of those differences. Shares differ by points; distances and times by a factor, which is
the exponential of a difference of logarithms.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tabpe.bench.measures import Measure
from tabpe.bench.records import Record
from tabpe.bench.summary import DONE
from tabpe.errors import ParameterError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """A mean difference with its confidence interval.

    Args:
        mean: The mean.
        low: Where the interval begins; None for one value, which tells nothing of its spread.
        high: Where it ends.
        count: How many values it is of.

    Example:
        >>> found = Difference.of([1.0, 2.0, 3.0])
        >>> round(found.low, 3), found.mean, round(found.high, 3)
        (-0.484, 2.0, 4.484)
    """

    mean: float
    low: float | None = None
    high: float | None = None
    count: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Difference:
        """Return the mean of values, at least one, with Student's interval."""
        mean = statistics.fmean(values)
        if len(values) == 1:
            return cls(mean)
        from scipy.stats import t

        error = statistics.stdev(values) / math.sqrt(len(values))
        reach = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
        return cls(mean, mean - reach, mean + reach, len(values))

    @property
    def sign(self) -> int:
        """1 if it is above zero for sure, -1 if below, 0 if that can not be told."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def by_factor(shown: Measure) -> bool:
    """Whether a measure is compared by a factor: all but shares are."""
    return not shown.percent


def paired(runs: Iterable[Record], others: Iterable[Record], shown: Measure) -> Difference | None:
    """Return by how much runs differ from others on the same data; None without a common seed.

    Args:
        runs: Runs of one method, one for each seed.
        others: Runs of the method that they are compared with.
        shown: The measure. Of one that is compared by a factor this is the difference of the
            logarithms; None if one of them is zero.

    Raises:
        ParameterError: If two runs have the same seed.

    Example:
        >>> from tabpe.bench.measures import measure
        >>> def run(seed, accuracy):
        ...     return Record("a", "full", "0f", "xor", "aim", "aim", seed, "seed", "done",
        ...                   metrics={"accuracy": accuracy})
        >>> runs, others = [run(0, 0.75), run(1, 0.5)], [run(0, 0.5), run(1, 0.25), run(2, 0.1)]
        >>> paired(runs, others, measure("accuracy"))
        Difference(mean=0.25, low=0.25, high=0.25, count=2)
    """
    ours, theirs = _by_seed(runs, shown), _by_seed(others, shown)
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return None
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    if not by_factor(shown):
        return Difference.of([one - other for one, other in pairs])
    if any(value <= 0 for pair in pairs for value in pair):
        return None
    return Difference.of([math.log(one / other) for one, other in pairs])


def _by_seed(runs: Iterable[Record], shown: Measure) -> dict[int, float]:
    found: dict[int, float] = {}
    for run in runs:
        value = shown.of(run) if run.status == DONE else None
        if value is None:
            continue
        if run.seed in found:
            raise ParameterError(
                f"{run.called} on {run.data}: two runs have seed {run.seed}: differences need one "
                f"setting of each method: name others differently, with `as`."
            )
        found[run.seed] = value
    return found
