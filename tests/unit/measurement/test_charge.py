"""Charge first: what is held, given back and settled, and what counts as read."""

import pyarrow as pa
import pytest

from tabpe.accounting import ROW_LEVEL, Spend
from tabpe.accounting.ledger import Ledger
from tabpe.errors import BudgetError, DataError
from tabpe.io import open_source
from tabpe.measurement.reservation import LedgerCharge, WatchedSource

SPENDS = (Spend("votes", 17.0, 15),)
HALF = (Spend("votes", 17.0, 7),)


@pytest.fixture
def charge(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_budget("patients", epsilon=1.0, delta=1e-6)
    return LedgerCharge(ledger, "patients", None)


def held(charge, give_back, run="run"):
    return charge.hold_reservation(run, SPENDS, ROW_LEVEL, give_back)


def states(charge):
    return [entry.state for entry in Ledger(charge.ledger.path).entries("patients")]


def test_the_delta_is_that_of_the_budget(charge):
    assert charge.delta == 1e-6
    assert LedgerCharge(charge.ledger, "visits", None).delta is None


def test_it_is_in_the_ledger_before_the_run_begins(charge):
    with held(charge, lambda: True) as entry:
        assert states(charge) == ["reserved"]
        assert entry.spends == SPENDS


@pytest.mark.parametrize(("unread", "state"), [(True, "refunded"), (False, "reserved")])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_gives_back_only_what_was_not_read(charge, unread, state, failure):
    with pytest.raises(failure), held(charge, lambda: unread):
        raise failure
    assert states(charge) == [state]


def test_a_run_that_ends_well_stays_charged(charge):
    with held(charge, lambda: True):
        pass
    assert states(charge) == ["reserved"]


def test_the_same_run_is_not_charged_again(charge):
    for _ in range(2):
        with held(charge, lambda: False):
            pass
    assert states(charge) == ["reserved"]
    with pytest.raises(BudgetError), held(charge, lambda: False, run="another"):
        pass


def test_a_run_that_was_spent_is_not_given_back(charge):
    with held(charge, lambda: True) as entry:
        pass
    charge.ledger.spend(entry.id, HALF, "a" * 64)
    with pytest.raises(ValueError), held(charge, lambda: True):  # noqa: PT011
        raise ValueError
    assert states(charge) == ["spent"]


class Unreadable:
    """A source whose first batch can not be read as rows."""

    names = ("age",)

    def batches(self, _=None):
        """Fail in the midst of a row."""
        raise DataError("row 1")
        yield


def test_a_source_remembers_that_it_was_read():
    source = WatchedSource(open_source(pa.table({"age": [1, 2]})))
    assert (source.names, source.most_rows, source.was_read) == (["age"], 2, False)
    batches = source.batches(["age"])
    assert not source.was_read
    assert next(batches).table.num_rows == 2
    assert source.was_read


def test_a_row_that_could_not_be_read_was_read_all_the_same():
    source = WatchedSource(Unreadable())
    with pytest.raises(DataError):
        next(source.batches())
    assert source.was_read
