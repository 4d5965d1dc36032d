"""The program as a whole."""

import subprocess
import sys

import tabpe as package
from tabpe.io import read_table
from tabpe.io.example import compute_pattern_share


def test_version(tabpe):
    assert tabpe("--version").stdout == f"tabpe {package.__version__}\n"


def test_help_names_the_commands_and_exit_codes(tabpe):
    text = tabpe("--help").stdout
    for word in ("demo", "synth", "schema", "audit", "verify", "ledger", "Exit codes"):
        assert word in text


def test_without_words_it_shows_the_help(tabpe):
    assert "Usage" in tabpe().output


def test_an_unknown_command_is_wrong_use(tabpe):
    assert tabpe("synthesize").exit_code == 2


def test_it_runs_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "tabpe", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("tabpe ")


def test_the_demo_ends_with_files_and_a_guarantee(tabpe, tmp_path):
    result = tabpe("demo", "--dir", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    assert made == {
        "hospital.csv",
        "schema.yaml",
        "synthetic.csv",
        "synthetic.certificate.json",
        "synthetic.certificate.html",
        "synthetic.certificate.txt",
        "run.tabpe",
        "unseen.csv",
        "report.html",
    }
    assert f"open {tmp_path / 'demo' / 'report.html'}" in result.stdout
    assert "differential privacy" in (tmp_path / "demo" / "synthetic.certificate.txt").read_text()
    assert "epsilon" in result.stdout
    # Chance is one half; at epsilon 1 the pattern holds for about four rows in five.
    assert compute_pattern_share(read_table(tmp_path / "demo" / "synthetic.csv")) > 0.6


def test_the_demo_says_where_it_can_not_write(tabpe, tmp_path):
    (tmp_path / "file").write_text("")
    result = tabpe("demo", "--dir", tmp_path / "file" / "demo")
    assert result.exit_code == 2
    assert "can not create the folder" in result.stderr
