"""`TabPE(class_floor=...)`: small classes get so many rows at least."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from facade import BOTH, FAST, QUICK, QUICK_BEST, USERS, fake_fit, fitted, spends
from tabpe import Categorical, Integer, Schema, TabPE
from tabpe.errors import ParameterError
from tabpe.verification import verify_plain

SHARES = {"common": 0.9, "seldom": 0.08, "rare": 0.02}
AGES = {"common": 10, "seldom": 50, "rare": 90}
SCHEMA = Schema(
    (Integer("age", 0, 100), Categorical("kind", tuple(SHARES)), Categorical("day", ("a", "b"))),
    label="kind",
)
SIZE, FLOOR = 2000, 25


def table_of(seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(list(SHARES), SIZE, p=list(SHARES.values()))
    around = np.array([AGES[one] for one in kind]) + rng.integers(-8, 9, SIZE)
    return pa.table(
        {
            "age": around,
            "kind": kind.tolist(),
            "day": rng.choice(["a", "b"], SIZE).tolist(),
            "person": [f"p{number % 700}" for number in range(SIZE)],
        }
    )


@pytest.fixture(scope="module")
def rows():
    return table_of()


def fit(table, schema=SCHEMA, **changes):
    return fitted(table, schema, **({"n_samples": 150, "class_floor": FLOOR} | changes))


def counts(model):
    return Counter(model.sample()["kind"].to_pylist())


@BOTH
def test_every_class_has_so_many_rows(rows, preset):
    model = fit(rows, preset=preset)
    found = counts(model)
    assert found == {"common": 100, "seldom": 25, "rare": 25}
    assert counts(fit(rows, preset=preset, class_floor=None))["rare"] == pytest.approx(3, abs=2)


@BOTH
def test_it_is_no_item_of_the_spends_and_said(rows, preset):
    floored = fit(rows, preset=preset).certificate
    plain = fit(rows, preset=preset, class_floor=None).certificate
    assert floored.spends == plain.spends
    assert floored.configuration["class_floor"] == FLOOR
    assert "class_floor" not in plain.configuration
    assert "every class has at least 25 rows" in " ".join(floored.notes)
    assert verify_plain(floored.to_dict()).holds


@BOTH
def test_small_classes_are_evolved_and_not_copied(rows, preset):
    table = fit(rows, preset=preset, n_samples=300).sample()
    few = table.filter(pa.compute.equal(table["kind"], "rare"))
    ages = few["age"].to_numpy()
    assert len(few) == FLOOR
    assert len({tuple(row.values()) for row in few.to_pylist()}) > 10
    assert np.median(np.abs(ages - AGES["rare"])) < 15


def test_a_class_without_rows_stays_empty(rows):
    shares = {"common": 1, "seldom": 1, "rare": 0}
    for preset in (QUICK, QUICK_BEST):
        found = counts(fit(rows, preset=preset, public_shares=shares, public_rows=SIZE))
        assert found["rare"] == 0
        assert found["common"] == pytest.approx(75, abs=1)


@BOTH
def test_as_many_rows_as_the_floor_needs_are_made(preset):
    table = table_of().slice(0, 300)
    model = fit(table, preset=preset, n_samples=None, class_floor=150, epsilon=20.0)
    assert min(counts(model).values()) >= 150
    assert counts(model).total() == 450


@pytest.mark.parametrize(("floor", "words"), [(0, "class_floor=0"), (1.5, "class_floor=1.5")])
def test_what_is_no_floor(rows, floor, words):
    with pytest.raises(ParameterError, match=words):
        fit(rows, class_floor=floor)


def test_too_few_rows_for_the_floor_cost_nothing(rows, ledger):
    with pytest.raises(ParameterError, match=r"n_samples=74.*class_floor=25 rows.*75 or more"):
        fit(rows, n_samples=74, dataset="patients", ledger=ledger.path)
    assert ledger.entries("patients") == ()


@BOTH
@pytest.mark.parametrize("machine", [{"engine": "stream"}, {"n_jobs": 1}], ids=["stream", "jobs"])
def test_nobody_can_tell_the_engine(rows, preset, machine):
    options = {"n_samples": 150, "class_floor": FLOOR, "preset": preset}
    one = fake_fit(rows, SCHEMA, **options)
    assert one.sample().equals(fake_fit(rows, SCHEMA, **options, **machine).sample())


def test_users_are_protected(rows):
    model = fit(rows, preset=QUICK_BEST, **USERS)
    assert min(counts(model).values()) >= FLOOR
    assert verify_plain(model.certificate.to_dict()).holds


def test_resume_refuses_another_floor_and_saving_keeps_it(rows, tmp_path):
    model = fit(rows, run_dir=tmp_path / "run")
    again = fit(rows, run_dir=tmp_path / "run")
    assert again.sample().equals(model.sample())
    with pytest.raises(ParameterError, match="another configuration"):
        fit(rows, run_dir=tmp_path / "run", class_floor=FLOOR + 1)
    model.save(tmp_path / "run.tabpe")
    assert TabPE.load(tmp_path / "run.tabpe").class_floor == FLOOR


@BOTH
def test_several_labels_are_merged_until_the_floor_can_be_kept(rows, preset):
    model = fit(rows, label=["kind", "day"], preset=preset, n_samples=80)
    found = Counter(model.release_.classes.tolist())
    assert len(model.schema_.class_names) <= 3
    assert min(found.values()) >= FLOOR
    assert "row count" in spends(model)


def test_more_rows_are_drawn_in_the_same_proportions(rows):
    model = TabPE(**(FAST | {"n_samples": 150, "class_floor": FLOOR})).fit(rows, SCHEMA)
    assert Counter(model.sample(300)["kind"].to_pylist())["rare"] == 2 * FLOOR
