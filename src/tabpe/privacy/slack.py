"""What noise that is not exact costs: a part of delta.

Neighbours differ in `Neighbours.cells` cells a histogram. Put exact noise on those cells alone: no
outcome of the whole run changes its probability by more than tau, the slack of a draw times the
number of these cells in all histograms. The run with exact noise there is (epsilon, d)-private, so
the one with real noise is (epsilon, d + (1 + e^epsilon) tau)-private. The argument in full is in
`docs/privacy.md`, and so is why histograms of users have a slack of their own: their bill is
composed for rounded continuous noise.
"""

from __future__ import annotations

import math

from tabpe.errors import ParameterError
from tabpe.privacy.accounting import SMALLEST_DELTA
from tabpe.privacy.adjacency import Neighbours

LARGEST_SHARE = 0.01
_LARGEST_EXPONENT = 700.0  # of a float; what is left of it then is far above any delta


def delta_slack(slack: float, histograms: int, epsilon: float, neighbours: Neighbours) -> float:
    """Return the part of delta that pays for noise that is not exact.

    A histogram in which a row has k votes counts as k here, as it does on the bill. That is enough:
    each of the rows by which neighbours differ moves at most k of its cells, so neighbours differ
    in at most k * `cells` of them, as they do in k histograms of one vote.

    Args:
        slack: How far a draw may be from exact, in total variation.
        histograms: How many histograms get such noise, over all items of the bill.
        epsilon: The epsilon of the promise.
        neighbours: The neighbouring relation.

    Example:
        >>> delta_slack(2.0**-108, 16, 1.0, Neighbours()) < 1e-30
        True
    """
    tau = histograms * neighbours.cells * (slack + neighbours.slack)
    return (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * tau


def exact_delta(delta: float, slack: float) -> float:
    """Return what is left of delta for exact noise, rounded down.

    Raises:
        ParameterError: If the slack is more than a hundredth of delta, or too little is left.

    Example:
        >>> exact_delta(1e-6, 1e-9) + 1e-9 <= 1e-6, exact_delta(1e-6, 0.0)
        (True, 1e-06)
    """
    if slack == 0:
        return delta
    left = math.nextafter(delta - slack, 0.0)
    if slack > LARGEST_SHARE * delta or left < SMALLEST_DELTA:
        raise ParameterError(
            f"noise: it is not exact, which would take {slack:.2g} of a delta of {delta:.3g}; "
            f"expected at most {LARGEST_SHARE:.0%} of it, and {SMALLEST_DELTA:g} left. Ask for a "
            f"smaller epsilon or a larger delta; for rows, noise='opendp' is exact."
        )
    return left
