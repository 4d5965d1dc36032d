"""The exact cost of moving one set of rows onto another: the Wasserstein-1 distance.

Rows are counted, not weighed, so all that can be exact is. Equal rows are one place with a number
of units. What both tables hold at one place stays there: with a cost that is a metric, no plan is
cheaper for moving it. What is left is solved as

- a sorted line, if places lie on one;
- an assignment of single units, if these are not many more than places (shortest augmenting
  paths, in scipy: where all masses are equal, half the time of a network simplex or less);
- a transport of masses otherwise (the network simplex of POT, which takes seconds to import and
  is not imported before).

All three let other threads run.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import TabpeError
from tabpe.metrics.joint import Digits

FEW_UNITS = 500
MOST_PIVOTS = 10**8
_SOFTNESS, _STEPS, _STEEPEST = 0.04, 15, 50.0


def surplus(places: Digits, real: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what each place has too much of, in whole units.

    Args:
        places: Where each row is: those of the real table first.
        real: The number of rows of the real table; neither table is empty.

    Returns:
        A row at each place, the units that it has to give away (a negative number for those it
        lacks), and the number of units that each table has in all.

    Example:
        >>> surplus(Digits(np.array([0, 0, 1, 1]), 2), 3)  # A third of a table is a unit.
        (array([0, 2]), array([ 2, -2]), 3)
    """
    _, first, inverse = np.unique(places.values, return_index=True, return_inverse=True)
    synthetic = len(inverse) - real
    shared = math.gcd(real, synthetic)
    has = np.bincount(inverse[:real], minlength=len(first))
    wants = np.bincount(inverse[real:], minlength=len(first))
    return first, has * (synthetic // shared) - wants * (real // shared), real * synthetic // shared


def along_a_line(positions: NDArray[np.float64], units: NDArray[np.int64]) -> float:
    """Return the cost of levelling units that lie on a line, in units times length.

    Example:
        >>> along_a_line(np.array([3.0, 0.0, 1.0]), np.array([-2, 1, 1]))
        5.0
    """
    order = np.argsort(positions)
    carried = np.cumsum(units[order])[:-1]
    return float(np.abs(carried) @ np.diff(positions[order]))


def transport(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    """Return the least cost of moving all units of supply to demand.

    Args:
        costs: What a unit costs from each place of supply to each place of demand.
        supply: Units to give, above 0.
        demand: Units to get, above 0; as many in all.

    Raises:
        TabpeError: If the solver gives up before it has the optimum.

    Example:
        >>> transport(np.array([[1.0, 5.0], [2.0, 3.0]]), np.array([1, 2]), np.array([2, 1]))
        6.0
    """
    shared = int(np.gcd.reduce(np.concatenate([supply, demand])))
    units = int(supply.sum()) // shared
    if units <= max(FEW_UNITS, 2 * max(costs.shape)):
        return shared * _assigned(costs, supply // shared, demand // shared)
    return _flown(costs, supply, demand)


def _assigned(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    from scipy.optimize import linear_sum_assignment

    if supply.max() > 1:
        costs = np.repeat(costs, supply, axis=0)
    if demand.max() > 1:
        costs = np.repeat(costs, demand, axis=1)
    # Prices change the cost of every assignment alike, so the cheapest one stays the cheapest.
    rows, columns = linear_sum_assignment(costs - _prices(costs))
    return float(costs[rows, columns].sum())


def _prices(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return roughly what each column is worth to the rows, from which the paths get shorter.

    A few steps of Sinkhorn's algorithm. Not by matrix products, whose threads would be in the way
    of ours. The exponents are bounded, so that no float32 overflows or loses its speed.
    """
    softness = _SOFTNESS * costs.mean()
    if softness == 0:
        return np.zeros(costs.shape[1])
    kernel = (costs / -softness).astype(np.float32)
    np.exp(np.maximum(kernel, -_STEEPEST, out=kernel), out=kernel)
    worth = np.ones(costs.shape[1], np.float32)
    for _ in range(_STEPS):
        share = 1 / np.einsum("ij,j->i", kernel, worth)
        worth = 1 / np.einsum("i,ij->j", share, kernel)
    prices: NDArray[np.float64] = softness * np.log(worth.astype(np.float64))
    return prices


def _flown(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    import ot

    total = supply.sum()
    cost, log = ot.emd2(
        supply / total, demand / total, costs, numItermax=MOST_PIVOTS, log=True, center_dual=False
    )
    if log["warning"] is not None:
        raise TabpeError(
            f"the transport of {len(supply)} places to {len(demand)} has no solution within "
            f"{MOST_PIVOTS:,} steps: give fewer rows."
        )
    return float(cost * total)
