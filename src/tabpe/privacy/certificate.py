"""The promise in writing: what a custodian can sign."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

from tabpe.errors import ArchiveError
from tabpe.privacy.adjacency import Adjacency, Neighbours
from tabpe.privacy.bill import BillItem

FORMAT = 1
NOT_PRIVATE = "NOT PRIVATE"
_WIDTH = 78


@dataclass(frozen=True)
class Certificate:
    """What was promised, item by item.

    Args:
        epsilon: The epsilon that the bill composes to, rounded up; at most `requested_epsilon`.
        delta: The delta of the promise.
        delta_slack: The part of delta that pays for noise that is not exact.
        requested_epsilon: What was asked for.
        delta_source: Where delta comes from.
        neighbours: The neighbouring relation.
        bill: Everything that touched private rows.
        accountant: How the bill was composed.
        noise: The source of the noise.
        private: False if a fake source was used, for tests.
        schema_digest: SHA-256 of the schema.
        fields_from_data: Fields of the schema that were read off the data: not covered.
        assumed_public: What was taken as public knowledge.
        configuration: The settings of the run.
        seed_policy: What `random_state` drives and what it does not.
        versions: Versions of the software that matter.
        created: When, in UTC.
        notes: What else a reader should know.
    """

    epsilon: float
    delta: float
    delta_slack: float
    requested_epsilon: float
    delta_source: str
    neighbours: Neighbours
    bill: tuple[BillItem, ...]
    accountant: str
    noise: str
    private: bool
    schema_digest: str
    fields_from_data: tuple[str, ...]
    assumed_public: tuple[str, ...]
    configuration: Mapping[str, Any]
    seed_policy: str
    versions: Mapping[str, str]
    created: str
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        head = {"format": FORMAT, "status": self.status}
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        relation = plain.pop("neighbours")
        plain["adjacency"] = relation.adjacency.value
        plain["max_rows_per_user"] = relation.max_rows
        plain["bill"] = [
            {
                **item.to_dict(),
                "sensitivity": math.sqrt(self.neighbours.squared_distance),
                "share": self.share(item),
                "delta_slack": self.slack(item),
            }
            for item in self.bill
        ]
        return head | {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}

    @property
    def digest(self) -> str:
        """SHA-256 of the certificate in canonical JSON: what a ledger notes."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """Read a certificate from plain values."""
        if plain.get("format") != FORMAT:
            raise ArchiveError(f"certificate format {plain.get('format')!r}: expected {FORMAT}.")
        known: dict[str, Any] = {
            f.name: plain[f.name] for f in dataclasses.fields(cls) if f.name != "neighbours"
        }
        adjacency = Adjacency.of(plain["adjacency"])
        known["neighbours"] = Neighbours(adjacency, plain["max_rows_per_user"])
        known["bill"] = tuple(
            BillItem(item["name"], item["sigma"], item["times"], item["chance"])
            for item in known["bill"]
        )
        for name in ("fields_from_data", "assumed_public", "notes"):
            known[name] = tuple(known[name])
        return cls(**known)

    @property
    def status(self) -> str:
        """One word for the reader in a hurry."""
        if not self.private:
            return NOT_PRIVATE
        return "private, given the schema" if self.fields_from_data else "private"

    def share(self, item: BillItem) -> float:
        """Return which part of the bill an item is."""
        return item.loss / sum(one.loss for one in self.bill)

    def slack(self, item: BillItem) -> float:
        """Return which part of `delta_slack` an item takes: the same for every histogram."""
        return self.delta_slack * item.times / sum(one.times for one in self.bill)

    def __str__(self) -> str:
        lines = ["tabpe certificate", *self._warnings()]
        epsilon, delta = round_up(self.epsilon, 6), round_up(self.delta, 3)
        lines += _entry("promise", f"({epsilon:g}, {delta:g})-differential privacy")
        lines += _entry("asked for", f"epsilon {self.requested_epsilon:g}; {self.delta_source}")
        lines += _entry("neighbours", self.neighbours.meaning)
        for place, item in enumerate(self.bill):
            noise = f"{item.times:>3} x sigma {item.sigma:<9.5g}"
            row = f"{item.name:<13} {noise}{self.share(item):>7.1%}"
            lines += _entry("" if place else "bill", row)
        if self.delta_slack:
            lines += _entry("slack", self._slack_in_words())
        lines += _entry("accountant", self.accountant)
        lines += _entry("noise", self.noise)
        lines += _entry("seeds", self.seed_policy)
        for place, fact in enumerate(self.assumed_public):
            lines += _entry("" if place else "public", fact)
        for place, note in enumerate(self.notes):
            lines += _entry("" if place else "notes", note)
        lines += _entry("schema", f"sha256 {self.schema_digest[:16]}...")
        lines += _entry("made", f"{self.created} by tabpe {self.versions.get('tabpe', '?')}")
        return "\n".join(lines)

    def _slack_in_words(self) -> str:
        parts = [f"{round_up(self.slack(item), 2):g} for {item.name}" for item in self.bill]
        return (
            f"{round_up(self.delta_slack, 3):g} of delta pays for noise that is not exact: "
            f"{', '.join(parts)}; the rest is for the bill"
        )

    def _warnings(self) -> list[str]:
        fake = [f"  {NOT_PRIVATE}: made with a fake source of noise, for tests only."]
        if not self.fields_from_data:
            return [] if self.private else fake
        text = (
            "WARNING: these fields of the schema were read off the data and are not covered by "
            "the promise: " + ", ".join(self.fields_from_data)
        )
        read_off = [f"  {line}" for line in textwrap.wrap(text, _WIDTH - 2)]
        return read_off if self.private else fake + read_off


def round_up(value: float, digits: int) -> float:
    """Return a positive value with so many significant digits, rounded toward a weaker promise.

    Example:
        >>> round_up(0.123456, 3), round_up(1.0, 3)
        (0.124, 1.0)
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))


def _entry(title: str, text: str) -> list[str]:
    first, *rest = textwrap.wrap(text, _WIDTH - 14, drop_whitespace=True) or [""]
    return [f"  {title:<12}{first}", *(f"  {'':<12}{line}" for line in rest)]
