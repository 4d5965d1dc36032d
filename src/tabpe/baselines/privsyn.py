"""PrivSyn: many small marginals that agree, and rows that follow them (Zhang et al., 2021).

Of all pairs of attributes those are measured whose dependence is worth the noise. Pairs that form
small cliques are measured as one. What was measured is made consistent, and rows are moved until
they follow it. No model stands between marginals and rows, so there is no limit to how they may
overlap.

What differs from the published method:

- Dependence is the distance of a pair from the product of noisy 1-way marginals, which is public
  when it is asked for. So a row changes it by at most 1. The distance from the product of exact
  ones (InDif), as in the paper, changes by up to 4, and needs four times the noise.
- An attribute in no chosen pair is measured once more by itself, not joined to the next best pair.
- New rows of a cell are copies and completions in equal parts, throughout. Alternating that with
  copies alone, as the authors' code does, leaves half as many distinct rows and more error.
- Attributes with one neighbour are updated like the others, not appended at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe import _validate
from tabpe.baselines.consistency import consistent
from tabpe.baselines.dense import dense_pairs, merged, split_loss
from tabpe.baselines.dependence import measured, measured_singles, pair_dependence
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique, Rows
from tabpe.baselines.gum import Target, gradually_update, independent_rows
from tabpe.baselines.markov import Measured
from tabpe.privacy.plan import Part, sigma_for

# Parts of the loss: for 1-way marginals and for the dependence of pairs. The rest is for marginals.
_SINGLES, _DEPENDENCE = 0.1, 0.1


@dataclass(frozen=True)
class PrivSyn:
    """PrivSyn, with the settings of the paper.

    Args:
        consistency_rounds: The most turns between agreement and counts above zero.
        update_rounds: How often the rows are moved towards each marginal.
        most_cells: The most cells of a marginal of three attributes or more.

    Example:
        >>> PrivSyn().update_rounds
        50
    """

    name: ClassVar[str] = "PrivSyn"
    adaptive: ClassVar[bool] = True
    binned: ClassVar[bool] = True

    consistency_rounds: int = 501
    update_rounds: int = 50
    most_cells: int = 5000

    def __post_init__(self) -> None:
        for name in ("consistency_rounds", "update_rounds", "most_cells"):
            _validate.whole(name, getattr(self, name), least=1)

    def parts(self, attributes: int) -> tuple[Part, ...]:  # noqa: ARG002
        """Return nothing: what is measured, and how well, follows from what was measured before."""
        return ()

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return `size` rows that follow noisy marginals of the private ones."""
        loss = desk.left
        singles = measured_singles(desk, loss * _SINGLES)
        dependence = pair_dependence(desk, singles, loss * _DEPENDENCE)
        pairs = _worth_measuring(desk, dependence)
        cliques = _with_all(merged(pairs, desk.domain.sizes, self.most_cells), len(singles))
        tables = _measured(desk, cliques, desk.left)
        counts = consistent([*singles, *tables], rounds=self.consistency_rounds)
        shares = [some / some.sum() for some in counts]
        targets = [
            Target(clique, some)
            for clique, some in zip(cliques, shares[len(singles) :], strict=True)
        ]
        start = independent_rows(shares[: len(singles)], size, desk.rng)
        rows = gradually_update(start, targets, rounds=self.update_rounds, rng=desk.rng)
        return desk.rows_of(rows)


def _worth_measuring(desk: Desk, dependence: Mapping[Clique, float]) -> list[Clique]:
    """Return the pairs of attributes whose dependence is worth the noise of measuring it."""
    pairs = list(dependence)
    cells = [desk.domain.cells(pair) for pair in pairs]
    chosen = dense_pairs(np.array(list(dependence.values())), cells, desk.left)
    return [pairs[place] for place in chosen]


def _with_all(cliques: list[Clique], attributes: int) -> list[Clique]:
    """Add attributes that are in no clique, each by itself."""
    held = set(itertools.chain.from_iterable(cliques))
    return cliques + [(place,) for place in range(attributes) if place not in held]


def _measured(desk: Desk, cliques: Sequence[Clique], loss: float) -> list[Measured]:
    """Return the noisy counts of cliques; those with more cells have less noise on each."""
    cells = [desk.domain.cells(clique) for clique in cliques]
    parts = zip(cliques, cells, split_loss(cells, loss), strict=True)
    return [
        one
        for clique, size, part in parts
        for one in measured(desk, f"marginals of {size:,} cells", [clique], sigma_for(float(part)))
    ]
