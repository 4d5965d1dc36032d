"""The file: only added to, never silently wrong, and a clear word if it can not be used."""

import hashlib
import json
import os
import sqlite3

import pytest

from ledger_events import BUDGET, RESERVED, forge
from tabpe.accounting import Spend
from tabpe.accounting.ledger import Ledger
from tabpe.accounting.ledger.events import NO_EVENT, dump_canonical
from tabpe.errors import LedgerError

SPENDS = [Spend("votes", 17.0, 15)]


@pytest.fixture
def filled(ledger):
    """A ledger with a budget and three entries: spent, refunded, reserved."""
    ledger.set_budget("patients", epsilon=4, delta=1e-6)
    spent, refunded, _ = (ledger.reserve("patients", SPENDS) for _ in range(3))
    ledger.spend(spent.id, SPENDS, "a" * 64)
    ledger.refund(refunded.id)
    return ledger


def refuses_everything(ledger, match):
    attempts = [
        ledger.book,
        ledger.entries,
        ledger.head,
        ledger.export,
        lambda: ledger.spent("patients"),
        lambda: ledger.left("patients"),
        lambda: ledger.reserve("patients", SPENDS),
        lambda: ledger.set_budget("patients", epsilon=1, delta=1e-6),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match=match) as caught:
            attempt()
        assert caught.value.exit_code == 2
    (problem,) = ledger.verify()
    assert problem.startswith(str(ledger.path))


def test_a_good_ledger_verifies(filled):
    assert filled.verify() == []
    assert filled.verify(head=filled.head()) == []


@pytest.mark.parametrize(
    "statement", ["UPDATE events SET kind = 'refunded'", "DELETE FROM events WHERE seq = 6"]
)
def test_sqlite_itself_refuses_to_change_events(filled, tamper, statement):
    with pytest.raises(sqlite3.IntegrityError, match="only added to"):
        tamper(statement, triggers=True)
    assert filled.verify() == []


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE events SET payload = replace(payload, '17.0', '99.0') WHERE seq = 2", "event 2"),
        ("UPDATE events SET payload = replace(payload, '4.0', '9.0') WHERE seq = 1", "event 1"),
        ("UPDATE events SET time = '1999-01-01T00:00:00+00:00' WHERE seq = 3", "event 3"),
        ("UPDATE events SET kind = 'refunded' WHERE seq = 5", "event 5"),
        ("UPDATE events SET sha256 = previous WHERE seq = 4", "event 4"),
        ("UPDATE events SET previous = sha256 WHERE seq = 4", "event 4"),
        ("DELETE FROM events WHERE seq = 1", "event 2: expected event 1"),
        ("DELETE FROM events WHERE seq = 3", "event 4: expected event 3"),
        ("DELETE FROM events WHERE seq = 6", "after event 5"),
        ("DELETE FROM events", "after event 0"),
        ("UPDATE events SET seq = 7 WHERE seq = 6", "event 7: expected event 6"),
        ("UPDATE events SET payload = x'00ff' WHERE seq = 2", "event 2"),
        ("UPDATE events SET payload = 1e400 WHERE seq = 2", "event 2"),
        ("DELETE FROM head", "after event 6"),
        ("INSERT INTO head SELECT 2, sha256 FROM head", "after event 6"),
    ],
)
def test_a_changed_event_breaks_the_chain_at_its_place(filled, tamper, statement, place):
    tamper(statement)
    refuses_everything(filled, f"(?i){place}")
    assert place in filled.verify()[0].lower()


def test_an_end_that_was_cut_off_on_purpose_shows_against_a_noted_head(filled, tamper):
    head = filled.head()
    tamper(
        "DELETE FROM events WHERE seq = 6",
        "UPDATE head SET sha256 = (SELECT sha256 FROM events WHERE seq = 5)",
    )
    assert filled.verify() == []
    (problem,) = filled.verify(head=head)
    assert "cut off or replaced" in problem


