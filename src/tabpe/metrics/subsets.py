"""Which sets of k columns are measured, and what is said of them together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabpe import _validate
from tabpe.errors import ParameterError

MOST_SUBSETS = 10**6

Subset = tuple[int, ...]


@dataclass(frozen=True)
class KWay:
    """A mean over sets of k columns.

    Args:
        order: The k.
        distance: Mean distance over the sets that were measured; NaN if there is none.
        spread: Standard deviation over them.
        measured: How many sets were measured.
        possible: How many there are.
        rows: The number of rows of each table that were compared: real, synthetic.
        worst: The set with the largest distance, and that distance.
    """

    order: int
    distance: float
    spread: float
    measured: int
    possible: int
    rows: tuple[int, int]
    worst: tuple[tuple[str, ...], float]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        subsets: Sequence[Subset],
        distances: Sequence[float],
        rows: tuple[int, int],
    ) -> KWay:
        """Sum up the distances of sets of columns; NaN for one that could not be measured.

        Example:
            >>> both = KWay.of(["age", "ward", "sex"], [(0, 1), (1, 2)], [0.25, 0.75], (9, 9))
            >>> both.distance, both.measured, both.possible, both.worst
            (0.5, 2, 3, (('ward', 'sex'), 0.75))
        """
        order = len(subsets[0])
        pairs = zip(subsets, distances, strict=True)
        told = [(far, which) for which, far in pairs if not math.isnan(far)]
        possible = math.comb(len(names), order)
        if not told:
            return cls(order, math.nan, math.nan, 0, possible, rows, ((), math.nan))
        values = np.array([far for far, _ in told])
        furthest, where = told[int(values.argmax())]
        return cls(
            order,
            float(values.mean()),
            float(values.std()),
            len(told),
            possible,
            rows,
            (tuple(names[place] for place in where), furthest),
        )


def orders_of(orders: Sequence[int], columns: int) -> list[int]:
    """Return the orders that there are columns for.

    Raises:
        ParameterError: If one is not a whole number from 1.

    Example:
        >>> orders_of([1, 2, 7], 3)
        [1, 2]
    """
    checked = [_validate.whole("orders", order, least=1) for order in orders]
    return [order for order in checked if order <= columns]


def subsets_of(
    columns: int, order: int, most: int | None, random_state: int | None
) -> list[Subset]:
    """Return sets of so many columns: all, or `most` of them, each equally likely.

    They depend on no other order that is asked for.

    Raises:
        ParameterError: If all are asked for, and they are too many.

    Example:
        >>> subsets_of(3, 2, None, 0)
        [(0, 1), (0, 2), (1, 2)]
        >>> len(subsets_of(500, 7, 24, 0))
        24
    """
    possible = math.comb(columns, order)
    if most is None and possible > MOST_SUBSETS:
        raise ParameterError(
            f"subsets=None: there are {possible:.2g} sets of {order} of {columns} columns, "
            f"and at most {MOST_SUBSETS:,} are measured: give a number, such as 100."
        )
    if most is None or most >= possible:
        return list(itertools.combinations(range(columns), order))
    rng = generator(random_state, order)
    if 2 * most >= possible:
        ranks = set(rng.choice(possible, most, replace=False).tolist())
        every = itertools.combinations(range(columns), order)
        return [subset for rank, subset in enumerate(every) if rank in ranks]
    return _drawn(columns, order, most, rng)


def generator(random_state: int | None, *purpose: int) -> np.random.Generator:
    """Return random numbers for one purpose, whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=purpose))


def _drawn(columns: int, order: int, most: int, rng: np.random.Generator) -> list[Subset]:
    """Draw until enough are different: less than half of all is asked for, so that ends soon."""
    found: set[Subset] = set()
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(columns, order, replace=False).tolist())))
    return sorted(found)
