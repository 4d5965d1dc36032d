"""`tabpe keys`, signed certificates, sheets and release folders, as a person meets them."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
from html import unescape

import pytest

from tabpe._utils import extras, files
from tabpe.accounting.ledger import Ledger
from tabpe.cli import release
from tabpe.io import read_table

EVIL = "<img src=x onerror=alert(1)>"
FILES = {
    "synthetic.csv",
    "synthetic.certificate.json",
    "synthetic.certificate.html",
    "synthetic.certificate.txt",
    "report.html",
    "croissant.json",
    "dictionary.csv",
    "schema.yaml",
    "README.txt",
}


@pytest.fixture
def quick(folder, tabpe):
    """Run `tabpe synth` with few rounds, without an output."""
    usual = ("-s", "schema.yaml", "--delta", "1e-5", "--rows", 40, "--preset", "paper,rounds=6")
    return lambda *words: tabpe("synth", "data.csv", *usual, *words)


@pytest.fixture
def office(folder, tabpe):
    """A key pair."""
    assert tabpe("keys", "-o", "office.key").exit_code == 0
    return folder / "office.key"


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_sheet_lies_beside_the_certificate_and_shows_what_was_stated(quick, folder):
    result = quick("-o", "out.csv", "--purpose", f"Teaching {EVIL}", "--contact", "Data office")
    assert result.exit_code == 0, result.output
    plain = json.loads((folder / "out.certificate.json").read_text())
    assert plain["statement"]["purpose"] == f"Teaching {EVIL}"
    page = (folder / "out.certificate.html").read_text()
    assert EVIL not in page
    assert EVIL in unescape(page)
    text = (folder / "out.certificate.txt").read_text()
    assert plain["release"]["sha256"] in text
    assert "Data office" in text


def test_nothing_stated_leaves_the_certificate_as_it_was(quick, folder):
    assert quick("-o", "out.csv").exit_code == 0
    assert "statement" not in json.loads((folder / "out.certificate.json").read_text())


def test_a_sheet_shows_what_the_ledger_has_recorded(quick, tabpe, folder):
    words = ("ledger", "set-budget", "patients", "-e", 5, "--delta", "1e-5")
    assert tabpe(*words).exit_code == 0
    for number in (1, 2):
        assert quick("-o", f"out{number}.csv", "--dataset", "patients").exit_code == 0
    total = json.loads((folder / "out2.certificate.json").read_text())["statement"]["total"]
    assert total["runs"] == 2
    assert total["epsilon"] == Ledger().status("patients").spent
    assert total["budget"] == 5
    certified = tabpe("verify", "out2.certificate.json", "out2.csv", "--ledger", Ledger().path)
    assert certified.exit_code == 0, certified.output


@pytest.mark.parametrize("option", ["--purpose", "--contact"])
@pytest.mark.parametrize("value", ["", "x" * 10_000, "two\nlines", "bell\a", "\u202eabc"])
def test_bad_statements_are_refused_before_a_row_is_read(quick, folder, option, value):
    result = quick("-o", "out.csv", "--dataset", "patients", option, value)
    assert result.exit_code == 2
    assert option.strip("-") in result.stderr
    assert len(result.stderr) < 300
    assert not Ledger().exists()
    assert not list(folder.glob("out*"))


def test_a_signed_release_verifies_with_its_key_alone(quick, tabpe, office, folder):
    result = quick("-o", "out.csv", "--sign", office)
    assert result.exit_code == 0, result.output
    right = tabpe("verify", "out.certificate.json", "out.csv", "--key", "office.pub")
    assert right.exit_code == 0
    assert "OK      signed" in right.stdout
    assert all(len(line) <= 80 for line in right.stdout.splitlines())
    assert tabpe("keys", "-o", "other.key").exit_code == 0
    wrong = tabpe("verify", "out.certificate.json", "out.csv", "--key", "other.pub")
    assert wrong.exit_code == 1
    (folder / "out.csv").write_text("changed")
    assert tabpe("verify", "out.certificate.json", "out.csv", "--key", "office.pub").exit_code == 1


def test_a_signature_of_another_release_fails(quick, tabpe, office, folder):
    for name in ("one", "two"):
        assert quick("-o", f"{name}.csv", "--sign", office).exit_code == 0
    (folder / "one.certificate.sig").replace(folder / "two.certificate.sig")
    result = tabpe("verify", "two.certificate.json", "two.csv", "--key", "office.pub")
    assert result.exit_code == 1
    assert "FAILED  signed" in result.stdout


def test_an_unsigned_release_keeps_no_signature_of_the_one_it_replaces(quick, tabpe, office):
    assert quick("-o", "out.csv", "--sign", office).exit_code == 0
    assert quick("-o", "out.csv").exit_code == 2
    assert quick("-o", "out.csv", "--force").exit_code == 0
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0
    assert tabpe("verify", "out.certificate.json", "out.csv", "--key", "office.pub").exit_code == 1


def test_an_unsigned_release_fails_where_a_key_is_asked_for(quick, tabpe, office):
    assert quick("-o", "out.csv").exit_code == 0
    assert "not signed" in tabpe("verify", "out.certificate.json", "out.csv").stdout
    assert tabpe("verify", "out.certificate.json", "out.csv", "--key", "office.pub").exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--sign", "missing.key"),
        ("--sign", "office.pub"),
        ("--sign", "data.csv"),
        ("--sign", "locked.key"),
        ("--sign", "locked.key", "--passphrase-env", "NOT_SET"),
        ("--sign", "locked.key", "--passphrase-env", "WRONG"),
        ("--passphrase-env", "WRONG"),
    ],
)
def test_a_key_that_can_not_sign_stops_before_a_row_is_read(
    quick, tabpe, office, folder, monkeypatch, words
):
    monkeypatch.setenv("RIGHT", "correct horse")
    monkeypatch.setenv("WRONG", "battery staple")
    assert tabpe("keys", "-o", "locked.key", "--passphrase-env", "RIGHT").exit_code == 0
    result = quick("-o", "out.csv", "--dataset", "patients", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "horse" not in result.output
    assert not Ledger().exists()
    assert not list(folder.glob("out*"))
    signed = quick("-o", "out.csv", "--sign", "locked.key", "--passphrase-env", "RIGHT")
    assert signed.exit_code == 0, signed.output


def test_a_key_pair_is_private_and_not_overwritten(office, tabpe):
    assert stat.S_IMODE(office.stat().st_mode) == 0o600
    before = office.read_bytes()
    assert tabpe("keys", "-o", "office.key").exit_code == 2
    assert tabpe("keys", "-o", "nowhere/office.key").exit_code == 2
    assert tabpe("keys", "-o", "office.pub").exit_code == 2
    assert office.read_bytes() == before


def test_without_the_extra_it_says_what_to_install(quick, tabpe, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for result in (tabpe("keys", "-o", "office.key"), quick("-o", "o.csv", "--sign", "office.key")):
        assert result.exit_code == 1
        assert "tabpe[sign]" in result.stderr


def test_a_release_folder_has_all_that_a_release_needs(quick, tabpe, office, folder):
    result = quick("--bundle", "rel", "--sign", office, "--contact", "Data office")
    assert result.exit_code == 0, result.output
    made = folder / "rel"
    assert names(made) == FILES | {"synthetic.certificate.sig"}
    verified = tabpe(
        "verify", made / "synthetic.certificate.json", made / "synthetic.csv", "--key", "office.pub"
    )
    assert verified.exit_code == 0, verified.output
    assert "May be released" in (made / "report.html").read_text()
    metadata = json.loads((made / "croissant.json").read_text())
    assert metadata["creator"]["name"] == "Data office"
    import hashlib

    for file in metadata["distribution"]:
        content = (made / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    header = read_table(made / "synthetic.csv").schema.names
    with (made / "dictionary.csv").open(newline="") as file:
        assert [row["column"] for row in csv.DictReader(file)] == header


def test_the_command_in_a_folder_makes_such_a_release_and_hides_where_data_lie(
    quick, tabpe, office, folder
):
    words = ("--bundle", "rel", "--purpose", "It's a test; rm -rf /", "--epsilon", "2")
    assert quick(*words, "--dataset", "secret-name", "--sign", office).exit_code == 0
    content = (folder / "rel" / "README.txt").read_text()
    (command,) = [line for line in content.splitlines() if "tabpe synth" in line]
    for hidden in ("data.csv", "office", "secret-name", str(folder)):
        assert hidden not in content
    import shlex

    given = shlex.split(command)[1:]
    given = [{"DATA": "data.csv", "DIR": "again"}.get(word, word) for word in given]
    assert tabpe(*given).exit_code == 0
    first, second = (
        json.loads((folder / name / "synthetic.certificate.json").read_text())
        for name in ("rel", "again")
    )
    for same in ("epsilon", "configuration", "schema_digest"):
        assert first[same] == second[same]


def test_no_file_of_a_folder_names_another_place(quick, folder):
    assert quick("--bundle", "rel").exit_code == 0
    for path in (folder / "rel").iterdir():
        content = path.read_bytes()
        assert str(folder).encode() not in content
        assert b".rel." not in content
        assert b"data.csv" not in content


def test_a_table_in_a_folder_may_have_another_name(quick, folder):
    assert quick("--bundle", "rel", "-o", "rows.parquet").exit_code == 0
    assert (folder / "rel" / "rows.parquet").is_file()
    assert (folder / "rel" / "rows.certificate.html").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("--bundle", "taken"),
        ("--bundle", "taken", "--force"),
        ("--bundle", "data.csv"),
        ("--bundle", "dangling"),
        ("--bundle", "nowhere/rel"),
        ("--bundle", "rel", "-o", "../out.csv"),
        ("--bundle", "rel", "-o", "dictionary.csv"),
        ("--bundle", "rel", "-o", "out.xlsx"),
        ("--bundle", "s3://bucket/rel"),
        (),
    ],
)
def test_a_bad_place_is_refused_before_a_row_is_read(quick, folder, words):
    (folder / "taken").mkdir()
    (folder / "dangling").symlink_to(folder / "gone")
    before = names(folder)
    result = quick("--dataset", "patients", *words)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert names(folder) == before
    assert not Ledger().exists()


def test_a_folder_that_appears_meanwhile_is_not_touched(quick, folder, monkeypatch):
    render = release.make_dictionary

    def meet(schema):
        (folder / "rel").mkdir()
        return render(schema)

    monkeypatch.setattr(release, "make_dictionary", meet)
    assert quick("--bundle", "rel").exit_code == 2
    assert names(folder / "rel") == set()
    assert not [name for name in names(folder) if name.startswith(".rel")]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_no_folder(quick, folder, monkeypatch, error):
    write_text = files.write_text

    def fail(path, text):
        if path.name == "croissant.json":
            raise error
        write_text(path, text)

    monkeypatch.setattr(files, "write_text", fail)
    result = quick("--bundle", "rel")
    assert result.exit_code != 0
    assert "no output was written" in result.stderr
    assert not [name for name in names(folder) if "rel" in name]


KILLED = """
import os, signal, sys
from tabpe._utils import files
from tabpe.cli.app import app
write_text = files.write_text
def die(path, text):
    if path.name == "croissant.json":
        os.kill(os.getpid(), signal.SIGKILL)
    write_text(path, text)
files.write_text = die
app(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_kill_in_the_middle_leaves_no_folder_and_the_run_goes_on(quick, folder):
    words = ["--bundle", "rel", "--run-dir", "run", "--dataset", "patients"]
    usual = "synth data.csv -s schema.yaml --delta 1e-5 --rows 40 --preset paper,rounds=6"
    run = subprocess.run(
        [sys.executable, "-c", KILLED, *usual.split(), *words], check=False, capture_output=True
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert not (folder / "rel").exists()
    result = quick(*words)
    assert result.exit_code == 0, result.output
    assert names(folder / "rel") == FILES
    assert len(Ledger().entries("patients")) == 1
