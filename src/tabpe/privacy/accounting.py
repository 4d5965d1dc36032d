"""The promise that noise keeps.

Guarantee of this module: the epsilon of a bill is an upper bound. The privacy loss distribution of
the discrete Gaussian mechanism (`dp_accounting`, a pessimistic estimate) is composed over every
item. The analytic formula of the continuous Gaussian, which is slightly unsafe for discrete noise,
is here for guesses alone (`tabpe.privacy.plan`).

Why one number a histogram is enough: noise is independent between cells, and neighbours that
differ by a row differ by one in `Neighbours.cells` cells. Untouched cells have no privacy loss;
each touched one has that of a one-dimensional discrete Gaussian with sensitivity 1. So a histogram
costs `cells` of these, and rounds compose adaptively. A histogram in which a row counts in k
different cells costs k times as many, and is on the bill k times.

The histograms of users are on a fine grid, where discrete noise is rounded continuous noise but for
a slack that delta pays (`tabpe.privacy.slack`). There only the length of the difference counts, and
all items compose to one Gaussian mechanism.

A bill of more than a few items, like that of all runs on a data set, is made up of distributions by
`tabpe.privacy.merging`.

A choice by the exponential mechanism has no cells: `tabpe.privacy.choices` has its losses.

An item may also tell values that one row alone holds, with a small chance (`BillItem.chance`). That
chance is a part of delta, and the rest of the bill is composed at what is left.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabpe import _validate
from tabpe.errors import ParameterError
from tabpe.privacy import choices, merging
from tabpe.privacy.adjacency import ROWS, SMALLEST_USER_SIGMA, Neighbours
from tabpe.privacy.bill import EXPONENTIAL, BillItem

SMALLEST_DELTA = 1e-12
EPSILONS = 1e-6, 1e4
LARGEST_SIGMA = 2e5
# The grid of losses, in standard deviations of the loss of an average draw.
_COARSENESS = 0.03
# The most steps of it in the loss of a draw of which hardly anything is private.
_MOST_STEPS = 1e5
# The same for the one Gaussian loss that all items of users compose to.
_FINENESS = 0.005
# What is kept of delta for floating point, and at most which part of it. Sums and Fourier
# transforms over a whole bill are off by 1e-15 or so.
_ROUNDING = 1e-13, 1e-3


def check_promise(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that no promise can have."""
    low, high = EPSILONS
    _validate.real("epsilon", epsilon, above=0, hint="Usual are values from 0.1 to 10.")
    _validate.real("delta", delta, above=0, below=1, hint="Usual is a value far below 1/rows.")
    if not low <= epsilon <= high:
        raise ParameterError(f"epsilon={epsilon:g}: expected a value from {low:g} to {high:g}.")
    if delta < SMALLEST_DELTA:
        raise ParameterError(f"delta={delta:g}: expected at least {SMALLEST_DELTA:g}.")


def epsilon_of(
    sigma: float,
    delta: float,
    rounds: int,
    neighbours: Neighbours = ROWS,
    *,
    besides: Sequence[BillItem] = (),
) -> float:
    """Return the epsilon that noise of `sigma` on `rounds` histograms keeps, rounded up.

    Args:
        sigma: Scale of the discrete Gaussian noise.
        delta: The delta of the promise.
        rounds: Number of histograms.
        neighbours: The neighbouring relation.
        besides: What else is on the bill.

    Example:
        >>> round(epsilon_of(14.05, 1.5754e-5, rounds=15), 3)
        1.0
    """
    items = (*besides, BillItem("votes", sigma, rounds))
    return composed_epsilon(items, delta, neighbours)


def composed_epsilon(
    items: Sequence[BillItem],
    delta: float,
    neighbours: Neighbours = ROWS,
) -> float:
    """Return the epsilon of a whole bill at `delta`, rounded up; 0 for an empty bill."""
    check_promise(1.0, delta)
    left = delta - told_chance(items, neighbours)
    if left < SMALLEST_DELTA:
        raise ParameterError(
            f"delta={delta:g}: the chance that a value of one row is told takes all of it. Ask for "
            f"a larger delta."
        )
    choices.check_relation(items, neighbours)
    if neighbours.of_users:
        return _epsilon_of_users(tuple(items), left, neighbours) if items else 0.0
    return _composed_epsilon(tuple(items), left, neighbours.cells) if items else 0.0


