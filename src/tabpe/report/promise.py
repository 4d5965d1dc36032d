"""What a certificate promises, for a reader in a hurry: epsilon as the odds of an attacker.

All of it follows from (epsilon, delta) alone and holds for every attacker, whatever they know.
Where a figure is rounded, it is rounded toward a weaker promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabpe.privacy import ROWS, Adjacency, Certificate, Neighbours
from tabpe.privacy.guarantee import round_up

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARMS = 0.05
# Evidence so many times as likely as delta: delta adds a hundredth to the factor of the odds.
COMMON = 100
_LARGEST = 700.0  # of epsilon, for a factor that is a float: beyond, nothing is promised anyway


@dataclass(frozen=True)
class Belief:
    """How far a belief can grow.

    Args:
        prior: How sure an attacker is before the release.
        most: How sure at most after it.
    """

    prior: float
    most: float


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta)-differential privacy as what an attacker can do.

    Args:
        epsilon: The epsilon.
        delta: The delta.
        neighbours: The neighbouring relation.
        unit: The column that tells users apart; None if the promise is for rows.

    Example:
        >>> promise = Promise(epsilon=1.0, delta=1e-6)
        >>> round(promise.belief(0.5).most, 3), round(promise.detection(0.05), 3)
        (0.733, 0.136)
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = ROWS
    unit: str | None = None

    @classmethod
    def of(cls, certificate: Certificate) -> Promise:
        """Return the promise of a certificate."""
        return cls(certificate.epsilon, certificate.delta, certificate.neighbours, certificate.unit)

    def belief(self, prior: float) -> Belief:
        """Return how far a belief can grow by evidence that is `COMMON` times as likely as delta.

        Let S be the evidence, and P(S | in) = t >= COMMON * delta. As t <= e^epsilon P(S | out) +
        delta, the odds grow by t / P(S | out) <= e^epsilon t / (t - delta) at most.
        """
        factor = _exp(self.epsilon) / (1 - 1 / COMMON if self.delta else 1)
        return Belief(prior, _moved(prior, factor))

    @property
    def beliefs(self) -> tuple[Belief, ...]:
        """How far the usual beliefs can grow."""
        return tuple(self.belief(prior) for prior in PRIORS)

    def detection(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return how many of those in the table the best test finds, at so many false alarms."""
        grows = _exp(self.epsilon) * false_alarms + self.delta
        saturates = 1 - (1 - false_alarms - self.delta) * math.exp(-self.epsilon)
        return min(1.0, grows, saturates)

    @property
    def question(self) -> str:
        """What the attacker asks.

        Example:
            >>> Promise(1.0, 1e-6).question
            'Is the row of a certain person in the table, or not?'
        """
        if self.neighbours.of_users:
            whose = "all rows of a certain user"
            if self.neighbours.adjacency is Adjacency.ADD_REMOVE:
                return f"Are {whose} in the table, or none?"
            return f"Are {whose} these, or those?"
        if self.neighbours.adjacency is Adjacency.ADD_REMOVE:
            return "Is the row of a certain person in the table, or not?"
        return "Is the row of a certain person this one, or that one?"

    @property
    def words(self) -> str:
        """The promise in a sentence.

        Example:
            >>> print(Promise(1.0, 1e-6).words)
            Someone who is 50% sure that a certain person is in the table is at most 73.4% sure \
after seeing the release, but for a chance of 0.01%.
        """
        most = sure(self.belief(0.5).most)
        return (
            f"Someone who is 50% sure that {self._guess} is at most {most} sure after seeing the "
            f"release{self._exception}."
        )

    @property
    def exception(self) -> float:
        """How likely at most a release is that moves a belief further than `belief` says.

        Let T be all such releases. Each is more than e^epsilon / (1 - 1/COMMON) times as likely
        with the row as without it, so P(T | in) / COMMON < P(T | in) - e^epsilon P(T | out), and
        that is delta at most.
        """
        return min(1.0, COMMON * self.delta)

    @property
    def _exception(self) -> str:
        return f", but for a chance of {sure(self.exception)}" if self.delta else ""

    @property
    def _guess(self) -> str:
        if self.neighbours.adjacency is Adjacency.ADD_REMOVE:
            return f"a certain {self._whom} is in the table"
        return f"a certain {self._whom} has one of two possible {self._what}"

    @property
    def _whom(self) -> str:
        return "user" if self.neighbours.of_users else "person"

    @property
    def _what(self) -> str:
        return "sets of rows" if self.neighbours.of_users else "rows"


def sure(chance: float) -> str:
    """Return a chance as a percentage of three digits, rounded up.

    Example:
        >>> sure(0.73106), sure(0.999999), sure(0.0005)
        ('73.2%', '> 99.9%', '0.05%')
    """
    if 0.999 < chance < 1:  # noqa: PLR2004
        return "> 99.9%"
    return f"{round_up(100 * chance, 3):g}%" if chance > 0 else "0%"


def _moved(prior: float, factor: float) -> float:
    odds = factor * prior / (1 - prior)
    return odds / (1 + odds)


def _exp(epsilon: float) -> float:
    return math.exp(min(epsilon, _LARGEST))
