"""`TabPE` with several labels: joint classes, of which rare ones are generated together."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from facade import BOTH, QUICK_BEST, SCHEMA, USERS, buying_fit, fake_fit, fitted, spends
from tabpe import Boolean, Categorical, Integer, Schema, TabPE
from tabpe.errors import ParameterError, SchemaError
from tabpe.evaluation.report.evaluate import open_tables
from tabpe.verification import verify_plain

LABEL = ("ward", "ill")
JOINT = dataclasses.replace(SCHEMA, label=LABEL)
# Some combinations have very few rows; with this much noise they can not be told from none.
NOISY = {"epsilon": 4.0, "n_samples": 200}
SHARES = {"heart": 0.6, "lung": 0.38, "skin": 0.02}
RARE = {("lung", True), ("skin", False), ("skin", True)}


def table_of(size=1500, seed=0):
    rng = np.random.default_rng(seed)
    ward = rng.choice(list(SHARES), size, p=list(SHARES.values()))
    return pa.table(
        {
            "age": np.where(ward == "skin", 90, rng.integers(0, 50, size)),
            "bmi": np.round(rng.uniform(10, 60, size), 1),
            "ward": ward.tolist(),
            "ill": rng.random(size) < np.where(ward == "lung", 0.02, 0.6),
            "person": [f"p{number % (size // 2)}" for number in range(size)],
        }
    )


@pytest.fixture(scope="module")
def rows():
    return table_of()


def pairs(frame):
    return [(row["ward"], row["ill"]) for row in frame.select(list(LABEL)).to_pylist()]


@BOTH
def test_rare_combinations_are_merged_and_come_out(rows, preset):
    model = fake_fit(rows, JOINT, preset=preset, **NOISY)
    rare = set(model.schema_.label_rare)
    assert rare == RARE
    found = pairs(model.sample())
    assert set(found) & rare
    release = model.release_
    assert not release.rows.codes[release.classes < 3, -1].any()
    for combination in [("heart", False), ("heart", True), ("lung", False)]:
        share = pairs(rows).count(combination) / len(rows)
        assert found.count(combination) / len(found) == pytest.approx(share, abs=0.06)


def test_a_rare_combination_may_have_a_null(rows):
    wards = [None if number < 4 else ward for number, ward in enumerate(rows["ward"].to_pylist())]
    ward = dataclasses.replace(JOINT["ward"], nullable=True)
    schema = dataclasses.replace(
        JOINT, columns=tuple(ward if one.name == "ward" else one for one in JOINT.columns)
    )
    model = fake_fit(
        rows.set_column(rows.column_names.index("ward"), "ward", [wards]), schema, **NOISY
    )
    assert any(None in one for one in model.schema_.label_rare)
    assert Schema.from_dict(model.schema_.to_dict()) == model.schema_


@BOTH
def test_what_is_rare_is_estimated_and_said(rows, preset):
    """Real noise takes one of them for a class of its own now and then, and never all of them."""
    model = fitted(rows, JOINT, preset=preset, **NOISY)
    rare = set(model.schema_.label_rare)
    assert rare
    assert rare <= RARE
    certificate = model.certificate
    assert spends(model)[:2] == ["row count", "class counts"]
    assert certificate.estimated == ("label_rare",)
    assert "all of the schema that was not estimated" in certificate.assumed_public
    assert f"{len(rare)} of the 6 combinations of 'ward' and 'ill'" in " ".join(certificate.notes)
    assert certificate.epsilon <= 4.0
    assert verify_plain(certificate.to_dict()).holds


def test_without_rare_ones_every_combination_is_a_class(rows):
    model = fitted(rows, JOINT)
    assert model.schema_.label_rare == ()
    assert model.certificate.estimated == ()
    assert model.certificate.assumed_public == ("the schema",)


@BOTH
def test_all_may_be_rare(preset):
    model = fake_fit(table_of(60), JOINT, preset=preset, epsilon=0.5, n_samples=1)
    assert model.schema_.class_names == ("rare",)
    assert len(model.sample()) == 1


def test_there_may_be_fewer_rows_to_make_than_combinations(rows):
    model = fitted(rows, JOINT, n_samples=2)
    assert len(model.schema_.class_names) == 2
    assert len(model.sample()) == 2


@BOTH
@pytest.mark.parametrize("machine", [{"engine": "stream"}, {"engine": "stream", "spill": False}])
def test_nobody_can_tell_the_engine(rows, preset, machine):
    one = fake_fit(rows, JOINT, preset=preset, **NOISY)
    other = fake_fit(rows, JOINT, preset=preset, **NOISY, **machine)
    assert one.sample().equals(other.sample())
    assert one.schema_ == other.schema_
    assert one.schema_.label_rare


@BOTH
def test_users_are_protected(rows, preset):
    model = fitted(rows, JOINT, preset=preset, **(USERS | {"epsilon": 3.0, "n_samples": 80}))
    assert spends(model)[:2] == ["user count", "class counts"]
    assert model.schema_.label_rare
    assert verify_plain(model.certificate.to_dict()).holds
    assert set(pairs(model.sample())) <= {(ward, ill) for ward in SHARES for ill in (True, False)}


def test_declared_shares_say_what_is_rare(rows):
    shares = {(ward, ill): SHARES[ward] / 2 for ward in SHARES for ill in (False, True)}
    model = fitted(rows, JOINT, public_shares=shares, **NOISY)
    assert model.schema_.label_rare == (("skin", False), ("skin", True))
    assert spends(model) == ["row count", "votes"]
    assert model.certificate.estimated == ()
    found = pairs(model.sample())
    assert found.count(("lung", True)) == pytest.approx(0.19 * 200, abs=8)


def test_it_survives_saving(rows, tmp_path):
    shares = {f"{ward} / {ill}": SHARES[ward] / 2 for ward in SHARES for ill in (False, True)}
    model = fitted(rows, SCHEMA, label=list(LABEL), public_shares=shares, **NOISY)
    model.save(tmp_path / "run.tabpe")
    again = TabPE.load(tmp_path / "run.tabpe")
    assert again.sample().equals(model.sample())
    assert again.label == list(LABEL)
    assert again.public_shares == shares


def test_what_another_run_found_rare_is_found_out_anew(rows):
    model = fitted(rows, JOINT, **NOISY)
    again = fitted(table_of(1500, seed=1), model.schema_)
    assert model.schema_.label_rare
    assert not again.schema_.label_rare


def test_conditions_are_on_any_label(rows):
    model = fitted(rows, JOINT, preset=QUICK_BEST, **NOISY)
    assert set(model.sample(20, conditions={"ill": True})["ill"].to_pylist()) == {True}
    assert set(pairs(model.sample(5, conditions={"ward": "heart", "ill": False}))) == {
        ("heart", False)
    }
    known = model.sample().select(["ward"]).slice(0, 5)
    assert model.sample_remaining_columns(known)["ward"].equals(known["ward"])


def test_an_interrupted_run_goes_on(rows, tmp_path, ledger):
    kept = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    first = fitted(rows, JOINT, **NOISY, **kept)
    again = fitted(rows, JOINT, **NOISY, **kept)
    assert again.sample().equals(first.sample())
    assert again.certificate.spends == first.certificate.spends
    assert len(ledger.entries("patients")) == 1
    with pytest.raises(ParameterError, match="schema"):
        fitted(rows, SCHEMA, **NOISY, **kept)


def test_labels_may_be_estimated(rows):
    declared = {"columns": [{"name": "ill", "type": "boolean"}]}
    model = buying_fit(rows.drop_columns("person"), declared, label=list(LABEL), **NOISY)
    assert set(model.schema_["ward"].values) >= {"heart", "lung"}
    assert model.schema_.label == LABEL
    assert verify_plain(model.certificate.to_dict()).holds


def test_too_many_combinations_cost_nothing(rows, ledger):
    wards = Categorical("ward", tuple(f"w{number}" for number in range(600)))
    wide = Schema((wards, *SCHEMA.columns[3:]), label="ill")
    with pytest.raises(SchemaError, match=r"1,200 combinations.*Leave a column out"):
        fitted(rows, wide, label=list(LABEL), dataset="patients", ledger=ledger.path)
    assert ledger.entries("patients") == ()


def test_the_first_label_is_the_one_that_is_predicted(rows):
    synthetic = rows.drop_columns("person").slice(0, 50)
    tables = open_tables(rows, synthetic, None, JOINT, None)
    assert tables.schema.label == "ward"
    assert "the first, 'ward', is the one that models predict" in " ".join(tables.notes)


@BOTH
def test_a_combination_that_a_rule_excludes_has_no_rows_whatever_its_share(preset):
    """Private rows may break the rule, and shares may say so."""
    schema = Schema(
        (Boolean("ill"), Boolean("old"), Integer("age", 0, 99)),
        label=("ill", "old"),
        rules=("if ill then not old",),
    )
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "ill": rng.random(900) < 0.5,
            "old": rng.random(900) < 0.5,
            "age": rng.integers(0, 99, 900),
        }
    )
    made = fitted(table, schema, preset=preset, n_samples=60).sample().to_pandas()
    assert len(made) == 60
    assert not (made["ill"] & made["old"]).any()
    assert made.groupby(["ill", "old"]).size().min() > 5
