"""What a synthetic table and the measures of its real rows promise together.

Both are measurements of one table, so their bills compose as those of two runs in a ledger do. A
table whose noise was held to a limit of zCDP counts with all of that limit, and so does one by
choices: there the whole is composed as zCDP. A total is never below the epsilon of a part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabpe.appraise.terms import Offer
from tabpe.errors import ParameterError
from tabpe.privacy import BillItem, Certificate, OpenDPNoise, TableNoise, composed_epsilon
from tabpe.privacy.bill import EXPONENTIAL
from tabpe.privacy.concentrated import GAUSSIAN_DP
from tabpe.privacy.guarantee import round_up
from tabpe.privacy.ledger import Budget, Entry
from tabpe.privacy.ledger.composition import spent_epsilon

_SLACKS = {source.name: source.slack for source in (OpenDPNoise, TableNoise)}
_DIGITS = 6
# What a filter may let through above its limit, and what it may leave off its bill.
_ROUNDING = 4e-9


@dataclass(frozen=True)
class Together:
    """The promise of a table and a purchase together.

    Args:
        epsilon: Epsilon of all items; None if they do not add up to a promise.
        delta: The delta that goes with it.
        note: Why there is no promise of both; empty if there is one.
    """

    epsilon: float | None = None
    delta: float | None = None
    note: str = ""


def promised_together(offer: Offer, bill: tuple[BillItem, ...]) -> Together:
    """Return the promise of a table and a purchase together.

    Args:
        offer: On which terms measures are bought; it knows the certificate of the table.
        bill: What is bought.
    """
    table, obstacle = offer.certificate, _obstacle(offer)
    if table is None or obstacle:
        return Together(note=obstacle)
    delta, relation = max(table.accounted_delta, offer.delta), offer.request.neighbours
    slack = _SLACKS[table.noise]
    try:
        budget = Budget("both", 1.0, delta, relation.adjacency, offer.unit)
        entries = [
            Entry(
                "table",
                "both",
                table.bill,
                table.neighbours,
                offer.unit,
                slack,
                adaptive=table.adaptive,
                limit=_limit(table),
            ),
            Entry("measures", "both", bill, relation, offer.unit, offer.noise.slack),
        ]
        epsilon = spent_epsilon(entries, budget)
        parts = table.epsilon, composed_epsilon(bill, offer.delta, relation)
    except ParameterError as error:
        return Together(note=f"the two do not add up: {error}")
    if math.isinf(epsilon):
        return Together(note="the two together take all of delta")
    # Accountants round up by different amounts, which matters where one part is next to nothing.
    return Together(round_up(max(epsilon, *parts), _DIGITS), max(table.delta, offer.delta))


def _limit(table: Certificate) -> float | None:
    """Return the loss of zCDP that a table has at most; None if it is a Gaussian mechanism.

    What a filter had left is on the bill, so that its losses add up to the limit.
    """
    of_zcdp = table.adaptive and table.filter != GAUSSIAN_DP
    if of_zcdp or any(item.mechanism == EXPONENTIAL for item in table.bill):
        return (1 + _ROUNDING) * math.fsum(item.loss for item in table.bill)
    return None


def _obstacle(offer: Offer) -> str:
    """Return why two promises do not add up to one; empty if they do."""
    table, relation = offer.certificate, offer.request.neighbours
    if table is None:
        return "no certificate of the synthetic table: nothing is known of its cost"
    if not (table.private and offer.noise.private):
        return "fake noise was used"
    if table.noise not in _SLACKS:
        return "the noise of the synthetic table is of an unknown source"
    if table.neighbours.adjacency is not relation.adjacency or table.unit != offer.unit:
        return "the synthetic table promises to others than these measures do"
    return ""
