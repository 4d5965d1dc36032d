"""Parts of 70, 15 and 15 percent."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe_lab.datasets.dataset import split


@pytest.fixture
def table():
    return pa.table({"row": range(1000), "y": ["rare"] * 100 + ["common"] * 900})


def test_each_row_is_in_one_part(table):
    parts = split(table, "y", seed=3)
    rows = [part["row"].to_pylist() for part in (parts.train, parts.validation, parts.test)]
    assert [len(part) for part in rows] == [700, 150, 150]
    assert sorted(row for part in rows for row in part) == list(range(1000))


def test_classes_have_the_same_share_everywhere(table):
    parts = split(table, "y", seed=3)
    for part in (parts.train, parts.validation, parts.test):
        assert np.mean(np.array(part["y"].to_pylist()) == "rare") == pytest.approx(0.1)


def test_a_seed_stands_for_one_split(table):
    assert split(table, "y", seed=3).test.equals(split(table, "y", seed=3).test)
    assert not split(table, "y", seed=3).test.equals(split(table, "y", seed=4).test)
