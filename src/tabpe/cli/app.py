"""The `tabpe` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from tabpe import __version__
from tabpe.cli import audit, demo, evaluate, keys, ledger, plan, schema, synth, verify

HELP = """\
Turn a sensitive table into a synthetic one under differential privacy.

Start with 'tabpe demo'. For your own table: 'tabpe schema init' drafts what is \
public about it, you check and correct the draft, 'tabpe plan' tells what a run \
would give, and 'tabpe synth' writes the synthetic table and its certificate. \
'tabpe evaluate' measures its quality, 'tabpe verify' checks the certificate.

Exit codes: 0 done, 1 failed, 2 wrong use or bad input, 3 budget refused.
"""

app = typer.Typer(
    name="tabpe",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("plan")(plan.plan)
app.command("synth")(synth.synth)
app.command("evaluate")(evaluate.evaluate)
app.command("audit")(audit.audit)
app.command("verify")(verify.verify)
app.command("keys")(keys.keys)
app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabpe {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def _tabpe(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Define the options before a command."""


def main() -> None:
    """Run the command line."""
    app()
