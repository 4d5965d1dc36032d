"""A run on the disk: what is remembered, and what is refused."""

import json

import numpy as np
import pytest

import measuring
from measuring import Terms, open_session
from tabpe._utils.serialization import Archive
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, Spend
from tabpe.backends import StoredTable
from tabpe.encoding import Marginal, Records
from tabpe.errors import ArchiveError, BudgetError, OutputError, ParameterError, TabpeError
from tabpe.measurement import NoisyCounts
from tabpe.measurement.checkpoint import (
    MeasurementJournal,
    RunFolder,
    RunInfo,
    archive_measurement,
    compute_code_digest,
    restore_measurement,
)

RUN = RunInfo("an id", 7, "2026-01-01T00:00:00+00:00")
IDENTITY = {"configuration": {"epsilon": 1.0, "cuts": (1, 2)}, "schema": "ab"}


@pytest.fixture
def folder(tmp_path):
    opened = RunFolder(tmp_path / "run", RUN, IDENTITY)
    yield opened
    opened.close()


def reopened(path, identity=IDENTITY):
    return RunFolder(path, RunInfo.begin_run(None), identity)


def measured(*parts, name="votes", sigma=2.5, times=1, scale=1):
    return NoisyCounts(
        [np.array(part, dtype=np.int64) for part in parts], Spend(name, sigma, times), scale
    )


def test_a_run_keeps_its_name_seed_and_start(folder, tmp_path):
    folder.close()
    again = reopened(tmp_path / "run")
    assert again.run == RUN
    again.close()


