"""Estimated cuts are near the true quantiles, at epsilon 1 on 5,000 rows.

A cut is off by about 0.02 of the rows, one standard deviation of the noise below it, and by half a
bin of a 32nd. So 0.16 is seven of them: a false alarm in fewer than one run in 10^8.
"""

import numpy as np
import pyarrow as pa
import pytest

from measuring import estimate_schema
from tabpe.accounting import Account, ExactNoise, NeighboringRelation
from tabpe.schema import PartialSchema
from tabpe.synthesizers.budget import compute_schema_cost
from tabpe.synthesizers.options import SynthesisRequest

SIZE, RUNS = 5000, 20
REQUEST = SynthesisRequest(
    epsilon=1.0,
    delta=1e-5,
    neighbours=NeighboringRelation(),
    class_budget=0.02,
    schema_budget=0.05,
    rows=None,
    shares=None,
    size=None,
)


@pytest.mark.parametrize("kind", ["uniform", "skewed"])
def test_cuts_are_near_the_quantiles(kind):
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 1000, SIZE) if kind == "uniform" else rng.exponential(50, SIZE)
    values = np.minimum(values, 1000.0)
    price = {"name": "price", "type": "float", "min": 0, "max": 1000}
    outline = PartialSchema.from_schema({"label": "price", "label_classes": 4, "columns": [price]})
    outline = outline.complete_columns({"price": "double"}, estimate=None)
    table, found = pa.table({"price": values}), []
    for _ in range(RUNS):
        schema = estimate_schema(
            outline,
            table,
            **compute_schema_cost(REQUEST, 1e-5),
            account=Account(),
            noise=ExactNoise(),
        ).schema
        found.append([(values < cut).mean() for cut in schema.label_cuts])
    off = np.abs(np.array(found) - [0.25, 0.5, 0.75])
    assert off.max() < 0.16
    assert off.mean() < 0.04
