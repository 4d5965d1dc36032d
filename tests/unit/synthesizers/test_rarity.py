"""Which combinations of labels are rare, and what their counts add up to."""

import numpy as np
import pytest

from tabpe import Boolean, Categorical, Schema
from tabpe.accounting.delta import RowCount
from tabpe.synthesizers.options import PublicFacts
from tabpe.synthesizers.pipeline import RARE_BELOW_SIGMAS, RareCombinations, find_rare_indices

SCHEMA = Schema(
    (Categorical("ward", ("heart", "lung", "skin")), Boolean("ill")), label=("ward", "ill")
)
ROWS = 1000


def rare(weights, sigma=10.0, **changes):
    facts = PublicFacts(RowCount.from_declared(ROWS), tuple(weights), 1e-6, 1e-6)
    options = {"counted": True, "of_users": False, "most": None} | changes
    return RareCombinations.from_facts(SCHEMA, facts, sigma, **options), facts


def test_those_below_a_few_times_the_noise_are_rare():
    found, _ = rare([500, RARE_BELOW_SIGMAS * 10, RARE_BELOW_SIGMAS * 10 - 1, -5, 400, 3])
    assert found.joint.rare == (2, 3, 5)
    schema = found.apply_to_schema(SCHEMA)
    assert schema.label_rare == (("lung", False), ("lung", True), ("skin", True))
    (note,) = found.notes
    assert "3 of the 6 combinations of 'ward' and 'ill'" in note
    assert "fewer than about 40 rows" in note
    assert "about 5% of the rows" in note


def test_declared_shares_are_held_against_the_noise_that_counts_would_have():
    found, _ = rare([0.5, 0.3, 0.03, 0.02, 0.1, 0.05], counted=False)
    assert found.joint.rare == (2, 3)


def test_one_alone_is_a_class():
    found, _ = rare([500, 300, 60, 60, 70, 2])
    assert found.joint.rare == ()
    assert found.notes == ()
    assert found.apply_to_schema(SCHEMA) == SCHEMA


def test_all_may_be_rare():
    found, facts = rare([3, 2, -5, 4, 0, 1])
    assert found.apply_to_schema(SCHEMA).class_names == ("rare",)
    assert found.merge_facts(facts).weights == pytest.approx((ROWS,))


def test_there_are_no_more_classes_than_rows_to_make():
    counts = np.array([90.0, 80.0, 70.0, 60.0, 50.0])
    for most in range(1, 6):
        places = find_rare_indices(counts, 10.0, most=most)
        assert len(counts) - len(places) + bool(places) <= most


def test_what_classes_weigh_adds_up_to_the_rows():
    found, facts = rare([600, 350, 20, -30, 80, 10])
    merged = found.merge_facts(facts)
    assert len(merged.weights) == 4
    assert sum(merged.weights) == pytest.approx(ROWS)
    assert sum(merged.rare) == pytest.approx(merged.weights[-1])
    assert min(merged.rare) == 0
