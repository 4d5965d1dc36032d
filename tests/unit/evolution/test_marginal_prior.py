"""What noisy 1-way marginals say, and rows that are drawn from them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tabpe.backends import StoredTable
from tabpe.encoding import Encoder
from tabpe.evolution.marginal_prior import (
    NoisyMarginal,
    build_marginal_prior,
    choose_bins,
    project_counts,
)
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Float("pay", 0, 1000),
        Integer("children", 0, 4),
        Categorical("ward", ("a", "b", "c")),
        Boolean("ill"),
    ),
    label="ill",
)


def table(size=20_000, seed=0):
    """Pay is skewed and follows the class, children are few, nobody is in ward c."""
    rng = np.random.default_rng(seed)
    ill = rng.random(size) < 0.25
    return pa.table(
        {
            "pay": np.minimum(rng.exponential(np.where(ill, 20.0, 60.0)), 1000),
            "children": rng.binomial(4, 0.2, size),
            "ward": np.where(rng.random(size) < 0.1, "a", "b"),
            "ill": ill,
        }
    )


def prior(schema=SCHEMA, data=None, sigma=1e-3, sizes=None, size_sigma=0.0):
    encoder = Encoder(schema)
    rows, classes = encoder.encode(table() if data is None else data)
    bins = choose_bins(encoder, len(rows), sigma, by_class=encoder.class_count > 1)
    asked = [*bins.overall, *bins.by_class]
    exact = StoredTable([(rows, classes)]).count_marginals(asked)
    rng = np.random.default_rng(1)
    tables = [
        NoisyMarginal(one, (counts + rng.normal(0, sigma, len(counts))).reshape(one.shape), sigma)
        for one, counts in zip(asked, exact, strict=True)
    ]
    if sizes is None:
        sizes = np.bincount(classes, minlength=encoder.class_count).astype(float)
    return build_marginal_prior(encoder, bins, tables, sizes, size_sigma)


def drawn(found, label, size=20_000):
    return found.draw_rows(np.full(size, label), np.random.default_rng(2))


def test_rows_are_drawn_by_class():
    found = prior()
    encoder = Encoder(SCHEMA)
    real, classes = encoder.encode(table())
    for label in (0, 1):
        mine = real.numbers[classes == label]
        assert drawn(found, label).numbers.mean(axis=0) == pytest.approx(
            mine.mean(axis=0), abs=0.02
        )


def test_numbers_are_drawn_on_their_grid_each_as_often_as_it_is_there():
    steps = np.rint(drawn(prior(), 0).numbers[:, 1] * 4).astype(int)
    found = np.bincount(steps, minlength=5) / len(steps)
    expected = np.bincount(table()["children"].to_numpy(), minlength=5) / 20_000
    assert found == pytest.approx(expected, abs=0.02)


def test_listed_values_are_drawn_as_often_as_they_are_there_and_none_is_ruled_out():
    found = prior().columns[2]
    assert found.overall == pytest.approx([0.1, 0.9, 0.0], abs=0.01)
    assert (found.probabilities > 0).all()


def test_a_numeric_label_stays_in_its_class():
    schema = Schema((Integer("age", 0, 99), Float("pay", 0, 1)), label="age", label_cuts=(30, 60))
    rng = np.random.default_rng(0)
    data = pa.table({"age": rng.integers(0, 100, 5000), "pay": rng.random(5000)})
    found = prior(schema, data)
    for label, (low, high) in enumerate([(0, 29), (30, 59), (60, 99)]):
        ages = np.rint(drawn(found, label).numbers[:, 0] * 99)
        assert (ages.min(), ages.max()) == (low, high)
        # No heap at the ends, where what lies outside would be moved to.
        assert np.bincount(ages.astype(int), minlength=100).max() < 2 * len(ages) / (high - low)


def test_the_rank_transform_gives_room_to_where_rows_are():
    found = prior()
    transform = found.build_rank_transform(1.0)
    real, _ = Encoder(SCHEMA).encode(table())
    ranks = transform.transform_rows(real).numbers[:, 0]
    assert np.quantile(ranks, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.08)
    assert found.build_rank_transform(0.0).transform_rows(real).numbers == pytest.approx(
        real.numbers, abs=1e-6
    )


def test_noisy_sizes_of_classes_become_better_by_the_tables():
    exact = np.bincount(table()["ill"].to_numpy()).astype(float)
    off = exact + np.array([500.0, -500.0])
    assert prior(sizes=off, size_sigma=500.0).sizes == pytest.approx(exact, abs=5)
    assert prior(sizes=off).sizes.tolist() == off.tolist()


def test_a_table_full_of_noise_still_gives_probabilities():
    found = prior(sigma=1e6, sizes=np.array([10.0, 10.0]), size_sigma=1e6)
    for column in found.columns:
        assert column.probabilities.sum(axis=1) == pytest.approx(1.0)
        assert (column.probabilities >= 0).all()
    assert np.isfinite(drawn(found, 0).numbers).all()


def test_one_class_needs_no_tables_by_class():
    schema = Schema(SCHEMA.columns[:3])
    found = prior(schema, table().drop_columns("ill"))
    assert len(found.tables) == 3
    assert found.columns[0].probabilities.shape[0] == 1
    assert found.rows == 20_000


def test_a_class_without_rows_takes_what_all_have():
    data = table()
    found = prior(data=data.filter(pa.array(~data["ill"].to_numpy())))
    assert len(drawn(found, 1)) == 20_000


@given(
    arrays.arrays(float, st.integers(1, 20), elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e6)
)
def test_projected_counts_add_up_and_keep_their_order(counts, total):
    found = project_counts(counts, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)
    assert (np.diff(found[np.argsort(counts)]) >= -1e-9).all()
