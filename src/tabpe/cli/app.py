"""The `tabpe` command and its subcommands, each loaded when it runs and not to list it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tabpe import __version__

HELP = """\
Turn a sensitive table into a synthetic one under differential privacy.

Start with 'tabpe demo'. For your own table: 'tabpe schema init' drafts what is \
public about it, you check and correct the draft, 'tabpe plan' tells what a run \
would give, and 'tabpe synth' writes the synthetic table and its certificate. \
'tabpe evaluate' measures its quality, 'tabpe verify' checks the certificate.

Exit codes: 0 done, 1 failed, 2 wrong use or bad input, 3 budget refused.
"""


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is defined, and what the list of commands says of it.

    Args:
        module: The module that defines it.
        attribute: Its function there, or a `typer.Typer` of subcommands.
        help: The first line of its own help.
    """

    module: str
    attribute: str
    help: str

    def load(self, name: str) -> Any:
        """Import the module and return the command."""
        defined = getattr(importlib.import_module(self.module), self.attribute)
        parent = typer.Typer()
        if isinstance(defined, typer.Typer):
            parent.add_typer(defined, name=name)
        else:
            parent.command(name)(defined)
        return typer.main.get_group(parent).commands[name]


# In the order of the list of commands.
COMMANDS = {
    "demo": LazyCommand(
        "tabpe.cli.demo", "demo", "Synthesise a simulated hospital table and evaluate the result."
    ),
    "plan": LazyCommand(
        "tabpe.cli.plan", "plan", "Tell what a run would give, before a private row is read."
    ),
    "synth": LazyCommand(
        "tabpe.cli.synth",
        "synth",
        "Make a synthetic table and its certificate from a private table.",
    ),
    "evaluate": LazyCommand(
        "tabpe.cli.evaluate",
        "evaluate",
        "Measure the quality of a synthetic table, and write an HTML report.",
    ),
    "audit": LazyCommand(
        "tabpe.cli.audit",
        "audit",
        "Attack the privacy guarantee of this installation, with simulated tables.",
    ),
    "verify": LazyCommand(
        "tabpe.cli.verify", "verify", "Check a certificate, and the table that it certifies."
    ),
    "studio": LazyCommand(
        "tabpe.cli.studio",
        "studio",
        "Go from a file to a signed release in the browser, without code.",
    ),
    "keys": LazyCommand("tabpe.cli.keys", "keys", "Make a key pair to sign certificates with."),
    "schema": LazyCommand("tabpe.cli.schema", "app", "Declare what is public about a table."),
    "ledger": LazyCommand(
        "tabpe.cli.ledger", "app", "Track the privacy budget that runs on a data set spend."
    ),
}


class CommandGroup(TyperGroup):
    """The group of `COMMANDS`. Its help shows what they say, without loading them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _LoadedCommands(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help from the first lines alone."""
        loaded = self.commands
        self.commands = {name: TyperCommand(name, help=one.help) for name, one in COMMANDS.items()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded


class _LoadedCommands(MutableMapping[str, Any]):
    """Commands by name; a value is loaded when it is asked for."""

    def __init__(self, lazy: dict[str, LazyCommand]) -> None:
        self._lazy = lazy
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._lazy[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._lazy, **self._loaded})

    def __len__(self) -> int:
        return len({**self._lazy, **self._loaded})


app = typer.Typer(
    name="tabpe",
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
