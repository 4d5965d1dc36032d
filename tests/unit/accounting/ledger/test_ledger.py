"""Reserve, spend, refund, and the total that is never exceeded."""

import dataclasses
import math

import pytest

from tabpe.accounting import NeighboringRelation, Spend, calibrate_sigma, compose_epsilon
from tabpe.accounting.ledger import Ledger
from tabpe.accounting.neighboring import Adjacency
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.errors import BudgetError, LedgerError, ParameterError

DELTA = 1e-6
DIGEST, OTHER = "a" * 64, "b" * 64
REPLACE = NeighboringRelation(Adjacency.REPLACE_ONE)
USERS = NeighboringRelation(max_rows=5)


def votes(sigma=17.0, times=15, **more):
    return Spend("votes", sigma, times, **more)


def run_of(epsilon, rounds=15):
    return [votes(calibrate_sigma(epsilon, DELTA, rounds), rounds)]


def test_a_new_ledger_is_empty_and_has_no_file(ledger):
    assert ledger.entries() == ()
    assert ledger.budget("patients") is None
    assert ledger.spent("patients") is None
    assert ledger.left("patients") is None
    assert ledger.verify() == []
    assert ledger.export()["events"] == []
    assert not ledger.path.exists()


def test_a_budget_is_kept_with_its_relation(ledger):
    ledger.set_budget("patients", epsilon=2, delta=DELTA, adjacency="replace-one", unit="person")
    budget = Ledger(ledger.path).budget("patients")
    assert (budget.epsilon, budget.delta, budget.unit) == (2.0, DELTA, "person")
    assert budget.adjacency is Adjacency.REPLACE_ONE
    assert budget.set_at.endswith("+00:00")


def test_what_is_reserved_is_there_for_everybody(ledger):
    spends = [votes(delta_share=1e-9), Spend("class counts", 60.0, 1)]
    entry = ledger.reserve("patients", spends, REPLACE, note="first")
    assert Ledger(ledger.path).entry(entry.id) == entry
    assert entry.spends == tuple(spends)
    assert (entry.state, entry.neighbours, entry.note) == ("reserved", REPLACE, "first")
    assert entry.closed_at is None


def test_a_ledger_holds_no_selections(ledger):
    spends = [votes(), Spend("a choice", 4.0, 1, mechanism=EXPONENTIAL)]
    with pytest.raises(ParameterError, match="spends: 'a choice'"):
        ledger.reserve("patients", spends, NeighboringRelation())
    assert ledger.entries() == ()


def test_without_a_budget_runs_are_recorded_and_not_limited(ledger):
    for _ in range(3):
        ledger.reserve("patients", [votes(0.5)])
    assert len(ledger.entries("patients")) == 3
    assert ledger.spent("patients") is None


def test_what_is_spent_is_composed_at_once_and_epsilons_are_not_added_up(ledger):
    ledger.set_budget("patients", epsilon=3, delta=DELTA)
    for _ in range(2):
        ledger.reserve("patients", run_of(1.0))
    together = compose_epsilon([votes(run_of(1.0)[0].sigma, 30)], DELTA, adaptive=True)
    assert ledger.spent("patients") == pytest.approx(together, rel=1e-6)
    assert 1.3 < ledger.spent("patients") < 1.6


