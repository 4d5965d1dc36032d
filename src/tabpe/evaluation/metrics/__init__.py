"""Measures of a synthetic table against the real rows.

NOT PRIVATE. These functions read real rows as they are, for the custodian who has them anyway, and
what they return must not be released. `tabpe.evaluation.private_metrics` measures a few of them
under differential privacy instead.

- `columns`: each column by itself: histograms, bars, nulls
- `associations`: contingency tables, Pearson correlation, association of each pair of columns
- `sdmetrics`: the scores of SDMetrics, by their names
- `distances`: k-way total variation and Wasserstein distances
- `correlation_order`: total correlation, and whether data needs a method that sees many columns
- `predictors`: predictors by name
- `utility`: train on synthetic rows, test on real ones
- `embedding`: rows as points: autoencoder, projection, precision, recall, density, coverage
- `closeness`: distances to the nearest real row
"""
