"""Dependence that is kept agrees with direct computations, and no bad table keeps it."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency

from tabpe.errors import DataError, ParameterError
from tabpe.evaluation.metrics.dependence import (
    PairDependence,
    RelatedPair,
    compute_chi_square_residual,
    measure_class_dependence,
    measure_learned_dependence,
    measure_pair_dependence,
    shuffle_columns,
)
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Schema

WARDS = ("heart", "eye", "skin")


def parity(rows, seed, columns=6):
    """Return fair coins of which the third is the parity of the first two."""
    coins = np.random.default_rng(seed).integers(0, 2, (rows, columns)).astype(bool)
    coins[:, 2] = coins[:, 0] ^ coins[:, 1]
    return pa.table({f"x{at}": coins[:, at] for at in range(columns)})


def related(rows, seed, strength=1.0):
    """Return a number that depends on a category, with a third column that depends on nothing."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 3, rows)
    number = strength * ward + rng.normal(size=rows)
    nulls = rng.random(rows) < 0.05
    return pa.table(
        {
            "x": pa.array(number, mask=nulls),
            "ward": np.array(WARDS)[ward],
            "coin": rng.random(rows) < 0.5,
        }
    )


COINS = Schema(tuple(Boolean(f"x{at}") for at in range(6)))
WARD = Schema((Float("x", -6.0, 9.0), Categorical("ward", WARDS), Boolean("coin")))


def test_shuffled_columns_have_the_same_cells_and_no_dependence():
    (real,) = build_table_arrays(WARD, [related(2000, 1)])
    shuffled = shuffle_columns(real, np.random.default_rng(0))
    for one, two in zip(real, shuffled, strict=True):
        assert np.array_equal(np.sort(one.values), np.sort(two.values), equal_nan=True)
    assert np.isnan(measure_pair_dependence(shuffled, shuffled, shuffled).kept)


def shuffle_where(table, which, seed=0):
    """Return a table in which the numbers of some rows belong to others of them."""
    numbers, rng = np.array(table["x"].to_pylist(), dtype=float), np.random.default_rng(seed)
    numbers[which] = rng.permutation(numbers[which])
    return table.set_column(0, "x", pa.array(numbers, mask=np.isnan(numbers)))


def test_a_class_that_has_lost_its_dependence_is_seen_beside_one_that_keeps_it():
    schema = Schema(WARD.columns, label="coin")
    first, second, third = (related(3000, seed, strength=2.0) for seed in (1, 2, 3))
    spoilt = shuffle_where(third, np.array(third["coin"].to_pylist()))
    real, other, made, bad = build_table_arrays(schema, [first, second, third, spoilt])
    honest = {one.value: one.kept for one in measure_class_dependence(real, other, made)}
    assert len(honest) == 2
    assert min(honest.values()) > 0.95
    kept = sorted(one.kept for one in measure_class_dependence(real, other, bad))
    assert kept[0] < 0.05
    assert kept[1] > 0.95


def test_classes_with_few_rows_or_little_dependence_and_no_label_tell_nothing():
    few, weak = related(700, 1, strength=2.0), related(3000, 1, strength=0.0)
    schema = Schema(WARD.columns, label="coin")
    for table, declared in ((few, schema), (weak, schema), (related(3000, 1), WARD)):
        (view,) = build_table_arrays(declared, [table])
        assert measure_class_dependence(view, view, view) == ()


def test_the_dependence_of_a_pair_is_that_of_a_loop_over_cells():
    schema = Schema((Categorical("ward", WARDS), Boolean("coin")))
    rng = np.random.default_rng(3)

    def draw(rows, tilt):
        ward = rng.integers(0, 3, rows)
        return pa.table({"ward": np.array(WARDS)[ward], "coin": rng.random(rows) < tilt[ward]})

    tilts = np.array([0.1, 0.5, 0.9])
    tables = [draw(3000, tilts), draw(3000, tilts), draw(3000, 0.5 + (tilts - 0.5) / 2)]
    found = measure_pair_dependence(*build_table_arrays(schema, tables))
    (pair,) = found.pairs

    def dependence(table):
        ward, coin = table["ward"].to_numpy(), table["coin"].to_numpy()
        return {
            (w, c): np.mean((ward == w) & (coin == c)) - np.mean(ward == w) * np.mean(coin == c)
            for w, c in itertools.product(WARDS, (False, True))
        }

    real, other, made = map(dependence, tables)
    assert pair.ceiling == pytest.approx(sum(map(abs, real.values())) / 2)
    assert pair.floor == pytest.approx(sum(abs(real[k] - other[k]) for k in real) / 2)
    assert pair.distance == pytest.approx(sum(abs(real[k] - made[k]) for k in real) / 2)
    assert pair.kept == pytest.approx(
        (pair.ceiling - pair.distance) / (pair.ceiling - pair.floor), abs=1e-12
    )
    assert 0.4 < pair.kept < 0.6  # half of the tilt


def test_pairs_are_weighted_by_their_strength():
    strong = RelatedPair(("a", "b"), 0.1, 0.1, 0.5, 0.1)
    weak = RelatedPair(("a", "c"), 0.2, 0.1, 0.2, 0.1)
    found = PairDependence((strong, weak), 3)
    assert (strong.kept, weak.kept) == (1.0, 0.0)
    assert found.kept == pytest.approx(0.4 / (0.4 + 0.1))
    assert found.kept_by_column == {"a": pytest.approx(0.8), "b": 1.0, "c": 0.0}
    assert found.most_lost is weak


