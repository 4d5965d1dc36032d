"""`TabPE` with rules: every row that comes out obeys all of them, whichever way it came about."""

import dataclasses
import warnings

import numpy as np
import pyarrow as pa
import pytest

import ruled
from facade import QUICK, QUICK_BEST, buying_fit, fake_fit, fitted
from ruled import SCHEMA, broken
from tabpe import Categorical, Evolution, Id, Integer, Schema, TabPE
from tabpe.encoding import Encoder
from tabpe.errors import ArchiveError, ParameterError, RuleError, SchemaError, ThinSupportWarning
from tabpe.evolution import config, posterior
from tabpe.evolution.constraint_repair import ConstraintSet

STRATEGIES = {
    "paper": Evolution(rounds=4, sampling_rounds=2),
    "reference": dataclasses.replace(config.PRESETS["reference"], rounds=4, horizon=15),
    "genetic": Evolution(rounds=3, sampling_rounds=1, operator="genetic"),
    "guided": Evolution(rounds=3, sampling_rounds=1, tables=0.2, by_rank=0.5),
    "best": QUICK_BEST,
    "tables alone": dataclasses.replace(QUICK_BEST, rounds=0),
}
TABLE = ruled.table()


@pytest.fixture(scope="module")
def model():
    return fitted(TABLE, SCHEMA, preset=QUICK_BEST, n_samples=300)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_row_obeys_every_rule(name):
    made = fitted(TABLE, SCHEMA, preset=STRATEGIES[name], n_samples=100).sample()
    assert made.num_rows == 100
    assert broken(TABLE) == set(SCHEMA.rules)
    assert broken(made) == set()


def test_rows_from_tables_alone_obey_too_where_votes_do_not_help(monkeypatch):
    monkeypatch.setattr(config, "WIDE", 10)
    monkeypatch.setattr(posterior, "votes_help", lambda history: False)
    model = fitted(TABLE, SCHEMA, preset=QUICK_BEST)
    assert any("votes did not help" in note for note in model.certificate.notes)
    assert broken(model.sample()) == set()


def test_every_candidate_obeys_from_the_first_round_on(monkeypatch):
    law, seen = ConstraintSet.from_encoder(Encoder(SCHEMA)), []
    kept = ConstraintSet.repair_or_revert
    monkeypatch.setattr(
        ConstraintSet,
        "repair_or_revert",
        lambda self, *given: seen.append((kept(self, *given), given[2])) or seen[-1][0],
    )
    fitted(TABLE, SCHEMA, preset=QUICK)
    assert seen
    assert not any(law.find_broken(rows, classes).any() for rows, classes in seen)


@pytest.mark.parametrize("preset", [QUICK, QUICK_BEST], ids=["evolution", "posterior"])
def test_rules_cost_no_privacy(preset):
    plain = dataclasses.replace(SCHEMA, rules=())
    all_spends = [
        [
            (item.name, item.sigma, item.times)
            for item in fitted(TABLE, s, preset=preset).certificate.spends
        ]
        for s in (SCHEMA, plain)
    ]
    assert all_spends[0] == all_spends[1]


@pytest.mark.parametrize("preset", [QUICK, QUICK_BEST], ids=["evolution", "posterior"])
def test_the_engines_agree(preset):
    local, stream = (
        fake_fit(TABLE, SCHEMA, preset=preset, engine=engine, n_jobs=jobs).sample()
        for engine, jobs in (("local", 1), ("stream", 2))
    )
    assert local.equals(stream)


def test_rows_that_break_rules_are_no_error_and_pull_candidates_near():
    """All private rows break the rule by a little; synthetic ones lie as near as they may."""
    schema = Schema((Integer("low", 0, 100), Integer("high", 0, 100)), rules=("low <= high",))
    table = pa.table({"low": [62] * 800, "high": [60] * 800})
    model = fake_fit(table, schema, preset=Evolution(rounds=6), n_samples=50)
    made = model.sample().to_pandas()
    assert (made.low <= made.high).all()
    assert abs(made.low.median() - 61) <= 3


