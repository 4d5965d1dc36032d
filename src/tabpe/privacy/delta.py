"""The default delta, 1 / (n ln n), when n itself is private.

A declared n gives delta at once. A noisy n, with margin k that the noise exceeds with probability
at most `MISS`, is used on both sides:

- sigma is calibrated at the delta of n + k. As n + k >= n except with probability `MISS`, the
  noise is at least that of the true delta, so the run is (epsilon, 1/(n ln n) + MISS)-DP for every
  table of n rows.
- the certificate states the delta of n - k - 1 (plus `MISS`; the 1 is for a neighbour with one row
  less), which is at least that, except with probability `MISS`.

So the number in the certificate errs toward stating too large a delta, never too small a one. The
argument in full is in `docs/privacy.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabpe.errors import ParameterError

MISS = 1e-12
FEWEST_ROWS = 20


@dataclass(frozen=True)
class RowCount:
    """The number of private rows as far as it is known in public.

    Args:
        estimate: The declared or noisy number.
        margin: How far the noisy number may be off, except with probability `MISS`.

    Example:
        >>> RowCount.declared(7152).calibration_delta == RowCount.declared(7152).promised_delta
        True
        >>> noisy = RowCount.noisy(7152, sigma=25.0, cells=10)
        >>> noisy.calibration_delta < 1 / (7152 * math.log(7152)) < noisy.promised_delta
        True
    """

    estimate: float
    margin: float

    @classmethod
    def declared(cls, rows: int) -> RowCount:
        """A number that is public knowledge."""
        return cls(float(rows), 0.0)

    @classmethod
    def noisy(cls, total: float, *, sigma: float, cells: int) -> RowCount:
        """The sum of `cells` counts under noise of `sigma` each (which is sub-Gaussian)."""
        return cls(float(total), sigma * math.sqrt(2 * cells * math.log(1 / MISS)))

    @property
    def is_declared(self) -> bool:
        """Whether the number was declared."""
        return self.margin == 0

    @property
    def calibration_delta(self) -> float:
        """The delta to calibrate the noise at."""
        return _one_over_n_log_n(max(self.estimate + self.margin, FEWEST_ROWS))

    @property
    def promised_delta(self) -> float:
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
        return _one_over_n_log_n(least) + MISS


def _one_over_n_log_n(rows: float) -> float:
    return 1.0 / (rows * math.log(rows))
