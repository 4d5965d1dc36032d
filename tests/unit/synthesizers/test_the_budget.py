"""`TabPE`: the budget."""

import math

import pyarrow as pa
import pyarrow.csv
import pytest

from facade import (
    BOTH,
    LISTED,
    NOISY_DELTA,
    QUICK_BEST,
    QUICK_PAIRS,
    SCHEMA,
    USERS,
    buying_fit,
    columns,
    fitted,
    listed,
    of_people,
    spends,
)
from tabpe import Adjacency, Categorical, Integer, Schema
from tabpe.errors import ParameterError, ThinVotesWarning
from tabpe.verification import verify


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["class counts", "votes"]),
        (NOISY_DELTA | {"n_samples": None}, ["class counts", "votes"]),
        ({"public_rows": 400}, ["class counts", "votes"]),
        ({"public_shares": {False: 0.7, True: 0.3}}, ["votes"]),
        (
            NOISY_DELTA | {"public_shares": {"False": 7, "True": 3}},
            ["row count", "votes"],
        ),
        ({"public_shares": {False: 1, True: 1}, "delta": None, "public_rows": 400}, ["votes"]),
    ],
)
def test_the_spends_holds_what_was_not_declared(table, changes, expected):
    model = fitted(table, **changes)
    assert spends(model) == expected
    assert model.certificate.epsilon <= model.epsilon
    assert model.certificate.spends[-1].times == model.preset.rounds


def test_without_a_label_no_class_is_estimated(table):
    model = fitted(table, Schema(SCHEMA.columns))
    assert spends(model) == ["votes"]


@pytest.mark.parametrize("part", [0.02, 0.4])
def test_class_budget_is_the_part_of_the_counts(table, part):
    certificate = fitted(table, class_budget=part, epsilon=1.0, public_rows=400).certificate
    assert certificate.share(certificate.spends[0]) == pytest.approx(part, rel=0.02)


def test_public_facts_are_in_the_certificate(table):
    model = fitted(table, public_rows=400, public_shares={False: 0.7, True: 0.3}, delta=None)
    assert "400" in " ".join(model.certificate.assumed_public)
    assert "share" in " ".join(model.certificate.assumed_public)
    assert model.certificate.delta == 1 / (400 * math.log(400))
    assert "declared" in model.certificate.delta_source


def test_a_noisy_delta_is_called_so(table):
    certificate = fitted(table, **NOISY_DELTA).certificate
    assert "noisy" in certificate.delta_source
    assert certificate.delta > 1 / (400 * math.log(400))


def test_a_table_too_small_for_a_noisy_delta_says_what_to_do(table):
    with pytest.raises(ParameterError, match="public_rows"):
        fitted(table.slice(0, 20), delta=None, epsilon=1.0)


def test_notes_tell_of_noisy_counts_only_if_counts_were_estimated(table):
    one_class = Schema((Integer("age", 0, 100), Categorical("kind", ("a",))), label="kind")
    model = fitted(table.append_column("kind", pa.array(["a"] * 400)), one_class)
    assert "noisy counts" not in " ".join(model.certificate.notes)
    assert "noisy counts" in " ".join(fitted(table).certificate.notes)


def test_replace_one_takes_more_noise(table):
    one, other = (
        fitted(table, adjacency=adjacency).certificate
        for adjacency in (Adjacency.ADD_REMOVE, "replace-one")
    )
    assert other.neighbours.adjacency is Adjacency.REPLACE_ONE
    assert "same size" in str(other)
    for less, more in zip(one.spends, other.spends, strict=True):
        assert more.sigma > less.sigma


@pytest.mark.parametrize(("preset", "rounds"), [("paper", 15), ("reference", 14)])
def test_presets_pay_for_their_histograms(table, preset, rounds):
    model = fitted(table, preset=preset, epsilon=1.0, public_rows=400)
    assert model.certificate.spends[-1].times == rounds == len(model.history_)
    assert model.certificate.configuration["rounds"] == rounds
    assert 0.99 < model.certificate.epsilon <= 1.0


def test_more_rows_than_votes_can_tell_apart_are_warned_of(table):
    with pytest.warns(ThinVotesWarning, match="fifth"):
        fitted(table, n_samples=200)


def test_a_posterior_makes_as_many_rows_as_there_are(table):
    made = {"preset": QUICK_BEST, "n_samples": None}
    assert fitted(table, public_rows=400, **made).n_evolved_ == 400
    assert fitted(table, **made).n_evolved_ == pytest.approx(400, abs=20)


def test_the_spends_of_a_posterior_has_tables_and_as_many_votes_as_rows_have(table):
    model = fitted(table, preset="best", epsilon=1.0, public_rows=400)
    counts, tables, votes = model.certificate.spends
    assert [counts.name, tables.name, votes.name] == ["class counts", "1-way marginals", "votes"]
    assert [counts.times, tables.times, votes.times] == [1, 2 * 3, 8 * 4]
    share = model.certificate.share
    assert [share(counts), share(tables)] == pytest.approx([0.02, 0.1], rel=0.02)
    assert len(model.history_) == 8
    assert 0.99 < model.certificate.epsilon <= 1.0


GUARANTEES = {
    "rows": {},
    "replace-one": {"adjacency": "replace-one"},
    "noise of OpenDP": {"noise": "opendp"},
    "noisy delta": {"delta": None, "n_samples": None},
    "all public": {"public_rows": 1500, "public_shares": {False: 0.7, True: 0.3}},
    "users": USERS,
    "users, one replaced": USERS | {"adjacency": "replace-one"},
}


@BOTH
@pytest.mark.parametrize("estimates", [False, True], ids=["declared", "estimated"])
@pytest.mark.parametrize("kind", GUARANTEES)
def test_what_is_guaranteed_is_the_same_counted_anew(kind, estimates, preset, tmp_path):
    changes = {"epsilon": 2.0, "preset": preset, "n_samples": 30} | GUARANTEES[kind]
    rows = of_people(1500) if "unit" in changes else pa.table(columns(1500))
    fit = buying_fit if estimates else fitted
    model = fit(rows, None if estimates else SCHEMA, **changes)
    (tmp_path / "certificate.json").write_text(model.certificate.to_json())
    checked = verify(tmp_path / "certificate.json")
    assert checked.holds, checked
    assert model.certificate.epsilon <= changes["epsilon"]


@pytest.mark.parametrize("kind", GUARANTEES)
def test_what_is_guaranteed_with_pairs_is_the_same_counted_anew(kind, tmp_path):
    model = fitted(listed(), LISTED, **({"epsilon": 2.0, "preset": QUICK_PAIRS} | GUARANTEES[kind]))
    assert "2-way marginals" in spends(model)
    (tmp_path / "certificate.json").write_text(model.certificate.to_json())
    checked = verify(tmp_path / "certificate.json")
    assert checked.holds, checked
    assert 0.99 * model.epsilon < model.certificate.epsilon <= model.epsilon


def test_a_tenth_of_the_rows_is_evolved_by_default(table):
    assert fitted(table, n_samples=None, public_rows=400).n_evolved_ == 40
    assert fitted(table, n_samples=None).n_evolved_ == pytest.approx(40, abs=2)
