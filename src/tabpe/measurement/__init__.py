"""The only way to private rows.

Each function charges the account, asks an engine for exact integers, adds noise and returns the
noisy values with their place in the bill. The exact integers live inside the call and nowhere
else.

- `histograms`: `votes`, `class_counts`, `row_count`
- `domain`: what a schema lacks: `kinds`, `magnitudes`, `bins`, `values`
- `tables`: `marginals`, `measured_marginals`, rows in the cells of tables of counts
- `choice`: `choose`, `distances`, marginals against estimates of them
- `halfspaces`: `worst_halfspaces`, `rows_inside`, rows on one side of planes
- `terms`: `Terms`, on which rows are read: what is charged, and the noise
"""

from tabpe.measurement.histograms import Measured, class_counts, row_count, votes
from tabpe.measurement.marginals import marginals, measured_marginals
from tabpe.measurement.selection import choose, distances, rows_inside, worst_halfspaces
from tabpe.measurement.terms import Terms

__all__ = [
    "Measured",
    "Terms",
    "choose",
    "class_counts",
    "distances",
    "marginals",
    "measured_marginals",
    "row_count",
    "rows_inside",
    "votes",
    "worst_halfspaces",
]
