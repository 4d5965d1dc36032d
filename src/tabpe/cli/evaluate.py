"""`tabpe evaluate`: measure the quality of a synthetic table, as an HTML report."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tabpe._utils import files
from tabpe._utils.extras import require_report_extra
from tabpe.accounting import Certificate
from tabpe.cli.console import check_free, print_line, print_wrapped, report_errors
from tabpe.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Force,
    PasswordEnv,
    Query,
    Quiet,
    Table,
    find_input_files,
    override_format,
    parse_data,
)
from tabpe.cli.release import certificate_path
from tabpe.errors import OutputError, ParameterError
from tabpe.schema import Schema
from tabpe.schema.table_format import TableFormat
from tabpe.verification.verify import read_certificate

if TYPE_CHECKING:
    from tabpe.evaluation.report import Report


PUBLIC, MEASURES = "A report that may be released", "Metrics"
NONE, CODES = "-", "codes"

Real = Annotated[str, typer.Argument(metavar="REAL", help="The real table, as for 'tabpe synth'.")]
Synthetic = Annotated[str, typer.Argument(metavar="SYN", help="The synthetic table.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The report: .html.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the results here as JSON.")]
TestTable = Annotated[
    str | None, typer.Option("--test", "-t", help="Real rows that the synthesizer has not seen.")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", "-s", help="The schema; that of the certificate if left out."),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", "-c", help="The certificate; SYN.certificate.json if left out."),
]
RunFile = Annotated[
    Path | None, typer.Option("--run", help="What 'tabpe synth --save' wrote: shows its rounds.")
]
AuditFile = Annotated[Path | None, typer.Option("--audit", help="What 'tabpe audit --json' wrote.")]
Learners = Annotated[
    list[str] | None,
    typer.Option(
        "--learner",
        help="'gradient boosting', 'extra trees', 'nearest neighbours', 'tabicl' or 'tabpfn'; "
        "may be repeated.",
        rich_help_panel=MEASURES,
    ),
]
Categories = Annotated[
    str,
    typer.Option(
        "--categories",
        help="Wasserstein by 'codes', as the paper, or by 'mismatch'.",
        rich_help_panel=MEASURES,
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of all subsamples.", rich_help_panel=MEASURES)
]
Public = Annotated[
    bool,
    typer.Option(
        "--public",
        help="Show only outputs of differential privacy.",
        rich_help_panel=PUBLIC,
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", "-l", help="The column to predict; that of the schema if left out."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Threads; all cores if left out.", rich_help_panel=MEASURES),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta", help="The delta; that of the certificate if left out.", rich_help_panel=PUBLIC
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="The data set in a ledger to charge.", rich_help_panel=PUBLIC),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="The ledger; one in your data folder if left out.", rich_help_panel=PUBLIC
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Estimate metrics on the real rows with this budget.",
        rich_help_panel=PUBLIC,
    ),
]


def evaluate(
    real: Real,
    synthetic: Synthetic,
    output: Output = Path("report.html"),
    table: Table = None,
    query: Query = None,
    password_env: PasswordEnv = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    json_file: JsonFile = None,
    test: TestTable = None,
    schema: SchemaFile = None,
    label: Label = None,
    certificate: CertificateFile = None,
    run: RunFile = None,
    audit: AuditFile = None,
    learner: Learners = None,
    categories: Categories = CODES,
    public: Public = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    dataset: Dataset = None,
    ledger: LedgerFile = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Measure the quality of a synthetic table, and write an HTML report.

    The report has exact statistics of the real rows and must not be released. With --public it may
    be: REAL is not read then (it may be '-'), or, with --epsilon, only under differential privacy.
    """
    from tabpe.evaluation.report import evaluate as evaluated
    from tabpe.evaluation.report import evaluate_public

    with report_errors():
        began = time.perf_counter()
        if not public or epsilon is not None:
            require_report_extra("tabpe evaluate")
        given = [certificate, schema, run, audit]
        private = parse_data(real, table, query, password_env)
        inputs = [
            *_list_files(real, public=public),
            *find_input_files(synthetic),
            *filter(None, given),
        ]
        _check_suffix("--output", output, ".html")
        _check_suffix("--json", json_file, ".json")
        check_free(*filter(None, [output, json_file]), force=force, inputs=inputs)
        certificate = certificate or _find_certificate(synthetic)
        layout = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
        shared: dict[str, Any] = {
            "schema": _override_schema(schema, certificate, layout),
            "label": label,
            "certificate": certificate,
            "run": run,
            "audit": audit,
            "random_state": seed,
            "verbose": 0 if quiet else 1,
        }
        if public:
            other = categories if categories != CODES else None
            _refuse_together(
                "--public", {"--test": test, "--learner": learner, "--categories": other}
            )
            charged: dict[str, Any] = {
                "epsilon": epsilon,
                "delta": delta,
                "dataset": dataset,
                "ledger": ledger,
            }
            if epsilon is None:
                _refuse_unless("--epsilon", delta=delta, dataset=dataset, ledger=ledger)
            elif real == NONE:
                raise ParameterError(
                    "--epsilon: estimates metrics on a real table: name it, not '-'."
                )
            read = None if epsilon is None else private
            report = evaluate_public(synthetic, real=read, **charged, **shared)
        else:
            _refuse_unless("--public", epsilon=epsilon, delta=delta, dataset=dataset, ledger=ledger)
            report = evaluated(
                private,
                synthetic,
                test=test,
                learners=learner or ("gradient boosting",),
                categories=categories,
                jobs=jobs,
                **shared,
            )
        _write_report(report, output, json_file)
        _warn_of_doubts(report)
        if not quiet:
            _print_findings(report, output, json_file, time.perf_counter() - began)


