"""`tabpe plan`: what a run would give, before a private row is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tabpe.cli.console import check_free, print_line, report_errors
from tabpe.cli.options import Force
from tabpe.errors import OutputError
from tabpe.evaluation.planning.plan import EPSILONS, SIMULATIONS
from tabpe.synthesizers.options import GUARANTEE, SEARCH

FORMS = (".html", ".json", ".txt")


def plan(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema of the table.")],
    rows: Annotated[
        int,
        typer.Option("--rows", "-n", help="Private rows, or users with --unit: a guess will do."),
    ],
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            "--epsilon",
            "-e",
            help=f"An epsilon; may be repeated; {', '.join(f'{one:g}' for one in EPSILONS)} if "
            f"left out.",
            rich_help_panel=GUARANTEE,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", help="1/(n ln n) if left out.", rich_help_panel=GUARANTEE),
    ] = None,
    adjacency: Annotated[
        str,
        typer.Option(
            "--adjacency", help="'add-remove' or 'replace-one'.", rich_help_panel=GUARANTEE
        ),
    ] = "add-remove",
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            help="The column of user ids, for user-level privacy.",
            rich_help_panel=GUARANTEE,
        ),
    ] = None,
    max_rows_per_user: Annotated[
        int | None,
        typer.Option(
            "--max-rows-per-user",
            help="Rows of a user that count; 10 if left out.",
            rich_help_panel=GUARANTEE,
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", help="The label, if other than that of the schema."),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", help="As for 'tabpe synth'.", rich_help_panel=SEARCH)
    ] = "best",
    stand_in: Annotated[
        Path | None,
        typer.Option(
            "--stand-in",
            help="A PUBLIC table like the private one, to simulate with: narrower bands.",
        ),
    ] = None,
    simulations: Annotated[
        int,
        typer.Option("--simulations", help="Runs of each simulated table; 0 for noise alone."),
    ] = SIMULATIONS,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulated tables.")] = 0,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Also write .html, .json or .txt; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    force: Force = False,
) -> None:
    """Tell what a run would give, before a private row is read.

    For each epsilon: the noise, which columns and pairs will be usable, the smallest group that can
    be seen, the expected quality with bands, and time and memory. It takes no private table.
    """
    with report_errors():
        from tabpe.evaluation.planning.plan import plan as make_plan

        outputs = output or []
        for path in outputs:
            if path.suffix.lower() not in FORMS:
                raise OutputError(f"--output {path}: expected a file .html, .json or .txt.")
        check_free(*outputs, force=force, inputs=[schema, *filter(None, [stand_in])])
        settings: dict[str, Any] = {"label": label or None, "verbose": 0}
        if label and len(label) == 1:
            settings["label"] = label[0]
        found = make_plan(
            schema,
            rows,
            epsilon or EPSILONS,
            stand_in=None if stand_in is None else str(stand_in),
            simulations=simulations,
            random_state=seed,
            delta=delta,
            adjacency=adjacency,
            unit=unit,
            max_rows_per_user=max_rows_per_user,
            preset=preset,
            **settings,
        )
        typer.echo(found.to_json() if as_json else found.to_text(), nl=False)
        for path in outputs:
            found.save(path)
            if not as_json:
                print_line("wrote", str(path))
