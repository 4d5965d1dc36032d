"""The only way to private rows.

Each function charges the account, asks an engine for exact integers, adds noise and returns the
noisy values with their place in the bill. The exact integers live inside the call and nowhere
else.

- `histograms`: `votes`, `class_counts`, `row_count`
- `domain`: what a schema lacks: `kinds`, `magnitudes`, `bins`, `values`
"""

from tabpe.measure.histograms import Measured, class_counts, row_count, votes

__all__ = ["Measured", "class_counts", "row_count", "votes"]
