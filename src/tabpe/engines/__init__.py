"""Who holds the private rows and counts exactly.

- `engine`: `Engine`, what every engine can do
- `local`: `LocalEngine`, in the memory of this process
- `stream`: `StreamEngine`, in a memory that does not grow with the number of rows
- `spill`: the file without a name in which `StreamEngine` keeps encoded rows
- `survey`: `Survey`, which counts raw cells where there is no schema to encode rows by
- `tables`: `Tables`, which counts encoded rows in the cells of marginals
- `held`: `HeldTables`, the same for rows that are held, and asked about often
- `users`: which rows of a user count, and how they become one vector
- `votes`: rows in segments, and the votes of a segment, for all engines

Only `tabpe.measure` calls an engine: what it returns is exact and private.
"""

from tabpe.engines.engine import Engine
from tabpe.engines.held import HeldTables
from tabpe.engines.local import LocalEngine
from tabpe.engines.stream import StreamEngine
from tabpe.engines.survey import Survey
from tabpe.engines.tables import Tables
from tabpe.engines.users import Users

__all__ = ["Engine", "HeldTables", "LocalEngine", "StreamEngine", "Survey", "Tables", "Users"]
