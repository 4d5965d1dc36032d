"""The privacy guarantee in words, and whether a report may be released.

`AttackerBound` states (epsilon, delta) as what an attacker can achieve. Everything follows from
(epsilon, delta) alone and holds for every attacker, whatever they know. Figures are rounded toward
a weaker guarantee.

A report says that it may be released only if all conditions were checked: the synthetic rows are
those of the certificate, the certificate holds, and nothing that is shown was read from the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tabpe.accounting import ROW_LEVEL, Adjacency, Certificate, NeighboringRelation
from tabpe.accounting.pld import round_up
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.text import format_rounded_up, quote_name
from tabpe.verification import FAILED
from tabpe.verification.verify import OK

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARMS = 0.05
# Evidence so many times as likely as delta: delta adds a hundredth to the factor of the odds.
COMMON = 100
_LARGEST = 700.0  # epsilon for which e^epsilon is a float; beyond it the bound is trivial anyway


@dataclass(frozen=True)
class BeliefBound:
    """Bound on the posterior belief of an attacker.

    Args:
        prior: The belief before the release.
        most: The largest belief after it.
    """

    prior: float
    most: float


@dataclass(frozen=True)
class AttackerBound:
    """(epsilon, delta)-differential privacy as bounds on an attacker.

    Args:
        epsilon: The epsilon.
        delta: The delta.
        neighbours: The neighbouring relation.
        unit: The column that identifies users; None if the guarantee is for rows.

    Example:
        >>> bound = AttackerBound(epsilon=1.0, delta=1e-6)
        >>> round(bound.bound_belief(0.5).most, 3), round(bound.detection(0.05), 3)
        (0.733, 0.136)
    """

    epsilon: float
    delta: float
    neighbours: NeighboringRelation = ROW_LEVEL
    unit: str | None = None

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> AttackerBound:
        """Return the bound that a certificate gives."""
        return cls(certificate.epsilon, certificate.delta, certificate.neighbours, certificate.unit)

    def bound_belief(self, prior: float) -> BeliefBound:
        """Return the largest posterior after evidence of probability at least `COMMON` * delta.

        Let S be the evidence, and P(S | in) = t >= COMMON * delta. As t <= e^epsilon P(S | out) +
        delta, the odds grow by at most t / P(S | out) <= e^epsilon t / (t - delta).
        """
        factor = _compute_exp(self.epsilon) / (1 - 1 / COMMON if self.delta else 1)
        return BeliefBound(prior, _update_belief(prior, factor))

    @property
    def beliefs(self) -> tuple[BeliefBound, ...]:
        """The bounds for the priors `PRIORS`."""
        return tuple(self.bound_belief(prior) for prior in PRIORS)

    def detection(self, false_alarms: float = FALSE_ALARMS) -> float:
        """Return the largest true positive rate of a test with this false positive rate."""
        grows = _compute_exp(self.epsilon) * false_alarms + self.delta
        saturates = 1 - (1 - false_alarms - self.delta) * math.exp(-self.epsilon)
        return min(1.0, grows, saturates)

    @property
    def question(self) -> str:
        """The question of the attacker."""
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
        """The guarantee in a sentence.

        Example:
            >>> print(AttackerBound(1.0, 1e-6).words)
            An attacker who gives even odds that a certain person is in the table can be at most \
73.4% sure after seeing the release. With a probability of at most 0.01% (100 times delta) a \
release may reveal more.
        """
        whom, what = (
            ("user", "sets of rows") if self.neighbours.is_user_level else ("person", "rows")
        )
        guess = f"to two possible {what} of a certain {whom}"
        if self.neighbours.adjacency is Adjacency.ADD_REMOVE:
            guess = f"that a certain {whom} is in the table"
        most = format_certainty(self.bound_belief(0.5).most)
        exception = (
            f" With a probability of at most {format_certainty(self.exception)} ({COMMON} times "
            f"delta) a release may reveal more."
        )
        return (
            f"An attacker who gives even odds {guess} can be at most {most} sure after seeing the "
            f"release.{exception if self.delta else ''}"
        )

    @property
    def exception(self) -> float:
        """The largest probability of a release that exceeds `bound_belief`.

        Let T be all such releases. Each is more than e^epsilon / (1 - 1/COMMON) times as likely
        with the row as without it, so P(T | in) / COMMON < P(T | in) - e^epsilon P(T | out), and
        that is at most delta.
        """
        return min(1.0, COMMON * self.delta)


def format_certainty(probability: float) -> str:
    """Return a probability as a percentage of three digits, rounded up.

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


# The name of the check of `tabpe.verify` that compares a table with that of the certificate.
TABLE = "table"


def list_doubts(contents: ReportContents) -> tuple[str, ...]:
    """Return why a report does not say that it may be released; empty if it does."""
    return tuple(_find_doubts(contents))


def list_fields_from_data(contents: ReportContents) -> tuple[str, ...]:
    """Return all fields of the schemas of the report that were read from the data."""
    certificate, measures = contents.certificate, contents.private_measures
    fields = [
        *(() if certificate is None else certificate.fields_from_data),
        *contents.fields_from_data,
        *(() if measures is None else measures.certificate.fields_from_data),
    ]
    return tuple(dict.fromkeys(fields))


def list_failures(contents: ReportContents) -> tuple[str, ...]:
    """Return the failed checks of the certificate."""
    checked = contents.verification
    checks = () if checked is None else checked.checks
    return tuple(check.words for check in checks if check.outcome == FAILED)


def _find_doubts(contents: ReportContents) -> Iterator[str]:
    certificate, measures = contents.certificate, contents.private_measures
    if contents.mode != "public":
        yield "it holds statistics of the real rows that are not private"
    # Refused at construction, but a mapping may have been changed since.
    elif contents.not_private:
        yield f"it holds {', '.join(contents.not_private)}, read from real rows without noise"
    if certificate is None:
        yield "the synthetic rows have no privacy certificate"
    elif not certificate.private:
        yield "the synthetic rows were made with fake noise"
    elif list_failures(contents):
        yield "the certificate of the synthetic rows does not hold"
    elif not is_compared(contents):
        yield "the synthetic rows were not compared with the table that the certificate names"
    if measures is not None and not measures.certificate.private:
        yield "the privately estimated measures were made with fake noise"
    if list_fields_from_data(contents):
        yield "fields of the schema were read from the data"


def is_compared(contents: ReportContents) -> bool:
    """Return whether the rows were verified to be those that the certificate names."""
    checks = () if contents.verification is None else contents.verification.checks
    return any(check.name == TABLE and check.outcome == OK for check in checks)


def describe_total(certificate: Certificate) -> str:
    """Return what all runs on the data set have spent, as its ledger says; empty if unknown."""
    total = None if certificate.statement is None else certificate.statement.total
    if total is None:
        return ""
    dataset = ""
    if certificate.ledger is not None:
        dataset = f" on {quote_name(certificate.ledger.dataset)}"
    runs = "1 run" if total.runs == 1 else f"{total.runs:,} runs"
    if total.epsilon is None or total.delta is None:
        return f"{runs}{dataset}, this one included. The ledger sets no budget, so no total."
    words = (
        f"{runs}{dataset}, this one included: epsilon {format_rounded_up(total.epsilon)} "
        f"at delta {format_rounded_up(total.delta, 3)} together"
    )
    return words + ("." if total.budget is None else f", of a budget of {total.budget:g}.")
