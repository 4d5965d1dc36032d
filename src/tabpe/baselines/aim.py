"""AIM: an adaptive and iterative mechanism (McKenna, Mullins, Sheldon, Miklau 2022).

Of all marginals that matter, one is chosen that the model is far from, by more than the noise of
measuring it would be; it is measured, and the model fitted anew. Rounds begin with little budget
each, and get four times as much whenever a measurement has not moved the model by more than its
noise. What a round spends goes to its choice by a tenth and to its measurement by the rest.

What differs from the published method: a fit between rounds takes fewer steps (`round_iterations`)
and begins where the one before it ended; marginals with too many cells are never candidates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare, compute_sigma
from tabpe.baselines.domain import Clique, Domain, SyntheticRows
from tabpe.baselines.graphical_model import (
    INFERENCE,
    GraphicalModel,
    MarginalMeasurement,
    compute_model_megabytes,
    fit_model,
)
from tabpe.baselines.session import BaselineSession
from tabpe.errors import CapacityError

# Which part of a round goes to its measurement.
_MEASURING = 0.9
# Rounds that the budget would last for at the beginning, for each attribute.
_ROUNDS = 16
# Cells of all candidates together: each is estimated and compared in every round.
_MOST_CELLS = 250_000_000


@dataclass(frozen=True)
class AIM:
    """Marginals chosen one by one.

    Args:
        degree: How many attributes the marginals of the workload have; smaller ones may be measured
            as well.
        max_model_size: The largest model, in megabytes of its junction tree; at any time, that part
            of it which was spent of the budget.
        max_marginal_size: The most cells of a marginal.
        max_iterations: Steps of mirror descent for the model that rows are drawn from.
        round_iterations: Steps of mirror descent in each round, from where the last one ended.
        inference: Who passes the messages of the model: `mbi` or `numpy`.
    """

    degree: int = 2
    max_model_size: float = 100.0
    max_marginal_size: int = 250_000
    max_iterations: int = 1000
    round_iterations: int = 100
    inference: str = "mbi"
    name: ClassVar[str] = "AIM"
    adaptive: ClassVar[bool] = True
    binned: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("degree", "max_marginal_size", "max_iterations", "round_iterations"):
            validation.check_integer(name, getattr(self, name), least=1)
        validation.check_real("max_model_size", self.max_model_size, above=0)
        validation.check_one_of("inference", self.inference, list(INFERENCE))

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:  # noqa: ARG002
        """Return no plan: noise follows answers."""
        return ()

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Measure attributes, then whatever the model is worst at, until the budget is spent."""
        domain, whole = session.domain, session.left
        weights = self._weigh_candidates(domain)
        first = AIMRound(whole / (_ROUNDS * domain.attributes))
        known = _measure_one_ways(session, first)
        model = self._fit_model(session, known, None, self.round_iterations)
        now: AIMRound | None = first
        while now is not None:
            spent = 1 - (session.left - now.loss) / whole
            measured = [one.clique for one in known]
            open_ = filter_by_size(domain.sizes, weights, measured, spent * self.max_model_size)
            clique = _choose_clique(session, now, model, {one: weights[one] for one in open_})
            (counts,) = session.marginals(now.measuring, [clique], sigma=now.sigma)
            known.append(MarginalMeasurement(clique, counts, now.sigma))
            before, model = model, self._fit_model(session, known, model, self.round_iterations)
            moved = float(
                np.abs(model.compute_marginal(clique) - before.compute_marginal(clique)).sum()
            )
            now = now.plan_next(
                session.left, learned=moved > now.compute_noise(domain.count_cells(clique))
            )
        model = self._fit_model(session, known, model, self.max_iterations)
        return session.rows_of(model.sample(size, session.rng))

    def _weigh_candidates(self, domain: Domain) -> dict[Clique, float]:
        weights = build_workload(domain.attributes, self.degree)
        kept = {
            one: w
            for one, w in weights.items()
            if domain.count_cells(one) <= self.max_marginal_size
        }
        cells = sum(domain.count_cells(one) for one in kept)
        if cells > _MOST_CELLS:
            raise CapacityError(
                f"AIM: {len(kept):,} marginals of {cells:,} cells in all, limit {_MOST_CELLS:,}. "
                "Lower degree or max_marginal_size, or cut numbers into fewer bins (most_bins)."
            )
        return kept

    def _fit_model(
        self,
        session: BaselineSession,
        known: Sequence[MarginalMeasurement],
        start: GraphicalModel | None,
        iterations: int,
    ) -> GraphicalModel:
        return fit_model(
            session.domain.sizes,
            known,
            rows=session.rows,
            iterations=iterations,
            start=start,
            inference=self.inference,
        )


