"""`tabpe demo`: a simulated example, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from tabpe._utils import files
from tabpe._utils.extras import require_report_extra
from tabpe._utils.files import check_local_path
from tabpe.cli import evaluate, synth
from tabpe.cli.console import print_line, report_errors
from tabpe.cli.release import certificate_path
from tabpe.errors import OutputError
from tabpe.io import make_table_writer, read_table
from tabpe.io.example import compute_pattern_share, hospital_schema, hospital_table

ROWS, UNSEEN_ROWS = 20_000, 5_000
STATED = {
    "purpose": "To show what tabpe does, with simulated patients",
    "contact": "Data office of a simulated hospital",
}


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where the files go.")] = Path("tabpe-demo"),
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The privacy budget.")] = 1.0,
) -> None:
    """Synthesise a simulated hospital table and evaluate the result."""
    with report_errors():
        require_report_extra("tabpe demo")
        private, schema_file = folder / "hospital.csv", folder / "schema.yaml"
        output, unseen = folder / "synthetic.csv", folder / "unseen.csv"
        real = hospital_table(ROWS)
        _make_folder(folder)
        files.write_file(private, make_table_writer(real, private))
        files.write_file(unseen, make_table_writer(hospital_table(UNSEEN_ROWS, seed=8), unseen))
        hospital_schema().save(schema_file, comment="What is public about the simulated table.")
        size = f"{real.num_rows:,} simulated patients, {real.num_columns} columns"
        print_line("private", f"{private}: {size}")
        print_line("public", f"{schema_file}: what is public about them")
    saved, page = folder / "run.tabpe", folder / "report.html"
    options: dict[str, Any] = {"epsilon": epsilon, "random_state": 0, "save": saved, "force": True}
    synth.synth(str(private), output, schema=schema_file, **(STATED | options))
    with report_errors():
        _compare_pattern(real, output)
    evaluate.evaluate(str(private), str(output), page, test=str(unseen), run=saved, force=True)
    print_line("next", f"open {page} in a browser")
    print_line("", f"tabpe verify {certificate_path(output)} {output}")
    print_line("", "tabpe schema init YOUR.csv -o schema.yaml, then tabpe synth --help")


def _make_folder(folder: Path) -> None:
    check_local_path(folder, OutputError)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: can not create the folder ({error.strerror}).") from None


def _compare_pattern(real: pa.Table, output: Path) -> None:
    shares = compute_pattern_share(real), compute_pattern_share(read_table(output))
    found = f"{shares[0]:.0%} real, {shares[1]:.0%} synthetic, 50% by chance"
    print_line("pattern", f"kidneys x drug x support: {found}")
