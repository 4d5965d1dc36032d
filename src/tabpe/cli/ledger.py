"""`tabpe ledger`: the budget of a data set, what runs have spent, and what is left."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from tabpe._utils import files
from tabpe.accounting.ledger import DatasetStatus, Ledger, RunEntry
from tabpe.accounting.ledger.events import check_digest
from tabpe.accounting.pld import round_up
from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.errors import LedgerError

app = typer.Typer(
    help="Track the privacy budget that runs on a data set spend.", no_args_is_help=True
)

LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger; one in your data folder if left out."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_WIDTH = 78
_NO_BREAK = "\N{NO-BREAK SPACE}"


@app.command("set-budget")
def set_budget(
    dataset: Annotated[str, typer.Argument(metavar="NAME", help="Your name for the data set.")],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The total budget of all runs.")
    ],
    delta: Annotated[float, typer.Option("--delta", help="The delta at which runs are composed.")],
    adjacency: Annotated[
        str, typer.Option("--adjacency", help="'add-remove' or 'replace-one'.")
    ] = "add-remove",
    unit: Annotated[
        str | None, typer.Option("--unit", help="The column of user ids, for user-level privacy.")
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Set or change the total budget of all runs on a data set."""
    with report_errors():
        opened = Ledger(ledger)
        opened.set_budget(dataset, epsilon=epsilon, delta=delta, adjacency=adjacency, unit=unit)
        print_line("ledger", str(opened.path))
        _show_total(opened.status(dataset))
        typer.echo(
            "  Runs compose: their noise adds up in squares, so epsilon 1 spent of 3 leaves about\n"
            "  2.75, not 2. 'left' is what one more run may ask for."
        )


@app.command()
def show(
    dataset: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One data set; all if left out.")
    ] = None,
    ledger: LedgerFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the budget of each data set, what is spent and what is left, run by run."""
    with report_errors():
        opened = _open_existing(ledger)
        found = opened.statuses() if dataset is None else (opened.status(dataset),)
        if as_json:
            plain = {"ledger": str(opened.path), "datasets": [status.to_dict() for status in found]}
            typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
            return
        print_line("ledger", str(opened.path))
        for status in found:
            typer.echo()
            _show_status(status)


@app.command()
def verify(
    ledger: LedgerFile = None,
    head: Annotated[
        str | None, typer.Option("--head", help="An earlier head, which must still be in it.")
    ] = None,
) -> None:
    """Check every event of a ledger; exit code 1 if one is invalid."""
    with report_errors():
        opened = _open_existing(ledger)
        problems = opened.verify(None if head is None else check_digest("head", head.lower()))
        for problem in problems:
            print_line("broken", problem)
        if problems:
            raise typer.Exit(1)
        book = opened.book()
        print_line("holds", f"{opened.path}: {len(book.digests):,} events")
        print_line("head", book.head)
        if head is None:
            print_line("", "Note the head elsewhere: it reveals a ledger with its end cut off.")


@app.command()
def export(
    ledger: LedgerFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; printed if left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Write all events as JSON, with the head."""
    with report_errors():
        opened = _open_existing(ledger)
        text = json.dumps(opened.export(), indent=2, ensure_ascii=False)
        if output is None:
            typer.echo(text)
            return
        check_free(output, force=force, inputs=[opened.path])
        files.write_text(output, text + "\n")
        print_line("wrote", str(output))


def _open_existing(path: Path | None) -> Ledger:
    """Open a ledger for reading; refuse a missing one."""
    opened = Ledger(path)
    if not opened.exists():
        raise LedgerError(f"{opened.path}: no such ledger. 'tabpe ledger set-budget' creates one.")
    return opened


def _show_status(status: DatasetStatus) -> None:
    _show_total(status)
    for entry in status.entries:
        _show_entry(entry)


def _show_total(status: DatasetStatus) -> None:
    typer.echo(status.dataset)
    for line in _list_totals(status):
        typer.echo(f"  {line}")


def _list_totals(status: DatasetStatus) -> list[str]:
    budget, spent = status.budget, status.spent
    if budget is None or spent is None:
        return ["no budget: runs are recorded, not limited"]
    over = "  OVER THE BUDGET" if spent > budget.epsilon else ""
    return [
        f"budget  epsilon {budget.epsilon:g} at delta {budget.delta:g}, {budget.relation}",
        f"spent   epsilon {round_up(spent, 4):g}{over}",
        f"left    epsilon {status.left:g}",
    ]


def _show_entry(entry: RunEntry) -> None:
    time = (entry.closed_at or entry.reserved_at)[:16].replace("T", " ")
    certificate = "-" if entry.certificate_sha256 is None else entry.certificate_sha256[:8]
    head = f"  {time}  {entry.state:<8}  {certificate:<8}  "
    spends = [f"{spend.times} x {spend.name} (sigma {spend.sigma:.4g})" for spend in entry.spends]
    # A spend is not broken across lines.
    joined = ", ".join(spend.replace(" ", _NO_BREAK) for spend in spends)
    lines = textwrap.wrap(joined, _WIDTH - len(head), break_long_words=False)
    for index, line in enumerate(lines):
        typer.echo((" " * len(head) if index else head) + line.replace(_NO_BREAK, " "))
