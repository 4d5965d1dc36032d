"""The experiment on the page about extensions can be run."""

import json
import re
import sys
from pathlib import Path

from typer.testing import CliRunner

from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table
from tabpe_lab.cli import app
from tabpe_lab.exhibits import read_suite
from tabpe_lab.runner import make_plan

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "extend.md").read_text()


def write_patients(rows):
    with Path("patients.csv").open("wb") as file:
        make_table_writer(hospital_table(rows), Path("patients.csv"))(file)


def test_the_experiment_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for code in re.findall(r"```python\n(# my_.*?)```", TEXT, flags=re.DOTALL):
        Path(code.split()[1]).write_text(code)
        monkeypatch.delitem(sys.modules, code.split()[1].removesuffix(".py"), raising=False)
    (shown,) = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    Path("ward.yaml").write_text(shown)
    write_patients(600)
    hospital_schema().save("schema.yaml")
    result = CliRunner().invoke(app, ["run", "ward.yaml"])
    assert result.exit_code == 0, result.output
    lines = Path("lab/results/ward.full.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["status"] for record in records] == ["done", "done"]
    assert {record["called"] for record in records} == {"tabpe", "Smoothed"}
    assert {record["rows"] for record in records} == {420}
    table = CliRunner().invoke(app, ["table", "ward.yaml", "--format", "markdown"])
    assert "Smoothed" in table.output
    assert "Patients" in table.output
    suite = read_suite(Path("ward.yaml"))
    assert len(make_plan(suite, Path("lab/results")).todo) == 0
    write_patients(700)
    assert len(make_plan(suite, Path("lab/results")).todo) == 2
