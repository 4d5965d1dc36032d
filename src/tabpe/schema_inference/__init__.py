"""Estimate privately what a schema does not declare, with a part of the budget.

The cost is known before a row is read, whatever the rows are: all spends together take at most a
given loss, and a given part of delta. Columns share it evenly. First it is asked what a column
reads as, then for the bounds of numbers and the values of the rest. How often, and so with how
much noise, follows from the answers: such a run is accounted for as adaptive
(`tabpe.synthesizers.budget`).

- `infer`: `infer_schema`, the whole of it
- `kinds`, `bounds`, `categories`: what follows from noisy histograms of a column
"""

from tabpe.schema_inference.infer import (
    ASSUMED_PUBLIC,
    SCHEMA_SPENDS,
    InferredSchema,
    count_most_histograms,
    infer_schema,
    plan_spend,
)

__all__ = [
    "ASSUMED_PUBLIC",
    "SCHEMA_SPENDS",
    "InferredSchema",
    "count_most_histograms",
    "infer_schema",
    "plan_spend",
]
