"""`tabpe synth`: make a synthetic table and its certificate from a private table."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import BinaryIO, Literal

import pyarrow as pa

from tabpe._utils import files, validation
from tabpe._utils.files import open_regular
from tabpe.accounting import Certificate, WrittenTable
from tabpe.accounting.certificate import round_up
from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.cli.options import (
    Address,
    Adjacent,
    ClassFloor,
    ClassShare,
    Data,
    Dataset,
    Delta,
    Drop,
    EngineName,
    Epsilon,
    Escape,
    Evolve,
    Force,
    Jobs,
    Label,
    LedgerFile,
    MaxRows,
    MemoryLimit,
    Noise,
    NoSpill,
    Output,
    PasswordEnv,
    Preset,
    PrivateSchema,
    PublicRows,
    Query,
    Quiet,
    RequireBudget,
    Rows,
    RunDir,
    Save,
    SchemaBudget,
    SchemaFile,
    Seed,
    SpillFolder,
    Strict,
    Table,
    Unit,
    find_input_files,
    parse_data,
)
from tabpe.encoding.cells import format_temporal_columns
from tabpe.errors import OutputError, ParameterError
from tabpe.io.writers import check_suffix, make_table_writer
from tabpe.synthesizers.tabpe import TabPE


def synth(
    data: Data,
    output: Output,
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    schema: SchemaFile = None,
    private_schema: PrivateSchema = False,
    schema_budget: SchemaBudget = 0.05,
    drop: Drop = None,
    strict: Strict = False,
    label: Label = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = None,
    rows: Rows = None,
    evolve: Evolve = None,
    class_floor: ClassFloor = None,
    preset: Preset = "best",
    adjacency: Adjacent = "add-remove",
    unit: Unit = None,
    max_rows_per_user: MaxRows = None,
    public_rows: PublicRows = None,
    class_share: ClassShare = None,
    noise: Noise = "opendp",
    seed: Seed = None,
    engine: EngineName = "auto",
    address: Address = None,
    memory_limit: MemoryLimit = None,
    spill_dir: SpillFolder = None,
    no_spill: NoSpill = False,
    jobs: Jobs = None,
    run_dir: RunDir = None,
    dataset: Dataset = None,
    ledger: LedgerFile = None,
    require_budget: RequireBudget = False,
    save: Save = None,
    quiet: Quiet = False,
    force: Force = False,
    escape_formulas: Escape = False,
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
        resumed = not force and run_dir is not None and beside.is_file()
        if resumed:  # perhaps the files of this very run, which is checked when it is done
            check_free(output, beside, force=True, inputs=inputs)
            check_free(*filter(None, [save]), force=False, inputs=inputs)
        else:
            check_free(*written, force=force, inputs=inputs)
        _check_schema(schema, private=private_schema)
        validation.check_optional(validation.check_integer, "rows", rows, least=1)
        started = time.perf_counter()
        if not quiet:
            _print_resumed(run_dir)
        model = TabPE(
            epsilon=epsilon,
            delta=delta,
            label=label or None,
            n_samples=rows if evolve is None else evolve,
            class_floor=class_floor,
            preset=preset,
            adjacency=adjacency,
            schema="private" if private_schema else "declared",
            schema_budget=schema_budget,
            drop=drop or (),
            strict=strict,
            unit=unit,
            max_rows_per_user=max_rows_per_user,
            public_rows=public_rows,
            public_shares=_parse_shares(class_share),
            noise=noise,
            engine=engine,
            address=address,
            memory_limit=memory_limit,
            spill=_parse_spill(spill_dir, without=no_spill),
            n_jobs=jobs,
            run_dir=run_dir,
            dataset=dataset,
            ledger=ledger,
            require_budget=require_budget,
            random_state=seed,
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


def _parse_spill(folder: Path | None, *, without: bool) -> Path | Literal[False] | None:
    if without and folder is not None:
        raise ParameterError(f"--spill-dir {folder}: not together with --no-spill.")
    return False if without else folder


def _parse_shares(given: list[str] | None) -> dict[str, float] | None:
    if not given:
        return None
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
