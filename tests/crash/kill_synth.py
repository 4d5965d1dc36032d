"""Kills `tabpe synth` at random moments and goes on, until so many kills have hit.

A process of its own: it imports everything once, and then each attempt is a fork.
Usage: python kill_synth.py FOLDER KILLS SEED PRESET, prints what it saw as JSON.
"""

import contextlib
import io
import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path

from tabpe import Posterior
from tabpe._utils.serialization import Archive
from tabpe.accounting import calibrate_sigma
from tabpe.accounting.ledger import Ledger
from tabpe.cli.app import app
from tabpe.evolution.config import PRESETS
from tabpe.measurement.checkpoint import restore_measurement

ROUNDS = 15
# What is among the spends, and how many measurements of it are on the disk in the end.
SPENDS = {
    "paper": {"class counts": (1, 1), "votes": (ROUNDS, ROUNDS)},
    "best": {
        "class counts": (1, 1),
        "1-way marginals": (16, 1),
        "2-way marginals": (28, 1),
        "votes": (32, 8),
    },
}
SMALL = Posterior(candidates=60, pool=600)


def command(folder, number, preset):
    return [
        "synth", str(folder / "table.csv"), "--schema", str(folder / "schema.yaml"),
        "--output", str(folder / f"out{number}.csv"), "--rows", "40",
        "--dataset", f"set {number}", "--ledger", str(folder / "ledger.db"),
        "--run-dir", str(folder / f"run{number}"), "--jobs", "1", "--quiet", "--force",
        "--preset", preset,
    ]  # fmt: skip


def attempt(folder, number, preset, is_time):
    """Return the exit code of one attempt; None if the kill hit it."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            app(command(folder, number, preset), standalone_mode=False)
            os._exit(0)
        os._exit(1)
    gone, status = 0, 0
    while not gone and not is_time():
        time.sleep(0.001)
        gone, status = os.waitpid(child, os.WNOHANG)
    if not gone:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def after(delay):
    """Return what says whether so many seconds are over."""
    moment = time.perf_counter() + delay
    return lambda: time.perf_counter() >= moment


def once_held(folder, number, count):
    """Return what says whether so many measurements are on the disk, however long that takes."""
    return lambda: len([*(folder / f"run{number}").glob("*.measured")]) >= count


def look(folder, number):
    """Check everything that is on the disk, and return how many measurements there are."""
    ledger = Ledger(folder / "ledger.db")
    assert ledger.verify() == []
    measured = [
        restore_measurement(Archive.load(path))
        for path in (folder / f"run{number}").glob("*.measured")
    ]
    entries = [entry for entry in ledger.entries(f"set {number}") if entry.counts]
    assert len(entries) <= 1
    charged = {item.name: item for entry in entries for item in entry.spends}
    for name in {one.item.name for one in measured}:
        same = [one for one in measured if one.item.name == name]
        assert {one.item.sigma for one in same} == {charged[name].sigma}
        assert len(same) <= charged[name].times
    for path in folder.glob("out*.json"):
        json.loads(path.read_text())
    assert not [path for path in (folder / f"run{number}").iterdir() if path.name[0] == "."]
    return len(measured)


def undisturbed(folder, preset):
    """Return how long an attempt takes that nobody kills. It loads here what forks will need."""
    import pandas as pd  # noqa: F401
    import pyarrow.csv  # noqa: F401

    with contextlib.redirect_stdout(io.StringIO()):
        app(["synth", "--help"], standalone_mode=False)
    calibrate_sigma(1.0, 1e-6, ROUNDS)
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        app(command(folder, 0, preset), standalone_mode=False)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - began


def main(folder, kills, seed, preset):
    PRESETS["best"] = SMALL
    measurements = sum(stored for _, stored in SPENDS[preset].values())
    chance = random.Random(seed)
    hits, number, in_the_middle = 0, 0, 0
    longest = undisturbed(folder, preset)
    while hits < kills:
        number += 1
        Ledger(folder / "ledger.db").set_budget(f"set {number}", epsilon=1.001, delta=1e-6)
        finished, done = None, 0
        while finished is None:
            if hits == kills:
                is_time = after(math.inf)
            elif done + 1 < measurements and chance.random() < 0.5:
                # In the middle, also on a machine that has become slower or faster.
                is_time = once_held(folder, number, chance.randrange(done + 1, measurements))
            else:
                is_time = after(chance.random() * longest)
            finished = attempt(folder, number, preset, is_time)
            (folder / f"run{number}").mkdir(exist_ok=True)
            done = look(folder, number)
            hits += finished is None
            in_the_middle += finished is None and 0 < done < measurements
        assert finished == 0, f"attempt failed with {finished}"
        [entry] = Ledger(folder / "ledger.db").entries(f"set {number}")
        assert entry.state == "spent"
        spends = {name: times for name, (times, _) in SPENDS[preset].items()}
        assert {item.name: item.times for item in entry.spends} == spends
        assert done == measurements
        assert (folder / f"out{number}.csv").exists()
    return {"kills": hits, "runs": number, "in the middle": in_the_middle}


if __name__ == "__main__":
    where, kills, seed, preset = sys.argv[1:]
    print(json.dumps(main(Path(where), int(kills), int(seed), preset)))
