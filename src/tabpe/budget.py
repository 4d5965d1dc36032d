"""From a request to agreed noise: what is declared, what must be bought, and at which price.

Before the first round two facts are needed: the share of each class, and the number of rows, or of
users if the promise is to them (for the default delta and size). Each is declared public or bought
with `class_budget` of the budget; what the schema lacks is bought with `schema_budget`; nothing is
taken for free. What remains of the budget goes to the votes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tabpe import _validate
from tabpe.buying import planned_item
from tabpe.errors import BudgetError, ParameterError
from tabpe.measure import Measured
from tabpe.measure.histograms import CLASS_COUNTS, ROW_COUNT, USER_COUNT, VOTES
from tabpe.privacy import Account, BillItem, Neighbours, NoiseSource, calibrate, composed_epsilon
from tabpe.privacy.accounting import SMALLEST_DELTA, check_promise, gaussian_mu
from tabpe.privacy.delta import FEWEST_ROWS, RowCount
from tabpe.privacy.slack import delta_slack, exact_delta
from tabpe.schema import Outline

T = TypeVar("T")

# A delta that depends on noisy counts needs noise that protects more as sigma grows. The losses of
# discrete noise lie on a grid of 1 / sigma^2, so that fails where the grid is coarse against their
# spread of sqrt(rounds) / sigma, and holds from this many times on (docs/privacy.md).
FINE_GRID = 4.0
# Sizes the share of the counts while delta still depends on them. The bill is composed at the
# delta that is promised in the end, so this moves a split and no promise.
_PROVISIONAL_DELTA = 1e-6
# Which part of delta pays for values of a bought schema that one row alone may hold.
TOLD_SHARE = 0.05
# How much larger than the estimate by the continuous Gaussian a calibrated sigma may be.
_ROOM = 1.02


@dataclass(frozen=True)
class Request:
    """What a user asks for and declares.

    Args:
        epsilon: The budget.
        delta: The delta, or None for 1 / (n ln n).
        neighbours: The neighbouring relation.
        class_budget: Part of the budget for counts of classes or rows, if they are bought.
        schema_budget: Part of the budget for what the schema lacks; 0 if it is complete.
        rows: The declared number of rows or users, or None.
        shares: The declared share of each class, or None.
        size: The number of rows to evolve, or None for a part of the private rows.
    """

    epsilon: float
    delta: float | None
    neighbours: Neighbours
    class_budget: float
    schema_budget: float
    rows: int | None
    shares: tuple[float, ...] | None
    size: int | None

    def __post_init__(self) -> None:
        check_promise(self.epsilon, _PROVISIONAL_DELTA if self.delta is None else self.delta)
        whole, optional = _validate.whole, _validate.optional
        accepted = {
            "epsilon": float(self.epsilon),
            "delta": None if self.delta is None else float(self.delta),
            "class_budget": _validate.real("class_budget", self.class_budget, above=0, below=1),
            "schema_budget": _validate.real(
                "schema_budget", self.schema_budget, above=0, below=1, least=True
            ),
            "rows": optional(whole, "public_rows", self.rows, least=FEWEST_ROWS),
            "size": optional(whole, "n_samples", self.size, least=1),
        }
        for name, value in accepted.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_measures(cls, epsilon: float, delta: float, neighbours: Neighbours) -> Request:
        """Return a request for measures of a table, of which nothing is evolved."""
        return cls(
            epsilon,
            delta,
            neighbours,
            class_budget=0.5,  # of counts that are not bought
            schema_budget=0.0,
            rows=None,
            shares=None,
            size=None,
        )

    @property
    def evolved_size(self) -> int:
        """The number of rows to evolve, where the number of private rows is not known."""
        return _known(self.size)

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows is needed and not declared."""
        return self.rows is None and (self.delta is None or self.size is None)


@dataclass(frozen=True)
class Facts:
    """What is public about the table before the first round.

    Args:
        rows: The declared or noisy number of rows, if it is known.
        weights: Declared shares or noisy counts of the classes.
        delta: The delta that is promised.
        calibration_delta: The delta that noise is calibrated at: at most the promised one.
    """

    rows: RowCount | None
    weights: tuple[float, ...]
    delta: float
    calibration_delta: float


