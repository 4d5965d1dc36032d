"""`Certificate`: the privacy guarantee of a release in writing, for a custodian to sign.

It names the table that was written and the ledger that was charged. A certificate is read field by
field, and errors name the fields that do not fit. `certificate.schema.json` says the same for other
programs; a test compares the two.

`Guarantee` says in plain words what is guaranteed and what is not. Its sentences follow from the
numbers of a certificate and are a part of its format: whoever verifies a certificate derives them
again and compares. So they change only with the format.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tabpe._utils import validation
from tabpe._utils.serialization import is_plain
from tabpe.accounting.delta import RowCount
from tabpe.accounting.neighboring import Adjacency, NeighboringRelation
from tabpe.accounting.pld import compute_release_delta, round_up
from tabpe.accounting.spend import Spend
from tabpe.accounting.zcdp_filter import FILTERS
from tabpe.errors import ArchiveError, FieldError, ParameterError, shown


@dataclass(frozen=True)
class WrittenTable:
    """The file that a certificate lies beside.

    Args:
        file: Its name, without its folder.
        sha256: The SHA-256 of its bytes.
        rows: Its number of rows.
        size_bytes: Its length.
        formulas_escaped: Whether text that a spreadsheet would run has an apostrophe before it.
    """

    file: str
    sha256: str
    rows: int
    size_bytes: int
    formulas_escaped: bool = False


@dataclass(frozen=True)
class LedgerEntry:
    """Where the charge is recorded.

    Args:
        dataset: The name of the data set in the ledger.
        entry: The id of the entry.
    """

    dataset: str
    entry: str


LONGEST_PURPOSE, LONGEST_CONTACT = 400, 200


@dataclass(frozen=True)
class SpentTotal:
    """What all runs on a data set have spent, this one included, as its ledger says.

    Args:
        runs: The number of runs that count.
        epsilon: The epsilon that they compose to; None if it is not known.
        delta: The delta at which they are composed; None if it is not known.
        budget: The epsilon that all runs may spend; None if there is no limit.
    """

    runs: int
    epsilon: float | None = None
    delta: float | None = None
    budget: float | None = None


@dataclass(frozen=True)
class ReleaseStatement:
    """What the custodian states about a release; no program can check it.

    It is a part of the certificate, so a signature covers it. Nothing of it is read from the
    private rows.

    Args:
        purpose: What the table is released for.
        contact: Who answers questions about it, and declared what is public.
        total: What all runs on the data set have spent.

    Example:
        >>> ReleaseStatement(purpose="Teaching").contact is None
        True
        >>> ReleaseStatement(contact="")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: contact='': expected 1 to 200 printable characters in one \
