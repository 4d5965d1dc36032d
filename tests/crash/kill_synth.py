"""Kills `tabpe synth` at random moments and goes on, until so many kills have hit.

A process of its own: it imports everything once, and then each attempt is a fork.
Usage: python kill_synth.py FOLDER KILLS SEED, prints what it saw as JSON.
"""

import contextlib
import io
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tabpe.archive import Archive
from tabpe.cli.app import app
from tabpe.privacy import calibrate
from tabpe.privacy.ledger import Ledger
from tabpe.run_folder import measured_of

ROUNDS = 15


def command(folder, number):
    return [
        "synth", str(folder / "table.csv"), "--schema", str(folder / "schema.yaml"),
        "--output", str(folder / f"out{number}.csv"), "--rows", "40", "--noise", "table",
        "--dataset", f"set {number}", "--ledger", str(folder / "ledger.db"),
        "--run-dir", str(folder / f"run{number}"), "--jobs", "1", "--quiet", "--force",
    ]  # fmt: skip


def attempt(folder, number, delay):
    """Return the exit code of one attempt; None if the kill hit it."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            app(command(folder, number), standalone_mode=False)
            os._exit(0)
        os._exit(1)
    moment = time.perf_counter() + delay
    gone, status = 0, 0
    while not gone and time.perf_counter() < moment:
        time.sleep(0.001)
        gone, status = os.waitpid(child, os.WNOHANG)
    if not gone:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def look(folder, number):
    """Check everything that is on the disk, and return how many measurements there are."""
    ledger = Ledger(folder / "ledger.db")
    assert ledger.verify() == []
    measured = [
        measured_of(Archive.load(path)) for path in (folder / f"run{number}").glob("*.measured")
    ]
    entries = [entry for entry in ledger.entries(f"set {number}") if entry.counts]
    assert len(entries) <= 1
    charged = {item.name: item for entry in entries for item in entry.bill}
    for name in {one.item.name for one in measured}:
        same = [one for one in measured if one.item.name == name]
        assert {one.item.sigma for one in same} == {charged[name].sigma}
        assert len(same) <= charged[name].times
    for path in folder.glob("out*.json"):
        json.loads(path.read_text())
    assert not [path for path in (folder / f"run{number}").iterdir() if path.name[0] == "."]
    return len(measured)


def undisturbed(folder):
    """Return how long an attempt takes that nobody kills. It loads here what forks will need."""
    import pandas as pd  # noqa: F401
    import pyarrow.csv  # noqa: F401

    with contextlib.redirect_stdout(io.StringIO()):
        app(["synth", "--help"], standalone_mode=False)
    calibrate(1.0, 1e-6, ROUNDS)
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        app(command(folder, 0), standalone_mode=False)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - began


def main(folder, kills, seed):
    chance = random.Random(seed)
    hits, number, in_the_middle = 0, 0, 0
    longest = undisturbed(folder)
    while hits < kills:
        number += 1
        Ledger(folder / "ledger.db").set_budget(f"set {number}", epsilon=1.001, delta=1e-6)
        finished = None
        while finished is None:
            delay = chance.random() * longest if hits < kills else 600.0
            finished = attempt(folder, number, delay)
            (folder / f"run{number}").mkdir(exist_ok=True)
            done = look(folder, number)
            hits += finished is None
            in_the_middle += finished is None and 0 < done < ROUNDS + 1
        assert finished == 0, f"attempt failed with {finished}"
        [entry] = Ledger(folder / "ledger.db").entries(f"set {number}")
        assert entry.state == "spent"
        assert {item.name: item.times for item in entry.bill} == {
            "class counts": 1, "votes": ROUNDS
        }  # fmt: skip
        assert done == ROUNDS + 1
        assert (folder / f"out{number}.csv").exists()
    return {"kills": hits, "runs": number, "in the middle": in_the_middle}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
