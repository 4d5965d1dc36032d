"""What a report is made of: tables, a schema, a certificate, from whatever form they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tabpe import _plain
from tabpe._arrow import is_text
from tabpe._paths import open_regular
from tabpe.errors import ArchiveError, DataError, ParameterError, SchemaError, did_you_mean
from tabpe.io import draft_schema, open_table
from tabpe.metrics.view import View, views
from tabpe.privacy import Certificate
from tabpe.release import Release
from tabpe.schema import Column, Float, Integer, Schema
from tabpe.verify import Verification, verify_plain
from tabpe.verify.verification import read_certificate

DRAFTED = (
    "no schema was given: types, bounds and categories are those of the real table, so distances "
    "are scaled by what it happens to hold"
)
LARGEST_AUDIT = 2**20


@dataclass(frozen=True)
class _Claim:
    epsilon: float
    delta: float


@dataclass(frozen=True)
class _Finding:
    kind: str
    test: str
    samples: int
    holds: bool
    claim: _Claim | None = None
    epsilon: float | None = None
    visible: float | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class _Audit:
    """What `tabpe audit --json` writes."""

    system: str
    claim: _Claim
    alarm: float
    holds: bool
    findings: tuple[_Finding, ...]


@dataclass(frozen=True, eq=False)
class Run:
    """What is known of the run that made a table; all of it is public.

    Args:
        certificate: What was promised.
        history: What each round did.
        verification: Whether the certificate holds, and is of the very table that is evaluated.
    """

    certificate: Certificate | None = None
    history: Sequence[Mapping[str, Any]] = ()
    verification: Verification | None = None

    @classmethod
    def of(
        cls, run: Any, certificate: Any, history: Sequence[Mapping[str, Any]], synthetic: Any
    ) -> Run:
        """Gather it from a saved run, from a certificate, or from both."""
        found = certificate_of(certificate)
        if run is not None:
            release, _ = Release.load(Path(run))
            if found is not None and found.digest != release.certificate.digest:
                raise ParameterError(f"run={str(run)!r}: is not the run of the certificate.")
            found, history = found or release.certificate, history or release.history
        return cls(found, history, _verified(found, synthetic))


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a report, as arrays under one schema.

    Args:
        schema: The schema.
        real: The real rows.
        synthetic: The synthetic rows.
        test: Real rows that the synthesizer has not seen, if there are any.
        sample: The first synthetic rows, as text.
        notes: What was left out.
    """

    schema: Schema
    real: View
    synthetic: View
    test: View | None
    sample: Mapping[str, Sequence[str]]
    notes: tuple[str, ...]


def open_tables(
    real: Any, synthetic: Any, test: Any, schema: Schema | None, label: str | None
) -> Tables:
    """Read the tables of a report.

    Args:
        real: The real table, as `fit` takes it.
        synthetic: The synthetic table.
        test: Other real rows, or None.
        schema: The schema; None to read one off the real table.
        label: The label, if it is another one than that of the schema.
    """
    tables = {"real": opened("real", real), "synthetic": opened("synthetic", synthetic)}
    if test is not None:
        tables["test"] = opened("test", test)
    notes: tuple[str, ...] = ()
    if schema is None:
        schema, notes = drafted(tables["real"], label)
    else:
        schema = labelled(schema, label, tables["real"])
    named = {name: _declared(name, table, schema) for name, table in tables.items()}
    seen = dict(zip(named, views(schema, list(named.values())), strict=True))
    return Tables(
        schema,
        seen["real"],
        seen["synthetic"],
        seen.get("test"),
        sampled(named["synthetic"]),
        (*notes, *_left_out(tables, schema)),
    )


def certificate_of(given: Any) -> Certificate | None:
    """Return a certificate from itself, its plain values or its file."""
    if given is None or isinstance(given, Certificate):
        return given
    if isinstance(given, Mapping):
        return Certificate.from_dict(given)
    if not isinstance(given, (str, Path)):
        raise ParameterError(
            f"certificate: {type(given).__name__} is none: expected a Certificate, its plain "
            f"values, or the path of its file."
        )
    try:
        return Certificate.from_dict(read_certificate(Path(given)))
    except ArchiveError as error:
        raise ArchiveError(f"{given}: {str(error).removeprefix(f'{given}: ')}") from None


def audit_of(given: Any) -> Mapping[str, Any] | None:
    """Return the findings of an audit from their plain values or the file of `tabpe audit`."""
    if given is None or isinstance(given, Mapping):
        plain, where = given, "audit"
    else:
        plain, where = _json(Path(given)), str(given)
    return None if plain is None else _without_nones(_plain.read(_Audit, plain, where=where))


