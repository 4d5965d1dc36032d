"""Tables in and out.

- `source`: `open_source`, a table of any kind to be read in batches, as often as needed
- `batches`: `Batch`, the part of a table that is in memory at a time
- `datasets`: tables that Arrow itself finds and reads
- `stores`: files behind an address such as s3://
- `sql`: tables and queries of databases
- `ray_tables`: tables that live in a Ray cluster
- `spark_tables`: data frames of Spark
- `parts`, `dealing`: parts of a table, to be read apart
- `canonical`: one value for each cell, whatever stores it; what is in a row, as a number
- `files`: CSV, Parquet and Arrow files, strictly
- `folders`: which files a path, a pattern or a folder stands for
- `limits`: `Limits`, the most that is read of files
- `faults`: what is wrong with a file, said without a cell of it
- `frames`: pandas, polars, pyarrow and whatever else narwhals reads; what comes in goes out
- `write`: whole files or none
- `draft`: a first schema from a table, every field marked as taken from the data
"""

from tabpe.io.batches import Batch, Limits
from tabpe.io.draft import draft_schema
from tabpe.io.source import TableSource, open_source, open_table, read_table, use_source
from tabpe.io.sql.table import SqlTable
from tabpe.io.writers import make_table_writer

__all__ = [
    "Batch",
    "Limits",
    "SqlTable",
    "TableSource",
    "draft_schema",
    "make_table_writer",
    "open_source",
    "open_table",
    "read_table",
    "use_source",
]