def check_noise(request: Request, classes: int, rounds: int, noise: NoiseSource) -> None:
    """Refuse a source of noise that can not keep the promise, before a row is read.

    The sigma of the votes is an estimate here, and `agree_on_votes` looks again.
    """
    bought = counts_to_buy(request, classes)
    known = _known_delta(request)
    slack = delta_slack(noise.slack, rounds + len(bought), request.epsilon, request.neighbours)
    exact = exact_delta(known or _PROVISIONAL_DELTA, slack)
    delta = exact if known else 2 * SMALLEST_DELTA
    left = _loss(request, delta, _share_of_votes(request, bought))
    _check_sigma(_ROOM * math.sqrt(rounds / left), request, noise)
    if bought:
        _check_sigma(_sigma_of_counts(request, len(bought)), request, noise)


def counts_to_buy(request: Request, classes: int) -> tuple[str, ...]:
    """Return which counts are neither declared nor needless, in the order of buying.

    The counts of classes add up to the number of rows. They say nothing of the number of users, who
    may have rows in several classes.
    """
    shares = request.shares is None and classes > 1
    added_up = shares and not request.neighbours.of_users and not request.schema_budget
    rows = request.needs_rows and not added_up
    return (count_name(request),) * rows + (CLASS_COUNTS,) * shares


def count_name(request: Request) -> str:
    """Return what the number of rows, or of users, is called on the bill."""
    return USER_COUNT if request.neighbours.of_users else ROW_COUNT


def count_items(request: Request, classes: int) -> dict[str, BillItem]:
    """Return the counts to buy by name, as items of the bill."""
    bought = counts_to_buy(request, classes)
    return {
        name: BillItem(name, _sigma_of_counts(request, len(bought)), times=1) for name in bought
    }


def schema_price(request: Request, delta: float) -> dict[str, float]:
    """Return what a schema may cost: a loss, and a part of delta for values that are told."""
    loss = gaussian_mu(request.epsilon, _known_delta(request) or _PROVISIONAL_DELTA) ** 2
    return {"loss": request.schema_budget * loss, "chance": TOLD_SHARE * delta}


def establish_facts(request: Request, bought: Mapping[str, Measured]) -> Facts:
    """Return the facts, from what was declared and the counts that were bought."""
    classes = bought.get(CLASS_COUNTS)
    weights = request.shares or (1.0,)
    if classes is not None:
        weights = tuple(float(count) / classes.scale for count in classes.values[0])
    added_up = None if request.neighbours.of_users else classes
    rows = _rows(request, bought.get(count_name(request), added_up))
    if request.delta is not None:
        return Facts(rows, weights, request.delta, request.delta)
    known = _known(rows)
    return Facts(known, weights, known.promised_delta, known.calibration_delta)


def agree_on_votes(
    request: Request, facts: Facts, rounds: int, account: Account, noise: NoiseSource
) -> BillItem:
    """Put the votes on the bill, with all that is left of the budget."""
    return agree_on_rest(request, facts, account, noise, name=VOTES, times=rounds)


def agree_on_rest(
    request: Request, facts: Facts, account: Account, noise: NoiseSource, *, name: str, times: int
) -> BillItem:
    """Put so many histograms on the bill, with all that is left of the budget."""
    histograms = times + sum(item.times for item in account.agreed)
    slack = delta_slack(noise.slack, histograms, request.epsilon, request.neighbours)
    sigma = calibrate(
        request.epsilon,
        exact_delta(facts.calibration_delta, slack),
        times,
        request.neighbours,
        besides=account.agreed,
    )
    if sigma * math.sqrt(times) < FINE_GRID and facts.calibration_delta < facts.delta:
        raise ParameterError(
            f"epsilon={request.epsilon:g}: leaves so little noise that delta can not follow a "
            f"noisy number of rows. Give delta, or public_rows if the number of rows is public."
        )
    _check_sigma(sigma, request, noise)
    item = BillItem(name, sigma, times)
    account.agree(item)
    return item


