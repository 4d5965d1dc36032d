"""The order of correlation of public data sets: low for Adult and Bank, high for the paper's two.

    python -m benchmarks.order [--out benchmarks/results/order.json]

Accuracy of boosted trees of depth 2 to 7, as the paper measures it, on the splits of the paper's
authors where there are some. Of Person Activity only their validation and test rows could be had:
the first are trained on. XOR is drawn as the paper says. Reads the data from $TABPE_DATA, or else
from ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import sklearn

import tabpe
from benchmarks.reproduce import DATA, ROOT, xor
from tabpe.evaluation.metrics.correlation_order import measure_correlation_order
from tabpe.evaluation.table_arrays import TableArrays, build_table_arrays

Tables = tuple[pd.DataFrame, pd.DataFrame | None]


def parts(name: str) -> Tables:
    """The authors' training and test rows."""
    train, test = (read(f"{name}_{part}") for part in ("train", "test"))
    return train, test


def read(name: str) -> pd.DataFrame:
    """A table in which a question mark is a value like any other."""
    return pd.read_csv(DATA / f"{name}.csv.gz", na_filter=False)


def person_activity() -> Tables:
    """The authors' validation rows to train on, and their test rows; V1 and V2 are categories."""
    table = read("person_activity_49k").astype({"V1": str, "V2": str})
    train, test = (table[table["split"] == part].drop(columns="split") for part in ("val", "test"))
    return train, test


def drawn(features: int) -> Tables:
    """XOR of so many numbers."""
    task = xor(features)
    return task.train, task.test


CASES: dict[str, tuple[str, str, Callable[[], Tables]]] = {
    "Adult": ("income", "low", lambda: parts("adult_tabpe")),
    "Bank": ("y", "low", lambda: (read("bank"), None)),
    "Artificial Characters": ("Class", "high", lambda: parts("artificial_characters")),
    "Person Activity": ("Class", "high", person_activity),
    "XOR 3": ("target", "high", lambda: drawn(3)),
    "XOR 4": ("target", "high", lambda: drawn(4)),
}


def as_views(label: str, tables: Tables) -> list[TableArrays]:
    """The tables by a schema that is drafted from all their rows, with a label of classes."""
    found = [table.astype({label: str}) for table in tables if table is not None]
    schema = tabpe.draft_schema(pd.concat(found), label=label)
    return build_table_arrays(
        schema, [pa.Table.from_pandas(table, preserve_index=False) for table in found]
    )


def measured(name: str) -> dict[str, Any]:
    """The depth curve of one data set, and whether its level is the expected one."""
    label, expected, load = CASES[name]
    tables = as_views(label, load())
    begun = time.perf_counter()
    found = measure_correlation_order(*tables)
    if found is None:
        raise SystemExit(f"{name}: there is nothing to predict.")
    curve = [round(accuracy, 4) for accuracy in found.accuracy]
    verdict = "ok" if found.level == expected else f"NOT {expected}"
    print(f"{name:<22} gap {found.gap:.4f} {found.level:<5} {verdict:<9} {curve}", flush=True)
    return {
        "rows": [len(table) for table in tables],
        "depths": found.depths,
        "accuracy": curve,
        "gap": round(found.gap, 4),
        "margin": round(found.margin, 4),
        "level": found.level,
        "expected": expected,
        "gains": [{"columns": g.columns, "bits": round(g.bits, 4)} for g in found.gains],
        "words": found.words,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/order.json")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"{DATA}: no data there. Set TABPE_DATA to a folder that has it.")
    record = {
        "command": "python -m benchmarks.order",
        "tabpe": tabpe.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": platform.machine(),
        "results": {name: measured(name) for name in CASES},
    }
    arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
