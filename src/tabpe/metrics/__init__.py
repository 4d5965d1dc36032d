"""How good a synthetic table is: measures of it against the real rows.

NOT PRIVATE. These functions read real rows as they are, for the custodian who has them anyway, and
what they return must not be released. `tabpe.appraise` buys a few measures under differential
privacy instead.

- `view`: `View`, a table as arrays, by a schema
- `columns`: each column by itself: histograms, bars, nulls
- `scores`: the scores of SDMetrics, by their names
- `association`: how strongly columns go together, pair by pair
- `subsets`: which sets of columns are measured
- `transport`: the exact cost of moving one set of rows onto another
- `wasserstein`: k-way Wasserstein distances
- `variation`: k-way total variation
- `learners`: predictors by name
- `utility`: trained on synthetic rows, tested on real ones
- `order`: whether the data needs a method that sees many columns at once
- `sameness`: which rows are equal
- `features`: rows as vectors of numbers
- `autoencoder`: two small networks that carry rows through a narrow passage and back
- `embedding`: rows as points of a learned space
- `manifold`: precision, recall, density and coverage
- `representation`: the same for two tables
- `closeness`: distances to the nearest real row
- `projection`: rows as points of a plane
"""
