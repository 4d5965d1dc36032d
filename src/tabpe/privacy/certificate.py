"""The promise in writing: what a custodian can sign."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabpe.privacy import reading
from tabpe.privacy.accounting import told_chance
from tabpe.privacy.adjacency import Neighbours
from tabpe.privacy.attachments import LedgerEntry, WrittenTable
from tabpe.privacy.bill import BillItem
from tabpe.privacy.delta import RowCount
from tabpe.privacy.guarantee import Guarantee, guarantee_of, round_up

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
        delta_rows: The noisy number of rows that delta follows; None if delta follows none. The
            bill is then composed at a smaller delta than the promised one (docs/privacy.md).
        neighbours: The neighbouring relation.
        unit: The column that tells users apart; None if the promise is for rows.
        bill: Everything that touched private rows.
        accountant: How the bill was composed.
        noise: The source of the noise.
        private: False if a fake source was used, for tests.
        schema: The schema, as plain values.
        schema_digest: SHA-256 of the schema.
        fields_from_data: Fields of the schema that were read off the data: not covered.
        bought: Fields of the schema that were bought under the bill.
        assumed_public: What was taken as public knowledge.
        configuration: The settings of the run.
        seed_policy: What `random_state` drives and what it does not.
        versions: Versions of the software that matter.
        created: When, in UTC.
        notes: What else a reader should know.
        strict: Whether a cell that does not fit the schema would have ended the run: then it is
            not covered whether there is a release.
        adaptive: Whether noise may follow earlier answers: the promise is then that of a limit
            that was fixed at the beginning.
        filter: What that limit is in: `ZCDP` or `GAUSSIAN_DP` (`tabpe.privacy.concentrated`). None
            if the plan was fixed. Certificates from before there was this field have a limit of
            zCDP if they are adaptive.
        measurements_sha256: SHA-256 of all noisy measurements, in their order; None in certificates
            of format 1, which had none.
        release: The table that was written; None as long as none was.
        ledger: Where the charge is recorded; None if there is no ledger.
    """

    epsilon: float
    delta: float
    delta_slack: float
    requested_epsilon: float
    delta_source: str
    delta_rows: RowCount | None
    neighbours: Neighbours
    unit: str | None
    bill: tuple[BillItem, ...]
    accountant: str
    noise: str
    private: bool
    schema: Mapping[str, Any]
    schema_digest: str
    fields_from_data: tuple[str, ...]
    bought: tuple[str, ...]
    assumed_public: tuple[str, ...]
    configuration: Mapping[str, Any]
    seed_policy: str
    versions: Mapping[str, str]
    created: str
    notes: tuple[str, ...] = field(default=())
    adaptive: bool = False
    strict: bool = False
    measurements_sha256: str | None = None
    filter: str | None = None
    release: WrittenTable | None = None
    ledger: LedgerEntry | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file, and what follows from them."""
        head = {"format": self.format, "status": self.status}
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if self.measurements_sha256 is None:
            del plain["measurements_sha256"], plain["strict"]
        relation = plain.pop("neighbours")
        plain["adjacency"] = relation.adjacency.value
        plain["max_rows_per_user"] = relation.max_rows
        plain["bill"] = [self._item(item) for item in self.bill]
        if self.filter is None:  # as it was before there was this field, so that digests stay
            del plain["filter"]
        for name in ("delta_rows", "release", "ledger"):
            plain[name] = None if plain[name] is None else dataclasses.asdict(plain[name])
        plain["guarantee"] = self.guarantee.to_dict()
        return head | {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}

    @property
    def format(self) -> int:
        """The format of its file: a certificate that was read is written as it was."""
        return 1 if self.measurements_sha256 is None else reading.FORMAT

    @property
    def digest(self) -> str:
        """SHA-256 of the certificate in canonical JSON: what a ledger notes.

        Without `release`, because one run may be written to several files.
        """
        plain = self.to_dict() | {"release": None}
        canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _item(self, item: BillItem) -> dict[str, Any]:
        return {
            **item.to_dict(),
            "sensitivity": math.sqrt(self.neighbours.squared_distance),
            "parts_a_count": self.neighbours.scale,
            "share": self.share(item),
            "delta_slack": self.slack(item),
        }

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """Read a certificate from plain values.

        What follows from other fields is checked for its type and then left out: it is derived
        anew. `tabpe.verify` tells whether it was the same.

        Raises:
            ArchiveError: If it is no certificate, or fields of it are missing, unknown or
                malformed (`FieldError`); they are named.
        """
        return cls(**reading.fields_of(plain))

    def for_file(self, table: WrittenTable) -> Certificate:
        """Return the certificate of the same promise that names the table that was written."""
        return dataclasses.replace(self, release=table)

    @property
    def accounted_delta(self) -> float:
        """The delta that the bill is composed at, before slack; at most `delta`."""
        return self.delta if self.delta_rows is None else self.delta_rows.calibration_delta

    @property
    def guarantee(self) -> Guarantee:
        """What is promised and what is not, in plain words."""
        return guarantee_of(
            self.epsilon,
            self.delta,
            self.neighbours,
            private=self.private,
            fields_from_data=self.fields_from_data,
            unit=self.unit,
            strict=self.strict,
        )

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
        lines += _entry("neighbours", self._neighbours_in_words())
        width = max(len(item.name) for item in self.bill)
        for place, item in enumerate(self.bill):
            noise = f"{item.times:>3} x sigma {item.sigma:<9.5g}"
            row = f"{item.name:<{width}} {noise}{self.share(item):>7.1%}"
            lines += _entry("" if place else "bill", row)
        if self.told:
            lines += _entry("told", self._told_in_words())
        if self.delta_slack:
            lines += _entry("slack", self._slack_in_words())
        lines += _entry("accountant", self.accountant)
        if self.adaptive:
            lines += _entry("adaptive", "noise may follow earlier answers, within a fixed limit")
        lines += _entry("noise", self.noise)
        lines += _entry("seeds", self.seed_policy)
        for place, fact in enumerate(self.assumed_public):
            lines += _entry("" if place else "public", fact)
        if self.bought:
            lines += _entry("bought", ", ".join(self.bought))
        for place, note in enumerate(self.notes):
            lines += _entry("" if place else "notes", note)
        lines += _entry("schema", f"sha256 {self.schema_digest[:16]}...")
        if self.measurements_sha256 is not None:
            lines += _entry("measured", f"sha256 {self.measurements_sha256[:16]}...")
        if self.release is not None:
            named = f"{self.release.file}: {self.release.rows:,} rows"
            lines += _entry("table", f"{named}, sha256 {self.release.sha256[:16]}...")
        if self.ledger is not None:
            lines += _entry("ledger", f"{self.ledger.dataset}, entry {self.ledger.entry}")
        lines += _entry("made", f"{self.created} by tabpe {self.versions.get('tabpe', '?')}")
        return "\n".join(lines)

    def _neighbours_in_words(self) -> str:
        meaning, most = self.neighbours.meaning, self.neighbours.max_rows
        if most is None:
            return meaning
        return f"{meaning}; a user is a value of {self.unit!r}, with {most} rows at most"

    @property
    def told(self) -> float:
        """The part of delta that is the chance to tell a value that one row alone holds."""
        return told_chance(self.bill, self.neighbours)

    def _told_in_words(self) -> str:
        whose = "one user" if self.neighbours.of_users else "one row"
        return (
            f"{round_up(self.told, 3):g} of delta is the chance that a value is told that {whose} "
            f"alone holds"
        )

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


def _entry(title: str, text: str) -> list[str]:
    first, *rest = textwrap.wrap(text, _WIDTH - 14, drop_whitespace=True) or [""]
    return [f"  {title:<12}{first}", *(f"  {'':<12}{line}" for line in rest)]
