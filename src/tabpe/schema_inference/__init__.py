"""A schema from an outline: what is not declared is bought with a part of the budget.

The price is known before a row is read, whatever the rows are: all items together take at most a
given loss, and a given part of delta. Columns share it evenly. First it is asked what a column
reads as, then for the bounds of numbers and the values of the rest. How often, and so with how
much noise, follows from the answers: such a run is accounted for as adaptive
(`tabpe.synthesizers.budget`).

- `purchase`: `infer_schema`, the whole of it
- `desk`: the questions, each paid for before it is asked
- `moments`: bounds of dates and times, in steps of their grid
- `wanted`: what is wanted of a column, and the column that comes of it
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
