"""The draw of the paper's authors."""

import numpy as np
import pytest

from tabpe_lab.datasets.simulated import draw_xor_table


@pytest.mark.parametrize("features", [1, 3, 7])
def test_the_rows_are_those_of_the_authors(features):
    drawn = np.random.RandomState(42).uniform(-10, 10, (50_000, features))
    table = draw_xor_table(features)
    assert table.num_rows == 50_000
    for place in range(features):
        assert np.array_equal(table[f"num_feat_{place}"].to_numpy(), drawn[:, place])
    assert np.array_equal(table["target"].to_numpy(), (drawn > 0).sum(axis=1) % 2)


def test_known_numbers():
    """As a file would hold them: a change of the generator shows here."""
    table = draw_xor_table(3).slice(0, 2)
    assert table["num_feat_0"].to_pylist() == pytest.approx([-2.509197623, 1.973169684])
    assert table["num_feat_2"].to_pylist() == pytest.approx([4.639878836, -6.880109593])
    assert table["target"].to_pylist() == [0, 1]


def test_all_features_but_one_tell_nothing():
    table = draw_xor_table(3)
    positive = np.stack([table[f"num_feat_{place}"].to_numpy() > 0 for place in range(3)])
    target = table["target"].to_numpy() == 1
    for left in range(3):
        others = np.delete(positive, left, axis=0).sum(axis=0) % 2 == 1
        assert abs(np.mean(others == target) - 0.5) < 0.02
    assert np.array_equal(positive.sum(axis=0) % 2 == 1, target)
