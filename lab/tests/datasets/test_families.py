"""Families of tables: the same rows always, with the piles and patterns that they are for."""

import numpy as np
import pytest

from tabpe.encoding import Encoder
from tabpe_lab.datasets import families

FAMILIES = {
    "zero-inflated": (families.make_zero_inflated_schema, families.draw_zero_inflated_table),
    "capped": (families.make_capped_schema, families.draw_capped_table),
    "survey": (families.make_survey_schema, families.draw_survey_table),
    "many-classes": (families.make_many_classes_schema, families.draw_many_classes_table),
    "wide": (families.make_wide_schema, families.draw_wide_table),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


@each_family
def test_more_rows_begin_with_fewer(name):
    draw = FAMILIES[name][1]
    assert draw(10_500).slice(0, 400).equals(draw(400))


@each_family
def test_rows_fit_the_schema_in_strict_mode(name):
    schema, draw = FAMILIES[name]
    rows, classes = Encoder(schema(), strict=True).encode(draw(2000))
    assert len(rows) == len(classes) == 2000
    assert len(np.unique(classes)) == len(schema().class_names)


@pytest.mark.parametrize(
    ("name", "column", "value", "share"),
    [
        ("zero-inflated", "gain", 0.0, 0.78),
        ("zero-inflated", "claims", 0, 0.60),
        ("zero-inflated", "debt", 0.0, 0.30),
        ("capped", "test", 100.0, 0.39),
        ("capped", "limit", 1000.0, 0.33),
        ("capped", "detected", 0.37, 0.40),
    ],
)
def test_numbers_pile_up_at_values(name, column, value, share):
    values = FAMILIES[name][1](20_000)[column].to_numpy()
    assert np.mean(values == value) == pytest.approx(share, abs=0.02)


def test_cuts_of_shifted_xor_are_not_at_medians():
    table = families.draw_shifted_xor_table(1, 20_000)
    values, classes = table["num_feat_0"].to_numpy(), table["target"].to_numpy()
    cut = values[classes == 1].min()
    assert (classes == (values >= cut)).all()
    assert 1.0 < abs(cut) < 4.0