def planned_bill(
    request: Request, classes: int, rounds: int, noise: NoiseSource, outline: Outline | None = None
) -> tuple[BillItem, ...]:
    """Return what a run will cost at most, before a row is read.

    Without a delta that is known by then, it is what the smallest table would cost.
    """
    delta = _known_delta(request) or RowCount.declared(FEWEST_ROWS).calibration_delta
    account = Account()
    for item in count_items(request, classes).values():
        account.agree(item)
    if outline is not None:
        price = schema_price(request, delta)
        schema = planned_item(outline, **price, neighbours=request.neighbours)
        if schema is not None:
            account.agree(schema)
    agree_on_votes(request, Facts(None, (), delta, delta), rounds, account, noise)
    return account.agreed


def spent_slack(request: Request, account: Account, noise: NoiseSource) -> float:
    """Return the part of delta that pays for noise that is not exact."""
    histograms = sum(item.times for item in account.spent)
    return delta_slack(noise.slack, histograms, request.epsilon, request.neighbours)


def spent_epsilon(request: Request, facts: Facts, account: Account, noise: NoiseSource) -> float:
    """Return the epsilon of what was charged, after checking it against the request."""
    if account.spent != account.agreed:
        raise BudgetError("the measurements made differ from those agreed on.")
    delta = exact_delta(facts.calibration_delta, spent_slack(request, account, noise))
    epsilon = composed_epsilon(account.spent, delta, request.neighbours)
    if epsilon > request.epsilon:
        raise BudgetError(f"epsilon={request.epsilon:g}: the bill comes to {epsilon:g}.")
    return epsilon


def normalised_shares(
    given: Mapping[Any, float] | None, class_names: tuple[str, ...]
) -> tuple[float, ...] | None:
    """Return the declared share of each class, in the order of the schema.

    Example:
        >>> normalised_shares({"no": 9, "yes": 1}, ("no", "yes"))
        (0.9, 0.1)
    """
    if given is None:
        return None
    if not isinstance(given, Mapping) or {str(name) for name in given} != set(class_names):
        raise ParameterError(
            f"public_shares={given!r}: expected a share for each class of {list(class_names)}."
        )
    named = {str(name): share for name, share in given.items()}
    shares = [
        _validate.real(f"public_shares[{name!r}]", named[name], above=0, least=True)
        for name in class_names
    ]
    if sum(shares) == 0:
        raise ParameterError("public_shares: expected at least one share above 0.")
    return tuple(share / sum(shares) for share in shares)


def _rows(request: Request, bought: Measured | None) -> RowCount | None:
    if request.rows is not None:
        return RowCount.declared(request.rows)
    if bought is None:
        return None
    counts, sigma = bought.values[0], bought.item.sigma
    return RowCount.noisy(float(counts.sum()) / bought.scale, sigma=sigma, cells=len(counts))


def _known(value: T | None) -> T:
    """Return what `Request.needs_rows` makes sure of."""
    if value is None:
        raise AssertionError("needs_rows")
    return value


def _sigma_of_counts(request: Request, counts: int) -> float:
    delta = _known_delta(request) or _PROVISIONAL_DELTA
    return math.sqrt(counts / _loss(request, delta, request.class_budget))


def _loss(request: Request, delta: float, share: float) -> float:
    """Return a share of the budget as the `BillItem.loss` that fits in it."""
    loss = gaussian_mu(request.epsilon, delta) ** 2
    return share * loss / request.neighbours.squared_distance


def _share_of_votes(request: Request, bought: tuple[str, ...]) -> float:
    share = 1 - request.class_budget * bool(bought) - request.schema_budget
    if share <= 0:
        raise ParameterError(
            f"schema_budget={request.schema_budget:g}: leaves nothing for the votes beside "
            f"class_budget={request.class_budget:g}. Make one of them smaller."
        )
    return share


def _known_delta(request: Request) -> float | None:
    """Return delta, if it is known before a row is counted."""
    if request.delta is None and request.rows is not None:
        return RowCount.declared(request.rows).calibration_delta
    return request.delta


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
