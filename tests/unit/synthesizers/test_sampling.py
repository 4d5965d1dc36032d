"""`TabPE`: sampling."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from facade import QUICK, QUICK_BEST, fake_fit, fitted, rows_of
from tabpe import Integer, Schema, TabPE
from tabpe._utils.serialization import Archive
from tabpe.errors import ArchiveError, ParameterError, ThinSupportWarning


def test_sample_gives_the_evolved_rows(table):
    model = fitted(table)
    assert len(model.sample()) == model.n_evolved_ == 30
    assert rows_of(model.sample()) == rows_of(model.sample(30))


def counted(frame):
    rows = [tuple(row.items()) for row in rows_of(frame)]
    return {row: rows.count(row) for row in rows}


@pytest.mark.parametrize("size", [1, 7, 29, 31, 60, 95])
def test_a_sample_of_any_size_takes_every_row_as_often_as_the_next(table, size):
    model = fitted(table)
    evolved, drawn = counted(model.sample()), counted(model.sample(size))
    assert sum(drawn.values()) == size
    for row, times in evolved.items():
        assert times * (size // 30) <= drawn.get(row, 0) <= times * -(-size // 30)


@pytest.mark.parametrize("preset", [QUICK, QUICK_BEST], ids=["evolution", "posterior"])
def test_every_sample_is_another_one_and_a_seed_gives_the_same(table, preset):
    model, twin = (fake_fit(table, preset=preset) for _ in range(2))
    drawn = [rows_of(model.sample(20)) for _ in range(3)]
    assert all(one != other for one, other in itertools.combinations(drawn, 2))
    assert drawn == [rows_of(twin.sample(20)) for _ in range(3)]
    assert rows_of(model.sample(20, seed=5)) == rows_of(twin.sample(20, seed=5))
    assert rows_of(model.sample(20, seed=5)) != rows_of(model.sample(20, seed=6))
    assert rows_of(model.sample()) == rows_of(model.sample())


def test_later_and_larger_samples_come_from_the_pool(table):
    model = fitted(table, preset=QUICK_BEST, n_samples=60)
    released = {tuple(row.items()) for row in rows_of(model.sample())}
    assert {tuple(row.items()) for row in rows_of(model.sample(60))} == released
    later = {tuple(row.items()) for row in rows_of(model.sample(60))}
    assert len(later - released) > 10
    with pytest.warns(ThinSupportWarning, match=r"\d+ of 600 rows repeat others .* 60 were made"):
        larger = rows_of(model.sample(600))
    assert len({tuple(row.items()) for row in larger}) > 2 * len(released)
    share = np.mean([row["ill"] for row in rows_of(model.sample())])
    assert np.mean([row["ill"] for row in larger]) == pytest.approx(share, abs=0.01)


def test_copies_are_announced(table):
    with pytest.warns(ThinSupportWarning, match="70 of 100 rows repeat others .* 30 were made"):
        fitted(table).sample(100)


def test_a_pool_that_does_not_fit_is_not_loaded(table, tmp_path):
    model = fitted(table, preset=QUICK_BEST)
    model.save(tmp_path / "run.tabpe")
    good = Archive.load(tmp_path / "run.tabpe")
    weights = good.arrays["pool weights"]
    for bad in (weights[1:], -weights, np.zeros(len(weights)), weights * np.nan):
        Archive(good.text, {**good.arrays, "pool weights": bad}).save(tmp_path / "bad.tabpe")
        with pytest.raises(ArchiveError, match="do not fit"):
            TabPE.load(tmp_path / "bad.tabpe")
    few = {name: one for name, one in good.arrays.items() if name != "pool codes"}
    Archive(good.text, few).save(tmp_path / "bad.tabpe")
    with pytest.raises(ArchiveError, match="pool codes is missing"):
        TabPE.load(tmp_path / "bad.tabpe")


def test_a_smaller_sample_is_not_always_the_head(table):
    model = fitted(table, label=None)
    assert rows_of(model.sample(20)) != rows_of(model.sample())[:20]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "10"])
def test_a_sample_has_at_least_one_row(table, size):
    with pytest.raises(ParameterError, match="n="):
        fitted(table).sample(size)


def test_rows_come_out_in_no_order_of_class(table):
    ill = [row["ill"] for row in rows_of(fitted(table, n_samples=60).sample())]
    assert ill != sorted(ill)


def test_samples_lie_in_the_schema(table):
    for row in rows_of(fitted(table, epsilon=0.5, public_rows=400).sample()):
        assert 0 <= row["age"] <= 100
        assert isinstance(row["age"], int)
        assert 10 <= row["bmi"] <= 60
        assert round(row["bmi"], 1) == row["bmi"]
        assert row["ward"] in ("heart", "lung", "skin")


def test_classes_get_their_share_of_the_rows(table):
    ill = [row["ill"] for row in rows_of(fake_fit(table, n_samples=50).sample())]
    assert sum(ill) / 50 == pytest.approx(np.mean(table["ill"].to_numpy()), abs=0.05)


def test_a_smooth_sample_has_no_piles_of_equal_rows(table):
    model = fitted(table)
    piles = max(counted(model.sample(3000)).values())
    smooth = model.sample(3000, smooth=True)
    assert max(counted(smooth).values()) < piles / 4
    for row in rows_of(smooth):
        assert 0 <= row["age"] <= 100
        assert 10 <= row["bmi"] <= 60
        assert round(row["bmi"], 1) == row["bmi"]


def test_the_first_copy_of_a_row_stays_where_it_is(table):
    model = fitted(table)
    assert rows_of(model.sample(smooth=True)) == rows_of(model.sample())
    smooth = counted(model.sample(300, smooth=True))
    assert all(row in smooth for row in counted(model.sample()))


def test_a_smooth_sample_stays_near_and_keeps_categories(table):
    model = fitted(table, preset="paper")
    plain, smooth = (rows_of(model.sample(600, smooth=smooth, seed=0)) for smooth in (False, True))
    assert [row["ward"] for row in plain] == [row["ward"] for row in smooth]
    moves = [abs(a["age"] - b["age"]) for a, b in zip(plain, smooth, strict=True)]
    assert 0.3 < np.mean(moves) < 5
    assert max(moves) < 6 * 0.04 * 100


def test_a_smooth_sample_repeats(table):
    model = fitted(table)
    drawn = [rows_of(model.sample(90, smooth=True, seed=3)) for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_smooth_rows_might_not_meet_conditions(table):
    with pytest.raises(ParameterError, match="not together with conditions"):
        fitted(table).sample(5, smooth=True, conditions={"ward": "skin"})


def test_a_smooth_sample_keeps_skewed_columns_and_piles_of_one_value():
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(4000) < 0.8, 0, np.round(rng.lognormal(6, 1, 4000)))
    table = pa.table({"gain": np.minimum(gain, 100_000)})
    model = fake_fit(table, Schema((Integer("gain", 0, 100_000),)), n_samples=400)
    plain, smooth = (
        model.sample(8000, smooth=smooth, seed=0)["gain"].to_numpy() for smooth in (False, True)
    )
    assert len(np.unique(smooth)) > 2 * len(np.unique(plain))
    levels = np.linspace(0.05, 0.95, 19)
    marks = np.quantile(plain, levels)
    below = [np.searchsorted(np.sort(one), marks, "right") / 8000 for one in (plain, smooth)]
    np.testing.assert_allclose(*below, atol=0.02)
