"""Trees under noise: bins are halved where rows lie close together (PrivTree).

A tree begins with all cells of an axis as one bin. A bin is halved or left by a choice between two
options (the exponential mechanism), and its halves are looked at in turn. With n rows in a bin at
depth d, the score of halving against leaving it is

    b = max(n - d * decay - threshold, -decay),        P(halve) = s(b / scale),

where s is the logistic function. No count leaves this module, only where bins begin.

Privacy, for tables that differ by one row more or less: a whole tree costs as much as one choice of
range `TreeGrowth.width`, however deep it is and whatever the threshold. Add a row. Only the bins
that it falls into have other scores; in a tree these are a path of halved bins and at its end a bin
that was left, if there was a choice to be made about it.

1. All numbers are whole. On the path, b is either larger by one, or it is `-decay` with the row as
   without it: then the chances are equal, and nothing is lost.
2. A halved bin has the loss rho(b) = ln(s(b / scale) / s((b - 1) / scale)), where b is that with
   the row. It is positive, and falls in b because ln s is concave.
3. From a bin to its half, n does not rise and d rises by one, so n - d * decay falls by `decay` or
   more. Bins whose b is larger by one have a b of 1 - decay or more. So the last of them has
   b >= 1 - decay, the one before it b >= 1, and so on: the losses of all halved bins add up to
   between 0 and `up`, the sum of rho(1 - decay + i * decay) over i = 0, 1, 2, ...
4. The bin that was left has a loss between -1 / scale and 0, because ln(1 - s(b / scale)) falls in
   b, with a slope of at most 1 / scale. A bin that could not be halved has none.

So all losses lie between -1 / scale and `up`: an interval of width up + 1 / scale. That is what the
cost of a choice follows from (`tabpe.accounting.pld`), from both of the neighbours. Where the
growth ends early, or in which order bins are looked at, depends on earlier choices alone.

PrivTree (Zhang, Xiao and Xie, 2016) adds Laplace noise in the place of the choice, for pure
differential privacy.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.noise import SelectionSource
from tabpe.accounting.pld import compute_range
from tabpe.accounting.spend import EXPONENTIAL, Spend
from tabpe.backends.queries import MarginalQuery
from tabpe.errors import TabpeError

if TYPE_CHECKING:
    from tabpe.measurement.session import PrivateSession

# A bin that holds nothing is halved with probability 1 / (1 + e^RATIO); with ln 2, as in PrivTree,
# that is one in three. On Adult and Artificial Characters, 2 made up to three times fewer bins,
# which fit as well at epsilon 1; at 0.1 they fit a little worse on Artificial Characters.
RATIO = 2.0
_ROUNDING = 1e-9

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class TreeGrowth:
    """How bins are halved.

    Args:
        scale: What scores are measured in: how much chance there is in a choice.
        decay: By how many rows more a bin must hold to be halved, for each time before that.

    Example:
        >>> TreeGrowth(scale=50.0, decay=100).width < TreeGrowth(scale=25.0, decay=50).width
        True
    """

    scale: float
    decay: int

    def __post_init__(self) -> None:
        validation.check_real("scale", self.scale, above=0)
        validation.check_integer("decay", self.decay, least=1)

    @property
    def width(self) -> float:
        """The range of the privacy losses of a tree, rounded up: up + 1 / scale."""
        from scipy.special import expit

        step, fall = 1 / self.scale, self.decay / self.scale
        terms = math.ceil(50 / fall) + 2
        scores = step - fall + fall * np.arange(terms)
        # s(b) / s(b - step) = 1 + (e^step - 1) s(-b), without a loss of digits.
        up = np.log1p(np.expm1(step) * expit(-scores)).sum()
        rest = math.expm1(step) * math.exp(-scores[-1] - fall) / -math.expm1(-fall)
        return float(up + rest + step) * (1 + _ROUNDING)

    @classmethod
    def from_range(cls, width: float) -> TreeGrowth:
        """Return the growth with the least chance whose losses have the range `width` at most.

        Example:
            >>> TreeGrowth.from_range(0.05).decay
            101
        """
        validation.check_real("width", width, above=0)
        low, high = 1 / width, 4 / width
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if cls._from_scale(middle).width <= width else (middle, high)
        return cls._from_scale(high)

    @classmethod
    def _from_scale(cls, scale: float) -> TreeGrowth:
        return cls(scale, math.ceil(RATIO * scale))


def grow_trees(
    session: PrivateSession, spend: Spend, query: MarginalQuery, *, threshold: int, most: int
) -> list[tuple[int, ...]]:
    """Return, for each axis, the cells in which its bins begin.

    Args:
        session: The way to the private rows.
        spend: Is charged for each axis.
        query: Marginals of one axis each, in its finest cells.
        threshold: About so many rows are left in a bin; public.
        most: The most bins of an axis.
    """
    threshold = validation.check_integer("threshold", threshold, least=0)
    most = validation.check_integer("most", most, least=1)
    chooser = session.get_selection_source()
    item = session.account.charge_spend(spend, len(query.marginals))
    session.check_mechanism(item, EXPONENTIAL)
    growth = TreeGrowth.from_range(compute_range(item.sigma))
    # Exact and private from here on.
    counted = session.backend.answer(query).value
    if [counts.shape for counts in counted] != [(marginal.size,) for marginal in query.marginals]:
        raise TabpeError(f"{spend.name}: the counts are not those of the cells asked for.")
    return [
        grow_tree(counts, chooser, growth, threshold=threshold, most=most) for counts in counted
    ]


def grow_tree(
    counts: Whole, chooser: SelectionSource, growth: TreeGrowth, *, threshold: int, most: int
) -> tuple[int, ...]:
    """Return the cells in which the bins of a tree begin. What is given is exact and private."""
    below = np.concatenate([[0], np.cumsum(counts)])
    waiting = deque([(0, len(counts), 0)])
    left: list[int] = []
    while waiting:
        first, end, depth = waiting.popleft()
        room = len(left) + len(waiting) + 1 < most
        score = below[end] - below[first] - depth * growth.decay - threshold
        if end - first > 1 and room and _choose_halving(int(score), chooser, growth):
            middle = (first + end) // 2
            waiting += [(first, middle, depth + 1), (middle, end, depth + 1)]
        else:
            left.append(first)
    return tuple(sorted(left))


def _choose_halving(score: int, chooser: SelectionSource, growth: TreeGrowth) -> bool:
    options = np.array([0, max(score, -growth.decay)], dtype=np.int64)
    return bool(chooser.choose(options, growth.scale))
