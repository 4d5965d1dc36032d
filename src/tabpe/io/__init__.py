"""Tables in and out.

- `read`: CSV and Parquet files, strictly
- `frames`: pandas, polars, pyarrow and whatever else narwhals reads; what comes in goes out
- `write`: whole files or none
- `draft`: a first schema from a table, every field marked as taken from the data
"""

from tabpe.io.draft import draft_schema
from tabpe.io.frames import FrameLike, open_table
from tabpe.io.read import read_table
from tabpe.io.write import table_writer

__all__ = ["FrameLike", "draft_schema", "open_table", "read_table", "table_writer"]
