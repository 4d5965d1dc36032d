"""A failed run costs nothing that it did not measure, and every error says what was charged."""

import pyarrow as pa
import pytest

from tabpe import Integer, Schema, TabPE
from tabpe.accounting import Spend
from tabpe.accounting.ledger import Ledger
from tabpe.errors import BudgetError, DataError, LedgerError, ParameterError, SchemaError

SCHEMA = Schema((Integer("age", 0, 100),))
TABLE = pa.table({"age": [30, 60] * 200})
# Every place occurs once: no value of it can be released.
PLACES = pa.table({"age": [30, 60] * 200, "place": [f"place {index}" for index in range(400)]})
ESTIMATED = {"schema": "private", "estimate_columns": "all"}


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "ledger.db")
    opened.set_budget("patients", epsilon=3.0, delta=1e-6)
    return opened


def make_model(ledger, **settings):
    usual = {"epsilon": 1.0, "delta": 1e-6, "verbose": 0, "random_state": 0, "n_samples": 20}
    return TabPE(**usual | settings, dataset="patients", ledger=ledger.path)


def list_states(ledger):
    return [entry.state for entry in ledger.entries("patients")]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"epsilon": -1.0}, ParameterError),
        ({"preset": "worst"}, ParameterError),
        ({"label": "ward"}, SchemaError),
        ({"noise": "none"}, ParameterError),
        ({"class_budget": 2.0}, ParameterError),
        ({"drop": ["age"]}, ParameterError),
        ({"unit": "age"}, ParameterError),
        ({"engine": "cloud"}, ParameterError),
        ({"random_state": -1}, ParameterError),
        ({"epsilon": 4.0}, BudgetError),
        ({"adjacency": "replace-one"}, LedgerError),
    ],
)
def test_what_can_be_checked_without_rows_is_never_reserved(ledger, settings, error):
    with pytest.raises(error):
        make_model(ledger, **settings).fit(TABLE, SCHEMA)
    assert list_states(ledger) == []
    assert ledger.left("patients") == 3.0


def test_a_missing_column_is_never_reserved(ledger):
    with pytest.raises((SchemaError, DataError)):
        make_model(ledger).fit(TABLE.rename_columns(["years"]), SCHEMA)
    assert list_states(ledger) == []


@pytest.mark.parametrize("folder", [None, "run"])
def test_a_schema_that_can_not_be_used_costs_what_was_measured(ledger, tmp_path, folder):
    run_dir = None if folder is None else tmp_path / folder
    model = make_model(ledger, **ESTIMATED, run_dir=run_dir)
    with pytest.raises(SchemaError, match="'place': no value is frequent enough") as caught:
        model.fit(PLACES)
    [entry] = ledger.entries("patients")
    assert entry.state == "spent"
    assert entry.certificate_sha256 is None
    names = {spend.name for spend in entry.spends}
    assert "categories" in names
    assert not {"votes", "1-way marginals"} & names
    # The schema has a twentieth of the budget, in squares, and the count another fiftieth.
    assert 0 < ledger.spent("patients") < 0.4
    assert "Charged to data set 'patients': 1 x row count" in str(caught.value)
    assert "the rest was refunded" in str(caught.value)
    assert not ledger.verify()


def test_what_was_refunded_can_be_spent(ledger):
    ledger.set_budget("patients", epsilon=1.1, delta=1e-6)
    with pytest.raises(SchemaError):
        make_model(ledger, **ESTIMATED).fit(PLACES)
    model = make_model(ledger, **ESTIMATED, drop=["place"]).fit(PLACES)
    assert model.certificate.epsilon <= 1
    assert ledger.spent("patients") <= 1.1


def test_a_stopped_run_measures_nothing_more(ledger, tmp_path):
    model = make_model(ledger, **ESTIMATED, run_dir=tmp_path / "run")
    with pytest.raises(SchemaError):
        model.fit(PLACES)
    spent = ledger.spent("patients")
    with pytest.raises((SchemaError, BudgetError, LedgerError)):
        model.fit(PLACES)
    assert ledger.spent("patients") == spent
    assert len(ledger.entries("patients")) == 1


def test_an_error_that_may_follow_from_rows_stays_charged(ledger):
    """Whether a cell fits is no noisy answer: nothing may be refunded for it."""
    bad = pa.table({"age": ["30"] * 399 + ["secret"]})
    with pytest.raises(DataError, match="stays charged to data set 'patients'") as caught:
        make_model(ledger, strict=True).fit(bad, SCHEMA)
    assert list_states(ledger) == ["reserved"]
    assert "secret" not in str(caught.value)
    assert "With run_dir" in str(caught.value)
    assert "With --run-dir" in caught.value.in_terminal


def test_an_error_of_reading_during_an_estimate_stays_charged(ledger, monkeypatch):
    from tabpe.measurement import raw_columns

    def fail(*_):
        raise SchemaError("column 'age': the file ends here.")

    monkeypatch.setattr(raw_columns, "measure_histograms", fail)
    from tabpe.measurement import session

    monkeypatch.setattr(session, "measure_histograms", fail, raising=False)
    with pytest.raises(SchemaError, match="stays charged"):
        make_model(ledger, **ESTIMATED).fit(TABLE)
    assert list_states(ledger) == ["reserved"]


def test_a_fixed_plan_can_not_be_stopped(ledger):
    spends = [Spend("votes", sigma=20.0, times=3)]
    entry = ledger.reserve("patients", spends)
    with pytest.raises(LedgerError, match="its plan is fixed"):
        ledger.stop(entry.id, spends[:1])


def test_a_refusal_offers_the_epsilon_that_fits(ledger):
    with pytest.raises(BudgetError, match=r"Pass epsilon=3 and delta=1e-06, or less") as caught:
        make_model(ledger, epsilon=5.0).fit(TABLE, SCHEMA)
    assert "Pass --epsilon 3 --delta 1e-06, or less." in caught.value.in_terminal


@pytest.mark.parametrize(
    ("budget", "run", "offered"),
    [
        ({}, {"adjacency": "replace-one"}, "set-budget NAME --epsilon 3 --delta 1e-06 --adjacency"),
        ({}, {"unit": "who"}, "--adjacency add-remove --unit who"),
        ({"unit": "who"}, {}, "Pass --adjacency add-remove --unit who."),
        (
            {"adjacency": "replace-one"},
            {"unit": "who"},
            "--adjacency replace-one --unit who",
        ),
    ],
)
def test_no_weaker_relation_is_advised(tmp_path, budget, run, offered):
    opened = Ledger(tmp_path / "other.db")
    opened.set_budget("patients", epsilon=3.0, delta=1e-6, **budget)
    table = TABLE.append_column("who", pa.array([str(i) for i in range(400)]))
    with pytest.raises(LedgerError) as caught:
        make_model(opened, **run).fit(table, SCHEMA)
    assert offered in caught.value.in_terminal
    assert "unit=None" not in str(caught.value)
    assert opened.entries("patients") == ()