def test_the_folder_is_for_its_owner_alone(folder, tmp_path):
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert (tmp_path / "run" / "run.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("part", list(IDENTITY))
def test_a_changed_part_is_refused_by_its_name(folder, tmp_path, part):
    folder.close()
    with pytest.raises(ParameterError, match=f"another {part}"):
        reopened(tmp_path / "run", IDENTITY | {part: "other"})
    reopened(tmp_path / "run").close()  # and the folder is free again


def test_two_processes_do_not_work_in_one_folder(folder, tmp_path):
    with pytest.raises(OutputError, match="another process"):
        reopened(tmp_path / "run")


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(OutputError, match="holds other files"):
        reopened(tmp_path)


@pytest.mark.parametrize(
    "head", ["", "{}", "[]", '{"format": 2}', '{"format": 1, "run": {"id": 1}}', "\x00"]
)
def test_a_damaged_head_is_refused(tmp_path, head):
    (tmp_path / "run.json").write_text(head)
    with pytest.raises(ArchiveError, match="not the head"):
        reopened(tmp_path)


def test_another_table_is_refused(folder):
    folder.check_fingerprint("a")
    folder.check_fingerprint("a")
    with pytest.raises(ParameterError, match="not the one"):
        folder.check_fingerprint("b")


def test_measurements_without_a_fingerprint_are_refused(folder):
    folder.save_measurement("votes", 1, archive_measurement(measured([1, 2])))
    with pytest.raises(ArchiveError, match="fingerprint"):
        folder.check_fingerprint("a")


def test_a_measurement_comes_back_as_it_was(folder):
    given = measured([1, -2, 3], [], [4], times=7, scale=16)
    folder.save_measurement("class counts", 3, archive_measurement(given))
    found = restore_measurement(folder.load_measurement("class counts", 3))
    assert [part.tolist() for part in found.values] == [[1, -2, 3], [], [4]]
    assert (found.item, found.scale) == (given.item, 16)
    assert folder.load_measurement("class counts", 2) is None


def test_a_measurement_is_never_overwritten(folder):
    folder.save_measurement("votes", 1, archive_measurement(measured([1])))
    with pytest.raises(OutputError, match="exists"):
        folder.save_measurement("votes", 1, archive_measurement(measured([2])))
    assert restore_measurement(folder.load_measurement("votes", 1)).values[0].tolist() == [1]


TEXT = {"name": "votes", "sigma": 1.0, "times": 1, "scale": 1}
COUNTS = np.zeros(3, dtype=np.int64)


@pytest.mark.parametrize(
    "archive",
    [
        Archive({}, {}),
        Archive(TEXT, {}),
        Archive(TEXT, {"0": np.zeros(3)}),
        Archive(TEXT, {"1": COUNTS}),
        Archive(TEXT | {"sigma": -1.0}, {"0": COUNTS}),
        Archive(TEXT | {"times": 0}, {"0": COUNTS}),
        Archive(TEXT | {"times": 1.5}, {"0": COUNTS}),
        Archive(TEXT | {"times": "1"}, {"0": COUNTS}),
        Archive({"name": "votes", "sigma": 1.0, "scale": 1}, {"0": COUNTS}),
    ],
)
def test_a_damaged_measurement_is_refused(archive):
    with pytest.raises(ArchiveError, match="damaged"):
        restore_measurement(archive)


NAMES = [
    "votes",
    *(f"votes, round {number}" for number in (1, 2, 3, 10, 12, 123)),
    *("columns", "columns by class", "class counts", "row count", "user count"),
    *("kinds of columns", "bounds, powers of two", "bounds, bins", "categories"),
]


def test_every_name_and_place_has_a_file_of_its_own(folder, tmp_path):
    for name in NAMES:
        for place in (1, 2, 3):
            folder.save_measurement(name, place, archive_measurement(measured([place], name=name)))
    for name in NAMES:
        for place in (1, 2, 3):
            found = restore_measurement(folder.load_measurement(name, place))
            assert (found.item.name, found.values[0].tolist()) == (name, [place])
    assert len(list((tmp_path / "run").glob("*.measured"))) == 3 * len(NAMES)


@pytest.mark.parametrize("tilted", [False, True])
def test_files_stand_in_the_order_of_rounds(folder, tmp_path, tilted):
    for number in range(1, 31):
        name, place = (f"votes, round {number}", 1) if tilted else ("votes", number)
        folder.save_measurement(name, place, archive_measurement(measured([number], name=name)))
    folder.save_measurement(
        "class counts", 1, archive_measurement(measured([0], name="class counts"))
    )
    files = sorted((tmp_path / "run").glob("*votes*.measured"))
    rounds = [restore_measurement(Archive.load(file)).values[0][0] for file in files]
    assert rounds == list(range(1, 31))


VOTES = Spend("votes", 2.5, 2)


def account(times=2, *, name="votes", sigma=2.5):
    opened = Account()
    opened.authorize(Spend(name, sigma, times))
    return opened


def test_a_journal_measures_once_and_charges_every_time(folder):
    def never():
        raise AssertionError

    first, second = account(), account()

    def measure():
        first.charge("votes")
        return measured([5])

    assert MeasurementJournal(first, folder).measure_once(VOTES, measure).values[0].tolist() == [5]
    assert MeasurementJournal(second, folder).measure_once(VOTES, never).values[0].tolist() == [5]
    assert second.spent == first.spent == (Spend("votes", 2.5, 1),)


@pytest.mark.parametrize("charges", [0, 1, 3])
def test_what_is_forgone_is_charged_to_the_last_and_then_nothing(folder, charges):
    opened = account(times=3)
    for _ in range(charges):
        opened.charge("votes")
    session = open_session(StoredTable([]), Terms(opened, FakeNoise(0)))
    for _ in range(2):
        session.charge_unused(*opened.authorized)
        assert opened.spent == opened.authorized


def test_a_journal_of_a_spent_run_measures_nothing(folder):
    """A folder that lost a measurement, or an old copy of one, would be charged for nothing."""
    read = []
    journal = MeasurementJournal(account(), folder, is_closed=True)
    with pytest.raises(BudgetError, match="is spent in the ledger"):
        journal.measure_once(VOTES, lambda: read.append(1) or measured([5]))
    with pytest.raises(BudgetError, match="is spent in the ledger"):
        ask_once(MeasurementJournal(asked(), folder, is_closed=True), lambda: read.append(1))
    assert read == []


def test_a_journal_remembers_rounds_in_their_order(folder):
    journal = MeasurementJournal(account(), folder)
    for number in (5, 6):
        journal.measure_once(VOTES, lambda number=number: measured([number]))
    again = MeasurementJournal(account(), folder)
    assert [again.measure_once(VOTES, list).values[0].tolist() for _ in range(2)] == [[5], [6]]


def test_a_journal_refuses_what_was_measured_under_other_noise(folder):
    folder.save_measurement("votes", 1, archive_measurement(measured([5], sigma=2.0)))
    with pytest.raises(ArchiveError, match="another measurement"):
        MeasurementJournal(account(), folder).measure_once(VOTES, list)


def test_what_was_charged_several_times_is_charged_as_often_again(folder):
    """A histogram in which a row has four votes, in each of two rounds."""
    first, second = account(times=8), account(times=8)

    def measure():
        for _ in range(4):
            first.charge("votes")
        return measured([5], times=4)

    journal, again = MeasurementJournal(first, folder), MeasurementJournal(second, folder)
    for _ in range(2):
        journal.measure_once(VOTES, measure, times=4)
        found = again.measure_once(VOTES, list, times=4)
        assert (found.values[0].tolist(), found.item.times) == ([5], 4)
        assert second.spent == first.spent
    assert second.spent == second.authorized


def soft_votes(tables, account):
    engine = StoredTable(tables, category_weight=1 / 3)
    candidates = [Records(np.arange(6)[:, None] / 5, np.zeros((6, 0), dtype=np.uint8))]
    return measuring.measure_votes(
        engine, candidates, account, FakeNoise(0), votes_per_row=4, name="asked"
    )


def columns(tables, account):
    terms = Terms(account, FakeNoise(0), ROW_LEVEL)
    whole = Marginal(())
    return measuring.measure_marginal_counts(StoredTable(tables), [whole] * 4, terms, "asked")


@pytest.mark.parametrize("ask", [soft_votes, columns])
def test_a_run_that_goes_on_reads_nothing_again_and_has_the_same_spends(folder, ask):
    def once(tables):
        opened = account(times=4, name="asked")
        found = MeasurementJournal(opened, folder).measure_once(
            Spend("asked", 2.5, 4), lambda: ask(tables, opened), times=4
        )
        assert opened.spent == opened.authorized == (found.item,)
        return [part.tolist() for part in found.values]

    def never():
        raise AssertionError
        yield

    rows = Records(np.array([[0.1], [0.9]], dtype=np.float32), np.zeros((2, 0), dtype=np.uint8))
    assert once([(rows, np.zeros(2, dtype=np.int64))]) == once(never())


@pytest.mark.parametrize(("then", "now"), [(1, 4), (4, 1), (4, 3)])
def test_a_journal_refuses_what_was_charged_another_number_of_times(folder, then, now):
    folder.save_measurement("votes", 1, archive_measurement(measured([5], times=then)))
    opened = account(times=12)
    with pytest.raises(ArchiveError, match="another measurement"):
        MeasurementJournal(opened, folder).measure_once(VOTES, list, times=now)
    assert [item.times for item in opened.spent] == [now]


def test_a_journal_does_not_go_beyond_what_was_agreed_on(folder):
    folder.save_measurement("votes", 1, archive_measurement(measured([5], times=4)))
    with pytest.raises(BudgetError, match="used up"):
        MeasurementJournal(account(times=3), folder).measure_once(VOTES, list, times=4)


def test_a_measurement_that_was_not_charged_as_often_as_it_should_is_not_remembered(folder):
    with pytest.raises(TabpeError, match="4 times"):
        MeasurementJournal(account(times=4), folder).measure_once(
            VOTES, lambda: measured([5]), times=4
        )
    assert folder.load_measurement("votes", 1) is None


def test_a_journal_takes_no_measurement_for_another_whose_file_has_its_name(folder):
    """Names that differ by more than words and numbers could share one."""
    folder.save_measurement(
        "votes round 3", 1, archive_measurement(measured([5], name="votes round 3"))
    )
    with pytest.raises(ArchiveError, match="another measurement"):
        MeasurementJournal(account(name="votes, round 3"), folder).measure_once(
            Spend("votes, round 3", 2.5, 2), list
        )


def ask_once(journal, ask):
    """Ask for the only thing that was authorized."""
    return journal.ask_once(*journal.account.authorized, ask)


def asked(sigma=2.5, times=3):
    opened = Account()
    opened.authorize(Spend("categories", sigma, times, delta_share=1e-9))
    return opened


def test_an_answer_is_asked_for_once_and_charged_every_time(folder):
    answer = {"ward": [["heart", 12.5]]}
    first, second = asked(), asked()
    assert ask_once(MeasurementJournal(first, folder), lambda: answer) == answer
    assert ask_once(MeasurementJournal(second, folder), list) == answer
    assert second.spent == second.authorized


def test_an_answer_under_other_noise_is_refused(folder):
    ask_once(MeasurementJournal(asked(), folder), dict)
    for other in (asked(sigma=2.0), asked(times=4)):
        with pytest.raises(ArchiveError, match="another measurement"):
            ask_once(MeasurementJournal(other, folder), list)


def test_a_damaged_answer_is_refused(folder):
    item = asked().authorized[0].to_dict()
    folder.save_measurement("categories", 1, Archive({"item": item, "answer": [1]}, {}))
    with pytest.raises(ArchiveError, match="another measurement"):
        ask_once(MeasurementJournal(asked(), folder), list)


def test_a_measurement_is_on_the_disk_before_it_is_seen(folder, tmp_path):
    seen = []
    journal = MeasurementJournal(account(), folder)
    journal.measure_once(VOTES, lambda: seen.extend((tmp_path / "run").iterdir()) or measured([5]))
    assert not any(path.suffix == ".measured" for path in seen)
    assert (tmp_path / "run" / "votes-001.measured").exists()


def test_without_a_folder_nothing_is_remembered():
    journal = MeasurementJournal(account(), None)
    assert journal.measure_once(VOTES, lambda: measured([5])).values[0].tolist() == [5]


def test_the_digest_of_the_code_is_one_of_it():
    assert compute_code_digest() == compute_code_digest()
    assert len(compute_code_digest()) == 64


def test_the_head_holds_nothing_but_what_is_public(folder, tmp_path):
    head = json.loads((tmp_path / "run" / "run.json").read_text())
    assert set(head) == {"format", "run", "identity"}