def test_a_head_noted_long_ago_is_still_in_the_chain(ledger):
    assert ledger.head() == NO_EVENT
    ledger.reserve("patients", SPENDS)
    head = ledger.head()
    ledger.reserve("patients", SPENDS)
    assert ledger.verify(head=head) == []
    assert ledger.verify(head=NO_EVENT) == []
    assert ledger.verify(head="b" * 64) != []


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER events_are_not_deleted",
        "DROP TABLE head",
        "CREATE TABLE more (x)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM head; END",
        "PRAGMA journal_mode = WAL",
    ],
)
def test_other_tables_than_those_of_a_ledger_are_refused(filled, tamper, statement):
    tamper(statement, triggers=True)
    refuses_everything(filled, "have been altered")


def spends(**changes):
    return [{**RESERVED["spends"][0], **changes}]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("stolen", {}),
        ("refunded", {"entry": "nobody"}),
        ("refunded", {"entry": ["x"]}),
        ("refunded", {}),
        ("spent", {"entry": "nobody", "spends": [], "certificate_sha256": "a" * 64}),
        ("reserved", "{not json"),
        ("reserved", "[]"),
        ("reserved", '{"a": 1}'),
        ("reserved", '{"a":NaN}'),
        ("reserved", "[" * 100_000),
        ("reserved", '{"a":' + "9" * 5000 + "}"),
        ("reserved", {**RESERVED, "adjacency": "none"}),
        ("reserved", {**RESERVED, "adjacency": []}),
        ("reserved", {**RESERVED, "adjacency": "replace-one"}),
        ("reserved", {**RESERVED, "max_rows_per_user": 10**30, "unit": "u"}),
        ("reserved", {**RESERVED, "unit": "u"}),
        ("reserved", {**RESERVED, "note": None}),
        ("reserved", {**RESERVED, "spends": []}),
        ("reserved", {**RESERVED, "spends": 3}),
        ("reserved", {**RESERVED, "spends": ["votes"]}),
        ("reserved", {**RESERVED, "spends": spends() * 1001}),
        ("reserved", {**RESERVED, "spends": spends(sigma=1e-300)}),
        ("reserved", {**RESERVED, "spends": spends(sigma=1e300)}),
        ("reserved", {**RESERVED, "spends": spends(sigma=10**400)}),
        ("reserved", {**RESERVED, "spends": spends(sigma=-17.0)}),
        ("reserved", {**RESERVED, "spends": spends(sigma=True)}),
        ("reserved", {**RESERVED, "spends": spends(times=0)}),
        ("reserved", {**RESERVED, "spends": spends(times=-15)}),
        ("reserved", {**RESERVED, "spends": spends(times=10**400)}),
        ("reserved", {**RESERVED, "spends": spends(times=1.5)}),
        ("reserved", {**RESERVED, "spends": spends(delta_share=-1e-6)}),
        ("reserved", {**RESERVED, "spends": spends(delta_share=1.0)}),
        ("reserved", {**RESERVED, "spends": spends(name="\n")}),
        ("reserved", {**RESERVED, "spends": spends(extra=1)}),
        ("budget", {**BUDGET, "epsilon": -1.0}),
        ("budget", {**BUDGET, "delta": 1.0}),
        ("budget", {**BUDGET, "delta": 1e-300}),
        ("budget", {**BUDGET, "dataset": ""}),
        ("budget", {**BUDGET, "adjacency": "replace"}),
        ("budget", {**BUDGET, "unit": "person"}),
        ("budget", {key: value for key, value in BUDGET.items() if key != "unit"}),
    ],
)
def test_a_forged_event_that_makes_no_sense_is_refused(filled, kind, content):
    forge(filled.path, kind, content if isinstance(content, str) else dump_canonical(content))
    refuses_everything(filled, "event 7: ")


@pytest.mark.parametrize("time", ["", "\x1b[2J", "9" * 300])
def test_a_time_that_would_spoil_a_terminal_is_refused(filled, time):
    forge(filled.path, "budget", dump_canonical(BUDGET), time)
    refuses_everything(filled, "event 7: time=")


