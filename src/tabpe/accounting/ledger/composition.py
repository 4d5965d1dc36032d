"""Composition of all entries of a data set under its budget, and what is left.

Entries are Gaussian measurements on one table, so they compose as the spends of one run do, and
epsilons are never added up. Delta is shared by all of them: the probability of releasing a value of
one row only and the sampling error are subtracted first, entry by entry, because they depend on the
contribution bound of a user there. All spends are then composed at what is left.

*The result of one run may decide the noise of the next.* So a ledger is a privacy filter: its total
must hold however later runs depend on earlier releases. All entries compose as Gaussian mechanisms,
for which that is a theorem (theorem 17 of docs/explanation/proofs.md). Only a single run, whose
noise was fixed in advance, is stated by its privacy loss distribution, which may be a little less:
nothing came before it.

*Runs with a limit of zCDP* count with all of it, whatever they spent. Then everything is composed
as zCDP: a discrete Gaussian histogram is 1 / (2 sigma^2)-zCDP, so losses add up. The total is at
least what the other entries come to by themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

from tabpe.accounting.delta import compute_sampling_delta
from tabpe.accounting.ledger.events import SMALLEST_SIGMA, Budget, RunEntry
from tabpe.accounting.neighboring import SMALLEST_USER_SIGMA, NeighboringRelation
from tabpe.accounting.pld import (
    EPSILONS,
    LARGEST_SIGMA,
    SMALLEST_DELTA,
    compose_epsilon,
    compute_gaussian_delta,
    compute_release_delta,
    solve_gaussian_mu,
)
from tabpe.accounting.spend import Spend
from tabpe.accounting.zcdp_filter import compute_epsilon_from_loss

# How far above the computed epsilon it is stated, relatively, to leave room for sampling error.
_ROOM = 1e-9
_MOST_STEPS = 40
# Losses for which the bound is asked, and what is added to it. The exact total rounds up by less
# than that, and was never found within 3% of the bound.
_BOUNDED, _BOUND_ROOM = (1e-6, 100.0), 0.01
# The assumed rounds of one more run: so few that other runs of its epsilon cost no more.
_ROUNDS = 4
_DIGITS = 3
_CAUTION = 0.998


def compute_entries_epsilon(entries: Sequence[RunEntry], budget: Budget) -> float:
    """Return the epsilon of all entries at the delta of the budget, rounded up.

    The part of delta for sampling error grows with epsilon, so this is the least epsilon at which
    the rest of delta suffices. It is 0 without entries, and infinite if they take all of delta.

    Example:
        >>> budget = Budget("patients", 2.0, 1e-6)
        >>> run = (Spend("votes", 17.0, 15),)
        >>> entries = [RunEntry(str(i), "patients", run, NeighboringRelation()) for i in range(2)]
        >>> [round(compute_entries_epsilon(entries[:n], budget), 2) for n in range(3)]
        [0.0, 0.96, 1.4]
    """
    epsilon = 0.0
    if not entries:
        return epsilon
    for _ in range(_MOST_STEPS):
        found = _compute_epsilon_given(entries, budget, epsilon)
        if found <= epsilon:
            return epsilon
        epsilon = found * (1 + _ROOM)
    return math.inf


def is_over_budget(entries: Sequence[RunEntry], budget: Budget) -> bool:
    """Whether the entries together exceed the budget.

    Composing the losses of a hundred runs exactly takes seconds, so a fast upper bound is computed
    first, and decides if it is within the budget.
    """
    if _bound_epsilon(entries, budget) <= budget.epsilon:
        return False
    return compute_entries_epsilon(entries, budget) > budget.epsilon


def compute_remaining_epsilon(entries: Sequence[RunEntry], budget: Budget) -> float:
    """Return the epsilon that one more run may ask for at the delta of the budget, rounded down.

    It is guessed by Gaussian parameters, whose squares add up; if that is over the budget, the
    largest epsilon that is not is found by bisection. Noise of users may need a little less still.

    Example:
        >>> compute_remaining_epsilon([], Budget("patients", 2.0, 1e-6))
        2.0
    """
    if not entries:
        return _round_down(budget.epsilon)
    spent = compute_entries_epsilon(entries, budget)
    if spent >= budget.epsilon:
        return 0.0
    whole, taken = (solve_gaussian_mu(epsilon, budget.delta) for epsilon in (budget.epsilon, spent))
    asked = _CAUTION * _solve_gaussian_epsilon(math.sqrt(whole**2 - taken**2), budget.delta)
    if asked <= EPSILONS[0]:
        return 0.0
    over = asked if _would_exceed_budget(asked, entries, budget) else None
    low = EPSILONS[0] if over else asked
    while over is not None and low < _CAUTION * over:
        middle = math.sqrt(low * over)
        low, over = (
            (low, middle) if _would_exceed_budget(middle, entries, budget) else (middle, over)
        )
    drowns = _guess_sigma(low, budget) > LARGEST_SIGMA
    return 0.0 if drowns or _would_exceed_budget(low, entries, budget) else _round_down(low)


def _would_exceed_budget(asked: float, entries: Sequence[RunEntry], budget: Budget) -> bool:
    entry = _make_typical_entry(_guess_sigma(asked, budget), budget)
    return is_over_budget([*entries, entry], budget)


def _bound_epsilon(entries: Sequence[RunEntry], budget: Budget) -> float:
    """Return an upper bound of the epsilon of all entries, by zCDP.

    The sampling error is that at the full budget, which is the most that counts. A tiny loss, or
    one so large that losses lie far apart, is left to the exact composition, which rounds.
    """
    delta = _compute_remaining_delta(entries, budget, budget.epsilon)
    loss = _sum_losses(entries, budget.neighbours)
    if budget.unit is not None or delta < SMALLEST_DELTA or not _BOUNDED[0] < loss < _BOUNDED[1]:
        return math.inf
    return compute_epsilon_from_loss(loss, delta) * (1 + _BOUND_ROOM)


def _compute_epsilon_given(
    entries: Sequence[RunEntry], budget: Budget, target_epsilon: float
) -> float:
    """Return the epsilon of all entries, with the sampling error charged at `target_epsilon`."""
    spends = _group_spends([entry for entry in entries if entry.limit is None])
    delta, relation = _compute_remaining_delta(entries, budget, target_epsilon), budget.neighbours
    if delta < SMALLEST_DELTA or (relation.is_user_level and spends[0].sigma < SMALLEST_USER_SIGMA):
        return math.inf
    found = compose_epsilon(spends, delta, relation, adaptive=True)
    limits = [entry.limit for entry in entries if entry.limit is not None]
    if limits:
        return max(found, compute_epsilon_from_loss(_sum_losses(entries, relation), delta))
    if len(entries) == 1 and not entries[0].adaptive:
        return min(found, compose_epsilon(spends, delta, relation))
    return found


def _sum_losses(entries: Sequence[RunEntry], relation: NeighboringRelation) -> float:
    """Return the loss of all entries in zCDP: the whole limit of a run that has one."""
    # A replaced row is two rows apart: four times the zCDP of one, and twice that of noise.
    apart = relation.squared_distance
    return math.fsum(
        apart * math.fsum(spend.loss for spend in entry.spends)
        if entry.limit is None
        else apart**2 * entry.limit
        for entry in entries
    )


def _compute_remaining_delta(
    entries: Sequence[RunEntry], budget: Budget, target_epsilon: float
) -> float:
    taken = 0.0
    for entry in entries:
        relation = NeighboringRelation(budget.adjacency, entry.neighbours.max_rows)
        taken += compute_release_delta(entry.spends, relation)
        taken += compute_sampling_delta(entry.histograms, target_epsilon, relation)
    return math.nextafter(budget.delta - taken, 0.0) if taken else budget.delta


def _group_spends(entries: Sequence[RunEntry]) -> tuple[Spend, ...]:
    """Return all spends by ascending sigma, those of equal sigma merged."""
    times: Counter[float] = Counter()
    for entry in entries:
        for spend in entry.spends:
            times[spend.sigma] += spend.times
    return tuple(Spend("charges", sigma, times[sigma]) for sigma in sorted(times))


def _guess_sigma(epsilon: float, budget: Budget) -> float:
    distance = math.sqrt(budget.neighbours.squared_distance * _ROUNDS)
    return distance / solve_gaussian_mu(epsilon, budget.delta)


def _make_typical_entry(sigma: float, budget: Budget) -> RunEntry:
    spend = Spend("votes", min(max(sigma, SMALLEST_SIGMA), LARGEST_SIGMA), _ROUNDS)
    return RunEntry("next", budget.dataset, (spend,), budget.neighbours, budget.unit)


def _solve_gaussian_epsilon(mu: float, delta: float) -> float:
    from scipy.optimize import brentq

    if compute_gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return float(
        brentq(lambda epsilon: compute_gaussian_delta(mu, epsilon) - delta, 0.0, EPSILONS[1])
    )


def _round_down(epsilon: float) -> float:
    return float(Context(prec=_DIGITS, rounding=ROUND_FLOOR).create_decimal(repr(epsilon)))
