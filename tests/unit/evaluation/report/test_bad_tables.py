"""Tables that must not be signed get a card that says why, and honest ones do not."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tabpe
from bad_tables import (
    BAD_TABLES,
    PARTLY_BAD_TABLES,
    shuffle_number_within_class,
    shuffle_one_class,
)
from tabpe import Schema
from tabpe.accounting import FakeNoise
from tabpe.errors import NotPrivateWarning
from tabpe.io.example import hospital_schema, hospital_table

# What a card must name, one of these at least.
CAUSES = {
    "shuffled columns": {"pairs lost", "dependence lost"},
    "shuffled within class": {"pairs lost", "dependence lost"},
    "copies, jittered a little": {"near copies"},
    "copies, jittered": {"near copies"},
    "copies, jittered a lot": {"near copies"},
    "exact copies": {"exact copies"},
    "50 rows, 100 times": {"exact copies", "rows missing"},
    "constant label": {"values missing"},
    "permuted labels": {"utility lost", "dependence lost", "column detached"},
    "a mode dropped": {"values missing"},
    "a rare category dropped": {"values missing"},
    "independent marginals": {"pairs lost", "dependence lost"},
    "a constant column": {"columns differ"},
    "another table": {"columns differ", "pairs lost"},
}
PARTLY = {
    "a few copies, jittered": {"near copies"},
    "half copies": {"exact copies"},
    "repeated rows": {"rows repeated"},
    "an invented dependence": {"dependence invented"},
    "rounded numbers": {"values coarser"},
}
# These are made from rows that the real table does not hold, so that copies are not what is seen.
COPIES = {name for name in BAD_TABLES if "cop" in name or "100 times" in name}
DATA = Path(os.environ.get("TABPE_DATA", Path(__file__).parents[5] / "shared" / "data"))


def read_hospital(*, label):
    schema = hospital_schema()
    schema = schema if label else Schema(schema.columns)
    return hospital_table(4000).to_pandas(), hospital_table(4000, seed=99).to_pandas(), schema


def read_adult():
    if not (DATA / "adult_tabpe_train.csv.gz").exists():
        pytest.skip("Adult is not on this machine")
    table = pd.read_csv(DATA / "adult_tabpe_train.csv.gz")
    rows = np.random.default_rng(0).permutation(len(table))
    real, other = (table.iloc[rows[at : at + 6000]].reset_index(drop=True) for at in (0, 6000))
    return real, other, tabpe.draft_schema(table, label="income")


TABLES = {
    "hospital": lambda: read_hospital(label=True),
    "hospital without a label": lambda: read_hospital(label=False),
    "adult": read_adult,
}


@pytest.fixture(autouse=True)
def _leave_out_what_no_cause_rests_on(monkeypatch):
    """Save most of the time: few Wasserstein distances, no map, no trees by depth."""
    module = import_module("tabpe.evaluation.report.evaluate")
    monkeypatch.setattr(module, "SUBSETS", 3)
    for name in ("measure_correlation_order", "project_rows"):
        monkeypatch.setattr(module, name, lambda *_, **__: None)


def find_causes(report):
    return {cause for card in report.cards for cause in card.causes}


@pytest.fixture
def without_transport(monkeypatch):
    """Leave out Wasserstein distances, a third of the time: each cause is seen without them."""
    module = import_module("tabpe.evaluation.report.evaluate")
    monkeypatch.setattr(module, "wasserstein", lambda *_, **__: None)


@pytest.mark.usefixtures("without_transport")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_gets_a_card_that_names_the_cause(table, name):
    real, other, schema = TABLES[table]()
    rng = np.random.default_rng(1)
    made = BAD_TABLES[name](real if name in COPIES else other, rng, schema.target)
    report = tabpe.evaluate(real, made, schema=schema, verbose=0)
    assert find_causes(report) & CAUSES[name], report
    named = {cause: card.grade for card in report.cards for cause in card.causes}
    assert {named[cause] for cause in CAUSES[name] & set(named)} <= {"fair", "poor"}


@pytest.fixture
def without_models(monkeypatch):
    """Leave out what takes time: models, distances, and the learned representation."""
    module = import_module("tabpe.evaluation.report.evaluate")
    names = ("learned_dependence", "utility", "representation")
    for name in (*(f"measure_{name}" for name in names), "wasserstein"):
        monkeypatch.setattr(module, name, lambda *_, **__: None)


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize("table", ["hospital", "hospital without a label"])
@pytest.mark.parametrize("name", PARTLY_BAD_TABLES)
def test_a_partly_bad_table_gets_a_card_without_a_model(table, name):
    real, other, schema = TABLES[table]()
    made = PARTLY_BAD_TABLES[name](real, other, np.random.default_rng(1))
    report = tabpe.evaluate(real, made, schema=schema, verbose=0)
    assert find_causes(report) & PARTLY[name], report


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize(
    ("table", "spoil", "words"),
    [
        ("adult", shuffle_one_class, "Lost in a class: within >50K"),
        ("adult", shuffle_number_within_class, "Lost: hardly any dependence of age with"),
    ],
)
def test_what_is_lost_in_one_place_is_seen_where_most_is_kept(table, spoil, words):
    real, other, schema = TABLES[table]()
    made = spoil(other, np.random.default_rng(1), schema.target)
    report = tabpe.evaluate(real, made, schema=schema, verbose=0)
    (card,) = [card for card in report.cards if card.title == "Pairs"]
    assert (card.grade, card.causes) == ("fair", ("pairs lost",))
    assert words in card.words


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize("seed", range(20))
def test_small_samples_of_real_rows_get_no_alarm(seed):
    real, other = (hospital_table(1500, seed=at).to_pandas() for at in (seed, 10**6 + seed))
    report = tabpe.evaluate(real, other, schema=hospital_schema(), verbose=0)
    assert find_causes(report) == set(), report


@pytest.mark.parametrize("table", TABLES)
def test_other_real_rows_get_no_alarm(table):
    real, other, schema = TABLES[table]()
    report = tabpe.evaluate(real, other, schema=schema, verbose=0)
    assert find_causes(report) == set(), report


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_an_honest_table_gets_no_alarm(label, epsilon):
    real, _, schema = read_hospital(label=label)
    noise = FakeNoise(1)
    model = tabpe.TabPE(epsilon=epsilon, noise=noise, random_state=0, verbose=0)
    with pytest.warns(NotPrivateWarning):
        model.fit(real, schema)
    report = tabpe.evaluate(real, model.sample(), schema=schema, verbose=0)
    assert find_causes(report) == set(), report
