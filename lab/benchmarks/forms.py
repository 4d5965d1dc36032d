"""One table in six storage forms, with the same noise: is the release the same, byte by byte?

    TABPE_DATA=/path/to/data python -m benchmarks.forms [--preset best]

Each form is fitted by itself with fake noise, and its rows are written as CSV. The record holds one
digest of these bytes per form. The data sets are the demo's hospital, Adult, Bank and Artificial
Characters.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.common import make_parser, write_record
from tabpe import Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.errors import NotPrivateWarning
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.io.writers import make_table_writer
from tabpe_lab.datasets import load

NAMES = ("hospital", "adult", "bank", "artificial-characters")


def load_table(name: str) -> tuple[pa.Table, Schema]:
    """Return the private rows of a data set, and its schema."""
    if name == "hospital":
        return hospital_table(), hospital_schema()
    data = load(name)
    return data.train, data.schema


def store_in_forms(table: pa.Table, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the table in every form: frames of three libraries, and files of two formats."""
    frame = table.to_pandas()
    yield "pandas", frame
    yield "pandas with Arrow types", frame.convert_dtypes(dtype_backend="pyarrow")
    yield "polars", pl.from_arrow(table)
    yield "Arrow", table
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    yield "CSV", folder / "rows.csv"
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    yield "Parquet", folder / "rows.parquet"


def digest_release(data: Any, schema: Schema, preset: str) -> str:
    """Fit with fake noise, and return a digest of the CSV file that comes out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model = TabPE(preset=preset, noise=FakeNoise(1), random_state=0, verbose=0)
        model.fit(data, schema)
    # Frames have types of their library; the bytes of a file have none.
    rows = dataclasses.replace(model.release_, library="pyarrow").sample(None)
    with tempfile.TemporaryFile() as file:
        make_table_writer(rows, Path("rows.csv"))(file)
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Fit every data set in every form, and write the record."""
    parser = make_parser(__doc__, "forms")
    parser.add_argument("--preset", default="best")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name in NAMES:
        table, schema = load_table(name)
        with tempfile.TemporaryDirectory() as folder:
            digests = {
                form: digest_release(data, schema, given.preset)
                for form, data in store_in_forms(table, Path(folder))
            }
        is_identical = len(set(digests.values())) == 1
        found[name] = {"rows": len(table), "identical": is_identical, "sha256": digests}
        print(name, len(table), "identical" if is_identical else "DIFFERENT", flush=True)
    write_record(given.out, "forms", {"data": found})


if __name__ == "__main__":
    main()
