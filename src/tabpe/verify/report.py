"""What was found out about a certificate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tabpe.privacy.guarantee import Guarantee

OK, FAILED, GIVEN = "OK", "FAILED", "GIVEN"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Args:
        name: What was looked at.
        outcome: `OK`; `FAILED`; or `GIVEN`, if the promise holds under a condition.
        words: What was found.
    """

    name: str
    outcome: str
    words: str


@dataclass(frozen=True)
class Verification:
    """What was found out about a certificate.

    Args:
        checks: What was looked at.
        guarantee: What is promised and what is not, if all holds; None if the fields of the
            certificate can not be read.
        not_checked: What nobody can tell from these files.
    """

    checks: tuple[Check, ...]
    guarantee: Guarantee | None
    not_checked: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing failed."""
        return all(check.outcome != FAILED for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "holds": self.holds,
            "checks": [asdict(check) for check in self.checks],
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "not_checked": list(self.not_checked),
        }
