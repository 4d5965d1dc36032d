"""Estimates with intervals from noisy counts, and the values that hold them.

All of it is post-processing. Noise on a cell is taken as Gaussian of standard deviation sigma,
which for discrete noise of the usual size it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import Certificate
from tabpe.evaluation.metrics.columns import ColumnComparison


@dataclass(frozen=True)
class NoisyDifference:
    """How far the synthetic rows are from the real ones, as noisy counts show it.

    Args:
        names: The columns whose cells are compared.
        estimate: Total variation between the synthetic shares and the noisy real ones. Noise makes
            it too large rather than too small.
        floor: What it is on average if the two are equal: the work of noise alone.
        margin: The true total variation is within so much of the estimate, in 95% of all cases or
            more.
    """

    names: tuple[str, ...]
    estimate: float
    floor: float
    margin: float


@dataclass(frozen=True)
class PrivateMeasures:
    """Measures of the real rows, estimated under differential privacy.

    Intervals are about the noise: they say where the exact number for these rows lies.

    Args:
        certificate: The guarantee of these measures, with their privacy spends.
        total_epsilon: Epsilon of the synthetic table and these measures together; None without a
            certificate of the table that this one can be added to.
        total_delta: Delta of the two together.
        rows: Noisy number of rows, or of users, and half the width of its 95% interval.
        accuracy: Noisy accuracy on the real rows of a predictor trained on the synthetic ones, and
            half the width of its 95% interval; None without a label with classes.
        majority: Noisy share of the most common class of the real rows.
        notes: What a reader should know.
        macro_f1: Macro F1 of the same predictor, from the noisy table of its mistakes; None if
            there are too many classes for one.
        differences: How far each column is from the real one.
        differences_by_label: The same for each column together with the label.
    """

    certificate: Certificate
    total_epsilon: float | None
    total_delta: float | None
    rows: tuple[float, float]
    accuracy: tuple[float, float] | None
    majority: float | None
    notes: tuple[str, ...] = ()
    macro_f1: float | None = None
    differences: tuple[NoisyDifference, ...] = ()
    differences_by_label: tuple[NoisyDifference, ...] = ()


@dataclass(frozen=True)
class Appraisal:
    """Private measures as a report shows them; all of it is public.

    Args:
        measures: The measures, and what they cost.
        columns: Each column: synthetic shares beside noisy real ones, with the band of the noise.
    """

    measures: PrivateMeasures
    columns: tuple[ColumnComparison, ...]


Floats = NDArray[np.float64]
# In standard deviations: 95%, and 97.5% on both sides.
_Z, _WIDER = 1.96, 2.24
# Mean and standard deviation of the size of a standard Gaussian.
_SIZE, _SPREAD = math.sqrt(2 / math.pi), math.sqrt(1 - 2 / math.pi)


@dataclass(frozen=True)
class NoisyTotal:
    """How many rows there are in a table of counts, by noisy counts.

    Args:
        value: The number, at least one.
        deviation: Its standard deviation.
    """

    value: float
    deviation: float

    @property
    def interval(self) -> tuple[float, float]:
        """The number, and half the width of its 95% interval."""
        return self.value, _Z * self.deviation


def estimate_total(tables: Sequence[Floats], sigma: float) -> NoisyTotal:
    """Return the number of rows, by the sums of several noisy tables of the same rows.

    A sum of many cells holds much noise, so it weighs little.

    Example:
        >>> estimate_total([np.array([40.0, 60.0]), np.array([[103.0]])], sigma=3.0).value
        102.0
    """
    weights = np.array([1 / table.size for table in tables])
    sums = np.array([table.sum() for table in tables])
    value = float((weights * sums).sum() / weights.sum())
    return NoisyTotal(max(value, 1.0), sigma / math.sqrt(weights.sum()))


def estimate_shares(counts: Floats) -> Floats:
    """Return noisy counts as shares: none below 0, 1 in all, or all 0 if there is nothing."""
    known = np.clip(counts, 0.0, None)
    return known / (known.sum() or 1.0)


def compute_band(total: NoisyTotal, sigma: float) -> float:
    """Return half the width of the 95% interval around a share."""
    return min(_Z * sigma / total.value, 1.0)


def estimate_difference(
    names: tuple[str, ...], counts: Floats, shares: Floats, total: NoisyTotal, sigma: float
) -> NoisyDifference:
    """Return how far synthetic shares are from the real ones behind noisy counts.

    The estimate differs from the truth by at most half the sum of the sizes of all noise, and by
    half of what the total is off, as parts of the total. Both are exceeded with 2.5% each.
    """
    cells, unit = counts.size, sigma / total.value
    floor = cells * unit * _SIZE / 2
    noise = floor + _Z * unit * math.sqrt(cells) * _SPREAD / 2
    estimate = float(np.abs(counts / total.value - shares).sum()) / 2
    margin = noise + _WIDER * total.deviation / total.value / 2
    return NoisyDifference(names, min(estimate, 1.0), min(floor, 1.0), min(margin, 1.0))


def estimate_accuracy(mistakes: Floats, total: NoisyTotal, sigma: float) -> tuple[float, float]:
    """Return the share of right predictions, and half the width of its 95% interval.

    Args:
        mistakes: Noisy counts by class and predicted class; or of wrong and right ones.
        total: The number of rows that were predicted, by tables of which this is one. So noise
            on a right prediction is in both, by the weight that `estimate_total` gave it.
        sigma: Scale of the noise.

    Example:
        >>> estimate_accuracy(
        ...     np.array([[70.0, 10.0], [10.0, 10.0]]), NoisyTotal(100.0, 0.0), sigma=0.0
        ... )
        (0.8, 0.0)
    """
    right = np.diag(mistakes) if mistakes.ndim > 1 else mistakes[1:]
    value = float(np.clip(right.sum() / total.value, 0.0, 1.0))
    shared = total.deviation**2 * len(right) / mistakes.size
    variance = len(right) * sigma**2 - 2 * value * shared + (value * total.deviation) ** 2
    return value, min(_Z * math.sqrt(variance) / total.value, 1.0)


def estimate_macro_f1(mistakes: Floats) -> float | None:
    """Return the mean of F1 over the classes that the real rows seem to have; None if unknown."""
    if mistakes.ndim == 1:
        return None
    known = np.clip(mistakes, 0.0, None)
    held, predicted = known.sum(axis=1), known.sum(axis=0)
    found = held > 0
    if not found.any():
        return None
    return float(np.mean(2 * np.diag(known)[found] / (held + predicted)[found]))
