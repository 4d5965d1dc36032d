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
    command = [sys.executable, "-m", "benchmarks.strategies", "--quick", "--only", "paper"]
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
    from benchmarks.strategies import CASES, targets

    quick, slow = {"usual_s": 0.1, **GROWN}, {"usual_s": 60.0, "rows": {"slope": 1.6}}
    assert all(targets(dict.fromkeys(CASES, quick)).values())
    assert not any(targets(dict.fromkeys(CASES, slow)).values())


def test_every_time_that_was_hoped_for_is_told():
    pytest.importorskip("threadpoolctl")
    from benchmarks.strategies import CASES, targets

    told = targets({name: {"usual_s": 0.1, **GROWN} for name in CASES})
    assert "paper: under 0.35 s at 35,000 rows" in told
    assert "tuned, warped: under 2 s at 35,000 rows" in told
    assert "best: under 2.5 s at 35,000 rows" in told


@pytest.mark.parametrize(("seconds", "is_met"), [(9.0, True), (11.0, False)])
def test_a_million_rows_have_a_goal_of_their_own(seconds, is_met):
    pytest.importorskip("threadpoolctl")
    from benchmarks.strategies import targets

    rows = {"slope": 1.0, "runs": {"1000000": {"seconds": [12.0, seconds]}}}
    told = targets({"best": {"usual_s": 0.1, "rows": rows}})
    assert told["best: under 10 s at 1,000,000 rows"] is is_met
