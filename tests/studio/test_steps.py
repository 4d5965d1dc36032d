"""The pages from a file to a release, without a browser: what they do, refuse and keep."""

import json
import os
import signal
import time

import pytest

from messy_exports import EXPORTS
from studios import CHECKLIST, PATIENCE, fake_report, make_hold, read_alert
from tabpe.accounting.ledger import Ledger
from tabpe.errors import OutputError
from tabpe.studio.jobs import PROCESS
from tabpe.studio.project import Project, ProjectState
from tabpe.studio.steps import get_run_job
from tabpe.verification import verify


def test_the_first_page_is_the_first_step_that_is_open(desk):
    assert desk.get("").headers["location"].endswith("/data")
    desk.post("data/example")
    assert desk.get("").headers["location"].endswith("/protect")


@pytest.mark.parametrize("make", EXPORTS, ids=lambda make: make.__name__)
def test_a_messy_export_gets_a_schema_with_every_column(desk, make):
    export = make()
    export.write(desk.folder)
    desk.studio.upload_bytes = 2**24
    answer = desk.post("data/file", address=export.file)
    assert answer.status_code == 303, read_alert(answer)
    found = {
        entry["name"]: "drop" if "drop" in entry else entry["type"]
        for entry in desk.state.schema["columns"]
    }
    for name, kind in export.kinds.items():
        assert found[name] in ((kind,) if isinstance(kind, str) else kind), name
    assert desk.state.proposed_unit == export.unit
    assert desk.get("schema").status_code == 200
    assert desk.get("data/preview").status_code == 200
    before = desk.state  # and a form that is saved as it is changes nothing
    assert desk.post("schema/save", **form_of(desk)).status_code == 303
    assert desk.state == before


def form_of(desk, **changes):
    """The form of the schema as the page shows it, with changes."""
    from tabpe.studio.entries import list_forms

    fields = {}
    for one in list_forms(desk.state.schema, {}):
        n = one.place
        fields |= {f"choice-{n}": one.choice, f"type-{n}": one.type, f"yaml-{n}": one.yaml}
        if one.has_bounds:
            fields |= {f"min-{n}": one.min, f"max-{n}": one.max}
        if one.has_values:
            fields |= {f"values-{n}": one.values}
        if one.nullable:
            fields |= {f"nullable-{n}": "1"}
    return fields | {name.replace("_", "-"): value for name, value in changes.items()}


def entry_of(desk, place):
    return desk.state.schema["columns"][place]


def test_choices_bounds_and_values_are_saved_and_undone(desk):
    desk.post("data/file", address="visits.csv")
    drafted = desk.state.schema
    changes = {"choice_0": "public", "min_0": "0", "max_0": "120", "choice_2": "estimate"}
    changes |= {"choice_5": "drop", "choice_1": "public", "values_1": "female\nmale\nelse"}
    assert desk.post("schema/save", **form_of(desk, **changes)).status_code == 303
    assert entry_of(desk, 0) == {
        "name": "age", "type": "integer", "min": 0, "max": 120, "source": "public",
    }  # fmt: skip
    assert entry_of(desk, 1)["values"] == ["female", "male", "else"]
    assert entry_of(desk, 2) == {"name": "ward", "type": "categorical", "source": "public"}
    assert entry_of(desk, 5)["drop"]
    assert desk.post("schema/save", **form_of(desk, choice_5="public")).status_code == 303
    # As it was drafted, from the data: so it is to be decided again.
    assert (entry_of(desk, 5)["type"], entry_of(desk, 5)["source"]) == ("float", "data")
    desk.post("schema/undo")
    desk.post("schema/undo")
    assert desk.state.schema == drafted


def test_all_fields_can_be_written_as_yaml(desk):
    desk.post("data/file", address="visits.csv")
    written = "type: integer\nmin: 0\nmax: 120\nscale: log\nsource: public"
    assert desk.post("schema/save", **form_of(desk, yaml_3=written)).status_code == 303
    assert entry_of(desk, 3)["scale"] == "log"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"choice_0": "public", "min_0": "many"}, "number"),
        ({"choice_0": "public", "min_0": "9", "max_0": "1"}, "age"),
        ({"choice_0": "maybe"}, "choose one"),
        ({"choice_0": "public", "type_0": "money"}, "type"),
        ({"yaml_0": "type: ["}, "age"),
        ({"yaml_0": "type: integer\nmim: 3"}, "mim"),
        ({"choice_1": "public", "values_1": ""}, ""),
    ],
)
def test_a_wrong_form_is_refused_with_what_was_typed(desk, changes, words):
    desk.post("data/file", address="visits.csv")
    before = desk.state
    answer = desk.post("schema/save", **form_of(desk, **changes))
    if "values_1" in changes:  # a list without values is estimated
        assert answer.status_code == 303
        return
    assert answer.status_code == 422
    assert words in read_alert(answer)
    assert desk.state == before
    for name, value in changes.items():
        assert name.startswith(("choice", "type")) or value.splitlines()[0] in answer.text


