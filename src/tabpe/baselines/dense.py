"""Which pairs of attributes are worth their noise: PrivSyn's DenseMarg.

A pair that is measured costs noise, a pair that is not costs what its attributes depend on each
other. Both are numbers of rows (L1), so they can be weighed against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tabpe.baselines.domain import Clique, Floats

# Of cliques of one size: more are not looked through, nor are larger ones.
_MOST_CLIQUES = 100_000


def split_loss(cells: Sequence[int], loss: float) -> Floats:
    """Return the part of a loss for each table that makes their noise the least in all.

    A table of c cells with loss l has noise of c * sqrt(2 / (pi * l)) rows (L1, expected). With a
    fixed sum of losses the sum of that is least for losses proportional to c^(2/3).

    Args:
        cells: Number of cells of each table.
        loss: What there is for all of them (twice the rho of zero-concentrated privacy).

    Example:
        >>> split_loss([8, 64], loss=1.0)
        array([0.2, 0.8])
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    losses: Floats = weights * (loss / weights.sum())
    return losses


def noise_in_rows(cells: Sequence[int], loss: float) -> float:
    """Return the L1 noise to be expected on all tables, if the loss is split as is best.

    Example:
        >>> round(noise_in_rows([8, 64], loss=1.0), 3)
        71.365
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    return float(weights.sum() ** 1.5 * math.sqrt(2 / (math.pi * loss)))


def dense_pairs(dependence: Floats, cells: Sequence[int], loss: float) -> list[int]:
    """Return the places of the pairs to measure, in the order in which they were chosen.

    One pair after the other is chosen, each the one that leaves the least error in all, as long as
    there is one that lessens it.

    Args:
        dependence: How far each pair is from independent, in rows (L1), noisy.
        cells: Number of cells of each pair.
        loss: What there is to measure the chosen ones.

    Example:
        >>> dense_pairs(np.array([900.0, 5.0, 800.0]), cells=[16, 4, 16], loss=0.1)
        [0, 2]
    """
    weights = np.asarray(cells, dtype=np.float64) ** (2 / 3)
    price = math.sqrt(2 / (math.pi * loss))
    spent, chosen, open_ = 0.0, [], np.ones(len(weights), dtype=bool)
    while open_.any():
        gain = dependence - price * ((spent + weights) ** 1.5 - spent**1.5)
        best = int(np.argmax(np.where(open_, gain, -np.inf)))
        if gain[best] <= 0:
            break
        chosen.append(best)
        spent += weights[best]
        open_[best] = False
    return chosen


def merged(pairs: Iterable[Clique], sizes: Sequence[int], most_cells: int) -> list[Clique]:
    """Return cliques that hold all pairs: small triangles and larger cliques as one table each.

    The largest come first. One is taken if it has few cells and at most two attributes in common
    with those taken before; pairs that are in none stay as they are.

    Args:
        pairs: The chosen pairs.
        sizes: Number of values of each attribute.
        most_cells: The most cells of a table of three attributes or more.

    Example:
        >>> merged([(0, 1), (0, 2), (1, 2), (2, 3)], [2, 2, 2, 2], most_cells=100)
        [(0, 1, 2), (2, 3)]
    """
    left = list(pairs)
    taken: list[Clique] = []
    covered: set[int] = set()
    for clique in sorted(_cliques(left, sizes, most_cells), key=len, reverse=True):
        if len(covered & set(clique)) <= 2:  # noqa: PLR2004
            taken.append(clique)
            covered |= set(clique)
    return taken + [pair for pair in left if not any(set(pair) <= set(one) for one in taken)]


def _cliques(pairs: Iterable[Clique], sizes: Sequence[int], most_cells: int) -> list[Clique]:
    """Return the cliques of three attributes and more of the graph of pairs that are small."""
    later: dict[int, set[int]] = {}
    for one, other in pairs:
        later.setdefault(min(one, other), set()).add(max(one, other))
    found: list[Clique] = []
    level: list[Clique] = sorted((one, two) for one, others in later.items() for two in others)
    while level and len(level) <= _MOST_CLIQUES:
        level = [
            (*clique, new)
            for clique in level
            for new in sorted(set.intersection(*(later.get(one, set()) for one in clique)))
            if math.prod(sizes[one] for one in clique) * sizes[new] <= most_cells
        ]
        found += level
    return found
