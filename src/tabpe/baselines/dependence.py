"""How much pairs of attributes depend on each other, asked of the private rows.

Dependence is the distance (L1, in rows) of the counts of a pair from what they would be if its
attributes were independent. That is estimated from noisy 1-way marginals, so it is public when the
distance is asked for, and a row more or less changes the distance by at most 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tabpe.baselines.consistency import norm_sub
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique
from tabpe.baselines.markov import Measured
from tabpe.privacy.plan import sigma_for

# Of one pair, and of all pairs that are asked about at once.
_MOST_CELLS = 10_000_000


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

    Attributes with one value depend on nothing, and a pair of very many cells is never worth its
    noise: nothing is asked about them.

    Args:
        desk: The way to the private rows.
        singles: Noisy counts of every attribute, in their order.
        loss: What the answers may cost.
    """
    rows = max(desk.rows, 1.0)
    alone = [norm_sub(one.counts, rows) for one in singles]
    pairs = _worth_asking(desk)
    found: dict[Clique, float] = {}
    for block in _blocks(pairs, desk):
        apart = [np.outer(alone[one], alone[other]) / rows for one, other in block]
        sigma = sigma_for(loss, len(pairs))
        distances = desk.distances("dependence of pairs", block, apart, sigma=sigma)
        found |= zip(block, distances.tolist(), strict=True)
    return found


def _worth_asking(desk: Desk) -> list[Clique]:
    varied = [place for place, size in enumerate(desk.domain.sizes) if size > 1]
    pairs = itertools.combinations(varied, 2)
    return [pair for pair in pairs if desk.domain.cells(pair) <= _MOST_CELLS]


def _blocks(pairs: Sequence[Clique], desk: Desk) -> Iterator[list[Clique]]:
    """Return pairs in blocks whose estimates fit into memory together."""
    block: list[Clique] = []
    cells = 0
    for pair in pairs:
        more = desk.domain.cells(pair)
        if block and cells + more > _MOST_CELLS:
            yield block
            block, cells = [], 0
        block.append(pair)
        cells += more
    if block:
        yield block
