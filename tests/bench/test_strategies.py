"""The benchmark of the strategies runs, and says whether what was hoped for came true."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GROWN = {"rows": {"slope": 1.0}}


def test_a_smoke_run_measures_growth_in_rows_and_candidates(tmp_path):
    pytest.importorskip("threadpoolctl")
    out = tmp_path / "strategies.json"
    command = [sys.executable, "-m", "bench.strategies", "--quick", "--only", "paper"]
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["strategies"]["paper"]
    assert len(found["rows"]["runs"]["35000"]["seconds"]) == 3
    assert found["usual_s"] == min(found["rows"]["runs"]["35000"]["seconds"])
    assert list(found["candidates"]["runs"]) == ["1000", "2000"]


def test_targets_are_told_apart():
    pytest.importorskip("threadpoolctl")
    from bench.strategies import HOPED, targets

    quick, slow = {"usual_s": 0.1, **GROWN}, {"usual_s": 60.0, "rows": {"slope": 1.6}}
    assert all(targets(dict.fromkeys(HOPED, quick)).values())
    assert not any(targets(dict.fromkeys(HOPED, slow)).values())
