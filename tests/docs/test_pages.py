"""The commands of the pages about users, crashes and strategies run as they stand there."""

import dataclasses
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tabpe import Evolution, Posterior, TabPE
from tabpe.cli.app import app
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    table = hospital_table(1500)
    ids = pa.array(np.arange(table.num_rows) // 2)
    for name, rows in (("patients", table), ("visits", table.append_column("patient_id", ids))):
        with Path(f"{name}.csv").open("wb") as file:
            make_table_writer(rows, Path(f"{name}.csv"))(file)
    hospital_schema().save("schema.yaml")
    return tmp_path


@pytest.mark.parametrize("page", ["users", "resume", "strategies"])
def test_the_commands_of_a_page_run_and_can_be_repeated(folder, page):
    text = (PAGES / f"{page}.md").read_text()
    (command,) = re.findall(r"```sh\ntabpe (.*?)\n```", text)
    for _ in range(2):
        result = CliRunner().invoke(app, [*shlex.split(command), "--force"])
        assert result.exit_code == 0, result.output
    assert ("resumes" in result.output) == (page == "resume")
    assert Path("synthetic.csv").exists()


def test_the_commands_and_the_code_of_the_page_about_sheets_run(folder):
    text = (PAGES / "certificate-sheet.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)\n```", text, flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command.removeprefix("tabpe ").replace("--passphrase", ""))
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    listed = set(re.findall(r"^\| `([^`]*)`(?:, `([^`]*)`)? \|", text, flags=re.MULTILINE))
    assert ("synthetic.certificate.html", ".txt") in listed
    made = {path.name for path in Path("release").iterdir()}
    assert {first for first, _ in listed if "." in first} - made == {"synthetic.certificate.sig"}
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert "Teaching" in names["page"]
    assert "Data office" in names["text"]


def test_the_settings_of_the_page_about_strategies_run():
    text = (PAGES / "strategies.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {"patients": hospital_table(3000), "schema": hospital_schema()}
    exec(code, names)
    all_spends = {
        name: {item.name: item.times for item in names[name].certificate.spends}
        for name in ("fewer", "paper", "tables")
    }
    assert all_spends["fewer"]["votes"] == 4 * 4
    assert [times for name, times in all_spends["paper"].items() if "round" in name] == [2] * 15
    assert set(all_spends["tables"]) == {"class counts", "1-way marginals", "2-way marginals"}


def test_the_page_about_strategies_has_every_field_and_its_default():
    text = (PAGES / "strategies.md").read_text()
    for strategy in (Posterior(), Evolution()):
        for field in dataclasses.fields(strategy):
            assert f"`{field.name}`" in text, field.name
    mine, paper = Posterior(), Evolution()
    for name in ("rounds", "votes", "tables", "by_rank"):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}`")]
        assert row.endswith(f"| {getattr(mine, name):g} | {getattr(paper, name):g} |")


def test_the_page_about_reports_runs(folder):
    text = (PAGES / "evaluate.md").read_text()
    (command,) = re.findall(r"```sh\ntabpe (.*?)\n```", text)
    invoke = CliRunner().invoke
    usual = ["--schema", "schema.yaml", "--rows", "40", "-o", "synthetic.csv"]
    assert invoke(app, ["synth", "patients.csv", *usual]).exit_code == 0
    Path("holdout.csv").write_bytes(Path("patients.csv").read_bytes())
    result = invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    real = hospital_table(400)
    model = TabPE(epsilon=8, delta=1e-5, n_samples=40, verbose=0).fit(real, hospital_schema())
    names = {"real": real, "synthetic": model.sample(), "holdout": real, "model": model}
    exec(code, names)
    assert Path("report.html").exists()


def test_the_code_of_the_page_about_conditions_runs():
    text = (PAGES / "conditions.md").read_text()
    model = TabPE(epsilon=1.0, random_state=0, verbose=0)
    names = {"model": model.fit(hospital_table(8000), hospital_schema())}
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(code, names)
    assert set(names["some"]["ward"].to_pylist()) == {"surgery"}
    assert min(names["some"]["age"].to_pylist()) >= 70
    assert names["whole"]["age"].to_pylist() == [71, 38]