def test_the_check_counts_what_does_not_fit_also_before_it_is_saved(declared):
    before = declared.state
    answer = declared.post("schema/check", **form_of(declared))
    assert "All cells of 400 rows fit" in answer.text
    answer = declared.post("schema/check", **form_of(declared, max_0="60"))
    assert "out of bounds" in answer.text
    assert "max cuts" in answer.text
    assert declared.state == before


def test_rules_show_what_they_exclude(declared):
    answer = declared.post("schema/rules", rules="age >= 18\nlength_of_stay <= age")
    assert answer.status_code == 303
    page = declared.get("schema").text
    assert "excludes" in page
    answer = declared.post("schema/rules", rules="age > 200")
    assert answer.status_code == 422
    answer = declared.post("schema/rules", rules="agee > 20")
    assert "agee" in read_alert(answer)


def test_a_label_must_be_kept(declared):
    assert declared.post("schema/label", label="").status_code == 303
    assert "label" not in declared.state.schema
    assert declared.post("schema/label", label="ward").status_code == 303
    assert declared.state.schema["label"] == "ward"
    assert declared.post("schema/label", label="nothing").status_code == 422


def test_declaring_the_rest_public_needs_a_confirmation(desk):
    desk.post("data/file", address="visits.csv")
    assert desk.post("schema/rest", choice="public").status_code == 422
    assert desk.post("schema/rest", choice="public", checked="1").status_code == 303
    assert {entry["source"] for entry in desk.state.schema["columns"]} == {"public"}


def test_a_run_needs_every_column_decided_and_a_budget(desk):
    desk.post("data/file", address="visits.csv")
    assert "undecided" in read_alert(desk.post("run/start"))
    desk.post("schema/rest", choice="estimate")
    assert "protects" in read_alert(desk.post("run/start"))
    desk.post("protect/save", protects="rows")
    assert "budget" in read_alert(desk.post("run/start"))
    assert not desk.state.runs


def test_a_page_that_waits_leads_to_what_is_open(desk):
    desk.post("data/file", address="visits.csv")
    for page in ("run", "report", "release"):
        assert f'class="button" href="{desk.session.base}/schema"' in desk.get(page).text
    desk.post("schema/rest", choice="estimate")
    assert f'class="button" href="{desk.session.base}/protect"' in desk.get("report").text


def test_a_run_that_failed_says_why_and_can_be_begun_anew(budgeted):
    desk = budgeted
    (desk.folder / "visits.csv").rename(desk.folder / "moved.csv")
    assert desk.post("run/start").status_code == 303
    assert desk.wait_for_run().state == "failed"
    page = desk.get("run").text
    assert "visits.csv" in page
    assert "start a new run below" in page
    assert "is not charged again" not in page
    assert "Reserve the budget and start" in page
    (desk.folder / "moved.csv").rename(desk.folder / "visits.csv")
    assert desk.post("run/resume").status_code == 303  # nothing else was wrong
    assert desk.wait_for_run().state == "done"
    assert [entry.state for entry in Ledger().entries("visits")] == ["spent"]


def test_persons_need_a_column_that_is_left_out(declared):
    assert declared.post("protect/save", protects="persons").status_code == 422
    answer = declared.post("protect/save", protects="persons", unit="ward", bound="3")
    assert "drop" in read_alert(answer)
    assert declared.post("protect/save", protects="all").status_code == 422
    answer = declared.post("protect/shares", unit="ward", bound="3")
    assert "PRIVATE" in answer.text
    assert "Share of rows kept" in answer.text


