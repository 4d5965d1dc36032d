"""The benchmark of the audit runs, and writes what it found."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_smoke_run_writes_every_finding(tmp_path):
    out = tmp_path / "audit.json"
    words = ["--quick", "--epsilons", "2", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.audit", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(out.read_text())["results"]
    assert result["epsilon"] == 2.0
    assert result["shipped"]["holds"]
    assert len(result["shipped"]["findings"]) == 32
    assert len(result["broken"]) == 9
