"""`BaselineSession`: what a baseline may ask of the private rows, by cliques of its domain.

Privacy: all of it goes through a `PrivateSession`: charged, under noise. The exact counts never
come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN, Spend
from tabpe.accounting.zcdp_filter import PrivacyFilter
from tabpe.baselines.domain import Clique, Codes, Domain, Floats, SyntheticRows, decode_rows
from tabpe.encoding import Encoder
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import Marginal
from tabpe.errors import BudgetError
from tabpe.measurement import PrivateSession


@dataclass(frozen=True, eq=False)
class BaselineSession:
    """What a method may ask.

    A method with a plan names the part of it that a query belongs to. An adaptive method also says
    with which noise: `sigma`, which for a choice is 2 / range. Queries with the same name and sigma
    are one spend.

    Args:
        session: The way to the private rows.
        encoder: How rows are encoded.
        domain: The attributes and their cells.
        rows: The number of private rows: public, or noisy.
        spends: The spends of a plan, by the names of its parts.
        rng: Randomness for all that is not noise.
    """

    session: PrivateSession
    encoder: Encoder
    domain: Domain
    rows: float
    spends: Mapping[str, Spend]
    rng: np.random.Generator

    @property
    def left(self) -> float:
        """What is left of the loss, for an adaptive method."""
        return self._filter.left

    def get_sigma(self, part: str) -> float:
        """Return the noise that the plan gives to a part."""
        return self.spends[part].sigma

    def marginals(
        self, part: str, cliques: Sequence[Clique], *, sigma: float | None = None
    ) -> list[Floats]:
        """Return the noisy counts of some marginals, in their shapes; each is charged once.

        A row adds 1 to each of them. The noise on every cell is discrete Gaussian.
        """
        if not cliques:
            return []
        spend = self._authorize(part, sigma, len(cliques), GAUSSIAN)
        return self.session.estimate_marginals(spend, self._make_marginals(cliques))

    def marginals_by_level(
        self, part: str, cliques: Sequence[Clique], levels: Sequence[Domain]
    ) -> list[Floats]:
        """Return the noisy counts of the marginals of each level, one level after the other.

        Args:
            part: The name of the spend; each marginal of each level is charged once.
            cliques: The attributes of the marginals.
            levels: What the cells of a level are: public coarser versions of the domain.
        """
        if not cliques or not levels:
            return []
        spend = self._authorize(part, None, len(cliques) * len(levels), GAUSSIAN)
        asked = [level.make_marginal(clique) for level in levels for clique in cliques]
        return self.session.estimate_marginals(spend, asked)

    def choose_marginal(
        self,
        part: str,
        cliques: Sequence[Clique],
        estimates: Sequence[Floats],
        *,
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
        sigma: float | None = None,
    ) -> int:
        """Return the place of a clique whose marginal is far from its estimate.

        By the exponential mechanism. The score of a clique is its weight times the distance less
        a penalty, where the distance is the sum of the sizes of all differences between the exact
        and the estimated counts.

        Args:
            part: The name of the spend.
            cliques: What to choose from.
            estimates: Estimated counts of each, in its shape.
            weights: Above 0 and at most 1; None for 1 each.
            penalties: In rows; None for none.
            sigma: 2 / range; None if the plan says it.
        """
        spend, asked = self._authorize(part, sigma, 1, EXPONENTIAL), self._make_marginals(cliques)
        return self.session.choose_marginal(
            spend, asked, estimates, weights=weights, penalties=penalties
        )

    def measure_distances(
        self,
        part: str,
        cliques: Sequence[Clique],
        estimates: Sequence[Floats],
        *,
        sigma: float | None = None,
    ) -> Floats:
        """Return how far marginals are from estimates, in rows, each under noise and charged once.

        The distance is the sum of the sizes of all differences between exact and estimated counts,
        cut down to whole rows; one row more or less changes it by at most one.
        """
        if not cliques:
            return np.zeros(0)
        spend = self._authorize(part, sigma, len(cliques), GAUSSIAN)
        return self.session.measure_distances(spend, self._make_marginals(cliques), estimates)

    def choose_halfspaces(
        self,
        part: str,
        queries: Sequence[Halfspaces],
        estimates: Sequence[Floats],
        *,
        most: int,
        taken: Sequence[int] = (),
        sigma: float | None = None,
    ) -> list[int]:
        """Return the places of `most` halfspaces whose counts are far from their estimates.

        By the exponential mechanism, one after the other, each charged once. Places count through
        all that is asked; those of `taken` are no option.
        """
        left = sum(len(halfspaces) for halfspaces in queries) - len(set(taken))
        times = min(most, left)
        if not times:
            return []
        spend = self._authorize(part, sigma, times, EXPONENTIAL)
        return self.session.choose_halfspaces(spend, queries, estimates, most=times, taken=taken)

    def measure_halfspaces(
        self,
        part: str,
        queries: Sequence[Halfspaces],
        places: Sequence[int],
        *,
        sigma: float | None = None,
    ) -> list[Floats]:
        """Return the noisy number of rows of each cell in some halfspaces; each is charged once."""
        if not places:
            return []
        spend = self._authorize(part, sigma, len(places), GAUSSIAN)
        return self.session.count_halfspaces(spend, queries, places)

    def rows_of(self, codes: Codes) -> SyntheticRows:
        """Return rows with the given codes: numbers uniform inside their bins, on their grid."""
        return decode_rows(codes, self.domain, self.encoder, self.rng)

    def _make_marginals(self, cliques: Sequence[Clique]) -> list[Marginal]:
        return [self.domain.make_marginal(clique) for clique in cliques]

    def _authorize(self, part: str, sigma: float | None, times: int, mechanism: str) -> Spend:
        """Return the spend of a part of the plan, or authorize more of one for `sigma`."""
        if sigma is not None:
            return self._filter.authorize_more(part, sigma=sigma, times=times, mechanism=mechanism)
        if part not in self.spends:
            raise BudgetError(f"{part}: not authorized; nothing is read without a spend.")
        return self.spends[part]

    @property
    def _filter(self) -> PrivacyFilter:
        account = self.session.account
        if not isinstance(account, PrivacyFilter):
            raise BudgetError("sigma: the noise of a method with a plan is in its plan.")
        return account
