"""The options of `tabpe synth`, in groups as its help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PROMISE, PUBLIC, CHARGED = "The promise", "What is public", "Ledger and crashes"
SEARCH, MACHINE = "The search", "The machine"

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="What is public about it (see 'tabpe schema init').",
        rich_help_panel=PUBLIC,
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        "-l",
        help="The column whose values are classes; repeat it for their combinations.",
        rich_help_panel=PUBLIC,
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        "-e",
        help="The privacy budget; smaller is more private.",
        rich_help_panel=PROMISE,
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The synthetic table: .csv or .parquet.")
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="Chance that the promise fails; 1/(n ln n) if left out.",
        rich_help_panel=PROMISE,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Rows to write; those made if left out."),
]
Evolve = Annotated[
    int | None,
    typer.Option("--evolve", help="Rows to make, if other than --rows.", rich_help_panel=SEARCH),
]
ClassFloor = Annotated[
    int | None,
    typer.Option(
        "--class-floor", help="Rows to make of every class, at least.", rich_help_panel=SEARCH
    ),
]
Preset = Annotated[
    str,
    typer.Option("--preset", help="'best', 'paper' or 'reference'.", rich_help_panel=SEARCH),
]
Adjacent = Annotated[
    str,
    typer.Option("--adjacency", help="'add-remove' or 'replace-one'.", rich_help_panel=PROMISE),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="The column of user ids: protects users, not rows.",
        rich_help_panel=PROMISE,
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-user", help="Rows of a user that count; 10.", rich_help_panel=PROMISE
    ),
]
RunDir = Annotated[
    Path | None,
    typer.Option(
        "--run-dir", help="A folder to go on from after a crash.", rich_help_panel=CHARGED
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset", help="Its name in a ledger, to which it is charged.", rich_help_panel=CHARGED
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="The ledger; one in your data folder if left out.", rich_help_panel=CHARGED
    ),
]
RequireBudget = Annotated[
    bool,
    typer.Option(
        "--require-budget",
        help="Refuse a data set without a budget in the ledger.",
        rich_help_panel=CHARGED,
    ),
]
PrivateSchema = Annotated[
    bool,
    typer.Option(
        "--private-schema", help="Buy what the schema lacks, or all of it.", rich_help_panel=PUBLIC
    ),
]
SchemaBudget = Annotated[
    float,
    typer.Option(
        "--schema-budget", help="Part of the budget that buying it takes.", rich_help_panel=PUBLIC
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="A column to leave out of a bought schema; may be repeated.",
        rich_help_panel=PUBLIC,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop at a cell that does not fit, where the schema states no rule for it. Whether "
        "there is a release is then not covered by the guarantee.",
        rich_help_panel=PUBLIC,
    ),
]
PublicRows = Annotated[
    int | None,
    typer.Option(
        "--public-rows",
        help="Rows, or users with --unit, if publicly known.",
        rich_help_panel=PUBLIC,
    ),
]
ClassShare = Annotated[
    list[str] | None,
    typer.Option(
        "--class-share",
        help="CLASS=SHARE, if publicly known; once for each class.",
        rich_help_panel=PUBLIC,
    ),
]
Noise = Annotated[
    str,
    typer.Option(
        "--noise",
        help="'opendp' is exact; 'table' is faster, and all but exact.",
        rich_help_panel=PROMISE,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of the search; the noise takes none.", rich_help_panel=SEARCH
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="'local' in memory, 'stream' from disk, 'ray', 'spark', or 'auto'.",
        rich_help_panel=MACHINE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="A cluster: 'auto', HOST:PORT, ray://HOST:PORT or spark://HOST:PORT.",
        rich_help_panel=MACHINE,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        help="Stream above this, like 2GB; half the memory if left out.",
        rich_help_panel=MACHINE,
    ),
]
SpillFolder = Annotated[
    Path | None,
    typer.Option(
        "--spill-dir", help="Where to stream from; the temporary folder.", rich_help_panel=MACHINE
    ),
]
NoSpill = Annotated[
    bool,
    typer.Option(
        "--no-spill", help="Stream from the table itself, in every round.", rich_help_panel=MACHINE
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Threads or workers; all cores if left out.", rich_help_panel=MACHINE
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="Keep the run, to sample from or evaluate: .tabpe."),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Defuse CSV text that a spreadsheet would run.",
    ),
]
