"""What is asked for and declared, which counts must be bought beside it, and the facts that follow.

Before the first round two facts are needed: the share of each class, and the number of rows, or of
users if the promise is to them (for the default delta and size, and for strategies that go by it).
Each is declared public or bought; nothing is taken for free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.errors import ParameterError
from tabpe.measure import Measured
from tabpe.measure.histograms import CLASS_COUNTS, ROW_COUNT, USER_COUNT
from tabpe.privacy import Neighbours
from tabpe.privacy.accounting import check_promise
from tabpe.privacy.delta import FEWEST_ROWS, RowCount
from tabpe.schema.joint import class_name

T = TypeVar("T")

PROVISIONAL_DELTA = 1e-6


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
        floor: The fewest rows to evolve of a class that has any; 0 for as many as its share says.
        counts_rows: Whether the number of rows is needed whatever else is declared.
        counts_apart: Whether it is bought by itself, and not as the sum of the counts of classes,
            in which the noise of very many classes would add up.
    """

    epsilon: float
    delta: float | None
    neighbours: Neighbours
    class_budget: float
    schema_budget: float
    rows: int | None
    shares: tuple[float, ...] | None
    size: int | None
    counts_rows: bool = False
    counts_apart: bool = False
    floor: int = 0

    def __post_init__(self) -> None:
        check_promise(self.epsilon, PROVISIONAL_DELTA if self.delta is None else self.delta)
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
            "floor": whole("class_floor", self.floor, least=0),
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

    def least_size(self, classes: int) -> int:
        """Return the fewest rows that so many classes can be evolved in."""
        return classes * max(self.floor, 1)

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows is needed and not declared."""
        return self.rows is None and (self.counts_rows or self.delta is None or self.size is None)

    @property
    def known_delta(self) -> float | None:
        """Delta, if it is known before a row is counted."""
        if self.delta is None and self.rows is not None:
            return RowCount.declared(self.rows).calibration_delta
        return self.delta

    @property
    def planning_delta(self) -> float:
        """The delta that sizes fixed parts of the budget.

        Where delta still depends on a count this is a provisional one. The bill is composed at the
        delta that is promised in the end, so this moves a split and no promise.
        """
        return self.known_delta or PROVISIONAL_DELTA


@dataclass(frozen=True)
class Facts:
    """What is public about the table before the first round.

    Args:
        rows: The declared or noisy number of rows, if it is known.
        weights: Declared shares or noisy counts of the classes.
        delta: The delta that is promised.
        calibration_delta: The delta that noise is calibrated at: at most the promised one.
        rare: The weights of classes that share the last one, if any do.
    """

    rows: RowCount | None
    weights: tuple[float, ...]
    delta: float
    calibration_delta: float
    rare: tuple[float, ...] = ()

    @property
    def row_estimate(self) -> float:
        """The declared or noisy number of rows or users, for strategies that need it."""
        return max(float(_known(self.rows).estimate), 1.0)

    @property
    def class_sizes(self) -> NDArray[np.float64]:
        """The declared or noisy number of rows of each class."""
        weights = np.maximum(np.array(self.weights, dtype=np.float64), 0.0)
        weights = weights if weights.any() else np.ones(len(weights))
        sizes: NDArray[np.float64] = weights * (self.row_estimate / weights.sum())
        return sizes


def counts_to_buy(request: Request, classes: int) -> tuple[str, ...]:
    """Return which counts are neither declared nor needless, in the order of buying.

    The counts of classes add up to the number of rows. They say nothing of the number of users, who
    may have rows in several classes.

    Example:
        >>> request = Request.of_measures(1.0, 1e-6, Neighbours())
        >>> counts_to_buy(request, classes=1), counts_to_buy(request, classes=2)
        (('row count',), ('class counts',))
    """
    shares = request.shares is None and classes > 1
    apart = request.counts_apart or request.neighbours.of_users or request.schema_budget
    added_up = shares and not apart
    rows = request.needs_rows and not added_up
    return (count_name(request),) * rows + (CLASS_COUNTS,) * shares


def count_name(request: Request) -> str:
    """Return what the number of rows, or of users, is called on the bill."""
    return USER_COUNT if request.neighbours.of_users else ROW_COUNT


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


def normalised_shares(
    given: Mapping[Any, float] | None, class_names: tuple[str, ...]
) -> tuple[float, ...] | None:
    """Return the declared share of each class, in the order of the schema.

    Example:
        >>> normalised_shares({"no": 9, "yes": 1}, ("no", "yes"))
        (0.9, 0.1)
        >>> normalised_shares({("eye", True): 3, ("eye", False): 1}, ("eye / False", "eye / True"))
        (0.25, 0.75)
    """
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(map(class_name, given)) != set(class_names):
        raise ParameterError(
            f"public_shares={given!r}: expected a share for each class of {list(class_names)}."
        )
    named = {class_name(name): share for name, share in given.items()}
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
