"""The benchmark of the votes runs, and its rivals see the same distances."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("faiss", "matplotlib", "threadpoolctl")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What a smoke run writes; in a process of its own, for it binds libraries to one thread."""
    for name in NEEDED:
        pytest.importorskip(name)
    out = tmp_path_factory.mktemp("voting")
    command = [sys.executable, "-m", "benchmarks.voting", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (out / "voting.svg").read_text().startswith("<?xml")
    return json.loads((out / "voting.json").read_text())


def stages(results):
    return [stage for case in results["cases"].values() for stage in case["agreement"].values()]


def test_every_case_is_measured(results):
    assert set("abdeu") <= set(results["cases"])
    assert all(case["stages"]["R"]["passes"] for case in results["cases"].values())
    assert results["targets"]


def test_our_votes_are_those_of_the_reference(results):
    assert all(stage["tabpe votes equal"] for stage in stages(results))


def test_rivals_are_given_the_same_problem(results):
    """They round otherwise, so a few votes differ; another metric would change many."""
    shares = [
        rival["no copy of it either"] for s in stages(results) for rival in s["rivals"].values()
    ]
    assert max(shares) < 0.01