def test_only_related_pairs_count_and_other_real_rows_keep_them():
    tables = [related(4000, seed) for seed in (1, 2, 3)]
    found = measure_pair_dependence(*build_table_arrays(WARD, tables))
    assert [pair.columns for pair in found.pairs] == [("x", "ward")]
    assert found.possible == 3
    assert found.kept > 0.9


def test_small_unrelated_tables_have_no_related_pairs():
    for seed in range(20):
        coins = build_table_arrays(COINS, [parity(300, 3 * seed + at) for at in range(3)])
        found = measure_pair_dependence(*coins, random_state=seed)
        assert (found.pairs, found.invented) == ((), ())


def test_the_test_of_chance_is_that_of_chi_square():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 4, 500), rng.integers(0, 3, 500)
    two[:200] = one[:200] % 3
    counts = np.histogram2d(one, two, (4, 3))[0]
    chi_square, _, freedom, _ = chi2_contingency(counts, correction=False)
    cubic, spread = (chi_square / freedom) ** (1 / 3), 2 / (9 * freedom)
    found = compute_chi_square_residual(one, two, counts.shape)
    assert found == pytest.approx((cubic - 1 + spread) / spread**0.5)


def test_a_dependence_that_real_rows_lack_is_invented():
    real, other, made = (related(4000, seed, strength=0.0) for seed in (1, 2, 3))
    arrays = build_table_arrays(WARD, [real, other, made])
    assert measure_pair_dependence(*arrays).invented == ()
    arrays = build_table_arrays(WARD, [real, other, related(4000, 3, strength=2.0)])
    ((columns, strength),) = measure_pair_dependence(*arrays).invented
    assert (columns, strength > 0.2) == (("x", "ward"), True)


@pytest.mark.parametrize("name", ["x", "ward"])
def test_a_pair_that_can_not_be_expressed_is_lost(name):
    real, other, made = (related(4000, seed) for seed in (1, 2, 3))
    at = made.column_names.index(name)
    made = made.set_column(at, name, pa.array([made[name][1].as_py()] * len(made)))
    found = measure_pair_dependence(*build_table_arrays(WARD, [real, other, made]))
    assert found.kept == 0


def test_a_reversed_dependence_is_lost():
    real, other, made = (related(4000, seed, way) for seed, way in ((1, 1.0), (2, 1.0), (3, -1.0)))
    assert measure_pair_dependence(*build_table_arrays(WARD, [real, other, made])).kept == 0


def test_a_parity_is_seen_by_the_model_though_no_pair_shows_it():
    tables = build_table_arrays(COINS, [parity(3000, seed) for seed in (1, 2, 3)])
    shuffled = shuffle_columns(tables[2], np.random.default_rng(0))
    assert measure_pair_dependence(*tables).pairs == ()
    kept = measure_learned_dependence(*tables)
    assert kept.kept == pytest.approx(1, abs=6 * kept.error)
    assert kept.error < 0.1
    lost = measure_learned_dependence(*tables[:2], shuffled)
    assert lost.kept == pytest.approx(0, abs=6 * lost.error)


def test_half_of_the_rows_keep_half_of_the_dependence():
    real, other, made = build_table_arrays(COINS, [parity(6000, seed) for seed in (1, 2, 3)])
    shuffled = shuffle_columns(made, np.random.default_rng(0))
    rows = np.arange(len(made)) % 2 == 0
    mixed = [
        type(one)(one.column, np.where(rows, one.values, two.values), one.names)
        for one, two in zip(made, shuffled, strict=True)
    ]
    found = measure_learned_dependence(real, other, type(made)(made.schema, tuple(mixed)))
    assert found.kept == pytest.approx(0.5, abs=6 * found.error)


def test_wrong_single_columns_are_no_lost_dependence():
    real, other = related(4000, 1), related(4000, 2)
    rare = related(20_000, 3)
    rare = rare.filter(
        np.random.default_rng(0).random(len(rare)) < np.where(rare["coin"], 0.35, 0.05)
    )
    tables = build_table_arrays(WARD, [real, other, rare])
    assert measure_pair_dependence(*tables).kept > 0.9
    found = measure_learned_dependence(*tables)
    assert found.kept == pytest.approx(1, abs=6 * found.error)


def test_independent_columns_have_nothing_to_keep():
    tables = build_table_arrays(WARD, [related(2000, seed, 0.0) for seed in (1, 2, 3)])
    assert measure_pair_dependence(*tables).pairs == ()
    assert np.isnan(measure_learned_dependence(*tables).kept)


def test_the_seed_decides_and_threads_do_not():
    tables = build_table_arrays(WARD, [related(500, seed) for seed in (1, 2, 3)])
    assert measure_learned_dependence(*tables, jobs=1) == measure_learned_dependence(*tables)
    assert measure_learned_dependence(*tables, random_state=1) != measure_learned_dependence(
        *tables
    )


def test_wrong_input_is_refused():
    tables = build_table_arrays(WARD, [related(50, seed) for seed in (1, 2, 3)])
    empty = tables[0].take(np.arange(0))
    for measure in (measure_pair_dependence, measure_learned_dependence):
        with pytest.raises(DataError):
            measure(tables[0], tables[1], empty)
    with pytest.raises(ParameterError, match="rows"):
        measure_learned_dependence(*tables, rows=0)
