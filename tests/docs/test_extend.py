"""The examples of the page about extensions run as they stand there."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "extend.md").read_text()
CODES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
MODULES = {code.split()[1]: code for code in CODES if code.startswith("# my_")}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, code in MODULES.items():
        Path(name).write_text(code)
    with Path("patients.csv").open("wb") as file:
        make_table_writer(hospital_table(1000), Path("patients.csv"))(file)
    hospital_schema().save("schema.yaml")
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_the_code_runs(folder, capsys):
    names = {"patients": hospital_table(1000), "schema": hospital_schema()}
    for code in CODES:
        if not code.startswith("# my_"):
            exec(code, names)
    stated = names["model"].certificate.configuration
    assert stated["operator"] == "my_ops:swap_categories"
    assert stated["selection"] == "my_ops:draw_above_noise"
    assert stated["category_weight"] == "my_ops:weigh"
    assert re.fullmatch(r"10 \d+ age", capsys.readouterr().out.splitlines()[-1])
    assert names["other"].certificate.configuration["rounds"] == 5
    assert names["baseline"].certificate.configuration["method"] == "my_methods:Smoothed"
    assert names["baseline"].sample(5).num_rows == 5


def test_the_commands_run(folder):
    (commands,) = re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL)
    for command in commands.splitlines():
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    stated = [
        json.loads(Path(f"{name}.certificate.json").read_text())["configuration"]
        for name in ("mine", "other")
    ]
    assert {each["operator"] for each in stated} == {"my_ops:swap_categories"}
