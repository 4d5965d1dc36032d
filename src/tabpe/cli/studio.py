"""`tabpe studio`: a local web application, from a messy export to a signed release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabpe._utils.extras import require_studio_extra
from tabpe.cli.console import print_line, report_errors

FOLDER = Path("tabpe-studio")


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The project; made if it does not exist.")
    ] = FOLDER,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", help="A folder that tables may be opened in; may be repeated. Else this one."
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="The ledger; one in your data folder if left out."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; a free one if left out.")
    ] = 0,
    upload_megabytes: Annotated[
        int, typer.Option("--upload-megabytes", min=1, help="The largest upload.")
    ] = 512,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in the browser.")
    ] = True,
) -> None:
    """Go from a file to a signed release in the browser, without code.

    The server listens on this machine alone. The address that is printed works once. Ctrl-C stops
    the server; what runs goes on, and everything is there when you start it again.
    """
    with report_errors():
        require_studio_extra("tabpe studio")
        from tabpe.studio.server import serve_project

        print_line("project", str(folder))
        serve_project(
            folder,
            data=data or [Path.cwd()],
            ledger=ledger,
            port=port,
            upload_megabytes=upload_megabytes,
            open_browser=browser,
            announce=_announce,
        )


def _announce(address: str) -> None:
    print_line("open", f"{address}")
    print_line("", "it works once; start again for a new one. Ctrl-C stops.")
