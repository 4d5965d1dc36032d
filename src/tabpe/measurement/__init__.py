"""The only way to private rows.

Each function charges the account, asks an engine for exact integers, adds noise and returns the
noisy values with their place in the bill. The exact integers live inside the call and nowhere
else.

- `histograms`: `votes`, `class_counts`, `row_count`
- `domain`: what a schema lacks: `kinds`, `magnitudes`, `bins`, `values`
- `tables`: `marginals`, `measure_marginal_counts`, rows in the cells of tables of counts
- `choice`: `choose`, `distances`, marginals against estimates of them
- `halfspaces`: `choose_halfspaces`, `measure_halfspaces`, rows on one side of planes
- `terms`: `MeasurementTerms`, on which rows are read: what is charged, and the noise
"""

from tabpe.measurement.histograms import (
    NoisyCounts,
    measure_class_counts,
    measure_row_count,
    measure_votes,
)
from tabpe.measurement.marginals import measure_marginal_counts, measure_marginals
from tabpe.measurement.selection import (
    choose_halfspaces,
    choose_marginal,
    measure_distances,
    measure_halfspaces,
)
from tabpe.measurement.terms import MeasurementTerms

__all__ = [
    "MeasurementTerms",
    "NoisyCounts",
    "choose_halfspaces",
    "choose_marginal",
    "measure_class_counts",
    "measure_distances",
    "measure_halfspaces",
    "measure_marginal_counts",
    "measure_marginals",
    "measure_row_count",
    "measure_votes",
]
