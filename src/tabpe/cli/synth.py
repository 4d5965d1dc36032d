"""`tabpe synth`: make a synthetic table and its certificate from a private table."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe._utils import validation
from tabpe._utils.files import open_regular
from tabpe.accounting import Certificate, ReleaseStatement
from tabpe.accounting.ledger import Ledger
from tabpe.accounting.pld import round_up
from tabpe.cli.console import check_free, format_count, print_line, print_wrapped, report_errors
from tabpe.cli.keys import load_signing_key
from tabpe.cli.options import (
    Bundle,
    Contact,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Escape,
    Force,
    NoSpill,
    Output,
    PassphraseEnv,
    PasswordEnv,
    PrivateSchema,
    Purpose,
    Query,
    Quiet,
    Rows,
    Save,
    SchemaFile,
    Sign,
    Table,
    add_options,
    find_input_files,
    override_format,
    parse_data,
)
from tabpe.cli.release import (
    DEFAULT_NAME,
    ReleaseContents,
    certificate_path,
    list_release_files,
    make_command,
    resolve_output,
    write_bundle,
    write_release,
)
from tabpe.encoding.cells import format_temporal_columns
from tabpe.errors import LedgerError, OutputError, ParameterError
from tabpe.schema import PartialSchema, Schema
from tabpe.synthesizers.options import list_options
from tabpe.synthesizers.parameters import TabPEParameters


@add_options(TabPEParameters)
def synth(
    data: Data,
    output: Output = None,
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    schema: SchemaFile = None,
    private_schema: PrivateSchema = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    *,
    no_spill: NoSpill = False,
    rows: Rows = None,
    save: Save = None,
    quiet: Quiet = False,
    force: Force = False,
    escape_formulas: Escape = False,
    bundle: Bundle = None,
    purpose: Purpose = None,
    contact: Contact = None,
    sign: Sign = None,
    passphrase_env: PassphraseEnv = None,
    **chosen: Any,
) -> None:
    """Make a synthetic table and its certificate from a private table.

    Writes OUT.csv or OUT.parquet, and beside it OUT.certificate.json, with a sheet to read, print
    and sign as OUT.certificate.html and .txt. With --bundle, all that a release needs in a folder.
    """
    from tabpe.synthesizers.tabpe import TabPE

    with report_errors():
        output = resolve_output(output, bundle)
        beside = certificate_path(output)
        written = [] if bundle else list_release_files(output)
        private = parse_data(data, table, query, password_env)
        inputs = [*find_input_files(data), *filter(None, [schema, sign])]
        resumed = not force and chosen.get("run_dir") is not None and beside.is_file()
        # If resumed, they may be the files of this very run, which is checked when it is done.
        check_free(*written, force=force or resumed, inputs=inputs)
        check_free(*filter(None, [save]), force=force, inputs=inputs)
        statement = ReleaseStatement(purpose, contact)
        signer = load_signing_key(sign, passphrase_env)
        _check_schema(schema, private=private_schema)
        validation.check_optional(validation.check_integer, "rows", rows, least=1)
        started = time.perf_counter()
        if not quiet:
            _print_resumed(chosen.get("run_dir"))
        given = {"n_samples": rows} | _parse_options(chosen, no_spill=no_spill)
        declared = override_format(schema, delimiter, decimal, encoding)
        model = TabPE(
            **given,
            schema="private" if private_schema else "declared",
            verbose=0 if quiet else 1,
        )
        if private_schema and not quiet:
            _print_estimates(model.outline_schema(private, declared))
        model.fit(private, declared)
        synthetic = model.sample(rows)
        if output.suffix.lower() == ".csv":
            synthetic = format_temporal_columns(synthetic, model.schema_.columns)
        if resumed and bundle is None:
            _check_own(output, beside, model.certificate)
        contents = ReleaseContents(
            synthetic,
            add_statement(model.certificate, statement, chosen.get("ledger")),
            model.schema_,
            model.history_,
            signer,
            escape_formulas,
        )
        if bundle is None:
            write_release(contents, output)
        else:
            own: dict[str, Any] = {
                "schema": None if schema is None else "schema.yaml",
                "private_schema": private_schema,
                "rows": rows,
                "escape_formulas": escape_formulas,
                "purpose": purpose,
                "contact": contact,
                "output": None if output.name == DEFAULT_NAME else output.name,
                "bundle": "DIR",
            }
            command = make_command(list_options(TabPEParameters), chosen, **own)
            write_bundle(contents, bundle, output, command)
        if save is not None:
            model.save(save)
        if not quiet:
            place = output if bundle is None else bundle / output
            _print_summary(model.certificate, synthetic, place, time.perf_counter() - started)
            if model.unit is not None and rows is None and model.n_samples is None:
                print_wrapped("rows", _explain_user_rows(model.unit))
            if signer is not None:
                print_line("signed", f"by the key {signer.public.fingerprint}")


def add_statement(
    certificate: Certificate, statement: ReleaseStatement, ledger: Path | None
) -> Certificate:
    """Return the certificate with what was stated, and with the total that the ledger knows."""
    if certificate.ledger is not None:
        with contextlib.suppress(LedgerError):  # the release is paid for: it is written anyway
            total = Ledger(ledger).status(certificate.ledger.dataset).total
            statement = dataclasses.replace(statement, total=total)
    if statement == ReleaseStatement():
        return certificate
    return certificate.with_statement(statement)


def _print_resumed(run_dir: Path | None) -> None:
    count = 0 if run_dir is None else len(list(run_dir.glob("*.measured")))
    if count:
        print_line("resumes", f"{run_dir}: {count} earlier measurements are not charged again")


def _print_estimates(outline: Schema | PartialSchema) -> None:
    """List what will be estimated, before a row is read and anything is charged."""
    fields = outline.missing if isinstance(outline, PartialSchema) else ()
    print_line(
        "estimates", f"{format_count(len(fields), 'field')} privately, before a row is read:"
    )
    print_wrapped("", ", ".join(fields))


def _check_schema(schema: Path | None, *, private: bool) -> None:
    if schema is None and not private:
        raise ParameterError(
            "--schema: required: 'tabpe schema init' drafts one. Or pass --private-schema to "
            "estimate it with a part of the budget."
        )


def _check_own(output: Path, beside: Path, certificate: Certificate) -> None:
    """Refuse to overwrite files that this run did not write before it was interrupted.

    The certificate is written first, so an interruption in between leaves only the certificate.
    """
    with open_regular(beside, OutputError) as file:
        try:
            found = Certificate.from_dict(json.loads(file.read()))
        except (ValueError, RecursionError):
            found = None
    own = found is not None and found.digest == certificate.digest
    if found is None or found.release is None or not own:
        raise OutputError(f"{beside}: exists already: pass --force to overwrite it.")
    if not output.exists():
        return
    with open_regular(output, OutputError) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != found.release.sha256:  # type: ignore[arg-type]
            raise OutputError(f"{output}: exists already: pass --force to overwrite it.")


def _print_summary(certificate: Certificate, table: pa.Table, output: Path, seconds: float) -> None:
    rounds = certificate.configuration["rounds"]
    epsilon, delta = round_up(certificate.epsilon, 4), round_up(certificate.delta, 3)
    print_line(
        "wrote",
        f"{output}: {format_count(table.num_rows, 'row')} after {rounds} rounds in {seconds:.1f} s",
    )
    print_line("guarantee", f"epsilon {epsilon:g}, delta {delta:g}: {certificate.status}")
    sheet = certificate_path(output).with_suffix(".html")
    print_line("details", f"{sheet}, to read and sign; .json: every spend")


def _explain_user_rows(unit: str) -> str:
    return (
        f"about as many as there are values of {unit!r}, which were counted under noise: how many "
        f"rows each has is not measured. --rows N makes another number, at the same cost."
    )


def _parse_options(chosen: Mapping[str, Any], *, no_spill: bool) -> dict[str, Any]:
    """Return the parameters of a model that were given."""
    given = {name: value for name, value in chosen.items() if value not in (None, [])}
    if no_spill and "spill" in given:
        raise ParameterError(f"--spill-dir {given['spill']}: not together with --no-spill.")
    if no_spill:
        given["spill"] = False
    if "public_shares" in given:
        given["public_shares"] = _parse_shares(given["public_shares"])
    return given


def _parse_shares(given: Sequence[str]) -> dict[str, float]:
    shares = {}
    for entry in given:
        name, separator, share = entry.rpartition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            separator = ""
        if not separator:
            raise ParameterError(f"--class-share {entry!r}: expected CLASS=SHARE, like yes=0.1.")
    return shares
