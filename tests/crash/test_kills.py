"""SIGKILL at any moment: nothing is lost, nothing is charged twice, the run goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tabpe.datasets.hospital import hospital_schema, hospital_table
from tabpe.io import table_writer

KILLS = 200

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_two_hundred_kills_leave_a_true_ledger_and_runs_that_finish(tmp_path):
    table = tmp_path / "table.csv"
    with table.open("wb") as file:
        table_writer(hospital_table().slice(0, 800), table)(file)
    hospital_schema().save(tmp_path / "schema.yaml")
    found = subprocess.run(
        [sys.executable, Path(__file__).parent / "kill_synth.py", tmp_path, str(KILLS), "1"],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path / "home")},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    seen = json.loads(found.stdout)
    assert seen["kills"] >= KILLS
    assert seen["in the middle"] >= KILLS / 20  # else the kills come too early or too late
