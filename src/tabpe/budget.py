"""From a request to agreed noise: what is declared, what must be bought, and at which price.

Before the first round two facts are needed: the share of each class, and the number of rows (for
the default delta and size). Each is declared public or bought with `class_budget` of the budget;
nothing is taken for free. What remains of the budget goes to the votes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tabpe import _validate, measure
from tabpe.engines import Engine
from tabpe.errors import BudgetError, ParameterError
from tabpe.measure.histograms import CLASS_COUNTS, ROW_COUNT, VOTES
from tabpe.privacy import Account, BillItem, Neighbours, NoiseSource, calibrate, composed_epsilon
from tabpe.privacy.accounting import SMALLEST_DELTA, check_promise, gaussian_mu
from tabpe.privacy.delta import FEWEST_ROWS, RowCount
from tabpe.privacy.slack import delta_slack, exact_delta

T = TypeVar("T")

# A delta that depends on noisy counts needs noise that protects more as sigma grows. The losses of
# discrete noise lie on a grid of 1 / sigma^2, so that fails where the grid is coarse against their
# spread of sqrt(rounds) / sigma, and holds from this many times on (docs/privacy.md).
FINE_GRID = 4.0
# Sizes the share of the counts while delta still depends on them. The bill is composed at the
# delta that is promised in the end, so this moves a split and no promise.
_PROVISIONAL_DELTA = 1e-6
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
        rows: The declared number of rows, or None.
        shares: The declared share of each class, or None.
        size: The number of rows to evolve, or None for a part of the private rows.
    """

    epsilon: float
    delta: float | None
    neighbours: Neighbours
    class_budget: float
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
            "rows": optional(whole, "public_rows", self.rows, least=FEWEST_ROWS),
            "size": optional(whole, "n_samples", self.size, least=1),
        }
        for name, value in accepted.items():
            object.__setattr__(self, name, value)

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
    counts = int(_bought(request, classes) is not None)
    delta = _known_delta(request) or 2 * SMALLEST_DELTA
    slack = delta_slack(noise.slack, rounds + counts, request.epsilon, request.neighbours)
    delta = exact_delta(delta, slack)
    left = (1 - request.class_budget * counts) * gaussian_mu(request.epsilon, delta) ** 2
    _check_sigma(_ROOM * math.sqrt(request.neighbours.squared_distance * rounds / left), noise)
    if counts:
        _check_sigma(_sigma_of_counts(request), noise)


def establish_facts(
    request: Request, classes: int, engine: Engine, account: Account, noise: NoiseSource
) -> Facts:
    """Return the facts, buying the ones that were not declared."""
    rows = None if request.rows is None else RowCount.declared(request.rows)
    weights: tuple[float, ...] = request.shares or (1.0,)
    bought = _bought(request, classes)
    if bought is not None:
        sigma = _sigma_of_counts(request)
        account.agree(BillItem(bought, sigma, times=1))
    if bought == CLASS_COUNTS:
        counts = measure.class_counts(engine, classes, account, noise).values[0]
        weights = tuple(float(count) for count in counts)
        rows = rows or RowCount.noisy(float(counts.sum()), sigma=sigma, cells=classes)
    elif bought == ROW_COUNT:
        count = measure.row_count(engine, account, noise).values[0]
        rows = RowCount.noisy(float(count[0]), sigma=sigma, cells=1)
    if request.delta is not None:
        return Facts(rows, weights, request.delta, request.delta)
    known = _known(rows)
    return Facts(known, weights, known.promised_delta, known.calibration_delta)


def agree_on_votes(
    request: Request, facts: Facts, rounds: int, account: Account, noise: NoiseSource
) -> BillItem:
    """Put the votes on the bill, with all that is left of the budget."""
    histograms = rounds + sum(item.times for item in account.agreed)
    slack = delta_slack(noise.slack, histograms, request.epsilon, request.neighbours)
    sigma = calibrate(
        request.epsilon,
        exact_delta(facts.calibration_delta, slack),
        rounds,
        request.neighbours,
        besides=account.agreed,
    )
    if sigma * math.sqrt(rounds) < FINE_GRID and facts.calibration_delta < facts.delta:
        raise ParameterError(
            f"epsilon={request.epsilon:g}: leaves so little noise that delta can not follow a "
            f"noisy number of rows. Give delta, or public_rows if the number of rows is public."
        )
    _check_sigma(sigma, noise)
    item = BillItem(VOTES, sigma, rounds)
    account.agree(item)
    return item


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


def _known(value: T | None) -> T:
    """Return what `Request.needs_rows` makes sure of."""
    if value is None:
        raise AssertionError("needs_rows")
    return value


def _bought(request: Request, classes: int) -> str | None:
    """Return which counts are neither declared nor needless."""
    if request.shares is None and classes > 1:
        return CLASS_COUNTS
    return ROW_COUNT if request.needs_rows else None


def _sigma_of_counts(request: Request) -> float:
    delta = _known_delta(request) or _PROVISIONAL_DELTA
    loss = request.class_budget * gaussian_mu(request.epsilon, delta) ** 2
    return math.sqrt(request.neighbours.squared_distance / loss)


def _known_delta(request: Request) -> float | None:
    """Return delta, if it is known before a row is counted."""
    if request.delta is None and request.rows is not None:
        return RowCount.declared(request.rows).calibration_delta
    return request.delta


def _check_sigma(sigma: float, noise: NoiseSource) -> None:
    if sigma > noise.largest_sigma:
        raise ParameterError(
            f"noise: this promise needs a sigma of about {sigma:.3g}, and the source draws up to "
            f"{noise.largest_sigma:g}. Use noise='opendp', or ask for a larger epsilon."
        )