@dataclass(frozen=True)
class AIMRound:
    """What a round may spend.

    Args:
        loss: On its choice and its measurement together.
        level: How often rounds have become more precise.
        last: Whether it takes all that is left.

    Example:
        >>> now = AIMRound(loss=0.1)
        >>> now.plan_next(left=10.0, learned=True)
        AIMRound(loss=0.1, level=0, last=False)
        >>> now.plan_next(left=10.0, learned=False)
        AIMRound(loss=0.4, level=1, last=False)
        >>> now.plan_next(left=0.15, learned=True)
        AIMRound(loss=0.15, level=1, last=True)
    """

    loss: float
    level: int = 0
    last: bool = False

    @property
    def sigma(self) -> float:
        """The noise of its measurement."""
        return compute_sigma(_MEASURING * self.loss)

    @property
    def choice_sigma(self) -> float:
        """The noise of its choice: 2 / range."""
        return compute_sigma((1 - _MEASURING) * self.loss)

    @property
    def choosing(self) -> str:
        """The name of the spend of its choice."""
        return f"choices, level {self.level}"

    @property
    def measuring(self) -> str:
        """The name of the spend of its measurement."""
        return f"marginals, level {self.level}"

    def compute_noise(self, cells: int) -> float:
        """Return the size of the noise that is expected on so many cells together."""
        return math.sqrt(2 / math.pi) * self.sigma * cells

    def plan_next(self, left: float, *, learned: bool) -> AIMRound | None:
        """Return the round after it: more precise, if this one has not learned from its noise.

        None after the last one. A round takes all that is left if it would not be enough for two.
        """
        if self.last:
            return None
        after = self if learned else AIMRound(4 * self.loss, self.level + 1)
        return AIMRound(left, after.level + 1, last=True) if left < 2 * after.loss else after


def build_workload(attributes: int, degree: int) -> dict[Clique, float]:
    """Return what may be measured, and how much of what matters it tells about, as a part of 1.

    All marginals of `degree` attributes matter, and smaller ones may be measured as well. A weight
    is the number of attributes that a marginal shares with each that matters, summed over those;
    because all of them matter, that is in proportion to its own number of attributes.

    Example:
        >>> build_workload(3, 2)
        {(0,): 0.5, (1,): 0.5, (2,): 0.5, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    """
    most = min(degree, attributes)
    return {
        clique: size / most
        for size in range(1, most + 1)
        for clique in itertools.combinations(range(attributes), size)
    }


def filter_by_size(
    sizes: Sequence[int], cliques: Iterable[Clique], measured: Sequence[Clique], megabytes: float
) -> list[Clique]:
    """Return the cliques with which a model is not too large; those that it has are always fine.

    Example:
        >>> filter_by_size((1000, 1000, 1000), [(0,), (0, 1), (0, 2)], [(0, 1)], megabytes=10)
        [(0,), (0, 1)]
    """
    known = [set(one) for one in measured]
    return [
        clique
        for clique in cliques
        if any(one.issuperset(clique) for one in known)
        or compute_model_megabytes(sizes, [*measured, clique]) <= megabytes
    ]


def _measure_one_ways(session: BaselineSession, now: AIMRound) -> list[MarginalMeasurement]:
    cliques = [(place,) for place in range(session.domain.attributes)]
    counts = session.marginals("one-ways", cliques, sigma=now.sigma)
    return [
        MarginalMeasurement(clique, one, now.sigma)
        for clique, one in zip(cliques, counts, strict=True)
    ]


def _choose_clique(
    session: BaselineSession, now: AIMRound, model: GraphicalModel, weights: dict[Clique, float]
) -> Clique:
    cliques = list(weights)
    place = session.choose_marginal(
        now.choosing,
        cliques,
        [model.compute_marginal(clique) for clique in cliques],
        weights=list(weights.values()),
        penalties=[now.compute_noise(session.domain.count_cells(clique)) for clique in cliques],
        sigma=now.choice_sigma,
    )
    return cliques[place]
