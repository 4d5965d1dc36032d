"""Verify a certificate, its ledger entry, and the table it certifies.

- The certificate by itself: its derived fields, schema, noise, delta and epsilon. The accountant is
  independent of the one that certified (`tabpe.accounting.recount`).
- The ledger: whether its entry has the digest of the certificate.
- The table: whether its SHA-256 and length are the stated ones, and whether its rows fit the schema
  and satisfy its rules. Encoding is lenient: it clamps numbers and maps unlisted values to `other`.
  A synthetic table needs neither, so both are refused here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils import serialization
from tabpe._utils.extras import has_sign_extra
from tabpe._utils.files import make_hashing_filler
from tabpe.accounting import Certificate, ExactNoise, OpenDPNoise, WrittenTable
from tabpe.accounting.certificate import Guarantee
from tabpe.accounting.ledger import Ledger
from tabpe.accounting.pld import round_up
from tabpe.accounting.recount import recount_epsilon
from tabpe.accounting.zcdp_filter import GAUSSIAN_DP
from tabpe.encoding import Encoder
from tabpe.encoding.cells import find_valid_cells, format_temporal_columns
from tabpe.encoding.column_codec import find_cell_positions
from tabpe.errors import (
    ArchiveError,
    CellError,
    DataError,
    FieldError,
    LedgerError,
    ParameterError,
    SchemaError,
    TabpeError,
    shown,
)
from tabpe.evolution.constraint_repair import (
    FALSE,
    ConstraintSet,
    RowPositions,
    evaluate_constraint,
)
from tabpe.io import make_table_writer, open_source
from tabpe.schema import Categorical, Float, Integer, Schema, Temporal
from tabpe.schema.columns import Column
from tabpe.schema.constraints import Constraint
from tabpe.schema.constraints.check import UniqueKey
from tabpe.verification.signing import CertificateSignature, PublicKey, get_signature_path

OK, FAILED, GIVEN = "OK", "FAILED", "GIVEN"
NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Args:
        name: What was checked.
        outcome: `OK`; `FAILED`; or `GIVEN`, if the guarantee holds under a condition.
        words: What was found.
    """

    name: str
    outcome: str
    words: str


