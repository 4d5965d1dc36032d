"""How much pairs of attributes depend on each other, asked of the private rows.

Dependence is the distance (L1, in rows) of the counts of a pair from what they would be if its
attributes were independent. That is estimated from noisy 1-way marginals, so it is public when the
distance is asked for, and a row more or less changes the distance by at most 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tabpe.baselines.consistency import norm_sub
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique
from tabpe.baselines.markov import Measured
from tabpe.baselines.plan import sigma_for


def measured_singles(desk: Desk, loss: float) -> list[Measured]:
    """Return the noisy counts of every attribute by itself, for a loss in all."""
    cliques = [(place,) for place in range(desk.domain.attributes)]
    return measured(desk, "1-way marginals", cliques, sigma_for(loss, len(cliques)))


def measured(desk: Desk, part: str, cliques: Sequence[Clique], sigma: float) -> list[Measured]:
    """Return the noisy counts of some marginals, with what was asked for."""
    counts = desk.marginals(part, cliques, sigma=sigma)
    return [Measured(clique, some, sigma) for clique, some in zip(cliques, counts, strict=True)]


def pair_dependence(desk: Desk, singles: Sequence[Measured], loss: float) -> dict[Clique, float]:
    """Return the noisy dependence of all pairs, in rows, for a loss in all.

    Attributes with one value depend on nothing, so nothing is asked about them.

    Args:
        desk: The way to the private rows.
        singles: Noisy counts of every attribute, in their order.
        loss: What the answers may cost.
    """
    rows = max(desk.rows, 1.0)
    alone = [norm_sub(one.counts, rows) for one in singles]
    varied = [place for place, size in enumerate(desk.domain.sizes) if size > 1]
    pairs = list(itertools.combinations(varied, 2))
    if not pairs:
        return {}
    apart = [np.outer(alone[one], alone[other]) / rows for one, other in pairs]
    sigma = sigma_for(loss, len(pairs))
    found = desk.distances("dependence of pairs", pairs, apart, sigma=sigma)
    return dict(zip(pairs, found.tolist(), strict=True))