def test_a_run_over_the_total_is_refused_with_what_is_left(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    ledger.reserve("patients", run_of(0.8))
    left = ledger.left("patients")
    with pytest.raises(BudgetError, match=rf"'patients'.*{left:g} is left") as caught:
        ledger.reserve("patients", run_of(0.8))
    assert caught.value.exit_code == 3
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("rounds", [1, 4, 15, 100])
@pytest.mark.parametrize("taken", [0.05, 0.3, 0.9])
def test_what_is_said_to_be_left_can_be_had_and_hardly_more(ledger, taken, rounds):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    ledger.reserve("patients", run_of(taken))
    left = ledger.left("patients")
    with pytest.raises(BudgetError):
        ledger.reserve("patients", run_of(left * 1.03, rounds))
    ledger.reserve("patients", run_of(left, rounds))
    assert ledger.spent("patients") <= 1


def test_the_whole_of_a_budget_can_be_had_at_once(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    assert ledger.left("patients") == 1
    ledger.reserve("patients", run_of(1.0))
    assert ledger.left("patients") < 0.05


def test_data_sets_have_budgets_of_their_own(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    ledger.set_budget("visits", epsilon=1, delta=DELTA)
    for name in ("patients", "visits"):
        ledger.reserve(name, run_of(0.9))
    assert len(ledger.entries("visits")) == 1
    assert ledger.spent("visits") == ledger.spent("patients")


def test_a_reservation_counts_until_it_is_refunded(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    entry = ledger.reserve("patients", run_of(0.9))
    assert ledger.refund(entry.id).state == "refunded"
    assert ledger.spent("patients") == 0
    ledger.reserve("patients", run_of(0.9))


def test_the_actual_list_of_spends_takes_the_place_of_the_reserved_one(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    entry = ledger.reserve("patients", [votes(20.0, 15)])
    spent = ledger.spend(entry.id, [votes(20.0, 4)], DIGEST)
    assert (spent.state, spent.certificate_sha256) == ("spent", DIGEST)
    assert ledger.entry(entry.id) == spent
    expected = compose_epsilon([votes(20.0, 4)], DELTA)
    assert ledger.spent("patients") == pytest.approx(expected, rel=1e-6)


def test_spending_again_with_the_same_certificate_changes_nothing(ledger):
    entry = ledger.reserve("patients", [votes()])
    first = ledger.spend(entry.id, [votes()], DIGEST)
    head = ledger.head()
    assert ledger.spend(entry.id, [votes()], DIGEST) == first
    assert ledger.head() == head


@pytest.mark.parametrize(("spends", "digest"), [([votes()], OTHER), ([votes(times=1)], DIGEST)])
def test_spending_again_otherwise_is_refused(ledger, spends, digest):
    entry = ledger.reserve("patients", [votes()])
    ledger.spend(entry.id, [votes()], DIGEST)
    with pytest.raises(LedgerError, match="is spent: expected reserved"):
        ledger.spend(entry.id, spends, digest)


def test_what_was_measured_beyond_the_reservation_is_recorded_and_then_refused(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    entry = ledger.reserve("patients", run_of(0.9))
    with pytest.raises(BudgetError, match="is recorded: release nothing"):
        ledger.spend(entry.id, run_of(1.5), DIGEST)
    assert ledger.entry(entry.id).state == "spent"
    assert ledger.spent("patients") > 1.4
    assert ledger.left("patients") == 0


def test_what_was_measured_beyond_the_reservation_within_the_total_is_fine(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    entry = ledger.reserve("patients", run_of(0.5))
    assert ledger.spend(entry.id, run_of(0.9), DIGEST).state == "spent"


def test_a_reservation_can_be_spent_though_the_total_was_lowered_meanwhile(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    entry = ledger.reserve("patients", run_of(0.9))
    ledger.set_budget("patients", epsilon=0.5, delta=DELTA)
    ledger.spend(entry.id, entry.spends, DIGEST)
    assert ledger.spent("patients") > ledger.budget("patients").epsilon
    assert ledger.left("patients") == 0
    with pytest.raises(BudgetError, match="0 is left"):
        ledger.reserve("patients", run_of(0.01))


@pytest.mark.parametrize("close", ["spend", "refund"])
def test_what_is_closed_can_not_be_refunded(ledger, close):
    entry = ledger.reserve("patients", [votes()])
    if close == "spend":
        ledger.spend(entry.id, [votes()], DIGEST)
    else:
        ledger.refund(entry.id)
    with pytest.raises(LedgerError, match="expected reserved"):
        ledger.refund(entry.id)
    with pytest.raises(LedgerError, match="expected reserved"):
        ledger.spend(entry.id, [votes(times=2)], OTHER)


def test_an_unknown_entry_is_refused(ledger):
    for attempt in (ledger.refund, ledger.entry):
        with pytest.raises(LedgerError, match="entry 'nobody': not in this ledger"):
            attempt("nobody")


def test_a_run_for_another_relation_is_refused_with_what_to_pass(ledger):
    ledger.set_budget("patients", epsilon=1, delta=DELTA)
    with pytest.raises(LedgerError, match=r"Set a budget that fits: .*adjacency='replace-one'\)"):
        ledger.reserve("patients", [votes()], REPLACE)
    with pytest.raises(LedgerError, match="this run is for add-remove, users by 'person'"):
        ledger.reserve("patients", [votes()], USERS, unit="person")
    ledger.set_budget("visits", epsilon=1, delta=DELTA, unit="person")
    with pytest.raises(LedgerError, match="unit='person'"):
        ledger.reserve("visits", [votes()])
    with pytest.raises(LedgerError, match=r"Set a budget that fits: .*unit='ward'"):
        ledger.reserve("visits", [votes()], USERS, unit="ward")
    assert ledger.entries() == ()


def test_a_budget_for_another_relation_than_what_was_spent_is_refused(ledger):
    entry = ledger.reserve("patients", [votes()], REPLACE)
    with pytest.raises(LedgerError, match="this run is for replace-one"):
        ledger.set_budget("patients", epsilon=1, delta=DELTA)
    ledger.refund(entry.id)
    ledger.set_budget("patients", epsilon=1, delta=DELTA)


def test_an_add_remove_run_counts_twice_the_distance_under_replace_one(ledger):
    ledger.set_budget("patients", epsilon=2, delta=DELTA, adjacency="replace-one")
    ledger.reserve("patients", [votes()])
    expected = compose_epsilon([votes()], DELTA, REPLACE)
    assert ledger.spent("patients") == pytest.approx(expected, rel=1e-6)


def test_users_compose_whatever_number_of_their_rows_counts(ledger):
    ledger.set_budget("patients", epsilon=5, delta=DELTA, unit="person")
    for rows in (1, 5, 100):
        ledger.reserve("patients", [votes()], NeighboringRelation(max_rows=rows), unit="person")
    expected = compose_epsilon([votes(times=45)], DELTA, USERS)
    assert ledger.spent("patients") == pytest.approx(expected, rel=1e-6)


def test_noise_on_users_that_is_too_little_to_account_for_is_over_any_budget(ledger):
    ledger.set_budget("patients", epsilon=1e4, delta=DELTA, unit="person")
    with pytest.raises(BudgetError, match="epsilon inf"):
        ledger.reserve("patients", [votes(0.4, 1)], USERS, unit="person")


def test_probabilities_of_all_runs_come_off_the_one_delta(ledger):
    ledger.set_budget("patients", epsilon=9, delta=DELTA)
    item = votes(times=1, delta_share=4e-7)
    ledger.reserve("patients", [item])
    ledger.reserve("patients", [item])
    expected = compose_epsilon([votes(times=2)], DELTA - 8e-7, adaptive=True)
    assert ledger.spent("patients") == pytest.approx(expected, rel=1e-6)
    with pytest.raises(BudgetError, match="epsilon inf"):
        ledger.reserve("patients", [item])


def test_probabilities_for_users_count_for_each_of_their_rows(ledger):
    ledger.set_budget("patients", epsilon=9, delta=DELTA, unit="person")
    ledger.reserve("patients", [votes(times=1, delta_share=1e-7)], USERS, unit="person")
    with pytest.raises(BudgetError, match="epsilon inf"):
        ledger.reserve("patients", [votes(times=1, delta_share=1e-7)], USERS, unit="person")


def test_noise_of_users_comes_off_the_one_delta(ledger, monkeypatch):
    ledger.set_budget("patients", epsilon=2, delta=DELTA)
    ledger.reserve("patients", [votes()])
    exact = ledger.spent("patients")
    monkeypatch.setattr(NeighboringRelation, "sampling_error", 1e-9)
    taken = 15e-9 * (1 + math.exp(ledger.spent("patients")))
    expected = compose_epsilon([votes()], DELTA - taken)
    assert ledger.spent("patients") == pytest.approx(expected, rel=1e-6)
    assert ledger.spent("patients") > exact
    monkeypatch.setattr(NeighboringRelation, "sampling_error", 1e-6)
    with pytest.raises(BudgetError):
        ledger.reserve("patients", [votes(1000.0, 1)])


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines", "\ud800", "bell\a", None, 3])
def test_a_name_is_text_that_people_can_read(ledger, name):
    with pytest.raises(ParameterError, match="dataset="):
        ledger.reserve(name, [votes()])
    with pytest.raises(ParameterError, match="dataset="):
        ledger.set_budget(name, epsilon=1, delta=DELTA)
    assert not ledger.path.exists()


def test_a_name_is_the_same_however_its_characters_are_composed(ledger):
    ledger.set_budget("caf\u00e9", epsilon=1, delta=DELTA)
    assert ledger.budget("cafe\u0301") is not None


@pytest.mark.parametrize(
    "spends",
    [[], [votes(1e-4)], [votes(1e6)], [votes(times=10**6)], [Spend("a\nb", 1.0, 1)]],
)
def test_a_list_of_spends_that_no_run_has_is_refused(ledger, spends):
    with pytest.raises(ParameterError, match="spends"):
        ledger.reserve("patients", spends)


@pytest.mark.parametrize("digest", ["", "a" * 63, "A" * 64, None, 7])
def test_a_certificate_hash_is_a_sha256(ledger, digest):
    entry = ledger.reserve("patients", [votes()])
    with pytest.raises(ParameterError, match="certificate_sha256"):
        ledger.spend(entry.id, [votes()], digest)
    assert ledger.entry(entry.id).state == "reserved"


@pytest.mark.parametrize(("neighbours", "unit"), [(USERS, None), (NeighboringRelation(), "person")])
def test_users_have_a_column_and_rows_have_none(ledger, neighbours, unit):
    with pytest.raises(ParameterError, match="unit="):
        ledger.reserve("patients", [votes()], neighbours, unit=unit)


def test_entries_are_values(ledger):
    entry = ledger.reserve("patients", [votes()])
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.state = "refunded"


def test_the_ledger_of_the_user_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr("sys.platform", "linux")
    ledger = Ledger()
    ledger.reserve("patients", [votes()])
    assert ledger.path == tmp_path / "share" / "tabpe" / "ledger.db"
    assert ledger.path.parent.stat().st_mode & 0o777 == 0o700
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in ledger.path.parent.iterdir()] == ["ledger.db"]


def test_a_run_with_a_name_is_reserved_once(ledger):
    first = ledger.reserve("patients", [votes()], entry_id="a run")
    assert ledger.reserve("patients", [votes()], entry_id="a run") == first
    assert len(ledger.entries()) == 1


def test_a_refunded_run_is_not_taken_for_a_reserved_one(ledger):
    """Else it would read without a charge."""
    ledger.reserve("patients", [votes()], entry_id="a run")
    ledger.refund("a run")
    with pytest.raises(LedgerError, match="already exists"):
        ledger.reserve("patients", [votes()], entry_id="a run")
