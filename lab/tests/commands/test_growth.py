"""The benchmark of growth runs every size, tells slopes and draws them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_smoke_run_measures_and_draws_each_size(tmp_path):
    pytest.importorskip("threadpoolctl")
    pytest.importorskip("matplotlib")
    out = tmp_path / "growth.json"
    command = [sys.executable, "-m", "benchmarks.growth", "--quick", "--only", "paper"]
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["presets"]["paper"]
    assert list(found) == ["rows", "columns", "classes", "candidates"]
    for growth in found.values():
        assert all(run["seconds"] > 0 for run in growth["runs"].values())
    picture = out.with_suffix(".svg").read_text()
    assert all(name in picture for name in found)
    assert f"slope {found['rows']['slope']:.2f}" in picture
