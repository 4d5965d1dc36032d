"""GEM: a generator network that is fitted to the marginals that it gets most wrong.

Liu, Vietri and Wu, "Iterative Methods for Private Synthetic Data" (2021). Each round chooses the
marginal of the workload that the model gets most wrong, measures it, and fits the network to the
cells of all measured marginals whose error stands out. The workload is all marginals of one degree,
and a marginal is measured whole: a row counts in one cell of it, so this costs as much as one cell.

What differs from the published method: marginals are scored by the sum of all their errors and
measured whole, not cell by cell; no marginal is measured twice; the network has a fixed width. How
much of the average network stays in a round (`smoothing`) was chosen on Adult and a made-up table.

Privacy: rows are read by `Desk.choose` and `Desk.marginals` alone. All else is made of their
answers and of `Desk.rng`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.baselines import relaxed
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique, Domain, Rows
from tabpe.baselines.generator import Generator
from tabpe.baselines.relaxed import Layout
from tabpe.baselines.training import Answers, Average, Training
from tabpe.errors import CapacityError
from tabpe.privacy.plan import EXPONENTIAL, Part

CHOICES = "choices of marginals"
MARGINALS = "marginals"


@dataclass(frozen=True)
class GEM:
    """The method and its settings; those of the paper's comparison by default.

    Args:
        degree: How many attributes a marginal of the workload has.
        rounds_an_attribute: Rounds, for each attribute; no marginal is chosen twice.
        points: The number of relaxed rows that the network makes.
        rate: The first rate of learning of a round.
        steps: The most steps of a round.
        noise: The number of random numbers that a relaxed row is made of.
        hidden: Width of the two hidden layers.
        worst: The most cells that a step looks at: those with the largest errors.
        smoothing: How much of the average of the networks stays as it is in a round.
        most_cells: The most cells that the workload may have.
    """

    name: ClassVar[str] = "GEM"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    degree: int = 2
    rounds_an_attribute: int = 5
    points: int = 1024
    rate: float = 1e-3
    steps: int = 500
    noise: int = 128
    hidden: int = 256
    worst: int = 100
    smoothing: float = 0.5
    most_cells: int = 50_000_000

    def __post_init__(self) -> None:
        for name in (
            "degree",
            "rounds_an_attribute",
            "points",
            "steps",
            "noise",
            "hidden",
            "worst",
        ):
            _validate.whole(name, getattr(self, name), least=1)
        _validate.real("rate", self.rate, above=0)

    def rounds(self, attributes: int) -> int:
        """Return the number of rounds."""
        marginals = math.comb(attributes, min(self.degree, attributes))
        return min(self.rounds_an_attribute * attributes, marginals)

    def parts(self, attributes: int) -> tuple[Part, ...]:
        """Return the plan: choices and measurements get one half each."""
        rounds = self.rounds(attributes)
        return (
            Part(CHOICES, 0.5, rounds, mechanism=EXPONENTIAL),
            Part(MARGINALS, 0.5, rounds),
        )

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return `size` rows of the average of the networks of the second half of all rounds."""
        domain, left = desk.domain, self._workload(desk.domain)
        training, rounds = self._training(desk), self.rounds(len(domain.sizes))
        weights, answers = training.generator.started(desk.rng), Answers(training.generator.layout)
        level, average = None, Average(self.smoothing)
        for done in range(rounds):
            rows = training.rows(weights)
            clique = left.pop(desk.choose(CHOICES, left, _guesses(rows, left, desk)))
            (counts,) = desk.marginals(MARGINALS, [clique])
            answers = answers.joined(clique, np.clip(counts.ravel() / desk.rows, 0.0, 1.0))
            level = _level(level, answers.errors(rows).max())
            weights = training.fitted(weights, answers, above=level / 2)
            if done >= rounds // 2:
                average = average.joined(weights)
        points = relaxed.in_turn(self.points, size, desk.rng)
        return desk.rows_of(relaxed.drawn(training.rows(average.weights), points, desk.rng))

    def _workload(self, domain: Domain) -> list[Clique]:
        degree = min(self.degree, len(domain.sizes))
        workload = list(itertools.combinations(range(len(domain.sizes)), degree))
        cells = sum(domain.cells(clique) for clique in workload)
        if cells > self.most_cells:
            raise CapacityError(
                f"GEM: the marginals of degree {degree} have {cells:,} cells, limit "
                f"{self.most_cells:,}: take a smaller degree, fewer bins, or a larger most_cells."
            )
        return workload

    def _training(self, desk: Desk) -> Training:
        noise = desk.rng.normal(size=(self.points, self.noise)).astype(np.float32)
        generator = Generator(Layout(desk.domain.sizes), noise, self.hidden)
        return Training(generator, self.rate, self.steps, self.worst)


def _guesses(
    rows: relaxed.Probabilities, cliques: list[Clique], desk: Desk
) -> list[NDArray[np.float64]]:
    """Return the counts that relaxed rows would have in marginals if they were as many rows."""
    shares = [
        relaxed.marginal(rows, clique).reshape(desk.domain.shape(clique)) for clique in cliques
    ]
    return [desk.rows * share.astype(np.float64) for share in shares]


def _level(before: float | None, largest: float) -> float:
    """Return the level of the largest errors, smoothed over rounds."""
    return largest if before is None else (before + largest) / 2
