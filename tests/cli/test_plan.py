"""`tabpe plan` on the command line."""

import json

from typer.testing import CliRunner

from tabpe import Boolean, Integer, Schema
from tabpe.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def write_schema(folder):
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    schema.save(folder / "schema.yaml")
    return folder / "schema.yaml"


def test_a_table_of_80_columns(tmp_path):
    done = run(write_schema(tmp_path), "--rows", 2000, "--simulations", 0)
    assert done.exit_code == 0, done.output
    assert "smallest group seen" in done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())


def test_json_and_files(tmp_path):
    page, values = tmp_path / "plan.html", tmp_path / "plan.json"
    words = ("--rows", 2000, "-e", 1, "--simulations", 1, "-o", page, "-o", values, "--json")
    done = run(write_schema(tmp_path), *words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == json.loads(values.read_text())
    assert "<svg" in page.read_text()
    assert run(write_schema(tmp_path), *words).exit_code == 2


def test_bad_words(tmp_path):
    schema = write_schema(tmp_path)
    assert "expected a file" in run(schema, "--rows", 2000, "-o", tmp_path / "plan.pdf").output
    assert run(schema, "--rows", 1).exit_code == 2