@dataclass(frozen=True)
class Verification:
    """The results of verifying a certificate.

    Args:
        checks: The checks.
        guarantee: What is guaranteed and what is not, if all checks hold; None if the fields of
            the certificate can not be read.
        not_checked: What these files can not show.
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


# Sources of noise, and how far a draw is from exact, in total variation. The last one was removed:
# it is in earlier certificates, whose delta covers it.
SAMPLING_ERRORS = {
    ExactNoise.name: 0.0,
    OpenDPNoise.name: 0.0,
    "discrete Gaussian by table, within 2^-108 of exact, operating system randomness": 2.0**-108,
}
# The recount and the stated epsilon are both upper bounds of the same value. Over spends of all
# kinds the recount was never more than 0.03% above the certified epsilon. Noise that is 1% smaller
# costs 0.5% of epsilon or more where sigma sqrt(rounds) is at least 4, and is detected; below that
# the losses of discrete noise lie far apart, and less noise may cost nothing. _GRID is the accuracy
# of the recount in standard deviations of the privacy loss: it matters for an epsilon near 0.
_ABOVE, _GRID = 2e-3, 1e-4
# A stated epsilon that is too large breaks no guarantee, but then a spend is missing. For very
# little noise (sigma 0.1) the accountant of the certificate itself rounds up by 1%.
_BELOW = 2e-2
_CLOSE = 1e-9
_LARGEST_EXPONENT = 700.0  # of a float


def check_derived(stated: Certificate, plain: Mapping[str, Any]) -> Check:
    """Check that derived fields follow from the other fields."""
    own = stated.to_dict()
    names = [name for name in own if not _is_alike(own[name], plain[name])]
    if names:
        return Check("words", FAILED, f"does not follow from the rest: {', '.join(names)}")
    return Check("words", OK, "status, shares and guarantee follow from the rest")


def _is_alike(own: Any, other: Any) -> bool:
    """Whether plain values are equal, except for the last digits of floats."""
    if isinstance(own, dict) and isinstance(other, dict):
        return own.keys() == other.keys() and all(_is_alike(own[key], other[key]) for key in own)
    if isinstance(own, list) and isinstance(other, list):
        return len(own) == len(other) and all(map(_is_alike, own, other))
    if isinstance(own, float) and type(other) in (int, float):
        return math.isclose(own, other, rel_tol=_CLOSE)
    return bool(own == other)


def check_schema(stated: Certificate) -> tuple[Schema | None, Check]:
    """Return the schema, if it is valid, and a check of its stated SHA-256."""
    try:
        schema = Schema.from_dict(stated.schema)
    except SchemaError as error:
        return None, Check("schema", FAILED, f"the schema in it is invalid: {error}")
    if schema.to_dict() != stated.schema or schema.digest != stated.schema_digest:
        return schema, Check("schema", FAILED, "its SHA-256 is not the stated one")
    if schema.fields_from_data != stated.fields_from_data:
        words = "fields_from_data is not what the schema marks as read from the data"
        return schema, Check("schema", FAILED, words)
    return schema, Check("schema", OK, f"SHA-256 {schema.digest[:16]}... is the stated one")


def check_noise(stated: Certificate) -> Check:
    """Check that the noise is private, and that delta covers its sampling error."""
    if not stated.private:
        return Check("noise", FAILED, "NOT PRIVATE: made with fake noise, for tests only")
    if stated.noise not in SAMPLING_ERRORS:
        return Check("noise", FAILED, "not a source of noise of tabpe")
    if (stated.unit is None) is stated.neighbours.is_user_level:
        return Check("noise", FAILED, "unit and max_rows_per_user: expected both or neither")
    histograms = sum(spend.times for spend in stated.spends)
    each = SAMPLING_ERRORS[stated.noise] + stated.neighbours.sampling_error
    distance = histograms * stated.neighbours.cells * each
    charged = (1 + math.exp(min(stated.requested_epsilon, _LARGEST_EXPONENT))) * distance
    if not math.isclose(charged, stated.sampling_delta, rel_tol=_CLOSE):
        words = f"its sampling error takes {charged:.3g} of delta, stated is "
        return Check("noise", FAILED, f"{words}{stated.sampling_delta:.3g}")
    exact = "exact" if charged == 0 else f"{charged:.2g} of delta covers its sampling error"
    return Check("noise", OK, f"{stated.noise}: {exact}")


def check_delta(stated: Certificate) -> Check:
    """Check that the parts of delta add up."""
    delta, rows = stated.delta, stated.delta_rows
    try:
        guaranteed = delta if rows is None else rows.guaranteed_delta
    except ParameterError:
        guaranteed = math.nan
    if not math.isclose(delta, guaranteed, rel_tol=_CLOSE):
        return Check("delta", FAILED, "is not what follows from the noisy number of rows")
    shares = sum(spend.times * spend.delta_share for spend in stated.spends)
    released = stated.neighbours.cells * shares
    left = stated.accounted_delta - released - stated.sampling_delta
    if left <= 0:
        return Check("delta", FAILED, f"its parts are more than {delta:.3g}")
    parts = f"{round_up(delta, 3):g}, of which the spends were composed at {left:.3g}"
    if released:
        parts += f"; {released:.2g} is the probability that a value of one row is released"
    return Check("delta", OK, parts)


def check_epsilon(stated: Certificate) -> Iterator[Check]:
    """Check that epsilon is at most the requested one, and equals the recount of the spends."""
    if stated.epsilon > stated.requested_epsilon:
        yield Check("request", FAILED, "epsilon is above requested_epsilon")
    else:
        words = f"epsilon {stated.epsilon:.6g} is at most the requested "
        yield Check("request", OK, f"{words}{stated.requested_epsilon:.6g}")
    try:
        found = recount_epsilon(
            stated.spends,
            stated.accounted_delta,
            stated.neighbours,
            sampling_delta=stated.sampling_delta,
            adaptive=stated.adaptive,
            gaussian=stated.filter == GAUSSIAN_DP,
        )
    except ParameterError as error:
        yield Check("epsilon", FAILED, f"can not be recounted: {error}")
        return
    yield _compare_epsilon(stated, found)


def _compare_epsilon(stated: Certificate, found: float) -> Check:
    loss = stated.neighbours.squared_distance * sum(spend.loss for spend in stated.spends)
    tolerance = _GRID * math.sqrt(loss)
    counted = f"the spends compose to {found:.6g}"
    if found > stated.epsilon * (1 + _ABOVE) + tolerance:
        return Check("epsilon", FAILED, f"{counted}, more than the stated {stated.epsilon:.6g}")
    if found < stated.epsilon * (1 - _BELOW) - tolerance:
        words = f"{counted}, stated is {stated.epsilon:.6g}: a spend is missing or was changed"
        return Check("epsilon", FAILED, words)
    return Check("epsilon", OK, f"{counted}, recounted; stated is {stated.epsilon:.6g}")


def check_conditions(stated: Certificate) -> Iterator[Check]:
    """Report the condition under which the guarantee holds, if there is one."""
    if stated.fields_from_data:
        fields = ", ".join(stated.fields_from_data)
        words = f"HOLDS ONLY GIVEN these fields, read from the data and not covered: {fields}"
        yield Check("public", GIVEN, words)


_SHOWN = 16


def check_ledger(stated: Certificate, ledger: Ledger) -> Check:
    """Compare a certificate with the ledger entry that it names.

    The ledger recorded the digest of the certificate when the run was closed, so every field is
    compared, except `release` and `statement`: one run may be written to several files.
    """
    problem = _find_problem(stated, ledger)
    if problem is not None:
        return Check("ledger", FAILED, f"{ledger.path}: {problem}")
    return Check(
        "ledger", OK, f"{stated.digest[:_SHOWN]}... is recorded for this run in {ledger.path}"
    )


def open_existing_ledger(path: Path) -> Ledger:
    """Open a ledger for reading; refuse a missing one."""
    ledger = Ledger(path)
    if not ledger.exists():
        raise LedgerError(f"{path}: no such ledger.")
    return ledger


def _find_problem(stated: Certificate, ledger: Ledger) -> str | None:
    if stated.ledger is None:
        return "the certificate names no entry of a ledger."
    broken = ledger.verify()
    if broken:
        return broken[0]
    try:
        entry = ledger.entry(stated.ledger.entry)
    except LedgerError as error:
        return str(error)
    if entry.dataset != stated.ledger.dataset or entry.state != "spent":
        return f"its entry is {entry.state}, for the data set {entry.dataset!r}."
    if entry.certificate_sha256 != stated.digest:
        return "it records another certificate for this run: one of them was changed."
    return None


Floats = NDArray[np.float64]


class ConstraintChecker:
    """Finds rows that violate a rule, in the batches of a table.

    Args:
        schema: The schema with its rules.

    Example:
        >>> from tabpe.schema import Integer
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> rules = ConstraintChecker(Schema(columns, rules=("low <= high",)))
        >>> str(rules.find_first_violation(pa.table({"low": [1, 5], "high": [2, 4]})))
        "the rule 'low <= high' is violated in row 2."
    """

    def __init__(self, schema: Schema) -> None:
        self._encoder = Encoder(schema)
        self._constraints = ConstraintSet.from_encoder(self._encoder)
        self._keys: dict[Constraint, list[Floats]] = {rule: [] for rule in self._constraints.keys}

    def find_first_violation(self, table: pa.Table) -> CellError | None:
        """Return the error for the first row that violates a rule; None if there is none."""
        if not self._constraints.codecs:
            return None
        positions = self._find_positions(table)
        for rule, found in self._keys.items():
            found.append(np.column_stack([positions.positions[name] for name in rule.columns]))
        for rule in self._constraints.rules:
            if not isinstance(rule.resolved, UniqueKey):
                violated = evaluate_constraint(rule.resolved, positions) == FALSE
                if violated.any():
                    row = int(np.argmax(violated)) + 1
                    return CellError(f"the rule {shown(rule.text)} is violated", row, ".")
        return None

    def check_keys(self) -> None:
        """Refuse a duplicate key; to be called after all batches."""
        for rule, found in self._keys.items():
            every = np.concatenate(found) if found else np.empty((0, 1))
            if len(np.unique(every, axis=0)) < len(every):
                raise DataError(f"the rule {shown(rule.text)} is violated: a key occurs twice.")

    def _find_positions(self, table: pa.Table) -> RowPositions:
        rows = RowPositions.from_rows(self._constraints.codecs, *self._encoder.encode(table))
        everywhere = np.arange(table.num_rows)
        for name in self._constraints.codecs:
            # Encoded rows are in float32, which is not exact enough for released values.
            rows.set_positions(
                name, everywhere, find_cell_positions(self._encoder, name, table[name])
            )
        return rows


def check_table(named: WrittenTable | None, schema: Schema | None, rows: Path) -> Iterator[Check]:
    """Check a table against its certificate.

    Raises:
        DataError: If there is no such file.
    """
    if named is None:
        yield Check("table", FAILED, "the certificate names no table")
        return
    sha256, size = _compute_fingerprint(rows)
    if (sha256, size) == (named.sha256, named.size_bytes):
        yield Check("table", OK, f"SHA-256 {sha256[:16]}... and length are the stated ones")
    else:
        yield Check("table", FAILED, f"{rows.name} is not the table that the certificate names")
    if named.formulas_escaped:
        yield Check("rows", GIVEN, "not checked against the schema: formulas in them are escaped")
    elif schema is None:
        yield Check("rows", FAILED, "there is no schema to check them against")
    else:
        yield _check_rows(named, schema, rows)


def check_rows_in_memory(
    named: WrittenTable | None, schema: Schema | None, table: pa.Table
) -> Check:
    """Compare rows in memory with the table that a certificate names.

    A certificate names the bytes of a file, so the rows are written anew. The same bytes are the
    same rows. Other bytes may be the same rows in other types, so the rows are `GIVEN` then, unless
    their number or their columns are not those of the certificate.
    """
    if named is None or schema is None:
        return Check("table", GIVEN, f"{NOT_COMPARED}: the certificate names no table")
    if table.num_rows != named.rows:
        words = f"these are {table.num_rows:,} rows, the certificate names {named.rows:,}"
        return Check("table", FAILED, words)
    if tuple(table.schema.names) != schema.names:
        return Check("table", FAILED, "the columns are not those of the certificate")
    if named.sha256 == _hash_rows(named, schema, table):
        return Check("table", OK, f"written anew, they have the SHA-256 {named.sha256[:16]}...")
    words = f"{NOT_COMPARED}: rows in memory; pass the path of {shown(named.file)} instead"
    return Check("table", GIVEN, words)


def _hash_rows(named: WrittenTable, schema: Schema, table: pa.Table) -> str | None:
    """Return the SHA-256 of the rows as the named file would hold them; None if it can not."""
    digests: list[str] = []
    try:
        if Path(named.file).suffix.lower() == ".csv":
            table = format_temporal_columns(table, schema.columns)
        fill = make_table_writer(table, Path(named.file), escape_formulas=named.formulas_escaped)
        with tempfile.TemporaryFile() as file:
            make_hashing_filler(fill, lambda sha256, _: digests.append(sha256))(file)
    except (TabpeError, pa.ArrowException, ValueError, TypeError):
        return None
    return digests[0]


def _check_rows(named: WrittenTable, schema: Schema, rows: Path) -> Check:
    try:
        count = count_fitting_rows(schema, rows)
    except DataError as error:
        return Check("rows", FAILED, f"do not fit the schema: {error}")
    if count != named.rows:
        return Check("rows", FAILED, f"{count:,} rows, stated are {named.rows:,}")
    rules = " and satisfy its rules" if schema.rules else ""
    return Check("rows", OK, f"{count:,} rows, and all fit the schema{rules}")


def count_fitting_rows(schema: Schema, path: Path) -> int:
    """Count the rows of a table, all of which must fit the schema and its rules.

    Raises:
        DataError: If a row does not fit, or the columns are not those of the schema.
    """
    source, strict = open_source(path), _make_strict(schema)
    if tuple(source.names) != schema.names:
        raise DataError("the columns are not those of the schema, in its order.")
    encoder, rules, count = Encoder(strict, strict=True), ConstraintChecker(schema), 0
    for batch in source.batches(schema.names):
        wrong = _find_first_wrong(encoder, batch.table) or rules.find_first_violation(batch.table)
        if wrong is not None:
            raise wrong.at(None, batch.first_row)
        count += batch.table.num_rows
    rules.check_keys()
    return count


def _find_first_wrong(encoder: Encoder, table: pa.Table) -> CellError | None:
    try:
        encoder.encode(table)
        for column in encoder.schema.columns:
            if isinstance(column, (Integer, Float, Temporal)):
                _check_values(column, table[column.name])
    except CellError as error:
        return error
    return None


def _make_strict(schema: Schema) -> Schema:
    """Return the schema without rules that replace cells which do not fit."""

    def without_rule(column: Column) -> Column:
        if isinstance(column, Categorical):
            column = dataclasses.replace(column, other=None, invalid=None)
        return dataclasses.replace(column, invalid=None, default=None)

    return dataclasses.replace(schema, columns=tuple(map(without_rule, schema.columns)))


def _check_values(column: Integer | Float | Temporal, cells: pa.ChunkedArray) -> None:
    bad = ~find_valid_cells(column, cells)
    if bad.any():
        row = int(np.argmax(bad)) + 1
        called = column.type_name if isinstance(column, Temporal) else "number"
        raise CellError(f"column {column.name!r}: the {called}", row, " is outside the schema.")


def _compute_fingerprint(path: Path) -> tuple[str, int]:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except OSError as error:
        raise DataError(f"{path}: can not read it ({error.strerror}).") from None


LARGEST_CERTIFICATE = 64 * 2**20
NOT_SIGNED = (
    "The certificate is not signed: whoever can change the file can make it consistent. A ledger "
    "records its digest: compare with --ledger. 'tabpe synth --sign' signs one."
)
NOTED = (
    "The ledger confirms all of the certificate except release, the table that it names, and "
    "statement. Whoever can change the ledger as well can change both; note its head elsewhere."
)
NOBODY_SIGNED = "The certificate is not signed: nobody vouches for the table that it names."
UNKNOWN_SIGNER = (
    "Who signed: anybody can make a key. Compare its fingerprint with the one that the custodian "
    "gives you, or pass their public key with --key."
)
UNREAD = "Anything else: its fields are not those of a certificate."
STATEMENTS = (
    "Statements that are not checked: accountant, assumed_public, estimated, delta_share and name "
    "of a spend, configuration, created, delta_source, file and formulas_escaped of release, "
    "ledger, notes, seed_policy, statement, unit, versions, and a requested_epsilon above the "
    "stated one."
)


def verify(
    certificate: str | Path,
    rows: str | Path | None = None,
    ledger: str | Path | None = None,
    *,
    key: str | Path | None = None,
) -> Verification:
    """Verify a certificate, and the table and the ledger it names if they are given.

    Args:
        certificate: The file that `tabpe synth` wrote beside the table.
        rows: The synthetic table.
        ledger: The ledger that the run was charged to.
        key: The public key of the signer you trust. The signature lies beside the certificate.

    Raises:
        ArchiveError: If the file is not a certificate, or the key is none. A certificate with
            missing, unknown or malformed fields is one that does not hold.
        DataError: If there is no such table.
        LedgerError: If there is no such ledger.
    """
    plain = read_certificate(Path(certificate))
    trusted = None if key is None else PublicKey.load(Path(key))
    found = verify_plain(plain, *(None if path is None else Path(path) for path in (rows, ledger)))
    if found.guarantee is None:
        return found
    signed = get_signature_path(Path(certificate))
    return _add_signature(found, plain, signed, trusted)


def _add_signature(
    found: Verification, plain: Mapping[str, Any], path: Path, trusted: PublicKey | None
) -> Verification:
    """Return the verification with the check of the signature, if there is one or one must be."""
    if not path.exists() and trusted is None:
        return found
    unsigned = {NOT_SIGNED, NOBODY_SIGNED}
    left = tuple(words for words in found.not_checked if words not in unsigned)
    check = check_signature(plain, path, trusted)
    if check.outcome == GIVEN:
        left = (*left, UNKNOWN_SIGNER)
    return dataclasses.replace(found, checks=(*found.checks, check), not_checked=left)


def check_signature(plain: Mapping[str, Any], path: Path, trusted: PublicKey | None) -> Check:
    """Check the signature of a certificate.

    It is `OK` only if the trusted key made it. Without a trusted key anybody may have signed, so
    the outcome is `GIVEN`.

    Args:
        plain: The certificate, as its file says.
        path: The file of the signature.
        trusted: The public key that must have signed; None if no key is known.
    """
    if not path.exists():
        return Check("signed", FAILED, f"by nobody: there is no {path.name} beside the certificate")
    try:
        signature = CertificateSignature.load(path)
    except ArchiveError as error:
        return Check("signed", FAILED, str(error).rstrip("."))
    return _compare_signature(plain, signature, path.name, trusted)


def _compare_signature(
    plain: Mapping[str, Any],
    signature: CertificateSignature,
    file: str,
    trusted: PublicKey | None,
) -> Check:
    if not has_sign_extra() and trusted is None:
        return Check("signed", GIVEN, "not checked: that needs cryptography (tabpe[sign])")
    if not signature.covers(plain):
        words = f"{file} does not fit: the certificate was changed, or it is of another one"
        return Check("signed", FAILED, words)
    signer = f"by the key {signature.key.fingerprint}"
    if trusted is None:
        return Check("signed", GIVEN, f"{signer}; pass --key to check whose that is")
    if signature.key != trusted:
        return Check("signed", FAILED, f"{signer}, not by yours, {trusted.fingerprint}")
    return Check("signed", OK, f"{signer}, which is the one you gave")


def verify_plain(
    plain: Mapping[str, Any], rows: Path | pa.Table | None = None, ledger: Path | None = None
) -> Verification:
    """Verify the plain values of a certificate, with rows in a file or in memory."""
    try:
        stated = Certificate.from_dict(plain)
    except FieldError as error:
        return Verification((Check("format", FAILED, str(error)),), None, (UNREAD,))
    schema, schema_check = check_schema(stated)
    found = [
        Check("format", OK, f"a certificate of format {stated.format}"),
        check_derived(stated, plain),
        schema_check,
        check_noise(stated),
        check_delta(stated),
        *check_epsilon(stated),
        *check_conditions(stated),
    ]
    not_checked = [STATEMENTS, NOT_SIGNED]
    if ledger is not None:
        found.append(check_ledger(stated, open_existing_ledger(ledger)))
        not_checked = [NOTED, NOBODY_SIGNED]
    if isinstance(rows, pa.Table):
        found.append(check_rows_in_memory(stated.release, schema, rows))
    elif rows is not None:
        found += check_table(stated.release, schema, rows)
    elif stated.release is not None:
        not_checked.insert(0, f"The table {stated.release.file}: pass its path as well.")
    else:
        not_checked.insert(0, "Any table: the certificate names none.")
    return Verification(tuple(found), stated.guarantee, tuple(not_checked))


def read_certificate(path: Path) -> Mapping[str, Any]:
    """Read the plain values of a certificate file, strictly."""
    try:
        if path.stat().st_size > LARGEST_CERTIFICATE:
            raise ArchiveError(f"{path}: larger than 64 MiB: not a certificate.")
        text = path.read_text(encoding="utf-8")
        plain = serialization.parse_strict_json(text)
    except OSError as error:
        raise ArchiveError(f"{path}: can not read it ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(
            f"{path}: not a certificate: expected JSON, with each key once and numbers that a "
            f"float can hold."
        ) from None
    if not isinstance(plain, dict):
        raise ArchiveError(f"{path}: not a certificate: expected a mapping of fields.")
    return plain
