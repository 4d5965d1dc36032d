"""`tabpe-lab run`: what it prints and keeps, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = """\
name: small
title: A small one
data: [{hospital: {rows: 300}}]
methods: [real, {tabpe: {n_samples: 20, rounds: 2, sampling_rounds: 1}}]
metrics: [1-wd]
evaluate: {rows: 100, subsets: 5}
seeds: 1
limits: {seconds: 600, gigabytes: 16}
variants: {full: {}, more: {seeds: 2}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    return tmp_path


def change(old, new):
    assert old in SMALL
    Path("small.yaml").write_text(SMALL.replace(old, new))


def kept(variant="full", results="lab/results"):
    lines = Path(results, f"small.{variant}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_runs_are_made_kept_and_not_made_again(folder, lab):
    result = lab("run", "small.yaml", "--parquet")
    assert result.exit_code == 0, result.output
    first, second = result.stderr.splitlines()
    assert re.fullmatch(r"1/2 done in 0\.0 s, 1-wd 0\.\d+: real, .*, seed 0 \(.* s left\)", first)
    assert second.startswith("2/2 done in ")
    assert "done      2\n" in result.stdout
    assert "results   lab/results/small.full.jsonl" in result.stdout
    assert [record["status"] for record in kept()] == ["done", "done"]
    assert Path("lab/results/small.full.parquet").is_file()
    again = lab("run", "small.yaml")
    assert again.exit_code == 0
    assert "ended     2 runs, 2 of them before" in again.stdout
    assert len(kept()) == 2


def test_a_list_says_what_would_be_run_and_runs_nothing(folder, lab):
    result = lab("run", "small.yaml", "--variant", "more", "--list", "--only", "tabpe")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "tabpe, hospital rows=300, epsilon 1, n_samples 20, rounds 2, sampling_rounds 1, seed 0",
        "tabpe, hospital rows=300, epsilon 1, n_samples 20, rounds 2, sampling_rounds 1, seed 1",
        "to do     2 of 2 runs",
    ]
    assert not Path("experiments").exists()


def test_what_does_not_fit_is_recorded_with_its_limit_and_is_no_failure(folder, lab):
    change("gigabytes: 16", "gigabytes: 0.02")
    result = lab("run", "small.yaml", "--only", "real", "--results", "here")
    assert result.exit_code == 0, result.output
    assert "did not fit 1" in result.stdout
    assert "  real on hospital: memory: over 0.02 GB to load" in result.stdout
    (record,) = kept(results="here")
    assert (record["status"], record["limits"]["gigabytes"]) == ("did not fit", 0.02)


def test_a_run_that_fails_ends_with_1_and_its_reason(folder, lab):
    change("metrics: [1-wd]\nevaluate: {", "metrics: [accuracy]\nevaluate: {learners: [cnn], ")
    result = lab("run", "small.yaml", "--only", "real", "--quiet")
    assert (result.exit_code, result.output) == (1, "")
    (record,) = kept()
    assert record["status"] == "failed"
    assert record["reason"].startswith("learners='cnn': rows of 8 features")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("seeds: 1", "sedes: 1", "small.yaml: unknown key 'sedes': did you mean 'seeds'?"),
        ("metrics: [1-wd]", "metrics: [wd]", "small.yaml: metrics='wd'"),
        ("name: small", "name: [", "small.yaml: not a readable experiment (line 3"),
        ("rounds: 2,", "round: 2,", "experiment small: methods: tabpe: unknown setting 'round'"),
        ("{hospital:", "{hospitl:", "experiment small: data: 'hospitl': did you mean 'hospital'?"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_2(folder, lab, old, new, named):
    change(old, new)
    result = lab("run", "small.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert named in result.stderr


def test_a_variant_that_there_is_not_is_refused(folder, lab):
    result = lab("run", "small.yaml", "--variant", "mor")
    assert result.exit_code == 2
    assert "there is none named 'mor': did you mean 'more'?" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interruption_keeps_what_is_done_and_the_same_command_goes_on(folder, lab):
    change("seeds: 1", "seeds: 50")
    command = [sys.executable, "-m", "tabpe_lab", "run", "small.yaml"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    assert first.startswith("1/100 done")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate()
    assert process.returncode == 2, errors
    assert out == ""
    assert "error: interrupted; " in errors
    assert "The same command goes on from there." in errors
    made = len(kept())
    assert 1 <= made < 100
    listed = lab("run", "small.yaml", "--list")
    assert f"to do     {100 - made} of 100 runs" in listed.stdout


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks there")
def test_nothing_goes_on_when_the_command_is_killed(folder):
    change("seeds: 1", "seeds: 50")
    command = [sys.executable, "-m", "tabpe_lab", "run", "small.yaml"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()
    workers = children_of(process.pid)
    process.kill()
    process.communicate()
    while any(is_there(worker) for worker in workers):
        time.sleep(0.01)


def children_of(process):
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def is_there(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
