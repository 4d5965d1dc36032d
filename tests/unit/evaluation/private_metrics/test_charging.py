"""Charge first: the price of measures is in the ledger before a real row is read."""

import numpy as np
import pyarrow as pa
import pytest

from appraised import REAL, SCHEMA, SYNTHETIC, rows
from tabpe.accounting import NeighboringRelation
from tabpe.accounting.ledger import Ledger
from tabpe.errors import BudgetError, DataError, TabpeError
from tabpe.evaluation.private_metrics import appraise
from tabpe.io import Batch
from tabpe.io.source import FrameSource
from tabpe.measurement.histograms import MARGINALS
from tabpe.measurement.reservation import LedgerCharge
from tabpe.verification import verify


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Predict without learning: what is charged does not depend on it."""
    predict = lambda records: np.zeros(len(records), dtype=np.int64)  # noqa: E731
    monkeypatch.setattr(
        "tabpe.evaluation.private_metrics.measure.train_predictor", lambda *_, **__: predict
    )


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_budget("patients", epsilon=1.0, delta=1e-6)
    return ledger


def estimated(ledger, real=REAL, unit=None, **changes):
    usual = {"epsilon": 0.5, "random_state": 0, "charge": LedgerCharge(ledger, "patients", unit)}
    return appraise(real, SYNTHETIC, SCHEMA, unit=unit, **(usual | changes)).measures


def entries(ledger):
    return Ledger(ledger.path).entries("patients")


def states(ledger):
    return [entry.state for entry in entries(ledger)]


def test_a_purchase_is_spent_and_its_certificate_is_known_to_the_ledger(ledger, tmp_path):
    certificate = estimated(ledger).certificate
    (entry,) = entries(ledger)
    assert (entry.state, entry.spends) == ("spent", certificate.spends)
    assert certificate.ledger.entry == entry.id
    path = tmp_path / "measures.certificate.json"
    path.write_text(certificate.to_json())
    assert verify(path, ledger=ledger.path).holds
    assert ledger.spent("patients") == pytest.approx(certificate.epsilon, rel=1e-3)


def test_delta_is_that_of_the_budget_if_nothing_else_says_so(ledger):
    assert estimated(ledger).certificate.delta == 1e-6


def watched(monkeypatch, look):
    """Look at something whenever rows are read."""
    read = FrameSource.batches

    def batches(self, names=None):
        look()
        yield from read(self, names)

    monkeypatch.setattr(FrameSource, "batches", batches)


def test_the_price_is_in_the_ledger_before_the_first_row_is_read(ledger, monkeypatch):
    seen = []
    watched(monkeypatch, lambda: seen.append([(e.state, e.spends) for e in entries(ledger)]))
    certificate = estimated(ledger).certificate
    assert seen == [[("reserved", certificate.spends)]]


def test_rows_are_read_once(ledger, monkeypatch):
    passes = []
    watched(monkeypatch, lambda: passes.append(1))
    estimated(ledger)
    assert len(passes) == 1


def test_what_exceeds_the_budget_is_refused_and_nothing_is_read(ledger, monkeypatch):
    reads = []
    watched(monkeypatch, lambda: reads.append(1))
    with pytest.raises(BudgetError):
        estimated(ledger, epsilon=1.5)
    assert (states(ledger), len(reads)) == ([], 0)


def test_purchases_add_up_to_the_budget(ledger):
    estimated(ledger)
    estimated(ledger)
    with pytest.raises(BudgetError):
        estimated(ledger, epsilon=0.9)
    assert states(ledger) == ["spent", "spent"]


FAILURES = {ValueError: ValueError, KeyboardInterrupt: KeyboardInterrupt, MemoryError: TabpeError}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_between_the_charge_and_the_first_row_is_given_back(ledger, monkeypatch, kind):
    def fail(*_, **__):
        raise kind

    monkeypatch.setattr("tabpe.measurement.histograms.measure_marginals", fail)
    with pytest.raises(FAILURES[kind]):
        estimated(ledger)
    assert states(ledger) == ["refunded"]


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize(
    "place",
    ["tabpe.accounting.ExactNoise.draw", "tabpe.evaluation.private_metrics.measure.certify"],
)
def test_a_failure_after_the_first_row_stays_charged(ledger, monkeypatch, place, kind):
    def fail(*_, **__):
        raise kind

    monkeypatch.setattr(place, fail)
    with pytest.raises(FAILURES[kind]):
        estimated(ledger)
    assert states(ledger) == ["reserved"]


def test_a_real_cell_that_does_not_fit_stops_nothing(ledger):
    estimated(ledger, rows(50, ill=pa.array([None] * 49 + ["secret"])))
    assert states(ledger) == ["spent"]


def test_a_row_that_can_not_be_read_stays_charged(ledger, tmp_path):
    """A file is noticed to be no table only when its rows are read."""
    header, cells = "age,bmi,ward,ill", "31,22.5,lung,true"
    (tmp_path / "real.csv").write_text(f"{header}\n{cells}\n{cells},5\n")
    with pytest.raises(DataError, match=r"real\.csv"):
        estimated(ledger, tmp_path / "real.csv")
    assert states(ledger) == ["reserved"]


def test_a_column_of_lists_costs_nothing(ledger):
    with pytest.raises(DataError, match="column 'ill'"):
        estimated(ledger, rows(50, ill=pa.array([[True]] * 50)))
    assert states(ledger) == []


def test_a_table_without_a_column_costs_nothing(ledger):
    with pytest.raises(DataError, match="bmi"):
        estimated(ledger, REAL.drop_columns("bmi"))
    assert states(ledger) == []


@pytest.fixture
def user_ledger(tmp_path):
    ledger = Ledger(tmp_path / "users.db")
    ledger.set_budget("patients", epsilon=1.0, delta=1e-6, unit="person")
    return ledger


def test_a_table_without_its_users_costs_nothing(user_ledger):
    with pytest.raises(DataError, match="person"):
        estimated(user_ledger, REAL, "person", neighbours=NeighboringRelation(max_rows=2))
    assert states(user_ledger) == []


VISITS = REAL.append_column("person", pa.array([row // 2 for row in range(REAL.num_rows)]))


def test_ids_of_users_are_rows_that_were_read(user_ledger, monkeypatch):
    def fail(*_, **__):
        raise ValueError

    monkeypatch.setattr("tabpe.backends.StoredTable.count_marginals", fail)
    with pytest.raises(ValueError):  # noqa: PT011
        estimated(user_ledger, VISITS, "person", neighbours=NeighboringRelation(max_rows=2))
    assert states(user_ledger) == ["reserved"]


def test_users_are_charged_as_users(user_ledger):
    estimated(user_ledger, VISITS, "person", neighbours=NeighboringRelation(max_rows=2))
    (entry,) = entries(user_ledger)
    assert (entry.state, entry.unit, entry.neighbours.max_rows) == ("spent", "person", 2)
    assert [(item.name, item.times) for item in entry.spends] == [(MARGINALS, 9)]


def test_batches_are_what_is_read():
    """The tests above listen where frames are read."""
    (batch,) = FrameSource(REAL, None).batches(["age"])
    assert isinstance(batch, Batch)