line: remove line breaks, or shorten it.
    """

    purpose: str | None = None
    contact: str | None = None
    total: SpentTotal | None = None

    def __post_init__(self) -> None:
        for name, most in (("purpose", LONGEST_PURPOSE), ("contact", LONGEST_CONTACT)):
            validation.check_optional(_check_line, name, getattr(self, name), most=most)


def _check_line(name: str, value: Any, *, most: int) -> str:
    if isinstance(value, str) and value.strip() and len(value) <= most and _is_one_line(value):
        return value
    raise ParameterError(
        f"{name}={shown(value)}: expected 1 to {most} printable characters in one line: remove "
        f"line breaks, or shorten it."
    )


def _is_one_line(text: str) -> bool:
    """Whether all characters are printable, or join letters, which some scripts need."""
    return all(letter.isprintable() or letter in "\u200c\u200d" for letter in text)


FORMAT = 2  # format 1 does not say `measurements_sha256` and `strict`
SIGMAS, MOST_TIMES, MOST_ITEMS = (1e-3, 1e12), 10**9, 1000
_LONGEST, _LONGEST_OF_ONE, _MOST_SHOWN = 700, 300, 5
Reader = Callable[[str, Any], Any]


def parse_fields(plain: Any) -> dict[str, Any]:
    """Return what a `Certificate` is made of.

    Raises:
        FieldError: If fields are missing, unknown or malformed; the first few are named.
        ArchiveError: If it is no certificate, or of another format.
    """
    if not isinstance(plain, Mapping):
        raise ArchiveError("certificate: expected a mapping of fields.")
    if plain.get("format") not in (1, FORMAT) or isinstance(plain.get("format"), bool):
        given = shown(plain.get("format"))
        raise ArchiveError(f"certificate format {given}: expected {FORMAT}, or 1.")
    later = _SINCE_2 if plain["format"] == FORMAT else {}
    for name, reader in _OPTIONAL.items():
        if name in plain:
            later = later | {name: reader}
    try:
        known = _parse_record("", plain, _FIELDS | later)
        _check_filter(known)
        adjacency = Adjacency.from_name(known.pop("adjacency"))
        known["neighbours"] = NeighboringRelation(adjacency, known.pop("max_rows_per_user"))
        known["spends"] = tuple(Spend(**fields) for fields in known["spends"])
    except ParameterError as error:
        message = "".join(letter if letter.isprintable() else "?" for letter in str(error))
        raise FieldError(f"certificate: {message[:_LONGEST]}") from None
    for name in ("format", "status", "guarantee"):
        known.pop(name)
    return known


def _parse_record(where: str, value: Any, readers: Mapping[str, Reader]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{where}: expected a mapping of fields.")
    prefix = f"{where}." if where else ""
    wrong = [f"{prefix}{name}: missing." for name in readers if name not in value]
    strange = (shown(prefix + str(name)) for name in value if name not in readers)
    wrong += [f"{name}: not a field of a certificate." for name in strange]
    found = {}
    for name, read in readers.items():
        try:
            if name in value:
                found[name] = read(prefix + name, value[name])
        except ParameterError as error:
            wrong.append(str(error)[:_LONGEST_OF_ONE])
    if wrong:
        rest = f" And {len(wrong) - _MOST_SHOWN} more." if len(wrong) > _MOST_SHOWN else ""
        raise ParameterError(" ".join(wrong[:_MOST_SHOWN]) + rest)
    return found


def _check_filter(known: Mapping[str, Any]) -> None:
    if "filter" in known and not known["adaptive"]:
        raise ParameterError("filter: a plan that is not adaptive has none.")


def _parse_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name}: expected text.")
    return value


def _parse_digest(name: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ParameterError(f"{name}: expected a SHA-256 of 64 digits from 0 to f.")
    return value


def _parse_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: expected true or false.")
    return value


def _parse_mapping(name: str, value: Any) -> dict[str, Any]:
    try:
        fits = isinstance(value, Mapping) and is_plain(value)
    except RecursionError:
        fits = False
    if not fits:
        raise ParameterError(f"{name}: expected a mapping of names to plain values.")
    return dict(value)


def _parse_texts_by_name(name: str, value: Any) -> dict[str, str]:
    return {
        key: _parse_text(f"{name}.{key}", text) for key, text in _parse_mapping(name, value).items()
    }


def _parse_list(read: Reader, name: str, value: Any, *, most: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"{name}: expected a list.")
    if most is not None and len(value) > most:
        raise ParameterError(f"{name}: {len(value):,} entries, expected at most {most:,}.")
    return tuple(read(f"{name}[{index}]", entry) for index, entry in enumerate(value))


def _parse_sigma(name: str, value: Any) -> float:
    low, high = SIGMAS
    return validation.check_real(name, value, above=low, least=True, below=high)


def _parse_times(name: str, value: Any) -> int:
    if validation.check_integer(name, value, least=1) > MOST_TIMES:
        raise ParameterError(f"{name}: expected at most {MOST_TIMES:,}.")
    return int(value)


def _parse_spend(name: str, value: Any) -> dict[str, Any]:
    read = _parse_record(name, value, _ITEM)
    return {field: read[field] for field in ("name", "mechanism", "sigma", "times", "delta_share")}


def _parse_row_count(name: str, value: Any) -> RowCount:
    return RowCount(
        **_parse_record(
            name, value, {"estimate": _parse_not_negative, "margin": _parse_not_negative}
        )
    )


def _parse_table(name: str, value: Any) -> WrittenTable:
    return WrittenTable(**_parse_record(name, value, _TABLE))


def _parse_entry(name: str, value: Any) -> LedgerEntry:
    return LedgerEntry(**_parse_record(name, value, {"dataset": _parse_text, "entry": _parse_text}))


def _parse_total(name: str, value: Any) -> SpentTotal:
    return SpentTotal(**_parse_record(name, value, _TOTAL))


def _parse_statement(name: str, value: Any) -> ReleaseStatement:
    read = _parse_record(name, value, _STATEMENT)
    try:
        return ReleaseStatement(**read)
    except ParameterError as error:
        raise ParameterError(f"{name}.{error}") from None


def _allow_none(read: Reader) -> Reader:
    return lambda name, value: None if value is None else read(name, value)


_parse_not_negative = partial(validation.check_real, above=0, least=True)
_parse_positive = partial(validation.check_real, above=0)
_parse_probability = partial(validation.check_real, above=0, least=True, below=1)
_parse_texts = partial(_parse_list, _parse_text)
_parse_count = partial(validation.check_integer, least=0)
_TABLE: dict[str, Reader] = {
    "file": _parse_text,
    "sha256": _parse_digest,
    "rows": _parse_count,
    "size_bytes": _parse_count,
    "formulas_escaped": _parse_flag,
}
_ITEM: dict[str, Reader] = {
    "name": _parse_text,
    "mechanism": _parse_text,
    "sigma": _parse_sigma,
    "times": _parse_times,
    "delta_share": _parse_probability,
    "sensitivity": _parse_positive,
    "parts_a_count": partial(validation.check_integer, least=1),
    "share": validation.check_fraction,
    "sampling_delta": _parse_probability,
}
_GUARANTEE: dict[str, Reader] = {"guaranteed": _parse_texts, "not_guaranteed": _parse_texts}
_FIELDS: dict[str, Reader] = {
    "format": partial(validation.check_integer, least=1),
    "status": _parse_text,
    "epsilon": _parse_not_negative,
    "delta": partial(validation.check_real, above=0, below=1),
    "sampling_delta": _parse_probability,
    "delta_rows": _allow_none(_parse_row_count),
    "requested_epsilon": _parse_positive,
    "delta_source": _parse_text,
    "adjacency": _parse_text,
    "max_rows_per_user": _allow_none(partial(validation.check_integer, least=1)),
    "unit": _allow_none(_parse_text),
    "spends": partial(_parse_list, _parse_spend, most=MOST_ITEMS),
    "accountant": _parse_text,
    "noise": _parse_text,
    "private": _parse_flag,
    "schema": _parse_mapping,
    "schema_digest": _parse_digest,
    "fields_from_data": _parse_texts,
    "estimated": _parse_texts,
    "assumed_public": _parse_texts,
    "configuration": _parse_mapping,
    "seed_policy": _parse_text,
    "versions": _parse_texts_by_name,
    "created": _parse_text,
    "notes": _parse_texts,
    "adaptive": _parse_flag,
    "release": _allow_none(_parse_table),
    "ledger": _allow_none(_parse_entry),
    "guarantee": lambda name, value: _parse_record(name, value, _GUARANTEE),
}
# Fields that older certificates lack.
_SINCE_2: dict[str, Reader] = {"measurements_sha256": _parse_digest, "strict": _parse_flag}
_TOTAL: dict[str, Reader] = {
    "runs": _parse_count,
    "epsilon": _allow_none(_parse_not_negative),
    "delta": _allow_none(_parse_probability),
    "budget": _allow_none(_parse_not_negative),
}
_STATEMENT: dict[str, Reader] = {
    "purpose": _allow_none(_parse_text),
    "contact": _allow_none(_parse_text),
    "total": _allow_none(_parse_total),
}
# Fields that a certificate has only if there is something to say.
_OPTIONAL: dict[str, Reader] = {
    "filter": partial(validation.check_one_of, options=FILTERS),
    "statement": _parse_statement,
}


_LARGEST_FACTOR = 7.0  # a factor of a thousand


@dataclass(frozen=True)
class Guarantee:
    """What a release guarantees to the people in the table, in plain words.

    Args:
        guaranteed: What holds.
        not_guaranteed: What a reader may believe to hold, and does not.
    """

    guaranteed: tuple[str, ...]
    not_guaranteed: tuple[str, ...]

    def to_dict(self) -> dict[str, list[str]]:
        """Return plain values for a file."""
        return {"guaranteed": list(self.guaranteed), "not_guaranteed": list(self.not_guaranteed)}


def describe_guarantee(
    epsilon: float,
    delta: float,
    neighbours: NeighboringRelation,
    *,
    private: bool,
    fields_from_data: Sequence[str],
    unit: str | None,
    strict: bool = False,
) -> Guarantee:
    """Return what an (epsilon, delta) guarantees and what it does not, in sentences.

    Example:
        >>> facts = {"private": True, "fields_from_data": (), "unit": None}
        >>> print(describe_guarantee(1.0, 1e-6, NeighboringRelation(), **facts).not_guaranteed[0])
        People with several rows: for someone with k rows the guarantee is about k times weaker.
    """
    if not private:
        return Guarantee((), ("Anything: the noise was fake, for tests. Do not release this.",))
    guaranteed = _list_guarantees(epsilon, delta, neighbours, given_fields=bool(fields_from_data))
    return Guarantee(guaranteed, _list_caveats(neighbours, fields_from_data, unit, strict=strict))


def _list_guarantees(
    epsilon: float, delta: float, neighbours: NeighboringRelation, *, given_fields: bool
) -> tuple[str, ...]:
    whose = "all rows of one user are" if neighbours.is_user_level else "one row is"
    change = "replaced by others" if neighbours.is_user_level else "replaced by another"
    if neighbours.adjacency.value == "add-remove":
        change = "there or not"
    first = (
        f"Whether {whose} {change} changes the probability of any outcome by at most a factor of "
        f"{_format_factor(epsilon)}, plus {round_up(delta, 3):g} (delta)."
    )
    if given_fields:
        first += " This holds given the fields of the schema that were read off the data."
    return (
        first,
        "This holds whatever anyone knows from elsewhere, and for all that is computed from the "
        "synthetic rows.",
    )


def _list_caveats(
    neighbours: NeighboringRelation,
    fields_from_data: Sequence[str],
    unit: str | None,
    *,
    strict: bool,
) -> tuple[str, ...]:
    if neighbours.is_user_level:
        whom = (
            f"Groups: for several users together the guarantee is weaker, by their number. A user "
            f"is whoever has one value of {unit!r}: somebody with two values counts as two."
        )
    else:
        whom = (
            "People with several rows: for someone with k rows the guarantee is about k times "
            "weaker."
        )
    words = [
        whom,
        "Several releases: the costs of all releases from one table add up.",
        "Truth: synthetic rows are nobody's, and what holds for them need not hold for people.",
        "Statistics: what is true of most people can be learned, and applied to you.",
        "Failures: whether a run ends with a release at all, if a file can not be read as a table "
        "or the machine runs out of memory, disk or time; and how long a run takes.",
    ]
    if strict:
        words.append(
            "Refusals: the run was strict, so one cell that does not fit the schema would have "
            "ended it. Whether there is a release is not covered."
        )
    if fields_from_data:
        words.append(
            "The schema: its fields that were read off the data are shown as they are: "
            f"{', '.join(fields_from_data)}."
        )
    return tuple(words)


def _format_factor(epsilon: float) -> str:
    if epsilon > _LARGEST_FACTOR:
        return f"e^{round_up(epsilon, 6):g}"
    return f"{round_up(math.exp(epsilon), 3):g} (e^epsilon)"


def dump_canonical_json(plain: Mapping[str, Any]) -> bytes:
    """Return the one JSON of plain values that is hashed and signed: sorted keys, no blanks.

    Example:
        >>> dump_canonical_json({"b": [1.0, "x"], "a": None})
        b'{"a":null,"b":[1.0,"x"]}'
    """
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


NOT_PRIVATE = "NOT PRIVATE"
_WIDTH = 78


@dataclass(frozen=True)
class Certificate:
    """What is guaranteed, spend by spend.

    Args:
        epsilon: The epsilon that the spends compose to, rounded up; at most `requested_epsilon`.
        delta: The delta of the guarantee.
        sampling_delta: The part of delta that covers how far noise for users is from what is
            composed. Earlier versions had noise from a table, whose sampling error it covers.
        requested_epsilon: What was asked for.
        delta_source: Where delta comes from.
        delta_rows: The noisy number of rows that delta depends on; None if it depends on none. The
            spends are then composed at a smaller delta than the guaranteed one
            (docs/explanation/proofs.md).
        neighbours: The neighboring relation.
        unit: The column that identifies users; None for row level.
        spends: The spends: everything that touched private rows.
        accountant: How the spends were composed.
        noise: The noise source.
        private: False if a fake source was used, for tests.
        schema: The schema, as plain values.
        schema_digest: SHA-256 of the schema.
        fields_from_data: Fields of the schema that were read off the data: not covered.
        estimated: Fields of the schema that were estimated privately, with budget.
        assumed_public: What was taken as public knowledge.
        configuration: The settings of the run.
        seed_policy: What `random_state` drives and what it does not.
        versions: Versions of the software that matter.
        created: When, in UTC.
        notes: What else a reader should know.
        strict: Whether a cell that does not fit the schema would have ended the run: then it is
            not covered whether there is a release.
        adaptive: Whether noise may depend on earlier answers: the guarantee is then that of a
            limit that was fixed at the beginning.
        filter: What that limit is in: `ZCDP` or `GAUSSIAN_DP` (`tabpe.accounting.zcdp_filter`).
            None if all noise was fixed in advance. Certificates older than this field have a limit
            of zCDP if they are adaptive.
        measurements_sha256: SHA-256 of all noisy measurements, in order; None in certificates of
            format 1, which lack it.
        release: The table that was written; None before that.
        ledger: Where the charge is recorded; None if there is no ledger.
        statement: What the custodian states about the release; None if nothing is stated.
    """

    epsilon: float
    delta: float
    sampling_delta: float
    requested_epsilon: float
    delta_source: str
    delta_rows: RowCount | None
    neighbours: NeighboringRelation
    unit: str | None
    spends: tuple[Spend, ...]
    accountant: str
    noise: str
    private: bool
    schema: Mapping[str, Any]
    schema_digest: str
    fields_from_data: tuple[str, ...]
    estimated: tuple[str, ...]
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
    statement: ReleaseStatement | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file, including derived ones."""
        head = {"format": self.format, "status": self.status}
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if self.measurements_sha256 is None:
            del plain["measurements_sha256"], plain["strict"]
        relation = plain.pop("neighbours")
        plain["adjacency"] = relation.adjacency.value
        plain["max_rows_per_user"] = relation.max_rows
        plain["spends"] = [self._export_spend(spend) for spend in self.spends]
        if self.filter is None:  # as before this field existed, so that digests stay the same
            del plain["filter"]
        if self.statement is None:
            del plain["statement"]
        else:
            plain["statement"] = dataclasses.asdict(self.statement)
        for name in ("delta_rows", "release", "ledger"):
            plain[name] = None if plain[name] is None else dataclasses.asdict(plain[name])
        plain["guarantee"] = self.guarantee.to_dict()
        return head | {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}

    @property
    def format(self) -> int:
        """The format of its file: a certificate that was read is written in the same format."""
        return 1 if self.measurements_sha256 is None else FORMAT

    @property
    def digest(self) -> str:
        """SHA-256 of the certificate in canonical JSON, as recorded in a ledger.

        Without `release` and `statement`, because one run may be written to several files.
        """
        plain = self.to_dict() | {"release": None}
        plain.pop("statement", None)
        return hashlib.sha256(dump_canonical_json(plain)).hexdigest()

    def _export_spend(self, spend: Spend) -> dict[str, Any]:
        return {
            **spend.to_dict(),
            "sensitivity": math.sqrt(self.neighbours.squared_distance),
            "parts_a_count": self.neighbours.scale,
            "share": self.share(spend),
            "sampling_delta": self.get_sampling_delta(spend),
        }

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """Read a certificate from plain values.

        Derived fields are checked for their type and then dropped: they are derived anew.
        `tabpe.verification` checks whether they were the same.

        Raises:
            ArchiveError: If it is no certificate, or fields of it are missing, unknown or
                malformed (`FieldError`); they are named.
        """
        return cls(**parse_fields(plain))

    def for_file(self, table: WrittenTable) -> Certificate:
        """Return the same certificate, naming the table that was written."""
        return dataclasses.replace(self, release=table)

    def with_statement(self, statement: ReleaseStatement) -> Certificate:
        """Return the same certificate, with what the custodian states about the release."""
        return dataclasses.replace(self, statement=statement)

    @property
    def accounted_delta(self) -> float:
        """The delta that the spends are composed at, before sampling error; at most `delta`."""
        return self.delta if self.delta_rows is None else self.delta_rows.calibration_delta

    @property
    def guarantee(self) -> Guarantee:
        """What is guaranteed and what is not, in plain words."""
        return describe_guarantee(
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
        """A summary of one to four words."""
        if not self.private:
            return NOT_PRIVATE
        return "private, given the schema" if self.fields_from_data else "private"

    def share(self, spend: Spend) -> float:
        """Return the part of the total loss that a spend is."""
        return spend.loss / sum(other.loss for other in self.spends)

    def get_sampling_delta(self, spend: Spend) -> float:
        """Return the part of `sampling_delta` that a spend takes: the same for every histogram."""
        return self.sampling_delta * spend.times / sum(other.times for other in self.spends)

    def __str__(self) -> str:
        lines = ["tabpe certificate", *self._list_warnings()]
        epsilon, delta = round_up(self.epsilon, 6), round_up(self.delta, 3)
        lines += _format_entry("guarantee", f"({epsilon:g}, {delta:g})-differential privacy")
        lines += _format_entry(
            "requested", f"epsilon {self.requested_epsilon:g}; {self.delta_source}"
        )
        lines += _format_entry("neighbors", self._describe_neighbours())
        width = max(len(spend.name) for spend in self.spends)
        for index, spend in enumerate(self.spends):
            noise = f"{spend.times:>3} x sigma {spend.sigma:<9.5g}"
            row = f"{spend.name:<{width}} {noise}{self.share(spend):>7.1%}"
            lines += _format_entry("" if index else "spends", row)
        if self.release_delta:
            lines += _format_entry("rare values", self._describe_release_delta())
        if self.sampling_delta:
            lines += _format_entry("sampling", self._describe_sampling_delta())
        lines += _format_entry("accountant", self.accountant)
        if self.adaptive:
            lines += _format_entry(
                "adaptive", "noise may depend on earlier answers, within a fixed limit"
            )
        lines += _format_entry("noise", self.noise)
        lines += _format_entry("seeds", self.seed_policy)
        for index, fact in enumerate(self.assumed_public):
            lines += _format_entry("" if index else "public", fact)
        if self.estimated:
            lines += _format_entry("estimated", ", ".join(self.estimated))
        for index, note in enumerate(self.notes):
            lines += _format_entry("" if index else "notes", note)
        lines += _format_entry("schema", f"sha256 {self.schema_digest[:16]}...")
        if self.measurements_sha256 is not None:
            lines += _format_entry("measured", f"sha256 {self.measurements_sha256[:16]}...")
        if self.release is not None:
            named = f"{self.release.file}: {self.release.rows:,} rows"
            lines += _format_entry("table", f"{named}, sha256 {self.release.sha256[:16]}...")
        if self.ledger is not None:
            lines += _format_entry("ledger", f"{self.ledger.dataset}, entry {self.ledger.entry}")
        if self.statement is not None and self.statement.purpose is not None:
            lines += _format_entry("purpose", self.statement.purpose)
        if self.statement is not None and self.statement.contact is not None:
            lines += _format_entry("contact", self.statement.contact)
        lines += _format_entry("made", f"{self.created} by tabpe {self.versions.get('tabpe', '?')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the guarantee, and all of the rest to unfold."""
        epsilon, delta = round_up(self.epsilon, 4), round_up(self.delta, 2)
        return (
            f"<div><strong>epsilon {epsilon:g}, delta {delta:g}: {html.escape(self.status)}"
            f"</strong><details><summary>certificate</summary><pre>{html.escape(str(self))}</pre>"
            f"</details></div>"
        )

    def _describe_neighbours(self) -> str:
        meaning, most = self.neighbours.meaning, self.neighbours.max_rows
        if most is None:
            return meaning
        return f"{meaning}; a user is a value of {self.unit!r}, with {most} rows at most"

    @property
    def release_delta(self) -> float:
        """The part of delta that is the probability to release a value of one row only."""
        return compute_release_delta(self.spends, self.neighbours)

    def _describe_release_delta(self) -> str:
        whose = "one user" if self.neighbours.is_user_level else "one row"
        return (
            f"{round_up(self.release_delta, 3):g} of delta is the probability of releasing a value "
            f"that {whose} alone holds"
        )

    def _describe_sampling_delta(self) -> str:
        parts = [
            f"{round_up(self.get_sampling_delta(spend), 2):g} for {spend.name}"
            for spend in self.spends
        ]
        return (
            f"{round_up(self.sampling_delta, 3):g} of delta covers how far noise is from what is "
            f"composed: {', '.join(parts)}; the spends are composed at the rest"
        )

    def _list_warnings(self) -> list[str]:
        fake = [f"  {NOT_PRIVATE}: made with a fake source of noise, for tests only."]
        if not self.fields_from_data:
            return [] if self.private else fake
        text = (
            "WARNING: these fields of the schema were read off the data and are not covered by "
            "the guarantee: " + ", ".join(self.fields_from_data)
        )
        read_off = [f"  {line}" for line in textwrap.wrap(text, _WIDTH - 2)]
        return read_off if self.private else fake + read_off


def _format_entry(title: str, text: str) -> list[str]:
    first, *rest = textwrap.wrap(text, _WIDTH - 14, drop_whitespace=True) or [""]
    return [f"  {title:<12}{first}", *(f"  {'':<12}{line}" for line in rest)]
