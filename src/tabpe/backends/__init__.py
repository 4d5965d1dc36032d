"""Private tables that answer queries with exact integers.

- `base`: `Backend.answer(Query) -> Answer`, the protocol
- `queries`: one frozen value for each kind of question
- `local`: `LocalBackend`, a table in this process, and how its rows are counted; `open_backend`
- `cluster`, `ray`, `spark`: a table in shards
- `raw_columns`: exact counts of raw cells
- `users`: which rows of a user count, and how they become one vector
- `nearest`, `native`: nearest candidates of rows, in numpy and in compiled code

Only `tabpe.measurement` asks a backend: what it answers is exact and private.
"""

from tabpe.backends.base import Answer, Backend, EncodedReading, Query
from tabpe.backends.local import LocalBackend, RecordsBackend, StoredTable, open_backend
from tabpe.backends.users import BoundedUsers, PrivacyUnit

__all__ = [
    "Answer",
    "Backend",
    "BoundedUsers",
    "EncodedReading",
    "LocalBackend",
    "PrivacyUnit",
    "Query",
    "RecordsBackend",
    "StoredTable",
    "open_backend",
]
