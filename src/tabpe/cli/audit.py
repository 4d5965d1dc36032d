"""`tabpe audit`: attacks on the privacy guarantee of this installation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tabpe._utils import files as _atomic
from tabpe._utils.progress import show_step_line
from tabpe.audit import AuditReport, audit_broken
from tabpe.audit import audit as audit_shipped
from tabpe.cli.console import check_free, print_line, report_errors

REFUTED = 1

Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="The epsilon to attack.")]
Delta = Annotated[float, typer.Option("--delta", help="The delta to attack.")]
Broken = Annotated[
    bool,
    typer.Option(
        "--broken", help="Attack deliberately broken systems, to see that they are detected."
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the results here.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")]


def audit(
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-5,
    broken: Broken = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Attack the privacy guarantee of this installation, with simulated tables.

    Shows a lower bound of epsilon from each attack beside the claimed epsilon. Exit code 1 if an
    attack refutes the claim; with --broken, if a broken system is not detected.
    """
    with report_errors():
        files = [] if json_file is None else [json_file]
        check_free(*files, force=force)
        passed, text, record = _run_attacks(epsilon, delta, broken=broken, quiet=quiet)
        for file in files:
            _atomic.write_text(file, record)
        if not quiet:
            typer.echo(text)
            for file in files:
                print_line("wrote", str(file))
        if not passed:
            raise typer.Exit(REFUTED)


def _run_attacks(
    epsilon: float, delta: float, *, broken: bool, quiet: bool
) -> tuple[bool, str, str]:
    """Return whether the audit passed, its results as text, and as JSON."""
    with show_step_line(visible=not quiet) as on_test:
        if not broken:
            report = audit_shipped(epsilon, delta, on_test=on_test)
            return report.holds, str(report), report.to_json()
        reports = audit_broken(epsilon, delta, on_test=on_test)
    record = json.dumps([report.to_dict() for report in reports], indent=2) + "\n"
    return not any(report.holds for report in reports), _list_detections(reports), record


def _list_detections(reports: Sequence[AuditReport]) -> str:
    """List the tests that detected each broken system."""
    title = "broken system"
    width = 3 + max(len(name) for name in (title, *(report.system for report in reports)))
    lines = [f"{title:<{width}}detected by"]
    for report in reports:
        tests = report.refuting or ("NOTHING: an audit would not detect this",)
        heads = [report.system, *[""] * (len(tests) - 1)]
        lines += [f"{head:<{width}}{test}" for head, test in zip(heads, tests, strict=True)]
    return "\n".join(lines)