@pytest.mark.parametrize("more", [{"state": "refunded"}, {"closed_at": "now"}, {"id": "x"}])
def test_a_reservation_can_not_arrive_closed(filled, more):
    forge(filled.path, "reserved", dump_canonical({**RESERVED, **more}))
    assert filled.verify() != [] or filled.entry("e").state == "reserved"


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\0" * 500, b"\0"])
def test_a_file_that_is_no_database_is_refused(ledger, content):
    ledger.path.write_bytes(content)
    refuses_everything(ledger, "not a ledger of tabpe, or damaged")
    assert ledger.path.read_bytes() == content


def test_an_empty_file_is_a_damaged_ledger_and_not_a_new_one(filled):
    with filled.path.open("r+b") as file:
        file.truncate(0)
    refuses_everything(filled, "is empty")
    assert filled.path.read_bytes() == b""


def test_a_new_ledger_appears_whole(ledger, monkeypatch):
    """Whoever finds it finds its tables, even if the first event never gets there."""

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tabpe.accounting.ledger.file._insert_event", die)
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve("patients", SPENDS)
    assert ledger.verify() == []
    assert ledger.entries() == ()
    assert [path.name for path in ledger.path.parent.iterdir()] == ["ledger.db"]
    assert ledger.path.stat().st_size > 0


def test_the_database_of_another_program_is_refused_and_left_alone(ledger, tamper):
    tamper("CREATE TABLE events (seq, time, kind, payload, previous, sha256)")
    before = ledger.path.read_bytes()
    refuses_everything(ledger, "not a ledger of tabpe")
    assert ledger.path.read_bytes() == before


def test_a_newer_format_is_refused(filled, tamper):
    tamper("PRAGMA user_version = 2", triggers=True)
    refuses_everything(filled, "format 2, expected 1")


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path):
    refuses_everything(Ledger(tmp_path), "not a file")


@pytest.mark.parametrize("name", ["absent/ledger.db", "x" * 300, "a\0b"])
def test_a_file_that_can_not_be_made_is_refused(tmp_path, name):
    ledger = Ledger(tmp_path / name)
    with pytest.raises(LedgerError, match=r"can not (create the ledger|be opened)"):
        ledger.reserve("patients", SPENDS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_a_pipe_is_refused_and_not_waited_for(ledger):
    os.mkfifo(ledger.path)
    refuses_everything(ledger, "not a file")


def test_a_link_to_nowhere_is_not_followed(ledger, tmp_path):
    ledger.path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerError):
        ledger.reserve("patients", SPENDS)
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_file_that_somebody_holds_is_waited_for_and_then_named(filled, monkeypatch):
    monkeypatch.setattr("tabpe.accounting.ledger.file.PATIENCE", 0.01)
    holder = sqlite3.connect(filled.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError, match="another process has held it"):
        filled.reserve("patients", SPENDS)
    holder.close()
    filled.reserve("patients", SPENDS)


def test_the_path_may_have_any_characters(tmp_path):
    ledger = Ledger(tmp_path / "a ?mode=memory#é%41.db")
    ledger.reserve("patients", SPENDS)
    assert ledger.path.is_file()
    assert ledger.verify() == []


def test_an_error_in_between_leaves_no_event(filled, monkeypatch):
    before = filled.export()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tabpe.accounting.ledger.ledger.is_over_budget", fail)
    with pytest.raises(KeyboardInterrupt):
        filled.reserve("patients", SPENDS)
    assert filled.export() == before


def test_the_export_is_plain_and_its_chain_can_be_checked_by_anybody(filled):
    exported = json.loads(json.dumps(filled.export()))
    previous = NO_EVENT
    for seq, event in enumerate(exported["events"], start=1):
        payload = dump_canonical(event["payload"])
        whole = dump_canonical(
            [event["seq"], event["time"], event["kind"], payload, event["previous"]]
        )
        assert (event["seq"], event["previous"]) == (seq, previous)
        previous = hashlib.sha256(whole.encode()).hexdigest()
        assert event["sha256"] == previous
    assert exported["head"] == previous == filled.head()
    assert [event["kind"] for event in exported["events"]] == [
        "budget", "reserved", "reserved", "reserved", "spent", "refunded",
    ]  # fmt: skip