def test_numbers_are_read_as_they_are_written_in_german(declared):
    declared.post("protect/save", protects="rows")
    declared.post("budget/total", dataset="visits", total="2,5", total_delta="1e-6")
    assert Ledger().budget("visits").epsilon == 2.5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", "0"),
        ("epsilon", "nan"),
        ("epsilon", "inf"),
        ("epsilon", "-1"),
        ("epsilon", ""),
        ("epsilon", "50"),
        ("delta", "1"),
        ("delta", "0"),
        ("rows", "3"),
        ("rows", "9" * 5000),
        ("dataset", ""),
        ("dataset", "a\nb"),
        ("dataset", "never heard of"),
        ("output_rows", "0"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(declared, field, value):
    declared.post("protect/save", protects="rows")
    declared.post("budget/total", dataset="visits", total="5", total_delta="1e-6")
    chosen = {"dataset": "visits", "epsilon": "1", "delta": "1e-6", "rows": "400"}
    answer = declared.post("budget/save", **(chosen | {field: value}))
    assert answer.status_code == 422
    assert read_alert(answer)
    assert declared.state.budget is None


def test_a_budget_beyond_the_total_is_refused_with_what_is_left(declared):
    declared.post("budget/total", dataset="visits", total="2", total_delta="1e-6")
    chosen = {"dataset": "visits", "epsilon": "3", "delta": "1e-6", "rows": "400"}
    assert "(2)" in read_alert(declared.post("budget/save", **chosen))


def test_the_plan_is_shown_and_a_schema_with_gaps_is_told(desk):
    desk.post("data/file", address="visits.csv")
    desk.post("schema/rest", choice="estimate")
    assert "has gaps" in desk.get("budget").text
    desk.post("data/example")
    assert "Smallest group" in desk.get("budget").text


def test_a_form_of_an_older_page_is_refused(declared):
    old = str(declared.state.version)
    declared.post("protect/save", protects="rows")
    before = declared.state
    answer = declared.post("schema/save", version=old, **form_of(declared, choice_0="drop"))
    assert answer.status_code == 409
    assert "another tab" in read_alert(answer)
    assert declared.state == before


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 5000])
def test_a_false_version_is_refused(declared, version):
    assert declared.post("protect/save", protects="rows", version=version).status_code == 409


def test_a_project_is_open_once_and_comes_back_as_it_was(desk):
    desk.post("data/example")
    before = desk.state
    with pytest.raises(OutputError, match="is open in another"):
        Project(desk.studio.project.folder)
    desk.studio.project.close()
    with Project(desk.studio.project.folder) as again:
        assert again.state == before
    assert (desk.studio.project.folder / "studio.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 1, "x": 2}', '{"format": 9}', "\xff"]
)
def test_a_state_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "studio.json").write_text(content, encoding="latin-1")
    with pytest.raises(Exception, match="not a project"):
        Project(tmp_path)
    (tmp_path / "studio.json").unlink()
    with Project(tmp_path) as fresh:  # the lock was given back
        assert fresh.state == ProjectState()


def test_a_run_is_released_after_two_persons_agreed(budgeted):
    desk = budgeted
    assert desk.post("run/start").status_code == 303
    assert desk.post("run/start", version=str(desk.state.version)).status_code == 422  # goes on
    status = desk.wait_for_run()
    assert status.state == "done", status.words
    answer = desk.get("run/progress", **{"hx-request": "true"})
    assert answer.headers["hx-redirect"].endswith("/run")  # the page as a whole says so
    assert desk.get("run/progress").headers["location"].endswith("/run")
    assert "ready" in desk.get("run").text
    asked = {"purpose": "Teaching", "contact": "Data office", "requested_by": "Ann Lee"}
    assert "report" in read_alert(desk.post("release/ask", **asked, **CHECKLIST))
    fake_report(desk)
    assert "checklist" in read_alert(desk.post("release/ask", **asked))
    assert desk.post("release/ask", **asked, **CHECKLIST).status_code == 303
    for same in ("Ann Lee", " ann  LEE", "Lee, Ann"):
        answer = desk.post("release/approve", approved_by=same, **CHECKLIST)
        assert "second person" in read_alert(answer)
    assert "checklist" in read_alert(desk.post("release/approve", approved_by="Bo Ek"))
    assert desk.state.release.approved_by is None
    desk.post("release/key", passphrase="correct horse", again="correct horse")
    signed = {"approved_by": "Bo Ek", "sign": "project", "passphrase": "wrong horse"}
    assert desk.post("release/approve", **signed, **CHECKLIST).status_code == 422
    signed["passphrase"] = "correct horse"
    answer = desk.post("release/approve", **signed, **CHECKLIST)
    assert answer.status_code == 303, read_alert(answer)
    assert desk.post("release/approve", **signed, **CHECKLIST).status_code == 422
    bundle = desk.studio.project.folder / "releases" / desk.state.release.folder
    public = desk.studio.project.folder / "studio.pub"
    found = verify(
        bundle / "synthetic.certificate.json", bundle / "synthetic.csv", Ledger().path, key=public
    )
    assert found.holds, found.checks
    names = {path.name for path in bundle.iterdir()}
    assert {"synthetic.csv", "report.html", "croissant.json", "README.txt"} <= names
    assert "Approved by:   Bo Ek" in (bundle / "APPROVAL.txt").read_text()
    compile((bundle / "make_release.py").read_text(), "make_release.py", "exec")
    assert "tabpe synth DATA" in (bundle / "README.txt").read_text()
    for name in ("sheet", "public"):
        frame = desk.get(f"release/document/{name}")
        assert "sandbox" in frame.headers["content-security-policy"]
    assert "holds" in desk.get("release").text
    assert "released" in desk.get("history").text
    assert "not enough" not in desk.get("run").text
    check_budget_is_gone(desk)


