"""`TabPE`: charged to a ledger before the first row is read."""

import math
from contextlib import nullcontext

import pytest

from facade import NOISY_DELTA, SCHEMA, USERS, buying_fit, fake_fit, fitted, of_people
from tabpe import TabPE
from tabpe.accounting.ledger import Ledger
from tabpe.errors import (
    BudgetError,
    DataError,
    LedgerError,
    NoBudgetWarning,
    OutputError,
    ParameterError,
)
from tabpe.io import open_source


class Recording:
    """A source that notes the state of a ledger whenever somebody begins to read."""

    def __init__(self, source, path, fails=False):
        self.library, self.nested = source.library, source.nested
        self.names, self.most_rows = source.names, source.most_rows
        self._source, self._path, self._fails = source, path, fails
        self.seen = []

    def batches(self, names=None):
        """Look into the ledger as another process would, then read."""
        self.seen.append([entry.state for entry in Ledger(self._path).entries("patients")])
        if self._fails:
            raise DataError("a row that can not be read")
        yield from self._source.batches(names)


@pytest.fixture
def named(ledger):
    return {"dataset": "patients", "ledger": ledger.path}


@pytest.fixture
def sources(monkeypatch, ledger):
    """The sources that were opened, which may be told to fail."""
    opened = []

    def record(data, **reading):
        opened.append(Recording(open_source(data, **reading), ledger.path, fails=record.fails))
        return nullcontext(opened[-1])

    record.fails = False
    monkeypatch.setattr("tabpe.synthesizers.tabpe.use_source", record)
    return opened, record


def states(ledger):
    return [entry.state for entry in ledger.entries("patients")]


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("how", ["rows", "users", "estimated", "stream"])
def test_it_is_reserved_when_the_first_row_is_read(
    ledger, named, sources, tmp_path, how, remembered
):
    people = of_people()
    if remembered:
        named = named | {"run_dir": tmp_path / "run"}
    if how == "users":
        ledger.set_budget("patients", epsilon=60.0, delta=1e-6, unit="person")
        fake_fit(people, **(named | USERS))
    elif how == "estimated":
        buying_fit(people, drop=["person"], **named)
    else:
        fake_fit(people, engine="stream" if how == "stream" else "local", **named)
    seen = [state for source in sources[0] for state in source.seen]
    assert len(seen) >= 1
    assert all(state == ["reserved"] for state in seen)
    assert states(ledger) == ["spent"]


def test_the_certificate_and_the_entry_name_each_other(table, ledger, named):
    certificate = fitted(table, **named).certificate
    [entry] = ledger.entries("patients")
    assert (certificate.ledger.dataset, certificate.ledger.entry) == ("patients", entry.id)
    assert entry.certificate_sha256 == certificate.digest
    assert entry.spends == certificate.spends
    assert entry.neighbours == certificate.neighbours
    assert "patients" in str(certificate)


def test_what_is_over_the_budget_is_refused_and_nothing_is_read(table, ledger, named, sources):
    ledger.set_budget("patients", epsilon=1.2, delta=1e-6)
    fitted(table, **named, epsilon=1.0)
    left = ledger.left("patients")
    read = [len(source.seen) for source in sources[0]]
    with pytest.raises(BudgetError, match=f"{left:g} is left") as caught:
        fitted(table, **named, epsilon=1.0)
    assert caught.value.exit_code == 3
    assert [len(source.seen) for source in sources[0]] == [*read, 0]
    assert states(ledger) == ["spent"]


@pytest.mark.parametrize("how", ["rows", "estimated"])
def test_all_that_is_left_can_be_spent(table, ledger, named, how):
    """What was measured fits where what was planned did, though a schema is planned as one item."""

    def fit(epsilon):
        if how == "rows":
            return fitted(table, **named, epsilon=epsilon)
        return buying_fit(of_people(6000), drop=["person"], **named, epsilon=epsilon)

    ledger.set_budget("patients", epsilon=4.0, delta=1e-6)
    fit(2.0)
    fit(ledger.left("patients"))
    assert states(ledger) == ["spent", "spent"]
    assert 3.95 < ledger.spent("patients") <= 4.0


