"""Tables that live in a database.

- `table`: `SqlTable`, which table or query of which database; `open_sql`, what reads its rows
- `statements`: the text of questions: names quoted, a single SELECT, the columns that are asked for
- `postgres`: PostgreSQL through ADBC, in one transaction that sees one state of the table
- `duck`: DuckDB, its files, connections and relations
- `cells`: any other connection of Python, as text: SQLite, DB-API, SQLAlchemy
- `adbc`: any other ADBC connection
- `steady`: the same rows in the same order, each time, or an error
- `interrupts`: Ctrl-C ends what a database was asked
- `faults`: what a database refused, said without its words
"""

from tabpe.io.sql.source import SqlSource
from tabpe.io.sql.table import SqlTable, open_sql

__all__ = ["SqlSource", "SqlTable", "open_sql"]
