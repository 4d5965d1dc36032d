"""A run is killed; its folder is copied or wiped: one charge still releases one table."""

import os
import shutil
import subprocess
import sys

import pytest

import killed
from tabpe.accounting.ledger import Ledger
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")


@pytest.fixture
def place(tmp_path):
    """A folder with a table, its schema and a ledger."""
    table = tmp_path / "table.csv"
    with table.open("wb") as file:
        make_table_writer(hospital_table().slice(0, 400), table)(file)
    hospital_schema().save(tmp_path / "schema.yaml")
    Ledger(tmp_path / "ledger.db").set_budget("patients", epsilon=1.001, delta=1e-6)
    return tmp_path


def synth(place, run_dir, *begin):
    words = (
        "synth", "table.csv", "-s", "schema.yaml", "-o", f"{run_dir}.csv", "--rows", "40",
        "--preset", "paper", "--run-dir", run_dir, "--quiet", "--jobs", "1",
        "--dataset", "patients", "--ledger", "ledger.db",
    )  # fmt: skip
    return subprocess.run(
        [sys.executable, *(begin or ("-m", "tabpe")), *words],
        cwd=place,
        env=os.environ | {"XDG_DATA_HOME": str(place / "home")},
        capture_output=True,
        text=True,
        check=False,
    )


def killed_synth(place, run_dir):
    assert synth(place, run_dir, killed.__file__, "seen.json").returncode == -9


def test_a_copy_of_a_run_that_went_on_is_refused(place):
    killed_synth(place, "run")
    shutil.copytree(place / "run", place / "copy")
    killed_synth(place, "run")
    refused = synth(place, "copy")
    assert refused.returncode == 3
    assert "new folder" in refused.stderr
    assert not (place / "copy.csv").exists()
    ended = synth(place, "run")
    assert ended.returncode == 0, ended.stderr
    [entry] = Ledger(place / "ledger.db").entries("patients")
    assert (entry.state, entry.progress.starts) == ("spent", 3)


def test_a_run_whose_folder_was_wiped_but_for_its_head_is_refused(place):
    killed_synth(place, "run")
    for path in (place / "run").iterdir():
        if path.name != "run.json":
            path.unlink()
    refused = synth(place, "run")
    assert refused.returncode == 2
    assert "new folder" in refused.stderr
    assert not (place / "run.csv").exists()
    assert [path.name for path in (place / "run").iterdir()] == ["run.json"]
    [entry] = Ledger(place / "ledger.db").entries("patients")
    assert entry.state == "reserved"
