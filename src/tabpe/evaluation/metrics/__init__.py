"""How good a synthetic table is: measures of it against the real rows.

NOT PRIVATE. These functions read real rows as they are, for the custodian who has them anyway, and
what they return must not be released. `tabpe.evaluation.private_metrics` buys a few measures under
differential privacy instead.

- `view`: `TableArrays`, a table as arrays, by a schema
- `bins`: into which bins numbers are put
- `columns`: each column by itself: histograms, bars, nulls
- `correlation`: Pearson correlation of many columns at once
- `count_contingency`: how often codes of two columns occur together
- `scores`: the scores of SDMetrics, by their names
- `association`: how strongly columns go together, pair by pair
- `subsets`: which sets of columns are measured
- `joint`: several columns as one number a row
- `axes`: columns as axes of a space, and the distance of rows in it
- `solve_transport`: the exact cost of moving one set of rows onto another
- `wasserstein`: k-way Wasserstein distances
- `variation`: k-way total variation
- `build_examples`: rows whose label is known
- `features`: their other columns as arrays of numbers
- `learners`, `pretrained`: predictors by name
- `utility`: trained on synthetic rows, tested on real ones
- `information`: total correlation of a few columns
- `order`: whether the data needs a method that sees many columns at once
- `coding`: rows as vectors, for what learns from them or draws them
- `embedding`, `autoencoder`: rows as points of a learned space
- `manifold`: precision, recall, density and coverage
- `representation`: the same for two tables
- `sameness`: which rows equal one another
- `closeness`: distances to the nearest real row
- `projection`: rows as points of a plane
"""
