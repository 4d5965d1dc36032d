"""The only way to private rows: `PrivateSession`.

- `session`: `PrivateSession` charges, asks a backend, adds noise, records
- `histograms`: votes, class counts, row counts, marginals
- `selection`: the exponential mechanism over marginals and halfspaces; distances
- `privtree`: bins that are halved where rows lie close together
- `raw_columns`: what a schema lacks: kinds, ranges, values
- `checkpoint`: noisy measurements on the disk, for runs that are resumed
- `reservation`: what a run may cost, held in a ledger before a row is read
"""

from tabpe.measurement.histograms import NoisyCounts
from tabpe.measurement.session import PrivateSession

__all__ = ["NoisyCounts", "PrivateSession"]
