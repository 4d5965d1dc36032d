"""How many types `tabpe schema init` drafts right, on public data sets.

    python -m benchmarks.detection [--out benchmarks/results/detection.json]

Each data set is written to CSV, where all cells are text, and drafted with its label named. A type
is right if the published schema has the same. Codes that are whole numbers can not be told from
numbers, and count as wrong where the schema lists them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from pyarrow import csv

from benchmarks.common import make_parser, write_record
from tabpe.io.detect import draft_table
from tabpe_lab.datasets import load

NAMES = (
    "adult",
    "bank",
    "artificial-characters",
    "breast-cancer",
    "insurance",
    "person-activity",
    "walking-activity",
)


def compare_types(name: str) -> dict[str, Any]:
    """Return how many columns of a data set there are, and which are drafted as another type."""
    dataset = load(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        csv.write_csv(dataset.train, path)
        draft = draft_table(path, label=dataset.label)
    found = {column.name: column.kind for column in draft.columns}
    declared = {column.name: column.type_name for column in dataset.schema.columns}
    wrong = {
        column: f"{found[column]} instead of {kind}"
        for column, kind in declared.items()
        if found[column] != kind
    }
    return {"columns": len(declared), "wrong": wrong}


def main() -> None:
    """Compare all data sets, print the share of right types, and write the record."""
    arguments = make_parser(__doc__, "detection").parse_args()
    results = {name: compare_types(name) for name in NAMES}
    columns = sum(one["columns"] for one in results.values())
    wrong = sum(len(one["wrong"]) for one in results.values())
    share = 1 - wrong / columns
    print(f"{columns - wrong} of {columns} types are right: {share:.1%}")
    write_record(arguments.out, "detection", {"share": share, "data_sets": results})


if __name__ == "__main__":
    main()