def told_chance(items: Sequence[BillItem], neighbours: Neighbours) -> float:
    """Return the part of delta that pays for values that one row alone may hold."""
    return neighbours.cells * sum(item.times * item.chance for item in items)


def fineness(items: Sequence[BillItem]) -> float:
    """Return the spread of the loss of all items, in steps of the coarsest of their grids.

    The losses of an item lie 1 / sigma^2 apart, so the item with the least noise has the coarsest
    grid. Where all have the same noise, this is sigma * sqrt(times). Where others have more, their
    losses fall between the steps of the coarsest, and only even out what depends on the grid; to
    measure against the coarsest is on the safe side.

    Example:
        >>> fineness([BillItem("votes", sigma=2.0, times=9)])
        6.0
        >>> fineness([BillItem("first", sigma=2.0, times=8), BillItem("last", sigma=1.0, times=7)])
        3.0
    """
    return math.sqrt(sum(item.loss for item in items)) * min(item.sigma for item in items) ** 2


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the Gaussian-DP parameter whose curve passes through (epsilon, delta)."""
    from scipy.optimize import brentq

    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-9, 1e4, rtol=1e-12))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at `epsilon` of a Gaussian mechanism (Balle and Wang 2018).

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 4)
        0.1269
    """
    from scipy.special import log_ndtr, ndtr

    second = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    return float(ndtr(-epsilon / mu + mu / 2)) - second


@functools.lru_cache(maxsize=64)
def _composed_epsilon(items: tuple[BillItem, ...], delta: float, cells: int) -> float:
    # An epsilon of hundreds has an exponential beyond floating point, which is as good as infinite.
    with np.errstate(over="ignore"):
        total = _composed_loss(items, cells)
        return float(total.get_epsilon_for_delta(delta - _rounding(delta)))


@functools.lru_cache(maxsize=8)
def _composed_loss(items: tuple[BillItem, ...], cells: int) -> Any:
    grid = _grid(items)
    chosen = [item for item in items if item.mechanism == EXPONENTIAL]
    counted = [item for item in items if item.mechanism != EXPONENTIAL]
    if len(counted) <= merging.FEW:
        losses = [_loss(item.sigma, item.times * cells, grid) for item in counted]
    else:
        losses = merging.losses(counted, cells, grid)
    losses += [choices.loss(item.sigma, grid).self_compose(item.times) for item in chosen]
    return functools.reduce(lambda one, other: one.compose(other), losses)


@functools.lru_cache(maxsize=64)
def _epsilon_of_users(items: tuple[BillItem, ...], delta: float, neighbours: Neighbours) -> float:
    """Compose Gaussian mechanisms: their squared parameters add up."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    least = min(item.sigma for item in items)
    if least < SMALLEST_USER_SIGMA:
        raise ParameterError(
            f"epsilon: leaves noise of sigma={least:.3g} on the votes of users, expected at least "
            f"{SMALLEST_USER_SIGMA:g}. Ask for a smaller epsilon."
        )
    rounded = 1 / (12 * neighbours.scale**2)
    loss = sum(item.times / (item.sigma**2 - rounded) for item in items)
    mu = math.sqrt(neighbours.squared_distance * loss)
    total = pld.from_gaussian_mechanism(
        1 / mu,
        pessimistic_estimate=True,
        value_discretization_interval=_FINENESS * mu,
        use_connect_dots=True,
    )
    return float(total.get_epsilon_for_delta(delta - _rounding(delta)))


def _rounding(delta: float) -> float:
    absolute, relative = _ROUNDING
    return min(absolute, relative * delta)


def _loss(sigma: float, times: int, grid: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    once = pld.from_discrete_gaussian_mechanism(
        sigma, pessimistic_estimate=True, value_discretization_interval=grid, use_connect_dots=True
    )
    return once.self_compose(times)


def _grid(items: tuple[BillItem, ...]) -> float:
    """Return how finely losses are told apart: a small part of the spread of an average one.

    To connect the dots splits a loss between its neighbours on the grid, which adds at most a
    quarter of the squared step to its variance of 1 / sigma^2. But not so finely that a single
    draw under next to no noise fills the memory.
    """
    draws = sum(item.times for item in items)
    spread = math.sqrt(sum(item.loss for item in items) / draws)
    widest = 1 / min(item.sigma for item in items) ** 2
    return max(_COARSENESS * spread, widest / _MOST_STEPS)
