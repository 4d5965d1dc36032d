"""SIGKILL at any moment: nothing is lost, nothing is charged twice, the run goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

KILLS = {"paper": 60, "best": 30}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("preset", KILLS)
def test_many_kills_leave_a_true_ledger_and_runs_that_finish(tmp_path, preset):
    table = tmp_path / "table.csv"
    with table.open("wb") as file:
        make_table_writer(hospital_table().slice(0, 800), table)(file)
    hospital_schema().save(tmp_path / "schema.yaml")
    script = Path(__file__).parent / "kill_synth.py"
    found = subprocess.run(
        [sys.executable, script, tmp_path, str(KILLS[preset]), "1", preset],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path / "home")},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    seen = json.loads(found.stdout)
    assert seen["kills"] >= KILLS[preset]
    assert seen["in the middle"] >= KILLS[preset] / 20  # else the kills come too early or too late
