"""Requests for tests, and the facts that a table of three classes gives them."""

import dataclasses

import numpy as np

import measuring
from tabpe.accounting import ROW_LEVEL, Account, Adjacency, FakeNoise, NeighboringRelation
from tabpe.synthesizers.budget import plan_counts
from tabpe.synthesizers.options import SynthesisRequest, establish_facts, list_needed_counts

REPLACED = NeighboringRelation(Adjacency.REPLACE_ONE)
USERS = NeighboringRelation(max_rows=10)
SHARES = (0.5, 0.3, 0.2)
REQUEST = SynthesisRequest(
    epsilon=1.0,
    delta=1e-6,
    neighbours=ROW_LEVEL,
    class_budget=0.02,
    schema_budget=0.0,
    rows=None,
    shares=None,
    size=100,
)


class CountingEngine:
    """Three classes of 5,000, 3,000 and 2,000 rows."""

    def __init__(self):
        self.calls = 0

    scale = 1

    def count_rows(self, _space=None):
        """Return the number of rows."""
        return self.count_classes().sum(keepdims=True)

    def count_classes(self, _space=None):
        """Return the rows of each class."""
        self.calls += 1
        return np.array([5000, 3000, 2000])


def established(classes=3, noise=None, **changes):
    """Return the facts, the account that paid for them, and the engine that was asked."""
    request, account = dataclasses.replace(REQUEST, **changes), Account()
    engine = CountingEngine()
    for item in plan_counts(request, classes).values():
        account.authorize(item)
    source = noise or FakeNoise(strength=0)
    estimate = {
        "class counts": lambda: measuring.measure_class_counts(engine, classes, account, source),
        "row count": lambda: measuring.measure_row_count(engine, account, source),
    }
    estimated = {name: estimate[name]() for name in list_needed_counts(request, classes)}
    return establish_facts(request, estimated), account, engine
