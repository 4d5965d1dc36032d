"""`tabpe synth` with a ledger and a folder to go on from, as a person meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tabpe.accounting import Certificate
from tabpe.accounting.ledger import Ledger
from tabpe.measurement import histograms

NAMED = ("--ledger", "l.db", "--dataset", "patients")


@pytest.fixture
def ledger(folder):
    found = Ledger(folder / "l.db")
    found.set_budget("patients", epsilon=1.2, delta=1e-5)
    return found


def states(ledger):
    return [entry.state for entry in ledger.entries("patients")]


def test_the_ledger_shows_the_certificate_that_was_written(synth, tabpe, folder, ledger):
    result = synth(*NAMED)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    written = Certificate.from_dict(json.loads((folder / "out.certificate.json").read_text()))
    shown = json.loads(tabpe("ledger", "show", "patients", "--ledger", "l.db", "--json").stdout)
    [entry] = ledger.entries("patients")
    assert written.ledger.entry == entry.id
    assert entry.certificate_sha256 == written.digest
    assert written.digest in json.dumps(shown)
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0


def test_a_refused_budget_is_exit_code_3_with_what_is_left(synth, folder, ledger):
    assert synth(*NAMED, "-q").exit_code == 0
    before = (folder / "out.csv").read_bytes()
    result = synth(*NAMED, "-o", "more.csv")
    assert result.exit_code == 3
    [line] = result.stderr.splitlines()
    assert line.startswith("error: data set 'patients'")
    assert f"{ledger.left('patients'):g} is left" in line
    assert not (folder / "more.csv").exists()
    assert (folder / "out.csv").read_bytes() == before
    assert states(ledger) == ["spent"]


def test_what_is_left_can_be_asked_for_in_the_same_folder(synth, ledger):
    assert synth(*NAMED, "--run-dir", "run", "--epsilon", 2).exit_code == 3
    assert synth(*NAMED, "--run-dir", "run", "--epsilon", ledger.left("patients")).exit_code == 0
    assert states(ledger) == ["spent"]


def test_without_a_delta_it_is_that_of_the_budget(tabpe, folder, ledger):
    words = ("--schema", "schema.yaml", "--rows", 40, "-o", "out.csv", *NAMED)
    assert tabpe("synth", "data.csv", *words).exit_code == 0
    assert json.loads((folder / "out.certificate.json").read_text())["delta"] == 1e-5


def test_without_a_budget_one_line_warns(synth, folder):
    result = synth("--dataset", "visits")
    assert result.exit_code == 0
    [line] = result.stderr.splitlines()
    assert line.startswith("warning: data set 'visits': has no budget")
    assert (folder / "home" / "tabpe" / "ledger.db").exists()


def test_a_required_budget_that_is_missing_is_exit_code_3(synth, folder, ledger):
    result = synth("--dataset", "visits", "--ledger", "l.db", "--require-budget")
    assert result.exit_code == 3
    [line] = result.stderr.splitlines()
    assert line.startswith("error: data set 'visits': has no budget")
    assert ledger.entries() == ()
    assert synth(*NAMED, "--require-budget").exit_code == 0


def test_a_refused_cell_stays_charged_and_a_missing_column_costs_nothing(synth, folder, ledger):
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace("age", "aeg", 1))
    assert synth(*NAMED).exit_code == 2
    assert states(ledger) == []
    lines = text.splitlines()
    place = lines[0].split(",").index("age")
    cells = lines[5].split(",")
    cells[place] = "s3cr3t"
    (folder / "data.csv").write_text("\n".join([*lines[:5], ",".join(cells), *lines[6:]]) + "\n")
    result = synth(*NAMED, "--strict")
    assert result.exit_code == 2
    assert "s3cr3t" not in result.output
    assert states(ledger) == ["reserved"]


@pytest.mark.parametrize("repetition", range(3))
def test_of_two_processes_that_race_for_the_last_budget_exactly_one_wins(
    folder, ledger, repetition
):
    def start(name):
        words = ("synth", "data.csv", "-s", "schema.yaml", "--rows", "40", "-q", "-o", name, *NAMED)
        return subprocess.Popen(
            [sys.executable, "-m", "tabpe", *words],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )

    names = ("one.csv", "two.csv")
    racers = [start(name) for name in names]
    told = [racer.communicate(timeout=600)[1] for racer in racers]
    codes = [racer.returncode for racer in racers]
    assert sorted(codes) == [0, 3], told
    assert [(folder / name).exists() for name in names] == [code == 0 for code in codes]
    assert "is left" in told[codes.index(3)]
    assert states(ledger) == ["spent"]
    assert ledger.spent("patients") <= 1.2


@pytest.mark.parametrize(("preset", "rounds"), [("best", 8), ("paper", 15)])
def test_an_interrupted_run_goes_on_and_is_charged_once(
    synth, folder, ledger, monkeypatch, preset, rounds
):
    votes, asked = histograms.measure_votes, []

    def interrupted(*words, **options):
        asked.append(1)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return votes(*words, **options)

    monkeypatch.setattr(histograms, "measure_votes", interrupted)
    command = (*NAMED, "--run-dir", "run", "--seed", 1, "--preset", preset)
    first = synth(*command)
    assert first.exit_code == 2
    assert first.stderr.startswith("error: interrupted; no output was written. Rows were read")
    assert "Run again with the same run_dir (--run-dir)" in first.stderr
    assert first.stderr.count("\n") == 1
    assert states(ledger) == ["reserved"]
    assert synth(*command).exit_code == 0
    assert len(asked) == rounds + 1
    written = (folder / "out.csv").read_bytes(), (folder / "out.certificate.json").read_bytes()
    assert synth(*command, "--force").exit_code == 0
    assert len(asked) == rounds + 1
    again = (folder / "out.csv").read_bytes(), (folder / "out.certificate.json").read_bytes()
    assert again == written
    assert states(ledger) == ["spent"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--ledger", "l.db"), 2, "needs dataset"),
        (("--dataset", ""), 2, "dataset=''"),
        (("--dataset", "a", "--ledger", "s3://a/b"), 2, "a URL"),
        (("--dataset", "a", "--ledger", "."), 2, "not a file"),
        (("--dataset", "a", "--ledger", "data.csv"), 2, "data.csv"),
        (("--run-dir", "s3://a/b"), 2, "a URL"),
        (("--run-dir", "data.csv"), 2, "data.csv"),
        (("--run-dir", "."), 2, "holds other files"),
        ((*NAMED, "--unit", "ward"), 2, "unit='ward'"),
        ((*NAMED, "--adjacency", "replace-one"), 2, "--adjacency replace-one'"),
        ((*NAMED, "--epsilon", 3), 3, "is left"),
    ],
)
def test_bad_words_are_one_line(synth, folder, ledger, words, code, said):
    result = synth(*words)
    assert result.exit_code == code, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert said in lines[0]
    assert "Traceback" not in result.output
    assert not (folder / "out.csv").exists()
    assert states(ledger) == []


@pytest.mark.parametrize("stopped", ["out.csv", "model.tabpe"])
def test_a_run_that_was_stopped_between_two_files_goes_on_without_force(
    synth, folder, ledger, stopped
):
    command = (*NAMED, "--run-dir", "run", "--seed", 1, "--save", "model.tabpe")
    assert synth(*command).exit_code == 0
    written = {name: (folder / name).read_bytes() for name in ("out.csv", "out.certificate.json")}
    for name in ("model.tabpe", stopped):
        (folder / name).unlink(missing_ok=True)
    again = synth(*command)
    assert again.exit_code == 0, again.output
    assert {name: (folder / name).read_bytes() for name in written} == written
    assert (folder / "model.tabpe").exists()
    assert states(ledger) == ["spent"]


@pytest.mark.parametrize("other", ["another run", "another table", "no certificate"])
def test_files_that_a_run_did_not_write_are_not_overwritten(synth, folder, ledger, other):
    command = (*NAMED, "--run-dir", "run", "--seed", 1)
    if other == "another run":
        assert synth("--seed", 2, "--epsilon", 0.5).exit_code == 0
        (folder / "out.csv").unlink()
    else:
        assert synth(*command).exit_code == 0
        (folder / "out.csv").write_text("mine")
        if other == "no certificate":
            (folder / "out.certificate.json").write_text("[]")
    before = {path.name: path.read_bytes() for path in folder.glob("out.*")}
    result = synth(*command)
    assert (result.exit_code, "exists already" in result.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in folder.glob("out.*")} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
@pytest.mark.parametrize("words", [("synth",), ("ledger", "set-budget")])
def test_what_was_written_is_told_if_the_result_can_not_be_printed(folder, ledger, words):
    rest = {
        "synth": ("data.csv", "-s", "schema.yaml", "--rows", "40", "-o", "out.csv", *NAMED),
        "ledger": ("patients", "--epsilon", "2", "--delta", "1e-6", "--ledger", "l.db"),
    }
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "tabpe", *words, *rest[words[0]]],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: can not print (No space left on device)")
    assert ("out.csv" in line) == (words == ("synth",))
    assert "unexpected" not in line
