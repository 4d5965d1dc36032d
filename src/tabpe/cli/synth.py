"""`tabpe synth`: make a synthetic table and its certificate from a private table."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from tabpe._utils import files, validation
from tabpe._utils.files import open_regular
from tabpe.accounting import Certificate, WrittenTable
from tabpe.accounting.certificate import round_up
from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.cli.options import (
    Data,
    Escape,
    Force,
    NoSpill,
    Output,
    PasswordEnv,
    PrivateSchema,
    Query,
    Quiet,
    Rows,
    Save,
    SchemaFile,
    Table,
    add_options,
    find_input_files,
    parse_data,
)
from tabpe.encoding.cells import format_temporal_columns
from tabpe.errors import OutputError, ParameterError
from tabpe.io.writers import check_suffix, make_table_writer
from tabpe.synthesizers.tabpe import TabPE


@add_options(TabPE)
def synth(
    data: Data,
    output: Output,
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    schema: SchemaFile = None,
    private_schema: PrivateSchema = False,
    *,
    no_spill: NoSpill = False,
    rows: Rows = None,
    save: Save = None,
    quiet: Quiet = False,
    force: Force = False,
    escape_formulas: Escape = False,
    **chosen: Any,
) -> None:
    """Make a synthetic table and its certificate from a private table.

    Writes OUT.csv or OUT.parquet, and OUT.certificate.json beside it.
    """
    with report_errors():
        beside = certificate_path(output)
        check_suffix(output)
        written = [output, beside, *filter(None, [save])]
        private = parse_data(data, table, query, password_env)
        inputs = [*find_input_files(data), *filter(None, [schema])]
        resumed = not force and chosen.get("run_dir") is not None and beside.is_file()
        if resumed:  # perhaps the files of this very run, which is checked when it is done
            check_free(output, beside, force=True, inputs=inputs)
            check_free(*filter(None, [save]), force=False, inputs=inputs)
        else:
            check_free(*written, force=force, inputs=inputs)
        _check_schema(schema, private=private_schema)
        validation.check_optional(validation.check_integer, "rows", rows, least=1)
        started = time.perf_counter()
        if not quiet:
            _print_resumed(chosen.get("run_dir"))
        given = {"n_samples": rows} | _parse_options(chosen, no_spill=no_spill)
        model = TabPE(
            **given,
            schema="private" if private_schema else "declared",
            verbose=0 if quiet else 1,
        ).fit(private, schema)
        synthetic = model.sample(rows)
        if output.suffix.lower() == ".csv":
            synthetic = format_temporal_columns(synthetic, model.schema_.columns)
        if resumed:
            _check_own(output, beside, model.certificate)
        _write_outputs(synthetic, output, model.certificate, escape_formulas=escape_formulas)
        if save is not None:
            model.save(save)
        if not quiet:
            _print_summary(model.certificate, synthetic, output, time.perf_counter() - started)


def _print_resumed(run_dir: Path | None) -> None:
    count = 0 if run_dir is None else len(list(run_dir.glob("*.measured")))
    if count:
        print_line("resumes", f"{run_dir}: {count} earlier measurements are not charged again")


def _check_schema(schema: Path | None, *, private: bool) -> None:
    if schema is None and not private:
        raise ParameterError(
            "--schema: required: 'tabpe schema init' drafts one. Or pass --private-schema to "
            "estimate it with a part of the budget."
        )


def certificate_path(output: Path) -> Path:
    """Return the path of the certificate of a table."""
    return output.with_name(f"{output.stem}.certificate.json")


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


def _write_outputs(
    table: pa.Table, output: Path, certificate: Certificate, *, escape_formulas: bool
) -> None:
    """Write the table, and a certificate with the SHA-256 of its bytes."""
    written: list[WrittenTable] = []

    def report(sha256: str, size: int) -> None:
        written.append(WrittenTable(output.name, sha256, table.num_rows, size, escape_formulas))

    def certify(file: BinaryIO) -> None:
        file.write(certificate.for_file(written[0]).to_json().encode())

    fill = make_table_writer(table, output, escape_formulas=escape_formulas)
    files.write_files(
        {output: files.make_hashing_filler(fill, report), certificate_path(output): certify}
    )


def _print_summary(certificate: Certificate, table: pa.Table, output: Path, seconds: float) -> None:
    rounds = certificate.configuration["rounds"]
    epsilon, delta = round_up(certificate.epsilon, 4), round_up(certificate.delta, 2)
    print_line(
        "wrote", f"{output}: {table.num_rows:,} rows after {rounds} rounds in {seconds:.1f} s"
    )
    print_line("guarantee", f"epsilon {epsilon:g}, delta {delta:g}: {certificate.status}")
    print_line("details", f"{certificate_path(output)}: every privacy spend")


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
