"""What an audit found: values, and a table for people."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from dataclasses import dataclass
from typing import Any

from tabpe.audit.bounds import ALARM, SCORES_ALARM

WIDTH = 80
_MEANING = """\
'shown' is a lower bound on epsilon: attacks on the audited code prove, except with probability \
{alarm:g}, that epsilon is at least that. 'visible' is the most that this attack could have shown \
with so many samples; it can not refute a claim beyond that. A bound above the claim refutes the \
guarantee, and so does noise that repeats, or a row that changes a histogram by more than 1 in L2 \
norm. A bound below the claim proves nothing: an audit can refute a guarantee, never prove it. The \
proof of this one is in docs/explanation/proofs.md."""


@dataclass(frozen=True)
class PrivacyClaim:
    """What is guaranteed.

    Args:
        epsilon: The epsilon.
        delta: The delta.
    """

    epsilon: float
    delta: float


@dataclass(frozen=True)
class EpsilonLowerBound:
    """How large epsilon must be, by one attack.

    Args:
        test: What was attacked, and how.
        claim: What was guaranteed there.
        epsilon: The lower bound.
        visible: The largest bound that the attack could have shown.
        samples: How many rows, runs or guesses it rests on.

    Example:
        >>> EpsilonLowerBound(
        ...     "votes", PrivacyClaim(1.0, 1e-5), epsilon=1.2, visible=8.0, samples=1000
        ... ).holds
        False
    """

    test: str
    claim: PrivacyClaim
    epsilon: float
    visible: float
    samples: int

    @property
    def holds(self) -> bool:
        """Whether it is under the claim."""
        return self.epsilon <= self.claim.epsilon

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What the table says: shown, visible, claimed, verdict."""
        shown, visible = f"{self.epsilon:.2f}", f"{self.visible:.2f}"
        return shown, visible, f"{self.claim.epsilon:g}", self._verdict

    @property
    def _verdict(self) -> str:
        if not self.holds:
            return "ABOVE THE CLAIM"
        far_enough = self.visible > self.claim.epsilon
        return "under the claim" if far_enough else "out of sight"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {"kind": "lower bound on epsilon", **dataclasses.asdict(self), "holds": self.holds}


@dataclass(frozen=True)
class NoiseRepetition:
    """Whether noise repeats.

    Args:
        test: Which noise was compared with which.
        p_value: The chance of as much likeness, or more, if the noise is independent.
        samples: How many numbers were compared.

    Example:
        >>> NoiseRepetition("noise of two rounds", p_value=0.3, samples=1000).holds
        True
    """

    test: str
    p_value: float
    samples: int

    @property
    def holds(self) -> bool:
        """Whether so much likeness may be due to chance."""
        return self.p_value >= SCORES_ALARM

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What the table says."""
        verdict = "no repetition" if self.holds else "NOISE REPEATS"
        return (f"p {self.p_value:.1g}", "", "", verdict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {"kind": "repetition of noise", **dataclasses.asdict(self), "holds": self.holds}


@dataclass(frozen=True)
class NeighborDistance:
    """How far one row or user moves what is measured, at most.

    Args:
        test: What was compared.
        moved: The largest distance between a histogram of one table and of its neighbour.
        samples: How many pairs of tables were compared.

    Example:
        >>> NeighborDistance("storage: one row more", moved=1.0, samples=56).holds
        True
    """

    test: str
    moved: float
    samples: int

    @property
    def holds(self) -> bool:
        """Whether that is what the accounting assumes."""
        return self.moved <= 1.0

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What the table says."""
        verdict = "counts one" if self.holds else "COUNTS MORE THAN ONE"
        return f"L2 {self.moved:.2g}", "", "", verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {"kind": "distance of neighbours", **dataclasses.asdict(self), "holds": self.holds}


Finding = EpsilonLowerBound | NoiseRepetition | NeighborDistance


@dataclass(frozen=True)
class AuditReport:
    """All findings about one system.

    Args:
        system: What was audited.
        claim: The guarantee that was asked for.
        findings: What each test found.

    Example:
        >>> shown = EpsilonLowerBound(
        ...     "votes", PrivacyClaim(1.0, 1e-5), epsilon=0.6, visible=8.0, samples=1000
        ... )
        >>> report = AuditReport("as shipped", shown.claim, (shown,))
        >>> report.holds, report.to_dict()["findings"][0]["epsilon"]
        (True, 0.6)
    """

    system: str
    claim: PrivacyClaim
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether no test refutes the guarantee."""
        return not self.refuting

    @property
    def refuting(self) -> tuple[str, ...]:
        """The tests that refute the guarantee."""
        return tuple(finding.test for finding in self.findings if not finding.holds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "system": self.system,
            "claim": dataclasses.asdict(self.claim),
            "alarm": ALARM,
            "holds": self.holds,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __str__(self) -> str:
        verdict = "nothing refutes it" if self.holds else "REFUTED"
        claim = f"epsilon {self.claim.epsilon:g}, delta {self.claim.delta:g}"
        head = [f"The guarantee of {claim}, {self.system}: {verdict}", ""]
        titles = ("shown", "visible", "claim", "verdict")
        rows = [_format_line("test", "samples", titles)]
        rows += [_format_line(f.test, f"{f.samples:,}", f.cells) for f in self.findings]
        return "\n".join([*head, *rows, "", textwrap.fill(_MEANING.format(alarm=ALARM), WIDTH)])


def _format_line(test: str, samples: str, cells: tuple[str, str, str, str]) -> str:
    shown, visible, claim, verdict = cells
    return f"{test:<33}{samples:>8}{shown:>8}{visible:>8}{claim:>6}  {verdict}"