def test_a_failure_before_the_first_read_is_refunded(table, ledger, named, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tabpe.synthesizers.pipeline.resolve_schema", fail)
    with pytest.raises(KeyboardInterrupt):
        fitted(table, **named)
    assert states(ledger) == ["refunded"]


def test_a_failure_after_the_first_read_stays_charged(table, ledger, named):
    with pytest.raises(DataError, match="column 'ward'"):
        fitted(table.set_column(2, "ward", [["nowhere"] * 400]), strict=True, **named)
    assert states(ledger) == ["reserved"]


def test_a_first_row_that_can_not_be_read_stays_charged(table, ledger, named, sources):
    sources[1].fails = True
    with pytest.raises(DataError):
        fitted(table, **named)
    assert states(ledger) == ["reserved"]


def test_a_table_without_a_column_is_refused_before_it_is_charged(table, ledger, named):
    with pytest.raises(DataError, match="no column 'bmi'"):
        fitted(table.drop_columns(["bmi"]), **named)
    with pytest.raises(DataError, match="unit='person': the table has no such column"):
        fitted(table, **(named | USERS))
    assert states(ledger) == []


def test_without_a_delta_it_is_that_of_the_budget(table, ledger, named):
    ledger.set_budget("patients", epsilon=200.0, delta=3e-7)
    assert fitted(table, **named, delta=None).certificate.delta == 3e-7
    assert fitted(table, **named, delta=1e-7).certificate.delta == 1e-7
    declared = fitted(table, **named, delta=None, public_rows=400, epsilon=1.0)
    assert declared.certificate.delta == 1 / (400 * math.log(400))


@pytest.mark.parametrize(
    ("budget", "run", "advice"),
    [
        ({"unit": "person"}, {}, "unit='person'"),
        ({"unit": "family"}, USERS, "Set a budget that fits: .*unit='person'"),
        ({}, USERS, "Set a budget that fits: .*unit='person'"),
        ({}, {"adjacency": "replace-one"}, "Set a budget that fits: .*adjacency='replace-one'"),
    ],
)
def test_a_budget_for_others_is_refused_with_what_to_pass(
    ledger, named, sources, budget, run, advice
):
    ledger.set_budget("patients", epsilon=60.0, delta=1e-6, **budget)
    with pytest.raises(LedgerError, match=advice) as caught:
        fitted(of_people(), **(named | run))
    assert caught.value.exit_code == 2
    assert [source.seen for source in sources[0]] == [[]]
    assert states(ledger) == []


def test_without_a_budget_it_is_recorded_and_said_so(table, tmp_path):
    path = tmp_path / "new.db"
    with pytest.warns(NoBudgetWarning, match="set_budget"):
        model = fitted(table, dataset="visits", ledger=path, **NOISY_DELTA)
    [entry] = Ledger(path).entries("visits")
    assert (entry.state, entry.certificate_sha256) == ("spent", model.certificate.digest)


def test_a_budget_that_is_required_and_missing_is_refused_and_nothing_is_read(
    table, ledger, named, sources
):
    with pytest.raises(BudgetError, match="set_budget") as caught:
        fitted(table, **(named | {"dataset": "visits"}), require_budget=True)
    assert caught.value.exit_code == 3
    assert [len(source.seen) for source in sources[0]] == []
    assert ledger.entries("visits") == ()
    fitted(table, **named, require_budget=True)
    assert states(ledger) == ["spent"]


def test_without_a_path_it_is_the_ledger_of_the_user(table, tmp_path):
    ledger = Ledger()
    ledger.set_budget("patients", epsilon=60.0, delta=1e-6)
    assert tmp_path in ledger.path.parents
    fitted(table, dataset="patients")
    assert states(ledger) == ["spent"]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"ledger": "l.db"}, ParameterError, "needs dataset"),
        ({"dataset": ""}, ParameterError, "dataset=''"),
        ({"dataset": 5}, ParameterError, "dataset=5"),
        ({"dataset": "a", "ledger": 5}, ParameterError, "ledger=5: expected a path"),
        ({"dataset": "a", "ledger": ""}, ParameterError, "ledger='': expected a path"),
        ({"dataset": "a", "ledger": "s3://a/b"}, OutputError, "a URL"),
        ({"dataset": "a", "ledger": "."}, LedgerError, "not a file"),
        ({"require_budget": True}, ParameterError, "needs dataset"),
        ({"dataset": "a", "require_budget": "no"}, ParameterError, "require_budget='no'"),
        ({"run_dir": 5}, ParameterError, "run_dir=5: expected a path"),
        ({"run_dir": "s3://a/b"}, OutputError, "a URL"),
    ],
)
def test_what_is_no_ledger_and_no_folder_is_refused(table, changes, error, message):
    with pytest.raises(error, match=message) as caught:
        fitted(table, **changes)
    assert caught.value.exit_code == 2


def test_a_saved_model_does_not_say_where_the_ledger_is(table, named, tmp_path):
    model = fitted(table, **named)
    model.save(tmp_path / "model.tabpe")
    again = TabPE.load(tmp_path / "model.tabpe")
    assert (again.ledger, again.dataset) == (None, None)
    assert again.certificate == model.certificate
    assert again.schema_ == SCHEMA
