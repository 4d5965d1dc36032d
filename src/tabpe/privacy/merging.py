"""Long bills, of many scales of noise: for the accounts of a thousand runs.

To compose one scale takes milliseconds, and runs whose noise follows from a noisy count all have
scales of their own. If there are too many, neighbouring ones are put in groups, and every draw of a
group is accounted for by one privacy loss distribution that dominates those of all its scales. Its
hockey-stick divergence is the largest of theirs at every epsilon of the grid. A maximum of such
curves is convex in e^epsilon, as each of them is, so to connect its dots gives a distribution; and
what dominates each draw dominates the composition. Nothing is assumed about how epsilon depends on
sigma, which for little discrete noise is not monotone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.privacy.bill import BillItem

FEW = 4
MOST_GROUPS = 64
# The waste that is allowed a group to begin with, as a part of the whole loss.
_LEAST_WASTE = 1e-9
_MORE_WASTE = 1.5
# Where the tails of the noise are cut, in sigmas: beyond it is a mass of less than 1e-36.
_REACH = 13
# The largest exponent; where it would be larger, a tail is zero in floating point.
_LARGEST = 700.0


def losses(items: Sequence[BillItem], cells: int, grid: float) -> list[Any]:
    """Return privacy loss distributions that, composed, dominate the whole of a long bill.

    Args:
        items: The bill.
        cells: How many cells of a histogram differ between neighbours, by one each.
        grid: The step between losses.
    """
    return [
        dominating([item.sigma for item in group], grid).self_compose(
            cells * sum(item.times for item in group)
        )
        for group in groups(items)
    ]


def groups(items: Sequence[BillItem]) -> list[list[BillItem]]:
    """Return items of similar noise together, and each by itself if there are few.

    Example:
        >>> bill = [BillItem("votes", 10 + run / 100, 15) for run in range(1000)]
        >>> len(groups(bill[:5])), len(groups(bill)) <= MOST_GROUPS
        (5, True)
    """
    if len(items) <= MOST_GROUPS:
        return [[item] for item in items]
    ordered = sorted(items, key=lambda item: item.sigma)
    allowed = _LEAST_WASTE * sum(item.loss for item in ordered)
    while len(found := _neighbouring(ordered, allowed)) > MOST_GROUPS:
        allowed *= _MORE_WASTE
    return found


def dominating(sigmas: Sequence[float], grid: float) -> Any:
    """Return a privacy loss distribution that dominates that of noise of each sigma.

    Args:
        sigmas: Scales of discrete Gaussian noise on a count that moves by one.
        grid: The step between losses.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    least = min(sigmas)
    most = math.ceil((_REACH * least + 1) / least**2 / grid)
    steps = np.arange(-most, most + 1)
    epsilons = (steps * grid).astype(np.float64)
    deltas = np.max([_deltas(sigma, epsilons) for sigma in sigmas], axis=0)
    dots = pld_pmf.create_pmf_pessimistic_connect_dots(grid, steps, deltas)
    return PrivacyLossDistribution(dots)


def _neighbouring(ordered: list[BillItem], allowed: float) -> list[list[BillItem]]:
    """Cut items into groups that each lose less than allowed if all get the least noise of it."""
    found, waste = [[ordered[0]]], 0.0
    for item in ordered[1:]:
        waste += item.times / found[-1][0].sigma ** 2 - item.loss
        if waste > allowed:
            found.append([item])
            waste = 0.0
        else:
            found[-1].append(item)
    return found


def _deltas(sigma: float, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the hockey-stick divergences of noise around one from noise around zero.

    The loss of an outcome k is (2k - 1) / 2 sigma^2, so those that count are all from one on.
    """
    first = np.floor(sigma**2 * epsilons + 0.5).astype(np.int64) + 1
    upper = _upper_tails(sigma)
    deltas = _tail(upper, first - 1) - np.exp(np.minimum(epsilons, _LARGEST)) * _tail(upper, first)
    return np.clip(deltas, 0.0, 1.0)


def _upper_tails(sigma: float) -> NDArray[np.float64]:
    """Return the chance of k or more for k = 0, 1, ..., summed from the small ones on."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(_REACH * sigma) + 1) / sigma) ** 2)
    tails = np.cumsum(weights[::-1])[::-1]
    return np.append(tails / (2 * tails[0] - 1), 0.0)


def _tail(upper: NDArray[np.float64], least: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chance of `least` or more, by symmetry for negative ones."""
    last = len(upper) - 1
    above, below = upper[np.clip(least, 0, last)], upper[np.clip(1 - least, 0, last)]
    return np.where(least > 0, above, 1 - below)
