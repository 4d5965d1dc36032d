"""The benchmark of large tables streams, compares and says what bounds a round."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_small_run_is_the_same_streamed_and_in_memory(tmp_path):
    pytest.importorskip("threadpoolctl")
    out = tmp_path / "streaming.json"
    command = [sys.executable, "-m", "benchmarks.streaming", "--rows", "30000"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path), "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["paper_same_streamed_and_in_memory"]
    assert found["best_same_streamed_and_in_memory"]
    for name in ("paper, stream", "best, stream"):
        run = found["runs"][name]
        assert run["bound"] in {"disk", "memory", "kernel"}
        assert 0 < run["round_s"] < run["seconds"]
        assert run["of_bound"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["streaming.json"]


def test_a_file_that_memory_does_not_hold_is_bound_by_the_disk():
    pytest.importorskip("threadpoolctl")
    from benchmarks.streaming import describe_bound

    run, rates = {"round_s": 100.0, "limits_a_million": 0.1}, {"disk": 1e8, "memory": 1e10}
    assert describe_bound(run, 100_000_000, rates, free=1e9)["bound"] == "disk"
    assert describe_bound(run, 100_000_000, rates, free=1e11)["bound"] == "kernel"
    slow = run | {"limits_a_million": 10.0}
    assert describe_bound(slow, 100_000_000, rates, free=1e9)["bound"] == "kernel"
