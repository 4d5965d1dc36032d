"""Tables in a database, and behind an address, on the command line."""

import sqlite3
from pathlib import Path

import pytest

from tabpe.io.example import hospital_table


@pytest.fixture
def ward(folder):
    table = hospital_table(400)
    names = ", ".join(f'"{name}"' for name in table.column_names)
    with sqlite3.connect(folder / "ward.db") as base:
        base.execute(f"CREATE TABLE patients ({names})")
        marks = ", ".join("?" * table.num_columns)
        rows = [tuple(map(str, row.values())) for row in table.to_pylist()]
        base.executemany(f"INSERT INTO patients VALUES ({marks})", rows)
    base.close()
    return "sqlite:///ward.db"


SYNTH = ("--schema", "schema.yaml", "--delta", "1e-5", "--rows", "40", "-o", "out.csv")


def test_from_a_draft_to_a_report(tabpe, ward):
    named = ("--table", "patients")
    result = tabpe("schema", "init", ward, *named, "-o", "draft.yaml")
    assert result.exit_code == 0, result.output
    assert "tabpe schema check draft.yaml sqlite:///ward.db --table patients" in result.stdout
    result = tabpe("schema", "check", "schema.yaml", ward, *named)
    assert "rows: fits" in result.stdout
    result = tabpe("synth", ward, *named, *SYNTH, "--epsilon", "5")
    assert result.exit_code == 0, result.output
    result = tabpe("evaluate", ward, "out.csv", *named, "-o", "report.html")
    assert result.exit_code == 0, result.output
    result = tabpe("evaluate", ward, "out.csv", *named, "--public", "-o", "public.html")
    assert result.exit_code == 0, result.output


def test_a_query(tabpe, ward):
    query = "SELECT * FROM patients ORDER BY rowid"
    result = tabpe("synth", ward, "--query", query, *SYNTH, "--epsilon", "5")
    assert result.exit_code == 0, result.output
    assert Path("out.csv").exists()


def test_an_address_of_a_file(tabpe, folder):
    result = tabpe("synth", f"file://{folder}/data.csv", *SYNTH, "--epsilon", "5")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sqlite:///ward.db",), "a database: name one of --table and --query"),
        (("sqlite:///ward.db", "--table", "a", "--query", "SELECT 1"), "name one of --table"),
        (("sqlite:///ward.db", "--table", "nothing"), "there is no such table"),
        (("sqlite:///ward.db", "--query", "DROP TABLE patients"), "expected a single SELECT"),
        (("sqlite:///nothing.db", "--table", "a"), "no such file"),
        (("data.csv", "--table", "a"), "--table: only for a database"),
        (("data.csv", "--password-env", "A"), "--password-env: only for a database"),
        (("postgresql://a:zz@db/b", "--table", "a"), "a password in a command"),
        (("s3://key:zz@bucket/a",), "a password in a command"),
        (("postgresql://db/b?password=zz", "--table", "a"), "a password in a command"),
        (("postgresql://a@db/b", "--table", "a", "--password-env", "NONE"), "no such variable"),
        (("postgresql://a@127.0.0.1:1/b", "--table", "a"), "the server can not be reached"),
        (("file:///nothing.csv",), "no such file"),
    ],
)
def test_what_is_wrong_is_one_line(tabpe, ward, words, message):
    result = tabpe("synth", *words, *SYNTH)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line
    assert "zz" not in line
    assert not Path("out.csv").exists()


def test_the_database_is_not_overwritten(tabpe, ward):
    words = ("--schema", "schema.yaml", "-o", "ward.csv", "--force")
    Path("ward.csv").symlink_to("ward.db")
    assert tabpe("synth", ward, "--table", "patients", *words).exit_code == 2
    Path("ward.csv").unlink()
    Path("ward.csv").hardlink_to("ward.db")
    result = tabpe("synth", ward, "--table", "patients", *words)
    assert "the same file as the input ward.db" in result.stderr