def check_budget_is_gone(desk):
    """A second run of the same size is more than what is left."""
    answer = desk.post("run/start")
    assert answer.status_code == 422
    assert "more than what is left" in read_alert(answer)
    assert len(desk.state.runs) == len(Ledger().entries("visits")) == 1


def test_an_approval_is_void_for_another_run(budgeted):
    """What was asked for is one certificate, not whatever comes after it."""
    from tabpe.studio.pages.release import find_request
    from tabpe.studio.project import ReleaseRequest

    class Other:
        digest = "b" * 64

    class FakeVisit:
        project = budgeted.studio.project

    import dataclasses

    request = ReleaseRequest(1, "a" * 64, "Ann", "p", "c", "now")
    budgeted.studio.project.change(lambda state: dataclasses.replace(state, release=request))
    run = type("Run", (), {"number": 1})
    assert find_request(FakeVisit, run, Other) is None
    Other.digest = "a" * 64
    assert find_request(FakeVisit, run, Other) == request
    run.number = 2
    assert find_request(FakeVisit, run, Other) is None


def test_german_pages_have_german_texts_and_numbers(declared):
    declared.post("language", language="de", here="budget")
    declared.post("budget/total", dataset="visits", total="2.5", total_delta="1e-6")
    page = declared.get("budget").text
    assert '<html lang="de"' in page
    assert "2,5" in page
    assert "Was Epsilon bedeutet" in page
    declared.post("language", language="xx")
    assert declared.get("data", **{"accept-language": "de-CH"}).text.count('lang="de"')
    assert '<html lang="en"' in declared.get("data", **{"accept-language": "fr"}).text


def test_an_unexpected_error_is_told_without_what_it_says(declared, monkeypatch):
    def fail(*_):
        raise KeyError("zzsecret")

    monkeypatch.setattr("tabpe.studio.custodian.measure_fit", fail)
    answer = declared.post("schema/check", **form_of(declared))
    assert answer.status_code == 500
    assert "zzsecret" not in answer.text
    assert "KeyError" in answer.text


def test_the_words_of_a_run_are_those_of_the_command_line(budgeted):
    budgeted.post("run/start")
    job = get_run_job(budgeted.studio.project, 1)
    words = json.loads((job.folder / "commands.json").read_text())["commands"][0]
    assert words[0] == "synth"
    assert "--require-budget" in words
    assert words[words.index("--run-dir") + 1] == "run"
    job.cancel()


def test_the_schema_of_another_tool_is_taken(desk):
    desk.post("data/file", address="visits.csv")
    columns = {"age": {"sdtype": "numerical"}, "ward": {"sdtype": "categorical"}}
    content = json.dumps({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns})
    answer = desk.post("schema/import", files={"file": ("sdv.json", content.encode())})
    assert answer.status_code == 303, read_alert(answer)
    assert desk.post("schema/import", files={"file": ("x.yaml", b"a: [")}).status_code == 422


def test_names_of_two_persons_differ():
    from tabpe.studio.pages.release import is_same_person

    assert is_same_person("José", "jose")
    assert is_same_person("Ann-Marie Lee", "ann marie lee")
    assert not is_same_person("Ann Lee", "Anna Lee")


def test_a_killed_run_goes_on_and_is_charged_once(budgeted, monkeypatch):
    """The journeys do the same in a browser, with the whole example."""
    desk, go = budgeted, budgeted.folder / "go"
    for name, value in make_hold(go).items():
        monkeypatch.setenv(name, value)
    desk.post("run/start")
    folder = desk.studio.project.get_run_folder(1)
    until = time.monotonic() + PATIENCE
    while get_run_job(desk.studio.project, 1).status().round < 1 and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(json.loads((folder / "job" / PROCESS).read_text())["pid"], signal.SIGKILL)
    assert desk.wait_for_run().state == "killed"
    go.touch()
    before = {path.name: path.read_bytes() for path in folder.glob("run/*.measured")}
    assert before
    assert "interrupted" in desk.get("run").text
    (entry,) = Ledger().entries("visits")
    assert entry.state == "reserved"
    assert desk.post("run/resume").status_code == 303
    status = desk.wait_for_run()
    assert status.state == "done", status.words
    after = {path.name: path.read_bytes() for path in folder.glob("run/*.measured")}
    assert before.items() < after.items()
    (entry,) = Ledger().entries("visits")
    assert entry.state == "spent"
    assert verify(
        folder / "synthetic.certificate.json", folder / "synthetic.csv", Ledger().path
    ).holds
