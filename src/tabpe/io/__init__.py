"""Tables in and out.

- `source`: `open_source`, a table of any kind, read in batches as often as needed
- `batches`: `Batch`, `Limits`, and errors about files that quote no cell
- `canonical`: one value for each cell, however it is stored; what text means by the schema; hashes
- `files`: CSV, Parquet and Arrow files, and the files a path, a pattern or a folder stands for
- `typed_files`: Excel, JSON lines, Stata, SAS and SPSS; `text_streams`: bytes of text files
- `stores`: Arrow datasets, and files behind an address such as s3://
- `clusters`: datasets of Ray and data frames of Spark
- `sql`: tables and queries of databases
- `frames`: pandas, polars, pyarrow and other frames that narwhals reads
- `writers`: tables to CSV and Parquet; `exporters`: a data dictionary and Croissant metadata
- `draft`: a first schema from a table, marked as taken from the data; `detect`: the same for every
  column of a messy one; `layout`: how a text file is written
- `example`: a simulated hospital table
"""

from tabpe.io.batches import Batch, Limits
from tabpe.io.detect import draft_table
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
    "draft_table",
    "make_table_writer",
    "open_source",
    "open_table",
    "read_table",
    "use_source",
]