def schema_for(given: Any, certificate: Certificate | None) -> Schema | None:
    """Return the schema that was given, or else the one of the certificate."""
    if isinstance(given, (str, Path)):
        return Schema.load(given)
    if given is not None and not isinstance(given, Schema):
        raise ParameterError(
            f"schema: {type(given).__name__} is none: expected a Schema or the path of its file."
        )
    if given is None and certificate is not None:
        return Schema.from_dict(dict(certificate.schema))
    return given


def drafted(table: pa.Table, label: str | None) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema read off a table, and what was left out of it.

    Unlike `draft_schema` it goes on: nulls are no part of a domain, and a column that can not be
    declared is left out.
    """
    if label is not None and label not in table.schema.names:
        raise ParameterError(
            f"label={label!r} is not a column: {did_you_mean(label, table.schema.names)}"
        )
    columns: list[Column] = []
    cuts, notes = None, [DRAFTED]
    for name in table.schema.names:
        filled = pa.table({name: _filled(table[name])})
        try:
            part = draft_schema(filled, label=name if name == label else None)
        except (DataError, SchemaError) as error:
            if name == label:
                raise
            notes.append(f"left out: {error}")
            continue
        columns += part.columns
        cuts = part.label_cuts or cuts
    if not columns:
        raise DataError("the real table has no column that can be measured: give a schema.")
    return Schema(tuple(columns), label=label, label_cuts=cuts), tuple(notes)


def labelled(schema: Schema, label: str | None, table: pa.Table) -> Schema:
    """Return the schema with another label; the classes of a number are read off the table."""
    if label is None or label == schema.label:
        return schema
    if not isinstance(schema[label], (Integer, Float)) or label not in table.schema.names:
        return Schema(schema.columns, label=label)
    read, _ = drafted(table.select([label]), label)
    columns = [column if column.name != label else read.columns[0] for column in schema.columns]
    return Schema(tuple(columns), label=label, label_cuts=read.label_cuts)


def sampled(table: pa.Table, rows: int = 20) -> dict[str, list[str]]:
    """Return the first rows as text, column by column."""
    head = table.slice(0, rows)
    return {
        name: ["" if cell is None else str(cell) for cell in head[name].to_pylist()]
        for name in head.schema.names
    }


def _verified(certificate: Certificate | None, synthetic: Any) -> Verification | None:
    """Check a certificate, against the file that it names if that is what is evaluated."""
    if certificate is None:
        return None
    is_named = isinstance(synthetic, (str, Path)) and certificate.release is not None
    return verify_plain(certificate.to_dict(), Path(synthetic) if is_named else None)


def _without_nones(audit: _Audit) -> dict[str, Any]:
    def present(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in fields if value is not None}

    return asdict(audit, dict_factory=present)


def _json(path: Path) -> Any:
    with open_regular(path, ArchiveError) as file:
        content = file.read(LARGEST_AUDIT + 1)
    try:
        plain = _plain.strict_json(content)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or len(content) > LARGEST_AUDIT:
        raise ArchiveError(f"{path}: not an audit: expected what 'tabpe audit --json' writes.")
    return plain


def opened(role: str, data: Any) -> pa.Table:
    """Return all rows of a table."""
    try:
        return open_table(data)[0]
    except DataError as error:
        if isinstance(data, (str, Path)):
            raise
        raise DataError(f"{role}: {str(error).removeprefix('data: ')}") from None


def _declared(role: str, table: pa.Table, schema: Schema) -> pa.Table:
    for name in schema.names:
        if name not in table.schema.names:
            hint = did_you_mean(name, table.schema.names)
            raise DataError(f"the {role} table has no column {name!r}: {hint}")
    return table.select(list(schema.names))


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    present = pc.invert(pc.is_null(column, nan_is_null=True))
    if is_text(column.type):
        blank = pc.equal(pc.utf8_trim_whitespace(column), "")
        present = pc.and_(present, pc.invert(pc.fill_null(blank, fill_value=True)))
    return column.filter(present)


def _left_out(tables: Mapping[str, pa.Table], schema: Schema) -> list[str]:
    notes = []
    for role, table in tables.items():
        count = len([name for name in table.schema.names if name not in schema.names])
        if count:
            columns = "column that is" if count == 1 else "columns that are"
            notes.append(f"the {role} table has {count} {columns} not measured")
    return notes
