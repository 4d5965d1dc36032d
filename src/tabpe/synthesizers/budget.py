"""From a request to agreed noise: what each measurement costs, and what is left for the rest.

Counts take `class_budget` of the budget, what the schema lacks takes `schema_budget`, and the
first tables of a strategy take the parts that it says (`QueryPlan.first`). Their noise is fixed
before a row is read. All that remains goes to the rest of what the strategy asks: to the votes.

A run with a declared delta and a complete schema has a fixed plan: no noise follows from answers,
and its privacy loss distributions are composed. Where a schema is estimated privately, or delta
follows a noisy count, later noise follows from earlier answers. Such a run composes as Gaussian
mechanisms do, within a limit that is fixed by epsilon and delta (theorem 17 of
docs/explanation/proofs.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from tabpe.accounting import Account, Spend, compose_epsilon
from tabpe.accounting.calibration import BudgetShare, calibrate_spends, check_noise_level
from tabpe.accounting.delta import (
    FEWEST_ROWS,
    RowCount,
    compute_sampling_delta,
    subtract_sampling_delta,
)
from tabpe.accounting.pld import compute_release_delta, solve_gaussian_mu
from tabpe.errors import BudgetError, ParameterError
from tabpe.evolution import QueryPlan
from tabpe.evolution.config import SHARE_FIELDS
from tabpe.schema import PartialSchema
from tabpe.schema_inference import SCHEMA_SPENDS, plan_spend
from tabpe.synthesizers.options import PublicFacts, SynthesisRequest, list_needed_counts

# Which part of delta pays for values of an estimated schema that one row alone may hold.
RELEASE_SHARE = 0.05
# What must be left of the budget for the votes: hardly anything, but no rounding error.
_LEAST_SHARE = 1e-9


def check_noise(request: SynthesisRequest, classes: int, queries: QueryPlan) -> None:
    """Refuse a request that noise can not satisfy, before a row is read.

    The sigmas of the rest are estimates here, and `agree_on_rest` looks again.
    """
    share = _compute_rest_share(request, classes, queries)
    fixed = (*plan_counts(request, classes).values(), *_make_spends(request, queries.first))
    taken = _compute_sampling_delta(request, (*fixed, *queries.rest))
    delta = subtract_sampling_delta(request.planning_delta, taken)
    left = share * _compute_total_loss(request, delta)
    for item in (*fixed, *(part.make_spend(left) for part in queries.rest)):
        check_noise_level(item, request.epsilon)


def plan_counts(request: SynthesisRequest, classes: int) -> dict[str, Spend]:
    """Return the spends of the counts to measure, by name."""
    needed = list_needed_counts(request, classes)
    parts = [BudgetShare(name, request.class_budget / len(needed)) for name in needed]
    return {item.name: item for item in _make_spends(request, parts)}


def compute_schema_cost(request: SynthesisRequest, delta: float) -> dict[str, float]:
    """Return what a schema may cost: a loss, and a part of delta for values that are released."""
    loss = solve_gaussian_mu(request.epsilon, request.planning_delta) ** 2
    return {"loss": request.schema_budget * loss, "delta_share": RELEASE_SHARE * delta}


def agree_on_first(
    request: SynthesisRequest, parts: Sequence[BudgetShare], account: Account
) -> dict[str, Spend]:
    """Authorize what takes fixed parts of the whole budget, and return it by the parts' names.

    Its noise is known before a row is read, so `check_noise` has looked at it.
    """
    return _agree_on(_make_spends(request, parts), account)


def is_adaptive(request: SynthesisRequest) -> bool:
    """Whether noise may follow from earlier answers: from a noisy count, or those of a schema."""
    return request.known_delta is None or request.schema_budget > 0


def agree_on_rest(
    request: SynthesisRequest,
    facts: PublicFacts,
    account: Account,
    parts: Sequence[BudgetShare],
    *,
    partial_schema: PartialSchema | None = None,
) -> dict[str, Spend]:
    """Authorize all the rest, with all that is left of the budget; return it by the parts' names.

    Guarantee: everything that was agreed on, this included, composes to at most the request, at
    what is left of the delta to calibrate at. What comes off that delta does not follow from the
    answers about an outline: it is the most that they could have led to.
    """
    others, calibrated = account.authorized, facts.calibration_delta
    planned = _plan_schema_spend(request, calibrated, partial_schema)
    if planned is not None:
        others = (planned, *(item for item in others if item.name not in SCHEMA_SPENDS))
        released = [
            compute_release_delta(spends, request.neighbours)
            for spends in (others, account.authorized)
        ]
        calibrated -= max(released[0] - released[1], 0.0)
    delta = subtract_sampling_delta(calibrated, _compute_sampling_delta(request, (*others, *parts)))
    items = calibrate_spends(
        parts,
        request.epsilon,
        delta,
        request.neighbours,
        account.authorized,
        adaptive=is_adaptive(request),
    )
    return _agree_on(items, account)


def plan_spends(
    request: SynthesisRequest,
    classes: int,
    queries: QueryPlan,
    partial_schema: PartialSchema | None = None,
) -> tuple[Spend, ...]:
    """Return what a run will cost at most, before a row is read.

    Without a delta that is known by then, it is what the smallest table would cost.
    """
    delta = request.known_delta or RowCount.from_declared(FEWEST_ROWS).calibration_delta
    account = Account()
    _agree_on(tuple(plan_counts(request, classes).values()), account)
    schema = _plan_schema_spend(request, delta, partial_schema)
    _agree_on(() if schema is None else (schema,), account)
    agree_on_first(request, queries.first, account)
    facts = PublicFacts(None, (), delta, delta)
    agree_on_rest(request, facts, account, queries.rest, partial_schema=partial_schema)
    return account.authorized


def _plan_schema_spend(
    request: SynthesisRequest, delta: float, partial_schema: PartialSchema | None
) -> Spend | None:
    """Return the most that all answers about an outline may cost; None if nothing is asked."""
    if partial_schema is None:
        return None
    cost = compute_schema_cost(request, delta)
    return plan_spend(partial_schema, **cost, neighbours=request.neighbours)


def compute_spent_sampling_delta(request: SynthesisRequest, account: Account) -> float:
    """Return the part of delta that noise of users took."""
    return _compute_sampling_delta(request, account.spent)


def compute_spent_epsilon(request: SynthesisRequest, facts: PublicFacts, account: Account) -> float:
    """Return the epsilon that is guaranteed, after checking what was charged against the request.

    Where noise followed answers the guarantee is that of the limit, which is the request, whatever
    these answers led to.
    """
    # Names differ; what is authorized first may be measured last.
    if set(account.spent) != set(account.authorized):
        raise BudgetError("the measurements made differ from those agreed on.")
    delta = subtract_sampling_delta(
        facts.calibration_delta, compute_spent_sampling_delta(request, account)
    )
    adaptive = is_adaptive(request)
    epsilon = compose_epsilon(account.spent, delta, request.neighbours, adaptive=adaptive)
    if epsilon > request.epsilon:
        raise BudgetError(f"epsilon={request.epsilon:g}: the spends compose to {epsilon:g}.")
    return request.epsilon if adaptive else epsilon


def _compute_sampling_delta(
    request: SynthesisRequest, queries: Sequence[Spend | BudgetShare]
) -> float:
    histograms = sum(one.times for one in queries)
    return compute_sampling_delta(histograms, request.epsilon, request.neighbours)


def _agree_on(items: Sequence[Spend], account: Account) -> dict[str, Spend]:
    return {item.name: account.authorize(item) for item in items}


def _make_spends(request: SynthesisRequest, parts: Sequence[BudgetShare]) -> tuple[Spend, ...]:
    """Return items that take fixed parts of the whole budget."""
    loss = _compute_total_loss(request, request.planning_delta)
    return tuple(part.make_spend(loss) for part in parts)


def _compute_total_loss(request: SynthesisRequest, delta: float) -> float:
    """Return the budget as the `Spend.loss` that fits in it."""
    return solve_gaussian_mu(request.epsilon, delta) ** 2 / request.neighbours.squared_distance


def _compute_rest_share(request: SynthesisRequest, classes: int, queries: QueryPlan) -> float:
    """Return which part of the budget is left for the rest, and refuse a plan that leaves none."""
    taken = {
        "class_budget": request.class_budget * bool(list_needed_counts(request, classes)),
        "schema_budget": request.schema_budget,
    } | {SHARE_FIELDS.get(part.name, part.name): part.share for part in queries.first}
    share = 1 - sum(taken.values())
    if share < _LEAST_SHARE:
        parts = ", ".join(f"{name}={part:g}" for name, part in taken.items() if part)
        raise ParameterError(
            f"{parts}: all of the budget: nothing is left for the votes. Make one of them smaller."
        )
    return share
