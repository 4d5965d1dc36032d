"""Tables that live in a database.

- `table`: `SqlTable`, a table or query of a database; `open_sql`, the source of its rows
- `source`: `SqlSource`, safe queries, a guard against changing rows, and the text of statements
- `drivers`: SQLite and DB-API, SQLAlchemy, DuckDB, ADBC and PostgreSQL
"""

from tabpe.io.sql.source import SqlSource
from tabpe.io.sql.table import SqlTable, open_sql

__all__ = ["SqlSource", "SqlTable", "open_sql"]
