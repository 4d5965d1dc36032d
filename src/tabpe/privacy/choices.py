"""The price of a choice: how the privacy loss of the exponential mechanism is distributed.

The exponential mechanism picks an option with chance proportional to exp(score / scale). Its loss
between neighbours is (change of the score of what was picked) / scale plus a constant, so all
losses of one choice lie in an interval of width

    range = (largest change - smallest change of a score) / scale.

A mechanism with that property, of *bounded range*, may have its interval anywhere around zero. The
worst of two outcomes with the losses t and t - range has at epsilon the hockey-stick divergence
(1 - e^(t-range) - e^(epsilon-t) + e^(epsilon-range)) / (1 - e^-range), and the worst t is
(epsilon + range) / 2. So for every epsilon from -range to range

    delta(epsilon) <= (1 - e^((epsilon-range)/2))^2 / (1 - e^-range),

which is a curve of one distribution: that of a loss with density proportional to e^(loss/2) between
-range and range. It dominates every choice of that range, whatever the scores are, and so its
composition dominates every adaptive composition of such choices (docs/privacy.md). It is its own
mirror image: neighbours may be swapped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import ParameterError
from tabpe.privacy.adjacency import ROWS, Neighbours
from tabpe.privacy.bill import EXPONENTIAL, BillItem


def range_of(sigma: float) -> float:
    """Return the range of a choice that is on the bill with `sigma`."""
    return 2 / sigma


def loss(sigma: float, grid: float) -> Any:
    """Return a privacy loss distribution that dominates that of a choice.

    Args:
        sigma: 2 / range.
        grid: The step between losses.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    width = range_of(sigma)
    most = math.ceil(width / grid) + 1
    steps = np.arange(-most, most + 1)
    deltas = divergences((steps * grid).astype(np.float64), width)
    return PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(grid, steps, deltas))


def divergences(epsilons: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return the largest hockey-stick divergence of any choice of that range, at each epsilon.

    Example:
        >>> divergences(np.array([-1.0, 0.0, 1.0]), 1.0).round(4)
        array([0.6321, 0.2449, 0.    ])
    """
    inside = np.expm1((np.clip(epsilons, -width, width) - width) / 2) ** 2 / -math.expm1(-width)
    below = -np.expm1(np.minimum(epsilons, 0.0))
    return np.where(epsilons < -width, below, np.where(epsilons > width, 0.0, inside))


def check_relation(items: Sequence[BillItem], neighbours: Neighbours) -> None:
    """Refuse choices for another promise than that to rows that come or go.

    The range of a choice is known for one row more or less; two rows, or those of a user, move
    scores further.
    """
    if neighbours != ROWS and any(item.mechanism == EXPONENTIAL for item in items):
        raise ParameterError(
            "adjacency: choices by the exponential mechanism are accounted for tables that differ "
            "by adding or removing one row, and for no other relation."
        )
