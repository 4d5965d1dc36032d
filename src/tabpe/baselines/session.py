"""`Desk`: what a method may ask of the private rows, and the only way to them.

Privacy: everything is charged to an account and measured by `tabpe.measurement`, under noise. The
exact counts never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabpe import measurement
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.accounting.zcdp_filter import PrivacyFilter
from tabpe.backends import CachedMarginalCounter
from tabpe.baselines.domain import Clique, Codes, Domain, Floats, SyntheticRows, decode_rows
from tabpe.encoding import Encoder
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.errors import BudgetError
from tabpe.measurement import MeasurementTerms


@dataclass(frozen=True, eq=False)
class BaselineSession:
    """What a method may ask.

    A method with a plan names the part that a question belongs to. An adaptive method also says
    with which noise: `sigma`, which for a choice is 2 / range. Questions with the same name and
    sigma are one item of the bill.

    Args:
        tables: Counts the private rows, for `tabpe.measurement` alone.
        encoder: How rows are encoded.
        domain: The attributes and their cells.
        rows: The number of private rows: public, or noisy.
        terms: On which terms rows are read.
        rng: Randomness for all that is not noise.
    """

    tables: CachedMarginalCounter
    encoder: Encoder
    domain: Domain
    rows: float
    terms: MeasurementTerms
    rng: np.random.Generator

    @property
    def left(self) -> float:
        """What is left of the loss, for an adaptive method."""
        return self._filter.left

    def get_sigma(self, part: str) -> float:
        """Return the noise that the plan gives to a part."""
        return next(item.sigma for item in self.terms.account.authorized if item.name == part)

    def marginals(
        self, part: str, cliques: Sequence[Clique], *, sigma: float | None = None
    ) -> list[Floats]:
        """Return the noisy counts of some marginals, in their shapes; each is charged once.

        A row counts one in each of them. The noise on every cell is discrete Gaussian.
        """
        self._allow_spend(part, sigma, len(cliques), GAUSSIAN)
        asked = [self.domain.make_marginal(clique) for clique in cliques]
        return measurement.measure_marginals(self.tables, asked, self.terms, part)

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
            part: The item of the bill.
            cliques: What to choose from.
            estimates: Estimated counts of each, in its shape.
            weights: Above 0 and at most 1; None for 1 each.
            penalties: In rows; None for none.
            sigma: 2 / range; None if the plan says it.
        """
        self._allow_spend(part, sigma, 1, EXPONENTIAL)
        asked = [self.domain.make_marginal(clique) for clique in cliques]
        return measurement.choose_marginal(
            self.tables, asked, estimates, self.terms, part, weights=weights, penalties=penalties
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
        self._allow_spend(part, sigma, len(cliques), GAUSSIAN)
        asked = [self.domain.make_marginal(clique) for clique in cliques]
        return measurement.measure_distances(self.tables, asked, estimates, self.terms, part)

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
        self._allow_spend(part, sigma, times, EXPONENTIAL)
        return measurement.choose_halfspaces(
            self.tables, queries, estimates, self.terms, part, most=times, taken=taken
        )

    def measure_halfspaces(
        self,
        part: str,
        queries: Sequence[Halfspaces],
        places: Sequence[int],
        *,
        sigma: float | None = None,
    ) -> list[Floats]:
        """Return the noisy number of rows of each cell in some halfspaces; each is charged once."""
        self._allow_spend(part, sigma, len(places), GAUSSIAN)
        return measurement.measure_halfspaces(self.tables, queries, places, self.terms, part)

    def rows_of(self, codes: Codes) -> SyntheticRows:
        """Return rows with the given codes: numbers uniform inside their bins, on their grid."""
        return decode_rows(codes, self.domain, self.encoder, self.rng)

    def _allow_spend(self, part: str, sigma: float | None, times: int, mechanism: str) -> None:
        if sigma is not None and times:
            self._filter.authorize_more(part, sigma=sigma, times=times, mechanism=mechanism)

    @property
    def _filter(self) -> PrivacyFilter:
        account = self.terms.account
        if not isinstance(account, PrivacyFilter):
            raise BudgetError("sigma: the noise of a method with a plan is in its plan.")
        return account
