"""Who holds the private rows and counts exactly.

- `engine`: `Engine`, `Backend` and others: what those who count can do
- `opening`: `open_backend`, who counts in a table
- `alone`: `LocalBackend`, a table that one process reads
- `crewed`: `ShardedBackend`, a table in shards, as one
- `crew`, `shard`, `questions`: shards that answer apart, and answers that add up
- `ray_crew`, `ray_cluster`: shards on the workers of Ray
- `spark_crew`, `spark_cluster`, `spark_session`: shards as partitions of Spark
- `carried`: encoded rows that Spark keeps, and that answer when they are brought
- `local`: `LocalEngine`, in the memory of this process
- `stream`: `StreamEngine`, in a memory that does not grow with the number of rows
- `spill`: the file without a name in which `StreamEngine` keeps encoded rows
- `survey`: `RawColumnCounter`, which counts raw cells where there is no schema to encode rows by
- `tables`: `Tables`, which counts encoded rows in the cells of marginals
- `held`: `CachedMarginalCounter`, the same for rows that are held, and asked about often
- `users`: which rows of a user count, and how they become one vector
- `votes`: rows in segments, and the votes of a segment, for all engines

Only `tabpe.measurement` calls an engine: what it returns is exact and private.
"""

from tabpe.backends.base import (
    Backend,
    EncodedTable,
    Engine,
    InProcessEngine,
    SupportsClassCounts,
    SupportsMarginals,
    SupportsRawColumns,
    SupportsRowCount,
)
from tabpe.backends.counting import CachedMarginalCounter, MarginalCounter
from tabpe.backends.local import LocalBackend, LocalEngine, StreamEngine
from tabpe.backends.opening import open_backend
from tabpe.backends.raw_columns import RawColumnCounter
from tabpe.backends.users import BoundedUsers, PrivacyUnit

__all__ = [
    "Backend",
    "BoundedUsers",
    "CachedMarginalCounter",
    "EncodedTable",
    "Engine",
    "InProcessEngine",
    "LocalBackend",
    "LocalEngine",
    "MarginalCounter",
    "PrivacyUnit",
    "RawColumnCounter",
    "StreamEngine",
    "SupportsClassCounts",
    "SupportsMarginals",
    "SupportsRawColumns",
    "SupportsRowCount",
    "open_backend",
]