def test_rules_that_can_not_be_met_cost_nothing(ledger):
    schema = dataclasses.replace(SCHEMA, rules=("if ill then age > 200",))
    with pytest.raises(RuleError, match=r"with ill='True' was found.*'if ill then age > 200'"):
        fitted(TABLE, schema, dataset="patients", ledger=ledger.path)
    assert list(ledger.entries("patients")) == []


def test_more_rows_than_were_made_obey(model):
    assert broken(model.sample(700)) == set()


def test_smooth_copies_obey(model):
    made = model.sample(900, smooth=True)
    assert broken(made) == set()
    assert len(set(made["x"].to_pylist())) > 500


def test_rows_that_meet_conditions_obey(model):
    made = model.sample(50, conditions={"smoker": False})
    assert broken(made) == set()


def test_a_saved_model_obeys(model, tmp_path):
    model.save(tmp_path / "run.tabpe")
    again = TabPE.load(tmp_path / "run.tabpe")
    assert again.schema_ == SCHEMA
    assert again.sample(50, seed=1).equals(model.sample(50, seed=1))


def test_a_saved_model_whose_rows_break_rules_is_refused(model, tmp_path):
    release = dataclasses.replace(
        model.release_, schema=dataclasses.replace(SCHEMA, rules=("age < 20",))
    )
    release.save(tmp_path / "run.tabpe", parameters={})
    with pytest.raises(ArchiveError, match="do not fit their schema"):
        TabPE.load(tmp_path / "run.tabpe")


def test_known_cells_get_rows_beside_them_that_obey(model):
    known = pa.table({"city": ["Oslo", "Kiel"] * 40, "age": list(range(20, 100))})
    made = model.sample_remaining_columns(known)
    assert broken(made) == set()
    assert made["city"].to_pylist() == known["city"].to_pylist()
    assert made["age"].to_pylist() == known["age"].to_pylist()


def test_other_cells_are_moved_where_no_row_near_by_fits(model):
    known = pa.table({"total": [120.25, 60.5], "fees": [60.25, 30.5]})
    made = model.sample_remaining_columns(known)
    assert broken(made) == set()
    assert made["drugs"].to_pylist() == [60.0, 30.0]


def test_a_row_near_by_that_fits_is_taken_as_it_is(model):
    made = model.sample_remaining_columns(pa.table({"age": list(range(5, 80))}))
    whole, beside = (table.drop_columns(["age"]).to_pylist() for table in (model.sample(), made))
    assert broken(made) == set()
    assert sum(row in whole for row in beside) >= 0.95 * len(beside)


def test_a_known_label_is_the_class(model):
    known = pa.table({"ill": [True] * 30, "age": list(range(11, 41))})
    made = model.sample_remaining_columns(known)
    assert broken(made) == set()
    assert made["ill"].to_pylist() == [True] * 30


def test_known_cells_that_break_a_rule_by_themselves_are_counted(model):
    known = pa.table({"city": ["Rome", "Rome", "Bonn"], "state": ["IT", "NO", "DE"]})
    with pytest.warns(ThinSupportWarning) as warned:
        model.sample_remaining_columns(known)
    assert "1 of 3 known rows break a rule" in str(warned[-1].message)


BEDS = Schema(
    (
        Id("no"),
        Integer("room", 1, 20),
        Categorical("bed", ("a", "b", "c")),
        Categorical("wing", ("old", "new")),
        Integer("age", 0, 99),
    ),
    label="wing",
    rules=(
        "unique(room, bed)",
        "unique(no)",
        "if wing == 'old' then room <= 10 else room > 10",
        "if bed == 'c' then age < 50",
    ),
)


def beds(size=400):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "room": rng.integers(1, 21, size),
            "bed": rng.choice(["a", "b", "c"], size),
            "wing": rng.choice(["old", "new"], size),
            "age": rng.integers(0, 100, size),
        }
    )


