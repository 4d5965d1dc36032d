"""What a certificate guarantees in words, and whether a report may be released.

What a certificate promises, for a reader in a hurry: epsilon as the odds of an attacker.

All of it follows from (epsilon, delta) alone and holds for every attacker, whatever they know.
Where a figure is rounded, it is rounded toward a weaker promise.

Whether a report may say of itself that it may be released.

It says so only if all that this rests on was looked at: the synthetic rows are those of the
certificate, the certificate holds, and nothing that is shown was read off the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tabpe.accounting import ROW_LEVEL, Adjacency, Certificate, NeighboringRelation
from tabpe.accounting.certificate import round_up
from tabpe.evaluation.report.contents import ReportContents
from tabpe.verification import FAILED
from tabpe.verification.verify import OK

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARMS = 0.05
# Evidence so many times as likely as delta: delta adds a hundredth to the factor of the odds.
COMMON = 100
_LARGEST = 700.0  # of epsilon, for a factor that is a float: beyond, nothing is promised anyway


@dataclass(frozen=True)
class BeliefBound:
    """How far a belief can grow.

    Args:
        prior: How sure an attacker is before the release.
        most: How sure at most after it.
    """

    prior: float
    most: float


@dataclass(frozen=True)
class AttackerBound:
    """(epsilon, delta)-differential privacy as what an attacker can do.

    Args:
        epsilon: The epsilon.
        delta: The delta.
        neighbours: The neighbouring relation.
        unit: The column that tells users apart; None if the promise is for rows.

    Example:
        >>> promise = AttackerBound(epsilon=1.0, delta=1e-6)
        >>> round(promise.bound_belief(0.5).most, 3), round(promise.detection(0.05), 3)
        (0.733, 0.136)
    """

    epsilon: float
    delta: float
    neighbours: NeighboringRelation = ROW_LEVEL
    unit: str | None = None

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> AttackerBound:
        """Return the promise of a certificate."""
        return cls(certificate.epsilon, certificate.delta, certificate.neighbours, certificate.unit)

    def bound_belief(self, prior: float) -> BeliefBound:
        """Return how far a belief can grow by evidence that is `COMMON` times as likely as delta.

        Let S be the evidence, and P(S | in) = t >= COMMON * delta. As t <= e^epsilon P(S | out) +
        delta, the odds grow by t / P(S | out) <= e^epsilon t / (t - delta) at most.
        """
        factor = _compute_exp(self.epsilon) / (1 - 1 / COMMON if self.delta else 1)
        return BeliefBound(prior, _update_belief(prior, factor))

    @property
    def beliefs(self) -> tuple[BeliefBound, ...]:
        """How far the usual beliefs can grow."""
        return tuple(self.bound_belief(prior) for prior in PRIORS)

    def detection(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return how many of those in the table the best test finds, at so many false alarms."""
        grows = _compute_exp(self.epsilon) * false_alarms + self.delta
        saturates = 1 - (1 - false_alarms - self.delta) * math.exp(-self.epsilon)
        return min(1.0, grows, saturates)

    @property
    def question(self) -> str:
        """What the attacker asks.

        Example:
            >>> AttackerBound(1.0, 1e-6).question
            'Is the row of a certain person in the table, or not?'
        """
        if self.neighbours.is_user_level:
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
            >>> print(AttackerBound(1.0, 1e-6).words)
            Someone who is 50% sure that a certain person is in the table is at most 73.4% sure \