def _list_files(real: str, *, public: bool) -> list[Path]:
    if real != NONE:
        return find_input_files(real)
    if not public:
        raise ParameterError(f"REAL {NONE}: only with --public.")
    return []


def _check_suffix(option: str, path: Path | None, suffix: str) -> None:
    if path is not None and path.suffix != suffix:
        raise OutputError(f"{option} {path}: expected a file that ends in {suffix}.")


def _override_schema(
    schema: Path | None, certificate: Path | None, layout: Mapping[str, str | None]
) -> Any:
    """Return the schema; with another format for the real table, if an option states one."""
    if not any(layout.values()):
        return schema
    if schema is not None:
        return Schema.from_dict(cast("dict[str, Any]", override_format(schema, **layout)))
    if certificate is None:
        raise ParameterError(
            "--delimiter, --decimal, --encoding: need a schema: pass --schema or --certificate."
        )
    declared = Schema.from_dict(Certificate.from_dict(read_certificate(certificate)).schema)
    stated = (declared.format or TableFormat()).override(**layout)
    return dataclasses.replace(declared, format=stated)


def _find_certificate(synthetic: str) -> Path | None:
    """Return the certificate that 'tabpe synth' writes beside a table, if it is there."""
    path = certificate_path(Path(synthetic))
    return path if path.is_file() else None


def _refuse_together(option: str, others: dict[str, Any]) -> None:
    for other, value in others.items():
        if value:
            raise ParameterError(f"{other}: not together with {option}.")


def _refuse_unless(option: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"--{name}: only with {option}, to estimate metrics privately.")


def _write_report(report: Report, output: Path, json_file: Path | None) -> None:
    contents = {output: files.make_text_filler(report.to_html())}
    if json_file is not None:
        contents[json_file] = files.make_text_filler(report.to_json())
    files.write_files(contents)


def _warn_of_doubts(report: Report) -> None:
    """Warn, even with --quiet, of a certificate or a report that is not to be relied on."""
    from tabpe.evaluation.report.guarantee import list_doubts, list_failures

    failed, doubted = list_failures(report.contents), list_doubts(report.contents)
    if failed:
        typer.echo(f"warning: the certificate does not hold: {'; '.join(failed)}", err=True)
    if report.contents.mode == "public" and doubted:
        reasons = "; ".join(doubted)
        typer.echo(f"warning: the report may not be released: {reasons}", err=True)


def _print_findings(report: Report, output: Path, json_file: Path | None, seconds: float) -> None:
    for card in report.cards:
        typer.echo(f"{card.grade:<9} {card.title}: {card.figure}")
    print_wrapped("verdict", report.verdict)
    learned = report.contents.utility
    for note in (*report.contents.notes, *(() if learned is None else learned.notes)):
        print_wrapped("note", note)
    for path in filter(None, [output, json_file]):
        print_line("wrote", f"{path} in {seconds:.1f} s" if path == output else str(path))
    if report.contents.mode == "custodian":
        print_line("caution", "it has exact statistics of the real rows: do not release it")