def keys(table):
    return list(zip(table["room"].to_pylist(), table["bed"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def hospital():
    shares = {"old": 0.5, "new": 0.5}
    return fitted(beds(), BEDS, n_samples=60, public_shares=shares)


@pytest.mark.parametrize("size", [None, 1, 30, 55])
def test_keys_are_unique_and_other_rules_hold(hospital, size):
    made = hospital.sample(size)
    assert len(set(keys(made))) == made.num_rows == (size or 60)
    assert broken(made, BEDS) == set()


def test_keys_are_unique_among_smooth_copies(hospital):
    made = hospital.sample(50, smooth=True)
    assert len(set(keys(made))) == 50
    assert broken(made, BEDS) == set()


def test_keys_do_not_move_what_conditions_ask_for(hospital):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThinSupportWarning)
        made = hospital.sample(10, conditions={"bed": "a", "wing": "old"})
    assert set(made["bed"].to_pylist()) == {"a"}
    assert len(set(keys(made))) == 10
    assert broken(made, BEDS) == set()


def test_more_rows_than_keys_are_refused(hospital):
    with pytest.raises(ParameterError, match=r"n=61: rule 'unique\(room, bed\)' lets at most 60"):
        hospital.sample(61)


def test_known_cells_get_free_keys_beside_them(hospital):
    made = hospital.sample_remaining_columns(pa.table({"room": [3] * 3 + [15] * 3}))
    assert len(set(keys(made))) == 6
    assert broken(made, BEDS) == set()


def test_known_keys_that_repeat_are_counted(hospital):
    known = pa.table({"room": [3, 3, 4], "bed": ["a", "a", "a"]})
    with pytest.warns(ThinSupportWarning, match="1 of 3 known rows break a rule"):
        hospital.sample_remaining_columns(known)


def test_an_estimated_schema_keeps_rules_about_what_is_declared():
    declared = {
        "label": "wing",
        "columns": [column.to_dict() for column in BEDS.columns[1:4]],
        "rules": ["if wing == 'old' then room <= 10 else room > 10"],
    }
    model = buying_fit(beds(2000), declared, label="wing")
    assert model.schema_.fields_estimated == ("age.type", "age.min", "age.max")
    assert broken(model.sample(), model.schema_) == set()


def test_a_rule_about_what_is_estimated_is_refused_before_it_costs(ledger):
    declared = {"columns": [BEDS["wing"].to_dict()], "label": "wing", "rules": ["age > 3"]}
    with pytest.raises(SchemaError, match="type of column 'age' is not declared"):
        buying_fit(beds(), declared, label="wing", dataset="patients", ledger=ledger.path)
    assert list(ledger.entries("patients")) == []


def test_rows_in_reserve_are_found_again_once_other_columns_are_estimated():
    """Whether rules can be met is known before a purchase, and is the same after it."""
    few = Schema((BEDS["room"], BEDS["bed"]), rules=("room == 7", "bed != 'a'"))
    ward = Categorical("ward", ("x", "y", "z"))
    many = Schema((Integer("age", 0, 9), BEDS["room"], ward, BEDS["bed"]), "ward", None, few.rules)
    one, other = (ConstraintSet.from_encoder(Encoder(schema)).reserve for schema in (few, many))
    assert len(one) == 1
    assert len(other) == 3
    for rows in other:
        assert (rows.codes[:, 0] == one[0].codes[:, 0]).all()
        assert (rows.numbers[:, 1] == one[0].numbers[:, 0]).all()


def test_without_rules_nothing_changes():
    """A rule that all rows obey leaves the rows as they are without it."""
    plain = dataclasses.replace(SCHEMA, rules=())
    idle = dataclasses.replace(SCHEMA, rules=("age >= 0", "age <= 100 or smoker"))
    for preset in (QUICK, QUICK_BEST):
        one, other = (fake_fit(TABLE, schema, preset=preset).sample() for schema in (plain, idle))
        assert one.equals(other)


def test_a_guarantee_to_users_has_rules_too():
    table = TABLE.append_column("person", pa.array([f"p{i // 3}" for i in range(len(TABLE))]))
    model = fitted(
        table, SCHEMA, preset=QUICK_BEST, unit="person", max_rows_per_user=3, epsilon=8.0
    )
    assert broken(model.sample()) == set()