after seeing the release, but for a chance of 0.01%.
        """
        most = format_certainty(self.bound_belief(0.5).most)
        return (
            f"Someone who is 50% sure that {self._guess} is at most {most} sure after seeing the "
            f"release{self._exception}."
        )

    @property
    def exception(self) -> float:
        """How likely at most a release is that moves a belief further than `bound_belief` says.

        Let T be all such releases. Each is more than e^epsilon / (1 - 1/COMMON) times as likely
        with the row as without it, so P(T | in) / COMMON < P(T | in) - e^epsilon P(T | out), and
        that is delta at most.
        """
        return min(1.0, COMMON * self.delta)

    @property
    def _exception(self) -> str:
        return f", but for a chance of {format_certainty(self.exception)}" if self.delta else ""

    @property
    def _guess(self) -> str:
        if self.neighbours.adjacency is Adjacency.ADD_REMOVE:
            return f"a certain {self._whom} is in the table"
        return f"a certain {self._whom} has one of two possible {self._what}"

    @property
    def _whom(self) -> str:
        return "user" if self.neighbours.is_user_level else "person"

    @property
    def _what(self) -> str:
        return "sets of rows" if self.neighbours.is_user_level else "rows"


def format_certainty(probability: float) -> str:
    """Return a chance as a percentage of three digits, rounded up.

    Example:
        >>> format_certainty(0.73106), format_certainty(0.999999), format_certainty(0.0005)
        ('73.2%', '> 99.9%', '0.05%')
    """
    if 0.999 < probability < 1:  # noqa: PLR2004
        return "> 99.9%"
    return f"{round_up(100 * probability, 3):g}%" if probability > 0 else "0%"


def _update_belief(prior: float, factor: float) -> float:
    odds = factor * prior / (1 - prior)
    return odds / (1 + odds)


def _compute_exp(epsilon: float) -> float:
    return math.exp(min(epsilon, _LARGEST))


# How `tabpe.verify` calls the comparison of a table with the one that a certificate names.
TABLE = "table"


def list_doubts(contents: ReportContents) -> tuple[str, ...]:
    """Return why a report does not say that it may be released; empty if it does.

    Example:
        >>> list_doubts(ReportContents("public", "t", {"synthetic": 9}, None, (), {}))
        ('no certificate says what the synthetic rows promise',)
    """
    return tuple(_find_doubts(contents))


def list_fields_from_data(contents: ReportContents) -> tuple[str, ...]:
    """Return all fields of schemas that were read off the data: of the rows, and of what is shown.

    Example:
        >>> list_fields_from_data(ReportContents("public", "t", {}, None, (), {}, fields_from_data=("a.min",)))
        ('a.min',)
    """
    certificate, bought = contents.certificate, contents.bought
    found = [
        *(() if certificate is None else certificate.fields_from_data),
        *contents.fields_from_data,
        *(() if bought is None else bought.certificate.fields_from_data),
    ]
    return tuple(dict.fromkeys(found))


def list_failures(contents: ReportContents) -> tuple[str, ...]:
    """Return what of the certificate does not hold.

    Example:
        >>> list_failures(ReportContents("public", "t", {"synthetic": 9}, None, (), {}))
        ()
    """
    checked = contents.verification
    checks = () if checked is None else checked.checks
    return tuple(check.words for check in checks if check.outcome == FAILED)


def _find_doubts(contents: ReportContents) -> Iterator[str]:
    certificate, bought = contents.certificate, contents.bought
    if contents.mode != "public":
        yield "it holds statistics of the real rows that are not private"
    # Refused when it was made; a mapping that was changed since is not.
    elif contents.not_private:
        yield f"it holds {', '.join(contents.not_private)}, read off real rows without noise"
    if certificate is None:
        yield "no certificate says what the synthetic rows promise"
    elif not certificate.private:
        yield "the synthetic rows were made with fake noise"
    elif list_failures(contents):
        yield "the certificate of the synthetic rows does not hold"
    elif not _is_compared(contents):
        yield "the synthetic rows were not compared with the table that a certificate names"
    if bought is not None and not bought.certificate.private:
        yield "the bought measures were made with fake noise"
    if list_fields_from_data(contents):
        yield "fields of the schema were read off the data"


def _is_compared(contents: ReportContents) -> bool:
    """Whether the rows are known to be those of the certificate. Else they may be any."""
    checks = () if contents.verification is None else contents.verification.checks
    return any(check.name == TABLE and check.outcome == OK for check in checks)
