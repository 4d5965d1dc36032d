"""What a report is made of: tables, a schema, a certificate, from whatever form they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe import _plain
from tabpe._paths import open_regular
from tabpe.errors import ArchiveError, DataError, ParameterError
from tabpe.io import open_table
from tabpe.metrics.view import Labels, View, views
from tabpe.privacy import Certificate
from tabpe.release import Release
from tabpe.report.drafting import drafted, fault_of, labelled, shared, targeted
from tabpe.schema import Schema
from tabpe.verify import Verification, verify_plain
from tabpe.verify.verification import read_certificate

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
    moved: float | None = None


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
        if isinstance(history, str) or not all(isinstance(entry, Mapping) for entry in history):
            raise ParameterError("history: expected a list of mappings, such as TabPE.history_.")
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
        schema, missed = shared(schema, tables["synthetic"])
        notes += missed
    else:
        schema, notes = targeted(schema, label)
        schema = labelled(schema, label, tables["real"])
    seen = _seen(tables, schema)
    return Tables(
        schema,
        seen["real"],
        seen["synthetic"],
        seen.get("test"),
        sampled(tables["synthetic"].select(list(schema.names))),
        (
            *notes,
            *_left_out(tables, schema),
            *_strangers(seen["real"], seen["synthetic"]),
            *_seen_before(tables),
        ),
    )


def _seen_before(tables: Mapping[str, pa.Table]) -> list[str]:
    """Return a note if one table was given for another."""
    real = tables["real"]
    same = [name for name in ("test", "synthetic") if name in tables and real.equals(tables[name])]
    return [f"the {name} table is the real table itself" for name in same]


def titled(given: str | None, otherwise: str) -> str:
    """Return the title that was given, or else another one."""
    if given is not None and not isinstance(given, str):
        raise ParameterError(f"title={given!r}: expected text.")
    return given or otherwise


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


def _seen(tables: Mapping[str, pa.Table], schema: Schema) -> dict[str, View]:
    try:
        return dict(zip(tables, views(schema, list(tables.values())), strict=True))
    except DataError as error:
        faults = (fault_of(role, table, schema) for role, table in tables.items())
        raise DataError(next(filter(None, faults), str(error))) from None


def _left_out(tables: Mapping[str, pa.Table], schema: Schema) -> list[str]:
    notes = []
    for role, table in tables.items():
        count = len([name for name in table.schema.names if name not in schema.names])
        if count:
            columns = "column that is" if count == 1 else "columns that are"
            notes.append(f"the {role} table has {count} {columns} not measured")
    return notes


def _strangers(real: View, synthetic: View) -> list[str]:
    """Name columns of which no synthetic value is a real one: often they are written otherwise."""
    return [
        f"column {one.name!r}: no synthetic value is one of the real ones: are they written alike?"
        for one, two in zip(real, synthetic, strict=True)
        if isinstance(one, Labels)
        and isinstance(two, Labels)
        and len(one.present)
        and len(two.present)
        and not np.isin(two.present, one.present).any()
    ]
