"""From a request to agreed noise: at which price things are bought, and what is left for the rest.

Counts take `class_budget` of the budget, what the schema lacks takes `schema_budget`, and the
first tables of a strategy take the parts that it says (`Asked.first`). Their noise is fixed before
a row is read. All that remains goes to the rest of what the strategy asks: to the votes.

A run with a declared delta and a complete schema has a fixed plan: no noise follows from answers,
and its privacy loss distributions are composed. Where a schema is estimated privately, or delta
follows a noisy count, later noise follows from earlier answers. Such a run composes as Gaussian
mechanisms do, within a limit that is fixed by epsilon and delta (claim 17 of docs/privacy.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from tabpe.accounting import Account, BillItem, NoiseSource, composed_epsilon
from tabpe.accounting.calibration import Part, check_noise_level, items_for
from tabpe.accounting.delta import FEWEST_ROWS, RowCount, delta_slack, exact_delta
from tabpe.accounting.pld import SMALLEST_DELTA, gaussian_mu, told_chance
from tabpe.errors import BudgetError, ParameterError
from tabpe.evolution import Asked
from tabpe.evolution.config import FIELDS
from tabpe.schema import Outline
from tabpe.schema_inference import QUESTIONS, planned_item
from tabpe.synthesizers.options import Facts, Request, counts_to_buy

# Which part of delta pays for values of a bought schema that one row alone may hold.
TOLD_SHARE = 0.05
# How much larger than the estimate by the continuous Gaussian a calibrated sigma may be.
_ROOM = 1.02
# What must be left of the budget for the votes: hardly anything, but no rounding error.
_LEAST_SHARE = 1e-9


def check_noise(request: Request, classes: int, asked: Asked, noise: NoiseSource) -> None:
    """Refuse a source of noise that can not keep the promise, before a row is read.

    The sigmas of the rest are estimates here, and `agree_on_rest` looks again.
    """
    share = _share_of_rest(request, classes, asked)
    fixed = (*count_items(request, classes).values(), *_priced(request, asked.first))
    for item in fixed:
        check_noise_level(item, request.epsilon)
        _check_sigma(item.sigma, request, noise)
    slack = _slack(request, (*fixed, *asked.rest), noise)
    exact = exact_delta(request.planning_delta, slack)
    delta = exact if request.known_delta else 2 * SMALLEST_DELTA
    for part in asked.rest:
        estimate = part.item(share * _whole_loss(request, delta))
        _check_sigma(_ROOM * estimate.sigma, request, noise)


def count_items(request: Request, classes: int) -> dict[str, BillItem]:
    """Return the counts to buy by name, as items of the bill."""
    bought = counts_to_buy(request, classes)
    parts = [Part(name, request.class_budget / len(bought)) for name in bought]
    return {item.name: item for item in _priced(request, parts)}


def schema_price(request: Request, delta: float) -> dict[str, float]:
    """Return what a schema may cost: a loss, and a part of delta for values that are told."""
    loss = gaussian_mu(request.epsilon, request.planning_delta) ** 2
    return {"loss": request.schema_budget * loss, "chance": TOLD_SHARE * delta}


def agree_on_first(
    request: Request, parts: Sequence[Part], account: Account
) -> tuple[BillItem, ...]:
    """Put what takes fixed parts of the whole budget on the bill.

    Its noise is known before a row is read, so `check_noise` has looked at it.
    """
    return _agreed(_priced(request, parts), account)


def is_adaptive(request: Request) -> bool:
    """Whether noise may follow from earlier answers: from a noisy count, or those of a schema."""
    return request.known_delta is None or request.schema_budget > 0


def agree_on_rest(
    request: Request,
    facts: Facts,
    account: Account,
    noise: NoiseSource,
    parts: Sequence[Part],
    *,
    outline: Outline | None = None,
) -> tuple[BillItem, ...]:
    """Put all the rest on the bill, with all that is left of the budget.

    Guarantee: everything that was agreed on, this included, composes to at most the request, at
    what is left of the delta to calibrate at. What comes off that delta does not follow from the
    answers about an outline: it is the most that they could have led to.
    """
    others, calibrated = account.agreed, facts.calibration_delta
    planned = _planned_schema(request, calibrated, outline)
    if planned is not None:
        others = (planned, *(item for item in others if item.name not in QUESTIONS))
        told = [told_chance(bill, request.neighbours) for bill in (others, account.agreed)]
        calibrated -= max(told[0] - told[1], 0.0)
    delta = exact_delta(calibrated, _slack(request, (*others, *parts), noise))
    items = items_for(
        parts,
        request.epsilon,
        delta,
        request.neighbours,
        account.agreed,
        adaptive=is_adaptive(request),
    )
    for item in items:
        _check_sigma(item.sigma, request, noise)
    return _agreed(items, account)


def planned_bill(
    request: Request,
    classes: int,
    asked: Asked,
    noise: NoiseSource,
    outline: Outline | None = None,
) -> tuple[BillItem, ...]:
    """Return what a run will cost at most, before a row is read.

    Without a delta that is known by then, it is what the smallest table would cost.
    """
    delta = request.known_delta or RowCount.declared(FEWEST_ROWS).calibration_delta
    account = Account()
    _agreed(tuple(count_items(request, classes).values()), account)
    schema = _planned_schema(request, delta, outline)
    _agreed(() if schema is None else (schema,), account)
    agree_on_first(request, asked.first, account)
    facts = Facts(None, (), delta, delta)
    agree_on_rest(request, facts, account, noise, asked.rest, outline=outline)
    return account.agreed


def _planned_schema(request: Request, delta: float, outline: Outline | None) -> BillItem | None:
    """Return the most that all answers about an outline may cost; None if nothing is asked."""
    if outline is None:
        return None
    price = schema_price(request, delta)
    return planned_item(outline, **price, neighbours=request.neighbours)


def spent_slack(request: Request, account: Account, noise: NoiseSource) -> float:
    """Return the part of delta that pays for noise that is not exact."""
    return _slack(request, account.spent, noise)


def spent_epsilon(request: Request, facts: Facts, account: Account, noise: NoiseSource) -> float:
    """Return the epsilon that is guaranteed, after checking what was charged against the request.

    Where noise followed answers the guarantee is that of the limit, which is the request, whatever
    these answers led to.
    """
    if account.spent != account.agreed:
        raise BudgetError("the measurements made differ from those agreed on.")
    delta = exact_delta(facts.calibration_delta, spent_slack(request, account, noise))
    adaptive = is_adaptive(request)
    epsilon = composed_epsilon(account.spent, delta, request.neighbours, adaptive=adaptive)
    if epsilon > request.epsilon:
        raise BudgetError(f"epsilon={request.epsilon:g}: the bill comes to {epsilon:g}.")
    return request.epsilon if adaptive else epsilon


def _slack(request: Request, asked: Sequence[BillItem | Part], noise: NoiseSource) -> float:
    histograms = sum(one.times for one in asked)
    return delta_slack(noise.slack, histograms, request.epsilon, request.neighbours)


def _agreed(items: tuple[BillItem, ...], account: Account) -> tuple[BillItem, ...]:
    for item in items:
        account.agree(item)
    return items


def _priced(request: Request, parts: Sequence[Part]) -> tuple[BillItem, ...]:
    """Return items that take fixed parts of the whole budget."""
    loss = _whole_loss(request, request.planning_delta)
    return tuple(part.item(loss) for part in parts)


def _whole_loss(request: Request, delta: float) -> float:
    """Return the budget as the `BillItem.loss` that fits in it."""
    return gaussian_mu(request.epsilon, delta) ** 2 / request.neighbours.squared_distance


def _share_of_rest(request: Request, classes: int, asked: Asked) -> float:
    """Return which part of the budget is left for the rest, and refuse a plan that leaves none."""
    taken = {
        "class_budget": request.class_budget * bool(counts_to_buy(request, classes)),
        "schema_budget": request.schema_budget,
    } | {FIELDS.get(part.name, part.name): part.share for part in asked.first}
    share = 1 - sum(taken.values())
    if share < _LEAST_SHARE:
        parts = ", ".join(f"{name}={part:g}" for name, part in taken.items() if part)
        raise ParameterError(
            f"{parts}: all of the budget: nothing is left for the votes. Make one of them smaller."
        )
    return share


def _check_sigma(sigma: float, request: Request, noise: NoiseSource) -> None:
    if request.neighbours.of_users and sigma * request.neighbours.scale > noise.largest_sigma:
        raise ParameterError(
            "noise: rows of users are counted on a grid that is finer than this source draws. "
            "Use noise='opendp'."
        )
    if sigma > noise.largest_sigma:
        raise ParameterError(
            f"noise: this promise needs a sigma of about {sigma:.3g}, and the source draws up to "
            f"{noise.largest_sigma:g}. Use noise='opendp', or ask for a larger epsilon."
        )
