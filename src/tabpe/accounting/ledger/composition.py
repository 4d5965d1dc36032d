"""What all entries of a data set come to under its budget, composed at once.

Entries are Gaussian measurements on one table, so they compose as the items of one bill do, and
epsilons are never added up. Delta is shared by all of them: what pays for values that one row alone
holds and for noise that is not exact comes off first, entry by entry, because it depends on how
many rows of a user count there. All items are then composed at what is left.

*What one run shows may decide the noise of the next.* So a ledger is a filter: its total must hold
however later runs follow from earlier releases. All entries compose as Gaussian mechanisms, for
which that is a theorem (claim 17 of docs/privacy.md). Only a first run, whose plan was fixed, is
stated by its privacy loss distribution, which may be a little less: nothing came before it.

*Runs with a limit of zCDP* count with all of it, whatever they spent. Then everything is composed
as zCDP: a discrete Gaussian histogram is 1 / (2 sigma^2)-zCDP, so losses add up. The total is at
least what the other entries come to by themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

from tabpe.accounting.delta import delta_slack
from tabpe.accounting.ledger.events import SMALLEST_SIGMA, Budget, Entry
from tabpe.accounting.neighboring import SMALLEST_USER_SIGMA, Neighbours
from tabpe.accounting.pld import (
    EPSILONS,
    LARGEST_SIGMA,
    SMALLEST_DELTA,
    composed_epsilon,
    gaussian_delta,
    gaussian_mu,
    told_chance,
)
from tabpe.accounting.spend import BillItem
from tabpe.accounting.zcdp_filter import epsilon_of_loss

# How far above its own part of delta an epsilon is stated, so that the slack fits below it.
_ROOM = 1e-9
_MOST_STEPS = 40
# Losses for which the bound is asked, and what is added to it. The exact total rounds up by less
# than that, and was never found within 3% of the bound.
_BOUNDED, _BOUND_ROOM = (1e-6, 100.0), 0.01
# What one more run is taken to be: so few rounds that others of its epsilon cost no more.
_ROUNDS = 4
_DIGITS = 3
_CAUTION = 0.998


def entries_epsilon(entries: Sequence[Entry], budget: Budget) -> float:
    """Return the epsilon of all entries at the delta of the budget, rounded up.

    The slack of noise that is not exact grows with epsilon, so this is the least epsilon at which
    the rest of delta is enough. It is 0 without entries, and infinite if they take all of delta.

    Example:
        >>> budget = Budget("patients", 2.0, 1e-6)
        >>> run = (BillItem("votes", 17.0, 15),)
        >>> entries = [Entry(str(i), "patients", run, Neighbours()) for i in range(2)]
        >>> [round(spent_epsilon(entries[:n], budget), 2) for n in range(3)]
        [0.0, 0.96, 1.4]
    """
    epsilon = 0.0
    if not entries:
        return epsilon
    for _ in range(_MOST_STEPS):
        found = _epsilon_given_slack(entries, budget, epsilon)
        if found <= epsilon:
            return epsilon
        epsilon = found * (1 + _ROOM)
    return math.inf


def is_over(entries: Sequence[Entry], budget: Budget) -> bool:
    """Whether the entries together break the guarantee that the budget is.

    To compose the losses of a hundred runs exactly takes seconds, so a bound that takes none is
    asked first. It is above the exact total, and decides where it is within the budget.
    """
    if _bound(entries, budget) <= budget.epsilon:
        return False
    return entries_epsilon(entries, budget) > budget.epsilon


def epsilon_left(entries: Sequence[Entry], budget: Budget) -> float:
    """Return the epsilon that one more run may ask for at the delta of the budget, rounded down.

    A guess by Gaussian parameters, whose squares add up; if that is over, the largest one that is
    not is halved in on. Noise that is not exact may need a little less still.

    Example:
        >>> epsilon_left([], Budget("patients", 2.0, 1e-6))
        2.0
    """
    if not entries:
        return _down(budget.epsilon)
    spent = entries_epsilon(entries, budget)
    if spent >= budget.epsilon:
        return 0.0
    whole, taken = (gaussian_mu(epsilon, budget.delta) for epsilon in (budget.epsilon, spent))
    asked = _CAUTION * _gaussian_epsilon(math.sqrt(whole**2 - taken**2), budget.delta)
    if asked <= EPSILONS[0]:
        return 0.0
    over = asked if _is_too_much(asked, entries, budget) else None
    low = EPSILONS[0] if over else asked
    while over is not None and low < _CAUTION * over:
        middle = math.sqrt(low * over)
        low, over = (low, middle) if _is_too_much(middle, entries, budget) else (middle, over)
    drowns = _sigma(low, budget) > LARGEST_SIGMA
    return 0.0 if drowns or _is_too_much(low, entries, budget) else _down(low)


def _is_too_much(asked: float, entries: Sequence[Entry], budget: Budget) -> bool:
    """Whether one more run of that epsilon is over the budget."""
    return is_over([*entries, _run(_sigma(asked, budget), budget)], budget)


def _bound(entries: Sequence[Entry], budget: Budget) -> float:
    """Return a bound of the epsilon of all entries, by concentrated differential privacy.

    With slack as for all of the budget, which is the most that counts. A loss that is next to
    nothing, or so large that losses lie far apart, is left to the exact composition, which rounds.
    """
    delta = _delta_left(entries, budget, budget.epsilon)
    loss = _loss_of(entries, budget.neighbours)
    if budget.unit is not None or delta < SMALLEST_DELTA or not _BOUNDED[0] < loss < _BOUNDED[1]:
        return math.inf
    return epsilon_of_loss(loss, delta) * (1 + _BOUND_ROOM)


def _epsilon_given_slack(entries: Sequence[Entry], budget: Budget, promise: float) -> float:
    """Return the epsilon of all entries, where a promise of epsilon sets the slack of the noise."""
    items = _grouped([entry for entry in entries if entry.limit is None])
    delta, relation = _delta_left(entries, budget, promise), budget.neighbours
    if delta < SMALLEST_DELTA or (relation.of_users and items[0].sigma < SMALLEST_USER_SIGMA):
        return math.inf
    found = composed_epsilon(items, delta, relation, adaptive=True)
    limits = [entry.limit for entry in entries if entry.limit is not None]
    if limits:
        return max(found, epsilon_of_loss(_loss_of(entries, relation), delta))
    if len(entries) == 1 and not entries[0].adaptive:
        return min(found, composed_epsilon(items, delta, relation))
    return found


def _loss_of(entries: Sequence[Entry], relation: Neighbours) -> float:
    """Return the loss of all entries in zCDP: the whole limit of a run that is held to one."""
    # Replaced rows are two rows apart: four times the zCDP of one, and twice that of noise.
    apart = relation.squared_distance
    return math.fsum(
        apart * math.fsum(item.loss for item in entry.bill)
        if entry.limit is None
        else apart**2 * entry.limit
        for entry in entries
    )


def _delta_left(entries: Sequence[Entry], budget: Budget, promise: float) -> float:
    taken = 0.0
    for entry in entries:
        relation = Neighbours(budget.adjacency, entry.neighbours.max_rows)
        taken += told_chance(entry.bill, relation)
        taken += delta_slack(entry.slack, entry.histograms, promise, relation)
    return math.nextafter(budget.delta - taken, 0.0) if taken else budget.delta


def _grouped(entries: Sequence[Entry]) -> tuple[BillItem, ...]:
    """Return all items by ascending sigma, equal ones as one."""
    times: Counter[float] = Counter()
    for entry in entries:
        for item in entry.bill:
            times[item.sigma] += item.times
    return tuple(BillItem("charges", sigma, times[sigma]) for sigma in sorted(times))


def _sigma(epsilon: float, budget: Budget) -> float:
    """Return about the noise of one more run."""
    distance = math.sqrt(budget.neighbours.squared_distance * _ROUNDS)
    return distance / gaussian_mu(epsilon, budget.delta)


def _run(sigma: float, budget: Budget) -> Entry:
    """Return one more run as it is usually made."""
    item = BillItem("votes", min(max(sigma, SMALLEST_SIGMA), LARGEST_SIGMA), _ROUNDS)
    return Entry("next", budget.dataset, (item,), budget.neighbours, budget.unit)


def _gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of a Gaussian mechanism at `delta`."""
    from scipy.optimize import brentq

    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, EPSILONS[1]))


def _down(epsilon: float) -> float:
    return float(Context(prec=_DIGITS, rounding=ROUND_FLOOR).create_decimal(repr(epsilon)))
