"""Markers of the private table are searched in all that the studio says and leaves behind.

They may be in responses that are for the custodian and say so, and in the state of the project,
which has the schema as it was drafted. Nowhere else: no address, title, header, log or file.
Exact counts in what a run leaves behind are searched in `tests/invariants`: it is the same command.
"""

import re

import pyarrow.csv
import pytest

from planted import RARE, SCHEMA, digests, pieces, table
from searching import files_of
from studios import CHECKLIST, fake_report, read_alert
from tabpe.studio.project import STATE

# Pages that show private figures or the draft, and say so.
FOR_THE_CUSTODIAN = ("data/preview", "schema/check", "protect/shares")
MARK = "PRIVATE"


@pytest.fixture
def planted(desk):
    """A desk with the planted table, chosen as a file."""
    pyarrow.csv.write_csv(table(), desk.folder / "planted.csv")
    SCHEMA.save(desk.folder / "planted.yaml")
    desk.studio.upload_bytes = 2**24
    answer = desk.post("data/file", address="planted.csv")
    assert answer.status_code == 303, read_alert(answer)
    return desk


def find_markers(evidence, more=()):
    """Return what of the private table is in the evidence, a line each."""
    wanted = pieces() | dict(more)
    return [
        f"{what} in {name}"
        for name, content in evidence.items()
        for what, piece in wanted.items()
        if piece in content
    ]


def list_said(desk):
    """What every response says beside its body: address, headers, title."""
    said = {}
    for number, answer in enumerate(desk.heard):
        title = re.search(r"<title>(.*?)</title>", answer.text)
        head = f"{answer.request.url}\n{answer.headers}\n{title and title[0]}"
        said[f"head {number} of {answer.request.url.path}"] = head.encode()
    return said


def list_bodies(desk):
    """The bodies of all responses that are not for the custodian alone."""
    return {
        f"body {number} of {answer.request.url.path}": answer.content
        for number, answer in enumerate(desk.heard)
        if not str(answer.request.url.path).endswith(FOR_THE_CUSTODIAN)
    }


def test_the_search_finds_what_is_shown_to_the_custodian(planted):
    """A search that finds nothing anywhere would prove nothing."""
    planted.get("schema")
    assert RARE.encode() in planted.heard[-1].content
    assert find_markers(list_bodies(planted))
    assert find_markers(files_of(planted.studio.project.folder))


def test_private_responses_say_so_and_are_not_kept(planted):
    planted.get("data/preview")
    planted.post("schema/check")
    planted.post("protect/shares", unit="person", bound="3")
    for answer in planted.heard[-3:]:
        assert answer.status_code == 200
        assert MARK in answer.text
        assert answer.headers["cache-control"] == "no-store"


def test_a_whole_release_leaves_no_marker(planted, capfd):
    desk = planted
    content = (desk.folder / "planted.yaml").read_bytes()
    desk.heard.clear()  # the draft is public from here on
    assert desk.post("schema/import", files={"file": ("s.yaml", content)}).status_code == 303
    for page in ("data", "data/preview", "schema", "protect", "budget", "run", "history"):
        desk.get(page)
    desk.post("schema/check")
    desk.post("protect/shares", unit="person", bound="3")
    desk.post("protect/save", protects="rows")
    desk.post("budget/total", dataset="planted", total="12", total_delta="1e-6")
    budget = {"dataset": "planted", "epsilon": "1", "delta": "1e-6", "rows": "5000"}
    desk.post("budget/save", **budget)
    desk.post("run/start")
    status = desk.wait_for_run()
    assert status.state == "done", status.words
    desk.get("run")
    desk.get("run/progress")
    fake_report(desk)
    asked = {"purpose": "Teaching", "contact": "Office", "requested_by": "Ann Lee"}
    assert desk.post("release/ask", **asked, **CHECKLIST).status_code == 303
    answer = desk.post("release/approve", approved_by="Bo Ek", **CHECKLIST)
    assert answer.status_code == 303, read_alert(answer)
    for page in ("release", "release/document/sheet", "release/document/public", "history"):
        assert desk.get(page).status_code == 200
    files = files_of(desk.studio.project.folder) | files_of(desk.folder / "home")
    files.pop(STATE)
    spoken = dict(zip(("stdout", "stderr"), map(str.encode, capfd.readouterr()), strict=True))
    evidence = list_said(desk) | list_bodies(desk) | files | spoken
    unkeyed = digests(desk.folder / "planted.csv")
    assert len(evidence) > 60
    assert find_markers(evidence, unkeyed) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"path": "data/file", "address": "planted.csv", "table": "t"},
        {"path": "protect/shares", "unit": "nothing", "bound": "3"},
        {"path": "schema/rules", "rules": "ward == 'x'"},
        {"path": "data/layout", "delimiter": "|"},
        {"path": "data/layout", "encoding": "utf-16"},
    ],
)
def test_an_error_shows_no_cell(planted, fields):
    planted.heard.clear()
    answer = planted.post(**fields)
    shown = re.findall(r'role="alert">(.*?)</', answer.text, re.DOTALL)
    assert find_markers({"alerts": "\n".join(shown).encode(), **list_said(planted)}) == []
