"""`TabPE`: the budget."""

import math

import pyarrow as pa
import pyarrow.csv
import pytest

from facade import NOISY_DELTA, SCHEMA, bill, fitted
from tabpe import (
    Adjacency,
    Categorical,
    Integer,
    Schema,
)
from tabpe.errors import (
    ParameterError,
    ThinVotesWarning,
)


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
def test_the_bill_holds_what_was_not_declared(table, changes, expected):
    model = fitted(table, **changes)
    assert bill(model) == expected
    assert model.certificate.epsilon <= model.epsilon
    assert model.certificate.bill[-1].times == model.preset.rounds


def test_without_a_label_no_class_is_bought(table):
    model = fitted(table, Schema(SCHEMA.columns))
    assert bill(model) == ["votes"]


@pytest.mark.parametrize("part", [0.02, 0.4])
def test_class_budget_is_the_part_of_the_counts(table, part):
    certificate = fitted(table, class_budget=part, epsilon=1.0, public_rows=400).certificate
    assert certificate.share(certificate.bill[0]) == pytest.approx(part, rel=0.02)


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


def test_notes_tell_of_noisy_counts_only_if_counts_were_bought(table):
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
    for less, more in zip(one.bill, other.bill, strict=True):
        assert more.sigma > less.sigma


@pytest.mark.parametrize(("preset", "rounds"), [("paper", 15), ("reference", 14)])
def test_presets_pay_for_their_histograms(table, preset, rounds):
    model = fitted(table, preset=preset, epsilon=1.0, public_rows=400)
    assert model.certificate.bill[-1].times == rounds == len(model.history_)
    assert model.certificate.configuration["rounds"] == rounds
    assert 0.99 < model.certificate.epsilon <= 1.0


def test_more_rows_than_votes_can_tell_apart_are_warned_of(table):
    with pytest.warns(ThinVotesWarning, match="fifth"):
        fitted(table, n_samples=200)


def test_a_tenth_of_the_rows_is_evolved_by_default(table):
    assert fitted(table, n_samples=None, public_rows=400).n_evolved_ == 40
    assert fitted(table, n_samples=None).n_evolved_ == pytest.approx(40, abs=2)
