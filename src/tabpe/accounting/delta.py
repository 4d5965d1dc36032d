"""Delta: its default 1 / (n ln n), and the part of it that noise of users takes.

*The default when n is private.* A declared n gives delta at once. A noisy n, with margin k that the
noise exceeds with probability at most `MISS_PROBABILITY`, is used on both sides:

- sigma is calibrated at the delta of n + k. As n + k >= n except with probability
  `MISS_PROBABILITY`, the noise is at least that of the true delta, so the run is (epsilon, 1/(n ln
  n) + MISS)-DP for every table of n rows.
- the certificate states the delta of n - k - 1 (plus `MISS_PROBABILITY`; the 1 is for a neighbour
  with one row less), which is at least that, except with probability `MISS_PROBABILITY`.

So the number in the certificate errs toward stating too large a delta, never too small a one. The
argument in full is in `docs/explanation/proofs.md`.

*Noise of users.* User-level spends are composed for rounded continuous noise, from which a draw of
discrete noise is `NeighboringRelation.sampling_error` away. Neighbors differ in
`NeighboringRelation.cells` cells of each histogram. Put rounded continuous noise on those cells
alone: no outcome of the whole run changes its probability by more than tau, the sampling error of a
draw times the number of these cells in all histograms. That run is (epsilon, d)-DP, so the real one
is (epsilon, d + (1 + e^epsilon) tau)-DP. The full argument is in `docs/explanation/proofs.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabpe.accounting.neighboring import NeighboringRelation
from tabpe.accounting.pld import SMALLEST_DELTA
from tabpe.errors import ParameterError

MISS_PROBABILITY = 1e-12
FEWEST_ROWS = 20


@dataclass(frozen=True)
class RowCount:
    """The number of private rows, as far as it is public.

    Args:
        estimate: The declared or noisy number.
        margin: The largest error of the noisy number, except with probability `MISS_PROBABILITY`.

    Example:
        >>> declared = RowCount.from_declared(7152)
        >>> declared.calibration_delta == declared.guaranteed_delta
        True
        >>> noisy = RowCount.from_noisy_counts(7152, sigma=25.0, cells=10)
        >>> noisy.calibration_delta < 1 / (7152 * math.log(7152)) < noisy.guaranteed_delta
        True
    """

    estimate: float
    margin: float

    @classmethod
    def from_declared(cls, rows: int) -> RowCount:
        """Return a row count that is public knowledge."""
        return cls(float(rows), 0.0)

    @classmethod
    def from_noisy_counts(cls, total: float, *, sigma: float, cells: int) -> RowCount:
        """Return the sum of `cells` counts under (sub-Gaussian) noise of `sigma` each."""
        return cls(float(total), sigma * math.sqrt(2 * cells * math.log(1 / MISS_PROBABILITY)))

    @property
    def is_declared(self) -> bool:
        """Whether the number was declared."""
        return self.margin == 0

    @property
    def calibration_delta(self) -> float:
        """The delta to calibrate the noise at."""
        return _compute_default_delta(max(self.estimate + self.margin, FEWEST_ROWS))

    @property
    def guaranteed_delta(self) -> float:
        """The delta to state."""
        if self.is_declared:
            return self.calibration_delta
        least = self.estimate - self.margin - 1
        if least < max(FEWEST_ROWS, self.estimate / 2):
            raise ParameterError(
                f"delta=None: the table is too small to choose delta by a noisy number of rows "
                f"({max(self.estimate, 0):,.0f} +- {self.margin:,.0f}). Give delta, for example "
                f"1e-6, or public_rows if the number of rows is public."
            )
        return _compute_default_delta(least) + MISS_PROBABILITY


def _compute_default_delta(rows: float) -> float:
    return 1.0 / (rows * math.log(rows))


LARGEST_SHARE = 0.01
_LARGEST_EXPONENT = 700.0  # of a float; what is left of it then is far above any delta


def compute_sampling_delta(
    histograms: int, epsilon: float, neighbours: NeighboringRelation
) -> float:
    """Return the part of delta that noise of users takes; 0 at row level, where noise is exact.

    A histogram in which a row casts k votes counts as k here, as it does in a `Spend`. That is
    enough: each of the rows by which neighbors differ changes at most k of its cells, so neighbors
    differ in at most k * `cells` of them, as they do in k histograms of one vote.

    Args:
        histograms: How many histograms get such noise, over all spends.
        epsilon: The epsilon of the guarantee.
        neighbours: The neighboring relation.

    Example:
        >>> compute_sampling_delta(16, 1.0, NeighboringRelation(max_rows=10)) < 2e-15
        True
    """
    tau = histograms * neighbours.cells * neighbours.sampling_error
    return (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * tau


def subtract_sampling_delta(delta: float, sampling_delta: float) -> float:
    """Return what is left of delta for the spends, rounded down.

    Raises:
        ParameterError: If more than a hundredth of delta would be taken, or too little is left.

    Example:
        >>> subtract_sampling_delta(1e-6, 1e-9) + 1e-9 <= 1e-6, subtract_sampling_delta(1e-6, 0.0)
        (True, 1e-06)
    """
    if sampling_delta == 0:
        return delta
    left = math.nextafter(delta - sampling_delta, 0.0)
    if sampling_delta > LARGEST_SHARE * delta or left < SMALLEST_DELTA:
        raise ParameterError(
            f"unit: noise for users would take {sampling_delta:.2g} of a delta of {delta:.3g}; "
            f"expected at most {LARGEST_SHARE:.0%} of it, and {SMALLEST_DELTA:g} left. Ask for a "
            f"smaller epsilon, a larger delta or fewer rows of a user (max_rows_per_user)."
        )
    return left
